//! Functions of every kind, their variables, and what is wrong with them.

use super::expr::{Expr, ExprId, ExprKind};
use super::stmt::{Block, Stmt, StmtId};
use super::surface::{Access, Atomic, Barrier, Call, Loop, Reduction, SharedTile, WarpOp};
use super::types::Type;
use crate::source::Span;

/// Index into [`super::Unit::functions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionId(pub u32);

/// Index into [`Function::vars`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VarId(pub u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FunctionKind {
    /// `__global__`, or `T.prim_func`.
    Kernel,
    Device,
    HostDevice,
    Host,
    /// A lambda; the function it stands in is [`Function::parent`].
    Lambda,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VarKind {
    Param,
    Local,
    /// `__shared__`, static or dynamic (`extern`).
    Shared,
    /// A variable of the enclosing function that a lambda captures, or that it sees by `[&]`.
    Captured,
    /// `__device__` or `__managed__` at file scope, seen from here.
    Global,
    /// `__constant__` at file scope, seen from here.
    Constant,
    /// A name that nothing in the file declares and through which memory is reached; also `this`.
    Unresolved,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Var {
    pub name: String,
    pub kind: VarKind,
    pub ty: Type,
    pub is_const: bool,
    pub is_constexpr: bool,
    pub is_volatile: bool,
    pub is_static: bool,
    /// `extern __shared__`.
    pub is_extern: bool,
    /// From `alignas`, `__align__` or the attribute of that name, in bytes, where it is a literal.
    pub alignment: Option<u32>,
    pub name_span: Span,
    /// The whole declaration: `const float* __restrict__ x`.
    pub span: Span,
    /// The initialiser of the declaration, if any.
    pub init: Option<ExprId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateParam {
    pub name: String,
    /// `None` for a type parameter; the declared type of a value parameter otherwise.
    pub value_type: Option<Type>,
    pub is_pack: bool,
    pub default: Option<String>,
    pub span: Span,
}

/// Launch attributes that the mask blanked out before parsing and kept aside. Expressions are texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchBounds {
    pub max_threads: Option<(String, Span)>,
    pub min_blocks: Option<(String, Span)>,
    pub max_cluster_blocks: Option<(String, Span)>,
    pub cluster_dims: Option<(String, Span)>,
    pub max_registers: Option<(String, Span)>,
}

/// Why a function is read but not edited, or only partly known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    pub kind: FlawKind,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FlawKind {
    /// The grammar could not parse something inside.
    SyntaxError,
    /// It parsed, but the tree is probably not what the compiler sees.
    SuspectedMisparse,
    /// An `#if` branch that the mask dropped so that the rest could be parsed.
    DroppedBranch,
    /// A macro that is not understood stands in the body.
    OpaqueMacro,
    /// Nested deeper than the limit; the inner part was not read.
    TooDeep,
}

impl FlawKind {
    /// Whether an edit anywhere in the function is refused (invariant 3); a dropped branch or an opaque macro
    /// forbids only edits that touch it.
    pub fn forbids_all_edits(self) -> bool {
        matches!(self, FlawKind::SyntaxError | FlawKind::SuspectedMisparse | FlawKind::TooDeep)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    pub id: FunctionId,
    pub kind: FunctionKind,
    /// As declared, without namespaces: `softmax`.
    pub name: String,
    /// With namespaces and classes: `ns::Op::softmax`.
    pub qualified: String,
    /// From `template` or the first specifier to the closing brace.
    pub span: Span,
    pub name_span: Span,
    /// With braces; `None` for a declaration.
    pub body_span: Option<Span>,
    /// The function a lambda stands in.
    pub parent: Option<FunctionId>,
    /// The class of a method.
    pub class: Option<String>,
    pub is_static: bool,
    pub in_anonymous_namespace: bool,
    pub return_type: Type,
    pub template: Vec<TemplateParam>,
    /// Parameters in order; they are also in `vars`.
    pub params: Vec<VarId>,
    pub vars: Vec<Var>,
    pub exprs: Vec<Expr>,
    pub stmts: Vec<Stmt>,
    pub body: Block,
    pub bounds: LaunchBounds,
    pub flaws: Vec<Flaw>,

    pub loops: Vec<Loop>,
    pub accesses: Vec<Access>,
    pub tiles: Vec<SharedTile>,
    pub barriers: Vec<Barrier>,
    pub warp_ops: Vec<WarpOp>,
    pub atomics: Vec<Atomic>,
    pub reductions: Vec<Reduction>,
    pub calls: Vec<Call>,
}

impl Function {
    pub fn expr(&self, id: ExprId) -> &Expr {
        &self.exprs[id.0 as usize]
    }

    pub fn kind_of(&self, id: ExprId) -> &ExprKind {
        &self.exprs[id.0 as usize].kind
    }

    pub fn stmt(&self, id: StmtId) -> &Stmt {
        &self.stmts[id.0 as usize]
    }

    pub fn var(&self, id: VarId) -> &Var {
        &self.vars[id.0 as usize]
    }

    pub fn is_kernel(&self) -> bool {
        self.kind == FunctionKind::Kernel
    }

    pub fn is_template(&self) -> bool {
        !self.template.is_empty()
    }

    /// Every expression under `root`, itself first, in the order of the text.
    pub fn walk(&self, root: ExprId) -> Vec<ExprId> {
        self.under(root).collect()
    }

    /// The same one by one.
    pub fn under(&self, root: ExprId) -> Under<'_> {
        Under { function: self, next: Some(root), later: vec![] }
    }
}

/// The expressions under one, from [`Function::under`].
#[derive(Clone, Debug)]
pub struct Under<'f> {
    function: &'f Function,
    next: Option<ExprId>,
    /// What comes after `next`, last first.
    later: Vec<ExprId>,
}

impl Iterator for Under<'_> {
    type Item = ExprId;

    fn next(&mut self) -> Option<ExprId> {
        let id = self.next?;
        let mut operands = self.function.kind_of(id).operands();
        let first = operands.next();
        self.later.extend(operands.rev());
        self.next = first.or_else(|| self.later.pop());
        Some(id)
    }
}
