//! Operations among the lanes of a warp.

use super::mods::Mods;
use super::op::*;
use super::{Decoded, Decoder};
use crate::ptx::ast::*;

impl<'a> Decoder<'a> {
    pub(super) fn warp(&mut self, m: &mut Mods, i: &'a Instruction) -> Decoded<bool> {
        match m.base {
            "shfl" => self.shuffle(m, i),
            "vote" => self.vote(m, i),
            "match" => {
                let (Some(kind), true) = (m.one_of(&["any", "all"]), m.flag("sync")) else { return Ok(false) };
                let Some(ty) = m.ty() else { return Ok(false) };
                let mut inst = Inst::new(Op::Match);
                inst.m = u32::from(kind == "all") | u32::from(ty.bytes() == 8) << 1;
                let mut predicate = SINK_PRED;
                inst.d = match *self.operand(i, 0)? {
                    Operand::Pair(d, p) => {
                        predicate = self.predicate(p)?;
                        self.dst32(&Operand::Name(d))?
                    }
                    ref other => self.dst32(other)?,
                };
                inst.off = i32::from(predicate);
                inst.a = self.src(self.operand(i, 1)?, ty)?;
                inst.b = self.src32(self.operand(i, 2)?, Type::B32)?;
                self.push(inst)?;
                Ok(true)
            }
            "redux" => {
                if !m.flag("sync") {
                    return Ok(false);
                }
                let (Some(op), Some(ty)) = (m.one_of(&["add", "min", "max", "and", "or", "xor"]), m.ty()) else {
                    return Ok(false);
                };
                if ty.is_float() {
                    return Ok(false);
                }
                let code = ["add", "min", "max", "and", "or", "xor"].iter().position(|n| *n == op).unwrap_or(0);
                let mut inst = Inst::new(Op::Redux);
                inst.m = code as u32 | u32::from(ty.is_signed()) << 3;
                inst.d = self.dst32(self.operand(i, 0)?)?;
                inst.a = self.src32(self.operand(i, 1)?, ty)?;
                inst.b = self.src32(self.operand(i, 2)?, Type::B32)?;
                self.push(inst)?;
                Ok(true)
            }
            "activemask" => {
                let Some(Type::B32) = m.ty() else { return Ok(false) };
                let mut inst = Inst::new(Op::ActiveMask);
                inst.d = self.dst32(self.operand(i, 0)?)?;
                self.push(inst)?;
                Ok(true)
            }
            "elect" => {
                if !m.flag("sync") {
                    return Ok(false);
                }
                let mut inst = Inst::new(Op::Elect);
                let Operand::Pair(d, p) = *self.operand(i, 0)? else { return Ok(false) };
                inst.d = if self.module.name(d) == "_" { SINK } else { self.dst32(&Operand::Name(d))? };
                inst.off = i32::from(self.predicate(p)?);
                inst.b = self.src32(self.operand(i, 1)?, Type::B32)?;
                self.push(inst)?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// `m`: bits 0-1 mode (up, down, bfly, idx), 2-3 reserved, high half the predicate; `off` the member mask register,
    /// -1 without `.sync`.
    fn shuffle(&mut self, m: &mut Mods, i: &'a Instruction) -> Decoded<bool> {
        let sync = m.flag("sync");
        let Some(mode) = m.one_of(&["up", "down", "bfly", "idx"]) else { return Ok(false) };
        let Some(Type::B32) = m.ty() else { return Ok(false) };
        self.expect_operands(i, if sync { 5 } else { 4 }, if sync { 5 } else { 4 })?;
        let mut inst = Inst::new(Op::Shuffle);
        let mut predicate = SINK_PRED;
        inst.d = match i.operands[0] {
            Operand::Pair(d, p) => {
                predicate = self.predicate(p)?;
                if self.module.name(d) == "_" { SINK } else { self.dst32(&Operand::Name(d))? }
            }
            ref other => self.dst32(other)?,
        };
        let code = ["up", "down", "bfly", "idx"].iter().position(|n| *n == mode).unwrap_or(0);
        inst.m = code as u32 | u32::from(predicate) << 16;
        inst.a = self.src32(&i.operands[1], Type::B32)?;
        inst.b = self.src32(&i.operands[2], Type::B32)?;
        inst.c = self.src32(&i.operands[3], Type::B32)?;
        inst.off = if sync { i32::from(self.src32(&i.operands[4], Type::B32)?) } else { -1 };
        self.push(inst)?;
        Ok(true)
    }

    /// `m`: bits 0-1 mode (all, any, uni, ballot); `b` member mask, `off` -1 without `.sync`.
    fn vote(&mut self, m: &mut Mods, i: &'a Instruction) -> Decoded<bool> {
        let sync = m.flag("sync");
        let Some(mode) = m.one_of(&["all", "any", "uni", "ballot"]) else { return Ok(false) };
        let Some(ty) = m.ty() else { return Ok(false) };
        if (mode == "ballot") != (ty == Type::B32) {
            return Ok(false);
        }
        let mut inst = Inst::new(Op::Vote);
        inst.m = ["all", "any", "uni", "ballot"].iter().position(|n| *n == mode).unwrap_or(0) as u32;
        let d = self.operand(i, 0)?;
        inst.d = if mode == "ballot" { self.dst32(d)? } else { self.dstp(d)? };
        inst.a = self.srcp(self.operand(i, 1)?)?;
        inst.off = -1;
        if sync {
            inst.b = self.src32(self.operand(i, 2)?, Type::B32)?;
            inst.off = 0;
        }
        self.push(inst)?;
        Ok(true)
    }
}
