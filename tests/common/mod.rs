//! Shared by the tests that run skills on texts.
#![allow(dead_code)]

use kopt::contract::{self, Assumptions};
use kopt::diag::render::render;
use kopt::ir::Program;
use kopt::skill::ast::{Platform, Skill};
use kopt::skill::engine::rewrite::Passes;
use kopt::skill::engine::{Finding, FindingKind, NoConvergence, Outcome, Request, report, run};
use kopt::source::mask::MacroTable;
use kopt::source::{FileId, SourceFile, Sources};
use kopt::syntax::cuda::parse_unit;

pub struct Case {
    pub sources: Sources,
    pub program: Program,
    pub assumptions: Assumptions,
}

/// One file with its contract, as `kopt apply FILE --contract ..` would see it.
pub fn case_of(text: &str, contract: Option<&str>) -> Case {
    let mut sources = Sources::default();
    let file = sources.add(SourceFile::new("case.cu", text));
    let unit = parse(file, sources.get(file));
    let program = Program { units: vec![unit], complete: false };
    let (mut assumptions, problems) = contract::from_comments(&program, &sources);
    assert!(problems.is_empty(), "{problems:?}");
    if let Some(text) = contract {
        let source = SourceFile::new("contract.toml", text);
        let id = sources.add(source.clone());
        let (more, problems) = contract::from_toml(id, &source);
        assert!(problems.is_empty(), "{problems:?}\n{text}");
        assumptions.extend(more);
    }
    Case { sources, program, assumptions }
}

pub fn parse(file: FileId, source: &SourceFile) -> kopt::ir::Unit {
    let mut known = MacroTable::default();
    known.learn(&source.text);
    parse_unit(file, source, &known)
}

pub fn passes() -> Passes {
    kopt::pass::builtin()
}

pub fn apply(skill: &Skill, case: &Case) -> Outcome {
    apply_all(&[skill], case)
}

pub fn apply_all(skills: &[&Skill], case: &Case) -> Outcome {
    try_apply(skills, case).unwrap_or_else(|e| panic!("no end: {:?}", e.cycle))
}

pub fn try_apply(skills: &[&Skill], case: &Case) -> Result<Outcome, NoConvergence> {
    let passes = passes();
    let request = Request {
        skills,
        assumptions: &case.assumptions,
        platform: Platform::parse("sm_80"),
        passes: &passes,
        at: vec![],
        files: vec![FileId(0)],
        even_if_not_paying: false,
        parse: &parse,
    };
    run::apply(&case.program, &case.sources, &request)
}

/// The rewritten text and everything that was said.
pub fn show(case: &Case, outcome: &Outcome) -> String {
    let mut text = outcome.sources.get(FileId(0)).text.to_string();
    text += "\n--------\n";
    for finding in &outcome.findings {
        text += &render(&case.sources, &report::finding(finding), false);
        if let FindingKind::Applies { excluded, .. } = &finding.kind {
            for judged in excluded {
                text += &render(&case.sources, &report::excluded(finding, judged), false);
            }
        }
    }
    for r in &outcome.rolled_back {
        text += &format!("rolled back: {:?}\n", r.reason);
    }
    for change in &outcome.changes {
        if let Some(guard) = &change.guard {
            text += &format!("guard {}: {} {}\n", guard.kind, guard.condition, guard.instead.as_deref().unwrap_or(""));
        }
    }
    text
}

/// What the failed conditions of all findings answer to, and `match` or `pays` where nothing was found or worth it.
pub fn reasons(skill: &Skill, findings: &[Finding]) -> Vec<String> {
    let mut said = vec![];
    if findings.is_empty() {
        said.push("match".to_owned());
    }
    let all: Vec<_> = skill.require.iter().flat_map(|g| g.conditions.iter().map(move |c| (g, c))).collect();
    for finding in findings {
        match &finding.kind {
            FindingKind::Refused { failed, .. } => {
                for judged in failed {
                    said.push(judged.group.as_str().to_owned());
                    let Some((_, condition)) = all.get(judged.index) else { continue };
                    said.extend(condition.label.iter().map(|l| l.node.clone()));
                    said.extend(condition.test.predicates().map(|p| p.0.to_owned()));
                }
            }
            FindingKind::Applies { payoff: kopt::skill::engine::Payoff::NotExpected(_), .. } => {
                said.push("pays".into())
            }
            FindingKind::Applies { .. } => {}
            FindingKind::Feature { name, .. } => said.push(name.clone()),
        }
    }
    said.sort();
    said.dedup();
    said
}
