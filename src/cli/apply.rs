//! `kopt apply`: rewrites; shows a diff unless told to write.

use std::path::PathBuf;

use clap::ValueEnum;
use kopt::diag::{Code, Diagnostic};
use kopt::ir::Program;
use kopt::skill::Skill;
use kopt::skill::ast::GuardPolicy;
use kopt::skill::engine::run::{self, Change, Outcome, Request};
use kopt::skill::engine::survey::{FindingKind, SiteResult};
use kopt::skill::engine::{Payoff, features, report, survey};
use kopt::source::{FileId, SourceFile, Span};
use serde_json::{Value, json};

use super::emulate::{self, Emulated};
use super::exit::{Exit, Failure};
use super::gate::{self, Checked, Gate};
use super::options::{Global, Reading};
use super::output::{self, FileResult, Target};
use super::printer::Printer;
use super::session::Session;
use super::{json, locked, write};

#[derive(clap::Args)]
pub struct Args {
    /// Files and folders
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// The skills to apply, in this order
    #[arg(long, value_name = "NAME", required_unless_present = "locked", num_args = 1)]
    pub skill: Vec<String>,
    /// Only where a surface meets this line of the (one) file
    #[arg(long, value_name = "LINE")]
    pub at: Option<u32>,
    /// Also where it is sound but not expected to pay
    #[arg(long)]
    pub even_if_not_paying: bool,
    /// No failure when a skill changes nothing
    #[arg(long)]
    pub allow_refusal: bool,
    /// Whether results are compiled and run beside the original in the emulator
    #[arg(long, value_enum, default_value_t = Verify::Auto)]
    pub verify: Verify,
    #[command(flatten)]
    pub output: output::Destination,
    /// Replay the edits recorded in kopt.lock, after judging their conditions again
    #[arg(long, conflicts_with_all = ["skill", "at", "even_if_not_paying"])]
    pub locked: bool,
    #[command(flatten)]
    pub reading: Reading,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Verify {
    /// Compile when there is a compiler, and run where a contract is there or complete by inference
    Auto,
    /// Neither compile nor run
    None,
    /// Compile, and fail without a compiler
    Compile,
    /// Compile and run; what cannot be run is inconclusive
    Emulator,
}

impl Verify {
    fn runs(self) -> bool {
        matches!(self, Verify::Auto | Verify::Emulator)
    }
}

pub fn run(args: &Args, global: &Global, printer: &mut Printer) -> Result<Exit, Failure> {
    if args.output.emit.is_some() {
        printer.silence();
    }
    let mut session = Session::open(global, &args.reading, &args.paths)?;
    session.permit_named(&args.skill);
    let session = session;
    if args.locked {
        return locked::run(args, &session, printer);
    }
    let target = Target::of(&args.output, &session)?;
    let outcome = rewrite(&session, args, printer)?;
    let (gate, compile) = compiler(args.verify, &session)?;
    let files = results(&session, &outcome, gate.as_ref());
    let compiles = !files.iter().any(FileResult::fails);
    let emulated = match args.verify.runs() && gate.is_some() && compiles {
        true => emulate::results(&session, &outcome, &files),
        false => vec![],
    };
    show(&session, args, &outcome, &files, &compile, printer)?;
    emulate::show(&emulated, args.verify, gate.is_some(), &outcome, printer)?;
    let failed = !compiles || emulated.iter().any(|e| e.failed);
    let mut exit = exit(args, &session, &outcome, &files, printer)?;
    if exit == Exit::Done && args.verify == Verify::Emulator && emulated.iter().any(|e| !e.ran) {
        exit = Exit::Inconclusive;
    }
    if !failed {
        let mut toolchain = gate.as_ref().map_or_else(|| "not run".to_owned(), Gate::toolchain);
        if let Some(first) = emulated.first() {
            let all: Vec<String> = match emulated.as_slice() {
                [_] => vec![first.line()],
                list => list.iter().map(|e| format!("{}: {}", e.file, e.line())).collect(),
            };
            toolchain += &format!("; emulator: {}", all.join("; "));
        }
        target.write(&session, &outcome, &files, &toolchain, printer)?;
    } else {
        exit = Exit::Verification;
    }
    printer.json(&document(&session, &outcome, &files, &compile, &emulated, &target, exit))?;
    Ok(exit)
}

/// Runs the engine on what the user asked for.
pub fn rewrite(session: &Session, args: &Args, printer: &mut Printer) -> Result<Outcome, Failure> {
    let skills: Vec<&Skill> = args.skill.iter().map(|n| session.skill(n)).collect::<Result<_, _>>()?;
    let loaded = &session.loaded;
    let parse = |file: FileId, source: &SourceFile| loaded.parse(file, source);
    let passes = kopt::pass::builtin();
    let request = Request {
        skills: &skills,
        assumptions: &session.assumptions,
        platform: session.platform(),
        passes: &passes,
        at: at(session, args.at)?,
        files: loaded.requested.clone(),
        even_if_not_paying: args.even_if_not_paying,
        parse: &parse,
    };
    run::apply(&loaded.program, loaded.sources(), &request).map_err(|e| {
        let mut d = Diagnostic::error(report::NO_END, "the skills do not come to an end; nothing was written");
        d.notes = e.cycle;
        printer.progress("");
        Failure::new(Exit::Usage, d.next("apply the skills one at a time"))
    })
}

fn at(session: &Session, line: Option<u32>) -> Result<Vec<Span>, Failure> {
    let Some(line) = line else { return Ok(vec![]) };
    let [file] = session.loaded.requested.as_slice() else {
        return Err(Failure::usage(545, "`--at` needs exactly one file", "kopt apply --skill NAME --at LINE FILE"));
    };
    line_span(session, *file, line).map(|s| vec![s])
}

/// The bytes of one line.
pub fn line_span(session: &Session, file: FileId, line: u32) -> Result<Span, Failure> {
    let source = session.sources().get(file);
    let Some(start) = source.lines.start_of(line) else {
        let message = format!("{} has {} lines; line {line} is none of them", source.name, source.lines.count());
        return Err(Failure::usage(545, message, "lines count from 1"));
    };
    let end = source.lines.start_of(line.saturating_add(1)).unwrap_or(source.text.len());
    Ok(Span::new(file, start, end.max(start)))
}

/// The gate, and what the output says of it.
pub fn compiler(verify: Verify, session: &Session) -> Result<(Option<Gate>, String), Failure> {
    if verify == Verify::None {
        return Ok((None, "not run (--verify none)".into()));
    }
    let flags = &session.config.nvcc_flags;
    let gate = Gate::find(&session.loaded.project, &session.include, &session.define, flags, session.arch.as_deref());
    match gate {
        Some(gate) => {
            let mut text = format!("{}, {}", gate.toolchain(), gate.arch());
            if !gate.not_honoured.is_empty() {
                text += &format!("; not honoured: {}", gate.not_honoured.join(" "));
            }
            Ok((Some(gate), text))
        }
        None if matches!(verify, Verify::Compile | Verify::Emulator) => {
            let d = Diagnostic::error(
                Code(546),
                "`--verify compile` and `emulator` need a CUDA compiler, and there is none",
            );
            Err(Failure::new(Exit::TierMissing, d.next("kopt toolchain install")))
        }
        None => Ok((None, "not run (no CUDA compiler; `kopt toolchain install` brings one)".into())),
    }
}

/// What became of each file that was asked for.
pub fn results(session: &Session, outcome: &Outcome, gate: Option<&Gate>) -> Vec<FileResult> {
    let loaded = &session.loaded;
    let mut files = vec![];
    for &file in &loaded.requested {
        let (before, after) = (loaded.sources().get(file), outcome.sources.get(file));
        let changes: Vec<&Change> = outcome.changes.iter().filter(|c| c.file == file).collect();
        let checked = match gate {
            Some(gate) if !changes.is_empty() => compiled(gate, session, outcome, file, &changes),
            _ => vec![],
        };
        files.push(FileResult { file, before: before.clone(), after: after.clone(), checked });
    }
    files
}

fn compiled(gate: &Gate, session: &Session, outcome: &Outcome, file: FileId, changes: &[&Change]) -> Vec<Checked> {
    let program: &Program = &session.loaded.program;
    let (old, new) = (session.sources().get(file), outcome.sources.get(file));
    let pairs = gate::pairs(changes, (program, &old.text), (&outcome.program, &new.text), file);
    gate.check(file, new, &pairs, program, session.sources())
}

/// Refusals of one skill that are shown in full.
const SHOWN: usize = 3;

/// The account for people: changes, what was taken back, diffs, compile tables.
pub fn show(
    session: &Session,
    args: &Args,
    outcome: &Outcome,
    files: &[FileResult],
    compile: &str,
    printer: &mut Printer,
) -> Result<(), Failure> {
    for (i, change) in outcome.changes.iter().enumerate() {
        let line = original_line(session, &outcome.changes[..i], change);
        printer.text(&change_text(change, line))?;
    }
    for back in &outcome.rolled_back {
        printer.diagnostic(session.sources(), &report::rolled_back(back))?;
    }
    for name in args.skill.iter().filter(|n| !outcome.changes.iter().any(|c| &c.skill == *n)) {
        let why: Vec<_> =
            outcome.findings.iter().filter(|f| &f.skill == name && wanted(session, args, f.span)).collect();
        for f in why.iter().take(SHOWN) {
            printer.diagnostic(session.sources(), &report::finding(f))?;
        }
        if why.len() > SHOWN {
            let more = why.len() - SHOWN;
            printer.line(format!("{more} more places: kopt check --possible --skill {name}\n"))?;
        }
    }
    for file in files.iter().filter(|f| f.changed()) {
        printer.line("")?;
        printer.diff(&file.diff())?;
    }
    if outcome.changes.is_empty() {
        return Ok(());
    }
    printer.line("")?;
    printer.line(format!("compile: {compile}"))?;
    for file in files {
        printer.text(&gate::text(session.arch.as_deref().unwrap_or(gate::DEFAULT_ARCH), &file.checked))?;
        for checked in &file.checked {
            if let gate::Verdict::Fails { problems, sources } = &checked.verdict {
                for problem in problems {
                    printer.diagnostic(sources, problem)?;
                }
            }
        }
    }
    Ok(())
}

fn wanted(session: &Session, args: &Args, span: Span) -> bool {
    let requested = session.loaded.requested.contains(&span.file);
    requested && at(session, args.at).is_ok_and(|spans| spans.is_empty() || spans.iter().any(|s| s.overlaps(span)))
}

/// The line of the change in the text that the user has: back through the changes before it.
fn original_line(session: &Session, earlier: &[Change], change: &Change) -> u32 {
    let mut offset = i64::from(change.span.start);
    for before in earlier.iter().rev().filter(|c| c.file == change.file) {
        let mut shift = 0;
        for edit in &before.edits {
            let start = i64::from(edit.span.start) + shift;
            let growth = edit.text.len() as i64 - edit.span.len() as i64;
            if offset < start {
                break;
            }
            // Inside of what was written: the place that it was written for.
            if offset < start + edit.text.len() as i64 {
                offset = start.min(offset);
                break;
            }
            shift += growth;
        }
        offset -= shift;
    }
    session.sources().get(change.file).lines.line_of(usize::try_from(offset).unwrap_or(0))
}

/// What a result rests on, in words.
pub fn assumed(ids: &[String]) -> String {
    ids.iter().map(|id| kopt::contract::describe(id).unwrap_or(id)).collect::<Vec<_>>().join(", and ")
}

/// One change in a few lines: what, where, how sure, what it rests on.
pub fn change_text(change: &Change, line: u32) -> String {
    let how = match &change.result {
        SiteResult::Proved => "proved".to_owned(),
        SiteResult::Assumed(ids) => format!("sound if {}", assumed(ids)),
        SiteResult::Unverified => "conditions hold; the result differs within the error of the skill".to_owned(),
    };
    let also: Vec<String> =
        change.also.iter().map(|(_, s)| change.from.lines.line_of(s.start as usize).to_string()).collect();
    let lines = if also.is_empty() { String::new() } else { format!(" (and lines {})", also.join(", ")) };
    let mut text = format!("{}:{line}: {} in {}{lines}: {how}\n", change.from.name, change.skill, change.function);
    let pays = match &change.payoff {
        Payoff::Expected(reasons) => format!("expected: {}", reasons.join("; ")),
        Payoff::NotExpected(why) => format!("not expected: {why}"),
        Payoff::Unknown(why) => format!("unknown: {why}"),
    };
    text += &format!("  payoff {pays}\n");
    let count = |word: &str| change.conditions.iter().filter(|j| j.verdict.word() == word).count();
    let counts: Vec<String> =
        ["proved", "assumed", "guarded"].iter().filter(|w| count(w) > 0).map(|w| format!("{} {w}", count(w))).collect();
    text += &format!("  conditions: {}\n", counts.join(", "));
    let rests_on = kopt::lock::record::assumed(&change.conditions);
    if change.result == SiteResult::Unverified && !rests_on.is_empty() {
        text += &format!("  assumed: {}\n", assumed(&rests_on));
    }
    if let Some(guard) = &change.guard {
        text += &format!("  guard: {} on `{}`", guard.kind, guard.condition);
        text += &guard.instead.as_ref().map_or_else(String::new, |why| format!(" (no dispatch: {why})"));
        text.push('\n');
    }
    if change.conditions.iter().any(|j| j.guard() == Some(GuardPolicy::Tail)) {
        text += "  guard: the remainder runs the original loop\n";
    }
    for judged in &change.excluded {
        text += &format!("  left as it is: one access, because {} is {}\n", judged.text, judged.verdict.word());
    }
    text
}

fn exit(
    args: &Args,
    session: &Session,
    outcome: &Outcome,
    files: &[FileResult],
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let mut exit = Exit::Done;
    for name in &args.skill {
        if outcome.changes.iter().any(|c| &c.skill == name) {
            continue;
        }
        let skill = session.skill(name)?;
        if let Some(feature) = done_already(session, skill) {
            printer.line(format!("{name}: already done (`{feature}` is there)"))?;
            continue;
        }
        let not_paying = outcome.findings.iter().any(|f| {
            &f.skill == name && matches!(&f.kind, FindingKind::Applies { payoff: Payoff::NotExpected(_), .. })
        });
        let hint = if not_paying { "; --even-if-not-paying applies it all the same" } else { "" };
        printer.line(format!("{}: {name} changed nothing{hint}", Code(543)))?;
        if !args.allow_refusal {
            exit = Exit::Findings;
        }
    }
    let unchecked = files.iter().flat_map(|f| &f.checked).any(|c| matches!(c.verdict, gate::Verdict::NotChecked(_)));
    if exit == Exit::Done && matches!(args.verify, Verify::Compile | Verify::Emulator) && unchecked {
        exit = Exit::Inconclusive;
    }
    Ok(exit)
}

/// A feature that the skill provides and that is in the files already.
fn done_already(session: &Session, skill: &Skill) -> Option<String> {
    let program = &session.loaded.program;
    let wanted = |at: &kopt::ir::FunctionRef| session.loaded.requested.contains(&program.unit(at.unit).file);
    let functions: Vec<_> = survey::functions(program).into_iter().filter(wanted).collect();
    let names = skill.features.provides.iter().map(|f| &f.name.node);
    let is_there = |name: &&String| {
        functions.iter().any(|at| features::present(name, program, *at, program.function(*at).span) == Some(true))
    };
    names.into_iter().find(is_there).cloned()
}

fn document(
    session: &Session,
    outcome: &Outcome,
    files: &[FileResult],
    compile: &str,
    emulated: &[Emulated],
    target: &Target,
    exit: Exit,
) -> Value {
    let change = |(index, c): (usize, &Change)| {
        json!({
            "skill": c.skill, "function": c.function, "file": c.from.name,
            "line": original_line(session, &outcome.changes[..index], c),
            "surface": c.surface, "ordinal": c.ordinal,
            "result": kopt::lock::record::result_word(&c.result), "assumptions": assumptions(&c.result),
            "payoff": json::payoff(&c.payoff), "guard": c.guard,
            "conditions": c.conditions.iter().map(|j| json::condition(session.sources(), j)).collect::<Vec<_>>(),
        })
    };
    let file = |f: &FileResult| {
        json!({
            "file": f.before.name, "changed": f.changed(), "diff": f.diff(), "compile": gate::json(&f.checked),
            "emulator": emulated.iter().find(|e| e.file == f.before.name).map(Emulated::json),
        })
    };
    let sources = session.sources();
    json!({
        "schema": "kopt/apply/1",
        "changes": outcome.changes.iter().enumerate().map(change).collect::<Vec<_>>(),
        "files": files.iter().map(file).collect::<Vec<_>>(),
        "rolled_back":
            outcome.rolled_back.iter().map(|r| json::diagnostic(sources, &report::rolled_back(r))).collect::<Vec<_>>(),
        "findings": outcome.findings.iter().map(|f| json::finding(sources, f)).collect::<Vec<_>>(),
        "compile": compile,
        "written": target.is_written() && exit != Exit::Verification,
        "exit": exit as u8,
    })
}

fn assumptions(result: &SiteResult) -> &[String] {
    match result {
        SiteResult::Assumed(ids) => ids,
        _ => &[],
    }
}

/// Whether any of the files may not be written over.
pub fn refuse_dirty(session: &Session, files: &[FileResult], allow: bool) -> Result<(), Failure> {
    if allow {
        return Ok(());
    }
    let changed = files.iter().filter(|f| f.changed());
    let paths: Vec<PathBuf> = changed.filter_map(|f| session.loaded.paths.get(&f.file)).cloned().collect();
    write::refuse_dirty(&paths)
}
