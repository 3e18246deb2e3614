//! Lvalues: addresses, what is read and written there, and locals that live in no memory.

use std::sync::Arc;

use super::atom::Atom;
use super::because::Because;
use super::effects::{Root, root};
use super::eval::{constant, int};
use super::poly::Poly;
use super::state::{AccessState, EventKind};
use super::value::{IntValue, PointerValue, Value, type_range};
use super::walk::{Walker, scalar_of};
use crate::ir::*;
use crate::source::Span;

impl Walker<'_> {
    pub(super) fn assign(&mut self, op: AssignOp, target: ExprId, value: ExprId, span: Span) -> Value {
        // Since C++17 the right side comes first.
        let v = self.eval(value);
        let f = self.f;
        if let ExprKind::Var(var) = f.kind_of(target)
            && !self.notes.escaped.contains(var)
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

    pub(super) fn store_local(&mut self, var: VarId, value: Value, span: Span) -> Value {
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
            Value::Other => {
                self.fresh_of_type(&known_type, false, Because::at(span, format!("`{}` is set here", decl.name)))
            }
            v => self.convert_to_type(v, &known_type, span),
        };
        self.env.insert(var, value.clone());
        value
    }

    /// A store to something that is not a plain local variable.
    pub(super) fn store_elsewhere(&mut self, target: ExprId, span: Span) {
        let pointer = self.eval_place(target);
        // `x[i].y = ..` may be listed under `x[i]`; a local variable is no memory.
        let mut listed = target;
        while !self.notes.by_access.contains_key(&listed)
            && let ExprKind::Member { base, arrow: false, .. } = self.f.kind_of(listed)
        {
            listed = *base;
        }
        let is_local = matches!(root(self.f, target), Root::Var(v, _) if self.f.var(v).kind == VarKind::Local
            && !matches!(self.f.var(v).ty, Type::Reference(_) | Type::Array { .. }));
        if self.notes.by_access.contains_key(&listed) {
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

    pub(super) fn lvalue_vars_forgotten(&mut self, target: ExprId) {
        for e in self.f.walk(target) {
            if let ExprKind::Var(v) = self.f.kind_of(e) {
                self.env.remove(v);
            }
        }
    }

    pub(super) fn increment(&mut self, target: ExprId, delta: i8, prefix: bool, span: Span) -> Value {
        let f = self.f;
        if let ExprKind::Var(var) = f.kind_of(target)
            && !self.notes.escaped.contains(var)
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
    pub(super) fn scalar_place(&self, v: VarId) -> Option<PointerValue> {
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
    pub(super) fn eval_base(&mut self, base: ExprId) -> Option<PointerValue> {
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

    pub(super) fn decayed(&mut self, id: ExprId) -> Value {
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

    pub(super) fn advance(&mut self, p: &PointerValue, by: &IntValue, back: bool) -> Option<PointerValue> {
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
                None => Some(Poly::atom(Atom::Name(format!("sizeof({name})").into()))),
            },
            other => match (other.bytes(), scalar_of(other)) {
                (Some(b), _) => Some(Poly::constant(i128::from(b))),
                (None, Some(s)) => Some(Poly::constant(i128::from(s.bytes()))),
                _ => None,
            },
        }
    }

    /// Writes down that memory is read or written at `id`.
    pub(super) fn touch(&mut self, id: ExprId, pointer: Option<&PointerValue>, writes: bool) {
        if self.quiet > 0 {
            return;
        }
        let span = self.f.expr(id).span;
        let Some(access) = self.notes.by_access.get(&id).copied() else {
            if writes || !matches!(pointer, Some(PointerValue { pointee: Type::Array { .. }, .. })) {
                self.event(if writes { EventKind::Unlisted } else { EventKind::Read }, span);
            }
            return;
        };
        self.event(EventKind::Access(access), span);
        let surface = &self.f.accesses[access.0 as usize];
        let bytes =
            surface.ty.bytes().or_else(|| scalar_of(&surface.ty).map(Scalar::bytes)).or_else(|| match &surface.ty {
                Type::Param(t) => self.context.types.get(t).copied(),
                _ => None,
            });
        let var = self.f.var(surface.base);
        let behind = |t: &Type| matches!(t, Type::Pointer(p) if p.is_volatile);
        let is_volatile = var.is_volatile || behind(&var.ty) || surface.through_cast && self.volatile_inside(id);
        let state = AccessState { place: self.place(), pointer: pointer.cloned(), bytes, is_volatile };
        self.out.accesses.insert(access, state);
    }

    pub(super) fn volatile_inside(&self, id: ExprId) -> bool {
        self.f
            .walk(id)
            .iter()
            .any(|e| matches!(self.f.kind_of(*e), ExprKind::Cast { ty: Type::Pointer(p), .. } if p.is_volatile))
    }

    pub(super) fn member(&mut self, id: ExprId, base: ExprId, name: &str, arrow: bool) -> Value {
        let f = self.f;
        let expr = f.expr(id);
        let because = Because::at(expr.span, format!("member `{name}`"));
        if let (ExprKind::Var(v), false) = (f.kind_of(base), arrow) {
            let var = f.var(*v);
            let untouched =
                var.kind == VarKind::Param && f.is_kernel() && !self.notes.escaped.contains(v) && !self.is_assigned(*v);
            if untouched && matches!(var.ty, Type::Named(_)) {
                let atom = Atom::fun(format!("member.{name}"), vec![Poly::atom(Atom::Param(*v))]);
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
            if self.notes.by_access.contains_key(&base) {
                self.touch(base, place.as_ref(), false);
            } else {
                self.touch(id, None, false);
            }
        }
        self.fresh_of_type(&expr.ty, false, because)
    }

    pub(super) fn is_assigned(&self, v: VarId) -> bool {
        self.notes.assigned.contains(&v)
    }
}
