//! Arithmetic of the `Scalar` table: sources widened to 64-bit lanes, one loop for each operation.

use crate::ptx::decode::op::{Approx, CARRY, Compared, Inst, IntOp, Scalar};
use crate::ptx::machine::context::Context;
use crate::ptx::machine::predicate::{finish_setp, predicate, put_predicate};
use crate::ptx::machine::regs::*;
use crate::ptx::machine::warp::Warp;
use crate::ptx::scalar::convert::{self, f32_to_fp8, fp8x2_to_f16x2};
use crate::ptx::scalar::convert_integer as ci;
use crate::ptx::scalar::format::{F16, F32, F64, Format};
use crate::ptx::scalar::half::{pairwise1, pairwise2, pairwise3};
use crate::ptx::scalar::{Comparison, Half, Integer, approx, bits, compare as cmp, double, integer, single};

fn source(w: &Warp, register: u16, wide: bool) -> WideRow {
    if wide { w.q[usize::from(register)] } else { map1(&w.r[usize::from(register)], u64::from) }
}

pub(super) fn run(ctx: &Context, w: &mut Warp, i: &Inst, m: u32) {
    let Some(op) = ctx.program.scalars.get(i.m as usize) else { return };
    let a = source(w, i.a, op.wide[0]);
    let b = source(w, i.b, op.wide[1]);
    let c = source(w, i.c, op.wide[2]);
    let out = match op.what {
        Scalar::Int(IntOp::Bfi, int) => {
            let length = source(w, i.off as u16, false);
            let mut out = [0; 32];
            for lane in 0..32 {
                let (position, length) = (c[lane] as u32, length[lane] as u32);
                out[lane] = if int.bits == 64 {
                    bits::bfi_b64(a[lane], b[lane], position, length)
                } else {
                    u64::from(bits::bfi_b32(a[lane] as u32, b[lane] as u32, position, length))
                };
            }
            out
        }
        what => apply(what, &a, &b, &c),
    };
    let out = map1(&out, |x: u64| x & op.mask);
    if op.wide_d {
        put(&mut w.q[usize::from(i.d)], &out, m);
    } else {
        put(&mut w.r[usize::from(i.d)], &map1(&out, |x: u64| x as u32), m);
    }
}

/// f32 operations on the low halves.
fn single1(a: &WideRow, f: impl Fn(u32) -> u32) -> WideRow {
    map1(a, |x: u64| u64::from(f(x as u32)))
}

fn single2(a: &WideRow, b: &WideRow, f: impl Fn(u32, u32) -> u32) -> WideRow {
    map2(a, b, |x: u64, y: u64| u64::from(f(x as u32, y as u32)))
}

fn single3(a: &WideRow, b: &WideRow, c: &WideRow, f: impl Fn(u32, u32, u32) -> u32) -> WideRow {
    map3(a, b, c, |x: u64, y: u64, z: u64| u64::from(f(x as u32, y as u32, z as u32)))
}

/// Halves, one or two in a word.
fn half1(a: &WideRow, packed: bool, f: impl Fn(u16) -> u16) -> WideRow {
    if packed { single1(a, |x| pairwise1(x, &f)) } else { single1(a, |x| u32::from(f(x as u16))) }
}

fn half2(a: &WideRow, b: &WideRow, packed: bool, f: impl Fn(u16, u16) -> u16) -> WideRow {
    if packed {
        single2(a, b, |x, y| pairwise2(x, y, &f))
    } else {
        single2(a, b, |x, y| u32::from(f(x as u16, y as u16)))
    }
}

fn half3(a: &WideRow, b: &WideRow, c: &WideRow, packed: bool, f: impl Fn(u16, u16, u16) -> u16) -> WideRow {
    if packed {
        single3(a, b, c, |x, y, z| pairwise3(x, y, z, &f))
    } else {
        single3(a, b, c, |x, y, z| u32::from(f(x as u16, y as u16, z as u16)))
    }
}

pub(super) fn apply(what: Scalar, a: &WideRow, b: &WideRow, c: &WideRow) -> WideRow {
    match what {
        Scalar::AddF(mode) => single2(a, b, |x, y| single::add(x, y, mode)),
        Scalar::SubF(mode) => single2(a, b, |x, y| single::sub(x, y, mode)),
        Scalar::MulF(mode) => single2(a, b, |x, y| single::mul(x, y, mode)),
        Scalar::FmaF(mode) => single3(a, b, c, |x, y, z| single::fma(x, y, z, mode)),
        Scalar::DivF(mode) => single2(a, b, |x, y| single::div(x, y, mode)),
        Scalar::RcpF(mode) => single1(a, |x| single::rcp(x, mode)),
        Scalar::SqrtF(mode) => single1(a, |x| single::sqrt(x, mode)),
        Scalar::ExtremeF(how) => single2(a, b, |x, y| cmp::extreme_f32(x, y, how)),
        Scalar::NegF(ftz) => single1(a, |x| single::neg(x, ftz)),
        Scalar::AbsF(ftz) => single1(a, |x| single::abs(x, ftz)),
        Scalar::CopysignF => single2(a, b, single::copysign),
        Scalar::Approx(which, ftz) => approximate(which, ftz, a, b),
        Scalar::AddD(r) => map2(a, b, |x, y| double::add(x, y, r)),
        Scalar::SubD(r) => map2(a, b, |x, y| double::sub(x, y, r)),
        Scalar::MulD(r) => map2(a, b, |x, y| double::mul(x, y, r)),
        Scalar::FmaD(r) => map3(a, b, c, |x, y, z| double::fma(x, y, z, r)),
        Scalar::DivD(r) => map2(a, b, |x, y| double::div(x, y, r)),
        Scalar::RcpD(r) => map1(a, |x| double::rcp(x, r)),
        Scalar::SqrtD(r) => map1(a, |x| double::sqrt(x, r)),
        Scalar::ExtremeD(max) => map2(a, b, |x, y| cmp::extreme_f64(x, y, max)),
        Scalar::AbsD => map1(a, double::abs),
        Scalar::CopysignD => map2(a, b, double::copysign),
        Scalar::RcpApproxD => map1(a, approx::rcp_f64),
        Scalar::RsqrtApproxD(true) => map1(a, approx::rsqrt_ftz_f64),
        Scalar::RsqrtApproxD(false) => map1(a, approx::rsqrt_f64),
        Scalar::HalfAdd(h, mode, packed) => half2(a, b, packed, |x, y| h.add(x, y, mode)),
        Scalar::HalfSub(h, mode, packed) => half2(a, b, packed, |x, y| h.sub(x, y, mode)),
        Scalar::HalfMul(h, mode, packed) => half2(a, b, packed, |x, y| h.mul(x, y, mode)),
        Scalar::HalfFma(h, mode, packed) => half3(a, b, c, packed, |x, y, z| h.fma(x, y, z, mode)),
        Scalar::HalfNeg(h, ftz, packed) => half1(a, packed, |x| h.neg(x, ftz)),
        Scalar::HalfAbs(h, ftz, packed) => half1(a, packed, |x| h.abs(x, ftz)),
        Scalar::HalfExtreme(h, how, packed) => half2(a, b, packed, |x, y| h.extreme(x, y, how)),
        Scalar::HalfEx2(h, ftz, packed) => half1(a, packed, |x| h.ex2(x, ftz)),
        Scalar::HalfTanh(h, packed) => half1(a, packed, |x| h.tanh(x)),
        Scalar::Prmt(mode) => single3(a, b, c, |x, y, z| bits::prmt(x, y, z, mode)),
        Scalar::Shf { left, wrap } => single3(a, b, c, |x, y, z| bits::shf(x, y, z, left, wrap)),
        Scalar::Dp4a(s, t) => single3(a, b, c, |x, y, z| integer::dp4a(x, y, z, s, t)),
        Scalar::Dp2a(s, t, high) => single3(a, b, c, |x, y, z| integer::dp2a(x, y, z, s, t, high)),
        Scalar::Bmsk(wrap) => single2(a, b, |x, y| bits::bmsk(x, y, wrap)),
        Scalar::Szext { signed, wrap } => single2(a, b, |x, y| bits::szext(x, y, signed, wrap)),
        Scalar::Fns => single3(a, b, c, bits::fns),
        Scalar::Vabsdiff4 { signed, add: true } => {
            single3(a, b, c, |x, y, z| integer::vabsdiff4_add(x, y, z, signed[1]))
        }
        Scalar::Vabsdiff4 { signed, add: false } => single3(a, b, c, |x, y, z| integer::vabsdiff4(x, y, z, signed)),
        Scalar::SlctF => map3(a, b, c, |x, y, z| if f32::from_bits(z as u32) >= 0.0 { x } else { y }),
        Scalar::Int(op, int) => integers(op, int, a, b, c),
        Scalar::Compare(comparison, of) => map2(a, b, |x, y| u64::from(holds(comparison, of, x, y))),
        Scalar::TestF(property) => map1(a, |x: u64| u64::from(property.single(x as u32))),
        Scalar::TestD(property) => map1(a, |x| u64::from(property.double(x))),
        conversion => convert_lanes(conversion, a, b),
    }
}

fn approximate(which: Approx, ftz: bool, a: &WideRow, b: &WideRow) -> WideRow {
    match which {
        Approx::Ex2 => single1(a, |x| approx::ex2(x, ftz)),
        Approx::Lg2 => single1(a, |x| approx::lg2(x, ftz)),
        Approx::Rcp => single1(a, |x| approx::rcp(x, ftz)),
        Approx::Sqrt => single1(a, |x| approx::sqrt(x, ftz)),
        Approx::Rsqrt => single1(a, |x| approx::rsqrt(x, ftz)),
        Approx::Sin => single1(a, |x| approx::sin(x, ftz)),
        Approx::Cos => single1(a, |x| approx::cos(x, ftz)),
        Approx::Tanh => single1(a, approx::tanh),
        Approx::Div => single2(a, b, |x, y| approx::div(x, y, ftz)),
        Approx::DivFull => single2(a, b, |x, y| approx::div_full(x, y, ftz)),
    }
}

fn convert_lanes(what: Scalar, a: &WideRow, b: &WideRow) -> WideRow {
    let flushed = |bits: u64, from: Format, ftz: bool| {
        if ftz && from == F32 { u64::from(single::flush(bits as u32)) } else { bits }
    };
    let clamped = |bits: u64, to: Format, ftz: bool, saturate: bool| {
        let bits = flushed(bits, to, ftz);
        if saturate { unit(bits, to) } else { bits }
    };
    match what {
        Scalar::IntToInt { from, to, saturate } => map1(a, |x| ci::integer_to_integer(x, from, to, saturate)),
        Scalar::FloatToInt { from, to, rounding, ftz } => {
            map1(a, |x| ci::float_to_integer(ci::widen(flushed(x, from, ftz), from), from == F64, to, rounding))
        }
        Scalar::IntToFloat { from, to, rounding, saturate } => {
            map1(a, |x| clamped(ci::integer_to_float(x, from, to, rounding), to, false, saturate))
        }
        Scalar::FloatToFloat { from, to, rounding, clamp, ftz, saturate } => {
            map1(a, |x| clamped(convert::convert(flushed(x, from, ftz), from, to, rounding, clamp), to, ftz, saturate))
        }
        Scalar::Integral { format, rounding, ftz, saturate } => map1(a, |x| {
            let x = flushed(x, format, ftz);
            let value = match format {
                F64 => ci::f64_to_integral(x, rounding),
                F32 => u64::from(ci::f32_to_integral(x as u32, rounding)),
                F16 => u64::from(ci::f16_to_integral(x as u16, rounding)),
                _ => {
                    let wide = convert::bf16_to_f32(x as u16);
                    u64::from(convert::f32_to_bf16(ci::f32_to_integral(wide, rounding)))
                }
            };
            clamped(value, format, false, saturate)
        }),
        Scalar::ToTf32(rounding, clamp) => single1(a, |x| convert::f32_to_tf32(x, rounding, clamp)),
        Scalar::PackHalf { to, rounding, clamp } => map2(a, b, |x, y| {
            convert::convert(x, F32, to, rounding, clamp) << 16 | convert::convert(y, F32, to, rounding, clamp)
        }),
        Scalar::PackFp8 { to, relu } => {
            single2(a, b, |x, y| u32::from(f32_to_fp8(x, to, relu)) << 8 | u32::from(f32_to_fp8(y, to, relu)))
        }
        Scalar::PackFp8FromHalf { to, relu } => single1(a, |x| u32::from(convert::f16x2_to_fp8x2(x, to, relu))),
        Scalar::UnpackFp8 { from, relu } => single1(a, |x| fp8x2_to_f16x2(x as u16, from, relu)),
        _ => [0; 32],
    }
}

/// `.sat`: clamps to [0, 1], NaN to zero.
fn unit(bits: u64, format: Format) -> u64 {
    let value = ci::widen(bits, format);
    let one = ((1u64 << (format.exponent_bits - 1)) - 1) << format.mantissa_bits;
    if value >= 1.0 {
        one
    } else if value > 0.0 {
        bits
    } else {
        0
    }
}

fn integers(op: IntOp, int: Integer, a: &WideRow, b: &WideRow, c: &WideRow) -> WideRow {
    let narrow = int.bits <= 32;
    let value = |x: u64| int.value(x);
    let mask = if int.bits == 64 { u64::MAX } else { (1 << int.bits) - 1 };
    let signed = int.signed;
    match op {
        IntOp::Add => map2(a, b, |x, y| x.wrapping_add(y) & mask),
        IntOp::Sub => map2(a, b, |x, y| x.wrapping_sub(y) & mask),
        IntOp::MulLo => map2(a, b, |x, y| x.wrapping_mul(y) & mask),
        IntOp::MulHi => map2(a, b, |x, y| ((value(x) * value(y)) >> int.bits) as u64 & mask),
        IntOp::MulWide => map2(a, b, |x, y| (value(x) * value(y)) as u64),
        IntOp::MadLo => map3(a, b, c, |x, y, z| x.wrapping_mul(y).wrapping_add(z) & mask),
        IntOp::MadHi => map3(a, b, c, |x, y, z| (((value(x) * value(y)) >> int.bits) as u64).wrapping_add(z) & mask),
        IntOp::MadWide => map3(a, b, c, |x, y, z| ((value(x) * value(y)) as u64).wrapping_add(z)),
        IntOp::Div if narrow && int.bits == 32 => {
            single2(a, b, |x, y| if signed { integer::div_s32(x, y) } else { integer::div_u32(x, y) })
        }
        IntOp::Rem if narrow && int.bits == 32 => {
            single2(a, b, |x, y| if signed { integer::rem_s32(x, y) } else { integer::rem_u32(x, y) })
        }
        IntOp::Div if !narrow => {
            map2(a, b, |x, y| if signed { integer::div_s64(x, y) } else { integer::div_u64(x, y) })
        }
        IntOp::Rem if !narrow => {
            map2(a, b, |x, y| if signed { integer::rem_s64(x, y) } else { integer::rem_u64(x, y) })
        }
        IntOp::Div => map2(a, b, |x, y| value(x).checked_div(value(y)).map_or(mask, |v| v as u64 & mask)),
        IntOp::Rem => map2(a, b, |x, y| value(x).checked_rem(value(y)).map_or(x, |v| v as u64 & mask)),
        IntOp::Min => map2(a, b, |x, y| if value(x) <= value(y) { x } else { y }),
        IntOp::Max => map2(a, b, |x, y| if value(x) >= value(y) { x } else { y }),
        IntOp::Abs => map1(a, |x| value(x).unsigned_abs() as u64 & mask),
        IntOp::Neg => map1(a, |x: u64| x.wrapping_neg() & mask),
        IntOp::And => map2(a, b, |x, y| x & y),
        IntOp::Or => map2(a, b, |x, y| x | y),
        IntOp::Xor => map2(a, b, |x, y| x ^ y),
        IntOp::Not => map1(a, |x: u64| !x & mask),
        IntOp::Cnot => map1(a, |x: u64| u64::from(x & mask == 0)),
        IntOp::Shl => map2(a, b, |x, y: u64| if y as u32 >= int.bits { 0 } else { x << (y as u32) & mask }),
        IntOp::Shr => map2(a, b, |x, y: u64| (value(x) >> (y as u32).min(int.bits)) as u64 & mask),
        IntOp::Sad => map3(a, b, c, |x, y, z| (z as i128 + (value(x) - value(y)).abs()) as u64 & mask),
        IntOp::AddSat => single2(a, b, integer::add_sat_s32),
        IntOp::SubSat => single2(a, b, integer::sub_sat_s32),
        IntOp::MadHiSat => single3(a, b, c, integer::mad_hi_sat_s32),
        IntOp::Mul24Lo => single2(a, b, |x, y| integer::mul24_lo(x, y, signed)),
        IntOp::Mul24Hi => single2(a, b, |x, y| integer::mul24_hi(x, y, signed)),
        IntOp::Mad24Lo => single3(a, b, c, |x, y, z| integer::mul24_lo(x, y, signed).wrapping_add(z)),
        IntOp::Mad24Hi => single3(a, b, c, |x, y, z| integer::mul24_hi(x, y, signed).wrapping_add(z)),
        IntOp::Mad24HiSat => single3(a, b, c, integer::mad24_hi_sat_s32),
        IntOp::Bfe => map3(a, b, c, |x, y, z| match (narrow, signed) {
            (true, true) => u64::from(bits::bfe_s32(x as u32, y as u32, z as u32)),
            (true, false) => u64::from(bits::bfe_u32(x as u32, y as u32, z as u32)),
            (false, true) => bits::bfe_s64(x, y as u32, z as u32),
            (false, false) => bits::bfe_u64(x, y as u32, z as u32),
        }),
        IntOp::Bfind | IntOp::BfindShift => {
            let shift = op == IntOp::BfindShift;
            map1(a, |x| {
                u64::from(if narrow {
                    bits::bfind_b32(x as u32, signed, shift)
                } else {
                    bits::bfind_b64(x, signed, shift)
                })
            })
        }
        IntOp::Brev if narrow => single1(a, bits::brev_b32),
        IntOp::Brev => map1(a, bits::brev_b64),
        IntOp::Clz if narrow => single1(a, bits::clz_b32),
        IntOp::Clz => map1(a, |x| u64::from(bits::clz_b64(x))),
        IntOp::Popc => map1(a, |x: u64| u64::from((x & mask).count_ones())),
        IntOp::Slct => map3(a, b, c, |x, y, z| if z as u32 as i32 >= 0 { x } else { y }),
        // `run` has the fourth source.
        IntOp::Bfi => [0; 32],
    }
}

fn holds(comparison: Comparison, of: Compared, x: u64, y: u64) -> bool {
    match of {
        Compared::Int(int) => comparison.integers(int.value(x), int.value(y)),
        Compared::F32 { ftz } => comparison.singles(x as u32, y as u32, ftz),
        Compared::F64 => comparison.floats(f64::from_bits(x), f64::from_bits(y)),
        Compared::Half(half, ftz) => half.compare(comparison, x as u16, y as u16, ftz),
    }
}

/// The mask of a comparison from the table.
pub(super) fn compare(ctx: &Context, w: &Warp, i: &Inst) -> u32 {
    let Some(op) = ctx.program.scalars.get(i.off as usize) else { return 0 };
    let (a, b) = (source(w, i.a, op.wide[0]), source(w, i.b, op.wide[1]));
    let out = apply(op.what, &a, &b, &a);
    super::super::regs::compare(&out, &out, |x, _| x != 0)
}

pub(super) fn setp_half2(ctx: &Context, w: &mut Warp, i: &Inst, m: u32) {
    let Some(op) = ctx.program.scalars.get(i.off as usize) else { return };
    let Scalar::Compare(comparison, Compared::Half(half, ftz)) = op.what else { return };
    let (a, b) = (w.r[usize::from(i.a)], w.r[usize::from(i.b)]);
    let test = |half: Half, shift: u32| {
        super::super::regs::compare(&a, &b, |x, y| {
            half.compare(comparison, (x >> shift) as u16, (y >> shift) as u16, ftz)
        })
    };
    let (low, high) = (test(half, 0), test(half, 16));
    // The combination applies to both; the second predicate is the upper half, not the complement.
    let mut first = *i;
    first.m &= 0xffff;
    first.m |= u32::from(crate::ptx::decode::op::SINK_PRED) << 16;
    finish_setp(w, &first, low, m);
    first.d = (i.m >> 16) as u16;
    finish_setp(w, &first, high, m);
}

/// `m` as `decode::arithmetic::carry` packs it.
pub(super) fn carry(w: &mut Warp, i: &Inst, m: u32) {
    let wide = i.m & 32 != 0;
    let (a, b, c) = (source(w, i.a, wide), source(w, i.b, wide), source(w, i.c, wide));
    let signed = i.m & 16 != 0;
    let carry_in = if i.m & 4 != 0 { predicate(&w.p, CARRY) } else { 0 };
    let int = Integer::new(if wide { 64 } else { 32 }, signed);
    let (mut out, mut carries) = ([0u64; 32], 0u32);
    for lane in 0..32 {
        let flag = carry_in >> lane & 1 != 0;
        let (x, y) = match i.m & 3 {
            0 | 1 => (a[lane], b[lane]),
            2 => (a[lane].wrapping_mul(b[lane]), c[lane]),
            _ => (((int.value(a[lane]) * int.value(b[lane])) >> int.bits) as u64, c[lane]),
        };
        let (value, flag) = match (i.m & 3, wide) {
            (1, true) => integer::sub_borrow_u64(x, y, flag),
            (1, false) => widen(integer::sub_borrow_u32(x as u32, y as u32, flag)),
            (_, true) => integer::add_carry_u64(x, y, flag),
            (_, false) => widen(integer::add_carry_u32(x as u32, y as u32, flag)),
        };
        out[lane] = value;
        carries |= u32::from(flag) << lane;
    }
    if wide {
        put(&mut w.q[usize::from(i.d)], &out, m);
    } else {
        put(&mut w.r[usize::from(i.d)], &map1(&out, |x: u64| x as u32), m);
    }
    if i.m & 8 != 0 {
        put_predicate(&mut w.p, CARRY, carries, m);
    }
}

fn widen((value, flag): (u32, bool)) -> (u64, bool) {
    (u64::from(value), flag)
}
