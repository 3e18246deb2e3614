//! The approximate instructions: `ex2 lg2 rcp rsqrt sqrt sin cos tanh div.approx` and `div.full`.
//!
//! The hardware reads tables that are not published. Here each function is computed in f64 (own polynomials, additions
//! and products only, so equal on every CPU) and rounded to f32; special values and the flushing of subnormals are the
//! hardware's. `BOUNDS` states the greatest distance to an H200 in units in the last place, as measured.

use super::convert::F32_NAN;
use super::format::Rounding;
use super::single::{Mode, flush, mul};

/// How far a function here may be from the hardware: a result agrees if it is within `ulps` units in the last place
/// (f32, f16 or bf16; the last place of the upper word for the f64 ones) or within `absolute`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    pub function: &'static str,
    pub ulps: u64,
    pub absolute: f64,
}

const fn bound(function: &'static str, ulps: u64, absolute: f64) -> Bound {
    Bound { function, ulps, absolute }
}

/// Greatest distances to the results of an H200, over the inputs of tests/data/ptx/numerics (16,384 for each variant).
/// Special values and signs agree without exception.
pub const BOUNDS: &[Bound] = &[
    bound("rcp.approx", 1, 0.0),
    bound("rsqrt.approx", 1, 0.0),
    bound("sqrt.approx", 1, 0.0),
    bound("ex2.approx", 2, 0.0),
    bound("div.approx", 2, 0.0),
    bound("div.full", 2, 0.0),
    // 2^-21.5 on values up to 1.
    bound("sin.approx", 1, 3.4e-7),
    bound("cos.approx", 1, 3.4e-7),
    // Near 1 the logarithm is a difference: the error there is 2^-22 absolute, elsewhere two units.
    bound("lg2.approx", 2, 2.4e-7),
    // Relative error 2^-11 by the ISA; 2^-17 seen.
    bound("tanh.approx", 128, 0.0),
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

/// 1.5 * 2^52: adding it to a number below 2^51 rounds that to an integer, which then stands in the low bits.
const SHIFT: f64 = 6_755_399_441_055_744.0;

/// The greatest integer not above x, for 0 <= x < 2^51, without a library call.
#[inline]
fn whole(x: f64) -> f64 {
    let nearest = (x + SHIFT) - SHIFT;
    nearest - if nearest > x { 1.0 } else { 0.0 }
}

/// Horner's rule; coefficients from the highest power down.
#[inline]
fn polynomial<const N: usize>(x: f64, coefficients: [f64; N]) -> f64 {
    coefficients.into_iter().fold(0.0, |sum, c| sum * x + c)
}

/// 2^x for |x| <= 1000, relative error below 1e-13: Taylor's series of e^(r ln 2), |r| <= 1/2.
#[inline]
fn exp2(x: f64) -> f64 {
    let shifted = x + SHIFT;
    let t = (x - (shifted - SHIFT)) * std::f64::consts::LN_2;
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
    series * f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52)
}

/// log2 of a positive normal double: exponent plus the series of the inverse hyperbolic tangent.
#[inline]
fn log2(x: f64) -> f64 {
    // Mantissas from sqrt(2) up count to the next exponent, so that the argument stays near 1.
    let bits = x.to_bits().wrapping_add(0x000f_ffff_ffff_ffff - 0x0006_a09e_667f_3bcc);
    let field = bits >> 52;
    let mantissa = f64::from_bits(x.to_bits().wrapping_sub(field.wrapping_sub(1023) << 52));
    // 2^52 with the field in its low bits.
    let exponent = f64::from_bits(0x4330_0000_0000_0000 | field) - 4_503_599_627_371_519.0;
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let q = s * s;
    let series = polynomial(
        q,
        [1.0 / 17.0, 1.0 / 15.0, 1.0 / 13.0, 1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 1.0 / 5.0, 1.0 / 3.0, 1.0],
    );
    exponent + 2.0 * std::f64::consts::LOG2_E * s * series
}

/// sin(2 pi r) for 0 <= r <= 1/8 turn.
#[inline]
fn sin_octant(r: f64) -> f64 {
    let x = r * std::f64::consts::TAU;
    let series =
        [1.0 / 6_227_020_800.0, -1.0 / 39_916_800.0, 1.0 / 362_880.0, -1.0 / 5_040.0, 1.0 / 120.0, -1.0 / 6.0, 1.0];
    x * polynomial(x * x, series)
}

/// cos(2 pi r) for 0 <= r <= 1/8 turn.
#[inline]
fn cos_octant(r: f64) -> f64 {
    let x = r * std::f64::consts::TAU;
    let series = [
        -1.0 / 87_178_291_200.0,
        1.0 / 479_001_600.0,
        -1.0 / 3_628_800.0,
        1.0 / 40_320.0,
        -1.0 / 720.0,
        1.0 / 24.0,
        -0.5,
        1.0,
    ];
    polynomial(x * x, series)
}

/// sin(2 pi r) for 0 <= r <= 1/4 turn.
#[inline]
fn sin_quadrant(r: f64) -> f64 {
    let (sin, cos) = (sin_octant(r), cos_octant(0.25 - r));
    if r <= 0.125 { sin } else { cos }
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

/// The argument of sine and cosine: quadrant and fraction of the magnitude in turns. The hardware first multiplies by
/// 1/(2 pi) in f32, towards zero, and then keeps 25 bits behind the point; for large and for tiny arguments these two
/// steps, not the table, decide the result. The fraction of NaN and infinity is NaN.
#[inline]
fn quadrant(a: u32, ftz: bool) -> (f64, f64) {
    const INVERSE_TURN: u32 = 0x3e22_f983;
    const UNIT: f64 = 33_554_432.0;
    let turns = wide(mul(a, INVERSE_TURN, Mode { rounding: Rounding::Zero, ftz, sat: false })).abs();
    // f32 from 2^24 on holds whole turns only.
    let units = whole(if turns < 16_777_216.0 { turns * UNIT } else { 0.0 });
    let units = units - whole(units / UNIT) * UNIT;
    let quadrant = whole(units / (UNIT / 4.0));
    let nan = if turns.is_finite() { 0.0 } else { f64::NAN };
    (quadrant, (units - quadrant * (UNIT / 4.0)) / UNIT + nan)
}

/// `sin.approx{.ftz}.f32`.
#[inline]
pub fn sin(a: u32, ftz: bool) -> u32 {
    let (quadrant, rest) = quadrant(a, ftz);
    let odd = quadrant == 1.0 || quadrant == 3.0;
    let value = sin_quadrant(if odd { 0.25 - rest } else { rest });
    let sign = if value.is_nan() { 0 } else { a & 0x8000_0000 };
    narrow(if quadrant >= 2.0 { -value } else { value }, ftz) ^ sign
}

/// `cos.approx{.ftz}.f32`.
#[inline]
pub fn cos(a: u32, ftz: bool) -> u32 {
    let (quadrant, rest) = quadrant(a, ftz);
    let odd = quadrant == 1.0 || quadrant == 3.0;
    let value = sin_quadrant(if odd { rest } else { 0.25 - rest });
    narrow(if quadrant == 1.0 || quadrant == 2.0 { -value } else { value }, ftz)
}

/// `tanh.approx.f32`.
#[inline]
pub fn tanh(a: u32) -> u32 {
    let x = wide(a);
    let magnitude = x.abs();
    let value = if magnitude < 1e-4 {
        x * (1.0 - x * x / 3.0)
    } else {
        let e = exp2(-2.0 * std::f64::consts::LOG2_E * magnitude.min(60.0));
        ((1.0 - e) / (1.0 + e)).copysign(x)
    };
    narrow(if x.is_nan() { x } else { value }, false)
}

/// `div.approx{.ftz}.f32`: a product with the reciprocal, which is zero for divisors above 2^126, as the ISA says.
#[inline]
pub fn div(a: u32, b: u32, ftz: bool) -> u32 {
    let magnitude = b & 0x7fff_ffff;
    if magnitude > 0x7e80_0000 && magnitude <= 0x7f80_0000 {
        return mul(a, b & 0x8000_0000, Mode { ftz, ..Mode::RN });
    }
    div_full(a, b, ftz)
}

/// `div.full{.ftz}.f32`.
#[inline]
pub fn div_full(a: u32, b: u32, ftz: bool) -> u32 {
    narrow(input(a, ftz) / input(b, ftz), ftz)
}

/// `rcp.approx.ftz.f64`: reads and writes the upper words alone; the lower word of the result is zero.
#[inline]
pub fn rcp_f64(a: u64) -> u64 {
    let x = upper(a);
    if x.is_nan() { UPPER_NAN } else { upper((1.0 / x).to_bits()).to_bits() }
}

/// `rsqrt.approx.ftz.f64`: likewise.
#[inline]
pub fn rsqrt_ftz_f64(a: u64) -> u64 {
    let root = upper(a).sqrt();
    if root.is_nan() { UPPER_NAN } else { upper((1.0 / root).to_bits()).to_bits() }
}

const UPPER_NAN: u64 = 0x7fff_ffff_0000_0000;

/// The upper word as a double, subnormals flushed.
#[inline]
fn upper(a: u64) -> f64 {
    let kept = if a & 0x7ff0_0000_0000_0000 == 0 { a & 1 << 63 } else { a };
    f64::from_bits(kept & 0xffff_ffff_0000_0000)
}

/// `rsqrt.approx.f64`.
#[inline]
pub fn rsqrt_f64(a: u64) -> u64 {
    let x = f64::from_bits(a);
    if x.is_nan() {
        return super::double::quiet(a);
    }
    let value = 1.0 / x.sqrt();
    if value.is_nan() { super::double::F64_NAN } else { value.to_bits() }
}
