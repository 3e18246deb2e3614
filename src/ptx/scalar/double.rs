//! f64 arithmetic. Nearest even is the CPU's own; the other roundings are done in integers.
//!
//! A NaN operand passes, made quiet, with sign and payload; the last one wins, in a division the first. An invalid
//! operation gives `F64_NAN`.

use super::format::{F64, Number, Rounding};

pub const F64_NAN: u64 = 0xfff8_0000_0000_0000;

#[inline]
fn finish(value: f64) -> u64 {
    if value.is_nan() { F64_NAN } else { value.to_bits() }
}

#[inline]
fn is_nan(bits: u64) -> bool {
    f64::from_bits(bits).is_nan()
}

/// A NaN as it passes through an instruction.
#[inline]
pub fn quiet(bits: u64) -> u64 {
    bits | 0x0008_0000_0000_0000
}

/// The last NaN among the operands, quiet, or the result.
#[inline]
fn pass_nan<const N: usize>(operands: [u64; N], result: u64) -> u64 {
    operands.into_iter().rfind(|&bits| is_nan(bits)).map_or(result, quiet)
}

#[inline]
pub fn add(a: u64, b: u64, rounding: Rounding) -> u64 {
    pass_nan(
        [a, b],
        match rounding {
            Rounding::NearestEven => finish(f64::from_bits(a) + f64::from_bits(b)),
            _ => fma_exact(a, 0x3ff0_0000_0000_0000, b, rounding),
        },
    )
}

/// `atom.add.f64`, `red.add.f64`: the new value of a cell. In global memory a NaN passes as it is, not made quiet.
#[inline]
pub fn add_atomic(cell: u64, b: u64, shared: bool) -> u64 {
    match (shared, is_nan(cell), is_nan(b)) {
        (false, _, true) => b,
        (false, true, _) => cell,
        _ => add(b, cell, Rounding::NearestEven),
    }
}

#[inline]
pub fn sub(a: u64, b: u64, rounding: Rounding) -> u64 {
    add(a, if is_nan(b) { b } else { b ^ F64.sign_bit() }, rounding)
}

#[inline]
pub fn mul(a: u64, b: u64, rounding: Rounding) -> u64 {
    if rounding == Rounding::NearestEven {
        return pass_nan([a, b], finish(f64::from_bits(a) * f64::from_bits(b)));
    }
    let negative = (a ^ b) & F64.sign_bit() != 0;
    match (F64.decode(a), F64.decode(b)) {
        (Number::Finite { significand: x, exponent: p, .. }, Number::Finite { significand: y, exponent: q, .. }) => {
            F64.round(negative, u128::from(x) * u128::from(y), p + q, rounding)
        }
        _ => pass_nan([a, b], finish(f64::from_bits(a) * f64::from_bits(b))),
    }
}

#[inline]
pub fn fma(a: u64, b: u64, c: u64, rounding: Rounding) -> u64 {
    pass_nan(
        [a, c, b],
        match rounding {
            Rounding::NearestEven => finish(f64::from_bits(a).mul_add(f64::from_bits(b), f64::from_bits(c))),
            _ => fma_exact(a, b, c, rounding),
        },
    )
}

/// `a * b + c` in integers, any rounding.
pub fn fma_exact(a: u64, b: u64, c: u64, rounding: Rounding) -> u64 {
    let (
        Number::Finite { negative: na, significand: x, exponent: p },
        Number::Finite { negative: nb, significand: y, exponent: q },
    ) = (F64.decode(a), F64.decode(b))
    else {
        return finish(f64::from_bits(a).mul_add(f64::from_bits(b), f64::from_bits(c)));
    };
    let Number::Finite { negative: nc, significand: z, exponent: r } = F64.decode(c) else {
        return finish(f64::from_bits(c));
    };
    let (negative, product, exponent) = (na != nb, u128::from(x) * u128::from(y), p + q);
    if product == 0 && z == 0 {
        let sign = if negative == nc { negative } else { rounding == Rounding::Down };
        return F64.round(sign, 0, 0, rounding);
    }
    let (sign, sum, unit) = add_aligned((negative, product, exponent), (nc, u128::from(z), r));
    F64.round(if sum == 0 { rounding == Rounding::Down } else { sign }, sum, unit, rounding)
}

type Term = (bool, u128, i32);

/// Sum of two signed terms of at most 106 bits, sign, magnitude and exponent; the lowest bit may stand for a lost tail.
fn add_aligned(x: Term, y: Term) -> Term {
    // Both are brought to 120 significant bits, so that a tail shifted out of the smaller lies far below the result.
    let (x, y) = (normalised(x), normalised(y));
    let (large, small) = if (x.2, x.1) >= (y.2, y.1) && x.1 != 0 || y.1 == 0 { (x, y) } else { (y, x) };
    let shift = if small.1 == 0 { 0 } else { large.2 - small.2 };
    let moved = match shift {
        0 => small.1,
        1..=127 => small.1 >> shift | u128::from(small.1 & ((1 << shift) - 1) != 0),
        _ => u128::from(small.1 != 0),
    };
    let magnitude = if large.0 == small.0 { large.1 + moved } else { large.1 - moved };
    (large.0, magnitude, large.2)
}

fn normalised((negative, significand, exponent): Term) -> Term {
    match significand {
        0 => (negative, 0, i32::MIN / 2),
        _ => {
            let shift = significand.leading_zeros() as i32 - 8;
            (negative, significand << shift, exponent - shift)
        }
    }
}

pub fn div(a: u64, b: u64, rounding: Rounding) -> u64 {
    let native = f64::from_bits(a) / f64::from_bits(b);
    if rounding == Rounding::NearestEven {
        return pass_nan([b, a], finish(native));
    }
    let negative = (a ^ b) & F64.sign_bit() != 0;
    match (F64.decode(a), F64.decode(b)) {
        (Number::Finite { significand: x, exponent: p, .. }, Number::Finite { significand: y, exponent: q, .. })
            if y != 0 =>
        {
            // A 128-bit numerator over a divisor of at most 53 bits leaves at least 64 bits of quotient.
            let shift = if x == 0 { 0 } else { u128::from(x).leading_zeros() as i32 };
            let (numerator, divisor) = (u128::from(x) << shift, u128::from(y));
            let quotient = (numerator / divisor) | u128::from(numerator % divisor != 0);
            F64.round(negative, quotient, p - q - shift, rounding)
        }
        _ => pass_nan([b, a], finish(native)),
    }
}

pub fn rcp(a: u64, rounding: Rounding) -> u64 {
    div(0x3ff0_0000_0000_0000, a, rounding)
}

pub fn sqrt(a: u64, rounding: Rounding) -> u64 {
    let native = f64::from_bits(a).sqrt();
    if rounding == Rounding::NearestEven {
        return pass_nan([a], finish(native));
    }
    match F64.decode(a) {
        Number::Finite { negative: false, significand, exponent } if significand != 0 => {
            // An even exponent and about 126 bits give a root of about 63.
            let shift = u128::from(significand).leading_zeros() as i32 - 2;
            let shift = shift + ((exponent - shift) & 1);
            let wide = u128::from(significand) << shift;
            let root = wide.isqrt();
            let sticky = u128::from(root * root != wide);
            F64.round(false, root << 1 | sticky, (exponent - shift) / 2 - 1, rounding)
        }
        _ => pass_nan([a], finish(native)),
    }
}

#[inline]
pub fn abs(a: u64) -> u64 {
    if is_nan(a) { quiet(a) } else { a & !F64.sign_bit() }
}

#[inline]
pub fn neg(a: u64) -> u64 {
    if is_nan(a) { quiet(a) } else { a ^ F64.sign_bit() }
}

/// `copysign.f64 d, a, b`: the magnitude of `b` with the sign of `a`.
#[inline]
pub fn copysign(a: u64, b: u64) -> u64 {
    (a & F64.sign_bit()) | (b & !F64.sign_bit())
}
