//! What is asked of the process that owns the GPU, and what it answers. It knows nothing of contracts: bytes go in,
//! kernels are launched, bytes come out.

use serde::{Deserialize, Serialize};

use super::timing::{Peaks, Timed, Timing};

/// What a process is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    Run(Job),
    /// As `Run`, for a tool that watches the process: every buffer is an allocation of its own that ends with its last
    /// byte, so that an access beyond it is one beyond the allocation.
    Check(Job),
    Time(Timing),
    /// The peaks of the device with this ordinal.
    Peaks(i32),
}

/// Buffers, kernels and steps of one run. Bytes travel beside it, as parts that are named by number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Ordinal of the device.
    pub device: i32,
    pub kernels: Vec<Kernel>,
    pub buffers: Vec<Buffer>,
    pub steps: Vec<Step>,
}

/// A function of an image: PTX text, or a CUBIN.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// Part with the image.
    pub image: usize,
    pub symbol: String,
    /// Sizes of the parameters in bytes, as the image declares them.
    pub parameters: Vec<u32>,
}

/// Device memory between two guard zones of [`GUARD`] bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buffer {
    pub bytes: u64,
    /// The buffer begins this many bytes after an address that is a multiple of 256.
    pub before: u64,
    pub start: Start,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Start {
    /// Every byte is this one.
    Byte(u8),
    /// The part with the contents.
    Part(usize),
    /// Nothing is written: a tool that watches sees the read of what nothing wrote.
    Undefined,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    Launch(Launch),
    Fill {
        buffer: usize,
        offset: u64,
        bytes: u64,
        byte: u8,
    },
    Copy {
        from: usize,
        from_offset: u64,
        to: usize,
        to_offset: u64,
        bytes: u64,
    },
    /// The whole buffer is as it was at its start, or as another start says.
    Reset {
        buffer: usize,
        start: Start,
    },
    /// A module variable of a kernel's image gets the contents of a part.
    Symbol {
        kernel: usize,
        name: String,
        part: usize,
    },
    /// The whole buffer becomes a part of the reply.
    Read {
        buffer: usize,
    },
    /// The first bytes of a module variable of a kernel's image become a part of the reply.
    ReadSymbol {
        kernel: usize,
        name: String,
        bytes: u64,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// Index of the kernel in the job.
    pub kernel: usize,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// Blocks of a cluster in x, y, z.
    pub cluster: Option<[u32; 3]>,
    /// All blocks are there at once and may wait for each other.
    pub cooperative: bool,
    pub arguments: Vec<Argument>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Argument {
    /// Address of a buffer plus bytes.
    Address { buffer: usize, offset: u64 },
    /// Little-endian bytes.
    Bytes(Vec<u8>),
}

/// Bytes on either side of a buffer that belong to nobody, filled with [`CANARY`].
pub const GUARD: u64 = 4096;
pub const CANARY: u8 = 0xa5;

/// What came of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// All steps ran; the parts are what the steps `Read` read, in their order.
    Done(Done),
    Timed(Timed),
    Peaks(Peaks),
    /// A launch failed, at once or while it ran.
    Failed(Failed),
    /// Nothing is said about the kernels: no device, no memory, a job that makes no sense.
    NotRun {
        why: String,
    },
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// Name and compute capability, such as `NVIDIA H200, sm_90`.
    pub device: String,
    /// The newest CUDA version that the driver knows, such as `13.0`.
    pub driver: String,
    /// Buffers beside which something wrote, seen after the last step.
    pub guards: Vec<usize>,
}

/// A launch that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{stage}: {error}")]
pub struct Failed {
    /// Index of the step; where versions are timed, of the arm.
    pub step: usize,
    pub stage: Stage,
    /// The driver's name of the error and its explanation.
    pub error: String,
}

/// When the driver said that a launch failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Stage {
    #[error("the driver refuses the image")]
    Load,
    #[error("the launch is refused")]
    Launch,
    #[error("the kernel fails while it runs")]
    Run,
}

/// Why a job gave no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GpuError {
    /// A launch fails, on this device.
    #[error("{0}")]
    Kernel(Failed),
    #[error("no end within {seconds} s")]
    TimedOut { seconds: u64 },
    /// The process died; what it ran may be the cause.
    #[error("the process that ran it ended: {status}")]
    Crashed { status: String },
    /// Says nothing about the kernels.
    #[error("{0}")]
    NotRun(String),
}
