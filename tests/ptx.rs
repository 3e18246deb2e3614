//! The PTX interpreter: planted defects with their repaired twins, kernels with known results, hand-written PTX.
//!
//! What needs NVRTC says so when there is none, and fails then if `KOPT_REQUIRE_TIER1=1`.

#[path = "ptx/harness.rs"]
mod harness;
#[path = "ptx/reference.rs"]
mod reference;
#[path = "ptx/widened.rs"]
mod widened;

use harness::{Case, found};
use kopt::compile::{Cache, CompileGate, CompileRequest, NoHeaders, Target, Toolchain, slice};
use kopt::ptx::{Arguments, Class, Kind, Launch, Memory, Mode, Options, Program, PtxError, Schedule, parse};

fn gate() -> Option<CompileGate> {
    let toolchain = Toolchain::find();
    if toolchain.nvrtc.is_none() {
        assert!(std::env::var_os("KOPT_REQUIRE_TIER1").is_none(), "{}", toolchain.report());
        println!("tier 1: not run (no NVRTC; kopt toolchain install)");
        return None;
    }
    Some(CompileGate::new(toolchain, Cache::none()))
}

fn compile(gate: &CompileGate, text: &str, kernel: &str, arch: &str) -> Program {
    let cut = slice("user.cu", text, &Target::Name(kernel), &NoHeaders).unwrap_or_else(|e| panic!("{kernel}: {e}"));
    let request = CompileRequest { slice: &cut, names: vec![], arch, options: &[] };
    let compiled = gate.compile(&request).unwrap_or_else(|e| panic!("{kernel}: {e}"));
    let module = parse(&compiled.ptx).unwrap_or_else(|e| panic!("{kernel}: {e}"));
    Program::decode(&module, kernel).unwrap_or_else(|e| panic!("{kernel}: {e}"))
}

const CHECKED: Options = Options {
    mode: Mode::Exact,
    checks: true,
    counters: true,
    threads: 1,
    order: 0,
    limits: kopt::ptx::Limits {
        block_steps: 1 << 24,
        steps: 1 << 34,
        print_bytes: 1 << 20,
        stack_bytes: 512 << 10,
        shared_bytes: 227 << 10,
        state_bytes: 4 << 30,
    },
};

#[test]
fn every_planted_defect_is_found_at_its_line_and_its_twin_is_clean() {
    let Some(gate) = gate() else { return };
    let mut files: Vec<_> = std::fs::read_dir("tests/data/ptx/defects").unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 30, "{} files", files.len());
    let mut wrong = vec![];
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let case = Case::read(&text);
        assert!(!case.marks.is_empty(), "{}: no mark", file.display());
        for kernel in ["broken", "repaired"] {
            let program = compile(&gate, &text, kernel, "sm_80");
            let mut expected = if kernel == "broken" { case.marks.clone() } else { vec![] };
            expected.sort();
            let (_, outcome) = case.run(&program, CHECKED);
            let findings = found(&program, &outcome);
            if findings != expected {
                wrong.push(format!("{} {kernel}: {findings:?}, expected {expected:?}", file.display()));
            }
            // In another order a defect may show at another line; a twin is clean in every order.
            for order in 1..4 {
                let (_, outcome) = case.run(&program, Options { order, ..CHECKED });
                let findings = found(&program, &outcome);
                if findings.is_empty() != expected.is_empty() {
                    wrong.push(format!("{} {kernel}, order {order}: {findings:?}", file.display()));
                }
            }
            // Neither the findings nor the counters depend on the number of threads.
            let (_, again) = case.run(&program, Options { threads: 3, ..CHECKED });
            assert!(outcome == again, "{} {kernel}: another outcome with three threads", file.display());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A kernel whose buffer `out` must hold known values.
fn check_values(name: &str, expected: impl Fn(usize) -> f32, tolerance: f32) -> Option<(Program, Case)> {
    let gate = gate()?;
    let text = std::fs::read_to_string(format!("tests/data/ptx/kernels/{name}.cu")).unwrap();
    let case = Case::read(&text);
    let program = compile(&gate, &text, name, "sm_80");
    let (memory, plain) = case.run(&program, Options::default());
    assert!(plain.completed);
    let values = case.floats(&memory, "out");
    for (i, value) in values.iter().enumerate() {
        let wanted = expected(i);
        assert!((value - wanted).abs() <= tolerance * wanted.abs().max(1.0), "{name}[{i}]: {value}, expected {wanted}");
    }
    for (checks, threads) in [(false, 2), (true, 1), (true, 4)] {
        let (again, outcome) = case.run(&program, Options { checks, counters: checks, threads, ..Options::default() });
        assert_eq!(case.floats(&again, "out"), values, "{name} with {threads} threads, checks {checks}");
        assert_eq!(found(&program, &outcome), [], "{name}");
    }
    Some((program, case))
}

#[test]
fn vector_add() {
    check_values("vector_add", |i| 3.0 * i as f32, 0.0);
}

#[test]
fn block_reduction_with_shuffles() {
    check_values("block_sum", |b| (0..4096).filter(|i| i / 256 % 4 == b).map(|i| i as f32).sum(), 0.0);
}

#[test]
fn row_softmax() {
    let exact = |i: usize| {
        let (row, column) = (i / 100, i % 100);
        let value = |c: usize| ((row * 100 + c) % 7) as f64;
        let sum: f64 = (0..100).map(|c| value(c).exp()).sum();
        (value(column).exp() / sum) as f32
    };
    check_values("softmax", exact, 1e-5);
}

#[test]
fn tiled_matrix_product_and_its_counters() {
    let element = |i: usize, add: usize| ((i * 7 + add) % 13) as f32;
    let product = |i: usize| (0..64).map(|k| element(i / 64 * 64 + k, 0) * element(64 * k + i % 64, 1)).sum();
    let Some((program, case)) = check_values("sgemm", product, 0.0) else { return };
    let (_, outcome) = case.run(&program, CHECKED);
    let total = outcome.counters.unwrap().total;
    // 64^3 products; 16 blocks of 4 tiles, 8 warps, 2 loads each of two rows of 64 bytes.
    assert_eq!(total.flops, 2 * 64 * 64 * 64);
    assert_eq!(total.class(Class::GlobalLoad), 16 * 4 * 8 * 2);
    assert_eq!(total.sectors_per_request(), 4.0);
    assert_eq!(total.shared_wavefronts, total.shared_requests);
    assert_eq!(outcome.schedule, Schedule::Independent);
}

#[test]
fn a_matrix_product_on_tensor_cores() {
    // Small integers: exact in every order of summation.
    let a = |r: usize, k: usize| ((r * 16 + k) % 5) as f32;
    let b = |k: usize, c: usize| ((k * 16 + c) % 3) as f32;
    check_values("wmma_tile", |i| (0..16).map(|k| a(i / 16, k) * b(k, i % 16)).sum(), 0.0);
}

#[test]
fn recursion_calls_and_printf() {
    let Some((program, case)) = check_values("recursion", |i| (1..=i as u64 % 8).product::<u64>() as f32, 0.0) else {
        return;
    };
    let (_, outcome) = case.run(&program, Options::default());
    assert_eq!(outcome.prints, ["thread 5:   120 | 1.500e+00 | 2a\n"]);
}

#[test]
fn modes_carry_more_or_less_precision() {
    let Some(gate) = gate() else { return };
    let text = std::fs::read_to_string("tests/data/ptx/kernels/harmonic.cu").unwrap();
    let case = Case::read(&text);
    let program = compile(&gate, &text, "harmonic", "sm_80");
    let sum = |mode| {
        let (memory, _) = case.run(&program, Options { mode, ..Options::default() });
        f64::from(case.floats(&memory, "out")[0])
    };
    let truth: f64 = (1..=10_000).map(|k| 1.0 / f64::from(k)).sum();
    let error = |mode| (sum(mode) - truth).abs() / truth;
    let (exact, wide, lower) = (error(Mode::Exact), error(Mode::Float64), error(Mode::Lower));
    assert!(wide < 1e-7 && exact > 3e-7 && exact < 1e-4 && lower > 1e-2, "{wide} {exact} {lower}");
}

const HEADER: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

/// A kernel `k(u64 out)` of one statement list; gives the first word of `out`.
fn evaluate(body: &str) -> Result<u32, PtxError> {
    let text = format!(
        "{HEADER}.visible .entry k(.param .u64 o) {{ .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; \
         .reg .b64 %d<9>;\nld.param.u64 %d8, [o];\n{body}\nst.global.b32 [%d8], %r0;\nret; }}"
    );
    let program = Program::decode(&parse(&text)?, "k")?;
    let mut memory = Memory::new();
    let out = memory.allocate("out", 256)?;
    let params = Arguments::new().u64(memory.address(out)?).bytes();
    let launch = Launch { grid: [1; 3], block: [1; 3], dynamic_shared: 0, params };
    kopt::ptx::run(&program, &launch, &mut memory, &Options::default())?;
    Ok(u32::from_le_bytes(memory.read(out, 0, 4)?.try_into().unwrap()))
}

#[test]
fn instructions_by_hand() {
    let cases: &[(&str, u32)] = &[
        ("mov.u32 %r0, 7; add.s32 %r0, %r0, -9;", -2i32 as u32),
        ("mov.u32 %r1, -7; div.s32 %r0, %r1, 2;", -3i32 as u32),
        ("mov.u32 %r1, -7; shr.s32 %r0, %r1, 40;", u32::MAX),
        ("mov.u32 %r1, 1; shl.b32 %r0, %r1, 32;", 0),
        ("mov.b32 %r1, 0f3F800000; fma.rn.f32 %r0, %r1, 0f40000000, %r1;", 3.0f32.to_bits()),
        ("mov.u32 %r1, 0x12345678; mov.b32 {%h1, %h2}, %r1; mov.b32 %r0, {%h2, %h1};", 0x5678_1234),
        ("mov.u64 %d1, 0x100000002; mov.b64 {%r1, %r0}, %d1;", 1),
        ("setp.lt.s32 %p1|%p2, -1, 1; selp.u32 %r0, 10, 20, %p2;", 20),
        ("setp.lt.u32 %p1, -1, 1; selp.u32 %r0, 10, 20, %p1;", 20),
        ("mov.u32 %r1, 5; cvt.rn.f32.u32 %r0, %r1;", 5.0f32.to_bits()),
        ("mov.u32 %r1, 0x80; cvt.s32.s8 %r0, %r1;", -128i32 as u32),
        ("add.cc.u32 %r1, -1, 1; addc.u32 %r0, 3, 4;", 8),
        ("lop3.b32 %r0, 12, 10, 9, 0x96;", 12 ^ 10 ^ 9),
        ("bfe.u32 %r0, 0xabcd, 4, 8;", 0xbc),
        // Addresses wrap: of 64 bits, and of 32 bits in shared memory.
        ("st.global.b32 [%d8], 7; add.s64 %d1, %d8, -1024; ld.global.b32 %r0, [%d1+1024];", 7),
        (
            "st.global.b32 [%d8], 7; mov.u64 %d1, 0x8000000000000000; add.s64 %d2, %d8, %d1; add.s64 %d2, %d2, %d1; \
             ld.global.b32 %r0, [%d2];",
            7,
        ),
        (".shared .align 4 .b32 s; st.shared.b32 [s], 7; mov.u32 %r1, 0xfffffff8; ld.shared.b32 %r0, [%r1+8];", 7),
        // Adding floats atomically flushes subnormals in global memory and keeps them in shared memory.
        ("st.global.b32 [%d8], 1; mov.b32 %r1, 2; red.global.add.f32 [%d8], %r1; ld.global.b32 %r0, [%d8];", 0),
        (
            ".shared .align 4 .b32 s; st.shared.b32 [s], 1; mov.b32 %r1, 2; red.shared.add.f32 [s], %r1; \
             ld.shared.b32 %r0, [s];",
            3,
        ),
        (
            ".shared .align 4 .b32 s; st.shared.b32 [s], 1; mov.b32 %r1, 0x80000003; cvta.shared.u64 %d1, s; \
             atom.add.f32 %r2, [%d1], %r1; ld.shared.b32 %r0, [s];",
            0x8000_0002,
        ),
        ("st.global.b32 [%d8], 0x80000001; atom.add.f32 %r2, [%d8], 0f00000000; ld.global.b32 %r0, [%d8];", 0),
        ("{ .reg .b32 %r0; mov.u32 %r0, 99; } mov.u32 %r0, 3;", 3),
        ("mov.u32 %r0, 0; L: add.u32 %r0, %r0, 1; setp.lt.u32 %p1, %r0, 50; @%p1 bra L;", 50),
        (
            "mov.u32 %r1, 1; ts: .branchtargets A, B; brx.idx %r1, ts; A: mov.u32 %r0, 4; bra C; B: mov.u32 %r0, 5; C:",
            5,
        ),
    ];
    for (body, expected) in cases {
        assert_eq!(evaluate(body).unwrap_or_else(|e| panic!("{body}: {e}")), *expected, "{body}");
    }
}

#[test]
fn what_is_not_modelled_is_refused_with_its_line() {
    let cases = [
        ("frobnicate.u32 %r0, 1;", "instruction `frobnicate.u32`"),
        ("add.sideways.u32 %r0, 1, 2;", "modifier `.sideways`"),
        ("mov.u32 %r0, %no_such;", "register `%no_such`"),
        ("wgmma.fence.sync.aligned;", "wgmma"),
        ("tex.1d.v4.f32.s32 {%r0, %r1, %r2, %r3}, [%d1, {%r4}];", "tex"),
        ("cp.async.bulk.commit_group;", "cp.async.bulk"),
    ];
    for (body, words) in cases {
        match evaluate(body) {
            Err(error @ PtxError::Unsupported { line: 6, .. }) => assert!(error.to_string().contains(words), "{error}"),
            other => panic!("{body}: {other:?}"),
        }
    }
    for body in ["bra Nowhere;", "add.u32 %r0, %d1, 1;", "add.u32 %r0, %undeclared, 1, 2;", "st.global.b32 [%p1], %r0;"]
    {
        assert!(evaluate(body).is_err(), "{body}");
    }
}

#[test]
fn launches_that_do_not_fit_are_refused() {
    let text = format!("{HEADER}.visible .entry k(.param .u64 o) .reqntid 64, 1, 1 {{ ret; }}");
    let program = Program::decode(&parse(&text).unwrap(), "k").unwrap();
    let good = Launch { grid: [1; 3], block: [64, 1, 1], dynamic_shared: 0, params: vec![0; 8] };
    let run = |launch: &Launch| kopt::ptx::run(&program, launch, &mut Memory::new(), &Options::default());
    assert!(run(&good).is_ok());
    let bad = [
        Launch { grid: [0, 1, 1], ..good.clone() },
        Launch { block: [32, 1, 1], ..good.clone() },
        Launch { block: [1 << 16, 1 << 16, 1], ..good.clone() },
        Launch { dynamic_shared: u32::MAX, ..good.clone() },
        Launch { params: vec![], ..good.clone() },
    ];
    for launch in bad {
        assert!(matches!(run(&launch), Err(PtxError::Launch(_))), "{launch:?}");
    }
    assert!(matches!(Memory::with_limit(100).allocate("a", 101), Err(PtxError::Limit(_))));
    assert!(matches!(Memory::new().allocate("a", u64::MAX), Err(PtxError::Limit(_))));
}

#[test]
fn any_text_is_parsed_and_decoded_or_refused() {
    let seed = format!(
        "{HEADER}.global .u32 g[4] = {{1, 2}}; .visible .entry k(.param .u64 o) {{ .reg .b32 %r<4>; .shared .b8 s[16];\n\
         {{ .reg .pred p; @p bra L; }} L: ld.global.v2.u32 {{%r1, %r2}}, [g+8]; st.shared.u32 [s], %r1; bar.sync 0; ret; }}"
    );
    let mut state = 1u64;
    let mut random = |n: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % n
    };
    for _ in 0..3000 {
        let mut bytes = seed.clone().into_bytes();
        for _ in 0..1 + random(6) {
            if bytes.is_empty() {
                break;
            }
            let at = random(bytes.len());
            match random(4) {
                0 => bytes[at] = b"{}[];,.:%@!-+<>()|=0x\"\n"[random(23)],
                1 => drop(bytes.remove(at)),
                2 => bytes.truncate(at.max(1)),
                _ => {
                    let piece = bytes[at..(at + random(40)).min(bytes.len())].to_vec();
                    bytes.splice(at..at, piece);
                }
            }
        }
        if let Ok(module) = parse(&String::from_utf8_lossy(&bytes)) {
            let names: Vec<String> = module.kernels().map(str::to_owned).collect();
            for name in names {
                let _ = Program::decode(&module, &name);
            }
        }
    }
    for text in ["{", "(", "[", ".entry k {", ".reg .b32 %r<", "/*", "\"", ".loc 1 2 3, inlined_at"] {
        let _ = parse(&text.repeat(20_000));
    }
}

#[test]
fn a_kernel_that_never_ends_or_prints_without_end_is_stopped() {
    let body = "L: bra L;";
    let text = format!("{HEADER}.visible .entry k(.param .u64 o) {{ {body} }}");
    let program = Program::decode(&parse(&text).unwrap(), "k").unwrap();
    let launch = Launch { grid: [1; 3], block: [64, 1, 1], dynamic_shared: 0, params: vec![0; 8] };
    let mut options = Options::default();
    options.limits.block_steps = 100_000;
    let outcome = kopt::ptx::run(&program, &launch, &mut Memory::new(), &options).unwrap();
    assert!(!outcome.completed);
    assert_eq!(outcome.findings.iter().map(|f| f.kind).collect::<Vec<_>>(), [Kind::EndlessLoop]);
}
