//! Writing files: whole or not at all, and never over work that git does not have.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kopt::diag::{Code, Diagnostic};

use super::exit::{Exit, Failure};

/// Replaces the content of every path, or of none: temporary files beside them, flushed, then renamed. Permissions are
/// kept, and a link stays a link.
pub fn all(files: &[(PathBuf, Vec<u8>)]) -> Result<(), Failure> {
    let mut prepared = vec![];
    for (path, bytes) in files {
        prepared.push(prepare(path, bytes).map_err(|e| cannot(path, &e))?);
    }
    for ((scratch, target), (path, _)) in prepared.iter().zip(files) {
        std::fs::rename(&scratch.0, target).map_err(|e| cannot(path, &e))?;
    }
    Ok(())
}

pub fn atomically(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    all(&[(path.to_owned(), bytes.to_vec())])
}

/// The temporary file with the new content, and the file that it is to replace.
fn prepare(path: &Path, bytes: &[u8]) -> std::io::Result<(Scratch, PathBuf)> {
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let permissions = std::fs::metadata(&target).ok().map(|m| m.permissions());
    if permissions.as_ref().is_some_and(std::fs::Permissions::readonly) {
        return Err(std::io::Error::new(std::io::ErrorKind::PermissionDenied, "the file is read-only"));
    }
    let mut name = std::ffi::OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(format!(".kopt-{}", std::process::id()));
    let scratch = Scratch(folder.join(name));
    let mut file = std::fs::File::create(&scratch.0)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    drop(file);
    if let Some(permissions) = permissions {
        std::fs::set_permissions(&scratch.0, permissions)?;
    }
    Ok((scratch, target))
}

/// Removes the temporary file on every path; after the rename there is none.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

pub fn cannot(path: &Path, error: &std::io::Error) -> Failure {
    let message = format!("{}: cannot be written: {error}", path.display());
    Failure::new(Exit::Usage, Diagnostic::error(Code(541), message).next("check the path and its permissions"))
}

/// A new file with its folders; an existing one is not touched.
pub fn new_file(path: &Path, text: &str) -> Result<(), Failure> {
    if path.exists() {
        let message = format!("{} exists already", path.display());
        return Err(Failure::usage(551, message, "remove it first, or choose another name"));
    }
    create_folder_of(path)?;
    atomically(path, text.as_bytes())
}

pub fn create_folder_of(path: &Path) -> Result<(), Failure> {
    match path.parent().filter(|p| !p.as_os_str().is_empty()) {
        Some(folder) => std::fs::create_dir_all(folder).map_err(|e| cannot(folder, &e)),
        None => Ok(()),
    }
}

/// Those of `paths` that have changes which git does not have. Outside of a git repository, and without git, none.
pub fn dirty(paths: &[PathBuf]) -> Vec<PathBuf> {
    paths.iter().filter(|p| is_dirty(p)).cloned().collect()
}

fn is_dirty(path: &Path) -> bool {
    let absolute = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let (Some(folder), Some(name)) = (absolute.parent(), absolute.file_name()) else { return false };
    let mut pathspec = std::ffi::OsString::from(":(literal)");
    pathspec.push(name);
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(["status", "--porcelain", "--ignored=no", "--"])
        .arg(pathspec)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    output.is_ok_and(|o| o.status.success() && !o.stdout.is_empty())
}

pub fn refuse_dirty(paths: &[PathBuf]) -> Result<(), Failure> {
    let dirty = dirty(paths);
    if dirty.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = dirty.iter().map(|p| p.display().to_string()).collect();
    let message = format!("not written: git does not have all changes of {}", names.join(", "));
    Err(Failure::usage(544, message, "commit or stash them, or add --allow-dirty"))
}
