//! Scores of directions, and the draw.

use std::collections::BTreeSet;

use super::local::{self, Ranked};
use super::random::Random;
use super::{Legal, Memory, Rule, Settings, State};
use crate::memory::{Kind, Snapshot};

/// The reward that a direction promises before anything was measured if it serves the bottleneck fully.
pub const SERVED: f64 = 0.35;
/// How much of the spread of rewards an upper confidence bound adds.
const EXPLORATION: f64 = 0.5;

/// One step of the path and what it says of a direction.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct PathTerm {
    /// "" is the start of a run.
    pub from: String,
    pub weight: f64,
    /// What `directions.toml` says of the transition, and that with what the direction gave after all others.
    pub prior: f64,
    pub pooled: f64,
    pub utility: f64,
    /// Steps with a known reward behind it, decayed, at each level of context.
    pub n: [f64; 4],
}

/// A direction, or a skill where there is no hierarchy, with its score and the parts of it.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Scored {
    pub direction: String,
    /// Where the draw is over skills.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skill: Option<String>,
    pub path: Vec<PathTerm>,
    /// `sum_j w_j U`.
    pub utility: f64,
    /// `V`, with the steps behind it.
    pub value: f64,
    pub value_n: f64,
    pub risk: f64,
    pub score: f64,
    pub probability: f64,
}

/// What was chosen, and everything that led to it.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Choice {
    pub step: u32,
    pub tau: f64,
    pub rule: Rule,
    /// Candidates of the draw, by name.
    pub scored: Vec<Scored>,
    /// Directions without a legal move: they are no candidates.
    pub masked: Vec<String>,
    /// The number in [0, 1) that picked among the probabilities, in the order of `scored`.
    pub draw: f64,
    pub direction: String,
    pub skill: String,
    /// The legal skills of the direction, best first; the first is the choice unless the draw was over skills.
    pub locals: Vec<Ranked>,
}

/// Chooses the next step, from 1; `None` where nothing is legal.
pub fn choose(snapshot: &Snapshot, state: &State, legal: &[Legal], settings: &Settings, step: u32) -> Option<Choice> {
    let mut random = Random::of(settings.seed, &["choose", &state.kernel, &step.to_string()]);
    let ranked = local::rank(snapshot, state, legal, settings, &mut random);
    let open: BTreeSet<&str> = legal.iter().map(|l| l.direction.as_str()).collect();
    let masked = snapshot.directions.names().filter(|d| !open.contains(d)).map(str::to_owned).collect();
    let scoring = Scoring::new(snapshot, state, settings, &open, &mut random);
    let over_skills = !settings.hierarchy || settings.memory == Memory::Flat;
    let mut scored: Vec<Scored> = if over_skills {
        ranked.iter().map(|r| scoring.skill(r)).collect()
    } else {
        open.iter().map(|d| scoring.direction(d)).collect()
    };
    scored.sort_by(|a, b| (&a.direction, &a.skill).cmp(&(&b.direction, &b.skill)));
    let tau = settings.tau(step);
    let draw = random.unit();
    if settings.rule == Rule::UpperConfidence {
        greatest(&mut scored, &mut random)
    } else {
        softmax(&mut scored, tau)
    }
    let picked = pick(&scored, draw)?;
    let direction = picked.direction.clone();
    let skill = picked.skill.clone();
    let locals: Vec<Ranked> = ranked.into_iter().filter(|r| r.direction == direction).collect();
    let skill = skill.or_else(|| locals.first().map(|l| l.skill.clone()))?;
    Some(Choice { step, tau, rule: settings.rule, scored, masked, draw, direction, skill, locals })
}

/// What scores are made from.
struct Scoring<'s> {
    snapshot: &'s Snapshot<'s>,
    settings: &'s Settings,
    levels: [String; 4],
    prefix: Vec<(&'s str, f64)>,
    bottleneck: Option<&'s str>,
    /// Whose memory is read for whom; empty where each reads its own.
    remembered: Vec<(&'s str, &'s str)>,
    /// Steps that were tried in the context, for confidence bounds.
    tries: f64,
}

impl<'s> Scoring<'s> {
    fn new(
        snapshot: &'s Snapshot<'s>,
        state: &'s State,
        settings: &'s Settings,
        open: &BTreeSet<&'s str>,
        random: &mut Random,
    ) -> Scoring<'s> {
        let prefix = state.prefix(settings.k);
        let weights = settings.weights(prefix.len());
        let names: Vec<&str> = open.iter().copied().collect();
        let remembered = match settings.memory {
            Memory::Random => {
                let order = random.order(names.len());
                names.iter().zip(order).map(|(n, o)| (*n, names[o])).collect()
            }
            Memory::Graph | Memory::Flat => vec![],
        };
        let levels = state.context.levels();
        let tries = names.iter().map(|d| snapshot.moments(Kind::Direction, &levels[0], "", d).all).sum();
        Scoring {
            snapshot,
            settings,
            levels,
            prefix: prefix.into_iter().zip(weights).collect(),
            bottleneck: state.bottleneck.map(|b| b.as_str()),
            remembered,
            tries,
        }
    }

    fn direction(&self, name: &str) -> Scored {
        let whose = self.remembered.iter().find(|(n, _)| *n == name).map_or(name, |(_, other)| other);
        let s = self.settings;
        let empty = Snapshot::empty(self.snapshot.directions);
        let snapshot = if s.rule == Rule::FeedbackOnly { &empty } else { self.snapshot };
        let path = self.path(snapshot, whose);
        let utility = path.iter().map(|t| t.weight * t.utility).sum();
        let value = snapshot.reward(
            Kind::Served,
            &self.levels,
            (self.bottleneck.unwrap_or(""), whose),
            SERVED * self.serves(whose),
            s.kappa,
        );
        let hazard = snapshot.directions.get(whose).map_or(0.0, |d| d.hazard);
        let risk = snapshot.risk(&self.levels, whose, hazard, s.kappa);
        let score = match s.rule {
            Rule::UpperConfidence => self.bound(whose),
            // What the path does not say the direction says by itself, so that scores are as far apart.
            _ if path.is_empty() => (s.alpha + s.beta) * value.value - s.gamma * risk,
            _ => s.alpha * utility + s.beta * value.value - s.gamma * risk,
        };
        Scored {
            direction: name.to_owned(),
            skill: None,
            path,
            utility,
            value: value.value,
            value_n: value.n.iter().sum(),
            risk,
            score,
            probability: 0.0,
        }
    }

    fn path(&self, snapshot: &Snapshot, to: &str) -> Vec<PathTerm> {
        let s = self.settings;
        if !s.prefix || s.rule == Rule::FeedbackOnly {
            return vec![];
        }
        let term = |(from, weight): &(&str, f64)| {
            let prior = self.prior(from, to);
            let (estimate, pooled) = snapshot.edge(&self.levels, (from, to), prior, s.kappa);
            PathTerm {
                from: (*from).to_owned(),
                weight: *weight,
                prior,
                pooled,
                utility: estimate.value,
                n: estimate.n,
            }
        };
        self.prefix.iter().map(term).collect()
    }

    /// What a transition promises before anything was measured. No transition leads out of the start: there it is what the
    /// direction serves.
    fn prior(&self, from: &str, to: &str) -> f64 {
        if from.is_empty() { SERVED * self.serves(to) } else { self.snapshot.directions.prior(from, to) }
    }

    /// How much a direction serves the bottleneck; the mean over all bottlenecks where it is not known.
    fn serves(&self, name: &str) -> f64 {
        let Some(direction) = self.snapshot.directions.get(name) else { return 0.0 };
        match self.bottleneck {
            Some(b) => direction.serves.get(b).copied().unwrap_or(0.0),
            None => direction.serves.values().sum::<f64>() / crate::memory::Bottleneck::ALL.len() as f64,
        }
    }

    fn bound(&self, name: &str) -> f64 {
        let m = self.snapshot.moments(Kind::Direction, &self.levels[0], "", name);
        if m.n <= 0.0 {
            return f64::MAX;
        }
        m.mean + EXPLORATION * (2.0 * self.tries.max(1.0).ln() / m.n).sqrt()
    }

    /// Where there is no hierarchy: the direction's score and the skill's own; in a flat memory the skill's alone.
    fn skill(&self, ranked: &Ranked) -> Scored {
        let s = self.settings;
        let mut scored = if s.memory == Memory::Flat {
            Scored {
                direction: ranked.direction.clone(),
                skill: None,
                path: vec![],
                utility: 0.0,
                value: ranked.evidence,
                value_n: ranked.n,
                risk: ranked.risk,
                score: (s.alpha + s.beta) * ranked.score,
                probability: 0.0,
            }
        } else {
            let direction = self.direction(&ranked.direction);
            Scored { score: direction.score + s.beta * ranked.score, ..direction }
        };
        scored.skill = Some(ranked.skill.clone());
        scored
    }
}

fn softmax(scored: &mut [Scored], tau: f64) {
    let most = scored.iter().map(|s| s.score).fold(f64::NEG_INFINITY, f64::max);
    let weigh = |s: &Scored| ((s.score - most) / tau).exp();
    let total: f64 = scored.iter().map(weigh).sum();
    scored.iter_mut().for_each(|s| s.probability = weigh(s) / total);
}

/// All of the probability on the greatest score; among equal ones one is drawn.
fn greatest(scored: &mut [Scored], random: &mut Random) {
    let most = scored.iter().map(|s| s.score).fold(f64::NEG_INFINITY, f64::max);
    let best: Vec<usize> = (0..scored.len()).filter(|i| scored[*i].score >= most).collect();
    if let Some(i) = best.get(random.below(best.len())) {
        scored[*i].probability = 1.0;
    }
}

/// The one in whose share of [0, 1) the draw falls.
fn pick(scored: &[Scored], draw: f64) -> Option<&Scored> {
    let mut until = 0.0;
    let within = scored.iter().find(|s| {
        until += s.probability;
        draw < until
    });
    // Rounding may leave the shares a little short of 1.
    within.or_else(|| scored.iter().rev().find(|s| s.probability > 0.0))
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
