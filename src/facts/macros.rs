//! The macros of a file, read off its text: what a name may hide.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use super::because::Because;
use super::names::{Effects, Names};
use crate::ir::{FunctionRef, Global, Program, Unit};
use crate::source::Span;
use crate::source::tokens::{TokenKind, WordState, scan_code};

/// Macro names and the identifiers of their bodies, transitively.
#[derive(Clone, Debug, Default)]
pub struct Macros {
    /// The file they were read from.
    pub text: Arc<str>,
    bodies: BTreeMap<String, BTreeSet<String>>,
    /// Each definition after the name: parameters and body.
    texts: BTreeMap<String, Vec<String>>,
    /// Names that are tested by `#ifdef`, `#ifndef` or `defined(..)`: the command line may define them otherwise.
    tested: BTreeSet<String>,
    /// What names mean in the program to which the file belongs.
    names: Option<Arc<Names>>,
    /// The unit of that program.
    unit: u32,
    effects: Arc<Effects>,
    /// Where each word stands first that no `(` follows.
    bare: OnceLock<HashMap<String, (u32, u32), WordState>>,
}

/// Redefining one of these means that the text does not say what it seems to.
const RESERVED: &[&str] = &[
    "int",
    "float",
    "double",
    "unsigned",
    "signed",
    "long",
    "short",
    "char",
    "bool",
    "void",
    "const",
    "if",
    "else",
    "for",
    "while",
    "do",
    "return",
    "break",
    "continue",
    "switch",
    "case",
    "static",
    "threadIdx",
    "blockIdx",
    "blockDim",
    "gridDim",
    "size_t",
    "half",
    "float4",
    "goto",
    "volatile",
    "auto",
];

impl Macros {
    /// Reads every `#define` of `text`, whichever `#if` it stands in.
    pub fn read(text: Arc<str>) -> Macros {
        let mut bodies: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut tested = BTreeSet::new();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let Some(rest) = line.trim_start().strip_prefix('#') else { continue };
            let directive = rest.trim_start();
            if directive.starts_with("if") || directive.starts_with("elif") {
                tested.extend(identifiers(directive).into_iter().skip(1));
            }
            let Some(rest) = directive.strip_prefix("define") else { continue };
            if !rest.starts_with([' ', '\t']) {
                continue;
            }
            let mut body = rest.to_owned();
            while body.trim_end().ends_with('\\') {
                let Some(next) = lines.next() else { break };
                body.push('\n');
                body.push_str(next);
            }
            let mut words = identifiers(&body);
            if !words.is_empty() {
                let name = words.remove(0);
                let after = body.trim_start().strip_prefix(name.as_str()).unwrap_or(&body).to_owned();
                texts.entry(name.clone()).or_default().push(after);
                bodies.entry(name).or_default().extend(words);
            }
        }
        let (effects, bare) = (Arc::default(), OnceLock::new());
        Macros { text, bodies, texts, tested, names: None, unit: 0, effects, bare }
    }

    /// The same macros in a program with these names.
    pub fn within(mut self, names: Arc<Names>, unit: u32) -> Macros {
        self.names = Some(names);
        self.unit = unit;
        self.effects = Arc::default();
        self
    }

    /// What names mean in the program; absent where the file was read by itself.
    pub fn names(&self) -> Option<&Names> {
        self.names.as_deref()
    }

    /// The functions that `name` may mean in this file.
    pub fn functions(&self, program: &Program, name: &str) -> Option<Vec<FunctionRef>> {
        Some(self.names()?.functions(program, self.unit, name))
    }

    /// Where the file first has the word `name` without a `(` after it: start and end.
    pub fn bare_use(&self, name: &str) -> Option<(u32, u32)> {
        let read = || {
            let text: &str = &self.text;
            let mut found = HashMap::<String, _, WordState>::default();
            let tokens = scan_code(text);
            for w in tokens.windows(2).filter(|w| w[0].kind == TokenKind::Word && w[1].of(text) != "(") {
                if !found.contains_key(w[0].of(text)) {
                    found.insert(w[0].of(text).to_owned(), (w[0].start, w[0].end));
                }
            }
            found
        };
        self.bare.get_or_init(read).get(name).copied()
    }

    pub fn effects(&self) -> &Effects {
        &self.effects
    }

    /// Whether all definitions of the constant `name` in the text are among `constants`: a branch that was not read may
    /// define it otherwise.
    pub fn is_settled(&self, name: &str, constants: &[(String, i128, Span)]) -> bool {
        let read = constants.iter().filter(|(n, ..)| n == name).count();
        self.texts.get(name).is_none_or(|t| t.len() <= read)
    }

    /// The assumption on which the value of a constant rests that the command line may set, by itself or through a name in
    /// its body.
    pub fn reservation(&self, name: &str) -> Because {
        let mut open = vec![name];
        let mut seen = BTreeSet::new();
        while let Some(word) = open.pop() {
            if self.tested.contains(word) {
                return Because::assuming("implicit:default-macros");
            }
            if seen.insert(word) {
                open.extend(self.bodies.get(word).into_iter().flatten().map(String::as_str));
            }
        }
        Because::nothing()
    }

    /// What the value of a constant variable rests on; none where a macro that its initialiser names may be another one, in
    /// a branch that was not read.
    pub fn behind(&self, constant: &Global, unit: &Unit) -> Option<Because> {
        let words = |g: &Global| g.init.as_deref().map(identifiers).unwrap_or_default();
        let mut open = words(constant);
        let mut seen = BTreeSet::new();
        let mut because = Because::nothing();
        while let Some(word) = open.pop() {
            if !seen.insert(word.clone()) {
                continue;
            }
            let read = unit.constants.iter().filter(|(n, ..)| *n == word).count();
            if self.texts.get(&word).is_some_and(|texts| texts.len() > read.max(1)) {
                return None;
            }
            because = because.and(&self.reservation(&word));
            open.extend(self.bodies.get(&word).into_iter().flatten().cloned());
            open.extend(unit.globals.iter().filter(|g| g.name == word).flat_map(words));
        }
        Some(because)
    }

    /// Whether a definition of `name` has an unsigned number in it.
    pub fn is_unsigned(&self, name: &str) -> bool {
        let number = |t: &String| {
            let mut words = t.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            words.any(|w| {
                w.starts_with(|c: char| c.is_ascii_digit())
                    && w.to_ascii_lowercase().trim_end_matches('l').ends_with('u')
            }) || ["unsigned", "size_t", "sizeof", "uint"].iter().any(|w| t.contains(w))
        };
        self.texts.get(name).is_some_and(|texts| texts.iter().any(number))
    }

    pub fn contains(&self, name: &str) -> bool {
        self.bodies.contains_key(name)
    }

    /// Every identifier that the expansion of `name` may mention.
    pub fn mentions(&self, name: &str) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut open = vec![name.to_owned()];
        while let Some(next) = open.pop() {
            for word in self.bodies.get(&next).into_iter().flatten() {
                if found.insert(word.clone()) {
                    open.push(word.clone());
                }
            }
        }
        found
    }

    /// Whether every definition of `name` is an expression that writes nothing: over its parameters, numbers, `names`,
    /// other such macros and calls of `pure` functions; no assignment, no statement, no address, no subscript.
    pub fn is_plain(&self, name: &str, pure: &[&str], names: &dyn Fn(&str) -> bool) -> bool {
        self.plain_within(name, pure, names, 0)
    }

    fn plain_within(&self, name: &str, pure: &[&str], names: &dyn Fn(&str) -> bool, depth: u32) -> bool {
        let Some(texts) = self.texts.get(name).filter(|_| depth < 8) else { return false };
        texts.iter().all(|text| {
            let (params, body) = match text.strip_prefix('(').and_then(|t| t.split_once(')')) {
                Some((params, body)) => (identifiers(params), body),
                None => (vec![], text.as_str()),
            };
            let mut code = ["==", "<=", ">=", "!=", "&&"].iter().fold(body.to_owned(), |t, op| t.replace(op, " , "));
            for cast in TYPES {
                code = code.replace(&format!("({cast})"), " ");
            }
            if code.contains("++") || code.contains("--") || code.contains(|c: char| "=;{}[]&#\"'\\~@$`".contains(c)) {
                return false;
            }
            let tokens = tokens(&strip_numbers(&code));
            tokens.iter().enumerate().all(|(n, t)| {
                let called = tokens.get(n + 1).is_some_and(|next| next == "(");
                if !t.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
                    // `(f)(x)` is a call, `a.f` and `a->f` are members.
                    return !(t == ")" && called) && t != ".";
                }
                match (params.contains(t), called) {
                    (true, called) => !called,
                    (false, _) if TYPES.contains(&t.as_str()) || t == "sizeof" => true,
                    (false, true) => {
                        pure.contains(&t.as_str()) && !self.contains(t) || self.plain_within(t, pure, names, depth + 1)
                    }
                    (false, false) => {
                        if self.contains(t) {
                            self.plain_within(t, pure, names, depth + 1)
                        } else {
                            names(t)
                        }
                    }
                }
            })
        })
    }

    /// Whether the text of an argument of `name` may matter: it is turned into a string or part of another name.
    pub fn quotes(&self, name: &str) -> bool {
        let own = |n: &str| self.texts.get(n).is_some_and(|texts| texts.iter().any(|t| t.contains('#')));
        own(name) || self.mentions(name).iter().any(|n| own(n))
    }

    /// The words that stand in bodies of the file's macros.
    pub(super) fn words(&self) -> impl Iterator<Item = &String> {
        self.bodies.values().flatten()
    }

    /// Whether any macro of the file may expand to something with this name in it.
    pub fn any_mentions(&self, name: &str) -> bool {
        self.bodies.values().any(|words| words.contains(name))
    }

    /// A keyword, a builtin or one of `names` that is a macro in this file.
    pub fn shadows<'a>(&self, names: impl Iterator<Item = &'a str>) -> Option<String> {
        let reserved = RESERVED.iter().copied();
        reserved.chain(names).find(|n| self.contains(n)).map(str::to_owned)
    }
}

const TYPES: &[&str] = &["int", "unsigned", "float", "long", "size_t", "double", "bool"];

/// Words and single other characters.
fn tokens(text: &str) -> Vec<String> {
    let mut found: Vec<String> = vec![];
    let mut in_word = false;
    for c in text.chars() {
        let word = c.is_ascii_alphanumeric() || c == '_';
        match found.last_mut() {
            Some(last) if word && in_word => last.push(c),
            _ if !c.is_whitespace() => found.push(c.to_string()),
            _ => {}
        }
        in_word = word;
    }
    found
}

/// Blanks what starts like a number, with its suffix.
fn strip_numbers(text: &str) -> String {
    let mut out = String::new();
    let mut previous = ' ';
    let mut in_number = false;
    for c in text.chars() {
        let word = c.is_ascii_alphanumeric() || c == '_' || c == '.';
        in_number = word && (in_number || c.is_ascii_digit() && !(previous.is_ascii_alphanumeric() || previous == '_'));
        out.push(if in_number { ' ' } else { c });
        previous = c;
    }
    out
}

fn identifiers(text: &str) -> Vec<String> {
    let mut found = vec![];
    for word in text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')) {
        if word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            found.push(word.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_expressions_are_told_from_the_rest() {
        let pure = &["fmaxf"];
        let m = Macros::read(Arc::from(
            "#define SQ(x) ((x) * (x))\n#define UP(a, b) (((a) + (b) - 1) / (b))\n#define LN 0x1Fu\n#define TWO SQ(2.0f)\n\
             #define SET(x) (x = 1)\n#define INC(x) x++\n#define AT(i) data[i]\n#define REF(x) (&x)\n#define HID(x) (x + i)\n\
             #define CALL(x) f(x)\n#define MX(a) fmaxf(a, 0.f)\n#define TWICE 1\n#define TWICE j++\n#define SELF SELF\n\
             #define APPLY(f, x) f(x)\n#define APPLY2(f, x) (f)(x)\n#define MEMBER(a) a.next\n#define CAST(x) ((float)(x))\n\
             #define HIDCALL(x) i(x)\n",
        ));
        let none = |_: &str| false;
        for name in ["SQ", "UP", "LN", "TWO", "MX", "CAST"] {
            assert!(m.is_plain(name, pure, &none), "{name}");
        }
        assert!(m.is_plain("HID", pure, &|n| n == "i"));
        assert!(!m.is_plain("HIDCALL", pure, &|n| n == "i"));
        for name in ["SET", "INC", "AT", "REF", "HID", "CALL", "TWICE", "SELF", "APPLY", "APPLY2", "MEMBER", "missing"]
        {
            assert!(!m.is_plain(name, pure, &none), "{name}");
        }
    }

    #[test]
    fn sees_through_continuation_lines_and_other_macros() {
        let m = Macros::read(Arc::from(
            "#define A(x) do { \\\n  i++; B; } while (0)\n# define B hidden[j] = 0\nint defineC;\n",
        ));
        let names = m.mentions("A");
        assert!(["i", "B", "hidden", "j"].iter().all(|n| names.contains(*n)), "{names:?}");
        assert!(!m.contains("C"));
        assert_eq!(Macros::read(Arc::from("#define float double\n")).shadows(std::iter::empty()), Some("float".into()));
    }
}
