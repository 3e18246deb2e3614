//! Which expressions of a kernel can be observed without changing what it means, and how.

use std::collections::{BTreeMap, BTreeSet};

use crate::facts::{Atom, Facts, Formula, Value};
use crate::ir::*;

/// Functions of the library whose arguments are values.
fn takes_values(callee: &str) -> bool {
    query::is_pure_call(callee.rsplit("::").next().unwrap_or(callee))
}

/// Expressions that can be wrapped.
#[derive(Clone, Debug, Default)]
pub struct Observable {
    /// Integers and conditions.
    pub values: BTreeSet<ExprId>,
    /// Accesses that are lvalues.
    pub lvalues: BTreeMap<ExprId, AccessId>,
    /// Pointer arguments of calls that are accesses or atomics: the argument, and what the call is.
    pub pointers: BTreeMap<ExprId, Through>,
    /// Barriers that are statements of their own.
    pub barriers: BTreeMap<StmtId, BarrierId>,
    /// Loops of which each iteration can be told.
    pub loops: BTreeSet<LoopId>,
    /// Statements that declare arrays, with the variables.
    pub declared: BTreeMap<StmtId, Vec<VarId>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Through {
    Access(AccessId),
    Atomic(u32),
}

/// Looks through the kernel of `facts`.
pub fn observable(facts: &Facts) -> Observable {
    let f = facts.function;
    let accesses = f.accesses.iter().zip(0..).map(|(a, n)| (a.expr, AccessId(n))).collect();
    let atomics = f.atomics.iter().zip(0..).map(|(a, n)| (a.expr, n)).collect();
    let mut look = Look { facts, f, accesses, atomics, found: Observable::default() };
    look.block(&f.body);
    look.found
}

struct Look<'a> {
    facts: &'a Facts<'a>,
    f: &'a Function,
    accesses: BTreeMap<ExprId, AccessId>,
    atomics: BTreeMap<ExprId, u32>,
    found: Observable,
}

/// Where an expression stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum As {
    /// Its value is used.
    Value,
    /// It may be bound to a reference, or must stay a constant: what is inside may be looked at, itself not.
    Bare,
    /// What it names is used, not its value.
    Lvalue,
}

impl Look<'_> {
    fn block(&mut self, block: &Block) {
        block.stmts.iter().for_each(|s| self.stmt(*s));
    }

    fn stmt(&mut self, id: StmtId) {
        let f = self.f;
        match &f.stmt(id).kind {
            StmtKind::Declare { var, init } => self.declare(id, *var, *init),
            StmtKind::Expr(e) => {
                if let Some(n) = f.barriers.iter().position(|b| b.expr == *e) {
                    self.found.barriers.insert(id, BarrierId(n as u32));
                }
                self.expr(*e, As::Bare);
            }
            StmtKind::If { condition, is_constexpr, then, otherwise } => {
                if !is_constexpr {
                    self.expr(*condition, As::Value);
                }
                self.block(then);
                otherwise.iter().for_each(|b| self.block(b));
            }
            StmtKind::For { id, init, condition, step, body } => {
                init.iter().for_each(|s| self.stmt(*s));
                condition.iter().for_each(|e| self.expr(*e, As::Value));
                step.iter().for_each(|e| self.expr(*e, As::Bare));
                self.found.loops.insert(*id);
                self.block(body);
            }
            StmtKind::While { id, condition, body } | StmtKind::DoWhile { id, condition, body } => {
                self.expr(*condition, As::Value);
                self.found.loops.insert(*id);
                self.block(body);
            }
            StmtKind::OpaqueLoop { body, .. } | StmtKind::Block(body) => self.block(body),
            StmtKind::Switch { value, body, .. } => {
                self.expr(*value, As::Value);
                self.block(body);
            }
            StmtKind::Return(e) => e.iter().for_each(|e| self.expr(*e, As::Value)),
            StmtKind::Preprocessor { arms } => arms.iter().for_each(|(_, b)| self.block(b)),
            // Operands may have to be constants, and what is not modelled may be anything.
            StmtKind::Asm { .. } | StmtKind::Opaque { .. } => {}
            StmtKind::Break | StmtKind::Continue | StmtKind::Pragma(_) | StmtKind::Empty => {}
        }
    }

    fn declare(&mut self, stmt: StmtId, var: VarId, init: Option<ExprId>) {
        let decl = self.f.var(var);
        let lives = matches!(decl.ty, Type::Array { .. }) || decl.kind == VarKind::Shared;
        if lives && !decl.name.is_empty() {
            self.found.declared.entry(stmt).or_default().push(var);
        }
        let Some(init) = init else { return };
        if decl.is_constexpr || decl.is_static || decl.kind == VarKind::Shared {
            return;
        }
        match &decl.ty {
            Type::Reference(_) => self.expr(init, As::Lvalue),
            // `const int n = 4;` may be an extent somewhere.
            _ if decl.is_const && !self.differs_between_launches(init) => {}
            _ => self.expr(init, As::Value),
        }
    }

    /// Whether the value cannot be one that the compiler must know.
    fn differs_between_launches(&self, e: ExprId) -> bool {
        let moving = |a: &Atom| !matches!(a, Atom::Name(_) | Atom::Div(_) | Atom::Fun(_));
        let found: Vec<_> = self.f.walk(e);
        let varies = found.iter().any(|e| match self.facts.walked.value(*e) {
            Some(Value::Int(v)) => v.poly.any_atom(&moving),
            Some(Value::Pointer(_)) => true,
            Some(Value::Truth(t)) => match &t.formula {
                Formula::NonNeg(p) | Formula::Zero(p) | Formula::NonZero(p) => p.any_atom(&moving),
                _ => false,
            },
            _ => false,
        });
        varies || found.iter().any(|e| matches!(self.f.kind_of(*e), ExprKind::Index { .. } | ExprKind::Deref(_)))
    }

    fn expr(&mut self, e: ExprId, stands: As) {
        let f = self.f;
        let access = self.accesses.get(&e).copied();
        let kind = f.kind_of(e);
        if let Some(a) = access.filter(|_| !matches!(kind, ExprKind::Call { .. })) {
            let constant = f.accesses.get(a.0 as usize).is_some_and(|a| a.space == Space::Constant);
            if !constant {
                self.found.lvalues.insert(e, a);
            }
        }
        if stands == As::Value && self.is_number(e) {
            self.found.values.insert(e);
        }
        match kind {
            ExprKind::Index { base, index } => {
                self.expr(*base, As::Lvalue);
                self.expr(*index, As::Value);
                if matches!(f.kind_of(*index), ExprKind::Builtin(_)) {
                    self.found.values.insert(*index);
                }
            }
            ExprKind::Deref(p) => self.expr(*p, As::Value),
            ExprKind::AddressOf(inner) => self.expr(*inner, As::Lvalue),
            ExprKind::Member { base, arrow, .. } => self.expr(*base, if *arrow { As::Value } else { As::Lvalue }),
            ExprKind::Unary { operand, .. } => self.expr(*operand, As::Value),
            ExprKind::Cast { operand, ty, .. } => {
                let refers = matches!(ty, Type::Reference(_)) || stands == As::Lvalue;
                self.expr(*operand, if refers { As::Lvalue } else { As::Value });
            }
            ExprKind::Binary { left, right, .. } => {
                self.expr(*left, As::Value);
                self.expr(*right, As::Value);
            }
            ExprKind::Assign { target, value, .. } => {
                self.expr(*target, As::Lvalue);
                self.expr(*value, As::Value);
            }
            ExprKind::Increment { target, .. } => self.expr(*target, As::Lvalue),
            ExprKind::Conditional { condition, then, otherwise } => {
                self.expr(*condition, As::Value);
                self.expr(*then, stands);
                self.expr(*otherwise, stands);
            }
            ExprKind::Comma { left, right } => {
                self.expr(*left, As::Bare);
                self.expr(*right, stands);
            }
            ExprKind::InitList(items) => items.iter().for_each(|i| self.expr(*i, As::Bare)),
            ExprKind::Construct { args, .. } => args.iter().for_each(|i| self.expr(*i, As::Bare)),
            ExprKind::Call { callee, receiver, args, .. } => self.call(e, callee, *receiver, args),
            _ => {}
        }
    }

    fn call(&mut self, e: ExprId, callee: &str, receiver: Option<ExprId>, args: &[ExprId]) {
        let name = callee.rsplit("::").next().unwrap_or(callee);
        // A macro may paste, quote, repeat or drop what it is given.
        if self.facts.macros.contains(name) {
            return;
        }
        receiver.iter().for_each(|r| self.expr(*r, As::Lvalue));
        let access = self.accesses.get(&e).map(|a| Through::Access(*a));
        let through = access.or_else(|| self.atomics.get(&e).map(|n| Through::Atomic(*n)));
        for (n, arg) in args.iter().enumerate() {
            if let Some(through) = through.filter(|_| n == 0) {
                self.found.pointers.insert(*arg, through);
            }
            let named = matches!(
                self.f.kind_of(*arg),
                ExprKind::Var(_) | ExprKind::Index { .. } | ExprKind::Deref(_) | ExprKind::Member { .. }
            );
            self.expr(*arg, if named && !takes_values(callee) { As::Bare } else { As::Value });
        }
    }

    /// Whether the walk has an integer or a condition for it that says more than its text.
    fn is_number(&self, e: ExprId) -> bool {
        let plain = matches!(
            self.f.kind_of(e),
            ExprKind::Int(_)
                | ExprKind::Bool(_)
                | ExprKind::Builtin(_)
                | ExprKind::SizeOf(_)
                | ExprKind::Name(_)
                | ExprKind::Assign { .. }
                | ExprKind::Increment { .. }
                | ExprKind::Float(_)
        );
        !plain && matches!(self.facts.walked.value(e), Some(Value::Int(_) | Value::Truth(_)))
    }
}
