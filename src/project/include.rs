//! Where an `#include` leads.

use std::path::{Path, PathBuf};

/// Resolves includes as a compiler would, and last against the project's root.
#[derive(Clone, Debug)]
pub struct Resolver {
    dirs: Vec<PathBuf>,
}

impl Resolver {
    pub fn new(include_dirs: &[PathBuf], root: &Path) -> Resolver {
        let mut dirs = include_dirs.to_vec();
        for extra in [root.to_path_buf(), root.join("include")] {
            if !dirs.contains(&extra) {
                dirs.push(extra);
            }
        }
        Resolver { dirs }
    }

    /// The file that `name` names in `from`; quoted names are looked for beside `from` first.
    pub fn resolve(&self, from: &Path, name: &str, angled: bool) -> Option<PathBuf> {
        let beside = from.parent().filter(|_| !angled);
        let mut places = beside.into_iter().chain(self.dirs.iter().map(PathBuf::as_path));
        places.find_map(|dir| Some(tidy(&dir.join(name))).filter(|p| p.is_file()))
    }
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
