//! What can go wrong with a store. None of it says anything about code.

use std::path::PathBuf;

use super::super::evidence::EvidenceError;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{}: there is no memory", .0.display())]
    Missing(PathBuf),
    #[error("{path}: this is no memory of kopt: {1}", path = .0.display())]
    Foreign(PathBuf, String),
    #[error("{path}: the memory has layout {1}, and this version of kopt knows up to {2}", path = .0.display())]
    Newer(PathBuf, i64, i64),
    #[error("{path}: the memory is damaged: {1}", path = .0.display())]
    Corrupt(PathBuf, String),
    #[error("{}: the disk is full; nothing of this step was recorded", .0.display())]
    Full(PathBuf),
    #[error("{}: another process has held the memory for too long", .0.display())]
    Busy(PathBuf),
    #[error("{path}: {1}", path = .0.display())]
    Unusable(PathBuf, String),
    #[error("line {0}: {1}")]
    Line(usize, EvidenceError),
    #[error("this cannot be recorded: {0}")]
    Evidence(#[from] EvidenceError),
}

impl StoreError {
    /// The error of the database by what it means for the user.
    pub(super) fn of(path: &std::path::Path, error: &rusqlite::Error) -> StoreError {
        use rusqlite::ErrorCode as Code;
        let path = path.to_owned();
        match error.sqlite_error_code() {
            Some(Code::DatabaseCorrupt | Code::NotADatabase) => StoreError::Corrupt(path, error.to_string()),
            Some(Code::DiskFull) => StoreError::Full(path),
            Some(Code::DatabaseBusy | Code::DatabaseLocked) => StoreError::Busy(path),
            _ => StoreError::Unusable(path, error.to_string()),
        }
    }
}
