//! `kopt gate selftest`: kernels that are wrong on purpose must be refused, and right ones must pass.

use clap::{Args as ClapArgs, Subcommand};
use kopt::diag::{Code, Diagnostic};
use kopt::gate::selftest::{CASES, Case, DEVICE_ONLY, Expected};
use kopt::gate::{self, Settings, Verdict};
use kopt::report;
use rayon::prelude::*;
use serde_json::{Value, json};

use super::exit::{Exit, Failure};
use super::fuzz;
use super::gate as compile_gate;
use super::honesty;
use super::options::Global;
use super::printer::Printer;
use super::verify::{Choice, Opened, Running};

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
}

#[derive(ClapArgs)]
struct Selftest {
    /// Only cases whose name contains this
    #[arg(value_name = "PART")]
    only: Option<String>,
    /// Seeds and odd sizes follow from it
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The architecture to compile for
    #[arg(long, value_name = "sm_80", default_value = compile_gate::DEFAULT_ARCH)]
    arch: String,
}

/// What the gate said of one case.
struct Said {
    case: &'static Case,
    verdict: String,
    codes: Vec<u16>,
    first: String,
    as_expected: bool,
}

pub fn run(args: &Args, global: &Global, printer: &mut Printer) -> Result<Exit, Failure> {
    match &args.command {
        Command::Selftest(args) => attack(args, printer),
        Command::Fuzz(args) => fuzz::run(args, printer),
        Command::Honesty(args) => honesty::run(args, global, printer),
    }
}

fn attack(args: &Selftest, printer: &mut Printer) -> Result<Exit, Failure> {
    let chosen: Vec<&'static Case> =
        CASES.iter().filter(|c| args.only.as_ref().is_none_or(|part| c.name.contains(part.as_str()))).collect();
    if chosen.is_empty() {
        let message = format!("no case is called `{}`", args.only.as_deref().unwrap_or(""));
        return Err(Failure::usage(662, message, "kopt gate selftest"));
    }
    let said: Vec<Said> = chosen.par_iter().map(|c| of_case(c, args)).collect::<Result<_, Failure>>()?;
    for s in &said {
        let mark = if s.as_expected { "ok  " } else { "FAIL" };
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
        bad.iter().filter(|s| s.as_expected).count(),
        bad.len(),
        good.iter().filter(|s| s.as_expected).count(),
        good.len()
    ))?;
    printer.line("not seen by this tier:")?;
    for text in DEVICE_ONLY {
        printer.line(format!("  - {text}"))?;
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
fn of_case(case: &'static Case, args: &Selftest) -> Result<Said, Failure> {
    let running = Running { seed: args.seed, arch: Some(args.arch.clone()), ..Running::default() };
    let (verdict, codes, first) = match judge(case, &running) {
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
    let as_expected = match case.expected {
        // What says nothing of such a candidate refuses it, too.
        Expected::Refused(list) => {
            matches!(verdict.as_str(), "failed" | "error") && codes.iter().any(|c| list.contains(c))
        }
        Expected::Passed(word) => verdict == word,
    };
    Ok(Said { case, verdict, codes, first, as_expected })
}

fn judge(case: &Case, running: &Running) -> Result<(String, Vec<u16>, String), Failure> {
    let arch = running.arch.as_deref().unwrap_or(compile_gate::DEFAULT_ARCH);
    let mut original = Opened::of_text("original.cu", case.original, arch);
    let mut candidate = Opened::of_text("candidate.cu", case.candidate, arch);
    let settled = original.settle(running, None)?;
    let adopted = candidate.adopt(&original, &settled.plan, Choice::default())?;
    let before = original.build(&settled.plan).map_err(|u| u.failure(Exit::Inconclusive, original.sources()))?;
    let after = candidate.build(&adopted.plan).map_err(|u| u.failure(Exit::Verification, candidate.sources()))?;
    original.unfilled(&before)?;
    candidate.unfilled(&after)?;
    let outcome = gate::verify_pair(
        &before.side,
        &after.side,
        &Settings { seed: running.seed, least_patience: 1 << 15, pairs: 10, steps: 1 << 19, ..Settings::default() },
    );
    let problems: Vec<Diagnostic> =
        gate::faults(&outcome.cells).into_iter().map(|(c, f)| report::fault(candidate.sources(), c, f)).collect();
    let first = match &outcome.verdict {
        Verdict::Failed => problems.first().map(|d| d.message.clone()).unwrap_or_default(),
        _ => report::sentence(&outcome),
    };
    Ok((outcome.verdict.word().to_owned(), problems.iter().map(|d| d.code.0).collect(), first))
}
