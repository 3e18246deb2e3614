//! Combinations of sizes: every value once, then pairs, then the largest.

use std::collections::BTreeSet;

use super::cells::{Cell, Sampling, Sizes};
use super::dims::Dim;
use super::generate::Distribution;
use super::plan::Plan;

type Values = [(String, Vec<i64>)];

/// Cross products beyond this number of sizes are not made.
const MOST: usize = 4096;

/// Sizes that together have every value of every dim, and then every pair of values of two dims that the sampling allows.
pub(super) fn rows(plan: &Plan, sampling: &Sampling, values: &Values, left_out: &mut Vec<String>) -> Vec<Sizes> {
    if let Some((name, _)) = values.iter().find(|(_, v)| v.is_empty()) {
        left_out.push(format!("no size is possible: the contract admits no value of `{name}` that is tried"));
        return vec![];
    }
    let first: Sizes = values.iter().filter_map(|(n, v)| Some((n.clone(), *v.first()?))).collect();
    let mut rows = Rows { plan, sampling, found: vec![], covered: BTreeSet::new() };
    // Reasons are given below, for the values that no row has in the end.
    let _ = rows.take(first.clone());
    let longest = values.iter().map(|(_, v)| v.len()).max().unwrap_or(0);
    for i in 0..longest {
        let pick = |(j, (n, v)): (usize, &(String, Vec<i64>))| Some((n.clone(), *v.get((i + j) % v.len().max(1))?));
        let _ = rows.take(values.iter().enumerate().filter_map(pick).collect());
    }
    for (name, list) in values {
        for v in list {
            if rows.covered.contains(&(name.clone(), *v)) {
                continue;
            }
            let with = |other: Sizes| -> Sizes { other.into_iter().chain([(name.clone(), *v)]).collect() };
            let all_equal = values.iter().map(|(n, _)| (n.clone(), *v)).collect();
            if let Err(why) = rows.take(with(first.clone())).or_else(|why| rows.take(all_equal).map_err(|_| why)) {
                left_out.push(format!("{name} = {v}: {why}"));
            }
        }
    }
    let product = values.iter().fold(1usize, |p, (_, v)| p.saturating_mul(v.len()));
    if sampling.thorough && product <= MOST {
        rows.product(values);
    } else {
        rows.pairs(values, left_out);
    }
    rows.found
}

struct Rows<'p> {
    plan: &'p Plan,
    sampling: &'p Sampling,
    found: Vec<Sizes>,
    covered: BTreeSet<(String, i64)>,
}

impl Rows<'_> {
    fn take(&mut self, row: Sizes) -> Result<(), String> {
        fits(self.plan, self.sampling, &row)?;
        self.covered.extend(row.iter().map(|(n, v)| (n.clone(), *v)));
        if !self.found.contains(&row) {
            self.found.push(row);
        }
        Ok(())
    }

    /// Every combination.
    fn product(&mut self, values: &Values) {
        let mut all: Vec<Sizes> = vec![Sizes::new()];
        for (name, list) in values {
            let with = |row: &Sizes, v: i64| -> Sizes { row.clone().into_iter().chain([(name.clone(), v)]).collect() };
            all = all.iter().flat_map(|row| list.iter().map(|v| with(row, *v)).collect::<Vec<_>>()).collect();
        }
        for row in all {
            let _ = self.take(row);
        }
    }

    /// Rows for pairs that no row has yet: each begins with one of them and takes for the other dims what covers most.
    /// Which pairs come first follows from the seed.
    fn pairs(&mut self, values: &Values, left_out: &mut Vec<String>) {
        let mut open = missing(values, &self.found);
        let all = open.len();
        let mix =
            |n: usize| (self.sampling.seed ^ 0xA5A5).wrapping_add(n as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 7;
        let mut order: Vec<Pair> = open.iter().copied().collect();
        let mut keyed: Vec<(u64, Pair)> = order.drain(..).enumerate().map(|(n, p)| (mix(n) % 1_000_003, p)).collect();
        keyed.sort_unstable();
        let mut left = if self.sampling.thorough { MOST } else { self.sampling.pairs };
        let mut budget = match self.sampling.work {
            Some(work) if !self.sampling.thorough => 2.0 * work.most as f64,
            _ => f64::INFINITY,
        };
        for (_, pair) in keyed {
            if !open.contains(&pair) {
                continue;
            }
            if left == 0 {
                break;
            }
            let row = complete(values, pair, &open);
            let sizes: Sizes = named(values, &row);
            let cost = cost(self.plan, self.sampling, &sizes);
            if cost > budget {
                continue;
            }
            if self.take(sizes).is_err() {
                // No run of the caller has this pair.
                open.remove(&pair);
                continue;
            }
            budget -= cost;
            left -= 1;
            open.retain(|p| !has(&row, *p));
        }
        if !open.is_empty() {
            left_out.push(format!("{} of {all} pairs of sizes of two dims (--thorough)", open.len()));
        }
    }
}

/// Two dims with the places of their values: (dim, value, dim, value).
type Pair = (usize, usize, usize, usize);

fn missing(values: &Values, rows: &[Sizes]) -> BTreeSet<Pair> {
    let mut found = BTreeSet::new();
    for (i, (_, a)) in values.iter().enumerate() {
        for (j, (_, b)) in values.iter().enumerate().skip(i + 1) {
            for x in 0..a.len() {
                found.extend((0..b.len()).map(|y| (i, x, j, y)));
            }
        }
    }
    for row in rows {
        let at: Vec<usize> = values
            .iter()
            .map(|(n, list)| list.iter().position(|v| row.get(n) == Some(v)).unwrap_or(usize::MAX))
            .collect();
        found.retain(|p| !has(&at, *p));
    }
    found
}

fn has(row: &[usize], (i, x, j, y): Pair) -> bool {
    row.get(i) == Some(&x) && row.get(j) == Some(&y)
}

/// A row with the pair; each other dim takes the value that has the most open pairs with what is there already.
fn complete(values: &Values, (i, x, j, y): Pair, open: &BTreeSet<Pair>) -> Vec<usize> {
    let mut row: Vec<Option<usize>> = vec![None; values.len()];
    for (at, v) in [(i, x), (j, y)] {
        if let Some(slot) = row.get_mut(at) {
            *slot = Some(v);
        }
    }
    for n in 0..values.len() {
        if row.get(n).is_some_and(Option::is_some) {
            continue;
        }
        let gain = |v: usize| {
            let pair = |(m, w): (usize, &Option<usize>)| {
                let w = (*w)?;
                Some(if m < n { (m, w, n, v) } else { (n, v, m, w) })
            };
            row.iter().enumerate().filter_map(pair).filter(|p| open.contains(p)).count()
        };
        let count = values.get(n).map_or(0, |(_, list)| list.len());
        let best = (0..count).max_by_key(|v| (gain(*v), std::cmp::Reverse(*v))).unwrap_or(0);
        if let Some(slot) = row.get_mut(n) {
            *slot = Some(best);
        }
    }
    row.into_iter().map(|v| v.unwrap_or(0)).collect()
}

fn named(values: &Values, row: &[usize]) -> Sizes {
    values.iter().zip(row).filter_map(|((n, list), at)| Some((n.clone(), *list.get(*at)?))).collect()
}

/// The first row with each dim at its `max`, or as near as memory and work allow; what is beyond is named.
pub(super) fn largest(
    plan: &Plan,
    sampling: &Sampling,
    values: &Values,
    first: &Sizes,
    left_out: &mut Vec<String>,
) -> Vec<Sizes> {
    let mut found = vec![];
    for d in plan.dims.iter().filter(|d| !d.is_fixed()) {
        let Some(most) = d.max.map(|m| down(d, m)) else { continue };
        let tried = values.iter().find(|(n, _)| *n == d.name).and_then(|(_, v)| v.iter().max()).copied().unwrap_or(0);
        let with = |v: i64| -> Sizes { first.clone().into_iter().chain([(d.name.clone(), v)]).collect() };
        let mut v = most;
        while v > tried && (fits(plan, sampling, &with(v)).is_err() || too_much(plan, sampling, &with(v))) {
            v = down(d, v / 2);
        }
        if v > tried {
            found.push(with(v));
        }
        if v.max(tried) < most {
            left_out.push(format!("{} above {} (the contract's max is {most})", d.name, v.max(tried)));
        }
    }
    found
}

/// The largest value up to this one that the dim's divisibility admits.
fn down(d: &Dim, v: i64) -> i64 {
    let by = d.divisible_by.unwrap_or(1).max(1);
    v / by * by
}

/// Whether the sizes are possible at all; the reason where not.
fn fits(plan: &Plan, sampling: &Sampling, dims: &Sizes) -> Result<(), String> {
    let concrete = plan.concrete(&Cell::new(dims.clone(), Distribution::Normal, 0)).map_err(|e| e.to_string())?;
    match sampling.max_bytes {
        Some(most) if concrete.bytes() > most => {
            Err(format!("{} bytes of buffers are more than {most}", concrete.bytes()))
        }
        _ => Ok(()),
    }
}

/// Whether the work at these sizes is more than is wanted.
fn too_much(plan: &Plan, sampling: &Sampling, dims: &Sizes) -> bool {
    sampling.work.is_some_and(|work| cost(plan, sampling, dims) > work.most as f64)
}

/// The work at these sizes in warp instructions, estimated from the first cell: it grows at least like the threads, like
/// the bytes, and like the product of the sizes. 0 where nothing is known.
fn cost(plan: &Plan, sampling: &Sampling, dims: &Sizes) -> f64 {
    let Some(work) = sampling.work else { return 0.0 };
    let of = |dims: &Sizes| -> Option<[f64; 3]> {
        let c = plan.concrete(&Cell::new(dims.clone(), Distribution::Normal, 0)).ok()?;
        let threads =
            c.launches().map(|l| l.grid.iter().map(|n| f64::from(*n)).product::<f64>() * l.threads_per_block() as f64);
        let volume = dims.values().map(|v| (*v).max(1) as f64).product();
        Some([threads.sum::<f64>().max(1.0), c.bytes().max(1) as f64, volume])
    };
    let first = plan.dims.iter().filter_map(|d| Some((d.name.clone(), *d.samples.first()?))).collect();
    let (Some(a), Some(b)) = (of(&first), of(dims)) else { return 0.0 };
    let growth = a.iter().zip(&b).map(|(x, y)| y / x).fold(0.0, f64::max);
    work.first.max(1) as f64 * growth
}

#[cfg(test)]
mod tests {
    use super::super::load::tests::load;
    use super::super::{Sampling, cells};
    use super::*;

    const TWO: &str = "[dims.m]\nsamples = [200]\n[dims.n]\nsamples = [300]\nmax = 100000\n[args.x]\nrole = \"in\"\ndtype = \"f32\"\nshape = [\"m\", \"n\"]\n[[step]]\nkernel = \"k\"\ngrid = [\"ceil_div(m, 16)\", \"ceil_div(n, 16)\"]\nblock = [16, 16]\nargs = [\"x\"]\n";

    fn pairs(sampling: &Sampling) -> (BTreeSet<(i64, i64)>, Vec<String>) {
        let plan = load(TWO).0.plans.remove(0);
        let found = cells(&plan, sampling);
        (found.cells.iter().map(|c| (c.dims["m"], c.dims["n"])).collect(), found.left_out)
    }

    #[test]
    fn pairs_are_tried_that_lie_on_no_diagonal() {
        let (few, said) = pairs(&Sampling { pairs: 0, ..Sampling::default() });
        assert!(said.iter().any(|s| s.contains("pairs of sizes")), "{said:?}");
        let (usual, said) = pairs(&Sampling::default());
        assert!(usual.len() >= few.len() + 30, "{} and {}", usual.len(), few.len());
        assert!(said.iter().any(|s| s.contains("pairs of sizes")), "{said:?}");
        let (all, said) = pairs(&Sampling { thorough: true, ..Sampling::default() });
        let (m, n): (BTreeSet<i64>, BTreeSet<i64>) = all.iter().copied().unzip();
        // Every combination but those with the largest size, which stands with the first of the other dim.
        assert_eq!(all.len(), m.len() * (n.len() - 1) + 1);
        assert!(!said.iter().any(|s| s.contains("pairs")), "{said:?}");
        let other = pairs(&Sampling { seed: 2, ..Sampling::default() }).0;
        assert_ne!(usual, other);
    }

    #[test]
    fn the_largest_size_is_tried_as_far_as_the_work_allows() {
        let largest = |work: Option<super::super::cells::Work>, max_bytes: Option<u64>| {
            let (found, said) = pairs(&Sampling { work, max_bytes, ..Sampling::default() });
            (found.iter().map(|p| p.1).max().unwrap(), said.into_iter().find(|s| s.contains("max is")))
        };
        assert_eq!(largest(None, None), (100_000, None));
        let work = |most| Some(super::super::cells::Work { first: 1000, most });
        let (size, said) = largest(work(20_000), None);
        assert!(size > 300 && size < 6500, "{size}");
        assert_eq!(said.as_deref(), Some(format!("n above {size} (the contract's max is 100000)").as_str()));
        assert_eq!(largest(work(1), None).1.as_deref(), Some("n above 300 (the contract's max is 100000)"));
        assert!(largest(None, Some(1 << 20)).0 < 2000);
    }
}
