//! Every fact that is called proved, against what the interpreter executes: no false alarm on the project's own kernels,
//! and no claim that is false goes unseen.
//!
//! Needs NVRTC. Without it the tests pass, unless `KOPT_REQUIRE_TIER1=1`.

mod cli_common;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use cli_common::Folder;
use kopt::compile::{Cache, CompileGate, CompileRequest, NoHeaders, Target, Toolchain, slice_for};
use kopt::facts::{Interval, Poly, Stated, analyse, macros_of};
use kopt::gate::selftest::CASES;
use kopt::honesty::{Book, Claim, Claims, Depth, Kind, Probe, Says, Shape, Study, Tally, Watch, Watches};
use kopt::ir::{AccessId, BarrierId, ExprId, Function, FunctionRef, LoopId, Program as Files, VarId};
use kopt::ptx::{Arguments, Launch, Memory, Options, Program, parse, run_observed};
use kopt::source::mask::MacroTable;
use kopt::source::{FileId, SourceFile, Sources};
use kopt::syntax::cuda::parse_unit;

fn compiler() -> Option<Toolchain> {
    let toolchain = Toolchain::find();
    let there = toolchain.nvrtc.is_some();
    assert!(there || std::env::var_os("KOPT_REQUIRE_TIER1").is_none(), "{}", toolchain.report());
    there.then_some(toolchain)
}

/// Runs `kopt gate honesty` on all files of a folder; gives what it says of them.
fn honesty(folder: &Folder, files: &[String], more: &str) -> serde_json::Value {
    let mut command = folder.command(env!("CARGO_BIN_EXE_kopt"));
    for name in ["KOPT_CACHE", "CUDA_HOME", "CUDA_PATH", "KOPT_NVRTC"] {
        match std::env::var_os(name) {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.args(["--format", "json", "gate", "honesty"]).args(more.split_whitespace()).args(files);
    let output = command.output().expect("kopt starts");
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}\n{text}\n{}", String::from_utf8_lossy(&output.stderr)))
}

/// The contradictions, with files and lines; empty where every claim held.
fn contradictions(said: &serde_json::Value) -> Vec<String> {
    let files = said["files"].as_array().expect("a list").iter();
    let kernels = files.flat_map(|f| f["kernels"].as_array().expect("a list"));
    kernels.flat_map(|k| k["contradictions"].as_array().expect("a list")).map(ToString::to_string).collect()
}

fn count_kernels(said: &serde_json::Value) -> usize {
    let files = said["files"].as_array().expect("a list");
    files.iter().map(|f| f["kernels"].as_array().map_or(0, Vec::len)).sum()
}

#[test]
fn claims_hold_on_kernels_at_the_edges_of_the_language() {
    if compiler().is_none() {
        return;
    }
    let folder = Folder::new(&[]);
    let mut files = vec![];
    for entry in std::fs::read_dir("tests/data/honesty").expect("a folder") {
        let path = entry.expect("a file").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        folder.put(&name, &std::fs::read(&path).expect("a file"));
        files.push(name);
    }
    files.sort();
    let said = honesty(&folder, &files, "--cells 3");
    assert!(contradictions(&said).is_empty(), "{}", contradictions(&said).join("\n"));
    // All of them ran, in full, and every kind of fact was looked at.
    for f in said["files"].as_array().expect("a list") {
        assert!(f["not_run"].as_array().is_some_and(Vec::is_empty), "{}: {}", f["file"], f["not_run"]);
        for k in f["kernels"].as_array().expect("a list") {
            assert_eq!(k["observed"], "full", "{}", k["kernel"]);
        }
    }
    for kind in Kind::ALL {
        let facts = said["kinds"][kind.word()]["facts"].as_u64().unwrap_or(0);
        assert!(facts > 0, "no {} was asserted: {}", kind.word(), said["kinds"]);
    }
}

#[test]
fn claims_hold_on_the_examples_of_skills_and_the_originals_of_the_self_test() {
    if compiler().is_none() {
        return;
    }
    let folder = Folder::new(&[]);
    let mut files = vec![];
    let mut put = |name: String, text: &str| {
        folder.put(&name, text.as_bytes());
        files.push(name);
    };
    let library = kopt::skill::Library::built_in().expect("the built-in skills load");
    for skill in library.iter().map(|s| &s.skill) {
        for (n, e) in skill.examples.iter().enumerate() {
            put(format!("{}_{n}.cu", skill.name.node), &e.before.node);
        }
    }
    let originals: BTreeSet<&str> = CASES.iter().map(|c| c.original).collect();
    for (n, text) in originals.into_iter().enumerate() {
        put(format!("case_{n}.cu"), text);
    }
    let said = honesty(&folder, &files, "--cells 1 --accept-proposed --budget 1");
    assert!(contradictions(&said).is_empty(), "{}", contradictions(&said).join("\n"));
    assert!(count_kernels(&said) >= 10, "only {} kernels ran", count_kernels(&said));
}

const PLANTED: &str = "\
__global__ void k(float* x, float* y, int* c, int n) {
    __shared__ float tile[8][8];
    const int t = threadIdx.x;
    const int i = blockIdx.x * blockDim.x + t;
    unsigned row = t / 8, column = t % 8;
    for (int j = 0; j < 5; ++j) {
        y[i * 5 + j] = x[i + j] * n;
        if (i < n) c[j] = 1;
    }
    for (int j = 1; j < 4; ++j) x[t + j + 64] = x[t + j + 63];
    tile[row][column] = x[i];
    __syncthreads();
    float v = tile[column][row];
    if (t < 10) {
        __syncwarp(0x3ff);
        v += 1.0f;
    }
    y[i] = v;
    if (i < n && t > 3) atomicAdd(&c[t % 4], 1);
}
";

/// Threads come to the condition of a loop as often as they run it: together only where none of them leaves early.
#[test]
fn the_header_of_a_loop_is_reached_together_only_where_all_run_it_equally_often() {
    let cases = [
        ("for (int i = 0; i < x[n]; ++i) s += i;", false),
        ("for (int i = threadIdx.x; i < n + x[0] * 0; i += 32) s += i;", false),
        ("for (int i = 0; i < n; ++i) { if (s > x[1]) break; s += i; }", false),
        ("int i = 0; while (s + x[n] > 3 && i < n) { ++i; s -= i; }", false),
        ("for (int i = 0; i < n; ++i) s += x[i];", true),
        ("for (int i = 0; i < n; ++i) { if (s > x[1]) continue; s += i; }", true),
    ];
    for (body, together) in cases {
        let text = format!("__global__ void k(int* x, int n) {{ int s = 0; {body} x[threadIdx.x] = s; }}");
        let Planted { files, sources, at } = parsed(&text);
        let macros = macros_of(&files, &sources);
        let analysis = analyse(&files, &macros, at, &[]).expect("facts");
        let facts = &analysis.general;
        let f = facts.function;
        let bound = f.loops[0].induction.map(|i| i.bound);
        let header = f.loops[0].header_span;
        let inside = |e: &ExprId| header.contains(f.expr(*e).span);
        let bound = bound.or_else(|| f.accesses.iter().map(|a| a.expr).find(inside)).expect("a place in the header");
        let place = facts.walked.place(bound).expect("a place");
        assert_eq!(facts.together(&place.divergent).is_ok(), together, "{body}");
        for (id, state) in &facts.walked.accesses {
            if inside(&f.accesses[id.0 as usize].expr) {
                assert!(facts.together(&state.place.divergent).is_err(), "{body}");
            }
        }
    }
}

struct Planted {
    files: Files,
    sources: Sources,
    at: FunctionRef,
}

fn parsed(text: &str) -> Planted {
    let mut sources = Sources::default();
    let source = SourceFile::new("k.cu", text);
    let mut table = MacroTable::default();
    table.learn(&source.text);
    let unit = parse_unit(FileId(0), &source, &table);
    sources.add(source);
    let files = Files { units: vec![unit], complete: false };
    let at = files.kernels()[0];
    Planted { files, sources, at }
}

fn compiled(toolchain: Toolchain, text: &str) -> Program {
    let names = ["k".to_owned()];
    let slice = slice_for("k.cu", text, &Target::Name("k"), &NoHeaders, &names).expect("a slice");
    let gate = CompileGate::new(toolchain, Cache::none());
    let options = ["--relocatable-device-code=true".to_owned()];
    let request = CompileRequest { slice: &slice, names: names.to_vec(), arch: "sm_80", options: &options };
    let found = gate.compile(&request).expect("it compiles");
    parse(&found.ptx).and_then(|m| Program::decode(&m, &found.kernels[0].symbol)).expect("it decodes")
}

/// Runs the kernel once with two blocks of 64 threads; gives what became of the claims of each book.
fn watched(program: &Program, books: Vec<Arc<Book>>) -> Vec<Vec<Tally>> {
    let mut memory = Memory::with_limit(1 << 20);
    let mut buffer = |name: &str, bytes: u64| {
        let id = memory.allocate(name, bytes).expect("room");
        memory.write(id, 0, &vec![1; bytes as usize]).expect("room");
        memory.address(id).expect("an address")
    };
    let (x, y, c) = (buffer("x", 4 * 256), buffer("y", 4 * 640), buffer("c", 64));
    let params = Arguments::new().u64(x).u64(y).u64(c).i32(100).bytes();
    let launch = Launch { grid: [2, 1, 1], block: [64, 1, 1], dynamic_shared: 0, params };
    let shape = Shape { grid: launch.grid, block: launch.block };
    let watches = Arc::new(Mutex::new(Watches(books.into_iter().map(|b| Watch::new(b, shape)).collect())));
    let outcome = run_observed(program, &launch, &mut memory, &Options::default(), &*watches).expect("it runs");
    assert!(outcome.completed && outcome.findings.is_empty(), "{:?}", outcome.findings);
    let all = std::mem::take(&mut watches.lock().expect("no panic").0);
    let done = all.into_iter().map(|w| w.finish(true));
    done.inspect(|w| assert!(w.applies && w.overflowed.is_empty())).map(|w| w.tallies).collect()
}

fn more(p: &Poly, by: i128) -> Poly {
    p.offset(by).expect("a small polynomial")
}

fn moved(r: Interval) -> Interval {
    match (r.lo, r.hi) {
        (_, Some(hi)) => Interval::new(hi + 1, hi + 2),
        (Some(lo), _) => Interval::new(lo - 2, lo - 1),
        _ => r,
    }
}

/// What is false wherever `says` is true; `None` for what has no such twin.
fn falsified(says: &Says) -> Option<Says> {
    Some(match says.clone() {
        Says::Equals { value, modular } => Says::Equals { value: more(&value, 1), modular },
        Says::Within(r) => Says::Within(moved(r)),
        Says::Leaves { modulus, residue } => Says::Leaves { modulus, residue: (residue + 1) % modulus },
        Says::Type { bytes, unsigned } => Says::Type { bytes, unsigned: !unsigned },
        Says::Means(f) => Says::Means(f.negate()),
        Says::Decided(v) => Says::Decided(!v),
        Says::Known(Stated::Bound(a, r)) => Says::Known(Stated::Bound(a, moved(r))),
        Says::Known(Stated::Holds(f)) => Says::Known(Stated::Holds(f.negate())),
        Says::Known(Stated::Leaves(c)) => {
            let residue = (c.residue + 1) % c.modulus;
            Says::Known(Stated::Leaves(kopt::facts::Congruence { residue, ..c }))
        }
        Says::Address { root, offset } => Says::Address { root, offset: more(&offset, 4) },
        Says::OffsetWithin { root, range } => Says::OffsetWithin { root, range: moved(range) },
        Says::Width(bytes) => Says::Width(bytes + 4),
        Says::Aligned { bytes, always: false, first } => Says::Aligned { bytes, always: true, first },
        Says::Aligned { bytes, always: true, first } => Says::Aligned { bytes: (1 << 20) * bytes, always: true, first },
        Says::Stride { of, step } => Says::Stride { of, step: more(&step, 1) },
        Says::LaneStride { step } => Says::LaneStride { step: more(&step, -4) },
        Says::Trip { count, clamped } => Says::Trip { count: more(&count, 1), clamped },
        Says::BankDegree { tile, degree } => Says::BankDegree { tile, degree: degree - 1 },
        Says::Threads { axis, range } => Says::Threads { axis, range: moved(range) },
        Says::ThreadsDivide { by, always } => Says::ThreadsDivide { by, always: !always },
        Says::Known(Stated::OneOf(_))
        | Says::Uniform
        | Says::Together
        | Says::Once { .. }
        | Says::Movable { .. }
        | Says::Distinct(..)
        | Says::Unwritten(_) => return None,
    })
}

/// The number of the expression, access or loop that has this text.
fn expr(f: &Function, text: &str) -> ExprId {
    let hit = f.exprs.iter().position(|e| &PLANTED[e.span.range()] == text);
    ExprId(hit.unwrap_or_else(|| panic!("no `{text}`")) as u32)
}

fn access(f: &Function, text: &str) -> AccessId {
    let hit = f.accesses.iter().position(|a| &PLANTED[f.expr(a.expr).span.range()] == text);
    AccessId(hit.unwrap_or_else(|| panic!("no `{text}`")) as u32)
}

fn var(f: &Function, name: &str) -> VarId {
    VarId(f.vars.iter().position(|v| v.name == name).expect("a variable") as u32)
}

/// Claims that are false of the kernel, and that are not the opposite of one that is made.
fn lies(f: &Function) -> Vec<(Probe, Kind, Says)> {
    let write = access(f, "y[i * 5 + j]");
    let carried = access(f, "x[t + j + 63]");
    let read = access(f, "x[i]");
    vec![
        (Probe::Value(expr(f, "t % 8")), Kind::Range, Says::Within(Interval::new(0, 6))),
        (Probe::Value(expr(f, "t % 8")), Kind::Uniformity, Says::Uniform),
        (Probe::Value(expr(f, "t < 10")), Kind::Uniformity, Says::Uniform),
        (Probe::Access(access(f, "c[j]")), Kind::Reach, Says::Together),
        (Probe::Access(access(f, "c[j]")), Kind::Reach, Says::Once { of: LoopId(0) }),
        (Probe::Access(carried), Kind::Order, Says::Movable { of: LoopId(1) }),
        (Probe::Access(write), Kind::Alignment, Says::Aligned { bytes: 8, always: true, first: vec![] }),
        (Probe::Access(write), Kind::Alignment, Says::Aligned { bytes: 8, always: true, first: vec![LoopId(0)] }),
        (Probe::Access(write), Kind::Stride, Says::Stride { of: LoopId(0), step: Poly::constant(20) }),
        (Probe::Access(write), Kind::Stride, Says::LaneStride { step: Poly::constant(4) }),
        (Probe::Access(read), Kind::Address, Says::OffsetWithin { root: var(f, "x"), range: Interval::new(0, 504) }),
        (Probe::Access(read), Kind::Address, Says::Address { root: var(f, "y"), offset: Poly::zero() }),
        (Probe::Started, Kind::Aliasing, Says::Unwritten(var(f, "y"))),
        (Probe::Started, Kind::Aliasing, Says::Unwritten(var(f, "c"))),
        (Probe::Enter(LoopId(0)), Kind::Trip, Says::Trip { count: Poly::constant(4), clamped: true }),
    ]
}

fn with(claims: &Claims, change: impl Fn(&Claim) -> Option<Says>, more: Vec<Claim>) -> Claims {
    let changed = claims.claims.iter().map(|c| Claim { says: change(c).unwrap_or(c.says.clone()), ..c.clone() });
    Claims { claims: changed.chain(more).collect(), ..claims.clone() }
}

#[test]
fn a_claim_that_is_false_is_seen_and_a_true_one_is_not_accused() {
    let Some(toolchain) = compiler() else { return };
    let Planted { files, sources, at } = parsed(PLANTED);
    let macros = macros_of(&files, &sources);
    let study = Study::of(&files, &macros, at, &[]).expect("facts");
    let f = study.function();
    let text = study.instrument(PLANTED, Depth::Full).expect("a text");
    let truth = &study.claims[0];
    let span = f.name_span;
    let planted: Vec<Claim> =
        lies(f).into_iter().map(|(at, kind, says)| Claim { at, kind, says, assumed: vec![], span }).collect();
    let honest = truth.claims.len();
    let false_twins = with(truth, |c| falsified(&c.says), vec![]);
    let books = [truth.clone(), with(truth, |_| None, planted.clone()), false_twins];
    let books = books.map(|c| Arc::new(Book::new(c, f, &text.probes))).to_vec();
    let tallies = watched(&compiled(toolchain, &text.text), books);
    let mut by_kind: BTreeMap<Kind, u32> = BTreeMap::new();
    for (claim, t) in truth.claims.iter().zip(&tallies[0]) {
        assert_eq!(t.failed, 0, "{claim:?} {t:?}");
        *by_kind.entry(claim.kind).or_default() += u32::from(t.asserted > 0);
    }
    for (claim, t) in planted.iter().zip(&tallies[1][honest..]) {
        assert!(t.failed > 0, "{claim:?} {t:?}");
    }
    for ((claim, before), after) in truth.claims.iter().zip(&tallies[0]).zip(&tallies[2]) {
        let own =
            matches!(&claim.says, Says::Equals { value, .. } if value.as_atom().is_some_and(|a| a.serial().is_some()));
        let twin = falsified(&claim.says).filter(|says| *says != claim.says && !own);
        assert!(twin.is_none() || before.asserted == 0 || after.failed > 0, "{claim:?} as {twin:?}: {after:?}");
    }
    assert!(by_kind.values().filter(|n| **n > 0).count() >= 12, "{by_kind:?}");
    assert!(matches!(&truth.claims.iter().find(|c| c.at == Probe::Barrier(BarrierId(0))), Some(c) if c.is_proved()));
}
