//! The sum of products of a tensor core, as an H200 computes it.
//!
//! Over one group of products (the whole k of an `mma` up to 16) and the addend: every product is exact; all terms are
//! shifted to the largest exponent among them and cut off, towards zero, 25 bits behind its point; the sum of what is left
//! is exact; it is cut off again to f32, or rounded to nearest even to f16. A product's exponent is the sum of its
//! factors' exponents, whatever its leading digit. A result that is too large for f32 is infinite, a sum that vanishes
//! is +0. This model gave every one of the recorded results bit for bit; other architectures differ in the number of
//! bits and in the size of a group.

use super::super::scalar::convert::{F32_NAN, round_to_f32};
use super::super::scalar::format::{F16, F32, Format, Number, Rounding};

/// Bits kept behind the point of the largest term.
const FRACTION: u32 = 25;
/// Exponent of zero: below every other, even in sums.
const NOTHING: i32 = -100_000;

/// One factor or addend, decoded.
#[derive(Clone, Copy, Debug, Default)]
pub struct Term {
    /// Signed significand.
    significand: i32,
    /// Exponent of the significand's hidden bit.
    exponent: i32,
    /// NaN or infinite: then `significand` is 0 for NaN and the sign for infinity.
    special: bool,
}

impl Term {
    pub fn new(bits: u32, format: Format) -> Self {
        match format.decode(u64::from(bits)) {
            Number::Nan => Term { significand: 0, exponent: 0, special: true },
            Number::Infinite { negative } => {
                Term { significand: if negative { -1 } else { 1 }, exponent: 0, special: true }
            }
            Number::Finite { significand: 0, .. } => Term { significand: 0, exponent: NOTHING, special: false },
            Number::Finite { negative, significand, exponent } => Term {
                significand: if negative { -(significand as i32) } else { significand as i32 },
                exponent: exponent + format.mantissa_bits as i32,
                special: false,
            },
        }
    }

    fn as_f64(self) -> f64 {
        match (self.special, self.significand) {
            (true, 0) => f64::NAN,
            (true, sign) => f64::from(sign) * f64::INFINITY,
            (false, value) => f64::from(value),
        }
    }
}

/// The sum before its last rounding: `sum * 2^exponent`, or what specials give.
enum Sum {
    Special(f64),
    Exact { sum: i64, exponent: i32 },
}

#[inline]
fn sum(a: &[Term], b: &[Term], c: Term, factor_bits: u32, addend_bits: u32) -> Sum {
    if c.special || a.iter().chain(b).any(|x| x.special) {
        // Only signs, infinities and NaN matter now, and f64 has their rules.
        let products: f64 = a.iter().zip(b).map(|(x, y)| x.as_f64() * y.as_f64()).sum();
        return Sum::Special(products + c.as_f64());
    }
    let greatest = a.iter().zip(b).fold(c.exponent, |most, (x, y)| most.max(x.exponent + y.exponent));
    // Significands of products have `factor_bits` bits behind the point, the addend has its own number.
    let aligned = |significand: i64, exponent: i32, bits: u32| {
        let magnitude = significand.unsigned_abs() << (FRACTION - bits) >> (greatest - exponent).clamp(0, 63);
        if significand < 0 { -(magnitude as i64) } else { magnitude as i64 }
    };
    let products: i64 = a
        .iter()
        .zip(b)
        .map(|(x, y)| {
            let product = i64::from(x.significand) * i64::from(y.significand);
            aligned(product, x.exponent + y.exponent, factor_bits)
        })
        .sum();
    let sum = products + aligned(i64::from(c.significand), c.exponent, addend_bits);
    Sum::Exact { sum, exponent: greatest - FRACTION as i32 }
}

/// `a . b + c` with an f32 result; `factor_bits` is the sum of the mantissa bits of both factors' formats.
#[inline]
pub fn to_f32(a: &[Term], b: &[Term], c: Term, factor_bits: u32, addend_bits: u32) -> u32 {
    match sum(a, b, c, factor_bits, addend_bits) {
        Sum::Special(value) if value.is_nan() => F32_NAN,
        Sum::Special(value) => (value as f32).to_bits(),
        Sum::Exact { sum: 0, .. } => 0,
        Sum::Exact { sum, exponent } => {
            // At most 31 bits times a power of two within f64.
            let value = sum as f64 * power_of_two(exponent);
            const TOO_LARGE: f64 = 340_282_366_920_938_463_463_374_607_431_768_211_456.0;
            if value.abs() >= TOO_LARGE {
                (value as f32).to_bits()
            } else {
                let bits = round_to_f32(value, Rounding::Zero).to_bits();
                if bits << 1 == 0 { 0 } else { bits }
            }
        }
    }
}

/// `a . b + c` with an f16 result.
#[inline]
pub fn to_f16(a: &[Term], b: &[Term], c: Term, factor_bits: u32, addend_bits: u32) -> u16 {
    match sum(a, b, c, factor_bits, addend_bits) {
        Sum::Special(value) if value.is_nan() => F16.nan as u16,
        Sum::Special(value) => F16.infinity() as u16 | if value < 0.0 { 0x8000 } else { 0 },
        Sum::Exact { sum, exponent } => {
            let magnitude = u128::from(sum.unsigned_abs());
            let bits = F16.round(sum < 0, magnitude, exponent, Rounding::NearestEven) as u16;
            if bits & 0x7fff == 0 { 0 } else { bits }
        }
    }
}

#[inline]
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent.clamp(-1022, 1023) + 1023) as u64) << 52)
}

/// The addend as f32.
pub fn addend_f32(bits: u32) -> Term {
    Term::new(bits, F32)
}
