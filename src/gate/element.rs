//! Elements of buffers: their values, their distance in units in the last place, and what a lower precision makes of them.

use crate::contract::small_float::{BF16, F16};
use crate::ir::Scalar;

/// The little-endian bits of element `index`; 0 beyond the end.
pub fn bits(dtype: Scalar, bytes: &[u8], index: usize) -> u64 {
    let width = dtype.bytes() as usize;
    let mut word = [0u8; 8];
    if let (Some(to), Some(from)) = (word.get_mut(..width), bytes.get(index * width..(index + 1) * width)) {
        to.copy_from_slice(from);
    }
    u64::from_le_bytes(word)
}

/// Writes the bits of one element.
pub fn put(dtype: Scalar, bytes: &mut [u8], index: usize, value: u64) {
    let width = dtype.bytes() as usize;
    if let (Some(to), Some(from)) =
        (bytes.get_mut(index * width..(index + 1) * width), value.to_le_bytes().get(..width))
    {
        to.copy_from_slice(from);
    }
}

/// The value of an element; integers beyond 2^53 are rounded.
pub fn value(dtype: Scalar, bits: u64) -> f64 {
    match dtype {
        Scalar::F16 => F16.decode(bits as u16),
        Scalar::BF16 => BF16.decode(bits as u16),
        Scalar::F32 => f64::from(f32::from_bits(bits as u32)),
        Scalar::F64 => f64::from_bits(bits),
        Scalar::I8 => f64::from(bits as u8 as i8),
        Scalar::I16 => f64::from(bits as u16 as i16),
        Scalar::I32 => f64::from(bits as u32 as i32),
        Scalar::I64 => bits as i64 as f64,
        Scalar::Bool | Scalar::U8 | Scalar::U16 | Scalar::U32 | Scalar::U64 | Scalar::F8 => bits as f64,
    }
}

/// The element as people read it: enough digits to tell neighbours apart.
pub fn show(dtype: Scalar, bits: u64) -> String {
    match dtype {
        Scalar::F32 => format!("{:?}", f32::from_bits(bits as u32)),
        Scalar::F64 => format!("{:?}", f64::from_bits(bits)),
        Scalar::F16 | Scalar::BF16 => format!("{}", value(dtype, bits) as f32),
        Scalar::I8 | Scalar::I16 | Scalar::I32 => format!("{}", value(dtype, bits)),
        Scalar::I64 => format!("{}", bits as i64),
        Scalar::F8 => format!("{bits:#04x}"),
        Scalar::Bool | Scalar::U8 | Scalar::U16 | Scalar::U32 | Scalar::U64 => format!("{bits}"),
    }
}

/// Bits of the mantissa that are stored.
fn mantissa(dtype: Scalar) -> Option<u32> {
    match dtype {
        Scalar::F16 => Some(10),
        Scalar::BF16 => Some(7),
        Scalar::F32 => Some(23),
        Scalar::F64 => Some(52),
        _ => None,
    }
}

/// Half of the distance from 1 to the next larger number; `None` for integers.
pub fn unit_roundoff(dtype: Scalar) -> Option<f64> {
    mantissa(dtype).map(|m| 2f64.powi(-(m as i32) - 1))
}

/// The smallest positive number.
pub fn least(dtype: Scalar) -> f64 {
    match dtype {
        Scalar::F16 => 2f64.powi(-24),
        Scalar::BF16 => 2f64.powi(-133),
        Scalar::F32 => 2f64.powi(-149),
        Scalar::F64 => f64::from_bits(1),
        _ => 0.0,
    }
}

/// How many representable numbers lie between two; `None` for integers, and where one is not a number.
pub fn ulps(dtype: Scalar, a: u64, b: u64) -> Option<u64> {
    let width = 8 * dtype.bytes();
    mantissa(dtype)?;
    if value(dtype, a).is_nan() || value(dtype, b).is_nan() {
        return None;
    }
    // The order of the numbers as an order of integers: negative ones count downwards.
    let place = |bits: u64| -> i128 {
        let sign = bits >> (width - 1) & 1;
        let magnitude = i128::from(bits & !(1 << (width - 1)));
        if sign == 1 { -magnitude } else { magnitude }
    };
    u64::try_from((place(a) - place(b)).unsigned_abs()).ok()
}

/// Mantissa bits of the next lower precision: TF32 for f32, f32 for f64, bf16 for f16, and 3 bits for bf16.
pub fn lower_mantissa(dtype: Scalar) -> Option<u32> {
    match dtype {
        Scalar::F64 => Some(23),
        Scalar::F32 => Some(10),
        Scalar::F16 => Some(7),
        Scalar::BF16 => Some(3),
        _ => None,
    }
}

/// The element with as many mantissa bits as the next lower precision has: to nearest, ties to even. Numbers that are not
/// finite and integers stay.
pub fn lowered(dtype: Scalar, bits: u64) -> u64 {
    let (Some(full), Some(kept)) = (mantissa(dtype), lower_mantissa(dtype)) else { return bits };
    if !value(dtype, bits).is_finite() {
        return bits;
    }
    let drop = full - kept;
    let odd = bits >> drop & 1;
    let up = bits + (1 << (drop - 1)) - 1 + odd;
    let rounded = up >> drop << drop;
    // A carry may only reach infinity from the largest numbers.
    if value(dtype, rounded).is_finite() { rounded } else { bits >> drop << drop }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_numbers_across_zero() {
        let f = |v: f32| u64::from(v.to_bits());
        assert_eq!(ulps(Scalar::F32, f(1.0), f(1.0 + f32::EPSILON)), Some(1));
        assert_eq!(ulps(Scalar::F32, f(-0.0), f(0.0)), Some(0));
        assert_eq!(ulps(Scalar::F32, f(f32::from_bits(1)), f(-f32::from_bits(1))), Some(2));
        assert_eq!(ulps(Scalar::F32, f(f32::NAN), f(1.0)), None);
        assert_eq!(ulps(Scalar::I32, 1, 2), None);
        assert_eq!(ulps(Scalar::F64, 1f64.to_bits(), (1f64 + f64::EPSILON).to_bits()), Some(1));
        assert_eq!(ulps(Scalar::F16, 0x3c00, 0x3c02), Some(2));
    }

    #[test]
    fn lowering_rounds_to_nearest_even_and_stays_finite() {
        let low = |v: f32| f32::from_bits(lowered(Scalar::F32, u64::from(v.to_bits())) as u32);
        let step = 2f32.powi(-10);
        for (v, want) in [
            (1.0, 1.0),
            (1.0 + step, 1.0 + step),
            (1.0 + step / 2.0, 1.0),
            (1.0 + 1.5 * step, 1.0 + 2.0 * step),
            (1.0 + 0.51 * step, 1.0 + step),
            (-1.0 - 0.51 * step, -1.0 - step),
            (f32::INFINITY, f32::INFINITY),
        ] {
            assert_eq!(low(v), want, "{v}");
        }
        assert!(low(f32::MAX).is_finite() && low(f32::NAN).is_nan());
        assert_eq!(lowered(Scalar::I32, 12345), 12345);
    }

    #[test]
    fn integers_are_signed_as_their_types_are() {
        for (dtype, bits, text) in [
            (Scalar::I8, 0xff, "-1"),
            (Scalar::U8, 0xff, "255"),
            (Scalar::I64, u64::MAX, "-1"),
            (Scalar::U64, u64::MAX, "18446744073709551615"),
            (Scalar::F32, 0x3f80_0000, "1.0"),
        ] {
            assert_eq!(show(dtype, bits), text);
        }
        let mut bytes = vec![0u8; 6];
        put(Scalar::I16, &mut bytes, 1, 0xfffe);
        assert_eq!((bits(Scalar::I16, &bytes, 1), bits(Scalar::I16, &bytes, 9)), (0xfffe, 0));
    }
}
