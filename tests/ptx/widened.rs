//! Loads of more bytes than the program uses, by hand: what the pragma says counts where the program bears it out.

use kopt::ptx::{Arguments, Kind, Launch, Memory, Options, Program, PtxError, parse, run};

const CHECKED: Options = Options {
    mode: kopt::ptx::Mode::Exact,
    checks: true,
    counters: true,
    threads: 1,
    order: 0,
    limits: kopt::ptx::Limits {
        block_steps: 1 << 16,
        steps: 1 << 20,
        print_bytes: 1 << 10,
        stack_bytes: 1 << 10,
        shared_bytes: 1 << 12,
        state_bytes: 1 << 24,
    },
};

fn decode(body: &str) -> Result<Program, PtxError> {
    let text = format!(
        ".version 8.8\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 o) {{ .reg .pred %p<9>; \
         .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %d<9>; .shared .align 16 .b8 s[12];\n\
         ld.param.u64 %d8, [o];\nmov.u32 %r0, 0;\n{body}\nret; }}"
    );
    Program::decode(&parse(&text)?, "k")
}

/// What one thread finds, given a buffer of so many zeros.
fn findings(body: &str, bytes: u64) -> Vec<Kind> {
    let program = decode(body).unwrap_or_else(|e| panic!("{body}: {e}"));
    let mut memory = Memory::new();
    let buffer = memory.allocate("buffer", bytes).unwrap();
    memory.write(buffer, 0, &vec![0; bytes as usize]).unwrap();
    let params = Arguments::new().u64(memory.address(buffer).unwrap()).bytes();
    let launch = Launch { grid: [1; 3], block: [1; 3], dynamic_shared: 0, params };
    let outcome = run(&program, &launch, &mut memory, &CHECKED).unwrap_or_else(|e| panic!("{body}: {e}"));
    outcome.findings.iter().map(|f| f.kind).collect()
}

#[test]
fn bytes_that_nobody_uses_are_not_checked_and_all_others_are() {
    const LOAD: &str = "ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%d8];";
    const SHARED: &str = "ld.shared.v4.b32 {%r1, %r2, %r3, %r4}, [s];";
    const OUT: &[Kind] = &[Kind::OutOfBounds];
    let with = |mask: &str, rest: &str| format!(".pragma \"used_bytes_mask {mask}\";\n{rest}");
    type Case = (String, u64, &'static [Kind]);
    let cases: &[Case] = &[
        (with("4095", &format!("{LOAD} add.u32 %r0, %r1, %r3;")), 12, &[]),
        (with("0xfff", &format!("{LOAD} add.u32 %r0, %r1, %r3;")), 12, &[]),
        (with("4095", &format!("{LOAD} add.u32 %r0, %r1, %r3;")), 11, OUT),
        // Without the pragma, or where the program uses what it excludes.
        (format!("{LOAD} add.u32 %r0, %r1, %r3;"), 12, OUT),
        (with("4095", &format!("{LOAD} add.u32 %r0, %r1, %r4;")), 12, OUT),
        (with("4095", &format!("{LOAD} mov.b64 %d1, {{%r3, %r4}};")), 12, OUT),
        // Through the read-only cache the compiler says nothing: what is not named again is not used.
        (
            "ld.global.nc.v4.b32 {%r1, %r2, %r3, %r4}, [%d8]; add.u32 %r0, %r1, %r3; add.u32 %r0, %r0, %r2;".into(),
            12,
            &[],
        ),
        ("ld.global.nc.v4.b32 {%r1, %r2, %r3, %r4}, [%d8]; add.u32 %r0, %r1, %r4;".into(), 12, OUT),
        ("ld.global.nc.v4.b32 {%r1, %r2, %r3, %r4}, [%d8];".into(), 12, OUT),
        // It is for the next instruction, and for loads alone.
        (with("4095", &format!("mov.u32 %r5, 1; {LOAD} add.u32 %r0, %r1, %r3;")), 12, OUT),
        (with("4095", "st.global.v4.b32 [%d8], {%r0, %r0, %r0, %r0};"), 12, OUT),
        (with("4095", "ld.volatile.global.v4.b32 {%r1, %r2, %r3, %r4}, [%d8];"), 12, OUT),
        // Masks that say nothing.
        (with("0", LOAD), 12, OUT),
        (with("65535", LOAD), 12, OUT),
        (with("4294967295", LOAD), 12, OUT),
        (with("99999999999999999999", LOAD), 12, OUT),
        (with("-1", LOAD), 12, OUT),
        (with("", LOAD), 12, OUT),
        (with("4095 1", LOAD), 12, OUT),
        // Other spaces and sizes.
        (with("4095", "ld.v4.b32 {%r1, %r2, %r3, %r4}, [%d8];"), 12, &[]),
        (with("255", "ld.global.v2.b64 {%d1, %d2}, [%d8];"), 8, &[]),
        (with("255", "ld.global.v2.b64 {%d1, %d2}, [%d8];"), 7, OUT),
        (with("31", "ld.global.v4.b16 {%h1, %h2, %h3, %h4}, [%d8];"), 5, &[]),
        (with("31", "ld.global.v4.b16 {%h1, %h2, %h3, %h4}, [%d8];"), 4, OUT),
        (with("3", "ld.global.b32 %r1, [%d8]; cvt.u16.u32 %h1, %r1;"), 2, &[]),
        (with("4095", "ld.global.v4.b32 {%r1, %r2, %r3, _}, [%d8];"), 12, &[]),
        // Aligned as a whole.
        (with("4095", "ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%d8+4];"), 64, &[Kind::Misaligned]),
        // Before the start, and where addresses end.
        (with("0xf000", "ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%d8+-16];"), 64, OUT),
        (with("0xf000", "mov.u64 %d1, -16; ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%d1];"), 64, OUT),
        // Shared memory: 12 bytes, of which 4 are written.
        (format!("st.shared.b32 [s], 1; {}", with("15", SHARED)), 4, &[]),
        (format!("st.shared.b32 [s], 1; {}", with("255", SHARED)), 4, &[Kind::UninitialisedShared]),
        (format!("st.shared.v2.b32 [s], {{%r0, %r0}}; {}", with("255", SHARED)), 4, &[]),
        (format!("st.shared.b32 [s], 1; {SHARED}"), 4, OUT),
    ];
    for (body, bytes, expected) in cases {
        let found = findings(body, *bytes);
        assert_eq!(found, *expected, "{body} with {bytes} bytes");
    }
}

#[test]
fn a_grid_that_meets_must_fit() {
    let program = decode("mov.u32 %r1, %envreg1; mov.u32 %r2, %envreg2; mov.b64 %d1, {%r2, %r1}; ld.b32 %r3, [%d1];");
    let program = program.unwrap();
    assert!(program.is_cooperative());
    let launch =
        |blocks: u32| Launch { grid: [blocks, 1, 1], block: [64, 1, 1], dynamic_shared: 0, params: vec![0; 8] };
    let outcome = run(&program, &launch(100), &mut Memory::new(), &CHECKED).unwrap();
    assert_eq!(outcome.findings, []);
    assert!(matches!(outcome.schedule, kopt::ptx::Schedule::Ordered { because } if because.contains("cooperative")));
    for (blocks, state_bytes) in [(1 << 20, CHECKED.limits.state_bytes), (100, 1 << 16)] {
        let mut options = CHECKED;
        options.limits.state_bytes = state_bytes;
        let refused = run(&program, &launch(blocks), &mut Memory::new(), &options);
        assert!(matches!(refused, Err(PtxError::Limit(_))), "{blocks} blocks: {refused:?}");
    }
    assert!(matches!(decode("mov.u32 %r1, %envreg3;"), Err(PtxError::Unsupported { .. })));
}
