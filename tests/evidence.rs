//! What was recorded on a GPU covers every example and every refusal of every skill, with its provenance, and came out as
//! it should: examples equal their originals, refusals that are forced through fail. Where a skill changed since, the
//! line says so; `tests/gpu/run.py` records anew on a machine with a GPU.

use std::collections::BTreeSet;

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
