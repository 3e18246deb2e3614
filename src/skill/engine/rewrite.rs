//! Writes one rewrite: body, declared limits, guard.

use std::collections::BTreeMap;

use super::guard::{self, Emitted, Plan};
use super::site::{Proof, Site};
use super::template;
use crate::edit::{Edit, EditError, EditSet, Editor};
use crate::ir::{FlawKind, Function};
use crate::pass::Pass;
use crate::skill::ast::{Body, BodyKind, Language, Skill, Touch};
use crate::source::Span;

/// The edits of one rewrite, all in one file.
pub struct Rewrite {
    pub edits: EditSet,
    pub guard: Option<Emitted>,
    /// What was rewritten, before any guard: spans of the old revision.
    pub touched: Vec<Span>,
}

/// Why a sound site was not rewritten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The skill has no body for the language.
    NoBody,
    /// The body is a model's, and no model is configured.
    NoModel,
    /// No rule of the template matches.
    NoRule,
    /// The pass found a shape that the skill's conditions should have excluded.
    Broken(String),
    /// The function, or the edited part of it, is not certain enough to be edited.
    Flawed {
        kind: FlawKind,
        at: Span,
    },
    /// An edit outside what the skill declares to touch.
    Undeclared {
        at: Span,
        needs: Touch,
    },
    /// The site stands in the fallback arm of the same guard.
    AlreadyGuarded {
        at: Span,
    },
    NoGuard(String),
    Edit(EditError),
}

/// Native bodies by skill name.
pub type Passes = BTreeMap<&'static str, &'static dyn Pass>;

/// Runs the body of the site's skill.
///
/// # Errors
/// See [`Stop`]; nothing was written in any of these cases.
pub fn rewrite(site: &Site, proof: &Proof, passes: &Passes) -> Result<Rewrite, Stop> {
    let file = site.function().name_span.file;
    let source = site.sources.get(file);
    if source.revision != proof.revision() {
        return Err(Stop::Edit(EditError::StaleRevision { expected: proof.revision(), found: source.revision }));
    }
    let plan = Plan::of(proof);
    if let Some(at) = plan.as_ref().and_then(|p| guard::already_tested(site, p)) {
        return Err(Stop::AlreadyGuarded { at });
    }
    let mut edit = Editor::new(file, source);
    run_body(site, proof, passes, &mut edit)?;
    let edits = EditSet::new(file, source, edit.edits().to_vec()).map_err(Stop::Edit)?;
    let touched: Vec<Span> = edits.edits().iter().map(|e| e.span).collect();
    check_flaws(site, &touched)?;
    check_touches(site, edits.edits())?;
    let Some(plan) = plan else { return Ok(Rewrite { edits, guard: None, touched }) };
    let written = edits.edits().to_vec();
    let mut out = edit.without_edits();
    let emitted = guard::emit(site, &plan, &written, &mut out).map_err(Stop::NoGuard)?;
    let edits = out.finish().map_err(Stop::Edit)?;
    check_flaws(site, &edits.edits().iter().map(|e| e.span).collect::<Vec<_>>())?;
    Ok(Rewrite { edits, guard: Some(emitted), touched })
}

fn run_body(site: &Site, proof: &Proof, passes: &Passes, edit: &mut Editor) -> Result<(), Stop> {
    let body = cuda_body(site.skill).ok_or(Stop::NoBody)?;
    match body.kind {
        BodyKind::Model => Err(Stop::NoModel),
        BodyKind::Native => {
            let name = site.skill.name.node.as_str();
            let pass = passes.get(name).ok_or(Stop::NoBody)?;
            pass.rewrite(site, proof, edit).map_err(|broken| Stop::Broken(broken.0))
        }
        BodyKind::Template => {
            let first = site.skill.bindings.first().ok_or(Stop::NoRule)?;
            let root = site.expr(&first.name.node).map_err(|broken| Stop::Broken(broken.0))?;
            let f = site.function();
            let text = template::rewrite(f, site.sources, root, &body.rules).ok_or(Stop::NoRule)?;
            edit.replace(f.expr(root).span, &text);
            Ok(())
        }
    }
}

/// The forward body for CUDA.
pub fn cuda_body(skill: &Skill) -> Option<&Body> {
    skill.bodies.iter().find(|b| !b.inverse && b.language == Some(Language::Cuda))
}

/// Invariant 3: nothing is edited where the text was not certainly understood.
fn check_flaws(site: &Site, spans: &[Span]) -> Result<(), Stop> {
    let functions = site.program.unit(site.at.unit).functions.iter();
    let hit = |f: &&Function| f.id == site.at.function || spans.iter().any(|s| f.span.overlaps(*s));
    for f in functions.filter(hit) {
        let own = f.id == site.at.function;
        for flaw in &f.flaws {
            let touched = spans.iter().any(|s| s.overlaps(flaw.span));
            if touched || (own && flaw.kind.forbids_all_edits()) {
                return Err(Stop::Flawed { kind: flaw.kind, at: flaw.span });
            }
        }
    }
    let dropped = site.program.unit(site.at.unit).dropped.iter();
    match dropped.copied().find(|d| spans.iter().any(|s| s.overlaps(*d))) {
        Some(at) => Err(Stop::Flawed { kind: FlawKind::DroppedBranch, at }),
        None => Ok(()),
    }
}

/// A skill that touches only the body edits only the body.
fn check_touches(site: &Site, edits: &[Edit]) -> Result<(), Stop> {
    let declared = |touch| site.skill.touches.iter().any(|t| t.node == touch);
    let f = site.function();
    for edit in edits {
        let inside = |span: Option<Span>| span.is_some_and(|s| s.contains(edit.span));
        let needs = if inside(f.body_span) {
            Touch::Body
        } else if f.span.contains(edit.span) {
            Touch::Signature
        } else if site.launches().iter().any(|l| inside(l.statement_span)) {
            Touch::Launch
        } else {
            Touch::Host
        };
        if !declared(needs) {
            return Err(Stop::Undeclared { at: edit.span, needs });
        }
    }
    Ok(())
}
