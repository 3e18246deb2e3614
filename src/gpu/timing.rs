//! What is asked of the process that owns the GPU when versions of a computation are timed, and what it answers: raw
//! samples. Every statistic is computed by whoever asked.

use serde::{Deserialize, Serialize};

use super::job::{Buffer, Kernel, Step};

/// Versions of one computation that take turns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    /// Ordinal of the device.
    pub device: i32,
    pub arms: Vec<Arm>,
    pub policy: Policy,
}

/// One version. Its buffers are there in several sets, with other addresses and, as far as there are parts, other contents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arm {
    pub kernels: Vec<Kernel>,
    /// The buffers of one set; where a set begins with a part, see [`Place::contents`].
    pub places: Vec<Place>,
    /// Module variables are set once, before everything else.
    pub variables: Vec<Step>,
    /// Done before each run and not timed, after the buffers were put back: launches, fills, copies.
    pub before: Vec<Step>,
    /// What is timed: launches, fills, copies.
    pub steps: Vec<Step>,
}

/// A buffer of one set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    pub buffer: Buffer,
    /// Parts of which each set takes the next; a part that is shorter than the buffer is repeated in it. Without parts
    /// the buffer begins as `buffer.start` says, which is a byte.
    pub contents: Vec<usize>,
    /// The computation writes it, so that it is put back before each run.
    pub restored: bool,
    /// It is an output that is compared between the arms.
    pub answer: bool,
}

/// How often, how, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    pub rounds: u32,
    /// Samples of each arm in each round.
    pub samples: u32,
    /// Sets of buffers, as far as memory allows.
    pub sets: u32,
    /// A run that takes less, in nanoseconds, is timed as one of many in a graph.
    pub single_from: u64,
    /// How long a graph is to take, in nanoseconds.
    pub graph_length: u64,
    /// Runs in one graph, and sets for a cold one, at most.
    pub most_runs: u32,
    /// The order of the arms, and which samples are looked at, follow from it.
    pub seed: u64,
    /// Milliseconds after which no round begins any more.
    pub enough: u64,
}

impl Default for Policy {
    /// Three rounds of fifty samples; the thresholds are those at which event pairs were seen to fail on an H200.
    fn default() -> Policy {
        Policy {
            rounds: 3,
            samples: 50,
            sets: 4,
            single_from: 50_000,
            graph_length: 400_000,
            most_runs: 512,
            seed: 1,
            enough: 60_000,
        }
    }
}

/// What is in the level-2 cache when a run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cache {
    /// Nothing of its own.
    Cold,
    /// What a run just before it left there.
    Warm,
}

/// With what a time was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "timer")]
pub enum Timer {
    /// Two events around one run.
    Events,
    /// Two events around a graph of so many runs; a cold one takes another set of buffers for each.
    Graph { runs: u32 },
}

/// How one state of the cache was timed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Method {
    pub cache: Cache,
    pub timer: Timer,
    pub sets: u32,
}

/// One measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    pub cache: Cache,
    pub arm: u32,
    pub round: u32,
    /// Which of the round; samples of one number were taken right after each other.
    pub number: u32,
    /// Nanoseconds of one run: those between the events over the runs between them.
    pub nanoseconds: f64,
    pub state: Option<State>,
}

/// The device right after a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Clock of the multiprocessors in MHz.
    pub clock: u32,
    /// Whether heat or the supply of power hold the clock down.
    pub throttled: bool,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timed {
    /// Name and compute capability, such as `NVIDIA H200, sm_90`.
    pub device: String,
    pub driver: String,
    pub l2_bytes: u64,
    /// Nanoseconds that two events around an empty kernel are apart, and what one takes in a graph.
    pub empty: (f64, f64),
    pub methods: Vec<Method>,
    pub samples: Vec<Sample>,
    /// Samples that were taken again because the device's state had changed.
    pub retaken: u32,
    pub answers: Vec<Answer>,
    /// Outputs that were read while timing.
    pub looked_at: u32,
    /// Buffers that no run may change and that were others afterwards, as arm and place.
    pub spoiled: Vec<(u32, usize)>,
    /// Buffers beside which something wrote, as arm and place.
    pub guards: Vec<(u32, usize)>,
    /// What is worth knowing: states that were not timed, clocks that could not be read, another process on the device.
    pub notes: Vec<String>,
}

/// An output of an arm, compared with that of the first arm for the same contents at the same time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    pub arm: u32,
    /// Index among the places with `answer`.
    pub output: usize,
    /// Which contents the set had.
    pub contents: u32,
    pub when: When,
    pub differing: Option<Difference>,
}

/// Where two answers differ, as parts of the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// The part with the first arm's bytes, and that with this arm's.
    pub parts: (usize, usize),
    /// The first of these bytes in the output; large outputs come as a window around the first difference.
    pub from: u64,
    /// Whether there is more of the output beyond the window.
    pub is_window: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    /// Before the first sample.
    Before,
    /// After a sample, where it was another one than before.
    During,
    /// After the last sample.
    After,
}

/// What a device was seen to do at most.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Peaks {
    /// Name and compute capability.
    pub device: String,
    pub driver: String,
    /// Bytes per second that a kernel read, that were set, and that were copied (read and written bytes together).
    pub read: f64,
    pub write: f64,
    pub copy: f64,
    /// Operations per second in float32; a fused multiply-add counts two.
    pub f32: f64,
}
