//! Notes to an observer.

use std::sync::PoisonError;

use super::print::argument;
use crate::ptx::decode::op::Inst;
use crate::ptx::machine::context::Context;
use crate::ptx::machine::observe::Note;
use crate::ptx::machine::regs::lanes;
use crate::ptx::machine::warp::{Group, Warp};

/// `__kopt_note(id, value, what)`. Lanes that call it from one place may differ in `id` only where the compiler joined
/// two calls; each number is told on its own then.
pub(super) fn note(ctx: &Context, w: &Warp, g: &Group, i: &Inst, m: u32) {
    let Some(observer) = ctx.observer else { return };
    let mut observer = observer.lock().unwrap_or_else(PoisonError::into_inner);
    let of = |n, size, lane| argument(ctx, w, g, i.m, n, size, lane);
    let mut values = [0; 32];
    lanes(m).for_each(|lane| values[lane] = of(1, 8, lane));
    let mut left = m;
    while left != 0 {
        let first = left.trailing_zeros() as usize;
        let (id, what) = (of(0, 4, first) as u32, of(2, 4, first) as u32);
        let same = lanes(left).filter(|l| of(0, 4, *l) as u32 == id && of(2, 4, *l) as u32 == what);
        let own = same.fold(0, |mask, lane| mask | 1 << lane);
        observer.note(&Note { block: ctx.block, warp: w.index, lanes: own, id, values: &values, what });
        left &= !own;
    }
}
