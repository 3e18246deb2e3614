pub mod ast;
mod decode;
mod error;
mod lex;
mod machine;
pub mod matrix;
mod parse;
pub mod scalar;
pub use decode::classify::Class;
pub use decode::program::{LineId, Parameter, Program, SourceLine};
pub use error::PtxError;
pub use machine::{
    AllocationId, Arguments, Counters, Counts, Finding, Kind, Launch, Limits, Memory, Mode, Options, Outcome, Sample,
    Schedule, Traffic, run,
};
pub use parse::parse;
