//! One input of a run: a file with what was read of it, its contract, its build.

use std::path::{Path, PathBuf};

use kopt::contract::Plan;
use kopt::diag::Diagnostic;
use kopt::gate::Side;
use kopt::report::Input;
use kopt::source::{FileId, SourceFile, Sources};

use super::super::exit::Failure;
use super::super::load::{self, Loaded};
use super::super::options::Global;
use super::super::{gate as compile_gate, session};
use super::Running;
use super::build::{Builder, Built, Unbuilt};
use super::contract::{self, Adopted, Origin};

/// A file that is to be run.
pub struct Opened {
    pub path: PathBuf,
    pub loaded: Loaded,
    file: FileId,
    builder: Builder,
    configured: Option<PathBuf>,
}

/// The plan of a run.
pub struct Settled {
    pub plan: Plan,
    pub origin: Origin,
    /// Guesses that the user took for granted.
    pub accepted: Vec<String>,
    pub warnings: Vec<Diagnostic>,
}

/// Reads a file.
pub fn open(path: &Path, running: &Running, global: &Global) -> Result<Opened, Failure> {
    let (config, _) = session::config(global)?;
    let include: Vec<PathBuf> = running.include.iter().chain(&config.include).cloned().collect();
    let define: Vec<String> = config.define.iter().chain(&running.define).cloned().collect();
    let arch = running.arch.clone().or(config.arch.clone()).unwrap_or_else(|| compile_gate::DEFAULT_ARCH.to_owned());
    if let Some(kind) = path.extension().filter(|e| *e == "cubin" || *e == "fatbin") {
        let message = format!(
            "{}: {} files hold machine code, which the interpreter does not read",
            path.display(),
            kind.display()
        );
        return Err(Failure::usage(660, message, "give CUDA or PTX files"));
    }
    let (loaded, file) = if is_ptx(path) {
        let bytes = std::fs::read(path)
            .map_err(|e| Failure::usage(541, format!("{}: {e}", path.display()), "name a file that can be read"))?;
        let mut loaded = Loaded::default();
        let file = loaded.project.sources.add(SourceFile::new(path.to_string_lossy(), bytes));
        (loaded, file)
    } else {
        let loaded = load::load(&[path.to_owned()], &include, &define)?;
        let Some(file) = loaded.requested.first().copied() else {
            return Err(Failure::usage(654, format!("{}: no kernel can be in it", path.display()), "name a CUDA file"));
        };
        (loaded, file)
    };
    let builder = Builder::new(path, &include, &define, &config.nvcc_flags, &arch);
    Ok(Opened { path: path.to_owned(), loaded, file, builder, configured: config.contract })
}

fn is_ptx(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "ptx")
}

impl Opened {
    /// A text that is not on the disk.
    pub fn of_text(name: &str, text: &str, arch: &str) -> Opened {
        let path = PathBuf::from(name);
        let loaded = load::load_text(name, text);
        let file = loaded.requested.first().copied().unwrap_or(FileId(0));
        Opened { builder: Builder::new(&path, &[], &[], &[], arch), path, loaded, file, configured: None }
    }

    pub fn sources(&self) -> &Sources {
        self.loaded.sources()
    }

    /// The contract's plan, settled and in agreement with the file.
    pub fn settle(&mut self, running: &Running, kernel: Option<&str>) -> Result<Settled, Failure> {
        let configured = self.configured.clone();
        let found =
            contract::written(&mut self.loaded, &self.path, running.contract.as_deref(), configured.as_deref())?;
        let found = match found {
            Some(found) => found,
            None if is_ptx(&self.path) => {
                let message = format!("{}: PTX does not show how it is launched", self.path.display());
                return Err(Failure::usage(660, message, "give a contract with --contract"));
            }
            None => contract::inferred(&self.loaded, kernel).0,
        };
        let plan = contract::choose(&found.contract, kernel)?;
        let accepted = contract::settle(&plan, &found.origin, running.accept_proposed, &self.path, &self.loaded)?;
        let warnings = if is_ptx(&self.path) { vec![] } else { contract::against_files(&self.loaded, &plan)? };
        Ok(Settled { plan, origin: found.origin, accepted, warnings })
    }

    /// The launches of this file as a candidate under the original's plan.
    pub fn adopt(&mut self, original: &Plan, given: Option<&Path>, kernel: Option<&str>) -> Result<Adopted, Failure> {
        if is_ptx(&self.path) && given.is_none() {
            let mut plan = original.clone();
            for step in &mut plan.steps {
                if let (kopt::contract::Step::Launch(l), Some(k)) = (step, kernel) {
                    l.kernel = k.to_owned();
                }
            }
            return Ok(Adopted { plan, how: "the original's".into() });
        }
        contract::of_candidate(original, &mut self.loaded, &self.path, given, kernel)
    }

    pub fn build(&self, plan: &Plan) -> Result<Built, Unbuilt> {
        if is_ptx(&self.path) {
            return Built::from_ptx(&self.sources().get(self.file).text, plan, self.sources());
        }
        self.builder.side(self.sources(), self.file, plan)
    }

    /// Every plan of the file's contract, or of what the file shows.
    pub fn plans(&mut self, running: &Running) -> Result<Vec<Plan>, Failure> {
        let configured = self.configured.clone();
        let found =
            contract::written(&mut self.loaded, &self.path, running.contract.as_deref(), configured.as_deref())?;
        Ok(found.unwrap_or_else(|| contract::inferred(&self.loaded, None).0).contract.plans)
    }

    /// The file itself.
    pub fn file(&self) -> FileId {
        self.file
    }

    pub fn builder(&self) -> &Builder {
        &self.builder
    }

    pub fn input(&self, side: &Side) -> Input {
        let source = self.sources().get(self.file);
        Input {
            file: source.name.clone(),
            kernels: Side::keys(&side.plan).iter().map(ToString::to_string).collect(),
            hash: blake3::hash(source.bytes()).to_hex().to_string(),
            text: source.text.to_string(),
        }
    }
}
