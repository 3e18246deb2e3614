//! `kopt export`: what is written, that a compiler takes it, and what is refused.

mod cli_common;

use cli_common::Folder;
use kopt::compile::Toolchain;

/// Everything that a header has to do: two kernels, one a template, a temporary, fills, scalars, promises.
const NORMALISE: &str = r#"#include <cstdio>

#include <cuda_fp16.h>

template <int THREADS>
__global__ void sum(const float4* x, float* sums, int cols) {
    extern __shared__ float row[];
    float s = 0.0f;
    for (int i = threadIdx.x; i < cols / 4; i += THREADS) {
        float4 v = x[blockIdx.x * (cols / 4) + i];
        s += v.x + v.y + v.z + v.w;
    }
    atomicAdd(&sums[blockIdx.x], s);
}

__global__ void divide(const float* x, const float* sums, const __half* weight, float* y, float scale, int cols) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < cols) y[blockIdx.y * cols + i] = scale * x[blockIdx.y * cols + i] / sums[blockIdx.y] * __half2float(weight[i]);
}

int main() {
    printf("a program of its own\n");
    return 0;
}
"#;

const CONTRACT: &str = r#"contract = 1
require = ["rows * cols <= 1000000000"]
alias = [["x", "y"]]

[dims.rows]
samples = [8]
min = 1
max = 65535

[dims.cols]
samples = [96]
divisible_by = 4

[args.x]
role = "in"
dtype = "f32"
shape = ["rows", "cols"]
align = 16

[args.weight]
role = "in"
dtype = "f16"
shape = ["cols"]

[args.sums]
role = "temp"
dtype = "f32"
shape = ["rows"]
init = "zero"

[args.scale]
role = "scalar"
dtype = "f32"
value = 0.5

[args.y]
role = "out"
dtype = "f32"
shape = ["rows", "cols"]

[[step]]
fill = "sums"
byte = 0

[[step]]
kernel = "sum"
template = ["128"]
grid = ["rows"]
block = [128]
shared = "4 * cols"
args = ["x", "sums", "i32(cols)"]

[[step]]
kernel = "divide"
grid = ["ceil_div(cols, 64)", "rows"]
block = [64]
args = ["x", "sums", "weight", "y", "scale", "i32(cols)"]
"#;

const ADD: &str = "\
// kopt: dims.n = { samples = [300], max = 5000 }
// kopt: args.x = { role = \"in\", dtype = \"f32\", shape = [\"n\"] }
// kopt: args.y = { role = \"inout\", dtype = \"f32\", shape = [\"n\"] }
// kopt: launch = { grid = \"ceil_div(n, 128)\", block = 128, args = [\"x\", \"y\", \"i32(n)\"] }
__global__ void add(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += x[i];
}
";

fn folder() -> Folder {
    Folder::new(&[("normalise.cu", NORMALISE), ("normalise.contract.toml", CONTRACT), ("add.cu", ADD)])
}

#[test]
fn the_header_checks_every_promise_and_does_every_step() {
    let folder = folder();
    folder.kopt("export header normalise.cu --name normalise").expect(0).says("wrote normalise.cuh");
    insta::with_settings!({ snapshot_path => "../snapshots/export", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("header", folder.get("normalise.cuh"));
    });
}

#[test]
fn the_package_takes_tensors() {
    let folder = folder();
    folder.kopt("export torch normalise.cu --name normalise").expect(0).says("wrote normalise/__init__.py");
    folder.kopt("export torch add.cu -o made").expect(0).says("wrote made/binding.cu");
    assert_eq!(folder.get("normalise/normalise.cu"), NORMALISE);
    insta::with_settings!({ snapshot_path => "../snapshots/export", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("binding", folder.get("normalise/binding.cu"));
        insta::assert_snapshot!("package", folder.get("normalise/__init__.py"));
        insta::assert_snapshot!("in_place", folder.get("made/__init__.py"));
    });
}

#[test]
fn the_compiler_takes_the_header() {
    let Some(nvcc) = Toolchain::find().nvcc else {
        assert!(std::env::var_os("KOPT_REQUIRE_TIER1").is_none(), "no nvcc");
        return println!("nvcc: not run (none is installed)");
    };
    let folder = folder();
    folder.kopt("export header normalise.cu --name normalise").expect(0);
    folder.kopt("export header add.cu -o added.cuh").expect(0);
    let caller = "#include \"normalise.cuh\"\n#include \"added.cuh\"\nconst char* both(float* a, __half* w, float* b) {\n\
        const char* refused = kopt_normalise::normalise(a, w, b, 0.5f, 8, 96, nullptr);\n\
        return refused ? refused : kopt_add::add(a, b, 300, nullptr);\n}\n";
    folder.put("caller.cu", caller.as_bytes());
    let mut command = folder.command(&nvcc.path.to_string_lossy());
    command.args(["-ptx", "-arch=sm_80", "-Werror", "all-warnings", "-o", "caller.ptx", "caller.cu"]);
    let done = command.output().expect("nvcc starts");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let ptx = folder.get("caller.ptx");
    assert!(ptx.contains(".entry _Z3sumILi128EE") && ptx.contains(".entry _Z6divide") && ptx.contains(".entry _Z3add"));
}

#[test]
fn what_cannot_be_called_is_refused() {
    // A device variable is reached by name, which a caller's own buffer cannot be given.
    let variable =
        format!("__device__ float held[512];\n{}", ADD.replacen("[\"n\"] }", "[512], symbol = \"held\" }", 1));
    let f8 = ADD.replacen("f32", "f8", 1);
    let cases: &[(&str, &str, i32, &str)] = &[
        (ADD, "--name 7th", 2, "K0695"),
        (ADD, "--name int", 2, "K0695"),
        (&f8, "", 2, "K0618"),
        (&variable, "", 2, "K0695"),
        ("__global__ void k(float* x) { x[0] = 1; }", "", 6, "K0653"),
        (ADD, "--kernel other", 2, "K0654"),
    ];
    for (text, more, code, said) in cases {
        let folder = Folder::new(&[("k.cu", text)]);
        folder.kopt(&format!("export header k.cu {more}")).expect(*code).says(said);
        folder.kopt(&format!("export torch k.cu {more}")).expect(*code).says(said);
        assert!(!folder.path("add.cuh").exists() && !folder.path("add").exists());
    }
    Folder::new(&[]).kopt("export header absent.cu").expect(2).says("K0004");
}
