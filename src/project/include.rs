//! Where an `#include` leads.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Resolves includes as a compiler would, and last against the project's root.
#[derive(Debug)]
pub struct Resolver {
    dirs: Vec<PathBuf>,
    /// What names lead to in `dirs`, asked once: most files include the same.
    known: Mutex<HashMap<String, Option<PathBuf>>>,
}

impl Resolver {
    pub fn new(include_dirs: &[PathBuf], root: &Path) -> Resolver {
        let mut dirs = include_dirs.to_vec();
        for extra in [root.to_path_buf(), root.join("include")] {
            if !dirs.contains(&extra) {
                dirs.push(extra);
            }
        }
        Resolver { dirs, known: Mutex::default() }
    }

    /// The file that `name` names in `from`; quoted names are looked for beside `from` first.
    pub fn resolve(&self, from: &Path, name: &str, angled: bool) -> Option<PathBuf> {
        let beside = from.parent().filter(|_| !angled);
        beside.and_then(|dir| file(dir, name)).or_else(|| self.in_dirs(name))
    }

    fn in_dirs(&self, name: &str) -> Option<PathBuf> {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known().get(name).cloned();
        found.unwrap_or_else(|| {
            let target = self.dirs.iter().find_map(|dir| file(dir, name));
            known().insert(name.to_owned(), target.clone());
            target
        })
    }
}

/// The file of that name in a folder.
fn file(dir: &Path, name: &str) -> Option<PathBuf> {
    Some(tidy(&dir.join(name))).filter(|p| p.is_file())
}

/// Removes `.` and resolves `..` by name, so that one file is shown by one path.
fn tidy(path: &Path) -> PathBuf {
    use std::path::Component;
    let mut tidy = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(tidy.components().next_back(), Some(Component::Normal(_))) => {
                tidy.pop();
            }
            other => tidy.push(other),
        }
    }
    tidy
}

/// The nearest folder at or above `path` that looks like the root of a project, else the folder of `path`.
pub fn find_root(path: &Path) -> PathBuf {
    let start = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new(".")) };
    let start = if start.as_os_str().is_empty() { Path::new(".") } else { start };
    let marks = [".git", "kopt.toml", "compile_commands.json"];
    let absolute = start.canonicalize().unwrap_or_else(|_| start.to_path_buf());
    match absolute.ancestors().find(|dir| marks.iter().any(|m| dir.join(m).exists())) {
        Some(root) if root != absolute => root.to_path_buf(),
        _ => start.to_path_buf(),
    }
}
