//! From the text of a skill file to [`Skill`]: lexer, layout, grammar, lowering. All mistakes of a file are reported in
//! one run, in the order of the text; a file with mistakes still yields what could be read.

use lalrpop_util::ParseError;

use super::ast::Skill;
use super::check::check;
use super::directions::Directions;
use super::grammar::FileParser;
use super::layout::{CLAUSES, LayoutProblem, MAX_NESTING, lay_out};
use super::lexer::{LexProblem, Lexeme, Tok, lex};
use super::lower::lower;
use super::syntax::{Context, SyntaxError};
use super::vocabulary::{Signature, Vocabulary};
use crate::diag::{Code, Diagnostic, Severity};
use crate::source::{FileId, Span};

/// Longer files are not read.
pub const MAX_BYTES: usize = 1 << 20;

/// The outcome of [`parse`].
#[derive(Clone, Debug)]
pub struct Parsed {
    /// What could be read; whole only if there are no errors among `problems`.
    pub skill: Option<Skill>,
    pub problems: Vec<Diagnostic>,
}

impl Parsed {
    pub fn has_errors(&self) -> bool {
        self.problems.iter().any(|p| p.severity == Severity::Error)
    }
}

/// Reads one skill file. Names are resolved later, by [`super::check`].
pub fn parse(file: FileId, text: &str) -> Parsed {
    if text.len() > MAX_BYTES {
        let span = Span::new(file, 0, 0);
        let problem = Diagnostic::error(Code(108), format!("a skill file of {} bytes is not read", text.len()))
            .at(span, "the limit is 1 MiB")
            .next("split the file, or shorten its examples");
        return Parsed { skill: None, problems: vec![problem] };
    }
    let (raw, lexical) = lex(text);
    let laid = lay_out(text, &raw);
    let mut problems: Vec<Diagnostic> = lexical.iter().map(|p| lexical_problem(file, text, p)).collect();
    problems.extend(laid.problems.iter().map(|p| layout_problem(file, text, p)));

    if let Some(start) = open_block(&raw, &lexical) {
        // Everything behind it is read inside out.
        problems.retain(|p| p.code == Code(102) || p.primary().is_some_and(|s| s.end as usize <= start));
        problems.retain(|p| p.code != Code(103));
        for p in problems.iter_mut().filter(|p| p.code == Code(102)) {
            let first = Span::new(file, start, start + 3);
            if p.primary().is_some_and(|s| s.start as usize > start && text.get(s.range()) == Some("\"\"\"")) {
                p.labels.clear();
                *p = p.clone().at(first, "this one, by the clauses that stand in it; expected `\"\"\"` before them");
            }
        }
        problems.sort_by_key(|p| (p.primary().map(|s| (s.start, s.end)), p.code));
        return Parsed { skill: None, problems };
    }

    let mut cx = Context::new(file, text);
    let parsed = FileParser::new().parse(&mut cx, laid.tokens);
    let decls = parsed.unwrap_or_else(|error| {
        if !matches!(error, ParseError::User { .. }) {
            cx.error(error, 0);
        }
        vec![]
    });
    let mut known: Vec<Span> = problems.iter().filter_map(|p| p.primary()).collect();
    known.sort();
    let unclosed = problems.iter().any(|p| p.code == Code(103));
    problems.extend(cx.errors.iter().filter_map(|e| syntax_problem(e, &known, unclosed)));
    problems.extend(cx.too_deep.iter().map(|span| {
        Diagnostic::error(Code(106), "this expression is nested too deeply")
            .at(*span, "too many operators inside each other")
            .next("name parts of it with `let`, or split the condition")
    }));

    let mut decls = decls.into_iter();
    let first = decls.next();
    for extra in decls {
        let span = extra.name.map_or(extra.span, |n| n.span);
        problems.push(
            Diagnostic::error(Code(109), "a file holds one skill")
                .at(span, "a second skill starts here")
                .next("move it to a file of its own name"),
        );
    }
    if first.is_none() && problems.is_empty() {
        problems.push(
            Diagnostic::error(Code(105), "the file holds no skill")
                .at(Span::new(file, 0, 0), "expected `skill name \"title\" { ... }`")
                .next("start one with `kopt skills new NAME --direction D`"),
        );
    }
    let skill = first.map(|decl| lower(decl, &mut problems));
    problems.sort_by_key(|p| (p.primary().map(|s| (s.start, s.end)), p.code));
    problems.dedup();
    Parsed { skill, problems }
}

/// Where the block starts that is not closed, if there is one: the first that seems to hold a clause, else the last.
fn open_block(raw: &[Lexeme<'_>], problems: &[(LexProblem, usize, usize)]) -> Option<usize> {
    let open = problems.iter().find(|p| p.0 == LexProblem::OpenBlock)?;
    let holds_clause = |text: &str| {
        text.lines().skip(1).any(|line| {
            let mut words = line.split_whitespace();
            words.next().is_some_and(|w| CLAUSES.contains(&w)) && line.contains(['"', '{'])
        })
    };
    let suspect = raw.iter().find(|t| matches!(t.1, Tok::Block(text) if holds_clause(text)));
    Some(suspect.map_or(open.1, |t| t.0.min(open.1)))
}

/// Reads and checks one skill file: all that is wrong with it, in the order of the text.
pub fn examine(file: FileId, text: &str, vocabulary: &dyn Vocabulary, directions: Option<&Directions>) -> Parsed {
    let mut parsed = parse(file, text);
    if let Some(skill) = &parsed.skill {
        parsed.problems.extend(check(skill, vocabulary, directions));
    }
    parsed.problems.sort_by_key(|p| (p.primary().map(|s| (s.start, s.end)), p.code));
    parsed
}

/// Feeds arbitrary bytes to the whole front end, for fuzzing: parse, print, check against an empty vocabulary.
pub fn fuzz_parse(bytes: &[u8]) {
    struct Nothing;
    impl Vocabulary for Nothing {
        fn signature(&self, _: &str) -> Option<Signature> {
            None
        }
        fn names(&self) -> Vec<&'static str> {
            vec![]
        }
    }
    let text = crate::source::SourceFile::new("fuzz", bytes).text;
    if let Some(skill) = examine(FileId(0), &text, &Nothing, None).skill {
        super::print::print(&skill);
    }
}

fn lexical_problem(file: FileId, text: &str, (problem, start, end): &(LexProblem, usize, usize)) -> Diagnostic {
    let span = Span::new(file, *start, *end);
    let found: String = text.get(*start..*end).unwrap_or("").chars().take(20).collect();
    match problem {
        LexProblem::UnknownText => Diagnostic::error(Code(101), format!("`{found}` means nothing in a skill file"))
            .at(span, "not expected here")
            .next("remove it, or put free text into quotes"),
        LexProblem::OpenString => Diagnostic::error(Code(102), "this text is not closed")
            .at(span, "expected `\"` before the end of the line")
            .next("close it, or use \"\"\" for text over several lines"),
        LexProblem::OpenBlock => Diagnostic::error(Code(102), "this block of text is not closed")
            .at(span, "expected `\"\"\"` before the end of the file")
            .next("close it with \"\"\""),
        LexProblem::NumberTooLarge => Diagnostic::error(Code(107), format!("the number {found} is too large"))
            .at(span, "does not fit 64 bits")
            .next("write a smaller number"),
        LexProblem::NumberSuffix => Diagnostic::error(Code(107), format!("`{found}` is no number"))
            .at(span, "known units are B, KB, KiB, MB and MiB (KB is 1024 bytes)")
            .next("use one of these units, or separate the number from the word"),
    }
}

fn layout_problem(file: FileId, text: &str, (problem, start, end): &(LayoutProblem, usize, usize)) -> Diagnostic {
    let span = Span::new(file, *start, *end);
    match problem {
        LayoutProblem::OutsideSkill => Diagnostic::error(Code(105), "text outside a skill")
            .at(span, "expected `skill name \"title\" { ... }`")
            .next("move it into the skill, or make it a comment with `#`"),
        LayoutProblem::NeverClosed => {
            let open = text.get(span.range()).unwrap_or("{");
            let close = if open == "(" { ")" } else { "}" };
            Diagnostic::error(Code(103), format!("this `{open}` is never closed"))
                .at(span, "opened here")
                .next(format!("add the missing `{close}`"))
        }
        LayoutProblem::StrayBrace => Diagnostic::error(Code(103), "this `}` closes nothing")
            .at(span, "more clauses follow it")
            .next("remove it, or move it to the end of the skill"),
        LayoutProblem::UnknownClause { word, near } => {
            let problem =
                Diagnostic::error(Code(104), format!("there is no clause `{word}`")).at(span, "unknown clause");
            match near {
                Some(near) => problem.next(format!("did you mean `{near}`?")),
                None => problem
                    .note(format!("the clauses are {}", CLAUSES.join(", ")))
                    .next("use one of them, or remove the clause"),
            }
        }
        LayoutProblem::NotAClause => Diagnostic::error(Code(105), "expected a clause")
            .at(span, "a clause starts with a word such as `match` or `require`")
            .next("remove this, or put the word of its clause in front"),
        LayoutProblem::TooDeep => Diagnostic::error(Code(106), "brackets are nested too deeply")
            .at(span, format!("more than {MAX_NESTING} levels"))
            .next("name parts with `let`"),
        LayoutProblem::NoBody => Diagnostic::error(Code(103), "the skill has no `{`")
            .at(span, "expected `{` after the name and the title")
            .next("write the clauses between `{` and `}`"),
    }
}

/// `None` where the layout pass has named the cause already.
fn syntax_problem(error: &SyntaxError, known: &[Span], unclosed: bool) -> Option<Diagnostic> {
    let nearby = known.partition_point(|s| s.start <= error.span.end);
    let covers = |s: &Span| s.overlaps(error.span) || (error.span.is_empty() && s.contains(error.span));
    let named = known.get(nearby.saturating_sub(2)..nearby).is_some_and(|spans| spans.iter().any(covers));
    if named || (error.found.is_none() && unclosed) {
        return None;
    }
    let message = match error.found.as_deref() {
        Some(found) => format!("`{found}` is not expected here"),
        None => "the clause ends too early".to_owned(),
    };
    let expected = expectation(&error.expected);
    let next = match error.found.as_deref() {
        Some("<" | "<=" | ">" | ">=" | "==" | "!=") if error.expected.iter().any(|e| e.contains("and")) => {
            "join two comparisons with `and`"
        }
        Some("=") => "compare with `==`; a keyword argument stands in the brackets of a call",
        None => "complete it",
        Some(_) => "correct or remove it",
    };
    Some(Diagnostic::error(Code(105), message).at(error.span, expected).next(next))
}

/// Terminals in words: `expected a name, "..." or {`.
fn expectation(terminals: &[String]) -> String {
    let mut words: Vec<String> = vec![];
    let mut operators = false;
    for terminal in terminals {
        let bare = terminal.trim_matches('"');
        let word = match bare {
            "BEGIN" => "a clause".to_owned(),
            "CLOSE" => "`}`".to_owned(),
            "OPEN" => "`{`".to_owned(),
            "END" | ";" => continue,
            "word" => "a name".to_owned(),
            "string" => "a \"text\"".to_owned(),
            "block" => continue,
            "integer" => "a number".to_owned(),
            "real" | "bytes" | "true" | "false" | "all" => continue,
            "==" | "!=" | "<" | "<=" | ">" | ">=" | "+" | "-" | "*" | "/" | "%" | "and" | "or" | "not" => {
                operators = true;
                continue;
            }
            "..x" | ".." => "`..`".to_owned(),
            other => format!("`{other}`"),
        };
        if !words.contains(&word) {
            words.push(word);
        }
    }
    if operators && !words.iter().any(|w| w == "a name") {
        words.push("an operator".to_owned());
    }
    match words.as_slice() {
        [] => "expected the end of the clause".to_owned(),
        [one] => format!("expected {one}"),
        [rest @ .., last] => format!("expected {} or {last}", rest.join(", ")),
    }
}
