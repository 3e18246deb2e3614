//! Pad the rows of a shared tile by one element so that column accesses spread over the banks.
//!
//! ## Before and after
//! ```cuda
//! __shared__ float tile[32][32];         __shared__ float tile[32][32 + 1];
//! ```
//! ## How
//! The innermost extent of the declaration grows by one element. Every access goes through the subscripts, so the
//! compiler recomputes the addresses; no other line changes.
//!
//! ## Limits
//! Tiles declared with their extents and used through full subscripts only.

use crate::edit::Editor;
use crate::ir::ExprKind;
use crate::pass::{Broken, Pass};
use crate::skill::engine::{Proof, Site};

pub struct PadShared;

impl Pass for PadShared {
    fn rewrite(&self, site: &Site, _proof: &Proof, edit: &mut Editor) -> Result<(), Broken> {
        let f = site.function();
        let tile = site.tile("t")?;
        let Some(Some(extent)) = tile.dims.last() else {
            return Err(Broken("the tile has no innermost extent".into()));
        };
        let extent = f.expr(*extent);
        let text = edit.text(extent.span);
        let additive = matches!(
            extent.kind,
            ExprKind::Int(_) | ExprKind::Name(_) | ExprKind::Var(_) | ExprKind::Call { .. } | ExprKind::SizeOf(_)
        ) || matches!(
            extent.kind,
            ExprKind::Binary { op: crate::ir::BinaryOp::Add | crate::ir::BinaryOp::Mul | crate::ir::BinaryOp::Sub, .. }
        );
        let padded = if additive { format!("{text} + 1") } else { format!("({text}) + 1") };
        edit.replace(extent.span, &padded);
        Ok(())
    }
}
