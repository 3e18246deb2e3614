//! Loads, stores, prefetches, fences.
//!
//! `m` of loads and stores: bits 0-2 log2 of the element's bytes, 3 sign-extend, 4 registers are 64-bit, 5-8 elements,
//! 9 the base register has 64 bits, 10 strong (volatile, relaxed, acquire, release), 11 acquire or release,
//! 12 frame-relative, 13 16-bit registers, 15 volatile, 16 scope of the block, 17 tentative (`patterns`), 18 some of the
//! bytes are not used: `b` is the index of the mask of those that are.

use super::mods::Mods;
use super::op::*;
use super::scope::Reg;
use super::{Decoded, Decoder};
use crate::ptx::ast::*;

pub(crate) const SIGNED: u32 = 1 << 3;
pub(crate) const WIDE_REGS: u32 = 1 << 4;
pub(crate) const WIDE_BASE: u32 = 1 << 9;
pub(crate) const STRONG: u32 = 1 << 10;
pub(crate) const ORDERED: u32 = 1 << 11;
pub(crate) const FRAME: u32 = 1 << 12;
pub(crate) const SHORT_REGS: u32 = 1 << 13;
pub(crate) const VOLATILE: u32 = 1 << 15;
pub(crate) const NEAR: u32 = 1 << 16;
pub(crate) const TENTATIVE: u32 = 1 << 17;
pub(crate) const GAPS: u32 = 1 << 18;

/// Different masks of used bytes that a program may have; later ones are taken for all bytes.
const MASKS: usize = 1024;

/// Cache hints, scopes and weak ordering: no effect on what one block computes.
pub(super) fn is_hint(part: &str) -> bool {
    matches!(
        part,
        "weak" | "ca" | "cg" | "cs" | "lu" | "cv" | "wb" | "wt" | "nc" | "cta" | "gpu" | "sys" | "unified" | "cluster"
    ) || part.starts_with("L1::")
        || part.starts_with("L2::")
        || part.starts_with("level::")
}

impl<'a> Decoder<'a> {
    pub(super) fn memory(&mut self, m: &mut Mods, i: &'a Instruction) -> Decoded<bool> {
        match m.base {
            "ld" | "ldu" | "st" => self.load_store(m, i),
            "prefetch" | "prefetchu" | "applypriority" | "discard" | "createpolicy" => {
                if m.base == "createpolicy" {
                    return Ok(false);
                }
                m.skip(|_| true);
                self.push(Inst::new(Op::Nop))?;
                Ok(true)
            }
            "membar" | "fence" => {
                let wide = match m.one_of(&["cta", "gl", "gpu", "sys", "cluster"]) {
                    Some("cta") => 0,
                    Some(_) => 1,
                    // Orders the generic and the async proxies of this thread.
                    None if m.flag("proxy") => {
                        m.skip(|p| matches!(p, "async" | "alias" | "async::generic") || p.starts_with("async."));
                        m.skip(|p| matches!(p, "global" | "shared::cta"));
                        0
                    }
                    None => return Ok(false),
                };
                m.skip(|p| matches!(p, "sc" | "acq_rel" | "acquire" | "release" | "level"));
                let mut inst = Inst::new(Op::Fence);
                inst.m = wide;
                self.program.traits.synchronises = true;
                self.push(inst)?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn load_store(&mut self, m: &mut Mods, i: &'a Instruction) -> Decoded<bool> {
        let store = m.base == "st";
        let strong = m.one_of(&["volatile", "relaxed", "acquire", "release", "mmio"]);
        let near = strong.is_some() && m.flag("cta");
        let space = m.take_map(|part| {
            Some(match part {
                "global" => Space::Global,
                "const" => Space::Const,
                "shared" | "shared::cta" => Space::Shared,
                "local" => Space::Local,
                "param" | "param::entry" | "param::func" => Space::Param,
                _ => return None,
            })
        });
        let count = match m.one_of(&["v2", "v4", "v8"]) {
            Some("v2") => 2,
            Some("v4") => 4,
            Some(_) => 8,
            None => 1usize,
        };
        let Some(ty) = m.ty() else { return Ok(false) };
        m.skip(is_hint);
        let hinted = m.whole.contains("::cache_hint");
        let operands = if hinted { 3 } else { 2 };
        self.expect_operands(i, operands, operands)?;
        let (value, place) = if store { (&i.operands[1], &i.operands[0]) } else { (&i.operands[0], &i.operands[1]) };
        let space = space.unwrap_or(Space::Generic);
        let address = self.address(place, space)?;
        let mut inst = Inst::new(Op::Nop);
        (inst.a, inst.off) = (address.base, address.offset);
        let flag = |on: bool, bit: u32| if on { bit } else { 0 };
        inst.m = ty.bytes().trailing_zeros()
            | flag(ty.is_signed(), SIGNED)
            | (count as u32) << 5
            | flag(address.wide, WIDE_BASE)
            | flag(strong.is_some(), STRONG)
            | flag(matches!(strong, Some("acquire" | "release")), ORDERED)
            | flag(strong == Some("volatile"), VOLATILE)
            | flag(near, NEAR)
            | flag(address.frame, FRAME);
        inst.op = match (self.memory_op(store, space, address)?, strong) {
            (Op::LdGlobal, Some(_)) => Op::LdStrongGlobal,
            (Op::LdShared, Some(_)) => Op::LdStrongShared,
            (op, _) => op,
        };
        if ty == Type::B128 || ty == Type::Pred {
            return self.unsupported(&format!("`{}` of 128 bits", m.base));
        }
        let parts: &[Operand] = match value {
            Operand::Vector(parts) => parts,
            other => std::slice::from_ref(other),
        };
        if parts.len() != count {
            return self.invalid("the vector has another length than its modifier says");
        }
        let wide = if ty.bytes() == 8 { true } else { self.any_wide(parts)? };
        inst.m |= flag(wide, WIDE_REGS) | flag(self.any_short(parts)?, SHORT_REGS);
        let mut registers = vec![];
        for part in parts {
            registers.push(match (store, wide) {
                (true, true) => self.src64(part, if ty.bytes() == 8 { ty } else { Type::B64 })?,
                (true, false) => self.src32(part, ty)?,
                (false, true) => self.dst64(part)?,
                (false, false) => self.dst32(part)?,
            });
        }
        if count == 1 {
            if store { inst.b = registers[0] } else { inst.d = registers[0] }
        } else {
            let list = self.list(&registers);
            (inst.c, inst.d) = ((list >> 16) as u16, list as u16);
        }
        if !store && strong.is_none() && space != Space::Param {
            let used = self.used_bytes.or(m.whole.contains(".nc").then_some(0));
            self.gaps(&mut inst, used, ty.bytes(), parts);
        }
        if strong.is_some() && matches!(space, Space::Global | Space::Generic) {
            self.program.traits.volatile_global = true;
        }
        self.program.traits.synchronises |= inst.m & ORDERED != 0;
        self.push(inst)?;
        Ok(true)
    }

    /// What the compiler says of bytes that it loads beside those that the source asks for, to make one wide access of
    /// several (`.pragma "used_bytes_mask n"`). It is not believed of a whole element whose register the function names
    /// again: bytes of such a register are used.
    /// Loads through the read-only cache (`.nc`) lose the pragma on their way through the compiler: of them, elements are
    /// used whose registers are named again.
    fn gaps(&mut self, inst: &mut Inst, used: Option<u32>, size: u32, parts: &[Operand]) {
        let Some(mut used) = used else { return };
        let total = size * parts.len() as u32;
        if total > 32 {
            return;
        }
        let (all, element) = (u32::MAX >> (32 - total), u32::MAX >> (32 - size));
        for (n, part) in parts.iter().enumerate() {
            let bytes = element.checked_shl(n as u32 * size).unwrap_or(0);
            if used & bytes == 0 && !matches!(part, Operand::Sink) && self.is_read(part) {
                used |= bytes;
            }
        }
        used &= all;
        if used == 0 || used == all {
            return;
        }
        let masks = &mut self.program.used_bytes;
        let at = masks.iter().position(|m| *m == used).unwrap_or(masks.len());
        if at >= MASKS {
            return;
        }
        if at == masks.len() {
            masks.push(used);
        }
        inst.m |= GAPS;
        inst.b = at as u16;
    }

    fn memory_op(&self, store: bool, space: Space, address: super::operand::Address) -> Decoded<Op> {
        Ok(match (space, store) {
            (Space::Global | Space::Const, false) => Op::LdGlobal,
            (Space::Global, true) => Op::StGlobal,
            (Space::Shared, false) => Op::LdShared,
            (Space::Shared, true) => Op::StShared,
            (Space::Local, false) => Op::LdLocal,
            (Space::Local, true) => Op::StLocal,
            (Space::Param, false) if address.frame || !self.in_kernel => Op::LdLocal,
            (Space::Param, true) if address.frame || !self.in_kernel => Op::StLocal,
            (Space::Param, false) => Op::LdParam,
            (Space::Generic, false) => Op::LdGeneric,
            (Space::Generic, true) => Op::StGeneric,
            _ => return self.unsupported(&format!("a store to {space} memory")),
        })
    }

    fn any_wide(&mut self, parts: &[Operand]) -> Decoded<bool> {
        for part in parts {
            if self.is_wide(part)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn any_short(&mut self, parts: &[Operand]) -> Decoded<bool> {
        for part in parts {
            if let Operand::Name(name) = part
                && matches!(self.register(*name)?, Some(Reg::Word(_, 8 | 16)))
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
