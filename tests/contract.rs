//! Contracts inferred from programs, against what is written beside them, and against the programs themselves.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use kopt::contract::{self, Contract, ContractError, Role, Sampling};
use kopt::facts::macros_of;
use kopt::infer::{Inferred, check, infer};
use kopt::ir::Program;
use kopt::source::mask::MacroTable;
use kopt::source::{FileId, SourceFile, Sources};
use kopt::syntax::cuda::parse_unit;

struct Case {
    name: String,
    sources: Sources,
    program: Program,
}

impl Case {
    fn of(name: &str, text: &str) -> Case {
        let mut sources = Sources::default();
        let file = sources.add(SourceFile::new(name, text));
        let mut known = MacroTable::default();
        known.learn(text);
        let unit = parse_unit(file, sources.get(file), &known);
        Case { name: name.to_owned(), sources, program: Program { units: vec![unit], complete: false } }
    }

    fn infer(&self) -> Inferred {
        let macros = macros_of(&self.program, &self.sources);
        infer(&self.program, &self.sources, &macros, &[FileId(0)], None)
    }

    /// Codes and messages of a check of this contract.
    fn check(&mut self, text: &str) -> Vec<(u16, String)> {
        let file = self.sources.add(SourceFile::new("c.toml", text));
        let (contract, problems) = contract::read(file, self.sources.get(file));
        assert_eq!(problems, vec![], "{}: {text}", self.name);
        let macros = macros_of(&self.program, &self.sources);
        let found = check::check(&self.program, &self.sources, &macros, &[FileId(0)], &contract);
        found.into_iter().map(|d| (d.code.0, format!("{} {:?} {:?}", d.message, d.labels, d.next))).collect()
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/contract")
}

fn cases() -> Vec<Case> {
    let entries = std::fs::read_dir(folder()).unwrap().flatten().map(|e| e.path());
    let mut paths: Vec<PathBuf> = entries.filter(|p| p.extension().is_some_and(|e| e == "cu")).collect();
    paths.sort();
    assert!(paths.len() >= 11);
    let name = |p: &Path| p.file_name().unwrap().to_string_lossy().into_owned();
    paths.iter().map(|p| Case::of(&name(p), &std::fs::read_to_string(p).unwrap())).collect()
}

#[test]
fn programs_give_the_contracts_beside_them() {
    for case in cases() {
        let text = contract::print(&case.infer().contract);
        let path = folder().join(&case.name).with_extension("contract.toml");
        if std::env::var_os("KOPT_BLESS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
        assert_eq!(text, committed, "{}: look at it, then KOPT_BLESS=1 cargo test --test contract", case.name);
    }
}

#[test]
fn inferred_contracts_are_read_back_and_run() {
    for mut case in cases() {
        let found = case.infer();
        let text = contract::print(&found.contract);
        let (again, problems) = contract::read(FileId(0), &SourceFile::new("c.toml", text.as_str()));
        assert_eq!(problems, vec![], "{}: {text}", case.name);
        assert_eq!(again.plans, found.contract.plans, "{}", case.name);
        // Kernels without a launch in view are never complete; those with one are, in these programs.
        for k in &found.kernels {
            assert_eq!(k.is_complete(), k.launched, "{}: {k:?}", case.name);
        }
        let launched = found.kernels.iter().all(|k| k.launched);
        let said = case.check(&text);
        assert_eq!(said.is_empty(), launched, "{}: {said:?}", case.name);
        for plan in found.contract.plans.iter().filter(|_| launched) {
            run_cells(&case.name, plan);
        }
    }
}

fn run_cells(name: &str, plan: &contract::Plan) {
    let found = contract::cells(plan, &Sampling::default());
    assert!(!found.cells.is_empty(), "{name}");
    // Pairs of sizes are as many as the sampling allows.
    let odd: Vec<&String> = found.left_out.iter().filter(|l| !l.contains("pairs of sizes")).collect();
    assert!(odd.is_empty(), "{name}: {odd:?}");
    for cell in &found.cells {
        let c = plan.concrete(cell).unwrap_or_else(|e| panic!("{name} {cell:?}: {e}"));
        assert!(c.launches().count() > 0);
        assert!(c.buffers.iter().any(|b| b.role.is_output()), "{name}: nothing to compare");
        for b in &c.buffers {
            assert_eq!(
                b.start_bytes(0..b.elements.min(8)).unwrap().len() as u64,
                b.elements.min(8) * u64::from(b.dtype.bytes())
            );
        }
    }
    // Sizes that may vary are tried at more than one value.
    for d in plan.dims.iter().filter(|d| !d.is_fixed()) {
        let values: BTreeSet<i64> = found.cells.iter().map(|c| c.dims[&d.name]).collect();
        assert!(values.len() >= 5, "{name} {}: {values:?}", d.name);
    }
}

/// A kernel, the text of its body that is changed, and the dims that are fixed by the change: a size may vary only where
/// every access was shown to be inside.
#[test]
fn sizes_vary_only_where_accesses_stay_inside() {
    let program = |body: &str, grid: &str, bytes: &str| {
        format!(
            "__global__ void k(const float* x, float* y, int n) {{\n  __shared__ float tile[256];\n  {body}\n}}\n\
            int main() {{\n  int n = 1024;\n  float *x, *y, *h = new float[n];\n  cudaMalloc(&x, n * sizeof(float));\n  \
            cudaMalloc(&y, {bytes});\n  cudaMemcpy(x, h, n * 4, cudaMemcpyHostToDevice);\n  k<<<{grid}, 256>>>(x, y, n);\n  \
            cudaMemcpy(h, y, n * 4, cudaMemcpyDeviceToHost);\n}}\n"
        )
    };
    let i = "int i = blockIdx.x * blockDim.x + threadIdx.x;";
    let up = "(n + 255) / 256";
    let all = "n * sizeof(float)";
    // Body, grid, bytes of y, and whether n may vary; where it may for multiples only, of what.
    let cases: &[(String, &str, &str, Option<i64>)] = &[
        (format!("{i} if (i < n) y[i] = x[i];"), up, all, Some(1)),
        // As many threads as elements: the guard does not matter then.
        (format!("{i} if (i <= n) y[i] = x[i];"), up, all, Some(256)),
        (format!("{i} if (i < n) y[i] = x[i + 1];"), up, all, None),
        (format!("{i} if (i < n - 1) y[i] = x[i + 1];"), up, all, Some(1)),
        (format!("{i} if (i < n) y[i] = x[i - 1];"), up, all, None),
        (format!("{i} if (i > 0 && i < n) y[i] = x[i - 1];"), up, all, Some(1)),
        (format!("{i} y[i] = x[i];"), "n / 256", all, Some(1)),
        (format!("{i} y[i] = x[i];"), up, all, Some(256)),
        (format!("{i} y[i] = x[i];"), "n / 256 + 1", all, None),
        (format!("{i} if (i < n) y[2 * i] = x[i];"), up, all, None),
        (format!("{i} if (i < n) y[2 * i + 1] = x[i];"), up, "2 * n * sizeof(float)", Some(1)),
        (format!("{i} if (i < n) y[i] = x[i];"), up, "n * sizeof(float) / 2", None),
        ("for (int i = threadIdx.x; i < n; i += 256) y[i] = x[i];".into(), "1", all, Some(1)),
        ("for (int i = threadIdx.x; i <= n; i += 256) y[i] = x[i];".into(), "1", all, None),
        (format!("{i} tile[threadIdx.x] = x[0]; if (i < n) y[i] = tile[0];"), up, all, Some(1)),
        (format!("{i} if (i < n) {{ tile[i] = x[i]; y[i] = tile[i]; }}"), up, all, None),
        (format!("{i} if (i < n) atomicAdd(&y[i], x[i]);"), up, all, Some(1)),
        (format!("{i} if (i < n) atomicAdd(&y[i + n], x[i]);"), up, all, None),
        (format!("{i} if (i < n) y[(int)x[i]] = 1.0f;"), up, all, None),
        (format!("unsigned j = threadIdx.x - 1; if (j < n) y[j] = x[j]; {i}"), up, all, None),
    ];
    for (body, grid, bytes, varies) in cases {
        let text = program(body, grid, bytes);
        let found = Case::of("k.cu", &text).infer();
        let plan = &found.contract.plans[0];
        let n = plan.dims.iter().find(|d| d.name == "n").unwrap_or_else(|| panic!("{text}"));
        let is = if n.is_fixed() { None } else { Some(n.divisible_by.unwrap_or(1)) };
        assert_eq!(is, *varies, "{body} with {grid} blocks:\n{}", contract::print(&found.contract));
        assert_eq!(n.samples, [1024]);
    }
}

/// Changes of the contract of a program, and what the check says of it.
#[test]
fn contradictions_are_found() {
    let text = std::fs::read_to_string(folder().join("vector_add.cu")).unwrap();
    let whole = std::fs::read_to_string(folder().join("vector_add.contract.toml")).unwrap();
    let cases = [
        ("kernel = \"add\"", "kernel = \"ad\"", 610, "write `add`"),
        ("\"d_c\", \"i32(n)\"]", "\"d_c\"]", 611, "value for `n`"),
        ("\"d_c\", \"i32(n)\"]", "\"d_c\", \"i32(n)\", \"null\"]", 611, "too many"),
        ("\"i32(n)\"", "\"i64(n)\"", 612, "is i32 and is given i64"),
        ("\"d_c\", \"i32(n)\"", "\"null\", \"null\"", 612, "no pointer"),
        ("args = [\"d_a\"", "args = [\"f32(1.0)\"", 612, "a pointer and is given a number"),
        ("dtype = \"f32\"", "dtype = \"f64\"", 612, "a buffer of f64"),
        ("\"i32(n)\"", "\"?\"", 613, "argument 4"),
        ("min = 1", "min = 1\nproposed = [\"min\"]", 614, "`min`"),
        ("[dims.n]", "[dims.spare]\nsamples = [1]\n[dims.n]", 620, "dim `spare`"),
        ("[args.d_a]", "[args.spare]\nrole = \"in\"\ndtype = \"f32\"\nshape = [1]\n[args.d_a]", 620, "`spare`"),
        ("contract = 1", "contract = 1\nassume = [\"m >= 1\"]", 621, "`m`"),
        ("contract = 1", "contract = 1\nkernel.add.assume = [\"d_a >= 1\"]", 621, "`d_a`"),
        ("block = [256]", "block = [128]", 622, "256 x 1 x 1 there"),
        ("ceil_div(n, 256)", "n / 256 + 1", 622, "4097 x 1 x 1 here and 4096"),
        ("block = [256]", "block = [256]\nshared = 64", 622, "64 bytes here and 0 there"),
        ("block = [256]", "block = [256]\ntemplate = [\"float\"]", 623, "0 template parameters"),
        ("role = \"out\"", "role = \"in\"", 624, "`add` writes it"),
        ("role = \"in\"", "role = \"inout\"", 624, "no launch writes it"),
        ("contract = 1", "contract = 1\nreference = { kernel = \"added\" }", 610, "`added`"),
    ];
    let mut case = Case::of("vector_add.cu", &text);
    assert_eq!(case.check(&whole), vec![]);
    for (from, to, code, part) in cases {
        let changed = whole.replacen(from, to, 1);
        assert_ne!(changed, whole, "{from}");
        let said = case.check(&changed);
        let hit = said.iter().any(|(c, text)| *c == code && text.contains(part));
        assert!(hit, "{from} -> {to}: {said:#?}");
    }
}

#[test]
fn a_launch_that_the_file_shows_is_said_with_both_places() {
    let text = std::fs::read_to_string(folder().join("vector_add.cu")).unwrap();
    let mut case = Case::of("vector_add.cu", &text);
    let whole = std::fs::read_to_string(folder().join("vector_add.contract.toml")).unwrap();
    let changed = whole.replace("block = [256]", "block = [64]");
    let file = case.sources.add(SourceFile::new("c.toml", changed.as_str()));
    let (contract, _) = contract::read(file, case.sources.get(file));
    let macros = macros_of(&case.program, &case.sources);
    let found = check::check(&case.program, &case.sources, &macros, &[FileId(0)], &contract);
    let d = found.iter().find(|d| d.code.0 == 622).expect("a conflict");
    let places: Vec<&str> = d.labels.iter().map(|l| case.sources.slice(l.span)).collect();
    assert_eq!(places[0], "[64]");
    assert!(places[1].starts_with("add<<<grid, block>>>"), "{places:?}");
}

#[test]
fn what_is_open_does_not_run() {
    let case = cases().into_iter().find(|c| c.name == "kernels_only.cu").unwrap();
    let found: Contract = case.infer().contract;
    let gather = found.plans.iter().find(|p| p.name == "gather").unwrap();
    assert!(gather.open().iter().any(|o| o.table == "args.x" && o.field == "shape"));
    let cell = contract::Cell::new([("n".to_owned(), 8)].into(), contract::Distribution::Normal, 0);
    assert!(matches!(gather.concrete(&cell), Err(ContractError::Open(_))));
    // What is only proposed runs when it is asked for; `open` says that it is.
    let scale = found.plans.iter().find(|p| p.name == "scale").unwrap();
    assert!(scale.concrete(&cell).is_ok() && scale.open().len() >= 3);
}

#[test]
fn roles_follow_from_what_the_program_does() {
    let of = |name: &str| -> Vec<(String, Role)> {
        let case = cases().into_iter().find(|c| c.name == name).unwrap();
        let plans = case.infer().contract.plans;
        plans[0].args.iter().map(|a| (a.name.clone(), a.role)).collect()
    };
    let want = |list: &[(&str, Role)]| list.iter().map(|(n, r)| ((*n).to_owned(), *r)).collect::<Vec<_>>();
    assert_eq!(of("reduce_two_stages.cu"), want(&[("in", Role::In), ("partial", Role::Temp), ("out", Role::Out)]));
    assert_eq!(of("stencil_steps.cu"), want(&[("a", Role::InOut), ("b", Role::Temp)]));
    assert_eq!(of("histogram.cu"), want(&[("data", Role::In), ("bins", Role::Out)]));
}

/// The steps and the contents before them that host code gives: `body` stands in a `main` with `x`, `y` and `n` in view.
fn steps_of(body: &str) -> (String, Vec<String>) {
    let text = format!(
        "#include <cstdlib>\n__global__ void scale(const float* x, float* y, int n) {{\n    int i = blockIdx.x * 64 + threadIdx.x;\n    \
         if (i < n) y[i] = 2.0f * x[i];\n}}\n__global__ void add(const float* x, float* y, int n) {{\n    int i = blockIdx.x * 64 + threadIdx.x;\n    \
         if (i < n) y[i] += x[i];\n}}\nint main(int argc, char** argv) {{\n    int n = 1 << 12, mode = atoi(argv[1]);\n    float *x, *y, *h = (float*)malloc(n * 4);\n    \
         cudaMalloc(&x, n * sizeof(float));\n    cudaMalloc(&y, n * sizeof(float));\n{body}\n    cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);\n}}\n"
    );
    let found = Case::of("host.cu", &text).infer();
    let of = |p: &contract::Plan| -> Vec<String> {
        let step = |s: &contract::Step| match s {
            contract::Step::Launch(l) => {
                let grid: Vec<String> = l.grid.iter().map(ToString::to_string).collect();
                format!("{}<{}>", l.kernel, grid.join(","))
            }
            contract::Step::Fill { buffer, byte, bytes } => {
                let size = bytes.as_ref().map_or("all".to_owned(), ToString::to_string);
                let from = buffer.offset.as_ref().map_or(String::new(), |o| format!("+{o}"));
                format!("fill {}{from} {byte} {size}", buffer.buffer)
            }
            contract::Step::Copy { .. } => "copy".into(),
        };
        p.steps.iter().map(step).collect()
    };
    let init = |p: &contract::Plan| {
        let one = |a: &contract::Arg| format!("{}:{}:{}", a.name, a.role.word(), a.init().word());
        p.args.iter().map(one).collect::<Vec<_>>().join(" ")
    };
    // Kernels that this program does not launch have plans that are proposed as a whole.
    let shown = |p: &&contract::Plan| p.launches().all(|l| !l.proposed.all);
    let plans: Vec<&contract::Plan> = found.contract.plans.iter().filter(shown).collect();
    (plans.iter().copied().map(init).collect::<Vec<_>>().join(" | "), plans.iter().map(|p| of(p).join("; ")).collect())
}

#[test]
fn fills_are_what_they_fill_until_something_covers_them() {
    let launch = "add<<<(n + 63) / 64, 64>>>(x, y, n);";
    let cases: &[(&str, &str, &[&str])] = &[
        // All of it: what the buffer begins with.
        ("cudaMemset(y, 0, n * sizeof(float));", "x:in:keep y:out:zero", &["add<ceil_div(n, 64)>"]),
        // Part of it: a step for that part, and the rest is asked.
        ("cudaMemset(y, 0, 64);", "x:in:keep y:inout:keep", &["fill y 0 64; add<ceil_div(n, 64)>"]),
        (
            "cudaMemset(y + 8, 1, n * 4 - 32);",
            "x:in:keep y:inout:keep",
            &["fill y+8 1 n * 4 - 32; add<ceil_div(n, 64)>"],
        ),
        // Another byte is a step over all.
        ("cudaMemset(y, 1, n * 4);", "x:in:keep y:inout:keep", &["fill y 1 all; add<ceil_div(n, 64)>"]),
        // Contents that cover a fill undo it.
        (
            "cudaMemset(y, 1, n * 4); cudaMemcpy(y, h, n * 4, cudaMemcpyHostToDevice);",
            "x:in:keep y:inout:keep",
            &["add<ceil_div(n, 64)>"],
        ),
        ("cudaMemset(y, 1, n * 4); cudaMemset(y, 0, n * 4);", "x:in:keep y:out:zero", &["add<ceil_div(n, 64)>"]),
    ];
    for (before, init, steps) in cases {
        let copy = "cudaMemcpy(x, h, n * sizeof(float), cudaMemcpyHostToDevice);";
        let found = steps_of(&format!("    {copy} {before} {launch}"));
        assert_eq!(found, ((*init).to_owned(), steps.iter().map(|s| (*s).to_owned()).collect()), "{before}");
    }
    // Between two launches: what is filled again before it is used is no step.
    let copy = "cudaMemcpy(x, h, n * 4, cudaMemcpyHostToDevice); cudaMemset(y, 0, n * 4);";
    let scale = "scale<<<(n + 63) / 64, 64>>>(x, y, n);";
    let between = |fills: &str| steps_of(&format!("{copy} {scale} {fills} {launch}"));
    let (init, steps) = between("cudaMemset(x, 2, n * 4); cudaMemset(x, 3, n * 4);");
    assert_eq!(steps, ["scale<ceil_div(n, 64)>; fill x 3 all; add<ceil_div(n, 64)>"]);
    // What a step writes is no input that stays.
    assert_eq!(init, "x:inout:keep y:out:zero");
    assert_eq!(between("cudaMemset(x, 2, 16);").1, ["scale<ceil_div(n, 64)>; fill x 2 16; add<ceil_div(n, 64)>"]);
}

#[test]
fn branches_keep_to_themselves() {
    let copy = "cudaMemcpy(x, h, n * sizeof(float), cudaMemcpyHostToDevice);";
    // What one case sets does not hold in the next.
    let found = steps_of(&format!(
        "{copy} int b = 64; switch (mode) {{ case 0: b = 32; break; case 1: scale<<<n / b, 64>>>(x, y, n); break; }}"
    ));
    assert_eq!(found.1, ["scale<n / 64>"]);
    // Launches of one case belong together.
    let found = steps_of(&format!(
        "{copy} switch (mode) {{ case 0: scale<<<n / 64, 64>>>(x, y, n); add<<<n / 64, 64>>>(x, y, n); break; \
         case 1: scale<<<n / 128, 64>>>(x, y, n); break; }}"
    ));
    assert_eq!(found.1, ["scale<n / 64>; add<n / 64>", "scale<n / 128>"]);
    // What follows an arm that left is of the run that stayed.
    let found = steps_of(&format!(
        "{copy} if (mode) {{ scale<<<n / 64, 64>>>(x, y, n); cudaMemcpy(h, y, n * 4, cudaMemcpyDeviceToHost); return 0; }} \
         scale<<<n / 128, 64>>>(x, y, n); add<<<n / 64, 64>>>(x, y, n);"
    ));
    assert_eq!(found.1, ["scale<n / 64>", "scale<n / 128>; add<n / 64>"]);
}

#[test]
fn loops_that_only_compute_and_tables_are_followed() {
    let copy = "cudaMemcpy(x, h, n * sizeof(float), cudaMemcpyHostToDevice);";
    let found = steps_of(&format!("{copy} int b = 1; while (b < 50) b *= 2; scale<<<n / b, 64>>>(x, y, n);"));
    assert_eq!(found.1, ["scale<n / 64>"]);
    let found = steps_of(&format!("{copy} int sizes[] = {{32, 64}}; scale<<<n / sizes[1], 64>>>(x, y, n);"));
    assert_eq!(found.1, ["scale<n / 64>"]);
    // A loop over what is not known leaves what it changes unknown.
    let found = steps_of(&format!("{copy} int b = 1; while (b < mode) b *= 2; scale<<<n / b, 64>>>(x, y, n);"));
    assert_eq!(found.1, ["scale<>"]);
}
