use super::*;
use crate::contract::print::print;
use crate::source::SourceFile;

pub(crate) const WHOLE: &str = r#"
contract = 1
assume = ["complete"]
require = ["k <= n"]
noalias = true
reference = { kernel = "naive" }

[dims.n]
samples = [1024, 4096]
min = 4
max = 65536
divisible_by = 4

[dims.k]
samples = [64]
proposed = ["samples"]

[args.x]
role = "in"
dtype = "f32"
shape = ["n", "k"]
align = 16
distribution = ["normal-1", "sparse"]
legal = [-1.0, 1.0]

[args.idx]
role = "in"
dtype = "i32"
shape = ["n"]
legal = [0, "n - 1"]

[args.y]
role = "out"
dtype = "f32"
shape = ["n + 2"]
init = "zero"
writes = [1, "n + 1"]

[args.acc]
role = "temp"
dtype = "f64"
shape = ["ceil_div(n, 256)"]

[args.alpha]
role = "scalar"
dtype = "f32"
value = 0.5

[[step]]
fill = "acc"
byte = 0

[[step]]
kernel = "gather"
template = ["float", "4"]
grid = ["ceil_div(n, 256)", 1]
block = [256]
shared = "k * sizeof(f32)"
args = ["x", "idx", "y + 1", "alpha", "i32(n)", "i64(n * k)", "f32(1.5)", "null", "acc"]

[[step]]
copy = "x + k"
to = "y"
bytes = "4 * k"

[tolerance.y]
rms = 1e-6
max = 0.001

[permissions]
mutable_globals = ["counter"]
reassociate = true

[kernel.gather]
assume = ["n >= 1"]
"#;

pub(crate) fn load(text: &str) -> (Contract, Vec<Diagnostic>) {
    read(FileId(0), &SourceFile::new("k.contract.toml", text))
}

#[test]
fn what_is_printed_is_read_back_equal() {
    let (contract, problems) = load(WHOLE);
    assert_eq!(problems, vec![]);
    let text = print(&contract);
    let (again, problems) = load(&text);
    assert_eq!(problems, vec![], "{text}");
    assert_eq!(again.plans, contract.plans, "{text}");
    let ids = |c: &Contract| c.assumptions.of("gather").iter().map(|a| a.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&again), ids(&contract));
    assert_eq!(print(&again), text);
}

#[test]
fn named_plans_stand_below_their_names() {
    let (mut contract, _) = load(WHOLE);
    contract.plans[0].name = "of two".into();
    let mut other = contract.plans[0].clone();
    other.name = "second".into();
    contract.plans.push(other);
    let text = print(&contract);
    let (again, problems) = load(&text);
    assert_eq!(problems, vec![], "{text}");
    assert_eq!(again.plans, contract.plans, "{text}");
}

/// Text of a contract, what stands at the place of the diagnostic, its code, and a part of message or next step.
const MISTAKES: &[(&str, &str, u16, &str)] = &[
    ("[[", "", 600, "not TOML"),
    ("contract = 2", "2", 600, "form 1"),
    ("dmis = 3", "dmis", 601, "write `dims`"),
    ("[dims.n]\nsample = [1]", "sample", 601, "write `samples`"),
    ("[dims.n]\nsamples = [1.5]", "1.5", 600, "an integer"),
    ("[dims.n]\nsamples = [99999999999999999999]", "99999999999999999999", 600, "64 bits"),
    ("[dims.n]\nsamples = [6]\ndivisible_by = 4", "[6]", 605, "n % 4 == 0"),
    ("[dims.n]\nmin = 5\nmax = 4", "5", 605, "from 5 to 4"),
    ("[dims.n]\ndivisible_by = 0", "0", 605, "divisible"),
    ("[args.x]\nrole = \"result\"", "\"result\"", 603, "one of in, out"),
    ("[args.x]\nrole = \"inot\"", "\"inot\"", 603, "write `inout`"),
    ("[args.x]\ndtype = \"f32\"", "x", 600, "no role"),
    ("[args.x]\nrole = \"in\"\ndtype = \"flaot\"", "\"flaot\"", 603, "no dtype"),
    ("[args.x]\nrole = \"in\"\nshape = [\"n +\"]", "\"", 602, "missing"),
    ("[args.x]\nrole = \"in\"\nshape = [\"n $ 2\"]", "$", 602, "no meaning"),
    ("[dims.rows]\nsamples = [1]\n[args.x]\nrole = \"in\"\nshape = [\"row\"]", "x", 604, "write `rows`"),
    ("[args.x]\nrole = \"in\"\nshape = [\"n\"]", "x", 604, "add `[dims.n]`"),
    ("[args.x]\nrole = \"in\"\nalign = 12", "12", 605, "power of two"),
    ("[args.x]\nrole = \"in\"\nvalue = 1", "1", 605, "remove `value`"),
    ("[args.x]\nrole = \"in\"\nlegal = [3, 1]", "[3, 1]", 605, "smaller end"),
    ("[args.x]\nrole = \"in\"\ndistribution = \"normal\"", "\"normal\"", 603, "write `normal-1`"),
    (
        "[dims.n]\nsamples = [1]\n[args.n]\nrole = \"in\"\n[args.m]\nrole = \"scalar\"\n[[step]]\nfill = \"m\"",
        "\"m\"",
        600,
        "a buffer",
    ),
    ("[[step]]\ngrid = [1]", "[[step]]", 600, "no kernel"),
    ("[[step]]\nkernel = \"k\"\ngrid = [1, 2, 3, 4]", "[1, 2, 3, 4]", 600, "three axes"),
    ("[args.xs]\nrole = \"in\"\n[[step]]\nkernel = \"k\"\nargs = [\"xz\"]", "\"xz\"", 604, "write `xs`"),
    ("[dims.n]\nsamples = [1]\n[[step]]\nkernel = \"k\"\nargs = [\"n\"]", "\"n\"", 605, "i32(n)"),
    ("[[step]]\nkernel = \"k\"\nargs = [5]", "5", 600, "a text"),
    ("[[step]]\nkernel = \"k\"\nargs = [\"i32(m)\"]", "\"i32(m)\"", 604, "no dim or scalar `m`"),
    ("[args.x]\nrole = \"in\"\n[tolerance.x]\nmax = 1", "x", 605, "no output"),
    ("[tolerance.x]\nmax = 1", "x", 604, "no output `x`"),
    ("reference = { kernal = \"k\" }", "kernal", 601, "write `kernel`"),
    ("[permissions]\nreassociate = 1", "1", 600, "true or false"),
    ("assume = [\"n % 0 == 0\"]", "\"n % 0 == 0\"", 231, "modulo"),
];

#[test]
fn each_mistake_is_said_on_its_own_line() {
    for (text, at, code, part) in MISTAKES {
        let (_, problems) = load(text);
        let hit = problems.iter().find(|d| d.code.0 == *code);
        let d = hit.unwrap_or_else(|| panic!("{text}: {problems:#?}"));
        let span = d.primary().unwrap_or_else(|| panic!("{text}: {d:#?}"));
        let said = text.get(span.range()).unwrap_or("");
        assert!(said.starts_with(at), "{text}: `{said}`");
        let all = format!("{} {:?} {:?}", d.message, d.labels, d.next);
        assert!(all.contains(part), "{text}: {all}");
        assert!(d.next.is_some(), "{text}: no next step");
    }
}

#[test]
fn comments_make_a_plan_of_the_kernel_below() {
    let text = "\
// A scale.
// kopt: assume n >= 1
// kopt: dims.n = { samples = [1000], min = 1 }
// kopt: args.x = { role = \"inout\", dtype = \"f32\", shape = \"n\" }
// kopt: launch = { grid = \"ceil_div(n, 128)\", block = 128, args = [\"x\", \"i32(n)\"] }
__global__ void scale(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2; }

// kopt: dmis.n = { samples = [1] }
// kopt: dims.n = { samples = 1 ]
__global__ void bad(float* x) { x[0] = 1; }
";
    let mut sources = crate::source::Sources::default();
    let file = sources.add(SourceFile::new("k.cu", text));
    let unit = crate::syntax::cuda::parse_unit(file, sources.get(file), &Default::default());
    let program = crate::ir::Program { units: vec![unit], complete: false };
    let (plans, problems) = plans_from_comments(&program, &sources);
    assert_eq!(plans[0].name, "scale");
    assert_eq!(plans[0].open(), vec![]);
    let dims = [("n".to_owned(), 1000)].into();
    let cell = crate::contract::Cell::new(dims, crate::contract::Distribution::Normal, 0);
    let concrete = plans[0].concrete(&cell).unwrap();
    assert_eq!(concrete.launches().next().unwrap().grid, [8, 1, 1]);
    let said: Vec<(&str, u16)> = problems.iter().map(|d| (&text[d.primary().unwrap().range()], d.code.0)).collect();
    assert_eq!(said.iter().map(|s| s.1).collect::<Vec<_>>(), [600, 601]);
    assert_eq!(said[1].0, "dmis");
    assert!(text.find(said[0].0).is_some());
}
