//! Operands to register indices.

use super::op::{Inst, NEGATED, Op, SINK, SINK_PRED};
use super::program::{Special, Value};
use super::scope::{Entry, Reg};
use super::{Decoded, Decoder};
use crate::ptx::ast::*;

/// The parts of an address: a base register (64-bit if `wide`), an offset, and whether the frame base is added.
#[derive(Debug, Clone, Copy)]
pub(super) struct Address {
    pub base: u16,
    pub wide: bool,
    pub offset: i32,
    pub frame: bool,
    /// A kernel parameter.
    pub param: bool,
}

impl<'a> Decoder<'a> {
    pub fn operand(&self, i: &'a Instruction, index: usize) -> Decoded<&'a Operand> {
        match i.operands.get(index) {
            Some(operand) => Ok(operand),
            None => self.invalid(format!("operand {} is missing", index + 1)),
        }
    }

    pub fn expect_operands(&self, i: &Instruction, least: usize, most: usize) -> Decoded<()> {
        if (least..=most).contains(&i.operands.len()) {
            return Ok(());
        }
        self.invalid(format!("{} operands", i.operands.len()))
    }

    /// A register that holds a value from the start of a warp.
    pub fn value32(&mut self, value: Value) -> Decoded<u16> {
        if let Some(register) = self.constants32.get(&value) {
            return Ok(*register);
        }
        let register = match self.new_register(Type::B32)? {
            Reg::Word(register, _) => register,
            _ => SINK,
        };
        self.constants32.insert(value, register);
        self.program.values32.push((register, value));
        Ok(register)
    }

    pub fn value64(&mut self, value: Value) -> Decoded<u16> {
        if let Some(register) = self.constants64.get(&value) {
            return Ok(*register);
        }
        let register = match self.new_register(Type::B64)? {
            Reg::Wide(register) => register,
            _ => SINK,
        };
        self.constants64.insert(value, register);
        self.program.values64.push((register, value));
        Ok(register)
    }

    fn special(&self, name: &str) -> Decoded<Option<Special>> {
        let axis = |text: &str| match text {
            "x" => Some(0),
            "y" => Some(1),
            "z" => Some(2),
            _ => None,
        };
        if let Some((base, component)) = name.split_once('.')
            && let Some(axis) = axis(component)
        {
            return Ok(match base {
                "%tid" => Some(Special::Tid(axis)),
                "%ntid" => Some(Special::Ntid(axis)),
                "%ctaid" => Some(Special::Ctaid(axis)),
                "%nctaid" => Some(Special::Nctaid(axis)),
                // Without clusters each block is a cluster of its own.
                "%clusterid" => Some(Special::Ctaid(axis)),
                "%nclusterid" => Some(Special::Nctaid(axis)),
                "%cluster_ctaid" => Some(Special::Zero),
                _ => None,
            });
        }
        Ok(Some(match name {
            "%laneid" => Special::Lane,
            "%warpid" => Special::Warp,
            "%nwarpid" => Special::Warps,
            "%lanemask_eq" => Special::MaskEq,
            "%lanemask_lt" => Special::MaskLt,
            "%lanemask_le" => Special::MaskLe,
            "%lanemask_gt" => Special::MaskGt,
            "%lanemask_ge" => Special::MaskGe,
            "%dynamic_smem_size" => Special::DynamicShared,
            "%total_smem_size" => Special::TotalShared,
            // What the library of cooperative groups keeps the barriers of tiles of more than a warp in.
            "%reserved_smem_offset_1" => Special::ReservedShared,
            // The address of the words by which a grid meets: its upper half and its lower one.
            "%envreg1" => Special::Workspace(1),
            "%envreg2" => Special::Workspace(0),
            // One multiprocessor runs everything.
            "%gridid" | "%cluster_ctarank" | "%smid" => Special::Zero,
            _ => return Ok(None),
        }))
    }

    fn literal(&self, operand: &Operand, ty: Type) -> Option<u64> {
        let float32 = matches!(ty, Type::F32 | Type::Tf32);
        Some(match *operand {
            Operand::Int(value) if ty == Type::F64 => (value as f64).to_bits(),
            Operand::Int(value) if float32 => u64::from((value as f32).to_bits()),
            Operand::Int(value) => value as u64,
            Operand::F32(bits) if ty == Type::F64 => f64::from(f32::from_bits(bits)).to_bits(),
            Operand::F32(bits) => u64::from(bits),
            Operand::F64(bits) if float32 => u64::from((f64::from_bits(bits) as f32).to_bits()),
            Operand::F64(bits) => bits,
            _ => return None,
        })
    }

    /// A source in the 32-bit file; immediates are cut to the type's width.
    pub fn src32(&mut self, operand: &Operand, ty: Type) -> Decoded<u16> {
        if let Some(bits) = self.literal(operand, ty) {
            let mask = if ty.bytes() >= 4 { u32::MAX } else { (1 << (8 * ty.bytes())) - 1 };
            return self.value32(Value::Bits(u64::from(bits as u32 & mask)));
        }
        match *operand {
            Operand::Name(name) => match self.register(name)? {
                Some(Reg::Word(register, _)) => Ok(register),
                // Wider registers are not sources of narrower operations; clocks are read as 32 bits.
                Some(_) => self.invalid(format!("`{}` has another width", self.module.name(name))),
                None => self.named32(name, 0),
            },
            Operand::Offset(name, offset) => self.named32(name, offset),
            Operand::Sink => Ok(SINK),
            _ => self.invalid("operand of another kind expected"),
        }
    }

    fn named32(&mut self, name: Symbol, offset: i64) -> Decoded<u16> {
        let text = self.module.name(name);
        if let Some(special) = self.special(text)? {
            return self.value32(Value::Special(special));
        }
        match self.address_value(name, offset)? {
            Some(Value::Bits(bits)) => return self.value32(Value::Bits(bits & 0xffff_ffff)),
            Some(value) => return self.value32(value),
            None => {}
        }
        if text.starts_with('%') {
            return self.unsupported(&format!("register `{text}`"));
        }
        self.invalid(format!("`{text}` is not declared"))
    }

    /// A source in the 64-bit file. 32-bit special registers are widened.
    pub fn src64(&mut self, operand: &Operand, ty: Type) -> Decoded<u16> {
        if let Some(bits) = self.literal(operand, ty) {
            return self.value64(Value::Bits(bits));
        }
        match *operand {
            Operand::Name(name) => match self.register(name)? {
                Some(Reg::Wide(register)) => Ok(register),
                Some(_) => self.invalid(format!("`{}` has another width", self.module.name(name))),
                None => self.named64(name, 0),
            },
            Operand::Offset(name, offset) => self.named64(name, offset),
            Operand::Sink => Ok(SINK),
            _ => self.invalid("operand of another kind expected"),
        }
    }

    fn named64(&mut self, name: Symbol, offset: i64) -> Decoded<u16> {
        let text = self.module.name(name);
        if let Some(special) = self.special(text)? {
            return self.value64(Value::Special(special));
        }
        if let Some(value) = self.address_value(name, offset)? {
            return self.value64(value);
        }
        if text.starts_with('%') {
            return self.unsupported(&format!("register `{text}`"));
        }
        self.invalid(format!("`{text}` is not declared"))
    }

    /// A source predicate; `!p` is allowed.
    pub fn srcp(&mut self, operand: &Operand) -> Decoded<u16> {
        match *operand {
            Operand::Name(name) => self.predicate(name),
            Operand::Not(name) => Ok(self.predicate(name)? | NEGATED),
            Operand::Int(value) => Ok(if value != 0 { 0 } else { NEGATED }),
            _ => self.invalid("a predicate is expected"),
        }
    }

    pub fn dst32(&mut self, operand: &Operand) -> Decoded<u16> {
        match *operand {
            Operand::Name(name) => match self.register(name)? {
                Some(Reg::Word(register, _)) => Ok(register),
                _ => self.invalid(format!("`{}` is no 32-bit register", self.module.name(name))),
            },
            Operand::Sink => Ok(SINK),
            _ => self.invalid("a register is expected"),
        }
    }

    pub fn dst64(&mut self, operand: &Operand) -> Decoded<u16> {
        match *operand {
            Operand::Name(name) => match self.register(name)? {
                Some(Reg::Wide(register)) => Ok(register),
                _ => self.invalid(format!("`{}` is no 64-bit register", self.module.name(name))),
            },
            Operand::Sink => Ok(SINK),
            _ => self.invalid("a register is expected"),
        }
    }

    pub fn dstp(&mut self, operand: &Operand) -> Decoded<u16> {
        match *operand {
            Operand::Name(name) => self.predicate(name),
            Operand::Sink => Ok(SINK_PRED),
            _ => self.invalid("a predicate is expected"),
        }
    }

    /// Whether the operand is a register of the 64-bit file.
    pub fn is_wide(&mut self, operand: &Operand) -> Decoded<bool> {
        match *operand {
            Operand::Name(name) => Ok(matches!(self.register(name)?, Some(Reg::Wide(_) | Reg::Quad(..)))),
            _ => Ok(false),
        }
    }

    pub fn src(&mut self, operand: &Operand, ty: Type) -> Decoded<u16> {
        if ty.bytes() == 8 { self.src64(operand, ty) } else { self.src32(operand, ty) }
    }

    pub fn dst(&mut self, operand: &Operand, ty: Type) -> Decoded<u16> {
        if ty.bytes() == 8 { self.dst64(operand) } else { self.dst32(operand) }
    }

    /// `[reg + n]`, `[variable + n]`, `[n]` in a state space.
    pub(super) fn address(&mut self, operand: &Operand, space: Space) -> Decoded<Address> {
        let Operand::Address(base, offset) = *operand else { return self.unsupported("this form of address") };
        let Ok(offset32) = i32::try_from(offset) else { return self.unsupported("an offset beyond 31 bits") };
        let mut address = Address { base: SINK, wide: true, offset: offset32, frame: false, param: false };
        let Some(name) = base else {
            address.base = self.value64(Value::Bits(0))?;
            return Ok(address);
        };
        match self.register(name)? {
            Some(Reg::Wide(register)) => address.base = register,
            Some(Reg::Word(register, 32)) => (address.base, address.wide) = (register, false),
            Some(_) => return self.invalid("the base of an address has 32 or 64 bits"),
            None => {
                if let Some(Entry::Frame(at)) = self.scope.get(name) {
                    address.base = self.value64(Value::Bits(0))?;
                    address.frame = true;
                    address.offset = self.sum(offset, i64::from(at))?;
                } else if space == Space::Param && self.in_kernel {
                    let text = self.module.name(name);
                    let Some(param) = self.program.params.iter().find(|p| p.name == text) else {
                        return self.invalid(format!("no parameter `{text}`"));
                    };
                    let at = i64::from(param.offset);
                    address.param = true;
                    address.base = self.value64(Value::Bits(0))?;
                    address.offset = self.sum(offset, at)?;
                } else if let Some(value) = self.address_value(name, 0)? {
                    address.base = self.value64(value)?;
                } else {
                    return self.invalid(format!("`{}` is not declared", self.module.name(name)));
                }
            }
        }
        Ok(address)
    }

    fn sum(&self, a: i64, b: i64) -> Decoded<i32> {
        match a.checked_add(b).and_then(|sum| i32::try_from(sum).ok()) {
            Some(sum) => Ok(sum),
            None => self.unsupported("an offset beyond 31 bits"),
        }
    }

    /// An instruction with two sources in the same file as the type.
    pub fn push2(&mut self, op: Op, i: &'a Instruction, d_type: Type, ty: Type) -> Decoded<bool> {
        self.expect_operands(i, 3, 3)?;
        let mut inst = Inst::new(op);
        inst.d = self.dst(&i.operands[0], d_type)?;
        inst.a = self.src(&i.operands[1], ty)?;
        inst.b = self.src(&i.operands[2], ty)?;
        self.push(inst)?;
        Ok(true)
    }

    pub fn push1(&mut self, op: Op, i: &'a Instruction, d_type: Type, ty: Type) -> Decoded<bool> {
        self.expect_operands(i, 2, 2)?;
        let mut inst = Inst::new(op);
        inst.d = self.dst(&i.operands[0], d_type)?;
        inst.a = self.src(&i.operands[1], ty)?;
        self.push(inst)?;
        Ok(true)
    }

    /// A list of registers for vectors: index in `Program::lists`.
    pub fn list(&mut self, registers: &[u16]) -> i32 {
        self.program.lists.extend_from_slice(registers);
        (self.program.lists.len() - registers.len()) as i32
    }
}
