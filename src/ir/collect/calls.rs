//! The walk over expressions: calls sorted into barriers, warp operations, atomics, loads and plain calls.

use super::walk::Walk;
use crate::ir::*;

impl Walk<'_> {
    /// Records what evaluating `e` touches, in the order of the text.
    pub fn expr(&mut self, e: ExprId) {
        // Expressions of the walk's own stand for parts that are walked where they were written.
        let Some(Expr { kind, .. }) = self.f.exprs.get(e.0 as usize) else { return };
        match kind {
            ExprKind::Assign { op, target, value } => {
                let mode = if op.is_some() { AccessMode::Update } else { AccessMode::Store };
                self.store(*target, mode, op.is_none().then_some(*value));
                self.expr(*value);
            }
            ExprKind::Increment { target, .. } => self.store(*target, AccessMode::Update, None),
            ExprKind::Index { .. } | ExprKind::Deref(_) | ExprKind::Member { .. } | ExprKind::Var(_) => self.load(e),
            ExprKind::AddressOf(target) => self.address(*target),
            ExprKind::Binary { op: BinaryOp::And, left, right } => {
                self.expr(*left);
                self.under(*left, false, |w| w.expr(*right));
            }
            ExprKind::Binary { op: BinaryOp::Or, left, right } => {
                self.expr(*left);
                self.under(*left, true, |w| w.expr(*right));
            }
            ExprKind::Conditional { condition, then, otherwise } => {
                self.expr(*condition);
                self.under(*condition, false, |w| w.expr(*then));
                self.under(*condition, true, |w| w.expr(*otherwise));
            }
            ExprKind::Call { callee, receiver, args, .. } => self.call(e, callee, *receiver, args),
            ExprKind::CallValue { callee, args } => {
                let name = match self.f.kind_of(*callee) {
                    ExprKind::Var(v) => self.f.var(*v).name.clone(),
                    _ => String::new(),
                };
                if name.is_empty() {
                    self.expr(*callee);
                }
                self.plain_call(e, name);
                args.iter().for_each(|a| self.expr(*a));
            }
            _ => kind.operands().for_each(|c| self.expr(c)),
        }
    }

    /// `&x[i]`: the subscripts are evaluated, the memory is not touched.
    pub fn address(&mut self, target: ExprId) {
        match self.f.kind_of(target) {
            ExprKind::Index { base, index } => {
                self.address_base(*base);
                self.expr(*index);
            }
            ExprKind::Deref(p) => self.expr(*p),
            ExprKind::Member { base, arrow: false, .. } => self.address(*base),
            ExprKind::Member { base, .. } => self.expr(*base),
            ExprKind::Var(_) => {}
            _ => self.expr(target),
        }
    }

    fn address_base(&mut self, base: ExprId) {
        // A row of an array is an address too; a pointer that stands in memory is loaded.
        if matches!(self.f.expr(base).ty, Type::Array { .. }) { self.address(base) } else { self.expr(base) }
    }

    fn call(&mut self, e: ExprId, callee: &str, receiver: Option<ExprId>, args: &[ExprId]) {
        let name = callee.rsplit("::").next().unwrap_or(callee);
        if let Some(kind) = self.barrier_kind(name, receiver, args) {
            let (loops, guards) = (self.loops(), self.guards());
            self.found.barriers.push(Barrier { kind, expr: e, stmt: self.stmt, loops, guards });
        } else if let Some(kind) = warp_kind(name) {
            let (loops, guards) = (self.loops(), self.guards());
            self.found.warp_ops.push(WarpOp { kind, expr: e, stmt: self.stmt, loops, guards });
        } else if is_atomic(name) {
            let base = args.first().and_then(|a| self.root(*a));
            let (loops, guards) = (self.loops(), self.guards());
            self.found.atomics.push(Atomic { expr: e, base, stmt: self.stmt, loops, guards });
        } else if let ([pointer, rest @ ..], Some(mode)) = (args, cached_access(name)) {
            let ty = self.f.expr(*pointer).ty.element().cloned().unwrap_or(Type::Unknown);
            self.through_pointer(e, *pointer, mode, ty, rest.first().copied().filter(|_| mode == AccessMode::Store));
            rest.iter().for_each(|a| self.expr(*a));
            return;
        } else {
            self.plain_call(e, callee.to_owned());
        }
        if let Some(r) = receiver {
            self.expr(r);
        }
        let is_macro = name.len() > 2 && !name.chars().any(|c| c.is_ascii_lowercase());
        for arg in args {
            if is_macro && matches!(self.f.kind_of(*arg), ExprKind::Index { .. } | ExprKind::Deref(_)) {
                self.macro_argument(*arg);
            } else {
                self.expr(*arg);
            }
        }
    }

    fn plain_call(&mut self, e: ExprId, callee: String) {
        let (loops, guards) = (self.loops(), self.guards());
        self.found.calls.push(Call { expr: e, callee, stmt: self.stmt, loops, guards });
    }

    fn barrier_kind(&self, name: &str, receiver: Option<ExprId>, args: &[ExprId]) -> Option<BarrierKind> {
        let method = name.rsplit(['.', '>']).next().unwrap_or(name);
        Some(match method {
            "__syncthreads" | "__syncthreads_count" | "__syncthreads_and" | "__syncthreads_or" => BarrierKind::Block,
            "__syncwarp" => BarrierKind::Warp,
            "sync" if receiver.is_some() => self.group_kind(receiver),
            "sync" if args.len() == 1 => self.group_kind(args.first().copied()),
            "arrive" | "wait" | "arrive_and_wait" | "barrier_arrive" | "barrier_wait" if receiver.is_some() => {
                BarrierKind::Other
            }
            "__pipeline_wait_prior"
            | "__pipeline_commit"
            | "cp_async_wait"
            | "cp_async_wait_group"
            | "cp_async_wait_all"
            | "cp_async_fence"
            | "wait_group"
            | "__barrier_sync"
            | "__barrier_sync_count"
            | "tma_store_wait" => BarrierKind::Other,
            _ if method.starts_with("mbarrier_") || method.starts_with("__mbarrier_") => BarrierKind::Other,
            _ => return None,
        })
    }

    /// Which threads a cooperative group holds, from its type or from how it was made.
    fn group_kind(&self, group: Option<ExprId>) -> BarrierKind {
        let Some(mut e) = group else { return BarrierKind::Other };
        if let ExprKind::Var(v) = self.f.kind_of(e) {
            let var = self.f.var(*v);
            if let Type::Named(name) = &var.ty {
                return group_of_name(name);
            }
            match var.init {
                Some(init) => e = init,
                None => return BarrierKind::Other,
            }
        }
        match (self.f.kind_of(e), &self.f.expr(e).ty) {
            (ExprKind::Call { callee, .. }, _) => group_of_name(callee),
            (_, Type::Named(name)) => group_of_name(name),
            _ => BarrierKind::Other,
        }
    }

    pub fn asm_barrier(&mut self, stmt: StmtId, template: &str) {
        let has = |t: &str| template.contains(t);
        let kind = if has("bar.warp.sync") {
            BarrierKind::Warp
        } else if has("barrier.cluster") {
            BarrierKind::Cluster
        } else if ["bar.sync", "barrier.sync"].iter().any(|b| waits_for_all(template, b)) {
            BarrierKind::Block
        } else if [
            "bar.sync",
            "barrier.sync",
            "bar.arrive",
            "barrier.arrive",
            "bar.red",
            "mbarrier",
            "cp.async.wait",
            "cp.async.bulk.wait",
            "wgmma.wait",
            "wgmma.fence",
            "tcgen05.wait",
            "cp.async.commit",
        ]
        .iter()
        .any(|b| has(b))
        {
            BarrierKind::Other
        } else {
            return;
        };
        let span = self.f.stmt(stmt).span;
        let what = ExprKind::Opaque { what: "asm".to_owned(), children: vec![] };
        self.found.exprs.push(Expr { kind: what, span, ty: Type::Void });
        let expr = ExprId((self.f.exprs.len() + self.found.exprs.len()) as u32 - 1);
        let (loops, guards) = (self.loops(), self.guards());
        self.found.barriers.push(Barrier { kind, expr, stmt, loops, guards });
    }
}

/// `bar.sync 0;` without a thread count waits for the whole block.
fn waits_for_all(template: &str, instruction: &str) -> bool {
    let Some(at) = template.find(instruction) else { return false };
    let rest = template.get(at + instruction.len()..).unwrap_or("");
    let rest = rest.strip_prefix(".aligned").unwrap_or(rest).trim_start();
    let operand = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    operand.len() < rest.len() && operand.trim_start().starts_with(';')
}

fn group_of_name(name: &str) -> BarrierKind {
    let last = name.split('<').next().unwrap_or(name).rsplit("::").next().unwrap_or(name);
    match last {
        "thread_block" | "this_thread_block" => BarrierKind::Block,
        "grid_group" | "this_grid" => BarrierKind::Grid,
        "cluster_group" | "this_cluster" => BarrierKind::Cluster,
        "thread_block_tile" | "tiled_partition" | "coalesced_group" | "coalesced_threads" => BarrierKind::Warp,
        _ => BarrierKind::Other,
    }
}

fn warp_kind(name: &str) -> Option<WarpOpKind> {
    Some(match name {
        "__activemask" => WarpOpKind::ActiveMask,
        "__any_sync" | "__all_sync" | "__ballot_sync" | "__uni_sync" | "__any" | "__all" | "__ballot" => {
            WarpOpKind::Vote
        }
        _ if name.starts_with("__shfl") => WarpOpKind::Shuffle,
        _ if name.starts_with("__match_") => WarpOpKind::Match,
        _ if name.starts_with("__reduce_") => WarpOpKind::Reduce,
        _ => return None,
    })
}

fn is_atomic(name: &str) -> bool {
    const OPS: &[&str] = &["Add", "Sub", "Exch", "Min", "Max", "Inc", "Dec", "CAS", "And", "Or", "Xor"];
    name.strip_prefix("atomic").is_some_and(|rest| OPS.iter().any(|op| rest.starts_with(op)))
}

/// Loads and stores in the form of calls.
fn cached_access(name: &str) -> Option<AccessMode> {
    Some(match name {
        "__ldg" | "__ldca" | "__ldcg" | "__ldcs" | "__ldlu" | "__ldcv" => AccessMode::Load,
        "__stwb" | "__stcg" | "__stcs" | "__stwt" => AccessMode::Store,
        _ => return None,
    })
}
