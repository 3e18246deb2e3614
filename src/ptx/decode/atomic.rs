//! `atom` and `red`.
//!
//! `m`: bits 0-4 operation, 5-7 type, 8-9 space (generic, global, shared), 10 result wanted, 11 64-bit base,
//! 12 acquire, 13 frame, 14 release, 15 scope of the block, 16-18 log2 bytes.

use super::memory::is_hint;
use super::mods::Mods;
use super::op::*;
use super::{Decoded, Decoder};
use crate::ptx::ast::*;

pub(crate) const ACQUIRE: u32 = 1 << 12;
pub(crate) const RELEASE: u32 = 1 << 14;
pub(crate) const NEAR: u32 = 1 << 15;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum AtomicOp {
    Add,
    Min,
    Max,
    Inc,
    Dec,
    And,
    Or,
    Xor,
    Exch,
    Cas,
}

pub(crate) const ATOMIC_OPS: [(&str, AtomicOp); 10] = [
    ("add", AtomicOp::Add),
    ("min", AtomicOp::Min),
    ("max", AtomicOp::Max),
    ("inc", AtomicOp::Inc),
    ("dec", AtomicOp::Dec),
    ("and", AtomicOp::And),
    ("or", AtomicOp::Or),
    ("xor", AtomicOp::Xor),
    ("exch", AtomicOp::Exch),
    ("cas", AtomicOp::Cas),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum AtomicType {
    Unsigned,
    Signed,
    F32,
    F64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
}

pub(crate) const ATOMIC_TYPES: [AtomicType; 8] = {
    use AtomicType::*;
    [Unsigned, Signed, F32, F64, F16, F16x2, Bf16, Bf16x2]
};

impl<'a> Decoder<'a> {
    pub(super) fn atomic(&mut self, m: &mut Mods, i: &'a Instruction) -> Decoded<bool> {
        if m.base != "atom" && m.base != "red" || m.whole.contains(".async") {
            return Ok(false);
        }
        let reduction = m.base == "red";
        let order = m.one_of(&["relaxed", "acquire", "release", "acq_rel"]);
        let near = m.flag("cta");
        let space = match m.one_of(&["global", "shared", "shared::cta"]) {
            None => 0,
            Some("global") => 1,
            Some(_) => 2,
        };
        let Some(name) = m.take_map(|part| ATOMIC_OPS.iter().find(|o| o.0 == part).copied()) else { return Ok(false) };
        m.flag("noftz");
        let Some(ty) = m.ty() else { return Ok(false) };
        m.skip(|part| part != "nc" && is_hint(part));
        let kind = match ty {
            Type::F32 => AtomicType::F32,
            Type::F64 => AtomicType::F64,
            Type::F16 => AtomicType::F16,
            Type::F16x2 => AtomicType::F16x2,
            Type::Bf16 => AtomicType::Bf16,
            Type::Bf16x2 => AtomicType::Bf16x2,
            Type::B128 => return self.unsupported("128-bit atomics"),
            _ if ty.is_signed() => AtomicType::Signed,
            _ => AtomicType::Unsigned,
        };
        let float = ty.is_float();
        if float && !matches!(name.1, AtomicOp::Add | AtomicOp::Min | AtomicOp::Max) {
            return Ok(false);
        }
        if !float && ty.bytes() < 4 && name.1 != AtomicOp::Cas {
            return Ok(false);
        }
        let first = usize::from(!reduction);
        let cas = name.1 == AtomicOp::Cas;
        let operands = first + 2 + usize::from(cas);
        self.expect_operands(i, operands, operands + 1)?;
        let space_kind = [Space::Generic, Space::Global, Space::Shared][space];
        let address = self.address(&i.operands[first], space_kind)?;
        let mut inst = Inst::new(Op::Atomic);
        (inst.a, inst.off) = (address.base, address.offset);
        inst.b = self.src(&i.operands[first + 1], ty)?;
        if cas {
            inst.c = self.src(&i.operands[first + 2], ty)?;
        }
        let mut wanted = !reduction;
        if !reduction {
            inst.d = self.dst(&i.operands[0], ty)?;
            wanted = !matches!(i.operands[0], Operand::Sink) && self.is_read(&i.operands[0]);
        }
        inst.m = name.1 as u32
            | (kind as u32) << 5
            | (space as u32) << 8
            | u32::from(!reduction) << 10
            | u32::from(address.wide) << 11
            | if matches!(order, Some("acquire" | "acq_rel")) { ACQUIRE } else { 0 }
            | if matches!(order, Some("release" | "acq_rel")) { RELEASE } else { 0 }
            | if near { NEAR } else { 0 }
            | u32::from(address.frame) << 13
            | ty.bytes().trailing_zeros() << 16;
        if space != 2 {
            if wanted || float || cas || name.1 == AtomicOp::Exch || order.is_some_and(|o| o != "relaxed") {
                self.program.traits.ordered_atomics = true;
            }
            self.red_kinds.push((name.1 as u8, ty));
        }
        if order.is_some_and(|o| o != "relaxed") {
            self.program.traits.synchronises = true;
        }
        self.push(inst)?;
        Ok(true)
    }

    /// Whether any instruction of the function reads a register: an atomic whose result nobody reads is a reduction.
    pub(super) fn is_read(&mut self, register: &Operand) -> bool {
        let Operand::Name(name) = register else { return true };
        if self.mentions.is_empty() {
            self.mentions = vec![0; self.module.names.len()];
            for statement in self.body {
                if let Statement::Instruction(i) = statement {
                    i.operands.iter().for_each(|o| mention(o, &mut self.mentions));
                }
            }
        }
        self.mentions.get(name.0 as usize).is_none_or(|n| *n > 1)
    }
}

/// Counts the names in an operand.
fn mention(operand: &Operand, counts: &mut [u32]) {
    let mut add = |name: Symbol| {
        if let Some(count) = counts.get_mut(name.0 as usize) {
            *count += 1;
        }
    };
    match operand {
        Operand::Name(n) | Operand::Not(n) | Operand::Negated(n) | Operand::Offset(n, _) => add(*n),
        Operand::Address(Some(n), _) => add(*n),
        Operand::Pair(a, b) => {
            add(*a);
            add(*b);
        }
        Operand::Vector(list) | Operand::List(list) | Operand::Bracket(list) => {
            list.iter().for_each(|o| mention(o, counts));
        }
        _ => {}
    }
}
