//! The way of a kernel: the policy chooses a direction and a skill in it, the skill rewrites, the gate judges, the memory learns.
//!
//! [`walk`] is the loop. What it asks of its surroundings is a [`World`]; what came of each question is appended to a
//! [`Journal`](journal::Journal) before anything is done with it. A walk that was killed and is resumed asks only what the journal
//! does not answer, and, given the same answers, ends as the unbroken one would have.

pub mod journal;
mod walk;

pub use walk::{End, Ended, walk};

use serde::{Deserialize, Serialize};

use crate::memory::{Bottleneck, Context, Evidence, Outcome};
use crate::policy::{Choice, Legal, Settings, State};

/// What may be done with a text, and what is known of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Survey {
    pub legal: Vec<Legal>,
    pub context: Context,
    pub bottleneck: Option<Bottleneck>,
    /// Fingerprint of the kernel.
    pub kernel: String,
}

/// A step that was chosen, as the journal keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chosen {
    pub direction: String,
    pub skill: String,
    /// The number that picked among the probabilities.
    pub draw: f64,
    /// Scores with their parts, as `--explain` shows them.
    pub explained: String,
}

/// What the gate found of a candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "found")]
pub enum Found {
    /// It computes what the original does, and this is the original's time over its own, on a GPU; a change below the margin
    /// is none.
    Measured {
        speedup: f64,
        margin: f64,
        improved: bool,
    },
    /// It computes what the original does; nothing was timed.
    Correct,
    NotCompiled,
    Wrong,
    /// Nothing can be said: no compiler, no contract, a GPU that does not answer. This is no lesson about the skill.
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    #[serde(flatten)]
    pub found: Found,
    /// In one line.
    pub reason: String,
}

/// What the walk asks of its surroundings. Surveys and rewrites must depend on the text alone.
pub trait World {
    /// Why a walk cannot go on.
    type Trouble;

    /// # Errors
    /// The text cannot be read.
    fn survey(&mut self, text: &str) -> Result<Survey, Self::Trouble>;

    /// The next step, with the words of its explanation; `None` where nothing is legal.
    ///
    /// # Errors
    /// The memory cannot be read.
    fn choose(&mut self, state: &State, legal: &[Legal], step: u32) -> Result<Option<(Choice, String)>, Self::Trouble>;

    /// The text after the skill; the same text where the skill changed nothing.
    ///
    /// # Errors
    /// The skill does not come to an end.
    fn rewrite(&mut self, text: &str, skill: &str) -> Result<String, Self::Trouble>;

    /// Judges a text against the original.
    ///
    /// # Errors
    /// Nothing at all can be judged here.
    fn judge(&mut self, text: &str) -> Result<Verdict, Self::Trouble>;

    /// Keeps evidence; the same evidence twice is kept once.
    ///
    /// # Errors
    /// The memory cannot be written.
    fn record(&mut self, evidence: &Evidence) -> Result<(), Self::Trouble>;

    /// Shows a step that is over, and keeps the best text so far.
    ///
    /// # Errors
    /// The output or the text cannot be written.
    fn show(&mut self, step: &Stepped, best: &str) -> Result<(), Self::Trouble>;

    /// The trouble that a journal makes.
    fn journal(error: journal::JournalError) -> Self::Trouble;
}

/// A step that is over.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stepped {
    pub step: u32,
    pub chosen: Chosen,
    pub verdict: Verdict,
    /// Whether the walk goes on from the candidate.
    pub taken: bool,
    /// The original's time over that of the best text so far, where it was measured.
    pub best_speedup: Option<f64>,
    /// Whether it was read from the journal.
    pub resumed: bool,
}

/// From which candidates a walk goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Accept {
    /// From those that are faster than all before; from every correct one where nothing is timed.
    #[default]
    Best,
    /// From every correct one: a detour may pay later.
    Walk,
}

/// How a walk is to go.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// A name that no other run has.
    pub run: String,
    /// Seconds since 1970.
    pub started: u64,
    pub policy: Settings,
    pub accept: Accept,
}

impl Verdict {
    /// What the memory learns, relative to the text that the step began with, which was `before` times as fast as the original.
    pub fn outcome(&self, before: Option<f64>) -> Option<Outcome> {
        match self.found {
            Found::Measured { speedup, .. } => {
                let gain = crate::memory::Gain::of(speedup / before.unwrap_or(1.0))?;
                Some(Outcome::Measured { speedup: gain })
            }
            Found::Correct => Some(Outcome::Correct { estimated: None }),
            Found::NotCompiled => Some(Outcome::NotCompiled),
            Found::Wrong => Some(Outcome::Wrong),
            Found::Unknown => None,
        }
    }
}
