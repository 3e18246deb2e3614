//! Scope, anchors, features, effects and tunables.

use super::*;

impl Lower<'_> {
    pub(super) fn scope(&mut self, items: Vec<(Name, Vec<ScopeValue>)>, span: Span) {
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

    pub(super) fn scope_value(&mut self, key: &str, value: ScopeValue) {
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

    pub(super) fn platform(&mut self, from: Name, to: Option<Name>, range: bool) {
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

    pub(super) fn binding(&mut self, raw: RawBinding) {
        let each = raw.each.is_some();
        if let Some(word) = &raw.each {
            self.one_of(word, "word before a binding", &["each"], |w| (w == "each").then_some(()));
        }
        let read = |w: &str| Surface::from_word(w);
        let Some(surface) = self.one_of(&raw.surface, "surface", Surface::WORDS, read) else {
            return self.skill.unread.names.push(raw.name);
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

    pub(super) fn features(&mut self, groups: Vec<RawFeatures>) {
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

    pub(super) fn effect(&mut self, raw: RawEffect) {
        if let Some(trend) = self.one_of(&raw.trend, "trend", Trend::WORDS, Trend::from_word) {
            self.skill.effects.push(Effect { metric: raw.metric, anchor: raw.anchor, trend });
        }
    }

    pub(super) fn tune(&mut self, name: Name, values: Vec<Expr>) {
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
}
