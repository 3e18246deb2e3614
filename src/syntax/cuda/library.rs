//! Result types of the functions that CUDA provides.

use super::lower::Lower;
use super::names::{arithmetic, promoted, value};
use crate::ir::{Scalar, Type};

impl Lower<'_> {
    /// The type of a call, from its name and the types of its arguments.
    pub fn call_type(&self, callee: &str, args: &[Type]) -> Type {
        let name = callee.strip_prefix("::").unwrap_or(callee);
        if let Some(ty) = self.returns.get(name) {
            return ty.clone();
        }
        let name = name.rsplit("::").next().unwrap_or(name);
        library(name, args)
    }
}

fn library(name: &str, args: &[Type]) -> Type {
    let first = || args.first().map_or(Type::Unknown, |t| value(t).clone());
    let nth = |n: usize| args.get(n).map_or(Type::Unknown, |t| value(t).clone());
    if let Some(vector) = name.strip_prefix("make_").and_then(super::names::builtin_type) {
        return vector;
    }
    match name {
        "min" | "max" | "fmin" | "fmax" | "fmod" | "pow" | "hypot" | "fdim" | "atan2" | "copysign" => {
            let both = arithmetic(&first(), &nth(1));
            return if matches!(name, "min" | "max") || both.scalar().is_none_or(Scalar::is_float) {
                both
            } else {
                Type::Scalar(Scalar::F64)
            };
        }
        "abs" => return promoted(&first()),
        "fma" => return arithmetic(&arithmetic(&first(), &nth(1)), &nth(2)),
        "__shfl_sync" | "__shfl_down_sync" | "__shfl_up_sync" | "__shfl_xor_sync" => return nth(1),
        "__shfl" | "__shfl_down" | "__shfl_up" | "__shfl_xor" => return first(),
        "__ldg" | "__ldca" | "__ldcg" | "__ldcs" | "__ldlu" | "__ldcv" => {
            return first().element().cloned().unwrap_or(Type::Unknown);
        }
        "__half2float" | "__bfloat162float" | "__low2float" | "__high2float" | "__int_as_float" | "__uint_as_float"
        | "saturate" | "__saturatef" | "fabsf" => return Type::Scalar(Scalar::F32),
        "__float2half" | "__float2half_rn" | "__float2half_rz" | "__low2half" | "__high2half" | "__int2half_rn"
        | "__double2half" => return Type::Scalar(Scalar::F16),
        "__float2bfloat16" | "__float2bfloat16_rn" => return Type::Scalar(Scalar::BF16),
        "__float2half2_rn" | "__floats2half2_rn" | "__halves2half2" | "__half2half2" | "__float22half2_rn" => {
            return Type::Vector { elem: Scalar::F16, lanes: 2 };
        }
        "__half22float2" | "__bfloat1622float2" => return Type::Vector { elem: Scalar::F32, lanes: 2 },
        "__float_as_int"
        | "__popc"
        | "__popcll"
        | "__ffs"
        | "__ffsll"
        | "__clz"
        | "__clzll"
        | "__float2int_rn"
        | "__float2int_rd"
        | "__float2int_ru"
        | "__float2int_rz"
        | "__mul24"
        | "__dp4a"
        | "__any_sync"
        | "__all_sync"
        | "__syncthreads_count"
        | "__syncthreads_and"
        | "__syncthreads_or" => {
            return Type::Scalar(Scalar::I32);
        }
        "__float_as_uint"
        | "__ballot_sync"
        | "__activemask"
        | "__match_any_sync"
        | "__umul24"
        | "__brev"
        | "__cvta_generic_to_shared" => {
            return Type::Scalar(if name == "__cvta_generic_to_shared" { Scalar::U64 } else { Scalar::U32 });
        }
        "clock64" => return Type::Scalar(Scalar::I64),
        _ => {}
    }
    if name.starts_with("atomic") {
        return first().element().cloned().unwrap_or(Type::Unknown);
    }
    if matches!(
        name,
        "__hadd"
            | "__hsub"
            | "__hmul"
            | "__hdiv"
            | "__hfma"
            | "__hmax"
            | "__hmin"
            | "__hadd2"
            | "__hmul2"
            | "__hsub2"
            | "__hfma2"
            | "__hmax2"
            | "__hmin2"
            | "hexp"
            | "hlog"
            | "hsqrt"
            | "hrsqrt"
            | "h2exp"
            | "__habs"
    ) {
        return first();
    }
    math(name, &first())
}

/// `sqrtf` gives f32, `sqrt` follows its argument (CUDA overloads it), `__expf` is an intrinsic of f32.
fn math(name: &str, arg: &Type) -> Type {
    const ROOTS: &[&str] = &[
        "sqrt",
        "rsqrt",
        "cbrt",
        "exp",
        "exp2",
        "exp10",
        "expm1",
        "log",
        "log2",
        "log10",
        "log1p",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "tanh",
        "asinh",
        "acosh",
        "atanh",
        "erf",
        "erfc",
        "floor",
        "ceil",
        "round",
        "rint",
        "nearbyint",
        "trunc",
        "fabs",
        "normcdf",
        "lgamma",
        "tgamma",
        "sinpi",
        "cospi",
    ];
    const SINGLE: &[&str] = &[
        "fmax",
        "fmin",
        "fma",
        "fmod",
        "pow",
        "hypot",
        "fdim",
        "atan2",
        "copysign",
        "__exp",
        "__log",
        "__log2",
        "__log10",
        "__sin",
        "__cos",
        "__tan",
        "__pow",
        "__exp10",
        "__fdivide",
        "__tanh",
        "remainder",
        "ldexp",
    ];
    if let Some(root) = name.strip_suffix('f')
        && (ROOTS.contains(&root) || SINGLE.contains(&root))
    {
        return Type::Scalar(Scalar::F32);
    }
    let rounded = |p: &str| name.strip_prefix(p).is_some_and(|r| r.contains("_r"));
    if rounded("__f") && !name.contains('2') {
        return Type::Scalar(Scalar::F32);
    }
    if rounded("__d") && !name.contains('2') {
        return Type::Scalar(Scalar::F64);
    }
    if ROOTS.contains(&name) {
        return match arg.scalar() {
            Some(s) if s.is_float() => Type::Scalar(s),
            Some(_) => Type::Scalar(Scalar::F64),
            None => Type::Unknown,
        };
    }
    Type::Unknown
}
