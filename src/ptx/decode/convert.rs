//! `cvt`, `cvt.pack`.

use super::arithmetic::integer;
use super::mods::Mods;
use super::op::*;
use super::{Decoded, Decoder};
use crate::ptx::ast::*;
use crate::ptx::scalar::Rounding;
use crate::ptx::scalar::convert::{Clamp, fp8_format};
use crate::ptx::scalar::format::{BF16, F16, F32, F64, Format};

fn format(ty: Type) -> Option<Format> {
    Some(match ty {
        Type::F16 => F16,
        Type::Bf16 => BF16,
        Type::F32 => F32,
        Type::F64 => F64,
        _ => return None,
    })
}

impl<'a> Decoder<'a> {
    pub(super) fn convert(&mut self, m: &mut Mods, i: &'a Instruction) -> Decoded<bool> {
        if m.base != "cvt" {
            return Ok(false);
        }
        let integral = m.integer_rounding();
        let rounding = m.rounding();
        let (ftz, sat) = (m.flag("ftz"), m.flag("sat"));
        let clamp = Clamp { relu: m.flag("relu"), satfinite: m.flag("satfinite") };
        if let Some(name) = m.one_of(&["e4m3x2", "e5m2x2"]) {
            return self.convert_fp8(m, i, name, clamp);
        }
        let (Some(to), Some(from)) = (m.ty(), m.ty()) else { return Ok(false) };
        match to {
            Type::F16x2 | Type::Bf16x2 if from == Type::F32 && !sat && integral.is_none() => {
                let Some(rounding) = rounding else { return Ok(false) };
                let to = if to == Type::F16x2 { F16 } else { BF16 };
                return self.two(i, Scalar::PackHalf { to, rounding, clamp }, Type::B32, [from, from]);
            }
            Type::Tf32 if from == Type::F32 && !sat => {
                let Some(rounding) = rounding else { return Ok(false) };
                return self.one(i, Scalar::ToTf32(rounding, clamp), Type::B32, from);
            }
            _ => {}
        }
        if let (Some(from_int), Some(to_int)) = (integer(from), integer(to)) {
            if integral.is_some() || rounding.is_some() || ftz || clamp != Clamp::default() {
                return Ok(false);
            }
            return self.convert_integers(i, from, from_int, to_int, sat);
        }
        let what = match (format(from), integer(from), format(to), integer(to)) {
            (Some(from), _, None, Some(to)) => {
                if clamp != Clamp::default() || rounding.is_some() {
                    return Ok(false);
                }
                Scalar::FloatToInt { from, to, rounding: integral.unwrap_or(Rounding::Zero), ftz }
            }
            (None, Some(from), Some(to), _) => {
                if clamp != Clamp::default() || integral.is_some() {
                    return Ok(false);
                }
                Scalar::IntToFloat { from, to, rounding: rounding.unwrap_or(Rounding::NearestEven), saturate: sat }
            }
            (Some(from), _, Some(to), _) if from == to => {
                if clamp != Clamp::default() || rounding.is_some() {
                    return Ok(false);
                }
                match integral {
                    Some(rounding) => Scalar::Integral { format: to, rounding, ftz, saturate: sat },
                    None => {
                        Scalar::FloatToFloat { from, to, rounding: Rounding::NearestEven, clamp, ftz, saturate: sat }
                    }
                }
            }
            (Some(from), _, Some(to), _) if integral.is_none() => {
                let rounding = rounding.unwrap_or(Rounding::NearestEven);
                Scalar::FloatToFloat { from, to, rounding, clamp, ftz, saturate: sat }
            }
            _ => return Ok(false),
        };
        // A wider register than the type is allowed: the result is extended into it.
        let wide_d = self.is_wide(self.operand(i, 0)?)?;
        let d_type = if wide_d && to.bytes() < 8 { if to.is_signed() { Type::S64 } else { Type::U64 } } else { to };
        self.expect_operands(i, 2, 2)?;
        let mut inst = Inst::new(Op::Scalar);
        inst.d = self.dst(&i.operands[0], d_type)?;
        inst.a = self.source_of_convert(&i.operands[1], from)?;
        let hot = match what {
            Scalar::FloatToInt { from: F32, to, rounding: Rounding::Zero, ftz: false }
                if to.bits == 32 && to.signed =>
            {
                Some(Op::F32ToS32)
            }
            Scalar::IntToFloat { from, to: F32, rounding: Rounding::NearestEven, saturate: false }
                if from.bits == 32 =>
            {
                Some(if from.signed { Op::S32ToF32 } else { Op::U32ToF32 })
            }
            Scalar::FloatToFloat { from: F32, to: F64, saturate: false, ftz: false, .. } => Some(Op::F32ToF64),
            Scalar::FloatToFloat {
                from: F64,
                to: F32,
                rounding: Rounding::NearestEven,
                saturate: false,
                ftz: false,
                ..
            } => Some(Op::F64ToF32),
            Scalar::FloatToFloat { from: F16, to: F32, saturate: false, ftz: false, .. } => Some(Op::F16ToF32),
            Scalar::FloatToFloat {
                from: F32,
                to: F16,
                rounding: Rounding::NearestEven,
                saturate: false,
                ftz: false,
                clamp,
            } => (clamp == Clamp::default()).then_some(Op::F32ToF16),
            _ => None,
        };
        match hot.filter(|_| d_type == to) {
            Some(op) => inst.op = op,
            None => {
                let from_wide = from.bytes() == 8;
                let mask = self.register_mask(&i.operands[0])?;
                inst.m = self.scalar(what, d_type.bytes() == 8, [from_wide, false, false], mask);
            }
        }
        self.push(inst)?;
        Ok(true)
    }

    /// The source of `cvt` may be wider than its type: a 64-bit register is cut first.
    fn source_of_convert(&mut self, operand: &Operand, from: Type) -> Decoded<u16> {
        if from.bytes() < 8 && self.is_wide(operand)? {
            return self.unsupported("cvt from a register wider than its type");
        }
        self.src(operand, from)
    }

    fn convert_integers(
        &mut self,
        i: &'a Instruction,
        from: Type,
        from_int: crate::ptx::scalar::Integer,
        to_int: crate::ptx::scalar::Integer,
        sat: bool,
    ) -> Decoded<bool> {
        self.expect_operands(i, 2, 2)?;
        let wide_d = self.is_wide(&i.operands[0])?;
        let wide_a = self.is_wide(&i.operands[1])? || from.bytes() == 8;
        let mut inst = Inst::new(Op::Scalar);
        inst.d = if wide_d { self.dst64(&i.operands[0])? } else { self.dst32(&i.operands[0])? };
        let a_type = if wide_a { Type::B64 } else { from };
        inst.a = self.src(&i.operands[1], a_type)?;
        let literal = !matches!(i.operands[1], Operand::Name(_));
        inst.op = match (from_int.bits, from_int.signed, to_int.bits) {
            _ if sat || literal => Op::Scalar,
            (32, false, 64) if !wide_a && wide_d => Op::ZeroExtend,
            (32, true, 64) if !wide_a && wide_d => Op::SignExtend,
            (64, _, 32) if wide_a && !wide_d => Op::Truncate,
            (32, _, 32) if !wide_a && !wide_d => Op::Mov32,
            (64, _, 64) if wide_a && wide_d => Op::Mov64,
            _ => Op::Scalar,
        };
        if inst.op == Op::Scalar {
            let mask = self.register_mask(&i.operands[0])?;
            let what = Scalar::IntToInt { from: from_int, to: to_int, saturate: sat };
            inst.m = self.scalar(what, wide_d, [wide_a, false, false], mask);
        }
        self.push(inst)?;
        Ok(true)
    }

    /// An extended value is kept up to the width of its register.
    fn register_mask(&mut self, operand: &Operand) -> Decoded<u64> {
        let own = match operand {
            Operand::Name(name) => self.register(*name)?,
            _ => None,
        };
        Ok(match own {
            Some(super::scope::Reg::Word(_, bits)) => (1 << bits) - 1,
            _ => u64::MAX,
        })
    }

    fn convert_fp8(&mut self, m: &mut Mods, i: &'a Instruction, name: &str, clamp: Clamp) -> Decoded<bool> {
        let Some(small) = fp8_format(name) else { return Ok(false) };
        let Some(ty) = m.ty() else { return Ok(false) };
        // The order of the two types tells the direction.
        let to_small = m.whole.find(name) < m.whole.find(if ty == Type::F32 { ".f32" } else { ".f16x2" });
        match (ty, to_small) {
            (Type::F32, true) if clamp.satfinite => {
                self.two(i, Scalar::PackFp8 { to: small, relu: clamp.relu }, Type::B16, [ty, ty])
            }
            (Type::F16x2, true) if clamp.satfinite => {
                self.one(i, Scalar::PackFp8FromHalf { to: small, relu: clamp.relu }, Type::B16, ty)
            }
            (Type::F16x2, false) if !clamp.satfinite => {
                self.one(i, Scalar::UnpackFp8 { from: small, relu: clamp.relu }, ty, Type::B16)
            }
            _ => Ok(false),
        }
    }
}
