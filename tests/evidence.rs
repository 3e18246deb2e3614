//! What was recorded on a GPU covers every example and every refusal of every skill, with its provenance, and came out as
//! it should: examples equal their originals, refusals that are forced through fail. Where a skill changed since, the
//! line says so; `tests/gpu/run.py` records anew on a machine with a GPU.

mod cli_common;

use std::collections::BTreeSet;

use cli_common::Folder;
use serde_json::Value;

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or("")
}

#[test]
fn every_example_and_refusal_ran_on_a_gpu() {
    let library = kopt::skill::Library::built_in().expect("the built-in skills load");
    for skill in library.iter().map(|s| &s.skill) {
        let name = &skill.name.node;
        let path = format!("skills/{}/{name}.evidence", skill.direction.node);
        let file = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
        let record: Value = serde_json::from_str(&file).unwrap_or_else(|e| panic!("{path}: {e}"));
        for key in ["gpu", "date", "flags", "compute_sanitizer"] {
            assert!(!text(&record, key).is_empty(), "{path}: `{key}` is missing");
        }
        if text(&record, "skill_hash") != skill.hash() {
            println!("{path}: recorded for another text of the skill");
        }
        let cases = record["cases"].as_array().expect("a list of cases");
        let ran = |kind: &str| -> BTreeSet<&str> {
            cases.iter().filter(|c| text(c, "kind") == kind).map(|c| text(c, "case")).collect()
        };
        let (examples, refusals) = (ran("example"), ran("refuse"));
        for example in &skill.examples {
            assert!(examples.contains(example.title.node.as_str()), "{name}: \"{}\" did not run", example.title.node);
        }
        let for_payoff = |r: &&kopt::skill::ast::Refusal| r.because.node == "pays";
        for refusal in skill.refusals.iter().filter(|r| !for_payoff(r)) {
            assert!(refusals.contains(refusal.title.node.as_str()), "{name}: \"{}\" did not run", refusal.title.node);
        }
        for case in cases {
            let fine = case["as_expected"] == Value::Bool(true) || !text(case, "over_strict").is_empty();
            assert!(fine, "{name}: \"{}\" came out wrong", text(case, "case"));
        }
    }
}

/// Conditions that no recorded difference shows are needed, and how a refusal for each fails when it is forced through: by the
/// interpreter, or by the compiler, since the text is ill-formed.
#[test]
fn forced_refusals_fail_here_too() {
    // Skill, refusal, contract, and what `kopt verify` says of the forced text.
    let cases = [
        (
            "vectorize_access",
            "the subscript is set in the body",
            "// kopt: dims.n = { samples = [64, 61] }\n\
             // kopt: args.x = { role = \"in\", dtype = \"f32\", shape = \"2 * n + 8\" }\n\
             // kopt: args.y = { role = \"out\", dtype = \"f32\", shape = \"n + 8\", writes = [0, \"n\"] }\n\
             // kopt: launch = { grid = 1, block = 1, args = [\"x\", \"y\", \"i32(n)\"] }\n",
            "K065",
        ),
        (
            "shuffle_reduce",
            "pairs with an operator of their own",
            "// kopt: args.x = { role = \"in\", dtype = \"f32\", shape = [512] }\n\
             // kopt: args.y = { role = \"out\", dtype = \"f32\", shape = [2] }\n\
             // kopt: launch = { grid = 1, block = 256, args = [\"x\", \"y\"] }\n",
            "__shfl_down_sync",
        ),
    ];
    let cuts = |text: &str, name: &str, contract: &str| {
        let from = text.find(&format!("namespace {name} {{")).expect("the namespace") + name.len() + 12;
        // The brace that closes the namespace follows an empty line.
        let body = text[from..].split("\n\n}\n").next().unwrap_or("").to_owned() + "\n";
        body.replacen("__global__", &format!("{contract}__global__"), 1)
    };
    for (skill, refusal, contract, says) in cases {
        let all = std::fs::read_to_string("tests/gpu/cases.toml").expect("the cases of the harness");
        let folder = Folder::new(&[("cases.toml", &all)]);
        folder.kopt("skills harness --cases cases.toml --out h").expect(0);
        let index: Value = serde_json::from_str(&folder.get("h/index.json")).expect("an index");
        let entry =
            index.as_array().expect("a list").iter().find(|e| text(e, "case") == refusal && text(e, "skill") == skill);
        let whole = folder.get(&format!("h/{}", text(entry.expect(refusal), "file")));
        folder.put("original.cu", cuts(&whole, "original", contract).as_bytes());
        folder.put("candidate.cu", cuts(&whole, "candidate", contract).as_bytes());
        let Some(same) = folder.kopt_compiling("verify original.cu original.cu") else { return };
        same.expect(0);
        let forced = folder.kopt_compiling("verify original.cu candidate.cu").expect("a compiler");
        forced.expect(3).says(says);
    }
}
