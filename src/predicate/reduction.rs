//! Reductions: serial ones and trees over a shared tile.

use super::memory::settle;
use super::value::Answer;
use super::{Guard, Predicate, Query};
use crate::facts::{Atom, Because, EventKind, Missing, Poly, Value as Fact};
use crate::ir::*;
use crate::skill::vocabulary::{Signature, Surface, SurfaceSet, ValueType};

const REDUCTION: ValueType = ValueType::Anchor(SurfaceSet::of(&[Surface::Reduction]));
const OPS: ValueType = ValueType::Symbol(&["add", "mul", "min", "max", "bit_and", "bit_or", "bit_xor"]);

pub(super) fn predicates() -> Vec<Predicate> {
    use ValueType::Bool;
    let p = |name, returns, help, eval, explain| Predicate {
        name,
        signature: Signature::new(vec![REDUCTION], returns, help),
        eval,
        guard: Guard::None,
        explain,
    };
    vec![
        p("op", OPS, "operation", op as fn(&Query) -> Answer, "The operation that combines two elements."),
        p(
            "lane_is_thread",
            Bool,
            "the lane index is threadIdx.x",
            lane_is_thread,
            "The element that a thread combines has the index threadIdx.x, neither shifted nor scaled.",
        ),
        p(
            "halving",
            Bool,
            "every step halves the distance, down to 1",
            halving,
            "The distance starts at a power of two and is halved in every step as long as it is at least 1.",
        ),
        p(
            "only_first_read",
            Bool,
            "afterwards only element 0 is read before it is written",
            only_first_read,
            "After the tree no element of the tile but the first is read, also not in a later turn of a loop around it.",
        ),
        p(
            "barrier_each_step",
            Bool,
            "a block barrier ends every step",
            barrier_each_step,
            "A barrier of the whole block stands in the loop, under no condition, after the update.",
        ),
    ]
}

fn reduction<'a>(q: &Query<'a>) -> Result<&'a Reduction, Answer> {
    match q.anchor(0)? {
        Place::Reduction(r) => {
            q.facts.usable()?;
            q.facts.function.reductions.get(r.0 as usize).ok_or_else(|| Answer::unknown("no such reduction"))
        }
        other => Err(Answer::unknown(format!("a {} is no reduction", other.surface()))),
    }
}

fn not_a_tree(q: &Query, r: &Reduction) -> Answer {
    let span = q.facts.function.stmt(r.stmt).span;
    Missing::new("this is not a tree over a shared tile").at(span, "here").into()
}

fn op(q: &Query) -> Answer {
    settle(reduction(q).map(|r| {
        let word = match r.op {
            ReduceOp::Add => "add",
            ReduceOp::Mul => "mul",
            ReduceOp::Min => "min",
            ReduceOp::Max => "max",
            ReduceOp::BitAnd => "bit_and",
            ReduceOp::BitOr => "bit_or",
            ReduceOp::BitXor => "bit_xor",
        };
        Answer::symbol(word, Because::at(q.facts.function.stmt(r.stmt).span, "this update"))
    }))
}

fn lane_is_thread(q: &Query) -> Answer {
    settle(reduction(q).and_then(|r| {
        let ReductionKind::SharedTree { lane, .. } = &r.kind else { return Err(not_a_tree(q, r)) };
        let span = q.facts.function.expr(*lane).span;
        match q.facts.walked.values.get(lane) {
            Some((Fact::Int(v), _)) if !v.modular => {
                if v.poly == Poly::atom(Atom::Thread(Axis::X)) {
                    return Ok(Answer::yes(v.because.clone()));
                }
                let plain = v.poly.atoms().iter().all(|a| matches!(a, Atom::Thread(_) | Atom::Block(_) | Atom::BlockDim(_)));
                let text = format!("the lane is {}", q.facts.render(&v.poly));
                if plain {
                    Ok(Answer::no(v.because.clone(), text, vec![(span, "here".into())]))
                } else {
                    Err(Missing::new(text).at(span, "here").into())
                }
            }
            _ => Err(Missing::new("the lane index is not known").at(span, "here").into()),
        }
    }))
}

fn halving(q: &Query) -> Answer {
    settle(reduction(q).and_then(|r| {
        let facts = q.facts;
        let f = facts.function;
        let lp = f.loops.get(r.id_loop.0 as usize).ok_or_else(|| Answer::unknown("no such loop"))?;
        let fail = |why: &str| Answer::from(Missing::new(why).at(lp.header_span, "this loop"));
        let Some(i) = &lp.induction else { return Err(fail("the loop has no counter that is modelled")) };
        let constant = |e: ExprId| facts.constant_expr(e, 0).map(|(v, _)| v);
        let halves = match i.step {
            Step::Scale { op: BinaryOp::Shr, amount } => constant(amount) == Some(1),
            Step::Scale { op: BinaryOp::Div, amount } => constant(amount) == Some(2),
            _ => false,
        };
        let ends = matches!((i.compare, constant(i.bound)), (Compare::Gt, Some(0)) | (Compare::Ge, Some(1)));
        if !halves || !ends {
            return Err(fail("the distance is not halved down to 1 in every step"));
        }
        let state = facts.loop_state(r.id_loop)?;
        if let Some((span, what)) = state.exits.first() {
            return Err(Missing::new(format!("the loop holds {what}")).at(*span, "here").into());
        }
        let start = i.init.and_then(|e| facts.walked.values.get(&e));
        let Some((Fact::Int(v), _)) = start else { return Err(fail("where the distance starts is not known")) };
        let (range, why) = state.before.known.range(&v.poly);
        match (range.lo, range.hi) {
            (Some(lo), Some(hi)) if lo == hi && !v.modular => {
                let because = why.and(&v.because);
                if lo > 0 && lo & (lo - 1) == 0 {
                    Ok(Answer::yes(because))
                } else {
                    let text = format!("the distance starts at {lo}, which is no power of two");
                    Ok(Answer::no(because, text, vec![(lp.header_span, "this loop".into())]))
                }
            }
            _ => {
                let m = Missing::new("whether the distance starts at a power of two is not known");
                Err(m.at(lp.header_span, "this loop").next("assume the block size in the contract: `blockDim.x == 256`").into())
            }
        }
    }))
}

fn only_first_read(q: &Query) -> Answer {
    settle(reduction(q).and_then(|r| {
        let ReductionKind::SharedTree { tile, .. } = &r.kind else { return Err(not_a_tree(q, r)) };
        Ok(match q.facts.only_first_read_after(*tile, r.id_loop)? {
            Ok(because) => Answer::yes(because),
            Err(o) => Answer::no(Because::nothing(), o.text, o.at),
        })
    }))
}

fn barrier_each_step(q: &Query) -> Answer {
    settle(reduction(q).and_then(|r| {
        let ReductionKind::SharedTree { barrier, .. } = &r.kind else { return Err(not_a_tree(q, r)) };
        let facts = q.facts;
        let f = facts.function;
        let state = facts.loop_state(r.id_loop)?;
        let surface = f.barriers.get(barrier.0 as usize).ok_or_else(|| Answer::unknown("no such barrier"))?;
        let span = f.expr(surface.expr).span;
        let here = |text: &str| Ok(Answer::no(Because::nothing(), text, vec![(span, "here".into())]));
        if surface.kind != BarrierKind::Block {
            return here("this barrier is not of the whole block");
        }
        let Some(place) = facts.walked.barriers.get(barrier) else {
            return Err(Missing::new("this barrier is not reached by the analysis").at(span, "here").into());
        };
        let own = usize::from(state.condition.is_some());
        if place.loops.last() != Some(&r.id_loop) || place.conditions.len() > state.before.conditions.len() + own {
            return here("the barrier stands under a condition or in another loop");
        }
        if let Some((exit, what)) = state.exits.first() {
            return Err(Missing::new(format!("{what} may skip the barrier")).at(*exit, "here").into());
        }
        let last_access = facts.events_in(state).filter(|e| matches!(e.kind, EventKind::Access(_))).map(|e| e.seq).max();
        if last_access.is_none_or(|s| s <= place.seq) {
            Ok(Answer::yes(Because::at(span, "this barrier")))
        } else {
            here("something is accessed after the barrier")
        }
    }))
}
