//! A generated program.

use std::collections::BTreeMap;

/// A value for each dim.
pub type Sizes = BTreeMap<String, i64>;

/// One file with one kernel `k`, its contract in comments, and the sizes that it is run on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generated {
    pub seed: u64,
    /// The choices that it was made of.
    pub record: Vec<u32>,
    pub text: String,
    /// Where the host function begins, if there is one; it stands last.
    pub host: Option<usize>,
    pub cells: Vec<Sizes>,
    /// Buffers of which the contract does not say how they are aligned.
    pub loose: Vec<String>,
    /// Whether approximate functions are permitted.
    pub approximate: bool,
}
