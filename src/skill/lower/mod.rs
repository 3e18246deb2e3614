//! From clauses as written to [`Skill`]: words are understood, duplicates and missing clauses named.

mod cases;
mod parts;

use std::collections::BTreeSet;

use super::ast::*;
use super::near::nearest;
use super::syntax::{
    CaseItem, ClauseKind, Decl, Modifier, RawBinding, RawCondition, RawEffect, RawFeatures, RawGroup, ScopeValue,
};
use super::vocabulary::{Surface, SurfaceArguments};
use crate::diag::{Code, Diagnostic};
use crate::source::Span;

/// Always yields a skill; where something is missing it holds an empty name, and `problems` says so.
pub fn lower(decl: Decl, problems: &mut Vec<Diagnostic>) -> Skill {
    let start = Span { end: decl.span.start, ..decl.span };
    let header = decl.name.as_ref().map_or(start, |n| n.span);
    let empty = Spanned::new(String::new(), header);
    let named = decl.name.is_some();
    let skill = Skill {
        name: decl.name.unwrap_or_else(|| empty.clone()),
        title: decl.title.clone().unwrap_or_else(|| empty.clone()),
        direction: empty.clone(),
        intent: empty.clone(),
        class: Spanned::new(Class::Approximating, header),
        class_because: None,
        touches: vec![],
        scope: Scope::default(),
        bindings: vec![],
        lets: vec![],
        require: vec![],
        pays: vec![],
        features: Features::default(),
        effects: vec![],
        risks: vec![],
        tunes: vec![],
        bodies: vec![],
        carriers: vec![],
        equivalence: None,
        examples: vec![],
        refusals: vec![],
        span: decl.span,
        unread: Unread { clauses: decl.unread, names: vec![] },
    };
    let unclosed = problems.iter().filter(|p| p.code == Code(103)).filter_map(|p| p.primary());
    let unclosed = unclosed.map(|at| at.start).collect();
    let mut lower = Lower { skill, seen: vec![], unclosed, problems };
    if named {
        lower.header(decl.title.is_some());
    }
    for clause in decl.clauses {
        lower.once(&clause.kind, clause.span);
        lower.clause(clause.kind, clause.span);
    }
    lower.missing(header);
    lower.skill
}

struct Lower<'p> {
    skill: Skill,
    seen: Vec<(&'static str, Span)>,
    /// Where brackets stand that do not match.
    unclosed: BTreeSet<u32>,
    problems: &'p mut Vec<Diagnostic>,
}

/// Clauses that may stand several times.
const REPEATABLE: &[&str] = &["let", "match", "effect", "risk", "tune", "body", "carrier", "example", "refuse"];
/// Clauses that must be there; `body`, `example` and `require` groups have messages of their own.
const OBLIGATORY: &[&str] = &["direction", "intent", "class", "touches", "match", "require"];

impl Lower<'_> {
    fn push(&mut self, problem: Diagnostic) {
        self.problems.push(problem);
    }

    fn header(&mut self, titled: bool) {
        let name = self.skill.name.clone();
        if !is_skill_name(&name.node) {
            self.push(
                Diagnostic::error(Code(116), format!("`{}` is no name for a skill", name.node))
                    .at(name.span, "expected lower-case words joined by `_`, a verb first")
                    .next("name it like `vectorize_access`"),
            );
        }
        if !titled {
            self.push(
                Diagnostic::error(Code(110), "the skill has no title")
                    .at(name.span, "expected a \"title\" behind the name")
                    .next("say in a few words what it is, e.g. \"16-byte global access\""),
            );
        }
    }

    fn once(&mut self, kind: &ClauseKind, span: Span) {
        let word = kind.word();
        let first = self.seen.iter().find(|(w, _)| *w == word).map(|(_, s)| *s);
        match first {
            Some(first) if !REPEATABLE.contains(&word) => self.push(
                Diagnostic::error(Code(111), format!("`{word}` is given twice"))
                    .at(span, "again here")
                    .see(first, "first given here")
                    .next("join the two"),
            ),
            Some(_) => {}
            None => self.seen.push((word, span)),
        }
    }

    /// A clause that could not be read is not missing as well.
    fn missing(&mut self, header: Span) {
        let there = |word: &str| self.seen.iter().any(|(w, _)| *w == word) || self.skill.unread.clauses.contains(&word);
        let absent: Vec<&str> = OBLIGATORY.iter().copied().filter(|word| !there(word)).collect();
        if let Some((first, more)) = absent.split_first() {
            let message = match more {
                [] => format!("the skill has no `{first}` clause"),
                _ => format!("the skill lacks the clauses {}", absent.join(", ")),
            };
            self.push(
                Diagnostic::error(Code(110), message)
                    .at(header, "missing in this skill")
                    .next(format!("add `{first}`: {}", clause_help(first))),
            );
        }
        if let Some((_, span)) = self.seen.iter().find(|(w, _)| *w == "require").copied() {
            let broken = self.problems.iter().filter_map(|p| p.primary()).any(|at| span.contains(at));
            if broken {
                // A group that could not be read is not missing as well.
                self.skill.require.sort_by_key(|g| g.kind.node);
            } else {
                self.missing_groups(span);
            }
        }
    }

    fn missing_groups(&mut self, span: Span) {
        let absent: Vec<GroupKind> = GroupKind::ALL
            .iter()
            .copied()
            .filter(|kind| !self.skill.require.iter().any(|g| g.kind.node == *kind))
            .collect();
        for kind in absent {
            self.push(
                Diagnostic::error(Code(114), format!("`require` does not speak of {kind}"))
                    .at(Span { end: span.start + 7, ..span }, "all five groups are needed")
                    .next(format!("add `{kind} {{ ... }}`, or `{kind} none` if nothing has to hold")),
            );
        }
        self.skill.require.sort_by_key(|g| g.kind.node);
    }

    /// Reads a word of a closed list.
    fn one_of<T: Copy>(
        &mut self,
        word: &Name,
        what: &str,
        all: &[&'static str],
        read: impl Fn(&str) -> Option<T>,
    ) -> Option<Spanned<T>> {
        let value = read(&word.node);
        if value.is_none() {
            let problem = Diagnostic::error(Code(112), format!("`{}` is no {what}", word.node))
                .at(word.span, format!("expected {}", list(all)));
            let problem = match nearest(&word.node, all.iter().copied()) {
                Some(near) => problem.next(format!("did you mean `{near}`?")),
                None => problem.next("use one of these words"),
            };
            self.push(problem);
        }
        value.map(|v| Spanned::new(v, word.span))
    }

    fn clause(&mut self, kind: ClauseKind, span: Span) {
        match kind {
            ClauseKind::Direction(name) => self.skill.direction = name,
            ClauseKind::Intent(text) => self.skill.intent = text,
            ClauseKind::Class(word, because) => self.class(word, because),
            ClauseKind::Touches(words) => self.touches(words, span),
            ClauseKind::Scope(items) => self.scope(items, span),
            ClauseKind::Match(bindings) => bindings.into_iter().for_each(|b| self.binding(b)),
            ClauseKind::Let(name, value) => self.skill.lets.push(Let { name, value }),
            ClauseKind::Require(groups) => groups.into_iter().for_each(|g| self.group(g)),
            ClauseKind::Pays(conditions) => {
                let conditions = conditions.into_iter().map(|c| self.condition(c)).collect();
                self.skill.pays = conditions;
            }
            ClauseKind::Features(groups) => self.features(groups),
            ClauseKind::Effect(effects) => effects.into_iter().for_each(|e| self.effect(e)),
            ClauseKind::Risk(text) => self.skill.risks.push(text),
            ClauseKind::Tune(name, values) => self.tune(name, values),
            ClauseKind::Body(words, rules) => self.body(words, rules, span),
            ClauseKind::Carrier(word, text) => {
                if let Some(language) = self.one_of(&word, "language", Language::WORDS, Language::from_word) {
                    self.skill.carriers.push(Carrier { language, text });
                }
            }
            ClauseKind::Equivalence(argument, text) => {
                self.skill.equivalence = Some(Equivalence { argument, text });
            }
            ClauseKind::Example(title, items) => self.example(title, items),
            ClauseKind::Refuse(title, items) => self.refusal(title, items),
        }
    }

    fn class(&mut self, word: Name, because: Option<Name>) {
        if let Some(class) = self.one_of(&word, "class", Class::WORDS, Class::from_word) {
            self.skill.class = class;
        }
        if because.is_none() {
            self.push(
                Diagnostic::error(Code(113), "the class is not justified")
                    .at(word.span, "expected `because \"...\"` behind it")
                    .next("say why the values stay the same, or by how much they may differ"),
            );
        }
        self.skill.class_because = because;
    }

    fn touches(&mut self, words: Vec<Name>, span: Span) {
        if words.is_empty() {
            self.push(
                Diagnostic::error(Code(118), "`touches` names nothing")
                    .at(span, format!("expected {}", list(Touch::WORDS)))
                    .next("name what the rewrite changes, at least `body`"),
            );
        }
        for word in words {
            let Some(touch) = self.one_of(&word, "thing that a skill touches", Touch::WORDS, Touch::from_word) else {
                continue;
            };
            match self.skill.touches.iter().find(|t| t.node == touch.node).map(|t| t.span) {
                Some(first) => self.twice(&word, first),
                None => self.skill.touches.push(touch),
            }
        }
    }

    fn twice(&mut self, word: &Name, first: Span) {
        self.push(
            Diagnostic::error(Code(111), format!("`{}` is given twice", word.node))
                .at(word.span, "again here")
                .see(first, "first given here")
                .next("remove one of them"),
        );
    }

    fn group(&mut self, raw: RawGroup) {
        let Some(kind) = self.one_of(&raw.name, "group of conditions", GroupKind::WORDS, GroupKind::from_word) else {
            return;
        };
        if let Some(first) = self.skill.require.iter().find(|g| g.kind.node == kind.node).map(|g| g.kind.span) {
            return self.twice(&raw.name, first);
        }
        if raw.conditions.as_ref().is_some_and(Vec::is_empty) && self.problems.is_empty() {
            self.push(
                Diagnostic::error(Code(115), format!("the group {} is empty", kind.node))
                    .at(kind.span, "no condition between the braces")
                    .next(format!("write `{} none` if nothing has to hold", kind.node)),
            );
        }
        let conditions = raw.conditions.unwrap_or_default().into_iter().map(|c| self.condition(c)).collect();
        self.skill.require.push(Group { kind, conditions });
    }

    fn condition(&mut self, raw: RawCondition) -> Condition {
        let guessed = self.unclosed.range(raw.span.start..raw.span.end).next().is_some();
        let mut condition = Condition {
            label: raw.label,
            test: raw.test,
            because: None,
            guard: None,
            span: raw.span,
            words: Words::default(),
        };
        for modifier in raw.modifiers {
            match modifier {
                Modifier::Because(text) => {
                    if let Some(first) = condition.because.as_ref().map(|b| b.span) {
                        self.twice(&Spanned::new("because".to_owned(), text.span), first);
                    }
                    condition.because = Some(text);
                }
                Modifier::Guard(word) => {
                    if let Some(first) = condition.guard.as_ref().map(|g| g.span) {
                        self.twice(&Spanned::new("guard".to_owned(), word.span), first);
                    }
                    condition.guard = self.one_of(&word, "guard", GuardPolicy::WORDS, GuardPolicy::from_word);
                }
            }
        }
        if guessed {
            // Where its brackets end is a guess, so nothing more is said of it.
            condition.test.kind = ExprKind::Error;
        }
        let said = condition.because.as_ref().is_some_and(|b| !b.node.trim().is_empty());
        if !said && condition.test.kind != ExprKind::Error {
            self.push(
                Diagnostic::error(Code(113), "the condition gives no reason")
                    .at(condition.test.span, "expected `because \"...\"` behind it")
                    .next("say what goes wrong where it does not hold: the text is shown to users"),
            );
        }
        condition
    }
}

/// Lower-case words joined by `_`, at least two: a verb and its object.
pub fn is_skill_name(name: &str) -> bool {
    let word = |w: &str| !w.is_empty() && w.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    name.len() <= 64
        && name.split('_').count() >= 2
        && name.split('_').all(word)
        && name.starts_with(|c: char| c.is_ascii_lowercase())
}

fn clause_help(word: &str) -> &'static str {
    match word {
        "direction" => "the direction of skills/directions.toml that it serves",
        "intent" => "one sentence on what it does for the kernel",
        "class" => "preserving, reassociating, approximating or display-only, with its reason",
        "touches" => "what the rewrite changes: body, signature, launch, workspace, host",
        "match" => "the surfaces that it acts on, e.g. `k: loop`",
        "require" => "the conditions, in the groups datatypes, layout, storage, pipeline, hardware",
        _ => "see docs/skills.md",
    }
}

fn list(words: &[&str]) -> String {
    match words {
        [] => "nothing".to_owned(),
        [one] => (*one).to_owned(),
        [rest @ .., last] => format!("{} or {last}", rest.join(", ")),
    }
}
