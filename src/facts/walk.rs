//! One symbolic walk over the statements of a function.
//!
//! The walk follows the order of execution once. Variables hold symbolic values; where two paths meet, or a loop may
//! have changed a variable in a way that is not `start + iteration * amount`, the variable gets a fresh version. Atoms
//! never change, so that what is known of them stays true.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::atom::Atom;
use super::because::Because;
use super::context::Context;
use super::effects::{Root, Scope, Writes, root};
use super::env::Env;
use super::interval::Interval;
use super::macros::Macros;
use super::notes::Notes;
use super::poly::Poly;
use super::range::Known;
use super::state::{Divergence, Event, EventKind, Here, Place, Walked};
use super::value::{Formula, IntValue, PointerValue, Truth, Value, type_range};
use crate::ir::*;
use crate::source::Span;

pub(super) const MAX_DEPTH: u32 = 400;

pub struct Walker<'a> {
    pub(super) scope: Scope<'a>,
    pub(super) f: &'a Function,
    pub(super) context: &'a Context,
    pub(super) env: Env,
    pub(super) known: Arc<Known>,
    pub(super) out: Walked,
    pub(super) notes: &'a Notes,
    pub(super) loops: Vec<LoopId>,
    pub(super) divergent: Option<Divergence>,
    pub(super) conditions: Vec<(Span, Option<ExprId>)>,
    /// The last place's surroundings, shared by those that follow.
    pub(super) here: Arc<Here>,
    /// Evaluations that must leave no trace.
    pub(super) quiet: u32,
    pub(super) seq: u32,
    pub(super) depth: u32,
    /// The serial number of the next made-up atom.
    pub(super) fresh: u32,
    /// The rest of the current path is not run.
    pub(super) dead: bool,
    /// Some threads may have returned.
    pub(super) returned: Option<Divergence>,
    /// For each loop around, the serial number at its start.
    pub(super) born: Vec<u32>,
}

impl<'a> Walker<'a> {
    /// Walks `function` under `context`.
    pub fn run(
        program: &'a Program,
        unit: &'a Unit,
        f: &'a Function,
        macros: &'a Macros,
        context: &'a Context,
        notes: &'a Notes,
    ) -> Walked {
        let scope = Scope { program, unit, function: f, macros };
        let mut w = Walker {
            notes,
            scope,
            f,
            context,
            env: Env::default(),
            known: Arc::new(context.known.clone()),
            out: Walked::default(),
            loops: vec![],
            divergent: None,
            conditions: vec![],
            here: Arc::default(),
            quiet: 0,
            seq: 0,
            depth: 0,
            fresh: 0,
            dead: false,
            returned: None,
            born: vec![],
        };
        w.out.evaluated = vec![None; f.exprs.len()];
        w.out.taint = w.taint();
        if w.out.taint.is_none() {
            if !f.is_kernel() {
                w.divergent = Some((f.name_span, "callers may come here with some of their threads only"));
            }
            w.enter();
            w.block(&f.body);
        }
        w.out
    }

    pub(super) fn taint(&self) -> Option<(Option<Span>, String)> {
        if let Some(flaw) =
            self.f.flaws.iter().find(|f| f.kind.forbids_all_edits() || f.kind == FlawKind::DroppedBranch)
        {
            return Some((Some(flaw.span), "this part of the function could not be read".into()));
        }
        if let Some(name) = self.scope.macros.shadows(self.f.vars.iter().map(|v| v.name.as_str())) {
            return Some((None, format!("`{name}` is also a macro, so the text may not mean what it says")));
        }
        let jump = |s: &Stmt| matches!(&s.kind, StmtKind::Opaque { what, .. } if what.contains("goto") || what.contains("label"));
        if let Some(s) = self.f.stmts.iter().find(|s| jump(s)) {
            return Some((
                Some(s.span),
                "jumps by goto, and labels inside statements of a `switch`, are not modelled".into(),
            ));
        }
        None
    }

    pub(super) fn enter(&mut self) {
        for (i, var) in self.f.vars.iter().enumerate() {
            let id = VarId(i as u32);
            if var.kind == VarKind::Param {
                let because = Because::at(var.name_span, format!("parameter `{}`", var.name));
                let value = self.entry_value(id, var, because);
                self.env.insert(id, value);
            }
        }
        if !self.f.is_kernel() {
            self.out.params_vary = true;
        }
    }

    pub(super) fn entry_value(&mut self, id: VarId, var: &Var, because: Because) -> Value {
        match &var.ty {
            Type::Pointer(p) => Value::Pointer(PointerValue {
                root: id,
                offset: Poly::zero(),
                modular: false,
                pointee: p.ty.clone(),
                because,
            }),
            Type::Scalar(s) if s.is_integer() || *s == Scalar::Bool => {
                let (range, why) = parameter_range(*s);
                Arc::make_mut(&mut self.known).bound(Atom::Param(id), range, why);
                let poly = Poly::atom(Atom::Param(id));
                if *s == Scalar::Bool {
                    let uniform = self.f.is_kernel();
                    return Value::Truth(Truth { formula: Formula::NonZero(poly), uniform, because });
                }
                Value::Int(IntValue { poly, ty: *s, modular: false, because })
            }
            _ => Value::Other,
        }
    }

    pub(super) fn place(&mut self) -> Place {
        let divergent = self.divergent.or(self.returned);
        let last = &*self.here;
        if last.loops != self.loops || last.divergent != divergent || last.conditions != self.conditions {
            let (loops, conditions) = (self.loops.clone(), self.conditions.clone());
            self.here = Arc::new(Here { loops, divergent, conditions });
        }
        Place::new(self.known.clone(), self.seq, self.here.clone())
    }

    pub(super) fn event(&mut self, kind: EventKind, span: Span) {
        if self.quiet == 0 {
            self.seq += 1;
            self.out.events.push(Event { kind, span, seq: self.seq });
        }
    }

    /// A value of which nothing is known but its type.
    pub(super) fn fresh_int(&mut self, ty: Scalar, uniform: bool, because: Because) -> Value {
        let atom = Atom::Opaque(self.serial(uniform), ty);
        Value::Int(IntValue { poly: Poly::atom(atom), ty, modular: false, because })
    }

    fn serial(&mut self, uniform: bool) -> u32 {
        let serial = self.fresh;
        self.fresh += 1;
        if !uniform {
            self.out.varying.insert(serial);
        }
        serial
    }

    pub(super) fn fresh_of_type(&mut self, ty: &Type, uniform: bool, because: Because) -> Value {
        match scalar_of(ty) {
            Some(Scalar::Bool) => Value::Truth(Truth { formula: Formula::Unknown, uniform, because }),
            Some(s) if s.is_integer() => self.fresh_int(s, uniform, because),
            _ => Value::Other,
        }
    }

    pub(super) fn version(&mut self, var: VarId, ty: Scalar, uniform: bool) -> Atom {
        Atom::Version(var, self.serial(uniform), ty)
    }

    /// Forgets the value of `var`.
    pub(super) fn havoc(&mut self, var: VarId, uniform: bool) {
        let decl = self.f.var(var);
        let because = self.notes.changes(self.f, var);
        let value = match scalar_of(&decl.ty).or_else(|| self.scalar_in_env(var)) {
            Some(Scalar::Bool) => Value::Truth(Truth { formula: Formula::Unknown, uniform, because }),
            Some(s) if s.is_integer() => {
                let atom = self.version(var, s, uniform);
                Value::Int(IntValue { poly: Poly::atom(atom), ty: s, modular: false, because })
            }
            _ => Value::Other,
        };
        self.env.insert(var, value);
    }

    pub(super) fn scalar_in_env(&self, var: VarId) -> Option<Scalar> {
        match (self.f.var(var).ty == Type::Auto, self.env.get(&var)) {
            (true, Some(Value::Int(i))) => Some(i.ty),
            _ => None,
        }
    }

    /// Forgets what `writes` may have changed.
    pub(super) fn havoc_writes(&mut self, writes: &Writes) {
        let targets: Vec<VarId> = if writes.all {
            let mutable = |v: &VarId| !self.f.var(*v).is_const && !self.f.var(*v).is_constexpr;
            self.env.vars().filter(mutable).collect()
        } else {
            writes.vars.keys().copied().filter(|v| self.env.contains_key(v)).collect()
        };
        for v in targets {
            self.havoc(v, false);
        }
    }

    pub(super) fn block(&mut self, block: &Block) {
        for s in &block.stmts {
            self.stmt(*s);
        }
    }

    pub(super) fn stmt(&mut self, id: StmtId) {
        if self.depth > MAX_DEPTH {
            self.out.taint.get_or_insert((None, "nested too deeply".into()));
            return;
        }
        self.depth += 1;
        self.stmt_inner(id);
        self.depth -= 1;
    }

    pub(super) fn stmt_inner(&mut self, id: StmtId) {
        let f = self.f;
        let stmt = f.stmt(id);
        match &stmt.kind {
            StmtKind::Declare { var, init } => self.declare(*var, *init),
            StmtKind::Expr(e) => drop(self.eval(*e)),
            StmtKind::If { condition, then, otherwise, .. } => self.branch(*condition, then, otherwise.as_ref()),
            StmtKind::For { id, init, condition, step, body } => {
                init.iter().for_each(|s| self.stmt(*s));
                self.repeat(*id, *condition, *step, body, false);
            }
            StmtKind::While { id, condition, body } => self.repeat(*id, Some(*condition), None, body, false),
            StmtKind::DoWhile { id, body, condition } => self.repeat(*id, Some(*condition), None, body, true),
            StmtKind::OpaqueLoop { id, body } => self.opaque_loop(*id, body, stmt.span),
            StmtKind::Switch { value, labels, body } => self.switch(*value, labels, body, stmt.span),
            StmtKind::Return(e) => {
                e.iter().for_each(|e| drop(self.eval(*e)));
                self.event(EventKind::Exit, stmt.span);
                if let Some((span, _)) = &self.divergent {
                    self.returned = Some((*span, "some threads may have returned here"));
                }
                self.dead = true;
            }
            StmtKind::Break | StmtKind::Continue => self.dead = true,
            StmtKind::Block(b) => self.block(b),
            StmtKind::Asm { writes, reads, is_volatile, clobbers_memory, template } => {
                reads.iter().for_each(|e| drop(self.eval(*e)));
                for w in writes {
                    self.lvalue_written(*w);
                }
                if *is_volatile || *clobbers_memory || writes.is_empty() || leaves(template) {
                    self.event(EventKind::Anything, stmt.span);
                }
                if leaves(template) {
                    self.returned = Some((stmt.span, "this assembly may leave the kernel"));
                }
            }
            StmtKind::Preprocessor { arms } => self.arms(arms, stmt.span),
            StmtKind::Opaque { children, .. } => {
                children.iter().for_each(|e| drop(self.eval(*e)));
                self.anything(stmt.span);
            }
            StmtKind::Pragma(_) | StmtKind::Empty => {}
        }
    }

    /// Something ran that may do anything.
    pub(super) fn anything(&mut self, span: Span) {
        self.event(EventKind::Anything, span);
        self.havoc_writes(&Writes { all: true, ..Writes::default() });
        if self.quiet == 0 {
            self.returned = Some((span, "what this text does is not known"));
        }
    }

    /// An lvalue is written with a value of which nothing is known.
    pub(super) fn lvalue_written(&mut self, target: ExprId) {
        self.eval_place(target);
        let writes = match root(self.f, target) {
            Root::Var(v, _) => Writes { vars: BTreeMap::from([(v, 1)]), all: false },
            Root::Memory => return,
            Root::Unknown => self.scope.writes(&[target], &[]),
        };
        self.havoc_writes(&writes);
    }

    pub(super) fn declare(&mut self, var: VarId, init: Option<ExprId>) {
        let f = self.f;
        let decl = f.var(var);
        let value = match init {
            Some(e) => {
                let v = self.eval(e);
                self.initial(decl, v, e)
            }
            None => Value::Other,
        };
        if matches!(decl.ty, Type::Array { .. }) || decl.kind == VarKind::Shared || self.notes.escaped.contains(&var) {
            return;
        }
        let value = match value {
            Value::Other => {
                let because = Because::at(decl.name_span, format!("`{}` has no value that is modelled", decl.name));
                self.fresh_of_type(&decl.ty, false, because)
            }
            v => self.convert_to_type(v, &decl.ty, decl.name_span),
        };
        self.env.insert(var, value);
    }

    pub(super) fn initial(&mut self, decl: &Var, value: Value, init: ExprId) -> Value {
        if let Type::Named(n) = &decl.ty
            && n.rsplit("::").next() == Some("dim3")
        {
            return self.dim3(value, init);
        }
        match self.f.kind_of(init) {
            // `int n{4}`.
            ExprKind::InitList(items) if items.len() == 1 && scalar_of(&decl.ty).is_some() => {
                items.first().map_or(Value::Other, |e| self.requiet(*e))
            }
            _ => value,
        }
    }

    /// The value of an expression that has been evaluated already.
    pub(super) fn requiet(&mut self, e: ExprId) -> Value {
        if !self.scope.writes(&[e], &[]).vars.is_empty() {
            return Value::Other;
        }
        self.quiet += 1;
        let v = self.eval(e);
        self.quiet -= 1;
        v
    }

    pub(super) fn is_uniform(&self, value: &Value) -> bool {
        match value {
            Value::Int(i) => self.poly_is_uniform(&i.poly),
            Value::Pointer(p) => self.poly_is_uniform(&p.offset),
            Value::Truth(t) => t.uniform,
            Value::Dim3(..) => true,
            Value::Other => false,
        }
    }

    pub(super) fn poly_is_uniform(&self, poly: &Poly) -> bool {
        self.out.is_uniform(poly)
    }
}

/// A point of the walk to come back to.
#[derive(Clone)]
pub(super) struct Snapshot {
    pub(super) env: Env,
    pub(super) known: Arc<Known>,
    pub(super) dead: bool,
    pub(super) divergent: Option<Divergence>,
}

pub(super) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Int(x), Value::Int(y)) => x.poly == y.poly && x.ty == y.ty && x.modular == y.modular,
        (Value::Pointer(x), Value::Pointer(y)) => {
            x.root == y.root && x.offset == y.offset && x.pointee == y.pointee && x.modular == y.modular
        }
        (Value::Truth(x), Value::Truth(y)) => {
            x.formula == y.formula && x.uniform == y.uniform && x.formula != Formula::Unknown
        }
        (Value::Dim3(x, _), Value::Dim3(y, _)) => x == y,
        (Value::Other, Value::Other) => true,
        _ => false,
    }
}

pub(super) fn add_because(value: &mut Value, more: &Because) {
    match value {
        Value::Int(i) => i.because.join(more),
        Value::Pointer(p) => p.because.join(more),
        Value::Truth(t) => t.because.join(more),
        Value::Dim3(_, b) => b.join(more),
        Value::Other => {}
    }
}

/// A sum of thread indices, block offsets and grid strides, each taken once.
pub(super) fn is_thread_stride(poly: &Poly) -> bool {
    poly.terms().all(|(m, c)| match m {
        [] => false,
        [Atom::Thread(_) | Atom::BlockDim(_) | Atom::Block(_) | Atom::GridDim(_)] => c == 1,
        [Atom::Block(a), Atom::BlockDim(b)] | [Atom::BlockDim(a), Atom::GridDim(b)] => c == 1 && a == b,
        _ => false,
    })
}

/// Whether assembly text contains something that ends the thread or jumps.
pub(super) fn leaves(template: &str) -> bool {
    ["exit", "ret", "bra", "trap", "brx", "call"].iter().any(|w| template.contains(w))
}

pub(super) fn scalar_of(ty: &Type) -> Option<Scalar> {
    match ty {
        Type::Scalar(s) => Some(*s),
        Type::Named(n) => match n.rsplit("::").next().unwrap_or(n) {
            "size_t" | "uintptr_t" | "uint64_t" => Some(Scalar::U64),
            "uint32_t" | "uint" => Some(Scalar::U32),
            "int32_t" => Some(Scalar::I32),
            "int64_t" | "ptrdiff_t" | "intptr_t" => Some(Scalar::I64),
            _ => None,
        },
        _ => None,
    }
}

pub(super) fn parameter_range(s: Scalar) -> (Interval, Because) {
    match s {
        Scalar::U64 => (Interval::new(0, i128::from(i64::MAX)), Because::assuming("standing:sizes-63-bit")),
        s => (type_range(s), Because::nothing()),
    }
}
