//! The CPU's answer to one instruction of the scalar list: modifiers of its name to functions of `ptx::scalar`.

use kopt::ptx::scalar::bits::{self, Permute};
use kopt::ptx::scalar::convert::{self, Clamp};
use kopt::ptx::scalar::convert_integer::{self as ints, Integer};
use kopt::ptx::scalar::format::{BF16, F16, F32, F64, Format, TF32};
use kopt::ptx::scalar::half::{pairwise1, pairwise2, pairwise3};
use kopt::ptx::scalar::{Comparison, Extreme, Half, HalfMode, Mode, Property, Rounding};
use kopt::ptx::scalar::{approx, double, integer, single};

/// An instruction's name, taken apart at its dots.
pub struct Op<'a> {
    text: &'a str,
    parts: Vec<&'a str>,
}

impl<'a> Op<'a> {
    pub fn new(text: &'a str) -> Self {
        let name = text.split(' ').next().unwrap_or("");
        Op { text, parts: name.split('.').collect() }
    }

    fn has(&self, modifier: &str) -> bool {
        self.parts[1..].contains(&modifier)
    }

    /// The last modifiers: types.
    fn last(&self, back: usize) -> &'a str {
        self.parts[self.parts.len() - 1 - back]
    }

    fn rounding(&self) -> Rounding {
        let named = |names: [&str; 2]| names.iter().any(|n| self.has(n));
        match () {
            () if named(["rz", "rzi"]) => Rounding::Zero,
            () if named(["rm", "rmi"]) => Rounding::Down,
            () if named(["rp", "rpi"]) => Rounding::Up,
            () if self.has("rna") => Rounding::NearestAway,
            () => Rounding::NearestEven,
        }
    }

    fn mode(&self) -> Mode {
        Mode { rounding: self.rounding(), ftz: self.has("ftz"), sat: self.has("sat") }
    }

    fn half_mode(&self) -> HalfMode {
        HalfMode { ftz: self.has("ftz"), sat: self.has("sat"), relu: self.has("relu") }
    }

    fn extreme(&self) -> Extreme {
        Extreme {
            max: self.parts[0] == "max",
            nan: self.has("NaN"),
            xorsign_abs: self.has("xorsign"),
            ftz: self.has("ftz"),
        }
    }

    fn comparison(&self) -> Comparison {
        Comparison::parse(self.parts[1]).expect("a comparison")
    }
}

/// The result of `op` on register bits, or a panic that names an instruction without a model.
pub fn evaluate(op: &Op, x: [u64; 4]) -> u64 {
    model(op, x).unwrap_or_else(|| panic!("no model of {}", op.text))
}

/// The same; None for an instruction without a model.
pub fn model(op: &Op, x: [u64; 4]) -> Option<u64> {
    match op.parts[0] {
        "cvt" if op.has("pack") => pack(op, x),
        "cvt" => conversion(op, x),
        _ if op.text.contains(" atom.") => atomic(op, x),
        _ if op.text.contains(".cc.") => carries(op, x),
        _ => match op.last(0) {
            "f32" if op.parts[0] != "set" && op.parts[0] != "setp" => f32_op(op, x),
            "f64" if op.parts[0] != "setp" => f64_op(op, x),
            "f16" | "f16x2" | "bf16" | "bf16x2" => half_op(op, x),
            "f32" | "f64" => comparison(op, x),
            _ => integer_op(op, x).or_else(|| bit_op(op, x)),
        },
    }
}

fn f32_op(op: &Op, x: [u64; 4]) -> Option<u64> {
    let (a, b, c, mode, ftz) = (x[0] as u32, x[1] as u32, x[2] as u32, op.mode(), op.has("ftz"));
    let approximate = op.has("approx");
    Some(u64::from(match op.parts[0] {
        "div" if op.has("full") => approx::div_full(a, b, ftz),
        "div" if approximate => approx::div(a, b, ftz),
        "rcp" if approximate => approx::rcp(a, ftz),
        "sqrt" if approximate => approx::sqrt(a, ftz),
        "rsqrt" => approx::rsqrt(a, ftz),
        "sin" => approx::sin(a, ftz),
        "cos" => approx::cos(a, ftz),
        "lg2" => approx::lg2(a, ftz),
        "ex2" => approx::ex2(a, ftz),
        "tanh" => approx::tanh(a),
        "add" => single::add(a, b, mode),
        "sub" => single::sub(a, b, mode),
        "mul" => single::mul(a, b, mode),
        "fma" => single::fma(a, b, c, mode),
        "div" => single::div(a, b, mode),
        "rcp" => single::rcp(a, mode),
        "sqrt" => single::sqrt(a, mode),
        "abs" => single::abs(a, ftz),
        "neg" => single::neg(a, ftz),
        "copysign" => single::copysign(a, b),
        "min" | "max" => kopt::ptx::scalar::compare::extreme_f32(a, b, op.extreme()),
        "testp" => u32::from(Property::parse(op.parts[1])?.single(a)),
        _ => return None,
    }))
}

fn f64_op(op: &Op, x: [u64; 4]) -> Option<u64> {
    let ([a, b, c, _], rounding) = (x, op.rounding());
    Some(match op.parts[0] {
        "rcp" if op.has("approx") => approx::rcp_f64(a),
        "rsqrt" if op.has("ftz") => approx::rsqrt_ftz_f64(a),
        "rsqrt" => approx::rsqrt_f64(a),
        "add" => double::add(a, b, rounding),
        "sub" => double::sub(a, b, rounding),
        "mul" => double::mul(a, b, rounding),
        "fma" => double::fma(a, b, c, rounding),
        "div" => double::div(a, b, rounding),
        "rcp" => double::rcp(a, rounding),
        "sqrt" => double::sqrt(a, rounding),
        "abs" => double::abs(a),
        "neg" => double::neg(a),
        "copysign" => double::copysign(a, b),
        "min" | "max" => kopt::ptx::scalar::compare::extreme_f64(a, b, op.parts[0] == "max"),
        "testp" => u64::from(Property::parse(op.parts[1])?.double(a)),
        _ => return None,
    })
}

fn half_op(op: &Op, x: [u64; 4]) -> Option<u64> {
    let kind = if op.last(0).starts_with('b') { Half::Bf16 } else { Half::F16 };
    let (mode, ftz, how) = (op.half_mode(), op.has("ftz"), op.extreme());
    let one = |a: u16, b: u16, c: u16| {
        Some(match op.parts[0] {
            "add" => kind.add(a, b, mode),
            "sub" => kind.sub(a, b, mode),
            "mul" => kind.mul(a, b, mode),
            "fma" => kind.fma(a, b, c, mode),
            "abs" => kind.abs(a, ftz),
            "neg" => kind.neg(a, ftz),
            "min" | "max" => kind.extreme(a, b, how),
            "set" => kind.truth(kind.compare(op.comparison(), a, b, ftz)),
            "setp" => u16::from(kind.compare(op.comparison(), a, b, ftz)),
            "ex2" => kind.ex2(a, ftz),
            "tanh" => kind.tanh(a),
            _ => return None,
        })
    };
    one(0, 0, 0)?;
    let get = |a, b, c| one(a, b, c).unwrap_or_default();
    let [a, b, c, _] = x.map(|v| v as u32);
    Some(u64::from(match (op.last(0).ends_with("x2"), op.parts[0]) {
        (true, "abs" | "neg" | "ex2" | "tanh") => pairwise1(a, |a| get(a, 0, 0)),
        (true, "fma") => pairwise3(a, b, c, get),
        (true, _) => pairwise2(a, b, |a, b| get(a, b, 0)),
        (false, _) => u32::from(get(a as u16, b as u16, c as u16)),
    }))
}

fn comparison(op: &Op, x: [u64; 4]) -> Option<u64> {
    let holds = match op.last(0) {
        "f32" => op.comparison().singles(x[0] as u32, x[1] as u32, op.has("ftz")),
        _ => op.comparison().floats(f64::from_bits(x[0]), f64::from_bits(x[1])),
    };
    Some(match (op.parts[0], op.last(1)) {
        ("setp", _) => u64::from(holds),
        ("set", "f32") => u64::from(if holds { 1f32.to_bits() } else { 0 }),
        ("set", _) => u64::from(if holds { u32::MAX } else { 0 }),
        _ => return None,
    })
}

fn float_type(name: &str) -> Option<Format> {
    Some(match name {
        "f16" => F16,
        "bf16" => BF16,
        "f32" => F32,
        "f64" => F64,
        "tf32" => TF32,
        _ => return None,
    })
}

fn integer_type(name: &str) -> Option<Integer> {
    let bits = name.get(1..)?.parse().ok()?;
    match name.get(..1)? {
        "s" => Some(Integer::new(bits, true)),
        "u" => Some(Integer::new(bits, false)),
        _ => None,
    }
}

fn conversion(op: &Op, x: [u64; 4]) -> Option<u64> {
    let (to, from, rounding) = (op.last(1), op.last(0), op.rounding());
    let (ftz, sat) = (op.has("ftz"), op.has("sat"));
    let clamp = Clamp { relu: op.has("relu"), satfinite: op.has("satfinite") };
    let [a, b, _, _] = x;
    if let (Some(to), Some(from)) = (integer_type(to), integer_type(from)) {
        return Some(ints::integer_to_integer(a, from, to, sat) & op_width_mask(to.bits));
    }
    if let (Some(to), Some(from)) = (float_type(to), integer_type(from)) {
        return Some(ints::integer_to_float(a, from, to, rounding));
    }
    // On the H200 `.ftz` has no effect on f32 -> f16, whose f32 subnormals are below everything but a directed rounding.
    let a = if ftz && from == "f32" && to != "f16" { u64::from(single::flush(a as u32)) } else { a };
    if let (Some(to), Some(from_format)) = (integer_type(to), float_type(from)) {
        let value = ints::widen(a, from_format);
        let result = ints::float_to_integer(value, from == "f64", to, rounding);
        return Some(result & op_width_mask(to.bits));
    }
    Some(match (to, from) {
        ("e4m3x2" | "e5m2x2", "f32") => {
            u64::from(convert::f32x2_to_fp8x2(a as u32, b as u32, convert::fp8_format(to)?, clamp.relu))
        }
        ("e4m3x2" | "e5m2x2", "f16x2") => {
            u64::from(convert::f16x2_to_fp8x2(a as u32, convert::fp8_format(to)?, clamp.relu))
        }
        ("f16x2", "e4m3x2" | "e5m2x2") => {
            u64::from(convert::fp8x2_to_f16x2(a as u16, convert::fp8_format(from)?, clamp.relu))
        }
        ("f16x2" | "bf16x2", "f32") => {
            let format = if to == "f16x2" { F16 } else { BF16 };
            let one = |v| convert::convert(v, F32, format, rounding, clamp);
            one(a) << 16 | one(b)
        }
        ("tf32", "f32") => u64::from(convert::f32_to_tf32(a as u32, rounding, clamp)),
        _ => float_to_float(op, a, float_type(to)?, float_type(from)?, rounding, clamp, sat, ftz)?,
    })
}

fn pack(op: &Op, x: [u64; 4]) -> Option<u64> {
    let to = integer_type(op.parts[3])?;
    Some(u64::from(ints::pack_saturated(x[0] as u32, x[1] as u32, x[2] as u32, to)))
}

/// Store, atomic operation, load: the value in the cell.
fn atomic(op: &Op, x: [u64; 4]) -> Option<u64> {
    let name = op.text.split("atom.").nth(1)?.split(' ').next()?;
    let ([la, lb, _, _], [a, b, _, _]) = (x, x.map(|v| v as u32));
    let packed = |kind: Half| u64::from(pairwise2(a, b, |x, y| kind.add(x, y, HalfMode::default())));
    Some(match name {
        "global.add.f32" => u64::from(single::add_atomic(a, b, false)),
        "shared.add.f32" => u64::from(single::add_atomic(a, b, true)),
        "global.add.f64" => double::add_atomic(la, lb, false),
        "shared.add.f64" => double::add_atomic(la, lb, true),
        "global.add.noftz.f16x2" | "shared.add.noftz.f16x2" => packed(Half::F16),
        "global.add.noftz.bf16x2" => packed(Half::Bf16),
        "global.inc.u32" => u64::from(if a >= b { 0 } else { a + 1 }),
        "global.dec.u32" => u64::from(if a == 0 || a > b { b } else { a - 1 }),
        _ => return None,
    })
}

/// Destination registers are at least 32 bits wide in the list.
fn op_width_mask(bits: u32) -> u64 {
    if bits == 64 { u64::MAX } else { 0xffff_ffff }
}

#[allow(clippy::too_many_arguments)]
fn float_to_float(
    op: &Op,
    a: u64,
    to: Format,
    from: Format,
    rounding: Rounding,
    clamp: Clamp,
    sat: bool,
    ftz: bool,
) -> Option<u64> {
    let integral = op.parts[1].ends_with('i');
    let plain = match (to, from) {
        (F32, F32) if integral => u64::from(ints::f32_to_integral(a as u32, rounding)),
        (F64, F64) if integral => ints::f64_to_integral(a, rounding),
        (F16, F16) if integral => u64::from(ints::f16_to_integral(a as u16, rounding)),
        (F32, F32) if !ftz && !sat => a,
        (F32, F16) => u64::from(convert::f16_to_f32(a as u16)),
        (F32, BF16) => u64::from(convert::bf16_to_f32(a as u16)),
        (F64, F32) if ftz && f32::from_bits(a as u32).is_nan() => convert::F64_NAN_OF_FTZ,
        (F64, F32) => convert::f32_to_f64(a as u32),
        (F64, F16) => convert::f16_to_f64(a as u16),
        (F64, BF16) => convert::bf16_to_f64(a as u16),
        (F16, F64) => u64::from(convert::f64_to_f16(a, rounding)),
        (BF16, F64) => u64::from(convert::f64_to_bf16(a, rounding)),
        (F32, F64) => u64::from(convert::f64_to_f32(a, rounding)),
        (F16, F32) if clamp == Clamp::default() => u64::from(convert::f32_to_f16_rounding(a as u32, rounding)),
        (BF16, F32) if clamp == Clamp::default() => u64::from(convert::f32_to_bf16_rounding(a as u32, rounding)),
        _ => convert::convert(a, from, to, rounding, clamp),
    };
    Some(match to {
        F32 => {
            let bits = if ftz { single::flush(plain as u32) } else { plain as u32 };
            u64::from(if sat { single::saturate(bits) } else { bits })
        }
        _ if sat => convert::saturate(plain, to),
        _ => plain,
    })
}

fn carries(op: &Op, x: [u64; 4]) -> Option<u64> {
    let ([a, b, c, _], name) = (x, op.parts[0]);
    let [s, t, u, _] = x.map(|v| v as u32);
    Some(match (name, op.last(0)) {
        ("add", "u32") => {
            let (low, carry) = integer::add_carry_u32(s, t, false);
            u64::from(integer::add_carry_u32(u, low, carry).0)
        }
        ("sub", "u32") => {
            let (low, borrow) = integer::sub_borrow_u32(s, t, false);
            u64::from(integer::sub_borrow_u32(u, low, borrow).0)
        }
        ("add", "u64") => {
            let (low, carry) = integer::add_carry_u64(a, b, false);
            integer::add_carry_u64(c, low, carry).0
        }
        ("sub", "u64") => {
            let (low, borrow) = integer::sub_borrow_u64(a, b, false);
            integer::sub_borrow_u64(c, low, borrow).0
        }
        _ => return None,
    })
}

fn integer_op(op: &Op, x: [u64; 4]) -> Option<u64> {
    let ([la, lb, lc, _], [a, b, c, _]) = (x, x.map(|v| v as u32));
    let (ha, hb) = (a as u16, b as u16);
    let signed = |back: usize| op.last(back).starts_with('s');
    let name = format!("{}.{}", op.parts[0], op.parts[1..].join("."));
    Some(match name.as_str() {
        "mul.hi.u32" => u64::from(integer::mul_hi_u32(a, b)),
        "mul.hi.s32" => u64::from(integer::mul_hi_s32(a, b)),
        "mul.hi.u64" => integer::mul_hi_u64(la, lb),
        "mul.hi.s64" => integer::mul_hi_s64(la, lb),
        "mul.hi.u16" => u64::from(integer::mul_hi_u16(ha, hb)),
        "mul.hi.s16" => u64::from(integer::mul_hi_s16(ha, hb)),
        "mul.wide.u16" => u64::from(integer::mul_wide_u16(ha, hb)),
        "mul.wide.s16" => u64::from(integer::mul_wide_s16(ha, hb)),
        "mul.wide.u32" => integer::mul_wide_u32(a, b),
        "mul.wide.s32" => integer::mul_wide_s32(a, b),
        "mad.hi.u32" => u64::from(integer::mad_hi_u32(a, b, c)),
        "mad.hi.s32" => u64::from(integer::mad_hi_s32(a, b, c)),
        "mad.hi.sat.s32" => u64::from(integer::mad_hi_sat_s32(a, b, c)),
        "mul24.lo.u32" | "mul24.lo.s32" => u64::from(integer::mul24_lo(a, b, signed(0))),
        "mul24.hi.u32" | "mul24.hi.s32" => u64::from(integer::mul24_hi(a, b, signed(0))),
        "mad24.hi.sat.s32" => u64::from(integer::mad24_hi_sat_s32(a, b, c)),
        "add.sat.s32" => u64::from(integer::add_sat_s32(a, b)),
        "sub.sat.s32" => u64::from(integer::sub_sat_s32(a, b)),
        "min.s16x2" | "max.s16x2" | "min.relu.s16x2" | "max.relu.s16x2" => {
            u64::from(integer::extreme_s16x2(a, b, op.parts[0] == "max", op.has("relu")))
        }
        "min.u16x2" | "max.u16x2" => u64::from(integer::extreme_u16x2(a, b, op.parts[0] == "max")),
        "min.relu.s32" | "max.relu.s32" => u64::from(integer::extreme_relu_s32(a, b, op.parts[0] == "max")),
        "add.u16x2" | "add.s16x2" => u64::from(integer::add_16x2(a, b)),
        "sad.u32" => u64::from(integer::sad_u32(a, b, c)),
        "sad.s32" => u64::from(integer::sad_s32(a, b, c)),
        "sad.u64" => integer::sad_u64(la, lb, lc),
        "sad.s64" => integer::sad_s64(la, lb, lc),
        "div.u32" => u64::from(integer::div_u32(a, b)),
        "div.s32" => u64::from(integer::div_s32(a, b)),
        "div.u64" => integer::div_u64(la, lb),
        "div.s64" => integer::div_s64(la, lb),
        "rem.u32" => u64::from(integer::rem_u32(a, b)),
        "rem.s32" => u64::from(integer::rem_s32(a, b)),
        "rem.u64" => integer::rem_u64(la, lb),
        "rem.s64" => integer::rem_s64(la, lb),
        _ => match op.parts[0] {
            "dp4a" => u64::from(integer::dp4a(a, b, c, signed(1), signed(0))),
            "dp2a" => u64::from(integer::dp2a(a, b, c, signed(1), signed(0), op.has("hi"))),
            "vabsdiff4" if op.has("add") => u64::from(integer::vabsdiff4_add(a, b, c, false)),
            "vabsdiff4" => u64::from(integer::vabsdiff4(a, b, c, [signed(2), signed(1), signed(0)])),
            _ => return None,
        },
    })
}

fn bit_op(op: &Op, x: [u64; 4]) -> Option<u64> {
    let ([la, lb, _, _], [a, b, c, e]) = (x, x.map(|v| v as u32));
    let signed = op.last(0).starts_with('s');
    let name = format!("{}.{}", op.parts[0], op.last(0));
    Some(match name.as_str() {
        "shl.b16" => u64::from(bits::shl_b16(a as u16, b)),
        "shr.u16" => u64::from(bits::shr_u16(a as u16, b)),
        "shr.s16" => u64::from(bits::shr_s16(a as u16, b)),
        "shl.b32" => u64::from(bits::shl_b32(a, b)),
        "shr.u32" => u64::from(bits::shr_u32(a, b)),
        "shr.s32" => u64::from(bits::shr_s32(a, b)),
        "shl.b64" => bits::shl_b64(la, b),
        "shr.u64" => bits::shr_u64(la, b),
        "shr.s64" => bits::shr_s64(la, b),
        "bfe.u32" => u64::from(bits::bfe_u32(a, b, c)),
        "bfe.s32" => u64::from(bits::bfe_s32(a, b, c)),
        "bfe.u64" => bits::bfe_u64(la, b, c),
        "bfe.s64" => bits::bfe_s64(la, b, c),
        // The list gives bfi.b32 its operands as c, a, b, e.
        "bfi.b32" => u64::from(bits::bfi_b32(c, a, b, e)),
        "bfi.b64" => bits::bfi_b64(la, lb, c, e),
        "bfind.u32" | "bfind.s32" => u64::from(bits::bfind_b32(a, signed, op.has("shiftamt"))),
        "bfind.u64" | "bfind.s64" => u64::from(bits::bfind_b64(la, signed, op.has("shiftamt"))),
        "bmsk.b32" => u64::from(bits::bmsk(a, b, op.has("wrap"))),
        "szext.u32" | "szext.s32" => u64::from(bits::szext(a, b, signed, op.has("wrap"))),
        "fns.b32" => u64::from(bits::fns(a, b, c)),
        "shf.b32" => u64::from(bits::shf(a, b, c, op.has("l"), op.has("wrap"))),
        "brev.b32" => u64::from(bits::brev_b32(a)),
        "brev.b64" => bits::brev_b64(la),
        "clz.b32" => u64::from(bits::clz_b32(a)),
        "clz.b64" => u64::from(bits::clz_b64(la)),
        "popc.b32" => u64::from(bits::popc_b32(a)),
        "popc.b64" => u64::from(bits::popc_b64(la)),
        "lop3.b32" => {
            let table = op.text.rsplit(", ").next()?.trim_end_matches(';').parse().ok()?;
            u64::from(bits::lop3(a, b, c, table))
        }
        "prmt.b32" => u64::from(bits::prmt(a, b, c, Permute::Index)),
        _ if op.parts[0] == "prmt" => u64::from(bits::prmt(a, b, c, Permute::parse(op.last(0))?)),
        _ => return None,
    })
}
