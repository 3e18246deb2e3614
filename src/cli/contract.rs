//! `kopt contract`: contracts from what files show, and contracts against files.

use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, Subcommand};
use kopt::contract::{self, Contract};
use kopt::diag::{Code, Diagnostic, Severity};
use kopt::facts::macros_of;
use kopt::infer::{self, Inferred, KernelReport};
use kopt::source::{SourceFile, Sources};
use serde_json::{Value, json};

use super::exit::{Exit, Failure};
use super::options::Global;
use super::printer::Printer;
use super::{json, load, session, write};

#[derive(ClapArgs)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Write the contract that the files show
    Infer(Infer),
    /// Compare a contract with the files that it is about
    Check(Check),
}

#[derive(ClapArgs)]
struct Infer {
    /// CUDA files; launches may stand in others than the kernels
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Only plans with this kernel
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// Write FILE.contract.toml beside the first file instead of printing it
    #[arg(long)]
    write: bool,
    #[command(flatten)]
    reading: Reading,
}

#[derive(ClapArgs)]
struct Check {
    /// CUDA files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The contract, instead of the one beside the first file
    #[arg(long, value_name = "FILE")]
    contract: Option<PathBuf>,
    /// Take guesses for the user's word
    #[arg(long)]
    accept_proposed: bool,
    #[command(flatten)]
    reading: Reading,
}

#[derive(ClapArgs)]
struct Reading {
    /// A folder of headers
    #[arg(short = 'I', value_name = "FOLDER")]
    include: Vec<PathBuf>,
    /// A macro
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    define: Vec<String>,
}

pub fn run(args: &Args, global: &Global, printer: &mut Printer) -> Result<Exit, Failure> {
    match &args.command {
        Command::Infer(args) => infer(args, global, printer),
        Command::Check(args) => check(args, global, printer),
    }
}

fn open(files: &[PathBuf], reading: &Reading, global: &Global) -> Result<(load::Loaded, Option<PathBuf>), Failure> {
    let (config, _) = session::config(global)?;
    let include: Vec<PathBuf> = reading.include.iter().chain(&config.include).cloned().collect();
    let define: Vec<String> = config.define.iter().chain(&reading.define).cloned().collect();
    Ok((load::load(files, &include, &define)?, config.contract))
}

/// The contract of a source: its name with `.contract.toml` in place of the last extension.
pub fn beside(source: &Path) -> PathBuf {
    source.with_extension("contract.toml")
}

fn infer(args: &Infer, global: &Global, printer: &mut Printer) -> Result<Exit, Failure> {
    let (loaded, _) = open(&args.files, &args.reading, global)?;
    let macros = macros_of(&loaded.program, loaded.sources());
    let found = infer::infer(&loaded.program, loaded.sources(), &macros, &loaded.requested, args.kernel.as_deref());
    if found.kernels.is_empty() {
        let message = match &args.kernel {
            Some(name) => format!("no kernel `{name}` was read in these files"),
            None => "no kernel was read in these files".to_owned(),
        };
        let names: Vec<String> =
            loaded.program.kernels().iter().map(|r| loaded.program.function(*r).name.clone()).collect();
        let near = args.kernel.as_deref().and_then(|n| contract::near(n, names.iter().map(String::as_str)));
        let next =
            near.map_or_else(|| "kopt check FILE says what was read".to_owned(), |n| format!("did you mean `{n}`?"));
        return Err(Failure::usage(630, message, next));
    }
    let text = header(&args.files, &found) + &contract::print(&found.contract);
    let path = args.files.first().map(|f| beside(f)).unwrap_or_default();
    let mut written = None;
    if args.write {
        write::new_file(&path, &text)?;
        written = Some(path.to_string_lossy().into_owned());
        printer.line(format!("wrote {}", path.display()))?;
        for k in &found.kernels {
            printer.line(format!("  {}", line(k)))?;
        }
        printer.line(format!(
            "next: kopt contract check {}",
            args.files.first().map(|f| f.display().to_string()).unwrap_or_default()
        ))?;
    } else {
        printer.text(&text)?;
    }
    let kernels: Vec<Value> = found.kernels.iter().map(|k| kernel(loaded.sources(), k)).collect();
    printer.json(&json!({
        "schema": "kopt/contract-infer/1", "contract": text, "written": written, "kernels": kernels,
    }))?;
    Ok(Exit::Done)
}

fn header(files: &[PathBuf], found: &Inferred) -> String {
    let names: Vec<String> =
        files.iter().map(|f| f.file_name().unwrap_or(f.as_os_str()).to_string_lossy().into_owned()).collect();
    let complete = found.kernels.iter().filter(|k| k.is_complete()).count();
    let mut text = format!(
        "# Inferred by `kopt contract infer` from {}: complete for {complete} of {} kernels.\n",
        names.join(", "),
        found.kernels.len()
    );
    if complete < found.kernels.len() {
        text += "# What is marked `proposed` is a guess, and a comment with `?` is a question: correct them, then remove the mark.\n";
    }
    text
}

fn line(k: &KernelReport) -> String {
    match (k.open.as_slice(), k.proposed.as_slice()) {
        _ if k.plan.is_none() => format!("{}: no plan could be made", k.kernel),
        ([], []) => format!("{}: complete", k.kernel),
        (open, proposed) => format!("{}: {} open, {} proposed", k.kernel, open.len(), proposed.len()),
    }
}

fn kernel(sources: &Sources, k: &KernelReport) -> Value {
    json!({
        "kernel": k.kernel, "place": json::place(sources, k.span), "plan": k.plan, "launched": k.launched,
        "complete": k.is_complete(), "open": k.open, "proposed": k.proposed,
    })
}

fn check(args: &Check, global: &Global, printer: &mut Printer) -> Result<Exit, Failure> {
    let (mut loaded, configured) = open(&args.files, &args.reading, global)?;
    let own = args.files.first().map(|f| beside(f)).filter(|p| p.is_file());
    let path = args.contract.clone().or(own).or(configured);
    let (mut plans, mut problems) = contract::plans_from_comments(&loaded.program, loaded.sources());
    let (mut assumptions, more) = contract::from_comments(&loaded.program, loaded.sources());
    problems.extend(more);
    let mut read = None;
    if let Some(path) = &path {
        let bytes = std::fs::read(path)
            .map_err(|e| Failure::usage(541, format!("{}: {e}", path.display()), "name a contract that can be read"))?;
        let file = loaded.project.sources.add(SourceFile::new(path.to_string_lossy(), bytes));
        let (found, more) = contract::read(file, loaded.sources().get(file));
        plans.extend(found.plans);
        assumptions.extend(found.assumptions);
        problems.extend(more);
        read = Some(path.to_string_lossy().into_owned());
    }
    if path.is_none() && plans.is_empty() && assumptions == contract::Assumptions::default() {
        let name = args.files.first().map(|f| beside(f).display().to_string()).unwrap_or_default();
        let next = format!(
            "kopt contract infer --write {}",
            args.files.first().map(|f| f.display().to_string()).unwrap_or_default()
        );
        return Err(Failure::usage(
            541,
            format!("there is no contract: neither {name} nor comments above a kernel"),
            next,
        ));
    }
    // A contract that cannot be read is no finding about the files.
    if !problems.is_empty() {
        return Err(Failure::in_files(Exit::Usage, problems, loaded.project.sources));
    }
    let contract = Contract { plans, assumptions };
    let macros = macros_of(&loaded.program, loaded.sources());
    let mut found = infer::check::check(&loaded.program, loaded.sources(), &macros, &loaded.requested, &contract);
    if args.accept_proposed {
        found.retain(|d| d.code != Code(614));
    }
    for d in &found {
        printer.diagnostic(loaded.sources(), d)?;
    }
    printer.line(summary(&contract, &found))?;
    let listed: Vec<Value> = found.iter().map(|d| json::diagnostic(loaded.sources(), d)).collect();
    printer.json(&json!({
        "schema": "kopt/contract-check/1", "contract": read, "plans": plans_json(&contract), "findings": listed,
    }))?;
    Ok(if found.is_empty() { Exit::Done } else { Exit::Findings })
}

fn plans_json(contract: &Contract) -> Vec<Value> {
    let one = |p: &contract::Plan| {
        let open = p.open();
        let count = |kind| open.iter().filter(|o| o.kind == kind).count();
        json!({
            "name": p.name,
            "kernels": p.launches().map(|l| l.kernel.clone()).collect::<Vec<_>>(),
            "open": count(contract::OpenKind::Missing), "proposed": count(contract::OpenKind::Proposed),
            "cells": contract::cells(p, &contract::Sampling::default()).cells.len(),
        })
    };
    contract.plans.iter().map(one).collect()
}

fn summary(contract: &Contract, found: &[Diagnostic]) -> String {
    let count = |codes: &[u16]| found.iter().filter(|d| codes.contains(&d.code.0)).count();
    let (open, proposed) = (count(&[613]), count(&[614]));
    let wrong = found.iter().filter(|d| d.severity == Severity::Error).count();
    let plans = contract.plans.len();
    let cells: usize =
        contract.plans.iter().map(|p| contract::cells(p, &contract::Sampling::default()).cells.len()).sum();
    let say = |n: usize, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
    format!(
        "{}, {} by default: {}, {} open, {} proposed, {}",
        say(plans, "plan", "plans"),
        say(cells, "cell", "cells"),
        say(wrong, "contradiction", "contradictions"),
        open,
        proposed,
        say(found.len() - open - proposed - wrong, "remark", "remarks"),
    )
}
