//! Conversions between integers and floats, between integer widths, and to integral floats.

use super::convert::F32_NAN;
use super::format::{F16, F32, F64, Format, Rounding};

/// An integer type of PTX: 8, 16, 32 or 64 bits. Values travel as the low bits of a `u64`. Other widths are read as the
/// nearest from 1 to 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Integer {
    pub bits: u32,
    pub signed: bool,
}

impl Integer {
    pub const fn new(bits: u32, signed: bool) -> Self {
        Integer { bits, signed }
    }

    const fn width(self) -> u32 {
        match self.bits {
            0 => 1,
            1..=64 => self.bits,
            _ => 64,
        }
    }

    /// Smallest and largest value.
    pub const fn range(self) -> (i128, i128) {
        let width = self.width();
        if self.signed { (-(1 << (width - 1)), (1 << (width - 1)) - 1) } else { (0, (1 << width) - 1) }
    }

    /// The value of the low bits.
    #[inline]
    pub const fn value(self, raw: u64) -> i128 {
        let unused = 64 - self.width();
        if self.signed { ((raw << unused) as i64 >> unused) as i128 } else { (raw << unused >> unused) as i128 }
    }

    /// The bits of a value, sign-extended to 64 for signed types.
    #[inline]
    pub const fn wrap(self, value: i128) -> u64 {
        self.value(value as u64) as u64
    }
}

/// `cvt{.sat}` between integers: the low bits, or with `.sat` the nearest value in range. The result is sign-extended
/// to 64 bits if the target is signed, as a wider destination register wants it.
#[inline]
pub fn integer_to_integer(raw: u64, from: Integer, to: Integer, saturate: bool) -> u64 {
    let value = from.value(raw);
    let (least, greatest) = to.range();
    to.wrap(if saturate { value.clamp(least, greatest) } else { value })
}

/// `cvt.pack.sat.<to>.s32 d, a, b` and, for 8-bit targets, `cvt.pack.sat.<to>.s32.b32 d, a, b, c`: `b` saturated in the
/// lowest part, `a` beside it, the low half of `c` above two bytes.
#[inline]
pub fn pack_saturated(a: u32, b: u32, c: u32, to: Integer) -> u32 {
    let from = Integer::new(32, true);
    let bits = if to.bits <= 8 { 8 } else { 16 };
    let part = |x: u32| integer_to_integer(u64::from(x), from, to, true) as u32 & (u32::MAX >> (32 - bits));
    let pair = part(a) << bits | part(b);
    if bits == 8 { c << 16 | pair } else { pair }
}

/// Rounds to an integral value, sign of zero kept.
#[inline]
pub fn round_integral(value: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::NearestEven => value.round_ties_even(),
        Rounding::NearestAway => value.round(),
        Rounding::Zero => value.trunc(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
    }
}

/// Float to integer; out of range saturates. `value` is the source widened exactly to f64 (subnormal f32 already
/// flushed under `.ftz`); `source_is_double` decides what NaN gives: 0, or the top bit alone if source or target
/// has 64 bits.
#[inline]
pub fn float_to_integer(value: f64, source_is_double: bool, to: Integer, rounding: Rounding) -> u64 {
    if value.is_nan() {
        return if source_is_double || to.bits == 64 { to.wrap(1 << (to.width() - 1)) } else { 0 };
    }
    let integral = round_integral(value, rounding);
    let (least, greatest) = to.range();
    // Rust's casts saturate; 64-bit targets are done there, narrower ones by the clamp.
    if to.signed {
        (integral as i64).clamp(least as i64, greatest as i64) as u64
    } else {
        (integral as u64).min(greatest as u64)
    }
}

/// `cvt.rzi.s32.f32`, the most frequent one.
#[inline]
pub fn f32_to_s32_rz(single: u32) -> u32 {
    f32::from_bits(single) as i32 as u32
}

/// `cvt.rzi.u32.f32`.
#[inline]
pub fn f32_to_u32_rz(single: u32) -> u32 {
    f32::from_bits(single) as u32
}

/// `cvt.rn.f32.s32`.
#[inline]
pub fn s32_to_f32(value: u32) -> u32 {
    (value as i32 as f32).to_bits()
}

/// `cvt.rn.f32.u32`.
#[inline]
pub fn u32_to_f32(value: u32) -> u32 {
    (value as f32).to_bits()
}

/// Integer to float with one rounding.
pub fn integer_to_float(raw: u64, from: Integer, to: Format, rounding: Rounding) -> u64 {
    let value = from.value(raw);
    to.round(value < 0, value.unsigned_abs(), 0, rounding)
}

/// `cvt.{rni,rzi,rmi,rpi}{.ftz}{.sat}.f32.f32`: f32 rounded to an integral f32.
#[inline]
pub fn f32_to_integral(single: u32, rounding: Rounding) -> u32 {
    let value = f32::from_bits(single);
    if value.is_nan() { F32_NAN } else { (round_integral(f64::from(value), rounding) as f32).to_bits() }
}

/// The same for f64.
#[inline]
pub fn f64_to_integral(double: u64, rounding: Rounding) -> u64 {
    let value = f64::from_bits(double);
    if value.is_nan() { super::double::quiet(double) } else { round_integral(value, rounding).to_bits() }
}

/// The same for f16.
pub fn f16_to_integral(half: u16, rounding: Rounding) -> u16 {
    let single = super::convert::f16_to_f32(half);
    super::convert::f32_to_f16(f32_to_integral(single, rounding))
}

/// Bits of a float widened exactly to f64, for `float_to_integer` and comparisons.
#[inline]
pub fn widen(raw: u64, from: Format) -> f64 {
    if from == F64 {
        f64::from_bits(raw)
    } else if from == F32 {
        f64::from(f32::from_bits(raw as u32))
    } else if from == F16 {
        f64::from(f32::from_bits(super::convert::f16_to_f32(raw as u16)))
    } else {
        f64::from_bits(super::convert::narrow(raw, from, F64, Rounding::NearestEven))
    }
}
