//! The compile gate on whole files: cut, compile for four architectures, map messages, remember.
//!
//! What needs NVRTC says so when there is none, and fails then if `KOPT_REQUIRE_TIER1=1`.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use kopt::compile::nvcc::NvccJob;
use kopt::compile::{
    BlockShape, Cache, CompileError, CompileGate, CompileRequest, Compiled, NoHeaders, Sliced, Target, Toolchain,
    Worker, compare, slice,
};
use kopt::source::{FileId, SourceFile};

const ARCHS: [&str; 4] = ["sm_75", "sm_80", "sm_90a", "sm_120"];

fn gate(cache: Cache) -> Option<CompileGate> {
    let toolchain = Toolchain::find();
    if toolchain.nvrtc.is_none() {
        assert!(std::env::var_os("KOPT_REQUIRE_TIER1").is_none(), "{}", toolchain.report());
        println!("tier 1: not run (no NVRTC; kopt toolchain install)");
        return None;
    }
    Some(CompileGate::new(toolchain, cache))
}

fn cut(text: &str, kernel: &str) -> Sliced {
    slice("user.cu", text, &Target::Name(kernel), &NoHeaders).unwrap_or_else(|e| panic!("{kernel}: {e}"))
}

fn compile(gate: &CompileGate, sliced: &Sliced, names: &[&str], arch: &str) -> Result<Compiled, CompileError> {
    let names = names.iter().map(|n| n.to_string()).collect();
    gate.compile(&CompileRequest { slice: sliced, names, arch, options: &[] })
}

/// One file: its kernel, the instantiations asked for, and words that must not be in the slice.
struct Case {
    what: &'static str,
    kernel: &'static str,
    names: &'static [&'static str],
    absent: &'static [&'static str],
    text: &'static str,
}

const CASES: &[Case] = &[
    Case {
        what: "vector add with a host main in the same file",
        kernel: "add",
        names: &[],
        absent: &["main", "cudaMalloc", "vector>", "launch"],
        text: r#"
#include <cuda_runtime.h>
#include <cstdio>
#include <vector>
#define CHECK(call) do { cudaError_t e = call; if (e != cudaSuccess) exit(1); } while (0)
// Adds.
__global__ void add(const float* __restrict__ a, const float* __restrict__ b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
void launch(float* a, float* b, float* c, int n) { add<<<(n + 255) / 256, 256>>>(a, b, c, n); }
int main() {
    std::vector<float> h(1024, 1.f);
    float* d; CHECK(cudaMalloc(&d, 4096));
    launch(d, d, d, 1024);
    printf("%f\n", h[0]);
}
"#,
    },
    Case {
        what: "softmax as a template with a helper template and a macro",
        kernel: "softmax",
        names: &["softmax<float, 4>", "softmax<double, 8>"],
        absent: &["run_softmax"],
        text: r#"
#include <cmath>
#include <cfloat>
#define WARP_SIZE 32
#define FULL_MASK 0xffffffffu
template <typename T> struct Max { __device__ T operator()(T a, T b) const { return a > b ? a : b; } };
template <typename T> struct Sum { __device__ T operator()(T a, T b) const { return a + b; } };
template <typename T, typename Op>
__device__ __forceinline__ T warp_reduce(T v, Op op) {
#pragma unroll
    for (int m = WARP_SIZE / 2; m > 0; m >>= 1) v = op(v, __shfl_xor_sync(FULL_MASK, v, m));
    return v;
}
template <typename T, int ITEMS>
__global__ __launch_bounds__(256) void softmax(const T* in, T* out, int cols) {
    const T* row = in + (long)blockIdx.x * cols;
    T best = T(-FLT_MAX);
    for (int i = threadIdx.x; i < cols; i += WARP_SIZE) best = Max<T>()(best, row[i]);
    best = warp_reduce(best, Max<T>());
    T sum = 0;
    for (int i = threadIdx.x; i < cols; i += WARP_SIZE) sum += std::exp(row[i] - best);
    sum = warp_reduce(sum, Sum<T>());
    for (int k = 0; k < ITEMS; ++k)
        for (int i = threadIdx.x + k; i < cols; i += WARP_SIZE * ITEMS) out[(long)blockIdx.x * cols + i] = std::exp(row[i] - best) / sum;
}
void run_softmax(const float* a, float* b) { softmax<float, 4><<<1, 32>>>(a, b, 128); }
"#,
    },
    Case {
        what: "namespace, device helper, constexpr, macro, typedef struct, operator, constant memory",
        kernel: "phys::detail::step",
        names: &[],
        absent: &["host_energy", "std::string", "ostream"],
        text: r#"
#include <string>
#include <iostream>
#define SQ(x) ((x) * (x))
#define DEVICE_INLINE __device__ __forceinline__
namespace phys {
constexpr int kTile = 16;
typedef struct { float x, y, z; } Vec;
__constant__ float masses[256];
static const float kSoft = 1e-3f;
DEVICE_INLINE Vec operator+(Vec a, Vec b) { return Vec{a.x + b.x, a.y + b.y, a.z + b.z}; }
std::ostream& operator<<(std::ostream& os, const Vec& v) { return os << v.x; }
DEVICE_INLINE float norm2(const Vec& v) { return SQ(v.x) + SQ(v.y) + SQ(v.z) + float(1e-3); }
constexpr int twice(int n) { return 2 * n; }
enum class Mode { kFast = 0, kExact };
float host_energy(const std::string& s) { return s.size(); }
namespace detail {
__global__ void step(Vec* p, int n, Mode mode) {
    __shared__ Vec tile[kTile];
    int i = blockIdx.x * kTile + threadIdx.x;
    if (threadIdx.x < kTile && i < n) tile[threadIdx.x] = p[i];
    __syncthreads();
    Vec s{0, 0, 0};
    for (int k = 0; k < kTile; ++k) s = s + tile[k];
    if (i < n) p[i].x = rsqrtf(norm2(s)) * masses[i & 255] + twice(3) + (mode == Mode::kFast ? 1 : 0);
}
}  // namespace detail
}  // namespace phys
"#,
    },
    Case {
        what: "half and half2",
        kernel: "scale",
        names: &[],
        absent: &["cuda_bf16"],
        text: r#"
#include <cuda_fp16.h>
#include <cuda_bf16.h>
__global__ void scale(half* x, __half2* y, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { x[i] = __float2half(__half2float(x[i]) * a); y[i] = __hmul2(y[i], __float2half2_rn(a)); }
}
"#,
    },
    Case {
        what: "bf16 through an alias",
        kernel: "to_float",
        names: &["to_float<256>"],
        absent: &[],
        text: r#"
#include <cuda_bf16.h>
#include <stdint.h>
using bf16 = __nv_bfloat16;
template <int N> __global__ void to_float(const bf16* in, float* out, int64_t n) {
    for (int64_t i = blockIdx.x * (int64_t)N + threadIdx.x; i < n; i += (int64_t)N * gridDim.x) out[i] = __bfloat162float(in[i]);
}
"#,
    },
    Case {
        what: "dynamic shared memory and a vector type",
        kernel: "rows",
        names: &[],
        absent: &[],
        text: r#"
extern "C" __global__ void rows(const float4* in, float* out, int n) {
    extern __shared__ float sums[];
    float4 v = in[threadIdx.x];
    sums[threadIdx.x] = v.x + v.y + v.z + v.w;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) sums[threadIdx.x] += sums[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}
"#,
    },
    Case {
        what: "a lambda, a functor argument and an anonymous namespace",
        kernel: "each",
        names: &[],
        absent: &["host_each"],
        text: r#"
#include <functional>
namespace {
template <class F> __device__ void loop(int n, F f) { for (int i = threadIdx.x; i < n; i += blockDim.x) f(i); }
__global__ void each(float* p, int n) {
    auto twice = [=] __device__ (float x) { return 2.f * x; };
    loop(n, [&](int i) { p[i] = twice(p[i]); });
}
void host_each(std::function<void(int)> f) { f(3); }
}
"#,
    },
    Case {
        what: "cooperative groups",
        kernel: "cg_sum",
        names: &[],
        absent: &[],
        text: r#"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__global__ void cg_sum(const int* in, int* out) {
    cg::thread_block block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    int sum = cg::reduce(warp, in[block.thread_rank()], cg::plus<int>());
    block.sync();
    if (warp.thread_rank() == 0) atomicAdd(out, sum);
}
"#,
    },
    Case {
        what: "numeric_limits, min, printf, assert, type traits, integer types",
        kernel: "lowest",
        names: &["lowest<float>", "lowest<int>"],
        absent: &[],
        text: r#"
#include <limits>
#include <algorithm>
#include <cassert>
#include <cstdio>
#include <cstdint>
#include <type_traits>
using namespace std;
template <typename T, typename = std::enable_if_t<std::is_arithmetic<T>::value>>
__global__ void lowest(const T* in, T* out, uint32_t n) {
    T best = std::numeric_limits<T>::max();
    for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) best = std::min(best, in[i]);
    assert(n > 0);
    if (best == numeric_limits<T>::max() || best == T(INT_MAX)) printf("empty %u\n", n);
    static_assert(std::is_same<T, float>::value || std::is_integral_v<T>, "float or integer");
    out[threadIdx.x] = best + T(std::sqrt(float(n))) + T(INFINITY > FLT_MAX);
}
"#,
    },
    Case {
        what: "conditionals around items, inside a kernel and around a brace",
        kernel: "cond",
        names: &[],
        absent: &[],
        text: r#"
#ifndef BLOCK
#define BLOCK 128
#endif
#if defined(USE_HALF)
#include <cuda_fp16.h>
typedef __half elem;
#elif BLOCK > 1000
typedef double elem;
#else
typedef float elem;
#endif
#ifdef WIDE
__device__ elem load(const elem* p, int i) {
    if (i) {
#else
__device__ elem load(const elem* p, int i) {
    if (i > 0) {
#endif
        return p[i];
    }
    return p[0];
}
__global__ void cond(elem* p) {
#if __CUDA_ARCH__ >= 800
    p[threadIdx.x] += load(p, BLOCK);
#else
    p[threadIdx.x] += load(p, 1);
#endif
}
"#,
    },
    Case {
        what: "std::array and a pair through cuda/std",
        kernel: "arr",
        names: &[],
        absent: &[],
        text: r#"
#include <array>
__global__ void arr(int* p) { std::array<int, 4> a{1, 2, 3, 4}; p[0] = a[p[1] & 3]; }
"#,
    },
    Case {
        what: "tensor cores through wmma, macro-made kernel, members named like host functions",
        kernel: "matmul",
        names: &[],
        absent: &["size_t size"],
        text: r#"
#include <mma.h>
#include <cuda_fp16.h>
using namespace nvcuda;
#define EXPORT(name) extern "C" __global__ void name
struct Shape { int size; int rows; };
size_t size(const char* s) { return s ? 1 : 0; }
EXPORT(matmul)(const half* a, const half* b, float* c, Shape shape) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.f);
    for (int k = 0; k < shape.size; k += 16) {
        wmma::load_matrix_sync(fa, a + k, shape.rows);
        wmma::load_matrix_sync(fb, b + k, shape.rows);
        wmma::mma_sync(fc, fa, fb, fc);
    }
    wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}
"#,
    },
];

#[test]
fn kernels_compile_for_every_architecture() {
    for case in CASES {
        let sliced = cut(case.text, case.kernel);
        for word in case.absent {
            assert!(!sliced.text.contains(word), "{}: `{word}` in\n{}", case.what, sliced.text);
        }
    }
    let Some(gate) = gate(Cache::none()) else { return };
    for case in CASES {
        let sliced = cut(case.text, case.kernel);
        for arch in ARCHS {
            let start = Instant::now();
            let compiled = compile(&gate, &sliced, case.names, arch)
                .unwrap_or_else(|e| panic!("{} for {arch}: {e}\n{:#?}\n{}", case.what, e, sliced.text));
            println!("{:>7.1} ms  {arch:<7} {}", start.elapsed().as_secs_f64() * 1e3, case.what);
            assert_eq!(compiled.kernels.len(), case.names.len().max(1), "{}", case.what);
            assert!(compiled.kernels.iter().all(|k| k.registers > 0), "{}", case.what);
            assert!(compiled.ptx.contains(&compiled.kernels[0].symbol) && compiled.cubin.starts_with(b"\x7fELF"));
        }
    }
}

#[test]
fn a_project_header_is_cut_in_and_messages_name_it() {
    let main =
        "#include \"util.cuh\"\n#include \"util.cuh\"\n__global__ void k(float* p) { p[0] = half_of(p[1]) + kOne; }\n";
    let util = "#pragma once\n#include <vector>\n#include \"inner.h\"\nstd::vector<int> host();\n\
        __device__ inline float half_of(float x) {\n    return x * HALF;\n}\n";
    let inner = "#ifndef INNER_H\n#define INNER_H\n#define HALF 0.5f\nconstexpr int kOne = 1;\n#endif\n";
    let headers = |util: &str| {
        BTreeMap::from([("util.cuh".to_owned(), util.to_owned()), ("inner.h".to_owned(), inner.to_owned())])
    };
    let sliced = slice("main.cu", main, &Target::Name("k"), &headers(util)).unwrap();
    assert_eq!(sliced.files, ["inner.h", "main.cu", "util.cuh"]);
    assert!(!sliced.text.contains("vector") && sliced.text.matches("half_of(float x)").count() == 1, "{}", sliced.text);
    let Some(gate) = gate(Cache::none()) else { return };
    compile(&gate, &sliced, &[], "sm_80").unwrap_or_else(|e| panic!("{e:?}\n{}", sliced.text));
    let broken = slice("main.cu", main, &Target::Name("k"), &headers(&util.replace("HALF", "HALVE"))).unwrap();
    let error = compile(&gate, &broken, &[], "sm_80").unwrap_err();
    let source = SourceFile::new("util.cuh", util.replace("HALF", "HALVE").as_bytes());
    let found = error.diagnostics(&|name| (name == "util.cuh").then_some((FileId(1), &source)));
    let span = found[0].primary().expect("a span in util.cuh");
    assert_eq!((source.slice(span), source.lines.line_of(span.start as usize)), ("HALVE", 6));
}

#[test]
fn errors_fall_on_the_users_lines() {
    let cases = [
        ("int unused;\n\n__global__ void k(float* p) {\n    p[0] = missing_name;\n}\n", "missing_name", 4),
        ("__global__ void k(float* p) {\n  int i = 3\n  p[i] = 1;\n}\n", "p", 3),
        (
            "/* long\n comment */ __device__ int f(int x) { return y; }\n__global__ void k(int* p) { p[0] = f(1); }\n",
            "y",
            2,
        ),
        ("int host() { return 1; }\n__global__ void k(int* p) { p[0] = host(); }\n", "host", 2),
        (
            "template <class T> __device__ T f(T x) {\n  return x.size;\n}\n__global__ void k(int* p) { p[0] = f(1); }\n",
            "x",
            2,
        ),
    ];
    let Some(gate) = gate(Cache::none()) else { return };
    for (text, word, line) in cases {
        let sliced = cut(text, "k");
        let error = compile(&gate, &sliced, &[], "sm_80").expect_err(text);
        let source = SourceFile::new("user.cu", text.as_bytes());
        let all = error.diagnostics(&|name| (name == "user.cu").then_some((FileId(0), &source)));
        let span = all.iter().find_map(|d| d.primary()).unwrap_or_else(|| panic!("{all:?}"));
        assert_eq!((source.slice(span), source.lines.line_of(span.start as usize)), (word, line), "{all:?}");
        assert_eq!(all[0].notes.iter().any(|n| n.contains("host code")), word == "host", "{all:?}");
    }
}

#[test]
fn what_cannot_be_cut_has_a_named_reason() {
    let cases = [
        ("__global__ void other() {}", "kernel-not-found"),
        ("", "kernel-not-found"),
        ("#include <cutlass/half.h>\n__global__ void k(cutlass::half_t* p) {}", "third-party-header"),
        ("#include <vector>\nstruct S { std::vector<int> v; int n; };\n__global__ void k(S* s) {}", "host-library"),
        ("__global__ void c() {}\n__global__ void k() { c<<<1, 1>>>(); }", "launch-from-device"),
        ("texture<float, 2> t;\n__global__ void k(float* p) { p[0] = tex2D(t, 1, 2); }", "texture-reference"),
    ];
    for (text, key) in cases {
        let reason = slice("a.cu", text, &Target::Name("k"), &NoHeaders).expect_err(text);
        assert_eq!(reason.key(), key, "{text}");
        assert_eq!(reason.diagnostic().code, reason.code());
    }
    // A header that includes itself without a guard ends at the limit.
    let endless = BTreeMap::from([("a.h".to_owned(), "#include \"a.h\"\n#include \"a.h\"\nint x;\n".to_owned())]);
    let reason = slice("a.cu", "#include \"a.h\"\n__global__ void k() {}", &Target::Name("k"), &endless).unwrap_err();
    assert_eq!(reason.key(), "too-large");
    let Some(gate) = gate(Cache::none()) else { return };
    let text = "#include \"lib/special.h\"\n__global__ void k(float* p) { p[0] = special(p[1]); }\n";
    assert_eq!(compile(&gate, &cut(text, "k"), &[], "sm_80").unwrap_err().key(), "third-party-header");
    let template = cut("template <int N> __global__ void k(int* p) { p[N] = 0; }", "k");
    assert_eq!(compile(&gate, &template, &[], "sm_80").unwrap_err().key(), "needs-instantiation");
    let plain = cut("__global__ void k(int* p) { p[0] = 0; }", "k");
    assert_eq!(compile(&gate, &plain, &[], "sm_9999").unwrap_err().key(), "architecture");
    let off = cut("#ifdef FAST\n__global__ void k(int* p) { p[0] = 0; }\n#endif\n", "k");
    assert_eq!(compile(&gate, &off, &[], "sm_80").unwrap_err().key(), "switched-off");
    let nul = cut("__global__ void k(int* p) { p[0] = 0; /* \0 */ }", "k");
    assert_eq!(compile(&gate, &nul, &[], "sm_80").unwrap_err().key(), "compiler");
}

#[test]
fn a_kernel_is_found_by_name_namespace_and_place() {
    let text = "namespace a { __global__ void k(int* p) { p[0] = 1; } }\nnamespace b { __global__ void k(int* p) { p[0] = 2; } }\n";
    for (name, value) in [("a::k", "= 1"), ("b::k", "= 2")] {
        let sliced = cut(text, name);
        assert_eq!(sliced.kernel, name);
        assert!(sliced.text.contains(value));
    }
    let at = text.find("= 2").unwrap();
    assert_eq!(slice("a.cu", text, &Target::At(at), &NoHeaders).unwrap().kernel, "b::k");
    assert!(slice("a.cu", text, &Target::At(0), &NoHeaders).is_err());
    let launched = "template <class T, int N> __global__ void k(T* p) {}\ntemplate __global__ void k<double, 2>(double*);\n\
        void f(float* p) { k<float, (3 > 2) ? 4 : 5><<<1, 2>>>(p); k<float, (3 > 2) ? 4 : 5><<<1, 2>>>(p); }";
    let sliced = cut(launched, "k");
    assert!(sliced.is_template);
    assert_eq!(sliced.instantiations, ["k<double, 2>", "k<float, (3 > 2) ? 4 : 5>"]);
}

#[test]
fn the_same_request_is_answered_from_the_cache() {
    let folder = tempfile::tempdir().unwrap();
    let Some(gate) = gate(Cache::in_folder(folder.path())) else { return };
    let sliced = cut(CASES[0].text, "add");
    let mut best = [f64::MAX; 2];
    for round in 0..5 {
        let start = Instant::now();
        let compiled = compile(&gate, &sliced, &[], ARCHS[1]).unwrap();
        let time = start.elapsed().as_secs_f64() * 1e3;
        assert_eq!(compiled.from_cache, round > 0);
        best[usize::from(round > 0)] = best[usize::from(round > 0)].min(time);
    }
    println!("vector add: compiled in {:.1} ms, from the cache in {:.2} ms", best[0], best[1]);
    assert!(best[1] < 20.0, "{best:?}");
    // Another architecture, option or text is another result.
    assert!(!compile(&gate, &sliced, &[], ARCHS[2]).unwrap().from_cache);
    let options = ["--use_fast_math".to_owned()];
    let request = CompileRequest { slice: &sliced, names: vec![], arch: ARCHS[1], options: &options };
    assert!(!gate.compile(&request).unwrap().from_cache);
    // A damaged entry is compiled again.
    for shelf in std::fs::read_dir(folder.path().join("compile")).unwrap().flatten() {
        for file in std::fs::read_dir(shelf.path()).unwrap().flatten() {
            std::fs::write(file.path(), "kopt-compiled-1\nrubbish").unwrap();
        }
    }
    assert!(!compile(&gate, &sliced, &[], ARCHS[1]).unwrap().from_cache);
}

#[test]
fn an_installed_nvcc_takes_whole_files() {
    let gate = CompileGate::new(Toolchain::find(), Cache::none());
    if gate.toolchain().nvcc.is_none() {
        println!("nvcc: not run (none is installed)");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("add.cu");
    let job =
        |flags| NvccJob { file: &file, arch: "sm_80", flags, folder: folder.path(), limit: Duration::from_secs(120) };
    std::fs::write(&file, CASES[0].text).unwrap();
    let flags = ["-c".to_owned(), "-DX=1".to_owned()];
    let compiled = gate.compile_file(&job(&flags)).unwrap();
    assert_eq!(compiled.kernels.len(), 1);
    assert!(
        compiled.kernels[0].registers > 0 && compiled.ptx.contains(".entry") && compiled.cubin.starts_with(b"\x7fELF")
    );
    let wrong = CASES[0].text.replace("a[i] + b[i]", "a[i] + bb[i]");
    std::fs::write(&file, &wrong).unwrap();
    let error = gate.compile_file(&job(&[])).unwrap_err();
    let source = SourceFile::new("add.cu", wrong.as_bytes());
    let all = error.diagnostics(&|name| name.ends_with("add.cu").then_some((FileId(0), &source)));
    let span = all.iter().find_map(|d| d.primary()).expect("a span");
    assert_eq!(source.lines.line_of(span.start as usize), 9);
}

/// Not a test of its own: the child of the next test runs it, and is the worker.
#[test]
fn worker_entry() {
    if std::env::var_os("KOPT_TEST_WORKER").is_some() {
        kopt::compile::worker::serve(std::io::stdin().lock(), std::io::stdout()).expect("streams");
    }
}

#[test]
fn a_child_process_gives_the_same_result() {
    let Some(inside) = gate(Cache::none()) else { return };
    let program = std::env::current_exe().unwrap();
    let shell = format!("KOPT_TEST_WORKER=1 exec '{}' --exact worker_entry --nocapture", program.display());
    let worker = Worker::new("sh".into(), vec!["-c".into(), shell.into()], Duration::from_secs(60));
    let outside = CompileGate::new(Toolchain::find(), Cache::none()).with_worker(worker);
    for round in 0..3 {
        let sliced = cut(CASES[0].text, "add");
        let start = Instant::now();
        let there = compile(&outside, &sliced, &[], "sm_80").unwrap();
        println!("vector add in a child, round {round}: {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
        assert_eq!(there, compile(&inside, &sliced, &[], "sm_80").unwrap());
    }
    let wrong = cut("__global__ void add(int* p) { p[0] = nothing; }", "add");
    assert_eq!(compile(&outside, &wrong, &[], "sm_80").unwrap_err().key(), "rejected");
}

#[test]
fn registers_and_shared_memory_stand_side_by_side() {
    let Some(gate) = gate(Cache::none()) else { return };
    let naive =
        "__global__ void k(const float* a, float* b, int n) {\n  int i = threadIdx.x;\n  if (i < n) b[i] = a[i];\n}\n";
    let tiled = "__global__ void k(const float* a, float* b, int n) {\n  __shared__ float t[4096];\n  int i = threadIdx.x;\n\
        if (i < n) t[i] = a[i];\n  __syncthreads();\n  if (i < n) b[i] = t[n - 1 - i];\n}\n";
    let [before, after] = [naive, tiled].map(|t| compile(&gate, &cut(t, "k"), &[], "sm_80").unwrap().kernels.remove(0));
    assert_eq!((before.shared, after.shared), (0, 16384));
    let shape = BlockShape { threads: 128, dynamic_shared: 0 };
    let table = compare("sm_80", (&before, shape), (&after, shape));
    assert!(table.rises().any(|r| r.what == "shared memory, bytes"), "{}", table.text());
    println!("{}", table.text());
}

#[test]
fn any_text_is_cut_or_refused_in_time() {
    let mut texts: Vec<String> =
        ["(", "{", "}", "#if 1\n", "#endif\n", "namespace a {", "template <", "<", "\"", "extern \"C\" {", ";", ":"]
            .iter()
            .flat_map(|s| [s.repeat(3), s.repeat(50_000)])
            .collect();
    texts.push("#if 1\n".repeat(30_000) + &"}".repeat(30_000));
    texts.push("f() : ".to_owned() + &"a{}".repeat(50_000));
    texts.push("a #pragma x\n#pragma y\n".repeat(20_000));
    texts.push("struct operator ".repeat(20_000));
    texts.push("__device__ S operator+(S a);\n".repeat(20_000));
    for (n, case) in CASES.iter().enumerate() {
        texts.push(case.text.repeat(n + 1));
        texts.extend(
            (0..case.text.len())
                .step_by(37)
                .filter(|&i| case.text.is_char_boundary(i))
                .map(|i| case.text[..i].to_owned()),
        );
    }
    for text in &texts {
        let start = Instant::now();
        for target in [Target::Name("k"), Target::At(text.len() / 2), Target::Name("::"), Target::Name("")] {
            let _ = slice("a.cu", text, &target, &NoHeaders);
        }
        let head: String = text.chars().take(30).collect();
        // Far above what a busy machine needs, far below what anything quadratic does.
        assert!(start.elapsed().as_secs_f64() < 60.0, "{head:?} took {:?}", start.elapsed());
    }
}
