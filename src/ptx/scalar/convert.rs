//! Conversions between floating-point formats: `cvt` with its roundings and `.sat`, `.relu`, `.satfinite`, `.ftz`.
//!
//! Values are register bits: `u16` for f16 and bf16, `u32` for f32 and tf32, `u64` for f64, `u8` for FP8. The hot ones
//! (f16 and bf16 from and to f32, nearest even) are free of branches.

use super::format::{BF16, E4M3, E5M2, F16, F32, F64, Format, Number, Rounding, TF32};

pub const F32_NAN: u32 = 0x7fff_ffff;

/// f16 -> f32, exact. Every NaN becomes the canonical one.
#[inline]
pub fn f16_to_f32(half: u16) -> u32 {
    let sign = (u32::from(half) & 0x8000) << 16;
    let magnitude = (u32::from(half) & 0x7fff) << 13;
    // 2^112 moves the exponent from bias 15 to bias 127 and normalises subnormals.
    let scaled = (f32::from_bits(magnitude) * f32::from_bits(0x7780_0000)).to_bits();
    let finite = sign | scaled;
    let infinite = sign | 0x7f80_0000;
    if magnitude > 0x0f80_0000 {
        F32_NAN
    } else if magnitude == 0x0f80_0000 {
        infinite
    } else {
        finite
    }
}

/// f32 -> f16, nearest even.
#[inline]
pub fn f32_to_f16(single: u32) -> u16 {
    let sign = ((single >> 16) & 0x8000) as u16;
    let magnitude = single & 0x7fff_ffff;
    let normal = magnitude.wrapping_add(0xfff + ((magnitude >> 13) & 1)).wrapping_sub(112 << 23) >> 13;
    // Adding 0.5 leaves a unit of 2^-24, that of f16 subnormals: the addition rounds.
    let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0x3f00_0000);
    let finite = if magnitude < 0x3880_0000 { subnormal } else { normal } as u16;
    if magnitude > 0x7f80_0000 {
        0x7fff
    } else if magnitude >= 0x477f_f000 {
        sign | 0x7c00
    } else {
        sign | finite
    }
}

/// bf16 -> f32, exact. Unlike f16 this keeps the bits of a NaN: the instruction is a shift.
#[inline]
pub fn bf16_to_f32(half: u16) -> u32 {
    u32::from(half) << 16
}

/// f32 -> bf16, nearest even.
#[inline]
pub fn f32_to_bf16(single: u32) -> u16 {
    let rounded = (single.wrapping_add(0x7fff + ((single >> 16) & 1)) >> 16) as u16;
    if single & 0x7fff_ffff > 0x7f80_0000 { 0x7fff } else { rounded }
}

/// f32 -> f64, exact; a NaN becomes quiet and keeps its sign and payload.
#[inline]
pub fn f32_to_f64(single: u32) -> u64 {
    let value = f64::from(f32::from_bits(single));
    if value.is_nan() {
        let (sign, payload) = (u64::from(single & 0x8000_0000) << 32, u64::from(single & 0x007f_ffff) << 29);
        sign | payload | 0x7ff8_0000_0000_0000
    } else {
        value.to_bits()
    }
}

/// What `cvt.ftz.f64.f32` writes for NaN: it passes through f32 arithmetic.
pub const F64_NAN_OF_FTZ: u64 = 0x7fff_ffff_e000_0000;

/// A NaN in another format, quiet, with its sign and the part of its payload that fits.
fn resize_nan(bits: u64, from: Format, to: Format) -> u64 {
    let payload = bits & ((1 << from.mantissa_bits) - 1);
    let moved = if to.mantissa_bits >= from.mantissa_bits {
        payload << (to.mantissa_bits - from.mantissa_bits)
    } else {
        payload >> (from.mantissa_bits - to.mantissa_bits)
    };
    let sign = if bits & from.sign_bit() != 0 { to.sign_bit() } else { 0 };
    sign | to.infinity() | 1 << (to.mantissa_bits - 1) | moved
}

/// f64 -> f32 in any rounding. Conversions from f64 keep sign and payload of a NaN.
#[inline]
pub fn f64_to_f32(double: u64, rounding: Rounding) -> u32 {
    let value = f64::from_bits(double);
    if value.is_nan() { resize_nan(double, F64, F32) as u32 } else { round_to_f32(value, rounding).to_bits() }
}

/// Rounds a double to single precision: nearest natively, otherwise one step from the nearest. NaN stays NaN.
#[inline]
pub fn round_to_f32(value: f64, rounding: Rounding) -> f32 {
    let nearest = value as f32;
    let back = f64::from(nearest);
    match rounding {
        Rounding::NearestEven => nearest,
        Rounding::Zero if back.abs() > value.abs() => step_towards_zero(nearest),
        Rounding::Down if back > value => step_down(nearest),
        Rounding::Up if back < value => -step_down(-nearest),
        Rounding::NearestAway => {
            let bits = narrow(value.to_bits(), F64, F32, Rounding::NearestAway);
            f32::from_bits(bits as u32)
        }
        _ => nearest,
    }
}

#[inline]
fn step_towards_zero(value: f32) -> f32 {
    f32::from_bits(value.to_bits().wrapping_sub(1))
}

#[inline]
fn step_down(value: f32) -> f32 {
    let bits = value.to_bits();
    if value > 0.0 {
        f32::from_bits(bits - 1)
    } else if value == 0.0 {
        f32::from_bits(0x8000_0001)
    } else {
        f32::from_bits(bits.wrapping_add(1))
    }
}

/// Any format to any other with one rounding; NaN gives the target's canonical NaN.
pub fn narrow(bits: u64, from: Format, to: Format, rounding: Rounding) -> u64 {
    match from.decode(bits) {
        Number::Nan => to.nan,
        Number::Infinite { negative } => to.infinity() | if negative { to.sign_bit() } else { 0 },
        Number::Finite { negative, significand, exponent } => {
            to.round(negative, u128::from(significand), exponent, rounding)
        }
    }
}

/// Modifiers of a conversion to a small format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clamp {
    /// `.relu`: negative results become +0; NaN stays canonical NaN.
    pub relu: bool,
    /// `.satfinite`: infinities and overflow become the largest number of the same sign.
    pub satfinite: bool,
}

/// `cvt.<rounding>{.relu}{.satfinite}.<to>.<from>` between f64, f32, f16, bf16 and to FP8.
pub fn convert(bits: u64, from: Format, to: Format, rounding: Rounding, clamp: Clamp) -> u64 {
    let result = narrow(bits, from, to, rounding);
    let magnitude = result & (to.sign_bit() - 1);
    let negative = result & to.sign_bit() != 0;
    let source_is_nan = matches!(from.decode(bits), Number::Nan);
    if source_is_nan {
        return to.nan;
    }
    if clamp.relu && negative {
        return 0;
    }
    if clamp.satfinite && magnitude >= to.infinity() {
        return to.largest() | (result & to.sign_bit());
    }
    result
}

/// `.sat` on a float of any format: clamped to [0, 1], NaN to +0.
pub fn saturate(bits: u64, format: Format) -> u64 {
    let one = (1u64 << (format.exponent_bits - 1)).wrapping_sub(1) << format.mantissa_bits;
    match format.decode(bits) {
        Number::Nan => 0,
        _ if bits & format.sign_bit() != 0 => 0,
        _ => bits.min(one),
    }
}

/// f32 -> f16 in any rounding.
#[inline]
pub fn f32_to_f16_rounding(single: u32, rounding: Rounding) -> u16 {
    match rounding {
        Rounding::NearestEven => f32_to_f16(single),
        _ => narrow(u64::from(single), F32, F16, rounding) as u16,
    }
}

/// f32 -> bf16 in any rounding.
#[inline]
pub fn f32_to_bf16_rounding(single: u32, rounding: Rounding) -> u16 {
    match rounding {
        Rounding::NearestEven => f32_to_bf16(single),
        _ => narrow(u64::from(single), F32, BF16, rounding) as u16,
    }
}

/// `cvt.{rn,rz}{.relu}.tf32.f32`: a 32-bit container whose 13 low bits are zero. NaN gives 0x7fffe000.
pub fn f32_to_tf32(single: u32, rounding: Rounding, clamp: Clamp) -> u32 {
    if rounding == Rounding::NearestAway {
        return f32_to_tf32_rna(single);
    }
    (convert(u64::from(single), F32, TF32, rounding, clamp) as u32) << 13
}

/// `cvt.rna.tf32.f32`. A NaN or infinity is only cut off: a NaN with a payload in its low bits alone becomes infinite.
#[inline]
pub fn f32_to_tf32_rna(single: u32) -> u32 {
    let special = single & 0x7f80_0000 == 0x7f80_0000;
    (if special { single } else { single.wrapping_add(0x1000) }) & 0xffff_e000
}

/// f16 -> f64, exact; a NaN becomes quiet and keeps its sign and payload.
#[inline]
pub fn f16_to_f64(half: u16) -> u64 {
    let nan = half & 0x7fff > 0x7c00;
    if nan { resize_nan(u64::from(half), F16, F64) } else { f32_to_f64(f16_to_f32(half)) }
}

/// bf16 -> f64, exact.
#[inline]
pub fn bf16_to_f64(half: u16) -> u64 {
    f32_to_f64(bf16_to_f32(half))
}

/// f64 -> f16 with one rounding.
pub fn f64_to_f16(double: u64, rounding: Rounding) -> u16 {
    narrow_double(double, F16, rounding) as u16
}

/// f64 -> bf16 with one rounding.
pub fn f64_to_bf16(double: u64, rounding: Rounding) -> u16 {
    narrow_double(double, BF16, rounding) as u16
}

fn narrow_double(double: u64, to: Format, rounding: Rounding) -> u64 {
    let nan = f64::from_bits(double).is_nan();
    if nan { resize_nan(double, F64, to) } else { narrow(double, F64, to, rounding) }
}

/// f32 -> E4M3 or E5M2, nearest even with `.satfinite`, as every FP8 conversion of the ISA has it.
pub fn f32_to_fp8(single: u32, format: Format, relu: bool) -> u8 {
    convert(u64::from(single), F32, format, Rounding::NearestEven, Clamp { relu, satfinite: true }) as u8
}

/// `cvt.rn.satfinite{.relu}.{e4m3x2,e5m2x2}.f32 d, a, b`: `a` goes to the upper byte.
pub fn f32x2_to_fp8x2(upper: u32, lower: u32, format: Format, relu: bool) -> u16 {
    u16::from(f32_to_fp8(upper, format, relu)) << 8 | u16::from(f32_to_fp8(lower, format, relu))
}

/// `cvt.rn.satfinite{.relu}.{e4m3x2,e5m2x2}.f16x2`.
pub fn f16x2_to_fp8x2(pair: u32, format: Format, relu: bool) -> u16 {
    f32x2_to_fp8x2(f16_to_f32((pair >> 16) as u16), f16_to_f32(pair as u16), format, relu)
}

/// E4M3 or E5M2 -> f16, exact.
pub fn fp8_to_f16(byte: u8, format: Format) -> u16 {
    narrow(u64::from(byte), format, F16, Rounding::NearestEven) as u16
}

/// `cvt.rn{.relu}.f16x2.{e4m3x2,e5m2x2}`.
pub fn fp8x2_to_f16x2(pair: u16, format: Format, relu: bool) -> u32 {
    let one = |byte: u8| {
        let half = fp8_to_f16(byte, format);
        u32::from(if relu && half & 0x8000 != 0 { 0 } else { half })
    };
    one((pair >> 8) as u8) << 16 | one(pair as u8)
}

/// E4M3 or E5M2 by the name in an instruction.
pub fn fp8_format(name: &str) -> Option<Format> {
    match name {
        "e4m3" | "e4m3x2" => Some(E4M3),
        "e5m2" | "e5m2x2" => Some(E5M2),
        _ => None,
    }
}
