//! Expressions: their symbolic values and side effects, by the rules of C++ for integers of fixed width.

use std::sync::Arc;

use super::because::Because;
use super::effects::{CallEffect, Root, VARYING, root};
use super::poly::{Atom, Poly, function};
use super::state::{AccessState, EventKind, LaunchState};
use super::value::{Formula, IntValue, PointerValue, Truth, Value, common, promote, type_range};
use super::walk::{Walker, is_thread_stride, scalar_of};
use crate::ir::*;
use crate::source::Span;

const MAX_DEPTH: u32 = 400;

impl Walker<'_> {
    pub(super) fn eval(&mut self, id: ExprId) -> Value {
        if self.depth > MAX_DEPTH {
            self.out.taint.get_or_insert((Some(self.f.expr(id).span), "nested too deeply".into()));
            return Value::Other;
        }
        self.depth += 1;
        let value = self.eval_inner(id);
        self.depth -= 1;
        if self.quiet == 0 {
            self.out.values.insert(id, (value.clone(), self.known.clone()));
            let place = self.place();
            self.out.places.insert(id, place);
        }
        value
    }

    fn eval_inner(&mut self, id: ExprId) -> Value {
        let f = self.f;
        let expr = f.expr(id);
        let at = |text: &str| Because::at(expr.span, text);
        match &expr.kind {
            ExprKind::Int(v) => self.literal(*v, &expr.ty),
            ExprKind::Bool(b) => {
                let formula = if *b { Formula::True } else { Formula::False };
                Value::Truth(Truth { formula, uniform: true, because: Because::nothing() })
            }
            ExprKind::Float(_) | ExprKind::Str(_) | ExprKind::Null | ExprKind::This | ExprKind::Lambda(_) => Value::Other,
            ExprKind::Var(v) => {
                // A shared or global scalar, or a reference.
                if self.by_access.contains_key(&id) {
                    let pointer = self.scalar_place(*v);
                    self.touch(id, pointer.as_ref(), false);
                }
                self.variable(*v, expr.span)
            }
            ExprKind::Name(n) => self.name(n, id),
            ExprKind::Builtin(b) => builtin(*b),
            ExprKind::Unary { op, operand } => self.unary(*op, *operand),
            ExprKind::Binary { op, left, right } => self.binary_expr(*op, *left, *right, expr.span),
            ExprKind::Assign { op, target, value } => self.assign(*op, *target, *value, expr.span),
            ExprKind::Increment { target, delta, prefix } => self.increment(*target, *delta, *prefix, expr.span),
            ExprKind::Index { .. } | ExprKind::Deref(_) => {
                let pointer = self.eval_place(id);
                self.touch(id, pointer.as_ref(), false);
                match pointer.map(|p| p.pointee.clone()) {
                    // An inner array decays; no memory is read.
                    Some(Type::Array { .. }) => self.decayed(id),
                    Some(ty) => self.fresh_of_type(&ty, false, at("read from memory")),
                    None => self.fresh_of_type(&expr.ty, false, at("read from memory")),
                }
            }
            ExprKind::AddressOf(inner) => self.eval_place(*inner).map_or(Value::Other, Value::Pointer),
            ExprKind::Member { base, name, arrow } => self.member(id, *base, name, *arrow),
            ExprKind::Call { callee, receiver, args, .. } => self.call(id, callee, *receiver, args),
            ExprKind::CallValue { callee, args } => {
                self.eval(*callee);
                args.iter().for_each(|a| drop(self.eval(*a)));
                self.anything(expr.span);
                self.fresh_of_type(&expr.ty, false, at("result of a call"))
            }
            ExprKind::Cast { style, ty, operand } => self.cast(*style, ty, *operand, expr.span),
            ExprKind::Conditional { condition, then, otherwise } => self.conditional(*condition, *then, *otherwise, id),
            ExprKind::Comma { left, right } => {
                self.eval(*left);
                self.eval(*right)
            }
            ExprKind::InitList(items) => {
                items.iter().for_each(|e| drop(self.eval(*e)));
                Value::Other
            }
            ExprKind::Construct { ty, args } => {
                let values: Vec<Value> = args.iter().map(|e| self.eval(*e)).collect();
                match ty {
                    Type::Named(n) if n.rsplit("::").next() == Some("dim3") => self.dim3_of(&values),
                    _ => Value::Other,
                }
            }
            ExprKind::SizeOf(ty) => match ty.as_ref().and_then(|t| self.size_of(t)) {
                Some(poly) => int(poly, Scalar::U64, Because::nothing()),
                None => self.fresh_int(Scalar::U64, true, at("a size that is not known")),
            },
            ExprKind::Launch(n) => self.launch(*n),
            ExprKind::Opaque { children, .. } => {
                children.iter().for_each(|e| drop(self.eval(*e)));
                self.anything(expr.span);
                self.fresh_of_type(&expr.ty, false, at("not modelled"))
            }
        }
    }

    fn literal(&mut self, v: i128, ty: &Type) -> Value {
        let ty = match scalar_of(ty) {
            Some(s) if s.is_integer() => s,
            Some(_) => return Value::Other,
            None if i32::try_from(v).is_ok() => Scalar::I32,
            None => Scalar::I64,
        };
        int(Poly::constant(v), ty, Because::nothing())
    }

    pub(super) fn variable(&mut self, v: VarId, span: Span) -> Value {
        let f = self.f;
        let var = f.var(v);
        if let Type::Array { elem, .. } = &var.ty
            && !matches!(var.kind, VarKind::Param)
        {
            let because = Because::at(var.name_span, format!("array `{}`", var.name));
            return Value::Pointer(PointerValue {
                root: v,
                offset: Poly::zero(),
                modular: false,
                pointee: (**elem).clone(),
                because,
            });
        }
        if self.escaped.contains(&v) {
            let because = Because::at(span, format!("`{}` may change without being named", var.name));
            let constant = (var.is_const || var.is_constexpr) && !var.is_volatile;
            if let Some(value) = self.global_constant(&var.name).filter(|_| constant && var.kind == VarKind::Global) {
                return int(Poly::constant(value), scalar_of(&var.ty).unwrap_or(Scalar::I32), because);
            }
            return self.fresh_of_type(&var.ty, false, because);
        }
        match self.env.get(&v) {
            Some(value) => value.clone(),
            None => {
                let because = Because::at(span, format!("`{}` has no value that is modelled", var.name));
                self.fresh_of_type(&var.ty, false, because)
            }
        }
    }

    fn global_constant(&self, name: &str) -> Option<i128> {
        let last = name.rsplit("::").next().unwrap_or(name);
        let named = |g: &&Global| (g.qualified == name || g.name == last) && (g.is_const || g.is_constexpr);
        let mut hits = self.scope.unit.globals.iter().filter(named);
        // Two constants of one name in different namespaces: which is meant is not known.
        match (hits.next(), hits.next()) {
            (Some(g), None) if !self.scope.macros.contains(&g.name) => g.value,
            _ => None,
        }
    }

    fn name(&mut self, name: &str, id: ExprId) -> Value {
        let span = self.f.expr(id).span;
        let because = Because::at(span, format!("`{name}`"));
        if let Some(t) = self.f.template.iter().find(|t| t.name == name) {
            let ty = t.value_type.as_ref().and_then(scalar_of);
            let because = because.and(&self.context.because);
            return match (self.context.values.get(name), ty) {
                (Some(v), Some(Scalar::Bool)) => {
                    let formula = if *v != 0 { Formula::True } else { Formula::False };
                    Value::Truth(Truth { formula, uniform: true, because })
                }
                (Some(v), Some(s)) if type_range(s).lo <= Some(*v) && Some(*v) <= type_range(s).hi => {
                    int(Poly::constant(*v), s, because)
                }
                (None, Some(Scalar::Bool)) => {
                    let atom = Poly::atom(Atom::Name(name.into()));
                    Value::Truth(Truth { formula: Formula::NonZero(atom), uniform: true, because })
                }
                (None, Some(s)) if s.is_integer() => {
                    let atom = Atom::Name(name.into());
                    Arc::make_mut(&mut self.known).bound(atom.clone(), type_range(s), Because::nothing());
                    int(Poly::atom(atom), s, because)
                }
                _ => Value::Other,
            };
        }
        // A macro may be defined twice under different conditions; then its value is not one.
        let mut values = self.scope.unit.constants.iter().filter(|(n, ..)| n == name).map(|(_, v, _)| *v);
        if let Some(v) = values.next() {
            let ty = if i32::try_from(v).is_ok() { Scalar::I32 } else { Scalar::I64 };
            let ty = scalar_of(&self.f.expr(id).ty).filter(|s| s.is_integer()).unwrap_or(ty);
            return if values.all(|o| o == v) { int(Poly::constant(v), ty, because) } else { Value::Other };
        }
        if let Some(v) = self.global_constant(name) {
            let declared = self.scope.unit.globals.iter().find(|g| g.name == name || g.qualified == name);
            return match declared.and_then(|g| scalar_of(&g.ty)) {
                Some(Scalar::Bool) | None => Value::Other,
                Some(s) => int(Poly::constant(v), s, because),
            };
        }
        match name {
            "INT_MAX" => return int(Poly::constant(i128::from(i32::MAX)), Scalar::I32, because),
            "INT_MIN" => return int(Poly::constant(i128::from(i32::MIN)), Scalar::I32, because),
            _ => {}
        }
        if !self.scope.is_plain_name(name) {
            let writes = self.scope.writes(&[id], &[]);
            self.event(EventKind::Anything, span);
            self.havoc_writes(&writes);
        }
        let ty = self.f.expr(id).ty.clone();
        self.fresh_of_type(&ty, false, because)
    }

    fn unary(&mut self, op: UnaryOp, operand: ExprId) -> Value {
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

    fn integer(&mut self, id: ExprId) -> Option<IntValue> {
        let v = self.eval(id);
        self.as_integer(v, self.f.expr(id).span)
    }

    fn as_integer(&mut self, v: Value, span: Span) -> Option<IntValue> {
        match v {
            Value::Int(i) => Some(i),
            Value::Truth(t) => match t.formula {
                Formula::True => Some(constant(1)),
                Formula::False => Some(constant(0)),
                _ => match self.fresh_int(Scalar::I32, t.uniform, t.because.and(&Because::at(span, "a truth value"))) {
                    Value::Int(i) => {
                        let atom = i.poly.as_atom()?.clone();
                        Arc::make_mut(&mut self.known).bound(atom, type_range(Scalar::Bool), Because::nothing());
                        Some(i)
                    }
                    _ => None,
                },
            },
            _ => None,
        }
    }

    fn binary_expr(&mut self, op: BinaryOp, left: ExprId, right: ExprId, span: Span) -> Value {
        if matches!(op, BinaryOp::And | BinaryOp::Or) {
            return self.short_circuit(op, left, right);
        }
        let l = self.eval(left);
        let r = self.eval(right);
        self.binary(op, l, r, span)
    }

    fn short_circuit(&mut self, op: BinaryOp, left: ExprId, right: ExprId) -> Value {
        let l = self.truth(left);
        let start = self.snapshot();
        let span = self.f.expr(left).span;
        self.conditions.push((span, Some(left)));
        let outside = self.divergent.clone();
        if !l.uniform {
            self.divergent.get_or_insert((span, "threads of one block may differ on this condition".into()));
        }
        self.assume(&l, op == BinaryOp::Or, span);
        let r = self.truth(right);
        self.conditions.pop();
        self.divergent = outside;
        let writes = self.scope.writes(&[right], &[]);
        if writes.all || !writes.vars.is_empty() {
            let end = self.snapshot();
            self.join(&start, &[start.clone(), end], l.uniform);
        } else {
            self.restore(&start, false);
        }
        let parts = vec![l.formula, r.formula];
        let formula = if op == BinaryOp::And { Formula::And(parts) } else { Formula::Or(parts) };
        Value::Truth(Truth { formula, uniform: l.uniform && r.uniform, because: l.because.and(&r.because) })
    }

    /// Evaluates a condition.
    pub(super) fn truth(&mut self, id: ExprId) -> Truth {
        let value = self.eval(id);
        let uniform = self.is_uniform(&value);
        match value {
            Value::Truth(t) => t,
            Value::Int(i) if !i.modular => {
                Truth { formula: Formula::NonZero(i.poly), uniform, because: i.because }
            }
            other => Truth { formula: Formula::Unknown, uniform, because: other.because() },
        }
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

    fn comparison(&mut self, op: BinaryOp, a: IntValue, b: IntValue, uniform: bool) -> Truth {
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
                if p.constant_term() >= 0 { Formula::True } else { Formula::False }
            }
            Some(Formula::Zero(p)) if p.as_constant().is_some() => if p.is_zero() { Formula::True } else { Formula::False },
            Some(Formula::NonZero(p)) if p.as_constant().is_some() => if p.is_zero() { Formula::False } else { Formula::True },
            other => other.unwrap_or(Formula::Unknown),
        };
        Truth { formula, uniform, because }
    }

    /// Division, remainder, shifts and bit operations.
    fn inexact(&mut self, op: BinaryOp, a: IntValue, b: IntValue, ty: Scalar, uniform: bool, because: Because) -> Value {
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
            (Div, Some(d)) if d > 0 && !a.modular => match (&nonneg, known.prove_divides(d, &a.poly)) {
                (Some(b), _) => {
                    why.join(b);
                    a.poly.div_floor(d)
                }
                (None, Some(b)) => {
                    why.join(&b);
                    a.poly.div_floor(d)
                }
                _ => function("quot", vec![a.poly.clone(), b.poly.clone()]),
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

    /// Shifting left may move bits out without being undefined; the value is exact only where it fits.
    fn finish_shift(&mut self, poly: Poly, ty: Scalar, modular: bool, because: Because) -> Value {
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
    fn finish(&mut self, poly: Option<Poly>, ty: Scalar, modular: bool, because: Because) -> Value {
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
                (Some(b), Some(hi)) if type_range(ty).hi.is_some_and(|t| hi <= t) => int(poly, ty, because.and(&b).and(&why)),
                _ => Value::Int(IntValue { poly, ty, modular: true, because }),
            };
        }
        match self.known.prove_nonneg(&poly) {
            Some(b) if range.hi.is_some_and(|h| Some(h) <= type_range(ty).hi) => int(poly, ty, because.and(&b).and(&why)),
            Some(b) if is_thread_stride(&poly) => {
                int(poly, ty, because.and(&b).and(&Because::assuming("standing:no-wrap-thread-index")))
            }
            Some(b) => {
                let assumption = self.no_wrap_assumption();
                int(poly, ty, because.and(&b).and(&assumption))
            }
            // It may go below zero, where it wraps for certain.
            None => match function("wrap.u32", vec![poly]) {
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
            if let (Some(b), Scalar::U32, Scalar::I32) = (from_above, ty, to) {
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

    fn assign(&mut self, op: AssignOp, target: ExprId, value: ExprId, span: Span) -> Value {
        // Since C++17 the right side comes first.
        let v = self.eval(value);
        let f = self.f;
        if let ExprKind::Var(var) = f.kind_of(target)
            && !self.escaped.contains(var)
            && !matches!(f.var(*var).ty, Type::Array { .. })
            && f.var(*var).kind != VarKind::Shared
        {
            let new = match op {
                Some(op) => {
                    let old = self.variable(*var, span);
                    self.binary(op, old, v, span)
                }
                None => v,
            };
            return self.store_local(*var, new, span);
        }
        self.store_elsewhere(target, span);
        let ty = f.expr(target).ty.clone();
        self.fresh_of_type(&ty, false, Because::at(span, "the value of an assignment"))
    }

    fn store_local(&mut self, var: VarId, value: Value, span: Span) -> Value {
        let f = self.f;
        let decl = f.var(var);
        let known_type = if matches!(decl.ty, Type::Auto) {
            match (self.env.get(&var), &value) {
                (Some(Value::Int(old)), _) => Type::Scalar(old.ty),
                (Some(Value::Truth(_)), _) => Type::Scalar(Scalar::Bool),
                (Some(Value::Pointer(old)), _) => Type::pointer_to(old.pointee.clone()),
                _ => Type::Unknown,
            }
        } else {
            decl.ty.clone()
        };
        let value = match value {
            Value::Other => self.fresh_of_type(&known_type, false, Because::at(span, format!("`{}` is set here", decl.name))),
            v => self.convert_to_type(v, &known_type, span),
        };
        self.env.insert(var, value.clone());
        value
    }

    /// A store to something that is not a plain local variable.
    fn store_elsewhere(&mut self, target: ExprId, span: Span) {
        let pointer = self.eval_place(target);
        // `x[i].y = ..` may be listed under `x[i]`; a local variable is no memory.
        let mut listed = target;
        while !self.by_access.contains_key(&listed)
            && let ExprKind::Member { base, arrow: false, .. } = self.f.kind_of(listed)
        {
            listed = *base;
        }
        let is_local = matches!(root(self.f, target), Root::Var(v, _) if self.f.var(v).kind == VarKind::Local
            && !matches!(self.f.var(v).ty, Type::Reference(_) | Type::Array { .. }));
        if self.by_access.contains_key(&listed) {
            self.touch(listed, pointer.as_ref(), true);
        } else if !is_local {
            self.touch(target, pointer.as_ref(), true);
        }
        match root(self.f, target) {
            Root::Memory => {}
            Root::Var(v, _) => {
                let var = self.f.var(v);
                if !matches!(var.ty, Type::Array { .. }) {
                    if !matches!(var.kind, VarKind::Local | VarKind::Param) || matches!(var.ty, Type::Reference(_)) {
                        self.event(EventKind::Unlisted, span);
                    }
                    let writes = self.scope.writes(&[target], &[]);
                    self.havoc_writes(&writes);
                    self.env.remove(&v);
                }
            }
            Root::Unknown => {
                self.event(EventKind::Unlisted, span);
                self.lvalue_vars_forgotten(target);
            }
        }
    }

    fn lvalue_vars_forgotten(&mut self, target: ExprId) {
        for e in self.f.walk(target) {
            if let ExprKind::Var(v) = self.f.kind_of(e) {
                self.env.remove(v);
            }
        }
    }

    fn increment(&mut self, target: ExprId, delta: i8, prefix: bool, span: Span) -> Value {
        let f = self.f;
        if let ExprKind::Var(var) = f.kind_of(target)
            && !self.escaped.contains(var)
        {
            let old = self.variable(*var, span);
            let op = if delta < 0 { BinaryOp::Sub } else { BinaryOp::Add };
            let new = self.binary(op, old.clone(), Value::Int(constant(1)), span);
            let new = self.store_local(*var, new, span);
            return if prefix { new } else { old };
        }
        self.store_elsewhere(target, span);
        let ty = f.expr(target).ty.clone();
        self.fresh_of_type(&ty, false, Because::at(span, "the value of an increment"))
    }

    /// The address of an lvalue; its subexpressions are evaluated with their effects.
    pub(super) fn eval_place(&mut self, id: ExprId) -> Option<PointerValue> {
        let f = self.f;
        match f.kind_of(id) {
            ExprKind::Index { base, index } => {
                let b = self.eval_base(*base);
                let i = self.integer(*index);
                match (b, i) {
                    (Some(p), Some(i)) => self.advance(&p, &i, false),
                    _ => None,
                }
            }
            ExprKind::Deref(inner) => match self.eval(*inner) {
                Value::Pointer(p) => Some(p),
                _ => None,
            },
            ExprKind::Member { base, arrow, .. } => {
                if *arrow {
                    self.eval(*base);
                } else {
                    self.eval_place(*base);
                }
                None
            }
            ExprKind::Var(v) => self.scalar_place(*v),
            ExprKind::Cast { operand, ty: Type::Reference(_), .. } => {
                self.eval_place(*operand);
                None
            }
            _ => {
                self.eval(id);
                None
            }
        }
    }

    /// The memory of a variable that is no array: itself its root, for those that live in memory.
    fn scalar_place(&self, v: VarId) -> Option<PointerValue> {
        let var = self.f.var(v);
        let in_memory = matches!(var.kind, VarKind::Shared | VarKind::Global | VarKind::Constant);
        (in_memory && matches!(var.ty, Type::Scalar(_) | Type::Vector { .. })).then(|| PointerValue {
            root: v,
            offset: Poly::zero(),
            modular: false,
            pointee: var.ty.clone(),
            because: Because::at(var.name_span, format!("`{}`", var.name)),
        })
    }

    /// What is indexed: a pointer, or an array inside another, which is not read.
    fn eval_base(&mut self, base: ExprId) -> Option<PointerValue> {
        if matches!(self.f.kind_of(base), ExprKind::Index { .. } | ExprKind::Deref(_)) {
            let p = self.eval_place(base)?;
            return match p.pointee.clone() {
                Type::Array { elem, .. } => Some(PointerValue { pointee: *elem, ..p }),
                _ => {
                    // A pointer read from memory.
                    self.touch(base, Some(&p), false);
                    None
                }
            };
        }
        match self.eval(base) {
            Value::Pointer(p) => Some(p),
            _ => None,
        }
    }

    fn decayed(&mut self, id: ExprId) -> Value {
        self.quiet += 1;
        let p = self.eval_place(id);
        self.quiet -= 1;
        match p {
            Some(p) => match p.pointee.clone() {
                Type::Array { elem, .. } => Value::Pointer(PointerValue { pointee: *elem, ..p }),
                _ => Value::Other,
            },
            None => Value::Other,
        }
    }

    fn advance(&mut self, p: &PointerValue, by: &IntValue, back: bool) -> Option<PointerValue> {
        let size = self.size_of(&p.pointee)?;
        let step = by.poly.mul(&size)?;
        let offset = if back { p.offset.sub(&step)? } else { p.offset.add(&step)? };
        Some(PointerValue {
            root: p.root,
            offset,
            modular: p.modular || by.modular,
            pointee: p.pointee.clone(),
            because: p.because.clone().and(&by.because),
        })
    }

    /// Size in bytes.
    pub(super) fn size_of(&mut self, ty: &Type) -> Option<Poly> {
        match ty {
            Type::Array { elem, len } => {
                let inner = self.size_of(elem)?;
                self.quiet += 1;
                let n = self.integer((*len)?);
                self.quiet -= 1;
                let n = n.filter(|n| !n.modular)?;
                inner.mul(&n.poly)
            }
            Type::Param(name) => match self.context.types.get(name) {
                Some(bytes) => Some(Poly::constant(i128::from(*bytes))),
                None => Some(Poly::atom(Atom::Name(format!("sizeof({name})")))),
            },
            other => match (other.bytes(), scalar_of(other)) {
                (Some(b), _) => Some(Poly::constant(i128::from(b))),
                (None, Some(s)) => Some(Poly::constant(i128::from(s.bytes()))),
                _ => None,
            },
        }
    }

    /// Writes down that memory is read or written at `id`.
    fn touch(&mut self, id: ExprId, pointer: Option<&PointerValue>, writes: bool) {
        if self.quiet > 0 {
            return;
        }
        let span = self.f.expr(id).span;
        let Some(access) = self.by_access.get(&id).copied() else {
            if writes || !matches!(pointer, Some(PointerValue { pointee: Type::Array { .. }, .. })) {
                self.event(if writes { EventKind::Unlisted } else { EventKind::Read }, span);
            }
            return;
        };
        self.event(EventKind::Access(access), span);
        let surface = &self.f.accesses[access.0 as usize];
        let bytes = surface.ty.bytes().or_else(|| scalar_of(&surface.ty).map(Scalar::bytes)).or_else(|| match &surface.ty {
            Type::Param(t) => self.context.types.get(t).copied(),
            _ => None,
        });
        let var = self.f.var(surface.base);
        let behind = |t: &Type| matches!(t, Type::Pointer(p) if p.is_volatile);
        let is_volatile = var.is_volatile || behind(&var.ty) || surface.through_cast && self.volatile_inside(id);
        let state = AccessState { place: self.place(), pointer: pointer.cloned(), bytes, is_volatile };
        self.out.accesses.insert(access, state);
    }

    fn volatile_inside(&self, id: ExprId) -> bool {
        self.f.walk(id).iter().any(|e| {
            matches!(self.f.kind_of(*e), ExprKind::Cast { ty: Type::Pointer(p), .. } if p.is_volatile)
        })
    }

    fn member(&mut self, id: ExprId, base: ExprId, name: &str, arrow: bool) -> Value {
        let f = self.f;
        let expr = f.expr(id);
        let because = Because::at(expr.span, format!("member `{name}`"));
        if let (ExprKind::Var(v), false) = (f.kind_of(base), arrow) {
            let var = f.var(*v);
            let untouched = var.kind == VarKind::Param && f.is_kernel() && !self.escaped.contains(v) && !self.is_assigned(*v);
            if untouched && matches!(var.ty, Type::Named(_)) {
                let atom = Atom::Fun(format!("member.{name}"), vec![Poly::atom(Atom::Param(*v))]);
                return match scalar_of(&expr.ty) {
                    Some(s) if s.is_integer() => {
                        Arc::make_mut(&mut self.known).bound(atom.clone(), type_range(s), Because::nothing());
                        int(Poly::atom(atom), s, because)
                    }
                    _ => Value::Other,
                };
            }
            return self.fresh_of_type(&expr.ty, false, because);
        }
        if arrow {
            self.eval(base);
            self.touch(id, None, false);
        } else {
            let place = self.eval_place(base);
            if self.by_access.contains_key(&base) {
                self.touch(base, place.as_ref(), false);
            } else {
                self.touch(id, None, false);
            }
        }
        self.fresh_of_type(&expr.ty, false, because)
    }

    fn is_assigned(&self, v: VarId) -> bool {
        self.f.exprs.iter().any(|e| match &e.kind {
            ExprKind::Assign { target, .. } | ExprKind::Increment { target, .. } => {
                matches!(root(self.f, *target), Root::Var(w, _) if w == v)
            }
            ExprKind::Call { receiver: Some(r), .. } => matches!(root(self.f, *r), Root::Var(w, _) if w == v),
            _ => false,
        })
    }

    fn call(&mut self, id: ExprId, callee: &str, receiver: Option<ExprId>, args: &[ExprId]) -> Value {
        let expr = self.f.expr(id);
        let because = Because::at(expr.span, format!("result of `{callee}`"));
        let effect = self.scope.call_effect(id);
        let is_barrier = self.f.barriers.iter().position(|b| b.expr == id);
        if let Some(n) = is_barrier
            && self.quiet == 0
        {
            let place = self.place();
            self.out.barriers.insert(BarrierId(n as u32), place);
        }
        receiver.iter().for_each(|r| drop(self.eval(*r)));
        let values: Vec<Value> = args.iter().map(|a| self.eval(*a)).collect();
        let uniform = values.iter().all(|v| self.is_uniform(v));
        let name = callee.rsplit("::").next().unwrap_or(callee);
        match effect {
            CallEffect::Pure => {
                let own = self.scope.program.units.iter().flat_map(|u| &u.functions).any(|g| g.name == name);
                if let ("min" | "max", [Value::Int(a), Value::Int(b)], false) = (name, values.as_slice(), own) {
                    return self.extreme(name, a.clone(), b.clone());
                }
                if name == "dim3" {
                    return self.dim3_of(&values);
                }
                let varies = own || VARYING.contains(&name) || name.starts_with("__shfl") || name.starts_with("__ballot");
                self.fresh_of_type(&expr.ty, uniform && !varies, because)
            }
            CallEffect::Reads => {
                let pointer = match values.first() {
                    Some(Value::Pointer(p)) => Some(p.clone()),
                    _ => None,
                };
                self.touch(id, pointer.as_ref(), false);
                self.fresh_of_type(&expr.ty, false, because)
            }
            CallEffect::Barrier(kind) => {
                self.event(EventKind::Barrier(kind), expr.span);
                self.fresh_of_type(&expr.ty, false, because)
            }
            CallEffect::Fence | CallEffect::Atomic => {
                self.event(if effect == CallEffect::Fence { EventKind::Fence } else { EventKind::Atomic }, expr.span);
                self.fresh_of_type(&expr.ty, false, because)
            }
            CallEffect::Unknown => {
                self.event(EventKind::Call, expr.span);
                if !is_library(name) {
                    let writes = self.scope.writes(&[id], &[]);
                    self.havoc_writes(&writes);
                }
                self.fresh_of_type(&expr.ty, false, because)
            }
            CallEffect::Anything => {
                let writes = self.scope.writes(&[id], &[]);
                self.event(EventKind::Anything, expr.span);
                self.havoc_writes(&writes);
                self.fresh_of_type(&expr.ty, false, because)
            }
        }
    }

    fn extreme(&mut self, name: &str, a: IntValue, b: IntValue) -> Value {
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

    fn cast(&mut self, style: CastStyle, ty: &Type, operand: ExprId, span: Span) -> Value {
        let v = self.eval(operand);
        match (ty, v) {
            // An address as a number.
            (t, Value::Pointer(p)) if scalar_of(t).is_some_and(|s| s.bytes() == 8 && s.is_integer()) => {
                let Some(poly) = Poly::atom(Atom::Address(p.root)).add(&p.offset) else { return Value::Other };
                let s = scalar_of(t).unwrap_or(Scalar::U64);
                Value::Int(IntValue { poly, ty: s, modular: p.modular, because: p.because })
            }
            (Type::Reference(_), _) => Value::Other,
            (_, Value::Int(_)) if style == CastStyle::Bit || style == CastStyle::Reinterpret && scalar_of(ty).is_none() => {
                Value::Other
            }
            (_, v) => self.convert_to_type(v, ty, span),
        }
    }

    fn conditional(&mut self, condition: ExprId, then: ExprId, otherwise: ExprId, id: ExprId) -> Value {
        let t = self.truth(condition);
        let span = self.f.expr(condition).span;
        let start = self.snapshot();
        let outside = self.divergent.clone();
        self.conditions.push((span, Some(condition)));
        if !t.uniform {
            self.divergent.get_or_insert((span, "threads of one block may differ on this condition".into()));
        }
        self.assume(&t, false, span);
        let a = self.eval(then);
        let first = self.snapshot();
        let range_a = self.range_of(&a);
        self.restore(&start, false);
        self.assume(&t, true, span);
        let b = self.eval(otherwise);
        let second = self.snapshot();
        let range_b = self.range_of(&b);
        self.conditions.pop();
        self.divergent = outside;
        self.join(&start, &[first, second], t.uniform);
        let because = t.because.clone().and(&a.because()).and(&b.because());
        let uniform = t.uniform && self.is_uniform(&a) && self.is_uniform(&b);
        if let Some((decided, why)) = t.formula.decide(&self.known) {
            return match if decided { a } else { b } {
                Value::Int(i) => Value::Int(IntValue { because: i.because.and(&why), ..i }),
                Value::Truth(x) => Value::Truth(Truth { because: x.because.and(&why), ..x }),
                _ => Value::Other,
            };
        }
        let expr = self.f.expr(id);
        match (&a, &b) {
            (Value::Int(x), Value::Int(y)) => {
                let ty = common(x.ty, y.ty);
                if (x.ty, y.ty) != (ty, ty) {
                    return self.fresh_int(ty, uniform, because);
                }
                let value = self.fresh_int(ty, uniform, because.clone());
                if let (Value::Int(i), Some((p, w)), Some((q, v))) = (&value, range_a, range_b)
                    && let Some(atom) = i.poly.as_atom()
                {
                    let hull = super::range::Interval {
                        lo: p.lo.zip(q.lo).map(|(a, b)| a.min(b)),
                        hi: p.hi.zip(q.hi).map(|(a, b)| a.max(b)),
                    };
                    let atom = atom.clone();
                    Arc::make_mut(&mut self.known).bound(atom, hull, because.and(&w).and(&v));
                }
                value
            }
            _ => self.fresh_of_type(&expr.ty, uniform, because),
        }
    }

    fn range_of(&self, v: &Value) -> Option<(super::range::Interval, Because)> {
        match v {
            Value::Int(i) if !i.modular => Some(self.known.range(&i.poly)),
            _ => None,
        }
    }

    /// A `dim3` variable's value from its initialiser.
    pub(super) fn dim3(&mut self, value: Value, init: ExprId) -> Value {
        match value {
            Value::Dim3(..) => value,
            Value::Int(_) => self.dim3_of(&[value]),
            _ => match self.f.kind_of(init).clone() {
                ExprKind::InitList(items) => {
                    let values: Vec<Value> = items.iter().map(|e| self.requiet(*e)).collect();
                    self.dim3_of(&values)
                }
                _ => Value::Other,
            },
        }
    }

    fn dim3_of(&mut self, values: &[Value]) -> Value {
        let mut dims = [Poly::constant(1), Poly::constant(1), Poly::constant(1)];
        let mut because = Because::nothing();
        if values.len() > 3 {
            return Value::Other;
        }
        for (slot, v) in dims.iter_mut().zip(values) {
            let Value::Int(i) = v else { return Value::Other };
            let i = self.convert(i.clone(), Scalar::U32);
            because.join(&i.because);
            *slot = i.poly;
        }
        Value::Dim3(dims, because)
    }

    fn launch(&mut self, n: u32) -> Value {
        let Some(launch) = self.scope.unit.launches.get(n as usize) else { return Value::Other };
        let shape = |w: &mut Self, e: Option<ExprId>| {
            let v = w.eval(e?);
            let v = if let Value::Int(_) = v { w.dim3_of(&[v]) } else { v };
            match v {
                Value::Dim3(d, b) => Some((d, b)),
                _ => None,
            }
        };
        let grid = shape(self, launch.grid);
        let block = shape(self, launch.block);
        let args: Vec<Value> = launch.args.iter().map(|a| self.eval(*a)).collect();
        let mut because = Because::at(launch.span, "this launch");
        block.iter().for_each(|(_, b)| because.join(b));
        let state = LaunchState {
            block: block.map(|(d, _)| d),
            grid: grid.map(|(d, _)| d),
            args,
            known: self.known.clone(),
            because,
        };
        if self.quiet == 0 {
            self.out.launches.insert(n, state);
        }
        self.event(EventKind::Call, launch.span);
        Value::Other
    }
}

fn int(poly: Poly, ty: Scalar, because: Because) -> Value {
    Value::Int(IntValue { poly, ty, modular: false, because })
}

fn constant(v: i128) -> IntValue {
    IntValue { poly: Poly::constant(v), ty: Scalar::I32, modular: false, because: Because::nothing() }
}

fn builtin(b: Builtin) -> Value {
    let atom = match b {
        Builtin::ThreadIdx(a) => Atom::Thread(a),
        Builtin::BlockIdx(a) => Atom::Block(a),
        Builtin::BlockDim(a) => Atom::BlockDim(a),
        Builtin::GridDim(a) => Atom::GridDim(a),
        Builtin::WarpSize => return Value::Int(constant(32)),
    };
    int(Poly::atom(atom), Scalar::U32, Because::nothing())
}

fn ordered(a: &Poly, b: &Poly) -> Vec<Poly> {
    if a <= b { vec![a.clone(), b.clone()] } else { vec![b.clone(), a.clone()] }
}

enum Mask {
    /// `& (2^k - 1)`
    Keep(i128),
    /// `& ~(2^k - 1)`
    Clear(i128),
}

fn low_mask(k: Option<i128>, ty: Scalar) -> Option<Mask> {
    let k = k?;
    if k >= 0 && (k + 1) & k == 0 && k < 1 << 62 {
        return Some(Mask::Keep(k + 1));
    }
    let cleared = if k < 0 { k.checked_neg()? } else { type_range(ty).hi? + 1 - k };
    let whole = k < 0 || ty.is_unsigned();
    (whole && cleared > 0 && cleared & (cleared - 1) == 0 && cleared <= 1 << 31).then_some(Mask::Clear(cleared))
}

/// Host functions that change nothing but what is passed by address.
fn is_library(name: &str) -> bool {
    name.starts_with("cuda") || matches!(name, "malloc" | "free" | "printf" | "memset" | "memcpy" | "fprintf" | "exit" | "assert")
}
