//! Features: what a place has or lacks, decided by looking at the IR. Skills require, provide and conflict with them.

use crate::ir::{
    Access, BinaryOp, ExprId, ExprKind, Function, FunctionRef, Place, Program, Reduction, ReductionKind, VarId,
    WarpOpKind,
};
use crate::source::Span;

/// Where a feature is looked for: a stretch of text of one function, and the tile when the anchor is one.
#[derive(Clone, Copy)]
struct Where<'a> {
    f: &'a Function,
    span: Span,
    tile: Option<VarId>,
}

/// A feature that can be looked for.
pub struct Detector {
    pub name: &'static str,
    pub help: &'static str,
    find: fn(Where) -> bool,
}

/// All features, sorted by name. A skill that names another one fails to load.
pub const DETECTORS: &[Detector] = &[
    Detector { name: "access.vector16", help: "a 16-byte access of memory through a cast pointer", find: vector16 },
    Detector { name: "math.fast", help: "a call of a fast-math intrinsic such as `__expf`", find: fast_math },
    Detector { name: "reduction.redux", help: "a reduction by the warp's own instruction", find: redux },
    Detector { name: "reduction.shuffle", help: "an exchange of values between the lanes of a warp", find: shuffle },
    Detector { name: "reduction.tree", help: "a tree reduction in shared memory", find: tree },
    Detector { name: "shared.pad1", help: "a shared tile whose rows are padded by one element", find: padded },
    Detector { name: "shared.swizzle", help: "a shared tile subscripted through exclusive or", find: swizzled },
    Detector { name: "shared.tile", help: "a tile in shared memory", find: tile },
];

pub fn names() -> impl Iterator<Item = &'static str> {
    DETECTORS.iter().map(|d| d.name)
}

/// Whether the feature is present in `span` of the function, or `None` for a name that is not known.
pub fn present(name: &str, program: &Program, at: FunctionRef, span: Span) -> Option<bool> {
    let place = Where { f: program.function(at), span, tile: None };
    DETECTORS.iter().find(|d| d.name == name).map(|d| (d.find)(place))
}

/// Whether the feature is present at an anchor's own surface; for a tile, at its declaration or any of its accesses.
pub fn present_at(name: &str, program: &Program, at: FunctionRef, place: Place, span: Span) -> Option<bool> {
    let f = program.function(at);
    let place = match place {
        Place::Tile(id) => {
            let var = f.tiles.get(id.0 as usize)?.var;
            Where { f, span: f.var(var).span, tile: Some(var) }
        }
        _ => Where { f, span, tile: None },
    };
    DETECTORS.iter().find(|d| d.name == name).map(|d| (d.find)(place))
}

impl Where<'_> {
    /// Accesses of the tile, or those in the span.
    fn accesses(&self) -> impl Iterator<Item = &Access> {
        let here = |a: &&Access| match self.tile {
            Some(tile) => a.base == tile,
            None => self.span.contains(self.f.expr(a.expr).span),
        };
        self.f.accesses.iter().filter(here)
    }

    fn has_warp_op(&self, kind: WarpOpKind) -> bool {
        self.f.warp_ops.iter().any(|w| w.kind == kind && self.span.contains(self.f.expr(w.expr).span))
    }
}

fn vector16(at: Where) -> bool {
    at.accesses().any(|a| a.through_cast && a.ty.bytes() == Some(16))
}

fn fast_math(at: Where) -> bool {
    at.f.exprs.iter().any(|e| match &e.kind {
        ExprKind::Call { callee, .. } => FAST.contains(&callee.as_str()) && at.span.contains(e.span),
        _ => false,
    })
}

/// Intrinsics of reduced accuracy, as NVIDIA's programming guide lists them.
const FAST: &[&str] =
    &["__cosf", "__exp10f", "__expf", "__fdividef", "__log10f", "__log2f", "__logf", "__powf", "__sinf", "__tanf"];

fn redux(at: Where) -> bool {
    at.has_warp_op(WarpOpKind::Reduce)
}

fn shuffle(at: Where) -> bool {
    at.has_warp_op(WarpOpKind::Shuffle)
}

fn tree(at: Where) -> bool {
    let here =
        |r: &Reduction| matches!(r.kind, ReductionKind::SharedTree { .. }) && at.span.overlaps(at.f.stmt(r.stmt).span);
    at.f.reductions.iter().any(here)
}

/// The innermost extent is written as a sum that ends in `+ 1`.
fn padded(at: Where) -> bool {
    let f = at.f;
    f.tiles.iter().any(|t| {
        let Some(Some(extent)) = t.dims.last() else { return false };
        // The rows of a long declaration may stand on a line of their own.
        if !at.span.contains(f.var(t.var).name_span) && !at.span.contains(f.expr(*extent).span) {
            return false;
        }
        match f.kind_of(*extent) {
            ExprKind::Binary { op: BinaryOp::Add, right, .. } => matches!(f.kind_of(*right), ExprKind::Int(1)),
            _ => false,
        }
    })
}

fn swizzled(at: Where) -> bool {
    let xor = |e: &ExprId| matches!(at.f.kind_of(*e), ExprKind::Binary { op: BinaryOp::BitXor, .. });
    at.tile.is_some() && at.accesses().any(|a| a.indices.iter().any(|i| at.f.walk(*i).iter().any(xor)))
}

fn tile(at: Where) -> bool {
    at.f.tiles.iter().any(|t| at.span.contains(at.f.var(t.var).name_span))
}
