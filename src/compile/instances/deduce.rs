//! Template arguments that a call leaves to the compiler: the types of what is passed, as far as the text says them.
//!
//! Only plain cases are followed: variables, casts, literals, elements and offsets. Anything else has no type here, and
//! the instantiation is left out.

use super::super::declare::angle_end;
use super::super::lex::{self, Kind, Token};
use super::template::{Parameter, Ty, arguments, declared_type, split, text_of};

/// Text with its tokens.
pub(super) struct Scanned {
    pub text: String,
    pub tokens: Vec<Token>,
}

impl Scanned {
    pub fn new(text: String) -> Scanned {
        let tokens = lex::tokens(&text);
        Scanned { text, tokens }
    }

    pub fn word(&self, i: usize) -> &str {
        self.tokens.get(i).filter(|t| t.kind == Kind::Word).map_or("", |t| t.text(&self.text))
    }

    pub fn is(&self, i: usize, byte: u8) -> bool {
        self.tokens.get(i).is_some_and(|t| t.is(byte))
    }

    /// The tokens before `at` that stand in a scope still open there, nearest first. Those between braces that have
    /// closed are passed over.
    pub fn visible_before(&self, at: usize) -> impl Iterator<Item = usize> {
        let mut depth = 0usize;
        (0..at.min(self.tokens.len())).rev().take(LOOK_BACK).filter(move |&i| {
            match self.tokens[i].kind {
                Kind::Punct(b'}') => depth += 1,
                Kind::Punct(b'{') if depth > 0 => {
                    depth -= 1;
                    return false;
                }
                _ => {}
            }
            depth == 0
        })
    }
}

/// How far back a declaration is looked for, in tokens.
const LOOK_BACK: usize = 20_000;
/// How many initialisers `auto` may lead through.
const MAX_STEPS: usize = 8;

/// What a name that is not declared in the text stands for: a member or a variable at namespace scope.
pub(super) type Elsewhere<'a> = dyn Fn(&str) -> Option<Ty> + 'a;

/// The type of an expression at token `at` of `scan`.
pub(super) fn type_of(scan: &Scanned, e: &[Token], at: usize, elsewhere: &Elsewhere<'_>, steps: usize) -> Option<Ty> {
    let text = scan.text.as_str();
    let (first, rest) = e.split_first()?;
    let word = |i: usize| e.get(i).filter(|t| t.kind == Kind::Word).map_or("", |t| t.text(text));
    let again = |e: &[Token]| type_of(scan, e, at, elsewhere, steps + 1);
    let plain = |base: &str| Some(Ty { base: base.to_owned(), stars: 0 });
    if steps > MAX_STEPS {
        return None;
    }
    match first.kind {
        Kind::Punct(b'&') => return again(rest).map(|t| Ty { stars: t.stars + 1, ..t }),
        Kind::Punct(b'*') => return again(rest).and_then(|t| Some(Ty { stars: t.stars.checked_sub(1)?, ..t })),
        Kind::Punct(b'(') => {
            let (_, end) = arguments(e, 0)?;
            let inside = e.get(1..end - 1)?;
            if end == e.len() {
                return again(inside);
            }
            // `(T*)x`: a cast, unless what follows continues the expression.
            let pointer = inside.last().is_some_and(|t| t.is(b'*'));
            let operand = e.get(end).is_some_and(|t| {
                matches!(t.kind, Kind::Word | Kind::Number | Kind::Punct(b'(')) || pointer && t.is(b'&')
            });
            return if operand && (pointer || inside.len() == 1) {
                declared_type(text, inside).map(|t| t.0)
            } else {
                None
            };
        }
        Kind::Number => {
            let number = first.text(text);
            let hex = number.starts_with("0x") || number.starts_with("0X");
            let real = !hex && number.contains(['.', 'e', 'E']);
            return plain(match number.to_ascii_lowercase().as_str() {
                n if real && n.ends_with('f') => "float",
                _ if real => "double",
                n if n.ends_with("ull") || n.ends_with("ul") => "unsigned long",
                n if n.ends_with("ll") || n.ends_with('l') => "long",
                n if n.ends_with('u') => "unsigned int",
                _ => "int",
            })
            .filter(|_| e.len() == 1 || e[1..].iter().all(|t| !matches!(t.kind, Kind::Word)));
        }
        Kind::Word => {}
        _ => return None,
    }
    match word(0) {
        "true" | "false" => return plain("bool"),
        "static_cast" | "reinterpret_cast" | "const_cast" => {
            let end = angle_end(e, 1)?;
            return declared_type(text, e.get(2..end - 1)?).map(|t| t.0);
        }
        "float" | "double" | "int" | "bool" if e.get(1).is_some_and(|t| t.is(b'(')) => return plain(word(0)),
        _ => {}
    }
    // `x.data_ptr<T>()`: the pointer that tensors and vectors give.
    if let Some(call) = (1..e.len()).find(|&i| matches!(word(i), "data_ptr" | "data" | "mutable_data_ptr"))
        && e[call - 1].is(b'.')
        && call == 2
    {
        if e.get(call + 1).is_some_and(|t| t.is(b'<')) {
            let end = angle_end(e, call + 1)?;
            let (ty, _) = declared_type(text, e.get(call + 2..end - 1)?)?;
            return Some(Ty { stars: ty.stars + 1, ..ty });
        }
        let of = variable(scan, word(0), at, elsewhere, steps)?;
        let inner = of.base.split_once('<')?.1.strip_suffix('>')?;
        let inner = Scanned::new(inner.to_owned());
        let (ty, _) = declared_type(&inner.text, split(&inner.tokens).first()?)?;
        return (of.stars == 0).then_some(Ty { stars: ty.stars + 1, ..ty });
    }
    let ty = variable(scan, word(0), at, elsewhere, steps)?;
    match rest.first().map(|t| t.kind) {
        None => Some(ty),
        // A pointer with an offset stays what it is; other sums have the wider type, which is not followed.
        Some(Kind::Punct(b'+' | b'-')) if ty.stars > 0 && !rest.get(1).is_some_and(|t| t.is(b'>')) => Some(ty),
        Some(Kind::Punct(b'[')) => {
            let (_, end) = arguments(e, 1)?;
            (end == e.len()).then(|| Some(Ty { stars: ty.stars.checked_sub(1)?, ..ty }))?
        }
        _ => None,
    }
}

/// The type of a variable, from the nearest declaration in a scope that is open at `at`.
fn variable(scan: &Scanned, name: &str, at: usize, elsewhere: &Elsewhere<'_>, steps: usize) -> Option<Ty> {
    if name.is_empty() {
        return None;
    }
    match declaration(scan, name, scan.visible_before(at)) {
        Some((ty, i)) if ty.base == "auto" => {
            // `auto p = value;`
            if !scan.is(i + 1, b'=') {
                return None;
            }
            let end = (i + 2..scan.tokens.len()).find(|&k| scan.is(k, b';'))?;
            let ty = type_of(scan, scan.tokens.get(i + 2..end)?, i, elsewhere, steps + 1)?;
            Some(ty)
        }
        Some((ty, _)) => Some(ty),
        None => elsewhere(name),
    }
}

/// The first of the places at which `name` is declared: its type and the token.
pub(super) fn declaration(scan: &Scanned, name: &str, places: impl Iterator<Item = usize>) -> Option<(Ty, usize)> {
    for i in places {
        if scan.word(i) != name {
            continue;
        }
        let follows = scan.tokens.get(i + 1).map(|t| t.kind);
        if !matches!(follows, Some(Kind::Punct(b'=' | b';' | b',' | b')' | b'[' | b'{' | b'(' | b':')))
            || scan.is(i + 1, b'=') && scan.is(i + 2, b'=')
        {
            continue;
        }
        if let Some(ty) = declarator(scan, i) {
            return Some((ty, i));
        }
    }
    None
}

/// The type that the statement around token `i` gives the name there, if it declares it.
fn declarator(scan: &Scanned, i: usize) -> Option<Ty> {
    let text = scan.text.as_str();
    let before = scan.tokens.get(i.checked_sub(1)?)?;
    let kind_fits = before.kind == Kind::Word || matches!(before.kind, Kind::Punct(b'*' | b'&' | b'>' | b','));
    if !kind_fits || matches!(before.text(text), "return" | "case" | "delete" | "new" | "else" | "goto") {
        return None;
    }
    // The statement, or the parameter, that the name stands in.
    let (mut angle, mut paren, mut start, mut comma) = (0usize, 0usize, 0, None);
    for k in (0..i).rev() {
        match scan.tokens[k].kind {
            Kind::Punct(b'>') => angle += 1,
            Kind::Punct(b'<') => angle = angle.saturating_sub(1),
            Kind::Punct(b')' | b']') => paren += 1,
            Kind::Punct(b'(' | b'[') if paren > 0 => paren -= 1,
            Kind::Punct(b',') if angle == 0 && paren == 0 => comma = comma.or(Some(k)),
            Kind::Punct(b'(') => {
                // A parameter list: the nearest comma begins the parameter.
                start = comma.map_or(k + 1, |c| c + 1);
                comma = None;
                break;
            }
            Kind::Punct(b';' | b'{' | b'}' | b':') | Kind::Directive if paren == 0 => {
                start = k + 1;
                break;
            }
            _ => {}
        }
    }
    let brackets = usize::from(scan.is(i + 1, b'['));
    if let Some(comma) = comma {
        // `float *a, *b;`: the type stands before the first name, the stars before each.
        let stars = scan.tokens.get(comma + 1..i)?;
        if !stars.iter().all(|t| t.is(b'*') || t.is(b'&')) {
            return None;
        }
        let first = scan.tokens.get(start..comma)?;
        let end = first
            .iter()
            .position(|t| matches!(t.kind, Kind::Punct(b'*' | b'&' | b'=' | b',')))
            .unwrap_or_else(|| first.iter().rposition(|t| t.kind == Kind::Word).unwrap_or(0));
        let (ty, _) = declared_type(text, first.get(..end)?)?;
        return Some(Ty { base: ty.base, stars: stars.iter().filter(|t| t.is(b'*')).count() + brackets });
    }
    let (ty, name) = declared_type(text, scan.tokens.get(start..=i)?)?;
    (name == scan.word(i)).then_some(Ty { stars: ty.stars + brackets, ..ty })
}

/// Matches the type of a function parameter against that of an argument, and binds the template parameters in it.
pub(super) fn bind(pattern: &Ty, actual: &Ty, parameters: &[Parameter], out: &mut [Option<String>]) {
    if let Some(at) = parameters.iter().position(|p| p.name == pattern.base && !p.name.is_empty() && !p.pack) {
        if let Some(stars) = actual.stars.checked_sub(pattern.stars)
            && let Some(slot) = out.get_mut(at)
            && slot.is_none()
        {
            *slot = Some(Ty { base: actual.base.clone(), stars }.text());
        }
        return;
    }
    let parts = |ty: &Ty| -> Option<(String, Scanned)> {
        let (name, list) = ty.base.split_once('<')?;
        Some((name.trim().to_owned(), Scanned::new(list.strip_suffix('>')?.to_owned())))
    };
    let (Some((a, inside)), Some((b, given))) = (parts(pattern), parts(actual)) else { return };
    if a != b || pattern.stars != actual.stars {
        return;
    }
    for (p, g) in split(&inside.tokens).into_iter().zip(split(&given.tokens)) {
        let value = text_of(&given.text, g);
        match (declared_type(&inside.text, p), declared_type(&given.text, g)) {
            (Some((p, _)), Some((g, _))) => bind(&p, &g, parameters, out),
            (Some((p, _)), None) => bind(&p, &Ty { base: value, stars: 0 }, parameters, out),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::template::{function_types, heads};
    use super::*;

    fn deduced(body: &str) -> Vec<Option<String>> {
        let kernel = "template <typename T, typename U> __global__ void k(const T* __restrict__ a, U n, V<T> v)";
        let (parameters, types) = (heads(kernel).concat(), function_types(kernel, "k"));
        let scan = Scanned::new(body.to_owned());
        let at = (0..scan.tokens.len()).find(|&i| scan.word(i) == "k").expect("a call");
        let (list, _) = arguments(&scan.tokens, at + 1).expect("arguments");
        let mut out = vec![None; 2];
        for (ty, argument) in types.iter().zip(list) {
            let elsewhere = |n: &str| (n == "member_").then(|| Ty { base: "short".into(), stars: 1 });
            if let (Some(ty), Some(actual)) = (ty, type_of(&scan, argument, at, &elsewhere, 0)) {
                bind(ty, &actual, &parameters, &mut out);
            }
        }
        out
    }

    #[test]
    fn types_of_arguments_are_followed() {
        let cases: &[(&str, Option<&str>, Option<&str>)] = &[
            ("void h(float* p, int n) { k(p, n); }", Some("float"), Some("int")),
            ("void h() { double *a, *b; unsigned int m = 3; k(b, m); }", Some("double"), Some("unsigned int")),
            ("void h() { float a, b[4]; k(b, 2.5f); }", Some("float"), Some("float")),
            ("void h(void* p) { k((half*)p, 3); k(0, 0); }", Some("half"), Some("int")),
            ("void h(void* p) { k(static_cast<const half2*>(p), true); }", Some("half2"), Some("bool")),
            ("void h(float** p) { k(p, p[0][1]); }", Some("float*"), None),
            ("void h(float** p) { k(p[1], 1u); }", Some("float"), Some("unsigned int")),
            ("void h(std::vector<int> v) { k(v.data(), 1.0); }", Some("int"), Some("double")),
            ("void h(Tensor t) { k(t.data_ptr<int64_t>(), 1); }", Some("int64_t"), Some("int")),
            ("void h(float* p) { auto q = p + 4; k(q + 1, 1); }", Some("float"), Some("int")),
            ("void h(float x) { k(&x, x); }", Some("float"), Some("float")),
            ("void h() { k(member_, member_[1]); }", Some("short"), Some("short")),
            ("void h(V<char> v) { k(0, 0, v); }", Some("char"), Some("int")),
            ("void h() { { float* p; } k(p, q); }", None, None),
            ("void h(int n) { k(f(n), n + 1); }", None, None),
            ("void h(float* p) { return k(p(1), n ? 1 : 2); }", None, None),
        ];
        for (body, t, u) in cases {
            let got = deduced(body);
            assert_eq!((got[0].as_deref(), got[1].as_deref()), (*t, *u), "{body}");
        }
    }
}
