//! What was recorded of the interpreter and a GPU on the same PTX: kernels without approximate instructions agree bit by
//! bit, the others within the distance that the PTX manual allows their instructions. `tests/gpu/agree.py` records anew on
//! a machine with a GPU; a kernel whose text changed since is named.

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
            for a in outputs.iter().filter(|_| approximate == 0 && !case["order"].is_string()) {
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

fn kernels(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).expect("a text");
    let after = |line: &str| line.strip_prefix("__global__ void ").and_then(|r| r.split('(').next()).map(str::to_owned);
    text.lines().filter_map(after).collect()
}
