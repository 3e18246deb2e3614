//! Says which verification tiers this test run could use, and how many tests of each did not run in full. Has no harness
//! of its own kind, so that the lines are seen without `--nocapture`.

use kopt::compile::Toolchain;

/// Tests of a file that speak of the compiler themselves or through a helper that does.
fn dependents(text: &str) -> usize {
    let tests = text.split("#[test]").skip(1);
    tests.filter(|t| ["gate(", "Toolchain", "toolchain", "compiler", "nvcc"].iter().any(|w| t.contains(w))).count()
}

fn main() {
    let toolchain = Toolchain::find();
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests")).expect("the folder of tests");
    let texts = files.filter_map(|f| std::fs::read_to_string(f.ok()?.path()).ok());
    let tests: usize = texts.map(|text| dependents(&text)).sum();
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
    let gpu = kopt::gpu::find();
    println!(
        "tier 3 ({gpu}): `kopt run --on gpu` in 1 test; recorded results stand in skills/*/*.evidence and tests/data/gpu"
    );
    assert!(tests > 10, "the list of tier-1 tests went stale: {tests}");
}
