//! `mma.sync`, `wmma`, `ldmatrix`, `stmatrix`, `movmatrix`.

use super::mods::Mods;
use super::{Decoded, Decoder};
use crate::ptx::ast::*;

/// Details of a matrix instruction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MatrixOp {}

impl<'a> Decoder<'a> {
    pub(super) fn matrix(&mut self, _: &mut Mods, _: &'a Instruction) -> Decoded<bool> {
        Ok(false)
    }
}
