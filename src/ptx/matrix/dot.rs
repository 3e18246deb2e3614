//! The sum of products of a tensor core, as an H200 computes it.
//!
//! Over one group of products (the whole k of an `mma` up to 16) and the addend: every product is exact; all terms are
//! shifted to the largest exponent among them and cut off, towards zero, 25 bits behind its point; the sum of what is left
//! is exact; it is cut off again to f32, or rounded to nearest even to f16. A product's exponent is the sum of its
//! factors' exponents, whatever its leading digit, and a subnormal factor has the exponent of the least normal one. A
//! result that is too large for f32 is infinite, a sum that vanishes is +0. This model gave every one of the recorded
//! results bit for bit; other architectures differ in the number of bits and in the size of a group.
//!
//! The sums run in f64, where each step above is exact: a scaled term has at most 27 bits before the point.

use super::super::scalar::convert::{F32_NAN, round_to_f32};
use super::super::scalar::format::{F16, F64, Number, Rounding};

/// Bits kept behind the point of the largest term.
const FRACTION: i32 = 25;
/// Exponent of zero: below every other, even in sums.
const NOTHING: i16 = -10_000;

/// Factors of one operand in order of k, row by row or column by column.
pub(super) struct Factors<const N: usize> {
    values: [f64; N],
    exponents: [i16; N],
    /// Whether a NaN or an infinity is among them.
    special: bool,
}

impl<const N: usize> Factors<N> {
    pub fn new() -> Self {
        Factors { values: [0.0; N], exponents: [NOTHING; N], special: false }
    }

    /// Stores a factor given as f32 bits; `least` is the exponent of the least normal number of its own format.
    #[inline]
    pub fn set(&mut self, index: usize, bits: u32, least: i16) {
        if let (Some(value), Some(place)) = (self.values.get_mut(index), self.exponents.get_mut(index)) {
            *value = f64::from(f32::from_bits(bits));
            *place = exponent(bits, least);
            self.special |= bits & 0x7f80_0000 == 0x7f80_0000;
        }
    }

    /// `length` factors from `start` on; fewer if there are none.
    #[inline]
    pub fn slice(&self, start: usize, length: usize) -> Slice<'_> {
        let range = start.min(N)..(start + length).min(N);
        Slice { values: &self.values[range.clone()], exponents: &self.exponents[range], special: self.special }
    }
}

/// The factors of one row or column.
#[derive(Clone, Copy)]
pub(super) struct Slice<'a> {
    values: &'a [f64],
    exponents: &'a [i16],
    special: bool,
}

impl<'a> Slice<'a> {
    /// Groups of at most `size` factors.
    pub fn groups(self, size: usize) -> impl Iterator<Item = Slice<'a>> {
        let (values, exponents) = (self.values.chunks(size.max(1)), self.exponents.chunks(size.max(1)));
        values.zip(exponents).map(move |(values, exponents)| Slice { values, exponents, special: self.special })
    }
}

#[inline]
fn exponent(bits: u32, least: i16) -> i16 {
    let field = ((bits >> 23) & 0xff) as i16 - 127;
    if bits << 1 == 0 { NOTHING } else { field.max(least) }
}

/// The sum before its last rounding.
enum Sum {
    Special(f64),
    /// `units * 2^exponent`, units an integer.
    Exact {
        units: f64,
        exponent: i32,
    },
}

/// `a . b + c`; `c` as f32 bits with the exponent of the least normal number of its own format.
#[inline]
fn sum(a: Slice, b: Slice, c: u32, least: i16) -> Sum {
    let addend = f64::from(f32::from_bits(c));
    if a.special || b.special || !addend.is_finite() {
        // f64 has the rules of infinities and NaN; finite products cannot overflow there.
        let products: f64 = a.values.iter().zip(b.values).map(|(x, y)| x * y).sum();
        if !(products + addend).is_finite() {
            return Sum::Special(products + addend);
        }
    }
    let sums = a.exponents.iter().zip(b.exponents).map(|(x, y)| x + y);
    let greatest = i32::from(sums.fold(exponent(c, least), i16::max));
    let scale = power_of_two(FRACTION - greatest);
    let mut units = [0.0; 4];
    let (mut x, mut y) = (a.values.chunks_exact(4), b.values.chunks_exact(4));
    for (x, y) in x.by_ref().zip(y.by_ref()) {
        for i in 0..4 {
            units[i] += cut(x[i] * y[i] * scale);
        }
    }
    for (x, y) in x.remainder().iter().zip(y.remainder()) {
        units[0] += cut(x * y * scale);
    }
    // Integers below 2^53: the order of these additions does not matter.
    let units = (units[0] + units[1]) + (units[2] + units[3]) + cut(addend * scale);
    Sum::Exact { units, exponent: greatest - FRACTION }
}

/// The integral part, for magnitudes below 2^51, in operations that vectorise.
#[inline]
fn cut(x: f64) -> f64 {
    const SHIFT: f64 = 4_503_599_627_370_496.0;
    let magnitude = x.abs();
    let nearest = (magnitude + SHIFT) - SHIFT;
    let whole = nearest - if nearest > magnitude { 1.0 } else { 0.0 };
    whole.copysign(x)
}

/// `a . b + c` with an f32 addend and an f32 result.
#[inline]
pub(super) fn to_f32(a: Slice, b: Slice, c: u32) -> u32 {
    const TOO_LARGE: f64 = 340_282_366_920_938_463_463_374_607_431_768_211_456.0;
    match sum(a, b, c, -126) {
        Sum::Special(value) if value.is_nan() => F32_NAN,
        Sum::Special(value) => (value as f32).to_bits(),
        Sum::Exact { units, exponent } => {
            let value = units * power_of_two(exponent);
            let bits = if value.abs() >= TOO_LARGE {
                (value as f32).to_bits()
            } else {
                round_to_f32(value, Rounding::Zero).to_bits()
            };
            if bits << 1 == 0 { 0 } else { bits }
        }
    }
}

/// `a . b + c` with an f16 addend, given as f32 bits, and an f16 result.
#[inline]
pub(super) fn to_f16(a: Slice, b: Slice, c: u32) -> u16 {
    match sum(a, b, c, -14) {
        Sum::Special(value) if value.is_nan() => F16.nan as u16,
        Sum::Special(value) => F16.infinity() as u16 | if value < 0.0 { 0x8000 } else { 0 },
        Sum::Exact { units, exponent: scale } => {
            let Number::Finite { negative, significand, exponent } = F64.decode(units.to_bits()) else { return 0 };
            let bits = F16.round(negative, u128::from(significand), exponent + scale, Rounding::NearestEven) as u16;
            if bits & 0x7fff == 0 { 0 } else { bits }
        }
    }
}

#[inline]
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent.clamp(-1022, 1023) + 1023) as u64) << 52)
}
