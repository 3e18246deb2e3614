//! Findings of the interpreter with their places in the user's files, and which of them are the candidate's own.

use crate::ptx::{Finding, Kind, Program, Sample};

/// A finding at a line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    pub kernel: String,
    pub kind: Kind,
    /// The user's file as the compiler was told; empty where the PTX names none, and then `line` counts its lines.
    pub file: String,
    pub line: u32,
    pub count: u64,
    pub samples: Vec<Sample>,
}

pub(super) fn locate(kernel: &str, program: &Program, f: &Finding) -> Located {
    let line = program.lines.get(f.line.0 as usize);
    Located {
        kernel: kernel.to_owned(),
        kind: f.kind,
        file: line.map(|l| l.file.clone()).unwrap_or_default(),
        line: line.map_or(0, |l| l.line),
        count: f.count,
        samples: f.samples.clone(),
    }
}

/// Whether the language leaves a program with such a finding undefined. Unordered writes of one value are reported and
/// do no harm on any device.
pub fn is_undefined(kind: Kind) -> bool {
    kind.is_undefined()
}

/// What the finding is, in words.
pub fn describe(kind: Kind) -> &'static str {
    match kind {
        Kind::OutOfBounds => "access out of bounds",
        Kind::Misaligned => "misaligned access",
        Kind::UninitialisedShared => "read of shared memory that nothing wrote",
        Kind::UninitialisedGlobal => "read of global memory that nothing wrote",
        Kind::UninitialisedLocal => "use of local memory that nothing wrote",
        Kind::Race => "data race",
        Kind::BenignRace => "unordered writes of the same value",
        Kind::BenignPattern => "plain read of a value that only a compare-and-swap relies on",
        Kind::DivergentBarrier => "barrier that not all threads reach",
        Kind::InactiveLane => "warp operation with a lane that does not take part",
        Kind::UnfinishedCopy => "access to memory that an asynchronous copy still writes",
        Kind::Deadlock => "deadlock",
        Kind::EndlessLoop => "endless loop",
        Kind::StackOverflow => "stack overflow",
        Kind::AssertionFailed => "failed assertion",
        Kind::Trap => "trap",
        Kind::WriteToConstant => "write to constant memory",
        Kind::BarrierMisuse => "misuse of a barrier",
        Kind::InvalidCall => "call of something that is no function",
    }
}

/// The first thread that did it, and what the machine says of the access.
pub fn witness(sample: &Sample) -> String {
    let triple = |t: [u32; 3]| match t {
        [x, 0, 0] => format!("{x}"),
        [x, y, 0] => format!("({x}, {y})"),
        [x, y, z] => format!("({x}, {y}, {z})"),
    };
    let detail = if sample.detail.is_empty() { String::new() } else { format!(": {}", sample.detail) };
    format!("block {}, thread {}{detail}", triple(sample.block), triple(sample.thread))
}
