//! The macros of a file, read off its text: what a name may hide.

use std::collections::{BTreeMap, BTreeSet};

/// Macro names and the identifiers of their bodies, transitively.
#[derive(Clone, Debug, Default)]
pub struct Macros {
    bodies: BTreeMap<String, BTreeSet<String>>,
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
                bodies.entry(name).or_default().extend(words);
            }
        }
        Macros { bodies }
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
    fn sees_through_continuation_lines_and_other_macros() {
        let m = Macros::read("#define A(x) do { \\\n  i++; B; } while (0)\n# define B hidden[j] = 0\nint defineC;\n");
        let names = m.mentions("A");
        assert!(["i", "B", "hidden", "j"].iter().all(|n| names.contains(*n)), "{names:?}");
        assert!(!m.contains("C"));
        assert_eq!(Macros::read("#define float double\n").shadows(std::iter::empty()), Some("float".into()));
    }
}
