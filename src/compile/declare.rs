//! Reads off one item what it declares: its kind, its names, the words it uses.

use std::collections::BTreeSet;

use super::items::{Item, ItemKind};
use super::lex::{self, Kind, Token};

/// Attribute-like words that take parentheses and name nothing.
const ATTRIBUTES: &[&str] = &[
    "__launch_bounds__",
    "__align__",
    "alignas",
    "__attribute__",
    "__attribute",
    "__builtin_align__",
    "__declspec",
    "decltype",
    "noexcept",
    "__cluster_dims__",
    "__maxnreg__",
    "__block_size__",
    "requires",
    "explicit",
    "static_assert",
    "_Pragma",
];

const TYPE_KEYS: &[&str] = &["struct", "class", "union", "enum"];

/// Whether the word belongs to the language and can name nothing.
pub fn is_keyword(word: &str) -> bool {
    const WORDS: &[&str] = &[
        "alignas",
        "alignof",
        "asm",
        "auto",
        "bool",
        "break",
        "case",
        "catch",
        "char",
        "class",
        "concept",
        "const",
        "const_cast",
        "consteval",
        "constexpr",
        "constinit",
        "continue",
        "decltype",
        "default",
        "define",
        "defined",
        "delete",
        "do",
        "double",
        "dynamic_cast",
        "elif",
        "else",
        "endif",
        "enum",
        "explicit",
        "extern",
        "false",
        "float",
        "for",
        "friend",
        "goto",
        "if",
        "ifdef",
        "ifndef",
        "include",
        "inline",
        "int",
        "long",
        "mutable",
        "namespace",
        "new",
        "noexcept",
        "nullptr",
        "operator",
        "pragma",
        "private",
        "protected",
        "public",
        "register",
        "reinterpret_cast",
        "requires",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "static_assert",
        "static_cast",
        "struct",
        "switch",
        "template",
        "this",
        "throw",
        "true",
        "try",
        "typedef",
        "typename",
        "undef",
        "union",
        "unsigned",
        "using",
        "virtual",
        "void",
        "volatile",
        "while",
    ];
    WORDS.binary_search(&word).is_ok()
}

/// What the brace of an item opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    None,
    Function,
    Type,
    Initialiser,
}

/// Whether the word may stand between a parameter list and the body.
pub(super) fn is_trailer(word: &str) -> bool {
    matches!(word, "const" | "noexcept" | "override" | "final" | "volatile" | "mutable" | "try")
}

/// What stands before a body, template parameter lists left out.
#[derive(Default)]
pub(super) struct Head {
    pub assigned: bool,
    pub type_key: bool,
    /// Parenthesised groups that are not attributes.
    pub calls: usize,
    pub init_list: bool,
    pub operator: bool,
    /// Index of the first token after `template <..>` lists.
    begin: usize,
    /// Indices of the words directly before a parenthesis.
    callees: Vec<usize>,
    /// `MACRO(name)(parameters)`: the words of the first pair.
    given: Vec<usize>,
}

impl Head {
    pub(super) fn read(text: &str, tokens: &[Token]) -> Head {
        let mut head = Head::default();
        let word = |i: usize| tokens.get(i).filter(|t| t.kind == Kind::Word).map_or("", |t| t.text(text));
        while tokens.get(head.begin).is_some_and(|t| t.kind == Kind::Directive) {
            head.begin += 1;
        }
        while word(head.begin) == "template" && tokens.get(head.begin + 1).is_some_and(|t| t.is(b'<')) {
            let Some(end) = angle_end(tokens, head.begin + 1) else { break };
            head.begin = end;
        }
        let (mut depth, mut group) = (0usize, vec![]);
        for i in head.begin..tokens.len() {
            match tokens[i].kind {
                Kind::Word if depth == 0 => {
                    head.type_key |= TYPE_KEYS.contains(&word(i)) && head.calls == 0;
                    head.operator |= word(i) == "operator";
                }
                Kind::Punct(b'(' | b'[') => {
                    let at = callee_before(tokens, i);
                    let callee = at.map_or("", word);
                    let named = !callee.is_empty() && !ATTRIBUTES.contains(&callee);
                    if depth == 0 && tokens[i].is(b'(') && i > 0 && tokens[i - 1].is(b')') && head.given.is_empty() {
                        head.given = std::mem::take(&mut group);
                    }
                    if depth == 0 {
                        group.clear();
                    }
                    if depth == 0 && tokens[i].is(b'(') && (named || head.operator) {
                        head.calls += 1;
                        head.callees.extend(at);
                    }
                    depth += 1;
                }
                Kind::Word if depth == 1 && group.len() < 16 => group.push(i),
                Kind::Punct(b')' | b']') => depth = depth.saturating_sub(1),
                Kind::Punct(b'=') if depth == 0 && !head.operator => head.assigned = true,
                Kind::Punct(b':') if depth == 0 && i > 0 && tokens[i - 1].is(b')') => head.init_list = true,
                _ => {}
            }
        }
        head
    }
}

/// The token that the parenthesis at `open` calls: the one before it, or before `<..>` in `f<float>(`.
fn callee_before(tokens: &[Token], open: usize) -> Option<usize> {
    let last = open.checked_sub(1)?;
    if !tokens[last].is(b'>') {
        return Some(last);
    }
    let mut depth = 0usize;
    for i in (last.saturating_sub(64)..=last).rev() {
        match tokens[i].kind {
            Kind::Punct(b'>') => depth += 1,
            Kind::Punct(b'<') if depth <= 1 => return i.checked_sub(1),
            Kind::Punct(b'<') => depth -= 1,
            Kind::Punct(b';' | b'{' | b'}') => break,
            _ => {}
        }
    }
    Some(last)
}

/// The index after the `>` that closes the `<` at `open`.
pub(super) fn angle_end(tokens: &[Token], open: usize) -> Option<usize> {
    let (mut angle, mut paren) = (0usize, 0usize);
    for (i, token) in tokens.iter().enumerate().skip(open) {
        match token.kind {
            Kind::Punct(b'(' | b'[' | b'{') => paren += 1,
            Kind::Punct(b')' | b']' | b'}') => paren = paren.saturating_sub(1),
            Kind::Punct(b'<') if paren == 0 => angle += 1,
            Kind::Punct(b'>') if paren == 0 && !tokens[i - 1].is(b'-') => {
                angle = angle.saturating_sub(1);
                if angle == 0 {
                    return Some(i + 1);
                }
            }
            Kind::Punct(b';') => break,
            _ => {}
        }
    }
    None
}

pub(super) fn plain(kind: ItemKind, token: Token) -> Item {
    let empty = BTreeSet::new();
    Item {
        kind,
        start: token.start,
        end: token.end,
        name: String::new(),
        names: empty.clone(),
        uses: empty.clone(),
        qualified: BTreeSet::new(),
        head: empty,
        launches: false,
    }
}

pub(super) fn include(rest: &str, token: Token) -> Option<Item> {
    let rest = rest.trim_start();
    let angled = rest.starts_with('<');
    let body = rest.strip_prefix(['<', '"'])?;
    let name = body.split(['>', '"']).next()?.trim().to_owned();
    Some(plain(ItemKind::Include { name, angled }, token))
}

pub(super) fn note_uses(item: &mut Item, text: &str, tokens: &[Token]) {
    for (i, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::Word => {
                let word = token.text(text);
                let member =
                    i > 0 && (tokens[i - 1].is(b'.') || i > 1 && tokens[i - 1].is(b'>') && tokens[i - 2].is(b'-'));
                if !is_keyword(word) && !member {
                    item.uses.insert(word.to_owned());
                }
                let next = |k: usize| tokens.get(i + k);
                if next(1).is_some_and(|t| t.is(b':')) && next(2).is_some_and(|t| t.is(b':')) {
                    let member = next(3).filter(|t| t.kind == Kind::Word).map_or("", |t| t.text(text));
                    item.qualified.insert((word.to_owned(), member.to_owned()));
                }
            }
            Kind::Punct(b'<') => {
                let three =
                    tokens.get(i..i + 3).is_some_and(|w| w.iter().all(|t| t.is(b'<')) && w[2].start == token.start + 2);
                item.launches |= three;
            }
            Kind::Directive => {
                let (_, rest) = lex::directive(*token, text);
                // A directive inside an item has no directive inside it, so this goes one level deep.
                let inner = lex::tokens(rest);
                let words = inner.iter().filter(|t| t.kind == Kind::Word).map(|t| t.text(rest));
                item.uses.extend(words.filter(|w| !is_keyword(w)).map(str::to_owned));
            }
            _ => {}
        }
    }
}

/// The item that `tokens` form.
pub(super) fn describe(text: &str, tokens: &[Token], body: Body, has_body: bool) -> Item {
    let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else {
        return plain(ItemKind::Other, Token { kind: Kind::Word, start: 0, end: 0 });
    };
    let mut item = plain(ItemKind::Other, Token { kind: Kind::Word, start: first.start, end: last.end });
    note_uses(&mut item, text, tokens);
    let body_at = tokens.iter().position(|t| t.is(b'{')).filter(|_| has_body).unwrap_or(tokens.len());
    let head = Head::read(text, &tokens[..body_at]);
    let word = |i: usize| tokens.get(i).filter(|t| t.kind == Kind::Word).map_or("", |t| t.text(text));
    let before_value = tokens[..body_at].iter().position(|t| t.is(b'=')).filter(|_| head.assigned).unwrap_or(body_at);
    item.head = (0..before_value).map(word).filter(|w| !w.is_empty()).map(str::to_owned).collect();
    let begin = word(head.begin);
    let words = |range: std::ops::Range<usize>| -> BTreeSet<String> {
        range.map(word).filter(|w| !w.is_empty() && !is_keyword(w)).map(str::to_owned).collect()
    };
    let end = tokens.len();
    (item.kind, item.names) = if begin == "template" || (begin == "extern" && word(head.begin + 1) == "template") {
        (ItemKind::Instantiation, words(0..end))
    } else if begin == "static_assert" {
        (ItemKind::StaticAssert, BTreeSet::new())
    } else if begin == "using" && word(head.begin + 1) == "namespace" {
        (ItemKind::UsingNamespace, words(head.begin..end))
    } else if begin == "using" {
        let name = if head.assigned { head.begin + 1 } else { end.saturating_sub(2) };
        (ItemKind::Alias, words(name..name + 1))
    } else if begin == "namespace" {
        (ItemKind::Alias, words(head.begin + 1..head.begin + 2))
    } else if begin == "typedef" {
        (ItemKind::Alias, typedef_names(tokens, head.begin, &words))
    } else if body == Body::Type || (body == Body::None && head.type_key && head.calls == 0 && !head.assigned) {
        let whole = word(head.begin) == "enum" || (head.begin..body_at).any(|i| word(i) == "enum");
        (ItemKind::Type, if whole { words(head.begin..end) } else { type_names(tokens, head.begin, body_at, &words) })
    } else if body == Body::Function || (body == Body::None && head.calls > 0 && !head.assigned) {
        if head.callees.first() == Some(&head.begin) && body == Body::None {
            (ItemKind::MacroCall, words(head.begin + 1..end))
        } else {
            item.name = head.given.first().or(head.callees.last()).map_or("", |&i| word(i)).to_owned();
            (ItemKind::Function, function_names(tokens, &head, &words))
        }
    } else {
        let names = variable_names(tokens, head.begin..body_at.min(end), &words);
        (ItemKind::Variable, names)
    };
    item
}

type Words<'a> = dyn Fn(std::ops::Range<usize>) -> BTreeSet<String> + 'a;

/// The tag, the qualifiers of an out-of-class definition, and what is declared after the closing brace.
fn type_names(tokens: &[Token], begin: usize, body: usize, words: &Words<'_>) -> BTreeSet<String> {
    let colon =
        |i: usize| tokens[i].is(b':') && !tokens.get(i + 1).is_some_and(|t| t.is(b':')) && !tokens[i - 1].is(b':');
    let stop = (begin + 1..body).find(|&i| colon(i) || tokens[i].is(b'<') || tokens[i].is(b';')).unwrap_or(body);
    // The tag is the last word before the base list, a template argument list or the body (`final` aside).
    let mut names = BTreeSet::new();
    for i in (begin..stop).rev() {
        let word = words(i..i + 1);
        if !word.is_empty() && !word.contains("final") {
            names = word;
            break;
        }
    }
    if let Some(close) = tokens.iter().rposition(|t| t.is(b'}')) {
        names.extend(words(close..tokens.len()));
    }
    names
}

/// The words that end a declarator; those of the values are none.
fn variable_names(tokens: &[Token], range: std::ops::Range<usize>, words: &Words<'_>) -> BTreeSet<String> {
    let (mut names, mut depth, mut value) = (BTreeSet::new(), 0usize, false);
    for i in range {
        match tokens[i].kind {
            Kind::Punct(b'(' | b'[' | b'{') => depth += 1,
            Kind::Punct(b')' | b']' | b'}') => depth = depth.saturating_sub(1),
            Kind::Punct(b'=') if depth == 0 => value = true,
            Kind::Punct(b',') if depth == 0 => value = false,
            Kind::Word if depth == 0 && !value => {
                let next = tokens.get(i + 1).map(|t| t.kind);
                if matches!(next, Some(Kind::Punct(b'=' | b'[' | b'{' | b';' | b',' | b'('))) {
                    names.extend(words(i..i + 1));
                }
            }
            _ => {}
        }
    }
    names
}

fn typedef_names(tokens: &[Token], begin: usize, words: &Words<'_>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let after = tokens.iter().rposition(|t| t.is(b'}'));
    if let Some(open) = tokens.iter().position(|t| t.is(b'{')) {
        names.extend(words(open.saturating_sub(1)..open));
    }
    if let Some(close) = after {
        names.extend(words(close..tokens.len()));
        return names;
    }
    let star = |i: &usize| tokens[*i].is(b'*') && tokens[i - 1].is(b'(');
    if let Some(i) = (begin + 1..tokens.len()).find(star) {
        names.extend(words(i + 1..i + 2));
        return names;
    }
    // `typedef void (CONVENTION name)(int);`
    let pointer = |i: &usize| tokens[*i].is(b')') && tokens.get(i + 1).is_some_and(|t| t.is(b'('));
    if let Some(i) = (begin + 1..tokens.len()).find(pointer) {
        names.extend(words(i - 1..i));
        return names;
    }
    let mut depth = 0usize;
    for i in begin + 1..tokens.len() {
        match tokens[i].kind {
            Kind::Punct(b'(' | b'<') => depth += 1,
            Kind::Punct(b')' | b'>') => depth = depth.saturating_sub(1),
            _ => {}
        }
        // `typedef int name(float);` declares a function type.
        let ends = tokens.get(i + 1).is_some_and(|t| matches!(t.kind, Kind::Punct(b';' | b'[' | b',' | b'(')));
        if depth == 0 && ends {
            names.extend(words(i..i + 1));
        }
    }
    names
}

/// The words before each parenthesis, with the class names that qualify them; `operator` for operators.
fn function_names(tokens: &[Token], head: &Head, words: &Words<'_>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    if head.operator {
        names.insert("operator".to_owned());
    }
    names.extend(head.given.iter().flat_map(|&i| words(i..i + 1)));
    for &callee in &head.callees {
        names.extend(words(callee..callee + 1));
        let scope = |i: usize| i >= 2 && tokens[i - 1].is(b':') && tokens[i - 2].is(b':');
        if scope(callee) {
            // `S<T>::f`: every word back to the last blank-separated type is a candidate; the nearest one suffices.
            let mut i = callee - 2;
            while i > head.begin && words(i..i + 1).is_empty() {
                i -= 1;
            }
            names.extend(words(i..i + 1));
            if let Some(open) = (head.begin..callee - 2).rev().find(|&k| tokens[k].is(b'<')) {
                names.extend(words(open.saturating_sub(1)..open));
            }
        }
    }
    names
}
