//! `kopt verify` on pairs whose names, orders, contracts and compilers do not agree: each kind in both directions.

mod cli_common;

use cli_common::Folder;

/// One pair: texts of `a.cu` and `b.cu`, arguments behind them, the exit code, and what is said.
struct Pair {
    a: String,
    b: String,
    arguments: &'static str,
    code: i32,
    says: &'static [&'static str],
}

fn check(pairs: Vec<Pair>) {
    for p in pairs {
        let folder = Folder::new(&[("a.cu", &p.a), ("b.cu", &p.b)]);
        let Some(run) = folder.kopt_compiling(&format!("verify a.cu b.cu {}", p.arguments)) else { return };
        assert_eq!(run.code, Some(p.code), "{}\n---\n{}\n{}\n{}", p.a, p.b, run.out, run.err);
        for part in p.says {
            assert!(run.out.contains(part) || run.err.contains(part), "{part}\n{}\n{}\n{}", p.b, run.out, run.err);
        }
    }
}

fn pair(a: &str, b: &str, arguments: &'static str, code: i32, says: &'static [&'static str]) -> Pair {
    Pair { a: a.into(), b: b.into(), arguments, code, says }
}

/// `y = 2 x - z`, which is another thing with its inputs exchanged.
const LINE: &str = "\
// kopt: dims.n = { samples = [70], min = 1, max = 300 }
// kopt: args.x = { role = \"in\", dtype = \"f32\", shape = [\"n\"] }
// kopt: args.z = { role = \"in\", dtype = \"f32\", shape = [\"n\"] }
// kopt: args.y = { role = \"out\", dtype = \"f32\", shape = [\"n\"] }
// kopt: launch = { grid = \"ceil_div(n, 32)\", block = 32, args = [\"x\", \"z\", \"y\", \"i32(n)\"] }
__global__ void line(const float* x, const float* z, float* y, int n) {
    int i = blockIdx.x * 32 + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i] - z[i];
}
";

/// The same kernel with this parameter list and this result.
fn line(parameters: &str, value: &str) -> String {
    format!(
        "__global__ void line({parameters}) {{\n    int i = blockIdx.x * 32 + threadIdx.x;\n    if (i < n) {value};\n}}\n"
    )
}

#[test]
fn parameters_are_matched_by_name_and_type() {
    let cases: &[(&str, &str, &'static str, i32, &'static [&'static str])] = &[
        ("const float* x, const float* z, float* y, int n", "y[i] = x[i] + x[i] - z[i]", "", 0, &["equal bits"]),
        // In another order: by name, and said.
        ("float* y, const float* z, const float* x, int n", "y[i] = 2.0f * x[i] - z[i]", "", 0, &["in another order"]),
        // The names say that it is wrong, whatever the places are.
        ("const float* z, const float* x, float* y, int n", "y[i] = 2.0f * z[i] - x[i]", "", 3, &["K0650"]),
        // Other names in the same places.
        (
            "const float* p, const float* q, float* r, int n",
            "r[i] = 2.0f * p[i] - q[i]",
            "",
            0,
            &["by position: `p` for `x`"],
        ),
        // Other names, one of them in another place: two are possible.
        (
            "float* y, const float* p, const float* q, int n",
            "y[i] = 2.0f * p[i] - q[i]",
            "",
            2,
            &["K0654", "--match p="],
        ),
        (
            "float* y, const float* p, const float* q, int n",
            "y[i] = 2.0f * p[i] - q[i]",
            "--match p=x --match q=z",
            0,
            &["equal bits"],
        ),
        (
            "float* y, const float* p, const float* q, int n",
            "y[i] = 2.0f * p[i] - q[i]",
            "--match p=z --match q=x",
            3,
            &["K0650"],
        ),
        ("const double* x, const float* z, float* y, int n", "y[i] = 2.0f * x[i] - z[i]", "", 2, &["another type"]),
        ("const float* x, const float* z, float* y", "y[i] = 2.0f * x[i] - z[i]", "", 2, &["--candidate-contract"]),
    ];
    check(cases.iter().map(|(p, v, a, code, says)| pair(LINE, &line(p, v), a, *code, says)).collect());
}

#[test]
fn kernels_are_matched_by_their_qualified_names() {
    let good = line("const float* x, const float* z, float* y, int n", "y[i] = 2.0f * x[i] - z[i]");
    let wrong = line("const float* x, const float* z, float* y, int n", "y[i] = 2.0f * x[i] + z[i]");
    let inside = |text: &str| format!("namespace v1 {{\n{text}}}\n");
    let two = |a: &str, b: &str| format!("{}{b}", inside(a));
    check(vec![
        // The kernel of the same qualified name, wherever it stands.
        pair(LINE, &two(&wrong, &good), "", 0, &["equal bits"]),
        pair(LINE, &format!("{good}{}", inside(&wrong)), "", 0, &["equal bits"]),
        pair(LINE, &two(&good, &wrong), "", 3, &["K0650"]),
        pair(LINE, &two(&good, &wrong), "--candidate-kernel v1::line", 0, &["v1::line"]),
        pair(LINE, &two(&good, &wrong), "--candidate-kernel ::line", 3, &["K0650"]),
        // Two namespaces, and none of them the original's.
        pair(
            LINE,
            &(two(&good, "") + &inside(&wrong).replace("v1", "v2")),
            "",
            2,
            &["v1::line", "v2::line", "--candidate-kernel"],
        ),
        pair(&inside(LINE), &two(&good, &wrong), "", 0, &["v1::line"]),
    ]);
}

/// A program whose `main` launches; `names` are its buffers in the order in which they are allocated.
fn program(kernel: &str, names: [&str; 3], call: &str) -> String {
    let [x, z, y] = names;
    format!(
        "#include <cstdlib>\n{kernel}\nint main() {{\n    int n = 200;\n    float *{x}, *{z}, *{y};\n    float* host = (float*)malloc(n * sizeof(float));\n\
         cudaMalloc(&{x}, n * sizeof(float));\n    cudaMalloc(&{z}, n * sizeof(float));\n    cudaMalloc(&{y}, n * sizeof(float));\n\
         cudaMemcpy({x}, host, n * sizeof(float), cudaMemcpyHostToDevice);\n    cudaMemcpy({z}, host, n * sizeof(float), cudaMemcpyHostToDevice);\n\
         line<<<(n + 31) / 32, 32>>>({call});\n    cudaMemcpy(host, {y}, n * sizeof(float), cudaMemcpyDeviceToHost);\n}}\n"
    )
}

#[test]
fn buffers_of_two_programs_are_matched_by_name_and_not_by_order() {
    let forward = line("const float* x, const float* z, float* y, int n", "y[i] = 2.0f * x[i] - z[i]");
    let swapped = line("const float* z, const float* x, float* y, int n", "y[i] = 2.0f * x[i] - z[i]");
    let renamed = line("const float* p, const float* q, float* r, int n", "r[i] = 2.0f * q[i] - p[i]");
    let original = program(&forward, ["a", "b", "c"], "a, b, c, n");
    let cases = [
        (program(&forward, ["a", "b", "c"], "a, b, c, n"), 0, &["equal bits"][..]),
        // Parameters and arguments exchanged: the same.
        (program(&swapped, ["a", "b", "c"], "b, a, c, n"), 0, &["equal bits"][..]),
        // Only the arguments are: wrong by the names of the buffers, and the names of the parameters say otherwise.
        (program(&forward, ["a", "b", "c"], "b, a, c, n"), 2, &["--match"][..]),
        // Other buffers: the kernel's parameters tell.
        (program(&forward, ["u", "v", "w"], "u, v, w, n"), 0, &["both are given to `x`"][..]),
        (program(&swapped, ["u", "v", "w"], "v, u, w, n"), 0, &["both are given to `x`"][..]),
        // Nothing has a name of the original's: the place is all there is, and it is said.
        (program(&renamed, ["u", "v", "w"], "u, v, w, n"), 3, &["by position"][..]),
    ];
    check(
        cases.into_iter().map(|(b, code, says)| Pair { a: original.clone(), b, arguments: "", code, says }).collect(),
    );
}

#[test]
fn contract_lines_are_found_or_said_to_stand_nowhere() {
    let good = line("const float* x, const float* z, float* y, int n", "y[i] = 2.0f * x[i] - z[i]");
    let with = |between: &str| LINE.replace("__global__", &format!("{between}__global__"));
    check(vec![
        pair(&with("\n"), &good, "", 0, &["comments above the kernel"]),
        pair(&with("#define UNUSED 1\n"), &good, "", 0, &["comments above the kernel"]),
        pair(&with("/* a remark\n   in two lines */\n"), &good, "", 0, &["comments above the kernel"]),
        pair(&with("static int counter = 0;\n"), &good, "", 2, &["stands above no kernel"]),
        pair(&with("struct Pair { int a, b; };\n"), &good, "", 2, &["stands above no kernel"]),
    ]);
}

const TABLE: &str = "\
__constant__ float weights[4];
// kopt: dims.n = { samples = [70], min = 1 }
// kopt: args.x = { role = \"in\", dtype = \"f32\", shape = [\"n\"] }
// kopt: args.y = { role = \"out\", dtype = \"f32\", shape = [\"n\"] }
// kopt: launch = { grid = \"ceil_div(n, 32)\", block = 32, args = [\"x\", \"y\", \"i32(n)\"] }
__global__ void weigh(const float* x, float* y, int n) {
    int i = blockIdx.x * 32 + threadIdx.x;
    if (i < n) y[i] = x[i] * weights[i % 4];
}
";

#[test]
fn variables_that_host_code_fills_are_asked_for_and_filled_on_both_sides() {
    let said = TABLE.replace(
        "// kopt: launch",
        "// kopt: args.w = { role = \"in\", dtype = \"f32\", shape = [4], symbol = \"weights\" }\n// kopt: launch",
    );
    let candidate = |index: &str| TABLE.replace("// kopt", "//").replace("weights[i % 4]", index);
    let device = |text: &str| text.replace("__constant__", "__device__");
    check(vec![
        // With zeros in it everything would agree.
        pair(TABLE, &candidate("weights[3 - i % 4]"), "", 6, &["K0664", "`weights`", "symbol = \"weights\""]),
        pair(&said, &candidate("weights[3 - i % 4]"), "", 3, &["K0650"]),
        pair(&said, &candidate("weights[i & 3]"), "", 0, &["equal bits"]),
        pair(&device(TABLE), &candidate("weights[i % 4]"), "", 6, &["K0664"]),
        pair(&device(&said), &device(&candidate("weights[3 - i % 4]")), "", 3, &["K0650"]),
        pair(
            &said.replace("symbol = \"weights\"", "symbol = \"weight\""),
            &candidate("weights[i & 3]"),
            "",
            2,
            &["K0610"],
        ),
        // A file that says what it holds asks nothing.
        pair(
            &TABLE.replace("[4];", "[4] = { 1.0f, 2.0f, 3.0f, 4.0f };"),
            &candidate("(1.0f + i % 4)"),
            "",
            0,
            &["equal bits"],
        ),
        // The candidate has a table of its own, which nobody fills.
        pair(
            LINE,
            &format!(
                "__constant__ float two;\n{}",
                line("const float* x, const float* z, float* y, int n", "y[i] = two * x[i] - z[i]")
            ),
            "",
            6,
            &["b.cu: host code fills `two`"],
        ),
    ]);
}

#[test]
fn a_kernel_that_asks_which_compiler_reads_it_must_be_the_same_for_both() {
    let asks = |word: &str, here: &str, there: &str| {
        let body = line("const float* x, const float* z, float* y, int n", "y[i] = TWO * x[i] - z[i]");
        format!("#if{word}\n#define TWO {here}\n#else\n#define TWO {there}\n#endif\n{body}")
    };
    check(vec![
        pair(LINE, &asks("def __CUDACC_RTC__", "2.0f", "3.0f"), "", 6, &["K0665", "`__CUDACC_RTC__`"]),
        pair(LINE, &asks("ndef __NVCC__", "2.0f", "3.0f"), "", 6, &["K0665", "`__NVCC__`"]),
        pair(LINE, &asks(" defined(__GNUC__) && __GNUC__ >= 5", "3.0f", "2.0f"), "", 6, &["K0665"]),
        pair(LINE, &asks(" !__has_include(<cstdio>)", "2.0f", "3.0f"), "", 6, &["K0665"]),
        // It asks, and nothing follows from it.
        pair(LINE, &asks("def __CUDACC_RTC__", "2.0f", "(1.0f + 1.0f)"), "", 0, &["is the same for nvcc"]),
        pair(LINE, &asks("def __CUDA_ARCH__", "2.0f", "3.0f"), "", 0, &["equal bits"]),
    ]);
}

#[test]
fn what_cannot_be_compared_is_said_in_one_sentence() {
    let folder =
        Folder::new(&[("a.cu", LINE), ("empty.cu", ""), ("host.cu", "int main() { return 0; }\n"), ("d/x.cu", LINE)]);
    let cases = [
        ("verify a.cu d", 2, "this is a folder"),
        ("verify d a.cu", 2, "this is a folder"),
        ("verify a.cu empty.cu", 2, "the file is empty"),
        ("verify empty.cu a.cu", 2, "the file is empty"),
        ("verify a.cu host.cu", 2, "no kernel is in it"),
        ("run d", 2, "this is a folder"),
    ];
    for (command, code, part) in cases {
        folder.kopt(command).expect(code).says(part);
    }
    let good = line("const float* x, const float* z, float* y, int n", "y[i] = 2.0f * x[i] - z[i]");
    check(vec![pair(&LINE.replace("block = 32", "block = 2048"), &good, "", 2, &["K0617", "at most 1024"])]);
}

const ROWS: &str = "\
#include <cmath>
#define SQUARE(v) ((v) * (v))
void energy_on_host(float* out, const float* in, int rows, int cols) {
    for (int r = 0; r < rows; ++r) {
        double s = 0;
        for (int c = 0; c < cols; ++c) s += SQUARE((double)in[r * cols + c]);
        out[r] = (float)s;
    }
}
__global__ void slow(const float* in, float* out, int rows, int cols) {
    if (threadIdx.x > 0) return;
    float s = 0.0f;
    for (int c = 0; c < cols; ++c) s += in[blockIdx.x * cols + c] * in[blockIdx.x * cols + c];
    out[blockIdx.x] = s;
}
// kopt: dims.rows = { samples = [5], min = 1, max = 60 }
// kopt: dims.cols = { samples = [90], min = 1, max = 300 }
// kopt: args.in = { role = \"in\", dtype = \"f32\", shape = [\"rows\", \"cols\"] }
// kopt: args.out = { role = \"out\", dtype = \"f32\", shape = [\"rows\"] }
// kopt: reference = WHICH
// kopt: launch = { grid = \"rows\", block = 32, args = [\"in\", \"out\", \"i32(rows)\", \"i32(cols)\"] }
__global__ void energy(const float* in, float* out, int rows, int cols) {
    float s = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 32) s += in[blockIdx.x * cols + c] * in[blockIdx.x * cols + c];
    for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(0xffffffff, s, d);
    if (threadIdx.x == 0) out[blockIdx.x] = s;
}
";

#[test]
fn references_of_the_contract_are_run() {
    let with = |which: &str| ROWS.replace("WHICH", which);
    let plain: String = ROWS.lines().filter(|l| !l.starts_with("// kopt")).collect::<Vec<_>>().join("\n");
    let both_wrong =
        |text: &str| text.replace("if (threadIdx.x == 0) out", "s += 0.5f;\n    if (threadIdx.x == 0) out");
    let host = with("{ host = \"energy_on_host\" }");
    let kernel = with("{ kernel = \"slow\" }");
    let command = with("{ command = [\"python3\", \"ref.py\"] }");
    check(vec![
        pair(&host, &plain, "--kernel energy", 0, &["compared with those of the host function `energy_on_host`"]),
        // Both sides have the same mistake: only another answer tells.
        pair(&both_wrong(&host), &both_wrong(&plain), "--kernel energy", 6, &["does not agree with the reference"]),
        pair(&host, &both_wrong(&plain), "--kernel energy", 3, &["K0650"]),
        pair(&host.replace("(double)in", "(absent)in"), &plain, "--kernel energy", 6, &["K0666", "absent"]),
        pair(&with("{ host = \"nowhere\" }"), &plain, "--kernel energy", 2, &["K0666", "0 host functions"]),
        pair(&kernel, &plain, "--kernel energy", 0, &["those of the kernel `slow`"]),
        pair(&both_wrong(&kernel), &both_wrong(&plain), "--kernel energy", 6, &["does not agree with the reference"]),
        pair(&with("{ kernel = \"slower\" }"), &plain, "--kernel energy", 2, &["no kernel `slower`"]),
        pair(&command, &plain, "--kernel energy", 2, &["K0666", "not trusted"]),
        pair(&command, &plain, "--kernel energy --trust", 6, &["the reference:"]),
    ]);
}

#[test]
fn a_command_in_a_trusted_folder_is_given_raw_arrays() {
    let script = "\
import array, json, sys
folder = sys.argv[1]
dims = json.load(open(folder + '/cell.json'))['dims']
x = array.array('f', open(folder + '/in.bin', 'rb').read())
y = [sum(v * v for v in x[r * dims['cols']:(r + 1) * dims['cols']]) for r in range(dims['rows'])]
open(folder + '/out.bin', 'wb').write(array.array('f', y).tobytes())
";
    let text = ROWS.replace("WHICH", "{ command = [\"python3\", \"ref.py\"] }");
    let plain: String = ROWS.lines().filter(|l| !l.starts_with("// kopt")).collect::<Vec<_>>().join("\n");
    let folder = Folder::new(&[("a.cu", &text), ("b.cu", &plain), ("ref.py", script)]);
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        return;
    }
    let Some(run) = folder.kopt_compiling("verify a.cu b.cu --kernel energy --trust") else { return };
    run.expect(0).says("those of `python3 ref.py`");
}

#[test]
fn apply_runs_what_it_wrote_where_a_contract_is_there() {
    let transpose = |settled: &str| {
        format!(
            "// kopt: assume blockDim.x == 32, blockDim.y == 32\n// kopt: dims.n = {{ samples = [64], min = 32, divisible_by = 32, max = 256{settled} }}\n\
             // kopt: args.in = {{ role = \"in\", dtype = \"f32\", shape = [\"n\", \"n\"] }}\n\
             // kopt: args.out = {{ role = \"out\", dtype = \"f32\", shape = [\"n\", \"n\"] }}\n\
             // kopt: launch = {{ grid = [\"n / 32\", \"n / 32\"], block = [32, 32], args = [\"in\", \"out\", \"i32(n)\"] }}\n{}",
            cli_common::TRANSPOSE.split("void run").next().expect("a kernel")
        )
    };
    let lone = transpose("")
        .replace("// kopt: launch", "// launch")
        .replace("// kopt: dims", "// dims")
        .replace("// kopt: args", "// args");
    let cases = [
        (transpose(""), "", 0, "emulator: equal bits on"),
        (transpose(""), "--verify emulator", 0, "emulator: equal bits on"),
        (transpose(""), "--verify none", 0, "emulator: not run (--verify none)"),
        (transpose(""), "--verify compile", 0, "emulator: not run (--verify compile)"),
        (transpose(", proposed = [\"samples\"]"), "", 0, "emulator: not run (the contract is not settled"),
        (transpose(", proposed = [\"samples\"]"), "--verify emulator", 6, "not settled"),
        (lone, "", 0, "emulator: not run ("),
    ];
    for (text, flags, code, says) in cases {
        let folder = Folder::new(&[("t.cu", &text)]);
        let Some(run) = folder.kopt_compiling(&format!("apply --skill pad_shared t.cu --write --allow-dirty {flags}"))
        else {
            return;
        };
        run.expect(code).says(says);
        let lock = folder.get("kopt.lock");
        assert_eq!(lock.contains("emulator: equal bits"), says.contains("equal bits"), "{lock}");
    }
}

/// A candidate's own contract says how it is launched; it gives neither contents nor a way round a cell.
#[test]
fn temporaries_of_the_candidate_hide_and_give_nothing() {
    let head = |temp: &str| {
        format!(
            "// kopt: dims.n = {{ samples = [1000], min = 1, max = 4096 }}\n\
             // kopt: args.x = {{ role = \"in\", dtype = \"f32\", shape = [\"n\"] }}\n\
             // kopt: args.y = {{ role = \"out\", dtype = \"f32\", shape = [\"n\"] }}\n{temp}"
        )
    };
    let place = "int i = blockIdx.x * 128 + threadIdx.x;";
    let launch =
        |args: &str| format!("// kopt: launch = {{ grid = \"ceil_div(n, 128)\", block = 128, args = [{args}] }}\n");
    let a = format!(
        "{}{}__global__ void k(const float* x, float* y, int n) {{ {place} if (i < n) y[i] = 2 * x[i]; }}\n",
        head(""),
        launch("\"x\", \"y\", \"i32(n)\"")
    );
    let b = |temp: &str, body: &str| {
        let temp = format!("// kopt: args.t = {{ role = \"temp\", dtype = \"f32\", {temp} }}\n");
        format!(
            "{}{}__global__ void k(const float* x, float* y, float* t, int n) {{ {place} if (i < n) {body} }}\n",
            head(&temp),
            launch("\"x\", \"y\", \"t\", \"i32(n)\"")
        )
    };
    let large =
        |bytes: &str| b(&format!("shape = [\"n != 1000 ? {bytes} : 1\"]"), "y[i] = (n != 1000 ? 3 : 2) * x[i];");
    let cases = [
        (large("500000000"), 6, "the candidate: its buffers have"),
        // Nothing is allocated before it is known that there is room.
        (large("4000000000000"), 6, "the candidate: its buffers have"),
        (b("shape = [\"n\"], init = \"keep\", legal = [2.0, 2.0]", "y[i] = t[i] * x[i];"), 2, "K0663"),
        (b("shape = [\"n\"], init = \"keep\"", "y[i] = 2 * x[i];"), 2, "to begin with contents"),
        (b("shape = [\"n\"], init = \"zero\"", "y[i] = 2 * x[i] + t[i];"), 0, "has to be cleared before every call"),
        (b("shape = [\"n\"]", "{ t[i] = x[i]; y[i] = 2 * t[i]; }"), 0, "equal bits"),
        (b("shape = [\"n\"]", "y[i] = 2 * x[i] + 0 * t[i];"), 3, "K0651"),
    ];
    for (candidate, code, says) in &cases {
        let folder = Folder::new(&[("a.cu", &a), ("b.cu", candidate)]);
        let Some(run) = folder.kopt_compiling("verify a.cu b.cu") else { return };
        run.expect(*code).says(says);
    }
}
