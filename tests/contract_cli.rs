//! `kopt contract` as a user meets it.

mod cli_common;

use cli_common::Folder;

const ADD: &str = "\
__global__ void add(const float* a, float* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] += a[i];
}
int main() {
    int n = 5000;
    float *a, *b, *h = new float[n];
    cudaMalloc(&a, n * sizeof(float));
    cudaMalloc(&b, n * sizeof(float));
    cudaMemcpy(a, h, n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(b, h, n * sizeof(float), cudaMemcpyHostToDevice);
    add<<<(n + 127) / 128, 128>>>(a, b, n);
    cudaMemcpy(h, b, n * sizeof(float), cudaMemcpyDeviceToHost);
}
";
const OPEN: &str = "\
__global__ void fill(float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 1.0f;
}
";

#[test]
fn what_is_inferred_checks_clean() {
    let folder = Folder::new(&[("add.cu", ADD)]);
    let run = folder.kopt("contract infer add.cu");
    run.expect(0).says("complete for 1 of 1 kernels").says("grid = [\"ceil_div(n, 128)\"]");
    assert!(!folder.path("add.contract.toml").exists());
    folder.kopt("contract infer --write add.cu").expect(0).says("wrote add.contract.toml").says("add: complete");
    let written = folder.get("add.contract.toml");
    assert_eq!(written, run.out);
    folder.kopt("contract check add.cu").expect(0).says("1 plan").says("0 open, 0 proposed");
    // Nothing is written over.
    folder.kopt("contract infer --write add.cu").expect(2);
}

#[test]
fn guesses_are_listed_until_they_are_accepted() {
    let folder = Folder::new(&[("fill.cu", OPEN)]);
    folder.kopt("contract infer --write fill.cu").expect(0).says("0 open").says("proposed");
    folder.kopt("contract check fill.cu").expect(1).says("K0614").says("only proposed");
    folder.kopt("contract check --accept-proposed fill.cu").expect(0);
    let text = folder.get("fill.contract.toml");
    folder.put("fill.contract.toml", text.replace("shape = [\"n\"]\n", "").as_bytes());
    folder.kopt("contract check --accept-proposed fill.cu").expect(1).says("K0613").says("how many elements");
    folder.put("fill.contract.toml", text.replace("proposed = true\n", "").as_bytes());
    folder.kopt("contract check fill.cu").expect(0);
}

#[test]
fn mistakes_end_with_their_exit_codes() {
    let folder =
        Folder::new(&[("add.cu", ADD), ("bad.toml", "dmis = 1\n"), ("other.toml", "[[step]]\nkernel = \"ad\"\n")]);
    folder.kopt("contract check add.cu").expect(2).says("kopt contract infer --write add.cu");
    folder.kopt("contract check --contract bad.toml add.cu").expect(2).says("K0601").says("bad.toml:1:1");
    folder.kopt("contract check --contract other.toml add.cu").expect(1).says("K0610").says("write `add`");
    folder.kopt("contract check --contract absent.toml add.cu").expect(2).says("K0541");
    folder.kopt("contract infer --kernel ad add.cu").expect(2).says("did you mean `add`?");
    folder.kopt("contract infer absent.cu").expect(2);
    folder.kopt("explain K0614").expect(0).says("proposed");
}

#[test]
fn assumptions_of_dims_reach_the_conditions_of_skills() {
    let copy = "\
__global__ void copy(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
    int row = blockIdx.x;
    for (int c = 0; c < cols; c++) y[row * cols + c] = x[row * cols + c];
}
";
    let contract = "\
[dims.rows]
samples = [64]
[dims.cols]
samples = [256]
divisible_by = 4
[args.x]
role = \"in\"
dtype = \"f32\"
shape = [\"rows\", \"cols\"]
align = 16
[args.y]
role = \"out\"
dtype = \"f32\"
shape = [\"rows\", \"cols\"]
align = 16
[[step]]
kernel = \"copy\"
grid = \"rows\"
block = 1
args = [\"x\", \"y\", \"i32(rows)\", \"i32(cols)\"]
";
    let folder = Folder::new(&[("copy.cu", copy), ("c.toml", contract)]);
    folder.kopt("contract check --contract c.toml copy.cu").expect(0);
    let run = folder.kopt("why copy.cu:3 vectorize_access --contract c.toml");
    run.expect(0).says("cols%4==0").says("aligned(x,16)").says("aligned(y,16)");
    let without = folder.kopt("why copy.cu:3 vectorize_access");
    assert!(!without.expect(0).out.contains("cols%4==0"));
    // Only a guess: it gives nothing.
    folder.put("c.toml", contract.replace("divisible_by = 4", "divisible_by = 4\nproposed = true").as_bytes());
    let run = folder.kopt("why copy.cu:3 vectorize_access --contract c.toml");
    assert!(!run.expect(0).out.contains("cols%4==0"));
}

#[test]
fn assumptions_that_say_nothing_are_said_by_every_command() {
    let folder = Folder::new(&[("fill.cu", OPEN)]);
    folder.kopt_with(&["check", "--assume", "m % 4 == 0", "fill.cu"]).expect(0).says("K0621").says("`m`");
    let run = folder.kopt_with(&["check", "--assume", "n % 4 == 0", "fill.cu"]);
    assert!(!run.expect(0).out.contains("K0621"));
}
