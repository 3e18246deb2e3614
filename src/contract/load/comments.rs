//! Contracts in comments: each line `// kopt: KEY = VALUE` above a kernel is one line of TOML about its plan, such as
//! `// kopt: dims.n = { samples = [1024], min = 1 }` or
//! `// kopt: launch = { grid = "ceil_div(n, 256)", block = 256, args = ["x", "i32(n)"] }`.

use std::collections::BTreeSet;

use toml::de::DeTable;

use super::tables::PLAN_KEYS;
use super::value::{FORM, Reader};
use crate::contract::plan::Plan;
use crate::contract::read::{comment_block_above, stray_lines};
use crate::diag::Diagnostic;
use crate::ir::{Program, spell};
use crate::source::{Sources, Span};

const MARK: &str = "kopt:";

/// One plan for each kernel that has such comments, under the kernel's name.
pub fn plans_from_comments(program: &Program, sources: &Sources) -> (Vec<Plan>, Vec<Diagnostic>) {
    let (mut plans, mut problems) = (vec![], vec![]);
    let mut seen = BTreeSet::new();
    for r in program.kernels() {
        let kernel = program.function(r);
        let text = &sources.get(kernel.span.file).text;
        let mut lines = comment_block_above(text, kernel.span.start as usize);
        lines.reverse();
        seen.extend(lines.iter().map(|(start, _)| (kernel.span.file, *start)));
        let mut plan = Plan { name: kernel.name.clone(), ..Plan::default() };
        let mut reader = Reader { file: kernel.span.file, base: 0, problems: vec![] };
        let mut read = vec![];
        for (start, line) in lines {
            let Some(at) = line.find(MARK) else { continue };
            let from = at + MARK.len();
            let body = line.get(from..).unwrap_or("").trim_end().trim_end_matches("*/");
            // Assumptions have a form of their own.
            if body.trim_start().starts_with("assume") {
                continue;
            }
            match DeTable::parse(body) {
                Ok(table) => read.push((start + from, table.into_inner())),
                Err(e) => {
                    let range = e.span().unwrap_or(0..body.len());
                    let (lo, hi) = (range.start.min(body.len()), range.end.min(body.len()));
                    let span = Span::new(kernel.span.file, start + from + lo, start + from + hi.max(lo));
                    let d = Diagnostic::error(FORM, format!("this contract line cannot be read: {}", e.message()));
                    reader.problem(
                        d.at(span, "here").next("write `// kopt: dims.n = { samples = [1024] }`, one key a line"),
                    );
                }
            }
        }
        for (base, table) in &read {
            reader.base = *base;
            let known: Vec<&str> =
                PLAN_KEYS.iter().copied().filter(|k| *k != "step").chain(["launch", "assume"]).collect();
            reader.known_keys(table, &known, "a contract line");
            reader.names(&mut plan, table);
        }
        // Overloads are told apart by their parameters.
        let list = if spell::is_overloaded(program, r) { spell::parameters(kernel) } else { None };
        let name = format!("{}{}", kernel.name, list.unwrap_or_default());
        for (base, table) in &read {
            reader.base = *base;
            reader.rest(&mut plan, table, Some((&name, kernel.name_span)));
        }
        reader.settle(&plan);
        problems.extend(reader.problems);
        if !read.is_empty() {
            plans.push(plan);
        }
    }
    let is_key = |body: &str| {
        let word = body.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or("");
        let rest = body.get(word.len()..).unwrap_or("").trim_start();
        (PLAN_KEYS.contains(&word) || word == "launch") && rest.starts_with(['.', '='])
    };
    problems.extend(stray_lines(program, sources, &seen, &is_key));
    (plans, problems)
}
