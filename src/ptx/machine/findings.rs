//! What the checks report: once for each kind and source line, with a count and the first threads.

use std::collections::BTreeMap;

use crate::ptx::decode::program::LineId;

/// Kinds of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    OutOfBounds,
    Misaligned,
    UninitialisedShared,
    UninitialisedGlobal,
    /// A value of local memory that nothing wrote was used.
    UninitialisedLocal,
    /// Two unordered accesses of one address, at least one a write.
    Race,
    /// Unordered writes of the same value.
    BenignRace,
    /// A race that does no harm by its form: a plain read of what other threads update atomically, whose value only goes
    /// into a compare-and-swap, which fails if it was stale.
    BenignPattern,
    DivergentBarrier,
    /// A warp-wide operation that names lanes which do not take part, or reads from one.
    InactiveLane,
    /// Memory that an asynchronous copy still writes was read, or written.
    UnfinishedCopy,
    Deadlock,
    EndlessLoop,
    StackOverflow,
    AssertionFailed,
    Trap,
    WriteToConstant,
    /// A barrier or mbarrier used against its rules.
    BarrierMisuse,
    /// A call through a pointer that is no function.
    InvalidCall,
}

impl Kind {
    /// Whether the language defines no meaning for a program that does this. False for races that do no harm on any
    /// device.
    pub fn is_undefined(self) -> bool {
        !matches!(self, Kind::BenignRace | Kind::BenignPattern)
    }

    /// Found in every run; the others need `Options::checks`.
    pub fn is_always_checked(self) -> bool {
        use Kind::*;
        matches!(
            self,
            OutOfBounds
                | Misaligned
                | Deadlock
                | EndlessLoop
                | StackOverflow
                | AssertionFailed
                | Trap
                | WriteToConstant
                | BarrierMisuse
                | InvalidCall
                | InactiveLane
        )
    }
}

/// One thread that did it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// Block index: x, y, z.
    pub block: [u32; 3],
    pub thread: [u32; 3],
    /// Address in the state space, if there is one.
    pub address: Option<u64>,
    pub detail: String,
}

/// One kind of trouble at one source line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub kind: Kind,
    pub line: LineId,
    /// Accesses or threads, over all blocks.
    pub count: u64,
    /// The first ones, in the order of blocks.
    pub samples: Vec<Sample>,
}

const SAMPLES: usize = 4;

#[derive(Debug, Default)]
pub(crate) struct Findings {
    table: BTreeMap<(LineId, Kind), Finding>,
}

impl Findings {
    /// Counts; `sample` is called for the first few.
    #[cold]
    pub fn add(&mut self, kind: Kind, line: LineId, count: u64, sample: impl FnOnce() -> Sample) {
        let finding =
            self.table.entry((line, kind)).or_insert_with(|| Finding { kind, line, count: 0, samples: vec![] });
        finding.count += count;
        if finding.samples.len() < SAMPLES {
            finding.samples.push(sample());
        }
    }

    /// Appends what later blocks found.
    pub fn merge(&mut self, later: Findings) {
        for (key, finding) in later.table {
            let room =
                self.table.entry(key).or_insert_with(|| Finding { count: 0, samples: vec![], ..finding.clone() });
            room.count += finding.count;
            let free = SAMPLES.saturating_sub(room.samples.len());
            room.samples.extend(finding.samples.into_iter().take(free));
        }
    }

    pub fn into_list(self) -> Vec<Finding> {
        self.table.into_values().collect()
    }
}
