//! `kopt toolchain install`: NVIDIA's compiler and headers into kopt's cache, by the user's own pip.
//!
//! Four wheels at exact versions with their hashes; pip checks the hashes and uses the user's configuration (index,
//! proxy, certificates). No virtual environment and no root: the wheels are unpacked into the cache, first into a
//! temporary folder, then renamed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::nvrtc::Nvrtc;
use crate::child;

/// A wheel at one version, with the SHA-256 of its file for each platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pin {
    pub package: &'static str,
    pub version: &'static str,
    pub sha256_x86_64: &'static str,
    pub sha256_aarch64: &'static str,
    /// Of the larger of the two files.
    pub bytes: u64,
    pub gives: &'static str,
}

pub const PINS: &[Pin] = &[
    Pin {
        package: "nvidia-cuda-nvrtc",
        version: "13.5.37",
        sha256_x86_64: "86b4d68058807988b7d9af5b44917a0601e9c337f35ccd657bfb3c759ff8d8bc",
        sha256_aarch64: "36e4fa2a8ada293f5693d308e531c196ab6f91cf7a0ff479bf96a537d43a6096",
        bytes: 58_185_930,
        gives: "the run-time compiler",
    },
    Pin {
        package: "nvidia-cuda-runtime",
        version: "13.5.37",
        sha256_x86_64: "df2b79a8852f10d1fef8c848489c49eebb5754051bf870202a862831412b179d",
        sha256_aarch64: "de2dc5a7367974228b0a69588a9acc9340d3768bef1bf38bf0801eb08497cd2d",
        bytes: 2_520_010,
        gives: "headers: half types, cooperative groups, occupancy",
    },
    Pin {
        package: "nvidia-cuda-crt",
        version: "13.5.37",
        sha256_x86_64: "e898b7f73d3035fa89915a3f7bf3b54a73e90249746111aed295822c4729bb29",
        sha256_aarch64: "9ed2c565fdf3244fa6719769a80a466b85bfd4b1467ea339353bc91c971d09e0",
        bytes: 166_163,
        gives: "headers: mma.h",
    },
    Pin {
        package: "nvidia-cuda-cccl",
        version: "13.3.5.0.6",
        sha256_x86_64: "d5230098fa2df5021e1a00c0c4eee41797671a91119d31e892463e5ccf3ee326",
        sha256_aarch64: "6f30b8076b3e69951c459c94ae190bde51924b320076ebaec376d36848b4c76e",
        bytes: 4_113_651,
        gives: "headers: cuda/std, CUB",
    },
];

/// Disk space of the unpacked wheels.
const UNPACKED_BYTES: u64 = 184_000_000;

#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error("no cache folder: neither KOPT_CACHE, XDG_CACHE_HOME nor HOME is set")]
    NoCache,
    #[error("NVIDIA's wheels exist for Linux on x86_64 and aarch64, not for {0}")]
    Platform(String),
    #[error("python3 with pip is not there; {hint}")]
    NoPip { hint: &'static str },
    #[error("pip could not download the wheels:\n{log}")]
    Download { log: String },
    #[error("cannot unpack {wheel}:\n{log}")]
    Unpack { wheel: String, log: String },
    #[error("cannot write to the cache: {0}")]
    Io(#[from] std::io::Error),
    #[error("the unpacked compiler does not work: {0}")]
    Broken(String),
}

/// Where the pinned wheels live inside a cache folder. A change of a pin gives another folder.
pub fn folder(cache: &Path) -> PathBuf {
    let text: String = PINS.iter().map(|p| format!("{}=={}\n", p.package, p.version)).collect();
    let hash = blake3::hash(text.as_bytes()).to_hex();
    cache.join("toolchain").join(format!("cuda-{}-{}", PINS[0].version, &hash[..8]))
}

/// What the user is told before anything is downloaded.
pub fn notice(cache: &Path) -> String {
    let total: u64 = PINS.iter().map(|p| p.bytes).sum();
    let mut out = format!(
        "kopt toolchain install downloads {:.0} MB with pip and unpacks {:.0} MB into\n  {}\n",
        total as f64 / 1e6,
        UNPACKED_BYTES as f64 / 1e6,
        folder(cache).display()
    );
    for pin in PINS {
        out +=
            &format!("  {:<20} {:<11} {:>5.1} MB  {}\n", pin.package, pin.version, pin.bytes as f64 / 1e6, pin.gives);
    }
    out += "Each file is checked against a SHA-256 hash that is part of kopt. No root, no virtual environment.\n\
            Licence: NVIDIA's CUDA Toolkit End User License Agreement (CCCL: Apache-2.0 with LLVM exception). The files\n\
            are NVIDIA's, for developing software for NVIDIA GPUs; you install them, kopt does not distribute them.\n\
            The text is in each package's *.dist-info/licenses after unpacking. To remove them, delete the folder.\n";
    out
}

/// How to get pip, for the message when it is missing.
const PIP_HINT: &str = "install it with `python3 -m ensurepip --user`, or `apt install python3-pip` (Debian, Ubuntu), \
    `dnf install python3-pip` (Fedora), then run `kopt toolchain install` again";

/// Lines for pip's `-r`: both platforms' hashes, so that one list serves both.
fn requirements() -> String {
    let line = |p: &Pin| {
        format!("{}=={} --hash=sha256:{} --hash=sha256:{}\n", p.package, p.version, p.sha256_x86_64, p.sha256_aarch64)
    };
    PINS.iter().map(line).collect()
}

/// Installs into `cache` and returns the folder. `progress` hears one line per step. An installed set is left alone.
/// Call [`notice`] and show its text first.
pub fn install(cache: &Path, progress: &mut dyn FnMut(&str)) -> Result<PathBuf, InstallError> {
    let target = folder(cache);
    if library(&target).is_file() {
        progress("already installed");
        return Ok(target);
    }
    if !cfg!(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))) {
        return Err(InstallError::Platform(format!("{} on {}", std::env::consts::OS, std::env::consts::ARCH)));
    }
    if !python(&["-m", "pip", "--version"], 60).is_ok_and(|d| d.success()) {
        return Err(InstallError::NoPip { hint: PIP_HINT });
    }
    let parent = target.parent().unwrap_or(cache);
    std::fs::create_dir_all(parent)?;
    let work = Scratch::new(parent)?;
    download(&work.0, progress)?;
    let unpacked = work.0.join("unpacked");
    unpack(&work.0, &unpacked, progress)?;
    Nvrtc::open(&library(&unpacked)).map_err(|e| InstallError::Broken(e.to_string()))?;
    match std::fs::rename(&unpacked, &target) {
        // Another kopt was faster: its result is the same.
        Err(_) if library(&target).is_file() => {}
        other => other?,
    }
    progress("installed");
    Ok(target)
}

fn library(root: &Path) -> PathBuf {
    root.join("nvidia/cu13/lib/libnvrtc.so.13")
}

fn python(args: &[&str], seconds: u64) -> std::io::Result<child::Finished> {
    child::run(Command::new("python3").args(args), Duration::from_secs(seconds))
}

fn download(work: &Path, progress: &mut dyn FnMut(&str)) -> Result<(), InstallError> {
    let list = work.join("requirements.txt");
    std::fs::write(&list, requirements())?;
    let total: u64 = PINS.iter().map(|p| p.bytes).sum();
    progress(&format!("downloading {} wheels, {:.0} MB", PINS.len(), total as f64 / 1e6));
    let wheels = work.join("wheels");
    let (list, wheels) = (list.display().to_string(), wheels.display().to_string());
    let args = ["-m", "pip", "download", "--no-deps", "--require-hashes", "--only-binary=:all:", "--no-input"];
    let rest = ["--disable-pip-version-check", "--progress-bar=off", "-d", &wheels, "-r", &list];
    let done = python(&[&args[..], &rest[..]].concat(), 1800)?;
    if done.success() {
        return Ok(());
    }
    let log = if done.timed_out { "no end after 30 minutes".to_owned() } else { done.log() };
    Err(InstallError::Download { log })
}

fn unpack(work: &Path, target: &Path, progress: &mut dyn FnMut(&str)) -> Result<(), InstallError> {
    let mut wheels: Vec<PathBuf> = std::fs::read_dir(work.join("wheels"))?.flatten().map(|e| e.path()).collect();
    wheels.sort();
    std::fs::create_dir_all(target)?;
    for wheel in wheels.iter().filter(|w| w.extension().is_some_and(|e| e == "whl")) {
        let name = wheel.file_name().unwrap_or_default().to_string_lossy().into_owned();
        progress(&format!("unpacking {name}"));
        let (from, to) = (wheel.display().to_string(), target.display().to_string());
        let done = python(&["-m", "zipfile", "-e", &from, &to], 300)?;
        if !done.success() {
            return Err(InstallError::Unpack { wheel: name, log: done.log() });
        }
    }
    Ok(())
}

/// A temporary folder beside the target, so that the last step is a rename; removed on every path.
struct Scratch(PathBuf);

impl Scratch {
    fn new(parent: &Path) -> std::io::Result<Scratch> {
        let path = parent.join(format!(".install-{}", std::process::id()));
        if path.exists() {
            std::fs::remove_dir_all(&path)?;
        }
        std::fs::create_dir_all(&path)?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder that cannot be removed is only a loss of space.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_and_licence_are_said_first() {
        let text = notice(Path::new("/tmp/c"));
        for part in ["65 MB", "End User License Agreement", "No root", "/tmp/c/toolchain/cuda-13.5.37-"] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
    }

    #[test]
    fn every_pin_has_two_hashes() {
        for pin in PINS {
            for hash in [pin.sha256_x86_64, pin.sha256_aarch64] {
                assert!(hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit()), "{}", pin.package);
            }
        }
        assert_eq!(requirements().lines().count(), PINS.len());
    }

    #[test]
    fn an_installed_set_is_left_alone() {
        let cache = tempfile::tempdir().unwrap();
        let path = library(&folder(cache.path()));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "").unwrap();
        let mut said = vec![];
        install(cache.path(), &mut |line| said.push(line.to_owned())).unwrap();
        assert_eq!(said, ["already installed"]);
    }
}
