//! Third pass: `<` and `>` as operators or brackets, and types as macro arguments.

use super::structure::{Kept, Scope};
use super::table::{MacroKind, Word, table};
use super::{Masker, Tok, What};
use crate::source::tokens::TokenKind;

/// How many tokens a template argument list may have.
const REACH: usize = 96;

/// One bracket level.
#[derive(Clone, Copy, Default)]
struct Level {
    /// The `<` that is a comparison, in the current expression.
    pending: Option<u32>,
    /// Whether a macro is being called here.
    call: bool,
    control: bool,
    argument: u32,
    /// Whether the argument so far could be a type.
    type_only: bool,
    primitive: bool,
}

pub fn run(m: &mut Masker<'_>, kept: &[Kept], mates: &[u32]) {
    let mut angles =
        Angles { m, k: kept, mates, closer: vec![false; kept.len()], levels: vec![Level::default()], template_end: 0 };
    for i in 0..kept.len() {
        angles.step(i);
    }
}

struct Angles<'m, 't, 'k> {
    m: &'m mut Masker<'t>,
    k: &'k [Kept],
    mates: &'k [u32],
    closer: Vec<bool>,
    levels: Vec<Level>,
    /// Tokens before this stand in template arguments that were blanked.
    template_end: usize,
}

impl Angles<'_, '_, '_> {
    fn at(&self, i: usize) -> Option<Tok> {
        self.k.get(i).map(|k| k.tok)
    }

    fn level(&mut self) -> &mut Level {
        if self.levels.is_empty() {
            self.levels.push(Level::default());
        }
        let last = self.levels.len() - 1;
        &mut self.levels[last]
    }

    fn step(&mut self, i: usize) {
        let tok = self.k[i].tok;
        if tok.kind != TokenKind::Punct {
            return self.operand(tok);
        }
        if tok.len() != 1 {
            // The grammar may read `a < b && c >= d` as an assignment to `a<b && c>`.
            if tok.byte == b'>' && self.level().pending.is_some() {
                self.m.put(tok.start as usize, b'<');
                self.m.replace(tok.range(), What::Operator);
            }
            let scope_operator = tok.byte == b':';
            self.level().type_only &= scope_operator;
            return;
        }
        match tok.byte {
            b'(' | b'[' | b'{' => self.open(i),
            b')' | b']' | b'}' => {
                self.end_argument(i);
                self.levels.pop();
                self.level().type_only = false;
                if tok.byte == b'}' {
                    self.level().pending = None;
                }
            }
            b';' => self.level().pending = None,
            b',' => self.end_argument(i),
            b'<' => {
                self.level().type_only = false;
                self.less(i);
            }
            b'>' => {
                self.level().type_only = false;
                self.greater(i);
            }
            b'*' | b'&' => {}
            _ => self.level().type_only = false,
        }
    }

    fn operand(&mut self, tok: Tok) {
        let type_word = matches!(
            tok.word,
            Word::Plain | Word::Primitive | Word::Type | Word::Record | Word::Macro(MacroKind::Type)
        ) || tok.word == Word::Qualifier && matches!(self.m.word(tok), "const" | "volatile");
        let word = tok.is_word();
        let level = self.level();
        level.type_only &= word && type_word;
        level.primitive |= tok.word == Word::Primitive;
    }

    fn open(&mut self, i: usize) {
        let callee = i.checked_sub(1).and_then(|j| self.at(j)).filter(|t| t.is_word());
        let call = self.k[i].tok.byte == b'('
            && callee.is_some_and(|c| match c.word {
                Word::Upper | Word::Macro(_) => true,
                Word::Plain => table().type_argument_calls.iter().any(|n| n == self.m.word(c)),
                _ => false,
            });
        let call = call && !self.declares(i);
        let control = callee.is_some_and(|c| c.word == Word::Control);
        if self.k[i].tok.byte == b'{' {
            self.level().pending = None;
        }
        self.level().type_only = false;
        self.levels.push(Level { call, control, argument: i as u32 + 1, type_only: true, ..Level::default() });
    }

    /// Ends an argument of a call in front of the token at `i`; a type there becomes a name.
    fn end_argument(&mut self, i: usize) {
        let level = *self.level();
        let from = level.argument as usize;
        *self.level() = Level { argument: i as u32 + 1, type_only: true, primitive: false, ..level };
        if !level.call || !level.type_only || i <= from {
            return;
        }
        let (Some(first), Some(last)) = (self.at(from), self.at(i - 1)) else { return };
        let pointer = last.is(b'*') || last.is(b'&');
        let named = level.primitive && last.word == Word::Plain;
        if !(level.primitive || pointer) || named || !first.is_word() {
            return;
        }
        let range = first.start as usize..last.end as usize;
        if self.m.str(range.clone()).contains(['\n', '\r', '/']) {
            return;
        }
        // `float` is a keyword to the grammar, `_loat` a name.
        for at in range.clone() {
            let b = self.m.out.get(at).copied().unwrap_or(b'_');
            if at == range.start || !b.is_ascii_alphanumeric() {
                self.m.put(at, b'_');
            }
        }
        self.m.replace(range, What::TypeArgument);
    }

    /// Whether the list that opens at `open` belongs to a declaration: a type stands in front of its name.
    fn declares(&self, open: usize) -> bool {
        let Some(before) = open.checked_sub(2).and_then(|j| self.at(j)) else { return false };
        before.is_word() && !matches!(before.word, Word::Keyword | Word::Lead | Word::Case)
            || before.is(b'*')
            || before.is(b'>')
    }

    /// The `>` that closes `<` at `i`, with whether `&&` or `||` stands between, and whether a type does.
    fn closing(&self, i: usize) -> Option<(usize, bool, bool)> {
        let (mut depth, mut logical, mut typed) = (1, false, false);
        let mut j = i + 1;
        let end = self.k.len().min(i + REACH);
        while j < end {
            let tok = self.k[j].tok;
            if tok.kind == TokenKind::Punct {
                match (tok.byte, tok.len()) {
                    (b'(' | b'[' | b'{', 1) => {
                        let mate = self.mates[j] as usize;
                        if mate <= j {
                            return None;
                        }
                        j = mate;
                    }
                    (b'<', 1) => depth += 1,
                    (b'>', 1) => {
                        depth -= 1;
                        if depth == 0 {
                            return Some((j, logical, typed));
                        }
                    }
                    (b';' | b')' | b']' | b'}', 1) | (b'<', _) => return None,
                    (b'&' | b'|', 2) => logical = true,
                    _ => {}
                }
            } else {
                typed |= matches!(tok.word, Word::Primitive | Word::Typename | Word::Record | Word::Type)
                    && !self.at(j + 1).is_some_and(|t| t.is(b'('));
            }
            j += 1;
        }
        None
    }

    fn less(&mut self, i: usize) {
        if i < self.template_end {
            return;
        }
        let Some(prev) = i.checked_sub(1).and_then(|j| self.at(j)) else { return };
        // `k << < g, b >> > (p)` is a launch.
        let launch = |t: Option<Tok>| t.is_some_and(|t| t.byte == b'<' && t.kind == TokenKind::Punct);
        if prev.word == Word::Operator || launch(Some(prev)) || launch(self.at(i + 1)) {
            return;
        }
        let closing = self.closing(i);
        let cast = prev.word == Word::Keyword && self.m.word(prev).ends_with("_cast");
        let list = cast
            || matches!(prev.word, Word::Template)
            || !matches!(self.k[i].scope, Scope::Block | Scope::Paren | Scope::Bracket | Scope::Init);
        if list {
            if let Some((close, ..)) = closing {
                self.closer[close] = true;
            }
            return;
        }
        // `[&]<int N>(..)` and `operator()<3>()`.
        let called =
            prev.is(b')') && i.checked_sub(3).and_then(|j| self.at(j)).is_some_and(|t| t.word == Word::Operator);
        let lambda = prev.is(b']') || called;
        let template = match closing {
            None => None,
            Some(_) if !(prev.is_word() && prev.word != Word::Keyword || lambda) => None,
            Some((close, logical, typed)) => self.is_template(i, close, logical, typed).then_some(close),
        };
        match template {
            // Only behind a word can the grammar take `<` for the start of template arguments.
            None if !prev.is_word() || prev.word == Word::Keyword => {}
            None => self.level().pending = Some(i as u32),
            Some(close) => {
                self.closer[close] = true;
                if let (Some(_), false) = (self.level().pending, lambda) {
                    let range = self.k[i].tok.start as usize..self.k[close].tok.end as usize;
                    self.m.blank(range.clone());
                    self.m.replace(range, What::TemplateArguments);
                    self.template_end = close;
                }
            }
        }
    }

    fn is_template(&mut self, i: usize, close: usize, logical: bool, typed: bool) -> bool {
        let (less, greater) = (self.k[i].tok, self.k[close].tok);
        let gap = |a: Option<Tok>, b: Option<Tok>| a.zip(b).is_some_and(|(a, b)| a.end < b.start);
        let before = gap(i.checked_sub(1).and_then(|j| self.at(j)), Some(less));
        let behind = gap(Some(less), self.at(i + 1));
        let spaced_end = gap(self.at(close - 1), Some(greater)) && gap(Some(greater), self.at(close + 1));
        let after = self.at(close + 1);
        if typed {
            return true;
        }
        if before && behind || after.is_some_and(|t| t.kind == TokenKind::Number) {
            return false;
        }
        if !logical {
            return true;
        }
        let goes_on = after.is_some_and(|t| t.is_word() || t.is(b'('));
        if !goes_on {
            return true;
        }
        if spaced_end || before || self.level().control {
            return false;
        }
        self.m.found.suspicions.push(less.start as usize..greater.end as usize);
        true
    }

    fn greater(&mut self, i: usize) {
        if self.closer[i] || i < self.template_end || self.level().pending.is_none() {
            return;
        }
        if i.checked_sub(1).and_then(|j| self.at(j)).is_some_and(|t| t.word == Word::Operator) {
            return;
        }
        // `>>` is a shift: both halves change, or neither.
        let pair = self.at(i + 1).is_some_and(|t| t.is(b'>') && t.start == self.k[i].tok.end);
        let next = self.at(i + 1 + usize::from(pair));
        let closes_launch =
            (i.saturating_sub(2)..=i).any(|j| (j..j + 3).all(|n| self.at(n).is_some_and(|t| t.is(b'>'))));
        if closes_launch
            || next.is_some_and(|t| matches!(t.kind, TokenKind::Number | TokenKind::Text | TokenKind::Char))
        {
            self.closer[i + usize::from(pair)] = true;
            return;
        }
        let mut range = self.k[i].tok.range();
        self.m.put(range.start, b'<');
        if pair {
            self.closer[i + 1] = true;
            self.m.put(range.end, b'<');
            range.end += 1;
        }
        self.m.replace(range, What::Operator);
    }
}
