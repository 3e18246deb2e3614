//! Preprocessor lines inside the code, and which `#if`s split a statement.

use super::*;
use crate::source::mask::{macros, rules};
use crate::source::tokens::Token;

impl Walker<'_, '_, '_> {
    pub(super) fn directive(&mut self, i: usize) {
        let tok = self.toks[i];
        let token = Token { kind: tok.kind, start: tok.start, end: tok.end };
        let (name, after) = macros::directive_name(self.m.text, token).unwrap_or(("", tok.end as usize));
        self.end_of_macro(Some(i));
        match name {
            "if" | "ifdef" | "ifndef" => {
                let condition = self.m.str(after..tok.end as usize).trim();
                rules::condition(self.m, after..tok.end as usize);
                let never = name == "if" && matches!(condition, "0" | "false");
                let statements = matches!(self.scope(), Scope::Block | Scope::File | Scope::Class | Scope::Enum);
                let depth = self.nodes[self.state.node as usize].depth;
                self.groups.push(Group {
                    saved: self.state,
                    directives: vec![i as u32],
                    lowest: depth,
                    whole: statements && self.state.boundary,
                    kept: usize::from(never),
                    kept_end: None,
                    empty: true,
                });
            }
            "elif" | "elifdef" | "elifndef" | "else" => {
                rules::condition(self.m, after..tok.end as usize);
                self.branch(i);
            }
            "endif" => self.end_group(i),
            "pragma" => self.pragma(tok, after),
            _ => {
                let statements = matches!(self.scope(), Scope::Block | Scope::File | Scope::Class);
                // The grammar wants a newline behind a directive, which the last line of a file may lack.
                let last = tok.end as usize == self.m.text.len();
                if last || !(statements && self.state.boundary) {
                    self.m.blank(tok.range());
                    self.m.replace(tok.range(), What::Directive);
                }
            }
        }
    }

    pub(super) fn end_branch(&mut self) {
        let state = self.state;
        if let Some(group) = self.groups.last_mut() {
            let level = self.nodes[group.saved.node as usize].depth;
            let balanced = state.node == group.saved.node && group.lowest >= level;
            group.whole &= balanced && (group.empty || state.boundary);
            if group.directives.len() == group.kept + 1 {
                group.kept_end = Some(state);
            }
        }
    }

    pub(super) fn branch(&mut self, i: usize) {
        self.end_branch();
        if let Some(group) = self.groups.last_mut() {
            group.directives.push(i as u32);
            group.empty = true;
            self.state = group.saved;
        }
    }

    pub(super) fn end_group(&mut self, i: usize) {
        self.end_branch();
        let Some(mut group) = self.groups.pop() else { return };
        let next = self.toks[i + 1..].iter().take(64).find(|t| t.kind != TokenKind::Directive);
        group.whole &= !next.is_some_and(|t| t.word == Word::Lead && self.m.word(*t) == "else");
        group.directives.push(i as u32);
        if let Some(outer) = self.groups.last_mut() {
            outer.lowest = outer.lowest.min(group.lowest);
            outer.empty &= group.empty;
        }
        if group.whole {
            self.state = group.saved;
            self.state.prev = if i > 0 { Some(i as u32 - 1) } else { None };
            self.state.prev_start = false;
            self.state.closed = None;
            return;
        }
        self.split(&group);
        self.state = group.kept_end.unwrap_or(group.saved);
    }

    /// Keeps one branch of `group` and blanks the others with all its directives.
    pub(super) fn split(&mut self, group: &Group) {
        let mut lost = false;
        for (n, pair) in group.directives.windows(2).enumerate() {
            if n != group.kept && pair[1] > pair[0] + 1 {
                self.dropped.push((pair[0] + 1, pair[1]));
                lost = true;
            }
        }
        for &d in &group.directives {
            let range = self.tok(d).range();
            self.m.blank(range.clone());
            self.m.replace(range, What::Directive);
        }
        if let (Some(&first), Some(&last)) = (group.directives.first(), group.directives.last()) {
            let range = self.tok(first).start as usize..self.tok(last).end as usize;
            self.m.found.split.push(range.clone());
            let message = if lost {
                "this #if splits a statement: only one of its branches was read"
            } else {
                "this #if splits a statement: it was read as if it always held"
            };
            self.m.problem(6, range, message);
        }
    }

    pub(super) fn pragma(&mut self, tok: Tok, after: usize) {
        let text = self.m.str(after..tok.end as usize);
        if rules::unroll_pragma(self.m, text, after, tok.range()) {
            self.m.blank(tok.range());
        } else if !(self.state.boundary && matches!(self.scope(), Scope::Block | Scope::File | Scope::Class)) {
            self.m.blank(tok.range());
            self.m.replace(tok.range(), What::Directive);
        }
    }
}

/// Whether a branch that begins with `tok` goes on with the statement before it.
pub(super) fn continues(tok: Tok) -> bool {
    match tok.kind {
        TokenKind::Word => tok.word == Word::Lead && tok.byte == b'e',
        TokenKind::Punct => {
            !matches!(tok.byte, b'{' | b';' | b'(' | b'*' | b'~' | b'[')
                && !matches!((tok.byte, tok.len()), (b':' | b'+' | b'-', 2))
        }
        _ => false,
    }
}
