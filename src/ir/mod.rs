//! The intermediate representation: what a kernel does, with a span on everything.
//!
//! A [`Program`] holds one [`Unit`] per file; a unit holds its functions ([`Function`]: kernels, device functions,
//! lambdas, methods and host functions alike). A function owns arenas of expressions, statements and variables, and
//! lists of *surfaces* (loops, accesses, barriers, ...), the places that an [`Anchor`] can name.
//!
//! The IR is language neutral: [`crate::syntax::cuda`] builds it from CUDA C++, TileLang will build the same types.

pub mod anchor;
pub mod collect;
pub mod dump;
pub mod expr;
pub mod function;
pub mod program;
pub mod query;
pub mod spell;
pub mod stmt;
pub mod surface;
pub mod types;

pub use anchor::{Anchor, Place};
pub use expr::{AssignOp, Axis, BinaryOp, Builtin, CastStyle, Expr, ExprId, ExprKind, UnaryOp};
pub use function::{
    Flaw, FlawKind, Function, FunctionId, FunctionKind, LaunchBounds, TemplateParam, Var, VarId, VarKind,
};
pub use program::{FunctionRef, Global, Language, Launch, LaunchRef, Program, TypeAlias, Unit};
pub use stmt::{Block, Label, Stmt, StmtId, StmtKind};
pub use surface::{
    Access, AccessId, AccessMode, Atomic, Barrier, BarrierId, BarrierKind, Call, Compare, Guard, Induction, Loop,
    LoopId, LoopKind, ReduceOp, Reduction, ReductionId, ReductionKind, SharedTile, Space, Step, TileId, WarpOp,
    WarpOpKind,
};
pub use types::{Pointee, Scalar, Type};
