//! Loops: what survives any number of iterations, and the state inside one.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::because::Because;
use super::effects::Writes;
use super::env::Env;
use super::state::{Births, Divergence, EventKind, LoopState};
use super::value::{IntValue, Value};
use super::walk::{MAX_DEPTH, Walker, leaves};
use crate::ir::*;
use crate::source::Span;

impl<'a> Walker<'a> {
    pub(super) fn opaque_loop(&mut self, id: LoopId, body: &Block, span: Span) {
        let writes = self.scope.writes(&[], &[body]);
        self.havoc_writes(&writes);
        let start = self.snapshot();
        self.event(EventKind::Anything, span);
        self.loops.push(id);
        self.divergent.get_or_insert((span, "how often this loop runs is not known"));
        self.block(body);
        self.loops.pop();
        self.restore(&start, true);
        self.havoc_writes(&writes);
    }

    pub(super) fn repeat(
        &mut self,
        id: LoopId,
        condition: Option<ExprId>,
        step: Option<ExprId>,
        body: &Block,
        is_do: bool,
    ) {
        let roots: Vec<ExprId> = condition.iter().chain(&step).copied().collect();
        let writes = self.notes.writes_of_loop(id, || self.scope.writes(&roots, &[body]));
        let before = self.place();
        let entry = self.env.clone();
        self.born.push(self.fresh);
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
        let mut divergent = self.divergent.or(self.returned);
        let split = |span: Span, text: &'static str, d: &mut Option<Divergence>| {
            d.get_or_insert((span, text));
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
        // Whoever cuts an iteration short comes back to the header; whoever leaves does not.
        let mut apart = divergent;
        if let Some((span, _)) = exits.iter().find(|(_, what)| *what != "continue") {
            split(*span, "some threads may leave the loop here", &mut apart);
        }
        if let Some((span, what)) = exits.first() {
            let text = if *what == "continue" {
                "some threads may skip the rest of an iteration here"
            } else {
                "some threads may leave the loop here"
            };
            split(*span, text, &mut divergent);
        }
        self.divergent = divergent;
        if let (Some((_, c)), Some(d)) = (&first, apart) {
            self.scatter(*c, d);
        }
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
        let born = Births { from: self.born.pop().unwrap_or_default(), to: self.fresh };
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

    /// Threads come to the header again and again, though not all equally often: known only when it has been walked.
    fn scatter(&mut self, header: ExprId, why: Divergence) {
        let under: BTreeSet<ExprId> = self.f.under(header).collect();
        let (f, out) = (self.f, &mut self.out);
        for e in &under {
            if let Some(Some((_, place))) = out.evaluated.get_mut(e.0 as usize) {
                place.scatter(why);
            }
        }
        let own = |e: Option<ExprId>| e.is_some_and(|e| under.contains(&e));
        for (id, state) in &mut out.accesses {
            if own(f.accesses.get(id.0 as usize).map(|a| a.expr)) {
                state.place.scatter(why);
            }
        }
        for (id, place) in &mut out.barriers {
            if own(f.barriers.get(id.0 as usize).map(|b| b.expr)) {
                place.scatter(why);
            }
        }
    }

    /// Whether a do-while's condition, seen from the start of an iteration, may differ between threads.
    pub(super) fn condition_is_uniform(&mut self, condition: ExprId) -> bool {
        if !self.scope.writes(&[condition], &[]).vars.is_empty() {
            return false;
        }
        self.quiet += 1;
        let t = self.truth(condition);
        self.quiet -= 1;
        t.uniform
    }

    /// Forgets what the loop changes, keeping what survives any number of iterations.
    pub(super) fn havoc_loop(
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
            if *count != 1 || self.notes.escaped.contains(v) {
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
    pub(super) fn bound_scaled(&mut self, var: VarId, op: BinaryOp, start: &IntValue, amount: &IntValue) {
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
    pub(super) fn amount(&mut self, e: ExprId) -> Option<Value> {
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
    pub(super) fn only_change(&self, var: VarId, step: Option<ExprId>, body: &Block) -> Option<ExprId> {
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
}
