//! What a campaign has seen.

use std::collections::BTreeMap;

use serde::Serialize;

/// A program on which something went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    pub seed: u64,
    /// `difference`, `finding`, `compile-error`, `not-idempotent`, `no-end`, `broken`, `generator`.
    pub kind: &'static str,
    /// The skills that were applied, in order.
    pub skills: Vec<String>,
    /// What was seen, and under which sizes.
    pub what: String,
    /// The choices that make the program, as short as the shrinker could make them.
    pub record: Vec<u32>,
    pub original: String,
    pub candidate: String,
}

/// Counts; all of them are of programs unless they say otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    pub programs: u64,
    /// By skills applied, in order: programs whose text they changed.
    pub fired: BTreeMap<String, u64>,
    /// By skill: programs in which it refused at least one place.
    pub refused: BTreeMap<String, u64>,
    /// By skill and condition: how often it was among the reasons.
    pub reasons: BTreeMap<String, u64>,
    /// By kind of guard: variants that have one.
    pub guards: BTreeMap<String, u64>,
    /// Runs in which a dispatch chose the rewritten kernel, and the original.
    pub dispatched: [u64; 2],
    pub taken_back: BTreeMap<String, u64>,
    /// Variants that were run.
    pub variants: u64,
    /// Runs of variants that were compared.
    pub runs: u64,
    /// Warp instructions of all runs of originals.
    pub steps: u64,
    pub failures: Vec<Failure>,
}

impl Report {
    pub fn join(&mut self, other: Report) {
        let add = |to: &mut BTreeMap<String, u64>, from: BTreeMap<String, u64>| {
            from.into_iter().for_each(|(k, n)| *to.entry(k).or_default() += n);
        };
        self.programs += other.programs;
        add(&mut self.fired, other.fired);
        add(&mut self.refused, other.refused);
        add(&mut self.reasons, other.reasons);
        add(&mut self.guards, other.guards);
        add(&mut self.taken_back, other.taken_back);
        self.dispatched[0] += other.dispatched[0];
        self.dispatched[1] += other.dispatched[1];
        self.variants += other.variants;
        self.runs += other.runs;
        self.steps += other.steps;
        self.failures.extend(other.failures);
    }

    /// Failures that say something against the engine, and not against the generator.
    pub fn against_the_engine(&self) -> usize {
        self.failures.iter().filter(|f| f.kind != "generator").count()
    }
}

pub(super) fn count(map: &mut BTreeMap<String, u64>, key: impl Into<String>) {
    *map.entry(key.into()).or_default() += 1;
}
