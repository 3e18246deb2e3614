//! Gives the token stream its structure before the grammar sees it: words become keywords where a clause expects them,
//! every clause is wrapped in `Begin`/`End`, conditions are separated, braces are balanced and unknown clauses named.
//! After this pass a mistake in one clause cannot spoil the next.

use super::lexer::{Lexeme, Tok};
use super::near::nearest;

/// The words that start a clause of a skill.
pub const CLAUSES: &[&str] = &[
    "direction",
    "intent",
    "class",
    "touches",
    "scope",
    "match",
    "let",
    "require",
    "pays",
    "features",
    "effect",
    "risk",
    "tune",
    "body",
    "carrier",
    "equivalence",
    "example",
    "refuse",
];

/// Words that go on with what stands before them.
const CONNECTIVES: &[&str] = &["and", "or", "in", "because", "guard", "where"];

/// How deep brackets may nest.
pub const MAX_NESTING: usize = 24;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LayoutProblem {
    /// Text before, between or after skills.
    OutsideSkill,
    /// The opening bracket at this place is never closed.
    NeverClosed,
    /// A closing brace too many.
    StrayBrace,
    UnknownClause {
        word: String,
        near: Option<&'static str>,
    },
    /// Something that is no word where a clause should start.
    NotAClause,
    TooDeep,
    NoBody,
}

pub struct Laid<'a> {
    pub tokens: Vec<Lexeme<'a>>,
    pub problems: Vec<(LayoutProblem, usize, usize)>,
}

pub fn lay_out<'a>(text: &'a str, raw: &[Lexeme<'a>]) -> Laid<'a> {
    let mut pass = Pass {
        text,
        raw,
        lines: line_starts(text, raw),
        at: 0,
        out: Vec::with_capacity(raw.len() + 32),
        problems: vec![],
    };
    while pass.at < raw.len() {
        pass.outside();
        if pass.at < raw.len() {
            pass.skill();
        }
    }
    Laid { tokens: pass.out, problems: pass.problems }
}

/// For every token the column it starts in, and whether it is the first of its line.
fn line_starts(text: &str, raw: &[Lexeme<'_>]) -> Vec<(usize, bool)> {
    let mut line = 0;
    let mut before = 0;
    let mut first = true;
    let mut found = Vec::with_capacity(raw.len());
    for (start, _, _) in raw {
        if let Some(newline) = text.get(before..*start).and_then(|gap| gap.rfind('\n')) {
            line = before + newline + 1;
            first = true;
        }
        found.push((start - line, first));
        before = *start;
        first = false;
    }
    found
}

struct Pass<'a, 'r> {
    text: &'a str,
    raw: &'r [Lexeme<'a>],
    lines: Vec<(usize, bool)>,
    at: usize,
    out: Vec<Lexeme<'a>>,
    problems: Vec<(LayoutProblem, usize, usize)>,
}

impl<'a> Pass<'a, '_> {
    fn tok(&self, index: usize) -> Option<&Tok<'a>> {
        self.raw.get(index).map(|t| &t.1)
    }

    fn word(&self, index: usize) -> Option<&'a str> {
        if let Some(Tok::Word(w)) = self.tok(index) { Some(w) } else { None }
    }

    fn range(&self, index: usize) -> (usize, usize) {
        self.raw.get(index).map_or((self.text.len(), self.text.len()), |t| (t.0, t.2))
    }

    fn last_end(&self) -> usize {
        self.at.checked_sub(1).map_or(0, |i| self.range(i).1)
    }

    fn emit(&mut self, token: Tok<'a>) {
        let (start, end) = self.range(self.at);
        self.out.push((start, token, end));
        self.at += 1;
    }

    fn emit_virtual(&mut self, token: Tok<'a>, place: usize) {
        self.out.push((place, token, place));
    }

    /// Column of a token that is the first on its line.
    fn line_start_column(&self, index: usize) -> Option<usize> {
        self.lines.get(index).filter(|(_, first)| *first).map(|(column, _)| *column)
    }

    fn column(&self, index: usize) -> usize {
        self.lines.get(index).map_or(0, |(column, _)| *column)
    }

    fn outside(&mut self) {
        let first = self.at;
        while self.at < self.raw.len() && self.word(self.at) != Some("skill") {
            self.at += 1;
        }
        if self.at > first {
            self.problems.push((LayoutProblem::OutsideSkill, self.range(first).0, self.last_end()));
        }
    }

    fn skill(&mut self) {
        self.emit(Tok::Clause("skill"));
        while !matches!(self.tok(self.at), None | Some(Tok::LBrace)) && !self.clause_word(self.at) {
            let token = self.raw[self.at].1.clone();
            self.emit(token);
        }
        let open = self.at;
        if self.tok(self.at) == Some(&Tok::LBrace) {
            self.emit(Tok::Open);
        } else {
            let place = self.last_end();
            self.problems.push((LayoutProblem::NoBody, place.saturating_sub(1), place));
            self.emit_virtual(Tok::Open, place);
        }
        loop {
            match self.tok(self.at) {
                None => {
                    let (start, end) = self.range(open);
                    if start < end && self.tok(open) == Some(&Tok::LBrace) {
                        self.problems.push((LayoutProblem::NeverClosed, start, end));
                    }
                    return self.emit_virtual(Tok::Close, self.last_end());
                }
                Some(Tok::RBrace) if self.closes_skill() => return self.emit(Tok::Close),
                Some(Tok::RBrace) => {
                    let (start, end) = self.range(self.at);
                    self.problems.push((LayoutProblem::StrayBrace, start, end));
                    self.at += 1;
                }
                Some(Tok::Word(word)) => self.clause(word),
                Some(_) => self.junk(),
            }
        }
    }

    /// A brace at skill level ends the skill, unless another clause follows it.
    fn closes_skill(&self) -> bool {
        !self.clause_word(self.at + 1)
    }

    fn clause_word(&self, index: usize) -> bool {
        self.word(index).is_some_and(|w| CLAUSES.contains(&w))
    }

    fn junk(&mut self) {
        let first = self.at;
        while !matches!(self.tok(self.at), None | Some(Tok::RBrace | Tok::Word(_))) {
            self.at += 1;
        }
        self.problems.push((LayoutProblem::NotAClause, self.range(first).0, self.last_end()));
    }

    fn clause(&mut self, word: &'a str) {
        let start = self.range(self.at);
        let keyword = CLAUSES.iter().copied().find(|c| *c == word);
        let near = nearest(word, CLAUSES.iter().copied());
        if keyword.is_none() {
            let problem = LayoutProblem::UnknownClause { word: word.to_owned(), near };
            self.problems.push((problem, start.0, start.1));
        }
        match keyword.or(near) {
            Some(keyword) => {
                self.emit_virtual(Tok::Begin, start.0);
                let column = self.column(self.at);
                self.emit(Tok::Clause(keyword));
                Content { keyword, column, open: vec![], group_depth: group_depth(keyword), excess: 0, prefixes: 0 }
                    .copy(self);
                let end = self.last_end();
                self.emit_virtual(Tok::End, end);
            }
            None => self.skip_clause(),
        }
    }

    fn skip_clause(&mut self) {
        let mut depth = 0usize;
        self.at += 1;
        while let Some(token) = self.tok(self.at) {
            match token {
                Tok::LBrace => depth += 1,
                Tok::RBrace if depth == 0 => return,
                Tok::RBrace => depth -= 1,
                Tok::Word(_) if depth == 0 && self.clause_word(self.at) => return,
                _ => {}
            }
            self.at += 1;
        }
    }
}

/// At which brace depth inside the clause the conditions of a clause stand.
fn group_depth(keyword: &str) -> usize {
    match keyword {
        "require" => 2,
        "pays" => 1,
        _ => usize::MAX,
    }
}

/// The tokens of one clause behind its keyword.
struct Content {
    keyword: &'static str,
    column: usize,
    /// Open brackets: index of the token, and whether it is a brace.
    open: Vec<(usize, bool)>,
    group_depth: usize,
    /// Brackets open beyond [`MAX_NESTING`]; what stands in them is left out.
    excess: usize,
    /// Prefix operators right before this place.
    prefixes: usize,
}

impl Content {
    fn copy(&mut self, pass: &mut Pass<'_, '_>) {
        while pass.at < pass.raw.len() {
            if self.ends_here(pass) {
                break;
            }
            self.separate(pass);
            self.token(pass);
        }
        self.close_brackets(pass, |open| !open.is_empty());
    }

    /// Closes brackets that the text leaves open, for as long as `more` says.
    fn close_brackets(&mut self, pass: &mut Pass<'_, '_>, more: impl Fn(&[(usize, bool)]) -> bool) {
        while more(&self.open) {
            let Some((index, brace)) = self.open.pop() else { return };
            let (start, end) = pass.range(index);
            pass.problems.push((LayoutProblem::NeverClosed, start, end));
            let place = pass.last_end();
            pass.emit_virtual(if brace { Tok::RBrace } else { Tok::RParen }, place);
        }
    }

    fn ends_here(&self, pass: &Pass<'_, '_>) -> bool {
        let first_on_line = pass.line_start_column(pass.at);
        if !self.open.is_empty() {
            // An unclosed bracket: a clause word that starts a line no deeper than this clause did.
            return pass.clause_word(pass.at) && first_on_line.is_some_and(|column| column <= self.column);
        }
        let previous = pass.at.checked_sub(1).and_then(|i| pass.tok(i));
        match pass.tok(pass.at) {
            Some(Tok::RBrace) => true,
            Some(Tok::Word(word)) => {
                let argument = previous.is_some_and(continues)
                    || (self.keyword == "touches"
                        && *word == "body"
                        && pass.word(pass.at.saturating_sub(1)) == Some("touches"));
                if CLAUSES.contains(word) {
                    return !argument;
                }
                let fresh =
                    first_on_line.is_some() || matches!(previous, Some(Tok::RBrace | Tok::Block(_) | Tok::Str(_)));
                let after_keyword = pass.out.last().is_some_and(|t| matches!(t.1, Tok::Clause(_)));
                let group = self.keyword == "features"
                    && matches!(pass.tok(pass.at + 1), Some(Tok::LBrace))
                    && nearest(word, CLAUSES.iter().copied()).is_none_or(|near| near == "require");
                // `a: access`, `each a: access`
                let colon = |ahead: usize| pass.tok(pass.at + ahead) == Some(&Tok::Colon);
                let binding = colon(1) || (self.keyword == "match" && colon(2));
                let continuation = CONNECTIVES.contains(word) || matches!(*word, "not" | "when");
                fresh && !argument && !after_keyword && !group && !continuation && !binding
            }
            _ => false,
        }
    }

    /// Puts a `;` before a condition or a group that starts without one.
    fn separate(&self, pass: &mut Pass<'_, '_>) {
        let group = self.keyword == "require" && self.open.len() == 1;
        if (self.open.len() != self.group_depth && !group) || self.open.last().is_none_or(|(_, brace)| !brace) {
            return;
        }
        let starts = match pass.tok(pass.at) {
            Some(Tok::Word("none")) if group => false,
            Some(Tok::Word(w)) => !CONNECTIVES.contains(w),
            Some(Tok::Int(_) | Tok::Real(_) | Tok::Bytes(_) | Tok::LParen) => true,
            _ => false,
        };
        let Some((_, previous, end)) = pass.out.last().cloned() else { return };
        let always =
            matches!(previous, Tok::Str(_) | Tok::Block(_)) || (group && matches!(previous, Tok::RBrace | Tok::None));
        let on_new_line = matches!(
            previous,
            Tok::Word(_)
                | Tok::Int(_)
                | Tok::Real(_)
                | Tok::Bytes(_)
                | Tok::RParen
                | Tok::RBrace
                | Tok::True
                | Tok::False
        ) && pass.line_start_column(pass.at).is_some();
        if starts && (always || on_new_line) {
            pass.emit_virtual(Tok::Semi, end);
        }
    }

    fn token<'a>(&mut self, pass: &mut Pass<'a, '_>) {
        let Some((start, token, end)) = pass.raw.get(pass.at).cloned() else { return };
        match token {
            Tok::LBrace | Tok::LParen if self.open.len() == MAX_NESTING => {
                if self.excess == 0 {
                    pass.problems.push((LayoutProblem::TooDeep, start, end));
                }
                self.excess += 1;
                pass.at += 1;
                return;
            }
            Tok::RBrace | Tok::RParen if self.excess > 0 => {
                self.excess -= 1;
                pass.at += 1;
                return;
            }
            _ if self.excess > 0 => {
                pass.at += 1;
                return;
            }
            Tok::LBrace | Tok::LParen => self.open.push((pass.at, token == Tok::LBrace)),
            Tok::RBrace => {
                self.close_brackets(pass, |open| open.last().is_some_and(|(_, brace)| !brace));
                self.open.pop();
            }
            Tok::RParen if self.open.last().is_some_and(|(_, brace)| !brace) => {
                self.open.pop();
            }
            // Reasons and guards stand behind a condition, never inside its brackets.
            Tok::Word("because" | "guard") if self.group_depth != usize::MAX => {
                let depth = self.group_depth;
                self.close_brackets(pass, |open| open.len() > depth);
            }
            _ => {}
        }
        let token = match token {
            Tok::Word(word) => self.keyword_for(word, pass),
            other => other,
        };
        self.prefixes = if matches!(token, Tok::Not | Tok::Minus) { self.prefixes + 1 } else { 0 };
        if self.prefixes > MAX_NESTING {
            // The parser keeps every one of them waiting for its operand.
            if self.prefixes == MAX_NESTING + 1 {
                pass.problems.push((LayoutProblem::TooDeep, start, end));
            }
            pass.at += 1;
            return;
        }
        pass.emit(token);
    }

    fn keyword_for<'a>(&self, word: &'a str, pass: &Pass<'a, '_>) -> Tok<'a> {
        let in_parens = self.open.last().is_some_and(|(_, brace)| !brace);
        match word {
            "and" => Tok::And,
            "or" => Tok::Or,
            "not" => Tok::Not,
            "in" => Tok::In,
            "true" => Tok::True,
            "false" => Tok::False,
            "because" => Tok::Because,
            "guard" if matches!(self.keyword, "require" | "pays") && !in_parens => Tok::Guard,
            "where" if self.keyword == "match" => Tok::Where,
            "when" if self.keyword == "pays" => Tok::When,
            "none" if self.keyword == "require" && self.open.len() == 1 => Tok::None,
            "all" if pass.word(pass.at + 1).is_some_and(|next| !CONNECTIVES.contains(&next)) => Tok::All,
            _ => Tok::Word(word),
        }
    }
}

/// A token behind which a word goes on with the clause rather than starting a new one.
fn continues(token: &Tok<'_>) -> bool {
    matches!(
        token,
        Tok::Comma
            | Tok::Colon
            | Tok::At
            | Tok::DotsTo
            | Tok::Arrow
            | Tok::Assign
            | Tok::Eq
            | Tok::Ne
            | Tok::Lt
            | Tok::Le
            | Tok::Gt
            | Tok::Ge
            | Tok::Plus
            | Tok::Minus
            | Tok::Star
            | Tok::Slash
            | Tok::Percent
    ) || matches!(token, Tok::Word("in" | "and" | "or" | "not" | "where"))
}
