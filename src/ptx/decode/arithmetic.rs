//! Integer, logic, f32 and f64 arithmetic, comparisons, selection.

use super::mods::Mods;
use super::op::*;
use super::{Decoded, Decoder};
use crate::ptx::ast::*;
use crate::ptx::scalar::bits::Permute;
use crate::ptx::scalar::{Comparison, Extreme, Half, Integer, Mode, Property, Rounding};

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

    fn slct(&mut self, m: &mut Mods, i: &'a Instruction, ty: Type) -> Decoded<bool> {
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

    fn single(&mut self, m: &mut Mods, i: &'a Instruction) -> Decoded<bool> {
        let approx = m.flag("approx");
        let full = m.flag("full");
        let (ftz, sat) = (m.flag("ftz"), m.flag("sat"));
        let rounding = m.rounding();
        let mode = Mode { rounding: rounding.unwrap_or(Rounding::NearestEven), ftz, sat };
        let plain = mode == Mode::RN;
        let t = Type::F32;
        if approx || full {
            let what = match (m.base, full) {
                ("ex2", false) if !sat => {
                    if !ftz {
                        return self.push1(Op::Ex2, i, t, t);
                    }
                    Approx::Ex2
                }
                ("lg2", false) => Approx::Lg2,
                ("rcp", false) => Approx::Rcp,
                ("sqrt", false) => Approx::Sqrt,
                ("rsqrt", false) => Approx::Rsqrt,
                ("sin", false) => Approx::Sin,
                ("cos", false) => Approx::Cos,
                ("tanh", false) => Approx::Tanh,
                ("div", false) => return self.two(i, Scalar::Approx(Approx::Div, ftz), t, [t, t]),
                ("div", true) => return self.two(i, Scalar::Approx(Approx::DivFull, ftz), t, [t, t]),
                _ => return Ok(false),
            };
            return self.one(i, Scalar::Approx(what, ftz), t, t);
        }
        match m.base {
            "add" if plain => self.push2(Op::AddF32, i, t, t),
            "sub" if plain => self.push2(Op::SubF32, i, t, t),
            "mul" if plain => self.push2(Op::MulF32, i, t, t),
            "add" => self.two(i, Scalar::AddF(mode), t, [t, t]),
            "sub" => self.two(i, Scalar::SubF(mode), t, [t, t]),
            "mul" => self.two(i, Scalar::MulF(mode), t, [t, t]),
            "div" if rounding.is_some() && plain => self.push2(Op::DivF32, i, t, t),
            "div" if rounding.is_some() => self.two(i, Scalar::DivF(mode), t, [t, t]),
            "fma" | "mad" if rounding.is_some() => {
                self.three(i, Scalar::FmaF(mode), t, [t, t, t])?;
                self.make_hot(plain, Op::FmaF32);
                Ok(true)
            }
            "sqrt" if rounding.is_some() && plain => self.push1(Op::SqrtF32, i, t, t),
            "rcp" if rounding.is_some() && plain => self.push1(Op::RcpF32, i, t, t),
            "sqrt" if rounding.is_some() => self.one(i, Scalar::SqrtF(mode), t, t),
            "rcp" if rounding.is_some() => self.one(i, Scalar::RcpF(mode), t, t),
            "min" | "max" if !sat => {
                let max = m.base == "max";
                let how = Extreme { max, nan: m.flag("NaN"), xorsign_abs: m.flag("xorsign"), ftz };
                if how.xorsign_abs && !m.flag("abs") {
                    return Ok(false);
                }
                if i.operands.len() == 4 {
                    return self.three_extreme(i, how);
                }
                self.two(i, Scalar::ExtremeF(how), t, [t, t])?;
                let simple = how == Extreme { max, ..Extreme::default() };
                self.make_hot(simple, if max { Op::MaxF32 } else { Op::MinF32 });
                Ok(true)
            }
            "neg" if !ftz => self.push1(Op::NegF32, i, t, t),
            "abs" if !ftz => self.push1(Op::AbsF32, i, t, t),
            "neg" => self.one(i, Scalar::NegF(true), t, t),
            "abs" => self.one(i, Scalar::AbsF(true), t, t),
            "copysign" => self.two(i, Scalar::CopysignF, t, [t, t]),
            "slct" => self.slct_float(m, i, t),
            _ => Ok(false),
        }
    }

    /// `max.f32 d, a, b, c` is folded from the left; the intermediate value is the destination.
    fn three_extreme(&mut self, i: &'a Instruction, how: Extreme) -> Decoded<bool> {
        let t = Type::F32;
        let index = self.scalar(Scalar::ExtremeF(how), false, [false; 3], u64::from(u32::MAX));
        let temporary = match self.new_register(Type::B32)? {
            super::scope::Reg::Word(register, _) => register,
            _ => SINK,
        };
        let mut first = Inst::new(Op::Scalar);
        (first.d, first.m) = (temporary, index);
        first.a = self.src32(&i.operands[1], t)?;
        first.b = self.src32(&i.operands[2], t)?;
        self.push(first)?;
        let mut second = first;
        (second.d, second.a) = (self.dst32(&i.operands[0])?, temporary);
        second.b = self.src32(&i.operands[3], t)?;
        self.push(second)?;
        Ok(true)
    }

    fn slct_float(&mut self, m: &mut Mods, i: &'a Instruction, ty: Type) -> Decoded<bool> {
        self.slct(m, i, ty)
    }

    /// Replaces the scalar form just pushed by its hot variant.
    fn make_hot(&mut self, hot: bool, op: Op) {
        if hot && let Some(last) = self.program.code.last_mut() {
            last.op = op;
            last.m = 0;
        }
    }

    fn double(&mut self, m: &mut Mods, i: &'a Instruction) -> Decoded<bool> {
        let t = Type::F64;
        let (approx, ftz) = (m.flag("approx"), m.flag("ftz"));
        let given = m.rounding();
        let rounding = given.unwrap_or(Rounding::NearestEven);
        let plain = rounding == Rounding::NearestEven;
        if approx {
            return match m.base {
                "rcp" if ftz => self.one(i, Scalar::RcpApproxD, t, t),
                "rsqrt" => self.one(i, Scalar::RsqrtApproxD(ftz), t, t),
                _ => Ok(false),
            };
        }
        if ftz {
            return Ok(false);
        }
        match m.base {
            "add" if plain => self.push2(Op::AddF64, i, t, t),
            "sub" if plain => self.push2(Op::SubF64, i, t, t),
            "mul" if plain => self.push2(Op::MulF64, i, t, t),
            "add" => self.two(i, Scalar::AddD(rounding), t, [t, t]),
            "sub" => self.two(i, Scalar::SubD(rounding), t, [t, t]),
            "mul" => self.two(i, Scalar::MulD(rounding), t, [t, t]),
            "div" if plain && given.is_some() => self.push2(Op::DivF64, i, t, t),
            "div" if given.is_some() => self.two(i, Scalar::DivD(rounding), t, [t, t]),
            "fma" | "mad" if given.is_some() => {
                self.three(i, Scalar::FmaD(rounding), t, [t, t, t])?;
                self.make_hot(plain, Op::FmaF64);
                Ok(true)
            }
            "sqrt" if given.is_some() => self.one(i, Scalar::SqrtD(rounding), t, t),
            "rcp" if given.is_some() => self.one(i, Scalar::RcpD(rounding), t, t),
            "min" | "max" => self.two(i, Scalar::ExtremeD(m.base == "max"), t, [t, t]),
            "neg" => self.push1(Op::NegF64, i, t, t),
            "abs" => self.one(i, Scalar::AbsD, t, t),
            "copysign" => self.two(i, Scalar::CopysignD, t, [t, t]),
            "slct" => self.slct_float(m, i, t),
            _ => Ok(false),
        }
    }

    fn selp(&mut self, m: &mut Mods, i: &'a Instruction) -> Decoded<bool> {
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
    fn setp(&mut self, m: &mut Mods, i: &'a Instruction) -> Decoded<bool> {
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
    fn set(&mut self, m: &mut Mods, i: &'a Instruction) -> Decoded<bool> {
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
