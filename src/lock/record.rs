//! Makes lock entries from accepted changes.

use super::position;
use super::{LockedFile, Step, tokens_hash};
use crate::ir::{FunctionRef, Program, Unit};
use crate::skill::Skill;
use crate::skill::ast::{Body, BodyKind};
use crate::skill::engine::run::Change;
use crate::skill::engine::survey::SiteResult;
use crate::skill::engine::{Judged, Verdict};
use crate::source::{FileId, SourceFile, Sources};

/// Collects the steps of one file.
pub struct Recorder<'a> {
    /// The program before the first step: its launches are what the proofs could see.
    pub program: &'a Program,
    pub sources: &'a Sources,
    /// Reads one revision of a file.
    pub parse: &'a dyn Fn(FileId, &SourceFile) -> Unit,
    /// What the candidate was compiled with, or `not run`.
    pub toolchain: &'a str,
}

impl Recorder<'_> {
    /// The entry of one file: its changes in the order in which they were made, and its final text.
    pub fn file<'c>(
        &self,
        path: &str,
        arch: Option<String>,
        changes: impl Iterator<Item = (&'c Change, &'c Skill)>,
        after: &SourceFile,
    ) -> LockedFile {
        let steps = changes.map(|(change, skill)| self.step(change, skill)).collect();
        LockedFile { path: path.to_owned(), after: tokens_hash(&after.text), arch, steps }
    }

    fn step(&self, change: &Change, skill: &Skill) -> Step {
        let unit = (self.parse)(change.file, &change.from);
        let named = unit.functions.iter().filter(|f| f.qualified == change.function && f.body_span.is_some());
        let function = named.clone().find(|f| f.span.overlaps(change.span)).or_else(|| named.clone().next());
        let assumptions = match &change.result {
            SiteResult::Assumed(ids) => ids.clone(),
            _ => assumed(&change.conditions),
        };
        Step {
            skill: change.skill.clone(),
            skill_hash: short(&skill.hash()),
            body_hash: body_hash(skill),
            kernel: change.function.clone(),
            nth: function.map_or(0, |f| position::nth_of(&unit, f)),
            surface: change.surface.to_owned(),
            ordinal: change.ordinal,
            also: change.also.iter().map(|(ordinal, _)| *ordinal).collect(),
            surface_tokens: tokens_hash(&change.before),
            kernel_tokens: function.map_or_else(String::new, |f| tokens_hash(change.from.slice(f.span))),
            launch_tokens: launch_tokens(self.program, self.sources, &change.function),
            result: result_word(&change.result).to_owned(),
            assumptions,
            guard: change.guard.as_ref().map(|g| format!("{}: {}", g.kind, g.condition)),
            toolchain: self.toolchain.to_owned(),
            parameters: change.parameters.clone(),
            verdicts: verdicts(&change.conditions),
            edits: change.edits.iter().map(|e| position::record(e, &change.from, &unit)).collect(),
        }
    }
}

pub fn result_word(result: &SiteResult) -> &'static str {
    match result {
        SiteResult::Proved => "proved",
        SiteResult::Assumed(_) => "assumed",
        SiteResult::Unverified => "unverified",
    }
}

/// The assumptions that the conditions rest on, each once.
pub fn assumed(conditions: &[Judged]) -> Vec<String> {
    let mut ids: Vec<String> = vec![];
    for judged in conditions {
        if let Verdict::Assumed(names) = &judged.verdict {
            ids.extend(names.iter().cloned());
        }
    }
    ids.sort();
    ids.dedup();
    ids
}

/// Each condition with its verdict; the members of a group stand together where they agree.
pub fn verdicts(conditions: &[Judged]) -> Vec<String> {
    let mut lines: Vec<String> = vec![];
    for judged in conditions {
        let line = format!("{}: {}: {}", judged.group, judged.text, judged.verdict.word());
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// Hash of the launches of a kernel (their statements where they stand as such), wherever they are.
pub fn launch_tokens(program: &Program, sources: &Sources, qualified: &str) -> String {
    let is_it = |r: &FunctionRef| program.function(*r).qualified == qualified;
    let Some(kernel) = program.kernels().into_iter().find(is_it) else { return tokens_hash("") };
    let text = |l| {
        let launch = program.launch(l);
        sources.slice(launch.statement_span.unwrap_or(launch.span))
    };
    let texts: Vec<&str> = program.launches_of(kernel).into_iter().map(text).collect();
    tokens_hash(&texts.join(";\n"))
}

/// Hash of what carries the skill out: the rules of a template, or the source of a native pass without its comments.
pub fn body_hash(skill: &Skill) -> String {
    let mut text = String::new();
    for body in skill.bodies.iter().filter(|b| !b.inverse) {
        text += &body_text(skill, body);
    }
    short(blake3::hash(text.as_bytes()).to_hex().as_str())
}

fn body_text(skill: &Skill, body: &Body) -> String {
    let language = body.language.map_or("", |l| l.as_str());
    let carrier = match body.kind {
        BodyKind::Native => super::tokens_hash(crate::pass::text(&skill.name.node).unwrap_or("")),
        BodyKind::Template => {
            let rule = |r: &crate::skill::ast::Rule| format!("{}\u{0}{}\u{0}", r.pattern.node, r.replacement.node);
            body.rules.iter().map(rule).collect()
        }
        BodyKind::Model => String::new(),
    };
    format!("{language} {} {carrier}\n", body.kind)
}

pub fn short(hash: &str) -> String {
    hash.chars().take(32).collect()
}
