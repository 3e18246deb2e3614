//! `kopt run`: one kernel by its contract, in the interpreter: outputs, findings, prints.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use kopt::contract::{Cell, Distribution, Sampling, cells};
use kopt::diag::{Code, Diagnostic, Severity};
use kopt::gate::finding::is_undefined;
use kopt::gate::{Ran, Side, Stopped, element, execute, starts};
use kopt::report;
use serde_json::json;

use super::exit::{Exit, Failure};
use super::json;
use super::options::Global;
use super::printer::Printer;
use super::verify::{Built, Opened, Running, open};

#[derive(ClapArgs)]
pub struct Args {
    /// A CUDA file, or PTX with a contract
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    choice: Choice,
    #[command(flatten)]
    running: Running,
}

/// Which kernel on which cell.
#[derive(ClapArgs)]
pub struct Choice {
    /// The kernel, where the file has several
    #[arg(long, value_name = "NAME")]
    pub kernel: Option<String>,
    /// A size, such as n=1000, instead of the contract's first sample
    #[arg(long = "dim", value_name = "NAME=VALUE", value_parser = dim)]
    pub dims: Vec<(String, i64)>,
    /// Contents of the inputs
    #[arg(long, value_name = "WORD", default_value = "normal-1", value_parser = distribution)]
    pub contents: Distribution,
}

fn dim(text: &str) -> Result<(String, i64), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE, such as n=1000")?;
    let value = value.trim().parse().map_err(|e| format!("`{value}`: {e}"))?;
    Ok((name.trim().to_owned(), value))
}

fn distribution(text: &str) -> Result<Distribution, String> {
    let words: Vec<&str> = Distribution::ALL.iter().map(|d| d.word()).collect();
    Distribution::from_word(text).ok_or_else(|| format!("expected one of {}", words.join(", ")))
}

/// One run with everything that is needed to speak of it.
pub struct Once {
    pub opened: Opened,
    pub built: Built,
    pub cell: Cell,
    pub ran: Ran,
}

/// Reads, compiles and runs.
pub fn once(file: &std::path::Path, choice: &Choice, running: &Running, global: &Global) -> Result<Once, Failure> {
    let mut opened = open(file, running, global)?;
    let settled = opened.settle(running, choice.kernel.as_deref())?;
    let built = opened.build(&settled.plan).map_err(|u| u.failure(Exit::Inconclusive, opened.sources()))?;
    opened.unfilled(&built)?;
    let cell = cell(&built.side, choice, running)?;
    let plan = built.side.plan.concrete(&cell).map_err(|e| Failure::new(Exit::Usage, e.diagnostic()))?;
    let settings = running.settings();
    let mut how = kopt::gate::cell::how(&settings, settings.steps.saturating_mul(64));
    how.memory = settings.memory.saturating_mul(4);
    let inconclusive = |why: String| {
        Failure::new(Exit::Inconclusive, Diagnostic::error(Code(652), why).next("choose smaller sizes with --dim"))
    };
    let begin = starts(&plan).map_err(inconclusive)?;
    let ran = execute(&built.side, &plan, &begin, &how).map_err(inconclusive)?;
    Ok(Once { opened, built, cell, ran })
}

/// The first cell of the covering set with the sizes, contents and seed that were asked for.
fn cell(side: &Side, choice: &Choice, running: &Running) -> Result<Cell, Failure> {
    let sampling = Sampling { seed: running.seed, pairs: 0, ..Sampling::default() };
    let first = cells(&side.plan, &sampling).cells.into_iter().next();
    let sample = || side.plan.dims.iter().filter_map(|d| Some((d.name.clone(), *d.samples.first()?))).collect();
    let mut cell = first.unwrap_or_else(|| Cell::new(sample(), choice.contents, running.seed));
    cell.distribution = choice.contents;
    for (name, value) in &choice.dims {
        if side.plan.dim(name).is_none() {
            let names: Vec<&str> = side.plan.dims.iter().map(|d| d.name.as_str()).collect();
            let next = if names.is_empty() {
                "the contract has no dims".into()
            } else {
                format!("choose of {}", names.join(", "))
            };
            return Err(Failure::usage(616, format!("the contract has no dim `{name}`"), next));
        }
        cell.dims.insert(name.clone(), *value);
    }
    Ok(cell)
}

pub fn run(args: &Args, global: &Global, printer: &mut Printer) -> Result<Exit, Failure> {
    let once = once(&args.file, &args.choice, &args.running, global)?;
    let ran = &once.ran;
    let problems = problems(&once);
    for d in &problems {
        printer.diagnostic(once.opened.sources(), d)?;
    }
    printer.line(format!("cell       {}", report::cell_text(&once.cell)))?;
    printer.line(format!("tier       1, PTX interpreter on {} from {}", once.built.side.arch, once.built.toolchain))?;
    for o in &ran.outputs {
        let shown = o.elements().min(8);
        let head: Vec<String> =
            (0..shown).map(|i| element::show(o.dtype, element::bits(o.dtype, &o.bytes, i as usize))).collect();
        let more = if o.elements() > shown { " ..." } else { "" };
        let hash = blake3::hash(&o.bytes).to_hex();
        printer.line(format!(
            "output {} ({}, {} elements, BLAKE3 {})",
            o.name,
            o.dtype.name(),
            o.elements(),
            &hash[..16]
        ))?;
        printer.line(format!("  {}{more}", head.join(" ")))?;
        let unwritten = o.count_unwritten(&(0..o.elements()));
        if unwritten > 0 {
            printer.line(format!("  {unwritten} elements are not written"))?;
        }
    }
    for p in &ran.prints {
        printer.text(&format!("print: {}\n", p.trim_end_matches('\n')))?;
    }
    for n in ran.schedules.iter().chain(&ran.notes) {
        printer.line(format!("note: {n}"))?;
    }
    printer.line(format!("{} warp instructions, {} findings", ran.steps, ran.findings.len()))?;
    let listed: Vec<_> = problems.iter().map(|d| json::diagnostic(once.opened.sources(), d)).collect();
    printer.json(&json!({
        "schema": "kopt/run/1", "arch": once.built.side.arch, "toolchain": once.built.toolchain,
        "run": report::ran_json(&once.cell, ran), "problems": listed,
    }))?;
    Ok(match &ran.stopped {
        Some(Stopped::Machine { .. } | Stopped::Limit { .. }) => Exit::Inconclusive,
        _ if problems.iter().any(|d| d.severity == Severity::Error) => Exit::Verification,
        _ => Exit::Done,
    })
}

/// What the run shows to be wrong, on its lines.
fn problems(once: &Once) -> Vec<Diagnostic> {
    use kopt::gate::Fault;
    let ran = &once.ran;
    let mut faults: Vec<Fault> = ran.findings.iter().cloned().map(Fault::Finding).collect();
    faults.extend(ran.stopped.iter().cloned().map(Fault::Stopped));
    faults.extend(ran.changed_inputs.iter().cloned().map(|(name, index)| Fault::WritesInput { name, index }));
    faults.extend(ran.guards.iter().cloned().map(|name| Fault::WritesGuard { name }));
    let say = |f: &Fault| {
        let mut d = report::fault(once.opened.sources(), &once.cell, f);
        d.message = d.message.replacen("candidate: ", "", 1);
        if matches!(f, Fault::Finding(l) if !is_undefined(l.kind)) {
            d.severity = Severity::Warning;
        }
        d
    };
    faults.iter().map(say).collect()
}
