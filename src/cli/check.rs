//! `kopt check`: where skills apply, where not, and why.

use std::path::PathBuf;

use kopt::config::FailOn;
use kopt::diag::{Code, Diagnostic};
use kopt::skill::engine::Payoff;
use kopt::skill::engine::report;
use kopt::skill::engine::survey::{Finding, FindingKind};
use serde_json::json;

use super::exit::{Exit, Failure};
use super::json;
use super::options::{Global, Reading};
use super::printer::Printer;
use super::session::Session;
use super::summary::{Modelled, Tally};

#[derive(clap::Args)]
pub struct Args {
    /// Files and folders
    #[arg(value_name = "PATH", default_value = ".")]
    pub paths: Vec<PathBuf>,
    /// Only these skills
    #[arg(long, value_name = "NAME")]
    pub skill: Vec<String>,
    /// Also places where a skill is refused or not expected to pay
    #[arg(long)]
    pub possible: bool,
    /// When to exit with 1
    #[arg(long, value_name = "LEVEL", value_parser = FailOn::WORDS)]
    pub fail_on: Option<String>,
    /// Exit with 4 when a kernel is not modelled
    #[arg(long)]
    pub strict: bool,
    /// Say how much was read
    #[arg(long)]
    pub stats: bool,
    #[command(flatten)]
    pub reading: Reading,
}

pub fn run(args: &Args, global: &Global, printer: &mut Printer) -> Result<Exit, Failure> {
    let session = Session::open(global, &args.reading, &args.paths)?;
    let fail_on = args.fail_on.as_deref().and_then(FailOn::from_word).or(session.config.fail_on).unwrap_or_default();
    let skills = match args.skill.as_slice() {
        [] => session.all_skills(),
        names => names.iter().map(|n| session.skill(n)).collect::<Result<_, _>>()?,
    };
    let findings = if args.possible { session.survey(&skills) } else { session.survey_in_brief(&skills) };
    let modelled = Modelled::of(&session.loaded.program, &session.loaded.requested);
    show(&session, &findings, &modelled, args, printer)?;
    let tallies: Vec<(String, Tally)> = skills.iter().map(|s| (s.name.node.clone(), Tally::of(s, &findings))).collect();
    if !findings.is_empty() {
        printer.heading("skills")?;
        let width = tallies.iter().map(|(n, _)| n.len()).max().unwrap_or(0);
        for (name, tally) in &tallies {
            printer.line(tally.line(name, width))?;
        }
    }
    let stats = session.loaded.stats;
    if args.stats {
        printer.line(format!(
            "read {} files, {} bytes; passed over {} files, {} bytes",
            stats.files_parsed, stats.bytes_parsed, stats.files_skipped, stats.bytes_skipped
        ))?;
    }
    if printer.is_json() {
        let shown: Vec<_> = findings
            .iter()
            .filter(|f| args.possible || is_shown(f))
            .map(|f| json::finding(session.sources(), f))
            .collect();
        let problems: Vec<_> = problems(&session).map(|d| json::diagnostic(session.sources(), d)).collect();
        printer.json(&json!({
            "schema": "kopt/check/1",
            "kernels": modelled.json(),
            "arch": session.arch,
            "problems": problems,
            "findings": shown,
            "skills": tallies.iter().map(|(n, t)| t.json(n)).collect::<Vec<_>>(),
            "stats": stats,
        }))?;
    }
    let exit = exit(args, fail_on, &modelled, &tallies);
    // The process ends next: giving a whole tree back piece by piece would only take time.
    std::mem::forget((session, findings));
    Ok(exit)
}

fn exit(args: &Args, fail_on: FailOn, modelled: &Modelled, tallies: &[(String, Tally)]) -> Exit {
    if args.strict && modelled.modelled < modelled.found {
        return Exit::NotModelled;
    }
    let fails = |t: &Tally| match fail_on {
        FailOn::Never => false,
        FailOn::Paying => t.paying > 0,
        FailOn::Applies => t.fires() + t.not_paying > 0,
    };
    if tallies.iter().any(|(_, t)| fails(t)) { Exit::Findings } else { Exit::Done }
}

/// What is shown without `--possible`: places where a skill applies and pays, or may pay.
pub fn is_shown(f: &Finding) -> bool {
    matches!(&f.kind, FindingKind::Applies { payoff: Payoff::Expected(_) | Payoff::Unknown(_), .. })
}

fn rank(f: &Finding) -> u8 {
    match &f.kind {
        FindingKind::Applies { payoff: Payoff::Expected(_), .. } => 0,
        FindingKind::Applies { payoff: Payoff::Unknown(_), .. } => 1,
        FindingKind::Applies { .. } => 2,
        FindingKind::Refused { .. } => 3,
        FindingKind::Feature { .. } => 4,
    }
}

fn problems(session: &Session) -> impl Iterator<Item = &Diagnostic> {
    let loaded = &session.loaded;
    let units = loaded.program.units.iter().filter(|u| loaded.requested.contains(&u.file));
    units.flat_map(|u| u.problems.iter()).chain(&loaded.problems)
}

fn show(
    session: &Session,
    findings: &[Finding],
    modelled: &Modelled,
    args: &Args,
    printer: &mut Printer,
) -> Result<(), Failure> {
    let sources = session.sources();
    printer.heading(&modelled.line())?;
    if session.loaded.requested.is_empty() {
        printer.line("no CUDA file was found: name a .cu file, or a folder that holds some")?;
    }
    printer.line("")?;
    let lost = Code(2);
    for problem in problems(session).filter(|p| args.possible || p.code != lost) {
        printer.diagnostic(sources, problem)?;
    }
    let mut shown: Vec<&Finding> = findings.iter().filter(|f| args.possible || is_shown(f)).collect();
    shown.sort_by_key(|f| rank(f));
    for f in shown {
        printer.diagnostic(sources, &report::finding(f))?;
        if let FindingKind::Applies { excluded, .. } = &f.kind {
            for judged in excluded.iter().take(if args.possible { usize::MAX } else { 0 }) {
                printer.diagnostic(sources, &report::excluded(f, judged))?;
            }
        }
    }
    let hidden = findings.iter().filter(|f| !is_shown(f)).count();
    if hidden > 0 && !args.possible {
        let places = if hidden == 1 { "place" } else { "places" };
        printer
            .line(format!("{hidden} more {places} where a skill is refused or not expected to pay: --possible\n"))?;
    }
    Ok(())
}
