//! The registry against the skills that stand in the repository, and questions in both directions.

use super::*;
use crate::contract::{Assumption, parse_assumption};
use crate::facts::{analyse, macros_of};
use crate::ir::{AccessId, Anchor, FunctionRef, Place, Program, ReductionId, TileId};
use crate::source::{FileId, SourceFile, Sources};

/// `yes`, `no: ..`, a value, or `unknown`, with the assumptions that it rests on.
fn show(a: &Answer) -> String {
    match a {
        Answer::Unknown { .. } => "unknown".into(),
        Answer::Known { value, because, .. } => {
            let value = match value {
                Value::Bool(v) => v.to_string(),
                Value::Int(n) => n.poly.as_constant().map_or("expression".into(), |c| c.to_string()),
                Value::Symbol(s) => s.clone(),
                Value::DType(s) => s.name().into(),
                other => format!("{other:?}"),
            };
            let ids = because.contract_assumptions();
            if ids.is_empty() { value } else { format!("{value} assumed {}", ids.join(" ")) }
        }
    }
}

fn ask(text: &str, assume: &[&str], name: &str, place: Place, more: &[Value]) -> String {
    run(text, assume, |analysis, kernel| {
        let anchor = |place| Value::Anchor(Anchor { function: kernel, place, span: analysis.general.function.span });
        let mut args = vec![];
        if place != Place::Kernel {
            args.push(anchor(place));
        }
        args.extend(more.iter().cloned());
        show(&everywhere(analysis, |_, facts| {
            registry().eval(name, &Query { facts, args: &args, keywords: &[], together: &[], brief: false })
        }))
    })
}

fn run(text: &str, assume: &[&str], act: impl Fn(&Analysis, FunctionRef) -> String) -> String {
    let mut sources = Sources::default();
    let source = SourceFile::new("k.cu", text);
    let mut table = crate::source::mask::MacroTable::default();
    table.learn(&source.text);
    let unit = crate::syntax::cuda::parse_unit(FileId(0), &source, &table);
    sources.add(source);
    let program = Program { units: vec![unit], complete: text.contains("main(") };
    let macros = macros_of(&program, &sources);
    let kernel = program.kernels()[0];
    let list: Vec<Assumption> = assume.iter().map(|a| parse_assumption(a, None).unwrap()).collect();
    let refs: Vec<&Assumption> = list.iter().collect();
    act(&analyse(&program, &macros, kernel, &refs).unwrap(), kernel)
}

#[test]
fn every_name_that_a_skill_uses_is_served() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("skills");
    let mut seen = 0;
    for dir in std::fs::read_dir(root).unwrap().flatten().filter(|d| d.path().is_dir()) {
        for file in std::fs::read_dir(dir.path()).unwrap().flatten() {
            if file.path().extension().is_some_and(|e| e == "skill") {
                let text = std::fs::read_to_string(file.path()).unwrap();
                let parsed = crate::skill::parse(FileId(0), &text);
                if let Some(skill) = &parsed.skill {
                    let problems = crate::skill::check(skill, registry(), None);
                    assert!(problems.is_empty(), "{:?}: {problems:#?}", file.path());
                    seen += 1;
                }
            }
        }
    }
    assert!(seen >= 4);
}

const TRANSPOSE: &str = "__global__ void k(const float* x, float* y, int n) {
  __shared__ float t[32][32];
  t[threadIdx.y][threadIdx.x] = x[threadIdx.y * n + threadIdx.x];
  __syncthreads();
  y[threadIdx.y * n + threadIdx.x] = t[threadIdx.x][threadIdx.y];
}";
const SHAPE: &[&str] = &["blockDim.x == 32", "blockDim.y == 32", "blockDim.z == 1"];
const SHAPED: &str = " assumed blockDim.x==32 blockDim.y==32 blockDim.z==1";

#[test]
fn shared_tiles() {
    let t = Place::Tile(TileId(0));
    let one = [Value::int(1)];
    assert_eq!(ask(TRANSPOSE, &[], "rank", t, &[]), "2");
    assert_eq!(ask(TRANSPOSE, &[], "rows", t, &[]), "32");
    assert_eq!(ask(TRANSPOSE, &[], "row_bytes", t, &[]), "128");
    assert_eq!(ask(TRANSPOSE, &[], "widest_access", t, &[]), "4");
    assert_eq!(ask(TRANSPOSE, &[], "only_subscripted", t, &[]), "true");
    assert_eq!(ask(TRANSPOSE, &[], "shared_bytes", Place::Kernel, &[]), "4096");
    assert_eq!(ask(TRANSPOSE, &[], "bank_degree", t, &[]), "unknown");
    assert_eq!(ask(TRANSPOSE, SHAPE, "bank_degree", t, &[]), format!("32{SHAPED}"));
    assert_eq!(ask(TRANSPOSE, SHAPE, "bank_degree_padded", t, &one), format!("1{SHAPED}"));
    assert_eq!(ask(TRANSPOSE, &[], "in_extents", t, &[]), "unknown");
    assert_eq!(ask(TRANSPOSE, SHAPE, "in_extents", t, &[]), "true assumed blockDim.x==32 blockDim.y==32");
    let wide = ["blockDim.x == 64", "blockDim.y == 16", "blockDim.z == 1"];
    assert_eq!(ask(TRANSPOSE, &wide, "in_extents", t, &[]), "unknown");
    for other in [
        "float* p = &t[0][0]; y[0] = *p;",
        "float (*p)[32] = t; y[0] = p[0][1];",
        "y[0] = t[0][5] + (*t)[3];",
        "y[0] = ((float*)t)[5];",
        "y[0] = reinterpret_cast<float4*>(&t[0][0])[1].x;",
        "y[0] = sizeof(t);",
        "use(t);",
        "use(t[1]);",
        "auto f = [&] { return t[0][1]; }; y[0] = f();",
        "float& r = t[1][2]; r = 3;",
    ] {
        let text = TRANSPOSE.replace("__syncthreads();", &format!("__syncthreads(); {other}"));
        assert_ne!(ask(&text, &[], "only_subscripted", t, &[]), "true", "{other}");
        assert_eq!(ask(&text, SHAPE, "bank_degree", t, &[]), "unknown", "{other}");
    }
}

const TREE: &str = "__global__ void k(const float* x, float* y, int n) {
  __shared__ float sm[256];
  int t = threadIdx.x;
  sm[t] = x[t];
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) { if (t < s) sm[t] += sm[t + s]; __syncthreads(); }
  if (t == 0) y[blockIdx.x] = sm[0];
}";

#[test]
fn trees() {
    let r = Place::Reduction(ReductionId(0));
    let size = ["blockDim.x == 256"];
    let sure = |name: &str, text: &str| ask(text, &size, name, r, &[]).split(' ').next().unwrap().to_owned();
    for name in ["lane_is_thread", "halving", "only_first_read", "barrier_each_step", "uniform"] {
        assert_eq!(sure(name, TREE), "true", "{name}");
    }
    assert_eq!(ask(TREE, &[], "op", r, &[]), "add");
    for shape in [&[][..], &["blockDim.x == 96"]] {
        assert_eq!(ask(TREE, shape, "halving", r, &[]).split(' ').next(), Some("true"), "any start halves: {shape:?}");
        assert_eq!(ask(TREE, shape, "spans_warp", r, &[]).split(' ').next(), Some("true"), "{shape:?}");
    }
    assert_eq!(sure("nothing_else", TREE), "true");
    for (name, from, to) in [
        ("lane_is_thread", "int t = threadIdx.x;", "int t = threadIdx.x + 1;"),
        ("lane_is_thread", "int t = threadIdx.x;", "int t = threadIdx.y;"),
        ("lane_is_thread", "int t = threadIdx.x;", "int t = threadIdx.x; t ^= 1;"),
        ("halving", "s >>= 1", "s >>= 0"),
        ("halving", "s >>= 1", "s /= 1"),
        ("halving", "s >>= 1", "s -= 1"),
        ("halving", "s > 0;", "s > 1;"),
        ("spans_warp", "blockDim.x / 2;", "8;"),
        ("spans_warp", "blockDim.x / 2;", "n;"),
        ("nothing_else", "sm[t] += sm[t + s];", "{ sm[t] += sm[t + s]; y[t] = 1.f; }"),
        ("nothing_else", "sm[t] += sm[t + s];", "sm[t] += sm[t + s] * s;"),
        ("nothing_else", "__syncthreads(); }", "__syncthreads(); if (t == 9) sm[t] = 0.f; }"),
        ("only_first_read", "= sm[0];", "= sm[1];"),
        ("only_first_read", "if (t == 0) y[blockIdx.x] = sm[0];", "y[t] = sm[t];"),
        ("only_first_read", "if (t == 0) y[blockIdx.x] = sm[0];", "y[t] = sm[n];"),
        ("only_first_read", "= sm[0];", "= sm[0]; float* p = sm; y[1] = p[3];"),
        ("uniform", "__syncthreads();\n  for", "if (t >= n) return; __syncthreads();\n  for"),
        ("uniform", "blockDim.x / 2;", "t / 2;"),
    ] {
        let text = TREE.replace(from, to);
        assert_ne!(text, TREE);
        assert_ne!(sure(name, &text), "true", "{name}: {to}");
    }
}

fn alignment_guard(text: &str, what: &str, assume: &[&str]) -> String {
    run(text, assume, |analysis, kernel| {
        let facts = &analysis.general;
        let f = facts.function;
        let mut hits = f.accesses.iter().enumerate().filter(|(_, a)| &text[f.expr(a.expr).span.range()] == what);
        // The last of that text: the fallback arm where there is one.
        let (id, a) = hits.next_back().unwrap();
        let anchor = |place| Value::Anchor(Anchor { function: kernel, place, span: f.span });
        let keywords: Vec<_> =
            a.loops.iter().map(|k| (anchor(Place::Loop(*k)), Value::Symbol("first".into()))).collect();
        let args = [anchor(Place::Access(AccessId(id as u32)))];
        let address =
            registry().eval("address", &Query { facts, args: &args, keywords: &keywords, together: &[], brief: false });
        let Answer::Known { value, .. } = address else { return "no address".into() };
        let args = [value, Value::int(16), Value::Symbol("all rows".into())];
        let query = Query { facts, args: &args, keywords: &[], together: &[], brief: false };
        let Guard::Code(emit) = registry().get("aligned").unwrap().guard else { return "no guard".into() };
        match emit(&query) {
            Ok(code) => code.text,
            Err(why) => format!("no: {why}"),
        }
    })
}

#[test]
fn alignment_guards_test_base_and_pitch() {
    let text = "__global__ void k(const float* x, float* y, int cols) { const float* r = x + (size_t)blockIdx.x * cols;
      for (int c = 0; c < cols; ++c) y[0] += r[c]; }";
    let full = "(reinterpret_cast<size_t>(x) & 15) == 0 && cols % 4 == 0";
    assert_eq!(alignment_guard(text, "r[c]", &[]), full);
    assert_eq!(alignment_guard(text, "r[c]", &["cols % 4 == 0"]), "(reinterpret_cast<size_t>(x) & 15) == 0");
    let thread = text.replace("int c = 0", "int c = threadIdx.x");
    assert!(alignment_guard(&thread, "r[c]", &[]).starts_with("no: `4*threadIdx.x` differs"));
    let changed = text.replace("const float* r", "cols += 1; const float* r");
    assert!(alignment_guard(&changed, "r[c]", &[]).starts_with("no:"), "{}", alignment_guard(&changed, "r[c]", &[]));
}

#[test]
fn the_fallback_arm_of_a_guard_is_not_guarded_again() {
    let loop_text = "for (int c = 0; c < cols; ++c) y[0] += r[c];";
    let arms = format!(
        "__global__ void k(const float* x, float* y, int cols) {{ const float* r = x + (size_t)blockIdx.x * cols;
      if ((reinterpret_cast<size_t>(x) & 15) == 0 && cols % 4 == 0) {{ y[0] = 1; }} else {{ {loop_text} }} }}"
    );
    let got = alignment_guard(&arms, "r[c]", &[]);
    assert!(got.starts_with("no: this is already the arm"), "{got}");
    let single = arms.replace("(reinterpret_cast<size_t>(x) & 15) == 0 && cols", "cols");
    assert!(alignment_guard(&single, "r[c]", &[]).starts_with("no: this is already the arm"));
}

#[test]
fn launch_shapes() {
    let text = "__global__ void k(float* y) { y[0] = 1; }\n";
    let one = [Value::int(32)];
    assert_eq!(ask(text, &[], "block_is_1d", Place::Kernel, &[]), "unknown");
    for (launch, threads, is_1d) in [
        ("k<<<4, 256>>>(p);", "256", "true"),
        ("dim3 b(32, 8); k<<<4, b>>>(p);", "256", "false"),
        ("const int T = 128; k<<<4, T>>>(p);", "128", "true"),
        ("int T = 128; k<<<4, T>>>(p); T = 64; k<<<4, T>>>(p);", "expression", "true"),
        ("dim3 b(32, 1); b.y = 2; k<<<4, b>>>(p);", "expression", "unknown"),
        ("dim3 b = dim3(64); k<<<4, b>>>(p);", "64", "true"),
        ("k<<<4, n>>>(p);", "expression", "true"),
        ("dim3 b(n, n); k<<<4, b>>>(p);", "expression", "unknown"),
        ("dim3 b(32); change(b); k<<<4, b>>>(p);", "expression", "unknown"),
    ] {
        let full = format!("{text}int main(int n, char**) {{ float* p; {launch} }}");
        assert_eq!(ask(&full, &[], "block_is_1d", Place::Kernel, &[]), is_1d, "{launch}");
        let got = ask(&full, &[], "block_threads", Place::Kernel, &[]);
        assert!(got == threads || threads == "expression" || got == "expression", "{launch}: {got}");
    }
    let full = format!("{text}int main() {{ float* p; k<<<4, 96>>>(p); }}");
    assert_eq!(ask(&full, &[], "block_is_multiple_of", Place::Kernel, &one), "true");
    let full = full.replace("96", "100");
    assert_eq!(ask(&full, &[], "block_is_multiple_of", Place::Kernel, &one), "false");
}

#[test]
fn answers_about_nothing_are_unknown() {
    for p in registry().iter() {
        let text = "__global__ void k(float* y) { y[0] = 1; }";
        let got = run(text, &[], |analysis, _| {
            show(&(p.eval)(&Query { facts: &analysis.general, args: &[], keywords: &[], together: &[], brief: false }))
        });
        if !p.signature.params.is_empty() {
            assert_eq!(got, "unknown", "{}", p.name);
        }
        assert!(!p.explain.is_empty() && p.signature.has_guard == !matches!(p.guard, Guard::None), "{}", p.name);
    }
}

/// Every predicate on every anchor of `text`; the answers do not matter.
fn ask_everything(text: &str) -> usize {
    let mut sources = Sources::default();
    let source = SourceFile::new("k.cu", text);
    let mut table = crate::source::mask::MacroTable::default();
    table.learn(&source.text);
    let unit = crate::syntax::cuda::parse_unit(FileId(0), &source, &table);
    sources.add(source);
    let program = Program { units: vec![unit], complete: false };
    let macros = macros_of(&program, &sources);
    let mut asked = 0;
    for f in &program.units[0].functions {
        let function = FunctionRef { unit: 0, function: f.id };
        let Some(analysis) = analyse(&program, &macros, function, &[]) else { continue };
        let mut places = vec![Place::Kernel];
        places.extend(f.params.iter().map(|p| Place::Parameter(*p)));
        places.extend((0..f.accesses.len()).map(|i| Place::Access(AccessId(i as u32))));
        places.extend((0..f.loops.len()).map(|i| Place::Loop(crate::ir::LoopId(i as u32))));
        places.extend((0..f.tiles.len()).map(|i| Place::Tile(TileId(i as u32))));
        places.extend((0..f.reductions.len()).map(|i| Place::Reduction(ReductionId(i as u32))));
        places.extend((0..f.barriers.len()).map(|i| Place::Barrier(crate::ir::BarrierId(i as u32))));
        places.extend((0..f.exprs.len()).map(|i| Place::Expr(crate::ir::ExprId(i as u32))));
        let anchor = |place| Value::Anchor(Anchor { function, place, span: f.span });
        let loops: Vec<Value> = places.iter().filter(|p| matches!(p, Place::Loop(_))).map(|p| anchor(*p)).collect();
        for place in &places {
            let second = loops.first().cloned().unwrap_or(Value::int(1));
            let keywords = [(second.clone(), Value::Symbol("first".into()))];
            let args = [anchor(*place), second];
            for p in registry().iter() {
                let query =
                    Query { facts: &analysis.general, args: &args, keywords: &keywords, together: &[], brief: false };
                let answer = (p.eval)(&query);
                if let (Answer::Known { value: value @ Value::Address(_), .. }, Some(aligned)) =
                    (&answer, registry().get("aligned"))
                {
                    let args = [value.clone(), Value::int(16)];
                    let query =
                        Query { facts: &analysis.general, args: &args, keywords: &[], together: &[], brief: false };
                    (aligned.eval)(&query);
                }
                asked += 1;
            }
        }
    }
    asked
}

#[test]
fn broken_text_does_not_panic() {
    let mut asked = 0;
    for text in [TRANSPOSE, TREE] {
        for end in (0..text.len()).step_by(5) {
            asked += ask_everything(&text[..end]);
            asked += ask_everything(&format!("{}{}", &text[..end], &text[(end + 3).min(text.len())..]));
        }
    }
    assert!(asked > 10_000);
}

#[test]
fn long_and_deep_text_is_read_in_bounded_time() {
    let sum =
        (0..400).map(|i| format!("a = a * n + b{}; if (a > {i}) {{ x[a + {i}] = a; }} ", i % 3)).collect::<String>();
    let long = format!("__global__ void k(float* x, int n, int b0, int b1, int b2) {{ int a = n; {sum} }}");
    let deep = format!(
        "__global__ void k(float* x, int n) {{ {} x[n] = 1; {} }}",
        "if (n > 3) {".repeat(150),
        "}".repeat(150)
    );
    let wide = format!("__global__ void k(float* x, int n) {{ x[{}n] = 1; }}", "(n + 1) * ".repeat(120));
    let loops = format!(
        "__global__ void k(float* x, int n) {{ int a = 0; {} x[a] = 1; {} }}",
        (0..30).map(|i| format!("for (int i{i} = 0; i{i} < n; ++i{i}) {{ a += 2;")).collect::<String>(),
        "}".repeat(30)
    );
    let start = std::time::Instant::now();
    for text in [&long, &deep, &wide, &loops] {
        assert!(
            run(text, &[], |analysis, _| analysis.general.walked.events.len().to_string()).parse::<usize>().is_ok()
        );
    }
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}
