//! f16 and bf16 arithmetic, each result rounded once, and the packed x2 forms.
//!
//! f16: a product (22 bits) is exact in f32, a sum there is rounded to odd: the nearest sum is moved to its odd neighbour
//! on the side of the error, so that the lowest bit remembers a lost tail (see `single`). 24 bits are more than two
//! beyond the 11 of f16, so the one rounding that follows is that of the exact result; rounding the f32 sum of `fma`
//! plainly would round twice. bf16 has the exponents of f32: there the same is done in f64.

use super::compare::{Comparison, Extreme, extreme_half};
use super::convert::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_bf16_rounding, f32_to_f16, f32_to_f16_rounding};
use super::format::{BF16, F16, Format, Rounding};
use super::single::add_odd;

/// Which of the two 16-bit formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Half {
    F16,
    Bf16,
}

/// Modifiers of 16-bit arithmetic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HalfMode {
    /// `.ftz` (f16 only).
    pub ftz: bool,
    /// `.sat`: clamp to [0, 1], NaN to +0.
    pub sat: bool,
    /// `.relu`: negative results to +0, NaN stays.
    pub relu: bool,
}

const NAN: u16 = 0x7fff;

impl Half {
    pub const fn format(self) -> Format {
        match self {
            Half::F16 => F16,
            Half::Bf16 => BF16,
        }
    }

    const fn infinity(self) -> u16 {
        match self {
            Half::F16 => 0x7c00,
            Half::Bf16 => 0x7f80,
        }
    }

    /// Magnitudes below this are flushed: those that, rounded as if exponents had no end, stay below the least normal
    /// number (see `single`).
    const fn tiny(self) -> f32 {
        let (least, units) = match self {
            Half::F16 => (1.0 / 16_384.0, 4096.0),
            Half::Bf16 => (f32::MIN_POSITIVE, 512.0),
        };
        least - least / units
    }

    const fn one(self) -> u16 {
        match self {
            Half::F16 => 0x3c00,
            Half::Bf16 => 0x3f80,
        }
    }

    /// Exact.
    #[inline]
    pub fn to_f32(self, bits: u16) -> u32 {
        match self {
            Half::F16 => f16_to_f32(bits),
            Half::Bf16 => bf16_to_f32(bits),
        }
    }

    /// Nearest even.
    #[inline]
    pub fn from_f32(self, bits: u32) -> u16 {
        match self {
            Half::F16 => f32_to_f16(bits),
            Half::Bf16 => f32_to_bf16(bits),
        }
    }

    /// Exact.
    #[inline]
    pub fn to_f64(self, bits: u16) -> f64 {
        f64::from(f32::from_bits(self.to_f32(bits)))
    }

    #[inline]
    fn is_nan(self, bits: u16) -> bool {
        bits & 0x7fff > self.infinity()
    }

    /// `.ftz` on one value.
    #[inline]
    fn flush(self, bits: u16, ftz: bool) -> u16 {
        if ftz && bits & self.infinity() == 0 { bits & 0x8000 } else { bits }
    }

    /// From an f32 that is exact or rounded to odd.
    #[inline]
    fn finish(self, odd: u32, mode: HalfMode) -> u16 {
        let tiny = mode.ftz && f32::from_bits(odd).abs() < self.tiny();
        let bits = if tiny { (odd >> 16) as u16 & 0x8000 } else { self.from_f32(odd) };
        if mode.sat {
            if self.is_nan(bits) || bits & 0x8000 != 0 { 0 } else { bits.min(self.one()) }
        } else if mode.relu && bits & 0x8000 != 0 && !self.is_nan(bits) {
            0
        } else {
            bits
        }
    }

    #[inline]
    fn input(self, bits: u16, mode: HalfMode) -> f32 {
        f32::from_bits(self.to_f32(self.flush(bits, mode.ftz)))
    }

    #[inline]
    pub fn add(self, a: u16, b: u16, mode: HalfMode) -> u16 {
        // A sum of two numbers with 11 bits that is rounded to 24 and then to 11 is rounded as if once: 24 >= 2 * 11 + 2.
        self.finish((self.input(a, mode) + self.input(b, mode)).to_bits(), mode)
    }

    #[inline]
    pub fn sub(self, a: u16, b: u16, mode: HalfMode) -> u16 {
        self.add(a, b ^ 0x8000, mode)
    }

    #[inline]
    pub fn mul(self, a: u16, b: u16, mode: HalfMode) -> u16 {
        let (x, y) = (self.input(a, mode), self.input(b, mode));
        let odd = match self {
            Half::F16 => (x * y).to_bits(),
            Half::Bf16 => odd_f32(f64::from(x) * f64::from(y)),
        };
        self.finish(odd, mode)
    }

    #[inline]
    pub fn fma(self, a: u16, b: u16, c: u16, mode: HalfMode) -> u16 {
        let (x, y, z) = (self.input(a, mode), self.input(b, mode), self.input(c, mode));
        let odd = match self {
            Half::F16 => add_odd_f32(x * y, z),
            Half::Bf16 => odd_f32(add_odd(f64::from(x) * f64::from(y), f64::from(z))),
        };
        self.finish(odd, mode)
    }

    #[inline]
    pub fn neg(self, a: u16, ftz: bool) -> u16 {
        if self.is_nan(a) { NAN } else { self.flush(a, ftz) ^ 0x8000 }
    }

    #[inline]
    pub fn abs(self, a: u16, ftz: bool) -> u16 {
        if self.is_nan(a) { NAN } else { self.flush(a, ftz) & 0x7fff }
    }

    /// `min`, `max` with `.ftz`, `.NaN`, `.xorsign.abs`.
    #[inline]
    pub fn extreme(self, a: u16, b: u16, how: Extreme) -> u16 {
        extreme_half(self.flush(a, how.ftz), self.flush(b, how.ftz), self.infinity(), how)
    }

    /// `set`, `setp`.
    #[inline]
    pub fn compare(self, comparison: Comparison, a: u16, b: u16, ftz: bool) -> bool {
        comparison.floats(self.to_f64(self.flush(a, ftz)), self.to_f64(self.flush(b, ftz)))
    }

    /// What `set` writes in a 16-bit float for true and false.
    #[inline]
    pub const fn truth(self, holds: bool) -> u16 {
        if holds { self.one() } else { 0 }
    }

    /// `ex2.approx{.ftz}`: the f32 result cut off, as the hardware does; see `approx`.
    #[inline]
    pub fn ex2(self, a: u16, ftz: bool) -> u16 {
        let result = super::approx::ex2(self.to_f32(self.flush(a, ftz)), false);
        self.flush(self.cut(result), ftz)
    }

    /// `tanh.approx`, likewise.
    #[inline]
    pub fn tanh(self, a: u16) -> u16 {
        self.cut(super::approx::tanh(self.to_f32(a)))
    }

    /// The f32 result to 22 fraction bits and then cut off: this gives every recorded `ex2.approx.f16` bit for bit.
    #[inline]
    fn cut(self, single: u32) -> u16 {
        let rounded = single.wrapping_add(1) & !1;
        match self {
            _ if f32::from_bits(single).is_nan() => NAN,
            Half::F16 if single & 0x7fff_ffff >= 0x4780_0000 => self.infinity() | (single >> 16) as u16 & 0x8000,
            Half::F16 => f32_to_f16_rounding(rounded, Rounding::Zero),
            Half::Bf16 => f32_to_bf16_rounding(rounded, Rounding::Zero),
        }
    }
}

/// `x + y` rounded to odd in f32, without overflow or underflow: `single::add_odd` one size smaller.
#[inline]
fn add_odd_f32(x: f32, y: f32) -> u32 {
    let sum = x + y;
    let virtual_y = sum - x;
    let error = (x - (sum - virtual_y)) + (y - virtual_y);
    let bits = sum.to_bits();
    let inexact = error.abs() > 0.0;
    let away = (error > 0.0) == (sum > 0.0);
    let odd = if away { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
    if inexact & (bits & 1 == 0) { odd } else { bits }
}

/// A double rounded to odd in single precision; NaN and infinities pass.
#[inline]
fn odd_f32(value: f64) -> u32 {
    let nearest = value as f32;
    let bits = nearest.to_bits();
    let back = f64::from(nearest);
    if back == value || value.is_nan() {
        return bits;
    }
    let towards_zero = if back.abs() > value.abs() { bits.wrapping_sub(1) } else { bits };
    towards_zero | 1
}

/// Both halves of a register.
#[inline]
pub fn pairwise1(a: u32, f: impl Fn(u16) -> u16) -> u32 {
    u32::from(f((a >> 16) as u16)) << 16 | u32::from(f(a as u16))
}

/// Both halves of two registers.
#[inline]
pub fn pairwise2(a: u32, b: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
    u32::from(f((a >> 16) as u16, (b >> 16) as u16)) << 16 | u32::from(f(a as u16, b as u16))
}

/// Both halves of three registers.
#[inline]
pub fn pairwise3(a: u32, b: u32, c: u32, f: impl Fn(u16, u16, u16) -> u16) -> u32 {
    u32::from(f((a >> 16) as u16, (b >> 16) as u16, (c >> 16) as u16)) << 16
        | u32::from(f(a as u16, b as u16, c as u16))
}
