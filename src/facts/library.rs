//! Functions of CUDA and the C library that are known.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::source::tokens::WordState;

/// Functions of their arguments: no memory is written, nothing is waited for.
#[rustfmt::skip]
pub const PURE: &[&str] = &[
    "min", "max", "fminf", "fmaxf", "fmin", "fmax", "abs", "fabs", "fabsf", "sqrt", "sqrtf", "rsqrt", "rsqrtf", "exp",
    "expf", "exp2f", "exp2", "exp10f", "log", "logf", "log2f", "log2", "log10f", "log1pf", "log1p", "expm1f", "sin",
    "sinf", "cos", "cosf", "tan", "tanf", "tanh", "tanhf", "sinh", "sinhf", "cosh", "coshf", "asinf", "acosf",
    "atanf", "atan2f", "atan2", "pow", "powf", "erf", "erff", "erfc", "erfcf", "floor", "floorf", "ceil", "ceilf",
    "round", "roundf", "rint", "rintf", "trunc", "truncf", "fma", "fmaf", "fmod", "fmodf", "hypotf", "cbrtf", "isnan",
    "isinf", "__expf", "__exp10f", "__logf", "__log2f", "__log10f", "__sinf", "__cosf", "__tanf", "__powf",
    "__fdividef", "__frcp_rn", "__fsqrt_rn", "__frsqrt_rn", "__fmaf_rn", "__fadd_rn", "__fmul_rn", "__fsub_rn",
    "__fdiv_rn", "__saturatef", "__popc", "__popcll", "__clz", "__clzll", "__ffs", "__ffsll", "__brev", "__byte_perm",
    "__mul24", "__umul24", "__mulhi", "__umulhi", "__dp4a", "__vadd4", "__float2half", "__float2half_rn",
    "__half2float", "__float2bfloat16", "__bfloat162float", "__float2int_rn", "__float2int_rd", "__int2float_rn",
    "__float_as_int", "__int_as_float", "__float_as_uint", "__uint_as_float", "__hadd", "__hsub", "__hmul", "__hdiv",
    "__hfma", "__hmax", "__hmin", "__hadd2", "__hmul2", "__hfma2", "__floats2half2_rn", "__half22float2",
    "__float22half2_rn", "__low2float", "__high2float", "make_float2", "make_float3", "make_float4", "make_int2",
    "make_int3", "make_int4", "make_uint2", "make_uint4", "make_double2", "make_half2", "__builtin_expect", "signbit",
    "copysignf", "numeric_limits", "__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync",
    "__ballot_sync", "__any_sync", "__all_sync", "__activemask", "__match_any_sync", "__reduce_add_sync",
    "__reduce_max_sync", "__reduce_min_sync", "__assume", "clock", "clock64", "sizeof", "dim3",
];

/// Whether the name is in [`PURE`].
pub fn is_pure(name: &str) -> bool {
    static NAMES: LazyLock<HashSet<&str, WordState>> = LazyLock::new(|| PURE.iter().copied().collect());
    NAMES.contains(name)
}

/// Pure functions whose value may differ between threads though their arguments do not.
pub const VARYING: &[&str] = &["__activemask", "clock", "clock64", "__match_any_sync"];

pub const READS: &[&str] = &["__ldg", "__ldca", "__ldcg", "__ldcs", "__ldlu", "__ldcv", "tex1Dfetch", "tex2D", "tex1D"];

/// Names that the CUDA and C headers define as plain constants.
#[rustfmt::skip]
pub const STANDARD_NAMES: &[&str] = &[
    "INFINITY", "NAN", "FLT_MAX", "FLT_MIN", "FLT_EPSILON", "DBL_MAX", "DBL_MIN", "DBL_EPSILON", "INT_MAX", "INT_MIN",
    "UINT_MAX", "M_PI", "CUDART_INF_F", "CUDART_INF", "HUGE_VALF", "HUGE_VAL", "SIZE_MAX", "nullptr", "NULL",
    "CUDART_PI_F",
];
