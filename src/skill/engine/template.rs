//! Template bodies: a pattern over the tokens of an expression, whose metavariables stand for whole subexpressions.

use std::collections::BTreeMap;

use crate::ir::{ExprId, ExprKind, Function};
use crate::skill::ast::Rule;
use crate::source::tokens::{Token, TokenKind, scan_code};
use crate::source::{Sources, Span};

/// Steps after which matching one rule against one expression gives up.
const MAX_STEPS: usize = 20_000;

/// The first rule of `rules` that matches the whole of `root`, as replacement text.
pub fn rewrite(f: &Function, sources: &Sources, root: ExprId, rules: &[Rule]) -> Option<String> {
    rules.iter().find_map(|rule| {
        let bound = matches(f, sources, root, &rule.pattern.node)?;
        Some(instantiate(f, sources, &rule.replacement.node, &bound))
    })
}

/// Metavariables with the subexpressions that they stand for.
type Bindings = BTreeMap<String, ExprId>;

fn matches(f: &Function, sources: &Sources, root: ExprId, pattern: &str) -> Option<Bindings> {
    let span = f.expr(root).span;
    let text = sources.slice(span);
    let code = scan_code(text);
    let mut parts: BTreeMap<(u32, u32), ExprId> = BTreeMap::new();
    for id in f.walk(root) {
        let s = f.expr(id).span;
        if span.contains(s) {
            parts.entry((s.start - span.start, s.end - span.start)).or_insert(id);
        }
    }
    let wanted = pattern_tokens(pattern);
    // `::expf(x)` names the global function that the pattern means.
    let global = code.first().is_some_and(|t| t.of(text) == "::");
    let mut search = Search { text, code: &code[usize::from(global)..], parts: &parts, steps: 0 };
    let mut bound = Bindings::new();
    search.go(&wanted, 0, &mut bound).then_some(bound)
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Word(String),
    Meta(String),
}

/// Splits a pattern into tokens; `$x` is one piece.
fn pattern_tokens(pattern: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = vec![];
    let mut dollar = false;
    for token in scan_code(pattern) {
        let word = token.of(pattern);
        match (dollar, token.kind) {
            (true, TokenKind::Word) => pieces.push(Piece::Meta(word.to_owned())),
            // A scanner may see `$x` as one word.
            (false, TokenKind::Word) if word.starts_with('$') => pieces.push(Piece::Meta(word[1..].to_owned())),
            _ if word != "$" => pieces.push(Piece::Word(word.to_owned())),
            _ => {}
        }
        dollar = word == "$";
    }
    pieces
}

struct Search<'a> {
    text: &'a str,
    code: &'a [Token],
    parts: &'a BTreeMap<(u32, u32), ExprId>,
    steps: usize,
}

impl Search<'_> {
    /// Matches `wanted` against the tokens from `at` to the end.
    fn go(&mut self, wanted: &[Piece], at: usize, bound: &mut Bindings) -> bool {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return false;
        }
        match wanted.first() {
            None => at == self.code.len(),
            Some(Piece::Word(word)) => {
                self.code.get(at).is_some_and(|t| t.of(self.text) == word) && self.go(&wanted[1..], at + 1, bound)
            }
            Some(Piece::Meta(name)) => (at..self.code.len()).any(|last| {
                let key = (self.code[at].start, self.code[last].end);
                let Some(&expr) = self.parts.get(&key) else { return false };
                if let Some(other) = bound.get(name) {
                    return self.same(*other, key) && self.go(&wanted[1..], last + 1, bound);
                }
                bound.insert(name.clone(), expr);
                let found = self.go(&wanted[1..], last + 1, bound);
                if !found {
                    bound.remove(name);
                }
                found
            }),
        }
    }

    /// Whether the subexpression bound before has the same tokens as the range.
    fn same(&self, expr: ExprId, (start, end): (u32, u32)) -> bool {
        let Some((&(s, e), _)) = self.parts.iter().find(|(_, id)| **id == expr) else { return false };
        let tokens = |from: u32, to: u32| {
            self.code.iter().filter(move |t| t.start >= from && t.end <= to).map(|t| t.of(self.text))
        };
        tokens(s, e).eq(tokens(start, end))
    }
}

/// The replacement with metavariables filled in; a compound subexpression gets parentheses unless it already stands
/// between parentheses or commas.
fn instantiate(f: &Function, sources: &Sources, replacement: &str, bound: &Bindings) -> String {
    let mut out = String::new();
    let mut rest = replacement;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let len = after.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(after.len());
        if let Some(&expr) = bound.get(&after[..len]) {
            let text = sources.slice(f.expr(expr).span);
            let closed = out.trim_end().ends_with(['(', ',']) && after[len..].trim_start().starts_with([')', ',']);
            let atom = is_atom(f.kind_of(expr));
            out.push_str(&if closed || atom { text.to_owned() } else { format!("({text})") });
        }
        rest = &after[len..];
    }
    out.push_str(rest);
    out.trim().to_owned()
}

fn is_atom(kind: &ExprKind) -> bool {
    use ExprKind::*;
    matches!(
        kind,
        Int(_) | Float(_) | Bool(_) | Var(_) | Name(_) | Builtin(_) | Index { .. } | Call { .. } | Member { .. }
    )
}

/// The span that a template replaces.
pub fn span(f: &Function, root: ExprId) -> Span {
    f.expr(root).span
}
