//! Features: what a place has or lacks, decided by looking at the IR. Skills require, provide and conflict with them.

use crate::ir::{ExprKind, FunctionRef, Place, Program, WarpOpKind};
use crate::source::Span;

/// A feature that can be looked for.
pub struct Detector {
    pub name: &'static str,
    pub help: &'static str,
    find: fn(&Program, FunctionRef, Span) -> bool,
}

/// All features, sorted by name. A skill that names another one fails to load.
pub const DETECTORS: &[Detector] = &[
    Detector { name: "access.vector16", help: "a 16-byte access of memory through a cast pointer", find: vector16 },
    Detector { name: "math.fast", help: "a call of a fast-math intrinsic such as `__expf`", find: fast_math },
    Detector { name: "reduce.shuffle", help: "an exchange of values between the lanes of a warp", find: shuffle },
    Detector { name: "shared.pad1", help: "a shared tile whose rows are padded by one element", find: padded },
    Detector { name: "shared.staged", help: "a tile in shared memory", find: staged },
];

pub fn names() -> impl Iterator<Item = &'static str> {
    DETECTORS.iter().map(|d| d.name)
}

/// Whether the feature is present in `span` of the function, or `None` for a name that is not known.
pub fn present(name: &str, program: &Program, at: FunctionRef, span: Span) -> Option<bool> {
    DETECTORS.iter().find(|d| d.name == name).map(|d| (d.find)(program, at, span))
}

/// Whether the feature is present at an anchor's own surface.
pub fn present_at(name: &str, program: &Program, at: FunctionRef, place: Place, span: Span) -> Option<bool> {
    let f = program.function(at);
    let whole = match place {
        Place::Tile(id) => f.var(f.tiles[id.0 as usize].var).span,
        _ => span,
    };
    present(name, program, at, whole)
}

fn vector16(program: &Program, at: FunctionRef, span: Span) -> bool {
    let f = program.function(at);
    f.accesses.iter().any(|a| {
        a.through_cast && a.ty.bytes() == Some(16) && span.contains(f.expr(a.expr).span)
    })
}

fn fast_math(program: &Program, at: FunctionRef, span: Span) -> bool {
    let f = program.function(at);
    f.exprs.iter().any(|e| match &e.kind {
        ExprKind::Call { callee, .. } => FAST.contains(&callee.as_str()) && span.contains(e.span),
        _ => false,
    })
}

/// Intrinsics of reduced accuracy, as NVIDIA's programming guide lists them.
const FAST: &[&str] = &[
    "__cosf", "__exp10f", "__expf", "__fdividef", "__log10f", "__log2f", "__logf", "__powf", "__sinf", "__tanf",
];

fn shuffle(program: &Program, at: FunctionRef, span: Span) -> bool {
    let f = program.function(at);
    f.warp_ops.iter().any(|w| w.kind == WarpOpKind::Shuffle && span.contains(f.expr(w.expr).span))
}

/// The innermost extent is written as a sum that ends in `+ 1`.
fn padded(program: &Program, at: FunctionRef, span: Span) -> bool {
    let f = program.function(at);
    f.tiles.iter().filter(|t| span.contains(f.var(t.var).name_span)).any(|t| {
        let Some(Some(extent)) = t.dims.last() else { return false };
        match f.kind_of(*extent) {
            ExprKind::Binary { op: crate::ir::BinaryOp::Add, right, .. } => {
                matches!(f.kind_of(*right), ExprKind::Int(1))
            }
            _ => false,
        }
    })
}

fn staged(program: &Program, at: FunctionRef, span: Span) -> bool {
    let f = program.function(at);
    f.tiles.iter().any(|t| span.contains(f.var(t.var).name_span))
}
