//! f16 and bf16 arithmetic, scalar and packed.

use super::mods::Mods;
use super::op::*;
use super::{Decoded, Decoder};
use crate::ptx::ast::*;
use crate::ptx::scalar::{Extreme, Half, HalfMode};

impl<'a> Decoder<'a> {
    /// Opcodes that exist for halves alone.
    pub(super) fn half(&mut self, _: &mut Mods, _: &'a Instruction) -> Decoded<bool> {
        Ok(false)
    }

    pub(super) fn half_arithmetic(&mut self, m: &mut Mods, i: &'a Instruction, ty: Type) -> Decoded<bool> {
        let packed = matches!(ty, Type::F16x2 | Type::Bf16x2);
        let half = if matches!(ty, Type::F16 | Type::F16x2) { Half::F16 } else { Half::Bf16 };
        m.flag("rn");
        let mode = HalfMode { ftz: m.flag("ftz"), sat: m.flag("sat"), relu: m.flag("relu") };
        let plain = !mode.sat && !mode.relu;
        let approx = m.flag("approx");
        match (m.base, approx) {
            ("add", false) => self.two(i, Scalar::HalfAdd(half, mode, packed), ty, [ty, ty]),
            ("sub", false) => self.two(i, Scalar::HalfSub(half, mode, packed), ty, [ty, ty]),
            ("mul", false) => self.two(i, Scalar::HalfMul(half, mode, packed), ty, [ty, ty]),
            ("fma", false) => self.three(i, Scalar::HalfFma(half, mode, packed), ty, [ty, ty, ty]),
            ("neg", false) if plain => self.one(i, Scalar::HalfNeg(half, mode.ftz, packed), ty, ty),
            ("abs", false) if plain => self.one(i, Scalar::HalfAbs(half, mode.ftz, packed), ty, ty),
            ("min" | "max", false) if plain => {
                let max = m.base == "max";
                let how = Extreme { max, nan: m.flag("NaN"), xorsign_abs: m.flag("xorsign"), ftz: mode.ftz };
                if how.xorsign_abs && !m.flag("abs") {
                    return Ok(false);
                }
                self.two(i, Scalar::HalfExtreme(half, how, packed), ty, [ty, ty])
            }
            ("ex2", true) if plain => self.one(i, Scalar::HalfEx2(half, mode.ftz, packed), ty, ty),
            ("tanh", true) if plain => self.one(i, Scalar::HalfTanh(half, packed), ty, ty),
            _ => Ok(false),
        }
    }
}
