//! `kopt lower`: a TileLang program as PTX and CUBIN, with its launches as a contract.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args as ClapArgs;
use kopt::compile::Toolchain;
use kopt::compile::nvcc::{Nvcc, NvccJob, NvccOutput};
use kopt::contract;
use kopt::diag::{Code, Diagnostic};
use kopt::lower::{self, Job, LowerError, Lowered};
use serde_json::{Value, json};

use super::exit::{Exit, Failure};
use super::printer::Printer;
use super::write;

#[derive(ClapArgs)]
pub struct Args {
    /// A Python file, which is run
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// A function of the file that gives a TileLang program
    #[arg(value_name = "FACTORY")]
    factory: String,
    /// What the function is called with, such as M=1024
    #[arg(long = "arg", value_name = "NAME=VALUE", value_parser = assignment)]
    arguments: Vec<(String, Value)>,
    /// An entry of TileLang's pass configuration, such as tl.disable_warp_specialized=true
    #[arg(long = "config-entry", value_name = "NAME=VALUE", value_parser = assignment)]
    entries: Vec<(String, Value)>,
    /// The architecture to lower and compile for
    #[arg(long = "for", value_name = "sm_90a", default_value = "sm_80")]
    arch: String,
    /// The Python that has TileLang
    #[arg(long, value_name = "PROGRAM", default_value = "python3")]
    python: PathBuf,
    /// How long lowering may take, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    limit: u64,
    /// Where FACTORY.cu, .ptx, .cubin and .contract.toml go
    #[arg(long, short, value_name = "FOLDER", default_value = ".")]
    output: PathBuf,
    /// Run the file
    #[arg(long)]
    trust: bool,
}

pub fn run(args: &Args, printer: &mut Printer) -> Result<Exit, Failure> {
    if !args.trust {
        let message = format!("{}: lowering runs this file", args.file.display());
        return Err(Failure::usage(696, message, "read it, and run again with --trust"));
    }
    if !args.file.is_file() {
        return Err(Failure::usage(541, format!("{}: no such file", args.file.display()), "name a Python file"));
    }
    let path = |extension: &str| args.output.join(format!("{}.{extension}", args.factory));
    let targets = ["cu", "ptx", "cubin", "contract.toml"].map(path);
    is_a_name(&args.factory)?;
    overwrites_only_its_own(&targets)?;
    let nvcc = Toolchain::find().nvcc.ok_or_else(no_nvcc)?;
    let scratch = Scratch::new()?;
    let (arguments, config) = (map(&args.arguments), map(&args.entries));
    let job = Job {
        python: &args.python,
        file: &args.file,
        factory: &args.factory,
        arguments: &arguments,
        config: &config,
        arch: &args.arch,
        folder: &scratch.0,
        limit: Duration::from_secs(args.limit.max(1)),
    };
    let lowered = lower::lower(&job).map_err(|e| refused(&e))?;
    let contract = contract::print(&lowered.contract().map_err(|e| refused(&e))?);
    std::fs::create_dir_all(&args.output).map_err(|e| write::cannot(&args.output, &e))?;
    let [cu, ptx, cubin, own] = targets;
    // What is found in the PTX later is told by lines of the file that the user keeps.
    let source = (cu, format!("{MARK} with {}\n{}", shown(&lowered.tilelang), lowered.source).into_bytes());
    write::all(std::slice::from_ref(&source))?;
    let compiled = compile(&nvcc, &lowered, &source.0, args, &scratch)?;
    let files = [
        source,
        (ptx, compiled.ptx.into_bytes()),
        (cubin.clone(), compiled.cubin),
        (own.clone(), contract.into_bytes()),
    ];
    write::all(&files)?;
    let by = shown(&lowered.tilelang);
    printer.line(format!("lowered    by TileLang {by} and nvcc {} for {}", nvcc.version, args.arch))?;
    for (path, _) in &files {
        printer.line(format!("wrote      {}", path.display()))?;
    }
    let next = format!("kopt verify ORIGINAL {} --on gpu --candidate-contract {}", cubin.display(), own.display());
    printer.line(format!("next       {next}"))?;
    let written: Vec<&PathBuf> = files.iter().map(|(path, _)| path).collect();
    printer.json(&json!({
        "schema": "kopt/lower/1", "tilelang": lowered.tilelang, "nvcc": nvcc.version, "arch": args.arch, "files": written,
    }))?;
    Ok(Exit::Done)
}

/// How a source begins that may be overwritten.
const MARK: &str = "// Written by `kopt lower`";

/// Files are named after the factory.
fn is_a_name(factory: &str) -> Result<(), Failure> {
    let fine =
        factory.chars().all(|c| c.is_alphanumeric() || c == '_') && !factory.starts_with(|c: char| c.is_numeric());
    if fine && !factory.is_empty() {
        return Ok(());
    }
    let message = format!("`{}` is no name of a Python function", shown(factory));
    Err(Failure::usage(696, message, "name a function of the file"))
}

/// A user's own file of the same name stays.
fn overwrites_only_its_own(targets: &[PathBuf; 4]) -> Result<(), Failure> {
    let is_own = std::fs::read(&targets[0]).is_ok_and(|text| text.starts_with(MARK.as_bytes()));
    let there = targets.iter().find(|t| std::fs::symlink_metadata(t).is_ok());
    match there.filter(|_| !is_own) {
        None => Ok(()),
        Some(path) => {
            let message = format!("{}: kopt lower did not write this, and would write over it", path.display());
            Err(Failure::usage(696, message, "name another folder with -o"))
        }
    }
}

/// What a child said, for a terminal.
fn shown(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).take(80).collect()
}

fn compile(nvcc: &Nvcc, lowered: &Lowered, file: &Path, args: &Args, scratch: &Scratch) -> Result<NvccOutput, Failure> {
    let flags = lowered.flags();
    let limit = Duration::from_secs(args.limit.max(1));
    let job = NvccJob { file, arch: &args.arch, flags: &flags, folder: &scratch.0, limit };
    nvcc.compile(&job).map_err(|e| {
        let d = Diagnostic::error(Code(696), format!("nvcc does not compile what TileLang wrote: {e}"));
        Failure::new(Exit::Inconclusive, d.next("kopt doctor names the versions of nvcc and of TileLang"))
    })
}

fn no_nvcc() -> Failure {
    let d = Diagnostic::error(Code(410), "no nvcc was found, and TileLang's headers need one");
    Failure::new(Exit::TierMissing, d.next("pip install nvidia-cuda-nvcc, and set CUDA_HOME"))
}

fn refused(error: &LowerError) -> Failure {
    let (exit, next) = match error {
        LowerError::Start { .. } => (Exit::TierMissing, "name a Python with --python"),
        LowerError::NoTileLang(_) => (Exit::TierMissing, "pip install tilelang, for the Python that --python names"),
        LowerError::TimedOut(_) => (Exit::Inconclusive, "give it more time with --limit"),
        LowerError::Descriptor { .. } => (
            Exit::Inconclusive,
            "--for sm_80; or --config-entry tl.disable_tma_lower=true --config-entry tl.disable_warp_specialized=true",
        ),
        LowerError::Refused(_) => (Exit::Usage, "call the function by itself in Python"),
        _ => (Exit::Inconclusive, "write the contract by hand, from the CUDA that TileLang gives"),
    };
    Failure::new(exit, Diagnostic::error(Code(696), error.to_string()).next(next))
}

fn map(list: &[(String, Value)]) -> BTreeMap<String, Value> {
    list.iter().cloned().collect()
}

/// A value of JSON, else a text.
fn assignment(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE, such as M=1024")?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
    Ok((name.trim().to_owned(), value))
}

/// A folder that is gone afterwards.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Scratch, Failure> {
        let path = std::env::temp_dir().join(format!("kopt-lower-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|e| write::cannot(&path, &e))?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
