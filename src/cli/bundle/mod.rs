//! `kopt gate bundle`, `run` and `ingest`: candidates are compiled here, judged on another machine, and the results read
//! back here.

mod ingest;
mod judge;
mod make;
mod queue;
mod result;

pub use ingest::Ingest;
pub use judge::Judge;
pub use make::Make;

pub use ingest::run as ingest;
pub use judge::run as judge;
pub use make::run as make;

use std::path::Path;

use kopt::bundle::{Bundle, BundleError};

use super::exit::Failure;

/// Reads the bundle at `path`.
fn read(path: &Path) -> Result<Bundle, Failure> {
    let unreadable =
        |e: std::io::Error| Failure::usage(541, format!("{}: {e}", path.display()), "name a bundle that can be read");
    let file = std::fs::File::open(path).map_err(unreadable)?;
    kopt::bundle::read(std::io::BufReader::new(file)).map_err(|e| refused(path, &e))
}

/// What is said of a bundle that cannot be used.
fn refused(path: &Path, error: &BundleError) -> Failure {
    let next = match error {
        BundleError::Format { .. } => "judge it with the version of kopt that made it",
        BundleError::NoBuild { .. } => "kopt gate bundle --arch, with the architecture of the GPU",
        _ => "make it again: kopt gate bundle",
    };
    Failure::usage(692, format!("{}: {error}", path.display()), next)
}
