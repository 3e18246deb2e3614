//! Turns findings, refusals and roll-backs into diagnostics on the user's own lines.

use super::judge::{Judged, Payoff, Verdict};
use super::rewrite::Stop;
use super::run::{Rejection, RolledBack};
use super::survey::{Finding, FindingKind, SiteResult};
use crate::diag::{Code, Diagnostic, Severity};
use crate::ir::FlawKind;
use crate::skill::ast::GuardPolicy;
use crate::source::Span;

pub const APPLIES: Code = Code(200);
pub const VIOLATED: Code = Code(201);
pub const UNKNOWN: Code = Code(202);
pub const FEATURE: Code = Code(203);
pub const NOT_PAYING: Code = Code(204);
pub const ALREADY_GUARDED: Code = Code(206);
pub const EXCLUDED: Code = Code(207);
pub const FLAWED: Code = Code(301);
pub const UNDECLARED: Code = Code(302);
pub const FEATURE_LOST: Code = Code(303);
pub const BROKEN_PASS: Code = Code(304);
pub const NO_MODEL: Code = Code(305);
pub const NO_RULE: Code = Code(306);
pub const NO_GUARD: Code = Code(307);
const ARGUMENT: Code = Code(312);
pub const NEW_FLAW: Code = Code(308);
pub const LOST_KERNEL: Code = Code(309);
pub const NO_END: Code = Code(310);
pub const EDIT: Code = Code(311);

/// One diagnostic for a place where the skill applies or not; a refusal names every failed condition.
pub fn finding(f: &Finding) -> Diagnostic {
    match &f.kind {
        FindingKind::Applies { result, payoff, conditions, .. } => applies(f, result, payoff, conditions),
        FindingKind::Refused { failed, .. } => refused(f, failed),
        FindingKind::Feature { name, missing: true } => {
            Diagnostic::new(FEATURE, Severity::Note, format!("{}: needs `{name}` first", f.skill))
                .at(f.span, format!("`{name}` is not here"))
                .next(format!("apply a skill that provides `{name}`"))
        }
        FindingKind::Feature { name, missing: false } => {
            Diagnostic::new(FEATURE, Severity::Note, format!("{}: in conflict with `{name}`", f.skill))
                .at(f.span, format!("has `{name}`"))
                .note("the skill would undo it")
        }
    }
}

fn applies(f: &Finding, result: &SiteResult, payoff: &Payoff, conditions: &[Judged]) -> Diagnostic {
    let how = match result {
        SiteResult::Proved => "sound: proved".to_owned(),
        SiteResult::Assumed(ids) => {
            let texts: Vec<&str> = ids.iter().map(|id| crate::contract::describe(id).unwrap_or(id)).collect();
            format!("sound if {}", texts.join(", and "))
        }
        SiteResult::Unverified => "conditions hold; what it computes is for the gate to judge".to_owned(),
    };
    let (code, severity, pays) = match payoff {
        Payoff::Expected(effects) => (APPLIES, Severity::Help, format!("expected: {}", effects.join(", "))),
        Payoff::NotExpected(why) => (NOT_PAYING, Severity::Note, format!("not expected to pay: {why}")),
        Payoff::Unknown(why) => (APPLIES, Severity::Help, format!("payoff unknown: {why}")),
    };
    let mut d = Diagnostic::new(code, severity, format!("{} applies ({how})", f.skill)).at(f.span, pays);
    for member in f.members.iter().filter(|m| **m != f.span) {
        d = d.see(*member, "member");
    }
    let mut tests: Vec<String> = vec![];
    for judged in conditions {
        let text = match &judged.verdict {
            Verdict::Guarded { code: Some(code), .. } => format!("tested at run time: {}", code.text),
            Verdict::Guarded { policy: GuardPolicy::Tail, .. } => format!("remainder loop for: {}", judged.text),
            _ => continue,
        };
        if !tests.contains(&text) {
            tests.push(text);
        }
    }
    d.notes.extend(tests);
    d.next(format!("kopt apply --skill {}", f.skill))
}

fn refused(f: &Finding, failed: &[Judged]) -> Diagnostic {
    let violated = failed.iter().any(|j| matches!(j.verdict, Verdict::Violated(_)));
    let code = if violated { VIOLATED } else { UNKNOWN };
    let count =
        if failed.len() == 1 { "one condition fails".to_owned() } else { format!("{} conditions fail", failed.len()) };
    let mut d =
        Diagnostic::new(code, Severity::Note, format!("{} does not apply: {count}", f.skill)).at(f.span, "here");
    let mut said: Vec<(Span, String)> = vec![];
    for judged in failed {
        d = explain(d, judged, &mut said);
    }
    d
}

/// Adds one failed condition: its verdict with the witness, the places, and what would make it hold.
fn explain(mut d: Diagnostic, judged: &Judged, said: &mut Vec<(Span, String)>) -> Diagnostic {
    let (what, at, next) = match &judged.verdict {
        Verdict::Violated(witness) => (format!("violated: {}", witness.text), &witness.at, &None),
        Verdict::Unknown { reason, at, next } => (format!("unknown: {reason}"), at, next),
        _ => return d,
    };
    let word = judged.verdict.word();
    let places = judged.member.iter().map(|m| (m.span, format!("`{}` is {word}", judged.text)));
    for (span, text) in places.chain(at.iter().cloned()) {
        if !said.contains(&(span, text.clone())) {
            said.push((span, text.clone()));
            d = d.see(span, text);
        }
    }
    let note = format!("[{}] {} -- {what}; needed because {}", judged.group, judged.text, judged.reason);
    if !d.notes.contains(&note) {
        d.notes.push(note);
    }
    if d.next.is_none() {
        d.next.clone_from(next);
    }
    d
}

/// A member of a group that stays as it is although its loop is rewritten.
pub fn excluded(f: &Finding, judged: &Judged) -> Diagnostic {
    let span = judged.member.map_or(f.span, |m| m.span);
    let d = Diagnostic::new(EXCLUDED, Severity::Note, format!("{} leaves this access as it is", f.skill));
    explain(d.at(span, "unchanged"), judged, &mut vec![])
}

/// Why a sound rewrite was taken back or never written.
pub fn rolled_back(r: &RolledBack) -> Diagnostic {
    let f = &r.finding;
    let d =
        |code, message: String| Diagnostic::warning(code, message).at(f.span, format!("{} was not applied", f.skill));
    match &r.reason {
        Rejection::Stop(stop) => stopped(f, stop),
        Rejection::NewFlaw(span) => d(NEW_FLAW, "the rewritten text does not parse as cleanly as the original".into())
            .note(format!("first at byte {} of the rewritten text", span.start))
            .next("please report it: a pass wrote text that kopt itself cannot read"),
        Rejection::LostKernel(name) => d(LOST_KERNEL, format!("`{name}` is not found in the rewritten text"))
            .next("please report it: a pass wrote text that kopt itself cannot read"),
        Rejection::FeatureMissing(name) => {
            d(FEATURE_LOST, format!("the skill promises `{name}`, and the rewritten text does not have it"))
                .next("correct the skill's `provides` clause or its body")
        }
    }
}

fn stopped(f: &Finding, stop: &Stop) -> Diagnostic {
    let at = |d: Diagnostic| d.at(f.span, format!("{} was not applied", f.skill));
    match stop {
        Stop::NoBody => at(Diagnostic::warning(NO_MODEL, format!("{} has no body for CUDA", f.skill))),
        Stop::NoModel => {
            at(Diagnostic::warning(NO_MODEL, format!("{} has a model's body, and no model is configured", f.skill)))
                .next("use a skill with a native or template body")
        }
        Stop::NoRule => at(Diagnostic::new(NO_RULE, Severity::Note, format!("no rule of {} matches", f.skill))),
        Stop::Broken(what) => {
            at(Diagnostic::warning(BROKEN_PASS, format!("the body of {} broke off: {what}", f.skill)))
                .next("please report it: the skill's conditions let a shape through that its body does not know")
        }
        Stop::Flawed { kind, at: span } => {
            at(Diagnostic::warning(FLAWED, "the text is not certain enough to be edited")).see(*span, flaw(*kind))
        }
        Stop::Undeclared { at: span, needs } => {
            at(Diagnostic::warning(UNDECLARED, format!("the body edits what the skill does not touch: {needs}")))
                .see(*span, "this edit")
                .next(format!("add `{needs}` to the skill's `touches` clause"))
        }
        Stop::AlreadyGuarded { at: span } => {
            at(Diagnostic::new(ALREADY_GUARDED, Severity::Note, "this is the fallback of the same test"))
                .see(*span, "tested here")
        }
        Stop::Argument { name, why } => at(Diagnostic::warning(
            ARGUMENT,
            format!("the rewritten text is not covered by the argument `{name}`: {why}"),
        ))
        .next("please report it: the body wrote something that its skill does not say"),
        Stop::NoGuard(why) => at(Diagnostic::warning(NO_GUARD, format!("the run-time test cannot be written: {why}"))),
        Stop::Edit(error) => at(Diagnostic::warning(EDIT, format!("the edits cannot be applied: {error}"))),
    }
}

/// What a flaw means, for a label.
pub fn flaw(kind: FlawKind) -> &'static str {
    match kind {
        FlawKind::SyntaxError => "this did not parse",
        FlawKind::SuspectedMisparse => "this may mean something else to the compiler",
        FlawKind::DroppedBranch => "a branch of this `#if` was not read",
        FlawKind::OpaqueMacro => "a macro that is not understood",
        FlawKind::TooDeep => "nested too deeply to be read",
    }
}
