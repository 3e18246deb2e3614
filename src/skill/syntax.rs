//! What the grammar builds: clauses as written, before their words are understood, and the list of mistakes.

use lalrpop_util::{ErrorRecovery, ParseError};

use super::ast::{Argument, BinaryOp, Expr, ExprKind, MAX_DEPTH, Name, Spanned, UnaryOp};
use super::layout::CLAUSES;
use super::lexer::{Tok, dedent, unescape};
use crate::source::{FileId, Span};

/// The grammar has no errors of its own kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Never {}

pub struct Decl {
    pub name: Option<Name>,
    pub title: Option<Name>,
    pub clauses: Vec<Clause>,
    pub span: Span,
    /// Words of the clauses that could not be read.
    pub unread: Vec<&'static str>,
}

pub struct Clause {
    pub kind: ClauseKind,
    pub span: Span,
}

pub enum ClauseKind {
    Direction(Name),
    Intent(Name),
    Class(Name, Option<Name>),
    Touches(Vec<Name>),
    Scope(Vec<(Name, Vec<ScopeValue>)>),
    Match(Vec<RawBinding>),
    Let(Name, Expr),
    Require(Vec<RawGroup>),
    Pays(Vec<RawCondition>),
    Features(Vec<RawFeatures>),
    Effect(Vec<RawEffect>),
    Risk(Name),
    Tune(Name, Vec<Expr>),
    Body(Vec<Name>, Option<Vec<(Name, Name)>>),
    Carrier(Name, Name),
    Equivalence(Option<Name>, Name),
    Example(Name, Vec<CaseItem>),
    Refuse(Name, Vec<CaseItem>),
}

impl ClauseKind {
    pub fn word(&self) -> &'static str {
        match self {
            ClauseKind::Direction(..) => "direction",
            ClauseKind::Intent(..) => "intent",
            ClauseKind::Class(..) => "class",
            ClauseKind::Touches(..) => "touches",
            ClauseKind::Scope(..) => "scope",
            ClauseKind::Match(..) => "match",
            ClauseKind::Let(..) => "let",
            ClauseKind::Require(..) => "require",
            ClauseKind::Pays(..) => "pays",
            ClauseKind::Features(..) => "features",
            ClauseKind::Effect(..) => "effect",
            ClauseKind::Risk(..) => "risk",
            ClauseKind::Tune(..) => "tune",
            ClauseKind::Body(..) => "body",
            ClauseKind::Carrier(..) => "carrier",
            ClauseKind::Equivalence(..) => "equivalence",
            ClauseKind::Example(..) => "example",
            ClauseKind::Refuse(..) => "refuse",
        }
    }
}

pub enum ScopeValue {
    Word { word: Name, optional: bool },
    Range { from: Name, to: Option<Name> },
}

pub struct RawBinding {
    /// The word in front of the name, which can only be `each`.
    pub each: Option<Name>,
    pub name: Name,
    pub surface: Name,
    pub arguments: Vec<Name>,
    pub within: Option<Name>,
    pub condition: Option<Expr>,
}

/// `conditions` is `None` for `none`.
pub struct RawGroup {
    pub name: Name,
    pub conditions: Option<Vec<RawCondition>>,
}

pub struct RawCondition {
    pub label: Option<Name>,
    pub test: Expr,
    pub modifiers: Vec<Modifier>,
    pub span: Span,
}

pub enum Modifier {
    Because(Name),
    Guard(Name),
}

/// `provides { name @ anchor }`: the word, and names with their anchors.
pub type RawFeatures = (Name, Vec<(Name, Option<Name>)>);

pub struct RawEffect {
    pub metric: Name,
    pub anchor: Option<Name>,
    pub trend: Name,
}

pub enum CaseItem {
    Text(Name, Name),
    Number(Name, i64, Span),
    Because(Name),
}

/// A mistake found by the grammar.
pub struct SyntaxError {
    pub span: Span,
    /// What stands there; `None` at the end of a clause or file.
    pub found: Option<String>,
    /// Terminals of the grammar that may stand there.
    pub expected: Vec<String>,
    /// Where parsing went on.
    pub resumed: usize,
}

/// Handed to every action of the grammar.
pub struct Context<'a> {
    pub file: FileId,
    pub text: &'a str,
    pub errors: Vec<SyntaxError>,
    /// Words of the clauses that could not be read.
    pub unread: Vec<&'static str>,
    /// Places where an expression passed [`MAX_DEPTH`].
    pub too_deep: Vec<Span>,
}

impl<'a> Context<'a> {
    pub fn new(file: FileId, text: &'a str) -> Context<'a> {
        Context { file, text, errors: vec![], unread: vec![], too_deep: vec![] }
    }

    pub fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.file, start, end.max(start))
    }

    pub fn name(&self, start: usize, text: &str, end: usize) -> Name {
        Spanned::new(text.to_owned(), self.span(start, end))
    }

    pub fn string(&self, start: usize, raw: &str, end: usize) -> Name {
        Spanned::new(unescape(raw).into_owned(), self.span(start, end))
    }

    pub fn block(&self, start: usize, raw: &str, end: usize) -> Name {
        Spanned::new(dedent(raw), self.span(start, end))
    }

    pub fn leaf(&self, start: usize, kind: ExprKind, end: usize) -> Expr {
        Expr { kind, span: self.span(start, end), depth: 1 }
    }

    pub fn parenthesised(&self, start: usize, inner: Expr, end: usize) -> Expr {
        Expr { span: self.span(start, end), ..inner }
    }

    pub fn unary(&mut self, start: usize, op: UnaryOp, operand: Expr) -> Expr {
        let span = Span { start: start as u32, ..operand.span };
        self.bounded(ExprKind::Unary { op, operand: Box::new(operand) }, span)
    }

    pub fn binary(&mut self, left: Expr, op: BinaryOp, right: Expr) -> Expr {
        let span = left.span.to(right.span);
        self.bounded(ExprKind::Binary { op, left: Box::new(left), right: Box::new(right) }, span)
    }

    pub fn member(&mut self, value: Expr, set: Vec<Expr>, end: usize) -> Expr {
        let span = self.span(value.span.start as usize, end);
        self.bounded(ExprKind::In { value: Box::new(value), set }, span)
    }

    pub fn call(&mut self, name: Name, arguments: Vec<Argument>, end: usize) -> Expr {
        let span = self.span(name.span.start as usize, end);
        self.bounded(ExprKind::Call { name, arguments }, span)
    }

    fn bounded(&mut self, kind: ExprKind, span: Span) -> Expr {
        let mut expr = Expr { kind, span, depth: 0 };
        expr.depth = 1 + expr.children().iter().map(|c| c.depth).max().unwrap_or(0);
        if expr.depth <= MAX_DEPTH {
            return expr;
        }
        if self.too_deep.is_empty() {
            self.too_deep.push(span);
        }
        Expr { kind: ExprKind::Error, span, depth: 1 }
    }

    pub fn recover(&mut self, recovery: ErrorRecovery<usize, Tok<'a>, Never>) {
        let resumed = recovery.dropped_tokens.last().map_or(0, |t| t.2);
        self.error(recovery.error, resumed);
    }

    /// As [`Context::recover`], for the clause that starts at `start`.
    pub fn recover_clause(&mut self, start: usize, recovery: ErrorRecovery<usize, Tok<'a>, Never>) {
        let rest = self.text.get(start..).unwrap_or("");
        let word = rest.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or("");
        self.unread.extend(CLAUSES.iter().find(|c| **c == word));
        self.recover(recovery);
    }

    /// Notes an error, unless it follows so closely on another that it is most likely its echo.
    pub fn error(&mut self, error: ParseError<usize, Tok<'a>, Never>, resumed: usize) {
        let (start, end, found, expected) = match error {
            ParseError::UnrecognizedToken { token: (start, token, end), expected } => {
                (start, end, Some(token), expected)
            }
            ParseError::ExtraToken { token: (start, token, end) } => (start, end, Some(token), vec![]),
            ParseError::UnrecognizedEof { location, expected } => (location, location, None, expected),
            ParseError::InvalidToken { location } => (location, location, None, vec![]),
            ParseError::User { error } => match error {},
        };
        let found = match found {
            None | Some(Tok::End | Tok::Begin) => None,
            Some(_) if start == end => None,
            Some(_) => Some(self.text.get(start..end).unwrap_or("").chars().take(40).collect()),
        };
        let resumed = resumed.max(end);
        let echo = self.errors.last().is_some_and(|last| {
            let between = self.text.get(last.resumed..start).unwrap_or("");
            start < last.resumed || between.split_whitespace().count() == 0
        });
        if !echo {
            self.errors.push(SyntaxError { span: self.span(start, end), found, expected, resumed });
        }
    }
}
