//! Sums over a set of evidence, by node and edge and by context.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use super::context::Context;
use super::evidence::Evidence;
use super::sums::Sums;

/// What sums are kept of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A direction right after another: `a` is where the step came from, "" at the start of a run, `b` where it went.
    Edge,
    /// A direction under a bottleneck: `a` is the bottleneck, "" where none was known, `b` the direction.
    Served,
    /// A direction: `a` is "", `b` the direction.
    Direction,
    /// A local node: `a` is its direction, `b` the skill.
    Skill,
}

impl Kind {
    pub const ALL: [Kind; 4] = [Kind::Edge, Kind::Served, Kind::Direction, Kind::Skill];

    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Edge => "edge",
            Kind::Served => "served",
            Kind::Direction => "direction",
            Kind::Skill => "skill",
        }
    }

    pub fn parse(word: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|k| k.as_str() == word)
    }
}

/// A node or an edge in a context of one level; see [`super::Context::levels`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pub kind: Kind,
    pub context: String,
    pub a: String,
    pub b: String,
}

impl Key {
    pub fn new(kind: Kind, context: &str, a: &str, b: &str) -> Key {
        Key { kind, context: context.to_owned(), a: a.to_owned(), b: b.to_owned() }
    }

    /// Everything that a piece of evidence adds to: each kind at each level.
    pub fn of(e: &Evidence) -> Vec<Key> {
        let parts = parts(e);
        let levels = e.context.levels();
        levels.iter().flat_map(|level| parts.iter().map(|(kind, a, b)| Key::new(*kind, level, a, b))).collect()
    }
}

/// A key without its context.
type Part<'e> = (Kind, &'e str, &'e str);

fn parts(e: &Evidence) -> [Part<'_>; 4] {
    [
        (Kind::Edge, e.from(), &e.direction),
        (Kind::Served, e.bottleneck.map_or("", |b| b.as_str()), &e.direction),
        (Kind::Direction, "", &e.direction),
        (Kind::Skill, &e.direction, &e.skill),
    ]
}

/// Weights of runs: 0.98 for each run that came later, as integers, so that sums of them are exact.
///
/// Weights are relative to a base that moves up every [`PERIOD`] runs. A run at rank `r` weighs
/// `round(ONE * 0.98^(base - r))`, so a new latest run changes no weight but brings its own, larger one.
pub struct Weights;

/// The weight of the run at the base.
pub const ONE: i64 = 4096;
/// How many runs come before the base moves and the sums have to be made anew.
pub const PERIOD: usize = 256;

impl Weights {
    /// The rank that weights are relative to when there are `runs` runs.
    pub fn base(runs: usize) -> usize {
        runs.saturating_sub(1) / PERIOD * PERIOD
    }

    /// The weight of the run at `rank`, from 0, among `runs` runs.
    pub fn of(rank: usize, runs: usize) -> i64 {
        let (up, down) = tables();
        let base = Weights::base(runs);
        if rank >= base { up[(rank - base).min(PERIOD - 1)] } else { down.get(base - rank).copied().unwrap_or(0) }
    }

    /// The weight of the latest run.
    pub fn unit(runs: usize) -> i64 {
        Weights::of(runs.saturating_sub(1), runs)
    }
}

fn tables() -> &'static (Vec<i64>, Vec<i64>) {
    static TABLES: OnceLock<(Vec<i64>, Vec<i64>)> = OnceLock::new();
    TABLES.get_or_init(|| {
        // In fixed point with 48 more bits, so that the steps do not add their roundings up.
        let powers = |times: i128, over: i128, count: usize| {
            let mut exact = i128::from(ONE) << 48;
            let mut out = vec![];
            while out.len() < count {
                let rounded = (exact + (1 << 47)) >> 48;
                if rounded == 0 {
                    break;
                }
                out.push(rounded as i64);
                exact = exact * times / over;
            }
            out
        };
        (powers(50, 49, PERIOD), powers(49, 50, usize::MAX))
    })
}

/// Runs in their order: by start, then by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    started: BTreeMap<String, u64>,
    order: Vec<(u64, String)>,
}

impl Runs {
    pub fn len(&self) -> usize {
        self.order.len()
    }

    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// The position of a run, from 0.
    pub fn rank(&self, run: &str) -> Option<usize> {
        let started = *self.started.get(run)?;
        self.order.binary_search_by(|(s, r)| (*s, r.as_str()).cmp(&(started, run))).ok()
    }

    /// Enters a run; a run that is there takes the earlier start. Whether the weights of others are as they were.
    pub fn enter(&mut self, run: &str, started: u64) -> bool {
        match self.started.get(run) {
            Some(known) if *known <= started => return true,
            Some(_) => self.order.retain(|(_, r)| r != run),
            None => {}
        }
        let was = self.order.len();
        let known = self.started.insert(run.to_owned(), started).is_some();
        let at = self.order.partition_point(|(s, r)| (*s, r.as_str()) < (started, run));
        self.order.insert(at, (started, run.to_owned()));
        !known && at == was && Weights::base(was + 1) == Weights::base(was)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.order.iter().map(|(s, r)| (r.as_str(), *s))
    }
}

/// Sums over a set of evidence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tables {
    pub runs: Runs,
    pub sums: BTreeMap<Key, Sums>,
}

impl Tables {
    /// The sums of a set; each piece must be there once.
    pub fn of<'a>(evidence: impl IntoIterator<Item = &'a Evidence> + Clone) -> Tables {
        let mut tables = Tables::default();
        for e in evidence.clone() {
            tables.runs.enter(&e.run, e.started);
        }
        // Each kind at the finest level first: there are far fewer of these than steps.
        let mut finest: HashMap<(&Context, Part), Sums> = HashMap::new();
        for e in evidence {
            let Some(rank) = tables.runs.rank(&e.run) else { continue };
            let one = Sums::of(e.outcome, Weights::of(rank, tables.runs.len()));
            for part in parts(e) {
                let sums = finest.entry((&e.context, part)).or_default();
                *sums = *sums + one;
            }
        }
        for ((context, (kind, a, b)), sums) in finest {
            for level in context.levels() {
                tables.put(Key::new(kind, &level, a, b), sums);
            }
        }
        tables
    }

    /// Adds a piece that is not there yet, unless its run changes the weights of others: then nothing is added, false is
    /// returned, and the tables have to be made anew.
    #[must_use]
    pub fn add(&mut self, e: &Evidence) -> bool {
        let mut runs = self.runs.clone_if_new(&e.run, e.started);
        if let Some(changed) = &mut runs
            && !changed.enter(&e.run, e.started)
        {
            return false;
        }
        if let Some(runs) = runs {
            self.runs = runs;
        }
        self.count(e);
        true
    }

    fn count(&mut self, e: &Evidence) {
        let Some(rank) = self.runs.rank(&e.run) else { return };
        let one = Sums::of(e.outcome, Weights::of(rank, self.runs.len()));
        for key in Key::of(e) {
            self.put(key, one);
        }
    }

    fn put(&mut self, key: Key, sums: Sums) {
        let known = self.sums.entry(key).or_default();
        *known = *known + sums;
    }

    /// The weight of the latest run, for [`Sums::moments`].
    pub fn unit(&self) -> i64 {
        Weights::unit(self.runs.len())
    }
}

impl Runs {
    /// A copy to try an entry on; `None` where the run is there and stays where it is.
    fn clone_if_new(&self, run: &str, started: u64) -> Option<Runs> {
        let known = self.started.get(run).is_some_and(|s| *s <= started);
        (!known).then(|| self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::super::evidence::tests::sample;
    use super::super::evidence::{Gain, Outcome};
    use super::*;

    #[test]
    fn each_run_weighs_less_than_the_next_by_two_percent() {
        for runs in [1, 2, 100, 256, 257, 300, 1000] {
            let unit = Weights::unit(runs) as f64;
            for age in 0..runs {
                let weight = Weights::of(runs - 1 - age, runs) as f64 / unit;
                let exact = 0.98f64.powi(age as i32);
                assert!((weight - exact).abs() < 2e-4, "{age} of {runs}: {weight} for {exact}");
            }
        }
        assert_eq!(Weights::of(0, 5000), 0, "what is very old counts for nothing");
    }

    fn several() -> Vec<Evidence> {
        let outcomes = [
            Outcome::Measured { speedup: Gain::of(1.3).unwrap() },
            Outcome::Correct { estimated: Gain::of(2.0) },
            Outcome::NotCompiled,
            Outcome::Wrong,
        ];
        let mut all = vec![];
        for run in 0..300u32 {
            for step in 1..=3 {
                let names = ["", "data-reuse", "throughput"];
                let (from, to) = (names[step as usize - 1], names[1 + (run + step) as usize % 2]);
                let mut e = sample(&format!("run {run}"), step, from, to, outcomes[(run * 7 + step) as usize % 4]);
                e.run = format!("run-{}", run % 290);
                // Some clocks are behind.
                e.started += u64::from(run - if run % 7 == 3 { 2 } else { 0 });
                all.push(e);
            }
        }
        all
    }

    #[test]
    fn sums_do_not_depend_on_the_order() {
        let all = several();
        let sums = Tables::of(&all);
        let backwards: Vec<Evidence> = all.iter().rev().cloned().collect();
        assert_eq!(Tables::of(&backwards), sums);
        let mut halves: Vec<Evidence> = all.iter().step_by(2).cloned().collect();
        halves.extend(all.iter().skip(1).step_by(2).cloned());
        assert_eq!(Tables::of(&halves), sums);
    }

    #[test]
    fn adding_is_the_same_as_making_anew_or_says_that_it_is_not() {
        let all = several();
        let mut tables = Tables::default();
        let mut seen = vec![];
        let mut refused = 0;
        for e in &all {
            seen.push(e.clone());
            if !tables.add(e) {
                refused += 1;
                tables = Tables::of(&seen);
            }
            if seen.len() % 61 == 0 {
                assert_eq!(tables, Tables::of(&seen));
            }
        }
        assert_eq!(tables, Tables::of(&all));
        assert!(refused > 0 && refused < 150, "{refused}");
    }
}
