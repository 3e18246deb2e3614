//! Expands the function-like macros of a program in the text of one item, so that launches and type switches written
//! as macros can be read.
//!
//! This is no preprocessor: conditionals are not evaluated, and of several definitions of a name the longest is taken.
//! What comes out is only looked at for instantiations, which the compiler then judges.

use std::collections::BTreeMap;

use super::super::items::ItemKind;
use super::super::lex::{self, Kind, Token};
use super::super::program::Program;
use super::template::arguments;

/// A function-like macro.
struct Macro<'p> {
    parameters: Vec<&'p str>,
    variadic: bool,
    body: &'p str,
}

/// The function-like macros of a program.
pub(super) struct Macros<'p> {
    table: BTreeMap<&'p str, Macro<'p>>,
}

const MAX_ROUNDS: usize = 8;
/// How long the text of one item may become.
const MAX_TEXT: usize = 256 << 10;

impl<'p> Macros<'p> {
    pub fn of(program: &'p Program) -> Macros<'p> {
        let mut table: BTreeMap<&str, Macro> = BTreeMap::new();
        for (i, item) in program.items().filter(|(_, it)| it.kind == ItemKind::Define) {
            let Some((name, found)) = read(program.text(i, item.start, item.end)) else { continue };
            if table.get(name).is_none_or(|old| old.body.len() < found.body.len()) {
                table.insert(name, found);
            }
        }
        Macros { table }
    }

    pub fn has(&self, name: &str) -> bool {
        self.table.contains_key(name)
    }

    /// The text with all calls of macros expanded, a few levels deep. It is longer than `text`, never shorter in words.
    pub fn expand(&self, text: &str) -> String {
        let mut current = text.to_owned();
        for _ in 0..MAX_ROUNDS {
            match self.once(&current) {
                Some(next) if next.len() <= MAX_TEXT => current = next,
                _ => break,
            }
        }
        current
    }

    /// One level; `None` where no macro is called.
    fn once(&self, text: &str) -> Option<String> {
        let tokens = lex::tokens(text);
        let (mut out, mut copied, mut i, mut changed) = (String::with_capacity(text.len()), 0, 0, false);
        while let Some(token) = tokens.get(i) {
            let called = token.kind == Kind::Word && tokens.get(i + 1).is_some_and(|t| t.is(b'('));
            let name = token.text(text);
            let known = called && (self.has(name) || aten(name).is_some());
            let Some((list, end)) = known.then(|| arguments(&tokens, i + 1)).flatten() else {
                i += 1;
                continue;
            };
            let list: Vec<&str> = list.iter().map(|a| source(text, a)).collect();
            let expansion = match self.table.get(name) {
                Some(found) => found.apply(&list),
                None => type_switch(aten(name).unwrap_or(&[]), &list),
            };
            out.push_str(text.get(copied..token.start).unwrap_or(""));
            out.push_str(&expansion);
            copied = tokens.get(end - 1).map_or(text.len(), |t| t.end);
            (changed, i) = (true, end);
            if out.len() > MAX_TEXT {
                return None;
            }
        }
        out.push_str(text.get(copied..).unwrap_or(""));
        changed.then_some(out)
    }
}

fn source<'t>(text: &'t str, tokens: &[Token]) -> &'t str {
    let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else { return "" };
    text.get(first.start..last.end).unwrap_or("")
}

/// `#define NAME(a, b) body`; an object-like macro gives `None`.
fn read(define: &str) -> Option<(&str, Macro<'_>)> {
    let directive = Token { kind: Kind::Directive, start: 0, end: define.len() };
    let (_, rest) = lex::directive(directive, define);
    let tokens = lex::tokens(rest);
    let (name, open) = (tokens.first()?, tokens.get(1)?);
    if !open.is(b'(') || open.start != name.end {
        return None;
    }
    let close = tokens.iter().position(|t| t.is(b')'))?;
    let inside = tokens.get(2..close)?;
    let parameters = inside.iter().filter(|t| t.kind == Kind::Word).map(|t| t.text(rest)).collect();
    let variadic = inside.iter().any(|t| t.is(b'.'));
    let body = source(rest, tokens.get(close + 1..)?);
    Some((name.text(rest), Macro { parameters, variadic, body }))
}

impl Macro<'_> {
    fn apply(&self, list: &[&str]) -> String {
        let rest = list.get(self.parameters.len()..).unwrap_or(&[]).join(", ");
        let value = |word: &str| -> Option<&str> {
            if self.variadic && word == "__VA_ARGS__" {
                return Some(&rest);
            }
            let at = self.parameters.iter().position(|p| *p == word)?;
            Some(list.get(at).copied().unwrap_or(""))
        };
        let tokens = lex::tokens(self.body);
        let mut out = String::with_capacity(self.body.len());
        let mut i = 0;
        while let Some(token) = tokens.get(i) {
            let hash = |k: usize| tokens.get(k).is_some_and(|t| t.is(b'#') || t.kind == Kind::Directive);
            if hash(i) && hash(i + 1) {
                // `a ## b`: the two become one word.
                out.truncate(out.trim_end().len());
                i += 2;
                continue;
            }
            if token.is(b'#') {
                out.push_str("\"\" ");
                i += 2;
                continue;
            }
            let text = token.text(self.body);
            out.push_str(value(text).unwrap_or(text));
            let next = tokens.get(i + 1);
            if next.is_some_and(|n| n.start > token.end) && !(hash(i + 1) && hash(i + 2)) {
                out.push(' ');
            }
            i += 1;
        }
        // On one line a directive would swallow what follows.
        format!(" {} ", out.trim())
    }
}

/// The types of PyTorch's documented dispatch macros, whose header is seldom in view: for each the body runs with
/// `scalar_t` as that type. `at::Half` and `at::BFloat16` stay names that only that header could explain.
fn aten(name: &str) -> Option<&'static [&'static str]> {
    let rest = name.strip_prefix("AT_DISPATCH_")?;
    Some(match rest {
        "FLOATING_TYPES" => &["double", "float"],
        "FLOATING_TYPES_AND_HALF" => &["double", "float", "at::Half"],
        "FLOATING_TYPES_AND" | "FLOATING_TYPES_AND2" => &["double", "float", "at::BFloat16"],
        "INTEGRAL_TYPES" => &["unsigned char", "signed char", "int", "long", "short"],
        "ALL_TYPES" => &["unsigned char", "signed char", "int", "long", "short", "double", "float"],
        "ALL_TYPES_AND_HALF" => {
            &["unsigned char", "signed char", "int", "long", "short", "double", "float", "at::Half"]
        }
        _ => return None,
    })
}

fn type_switch(types: &[&str], list: &[&str]) -> String {
    let body = list.get(1..).unwrap_or(&[]).join(", ");
    types.iter().map(|t| format!(" {{ using scalar_t = {t}; {body}; }}")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::program::NoHeaders;
    use super::*;

    fn expand(defines: &str, text: &str) -> String {
        let program = Program::load("a.cu", defines, &NoHeaders);
        let all = Macros::of(&program).expand(text);
        all.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn calls_of_macros_are_expanded() {
        let cases = [
            ("#define ADD(a, b) a + b\n", "ADD(f(1, 2), y)", "f(1, 2) + y"),
            ("#define CALL(...) run(__VA_ARGS__)\n", "CALL(a, b)", "run(a, b)"),
            ("#define NAME(t) k_##t\n", "NAME(float)<1>", "k_float <1>"),
            ("#define SAY(t) log(#t), t\n", "SAY(x)", "log(\"\" ), x"),
            ("#define A(x) B(x) x\n#define B(x) <x>\n", "A(1)", "<1> 1"),
            ("#define OBJECT (3)\n", "OBJECT", "OBJECT"),
            ("#define F(x) x\n", "F", "F"),
            ("#define F(x) F(x)\n", "F(1)", "F(1)"),
        ];
        for (defines, text, want) in cases {
            assert_eq!(expand(defines, text), want, "{defines}");
        }
    }

    #[test]
    fn growth_ends() {
        let defines = "#define D(x) D(x) D(x) D(x) D(x) D(x) D(x) D(x) D(x) D(x) D(x) D(x) D(x) D(x) D(x) D(x)\n";
        assert!(expand(defines, "D(1)").len() <= MAX_TEXT);
        assert!(expand("#define D(\n#define\n#define E(x", "D(1 E(").contains("D(1"));
    }

    #[test]
    fn a_known_dispatch_is_a_switch_of_types() {
        let text = expand("", "AT_DISPATCH_FLOATING_TYPES(x.type(), \"f\", [&] { k<scalar_t>(a, b); })");
        assert_eq!(text.matches("k<scalar_t>(a, b);").count(), 2);
        assert!(text.contains("using scalar_t = float;") && text.contains("using scalar_t = double;"));
        assert_eq!(expand("", "AT_DISPATCH_SOMETHING(x, [] {})"), "AT_DISPATCH_SOMETHING(x, [] {})");
    }
}
