//! Programs of the CUDA toolkit that run the process that owns the GPU and watch it: where they are, and a folder for
//! what they write.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A program by its name: what `variable` names, else on `PATH`, in `CUDA_HOME` and `CUDA_PATH`, in `/usr/local/cuda`.
///
/// # Errors
/// That it is not there, with what to do.
pub fn find(name: &str, variable: &str) -> Result<PathBuf, String> {
    if let Some(given) = std::env::var_os(variable).filter(|v| !v.is_empty()) {
        let path = PathBuf::from(given);
        return if is_program(&path) { Ok(path) } else { Err(format!("{variable} names no program")) };
    }
    let paths = std::env::var_os("PATH").map_or_else(Vec::new, |p| std::env::split_paths(&p).collect());
    let homes = ["CUDA_HOME", "CUDA_PATH"].iter().filter_map(std::env::var_os).map(|h| PathBuf::from(h).join("bin"));
    let folders = paths.into_iter().chain(homes).chain([PathBuf::from("/usr/local/cuda/bin")]);
    folders.map(|f| f.join(name)).find(|p| is_program(p)).ok_or_else(|| {
        format!("`{name}` was not found; it comes with the CUDA toolkit, and CUDA_HOME or {variable} says where it is")
    })
}

fn is_program(path: &Path) -> bool {
    let Ok(about) = path.metadata() else { return false };
    #[cfg(unix)]
    let executable = std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    let executable = true;
    about.is_file() && executable
}

/// A new folder that is gone when this is.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// # Errors
    /// As the file system.
    pub fn new() -> std::io::Result<Scratch> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        // A name that is taken belongs to someone else: the next one.
        for _ in 0..64 {
            let n = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("kopt-tool-{}-{n}", std::process::id()));
            match make(&path) {
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
                made => return made.map(|()| Scratch(path)),
            }
        }
        Err(std::io::Error::other("no free name for a folder"))
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// At most 64 MB of a file as text; nothing where it is not there.
    pub fn text(&self, name: &str) -> Option<String> {
        use std::io::Read;
        const MOST: u64 = 64 << 20;
        let mut bytes = vec![];
        std::fs::File::open(self.file(name)).ok()?.take(MOST).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

fn make(path: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    // Nobody else may put a file there.
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scratch_folder_is_its_own_and_goes_away() {
        let (a, b) = (Scratch::new().unwrap(), Scratch::new().unwrap());
        assert_ne!(a.file("x"), b.file("x"));
        std::fs::write(a.file("x"), "here").unwrap();
        assert_eq!((a.text("x").as_deref(), a.text("y")), (Some("here"), None));
        let path = a.file("x");
        drop(a);
        assert!(!path.exists());
    }

    #[test]
    fn a_program_that_is_nowhere_has_a_next_step() {
        let missing = find("kopt-no-such-tool", "KOPT_NO_SUCH_TOOL").unwrap_err();
        assert!(missing.contains("CUDA_HOME") && missing.contains("KOPT_NO_SUCH_TOOL"), "{missing}");
    }
}
