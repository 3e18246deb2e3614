//! Export, import and merge. A memory is a set of evidence, and merging unites sets: the order does not matter, and what is
//! merged twice is there once.

use std::path::Path;

use super::super::evidence::Evidence;
use super::{About, Store, StoreError};

/// What a merge or an import did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Merged {
    /// Pieces that were read.
    pub read: usize,
    /// Of these, pieces that were not there before.
    pub new: usize,
}

impl Store {
    /// All evidence as lines of JSON, sorted by start and name of the run and by step. The same set gives the same bytes.
    ///
    /// # Errors
    /// Trouble with the file.
    pub fn export(&self) -> Result<String, StoreError> {
        let mut text = String::new();
        for e in self.evidence(About::default())? {
            text.push_str(&e.line());
            text.push('\n');
        }
        Ok(text)
    }

    /// Records what [`Store::export`] wrote; blank lines are skipped. All of it or nothing.
    ///
    /// # Errors
    /// The first line that cannot be read; trouble with the file.
    pub fn import(&mut self, text: &str) -> Result<Merged, StoreError> {
        let mut all = vec![];
        for (i, line) in text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()) {
            all.push(Evidence::parse_line(line).map_err(|e| StoreError::Line(i + 1, e))?);
        }
        Ok(Merged { read: all.len(), new: self.record(&all)? })
    }

    /// Records the evidence of another memory, which is only read.
    ///
    /// # Errors
    /// Trouble with either file.
    pub fn merge(&mut self, other: &Path) -> Result<Merged, StoreError> {
        let all = Store::open_source(other)?.evidence(About::default())?;
        Ok(Merged { read: all.len(), new: self.record(&all)? })
    }
}
