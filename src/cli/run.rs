//! `kopt run`: one kernel by its contract, in the interpreter or on a GPU: outputs, findings, prints, and how far the two
//! agree.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use kopt::contract::{Cell, ConcretePlan, Distribution, Plan, Sampling, cells};
use kopt::diag::{Code, Diagnostic, Severity};
use kopt::gate::agree::{Agreement, agreements};
use kopt::gate::execute::Output;
use kopt::gate::finding::is_undefined;
use kopt::gate::{How, Ran, Side, Stopped, element, execute, starts};
use kopt::report;
use serde_json::json;

use super::device::{Device, On};
use super::exit::{Exit, Failure};
use super::json;
use super::options::Global;
use super::printer::Printer;
use super::sanitize::Alone;
use super::verify::{Opened, Running, open};
use kopt::gate::Built;

#[derive(ClapArgs)]
pub struct Args {
    /// A CUDA file, or PTX with a contract
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    choice: Choice,
    /// Where it is run
    #[arg(long, value_enum, default_value = "emulator", value_name = "WHERE")]
    on: On,
    /// Watch it with compute-sanitizer on the GPU, too
    #[arg(long)]
    sanitize: bool,
    #[command(flatten)]
    device: Device,
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

pub fn dim(text: &str) -> Result<(String, i64), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE, such as n=1000")?;
    let value = value.trim().parse().map_err(|e| format!("`{value}`: {e}"))?;
    Ok((name.trim().to_owned(), value))
}

fn distribution(text: &str) -> Result<Distribution, String> {
    let words: Vec<&str> = Distribution::ALL.iter().map(|d| d.word()).collect();
    Distribution::from_word(text).ok_or_else(|| format!("expected one of {}", words.join(", ")))
}

/// One cell of a contract, ready to be run.
pub struct Ready {
    pub opened: Opened,
    pub built: Built,
    pub cell: Cell,
    pub plan: ConcretePlan,
    pub starts: Vec<Vec<u8>>,
    pub how: How,
}

/// One run with everything that is needed to speak of it.
pub struct Once {
    pub opened: Opened,
    pub built: Built,
    pub cell: Cell,
    pub ran: Ran,
}

/// Reads and compiles.
pub fn ready(file: &std::path::Path, choice: &Choice, running: &Running, global: &Global) -> Result<Ready, Failure> {
    let mut opened = open(file, running, global)?;
    let settled = opened.settle(running, choice.kernel.as_deref())?;
    let built = opened.build(&settled.plan).map_err(|u| u.failure(Exit::Inconclusive, opened.sources()))?;
    opened.unfilled(&built)?;
    let cell = cell(&built.side, choice, running)?;
    let plan = built.side.plan.concrete(&cell).map_err(|e| Failure::new(Exit::Usage, e.diagnostic()))?;
    let settings = running.settings();
    let mut how = kopt::gate::cell::how(&settings, settings.steps.saturating_mul(64));
    how.memory = settings.memory.saturating_mul(4);
    let starts = starts(&plan).map_err(inconclusive)?;
    Ok(Ready { opened, built, cell, plan, starts, how })
}

fn inconclusive(why: String) -> Failure {
    Failure::new(Exit::Inconclusive, Diagnostic::error(Code(652), why).next("choose smaller sizes with --dim"))
}

/// Reads, compiles and runs in the interpreter.
pub fn once(file: &std::path::Path, choice: &Choice, running: &Running, global: &Global) -> Result<Once, Failure> {
    let ready = ready(file, choice, running, global)?;
    let ran = execute(&ready.built.side, &ready.plan, &ready.starts, &ready.how).map_err(inconclusive)?;
    Ok(Once { opened: ready.opened, built: ready.built, cell: ready.cell, ran })
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
            return Err(unknown_dim(&side.plan, name));
        }
        cell.dims.insert(name.clone(), *value);
    }
    Ok(cell)
}

/// A size that was asked for and that no dim has.
pub fn unknown_dim(plan: &Plan, name: &str) -> Failure {
    let names: Vec<&str> = plan.dims.iter().map(|d| d.name.as_str()).collect();
    let next =
        if names.is_empty() { "the contract has no dims".into() } else { format!("choose of {}", names.join(", ")) };
    Failure::usage(616, format!("the contract has no dim `{name}`"), next)
}

pub fn run(args: &Args, global: &Global, printer: &mut Printer) -> Result<Exit, Failure> {
    let mut running = args.running.clone();
    // The tools watch a GPU.
    let on = if args.sanitize && args.on == On::Emulator { On::Gpu } else { args.on };
    if on != On::Emulator && running.arch.is_none() {
        running.arch = Some(args.device.arch()?);
    }
    let ready = ready(&args.file, &args.choice, &running, global)?;
    let emulated = match on {
        On::Gpu => None,
        _ => Some(execute(&ready.built.side, &ready.plan, &ready.starts, &ready.how).map_err(inconclusive)?),
    };
    let device = match on {
        On::Emulator => None,
        _ => Some(args.device.run(&ready.built, &ready.plan, &ready.starts)?),
    };
    printer.line(format!("cell       {}", report::cell_text(&ready.cell)))?;
    let mut exit = Exit::Done;
    let mut of_device = serde_json::Value::Null;
    let mut of_emulator = (serde_json::Value::Null, vec![]);
    if let Some(ran) = &emulated {
        let place = format!("PTX interpreter on {} from {}", ready.built.side.arch, ready.built.toolchain);
        exit = worse(exit, show(&ready, 1, &place, ran, printer)?);
        of_emulator = (report::ran_json(&ready.cell, ran), listed(&ready, ran));
    }
    if let Some(d) = &device {
        exit = worse(exit, show(&ready, 3, &d.device, &d.ran, printer)?);
        let run = report::ran_json(&ready.cell, &d.ran);
        of_device = json!({ "on": d.device, "run": run, "problems": listed(&ready, &d.ran) });
    }
    let agreements = match (&emulated, &device) {
        (Some(a), Some(d)) if a.stopped.is_none() && d.ran.stopped.is_none() => agreements(a, &d.ran),
        _ => vec![],
    };
    for a in &agreements {
        printer.line(agreement_text(a))?;
    }
    let watched = args.sanitize.then(|| Alone::new(&args.device, &ready.built, &ready.cell)).transpose()?;
    if let Some(watched) = &watched {
        exit = worse(exit, watched.show(ready.opened.sources(), printer)?);
    }
    let sources = ready.opened.sources();
    let of_tools = watched.as_ref().map(|w| w.value(&|d| json::diagnostic(sources, d), sources));
    printer.json(&json!({
        "schema": "kopt/run/1", "arch": ready.built.side.arch, "toolchain": ready.built.toolchain, "approximate": ready.built.approximate,
        "run": of_emulator.0, "problems": of_emulator.1, "device": of_device, "agreement": agreements,
        "sanitizer": of_tools,
    }))?;
    Ok(exit)
}

fn listed(ready: &Ready, ran: &Ran) -> Vec<serde_json::Value> {
    problems(ready, ran).iter().map(|d| json::diagnostic(ready.opened.sources(), d)).collect()
}

/// A kernel that is wrong in one place is wrong.
fn worse(a: Exit, b: Exit) -> Exit {
    match (a, b) {
        (Exit::Verification, _) | (_, Exit::Verification) => Exit::Verification,
        (Exit::Done, other) => other,
        (other, _) => other,
    }
}

fn agreement_text(a: &Agreement) -> String {
    let Some(first) = &a.first else {
        return format!("agreement  {}: all {} elements equal bit by bit", a.output, a.elements);
    };
    let ulps = a.ulps.map_or_else(String::new, |u| format!(", at most {u} ULP apart"));
    format!(
        "agreement  {}: {} of {} elements differ{ulps}; first at {}: {} in the interpreter, {} on the GPU",
        a.output, a.differing, a.elements, first.index, first.ours, first.theirs
    )
}

/// One run in words.
fn show(ready: &Ready, tier: u8, place: &str, ran: &Ran, printer: &mut Printer) -> Result<Exit, Failure> {
    let problems = problems(ready, ran);
    for d in &problems {
        printer.diagnostic(ready.opened.sources(), d)?;
    }
    printer.line(format!("tier       {tier}, {place}"))?;
    for o in &ran.outputs {
        output(o, printer)?;
    }
    for p in &ran.prints {
        printer.text(&format!("print: {}\n", p.trim_end_matches('\n')))?;
    }
    for n in ran.schedules.iter().chain(&ran.notes) {
        printer.line(format!("note: {n}"))?;
    }
    if tier == 1 {
        printer.line(format!("{} warp instructions, {} findings", ran.steps, ran.findings.len()))?;
    }
    Ok(match &ran.stopped {
        Some(Stopped::Machine { .. } | Stopped::Limit { .. }) => Exit::Inconclusive,
        _ if problems.iter().any(|d| d.severity == Severity::Error) => Exit::Verification,
        _ => Exit::Done,
    })
}

fn output(o: &Output, printer: &mut Printer) -> Result<(), Failure> {
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
    Ok(())
}

/// What the run shows to be wrong, on its lines.
fn problems(ready: &Ready, ran: &Ran) -> Vec<Diagnostic> {
    use kopt::gate::Fault;
    let mut faults: Vec<Fault> = ran.findings.iter().cloned().map(Fault::Finding).collect();
    faults.extend(ran.stopped.iter().cloned().map(Fault::Stopped));
    faults.extend(ran.changed_inputs.iter().cloned().map(|(name, index)| Fault::WritesInput { name, index }));
    faults.extend(ran.guards.iter().cloned().map(|name| Fault::WritesGuard { name }));
    let say = |f: &Fault| {
        let mut d = report::fault(ready.opened.sources(), &ready.cell, f);
        d.message = d.message.replacen("candidate: ", "", 1);
        if matches!(f, Fault::Finding(l) if !is_undefined(l.kind)) {
            d.severity = Severity::Warning;
        }
        d
    };
    faults.iter().map(say).collect()
}
