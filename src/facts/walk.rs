//! One symbolic walk over the statements of a function.
//!
//! The walk follows the order of execution once. Variables hold symbolic values; where two paths meet, or a loop may
//! have changed a variable in a way that is not `start + iteration * amount`, the variable gets a fresh version. Atoms
//! never change, so that what is known of them stays true.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::because::Because;
use super::context::Context;
use super::effects::{Scope, Writes};
use super::macros::Macros;
use super::poly::{Atom, Poly};
use super::range::{Interval, Known};
use super::state::{Event, EventKind, LoopState, Place, Walked};
use super::value::{Formula, IntValue, PointerValue, Truth, Value, common, type_range};
use crate::ir::*;
use crate::source::Span;

const MAX_DEPTH: u32 = 400;

pub(super) type Env = BTreeMap<VarId, Value>;

pub struct Walker<'a> {
    pub(super) scope: Scope<'a>,
    pub(super) f: &'a Function,
    pub(super) context: &'a Context,
    pub(super) env: Env,
    pub(super) known: Arc<Known>,
    pub(super) out: Walked,
    pub(super) escaped: BTreeSet<VarId>,
    pub(super) loops: Vec<LoopId>,
    pub(super) divergent: Option<(Span, String)>,
    pub(super) conditions: Vec<(Span, Option<ExprId>)>,
    /// Evaluations that must leave no trace.
    pub(super) quiet: u32,
    pub(super) seq: u32,
    pub(super) by_access: BTreeMap<ExprId, AccessId>,
    pub(super) depth: u32,
    fresh: u32,
    versions: BTreeMap<VarId, u32>,
    /// The rest of the current path is not run.
    dead: bool,
    /// Some threads may have returned.
    returned: Option<(Span, String)>,
    pub(super) born: Vec<BTreeSet<Atom>>,
}

impl<'a> Walker<'a> {
    /// Walks `function` under `context`.
    pub fn run(program: &'a Program, unit: &'a Unit, f: &'a Function, macros: &'a Macros, context: &'a Context) -> Walked {
        let scope = Scope { program, unit, function: f, macros };
        let mut w = Walker {
            escaped: scope.escaped(),
            scope,
            f,
            context,
            env: Env::new(),
            known: Arc::new(context.known.clone()),
            out: Walked::default(),
            loops: vec![],
            divergent: None,
            conditions: vec![],
            quiet: 0,
            seq: 0,
            by_access: f.accesses.iter().enumerate().map(|(i, a)| (a.expr, AccessId(i as u32))).collect(),
            depth: 0,
            fresh: 0,
            versions: BTreeMap::new(),
            dead: false,
            returned: None,
            born: vec![],
        };
        w.out.taint = w.taint();
        if w.out.taint.is_none() {
            w.enter();
            w.block(&f.body);
        }
        w.out
    }

    fn taint(&self) -> Option<(Option<Span>, String)> {
        if let Some(flaw) = self.f.flaws.iter().find(|f| f.kind.forbids_all_edits() || f.kind == FlawKind::DroppedBranch) {
            return Some((Some(flaw.span), "this part of the function could not be read".into()));
        }
        if let Some(name) = self.scope.macros.shadows(self.f.vars.iter().map(|v| v.name.as_str())) {
            return Some((None, format!("`{name}` is also a macro, so the text may not mean what it says")));
        }
        let jump = |s: &Stmt| matches!(&s.kind, StmtKind::Opaque { what, .. } if what.contains("goto") || what.contains("label"));
        if let Some(s) = self.f.stmts.iter().find(|s| jump(s)) {
            return Some((Some(s.span), "jumps by goto are not modelled".into()));
        }
        None
    }

    fn enter(&mut self) {
        for (i, var) in self.f.vars.iter().enumerate() {
            let id = VarId(i as u32);
            if var.kind == VarKind::Param {
                let because = Because::at(var.name_span, format!("parameter `{}`", var.name));
                let value = self.entry_value(id, var, because);
                self.env.insert(id, value);
            }
        }
        if !self.f.is_kernel() {
            for p in &self.f.params {
                self.out.varying.insert(Atom::Param(*p));
            }
        }
    }

    fn entry_value(&mut self, id: VarId, var: &Var, because: Because) -> Value {
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

    pub(super) fn place(&self) -> Place {
        Place {
            known: self.known.clone(),
            seq: self.seq,
            loops: self.loops.clone(),
            divergent: self.divergent.clone().or_else(|| self.returned.clone()),
            conditions: self.conditions.clone(),
        }
    }

    pub(super) fn event(&mut self, kind: EventKind, span: Span) {
        if self.quiet == 0 {
            self.seq += 1;
            self.out.events.push(Event { kind, span, seq: self.seq, loops: self.loops.clone() });
        }
    }

    /// A value of which nothing is known but its type.
    pub(super) fn fresh_int(&mut self, ty: Scalar, uniform: bool, because: Because) -> Value {
        let atom = Atom::Opaque(self.fresh);
        self.fresh += 1;
        self.register(&atom, ty, uniform);
        Value::Int(IntValue { poly: Poly::atom(atom), ty, modular: false, because })
    }

    fn register(&mut self, atom: &Atom, ty: Scalar, uniform: bool) {
        Arc::make_mut(&mut self.known).bound(atom.clone(), type_range(ty), Because::nothing());
        if !uniform {
            self.out.varying.insert(atom.clone());
        }
        for born in &mut self.born {
            born.insert(atom.clone());
        }
    }

    pub(super) fn fresh_of_type(&mut self, ty: &Type, uniform: bool, because: Because) -> Value {
        match scalar_of(ty) {
            Some(Scalar::Bool) => Value::Truth(Truth { formula: Formula::Unknown, uniform, because }),
            Some(s) if s.is_integer() => self.fresh_int(s, uniform, because),
            _ => Value::Other,
        }
    }

    fn version(&mut self, var: VarId, ty: Scalar, uniform: bool) -> Atom {
        let n = self.versions.entry(var).or_default();
        let atom = Atom::Version(var, *n);
        *n += 1;
        self.register(&atom, ty, uniform);
        atom
    }

    /// Forgets the value of `var`.
    fn havoc(&mut self, var: VarId, uniform: bool) {
        let decl = self.f.var(var);
        let because = Because::at(decl.name_span, format!("`{}` changes", decl.name));
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

    fn scalar_in_env(&self, var: VarId) -> Option<Scalar> {
        match (self.f.var(var).ty == Type::Auto, self.env.get(&var)) {
            (true, Some(Value::Int(i))) => Some(i.ty),
            _ => None,
        }
    }

    /// Forgets what `writes` may have changed.
    pub(super) fn havoc_writes(&mut self, writes: &Writes) {
        let targets: Vec<VarId> = if writes.all {
            let mutable = |v: &VarId| !self.f.var(*v).is_const && !self.f.var(*v).is_constexpr;
            self.env.keys().copied().filter(mutable).collect()
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

    fn stmt(&mut self, id: StmtId) {
        if self.depth > MAX_DEPTH {
            self.out.taint.get_or_insert((None, "nested too deeply".into()));
            return;
        }
        self.depth += 1;
        self.stmt_inner(id);
        self.depth -= 1;
    }

    fn stmt_inner(&mut self, id: StmtId) {
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
            StmtKind::Switch { value, body } => self.switch(*value, body, stmt.span),
            StmtKind::Return(e) => {
                e.iter().for_each(|e| drop(self.eval(*e)));
                self.event(EventKind::Exit, stmt.span);
                if let Some((span, _)) = &self.divergent {
                    self.returned = Some((*span, "some threads may have returned here".into()));
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
                    self.returned = Some((stmt.span, "this assembly may leave the kernel".into()));
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
            self.returned = Some((span, "what this text does is not known".into()));
        }
    }

    /// An lvalue is written with a value of which nothing is known.
    pub(super) fn lvalue_written(&mut self, target: ExprId) {
        self.eval_place(target);
        let writes = match super::effects::root(self.f, target) {
            super::effects::Root::Var(v, _) => Writes { vars: BTreeMap::from([(v, 1)]), all: false },
            super::effects::Root::Memory => return,
            super::effects::Root::Unknown => self.scope.writes(&[target], &[]),
        };
        self.havoc_writes(&writes);
    }

    fn declare(&mut self, var: VarId, init: Option<ExprId>) {
        let f = self.f;
        let decl = f.var(var);
        let value = match init {
            Some(e) => {
                let v = self.eval(e);
                self.initial(decl, v, e)
            }
            None => Value::Other,
        };
        if matches!(decl.ty, Type::Array { .. }) || decl.kind == VarKind::Shared || self.escaped.contains(&var) {
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

    fn initial(&mut self, decl: &Var, value: Value, init: ExprId) -> Value {
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

    fn branch(&mut self, condition: ExprId, then: &Block, otherwise: Option<&Block>) {
        let truth = self.truth(condition);
        let span = self.f.expr(condition).span;
        let start = self.snapshot();
        self.conditions.push((span, Some(condition)));
        if !truth.uniform && self.divergent.is_none() {
            self.divergent = Some((span, "threads of one block may differ on this condition".into()));
        }
        self.assume(&truth, false, span);
        self.block(then);
        let first = self.snapshot();
        self.restore(&start, false);
        self.assume(&truth, true, span);
        if let Some(b) = otherwise {
            self.block(b);
        }
        let second = self.snapshot();
        self.conditions.pop();
        self.divergent = start.divergent.clone();
        self.join(&start, &[first, second], truth.uniform);
    }

    pub(super) fn assume(&mut self, truth: &Truth, negated: bool, span: Span) {
        let formula = if negated { truth.formula.negate() } else { truth.formula.clone() };
        let text = if negated { "this condition is false here" } else { "this condition is true here" };
        let because = truth.because.clone().and(&Because::at(span, text));
        formula.assume(Arc::make_mut(&mut self.known), &because);
    }

    fn arms(&mut self, arms: &[(Span, Block)], span: Span) {
        let start = self.snapshot();
        let mut ends = vec![];
        for (_, block) in arms {
            self.restore(&start, false);
            self.conditions.push((span, None));
            self.block(block);
            self.conditions.pop();
            ends.push(self.snapshot());
        }
        // Without an `#else` no arm may be compiled.
        ends.push(start.clone());
        self.join(&start, &ends, true);
    }

    fn switch(&mut self, value: ExprId, body: &Block, span: Span) {
        let v = self.eval(value);
        let uniform = self.is_uniform(&v);
        let writes = self.scope.writes(&[], &[body]);
        let start = self.snapshot();
        self.conditions.push((span, None));
        if !uniform && self.divergent.is_none() {
            self.divergent = Some((span, "threads of one block may take different cases".into()));
        }
        for s in &body.stmts {
            // Control may enter at any label.
            self.known = start.known.clone();
            self.havoc_writes(&writes);
            self.dead = false;
            self.stmt(*s);
        }
        self.conditions.pop();
        self.restore(&start, false);
        self.havoc_writes(&writes);
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot { env: self.env.clone(), known: self.known.clone(), dead: self.dead, divergent: self.divergent.clone() }
    }

    pub(super) fn restore(&mut self, s: &Snapshot, keep_divergence: bool) {
        self.env = s.env.clone();
        self.known = s.known.clone();
        self.dead = s.dead;
        if keep_divergence {
            self.divergent = s.divergent.clone();
        }
    }

    /// Goes on from where `ends` meet.
    pub(super) fn join(&mut self, start: &Snapshot, ends: &[Snapshot], uniform: bool) {
        let live: Vec<&Snapshot> = ends.iter().filter(|e| !e.dead).collect();
        match live.as_slice() {
            [] => {
                self.restore(start, false);
                self.dead = true;
            }
            [one] => {
                self.env = one.env.clone();
                self.known = one.known.clone();
                self.dead = false;
            }
            [first, rest @ ..] => {
                self.known = start.known.clone();
                self.dead = start.dead;
                let vars: BTreeSet<VarId> = live.iter().flat_map(|e| e.env.keys().copied()).collect();
                let mut env = Env::new();
                for v in vars {
                    let values: Vec<Option<&Value>> = live.iter().map(|e| e.env.get(&v)).collect();
                    let Some(Some(value)) = values.first() else { continue };
                    if rest.iter().all(|e| e.env.get(&v).is_some_and(|o| same(value, o))) {
                        let mut value = (*value).clone();
                        for e in rest {
                            if let Some(o) = e.env.get(&v) {
                                add_because(&mut value, &o.because());
                            }
                        }
                        env.insert(v, value);
                    } else if values.iter().all(Option::is_some) {
                        let joined = self.join_values(v, &live, uniform);
                        env.insert(v, joined);
                    }
                }
                let _ = first;
                self.env = env;
            }
        }
    }

    fn join_values(&mut self, var: VarId, live: &[&Snapshot], uniform: bool) -> Value {
        let values: Vec<(&Value, &Arc<Known>)> = live.iter().filter_map(|e| Some((e.env.get(&var)?, &e.known))).collect();
        let uniform = uniform && values.iter().all(|(v, _)| self.is_uniform(v));
        let mut because = Because::nothing();
        values.iter().for_each(|(v, _)| because.join(&v.because()));
        let ints: Option<Vec<(&IntValue, &Arc<Known>)>> =
            values.iter().map(|(v, k)| if let Value::Int(i) = v { Some((i, *k)) } else { None }).collect();
        if let Some(ints) = ints
            && let Some((first, _)) = ints.first()
            && ints.iter().all(|(i, _)| i.ty == first.ty)
        {
            let ty = first.ty;
            let mut hull: Option<Interval> = None;
            for (i, known) in &ints {
                let (r, why) = if i.modular { (Interval::ALL, Because::nothing()) } else { known.range(&i.poly) };
                because.join(&why);
                hull = Some(hull.map_or(r, |h| Interval {
                    lo: h.lo.zip(r.lo).map(|(a, b)| a.min(b)),
                    hi: h.hi.zip(r.hi).map(|(a, b)| a.max(b)),
                }));
            }
            let atom = self.version(var, ty, uniform);
            Arc::make_mut(&mut self.known).bound(atom.clone(), hull.unwrap_or_default(), because.clone());
            return Value::Int(IntValue { poly: Poly::atom(atom), ty, modular: false, because });
        }
        if values.iter().all(|(v, _)| matches!(v, Value::Truth(_))) {
            return Value::Truth(Truth { formula: Formula::Unknown, uniform, because });
        }
        Value::Other
    }

    fn opaque_loop(&mut self, id: LoopId, body: &Block, span: Span) {
        let writes = self.scope.writes(&[], &[body]);
        self.havoc_writes(&writes);
        let start = self.snapshot();
        self.event(EventKind::Anything, span);
        self.loops.push(id);
        self.divergent.get_or_insert((span, "how often this loop runs is not known".into()));
        self.block(body);
        self.loops.pop();
        self.restore(&start, true);
        self.havoc_writes(&writes);
    }

    fn repeat(&mut self, id: LoopId, condition: Option<ExprId>, step: Option<ExprId>, body: &Block, is_do: bool) {
        let roots: Vec<ExprId> = condition.iter().chain(&step).copied().collect();
        let writes = self.scope.writes(&roots, &[body]);
        let before = self.place();
        let entry = self.env.clone();
        self.born.push(BTreeSet::new());
        let mut exits = self.exits(body, true, 0);
        exits.extend(self.scope.may_leave(&roots, body).map(|span| (span, "text that is not modelled")));
        self.havoc_loop(&writes, &entry, step, body, &exits);
        // A do-while does not test before its first iteration.
        let tested = condition.filter(|_| !is_do);
        let inductions = self.inductions(id, &writes, &entry, tested, step, body);
        let start = self.snapshot();
        self.loops.push(id);
        let first_event = self.seq;
        let first = if is_do { None } else { condition.map(|c| (self.truth(c), c)) };
        let mut divergent = self.divergent.clone().or_else(|| self.returned.clone());
        let split = |span: Span, text: &str, d: &mut Option<(Span, String)>| {
            d.get_or_insert((span, text.to_owned()));
        };
        match (&first, condition) {
            (Some((t, c)), _) if !t.uniform => {
                split(self.f.expr(*c).span, "threads of one block may run this loop unequally often", &mut divergent);
            }
            (None, Some(c)) if !self.condition_is_uniform(c) => {
                split(self.f.expr(c).span, "threads of one block may run this loop unequally often", &mut divergent);
            }
            _ => {}
        }
        if let Some((span, _)) = exits.iter().find(|(_, what)| *what != "continue") {
            split(*span, "some threads may leave the loop here", &mut divergent);
        }
        self.divergent = divergent.clone();
        if let Some((t, c)) = &first {
            let span = self.f.expr(*c).span;
            self.assume(t, false, span);
            self.conditions.push((span, Some(*c)));
        }
        let inside = self.known.clone();
        self.block(body);
        // `continue` may skip the rest of the body, but not the step.
        if exits.iter().any(|(_, what)| *what == "continue") {
            self.restore(&start, false);
            self.known = inside.clone();
            let tested: Vec<ExprId> = condition.into_iter().collect();
            let mut again = self.scope.writes(&tested, &[body]);
            again.vars.retain(|v, _| !inductions.contains_key(v));
            self.havoc_writes(&again);
        }
        self.dead = false;
        step.iter().for_each(|e| drop(self.eval(*e)));
        let tail = if is_do { condition.map(|c| self.truth(c)) } else { None };
        if first.is_some() {
            self.conditions.pop();
        }
        self.loops.pop();
        let born = self.born.pop().unwrap_or_default();
        let mut because = Because::nothing();
        inductions.values().for_each(|(_, _, b)| because.join(b));
        let state = LoopState {
            before,
            inside,
            condition: first.map(|(t, _)| t).or(tail),
            divergent,
            inductions: inductions.into_iter().map(|(v, (s, a, _))| (v, (s, a))).collect(),
            events: (first_event, self.seq),
            born,
            exits,
            because,
        };
        if self.quiet == 0 {
            self.out.loops.insert(id, state);
        }
        self.restore(&start, false);
        self.divergent = start.divergent;
        self.havoc_writes(&writes);
    }

    /// Whether a do-while's condition, seen from the start of an iteration, may differ between threads.
    fn condition_is_uniform(&mut self, condition: ExprId) -> bool {
        if !self.scope.writes(&[condition], &[]).vars.is_empty() {
            return false;
        }
        self.quiet += 1;
        let t = self.truth(condition);
        self.quiet -= 1;
        t.uniform
    }

    /// Forgets what the loop changes, keeping what survives any number of iterations.
    fn havoc_loop(
        &mut self,
        writes: &Writes,
        entry: &Env,
        step: Option<ExprId>,
        body: &Block,
        exits: &[(Span, &'static str)],
    ) {
        self.havoc_writes(writes);
        if writes.all || exits.iter().any(|(_, w)| *w == "continue") {
            return;
        }
        // A variable that is halved or doubled by the same amount in all threads stays the same in all of them.
        for (v, count) in &writes.vars {
            if *count != 1 || self.escaped.contains(v) {
                continue;
            }
            let Some(e) = self.only_change(*v, step, body) else { continue };
            let ExprKind::Assign { op: Some(op), value, .. } = self.f.kind_of(e) else { continue };
            let Some(Value::Int(start)) = entry.get(v) else { continue };
            let start = start.clone();
            let Some(Value::Int(amount)) = self.amount(*value) else { continue };
            if start.modular || amount.modular {
                continue;
            }
            let uniform = self.is_uniform(&Value::Int(start.clone())) && self.is_uniform(&Value::Int(amount.clone()));
            self.havoc(*v, uniform);
            self.bound_scaled(*v, *op, &start, &amount);
        }
    }

    /// `s >>= 1` and `s /= 2` keep a value between 0 and where it began.
    fn bound_scaled(&mut self, var: VarId, op: BinaryOp, start: &IntValue, amount: &IntValue) {
        let least = match op {
            BinaryOp::Shr => 0,
            BinaryOp::Div => 1,
            _ => return,
        };
        let Some(Value::Int(now)) = self.env.get(&var).cloned() else { return };
        let (Some(a), Some(b)) = (
            amount.poly.offset(-least).and_then(|p| self.known.prove_nonneg(&p)),
            self.known.prove_nonneg(&start.poly),
        ) else {
            return;
        };
        let why = a.and(&b).and(&start.because).and(&amount.because);
        let known = Arc::make_mut(&mut self.known);
        known.assume_nonneg(now.poly.clone(), why.clone());
        if let Some(rest) = start.poly.sub(&now.poly) {
            known.assume_nonneg(rest, why);
        }
    }

    /// The value of a side-effect free expression in the current state, without a trace.
    fn amount(&mut self, e: ExprId) -> Option<Value> {
        let writes = self.scope.writes(&[e], &[]);
        if writes.all || !writes.vars.is_empty() {
            return None;
        }
        self.quiet += 1;
        let v = self.eval(e);
        self.quiet -= 1;
        Some(v)
    }

    /// The one expression that changes `var`: in the step, or a statement of the body itself.
    fn only_change(&self, var: VarId, step: Option<ExprId>, body: &Block) -> Option<ExprId> {
        let mut candidates = vec![];
        let mut open: Vec<ExprId> = step.into_iter().collect();
        open.extend(body.stmts.iter().filter_map(|s| match &self.f.stmt(*s).kind {
            StmtKind::Expr(e) => Some(*e),
            _ => None,
        }));
        while let Some(e) = open.pop() {
            match self.f.kind_of(e) {
                ExprKind::Comma { left, right } => open.extend([*left, *right]),
                ExprKind::Assign { target, .. } | ExprKind::Increment { target, .. }
                    if *self.f.kind_of(*target) == ExprKind::Var(var) =>
                {
                    candidates.push(e);
                }
                _ => {}
            }
        }
        match candidates.as_slice() {
            [one] => Some(*one),
            _ => None,
        }
    }

    /// Variables that grow by the same amount in every iteration; their value becomes `start + iteration * amount`.
    #[allow(clippy::too_many_arguments)]
    fn inductions(
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
            if *count != 1 || self.escaped.contains(v) {
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
    fn change(&mut self, var: VarId, e: ExprId) -> Option<(Value, bool)> {
        let one = |delta: i8| {
            (Value::Int(IntValue { poly: Poly::constant(1), ty: Scalar::I32, modular: false, because: Because::nothing() }), delta < 0)
        };
        let (amount, negated) = match self.f.kind_of(e).clone() {
            ExprKind::Increment { delta, .. } => return Some(one(delta)),
            ExprKind::Assign { op: Some(BinaryOp::Add), value, .. } => (value, false),
            ExprKind::Assign { op: Some(BinaryOp::Sub), value, .. } => (value, true),
            ExprKind::Assign { op: None, value, .. } => match self.f.kind_of(value) {
                ExprKind::Binary { op: BinaryOp::Add, left, right } if *self.f.kind_of(*left) == ExprKind::Var(var) => {
                    (*right, false)
                }
                ExprKind::Binary { op: BinaryOp::Add, left, right } if *self.f.kind_of(*right) == ExprKind::Var(var) => {
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

    fn induct(
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
            let atoms = p.atoms();
            self.born.last().is_none_or(|b| atoms.is_disjoint(b)) && !atoms.contains(&Atom::Iter(id))
        };
        if amount.modular || !invariant(&amount.poly) {
            return None;
        }
        let signed = if negated { amount.poly.neg()? } else { amount.poly.clone() };
        let iter = Poly::atom(Atom::Iter(id));
        let mut because = amount.because.clone();
        match entry {
            Value::Int(start) => {
                if !scalar_of(&self.f.var(var).ty).is_none_or(|s| s == start.ty) {
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
                self.env.insert(var, Value::Pointer(PointerValue { offset: poly, because: because.clone(), ..start.clone() }));
                Some((start.offset.clone(), bytes, because))
            }
            _ => None,
        }
    }

    /// Why an unsigned counter does not wrap: its bound leaves room for the step, or by assumption.
    fn no_wrap(&mut self, start: &IntValue, amount: &Poly, condition: Option<ExprId>, var: VarId) -> Option<Because> {
        if start.modular {
            return None;
        }
        let up = self.known.prove_nonneg(amount)?;
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
    fn strict_bound(&mut self, condition: ExprId, var: VarId) -> Option<IntValue> {
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

    /// Statements that leave the loop or cut an iteration short.
    pub(super) fn exits(&self, body: &Block, own: bool, depth: u32) -> Vec<(Span, &'static str)> {
        let mut found = vec![];
        if depth > MAX_DEPTH {
            return vec![];
        }
        for s in &body.stmts {
            let stmt = self.f.stmt(*s);
            let mut inner = |b: &Block, own: bool| found.extend(self.exits(b, own, depth + 1));
            match &stmt.kind {
                StmtKind::Break if own => found.push((stmt.span, "break")),
                StmtKind::Continue if own => found.push((stmt.span, "continue")),
                StmtKind::Return(_) => found.push((stmt.span, "return")),
                StmtKind::If { then, otherwise, .. } => {
                    inner(then, own);
                    otherwise.iter().for_each(|b| inner(b, own));
                }
                StmtKind::Block(b) => inner(b, own),
                // `continue` in a switch belongs to the loop around it, `break` does not; both are counted.
                StmtKind::Switch { body, .. } => inner(body, own),
                StmtKind::For { body, .. }
                | StmtKind::While { body, .. }
                | StmtKind::DoWhile { body, .. }
                | StmtKind::OpaqueLoop { body, .. } => inner(body, false),
                StmtKind::Preprocessor { arms } => arms.iter().for_each(|(_, b)| inner(b, own)),
                StmtKind::Opaque { .. } => found.push((stmt.span, "unknown statement")),
                StmtKind::Asm { template, .. } if leaves(template) => found.push((stmt.span, "assembly")),
                _ => {}
            }
        }
        found
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
        poly.atoms().iter().all(|a| !matches!(a, Atom::Thread(_)) && !self.out.varying.contains(a))
    }
}

/// A point of the walk to come back to.
#[derive(Clone)]
pub(super) struct Snapshot {
    env: Env,
    known: Arc<Known>,
    dead: bool,
    divergent: Option<(Span, String)>,
}

fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Int(x), Value::Int(y)) => x.poly == y.poly && x.ty == y.ty && x.modular == y.modular,
        (Value::Pointer(x), Value::Pointer(y)) => {
            x.root == y.root && x.offset == y.offset && x.pointee == y.pointee && x.modular == y.modular
        }
        (Value::Truth(x), Value::Truth(y)) => x.formula == y.formula && x.uniform == y.uniform && x.formula != Formula::Unknown,
        (Value::Dim3(x, _), Value::Dim3(y, _)) => x == y,
        (Value::Other, Value::Other) => true,
        _ => false,
    }
}

fn add_because(value: &mut Value, more: &Because) {
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
fn leaves(template: &str) -> bool {
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

fn parameter_range(s: Scalar) -> (Interval, Because) {
    match s {
        Scalar::U64 => (Interval::new(0, i128::from(i64::MAX)), Because::assuming("standing:sizes-63-bit")),
        s => (type_range(s), Because::nothing()),
    }
}
