//! Indentation and layout of inserted code.

use crate::source::tokens::{TokenKind, scan_code};

/// The unit of indentation of a file: the most frequent step between a line that ends in `{` and the next one.
/// Files that never open a brace get four blanks.
pub fn unit(text: &str) -> String {
    let mut counts: std::collections::BTreeMap<&str, usize> = Default::default();
    let mut opener: Option<&str> = None;
    for line in text.lines().take(20_000) {
        let body = line.trim_start();
        let indent = &line[..line.len() - body.len()];
        if let Some(outer) = opener.filter(|_| !body.is_empty()) {
            if let Some(step) = indent.strip_prefix(outer).filter(|s| !s.is_empty() && s.len() <= 8) {
                *counts.entry(step).or_default() += 1;
            }
            opener = None;
        }
        if body.trim_end().ends_with('{') {
            opener = Some(indent);
        }
    }
    let most = counts.into_iter().max_by_key(|(step, n)| (*n, std::cmp::Reverse(step.len())));
    most.map_or_else(|| "    ".to_owned(), |(step, _)| step.to_owned())
}

/// Moves a block whose first line starts after `from` to indentation `to`. The first line is left as it is (its
/// indentation stands before the block); lines with less indentation than `from`, preprocessor lines and blank lines
/// are kept, and so are lines that begin inside a string: their blanks belong to its value.
pub fn shift(text: &str, from: &str, to: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let strings: Vec<_> = scan_code(text)
        .into_iter()
        .filter(|t| t.kind == TokenKind::Text && t.of(text).contains('\n'))
        .map(|t| t.range())
        .collect();
    let mut at = 0;
    for (i, line) in text.split_inclusive('\n').enumerate() {
        let start = at;
        at += line.len();
        let in_string = strings.iter().any(|s| s.start < start && start < s.end);
        match line.strip_prefix(from) {
            Some(rest) if i > 0 && !in_string && !line.trim().is_empty() && !line.starts_with('#') => {
                out.push_str(to);
                out.push_str(rest);
            }
            _ => out.push_str(line),
        }
    }
    out
}

/// Brings the line ends of generated text (always `\n`) to the file's style.
pub fn with_newlines(text: &str, newline: &str) -> String {
    if newline == "\n" { text.to_owned() } else { text.replace("\r\n", "\n").replace('\n', newline) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_is_the_files_own() {
        let cases = [
            ("void f() {\n  a;\n  if (x) {\n    b;\n  }\n}\n", "  "),
            ("void f() {\n\ta;\n}\n", "\t"),
            ("void f() {\r\n    a;\r\n}\r\n", "    "),
            ("int a;\n", "    "),
        ];
        for (text, expected) in cases {
            assert_eq!(unit(text), expected, "{text:?}");
        }
    }

    #[test]
    fn shifting_keeps_strings_blank_and_preprocessor_lines() {
        let raw = "{\n  a(R\"(one\n   two)\", \"x\\\n  y\");\n  b;\n}";
        assert_eq!(shift(raw, "  ", "    "), "{\n    a(R\"(one\n   two)\", \"x\\\n  y\");\n    b;\n}");
        let text = "for (;;) {\n\n#pragma unroll\n      a;\n    }";
        assert_eq!(shift(text, "    ", "        "), "for (;;) {\n\n#pragma unroll\n          a;\n        }");
    }
}
