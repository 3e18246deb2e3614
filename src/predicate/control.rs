//! Loops and control flow.

use super::compare;
use super::memory::{ACCESS, ANY, LOOP, settle};
use super::value::{Answer, Number, Value};
use super::{Guard, Predicate, Query};
use crate::facts::{Atom, Because, EventKind, Formula, Missing, Value as Fact};
use crate::ir::*;
use crate::skill::vocabulary::{Signature, ValueType};

pub(super) fn predicates() -> Vec<Predicate> {
    use ValueType::*;
    vec![
        Predicate {
            name: "trip",
            signature: Signature::new(vec![LOOP], Int, "iterations"),
            eval: trip,
            guard: Guard::None,
            explain: "How often the loop runs, from its start, bound and step; unknown where it can be left early.",
        },
        Predicate {
            name: "names_resolved",
            signature: Signature::new(vec![LOOP], Bool, "no macro or lambda hides a use of the counter"),
            eval: names_resolved,
            guard: Guard::None,
            explain: "Every use of the loop's counter in the loop stands in the text itself: no macro, lambda or text that is \
                      not modelled can name it.",
        },
        Predicate {
            name: "divides",
            signature: Signature::new(vec![Int, Int], Bool, "the second is a multiple of the first").guarded(),
            eval: divides,
            guard: Guard::Tail,
            explain: "Whether the first number divides the second. Guarded by a tail: what is left over runs through the \
                      original loop.",
        },
        Predicate {
            name: "unconditional",
            signature: Signature::new(vec![ACCESS, LOOP], Bool, "runs in every iteration"),
            eval: unconditional,
            guard: Guard::None,
            explain: "Whether the access runs exactly once in each iteration: under no condition inside the loop and in no \
                      loop within it.",
        },
        Predicate {
            name: "single_exit",
            signature: Signature::new(vec![LOOP], Bool, "left through its header alone, no barrier inside"),
            eval: single_exit,
            guard: Guard::None,
            explain: "No break, continue, return or barrier in the loop, and nothing that may hide one.",
        },
        Predicate {
            name: "uniform",
            signature: Signature::new(vec![ANY], Bool, "all threads of the block reach it together"),
            eval: uniform,
            guard: Guard::None,
            explain: "Whether all threads of a block reach the place together and, for a loop, run it equally often: no \
                      condition, early return or break before it may differ between threads. For an expression also \
                      whether its value is the same in all threads.",
        },
        Predicate {
            name: "in_hot_path",
            signature: Signature::new(vec![ANY], Bool, "inside a loop"),
            eval: in_hot_path,
            guard: Guard::None,
            explain: "Whether the place stands in a loop of the kernel.",
        },
    ]
}

fn trip(q: &Query) -> Answer {
    settle(q.lp(0).and_then(|k| {
        let t = q.facts.trip(k)?;
        let known = Some(q.facts.loop_state(k)?.before.known.clone());
        let n = Number { poly: t.value.count, clamped: t.value.clamped, known, because: t.because.clone() };
        Ok(Answer::known(Value::Int(n), t.because))
    }))
}

fn header(q: &Query) -> Result<(LoopId, crate::source::Span, Induction), Answer> {
    let k = q.lp(0)?;
    let lp = q.facts.function.loops.get(k.0 as usize).ok_or_else(|| Answer::unknown("no such loop"))?;
    match lp.induction {
        Some(i) => Ok((k, lp.header_span, i)),
        None => {
            let m = Missing::new("the loop has no counter that is modelled").at(lp.header_span, "this loop");
            Err(m.next("write `for (int i = 0; i < n; ++i)`").into())
        }
    }
}

/// Whether the condition compares the counter, which grows by one, with something that the loop does not change.
pub(super) fn counts_up(q: &Query) -> Answer {
    settle(header(q).and_then(|(k, span, induction)| {
        let facts = q.facts;
        let state = facts.loop_state(k)?;
        let fail = |why: &str| Answer::from(Missing::new(why).at(span, "this loop"));
        let is_for = facts.function.loops.get(k.0 as usize).is_some_and(|l| l.kind == LoopKind::For);
        if !is_for || !matches!(induction.compare, Compare::Lt | Compare::Le) {
            return Err(fail("the loop is no for loop that compares with `<` or `<=`"));
        }
        let Some((_, amount)) = state.inductions.get(&induction.var) else {
            return Err(fail("the counter changes in a way that is not modelled"));
        };
        match amount.as_constant() {
            Some(1) => {}
            Some(other) => {
                let text = format!("the counter changes by {other} in every iteration");
                return Ok(Answer::no(Because::nothing(), text, vec![(span, "this loop".into())]));
            }
            None => return Err(fail("by how much the counter changes is not known")),
        }
        let iter = Atom::Iter(k);
        match state.condition.as_ref().map(|t| (&t.formula, &t.because)) {
            Some((Formula::NonNeg(p), because)) if !state.born.stand_in(p) => match p.coefficient(&iter) {
                Some(c) if c.as_constant() == Some(-1) => Ok(Answer::yes(because.clone().and(&state.because))),
                _ => Err(fail("the counter and the bound are not compared with each other")),
            },
            Some((Formula::NonNeg(_), _)) => Err(fail("the bound may change from one iteration to the next")),
            _ => Err(fail("the condition is not a comparison of integers that is modelled")),
        }
    }))
}

pub(super) fn names_resolved(q: &Query) -> Answer {
    settle(header(q).and_then(|(k, _, induction)| {
        Ok(match q.facts.hidden_use(k, induction.var)? {
            None => Answer::yes(Because::nothing()),
            Some(span) => {
                Answer::no(Because::nothing(), "the counter is used here out of sight", vec![(span, "here".into())])
            }
        })
    }))
}

fn divides(q: &Query) -> Answer {
    settle(q.number(0).and_then(|d| Ok(compare::divides(q.facts, d, q.number(1)?))))
}

fn unconditional(q: &Query) -> Answer {
    settle(q.access(0).and_then(|a| {
        let k = q.lp(1)?;
        let lp = q.facts.loop_state(k)?;
        if let Some((span, what)) = lp.exits.first() {
            return Ok(Answer::no(Because::nothing(), format!("{what} may skip it"), vec![(*span, "here".into())]));
        }
        match q.facts.condition_in(a, k)? {
            None => match q.facts.events_in(lp).find(|e| matches!(e.kind, EventKind::Anything)) {
                Some(e) => Err(Missing::new("this is not modelled and may skip the access").at(e.span, "here").into()),
                None => Ok(Answer::yes(Because::nothing())),
            },
            Some(span) => Ok(Answer::no(
                Because::nothing(),
                "it runs under a condition or in a loop of its own",
                vec![(span, "here".into())],
            )),
        }
    }))
}

fn single_exit(q: &Query) -> Answer {
    settle(q.lp(0).and_then(|k| {
        let lp = q.facts.loop_state(k)?;
        if let Some((span, what)) = lp.exits.first() {
            return Ok(Answer::no(Because::nothing(), format!("the loop holds {what}"), vec![(*span, "here".into())]));
        }
        for e in q.facts.events_in(lp) {
            match e.kind {
                EventKind::Barrier(_) => {
                    return Ok(Answer::no(
                        Because::nothing(),
                        "the loop holds a barrier",
                        vec![(e.span, "here".into())],
                    ));
                }
                EventKind::Anything | EventKind::Call => {
                    return Err(Missing::new("this may hold a barrier or leave the loop").at(e.span, "here").into());
                }
                EventKind::Exit => {
                    return Ok(Answer::no(Because::nothing(), "the loop holds return", vec![(e.span, "here".into())]));
                }
                _ => {}
            }
        }
        Ok(Answer::yes(Because::nothing()))
    }))
}

fn uniform(q: &Query) -> Answer {
    settle(q.anchor(0).and_then(|place| {
        let facts = q.facts;
        facts.usable()?;
        let reach = |d: &Option<_>| Ok(Answer::yes(facts.together(d)?));
        match place {
            Place::Kernel => Ok(Answer::yes(Because::nothing())),
            Place::Loop(_) | Place::Reduction(_) => reach(&facts.loop_state(q.lp(0)?)?.divergent),
            Place::Access(a) => reach(&facts.access(a)?.1.place.divergent),
            Place::Barrier(b) => match facts.walked.barriers.get(&b) {
                Some(p) => reach(&p.divergent),
                None => Err(Answer::unknown("this barrier is not reached by the analysis")),
            },
            Place::Expr(e) => {
                let (Some(p), Some(value)) = (facts.walked.place(e), facts.walked.value(e)) else {
                    return Err(Answer::unknown("this expression is not reached by the analysis"));
                };
                let because = facts.together(&p.divergent)?;
                let same = match value {
                    Fact::Int(i) => facts.is_block_uniform(&i.poly),
                    Fact::Pointer(p) => facts.is_block_uniform(&p.offset),
                    Fact::Truth(t) => t.uniform,
                    _ => false,
                };
                if same {
                    Ok(Answer::yes(because.and(&value.because())))
                } else {
                    let span = facts.function.expr(e).span;
                    Err(Missing::new("threads of one block may have different values").at(span, "here").into())
                }
            }
            other => Err(Answer::unknown(format!("a {} is not reached by threads", other.surface()))),
        }
    }))
}

fn in_hot_path(q: &Query) -> Answer {
    settle(q.anchor(0).and_then(|place| {
        let f = q.facts.function;
        let loops = match place {
            Place::Access(a) => f.accesses.get(a.0 as usize).map(|a| a.loops.len()),
            Place::Barrier(b) => f.barriers.get(b.0 as usize).map(|b| b.loops.len()),
            Place::Expr(e) => {
                let call = f.calls.iter().find(|c| c.expr == e).map(|c| c.loops.len());
                call.or_else(|| q.facts.walked.place(e).map(|p| p.loops.len()))
            }
            Place::Loop(l) => f.loops.get(l.0 as usize).map(|l| usize::from(l.parent.is_some())),
            Place::Reduction(_) => Some(1),
            _ => None,
        };
        match loops {
            Some(0) => Ok(Answer::no(Because::nothing(), "it stands in no loop", vec![])),
            Some(_) => Ok(Answer::yes(Because::nothing())),
            None => Err(Answer::unknown("where it stands is not known")),
        }
    }))
}
