//! Memory accesses: from an lvalue to its base variable, subscripts and space.

use super::walk::Walk;
use crate::ir::*;
use std::collections::BTreeMap;

/// For every pointer variable the expressions it gets its value from.
#[derive(Default)]
pub(super) struct Origins {
    values: BTreeMap<VarId, Vec<ExprId>>,
}

impl Origins {
    pub fn of(f: &Function) -> Origins {
        let mut values: BTreeMap<VarId, Vec<ExprId>> = BTreeMap::new();
        for (i, var) in f.vars.iter().enumerate() {
            if let Some(init) = var.init {
                values.entry(VarId(i as u32)).or_default().push(init);
            }
        }
        for e in &f.exprs {
            if let ExprKind::Assign { op: None, target, value } = &e.kind
                && let ExprKind::Var(v) = f.kind_of(*target)
                && !matches!(f.var(*v).ty, Type::Reference(_))
            {
                values.entry(*v).or_default().push(*value);
            }
        }
        Origins { values }
    }
}

/// An lvalue or pointer taken apart.
#[derive(Clone, Default)]
pub(super) struct Path {
    base: Option<VarId>,
    indices: Vec<ExprId>,
    units: Vec<Type>,
    members: Vec<String>,
    through_cast: bool,
    /// Whether it is memory at all, not a variable in a register.
    is_memory: bool,
    /// A pointer on the way was itself loaded from memory, or is the result of a call.
    is_indirect: bool,
    /// Expressions on the way that are evaluated: subscripts, loaded pointers.
    evaluated: Vec<ExprId>,
}

impl Walk<'_> {
    /// Records the store to (or update of) `target` and what its address evaluates.
    pub fn store(&mut self, target: ExprId, mode: AccessMode, value: Option<ExprId>) {
        if let ExprKind::Call { args, .. } = self.f.kind_of(target) {
            // `FLOAT4(p[0]) = ..`: a macro that yields an lvalue of unknown width at its argument.
            for arg in args.clone() {
                self.record(arg, mode, None, true);
            }
            return;
        }
        self.record(target, mode, value, false);
    }

    pub fn load(&mut self, e: ExprId) {
        self.record(e, AccessMode::Load, None, false);
    }

    /// A load or store through a pointer expression, for `__ldg(p + i)` and the like.
    pub fn through_pointer(&mut self, e: ExprId, pointer: ExprId, mode: AccessMode, ty: Type, value: Option<ExprId>) {
        let mut path = Path { is_memory: true, ..Path::default() };
        self.pointer(pointer, &mut path, 0);
        self.finish(e, path, mode, ty, value);
    }

    /// Arguments of macros: accesses of unknown width.
    pub fn macro_argument(&mut self, e: ExprId) {
        self.record(e, AccessMode::Load, None, true);
    }

    fn record(&mut self, e: ExprId, mode: AccessMode, value: Option<ExprId>, opaque: bool) {
        let mut path = Path::default();
        self.place(e, &mut path, 0);
        if !path.is_memory {
            for inner in path.evaluated {
                self.expr(inner);
            }
            return;
        }
        let mut ty = self.f.expr(e).ty.clone();
        if let Type::Reference(p) = &ty {
            ty = p.ty.clone();
        }
        if opaque {
            path.through_cast = true;
            ty = Type::Unknown;
        }
        if matches!(ty, Type::Array { .. }) && mode == AccessMode::Load {
            // A row of an array decays to a pointer; nothing is loaded.
            for inner in path.evaluated {
                self.expr(inner);
            }
            return;
        }
        self.finish(e, path, mode, ty, value);
    }

    fn finish(&mut self, e: ExprId, path: Path, mode: AccessMode, ty: Type, value: Option<ExprId>) {
        let space = match path.base {
            _ if path.is_indirect => Space::Unknown,
            Some(base) => self.space_of_path(base, &path),
            None => Space::Unknown,
        };
        let base = path.base.unwrap_or_else(|| self.nameless(e));
        let access = Access {
            mode,
            space,
            expr: e,
            base,
            indices: path.indices,
            units: path.units,
            members: path.members,
            ty,
            through_cast: path.through_cast,
            stmt: self.stmt,
            loops: self.loops(),
            guards: self.guards(),
            in_header: self.in_header,
            value,
        };
        self.found.accesses.push(access);
        for inner in path.evaluated {
            self.expr(inner);
        }
    }

    /// A variable that stands for an address which no variable names.
    fn nameless(&mut self, e: ExprId) -> VarId {
        let span = self.f.expr(e).span;
        let index = self.f.vars.len() + self.found.vars.len();
        self.found.vars.push(Var {
            name: String::new(),
            kind: VarKind::Unresolved,
            ty: Type::Unknown,
            is_const: false,
            is_constexpr: false,
            is_volatile: false,
            is_static: false,
            is_extern: false,
            alignment: None,
            name_span: span,
            span,
            init: None,
        });
        VarId(index as u32)
    }

    fn element_of(&self, e: ExprId) -> Type {
        let ty = &self.f.expr(e).ty;
        ty.element().cloned().unwrap_or(Type::Unknown)
    }

    /// Takes an lvalue apart.
    fn place(&mut self, e: ExprId, path: &mut Path, depth: u32) {
        let f = self.f;
        if depth > 200 {
            path.is_indirect = true;
            return;
        }
        match f.kind_of(e) {
            ExprKind::Var(v) => {
                path.base = Some(*v);
                let var = f.var(*v);
                let is_array = matches!(var.ty, Type::Array { .. });
                let in_memory = matches!(var.kind, VarKind::Shared | VarKind::Global | VarKind::Constant) && !is_array;
                path.is_memory |= in_memory || matches!(var.ty, Type::Reference(_)) && !self.names_register(*v, depth);
            }
            ExprKind::Index { base, index } => {
                path.is_memory = true;
                self.pointer(*base, path, depth + 1);
                self.step(path, *base, *index);
            }
            ExprKind::Deref(p) => {
                path.is_memory = true;
                self.pointer(*p, path, depth + 1);
            }
            ExprKind::Member { base, name, arrow } => {
                if *arrow {
                    path.is_memory = true;
                    self.pointer(*base, path, depth + 1);
                } else {
                    self.place(*base, path, depth + 1);
                }
                path.members.push(name.clone());
            }
            ExprKind::Cast { operand, .. } => {
                path.through_cast = true;
                self.place(*operand, path, depth + 1);
            }
            ExprKind::Comma { left, right } => {
                path.evaluated.push(*left);
                self.place(*right, path, depth + 1);
            }
            ExprKind::This => path.is_indirect = true,
            _ => {
                path.is_indirect = true;
                path.evaluated.push(e);
            }
        }
    }

    /// Whether a reference is another name of a variable in a register.
    fn names_register(&mut self, v: VarId, depth: u32) -> bool {
        let Some(init) = self.f.var(v).init.filter(|_| depth < 32) else { return false };
        let mut path = Path::default();
        self.place(init, &mut path, depth + 32);
        !path.is_memory && !path.is_indirect && path.base.is_some_and(|b| b != v)
    }

    fn step(&mut self, path: &mut Path, pointer: ExprId, index: ExprId) {
        path.indices.push(index);
        path.units.push(self.element_of(pointer));
        path.evaluated.push(index);
    }

    /// Takes the value of a pointer apart.
    fn pointer(&mut self, e: ExprId, path: &mut Path, depth: u32) {
        let f = self.f;
        if depth > 200 {
            path.is_indirect = true;
            return;
        }
        match f.kind_of(e) {
            ExprKind::Var(v) => path.base = Some(*v),
            ExprKind::Cast { operand, ty, .. } => {
                path.through_cast |= ty.element() != f.expr(*operand).ty.element();
                self.pointer(*operand, path, depth + 1);
            }
            ExprKind::Binary { op: BinaryOp::Add, left, right } => {
                let right_is_pointer = f.expr(*right).ty.element().is_some();
                let (base, index) = if right_is_pointer { (*right, *left) } else { (*left, *right) };
                self.pointer(base, path, depth + 1);
                self.step(path, base, index);
            }
            ExprKind::Binary { op: BinaryOp::Sub, left, right } => {
                self.pointer(*left, path, depth + 1);
                let negative = self.make(ExprKind::Unary { op: UnaryOp::Neg, operand: *right }, *right);
                path.indices.push(negative);
                path.units.push(self.element_of(*left));
                path.evaluated.push(*right);
            }
            ExprKind::AddressOf(target) => self.place(*target, path, depth + 1),
            ExprKind::Index { .. } | ExprKind::Deref(_) | ExprKind::Member { .. } => {
                let by_value =
                    matches!(f.expr(e).ty, Type::Array { .. } | Type::Unknown | Type::Param(_) | Type::Named(_));
                let mut inner = Path::default();
                self.place(e, &mut inner, depth + 1);
                if by_value || !inner.is_memory {
                    // An array inside, or a member of a struct held in registers: one address.
                    let is_pointer = !matches!(f.expr(e).ty, Type::Array { .. });
                    inner.is_indirect |= is_pointer;
                    inner.evaluated.append(&mut path.evaluated);
                    let memory = path.is_memory;
                    *path = inner;
                    path.is_memory |= memory;
                } else {
                    // A pointer that is itself loaded.
                    path.base = inner.base;
                    path.members = inner.members;
                    path.members.push("*".to_owned());
                    path.is_indirect = true;
                    path.evaluated.push(e);
                }
            }
            ExprKind::Increment { target, .. } | ExprKind::Assign { target, .. } => {
                // Evaluating `e` evaluates all of its target: only the place is taken from there, or a chain of
                // assignments to assignments would double with each link.
                let evaluated = std::mem::take(&mut path.evaluated);
                self.pointer(*target, path, depth + 1);
                path.evaluated = evaluated;
                path.evaluated.push(e);
            }
            ExprKind::Comma { left, right } => {
                path.evaluated.push(*left);
                self.pointer(*right, path, depth + 1);
            }
            _ => {
                path.is_indirect = true;
                path.evaluated.push(e);
            }
        }
    }

    fn space_of_path(&self, base: VarId, path: &Path) -> Space {
        let var = self.f.var(base);
        let by_value = !matches!(var.ty, Type::Pointer(_) | Type::Array { .. } | Type::Reference(_));
        if by_value
            && !path.members.is_empty()
            && !matches!(var.kind, VarKind::Shared | VarKind::Constant | VarKind::Global)
        {
            // `frag.x[i]` of a local struct whose member is an array; whether it is one is not known here.
            return Space::Unknown;
        }
        self.space(base, &mut vec![])
    }

    /// The space that a variable is or points into.
    fn space(&self, v: VarId, seen: &mut Vec<VarId>) -> Space {
        let Some(var) = self.f.vars.get(v.0 as usize) else { return Space::Unknown };
        match (var.kind, &var.ty) {
            (VarKind::Shared, Type::Pointer(_)) => Space::Unknown,
            (VarKind::Shared, _) => Space::Shared,
            (VarKind::Constant, Type::Pointer(_)) | (VarKind::Global, Type::Pointer(_)) => Space::Global,
            (VarKind::Constant, _) => Space::Constant,
            (VarKind::Global, _) => Space::Global,
            (VarKind::Param, Type::Pointer(_))
                if self.f.kind == FunctionKind::Kernel && !self.origins.values.contains_key(&v) =>
            {
                Space::Global
            }
            (VarKind::Local, Type::Array { elem, .. }) if !matches!(**elem, Type::Pointer(_)) => Space::Local,
            (VarKind::Local | VarKind::Param, Type::Pointer(_) | Type::Reference(_) | Type::Auto) => {
                self.derived(v, seen)
            }
            _ => Space::Unknown,
        }
    }

    /// The one space of everything that is assigned to a pointer variable.
    fn derived(&self, v: VarId, seen: &mut Vec<VarId>) -> Space {
        if seen.contains(&v) || seen.len() > 64 {
            return Space::Unknown;
        }
        seen.push(v);
        let mut spaces = vec![];
        if self.f.var(v).kind == VarKind::Param {
            spaces.push(if self.f.kind == FunctionKind::Kernel { Space::Global } else { Space::Unknown });
        }
        for value in self.origins.values.get(&v).map_or(&[][..], |l| l) {
            // `p = p + 1` keeps what it was.
            for arm in self.arms(*value) {
                match self.root(arm) {
                    Some(root) if root == v => {}
                    Some(root) => spaces.push(self.space(root, seen)),
                    None => spaces.push(Space::Unknown),
                }
            }
        }
        seen.pop();
        let first = spaces.first().copied().unwrap_or(Space::Unknown);
        if spaces.iter().all(|s| *s == first) { first } else { Space::Unknown }
    }

    /// The values that a conditional expression may give.
    fn arms(&self, e: ExprId) -> Vec<ExprId> {
        match self.f.kind_of(e) {
            ExprKind::Conditional { then, otherwise, .. } => vec![*then, *otherwise],
            _ => vec![e],
        }
    }

    /// The variable at the root of an address, where nothing is loaded on the way.
    pub fn root(&self, e: ExprId) -> Option<VarId> {
        let f = self.f;
        let mut at = e;
        for _ in 0..400 {
            at = match f.kind_of(at) {
                ExprKind::Var(v) => return Some(*v),
                ExprKind::Cast { operand, .. } => *operand,
                ExprKind::AddressOf(inner) => match f.kind_of(*inner) {
                    // `&p[i]` has the root of `p`; `&s.x` that of `s`.
                    ExprKind::Index { base, .. } => *base,
                    ExprKind::Deref(p) => *p,
                    _ => *inner,
                },
                ExprKind::Index { base, .. } if !matches!(f.expr(at).ty, Type::Pointer(_)) => *base,
                ExprKind::Deref(p) if !matches!(f.expr(at).ty, Type::Pointer(_)) => *p,
                ExprKind::Member { base, arrow: false, .. } if matches!(f.expr(at).ty, Type::Array { .. }) => *base,
                ExprKind::Binary { op: BinaryOp::Add | BinaryOp::Sub, left, right } => {
                    if f.expr(*right).ty.element().is_some() { *right } else { *left }
                }
                ExprKind::Increment { target, .. } => *target,
                _ => return None,
            };
        }
        None
    }
}
