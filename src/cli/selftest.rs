//! `kopt gate selftest`: kernels that are wrong on purpose must be refused, and right ones must pass.

use clap::{Args as ClapArgs, Subcommand};
use kopt::contract::{Cell, Distribution};
use kopt::diag::{Code, Diagnostic};
use kopt::gate::selftest::{CASES, Case, DEVICE_ONLY, Expected, ON_DEVICE};
use kopt::gate::{self, Settings, Verdict};
use kopt::report;
use rayon::prelude::*;
use serde_json::{Value, json};

use super::bundle;
use super::device::{Device, On};
use super::exit::{Exit, Failure};
use super::fuzz;
use super::gate as compile_gate;
use super::honesty;
use super::options::Global;
use super::printer::Printer;
use super::verify::timing::Timing;
use super::verify::{Choice, Opened, Running, device};

#[derive(ClapArgs)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Attack the gate with kernels that are wrong on purpose
    Selftest(Selftest),
    /// Rewrite random kernels with every skill and pair of skills, and compare
    Fuzz(fuzz::Args),
    /// Assert every proved fact against what the interpreter executes
    Honesty(honesty::Args),
    /// Compile candidates for a machine that has a GPU and no compiler
    Bundle(bundle::Make),
    /// Judge the candidates of a bundle
    Run(bundle::Judge),
    /// Read results of a bundle, as far as they speak of the files that are here
    Ingest(bundle::Ingest),
}

#[derive(ClapArgs, Clone)]
struct Selftest {
    /// Only cases whose name contains this
    #[arg(value_name = "PART")]
    only: Option<String>,
    /// Seeds and odd sizes follow from it
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The architecture to compile for
    #[arg(long, value_name = "sm_80")]
    arch: Option<String>,
    /// Where they are run; what the interpreter refuses is not run on a GPU with `both`
    #[arg(long, value_enum, default_value = "emulator", value_name = "WHERE")]
    on: On,
    #[command(flatten)]
    place: Device,
}

/// Faults that a GPU must show by itself: wrong values, and elements that were not written.
const SHOWN_ON_A_GPU: [u16; 2] = [650, 656];
/// The word for a case for which the GPU has not enough memory.
const NOT_RUN: &str = "not-run";
/// Seconds for a run on the GPU: kernels here are small or never end.
const LIMIT: u64 = 10;

/// What the gate said of one case.
struct Said {
    case: &'static Case,
    verdict: String,
    codes: Vec<u16>,
    first: String,
    as_expected: bool,
    /// Whether what is wrong with it was seen; where a GPU alone need not show it, it may not be.
    seen: bool,
}

pub fn run(args: &Args, global: &Global, printer: &mut Printer) -> Result<Exit, Failure> {
    match &args.command {
        Command::Selftest(args) => attack(args, printer),
        Command::Fuzz(args) => fuzz::run(args, printer),
        Command::Honesty(args) => honesty::run(args, global, printer),
        Command::Bundle(args) => bundle::make(args, global, printer),
        Command::Run(args) => bundle::judge(args, global, printer),
        Command::Ingest(args) => bundle::ingest(args, global, printer),
    }
}

fn attack(args: &Selftest, printer: &mut Printer) -> Result<Exit, Failure> {
    let chosen: Vec<&'static Case> =
        CASES.iter().filter(|c| args.only.as_ref().is_none_or(|part| c.name.contains(part.as_str()))).collect();
    let mut args =
        Selftest { place: Device { gpu_limit: args.place.gpu_limit.min(LIMIT), ..args.place.clone() }, ..args.clone() };
    if args.on != On::Emulator && args.arch.is_none() {
        args.arch = Some(args.place.arch()?);
    }
    let args = &args;
    let wanted =
        |(c, _): &&(Case, Option<(&str, i64)>)| args.only.as_ref().is_none_or(|part| c.name.contains(part.as_str()));
    let on_device: Vec<_> = ON_DEVICE.iter().filter(|_| args.on != On::Emulator).filter(wanted).collect();
    if chosen.is_empty() && on_device.is_empty() {
        let message = format!("no case is called `{}`", args.only.as_deref().unwrap_or(""));
        return Err(Failure::usage(662, message, "kopt gate selftest"));
    }
    // On a GPU one after the other: a kernel that never ends would take the others' time.
    let mut said: Vec<Said> = match args.on {
        On::Emulator => chosen.par_iter().map(|c| of_case(c, None, args)).collect::<Result<_, Failure>>()?,
        _ => chosen.iter().map(|c| of_case(c, None, args)).collect::<Result<_, Failure>>()?,
    };
    for (case, size) in on_device {
        said.push(of_case(case, *size, args)?);
    }
    for s in &said {
        let mark = match (s.as_expected, s.seen) {
            (true, true) => "ok  ",
            (true, false) => "----",
            (false, _) => "FAIL",
        };
        let expected = match s.case.expected {
            Expected::Refused(_) => "refused",
            Expected::Passed(_) => "passed",
        };
        let line = format!("{mark} {:<30} {:<8} {}", s.case.name, s.verdict_word(), s.first);
        printer.line(line.trim_end())?;
        if !s.as_expected {
            printer.line(format!("     {}: it should be {expected}", s.case.what))?;
        }
    }
    let wrong = said.iter().filter(|s| !s.as_expected).count();
    let (bad, good): (Vec<&Said>, Vec<&Said>) =
        said.iter().partition(|s| matches!(s.case.expected, Expected::Refused(_)));
    printer.line(format!(
        "\n{} of {} wrong kernels refused, {} of {} right ones passed",
        bad.iter().filter(|s| s.as_expected && s.seen).count(),
        bad.len(),
        good.iter().filter(|s| s.as_expected).count(),
        good.len()
    ))?;
    if args.on == On::Gpu {
        printer
            .line("----: a GPU alone does not show what is wrong with it (the interpreter does), or it was not run")?;
    } else {
        printer.line("not seen by the interpreter:")?;
        for text in DEVICE_ONLY {
            printer.line(format!("  - {text}"))?;
        }
    }
    printer.json(&document(&said))?;
    if wrong > 0 {
        let d = Diagnostic::error(Code(662), format!("the gate is wrong about {wrong} of its own kernels"));
        return Err(Failure::new(Exit::Verification, d.next("do not trust this build; report it")));
    }
    Ok(Exit::Done)
}

impl Said {
    fn verdict_word(&self) -> &str {
        if self.verdict == "failed" { "refused" } else { &self.verdict }
    }
}

fn document(said: &[Said]) -> Value {
    let one = |s: &Said| {
        let (expected, what) = match s.case.expected {
            Expected::Refused(codes) => ("refused", json!(codes.iter().map(|c| Code(*c)).collect::<Vec<_>>())),
            Expected::Passed(word) => ("passed", json!([word])),
        };
        json!({
            "name": s.case.name, "what": s.case.what, "expected": expected, "one_of": what, "verdict": s.verdict,
            "codes": s.codes.iter().map(|c| Code(*c)).collect::<Vec<_>>(), "as_expected": s.as_expected, "first": s.first,
        })
    };
    json!({
        "schema": "kopt/gate-selftest/1", "passed": said.iter().all(|s| s.as_expected),
        "cases": said.iter().map(one).collect::<Vec<_>>(), "device_only": DEVICE_ONLY,
    })
}

/// Runs one case. A missing compiler ends the whole run; everything else is an answer.
fn of_case(case: &'static Case, size: Option<(&str, i64)>, args: &Selftest) -> Result<Said, Failure> {
    let (verdict, codes, first) = match judge(case, size, args) {
        Ok(answer) => answer,
        Err(Failure::Said { exit: Exit::TierMissing, problems, sources }) => {
            return Err(Failure::Said { exit: Exit::TierMissing, problems, sources });
        }
        Err(Failure::Said { exit, problems, .. }) => {
            let word = if exit == Exit::Verification { "failed" } else { "error" };
            let first = problems.first().map(|d| d.message.clone()).unwrap_or_default();
            (word.to_owned(), problems.iter().map(|d| d.code.0).collect(), first)
        }
        Err(quiet) => return Err(quiet),
    };
    let refused = matches!(verdict.as_str(), "failed" | "error");
    let (as_expected, seen) = match case.expected {
        _ if verdict == NOT_RUN => (true, false),
        Expected::Refused(list) if args.on == On::Gpu => {
            // A GPU gives one fault several names: what is read past the end may end a kernel.
            (refused || !list.iter().any(|c| SHOWN_ON_A_GPU.contains(c)), refused)
        }
        // What says nothing of such a candidate refuses it, too.
        Expected::Refused(list) => (refused && codes.iter().any(|c| list.contains(c)), refused),
        // Atomics of a GPU come in another order each time.
        Expected::Passed(word) if args.on == On::Gpu => (verdict == word || verdict == "within-tolerance", true),
        Expected::Passed(word) => (verdict == word, true),
    };
    Ok(Said { case, verdict, codes, first, as_expected, seen })
}

type Answer = (String, Vec<u16>, String);

fn judge(case: &Case, size: Option<(&str, i64)>, args: &Selftest) -> Result<Answer, Failure> {
    let arch = args.arch.as_deref().unwrap_or(compile_gate::DEFAULT_ARCH);
    let running = Running { seed: args.seed, arch: Some(arch.to_owned()), ..Running::default() };
    let mut original = Opened::of_text("original.cu", case.original, arch);
    let mut candidate = Opened::of_text("candidate.cu", case.candidate, arch);
    let settled = original.settle(&running, None)?;
    let adopted = candidate.adopt(&original, &settled.plan, Choice::default())?;
    let before = original.build(&settled.plan).map_err(|u| u.failure(Exit::Inconclusive, original.sources()))?;
    let after = candidate.build(&adopted.plan).map_err(|u| u.failure(Exit::Verification, candidate.sources()))?;
    original.unfilled(&before)?;
    candidate.unfilled(&after)?;
    let settings =
        Settings { seed: args.seed, least_patience: 1 << 15, pairs: 10, steps: 1 << 19, ..Settings::default() };
    let outcome = match args.on {
        On::Gpu => device::not_asked(),
        On::Emulator | On::Both => gate::verify_pair(&before.side, &after.side, &settings),
    };
    let problems = |cells: &[gate::CellResult]| -> Vec<Diagnostic> {
        gate::faults(cells).into_iter().map(|(c, f)| report::fault(candidate.sources(), c, f)).collect()
    };
    let mut found = answer(&outcome.verdict, problems(&outcome.cells), || report::sentence(&outcome));
    if args.on == On::Emulator || outcome.verdict == Verdict::Failed {
        return Ok(found);
    }
    let seen = device::compare(&args.place, None, &before, &after, &outcome, &settings)?;
    let there = answer(&seen.verdict, problems(&seen.cells), || format!("on the GPU: {}", seen.verdict.word()));
    // With both tiers, bits that the interpreter found equal may come in another order on a GPU.
    if args.on == On::Gpu || !matches!(seen.verdict, Verdict::EqualBits { .. } | Verdict::WithinTolerance { .. }) {
        found = there;
    }
    if let Some(size) = size {
        let faults = match Timing::at_size(&args.place, (&before, &after), size, &settings)? {
            Ok(faults) => faults,
            Err(why) => return Ok((NOT_RUN.to_owned(), vec![], format!("{} = {}: {why}", size.0, size.1))),
        };
        if !faults.is_empty() {
            let cell = Cell::new([(size.0.to_owned(), size.1)].into(), Distribution::Normal, args.seed);
            let problems = faults.iter().map(|f| report::fault(candidate.sources(), &cell, f)).collect();
            found = answer(&Verdict::Failed, problems, String::new);
        }
    }
    Ok(found)
}

fn answer(verdict: &Verdict, problems: Vec<Diagnostic>, sentence: impl FnOnce() -> String) -> Answer {
    let first = match verdict {
        Verdict::Failed => problems.first().map(|d| d.message.clone()).unwrap_or_default(),
        _ => sentence(),
    };
    (verdict.word().to_owned(), problems.iter().map(|d| d.code.0).collect(), first)
}
