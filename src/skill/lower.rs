//! From clauses as written to [`Skill`]: words are understood, duplicates and missing clauses named.

use super::ast::*;
use super::near::nearest;
use super::syntax::{CaseItem, ClauseKind, Decl, Modifier, RawBinding, RawCondition, RawEffect, RawGroup, ScopeValue};
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
    };
    let mut lower = Lower { skill, seen: vec![], problems };
    if named {
        lower.header(decl.title.is_some());
    }
    for clause in decl.clauses {
        lower.once(&clause.kind, clause.span);
        lower.clause(clause.kind, clause.span);
    }
    lower.missing(header, &decl.unread);
    lower.skill
}

struct Lower<'p> {
    skill: Skill,
    seen: Vec<(&'static str, Span)>,
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
    fn missing(&mut self, header: Span, unread: &[&str]) {
        for word in OBLIGATORY {
            if !self.seen.iter().any(|(w, _)| w == word) && !unread.contains(word) {
                self.push(
                    Diagnostic::error(Code(110), format!("the skill has no `{word}` clause"))
                        .at(header, "missing in this skill")
                        .next(format!("add `{word}`: {}", clause_help(word))),
                );
            }
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
            ClauseKind::Equivalence(text) => self.skill.equivalence = Some(text),
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

    fn scope(&mut self, items: Vec<(Name, Vec<ScopeValue>)>, span: Span) {
        self.skill.scope.span = Some(span);
        let mut seen: Vec<Name> = vec![];
        for (key, values) in items {
            const KEYS: &[&str] = &["case", "language", "platform", "after"];
            // `prior` is another word for `after`.
            let read = |w: &str| KEYS.iter().copied().find(|k| *k == w).or((w == "prior").then_some("after"));
            let Some(kind) = self.one_of(&key, "part of a scope", KEYS, read) else { continue };
            if let Some(first) = seen.iter().find(|k| k.node == key.node).map(|k| k.span) {
                self.twice(&key, first);
                continue;
            }
            seen.push(key);
            values.into_iter().for_each(|value| self.scope_value(kind.node, value));
        }
    }

    fn scope_value(&mut self, key: &str, value: ScopeValue) {
        match (key, value) {
            ("platform", ScopeValue::Word { word, optional: false }) => self.platform(word, None, false),
            ("platform", ScopeValue::Range { from, to }) => self.platform(from, to, true),
            ("after", ScopeValue::Word { word, optional }) => {
                self.skill.scope.after.push(PriorAction { skill: word, optional });
            }
            ("case", ScopeValue::Word { word, optional: false }) => {
                if let Some(case) = self.one_of(&word, "operator family", Case::WORDS, Case::from_word) {
                    self.skill.scope.cases.push(case);
                }
            }
            ("language", ScopeValue::Word { word, optional: false }) if word.node != "any" => {
                if let Some(language) = self.one_of(&word, "language", Language::WORDS, Language::from_word) {
                    self.skill.scope.languages.push(language);
                }
            }
            ("language", ScopeValue::Word { optional: false, .. }) => {}
            (_, ScopeValue::Word { word, .. }) | (_, ScopeValue::Range { from: word, .. }) => self.push(
                Diagnostic::error(Code(117), format!("`{}` does not fit `{key}`", word.node))
                    .at(word.span, "`?` belongs to prior skills, `..` to platforms")
                    .next("remove the mark behind it"),
            ),
        }
    }

    fn platform(&mut self, from: Name, to: Option<Name>, range: bool) {
        let mut read = |word: &Name| {
            let platform = Platform::parse(&word.node);
            if platform.is_none() {
                self.problems.push(
                    Diagnostic::error(Code(117), format!("`{}` is no platform", word.node))
                        .at(word.span, "expected `sm_` and a compute capability")
                        .next("write it like `sm_70..`, `sm_80..sm_90` or `sm_90a`"),
                );
            }
            platform
        };
        let low = read(&from);
        let high = to.as_ref().map(&mut read);
        let span = to.as_ref().map_or(from.span, |t| from.span.to(t.span));
        let (Some(low), Some(high)) = (low, high.map_or(Some(None), |h| h.map(Some))) else { return };
        if high.is_some_and(|h| h.capability < low.capability) {
            self.push(
                Diagnostic::error(Code(117), "this range of platforms is empty")
                    .at(span, "the upper end lies below the lower one")
                    .next("swap the two ends"),
            );
            return;
        }
        self.skill.scope.platforms.push(Spanned::new(PlatformRange { from: low, to: high, range }, span));
    }

    fn binding(&mut self, raw: RawBinding) {
        let each = raw.each.is_some();
        if let Some(word) = &raw.each {
            self.one_of(word, "word before a binding", &["each"], |w| (w == "each").then_some(()));
        }
        let read = |w: &str| Surface::from_word(w);
        let Some(surface) = self.one_of(&raw.surface, "surface", Surface::WORDS, read) else {
            // Keep the name bound, so that its uses are not reported as well.
            let surface = Spanned::new(Surface::Expr, raw.surface.span);
            let (within, condition) = (raw.within, None);
            return self.skill.bindings.push(Binding {
                each,
                name: raw.name,
                surface,
                arguments: vec![],
                within,
                condition,
            });
        };
        match surface.node.arguments() {
            SurfaceArguments::None => {
                if let Some(argument) = raw.arguments.first() {
                    self.push(
                        Diagnostic::error(Code(112), format!("`{}` takes no argument", surface.node))
                            .at(argument.span, "not expected")
                            .next("remove the brackets"),
                    );
                }
            }
            SurfaceArguments::OneOf(words) => {
                let read = |w: &str| words.iter().copied().find(|x| *x == w);
                for argument in &raw.arguments {
                    self.one_of(argument, &format!("argument of `{}`", surface.node), words, read);
                }
            }
            SurfaceArguments::Names if raw.arguments.is_empty() => self.push(
                Diagnostic::error(Code(112), format!("`{}` names no function", surface.node))
                    .at(surface.span, "expected the names of functions in brackets")
                    .next("write it like `c: call(expf, sinf)`"),
            ),
            SurfaceArguments::Names => {}
        }
        self.skill.bindings.push(Binding {
            each,
            name: raw.name,
            surface,
            arguments: raw.arguments,
            within: raw.within,
            condition: raw.condition,
        });
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
        let mut condition = Condition { label: raw.label, test: raw.test, because: None, guard: None, span: raw.span };
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

    fn features(&mut self, groups: Vec<(Name, Vec<(Name, Option<Name>)>)>) {
        const WORDS: &[&str] = &["requires", "provides", "conflicts"];
        let mut seen: Vec<Name> = vec![];
        for (word, features) in groups {
            let read = |w: &str| WORDS.iter().position(|x| *x == w);
            let Some(index) = self.one_of(&word, "kind of feature", WORDS, read) else { continue };
            if let Some(first) = seen.iter().find(|k| k.node == word.node).map(|k| k.span) {
                self.twice(&word, first);
                continue;
            }
            seen.push(word);
            let list = features.into_iter().map(|(name, anchor)| Feature { name, anchor }).collect();
            match index.node {
                0 => self.skill.features.requires = list,
                1 => self.skill.features.provides = list,
                _ => self.skill.features.conflicts = list,
            }
        }
    }

    fn effect(&mut self, raw: RawEffect) {
        if let Some(trend) = self.one_of(&raw.trend, "trend", Trend::WORDS, Trend::from_word) {
            self.skill.effects.push(Effect { metric: raw.metric, anchor: raw.anchor, trend });
        }
    }

    fn tune(&mut self, name: Name, values: Vec<Expr>) {
        let mut numbers: Vec<Spanned<i64>> = vec![];
        for value in &values {
            match value.kind {
                ExprKind::Int(n) if numbers.iter().any(|v| v.node == n) => {
                    let first = numbers.iter().find(|v| v.node == n).map_or(value.span, |v| v.span);
                    self.twice(&Spanned::new(n.to_string(), value.span), first);
                }
                ExprKind::Int(n) => numbers.push(Spanned::new(n, value.span)),
                ExprKind::Error => {}
                _ => self.push(
                    Diagnostic::error(Code(138), "a tunable takes integers")
                        .at(value.span, "not an integer")
                        .next("list the values to try, the default first"),
                ),
            }
        }
        if values.is_empty() {
            self.push(
                Diagnostic::error(Code(138), format!("`{}` has no values to try", name.node))
                    .at(name.span, "an empty set")
                    .next("list the values to try, the default first"),
            );
        }
        self.skill.tunes.push(Tune { name, values: numbers });
    }

    fn body(&mut self, words: Vec<Name>, rules: Option<Vec<(Name, Name)>>, span: Span) {
        let mut words = words.into_iter().peekable();
        let inverse = words.next_if(|w| w.node == "inverse").is_some();
        let mut language = None;
        if words.peek().is_some_and(|w| !inverse || BodyKind::from_word(&w.node).is_none())
            && let Some(word) = words.next()
        {
            language = self.one_of(&word, "language", Language::WORDS, Language::from_word);
            if language.is_none() {
                return;
            }
        }
        let Some(word) = words.next() else {
            return self.push(
                Diagnostic::error(Code(118), "the body does not say how it is written")
                    .at(span, format!("expected {}", list(BodyKind::WORDS)))
                    .next("write it like `body cuda native`"),
            );
        };
        let Some(kind) = self.one_of(&word, "kind of body", BodyKind::WORDS, BodyKind::from_word) else { return };
        if let Some(extra) = words.next() {
            return self.push(
                Diagnostic::error(Code(105), format!("`{}` is not expected here", extra.node))
                    .at(extra.span, "the body is complete before it")
                    .next("correct or remove it"),
            );
        }
        match (kind.node, &rules) {
            (BodyKind::Template, None) => self.push(
                Diagnostic::error(Code(118), "the template has no rules")
                    .at(span, "expected `{ \"\"\"pattern\"\"\" => \"\"\"replacement\"\"\" }`")
                    .next("write at least one rule"),
            ),
            (BodyKind::Native | BodyKind::Model, Some(_)) => self.push(
                Diagnostic::error(Code(118), format!("a {} body has no rules", kind.node))
                    .at(span, "only templates have rules")
                    .next("make it a template, or remove the rules"),
            ),
            _ => {}
        }
        let rules = rules.unwrap_or_default();
        let rules = rules.into_iter().map(|(pattern, replacement)| Rule { pattern, replacement }).collect();
        let body = Body { inverse, language: language.map(|l| l.node), kind: kind.node, rules, span };
        let same = |b: &&Body| b.inverse == body.inverse && b.language == body.language;
        match self.skill.bodies.iter().find(same).map(|b| b.span) {
            Some(first) => self.push(
                Diagnostic::error(Code(111), "two bodies for the same language")
                    .at(span, "again here")
                    .see(first, "first given here")
                    .next("keep one of them"),
            ),
            None => self.skill.bodies.push(body),
        }
    }

    fn example(&mut self, title: Name, items: Vec<CaseItem>) {
        let case = self.case(items);
        if let Some(because) = &case.because {
            self.push(
                Diagnostic::error(Code(118), "an example fires, so it has no `because`")
                    .at(because.span, "belongs to `refuse`")
                    .next("make it a `refuse` case, or remove the reason"),
            );
        }
        match case.before {
            Some(before) => {
                self.skill.examples.push(Example { title, before, contract: case.contract, at: case.at });
            }
            None => self.no_before(&title, "example"),
        }
    }

    fn refusal(&mut self, title: Name, items: Vec<CaseItem>) {
        let case = self.case(items);
        match (case.before, case.because) {
            (Some(before), Some(because)) => {
                let (contract, at) = (case.contract, case.at);
                self.skill.refusals.push(Refusal { title, before, contract, at, because });
            }
            (None, _) => self.no_before(&title, "refuse"),
            (_, None) => self.push(
                Diagnostic::error(Code(113), "the refuse case does not say what refuses it")
                    .at(title.span, "expected `because` and a group or the name of a condition")
                    .next("name the group, label or predicate that is violated, e.g. `because layout`"),
            ),
        }
    }

    fn no_before(&mut self, title: &Name, word: &str) {
        self.push(
            Diagnostic::error(Code(118), format!("the {word} case has no program"))
                .at(title.span, "expected `before \"\"\"...\"\"\"`")
                .next("add the text of a small kernel"),
        );
    }

    fn case(&mut self, items: Vec<CaseItem>) -> CaseParts {
        const TEXTS: &[&str] = &["before", "contract", "at", "because"];
        let mut case = CaseParts::default();
        let mut seen: Vec<Name> = vec![];
        for item in items {
            let key = match &item {
                CaseItem::Text(key, _) | CaseItem::Number(key, ..) => key.clone(),
                CaseItem::Because(word) => Spanned::new("because".to_owned(), word.span),
            };
            if let Some(first) = seen.iter().find(|k| k.node == key.node).map(|k| k.span) {
                self.twice(&key, first);
                continue;
            }
            seen.push(key.clone());
            match item {
                CaseItem::Text(key, text) if key.node == "before" => case.before = Some(text),
                CaseItem::Text(key, text) if key.node == "contract" => case.contract = Some(text),
                CaseItem::Number(key, n, span) if key.node == "at" && n > 0 => case.at = Some(Spanned::new(n, span)),
                CaseItem::Because(word) => case.because = Some(word),
                _ => {
                    let read = |_: &str| None::<()>;
                    self.one_of(&key, "part of a case in this form", TEXTS, read);
                }
            }
        }
        case
    }
}

#[derive(Default)]
struct CaseParts {
    before: Option<Name>,
    contract: Option<Name>,
    at: Option<Spanned<i64>>,
    because: Option<Name>,
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
