//! Types by name: every spelling of a scalar or vector that CUDA code uses.

use crate::ir::{Scalar, Type};

/// The type that `words` (`unsigned long long`, `const` and the like removed) spell, if it is arithmetic or `void`.
pub fn builtin_type(words: &str) -> Option<Type> {
    let words = words.trim();
    if words == "void" {
        return Some(Type::Void);
    }
    if let Some(s) = keyword_scalar(words) {
        return Some(Type::Scalar(s));
    }
    let bare = words.strip_prefix("::").unwrap_or(words);
    let bare = bare.strip_prefix("std::").or_else(|| bare.strip_prefix("cuda::std::")).unwrap_or(bare);
    named_scalar(bare).map(Type::Scalar).or_else(|| vector(bare))
}

/// Combinations of the type keywords of C++.
fn keyword_scalar(words: &str) -> Option<Scalar> {
    let (mut unsigned, mut signed, mut long, mut short, mut base) = (false, false, 0, false, "");
    let mut any = false;
    for word in words.split_whitespace() {
        any = true;
        match word {
            "unsigned" => unsigned = true,
            "signed" => signed = true,
            "long" => long += 1,
            "short" => short = true,
            "int" | "char" | "float" | "double" | "bool" if base.is_empty() => base = word,
            _ => return None,
        }
    }
    let scalar = match (base, long, short) {
        ("float", 0, false) => Scalar::F32,
        ("double", 0, false) => Scalar::F64,
        ("bool", 0, false) => Scalar::Bool,
        ("char", 0, false) if unsigned => Scalar::U8,
        ("char", 0, false) => Scalar::I8,
        ("int" | "", 0, true) if unsigned => Scalar::U16,
        ("int" | "", 0, true) => Scalar::I16,
        ("int" | "", 0, false) if unsigned => Scalar::U32,
        ("int", 0, false) => Scalar::I32,
        ("", 0, false) if signed => Scalar::I32,
        ("int" | "", 1 | 2, false) if unsigned => Scalar::U64,
        ("int" | "", 1 | 2, false) => Scalar::I64,
        _ => return None,
    };
    any.then_some(scalar)
}

fn named_scalar(name: &str) -> Option<Scalar> {
    Some(match name {
        "int8_t" => Scalar::I8,
        "uint8_t" | "uchar" | "u_char" | "byte" => Scalar::U8,
        "int16_t" => Scalar::I16,
        "uint16_t" | "ushort" => Scalar::U16,
        "int32_t" => Scalar::I32,
        "uint32_t" | "uint" | "char32_t" => Scalar::U32,
        "int64_t" | "ptrdiff_t" | "ssize_t" | "intptr_t" | "longlong" => Scalar::I64,
        "uint64_t" | "size_t" | "uintptr_t" | "ulong" | "ulonglong" => Scalar::U64,
        "half" | "__half" | "nv_half" | "at::Half" | "c10::Half" | "half_t" | "cutlass::half_t" | "__half_raw" => {
            Scalar::F16
        }
        "nv_bfloat16" | "__nv_bfloat16" | "at::BFloat16" | "c10::BFloat16" | "bfloat16_t" | "cutlass::bfloat16_t" => {
            Scalar::BF16
        }
        "float32_t" => Scalar::F32,
        "float64_t" => Scalar::F64,
        "__nv_fp8_e4m3"
        | "__nv_fp8_e5m2"
        | "__nv_fp8_storage_t"
        | "at::Float8_e4m3fn"
        | "c10::Float8_e4m3fn"
        | "at::Float8_e5m2"
        | "c10::Float8_e5m2"
        | "cutlass::float_e4m3_t"
        | "cutlass::float_e5m2_t" => Scalar::F8,
        _ => return None,
    })
}

/// `float4`, `uchar2`, `half2`, ...
fn vector(name: &str) -> Option<Type> {
    match name {
        "half2" | "__half2" | "nv_half2" => return Some(Type::Vector { elem: Scalar::F16, lanes: 2 }),
        "nv_bfloat162" | "__nv_bfloat162" => return Some(Type::Vector { elem: Scalar::BF16, lanes: 2 }),
        _ => {}
    }
    let lanes = match name.as_bytes().last()? {
        b @ b'1'..=b'4' => b - b'0',
        _ => return None,
    };
    let elem = match name.get(..name.len() - 1)? {
        "char" => Scalar::I8,
        "uchar" => Scalar::U8,
        "short" => Scalar::I16,
        "ushort" => Scalar::U16,
        "int" => Scalar::I32,
        "uint" => Scalar::U32,
        "long" | "longlong" => Scalar::I64,
        "ulong" | "ulonglong" => Scalar::U64,
        "float" => Scalar::F32,
        "double" => Scalar::F64,
        _ => return None,
    };
    Some(Type::Vector { elem, lanes })
}

/// The usual arithmetic conversions over what is known; `Unknown` where an operand is not arithmetic.
pub fn arithmetic(a: &Type, b: &Type) -> Type {
    use Scalar::*;
    let (Some(x), Some(y)) = (value(a).scalar(), value(b).scalar()) else {
        return match (value(a), value(b)) {
            (Type::Vector { elem, lanes }, o) | (o, Type::Vector { elem, lanes })
                if *elem == F16 || *elem == BF16 || o == value(a) =>
            {
                Type::Vector { elem: *elem, lanes: *lanes }
            }
            (Type::Param(p), Type::Param(q)) if p == q => Type::Param(p.clone()),
            _ => Type::Unknown,
        };
    };
    Type::Scalar(match (x, y) {
        (F64, _) | (_, F64) => F64,
        (F32, _) | (_, F32) => F32,
        (F16, BF16) | (BF16, F16) => return Type::Unknown,
        (F16, _) | (_, F16) => F16,
        (BF16, _) | (_, BF16) => BF16,
        (F8, _) | (_, F8) => return Type::Unknown,
        (U64, _) | (_, U64) => U64,
        (I64, _) | (_, I64) => I64,
        (U32, _) | (_, U32) => U32,
        _ => I32,
    })
}

/// Integer promotion of one operand.
pub fn promoted(t: &Type) -> Type {
    match value(t) {
        Type::Scalar(s) if s.is_float() => Type::Scalar(*s),
        Type::Scalar(s) if s.bytes() < 4 => Type::Scalar(Scalar::I32),
        other => other.clone(),
    }
}

/// A reference stands for what it refers to.
pub fn value(t: &Type) -> &Type {
    match t {
        Type::Reference(p) => &p.ty,
        other => other,
    }
}

/// Type of `base.name` where `base` is one of CUDA's vectors.
pub fn member(base: &Type, name: &str) -> Type {
    let lane = |n: &str| ["x", "y", "z", "w"].iter().position(|l| *l == n);
    match value(base) {
        Type::Vector { elem, lanes } if lane(name).is_some_and(|l| l < usize::from(*lanes)) => Type::Scalar(*elem),
        Type::Named(n) if n == "dim3" && lane(name).is_some_and(|l| l < 3) => Type::Scalar(Scalar::U32),
        _ => Type::Unknown,
    }
}
