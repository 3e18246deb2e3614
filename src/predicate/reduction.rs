//! Reductions: serial ones and trees over a shared tile.

use super::memory::settle;
use super::value::Answer;
use super::{Guard, Predicate, Query};
use crate::facts::{Atom, Because, EventKind, Missing, Poly, Value as Fact};
use crate::ir::*;
use crate::skill::vocabulary::{Signature, Surface, SurfaceSet, ValueType};
use crate::source::Span;

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
            "exchangeable",
            Bool,
            "a warp shuffle moves elements of this type",
            exchangeable,
            "`__shfl_down_sync` takes every arithmetic type of up to 8 bytes, and pairs of half-precision numbers.",
        ),
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
            "every step at least halves the distance, down to 1",
            halving,
            "Every step divides the distance by two or more, as long as it is at least 1, whatever it starts at.",
        ),
        p(
            "spans_warp",
            Bool,
            "the first step reaches the 32nd element",
            spans_warp,
            "The distance starts at half the block (of whole warps, which is asked elsewhere) or at 16 or more, so that the \
             tree itself touches the 32 elements that the first warp takes over.",
        ),
        p(
            "nothing_else",
            Bool,
            "the loop holds the update and the barrier alone",
            nothing_else,
            "Apart from the guarded update of one tile, the barrier and the step, the loop does nothing.",
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
        match q.facts.walked.value(*lane) {
            Some(Fact::Int(v)) if !v.modular => {
                if v.poly == Poly::atom(Atom::Thread(Axis::X)) {
                    return Ok(Answer::yes(v.because.clone()));
                }
                let plain =
                    v.poly.atoms().iter().all(|a| matches!(a, Atom::Thread(_) | Atom::Block(_) | Atom::BlockDim(_)));
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

fn exchangeable(q: &Query) -> Answer {
    settle(reduction(q).and_then(|r| {
        let ReductionKind::SharedTree { target, .. } = &r.kind else { return Err(not_a_tree(q, r)) };
        let f = q.facts.function;
        let access = f.accesses.get(target.0 as usize).ok_or_else(|| Answer::unknown("no such access"))?;
        let span = f.expr(access.expr).span;
        match &access.ty {
            Type::Scalar(Scalar::F8) => {
                Err(Missing::new("8-bit floating point is not modelled").at(span, "here").into())
            }
            Type::Scalar(_) | Type::Vector { elem: Scalar::F16 | Scalar::BF16, lanes: 2 } => {
                Ok(Answer::yes(Because::at(span, "one value")))
            }
            Type::Vector { .. } => {
                Ok(Answer::no(Because::nothing(), "a shuffle takes no vector", vec![(span, "here".into())]))
            }
            _ => Err(Missing::new("the type of the elements is not known").at(span, "here").into()),
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
            Step::Scale { op: BinaryOp::Shr, amount } => constant(amount).is_some_and(|c| (1..=30).contains(&c)),
            Step::Scale { op: BinaryOp::Div, amount } => constant(amount).is_some_and(|c| c >= 2),
            _ => false,
        };
        let ends =
            matches!((i.compare, constant(i.bound)), (Compare::Gt | Compare::Ne, Some(0)) | (Compare::Ge, Some(1)));
        if !halves || !ends {
            let why = "the distance is not divided by two or more in every step, down to 1";
            return Ok(Answer::no(Because::nothing(), why, vec![(lp.header_span, "this loop".into())]));
        }
        let state = facts.loop_state(r.id_loop)?;
        if let Some((span, what)) = state.exits.first() {
            return Err(Missing::new(format!("the loop holds {what}")).at(*span, "here").into());
        }
        Ok(Answer::yes(Because::at(lp.header_span, "halves the distance")))
    }))
}

fn spans_warp(q: &Query) -> Answer {
    settle(reduction(q).and_then(|r| {
        let facts = q.facts;
        let lp = facts.function.loops.get(r.id_loop.0 as usize).ok_or_else(|| Answer::unknown("no such loop"))?;
        let start = start_of(q, r)?;
        let half = Poly::atom(Atom::BlockDim(Axis::X)).div_floor(2);
        if half.as_ref() == Some(&start.poly) {
            return Ok(Answer::yes(start.because));
        }
        let (range, why) = facts.loop_state(r.id_loop)?.before.known.range(&start.poly);
        let because = why.and(&start.because);
        match (range.lo, range.hi) {
            (Some(lo), _) if lo >= 16 => Ok(Answer::yes(because)),
            (_, Some(hi)) if hi < 16 => {
                let text = format!("the distance starts at {hi} at most");
                Ok(Answer::no(because, text, vec![(lp.header_span, "this loop".into())]))
            }
            _ => Err(Missing::new("whether the distance starts at 16 or more is not known")
                .at(lp.header_span, "this loop")
                .next("assume the block size in the contract: `blockDim.x == 256`")
                .into()),
        }
    }))
}

/// The distance of the first step: that of the header, or the value the counter enters with.
fn start_of(q: &Query, r: &Reduction) -> Result<super::value::Number, Answer> {
    let facts = q.facts;
    let f = facts.function;
    let lp = f.loops.get(r.id_loop.0 as usize).ok_or_else(|| Answer::unknown("no such loop"))?;
    let fail = || Answer::from(Missing::new("where the distance starts is not known").at(lp.header_span, "this loop"));
    let i = lp.induction.ok_or_else(fail)?;
    let init = i.init.or_else(|| {
        // `int s = blockDim.x / 2; while (s > 0) ..`: the declaration counts where nothing outside the loop writes it.
        let inside = f.stmt(lp.stmt).span;
        let writes = |e: &Expr| match e.kind {
            ExprKind::Assign { target, .. } | ExprKind::Increment { target, .. } => {
                query::written_var(f, target) == Some(i.var) && !inside.contains(e.span)
            }
            _ => false,
        };
        let written = query::escaped(f).contains(&i.var) || f.exprs.iter().any(writes);
        f.var(i.var).init.filter(|_| !written && lp.parent.is_none())
    });
    match init.and_then(|e| facts.walked.value(e)) {
        Some(Fact::Int(v)) if !v.modular => Ok(super::value::Number::new(v.poly.clone(), v.because.clone())),
        _ => Err(fail()),
    }
}

fn target_of(f: &Function, e: ExprId) -> ExprId {
    match f.kind_of(e) {
        ExprKind::Assign { target, .. } | ExprKind::Increment { target, .. } => *target,
        _ => e,
    }
}

fn nothing_else(q: &Query) -> Answer {
    settle(reduction(q).and_then(|r| {
        let ReductionKind::SharedTree { barrier, guard, .. } = &r.kind else { return Err(not_a_tree(q, r)) };
        let f = q.facts.function;
        let lp = f.loops.get(r.id_loop.0 as usize).ok_or_else(|| Answer::unknown("no such loop"))?;
        let surface = f.barriers.get(barrier.0 as usize).ok_or_else(|| Answer::unknown("no such barrier"))?;
        let no = |span: Span, why: &str| Ok(Answer::no(Because::nothing(), why, vec![(span, why.to_owned())]));
        let body = match &f.stmt(lp.stmt).kind {
            StmtKind::For { init, body, .. } if init.len() <= 1 => body,
            StmtKind::While { body, .. } => body,
            _ => return no(lp.header_span, "the loop is neither a plain for nor a while"),
        };
        let induction = lp.induction.ok_or_else(|| Answer::unknown("no counter"))?;
        for stmt in flat(f, body) {
            let s = f.stmt(stmt);
            let fine = match &s.kind {
                StmtKind::If { condition, then, otherwise: None, .. } => {
                    condition == guard && flat(f, then) == [r.stmt]
                }
                StmtKind::Expr(_) if stmt == surface.stmt => true,
                StmtKind::Expr(e) => query::written_var(f, target_of(f, *e)) == Some(induction.var),
                StmtKind::Empty | StmtKind::Pragma(_) => true,
                _ => false,
            };
            if !fine {
                return no(s.span, "this is not part of the tree");
            }
        }
        let distance = f
            .walk(update_root(f, r.stmt))
            .into_iter()
            .filter(|e| matches!(f.kind_of(*e), ExprKind::Var(v) if *v == induction.var));
        let in_subscript =
            |e: &ExprId| f.accesses.iter().any(|a| a.indices.iter().any(|i| f.expr(*i).span.contains(f.expr(*e).span)));
        match distance.into_iter().find(|e| !in_subscript(e)) {
            Some(e) => no(f.expr(e).span, "the distance is used as a value"),
            None => Ok(Answer::yes(Because::at(lp.header_span, "update and barrier alone"))),
        }
    }))
}

/// The statements of a block with inner braces taken away.
fn flat(f: &Function, block: &Block) -> Vec<StmtId> {
    let mut found = vec![];
    for &stmt in &block.stmts {
        match &f.stmt(stmt).kind {
            StmtKind::Block(inner) => found.extend(flat(f, inner)),
            _ => found.push(stmt),
        }
    }
    found
}

fn update_root(f: &Function, stmt: StmtId) -> ExprId {
    match f.stmt(stmt).kind {
        StmtKind::Expr(e) => e,
        StmtKind::If { condition, .. } => condition,
        _ => ExprId(0),
    }
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
        let last_access =
            facts.events_in(state).filter(|e| matches!(e.kind, EventKind::Access(_))).map(|e| e.seq).max();
        if last_access.is_none_or(|s| s <= place.seq) {
            Ok(Answer::yes(Because::at(span, "this barrier")))
        } else {
            here("something is accessed after the barrier")
        }
    }))
}
