//! Reductions: an accumulator in a loop, and the tree over a shared tile.

use crate::ir::query::{self, same_expr};
use crate::ir::*;
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn run(f: &Function, escaped: &BTreeSet<VarId>) -> Vec<Reduction> {
    let mut found = vec![];
    for (index, lp) in f.loops.iter().enumerate() {
        let id = LoopId(index as u32);
        let Some(body) = loop_body(f, lp.stmt, id) else { continue };
        let uses = uses_of(f, lp.stmt);
        for stmt in outside_inner_loops(f, body) {
            if let Some((accumulator, op, spelling)) = serial(f, lp, stmt, &uses, escaped) {
                let kind = ReductionKind::Serial { accumulator };
                found.push(Reduction { kind, op, spelling, id_loop: id, stmt });
            }
        }
        found.extend(trees(f, id, lp, body));
    }
    found.sort_by_key(|r| (f.stmt(r.stmt).span.start, r.id_loop));
    found
}

fn loop_body(f: &Function, stmt: StmtId, id: LoopId) -> Option<&Block> {
    match &f.stmts.get(stmt.0 as usize)?.kind {
        StmtKind::For { id: i, body, .. }
        | StmtKind::While { id: i, body, .. }
        | StmtKind::DoWhile { id: i, body, .. }
        | StmtKind::OpaqueLoop { id: i, body }
            if *i == id =>
        {
            Some(body)
        }
        _ => None,
    }
}

/// The statements of a loop body that no loop inside it holds, so that each is looked at for its innermost loop only.
fn outside_inner_loops(f: &Function, body: &Block) -> Vec<StmtId> {
    let mut found = vec![];
    let mut stack: Vec<StmtId> = body.stmts.iter().rev().copied().collect();
    while let Some(id) = stack.pop() {
        let stmt = f.stmt(id);
        found.push(id);
        let is_loop = matches!(
            stmt.kind,
            StmtKind::For { .. } | StmtKind::While { .. } | StmtKind::DoWhile { .. } | StmtKind::OpaqueLoop { .. }
        );
        if !is_loop {
            query::blocks_of(stmt).into_iter().rev().for_each(|b| stack.extend(b.stmts.iter().rev()));
        }
    }
    found
}

/// How often each variable occurs in a loop, header included.
fn uses_of(f: &Function, stmt: StmtId) -> BTreeMap<VarId, usize> {
    let mut found = BTreeMap::new();
    for e in query::exprs_of(f, stmt) {
        if let ExprKind::Var(v) = f.kind_of(e) {
            *found.entry(*v).or_default() += 1;
        }
    }
    found
}

/// An update of a place: `x op= e`, `x = x + e`, `x = max(x, e)`, `x = e > x ? e : x`.
struct Update {
    op: ReduceOp,
    spelling: String,
    target: ExprId,
    /// Where the old value is read again, for the forms that spell it out.
    reads: Vec<ExprId>,
    other: ExprId,
}

fn update(f: &Function, e: ExprId) -> Option<Update> {
    let ExprKind::Assign { op, target, value } = f.kind_of(e) else { return None };
    let (target, value) = (*target, *value);
    if let Some(op) = op {
        let (reduce, spelling) = operator(*op)?;
        return Some(Update { op: reduce, spelling: format!("{spelling}="), target, reads: vec![], other: value });
    }
    let is_target = |e: &ExprId| same_expr(f, *e, target);
    match f.kind_of(value) {
        ExprKind::Binary { op, left, right } => {
            let (reduce, spelling) = operator(*op)?;
            if is_target(left) {
                Some(Update { op: reduce, spelling: spelling.into(), target, reads: vec![*left], other: *right })
            } else if is_target(right) && *op != BinaryOp::Sub {
                Some(Update { op: reduce, spelling: spelling.into(), target, reads: vec![*right], other: *left })
            } else {
                None
            }
        }
        ExprKind::Call { callee, args, .. } => {
            let (op, operands) = function(callee, args)?;
            let old = operands.iter().position(is_target)?;
            let other = *args.iter().find(|a| **a != operands[old] && !is_target(a))?;
            Some(Update { op, spelling: callee.clone(), target, reads: vec![operands[old]], other })
        }
        ExprKind::Conditional { condition, then, otherwise } => {
            let (op, reads, other) = selected(f, target, *condition, *then, *otherwise)?;
            Some(Update { op, spelling: "?:".into(), target, reads, other })
        }
        _ => None,
    }
}

/// `a > b ? a : b` and its mirror images, with the target as one of the two.
fn selected(
    f: &Function,
    target: ExprId,
    condition: ExprId,
    then: ExprId,
    otherwise: ExprId,
) -> Option<(ReduceOp, Vec<ExprId>, ExprId)> {
    let ExprKind::Binary { op, left, right } = f.kind_of(condition) else { return None };
    let greater = match op {
        BinaryOp::Gt | BinaryOp::Ge => true,
        BinaryOp::Lt | BinaryOp::Le => false,
        _ => return None,
    };
    let straight = same_expr(f, *left, then) && same_expr(f, *right, otherwise);
    let crossed = same_expr(f, *left, otherwise) && same_expr(f, *right, then);
    if !straight && !crossed {
        return None;
    }
    let op = if greater == straight { ReduceOp::Max } else { ReduceOp::Min };
    let old_first = same_expr(f, *left, target);
    let (old, other) = if old_first { (*left, *right) } else { (*right, *left) };
    if !same_expr(f, old, target) || same_expr(f, other, target) {
        return None;
    }
    let again = if same_expr(f, then, target) { then } else { otherwise };
    Some((op, vec![old, again], other))
}

fn operator(op: BinaryOp) -> Option<(ReduceOp, &'static str)> {
    Some(match op {
        BinaryOp::Add => (ReduceOp::Add, "+"),
        BinaryOp::Sub => (ReduceOp::Add, "-"),
        BinaryOp::Mul => (ReduceOp::Mul, "*"),
        BinaryOp::BitAnd => (ReduceOp::BitAnd, "&"),
        BinaryOp::BitOr => (ReduceOp::BitOr, "|"),
        BinaryOp::BitXor => (ReduceOp::BitXor, "^"),
        _ => return None,
    })
}

/// Library functions that combine two values; of a fused multiply-add only the addend is an accumulator.
fn function<'a>(callee: &str, args: &'a [ExprId]) -> Option<(ReduceOp, &'a [ExprId])> {
    let name = callee.rsplit("::").next().unwrap_or(callee);
    let op = match name {
        "max" | "fmax" | "fmaxf" | "__hmax" | "__hmax2" | "MAX" => ReduceOp::Max,
        "min" | "fmin" | "fminf" | "__hmin" | "__hmin2" | "MIN" => ReduceOp::Min,
        "__hadd" | "__hadd2" | "__fadd_rn" | "__dadd_rn" => ReduceOp::Add,
        "__hmul" | "__hmul2" | "__fmul_rn" => ReduceOp::Mul,
        "fma" | "fmaf" | "__fmaf_rn" | "__hfma" | "__hfma2" => return Some((ReduceOp::Add, args.get(2..3)?)),
        _ => return None,
    };
    (args.len() == 2).then_some((op, args))
}

/// `acc op= e`, with `acc` a scalar from outside the loop that the loop does not touch otherwise.
fn serial(
    f: &Function,
    lp: &Loop,
    stmt: StmtId,
    uses: &BTreeMap<VarId, usize>,
    escaped: &BTreeSet<VarId>,
) -> Option<(VarId, ReduceOp, String)> {
    let update = match &f.stmt(stmt).kind {
        StmtKind::Expr(e) => update(f, *e)?,
        // `if (x > acc) acc = x;`
        StmtKind::If { condition, then, otherwise: None, .. } => conditional_update(f, *condition, then)?,
        _ => return None,
    };
    let ExprKind::Var(var) = f.kind_of(update.target) else { return None };
    let v = f.var(*var);
    let scalar = matches!(v.ty, Type::Scalar(_) | Type::Vector { .. } | Type::Param(_) | Type::Auto | Type::Named(_));
    if !scalar || !matches!(v.kind, VarKind::Local | VarKind::Param) || escaped.contains(var) {
        return None;
    }
    let inside = f.stmt(lp.stmt).span;
    if inside.contains(v.span) || lp.induction.is_some_and(|i| i.var == *var) {
        return None;
    }
    let uses = uses.get(var).copied().unwrap_or(0);
    (uses == 1 + update.reads.len()).then_some((*var, update.op, update.spelling))
}

fn conditional_update(f: &Function, condition: ExprId, then: &Block) -> Option<Update> {
    let [only] = then.stmts.as_slice() else { return None };
    let StmtKind::Expr(e) = f.stmt(*only).kind else { return None };
    let ExprKind::Assign { op: None, target, value } = f.kind_of(e) else { return None };
    let (op, reads, other) = selected(f, *target, condition, *value, *target)?;
    // The second read is the target of the selection that is not written here.
    Some(Update { op, spelling: "if".into(), target: *target, reads: reads.into_iter().take(1).collect(), other })
}

/// `for (s = S; s > 0; s >>= 1) { if (t < s) tile[t] op= tile[t + s]; __syncthreads(); }`
fn trees(f: &Function, id: LoopId, lp: &Loop, body: &Block) -> Vec<Reduction> {
    let mut found = vec![];
    let Some(Induction { var: distance, step: Step::Scale { op: BinaryOp::Shr | BinaryOp::Div, .. }, .. }) =
        lp.induction
    else {
        return found;
    };
    let in_body = |b: &Barrier| b.kind == BarrierKind::Block && body.stmts.contains(&b.stmt);
    let Some(barrier) = f.barriers.iter().position(in_body) else { return found };
    for stmt in &body.stmts {
        let StmtKind::If { condition, then, otherwise: None, .. } = &f.stmt(*stmt).kind else { continue };
        for inner in query::stmts_in(f, then) {
            let update = match &f.stmt(inner).kind {
                StmtKind::Expr(e) => update(f, *e),
                StmtKind::If { condition, then, otherwise: None, .. } => conditional_update(f, *condition, then),
                _ => None,
            };
            let Some(update) = update else { continue };
            let barrier = BarrierId(barrier as u32);
            if let Some(kind) = tree(f, distance, *condition, &update, barrier) {
                found.push(Reduction { kind, op: update.op, spelling: update.spelling, id_loop: id, stmt: inner });
            }
        }
    }
    found
}

fn tree(
    f: &Function,
    distance: VarId,
    condition: ExprId,
    update: &Update,
    barrier: BarrierId,
) -> Option<ReductionKind> {
    let access = |e: ExprId| f.accesses.iter().position(|a| a.expr == e).map(|i| AccessId(i as u32));
    let target = access(update.target)?;
    let other = access(update.other)?;
    let (t, o) = (&f.accesses[target.0 as usize], &f.accesses[other.0 as usize]);
    if t.space != Space::Shared || t.base != o.base || !t.members.is_empty() || t.members != o.members {
        return None;
    }
    let ([lane], [far]) = (t.indices.as_slice(), o.indices.as_slice()) else { return None };
    let is_distance = |e: ExprId| matches!(f.kind_of(e), ExprKind::Var(v) if *v == distance);
    let ExprKind::Binary { op: BinaryOp::Add, left, right } = f.kind_of(*far) else { return None };
    let near = if is_distance(*right) { *left } else { *right };
    if !(is_distance(*left) || is_distance(*right)) || !same_expr(f, near, *lane) {
        return None;
    }
    let guard = conjuncts(f, condition).into_iter().find(|c| match f.kind_of(*c) {
        ExprKind::Binary { op: BinaryOp::Lt, left, right } => same_expr(f, *left, *lane) && is_distance(*right),
        ExprKind::Binary { op: BinaryOp::Gt, left, right } => same_expr(f, *right, *lane) && is_distance(*left),
        _ => false,
    })?;
    Some(ReductionKind::SharedTree { tile: t.base, lane: *lane, target, other, barrier, guard })
}

fn conjuncts(f: &Function, e: ExprId) -> Vec<ExprId> {
    let (mut found, mut stack) = (vec![], vec![e]);
    while let Some(e) = stack.pop() {
        match f.kind_of(e) {
            ExprKind::Binary { op: BinaryOp::And, left, right } => stack.extend([*right, *left]),
            _ => found.push(e),
        }
    }
    found
}
