//! `kopt export`: a kernel with the checks of its contract, for C++ and for PyTorch.

use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, Subcommand};
use kopt::contract::Plan;
use kopt::export::{self, ExportError, Exported};
use serde_json::json;

use super::exit::{Exit, Failure};
use super::options::Global;
use super::printer::Printer;
use super::verify::{Opened, Running, open};
use super::write;

#[derive(ClapArgs)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// A C++ header with a function that checks and launches
    Header(What),
    /// A Python package with a function on PyTorch tensors
    Torch(What),
}

#[derive(ClapArgs)]
struct What {
    /// A CUDA file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The kernel, where the file has several
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// Name of the function; without it the kernel's
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Where it goes: a header, or the folder of a package; without it beside the file
    #[arg(long, short, value_name = "PATH")]
    output: Option<PathBuf>,
    /// The contract, instead of the one beside the file
    #[arg(long, value_name = "FILE")]
    contract: Option<PathBuf>,
    /// Take guesses of the contract for the user's word
    #[arg(long)]
    accept_proposed: bool,
}

pub fn run(args: &Args, global: &Global, printer: &mut Printer) -> Result<Exit, Failure> {
    let (what, torch) = match &args.command {
        Command::Header(what) => (what, false),
        Command::Torch(what) => (what, true),
    };
    let running =
        Running { contract: what.contract.clone(), accept_proposed: what.accept_proposed, ..Running::default() };
    let mut opened = open(&what.file, &running, global)?;
    let settled = opened.settle(&running, what.kernel.as_deref())?;
    for warning in &settled.warnings {
        printer.diagnostic(opened.sources(), warning)?;
    }
    let name = what.name.clone().unwrap_or_else(|| first_kernel(&settled.plan));
    let deduced = opened.deduced(&settled.plan);
    let beside = what.file.parent().unwrap_or(Path::new(""));
    let bytes = std::fs::read(&what.file)
        .map_err(|e| Failure::usage(541, format!("{}: {e}", what.file.display()), "name a file that can be read"))?;
    let hash = blake3::hash(&bytes).to_hex().to_string();
    let file = what.file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let output =
        what.output.clone().unwrap_or_else(|| beside.join(if torch { name.clone() } else { format!("{name}.cuh") }));
    let included = if torch { file.clone() } else { seen_from(&what.file, &output) };
    let exported = Exported { plan: &settled.plan, name: &name, file: &included, hash: &hash, deduced: &deduced };
    let mut files: Vec<(PathBuf, Vec<u8>)> = vec![];
    if torch {
        let package = export::torch(&exported).map_err(|e| refused(&what.file, &e))?;
        std::fs::create_dir_all(&output).map_err(|e| write::cannot(&output, &e))?;
        files.extend(package.files.into_iter().map(|(n, text)| (output.join(n), text.into_bytes())));
        files.push((output.join(&file), bytes));
    } else {
        files.push((output.clone(), export::header(&exported).map_err(|e| refused(&what.file, &e))?.into_bytes()));
    }
    write::all(&files)?;
    for (path, _) in &files {
        printer.line(format!("wrote {}", path.display()))?;
    }
    printer.line("nothing was compiled or run: kopt verify says what the kernel computes")?;
    let written: Vec<&PathBuf> = files.iter().map(|(path, _)| path).collect();
    printer.json(&json!({ "schema": "kopt/export/1", "name": name, "files": written, "blake3": hash }))?;
    Ok(Exit::Done)
}

fn first_kernel(plan: &Plan) -> String {
    plan.launches().next().map(|l| kopt::ir::query::base_name(&l.kernel).to_owned()).unwrap_or_default()
}

/// The file as the header names it: by its own name where both are in one folder, else by its whole path.
fn seen_from(file: &Path, header: &Path) -> String {
    let folder =
        |p: &Path| p.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new(".")).canonicalize().ok();
    let name = file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    if folder(file).is_some() && folder(file) == folder(header) {
        return name;
    }
    file.canonicalize().map_or(name, |p| p.to_string_lossy().into_owned())
}

fn refused(file: &Path, error: &ExportError) -> Failure {
    let next = match error {
        ExportError::Name(_) => "give another name with --name, or rename it in the contract",
        ExportError::Open { .. } | ExportError::NoBuffer(_) | ExportError::NoLaunch => "complete the contract",
        ExportError::Variable(_) | ExportError::Type { .. } => "write the call by hand",
    };
    Failure::usage(695, format!("{}: {error}", file.display()), next)
}

impl Opened {
    /// Kernels that are templates and whose arguments a launch leaves to the compiler.
    fn deduced(&self, plan: &Plan) -> Vec<String> {
        let program = &self.loaded.program;
        let is_template = |name: &str| {
            let own = |f: &kopt::ir::Function| kopt::infer::matching::same_name(name, &f.qualified) && f.is_template();
            program.kernels().into_iter().any(|k| own(program.function(k)))
        };
        let bare = plan.launches().filter(|l| l.template.is_empty() && is_template(&l.kernel));
        bare.map(|l| l.kernel.clone()).collect()
    }
}
