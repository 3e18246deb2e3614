//! Binary floating-point formats and one exact rounding step, in integers.
//!
//! Everything that has no native CPU instruction ends here: a value `significand * 2^exponent` with its sign is rounded
//! once into a format. The formats follow IEEE 754, except E4M3, which has no infinities and one NaN per sign.

/// Rounding of a result that the format cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// `.rn`, `.rni`: to nearest, ties to even.
    NearestEven,
    /// `.rna`: to nearest, ties away from zero.
    NearestAway,
    /// `.rz`, `.rzi`: towards zero.
    Zero,
    /// `.rm`, `.rmi`: towards minus infinity.
    Down,
    /// `.rp`, `.rpi`: towards plus infinity.
    Up,
}

/// A binary floating-point format of at most 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    pub exponent_bits: u32,
    pub mantissa_bits: u32,
    /// False for E4M3: the largest exponent holds numbers, and only the all-ones pattern is NaN.
    pub infinities: bool,
    /// The NaN that the hardware writes.
    pub nan: u64,
}

pub const F16: Format = Format { exponent_bits: 5, mantissa_bits: 10, infinities: true, nan: 0x7fff };
pub const BF16: Format = Format { exponent_bits: 8, mantissa_bits: 7, infinities: true, nan: 0x7fff };
pub const E4M3: Format = Format { exponent_bits: 4, mantissa_bits: 3, infinities: false, nan: 0x7f };
pub const E5M2: Format = Format { exponent_bits: 5, mantissa_bits: 2, infinities: true, nan: 0x7f };
pub const F32: Format = Format { exponent_bits: 8, mantissa_bits: 23, infinities: true, nan: 0x7fff_ffff };
pub const F64: Format = Format { exponent_bits: 11, mantissa_bits: 52, infinities: true, nan: 0xfff8_0000_0000_0000 };
/// TF32 without its 13 unused low bits: see `convert::f32_to_tf32`.
pub const TF32: Format = Format { exponent_bits: 8, mantissa_bits: 10, infinities: true, nan: 0x3_ffff };

/// A decoded number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    Nan,
    Infinite {
        negative: bool,
    },
    /// `significand * 2^exponent`; zero has significand 0 and keeps its sign.
    Finite {
        negative: bool,
        significand: u64,
        exponent: i32,
    },
}

impl Format {
    /// Exponent of the unit in the last place of subnormal numbers.
    pub const fn least_exponent(self) -> i32 {
        2 - (1 << (self.exponent_bits - 1)) - self.mantissa_bits as i32
    }

    pub const fn sign_bit(self) -> u64 {
        1 << (self.exponent_bits + self.mantissa_bits)
    }

    /// Bits of plus infinity; of E4M3, the bits of its NaN.
    pub const fn infinity(self) -> u64 {
        if self.infinities { ((1 << self.exponent_bits) - 1) << self.mantissa_bits } else { self.nan }
    }

    /// Bits of the largest finite number.
    pub const fn largest(self) -> u64 {
        self.infinity() - 1
    }

    pub fn decode(self, bits: u64) -> Number {
        let negative = bits & self.sign_bit() != 0;
        let magnitude = bits & (self.sign_bit() - 1);
        if magnitude >= self.infinity() {
            let infinite = self.infinities && magnitude == self.infinity();
            return if infinite { Number::Infinite { negative } } else { Number::Nan };
        }
        let fraction = magnitude & ((1 << self.mantissa_bits) - 1);
        match (magnitude >> self.mantissa_bits) as i32 {
            0 => Number::Finite { negative, significand: fraction, exponent: self.least_exponent() },
            field => Number::Finite {
                negative,
                significand: fraction | (1 << self.mantissa_bits),
                exponent: self.least_exponent() + field - 1,
            },
        }
    }

    /// Rounds `significand * 2^exponent` once. A caller that dropped a tail sets the lowest bit of a significand that
    /// has at least two bits more than the format. Overflow gives infinity or the largest number, as the mode asks;
    /// in E4M3 its NaN stands in for infinity.
    pub fn round(self, negative: bool, significand: u128, exponent: i32, rounding: Rounding) -> u64 {
        let sign = if negative { self.sign_bit() } else { 0 };
        if significand == 0 {
            return sign;
        }
        let length = 128 - significand.leading_zeros() as i32;
        let precision = self.mantissa_bits as i32 + 1;
        let unit = exponent.saturating_add(length - precision).max(self.least_exponent());
        let kept = shift_right_rounding(significand, unit.saturating_sub(exponent), negative, rounding);
        let field = unit.saturating_sub(self.least_exponent()) as u64;
        // A carry out of the significand and the step from subnormal to normal both fall out of this sum.
        let magnitude = (field << self.mantissa_bits).saturating_add(kept);
        sign | if magnitude >= self.infinity() || field >> self.exponent_bits != 0 {
            self.overflow(negative, rounding)
        } else {
            magnitude
        }
    }

    fn overflow(self, negative: bool, rounding: Rounding) -> u64 {
        match (rounding, negative) {
            (Rounding::Zero, _) | (Rounding::Down, false) | (Rounding::Up, true) => self.largest(),
            _ => self.infinity(),
        }
    }
}

/// `significand / 2^shift` rounded to an integer; a negative shift multiplies. The result fits 64 bits for the
/// significands that `Format::round` passes.
pub fn shift_right_rounding(significand: u128, shift: i32, negative: bool, rounding: Rounding) -> u64 {
    if shift <= 0 {
        return (significand << shift.unsigned_abs().min(127)) as u64;
    }
    // Beyond 127 the whole significand is below half a unit.
    let (kept, rest, half) = match shift {
        1..=127 => (significand >> shift, significand & ((1 << shift) - 1), 1u128 << (shift - 1)),
        _ => (0, u128::from(significand != 0), u128::MAX),
    };
    let up = match rounding {
        Rounding::NearestEven => rest > half || (rest == half && kept & 1 == 1),
        Rounding::NearestAway => rest >= half,
        Rounding::Zero => false,
        Rounding::Down => negative && rest != 0,
        Rounding::Up => !negative && rest != 0,
    };
    kept as u64 + u64::from(up)
}
