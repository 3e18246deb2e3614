//! Statements of host code: branches, loops, and where two ways meet.

use std::collections::BTreeMap;

use super::host::{Flow, Frame, Host, Left};
use super::value::{Event, Symbol, Val};
use crate::contract::Expr;
use crate::ir::*;

/// Statements that one walk runs.
const MAX_STEPS: u32 = 60_000;
impl<'a> Host<'a> {
    pub(super) fn stmt(&mut self, frame: &Frame<'a>, id: StmtId) -> Flow {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Flow::Exit;
        }
        let f = frame.f;
        match &f.stmt(id).kind {
            StmtKind::Declare { var, init } => {
                self.declare(frame, *var, *init);
                Flow::Next
            }
            StmtKind::Expr(e) => self.effect(frame, *e),
            StmtKind::Opaque { children, .. } => {
                for c in children {
                    if let Flow::Exit = self.effect(frame, *c) {
                        return Flow::Exit;
                    }
                }
                Flow::Next
            }
            StmtKind::If { condition, then, otherwise, .. } => self.branch(frame, *condition, then, otherwise.as_ref()),
            StmtKind::For { id, init, condition, step, body } => {
                for s in init {
                    self.stmt(frame, *s);
                }
                self.repeat(frame, *id, *condition, *step, body, true)
            }
            StmtKind::While { id, condition, body } => self.repeat(frame, *id, Some(*condition), None, body, true),
            StmtKind::DoWhile { id, body, condition } => self.repeat(frame, *id, Some(*condition), None, body, false),
            StmtKind::OpaqueLoop { id, body } => self.over_range(frame, *id, body),
            StmtKind::Switch { value, labels, body } => self.switch(frame, *value, labels, body),
            StmtKind::Return(e) => Flow::Return(e.map_or(Val::Null, |e| self.eval(frame, e))),
            StmtKind::Break => Flow::Break,
            StmtKind::Continue => Flow::Continue,
            StmtKind::Block(b) => self.block(frame, b),
            StmtKind::Preprocessor { arms } => match arms.first() {
                Some((_, b)) => self.block(frame, b),
                None => Flow::Next,
            },
            StmtKind::Asm { .. } | StmtKind::Pragma(_) | StmtKind::Empty => Flow::Next,
        }
    }

    pub(super) fn effect(&mut self, frame: &Frame<'a>, e: ExprId) -> Flow {
        if let ExprKind::Call { callee, .. } = frame.f.kind_of(e)
            && matches!(query::base_name(callee), "exit" | "abort" | "_Exit" | "terminate")
        {
            return Flow::Exit;
        }
        self.eval(frame, e);
        Flow::Next
    }

    pub(super) fn branch(
        &mut self,
        frame: &Frame<'a>,
        condition: ExprId,
        then: &'a Block,
        otherwise: Option<&'a Block>,
    ) -> Flow {
        let value = self.eval(frame, condition);
        let symbolic = value.as_int();
        let known = symbolic.as_ref().and_then(|e| self.sampled(e));
        if let (Some(e), Some(v)) = (&symbolic, known) {
            // A size for which the program gives up, or goes the same way, does not decide what it does otherwise.
            let other = if v != 0 { otherwise } else { Some(then) };
            let changes = |b: &Block| self.matters(frame, b) || assigns(frame.f, b);
            let decides = match other {
                Some(b) => !leaves(frame.f, b) && changes(b),
                None => changes(then),
            };
            if decides {
                self.decided.extend(e.names().into_iter().map(str::to_owned));
            }
        }
        match known {
            Some(0) => return otherwise.map_or(Flow::Next, |b| self.block(frame, b)),
            Some(_) => return self.block(frame, then),
            None => {}
        }
        if leaves(frame.f, then) {
            return otherwise.map_or(Flow::Next, |b| self.block(frame, b));
        }
        if let Some(b) = otherwise
            && leaves(frame.f, b)
        {
            return self.block(frame, then);
        }
        self.conditions += 1;
        let number = self.conditions;
        let before = self.memory.clone();
        let depth = self.arms.len();
        self.arms.push((number, 0));
        let first = self.block(frame, then);
        self.leave(&first, depth);
        let after_then = std::mem::replace(&mut self.memory, before);
        self.arms.push((number, 1));
        let second = otherwise.map_or(Flow::Next, |b| self.block(frame, b));
        self.leave(&second, depth);
        // What follows is of the run that stayed.
        match (matches!(first, Flow::Next), matches!(second, Flow::Next)) {
            (false, true) => self.arms.push((number, 1)),
            (true, false) => self.arms.push((number, 0)),
            _ => {}
        }
        let ends = |flow: &Flow| matches!(flow, Flow::Return(_) | Flow::Exit);
        match (ends(&first), ends(&second)) {
            (true, false) => return second,
            (false, true) => {
                self.memory = after_then;
                return first;
            }
            _ => self.merge(after_then),
        }
        match (first, second) {
            (Flow::Exit, other) | (other, Flow::Exit) => other,
            (Flow::Return(a), Flow::Return(b)) => {
                Flow::Return(if a == b { a } else { Val::unknown("it depends on a condition that is not known") })
            }
            (Flow::Break, Flow::Break | Flow::Continue) | (Flow::Continue, Flow::Break) => Flow::Break,
            (Flow::Continue, Flow::Continue) => Flow::Continue,
            _ => Flow::Next,
        }
    }

    /// Ends an arm: where it led out, no launch behind it is of the runs that took it.
    fn leave(&mut self, flow: &Flow, depth: usize) {
        let of = match flow {
            Flow::Next => None,
            Flow::Break | Flow::Continue => Some(Left::Iteration),
            Flow::Return(_) => Some(Left::Function),
            Flow::Exit => Some(Left::Program),
        };
        self.left.extend(of.map(|of| (self.arms.clone(), of)));
        self.arms.truncate(depth);
    }

    /// Behind a function or an iteration, what led out of it alone is over.
    pub(super) fn come_back(&mut self, arms: usize, left: usize, from: Left) {
        self.arms.truncate(arms);
        let own: Vec<_> = self.left.drain(left..).filter(|(_, of)| *of > from).collect();
        self.left.extend(own);
    }

    /// Two memories into one: what differs is not known, but a size that is read in one arm only has the value of the
    /// other as its sample.
    pub(super) fn merge(&mut self, other: BTreeMap<String, Val>) {
        for (key, a) in other {
            let b = self.memory.get(&key).cloned();
            let one = match (a, b) {
                (a, None) => a,
                (a, Some(b)) if a == b => a,
                (Val::Int(x), Some(Val::Int(y))) => self.either(x, y),
                (Val::Unknown(_), Some(Val::Device { buffer, bytes }))
                | (Val::Device { buffer, bytes }, Some(Val::Unknown(_))) => Val::Device { buffer, bytes },
                _ => Val::unknown("it depends on a condition that is not known"),
            };
            self.memory.insert(key, one);
        }
    }

    pub(super) fn either(&mut self, x: Expr, y: Expr) -> Val {
        let input = |e: &Expr, all: &[Symbol]| match e {
            Expr::Name(n) => all.iter().position(|s| s.name == *n && s.is_input),
            _ => None,
        };
        let (i, other) = match (input(&x, &self.symbols), input(&y, &self.symbols)) {
            (Some(i), _) => (i, y),
            (None, Some(i)) => (i, x),
            _ => return Val::unknown("it depends on a condition that is not known"),
        };
        // A size with a default: the name that had the default stands for both.
        if let Expr::Name(n) = &other
            && let Some(s) = self.symbols.iter_mut().find(|s| s.name == *n)
        {
            s.is_input = true;
            return Val::Int(other);
        }
        let sample = self.sampled(&other);
        match self.symbols.get_mut(i) {
            Some(s) => {
                s.value = s.value.or(sample);
                Val::Int(Expr::Name(s.name.clone()))
            }
            None => Val::Int(other),
        }
    }

    /// Cases are not told apart: each is an alternative that begins with what was known before, up to its `break`.
    pub(super) fn switch(&mut self, frame: &Frame<'a>, value: ExprId, labels: &'a [Label], body: &'a Block) -> Flow {
        let chosen = self.eval(frame, value).as_int();
        if let Some(first) = chosen.as_ref().and_then(|e| self.taken(frame, e, labels)) {
            // One case runs, and those into which it falls.
            for s in body.stmts.iter().skip(first) {
                match self.stmt(frame, *s) {
                    Flow::Next => {}
                    Flow::Break => break,
                    other => return other,
                }
            }
            return Flow::Next;
        }
        self.conditions += 1;
        let (number, depth) = (self.conditions, self.arms.len());
        let events = self.events.len();
        let before = self.memory.clone();
        let mut after = before.clone();
        let mut left = false;
        let mut stayed = false;
        for (n, case) in cases(frame.f, body).into_iter().enumerate() {
            self.memory = before.clone();
            self.arms.push((number, n as u32));
            let mut flow = Flow::Next;
            for s in case {
                flow = self.stmt(frame, s);
                if !matches!(flow, Flow::Next) {
                    break;
                }
            }
            // A `break` of a case leads to what stands behind.
            self.leave(if matches!(flow, Flow::Break) { &Flow::Next } else { &flow }, depth);
            if matches!(flow, Flow::Return(_) | Flow::Exit) {
                left = true;
                continue;
            }
            stayed = true;
            let own = std::mem::replace(&mut self.memory, after);
            self.merge(own);
            after = std::mem::take(&mut self.memory);
        }
        self.memory = after;
        if let Some(chosen) = chosen {
            self.ask_which_case(&chosen, events);
        }
        // What follows is of a run in which no case left the function.
        if left && !stayed {
            self.arms.push((number, u32::MAX));
        }
        Flow::Next
    }

    /// Before which statement of a `switch` over a number the label stands that is taken; behind all where none is. `None`
    /// where sizes decide, or a label is no number.
    fn taken(&mut self, frame: &Frame<'a>, chosen: &Expr, labels: &[Label]) -> Option<usize> {
        let chosen = chosen.constant()?;
        let mut fallback = usize::MAX;
        for l in labels {
            match l.value {
                None => fallback = l.before as usize,
                Some(e) => {
                    if self.eval(frame, e).as_int()?.constant()? == chosen {
                        return Some(l.before as usize);
                    }
                }
            }
        }
        Some(fallback)
    }

    /// A case is one value of what the `switch` looks at: a launch that has that, too, would be given another value of it
    /// than the case has. Labels are not known here, so that it is asked.
    fn ask_which_case(&mut self, chosen: &Expr, first: usize) {
        let names = chosen.names();
        let speaks = |e: &Expr| names.is_empty() || e.names().iter().any(|n| names.contains(n));
        for event in self.events.iter_mut().skip(first) {
            let Event::Launch(l) = event else { continue };
            let sizes = l.grid.iter().chain(&l.block).flatten().chain(&l.shared);
            if names.is_empty() || sizes.into_iter().any(speaks) {
                l.block = Err(format!("which case of the `switch` over {chosen} it is in"));
            }
        }
    }

    /// Whether the block launches, allocates, copies, or calls something that may.
    pub(super) fn matters(&self, frame: &Frame<'a>, body: &Block) -> bool {
        let f = frame.f;
        query::stmts_in(f, body).into_iter().flat_map(|s| query::roots_of(f.stmt(s))).flat_map(|e| f.walk(e)).any(|e| {
            match f.kind_of(e) {
                ExprKind::Launch(_) => true,
                ExprKind::Call { callee, .. } => {
                    callee.starts_with("cudaM")
                        || callee.starts_with("cudaLaunch")
                        || self.view.reaches_device(query::base_name(callee))
                }
                ExprKind::CallValue { .. } => true,
                _ => false,
            }
        })
    }
}

/// The statements of a `switch` as runs that end with a `break` or a `return`.
fn cases(f: &Function, body: &Block) -> Vec<Vec<StmtId>> {
    let mut found = vec![vec![]];
    for s in &body.stmts {
        if let Some(last) = found.last_mut() {
            last.push(*s);
        }
        if stops(f, *s) {
            found.push(vec![]);
        }
    }
    found.retain(|c| !c.is_empty());
    found
}

fn stops(f: &Function, s: StmtId) -> bool {
    match &f.stmt(s).kind {
        StmtKind::Break | StmtKind::Return(_) => true,
        StmtKind::Block(b) => b.stmts.last().is_some_and(|s| stops(f, *s)),
        _ => false,
    }
}

/// Whether the block writes a variable.
fn assigns(f: &Function, block: &Block) -> bool {
    let all = query::stmts_in(f, block).into_iter().flat_map(|s| query::roots_of(f.stmt(s))).flat_map(|e| f.walk(e));
    all.into_iter().any(|e| match f.kind_of(e) {
        ExprKind::Assign { target, .. } | ExprKind::Increment { target, .. } => {
            query::written_var(f, *target).is_some()
        }
        _ => false,
    })
}

/// Whether the block only leads out: it ends with a return, an exit, or a throw, and launches nothing.
fn leaves(f: &Function, block: &Block) -> bool {
    let Some(last) = block.stmts.last() else { return false };
    let launches =
        query::stmts_in(f, block).into_iter().flat_map(|s| query::roots_of(f.stmt(s))).flat_map(|e| f.walk(e));
    if launches.into_iter().any(|e| matches!(f.kind_of(e), ExprKind::Launch(_))) {
        return false;
    }
    match &f.stmt(*last).kind {
        StmtKind::Return(_) => true,
        StmtKind::Block(b) => leaves(f, b),
        StmtKind::Expr(e) => f.walk(*e).into_iter().any(|e| match f.kind_of(e) {
            ExprKind::Call { callee, .. } => {
                let name = query::base_name(callee).to_ascii_lowercase();
                matches!(name.as_str(), "exit" | "abort" | "_exit" | "usage" | "terminate" | "assert")
                    || name.contains("usage")
            }
            ExprKind::Opaque { what, .. } => what.contains("throw"),
            _ => false,
        }),
        StmtKind::Opaque { what, .. } => what.contains("throw") || what.contains("goto"),
        _ => false,
    }
}
