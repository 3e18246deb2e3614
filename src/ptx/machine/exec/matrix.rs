//! Matrix instructions.

use crate::ptx::decode::op::Inst;
use crate::ptx::machine::context::{Config, Context};
use crate::ptx::machine::step::Next;
use crate::ptx::machine::warp::{Group, Warp};

pub(super) fn run<C: Config>(_: &mut Context, _: &mut Warp, _: &mut Group, _: &Inst, _: u32, _: u32) -> Next {
    Next::Go
}
