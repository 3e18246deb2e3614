//! The part of the standard library that device code commonly uses, in kopt's own words.
//!
//! Each piece is emitted only if a word of the slice asks for it and the project does not define it itself.

use std::collections::BTreeSet;

/// A piece of text and the names it supplies.
struct Piece {
    names: &'static [&'static str],
    /// Supplies names in namespace `std` (asked for as `std::name`) or at global scope.
    std: bool,
    text: &'static str,
}

/// Builds the prelude. `words` are the words of the slice, `members` the names used as `std::name`, `defined` what
/// the project defines itself; `cccl` says that a `cuda/std` header is in the slice and supplies the integer types.
pub fn prelude(words: &BTreeSet<String>, members: &BTreeSet<String>, defined: &BTreeSet<String>, cccl: bool) -> String {
    let mut out = String::new();
    let asked = |piece: &Piece| {
        let set = if piece.std { members } else { words };
        piece.names.iter().any(|n| set.contains(*n) && (piece.std || !defined.contains(*n)))
    };
    let ints = INTEGERS.names.iter().any(|n| words.contains(*n) && !defined.contains(*n));
    if ints && !cccl {
        out.push_str(INTEGERS.text);
    } else if ints {
        out.push_str("#include <cuda/std/cstdint>\n");
        for name in INTEGERS.names.iter().filter(|n| words.contains(**n) && !defined.contains(**n)) {
            out.push_str(&format!("using cuda::std::{name};\n"));
        }
    }
    // Two sets of the same names would be ambiguous: beside `cuda/std` headers, `cuda/std` supplies them all.
    for piece in PIECES.iter().filter(|p| !cccl && asked(p)) {
        out.push_str(piece.text);
    }
    for (name, value) in MACROS.iter().filter(|(n, _)| words.contains(*n) && !defined.contains(*n)) {
        out.push_str(&format!("#ifndef {name}\n#define {name} {value}\n#endif\n"));
    }
    for (name, value) in FUNCTIONS.iter().filter(|(n, _)| words.contains(*n) && !defined.contains(*n)) {
        out.push_str(&format!("#ifndef {name}\n#define {name}(x) {value}\n#endif\n"));
    }
    for (name, base) in WORDS.iter().filter(|(n, _)| words.contains(*n) && !defined.contains(*n)) {
        out.push_str(&format!("typedef {base} {name};\n"));
    }
    let used: Vec<&str> = GLOBALS.iter().copied().filter(|n| members.contains(*n)).collect();
    let used_ints = INTEGERS.names.iter().copied().filter(|n| members.contains(*n));
    for name in used.into_iter().chain(used_ints) {
        out.push_str(&format!("namespace std {{ using ::{name}; }}\n"));
    }
    out
}

/// Whether a piece of this file defines `std::name`.
pub fn is_piece(name: &str) -> bool {
    PIECES.iter().any(|p| p.std && p.names.contains(&name))
}

/// Whether `std::name` is supplied here.
pub fn supplies(name: &str) -> bool {
    is_piece(name) || GLOBALS.contains(&name) || INTEGERS.names.contains(&name)
}

/// The `cuda/std` header that supplies what a piece of this file supplies.
pub fn cuda_std_instead(name: &str) -> Option<&'static str> {
    let traits = [
        "integral",
        "float",
        "same",
        "type",
        "enable",
        "conditional",
        "remove",
        "is_",
        "add_",
        "bool",
        "true",
        "false",
    ];
    match name {
        "numeric_limits" => Some("limits"),
        "min" | "max" | "clamp" => Some("algorithm"),
        "move" | "forward" | "swap" | "declval" => Some("utility"),
        "nullptr_t" | "byte" => Some("cstddef"),
        _ => traits.iter().any(|t| name.starts_with(t)).then_some("type_traits"),
    }
}

/// On Linux `int64_t` is `long`, and overload resolution sees the difference.
const INTEGERS: Piece = Piece {
    names: &[
        "int8_t",
        "int16_t",
        "int32_t",
        "int64_t",
        "uint8_t",
        "uint16_t",
        "uint32_t",
        "uint64_t",
        "intptr_t",
        "uintptr_t",
        "intmax_t",
        "uintmax_t",
        "int_fast8_t",
        "uint_fast8_t",
        "int_fast32_t",
        "uint_fast32_t",
    ],
    std: false,
    text: "typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long int64_t;\n\
           typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t;\n\
           typedef unsigned long uint64_t; typedef long intptr_t; typedef unsigned long uintptr_t;\n\
           typedef long intmax_t; typedef unsigned long uintmax_t; typedef signed char int_fast8_t;\n\
           typedef unsigned char uint_fast8_t; typedef long int_fast32_t; typedef unsigned long uint_fast32_t;\n",
};

/// What glibc's `sys/types.h` defines, which `cuda_runtime.h` brings along.
const WORDS: &[(&str, &str)] =
    &[("uint", "unsigned int"), ("ulong", "unsigned long"), ("ushort", "unsigned short"), ("ssize_t", "long")];

/// Macros with an argument.
const FUNCTIONS: &[(&str, &str)] = &[
    ("INT8_C", "x"),
    ("INT16_C", "x"),
    ("INT32_C", "x"),
    ("INT64_C", "x##L"),
    ("UINT8_C", "x"),
    ("UINT16_C", "x"),
    ("UINT32_C", "x##U"),
    ("UINT64_C", "x##UL"),
];

const MACROS: &[(&str, &str)] = &[
    ("INFINITY", "(__builtin_bit_cast(float, 0x7f800000u))"),
    ("HUGE_VALF", "(__builtin_bit_cast(float, 0x7f800000u))"),
    ("HUGE_VAL", "(__builtin_bit_cast(double, 0x7ff0000000000000ull))"),
    ("NAN", "(__builtin_bit_cast(float, 0x7fc00000u))"),
    ("FLT_MAX", "3.402823466e+38F"),
    ("FLT_MIN", "1.175494351e-38F"),
    ("FLT_EPSILON", "1.192092896e-07F"),
    ("FLT_DIG", "6"),
    ("FLT_MANT_DIG", "24"),
    ("DBL_MAX", "1.7976931348623158e+308"),
    ("DBL_MIN", "2.2250738585072014e-308"),
    ("DBL_EPSILON", "2.2204460492503131e-016"),
    ("CHAR_BIT", "8"),
    ("SCHAR_MAX", "127"),
    ("SCHAR_MIN", "(-128)"),
    ("UCHAR_MAX", "255"),
    ("SHRT_MAX", "32767"),
    ("SHRT_MIN", "(-32768)"),
    ("USHRT_MAX", "65535"),
    ("INT_MAX", "2147483647"),
    ("INT_MIN", "(-2147483647 - 1)"),
    ("UINT_MAX", "4294967295u"),
    ("LONG_MAX", "9223372036854775807L"),
    ("LONG_MIN", "(-9223372036854775807L - 1L)"),
    ("ULONG_MAX", "18446744073709551615uL"),
    ("LLONG_MAX", "9223372036854775807LL"),
    ("LLONG_MIN", "(-9223372036854775807LL - 1LL)"),
    ("ULLONG_MAX", "18446744073709551615uLL"),
    ("INT8_MAX", "127"),
    ("INT8_MIN", "(-128)"),
    ("UINT8_MAX", "255"),
    ("INT16_MAX", "32767"),
    ("INT16_MIN", "(-32768)"),
    ("UINT16_MAX", "65535"),
    ("INT32_MAX", "2147483647"),
    ("INT32_MIN", "(-2147483647 - 1)"),
    ("UINT32_MAX", "4294967295u"),
    ("INT64_MAX", "9223372036854775807L"),
    ("INT64_MIN", "(-9223372036854775807L - 1L)"),
    ("UINT64_MAX", "18446744073709551615uL"),
    ("SIZE_MAX", "18446744073709551615uL"),
    ("M_PI", "3.14159265358979323846"),
    ("M_PI_2", "1.57079632679489661923"),
    ("M_PI_4", "0.78539816339744830962"),
    ("M_1_PI", "0.31830988618379067154"),
    ("M_2_PI", "0.63661977236758134308"),
    ("M_E", "2.7182818284590452354"),
    ("M_LOG2E", "1.4426950408889634074"),
    ("M_LOG10E", "0.43429448190325182765"),
    ("M_LN2", "0.69314718055994530942"),
    ("M_LN10", "2.30258509299404568402"),
    ("M_SQRT2", "1.41421356237309504880"),
    ("M_SQRT1_2", "0.70710678118654752440"),
    ("M_2_SQRTPI", "1.12837916709551257390"),
];

/// Functions and types that the compiler declares at global scope; `std::` reaches them by a using-declaration.
const GLOBALS: &[&str] = &[
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "fdim",
    "floor",
    "fma",
    "fmax",
    "fmin",
    "fmod",
    "frexp",
    "hypot",
    "ilogb",
    "isfinite",
    "isinf",
    "isnan",
    "ldexp",
    "lgamma",
    "llrint",
    "llround",
    "log",
    "log10",
    "log1p",
    "log2",
    "logb",
    "lrint",
    "lround",
    "memcpy",
    "memset",
    "modf",
    "nearbyint",
    "nextafter",
    "pow",
    "printf",
    "ptrdiff_t",
    "remainder",
    "rint",
    "round",
    "rsqrt",
    "sin",
    "sinh",
    "signbit",
    "size_t",
    "sqrt",
    "sqrtf",
    "expf",
    "logf",
    "powf",
    "fabsf",
    "tan",
    "tanh",
    "tanhf",
    "tgamma",
    "trunc",
    "clock_t",
    "clock",
    "malloc",
    "free",
];

const PIECES: &[Piece] = &[
    Piece {
        names: &["numeric_limits"],
        std: true,
        text: r#"namespace std { template <class T> struct numeric_limits { static constexpr bool is_specialized = false; };
template <class T, bool Sign, int Digits> struct kopt_integer_limits {
  static constexpr bool is_specialized = true, is_integer = true, is_signed = Sign, is_exact = true;
  static constexpr bool has_infinity = false, has_quiet_NaN = false; static constexpr int digits = Digits, radix = 2;
  static __host__ __device__ constexpr T max() noexcept { return T((((T(1) << (Digits - 1)) - T(1)) << 1) + T(1)); }
  static __host__ __device__ constexpr T min() noexcept { return Sign ? T(-max() - T(1)) : T(0); }
  static __host__ __device__ constexpr T lowest() noexcept { return min(); }
  static __host__ __device__ constexpr T epsilon() noexcept { return T(0); } };
template <> struct numeric_limits<bool> { static constexpr bool is_specialized = true, is_integer = true;
  static __host__ __device__ constexpr bool max() noexcept { return true; }
  static __host__ __device__ constexpr bool min() noexcept { return false; } };
template <> struct numeric_limits<char> : kopt_integer_limits<char, (char(-1) < 0), (char(-1) < 0) ? 7 : 8> {};
template <> struct numeric_limits<signed char> : kopt_integer_limits<signed char, true, 7> {};
template <> struct numeric_limits<unsigned char> : kopt_integer_limits<unsigned char, false, 8> {};
template <> struct numeric_limits<short> : kopt_integer_limits<short, true, 15> {};
template <> struct numeric_limits<unsigned short> : kopt_integer_limits<unsigned short, false, 16> {};
template <> struct numeric_limits<int> : kopt_integer_limits<int, true, 31> {};
template <> struct numeric_limits<unsigned> : kopt_integer_limits<unsigned, false, 32> {};
template <> struct numeric_limits<long> : kopt_integer_limits<long, true, sizeof(long) * 8 - 1> {};
template <> struct numeric_limits<unsigned long> : kopt_integer_limits<unsigned long, false, sizeof(long) * 8> {};
template <> struct numeric_limits<long long> : kopt_integer_limits<long long, true, 63> {};
template <> struct numeric_limits<unsigned long long> : kopt_integer_limits<unsigned long long, false, 64> {};
template <class T, int Digits> struct kopt_real_limits {
  static constexpr bool is_specialized = true, is_integer = false, is_signed = true, is_exact = false, is_iec559 = true;
  static constexpr bool has_infinity = true, has_quiet_NaN = true; static constexpr int digits = Digits, radix = 2; };
template <> struct numeric_limits<float> : kopt_real_limits<float, 24> {
  static __host__ __device__ constexpr float max() noexcept { return 3.402823466e+38F; }
  static __host__ __device__ constexpr float min() noexcept { return 1.175494351e-38F; }
  static __host__ __device__ constexpr float lowest() noexcept { return -3.402823466e+38F; }
  static __host__ __device__ constexpr float epsilon() noexcept { return 1.192092896e-07F; }
  static __host__ __device__ constexpr float denorm_min() noexcept { return 1.401298464e-45F; }
  static __host__ __device__ constexpr float infinity() noexcept { return __builtin_bit_cast(float, 0x7f800000u); }
  static __host__ __device__ constexpr float quiet_NaN() noexcept { return __builtin_bit_cast(float, 0x7fc00000u); } };
template <> struct numeric_limits<double> : kopt_real_limits<double, 53> {
  static __host__ __device__ constexpr double max() noexcept { return 1.7976931348623158e+308; }
  static __host__ __device__ constexpr double min() noexcept { return 2.2250738585072014e-308; }
  static __host__ __device__ constexpr double lowest() noexcept { return -1.7976931348623158e+308; }
  static __host__ __device__ constexpr double epsilon() noexcept { return 2.2204460492503131e-016; }
  static __host__ __device__ constexpr double infinity() noexcept { return __builtin_bit_cast(double, 0x7ff0000000000000ull); }
  static __host__ __device__ constexpr double quiet_NaN() noexcept { return __builtin_bit_cast(double, 0x7ff8000000000000ull); } }; }
"#,
    },
    Piece {
        names: &["min", "max", "clamp"],
        std: true,
        text: r#"namespace std { template <class T> __host__ __device__ constexpr const T& min(const T& a, const T& b) { return b < a ? b : a; }
template <class T> __host__ __device__ constexpr const T& max(const T& a, const T& b) { return a < b ? b : a; }
template <class T> __host__ __device__ constexpr const T& clamp(const T& v, const T& lo, const T& hi) {
  return v < lo ? lo : hi < v ? hi : v; } }
"#,
    },
    Piece {
        names: &[
            "integral_constant",
            "bool_constant",
            "true_type",
            "false_type",
            "is_same",
            "is_same_v",
            "conditional",
            "conditional_t",
            "enable_if",
            "enable_if_t",
            "remove_cv",
            "remove_cv_t",
            "remove_const",
            "remove_const_t",
            "remove_reference",
            "remove_reference_t",
            "remove_pointer",
            "remove_pointer_t",
            "is_integral",
            "is_integral_v",
            "is_floating_point",
            "is_floating_point_v",
            "is_arithmetic",
            "is_arithmetic_v",
            "is_signed",
            "is_signed_v",
            "is_unsigned",
            "is_unsigned_v",
            "is_pointer",
            "is_pointer_v",
            "is_void",
            "is_void_v",
            "type_identity",
            "remove_volatile",
            "add_const",
            "move",
            "forward",
            "swap",
            "declval",
            "is_const",
            "is_const_v",
            "is_reference",
        ],
        std: true,
        text: r#"namespace std { template <class T, T V> struct integral_constant {
  static constexpr T value = V; using value_type = T; using type = integral_constant;
  __host__ __device__ constexpr operator T() const noexcept { return V; }
  __host__ __device__ constexpr T operator()() const noexcept { return V; } };
template <bool B> using bool_constant = integral_constant<bool, B>;
using true_type = bool_constant<true>; using false_type = bool_constant<false>;
template <class T, class U> struct is_same : false_type {}; template <class T> struct is_same<T, T> : true_type {};
template <class T, class U> constexpr bool is_same_v = is_same<T, U>::value;
template <bool B, class T, class F> struct conditional { using type = T; };
template <class T, class F> struct conditional<false, T, F> { using type = F; };
template <bool B, class T, class F> using conditional_t = typename conditional<B, T, F>::type;
template <bool B, class T = void> struct enable_if {}; template <class T> struct enable_if<true, T> { using type = T; };
template <bool B, class T = void> using enable_if_t = typename enable_if<B, T>::type;
template <class T> struct type_identity { using type = T; };
template <class T> struct remove_const { using type = T; }; template <class T> struct remove_const<const T> { using type = T; };
template <class T> struct remove_volatile { using type = T; };
template <class T> struct remove_volatile<volatile T> { using type = T; };
template <class T> struct add_const { using type = const T; };
template <class T> struct remove_cv { using type = typename remove_volatile<typename remove_const<T>::type>::type; };
template <class T> struct remove_reference { using type = T; }; template <class T> struct remove_reference<T&> { using type = T; };
template <class T> struct remove_reference<T&&> { using type = T; };
template <class T> struct remove_pointer { using type = T; }; template <class T> struct remove_pointer<T*> { using type = T; };
template <class T> struct remove_pointer<T* const> { using type = T; };
template <class T> using remove_const_t = typename remove_const<T>::type;
template <class T> using remove_cv_t = typename remove_cv<T>::type;
template <class T> using remove_reference_t = typename remove_reference<T>::type;
template <class T> using remove_pointer_t = typename remove_pointer<T>::type;
template <class T> struct kopt_integral : false_type {};
template <> struct kopt_integral<bool> : true_type {}; template <> struct kopt_integral<char> : true_type {};
template <> struct kopt_integral<signed char> : true_type {}; template <> struct kopt_integral<unsigned char> : true_type {};
template <> struct kopt_integral<short> : true_type {}; template <> struct kopt_integral<unsigned short> : true_type {};
template <> struct kopt_integral<int> : true_type {}; template <> struct kopt_integral<unsigned> : true_type {};
template <> struct kopt_integral<long> : true_type {}; template <> struct kopt_integral<unsigned long> : true_type {};
template <> struct kopt_integral<long long> : true_type {}; template <> struct kopt_integral<unsigned long long> : true_type {};
template <> struct kopt_integral<wchar_t> : true_type {}; template <> struct kopt_integral<char16_t> : true_type {};
template <> struct kopt_integral<char32_t> : true_type {};
template <class T> struct is_integral : kopt_integral<remove_cv_t<T>> {};
template <class T> struct is_floating_point : bool_constant<is_same<remove_cv_t<T>, float>::value ||
  is_same<remove_cv_t<T>, double>::value || is_same<remove_cv_t<T>, long double>::value> {};
template <class T> struct is_arithmetic : bool_constant<is_integral<T>::value || is_floating_point<T>::value> {};
template <class T, bool = is_arithmetic<T>::value> struct kopt_signed : bool_constant<(T(-1) < T(0))> {};
template <class T> struct kopt_signed<T, false> : false_type {};
template <class T> struct is_signed : kopt_signed<remove_cv_t<T>> {};
template <class T> struct is_unsigned : bool_constant<is_arithmetic<T>::value && !is_signed<T>::value> {};
template <class T> struct kopt_pointer : false_type {}; template <class T> struct kopt_pointer<T*> : true_type {};
template <class T> struct is_pointer : kopt_pointer<remove_cv_t<T>> {};
template <class T> struct is_void : is_same<void, remove_cv_t<T>> {};
template <class T> struct is_const : false_type {}; template <class T> struct is_const<const T> : true_type {};
template <class T> struct is_reference : false_type {}; template <class T> struct is_reference<T&> : true_type {};
template <class T> struct is_reference<T&&> : true_type {};
template <class T> constexpr bool is_integral_v = is_integral<T>::value;
template <class T> constexpr bool is_floating_point_v = is_floating_point<T>::value;
template <class T> constexpr bool is_arithmetic_v = is_arithmetic<T>::value;
template <class T> constexpr bool is_signed_v = is_signed<T>::value;
template <class T> constexpr bool is_unsigned_v = is_unsigned<T>::value;
template <class T> constexpr bool is_pointer_v = is_pointer<T>::value;
template <class T> constexpr bool is_void_v = is_void<T>::value;
template <class T> constexpr bool is_const_v = is_const<T>::value;
template <class T> T&& declval() noexcept;
template <class T> __host__ __device__ constexpr remove_reference_t<T>&& move(T&& v) noexcept {
  return static_cast<remove_reference_t<T>&&>(v); }
template <class T> __host__ __device__ constexpr T&& forward(remove_reference_t<T>& v) noexcept { return static_cast<T&&>(v); }
template <class T> __host__ __device__ constexpr T&& forward(remove_reference_t<T>&& v) noexcept { return static_cast<T&&>(v); }
template <class T> __host__ __device__ constexpr void swap(T& a, T& b) { T t = move(a); a = move(b); b = move(t); } }
"#,
    },
    Piece { names: &["nullptr_t"], std: true, text: "namespace std { typedef decltype(nullptr) nullptr_t; }\n" },
    Piece { names: &["byte"], std: true, text: "namespace std { enum class byte : unsigned char {}; }\n" },
];
