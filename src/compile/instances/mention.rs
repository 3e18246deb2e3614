//! One place of the text that names a template, and what it asks for.

use super::super::declare::angle_end;
use super::super::items::{Item, ItemKind};
use super::super::lex::{Kind, Token};
use super::Target;
use super::deduce::Scanned;
use super::template::{Ty, arguments, function_types, split, text_of};

/// One place that asks for an instantiation.
pub(super) struct Mention {
    pub explicit: Vec<String>,
    pub actuals: Vec<Actual>,
}

pub(super) enum Actual {
    Value(Vec<Token>),
    Type(Ty),
}

/// Reads the mention of the target's name at token `at`; `None` where it asks for nothing, as in its own definition.
pub(super) fn mention(scan: &Scanned, item: &Item, at: usize, target: &Target<'_>) -> Option<Mention> {
    let member = at > 0 && (scan.is(at - 1, b'.') || at > 1 && scan.is(at - 1, b'>') && scan.is(at - 2, b'-'));
    let angle = |i: usize| scan.is(i, b'<') && scan.is(i + 1, b'<') && scan.is(i + 2, b'<');
    let body = scan.tokens.iter().position(|t| t.is(b'{')).unwrap_or(scan.tokens.len());
    let declares = matches!(item.kind, ItemKind::Function | ItemKind::Type | ItemKind::Alias | ItemKind::Other);
    if member || declares && at < body && item.names.contains(target.name) {
        return None;
    }
    let mut next = at + 1;
    let mut explicit = vec![];
    if scan.is(next, b'<') && !angle(next) {
        let end = angle_end(scan.tokens.get(..(next + 400).min(scan.tokens.len()))?, next)?;
        explicit = split(scan.tokens.get(next + 1..end - 1)?).into_iter().map(|a| text_of(&scan.text, a)).collect();
        next = end;
    }
    let listed = next > at + 1;
    if let Some(statement) = instantiation_around(scan, at) {
        // Only what the declaration is of, not the types of its parameters.
        let opens = (at + 1..scan.tokens.len()).find(|&i| scan.is(i, b'(') || scan.is(i, b';'));
        if opens != Some(next) {
            return None;
        }
        let types = function_types(statement, target.name);
        let actuals = types.into_iter().flatten().map(Actual::Type).collect();
        return (listed || !target.types.is_empty()).then_some(Mention { explicit, actuals });
    }
    let mut actuals = vec![];
    let launched = angle(next);
    if launched {
        next = launch_end(scan, next)?;
    }
    if scan.is(next, b'(') {
        let (list, _) = arguments(&scan.tokens, next)?;
        actuals = list.into_iter().map(|a| Actual::Value(a.to_vec())).collect();
    } else if !listed {
        return None;
    }
    // A declaration such as `void f(int);` inside a body is no call; a call does not follow a type.
    let after_type = at > 0 && !scan.word(at - 1).is_empty() && !is_statement(scan.word(at - 1));
    (listed || launched || !after_type).then_some(Mention { explicit, actuals })
}

/// The text of the explicit instantiation that token `at` stands in.
fn instantiation_around(scan: &Scanned, at: usize) -> Option<&str> {
    let ends = |i: usize| matches!(scan.tokens[i].kind, Kind::Punct(b';' | b'{' | b'}') | Kind::Directive);
    let start = (0..at).rev().find(|&i| ends(i)).map_or(0, |i| i + 1);
    let begins = start + usize::from(scan.word(start) == "extern");
    if scan.word(begins) != "template" || scan.is(begins + 1, b'<') {
        return None;
    }
    let end = (at..scan.tokens.len()).find(|&i| scan.is(i, b';')).unwrap_or(scan.tokens.len() - 1);
    scan.text.get(scan.tokens[start].start..scan.tokens[end].end)
}

fn is_statement(word: &str) -> bool {
    matches!(word, "return" | "else" | "do" | "case" | "co_return" | "template")
}

/// The token after the `>>>` that closes the `<<<` at `open`.
fn launch_end(scan: &Scanned, open: usize) -> Option<usize> {
    let mut depth = 0usize;
    for i in open + 3..scan.tokens.len() {
        match scan.tokens[i].kind {
            Kind::Punct(b'(' | b'[' | b'{') => depth += 1,
            Kind::Punct(b')' | b']' | b'}') => depth = depth.checked_sub(1)?,
            Kind::Punct(b'>')
                if depth == 0 && scan.is(i + 1, b'>') && scan.is(i + 2, b'>') && !scan.is(i + 3, b'>') =>
            {
                return Some(i + 3);
            }
            Kind::Punct(b';') => return None,
            _ => {}
        }
    }
    None
}
