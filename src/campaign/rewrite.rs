//! What the skills make of a program: each skill alone, every further skill on its result, and all of them in one run.

use std::collections::{BTreeMap, BTreeSet};

use super::program::Generated;
use crate::contract::{self, Assumptions, Contract, Plan};
use crate::ir::{Program, Unit};
use crate::skill::ast::{Class, Platform, Skill};
use crate::skill::engine::rewrite::{Passes, Stop};
use crate::skill::engine::run::{Rejection, RolledBack};
use crate::skill::engine::survey::{self, Input};
use crate::skill::engine::{Change, FindingKind, Request, run};
use crate::source::mask::MacroTable;
use crate::source::{FileId, SourceFile, Sources};
use crate::syntax::cuda::parse_unit;

/// A rewritten program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The skills in the order in which they were applied; all those of one run joined.
    pub skills: Vec<String>,
    pub text: String,
    /// Whether results must be equal bit for bit.
    pub exact: bool,
    /// Kinds of the guards that were written: `dispatch`, `in-kernel`, `tail`.
    pub guards: Vec<String>,
}

/// What is wrong before anything was compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misbehaviour {
    /// The skills do not come to an end.
    NoEnd(Vec<String>),
    /// A second run of the same skills changes the text again; `text` is what it makes.
    NotIdempotent { skills: Vec<String>, text: String },
    /// A body was run on a shape that the conditions should have excluded, or its result was not what it promises.
    Broken { skill: String, why: String },
}

/// Everything that the skills made of one program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewritten {
    pub variants: Vec<Variant>,
    pub misbehaviour: Vec<Misbehaviour>,
    /// Skills that found a place and refused it, with the conditions that failed.
    pub refused: BTreeMap<String, Vec<String>>,
    /// Rewrites that were taken back for a reason that is no fault, by skill.
    pub taken_back: Vec<String>,
}

/// The skills with what they need.
pub struct Skills<'a> {
    pub list: Vec<&'a Skill>,
    pub passes: &'a Passes,
}

/// A text as the engine sees it.
struct Read {
    sources: Sources,
    program: Program,
    assumptions: Assumptions,
}

const FILE: FileId = FileId(0);

fn parse(file: FileId, source: &SourceFile) -> Unit {
    let mut known = MacroTable::default();
    known.learn(&source.text);
    parse_unit(file, source, &known)
}

fn read(text: &str) -> Result<(Read, Vec<Plan>), String> {
    let mut sources = Sources::default();
    let file = sources.add(SourceFile::new("k.cu", text));
    let program = Program { units: vec![parse(file, sources.get(file))], complete: false };
    let (assumptions, first) = contract::from_comments(&program, &sources);
    let (plans, second) = contract::plans_from_comments(&program, &sources);
    if let Some(d) = first.iter().chain(&second).next() {
        return Err(d.message.clone());
    }
    let contract = Contract { plans, assumptions };
    let assumptions = contract.all_assumptions(&program);
    Ok((Read { sources, program, assumptions }, contract.plans))
}

/// The plans of a program's kernels in their order, from its comments.
///
/// # Errors
/// What cannot be read; a fault of the generator.
pub fn plans(program: &Generated) -> Result<Vec<Plan>, String> {
    let (_, plans) = read(&program.text)?;
    let of = |name: &str| plans.iter().find(|p| p.launches().any(|l| l.kernel == name)).cloned();
    let found = program.kernels.iter().map(|k| of(k.name).ok_or_else(|| format!("`{}` has no contract", k.name)));
    found.collect()
}

struct Applied {
    text: String,
    changes: Vec<Change>,
    rolled_back: Vec<RolledBack>,
}

/// What the skills say of a text, all of them asked at once.
struct Asked {
    apply: BTreeSet<String>,
    refused: BTreeMap<String, Vec<String>>,
}

fn platform() -> Option<Platform> {
    Platform::parse("sm_80")
}

impl Skills<'_> {
    fn apply(&self, text: &str, list: &[&Skill]) -> Result<Applied, Misbehaviour> {
        let name = || list.iter().map(|s| s.name.node.clone()).collect::<Vec<_>>().join(" ");
        let broken = |why: String| Misbehaviour::Broken { skill: name(), why };
        let (read, _) = read(text).map_err(broken)?;
        let request = Request {
            skills: list,
            assumptions: &read.assumptions,
            platform: platform(),
            passes: self.passes,
            at: vec![],
            files: vec![FILE],
            even_if_not_paying: true,
            parse: &parse,
        };
        let outcome = run::apply(&read.program, &read.sources, &request).map_err(|e| Misbehaviour::NoEnd(e.cycle))?;
        Ok(Applied {
            text: outcome.sources.get(FILE).text.to_string(),
            changes: outcome.changes,
            rolled_back: outcome.rolled_back,
        })
    }

    /// One analysis of each function serves all skills.
    fn ask(&self, text: &str) -> Asked {
        let mut asked = Asked { apply: BTreeSet::new(), refused: BTreeMap::new() };
        let Ok((read, _)) = read(text) else { return asked };
        let input = Input {
            program: &read.program,
            sources: &read.sources,
            skills: &self.list,
            assumptions: &read.assumptions,
            platform: platform(),
        };
        for f in survey::survey(input) {
            match f.kind {
                FindingKind::Applies { .. } => _ = asked.apply.insert(f.skill),
                FindingKind::Refused { failed, .. } => {
                    let said = asked.refused.entry(f.skill).or_default();
                    said.extend(failed.iter().map(|j| j.text.to_string()));
                    said.sort();
                    said.dedup();
                }
                FindingKind::Feature { .. } => {}
            }
        }
        asked
    }

    /// All variants of a program, each text once.
    pub fn rewrite(&self, text: &str) -> Rewritten {
        let mut found = Rewritten::default();
        let mut fired: Vec<&Skill> = vec![];
        let asked = self.ask(text);
        for skill in self.list.iter().filter(|s| asked.apply.contains(&s.name.node)) {
            let Some(applied) = self.tried(&mut found, text, &[skill]) else { continue };
            if applied.changes.is_empty() {
                continue;
            }
            fired.push(skill);
            let first = variant(&[skill], &applied, None);
            self.second(&mut found, skill, &first);
            found.add(first);
        }
        if fired.len() > 1
            && let Some(applied) = self.tried(&mut found, text, &fired)
        {
            let all = variant(&fired, &applied, None);
            if !self.ask(&all.text).apply.is_empty() {
                self.again(&mut found, &fired, &all.text);
            }
            found.add(all);
        }
        found.refused = asked.refused;
        found
    }

    /// Every skill on the result of the first one; that skill itself must change nothing more.
    fn second(&self, found: &mut Rewritten, first: &Skill, one: &Variant) {
        let asked = self.ask(&one.text);
        for skill in self.list.iter().filter(|s| asked.apply.contains(&s.name.node)) {
            if skill.name == first.name {
                self.again(found, &[skill], &one.text);
                continue;
            }
            let Some(applied) = self.tried(found, &one.text, &[skill]) else { continue };
            if !applied.changes.is_empty() {
                found.add(variant(&[skill], &applied, Some(one)));
            }
        }
    }

    fn again(&self, found: &mut Rewritten, skills: &[&Skill], text: &str) {
        let Some(applied) = self.tried(found, text, skills) else { return };
        if !applied.changes.is_empty() {
            let skills = skills.iter().map(|s| s.name.node.clone()).collect();
            found.misbehaviour.push(Misbehaviour::NotIdempotent { skills, text: applied.text });
        }
    }

    fn tried(&self, found: &mut Rewritten, text: &str, skills: &[&Skill]) -> Option<Applied> {
        match self.apply(text, skills) {
            Ok(applied) => {
                for r in &applied.rolled_back {
                    match &r.reason {
                        Rejection::Stop(Stop::NoGuard(why)) => {
                            found.taken_back.push(format!("{}: {why}", r.finding.skill));
                        }
                        Rejection::Stop(stop @ (Stop::NoRule | Stop::Flawed { .. })) => {
                            found.taken_back.push(format!("{}: {stop:?}", r.finding.skill));
                        }
                        other => found
                            .misbehaviour
                            .push(Misbehaviour::Broken { skill: r.finding.skill.clone(), why: format!("{other:?}") }),
                    }
                }
                Some(applied)
            }
            Err(why) => {
                found.misbehaviour.push(why);
                None
            }
        }
    }
}

impl Rewritten {
    fn add(&mut self, v: Variant) {
        if !self.variants.iter().any(|o| o.text == v.text && o.exact == v.exact) {
            self.variants.push(v);
        }
    }
}

fn variant(skills: &[&Skill], applied: &Applied, before: Option<&Variant>) -> Variant {
    let exact = skills.iter().all(|s| s.class.node == Class::Preserving);
    let mut names: Vec<String> = before.map(|b| b.skills.clone()).unwrap_or_default();
    names.extend(skills.iter().map(|s| s.name.node.clone()));
    let mut guards: Vec<String> = before.map(|b| b.guards.clone()).unwrap_or_default();
    for c in &applied.changes {
        guards.extend(c.guard.iter().map(|g| g.kind.to_owned()));
        let tail = c.conditions.iter().any(|j| j.guard() == Some(crate::skill::ast::GuardPolicy::Tail));
        guards.extend(tail.then(|| "tail".to_owned()));
    }
    guards.sort();
    guards.dedup();
    Variant { skills: names, text: applied.text.clone(), exact: exact && before.is_none_or(|b| b.exact), guards }
}
