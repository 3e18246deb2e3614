//! The directions of optimisation, their texts and their likely transitions: `skills/directions.toml`.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::near::nearest;
use crate::diag::{Code, Diagnostic};
use crate::source::{FileId, Span};

/// What limits a kernel, as the gate's counters tell it.
pub const BOTTLENECKS: &[&str] = &["memory", "latency", "compute", "shared", "launch"];

/// One coarse direction: a global node of the memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Direction {
    pub name: String,
    pub goal: String,
    pub trigger: String,
    pub risk: String,
    /// How risky a step in this direction is before anything was measured, 0 to 1.
    pub hazard: f64,
    /// How much it serves each bottleneck, 0 to 1; those not named count as 0.
    pub serves: BTreeMap<String, f64>,
    /// Likely next directions, in the order of the file.
    pub transitions: Vec<Transition>,
}

/// Path knowledge that holds before anything was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Transition {
    pub to: String,
    pub when: String,
    pub why: String,
    pub risk: String,
    /// Expected reward of the step, 0 to 1.
    pub prior: f64,
}

/// All directions, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Directions {
    by_name: BTreeMap<String, Direction>,
}

impl Directions {
    pub fn get(&self, name: &str) -> Option<&Direction> {
        self.by_name.get(name)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.by_name.keys().map(String::as_str)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Direction> {
        self.by_name.values()
    }

    /// The prior of going from one direction to another; 0 where the file names no transition.
    pub fn prior(&self, from: &str, to: &str) -> f64 {
        let from = self.by_name.get(from);
        from.and_then(|d| d.transitions.iter().find(|t| t.to == to)).map_or(0.0, |t| t.prior)
    }

    /// The same directions with a transition from each to each, of the given priors.
    pub fn with_priors(&self, prior: impl Fn(&str, &str) -> f64) -> Directions {
        let mut changed = self.clone();
        let names: Vec<String> = self.by_name.keys().cloned().collect();
        for (from, direction) in &mut changed.by_name {
            direction.transitions = (names.iter())
                .map(|to| Transition {
                    to: to.clone(),
                    when: "always".to_owned(),
                    why: "a prior that was set".to_owned(),
                    risk: String::new(),
                    prior: prior(from, to),
                })
                .collect();
        }
        changed
    }

    /// Reads `directions.toml`.
    ///
    /// # Errors
    /// All mistakes of the file, with their places.
    pub fn parse(file: FileId, text: &str) -> Result<Directions, Vec<Diagnostic>> {
        let raw: BTreeMap<Spanned<String>, RawDirection> = toml::from_str(text).map_err(|e| {
            let span = e.span().unwrap_or(0..0);
            let label = e.message().lines().next().unwrap_or("").to_owned();
            vec![
                Diagnostic::error(Code(150), "directions.toml cannot be read")
                    .at(Span::new(file, span.start, span.end), label)
                    .next("correct the entry; docs/skills.md lists the fields"),
            ]
        })?;
        let mut reader = Reader { file, problems: vec![] };
        let names: Vec<String> = raw.keys().map(|k| k.get_ref().clone()).collect();
        let mut by_name = BTreeMap::new();
        for (name, direction) in raw {
            let direction = reader.direction(name.into_inner(), direction, &names);
            by_name.insert(direction.name.clone(), direction);
        }
        if reader.problems.is_empty() { Ok(Directions { by_name }) } else { Err(reader.sorted()) }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawDirection {
    goal: Spanned<String>,
    trigger: Spanned<String>,
    risk: Spanned<String>,
    hazard: Spanned<f64>,
    serves: BTreeMap<Spanned<String>, Spanned<f64>>,
    #[serde(default)]
    to: Vec<RawTransition>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTransition {
    direction: Spanned<String>,
    when: Spanned<String>,
    why: Spanned<String>,
    risk: Spanned<String>,
    prior: Spanned<f64>,
}

struct Reader {
    file: FileId,
    problems: Vec<Diagnostic>,
}

impl Reader {
    fn sorted(mut self) -> Vec<Diagnostic> {
        self.problems.sort_by_key(|p| (p.primary().map(|s| (s.start, s.end)), p.code));
        self.problems
    }

    fn problem(&mut self, code: u16, message: String, span: std::ops::Range<usize>, label: &str, next: String) {
        let span = Span::new(self.file, span.start, span.end);
        self.problems.push(Diagnostic::error(Code(code), message).at(span, label).next(next));
    }

    fn text(&mut self, text: Spanned<String>) -> String {
        if text.get_ref().trim().is_empty() {
            let next = "write one sentence; it is shown to users and models".to_owned();
            self.problem(150, "this text is empty".to_owned(), text.span(), "says nothing", next);
        }
        text.into_inner()
    }

    fn share(&mut self, value: Spanned<f64>, what: &str) -> f64 {
        let span = value.span();
        let value = value.into_inner();
        if !(0.0..=1.0).contains(&value) {
            let message = format!("{what} {value} is out of range");
            self.problem(152, message, span, "expected 0 to 1", "choose a value from 0 to 1".to_owned());
        }
        value
    }

    fn direction(&mut self, name: String, raw: RawDirection, names: &[String]) -> Direction {
        let mut serves = BTreeMap::new();
        for (bottleneck, weight) in raw.serves {
            if !BOTTLENECKS.contains(&bottleneck.get_ref().as_str()) {
                let near = nearest(bottleneck.get_ref(), BOTTLENECKS.iter().copied());
                let next = near.map_or("use a known one".to_owned(), |n| format!("did you mean `{n}`?"));
                let message = format!("there is no bottleneck `{}`", bottleneck.get_ref());
                let label = "expected memory, latency, compute, shared or launch";
                self.problem(153, message, bottleneck.span(), label, next);
            }
            serves.insert(bottleneck.into_inner(), self.share(weight, "the weight"));
        }
        let mut transitions: Vec<Transition> = vec![];
        for transition in raw.to {
            self.target(&name, &transition.direction, names, &transitions);
            transitions.push(Transition {
                to: transition.direction.into_inner(),
                when: self.text(transition.when),
                why: self.text(transition.why),
                risk: self.text(transition.risk),
                prior: self.share(transition.prior, "the prior"),
            });
        }
        Direction {
            name,
            goal: self.text(raw.goal),
            trigger: self.text(raw.trigger),
            risk: self.text(raw.risk),
            hazard: self.share(raw.hazard, "the hazard"),
            serves,
            transitions,
        }
    }

    fn target(&mut self, from: &str, to: &Spanned<String>, names: &[String], earlier: &[Transition]) {
        let name = to.get_ref();
        if !names.contains(name) {
            let near = nearest(name, names.iter().map(String::as_str));
            let next = near.map_or("name a direction of this file".to_owned(), |n| format!("did you mean `{n}`?"));
            self.problem(151, format!("there is no direction `{name}`"), to.span(), "unknown target", next);
        }
        if earlier.iter().any(|t| t.to == *name) {
            let message = format!("{from} leads to {name} twice");
            self.problem(151, message, to.span(), "again here", "join the two transitions".to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "[a]\ngoal='g'\ntrigger='t'\nrisk='r'\nhazard=0.1\nserves={memory=1.0}\n\
                        [[a.to]]\ndirection='a'\nwhen='w'\nwhy='y'\nrisk='r'\nprior=0.5\n";

    fn codes(text: &str) -> Vec<u16> {
        let problems = Directions::parse(FileId(0), text).err().unwrap_or_default();
        assert!(problems.iter().all(|p| p.primary().is_some_and(|s| s.end as usize <= text.len())));
        problems.iter().map(|p| p.code.0).collect()
    }

    #[test]
    fn reads_a_direction_and_its_transitions() {
        let directions = Directions::parse(FileId(0), GOOD).unwrap();
        assert_eq!(directions.prior("a", "a"), 0.5);
        assert_eq!(directions.prior("a", "b"), 0.0);
    }

    #[test]
    fn names_every_mistake_with_its_place() {
        assert_eq!(codes(&GOOD.replace("direction='a'", "direction='b'")), [151]);
        assert_eq!(codes(&GOOD.replace("prior=0.5", "prior=1.5").replace("0.1", "-1.0")), [152, 152]);
        assert_eq!(codes(&GOOD.replace("prior=0.5", "prior=nan")), [152]);
        assert_eq!(codes(&GOOD.replace("memory", "memroy")), [153]);
        assert_eq!(codes(&GOOD.replace("goal='g'", "goal=' '")), [150]);
        assert_eq!(codes(&GOOD.replace("goal", "gaol")), [150]);
        assert_eq!(codes("[a"), [150]);
    }
}
