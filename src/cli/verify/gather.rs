//! One input of a run: a file with what was read of it, its contract, its build.

use std::path::{Path, PathBuf};

use kopt::contract::{Cell, ContractError, Distribution, Plan};
use kopt::diag::{Code, Diagnostic};
use kopt::gate::{Side, symbols};
use kopt::infer;
use kopt::report::Input;
use kopt::source::{FileId, SourceFile, Sources};

use super::super::exit::{Exit, Failure};
use super::super::load::{self, Loaded};
use super::super::options::Global;
use super::super::{gate as compile_gate, session};
use super::Running;
use super::adopt::{self, Adopted, Choice, Theirs};
use super::build::{Builder, Unbuilt};
use super::contract::{self, Origin};
use super::pair::Subject;
use kopt::gate::Built;

/// A file that is to be run.
pub struct Opened {
    pub path: PathBuf,
    pub loaded: Loaded,
    file: FileId,
    /// The bytes of a CUBIN, of which there is no text.
    machine_code: Option<Vec<u8>>,
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
    /// What is worth saying of how the plan was chosen.
    pub notes: Vec<String>,
}

/// Reads a file.
pub fn open(path: &Path, running: &Running, global: &Global) -> Result<Opened, Failure> {
    let (config, _) = session::config(global)?;
    let include: Vec<PathBuf> = running.include.iter().chain(&config.include).cloned().collect();
    let define: Vec<String> = config.define.iter().chain(&running.define).cloned().collect();
    let arch = running.arch.clone().or(config.arch.clone()).unwrap_or_else(|| compile_gate::DEFAULT_ARCH.to_owned());
    if path.extension().is_some_and(|e| e == "fatbin") {
        let message = format!("{}: this may hold code for several architectures", path.display());
        return Err(Failure::usage(660, message, "take the CUBIN for one of them out of it: cuobjdump -xelf all FILE"));
    }
    if path.is_dir() {
        let message = format!("{}: this is a folder, and one file is compared with one", path.display());
        return Err(Failure::usage(660, message, "name the file that has the kernel"));
    }
    let unread = |e| Failure::usage(541, format!("{}: {e}", path.display()), "name a file that can be read");
    let mut machine_code = None;
    let (loaded, file) = if !is_cuda(path) {
        let mut bytes = std::fs::read(path).map_err(unread)?;
        if is_cubin(path) {
            machine_code = Some(std::mem::take(&mut bytes));
        }
        let mut loaded = Loaded::default();
        let file = loaded.project.sources.add(SourceFile::new(path.to_string_lossy(), bytes));
        (loaded, file)
    } else {
        let loaded = load::load(&[path.to_owned()], &include, &define)?;
        let has_kernel = !loaded.program.kernels().is_empty();
        let Some(file) = loaded.requested.first().copied().filter(|_| has_kernel) else {
            return Err(no_kernel(path, &loaded));
        };
        (loaded, file)
    };
    let builder = Builder::new(path, &include, &define, &config.nvcc_flags, &arch);
    Ok(Opened { path: path.to_owned(), loaded, file, machine_code, builder, configured: config.contract })
}

/// A file in which no kernel was read: there is none, or it could not be read.
fn no_kernel(path: &Path, loaded: &Loaded) -> Failure {
    let empty = std::fs::metadata(path).is_ok_and(|m| m.len() == 0);
    let unread = loaded.problems.iter().chain(loaded.program.units.iter().flat_map(|u| &u.problems));
    let unread: Vec<Diagnostic> = unread.filter(|d| d.code == Code(2)).cloned().collect();
    let what = match (empty, unread.is_empty()) {
        (true, _) => "the file is empty",
        (false, true) => "no kernel is in it: no `__global__` function with a body",
        (false, false) => "its kernels could not be read",
    };
    let d = Diagnostic::error(Code(654), format!("{}: {what}", path.display()));
    let next = if unread.is_empty() { "name a file with a kernel" } else { "kopt check FILE says what was not read" };
    let problems = std::iter::once(d.next(next)).chain(unread).collect();
    Failure::in_files(Exit::Usage, problems, loaded.sources().clone())
}

/// A file with text of C++, which shows launches and names of arguments.
fn is_cuda(path: &Path) -> bool {
    path.extension().is_none_or(|e| e != "ptx") && !is_cubin(path)
}

fn is_cubin(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "cubin")
}

/// One text of a file that another run has read.
pub struct Revision<'r> {
    pub path: &'r Path,
    pub name: &'r str,
    pub text: &'r str,
    pub include: &'r [PathBuf],
    pub define: &'r [String],
    pub nvcc_flags: &'r [String],
    pub arch: Option<&'r str>,
    /// The configured contract.
    pub contract: Option<&'r Path>,
}

impl Opened {
    /// A text that stands for a file of the disk; headers and contracts are looked for where the file is.
    pub fn of_revision(r: &Revision) -> Opened {
        let loaded = load::load_text(r.name, r.text);
        let file = loaded.requested.first().copied().unwrap_or(FileId(0));
        let arch = r.arch.unwrap_or(compile_gate::DEFAULT_ARCH);
        let builder = Builder::new(r.path, r.include, r.define, r.nvcc_flags, arch);
        let configured = r.contract.map(Path::to_owned);
        Opened { path: r.path.to_owned(), loaded, file, machine_code: None, builder, configured }
    }

    /// What is written down about the file, or else what it shows.
    pub fn contract(&mut self) -> Result<kopt::contract::Contract, Failure> {
        let configured = self.configured.clone();
        let found = contract::written(&mut self.loaded, &self.path, None, configured.as_deref())?;
        Ok(match found {
            Some(found) => found.contract,
            None => contract::inferred(&self.loaded, None).0.contract,
        })
    }

    /// A text that is not on the disk.
    pub fn of_text(name: &str, text: &str, arch: &str) -> Opened {
        let path = PathBuf::from(name);
        let loaded = load::load_text(name, text);
        let file = loaded.requested.first().copied().unwrap_or(FileId(0));
        let builder = Builder::new(&path, &[], &[], &[], arch);
        Opened { builder, path, loaded, file, machine_code: None, configured: None }
    }

    /// Name and text of the file, and where its headers are.
    pub fn text(&self) -> (String, String, &dyn kopt::compile::HeaderSource) {
        let source = self.sources().get(self.file);
        (source.name.clone(), source.text.to_string(), self.builder.headers())
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
            None if !is_cuda(&self.path) => {
                let message = format!("{}: compiled code does not show how it is launched", self.path.display());
                return Err(Failure::usage(660, message, "give a contract with --contract"));
            }
            None => contract::inferred(&self.loaded, kernel).0,
        };
        let (plan, one_of) = contract::choose(&found.contract, kernel)?;
        let accepted = contract::settle(&plan, &found.origin, running.accept_proposed, &self.path, &self.loaded)?;
        self.is_possible(&plan)?;
        let warnings = if !is_cuda(&self.path) { vec![] } else { contract::against_files(&self.loaded, &plan)? };
        Ok(Settled { plan, origin: found.origin, accepted, warnings, notes: one_of.into_iter().collect() })
    }

    /// A plan that cannot be launched at its own first samples is the contract's mistake.
    fn is_possible(&self, plan: &Plan) -> Result<(), Failure> {
        let dims = plan.dims.iter().filter_map(|d| Some((d.name.clone(), *d.samples.first()?))).collect();
        match plan.concrete(&Cell::new(dims, Distribution::Normal, 1000)) {
            Err(e @ (ContractError::Impossible { .. } | ContractError::Contents { .. })) => {
                Err(Failure::in_files(Exit::Usage, vec![e.diagnostic()], self.sources().clone()))
            }
            _ => Ok(()),
        }
    }

    /// The launches of this file as a candidate under the original's plan.
    pub fn adopt(&mut self, original: &Opened, plan: &Plan, choice: Choice) -> Result<Adopted, Failure> {
        if !is_cuda(&self.path) && choice.contract.is_none() {
            let mut plan = plan.clone();
            let mut launched: Vec<String> = plan.launches().map(|l| l.kernel.clone()).collect();
            launched.sort();
            launched.dedup();
            if let (Some(_), [_, _, ..]) = (choice.kernel, launched.as_slice()) {
                let message = format!("the plan launches {}, and one kernel is named", launched.join(", "));
                return Err(Failure::usage(654, message, "give the candidate's launches with --candidate-contract"));
            }
            for step in &mut plan.steps {
                if let (kopt::contract::Step::Launch(l), Some(k)) = (step, choice.kernel) {
                    l.kernel = k.to_owned();
                }
            }
            let notes = vec!["arguments of compiled kernels have no names: they are matched by position".to_owned()];
            return Ok(Adopted { plan, how: "the original's".into(), notes });
        }
        let theirs = Theirs { plan, program: &original.loaded.program };
        adopt::of_candidate(theirs, &mut self.loaded, &self.path, choice)
    }

    /// Variables of the module that the contract must say the contents of and does not: constants without an initialiser,
    /// and device variables that host code sets or that nothing on the device writes. Zeros would be a guess.
    pub fn unfilled(&self, built: &Built) -> Result<(), Failure> {
        let program = &self.loaded.program;
        let by_host = infer::symbols::set_by_host(program);
        let mut names = vec![];
        let mut d: Option<Diagnostic> = None;
        for (symbol, constant) in symbols::unfilled(&built.side, &built.side.plan) {
            let globals = program.units.iter().flat_map(|u| &u.globals);
            let declared = globals.into_iter().find(|g| symbols::is_symbol_of(&symbol, &g.qualified));
            let name = declared.map_or_else(|| symbols::readable(&symbol), |g| g.name.clone());
            let said = declared.is_some_and(|g| g.init.is_some());
            let set = by_host.contains(&name);
            let asked = constant || set || is_cuda(&self.path) && !infer::symbols::written_on_device(program, &name);
            if said || !asked {
                continue;
            }
            names.push(format!("`{name}`"));
            let so_far = d.take().unwrap_or_else(|| Diagnostic::error(Code(664), ""));
            d = Some(declared.into_iter().fold(so_far, |d, g| d.at(g.span, "what does it hold?")));
        }
        let Some(mut d) = d else { return Ok(()) };
        d.message = format!(
            "{}: host code fills {}, and the contract does not say with what",
            self.path.display(),
            names.join(", ")
        );
        let first = names.first().map(|n| n.trim_matches('`').to_owned()).unwrap_or_default();
        let next = format!(
            "add `[args.{first}]` with `role = \"in\"`, dtype, shape and `symbol = \"{first}\"` to the contract"
        );
        Err(Failure::in_files(Exit::Inconclusive, vec![d.next(next)], self.sources().clone()))
    }

    pub fn build(&self, plan: &Plan) -> Result<Built, Unbuilt> {
        if let Some(bytes) = &self.machine_code {
            return Built::from_cubin(bytes, plan).map_err(|e| Unbuilt::of(&e, self.sources()));
        }
        if !is_cuda(&self.path) {
            let text = &self.sources().get(self.file).text;
            return Built::from_ptx(text, plan).map_err(|e| Unbuilt::of(&e, self.sources()));
        }
        self.builder.side(self.sources(), self.file, &self.loaded.program, plan)
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

    /// The file with what was built of it.
    pub fn subject(&self, built: Built) -> Subject {
        Subject { input: self.input(&built.side), sources: self.sources().clone(), built }
    }

    pub fn input(&self, side: &Side) -> Input {
        let source = self.sources().get(self.file);
        Input {
            file: source.name.clone(),
            kernels: Side::keys(&side.plan).iter().map(ToString::to_string).collect(),
            hash: blake3::hash(self.machine_code.as_deref().unwrap_or(source.bytes())).to_hex().to_string(),
            text: source.text.to_string(),
        }
    }
}
