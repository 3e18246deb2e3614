//! Calls: the library's, those of functions in view, lambdas, and all others.

use std::rc::Rc;

use super::{Called, Flow, Followed, Given, MAX_DEPTH, Reached, Sources, Walk};
use crate::ir::*;

/// Functions whose result lies between ends of their own, whatever they are given.
const KEPT: &[&str] = &[
    "__popc",
    "__popcll",
    "__clz",
    "__clzll",
    "__ffs",
    "__ffsll",
    "__any_sync",
    "__all_sync",
    "__ballot_sync",
    "__any",
    "__all",
    "__ballot",
    "__activemask",
    "__match_any_sync",
    "__match_all_sync",
    "__syncthreads_count",
    "__syncthreads_and",
    "__syncthreads_or",
    "isnan",
    "isinf",
    "isfinite",
    "signbit",
];

/// Methods of cooperative groups that say where a thread is: a group that took part in an exchange of data still has no
/// data in it.
const OF_GROUPS: &[&str] = &[
    "thread_rank",
    "meta_group_rank",
    "meta_group_size",
    "num_threads",
    "num_blocks",
    "block_rank",
    "group_index",
    "thread_index",
    "group_dim",
    "dim_threads",
    "dim_blocks",
    "block_index",
];

impl Walk<'_, '_> {
    /// What the call gives; what it stores is stored.
    pub(super) fn call(&mut self, e: ExprId) -> Flow {
        let f = self.f;
        let ExprKind::Call { callee, receiver, args, .. } = f.kind_of(e) else { return self.value_call(e) };
        let name = query::base_name(callee);
        let extreme = name.eq_ignore_ascii_case("min") || name.eq_ignore_ascii_case("max");
        if !extreme && self.kernels.macro_words(self.r.unit, name).is_some() {
            let hidden = self.hidden(name);
            return args.iter().fold(hidden, |sum, a| sum.with(&self.with_memory(*a)));
        }
        if let Some(found) = self.functions(e) {
            return self.adopted(args, &found);
        }
        let method = name.rsplit(['.', '>']).next().unwrap_or(name);
        if KEPT.contains(&name) || receiver.is_some() && OF_GROUPS.contains(&method) {
            return Flow::default();
        }
        if name.starts_with("atomic") {
            return self.atomic(args);
        }
        if name.starts_with("__ld") {
            let Some(first) = args.first() else { return Flow::default() };
            return Flow::of(self.held_by(&self.roots(*first)));
        }
        let values: Vec<Flow> = args.iter().map(|a| self.value(*a)).collect();
        match (name, values.as_slice()) {
            ("min" | "MIN" | "umin" | "fmin" | "fminf" | "llmin", [a, b]) => {
                return self.wrapped(e, Flow { low: either(&a.low, &b.low), high: both(&a.high, &b.high) });
            }
            ("max" | "MAX" | "umax" | "fmax" | "fmaxf" | "llmax", [a, b]) => {
                return self.wrapped(e, Flow { low: both(&a.low, &b.low), high: either(&a.high, &b.high) });
            }
            ("abs" | "labs" | "llabs" | "fabs" | "fabsf", [a]) => {
                return Flow { low: Sources::new(), high: a.all() };
            }
            ("__saturatef" | "saturate", _) => return Flow::default(),
            _ => {}
        }
        // Anything else may give, and leave in the memory that it is handed, whatever it is given or finds there.
        let all = receiver.iter().chain(args).fold(Flow::default(), |sum, a| sum.with(&self.with_memory(*a)));
        let known = query::is_pure_call(callee) || name.starts_with("__shfl");
        if !known {
            for a in receiver.iter().chain(args) {
                self.leave(*a, &all.all());
            }
        }
        all.spread()
    }

    /// Stores into whatever memory an argument leads to, unless its type says that it is only read.
    fn leave(&mut self, a: ExprId, sources: &Sources) {
        if !self.is_address(a) || matches!(&self.f.expr(a).ty, Type::Pointer(p) if p.is_const) {
            return;
        }
        for root in self.roots(a) {
            self.fill(root, sources);
        }
    }

    /// The old value; the operands are combined with what stands there.
    fn atomic(&mut self, args: &[ExprId]) -> Flow {
        let Some((place, operands)) = args.split_first() else { return Flow::default() };
        let operands: Vec<Flow> = operands.iter().map(|a| self.value(*a)).collect();
        let given = operands.iter().fold(Flow::default(), |sum, o| sum.with(o));
        let roots = self.roots(*place);
        for root in &roots {
            self.fill(*root, &given.all());
        }
        Flow::of(self.held_by(&roots)).with(&given.spread())
    }

    /// A call of a lambda in place, or of the result of something.
    fn value_call(&mut self, e: ExprId) -> Flow {
        if let Some(found) = self.functions(e) {
            return self.adopted(&self.args_of(e), &found);
        }
        let all: Vec<ExprId> = self.f.kind_of(e).children();
        all.into_iter().fold(Flow::default(), |sum, a| sum.with(&self.with_memory(a))).spread()
    }

    fn args_of(&self, e: ExprId) -> Vec<ExprId> {
        match self.f.kind_of(e) {
            ExprKind::Call { args, .. } | ExprKind::CallValue { args, .. } => args.clone(),
            _ => vec![],
        }
    }

    /// What follows for the functions in view that a call may run.
    fn functions(&mut self, e: ExprId) -> Option<Rc<Vec<Followed>>> {
        if self.depth >= MAX_DEPTH {
            return None;
        }
        let args = self.args_of(e);
        let callees = self.callees(e, args.len());
        if callees.is_empty() {
            return None;
        }
        let mut given = vec![];
        for a in &args {
            let is_place = self.is_address(*a) || self.is_place(*a);
            let mut memory = if is_place { self.held_by(&self.roots(*a)) } else { Sources::new() };
            let value = self.value(*a);
            // A reference to a plain variable is memory to the callee.
            if self.is_place(*a) {
                memory.extend(value.all());
            }
            given.push(Given { value, memory });
        }
        let around: Vec<(Flow, Sources)> = match callees.iter().any(|r| self.kernels.function(*r).parent.is_some()) {
            true => self.values.iter().cloned().zip(self.points.iter().map(|p| self.held_by(p))).collect(),
            false => vec![],
        };
        if let Some(c) = self.called.get(&e)
            && c.given == given
            && c.around == around
            && c.globals == self.globals
        {
            return Some(c.found.clone());
        }
        let found = Rc::new(callees.into_iter().map(|r| self.followed(r, &given)).collect::<Vec<_>>());
        let globals = self.globals.clone();
        self.called.insert(e, Called { given, around, globals, found: found.clone() });
        Some(found)
    }

    fn followed(&self, r: FunctionRef, given: &[Given]) -> Followed {
        let mut walk = Walk::new(self.kernels, r, given, &self.globals, self.depth + 1);
        for p in &walk.f.params {
            // By value, only a pointer brings memory along; a reference brings no offset of its own.
            match walk.f.var(*p).ty {
                Type::Reference(_) => walk.values[p.0 as usize] = Flow::default(),
                Type::Scalar(_) | Type::Vector { .. } => walk.memory[p.0 as usize] = Sources::new(),
                _ => {}
            }
        }
        // What a lambda sees of the function around it, by name.
        for (i, v) in walk.f.vars.iter().enumerate().filter(|(_, v)| v.kind == VarKind::Captured) {
            let Some(outer) = self.f.vars.iter().position(|w| w.name == v.name) else { continue };
            walk.values[i] = self.values[outer].clone();
            walk.memory[i] = self.held_by(&self.points[outer]);
        }
        walk.run()
    }

    fn callees(&self, e: ExprId, count: usize) -> Vec<FunctionRef> {
        let at = |function| FunctionRef { unit: self.r.unit, function };
        let lambda = |e: ExprId| match self.f.kind_of(e) {
            ExprKind::Lambda(id) => Some(at(*id)),
            _ => None,
        };
        let (callee, receiver) = match self.f.kind_of(e) {
            ExprKind::CallValue { callee, .. } => {
                let held = match self.f.kind_of(*callee) {
                    ExprKind::Var(v) => self.f.var(*v).init.and_then(lambda),
                    _ => lambda(*callee),
                };
                return held.into_iter().collect();
            }
            ExprKind::Call { callee, receiver, .. } => (callee, receiver),
            _ => return vec![],
        };
        let local = self.f.vars.iter().filter(|v| v.name == *callee).filter_map(|v| v.init).find_map(lambda);
        if let Some(l) = local {
            return vec![l];
        }
        if receiver.is_some() {
            return vec![];
        }
        let name = query::base_name(callee);
        let macros = self.kernels.macros_at(self.r.unit);
        let all = macros.and_then(|m| m.functions(self.kernels.program, name)).unwrap_or_default();
        let fits = |r: &FunctionRef| {
            let g = self.kernels.function(*r);
            g.body_span.is_some() && g.flaws.is_empty() && g.params.len() >= count && *r != self.r
        };
        all.into_iter().filter(fits).take(8).collect()
    }

    /// What callees left in memory; gives what they return.
    fn adopted(&mut self, args: &[ExprId], all: &[Followed]) -> Flow {
        let mut flow = Flow::default();
        for followed in all {
            flow.join(&followed.returned);
            for (a, held) in args.iter().zip(&followed.memory) {
                if self.is_address(*a) || self.is_place(*a) {
                    for root in self.roots(*a) {
                        self.fill(root, held);
                    }
                }
            }
            for (name, held) in &followed.globals {
                self.fill_global(name, held);
            }
            for (name, (value, held)) in &followed.captured {
                let Some(outer) = self.f.vars.iter().position(|w| w.name == *name) else { continue };
                self.put(VarId(outer as u32), value);
                for root in self.points[outer].clone() {
                    self.fill(root, held);
                }
            }
        }
        flow
    }

    fn is_place(&self, e: ExprId) -> bool {
        matches!(
            self.f.kind_of(e),
            ExprKind::Var(_) | ExprKind::Index { .. } | ExprKind::Member { .. } | ExprKind::Deref(_)
        )
    }

    /// Places behind a call: of an atomic, of a load by a function, and those in functions that are called.
    pub(super) fn places_of_call(&mut self, e: ExprId) {
        let f = self.f;
        if let ExprKind::Call { callee, args, .. } = f.kind_of(e) {
            let name = query::base_name(callee);
            if name.starts_with("atomic") || name.starts_with("__ld") || name.starts_with("__st") {
                if let Some(first) = args.first() {
                    let flow = self.value(*first);
                    self.reach(&flow, e);
                }
                return;
            }
            if let Some(words) = self.kernels.macro_words(self.r.unit, name) {
                // What is handed to a macro that reaches memory may be an index there.
                let reaches = f.vars.iter().any(|v| words.contains(&v.name) && !matches!(v.ty, Type::Scalar(_)));
                if reaches || args.iter().any(|a| self.is_address(*a)) {
                    let flow = args.iter().fold(Flow::default(), |sum, a| sum.with(&self.value(*a)));
                    self.reach(&flow, e);
                }
                return;
            }
        }
        let Some(found) = self.functions(e) else { return };
        for followed in found.iter() {
            self.reached.extend(followed.reached.iter().map(|r| Reached { at: e, ..*r }));
        }
    }
}

fn both(a: &Sources, b: &Sources) -> Sources {
    // The nearer end counts: where one of them comes from no memory, it keeps the other.
    if a.is_empty() || b.is_empty() { Sources::new() } else { a.union(b).copied().collect() }
}

fn either(a: &Sources, b: &Sources) -> Sources {
    a.union(b).copied().collect()
}
