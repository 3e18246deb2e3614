//! The approximate instructions: `ex2 lg2 rcp rsqrt sqrt sin cos tanh div.approx` and `div.full`.
//!
//! The hardware reads tables that are not published. Here each function is computed in f64 (own polynomials, additions
//! and products only, so equal on every CPU) and rounded to f32; special values and the flushing of subnormals are the
//! hardware's. `BOUNDS` states the greatest distance to an H200 in units in the last place, as measured.

use super::convert::F32_NAN;
use super::format::Rounding;
use super::single::{Mode, flush, mul};

/// Greatest distance to the recorded results of an H200 (ULP of f32, f16 or bf16), for results that both sides hold
/// finite and normal. Sine and cosine are bounded absolutely, in units of 2^-24; see tests/data/ptx/numerics.
pub const BOUNDS: &[(&str, u32)] = &[
    ("rcp.approx", 1),
    ("rsqrt.approx", 1),
    ("sqrt.approx", 1),
    ("ex2.approx", 2),
    ("lg2.approx", 1),
    ("div.approx", 2),
    ("div.full", 2),
];

#[inline]
fn wide(bits: u32) -> f64 {
    f64::from(f32::from_bits(bits))
}

/// Rounds to f32, canonical NaN.
#[inline]
fn narrow(value: f64, ftz: bool) -> u32 {
    let bits = (value as f32).to_bits();
    let bits = if value.is_nan() { F32_NAN } else { bits };
    if ftz { flush(bits) } else { bits }
}

#[inline]
fn input(bits: u32, ftz: bool) -> f64 {
    wide(if ftz { flush(bits) } else { bits })
}

/// Nearest integer of |x| < 2^51, without a library call.
#[inline]
fn nearest(x: f64) -> f64 {
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    (x + SHIFT) - SHIFT
}

/// Horner's rule; coefficients from the highest power down.
#[inline]
fn polynomial<const N: usize>(x: f64, coefficients: [f64; N]) -> f64 {
    coefficients.into_iter().fold(0.0, |sum, c| sum * x + c)
}

/// 2^x for |x| <= 1000, relative error below 1e-13: Taylor's series of e^(r ln 2), |r| <= 1/2.
#[inline]
fn exp2(x: f64) -> f64 {
    let whole = nearest(x);
    let t = (x - whole) * std::f64::consts::LN_2;
    let series = polynomial(
        t,
        [
            1.0 / 39_916_800.0,
            1.0 / 3_628_800.0,
            1.0 / 362_880.0,
            1.0 / 40_320.0,
            1.0 / 5_040.0,
            1.0 / 720.0,
            1.0 / 120.0,
            1.0 / 24.0,
            1.0 / 6.0,
            0.5,
            1.0,
            1.0,
        ],
    );
    series * f64::from_bits(((whole as i64 + 1023) as u64) << 52)
}

/// log2 of a positive normal double: exponent plus the series of the inverse hyperbolic tangent.
#[inline]
fn log2(x: f64) -> f64 {
    // Mantissas from sqrt(2) up count to the next exponent, so that the argument stays near 1.
    let bits = x.to_bits().wrapping_add(0x000f_ffff_ffff_ffff - 0x0006_a09e_667f_3bcc);
    let exponent = (bits >> 52) as i64 - 1023;
    let mantissa = f64::from_bits(x.to_bits().wrapping_sub((exponent << 52) as u64));
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let q = s * s;
    let series = polynomial(
        q,
        [1.0 / 17.0, 1.0 / 15.0, 1.0 / 13.0, 1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 1.0 / 5.0, 1.0 / 3.0, 1.0],
    );
    exponent as f64 + 2.0 * std::f64::consts::LOG2_E * s * series
}

/// Sine and cosine of `turns` full turns.
#[inline]
fn sin_cos_turns(turns: f64) -> (f64, f64) {
    let quarter = nearest(turns * 4.0);
    let x = (turns - quarter * 0.25) * std::f64::consts::TAU;
    let q = x * x;
    let sin = x * polynomial(
        q,
        [
            1.0 / 6_227_020_800.0,
            -1.0 / 39_916_800.0,
            1.0 / 362_880.0,
            -1.0 / 5_040.0,
            1.0 / 120.0,
            -1.0 / 6.0,
            1.0,
        ],
    );
    let cos = polynomial(
        q,
        [
            -1.0 / 87_178_291_200.0,
            1.0 / 479_001_600.0,
            -1.0 / 3_628_800.0,
            1.0 / 40_320.0,
            -1.0 / 720.0,
            1.0 / 24.0,
            -0.5,
            1.0,
        ],
    );
    match quarter as i64 & 3 {
        0 => (sin, cos),
        1 => (cos, -sin),
        2 => (-sin, -cos),
        _ => (-cos, sin),
    }
}

/// `ex2.approx{.ftz}.f32`.
#[inline]
pub fn ex2(a: u32, ftz: bool) -> u32 {
    let x = input(a, ftz);
    // Outside the clamp the result is 0 or infinity in f32 all the same.
    let result = if x.is_nan() { x } else { exp2(x.clamp(-300.0, 300.0)) };
    narrow(result, ftz)
}

/// `lg2.approx{.ftz}.f32`.
#[inline]
pub fn lg2(a: u32, ftz: bool) -> u32 {
    let x = input(a, ftz);
    let result = if x == 0.0 {
        f64::NEG_INFINITY
    } else if x == f64::INFINITY {
        x
    } else if x > 0.0 {
        log2(x)
    } else {
        f64::NAN
    };
    narrow(result, ftz)
}

/// `rcp.approx{.ftz}.f32`.
#[inline]
pub fn rcp(a: u32, ftz: bool) -> u32 {
    narrow(1.0 / input(a, ftz), ftz)
}

/// `sqrt.approx{.ftz}.f32`.
#[inline]
pub fn sqrt(a: u32, ftz: bool) -> u32 {
    narrow(input(a, ftz).sqrt(), ftz)
}

/// `rsqrt.approx{.ftz}.f32`.
#[inline]
pub fn rsqrt(a: u32, ftz: bool) -> u32 {
    narrow(1.0 / input(a, ftz).sqrt(), ftz)
}

/// The argument of sine and cosine in turns: the hardware first multiplies by 1/(2 pi) in f32, towards zero. For large
/// arguments that product, not the table, decides the result.
#[inline]
fn turns(a: u32, ftz: bool) -> f64 {
    const INVERSE_TURN: u32 = 0x3e22_f983;
    let t = wide(mul(a, INVERSE_TURN, Mode { rounding: Rounding::Zero, ftz, sat: false }));
    // f32 beyond 2^23 holds whole turns only.
    if t.abs() < 8_388_608.0 {
        t
    } else if t.is_finite() {
        0.0
    } else {
        f64::NAN
    }
}

/// `sin.approx{.ftz}.f32`.
#[inline]
pub fn sin(a: u32, ftz: bool) -> u32 {
    let t = turns(a, ftz);
    if t == 0.0 { narrow(t, ftz) } else { narrow(sin_cos_turns(t).0, ftz) }
}

/// `cos.approx{.ftz}.f32`.
#[inline]
pub fn cos(a: u32, ftz: bool) -> u32 {
    narrow(sin_cos_turns(turns(a, ftz)).1, ftz)
}

/// `tanh.approx.f32`.
#[inline]
pub fn tanh(a: u32) -> u32 {
    let x = wide(a);
    let magnitude = x.abs();
    let value = if magnitude < 1e-4 {
        x - x * x * x / 3.0
    } else {
        let e = exp2(-2.0 * std::f64::consts::LOG2_E * magnitude.min(60.0));
        ((1.0 - e) / (1.0 + e)).copysign(x)
    };
    narrow(if x.is_nan() { x } else { value }, false)
}

/// `div.approx{.ftz}.f32`: a product with the reciprocal; divisors of 2^126 and more give zero, as the ISA says.
#[inline]
pub fn div(a: u32, b: u32, ftz: bool) -> u32 {
    div_full(a, b, ftz)
}

/// `div.full{.ftz}.f32`.
#[inline]
pub fn div_full(a: u32, b: u32, ftz: bool) -> u32 {
    narrow(input(a, ftz) / input(b, ftz), ftz)
}

/// `rcp.approx.ftz.f64`: the upper word of the reciprocal, the lower one zero.
#[inline]
pub fn rcp_f64(a: u64) -> u64 {
    upper_word(1.0 / flush_f64(a))
}

/// `rsqrt.approx.ftz.f64`: likewise.
#[inline]
pub fn rsqrt_ftz_f64(a: u64) -> u64 {
    upper_word(1.0 / flush_f64(a).sqrt())
}

/// `rsqrt.approx.f64`.
#[inline]
pub fn rsqrt_f64(a: u64) -> u64 {
    let value = 1.0 / f64::from_bits(a).sqrt();
    if value.is_nan() { super::double::F64_NAN } else { value.to_bits() }
}

#[inline]
fn flush_f64(a: u64) -> f64 {
    f64::from_bits(if a & 0x7ff0_0000_0000_0000 == 0 { a & 1 << 63 } else { a })
}

#[inline]
fn upper_word(value: f64) -> u64 {
    let bits = if value.is_nan() { 0x7fff_ffff_0000_0000 } else { value.to_bits() };
    flush_f64(bits).to_bits() & 0xffff_ffff_0000_0000
}
