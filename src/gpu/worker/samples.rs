//! When which version runs, and how its time is taken.

use super::super::driver::{Context, Graph};
use super::super::timing::{Cache, Method, Sample, State, Timer};
use super::clock::Watch;
use super::methods::{Seen, choose};
use super::sets::{Set, Version};
use super::time::{Bench, Book};
use super::tools::median;
use super::{Trouble, nonsense};

/// Of the free memory, what sets may take.
const MEMORY_SHARE: f64 = 0.7;
/// Samples are taken again at most as often as there are samples, over this.
const RETAKEN_SHARE: u32 = 2;
/// Clocks of samples that are compared differ by at most this share.
const CLOCK_TOLERANCE: f64 = 0.02;
/// The clock rises while there is work: so long before the first sample, in nanoseconds.
const WARM_UP: f64 = 100e6;
/// One of so many samples is looked at, and the last of each round.
const LOOK_EVERY: u8 = 5;

/// How each state of the cache is timed.
pub struct Plans<'a> {
    pub empty: (f64, f64),
    cold: Option<Plan<'a>>,
    warm: Option<Plan<'a>>,
}

struct Plan<'a> {
    method: Method,
    /// Of each version: one graph over all sets if cold, one for each set if warm; none where events surround one run.
    graphs: Vec<Vec<Graph<'a>>>,
}

impl<'a> Plans<'a> {
    /// Chooses timers by what a run takes, and makes as many sets as they need.
    pub fn new(
        context: &'a Context,
        versions: &mut [Version<'a>],
        bench: &Bench<'a>,
        notes: &mut Vec<String>,
    ) -> Result<Plans<'a>, Trouble> {
        let (fastest, slowest) = estimates(versions, bench)?;
        let footprint: u64 = versions.iter().map(Version::footprint).sum::<u64>().max(1);
        let taken = versions.iter().map(|v| v.sets.len()).max().unwrap_or(0) as u64;
        let more = (context.memory()?.0 as f64 * MEMORY_SHARE) as u64 / footprint;
        let chosen = choose(&Seen {
            policy: bench.policy,
            fastest,
            slowest,
            set_bytes: versions.iter().map(Version::bytes).min().unwrap_or(0),
            cache_bytes: bench.tools.l2_bytes,
            most_sets: u32::try_from(taken + more).unwrap_or(u32::MAX).min(bench.policy.most_runs).max(1),
        });
        notes.extend(chosen.notes);
        for version in versions.iter_mut() {
            while version.sets.len() < chosen.sets as usize {
                version.add_set(context, bench.sources)?;
            }
        }
        let make = |method: Method| {
            let graphs: Result<Vec<Vec<Graph>>, Trouble> =
                versions.iter().map(|v| graphs(v, method.cache, &method, bench)).collect();
            Ok::<_, Trouble>(Plan { graphs: graphs?, method })
        };
        Ok(Plans {
            empty: bench.tools.empty()?,
            cold: chosen.cold.map(make).transpose()?,
            warm: chosen.warm.map(make).transpose()?,
        })
    }

    pub fn methods(&self) -> Vec<Method> {
        self.each().map(|p| p.method.clone()).collect()
    }

    fn each(&self) -> impl Iterator<Item = &Plan<'a>> {
        self.cold.iter().chain(&self.warm)
    }
}

fn graphs<'a>(
    version: &Version<'a>,
    cache: Cache,
    method: &Method,
    bench: &Bench<'a>,
) -> Result<Vec<Graph<'a>>, Trouble> {
    let Timer::Graph { runs } = method.timer else { return Ok(vec![]) };
    let stream = &bench.tools.stream;
    let sets = version.sets.iter().take(method.sets as usize);
    match cache {
        Cache::Cold => {
            let all = || sets.take(runs as usize).try_for_each(|set| version.run(stream, set));
            Ok(vec![stream.capture(all)?])
        }
        Cache::Warm => {
            sets.map(|set| stream.capture(|| (0..runs).try_for_each(|_| version.run(stream, set)))).collect()
        }
    }
}

/// Nanoseconds of a run of the fastest and of the slowest version, after the clock has risen.
fn estimates(versions: &[Version], bench: &Bench) -> Result<(f64, f64), Trouble> {
    let mut found = vec![];
    for version in versions {
        let mut times = vec![];
        let mut spent = 0.0;
        while times.len() < 5 || (spent < WARM_UP / versions.len() as f64 && times.len() < 2000) {
            let time = events(version, version.set(times.len())?, Cache::Warm, bench)?;
            spent += time;
            times.push(time);
        }
        let mut last = times.split_off(times.len().saturating_sub(5));
        found.push(median(&mut last).max(1.0));
    }
    let least = found.iter().copied().fold(f64::INFINITY, f64::min);
    Ok((least, found.iter().copied().fold(0.0, f64::max)))
}

/// One run between two events.
fn events(version: &Version, set: &Set, cache: Cache, bench: &Bench) -> Result<f64, Trouble> {
    let tools = bench.tools;
    version.prepare(&tools.stream, bench.sources, set)?;
    match cache {
        Cache::Cold => tools.flush()?,
        Cache::Warm => {
            version.run(&tools.stream, set)?;
            version.prepare(&tools.stream, bench.sources, set)?;
        }
    }
    tools.stream.record(&tools.start)?;
    version.run(&tools.stream, set)?;
    tools.stream.record(&tools.end)?;
    version.wait(&tools.stream)?;
    tools.elapsed()
}

/// One graph between two events; the time of one of its runs, and the set that ran last.
fn replay<'v, 'a>(
    version: &'v Version<'a>,
    plan: &Plan<'a>,
    number: usize,
    bench: &Bench,
) -> Result<(f64, &'v Set<'a>), Trouble> {
    let tools = bench.tools;
    let stream = &tools.stream;
    let Timer::Graph { runs } = plan.method.timer else { return Err(nonsense("a graph that was not asked for")) };
    let own = plan.graphs.get(version.index).map(Vec::as_slice).unwrap_or_default();
    let graph = |n: usize| own.get(n % own.len().max(1)).ok_or_else(|| nonsense("a version without graph"));
    let last = match plan.method.cache {
        Cache::Cold => {
            for set in version.sets.iter().take(runs as usize) {
                version.prepare(stream, bench.sources, set)?;
            }
            tools.flush()?;
            // One of them, another each time.
            version.set(number % runs.max(1) as usize)?
        }
        Cache::Warm => {
            let set = version.set(number % own.len().max(1))?;
            version.prepare(stream, bench.sources, set)?;
            stream.replay(graph(number)?)?;
            version.prepare(stream, bench.sources, set)?;
            set
        }
    };
    stream.record(&tools.start)?;
    stream.replay(graph(if plan.method.cache == Cache::Cold { 0 } else { number })?)?;
    stream.record(&tools.end)?;
    version.wait(stream)?;
    Ok((tools.elapsed()? / f64::from(runs), last))
}

pub struct Measured {
    pub samples: Vec<Sample>,
    pub retaken: u32,
}

/// All rounds: in each, for each state of the cache, the versions take turns in changing order.
pub fn sample_all<'a>(
    versions: &[Version<'a>],
    plans: &Plans<'a>,
    bench: &Bench<'a>,
    watch: &Watch,
    book: &mut Book,
) -> Result<Measured, Trouble> {
    let policy = bench.policy;
    let begun = std::time::Instant::now();
    let mut measured = Measured { samples: vec![], retaken: 0 };
    let most = policy.rounds * policy.samples / RETAKEN_SHARE;
    for round in 0..policy.rounds {
        if begun.elapsed().as_millis() > u128::from(policy.enough) {
            book.notes.push(format!("{round} of {} rounds: the time was over", policy.rounds));
            break;
        }
        for plan in plans.each() {
            let mut number = 0;
            while number < policy.samples {
                let taken = turns(versions, plan, (round, number), bench, watch, book)?;
                if alike(&taken) || measured.retaken >= most {
                    measured.samples.extend(taken);
                    number += 1;
                } else {
                    measured.retaken += 1;
                }
            }
        }
    }
    Ok(measured)
}

/// One sample of each version, right after each other.
fn turns<'a>(
    versions: &[Version<'a>],
    plan: &Plan<'a>,
    (round, number): (u32, u32),
    bench: &Bench<'a>,
    watch: &Watch,
    book: &mut Book,
) -> Result<Vec<Sample>, Trouble> {
    let policy = bench.policy;
    let cache = plan.method.cache;
    let turn = u64::from(round) * u64::from(policy.samples) + u64::from(number);
    let mut taken = vec![];
    for arm in order(versions.len(), turn) {
        let Some(version) = versions.get(arm) else { continue };
        let (nanoseconds, set) = match plan.method.timer {
            Timer::Events => {
                let set = version.set(turn as usize % plan.method.sets.max(1) as usize)?;
                (events(version, set, cache, bench)?, set)
            }
            Timer::Graph { .. } => replay(version, plan, turn as usize, bench)?,
        };
        let state = watch.state();
        taken.push(Sample { cache, arm: arm as u32, round, number, nanoseconds, state });
        let last = number + 1 == policy.samples;
        let chosen = is_chosen(policy.seed, turn, cache);
        // After many runs in a row an output that is added to is another one.
        let repeats = matches!((plan.method.timer, cache), (Timer::Graph { .. }, Cache::Warm));
        if (last || chosen) && !(repeats && version.accumulates()) {
            book.look(versions, arm, set, bench)?;
        }
    }
    Ok(taken)
}

/// Whether the device was in one state for all of them.
fn alike(taken: &[Sample]) -> bool {
    let states: Vec<State> = taken.iter().filter_map(|s| s.state).collect();
    let clocks = || states.iter().map(|s| f64::from(s.clock));
    let (least, most) = (clocks().fold(f64::INFINITY, f64::min), clocks().fold(0.0, f64::max));
    !states.iter().any(|s| s.throttled) && (states.is_empty() || most - least <= CLOCK_TOLERANCE * most)
}

/// All orders of the arms in turn, so that each is first, between and last equally often.
fn order(arms: usize, turn: u64) -> Vec<usize> {
    let mut left: Vec<usize> = (0..arms).collect();
    let mut turn = turn as usize;
    let mut found = vec![];
    while !left.is_empty() {
        let n = left.len();
        found.push(left.remove(turn % n));
        turn /= n;
    }
    found
}

/// Whether the outputs after this sample are looked at: one in so many, and which ones nobody can foresee who does not know
/// the seed.
fn is_chosen(seed: u64, turn: u64, cache: Cache) -> bool {
    let hash = blake3::hash(&[seed, turn, cache as u64].map(u64::to_le_bytes).concat());
    hash.as_bytes()[0].is_multiple_of(LOOK_EVERY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_comes_equally_often() {
        let orders: Vec<Vec<usize>> = (0..12).map(|turn| order(3, turn)).collect();
        for o in &orders {
            assert_eq!(orders.iter().filter(|p| *p == o).count(), 2, "{o:?}");
        }
        assert_eq!(order(0, 5), Vec::<usize>::new());
    }

    #[test]
    fn samples_are_compared_only_in_one_state_of_the_device() {
        let sample = |clock, throttled| Sample {
            cache: Cache::Cold,
            arm: 0,
            round: 0,
            number: 0,
            nanoseconds: 1.0,
            state: Some(State { clock, throttled }),
        };
        assert!(alike(&[sample(1980, false), sample(1965, false)]));
        assert!(!alike(&[sample(1980, false), sample(1900, false)]));
        assert!(!alike(&[sample(1980, false), sample(1980, true)]));
        assert!(alike(&[Sample { state: None, ..sample(1, true) }]));
    }
}
