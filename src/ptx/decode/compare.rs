//! `selp`, `setp`, `set`.

use super::arithmetic::integer;
use super::mods::Mods;
use super::op::*;
use super::{Decoded, Decoder};
use crate::ptx::ast::*;
use crate::ptx::scalar::{Comparison, Half, Integer};

impl<'a> Decoder<'a> {
    pub(super) fn selp(&mut self, m: &mut Mods, i: &'a Instruction) -> Decoded<bool> {
        let Some(ty) = m.ty() else { return Ok(false) };
        self.expect_operands(i, 4, 4)?;
        let mut inst = Inst::new(if ty.bytes() == 8 { Op::Select64 } else { Op::Select32 });
        inst.d = self.dst(&i.operands[0], ty)?;
        inst.a = self.src(&i.operands[1], ty)?;
        inst.b = self.src(&i.operands[2], ty)?;
        inst.c = self.srcp(&i.operands[3])?;
        self.push(inst)?;
        Ok(true)
    }

    fn comparison(&mut self, m: &mut Mods, ty: Type) -> Option<(Op, Comparison, Compared)> {
        let mut signed = ty.is_signed();
        let comparison = m.take_map(|part| {
            // `lo ls hi hs` compare as unsigned.
            if matches!(part, "lo" | "ls" | "hi" | "hs") {
                signed = false;
            }
            Comparison::parse(part)
        })?;
        let ftz = m.flag("ftz");
        let half = |half| (Op::SetpOther, Compared::Half(half, ftz));
        let (op, compared) = match ty {
            Type::F32 => (if ftz { Op::SetpOther } else { Op::SetpF32 }, Compared::F32 { ftz }),
            Type::F64 => (Op::SetpF64, Compared::F64),
            Type::F16 => half(Half::F16),
            Type::Bf16 => half(Half::Bf16),
            Type::F16x2 => (Op::SetpHalf2, Compared::Half(Half::F16, ftz)),
            Type::Bf16x2 => (Op::SetpHalf2, Compared::Half(Half::Bf16, ftz)),
            _ => {
                let int = integer(ty)?;
                let op = match (int.bits, signed) {
                    (32, false) => Op::SetpU32,
                    (32, true) => Op::SetpS32,
                    (64, false) => Op::SetpU64,
                    (64, true) => Op::SetpS64,
                    _ => Op::SetpOther,
                };
                (op, Compared::Int(Integer::new(int.bits, signed)))
            }
        };
        Some((op, comparison, compared))
    }

    /// `setp` into `d` (and `q`). `m`: bits 0-3 comparison, 4-5 combination (none, and, or, xor); `c` the combined
    /// predicate; `off`: low half the second destination, for `SetpOther` and `SetpHalf2` the scalar above it.
    pub(super) fn setp(&mut self, m: &mut Mods, i: &'a Instruction) -> Decoded<bool> {
        let combine = m.one_of(&["and", "or", "xor"]);
        let Some(ty) = m.ty() else { return Ok(false) };
        let Some((op, comparison, compared)) = self.comparison(m, ty) else { return Ok(false) };
        self.expect_operands(i, if combine.is_some() { 4 } else { 3 }, if combine.is_some() { 4 } else { 3 })?;
        let (d, q) = match i.operands[0] {
            Operand::Pair(p, q) => {
                let sink = |name| self.module.name(name) == "_";
                let (no_p, no_q) = (sink(p), sink(q));
                (if no_p { SINK_PRED } else { self.predicate(p)? }, if no_q { SINK_PRED } else { self.predicate(q)? })
            }
            ref other => (self.dstp(other)?, SINK_PRED),
        };
        self.compare(i, op, comparison, compared, ty, (d, q), combine)?;
        Ok(true)
    }

    #[allow(clippy::too_many_arguments)]
    fn compare(
        &mut self,
        i: &'a Instruction,
        op: Op,
        comparison: Comparison,
        compared: Compared,
        ty: Type,
        (d, q): (u16, u16),
        combine: Option<&str>,
    ) -> Decoded<()> {
        let mut inst = Inst::new(op);
        inst.d = d;
        inst.a = self.src(&i.operands[1], ty)?;
        inst.b = self.src(&i.operands[2], ty)?;
        let combination = match combine {
            None => 0,
            Some("and") => 1,
            Some("or") => 2,
            Some(_) => 3,
        };
        if combine.is_some() {
            inst.c = self.srcp(self.operand(i, 3)?)?;
        }
        inst.m = comparison as u32 | combination << 4 | u32::from(q) << 16;
        if matches!(op, Op::SetpOther | Op::SetpHalf2) {
            let wide = ty.bytes() == 8;
            inst.off = self.scalar(Scalar::Compare(comparison, compared), false, [wide, wide, false], 1) as i32;
        }
        self.push(inst)
    }

    /// `set`: a comparison into a temporary predicate, then a selection of all ones or 1.0.
    pub(super) fn set(&mut self, m: &mut Mods, i: &'a Instruction) -> Decoded<bool> {
        let combine = m.one_of(&["and", "or", "xor"]);
        let (Some(result), Some(ty)) = (m.ty(), m.ty()) else { return Ok(false) };
        let Some((op, comparison, compared)) = self.comparison(m, ty) else { return Ok(false) };
        let one: u64 = match result {
            Type::F32 => 0x3f80_0000,
            Type::F16 => 0x3c00,
            Type::Bf16 => 0x3f80,
            Type::U32 | Type::S32 | Type::B32 => 0xffff_ffff,
            Type::U16 | Type::S16 | Type::B16 => 0xffff,
            Type::F16x2 => 0x3c00,
            Type::Bf16x2 => 0x3f80,
            _ => return Ok(false),
        };
        let packed = op == Op::SetpHalf2;
        let operands = if combine.is_some() { 4 } else { 3 };
        self.expect_operands(i, operands, operands)?;
        let one = if packed && result.bytes() == 4 { one & 0xffff } else { one };
        let (low, high) = (self.temporary_predicate()?, self.temporary_predicate()?);
        self.compare(i, op, comparison, compared, ty, (low, if packed { high } else { SINK_PRED }), combine)?;
        let mut inst = Inst::new(Op::Select32);
        inst.d = self.dst32(&i.operands[0])?;
        inst.a = self.value32(super::Value::Bits(one))?;
        inst.b = self.value32(super::Value::Bits(0))?;
        inst.c = low;
        if !packed {
            self.push(inst)?;
            return Ok(true);
        }
        let (d, halves) = (inst.d, [low, high]);
        let mut parts = [SINK; 2];
        for (part, predicate) in parts.iter_mut().zip(halves) {
            if let super::scope::Reg::Word(register, _) = self.new_register(Type::B32)? {
                *part = register;
            }
            (inst.d, inst.c) = (*part, predicate);
            self.push(inst)?;
        }
        let mut pack = Inst::new(Op::Pack32);
        (pack.d, pack.a, pack.b) = (d, parts[0], parts[1]);
        self.push(pack)?;
        Ok(true)
    }
}
