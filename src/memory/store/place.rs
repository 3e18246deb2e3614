//! Where the memory of a user is.

use std::path::PathBuf;

/// What the environment says: `KOPT_MEMORY`.
pub fn named() -> Option<PathBuf> {
    variable("KOPT_MEMORY")
}

/// Where it is when nobody says it: `XDG_DATA_HOME/kopt/memory.sqlite`, else `~/.local/share/kopt/memory.sqlite`.
pub fn usual() -> Option<PathBuf> {
    let data = variable("XDG_DATA_HOME").or_else(|| variable("HOME").map(|h| h.join(".local").join("share")));
    data.map(|d| d.join("kopt").join("memory.sqlite"))
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from)
}
