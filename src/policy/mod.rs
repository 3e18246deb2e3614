//! What to try next: a direction by what paid after the path so far, then a skill in it.
//!
//! Pure: a [`Snapshot`](crate::memory::Snapshot) of the memory, the [`State`] of the kernel and the legal moves go in, a
//! [`Choice`] with all its parts comes out. The same seed gives the same choice.
//!
//! # Formulas
//! `S(b) = alpha * sum_j w_j U(g_j -> b) + beta * V(b | bottleneck) - gamma * risk(b)` over directions that have a legal
//! move, where `g_1` is the last direction and `w_j` the position weights; a softmax at the temperature of the step; one
//! draw. `U` and `V` are shrunk rewards ([`Snapshot::edge`](crate::memory::Snapshot::edge) and
//! [`Snapshot::reward`](crate::memory::Snapshot::reward)), the prior of `U` is that of the transition, the prior of `V` a share of what the direction serves the bottleneck. At the start of a run the path is
//! the one step "start".

mod choose;
mod explain;
pub mod family;
mod local;
pub mod random;
pub mod settings;
pub mod trial;

pub use choose::{Choice, PathTerm, Scored, choose};
pub use explain::explain;
pub use family::family;
pub use local::Ranked;
pub use settings::{Memory, Rule, Settings};

use crate::memory::{Bottleneck, Context, PathStep};

/// Where a run stands before a step.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Fingerprint of the kernel as it is now.
    pub kernel: String,
    pub context: Context,
    pub bottleneck: Option<Bottleneck>,
    /// All steps so far, oldest first.
    pub path: Vec<PathStep>,
    /// The last error, shortened.
    pub error: Option<String>,
}

impl State {
    /// The last `k` directions, newest first; "" at the start of a run.
    pub fn prefix(&self, k: usize) -> Vec<&str> {
        if self.path.is_empty() {
            return vec![""];
        }
        self.path.iter().rev().take(k).map(|s| s.direction.as_str()).collect()
    }

    /// A few lines that say all of it, for people and for prompts.
    pub fn summary(&self, k: usize) -> String {
        let bottleneck = self.bottleneck.map_or("not known", |b| b.as_str());
        let mut text = format!("kernel {} ({}), bottleneck {bottleneck}\n", self.kernel, self.context);
        let skipped = self.path.len().saturating_sub(k);
        if skipped > 0 {
            text.push_str(&format!("{skipped} earlier steps\n"));
        }
        for (i, step) in self.path.iter().enumerate().skip(skipped) {
            text.push_str(&format!("step {}: {}: {}\n", i + 1, step.direction, step.outcome));
        }
        if let Some(error) = &self.error {
            text.push_str(&format!("last error: {error}\n"));
        }
        text
    }
}

/// How firmly the conditions of a move hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Firmness {
    Proved,
    Assumed,
    Guarded,
}

impl Firmness {
    pub fn as_str(self) -> &'static str {
        match self {
            Firmness::Proved => "proved",
            Firmness::Assumed => "assumed",
            Firmness::Guarded => "guarded",
        }
    }

    /// What is taken off the score of a move, in units of reward: an assumption may not hold for the next caller, a guard
    /// costs a test and a second path.
    pub fn cost(self) -> f64 {
        match self {
            Firmness::Proved => 0.0,
            Firmness::Assumed => 0.02,
            Firmness::Guarded => 0.05,
        }
    }
}

/// A move that may be made now: scope, features and conditions of the skill allow it.
#[derive(Clone, Debug, PartialEq)]
pub struct Legal {
    pub direction: String,
    pub skill: String,
    /// Reward that is at stake, 0 to 1.
    pub risk: f64,
    /// Reward to expect from what the counters say, 0 where they say nothing.
    pub effect: f64,
    pub firmness: Firmness,
}
