//! What an expression carries of the contents of memory, and where addresses lead.

use std::collections::BTreeSet;

use super::{Flow, Sources, Walk};
use crate::ir::*;

impl Walk<'_, '_> {
    /// The value of an expression.
    pub(super) fn value(&mut self, e: ExprId) -> Flow {
        let flow = self.value_as_it_comes(e);
        self.wrapped(e, flow)
    }

    fn value_as_it_comes(&mut self, e: ExprId) -> Flow {
        let f = self.f;
        match f.kind_of(e) {
            ExprKind::Var(v) => {
                let own = self.values[v.0 as usize].clone();
                let var = f.var(*v);
                match var.kind {
                    // Variables of the file are memory, unless their address is what is meant.
                    VarKind::Global | VarKind::Constant | VarKind::Unresolved
                        if !matches!(var.ty, Type::Array { .. }) =>
                    {
                        own.with(&Flow::of(self.global(&var.name)))
                    }
                    _ if matches!(var.ty, Type::Reference(_)) => {
                        let roots = self.points[v.0 as usize].clone();
                        let held = self.held_by(&roots);
                        roots.iter().fold(Flow::of(held), |o, r| o.with(&self.plain(*r)))
                    }
                    // A plain variable may be written through its address.
                    _ if !matches!(var.ty, Type::Array { .. } | Type::Pointer(_)) => {
                        own.with(&Flow::of(self.memory[v.0 as usize].clone()))
                    }
                    _ => own,
                }
            }
            ExprKind::Name(n) => {
                let held = Flow::of(self.global(n));
                held.with(&self.hidden(n))
            }
            // A row of an array is an address.
            ExprKind::Index { .. } if matches!(f.expr(e).ty, Type::Array { .. }) => self.address(e),
            ExprKind::Index { base, .. } => {
                let roots = self.roots(*base);
                let own = if roots.is_empty() { self.value(*base).spread() } else { Flow::default() };
                own.with(&Flow::of(self.held_by(&roots)))
            }
            ExprKind::Deref(p) => {
                let roots = self.roots(*p);
                let own = if roots.is_empty() { self.value(*p).spread() } else { Flow::default() };
                let plain = roots.iter().fold(own, |o, r| o.with(&self.plain(*r)));
                plain.with(&Flow::of(self.held_by(&roots)))
            }
            // A constant of a class, named through an object: what fragments of matrices have, and what the file defines.
            ExprKind::Member { name, .. }
                if name == "num_elements"
                    || self.kernels.program.unit(self.r.unit).constants.iter().any(|c| c.0 == *name) =>
            {
                Flow::default()
            }
            ExprKind::Member { base, arrow: true, .. } => {
                let roots = self.roots(*base);
                Flow::of(self.held_by(&roots)).with(&self.value(*base))
            }
            ExprKind::Member { base, .. } => self.value(*base),
            ExprKind::AddressOf(of) => self.address(*of),
            ExprKind::Unary { op, operand } => {
                let flow = self.value(*operand);
                match op {
                    UnaryOp::Not => Flow::default(),
                    UnaryOp::Plus => flow,
                    UnaryOp::Neg | UnaryOp::BitNot => Flow { low: flow.high, high: flow.low },
                }
            }
            ExprKind::Binary { op, left, right } => {
                let (a, b) = (self.value(*left), self.value(*right));
                self.binary(*op, e, *right, &a, &b)
            }
            ExprKind::Assign { op, target, value } => self.assigned(*op, *target, *value),
            ExprKind::Increment { target, .. } => self.value(*target),
            ExprKind::Cast { operand, .. } => self.value(*operand),
            ExprKind::Conditional { then, otherwise, .. } => {
                let a = self.value(*then);
                a.with(&self.value(*otherwise))
            }
            ExprKind::Comma { right, .. } => self.value(*right),
            ExprKind::Call { .. } | ExprKind::CallValue { .. } => self.call(e),
            ExprKind::InitList(all)
            | ExprKind::Construct { args: all, .. }
            | ExprKind::Opaque { children: all, .. } => {
                all.iter().fold(Flow::default(), |sum, e| sum.with(&self.value(*e)))
            }
            ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Bool(_)
            | ExprKind::Str(_)
            | ExprKind::Null
            | ExprKind::This
            | ExprKind::Builtin(_)
            | ExprKind::Lambda(_)
            | ExprKind::SizeOf(_)
            | ExprKind::Launch(_) => Flow::default(),
        }
    }

    pub(super) fn assigned(&mut self, op: AssignOp, target: ExprId, value: ExprId) -> Flow {
        let new = self.value(value);
        match op {
            None => new,
            Some(op) => {
                let old = self.value(target);
                self.binary(op, target, value, &old, &new)
            }
        }
    }

    /// `left op right`, where `whole` has the type of the result.
    fn binary(&self, op: BinaryOp, whole: ExprId, right: ExprId, a: &Flow, b: &Flow) -> Flow {
        use BinaryOp::*;
        let negative = |e: ExprId| match self.f.kind_of(e) {
            ExprKind::Int(v) => *v < 0,
            ExprKind::Unary { op: UnaryOp::Neg | UnaryOp::BitNot, .. } => true,
            _ => false,
        };
        // Both sides are converted first.
        let (a, b) = (&self.wrapped(whole, a.clone()), &self.wrapped(whole, b.clone()));
        match op {
            Eq | Ne | Lt | Le | Gt | Ge | And | Or => Flow::default(),
            Add => a.clone().with(b),
            Sub => Flow { low: joined(&a.low, &b.high), high: joined(&a.high, &b.low) },
            // A remainder is closer to zero than what it is of, on the same side of it.
            Rem if b.is_empty() => Flow { low: a.low.clone(), high: Sources::new() },
            // A mask that is not negative keeps the result between zero and itself.
            BitAnd if b.is_empty() && !negative(right) => Flow::default(),
            BitAnd if a.is_empty() => Flow::default(),
            Mul | Div | Shl | Shr if b.is_empty() && !negative(right) => a.clone(),
            Mul if a.is_empty() => b.clone(),
            _ => a.spread().with(&b.spread()),
        }
    }

    /// What may be below zero is large where the type has no sign.
    pub(super) fn wrapped(&self, e: ExprId, flow: Flow) -> Flow {
        match self.f.expr(e).ty.scalar() {
            Some(s) if s.is_unsigned() => Flow { low: Sources::new(), high: flow.all() },
            _ => flow,
        }
    }

    /// The offset in an address: of an lvalue, or of a pointer.
    pub(super) fn address(&mut self, e: ExprId) -> Flow {
        match self.f.kind_of(e) {
            ExprKind::Index { base, index } => {
                let own = self.value(*index);
                own.with(&self.address(*base))
            }
            ExprKind::Deref(p) => self.value(*p),
            ExprKind::Member { base, arrow: true, .. } => self.value(*base),
            ExprKind::Member { base, .. } => self.address(*base),
            ExprKind::Cast { operand, .. } => self.address(*operand),
            ExprKind::AddressOf(of) => self.address(*of),
            ExprKind::Conditional { then, otherwise, .. } => {
                let a = self.address(*then);
                a.with(&self.address(*otherwise))
            }
            ExprKind::Var(v) => match &self.f.var(*v).ty {
                Type::Pointer(_) | Type::Reference(_) | Type::Auto => self.values[v.0 as usize].clone(),
                _ => Flow::default(),
            },
            ExprKind::Name(_) => Flow::default(),
            // A load by a function.
            ExprKind::Call { callee, args, .. } if callee.starts_with("__ld") => {
                args.first().map_or_else(Flow::default, |a| self.value(*a))
            }
            // Arithmetic of pointers.
            _ => self.value(e),
        }
    }

    /// The variables at which the memory that an address or lvalue names may begin.
    pub(super) fn roots(&self, e: ExprId) -> BTreeSet<VarId> {
        match self.f.kind_of(e) {
            ExprKind::Var(v) => self.points[v.0 as usize].clone(),
            ExprKind::Index { base, .. }
            | ExprKind::Member { base, .. }
            | ExprKind::Deref(base)
            | ExprKind::AddressOf(base)
            | ExprKind::Cast { operand: base, .. }
            | ExprKind::Increment { target: base, .. }
            | ExprKind::Unary { operand: base, .. } => self.roots(*base),
            ExprKind::Binary { op: BinaryOp::Add | BinaryOp::Sub, left, right } => {
                let pointer = |e: ExprId| !matches!(self.f.expr(e).ty, Type::Scalar(_));
                let sides = [*left, *right].into_iter().filter(|e| pointer(*e));
                sides.flat_map(|e| self.roots(e)).collect()
            }
            ExprKind::Assign { target, value, .. } => {
                self.roots(*target).into_iter().chain(self.roots(*value)).collect()
            }
            ExprKind::Conditional { then, otherwise, .. } => {
                self.roots(*then).into_iter().chain(self.roots(*otherwise)).collect()
            }
            ExprKind::Comma { right, .. } => self.roots(*right),
            ExprKind::Call { receiver, args, .. } => {
                receiver.iter().chain(args).filter(|e| self.is_address(**e)).flat_map(|e| self.roots(*e)).collect()
            }
            ExprKind::CallValue { args, .. } | ExprKind::Construct { args, .. } | ExprKind::InitList(args) => {
                args.iter().filter(|e| self.is_address(**e)).flat_map(|e| self.roots(*e)).collect()
            }
            _ => BTreeSet::new(),
        }
    }

    /// Whether the expression may be an address, as far as its type says.
    pub(super) fn is_address(&self, e: ExprId) -> bool {
        !matches!(self.f.expr(e).ty, Type::Scalar(_) | Type::Vector { .. } | Type::Void)
            || matches!(self.f.kind_of(e), ExprKind::AddressOf(_))
    }

    pub(super) fn held_by(&self, roots: &BTreeSet<VarId>) -> Sources {
        roots.iter().flat_map(|r| self.held(*r)).collect()
    }

    /// The value of a root that is a plain variable, reached through its address.
    fn plain(&self, v: VarId) -> Flow {
        match self.f.var(v).ty {
            Type::Pointer(_) | Type::Array { .. } | Type::Reference(_) => Flow::default(),
            _ => self.values[v.0 as usize].clone(),
        }
    }

    /// What a macro may bring with it: every variable that its body names, and the memory behind it.
    pub(super) fn hidden(&self, name: &str) -> Flow {
        let Some(words) = self.kernels.macro_words(self.r.unit, name) else {
            return Flow::default();
        };
        let mut flow = Flow::default();
        for (i, v) in self.f.vars.iter().enumerate() {
            if words.contains(&v.name) {
                flow.join(&self.values[i]);
                flow.join(&Flow::of(self.held_by(&self.points[i])));
            }
        }
        flow
    }

    /// The value, and what stands in the memory to which it leads.
    pub(super) fn with_memory(&mut self, e: ExprId) -> Flow {
        let own = self.value(e);
        if !self.is_address(e) {
            return own;
        }
        let held = self.held_by(&self.roots(e));
        own.with(&Flow::of(held))
    }
}

fn joined(a: &Sources, b: &Sources) -> Sources {
    a.union(b).copied().collect()
}
