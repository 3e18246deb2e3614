//! The JSON of findings and diagnostics; docs/schema holds the schemas.

use kopt::diag::Diagnostic;
use kopt::skill::engine::survey::{Finding, FindingKind};
use kopt::skill::engine::{Judged, Payoff, Verdict};
use kopt::source::{Sources, Span};
use serde_json::{Value, json};

/// A span as people count it: lines and columns from 1, the end exclusive.
pub fn place(sources: &Sources, span: Span) -> Value {
    if span.file.0 as usize >= sources.len() {
        return Value::Null;
    }
    let file = sources.get(span.file);
    let at = |offset: u32| file.lines.position(&file.text, offset as usize);
    let (start, end) = (at(span.start), at(span.end));
    json!({
        "file": file.name,
        "line": start.line, "column": start.column,
        "end_line": end.line, "end_column": end.column,
        "start": span.start, "end": span.end,
    })
}

pub fn diagnostic(sources: &Sources, d: &Diagnostic) -> Value {
    let label =
        |l: &kopt::diag::Label| json!({ "place": place(sources, l.span), "text": l.text, "primary": l.primary });
    json!({
        "code": d.code, "severity": d.severity, "message": d.message,
        "labels": d.labels.iter().map(label).collect::<Vec<_>>(),
        "notes": d.notes, "next": d.next,
    })
}

pub fn condition(sources: &Sources, judged: &Judged) -> Value {
    let (detail, next) = match &judged.verdict {
        Verdict::Proved => (None, None),
        Verdict::Assumed(ids) => (Some(ids.iter().cloned().collect::<Vec<_>>().join(", ")), None),
        Verdict::Guarded { policy, code } => {
            let test = code.as_ref().map(|c| c.text.clone());
            (Some(test.map_or_else(|| policy.to_string(), |t| format!("{policy}: {t}"))), None)
        }
        Verdict::Violated(witness) => (Some(witness.text.clone()), None),
        Verdict::Unknown { reason, next, .. } => (Some(reason.clone()), next.clone()),
    };
    json!({
        "group": judged.group.as_str(), "condition": &*judged.text, "because": &*judged.reason,
        "verdict": judged.verdict.word(), "detail": detail, "next": next,
        "member": judged.member.map(|m| place(sources, m.span)),
    })
}

pub fn payoff(payoff: &Payoff) -> Value {
    match payoff {
        Payoff::Expected(reasons) => json!({ "expected": "yes", "why": reasons.join("; ") }),
        Payoff::NotExpected(why) => json!({ "expected": "no", "why": why }),
        Payoff::Unknown(why) => json!({ "expected": "unknown", "why": why }),
    }
}

pub fn finding(sources: &Sources, f: &Finding) -> Value {
    let list = |judged: &[Judged]| judged.iter().map(|j| condition(sources, j)).collect::<Vec<_>>();
    let mut value = json!({
        "skill": f.skill, "function": f.function, "surface": f.place.surface(), "ordinal": f.place.ordinal(),
        "place": place(sources, f.span),
        "members": f.members.iter().map(|m| place(sources, *m)).collect::<Vec<_>>(),
    });
    let more = match &f.kind {
        FindingKind::Applies { result, payoff: pays, conditions, excluded } => json!({
            "outcome": "applies",
            "result": kopt::lock::record::result_word(result),
            "payoff": payoff(pays), "conditions": list(conditions), "excluded": list(excluded),
        }),
        FindingKind::Refused { failed, held } => json!({
            "outcome": "refused", "conditions": failed.iter().chain(held).map(|j| condition(sources, j)).collect::<Vec<_>>(),
        }),
        FindingKind::Feature { name, missing } => json!({
            "outcome": "feature", "feature": name, "missing": missing,
        }),
    };
    if let (Some(value), Value::Object(more)) = (value.as_object_mut(), more) {
        value.extend(more);
    }
    value
}
