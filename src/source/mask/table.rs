//! The fixed part of what the mask knows, read once from `grammar/mask.toml`.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use super::AttributeKind;
use crate::source::tokens::WordState;

/// What a word is to the mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Word {
    /// Nothing known, small letters.
    #[default]
    Plain,
    /// Nothing known, all capitals: probably a macro.
    Upper,
    /// `void`, `int`, `size_t` ..
    Primitive,
    /// A type that is no keyword.
    Type,
    Qualifier,
    /// `__device__`, `__shared__` ..
    Space,
    Global,
    Attribute(AttributeKind),
    /// Says nothing; always blanked.
    Blank,
    /// `if`, `for`, `while`, `switch`, `catch`.
    Control,
    /// `else`, `do`, `try`.
    Lead,
    Case,
    /// `return`, `new`, `sizeof` .. : keywords of expressions.
    Keyword,
    Record,
    Enum,
    Namespace,
    Template,
    Typename,
    Operator,
    Using,
    Access,
    Asm,
    Macro(MacroKind),
}

/// What a macro stands for, judged by its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MacroKind {
    /// Nothing at all.
    Empty,
    /// A value, or a word that may be one.
    Value,
    /// A function-like macro that gives an expression.
    Expression,
    /// A type.
    Type,
    /// A statement or several, with or without the last semicolon.
    Statement,
    /// The head of a loop or condition, whose body follows the call.
    Loop,
    /// Only qualifiers and attributes.
    Attribute,
    /// A whole definition of a kernel.
    KernelDefinition,
    /// `__global__` with other specifiers; `true` when a return type is in it.
    KernelAlias(bool),
}

#[derive(serde::Deserialize)]
struct Raw {
    attributes: BTreeMap<String, AttributeKind>,
    words: RawWords,
    unknown: RawUnknown,
}

#[derive(serde::Deserialize)]
struct RawWords {
    blank: Vec<String>,
    qualifier: Vec<String>,
    space: Vec<String>,
    primitive: Vec<String>,
    #[serde(rename = "type")]
    types: Vec<String>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
struct RawUnknown {
    attribute_suffixes: Vec<String>,
    type_argument_calls: Vec<String>,
}

/// The table as it is used.
#[derive(Default)]
pub struct Table {
    words: HashMap<String, Word, WordState>,
    pub attribute_suffixes: Vec<String>,
    pub type_argument_calls: Vec<String>,
}

/// Words of the language, which no project may change.
const LANGUAGE: &[(Word, &[&str])] = &[
    (Word::Global, &["__global__", "__tile_global__"]),
    (Word::Control, &["if", "for", "while", "switch", "catch"]),
    (Word::Lead, &["else", "do", "try"]),
    (Word::Case, &["case", "default"]),
    (
        Word::Keyword,
        &[
            "return",
            "new",
            "delete",
            "throw",
            "goto",
            "break",
            "continue",
            "sizeof",
            "alignof",
            "decltype",
            "typeid",
            "noexcept",
            "static_cast",
            "reinterpret_cast",
            "const_cast",
            "dynamic_cast",
            "static_assert",
            "true",
            "false",
            "nullptr",
            "this",
            "and",
            "or",
            "not",
            "xor",
            "bitand",
            "bitor",
            "compl",
            "and_eq",
            "or_eq",
            "not_eq",
            "co_await",
            "co_return",
            "co_yield",
            "requires",
            "typeof",
            "__typeof__",
            "_Static_assert",
            "defined",
            "concept",
        ],
    ),
    (Word::Record, &["struct", "class", "union"]),
    (Word::Enum, &["enum"]),
    (Word::Namespace, &["namespace"]),
    (Word::Template, &["template"]),
    (Word::Typename, &["typename"]),
    (Word::Operator, &["operator"]),
    (Word::Using, &["using", "typedef"]),
    (Word::Access, &["public", "private", "protected"]),
    (Word::Asm, &["asm", "__asm__", "__asm"]),
];

impl Table {
    fn read(text: &str) -> Result<Table, toml::de::Error> {
        let raw: Raw = toml::from_str(text)?;
        let mut words = HashMap::default();
        let lists = [
            (Word::Qualifier, &raw.words.qualifier),
            (Word::Space, &raw.words.space),
            (Word::Primitive, &raw.words.primitive),
            (Word::Type, &raw.words.types),
            (Word::Blank, &raw.words.blank),
        ];
        for (word, names) in lists {
            words.extend(names.iter().map(|n| (n.clone(), word)));
        }
        words.extend(raw.attributes.into_iter().map(|(n, k)| (n, Word::Attribute(k))));
        for (word, names) in LANGUAGE {
            words.extend(names.iter().map(|n| (n.to_string(), *word)));
        }
        Ok(Table {
            words,
            attribute_suffixes: raw.unknown.attribute_suffixes,
            type_argument_calls: raw.unknown.type_argument_calls,
        })
    }

    /// What the table says of `word`, and `Plain` or `Upper` where it says nothing.
    pub fn word(&self, word: &str) -> Word {
        match self.words.get(word) {
            Some(&w) => w,
            None if is_upper(word) => Word::Upper,
            None => Word::Plain,
        }
    }

    pub fn is_attribute_name(&self, word: &str) -> bool {
        self.attribute_suffixes.iter().any(|s| word.ends_with(s.as_str()))
    }
}

/// Capitals, digits and underscores only, at least three characters of which two are letters.
pub fn is_upper(word: &str) -> bool {
    let mut letters = 0;
    for b in word.bytes() {
        match b {
            b'A'..=b'Z' => letters += 1,
            b'0'..=b'9' | b'_' => {}
            _ => return false,
        }
    }
    letters >= 2 && word.len() >= 3
}

/// The table of `grammar/mask.toml`; a test reads it, so that a broken file cannot ship.
pub fn table() -> &'static Table {
    static TABLE: LazyLock<Table> =
        LazyLock::new(|| Table::read(include_str!("../../../grammar/mask.toml")).unwrap_or_default());
    &TABLE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read() {
        let table = Table::read(include_str!("../../../grammar/mask.toml")).expect("grammar/mask.toml");
        assert_eq!(table.word("__launch_bounds__"), Word::Attribute(AttributeKind::LaunchBounds));
        assert_eq!(table.word("__global__"), Word::Global);
        assert_eq!(table.word("MY_MACRO"), Word::Upper);
        assert_eq!(table.word("T"), Word::Plain);
        assert!(table.is_attribute_name("ANY_DEVICE"));
    }
}
