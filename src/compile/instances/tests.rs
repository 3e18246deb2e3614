use super::super::program::NoHeaders;
use super::super::reach::Reach;
use super::*;

fn found(text: &str) -> Found {
    let program = Program::load("a.cu", text, &NoHeaders);
    let reach = Reach::new(&program);
    let is_k =
        |(_, it): &(usize, &Item)| it.kind == ItemKind::Function && it.name == "k" && it.head.contains("__global__");
    let Some((root, _)) = program.items().find(is_k) else { return Found::default() };
    find(&program, root, "k", &|w| reach.defines(w))
}

const INT: &str = "template <int N> __global__ void k(float* p) {}\n";
const TYPE: &str = "template <class T, int N = 4> __global__ void k(T* p, int n) {}\n";
const PAIR: &str = "template <int A, int B> __global__ void k(float* p) {}\n";

/// The kernel, the rest of the program, the instantiations, and how many could not be followed.
const CASES: &[(&str, &str, &[&str], usize)] = &[
    // Written out.
    (TYPE, "void h() { k<float, 4><<<1, 2>>>(p, 1); }", &["k<float, 4>"], 0),
    (TYPE, "template __global__ void k<double>(double*, int);", &["k<double>"], 0),
    (TYPE, "template __global__ void k(half*, int);", &["k<half>"], 0),
    (TYPE, "void h() { auto f = k<int>; run(k<short, 1>); }", &["k<int>", "k<short, 1>"], 0),
    (TYPE, "void h() { k<unknown_type><<<1, 2>>>(p, 1); }", &[], 1),
    (TYPE, "int k2; void h() { s.k(1); k; }", &[], 0),
    // Constants of the function.
    (PAIR, "void h() { constexpr int A = 8, B = 2 * A; k<A, B><<<1, 2>>>(p); }", &["k<(8), (2 * (8))>"], 0),
    (INT, "void h() { const int A = f(1, 2); k<A><<<1, 2>>>(p); }", &[], 1),
    (INT, "void h() { int A = 8; k<A><<<1, 2>>>(p); }", &[], 1),
    (INT, "void h() { { const int A = 8; } k<A><<<1, 2>>>(p); }", &[], 1),
    (INT, "void h() { const int A{8}; k<A><<<1, 2>>>(p); }", &["k<(8)>"], 0),
    (INT, "void h() { const int A = A; k<A><<<1, 2>>>(p); }", &[], 1),
    (INT, "void h() { const int A = A + A + A + A + A + A + A + A; k<A><<<1, 2>>>(p); }", &[], 1),
    (TYPE, "void h() { using T = half2; k<T><<<1, 2>>>(p, 1); }", &["k<half2>"], 0),
    (TYPE, "void h() { typedef unsigned char T; k<T><<<1, 2>>>(p, 1); }", &["k<unsigned char>"], 0),
    // Constants of the program.
    (INT, "#define TILE 32\nvoid h() { k<TILE><<<1, 2>>>(p); }", &["k<TILE>"], 0),
    (
        INT,
        "enum E { kOne }; constexpr int kTwo = 2; void h() { k<kOne><<<1, 2>>>(p); k<kTwo><<<1, 2>>>(p); }",
        &["k<kOne>", "k<kTwo>"],
        0,
    ),
    // Deduced.
    (TYPE, "void h(float* d) { k<<<1, 2>>>(d, 1); }", &["k<float>"], 0),
    (TYPE, "void h() { double *a, *b; k<<<dim3(1, 2), 3 >> 1>>>(b + 1, 1); }", &["k<double>"], 0),
    (TYPE, "void h(void* d) { k<<<1, 2>>>(d, 1); k<<<1, 2>>>(other(), 1); }", &["k<void>"], 1),
    (
        "template <int N, class T> __global__ void k(T a) {}\n",
        "void h(short s) { k<3><<<1, 2>>>(s); }",
        &["k<3, short>"],
        0,
    ),
    (
        "template <int N = 2, class T> __global__ void k(T a) {}\n",
        "void h() { k<<<1, 2>>>(2.f); }",
        &["k<2, float>"],
        0,
    ),
    // Through templates of the host.
    (TYPE, "template <class U> void h(U* d) { k<U><<<1, 2>>>(d, 1); }", &[], 0),
    (TYPE, "template <class U> void h(U* d) { k<U><<<1, 2>>>(d, 1); }\nvoid g() { h<int>(p); }", &["k<int>"], 0),
    (TYPE, "template <class U> void h(U* d) { k<<<1, 2>>>(d, 1); }\nvoid g(char* c) { h(c); h(p); }", &["k<char>"], 1),
    (
        TYPE,
        "template <class U> void h(U* d) { k<U><<<1, 2>>>(d, 1); }\ntemplate void h<half>(half*);\ntemplate void h(float* x);",
        &["k<half>", "k<float>"],
        0,
    ),
    (
        INT,
        "template <int M> void h() { k<2 * M><<<1, 2>>>(p); k<7><<<1, 2>>>(p); }\nvoid g() { h<4>(); }",
        &["k<2 * 4>", "k<7>"],
        0,
    ),
    (
        INT,
        "template <int M> void h() { k<M><<<1, 2>>>(p); }\ntemplate <int L> void g() { h<L>(); }\nvoid f() { g<5>(); }",
        &["k<5>"],
        0,
    ),
    (INT, "template <int M> void h() { k<M><<<1, 2>>>(p); h<M>(); }", &[], 0),
    (INT, "template <int M, int L = M> void h() { k<L><<<1, 2>>>(p); }\nvoid f() { h<6>(); }", &["k<6>"], 0),
    // Through class templates.
    (
        TYPE,
        "template <class U> struct S { void run(); };\ntemplate <class U> void S<U>::run() { k<U><<<1, 2>>>(p, 1); }\ntemplate struct S<float>;",
        &["k<float>"],
        0,
    ),
    (
        TYPE,
        "template <class U> struct S { void run() { k<U><<<1, 2>>>(p, 1); } };\nvoid f() { S<double> s; s.run(); }",
        &["k<double>"],
        0,
    ),
    (TYPE, "struct S { float* q_; void run(); };\nvoid S::run() { k<<<1, 2>>>(q_, 1); }", &["k<float>"], 0),
    // Through macros.
    (
        TYPE,
        "#define RUN(T) k<T, 2><<<1, 2>>>(p, 1)\nvoid h() { RUN(int); RUN(float); }",
        &["k<int, 2>", "k<float, 2>"],
        0,
    ),
    (
        TYPE,
        "#define EACH(...) if (t) { using S = float; __VA_ARGS__(); } else { using S = half; __VA_ARGS__(); }\n\
        void h() { EACH([&] { k<S><<<1, 2>>>(p, 1); }); }",
        &["k<float>", "k<half>"],
        0,
    ),
    (
        INT,
        "#define CASE(n) case n: k<n><<<1, 2>>>(p); break;\nvoid h(int n) { switch (n) { CASE(1) CASE(2) } }",
        &["k<1>", "k<2>"],
        0,
    ),
    (
        TYPE,
        "#define MAKE(T) template void h<T>(T*);\ntemplate <class U> void h(U* d) { k<U><<<1, 2>>>(d, 1); }\nMAKE(long)\n",
        &["k<long>"],
        0,
    ),
    (
        TYPE,
        "void h() { AT_DISPATCH_FLOATING_TYPES_AND_HALF(t.type(), \"k\", [&] { k<scalar_t><<<1, 2>>>(p, 1); }); }",
        &["k<double>", "k<float>"],
        1,
    ),
    // By the definition itself.
    ("template <int N = 3> __global__ void k() {}\n", "", &["k<>"], 0),
    ("template <class T> void k();\ntemplate <> __global__ void k<float>() {}\n", "", &["k<float>"], 0),
    // No end.
    (INT, "void h() { k<", &[], 0),
    (INT, "void h() { k<A", &[], 0),
];

#[test]
fn instantiations_are_followed_through_the_program() {
    for (kernel, rest, names, unfollowed) in CASES {
        let got = found(&format!("{kernel}{rest}\n"));
        assert_eq!(
            (got.names, got.unfollowed),
            (names.iter().map(|n| n.to_string()).collect::<Vec<_>>(), *unfollowed),
            "{rest}"
        );
    }
}

#[test]
fn wrappers_without_end_end() {
    let deep: String = (0..200).map(|i| format!("template <int M> void h{i}() {{ h{}<M>(); }}\n", i + 1)).collect();
    assert!(
        found(&format!("{INT}{deep}template <int M> void h200() {{ k<M><<<1, 2>>>(p); }}\nvoid f() {{ h0<1>(); }}\n"))
            .names
            .is_empty()
    );
    let wide: String = (0..300).map(|i| format!("void f{i}() {{ k<{i}><<<1, 2>>>(p); }}\n")).collect();
    assert_eq!(found(&format!("{INT}{wide}")).names.len(), MAX_FOUND);
}
