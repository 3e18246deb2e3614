//! Integer, logic, f32 and f64 arithmetic, comparisons, selection.

use super::mods::Mods;
use super::op::*;
use super::{Decoded, Decoder};
use crate::ptx::ast::*;
use crate::ptx::scalar::bits::Permute;
use crate::ptx::scalar::{Integer, Property};

/// The integer type of a PTX type.
pub(super) fn integer(ty: Type) -> Option<Integer> {
    if ty.is_float() || ty == Type::Pred || ty == Type::B128 {
        return None;
    }
    Some(Integer::new(8 * ty.bytes(), ty.is_signed()))
}

fn width_mask(ty: Type) -> u64 {
    if ty.bytes() >= 8 { u64::MAX } else { (1 << (8 * ty.bytes())) - 1 }
}

/// The hot variants for 32 and 64 bits: (name, 32-bit unsigned, 32-bit signed, 64-bit unsigned, 64-bit signed).
fn hot_integer(op: IntOp, ty: Type) -> Option<Op> {
    use IntOp as I;
    let signed = ty.is_signed();
    Some(match (op, ty.bytes()) {
        (I::Add, 4) => Op::Add32,
        (I::Sub, 4) => Op::Sub32,
        (I::MulLo, 4) => Op::Mul32,
        (I::MulHi, 4) => [Op::MulHiU32, Op::MulHiS32][usize::from(signed)],
        (I::MulWide, 4) => [Op::MulWideU32, Op::MulWideS32][usize::from(signed)],
        (I::MadLo, 4) => Op::Mad32,
        (I::MadWide, 4) => [Op::MadWideU32, Op::MadWideS32][usize::from(signed)],
        (I::Min, 4) => [Op::MinU32, Op::MinS32][usize::from(signed)],
        (I::Max, 4) => [Op::MaxU32, Op::MaxS32][usize::from(signed)],
        (I::And, 4) => Op::And32,
        (I::Or, 4) => Op::Or32,
        (I::Xor, 4) => Op::Xor32,
        (I::Not, 4) => Op::Not32,
        (I::Neg, 4) => Op::Neg32,
        (I::Shl, 4) => Op::Shl32,
        (I::Shr, 4) => [Op::ShrU32, Op::ShrS32][usize::from(signed)],
        (I::Add, 8) => Op::Add64,
        (I::Sub, 8) => Op::Sub64,
        (I::MulLo, 8) => Op::Mul64,
        (I::MadLo, 8) => Op::Mad64,
        (I::And, 8) => Op::And64,
        (I::Or, 8) => Op::Or64,
        (I::Xor, 8) => Op::Xor64,
        (I::Not, 8) => Op::Not64,
        (I::Neg, 8) => Op::Neg64,
        (I::Shl, 8) => Op::Shl64,
        (I::Shr, 8) => [Op::ShrU64, Op::ShrS64][usize::from(signed)],
        _ => return None,
    })
}

impl<'a> Decoder<'a> {
    pub(super) fn arithmetic(&mut self, m: &mut Mods, i: &'a Instruction) -> Decoded<bool> {
        let base = m.base;
        if !matches!(
            base,
            "add"
                | "sub"
                | "mul"
                | "mad"
                | "fma"
                | "div"
                | "rem"
                | "min"
                | "max"
                | "abs"
                | "neg"
                | "and"
                | "or"
                | "xor"
                | "not"
                | "cnot"
                | "shl"
                | "shr"
                | "setp"
                | "set"
                | "selp"
                | "slct"
                | "sqrt"
                | "rcp"
                | "rsqrt"
                | "sin"
                | "cos"
                | "lg2"
                | "ex2"
                | "tanh"
                | "copysign"
                | "testp"
                | "sad"
                | "mul24"
                | "mad24"
                | "bfe"
                | "bfi"
                | "bfind"
                | "brev"
                | "clz"
                | "popc"
                | "prmt"
                | "lop3"
                | "shf"
                | "dp4a"
                | "dp2a"
                | "bmsk"
                | "szext"
                | "fns"
                | "addc"
                | "subc"
                | "madc"
                | "vabsdiff4"
        ) {
            return Ok(false);
        }
        match base {
            "setp" => return self.setp(m, i),
            "set" => return self.set(m, i),
            "selp" => return self.selp(m, i),
            "addc" | "subc" | "madc" => return self.carry(m, i),
            "add" | "sub" | "mad" if m.flag("cc") => return self.carry(m, i),
            "prmt" | "lop3" | "shf" | "dp4a" | "dp2a" | "bmsk" | "szext" | "fns" | "vabsdiff4" => {
                return self.special_integer(m, i);
            }
            "testp" => {
                let property = m.take_map(Property::parse);
                let (Some(property), Some(ty)) = (property, m.ty()) else { return Ok(false) };
                let what = if ty == Type::F64 { Scalar::TestD(property) } else { Scalar::TestF(property) };
                let index = self.scalar(what, false, [ty == Type::F64, false, false], u64::MAX);
                let mut inst = Inst::new(Op::SetpOther);
                inst.d = self.dstp(self.operand(i, 0)?)?;
                inst.a = self.src(self.operand(i, 1)?, ty)?;
                inst.m = 0;
                inst.off = index as i32;
                self.push(inst)?;
                return Ok(true);
            }
            _ => {}
        }
        let Some(ty) = m.ty() else { return Ok(false) };
        match ty {
            Type::F32 => self.single(m, i),
            Type::F64 => self.double(m, i),
            Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2 => self.half_arithmetic(m, i, ty),
            Type::Pred => {
                let op = match base {
                    "and" => Op::AndPred,
                    "or" => Op::OrPred,
                    "xor" => Op::XorPred,
                    "not" => Op::NotPred,
                    _ => return Ok(false),
                };
                let mut inst = Inst::new(op);
                inst.d = self.dstp(self.operand(i, 0)?)?;
                inst.a = self.srcp(self.operand(i, 1)?)?;
                if op != Op::NotPred {
                    inst.b = self.srcp(self.operand(i, 2)?)?;
                }
                self.push(inst)?;
                Ok(true)
            }
            _ => self.integer_op(m, i, ty),
        }
    }

    fn integer_op(&mut self, m: &mut Mods, i: &'a Instruction, ty: Type) -> Decoded<bool> {
        let Some(int) = integer(ty) else { return Ok(false) };
        let sat = m.flag("sat");
        let part = m.one_of(&["lo", "hi", "wide"]);
        use IntOp as I;
        let op = match (m.base, part, sat) {
            ("add", None, false) => I::Add,
            ("sub", None, false) => I::Sub,
            ("add", None, true) if ty == Type::S32 => I::AddSat,
            ("sub", None, true) if ty == Type::S32 => I::SubSat,
            ("mul", Some("lo"), false) => I::MulLo,
            ("mul", Some("hi"), false) => I::MulHi,
            ("mul", Some("wide"), false) if ty.bytes() < 8 => I::MulWide,
            ("mad", Some("lo"), false) => I::MadLo,
            ("mad", Some("hi"), false) => I::MadHi,
            ("mad", Some("hi"), true) if ty == Type::S32 => I::MadHiSat,
            ("mad", Some("wide"), false) if ty.bytes() < 8 => I::MadWide,
            ("mul24", Some("lo"), false) if ty.bytes() == 4 => I::Mul24Lo,
            ("mul24", Some("hi"), false) if ty.bytes() == 4 => I::Mul24Hi,
            ("mad24", Some("lo"), false) if ty.bytes() == 4 => I::Mad24Lo,
            ("mad24", Some("hi"), false) if ty.bytes() == 4 => I::Mad24Hi,
            ("mad24", Some("hi"), true) if ty == Type::S32 => I::Mad24HiSat,
            ("div", None, false) => I::Div,
            ("rem", None, false) => I::Rem,
            ("min", None, false) => I::Min,
            ("max", None, false) => I::Max,
            ("abs", None, false) => I::Abs,
            ("neg", None, false) => I::Neg,
            ("and", None, false) => I::And,
            ("or", None, false) => I::Or,
            ("xor", None, false) => I::Xor,
            ("not", None, false) => I::Not,
            ("cnot", None, false) => I::Cnot,
            ("shl", None, false) => I::Shl,
            ("shr", None, false) => I::Shr,
            ("sad", None, false) => I::Sad,
            ("bfe", None, false) => I::Bfe,
            ("bfi", None, false) => I::Bfi,
            ("bfind", None, false) => {
                if m.flag("shiftamt") {
                    I::BfindShift
                } else {
                    I::Bfind
                }
            }
            ("brev", None, false) => I::Brev,
            ("clz", None, false) => I::Clz,
            ("popc", None, false) => I::Popc,
            ("slct", None, false) => return self.slct(m, i, ty),
            _ => return Ok(false),
        };
        let (sources, types, result) = shape(op, ty);
        let operands = sources + 1 + usize::from(op == I::Bfi);
        self.expect_operands(i, operands, operands)?;
        let mut inst = Inst::new(Op::Scalar);
        inst.d = self.dst(&i.operands[0], result)?;
        inst.a = self.src(&i.operands[1], types[0])?;
        if sources > 1 {
            inst.b = self.src(&i.operands[2], types[1])?;
        }
        if sources > 2 {
            inst.c = self.src(&i.operands[3], types[2])?;
        }
        if op == I::Bfi {
            // bfi has a fourth source; it travels in `off`.
            inst.off = i32::from(self.src32(self.operand(i, 4)?, Type::U32)?);
        }
        match hot_integer(op, ty) {
            Some(hot) => inst.op = hot,
            None => {
                let wide = types.map(|t| t.bytes() == 8);
                inst.m = self.scalar(Scalar::Int(op, int), result.bytes() == 8, wide, width_mask(result));
            }
        }
        self.push(inst)?;
        Ok(true)
    }

    pub(super) fn slct(&mut self, m: &mut Mods, i: &'a Instruction, ty: Type) -> Decoded<bool> {
        let Some(selector) = m.ty() else { return Ok(false) };
        let ftz = m.flag("ftz");
        let what = match selector {
            Type::S32 if !ftz => Scalar::Int(IntOp::Slct, Integer::new(32, true)),
            Type::F32 => Scalar::SlctF,
            _ => return Ok(false),
        };
        self.three(i, what, ty, [ty, ty, selector])
    }

    /// A scalar operation with three sources of given types.
    pub(super) fn three(&mut self, i: &'a Instruction, what: Scalar, d: Type, types: [Type; 3]) -> Decoded<bool> {
        self.expect_operands(i, 4, 4)?;
        let mut inst = Inst::new(Op::Scalar);
        inst.d = self.dst(&i.operands[0], d)?;
        inst.a = self.src(&i.operands[1], types[0])?;
        inst.b = self.src(&i.operands[2], types[1])?;
        inst.c = self.src(&i.operands[3], types[2])?;
        inst.m = self.scalar(what, d.bytes() == 8, types.map(|t| t.bytes() == 8), width_mask(d));
        self.push(inst)?;
        Ok(true)
    }

    pub(super) fn two(&mut self, i: &'a Instruction, what: Scalar, d: Type, types: [Type; 2]) -> Decoded<bool> {
        self.expect_operands(i, 3, 3)?;
        let mut inst = Inst::new(Op::Scalar);
        inst.d = self.dst(&i.operands[0], d)?;
        inst.a = self.src(&i.operands[1], types[0])?;
        inst.b = self.src(&i.operands[2], types[1])?;
        let wide = [types[0].bytes() == 8, types[1].bytes() == 8, false];
        inst.m = self.scalar(what, d.bytes() == 8, wide, width_mask(d));
        self.push(inst)?;
        Ok(true)
    }

    pub(super) fn one(&mut self, i: &'a Instruction, what: Scalar, d: Type, ty: Type) -> Decoded<bool> {
        self.expect_operands(i, 2, 2)?;
        let mut inst = Inst::new(Op::Scalar);
        inst.d = self.dst(&i.operands[0], d)?;
        inst.a = self.src(&i.operands[1], ty)?;
        inst.m = self.scalar(what, d.bytes() == 8, [ty.bytes() == 8, false, false], width_mask(d));
        self.push(inst)?;
        Ok(true)
    }

    /// add/sub/mad with `.cc` or carry in. `m`: bits 0-1 kind (add, sub, mad.lo, mad.hi), 2 carry in, 3 carry out,
    /// 4 signed, 5 64-bit.
    fn carry(&mut self, m: &mut Mods, i: &'a Instruction) -> Decoded<bool> {
        let carry_in = m.base.ends_with('c');
        // `add.cc` had its flag taken; `addc` may still have one.
        let carry_out = !carry_in || m.flag("cc");
        let part = m.one_of(&["lo", "hi"]);
        let Some(ty) = m.ty() else { return Ok(false) };
        if !matches!(ty.bytes(), 4 | 8) || ty.is_float() {
            return Ok(false);
        }
        let mad = m.base.starts_with("mad");
        let kind = match (m.base, part) {
            ("add" | "addc", None) => 0,
            ("sub" | "subc", None) => 1,
            ("mad" | "madc", Some("lo")) => 2,
            ("mad" | "madc", Some("hi")) => 3,
            _ => return Ok(false),
        };
        self.expect_operands(i, if mad { 4 } else { 3 }, if mad { 4 } else { 3 })?;
        let mut inst = Inst::new(Op::Carry);
        inst.d = self.dst(&i.operands[0], ty)?;
        inst.a = self.src(&i.operands[1], ty)?;
        inst.b = self.src(&i.operands[2], ty)?;
        if mad {
            inst.c = self.src(&i.operands[3], ty)?;
        }
        inst.m = kind
            | u32::from(carry_in) << 2
            | u32::from(carry_out) << 3
            | u32::from(ty.is_signed()) << 4
            | u32::from(ty.bytes() == 8) << 5;
        self.push(inst)?;
        Ok(true)
    }

    fn special_integer(&mut self, m: &mut Mods, i: &'a Instruction) -> Decoded<bool> {
        use Type::*;
        let what = match m.base {
            "lop3" => return self.lop3(m, i),
            "shf" => {
                let (direction, mode) = (m.one_of(&["l", "r"]), m.one_of(&["wrap", "clamp"]));
                let (Some(direction), Some(mode), Some(B32)) = (direction, mode, m.ty()) else { return Ok(false) };
                Scalar::Shf { left: direction == "l", wrap: mode == "wrap" }
            }
            "prmt" => {
                let Some(B32) = m.ty() else { return Ok(false) };
                Scalar::Prmt(m.take_map(Permute::parse).unwrap_or(Permute::Index))
            }
            "dp4a" | "dp2a" => {
                let high = if m.base == "dp2a" { m.one_of(&["lo", "hi"]) } else { Some("lo") };
                let (Some(high), Some(a), Some(b)) = (high, m.ty(), m.ty()) else { return Ok(false) };
                let (a, b) = (a.is_signed(), b.is_signed());
                if m.base == "dp2a" { Scalar::Dp2a(a, b, high == "hi") } else { Scalar::Dp4a(a, b) }
            }
            "bmsk" => {
                let (Some(mode), Some(B32)) = (m.one_of(&["wrap", "clamp"]), m.ty()) else { return Ok(false) };
                return self.two(i, Scalar::Bmsk(mode == "wrap"), U32, [U32, U32]);
            }
            "szext" => {
                let (Some(mode), Some(ty)) = (m.one_of(&["wrap", "clamp"]), m.ty()) else { return Ok(false) };
                let what = Scalar::Szext { signed: ty.is_signed(), wrap: mode == "wrap" };
                return self.two(i, what, U32, [U32, U32]);
            }
            "fns" => {
                let Some(B32) = m.ty() else { return Ok(false) };
                Scalar::Fns
            }
            _ => {
                let (Some(d), Some(a), Some(b)) = (m.ty(), m.ty(), m.ty()) else { return Ok(false) };
                // The sum takes both operands as one type.
                if d.bytes() != 4 || a.bytes() != 4 || b.bytes() != 4 || (a != b && m.whole.contains(".add")) {
                    return Ok(false);
                }
                Scalar::Vabsdiff4 { signed: [d, a, b].map(Type::is_signed), add: m.flag("add") }
            }
        };
        self.three(i, what, U32, [U32, U32, U32])
    }

    fn lop3(&mut self, m: &mut Mods, i: &'a Instruction) -> Decoded<bool> {
        let Some(Type::B32) = m.ty() else { return Ok(false) };
        self.expect_operands(i, 5, 5)?;
        let Operand::Int(table) = i.operands[4] else { return self.invalid("the table of lop3 is an immediate") };
        let mut inst = Inst::new(Op::Lop3);
        inst.d = self.dst32(&i.operands[0])?;
        inst.a = self.src32(&i.operands[1], Type::B32)?;
        inst.b = self.src32(&i.operands[2], Type::B32)?;
        inst.c = self.src32(&i.operands[3], Type::B32)?;
        inst.m = (table & 0xff) as u32;
        self.push(inst)?;
        Ok(true)
    }
}

/// Number of sources, their types, and the type of the result.
fn shape(op: IntOp, ty: Type) -> (usize, [Type; 3], Type) {
    use IntOp as I;
    use Type::{U32, U64};
    let double = match ty.bytes() {
        4 => U64,
        2 => U32,
        _ => Type::U16,
    };
    match op {
        I::Abs | I::Neg | I::Not | I::Cnot | I::Brev => (1, [ty; 3], ty),
        I::Clz | I::Popc | I::Bfind | I::BfindShift => (1, [ty; 3], U32),
        I::Shl | I::Shr => (2, [ty, U32, ty], ty),
        I::MulWide => (2, [ty; 3], double),
        I::MadWide => (3, [ty, ty, double], double),
        I::MadLo | I::MadHi | I::MadHiSat | I::Sad | I::Mad24Lo | I::Mad24Hi | I::Mad24HiSat => (3, [ty; 3], ty),
        I::Bfe => (3, [ty, U32, U32], ty),
        I::Bfi => (3, [ty, ty, U32], ty),
        _ => (2, [ty; 3], ty),
    }
}
