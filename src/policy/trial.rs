//! Synthetic environments with known rewards: what the policy and its ablations make of them.
//!
//! A series is a number of runs one after another that share a memory. `tests/data/memory/environments.toml` says what each
//! environment is like; everything random comes from the seed.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::random::Random;
use super::{Firmness, Legal, Settings, State, choose};
use crate::memory::{Bottleneck, Context, Evidence, Family, Gain, Outcome, PathStep, Snapshot, Tables};
use crate::skill::Directions;

/// The file of environments.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    pub directions: Vec<String>,
    pub steps: u32,
    pub runs: usize,
    pub seeds: u64,
    /// Standard deviation of a reward.
    pub noise: f64,
    /// How likely a step does not compile, and is wrong.
    pub not_compiled: f64,
    pub wrong: f64,
    /// How likely a direction has a legal move at a step.
    pub legal: f64,
    pub skill_offsets: Vec<f64>,
    pub arch: String,
    pub language: String,
    pub family: Family,
    pub bottleneck: Bottleneck,
    pub environment: Vec<Environment>,
}

/// One environment.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    pub name: String,
    pub claim: Claim,
    /// The prior of every transition into a direction, instead of those of `skills/directions.toml`.
    pub priors: Option<Vec<f64>>,
    /// By the direction before, or `start`.
    pub reward: BTreeMap<String, Vec<f64>>,
}

/// What the whole policy has to reach.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The setting that it is compared with.
    pub over: String,
    /// The ratio of the rewards is at least this, by the lower end of its interval.
    pub at_least: Option<f64>,
    /// The ratio is at least 1 less this.
    pub within: Option<f64>,
    /// Counted from the run after this one.
    #[serde(default)]
    pub by_run: usize,
}

impl Trial {
    /// Reads the file.
    ///
    /// # Errors
    /// What has the wrong form, in words.
    pub fn parse(text: &str) -> Result<Trial, String> {
        let trial: Trial = toml::from_str(text).map_err(|e| e.to_string())?;
        for e in &trial.environment {
            let rows = trial.directions.iter().map(String::as_str).chain(["start"]);
            let wrong = rows.into_iter().find(|r| e.reward.get(*r).is_none_or(|v| v.len() != trial.directions.len()));
            if let Some(row) = wrong {
                return Err(format!(
                    "environment {}: the row `{row}` must have {} rewards",
                    e.name,
                    trial.directions.len()
                ));
            }
        }
        Ok(trial)
    }

    /// The directions as an environment has them: the library's, with its priors.
    pub fn known(&self, environment: &Environment, library: &Directions) -> Directions {
        match &environment.priors {
            None => library.clone(),
            Some(priors) => library.with_priors(|_, to| {
                self.directions.iter().position(|d| d == to).and_then(|i| priors.get(i).copied()).unwrap_or(0.0)
            }),
        }
    }

    /// The rewards of each run of one series, added up over its steps.
    pub fn play(&self, environment: &Environment, directions: &Directions, settings: &Settings, seed: u64) -> Vec<f64> {
        let mut tables = Tables::default();
        (0..self.runs)
            .map(|run| {
                let mut random = Random::of(seed, &["environment", &environment.name, &run.to_string()]);
                let seed = random.number();
                self.run(environment, directions, &Settings { seed, ..settings.clone() }, run, &mut tables)
            })
            .collect()
    }

    fn run(
        &self,
        environment: &Environment,
        directions: &Directions,
        settings: &Settings,
        run: usize,
        tables: &mut Tables,
    ) -> f64 {
        // The world draws from a stream of its own, so that policies meet the same world as far as they do the same.
        let mut world = Random::of(settings.seed, &["world"]);
        let context = Context { arch: self.arch.clone(), language: self.language.clone(), family: self.family };
        let mut state = State {
            kernel: "synthetic".to_owned(),
            context,
            bottleneck: Some(self.bottleneck),
            path: vec![],
            error: None,
        };
        let mut total = 0.0;
        for step in 1..=settings.steps.min(self.steps) {
            let legal = self.legal(&mut world);
            let snapshot = Snapshot::new(directions, tables);
            let Some(choice) = choose(&snapshot, &state, &legal, settings, step) else { continue };
            let outcome = self.outcome(environment, &state, &choice.direction, &choice.skill, &mut world);
            total += outcome.reward().unwrap_or(0) as f64 / 1e6;
            let prefix: Vec<PathStep> = state.path.iter().rev().take(settings.k).rev().cloned().collect();
            let evidence = Evidence {
                run: format!("run-{run:05}"),
                step,
                started: run as u64,
                context: state.context.clone(),
                bottleneck: state.bottleneck,
                prefix,
                direction: choice.direction.clone(),
                skill: choice.skill,
                outcome,
                kernel: state.kernel.clone(),
                diff: String::new(),
                reason: String::new(),
            };
            // A series of more than one period of runs would have to make its sums anew; none is that long.
            if settings.update && !tables.add(&evidence) {
                return f64::NAN;
            }
            state.path.push(PathStep { direction: choice.direction, outcome });
        }
        total
    }

    fn legal(&self, world: &mut Random) -> Vec<Legal> {
        let open: Vec<bool> = self.directions.iter().map(|_| world.unit() < self.legal).collect();
        let any = open.contains(&true);
        let named = self.directions.iter().zip(open).filter(|(_, open)| *open || !any);
        let skills = |direction: &String| {
            let direction = direction.clone();
            (0..self.skill_offsets.len()).map(move |i| Legal {
                direction: direction.clone(),
                // The order of the names says nothing of which is better.
                skill: format!("{direction}-{}", if direction.len().is_multiple_of(2) { i } else { 9 - i }),
                risk: 0.0,
                effect: 0.0,
                firmness: Firmness::Proved,
            })
        };
        named.flat_map(|(d, _)| skills(d)).collect()
    }

    fn outcome(
        &self,
        environment: &Environment,
        state: &State,
        direction: &str,
        skill: &str,
        world: &mut Random,
    ) -> Outcome {
        let (fails, noise) = (world.unit(), world.normal() * self.noise);
        if fails < self.wrong {
            return Outcome::Wrong;
        }
        if fails < self.wrong + self.not_compiled {
            return Outcome::NotCompiled;
        }
        let from = state.path.last().map_or("start", |s| s.direction.as_str());
        let at = self.directions.iter().position(|d| d == direction);
        let mean = environment.reward.get(from).zip(at).and_then(|(row, at)| row.get(at)).copied().unwrap_or(0.0);
        let digit = skill.bytes().last().map_or(0, |b| usize::from(b.saturating_sub(b'0')));
        let offset = self.skill_offsets.get(if digit > 4 { 9 - digit } else { digit }).copied().unwrap_or(0.0);
        match Gain::of((mean + offset + noise).exp()) {
            Some(speedup) => Outcome::Measured { speedup },
            None => Outcome::Correct { estimated: None },
        }
    }
}

/// A mean over seeds with its 95 % interval (normal approximation).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub mean: f64,
    pub low: f64,
    pub high: f64,
}

impl Interval {
    pub fn of(values: &[f64]) -> Interval {
        let n = values.len().max(1) as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
        let half = 1.96 * (variance / n).sqrt();
        Interval { mean, low: mean - half, high: mean + half }
    }

    /// The ratio of two means over the same seeds, by the delta method on pairs.
    pub fn of_ratio(above: &[f64], below: &[f64]) -> Interval {
        let n = above.len().min(below.len()).max(1) as f64;
        let (a, b) = (Interval::of(above).mean, Interval::of(below).mean);
        let ratio = a / b;
        let residuals: f64 =
            above.iter().zip(below).map(|(x, y)| (x - ratio * y).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
        let half = 1.96 * (residuals / n).sqrt() / b.abs();
        Interval { mean: ratio, low: ratio - half, high: ratio + half }
    }
}

/// The rewards of a setting on an environment: one series a seed, each with its runs.
pub fn series(
    trial: &Trial,
    environment: &Environment,
    library: &Directions,
    settings: &Settings,
    seeds: std::ops::Range<u64>,
) -> Vec<Vec<f64>> {
    let directions = trial.known(environment, library);
    seeds.map(|seed| trial.play(environment, &directions, settings, seed)).collect()
}

/// Of each series the mean reward of a run, from the run after `from` on.
pub fn per_run(series: &[Vec<f64>], from: usize) -> Vec<f64> {
    let mean = |runs: &[f64]| runs.iter().sum::<f64>() / runs.len().max(1) as f64;
    series.iter().map(|runs| mean(runs.get(from..).unwrap_or(&[]))).collect()
}
