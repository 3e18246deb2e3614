//! Where the contents of memory go: which buffers decide a place in memory.
//!
//! The walk is over expressions in any order until nothing changes, so that it knows no order of statements and no path:
//! it may find a flow that no run has, never miss one that it models. Comparisons end a flow, since what they give is 0 or 1
//! whatever is compared; so do remainders and masks by what does not come from memory.

mod calls;
mod value;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::kernels::Kernels;
use crate::ir::*;
use crate::source::Span;

/// Buffers, by numbers that the caller chooses.
pub type Sources = BTreeSet<usize>;

/// Buffers whose contents may make a value smaller, and those that may make it larger, than the kernel itself allows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    pub low: Sources,
    pub high: Sources,
}

impl Flow {
    pub fn of(sources: Sources) -> Flow {
        Flow { low: sources.clone(), high: sources }
    }

    pub fn all(&self) -> Sources {
        self.low.union(&self.high).copied().collect()
    }

    pub fn is_empty(&self) -> bool {
        self.low.is_empty() && self.high.is_empty()
    }

    fn join(&mut self, other: &Flow) -> bool {
        let before = (self.low.len(), self.high.len());
        self.low.extend(&other.low);
        self.high.extend(&other.high);
        before != (self.low.len(), self.high.len())
    }

    fn with(mut self, other: &Flow) -> Flow {
        self.join(other);
        self
    }

    /// Both ends depend on all of it.
    fn spread(&self) -> Flow {
        Flow::of(self.all())
    }
}

/// What enters a function through a parameter: the value, and what the memory behind it holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    pub value: Flow,
    pub memory: Sources,
}

/// A place that the contents of a buffer decide.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reached {
    pub source: usize,
    /// The access, atomic, call or bound in the function that was asked about.
    pub at: ExprId,
    /// The access itself, which may stand in a function that is called.
    pub span: Span,
}

/// What was found for one function.
#[derive(Clone, Debug, Default)]
pub struct Followed {
    /// What the memory behind each parameter holds afterwards.
    pub memory: Vec<Sources>,
    /// The same for variables of the file, by name.
    pub globals: BTreeMap<String, Sources>,
    pub returned: Flow,
    pub reached: BTreeSet<Reached>,
    /// Of a lambda: what is left in what it captures, by name.
    captured: BTreeMap<String, (Flow, Sources)>,
}

/// Calls are followed this deep; beyond it a call may do anything with what it is given.
const MAX_DEPTH: u32 = 5;
/// Rounds until nothing changes; each adds at least one source to one variable.
const MAX_ROUNDS: u32 = 64;

/// Follows the contents of memory through a function. `given` is for each parameter, `globals` for variables of the file.
pub fn follow(kernels: &Kernels, r: FunctionRef, given: &[Given], globals: &BTreeMap<String, Sources>) -> Followed {
    Walk::new(kernels, r, given, globals, 0).run()
}

/// One function in the walk.
struct Walk<'k, 'a> {
    kernels: &'k Kernels<'a>,
    r: FunctionRef,
    f: &'a Function,
    depth: u32,
    /// By variable: the value, the memory that begins there, and where a pointer may lead.
    values: Vec<Flow>,
    memory: Vec<Sources>,
    points: Vec<BTreeSet<VarId>>,
    globals: BTreeMap<String, Sources>,
    returned: Flow,
    reached: BTreeSet<Reached>,
    /// What was found for calls, by what they were given.
    called: BTreeMap<ExprId, Called>,
    changed: bool,
}

/// A call with what it was given, and what follows for each function that it may run.
struct Called {
    given: Vec<Given>,
    around: Vec<(Flow, Sources)>,
    globals: BTreeMap<String, Sources>,
    found: Rc<Vec<Followed>>,
}

impl<'k, 'a> Walk<'k, 'a> {
    fn new(
        kernels: &'k Kernels<'a>,
        r: FunctionRef,
        given: &[Given],
        globals: &BTreeMap<String, Sources>,
        depth: u32,
    ) -> Walk<'k, 'a> {
        let f = kernels.function(r);
        let mut w = Walk {
            kernels,
            r,
            f,
            depth,
            values: vec![Flow::default(); f.vars.len()],
            memory: vec![Sources::new(); f.vars.len()],
            points: vec![BTreeSet::new(); f.vars.len()],
            globals: globals.clone(),
            returned: Flow::default(),
            reached: BTreeSet::new(),
            called: BTreeMap::new(),
            changed: false,
        };
        for (p, g) in f.params.iter().zip(given) {
            w.put(*p, &g.value);
            w.fill(*p, &g.memory);
        }
        for (i, v) in f.vars.iter().enumerate() {
            let id = VarId(i as u32);
            // A local pointer or reference leads where it is made to lead; everything else begins memory of its own.
            let leads = v.kind == VarKind::Local && matches!(v.ty, Type::Pointer(_) | Type::Reference(_) | Type::Auto);
            if !leads {
                w.points[i].insert(id);
            }
        }
        w
    }

    fn run(mut self) -> Followed {
        for _ in 0..MAX_ROUNDS {
            self.changed = false;
            self.round();
            if !self.changed {
                break;
            }
        }
        self.places();
        let memory = self.f.params.iter().map(|p| self.memory[p.0 as usize].clone()).collect();
        let own = self.f.vars.iter().enumerate().filter(|(_, v)| v.kind == VarKind::Captured);
        let captured = own.map(|(i, v)| (v.name.clone(), (self.values[i].clone(), self.memory[i].clone()))).collect();
        Followed { memory, globals: self.globals, returned: self.returned, reached: self.reached, captured }
    }

    fn put(&mut self, v: VarId, flow: &Flow) {
        let slot = &mut self.values[v.0 as usize];
        self.changed |= slot.join(flow);
    }

    /// Memory that begins at a variable holds this, too.
    fn fill(&mut self, v: VarId, sources: &Sources) {
        let var = self.f.var(v);
        if matches!(var.kind, VarKind::Global | VarKind::Constant | VarKind::Unresolved) {
            let name = var.name.clone();
            return self.fill_global(&name, sources);
        }
        let slot = &mut self.memory[v.0 as usize];
        let before = slot.len();
        slot.extend(sources);
        self.changed |= before != slot.len();
    }

    fn fill_global(&mut self, name: &str, sources: &Sources) {
        if sources.is_empty() {
            return;
        }
        let slot = self.globals.entry(query::base_name(name).to_owned()).or_default();
        let before = slot.len();
        slot.extend(sources);
        self.changed |= before != slot.len();
    }

    fn held(&self, v: VarId) -> Sources {
        let var = self.f.var(v);
        match var.kind {
            VarKind::Global | VarKind::Constant | VarKind::Unresolved => self.global(&var.name),
            _ => self.memory[v.0 as usize].clone(),
        }
    }

    fn global(&self, name: &str) -> Sources {
        self.globals.get(query::base_name(name)).cloned().unwrap_or_default()
    }

    /// What the variables, and the memory, are given by every expression.
    fn round(&mut self) {
        for i in 0..self.f.vars.len() {
            if let Some(e) = self.f.vars[i].init {
                self.assign_var(VarId(i as u32), e);
            }
        }
        for i in 0..self.f.exprs.len() {
            let id = ExprId(i as u32);
            match &self.f.exprs[i].kind {
                ExprKind::Assign { op, target, value } => {
                    let (target, value) = (*target, *value);
                    let flow = self.assigned(*op, target, value);
                    // A reference leads where it was made to lead; an assignment goes through it.
                    let leads = |v: &VarId| !matches!(self.f.var(*v).ty, Type::Reference(_) | Type::Scalar(_));
                    if let Some(v) = self.variable(target).filter(leads) {
                        let to = self.roots(value);
                        self.lead(v, to);
                    }
                    self.store(target, &flow);
                }
                ExprKind::Call { .. } | ExprKind::CallValue { .. } => _ = self.call(id),
                _ => {}
            }
        }
        for i in 0..self.f.stmts.len() {
            match &self.f.stmts[i].kind {
                StmtKind::Return(Some(e)) => {
                    let flow = self.value(*e);
                    self.changed |= self.returned.join(&flow);
                }
                StmtKind::Asm { writes, reads, .. } => {
                    let mut flow = Flow::default();
                    for e in reads {
                        flow.join(&self.with_memory(*e));
                    }
                    for e in writes {
                        self.store(*e, &flow.spread());
                    }
                }
                StmtKind::For { condition: Some(c), .. }
                | StmtKind::While { condition: c, .. }
                | StmtKind::DoWhile { condition: c, .. } => {
                    let (c, body) = (*c, StmtId(i as u32));
                    self.counted(c, body);
                }
                _ => {}
            }
        }
    }

    fn assign_var(&mut self, v: VarId, e: ExprId) {
        let to = self.roots(e);
        self.lead(v, to);
        let flow = if matches!(self.f.var(v).ty, Type::Reference(_)) { self.address(e) } else { self.value(e) };
        self.put(v, &flow);
        if matches!(self.f.var(v).ty, Type::Array { .. }) {
            self.fill(v, &flow.all());
        }
    }

    fn lead(&mut self, v: VarId, to: BTreeSet<VarId>) {
        let slot = &mut self.points[v.0 as usize];
        let before = slot.len();
        slot.extend(to);
        self.changed |= before != slot.len();
    }

    /// A store through any lvalue.
    fn store(&mut self, target: ExprId, flow: &Flow) {
        match self.f.kind_of(target) {
            ExprKind::Var(v) => {
                let v = *v;
                let through = matches!(self.f.var(v).ty, Type::Reference(_));
                if !through {
                    self.put(v, flow);
                }
                if through || self.f.var(v).kind != VarKind::Local {
                    for root in self.points[v.0 as usize].clone() {
                        self.fill(root, &flow.all());
                        // What a reference has of its own is where it leads.
                        if !matches!(self.f.var(root).ty, Type::Reference(_)) {
                            self.put(root, flow);
                        }
                    }
                }
            }
            ExprKind::Member { base, arrow: false, .. } | ExprKind::Cast { operand: base, .. } => {
                self.store(*base, flow)
            }
            ExprKind::Name(n) => self.fill_global(n, &flow.all()),
            ExprKind::Conditional { then, otherwise, .. } => {
                let (a, b) = (*then, *otherwise);
                self.store(a, flow);
                self.store(b, flow);
            }
            _ => {
                for root in self.roots(target) {
                    self.fill(root, &flow.all());
                    // `*p = v` where `p` is the address of a plain variable.
                    if !matches!(self.f.var(root).ty, Type::Pointer(_) | Type::Array { .. } | Type::Reference(_)) {
                        self.put(root, flow);
                    }
                }
            }
        }
    }

    /// A variable that a loop steps takes values up to what its condition compares it with.
    fn counted(&mut self, condition: ExprId, body: StmtId) {
        for e in self.f.walk(condition) {
            let ExprKind::Binary {
                op: BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge | BinaryOp::Ne,
                left,
                right,
            } = *self.f.kind_of(e)
            else {
                continue;
            };
            for (side, other) in [(left, right), (right, left)] {
                let Some(v) = self.f.walk(side).into_iter().find_map(|e| self.variable(e)) else { continue };
                if self.is_stepped(v, body) {
                    let flow = self.value(other);
                    self.put(v, &flow);
                }
            }
        }
    }

    fn variable(&self, e: ExprId) -> Option<VarId> {
        if let ExprKind::Var(v) = self.f.kind_of(e) { Some(*v) } else { None }
    }

    fn is_stepped(&self, v: VarId, stmt: StmtId) -> bool {
        let steps = |e: ExprId| match self.f.kind_of(e) {
            ExprKind::Increment { target, .. } | ExprKind::Assign { op: Some(_), target, .. } => {
                self.variable(*target) == Some(v)
            }
            // `i = i + step`
            ExprKind::Assign { op: None, target, value } => {
                self.variable(*target) == Some(v) && self.f.under(*value).any(|e| self.variable(e) == Some(v))
            }
            _ => false,
        };
        query::stmts_of(self.f, stmt).into_iter().flat_map(|s| query::exprs_of(self.f, s)).any(steps)
    }

    /// Every place in memory that contents decide.
    fn places(&mut self) {
        let f = self.f;
        for a in &f.accesses {
            let flow = self.address(a.expr);
            self.reach(&flow, a.expr);
        }
        for i in 0..f.exprs.len() {
            let id = ExprId(i as u32);
            if matches!(f.exprs[i].kind, ExprKind::Call { .. } | ExprKind::CallValue { .. }) {
                self.places_of_call(id);
            }
        }
    }

    fn reach(&mut self, flow: &Flow, at: ExprId) {
        let span = self.f.expr(at).span;
        self.reached.extend(flow.all().into_iter().map(|source| Reached { source, at, span }));
    }
}
