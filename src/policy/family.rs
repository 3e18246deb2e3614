//! The operator family of a kernel, read off its intermediate representation.
//!
//! This is a label for experience, no fact: nothing about soundness rests on it, and a kernel that fits no pattern is
//! [`Family::Other`]. Patterns are asked for from the most particular to the least.

use std::collections::BTreeSet;

use crate::ir::{
    Access, AccessMode, BinaryOp, Builtin, ExprId, ExprKind, Function, LoopId, ReduceOp, ReductionKind, Space, VarId,
    WarpOpKind,
};
use crate::memory::Family;

/// The family of a kernel.
pub fn family(kernel: &Function) -> Family {
    let view = View::of(kernel);
    let products = view.products();
    let softmax = view.calls_any(&["exp", "__expf", "expf", "exp2f", "hexp"]);
    if products.len() >= 2 && softmax {
        return Family::Attention;
    }
    if view.gathers() {
        return Family::Gather;
    }
    if !products.is_empty() || view.calls_any(&["mma_sync", "wmma::mma_sync", "nvcuda::wmma::mma_sync"]) {
        return Family::Matmul;
    }
    if view.scans() {
        return Family::Scan;
    }
    let reduces = view.reduces();
    if reduces && view.normalises() {
        return Family::Normalisation;
    }
    if view.neighbours() || view.windows() {
        return Family::Stencil;
    }
    if reduces {
        return Family::Reduction;
    }
    let stores = kernel.accesses.iter().any(|a| a.mode != AccessMode::Load && outside(a.space));
    if stores { Family::Elementwise } else { Family::Other }
}

/// Whether the memory is one that outlives the block; pointers of unknown origin are taken for it.
fn outside(space: Space) -> bool {
    matches!(space, Space::Global | Space::Unknown)
}

struct View<'f> {
    f: &'f Function,
    /// Variables whose value depends on data that was loaded.
    loaded: BTreeSet<VarId>,
    /// Variables whose value depends on the thread's or block's place.
    placed: BTreeSet<VarId>,
    /// Expressions that are accesses, in the order of their ids.
    accesses: BTreeSet<ExprId>,
}

impl<'f> View<'f> {
    fn of(f: &'f Function) -> View<'f> {
        let accesses = f.accesses.iter().filter(|a| a.mode != AccessMode::Store).map(|a| a.expr).collect();
        let mut view = View { f, loaded: BTreeSet::new(), placed: BTreeSet::new(), accesses };
        let writes: Vec<(VarId, ExprId)> = view.writes();
        // Values flow through variables; a few rounds reach what realistic kernels have.
        for _ in 0..6 {
            for (var, value) in &writes {
                if view.is_data(*value) {
                    view.loaded.insert(*var);
                }
                if view.is_placed(*value) {
                    view.placed.insert(*var);
                }
            }
        }
        view
    }

    /// Variables with what is assigned to them.
    fn writes(&self) -> Vec<(VarId, ExprId)> {
        let inits = self.f.vars.iter().enumerate().filter_map(|(i, v)| Some((VarId(i as u32), v.init?)));
        let assigned = self.f.exprs.iter().filter_map(|e| match &e.kind {
            ExprKind::Assign { target, value, .. } => match self.f.kind_of(*target) {
                ExprKind::Var(v) => Some((*v, *value)),
                _ => None,
            },
            _ => None,
        });
        inits.chain(assigned).collect()
    }

    fn vars(&self, e: ExprId) -> BTreeSet<VarId> {
        self.f.under(e).filter_map(|x| if let ExprKind::Var(v) = self.f.kind_of(x) { Some(*v) } else { None }).collect()
    }

    /// Whether the value depends on data. The address of a load does not count, what it loads does.
    fn is_data(&self, e: ExprId) -> bool {
        self.f.under(e).any(|x| match self.f.kind_of(x) {
            ExprKind::Var(v) => self.loaded.contains(v),
            _ => self.accesses.contains(&x),
        })
    }

    fn is_placed(&self, e: ExprId) -> bool {
        self.f.under(e).any(|x| match self.f.kind_of(x) {
            ExprKind::Var(v) => self.placed.contains(v),
            ExprKind::Builtin(b) => matches!(b, Builtin::ThreadIdx(_) | Builtin::BlockIdx(_)),
            _ => false,
        })
    }

    fn calls_any(&self, names: &[&str]) -> bool {
        self.f.exprs.iter().any(|e| match &e.kind {
            ExprKind::Call { callee, .. } => {
                let bare = callee.rsplit("::").next().unwrap_or(callee);
                names.iter().any(|n| *n == callee || *n == bare)
            }
            _ => false,
        })
    }

    /// Whether an address of global memory is computed from data, other than from a row's begin and end.
    fn gathers(&self) -> bool {
        let targets = self.f.accesses.iter().filter(|a| outside(a.space) || a.space == Space::Shared);
        let by_data = |a: &Access| a.indices.iter().any(|i| self.is_data(*i));
        let direct = targets.clone().any(by_data);
        direct
            || self.f.atomics.iter().any(|a| {
                let args = match self.f.kind_of(a.expr) {
                    ExprKind::Call { args, .. } => args.first().copied(),
                    _ => None,
                };
                args.is_some_and(|address| {
                    self.f.under(address).any(|x| match self.f.kind_of(x) {
                        ExprKind::Index { index, .. } => self.is_data(*index),
                        _ => false,
                    })
                })
            })
    }

    /// Loops that add up products of two loads at places of their own: both depend on the thread or block, and on the loop.
    fn products(&self) -> Vec<LoopId> {
        let mut found: Vec<LoopId> = vec![];
        for r in self.f.reductions.iter().filter(|r| r.op == ReduceOp::Add) {
            let ReductionKind::Serial { accumulator } = &r.kind else { continue };
            let multiplied = self.writes().iter().any(|(v, value)| v == accumulator && self.is_product(*value));
            if multiplied && !found.contains(&r.id_loop) {
                found.push(r.id_loop);
            }
        }
        found
    }

    fn is_product(&self, value: ExprId) -> bool {
        self.f.under(value).any(|x| {
            let (left, right) = match self.f.kind_of(x) {
                ExprKind::Binary { op: BinaryOp::Mul, left, right } => (*left, *right),
                ExprKind::Call { callee, args, .. } if matches!(callee.as_str(), "fmaf" | "fma" | "__fmaf_rn") => {
                    match args[..] {
                        [a, b, _] => (a, b),
                        _ => return false,
                    }
                }
                _ => return false,
            };
            match (self.load_of(left), self.load_of(right)) {
                (Some(a), Some(b)) => {
                    let placed = |a: &Access| a.indices.iter().any(|i| self.is_placed(*i));
                    a.base != b.base && placed(a) && placed(b) && !self.same_place(a, b)
                }
                _ => false,
            }
        })
    }

    fn load_of(&self, e: ExprId) -> Option<&'f Access> {
        self.f.under(e).find_map(|x| self.f.accesses.iter().find(|a| a.expr == x && a.mode == AccessMode::Load))
    }

    fn same_place(&self, a: &Access, b: &Access) -> bool {
        a.indices.len() == b.indices.len()
            && a.indices.iter().zip(&b.indices).all(|(x, y)| crate::ir::query::same_expr(self.f, *x, *y))
    }

    /// Whether every prefix gets a result: a running sum that is stored as it grows, a shuffle upwards, or lanes that take over
    /// from the lane a distance before.
    fn scans(&self) -> bool {
        let up = self.f.warp_ops.iter().any(|w| {
            w.kind == WarpOpKind::Shuffle
                && matches!(self.f.kind_of(w.expr), ExprKind::Call { callee, .. } if callee.contains("shfl_up"))
        });
        let running =
            self.f.accesses.iter().any(|a| {
                outside(a.space) && a.mode == AccessMode::Store && a.value.is_some_and(|v| self.is_running(v, a))
            });
        let hillis =
            self.f.accesses.iter().any(|a| a.space == Space::Shared && !a.loops.is_empty() && self.reaches_back(a));
        up || running || hillis
    }

    /// Whether a value has a variable in it that collects data from one iteration to the next of the loop that stores it.
    fn is_running(&self, value: ExprId, store: &Access) -> bool {
        let Some(l) = store.loops.last().and_then(|l| self.f.loops.get(l.0 as usize)) else { return false };
        let vars = self.vars(value);
        self.f.exprs.iter().any(|e| {
            let ExprKind::Assign { op, target, value } = &e.kind else { return false };
            let ExprKind::Var(v) = self.f.kind_of(*target) else { return false };
            let collects = op.is_some() || self.vars(*value).contains(v);
            let lives_longer = !l.body_span.contains(self.f.var(*v).span);
            vars.contains(v) && collects && lives_longer && l.body_span.contains(e.span) && self.is_data(*value)
        })
    }

    /// A load of a shared tile at a place less a distance that changes with the loop.
    fn reaches_back(&self, a: &Access) -> bool {
        let scaled: BTreeSet<VarId> = (a.loops.iter())
            .filter_map(|l| self.f.loops.get(l.0 as usize)?.induction)
            .filter(|i| matches!(i.step, crate::ir::Step::Scale { .. }))
            .map(|i| i.var)
            .collect();
        a.indices.iter().any(|i| {
            self.f.under(*i).any(|x| match self.f.kind_of(x) {
                ExprKind::Binary { op: BinaryOp::Sub, left, right } => {
                    self.is_placed(*left) && self.vars(*right).iter().any(|v| scaled.contains(v))
                }
                _ => false,
            })
        })
    }

    /// Whether many elements become one: a loop over loads, a tree in shared memory, shuffles, an atomic addition.
    fn reduces(&self) -> bool {
        let serial = self.f.reductions.iter().any(|r| match &r.kind {
            ReductionKind::Serial { accumulator } => {
                self.writes().iter().any(|(v, value)| v == accumulator && self.is_data(*value))
            }
            ReductionKind::SharedTree { .. } => true,
        });
        let shuffles = self.f.warp_ops.iter().any(|w| matches!(w.kind, WarpOpKind::Shuffle | WarpOpKind::Reduce));
        serial || shuffles || !self.f.atomics.is_empty()
    }

    /// Whether elements that were reduced are read again and written, each by itself.
    fn normalises(&self) -> bool {
        let bases = |mode: AccessMode| {
            let of = self.f.accesses.iter().filter(move |a| a.mode == mode && outside(a.space) && !a.loops.is_empty());
            of.map(|a| (a.base, a.loops.last().copied())).collect::<BTreeSet<_>>()
        };
        let (loads, stores) = (bases(AccessMode::Load), bases(AccessMode::Store));
        // One buffer is read in two loops, and the second of them stores.
        let twice = |(base, at): &(VarId, Option<LoopId>)| loads.iter().any(|(b, l)| b == base && l != at);
        let reread = loads.iter().any(|l| twice(l) && stores.iter().any(|(_, s)| *s == l.1));
        let statistics = self.calls_any(&["rsqrtf", "rsqrt", "expf", "exp", "__expf", "sqrtf", "sqrt"]);
        reread || (statistics && !stores.is_empty() && !self.f.reductions.is_empty())
    }

    /// Whether three or more loads of one buffer differ by constants.
    fn neighbours(&self) -> bool {
        let loads: Vec<&Access> =
            self.f.accesses.iter().filter(|a| a.mode == AccessMode::Load && a.space != Space::Local).collect();
        let shifted = |a: &&&Access| a.indices.iter().any(|i| self.is_shifted(*i));
        loads.iter().any(|a| {
            let same = loads.iter().filter(|b| b.base == a.base);
            same.clone().count() >= 3 && same.filter(shifted).count() >= 2
        })
    }

    /// Whether a loop walks from the place that is written: `x[i + k]` over `k`, and `y[i]`.
    fn windows(&self) -> bool {
        let stores = self.f.accesses.iter().filter(|a| a.mode != AccessMode::Load && outside(a.space));
        let written: Vec<ExprId> = stores.flat_map(|a| a.indices.iter().copied()).collect();
        self.f.accesses.iter().filter(|a| a.mode == AccessMode::Load && outside(a.space)).any(|a| {
            let steps = a.loops.iter().filter_map(|l| self.f.loops.get(l.0 as usize)?.induction).map(|i| i.var);
            let steps: BTreeSet<VarId> = steps.collect();
            let walks = |e: ExprId| matches!(self.f.kind_of(e), ExprKind::Var(v) if steps.contains(v));
            let from =
                |e: ExprId| self.is_placed(e) && written.iter().any(|w| crate::ir::query::same_expr(self.f, *w, e));
            a.indices.iter().any(|i| match self.f.kind_of(*i) {
                ExprKind::Binary { op: BinaryOp::Add | BinaryOp::Sub, left, right } => {
                    (walks(*right) && from(*left)) || (walks(*left) && from(*right))
                }
                _ => false,
            })
        })
    }

    /// `i + 1`, `i - n`: a place with something added that does not depend on the place.
    fn is_shifted(&self, index: ExprId) -> bool {
        self.f.under(index).any(|x| match self.f.kind_of(x) {
            ExprKind::Binary { op: BinaryOp::Add | BinaryOp::Sub, left, right } => {
                self.is_placed(*left) && !self.is_placed(*right) && self.is_step(*right)
            }
            _ => false,
        })
    }

    fn is_step(&self, e: ExprId) -> bool {
        matches!(self.f.kind_of(e), ExprKind::Int(n) if (1..=4).contains(n))
            || matches!(self.f.kind_of(e), ExprKind::Var(v) if self.f.params.contains(v))
    }
}
