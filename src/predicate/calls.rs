//! Calls of the math library.

use super::memory::settle;
use super::value::Answer;
use super::{Guard, Predicate, Query};
use crate::facts::{Because, Missing};
use crate::ir::*;
use crate::skill::vocabulary::{Signature, Surface, SurfaceSet, ValueType};

const CALL: ValueType = ValueType::Anchor(SurfaceSet::of(&[Surface::Call]));
/// Functions for which CUDA has a faster intrinsic.
const MATH: &[&str] = &[
    "expf", "exp10f", "logf", "log2f", "log10f", "sinf", "cosf", "tanf", "powf", "sqrtf", "rsqrtf", "tanhf", "exp2f",
    "exp", "log", "sin", "cos", "sqrt", "pow", "fdividef",
];

pub(super) fn predicates() -> Vec<Predicate> {
    use ValueType::*;
    let callees = Symbol(&["expf", "sinf", "cosf", "logf"]);
    vec![
        Predicate {
            name: "callee",
            signature: Signature::new(vec![CALL], callees, "name of the function"),
            eval: callee,
            guard: Guard::None,
            explain: "The function's name as written, without namespaces.",
        },
        Predicate {
            name: "resolves_to_builtin",
            signature: Signature::new(vec![CALL], Bool, "names the function of the CUDA math library"),
            eval: resolves_to_builtin,
            guard: Guard::None,
            explain: "No function, variable or macro of the program has the name, so that it is that of the library.",
        },
        Predicate {
            name: "device_only",
            signature: Signature::new(vec![CALL], Bool, "the call is compiled for the device only"),
            eval: device_only,
            guard: Guard::None,
            explain: "The call stands in a kernel or a `__device__` function that is not also `__host__`.",
        },
        Predicate {
            name: "error_allowed",
            signature: Signature::new(vec![CALL], Bool, "the contract's tolerance admits the approximation"),
            eval: |q| match q.facts.context.permits.get("approximate") {
                Some(id) => Answer::yes(crate::facts::Because::assuming(id.clone())),
                None => Answer::Unknown {
                    reason: "nobody permitted results of lower accuracy".into(),
                    at: vec![],
                    next: Some(
                        "assume `permit(approximate)`; `kopt apply --skill` does so for a skill that is named".into(),
                    ),
                },
            },
            guard: Guard::None,
            explain: "Whether the caller accepts the error of the approximation.",
        },
        Predicate {
            name: "argument_within",
            signature: Signature::new(vec![CALL, Real, Real], Bool, "the first argument lies in the range").guarded(),
            eval: |_| Answer::Unknown {
                reason: "ranges of floating-point values are not modelled".into(),
                at: vec![],
                next: Some("state the range in the contract".into()),
            },
            guard: Guard::Code(|_| {
                Err("the argument differs between threads and cannot be tested at the launch".into())
            }),
            explain: "Whether the first argument lies between two numbers.",
        },
    ]
}

fn name<'a>(q: &Query<'a>) -> Result<(&'a str, &'a str, ExprId), Answer> {
    let f = q.facts.function;
    match q.anchor(0)? {
        Place::Expr(e) => match f.exprs.get(e.0 as usize).map(|e| &e.kind) {
            Some(ExprKind::Call { callee, receiver: None, .. }) => {
                Ok((callee.as_str(), callee.rsplit("::").next().unwrap_or(callee), e))
            }
            _ => Err(Answer::unknown("this is no call of a named function")),
        },
        other => Err(Answer::unknown(format!("a {} is no call", other.surface()))),
    }
}

fn callee(q: &Query) -> Answer {
    settle(name(q).map(|(_, last, e)| Answer::symbol(last, Because::at(q.facts.function.expr(e).span, "this call"))))
}

fn resolves_to_builtin(q: &Query) -> Answer {
    settle(name(q).and_then(|(full, last, e)| {
        let span = q.facts.function.expr(e).span;
        let named = super::shared::functions_named(q.facts, last).next();
        if let Some(f) = named {
            let text = "the program has a function of this name";
            return Ok(Answer::no(Because::nothing(), text, vec![(f.name_span, "here".into())]));
        }
        if let Some(at) = other_meaning(q, last) {
            return Err(Missing::new("the name also stands for something that is no call").at(at, "here").into());
        }
        if q.facts.macros.contains(last) {
            return Err(Missing::new("the name is a macro").at(span, "here").into());
        }
        let quoted = |c: &&Expr| match &c.kind {
            ExprKind::Call { callee, .. } => c.span.contains(span) && q.facts.macros.quotes(callee),
            _ => false,
        };
        if let Some(outer) = q.facts.function.exprs.iter().find(quoted) {
            return Err(Missing::new("a macro makes a string or a name of its argument").at(outer.span, "here").into());
        }
        let standard = !full.contains("::") || full == format!("std::{last}") || full == format!("::{last}");
        if MATH.contains(&last) && standard {
            return Ok(Answer::yes(Because::at(span, "this call")));
        }
        Err(Missing::new("this is not a function of the math library that is modelled").at(span, "here").into())
    }))
}

/// Where the file uses the name without calling it: a variable, a type, an alias or a using-declaration of that name.
fn other_meaning(q: &Query, name: &str) -> Option<crate::source::Span> {
    let units = &q.facts.program.units;
    let known = q.facts.macros.names().is_some_and(|n| n.has_value(name));
    let globals = units.iter().filter(|_| known).flat_map(|u| &u.globals);
    let global = globals.into_iter().find(|g| g.name == name).map(|g| g.span);
    let f = q.facts.function;
    let local = f.vars.iter().find(|v| v.name == name && v.kind != VarKind::Unresolved).map(|v| v.name_span);
    let file = f.name_span.file;
    let bare = || q.facts.macros.bare_use(name).map(|(start, end)| crate::source::Span { file, start, end });
    global.or(local).or_else(bare)
}

fn device_only(q: &Query) -> Answer {
    settle(name(q).and_then(|(_, _, e)| {
        let f = q.facts.function;
        let span = f.expr(e).span;
        match f.kind {
            FunctionKind::Kernel | FunctionKind::Device => Ok(Answer::yes(Because::at(f.name_span, "device code"))),
            FunctionKind::HostDevice | FunctionKind::Host => {
                let text = "the function is also compiled for the host";
                Ok(Answer::no(Because::nothing(), text, vec![(f.name_span, "here".into())]))
            }
            FunctionKind::Lambda => {
                Err(Missing::new("where this lambda is compiled is not known").at(span, "here").into())
            }
        }
    }))
}
