//! What a piece of code may write: variables by name, memory, and what calls do.

use std::collections::{BTreeMap, BTreeSet};

use super::library::{PURE, READS, STANDARD_NAMES, is_pure};
use super::macros::Macros;
use crate::ir::*;
use crate::source::Span;

/// Variables that a piece of code may write, with the number of places that do; `all` where something unknown runs.
#[derive(Clone, Debug, Default)]
pub struct Writes {
    pub vars: BTreeMap<VarId, u32>,
    pub all: bool,
}

/// What a call may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEffect {
    /// A function of its arguments: no memory is written, nothing is waited for.
    Pure,
    /// Reads memory.
    Reads,
    Barrier(BarrierKind),
    Fence,
    Atomic,
    /// An ordinary function that kopt does not know: writes memory, and whatever is handed to it.
    Unknown,
    /// May be or contain a macro: may write every variable in sight.
    Anything,
}

/// What the analysis must know about the surroundings of a function.
pub struct Scope<'a> {
    pub program: &'a Program,
    pub unit: &'a Unit,
    pub function: &'a Function,
    pub macros: &'a Macros,
}

const MAX_CALL_DEPTH: u32 = 6;

impl Scope<'_> {
    /// What the call expression may do.
    pub fn call_effect(&self, id: ExprId) -> CallEffect {
        self.effect_in(self.function, id, 0)
    }

    fn effect_in(&self, f: &Function, id: ExprId, depth: u32) -> CallEffect {
        if let Some(b) = f.barriers.iter().find(|b| b.expr == id) {
            let hidden = matches!(f.kind_of(id), ExprKind::Call { callee, .. } if self.macros.contains(callee));
            return if hidden { CallEffect::Anything } else { CallEffect::Barrier(b.kind) };
        }
        let ExprKind::Call { callee, receiver, .. } = f.kind_of(id) else { return CallEffect::Anything };
        let name = callee.rsplit("::").next().unwrap_or(callee);
        if self.macros.contains(name) {
            return if self.macros.is_plain(name, PURE, &|n| self.is_variable(f, n)) {
                CallEffect::Pure
            } else {
                CallEffect::Anything
            };
        }
        if receiver.is_some() {
            return CallEffect::Unknown;
        }
        if let Some(effect) = self.macros.effects().of_name(name, depth) {
            return effect;
        }
        let Some(known) = self.macros.functions(self.program, name) else { return CallEffect::Anything };
        if !known.is_empty() {
            let effects = known.iter().map(|g| self.remembered(*g, depth + 1));
            let effect = effects.max_by_key(|e| rank(*e)).unwrap_or(CallEffect::Anything);
            self.macros.effects().remember_name(name, depth, effect);
            return effect;
        }
        if f.atomics.iter().any(|a| a.expr == id) || name.starts_with("atomic") {
            return CallEffect::Atomic;
        }
        if matches!(name, "__threadfence" | "__threadfence_block" | "__threadfence_system") {
            return CallEffect::Fence;
        }
        if is_pure(name) {
            return CallEffect::Pure;
        }
        if READS.contains(&name) {
            return CallEffect::Reads;
        }
        let host = matches!(f.kind, FunctionKind::Host);
        if host && !is_shouted(name) { CallEffect::Unknown } else { CallEffect::Anything }
    }

    /// [`Scope::summary`], computed once for all calls from this unit.
    fn remembered(&self, at: FunctionRef, depth: u32) -> CallEffect {
        let find = || self.summary(self.program.function(at), depth);
        self.macros.effects().of_function((at, depth), find)
    }

    /// The worst that a function of the program may do.
    fn summary(&self, g: &Function, depth: u32) -> CallEffect {
        if depth > MAX_CALL_DEPTH || g.body_span.is_none() || !g.flaws.is_empty() {
            return CallEffect::Unknown;
        }
        // A reference parameter or a pointer written through would change what the caller sees.
        let by_reference = g.params.iter().any(|p| matches!(g.var(*p).ty, Type::Reference(ref r) if !r.is_const));
        let odd = g.stmts.iter().any(|s| matches!(s.kind, StmtKind::Asm { .. } | StmtKind::Opaque { .. }));
        let writes = g
            .accesses
            .iter()
            .any(|a| a.mode != AccessMode::Load && !(a.space == Space::Local && g.var(a.base).kind == VarKind::Local));
        let stores = g.exprs.iter().any(|e| match &e.kind {
            ExprKind::Assign { target, .. } | ExprKind::Increment { target, .. } => match root_of(g, *target) {
                Some((v, _)) => !matches!(g.var(v).kind, VarKind::Local | VarKind::Param) || g.var(v).is_static,
                None => true,
            },
            ExprKind::Opaque { .. } | ExprKind::CallValue { .. } | ExprKind::Launch(_) | ExprKind::Lambda(_) => true,
            ExprKind::Name(n) => self.macros.contains(n) && !self.unit.constants.iter().any(|(c, ..)| c == n),
            _ => false,
        });
        if by_reference || odd || writes || stores || !g.barriers.is_empty() || !g.atomics.is_empty() {
            return CallEffect::Unknown;
        }
        let own = if g.accesses.is_empty() { CallEffect::Pure } else { CallEffect::Reads };
        let is_call = |(_, e): &(usize, &Expr)| matches!(e.kind, ExprKind::Call { .. });
        let calls = g.exprs.iter().enumerate().filter(is_call);
        let effects = calls.map(|(i, _)| self.effect_in(g, ExprId(i as u32), depth));
        let worst = self.worst_of(std::iter::once(own).chain(effects));
        // What may touch the locals of the callee cannot touch those of the caller.
        if worst == CallEffect::Anything { CallEffect::Unknown } else { worst }
    }

    /// The worst of some effects of callees; looking ends with the first that is as bad as a function can be.
    fn worst_of(&self, effects: impl Iterator<Item = CallEffect>) -> CallEffect {
        let mut worst = CallEffect::Pure;
        for effect in effects {
            if rank(effect) > rank(worst) {
                worst = effect;
            }
            if rank(worst) >= rank(CallEffect::Unknown) {
                break;
            }
        }
        worst
    }

    /// A variable of plain type that a macro may read by name.
    fn is_variable(&self, f: &Function, name: &str) -> bool {
        let mut named = f.vars.iter().filter(|v| v.name == name).peekable();
        named.peek().is_some() && named.all(|v| matches!(v.ty, Type::Scalar(_) | Type::Pointer(_)))
    }

    /// Whether `name` is certainly no macro with side effects.
    pub fn is_plain_name(&self, name: &str) -> bool {
        let last = name.rsplit("::").next().unwrap_or(name);
        if self.unit.constants.iter().any(|(c, ..)| c == name) {
            return true;
        }
        if self.macros.contains(last) {
            return self.macros.is_plain(last, PURE, &|n| self.is_variable(self.function, n));
        }
        name.contains("::")
            || self.function.template.iter().any(|t| t.name == name)
            || self.macros.names().is_some_and(|n| n.has_value(last) || n.has_value(name) || n.has_function(last))
            || STANDARD_NAMES.contains(&name)
    }

    /// What evaluating the expressions under `roots` and running `blocks` may write.
    pub fn writes(&self, roots: &[ExprId], blocks: &[&Block]) -> Writes {
        let mut found = Writes::default();
        let mut exprs = roots.to_vec();
        for b in blocks {
            self.collect(&b.stmts, &mut exprs, &mut found, 0);
        }
        for root in exprs {
            for id in self.function.under(root) {
                self.writes_of(id, &mut found);
            }
        }
        found
    }

    fn collect(&self, stmts: &[StmtId], exprs: &mut Vec<ExprId>, found: &mut Writes, depth: u32) {
        if depth > 400 {
            found.all = true;
            return;
        }
        let each = |exprs: &mut Vec<ExprId>, found: &mut Writes, list: &[StmtId]| {
            self.collect(list, exprs, found, depth + 1);
        };
        for s in stmts {
            match &self.function.stmt(*s).kind {
                StmtKind::Declare { var, init } => {
                    *found.vars.entry(*var).or_default() += 1;
                    exprs.extend(init);
                }
                StmtKind::Expr(e) => exprs.push(*e),
                StmtKind::If { condition, then, otherwise, .. } => {
                    exprs.push(*condition);
                    each(exprs, found, &then.stmts);
                    each(exprs, found, otherwise.as_ref().map_or(&[], |b| &b.stmts));
                }
                StmtKind::For { init, condition, step, body, .. } => {
                    each(exprs, found, init);
                    exprs.extend(condition.iter().chain(step));
                    each(exprs, found, &body.stmts);
                }
                StmtKind::While { condition, body, .. } | StmtKind::DoWhile { condition, body, .. } => {
                    exprs.push(*condition);
                    each(exprs, found, &body.stmts);
                }
                StmtKind::Switch { value, body, .. } => {
                    exprs.push(*value);
                    each(exprs, found, &body.stmts);
                }
                StmtKind::Block(b) | StmtKind::OpaqueLoop { body: b, .. } => each(exprs, found, &b.stmts),
                StmtKind::Return(e) => exprs.extend(e),
                StmtKind::Asm { writes, reads, .. } => {
                    for w in writes {
                        match root(self.function, *w) {
                            Root::Var(v, _) => *found.vars.entry(v).or_default() += 2,
                            Root::Memory => {}
                            Root::Unknown => found.all = true,
                        }
                    }
                    exprs.extend(writes.iter().chain(reads));
                }
                StmtKind::Preprocessor { arms } => arms.iter().for_each(|(_, b)| each(exprs, found, &b.stmts)),
                StmtKind::Opaque { children, .. } => {
                    found.all = true;
                    exprs.extend(children);
                }
                _ => {}
            }
        }
    }

    fn writes_of(&self, id: ExprId, found: &mut Writes) {
        match self.function.kind_of(id) {
            ExprKind::Assign { target, .. } | ExprKind::Increment { target, .. } => {
                match root(self.function, *target) {
                    Root::Var(v, true) => *found.vars.entry(v).or_default() += 1,
                    // A member or a lane of a variable: the variable changes in a way that is not counted.
                    Root::Var(v, false) => *found.vars.entry(v).or_default() += 2,
                    Root::Memory => {}
                    // `(c ? a : b) = 1`, `(a = 1) += 2`.
                    Root::Unknown => {
                        for e in self.function.walk(*target) {
                            if let ExprKind::Var(v) = self.function.kind_of(e) {
                                *found.vars.entry(*v).or_default() += 2;
                            }
                        }
                    }
                }
            }
            ExprKind::Call { args, .. } => match self.call_effect(id) {
                CallEffect::Anything => self.macro_writes(id, found),
                CallEffect::Unknown => self.handed_over(args, found),
                // What a macro does with its argument's side effects is not counted.
                CallEffect::Pure if self.is_macro_call(id) => {
                    let inner = args.iter().flat_map(|a| self.function.walk(*a));
                    let effects = inner.filter(|e| {
                        matches!(
                            self.function.kind_of(*e),
                            ExprKind::Assign { .. } | ExprKind::Increment { .. } | ExprKind::Call { .. }
                        )
                    });
                    for e in effects {
                        found.vars.extend(self.function.walk(e).into_iter().filter_map(|v| {
                            match self.function.kind_of(v) {
                                ExprKind::Var(v) => Some((*v, 2)),
                                _ => None,
                            }
                        }));
                    }
                }
                _ => {}
            },
            ExprKind::CallValue { .. } | ExprKind::Opaque { .. } => found.all = true,
            ExprKind::Name(n) if !self.is_plain_name(n) => {
                if self.macros.contains(n) {
                    self.named_in_macro(n, found);
                } else {
                    found.all = true;
                }
            }
            _ => {}
        }
    }

    fn is_macro_call(&self, id: ExprId) -> bool {
        matches!(self.function.kind_of(id), ExprKind::Call { callee, .. } if self.macros.contains(callee))
    }

    fn macro_writes(&self, id: ExprId, found: &mut Writes) {
        let ExprKind::Call { callee, args, .. } = self.function.kind_of(id) else {
            found.all = true;
            return;
        };
        if !self.macros.contains(callee) {
            found.all = true;
            return;
        }
        self.named_in_macro(callee, found);
        for a in args {
            for e in self.function.walk(*a) {
                if let ExprKind::Var(v) = self.function.kind_of(e) {
                    *found.vars.entry(*v).or_default() += 2;
                }
            }
        }
    }

    fn named_in_macro(&self, name: &str, found: &mut Writes) {
        let mentioned = self.macros.mentions(name);
        for (i, v) in self.function.vars.iter().enumerate() {
            if mentioned.contains(&v.name) {
                *found.vars.entry(VarId(i as u32)).or_default() += 2;
            }
        }
    }

    /// A variable handed to an unknown function may be taken by reference.
    fn handed_over(&self, args: &[ExprId], found: &mut Writes) {
        for a in args {
            if let Some((v, _)) = root_of(self.function, *a) {
                *found.vars.entry(v).or_default() += 2;
            }
        }
    }

    /// Where an expression in `roots` or `body` may hide a jump out: a macro, or text that is not modelled.
    pub fn may_leave(&self, roots: &[ExprId], body: &Block) -> Option<Span> {
        let mut exprs = roots.to_vec();
        self.collect(&body.stmts, &mut exprs, &mut Writes::default(), 0);
        let odd = |e: &ExprId| match self.function.kind_of(*e) {
            ExprKind::Call { .. } => self.call_effect(*e) == CallEffect::Anything,
            ExprKind::Name(n) => !self.is_plain_name(n),
            ExprKind::Opaque { .. } => true,
            _ => false,
        };
        let hit = exprs.into_iter().flat_map(|r| self.function.under(r)).find(odd)?;
        Some(self.function.expr(hit).span)
    }

    /// Variables that can change without their name being written: their address is taken, a reference is bound to
    /// them, or a lambda writes them.
    pub fn escaped(&self) -> BTreeSet<VarId> {
        let f = self.function;
        let mut found = BTreeSet::new();
        for (i, v) in f.vars.iter().enumerate() {
            let odd = v.is_volatile || v.is_static || matches!(v.ty, Type::Reference(_));
            if odd || matches!(v.kind, VarKind::Captured | VarKind::Global) {
                found.insert(VarId(i as u32));
            }
            if matches!(v.ty, Type::Reference(_) | Type::Auto | Type::Unknown)
                && let Some(init) = v.init
            {
                // `auto&` may be lowered without its reference.
                let is_auto_value = !matches!(v.ty, Type::Reference(_));
                let roots = if is_auto_value { vec![init] } else { f.walk(init) };
                found.extend(roots.into_iter().filter_map(|e| root_of(f, e)).map(|(v, _)| v));
            }
        }
        for e in &f.exprs {
            match &e.kind {
                ExprKind::AddressOf(inner) => {
                    // `&p[i]` of a pointer takes no variable's address.
                    found.extend(root_of(f, *inner).map(|(v, _)| v));
                }
                ExprKind::Lambda(g) => self.escaped_to_lambda(*g, &mut found, 0),
                ExprKind::Cast { ty: Type::Reference(_), operand, .. } => {
                    found.extend(f.walk(*operand).into_iter().filter_map(|e| root_of(f, e)).map(|(v, _)| v));
                }
                _ => {}
            }
        }
        found
    }

    fn escaped_to_lambda(&self, lambda: FunctionId, found: &mut BTreeSet<VarId>, depth: u32) {
        let Some(g) = self.unit.functions.get(lambda.0 as usize) else { return };
        let names: BTreeSet<&str> =
            g.vars.iter().filter(|v| v.kind == VarKind::Captured).map(|v| v.name.as_str()).collect();
        for (i, v) in self.function.vars.iter().enumerate() {
            if names.contains(v.name.as_str()) && !v.is_const && !v.is_constexpr {
                found.insert(VarId(i as u32));
            }
        }
        for e in &g.exprs {
            if let ExprKind::Lambda(inner) = e.kind
                && depth < 16
            {
                self.escaped_to_lambda(inner, found, depth + 1);
            }
        }
    }
}

fn rank(e: CallEffect) -> u8 {
    match e {
        CallEffect::Pure => 0,
        CallEffect::Reads => 1,
        CallEffect::Fence => 2,
        CallEffect::Atomic => 3,
        CallEffect::Barrier(_) => 4,
        CallEffect::Unknown => 5,
        CallEffect::Anything => 6,
    }
}

/// All capitals: by convention a macro.
fn is_shouted(name: &str) -> bool {
    name.len() > 1 && !name.chars().any(|c| c.is_ascii_lowercase())
}

/// What an lvalue leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// A variable; whether the lvalue is the variable itself rather than a member or element of it.
    Var(VarId, bool),
    /// An element behind a pointer: no variable changes when it is written.
    Memory,
    Unknown,
}

pub fn root(f: &Function, id: ExprId) -> Root {
    let (mut at, mut direct) = (id, true);
    for _ in 0..512 {
        match f.kind_of(at) {
            ExprKind::Var(v) => return Root::Var(*v, direct),
            ExprKind::Deref(_) | ExprKind::Member { arrow: true, .. } => return Root::Memory,
            ExprKind::Member { base, arrow: false, .. } => (at, direct) = (*base, false),
            ExprKind::Index { base, .. } => {
                let ty = match f.kind_of(*base) {
                    ExprKind::Var(v) => &f.var(*v).ty,
                    _ => &f.expr(*base).ty,
                };
                if matches!(ty, Type::Pointer(_)) {
                    return Root::Memory;
                }
                (at, direct) = (*base, false);
            }
            ExprKind::Cast { ty: Type::Reference(_), operand, .. } => (at, direct) = (*operand, false),
            ExprKind::Cast { ty: Type::Pointer(_), .. } => return Root::Memory,
            _ => return Root::Unknown,
        }
    }
    Root::Unknown
}

/// The variable at the root of an lvalue, and whether the lvalue is the variable itself.
pub fn root_of(f: &Function, id: ExprId) -> Option<(VarId, bool)> {
    match root(f, id) {
        Root::Var(v, direct) => Some((v, direct)),
        _ => None,
    }
}
