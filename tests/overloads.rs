//! Kernels of one name and several parameter lists: each is asked for by its own.
//!
//! What needs NVRTC says so when there is none, and fails then if `KOPT_REQUIRE_TIER1=1`.

mod cli_common;

use cli_common::Folder;

/// Rows of floats are summed and rows of integers are shifted; `sum` and `shift` say how.
fn program(sum: &str, shift: &str) -> String {
    format!(
        "__global__ void k(const float* x, float* y, int n) {{\n  int row = blockIdx.x * blockDim.x + threadIdx.x;\n  if (row >= 256) return;\n  \
         float s = 0.0f;\n  for (int j = 0; j < n; j++) {sum}\n  y[row] = s;\n}}\n\
         __global__ void k(const int* x, int* y, int n) {{\n  int row = blockIdx.x * blockDim.x + threadIdx.x;\n  if (row >= 256) return;\n  \
         y[row] = {shift};\n}}\n\
         __global__ void k(const int* x, int* y, int n, int m) {{\n  int row = blockIdx.x * blockDim.x + threadIdx.x;\n  if (row >= 256) return;\n  y[row] = x[row] - m;\n}}\n\
         int main() {{\n  const int n = 64; float *x, *y; int *p, *q; float* h = new float[256 * n]; int* hi = new int[256];\n  \
         cudaMalloc(&x, 256 * n * sizeof(float)); cudaMalloc(&y, 256 * sizeof(float)); cudaMalloc(&p, 256 * sizeof(int)); cudaMalloc(&q, 256 * sizeof(int));\n  \
         cudaMemcpy(x, h, 256 * n * 4, cudaMemcpyHostToDevice); cudaMemcpy(p, hi, 1024, cudaMemcpyHostToDevice);\n  \
         k<<<1, 256>>>(x, y, n);\n  k<<<1, 256>>>(p, q, n);\n  k<<<1, 256>>>(q, q, n, 3);\n  \
         cudaMemcpy(h, y, 1024, cudaMemcpyDeviceToHost); cudaMemcpy(hi, q, 1024, cudaMemcpyDeviceToHost);\n}}\n"
    )
}

const SUM: &str = "s += x[row * n + j];";

#[test]
fn contracts_name_overloads_by_their_parameters() {
    let folder = Folder::new(&[("k.cu", &program(SUM, "x[row] + n"))]);
    let said = folder.kopt("contract infer k.cu");
    said.expect(0).says("complete for 3 of 3 kernels");
    for kernel in ["k(const float*, float*, int)", "k(const int*, int*, int)", "k(const int*, int*, int, int)"] {
        said.says(&format!("kernel = \"{kernel}\""));
    }
    folder.kopt("contract infer --write k.cu").expect(0);
    folder.kopt("contract check k.cu").expect(0);
}

#[test]
fn each_overload_is_compiled_run_and_compared() {
    let folder = Folder::new(&[
        ("k.cu", &program(SUM, "x[row] + n")),
        ("same.cu", &program(SUM, "n + x[row]")),
        ("sum.cu", &program("s -= x[row * n + j];", "x[row] + n")),
        ("shift.cu", &program(SUM, "x[row] - n")),
    ]);
    let floats = "k(const float*, float*, int)";
    let integers = "k(const int*, int*, int)";
    let cases = [
        ("verify k.cu same.cu", floats, 0, "equal bits"),
        ("verify k.cu same.cu", integers, 0, "equal bits"),
        ("verify k.cu sum.cu", floats, 3, "K0650"),
        ("verify k.cu sum.cu", integers, 0, "equal bits"),
        ("verify k.cu shift.cu", floats, 0, "equal bits"),
        ("verify k.cu shift.cu", integers, 3, "K0650"),
        ("verify k.cu shift.cu", "k", 2, "can be any of"),
    ];
    for (command, kernel, code, says) in cases {
        let words: Vec<&str> = command.split(' ').chain(["--kernel", kernel]).collect();
        let Some(run) = folder.kopt_compiling_with(&words) else { return };
        run.expect(code).says(says);
    }
    let Some(said) = folder.kopt_compiling("gate honesty k.cu") else { return };
    said.expect(0).says("3 kernels in 1 files");
    let Some(said) = folder.kopt_compiling("apply k.cu --skill vectorize_access") else { return };
    said.says("compile: k(const float*, float*, int) compiles").says("equal bits");
}

/// A guarantee above one overload, or on one of two namespaces, is none on the others.
#[test]
fn guarantees_bind_the_kernel_that_they_stand_above() {
    let kernel = |head: &str, ty: &str| {
        format!(
            "{head}__global__ void k(const {ty}* __restrict__ x, {ty}* __restrict__ y, int n) {{\n  float s = 0;\n  \
             for (int j = 0; j < n; j++) s += x[(blockIdx.x * blockDim.x + threadIdx.x) * n + j];\n  y[threadIdx.x] = s;\n}}\n"
        )
    };
    let assumed = "// kopt: assume n % 4 == 0\n// kopt: assume aligned(x, 16)\n";
    let overloads = kernel(assumed, "float") + &kernel("", "int");
    let spaces = format!("namespace a {{\n{}}}\nnamespace b {{\n{}}}\n", kernel(assumed, "float"), kernel("", "float"));
    for text in [overloads, spaces] {
        let folder = Folder::new(&[("k.cu", &text)]);
        let lines: Vec<usize> =
            text.lines().enumerate().filter(|(_, l)| l.contains("for (")).map(|(i, _)| i + 1).collect();
        let rests = |line: usize| {
            let said = folder.kopt(&format!("why k.cu:{line} vectorize_access")).out;
            assert!(said.contains("vectorize_access on loop"), "{said}");
            said.contains("aligned(x,16)") || said.contains("n%4==0")
        };
        assert_eq!(lines.into_iter().map(rests).collect::<Vec<_>>(), [true, false], "{text}");
    }
}
