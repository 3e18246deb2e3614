//! What the parser is given in place of the text: the same tokens in fewer bytes.
//!
//! The parser spends a good part of its time on single characters, and most characters are white space, comments and
//! the inner letters of names. None of them decides anything: the grammar has no symbol table, and comments may stand
//! anywhere. The compact text has one space or newline where there was more, and one letter for each name that is no
//! word of the grammar; every position leads back to the text.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::kind::language;
use crate::source::tokens::{Scanner, Token, TokenKind, WordState};

/// Words of the grammar that are parts of larger tokens: names of types and constants.
const TYPES: &[&str] = &[
    "bool",
    "char",
    "int",
    "float",
    "double",
    "void",
    "size_t",
    "ssize_t",
    "ptrdiff_t",
    "intptr_t",
    "uintptr_t",
    "charptr_t",
    "nullptr_t",
    "max_align_t",
    "int8_t",
    "int16_t",
    "int32_t",
    "int64_t",
    "uint8_t",
    "uint16_t",
    "uint32_t",
    "uint64_t",
    "char8_t",
    "char16_t",
    "char32_t",
    "char64_t",
    "TRUE",
    "FALSE",
    "true",
    "false",
    "NULL",
    "nullptr",
];

/// All words that the grammar tells from a name.
static WORDS: LazyLock<HashSet<&str, WordState>> = LazyLock::new(|| {
    let language = language();
    let kinds = (0..language.node_kind_count() as u16).filter_map(|id| language.node_kind_for_id(id));
    let is_word = |text: &&str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    kinds.filter(is_word).chain(TYPES.iter().copied()).collect()
});

/// Stands for a name; no word of the grammar and no prefix of a literal begins with it.
const NAME: u8 = b'q';

/// The compact form of a text.
#[derive(Debug, Default)]
pub(super) struct Compact {
    pub text: Vec<u8>,
    /// For each byte, where in the text the part begins for which it stands; with [`LONG`] where that is more than a byte.
    starts: Vec<u32>,
    /// The ends of those parts that are more than a byte, in order, with their starts.
    ends: Vec<(u32, u32)>,
    length: u32,
}

/// Texts are shorter than this.
const LONG: u32 = 1 << 31;

impl Compact {
    /// `None` for the few texts in which the scanner may see other tokens than the grammar: with control characters,
    /// with a comment that does not end, with a `#` in the midst of a line.
    pub(super) fn of(text: &str) -> Option<Compact> {
        if text.len() >= LONG as usize || text.bytes().any(|b| b < 9 || (14..32).contains(&b) || b == 127) {
            return None;
        }
        let mut compact = Compact { length: text.len() as u32, ..Compact::default() };
        compact.text.reserve(text.len() / 2);
        compact.starts.reserve(text.len() / 2);
        compact.ends.reserve(text.len() / 8);
        let mut end = 0;
        let mut last = TokenKind::Punct;
        for token in Scanner::new(text) {
            let written = token.of(text);
            if token.kind == TokenKind::Comment {
                if written.starts_with("/*") && (written.len() < 4 || !written.ends_with("*/")) {
                    return None;
                }
                continue;
            }
            if token.kind == TokenKind::Punct && written.starts_with('#') {
                return None;
            }
            compact.gap(text, end, token.start, token.kind, last);
            compact.token(text, token);
            (end, last) = (token.end, token.kind);
        }
        compact.gap(text, end, compact.length, TokenKind::Directive, last);
        Some(compact)
    }

    /// What separates two tokens. Only preprocessor lines care whether it is a newline; theirs is part of them.
    fn gap(&mut self, text: &str, from: u32, to: u32, next: TokenKind, last: TokenKind) {
        if from == to {
            return;
        }
        let bytes = text.as_bytes();
        if last == TokenKind::Directive {
            let newline = if bytes.get(from as usize) == Some(&b'\r') { 2 } else { 1 };
            self.long(b'\n', from, to.min(from + newline));
            return;
        }
        let apart = |b: Option<&u8>| matches!(b, Some(b';' | b'{' | b'}' | b','));
        if next == TokenKind::Directive {
            self.long(b'\n', from, to);
        } else if last == TokenKind::Punct && apart(self.text.last())
            || next == TokenKind::Punct && apart(bytes.get(to as usize))
        {
            // Nothing needs to part them.
        } else {
            self.long(b' ', from, to);
        }
    }

    /// One byte for a part of the text.
    fn long(&mut self, byte: u8, start: u32, end: u32) {
        self.text.push(byte);
        self.starts.push(start | LONG);
        self.ends.push((start, end));
    }

    fn token(&mut self, text: &str, token: Token) {
        let bytes = text.as_bytes();
        let quote = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(|b| matches!(b, b'"' | b'\''));
        let word = token.of(text);
        let shortened = token.kind == TokenKind::Word
            && word.len() > 1
            && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
            && !quote(Some(token.end as usize))
            && !quote((token.start as usize).checked_sub(1))
            && !WORDS.contains(word);
        if shortened {
            self.long(NAME, token.start, token.end);
        } else {
            self.text.extend_from_slice(word.as_bytes());
            self.starts.extend(token.start..token.end);
        }
    }

    /// Where in the text a node begins and ends that has this place in the compact text.
    pub(super) fn place(&self, start: usize, end: usize) -> (u32, u32) {
        if start == end {
            // A node of which nothing is there follows what stands before it.
            return (self.end(end), self.end(end));
        }
        (self.starts.get(start).map_or(self.length, |at| at & !LONG), self.end(end))
    }

    /// Where in the text the part ends that the byte before `at` stands for.
    fn end(&self, at: usize) -> u32 {
        let Some(start) = at.checked_sub(1).and_then(|at| self.starts.get(at)) else { return 0 };
        if start & LONG == 0 {
            return start + 1;
        }
        let found = self.ends.binary_search_by_key(&(start & !LONG), |(start, _)| *start);
        found.ok().and_then(|i| self.ends.get(i)).map_or(start & !LONG, |(_, end)| *end)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::both;
    use super::*;

    #[test]
    fn trees_of_compact_texts_are_those_of_the_texts() {
        let texts = [
            include_str!("../../cli/demo/attention_rows.cu"),
            "// first\n\n  /* and */ #define A(x) x /* in */ // line\n#if A\nint a; // b\n#else /* c */\nint b;\n#endif // d\n",
            "#include <a.h>\n#include \"b.h\"\n#pragma unroll 4\nint a /* c */ ; # define B \\\n 1 + \\\n 2\nint b;",
            "template <typename T, int N> struct S : public B<T> { T operator ()(T x) const { return x > > 2; } S() = default; };",
            "const char* s = u8\"a b  c\" \"d\" FORMAT \"e\"; auto r = R\"x( a )x\"; auto u = \"abc\"_suffix; char c = 'q', l = L'x';",
            "void f() { for (auto& [a, b] : m) { if constexpr (sizeof(a) > 4) a+ +b; else a- -b; } goto end; end: ; }",
            "using size_type = std::size_t; typedef unsigned long long int u64; bool t = true, g = TRUE, n = p == NULL;",
            "__global__ void __launch_bounds__ ( 256 , 2 ) k ( float * __restrict__ x ) { k1 <<< 1 , 2 >>> ( x ) ; asm volatile (\"x\" : \"=r\" (a)); }",
            "enum class E { one , two = 3 , } ; auto l = [ & , i = 0 ] ( int n ) mutable -> int { return n + i ; } ; int x = 0x1F'00u, y = 1.5e-3f;",
            "\u{feff}int über = $a + b ; ",
            "",
            "   // only a comment",
        ];
        for text in texts {
            let [plain, compact] = both(text);
            assert_eq!(plain, compact, "{text}");
        }
    }

    #[test]
    fn every_word_of_the_grammar_is_kept() {
        for word in ["__global__", "typename", "static_assert", "int32_t", "nullptr", "co_await", "__launch_bounds__"] {
            let text = format!("{word} {word}x");
            assert_eq!(String::from_utf8_lossy(&Compact::of(&text).expect("plain text").text), format!("{word} q"));
        }
    }

    #[test]
    fn places_lead_back() {
        let text = "first  /* c */ ( second ,\n third ) ;\n";
        let compact = Compact::of(text).expect("plain text");
        assert_eq!(String::from_utf8_lossy(&compact.text), "q ( q,q );\n");
        assert_eq!(compact.place(0, 1), (0, 5));
        let second = text.find("second").expect("it is there") as u32;
        assert_eq!(compact.place(4, 5), (second, second + 6));
        assert_eq!(compact.place(5, 5), (second + 6, second + 6));
        assert_eq!(compact.place(0, 10), (0, text.len() as u32 - 1));
    }
}
