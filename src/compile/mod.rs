//! Compile gate, tier 1: does a kernel compile, and what does it take?
//!
//! ```text
//! file + headers --slice--> device slice --NVRTC--> PTX, CUBIN, resources --> side by side with the original
//!                   \--> named reason why not      \--> messages on the user's lines
//! ```
//!
//! [`slice`] cuts, [`nvrtc`] and [`nvcc`] compile, [`cache`] remembers, [`messages`] maps back, [`occupancy`] and
//! [`compare`] judge the resources, [`toolchain`] finds compilers and [`install`] brings one.
//!
//! NVRTC only reads the candidate, but it can crash on it: [`CompileGate::with_worker`] puts it into a child process.

pub mod cache;
pub mod compare;
pub mod cubin;
mod declare;
mod emit;
pub mod flags;
pub mod headers;
pub mod host;
pub mod install;
mod instances;
pub mod items;
pub mod lex;
pub mod messages;
pub mod nvcc;
pub mod nvrtc;
pub mod occupancy;
pub mod plan;
mod program;
pub mod ptxas;
mod reach;
pub mod sample;
pub mod slice;
mod standard;
pub mod toolchain;
pub mod unsliceable;
pub mod worker;

pub use cache::Cache;
pub use compare::{BlockShape, Comparison, compare};
pub use declare::is_keyword;
pub use instances::{Parameter, ParameterKind};
pub use program::{HeaderSource, HeaderText, NoHeaders};
pub use ptxas::KernelResources;
pub use slice::{Sliced, Target, Unit, slice, slice_for};
pub use toolchain::Toolchain;
pub use unsliceable::Unsliceable;
pub use worker::Worker;

use std::sync::Arc;

use crate::diag::{Code, Diagnostic, Severity};
use crate::source::{FileId, SourceFile};
use cache::{Key, Stored};
use messages::Message;
use nvcc::{NvccError, NvccJob};
use nvrtc::NvrtcError;

/// What to compile.
#[derive(Clone, Debug)]
pub struct CompileRequest<'a> {
    pub slice: &'a Sliced,
    /// Name expressions: `kernel<float, 4>` for a template. Empty: the kernel itself.
    pub names: Vec<String>,
    /// `sm_80`, `sm_90a`.
    pub arch: &'a str,
    /// Options for NVRTC, as [`flags::from_nvcc`] gives them.
    pub options: &'a [String],
}

/// A kernel that compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// The kernels asked for, in the order of the names; `name` is set.
    pub kernels: Vec<KernelResources>,
    pub ptx: String,
    pub cubin: Vec<u8>,
    pub warnings: Vec<Message>,
    pub from_cache: bool,
    /// `NVRTC 13.5`.
    pub toolchain: String,
}

/// Why there is nothing compiled.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    #[error("no compiler: neither NVRTC nor its cache was found")]
    NoToolchain,
    #[error("`{kernel}` is a template and no instantiation is known")]
    NeedsInstantiation { kernel: String },
    #[error("{arch} is not an architecture that {toolchain} compiles for")]
    Architecture { arch: String, toolchain: String },
    #[error("`{kernel}` stands in a conditional that is not taken under these options")]
    SwitchedOff { kernel: String },
    /// The program is wrong, or the slice lacks something; `hint` says which, where that is known.
    #[error("{}", first_error(.messages))]
    Rejected { messages: Vec<Message>, hint: Option<Unsliceable>, host_names: Vec<String> },
    /// Says nothing about the program.
    #[error("the compiler could not be asked: {0}")]
    Compiler(NvrtcError),
    /// Says nothing about the program either.
    #[error("nvcc could not be asked: {0}")]
    Nvcc(NvccError),
}

impl CompileError {
    /// A short name to count by.
    pub fn key(&self) -> &'static str {
        match self {
            CompileError::NoToolchain => "no-toolchain",
            CompileError::NeedsInstantiation { .. } => "needs-instantiation",
            CompileError::Architecture { .. } => "architecture",
            CompileError::SwitchedOff { .. } => "switched-off",
            CompileError::Rejected { hint: Some(reason), .. } => reason.key(),
            CompileError::Rejected { .. } => "rejected",
            CompileError::Compiler(_) | CompileError::Nvcc(_) => "compiler",
        }
    }

    /// As diagnostics on the user's lines. `find` gives a file by the name that its `#line` directives carry.
    pub fn diagnostics<'a>(&self, find: &dyn Fn(&str) -> Option<(FileId, &'a SourceFile)>) -> Vec<Diagnostic> {
        let one = |code, next: &str| vec![Diagnostic::error(Code(code), self.to_string()).next(next)];
        match self {
            CompileError::NoToolchain => one(410, "kopt toolchain install"),
            CompileError::NeedsInstantiation { .. } => one(413, "name an instantiation, such as `kernel<float, 4>`"),
            CompileError::Architecture { .. } => one(414, "choose an architecture that `kopt doctor` lists"),
            CompileError::SwitchedOff { .. } => one(416, "give the -D options of your build"),
            CompileError::Compiler(_) | CompileError::Nvcc(_) => one(415, "kopt doctor"),
            CompileError::Rejected { messages, hint, host_names } => {
                let errors: Vec<Message> = messages.iter().filter(|m| m.severity == Severity::Error).cloned().collect();
                let mut out = messages::diagnostics(&errors, find);
                for diagnostic in &mut out {
                    if let Some(name) = host_names.iter().find(|n| diagnostic.message.contains(&format!("\"{n}\""))) {
                        diagnostic.notes.push(format!("`{name}` is host code: device code cannot use it"));
                    }
                }
                out.extend(hint.as_ref().map(Unsliceable::diagnostic));
                out
            }
        }
    }
}

fn first_error(messages: &[Message]) -> String {
    let first = messages.iter().find(|m| m.severity == Severity::Error);
    first.map_or_else(|| "the compiler refused the program".to_owned(), |m| m.text.clone())
}

/// Compiles slices, and remembers.
#[derive(Clone, Debug, Default)]
pub struct CompileGate {
    toolchain: Toolchain,
    cache: Cache,
    identity: String,
    worker: Option<Arc<Worker>>,
}

impl CompileGate {
    pub fn new(toolchain: Toolchain, cache: Cache) -> CompileGate {
        let identity = toolchain.identity();
        CompileGate { toolchain, cache, identity, worker: None }
    }

    /// Compiles in the child process that `worker` keeps.
    pub fn with_worker(mut self, worker: Worker) -> CompileGate {
        self.worker = Some(Arc::new(worker));
        self
    }

    pub fn toolchain(&self) -> &Toolchain {
        &self.toolchain
    }

    /// Compiles a slice, or finds it compiled already.
    pub fn compile(&self, request: &CompileRequest<'_>) -> Result<Compiled, CompileError> {
        let nvrtc = self.toolchain.nvrtc.as_ref().ok_or(CompileError::NoToolchain)?;
        let toolchain = self.toolchain.version().unwrap_or_default();
        let names = if request.names.is_empty() { vec![request.slice.kernel.clone()] } else { request.names.clone() };
        if request.names.is_empty() && request.slice.is_template {
            return Err(CompileError::NeedsInstantiation { kernel: request.slice.kernel.clone() });
        }
        let parts = [self.identity.as_str(), &request.slice.text, request.arch];
        let lists = [&names[..], request.options]
            .into_iter()
            .flat_map(|l| ["\0"].into_iter().chain(l.iter().map(String::as_str)));
        let key = Key::of(parts.into_iter().chain(lists));
        if let Some(stored) = self.cache.get(&key) {
            return Ok(finish(stored, &names, true, toolchain));
        }
        let (text, options) = (&request.slice.text, self.options(request));
        let compiled = match &self.worker {
            Some(worker) => worker.compile(nvrtc.path(), text, &options, &names),
            None => nvrtc.compile(text, &options, &names),
        };
        let output = compiled.map_err(|e| self.explain(e, request, &toolchain))?;
        let kernels = ptxas::resources(&output.log);
        let log = ptxas::messages_only(&output.log);
        let stored = Stored { kernels, lowered: output.lowered, ptx: output.ptx, cubin: output.cubin, log };
        // A full or read-only disk costs the next run its speed, nothing else.
        let _ = self.cache.put(&key, &stored);
        Ok(finish(stored, &names, false, toolchain))
    }

    /// Compiles a whole text to PTX alone, for a virtual architecture such as `compute_80`: no assembler runs, nothing is
    /// remembered. `names` are the name expressions whose symbols are wanted.
    pub fn ptx(&self, text: &str, arch: &str, names: &[String]) -> Result<nvrtc::NvrtcOutput, NvrtcError> {
        let Some(nvrtc) = self.toolchain.nvrtc.as_ref() else {
            return Err(NvrtcError::Failed { function: "toolchain", message: "no compiler was found".to_owned() });
        };
        let options = self.common_options(arch, &[]);
        match &self.worker {
            Some(worker) => worker.compile(nvrtc.path(), text, &options, names),
            None => nvrtc.compile(text, &options, names),
        }
    }

    /// Compiles a whole file with the installed nvcc and the project's own flags. Nothing is remembered: the result
    /// depends on every file that is included. The kernels carry their symbols as names.
    pub fn compile_file(&self, job: &NvccJob<'_>) -> Result<Compiled, CompileError> {
        let nvcc = self.toolchain.nvcc.as_ref().ok_or(CompileError::NoToolchain)?;
        let output = nvcc.compile(job).map_err(|error| match error {
            NvccError::Rejected { log } => {
                let messages = messages::parse(&ptxas::messages_only(&log));
                CompileError::Rejected { messages, hint: None, host_names: vec![] }
            }
            other => CompileError::Nvcc(other),
        })?;
        let named = |k: KernelResources| KernelResources { name: k.symbol.clone(), ..k };
        Ok(Compiled {
            kernels: output.kernels.into_iter().map(named).collect(),
            ptx: output.ptx,
            cubin: output.cubin,
            warnings: messages::parse(&ptxas::messages_only(&output.log)),
            from_cache: false,
            toolchain: format!("nvcc {}", nvcc.version),
        })
    }

    fn options(&self, request: &CompileRequest<'_>) -> Vec<String> {
        let mut out = self.common_options(request.arch, request.options);
        out.push("--ptxas-options=-v".to_owned());
        out
    }

    fn common_options(&self, arch: &str, given: &[String]) -> Vec<String> {
        let mut out = vec![
            format!("--gpu-architecture={arch}"),
            "--device-as-default-execution-space".to_owned(),
            "-lineinfo".to_owned(),
            // Unused items are kept on purpose where two share a name.
            "--diag-suppress=177".to_owned(),
        ];
        if !given.iter().any(|o| o.starts_with("--std")) {
            out.push("--std=c++17".to_owned());
        }
        out.extend(given.iter().cloned());
        out.extend(self.toolchain.includes.iter().map(|p| format!("--include-path={}", p.display())));
        out
    }

    fn explain(&self, error: NvrtcError, request: &CompileRequest<'_>, toolchain: &str) -> CompileError {
        let NvrtcError::Rejected { log } = error else { return CompileError::Compiler(error) };
        if log.contains("invalid value for --gpu-architecture") {
            return CompileError::Architecture { arch: request.arch.to_owned(), toolchain: toolchain.to_owned() };
        }
        let messages = messages::parse(&ptxas::messages_only(&log));
        let kernel = request.slice.kernel.rsplit("::").next().unwrap_or_default();
        let first = messages.iter().find(|m| m.severity == Severity::Error);
        // NVRTC reads the name expressions after the program, as a file of this name.
        if first.is_some_and(|m| m.file.as_deref() == Some("__nv_name_map") && undefined(&m.text) == Some(kernel)) {
            return CompileError::SwitchedOff { kernel: request.slice.kernel.clone() };
        }
        let errors = || messages.iter().filter(|m| m.severity == Severity::Error);
        let lacks = |space: &str| errors().find_map(|m| member_of(&m.text, space)).map(|m| format!("{space}::{m}"));
        let host = lacks("std").or_else(|| lacks("cub"));
        let unknown = messages.iter().filter(|m| m.severity == Severity::Error).find_map(|m| undefined(&m.text));
        let hint =
            unknown.filter(|n| !request.slice.missing.is_empty() && !request.slice.host_names.contains(*n)).map(|n| {
                Unsliceable::ThirdPartyHeader {
                    name: n.to_owned(),
                    headers: request.slice.missing.iter().cloned().collect(),
                }
            });
        let hint = hint.or_else(|| Some(Unsliceable::HostLibrary { name: host?, item: request.slice.kernel.clone() }));
        CompileError::Rejected { hint, host_names: request.slice.host_names.iter().cloned().collect(), messages }
    }
}

/// `x` in `namespace "std" has no member "x"`.
fn member_of<'t>(text: &'t str, space: &str) -> Option<&'t str> {
    let rest = text.strip_prefix("namespace \"")?;
    let (name, rest) = rest.split_once('"')?;
    (name == space && rest.starts_with(" has no member")).then(|| rest.split('"').nth(1)).flatten()
}

/// The name in a message that says that a name is not known.
fn undefined(text: &str) -> Option<&str> {
    let says = [
        "is undefined",
        "has no member",
        "name followed by \"::\" must be",
        "is not a template",
        "has not been declared",
    ];
    says.iter().any(|s| text.contains(s)).then(|| text.split('"').nth(1)).flatten()
}

fn finish(stored: Stored, names: &[String], from_cache: bool, toolchain: String) -> Compiled {
    let kernels = names
        .iter()
        .filter_map(|name| {
            let symbol = stored.lowered.get(name)?;
            let found = stored.kernels.iter().find(|k| &k.symbol == symbol)?;
            Some(KernelResources { name: name.clone(), ..found.clone() })
        })
        .collect();
    let warnings = messages::parse(&stored.log);
    Compiled { kernels, ptx: stored.ptx, cubin: stored.cubin, warnings, from_cache, toolchain }
}
