//! `kopt gate fuzz`: random kernels through every skill and pair of skills.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args as ClapArgs;
use kopt::campaign::{self, BATCH, Failure as Found, Report, Skills};
use kopt::compile::{Cache, CompileGate, Toolchain, Worker};
use kopt::diag::{Code, Diagnostic};
use kopt::skill::Library;
use kopt::skill::ast::Skill;
use serde_json::json;

use super::exit::{Exit, Failure};
use super::printer::Printer;
use super::verify::WORKER;

#[derive(ClapArgs)]
pub struct Args {
    /// Seeds of the programs, the last one not included
    #[arg(long, value_name = "A..B", default_value = "0..240", value_parser = seeds)]
    seeds: std::ops::Range<u64>,
    /// Only this skill and what follows on it
    #[arg(long, value_name = "NAME")]
    skill: Option<String>,
    /// Take this condition of the skill away first: something should then fail
    #[arg(long, value_name = "NAME", requires = "skill")]
    without: Option<String>,
    /// Stop after so many minutes, at the end of a batch
    #[arg(long, value_name = "N")]
    minutes: Option<u64>,
    /// Write original and candidate of every failure here
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Programs that are tried to make one failure smaller
    #[arg(long, value_name = "N", default_value_t = 240)]
    shrink: usize,
    /// Stop after so many failures
    #[arg(long, value_name = "N", default_value_t = 20)]
    failures: usize,
}

fn seeds(text: &str) -> Result<std::ops::Range<u64>, String> {
    let (first, last) = text.split_once("..").ok_or("write `0..1000`")?;
    let number = |t: &str| t.trim().parse::<u64>().map_err(|e| format!("`{t}`: {e}"));
    let (first, last) = (number(first)?, number(last)?);
    if first < last { Ok(first..last) } else { Err("no seed lies in this range".to_owned()) }
}

pub fn run(args: &Args, printer: &mut Printer) -> Result<Exit, Failure> {
    let library =
        Library::built_in().map_err(|e| Failure::in_files(Exit::Usage, e.problems.clone(), e.sources.clone()))?;
    let mut list: Vec<Skill> = library.iter().map(|s| s.skill.clone()).collect();
    if let Some(name) = &args.skill {
        list.retain(|s| s.name.node == *name);
        if list.is_empty() {
            return Err(Failure::usage(669, format!("no skill is called `{name}`"), "kopt skills"));
        }
    }
    if let Some(condition) = &args.without {
        weaken(&mut list, condition)?;
    }
    let passes = kopt::pass::builtin();
    let skills = Skills { list: list.iter().collect(), passes: &passes };
    let gate = compiler()?;
    let started = Instant::now();
    let mut report = Report::default();
    let mut next = args.seeds.start;
    while next < args.seeds.end && report.failures.len() < args.failures {
        if args.minutes.is_some_and(|m| started.elapsed() >= Duration::from_secs(60 * m)) {
            break;
        }
        let end = (next + BATCH).min(args.seeds.end);
        report.join(campaign::run(next..end, &skills, &gate).map_err(no_compiler)?);
        next = end;
    }
    let seconds = started.elapsed().as_secs_f64();
    let mut small: Vec<Found> = vec![];
    for f in &report.failures {
        small.push(campaign::shrink::shrink(f, &skills, &gate, args.shrink).map_err(no_compiler)?);
    }
    report.failures = small;
    say(&report, args.seeds.start..next, seconds, printer)?;
    if let Some(folder) = &args.out {
        report.failures.iter().try_for_each(|f| write(folder, f))?;
    }
    printer.json(&json!({
        "schema": "kopt/gate-fuzz/1", "seeds": [args.seeds.start, next], "report": report,
    }))?;
    if report.failures.is_empty() {
        return Ok(Exit::Done);
    }
    let d = Diagnostic::error(Code(669), format!("{} random programs failed", report.failures.len()));
    Err(Failure::new(
        Exit::Verification,
        d.next("each is printed with its seed; do not trust this build, and report it"),
    ))
}

fn weaken(list: &mut [Skill], condition: &str) -> Result<(), Failure> {
    let mut gone = 0;
    for group in list.iter_mut().flat_map(|s| &mut s.require) {
        let before = group.conditions.len();
        group.conditions.retain(|c| !c.answers_to(condition));
        gone += before - group.conditions.len();
    }
    match gone {
        0 => Err(Failure::usage(669, format!("no condition of the skill is called `{condition}`"), "kopt skills show")),
        _ => Ok(()),
    }
}

fn compiler() -> Result<CompileGate, Failure> {
    let found = Toolchain::find();
    if found.nvrtc.is_none() {
        let d = Diagnostic::error(Code(410), "no compiler was found").next("kopt toolchain install");
        return Err(Failure::new(Exit::TierMissing, d));
    }
    let gate = CompileGate::new(found, Cache::none());
    Ok(match std::env::current_exe() {
        Ok(me) => gate.with_worker(Worker::new(me, vec![WORKER.into()], Duration::from_secs(120))),
        Err(_) => gate,
    })
}

fn no_compiler(error: kopt::compile::nvrtc::NvrtcError) -> Failure {
    Failure::new(Exit::TierMissing, Diagnostic::error(Code(415), error.to_string()).next("kopt doctor"))
}

fn say(report: &Report, seeds: std::ops::Range<u64>, seconds: f64, printer: &mut Printer) -> Result<(), Failure> {
    let rate = report.programs as f64 / seconds.max(1e-9);
    printer.line(format!(
        "{} programs (seeds {}..{}), {} rewritten versions, {} runs compared; {rate:.1} programs/s",
        report.programs, seeds.start, seeds.end, report.variants, report.runs
    ))?;
    let tables = [
        ("rewritten by", &report.fired),
        ("refused by", &report.refused),
        ("because of", &report.reasons),
        ("guards", &report.guards),
        ("taken back", &report.taken_back),
    ];
    for (title, table) in tables.into_iter().filter(|(_, t)| !t.is_empty()) {
        printer.heading(title)?;
        for (name, n) in table {
            printer.line(format!("{n:>7}  {name}"))?;
        }
    }
    let [new, old] = report.dispatched;
    printer.line(format!("a dispatch chose the rewritten kernel in {new} runs, the original in {old}"))?;
    for f in &report.failures {
        printer.heading(&format!("{} (seed {}, {})", f.kind, f.seed, f.skills.join(" + ")))?;
        printer.line(format!("{}\n{}\n--------\n{}", f.what, f.original, f.candidate))?;
    }
    Ok(())
}

fn write(folder: &Path, f: &Found) -> Result<(), Failure> {
    std::fs::create_dir_all(folder)?;
    let stem = format!("{}_{}_{}", f.kind, f.seed, f.skills.join("_"));
    std::fs::write(folder.join(format!("{stem}.cu")), &f.original)?;
    std::fs::write(folder.join(format!("{stem}.rewritten.cu")), &f.candidate)?;
    let what = format!("{}\nseed {}\nrecord {:?}\n", f.what, f.seed, f.record);
    Ok(std::fs::write(folder.join(format!("{stem}.txt")), what)?)
}
