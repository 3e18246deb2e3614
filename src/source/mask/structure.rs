//! First pass: scopes and statement ends, statement macros, and the `#if`s that split a statement.

use std::ops::Range;

use super::table::{MacroKind, Word};
use super::{Masker, Tok, What, macros};
use crate::source::tokens::{Token, TokenKind};

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
    for i in 0..toks.len() {
        match toks[i].kind {
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

    fn directive(&mut self, i: usize) {
        let tok = self.toks[i];
        let token = Token { kind: tok.kind, start: tok.start, end: tok.end };
        let (name, after) = macros::directive_name(self.m.text, token).unwrap_or(("", tok.end as usize));
        self.end_of_macro(Some(i));
        match name {
            "if" | "ifdef" | "ifndef" => {
                let condition = self.m.str(after..tok.end as usize).trim();
                super::rules::condition(self.m, after..tok.end as usize);
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
                super::rules::condition(self.m, after..tok.end as usize);
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

    fn end_branch(&mut self) {
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

    fn branch(&mut self, i: usize) {
        self.end_branch();
        if let Some(group) = self.groups.last_mut() {
            group.directives.push(i as u32);
            group.empty = true;
            self.state = group.saved;
        }
    }

    fn end_group(&mut self, i: usize) {
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
    fn split(&mut self, group: &Group) {
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

    fn pragma(&mut self, tok: Tok, after: usize) {
        let text = self.m.str(after..tok.end as usize);
        if super::rules::unroll_pragma(self.m, text, after, tok.range()) {
            self.m.blank(tok.range());
        } else if !(self.state.boundary && matches!(self.scope(), Scope::Block | Scope::File | Scope::Class)) {
            self.m.blank(tok.range());
            self.m.replace(tok.range(), What::Directive);
        }
    }

    /// Ends a statement macro that has no semicolon, once the token behind it (`None`: the end of the file) is known.
    fn end_of_macro(&mut self, next: Option<usize>) {
        let (Some(callee), Some(close)) = (self.state.closed, self.prev()) else { return };
        let name = self.tok(callee);
        let next_tok = next.map(|i| self.toks[i]);
        let gap_end = next_tok.map_or(self.m.text.len(), |t| t.start as usize);
        let newline = memchr::memchr(b'\n', self.m.str(close.end as usize..gap_end).as_bytes()).is_some();
        let scope = self.scope();
        let known = matches!(name.word, Word::Macro(_));
        if !known && !matches!(name.word, Word::Plain | Word::Upper)
            || matches!(name.word, Word::Macro(MacroKind::Attribute | MacroKind::KernelAlias(_)))
        {
            return;
        }
        let Some(next_tok) = next_tok else { return self.end_call(callee, close, gap_end, scope, false) };
        if next_tok.kind == TokenKind::Directive {
            return self.end_call(callee, close, gap_end, scope, true);
        }
        let looped = name.word == Word::Macro(MacroKind::Loop);
        let statement = name.word == Word::Macro(MacroKind::Statement);
        if scope == Scope::Block && (next_tok.is(b'{') && !statement || looped && !next_tok.is(b';')) {
            let stand_in = if name.len() >= 5 { "while" } else { "if" };
            if self.m.write(name.range(), stand_in) {
                self.m.replace(name.range(), What::LoopMacro);
                self.state.start = true;
            }
            return;
        }
        let starts = match next_tok.kind {
            TokenKind::Word => {
                let word = self.m.word(next_tok);
                !matches!(
                    word,
                    "const"
                        | "noexcept"
                        | "override"
                        | "final"
                        | "mutable"
                        | "requires"
                        | "and"
                        | "or"
                        | "volatile"
                        | "try"
                )
            }
            TokenKind::Punct => next_tok.is(b'}') || next_tok.is(b'{') && statement,
            _ => false,
        };
        if starts && (newline || next_tok.is(b'}') || statement) {
            self.end_call(callee, close, gap_end, scope, false);
        }
    }

    fn end_call(&mut self, callee: u32, close: Tok, gap_end: usize, scope: Scope, directive: bool) {
        let call = self.tok(callee).start as usize..close.end as usize;
        match scope {
            Scope::Block => {
                let gap = self.m.str(close.end as usize..gap_end).as_bytes();
                let blank = gap
                    .iter()
                    .take_while(|&&b| b != b'/' && !(directive && b == b'\n'))
                    .position(|&b| matches!(b, b' ' | b'\t' | b'\r'));
                match blank {
                    Some(n) => {
                        let at = close.end as usize + n;
                        self.m.put(at, b';');
                        self.m.replace(at..at + 1, What::Semicolon);
                    }
                    None => {
                        let open = self.tok(callee + 1);
                        self.m.blank(self.tok(callee).range());
                        self.m.blank(open.range());
                        self.m.put(close.start as usize, b';');
                        self.m.replace(call, What::StatementMacro);
                    }
                }
            }
            Scope::File | Scope::Class => {
                self.later.push(call.clone());
                self.m.replace(call, What::OpaqueCall);
                while self.kept.last().is_some_and(|k| k.tok.start >= self.tok(callee).start) {
                    self.kept.pop();
                }
            }
            _ => return,
        }
        self.state.closed = None;
        self.end_statement();
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

/// Whether a branch that begins with `tok` goes on with the statement before it.
fn continues(tok: Tok) -> bool {
    match tok.kind {
        TokenKind::Word => tok.word == Word::Lead && tok.byte == b'e',
        TokenKind::Punct => {
            !matches!(tok.byte, b'{' | b';' | b'(' | b'*' | b'~' | b'[')
                && !matches!((tok.byte, tok.len()), (b':' | b'+' | b'-', 2))
        }
        _ => false,
    }
}
