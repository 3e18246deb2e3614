//! The memory in a file: SQLite with a write-ahead log, shared by any number of processes.
//!
//! Evidence and the sums over it change in one transaction. Where a run turns up that belongs before others (clocks differ,
//! memories are merged), every weight changes: the sums are marked stale then, and made anew by whoever reads them next.

mod doctor;
mod error;
mod lines;
mod open;
pub mod place;
mod read;
mod schema;
mod write;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use rusqlite::Connection;

pub use doctor::Findings;
pub use error::StoreError;
pub use lines::Merged;
pub use read::About;
pub use schema::VERSION;

/// An open memory.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    connection: Connection,
    set_aside: Option<PathBuf>,
}

impl Store {
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where a damaged file went that was found in its place on opening.
    pub fn set_aside(&self) -> Option<&Path> {
        self.set_aside.as_deref()
    }

    fn error(&self, error: &rusqlite::Error) -> StoreError {
        StoreError::of(&self.path, error)
    }
}
