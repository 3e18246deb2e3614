//! A scanner for C++ and CUDA text: byte ranges of comments, literals, words, punctuation and preprocessor lines.
//!
//! It accepts any text whatsoever, runs in linear time and loses no byte: what stands between two tokens is white space
//! or a line continuation. `>` is always a token of its own, since it may close a template; `<<` and `<<<` are one token.

use std::hash::Hasher as _;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// A word, keywords included.
    Word,
    Number,
    /// A string literal with its prefix; raw strings too.
    Text,
    Char,
    Punct,
    Comment,
    /// A whole preprocessor line with its continuations, from `#` up to but without the newline.
    Directive,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    pub kind: TokenKind,
    pub start: u32,
    pub end: u32,
}

impl Token {
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    pub fn of(self, text: &str) -> &str {
        text.get(self.range()).unwrap_or("")
    }
}

/// All tokens of `text`, comments included. Text beyond 4 GiB is not looked at.
pub fn scan(text: &str) -> Vec<Token> {
    let mut tokens = Vec::with_capacity(text.len() / 5);
    tokens.extend(Scanner::new(text));
    tokens
}

/// The tokens without comments.
pub fn scan_code(text: &str) -> Vec<Token> {
    let mut tokens = Vec::with_capacity(text.len() / 5);
    tokens.extend(Scanner::new(text).filter(|t| t.kind != TokenKind::Comment));
    tokens
}

/// Scans the inside of a preprocessor line, `range` of `text`; offsets stay those of `text`.
pub fn scan_directive(text: &str, range: std::ops::Range<usize>) -> impl Iterator<Item = Token> + '_ {
    let end = range.end.min(text.len());
    let mut scanner = Scanner::new(text.get(..end).unwrap_or(""));
    scanner.at = range.start.min(end);
    scanner.line_start = false;
    scanner.filter(|t| t.kind != TokenKind::Comment)
}

/// Every word that occurs in `text`, for choosing names that are free.
pub fn words(text: &str) -> std::collections::BTreeSet<&str> {
    let mut found = std::collections::BTreeSet::new();
    for token in Scanner::new(text) {
        match token.kind {
            TokenKind::Word => {
                found.insert(token.of(text));
            }
            TokenKind::Directive => found
                .extend(scan_directive(text, token.range()).filter(|t| t.kind == TokenKind::Word).map(|t| t.of(text))),
            _ => {}
        }
    }
    found
}

/// A hash of the code that neither comments nor white space change.
pub fn code_hash(text: &str) -> [u8; 32] {
    let mut hash = blake3::Hasher::new();
    for token in Scanner::new(text) {
        match token.kind {
            TokenKind::Comment => {}
            TokenKind::Directive => {
                for inner in scan_directive(text, token.range()) {
                    hash.update(inner.of(text).as_bytes());
                    hash.update(b"\x01");
                }
                hash.update(b"\x02");
            }
            _ => {
                hash.update(token.of(text).as_bytes());
                hash.update(b"\x00");
            }
        }
    }
    *hash.finalize().as_bytes()
}

/// The scanner itself, an iterator over tokens.
pub struct Scanner<'t> {
    bytes: &'t [u8],
    at: usize,
    line_start: bool,
}

const BLANK: u8 = 0;
const WORD: u8 = 1;
const DIGIT: u8 = 2;
const PUNCT: u8 = 3;

const CLASS: [u8; 256] = {
    let mut class = [PUNCT; 256];
    let mut i = 0;
    while i < 256 {
        let b = i as u8;
        if b <= b' ' || b == 0x7f {
            class[i] = BLANK;
        } else if b.is_ascii_alphabetic() || b == b'_' || b == b'$' || b >= 0x80 {
            class[i] = WORD;
        } else if b.is_ascii_digit() {
            class[i] = DIGIT;
        }
        i += 1;
    }
    class
};

fn class(b: u8) -> u8 {
    CLASS[b as usize]
}

impl<'t> Scanner<'t> {
    pub fn new(text: &'t str) -> Scanner<'t> {
        let bytes = text.as_bytes();
        // A byte order mark is no part of the first word.
        let at = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        Scanner { bytes: &bytes[..bytes.len().min(u32::MAX as usize - 1)], at, line_start: true }
    }

    fn peek(&self, ahead: usize) -> u8 {
        super::mask::step(1);
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn skip_blank(&mut self) {
        while let Some(&b) = self.bytes.get(self.at) {
            super::mask::step(1);
            if class(b) == BLANK {
                self.line_start |= b == b'\n';
                self.at += 1;
            } else if b == b'\\' && self.continuation(self.at) > 0 {
                self.at += self.continuation(self.at);
            } else {
                return;
            }
        }
    }

    /// Length of a backslash-newline at `at`, or 0.
    fn continuation(&self, at: usize) -> usize {
        match (self.bytes.get(at), self.bytes.get(at + 1), self.bytes.get(at + 2)) {
            (Some(b'\\'), Some(b'\n'), _) => 2,
            (Some(b'\\'), Some(b'\r'), Some(b'\n')) => 3,
            _ => 0,
        }
    }

    fn line_comment(&mut self) {
        loop {
            match memchr::memchr(b'\n', &self.bytes[self.at.min(self.bytes.len())..]) {
                None => return self.at = self.bytes.len(),
                Some(n) => {
                    let newline = self.at + n;
                    let before = self.bytes[..newline].strip_suffix(b"\r").unwrap_or(&self.bytes[..newline]);
                    self.at = newline;
                    if !before.ends_with(b"\\") {
                        return;
                    }
                    self.at += 1;
                }
            }
        }
    }

    fn block_comment(&mut self) {
        let from = (self.at + 2).min(self.bytes.len());
        self.at = memchr::memmem::find(&self.bytes[from..], b"*/").map_or(self.bytes.len(), |n| from + n + 2);
    }

    /// A string or character literal that starts at the quote; an unterminated one ends with its line.
    fn quoted(&mut self, quote: u8) {
        self.at += 1;
        while let Some(&b) = self.bytes.get(self.at) {
            match b {
                b'\n' => return,
                b'\\' => self.at += self.continuation(self.at).max(2),
                _ => {
                    self.at += 1;
                    if b == quote {
                        return;
                    }
                }
            }
        }
        self.at = self.bytes.len();
    }

    /// A raw string that starts at the quote; false when it is none.
    fn raw(&mut self) -> bool {
        let rest = &self.bytes[self.at + 1..];
        let Some(open) = rest.iter().take(17).position(|&b| b == b'(') else { return false };
        let delimiter = &rest[..open];
        if delimiter.iter().any(|&b| matches!(b, b' ' | b')' | b'\\' | b'\n' | b'"')) {
            return false;
        }
        let mut close = Vec::with_capacity(open + 2);
        close.push(b')');
        close.extend_from_slice(delimiter);
        close.push(b'"');
        let body = self.at + 1 + open;
        self.at =
            memchr::memmem::find(&self.bytes[body..], &close).map_or(self.bytes.len(), |n| body + n + close.len());
        true
    }

    fn word(&mut self) -> TokenKind {
        let start = self.at;
        while matches!(class(self.peek(0)), WORD | DIGIT) && self.at < self.bytes.len() {
            self.at += 1;
        }
        let quote = self.peek(0);
        if quote == b'"' || quote == b'\'' {
            let prefix = &self.bytes[start..self.at];
            if quote == b'"' && matches!(prefix, b"R" | b"LR" | b"uR" | b"UR" | b"u8R") && self.raw() {
                return TokenKind::Text;
            }
            if matches!(prefix, b"L" | b"u" | b"U" | b"u8") {
                self.quoted(quote);
                return if quote == b'"' { TokenKind::Text } else { TokenKind::Char };
            }
        }
        TokenKind::Word
    }

    fn number(&mut self) {
        let hex = self.peek(0) == b'0' && matches!(self.peek(1), b'x' | b'X');
        while self.at < self.bytes.len() {
            let b = self.peek(0);
            let sign = match b {
                b'e' | b'E' => !hex,
                b'p' | b'P' => true,
                _ => false,
            };
            if sign && matches!(self.peek(1), b'+' | b'-') {
                self.at += 2;
            } else if matches!(class(b), WORD | DIGIT) || b == b'.' {
                self.at += 1;
            } else if b == b'\'' && self.peek(1).is_ascii_alphanumeric() {
                self.at += 2;
            } else {
                return;
            }
        }
    }

    fn directive(&mut self) {
        while self.at < self.bytes.len() {
            match (self.peek(0), self.peek(1)) {
                (b'\n', _) => break,
                (b'\\', _) => self.at += self.continuation(self.at).max(1),
                (b'/', b'/') => {
                    self.line_comment();
                    break;
                }
                (b'/', b'*') => self.block_comment(),
                (b'"', _) => self.quoted(b'"'),
                (b, _) if class(b) == WORD => {
                    self.word();
                }
                _ => self.at += 1,
            }
        }
        self.at = self.at.min(self.bytes.len());
    }

    fn punct(&mut self) {
        let length = match (self.peek(0), self.peek(1), self.peek(2)) {
            (b'<', b'<', b'<') | (b'.', b'.', b'.') | (b'<', b'<', b'=') => 3,
            (b':', b':', _) | (b'-', b'>', _) | (b'&', b'&', _) | (b'|', b'|', _) | (b'<', b'<', _) => 2,
            (b'+', b'+', _) | (b'-', b'-', _) | (b'#', b'#', _) => 2,
            (b'<' | b'>' | b'=' | b'!' | b'+' | b'-' | b'*' | b'/' | b'%' | b'&' | b'|' | b'^', b'=', _) => 2,
            _ => 1,
        };
        self.at += length;
    }
}

impl Iterator for Scanner<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        self.skip_blank();
        let start = self.at;
        let first = *self.bytes.get(start)?;
        let line_start = std::mem::replace(&mut self.line_start, false);
        let kind = match class(first) {
            WORD => self.word(),
            DIGIT => {
                self.number();
                TokenKind::Number
            }
            _ => match (first, self.peek(1)) {
                (b'/', b'/') => {
                    self.line_comment();
                    self.line_start = line_start;
                    TokenKind::Comment
                }
                (b'/', b'*') => {
                    self.block_comment();
                    self.line_start = line_start;
                    TokenKind::Comment
                }
                (b'#', _) if line_start => {
                    self.directive();
                    TokenKind::Directive
                }
                (b'.', next) if next.is_ascii_digit() => {
                    self.number();
                    TokenKind::Number
                }
                (b'"', _) => {
                    self.quoted(b'"');
                    TokenKind::Text
                }
                (b'\'', _) => {
                    self.quoted(b'\'');
                    TokenKind::Char
                }
                _ => {
                    self.punct();
                    TokenKind::Punct
                }
            },
        };
        super::mask::step(self.at - start);
        self.at = self.at.min(self.bytes.len());
        Some(Token { kind, start: start as u32, end: self.at as u32 })
    }
}

/// A small fast hasher (FNV-1a over 8-byte steps) for words of source text; not for untrusted maps that must resist
/// flooding, since a table of words only ever grows with the file.
#[derive(Default, Clone, Copy)]
pub struct WordHasher(u64);

impl std::hash::Hasher for WordHasher {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0u8; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.0 = (self.0.rotate_left(5) ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }
}

/// Builds [`WordHasher`].
pub type WordState = std::hash::BuildHasherDefault<WordHasher>;

/// The hash of one word.
pub fn word_hash(word: &str) -> u64 {
    let mut hasher = WordHasher::default();
    hasher.write(word.as_bytes());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(TokenKind, &str)> {
        scan(text).into_iter().map(|t| (t.kind, t.of(text))).collect()
    }

    #[test]
    fn literals_that_hide_other_things() {
        use TokenKind::*;
        assert_eq!(kinds("1'000;'a'"), [(Number, "1'000"), (Punct, ";"), (Char, "'a'")]);
        assert_eq!(kinds("R\"x(// \" )x\" b"), [(Text, "R\"x(// \" )x\""), (Word, "b")]);
        assert_eq!(kinds("0x1.8p+1f+1e-3"), [(Number, "0x1.8p+1f"), (Punct, "+"), (Number, "1e-3")]);
        assert_eq!(kinds("\"a\\\"//\" // c\nx"), [(Text, "\"a\\\"//\""), (Comment, "// c"), (Word, "x")]);
        assert_eq!(
            kinds("a<<<b>>>c"),
            [(Word, "a"), (Punct, "<<<"), (Word, "b"), (Punct, ">"), (Punct, ">"), (Punct, ">"), (Word, "c")]
        );
    }

    #[test]
    fn preprocessor_lines() {
        use TokenKind::*;
        assert_eq!(
            kinds(" #define A \\\n b // c\nx # y"),
            [(Directive, "#define A \\\n b // c"), (Word, "x"), (Punct, "#"), (Word, "y")]
        );
        assert_eq!(
            kinds("/* */ #if A /* \n */ B\nx"),
            [(Comment, "/* */"), (Directive, "#if A /* \n */ B"), (Word, "x")]
        );
        assert_eq!(kinds("#error don't\nx")[1], (Word, "x"));
    }

    #[test]
    fn comments_do_not_change_the_hash_and_code_does() {
        assert_eq!(code_hash("int a; // x\n#define A 1 /*y*/\n"), code_hash("int   a;\n#define A 1\n"));
        assert_ne!(code_hash("int a;"), code_hash("int b;"));
        assert_ne!(code_hash("a b"), code_hash("ab"));
    }

    #[test]
    fn unterminated_things_end() {
        for text in
            ["\"abc", "'", "/*", "R\"(", "R\"", "//\\", "#", "#define A \\", "\\", "1e", "0x", ".", "\"\\", "é\"é"]
        {
            let tokens = scan(text);
            assert!(tokens.last().is_none_or(|t| t.end as usize <= text.len()), "{text}");
        }
    }
}
