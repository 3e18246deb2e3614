//! Reading a text word by word.

use crate::ir::Loop;
use crate::source::tokens::{Token, TokenKind, scan_code};

/// A text as its words, without comments and white space.
pub struct Words<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    at: usize,
}

impl<'t> Words<'t> {
    pub fn new(text: &'t str) -> Words<'t> {
        Words { text, tokens: scan_code(text), at: 0 }
    }

    pub fn peek(&self) -> &'t str {
        self.ahead(0)
    }

    pub fn ahead(&self, n: usize) -> &'t str {
        self.tokens.get(self.at + n).map_or("", |t| t.of(self.text))
    }

    pub fn is_at_end(&self) -> bool {
        self.at >= self.tokens.len()
    }

    pub fn mark(&self) -> usize {
        self.at
    }

    pub fn back_to(&mut self, mark: usize) {
        self.at = mark;
    }

    pub fn next(&mut self) -> &'t str {
        let word = self.peek();
        self.at += 1;
        word
    }

    /// The words of `code` stand here.
    pub fn take(&mut self, code: &str) -> Result<(), String> {
        for token in scan_code(code) {
            let (wanted, found) = (token.of(code), self.peek());
            let same =
                if token.kind == TokenKind::Directive { squeezed(wanted) == squeezed(found) } else { wanted == found };
            if !same {
                return Err(format!("`{wanted}` is expected, not `{found}`"));
            }
            self.at += 1;
        }
        Ok(())
    }

    /// Whether the words of `code` stand here; they are taken then.
    pub fn takes(&mut self, code: &str) -> bool {
        let mark = self.mark();
        let there = self.take(code).is_ok();
        if !there {
            self.back_to(mark);
        }
        there
    }

    /// The pragma that stood in front of the loop may stand here.
    pub fn takes_pragma(&mut self, k: &Loop) -> bool {
        k.unroll.as_ref().is_some_and(|(text, _)| self.takes(text))
    }

    pub fn end(&self) -> Result<(), String> {
        if self.is_at_end() { Ok(()) } else { Err(format!("`{}` is more than the argument covers", self.peek())) }
    }
}

/// White space of a preprocessor line may change with its indentation.
fn squeezed(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}
