//! Which skill of a direction: by evidence, by what the counters let expect, and by what is at stake.

use super::random::Random;
use super::{Legal, Memory, Rule, Settings, State};
use crate::memory::{Kind, Snapshot};

/// A legal skill with its score and the parts of it.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Ranked {
    pub skill: String,
    pub direction: String,
    /// Shrunk mean of the rewards that the skill gave.
    pub evidence: f64,
    /// Steps with a known reward behind it, decayed.
    pub n: f64,
    pub effect: f64,
    pub risk: f64,
    pub firmness: super::Firmness,
    /// `evidence + effect - risk - cost of the firmness`.
    pub score: f64,
}

/// All legal skills, best first; equal ones by name.
pub(super) fn rank(
    snapshot: &Snapshot,
    state: &State,
    legal: &[Legal],
    settings: &Settings,
    random: &mut Random,
) -> Vec<Ranked> {
    let levels = state.context.levels();
    let order: Vec<usize> = match settings.memory {
        Memory::Random => random.order(legal.len()),
        Memory::Graph | Memory::Flat => (0..legal.len()).collect(),
    };
    let mut ranked: Vec<Ranked> = legal
        .iter()
        .zip(order)
        .map(|(l, remembered)| {
            let key = (legal[remembered].direction.as_str(), legal[remembered].skill.as_str());
            let (evidence, n) = if !settings.local || settings.rule == Rule::FeedbackOnly {
                (0.0, 0.0)
            } else if settings.memory == Memory::Flat {
                let m = snapshot.moments(Kind::Skill, "", key.0, key.1);
                (m.n * m.mean / (m.n + settings.kappa), m.n)
            } else {
                let e = snapshot.reward(Kind::Skill, &levels, key, 0.0, settings.kappa);
                (e.value, e.n.iter().sum())
            };
            Ranked {
                skill: l.skill.clone(),
                direction: l.direction.clone(),
                evidence,
                n,
                effect: l.effect,
                risk: l.risk,
                firmness: l.firmness,
                score: evidence + l.effect - l.risk - l.firmness.cost(),
            }
        })
        .collect();
    ranked.sort_by(|a, b| {
        let names = |r: &Ranked| (r.direction.clone(), r.skill.clone());
        b.score.total_cmp(&a.score).then_with(|| names(a).cmp(&names(b)))
    });
    ranked
}
