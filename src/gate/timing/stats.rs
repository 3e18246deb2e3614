//! Statistics of paired samples. They are rank statistics: times have long tails to one side, and one slow sample must not
//! decide anything.

use crate::gpu::timing::{Cache, Method, Sample};

/// The arm that is the original, a second original, and the candidate.
pub const ORIGINAL: u32 = 0;
pub const CONTROL: u32 = 1;
pub const CANDIDATE: u32 = 2;

/// The margin is never less: smaller differences do not carry over to another day.
pub const LEAST_MARGIN: f64 = 0.01;
/// And at least so many times what the original differs from itself.
const SPREADS: f64 = 3.0;
/// A margin above this is none within which two versions count as equivalent.
const MOST_MARGIN: f64 = 0.05;
/// Quantile of the normal distribution for an interval that holds the median in 99 of 100 cases.
const Z: f64 = 2.576;
/// Fewer pairs decide nothing.
const LEAST_PAIRS: usize = 30;
/// A clock that differs by more within a pair makes it none.
const CLOCK_TOLERANCE: f64 = 0.02;

/// Which is the faster, beyond the margin.
#[derive(Clone, Debug, PartialEq)]
pub enum Speed {
    Improved,
    Equivalent,
    Slower,
    Inconclusive(String),
}

impl Speed {
    pub fn word(&self) -> &'static str {
        match self {
            Speed::Improved => "improved",
            Speed::Equivalent => "equivalent",
            Speed::Slower => "slower",
            Speed::Inconclusive(_) => "inconclusive",
        }
    }
}

/// A quarter of the samples is below the first, half below the second, three quarters below the third; nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Quartiles(pub [f64; 3]);

impl Quartiles {
    pub fn of(values: &[f64]) -> Quartiles {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        Quartiles([quantile(&sorted, 0.25), quantile(&sorted, 0.5), quantile(&sorted, 0.75)])
    }

    pub fn median(&self) -> f64 {
        self.0[1]
    }
}

/// One state of the cache. Ratios are times of the original over times of the candidate: above one, the candidate is faster.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    pub method: Method,
    pub original: Quartiles,
    pub candidate: Quartiles,
    /// Median of the paired ratios.
    pub ratio: f64,
    /// Holds the median of the ratios in 99 of 100 cases, and the median of every round.
    pub interval: (f64, f64),
    /// Largest deviation from one that a round's median of original over control has.
    pub spread: f64,
    /// max(1 %, 3 x spread).
    pub margin: f64,
    /// The smallest change that would have been called here.
    pub callable: f64,
    pub pairs: usize,
    /// Pairs that do not count as the device's clock changed between them.
    pub dropped: usize,
    pub speed: Speed,
}

/// Compares the samples of one state of the cache.
pub fn compared(samples: &[Sample], method: &Method) -> Compared {
    let turns = turns(samples, method.cache);
    let kept: Vec<&Turn> = turns.iter().filter(|t| t.is_steady()).collect();
    let ratio = |t: &&Turn| t.time(ORIGINAL) / t.time(CANDIDATE);
    let control = |t: &&Turn| t.time(ORIGINAL) / t.time(CONTROL);
    let times = |arm: u32| kept.iter().map(|t| t.time(arm)).collect::<Vec<f64>>();
    let ratios: Vec<f64> = kept.iter().map(ratio).collect();
    let rounds: std::collections::BTreeSet<u32> = kept.iter().map(|t| t.round).collect();
    let of_round = |r: u32, f: &dyn Fn(&&Turn) -> f64| median(kept.iter().filter(|t| t.round == r).map(f).collect());
    let interval = rounds.iter().fold(median_interval(&ratios), |(low, high), r| {
        let m = of_round(*r, &ratio);
        (low.min(m), high.max(m))
    });
    let spread = rounds.iter().map(|r| (of_round(*r, &control) - 1.0).abs()).fold(0.0, f64::max);
    let margin = LEAST_MARGIN.max(SPREADS * spread);
    let mut found = Compared {
        method: method.clone(),
        original: Quartiles::of(&times(ORIGINAL)),
        candidate: Quartiles::of(&times(CANDIDATE)),
        ratio: median(ratios.clone()),
        interval,
        spread,
        margin,
        callable: margin + (interval.1 - interval.0) / 2.0,
        pairs: kept.len(),
        dropped: turns.len() - kept.len(),
        speed: Speed::Equivalent,
    };
    found.speed = speed(&found);
    found
}

fn speed(c: &Compared) -> Speed {
    let (low, high) = c.interval;
    if c.pairs < LEAST_PAIRS {
        return Speed::Inconclusive(format!("{} pairs are left, and {LEAST_PAIRS} are needed", c.pairs));
    }
    if low > 1.0 + c.margin {
        Speed::Improved
    } else if high < 1.0 - c.margin {
        Speed::Slower
    } else if c.margin > MOST_MARGIN {
        Speed::Inconclusive(format!("the original differs from itself by {:.1} %", 100.0 * c.spread))
    } else if low >= 1.0 - c.margin && high <= 1.0 + c.margin {
        Speed::Equivalent
    } else {
        Speed::Inconclusive("the interval lies across the margin".to_owned())
    }
}

/// Samples of one number: they were taken right after each other.
struct Turn {
    round: u32,
    samples: Vec<Sample>,
}

impl Turn {
    fn time(&self, arm: u32) -> f64 {
        self.samples.iter().find(|s| s.arm == arm).map_or(f64::NAN, |s| s.nanoseconds)
    }

    /// All three are there, and the device was in one state.
    fn is_steady(&self) -> bool {
        let there = [ORIGINAL, CONTROL, CANDIDATE].iter().all(|arm| self.time(*arm) > 0.0);
        let states = || self.samples.iter().filter_map(|s| s.state);
        let clocks = || states().map(|s| f64::from(s.clock));
        let (least, most) = (clocks().fold(f64::INFINITY, f64::min), clocks().fold(0.0, f64::max));
        there && !states().any(|s| s.throttled) && (most == 0.0 || most - least <= CLOCK_TOLERANCE * most)
    }
}

fn turns(samples: &[Sample], cache: Cache) -> Vec<Turn> {
    let mut found: std::collections::BTreeMap<(u32, u32), Vec<Sample>> = std::collections::BTreeMap::new();
    for s in samples.iter().filter(|s| s.cache == cache) {
        found.entry((s.round, s.number)).or_default().push(*s);
    }
    found.into_iter().map(|((round, _), samples)| Turn { round, samples }).collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    quantile(&values, 0.5)
}

/// Linear between the two nearest of sorted values; NaN of none.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let at = q * sorted.len().saturating_sub(1) as f64;
    let value = |n: usize| sorted.get(n).copied();
    match (value(at.floor() as usize), value(at.ceil() as usize)) {
        (Some(a), Some(b)) => a + (b - a) * at.fract(),
        _ => f64::NAN,
    }
}

/// An interval of the median from the ranks alone, whatever the distribution: below the k-th smallest of n values lie fewer
/// than k with the probability of a binomial distribution, here by its normal approximation (Conover, Practical
/// Nonparametric Statistics, 3rd edition, section 3.2).
fn median_interval(values: &[f64]) -> (f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let low = (n / 2.0 - Z * n.sqrt() / 2.0).floor().max(0.0) as usize;
    let high = sorted.len().saturating_sub(low + 1);
    match (sorted.get(low), sorted.get(high)) {
        (Some(a), Some(b)) => (a.min(*b), b.max(*a)),
        _ => (f64::NAN, f64::NAN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::timing::{State, Timer};

    /// Samples whose original, control and candidate take these times, with a deterministic noise of `noise`.
    fn samples(times: [f64; 3], noise: f64) -> Vec<Sample> {
        let mut found = vec![];
        let mut random = 1u64;
        for round in 0..3 {
            for number in 0..50 {
                for arm in 0..3u32 {
                    random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    let shift = (random >> 33) as f64 / f64::from(1u32 << 31) - 0.5;
                    let nanoseconds = times[arm as usize] * (1.0 + noise * shift);
                    let state = Some(State { clock: 1980, throttled: false });
                    found.push(Sample { cache: Cache::Cold, arm, round, number, nanoseconds, state });
                }
            }
        }
        found
    }

    fn method() -> Method {
        Method { cache: Cache::Cold, timer: Timer::Events, sets: 4 }
    }

    #[test]
    fn changes_beyond_the_margin_are_called_and_no_others() {
        for (times, noise, word) in [
            ([100.0, 100.0, 100.0], 0.01, "equivalent"),
            ([100.0, 100.0, 100.5], 0.01, "equivalent"),
            ([100.0, 100.0, 97.0], 0.01, "improved"),
            ([100.0, 100.0, 103.0], 0.01, "slower"),
            // The original differs from itself by as much.
            ([100.0, 100.8, 101.5], 0.005, "equivalent"),
            ([100.0, 102.0, 103.0], 0.01, "inconclusive"),
            ([100.0, 100.0, 101.2], 0.3, "inconclusive"),
        ] {
            let found = compared(&samples(times, noise), &method());
            assert_eq!(found.speed.word(), word, "{times:?} {found:?}");
            assert!(found.interval.0 <= found.ratio && found.ratio <= found.interval.1);
        }
    }

    #[test]
    fn turns_in_which_the_clock_changed_are_dropped_and_too_few_decide_nothing() {
        let mut all = samples([100.0, 100.0, 50.0], 0.01);
        for s in all.iter_mut().filter(|s| s.number >= 5 && s.arm == 2) {
            s.state = Some(State { clock: 1200, throttled: false });
        }
        let found = compared(&all, &method());
        assert_eq!((found.pairs, found.dropped), (15, 135));
        assert!(matches!(found.speed, Speed::Inconclusive(_)));
        let none = compared(&[], &method());
        assert!(matches!(none.speed, Speed::Inconclusive(_)) && none.pairs == 0);
    }

    #[test]
    fn a_round_that_disagrees_widens_the_interval() {
        let mut all = samples([100.0, 100.0, 97.0], 0.002);
        for s in all.iter_mut().filter(|s| s.round == 1 && s.arm == CANDIDATE) {
            s.nanoseconds = 100.0;
        }
        assert_eq!(compared(&all, &method()).speed.word(), "inconclusive");
    }
}
