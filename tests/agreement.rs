//! What was recorded of the interpreter and a GPU on the same PTX: kernels without approximate instructions agree bit by
//! bit, and the interpreter still gives the bits that the GPU gave. `tests/gpu/agree.py` records anew on a machine with a
//! GPU.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

const RECORD: &str = "tests/data/gpu/agreement.json";

fn record() -> Value {
    let text = std::fs::read_to_string(RECORD).unwrap_or_else(|e| panic!("{RECORD}: {e}"));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{RECORD}: {e}"))
}

fn cases(record: &Value) -> &[Value] {
    record["cases"].as_array().map(Vec::as_slice).expect("a list of cases")
}

fn name(case: &Value) -> String {
    format!("{} in {}", case["kernel"].as_str().unwrap_or("?"), case["file"].as_str().unwrap_or("?"))
}

#[test]
fn kernels_of_exact_instructions_agree_bit_by_bit() {
    let record = record();
    for key in ["device", "toolchain", "date", "command"] {
        assert!(record[key].as_str().is_some_and(|t| !t.is_empty()), "{RECORD}: `{key}` is missing");
    }
    let mut exact = 0;
    for case in cases(&record) {
        assert_eq!(case["error"], Value::Null, "{}", name(case));
        let approximate = case["approximate"].as_array().expect("a list").len();
        let runs = case["runs"].as_array().expect("a list");
        assert!(!runs.is_empty(), "{}: it did not run", name(case));
        for run in runs {
            assert_eq!(run["stopped"], Value::Null, "{}", name(case));
            let outputs = run["agreement"].as_array().expect("a list");
            assert!(!outputs.is_empty(), "{}: nothing was compared", name(case));
            // Floating-point atomics come in an order that only the device knows.
            let in_order =
                |a: &&Value| case["order"].is_string() && a["dtype"].as_str().is_some_and(|t| t.contains('f'));
            for a in outputs.iter().filter(|a| approximate == 0 && !in_order(a)) {
                assert_eq!(a["differing"], 0, "{} on {}: {a}", name(case), run["contents"]);
                exact += 1;
            }
        }
    }
    assert!(exact > 100, "{exact} outputs were compared bit by bit");
}

#[test]
fn the_record_covers_the_kernels_of_this_folder() {
    let record = record();
    let recorded: BTreeSet<String> =
        cases(&record).iter().filter_map(|c| c["kernel"].as_str()).map(str::to_owned).collect();
    for entry in std::fs::read_dir("tests/data/gpu").expect("the folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|e| e != "cu") {
            continue;
        }
        for kernel in kernels(&path) {
            assert!(recorded.contains(&kernel), "{}: `{kernel}` was not recorded", path.display());
        }
    }
}

/// The interpreter of today against the GPU of the record. Another compiler than that of the record may contract
/// products and sums in other ways, so that kernels of floats say nothing then; those of integers do.
#[test]
fn the_interpreter_gives_what_the_gpu_gave() {
    if !compiler() {
        return;
    }
    let record = record();
    let mut compared = 0;
    for case in cases(&record) {
        let file = case["file"].as_str().expect("a file");
        let exact = case["approximate"].as_array().is_some_and(Vec::is_empty);
        // The contract's own examples are larger than a test needs.
        if !exact || file.starts_with("tests/data/contract") {
            continue;
        }
        let run = &case["runs"][1];
        let now = run_here(file, case["kernel"].as_str().expect("a name"), run["contents"].as_str().expect("a word"));
        for output in now["run"]["outputs"].as_array().expect("outputs") {
            let ordered = case["order"].is_string() && output["dtype"].as_str().is_some_and(|t| t.contains('f'));
            if ordered {
                continue;
            }
            let name = output["name"].as_str().expect("a name");
            assert_eq!(output["blake3"], run["blake3"][name], "{}: `{name}`", self::name(case));
            compared += 1;
        }
    }
    assert!(compared > 25, "{compared} outputs were compared");
}

fn run_here(file: &str, kernel: &str, contents: &str) -> Value {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_kopt"));
    command.args(["--format", "json", "run", file, "--kernel", kernel, "--contents", contents, "--arch", "sm_90"]);
    let done = command.output().expect("kopt starts");
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    serde_json::from_str(&text)
        .unwrap_or_else(|e| panic!("{file} {kernel}: {e}: {}", String::from_utf8_lossy(&done.stderr)))
}

/// Whether there is a compiler; a run that requires one fails without.
fn compiler() -> bool {
    let there = kopt::compile::Toolchain::find().nvrtc.is_some();
    assert!(there || std::env::var_os("KOPT_REQUIRE_TIER1").is_none(), "no compiler: kopt toolchain install");
    there
}

fn kernels(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).expect("a text");
    let after = |line: &str| line.strip_prefix("__global__ void ").and_then(|r| r.split('(').next()).map(str::to_owned);
    text.lines().filter_map(after).collect()
}
