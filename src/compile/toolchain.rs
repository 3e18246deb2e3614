//! Finds NVRTC, nvcc and their headers, and keeps an account of where it looked.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::nvcc::Nvcc;
use super::nvrtc::Nvrtc;

/// Where to look, in order. [`Places::from_environment`] is the usual one.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// `KOPT_NVRTC`: the library itself.
    pub nvrtc: Option<PathBuf>,
    /// `CUDA_HOME`, `CUDA_PATH`, `/usr/local/cuda`.
    pub cuda_homes: Vec<PathBuf>,
    /// Whether to ask the loader for `libnvrtc.so.13`, then `.12`.
    pub loader: bool,
    /// kopt's own cache.
    pub cache: Option<PathBuf>,
    /// Folders that hold a `nvidia` package.
    pub site_packages: Vec<PathBuf>,
    /// The folders of `PATH`, for nvcc.
    pub path: Vec<PathBuf>,
}

/// One place that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// `KOPT_NVRTC`, `CUDA_HOME`, `loader`, `cache`, `site-packages`, `PATH`.
    pub origin: &'static str,
    pub path: PathBuf,
    /// `None` where it was taken.
    pub failure: Option<String>,
}

/// What there is to compile with.
#[derive(Clone, Debug, Default)]
pub struct Toolchain {
    pub nvrtc: Option<Arc<Nvrtc>>,
    /// Include folders that go with the NVRTC found.
    pub includes: Vec<PathBuf>,
    /// Where NVRTC was found.
    pub origin: Option<&'static str>,
    pub nvcc: Option<Nvcc>,
    pub tried: Vec<Tried>,
}

/// kopt's cache folder: `KOPT_CACHE`, else `XDG_CACHE_HOME/kopt`, else `~/.cache/kopt`.
pub fn cache_folder() -> Option<PathBuf> {
    let var = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    var("KOPT_CACHE")
        .or_else(|| var("XDG_CACHE_HOME").map(|p| p.join("kopt")))
        .or_else(|| var("HOME").map(|p| p.join(".cache").join("kopt")))
}

impl Places {
    pub fn from_environment() -> Places {
        let var = |name: &str| std::env::var_os(name).filter(|v: &OsString| !v.is_empty()).map(PathBuf::from);
        let mut cuda_homes: Vec<PathBuf> = ["CUDA_HOME", "CUDA_PATH"].iter().filter_map(|n| var(n)).collect();
        cuda_homes.push("/usr/local/cuda".into());
        let prefixes = [var("VIRTUAL_ENV"), var("CONDA_PREFIX"), var("HOME").map(|h| h.join(".local"))];
        let system = [Some("/usr/local".into()), Some("/usr".into())];
        let site_packages = prefixes.into_iter().chain(system).flatten().flat_map(|p| python_folders(&p)).collect();
        let path = std::env::var_os("PATH").map(|p| std::env::split_paths(&p).collect()).unwrap_or_default();
        Places { nvrtc: var("KOPT_NVRTC"), cuda_homes, loader: true, cache: cache_folder(), site_packages, path }
    }
}

/// `lib/python3.*/site-packages` and `dist-packages` of a prefix, newest version name last.
fn python_folders(prefix: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(prefix.join("lib"))
        .into_iter()
        .flatten()
        .flatten()
        .filter(|e| e.file_name().to_string_lossy().starts_with("python3"))
        .flat_map(|e| [e.path().join("site-packages"), e.path().join("dist-packages")])
        .filter(|p| p.join("nvidia").is_dir())
        .collect();
    found.sort();
    found
}

impl Toolchain {
    /// Looks in the places that the environment names.
    pub fn find() -> Toolchain {
        Toolchain::find_in(&Places::from_environment())
    }

    pub fn find_in(places: &Places) -> Toolchain {
        let mut out = Toolchain::default();
        for (origin, path) in nvrtc_candidates(places) {
            match Nvrtc::open(&path) {
                Ok(nvrtc) => {
                    // A library that is loaded already answers to its bare name, wherever it came from.
                    let path = nvrtc.path().to_owned();
                    let cached = places.cache.as_ref().is_some_and(|c| path.starts_with(c));
                    let origin = if origin == "loader" && cached { "cache" } else { origin };
                    out.includes = includes_for(&path, places);
                    out.nvrtc = Some(Arc::new(nvrtc));
                    out.origin = Some(origin);
                    out.tried.push(Tried { origin, path, failure: None });
                    break;
                }
                Err(error) => out.tried.push(Tried { origin, path, failure: Some(error.to_string()) }),
            }
        }
        let homes = places.cuda_homes.iter().map(|h| ("CUDA_HOME", h.join("bin/nvcc")));
        let path = places.path.iter().map(|p| ("PATH", p.join("nvcc")));
        let roots = wheel_roots(places).into_iter().map(|(origin, root)| (origin, root.join("bin/nvcc")));
        for (origin, path) in homes.chain(path).chain(roots).filter(|(_, p)| p.is_file()) {
            out.nvcc = Nvcc::probe(&path);
            let failure = out.nvcc.is_none().then(|| "it does not answer --version".to_owned());
            out.tried.push(Tried { origin, path, failure });
            if out.nvcc.is_some() {
                break;
            }
        }
        out
    }

    /// What results depend on: version and size of the compiler, and the header folders.
    pub fn identity(&self) -> String {
        let Some(nvrtc) = &self.nvrtc else { return String::new() };
        let (major, minor) = nvrtc.version();
        let size = std::fs::metadata(nvrtc.path()).map_or(0, |m| m.len());
        let includes: Vec<String> = self.includes.iter().map(|p| p.display().to_string()).collect();
        format!("nvrtc {major}.{minor} {size} {}", includes.join(" "))
    }

    /// For people: `NVRTC 13.5`.
    pub fn version(&self) -> Option<String> {
        self.nvrtc.as_ref().map(|n| format!("NVRTC {}.{}", n.version().0, n.version().1))
    }

    /// One line per fact and, where something is missing, the command that brings it.
    pub fn report(&self) -> String {
        let mut out = String::new();
        match (&self.nvrtc, self.origin) {
            (Some(nvrtc), Some(origin)) => {
                let archs = nvrtc.architectures().unwrap_or_default();
                let range = match (archs.first(), archs.last()) {
                    (Some(a), Some(b)) => format!(", sm_{a} to sm_{b}"),
                    _ => String::new(),
                };
                let (major, minor) = nvrtc.version();
                out += &format!("NVRTC {major}.{minor}{range} ({origin}: {})\n", nvrtc.path().display());
            }
            _ => {
                out += "NVRTC: not found\n";
                for tried in &self.tried {
                    let why = tried.failure.as_deref().unwrap_or("");
                    out += &format!("  {}: {}: {why}\n", tried.origin, tried.path.display());
                }
                out += "  next: kopt toolchain install\n";
            }
        }
        match &self.nvcc {
            Some(nvcc) => out += &format!("nvcc {} ({})\n", nvcc.version, nvcc.path.display()),
            None => out += "nvcc: not found (not needed where the device slice can be cut)\n",
        }
        if self.nvrtc.is_some() && !self.includes.iter().any(|p| p.join("cuda_fp16.h").is_file()) {
            out += "CUDA headers: not found beside NVRTC; kernels with half types or cooperative groups will not compile\n";
            out += "  next: kopt toolchain install\n";
        }
        out
    }
}

const LIBRARIES: &[&str] = &["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"];

/// Roots with `lib`, `include` and `bin` that NVIDIA's wheels unpack to.
fn wheel_roots(places: &Places) -> Vec<(&'static str, PathBuf)> {
    let cache = places.cache.iter().map(|c| ("cache", super::install::folder(c)));
    let sites = places.site_packages.iter().map(|p| ("site-packages", p.clone()));
    cache.chain(sites).map(|(origin, p)| (origin, p.join("nvidia/cu13"))).collect()
}

fn nvrtc_candidates(places: &Places) -> Vec<(&'static str, PathBuf)> {
    let mut out: Vec<(&'static str, PathBuf)> = places.nvrtc.iter().map(|p| ("KOPT_NVRTC", p.clone())).collect();
    let there = |origin: &'static str, folder: PathBuf| {
        LIBRARIES.iter().map(move |l| (origin, folder.join(l))).filter(|(_, p)| p.is_file())
    };
    for home in &places.cuda_homes {
        for folder in ["lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"] {
            out.extend(there("CUDA_HOME", home.join(folder)));
        }
    }
    if places.loader {
        out.extend(LIBRARIES[..2].iter().map(|l| ("loader", PathBuf::from(l))));
    }
    for (origin, root) in wheel_roots(places) {
        out.extend(there(origin, root.join("lib")));
    }
    for site in &places.site_packages {
        out.extend(there("site-packages", site.join("nvidia/cuda_nvrtc/lib")));
    }
    out
}

/// The header folders that belong to a library, and those of the wheels beside it.
fn includes_for(library: &Path, places: &Places) -> Vec<PathBuf> {
    let mut roots: Vec<PathBuf> = vec![];
    if let Some(parent) = library.parent().and_then(Path::parent).filter(|p| !p.as_os_str().is_empty()) {
        roots.push(parent.to_owned());
        // The wheels for CUDA 12 are one folder each.
        if let Some(siblings) = parent.parent().filter(|p| p.ends_with("nvidia")) {
            roots.extend(["cuda_runtime", "cuda_nvcc", "cuda_cccl"].map(|s| siblings.join(s)));
        }
    }
    roots.extend(places.cuda_homes.iter().cloned());
    roots.extend(wheel_roots(places).into_iter().map(|(_, root)| root));
    let with_headers = |root: &PathBuf| root.join("include/cuda_fp16.h").is_file() || root.join("include/nv").is_dir();
    let chosen = roots.iter().position(|r| r.join("include/cuda_fp16.h").is_file());
    let mut out = vec![];
    // One root only, so that headers of two versions do not mix; the folders of CUDA 12 wheels belong together.
    for root in roots.iter().enumerate().filter(|(i, r)| {
        let split = r.parent().is_some_and(|p| p.ends_with("nvidia"))
            && chosen.is_some_and(|c| roots[c].parent() == r.parent());
        Some(*i) == chosen || (split && with_headers(r))
    }) {
        let include = root.1.join("include");
        for folder in [include.join("cccl"), include] {
            if folder.is_dir() && !out.contains(&folder) {
                out.push(folder);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_world_gives_an_account_and_a_next_step() {
        let none = Toolchain::find_in(&Places::default());
        assert!(none.nvrtc.is_none() && none.nvcc.is_none() && none.identity().is_empty());
        assert!(none.report().contains("kopt toolchain install"), "{}", none.report());
    }

    #[test]
    fn a_file_that_is_no_library_is_reported_and_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("libnvrtc.so.13");
        std::fs::write(&path, "not a library").unwrap();
        let found = Toolchain::find_in(&Places { nvrtc: Some(path.clone()), ..Places::default() });
        assert!(found.nvrtc.is_none());
        assert_eq!((found.tried[0].origin, &found.tried[0].path), ("KOPT_NVRTC", &path));
        assert!(found.report().contains("KOPT_NVRTC"));
    }
}
