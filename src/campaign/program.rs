//! A generated program.

use std::collections::BTreeMap;

/// A value for each dim.
pub type Sizes = BTreeMap<String, i64>;

/// One file with one kernel `k`, or with another, `m`, beside it; each with its contract in comments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generated {
    pub seed: u64,
    /// The choices that it was made of.
    pub record: Vec<u32>,
    pub text: String,
    /// Where the host functions begin, if there are any; they stand last.
    pub host: Option<usize>,
    /// In the order of the text.
    pub kernels: Vec<Made>,
    /// Whether approximate functions are permitted in one of them.
    pub approximate: bool,
}

/// One kernel of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    pub name: &'static str,
    /// The arguments of the instantiation that is run; none of a plain kernel.
    pub template: Vec<String>,
    /// The sizes that it is run on.
    pub cells: Vec<Sizes>,
    /// Buffers of which the contract does not say how they are aligned.
    pub loose: Vec<String>,
}
