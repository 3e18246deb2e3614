//! Who else touches the memory of an access or a parameter.

use super::memory::{ACCESS, LOOP, settle};
use super::value::Answer;
use super::{Guard, Predicate, Query};
use crate::facts::{Because, EventKind, Missing};
use crate::ir::*;
use crate::skill::vocabulary::{Signature, Surface, SurfaceSet, ValueType};

const PARAMETER: ValueType = ValueType::Anchor(SurfaceSet::of(&[Surface::Parameter]));

pub(super) fn predicates() -> Vec<Predicate> {
    use ValueType::Bool;
    vec![
        Predicate {
            name: "no_store_between",
            signature: Signature::new(vec![ACCESS, LOOP], Bool, "may be moved over the iterations joined"),
            eval: no_store_between,
            guard: Guard::None,
            explain: "Whether the access may be carried out for neighbouring iterations at once: a load at the first of \
                      them, a store at the last. Stores (for a store also loads) that may touch the same memory in another \
                      iteration, atomics, barriers, calls and assembly in the loop stand in the way.",
        },
        Predicate {
            name: "movable_in_blocks",
            signature: Signature::new(vec![ACCESS, LOOP], Bool, "may be moved with its group in aligned blocks"),
            eval: movable_in_blocks,
            guard: Guard::None,
            explain: "As `no_store_between`, but accesses of the same group may overlap it: where all of them move whole \
                      blocks of one width, each aligned to that width, one block per group of iterations, two blocks are \
                      equal or disjoint, so that only the order within one iteration matters. The skill must require \
                      stride one, that alignment, one width for all members, and that each runs in every iteration.",
        },
        Predicate {
            name: "never_written",
            signature: Signature::new(vec![PARAMETER], Bool, "the kernel does not write what it points to"),
            eval: never_written,
            guard: Guard::None,
            explain: "No store, atomic, call or assembly of the kernel can write the memory behind the parameter.",
        },
        Predicate {
            name: "never_aliased",
            signature: Signature::new(vec![PARAMETER], Bool, "no other pointer leads to its memory"),
            eval: never_aliased,
            guard: Guard::None,
            explain: "At every launch the parameter's memory is reached through no other pointer parameter.",
        },
    ]
}

fn no_store_between(q: &Query) -> Answer {
    settle(q.access(0).and_then(|a| {
        let k = q.lp(1)?;
        Ok(match q.facts.movable(a, k, &[])? {
            Ok(because) => Answer::yes(because),
            Err(o) => Answer::no(Because::nothing(), o.text, o.at),
        })
    }))
}

fn movable_in_blocks(q: &Query) -> Answer {
    settle(q.access(0).and_then(|a| {
        let k = q.lp(1)?;
        Ok(match q.facts.movable(a, k, q.together)? {
            Ok(because) => Answer::yes(because),
            Err(o) => Answer::no(Because::nothing(), o.text, o.at),
        })
    }))
}

fn parameter(q: &Query) -> Result<VarId, Answer> {
    match q.anchor(0)? {
        Place::Parameter(v) => Ok(v),
        _ => Err(Answer::unknown("a parameter is expected here")),
    }
}

fn never_written(q: &Query) -> Answer {
    settle(parameter(q).and_then(|p| {
        q.facts.usable()?;
        let f = q.facts.function;
        let mut because = Because::at(f.var(p).span, "this parameter");
        for e in &q.facts.walked.events {
            match e.kind {
                EventKind::Access(a) => {
                    let (surface, state) = q.facts.access(a)?;
                    if surface.mode == AccessMode::Load {
                        continue;
                    }
                    let Some(target) = &state.pointer else {
                        return Err(Missing::new("where this store goes is not known").at(e.span, "here").into());
                    };
                    if target.root == p {
                        return Ok(Answer::no(Because::nothing(), "it is written", vec![(e.span, "here".into())]));
                    }
                    match q.facts.disjoint_roots(p, target.root) {
                        Some(b) => because.join(&b),
                        None => {
                            let m = Missing::new("this store may write the same memory").at(e.span, "here");
                            return Err(m
                                .next("declare the pointers `__restrict__`, or assume `noalias` in the contract")
                                .into());
                        }
                    }
                }
                EventKind::Atomic => {
                    let atomic = f.atomics.iter().find(|a| f.expr(a.expr).span == e.span);
                    let base = atomic.and_then(|a| a.base).filter(|b| q.facts.never_assigned(*b));
                    match base.and_then(|b| q.facts.disjoint_roots(p, b)) {
                        Some(b) => because.join(&b),
                        None => return Err(Missing::new("this atomic may write the memory").at(e.span, "here").into()),
                    }
                }
                EventKind::Unlisted | EventKind::Call | EventKind::Anything => {
                    return Err(Missing::new("this may write the memory").at(e.span, "here").into());
                }
                _ => {}
            }
        }
        Ok(Answer::yes(because))
    }))
}

fn never_aliased(q: &Query) -> Answer {
    settle(parameter(q).and_then(|p| {
        q.facts.usable()?;
        let f = q.facts.function;
        let mut because = Because::nothing();
        for o in f.params.iter().filter(|o| **o != p && matches!(f.var(**o).ty, Type::Pointer(_))) {
            match q.facts.disjoint_roots(p, *o) {
                Some(b) => because.join(&b),
                None => {
                    let (x, y) = (&f.var(p).name, &f.var(*o).name);
                    let m = Missing::new(format!("`{x}` and `{y}` may point to the same memory"))
                        .at(f.var(*o).span, "this one");
                    return Err(m.next(format!("assume `noalias({x}, {y})` in the contract")).into());
                }
            }
        }
        // A struct argument may hold further pointers, and file scope may name the same memory.
        let other = f.params.iter().find(|o| !matches!(f.var(**o).ty, Type::Pointer(_) | Type::Scalar(_)));
        match other {
            Some(o) => Err(Missing::new("this argument may hold the same address").at(f.var(*o).span, "here").into()),
            None if f.vars.iter().any(|v| matches!(v.kind, VarKind::Global | VarKind::Unresolved)) => {
                Err(Missing::new("the kernel uses memory of file scope, which may be the same").into())
            }
            None => Ok(Answer::yes(because)),
        }
    }))
}
