//! `same_subscripts`: the only edit lengthens the rows of a tile's declaration, so the map from subscripts to places stays
//! one-to-one. All uses of the tile are full subscripts (asked again here) within its extents (a condition), so every
//! access reads and writes what it did, at the same place among the barriers.

use super::words::Words;
use crate::edit::Edit;
use crate::ir::ExprKind;
use crate::skill::engine::{Proof, Site};

pub fn check(site: &Site, _proof: &Proof, edits: &[Edit]) -> Result<(), String> {
    let f = site.function();
    let tile = site.tile("t").map_err(|broken| broken.0)?;
    let [edit] = edits else { return Err("more than one place changes".into()) };
    let extent = tile.dims.last().copied().flatten().ok_or("the tile has no innermost extent")?;
    if edit.span != f.expr(extent).span {
        return Err("something other than the innermost extent changes".into());
    }
    longer(&edit.text, site.text(edit.span), binds_tighter_than_plus(f.kind_of(extent)))?;
    let uses = f.exprs.iter().filter(|e| matches!(e.kind, ExprKind::Var(v) if v == tile.var)).count();
    let full =
        f.accesses.iter().filter(|a| a.base == tile.var && a.indices.len() == tile.dims.len() && !a.through_cast);
    if uses != full.count() {
        return Err("the tile has uses that are no full subscripts".into());
    }
    Ok(())
}

/// The new extent is the old one and a number that is not negative.
fn longer(new: &str, old: &str, plain: bool) -> Result<(), String> {
    let mut words = Words::new(new);
    if !(plain && words.takes(old)) {
        words.take("(")?;
        words.take(old)?;
        words.take(")")?;
    }
    words.take("+")?;
    let more = words.next();
    more.parse::<u32>().map_err(|_| format!("`{more}` is no number of elements"))?;
    words.end()
}

fn binds_tighter_than_plus(kind: &ExprKind) -> bool {
    use crate::ir::BinaryOp::*;
    match kind {
        ExprKind::Int(_) | ExprKind::Name(_) | ExprKind::Var(_) | ExprKind::Call { .. } | ExprKind::SizeOf(_) => true,
        ExprKind::Binary { op, .. } => matches!(op, Add | Sub | Mul | Div | Rem),
        _ => false,
    }
}
