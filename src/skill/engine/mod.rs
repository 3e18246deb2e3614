//! The engine: binds skills to places, judges their conditions, and writes what their bodies say.
//!
//! [`matching`] finds candidates, [`judge`] turns conditions into verdicts and makes the [`Proof`], [`rewrite`] runs the
//! body and adds guards, [`run`] repeats that to a fixpoint.

pub mod argument;
pub mod eval;
pub mod features;
pub mod force;
pub mod guard;
pub mod judge;
pub mod matching;
pub mod region;
pub mod report;
pub mod rewrite;
pub mod run;
mod site;
pub mod survey;
pub mod template;

pub use judge::{Judged, Judgement, Payoff, Verdict};
pub use rewrite::{Rewrite, Stop};
pub use run::{Change, NoConvergence, Outcome, Request};
pub use site::{Bound, Proof, Site};
pub use survey::{Finding, FindingKind, survey};
