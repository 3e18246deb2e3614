//! Second pass over the surviving tokens: attributes, aliases, template words, unknown macros.

use std::ops::Range;

use super::structure::{Kept, Scope};
use super::table::{MacroKind, Word, is_upper, table};
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

    fn attribute(&mut self, i: usize, kind: AttributeKind) -> usize {
        let end = self.behind_group(i + 1);
        let span = self.span(i, end);
        let args = if end > i + 1 { self.arguments(i + 1, end - 1) } else { vec![] };
        self.m.blank(span.clone());
        if kind == AttributeKind::Pragma {
            let inner = self.span(i + 1, end);
            let text = self.m.str(inner.clone()).trim_matches(['(', ')', '"', ' ']);
            let offset = inner.start + self.m.str(inner).find(text).unwrap_or(0);
            if unroll_pragma(self.m, text, offset, span.clone()) {
                return end;
            }
        }
        self.m.found.attributes.push(Attribute { kind, args, span, expansion: "".into() });
        end
    }

    /// The top-level arguments between the brackets at `open` and `close`.
    fn arguments(&self, open: usize, close: usize) -> Vec<(String, Range<usize>)> {
        let mut args = vec![];
        let mut from = open + 1;
        let mut j = from;
        while j <= close {
            if j == close || self.at(j).is(b',') {
                if j > from {
                    let range = self.span(from, j);
                    args.push((self.m.str(range.clone()).to_owned(), range));
                }
                from = j + 1;
            }
            j = self.behind_group(j).max(j + 1);
        }
        args
    }

    fn attribute_macro(&mut self, i: usize) -> usize {
        let tok = self.at(i);
        let (prev, next) = (self.before(i), self.at(i + 1));
        let Some(found) = self.m.macro_of(tok) else { return i + 1 };
        let mut end = i + 1;
        if found.params.is_some() {
            if !next.is(b'(') {
                return i + 1;
            }
            end = self.behind_group(i + 1);
        }
        let after = self.at(end);
        let listed =
            (prev.is(b'(') || prev.is(b',') || prev.is(b'<')) && (after.is(b')') || after.is(b',') || after.is(b'>'));
        // A call that expands to nothing is left as the call it looks like.
        let called = found.kind == MacroKind::Empty
            && (found.params.is_some() && !after.is_word() || after.is(b';') && self.k[i].start);
        if listed
            || called
            || prev.is(b'.')
            || prev.is(b'=')
            || matches!(prev.word, Word::Record | Word::Enum | Word::Namespace) && !after.is_word()
        {
            return end;
        }
        let span = self.span(i, end);
        let args = if end > i + 1 { self.arguments(i + 1, end - 1) } else { vec![] };
        self.expand(found, &args, &span, 0);
        self.m.blank(span.clone());
        let expansion = found.body.clone();
        self.m.found.attributes.push(Attribute { kind: AttributeKind::Macro, args, span, expansion });
        end
    }

    /// Records the attributes in the body of a macro, with its parameters filled in.
    fn expand(&mut self, found: &Macro, args: &[(String, Range<usize>)], span: &Range<usize>, depth: u32) {
        if self.m.work < found.body.len() {
            return;
        }
        self.m.work -= found.body.len();
        let tokens: Vec<_> = tokens::scan_code(&found.body).into_iter().take(256).collect();
        let params = found.params.as_deref().unwrap_or(&[]);
        let text = |j: usize| tokens.get(j).map_or("", |t| t.of(&found.body));
        for j in 0..tokens.len() {
            let word = text(j);
            let inner = self.m.local.get(word).or_else(|| self.m.global.get(word));
            if let (Some(inner), true) = (inner, depth < 4)
                && word != &*found.body
                && inner.params.is_none()
            {
                self.expand(inner, &[], span, depth + 1);
            }
            let Word::Attribute(kind) = table().word(word) else { continue };
            let mut values = vec![];
            if text(j + 1) == "(" {
                let (mut depth, mut value, mut place) = (0, String::new(), span.clone());
                for token in &tokens[j + 1..] {
                    let piece = token.of(&found.body);
                    depth += i32::from(piece == "(") - i32::from(piece == ")");
                    let ends = depth == 0 || (depth == 1 && piece == ",");
                    if ends && !value.is_empty() {
                        values.push((std::mem::take(&mut value), std::mem::replace(&mut place, span.clone())));
                    } else if !ends && !(depth == 1 && piece == "(" && value.is_empty() && values.is_empty()) {
                        match params.iter().position(|p| p == piece).and_then(|p| args.get(p)) {
                            Some((arg, range)) => {
                                place = if value.is_empty() { range.clone() } else { span.clone() };
                                value.push_str(arg);
                            }
                            None => value.push_str(piece),
                        }
                    }
                    if depth == 0 {
                        break;
                    }
                }
            }
            let pragma = values
                .first()
                .map(|v| v.0.trim_matches(['"', ' ']).to_owned())
                .filter(|_| kind == AttributeKind::Pragma);
            match pragma.as_deref().and_then(unroll_factor) {
                Some(factor) => {
                    let args = factor.map(|(f, _)| (f.to_owned(), span.clone())).into_iter().collect();
                    self.push(AttributeKind::Unroll, args, span);
                }
                None => self.push(kind, values, span),
            }
        }
    }

    fn push(&mut self, kind: AttributeKind, args: Vec<(String, Range<usize>)>, span: &Range<usize>) {
        self.m.found.attributes.push(Attribute { kind, args, span: span.clone(), expansion: "".into() });
    }

    fn kernel_alias(&mut self, i: usize, typed: bool) -> usize {
        let tok = self.at(i);
        let Some(found) = self.m.macro_of(tok) else { return i + 1 };
        let end = if found.params.is_some() { self.behind_group(i + 1) } else { i + 1 };
        let span = self.span(i, end);
        let args = if end > i + 1 { self.arguments(i + 1, end - 1) } else { vec![] };
        self.expand(found, &args, &span, 0);
        let stand_ins: &[&str] = if typed { &["__global__ void", "void"] } else { &["__global__"] };
        if !stand_ins.iter().any(|s| self.m.write(span.clone(), s)) {
            self.m.blank(span.clone());
        }
        let expansion = found.body.clone();
        self.m.found.attributes.push(Attribute { kind: AttributeKind::Macro, args, span: span.clone(), expansion });
        self.m.replace(span, What::KernelAlias);
        end
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

    fn attribute_like(&mut self, i: usize, end: usize) -> usize {
        let span = self.span(i, end);
        let args = if end > i + 1 { self.arguments(i + 1, end - 1) } else { vec![] };
        self.m.blank(span.clone());
        self.m.found.attributes.push(Attribute { kind: AttributeKind::Macro, args, span, expansion: "".into() });
        end
    }

    /// A word in capitals of which nothing is known, or only that it is a value.
    fn unknown(&mut self, i: usize) -> usize {
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
    fn is_specifier(&self, i: usize, named: bool, scope: Scope, start: bool) -> bool {
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

    fn alone_on_line(&self, i: usize) -> bool {
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

/// The factor of an unroll pragma: `None` for other pragmas, `Some(None)` for a full unroll.
fn unroll_factor(text: &str) -> Option<Option<(&str, usize)>> {
    let trimmed = text.trim_start();
    let rest =
        trimmed.strip_prefix("GCC").or_else(|| trimmed.strip_prefix("clang loop")).unwrap_or(trimmed).trim_start();
    if rest.starts_with("nounroll") {
        return Some(Some(("1", 0)));
    }
    let rest = rest.strip_prefix("unroll")?;
    if rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') {
        return None;
    }
    let rest = rest.split("//").next().unwrap_or("");
    let rest = rest.split("/*").next().unwrap_or("").trim();
    let factor = match rest.strip_prefix('(').and_then(|r| r.strip_suffix(')')) {
        Some(inner) => inner.trim(),
        None => rest,
    };
    if factor.is_empty() {
        return Some(None);
    }
    Some(Some((factor, text.find(factor).unwrap_or(0))))
}

/// Records an unroll pragma whose text begins at byte `at`; false for other pragmas.
pub(super) fn unroll_pragma(m: &mut Masker<'_>, text: &str, at: usize, span: Range<usize>) -> bool {
    let Some(factor) = unroll_factor(text) else { return false };
    let args = factor
        .map(|(f, offset)| (f.to_owned(), if offset == 0 { span.clone() } else { at + offset..at + offset + f.len() }))
        .into_iter()
        .collect();
    m.found.attributes.push(Attribute { kind: AttributeKind::Unroll, args, span, expansion: "".into() });
    true
}

/// Makes the condition of an `#if` readable: `and` becomes `&&`, and what the grammar does not know becomes `1`.
pub(super) fn condition(m: &mut Masker<'_>, range: Range<usize>) {
    let text = m.text;
    let mut tokens = tokens::scan_directive(text, range.clone()).peekable();
    if tokens.peek().is_none() {
        return;
    }
    let mut odd = false;
    for token in tokens {
        let word = token.of(text);
        let with = match word {
            "and" => "&&",
            "or" => "||",
            "not" => "!",
            _ => {
                odd |= token.kind == TokenKind::Text || word.starts_with("__has_include");
                continue;
            }
        };
        m.write(token.range(), with);
        m.replace(token.range(), What::Condition);
    }
    if odd {
        let start = m.str(range.clone()).find(|c: char| c != ' ' && c != '\t').map_or(range.start, |n| range.start + n);
        let line = memchr::memchr(b'\n', m.str(start..range.end).as_bytes()).map_or(range.end, |n| start + n);
        m.blank(start..line);
        m.put(start, b'1');
        m.replace(start..line, What::Condition);
    }
}
