//! Sample sizes that the interpreter can run in the time it is given.

use super::cell;
use super::execute::{How, Stopped, execute, starts};
use super::pair::Settings;
use super::side::Side;
use crate::contract::{Cell, Dim, Distribution, Plan};

/// The plan with its samples brought down until the original's first cell fits the budget, what was brought down, and the
/// warp instructions of that cell where it runs. A sample that other guarantees hold up (`min`, `divisible_by`) stays as
/// it is.
pub fn fit(original: &Side, settings: &Settings) -> (Plan, Vec<String>, Option<u64>) {
    let mut side = original.clone();
    let mut steps = None;
    for _ in 0..64 {
        let (fits, taken) = tried(&side, settings);
        steps = taken;
        if fits {
            break;
        }
        let Some(dim) = largest(&side.plan).map(|d| d.name.clone()) else { break };
        for d in side.plan.dims.iter_mut().filter(|d| d.name == dim) {
            halve(d);
        }
    }
    let said = |d: &Dim| {
        let before = original.plan.dim(&d.name)?.samples.iter().max().copied()?;
        let after = d.samples.iter().max().copied()?;
        (before != after).then(|| format!("{} above {after} (the contract's sample is {before})", d.name))
    };
    let notes = side.plan.dims.iter().filter_map(said).collect();
    (side.plan, notes, steps)
}

/// Whether the first cell fits, and what it took.
fn tried(side: &Side, settings: &Settings) -> (bool, Option<u64>) {
    let dims = side.plan.dims.iter().filter_map(|d| Some((d.name.clone(), *d.samples.first()?))).collect();
    let cell = Cell::new(dims, Distribution::Normal, settings.seed.wrapping_mul(1000));
    let Ok(plan) = side.plan.concrete(&cell) else { return (true, None) };
    if settings.max_bytes.is_some_and(|most| plan.bytes() > most) {
        return (false, None);
    }
    let how = How { checks: false, counters: false, ..cell::how(settings, settings.steps) };
    match starts(&plan).and_then(|s| execute(side, &plan, &s, &how)) {
        Ok(r) => (!matches!(r.stopped, Some(Stopped::Limit { .. })), Some(r.steps)),
        Err(_) => (true, None),
    }
}

/// The dim with the largest first sample that can be brought down.
fn largest(plan: &Plan) -> Option<&Dim> {
    let first = |d: &Dim| d.samples.first().copied().unwrap_or(0);
    let can = |d: &&Dim| smaller(d, first(d)) < first(d);
    plan.dims.iter().filter(can).max_by_key(|d| first(d))
}

/// Half of a value, as the dim allows it.
fn smaller(d: &Dim, value: i64) -> i64 {
    let step = d.divisible_by.unwrap_or(1).max(1);
    let half = (value / 2 + step - 1) / step * step;
    let wanted = half.max(d.min.unwrap_or(1)).max(1);
    if d.admits(wanted) { wanted } else { value }
}

fn halve(d: &mut Dim) {
    let Some(first) = d.samples.first().copied() else { return };
    let most = smaller(d, first);
    let mut kept = vec![];
    for s in d.samples.iter().map(|s| if *s >= first { most } else { *s }) {
        if !kept.contains(&s) {
            kept.push(s);
        }
    }
    d.samples = kept;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_respect_what_the_caller_guarantees() {
        let d = Dim { samples: vec![1000, 96, 1000], min: Some(32), divisible_by: Some(32), ..Dim::new("n") };
        assert_eq!([smaller(&d, 1024), smaller(&d, 96), smaller(&d, 32)], [512, 64, 32]);
        let mut d = Dim { samples: vec![1024, 96, 4096], ..Dim::new("n") };
        halve(&mut d);
        assert_eq!(d.samples, [512, 96]);
    }
}
