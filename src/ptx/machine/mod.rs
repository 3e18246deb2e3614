//! The machine: warps, memory, schedule, checks, counters.

mod allocation;
mod blocks;
mod context;
mod counters;
mod dispatch;
mod exec;
mod file;
mod findings;
mod launch;
mod memory;
mod observe;
mod permutation;
mod predicate;
mod regs;
mod schedule;
mod shadow;
mod step;
mod touched;
mod turn;
mod undefined;
mod undo;
mod warp;

pub use counters::{Counters, Counts, Traffic};
pub use findings::{Finding, Kind, Sample};
pub use launch::{Arguments, Launch, Limits, Mode, Options, Outcome, Schedule};
pub use memory::{AllocationId, Memory};
pub use observe::{NOTE, Note, Observer};
pub use schedule::{run, run_observed};

/// Generic addresses of shared, local and parameter memory begin here; each window has `WINDOW` bytes.
pub(crate) const SHARED_WINDOW: u64 = 0x7000_0000_0000;
pub(crate) const LOCAL_WINDOW: u64 = 0x7100_0000_0000;
pub(crate) const PARAM_WINDOW: u64 = 0x7200_0000_0000;
pub(crate) const WINDOW: u64 = 0x0100_0000_0000;
