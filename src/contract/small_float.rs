//! 16-bit floating point: rounding from float64 to nearest, ties to even, and back.

/// The layout of a format with one sign bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    pub exponent_bits: u32,
    pub mantissa_bits: u32,
}

pub const F16: Format = Format { exponent_bits: 5, mantissa_bits: 10 };
pub const BF16: Format = Format { exponent_bits: 8, mantissa_bits: 7 };

impl Format {
    fn bias(self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    fn infinity(self) -> u64 {
        ((1 << self.exponent_bits) - 1) << self.mantissa_bits
    }

    /// The nearest value, ties to even; what is too large becomes infinite.
    pub fn encode(self, value: f64) -> u16 {
        let bits = value.to_bits();
        let sign = (bits >> 63) << (self.exponent_bits + self.mantissa_bits);
        if value.is_nan() {
            return (sign | self.infinity() | 1 << (self.mantissa_bits - 1)) as u16;
        }
        if value.is_infinite() {
            return (sign | self.infinity()) as u16;
        }
        if value == 0.0 {
            return sign as u16;
        }
        let exponent = ((bits >> 52) & 0x7ff) as i32 - 1023;
        // A denormal float64 is far below half of the smallest value of either format.
        if exponent < -1022 {
            return sign as u16;
        }
        let significand = (bits & ((1 << 52) - 1)) | 1 << 52;
        let least = 1 - self.bias();
        // Denormal results lose one more bit for each step below the least exponent.
        let shift = (52 - self.mantissa_bits as i32) + (least - exponent).max(0);
        if shift > 54 {
            return sign as u16;
        }
        let kept = significand >> shift;
        let rest = significand & ((1 << shift) - 1);
        let half = 1u64 << (shift - 1);
        let rounded = kept + u64::from(rest > half || rest == half && kept & 1 == 1);
        // The hidden bit adds one to the exponent field; a carry out of the mantissa does the same.
        let field = (exponent - least).max(0) as u64;
        let magnitude = (field << self.mantissa_bits) + rounded;
        (sign | magnitude.min(self.infinity())) as u16
    }

    /// The value, exactly.
    pub fn decode(self, bits: u16) -> f64 {
        let bits = u64::from(bits);
        let mantissa = bits & ((1 << self.mantissa_bits) - 1);
        let field = (bits >> self.mantissa_bits) & ((1 << self.exponent_bits) - 1);
        let negative = bits >> (self.exponent_bits + self.mantissa_bits) & 1 == 1;
        let magnitude = if field == (1 << self.exponent_bits) - 1 {
            if mantissa == 0 { f64::INFINITY } else { f64::NAN }
        } else {
            let hidden = if field == 0 { 0 } else { 1 << self.mantissa_bits };
            let exponent = field.max(1) as i32 - self.bias() - self.mantissa_bits as i32;
            (mantissa + hidden) as f64 * power_of_two(exponent)
        };
        if negative { -magnitude } else { magnitude }
    }
}

/// 2 to the power of `exponent`, for exponents of normal float64 values.
pub fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023).clamp(1, 2046) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_survives_the_way_there_and_back() {
        for format in [F16, BF16] {
            for bits in 0..=u16::MAX {
                let v = format.decode(bits);
                if !v.is_nan() {
                    assert_eq!(format.encode(v), bits, "{format:?} {bits:#06x} {v}");
                }
            }
        }
    }

    #[test]
    fn rounds_to_the_nearest_ties_to_even() {
        for format in [F16, BF16] {
            let top = format.infinity() as u16 - 1;
            for bits in 0..top {
                let (a, b) = (format.decode(bits), format.decode(bits + 1));
                let middle = (a + b) / 2.0;
                let even = bits + (bits & 1);
                assert_eq!(format.encode(middle), even, "{format:?} {bits:#06x}");
                assert_eq!(format.encode(middle - (b - a) / 1024.0), bits);
                assert_eq!(format.encode(-middle - (b - a) / 1024.0), (bits + 1) | 0x8000);
            }
        }
        assert_eq!(F16.decode(F16.encode(65519.0)), 65504.0);
        assert_eq!(F16.decode(F16.encode(65520.0)), f64::INFINITY);
        assert!(F16.decode(F16.encode(f64::NAN)).is_nan());
        assert_eq!(F16.encode(1e-300), 0);
        assert_eq!(F16.encode(-1e-320), 0x8000);
    }
}
