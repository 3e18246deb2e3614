//! Second pass over the surviving tokens: attributes, aliases, template words, unknown macros.

mod attributes;
mod pragma;
mod unknown;

use std::ops::Range;

use super::structure::{Kept, Scope};
use super::table::{MacroKind, Word, is_upper, table};
use pragma::unroll_factor;
pub(super) use pragma::{condition, unroll_pragma};

use super::{Attribute, AttributeKind, Macro, Masker, Tok, What, angles};
use crate::source::tokens::{self, TokenKind};

pub fn run(m: &mut Masker<'_>, kept: &[Kept]) {
    let mates = mates(kept);
    let mut rules = Rules { m, k: kept, mates, fresh: usize::MAX };
    let mut i = 0;
    while i < kept.len() {
        i = if kept[i].tok.is_word() { rules.word(i).max(i + 1) } else { rules.punct(i) };
    }
    let Rules { mates, .. } = rules;
    angles::run(m, kept, &mates);
}

/// For every bracket the index of its partner, or its own.
fn mates(kept: &[Kept]) -> Vec<u32> {
    let mut mates: Vec<u32> = (0..kept.len() as u32).collect();
    let mut open: Vec<(u8, u32)> = vec![];
    for (i, k) in kept.iter().enumerate() {
        if k.tok.kind != TokenKind::Punct || k.tok.len() != 1 {
            continue;
        }
        let partner = match k.tok.byte {
            b'(' | b'[' | b'{' => {
                open.push((k.tok.byte, i as u32));
                continue;
            }
            b')' => b'(',
            b']' => b'[',
            b'}' => b'{',
            _ => continue,
        };
        if open.last().is_some_and(|o| o.0 == partner)
            && let Some((_, o)) = open.pop()
        {
            mates[i] = o;
            mates[o as usize] = i as u32;
        } else if partner == b'{' {
            // A closing brace also ends what was left open inside it.
            while open.last().is_some_and(|o| o.0 != b'{') {
                open.pop();
            }
            if let Some((_, o)) = open.pop() {
                mates[i] = o;
                mates[o as usize] = i as u32;
            }
        }
    }
    mates
}

struct Rules<'m, 't, 'k> {
    m: &'m mut Masker<'t>,
    k: &'k [Kept],
    mates: Vec<u32>,
    /// The token behind a statement macro that was just given its semicolon.
    fresh: usize,
}

const NOTHING: Tok = Tok { start: 0, end: 0, kind: TokenKind::Comment, word: Word::Plain, byte: 0 };

impl Rules<'_, '_, '_> {
    fn at(&self, i: usize) -> Tok {
        self.k.get(i).map_or(NOTHING, |k| k.tok)
    }

    fn before(&self, i: usize) -> Tok {
        i.checked_sub(1).map_or(NOTHING, |i| self.at(i))
    }

    fn text(&self, i: usize) -> &str {
        self.m.word(self.at(i))
    }

    /// The index behind the group that opens at `i`, or `i` when none does.
    fn behind_group(&self, i: usize) -> usize {
        match self.mates.get(i) {
            Some(&mate) if mate as usize > i => mate as usize + 1,
            _ => i,
        }
    }

    /// Bytes from token `from` up to but without token `to`.
    fn span(&self, from: usize, to: usize) -> Range<usize> {
        self.at(from).start as usize..self.before(to).end as usize
    }

    fn blank(&mut self, range: Range<usize>, what: What) {
        self.m.blank(range.clone());
        self.m.replace(range, what);
    }

    fn punct(&mut self, i: usize) -> usize {
        let tok = self.at(i);
        // An unnamed bit field after a named one.
        if tok.is(b',') && self.at(i + 1).is(b':') && self.k[i].scope == Scope::Class {
            let end = (i + 2..self.k.len().min(i + 64)).find(|&j| self.at(j).is(b',') || self.at(j).is(b';'));
            if let Some(end) = end {
                self.blank(self.span(i, end), What::Other);
                return end;
            }
        }
        i + 1
    }

    fn word(&mut self, i: usize) -> usize {
        let tok = self.at(i);
        let (prev, next) = (self.before(i), self.at(i + 1));
        match tok.word {
            Word::Attribute(kind) => return self.attribute(i, kind),
            Word::Blank => self.blank(tok.range(), What::Other),
            Word::Macro(MacroKind::Attribute | MacroKind::Empty) => return self.attribute_macro(i),
            Word::Macro(MacroKind::KernelAlias(typed)) => return self.kernel_alias(i, typed),
            Word::Typename if self.before_qualified(i) => self.blank(tok.range(), What::Keyword),
            Word::Template if prev.is(b'.') || self.is_text(prev, "->") || self.is_text(prev, "::") => {
                self.blank(tok.range(), What::Keyword);
            }
            Word::Space | Word::Qualifier if self.ends_lambda_capture(i) => return self.lambda_specifiers(i),
            Word::Space if prev.is(b')') && (next.is(b'{') || self.text(i + 1) == "->") => {
                self.blank(tok.range(), What::Keyword)
            }
            Word::Keyword if self.m.word(tok) == "new" => self.new_array(i),
            // The grammar takes `__restrict` only behind a star, but `restrict` anywhere.
            Word::Qualifier
                if self.m.word(tok) == "__restrict" && !prev.is(b'*') && self.m.write(tok.range(), "restrict") =>
            {
                self.m.replace(tok.range(), What::Keyword);
            }
            Word::Upper => return self.unknown(i),
            Word::Macro(MacroKind::Value) if self.m.macro_of(tok).is_some_and(|m| m.body.starts_with(',')) => {
                self.parameters(i)
            }
            Word::Macro(MacroKind::Value | MacroKind::Expression) if is_upper(self.m.word(tok)) => {
                return self.unknown(i);
            }
            Word::Macro(MacroKind::Statement) => return self.statement_word(i),
            _ => {}
        }
        i + 1
    }

    fn is_text(&self, tok: Tok, text: &str) -> bool {
        tok.len() == text.len() && self.m.word(tok) == text
    }

    /// Whether the `typename` at `i` stands in front of a qualified name, not in a template parameter list.
    fn before_qualified(&self, i: usize) -> bool {
        let (next, after) = (self.at(i + 1), self.text(i + 2));
        self.is_text(next, "::") || next.word == Word::Keyword || (next.is_word() && matches!(after, "::" | "<"))
    }

    fn ends_lambda_capture(&self, i: usize) -> bool {
        let prev = self.before(i);
        if !prev.is(b']') || i == 0 {
            return false;
        }
        let open = self.mates[i - 1] as usize;
        !self.at(open + 1).is(b'[') && !self.before(open).is(b'[')
    }

    fn lambda_specifiers(&mut self, i: usize) -> usize {
        let mut j = i;
        while matches!(self.at(j).word, Word::Space | Word::Macro(MacroKind::Attribute | MacroKind::Empty))
            || self.text(j).starts_with("__") && self.at(j).word == Word::Qualifier
        {
            self.blank(self.at(j).range(), What::Keyword);
            j += 1;
        }
        j
    }

    fn parameters(&mut self, i: usize) {
        let range = self.at(i).range();
        self.m.problem(10, range.clone(), "a macro stands for further parameters, which are not modelled");
        self.blank(range, What::Parameters);
    }

    /// `new const float*[n]`: the grammar takes neither the qualifier nor the star.
    fn new_array(&mut self, i: usize) {
        for j in i + 1..(i + 12).min(self.k.len()) {
            let tok = self.at(j);
            if self.is_text(tok, "const") || tok.is(b'*') && (self.at(j + 1).is(b'[') || self.at(j + 1).is(b'*')) {
                self.blank(tok.range(), What::Keyword);
            } else if !tok.is_word() && !tok.is(b'<') && !tok.is(b'>') && !self.is_text(tok, "::") && !tok.is(b'*') {
                return;
            }
        }
    }

    /// A macro made of statements that is used without parentheses.
    fn statement_word(&mut self, i: usize) -> usize {
        let (tok, next) = (self.at(i), self.at(i + 1));
        // `REAL x = 0;` with `#define REAL double;` is a declaration.
        let same_line = !self.m.str(tok.end as usize..next.start as usize).contains('\n');
        if same_line && matches!(next.word, Word::Plain | Word::Upper) {
            return i + 1;
        }
        if (self.k[i].start || self.fresh == i) && self.k[i].scope == Scope::Block && (next.is_word() || next.is(b'}'))
        {
            self.fresh = i + 1;
            let gap = self.m.str(tok.end as usize..next.start as usize).as_bytes();
            match gap.iter().take_while(|&&b| b != b'/' && b != b'#').position(|&b| matches!(b, b' ' | b'\t' | b'\r')) {
                Some(n) => {
                    let at = tok.end as usize + n;
                    self.m.put(at, b';');
                    self.m.replace(at..at + 1, What::Semicolon);
                }
                None => self.blank(tok.range(), What::OpaqueCall),
            }
        } else if self.k[i].start && matches!(self.k[i].scope, Scope::File | Scope::Class) && !next.is(b'(') {
            self.blank(tok.range(), What::OpaqueCall);
        }
        i + 1
    }
}
