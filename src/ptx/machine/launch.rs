//! A launch, its options, and its outcome.

use super::counters::Counters;
use super::findings::Finding;
use crate::ptx::decode::program::Program;
use crate::ptx::error::PtxError;

/// Grid, block, dynamic shared memory and arguments of a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// Blocks: x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block: x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory, bytes.
    pub dynamic_shared: u32,
    /// The parameter block, laid out as `Program::params` says; see [`Arguments`].
    pub params: Vec<u8>,
}

/// Lays arguments out at the offsets of a program's parameters.
#[derive(Debug, Clone, Default)]
pub struct Arguments {
    bytes: Vec<u8>,
    next: usize,
}

impl Arguments {
    pub fn new() -> Self {
        Arguments::default()
    }

    /// Appends an argument aligned to its size (structs: give `align`).
    pub fn push_aligned(mut self, data: &[u8], align: usize) -> Self {
        let at = self.next.next_multiple_of(align.max(1));
        self.bytes.resize(at, 0);
        self.bytes.extend_from_slice(data);
        self.next = self.bytes.len();
        self
    }

    /// A pointer or 64-bit integer.
    pub fn u64(self, value: u64) -> Self {
        self.push_aligned(&value.to_le_bytes(), 8)
    }

    pub fn i32(self, value: i32) -> Self {
        self.push_aligned(&value.to_le_bytes(), 4)
    }

    pub fn f32(self, value: f32) -> Self {
        self.push_aligned(&value.to_le_bytes(), 4)
    }

    pub fn f64(self, value: f64) -> Self {
        self.push_aligned(&value.to_le_bytes(), 8)
    }

    pub fn bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// In which precision floating-point instructions are carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// As the program says.
    #[default]
    Exact,
    /// f32 arithmetic carried in f64 through registers, rounded where a value is stored: a reference.
    Float64,
    /// Results of f32 rounded to 10 bits of mantissa, of f64 to f32, of f16 to 7 bits, of bf16 to 3: what a kernel of
    /// the next lower precision would give, for calibrating tolerances.
    Lower,
}

/// Bounds on what a launch may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Warp instructions of one block; beyond it the block is taken for an endless loop.
    pub block_steps: u64,
    /// Warp instructions of the launch.
    pub steps: u64,
    /// Bytes that `printf` may give.
    pub print_bytes: u64,
    /// Bytes of local memory (frames and spills) of one thread.
    pub stack_bytes: u32,
    /// Bytes of shared memory of a block, static and dynamic.
    pub shared_bytes: u32,
    /// Bytes of registers and local memory of all blocks that are held at once.
    pub state_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            block_steps: 1 << 28,
            steps: 1 << 34,
            print_bytes: 1 << 20,
            stack_bytes: 512 << 10,
            shared_bytes: 227 << 10,
            state_bytes: 4 << 30,
        }
    }
}

/// How a launch is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    pub mode: Mode,
    /// Races, undefined values, barriers, unfinished copies, inactive lanes. Bounds and alignment are always checked.
    pub checks: bool,
    /// Counted in `Mode::Exact` only.
    pub counters: bool,
    /// Threads to run independent blocks on; 0 is 1. Results do not depend on it.
    pub threads: u32,
    pub limits: Limits,
    /// In which order blocks, and warps of a block, come first: 0 ascending, 1 descending, others mixed. One number, one
    /// order. What a defined program computes is the same in all, but for the order of atomics.
    pub order: u64,
}

/// In which order blocks ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Schedule {
    /// Blocks do not depend on each other.
    Independent,
    /// Blocks ran in order, each for a bounded number of steps in turn, because they may see each other's writes.
    Ordered { because: String },
}

/// What a launch gave, beside the contents of memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    pub findings: Vec<Finding>,
    pub counters: Option<Counters>,
    /// Lines and pieces that `printf` gave, in the order of blocks.
    pub prints: Vec<String>,
    pub schedule: Schedule,
    /// Warp instructions.
    pub steps: u64,
    /// False if a deadlock, an endless loop or a limit ended it; memory then holds an intermediate state.
    pub completed: bool,
    /// Checks that could not be made in full, in words.
    pub notes: Vec<String>,
}

/// Whether the launch fits the program and the limits; gives the bytes of shared memory.
pub(super) fn check(program: &Program, launch: &Launch, options: &Options) -> Result<u32, PtxError> {
    let fail = |what: String| Err(PtxError::Launch(what));
    let threads = launch.block.iter().try_fold(1u32, |n, e| n.checked_mul(*e)).unwrap_or(u32::MAX);
    if threads == 0 || threads > 1024 || launch.block[2] > 64 {
        return fail(format!("a block of {:?} threads; 1 to 1024 are allowed", launch.block));
    }
    let [x, y, z] = launch.grid;
    if x == 0 || y == 0 || z == 0 || x > 0x7fff_ffff || y > 65_535 || z > 65_535 {
        return fail(format!("a grid of {:?} blocks", launch.grid));
    }
    if let Some(required) = program.required_threads
        && required != launch.block
    {
        return fail(format!("the kernel wants blocks of {required:?} threads, not {:?}", launch.block));
    }
    if let Some(most) = program.max_threads {
        let most = most.iter().fold(1u32, |n, e| n.saturating_mul(*e));
        if threads > most {
            return fail(format!("{threads} threads in a block, {most} by its launch bounds"));
        }
    }
    if launch.params.len() != program.param_bytes as usize {
        return fail(format!("{} bytes of arguments, the kernel has {}", launch.params.len(), program.param_bytes));
    }
    let base = program.shared_bytes.next_multiple_of(program.dynamic_align.max(1));
    let base = if launch.dynamic_shared == 0 && !program.has_dynamic_shared() { program.shared_bytes } else { base };
    let total = base.checked_add(launch.dynamic_shared).filter(|t| *t <= options.limits.shared_bytes);
    let Some(total) = total else {
        let limit = options.limits.shared_bytes;
        return fail(format!("{base} + {} bytes of shared memory, {limit} allowed", launch.dynamic_shared));
    };
    let frame = program.functions.first().map_or(0, |f| f.frame);
    if frame > options.limits.stack_bytes {
        return fail(format!("{frame} bytes of local memory, {} allowed", options.limits.stack_bytes));
    }
    Ok(total)
}
