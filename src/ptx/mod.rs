//! An interpreter of PTX: it runs compiled kernels without a GPU, checks every access, and counts what they do.
//!
//! ```text
//! text --parse--> Module --Program::decode--> Program --run(Launch, Memory, Options)--> Outcome
//! ```
//!
//! - [`parse`] keeps every instruction with its source location, inlining chain included. It does not judge opcodes.
//! - [`Program::decode`] takes one kernel and the device functions it reaches. Whatever it does not know, an opcode, a
//!   modifier, a special register, a call without a body, is [`PtxError::Unsupported`] with its source line. Nothing that
//!   decodes is computed approximately, but for the instructions that PTX itself calls approximate ([`scalar::approx`]).
//! - [`Memory`] holds allocations with guard zones between them, knows which bytes were ever written, and the kernel's
//!   `__device__` and `__constant__` variables by name.
//! - [`run`] gives an [`Outcome`]: findings, counters, what was printed, and in which order blocks ran.
//! - [`run_observed`] also tells an [`Observer`] of every call of [`NOTE`], by which a program speaks of itself; without
//!   an observer such a call is passed over.
//!
//! All of it is pure: no file, clock, environment or output. The same launch gives the same outcome and the same memory
//! for any number of threads.
//!
//! # How a launch runs
//! A warp is 32 lanes that share each register as a row. Lanes that diverge become groups; of the groups that can run, the
//! one deepest in calls and then lowest in the program goes first, and groups that meet go on as one. A barrier holds
//! lanes, not warps. `.sync` instructions wait for the lanes they name; when nothing else in the block can run, they go on
//! without, which is a finding.
//!
//! `Options::order` says which blocks and warps come first; what a defined program computes does not depend on it, but
//! for the order of its atomics.
//!
//! Blocks are independent unless the program has something by which they can see each other's progress (an atomic whose
//! result is used or whose order matters, volatile or ordered accesses of global memory, sleeping): then they run in
//! order, each for a bounded number of instructions in turn, and [`Schedule`] says so. Independent blocks run on several
//! threads as ranges; if the ranges turn out to touch each other's words, memory is restored and they run in order.
//!
//! # What is checked
//! Always: bounds, alignment, writes to constants, barriers and calls against their rules, lanes that are missing,
//! deadlock, endless loops, stack overflow, assertions, traps. With `Options::checks` also: undefined shared and global
//! memory, races (in a warp, in a block, between blocks), divergent barriers, unfinished copies, reads from inactive lanes.
//! Between parts of a block, named barriers and mbarriers count as if all threads had passed them: that can hide a race,
//! it never invents one.
//!
//! What a load takes along beside the bytes that the program uses is not checked: a compiler that makes one wide access of
//! several says so by `.pragma "used_bytes_mask n"`, which is believed as far as no register of the rest is named again.
//! Loads through the read-only cache come without it; of them, elements whose registers are named again are used.
//! Another wide load without the pragma is what the source says, and all of it is checked, used or not.
//!
//! What is a race is decided by the PTX memory model: barriers, and patterns of release and acquire (fences with strong
//! accesses) put one access before another; two strong accesses are no race. Volatile accesses count as relaxed ones, but
//! lanes of one warp that exchange values by them are reported: nothing keeps lanes in step. A plain read that only
//! feeds a compare-and-swap of its place is a race by the letter and harmless; it is [`Kind::BenignPattern`]. Undefined
//! values (a shuffle from an absent lane, local memory that nothing wrote) are reported where something depends on them.
//!
//! # Limits
//! Clusters, `wgmma`, `tcgen05`, bulk tensor copies, textures, surfaces, 128-bit registers, device-side allocation and
//! launches are unsupported. A grid that synchronises itself is taken for a cooperative launch: that the host launches it
//! as one, and that a device has room for all its blocks, is not known here. `%clock` counts instructions; `%smid` is 0.

pub mod ast;
mod decode;
mod error;
mod lex;
mod machine;
pub mod matrix;
mod parse;
pub mod scalar;

pub use decode::classify::Class;
pub use decode::program::{GlobalVariable, LineId, Parameter, Program, SourceLine};
pub use error::PtxError;
pub use machine::{
    AllocationId, Arguments, Counters, Counts, Finding, Kind, Launch, Limits, Memory, Mode, NOTE, Note, Observer,
    Options, Outcome, Sample, Schedule, Traffic, run, run_observed,
};
pub use parse::parse;
