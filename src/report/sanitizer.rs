//! Findings of compute-sanitizer: on the user's lines, as text, JSON and part of the page.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::diagnose::line_span;
use super::svg::escape;
use super::text::cell;
use crate::diag::{Code, Diagnostic};
use crate::gate::sanitize::Sanitized;
use crate::gpu::sanitizer::{Finding, Level, Place, Tool, Witness};
use crate::source::Sources;

/// How a finding is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Of a kernel that is run by itself.
    Kernel,
    Original,
    /// And the original has none of its kind.
    Candidate,
    /// And the original has one of its kind.
    Both,
}

/// A finding as a diagnostic, in the shape of the interpreter's.
pub fn finding(sources: &Sources, f: &Finding, whose: Whose) -> Diagnostic {
    let who = match whose {
        Whose::Kernel => "",
        Whose::Original => "original: ",
        Whose::Candidate | Whose::Both => "candidate: ",
    };
    let mut what = f.what.trim_end_matches('.').to_owned();
    if let Some(first) = what.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    let inside = if f.place.function.is_empty() { String::new() } else { format!(" in `{}`", f.place.function) };
    let message = format!("{who}sanitizer ({}): {what}{inside}, {}", f.tool.word(), times(f.count));
    let is_error = f.level == Level::Error && matches!(whose, Whose::Kernel | Whose::Candidate);
    let d = if is_error { Diagnostic::error(Code(690), message) } else { Diagnostic::warning(Code(691), message) };
    let first = f.samples.first().map_or_else(|| what.clone(), witness);
    let mut d = match line_span(sources, &f.place.file, f.place.line) {
        Some(span) => d.at(span, first),
        None => d.note(format!("{}: {first}", place(&f.place))),
    };
    if let Some((does, at)) = &f.other {
        d = match line_span(sources, &at.file, at.line) {
            Some(span) => d.see(span, format!("the {does}")),
            None => d.note(format!("the {does}: {}", place(at))),
        };
    }
    for caller in &f.callers {
        d = match line_span(sources, &caller.file, caller.line) {
            Some(span) => d.see(span, format!("called from `{}`", caller.function)),
            None => d.note(format!("called from {}", place(caller))),
        };
    }
    d = f.samples.iter().skip(1).take(2).fold(d, |d, s| d.note(format!("also {}", witness(s))));
    match whose {
        Whose::Both => d.note("the original has a finding of this kind, too"),
        Whose::Original => {
            d.next("mend the original, or restrict the sizes in the contract to those that it is written for")
        }
        Whose::Kernel | Whose::Candidate => d,
    }
}

/// The diagnostics of the original, and of the candidate.
pub fn problems(s: &Sanitized, original: &Sources, candidate: &Sources) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
    let ours = s.of(false).map(|f| finding(original, f, Whose::Original)).collect();
    let whose = |f: &Finding| if s.is_shared(f) { Whose::Both } else { Whose::Candidate };
    (ours, s.of(true).map(|f| finding(candidate, f, whose(f))).collect())
}

fn place(p: &Place) -> String {
    match (p.file.as_str(), p.function.as_str()) {
        ("", "") => "at a place that the tool does not name".to_owned(),
        ("", function) => format!("in `{function}`"),
        (file, _) => format!("{file}:{}", p.line),
    }
}

fn witness(w: &Witness) -> String {
    let triple = |t: [u32; 3]| match t {
        [x, 0, 0] => format!("{x}"),
        [x, y, 0] => format!("({x}, {y})"),
        [x, y, z] => format!("({x}, {y}, {z})"),
    };
    let address = if w.address.is_empty() { String::new() } else { format!(": address {}", w.address) };
    format!("block {}, thread {}{address}", triple(w.block), triple(w.thread))
}

fn times(count: u64) -> String {
    if count == 1 { "once".into() } else { format!("{count} times") }
}

/// One line for each tool, of both sides.
pub fn text(s: &Sanitized) -> String {
    let mut out = String::new();
    if s.missing.is_some() || s.runs.is_empty() {
        return "sanitizer: not run\n".to_owned();
    }
    let cells: Vec<String> = s.cells.iter().map(cell).collect();
    let _ = writeln!(out, "sanitizer (compute-sanitizer on the GPU), {} cells: {}", cells.len(), cells.join("; "));
    for tool in Tool::ALL {
        let of = |is_candidate: bool| {
            let run = s.runs.iter().find(|r| r.tool == tool && r.is_candidate == is_candidate);
            run.map_or_else(|| "not run".to_owned(), |r| said(&r.found))
        };
        let _ = writeln!(out, "  {:<10} original: {}; candidate: {}", tool.word(), of(false), of(true));
    }
    out
}

fn said(found: &Result<Vec<Finding>, String>) -> String {
    match found {
        Err(_) => "no answer".to_owned(),
        Ok(list) if list.is_empty() => "nothing found".to_owned(),
        Ok(list) => format!("{} finding{}", list.len(), if list.len() == 1 { "" } else { "s" }),
    }
}

/// What the verdict says of it.
pub fn sentence(s: &Sanitized) -> String {
    let own = s.own();
    match own.first() {
        Some(first) => {
            let more = if own.len() > 1 { format!(" and {} more", own.len() - 1) } else { String::new() };
            let what = first.what.trim_end_matches('.');
            format!("sanitizer: {}: {what}{more}", first.tool.word())
        }
        None if s.word() == "incomplete" => {
            "sanitizer: incomplete, nothing found that the original does not have".into()
        }
        None => "sanitizer: nothing found that the original does not have".into(),
    }
}

pub fn value(s: &Sanitized) -> Value {
    let cells: Vec<Value> = s.cells.iter().map(super::json::cell_key).collect();
    json!({
        "verdict": s.word(), "missing": s.missing, "cells": cells,
        "runs": s.runs.iter().map(|r| run(r.tool, Some(r.is_candidate), &r.found)).collect::<Vec<_>>(),
    })
}

/// One run of one tool.
pub fn run(tool: Tool, is_candidate: Option<bool>, found: &Result<Vec<Finding>, String>) -> Value {
    let side = is_candidate.map(|c| if c { "candidate" } else { "original" });
    json!({
        "tool": tool.word(), "side": side, "not_checked": found.as_ref().err(),
        "findings": found.as_ref().map_or(&[][..], Vec::as_slice),
    })
}

/// The section of the page; the findings themselves stand with the problems.
pub fn html(s: &Sanitized) -> String {
    format!("<h2>Sanitizer</h2>\n<pre>{}</pre>\n", escape(text(s).trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::render;
    use crate::gpu::sanitizer::{group, parse};
    use crate::source::SourceFile;

    fn shown(name: &str, source: &str, tool: Tool, xml: &str, whose: Whose) -> String {
        let mut sources = Sources::default();
        sources.add(SourceFile::new(name, source));
        let found = group(parse(tool, xml).unwrap());
        found.iter().map(|f| render::render(&sources, &finding(&sources, f, whose), false)).collect()
    }

    #[test]
    fn findings_stand_on_the_users_lines() {
        let oob = shown(
            "oob.cu",
            include_str!("../../tests/data/gpu/tools/kernels/oob.cu"),
            Tool::Memcheck,
            include_str!("../../tests/data/gpu/tools/memcheck-oob.xml"),
            Whose::Candidate,
        );
        insta::assert_snapshot!("oob", oob);
        let race = shown(
            "race.cu",
            include_str!("../../tests/data/gpu/tools/kernels/race.cu"),
            Tool::Racecheck,
            include_str!("../../tests/data/gpu/tools/racecheck-race.xml"),
            Whose::Original,
        );
        insta::assert_snapshot!("race", race);
    }
}
