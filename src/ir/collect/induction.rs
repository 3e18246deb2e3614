//! Induction variables: `for (i = init; i < bound; step)` with `i` written nowhere else in the loop.

use crate::ir::query::{self, Signatures};
use crate::ir::*;
use std::collections::BTreeSet;

pub(super) fn run(f: &mut Function, known: &Signatures, by_lambdas: &[String], escaped: &BTreeSet<VarId>) {
    for index in 0..f.loops.len() {
        let found = recognise(f, f.loops[index].stmt, index, known, escaped).filter(|(i, _)| {
            !escaped.contains(&i.var) && !by_lambdas.contains(&f.var(i.var).name) && !f.var(i.var).is_volatile
        });
        let Some((mut induction, zero)) = found else { continue };
        if let Some(zero) = zero {
            f.exprs.push(zero);
            induction.bound = ExprId(f.exprs.len() as u32 - 1);
        }
        f.loops[index].induction = Some(induction);
    }
}

/// The induction of the loop at `stmt`; the second value is a zero bound to be added, for `for (..; s; s >>= 1)`.
fn recognise(
    f: &Function,
    stmt: StmtId,
    index: usize,
    known: &Signatures,
    escaped: &BTreeSet<VarId>,
) -> Option<(Induction, Option<Expr>)> {
    let (init, condition, step) = match &f.stmts.get(stmt.0 as usize)?.kind {
        StmtKind::For { id, init, condition, step, .. } if id.0 as usize == index => {
            (init.as_slice(), (*condition)?, (*step)?)
        }
        StmtKind::While { id, condition, body } if id.0 as usize == index && !f.loops[index].has_continue => {
            // The step is the last statement, so that every iteration passes it.
            let StmtKind::Expr(step) = f.stmt(*body.stmts.last()?).kind else { return None };
            (&[][..], *condition, step)
        }
        _ => return None,
    };
    let (var, compare, bound) = compared(f, condition, step)?;
    let step = step_of(f, step, var)?;
    let all_writes = query::writes_of(f, stmt, known);
    let writes = all_writes.iter().filter(|v| **v == var).count();
    let amount = match step {
        Step::By(_) => None,
        Step::Add { amount, .. } | Step::Scale { amount, .. } => Some(amount),
    };
    let open = |v: &VarId| all_writes.contains(v) || escaped.contains(v);
    let fixed = |e: ExprId| !f.under(e).any(|e| matches!(f.kind_of(e), ExprKind::Var(v) if open(v)));
    if !bound.into_iter().chain(amount).all(fixed) {
        return None;
    }
    let (start, declared, in_init) = initial(f, init, var);
    if writes != 1 + in_init || !matches!(f.var(var).kind, VarKind::Local | VarKind::Param) {
        return None;
    }
    if matches!(f.var(var).ty, Type::Reference(_)) {
        return None;
    }
    let zero = bound.is_none().then(|| Expr {
        kind: ExprKind::Int(0),
        span: f.expr(condition).span,
        ty: Type::Scalar(Scalar::I32),
    });
    let bound = bound.unwrap_or(condition);
    Some((Induction { var, init: start, compare, bound, step, declared_in_header: declared }, zero))
}

/// The variable, comparison and bound of a condition; no bound stands for zero.
fn compared(f: &Function, condition: ExprId, step: ExprId) -> Option<(VarId, Compare, Option<ExprId>)> {
    match f.kind_of(condition) {
        ExprKind::Binary { op, left, right } => {
            let compare = comparison(*op)?;
            let stepped = |e: ExprId| variable(f, e).filter(|v| step_of(f, step, *v).is_some());
            if let Some(v) = stepped(*left) {
                return Some((v, compare, Some(*right)));
            }
            let v = stepped(*right)?;
            Some((v, flipped(compare), Some(*left)))
        }
        ExprKind::Var(v) => Some((*v, Compare::Ne, None)),
        _ => None,
    }
}

fn comparison(op: BinaryOp) -> Option<Compare> {
    Some(match op {
        BinaryOp::Lt => Compare::Lt,
        BinaryOp::Le => Compare::Le,
        BinaryOp::Gt => Compare::Gt,
        BinaryOp::Ge => Compare::Ge,
        BinaryOp::Ne => Compare::Ne,
        _ => return None,
    })
}

fn flipped(c: Compare) -> Compare {
    match c {
        Compare::Lt => Compare::Gt,
        Compare::Le => Compare::Ge,
        Compare::Gt => Compare::Lt,
        Compare::Ge => Compare::Le,
        Compare::Ne => Compare::Ne,
    }
}

fn variable(f: &Function, e: ExprId) -> Option<VarId> {
    match f.kind_of(e) {
        ExprKind::Var(v) => Some(*v),
        _ => None,
    }
}

/// How the step expression changes `var`; of `i++, j++` the part that does.
fn step_of(f: &Function, step: ExprId, var: VarId) -> Option<Step> {
    match f.kind_of(step) {
        ExprKind::Comma { left, right } => step_of(f, *left, var).or_else(|| step_of(f, *right, var)),
        ExprKind::Increment { target, delta, .. } if variable(f, *target) == Some(var) => {
            Some(Step::By((*delta).into()))
        }
        ExprKind::Assign { op: Some(op), target, value } if variable(f, *target) == Some(var) => {
            by_operator(*op, *value)
        }
        ExprKind::Assign { op: None, target, value } if variable(f, *target) == Some(var) => {
            // `i = i + e`, `i = e + i`, `i = i / e`.
            let ExprKind::Binary { op, left, right } = f.kind_of(*value) else { return None };
            if variable(f, *left) == Some(var) {
                by_operator(*op, *right)
            } else if variable(f, *right) == Some(var) && matches!(op, BinaryOp::Add | BinaryOp::Mul) {
                by_operator(*op, *left)
            } else {
                None
            }
        }
        _ => None,
    }
}

fn by_operator(op: BinaryOp, amount: ExprId) -> Option<Step> {
    Some(match op {
        BinaryOp::Add => Step::Add { amount, negated: false },
        BinaryOp::Sub => Step::Add { amount, negated: true },
        BinaryOp::Mul | BinaryOp::Div | BinaryOp::Shl | BinaryOp::Shr => Step::Scale { op, amount },
        _ => return None,
    })
}

/// The start value, whether the header declares the variable, and how many writes the header's first part holds.
fn initial(f: &Function, init: &[StmtId], var: VarId) -> (Option<ExprId>, bool, usize) {
    for stmt in init {
        match &f.stmt(*stmt).kind {
            StmtKind::Declare { var: v, init } if *v == var => return (*init, true, 1),
            StmtKind::Expr(e) => {
                if let Some(value) = assigned(f, *e, var) {
                    return (Some(value), false, 1);
                }
            }
            _ => {}
        }
    }
    (None, false, 0)
}

fn assigned(f: &Function, e: ExprId, var: VarId) -> Option<ExprId> {
    match f.kind_of(e) {
        ExprKind::Assign { op: None, target, value } if variable(f, *target) == Some(var) => Some(*value),
        ExprKind::Comma { left, right } => assigned(f, *right, var).or_else(|| assigned(f, *left, var)),
        _ => None,
    }
}
