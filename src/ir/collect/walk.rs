//! The walk over statements: loops, guards with early exits, and where each expression stands.

use crate::ir::query::{self, Signatures};
use crate::ir::*;
use std::collections::BTreeSet;

#[derive(Default)]
pub(super) struct Found {
    /// Expressions and variables that the walk makes up, to be appended to those of the function.
    pub exprs: Vec<Expr>,
    pub vars: Vec<Var>,
    pub loops: Vec<LoopFacts>,
    pub accesses: Vec<Access>,
    pub barriers: Vec<Barrier>,
    pub warp_ops: Vec<WarpOp>,
    pub atomics: Vec<Atomic>,
    pub calls: Vec<Call>,
}

#[derive(Clone)]
pub(super) struct LoopFacts {
    pub stmt: StmtId,
    pub parent: Option<LoopId>,
    pub guards: Vec<Guard>,
    pub has_break: bool,
    pub has_continue: bool,
    pub has_return: bool,
}

/// A guard in force, with the variables it depends on; dead once one of them is written.
struct Held {
    guard: Guard,
    vars: Vec<VarId>,
    dead: bool,
}

pub(super) struct Walk<'f> {
    pub f: &'f Function,
    pub known: &'f Signatures,
    pub found: Found,
    pub stmt: StmtId,
    pub in_header: bool,
    pub origins: super::access::Origins,
    held: Vec<Held>,
    loops: Vec<LoopId>,
    /// Innermost target of `break`: a loop, or `None` for a switch.
    breaks: Vec<Option<LoopId>>,
    escaped: BTreeSet<VarId>,
    /// Whether the block being walked is the body of a switch, whose labels were flattened away.
    in_switch: bool,
}

impl<'f> Walk<'f> {
    pub fn new(f: &'f Function, known: &'f Signatures, by_lambdas: &[String], escaped: &BTreeSet<VarId>) -> Walk<'f> {
        let mut escaped = escaped.clone();
        let named = f.vars.iter().enumerate().filter(|(_, v)| by_lambdas.contains(&v.name));
        escaped.extend(named.map(|(i, _)| VarId(i as u32)));
        let nothing = LoopFacts {
            stmt: StmtId(0),
            parent: None,
            guards: vec![],
            has_break: false,
            has_continue: false,
            has_return: false,
        };
        let found = Found { loops: vec![nothing; f.loops.len()], ..Found::default() };
        let origins = super::access::Origins::of(f);
        Walk {
            f,
            known,
            found,
            stmt: StmtId(0),
            in_header: false,
            origins,
            held: vec![],
            loops: vec![],
            breaks: vec![],
            escaped,
            in_switch: false,
        }
    }

    pub fn run(&mut self) {
        let f = self.f;
        self.block(&f.body);
    }

    pub fn guards(&self) -> Vec<Guard> {
        self.held.iter().filter(|h| !h.dead).map(|h| h.guard).collect()
    }

    pub fn loops(&self) -> Vec<LoopId> {
        self.loops.clone()
    }

    /// Puts a guard in force until the surrounding block ends or a variable in it is written.
    fn hold(&mut self, expr: ExprId, negated: bool) {
        let f = self.f;
        let vars: Vec<VarId> = f.under(expr).filter_map(|e| query::plain_var(f, e)).collect();
        let writes = query::writes_of_expr(self.f, expr, self.known);
        let unsafe_var = |v: &VarId| writes.contains(v) || self.escaped.contains(v);
        let dead = vars.iter().any(unsafe_var);
        self.held.push(Held { guard: Guard { expr, negated }, vars, dead });
    }

    pub fn under(&mut self, expr: ExprId, negated: bool, work: impl FnOnce(&mut Self)) {
        let mark = self.held.len();
        self.hold(expr, negated);
        work(self);
        self.held.truncate(mark);
    }

    fn kill(&mut self, written: &[VarId]) {
        for held in self.held.iter_mut().filter(|h| !h.dead) {
            held.dead = written.iter().any(|v| held.vars.contains(v));
        }
    }

    fn block(&mut self, block: &'f Block) {
        let mark = self.held.len();
        for stmt in &block.stmts {
            self.statement(*stmt);
        }
        self.held.truncate(mark);
    }

    fn evaluate(&mut self, e: ExprId) {
        self.expr(e);
        let written = query::writes_of_expr(self.f, e, self.known);
        self.kill(&written);
    }

    fn statement(&mut self, id: StmtId) {
        let f = self.f;
        let was_switch = std::mem::replace(&mut self.in_switch, false);
        self.stmt = id;
        match &f.stmt(id).kind {
            StmtKind::Declare { var, init } => {
                match init {
                    // Binding a reference evaluates an address and loads nothing.
                    Some(e) if matches!(f.var(*var).ty, Type::Reference(_)) => self.address(*e),
                    Some(e) => self.evaluate(*e),
                    None => {}
                }
                self.kill(&[*var]);
            }
            StmtKind::Expr(e) => self.evaluate(*e),
            StmtKind::If { condition, then, otherwise, .. } => {
                self.branch(id, *condition, then, otherwise.as_ref(), was_switch);
            }
            StmtKind::For { id: lp, init, condition, step, body } => {
                for s in init {
                    self.statement(*s);
                }
                self.stmt = id;
                self.enter(*lp, id);
                self.in_header = true;
                for e in condition.iter().chain(step) {
                    self.expr(*e);
                }
                self.in_header = false;
                self.block(body);
                self.leave();
            }
            StmtKind::While { id: lp, condition, body } | StmtKind::DoWhile { id: lp, body, condition } => {
                self.enter(*lp, id);
                self.in_header = true;
                self.expr(*condition);
                self.in_header = false;
                self.block(body);
                self.leave();
            }
            StmtKind::OpaqueLoop { id: lp, body } => {
                self.enter(*lp, id);
                self.block(body);
                self.leave();
            }
            StmtKind::Switch { value, body, .. } => {
                self.evaluate(*value);
                self.breaks.push(None);
                let mark = self.held.len();
                for s in &body.stmts {
                    self.in_switch = true;
                    self.statement(*s);
                }
                self.held.truncate(mark);
                self.breaks.pop();
            }
            StmtKind::Return(e) => {
                if let Some(e) = e {
                    self.evaluate(*e);
                }
                for lp in self.loops.clone() {
                    self.loop_facts(lp, |l| l.has_return = true);
                }
            }
            StmtKind::Break => {
                if let Some(Some(lp)) = self.breaks.last().copied() {
                    self.loop_facts(lp, |l| l.has_break = true);
                }
            }
            StmtKind::Continue => {
                if let Some(lp) = self.loops.last().copied() {
                    self.loop_facts(lp, |l| l.has_continue = true);
                }
            }
            StmtKind::Block(block) => self.block(block),
            StmtKind::Asm { writes, reads, template, .. } => {
                for e in reads {
                    self.expr(*e);
                }
                for e in writes {
                    self.store(*e, AccessMode::Store, None);
                }
                self.asm_barrier(id, template);
                let written: Vec<VarId> = writes.iter().filter_map(|w| query::written_var(f, *w)).collect();
                self.kill(&written);
            }
            StmtKind::Preprocessor { arms } => {
                for (_, block) in arms {
                    self.block(block);
                }
            }
            StmtKind::Opaque { what, children } => {
                for e in children {
                    self.evaluate(*e);
                }
                if what == "label" {
                    self.held.iter_mut().for_each(|h| h.dead = true);
                }
                let written = query::writes_of(f, id, self.known);
                self.kill(&written);
            }
            StmtKind::Pragma(_) | StmtKind::Empty => {}
        }
    }

    fn branch(
        &mut self,
        id: StmtId,
        condition: ExprId,
        then: &'f Block,
        otherwise: Option<&'f Block>,
        in_switch: bool,
    ) {
        let f = self.f;
        self.evaluate(condition);
        self.under(condition, false, |w| w.block(then));
        if let Some(otherwise) = otherwise {
            self.under(condition, true, |w| w.block(otherwise));
        }
        self.stmt = id;
        if in_switch {
            return;
        }
        let then_leaves = always_leaves(f, then);
        let else_leaves = otherwise.is_some_and(|b| always_leaves(f, b));
        let survivor = match (then_leaves, else_leaves) {
            (true, false) => Some((true, otherwise)),
            (false, true) => Some((false, Some(then))),
            _ => None,
        };
        if let Some((negated, ran)) = survivor {
            self.hold(condition, negated);
            let written: Vec<VarId> =
                ran.iter().flat_map(|b| &b.stmts).flat_map(|s| query::writes_of(f, *s, self.known)).collect();
            if let Some(last) = self.held.last_mut() {
                last.dead |= written.iter().any(|v| last.vars.contains(v));
            }
        }
    }

    fn enter(&mut self, lp: LoopId, stmt: StmtId) {
        // What the loop writes anywhere may be written before the second iteration. Variables declared inside it are
        // new each time and cannot stand in a guard from outside.
        let written = query::writes_of(self.f, stmt, self.known);
        self.kill(&written);
        let (parent, guards) = (self.loops.last().copied(), self.guards());
        self.loop_facts(lp, |l| {
            l.stmt = stmt;
            l.parent = parent;
            l.guards = guards;
        });
        self.loops.push(lp);
        self.breaks.push(Some(lp));
        self.stmt = stmt;
    }

    fn leave(&mut self) {
        self.loops.pop();
        self.breaks.pop();
    }

    fn loop_facts(&mut self, lp: LoopId, change: impl FnOnce(&mut LoopFacts)) {
        if let Some(l) = self.found.loops.get_mut(lp.0 as usize) {
            change(l);
        }
    }

    /// Adds an expression of the walk's own.
    pub fn make(&mut self, kind: ExprKind, like: ExprId) -> ExprId {
        let Expr { span, ty, .. } = self.f.expr(like).clone();
        self.found.exprs.push(Expr { kind, span, ty });
        ExprId((self.f.exprs.len() + self.found.exprs.len()) as u32 - 1)
    }
}

/// Whether control never runs past the end of the block.
fn always_leaves(f: &Function, block: &Block) -> bool {
    let Some(last) = block.stmts.last() else { return false };
    match &f.stmt(*last).kind {
        StmtKind::Return(_) | StmtKind::Break | StmtKind::Continue => true,
        StmtKind::Block(inner) => always_leaves(f, inner),
        StmtKind::If { then, otherwise: Some(otherwise), .. } => always_leaves(f, then) && always_leaves(f, otherwise),
        _ => false,
    }
}
