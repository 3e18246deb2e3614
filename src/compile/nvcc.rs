//! An installed nvcc, run as a child process on a whole file with the project's own flags.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::ptxas::{self, KernelResources};
use crate::child;

/// An nvcc and what it says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nvcc {
    pub path: PathBuf,
    /// Such as `13.5`.
    pub version: String,
}

/// One run.
#[derive(Clone, Debug)]
pub struct NvccJob<'a> {
    pub file: &'a Path,
    /// `sm_90a`.
    pub arch: &'a str,
    /// The project's flags; those that choose an architecture or an output are left out.
    pub flags: &'a [String],
    /// An empty folder for the results.
    pub folder: &'a Path,
    pub limit: Duration,
}

/// What nvcc made.
#[derive(Clone, Debug)]
pub struct NvccOutput {
    pub ptx: String,
    pub cubin: Vec<u8>,
    pub log: String,
    pub kernels: Vec<KernelResources>,
}

#[derive(Debug, thiserror::Error)]
pub enum NvccError {
    #[error("cannot run {path}: {source}")]
    Start { path: String, source: std::io::Error },
    #[error("nvcc was stopped after {} s", limit.as_secs())]
    TimedOut { limit: Duration },
    #[error("nvcc refused the file")]
    Rejected { log: String },
    #[error("nvcc left no {what}: {source}")]
    NoOutput { what: &'static str, source: std::io::Error },
}

impl Nvcc {
    /// Asks the program at `path` for its version; `None` if it is not an nvcc that runs.
    pub fn probe(path: &Path) -> Option<Nvcc> {
        let done = child::run(Command::new(path).arg("--version"), Duration::from_secs(10)).ok()?;
        let version = done.stdout.split("release ").nth(1)?.split([',', '\n']).next()?.trim().to_owned();
        done.success().then(|| Nvcc { path: path.to_owned(), version })
    }

    /// Compiles a whole file to CUBIN and PTX.
    pub fn compile(&self, job: &NvccJob<'_>) -> Result<NvccOutput, NvccError> {
        let cubin = job.folder.join("out.cubin");
        let ptx = job.folder.join("out.ptx");
        let log = self.run(job, "-cubin", &cubin, true)?;
        self.run(job, "-ptx", &ptx, false)?;
        let cubin = std::fs::read(&cubin).map_err(|source| NvccError::NoOutput { what: "CUBIN", source })?;
        let ptx = std::fs::read_to_string(&ptx).map_err(|source| NvccError::NoOutput { what: "PTX", source })?;
        Ok(NvccOutput { ptx, cubin, kernels: ptxas::resources(&log), log })
    }

    fn run(&self, job: &NvccJob<'_>, kind: &str, out: &Path, verbose: bool) -> Result<String, NvccError> {
        let mut command = Command::new(&self.path);
        command.arg(kind).arg(format!("-arch={}", job.arch)).arg("-lineinfo").arg("-o").arg(out);
        if verbose {
            command.args(["-Xptxas", "-v"]);
        }
        command.args(own_flags(job.flags)).arg(job.file);
        let start = |source| NvccError::Start { path: self.path.display().to_string(), source };
        let done = child::run(&mut command, job.limit).map_err(start)?;
        if done.timed_out {
            return Err(NvccError::TimedOut { limit: job.limit });
        }
        if !done.success() {
            return Err(NvccError::Rejected { log: done.log() });
        }
        Ok(done.log())
    }
}

/// The flags without those that kopt sets itself: architecture, kind and place of the output.
fn own_flags(flags: &[String]) -> Vec<&String> {
    let takes_value =
        ["-o", "-gencode", "--generate-code", "-arch", "--gpu-architecture", "-code", "--gpu-code", "-MF", "-MT"];
    let alone =
        ["-c", "--compile", "-dc", "-dlink", "-ptx", "-cubin", "-fatbin", "-shared", "--shared", "-M", "-MD", "-MMD"];
    let joined = ["-gencode=", "--generate-code=", "-arch=", "--gpu-architecture=", "-code=", "--gpu-code="];
    let mut out = vec![];
    let mut list = flags.iter();
    while let Some(flag) = list.next() {
        if takes_value.contains(&flag.as_str()) {
            list.next();
        } else if !alone.contains(&flag.as_str()) && !joined.iter().any(|j| flag.starts_with(j)) {
            out.push(flag);
        }
    }
    out
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn script(folder: &Path, text: &str) -> PathBuf {
        let path = folder.join("nvcc");
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn a_compiler_that_hangs_is_stopped_and_one_that_fails_is_heard() {
        let folder = tempfile::tempdir().unwrap();
        let body = "case \"$1\" in --version) echo 'Cuda compilation tools, release 13.5, V13.5.1';; *) case \"$*\" in \
            *hang*) sleep 20;; *) echo 'a.cu(3): error: no' >&2; exit 2;; esac;; esac";
        let nvcc = Nvcc::probe(&script(folder.path(), body)).expect("it answers --version");
        assert_eq!(nvcc.version, "13.5");
        let job = |file| NvccJob {
            file: Path::new(file),
            arch: "sm_80",
            flags: &[],
            folder: folder.path(),
            limit: Duration::from_millis(300),
        };
        assert!(matches!(nvcc.compile(&job("hang.cu")), Err(NvccError::TimedOut { .. })));
        assert!(matches!(nvcc.compile(&job("a.cu")), Err(NvccError::Rejected { log }) if log.contains("a.cu(3)")));
        assert!(Nvcc::probe(Path::new("/bin/true")).is_none() && Nvcc::probe(Path::new("/nonexistent")).is_none());
    }

    #[test]
    fn flags_that_kopt_sets_itself_are_left_out() {
        let given = ["-O3", "-gencode", "arch=compute_80,code=sm_80", "-arch=sm_70", "-c", "-o", "x.o", "-DA=1"];
        let given: Vec<String> = given.iter().map(|s| s.to_string()).collect();
        assert_eq!(own_flags(&given), ["-O3", "-DA=1"]);
    }
}
