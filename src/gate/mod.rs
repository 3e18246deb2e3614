//! The gate's second question: does a candidate compute what the original computes? Both run in the interpreter on
//! equal inputs that the contract describes; what they wrote is compared, and what they did on the way.
//!
//! ```text
//! contract --cells--> concrete plan --execute--> Ran (outputs, findings, counters) of each side
//!     Ran, Ran --compare under bound--> cell verdict        wrong answers --calibrate--> could it have told?
//! ```
//!
//! No file, clock, process or environment: compiling and reading stand at the edge ([`crate::compile`], the command
//! line). [`verify_pair`] is the entry. The verdict says what was run and seen; it never says that a kernel is right.

pub mod again;
pub mod agree;
pub mod arithmetic;
pub mod bound;
pub mod built;
pub mod calibrate;
pub mod cell;
pub mod compare;
pub mod device;
pub mod element;
pub mod execute;
pub mod finding;
pub mod judge;
pub mod machine;
pub mod on_device;
pub mod oracle;
pub mod pair;
pub mod peaks;
pub mod refine;
pub mod sanitize;
pub mod selftest;
pub mod shrink;
pub mod side;
pub mod symbols;
pub mod timing;
pub mod verdict;

pub use built::{BuildError, Built, Compiled};
pub use calibrate::{Probe, Probed};
pub use execute::{How, Listener, Ran, Stopped, execute, execute_watched, starts};
pub use finding::Located;
pub use oracle::{Answer, KernelOracle, Oracle};
pub use pair::{Counters, Measured, Outcome, Settings, faults, verify_against, verify_pair};
pub use side::{KernelKey, Side};
pub use verdict::{CellResult, CellVerdict, Fault, OutputResult, Undefined, Verdict};
