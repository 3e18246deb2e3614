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
    /// Which of the places asked for were written.
    pub places: Vec<usize>,
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
    /// The edits are not what the skill's equivalence argument covers.
    Argument {
        name: String,
        why: String,
    },
    NoGuard(String),
    Edit(EditError),
}

/// Native bodies by skill name.
pub type Passes = BTreeMap<&'static str, &'static dyn Pass>;

/// Runs the body of one skill at one place, or at several places of one function that are tested together at the launch.
/// Of several, those that overlap an earlier one or cannot be written are left for another time; [`Rewrite::places`]
/// says which were taken.
///
/// # Errors
/// See [`Stop`]; nothing was written in any of these cases.
pub fn rewrite(places: &[(&Site, &Proof)], passes: &Passes) -> Result<Rewrite, Stop> {
    let &[(first, _), ..] = places else { return Err(Stop::NoBody) };
    let file = first.function().name_span.file;
    let source = first.sources.get(file);
    let mut written = Written { edit: Editor::new(file, source), plan: None, places: vec![], touched: vec![] };
    let mut refused = None;
    for (index, (site, proof)) in places.iter().enumerate() {
        if let Err(stop) = written.add(index, site, proof, passes) {
            refused = refused.or(Some(stop));
        }
    }
    let Written { edit, plan, places, touched } = written;
    if places.is_empty() {
        return Err(refused.unwrap_or(Stop::NoBody));
    }
    let edits = edit.edits().to_vec();
    let (guard, edits) = match plan {
        None => (None, edit.finish().map_err(Stop::Edit)?),
        Some(plan) => {
            let mut out = edit.without_edits();
            let emitted = guard::emit(first, &plan, &edits, &mut out).map_err(Stop::NoGuard)?;
            (Some(emitted), out.finish().map_err(Stop::Edit)?)
        }
    };
    check_flaws(first, &edits.edits().iter().map(|e| e.span).collect::<Vec<_>>())?;
    Ok(Rewrite { edits, guard, touched, places })
}

/// What several places of one function write together.
struct Written<'a> {
    edit: Editor<'a>,
    plan: Option<Plan>,
    places: Vec<usize>,
    touched: Vec<Span>,
}

impl Written<'_> {
    fn add(&mut self, index: usize, site: &Site, proof: &Proof, passes: &Passes) -> Result<(), Stop> {
        let source = site.sources.get(site.function().name_span.file);
        if source.revision != proof.revision() {
            return Err(Stop::Edit(EditError::StaleRevision { expected: proof.revision(), found: source.revision }));
        }
        let plan = Plan::of(proof);
        if let Some(at) = plan.as_ref().and_then(|p| guard::already_tested(site, p)) {
            return Err(Stop::AlreadyGuarded { at });
        }
        let before = self.edit.edits().len();
        let added = self.run(site, proof, passes, before);
        match added {
            Ok(spans) => {
                self.touched.extend(spans);
                self.places.push(index);
                self.plan = match (self.plan.take(), plan) {
                    (Some(all), Some(own)) => Some(all.and(own)),
                    (all, own) => all.or(own),
                };
                Ok(())
            }
            Err(stop) => {
                self.edit.truncate(before);
                Err(stop)
            }
        }
    }

    /// The spans of the edits that the body adds.
    fn run(&mut self, site: &Site, proof: &Proof, passes: &Passes, before: usize) -> Result<Vec<Span>, Stop> {
        run_body(site, proof, passes, &mut self.edit)?;
        let file = site.function().name_span.file;
        // Also finds edits that overlap those of an earlier place.
        EditSet::new(file, site.sources.get(file), self.edit.edits().to_vec()).map_err(Stop::Edit)?;
        let own = &self.edit.edits()[before..];
        let spans: Vec<Span> = own.iter().map(|e| e.span).collect();
        check_flaws(site, &spans)?;
        check_touches(site, own)?;
        super::argument::check(site, proof, own).map_err(|why| Stop::Argument {
            name: site
                .skill
                .equivalence
                .as_ref()
                .and_then(|e| e.argument.as_ref())
                .map_or(String::new(), |a| a.node.clone()),
            why,
        })?;
        Ok(spans)
    }
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
