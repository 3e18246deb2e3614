//! The macros of a file, read off its text: what a name may hide.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Macro names and the identifiers of their bodies, transitively.
#[derive(Clone, Debug, Default)]
pub struct Macros {
    /// The file they were read from.
    pub text: Arc<str>,
    bodies: BTreeMap<String, BTreeSet<String>>,
    /// Each definition after the name: parameters and body.
    texts: BTreeMap<String, Vec<String>>,
}

/// Redefining one of these means that the text does not say what it seems to.
const RESERVED: &[&str] = &[
    "int", "float", "double", "unsigned", "signed", "long", "short", "char", "bool", "void", "const", "if", "else", "for",
    "while", "do", "return", "break", "continue", "switch", "case", "static", "threadIdx", "blockIdx", "blockDim",
    "gridDim", "size_t", "half", "float4", "goto", "volatile", "auto",
];

impl Macros {
    /// Reads every `#define` of `text`, whichever `#if` it stands in.
    pub fn read(text: &str) -> Macros {
        let mut bodies: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let Some(rest) = line.trim_start().strip_prefix('#') else { continue };
            let Some(rest) = rest.trim_start().strip_prefix("define") else { continue };
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
        Macros { text: Arc::from(text), bodies, texts }
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

    /// Whether every definition of `name` is an arithmetic expression over its parameters, numbers, other such macros and
    /// calls of `pure` functions: no assignment, no statement, no address, no subscript, no other name.
    pub fn is_plain(&self, name: &str, pure: &[&str]) -> bool {
        self.plain_within(name, pure, 0)
    }

    fn plain_within(&self, name: &str, pure: &[&str], depth: u32) -> bool {
        let Some(texts) = self.texts.get(name).filter(|_| depth < 8) else { return false };
        texts.iter().all(|text| {
            let (params, body) = match text.strip_prefix('(').and_then(|t| t.split_once(')')) {
                Some((params, body)) => (identifiers(params), body),
                None => (vec![], text.as_str()),
            };
            let code = ["==", "<=", ">=", "!=", "&&"].iter().fold(body.to_owned(), |t, op| t.replace(op, " , "));
            let odd = code.contains("++") || code.contains("--") || code.contains(|c: char| "=;{}[]&#\"'\\.~@$`".contains(c) && c != '.');
            !odd && identifiers(&strip_numbers(&code)).iter().all(|w| {
                params.contains(w)
                    || ["int", "unsigned", "float", "long", "sizeof", "size_t", "double", "bool"].contains(&w.as_str())
                    || (pure.contains(&w.as_str()) && !self.contains(w))
                    || self.plain_within(w, pure, depth + 1)
            })
        })
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
        let m = Macros::read(
            "#define SQ(x) ((x) * (x))\n#define UP(a, b) (((a) + (b) - 1) / (b))\n#define LN 0x1Fu\n#define TWO SQ(2.0f)\n\
             #define SET(x) (x = 1)\n#define INC(x) x++\n#define AT(i) data[i]\n#define REF(x) (&x)\n#define HID(x) (x + i)\n\
             #define CALL(x) f(x)\n#define MX(a) fmaxf(a, 0.f)\n#define TWICE 1\n#define TWICE j++\n#define SELF SELF\n",
        );
        for name in ["SQ", "UP", "LN", "TWO", "MX"] {
            assert!(m.is_plain(name, pure), "{name}");
        }
        for name in ["SET", "INC", "AT", "REF", "HID", "CALL", "TWICE", "SELF", "missing"] {
            assert!(!m.is_plain(name, pure), "{name}");
        }
    }

    #[test]
    fn sees_through_continuation_lines_and_other_macros() {
        let m = Macros::read("#define A(x) do { \\\n  i++; B; } while (0)\n# define B hidden[j] = 0\nint defineC;\n");
        let names = m.mentions("A");
        assert!(["i", "B", "hidden", "j"].iter().all(|n| names.contains(*n)), "{names:?}");
        assert!(!m.contains("C"));
        assert_eq!(Macros::read("#define float double\n").shadows(std::iter::empty()), Some("float".into()));
    }
}
