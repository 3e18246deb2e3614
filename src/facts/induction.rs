//! Variables that grow by the same amount in every iteration.

use std::collections::BTreeMap;

use super::atom::Atom;
use super::because::Because;
use super::effects::Writes;
use super::env::Env;
use super::poly::Poly;
use super::state::Births;
use super::value::{IntValue, PointerValue, Value, common, type_range};
use super::walk::{Walker, is_thread_stride, scalar_of};
use crate::ir::*;

impl<'a> Walker<'a> {
    /// Variables that grow by the same amount in every iteration; their value becomes `start + iteration * amount`.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn inductions(
        &mut self,
        id: LoopId,
        writes: &Writes,
        entry: &Env,
        condition: Option<ExprId>,
        step: Option<ExprId>,
        body: &Block,
    ) -> BTreeMap<VarId, (Poly, Poly, Because)> {
        let mut found = BTreeMap::new();
        if writes.all {
            return found;
        }
        let has_continue = self.exits(body, true, 0).iter().any(|(_, w)| *w == "continue");
        for (v, count) in &writes.vars {
            if *count != 1 || self.notes.escaped.contains(v) {
                continue;
            }
            let Some(e) = self.only_change(*v, step, body) else { continue };
            let in_step = step.is_some_and(|s| self.f.walk(s).contains(&e));
            if !in_step && has_continue {
                continue;
            }
            let Some((amount, negated)) = self.change(*v, e) else { continue };
            if let Some(entry) = entry.get(v)
                && let Some(hit) = self.induct(id, *v, entry, amount, negated, condition)
            {
                found.insert(*v, hit);
            }
        }
        found
    }

    /// By what `e` changes `var`: an expression or 1, and whether it is taken away.
    pub(super) fn change(&mut self, var: VarId, e: ExprId) -> Option<(Value, bool)> {
        let one = |delta: i8| {
            (
                Value::Int(IntValue {
                    poly: Poly::constant(1),
                    ty: Scalar::I32,
                    modular: false,
                    because: Because::nothing(),
                }),
                delta < 0,
            )
        };
        let (amount, negated) = match self.f.kind_of(e).clone() {
            ExprKind::Increment { delta, .. } => return Some(one(delta)),
            ExprKind::Assign { op: Some(BinaryOp::Add), value, .. } => (value, false),
            ExprKind::Assign { op: Some(BinaryOp::Sub), value, .. } => (value, true),
            ExprKind::Assign { op: None, value, .. } => match self.f.kind_of(value) {
                ExprKind::Binary { op: BinaryOp::Add, left, right } if *self.f.kind_of(*left) == ExprKind::Var(var) => {
                    (*right, false)
                }
                ExprKind::Binary { op: BinaryOp::Add, left, right }
                    if *self.f.kind_of(*right) == ExprKind::Var(var) =>
                {
                    (*left, false)
                }
                ExprKind::Binary { op: BinaryOp::Sub, left, right } if *self.f.kind_of(*left) == ExprKind::Var(var) => {
                    (*right, true)
                }
                _ => return None,
            },
            _ => return None,
        };
        Some((self.amount(amount)?, negated))
    }

    pub(super) fn induct(
        &mut self,
        id: LoopId,
        var: VarId,
        entry: &Value,
        amount: Value,
        negated: bool,
        condition: Option<ExprId>,
    ) -> Option<(Poly, Poly, Because)> {
        let Value::Int(amount) = amount else { return None };
        let invariant = |p: &Poly| {
            let own = self.born.last().map(|from| Births { from: *from, to: self.fresh });
            own.is_none_or(|born| !born.stand_in(p)) && !p.mentions(&Atom::Iter(id))
        };
        if amount.modular || !invariant(&amount.poly) {
            return None;
        }
        let signed = if negated { amount.poly.neg()? } else { amount.poly.clone() };
        let iter = Poly::atom(Atom::Iter(id));
        let mut because = amount.because.clone();
        match entry {
            Value::Int(start) => {
                if scalar_of(&self.f.var(var).ty).is_some_and(|s| s != start.ty) {
                    return None;
                }
                let poly = start.poly.add(&iter.mul(&signed)?)?;
                because.join(&start.because);
                if start.ty.bytes() < 4 || amount.ty.bytes() > start.ty.bytes() || amount.ty.is_float() {
                    return None;
                }
                if start.ty.is_unsigned() || amount.ty.is_unsigned() {
                    because.join(&self.no_wrap(start, &signed, condition, var)?);
                }
                let value = IntValue { poly, ty: start.ty, modular: start.modular, because: because.clone() };
                self.env.insert(var, Value::Int(value));
                Some((start.poly.clone(), signed, because))
            }
            Value::Pointer(start) => {
                let size = self.size_of(&start.pointee)?;
                let bytes = signed.mul(&size)?;
                let poly = start.offset.add(&iter.mul(&bytes)?)?;
                because.join(&start.because);
                self.env.insert(
                    var,
                    Value::Pointer(PointerValue { offset: poly, because: because.clone(), ..start.clone() }),
                );
                Some((start.offset.clone(), bytes, because))
            }
            _ => None,
        }
    }

    /// Why an unsigned counter does not wrap: its bound leaves room for the step, or by assumption.
    pub(super) fn no_wrap(
        &mut self,
        start: &IntValue,
        amount: &Poly,
        condition: Option<ExprId>,
        var: VarId,
    ) -> Option<Because> {
        if start.modular {
            return None;
        }
        let up = self.known.prove_nonneg(amount)?;
        // A step like `(unsigned)-1` is meant to wrap.
        let most = type_range(Scalar::I32).hi;
        if start.ty.bytes() == 4
            && (self.known.range(amount).0.lo > most || amount.constant_term() > i128::from(i32::MAX))
        {
            return None;
        }
        let bound = condition.and_then(|c| self.strict_bound(c, var));
        if let Some(bound) = bound {
            // Below a value of its own type: one more still fits.
            if amount.as_constant() == Some(1) && bound.ty.bytes() <= start.ty.bytes() && start.ty.is_unsigned() {
                return Some(up);
            }
            let compared = common(bound.ty, start.ty);
            let exact = !compared.is_unsigned() || self.known.prove_nonneg(&bound.poly).is_some();
            let top = self.known.range(&bound.poly).0.hi.filter(|_| exact && !bound.modular);
            let (range, why) = self.known.range(amount);
            // The counter is at most top - 1 where the step runs.
            let last = top.zip(range.hi).and_then(|(t, a)| t.checked_add(a)).and_then(|s| s.checked_sub(1));
            if last.zip(type_range(start.ty).hi).is_some_and(|(l, max)| l <= max) {
                return Some(up.and(&why));
            }
        }
        // A constant first value and any thread index will do; the amount must be a block or grid size.
        let from = start.poly.as_constant().is_some_and(|c| (0..=1024).contains(&c)) || is_thread_stride(&start.poly);
        if from && is_thread_stride(amount) {
            return Some(up.and(&Because::assuming("standing:no-wrap-thread-index")));
        }
        Some(up.and(&Because::assuming(if self.context.no_wrap { "no_wrap" } else { "implicit:no-wrap" })))
    }

    /// `bound` in `var < bound`.
    pub(super) fn strict_bound(&mut self, condition: ExprId, var: VarId) -> Option<IntValue> {
        let (left, right) = match self.f.kind_of(condition) {
            ExprKind::Binary { op: BinaryOp::Lt, left, right } => (*left, *right),
            ExprKind::Binary { op: BinaryOp::Gt, left, right } => (*right, *left),
            _ => return None,
        };
        if *self.f.kind_of(left) != ExprKind::Var(var) {
            return None;
        }
        match self.amount(right)? {
            Value::Int(i) => Some(i),
            _ => None,
        }
    }
}
