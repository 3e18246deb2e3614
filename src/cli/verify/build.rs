//! Compiles the kernels of a plan to PTX and decodes them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use kopt::compile::plan::Overlay;
use kopt::compile::{
    Cache, CompileError, CompileGate, CompileRequest, HeaderSource, HeaderText, Sliced, Target, Toolchain, Worker,
    slice_for, toolchain,
};
use kopt::contract::Plan;
use kopt::diag::{Code, Diagnostic};
use kopt::gate::{BuildError, Built, Compiled, KernelKey, Side};
use kopt::ir::Program;
use kopt::ir::query::base_name;
use kopt::ir::spell::split_parameters;
use kopt::project::{Resolver, find_root, read_limited};
use kopt::ptx::{Program as Decoded, PtxError, parse};
use kopt::source::{FileId, SourceFile, Sources};

use super::super::exit::{Exit, Failure};
use super::compilers;

/// How long one compilation may take.
const LIMIT: Duration = Duration::from_secs(60);

/// The hidden command that the compiler's child process runs.
pub const WORKER: &str = "compile-worker";

pub struct Builder {
    gate: CompileGate,
    headers: Disk,
    options: Vec<String>,
    pub arch: String,
}

struct Disk {
    resolver: Resolver,
}

impl HeaderSource for Disk {
    fn open(&self, includer: &str, name: &str, angled: bool) -> Option<HeaderText> {
        let path = self.resolver.resolve(Path::new(includer), name, angled)?;
        let text = String::from_utf8_lossy(&read_limited(&path).ok()?).into_owned();
        Some(HeaderText { path: path.to_string_lossy().into_owned(), text })
    }
}

/// Why a side could not be built.
pub enum Unbuilt {
    /// The compiler refuses the file.
    Rejected(Vec<Diagnostic>),
    /// The interpreter refuses what the compiler gave, or nothing is known for another reason.
    Unknown(Diagnostic),
    /// There is no compiler.
    NoTier(Diagnostic),
}

impl Unbuilt {
    /// A program that was compiled and that kopt cannot run.
    pub fn of(error: &BuildError, sources: &Sources) -> Unbuilt {
        Unbuilt::Unknown(match error {
            BuildError::Ptx(e) => unsupported(e, sources),
            BuildError::Cubin(_) => Diagnostic::error(Code(660), error.to_string()).next("give a CUBIN, PTX or CUDA"),
            BuildError::NoKernel { .. } => {
                Diagnostic::error(Code(654), error.to_string()).next("name one of them in the contract")
            }
        })
    }

    /// The failure of a run in which this was the original (`exit` for what the compiler refuses is then 6) or the
    /// candidate (3).
    pub fn failure(self, rejected: Exit, sources: &Sources) -> Failure {
        match self {
            Unbuilt::Rejected(problems) => Failure::in_files(rejected, problems, sources.clone()),
            Unbuilt::Unknown(d) => Failure::in_files(Exit::Inconclusive, vec![d], sources.clone()),
            Unbuilt::NoTier(d) => Failure::new(Exit::TierMissing, d),
        }
    }
}

impl Builder {
    pub fn new(path: &Path, include: &[PathBuf], define: &[String], nvcc_flags: &[String], arch: &str) -> Builder {
        let cache = toolchain::cache_folder().map_or_else(Cache::none, |folder| Cache::in_folder(&folder));
        let mut options = kopt::compile::flags::from_nvcc(nvcc_flags).options;
        options.extend(define.iter().map(|d| format!("-D{d}")));
        let mut gate = CompileGate::new(Toolchain::find(), cache);
        if let Ok(me) = std::env::current_exe() {
            gate = gate.with_worker(Worker::new(me, vec![WORKER.into()], LIMIT));
        }
        let root = find_root(path);
        Builder { gate, headers: Disk { resolver: Resolver::new(include, &root) }, options, arch: arch.to_owned() }
    }

    pub fn headers(&self) -> &dyn HeaderSource {
        &self.headers
    }

    /// Compiles every kernel of `plan` in `source`.
    pub fn side(&self, sources: &Sources, file: FileId, program: &Program, plan: &Plan) -> Result<Built, Unbuilt> {
        let source = sources.get(file);
        let toolchain = self.gate.toolchain().version().unwrap_or_default();
        let mut built = Built::new(plan.clone(), self.arch.clone(), toolchain);
        for key in Side::keys(plan) {
            let at = place(program, file, plan, &key);
            self.kernel(sources, source, at, &key, &mut built)?;
        }
        Ok(built)
    }

    /// One kernel of `source` with `text` in place of the file called `name`, which may make notes. The kernel stands at
    /// byte `at` of the text.
    ///
    /// # Errors
    /// Why there is no program, in words.
    pub fn noting(
        &self,
        source: &SourceFile,
        (name, text, at): (&str, &str, usize),
        key: &KernelKey,
    ) -> Result<Decoded, String> {
        let headers = Overlay { under: &self.headers, path: name, text };
        let (main, target) = match source.name == name {
            true => (text, Target::At(at)),
            false => (&*source.text, Target::In { file: name, name: split_parameters(&key.name).0, at: Some(at) }),
        };
        let written = expression(key);
        let names = std::slice::from_ref(&written);
        let sliced = slice_for(&source.name, main, &target, &headers, names);
        let sliced = sliced.map_err(|reason| reason.to_string())?;
        let names = vec![instance(&sliced, key)];
        let mut options = self.options.clone();
        // The function that hears the notes is nowhere.
        options.push("--relocatable-device-code=true".into());
        let request = CompileRequest { slice: &sliced, names, arch: &self.arch, options: &options };
        let compiled = self.gate.compile(&request).map_err(|e| e.to_string())?;
        let kernel = compiled.kernels.first().ok_or("the compiler did not name the kernel")?;
        parse(&compiled.ptx).and_then(|m| Decoded::decode(&m, &kernel.symbol)).map_err(|e| e.to_string())
    }

    fn kernel(
        &self,
        sources: &Sources,
        source: &SourceFile,
        at: Option<usize>,
        key: &KernelKey,
        built: &mut Built,
    ) -> Result<(), Unbuilt> {
        let written = expression(key);
        let sliced = slice_for(
            &source.name,
            &source.text,
            &at.map_or(Target::Name(split_parameters(&key.name).0), Target::At),
            &self.headers,
            std::slice::from_ref(&written),
        )
        .map_err(|reason| Unbuilt::Unknown(reason.diagnostic()))?;
        let name = instance(&sliced, key);
        let request = CompileRequest { slice: &sliced, names: vec![name], arch: &self.arch, options: &self.options };
        let compiled = self.gate.compile(&request).map_err(|e| refused(e, sources))?;
        let Some(kernel) = compiled.kernels.first() else {
            let d = Diagnostic::error(Code(415), format!("the compiler did not name `{key}` in its output"));
            return Err(Unbuilt::Unknown(d.next("kopt doctor")));
        };
        self.same_elsewhere(&sliced, &request.names, &compiled.ptx, key, sources, built)?;
        let made = Compiled {
            symbol: kernel.symbol.clone(),
            resources: Some(kernel.clone()),
            ptx: compiled.ptx.clone(),
            cubin: compiled.cubin.clone(),
        };
        built.add(key, made).map_err(|e| Unbuilt::of(&e, sources))?;
        Ok(())
    }
}

impl Builder {
    /// The kernel must be the same program for the compiler of the user's build.
    fn same_elsewhere(
        &self,
        sliced: &Sliced,
        names: &[String],
        ptx: &str,
        key: &KernelKey,
        sources: &Sources,
        built: &mut Built,
    ) -> Result<(), Unbuilt> {
        let Some(other) = compilers::elsewhere(sliced) else { return Ok(()) };
        let options: Vec<String> = self.options.iter().chain(&other.options).cloned().collect();
        let request =
            CompileRequest { slice: &other.slice, names: names.to_vec(), arch: &self.arch, options: &options };
        let words = other.words.join("`, `");
        match self.gate.compile(&request) {
            Ok(again) if compilers::same_program(ptx, &again.ptx) => {
                built.notes.push(format!("`{key}` asks which compiler reads it (`{words}`), and is the same for nvcc"));
                Ok(())
            }
            again => {
                let how = if again.is_ok() { "is another program" } else { "does not compile" };
                let message = format!("`{key}` asks which compiler reads it (`{words}`), and {how} for nvcc");
                let d = Diagnostic::error(Code(665), message);
                let span = kopt::report::line_span(sources, &other.place.0, other.place.1);
                let d = span.into_iter().fold(d, |d, s| d.at(s, "asked here"));
                Err(Unbuilt::Unknown(d.next("verify a file whose kernels do not depend on the compiler")))
            }
        }
    }
}

/// Where in the file the kernel stands that the plan means.
fn place(program: &Program, file: FileId, plan: &Plan, key: &KernelKey) -> Option<usize> {
    let all = program.kernels();
    let arguments = plan.launches().find(|l| KernelKey::of_launch(l) == *key).map(|l| l.args.len());
    let found = kopt::infer::matching::kernel(program, &all, &key.name, arguments, "--kernel").ok()?;
    let span = program.function(found).name_span;
    (span.file == file).then_some(span.start as usize)
}

/// The kernel with its template arguments, as C++ writes it.
fn expression(key: &KernelKey) -> String {
    match key.template.as_slice() {
        [] => split_parameters(&key.name).0.to_owned(),
        list => format!("{}<{}>", split_parameters(&key.name).0, list.join(", ")),
    }
}

/// The name expression for a kernel of a slice. A template that is launched without arguments is the one instantiation
/// in view, or deduces them, which the compiler then refuses.
fn instance(sliced: &Sliced, key: &KernelKey) -> String {
    match (key.template.as_slice(), sliced.instantiations.as_slice()) {
        ([], [one]) if sliced.is_template => one.clone(),
        ([], _) => sliced.signature.clone().unwrap_or_else(|| sliced.kernel.clone()),
        (list, _) => format!("{}<{}>", sliced.kernel, list.join(", ")),
    }
}

fn refused(error: CompileError, sources: &Sources) -> Unbuilt {
    let find = |name: &str| sources.iter().find(|(_, f)| f.name == name);
    let problems = error.diagnostics(&find);
    match error {
        CompileError::Rejected { hint: None, .. } => Unbuilt::Rejected(problems),
        CompileError::NoToolchain => Unbuilt::NoTier(problems.into_iter().next().unwrap_or_else(no_compiler)),
        _ => Unbuilt::Unknown(problems.into_iter().next().unwrap_or_else(no_compiler)),
    }
}

fn no_compiler() -> Diagnostic {
    Diagnostic::error(Code(410), "no compiler was found").next("kopt toolchain install")
}

/// What the interpreter refuses, on the user's line where there is one.
fn unsupported(error: &PtxError, sources: &Sources) -> Diagnostic {
    let d = Diagnostic::error(Code(652), error.to_string());
    let d = match error {
        PtxError::Unsupported { file, user_line, .. } | PtxError::Invalid { file, user_line, .. } => {
            let span = kopt::report::line_span(sources, file, *user_line);
            span.into_iter().fold(d, |d, s| d.at(s, "compiled to it"))
        }
        _ => d,
    };
    d.next("verify it on a machine with a GPU; the interpreter says nothing about this kernel")
}

/// The kernel's own name, without namespaces.
pub fn simple(name: &str) -> &str {
    base_name(name)
}
