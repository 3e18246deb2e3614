//! Integer arithmetic by the rules of C++ for types of fixed width: wrapping, conversion, truncation.

use std::sync::Arc;

use super::atom::Atom;
use super::because::Because;
use super::eval::{Mask, constant, int, low_mask, ordered};
use super::poly::{Poly, function};
use super::value::{Formula, IntValue, Truth, Value, common, promote, type_range};
use super::walk::{Walker, is_thread_stride, scalar_of};
use crate::ir::*;
use crate::source::Span;

impl Walker<'_> {
    pub(super) fn unary(&mut self, op: UnaryOp, operand: ExprId) -> Value {
        if op == UnaryOp::Not {
            let t = self.truth(operand);
            return Value::Truth(Truth { formula: t.formula.negate(), ..t });
        }
        let Some(v) = self.integer(operand) else { return Value::Other };
        let v = self.convert(v.clone(), promote(v.ty));
        let poly = match op {
            UnaryOp::Plus => Some(v.poly.clone()),
            UnaryOp::Neg => v.poly.neg(),
            _ if v.ty.is_unsigned() => type_range(v.ty).hi.and_then(|top| Poly::constant(top).sub(&v.poly)),
            _ => v.poly.neg().and_then(|p| p.offset(-1)),
        };
        self.finish(poly, v.ty, v.modular, v.because)
    }

    pub(super) fn binary(&mut self, op: BinaryOp, l: Value, r: Value, span: Span) -> Value {
        use BinaryOp::*;
        match (&l, &r) {
            (Value::Pointer(p), _) if matches!(op, Add | Sub) && !matches!(r, Value::Pointer(_)) => {
                let p = p.clone();
                return match self.as_integer(r, span) {
                    Some(i) => self.advance(&p, &i, op == Sub).map_or(Value::Other, Value::Pointer),
                    None => Value::Other,
                };
            }
            (_, Value::Pointer(p)) if op == Add && !matches!(l, Value::Pointer(_)) => {
                let p = p.clone();
                return match self.as_integer(l, span) {
                    Some(i) => self.advance(&p, &i, false).map_or(Value::Other, Value::Pointer),
                    None => Value::Other,
                };
            }
            _ => {}
        }
        let uniform = self.is_uniform(&l) && self.is_uniform(&r);
        let because = l.because().and(&r.because());
        let compare = matches!(op, Eq | Ne | Lt | Le | Gt | Ge);
        let (Some(a), Some(b)) = (self.as_integer(l, span), self.as_integer(r, span)) else {
            return if compare {
                Value::Truth(Truth { formula: Formula::Unknown, uniform, because })
            } else {
                Value::Other
            };
        };
        if compare {
            return Value::Truth(self.comparison(op, a, b, uniform));
        }
        let ty = if matches!(op, Shl | Shr) { promote(a.ty) } else { common(a.ty, b.ty) };
        let a = self.convert(a, ty);
        let b = if matches!(op, Shl | Shr) { b } else { self.convert(b, ty) };
        let because = a.because.clone().and(&b.because);
        let modular = a.modular || b.modular;
        let poly = match op {
            Add => a.poly.add(&b.poly),
            Sub => a.poly.sub(&b.poly),
            Mul => a.poly.mul(&b.poly),
            _ => return self.inexact(op, a, b, ty, uniform, because),
        };
        match poly {
            Some(_) => self.finish(poly, ty, modular, because),
            None => self.fresh_int(ty, uniform, because),
        }
    }

    pub(super) fn comparison(&mut self, op: BinaryOp, a: IntValue, b: IntValue, uniform: bool) -> Truth {
        let ty = common(a.ty, b.ty);
        let (a, b) = (self.convert(a, ty), self.convert(b, ty));
        let because = a.because.clone().and(&b.because);
        let formula = if a.modular || b.modular {
            None
        } else {
            let less = |x: &Poly, y: &Poly, by: i128| y.sub(x).and_then(|p| p.offset(-by)).map(Formula::NonNeg);
            match op {
                BinaryOp::Lt => less(&a.poly, &b.poly, 1),
                BinaryOp::Le => less(&a.poly, &b.poly, 0),
                BinaryOp::Gt => less(&b.poly, &a.poly, 1),
                BinaryOp::Ge => less(&b.poly, &a.poly, 0),
                BinaryOp::Eq => a.poly.sub(&b.poly).map(Formula::Zero),
                _ => a.poly.sub(&b.poly).map(Formula::NonZero),
            }
        };
        let formula = match formula {
            Some(Formula::NonNeg(p)) if p.as_constant().is_some() => {
                if p.constant_term() >= 0 {
                    Formula::True
                } else {
                    Formula::False
                }
            }
            Some(Formula::Zero(p)) if p.as_constant().is_some() => {
                if p.is_zero() {
                    Formula::True
                } else {
                    Formula::False
                }
            }
            Some(Formula::NonZero(p)) if p.as_constant().is_some() => {
                if p.is_zero() {
                    Formula::False
                } else {
                    Formula::True
                }
            }
            other => other.unwrap_or(Formula::Unknown),
        };
        Truth { formula, uniform, because }
    }

    /// Division, remainder, shifts and bit operations.
    pub(super) fn inexact(
        &mut self,
        op: BinaryOp,
        a: IntValue,
        b: IntValue,
        ty: Scalar,
        uniform: bool,
        because: Because,
    ) -> Value {
        use BinaryOp::*;
        let k = b.poly.as_constant();
        let bits = i128::from(8 * ty.bytes());
        let power = k.filter(|k| (0..bits).contains(k)).and_then(|k| 1i128.checked_shl(k as u32));
        let mut why = because.clone();
        let known = self.known.clone();
        let nonneg = if a.modular { None } else { known.prove_nonneg(&a.poly) };
        let poly = match (op, k) {
            (Shl, _) => {
                let shifted = power.and_then(|p| a.poly.scale(p));
                return match shifted {
                    Some(p) => self.finish_shift(p, ty, a.modular, because),
                    None => self.fresh_int(ty, uniform, because),
                };
            }
            (Shr, _) if !a.modular => power.and_then(|p| a.poly.div_floor(p)),
            (Div, Some(d)) if d > 0 && !a.modular => match nonneg.or_else(|| self.divides(d, &a.poly)) {
                Some(b) => {
                    why.join(&b);
                    a.poly.div_floor(d)
                }
                None => function("quot", vec![a.poly.clone(), b.poly.clone()]),
            },
            (Rem, Some(d)) if d > 0 && !a.modular => match &nonneg {
                Some(b) => {
                    why.join(b);
                    a.poly.mod_floor(d)
                }
                None => function("rem", vec![a.poly.clone(), b.poly.clone()]),
            },
            // A modular value still has its remainder by a power of two.
            (Rem, Some(d)) if d > 0 && a.modular && ty == Scalar::U64 && d & (d - 1) == 0 => a.poly.mod_floor(d),
            (Div, _) if !a.modular && !b.modular => function("quot", vec![a.poly.clone(), b.poly.clone()]),
            (Rem, _) if !a.modular && !b.modular => function("rem", vec![a.poly.clone(), b.poly.clone()]),
            (BitAnd, _) => match (low_mask(k, ty), low_mask(a.poly.as_constant(), ty)) {
                (Some(Mask::Keep(m)), _) => a.poly.mod_floor(m),
                (Some(Mask::Clear(m)), _) if !a.modular => a.poly.mod_floor(m).and_then(|r| a.poly.sub(&r)),
                (_, Some(Mask::Keep(m))) => b.poly.mod_floor(m),
                _ if !a.modular && !b.modular => function("bit.and", ordered(&a.poly, &b.poly)),
                _ => None,
            },
            (BitOr, _) if !a.modular && !b.modular => function("bit.or", ordered(&a.poly, &b.poly)),
            (BitXor, _) if !a.modular && !b.modular => function("bit.xor", ordered(&a.poly, &b.poly)),
            _ => None,
        };
        match poly {
            Some(poly) => int(poly, ty, why),
            None => self.fresh_int(ty, uniform, because),
        }
    }

    /// Why `divisor` divides `poly`. Nothing else in a walk rests on congruences.
    fn divides(&mut self, divisor: i128, poly: &Poly) -> Option<Because> {
        self.out.asked_divisibility = true;
        self.known.prove_divides(divisor, poly)
    }

    /// Shifting left may move bits out without being undefined; the value is exact only where it fits.
    pub(super) fn finish_shift(&mut self, poly: Poly, ty: Scalar, modular: bool, because: Because) -> Value {
        if ty.is_unsigned() || modular {
            return self.finish(Some(poly), ty, modular, because);
        }
        let (range, why) = self.known.range(&poly);
        let why = if range.within(type_range(ty)) { why } else { self.no_wrap_assumption() };
        int(poly, ty, because.and(&why))
    }

    pub(super) fn no_wrap_assumption(&self) -> Because {
        Because::assuming(if self.context.no_wrap { "no_wrap" } else { "implicit:no-wrap" })
    }

    /// The result of exact integer arithmetic in type `ty`. Signed overflow is undefined, so that the mathematical value
    /// is the value; unsigned values wrap.
    pub(super) fn finish(&mut self, poly: Option<Poly>, ty: Scalar, modular: bool, because: Because) -> Value {
        let Some(poly) = poly else { return self.fresh_int(ty, false, because) };
        if !ty.is_unsigned() || modular {
            return Value::Int(IntValue { poly, ty, modular, because });
        }
        let (range, why) = self.known.range(&poly);
        if range.within(type_range(ty)) {
            return int(poly, ty, because.and(&why));
        }
        if ty == Scalar::U64 {
            return match (self.known.prove_nonneg(&poly), range.hi) {
                (Some(b), Some(hi)) if type_range(ty).hi.is_some_and(|t| hi <= t) => {
                    int(poly, ty, because.and(&b).and(&why))
                }
                _ => Value::Int(IntValue { poly, ty, modular: true, because }),
            };
        }
        match self.known.prove_nonneg(&poly) {
            Some(b) if range.hi.is_some_and(|h| Some(h) <= type_range(ty).hi) => {
                int(poly, ty, because.and(&b).and(&why))
            }
            Some(b) if is_thread_stride(&poly) => {
                int(poly, ty, because.and(&b).and(&Because::assuming("standing:no-wrap-thread-index")))
            }
            // A summand like `(unsigned)-1` is meant to wrap.
            Some(b) if range.lo <= type_range(Scalar::I32).hi && poly.constant_term() <= i128::from(i32::MAX) => {
                let assumption = self.no_wrap_assumption();
                int(poly, ty, because.and(&b).and(&assumption))
            }
            // It may go below zero, where it wraps for certain.
            _ => match function("wrap.u32", vec![poly]) {
                Some(p) => int(p, ty, because),
                None => self.fresh_int(ty, false, because),
            },
        }
    }

    /// Converts to another integer type.
    pub(super) fn convert(&mut self, v: IntValue, to: Scalar) -> IntValue {
        if v.ty == to {
            return v;
        }
        let IntValue { poly, ty, modular, because } = v;
        if to.bytes() == 8 && modular {
            return IntValue { poly, ty: to, modular, because };
        }
        if !modular {
            let (range, why) = self.known.range(&poly);
            let low = range.lo.zip(type_range(to).lo).is_some_and(|(a, b)| a >= b);
            let high = range.hi.zip(type_range(to).hi).is_some_and(|(a, b)| a <= b);
            if low && high {
                return IntValue { poly, ty: to, modular, because: because.and(&why) };
            }
            let from_above = if low { Some(why.clone()) } else { self.known.prove_nonneg(&poly) };
            if let (Some(b), true) = (&from_above, high) {
                return IntValue { poly, ty: to, modular, because: because.and(&why).and(b) };
            }
            let is_index =
                poly.atoms().iter().any(|a| matches!(a, Atom::Thread(_) | Atom::Block(_) | Atom::BlockDim(_)));
            if let (Some(b), Scalar::U32, Scalar::I32, true) = (from_above, ty, to, is_index) {
                let assumption = if is_thread_stride(&poly) {
                    Because::assuming("standing:no-wrap-thread-index")
                } else {
                    self.no_wrap_assumption()
                };
                return IntValue { poly, ty: to, modular, because: because.and(&b).and(&assumption) };
            }
            if to.bytes() == 8 {
                // Only a negative value becoming unsigned comes here, or the converse: congruent modulo 2^64.
                return IntValue { poly, ty: to, modular: true, because };
            }
        }
        let name = if to == Scalar::U32 { "wrap.u32".to_owned() } else { format!("to.{}", to.name()) };
        match function(&name, vec![poly.clone()]) {
            Some(p) => {
                if let Some(atom) = p.as_atom() {
                    Arc::make_mut(&mut self.known).bound(atom.clone(), type_range(to), Because::nothing());
                }
                IntValue { poly: p, ty: to, modular: false, because }
            }
            None => match self.fresh_int(to, false, because) {
                Value::Int(i) => i,
                _ => constant(0),
            },
        }
    }

    pub(super) fn convert_to_type(&mut self, v: Value, ty: &Type, span: Span) -> Value {
        match (scalar_of(ty), v) {
            (Some(Scalar::Bool), Value::Int(i)) if !i.modular => {
                let uniform = self.poly_is_uniform(&i.poly);
                Value::Truth(Truth { formula: Formula::NonZero(i.poly), uniform, because: i.because })
            }
            (Some(Scalar::Bool), Value::Truth(t)) => Value::Truth(t),
            (Some(s), v @ (Value::Int(_) | Value::Truth(_))) if s.is_integer() => match self.as_integer(v, span) {
                Some(i) => Value::Int(self.convert(i, s)),
                None => Value::Other,
            },
            (Some(s), _) if s.is_integer() => {
                self.fresh_int(s, false, Because::at(span, "converted from a value that is not modelled"))
            }
            (Some(_), _) => Value::Other,
            (None, v) => match (ty, v) {
                (Type::Pointer(p), Value::Pointer(mut v)) => {
                    v.pointee = p.ty.clone();
                    Value::Pointer(v)
                }
                (Type::Auto, v) => v,
                (Type::Named(n), v @ Value::Dim3(..)) if n.rsplit("::").next() == Some("dim3") => v,
                _ => Value::Other,
            },
        }
    }

    pub(super) fn extreme(&mut self, name: &str, a: IntValue, b: IntValue) -> Value {
        let ty = common(a.ty, b.ty);
        let (a, b) = (self.convert(a, ty), self.convert(b, ty));
        let because = a.because.clone().and(&b.because);
        if a.modular || b.modular {
            return self.fresh_int(ty, false, because);
        }
        match function(name, ordered(&a.poly, &b.poly)) {
            Some(p) => int(p, ty, because),
            None => self.fresh_int(ty, false, because),
        }
    }
}
