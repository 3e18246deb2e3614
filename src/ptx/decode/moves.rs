//! `mov` with its packing forms, address conversions.

use super::mods::Mods;
use super::op::*;
use super::{Decoded, Decoder};
use crate::ptx::ast::*;

impl<'a> Decoder<'a> {
    pub(super) fn moves(&mut self, m: &mut Mods, i: &'a Instruction) -> Decoded<bool> {
        match m.base {
            "mov" => {
                let Some(ty) = m.ty() else { return Ok(false) };
                self.expect_operands(i, 2, 2)?;
                self.mov(i, ty)
            }
            "cvta" => {
                let to = m.flag("to");
                let space = m.one_of(&["global", "const", "shared", "shared::cta", "local", "param"]);
                let (Some(space), Some(ty)) = (space, m.ty()) else { return Ok(false) };
                if ty.bytes() != 8 {
                    return Ok(false);
                }
                self.expect_operands(i, 2, 2)?;
                self.cvta(i, to, space)
            }
            "isspacep" => {
                let space = match m.one_of(&["global", "const", "shared", "shared::cta", "local", "param"]) {
                    Some("global") => 0,
                    Some("const") => 1,
                    Some("shared" | "shared::cta") => 2,
                    Some("local") => 3,
                    Some(_) => 4,
                    None => return Ok(false),
                };
                let mut inst = Inst::new(Op::IsSpace);
                inst.d = self.dstp(self.operand(i, 0)?)?;
                inst.a = self.src64(self.operand(i, 1)?, Type::U64)?;
                inst.m = space;
                self.push(inst)?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn mov(&mut self, i: &'a Instruction, ty: Type) -> Decoded<bool> {
        let (to, from) = (&i.operands[0], &i.operands[1]);
        match (to, from) {
            (Operand::Vector(parts), source) => return self.unpack(parts, source, ty),
            (target, Operand::Vector(parts)) => return self.pack(target, parts, ty),
            _ => {}
        }
        if ty == Type::Pred {
            let mut inst = Inst::new(Op::MovPred);
            inst.d = self.dstp(to)?;
            inst.a = self.srcp(from)?;
            self.push(inst)?;
            return Ok(true);
        }
        if ty == Type::B128 {
            return Ok(false);
        }
        let wide = ty.bytes() == 8;
        if let Operand::Name(name) | Operand::Offset(name, _) = from {
            if let Some(at) = self.frame_offset(*name) {
                let offset = if let Operand::Offset(_, n) = from { *n } else { 0 };
                let d = if wide { self.dst64(to)? } else { self.dst32(to)? };
                self.frame_address(d, wide, i64::from(at).wrapping_add(offset))?;
                return Ok(true);
            }
            let text = self.module.name(*name);
            if let Some(param) = self.program.params.iter().find(|p| p.name == text)
                && self.in_kernel
                && wide
            {
                let offset = u64::from(param.offset);
                let mut inst = Inst::new(Op::Mov64);
                inst.d = self.dst64(to)?;
                inst.a = self.value64(super::Value::Bits(offset))?;
                self.push(inst)?;
                return Ok(true);
            }
            if matches!(
                text,
                "%clock" | "%clock_hi" | "%clock64" | "%globaltimer" | "%globaltimer_lo" | "%globaltimer_hi"
            ) {
                let mut inst = Inst::new(Op::Clock);
                inst.d = if wide { self.dst64(to)? } else { self.dst32(to)? };
                inst.m = u32::from(wide) | u32::from(text.ends_with("hi")) << 1;
                self.push(inst)?;
                return Ok(true);
            }
        }
        self.push1(if wide { Op::Mov64 } else { Op::Mov32 }, i, ty, ty)
    }

    fn pack(&mut self, target: &Operand, parts: &[Operand], ty: Type) -> Decoded<bool> {
        let mut inst = Inst::new(Op::Nop);
        match (ty.bytes(), parts) {
            (8, [a, b]) => {
                inst.op = Op::Pack64;
                inst.d = self.dst64(target)?;
                (inst.a, inst.b) = (self.src32(a, Type::B32)?, self.src32(b, Type::B32)?);
            }
            (4, [a, b]) => {
                inst.op = Op::Pack32;
                inst.d = self.dst32(target)?;
                (inst.a, inst.b) = (self.src32(a, Type::B16)?, self.src32(b, Type::B16)?);
            }
            (8, [a, b, c, d]) => {
                inst.op = Op::Pack4x16;
                inst.d = self.dst64(target)?;
                (inst.a, inst.b) = (self.src32(a, Type::B16)?, self.src32(b, Type::B16)?);
                inst.c = self.src32(c, Type::B16)?;
                inst.off = i32::from(self.src32(d, Type::B16)?);
            }
            _ => return self.unsupported("this packing of a mov"),
        }
        self.push(inst)?;
        Ok(true)
    }

    fn unpack(&mut self, parts: &[Operand], source: &Operand, ty: Type) -> Decoded<bool> {
        let mut inst = Inst::new(Op::Nop);
        match (ty.bytes(), parts) {
            (8, [a, b]) => {
                inst.op = Op::Unpack64;
                inst.a = self.src64(source, Type::B64)?;
                (inst.d, inst.b) = (self.dst32(a)?, self.dst32(b)?);
            }
            (4, [a, b]) => {
                inst.op = Op::Unpack32;
                inst.a = self.src32(source, Type::B32)?;
                (inst.d, inst.b) = (self.dst32(a)?, self.dst32(b)?);
            }
            (8, [a, b, c, d]) => {
                inst.op = Op::Unpack4x16;
                inst.a = self.src64(source, Type::B64)?;
                (inst.d, inst.b) = (self.dst32(a)?, self.dst32(b)?);
                inst.c = self.dst32(c)?;
                inst.off = i32::from(self.dst32(d)?);
            }
            _ => return self.unsupported("this unpacking of a mov"),
        }
        self.push(inst)?;
        Ok(true)
    }

    fn cvta(&mut self, i: &'a Instruction, to: bool, space: &str) -> Decoded<bool> {
        let window = match space {
            "shared" | "shared::cta" => crate::ptx::machine::SHARED_WINDOW,
            "local" => crate::ptx::machine::LOCAL_WINDOW,
            "param" => crate::ptx::machine::PARAM_WINDOW,
            _ => 0,
        };
        if let Operand::Name(name) = &i.operands[1]
            && let Some(at) = self.frame_offset(*name)
        {
            let d = self.dst64(&i.operands[0])?;
            self.frame_address(d, true, i64::from(at))?;
            let mut add = Inst::new(Op::Add64);
            (add.d, add.a) = (d, d);
            add.b = self.value64(super::Value::Bits(window))?;
            self.push(add)?;
            return Ok(true);
        }
        let mut inst = Inst::new(Op::Mov64);
        inst.d = self.dst64(&i.operands[0])?;
        inst.a = match &i.operands[1] {
            Operand::Name(name) if space == "param" && self.register(*name)?.is_none() && self.in_kernel => {
                let text = self.module.name(*name);
                let Some(param) = self.program.params.iter().find(|p| p.name == text) else { return Ok(false) };
                let offset = u64::from(param.offset);
                self.value64(super::Value::Bits(offset))?
            }
            other => self.src64(other, Type::U64)?,
        };
        if window != 0 {
            inst.op = if to { Op::Sub64 } else { Op::Add64 };
            inst.b = self.value64(super::Value::Bits(window))?;
        }
        self.push(inst)?;
        Ok(true)
    }
}
