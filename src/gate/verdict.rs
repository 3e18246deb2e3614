//! What the gate says. It never says that a kernel is right: it says what it ran and what it saw.

use super::bound::Bound;
use super::compare::{BINS, Mismatch};
use super::execute::Stopped;
use super::finding::Located;
use crate::contract::Cell;
use crate::ir::Scalar;

/// Of a whole comparison.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The outputs had equal bits in every cell that counts.
    EqualBits {
        cells: usize,
    },
    /// Some outputs differed, all within their bounds.
    WithinTolerance {
        cells: usize,
        equal: usize,
    },
    Failed,
    Inconclusive(Vec<String>),
}

impl Verdict {
    pub fn word(&self) -> &'static str {
        match self {
            Verdict::EqualBits { .. } => "equal-bits",
            Verdict::WithinTolerance { .. } => "within-tolerance",
            Verdict::Failed => "failed",
            Verdict::Inconclusive(_) => "inconclusive",
        }
    }

    pub fn passes(&self) -> bool {
        matches!(self, Verdict::EqualBits { .. } | Verdict::WithinTolerance { .. })
    }
}

/// Of one cell.
#[derive(Clone, Debug, PartialEq)]
pub enum CellVerdict {
    EqualBits,
    WithinTolerance,
    Failed(Vec<Fault>),
    /// The original is not defined here, so that nothing can be asked of a candidate.
    Undefined(Vec<Undefined>),
    /// The cell says nothing, for a reason that has nothing to do with either kernel.
    NotRun(String),
}

impl CellVerdict {
    pub fn word(&self) -> &'static str {
        match self {
            CellVerdict::EqualBits => "equal-bits",
            CellVerdict::WithinTolerance => "within-tolerance",
            CellVerdict::Failed(_) => "failed",
            CellVerdict::Undefined(_) => "undefined",
            CellVerdict::NotRun(_) => "not-run",
        }
    }

    pub fn passes(&self) -> bool {
        matches!(self, CellVerdict::EqualBits | CellVerdict::WithinTolerance)
    }
}

/// What is wrong with the original in a cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Undefined {
    Finding(Located),
    Stopped(Stopped),
    /// It writes what the contract calls an input.
    WritesInput {
        name: String,
        /// The first element that changed; `None` where all were put back.
        index: Option<u64>,
    },
    WritesGuard {
        name: String,
    },
    /// It does not compute what the contract's reference does.
    OffReference {
        name: String,
        index: u64,
    },
}

/// What is wrong with the candidate.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    Finding(Located),
    Stopped(Stopped),
    Mismatch {
        output: String,
        dtype: Scalar,
        mismatch: Mismatch,
        outside: u64,
        elements: u64,
        shape: Vec<u64>,
    },
    /// Every element is within its bound and the mean error is not.
    Mean {
        output: String,
        rms: f64,
        allowed: f64,
    },
    /// Elements that the original writes and the candidate does not.
    Unwritten {
        output: String,
        count: u64,
        first: u64,
    },
    /// Elements that the original leaves alone and the candidate writes.
    Overwrites {
        output: String,
        count: u64,
        first: u64,
    },
    WritesInput {
        name: String,
        /// The first element that changed; `None` where all were put back.
        index: Option<u64>,
    },
    WritesGuard {
        name: String,
    },
    /// A `__device__` variable keeps what the candidate wrote.
    KeepsState {
        symbol: String,
    },
    /// Two runs that differed only in the poison gave other results.
    DependsOnPoison {
        output: String,
        index: u64,
    },
}

/// One output of one cell.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputResult {
    pub name: String,
    pub dtype: Scalar,
    pub elements: u64,
    pub differing: u64,
    pub outside: u64,
    /// Errors over the magnitude of the output.
    pub rms: f64,
    pub max: f64,
    /// The largest error over what is allowed at its element.
    pub worst: f64,
    pub bound: Bound,
    pub histogram: [u64; BINS],
    /// Elements that neither side writes.
    pub unwritten: u64,
}

/// One cell with everything that was seen.
#[derive(Clone, Debug, PartialEq)]
pub struct CellResult {
    pub cell: Cell,
    pub verdict: CellVerdict,
    pub outputs: Vec<OutputResult>,
    /// Elements that the original wrote.
    pub written: u64,
    pub original_steps: u64,
    pub candidate_steps: u64,
}
