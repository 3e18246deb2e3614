//! Words in capitals of which nothing is known: which of them can only be specifiers.

use super::*;

impl Rules<'_, '_, '_> {
    /// A word in capitals of which nothing is known, or only that it is a value.
    pub(super) fn unknown(&mut self, i: usize) -> usize {
        let Kept { tok, scope, start } = self.k[i];
        let (prev, next) = (self.before(i), self.at(i + 1));
        if prev.is(b'.') || self.is_text(prev, "->") || self.is_text(prev, "::") || self.is_text(next, "::") {
            return i + 1;
        }
        let named = table().is_attribute_name(self.m.word(tok));
        if next.is(b'(') {
            let end = self.behind_group(i + 1);
            let after = self.at(end);
            if ends_declaration_word(prev)
                && after.is_word()
                && (named || prev.word != Word::Primitive || self.at(end + 1).is(b'('))
                || named && after.is_word()
                || start && end > i + 1 && after.word == Word::Control
            {
                return self.attribute_like(i, end);
            }
            if named && self.ends_lambda_capture(i) {
                return self.attribute_like(i, i + 1);
            }
            return i + 1;
        }
        if next.is_word() {
            if self.is_specifier(i, named, scope, start) {
                return self.attribute_like(i, i + 1);
            }
        } else if (next.is(b')') || next.is(b','))
            && scope == Scope::Paren
            && prev.is_word()
            && prev.word == Word::Plain
        {
            let star = i.checked_sub(2).map_or(NOTHING, |j| self.at(j));
            if star.is(b'*') || star.is(b'&') {
                self.parameters(i);
                return i + 1;
            }
        } else if named && self.ends_lambda_capture(i) {
            return self.attribute_like(i, i + 1);
        }
        if start
            && matches!(scope, Scope::File | Scope::Class | Scope::Block)
            && self.alone_on_line(i)
            && (next.is_word() || next.is(b'}') || i + 1 == self.k.len())
        {
            self.blank(tok.range(), What::OpaqueCall);
        }
        i + 1
    }

    /// Whether the unknown word at `i`, with a word behind it, can only be a specifier.
    pub(super) fn is_specifier(&self, i: usize, named: bool, scope: Scope, start: bool) -> bool {
        let (prev, next, after) = (self.before(i), self.at(i + 1), self.at(i + 2));
        if next.word == Word::Keyword && !matches!(self.m.word(next), "decltype" | "requires") {
            return false;
        }
        if named || start && next.word == Word::Control {
            return true;
        }
        let ends_pointer = prev.is(b'*') || prev.is(b'&') || self.is_text(prev, "&&");
        if ends_pointer {
            return after.kind == TokenKind::Punct && matches!(after.byte, b',' | b')' | b'=' | b';' | b'[');
        }
        if prev.word == Word::Record {
            return after.is(b'{') || after.is(b':') || self.m.word(after) == "final";
        }
        let opens = prev.is(b'(') || prev.is(b',') || prev.is(b'>') || ends_declaration_word(prev) || start;
        if !opens || prev.word == Word::Primitive {
            return false;
        }
        let third = self.at(i + 3);
        if matches!(next.word, Word::Qualifier | Word::Space | Word::Global | Word::Typename | Word::Template) {
            let constant = matches!(self.m.word(next), "const" | "volatile" | "__restrict__");
            return !constant
                || after.is_word()
                    && (third.is_word()
                        || third.is(b'*')
                        || third.is(b'&')
                        || third.is(b'<')
                        || self.is_text(third, "::"));
        }
        let pointer = (after.is(b'*') || after.is(b'&') || self.is_text(after, "&&"))
            && (third.is_word() || third.is(b'*') || third.is(b'&'));
        let qualified = scope == Scope::Paren && (after.is(b'<') || self.is_text(after, "::"));
        after.is_word() && after.word != Word::Keyword || pointer || qualified
    }

    pub(super) fn alone_on_line(&self, i: usize) -> bool {
        let (tok, prev, next) = (self.at(i), self.before(i), self.at(i + 1));
        let newline = |a: usize, b: usize| memchr::memchr(b'\n', self.m.str(a..b).as_bytes()).is_some();
        (i == 0 || newline(prev.end as usize, tok.start as usize))
            && (i + 1 == self.k.len() || newline(tok.end as usize, next.start as usize))
    }
}

/// Whether a declaration may go on behind `tok` with another specifier.
fn ends_declaration_word(tok: Tok) -> bool {
    matches!(
        tok.word,
        Word::Qualifier
            | Word::Space
            | Word::Global
            | Word::Primitive
            | Word::Attribute(_)
            | Word::Macro(MacroKind::Attribute | MacroKind::KernelAlias(_))
    )
}
