//! Where assumptions stand: a TOML file (`[assume]`, `[kernel.NAME]`) and comments `// kopt: assume ..` above a kernel.

use std::collections::BTreeSet;

use super::{Assumption, Assumptions, parse_assumption};
use crate::diag::{Code, Diagnostic};
use crate::ir::{Program, spell};
use crate::source::{FileId, SourceFile, Sources, Span};
use toml::de::{DeTable, DeValue};

const BAD_FILE: Code = Code(230);
const BAD_ASSUMPTION: Code = Code(231);

/// Reads the assumptions of a contract: `assume = [..]` (or `[assume] all = [..]`) for every kernel, `[kernel.NAME] assume =
/// [..]` for one. [`super::load::read`] reads the rest, too.
pub fn from_toml(file: FileId, source: &SourceFile) -> (Assumptions, Vec<Diagnostic>) {
    match DeTable::parse(&source.text) {
        Ok(table) => assumptions_of(file, &table.into_inner()),
        Err(e) => {
            let range = e.span().unwrap_or(0..0);
            let span = Span::new(file, range.start, range.end);
            (Assumptions::default(), vec![shape(span, &format!("the contract cannot be read: {}", e.message()))])
        }
    }
}

pub(super) fn assumptions_of(file: FileId, table: &DeTable) -> (Assumptions, Vec<Diagnostic>) {
    let mut found = Assumptions::default();
    let mut problems = vec![];
    if let Some(value) = table.get("assume") {
        let list = match value.get_ref() {
            DeValue::Table(t) => t.get("all"),
            _ => Some(value),
        };
        match list {
            Some(list) => found.everywhere = read_list(file, list, &mut problems),
            None => problems.push(shape(spanned(file, value), "`[assume]` needs a list `all`")),
        }
    }
    match table.get("kernel").map(|v| (v, v.get_ref())) {
        Some((_, DeValue::Table(kernels))) => {
            for (name, kernel) in kernels {
                if let Some(list) = kernel.get_ref().get("assume") {
                    let list = read_list(file, list, &mut problems);
                    found.by_kernel.insert(name.get_ref().to_string(), list);
                }
            }
        }
        Some((value, _)) => problems.push(shape(spanned(file, value), "`kernel` holds one table for each kernel")),
        None => {}
    }
    (found, problems)
}

fn shape(span: Span, message: &str) -> Diagnostic {
    Diagnostic::error(BAD_FILE, message)
        .at(span, "here")
        .next("write `assume = [\"cols % 4 == 0\"]`, or `[kernel.NAME]` with an `assume` list")
}

fn spanned<T>(file: FileId, value: &toml::Spanned<T>) -> Span {
    Span::new(file, value.span().start, value.span().end)
}

fn read_list(file: FileId, list: &toml::Spanned<DeValue>, problems: &mut Vec<Diagnostic>) -> Vec<Assumption> {
    let DeValue::Array(items) = list.get_ref() else {
        problems.push(shape(spanned(file, list), "assumptions are a list of texts"));
        return vec![];
    };
    let mut found = vec![];
    for item in items.iter() {
        let span = spanned(file, item);
        match item.get_ref() {
            DeValue::String(text) => match parse_assumption(text, Some(span)) {
                Ok(a) => found.push(a),
                Err(why) => problems.push(bad(span, &why)),
            },
            _ => problems.push(shape(span, "an assumption is a text")),
        }
    }
    found
}

fn bad(span: Span, why: &str) -> Diagnostic {
    Diagnostic::error(BAD_ASSUMPTION, format!("this assumption cannot be read: {why}"))
        .at(span, why)
        .next("write a comparison such as `cols % 4 == 0` or `n <= 4096`, `aligned(x, 16)` or `noalias(x, y)`")
}

const MARK: &str = "kopt: assume";

/// Reads `// kopt: assume cols % 4 == 0` from the comment block right above each kernel; `,` outside parentheses
/// separates several.
pub fn from_comments(program: &Program, sources: &Sources) -> (Assumptions, Vec<Diagnostic>) {
    let (mut found, mut problems) = (Assumptions::default(), vec![]);
    let mut seen = BTreeSet::new();
    for r in program.kernels() {
        let kernel = program.function(r);
        let source = sources.get(kernel.span.file);
        let mut list = vec![];
        for (start, line) in comment_block_above(&source.text, kernel.span.start as usize) {
            seen.insert((kernel.span.file, start));
            let Some(at) = line.find(MARK) else { continue };
            let body = line[at + MARK.len()..].trim_end_matches("*/");
            for (offset, part) in split_top(body) {
                let from = start + at + MARK.len() + offset;
                let span = Span::new(kernel.span.file, from, from + part.len());
                match parse_assumption(part, Some(span)) {
                    Ok(a) => list.push(a),
                    Err(why) => problems.push(bad(span, &why)),
                }
            }
        }
        if !list.is_empty() {
            list.reverse();
            found.by_kernel.entry(spell::identity(kernel)).or_default().extend(list);
        }
    }
    problems.extend(stray_lines(program, sources, &seen, &|body| body.starts_with("assume")));
    (found, problems)
}

/// Comment lines above `at`, nearest first, with their offsets. Blank lines, directives and the beginning of a declaration
/// may stand between; the first other line of code ends it.
pub(super) fn comment_block_above(text: &str, at: usize) -> Vec<(usize, &str)> {
    let mut found = vec![];
    let mut end = text.get(..at).and_then(|t| t.rfind('\n')).unwrap_or(0);
    // Whether the line is inside of a comment that begins further up.
    let mut inside = false;
    while end > 0 {
        let start = text.get(..end).and_then(|t| t.rfind('\n')).map_or(0, |i| i + 1);
        let line = text.get(start..end).unwrap_or("");
        let trimmed = line.trim();
        let comment = inside || trimmed.starts_with("//") || trimmed.starts_with("/*") || trimmed.ends_with("*/");
        let begins = ["template", "extern", "static", "inline", "__global__", "__launch_bounds__", "[[", "#"];
        let between =
            trimmed.is_empty() || begins.iter().any(|b| trimmed.starts_with(b)) && !trimmed.contains([';', '}']);
        if comment {
            inside = (inside || trimmed.ends_with("*/")) && !trimmed.contains("/*");
            // Code with a comment behind it is code.
            if !inside && !trimmed.starts_with("//") && !trimmed.starts_with("/*") {
                break;
            }
            found.push((start, line));
        } else if !between {
            break;
        }
        end = start.saturating_sub(1);
    }
    found
}

/// Contract lines that stand above no kernel, with their spans. `is_meant` says which bodies of `kopt:` lines are looked
/// for; `read` are the offsets of the lines that kernels have.
pub(super) fn stray_lines(
    program: &Program,
    sources: &Sources,
    read: &BTreeSet<(FileId, usize)>,
    is_meant: &dyn Fn(&str) -> bool,
) -> Vec<Diagnostic> {
    let mut found = vec![];
    for file in program.units.iter().map(|u| u.file).collect::<BTreeSet<_>>() {
        let text = &sources.get(file).text;
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let mark = line.find("kopt:").filter(|at| {
                let before = line.get(..*at).unwrap_or("").trim();
                matches!(before, "//" | "///" | "*" | "/*" | "/**")
            });
            if let Some(at) = mark
                && is_meant(line.get(at + 5..).unwrap_or("").trim())
                && !read.contains(&(file, start))
            {
                let span = Span::new(file, start + at, start + line.trim_end().len());
                let d = Diagnostic::error(
                    BAD_ASSUMPTION,
                    "this contract line stands above no kernel, and would say nothing",
                );
                found.push(d.at(span, "not read").next("move it right above the kernel that it speaks of"));
            }
            start += line.len();
        }
    }
    found
}

fn split_top(text: &str) -> Vec<(usize, &str)> {
    let (mut parts, mut depth, mut start) = (vec![], 0i32, 0);
    for (i, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' | ';' if depth <= 0 => {
                parts.push((start, &text[start..i]));
                start = i + 1;
            }
            _ => {}
        }
    }
    parts.push((start, &text[start..]));
    parts.retain(|(_, p)| !p.trim().is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Assumptions, Vec<Diagnostic>) {
        from_toml(FileId(0), &SourceFile::new("kopt.toml", text))
    }

    #[test]
    fn lists_for_all_and_for_one_kernel() {
        let (a, problems) = read("assume = [\"n >= 1\"]\n[kernel.softmax]\nassume = [\"cols % 4 == 0\", \"n >= 1\"]\n");
        assert_eq!(problems, vec![]);
        let ids: Vec<_> = a.of("softmax").iter().map(|a| a.id.clone()).collect();
        assert_eq!(ids, ["n>=1", "cols%4==0"]);
        assert_eq!(a.of("other").len(), 1);
    }

    #[test]
    fn errors_point_at_the_text() {
        let text = "[kernel.k]\nassume = [\"cols % 0 == 0\"]\n";
        let (_, problems) = read(text);
        let span = problems[0].primary().unwrap();
        assert_eq!(&text[span.range()], "\"cols % 0 == 0\"");
        assert!(!read("assume = 3").1.is_empty());
        assert!(!read("[[").1.is_empty());
    }
}
