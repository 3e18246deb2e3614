//! f32 arithmetic: `add`, `sub`, `mul`, `fma`, `div`, `sqrt`, `rcp` with `.rn .rz .rm .rp`, `.ftz`, `.sat`.
//!
//! Sums and products go through f64 rounded to odd: a double with 53 bits whose lowest bit remembers any lost tail
//! rounds to 24 bits (fewer for subnormals) in every direction exactly as the infinite result would. That needs no fused
//! multiply-add of the CPU, and its lane loops vectorise.

use super::convert::{F32_NAN, round_to_f32};
use super::format::Rounding;

/// Modifiers of an f32 instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    pub rounding: Rounding,
    /// `.ftz`: subnormal inputs and results become zero of the same sign.
    pub ftz: bool,
    /// `.sat`: the result is clamped to [0, 1]; NaN becomes +0.
    pub sat: bool,
}

impl Mode {
    /// `.rn` without modifiers.
    pub const RN: Mode = Mode { rounding: Rounding::NearestEven, ftz: false, sat: false };
    /// `.rn.ftz`.
    pub const RN_FTZ: Mode = Mode { rounding: Rounding::NearestEven, ftz: true, sat: false };
}

/// `.ftz` on one value.
#[inline]
pub fn flush(bits: u32) -> u32 {
    if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits }
}

/// `.sat` on one value.
#[inline]
pub fn saturate(bits: u32) -> u32 {
    let value = f32::from_bits(bits);
    // NaN fails both comparisons.
    if value >= 1.0 {
        0x3f80_0000
    } else if value > 0.0 {
        bits
    } else {
        0
    }
}

#[inline]
fn input(bits: u32, mode: Mode) -> f64 {
    f64::from(f32::from_bits(if mode.ftz { flush(bits) } else { bits }))
}

/// From a result rounded to odd to the register.
#[inline]
fn output(odd: f64, mode: Mode) -> u32 {
    let tiny = mode.ftz && is_tiny(odd.abs(), 1.0, odd.is_sign_negative(), mode.rounding);
    finish(if tiny { 0f32.copysign(odd as f32) } else { round_to_f32(odd, mode.rounding) }, mode)
}

/// Whether the magnitude `numerator / divisor`, rounded to 24 bits as if exponents had no end, is below the least normal
/// number. That is what `.ftz` flushes: the rounding as a subnormal number plays no part.
#[inline]
fn is_tiny(numerator: f64, divisor: f64, negative: bool, rounding: Rounding) -> bool {
    const LEAST: f64 = f32::MIN_POSITIVE as f64;
    const HALF_BELOW: f64 = LEAST - LEAST / 33_554_432.0;
    const ONE_BELOW: f64 = LEAST - LEAST / 16_777_216.0;
    // The thresholds have 25 bits, a divisor 24: the products are exact.
    match (rounding, negative) {
        (Rounding::NearestEven | Rounding::NearestAway, _) => numerator < HALF_BELOW * divisor,
        (Rounding::Up, false) | (Rounding::Down, true) => numerator <= ONE_BELOW * divisor,
        _ => numerator < LEAST * divisor,
    }
}

#[inline]
fn finish(value: f32, mode: Mode) -> u32 {
    let bits = if value.is_nan() { F32_NAN } else { value.to_bits() };
    let bits = if mode.ftz { flush(bits) } else { bits };
    if mode.sat { saturate(bits) } else { bits }
}

/// `x + y` rounded to odd: the nearest sum, moved to the odd neighbour on the side of the error if there is one.
#[inline]
pub fn add_odd(x: f64, y: f64) -> f64 {
    let sum = x + y;
    let virtual_y = sum - x;
    let error = (x - (sum - virtual_y)) + (y - virtual_y);
    let bits = sum.to_bits();
    // An infinite or NaN sum has a NaN error, which is neither.
    let inexact = error.abs() > 0.0;
    let away = (error > 0.0) == (sum > 0.0);
    let odd = if away { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
    f64::from_bits(if inexact && bits & 1 == 0 { odd } else { bits })
}

/// Minus zero where opposite addends cancel and the mode rounds down.
#[inline]
fn cancelled(sum: f64, x: f64, y: f64, rounding: Rounding) -> f64 {
    let down = rounding == Rounding::Down && sum == 0.0 && x.is_sign_negative() != y.is_sign_negative();
    if down { -0.0 } else { sum }
}

#[inline]
pub fn add(a: u32, b: u32, mode: Mode) -> u32 {
    let (x, y) = (input(a, mode), input(b, mode));
    output(cancelled(add_odd(x, y), x, y, mode.rounding), mode)
}

/// `atom.add.f32`, `red.add.f32`: the new value of a cell. In global memory subnormals are flushed, in shared memory not.
#[inline]
pub fn add_atomic(cell: u32, b: u32, shared: bool) -> u32 {
    add(cell, b, if shared { Mode::RN } else { Mode::RN_FTZ })
}

#[inline]
pub fn sub(a: u32, b: u32, mode: Mode) -> u32 {
    add(a, b ^ 0x8000_0000, mode)
}

#[inline]
pub fn mul(a: u32, b: u32, mode: Mode) -> u32 {
    // 48 bits: exact in f64.
    output(input(a, mode) * input(b, mode), mode)
}

#[inline]
pub fn fma(a: u32, b: u32, c: u32, mode: Mode) -> u32 {
    let (product, addend) = (input(a, mode) * input(b, mode), input(c, mode));
    output(cancelled(add_odd(product, addend), product, addend, mode.rounding), mode)
}

/// `fma.rn.f32`, the most frequent instruction of numeric kernels.
#[inline]
pub fn fma_rn(a: u32, b: u32, c: u32) -> u32 {
    fma(a, b, c, Mode::RN)
}

/// `fma.rn.f32` of a whole warp. Nearly always the f64 sum rounds to f32 as the exact one does; a warp in which some sum
/// lies halfway between two f32, or among subnormal ones, is done again with the sums rounded to odd.
#[inline]
pub fn fma_rn_lanes(a: &[u32; 32], b: &[u32; 32], c: &[u32; 32], d: &mut [u32; 32]) {
    const DROPPED: u64 = 0x1fff_ffff;
    const HALFWAY: u64 = 0x1000_0000;
    // Bits of 2^-126 as a double, less one.
    const SUBNORMAL: u64 = 0x380f_ffff_ffff_ffff;
    let mut doubtful = 0u64;
    let mut results = [0; 32];
    for lane in 0..32 {
        let wide = |bits: u32| f64::from(f32::from_bits(bits));
        let sum = wide(a[lane]) * wide(b[lane]) + wide(c[lane]);
        let bits = sum.to_bits();
        // Each difference borrows from bit 63 in the doubtful case alone; zero is not one of them.
        let halfway = ((bits & DROPPED) ^ HALFWAY).wrapping_sub(1);
        let tiny = ((bits & (u64::MAX >> 1)).wrapping_sub(1) & (u64::MAX >> 1)).wrapping_sub(SUBNORMAL);
        doubtful |= halfway | tiny;
        results[lane] = finish(sum as f32, Mode::RN);
    }
    if doubtful >> 63 != 0 {
        for lane in 0..32 {
            results[lane] = fma_rn(a[lane], b[lane], c[lane]);
        }
    }
    *d = results;
}

/// `add.rn.f32` by the CPU's own addition.
#[inline]
pub fn add_rn(a: u32, b: u32) -> u32 {
    finish(f32::from_bits(a) + f32::from_bits(b), Mode::RN)
}

/// `sub.rn.f32`.
#[inline]
pub fn sub_rn(a: u32, b: u32) -> u32 {
    finish(f32::from_bits(a) - f32::from_bits(b), Mode::RN)
}

/// `mul.rn.f32`.
#[inline]
pub fn mul_rn(a: u32, b: u32) -> u32 {
    finish(f32::from_bits(a) * f32::from_bits(b), Mode::RN)
}

/// A nearest result moved in the direction of the mode; `excess` is the sign of (nearest - exact).
#[inline]
fn directed(nearest: f32, excess: f64, rounding: Rounding) -> f32 {
    if rounding == Rounding::NearestEven || excess == 0.0 || excess.is_nan() {
        return nearest;
    }
    // A double beside `nearest` on the exact side, less than half a unit away, rounds as the exact value does.
    let wide = f64::from(nearest);
    let nudge = if nearest.is_infinite() {
        return round_to_f32(if nearest > 0.0 { f64::MAX } else { f64::MIN }, rounding);
    } else if wide == 0.0 {
        f64::MIN_POSITIVE
    } else {
        (wide * f64::EPSILON).abs()
    };
    let beside = if excess > 0.0 { wide - nudge } else { wide + nudge };
    let rounded = round_to_f32(beside, rounding);
    if rounded == 0.0 { rounded.copysign(nearest) } else { rounded }
}

pub fn div(a: u32, b: u32, mode: Mode) -> u32 {
    let (x, y) = (input(a, mode), input(b, mode));
    let quotient = x as f32 / y as f32;
    let exact_overflow = quotient.is_infinite() && y != 0.0 && x.is_finite();
    // 24 times 24 bits: the product and thus the comparison is exact. The sign of y turns the inequality.
    let excess = if exact_overflow {
        f64::from(quotient)
    } else if quotient.is_finite() && y.is_finite() {
        (f64::from(quotient) * y - x) * y.signum()
    } else {
        0.0
    };
    let tiny =
        mode.ftz && quotient.is_finite() && is_tiny(x.abs(), y.abs(), quotient.is_sign_negative(), mode.rounding);
    let rounded = if tiny { 0f32.copysign(quotient) } else { directed(quotient, excess, mode.rounding) };
    finish(rounded, mode)
}

pub fn rcp(a: u32, mode: Mode) -> u32 {
    div(0x3f80_0000, a, mode)
}

pub fn sqrt(a: u32, mode: Mode) -> u32 {
    let x = input(a, mode);
    let root = (x as f32).sqrt();
    let wide = f64::from(root);
    let excess = if wide.is_finite() { wide * wide - x } else { 0.0 };
    finish(directed(root, excess, mode.rounding), mode)
}

/// `div.rn.f32`.
#[inline]
pub fn div_rn(a: u32, b: u32) -> u32 {
    finish(f32::from_bits(a) / f32::from_bits(b), Mode::RN)
}

/// `sqrt.rn.f32`.
#[inline]
pub fn sqrt_rn(a: u32) -> u32 {
    finish(f32::from_bits(a).sqrt(), Mode::RN)
}

/// `abs{.ftz}.f32`; NaN becomes canonical, as in `neg`.
#[inline]
pub fn abs(a: u32, ftz: bool) -> u32 {
    let bits = if ftz { flush(a) } else { a };
    if f32::from_bits(a).is_nan() { F32_NAN } else { bits & 0x7fff_ffff }
}

/// `neg{.ftz}.f32`.
#[inline]
pub fn neg(a: u32, ftz: bool) -> u32 {
    let bits = if ftz { flush(a) } else { a };
    if f32::from_bits(a).is_nan() { F32_NAN } else { bits ^ 0x8000_0000 }
}

/// `copysign.f32 d, a, b`: the magnitude of `b` with the sign of `a`.
#[inline]
pub fn copysign(a: u32, b: u32) -> u32 {
    (a & 0x8000_0000) | (b & 0x7fff_ffff)
}
