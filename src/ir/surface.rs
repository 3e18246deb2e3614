//! Surfaces: the places that optimisations act on, collected from the statement tree.

use super::expr::{BinaryOp, ExprId};
use super::function::VarId;
use super::stmt::StmtId;
use crate::source::Span;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);
    )*};
}

ids! {
    /// Index into [`super::Function::loops`].
    LoopId
    /// Index into [`super::Function::accesses`].
    AccessId
    /// Index into [`super::Function::tiles`].
    TileId
    /// Index into [`super::Function::barriers`].
    BarrierId
    /// Index into [`super::Function::reductions`].
    ReductionId
}

/// A condition that holds where a surface runs: `expr` is true, or false when `negated`. Covers enclosing `if`,
/// conditional operators, short-circuit operands, and early exits (`if (i >= n) return;` negates for all that follows).
/// No variable in `expr` is written between the test and the surface; memory that it reads may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    pub expr: ExprId,
    pub negated: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LoopKind {
    For,
    While,
    DoWhile,
    Opaque,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Compare {
    Lt,
    Le,
    Gt,
    Ge,
    Ne,
}

/// How the induction variable changes from one iteration to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// `++i`, `--i`: a constant.
    By(i64),
    /// `i += e` (`negated` for `i -= e`).
    Add { amount: ExprId, negated: bool },
    /// `i *= e`, `i <<= e`, `i /= e`, `i >>= e`.
    Scale { op: BinaryOp, amount: ExprId },
}

/// `for (i = init; i <compare> bound; step)`, with `i` written nowhere else in the loop, and no variable of the bound or
/// of the step's amount written in it. Memory that they read may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Induction {
    pub var: VarId,
    /// `None` where the variable enters with the value it had.
    pub init: Option<ExprId>,
    pub compare: Compare,
    pub bound: ExprId,
    pub step: Step,
    /// Whether the variable is declared in the loop's own header, so that it is dead afterwards.
    pub declared_in_header: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    pub kind: LoopKind,
    pub stmt: StmtId,
    pub parent: Option<LoopId>,
    pub induction: Option<Induction>,
    /// From `for` to the closing parenthesis.
    pub header_span: Span,
    /// The body, braces included where there are any.
    pub body_span: Span,
    pub has_braces: bool,
    pub has_break: bool,
    pub has_continue: bool,
    pub has_return: bool,
    /// Text of `#pragma unroll ...` in front of it, and where it stands.
    pub unroll: Option<(String, Span)>,
    pub guards: Vec<Guard>,
}

/// Which memory an access touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Space {
    Global,
    Shared,
    /// Thread-private arrays.
    Local,
    Constant,
    /// Through a pointer whose origin is not known.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessMode {
    Load,
    Store,
    /// `x[i] += v`.
    Update,
}

/// One memory access as the source writes it: `p[i]`, `*p`, `t[i][j]`, `reinterpret_cast<float4*>(p)[i]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    pub mode: AccessMode,
    pub space: Space,
    /// The whole lvalue expression.
    pub expr: ExprId,
    /// The variable at the root of the address: a pointer parameter, a local pointer, a shared tile.
    pub base: VarId,
    /// Subscripts from the outermost dimension to the innermost; empty for `*p`. The byte address is that of `base`
    /// plus, for each subscript, its value times the size of the type of the same place in `units`.
    pub indices: Vec<ExprId>,
    /// What each subscript steps over: `t[i][j]` of `float t[8][32]` has `float[32]` and `float`;
    /// `reinterpret_cast<float4*>(&p[i])[j]` has `float` and `float4`.
    pub units: Vec<super::types::Type>,
    /// Members named on the way (`params.x[i]` has `x`, `p[i].y` has `y`): with any, two accesses of the same base and
    /// subscripts may still be of different places.
    pub members: Vec<String>,
    /// The type that is moved, after casts of the address.
    pub ty: super::types::Type,
    /// Whether the address was cast to another pointee type on the way.
    pub through_cast: bool,
    /// Where the expression itself (not a subexpression) stands.
    pub stmt: StmtId,
    /// Enclosing loops, outermost first.
    pub loops: Vec<LoopId>,
    /// Conditions under which it runs, outermost first; those of loops' own headers are not repeated here.
    pub guards: Vec<Guard>,
    /// Whether the access stands in a loop's header (condition, step) rather than in its body.
    pub in_header: bool,
    /// The value stored, for plain `=`.
    pub value: Option<ExprId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedTile {
    pub var: VarId,
    /// Extents, outermost first; `None` for the open extent of a dynamic tile.
    pub dims: Vec<Option<ExprId>>,
    /// `extern __shared__`: its size is a launch argument.
    pub is_dynamic: bool,
    pub stmt: Option<StmtId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BarrierKind {
    /// `__syncthreads()` and its counting forms, `cg::sync(block)`, `barrier.sync` of all threads.
    Block,
    Warp,
    Grid,
    Cluster,
    /// A named or counted barrier, `mbarrier`, `cp.async` wait: ordering kopt does not model further.
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Barrier {
    pub kind: BarrierKind,
    pub expr: ExprId,
    pub stmt: StmtId,
    pub loops: Vec<LoopId>,
    pub guards: Vec<Guard>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WarpOpKind {
    Shuffle,
    Vote,
    Match,
    Reduce,
    ActiveMask,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarpOp {
    pub kind: WarpOpKind,
    pub expr: ExprId,
    pub stmt: StmtId,
    pub loops: Vec<LoopId>,
    pub guards: Vec<Guard>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Atomic {
    pub expr: ExprId,
    /// The root of the address, where it is a variable.
    pub base: Option<VarId>,
    pub stmt: StmtId,
    pub loops: Vec<LoopId>,
    pub guards: Vec<Guard>,
}

/// A call of something that is not one of the special forms above.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub expr: ExprId,
    pub callee: String,
    pub stmt: StmtId,
    pub loops: Vec<LoopId>,
    pub guards: Vec<Guard>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReduceOp {
    Add,
    Mul,
    Min,
    Max,
    BitAnd,
    BitOr,
    BitXor,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReductionKind {
    /// `acc op= e` in a loop, `acc` a local scalar that the loop otherwise does not read.
    Serial { accumulator: VarId },
    /// `for (s = S; s > 0; s >>= 1) { if (t < s) tile[t] op= tile[t + s]; __syncthreads(); }`
    SharedTree {
        tile: VarId,
        /// The lane index `t` as written in the target's subscript.
        lane: ExprId,
        /// The access that is updated and the one that is read at distance `s`.
        target: AccessId,
        other: AccessId,
        barrier: BarrierId,
        /// The guard `t < s`.
        guard: ExprId,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reduction {
    pub kind: ReductionKind,
    pub op: ReduceOp,
    /// How the source spells the operation: `+=`, `fmaxf`, `max`, `?:`.
    pub spelling: String,
    pub id_loop: LoopId,
    pub stmt: StmtId,
}
