//! f32 and f64 arithmetic.

use super::mods::Mods;
use super::op::*;
use super::{Decoded, Decoder};
use crate::ptx::ast::*;
use crate::ptx::scalar::{Extreme, Mode, Rounding};

impl<'a> Decoder<'a> {
    pub(super) fn single(&mut self, m: &mut Mods, i: &'a Instruction) -> Decoded<bool> {
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

    pub(super) fn double(&mut self, m: &mut Mods, i: &'a Instruction) -> Decoded<bool> {
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
}
