//! Runs the examples and refusals that a skill file brings.

use kopt::contract;
use kopt::skill::Skill;
use kopt::skill::engine::run::{self, Request};
use kopt::skill::engine::survey::{Finding, FindingKind};
use kopt::skill::engine::{Judged, Payoff};
use kopt::source::{FileId, SourceFile};

use super::apply;
use super::gate::{Checked, Gate, Verdict};
use super::session::Session;

pub enum Outcome {
    Holds(String),
    Fails(String),
}

pub struct Case {
    /// `example` or `refuse`.
    pub kind: &'static str,
    pub title: String,
    pub outcome: Outcome,
    pub checked: Vec<Checked>,
}

/// Every case of the skill: an example must fire, and compile where there is a compiler; a refusal must name its
/// condition.
pub fn run(skill: &Skill, gate: Option<&Gate>) -> Vec<Case> {
    let examples = skill.examples.iter().map(|e| {
        let (outcome, checked) = match session(skill, &e.before.node, e.contract.as_ref().map(|c| c.node.as_str())) {
            Ok(session) => example(skill, &session, gate),
            Err(why) => (Outcome::Fails(why), vec![]),
        };
        Case { kind: "example", title: e.title.node.clone(), outcome, checked }
    });
    let refusals = skill.refusals.iter().map(|r| {
        let outcome = match session(skill, &r.before.node, r.contract.as_ref().map(|c| c.node.as_str())) {
            Ok(session) => refusal(skill, &session, &r.because.node),
            Err(why) => Outcome::Fails(why),
        };
        Case { kind: "refuse", title: r.title.node.clone(), outcome, checked: vec![] }
    });
    examples.chain(refusals).collect()
}

pub fn session(skill: &Skill, before: &str, contract: Option<&str>) -> Result<Session, String> {
    let name = format!("{}.cu", skill.name.node);
    let mut session = Session::of_text(&name, before, &Default::default()).map_err(|_| "the library is broken")?;
    if let Some(text) = contract {
        let source = SourceFile::new("contract", text);
        let (found, problems) = contract::from_toml(FileId(0), &source);
        if let Some(problem) = problems.first() {
            return Err(format!("the contract cannot be read: {}", problem.message));
        }
        session.assumptions.extend(found);
    }
    Ok(session)
}

fn example(skill: &Skill, session: &Session, gate: Option<&Gate>) -> (Outcome, Vec<Checked>) {
    let loaded = &session.loaded;
    let parse = |file: FileId, source: &SourceFile| loaded.parse(file, source);
    let skills = [skill];
    let passes = kopt::pass::builtin();
    let request = Request {
        skills: &skills,
        assumptions: &session.assumptions,
        platform: session.platform(),
        passes: &passes,
        at: vec![],
        files: vec![],
        even_if_not_paying: false,
        parse: &parse,
    };
    let outcome = match run::apply(&loaded.program, loaded.sources(), &request) {
        Ok(outcome) => outcome,
        Err(_) => return (Outcome::Fails("the skill does not come to an end".into()), vec![]),
    };
    if outcome.changes.is_empty() {
        return (Outcome::Fails(format!("it does not fire{}", reasons(&outcome.findings))), vec![]);
    }
    let files = apply::results(session, &outcome, gate);
    let checked: Vec<Checked> = files.into_iter().flat_map(|f| f.checked).collect();
    if checked.iter().any(|c| matches!(c.verdict, Verdict::Fails { .. })) {
        return (Outcome::Fails("the rewritten kernel does not compile".into()), checked);
    }
    let n = outcome.changes.len();
    (Outcome::Holds(format!("fires{}", if n == 1 { String::new() } else { format!(" {n} times") })), checked)
}

fn reasons(findings: &[Finding]) -> String {
    let failed = findings.iter().filter_map(|f| match &f.kind {
        FindingKind::Refused { failed, .. } => failed.first(),
        _ => None,
    });
    let texts: Vec<String> = failed.map(|j| format!("{} is {}", j.text, j.verdict.word())).collect();
    if texts.is_empty() { ": no place is found".into() } else { format!(": {}", texts.join("; ")) }
}

fn refusal(skill: &Skill, session: &Session, because: &str) -> Outcome {
    let findings = session.survey(&[skill]);
    let expected = |f: &Finding| match &f.kind {
        FindingKind::Applies { payoff, .. } => Some(!matches!(payoff, Payoff::NotExpected(_))),
        _ => None,
    };
    if findings.iter().any(|f| expected(f) == Some(true)) {
        return Outcome::Fails("it fires".into());
    }
    let by_pays = because == "pays" || skill.pays.iter().any(|c| c.answers_to(because));
    if by_pays && findings.iter().any(|f| expected(f) == Some(false)) {
        return Outcome::Holds("sound, not expected to pay".into());
    }
    if because == "match" {
        return match findings.is_empty() {
            true => Outcome::Holds("no place is found".into()),
            false => Outcome::Fails(format!("a place is found{}", reasons(&findings))),
        };
    }
    let conditions: Vec<_> = skill.require.iter().flat_map(|g| &g.conditions).collect();
    let named = |f: &Finding| match &f.kind {
        FindingKind::Refused { failed, .. } => {
            let answers = |j: &Judged| conditions.get(j.index).is_some_and(|c| c.answers_to(because));
            failed.iter().any(|j| j.group.as_str() == because || answers(j))
        }
        FindingKind::Feature { name, .. } => name == because,
        FindingKind::Applies { .. } => false,
    };
    match findings.iter().any(named) {
        true => Outcome::Holds(format!("refused because of {because}")),
        false => Outcome::Fails(format!("not refused because of {because}{}", reasons(&findings))),
    }
}
