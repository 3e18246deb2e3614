//! Bodies, examples and refuse cases.

use super::*;

impl Lower<'_> {
    pub(super) fn body(&mut self, words: Vec<Name>, rules: Option<Vec<(Name, Name)>>, span: Span) {
        let mut words = words.into_iter().peekable();
        let inverse = words.next_if(|w| w.node == "inverse").is_some();
        let mut language = None;
        if words.peek().is_some_and(|w| !inverse || BodyKind::from_word(&w.node).is_none())
            && let Some(word) = words.next()
        {
            language = self.one_of(&word, "language", Language::WORDS, Language::from_word);
            if language.is_none() {
                return self.skill.unread.clauses.push("body");
            }
        }
        let Some(word) = words.next() else {
            return self.push(
                Diagnostic::error(Code(118), "the body does not say how it is written")
                    .at(span, format!("expected {}", list(BodyKind::WORDS)))
                    .next("write it like `body cuda native`"),
            );
        };
        let Some(kind) = self.one_of(&word, "kind of body", BodyKind::WORDS, BodyKind::from_word) else {
            return self.skill.unread.clauses.push("body");
        };
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

    pub(super) fn example(&mut self, title: Name, items: Vec<CaseItem>) {
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
            None => {
                self.skill.unread.clauses.push("example");
                self.no_before(&title, "example");
            }
        }
    }

    pub(super) fn refusal(&mut self, title: Name, items: Vec<CaseItem>) {
        let case = self.case(items);
        match (case.before, case.because) {
            (Some(before), Some(because)) => {
                let (contract, at) = (case.contract, case.at);
                self.skill.refusals.push(Refusal { title, before, contract, at, because });
                return;
            }
            (None, _) => self.no_before(&title, "refuse"),
            (_, None) => self.push(
                Diagnostic::error(Code(113), "the refuse case does not say what refuses it")
                    .at(title.span, "expected `because` and a group or the name of a condition")
                    .next("name the group, label or predicate that is violated, e.g. `because layout`"),
            ),
        }
        self.skill.unread.clauses.push("refuse");
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
                CaseItem::Number(key, n, span) if key.node == "at" => self.push(
                    Diagnostic::error(Code(118), format!("there is no site {n}"))
                        .at(span, "sites count from 1")
                        .next("write `at 1` for the first site"),
                ),
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
