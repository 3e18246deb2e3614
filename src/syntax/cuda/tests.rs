//! Types and declarations, spelling by spelling.

use super::parse_unit;
use crate::ir::dump::type_text;
use crate::ir::*;
use crate::source::mask::MacroTable;
use crate::source::{FileId, SourceFile};

fn unit(text: &str) -> Unit {
    parse_unit(FileId(0), &SourceFile::new("test.cu", text.as_bytes()), &MacroTable::default())
}

/// The type of `x` as a local variable declared by `text`.
fn local(text: &str) -> String {
    let u = unit(&format!(
        "typedef unsigned char u8; using real = double; #define REAL float\nstruct S {{ float* data; int n; }};\n\
         template <typename T> __global__ void k(const float* f, half* h, S s, float4 v, T t, int n) {{ {text}; }}"
    ));
    let f = u.kernels().next().expect("one kernel");
    assert!(f.flaws.is_empty(), "{text}: {:?}", f.flaws);
    let x = f.vars.iter().find(|v| v.name == "x").expect("x is declared");
    type_text(&x.ty)
}

#[test]
fn scalars_in_every_spelling() {
    let table = [
        ("unsigned x", "u32"),
        ("unsigned long long x", "u64"),
        ("long long int x", "i64"),
        ("short x", "i16"),
        ("size_t x", "u64"),
        ("std::size_t x", "u64"),
        ("uint8_t x", "u8"),
        ("std::int32_t x", "i32"),
        ("u8 x", "u8"),
        ("real x", "f64"),
        ("half x", "f16"),
        ("__half x", "f16"),
        ("at::Half x", "f16"),
        ("c10::BFloat16 x", "bf16"),
        ("nv_bfloat16 x", "bf16"),
        ("__nv_bfloat162 x", "bf16x2"),
        ("float4 x", "f32x4"),
        ("int4 x", "i32x4"),
        ("half2 x", "f16x2"),
        ("ushort4 x", "u16x4"),
        ("const int x = 3", "i32"),
        ("T x", "'T"),
        ("std::vector<int> x", "std::vector<int>"),
        ("signed char x", "i8"),
        ("bool x", "bool"),
        ("long double y; int x", "i32"),
    ];
    for (text, expected) in table {
        assert_eq!(local(text), expected, "{text}");
    }
}

#[test]
fn pointers_arrays_and_references() {
    let table = [
        ("const float* __restrict__ x = f", "const f32* restrict"),
        ("float const* x", "const f32*"),
        ("volatile int* x", "volatile i32*"),
        ("float** x", "f32**"),
        ("float x[4][n]", "f32[n][n]"),
        ("float (*x)[8]", "f32[n]*"),
        ("const T& x = t", "const 'T&"),
        ("int (*x)(int)", "function*"),
        ("int a, *x", "i32*"),
        ("float x[] = {1, 2}", "f32[]"),
    ];
    for (text, expected) in table {
        assert_eq!(local(text), expected, "{text}");
    }
}

#[test]
fn auto_follows_the_initialiser() {
    let table = [
        ("auto x = f", "const f32*"),
        ("auto x = f[0]", "f32"),
        ("auto x = f + 1", "const f32*"),
        ("auto x = h[0] * h[1]", "f16"),
        ("auto x = f[0] * 2.0", "f64"),
        ("auto x = threadIdx.x + n", "u32"),
        ("auto x = (size_t)n * 4", "u64"),
        ("auto x = v.x", "f32"),
        ("auto x = s.data[1]", "f32"),
        ("auto x = n > 3", "bool"),
        ("auto* x = &n", "i32*"),
        ("const auto& x = v", "const f32x4&"),
        ("auto x = sqrtf(2)", "f32"),
        ("auto x = __half2float(h[0])", "f32"),
        ("auto x = static_cast<int64_t>(n) + 1", "i64"),
        ("auto x = unknown(n)", "auto"),
        ("auto x = make_float2(1, 2)", "f32x2"),
        ("auto x = reinterpret_cast<const float4*>(f)[2]", "f32x4"),
        ("auto x = 'a'", "i8"),
        ("auto x = 1u << 3", "u32"),
        ("auto x = n ? 1.f : 2.f", "f32"),
        ("auto x = max(1.f, f[0])", "f32"),
        ("auto x = &f[1] - f", "i64"),
    ];
    for (text, expected) in table {
        assert_eq!(local(text), expected, "{text}");
    }
}

#[test]
fn constructors_are_no_function_declarations() {
    for (text, init) in [
        ("half2 x(h[0], h[1])", "f16x2{h[0], h[1]}"),
        ("half2 x(t, n)", "f16x2{t, n}"),
        ("float x(n)", "n"),
        ("dim3 x(n * 2, n)", "dim3{(n * 2), n}"),
        ("float4 x(n * n, n)", "f32x4{(n * n), n}"),
    ] {
        let u = unit(&format!("__global__ void k(half* h, int t, int n) {{ {text}; }}"));
        let f = u.kernels().next().expect("one kernel");
        let x = f.vars.iter().find(|v| v.name == "x").expect("x is a variable");
        assert_eq!(crate::ir::dump::expr_text(f, x.init.expect("initialised")), init, "{text}");
        assert!(f.flaws.is_empty());
    }
    let u = unit("__global__ void k(int n) { float g(int, float); void h(); }");
    assert_eq!(u.kernels().next().map(|f| f.vars.len()), Some(1), "prototypes declare no variable");
}

#[test]
fn declarations_with_template_arguments_are_no_comparisons() {
    for (text, ty) in [
        ("cg::thread_block_tile<32> x = cg::tiled_partition<32>(b)", "cg::thread_block_tile<32>"),
        ("cg::tile<32> x", "cg::tile<32>"),
        ("cg::tile<32> x = 3", "cg::tile<32>"),
        ("lib::pair<4, 8> x(n, 1)", "lib::pair<4, 8>"),
        ("lib::pair<float, 8> x = n", "lib::pair<float, 8>"),
        ("tile<32> x = g<32>(n)", "tile<32>"),
    ] {
        assert_eq!(local(text), ty, "{text}");
    }
}

#[test]
fn constants_of_the_file_are_evaluated() {
    let u = unit(
        "#define A 4\n#define B (A * 2)\nconstexpr int C = B << 1;\nenum { D = 3, E };\nstatic const size_t F = C / sizeof(int);\n\
         #define G -1\n#define H(x) x\nconst float I = 2;",
    );
    let constant = |name: &str| u.constants.iter().find(|(n, ..)| n == name).map(|(_, v, _)| *v);
    let global = |name: &str| u.globals.iter().find(|g| g.name == name).and_then(|g| g.value);
    assert_eq!((constant("A"), constant("B"), constant("D"), constant("E")), (Some(4), Some(8), Some(3), Some(4)));
    assert_eq!((constant("G"), constant("H")), (Some(-1), None));
    assert_eq!((global("C"), global("F")), (Some(16), None));
}

#[test]
fn what_two_branches_declare_is_either() {
    let u = unit(
        "#ifdef SMALL\nconst int n = 4;\ntypedef float real;\n#define W 8\n#else\nconst int n = 8;\ntypedef double real;\n#define W 16\n#endif\n\
         const int rows = n, words = W * 2;\nconst int same = 3;\ntypedef int one;\ntypedef int one;\n\
         #ifdef SMALL\nconst int twice = 5;\n#else\nconst int twice = 5;\n#endif\nconst int more = twice + same;\n\
         __global__ void k(real* p, one* q) { p[0] = 1; q[0] = rows; }",
    );
    let global = |name: &str| u.globals.iter().find(|g| g.name == name).and_then(|g| g.value);
    assert_eq!((global("rows"), global("words"), global("more")), (None, None, Some(8)));
    let f = u.kernels().next().expect("one kernel");
    let element = |n: usize| f.accesses[n].ty.clone();
    assert_eq!(type_text(&element(1)), "i32");
    assert!(!matches!(element(0), Type::Scalar(_)), "{:?}", element(0));
}

#[test]
fn a_type_that_the_command_line_may_set_is_not_known() {
    let element = |head: &str| {
        let u = unit(&format!("{head}\n__global__ void k(REAL* p) {{ p[0] = 1; }}"));
        let f = u.kernels().next().expect("one kernel");
        f.accesses[0].ty.clone()
    };
    assert_eq!(type_text(&element("#define REAL float")), "f32");
    for head in [
        "#ifndef REAL\n#define REAL float\n#endif",
        "#if !defined(REAL)\n# define REAL float\n#endif",
        "#ifndef OTHER\n#define OTHER float\n#endif\n#define REAL OTHER",
        "#ifndef OTHER\n#define OTHER float\n#endif\ntypedef OTHER REAL;",
        "#ifdef BIG\n#define REAL double\n#else\n#define REAL float\n#endif",
    ] {
        assert!(!matches!(element(head), Type::Scalar(_)), "{head}: {:?}", element(head));
    }
}

#[test]
fn a_comparison_in_disguise_is_mended() {
    for condition in ["i < n / 4 && j > (m)", "i < n >> 2", "i<n/4&&j>(m)", "i < n && j > m", "i < (n) && j >> (m)"] {
        let u =
            unit(&format!("__global__ void k(int i, int j, int n, int m, float* p) {{ if ({condition}) p[i] = 0; }}"));
        let f = u.kernels().next().expect("one kernel");
        assert!(f.flaws.is_empty(), "{condition}: {:?}", f.flaws);
        assert_eq!(f.accesses.len(), 1, "{condition}");
        assert!(matches!(f.kind_of(f.accesses[0].guards[0].expr), ExprKind::Binary { .. }), "{condition}");
    }
}

#[test]
fn macros_that_reinterpret_are_seen_through() {
    for body in [
        "(reinterpret_cast<float4*>(&(x))[0])",
        "(reinterpret_cast<const float4 *>(&(x))[0])",
        "*reinterpret_cast<float4*>(&(x))",
        "(*(float4 *)(&(x)))",
    ] {
        let u =
            unit(&format!("#define F4(x) {body}\n__global__ void k(float* p, int i) {{ F4(p[4 * i]) = F4(p[i]); }}"));
        let f = u.kernels().next().expect("one kernel");
        let seen: Vec<_> = f.accesses.iter().map(|a| (a.mode, a.space, type_text(&a.ty), a.through_cast)).collect();
        let wide = |mode| (mode, Space::Global, "f32x4".to_owned(), true);
        assert_eq!(seen, [wide(AccessMode::Store), wide(AccessMode::Load)], "{body}");
    }
    // Anything else stays a call, whose argument is touched with an unknown width.
    let u = unit("#define F4(x) first(x)\n__global__ void k(float* p) { F4(p[0]) = 1; }");
    let f = u.kernels().next().expect("one kernel");
    assert_eq!((f.accesses[0].mode, &f.accesses[0].ty), (AccessMode::Store, &Type::Unknown));
}

#[test]
fn launches_through_a_local_name_are_those_of_the_kernel() {
    let u = unit(
        "template <int N> __global__ void k() {} __global__ void a() {} __global__ void b() {}\n\
         void h(int n) { auto f = &k<4>; f<<<1, 2>>>(); auto g = a; if (n) g = b; g<<<1, 2>>>(); (*f)<<<1, 2>>>(); }",
    );
    let seen: Vec<_> = u.launches.iter().map(|l| (l.callee.as_str(), l.template_args.clone())).collect();
    let four = || vec!["4".to_owned()];
    assert_eq!(seen, [("k", four()), ("g", vec![]), ("k", four())], "g may be either and keeps its name");
}

#[test]
fn lost_kernels_are_reported() {
    let u = unit("#define MAKE(n) __global__ void n(float* p) { p[0] = 1; }\nMAKE(a)\n__global__ void b() {}");
    let codes: Vec<u16> = u.problems.iter().map(|p| p.code.0).filter(|c| *c == 2).collect();
    assert_eq!((u.kernels().count(), codes), (1, vec![2]));
}

#[test]
fn ids_are_positions_and_spans_lie_in_the_text() {
    let text = include_str!("../../../tests/data/ordinary.cu");
    let u = unit(text);
    for (i, f) in u.functions.iter().enumerate() {
        assert_eq!(f.id.0 as usize, i);
        assert!(f.span.range().end <= text.len());
        for e in &f.exprs {
            assert!(f.span.contains(e.span) && text.get(e.span.range()).is_some());
        }
        for v in f.vars.iter().filter(|v| !matches!(v.kind, VarKind::Global | VarKind::Constant)) {
            assert_eq!(text.get(v.name_span.range()), Some(v.name.as_str()));
        }
    }
}
