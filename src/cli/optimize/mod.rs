//! `kopt optimize`: several steps, each chosen by what paid before and judged by the gate.

mod bench;
mod show;

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use kopt::diag::{Code, Diagnostic};
use kopt::memory::Store;
use kopt::optimize::journal::{Journal, JournalError};
use kopt::optimize::{Accept, Found, Plan, World as _, walk};
use kopt::policy::{self, Settings, State};
use serde_json::json;

use self::bench::Bench;
use super::device::{Device, On};
use super::exit::{Exit, Failure};
use super::options::{Global, Reading};
use super::printer::Printer;
use super::session::Session;
use super::verify::{Running, timing::Timing};
use super::{memory, write};

#[derive(clap::Args)]
pub struct Args {
    /// The file to go on from
    #[arg(value_name = "FILE")]
    path: PathBuf,
    /// One kernel of it; without it all are meant
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// Steps at most, instead of those of the policy
    #[arg(long, value_name = "N")]
    steps: Option<u32>,
    /// The policy, or one of its ablations: full, flat, no-hierarchy, no-local, random-memory, no-prefix, no-position, no-update,
    /// one-shot, feedback-only, upper-confidence
    #[arg(long, value_name = "NAME", default_value = "full")]
    policy: String,
    /// Draws follow from it
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// From which candidates to go on
    #[arg(long, value_enum, default_value_t = From::Best)]
    accept: From,
    /// Where candidates are run
    #[arg(long, value_enum, default_value_t = On::Emulator)]
    on: On,
    #[command(flatten)]
    place: Device,
    #[command(flatten)]
    timing: Timing,
    #[command(flatten)]
    reading: Reading,
    /// Take guesses of the contract for the user's word
    #[arg(long)]
    accept_proposed: bool,
    /// The memory instead of KOPT_MEMORY, the one of kopt.toml, or the user's own
    #[arg(long, value_name = "FILE")]
    memory: Option<PathBuf>,
    /// Show what would be tried first and why; run nothing
    #[arg(long)]
    dry_run: bool,
    /// Show the scores behind every choice
    #[arg(long)]
    explain: bool,
    /// Go on where an earlier run ended
    #[arg(long)]
    resume: bool,
    /// The folder of the journal and of the best text, instead of FILE.optimize
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Write the best text into FILE at the end
    #[arg(long)]
    write: bool,
    /// Write over changes that git does not have
    #[arg(long)]
    allow_dirty: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum From {
    /// From those that are faster than all before; from every correct one where nothing is timed
    Best,
    /// From every correct one: a detour may pay later
    Walk,
}

pub fn run(args: &Args, global: &Global, printer: &mut Printer) -> Result<Exit, Failure> {
    let policy = policy(args)?;
    let session = Session::open(global, &args.reading, std::slice::from_ref(&args.path))?;
    let [file] = session.loaded.requested.as_slice() else {
        return Err(Failure::usage(545, "a walk is about one file", "kopt optimize FILE"));
    };
    let original = session.sources().get(*file).text.to_string();
    let on = if args.timing.time && args.on == On::Emulator { On::Both } else { args.on };
    let mut running = Running {
        contract: args.reading.contract.clone(),
        accept_proposed: args.accept_proposed,
        arch: session.arch.clone(),
        ..Running { seed: 1, budget: 4, ..Running::default() }
    };
    if on != On::Emulator && running.arch.is_none() {
        running.arch = Some(args.place.arch()?);
    }
    let about = about(args, &running, on);
    // A baseline without memory reads none either.
    let forgets = policy.rule == policy::Rule::FeedbackOnly && !policy.update;
    let store = if forgets { None } else { Some(open_memory(args, &session, printer)?) };
    let folder = args.out.clone().unwrap_or_else(|| PathBuf::from(format!("{}.optimize", args.path.display())));
    let kept = (!args.dry_run).then(|| folder.clone());
    let path = args.path.clone();
    let mut bench = Bench { args, session, path, original, running, on, policy, store, folder: kept, printer };
    if args.dry_run {
        return dry_run(&mut bench);
    }
    if args.write {
        refuse_dirty(args)?;
    }
    std::fs::create_dir_all(&folder).map_err(|e| write::cannot(&folder, &e))?;
    let mut journal = journal(&folder, args.resume, bench.printer)?;
    let original = bench.original.clone();
    let plan = plan(args, &bench, &original);
    let ended = walk(&mut bench, &mut journal, &original, &about, &plan)?;
    let patch = folder.join("best.patch");
    let changed = ended.best != original;
    if args.write && changed {
        // Checked here again: the walk may have taken long.
        refuse_dirty(args)?;
        write::atomically(&args.path, ended.best.as_bytes())?;
    }
    let (patch, log) = (patch.display().to_string(), journal.path().display().to_string());
    show::end(bench.printer, &ended, &patch)?;
    bench.printer.json(&show::document(&ended, &patch, &log, args.write && changed))?;
    let judged = |s: &kopt::optimize::Stepped| s.verdict.found != Found::Unknown;
    Ok(match (changed, ended.steps.iter().any(judged)) {
        (true, _) => Exit::Done,
        (false, false) if !ended.steps.is_empty() => Exit::Inconclusive,
        _ => Exit::Findings,
    })
}

fn refuse_dirty(args: &Args) -> Result<(), Failure> {
    if args.allow_dirty { Ok(()) } else { write::refuse_dirty(std::slice::from_ref(&args.path)) }
}

fn policy(args: &Args) -> Result<Settings, Failure> {
    let named = Settings::named(&args.policy).ok_or_else(|| {
        let names: Vec<&str> = policy::settings::NAMED.iter().map(|(n, _)| *n).collect();
        Failure::usage(700, format!("there is no policy `{}`", args.policy), format!("one of {}", names.join(", ")))
    })?;
    let steps = args.steps.unwrap_or(named.steps);
    let settings = Settings { steps, seed: args.seed, ..named };
    match settings.mistake() {
        Some(mistake) => Err(Failure::usage(700, mistake, "give another --steps")),
        None => Ok(settings),
    }
}

/// What answers depend on beside the text: another way of judging is another run.
fn about(args: &Args, running: &Running, on: On) -> String {
    let dims: Vec<String> = args.timing.dims.iter().map(|(n, v)| format!("{n}={v}")).collect();
    format!(
        "kopt {}, {on:?}, time {}, sizes [{}], kernel {:?}, arch {:?}, assume {:?}, contract {:?}",
        env!("CARGO_PKG_VERSION"),
        args.timing.time,
        dims.join(" "),
        args.kernel,
        running.arch,
        args.reading.assume,
        args.reading.contract,
    )
}

fn plan(args: &Args, bench: &Bench, original: &str) -> Plan {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let name = format!("{original}\0{:?}\0{}", now, std::process::id());
    Plan {
        run: blake3::hash(name.as_bytes()).to_hex()[..16].to_owned(),
        started: now.as_secs(),
        policy: bench.policy.clone(),
        accept: if args.accept == From::Best { Accept::Best } else { Accept::Walk },
    }
}

fn open_memory(args: &Args, session: &Session, printer: &mut Printer) -> Result<Store, Failure> {
    let path = memory::file(args.memory.as_ref(), session.config.memory.as_ref())?;
    memory::opened(Store::open(&path), printer)
}

/// The journal in a folder, empty or to be gone on with.
fn journal(folder: &std::path::Path, resume: bool, printer: &mut Printer) -> Result<Journal, Failure> {
    let path = folder.join("journal");
    let journal = Journal::open(&path).map_err(|e| trouble(&e))?;
    if let Some(aside) = journal.set_aside() {
        let message = format!("{} was damaged: what followed is {} now", path.display(), aside.display());
        let d = Diagnostic::warning(Code(702), message).next("nothing that stood before the damage is lost");
        printer.diagnostic(&Default::default(), &d)?;
    }
    match (resume, journal.entries().is_empty()) {
        (false, false) => Err(trouble(&JournalError::There(path))),
        _ => Ok(journal),
    }
}

/// What the first step would be, and why.
fn dry_run(bench: &mut Bench) -> Result<Exit, Failure> {
    let text = bench.original.clone();
    let survey = bench.survey(&text)?;
    let (kernel, context) = (survey.kernel, survey.context);
    let state = State { kernel, context, bottleneck: survey.bottleneck, path: vec![], error: None };
    let chosen = bench.choose(&state, &survey.legal, 1)?;
    bench.printer.text(&state.summary(bench.policy.k))?;
    for l in &survey.legal {
        bench.printer.line(format!("legal: {}: {} ({})", l.direction, l.skill, l.firmness.as_str()))?;
    }
    let exit = if chosen.is_some() { Exit::Done } else { Exit::Findings };
    match &chosen {
        Some((_, words)) => bench.printer.text(words)?,
        None => bench.printer.line("no skill may be applied: kopt check says why")?,
    }
    let legal: Vec<_> = survey
        .legal
        .iter()
        .map(|l| {
            json!({
                "direction": l.direction, "skill": l.skill, "firmness": l.firmness, "risk": l.risk, "effect": l.effect,
            })
        })
        .collect();
    let choice = chosen.map(|(choice, _)| choice);
    bench.printer.json(&json!({ "schema": "kopt/optimize-dry-run/1", "legal": legal, "choice": choice }))?;
    Ok(exit)
}

/// An error of the journal with its code and what to do.
fn trouble(error: &JournalError) -> Failure {
    let (code, next) = match error {
        JournalError::Io(..) => (701, "see that folder and disk can be written, and run again with --resume"),
        JournalError::Busy(_) => (703, "wait for the other run, or give another --out"),
        JournalError::There(_) => (704, "--resume goes on with it; --out begins another"),
        JournalError::Other { .. } | JournalError::Order(..) => (705, "give another --out to begin anew"),
        JournalError::Version(..) | JournalError::Foreign(_) => (706, "give another --out"),
    };
    Failure::usage(code, error.to_string(), next)
}
