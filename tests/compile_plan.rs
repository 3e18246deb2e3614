//! Which unit and which template arguments a kernel is compiled with: those of the program first, a named sample last.
//!
//! What needs NVRTC says so when there is none, and fails then if `KOPT_REQUIRE_TIER1=1`.

use std::collections::BTreeMap;

use kopt::compile::plan::{Job, NoInstance, Origin, Place, Plan};
use kopt::compile::{Cache, CompileGate, NoHeaders, Target, Toolchain, slice};

fn gate() -> Option<CompileGate> {
    let toolchain = Toolchain::find();
    if toolchain.nvrtc.is_none() {
        assert!(std::env::var_os("KOPT_REQUIRE_TIER1").is_none(), "{}", toolchain.report());
        println!("tier 1: not run (no NVRTC; kopt toolchain install)");
        return None;
    }
    Some(CompileGate::new(toolchain, Cache::none()))
}

/// The main file of the unit, the arguments, and what is said of a sample.
type Row = (&'static str, &'static str, Option<&'static str>);

/// A program, the kernel `k` of its file `k.cuh`, and what is compiled of it.
struct Case {
    what: &'static str,
    /// `k.cuh` first; the others include it.
    files: &'static [(&'static str, &'static str)],
    /// What is compiled, or the key of the reason.
    want: Result<&'static [Row], &'static str>,
    others: usize,
}

const ADD: &str = "#pragma once\ntemplate <class T> __global__ void k(T* p) { p[threadIdx.x] += T(1); }\n";

const CASES: &[Case] = &[
    Case {
        what: "a template of a header, launched by a file that includes it",
        files: &[
            ("k.cuh", ADD),
            ("a.cu", "#include \"k.cuh\"\nvoid h(double* d) { k<<<1, 32>>>(d); k<int><<<1, 32>>>(0); }\n"),
        ],
        want: Ok(&[("a.cu", "<double>", None), ("a.cu", "<int>", None)]),
        others: 0,
    },
    Case {
        what: "two files that include it, one by another header, and a type of theirs",
        files: &[
            ("k.cuh", ADD),
            (
                "a.cu",
                "#include \"k.cuh\"\nstruct V { float x; __device__ V(int a) : x(a) {} __device__ void operator+=(V o) { x += o.x; } };\nvoid h(V* v) { k<<<1, 32>>>(v); }\n",
            ),
            ("b.cu", "#include \"run.h\"\nvoid h() { run<short>(0); }\n"),
            ("run.h", "#pragma once\n#include \"k.cuh\"\ntemplate <class U> void run(U* p) { k<U><<<1, 32>>>(p); }\n"),
        ],
        want: Ok(&[("a.cu", "<V>", None), ("b.cu", "<short>", None)]),
        others: 0,
    },
    Case {
        what: "no more than sixteen",
        files: &[(
            "k.cuh",
            "template <int N> __global__ void k(int* p) { p[N] = 1; }\n#define FOUR(a) k<a><<<1, 1>>>(0); k<a + 1><<<1, 1>>>(0); k<a + 2><<<1, 1>>>(0); k<a + 3><<<1, 1>>>(0);\n\
            void h() { FOUR(0) FOUR(4) FOUR(8) FOUR(12) FOUR(16) }\n",
        )],
        want: Ok(&[
            ("k.cuh", "<0>", None),
            ("k.cuh", "<0 + 1>", None),
            ("k.cuh", "<0 + 2>", None),
            ("k.cuh", "<0 + 3>", None),
            ("k.cuh", "<4>", None),
            ("k.cuh", "<4 + 1>", None),
            ("k.cuh", "<4 + 2>", None),
            ("k.cuh", "<4 + 3>", None),
            ("k.cuh", "<8>", None),
            ("k.cuh", "<8 + 1>", None),
            ("k.cuh", "<8 + 2>", None),
            ("k.cuh", "<8 + 3>", None),
            ("k.cuh", "<12>", None),
            ("k.cuh", "<12 + 1>", None),
            ("k.cuh", "<12 + 2>", None),
            ("k.cuh", "<12 + 3>", None),
        ]),
        others: 4,
    },
    Case {
        what: "a plain kernel that needs what its includer defines",
        files: &[
            ("k.cuh", "__global__ void k(real* p) { p[0] = TILE; }\n"),
            ("a.cu", "typedef float real;\n#define TILE 8\n#include \"k.cuh\"\n"),
        ],
        want: Ok(&[("a.cu", "", None)]),
        others: 0,
    },
    Case {
        what: "a plain kernel that nobody completes",
        files: &[("k.cuh", "__global__ void k(real* p) { p[0] = 1; }\n"), ("a.cu", "#include \"k.cuh\"\n")],
        want: Err("rejected"),
        others: 0,
    },
    Case {
        what: "no instantiation: a sample",
        files: &[("k.cuh", ADD)],
        want: Ok(&[("k.cuh", "<float>", Some("T = float, chosen by kopt: no instantiation in view"))]),
        others: 0,
    },
    Case {
        what: "an instantiation that cannot be followed: a sample, and a count",
        files: &[(
            "k.cuh",
            "template <int N> __global__ void k(int* p) { p[N] = 1; }\nvoid h(int n) { k<N(n)><<<1, 1>>>(0); }\n",
        )],
        want: Ok(&[("k.cuh", "<32>", Some("N = 32, chosen by kopt: no instantiation in view"))]),
        others: 1,
    },
    Case {
        what: "a static_assert decides the number, the body the type",
        files: &[(
            "k.cuh",
            "template <class T, int N> __global__ void k(T* p) { static_assert(N == 8, \"\"); __shared__ T t[N]; t[0] = p[0]; p[1] = t[0].y; }\n\
            template <class T, int N> void h(T* p) { k<T, N><<<1, 1>>>(p); }\n",
        )],
        want: Err("needs-instantiation"),
        others: 0,
    },
    Case {
        what: "a static_assert decides the number",
        files: &[(
            "k.cuh",
            "template <class T, int N> __global__ void k(T* p) { static_assert(N <= 8 && N > 1, \"\"); p[N] = 0; }\n",
        )],
        want: Ok(&[("k.cuh", "<float, 4>", Some("T = float, N = 4, chosen by kopt: no instantiation in view"))]),
        others: 0,
    },
    Case {
        what: "both values of a condition",
        files: &[("k.cuh", "template <bool B> __global__ void k(int* p) { if (B) p[0] = 1; }\n")],
        want: Ok(&[
            ("k.cuh", "<false>", Some("B = false, chosen by kopt: no instantiation in view")),
            ("k.cuh", "<true>", Some("B = true, chosen by kopt: no instantiation in view")),
        ]),
        others: 0,
    },
    Case {
        what: "a function object has no sample",
        files: &[("k.cuh", "template <class Op> __global__ void k(int* p, Op op) { p[0] = op(p[0]); }\n")],
        want: Err("needs-instantiation"),
        others: 0,
    },
    Case {
        what: "a type without a header that is needed for the sample only",
        files: &[(
            "k.cuh",
            "template <class T> __global__ void k(T* p) { static_assert(sizeof(T) == 2, \"\"); p[0] = p[1]; }\n",
        )],
        want: Ok(&[("k.cuh", "<__half>", Some("T = __half, chosen by kopt: no instantiation in view"))]),
        others: 0,
    },
    Case {
        what: "what is reached by a name alone and does not compile is left out",
        files: &[(
            "k.cuh",
            "#include <widget.h>\nstruct size { Widget w; };\nusing width = lib::Width;\n__global__ void k(int* p) { int n = blockDim.x; struct S { int size, width; } s{n, n}; p[0] = s.size + s.width; }\n",
        )],
        want: Ok(&[("k.cuh", "", None)]),
        others: 0,
    },
    Case {
        what: "what the kernel needs is not",
        files: &[("k.cuh", "struct Item { Gadget w; };\n__global__ void k(Item* p) { p[0] = p[1]; }\n")],
        want: Err("rejected"),
        others: 0,
    },
    Case {
        what: "an alias of another project's type",
        files: &[(
            "k.cuh",
            "#include <torch/all.h>\nusing phalf = at::Half;\n__device__ float f(phalf* p);\n__global__ void k(float* q) { q[0] = f(nullptr); }\n",
        )],
        want: Err("third-party-header"),
        others: 0,
    },
    Case {
        what: "kernels that share a name",
        files: &[(
            "k.cuh",
            "__global__ void k(const float* __restrict__ a, float* b) { b[0] = a[0]; }\n__global__ void k(int* b, int n = 3) { b[0] = n; }\n",
        )],
        want: Err("several-kernels"),
        others: 0,
    },
    Case {
        what: "a header under both branches of a condition, and again inside one",
        files: &[
            (
                "k.cuh",
                "#ifdef A\n#include \"t.h\"\n#include \"t.h\"\n#else\n#include \"t.h\"\n#endif\n__global__ void k(T* p) { p[0] = 1; }\n",
            ),
            ("t.h", "#pragma once\ntypedef int T;\n"),
        ],
        want: Ok(&[("k.cuh", "", None)]),
        others: 0,
    },
    Case {
        what: "a variable of the host that is set to a constant of the library",
        files: &[(
            "k.cuh",
            "#include <climits>\nlong limit = INT_MAX, other = LONG_MAX;\n__global__ void k(int* p) { p[0] = INT_MAX; p[1] = LONG_MAX > 0; }\n",
        )],
        want: Ok(&[("k.cuh", "", None)]),
        others: 0,
    },
    Case {
        what: "a register, a host annotation, constants of the integer types",
        files: &[(
            "k.cuh",
            "__host__ constexpr int two() { return 2; }\n__host__ __device__ int three() { return 3; }\n__global__ void k(unsigned long* p) { register int i = two() + three(); p[i] = UINT64_C(7); }\n",
        )],
        want: Ok(&[("k.cuh", "", None)]),
        others: 0,
    },
    Case {
        what: "an integer type that only an instantiation names, with and without cuda/std",
        files: &[(
            "k.cuh",
            "template <class T> __global__ void k(T* p) { p[0] = 1; }\nvoid h() { k<int16_t><<<1, 1>>>(0); }\n",
        )],
        want: Ok(&[("k.cuh", "<int16_t>", None)]),
        others: 0,
    },
    Case {
        what: "integer types beside a header of cuda/std",
        files: &[(
            "k.cuh",
            "#include <cuda/std/array>\n__global__ void k(int32_t* p, uint8_t* q) { cuda::std::array<int, 2> a{1, 2}; p[0] = a[q[0] & 1]; }\n",
        )],
        want: Ok(&[("k.cuh", "", None)]),
        others: 0,
    },
    Case {
        what: "a pointer to a function, and its parameters' names",
        files: &[(
            "k.cuh",
            "typedef unsigned (CONV *callback)(GLenum mode, GLint x);\ntypedef void (CONV other)(GLenum y, GLint z);\n__global__ void k(int* x, int mode, int y) { x[0] = mode + y; }\n",
        )],
        want: Ok(&[("k.cuh", "", None)]),
        others: 0,
    },
];

fn headers(files: &[(&str, &str)]) -> BTreeMap<String, String> {
    files.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect()
}

/// Runs `with` on the file `k.cuh` and its users.
fn place<T>(files: &[(&str, &str)], with: impl FnOnce(&Place<'_>) -> T) -> T {
    let users: Vec<(&str, &str)> = files.iter().filter(|(n, _)| n.ends_with(".cu")).copied().collect();
    with(&Place { file: files[0], users: &users })
}

fn key(plan: &Result<Plan, NoInstance>) -> Option<&'static str> {
    match plan {
        Ok(plan) => plan.instances.iter().find_map(|i| i.compiled.as_ref().err()).map(|e| e.key()),
        Err(NoInstance::Cut(why)) => Some(why.key()),
        Err(NoInstance::Template { .. }) => Some("needs-instantiation"),
    }
}

#[test]
fn kernels_are_compiled_as_the_program_uses_them_or_as_named_samples() {
    let Some(gate) = gate() else { return };
    for case in CASES {
        let headers = headers(case.files);
        let job = Job::new(&gate, &headers, "sm_80", &[]);
        let plan = place(case.files, |place| job.plan(place, "k"));
        match case.want {
            Err(want) => assert_eq!(key(&plan), Some(want), "{}: {plan:?}", case.what),
            Ok(want) => {
                assert_eq!(key(&plan), None, "{}: {plan:?}", case.what);
                let plan = plan.unwrap_or_else(|_| panic!("{}", case.what));
                let got: Vec<(&str, &str, Option<String>)> = plan
                    .instances
                    .iter()
                    .map(|i| {
                        let note = if let Origin::Sample(s) = &i.origin { Some(s.note()) } else { None };
                        (i.unit.as_str(), i.arguments.as_str(), note)
                    })
                    .collect();
                let want: Vec<_> = want.iter().map(|(u, a, n)| (*u, *a, n.map(str::to_owned))).collect();
                assert_eq!((got, plan.others), (want, case.others), "{}", case.what);
                let compiled = plan.instances.iter().filter_map(|i| i.compiled.as_ref().ok());
                assert!(compiled.clone().all(|c| c.kernels.len() == 1 && c.kernels[0].registers > 0), "{}", case.what);
            }
        }
    }
}

#[test]
fn a_candidate_is_compiled_where_and_as_the_original_was() {
    let Some(gate) = gate() else { return };
    let user = "#include \"k.cuh\"\n#define STEP 2\nvoid h(float* p) { k<<<1, 1>>>(p); }\n";
    let original = "template <class T> __global__ void k(T* p) { p[0] = 1; }\n";
    // Text of the candidate, whether it compiles through its user, and as a sample.
    let cases = [
        ("template <class T> __global__ void k(T* p) { p[0] = 2; }\n", true, true),
        ("template <class T> __global__ void k(T* p) { p[0] = missing; }\n", false, false),
        (
            "template <class T> __global__ void k(T* p) { static_assert(sizeof(T) == 8, \"\"); p[0] = 2; }\n",
            false,
            false,
        ),
    ];
    for files in [&[("k.cuh", original), ("a.cu", user)][..], &[("k.cuh", original)][..]] {
        let headers = headers(files);
        let job = Job::new(&gate, &headers, "sm_80", &[]);
        place(files, |place| {
            let plan = job.plan(place, "k").expect("a plan");
            assert_eq!(plan.instances.len(), 1);
            let is_sample = matches!(plan.instances[0].origin, Origin::Sample(_));
            assert_eq!(is_sample, files.len() == 1);
            for (text, through_user, as_sample) in cases {
                let (name, compiled) =
                    job.candidate(&plan.instances[0], place, text, ("k", None)).expect("it can be cut");
                assert_eq!(name, "k<float>");
                assert_eq!(compiled.is_ok(), if is_sample { as_sample } else { through_user }, "{text}: {compiled:?}");
            }
            assert!(job.candidate(&plan.instances[0], place, "int nothing;\n", ("k", None)).is_err());
        });
    }
}

/// A name that several functions have means none of them, and never the first.
#[test]
fn a_name_of_several_kernels_is_refused() {
    let name = |text: &str, wanted: &str| match slice("a.cu", text, &Target::Name(wanted), &NoHeaders) {
        Ok(sliced) => sliced.kernel,
        Err(why) => why.key().to_owned(),
    };
    let overloads = "__global__ void k(float* x) { x[0] = 1; }\n__global__ void k(int* second) { second[0] = 2; }\n";
    let spaces = "namespace a { __global__ void k(float* x) { x[0] = 1; } }\nnamespace b { __global__ void k(float* second) { second[0] = 2; } }\n";
    let outer = format!("{spaces}__global__ void k(float* x) {{ x[0] = 3; }}\n");
    let cases: &[(&str, &str, &str)] = &[
        (overloads, "k", "several-kernels"),
        (spaces, "k", "several-kernels"),
        (spaces, "a::k", "a::k"),
        (spaces, "b::k", "b::k"),
        // The whole name goes before the end of others.
        (&outer, "k", "k"),
        // One kernel: declared before, with its specialisation, in two arms of an `#if`.
        ("__global__ void k(float* x);\n__global__ void k(float* x) { x[0] = 1; }\n", "k", "k"),
        (
            "template <typename T> __global__ void k(T* x) { x[0] = 1; }\ntemplate <> __global__ void k<int>(int* x) { x[0] = 2; }\n",
            "k",
            "k",
        ),
        (
            "#ifdef A\n__global__ void k(float* x) { x[0] = 1; }\n#else\n__global__ void k(float *y) { y[0] = 2; }\n#endif\n",
            "k",
            "k",
        ),
        (
            "#ifdef A\n__global__ void k(float* x) { x[0] = 1; }\n#else\n__global__ void k(int* second) { second[0] = 2; }\n#endif\n",
            "k",
            "k",
        ),
        // A function of the host may share the name, and another kernel behind the `#if` is one too many.
        ("__global__ void k(float* x) { x[0] = 1; }\nvoid k() { float second; }\n", "k", "k"),
        (
            "#ifdef A\n__global__ void k(float* x) { x[0] = 1; }\n#endif\n__global__ void k(int* second) { second[0] = 2; }\n",
            "k",
            "several-kernels",
        ),
    ];
    for (text, wanted, expected) in cases {
        assert_eq!(name(text, wanted), *expected, "{wanted} in {text}");
    }
    // The place says which of them is meant.
    let at = overloads.find("second").unwrap();
    let second = slice("a.cu", overloads, &Target::At(at), &NoHeaders).unwrap();
    assert_eq!(second.signature.as_deref(), Some("(void (*)(int*))k"));
}

/// Where kernels share a name, the place in the file says which is compiled, there and in the files that include it.
#[test]
fn kernels_that_share_a_name_are_compiled_by_their_place() {
    let Some(gate) = gate() else { return };
    let header = "#ifdef USED\n#define W 1\n#endif\n__global__ void k(const float* a, float* b) { b[0] = a[W]; }\n__global__ void k(int* b, int n) { b[n] = W; }\n";
    let main = "#define USED\n#include \"k.cuh\"\nvoid f(int* b) { k<<<1, 1>>>(b, 3); }\n";
    let files: &[(&str, &str)] = &[("k.cuh", header), ("main.cu", main)];
    let headers = headers(files);
    let job = Job::new(&gate, &headers, "sm_80", &[]);
    for (word, ending) in [("float* b", "PKfPf"), ("int n", "Pii")] {
        let at = header.find(word).expect("the kernel");
        let plan = place(files, |place| job.plan_at(place, "k", Some(at))).expect("a plan");
        assert!(!plan.instances.is_empty() && plan.instances.iter().all(|i| i.compiled.is_ok()), "{word}: {plan:?}");
        for k in plan.instances.iter().filter_map(|i| i.compiled.as_ref().ok()).flat_map(|c| &c.kernels) {
            assert!(k.symbol.ends_with(ending), "{word}: {}", k.symbol);
        }
    }
}
