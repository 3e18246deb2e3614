use std::collections::BTreeSet;

use super::load::tests::{WHOLE, load};
use super::*;
use crate::ir::Scalar;
use crate::source::{FileId, SourceFile, Sources};

fn plan() -> Plan {
    let (contract, problems) = load(WHOLE);
    assert_eq!(problems, vec![]);
    contract.plans.into_iter().next().unwrap()
}

fn cell(n: i64, k: i64) -> Cell {
    let dims = [("n".to_owned(), n), ("k".to_owned(), k)].into();
    Cell { poison: 1, ..Cell::new(dims, Distribution::HeavyTail, 3) }
}

#[test]
fn a_cell_gives_numbers() {
    let c = plan().concrete(&cell(1000, 8)).unwrap();
    let sizes: Vec<(&str, u64, u64)> = c.buffers.iter().map(|b| (b.name.as_str(), b.elements, b.bytes)).collect();
    assert_eq!(sizes, [("x", 8000, 32000), ("idx", 1000, 4000), ("y", 1002, 4008), ("acc", 4, 32)]);
    assert_eq!(c.buffers[0].align, 16);
    assert_eq!(c.buffers[1].align, DEVICE_ALIGNMENT);
    assert_eq!(c.buffers[2].start, Start::Zero);
    assert_eq!(c.buffers[2].writes, 1..1001);
    assert_eq!(c.buffers[3].start, Start::Poison(POISONS[1]));
    let Start::Contents(x) = &c.buffers[0].start else { panic!("{:?}", c.buffers[0].start) };
    // The contract allows two distributions for it, and the cell's is neither.
    assert!([Distribution::Normal, Distribution::Sparse].contains(&x.distribution));
    assert_eq!((x.row, x.seed, x.legal), (8, 3, Some(Legal::Float(-1.0, 1.0))));
    let Start::Contents(idx) = &c.buffers[1].start else { panic!() };
    assert_eq!((idx.distribution, idx.legal), (Distribution::HeavyTail, Some(Legal::Int(0, 999))));

    assert_eq!(c.steps[0], ConcreteStep::Fill { buffer: 3, offset: 0, bytes: 32, byte: 0 });
    let ConcreteStep::Launch(l) = &c.steps[1] else { panic!() };
    assert_eq!((l.grid, l.block, l.shared, l.runs()), ([4, 1, 1], [256, 1, 1], 32, true));
    assert_eq!(l.template, ["float", "4"]);
    let bytes = |dtype: Scalar, b: &[u8]| Binding::Scalar { dtype, bytes: b.to_vec() };
    let expected = [
        Binding::Buffer { buffer: 0, offset: 0 },
        Binding::Buffer { buffer: 1, offset: 0 },
        Binding::Buffer { buffer: 2, offset: 4 },
        bytes(Scalar::F32, &0.5f32.to_le_bytes()),
        bytes(Scalar::I32, &1000i32.to_le_bytes()),
        bytes(Scalar::I64, &8000i64.to_le_bytes()),
        bytes(Scalar::F32, &1.5f32.to_le_bytes()),
        Binding::Null,
        Binding::Buffer { buffer: 3, offset: 0 },
    ];
    assert_eq!(l.args, expected);
    assert_eq!(c.steps[2], ConcreteStep::Copy { from: 0, from_offset: 32, to: 2, to_offset: 0, bytes: 32 });
    assert_eq!(c.bytes(), 32000 + 4000 + 4008 + 32);
    assert_eq!(c.buffers[0].start_bytes(3..5).unwrap().len(), 8);
}

#[test]
fn what_the_contract_excludes_is_an_error() {
    let p = plan();
    let is = |c: Cell| p.concrete(&c).unwrap_err();
    assert!(matches!(is(cell(1002, 8)), ContractError::Excluded { .. }));
    assert!(matches!(is(cell(8, 16)), ContractError::Required(_)));
    let mut without = cell(8, 8);
    without.dims.remove("k");
    assert_eq!(is(without), ContractError::NoDim("k".into()));
    assert!(matches!(is(cell(1 << 40, 8)), ContractError::Excluded { .. }));
}

/// A contract of one kernel with one thing that is wrong for the size 8, and a part of the message.
#[test]
fn impossible_numbers_are_errors() {
    let base = "[dims.n]\nsamples = [8]\n[args.x]\nrole = \"in\"\ndtype = \"f32\"\nshape = \"n\"\n[[step]]\nkernel = \"k\"\ngrid = 1\nblock = 32\nargs = [\"x\"]\n";
    let cases = [
        ("shape = \"n\"", "shape = \"n - 9\"", "negative"),
        ("shape = \"n\"", "shape = \"n / (n - 8)\"", "divides by zero"),
        ("shape = \"n\"", "shape = [\"n * 1000000000\", 1000000000]", "no memory"),
        ("shape = \"n\"", "shape = \"n * 9223372036854775807\"", "64 bits"),
        ("grid = 1", "grid = \"n - 9\"", "negative"),
        ("grid = 1", "grid = [1, 70000]", "at most 65535"),
        ("block = 32", "block = [32, 64]", "1 to 1024"),
        ("block = 32", "block = \"n - 8\"", "1 to 1024"),
        ("block = 32", "block = 32\nshared = 300000", "shared"),
        ("args = [\"x\"]", "args = [\"x + 9\"]", "beyond the end"),
        ("args = [\"x\"]", "args = [\"i8(n * 100)\"]", "does not fit i8"),
        ("args = [\"x\"]", "args = [\"?\"]", "argument 1"),
        ("dtype = \"f32\"\n", "", "elements"),
        ("shape = \"n\"\n", "", "how many"),
        ("dtype = \"f32\"", "dtype = \"f8\"", "generated"),
        ("dtype = \"f32\"", "dtype = \"i32\"\nlegal = [0, \"n - 9\"]", "empty"),
    ];
    let one = |text: &str| {
        let (contract, problems) = load(text);
        assert_eq!(problems, vec![], "{text}");
        let dims = [("n".to_owned(), 8)].into();
        contract.plans[0].concrete(&Cell::new(dims, Distribution::Normal, 0))
    };
    assert!(one(base).is_ok());
    for (from, to, part) in cases {
        let text = base.replace(from, to);
        assert_ne!(text, base);
        let error = one(&text).expect_err(&text);
        assert!(error.to_string().contains(part), "{text}: {error}");
        assert!(error.diagnostic().next.is_some());
        assert!(crate::diag::codes::entry(error.code()).is_some());
    }
}

#[test]
fn a_launch_of_no_blocks_runs_no_thread() {
    let text = "[dims.n]\nsamples = [8]\n[[step]]\nkernel = \"k\"\ngrid = \"ceil_div(n, 4)\"\nblock = 4\nargs = []\n";
    let dims = [("n".to_owned(), 0)].into();
    let c = load(text).0.plans[0].concrete(&Cell::new(dims, Distribution::Normal, 0));
    assert!(!c.unwrap().launches().next().unwrap().runs());
}

#[test]
fn the_covering_set_has_every_size_and_every_distribution() {
    let p = plan();
    let found = cells(&p, &Sampling::default());
    assert_eq!(found, cells(&p, &Sampling::default()));
    let of = |name: &str| found.cells.iter().filter_map(|c| c.dims.get(name)).copied().collect::<BTreeSet<i64>>();
    let n = of("n");
    // Samples, least, tile and its neighbours, all as multiples of 4.
    for v in [1024, 4096, 4, 256, 260] {
        assert!(n.contains(&v), "{v} in {n:?}");
    }
    assert!(n.iter().all(|v| (4..=65536).contains(v) && v % 4 == 0), "{n:?}");
    assert!(found.cells.iter().all(|c| c.dims["k"] <= c.dims["n"]));
    assert!(of("k").is_superset(&[0, 1, 64].into()), "{:?}", of("k"));
    let kinds: BTreeSet<Distribution> = found.cells.iter().map(|c| c.distribution).collect();
    assert!(kinds.contains(&Distribution::Skewed) && kinds.contains(&Distribution::Sparse));
    assert!(!kinds.contains(&Distribution::Infinite));
    assert_eq!(found.cells.iter().filter(|c| c.poison == 1).count(), 2);
    let seeds: BTreeSet<u64> = found.cells.iter().map(|c| c.seed).collect();
    assert_eq!(seeds.len(), 3);
    for c in &found.cells {
        p.concrete(c).unwrap_or_else(|e| panic!("{c:?}: {e}"));
    }
    let all = cells(&p, &Sampling { thorough: true, ..Sampling::default() });
    assert!(all.cells.len() >= 4 * n.len() * kinds.len(), "{}", all.cells.len());
}

#[test]
fn another_seed_gives_inputs_that_were_not_seen() {
    let p = plan();
    let of = |seed: u64| cells(&p, &Sampling { seed, ..Sampling::default() }).cells;
    let seeds = |cells: &[Cell]| cells.iter().map(|c| c.seed).collect::<BTreeSet<_>>();
    assert!(seeds(&of(1)).is_disjoint(&seeds(&of(2))));
    let sizes = |cells: &[Cell]| cells.iter().map(|c| c.dims["n"]).collect::<BTreeSet<_>>();
    assert!((2..9).any(|s| sizes(&of(s)) != sizes(&of(1))));
}

#[test]
fn what_is_left_out_is_named() {
    let p = plan();
    let found = cells(&p, &Sampling { max_bytes: Some(100_000), ..Sampling::default() });
    assert!(found.left_out.iter().any(|l| l.contains("bytes of buffers")), "{:?}", found.left_out);
    for c in &found.cells {
        assert!(p.concrete(c).unwrap().bytes() <= 100_000);
    }
    let never = load("[dims.n]\nsamples = []\nmin = 3\nmax = 3\ndivisible_by = 2\n").0.plans.remove(0);
    let found = cells(&never, &Sampling::default());
    assert!(found.cells.is_empty() && found.left_out.len() == 1);
}

fn program(text: &str) -> crate::ir::Program {
    let mut sources = Sources::default();
    let file = sources.add(SourceFile::new("k.cu", text));
    let unit = crate::syntax::cuda::parse_unit(file, sources.get(file), &Default::default());
    crate::ir::Program { units: vec![unit], complete: false }
}

#[test]
fn guarantees_become_assumptions_under_their_usual_ids() {
    let kernel = "__global__ void k(const float* a, float* b, int rows, int cols, int m) { b[0] = a[0]; }\n";
    let text = "\
noalias = true
[dims.r]
samples = [8]
min = 1
proposed = [\"min\"]
[dims.c]
samples = [8]
min = 4
max = 64
divisible_by = 4
[args.a]
role = \"in\"
dtype = \"f32\"
shape = \"r * c\"
align = 16
[args.b]
role = \"out\"
dtype = \"f32\"
shape = 1
[[step]]
kernel = \"k\"
grid = 1
block = 1
args = [\"a\", \"b\", \"i32(r)\", \"i32(c)\", \"i32(7)\"]
[permissions]
approximate = true
";
    let (contract, problems) = load(text);
    assert_eq!(problems, vec![]);
    let program = program(kernel);
    let k = program.function(program.kernels()[0]);
    let ids = |text: &str| {
        let all = load(text).0.all_assumptions(&program);
        assert_eq!(unbound(&program, &all), vec![]);
        all.of_function(k).iter().map(|a| a.id.clone()).collect::<BTreeSet<_>>()
    };
    let all = |own: &[&str]| -> BTreeSet<String> {
        let block = ["blockDim.x==1", "blockDim.y==1", "blockDim.z==1"];
        own.iter().chain(&block).map(|s| (*s).to_owned()).collect()
    };
    let expected = ["aligned(a,16)", "cols%4==0", "cols>=4", "cols<=64", "m==7", "noalias(a,b)", "permit(approximate)"];
    assert_eq!(ids(text), all(&expected));
    let by_hand = parse_assumption("cols % 4 == 0", None).unwrap();
    assert!(contract.all_assumptions(&program).of_function(k).iter().any(|a| a.id == by_hand.id));
    // A second launch that says otherwise takes back what only the first one says.
    let twice = text.replace("[permissions]", "[[step]]\nkernel = \"k\"\ngrid = 1\nblock = 1\nargs = [\"a\", \"a + 1\", \"i32(r)\", \"i32(c)\", \"i32(8)\"]\n[permissions]");
    let expected = ["aligned(a,16)", "cols%4==0", "cols>=4", "cols<=64", "permit(approximate)"];
    assert_eq!(ids(&twice), all(&expected));
    // So does a second plan with another block.
    let mut two = load(text).0;
    let mut other = two.plans[0].clone();
    for step in &mut other.steps {
        if let Step::Launch(l) = step {
            l.block = vec![Expr::Int(32)];
        }
    }
    two.plans.push(other);
    let both: BTreeSet<String> = two.all_assumptions(&program).of_function(k).iter().map(|a| a.id.clone()).collect();
    assert!(!both.iter().any(|id| id.starts_with("blockDim.x")) && both.contains("blockDim.y==1"), "{both:?}");
    // An axis of the block that varies, or that is only proposed, says nothing of itself.
    let says = |block: &str| ids(&text.replacen("block = 1", block, 1));
    assert!(says("block = [\"c\", 4]").is_superset(&["blockDim.y==4", "blockDim.z==1"].map(str::to_owned).into()));
    assert!(!says("block = [\"c\", 4]").iter().any(|id| id.starts_with("blockDim.x")));
    assert!(!says("block = 8\nproposed = [\"block\"]").iter().any(|id| id.starts_with("blockDim")));
}

#[test]
fn assumptions_that_say_nothing_are_named() {
    let program =
        program("__global__ void k(const float* x, int cols) { }\ntemplate <int N> __global__ void t() { }\n");
    let cases = [
        ("assume = [\"cols % 4 == 0\", \"N == 4\", \"blockDim.x == 256\", \"no_wrap\"]", None),
        ("assume = [\"colz % 4 == 0\"]", Some("write `cols`")),
        ("assume = [\"x % 4 == 0\"]", Some("`x`")),
        ("assume = [\"aligned(cols, 16)\"]", Some("`cols`")),
        ("assume = [\"threadIdx.x == 0\"]", Some("`threadIdx.x`")),
        ("[kernel.k]\nassume = [\"N == 4\"]", Some("`N`")),
        ("[kernel.kk]\nassume = [\"cols == 4\"]", Some("no kernel `kk`")),
    ];
    for (text, part) in cases {
        let (assumptions, problems) = from_toml(FileId(0), &SourceFile::new("c.toml", text));
        assert_eq!(problems, vec![]);
        let found = unbound(&program, &assumptions);
        assert_eq!(found.len(), usize::from(part.is_some()), "{text}: {found:?}");
        for d in found {
            let all = format!("{} {:?} {:?}", d.message, d.labels, d.next);
            assert!(all.contains(part.unwrap_or("")) && d.primary().is_some(), "{text}: {all}");
        }
    }
}
