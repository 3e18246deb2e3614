//! The invariants that can be read off the sources: pure modules do no I/O, modules point one way, passes keep their
//! headings, the library never prints, exits or panics on purpose, and a build script's dependency graph stays small.

use std::fs;
use std::path::{Path, PathBuf};

fn sources(under: &str) -> Vec<(PathBuf, String)> {
    let mut found = vec![];
    let mut pending = vec![PathBuf::from(under)];
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            pending.extend(fs::read_dir(&path).unwrap().map(|e| e.unwrap().path()));
        } else if path.extension().is_some_and(|e| e == "rs") && !is_test(&path) {
            let text = fs::read_to_string(&path).unwrap();
            found.push((path, text));
        }
    }
    found.sort();
    assert!(!found.is_empty(), "{under} holds no sources");
    found
}

/// Unit tests in files of their own.
fn is_test(path: &Path) -> bool {
    path.components().any(|c| c.as_os_str() == "tests" || c.as_os_str() == "tests.rs")
}

/// The code before the unit tests, without comment lines.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let end = text.find("#[cfg(test)]").unwrap_or(text.len());
    text[..end].lines().enumerate().filter(|(_, l)| !l.trim_start().starts_with("//")).map(|(i, l)| (i + 1, l))
}

fn refuse(folders: &[&str], forbidden: &[&str], why: &str) {
    let mut hits = vec![];
    for folder in folders {
        for (path, text) in sources(folder) {
            for (line, content) in code(&text) {
                if let Some(word) = forbidden.iter().find(|w| content.contains(**w)) {
                    hits.push(format!("{}:{line}: `{word}` ({why})", path.display()));
                }
            }
        }
    }
    assert!(hits.is_empty(), "{}", hits.join("\n"));
}

const PURE: &[&str] = &[
    "src/source",
    "src/diag",
    "src/ir",
    "src/syntax",
    "src/contract",
    "src/facts",
    "src/infer",
    "src/predicate",
    "src/honesty",
    "src/ptx",
    "src/skill",
    "src/campaign",
    "src/edit",
    "src/policy",
    "src/memory/context.rs",
    "src/memory/evidence.rs",
    "src/memory/graph.rs",
    "src/memory/picture.rs",
    "src/memory/snapshot.rs",
    "src/memory/sums.rs",
    "src/memory/tables.rs",
    "passes",
];

#[test]
fn pure_modules_do_no_io() {
    let io = ["std::fs", "std::net", "std::env", "std::process", "std::time", "SystemTime", "Instant::", "File::open"];
    refuse(PURE, &io, "pure modules do no I/O");
}

#[test]
fn modules_point_one_way() {
    let later = |names: &[&str]| -> Vec<String> { names.iter().map(|n| format!("crate::{n}")).collect() };
    let order = ["source", "diag", "ir", "syntax", "contract", "facts", "infer", "predicate", "edit", "skill"];
    let outer =
        ["campaign", "child", "cli", "compile", "project", "lock", "config", "gpu", "honesty", "memory", "policy"];
    for (i, module) in order.iter().enumerate() {
        // `source` and `diag` know each other: a diagnostic has spans, reading a file has problems.
        // The registry answers in the words of the skill language, so `predicate` may use `skill::vocabulary`.
        let mut names: Vec<&str> = order[i + 1..].to_vec();
        names.retain(|n| !(*module == "source" && *n == "diag"));
        names.retain(|n| !(*module == "predicate" && *n == "skill"));
        names.extend(outer);
        let forbidden = later(&names);
        let words: Vec<&str> = forbidden.iter().map(String::as_str).collect();
        refuse(&[&format!("src/{module}")], &words, "modules point one way");
    }
}

#[test]
fn the_policy_reads_snapshots_and_no_store() {
    let words = ["memory::store", "rusqlite", "memory::Store"];
    refuse(&["src/policy"], &words, "a snapshot is all that a choice depends on");
    let outer = ["crate::policy", "crate::cli", "crate::gate", "crate::compile", "crate::gpu", "crate::project"];
    refuse(&["src/memory"], &outer, "the memory does not know who asks");
}

#[test]
fn honesty_knows_facts_and_the_interpreter_alone() {
    let names = ["syntax", "infer", "edit", "skill", "gate", "cli", "compile", "project", "lock", "config", "gpu"];
    let forbidden: Vec<String> = names.iter().map(|n| format!("crate::{n}")).collect();
    let words: Vec<&str> = forbidden.iter().map(String::as_str).collect();
    refuse(&["src/honesty"], &words, "it judges the facts and must not rest on what rests on them");
    refuse(&["src/ptx"], &["crate::honesty"], "the interpreter does not know who listens");
}

#[test]
fn the_library_never_prints_or_exits() {
    let words = ["println!", "eprintln!", "print!(", "process::exit", "todo!(", "unimplemented!(", "dbg!("];
    for (path, text) in sources("src") {
        if path.starts_with("src/cli") || path.ends_with("src/main.rs") || path.ends_with("src/build.rs") {
            continue;
        }
        for (line, content) in code(&text) {
            let hit = words.iter().find(|w| content.contains(**w));
            assert!(hit.is_none(), "{}:{line}: {hit:?}", path.display());
        }
    }
}

#[test]
fn every_pass_has_its_headings() {
    for (path, text) in sources("passes") {
        let docs: Vec<&str> = text.lines().take_while(|l| l.starts_with("//!")).collect();
        let headings = ["//! ## Before and after", "//! ## How", "//! ## Limits"];
        let mut at = 0;
        for heading in headings {
            let found = docs[at..].iter().position(|l| *l == heading);
            at += found.unwrap_or_else(|| panic!("{}: `{heading}` is missing or out of order", path.display()));
        }
        assert!(docs[0].len() > 10 && !docs[0].contains("##"), "{}: the first line is the index entry", path.display());
    }
}

#[test]
fn a_build_script_needs_no_network_database_or_editor_crates() {
    let output = std::process::Command::new(env!("CARGO"))
        .args(["tree", "--edges", "normal", "--no-default-features", "--features", "core", "--prefix", "none"])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
        .output()
        .expect("cargo runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let mut crates: Vec<&str> = text.lines().filter_map(|l| l.split_whitespace().next()).collect();
    crates.sort_unstable();
    crates.dedup();
    assert!(crates.contains(&"tree-sitter-cuda"), "{text}");
    let heavy =
        ["reqwest", "hyper", "tokio", "rusqlite", "plotters", "lsp-server", "lsp-types", "clap", "cudarc", "anyhow"];
    for name in heavy {
        assert!(!crates.contains(&name), "`{name}` is in the graph of `core`");
    }
    assert!(crates.len() <= 90, "{} crates in the graph of `core`: {crates:?}", crates.len());
}
