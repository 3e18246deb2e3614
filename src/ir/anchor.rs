//! Anchors: typed references to one surface, stable across edits through a content-based key.

use super::expr::ExprId;
use super::function::VarId;
use super::program::{FunctionRef, LaunchRef};
use super::surface::{AccessId, BarrierId, LoopId, ReductionId, TileId};
use crate::source::Span;

/// The surface that an anchor names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    Kernel,
    Parameter(VarId),
    Access(AccessId),
    Tile(TileId),
    Loop(LoopId),
    Barrier(BarrierId),
    Reduction(ReductionId),
    /// A call or any other expression.
    Expr(ExprId),
    Launch(LaunchRef),
}

impl Place {
    /// The surface's word in skill files and lock entries.
    pub fn surface(self) -> &'static str {
        match self {
            Place::Kernel => "kernel",
            Place::Parameter(_) => "parameter",
            Place::Access(_) => "access",
            Place::Tile(_) => "shared",
            Place::Loop(_) => "loop",
            Place::Barrier(_) => "barrier",
            Place::Reduction(_) => "reduction",
            Place::Expr(_) => "expr",
            Place::Launch(_) => "launch",
        }
    }

    /// Position among the surfaces of its kind in the function, from 0.
    pub fn ordinal(self) -> u32 {
        match self {
            Place::Kernel => 0,
            Place::Parameter(v) => v.0,
            Place::Access(a) => a.0,
            Place::Tile(t) => t.0,
            Place::Loop(l) => l.0,
            Place::Barrier(b) => b.0,
            Place::Reduction(r) => r.0,
            Place::Expr(e) => e.0,
            Place::Launch(l) => l.launch,
        }
    }
}

/// A named place in one function of one revision of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Anchor {
    pub function: FunctionRef,
    pub place: Place,
    pub span: Span,
}
