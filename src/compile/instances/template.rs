//! The head of a template: its parameters, and the types of the function's own parameters.

use super::super::declare::{angle_end, is_keyword};
use super::super::lex::{self, Kind, Token};

/// What a template parameter stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    Type,
    /// A constant of the type that is written there.
    Value(String),
    Template,
}

/// One parameter of a template. An unnamed one has an empty name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    pub name: String,
    pub kind: ParameterKind,
    pub pack: bool,
    pub default: Option<String>,
}

/// A type as far as deduction needs it: what is pointed to, and how often. References and qualifiers are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ty {
    pub base: String,
    pub stars: usize,
}

impl Ty {
    pub fn text(&self) -> String {
        format!("{}{}", self.base, "*".repeat(self.stars))
    }
}

/// How much of an item is read for its head, in bytes.
const MAX_HEAD: usize = 8192;

/// The `template <..>` lists that `item` begins with, outermost first. A specialisation's `template <>` is an empty list.
pub(crate) fn heads(item: &str) -> Vec<Vec<Parameter>> {
    let item = head_text(item);
    let tokens = lex::tokens(item);
    let (mut out, mut at) = (vec![], begin(&tokens));
    while tokens.get(at).is_some_and(|t| t.text(item) == "template") && tokens.get(at + 1).is_some_and(|t| t.is(b'<')) {
        let Some(end) = angle_end(&tokens, at + 1) else { break };
        let list = tokens.get(at + 2..end - 1).unwrap_or(&[]);
        out.push(split(list).into_iter().map(|p| parameter(item, p)).collect());
        at = end;
    }
    out
}

fn head_text(item: &str) -> &str {
    let mut end = item.len().min(MAX_HEAD);
    while !item.is_char_boundary(end) {
        end -= 1;
    }
    item.get(..end).unwrap_or("")
}

fn begin(tokens: &[Token]) -> usize {
    tokens.iter().position(|t| t.kind != Kind::Directive).unwrap_or(tokens.len())
}

/// The parts between the commas outside all brackets; none of an empty list.
pub(super) fn split(tokens: &[Token]) -> Vec<&[Token]> {
    let (mut out, mut depth, mut angle, mut from) = (vec![], 0usize, 0usize, 0);
    for (i, token) in tokens.iter().enumerate() {
        let arrow = i > 0 && (tokens[i - 1].is(b'-') || tokens[i - 1].is(b'=') && tokens[i - 1].end == token.start);
        match token.kind {
            Kind::Punct(b'(' | b'[' | b'{') => depth += 1,
            Kind::Punct(b')' | b']' | b'}') => depth = depth.saturating_sub(1),
            // `k<(a < b)>`: a comparison stands in parentheses.
            Kind::Punct(b'<') if depth == 0 => angle += 1,
            Kind::Punct(b'>') if depth == 0 && !arrow => angle = angle.saturating_sub(1),
            Kind::Punct(b',') if depth == 0 && angle == 0 => {
                out.push(&tokens[from..i]);
                from = i + 1;
            }
            _ => {}
        }
    }
    if from < tokens.len() {
        out.push(&tokens[from..]);
    }
    out
}

/// The parts of the parenthesised list that opens at `open`, where `<` compares.
pub(super) fn arguments(tokens: &[Token], open: usize) -> Option<(Vec<&[Token]>, usize)> {
    let (mut out, mut depth, mut from) = (vec![], 0usize, open + 1);
    for (i, token) in tokens.iter().enumerate().skip(open) {
        match token.kind {
            Kind::Punct(b'(' | b'[' | b'{') => depth += 1,
            Kind::Punct(b')' | b']' | b'}') => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    if from < i || !out.is_empty() {
                        out.push(&tokens[from..i]);
                    }
                    return Some((out, i + 1));
                }
            }
            Kind::Punct(b',') if depth == 1 => {
                out.push(&tokens[from..i]);
                from = i + 1;
            }
            // `f<a, b>(x)` as an argument.
            _ => {}
        }
    }
    None
}

/// The text of a run of tokens on one line, without comments.
pub(super) fn text_of(text: &str, tokens: &[Token]) -> String {
    let mut out = String::new();
    for (i, token) in tokens.iter().enumerate().filter(|(_, t)| t.kind != Kind::Directive) {
        let word = |t: &Token| matches!(t.kind, Kind::Word | Kind::Number | Kind::Literal);
        let apart = i > 0 && tokens[i - 1].end < token.start;
        if i > 0 && (word(token) && word(&tokens[i - 1]) || apart) {
            out.push(' ');
        }
        out.push_str(token.text(text));
    }
    out.trim().to_owned()
}

fn parameter(text: &str, tokens: &[Token]) -> Parameter {
    let equals = tokens.iter().position(|t| t.is(b'=')).unwrap_or(tokens.len());
    let default = tokens.get(equals + 1..).filter(|d| !d.is_empty()).map(|d| text_of(text, d));
    let declared = &tokens[..equals];
    let word = |i: usize| declared.get(i).filter(|t| t.kind == Kind::Word).map_or("", |t| t.text(text));
    let pack = declared.windows(3).any(|w| w.iter().all(|t| t.is(b'.')));
    let last = declared.len().saturating_sub(1);
    let named = !word(last).is_empty() && !is_keyword(word(last)) && last > 0;
    let (kind, name) = match word(0) {
        "typename" | "class" if !declared.get(2).is_some_and(|t| t.is(b':')) => {
            (ParameterKind::Type, if named { word(last) } else { "" })
        }
        "template" => (ParameterKind::Template, if named { word(last) } else { "" }),
        _ => {
            let named = named && !declared.get(last - 1).is_some_and(|t| t.is(b':'));
            let of = if named { &declared[..last] } else { declared };
            (ParameterKind::Value(text_of(text, of)), if named { word(last) } else { "" })
        }
    };
    Parameter { name: name.to_owned(), kind, pack, default }
}

/// The type that a declaration such as `const T* __restrict__ x` or `float*` gives, and the name that it declares.
pub(super) fn declared_type(text: &str, tokens: &[Token]) -> Option<(Ty, String)> {
    let equals = tokens.iter().position(|t| t.is(b'=')).unwrap_or(tokens.len());
    let (mut base, mut stars, mut name, mut depth) = (vec![], 0usize, String::new(), 0usize);
    for token in &tokens[..equals] {
        let word = token.text(text);
        match token.kind {
            Kind::Punct(b'<') => depth += 1,
            Kind::Punct(b'>') => depth = depth.saturating_sub(1),
            _ => {}
        }
        match token.kind {
            Kind::Directive => {}
            Kind::Word if depth == 0 && is_qualifier(word) => {}
            Kind::Punct(b'*') if depth == 0 => stars += 1,
            Kind::Punct(b'[') if depth == 0 => {
                stars += 1;
                break;
            }
            Kind::Punct(b'&') if depth == 0 => {}
            Kind::Punct(b'(') if depth == 0 => return None,
            Kind::Word if depth == 0 && (stars > 0 || !name.is_empty()) => name = word.to_owned(),
            _ => base.push(*token),
        }
    }
    // Without a star the name is the last word of what looks like the base.
    let last = base.last().copied()?;
    let before = base.len().checked_sub(2).and_then(|i| base.get(i));
    let names = last.kind == Kind::Word
        && !is_keyword(last.text(text))
        && before.is_some_and(|b| b.kind == Kind::Word || b.is(b'>'));
    if name.is_empty() && names {
        name = last.text(text).to_owned();
        base.pop();
    }
    Some((Ty { base: text_of(text, &base), stars }, name)).filter(|(t, _)| !t.base.is_empty())
}

fn is_qualifier(word: &str) -> bool {
    matches!(
        word,
        "const"
            | "volatile"
            | "static"
            | "constexpr"
            | "inline"
            | "extern"
            | "typename"
            | "struct"
            | "class"
            | "register"
            | "restrict"
            | "__restrict__"
            | "__restrict"
            | "__shared__"
            | "__constant__"
            | "__device__"
            | "__grid_constant__"
    )
}

/// The types of the parameters of the function `name` that `item` declares or defines, in order.
pub(super) fn function_types(item: &str, name: &str) -> Vec<Option<Ty>> {
    let item = head_text(item);
    let tokens = lex::tokens(item);
    let Some(inside) = parameter_list(item, &tokens, name) else { return vec![] };
    split(inside).into_iter().map(|p| declared_type(item, p).map(|(t, _)| t)).collect()
}

/// The types of the parameters as written, names and defaults left out: `const float*, int`. `None` where a parameter
/// is of a form that is not understood.
pub(crate) fn signature(item: &str, name: &str) -> Option<String> {
    let item = head_text(item);
    let tokens = lex::tokens(item);
    let list = split(parameter_list(item, &tokens, name)?);
    let types: Option<Vec<String>> = list.into_iter().map(|p| as_written(item, p)).collect();
    Some(types?.join(", "))
}

fn as_written(item: &str, tokens: &[Token]) -> Option<String> {
    let (_, name) = declared_type(item, tokens)?;
    let equals = tokens.iter().position(|t| t.is(b'=')).unwrap_or(tokens.len());
    let skipped = |t: &&Token| {
        let word = t.text(item);
        t.kind == Kind::Directive || (!name.is_empty() && word == name) || word.starts_with("__restrict")
    };
    let kept: Vec<Token> = tokens[..equals].iter().filter(|t| !skipped(t)).copied().collect();
    Some(text_of(item, &kept))
}

fn parameter_list<'t>(item: &str, tokens: &'t [Token], name: &str) -> Option<&'t [Token]> {
    let body = tokens.iter().position(|t| t.is(b'{')).unwrap_or(tokens.len());
    let open = (0..body).find_map(|i| {
        let mut next = i + 1;
        if tokens[i].kind != Kind::Word || tokens[i].text(item) != name {
            return None;
        }
        if tokens.get(next).is_some_and(|t| t.is(b'<')) {
            next = angle_end(tokens, next)?;
        }
        // `MACRO(name)(parameters)`
        if tokens.get(next).is_some_and(|t| t.is(b')')) {
            next += 1;
        }
        tokens.get(next).filter(|t| t.is(b'(')).map(|_| next)
    })?;
    let (_, end) = arguments(tokens, open)?;
    tokens.get(open + 1..end - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read() {
        let text = "template <typename T, int N = 4, class, bool = (N > 2), template <class> class C, typename... R, \
            typename U::type V, std::enable_if_t<(N > 1), int> = 0, Mode M> void f();";
        let [list] = heads(text).try_into().expect("one list");
        let value = |t: &str| ParameterKind::Value(t.to_owned());
        let short: Vec<(&str, ParameterKind, bool, Option<&str>)> =
            list.iter().map(|p| (p.name.as_str(), p.kind.clone(), p.pack, p.default.as_deref())).collect();
        assert_eq!(
            short,
            [
                ("T", ParameterKind::Type, false, None),
                ("N", value("int"), false, Some("4")),
                ("", ParameterKind::Type, false, None),
                ("", value("bool"), false, Some("(N > 2)")),
                ("C", ParameterKind::Template, false, None),
                ("R", ParameterKind::Type, true, None),
                ("V", value("typename U::type"), false, None),
                ("", value("std::enable_if_t<(N > 1), int>"), false, Some("0")),
                ("M", value("Mode"), false, None),
            ]
        );
        assert_eq!(heads("template <class A> template <int B> void S<A>::f() {}").len(), 2);
        assert_eq!(heads("template <> void f<int>() {}"), [vec![]]);
        for text in ["void f();", "template", "template <", "template <int"] {
            assert!(heads(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn types_of_parameters_are_read() {
        let text = "template <class T> __global__ __launch_bounds__(256) void k(const T* __restrict__ a, unsigned int n, \
            T (*f)(int), V<T, 4> v, T b[16], const float4& c = {}, unsigned, T** d) {}";
        let types: Vec<String> =
            function_types(text, "k").iter().map(|t| t.as_ref().map_or("-".into(), Ty::text)).collect();
        assert_eq!(types, ["T*", "unsigned int", "-", "V<T, 4>", "T*", "float4", "unsigned", "T**"]);
        assert_eq!(
            signature("void k(const float* __restrict__ a, int n = 3, char b[4], float4 const& c, unsigned)", "k")
                .as_deref(),
            Some("const float*, int, char [4], float4 const&, unsigned")
        );
        assert_eq!(signature("void k(int (*f)(int))", "k"), None);
        for text in ["void g();", "k", "void k(", "void k()", "k<"] {
            assert!(function_types(text, "k").is_empty(), "{text}");
        }
    }
}
