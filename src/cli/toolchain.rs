//! `kopt toolchain`: the compiler of the compile gate.

use kopt::compile::install::{self, InstallError};
use kopt::compile::toolchain::{self as places, Toolchain};
use kopt::diag::{Code, Diagnostic};
use serde_json::{Value, json};

use super::exit::{Exit, Failure};
use super::printer::Printer;

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Download NVIDIA's run-time compiler and headers with pip; says size and licence first
    Install,
    /// Say which compiler is found, and where kopt looked
    Show,
}

pub fn run(args: &Args, printer: &mut Printer) -> Result<Exit, Failure> {
    match args.command {
        Command::Install => {
            let folder = install_now(printer)?;
            printer.text(&Toolchain::find().report())?;
            printer.json(&json!({ "schema": "kopt/toolchain-install/1", "folder": folder }))?;
        }
        Command::Show => {
            let found = Toolchain::find();
            printer.text(&found.report())?;
            printer.json(&describe(&found))?;
        }
    }
    Ok(Exit::Done)
}

pub fn describe(found: &Toolchain) -> Value {
    let tried = |t: &places::Tried| json!({ "origin": t.origin, "path": t.path, "failure": t.failure });
    json!({
        "schema": "kopt/toolchain/1",
        "nvrtc": found.version(),
        "nvrtc_path": found.nvrtc.as_ref().map(|n| n.path().display().to_string()),
        "origin": found.origin,
        "nvcc": found.nvcc.as_ref().map(|n| n.version.clone()),
        "includes": found.includes,
        "tried": found.tried.iter().map(tried).collect::<Vec<_>>(),
    })
}

/// Says what is downloaded and under whose licence, then installs.
pub fn install_now(printer: &mut Printer) -> Result<String, Failure> {
    let cache = places::cache_folder().ok_or_else(|| failure(&InstallError::NoCache))?;
    printer.text(&install::notice(&cache))?;
    printer.finish()?;
    let mut said = vec![];
    let folder = install::install(&cache, &mut |line| {
        printer.progress(line);
        said.push(line.to_owned());
    })
    .map_err(|e| failure(&e))?;
    for line in said {
        printer.line(format!("- {line}"))?;
    }
    Ok(folder.display().to_string())
}

fn failure(error: &InstallError) -> Failure {
    let next = match error {
        InstallError::NoCache => "set KOPT_CACHE to a folder that can be written",
        InstallError::Platform(_) => "install a CUDA toolkit; kopt finds it through CUDA_HOME",
        InstallError::NoPip { .. } => "install pip, then run `kopt toolchain install` again",
        InstallError::Download { .. } => {
            "check the connection and pip's configuration; or set CUDA_HOME to an installed toolkit"
        }
        _ => "check the space and the permissions of the cache folder",
    };
    Failure::new(Exit::TierMissing, Diagnostic::error(Code(546), error.to_string()).next(next))
}
