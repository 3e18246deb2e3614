//! What inference reads out of host code, in both directions: what a program shows becomes its contract, and what it does
//! not show stays a question.

use kopt::contract::{Argument, OpenKind, Plan, Step};
use kopt::facts::macros_of;
use kopt::infer::infer;
use kopt::ir::Program;
use kopt::source::mask::MacroTable;
use kopt::source::{FileId, SourceFile, Sources};
use kopt::syntax::cuda::parse_unit;

/// The plans of files of which the first is asked about.
fn plans(files: &[(&str, &str)]) -> Vec<Plan> {
    let mut sources = Sources::default();
    let mut known = MacroTable::default();
    files.iter().for_each(|(_, text)| known.learn(text));
    let ids: Vec<FileId> = files.iter().map(|(name, text)| sources.add(SourceFile::new(*name, *text))).collect();
    let units = ids.iter().map(|id| parse_unit(*id, sources.get(*id), &known)).collect();
    let program = Program { units, complete: false };
    let macros = macros_of(&program, &sources);
    infer(&program, &sources, &macros, &[FileId(0)], None).contract.plans
}

/// `n=1024 | x:f32[n] y:f32[n] | k<ceil_div(n, 256)|256>(x, y, i32(n))`, and what is open.
fn said(plan: &Plan) -> String {
    let dims: Vec<String> = plan
        .dims
        .iter()
        .map(|d| format!("{}={}", d.name, d.samples.first().map_or("?".to_owned(), ToString::to_string)))
        .collect();
    let list = |e: &[kopt::contract::Expr]| e.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let args: Vec<String> = plan
        .args
        .iter()
        .map(|a| format!("{}:{}[{}]", a.name, a.dtype.map_or("?", |d| d.name()), list(&a.shape)))
        .collect();
    let step = |s: &Step| match s {
        Step::Launch(l) => {
            let given = |a: &Argument| match a {
                Argument::Buffer(b) => match &b.offset {
                    Some(o) => format!("{} + {o}", b.buffer),
                    None => b.buffer.clone(),
                },
                Argument::Int { value, .. } => value.to_string(),
                Argument::Float { value, .. } => value.to_string(),
                Argument::Null => "null".into(),
                Argument::Open => "?".into(),
                _ => "other".into(),
            };
            let args: Vec<String> = l.args.iter().map(given).collect();
            let template = if l.template.is_empty() { String::new() } else { format!("<{}>", l.template.join(", ")) };
            format!("{}{template}[{}|{}]({})", l.kernel, list(&l.grid), list(&l.block), args.join(", "))
        }
        Step::Fill { buffer, .. } => format!("fill {}", buffer.buffer),
        Step::Copy { .. } => "copy".into(),
    };
    let steps: Vec<String> = plan.steps.iter().map(step).collect();
    let mut open: Vec<String> = plan
        .open()
        .iter()
        .map(|o| format!("{}{}.{}", if o.kind == OpenKind::Missing { "?" } else { "~" }, o.table, o.field))
        .collect();
    open.dedup();
    format!("{} | {} | {} | {}", dims.join(" "), args.join(" "), steps.join("; "), open.join(" "))
}

const KERNEL: &str = "__global__ void k(const float* x, float* y, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = x[i];\n}\n";

/// A program whose `main` has `body` around what allocates and copies `x` and `y` of `n` floats.
fn program(before: &str, body: &str) -> String {
    format!("{before}{KERNEL}{body}")
}

const ALLOCATES: &str = "  float *x, *y; cudaMalloc(&x, n * sizeof(float)); cudaMalloc(&y, n * sizeof(float));\n  \
                         cudaMemcpy(x, h, n * sizeof(float), cudaMemcpyHostToDevice);\n";
const FETCHES: &str = "  cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);\n";

#[test]
fn host_code_is_followed_where_it_shows_a_value() {
    let whole = "n=1000 | x:f32[n] y:f32[n] | k[ceil_div(n, 256)|256](x, y, n) | ";
    let main = |head: &str, launch: &str| format!("int main() {{\n{head}\n{ALLOCATES}{launch}\n{FETCHES}}}\n");
    let n = "  int n = 1000; float* h = new float[n];";
    let cases: Vec<(&str, String, &str)> = vec![
        (
            "a function that is passed to another",
            program(
                "",
                &format!(
                    "void go(float* x, float* y, int n) {{ k<<<(n + 255) / 256, 256>>>(x, y, n); }}\n\
                     void timed(void (*f)(float*, float*, int), float* x, float* y, int n) {{ f(x, y, n); }}\n{}",
                    main(n, "timed(go, x, y, n);")
                ),
            ),
            whole,
        ),
        (
            "its address",
            program(
                "",
                &format!(
                    "void go(float* x, float* y, int n) {{ k<<<(n + 255) / 256, 256>>>(x, y, n); }}\n\
                     void timed(void (*f)(float*, float*, int), float* x, float* y, int n) {{ f(x, y, n); }}\n{}",
                    main(n, "timed(&go, x, y, n);")
                ),
            ),
            whole,
        ),
        (
            "a loop over listed sizes",
            program(
                "#include <vector>\n",
                "int main() {\n  std::vector<int> sizes = {1000, 2000};\n  for (int n : sizes) {\n  float* h = new float[n];\n  \
                 float *x, *y; cudaMalloc(&x, n * sizeof(float)); cudaMalloc(&y, n * sizeof(float));\n  \
                 cudaMemcpy(x, h, n * sizeof(float), cudaMemcpyHostToDevice);\n  k<<<(n + 255) / 256, 256>>>(x, y, n);\n  \
                 cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);\n  }\n}\n",
            ),
            whole,
        ),
        (
            "the last of listed sizes",
            program(
                "#include <vector>\n",
                &main(
                    "  std::vector<int> sizes = {500, 1000}; int n = sizes[sizes.size() - 1]; float* h = new float[n];",
                    "k<<<(n + 255) / 256, 256>>>(x, y, n);",
                ),
            ),
            whole,
        ),
        (
            "a macro with a comment behind it",
            program(
                "#define CEIL(a, b) (((a) + (b) - 1) / (b)) /* rounds up */\n",
                &main(n, "k<<<CEIL(n, 256), 256>>>(x, y, n);"),
            ),
            whole,
        ),
        (
            "a pointer to rows",
            "#define W 16\n__global__ void k(const float (*x)[W], float* y, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  \
             if (i < n) y[i] = x[i][3];\n}\nint main() {\n  int n = 1000; float* h = new float[n * W];\n  float (*x)[W]; float* y;\n  \
             cudaMalloc(&x, n * W * sizeof(float)); cudaMalloc(&y, n * sizeof(float));\n  \
             cudaMemcpy(x, h, n * W * sizeof(float), cudaMemcpyHostToDevice);\n  k<<<(n + 255) / 256, 256>>>(x, y, n);\n  \
             cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);\n}\n"
                .to_owned(),
            "n=1000 | x:f32[n, 16] y:f32[n] | k[ceil_div(n, 256)|256](x, y, n) | ",
        ),
        (
            "a grid by the device",
            program(
                "",
                &main(
                    "  int n = 1000; float* h = new float[n]; cudaDeviceProp p; cudaGetDeviceProperties(&p, 0);",
                    "k<<<4 * p.multiProcessorCount, 256>>>(x, y, n);",
                ),
            ),
            "n=1000 | x:f32[n] y:f32[n] | k[432|256](x, y, n) | ",
        ),
    ];
    for (what, text, expected) in cases {
        let found: Vec<String> = plans(&[("k.cu", &text)]).iter().map(said).collect();
        assert_eq!(found, [expected], "{what}:\n{text}");
    }
}

#[test]
fn structures_are_elements_where_all_of_one_is_one_type() {
    let of = |declared: &str| {
        let text = format!(
            "{declared}\n__global__ void k(const Body* b, float* y, int n) {{\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  \
             if (i < n) y[i] = b[i].x;\n}}\nint main() {{\n  int n = 1000; Body* h = new Body[n]; float* g = new float[n];\n  \
             Body* b; float* y; cudaMalloc(&b, n * sizeof(Body)); cudaMalloc(&y, n * 4);\n  \
             cudaMemcpy(b, h, n * sizeof(Body), cudaMemcpyHostToDevice);\n  k<<<(n + 255) / 256, 256>>>(b, y, n);\n  \
             cudaMemcpy(g, y, n * 4, cudaMemcpyDeviceToHost);\n}}\n"
        );
        plans(&[("k.cu", &text)]).iter().map(said).collect::<Vec<_>>()
    };
    let launch = "k[ceil_div(n, 256)|256](b, y, n)";
    let cases = [
        ("struct Body { float x, y, z; };", format!("n=1000 | b:f32[n, 3] y:f32[n] | {launch} | ")),
        ("typedef struct { float x; float v[3]; } Body;", format!("n=1000 | b:f32[n, 4] y:f32[n] | {launch} | ")),
        ("typedef float4 Body;", format!("n=1000 | b:f32[n, 4] y:f32[n] | {launch} | ")),
        // Numbers of two types are no contents that one distribution gives.
        (
            "struct Body { float x; int mass; };",
            format!("n=1000 | b:?[] y:f32[n] | {launch} | ?args.b.dtype ?args.b.shape"),
        ),
        // A size that a pragma changes, or that nothing here shows.
        (
            "#pragma pack(push, 1)\nstruct Body { float x, y; };\n#pragma pack(pop)",
            format!("n=1000 | b:?[] y:f32[n] | {launch} | ?args.b.dtype ?args.b.shape"),
        ),
        (
            "struct Body : Other { float x; };",
            format!("n=1000 | b:?[] y:f32[n] | {launch} | ?args.b.dtype ?args.b.shape"),
        ),
    ];
    for (declared, expected) in cases {
        assert_eq!(of(declared), [expected], "{declared}");
    }
}

/// `main` in one file, what launches in another, and a second program beside both.
#[test]
fn files_that_are_linked_are_one_program_and_others_are_not() {
    let kernels = format!("{KERNEL}void go(float* x, float* y, int n) {{ k<<<(n + 255) / 256, 256>>>(x, y, n); }}\n");
    let main = format!(
        "void go(float* x, float* y, int n);\n#define SIZE 1000\nint main() {{\n  int n = SIZE; float* h = new float[n];\n{ALLOCATES}  \
         go(x, y, n);\n{FETCHES}}}\n"
    );
    let whole = "SIZE=1000 | x:f32[SIZE] y:f32[SIZE] | k[ceil_div(SIZE, 256)|256](x, y, SIZE) | ";
    let first = |files: &[(&str, &str)]| said(plans(files).first().expect("a plan"));
    assert_eq!(first(&[("k.cu", &kernels), ("main.cu", &main)]), whole);
    // Another program has its own constant of that name.
    let other = "#define SIZE 77\nint main() { return SIZE; }\n";
    assert_eq!(first(&[("k.cu", &kernels), ("main.cu", &main), ("other.cu", other)]), whole);
    // Two programs define a function of the name: which one is linked is not known, and what calls it is left out. The
    // function alone works for any size.
    let double = format!("{KERNEL}void go(float* x, float* y, int n) {{ k<<<n, 1>>>(x, y, n); }}\n");
    let found = first(&[("k.cu", &kernels), ("main.cu", &main), ("double.cu", &double)]);
    assert_eq!(found, "n=1024 | x:f32[n] y:f32[n] | k[ceil_div(n, 256)|256](x, y, n) | ");
    // A kernel of the same name in a file of another program is not the one that is launched.
    let whole = "n=1000 | x:f32[n] y:f32[n] | k[ceil_div(n, 256)|256](x, y, n) | ";
    let own = format!(
        "{KERNEL}int main() {{\n  int n = 1000; float* h = new float[n];\n{ALLOCATES}  k<<<(n + 255) / 256, 256>>>(x, y, n);\n{FETCHES}}}\n"
    );
    let two =
        "__global__ void k(const float* x, float* y, int n) {}\nint main() { k<<<1, 1>>>(nullptr, nullptr, 3); }\n";
    assert_eq!(plans(&[("own.cu", &own), ("two.cu", two)]).iter().map(said).collect::<Vec<_>>(), [whole]);
    // A kernel in a header is that of the file which launches it.
    let main = format!(
        "#include \"k.cuh\"\nint main() {{\n  int n = 1000; float* h = new float[n];\n{ALLOCATES}  k<<<(n + 255) / 256, 256>>>(x, y, n);\n{FETCHES}}}\n"
    );
    assert_eq!(first(&[("main.cu", &main), ("k.cuh", KERNEL)]), whole);
}

/// What contents over a part of a fill leave is no step of a plan.
#[test]
fn parts_that_are_written_over_fills_are_asked() {
    let of = |before: &str| {
        let text = format!(
            "__global__ void k(const float* x, float* y, int n) {{\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  \
             if (i < n) y[i] = x[i];\n}}\nint main() {{\n  int n = 1024; float* h = new float[n];\n  float *x, *y;\n  \
             cudaMalloc(&x, n * sizeof(float)); cudaMalloc(&y, n * sizeof(float));\n{before}\n  k<<<4, 256>>>(x, y, n);\n{FETCHES}}}\n"
        );
        let found = plans(&[("k.cu", &text)]);
        let plan = found.first().expect("a plan");
        let steps: Vec<&str> =
            plan.steps.iter().map(|s| if matches!(s, Step::Fill { .. }) { "fill" } else { "launch" }).collect();
        (steps.join(" "), plan.open().iter().any(|o| o.table == "args.x" && o.field == "init"))
    };
    let copy = |offset: u32, bytes: u32| format!("cudaMemcpy(x + {offset}, h, {bytes}, cudaMemcpyHostToDevice);");
    let fill = |offset: u32, bytes: u32| format!("cudaMemset(x + {offset}, 0, {bytes});");
    let all = "cudaMemset(x, 0, n * sizeof(float));";
    let cases = [
        // A fill behind contents is a step, wherever it is.
        (format!("{} {}", copy(0, 4096), fill(0, 64)), "fill launch", false),
        // Contents over all of a fill undo it; beside it they leave it.
        (format!("{} {}", fill(4, 64), copy(0, 128)), "launch", false),
        (format!("{} {}", fill(0, 64), copy(16, 128)), "fill launch", false),
        // Contents over a piece of it do not.
        (format!("{} {}", fill(0, 64), copy(8, 128)), "fill launch", true),
        (format!("{all} {}", copy(0, 128)), "launch", true),
        (format!("{all} cudaMemcpy(x, h, n * sizeof(float), cudaMemcpyHostToDevice);"), "launch", false),
    ];
    for (before, steps, asked) in cases {
        assert_eq!(of(&before), (steps.to_owned(), asked), "{before}");
    }
}

/// Launches that no run makes together stand in no plan together.
#[test]
fn launches_behind_what_has_left_are_of_other_runs() {
    let runs = |body: &str| {
        let text = format!(
            "__global__ void a(float* y) {{ y[threadIdx.x] += 1.0f; }}\n__global__ void b(float* y) {{ y[threadIdx.x] *= 2.0f; }}\n\
             __global__ void c(float* y) {{ y[threadIdx.x] -= 3.0f; }}\n#include <cstdlib>\n\
             int main(int argc, char** argv) {{\n  int p = atoi(argv[1]), q = atoi(argv[2]);\n  float* y; float h[64];\n  cudaMalloc(&y, 256);\n  \
             cudaMemcpy(y, h, 256, cudaMemcpyHostToDevice);\n{body}\n  cudaMemcpy(h, y, 256, cudaMemcpyDeviceToHost);\n}}\n"
        );
        let name = |s: &Step| if let Step::Launch(l) = s { l.kernel.clone() } else { String::new() };
        let all = plans(&[("k.cu", &text)]);
        let shown = all.iter().filter(|p| p.launches().all(|l| !l.proposed.all));
        shown.map(|p| p.steps.iter().map(name).collect::<Vec<_>>().join("")).collect::<Vec<_>>()
    };
    let (a, b, c) = ("a<<<1, 64>>>(y);", "b<<<1, 64>>>(y);", "c<<<1, 64>>>(y);");
    let cases: Vec<(String, &[&str])> = vec![
        (format!("{a} {b}"), &["ab"]),
        (format!("if (p) {{ {a} }} {b}"), &["ab"]),
        (format!("if (p) {{ {a} }} else {{ {b} }} {c}"), &["ac", "bc"]),
        (format!("if (p) {{ {a} return 0; }} {b}"), &["a", "b"]),
        // The arm leaves only under a second condition, which stands in it.
        (format!("if (p) {{ if (q) {{ {a} return 0; }} }} {b}"), &["a", "b"]),
        (format!("if (p) {{ {a} if (q) {{ {b} return 0; }} }} {c}"), &["ab", "ac"]),
        (format!("if (p) {{ if (q) {{ {a} exit(0); }} }} {b}"), &["a", "b"]),
        (format!("if (p) {{ if (q) {{ {a} }} else {{ {b} return 0; }} }} {c}"), &["ac", "b"]),
        // What leaves a function called from here does not leave this one.
        (format!("auto f = [&]() {{ if (p) {{ {a} return; }} {b} }}; f(); {c}"), &["ac", "bc"]),
        // What goes on to the next iteration leaves the rest of this one.
        (format!("for (int i = 0; i < 1; ++i) {{ if (p) {{ {a} continue; }} {b} }} {c}"), &["ac", "bc"]),
    ];
    for (body, expected) in cases {
        assert_eq!(runs(&body), expected, "{body}");
    }
}

/// A launch in a case of a `switch` over its own block is asked: the case has one value of it, the launch would be given another.
#[test]
fn launches_in_cases_over_their_own_sizes_are_asked() {
    let asked = |head: &str, over: &str| {
        let text = format!(
            "template <int B> __global__ void k(const float* x, float* y, int n) {{\n  int i = blockIdx.x * B + threadIdx.x;\n  \
             if (i < n) y[i] = x[i];\n}}\n#include <cstdlib>\nint main(int argc, char** argv) {{\n  int n = 1024; float* h = new float[n];\n  float *x, *y;\n{head}\n  \
             cudaMalloc(&x, n * sizeof(float)); cudaMalloc(&y, n * sizeof(float));\n  cudaMemcpy(x, h, n * sizeof(float), cudaMemcpyHostToDevice);\n  \
             switch ({over}) {{\n  case 128: k<128><<<(n + threads - 1) / threads, threads>>>(x, y, n); break;\n  \
             case 256: k<256><<<(n + threads - 1) / threads, threads>>>(x, y, n); break;\n  }}\n{FETCHES}}}\n"
        );
        let found = plans(&[("k.cu", &text)]);
        found.iter().map(|p| p.open().iter().any(|o| o.field == "block")).collect::<Vec<bool>>()
    };
    let read = "  int threads = 256; if (argc > 1) threads = atoi(argv[1]);";
    for (head, over, expected) in [
        (read, "threads", true),
        (read, "threads / 2", true),
        ("  const int threads = 256;", "threads", true),
        ("  const int threads = 256; int which = atoi(argv[1]);", "which", false),
    ] {
        assert_eq!(asked(head, over), [expected; 2], "{head} {over}");
    }
}

/// Memory that a launch is given twice is read by one parameter before another writes it.
#[test]
fn memory_that_is_given_twice_is_an_input_too() {
    let of = |args: &str, more: &str| {
        let text = format!(
            "{KERNEL}int main() {{\n  int n = 1000; float* h = new float[n];\n{ALLOCATES}{more}  k<<<(n + 255) / 256, 256>>>({args}, n);\n{FETCHES}}}\n"
        );
        let found = plans(&[("k.cu", &text)]);
        found[0].args.iter().map(|a| format!("{}:{}", a.name, a.role.word())).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(of("x, y", ""), "x:in y:out");
    assert_eq!(of("y, y", "  cudaMemcpy(y, h, n * sizeof(float), cudaMemcpyHostToDevice);\n"), "y:inout");
    assert_eq!(of("x, x", ""), "x:inout");
}
