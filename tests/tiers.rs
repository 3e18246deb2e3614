//! Says which verification tiers this test run could use, and how many tests of each did not run in full. Has no harness
//! of its own kind, so that the lines are seen without `--nocapture`.

use kopt::compile::Toolchain;

/// Files whose tests need a compiler, and those that need nvcc besides.
const TIER_1: &[(&str, &str)] = &[
    ("compile_gate", include_str!("compile_gate.rs")),
    ("compile_examples", include_str!("compile_examples.rs")),
    ("occupancy", include_str!("occupancy.rs")),
    ("cli", include_str!("cli.rs")),
];

/// Tests of a file that speak of the compiler themselves or through a helper that does.
fn dependents(text: &str) -> usize {
    let tests = text.split("#[test]").skip(1);
    tests.filter(|t| ["gate(", "Toolchain", "toolchain", "compiler", "nvcc"].iter().any(|w| t.contains(w))).count()
}

fn main() {
    let toolchain = Toolchain::find();
    let tests: usize = TIER_1.iter().map(|(_, text)| dependents(text)).sum();
    println!("\ntier 0 (parse, facts, conditions, rewriting): run");
    match &toolchain.nvrtc {
        Some(_) => {
            println!("tier 1 (compile gate): run with {}, {tests} tests", toolchain.version().unwrap_or_default())
        }
        None => println!("tier 1 (compile gate): {tests} tests not run in full; `kopt toolchain install` brings NVRTC"),
    }
    if toolchain.nvcc.is_none() {
        println!("tier 1, nvcc: 1 test not run (no nvcc found)");
    }
    println!("tier 3 (GPU): not run here; recorded results stand in skills/*/*.evidence");
    assert!(tests > 10, "the list of tier-1 tests went stale: {tests}");
}
