//! Tokens of skill files. Uses the standard library only, because `src/build.rs` includes this file by path.
//!
//! Words may hold dots and hyphens (`access.vector16`, `memory-access`), so a minus sign between names needs a space
//! before its right operand. Comments run from `#` or `//` to the end of the line.

use std::borrow::Cow;

/// A token. Words become keywords only in [`super::layout`], where the surrounding clause is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tok<'a> {
    /// A word in a place where it starts a clause, `skill` included.
    Clause(&'a str),
    Word(&'a str),
    /// `"..."`, the text between the quotes as written.
    Str(&'a str),
    /// `"""..."""`, the text between the quotes as written.
    Block(&'a str),
    Int(i64),
    Real(&'a str),
    Bytes(u64),
    LBrace,
    RBrace,
    LParen,
    RParen,
    Comma,
    Colon,
    Semi,
    At,
    Question,
    /// `..` with its upper end right behind it.
    DotsTo,
    /// `..` without an upper end.
    DotsOpen,
    Arrow,
    Assign,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    And,
    Or,
    Not,
    In,
    Because,
    Guard,
    Where,
    When,
    All,
    None,
    True,
    False,
    /// Set around every clause by the layout pass, so that a mistake stays inside its clause.
    Begin,
    End,
    /// The braces of the skill itself, set apart for the same reason.
    Open,
    Close,
}

/// A token with its byte range.
pub type Lexeme<'a> = (usize, Tok<'a>, usize);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LexProblem {
    UnknownText,
    OpenString,
    OpenBlock,
    NumberTooLarge,
    NumberSuffix,
}

/// Splits `text` into tokens; never fails. What could not be read is listed with its byte range and left out, save for
/// an unclosed string, which ends with its line (a block: with the file).
pub fn lex(text: &str) -> (Vec<Lexeme<'_>>, Vec<(LexProblem, usize, usize)>) {
    let mut lexer = Lexer { text, bytes: text.as_bytes(), at: 0, problems: vec![] };
    let mut tokens = vec![];
    while let Some(token) = lexer.next_token() {
        tokens.push(token);
    }
    (tokens, lexer.problems)
}

/// The languages in which a skill file declares native bodies, comments and blocks left out: used by the build script.
pub fn native_bodies(text: &str) -> Vec<String> {
    let (tokens, _) = lex(text);
    let words: Vec<Option<&str>> =
        tokens.iter().map(|(_, t, _)| if let Tok::Word(w) = t { Some(*w) } else { None }).collect();
    let mut found = vec![];
    for (i, word) in words.iter().enumerate() {
        if *word != Some("body") || i.checked_sub(1).is_some_and(|p| words.get(p) == Some(&Some("touches"))) {
            continue;
        }
        let rest: Vec<&str> = words.iter().skip(i + 1).take(3).map_while(|w| *w).take_while(|w| *w != "body").collect();
        if let Some(kind) = rest.iter().position(|w| matches!(*w, "native" | "template" | "model"))
            && rest.get(kind) == Some(&"native")
        {
            found.push(rest.iter().take(kind).copied().collect::<Vec<_>>().join(" "));
        }
    }
    found
}

struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    problems: Vec<(LexProblem, usize, usize)>,
}

impl<'a> Lexer<'a> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn slice(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or("")
    }

    fn next_token(&mut self) -> Option<Lexeme<'a>> {
        loop {
            self.skip_blanks();
            let start = self.at;
            if start >= self.bytes.len() {
                return None;
            }
            let token = match self.peek(0) {
                b'"' => Some(self.string()),
                b'0'..=b'9' => self.number(),
                c if c == b'_' || c.is_ascii_alphabetic() => Some(self.word()),
                _ => self.symbol(),
            };
            match token {
                Some(token) => return Some((start, token, self.at)),
                None if self.at == start => self.unknown(),
                None => {}
            }
        }
    }

    fn skip_blanks(&mut self) {
        loop {
            match self.peek(0) {
                b' ' | b'\t' | b'\r' | b'\n' => self.at += 1,
                b'#' => self.skip_line(),
                b'/' if self.peek(1) == b'/' => self.skip_line(),
                _ if self.at == 0 && self.text.starts_with('\u{feff}') => self.at = 3,
                _ => return,
            }
        }
    }

    fn skip_line(&mut self) {
        while self.at < self.bytes.len() && self.peek(0) != b'\n' {
            self.at += 1;
        }
    }

    /// Neighbouring unreadable characters are one problem.
    fn unknown(&mut self) {
        let start = self.at;
        self.at += self.slice(start, self.bytes.len()).chars().next().map_or(1, char::len_utf8);
        match self.problems.last_mut() {
            Some((LexProblem::UnknownText, _, end)) if *end == start => *end = self.at,
            _ => self.problems.push((LexProblem::UnknownText, start, self.at)),
        }
    }

    fn string(&mut self) -> Tok<'a> {
        let start = self.at;
        if self.peek(1) == b'"' && self.peek(2) == b'"' {
            let inner = start + 3;
            let close = self.text.get(inner..).and_then(|rest| rest.find("\"\"\""));
            let end = close.map_or(self.bytes.len(), |n| inner + n);
            self.at = (end + 3).min(self.bytes.len());
            if close.is_none() {
                self.problems.push((LexProblem::OpenBlock, start, start + 3));
            }
            return Tok::Block(self.slice(inner, end));
        }
        self.at += 1;
        loop {
            match self.peek(0) {
                b'"' => {
                    self.at += 1;
                    return Tok::Str(self.slice(start + 1, self.at - 1));
                }
                b'\n' | 0 if self.peek(0) == b'\n' || self.at >= self.bytes.len() => {
                    self.problems.push((LexProblem::OpenString, start, self.at));
                    return Tok::Str(self.slice(start + 1, self.at));
                }
                b'\\' if self.peek(1) == b'"' || self.peek(1) == b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
    }

    fn digits(&mut self) {
        while self.peek(0).is_ascii_digit() || self.peek(0) == b'_' {
            self.at += 1;
        }
    }

    fn number(&mut self) -> Option<Tok<'a>> {
        let start = self.at;
        self.digits();
        if self.peek(0) == b'.' && self.peek(1).is_ascii_digit() {
            self.at += 1;
            self.digits();
            return Some(Tok::Real(self.slice(start, self.at)));
        }
        let digits: String = self.slice(start, self.at).chars().filter(|c| *c != '_').collect();
        let unit_start = self.at;
        while self.peek(0).is_ascii_alphanumeric() {
            self.at += 1;
        }
        let scale: Option<u64> = match self.slice(unit_start, self.at) {
            "" => None,
            "B" => Some(1),
            "KB" | "KiB" => Some(1 << 10),
            "MB" | "MiB" => Some(1 << 20),
            _ => {
                self.problems.push((LexProblem::NumberSuffix, start, self.at));
                None
            }
        };
        let value = digits.parse::<i64>().ok();
        let token = match scale {
            Some(scale) => value.and_then(|v| (v as u64).checked_mul(scale)).map(Tok::Bytes),
            None => value.map(Tok::Int),
        };
        if token.is_none() {
            self.problems.push((LexProblem::NumberTooLarge, start, self.at));
        }
        token.or(Some(Tok::Int(0)))
    }

    fn word(&mut self) -> Tok<'a> {
        let start = self.at;
        loop {
            let c = self.peek(0);
            let joins = matches!(c, b'.' | b'-') && (self.peek(1).is_ascii_alphabetic() || self.peek(1) == b'_');
            if c == b'_' || c.is_ascii_alphanumeric() || joins {
                self.at += 1;
            } else {
                return Tok::Word(self.slice(start, self.at));
            }
        }
    }

    fn symbol(&mut self) -> Option<Tok<'a>> {
        let (token, length) = match (self.peek(0), self.peek(1)) {
            (b'=', b'>') => (Tok::Arrow, 2),
            (b'=', b'=') => (Tok::Eq, 2),
            (b'!', b'=') => (Tok::Ne, 2),
            (b'<', b'=') => (Tok::Le, 2),
            (b'>', b'=') => (Tok::Ge, 2),
            (b'.', b'.') if self.peek(2) == b'_' || self.peek(2).is_ascii_alphanumeric() => (Tok::DotsTo, 2),
            (b'.', b'.') => (Tok::DotsOpen, 2),
            (b'=', _) => (Tok::Assign, 1),
            (b'<', _) => (Tok::Lt, 1),
            (b'>', _) => (Tok::Gt, 1),
            (b'{', _) => (Tok::LBrace, 1),
            (b'}', _) => (Tok::RBrace, 1),
            (b'(', _) => (Tok::LParen, 1),
            (b')', _) => (Tok::RParen, 1),
            (b',', _) => (Tok::Comma, 1),
            (b':', _) => (Tok::Colon, 1),
            (b';', _) => (Tok::Semi, 1),
            (b'@', _) => (Tok::At, 1),
            (b'?', _) => (Tok::Question, 1),
            (b'+', _) => (Tok::Plus, 1),
            (b'-', _) => (Tok::Minus, 1),
            (b'*', _) => (Tok::Star, 1),
            (b'/', _) => (Tok::Slash, 1),
            (b'%', _) => (Tok::Percent, 1),
            _ => return None,
        };
        self.at += length;
        Some(token)
    }
}

/// The text of a `"..."` string: `\"`, `\\`, `\n` and `\t` are resolved, any other backslash stays.
pub fn unescape(raw: &str) -> Cow<'_, str> {
    if !raw.contains('\\') {
        return Cow::Borrowed(raw);
    }
    let mut out = String::with_capacity(raw.len());
    let mut chars = raw.chars().peekable();
    while let Some(c) = chars.next() {
        let resolved = match (c, chars.peek()) {
            ('\\', Some('"')) => '"',
            ('\\', Some('\\')) => '\\',
            ('\\', Some('n')) => '\n',
            ('\\', Some('t')) => '\t',
            _ => {
                out.push(c);
                continue;
            }
        };
        chars.next();
        out.push(resolved);
    }
    Cow::Owned(out)
}

/// The text of a `"""..."""` block: on one line as written; over several lines without the common indentation, the blank
/// rest of the first and the last line, and with line feeds as line ends.
pub fn dedent(raw: &str) -> String {
    if !raw.contains('\n') {
        return raw.trim_end_matches('\r').to_owned();
    }
    let mut lines: Vec<&str> = raw.split('\n').map(|l| l.strip_suffix('\r').unwrap_or(l)).collect();
    let first = lines.first().copied().unwrap_or("");
    let first_is_text = !first.trim().is_empty();
    if !first_is_text {
        lines.remove(0);
    }
    if lines.last().is_some_and(|l| l.trim().is_empty()) {
        lines.pop();
    }
    let blanks = |l: &str| l.len() - l.trim_start_matches([' ', '\t']).len();
    let rest = lines.iter().skip(usize::from(first_is_text));
    let common = rest.filter(|l| !l.trim().is_empty()).map(|l| blanks(l)).min().unwrap_or(0);
    let mut out = String::with_capacity(raw.len());
    for (i, line) in lines.iter().enumerate() {
        let line = if i == 0 && first_is_text { line.trim_start() } else { line.get(common..).unwrap_or("") };
        out.push_str(if line.trim().is_empty() { "" } else { line });
        out.push('\n');
    }
    out
}
