//! Honesty of the facts: every fact that is called proved, asserted against what the interpreter really executes.
//!
//! ```text
//! Facts --collect--> Claims ----------------------------------------------> Book --Watch--> Tally
//! text + observable places --instrument--> text --compile, run--> notes ------------^
//! ```
//!
//! [`collect()`] asks the facts everything that skills could ask of one kernel: values, ranges, remainders and types of
//! expressions, what conditions mean, what is known on each path; addresses, their alignment and strides; which values
//! are equal in all threads and which places all threads reach; trip counts; which pointers are distinct and which
//! accesses may be moved; extents, bank degrees, block shapes. A [`Watch`] compares each with what a launch does.
//!
//! # Why the text is instrumented
//! The facts speak of the source: of an expression in an iteration of a loop. The compiler unrolls, predicates, joins and
//! moves, so that an instruction of the PTX has no iteration and often no single line: matching it with an access would
//! give false alarms, or would have to be so lenient that it sees nothing. Instead the text itself tells what it does
//! ([`instrument()`]): expressions and accesses pass through a function that has no body for the compiler
//! ([`crate::ptx::NOTE`]), so that the calls happen as often, in that order and with those values, as C++ says. The run
//! is of the same kernel on the same inputs, with the rest of the compiler in between.
//!
//! # What is not seen
//! Places inside macro arguments, lambdas, assembly and unmodelled text are not observed, nor are device functions.
//! Symbols for values that are no expression of their own (a loaded value that is used at once) have no value, and claims
//! with them are counted as unresolved; of the blocks of a large grid some are watched. Claims are compared only on
//! launches on which the kernel is defined; a thread in which signed arithmetic overflowed is left out from there on.
//! Every number of [`Sums`] is reported: nothing is left out silently.

mod banks;
mod book;
mod claim;
mod collect;
mod ending;
mod instrument;
mod observable;
mod prelude;
mod shape;
mod single;
mod study;
mod symbol;
mod tally;
mod thread;
mod touched;
mod watch;

pub use book::Book;
pub use claim::{Claim, Claims, Kind, Probe, Says};
pub use collect::{collect, silent};
pub use instrument::{Depth, Instrumented, instrument};
pub use observable::{Observable, observable};
pub use shape::Shape;
pub use study::{Outcome, Study};
pub use tally::{Contradiction, Sums, Tally, say, sums};
pub use watch::{Watch, Watched, Watches};
