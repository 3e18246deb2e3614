//! What taking several iterations of a loop at a time, or copying its body, relies on.

use super::control;
use super::memory::{ACCESS, LOOP, settle};
use super::value::{Answer, Value};
use super::{Guard, Predicate, Query};
use crate::facts::Because;
use crate::ir::*;
use crate::skill::vocabulary::{Signature, ValueType};
use crate::source::Span;
use crate::source::tokens::{TokenKind, scan_code};

pub(super) fn predicates() -> Vec<Predicate> {
    let fixed = Predicate {
        name: "same_place_throughout",
        signature: Signature::new(
            vec![ACCESS, LOOP],
            ValueType::Bool,
            "its text names the same place all through an iteration",
        ),
        eval: same_place_throughout,
        guard: Guard::None,
        explain: "No variable in the text of the access but the loop's counter is declared or changed inside the loop, so \
                  that the text means the same address before the first statement of the body and after the last.",
    };
    let counted = Predicate {
        name: "counted",
        signature: Signature::new(
            vec![LOOP],
            ValueType::Bool,
            "counts up by one to a fixed bound, and is left there alone",
        ),
        eval: counted,
        guard: Guard::None,
        explain: "A `for` with one counter that starts somewhere, grows by exactly one and ends at `<` or `<=` a bound that \
                  the loop does not change. No break, continue or return leaves the body, nothing else is declared or \
                  stepped in the header, and no macro or lambda hides a use of the counter, so that a copy of the body \
                  can name the next iteration.",
    };
    vec![counted, fixed]
}

fn same_place_throughout(q: &Query) -> Answer {
    settle(q.access(0).and_then(|id| {
        q.facts.usable()?;
        let f = q.facts.function;
        let at = q.lp(1)?;
        let k = &f.loops[at.0 as usize];
        let access = &f.accesses[id.0 as usize];
        let written = q.facts.written_in(at)?;
        let inside = f.stmt(k.stmt).span;
        let counter = k.induction.map(|i| i.var);
        for e in f.walk(access.expr) {
            let span = f.expr(e).span;
            let no = |why: String| Ok(Answer::no(Because::nothing(), why.clone(), vec![(span, why)]));
            match f.kind_of(e) {
                ExprKind::Var(v) if Some(*v) == counter => {}
                ExprKind::Var(v) if inside.contains(f.var(*v).span) || written.contains(v) => {
                    return no(format!("`{}` is set inside the loop", f.var(*v).name));
                }
                ExprKind::Assign { .. } | ExprKind::Increment { .. } | ExprKind::Lambda(_) => {
                    return no("the subscript has a side effect".into());
                }
                _ => {}
            }
        }
        Ok(Answer::yes(Because::nothing()))
    }))
}

fn counted(q: &Query) -> Answer {
    settle(q.lp(0).and_then(|id| {
        q.facts.usable()?;
        let f = q.facts.function;
        let k = &f.loops[id.0 as usize];
        let no = |why: &str| Ok(Answer::no(Because::nothing(), why, vec![(k.header_span, "this loop".into())]));
        let StmtKind::For { init, step: Some(_), condition: Some(_), .. } = &f.stmt(k.stmt).kind else {
            return no("it is no `for` with start, condition and step");
        };
        let Some(i) = k.induction else { return no("it has no counter that changes in the header alone") };
        if init.len() != 1 || i.init.is_none() {
            return no("its header starts not exactly one counter");
        }
        // By how much exactly is asked below; `i += 1` and `i = i + 1` will do.
        if !matches!(i.step, Step::By(1) | Step::Add { negated: false, .. }) {
            return no("the counter does not grow by one");
        }
        if !matches!(i.compare, Compare::Lt | Compare::Le) {
            return no("it does not count up to a bound");
        }
        if query::has_side_effects(f, i.bound) {
            return no("evaluating the bound has side effects");
        }
        if k.has_break || k.has_continue || k.has_return {
            return no("break, continue or return leaves its body");
        }
        if let Some((span, why)) = hidden_use(q, f, k, i.var) {
            return Ok(Answer::no(Because::nothing(), why.clone(), vec![(span, why)]));
        }
        let names = unknown_names(q, f, k.body_span);
        Ok(match (control::names_resolved(q), control::counts_up(q)) {
            (
                Answer::Known { value: Value::Bool(true), because: x, .. },
                Answer::Known { value, because: y, witness },
            ) => Answer::Known { value, because: x.and(&y).and(&names), witness },
            (Answer::Known { value: Value::Bool(true), .. }, unknown) | (unknown, _) => unknown,
        })
    }))
}

fn hidden_use(q: &Query, f: &Function, k: &Loop, counter: VarId) -> Option<(Span, String)> {
    let inside = |e: &&Expr| k.body_span.contains(e.span);
    let lambda = f.exprs.iter().filter(inside).find(|e| matches!(e.kind, ExprKind::Lambda(_)));
    if let Some(lambda) = lambda {
        return Some((lambda.span, "a lambda in the body may use the counter".into()));
    }
    let lasting = |v: &&Var| k.body_span.contains(v.name_span) && (v.is_static || v.kind == VarKind::Shared);
    if let Some(var) = f.vars.iter().find(lasting) {
        return Some((
            var.name_span,
            format!("`{}` is one variable for all iterations, and copies would have several", var.name),
        ));
    }
    let switches: Vec<Span> = f
        .stmts
        .iter()
        .filter(|s| matches!(s.kind, StmtKind::Switch { .. }) && k.body_span.contains(s.span))
        .map(|s| s.span)
        .collect();
    // Uses of any variable of that name: an inner one that shadows the counter is told apart by the IR.
    let uses: Vec<u32> = f
        .exprs
        .iter()
        .filter(inside)
        .filter(|e| matches!(e.kind, ExprKind::Var(v) if f.var(v).name == f.var(counter).name))
        .map(|e| e.span.start)
        .chain(f.vars.iter().map(|v| v.name_span.start))
        .collect();
    let name = f.var(counter).name.as_str();
    let text = q.facts.macros.text.get(k.body_span.range()).unwrap_or("");
    let mut before = "";
    for token in scan_code(text) {
        let word = token.of(text);
        let at = k.body_span.start + token.start;
        let span = Span { file: k.body_span.file, start: at, end: at + word.len() as u32 };
        if token.kind == TokenKind::Directive && !word.contains("pragma") {
            return Some((span, "a preprocessor line stands in the body".into()));
        }
        if matches!(word, "case" | "default") && !switches.iter().any(|s| s.contains(span)) {
            return Some((span, "a label of a switch around the loop stands in the body".into()));
        }
        if token.kind == TokenKind::Word && ![".", "->", "::"].contains(&before) {
            if word == name && !uses.contains(&at) {
                return Some((span, format!("`{name}` is something else than the counter here")));
            }
            let mentions = q.facts.macros.mentions(word);
            if let Some(local) = f.vars.iter().find(|v| mentions.contains(&v.name)) {
                return Some((span, format!("the macro `{word}` mentions `{}`", local.name)));
            }
        }
        before = word;
    }
    None
}

/// Names and callees in the body that nothing in view defines could be macros of a header.
fn unknown_names(q: &Query, f: &Function, body: Span) -> Because {
    let unit = q.facts.unit;
    let known = |name: &str| {
        let last = name.rsplit("::").next().unwrap_or(name);
        query::is_pure_call(last)
            || unit.functions.iter().any(|g| g.name == last)
            || unit.constants.iter().any(|c| c.0 == name)
            || unit.globals.iter().any(|g| g.name == last)
            || f.template.iter().any(|t| t.name == name)
            || q.facts.macros.contains(name)
            || BUILT_IN.iter().any(|p| last.starts_with(p))
    };
    let unknown = f.exprs.iter().filter(|e| body.contains(e.span)).find(|e| match &e.kind {
        ExprKind::Name(name) => !known(name),
        ExprKind::Call { callee, receiver: None, .. } => !known(callee),
        _ => false,
    });
    unknown.map_or(Because::nothing(), |e| {
        Because::at(e.span, "nothing in view defines this name").and(&Because::assuming("implicit:constant-names"))
    })
}

/// Beginnings of the names of CUDA's own functions.
const BUILT_IN: &[&str] = &["__", "atomic", "make_", "printf", "tex"];
