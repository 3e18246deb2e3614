//! `kopt why FILE:LINE SKILL`: every condition at one line, with what would make it hold.

use std::path::PathBuf;

use kopt::contract;
use kopt::skill::Skill;
use kopt::skill::engine::survey::{Finding, FindingKind, SiteResult};
use kopt::skill::engine::{Judged, Payoff, Verdict};
use kopt::skill::print;
use kopt::source::Sources;
use serde_json::json;

use super::exit::{Exit, Failure};
use super::options::{Global, Reading};
use super::printer::Printer;
use super::session::Session;
use super::{apply, json};

#[derive(clap::Args)]
pub struct Args {
    /// Where, such as src/softmax.cu:42
    #[arg(value_name = "FILE:LINE")]
    pub place: String,
    /// The skill
    #[arg(value_name = "SKILL")]
    pub skill: String,
    #[command(flatten)]
    pub reading: Reading,
}

pub fn run(args: &Args, global: &Global, printer: &mut Printer) -> Result<Exit, Failure> {
    let (path, line) = place(&args.place)?;
    let session = Session::open(global, &args.reading, &[path])?;
    at_line(&session, line, &args.skill, printer)
}

/// Splits `FILE:LINE`; the line is what stands behind the last colon.
fn place(text: &str) -> Result<(PathBuf, u32), Failure> {
    let split = text.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok().filter(|n| *n > 0)?)));
    match split {
        Some((file, line)) if !file.is_empty() => Ok((file.into(), line)),
        _ => Err(Failure::usage(545, format!("`{text}` is no place"), "write FILE:LINE, such as src/softmax.cu:42")),
    }
}

fn at_line(session: &Session, line: u32, name: &str, printer: &mut Printer) -> Result<Exit, Failure> {
    let (here, near) = show(session, line, name, printer)?;
    let sources = session.sources();
    let file = session.loaded.requested.first().map(|f| sources.get(*f).name.clone());
    printer.json(&json!({
        "schema": "kopt/why/1", "skill": name, "file": file, "line": line,
        "findings": here.iter().map(|f| json::finding(sources, f)).collect::<Vec<_>>(),
        "nearest_lines": near,
    }))?;
    Ok(Exit::Done)
}

/// The account for people; gives the findings of the line, and the nearest lines where there are none.
pub fn show(
    session: &Session,
    line: u32,
    name: &str,
    printer: &mut Printer,
) -> Result<(Vec<Finding>, Vec<u32>), Failure> {
    let skill = session.skill(name)?;
    let Some(&file) = session.loaded.requested.first() else {
        return Err(Failure::usage(545, "no file was read", "name a file"));
    };
    let span = apply::line_span(session, file, line)?;
    let findings: Vec<Finding> = session.survey(&[skill]).into_iter().filter(|f| f.span.file == file).collect();
    let here: Vec<Finding> = findings.iter().filter(|f| touches(f, span)).cloned().collect();
    let sources = session.sources();
    for f in &here {
        printer.text(&describe(sources, f))?;
    }
    if !here.is_empty() {
        return Ok((here, vec![]));
    }
    nothing_here(session, skill, line, &findings, printer)?;
    let near = nearest(sources, &findings, line).into_iter().map(|f| line_of(sources, f)).collect();
    Ok((here, near))
}

/// Whether the place, or a member of its group, begins or stands on the line. A loop is on the lines of its header.
fn touches(f: &Finding, line: kopt::source::Span) -> bool {
    let begins = |s: kopt::source::Span| line.start <= s.start && s.start < line.end.max(line.start + 1);
    begins(f.span) || f.members.iter().any(|m| begins(*m) || m.overlaps(line))
}

fn line_of(sources: &Sources, f: &Finding) -> u32 {
    sources.get(f.span.file).lines.line_of(f.span.start as usize)
}

fn nearest<'f>(sources: &Sources, findings: &'f [Finding], line: u32) -> Vec<&'f Finding> {
    let mut list: Vec<&Finding> = findings.iter().collect();
    list.sort_by_key(|f| (line_of(sources, f).abs_diff(line), f.span));
    list.truncate(3);
    list
}

fn nothing_here(
    session: &Session,
    skill: &Skill,
    line: u32,
    findings: &[Finding],
    printer: &mut Printer,
) -> Result<(), Failure> {
    let name = &skill.name.node;
    printer.line(format!("{name} finds nothing to act on at line {line}."))?;
    let forms: Vec<String> = skill.bindings.iter().map(print::print_binding).collect();
    printer.line(format!("It looks for: {}", forms.join("; ")))?;
    if !kopt::skill::engine::survey::in_scope(skill, session.platform()) {
        printer.line("It is not meant for the architecture that was given.")?;
    }
    let sources = session.sources();
    let near = nearest(sources, findings, line);
    if near.is_empty() {
        printer.line("There is no such place in this file.")?;
    }
    for f in near {
        let outcome = heading(f);
        printer.line(format!("  line {}: {} in {}: {outcome}", line_of(sources, f), f.place.surface(), f.function))?;
    }
    Ok(())
}

fn heading(f: &Finding) -> String {
    match &f.kind {
        FindingKind::Applies { result, payoff, .. } => {
            let how = match result {
                SiteResult::Proved => "applies, proved".to_owned(),
                SiteResult::Assumed(ids) => format!("applies if {}", apply::assumed(ids)),
                SiteResult::Unverified => "applies; the result is for the gate to judge".to_owned(),
            };
            let pays = match payoff {
                Payoff::Expected(reasons) => format!("expected to pay: {}", reasons.join("; ")),
                Payoff::NotExpected(why) => format!("not expected to pay: {why}"),
                Payoff::Unknown(why) => format!("payoff unknown: {why}"),
            };
            format!("{how}; {pays}")
        }
        FindingKind::Refused { failed, .. } => format!("refused, {} failed", count(failed.len(), "condition")),
        FindingKind::Feature { name, missing: true } => format!("needs `{name}` first"),
        FindingKind::Feature { name, missing: false } => format!("in conflict with `{name}`, which is there"),
    }
}

fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// All of one finding: heading, then each condition with verdict, witness, what it rests on, what would mend it.
pub fn describe(sources: &Sources, f: &Finding) -> String {
    let file = sources.get(f.span.file);
    let at = file.lines.position(&file.text, f.span.start as usize);
    let mut out = format!(
        "{}:{}:{}: {} on {} {} of {}\n  {}\n",
        file.name,
        at.line,
        at.column,
        f.skill,
        f.place.surface(),
        f.place.ordinal(),
        f.function,
        heading(f)
    );
    let mut all: Vec<&Judged> = match &f.kind {
        FindingKind::Applies { conditions, excluded, .. } => conditions.iter().chain(excluded).collect(),
        FindingKind::Refused { failed, held } => failed.iter().chain(held).collect(),
        FindingKind::Feature { .. } => vec![],
    };
    all.sort_by_key(|j| (j.index, j.member));
    for judged in all {
        out += &condition(sources, judged);
    }
    out.push('\n');
    out
}

fn condition(sources: &Sources, judged: &Judged) -> String {
    let line = |span: kopt::source::Span| sources.get(span.file).lines.line_of(span.start as usize);
    let member =
        judged.member.map_or_else(String::new, |m| format!(" for `{}` (line {})", sources.slice(m.span), line(m.span)));
    let mut out = format!("  {:8} [{}] {}{member}\n", judged.verdict.word(), judged.group, judged.text);
    let mut say = |what: &str, text: &str| {
        if !text.is_empty() {
            out += &format!("           {what}: {text}\n");
        }
    };
    let places: &[(kopt::source::Span, String)] = match &judged.verdict {
        Verdict::Violated(witness) => {
            say("witness", &witness.text);
            &witness.at
        }
        Verdict::Unknown { reason, at, next } => {
            say("why", reason);
            say("next", next.as_deref().unwrap_or(""));
            at
        }
        Verdict::Guarded { policy, code } => {
            let test = code.as_ref().map_or_else(|| "the remainder runs the original loop".into(), |c| c.text.clone());
            say(policy.as_str(), &test);
            &[]
        }
        Verdict::Proved | Verdict::Assumed(_) => &[],
    };
    for (span, text) in places.iter().take(4) {
        say("see", &format!("line {}: {text}", line(*span)));
    }
    if !judged.verdict.holds() {
        say("needed because", &judged.reason);
    }
    for id in judged.because.contract_assumptions() {
        say("assumes", contract::describe(id).unwrap_or(id));
    }
    for (span, text) in judged.because.spans().iter().take(4) {
        say("from", &format!("line {}: {}", line(*span), if text.is_empty() { sources.slice(*span) } else { text }));
    }
    out
}

/// The line of the first place in `function` that the skill looks at.
pub fn line_in(session: &Session, skill: &str, function: &str) -> Option<u32> {
    let findings = session.survey(&[session.library.get(skill)?]);
    findings.iter().find(|f| f.function == function).map(|f| line_of(session.sources(), f))
}
