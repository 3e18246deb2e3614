//! Arithmetic in another precision.
//!
//! *Float64*: beside each 32-bit register lies a row of f64. A value there counts only while rounding it to f32 gives
//! the register's bits, so that instructions which know nothing of it cannot leave it stale. f32 arithmetic reads and
//! writes it; moves, selections and shuffles carry it along. Memory holds f32: a value that is stored is rounded. Integer
//! instructions see the bits of the rounded value, and what they make is one; additions that are there to round
//! (`granular`) are carried out as the program says, so that a value and its bits, used side by side, agree.
//!
//! *Lower*: every arithmetic result is rounded to the mantissa of the next lower precision, its exponent kept.

use crate::ptx::decode::op::{Approx, Inst, Op, Scalar};
use crate::ptx::machine::context::Context;
use crate::ptx::machine::launch::Mode;
use crate::ptx::machine::predicate::predicate;
use crate::ptx::machine::regs::*;
use crate::ptx::machine::warp::Warp;
use crate::ptx::scalar::convert::F32_NAN;
use crate::ptx::scalar::format::F32;
use crate::ptx::scalar::single;

/// True if the instruction was carried out here.
pub(crate) fn run(ctx: &mut Context, w: &mut Warp, i: &Inst, pc: u32, m: u32) -> bool {
    match ctx.options.mode {
        Mode::Exact => false,
        Mode::Float64 if ctx.granular.get(pc as usize).is_some_and(|g| *g) => as_written(ctx, w, i, m),
        Mode::Float64 => wide(ctx, w, i, m),
        Mode::Lower => lower(ctx, w, i, m),
    }
}

type Lanes64 = [f64; 32];

fn read(w: &Warp, register: u16) -> Lanes64 {
    let bits = &w.r[usize::from(register)];
    let wide = w.wide.get(usize::from(register)).copied().unwrap_or([0.0; 32]);
    let mut out = [0.0; 32];
    for lane in 0..32 {
        let carried = (wide[lane] as f32).to_bits() == bits[lane];
        out[lane] = if carried { wide[lane] } else { f64::from(f32::from_bits(bits[lane])) };
    }
    out
}

fn write(w: &mut Warp, register: u16, values: &Lanes64, m: u32) {
    let bits = map1(values, |v: f64| if v.is_nan() { F32_NAN } else { (v as f32).to_bits() });
    put(&mut w.r[usize::from(register)], &bits, m);
    carry(w, register, values, m);
}

fn carry(w: &mut Warp, register: u16, values: &Lanes64, m: u32) {
    if w.wide.is_empty() {
        w.wide = vec![[0.0; 32]; w.r.len()];
    }
    if let Some(row) = w.wide.get_mut(usize::from(register)) {
        put(row, values, m);
    }
}

/// A sum or a product with an addend, in f32.
fn as_written(ctx: &Context, w: &mut Warp, i: &Inst, m: u32) -> bool {
    let what = match i.op {
        Op::AddF32 => Scalar::AddF(single::Mode::RN),
        Op::SubF32 => Scalar::SubF(single::Mode::RN),
        Op::FmaF32 => Scalar::FmaF(single::Mode::RN),
        _ => match ctx.program.scalars.get(i.m as usize) {
            Some(op) => op.what,
            None => return false,
        },
    };
    let (a, b, c) = (&w.r[usize::from(i.a)], &w.r[usize::from(i.b)], &w.r[usize::from(i.c)]);
    let bits = match what {
        Scalar::AddF(mode) => map2(a, b, |x, y| single::add(x, y, mode)),
        Scalar::SubF(mode) => map2(a, b, |x, y| single::sub(x, y, mode)),
        Scalar::FmaF(mode) => map3(a, b, c, |x, y, z| single::fma(x, y, z, mode)),
        _ => return false,
    };
    put(&mut w.r[usize::from(i.d)], &bits, m);
    carry(w, i.d, &map1(&bits, |x| f64::from(f32::from_bits(x))), m);
    true
}

fn is_clamped(what: Option<Scalar>) -> bool {
    match what {
        Some(Scalar::AddF(mode) | Scalar::SubF(mode) | Scalar::MulF(mode) | Scalar::FmaF(mode)) => mode.sat,
        Some(Scalar::FloatToFloat { saturate, .. }) => saturate,
        _ => false,
    }
}

/// `.sat`: NaN becomes zero.
fn clamp(value: f64) -> f64 {
    if value.is_nan() { 0.0 } else { value.clamp(0.0, 1.0) }
}

fn wide(ctx: &Context, w: &mut Warp, i: &Inst, m: u32) -> bool {
    let one = |w: &Warp, f: fn(f64) -> f64| map1(&read(w, i.a), f);
    let two = |w: &Warp, f: fn(f64, f64) -> f64| map2(&read(w, i.a), &read(w, i.b), f);
    let three = |w: &Warp, f: fn(f64, f64, f64) -> f64| map3(&read(w, i.a), &read(w, i.b), &read(w, i.c), f);
    let what = match i.op {
        Op::Scalar => ctx.program.scalars.get(i.m as usize).map(|s| s.what),
        _ => None,
    };
    let values = match (i.op, what) {
        (Op::AddF32, _) | (_, Some(Scalar::AddF(_))) => two(w, |a, b| a + b),
        (Op::SubF32, _) | (_, Some(Scalar::SubF(_))) => two(w, |a, b| a - b),
        (Op::MulF32, _) | (_, Some(Scalar::MulF(_))) => two(w, |a, b| a * b),
        (Op::FmaF32, _) | (_, Some(Scalar::FmaF(_))) => three(w, f64::mul_add),
        (Op::DivF32, _) | (_, Some(Scalar::DivF(_) | Scalar::Approx(Approx::Div | Approx::DivFull, _))) => {
            two(w, |a, b| a / b)
        }
        (Op::SqrtF32, _) | (_, Some(Scalar::SqrtF(_) | Scalar::Approx(Approx::Sqrt, _))) => one(w, f64::sqrt),
        (Op::RcpF32, _) | (_, Some(Scalar::RcpF(_) | Scalar::Approx(Approx::Rcp, _))) => one(w, |a| 1.0 / a),
        (Op::MaxF32, _) => two(w, f64::max),
        (Op::MinF32, _) => two(w, f64::min),
        (Op::NegF32, _) | (_, Some(Scalar::NegF(_))) => one(w, |a| -a),
        (Op::AbsF32, _) | (_, Some(Scalar::AbsF(_))) => one(w, f64::abs),
        (_, Some(Scalar::FloatToFloat { from: F32, to: F32, .. })) => one(w, |a| a),
        (Op::Ex2, _) | (_, Some(Scalar::Approx(Approx::Ex2, _))) => one(w, f64::exp2),
        (_, Some(Scalar::Approx(Approx::Lg2, _))) => one(w, f64::log2),
        (_, Some(Scalar::Approx(Approx::Rsqrt, _))) => one(w, |a| 1.0 / a.sqrt()),
        (_, Some(Scalar::Approx(Approx::Sin, _))) => one(w, f64::sin),
        (_, Some(Scalar::Approx(Approx::Cos, _))) => one(w, f64::cos),
        (_, Some(Scalar::Approx(Approx::Tanh, _))) => one(w, f64::tanh),
        (Op::F64ToF32, _) => map1(&w.q[usize::from(i.a)], f64::from_bits),
        (Op::F32ToF64, _) => {
            let row = map1(&read(w, i.a), f64::to_bits);
            put(&mut w.q[usize::from(i.d)], &row, m);
            return true;
        }
        (Op::Mov32, _) => {
            // The bits move as they are; the value goes along if it belongs to them.
            let (row, values) = (w.r[usize::from(i.a)], read(w, i.a));
            put(&mut w.r[usize::from(i.d)], &row, m);
            carry(w, i.d, &values, m);
            return true;
        }
        (Op::Select32, _) => {
            let choose = predicate(&w.p, i.c);
            let (mut bits, mut values) = (w.r[usize::from(i.b)], read(w, i.b));
            put(&mut bits, &w.r[usize::from(i.a)], choose);
            put(&mut values, &read(w, i.a), choose);
            put(&mut w.r[usize::from(i.d)], &bits, m);
            carry(w, i.d, &values, m);
            return true;
        }
        _ => return false,
    };
    let values = if is_clamped(what) { map1(&values, clamp) } else { values };
    write(w, i.d, &values, m);
    true
}

/// Keeps `kept` bits of the mantissa, to nearest even. NaN and infinity stay.
fn round(bits: u32, mantissa: u32, kept: u32, infinity: u32) -> u32 {
    let unused = mantissa - kept;
    if bits & infinity == infinity {
        return bits;
    }
    let half = (1u32 << (unused - 1)) - 1 + (bits >> unused & 1);
    bits.wrapping_add(half) & !((1 << unused) - 1)
}

fn lower(ctx: &Context, w: &mut Warp, i: &Inst, m: u32) -> bool {
    use Scalar::*;
    let single = |bits: u32| round(bits, 23, 10, 0x7f80_0000);
    let double = |bits: u64| f64::from(f64::from_bits(bits) as f32).to_bits();
    let f = f32::from_bits;
    let (a, b, c) = (usize::from(i.a), usize::from(i.b), usize::from(i.c));
    match i.op {
        Op::AddF32 | Op::SubF32 | Op::MulF32 | Op::FmaF32 | Op::DivF32 | Op::SqrtF32 | Op::RcpF32 | Op::Ex2 => {
            let (ra, rb, rc) = (&w.r[a], &w.r[b], &w.r[c]);
            let out = match i.op {
                Op::AddF32 => map2(ra, rb, |x, y| f(x) + f(y)),
                Op::SubF32 => map2(ra, rb, |x, y| f(x) - f(y)),
                Op::MulF32 => map2(ra, rb, |x, y| f(x) * f(y)),
                Op::FmaF32 => map3(ra, rb, rc, |x, y, z| f(x).mul_add(f(y), f(z))),
                Op::DivF32 => map2(ra, rb, |x, y| f(x) / f(y)),
                Op::SqrtF32 => map1(ra, |x| f(x).sqrt()),
                Op::RcpF32 => map1(ra, |x| 1.0 / f(x)),
                _ => map1(ra, |x| f(x).exp2()),
            };
            let out = map1(&out, |x: f32| if x.is_nan() { F32_NAN } else { single(x.to_bits()) });
            put(&mut w.r[usize::from(i.d)], &out, m);
            true
        }
        Op::AddF64 | Op::SubF64 | Op::MulF64 | Op::FmaF64 | Op::DivF64 => {
            let d = f64::from_bits;
            let (ra, rb, rc) = (&w.q[a], &w.q[b], &w.q[c]);
            let out = match i.op {
                Op::AddF64 => map2(ra, rb, |x, y| d(x) + d(y)),
                Op::SubF64 => map2(ra, rb, |x, y| d(x) - d(y)),
                Op::MulF64 => map2(ra, rb, |x, y| d(x) * d(y)),
                Op::FmaF64 => map3(ra, rb, rc, |x, y, z| d(x).mul_add(d(y), d(z))),
                _ => map2(ra, rb, |x, y| d(x) / d(y)),
            };
            let out = map1(&out, |x: f64| double(x.to_bits()));
            put(&mut w.q[usize::from(i.d)], &out, m);
            true
        }
        Op::Scalar => {
            let Some(op) = ctx.program.scalars.get(i.m as usize) else { return false };
            let rounded: fn(u32) -> u32 = match op.what {
                AddF(_) | SubF(_) | MulF(_) | FmaF(_) | DivF(_) | RcpF(_) | SqrtF(_) | Approx(..) => {
                    |bits| round(bits, 23, 10, 0x7f80_0000)
                }
                HalfAdd(h, _, packed)
                | HalfSub(h, _, packed)
                | HalfMul(h, _, packed)
                | HalfFma(h, _, packed)
                | HalfEx2(h, _, packed)
                | HalfTanh(h, packed) => match (h, packed) {
                    (crate::ptx::scalar::Half::F16, _) => |bits| halves(bits, 10, 7, 0x7c00),
                    _ => |bits| halves(bits, 7, 3, 0x7f80),
                },
                _ => return false,
            };
            super::scalar::run(ctx, w, i, m);
            let out = map1(&w.r[usize::from(i.d)], rounded);
            put(&mut w.r[usize::from(i.d)], &out, m);
            true
        }
        _ => false,
    }
}

/// Both halves of a word.
fn halves(bits: u32, mantissa: u32, kept: u32, infinity: u32) -> u32 {
    let low = round(bits & 0xffff, mantissa, kept, infinity) & 0xffff;
    let high = round(bits >> 16, mantissa, kept, infinity) & 0xffff;
    high << 16 | low
}
