//! How a run ends.

use kopt::diag::{Code, Diagnostic};
use kopt::source::Sources;

/// Exit codes; docs/cli.md explains them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done, or already done.
    Done = 0,
    /// Findings under a failing level, or an explicit skill that changed nothing.
    Findings = 1,
    /// Usage, configuration or internal error.
    Usage = 2,
    /// Verification failed.
    Verification = 3,
    /// Some kernels are not modelled, under `--strict`.
    NotModelled = 4,
    /// A required tier is not there.
    TierMissing = 5,
    /// A check that was asked for could not say anything.
    Inconclusive = 6,
}

/// A run that ends early.
#[derive(Debug)]
pub enum Failure {
    /// The reader of the output went away: nothing more is said.
    Quiet,
    /// What to say, with the texts that it points into.
    Said { exit: Exit, problems: Vec<Diagnostic>, sources: Sources },
}

impl Failure {
    pub fn new(exit: Exit, problem: Diagnostic) -> Failure {
        Failure::Said { exit, problems: vec![problem], sources: Sources::default() }
    }

    /// A mistake in how kopt was called.
    pub fn usage(code: u16, message: impl Into<String>, next: impl Into<String>) -> Failure {
        Failure::new(Exit::Usage, Diagnostic::error(Code(code), message).next(next))
    }

    pub fn in_files(exit: Exit, problems: Vec<Diagnostic>, sources: Sources) -> Failure {
        Failure::Said { exit, problems, sources }
    }
}

impl From<std::io::Error> for Failure {
    /// Of writing to the standard output.
    fn from(error: std::io::Error) -> Failure {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Failure::Quiet,
            _ => Failure::usage(541, format!("cannot write the output: {error}"), "check where the output goes"),
        }
    }
}
