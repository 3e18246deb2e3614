//! First pass: scopes and statement ends, statement macros, and the `#if`s that split a statement.

mod conditionals;
mod statements;

use std::ops::Range;

use conditionals::continues;

use super::table::{MacroKind, Word};
use super::{Masker, Tok, What};
use crate::source::tokens::TokenKind;

/// What kind of text a bracket holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// A file or namespace.
    File,
    Class,
    Enum,
    /// Statements.
    Block,
    /// An initialiser list.
    Init,
    Paren,
    Bracket,
}

/// A token that survives, with the innermost bracket around it.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    pub tok: Tok,
    pub scope: Scope,
    /// Whether a statement or declaration begins here.
    pub start: bool,
}

/// What the current statement has shown so far, outside brackets.
#[derive(Clone, Copy, Debug, Default)]
struct Head {
    first: Word,
    words: u32,
    record: bool,
    enumeration: bool,
    namespace: bool,
    linkage: bool,
    paren: bool,
    equals: bool,
    colon: bool,
    question: u32,
}

#[derive(Clone, Copy)]
struct Node {
    parent: u32,
    depth: u32,
    scope: Scope,
    open: u32,
    /// The word in front of `(`, when a statement begins with it.
    callee: Option<u32>,
    control: bool,
    head: Head,
    /// Where the statement head goes on after a lambda's body.
    resumes: bool,
}

#[derive(Clone, Copy)]
struct State {
    node: u32,
    prev: Option<u32>,
    /// Whether a statement ended just now.
    boundary: bool,
    /// `boundary`, or behind `if (..)`, `else`, `do`.
    start: bool,
    prev_start: bool,
    /// The callee of the call that `prev` closes, when the call began a statement.
    closed: Option<u32>,
    head: Head,
}

/// One `#if` .. `#endif`.
struct Group {
    saved: State,
    directives: Vec<u32>,
    lowest: u32,
    whole: bool,
    kept: usize,
    kept_end: Option<State>,
    /// Whether the current branch has shown a token.
    empty: bool,
}

struct Walker<'m, 't, 'k> {
    m: &'m mut Masker<'t>,
    toks: &'k [Tok],
    nodes: Vec<Node>,
    state: State,
    groups: Vec<Group>,
    /// Token ranges (start, end) of dropped branches, in the order of their `#endif`.
    dropped: Vec<(u32, u32)>,
    kept: Vec<Kept>,
    /// Byte ranges to blank in the end, at once: they may nest.
    later: Vec<Range<usize>>,
}

pub fn run(m: &mut Masker<'_>, toks: &[Tok]) -> Vec<Kept> {
    let root = Node {
        parent: 0,
        depth: 0,
        scope: Scope::File,
        open: 0,
        callee: None,
        control: false,
        head: Head::default(),
        resumes: false,
    };
    let state = State {
        node: 0,
        prev: None,
        boundary: true,
        start: true,
        prev_start: false,
        closed: None,
        head: Head::default(),
    };
    let mut walker = Walker {
        m,
        toks,
        nodes: vec![root],
        state,
        groups: vec![],
        dropped: vec![],
        kept: Vec::with_capacity(toks.len()),
        later: vec![],
    };
    for (i, tok) in toks.iter().enumerate() {
        match tok.kind {
            TokenKind::Directive => walker.directive(i),
            _ => walker.code(i),
        }
    }
    walker.end_of_macro(None);
    let open: Vec<u32> = walker.groups.iter().flat_map(|g| g.directives.clone()).collect();
    for i in open {
        let range = toks[i as usize].range();
        walker.m.problem(9, range.clone(), "this conditional has no #endif");
        walker.m.blank(range.clone());
        walker.m.replace(range, What::Directive);
    }
    walker.finish()
}

impl Walker<'_, '_, '_> {
    fn scope(&self) -> Scope {
        self.nodes[self.state.node as usize].scope
    }

    fn tok(&self, i: u32) -> Tok {
        self.toks[i as usize]
    }

    fn prev(&self) -> Option<Tok> {
        self.state.prev.map(|i| self.tok(i))
    }

    fn back(&self, n: u32) -> Option<Tok> {
        let i = self.state.prev?.checked_sub(n)?;
        Some(self.tok(i))
    }

    fn code(&mut self, i: usize) {
        let tok = self.toks[i];
        self.end_of_macro(Some(i));
        if let Some(group) = self.groups.last_mut()
            && std::mem::replace(&mut group.empty, false)
            && continues(tok)
        {
            group.whole = false;
        }
        let start = self.state.start;
        let was = self.state;
        let before = self.scope();
        self.state.boundary = false;
        self.state.start = false;
        self.state.closed = None;
        let mut own = before;
        match (tok.kind, tok.byte) {
            (TokenKind::Punct, b'(') => own = self.open(i, Scope::Paren, was),
            (TokenKind::Punct, b'[') => own = self.open(i, Scope::Bracket, was),
            (TokenKind::Punct, b'{') => {
                let scope = self.brace_scope(was);
                own = self.open(i, scope, was);
            }
            (TokenKind::Punct, b')' | b']' | b'}') => self.close(tok.byte),
            (TokenKind::Punct, _) if tok.len() == 1 => self.separator(tok, was),
            (TokenKind::Word, _) => self.word(tok),
            (TokenKind::Text, _) => {
                self.state.head.linkage |=
                    self.state.head.words == 1 && self.prev().is_some_and(|p| self.m.word(p) == "extern")
            }
            _ => self.state.head.words += 1,
        }
        self.kept.push(Kept { tok, scope: own, start });
        self.state.prev = Some(i as u32);
        self.state.prev_start = start;
    }

    fn open(&mut self, i: usize, scope: Scope, was: State) -> Scope {
        let callee = was.prev.filter(|&p| scope == Scope::Paren && was.prev_start && self.tok(p).is_word());
        let prev = was.prev.map(|p| self.tok(p));
        // `if constexpr (` is a control too.
        let control = scope == Scope::Paren
            && prev.is_some_and(|p| {
                matches!(p.word, Word::Control | Word::Macro(MacroKind::Loop))
                    || (p.word == Word::Qualifier && self.back(1).is_some_and(|q| q.word == Word::Control))
            });
        let parent = self.nodes[was.node as usize];
        let inner = matches!(parent.scope, Scope::Paren | Scope::Bracket | Scope::Init) || was.head.equals;
        let resumes = match scope {
            Scope::Paren | Scope::Bracket | Scope::Init | Scope::Class | Scope::Enum => true,
            Scope::Block => inner || was.head.first == Word::Keyword,
            Scope::File => false,
        };
        if scope == Scope::Paren {
            self.state.head.paren = true;
        }
        let head = self.state.head;
        self.nodes.push(Node {
            parent: was.node,
            depth: parent.depth + 1,
            scope,
            open: i as u32,
            callee,
            control,
            head,
            resumes,
        });
        self.state.node = self.nodes.len() as u32 - 1;
        self.state.head = Head::default();
        if matches!(scope, Scope::Block | Scope::Class | Scope::File | Scope::Enum) {
            self.state.boundary = true;
            self.state.start = true;
        }
        scope
    }

    fn close(&mut self, byte: u8) {
        let matches = |scope: Scope| match scope {
            Scope::Paren => byte == b')',
            Scope::Bracket => byte == b']',
            _ => byte == b'}',
        };
        // A closing brace ends what was left open inside it; a stray bracket is ignored.
        let mut at = self.state.node;
        if byte == b'}' {
            let mut steps = 0;
            while at != 0 && !matches(self.nodes[at as usize].scope) && steps < 64 {
                at = self.nodes[at as usize].parent;
                steps += 1;
            }
        }
        let node = self.nodes[at as usize];
        if at == 0 || !matches(node.scope) {
            return;
        }
        self.state.node = node.parent;
        self.state.head = node.head;
        let depth = self.nodes[node.parent as usize].depth;
        if let Some(group) = self.groups.last_mut() {
            group.lowest = group.lowest.min(depth);
        }
        match node.scope {
            Scope::Paren => {
                self.state.start = node.control;
                self.state.closed = node.callee;
            }
            Scope::Block | Scope::File if !node.resumes => self.end_statement(),
            _ => {}
        }
    }

    fn end_statement(&mut self) {
        self.state.boundary = true;
        self.state.start = true;
        self.state.head = Head::default();
    }

    fn separator(&mut self, tok: Tok, was: State) {
        let scope = self.scope();
        let statements = matches!(scope, Scope::Block | Scope::File | Scope::Class);
        match tok.byte {
            b';' if statements => self.end_statement(),
            b';' => self.state.start = false,
            b',' if scope == Scope::Enum => self.end_statement(),
            b'=' => self.state.head.equals = true,
            b'?' => self.state.head.question += 1,
            b':' if statements => {
                let head = &mut self.state.head;
                if head.question > 0 {
                    head.question -= 1;
                } else if matches!(head.first, Word::Case | Word::Access)
                    || (head.words == 1 && scope == Scope::Block && was.prev.is_some() && !head.paren)
                {
                    self.end_statement();
                } else {
                    head.colon = true;
                }
            }
            _ => {}
        }
    }

    fn word(&mut self, tok: Tok) {
        let head = &mut self.state.head;
        if head.words == 0 {
            head.first = tok.word;
        }
        head.words += 1;
        match tok.word {
            Word::Record if !head.paren => head.record = true,
            Word::Enum => head.enumeration = true,
            Word::Namespace => head.namespace = true,
            Word::Lead => self.state.start = true,
            _ => {}
        }
    }

    /// What a `{` opens.
    fn brace_scope(&self, was: State) -> Scope {
        let parent = self.nodes[was.node as usize].scope;
        let head = was.head;
        let Some(prev) = was.prev.map(|p| self.tok(p)) else { return Scope::Block };
        if matches!(parent, Scope::Block | Scope::File | Scope::Class) && !head.equals {
            if head.enumeration && !head.paren {
                return Scope::Enum;
            }
            if head.namespace || head.linkage {
                return Scope::File;
            }
            if head.record && !head.paren {
                return Scope::Class;
            }
            if was.boundary || was.start {
                return Scope::Block;
            }
        }
        let lambda_bracket = || {
            let before = self.nodes.last().and_then(|n| n.open.checked_sub(1)).map(|i| self.tok(i));
            !before.is_some_and(|b| b.is_word() && b.word != Word::Keyword || b.is(b']') || b.is(b')'))
        };
        match (prev.kind, prev.byte) {
            (TokenKind::Punct, b')') => Scope::Block,
            (TokenKind::Punct, b']') if lambda_bracket() => Scope::Block,
            (TokenKind::Punct, b'}') => Scope::Block,
            (TokenKind::Word, _)
                if matches!(
                    self.m.word(prev),
                    "const" | "noexcept" | "override" | "final" | "mutable" | "constexpr"
                ) =>
            {
                Scope::Block
            }
            (TokenKind::Word, _) if matches!(prev.word, Word::Lead | Word::Space) => Scope::Block,
            (TokenKind::Word, _) | (TokenKind::Punct, b'>' | b'*' | b'&') if self.trailing_return() => Scope::Block,
            _ => Scope::Init,
        }
    }

    /// Whether the last tokens are `-> type` behind a parameter list.
    fn trailing_return(&self) -> bool {
        for n in 0..16 {
            let Some(tok) = self.back(n) else { return false };
            let part = match tok.kind {
                TokenKind::Word | TokenKind::Number => true,
                TokenKind::Punct => match (tok.byte, tok.len()) {
                    (b'-', 2) => {
                        return self.m.word(tok) == "->"
                            && self.back(n + 1).is_some_and(|t| t.is(b')') || t.word == Word::Qualifier);
                    }
                    (b':', 2) | (b'<' | b'>' | b'*' | b'&' | b',', 1) | (b'&', 2) => true,
                    _ => false,
                },
                _ => false,
            };
            if !part {
                return false;
            }
        }
        false
    }

    /// The kept tokens in order, without those of dropped branches.
    fn finish(mut self) -> Vec<Kept> {
        for range in merge(std::mem::take(&mut self.later)) {
            self.m.blank(range);
        }
        let toks = self.toks;
        let place = |&(a, b): &(u32, u32)| toks[a as usize - 1].end as usize..toks[b as usize].start as usize;
        let dropped = merge(self.dropped.iter().map(place).collect());
        let mut at = 0;
        self.kept.retain(|k| {
            while dropped.get(at).is_some_and(|d| d.end <= k.tok.start as usize) {
                at += 1;
            }
            dropped.get(at).is_none_or(|d| (k.tok.start as usize) < d.start)
        });
        for range in &dropped {
            self.m.blank(range.clone());
        }
        self.m.found.dropped = dropped;
        self.kept
    }
}

/// Sorts ranges and unites those that touch or nest.
fn merge(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|r| (r.start, r.end));
    let mut merged: Vec<Range<usize>> = vec![];
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}
