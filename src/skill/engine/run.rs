//! Applies skills to a program until nothing changes any more.

use std::collections::BTreeSet;

use super::guard::{self, Emitted, Plan};
use super::judge::{Judged, Payoff};
use super::rewrite::{self, Passes, Rewrite, Stop};
use super::survey::{self, Candidate, Finding, FindingKind, Input, SiteResult};
use super::{Proof, Site, features};
use crate::contract::Assumptions;
use crate::edit::{Edit, EditSet};
use crate::facts::{Macros, macros_after, macros_of};
use crate::ir::{FunctionRef, Program, Unit};
use crate::skill::ast::{Platform, Skill};
use crate::source::{FileId, SourceFile, Sources, Span};

/// Rewrites in one run before it is taken for one that does not end.
pub const MAX_CHANGES: usize = 2_000;

/// What to apply and where.
pub struct Request<'a> {
    pub skills: &'a [&'a Skill],
    pub assumptions: &'a Assumptions,
    pub platform: Option<Platform>,
    pub passes: &'a Passes,
    /// Only surfaces that meet one of these spans of the original revision; everything when empty.
    pub at: Vec<Span>,
    /// Only files of this list are edited; everything when empty.
    pub files: Vec<FileId>,
    /// Also where it is sound but not expected to pay.
    pub even_if_not_paying: bool,
    /// Reads a file again after an edit.
    pub parse: &'a dyn Fn(FileId, &SourceFile) -> Unit,
}

/// One accepted rewrite.
#[derive(Clone, Debug)]
pub struct Change {
    pub skill: String,
    pub function: String,
    pub file: FileId,
    pub surface: &'static str,
    pub ordinal: u32,
    /// The surface in the revision that was rewritten.
    pub span: Span,
    /// Further places of the same kind in the function that were rewritten with it, behind one test at the launch:
    /// ordinal and span.
    pub also: Vec<(u32, Span)>,
    /// The text of the surface before.
    pub before: String,
    pub result: SiteResult,
    pub payoff: Payoff,
    pub conditions: Vec<Judged>,
    pub excluded: Vec<Judged>,
    pub guard: Option<Emitted>,
    /// `let` values and tunables of the skill at this place.
    pub parameters: std::collections::BTreeMap<String, String>,
    /// The edits, on the revision `from`.
    pub edits: Vec<Edit>,
    pub from: SourceFile,
}

/// A rewrite that was written and taken back, with the reason.
#[derive(Clone, Debug)]
pub struct RolledBack {
    pub finding: Finding,
    pub reason: Rejection,
}

#[derive(Clone, Debug)]
pub enum Rejection {
    Stop(Stop),
    /// The new text has a flaw in the edited function that the old one had not.
    NewFlaw(Span),
    /// A kernel of the old text is not modelled in the new one.
    LostKernel(String),
    /// The feature that the skill provides is not there.
    FeatureMissing(String),
}

pub struct Outcome {
    pub sources: Sources,
    pub program: Program,
    pub changes: Vec<Change>,
    pub rolled_back: Vec<RolledBack>,
    /// What the skills said of the original text.
    pub findings: Vec<Finding>,
}

/// The skills undo each other's work, or one never stops matching. Nothing is written.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the skills do not come to an end")]
pub struct NoConvergence {
    /// The rewrites that repeat, in order: skill, function, surface.
    pub cycle: Vec<String>,
}

struct State<'r> {
    request: &'r Request<'r>,
    sources: Sources,
    program: Program,
    macros: Vec<Macros>,
    /// `request.at`, forwarded through the edits so far.
    at: Vec<Span>,
    changes: Vec<Change>,
    rolled_back: Vec<RolledBack>,
    rejected: BTreeSet<(String, Span, [u8; 32])>,
    seen: Vec<(Vec<[u8; 32]>, usize)>,
}

/// Applies the skills in order, again and again, until no site is left.
///
/// # Errors
/// [`NoConvergence`] when a state of the text comes back or [`MAX_CHANGES`] is reached.
pub fn apply(program: &Program, sources: &Sources, request: &Request) -> Result<Outcome, NoConvergence> {
    let skills = request.skills;
    let findings = survey::survey(Input {
        program,
        sources,
        skills,
        assumptions: request.assumptions,
        platform: request.platform,
    });
    let mut state = State {
        request,
        sources: sources.clone(),
        program: program.clone(),
        macros: macros_of(program, sources),
        at: request.at.clone(),
        changes: vec![],
        rolled_back: vec![],
        rejected: BTreeSet::new(),
        seen: vec![],
    };
    state.remember()?;
    loop {
        let before = state.changes.len();
        for skill in skills {
            for at in survey::functions(&state.program) {
                while state.step(skill, at)? {}
            }
        }
        if state.changes.len() == before {
            break;
        }
    }
    let State { sources, program, changes, rolled_back, .. } = state;
    Ok(Outcome { sources, program, changes, rolled_back, findings })
}

impl State<'_> {
    /// Rewrites the first site of `skill` in the function; false when there is none.
    fn step(&mut self, skill: &Skill, at: FunctionRef) -> Result<bool, NoConvergence> {
        let written = {
            let Some(unit) = self.program.units.get(at.unit as usize) else { return Ok(false) };
            if !self.request.files.is_empty() && !self.request.files.contains(&unit.file) {
                return Ok(false);
            }
            let skills = [skill];
            let input = Input {
                program: &self.program,
                sources: &self.sources,
                skills: &skills,
                assumptions: self.request.assumptions,
                platform: self.request.platform,
            };
            let analysis = survey::Lazy::new(input, &self.macros, at);
            let candidates = survey::judge_all(input, skill, at, &analysis);
            let open: Vec<Candidate> =
                candidates.into_iter().filter(|c| self.wanted(c) && !self.rejected.contains(&self.key(c))).collect();
            let chosen = together(&open);
            let Some(first) = chosen.first() else { return Ok(false) };
            (self.key(first), self.attempt(&chosen), first.finding.clone())
        };
        match written {
            (_, Ok((change, set, text, unit)), _) => self.accept(change, set, text, unit).map(|()| true),
            (key, Err(reason), finding) => {
                self.rejected.insert(key);
                // The fallback of a guard is where the rewrite is not wanted: nothing went wrong.
                if !matches!(reason, Rejection::Stop(Stop::AlreadyGuarded { .. })) {
                    self.rolled_back.push(RolledBack { finding, reason });
                }
                Ok(true)
            }
        }
    }

    fn key(&self, c: &Candidate) -> (String, Span, [u8; 32]) {
        let span = c.finding.span;
        (c.finding.skill.clone(), span, self.sources.get(span.file).revision.0)
    }

    fn wanted(&self, c: &Candidate) -> bool {
        let Some(sound) = &c.outcome else { return false };
        let pays = self.request.even_if_not_paying || !matches!(sound.payoff, Payoff::NotExpected(_));
        let here = self.request.at.is_empty() || self.at.iter().any(|s| s.overlaps(c.finding.span));
        pays && here
    }

    /// Writes the rewrite and reads the result; nothing is kept yet.
    fn attempt(&self, chosen: &[&Candidate]) -> Result<(Change, EditSet, SourceFile, Unit), Rejection> {
        let places: Vec<(&Site, &Proof)> =
            chosen.iter().filter_map(|c| Some((&c.site, &c.outcome.as_ref()?.proof))).collect();
        let Rewrite { edits, guard, places: taken, .. } =
            rewrite::rewrite(&places, self.request.passes).map_err(Rejection::Stop)?;
        let taken: Vec<&Candidate> = taken.into_iter().filter_map(|i| chosen.get(i).copied()).collect();
        let Some(&first) = taken.first() else { return Err(Rejection::Stop(Stop::NoBody)) };
        let file = edits.file;
        let old = self.sources.get(file);
        let text = edits.apply(old).map_err(|e| Rejection::Stop(Stop::Edit(e)))?;
        let new = SourceFile::new(old.name.clone(), text.into_bytes());
        let unit = (self.request.parse)(file, &new);
        self.inspect(&first.site, &edits, &new, &unit)?;
        let FindingKind::Applies { result, payoff, .. } = first.finding.kind.clone() else {
            return Err(Rejection::Stop(Stop::NoBody));
        };
        let mut change = Change {
            skill: first.finding.skill.clone(),
            function: first.finding.function.clone(),
            file,
            surface: first.finding.place.surface(),
            ordinal: first.finding.place.ordinal(),
            span: first.finding.span,
            also: taken[1..].iter().map(|c| (c.finding.place.ordinal(), c.finding.span)).collect(),
            before: first.site.text(first.finding.span).to_owned(),
            result,
            payoff,
            conditions: vec![],
            excluded: vec![],
            guard,
            parameters: first.site.parameters(),
            edits: edits.edits().to_vec(),
            from: old.clone(),
        };
        for c in taken {
            if let FindingKind::Applies { result, conditions, excluded, .. } = &c.finding.kind {
                change.result = change.result.and(result);
                change.conditions.extend(conditions.iter().cloned());
                change.excluded.extend(excluded.iter().cloned());
            }
        }
        Ok((change, edits, new, unit))
    }

    /// The checks on the new text: nothing lost, nothing broken, the promised feature there.
    fn inspect(&self, site: &Site, edits: &EditSet, new: &SourceFile, unit: &Unit) -> Result<(), Rejection> {
        let old = self.program.unit(site.at.unit);
        for kernel in old.kernels() {
            let Some(now) = unit.kernels().find(|k| k.qualified == kernel.qualified) else {
                return Err(Rejection::LostKernel(kernel.qualified.clone()));
            };
            if let Some(flaw) = now.flaws.get(kernel.flaws.len()) {
                return Err(Rejection::NewFlaw(flaw.span));
            }
        }
        let written = new_spans(edits, new);
        let program = Program { units: vec![unit.clone()], complete: false };
        for feature in &site.skill.features.provides {
            let present = program.units[0].functions.iter().any(|f| {
                let at = FunctionRef { unit: 0, function: f.id };
                let found = |span: &Span| features::present(&feature.name.node, &program, at, *span) == Some(true);
                written.iter().any(found)
            });
            if !present {
                return Err(Rejection::FeatureMissing(feature.name.node.clone()));
            }
        }
        Ok(())
    }

    fn accept(&mut self, change: Change, set: EditSet, text: SourceFile, unit: Unit) -> Result<(), NoConvergence> {
        let forward = set.forwarding();
        self.at = self.at.iter().filter_map(|s| forward.forward(*s).ok()).collect();
        self.sources.replace(set.file, text);
        if let Some(slot) = self.program.units.iter_mut().find(|u| u.file == set.file) {
            *slot = unit;
        }
        let old = std::mem::take(&mut self.macros);
        self.macros = macros_after(&self.program, &self.sources, old, set.file);
        self.changes.push(change);
        self.remember()
    }

    fn remember(&mut self) -> Result<(), NoConvergence> {
        let state: Vec<[u8; 32]> = self.sources.iter().map(|(_, f)| f.revision.0).collect();
        let earlier = self.seen.iter().find(|(s, _)| *s == state).map(|(_, n)| *n);
        let since = earlier.or((self.changes.len() > MAX_CHANGES).then_some(MAX_CHANGES - 8));
        if let Some(since) = since {
            let name = |c: &Change| format!("{} at {} {} of {}", c.skill, c.surface, c.ordinal, c.function);
            return Err(NoConvergence { cycle: self.changes[since..].iter().map(name).collect() });
        }
        self.seen.push((state, self.changes.len()));
        Ok(())
    }
}

/// The first place, or all those that can be tested together at the launches: otherwise each would bring a kernel of
/// its own.
fn together<'c, 'a>(open: &'c [Candidate<'a>]) -> Vec<&'c Candidate<'a>> {
    let plan = |c: &&Candidate| Plan::of(&c.outcome.as_ref()?.proof);
    let free = open.iter().find(|c| plan(c).is_none());
    if let Some(first) = free.or(open.first()).filter(|_| free.is_some() || open.len() < 2) {
        return vec![first];
    }
    let able = |c: &&Candidate| plan(c).is_some_and(|p| guard::can_dispatch(&c.site, &p));
    let group: Vec<&Candidate> = open.iter().filter(able).collect();
    if group.is_empty() { open.first().into_iter().collect() } else { group }
}

/// Where the edits' texts stand in the new revision, each grown to its lines so that a declaration edited in its middle
/// is seen whole.
fn new_spans(edits: &EditSet, new: &SourceFile) -> Vec<Span> {
    let mut shift = 0i64;
    let mut spans = vec![];
    for edit in edits.edits() {
        let start = (i64::from(edit.span.start) + shift) as u32;
        let end = start + edit.text.len() as u32;
        shift += edit.text.len() as i64 - (i64::from(edit.span.end) - i64::from(edit.span.start));
        let line_start = new.text[..start as usize].rfind('\n').map_or(0, |i| i + 1);
        let line_end = new.text[end as usize..].find('\n').map_or(new.text.len(), |i| end as usize + i);
        spans.push(Span::new(edit.span.file, line_start, line_end));
    }
    spans
}
