//! Finds the files under the paths that the user named.

use std::path::{Path, PathBuf};

use crate::diag::{Code, Diagnostic};

/// What is looked at inside a folder. A file that is named itself is taken whatever its ending.
pub const EXTENSIONS: &[&str] = &["cu", "cuh", "h", "hh", "hpp", "hxx", "cpp", "cc", "cxx", "inl", "inc", "ipp"];

/// The files under `paths`, sorted and each once; `.gitignore` and hidden files are honoured inside folders.
pub fn discover(paths: &[PathBuf]) -> (Vec<PathBuf>, Vec<Diagnostic>) {
    let (mut files, mut problems) = (vec![], vec![]);
    for path in paths {
        if path.is_file() {
            files.push(path.clone());
        } else if path.is_dir() {
            folder(path, &mut files, &mut problems);
        } else {
            let message = format!("{} does not exist", path.display());
            problems.push(Diagnostic::error(Code(4), message).next("check the path"));
        }
    }
    files.sort();
    files.dedup();
    (files, problems)
}

fn folder(dir: &Path, files: &mut Vec<PathBuf>, problems: &mut Vec<Diagnostic>) {
    // `.gitignore` counts in an exported tree too.
    for entry in ignore::WalkBuilder::new(dir).require_git(false).build() {
        match entry {
            Ok(entry) if entry.file_type().is_some_and(|t| t.is_file()) && wanted(entry.path()) => {
                files.push(entry.into_path())
            }
            Ok(_) => {}
            Err(e) => problems.push(Diagnostic::warning(Code(4), format!("skipped under {}: {e}", dir.display()))),
        }
    }
}

fn wanted(path: &Path) -> bool {
    path.extension().and_then(|e| e.to_str()).is_some_and(|e| EXTENSIONS.iter().any(|w| w.eq_ignore_ascii_case(e)))
}
