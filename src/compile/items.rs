//! Cuts a file into the items at namespace scope: what each defines, what it uses, and the namespaces and conditionals
//! around it.
//!
//! The result is a flat list of [`Event`]s in source order, so that writing a subset of the items back out with their
//! `namespace` and `#if` lines needs no recursion.

use std::collections::BTreeSet;

use super::declare::{Body, Head, describe, include, is_trailer, note_uses, plain};
use super::lex::{self, Kind, Token};

/// What an item is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemKind {
    /// `#include`: the name between the delimiters, and whether they were angle brackets.
    Include {
        name: String,
        angled: bool,
    },
    Define,
    Undef,
    Pragma,
    Function,
    Variable,
    Type,
    /// `typedef`, `using X = ..`, `using a::b`, `namespace a = b`.
    Alias,
    /// `using namespace a;`
    UsingNamespace,
    /// `template void f<float>(..);`
    Instantiation,
    /// `NAME(args)` standing alone.
    MacroCall,
    StaticAssert,
    Other,
}

/// One item: the bytes `start..end` of its file.
#[derive(Clone, Debug)]
pub struct Item {
    pub kind: ItemKind,
    pub start: usize,
    pub end: usize,
    /// The declared name of a function, else empty.
    pub name: String,
    /// The names under which other items reach it.
    pub names: BTreeSet<String>,
    /// All words of its text, those of directives inside it included.
    pub uses: BTreeSet<String>,
    /// `ns::name` pairs as written, for the names that a standard header would have supplied.
    pub qualified: BTreeSet<(String, String)>,
    /// The words before the body or initialiser: annotations, types, parameter types.
    pub head: BTreeSet<String>,
    /// Whether it has a kernel launch in it.
    pub launches: bool,
}

/// An item, or a line of the structure around items.
#[derive(Clone, Debug)]
pub enum Event {
    Item(Item),
    /// `namespace x {`: the byte range of the opening.
    Open {
        start: usize,
        end: usize,
        name: String,
    },
    Close {
        at: usize,
    },
    /// `#if`, `#ifdef`, `#ifndef`.
    If {
        start: usize,
        end: usize,
    },
    /// `#else`, `#elif`.
    Else {
        start: usize,
        end: usize,
    },
    Endif {
        at: usize,
    },
}

/// How many braces of one item may be asked whether they open its body.
const MAX_HEADS: usize = 64;
/// How deep namespaces and conditionals may nest; deeper conditionals are passed over.
const MAX_OPEN: usize = 256;

/// Cuts `text`. Any text gives a list; what cannot be told apart is one item of kind [`ItemKind::Other`].
pub fn events(text: &str) -> Vec<Event> {
    let tokens = lex::tokens(text);
    let mut cutter = Cutter { text, tokens: &tokens, at: 0, out: vec![], open: vec![], passed: 0 };
    while cutter.at < tokens.len() {
        cutter.step();
    }
    cutter.finish();
    cutter.out
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Frame {
    Namespace,
    /// `extern "C" {` is dropped: kernels are found by lowered name, and headers split its braces over two `#ifdef`s.
    ExternC,
    Conditional {
        /// Where its `#if` stands in the tokens and in the events.
        token: usize,
        event: usize,
    },
}

impl Frame {
    fn is_conditional(self) -> bool {
        matches!(self, Frame::Conditional { .. })
    }
}

struct Cutter<'a> {
    text: &'a str,
    tokens: &'a [Token],
    at: usize,
    out: Vec<Event>,
    open: Vec<Frame>,
    /// Conditionals that nest too deep to be kept.
    passed: usize,
}

impl Cutter<'_> {
    fn word(&self, i: usize) -> &str {
        self.tokens.get(i).filter(|t| t.kind == Kind::Word).map_or("", |t| t.text(self.text))
    }

    fn is(&self, i: usize, byte: u8) -> bool {
        self.tokens.get(i).is_some_and(|t| t.is(byte))
    }

    fn step(&mut self) {
        let token = self.tokens[self.at];
        match token.kind {
            Kind::Directive => {
                self.at += 1;
                self.directive(token);
            }
            Kind::Punct(b'}') => {
                self.at += 1;
                self.close_brace(token.start);
            }
            Kind::Punct(b';') => self.at += 1,
            _ if self.opens_scope() => {}
            _ => self.item(),
        }
    }

    fn directive(&mut self, token: Token) {
        let (key, rest) = lex::directive(token, self.text);
        let (start, end) = (token.start, token.end);
        match key {
            "if" | "ifdef" | "ifndef" if self.open.len() >= MAX_OPEN => self.passed += 1,
            "endif" if self.passed > 0 => self.passed -= 1,
            "else" | "elif" if self.passed > 0 => {}
            "if" | "ifdef" | "ifndef" => {
                self.open.push(Frame::Conditional { token: self.at - 1, event: self.out.len() });
                self.out.push(Event::If { start, end });
            }
            "else" | "elif" | "elifdef" | "elifndef" if self.open.iter().any(|f| f.is_conditional()) => {
                self.leave_namespaces(start);
                self.out.push(Event::Else { start, end });
            }
            "endif" => {
                if let Some(i) = self.open.iter().rposition(|f| f.is_conditional()) {
                    self.leave_namespaces(start);
                    self.open.remove(i);
                    self.out.push(Event::Endif { at: start });
                }
            }
            "include" => self.out.extend(include(rest, token).map(Event::Item)),
            "define" | "undef" => {
                let kind = if key == "define" { ItemKind::Define } else { ItemKind::Undef };
                let mut item = plain(kind, token);
                let inner = lex::tokens(rest);
                item.names.extend(inner.first().map(|t| t.text(rest).to_owned()));
                note_uses(&mut item, rest, inner.get(1..).unwrap_or(&[]));
                self.out.push(Event::Item(item));
            }
            "pragma" => self.out.push(Event::Item(plain(ItemKind::Pragma, token))),
            _ => {}
        }
    }

    /// Closes the namespaces that were opened after the innermost conditional: their `}` is in another branch.
    fn leave_namespaces(&mut self, at: usize) {
        let Some(i) = self.open.iter().rposition(|f| f.is_conditional()) else { return };
        let mut k = i + 1;
        while k < self.open.len() {
            if self.open[k] == Frame::Namespace {
                self.open.remove(k);
                self.out.push(Event::Close { at });
            } else {
                k += 1;
            }
        }
    }

    fn close_brace(&mut self, at: usize) {
        let Some(i) = self.open.iter().rposition(|f| !f.is_conditional()) else { return };
        match self.open[i] {
            Frame::Namespace if i + 1 == self.open.len() => {
                self.open.pop();
                self.out.push(Event::Close { at });
            }
            Frame::ExternC => {
                self.open.remove(i);
            }
            _ => {}
        }
    }

    /// `namespace x {` and `extern "C" {`.
    fn opens_scope(&mut self) -> bool {
        let mut i = self.at;
        if self.open.len() >= MAX_OPEN {
            return false;
        }
        if self.word(i) == "extern"
            && self.tokens.get(i + 1).is_some_and(|t| t.kind == Kind::Literal)
            && self.is(i + 2, b'{')
        {
            self.open.push(Frame::ExternC);
            self.at = i + 3;
            return true;
        }
        if self.word(i) == "inline" {
            i += 1;
        }
        if self.word(i) != "namespace" {
            return false;
        }
        let end =
            (i..self.tokens.len().min(i + 64)).find(|&k| self.is(k, b'{') || self.is(k, b';') || self.is(k, b'='));
        let Some(brace) = end.filter(|&k| self.is(k, b'{')) else { return false };
        let (start, end) = (self.tokens[self.at].start, self.tokens[brace].end);
        let name = self.word(brace - 1).to_owned();
        let name = if name == "namespace" { String::new() } else { name };
        self.open.push(Frame::Namespace);
        self.out.push(Event::Open { start, end, name });
        self.at = brace + 1;
        true
    }

    fn item(&mut self) {
        let mut first = self.at;
        let mut shape = self.measure(first);
        while shape.straddles {
            // An `#else` of a conditional that began before the item stands inside its braces: the item begins there.
            let Some(&Frame::Conditional { token, event }) = self.open.last() else { break };
            self.open.pop();
            self.out.truncate(event);
            first = token;
            shape = self.measure(first);
        }
        self.at = shape.next.max(first + 1);
        let tokens = &self.tokens[first..self.at];
        self.out.push(Event::Item(describe(self.text, tokens, shape.body, shape.has_body)));
    }

    /// Walks from the first token of an item to its end.
    fn measure(&self, first: usize) -> Shape {
        let mut shape = Shape { has_body: false, body: Body::None, next: self.tokens.len(), straddles: false };
        let (mut brace, mut paren, mut opened) = (0usize, 0usize, 0usize);
        let mut conditions: Vec<(usize, usize)> = vec![];
        let mut skipped: Option<usize> = None;
        let mut i = first;
        while let Some(&token) = self.tokens.get(i) {
            if token.kind == Kind::Directive {
                let (key, _) = lex::directive(token, self.text);
                let outer =
                    conditions.is_empty() && brace == 0 && paren == 0 && !matches!(key, "if" | "ifdef" | "ifndef");
                if brace == 0
                    && paren == 0
                    && conditions.is_empty()
                    && (outer && key != "pragma" || self.lone_call(first, i))
                {
                    shape.next = i;
                    return shape;
                }
                match key {
                    "else" | "elif" | "endif" if conditions.is_empty() => {
                        shape.straddles = self.open.last().is_some_and(|f| f.is_conditional());
                        if shape.straddles {
                            return shape;
                        }
                    }
                    "if" | "ifdef" | "ifndef" => conditions.push((brace, paren)),
                    "else" | "elif" if skipped.is_none() => {
                        // Only the first branch counts: later ones may open the same brace again.
                        skipped = Some(conditions.len());
                    }
                    "endif" => {
                        if skipped == Some(conditions.len()) {
                            skipped = None;
                        }
                        conditions.pop();
                    }
                    _ => {}
                }
                i += 1;
                continue;
            }
            if skipped.is_some() {
                i += 1;
                continue;
            }
            match token.kind {
                Kind::Punct(b'{') => {
                    if brace == 0 && paren == 0 && shape.body != Body::Function {
                        shape.has_body = true;
                        opened += 1;
                        // Reading the head again for each brace of a long initialiser list would be quadratic.
                        shape.body =
                            if opened > MAX_HEADS { Body::Function } else { self.classify(first, i, shape.body) };
                    }
                    brace += 1;
                }
                Kind::Punct(b'}') if brace == 0 => {
                    shape.next = i;
                    return shape;
                }
                Kind::Punct(b'}') => {
                    brace -= 1;
                    if brace == 0 && paren == 0 && shape.body == Body::Function {
                        shape.next = i + 1;
                        return shape;
                    }
                }
                Kind::Punct(b'(' | b'[') if brace == 0 => paren += 1,
                Kind::Punct(b')' | b']') if brace == 0 => paren = paren.saturating_sub(1),
                Kind::Punct(b';') if brace == 0 && paren == 0 => {
                    shape.next = i + 1;
                    return shape;
                }
                _ => {}
            }
            i += 1;
        }
        shape
    }

    /// Whether `first..end` is `NAME(..)` and nothing else.
    fn lone_call(&self, first: usize, end: usize) -> bool {
        let words = (first..end).take(4).take_while(|&k| !self.is(k, b'(')).count();
        words == 1 && end > first + 1 && self.is(end - 1, b')')
    }

    /// What the `{` at token `at` opens.
    fn classify(&self, first: usize, at: usize, before: Body) -> Body {
        if before == Body::Type || before == Body::Initialiser {
            return before;
        }
        let head = Head::read(self.text, &self.tokens[first..at]);
        if head.assigned {
            return Body::Initialiser;
        }
        let after_call = at > first && self.is(at - 1, b')');
        if head.type_key && !(after_call && head.calls > 0) {
            return Body::Type;
        }
        if head.calls == 0 && !head.operator {
            return Body::Initialiser;
        }
        let names_member = !self.word(at - 1).is_empty() && !is_trailer(self.word(at - 1)) || self.is(at - 1, b'>');
        if head.init_list && names_member { Body::None } else { Body::Function }
    }

    fn finish(&mut self) {
        let at = self.text.len();
        while let Some(frame) = self.open.pop() {
            match frame {
                Frame::Namespace => self.out.push(Event::Close { at }),
                Frame::Conditional { .. } => self.out.push(Event::Endif { at }),
                Frame::ExternC => {}
            }
        }
    }
}

/// The extent of one item, as token indices.
struct Shape {
    has_body: bool,
    body: Body,
    next: usize,
    /// Whether a branch of a conditional around it ends inside it.
    straddles: bool,
}
