//! `kopt verify`: does a candidate compute what an original computes?

mod adopt;
mod build;
mod compilers;
mod contract;
pub mod device;
mod gather;
mod reference;
pub mod timing;

use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, ValueEnum};
use kopt::compile::{BlockShape, compare};
use kopt::contract::Plan;
use kopt::diag::{Diagnostic, render};
use kopt::gate::{self, CellVerdict, Settings, Side};
use kopt::report::{self, Report};
use kopt::source::Sources;

use super::device::{Device, On};
use super::exit::{Exit, Failure};
use super::options::Global;
use super::printer::Printer;
use super::{json, sanitize, write};

pub use adopt::Choice;
pub use build::{Built, Unbuilt, WORKER};
pub use gather::{Opened, Revision, open};

#[derive(ClapArgs)]
pub struct Args {
    /// The file that is taken for right: CUDA or PTX
    #[arg(value_name = "ORIGINAL")]
    original: PathBuf,
    /// The file that is to do the same
    #[arg(value_name = "CANDIDATE")]
    candidate: PathBuf,
    /// The kernel of the original, where it has several
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// The kernel of the candidate, where it has another name
    #[arg(long, value_name = "NAME")]
    candidate_kernel: Option<String>,
    /// The candidate's own launches, under the args and dims of the original's contract
    #[arg(long, value_name = "FILE")]
    candidate_contract: Option<PathBuf>,
    /// What of the candidate stands for what of the original, where names do not say it
    #[arg(long = "match", value_name = "CANDIDATE=ORIGINAL", value_parser = pair)]
    given: Vec<(String, String)>,
    /// Run the command that the contract names as its reference
    #[arg(long)]
    trust: bool,
    /// Write the report as a page of its own
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Where both are run
    #[arg(long, value_enum, default_value = "emulator", value_name = "WHERE")]
    on: On,
    #[command(flatten)]
    place: Device,
    /// Watch both with compute-sanitizer on the GPU, on a few small cells
    #[arg(long)]
    sanitize: bool,
    #[command(flatten)]
    timing: timing::Timing,
    #[command(flatten)]
    running: Running,
}

/// How much is run, and from which contract.
#[derive(ClapArgs, Clone, Default)]
pub struct Running {
    /// The contract, instead of the one beside the original
    #[arg(long, value_name = "FILE")]
    pub contract: Option<PathBuf>,
    /// Take guesses of the contract for the user's word
    #[arg(long)]
    pub accept_proposed: bool,
    /// Every size with every distribution, both poisons and two seeds
    #[arg(long)]
    pub thorough: bool,
    /// Seeds and odd sizes follow from it
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Warp instructions of one cell, in millions
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub budget: u64,
    /// A folder of headers
    #[arg(short = 'I', value_name = "FOLDER")]
    pub include: Vec<PathBuf>,
    /// A macro
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    pub define: Vec<String>,
    /// The architecture to compile for
    #[arg(long, value_name = "sm_80")]
    pub arch: Option<String>,
}

impl Running {
    pub fn settings(&self) -> Settings {
        let steps = self.budget.clamp(1, 1 << 20) << 20;
        Settings { seed: self.seed, thorough: self.thorough, steps, ..Settings::default() }
    }
}

/// Compiles what the parent process asks for, until it asks no more.
pub fn serve() -> Result<Exit, Failure> {
    kopt::compile::worker::serve(std::io::stdin().lock(), std::io::stdout().lock())?;
    Ok(Exit::Done)
}

pub fn run(args: &Args, global: &Global, printer: &mut Printer) -> Result<Exit, Failure> {
    let mut running = args.running.clone();
    // Nothing is timed that was not compared where it is timed.
    let needs_gpu = args.timing.time || args.sanitize;
    let on = if needs_gpu && args.on == On::Emulator { On::Both } else { args.on };
    if on != On::Emulator && running.arch.is_none() {
        running.arch = Some(args.place.arch()?);
    }
    let mut original = open(&args.original, &running, global)?;
    let mut candidate = open(&args.candidate, &running, global)?;
    let settled = original.settle(&running, args.kernel.as_deref())?;
    let given = args.given.iter().cloned().collect();
    let choice = Choice {
        contract: args.candidate_contract.as_deref(),
        kernel: args.candidate_kernel.as_deref(),
        given: Some(&given),
    };
    let adopted = candidate.adopt(&original, &settled.plan, choice)?;
    for warning in &settled.warnings {
        printer.diagnostic(original.sources(), warning)?;
    }
    let before = original.build(&settled.plan).map_err(|u| u.failure(Exit::Inconclusive, original.sources()))?;
    let after = candidate.build(&adopted.plan).map_err(|u| u.failure(Exit::Verification, candidate.sources()))?;
    original.unfilled(&before)?;
    candidate.unfilled(&after)?;
    let settings = args.running.settings();
    let referee = reference::open(&original, &settled.plan, &settings, args.trust)?;
    let oracle = referee.as_ref().map(|r| r.oracle.as_ref());
    let outcome = match on {
        On::Gpu => device::not_asked(),
        On::Emulator | On::Both => gate::verify_against(&before.side, &after.side, &settings, oracle),
    };
    let seen = match on {
        On::Emulator => None,
        On::Gpu | On::Both => device::compare(&args.place, &before, &after, &outcome, &settings)?,
    };
    // What the interpreter refused is not run on the GPU.
    let watch = || sanitize::both(&args.place, &before, &after, &settings);
    let sanitized = (args.sanitize && seen.is_some()).then(watch).transpose()?;
    let measure = || args.timing.measure(&args.place, (&before, &after), &outcome, seen.as_ref(), &settings);
    let measured = args.timing.time.then(measure).transpose()?;
    let timed = measured.as_ref().and_then(|m| m.as_ref().ok());
    let (mut ours, mut theirs) = problems(&outcome, &original, &candidate);
    if let Some(seen) = &seen {
        let (a, b) = device::problems(seen, original.sources(), candidate.sources());
        ours.extend(a);
        theirs.extend(b);
    }
    if let Some(sanitized) = &sanitized {
        let (a, b) = report::sanitizer::problems(sanitized, original.sources(), candidate.sources());
        ours.extend(a);
        theirs.extend(b);
    }
    theirs.extend(timing::problems(timed, candidate.sources()));
    let report = Report {
        original: original.input(&before.side),
        candidate: candidate.input(&after.side),
        arch: before.side.arch.clone(),
        toolchain: before.toolchain.clone(),
        contract: (settled.origin.describe(), settled.origin.word().to_owned()),
        accepted: settled.accepted,
        launches: adopted.how,
        matched: settled.notes.iter().chain(&adopted.notes).chain(referee.iter().map(|r| &r.says)).cloned().collect(),
        outcome: &outcome,
        device: seen.as_ref(),
        sanitized: sanitized.as_ref(),
        timing: measured.as_ref().map(|m| m.as_ref().map_err(String::as_str)),
        roofline: timed.map(|t| args.timing.roofline(&args.place, t, &outcome)),
        resources: resources(&before.side, &after.side),
        problems: ours.iter().chain(&theirs).cloned().collect(),
        not_checked: device::not_run(on, seen.as_ref())
            .into_iter()
            .chain(not_checked(&before, &settings, args.timing.time))
            .collect(),
        remarks: remarks(&outcome, &before, &after)
            .into_iter()
            .chain(device::remarks(seen.as_ref()))
            .chain(timed.iter().flat_map(|t| t.remarks.clone()))
            .collect(),
        reproduce: reproduce(args),
        seed: args.running.seed,
    };
    if let Some(path) = &args.html {
        let shown: Vec<String> =
            rendered(&ours, original.sources()).chain(rendered(&theirs, candidate.sources())).collect();
        write::atomically(path, report::html(&report, &shown).as_bytes())?;
    }
    for (list, sources) in [(&ours, original.sources()), (&theirs, candidate.sources())] {
        for d in list {
            printer.diagnostic(sources, d)?;
        }
    }
    printer.text(&report::text(&report))?;
    let count = ours.len();
    let position = std::cell::Cell::new(0usize);
    printer.json(&report::json(&report, &|d| {
        let n = position.replace(position.get() + 1);
        json::diagnostic(if n < count { original.sources() } else { candidate.sources() }, d)
    }))?;
    let watched = sanitize::exit(device::exit(&outcome, seen.as_ref()), sanitized.as_ref());
    Ok(timing::exit(watched, measured.as_ref()))
}

fn rendered<'a>(list: &'a [Diagnostic], sources: &'a Sources) -> impl Iterator<Item = String> + 'a {
    list.iter().map(move |d| render::render(sources, d, false).trim_end().to_owned())
}

/// Findings in the original, and faults of the candidate, each once.
fn problems(outcome: &gate::Outcome, original: &Opened, candidate: &Opened) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
    let mut ours: Vec<Diagnostic> = vec![];
    for c in &outcome.cells {
        let CellVerdict::Undefined(list) = &c.verdict else { continue };
        for u in list {
            let d = report::undefined(original.sources(), &c.cell, u);
            // The same line in another cell says nothing new.
            let same = |o: &Diagnostic| o.primary() == d.primary() && (d.primary().is_some() || o.message == d.message);
            if !ours.iter().any(same) {
                ours.push(d);
            }
        }
    }
    let faults = gate::faults(&outcome.cells);
    let theirs = faults.into_iter().map(|(cell, f)| report::fault(candidate.sources(), cell, f)).collect();
    (ours, theirs)
}

fn resources(a: &Side, b: &Side) -> Vec<(String, kopt::compile::Comparison)> {
    let shape = |p: &Plan, name: &gate::KernelKey| -> BlockShape {
        let l = p.launches().find(|l| gate::KernelKey::of_launch(l) == *name);
        let value = |e: &kopt::contract::Expr| e.eval(&|n| p.dim(n).and_then(|d| d.samples.first().copied())).ok();
        let threads = l.map(|l| l.block.iter().filter_map(value).product::<i64>()).unwrap_or(0);
        let shared = l.and_then(|l| l.shared.as_ref().and_then(value)).unwrap_or(0);
        let narrow = |v: i64| u32::try_from(v).unwrap_or(0);
        BlockShape { threads: narrow(threads), dynamic_shared: narrow(shared) }
    };
    let (first, second): (Vec<_>, Vec<_>) = (a.resources.iter().collect(), b.resources.iter().collect());
    let pair = |(k, x): &(&gate::KernelKey, &kopt::compile::KernelResources)| {
        let same = second.iter().find(|(o, _)| o.name == k.name);
        let (o, y) = same.or(if first.len() == 1 && second.len() == 1 { second.first() } else { None })?;
        let title = if o.name == k.name { k.to_string() } else { format!("{k} -> {o}") };
        Some((title, compare(&a.arch, (x, shape(&a.plan, k)), (y, shape(&b.plan, o)))))
    };
    first.iter().filter_map(pair).collect()
}

/// What the interpreter does not see, whatever runs in it; docs/verify.md says more of each.
const BLIND: &[&str] = &[
    "most orders of blocks, warps and atomics: three were run, on the sample",
    "buffers that overlap where `alias` does not say so; scalar arguments other than the contract's value and `legal`",
    "NaN, infinities, large floats and large integers where neither `legal` nor `nan` and `infinite` admit them",
];

fn not_checked(before: &Built, settings: &Settings, timed: bool) -> Vec<String> {
    let untimed = "timing: nothing here says which of the two is the faster (--time, on a GPU)";
    let mut found = if timed { vec![] } else { vec![untimed.to_owned()] };
    found.push(format!("other architectures than {}, and machine code: PTX was interpreted", before.side.arch));
    if before.side.plan.dims.is_empty() {
        found.insert(0, "any other size: the contract has no dims, so that every size is as it stands there".into());
    }
    let most = settings.max_bytes.unwrap_or(0) >> 20;
    found.push(format!("sizes with more than {most} MB of buffers or {} M warp instructions", settings.steps >> 20));
    if !settings.thorough {
        found.push("sizes and contents in other combinations (--thorough)".into());
    }
    found.extend(BLIND.iter().map(|text| (*text).to_owned()));
    found
}

fn remarks(outcome: &gate::Outcome, before: &Built, after: &Built) -> Vec<String> {
    let mut found = outcome.remarks.clone();
    let of = |who: &str, b: &Built| b.notes.iter().map(|n| format!("{who}: {n}")).collect::<Vec<_>>();
    found.extend(of("original", before).into_iter().chain(of("candidate", after)));
    let new: Vec<&str> =
        after.approximate.iter().filter(|a| !before.approximate.contains(a)).map(String::as_str).collect();
    if !new.is_empty() && !before.side.plan.permissions.approximate {
        found.push(format!(
            "the candidate uses approximate instructions that the original does not: {}",
            new.join(", ")
        ));
    }
    if after.side.arithmetic > before.side.arithmetic {
        found.push("the candidate computes in a lower precision than the original".into());
    }
    found
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (own, theirs) = text.split_once('=').ok_or("expected CANDIDATE=ORIGINAL, such as x=a")?;
    Ok((own.trim().to_owned(), theirs.trim().to_owned()))
}

/// The command with everything that decides the outcome.
fn reproduce(args: &Args) -> String {
    let mut out = format!("kopt verify {} {}", args.original.display(), args.candidate.display());
    let mut add = |flag: &str, value: Option<String>| out.extend(value.map(|v| format!(" {flag} {v}")));
    let path = |p: &Option<PathBuf>| p.as_ref().map(|p: &PathBuf| Path::display(p).to_string());
    add("--kernel", args.kernel.clone());
    add("--candidate-kernel", args.candidate_kernel.clone());
    add("--contract", path(&args.running.contract));
    add("--candidate-contract", path(&args.candidate_contract));
    for (own, theirs) in &args.given {
        add("--match", Some(format!("{own}={theirs}")));
    }
    add("--arch", args.running.arch.clone());
    add("--on", args.on.to_possible_value().filter(|_| args.on != On::Emulator).map(|v| v.get_name().to_owned()));
    for (name, value) in &args.timing.dims {
        add("--dim", Some(format!("{name}={value}")));
    }
    add("--rounds", (args.timing.rounds != 3).then(|| args.timing.rounds.to_string()));
    add("--samples", (args.timing.samples != 50).then(|| args.timing.samples.to_string()));
    add("--seed", Some(args.running.seed.to_string()));
    add("--budget", (args.running.budget != 4).then(|| args.running.budget.to_string()));
    for i in &args.running.include {
        add("-I", Some(i.display().to_string()));
    }
    for d in &args.running.define {
        add("-D", Some(d.clone()));
    }
    for (flag, on) in [
        ("--accept-proposed", args.running.accept_proposed),
        ("--thorough", args.running.thorough),
        ("--trust", args.trust),
        ("--sanitize", args.sanitize),
        ("--time", args.timing.time),
    ] {
        if on {
            out.push(' ');
            out.push_str(flag);
        }
    }
    out
}
