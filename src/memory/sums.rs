//! Sums over evidence as integers, so that they are the same in whatever order they were made.

use super::evidence::Outcome;

/// Sums over the evidence of one node or edge. `weighted` ones count each step with the weight of its run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Steps, each as one.
    pub tries: i64,
    /// Steps with a known reward, each as one, and the sum of their rewards in millionths.
    pub plain_rewarded: i64,
    pub plain_reward: i64,
    /// Weighted: all steps, and those that were correct, did not compile, were wrong.
    pub all: i64,
    pub correct: i64,
    pub not_compiled: i64,
    pub wrong: i64,
    /// Weighted: steps with a known reward, their rewards and the squares of these, in millionths.
    pub rewarded: i64,
    pub reward: i64,
    pub square: i64,
    /// Weighted: steps with an estimated gain, and its logarithm in millionths. Never part of the rewards.
    pub estimated: i64,
    pub estimate: i64,
}

/// The columns by name, in the order of [`Sums::columns`].
pub const COLUMNS: [&str; 12] = [
    "tries",
    "plain_rewarded",
    "plain_reward",
    "all_steps",
    "correct",
    "not_compiled",
    "wrong",
    "rewarded",
    "reward",
    "square",
    "estimated",
    "estimate",
];

impl Sums {
    /// The sums of one step of the weight.
    pub fn of(outcome: Outcome, weight: i64) -> Sums {
        let mut sums = Sums { tries: 1, all: weight, ..Sums::default() };
        match outcome {
            Outcome::Measured { .. } => sums.correct = weight,
            Outcome::Correct { estimated } => {
                sums.correct = weight;
                if let Some(gain) = estimated {
                    sums.estimated = weight;
                    sums.estimate = weight * gain.reward();
                }
            }
            Outcome::NotCompiled => sums.not_compiled = weight,
            Outcome::Wrong => sums.wrong = weight,
        }
        if let Some(reward) = outcome.reward() {
            sums.plain_rewarded = 1;
            sums.plain_reward = reward;
            sums.rewarded = weight;
            sums.reward = weight * reward;
            sums.square = weight * (reward * reward / 1_000_000);
        }
        sums
    }

    pub fn columns(&self) -> [i64; 12] {
        [
            self.tries,
            self.plain_rewarded,
            self.plain_reward,
            self.all,
            self.correct,
            self.not_compiled,
            self.wrong,
            self.rewarded,
            self.reward,
            self.square,
            self.estimated,
            self.estimate,
        ]
    }

    pub fn of_columns(c: [i64; 12]) -> Sums {
        Sums {
            tries: c[0],
            plain_rewarded: c[1],
            plain_reward: c[2],
            all: c[3],
            correct: c[4],
            not_compiled: c[5],
            wrong: c[6],
            rewarded: c[7],
            reward: c[8],
            square: c[9],
            estimated: c[10],
            estimate: c[11],
        }
    }

    fn zip(self, other: Sums, f: impl Fn(i64, i64) -> i64) -> Sums {
        let (a, b) = (self.columns(), other.columns());
        Sums::of_columns(std::array::from_fn(|i| f(a[i], b[i])))
    }

    /// As figures; `unit` is the weight of the latest run.
    pub fn moments(&self, unit: i64) -> Moments {
        let weighted = |x: i64| x as f64 / unit as f64;
        let n = weighted(self.rewarded);
        let mean = ratio(self.reward as f64 / 1e6, self.rewarded as f64);
        let plain = ratio(self.plain_reward as f64 / 1e6, self.plain_rewarded as f64);
        Moments {
            tries: self.tries as u64,
            all: weighted(self.all),
            n,
            mean,
            m2: (weighted(self.square) / 1e6 - n * mean * mean).max(0.0),
            correct: weighted(self.correct),
            failures: weighted(self.not_compiled + self.wrong),
            untimed: weighted(self.all - self.rewarded),
            trend: mean - plain,
            estimates: weighted(self.estimated),
            estimate: ratio(self.estimate as f64 / 1e6, self.estimated as f64),
        }
    }
}

fn ratio(sum: f64, n: f64) -> f64 {
    if n > 0.0 { sum / n } else { 0.0 }
}

impl std::ops::Add for Sums {
    type Output = Sums;
    fn add(self, other: Sums) -> Sums {
        self.zip(other, i64::saturating_add)
    }
}

impl std::ops::Sub for Sums {
    type Output = Sums;
    fn sub(self, other: Sums) -> Sums {
        self.zip(other, i64::saturating_sub)
    }
}

/// The same as figures: counts in steps of the latest run, rewards as logarithms of speed-ups.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Moments {
    /// Steps, undecayed.
    pub tries: u64,
    /// Steps, decayed.
    pub all: f64,
    /// Steps with a known reward, decayed; the mean of their rewards; the sum of squared deviations from it.
    pub n: f64,
    pub mean: f64,
    pub m2: f64,
    pub correct: f64,
    /// Steps that did not compile or were wrong.
    pub failures: f64,
    /// Correct steps without a time.
    pub untimed: f64,
    /// By how much the decayed mean exceeds the plain one: positive where later runs did better.
    pub trend: f64,
    /// Steps with an estimated gain, and its mean; no part of `n` and `mean`.
    pub estimates: f64,
    pub estimate: f64,
}

impl Moments {
    /// The share of steps that were correct; `None` before the first.
    pub fn success(&self) -> Option<f64> {
        (self.all > 0.0).then(|| self.correct / self.all)
    }
}

#[cfg(test)]
mod tests {
    use super::super::evidence::Gain;
    use super::*;

    #[test]
    fn estimated_gains_are_no_measured_ones() {
        let measured = Sums::of(Outcome::Measured { speedup: Gain::of(2.0).unwrap() }, 10);
        let estimated = Sums::of(Outcome::Correct { estimated: Gain::of(5.0) }, 10);
        let both = (measured + estimated).moments(10);
        assert_eq!((both.n, both.estimates, both.untimed, both.correct), (1.0, 1.0, 1.0, 2.0));
        assert!((both.mean - 2f64.ln()).abs() < 1e-6);
        assert!((both.estimate - 1.0).abs() < 1e-6, "clipped like a reward");
        assert_eq!((measured + estimated) - estimated, measured);
    }

    #[test]
    fn moments_are_mean_and_squared_deviations() {
        let values = [1.1, 0.9, 1.5, 2.0];
        let outcomes = values.map(|v| Outcome::Measured { speedup: Gain::of(v).unwrap() });
        let sums = outcomes.iter().fold(Sums::default(), |s, o| s + Sums::of(*o, 4096));
        let m = sums.moments(4096);
        let mean = values.iter().map(|v| v.ln()).sum::<f64>() / 4.0;
        let m2: f64 = values.iter().map(|v| (v.ln() - mean).powi(2)).sum();
        assert!((m.mean - mean).abs() < 1e-5 && (m.m2 - m2).abs() < 1e-5, "{m:?}");
        assert_eq!(m.success(), Some(1.0));
        let failed = (sums + Sums::of(Outcome::Wrong, 4096)).moments(4096);
        assert_eq!((failed.success(), failed.failures, failed.n), (Some(0.8), 1.0, 5.0));
        assert_eq!(Sums::default().moments(4096).success(), None);
    }
}
