//! Arithmetic in another precision.

use crate::ptx::decode::op::Inst;
use crate::ptx::machine::context::Context;
use crate::ptx::machine::warp::Warp;

/// True if the instruction was carried out here.
pub(crate) fn run(_: &mut Context, _: &mut Warp, _: &Inst, _: u32) -> bool {
    false
}
