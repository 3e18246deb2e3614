//! Tokens of PTX. Total: every byte string gives tokens, ending in `End`.

/// A token; text is a slice of the input.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Token<'a> {
    /// A name, register, directive or dotted opcode.
    Word(&'a str),
    Int(i128),
    F32(u32),
    F64(u64),
    Text(&'a str),
    Punct(u8),
    /// A byte or literal that is no token.
    Bad(&'a str),
    End,
}

pub(crate) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    pub line: u32,
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str) -> Self {
        Lexer { text, at: 0, line: 1 }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.at + ahead).copied().unwrap_or(0)
    }

    fn skip_blanks(&mut self) {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            match byte {
                b'\n' => self.line += 1,
                b' ' | b'\t' | b'\r' | 12 => {}
                b'/' if self.peek(1) == b'/' => {
                    while self.at < bytes.len() && bytes[self.at] != b'\n' {
                        self.at += 1;
                    }
                    continue;
                }
                b'/' if self.peek(1) == b'*' => {
                    self.at += 2;
                    while self.at < bytes.len() && !(bytes[self.at] == b'*' && self.peek(1) == b'/') {
                        self.line += u32::from(bytes[self.at] == b'\n');
                        self.at += 1;
                    }
                    self.at = (self.at + 2).min(bytes.len());
                    continue;
                }
                _ => return,
            }
            self.at += 1;
        }
    }

    fn slice(&self, from: usize) -> &'a str {
        self.text.get(from..self.at).unwrap_or("")
    }

    pub fn next(&mut self) -> Token<'a> {
        self.skip_blanks();
        let start = self.at;
        match self.peek(0) {
            0 if self.at >= self.text.len() => Token::End,
            b'0'..=b'9' => self.number(),
            b'"' => self.string(),
            byte if is_word(byte) => {
                self.at += 1;
                loop {
                    match self.peek(0) {
                        // Directives may stand without blanks between them: `.reg.b16 x;`.
                        b'.' if byte == b'.' => return Token::Word(self.slice(start)),
                        byte if is_word(byte) => self.at += 1,
                        b':' if self.peek(1) == b':' && self.peek(2).is_ascii_alphanumeric() => self.at += 2,
                        _ => return Token::Word(self.slice(start)),
                    }
                }
            }
            byte if byte.is_ascii() => {
                self.at += 1;
                Token::Punct(byte)
            }
            _ => {
                self.at += 1;
                while !self.text.is_char_boundary(self.at) {
                    self.at += 1;
                }
                Token::Bad(self.slice(start))
            }
        }
    }

    fn string(&mut self) -> Token<'a> {
        self.at += 1;
        let start = self.at;
        while self.at < self.text.len() && self.peek(0) != b'"' && self.peek(0) != b'\n' {
            self.at += 1;
        }
        let text = self.slice(start);
        self.at = (self.at + 1).min(self.text.len());
        Token::Text(text)
    }

    /// Decimal, hexadecimal, octal and binary integers with an optional `U`; `0f`, `0d` bit patterns; decimal floats.
    fn number(&mut self) -> Token<'a> {
        let start = self.at;
        while self.peek(0).is_ascii_alphanumeric() || self.peek(0) == b'.' {
            let exponent = matches!(self.peek(0), b'e' | b'E') && matches!(self.peek(1), b'+' | b'-');
            let hexadecimal = self.text.as_bytes().get(start + 1).is_some_and(|b| b"xXfFdD".contains(b));
            self.at += if exponent && !hexadecimal { 2 } else { 1 };
        }
        let text = self.slice(start);
        let digits = text.strip_suffix('U').unwrap_or(text);
        let parsed = match digits.get(..2) {
            Some("0x" | "0X") => i128::from_str_radix(&digits[2..], 16).ok().map(Token::Int),
            Some("0b" | "0B") => i128::from_str_radix(&digits[2..], 2).ok().map(Token::Int),
            Some("0f" | "0F") => u32::from_str_radix(&digits[2..], 16).ok().map(Token::F32),
            Some("0d" | "0D") => u64::from_str_radix(&digits[2..], 16).ok().map(Token::F64),
            _ if digits.contains(['.', 'e', 'E']) => digits.parse::<f64>().ok().map(|v| Token::F64(v.to_bits())),
            _ if digits.len() > 1 && digits.starts_with('0') => i128::from_str_radix(digits, 8).ok().map(Token::Int),
            _ => digits.parse().ok().map(Token::Int),
        };
        parsed.unwrap_or(Token::Bad(text))
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%' | b'.')
}
