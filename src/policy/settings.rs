//! How the policy decides: the formulas' constants, and every ablation and baseline that it is compared with.

use serde::{Deserialize, Serialize};

/// Which memory is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Memory {
    /// The graph: edges between directions, directions under bottlenecks, skills.
    Graph,
    /// One list of skills with what each gave, whatever came before and wherever it was.
    Flat,
    /// The graph with the names of the directions and skills exchanged at random at every step.
    Random,
}

/// How scores become a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// A draw from the softmax of the scores.
    Softmax,
    /// The greatest upper confidence bound of the directions' rewards (UCB1: Auer, Cesa-Bianchi, Fischer, 2002).
    UpperConfidence,
    /// A draw from the softmax of what `directions.toml` says of the current bottleneck; nothing is remembered.
    FeedbackOnly,
}

/// Constants and switches. [`Settings::default`] is the whole policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Settings {
    pub memory: Memory,
    pub rule: Rule,
    /// First a direction, then a skill in it; without, one draw over all skills.
    pub hierarchy: bool,
    /// Whether evidence about skills ranks them.
    pub local: bool,
    /// Whether the path counts; without, its share of the score goes to the direction by itself.
    pub prefix: bool,
    /// Whether newer steps of the path weigh more.
    pub position_weights: bool,
    /// Whether what was tried is recorded; this is for the loop, the policy only says it.
    pub update: bool,
    /// Steps of a run.
    pub steps: u32,
    /// How many steps of the path count.
    pub k: usize,
    pub lambda: f64,
    /// Weights of the path, of the direction under the bottleneck, and of the risk.
    pub alpha: f64,
    pub beta: f64,
    pub gamma: f64,
    /// How many steps of evidence a prior is worth.
    pub kappa: f64,
    /// The temperature at the first and at the last step; geometric in between.
    pub tau_from: f64,
    pub tau_to: f64,
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            memory: Memory::Graph,
            rule: Rule::Softmax,
            hierarchy: true,
            local: true,
            prefix: true,
            position_weights: true,
            update: true,
            steps: 6,
            k: 3,
            lambda: 0.7,
            // Chosen on the synthetic environments; docs/memory.md says from which values.
            alpha: 6.0,
            beta: 1.0,
            gamma: 1.0,
            kappa: 4.0,
            tau_from: 1.0,
            tau_to: 0.2,
            seed: 0,
        }
    }
}

/// The names of [`Settings::named`], with what each leaves out.
pub const NAMED: &[(&str, &str)] = &[
    ("full", "the whole policy"),
    ("flat", "one list of skills instead of the graph"),
    ("no-hierarchy", "one draw over all skills instead of a direction first"),
    ("no-local", "evidence about skills is not used"),
    ("random-memory", "the memory of other directions and skills, at random"),
    ("no-prefix", "the path is not used"),
    ("no-position", "all steps of the path weigh the same"),
    ("no-update", "nothing is recorded"),
    ("steps-1", "one step"),
    ("steps-3", "three steps"),
    ("one-shot", "one step, and no memory"),
    ("feedback-only", "the bottleneck decides, and no memory"),
    ("upper-confidence", "the greatest upper confidence bound instead of a draw"),
];

impl Settings {
    /// An ablation or baseline by its name; [`NAMED`] lists them.
    pub fn named(name: &str) -> Option<Settings> {
        let full = Settings::default();
        Some(match name {
            "full" => full,
            "flat" => Settings { memory: Memory::Flat, ..full },
            "no-hierarchy" => Settings { hierarchy: false, ..full },
            "no-local" => Settings { local: false, ..full },
            "random-memory" => Settings { memory: Memory::Random, ..full },
            "no-prefix" => Settings { prefix: false, ..full },
            "no-position" => Settings { position_weights: false, ..full },
            "no-update" => Settings { update: false, ..full },
            "steps-1" => Settings { steps: 1, ..full },
            "steps-3" => Settings { steps: 3, ..full },
            "one-shot" => Settings { rule: Rule::FeedbackOnly, steps: 1, update: false, local: false, ..full },
            "feedback-only" => Settings { rule: Rule::FeedbackOnly, update: false, local: false, ..full },
            "upper-confidence" => Settings { rule: Rule::UpperConfidence, ..full },
            _ => return None,
        })
    }

    /// What is wrong with the constants, if anything.
    pub fn mistake(&self) -> Option<String> {
        let finite = [("lambda", self.lambda), ("alpha", self.alpha), ("beta", self.beta), ("gamma", self.gamma)];
        if let Some((name, value)) = finite.into_iter().find(|(_, v)| !v.is_finite() || *v < 0.0) {
            return Some(format!("{name} is {value}, and must be 0 or more"));
        }
        let positive = [("kappa", self.kappa), ("tau-from", self.tau_from), ("tau-to", self.tau_to)];
        if let Some((name, value)) = positive.into_iter().find(|(_, v)| !v.is_finite() || *v <= 0.0) {
            return Some(format!("{name} is {value}, and must be more than 0"));
        }
        (self.steps == 0 || self.k == 0).then(|| "steps and k must be at least 1".to_owned())
    }

    /// The temperature of a step, from 1.
    pub fn tau(&self, step: u32) -> f64 {
        let last = f64::from(self.steps.saturating_sub(1));
        let done = if last > 0.0 { (f64::from(step.saturating_sub(1)) / last).min(1.0) } else { 0.0 };
        self.tau_from * (self.tau_to / self.tau_from).powf(done)
    }

    /// Weights of the last `n` steps of the path, the newest first; they add up to 1.
    ///
    /// `w_j = exp(-lambda (j - 1)) / sum_i exp(-lambda (i - 1))`.
    pub fn weights(&self, n: usize) -> Vec<f64> {
        let n = n.min(self.k);
        let raw = |j: usize| if self.position_weights { (-self.lambda * j as f64).exp() } else { 1.0 };
        let total: f64 = (0..n).map(raw).sum();
        (0..n).map(|j| raw(j) / total).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_an_ablation_of_its_own() {
        let all: Vec<Settings> =
            NAMED.iter().map(|(n, _)| Settings::named(n).unwrap_or_else(|| panic!("{n}"))).collect();
        for (i, a) in all.iter().enumerate() {
            assert_eq!(a.mistake(), None);
            assert!(all[..i].iter().all(|b| a != b), "{} is another one", NAMED[i].0);
        }
        assert_eq!(Settings::named("none"), None);
    }

    #[test]
    fn temperatures_and_weights_are_those_of_the_formulas() {
        let s = Settings::default();
        assert!((s.tau(1) - 1.0).abs() < 1e-12 && (s.tau(6) - 0.2).abs() < 1e-12 && (s.tau(60) - 0.2).abs() < 1e-12);
        assert!((1..6).all(|i| s.tau(i) > s.tau(i + 1)));
        assert_eq!(Settings::named("steps-1").map(|s| s.tau(1)), Some(1.0));
        let w = s.weights(5);
        assert_eq!(w.len(), 3);
        assert!((w.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!((w[1] / w[0] - (-0.7f64).exp()).abs() < 1e-12);
        assert_eq!(Settings { position_weights: false, ..s }.weights(2), [0.5, 0.5]);
        assert!(Settings::default().weights(0).is_empty());
    }

    #[test]
    fn constants_that_make_no_sense_are_named() {
        for (text, wrong) in
            [("kappa = 0.0", "kappa"), ("alpha = -1.0", "alpha"), ("k = 0", "k"), ("tau-to = inf", "tau-to")]
        {
            let s: Settings = toml::from_str(text).unwrap();
            assert!(s.mistake().is_some_and(|m| m.contains(wrong)), "{text}");
        }
        assert!(toml::from_str::<Settings>("alfa = 1.0").is_err());
    }
}
