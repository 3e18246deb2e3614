//! A C++ scanner that knows just enough for cutting: words, literals, punctuation and whole directive lines.
//!
//! The device slice needs the *boundaries* of the items at namespace scope and the words they use. Both can be read
//! off the tokens, so files that no grammar accepts can still be cut, and nothing here recurses.

/// What a token is. Comments and white space give no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Word,
    Number,
    Literal,
    Punct(u8),
    /// A preprocessor line with its continuation lines, from `#` to the end of the line.
    Directive,
}

/// A token and its byte range in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    pub kind: Kind,
    pub start: usize,
    pub end: usize,
}

impl Token {
    pub fn is(self, byte: u8) -> bool {
        self.kind == Kind::Punct(byte)
    }

    /// The token's own text.
    pub fn text(self, text: &str) -> &str {
        text.get(self.start..self.end).unwrap_or("")
    }
}

fn is_word_start(b: u8) -> bool {
    b.is_ascii_alphabetic() || b == b'_' || b == b'$' || b >= 0x80
}

fn is_word(b: u8) -> bool {
    is_word_start(b) || b.is_ascii_digit()
}

/// All tokens of `text`. Unclosed comments and literals end at the end of the text or line.
pub fn tokens(text: &str) -> Vec<Token> {
    let s = text.as_bytes();
    let mut out = Vec::with_capacity(s.len() / 4);
    let mut i = 0;
    let mut line_start = true;
    while let Some(&b) = s.get(i) {
        if b == b'\n' {
            line_start = true;
            i += 1;
            continue;
        }
        if b.is_ascii_whitespace() || b == b'\\' {
            i += 1;
            continue;
        }
        if let Some(end) = comment_end(s, i) {
            i = end;
            continue;
        }
        let (kind, end) = one(s, i, line_start);
        line_start = false;
        out.push(Token { kind, start: i, end });
        i = end;
    }
    out
}

fn one(s: &[u8], i: usize, line_start: bool) -> (Kind, usize) {
    let b = s[i];
    if b == b'#' && line_start {
        return (Kind::Directive, directive_end(s, i));
    }
    if b == b'"' || b == b'\'' {
        return (Kind::Literal, literal_end(s, i));
    }
    if is_word_start(b) {
        let end = s[i..].iter().position(|&c| !is_word(c)).map_or(s.len(), |n| i + n);
        if s.get(end) == Some(&b'"') && matches!(&s[i..end], b"R" | b"LR" | b"uR" | b"UR" | b"u8R") {
            return (Kind::Literal, raw_end(s, end));
        }
        return (Kind::Word, end);
    }
    if b.is_ascii_digit() || (b == b'.' && s.get(i + 1).is_some_and(u8::is_ascii_digit)) {
        return (Kind::Number, number_end(s, i));
    }
    (Kind::Punct(b), i + 1)
}

fn number_end(s: &[u8], start: usize) -> usize {
    let mut i = start + 1;
    while let Some(&c) = s.get(i) {
        let sign = (c == b'+' || c == b'-') && matches!(s[i - 1], b'e' | b'E' | b'p' | b'P');
        // A quote inside a number separates digits (1'000).
        let quote = c == b'\'' && s.get(i + 1).is_some_and(u8::is_ascii_alphanumeric);
        if !(is_word(c) || c == b'.' || sign || quote) {
            break;
        }
        i += 1;
    }
    i
}

/// The end of a comment that starts at `i`, or `None` if none starts there.
fn comment_end(s: &[u8], i: usize) -> Option<usize> {
    match (s.get(i)?, s.get(i + 1)?) {
        (b'/', b'/') => Some(line_end(s, i)),
        (b'/', b'*') => Some(s[i + 2..].windows(2).position(|w| w == b"*/").map_or(s.len(), |n| i + 2 + n + 2)),
        _ => None,
    }
}

/// The newline that ends the logical line of `i` (a `\` before it continues the line), or the end of the text.
fn line_end(s: &[u8], mut i: usize) -> usize {
    while let Some(n) = memchr::memchr(b'\n', &s[i..]) {
        let at = i + n;
        let before = if at > 0 && s[at - 1] == b'\r' { at - 1 } else { at };
        if before == 0 || s[before - 1] != b'\\' {
            return at;
        }
        i = at + 1;
    }
    s.len()
}

fn directive_end(s: &[u8], start: usize) -> usize {
    let mut i = start;
    loop {
        let end = line_end(s, i);
        // A block comment may carry a directive across lines.
        let mut j = i;
        let mut crossed = None;
        while j < end {
            if s[j] == b'"' {
                j = literal_end(s, j);
            } else if let Some(e) = comment_end(s, j) {
                if e > end {
                    crossed = Some(e);
                    break;
                }
                j = e;
            } else {
                j += 1;
            }
        }
        match crossed {
            Some(e) if e < s.len() => i = e,
            Some(e) => return e,
            None => return end,
        }
    }
}

fn literal_end(s: &[u8], start: usize) -> usize {
    let quote = s[start];
    let mut i = start + 1;
    while let Some(&c) = s.get(i) {
        match c {
            b'\\' => i += 2,
            b'\n' => return i,
            _ if c == quote => return i + 1,
            _ => i += 1,
        }
    }
    s.len()
}

fn raw_end(s: &[u8], quote: usize) -> usize {
    let Some(open) = s[quote..].iter().position(|&c| c == b'(').map(|n| quote + n) else { return s.len() };
    let mut close = vec![b')'];
    close.extend_from_slice(&s[quote + 1..open]);
    close.push(b'"');
    s[open..].windows(close.len()).position(|w| w == close).map_or(s.len(), |n| open + n + close.len())
}

/// The keyword of a directive (`include`, `define`, ...) and the rest of its line.
pub fn directive(token: Token, text: &str) -> (&str, &str) {
    let line = token.text(text).trim_start_matches('#').trim_start();
    let end = line.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(line.len());
    line.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        tokens(text).into_iter().map(|t| t.text(text)).collect()
    }

    #[test]
    fn cuts_tokens_and_skips_comments() {
        assert_eq!(words("a /* b */ + 1.5e-3f // c\n'x'"), ["a", "+", "1.5e-3f", "'x'"]);
        assert_eq!(words("#define A(x) \\\n  x + 1\nint b;"), ["#define A(x) \\\n  x + 1", "int", "b", ";"]);
        assert_eq!(words("R\"x(a \" ) b)x\" y"), ["R\"x(a \" ) b)x\"", "y"]);
        assert_eq!(words("1'000'000 x"), ["1'000'000", "x"]);
        assert_eq!(words("#if A /* two\nlines */ && B\nc"), ["#if A /* two\nlines */ && B", "c"]);
    }

    #[test]
    fn any_input_ends() {
        for text in ["\"abc", "/* open", "R\"(", "'", "#", "\\", "R\"", "#define \\", "é\u{1F600}(", "#if /*", "'\\"] {
            let all = tokens(text);
            assert!(all.iter().all(|t| t.end <= text.len() + 1 && t.start < t.end), "{text}");
        }
    }
}
