//! Arguments of an instantiation, followed through constants and aliases to what every unit knows.

use super::super::declare::is_keyword;
use super::super::lex::{self, Kind, Token};
use super::MAX_LENGTH;
use super::deduce::Scanned;
use super::template::text_of;

/// `argument` with the constants and aliases of the function around token `at` replaced by their values. Names that are
/// parameters of the template around it stay; any other name must be one that the program defines.
pub(super) fn follow(
    scan: &Scanned,
    argument: &str,
    at: usize,
    is_parameter: &dyn Fn(&str) -> bool,
    defined: &dyn Fn(&str) -> bool,
) -> Option<String> {
    let mut current = argument.to_owned();
    for _ in 0..8 {
        let inner = lex::tokens(&current);
        let (mut next, mut copied, mut changed) = (String::with_capacity(current.len()), 0, false);
        for (k, token) in inner.iter().enumerate().filter(|(_, t)| t.kind == Kind::Word) {
            let word = token.text(&current);
            let member = k > 0 && (inner[k - 1].is(b':') || inner[k - 1].is(b'.'));
            if member || is_keyword(word) {
                continue;
            }
            let value = match constant(scan, at, word) {
                Some(value) => value,
                None if is_parameter(word) || is_builtin(word) || defined(word) => continue,
                None => return None,
            };
            next.push_str(current.get(copied..token.start)?);
            next.push_str(&value);
            copied = token.end;
            changed = true;
        }
        next.push_str(current.get(copied..)?);
        if next.len() > MAX_LENGTH {
            return None;
        }
        current = next;
        if !changed {
            // A name expression is one line.
            return Some(current.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
    None
}

/// `text` with words replaced by their values; `None` where one that `must` have a value has none.
pub(super) fn substitute(
    text: &str,
    value: &dyn Fn(&str) -> Option<String>,
    must: &dyn Fn(&str) -> bool,
) -> Option<String> {
    let (mut out, mut copied) = (String::new(), 0);
    for token in lex::tokens(text).iter().filter(|t| t.kind == Kind::Word) {
        let word = token.text(text);
        match value(word) {
            Some(value) => {
                out.push_str(text.get(copied..token.start)?);
                out.push_str(&value);
                copied = token.end;
            }
            None if must(word) => return None,
            None => {}
        }
    }
    out.push_str(text.get(copied..)?);
    (out.len() <= MAX_LENGTH).then_some(out)
}

/// The value of the nearest `constexpr T name = value`, `using name = type` or `typedef type name` before token `at`,
/// in a scope that is still open there.
fn constant(scan: &Scanned, at: usize, name: &str) -> Option<String> {
    let text = scan.text.as_str();
    for i in scan.visible_before(at).filter(|&i| scan.word(i) == name) {
        let ends = |t: &Token| matches!(t.kind, Kind::Punct(b';' | b'{' | b'}' | b':') | Kind::Directive);
        let start = scan.tokens.get(..i)?.iter().rposition(ends).map_or(0, |k| k + 1);
        if scan.word(start) == "typedef" && scan.is(i + 1, b';') {
            return Some(text_of(text, scan.tokens.get(start + 1..i)?));
        }
        let alias = scan.word(start) == "using" && i == start + 1;
        let braced = scan.is(i + 1, b'{');
        if !(scan.is(i + 1, b'=') && !scan.is(i + 2, b'=') || braced) {
            continue;
        }
        if !alias && !(start..i).any(|k| matches!(scan.word(k), "const" | "constexpr")) {
            continue;
        }
        let value = scan.tokens.get(i + 2..)?;
        let mut depth = 0usize;
        let end = value.iter().position(|t| {
            match t.kind {
                Kind::Punct(b'(' | b'[' | b'{') => depth += 1,
                Kind::Punct(b')' | b']' | b'}') if depth == 0 => return true,
                Kind::Punct(b')' | b']' | b'}') => depth -= 1,
                _ => {}
            }
            depth == 0 && (t.is(b';') || t.is(b',') && !alias)
        })?;
        let value = text_of(text, value.get(..end)?);
        return Some(if alias { value } else { format!("({value})") }).filter(|v| v.len() > 2 || alias);
    }
    None
}

/// Names that every program knows: CUDA's types and the roots of the standard library.
fn is_builtin(word: &str) -> bool {
    const ROOTS: &[&str] = &[
        "char",
        "uchar",
        "short",
        "ushort",
        "int",
        "uint",
        "long",
        "ulong",
        "longlong",
        "ulonglong",
        "float",
        "double",
        "half",
        "__half",
        "__nv_bfloat16",
        "nv_bfloat16",
        "__nv_bfloat",
        "nv_bfloat",
    ];
    let root = word.trim_end_matches(|c: char| c.is_ascii_digit());
    let standard = ["int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "size_t"];
    ROOTS.contains(&word)
        || ROOTS.contains(&root)
        || standard.contains(&word)
        || matches!(word, "ptrdiff_t" | "intptr_t" | "uintptr_t" | "cudaTextureObject_t" | "cudaSurfaceObject_t")
        || word.starts_with("__nv_fp")
        || matches!(word, "std" | "cuda" | "dim3" | "nvcuda")
}
