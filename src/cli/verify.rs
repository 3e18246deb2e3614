//! `kopt verify`: does a candidate compute what an original computes?

mod adopt;
mod build;
mod compilers;
mod contract;
pub mod device;
mod gather;
pub mod pair;
mod reference;
pub mod timing;

use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, ValueEnum};
use kopt::diag::Diagnostic;
use kopt::gate::Settings;
use kopt::report;

use super::device::{Device, On};
use super::exit::{Exit, Failure};
use super::options::Global;
use super::printer::Printer;
use super::write;

pub use adopt::Choice;
pub use build::{Unbuilt, WORKER};
pub use gather::{Opened, Revision, open};
pub use pair::{How, Pair, Subject};

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
    #[arg(long = "match", value_name = "CANDIDATE=ORIGINAL", value_parser = renamed)]
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
    let asked = Asked {
        candidate: &args.candidate,
        kernel: args.kernel.as_deref(),
        candidate_kernel: args.candidate_kernel.as_deref(),
        candidate_contract: args.candidate_contract.as_deref(),
        given: &args.given,
    };
    let mut prepared = prepare(&args.original, &asked, &running, global)?;
    prepared.pair.command = reproduce(args);
    let referee = reference::open(&prepared.original, prepared.plan(), &running.settings(), args.trust)?;
    prepared.pair.matched.extend(referee.iter().map(|r| r.says.clone()));
    for warning in &prepared.warnings {
        printer.diagnostic(&prepared.pair.original.sources, warning)?;
    }
    let pair = &prepared.pair;
    let settings = args.running.settings();
    let (place, timing, sanitize) = (&args.place, &args.timing, args.sanitize);
    let how = How { on, place, timing, sanitize, settings, memo: None };
    let oracle = referee.as_ref().map(|r| r.oracle.as_ref());
    let judged = pair.finish(&how, pair.emulate(&how, oracle)?)?;
    let report = judged.report(pair, &how);
    if let Some(path) = &args.html {
        write::atomically(path, judged.page(pair, &report).as_bytes())?;
    }
    for (sources, d) in judged.diagnostics(pair) {
        printer.diagnostic(sources, d)?;
    }
    printer.text(&report::text(&report))?;
    printer.json(&judged.json(pair, &report))?;
    Ok(judged.exit())
}

/// A candidate and how it is launched.
pub struct Asked<'a> {
    pub candidate: &'a Path,
    pub kernel: Option<&'a str>,
    pub candidate_kernel: Option<&'a str>,
    pub candidate_contract: Option<&'a Path>,
    pub given: &'a [(String, String)],
}

/// A pair that is ready to be run, with what is not part of it.
pub struct Prepared {
    pub pair: Pair,
    pub warnings: Vec<Diagnostic>,
    pub original: Opened,
}

impl Prepared {
    /// The contract's plan, with the original's launches.
    pub fn plan(&self) -> &kopt::contract::Plan {
        &self.pair.original.built.side.plan
    }
}

/// Reads both files, settles the contract, compiles.
pub fn prepare(path: &Path, asked: &Asked, running: &Running, global: &Global) -> Result<Prepared, Failure> {
    let mut original = open(path, running, global)?;
    let mut candidate = open(asked.candidate, running, global)?;
    let settled = original.settle(running, asked.kernel)?;
    let given = asked.given.iter().cloned().collect();
    let choice = Choice { contract: asked.candidate_contract, kernel: asked.candidate_kernel, given: Some(&given) };
    let adopted = candidate.adopt(&original, &settled.plan, choice)?;
    let before = original.build(&settled.plan).map_err(|u| u.failure(Exit::Inconclusive, original.sources()))?;
    let after = candidate.build(&adopted.plan).map_err(|u| u.failure(Exit::Verification, candidate.sources()))?;
    original.unfilled(&before)?;
    candidate.unfilled(&after)?;
    let pair = Pair {
        original: original.subject(before),
        candidate: candidate.subject(after),
        contract: (settled.origin.describe(), settled.origin.word().to_owned()),
        accepted: settled.accepted,
        launches: adopted.how,
        matched: settled.notes.iter().chain(&adopted.notes).cloned().collect(),
        command: String::new(),
    };
    Ok(Prepared { pair, warnings: settled.warnings, original })
}

/// Two names.
pub fn renamed(text: &str) -> Result<(String, String), String> {
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
