//! Texts that look provable and are not.

use super::*;

/// Whether stride 1 of `x[i]` is claimed in the first loop.
fn claims_stride(body: &str) -> Option<String> {
    let text = format!("__global__ void k(float* x, float* y, int n, unsigned u, int m) {{ {body} }}");
    claims_in(&text)
}

fn claims_in(text: &str) -> Option<String> {
    with(text, &[], |f| {
        let s = f.stride(access(f, text, "x[i]"), LoopId(0)).ok()?;
        Some(format!("{} {}", f.render(&s.value), grade(&s.because)))
    })
}

#[test]
fn no_stride_is_claimed() {
    for body in [
        "for (int i = 0; i < n; ++i) { y[0] += x[i]; if (y[0] > 3) i += 2; }",
        "for (int i = 0; i < n; ++i) { y[0] += x[i]; int* p = &i; *p = 7; }",
        "for (int i = 0; i < n; ++i) { y[0] += x[i]; int& r = i; r++; }",
        "for (int i = 0; i < n; ++i) { y[0] += x[i]; auto& r = i; r++; }",
        "int i = 0; int& r = i; for (int j = 0; j < n; ++j) { y[0] += x[i]; ++i; r += 2; }",
        "int i = 0; auto bump = [&] { i += 2; }; for (int j = 0; j < n; ++j) { y[0] += x[i]; ++i; bump(); }",
        "int i = 0; auto bump = [&i]() { ++i; }; for (int j = 0; j < n; ++j) { bump(); y[0] += x[i]; ++i; }",
        "for (int i = 0; i < n; ++i) { y[0] += x[i]; asm(\"mov.u32 %0, 3;\" : \"=r\"(i)); }",
        "for (int i = 0; i < n; ++i) { y[0] += x[i]; UNKNOWN_MACRO; }",
        "for (int i = 0; i < n; ++i) { y[0] += x[i]; UNKNOWN_MACRO(i) }",
        "for (int i = 0; i < n; ++i) { y[0] += x[i]; change(i); }",
        "for (int i = 0; i < n; ++i) { y[0] += x[i]; i = i; }",
        "for (int i = 0; i < n; ++i, i += m) { y[0] += x[i]; m++; }",
        "for (int i = 0; i < n; i += m) { y[0] += x[i]; m = 2; }",
        "for (volatile int i = 0; i < n; ++i) { y[0] += x[i]; }",
        "for (short i = 0; i < n; ++i) { y[0] += x[i]; }",
        "for (unsigned char i = 0; i < n; ++i) { y[0] += x[i]; }",
        "int i = 0; for (int j = 0; j < n; ++j) { y[0] += x[i]; if (j & 1) ++i; }",
        "int i = 0; for (int j = 0; j < n; ++j) { y[0] += x[i]; if (j & 1) continue; ++i; }",
        "int i = 0; for (int j = 0; j < n; ++j) { y[0] += x[i]; switch (j) { case 0: ++i; } }",
        "int i = 0; for (int j = 0; j < n; ++j) { y[0] += x[i]; (j ? i : m) += 1; }",
        "int i = 0; for (int j = 0; j < n; ++j) { y[0] += x[i]; m = (++i, i++); }",
        "int i = 0; for (int j = 0; j < n; ++j) { y[0] += x[i]; j > 3 && ++i; }",
        "unsigned i = u; for (int j = 0; j < n; ++j) { y[0] += x[i]; --i; }",
        "int i = 0; for (int j = 0; j < n; ++j) { for (int q = 0; q < j; ++q) ++i; y[0] += x[i]; }",
        "int i = 0; for (int j = 0; j < n; ++j) { y[0] += x[i]; i = j * j; }",
        "int i = 0; again: for (int j = 0; j < n; ++j) { y[0] += x[i]; ++i; if (j > 3) goto again; }",
        "int i = 0; for (int j = 0; j < n; ++j) { int i = y[j]; y[0] += x[i]; ++i; }",
        "for (int i = 0; i < n; ++i) { x = x + m; y[0] += x[i]; x += i; }",
        "for (int i = 0; i < n; ++i) { if (m) x = y; y[0] += x[i]; }",
        "for (int i = 0; i < n; ++i) { float** p = &x; *p = y; y[0] += x[i]; }",
        "struct S { int i; } s; s.i = 0; for (int j = 0; j < n; ++j) { int i = s.i; y[0] += x[i]; s.i += j; }",
    ] {
        assert_eq!(claims_stride(body), None, "{body}");
    }
}

#[test]
fn hidden_by_macros_of_the_file() {
    let kernel = "__global__ void k(float* x, float* y, int n) { int i = 0; for (int j = 0; j < n; ++j) { y[0] += x[i]; BODY } }";
    for (defines, body) in [
        ("#define STEP ++i\n", "STEP; ++i;"),
        ("#define STEP() ++i\n", "STEP(); ++i;"),
        ("#define INNER i += 2\n#define STEP() INNER\n", "STEP(); ++i;"),
        ("#define min(a, b) (i++, (a))\n", "++i; y[1] = min(1, 2);"),
        ("#define i i2\n", "++i;"),
        ("#define int unsigned char\n", "++i;"),
    ] {
        let text = format!("{defines}{}", kernel.replace("BODY", body));
        assert_eq!(claims_in(&text), None, "{defines}");
    }
    for reading in
        ["#define W (1 + i)\n", "#define W ((float)(i) * n)\n", "#define W2 (i + n)\n#define W fmaxf(W2, 0.5f)\n"]
    {
        let text = format!("{reading}{}", kernel.replace("BODY", "y[1] = W; ++i;"));
        assert_eq!(claims_in(&text).as_deref(), Some("1 proved"), "{reading}");
    }
    let harmless = format!("#define NOTE(a) ((void)0)\n{}", kernel.replace("BODY", "++i;"));
    assert_eq!(claims_in(&harmless).as_deref(), Some("1 proved"));
}

#[test]
fn constants_that_may_have_another_value() {
    let kernel = "__global__ void k(float* x, float* y) { y[0] = x[N]; }\n";
    let at = |head: &str| {
        let text = format!("{head}{kernel}");
        with(&text, &["aligned(x, 16)"], |f| {
            let (p, known) = f.address(access(f, &text, "x[N]"), &[]).ok()?;
            f.aligned(&p, &known, 16).map(|(v, b)| format!("{v} {}", grade(&b)))
        })
    };
    assert_eq!(at("#define N 4\n").as_deref(), Some("true assumed aligned(x,16)"));
    assert_eq!(at("constexpr int N = 4;\n").as_deref(), Some("true assumed aligned(x,16)"));
    for default in [
        "#ifndef N\n#define N 4\n#endif\n",
        "#ifndef M\n#define M 4\n#endif\n#define N (M * 2)\n",
        "#ifndef M\n#define M 4\n#endif\nconst int N = M;\n",
        "#ifndef M\n#define M 4\n#endif\nconst int L = M * 2;\nconstexpr int N = L;\n",
    ] {
        assert!(at(default).is_none_or(|a| a.contains("implicit:default-macros")), "{default}: {:?}", at(default));
    }
    for head in [
        "#if A\nconst int M = 4;\n#else\nconst int M = 3;\n#endif\nconst int N = M;\n",
        "#if A\n#define M 4\n#else\n#define M 3\n#endif\nconst int N = M;\n",
        "#if A\n#define M 4\n#else\n#define M 3\n#endif\n#define N (M + 0)\n",
        "#define N 4\n#undef N\n#define N 3\n",
        "#if A\n#define N 4\n#else\n#define N 3\n#endif\n",
        "namespace a { constexpr int N = 4; }\nnamespace b { constexpr int N = 5; }\n",
        "int N = 4;\n",
        "#define N foo()\n",
        "extern const int N;\n",
    ] {
        assert_eq!(at(head), None, "{head}");
    }
}

#[test]
fn unsigned_arithmetic_that_wraps() {
    // Whether `x[..]` with this subscript is claimed to be aligned, be it by assumption.
    for (subscript, want) in [
        ("u - 4", Some(true)),
        ("u + 4294967292u", Some(true)),
        ("(u - 4) / 4 * 4", Some(true)),
        ("(u - 4) / 2", None),
        ("(u - 1) % 7", None),
        ("(int)(u - 1) / 3", None),
        ("(unsigned char)u", None),
        ("(short)(n * 4)", None),
        ("(unsigned short)n", None),
    ] {
        let text = format!("__global__ void k(float* x, float* y, int n, unsigned u) {{ y[0] = x[{subscript}]; }}");
        let got = known_at(&text, &format!("x[{subscript}]"), &["aligned(x, 16)", "u % 4 == 0"], 16);
        assert_eq!(got, want, "{subscript}");
    }
    // A comparison after a wrap says nothing.
    for (guard, want) in [("u - 1 < 3", None), ("u < 1", Some(true)), ("(int)u < 1", None)] {
        let text = format!("__global__ void k(float* x, float* y, int n, unsigned u) {{ if ({guard}) y[0] = x[u]; }}");
        assert_eq!(known_at(&text, "x[u]", &["aligned(x, 16)"], 16), want, "{guard}");
    }
}

fn known_at(text: &str, what: &str, assume: &[&str], bytes: i128) -> Option<bool> {
    with(text, assume, |f| {
        let (p, known) = f.address(access(f, text, what), &[]).ok()?;
        f.aligned(&p, &known, bytes).map(|(v, _)| v)
    })
}

#[test]
fn no_alignment_is_claimed() {
    let all = ["aligned(x, 16)", "n % 4 == 0"];
    let text = |body: &str| format!("__global__ void k(float* x, float* y, int n, unsigned u, short s) {{ {body} }}");
    for body in [
        "x += 1; y[0] = x[n];",
        "n = n + 1; y[0] = x[n];",
        "if (u > 3) n = 3; y[0] = x[n];",
        "n >>= 1; y[0] = x[n];",
        "int q = n; q++; n = q; y[0] = x[n];",
        "n *= 3; n -= 1; y[0] = x[n];",
        "unsigned n2 = n; n = n2 / 2; y[0] = x[n];",
        "x = y; y[0] = x[n];",
        "n = (short)n + u; y[0] = x[n];",
        "n = min(n, (int)u); y[0] = x[n];",
        "n = u ? n : 2; y[0] = x[n];",
        "n = n & 6; y[0] = x[n];",
        "n = n | 1; y[0] = x[n];",
        "n ^= 1; y[0] = x[n];",
        "n = n / 4; y[0] = x[n];",
        "n = -n + 1; y[0] = x[n];",
        "n = ~n; y[0] = x[n];",
        "n = sizeof(n) + n + 1; y[0] = x[n];",
    ] {
        let got = known_at(&text(body), "x[n]", &all, 16);
        assert_ne!(got, Some(true), "{body}");
    }
    for body in ["y[0] = x[n];", "n = -n; y[0] = x[n];", "n = n & ~3; y[0] = x[n];", "n = n << 1; y[0] = x[n];"] {
        assert_eq!(known_at(&text(body), "x[n]", &all, 16), Some(true), "{body}");
    }
    // A test that does not dominate, or of something else, proves nothing.
    for body in [
        "if (n % 4 == 0) { y[1] = 0; } y[0] = x[n];",
        "if (n % 4 == 0 || u) y[0] = x[n];",
        "if (n % 2 == 0) y[0] = x[n];",
        "if (n % 4) y[0] = x[n];",
        "if (!(n % 4 == 0)) y[0] = x[n];",
        "if (n % 4 == 0) { n++; y[0] = x[n]; }",
        "if (u % 4 == 0) y[0] = x[n];",
        "bool ok = n % 4 == 0; n++; if (ok) y[0] = x[n];",
        "if (n % 4 == 1) y[0] = x[n];",
        "if ((n / 4) % 4 == 0) y[0] = x[n];",
        "if ((unsigned char)n % 4 == 0 && u) y[0] = x[n + 1];",
    ] {
        let what = if body.contains("x[n + 1]") { "x[n + 1]" } else { "x[n]" };
        assert_ne!(known_at(&text(body), what, &["aligned(x, 16)"], 16), Some(true), "{body}");
    }
    for body in [
        "if (n % 4 == 0) y[0] = x[n];",
        "if (u && n % 4 == 0) y[0] = x[n];",
        "if (n % 4) return; y[0] = x[n];",
        "if (n % 4 != 0) { y[1] = 0; } else { y[0] = x[n]; }",
        "bool ok = n % 4 == 0; if (ok) y[0] = x[n];",
        "if ((n & 3) == 0) y[0] = x[n];",
        "if (!(n & 3)) y[0] = x[n];",
        "y[0] = n % 4 == 0 ? x[n] : 0;",
        "if (n % 8 == 4) y[0] = x[n];",
    ] {
        assert_eq!(known_at(&text(body), "x[n]", &["aligned(x, 16)"], 16), Some(true), "{body}");
    }
}

#[test]
fn instantiations_must_agree() {
    let text = "template <int V> __global__ void k(float* x, float* y, int n) { y[0] = x[n * V]; }
      int main() { float* a; float* b; cudaMalloc(&a, 64); cudaMalloc(&b, 64); k<4><<<1, 1>>>(a, b, 2); k<V2><<<1, 1>>>(a, b, 2); }";
    assert_eq!(known_at(&text.replace("V2", "8"), "x[n * V]", &[], 16), Some(true));
    assert_eq!(known_at(&text.replace("V2", "2"), "x[n * V]", &["n % 2 == 0"], 16), Some(true));
    assert_eq!(known_at(&text.replace("V2", "3"), "x[n * V]", &[], 16), None);
    let shadowed =
        format!("const int V2 = 4;\ntemplate <int V2> void g(float* a) {{ k<V2><<<1, 1>>>(a, a, 2); }}\n{text}");
    assert_eq!(known_at(&shadowed.replace("int main() { float* a; float* b; cudaMalloc(&a, 64); cudaMalloc(&b, 64); k<4><<<1, 1>>>(a, b, 2); k<V2><<<1, 1>>>(a, b, 2); }", "int main() {}"), "x[n * V]", &["aligned(x, 16)"], 16), None);
}

fn together(text: &str) -> bool {
    with(text, &[], |f| f.walked.barriers.values().last().map(|p| f.together(&p.divergent).is_ok())).unwrap_or(false)
}

#[test]
fn barriers_that_some_threads_miss() {
    let text = |body: &str| {
        format!("__global__ void k(float* x, int n) {{ int t = threadIdx.x; __shared__ int flag; {body} }}")
    };
    for body in [
        "if (t < n) __syncthreads();",
        "if (t >= n) return; __syncthreads();",
        "if (blockIdx.x * blockDim.x + threadIdx.x >= n) return; __syncthreads();",
        "if (x[t] > 0) return; __syncthreads();",
        "for (int i = t; i < n; i += blockDim.x) __syncthreads();",
        "for (int i = 0; i < n; ++i) { if (t == i) break; __syncthreads(); }",
        "for (int i = 0; i < n; ++i) { if (t == i) return; } __syncthreads();",
        "for (int i = 0; i < n; ++i) { if (t < 3) continue; __syncthreads(); }",
        "for (int i = 0; i < n; ++i) { __syncthreads(); if (t < 3) return; }",
        "for (int i = 0; i < n; ++i) { __syncthreads(); MAYBE(t); }",
        "for (int i = 0; i < n; ++i) { for (int j = 0; j < 3; ++j) { __syncthreads(); } if (x[t] > 0) break; }",
        "for (int i = 0; i < n; ++i) { switch (t) { case 1: continue; } __syncthreads(); }",
        "int s = t; for (int i = 0; i < 3; ++i) { s >>= 1; } for (; s > 0; s >>= 1) __syncthreads();",
        "for (int s = n; s > 0; s >>= x[0] > 1 ? 1 : 2) __syncthreads();",
        "for (int s = n; s > 0; s >>= 1) { if (t == 0) s = 0; __syncthreads(); }",
        "int& r = n; r = t; if (n > 3) __syncthreads();",
        "n = __shfl_sync(~0u, n, t); if (n > 3) __syncthreads();",
        "n += t & 1; while (n > 0) { --n; __syncthreads(); }",
        "int m = t; for (int i = 0; i < m; ++i) __syncthreads();",
        "int m = n; if (t == 0) m = 3; for (int i = 0; i < m; ++i) __syncthreads();",
        "while (flag) __syncthreads();",
        "int m = n; for (int i = 0; i < 3; ++i) { if (m > 2) __syncthreads(); m = t; }",
        "switch (t) { case 0: __syncthreads(); }",
        "switch (n) { case 0: if (t == 0) break; __syncthreads(); }",
        "switch (n) { case 0: { if (t == 0) { break; } } __syncthreads(); }",
        "switch (t) { case 0: if (n > 3) { case 1: __syncthreads(); } }",
        "switch (n) { case 0: for (int i = 0; i < 3; ++i) { case 1: __syncthreads(); } }",
        "t == 0 && (__syncthreads(), 1);",
        "do { __syncthreads(); } while (x[t] > 0);",
        "MAYBE_RETURN(t); __syncthreads();",
        "asm volatile(\"@p exit;\"); __syncthreads();",
        "unsigned m = __ballot_sync(~0u, t > 3); if (m) __syncthreads();",
        "int lane = t & 31; int w = lane / 32 + t; if (w == 0) __syncthreads();",
    ] {
        assert!(!together(&text(body)), "{body}");
    }
    for body in [
        "__syncthreads();",
        "if (n > 3) __syncthreads();",
        "switch (n) { case 1: __syncthreads(); break; default: x[t] = 0; }",
        "switch (n) { case 1: { x[t] = 0; __syncthreads(); break; } case 2: __syncthreads(); }",
        "if (blockIdx.x >= n) return; __syncthreads();",
        "for (int i = 0; i < n; ++i) __syncthreads();",
        "for (int i = 0; i < n; i += blockDim.x) __syncthreads();",
        "for (int s = blockDim.x / 2; s > 0; s >>= 1) { if (t < s) x[t] += x[t + s]; __syncthreads(); }",
        "if (t < n) { x[t] = 0; } __syncthreads();",
        "for (int i = t; i < n; i += 32) { x[i] = 0; } __syncthreads();",
        "int m = 4; if (n > 3) m = 8; for (int i = 0; i < m; ++i) __syncthreads();",
    ] {
        assert!(together(&text(body)), "{body}");
    }
}

/// Whether the load `x[i]` in the loop is claimed to be movable over its neighbours.
fn claims_movable(text: &str) -> bool {
    with(text, &[], |f| matches!(f.movable(access(f, text, "x[i]"), LoopId(0), &[]), Ok(Ok(_))).then_some(())).is_some()
}

#[test]
fn stores_in_disguise() {
    let text = |body: &str| {
        format!(
            "struct S {{ float* p; float v; }};\n__device__ void set(float* q) {{ *q = 1; }}\n__device__ float get(float v) {{ return v; }}\n\
             __device__ float* table;\n\
             __global__ void k(float* x, float* __restrict__ y, float** pp, S s, int n) {{
               for (int i = 0; i < n; ++i) {{ float a = x[i]; {body} }} }}"
        )
    };
    for body in [
        "s.p[i] = a;",
        "pp[0][i] = a;",
        "*pp[1] = a;",
        "((int*)x)[i + 1] = 0;",
        "*(float4*)&x[i] = make_float4(a, a, a, a);",
        "reinterpret_cast<float2*>(x)[i] = make_float2(a, a);",
        "float* q = x; q[i + 1] = a;",
        "float* q = x + 1; q[i] = a;",
        "float* q = n > 3 ? x : y; q[i + 1] = a;",
        "float& r = x[i + 1]; r = a;",
        "set(x + i + 1);",
        "set(&x[i + 1]);",
        "memcpy(x + 1, x, 4);",
        "auto f = [&] { x[i + 1] = a; }; f();",
        "auto f = [=](int j) { x[j] = a; }; f(i + 1);",
        "table[i] = a;",
        "asm volatile(\"st.global.f32 [%0], %1;\" :: \"l\"(x + i + 1), \"f\"(a));",
        "WRITE(x, i + 1);",
        "x[i + n] = a;",
        "x[n] = a;",
        "x[i * 2] = a;",
        "x[i++] = a;",
        "*(x + i + 1) = a;",
        "(i + 1)[x] = a;",
        "x[i + 1] += a;",
        "x[i + 1]++;",
        "__threadfence(); y[0] = a;",
        "__syncwarp(); y[0] = a;",
        "atomicAdd(&x[i + 1], a);",
        "atomicExch((int*)pp[0], 3);",
        "for (int j = 0; j < 4; ++j) x[i + j] = a;",
        "if (a > 3) x[i + 1] = a;",
        "x = y; x[i] = a;",
    ] {
        assert!(!claims_movable(&text(body)), "{body}");
    }
    for body in
        ["y[i] = a;", "y[n] = get(a);", "x[i] = a;", "float t[4]; t[i & 3] = a; y[i] = t[0];", "y[i] = fmaxf(a, 0.f);"]
    {
        assert!(claims_movable(&text(body)), "{body}");
    }
}

#[test]
fn other_functions_and_other_shapes() {
    // A device function's callers may be divergent, and its pointers may lead anywhere.
    let mut sources = Sources::default();
    let text = "__device__ void k(const float* x, float* y, int n) { __shared__ float t[4]; __syncthreads();
      for (int i = 0; i < n; ++i) { t[0] = 1; y[0] = x[i]; } }";
    let source = SourceFile::new("k.cu", text);
    let unit = crate::syntax::cuda::parse_unit(FileId(0), &source, &Default::default());
    sources.add(source);
    let program = Program { units: vec![unit], complete: true };
    let macros = macros_of(&program, &sources);
    let all = analyse(&program, &macros, FunctionRef { unit: 0, function: FunctionId(0) }, &[]).unwrap();
    let f = &all.general;
    assert!(f.walked.barriers.values().all(|p| f.together(&p.divergent).is_err()));
    assert!(!matches!(f.movable(access(f, text, "x[i]"), LoopId(0), &[]), Ok(Ok(_))));
}
