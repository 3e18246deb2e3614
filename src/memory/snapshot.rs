//! What the policy reads of a memory: texts and priors of the directions, and sums as they stand.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::context::{Context, LEVELS};
use super::sums::{Moments, Sums};
use super::tables::{Key, Kind, Tables};
use crate::skill::Directions;

/// A memory at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot<'a> {
    pub directions: &'a Directions,
    sums: Cow<'a, BTreeMap<Key, Sums>>,
    unit: i64,
}

/// An estimate with what it rests on.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Estimate {
    pub value: f64,
    /// Steps with a known reward, decayed, at each level of context: each level without the finer ones.
    pub n: [f64; LEVELS],
}

impl<'a> Snapshot<'a> {
    pub fn new(directions: &'a Directions, tables: &'a Tables) -> Snapshot<'a> {
        Snapshot { directions, sums: Cow::Borrowed(&tables.sums), unit: tables.unit() }
    }

    /// Nothing but priors.
    pub fn empty(directions: &'a Directions) -> Snapshot<'a> {
        Snapshot { directions, sums: Cow::Owned(BTreeMap::new()), unit: 1 }
    }

    /// A part of the sums, as a store reads it; `unit` is the weight of the latest run.
    pub fn of_sums(directions: &'a Directions, sums: BTreeMap<Key, Sums>, unit: i64) -> Snapshot<'a> {
        Snapshot { directions, sums: Cow::Owned(sums), unit: unit.max(1) }
    }

    /// Sums over a node or an edge in a context of one level.
    pub fn moments(&self, kind: Kind, context: &str, a: &str, b: &str) -> Moments {
        self.sums(kind, context, a, b).moments(self.unit)
    }

    fn sums(&self, kind: Kind, context: &str, a: &str, b: &str) -> Sums {
        self.sums.get(&Key::new(kind, context, a, b)).copied().unwrap_or_default()
    }

    /// What each level knows that the finer ones do not, finest first. So no step counts twice.
    pub fn rings(&self, kind: Kind, levels: &[String; LEVELS], a: &str, b: &str) -> [Moments; LEVELS] {
        self.differences(std::array::from_fn(|i| self.sums(kind, &levels[i], a, b)))
    }

    fn differences(&self, whole: [Sums; LEVELS]) -> [Moments; LEVELS] {
        std::array::from_fn(|i| {
            let ring = if i == 0 { whole[0] } else { whole[i] - whole[i - 1] };
            ring.moments(self.unit)
        })
    }

    /// The reward to expect, by shrinkage: `(n * mean + kappa * prior) / (n + kappa)`, where the prior of a level is the
    /// estimate of the next coarser one. With evidence at one level only this is the formula itself. Steps that were
    /// correct and not timed count as evidence for the prior: they did not fail, and nothing else is known.
    pub fn reward(
        &self,
        kind: Kind,
        levels: &[String; LEVELS],
        (a, b): (&str, &str),
        prior: f64,
        kappa: f64,
    ) -> Estimate {
        let rings = self.rings(kind, levels, a, b);
        let value = shrink(&rings, prior, kappa);
        Estimate { value, n: rings.map(|m| m.n) }
    }

    /// The reward to expect of a direction right after another. Its prior is what the direction gave after all others, itself
    /// shrunk to the prior of the transition: an edge that was seldom tried begins with what is known of where it leads, and
    /// a prior that was wrong for all predecessors is unlearned once and not for each. Returns the estimate and that prior.
    pub fn edge(&self, levels: &[String; LEVELS], (from, to): (&str, &str), prior: f64, kappa: f64) -> (Estimate, f64) {
        let others: [Sums; LEVELS] = std::array::from_fn(|i| {
            self.sums(Kind::Direction, &levels[i], "", to) - self.sums(Kind::Edge, &levels[i], from, to)
        });
        let pooled = shrink(&self.differences(others), prior, kappa);
        (self.reward(Kind::Edge, levels, (from, to), pooled, kappa), pooled)
    }

    /// How often a direction ends without a correct candidate, shrunk in the same way towards its hazard.
    pub fn risk(&self, levels: &[String; LEVELS], direction: &str, hazard: f64, kappa: f64) -> f64 {
        self.rings(Kind::Direction, levels, "", direction).iter().rev().fold(hazard, |prior, m| {
            if m.all + kappa > 0.0 { (m.failures + kappa * prior) / (m.all + kappa) } else { prior }
        })
    }

    /// Every key that the policy may ask for in this context, coming from `froms` under this bottleneck; skills by name.
    pub fn keys(
        directions: &Directions,
        context: &Context,
        froms: &[&str],
        bottleneck: &str,
        skills: &[(&str, &str)],
    ) -> Vec<Key> {
        let mut keys = vec![];
        for level in context.levels() {
            for to in directions.names() {
                keys.extend(froms.iter().map(|from| Key::new(Kind::Edge, &level, from, to)));
                keys.push(Key::new(Kind::Served, &level, bottleneck, to));
                keys.push(Key::new(Kind::Direction, &level, "", to));
            }
            keys.extend(skills.iter().map(|(direction, skill)| Key::new(Kind::Skill, &level, direction, skill)));
        }
        keys
    }
}

/// From the coarsest level to the finest, each with the estimate of the one before as its prior.
fn shrink(rings: &[Moments; LEVELS], prior: f64, kappa: f64) -> f64 {
    rings.iter().rev().fold(prior, |prior, m| {
        let trust = kappa + m.untimed;
        if m.n + trust > 0.0 { (m.n * m.mean + trust * prior) / (m.n + trust) } else { prior }
    })
}

#[cfg(test)]
mod tests {
    use super::super::Family;
    use super::super::evidence::tests::sample;
    use super::super::evidence::{Evidence, Gain, Outcome};
    use super::*;
    use crate::source::FileId;

    const TEXT: &str = "[a]\ngoal='g'\ntrigger='t'\nrisk='r'\nhazard=0.5\nserves={memory=1.0}\n";

    fn many(n: u32, outcome: Outcome, arch: &str, family: Family) -> Vec<Evidence> {
        let one = |step| {
            let mut e = sample("r", step, "", "a", outcome);
            e.context = Context { arch: arch.into(), language: "cuda".into(), family };
            e
        };
        (1..=n).map(one).collect()
    }

    fn estimate(evidence: &[Evidence]) -> Estimate {
        let directions = Directions::parse(FileId(0), TEXT).unwrap();
        let tables = Tables::of(evidence);
        let levels = Context { arch: "sm_80".into(), language: "cuda".into(), family: Family::Scan }.levels();
        Snapshot::new(&directions, &tables).reward(Kind::Edge, &levels, ("", "a"), 0.2, 4.0)
    }

    #[test]
    fn with_one_level_it_is_the_formula() {
        let half = Outcome::Measured { speedup: Gain::of(0.5f64.exp()).unwrap() };
        for n in [0, 1, 4, 20] {
            let wanted = (f64::from(n) * 0.5 + 4.0 * 0.2) / (f64::from(n) + 4.0);
            let e = estimate(&many(n, half, "sm_80", Family::Scan));
            assert!((e.value - wanted).abs() < 1e-6, "{n}: {e:?}");
            assert_eq!(e.n, [f64::from(n), 0.0, 0.0, 0.0]);
            // Evidence of another family is of the coarsest level alone.
            let e = estimate(&many(n, half, "sm_80", Family::Matmul));
            assert!((e.value - wanted).abs() < 1e-6, "{n}: {e:?}");
            assert_eq!(e.n, [0.0, 0.0, 0.0, f64::from(n)]);
        }
    }

    #[test]
    fn near_evidence_outweighs_far_evidence() {
        let gain = |r: f64| Outcome::Measured { speedup: Gain::of(r.exp()).unwrap() };
        let mut all = many(50, gain(-0.5), "sm_90", Family::Scan);
        assert!(estimate(&all).value < -0.4, "only the other architecture is known");
        all.extend(many(50, gain(0.5), "sm_80", Family::Scan));
        assert!(estimate(&all).value > 0.4);
    }

    #[test]
    fn an_edge_begins_with_what_is_known_of_where_it_leads() {
        let directions = Directions::parse(FileId(0), TEXT).unwrap();
        let bad = Outcome::Measured { speedup: Gain::of((-0.5f64).exp()).unwrap() };
        let mut all = many(40, bad, "sm_80", Family::Scan);
        let after = |from: &str, all: &[Evidence]| {
            let tables = Tables::of(all);
            Snapshot::new(&directions, &tables).edge(&all[0].context.levels(), (from, "a"), 0.4, 4.0)
        };
        let (untried, pooled) = after("b", &all);
        let wanted = (40.0 * -0.5 + 4.0 * 0.4) / 44.0;
        assert!((untried.value - wanted).abs() < 1e-6 && (pooled - wanted).abs() < 1e-6, "{untried:?}");
        // The edge that all of it was about does not count twice.
        let (tried, pooled) = after("", &all);
        assert!((tried.value - wanted).abs() < 1e-6 && pooled == 0.4, "{tried:?}");
        let good = Outcome::Measured { speedup: Gain::of(0.5f64.exp()).unwrap() };
        all.extend((100..120).map(|step| sample("r", step, "b", "a", good)).map(|mut e| {
            e.context.family = Family::Scan;
            e
        }));
        assert!(after("b", &all).0.value > 0.3 && after("", &all).0.value < -0.3, "each edge keeps what is its own");
    }

    #[test]
    fn what_was_not_timed_is_evidence_for_the_prior_only() {
        let untimed = many(30, Outcome::Correct { estimated: Gain::of(2.0) }, "sm_80", Family::Scan);
        assert!((estimate(&untimed).value - 0.2).abs() < 1e-9);
        let mut mixed = untimed.clone();
        let failed = many(2, Outcome::NotCompiled, "sm_80", Family::Scan);
        mixed.extend(failed.clone());
        assert!(estimate(&mixed).value > estimate(&failed).value, "two failures in 32 are better than two in two");
        let directions = Directions::parse(FileId(0), TEXT).unwrap();
        let tables = Tables::of(&mixed);
        let levels = mixed[0].context.levels();
        let risk = Snapshot::new(&directions, &tables).risk(&levels, "a", 0.5, 4.0);
        assert!((risk - (2.0 + 4.0 * 0.5) / 36.0).abs() < 1e-6, "{risk}");
    }
}
