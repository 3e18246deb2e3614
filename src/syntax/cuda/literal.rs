//! Number and character literals.

use crate::ir::{ExprKind, Scalar, Type};

/// The literal's value and type; the grammar counts a sign in front as part of it. What is neither an integer nor a
/// float of C++ is kept as an opaque text.
pub fn number(text: &str) -> (ExprKind, Type) {
    let Some(bare) = text.strip_prefix('-') else {
        return unsigned(text.strip_prefix('+').unwrap_or(text));
    };
    match unsigned(bare.trim_start()) {
        // `-1u` is the largest value.
        (ExprKind::Int(v), Type::Scalar(s)) if s.is_unsigned() => {
            let modulus = 1i128 << (8 * s.bytes());
            (ExprKind::Int((modulus - v) % modulus), Type::Scalar(s))
        }
        (ExprKind::Int(v), ty) => (ExprKind::Int(-v), ty),
        (ExprKind::Float(_), ty) => (ExprKind::Float(text.to_owned()), ty),
        other => other,
    }
}

fn unsigned(text: &str) -> (ExprKind, Type) {
    // Most literals are a few decimal digits.
    let plain = text.len() < 19 && !(text.len() > 1 && text.starts_with('0'));
    if let Some(value) = text.parse::<u64>().ok().filter(|_| plain && text.bytes().all(|b| b.is_ascii_digit())) {
        return (ExprKind::Int(value.into()), Type::Scalar(integer_type(value.into(), "", 10)));
    }
    let clean: String = text.chars().filter(|c| *c != '\'').collect();
    let lower = clean.to_ascii_lowercase();
    let (digits, radix) = match lower.get(..2) {
        Some("0x") => (&lower[2..], 16),
        Some("0b") => (&lower[2..], 2),
        _ if lower.len() > 1 && lower.starts_with('0') && lower.as_bytes()[1].is_ascii_digit() => (&lower[1..], 8),
        _ => (lower.as_str(), 10),
    };
    let is_float = match radix {
        16 => digits.contains(['.', 'p']),
        2 => false,
        _ => digits.contains(['.', 'e', 'f']),
    };
    if is_float {
        return (ExprKind::Float(text.to_owned()), Type::Scalar(float_type(&lower, radix)));
    }
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let (body, suffix) = digits.split_at(end);
    match i128::from_str_radix(body, radix) {
        Ok(value) if suffix.chars().all(|c| matches!(c, 'u' | 'l' | 'z')) => {
            (ExprKind::Int(value), Type::Scalar(integer_type(value, suffix, radix)))
        }
        _ => (ExprKind::Opaque { what: "literal".into(), children: vec![] }, Type::Unknown),
    }
}

fn float_type(lower: &str, radix: u32) -> Scalar {
    let hex_without_exponent = radix == 16 && !lower.contains('p');
    if lower.ends_with("bf16") {
        Scalar::BF16
    } else if lower.ends_with("f16") {
        Scalar::F16
    } else if lower.ends_with('f') && !hex_without_exponent {
        Scalar::F32
    } else {
        Scalar::F64
    }
}

fn integer_type(value: i128, suffix: &str, radix: u32) -> Scalar {
    let unsigned = suffix.contains('u');
    let long = suffix.contains(['l', 'z']);
    let fits = |max: i128| value <= max;
    match (unsigned, long) {
        (true, false) if fits(u32::MAX.into()) => Scalar::U32,
        (true, _) => Scalar::U64,
        (false, true) if fits(i64::MAX.into()) => Scalar::I64,
        (false, true) => Scalar::U64,
        (false, false) if fits(i32::MAX.into()) => Scalar::I32,
        (false, false) if radix != 10 && fits(u32::MAX.into()) => Scalar::U32,
        (false, false) if fits(i64::MAX.into()) => Scalar::I64,
        (false, false) => Scalar::U64,
    }
}

/// `'a'`, `'\n'`, `'\0'`.
pub fn character(text: &str) -> Option<i128> {
    let inner = text.strip_prefix('\'')?.strip_suffix('\'')?;
    let mut chars = inner.chars();
    let first = chars.next()?;
    if first != '\\' {
        return chars.next().is_none().then_some(first as i128);
    }
    Some(match chars.next()? {
        'n' => 10,
        't' => 9,
        'r' => 13,
        '0' => 0,
        '\\' => 92,
        '\'' => 39,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_have_the_type_of_their_suffix_and_size() {
        let int = |text: &str| number(text);
        assert_eq!(int("1'000"), (ExprKind::Int(1000), Type::Scalar(Scalar::I32)));
        assert_eq!(int("0x10u"), (ExprKind::Int(16), Type::Scalar(Scalar::U32)));
        assert_eq!(int("0xffffffff"), (ExprKind::Int(0xffff_ffff), Type::Scalar(Scalar::U32)));
        assert_eq!(int("4294967295"), (ExprKind::Int(0xffff_ffff), Type::Scalar(Scalar::I64)));
        assert_eq!(int("010"), (ExprKind::Int(8), Type::Scalar(Scalar::I32)));
        assert_eq!(int("-1"), (ExprKind::Int(-1), Type::Scalar(Scalar::I32)));
        assert_eq!(int("-1u"), (ExprKind::Int(0xffff_ffff), Type::Scalar(Scalar::U32)));
        assert_eq!(int("7ULL").1, Type::Scalar(Scalar::U64));
    }

    #[test]
    fn floats_keep_their_text() {
        for (text, scalar) in
            [("1.f", Scalar::F32), ("1e-5", Scalar::F64), ("0x1.8p+1f", Scalar::F32), ("-2.5f", Scalar::F32)]
        {
            assert_eq!(number(text), (ExprKind::Float(text.to_owned()), Type::Scalar(scalar)));
        }
    }

    #[test]
    fn what_is_no_number_is_opaque() {
        for text in ["", "0x", "12abc", "-", "1_km"] {
            assert!(matches!(number(text).0, ExprKind::Opaque { .. }), "{text}");
        }
    }
}
