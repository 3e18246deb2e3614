//! Every JSON document is of the form that its schema gives.

mod cli_common;

use std::path::Path;

use cli_common::{BROKEN, Folder, PLAIN, TRANSPOSE};
use serde_json::Value;

fn schema(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schema").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Checks the part of JSON Schema that docs/schema uses; `file` is where relative references start.
fn check(value: &Value, schema_part: &Value, file: &str, at: &str, faults: &mut Vec<String>) {
    for (key, rule) in schema_part.as_object().expect("a schema is an object") {
        match key.as_str() {
            "$schema" | "$id" | "$defs" | "description" | "required" | "additionalProperties" | "pattern" => {}
            "$ref" => {
                let reference = rule.as_str().expect("a text");
                let (target, pointer) = reference.split_once('#').unwrap_or((reference, ""));
                let target = if target.is_empty() { file } else { target };
                let whole = schema(target);
                let part = whole.pointer(pointer).unwrap_or_else(|| panic!("{reference} leads nowhere"));
                check(value, part, target, at, faults);
            }
            "type" => {
                let one = |t: &Value| match t.as_str() {
                    Some("string") => value.is_string(),
                    Some("integer") => value.is_i64() || value.is_u64(),
                    Some("number") => value.is_number(),
                    Some("boolean") => value.is_boolean(),
                    Some("null") => value.is_null(),
                    Some("array") => value.is_array(),
                    Some("object") => value.is_object(),
                    other => panic!("type {other:?} is not checked here"),
                };
                if !rule.as_array().map_or_else(|| one(rule), |list| list.iter().any(one)) {
                    faults.push(format!("{at}: {value} is no {rule}"));
                }
            }
            "enum" => {
                if !rule.as_array().expect("a list").contains(value) {
                    faults.push(format!("{at}: {value} is none of {rule}"));
                }
            }
            "const" => {
                if rule != value {
                    faults.push(format!("{at}: {value} is not {rule}"));
                }
            }
            "items" => {
                for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(item, rule, file, &format!("{at}[{i}]"), faults);
                }
            }
            "anyOf" => {
                let fits = |option: &Value| {
                    let mut found = vec![];
                    check(value, option, file, at, &mut found);
                    found.is_empty()
                };
                if !rule.as_array().expect("a list").iter().any(fits) {
                    faults.push(format!("{at}: {value} fits no alternative"));
                }
            }
            "properties" => properties(value, schema_part, file, at, faults),
            other => panic!("{other} is not checked here"),
        }
    }
}

fn properties(value: &Value, part: &Value, file: &str, at: &str, faults: &mut Vec<String>) {
    let Some(object) = value.as_object() else { return };
    let known = part["properties"].as_object().expect("an object");
    for name in part["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !object.contains_key(name) {
            faults.push(format!("{at}: {name} is missing"));
        }
    }
    for (name, item) in object {
        match known.get(name) {
            Some(rule) => check(item, rule, file, &format!("{at}.{name}"), faults),
            None if part["additionalProperties"] == Value::Bool(false) => {
                faults.push(format!("{at}: {name} is not in the schema"));
            }
            None => {}
        }
    }
}

#[test]
fn documents_are_of_their_schemas() {
    let commands = [
        ("check .", "check"),
        ("check --possible --stats .", "check"),
        ("apply --skill pad_shared t.cu", "apply"),
        ("apply --skill vectorize_access --allow-refusal t.cu plain.cu", "apply"),
        ("apply --skill pad_shared --out gen t.cu", "apply"),
        ("apply --locked t.cu", "locked"),
        ("apply --locked plain.cu", "error"),
        ("why t.cu:3 pad_shared", "why"),
        ("why t.cu:1 pad_shared", "why"),
        ("explain K0201", "explain"),
        ("explain pad_shared", "explain"),
        ("explain bank_degree", "explain"),
        ("explain --list", "explain-list"),
        ("skills list", "skills"),
        ("skills show pad_shared", "skill"),
        ("skills test pad_shared", "skills-test"),
        ("doctor", "doctor"),
        ("toolchain show", "toolchain"),
        ("new unroll_loop --direction throughput", "new"),
        ("init", "init"),
        ("demo --offline", "demo"),
        ("contract infer t.cu", "contract-infer"),
        ("contract check t.cu", "error"),
        ("contract infer --write t.cu", "contract-infer"),
        ("contract check t.cu", "contract-check"),
        ("check absent.cu", "error"),
        ("verify scale.ptx scale_by_adding.ptx --candidate-kernel triple", "verify"),
        ("verify scale.ptx scale_wrong.ptx", "verify"),
        ("verify scale.ptx scale_unguarded.ptx", "verify"),
        ("verify scale_unguarded.ptx scale.ptx --contract scale.contract.toml", "verify"),
        ("verify plain.cu plain.cu", "error"),
        ("run scale.ptx", "run"),
        ("run scale_unguarded.ptx --contract scale.contract.toml", "run"),
        ("profile scale.ptx --gpu a100-40gb", "profile"),
        ("gate honesty t.cu plain.cu", "honesty"),
        ("gate bundle scale.ptx scale_wrong.ptx scale_unsupported.ptx -o b.zip", "gate-bundle"),
        ("gate run b.zip --on emulator", "gate-run"),
        ("gate ingest b.results", "gate-ingest"),
        ("gate ingest .", "error"),
        ("memory --memory m.sqlite show", "error"),
        ("memory --memory m.sqlite import version-1.jsonl", "memory-merge"),
        ("memory --memory m.sqlite show", "memory-show"),
        ("memory --memory m.sqlite show data-reuse", "memory-show"),
        ("memory --memory m.sqlite show --ids --context sm_80/cuda/scan", "memory-show"),
        ("memory --memory m.sqlite show f38a23", "memory-show"),
        ("memory --memory m.sqlite graph", "memory-graph"),
        ("memory --memory m.sqlite graph -o g.svg --context scan", "memory-graph"),
        ("memory --memory m.sqlite graph --context sm_10/cuda/scan", "error"),
        ("memory --memory other.sqlite merge m.sqlite", "memory-merge"),
        ("memory --memory m.sqlite export -o lines.jsonl", "memory-export"),
        ("memory --memory m.sqlite forget --skill skill-3", "memory-forget"),
        ("memory --memory m.sqlite doctor", "memory-doctor"),
        ("lower k.py matmul", "error"),
        ("optimize t.cu --memory m.sqlite --dry-run", "optimize-dry-run"),
        ("optimize plain.cu --memory m.sqlite --dry-run", "optimize-dry-run"),
        ("optimize t.cu --memory m.sqlite", "optimize"),
        ("optimize t.cu --memory m.sqlite", "error"),
    ];
    let folder = Folder::new(&[("t.cu", TRANSPOSE), ("plain.cu", PLAIN), ("broken.cu", BROKEN)]);
    for entry in std::fs::read_dir("tests/data/verify").expect("a folder") {
        let path = entry.expect("a file").path();
        folder.put(&path.file_name().expect("a name").to_string_lossy(), &std::fs::read(&path).expect("a file"));
    }
    folder.put("version-1.jsonl", &std::fs::read("tests/data/memory/version-1.jsonl").expect("a file"));
    for (command, name) in commands {
        let run = folder.kopt(&format!("--format json {command}"));
        let mut faults = vec![];
        let file = format!("{name}.json");
        check(&run.json(), &schema(&file), &file, "$", &mut faults);
        assert!(faults.is_empty(), "kopt {command}:\n{}", faults.join("\n"));
    }
    let result = serde_json::from_str(&folder.get("b.results/scale_wrong.json")).expect("JSON");
    let mut faults = vec![];
    check(&result, &schema("gate-result.json"), "gate-result.json", "$", &mut faults);
    assert!(faults.is_empty(), "a result:\n{}", faults.join("\n"));
}

#[test]
fn the_order_does_not_depend_on_the_number_of_threads() {
    let files: Vec<(String, String)> =
        (0..12).map(|i| (format!("k{i}.cu"), TRANSPOSE.replace("transpose", &format!("t{i}")))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
    let folder = Folder::new(&files);
    let run = |threads: &str| {
        let mut command = folder.command(env!("CARGO_BIN_EXE_kopt"));
        command.args(["check", "--possible", "."]).env("RAYON_NUM_THREADS", threads);
        command.output().expect("kopt starts").stdout
    };
    assert_eq!(run("1"), run("8"));
}
