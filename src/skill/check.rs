//! Meaning of a skill: every name is bound, every predicate exists and is called as it wants, every condition can be
//! refused in a case, every template uses what it matched.

use super::ast::*;
use super::directions::Directions;
use super::engine::argument;
use super::near::nearest;
use super::types::Types;
use super::vocabulary::{DTYPES, POSITIONS, ValueType, Vocabulary};
use crate::diag::{Code, Diagnostic};
use crate::source::Span;

/// All mistakes of a skill that [`super::parse`] could read, in the order of the text. Without `directions` the name of
/// the direction is not checked.
pub fn check(skill: &Skill, vocabulary: &dyn Vocabulary, directions: Option<&Directions>) -> Vec<Diagnostic> {
    let mut checker = Checker { skill, types: Types::new(vocabulary), problems: vec![] };
    checker.types.lenient = ["match", "let", "tune"].iter().any(|word| skill.unread.clauses.contains(word));
    for name in &skill.unread.names {
        checker.declare(name, ValueType::Any);
    }
    if let Some(directions) = directions {
        checker.direction(directions);
    }
    checker.prior_actions();
    checker.bindings();
    checker.lets();
    checker.conditions();
    checker.features();
    checker.effects();
    checker.bodies();
    checker.equivalence();
    checker.cases();
    let mut problems = checker.problems;
    problems.append(&mut checker.types.problems);
    problems.sort_by_key(|p| (p.primary().map(|s| (s.start, s.end)), p.code));
    problems.dedup();
    problems
}

/// The metavariables `$x` of a template text, in order of appearance, each once.
pub fn metavariables(text: &str) -> Vec<&str> {
    let mut found: Vec<&str> = vec![];
    for piece in text.split('$').skip(1) {
        let end = piece.find(|c: char| c != '_' && !c.is_ascii_alphanumeric()).unwrap_or(piece.len());
        let name = piece.get(..end).unwrap_or("");
        if !name.is_empty() && !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

struct Checker<'a> {
    skill: &'a Skill,
    types: Types<'a>,
    problems: Vec<Diagnostic>,
}

impl<'a> Checker<'a> {
    /// The argument exists, and the conditions that it rests on are asked for.
    fn equivalence(&mut self) {
        let Some(name) = self.skill.equivalence.as_ref().and_then(|e| e.argument.as_ref()) else { return };
        let Some(argument) = argument::named(&name.node) else {
            let known: Vec<&str> = argument::ARGUMENTS.iter().map(|a| a.name).collect();
            let d = Diagnostic::error(Code(135), format!("no equivalence argument is called `{}`", name.node));
            let d = d.at(name.span, "not known");
            let next = match nearest(&name.node, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("name one of {}, or none", known.join(", ")),
            };
            return self.push(d.next(next));
        };
        let asked: Vec<&str> = self
            .skill
            .require
            .iter()
            .flat_map(|g| &g.conditions)
            .flat_map(|c| c.test.predicates())
            .map(|(p, _)| p)
            .collect();
        let missing: Vec<&str> = argument.predicates.iter().copied().filter(|p| !asked.contains(p)).collect();
        if !missing.is_empty() && self.skill.unread.clauses.is_empty() {
            let text = format!(
                "the argument `{}` rests on conditions that are not asked for: {}",
                name.node,
                missing.join(", ")
            );
            self.push(
                Diagnostic::error(Code(135), text)
                    .at(name.span, "named here")
                    .next("ask for them in `require`, or name no argument: sites are then never proved"),
            );
        }
    }

    fn push(&mut self, problem: Diagnostic) {
        self.problems.push(problem);
    }

    fn direction(&mut self, directions: &Directions) {
        let name = &self.skill.direction;
        if name.node.is_empty() || directions.get(&name.node).is_some() {
            return;
        }
        let problem = Diagnostic::error(Code(129), format!("there is no direction `{}`", name.node))
            .at(name.span, "not in skills/directions.toml");
        self.push(match nearest(&name.node, directions.names()) {
            Some(near) => problem.next(format!("did you mean `{near}`?")),
            None => problem
                .note(format!("the directions are {}", directions.names().collect::<Vec<_>>().join(", ")))
                .next("use one of them"),
        });
    }

    fn prior_actions(&mut self) {
        for prior in &self.skill.scope.after {
            if prior.skill.node == self.skill.name.node {
                self.push(
                    Diagnostic::error(Code(117), "a skill cannot come after itself")
                        .at(prior.skill.span, "names this skill")
                        .next("name another skill, or remove it"),
                );
            }
        }
    }

    fn declare(&mut self, name: &'a Name, ty: ValueType) {
        if DTYPES.contains(&name.node.as_str()) || POSITIONS.contains(&name.node.as_str()) {
            self.push(
                Diagnostic::error(Code(127), format!("`{}` is a word of conditions already", name.node))
                    .at(name.span, "cannot be bound")
                    .next("choose another name"),
            );
        }
        if let Some(first) = self.types.declare(name, ty) {
            self.push(
                Diagnostic::error(Code(127), format!("`{}` is bound twice", name.node))
                    .at(name.span, "again here")
                    .see(first, "first bound here")
                    .next("rename one of them"),
            );
        }
    }

    fn bindings(&mut self) {
        for binding in &self.skill.bindings {
            if let Some(within) = &binding.within {
                self.anchor(within);
            }
            self.declare(&binding.name, ValueType::Anchor(super::vocabulary::SurfaceSet::of(&[binding.surface.node])));
            if let Some(condition) = &binding.condition {
                self.types.condition(condition);
            }
        }
    }

    /// A name that must be one of the anchors bound so far.
    fn anchor(&mut self, name: &Name) {
        let bound = self.types.lookup(&name.node);
        let known = matches!(bound, Some(ValueType::Anchor(_) | ValueType::Any));
        if known || !self.types.report_unbound(&name.node) {
            return;
        }
        let known: Vec<&str> = self.skill.bindings.iter().map(|b| b.name.node.as_str()).collect();
        let problem = Diagnostic::error(Code(120), format!("`match` binds no `{}`", name.node))
            .at(name.span, "not an anchor, or not bound before this place");
        self.push(match nearest(&name.node, known.iter().copied()) {
            Some(near) => problem.next(format!("did you mean `{near}`?")),
            None => problem.next(format!("bind it in `match`, or use {}", or_nothing(&known))),
        });
    }

    fn lets(&mut self) {
        for tune in &self.skill.tunes {
            self.declare(&tune.name, ValueType::Int);
        }
        for item in &self.skill.lets {
            let ty = self.types.of(&item.value, None);
            self.declare(&item.name, ty);
        }
    }

    fn conditions(&mut self) {
        let mut labels: Vec<&Name> = vec![];
        let groups = self.skill.require.iter().flat_map(|g| &g.conditions);
        for condition in groups.chain(&self.skill.pays) {
            self.types.condition(&condition.test);
            let Some(label) = &condition.label else { continue };
            if let Some(first) = labels.iter().find(|l| l.node == label.node).map(|l| l.span) {
                self.push(
                    Diagnostic::error(Code(127), format!("two conditions are called `{}`", label.node))
                        .at(label.span, "again here")
                        .see(first, "first used here")
                        .next("rename one of them"),
                );
            }
            if GroupKind::from_word(&label.node).is_some() || REFUSERS.contains(&label.node.as_str()) {
                self.push(
                    Diagnostic::error(Code(127), format!("a condition cannot be called `{}`", label.node))
                        .at(label.span, "names a whole group")
                        .next("choose another label"),
                );
            }
            labels.push(label);
        }
        for condition in self.skill.require.iter().flat_map(|g| &g.conditions) {
            self.guard(condition);
        }
        for guard in self.skill.pays.iter().filter_map(|c| c.guard.as_ref()) {
            self.push(
                Diagnostic::error(Code(125), "`pays when` takes no guard")
                    .at(guard.span, "profit is not tested at run time")
                    .next("remove the guard, or move the condition to `require`"),
            );
        }
    }

    fn guard(&mut self, condition: &Condition) {
        let Some(guard) = &condition.guard else { return };
        let mut names: Vec<(&str, Span)> = condition.test.predicates().collect();
        let broken = names.iter().any(|(name, _)| !self.types.knows(name));
        names.retain(|(name, _)| self.types.lookup(name).is_none() && self.types.signature(name).is_some());
        if names.is_empty() && !broken {
            self.push(
                Diagnostic::error(Code(125), "the guard has nothing to test")
                    .at(guard.span, "the condition asks no predicate")
                    .next("remove the guard: this condition is decided before the rewrite"),
            );
        }
        for (name, span) in names {
            let lacks = self.types.signature(name).is_some_and(|s| !s.has_guard);
            if lacks && guard.node != GuardPolicy::Contract {
                self.push(
                    Diagnostic::error(Code(125), format!("`{name}` cannot be tested at run time"))
                        .at(guard.span, "no guard can be written")
                        .see(span, "asked here")
                        .next("remove the guard, or use `guard contract` to let the caller promise it"),
                );
            }
        }
    }

    fn features(&mut self) {
        let features = &self.skill.features;
        for feature in features.requires.iter().chain(&features.provides).chain(&features.conflicts) {
            let parts = feature.name.node.split('.');
            if parts.clone().count() < 2 || parts.clone().any(|p| p.is_empty()) {
                self.push(
                    Diagnostic::error(Code(128), format!("`{}` is no feature", feature.name.node))
                        .at(feature.name.span, "expected a dotted name")
                        .next("write it like `access.vector16 @ a`"),
                );
            }
            match &feature.anchor {
                Some(anchor) => self.anchor(anchor),
                None => self.push(
                    Diagnostic::error(Code(128), format!("`{}` stands nowhere", feature.name.node))
                        .at(feature.name.span, "expected `@` and an anchor behind it")
                        .next("name the anchor that has it, e.g. `access.vector16 @ a`"),
                ),
            }
        }
        let key = |f: &Feature| (f.name.node.clone(), f.anchor.as_ref().map(|a| a.node.clone()));
        for (list, word) in [(&features.provides, "provided"), (&features.requires, "required")] {
            for feature in list {
                if let Some(other) = features.conflicts.iter().find(|c| key(c) == key(feature)) {
                    self.push(
                        Diagnostic::error(Code(139), format!("`{}` is {word} and in conflict", feature.name.node))
                            .at(other.name.span, "in conflict here")
                            .see(feature.name.span, format!("{word} here"))
                            .next("keep one of the two"),
                    );
                }
            }
        }
    }

    fn effects(&mut self) {
        for effect in &self.skill.effects {
            if let Some(anchor) = &effect.anchor {
                self.anchor(anchor);
            }
        }
    }

    fn bodies(&mut self) {
        let skill = self.skill;
        if !skill.bodies.iter().any(|b| !b.inverse) && !skill.unread.clauses.contains(&"body") {
            self.push(
                Diagnostic::error(Code(131), "the skill has no body")
                    .at(skill.name.span, "nothing carries it out")
                    .next("add `body cuda template { ... }`, `body cuda native` or `body cuda model`"),
            );
        }
        for body in &skill.bodies {
            let scope = &skill.scope.languages;
            if let Some(language) = body.language
                && !scope.is_empty()
                && !scope.iter().any(|l| l.node == language)
            {
                self.push(
                    Diagnostic::error(Code(131), format!("the scope leaves out {language}"))
                        .at(body.span, "a body for a language outside the scope")
                        .next("add the language to the scope, or remove the body"),
                );
            }
            body.rules.iter().for_each(|rule| self.rule(rule));
        }
    }

    fn rule(&mut self, rule: &Rule) {
        if rule.pattern.node.trim().is_empty() {
            self.push(
                Diagnostic::error(Code(130), "the pattern is empty")
                    .at(rule.pattern.span, "matches nothing")
                    .next("write the code to look for, with `$x` for what may vary"),
            );
        }
        let bound = metavariables(&rule.pattern.node);
        for name in metavariables(&rule.replacement.node) {
            let value = self.skill.lets.iter().any(|l| l.name.node == name)
                || self.skill.tunes.iter().any(|t| t.name.node == name);
            if value || bound.contains(&name) {
                continue;
            }
            let problem = Diagnostic::error(Code(130), format!("`${name}` is not bound"))
                .at(rule.replacement.span, "used in this replacement")
                .see(rule.pattern.span, "not in this pattern");
            self.push(match nearest(name, bound.iter().copied()) {
                Some(near) => problem.next(format!("did you mean `${near}`?")),
                None => problem.next("add it to the pattern, or bind it with `let` or `tune`"),
            });
        }
    }

    fn cases(&mut self) {
        let skill = self.skill;
        if skill.examples.is_empty() && !skill.unread.clauses.contains(&"example") {
            self.push(
                Diagnostic::error(Code(132), "the skill has no example")
                    .at(skill.name.span, "nothing shows where it fires")
                    .next("add `example \"...\" { before \"\"\"...\"\"\" }`"),
            );
        }
        let titles = skill.examples.iter().map(|e| &e.title).chain(skill.refusals.iter().map(|r| &r.title));
        let mut seen: Vec<&Name> = vec![];
        for title in titles {
            if let Some(first) = seen.iter().find(|t| t.node == title.node).map(|t| t.span) {
                self.push(
                    Diagnostic::error(Code(127), format!("two cases are called \"{}\"", title.node))
                        .at(title.span, "again here")
                        .see(first, "first used here")
                        .next("rename one of them"),
                );
            }
            seen.push(title);
        }
        let names = skill.require.iter().flat_map(|g| &g.conditions).flat_map(|c| c.test.predicates());
        let unclear = names.into_iter().any(|(name, _)| !self.types.knows(name));
        if unclear || ["refuse", "require"].iter().any(|word| skill.unread.clauses.contains(word)) {
            return;
        }
        skill.refusals.iter().for_each(|refusal| self.refuser(&refusal.because));
        skill.require.iter().for_each(|group| self.coverage(group));
    }

    /// `because` of a refuse case names something that can refuse.
    fn refuser(&mut self, name: &Name) {
        let all = || self.skill.require.iter().flat_map(|g| &g.conditions);
        if let Some(kind) = GroupKind::from_word(&name.node) {
            let empty = self.skill.require.iter().any(|g| g.kind.node == kind && g.conditions.is_empty());
            if empty {
                self.push(
                    Diagnostic::error(Code(134), format!("the group {kind} has no condition that could refuse"))
                        .at(name.span, "declared `none`")
                        .next("name the group or condition that refuses this case"),
                );
            }
            return;
        }
        let known = match name.node.split_once('.') {
            Some((group, rest)) => {
                let groups = self.skill.require.iter().filter(|g| g.kind.node.as_str() == group);
                groups.flat_map(|g| &g.conditions).any(|c| c.answers_to(rest))
            }
            None => {
                REFUSERS.contains(&name.node.as_str())
                    || all().chain(&self.skill.pays).any(|c| c.answers_to(&name.node))
            }
        };
        if known {
            return;
        }
        let mut names: Vec<String> = GroupKind::WORDS.iter().chain(REFUSERS).map(|w| (*w).to_owned()).collect();
        for group in &self.skill.require {
            for condition in &group.conditions {
                let own = condition.label.iter().map(|l| l.node.as_str());
                for name in own.chain(condition.test.predicates().map(|(name, _)| name)) {
                    names.push(name.to_owned());
                    names.push(format!("{}.{name}", group.kind.node));
                }
            }
        }
        let problem = Diagnostic::error(Code(134), format!("no condition is called `{}`", name.node))
            .at(name.span, "expected a group, the label of a condition or a predicate it asks");
        self.push(match nearest(&name.node, names.iter().map(String::as_str)) {
            Some(near) => problem.next(format!("did you mean `{near}`?")),
            None => problem.next("name what refuses this case"),
        });
    }

    /// Warns of conditions that no refuse case exercises. A case that names the group counts for one condition that no
    /// other case names.
    fn coverage(&mut self, group: &Group) {
        let kind = group.kind.node.as_str();
        let refusals = || self.skill.refusals.iter().map(|r| r.because.node.as_str());
        let mut spare = refusals().filter(|name| *name == kind).count();
        let mut bare: Vec<Span> = vec![];
        for condition in &group.conditions {
            let named = refusals().any(|name| {
                let name = name.strip_prefix(kind).and_then(|n| n.strip_prefix('.')).unwrap_or(name);
                condition.answers_to(name)
            });
            // The remainder of an example runs through the tail, so the examples exercise it.
            let tail = condition.guard.as_ref().is_some_and(|g| g.node == GuardPolicy::Tail);
            if tail {
                continue;
            }
            if !named && spare > 0 {
                spare -= 1;
            } else if !named {
                bare.push(condition.span);
            }
        }
        for span in bare {
            self.push(
                Diagnostic::warning(Code(133), "no refuse case shows this condition at work")
                    .at(span, "not exercised")
                    .next("add a `refuse` case whose program violates it and nothing else"),
            );
        }
    }
}

/// What may refuse a case beside groups and conditions.
const REFUSERS: &[&str] = &["match", "scope", "pays"];

fn or_nothing(names: &[&str]) -> String {
    if names.is_empty() { "one that is".to_owned() } else { names.join(", ") }
}
