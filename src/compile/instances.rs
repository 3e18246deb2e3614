//! Which instantiations of a kernel template a file asks for: `kernel<..>` at launches and explicit instantiations.
//!
//! Arguments that are constants of the launching function (`constexpr int BM = 128;`) are replaced by their values. An
//! instantiation whose arguments cannot be followed, such as parameters of a host template, is left out: it could only
//! be refused.

use super::declare::angle_end;
use super::lex::{self, Kind, Token};

/// How far back a constant is looked for, in tokens.
const LOOK_BACK: usize = 4000;
/// How long an argument may grow by substitution.
const MAX_LENGTH: usize = 4096;

/// The instantiations of `kernel` in `text`, under the name `qualified`, without repetition. `defined` says whether the
/// program defines a name at namespace scope.
pub(super) fn instantiations(text: &str, kernel: &str, qualified: &str, defined: &dyn Fn(&str) -> bool) -> Vec<String> {
    let tokens = lex::tokens(text);
    let mut out: Vec<String> = vec![];
    for (i, token) in tokens.iter().enumerate() {
        let opens = |k: usize| tokens.get(i + k).is_some_and(|t| t.is(b'<'));
        let launches_plainly = opens(1) && opens(2) && opens(3);
        if token.kind != Kind::Word || token.text(text) != kernel || !opens(1) || launches_plainly {
            continue;
        }
        let window = tokens.get(i + 1..(i + 130).min(tokens.len())).unwrap_or(&[]);
        let Some(list) = angle_end(window, 0).and_then(|end| window.get(..end)) else { continue };
        let before = tokens.get(i.saturating_sub(LOOK_BACK)..i).unwrap_or(&[]);
        let Some(arguments) = follow(text, list, before, defined) else { continue };
        let name = format!("{qualified}{arguments}");
        if !out.contains(&name) && out.len() < 64 {
            out.push(name);
        }
    }
    out
}

/// Whether every parameter of the template that `item` begins with has a default, so that `kernel<>` names it.
pub(super) fn has_all_defaults(item: &str) -> bool {
    let tokens = lex::tokens(item.get(..item.len().min(MAX_LENGTH)).unwrap_or(item));
    let is = |k: usize, b: u8| tokens.get(k).is_some_and(|t| t.is(b));
    if tokens.first().is_none_or(|t| t.text(item) != "template") || !is(1, b'<') {
        return false;
    }
    let Some(end) = angle_end(&tokens, 1) else { return false };
    let (mut depth, mut defaulted, mut all) = (0usize, false, true);
    for token in tokens.iter().take(end).skip(2) {
        match token.kind {
            Kind::Punct(b'<' | b'(' | b'{') => depth += 1,
            Kind::Punct(b'>' | b')' | b'}') if depth > 0 => depth -= 1,
            Kind::Punct(b'=') if depth == 0 => defaulted = true,
            Kind::Punct(b',' | b'>') if depth == 0 => all &= std::mem::take(&mut defaulted),
            _ => {}
        }
    }
    all && end > 3
}

/// The argument list with local constants replaced, or `None` if a name in it is not known.
fn follow(text: &str, list: &[Token], before: &[Token], defined: &dyn Fn(&str) -> bool) -> Option<String> {
    let whole = text.get(list.first()?.start..list.last()?.end)?.to_owned();
    let mut current = whole;
    for _ in 0..8 {
        let mut changed = false;
        let mut next = String::with_capacity(current.len());
        let mut at = 0;
        let inner = lex::tokens(&current);
        for (k, token) in inner.iter().enumerate().filter(|(_, t)| t.kind == Kind::Word) {
            let word = token.text(&current);
            let member = k > 0 && inner[k - 1].is(b':');
            if member || lexed_builtin(word) || defined(word) {
                continue;
            }
            let value = constant(text, before, word)?;
            next.push_str(current.get(at..token.start)?);
            next.push_str(&value);
            at = token.end;
            changed = true;
        }
        next.push_str(current.get(at..)?);
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

/// The value of the nearest `constexpr T name = value` or `using name = type` before the launch.
fn constant(text: &str, before: &[Token], name: &str) -> Option<String> {
    let word = |k: usize| before.get(k).filter(|t| t.kind == Kind::Word).map_or("", |t| t.text(text));
    let at = (0..before.len()).rev().find(|&k| {
        word(k) == name
            && before.get(k + 1).is_some_and(|t| t.is(b'='))
            && !before.get(k + 2).is_some_and(|t| t.is(b'='))
    })?;
    let ends = |t: &Token| matches!(t.kind, Kind::Punct(b';' | b'{' | b'}') | Kind::Directive);
    let start = before.get(..at)?.iter().rposition(ends).map_or(0, |k| k + 1);
    let alias = word(start) == "using";
    if !alias && !(start..at).any(|k| matches!(word(k), "const" | "constexpr")) {
        return None;
    }
    let mut depth = 0usize;
    let value = before.get(at + 2..)?;
    let end = value.iter().position(|t| {
        match t.kind {
            Kind::Punct(b'(' | b'[' | b'{') => depth += 1,
            Kind::Punct(b')' | b']' | b'}') => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (t.is(b';') || t.is(b',') && !alias)
    })?;
    let value = value.get(..end)?;
    let value = text.get(value.first()?.start..value.last()?.end)?;
    Some(if alias { value.to_owned() } else { format!("({value})") })
}

/// Words that every program knows: those of the language, and CUDA's types.
fn lexed_builtin(word: &str) -> bool {
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
    super::declare::is_keyword(word)
        || ROOTS.contains(&word)
        || ROOTS.contains(&root)
        || word.ends_with("_t")
        || word.starts_with("__nv_fp")
        || matches!(word, "std" | "cuda" | "dim3" | "nvcuda")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_counted() {
        for (text, want) in [
            ("template <int A = 3, class T = S<int, 4>> void k() {}", true),
            ("template <int A, int B = 2> void k() {}", false),
            ("template <int A = (3 > 2), int B> void k() {}", false),
            ("template <> void k() {}", false),
            ("void k() {}", false),
            ("template <", false),
        ] {
            assert_eq!(has_all_defaults(text), want, "{text}");
        }
    }

    #[test]
    fn local_constants_are_followed_and_unknown_names_are_left_out() {
        let cases: &[(&str, &[&str])] = &[
            ("void h() { k<float, 4><<<1, 2>>>(p); }", &["k<float, 4>"]),
            ("template __global__ void k<double>(double*);", &["k<double>"]),
            ("void h() { k<<<1, 2>>>(p); }", &[]),
            ("void h() { constexpr int A = 8, B = 2 * A; k<A, B><<<1, 2>>>(p); }", &["k<(8), (2 * (8))>"]),
            ("void h() { const int A = f(1, 2); k<A><<<1, 2>>>(p); }", &[]),
            ("void h() { using T = half2; k<T><<<1, 2>>>(p); }", &["k<half2>"]),
            ("void h() { int A = 8; k<A><<<1, 2>>>(p); }", &[]),
            ("template <int N> void h() { k<N><<<1, 2>>>(p); k<TILE><<<1, 2>>>(p); }", &["k<TILE>"]),
            ("void h() { const int A = A; k<A><<<1, 2>>>(p); }", &[]),
            ("void h() { const int A = A + A + A + A + A + A + A + A; k<A><<<1, 2>>>(p); }", &[]),
            ("k<", &[]),
            ("k<A", &[]),
        ];
        for (text, want) in cases {
            assert_eq!(&instantiations(text, "k", "k", &|w| w == "TILE"), want, "{text}");
        }
    }
}
