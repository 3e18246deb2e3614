//! Unroll pragmas, and the conditions of `#if`s.

use super::*;

/// The factor of an unroll pragma: `None` for other pragmas, `Some(None)` for a full unroll.
pub(super) fn unroll_factor(text: &str) -> Option<Option<(&str, usize)>> {
    let trimmed = text.trim_start();
    let rest =
        trimmed.strip_prefix("GCC").or_else(|| trimmed.strip_prefix("clang loop")).unwrap_or(trimmed).trim_start();
    if rest.starts_with("nounroll") {
        return Some(Some(("1", 0)));
    }
    let rest = rest.strip_prefix("unroll")?;
    if rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') {
        return None;
    }
    let rest = rest.split("//").next().unwrap_or("");
    let rest = rest.split("/*").next().unwrap_or("").trim();
    let factor = match rest.strip_prefix('(').and_then(|r| r.strip_suffix(')')) {
        Some(inner) => inner.trim(),
        None => rest,
    };
    if factor.is_empty() {
        return Some(None);
    }
    Some(Some((factor, text.find(factor).unwrap_or(0))))
}

/// Records an unroll pragma whose text begins at byte `at`; false for other pragmas.
pub(crate) fn unroll_pragma(m: &mut Masker<'_>, text: &str, at: usize, span: Range<usize>) -> bool {
    let Some(factor) = unroll_factor(text) else { return false };
    let args = factor
        .map(|(f, offset)| (f.to_owned(), if offset == 0 { span.clone() } else { at + offset..at + offset + f.len() }))
        .into_iter()
        .collect();
    m.found.attributes.push(Attribute { kind: AttributeKind::Unroll, args, span, expansion: "".into() });
    true
}

/// Makes the condition of an `#if` readable: `and` becomes `&&`, and what the grammar does not know becomes `1`.
pub(crate) fn condition(m: &mut Masker<'_>, range: Range<usize>) {
    let text = m.text;
    let mut tokens = tokens::scan_directive(text, range.clone()).peekable();
    if tokens.peek().is_none() {
        return;
    }
    let mut odd = false;
    for token in tokens {
        let word = token.of(text);
        let with = match word {
            "and" => "&&",
            "or" => "||",
            "not" => "!",
            _ => {
                odd |= token.kind == TokenKind::Text || word.starts_with("__has_include");
                continue;
            }
        };
        m.write(token.range(), with);
        m.replace(token.range(), What::Condition);
    }
    if odd {
        let start = m.str(range.clone()).find(|c: char| c != ' ' && c != '\t').map_or(range.start, |n| range.start + n);
        let line = memchr::memchr(b'\n', m.str(start..range.end).as_bytes()).map_or(range.end, |n| start + n);
        m.blank(start..line);
        m.put(start, b'1');
        m.replace(start..line, What::Condition);
    }
}
