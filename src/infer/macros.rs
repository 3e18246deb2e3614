//! Macros as host code uses them, and the names that device code depends on.

use std::collections::BTreeSet;

use super::host::MacroBodies;
use crate::ir::{FunctionKind, Program};
use crate::source::Sources;

/// Function-like macros of one line, by name. Of several definitions of a name none is kept.
pub fn bodies(program: &Program, sources: &Sources) -> MacroBodies {
    let mut found = MacroBodies::new();
    let mut twice = BTreeSet::new();
    for unit in &program.units {
        for (name, params, body) in definitions(&sources.get(unit.file).text) {
            if let Some(params) = params
                && found.insert(name.clone(), (params, body.clone())).is_some_and(|(_, b)| b != body)
            {
                twice.insert(name);
            }
        }
    }
    found.retain(|name, _| !twice.contains(name));
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
        let body = body.split("//").next().unwrap_or("").trim().to_owned();
        if !name.is_empty() {
            found.push((name.to_owned(), params, body));
        }
    }
    found
}
