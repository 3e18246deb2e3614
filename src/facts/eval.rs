//! Expressions: their symbolic values and side effects, by the rules of C++ for integers of fixed width.

use std::sync::Arc;

use super::atom::Atom;
use super::because::Because;
use super::poly::Poly;
use super::state::EventKind;
use super::value::{Formula, IntValue, PointerValue, Truth, Value, common, type_range};
use super::walk::{Walker, scalar_of};
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
            let place = self.place();
            if let Some(slot) = self.out.evaluated.get_mut(id.0 as usize) {
                *slot = Some((value.clone(), place));
            }
        }
        value
    }

    pub(super) fn eval_inner(&mut self, id: ExprId) -> Value {
        let f = self.f;
        let expr = f.expr(id);
        let at = |text: &str| Because::at(expr.span, text);
        match &expr.kind {
            ExprKind::Int(v) => self.literal(*v, &expr.ty),
            ExprKind::Bool(b) => {
                let formula = if *b { Formula::True } else { Formula::False };
                Value::Truth(Truth { formula, uniform: true, because: Because::nothing() })
            }
            ExprKind::Float(_) | ExprKind::Str(_) | ExprKind::Null | ExprKind::This | ExprKind::Lambda(_) => {
                Value::Other
            }
            ExprKind::Var(v) => {
                // A shared or global scalar, or a reference.
                if self.notes.by_access.contains_key(&id) {
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

    pub(super) fn literal(&mut self, v: i128, ty: &Type) -> Value {
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
        if self.notes.escaped.contains(&v) {
            let because = Because::at(span, format!("`{}` may change without being named", var.name));
            let constant = (var.is_const || var.is_constexpr) && !var.is_volatile;
            let constant = self.global_constant(&var.name).filter(|_| constant && var.kind == VarKind::Global);
            if let Some((value, behind)) = constant {
                let because = because.and(&behind);
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

    pub(super) fn global_constant(&self, name: &str) -> Option<(i128, Because)> {
        let last = name.rsplit("::").next().unwrap_or(name);
        let named = |g: &&Global| (g.qualified == name || g.name == last) && (g.is_const || g.is_constexpr);
        let mut hits = self.scope.unit.globals.iter().filter(named);
        // Two constants of one name in different namespaces: which is meant is not known.
        match (hits.next(), hits.next()) {
            (Some(g), None) if !self.scope.macros.contains(&g.name) => {
                Some((g.value?, self.scope.macros.behind(g, self.scope.unit)?))
            }
            _ => None,
        }
    }

    pub(super) fn name(&mut self, name: &str, id: ExprId) -> Value {
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
            let macros = self.scope.macros;
            let ty = if macros.is_unsigned(name) { Scalar::U32 } else { ty };
            let one = values.all(|o| o == v) && macros.is_settled(name, &self.scope.unit.constants);
            let because = because.and(&macros.reservation(name));
            return if one { int(Poly::constant(v), ty, because) } else { Value::Other };
        }
        if let Some((v, behind)) = self.global_constant(name) {
            let because = because.and(&behind);
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

    pub(super) fn integer(&mut self, id: ExprId) -> Option<IntValue> {
        let v = self.eval(id);
        self.as_integer(v, self.f.expr(id).span)
    }

    pub(super) fn as_integer(&mut self, v: Value, span: Span) -> Option<IntValue> {
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

    pub(super) fn binary_expr(&mut self, op: BinaryOp, left: ExprId, right: ExprId, span: Span) -> Value {
        if matches!(op, BinaryOp::And | BinaryOp::Or) {
            return self.short_circuit(op, left, right);
        }
        let l = self.eval(left);
        let r = self.eval(right);
        self.binary(op, l, r, span)
    }

    pub(super) fn short_circuit(&mut self, op: BinaryOp, left: ExprId, right: ExprId) -> Value {
        let l = self.truth(left);
        let start = self.snapshot();
        let span = self.f.expr(left).span;
        self.conditions.push((span, Some(left)));
        let outside = self.divergent;
        if !l.uniform {
            self.divergent.get_or_insert((span, "threads of one block may differ on this condition"));
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
            Value::Int(i) if !i.modular => Truth { formula: Formula::NonZero(i.poly), uniform, because: i.because },
            other => Truth { formula: Formula::Unknown, uniform, because: other.because() },
        }
    }

    pub(super) fn cast(&mut self, style: CastStyle, ty: &Type, operand: ExprId, span: Span) -> Value {
        let v = self.eval(operand);
        match (ty, v) {
            // An address as a number.
            (t, Value::Pointer(p)) if scalar_of(t).is_some_and(|s| s.bytes() == 8 && s.is_integer()) => {
                let Some(poly) = Poly::atom(Atom::Address(p.root)).add(&p.offset) else { return Value::Other };
                let s = scalar_of(t).unwrap_or(Scalar::U64);
                Value::Int(IntValue { poly, ty: s, modular: p.modular, because: p.because })
            }
            (Type::Reference(_), _) => Value::Other,
            (_, Value::Int(_))
                if style == CastStyle::Bit || style == CastStyle::Reinterpret && scalar_of(ty).is_none() =>
            {
                Value::Other
            }
            (_, v) => self.convert_to_type(v, ty, span),
        }
    }

    pub(super) fn conditional(&mut self, condition: ExprId, then: ExprId, otherwise: ExprId, id: ExprId) -> Value {
        let t = self.truth(condition);
        let span = self.f.expr(condition).span;
        let start = self.snapshot();
        let outside = self.divergent;
        self.conditions.push((span, Some(condition)));
        if !t.uniform {
            self.divergent.get_or_insert((span, "threads of one block may differ on this condition"));
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
                    let hull = super::interval::Interval {
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

    pub(super) fn range_of(&self, v: &Value) -> Option<(super::interval::Interval, Because)> {
        match v {
            Value::Int(i) if !i.modular => Some(self.known.range(&i.poly)),
            _ => None,
        }
    }
}

pub(super) fn int(poly: Poly, ty: Scalar, because: Because) -> Value {
    Value::Int(IntValue { poly, ty, modular: false, because })
}

pub(super) fn constant(v: i128) -> IntValue {
    IntValue { poly: Poly::constant(v), ty: Scalar::I32, modular: false, because: Because::nothing() }
}

pub(super) fn builtin(b: Builtin) -> Value {
    let atom = match b {
        Builtin::ThreadIdx(a) => Atom::Thread(a),
        Builtin::BlockIdx(a) => Atom::Block(a),
        Builtin::BlockDim(a) => Atom::BlockDim(a),
        Builtin::GridDim(a) => Atom::GridDim(a),
        Builtin::WarpSize => return Value::Int(constant(32)),
    };
    int(Poly::atom(atom), Scalar::U32, Because::nothing())
}

pub(super) fn ordered(a: &Poly, b: &Poly) -> Vec<Poly> {
    if a <= b { vec![a.clone(), b.clone()] } else { vec![b.clone(), a.clone()] }
}

pub(super) enum Mask {
    /// `& (2^k - 1)`
    Keep(i128),
    /// `& ~(2^k - 1)`
    Clear(i128),
}

pub(super) fn low_mask(k: Option<i128>, ty: Scalar) -> Option<Mask> {
    let k = k?;
    if k >= 0 && (k + 1) & k == 0 && k < 1 << 62 {
        return Some(Mask::Keep(k + 1));
    }
    let cleared = if k < 0 { k.checked_neg()? } else { type_range(ty).hi? + 1 - k };
    let whole = k < 0 || ty.is_unsigned();
    (whole && cleared > 0 && cleared & (cleared - 1) == 0 && cleared <= 1 << 31).then_some(Mask::Clear(cleared))
}

/// Host functions that change nothing but what is passed by address.
pub(super) fn is_library(name: &str) -> bool {
    name.starts_with("cuda")
        || matches!(name, "malloc" | "free" | "printf" | "memset" | "memcpy" | "fprintf" | "exit" | "assert")
}
