//! Which states of the cache are timed and how, by what a run takes: a choice that needs no GPU.

use super::super::timing::{Cache, Method, Policy, Timer};

/// A graph of the slowest version takes at most this long, in nanoseconds.
const LONGEST_GRAPH: f64 = 20e6;

/// What a choice rests on.
pub struct Seen<'p> {
    pub policy: &'p Policy,
    /// Nanoseconds of a run of the fastest and of the slowest version.
    pub fastest: f64,
    pub slowest: f64,
    /// Bytes of the smallest set of buffers.
    pub set_bytes: u64,
    /// Bytes of the level-2 cache.
    pub cache_bytes: u64,
    /// Sets of each version for which there is memory.
    pub most_sets: u32,
}

/// How each state is timed, and how many sets of buffers each version needs for it.
#[derive(Debug, PartialEq)]
pub struct Chosen {
    pub cold: Option<Method>,
    pub warm: Option<Method>,
    pub sets: u32,
    /// Why a state is not timed.
    pub notes: Vec<String>,
}

/// Long runs stand alone between two events; short ones are repeated in a graph, of which a cold one has other buffers for each
/// run, so many that none is left in the cache when its turn comes again.
pub fn choose(seen: &Seen) -> Chosen {
    let policy = seen.policy;
    let wanted = (policy.graph_length as f64 / seen.fastest).ceil().max(2.0);
    let runs = (wanted.min((LONGEST_GRAPH / seen.slowest).max(1.0)) as u32).clamp(1, policy.most_runs.max(1));
    let single = seen.fastest >= policy.single_from as f64 || runs < 2;
    // Two contents or more, and other addresses for each.
    let usual = policy.sets.clamp(1, seen.most_sets.max(1));
    let bytes = seen.set_bytes.max(1);
    let emptying = u32::try_from(2 * seen.cache_bytes / bytes + 1).unwrap_or(u32::MAX);
    let cold_sets = if single { usual } else { runs.max(emptying) };
    let mut notes = vec![];
    let cold = single || cold_sets <= seen.most_sets;
    if !cold {
        let needed = "a cold cache was not timed: so short a run is one of many, each with buffers of its own";
        notes.push(format!("{needed}, and {cold_sets} of {bytes} bytes would be needed to leave the cache"));
    }
    // What is larger than the cache leaves nothing there.
    let warm = bytes < 2 * seen.cache_bytes;
    if !warm {
        let sizes = format!("buffers have {} MiB and the cache {} MiB", bytes >> 20, seen.cache_bytes >> 20);
        notes.push(format!("a warm cache was not timed: {sizes}, so that nothing of use is left in it"));
    }
    let sets = if cold { cold_sets } else { usual };
    let timer = |runs: u32| if single { Timer::Events } else { Timer::Graph { runs } };
    Chosen {
        cold: cold.then(|| Method { cache: Cache::Cold, timer: timer(cold_sets), sets }),
        warm: warm.then(|| Method { cache: Cache::Warm, timer: timer(runs), sets: usual }),
        sets,
        notes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn chosen(fastest: f64, slowest: f64, set_bytes: u64, most_sets: u32) -> Chosen {
        let policy = Policy::default();
        choose(&Seen { policy: &policy, fastest, slowest, set_bytes, cache_bytes: 50 * MIB, most_sets })
    }

    #[test]
    fn long_runs_stand_alone() {
        let c = chosen(50e3, 60e3, 8 * MIB, 512);
        assert_eq!(c.cold, Some(Method { cache: Cache::Cold, timer: Timer::Events, sets: 4 }));
        assert_eq!(c.warm, Some(Method { cache: Cache::Warm, timer: Timer::Events, sets: 4 }));
        assert!((c.sets, c.notes.is_empty()) == (4, true));
    }

    #[test]
    fn short_runs_share_a_graph_and_no_buffers_that_the_cache_still_has() {
        // 400 us in a graph, and 101 MiB of buffers before one comes again.
        let c = chosen(5e3, 6e3, MIB, 512);
        assert_eq!(c.cold, Some(Method { cache: Cache::Cold, timer: Timer::Graph { runs: 101 }, sets: 101 }));
        assert_eq!(c.warm, Some(Method { cache: Cache::Warm, timer: Timer::Graph { runs: 80 }, sets: 4 }));
        assert_eq!(c.sets, 101);
    }

    #[test]
    fn what_cannot_be_timed_is_said() {
        let tiny = chosen(3e3, 3e3, 1000, 512);
        assert!(tiny.cold.is_none() && tiny.warm.is_some() && tiny.notes[0].contains("a cold cache was not timed"));
        let large = chosen(90e3, 90e3, 200 * MIB, 512);
        assert!(large.warm.is_none() && large.cold.is_some() && large.notes[0].contains("200 MiB"));
    }

    #[test]
    fn one_slow_version_and_little_memory_are_borne() {
        // A graph of the slow one would take longer than 20 ms with two runs.
        let c = chosen(5e3, 15e6, MIB, 512);
        assert_eq!(c.cold.map(|m| m.timer), Some(Timer::Events));
        let c = chosen(60e3, 60e3, 8 * MIB, 1);
        assert_eq!((c.sets, c.cold.map(|m| m.sets)), (1, Some(1)));
        let c = chosen(5e3, 5e3, MIB, 0);
        assert!(c.cold.is_none() && c.sets == 1);
    }
}
