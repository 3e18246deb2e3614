//! Expressions of host code.

use super::arith::{binary, cast, construct, select, type_named, unary};
use super::host::{Frame, Host};
use super::value::{Val, combine};
use crate::contract::{Expr, Op};
use crate::ir::*;

impl<'a> Host<'a> {
    /// The value of an expression, with its effects.
    pub(super) fn eval(&mut self, frame: &Frame<'a>, e: ExprId) -> Val {
        if self.depth > 200 {
            return Val::unknown("nested too deeply");
        }
        self.depth += 1;
        let value = self.eval_inner(frame, e);
        self.depth -= 1;
        value
    }

    fn eval_inner(&mut self, frame: &Frame<'a>, e: ExprId) -> Val {
        let f = frame.f;
        match f.kind_of(e) {
            ExprKind::Int(v) => i64::try_from(*v).map_or_else(|_| Val::unknown("it does not fit 64 bits"), Val::int),
            ExprKind::Bool(b) => Val::int(i64::from(*b)),
            ExprKind::Float(text) => {
                let plain = text.trim_end_matches(['f', 'F', 'l', 'L']);
                plain.parse().map_or_else(|_| Val::unknown("a number that is not understood"), Val::Float)
            }
            ExprKind::Null => Val::Null,
            ExprKind::Str(_) => Val::unknown("a text"),
            ExprKind::Var(_)
            | ExprKind::Name(_)
            | ExprKind::Member { .. }
            | ExprKind::Index { .. }
            | ExprKind::Deref(_) => self.load(frame, e),
            ExprKind::Unary { op, operand } => {
                let v = self.eval(frame, *operand);
                unary(*op, v)
            }
            ExprKind::Binary { op, left, right } => {
                let a = self.eval(frame, *left);
                let b = self.eval(frame, *right);
                self.binary(*op, a, b, f.expr(e).span)
            }
            ExprKind::Assign { op, target, value } => {
                let v = self.eval(frame, *value);
                let v = match op {
                    None => v,
                    Some(op) => {
                        let old = self.load(frame, *target);
                        self.binary(*op, old, v, f.expr(e).span)
                    }
                };
                self.store(frame, *target, v.clone());
                v
            }
            ExprKind::Increment { target, delta, prefix } => {
                let old = self.load(frame, *target);
                let op = if *delta > 0 { BinaryOp::Add } else { BinaryOp::Sub };
                let new = self.binary(op, old.clone(), Val::int(1), f.expr(e).span);
                self.store(frame, *target, new.clone());
                if *prefix { new } else { old }
            }
            ExprKind::AddressOf(inner) => self.address(frame, *inner),
            ExprKind::Call { callee, receiver, template_args, args } => {
                self.call(frame, e, callee, *receiver, template_args, args)
            }
            ExprKind::CallValue { callee, args } => {
                let target = self.eval(frame, *callee);
                let values = args.iter().map(|a| self.eval(frame, *a)).collect();
                self.call_lambda(target, values)
            }
            ExprKind::Cast { ty, operand, .. } => {
                let v = self.eval(frame, *operand);
                cast(ty, v)
            }
            ExprKind::Conditional { condition, then, otherwise } => {
                self.conditional(frame, *condition, *then, *otherwise)
            }
            ExprKind::Comma { left, right } => {
                self.eval(frame, *left);
                self.eval(frame, *right)
            }
            ExprKind::InitList(items) | ExprKind::Construct { args: items, .. } => {
                let ty = if let ExprKind::Construct { ty, .. } = f.kind_of(e) { Some(ty) } else { None };
                let values: Vec<Val> = items.iter().map(|i| self.eval(frame, *i)).collect();
                construct(ty, &values)
            }
            ExprKind::Lambda(id) => Val::Lambda(frame.unit, *id),
            ExprKind::SizeOf(ty) => {
                match ty.clone().or_else(|| self.named_in_sizeof(frame, e)).and_then(|t| self.size_of(frame, &t)) {
                    Some(n) => Val::int(n),
                    None => Val::unknown("the size of a type that is not known"),
                }
            }
            ExprKind::Launch(index) => {
                self.launch(frame, *index);
                Val::Null
            }
            ExprKind::Opaque { what, children } => {
                let values: Vec<Val> = children.iter().map(|c| self.eval(frame, *c)).collect();
                if what.starts_with("new") {
                    Val::Host(values.last().and_then(Val::as_int))
                } else {
                    Val::unknown(what.clone())
                }
            }
            ExprKind::This | ExprKind::Builtin(_) => Val::unknown("not known on the host"),
        }
    }

    /// The name in `sizeof(Name)`, which the text does not say to be a type; what is declared under it decides.
    fn named_in_sizeof(&self, frame: &Frame, e: ExprId) -> Option<Type> {
        let text = self.sources.slice(frame.f.expr(e).span).trim().strip_prefix("sizeof")?.trim();
        let inner = text.strip_prefix('(').and_then(|t| t.strip_suffix(')')).unwrap_or(text).trim();
        let is_name = inner.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | ' '));
        (is_name && !inner.is_empty()).then(|| Type::Named(inner.to_owned()))
    }

    pub(super) fn size_of(&self, frame: &Frame, ty: &Type) -> Option<i64> {
        match ty {
            Type::Param(p) => {
                let text = frame.types.get(p)?;
                type_named(text).and_then(|t| t.bytes()).map(i64::from)
            }
            Type::Named(_) => {
                let units = self.view.units(self.root, frame.unit);
                self.view.layout(self.program, &units, ty).map(|l| l.bytes)
            }
            t => t.bytes().map(i64::from),
        }
    }

    fn conditional(&mut self, frame: &Frame<'a>, condition: ExprId, then: ExprId, otherwise: ExprId) -> Val {
        let c = self.eval(frame, condition);
        if let Some(v) = c.as_int().and_then(|e| e.constant()) {
            return self.eval(frame, if v != 0 { then } else { otherwise });
        }
        let a = self.eval(frame, then);
        let b = self.eval(frame, otherwise);
        match (c.as_int(), &a, &b) {
            (_, Val::Input(_), other) | (_, other, Val::Input(_)) => {
                Val::Input(other.as_int().and_then(|e| self.sampled(&e)))
            }
            (Some(c), Val::Int(x), Val::Int(y)) => select(c, x.clone(), y.clone()),
            _ if a == b => a,
            _ => Val::unknown("it depends on a condition that is not known"),
        }
    }

    pub(super) fn binary(&mut self, op: BinaryOp, a: Val, b: Val, span: crate::source::Span) -> Val {
        let settle = |host: &mut Self, v: Val| match v {
            Val::Input(sample) => Val::Int(Expr::name(host.symbol("input", sample, span, true))),
            v => v,
        };
        let (a, b) = (settle(self, a), settle(self, b));
        if let (Val::Device { buffer, bytes }, BinaryOp::Add | BinaryOp::Sub, Some(by)) = (&a, op, b.as_int()) {
            let width =
                self.buffers.get(*buffer).and_then(|b| b.element).map(|(s, n)| i64::from(s.bytes()) * i64::from(n));
            let Some(width) = width else { return Val::unknown("an address in memory of unknown type") };
            let distance = combine(Op::Mul, by, Expr::Int(width));
            let way = if op == BinaryOp::Add { Op::Add } else { Op::Sub };
            return Val::Device { buffer: *buffer, bytes: combine(way, bytes.clone(), distance) };
        }
        if let (Val::Host(_), BinaryOp::Add | BinaryOp::Sub, _) = (&a, op, &b) {
            return Val::Host(None);
        }
        let floats = |v: &Val| matches!(v, Val::Float(_) | Val::Ratio(..) | Val::Approx(_));
        let at_samples = (floats(&a) || floats(&b)).then(|| Some((self.approximately(&a)?, self.approximately(&b)?)));
        match (binary(op, a, b), at_samples.flatten()) {
            (Val::Unknown(_), Some((x, y))) => match super::arith::float(op, x, y) {
                Val::Float(v) => Val::Approx(v),
                other => other,
            },
            (found, _) => found,
        }
    }

    /// A number with every size at its sample.
    pub(super) fn approximately(&self, v: &Val) -> Option<f64> {
        match v {
            Val::Float(x) | Val::Approx(x) => Some(*x),
            Val::Int(e) => self.sampled(e).map(|v| v as f64),
            Val::Ratio(a, b) => Some(self.sampled(a)? as f64 / self.sampled(b)? as f64),
            _ => None,
        }
    }
}
