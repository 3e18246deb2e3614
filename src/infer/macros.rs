//! Macros as host code uses them, and the names that device code depends on.

use std::collections::{BTreeMap, BTreeSet};

use crate::ir::{FunctionKind, Program};
use crate::source::Sources;

/// What a `#define` says of its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Those of a function-like macro.
    pub params: Option<Vec<String>>,
    pub body: String,
}

/// The definitions of a text by name.
pub fn of_text(text: &str) -> BTreeMap<String, Vec<Definition>> {
    let mut found: BTreeMap<String, Vec<Definition>> = BTreeMap::new();
    for (name, params, body) in definitions(text) {
        found.entry(name).or_default().push(Definition { params, body });
    }
    found
}

/// Identifiers in kernels and device functions, with those in the macros that they use.
pub fn device_words(program: &Program, sources: &Sources) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut macros = vec![];
    for unit in &program.units {
        let text = &sources.get(unit.file).text;
        for f in &unit.functions {
            let device = matches!(f.kind, FunctionKind::Kernel | FunctionKind::Device | FunctionKind::HostDevice);
            if device && let Some(body) = text.get(f.span.range()) {
                words(body, &mut found);
            }
        }
        for launch in &unit.launches {
            launch.template_args.iter().for_each(|t| words(t, &mut found));
        }
        macros.extend(definitions(text));
    }
    // Globals whose values are made of others, and macros inside macros.
    for _ in 0..8 {
        let before = found.len();
        for (name, _, body) in &macros {
            if found.contains(name) {
                words(body, &mut found);
            }
        }
        for g in program.units.iter().flat_map(|u| &u.globals) {
            if found.contains(&g.name) {
                g.init.iter().for_each(|i| words(i, &mut found));
            }
        }
        if found.len() == before {
            break;
        }
    }
    found
}

/// Identifiers in the template arguments of launches.
pub fn template_words(program: &Program) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let all = program.units.iter().flat_map(|u| &u.launches).flat_map(|l| &l.template_args);
    all.for_each(|t| words(t, &mut found));
    found
}

fn words(text: &str, into: &mut BTreeSet<String>) {
    for word in text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')) {
        if word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && !into.contains(word) {
            into.insert(word.to_owned());
        }
    }
}

/// Name, parameters of a function-like macro, and body of each `#define`.
fn definitions(text: &str) -> Vec<(String, Option<Vec<String>>, String)> {
    let mut found = vec![];
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(rest) = line.trim_start().strip_prefix('#').and_then(|r| r.trim_start().strip_prefix("define")) else {
            continue;
        };
        let mut whole = rest.trim().to_owned();
        while whole.ends_with('\\') {
            whole.pop();
            let Some(next) = lines.next() else { break };
            whole.push(' ');
            whole.push_str(next.trim());
        }
        let end = whole.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(whole.len());
        let (name, rest) = whole.split_at(end);
        let (params, body) = match rest.strip_prefix('(').and_then(|r| r.split_once(')')) {
            Some((params, body)) => (Some(params.split(',').map(|p| p.trim().to_owned()).collect()), body),
            None => (None, rest),
        };
        let body = without_comments(body);
        if !name.is_empty() {
            found.push((name.to_owned(), params, body));
        }
    }
    found
}

fn without_comments(body: &str) -> String {
    let mut text = body.split("//").next().unwrap_or("").to_owned();
    while let Some(from) = text.find("/*") {
        let to = text.get(from..).and_then(|t| t.find("*/")).map_or(text.len(), |i| from + i + 2);
        text.replace_range(from..to, " ");
    }
    text.trim().to_owned()
}
