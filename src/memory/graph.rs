//! The memory as a graph with its texts: directions, their skills, and the transitions between directions.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::sums::{Moments, Sums};
use super::tables::{Key, Kind};
use crate::skill::Directions;

/// The graph in one context; everything that the files name is in it, tried or not.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Graph {
    /// A level of context, such as `sm_80/cuda/reduction`; "" is everything.
    pub context: String,
    /// By name; first what runs begin with, under the name "".
    pub nodes: Vec<Node>,
}

/// A direction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Node {
    /// "" is the start of a run.
    pub name: String,
    pub goal: String,
    pub trigger: String,
    pub risk: String,
    /// How risky a step is before anything was measured.
    pub hazard: f64,
    pub moments: Moments,
    pub skills: Vec<Local>,
    pub edges: Vec<Edge>,
}

/// A skill of a direction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Local {
    pub skill: String,
    /// Whether the library has it; what was forgotten there is still remembered here.
    pub in_library: bool,
    pub moments: Moments,
}

/// A transition.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Edge {
    pub to: String,
    /// Texts and prior of `directions.toml`; empty and 0 where it names no such transition.
    pub when: String,
    pub why: String,
    pub risk: String,
    pub prior: f64,
    pub moments: Moments,
}

impl Graph {
    /// The graph of the sums in a context; `skills` are those of the library, each with its direction, and `unit` the weight of
    /// the latest run.
    pub fn of(
        directions: &Directions,
        skills: &[(&str, &str)],
        sums: &BTreeMap<Key, Sums>,
        unit: i64,
        context: &str,
    ) -> Graph {
        let view = View { directions, skills, sums, unit: unit.max(1), context };
        let tried = sums.keys().filter(|k| k.context == context).flat_map(|k| match k.kind {
            Kind::Edge => vec![k.a.as_str(), k.b.as_str()],
            _ => vec![k.b.as_str()].into_iter().filter(|_| k.kind == Kind::Direction).collect(),
        });
        let names: BTreeSet<&str> = directions.names().chain(tried).chain([""]).collect();
        Graph { context: context.to_owned(), nodes: names.iter().map(|n| view.node(n, &names)).collect() }
    }

    pub fn node(&self, name: &str) -> Option<&Node> {
        self.nodes.iter().find(|n| n.name == name)
    }
}

struct View<'a> {
    directions: &'a Directions,
    skills: &'a [(&'a str, &'a str)],
    sums: &'a BTreeMap<Key, Sums>,
    unit: i64,
    context: &'a str,
}

impl View<'_> {
    fn moments(&self, kind: Kind, a: &str, b: &str) -> Moments {
        let sums = self.sums.get(&Key::new(kind, self.context, a, b)).copied().unwrap_or_default();
        sums.moments(self.unit)
    }

    fn node(&self, name: &str, names: &BTreeSet<&str>) -> Node {
        let known = self.directions.get(name);
        let text =
            |of: fn(&crate::skill::directions::Direction) -> &String| known.map_or(String::new(), |d| of(d).clone());
        let edges = names.iter().filter(|to| !to.is_empty()).map(|to| self.edge(name, to));
        let edges = edges.filter(|e| e.prior > 0.0 || e.moments.tries > 0 || !e.when.is_empty()).collect();
        Node {
            name: name.to_owned(),
            goal: text(|d| &d.goal),
            trigger: text(|d| &d.trigger),
            risk: text(|d| &d.risk),
            hazard: known.map_or(0.0, |d| d.hazard),
            moments: self.moments(Kind::Direction, "", name),
            skills: self.locals(name),
            edges,
        }
    }

    fn edge(&self, from: &str, to: &str) -> Edge {
        let known = self.directions.get(from).and_then(|d| d.transitions.iter().find(|t| t.to == to));
        Edge {
            to: to.to_owned(),
            when: known.map_or(String::new(), |t| t.when.clone()),
            why: known.map_or(String::new(), |t| t.why.clone()),
            risk: known.map_or(String::new(), |t| t.risk.clone()),
            prior: known.map_or(0.0, |t| t.prior),
            moments: self.moments(Kind::Edge, from, to),
        }
    }

    fn locals(&self, direction: &str) -> Vec<Local> {
        let library: BTreeSet<&str> = self.skills.iter().filter(|(d, _)| *d == direction).map(|(_, s)| *s).collect();
        let tried = self.sums.keys().filter(|k| k.kind == Kind::Skill && k.context == self.context && k.a == direction);
        let all: BTreeSet<&str> = tried.map(|k| k.b.as_str()).chain(library.iter().copied()).collect();
        let one = |skill: &str| Local {
            skill: skill.to_owned(),
            in_library: library.contains(skill),
            moments: self.moments(Kind::Skill, direction, skill),
        };
        all.into_iter().map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::evidence::tests::sample;
    use super::super::evidence::{Gain, Outcome};
    use super::super::tables::Tables;
    use super::*;
    use crate::source::FileId;

    #[test]
    fn texts_stand_beside_what_was_tried() {
        let directions = Directions::parse(FileId(0), include_str!("../../skills/directions.toml")).unwrap();
        let gain = Outcome::Measured { speedup: Gain::of(1.5).unwrap() };
        let all = [
            sample("r", 1, "", "memory-access", gain),
            sample("r", 2, "memory-access", "data-reuse", Outcome::Wrong),
            sample("r", 3, "data-reuse", "parallel-mapping", gain),
        ];
        let tables = Tables::of(&all);
        let skills = [("memory-access", "vectorize_access"), ("throughput", "mine")];
        let graph = Graph::of(&directions, &skills, &tables.sums, tables.unit(), "");
        assert_eq!(graph.nodes.len(), 8, "seven directions and the start");
        let access = graph.node("memory-access").unwrap();
        assert_eq!((access.moments.tries, access.skills.len(), access.edges.len()), (1, 1, 4));
        assert!(access.skills[0].in_library && !access.goal.is_empty());
        let edge = access.edges.iter().find(|e| e.to == "data-reuse").unwrap();
        assert!(edge.prior == 0.35 && edge.moments.failures == 1.0 && !edge.why.is_empty());
        // A transition that no file names, a skill that is not in the library, and a skill that was never tried.
        let reuse = graph.node("data-reuse").unwrap();
        assert!(reuse.edges.iter().any(|e| e.to == "parallel-mapping" && e.prior == 0.0 && e.when.is_empty()));
        assert!(!reuse.skills[0].in_library);
        assert_eq!(graph.node("throughput").unwrap().skills[0].moments.tries, 0);
        assert_eq!(graph.node("").unwrap().edges.len(), 1);
        let elsewhere = Graph::of(&directions, &skills, &tables.sums, tables.unit(), "matmul");
        assert!(elsewhere.nodes.iter().all(|n| n.moments.tries == 0));
    }
}
