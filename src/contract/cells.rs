//! Which sizes, contents and seeds a plan is tried on: the cells of a run.

use std::collections::{BTreeMap, BTreeSet};

use super::args::{Init, Role};
use super::dims::Dim;
use super::expr::{Expr, Op};
use super::generate::Distribution;
use super::plan::Plan;
use super::sizes;

/// One run of a plan.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    pub dims: BTreeMap<String, i64>,
    pub distribution: Distribution,
    pub seed: u64,
    /// Which of the poisons stands in outputs and temporaries.
    pub poison: u8,
    /// 0: scalars have the contract's values; 1 and 2: the least and the largest legal one; more: drawn from between.
    pub scalars: u8,
    /// Whether buffers that the contract lets overlap are one.
    pub overlap: bool,
    /// How often the plan ran before on the same `__device__` state.
    pub round: u8,
    /// In which order blocks and warps go: 0 ascending, 1 descending, others mixed.
    pub order: u64,
}

impl Cell {
    /// A cell in which nothing but sizes, contents and seed is special.
    pub fn new(dims: BTreeMap<String, i64>, distribution: Distribution, seed: u64) -> Cell {
        Cell { dims, distribution, seed, poison: 0, scalars: 0, overlap: false, round: 0, order: 0 }
    }
}

/// How cells are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// Seeds of the cells, and the prime and the odd size among the sizes, follow from it: another seed makes a run on
    /// inputs that no earlier one has seen.
    pub seed: u64,
    /// Every combination of sizes with every distribution, both poisons and two seeds.
    pub thorough: bool,
    /// Cells whose buffers need more bytes are left out and named.
    pub max_bytes: Option<u64>,
    /// Combinations of sizes beyond those that have every value once.
    pub pairs: usize,
    /// What the first sample costs, by which the cost of others is estimated.
    pub work: Option<Work>,
}

/// Cost of cells, in warp instructions of the original.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Of the first cell, as counted.
    pub first: u64,
    /// Of the largest cell that is wanted.
    pub most: u64,
}

impl Default for Sampling {
    fn default() -> Sampling {
        Sampling { seed: 1, thorough: false, max_bytes: None, pairs: 40, work: None }
    }
}

/// The cells of a run, and what was left out with the reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cells {
    pub cells: Vec<Cell>,
    pub left_out: Vec<String>,
}

pub(super) type Sizes = BTreeMap<String, i64>;

const PRIMES: [i64; 8] = [7, 31, 61, 97, 127, 251, 509, 1021];

/// The cells of a plan; a pure function of its arguments.
///
/// Sizes are the contract's samples and 0, 1, a prime, one below, at and above a tile, and a number that is no multiple
/// of it, as far as the contract admits them; what divisibility excludes is replaced by the next multiple. The covering
/// set has every size once, pairs of sizes of two dims as far as `pairs` goes, `max` or the largest size that the work
/// allows, and every distribution once; its first and its largest usual cell again with the second poison and with two
/// further seeds; and its first again with other legal scalars, with the overlap that the contract permits, and with blocks
/// in two other orders.
pub fn cells(plan: &Plan, sampling: &Sampling) -> Cells {
    let mut found = Cells::default();
    let values: Vec<(String, Vec<i64>)> =
        plan.dims.iter().map(|d| (d.name.clone(), values_of(plan, d, sampling.seed))).collect();
    let sizes = sizes::rows(plan, sampling, &values, &mut found.left_out);
    let distributions = distributions(plan);
    let Some(first) = sizes.first() else { return found };
    let large = sizes::largest(plan, sampling, &values, first, &mut found.left_out);
    let cell = |s: &Sizes, d: Distribution, seed: u64, poison: u8| Cell { poison, ..Cell::new(s.clone(), d, seed) };
    let seed = |n: u64| sampling.seed.wrapping_mul(1000).wrapping_add(n);
    if sampling.thorough {
        for s in &sizes {
            for d in &distributions {
                for n in 0..2 {
                    found.cells.extend([cell(s, *d, seed(n), 0), cell(s, *d, seed(n), 1)]);
                }
            }
        }
    } else {
        let many = sizes.len().max(distributions.len());
        for (s, d) in sizes.iter().cycle().zip(distributions.iter().cycle()).take(many) {
            found.cells.push(cell(s, *d, seed(0), 0));
        }
        let volume = |c: &Cell| c.dims.values().fold(1i64, |v, d| v.saturating_mul(*d));
        let largest = found.cells.iter().max_by_key(|c| volume(c)).cloned();
        let mut again: Vec<Cell> = found.cells.first().cloned().into_iter().chain(largest).collect();
        again.dedup();
        if let (1, Some(other)) = (again.len(), found.cells.get(1).cloned()) {
            again.push(other);
        }
        for c in again {
            found.cells.push(Cell { poison: 1, ..c.clone() });
            found.cells.extend((1..3).map(|n| Cell { seed: seed(n), ..c.clone() }));
        }
    }
    let usual = distributions.first().copied().unwrap_or(Distribution::Normal);
    found.cells.extend(large.iter().map(|s| cell(s, usual, seed(0), 0)));
    special(plan, &mut found.cells);
    if let Some(first) = found.cells.first().cloned() {
        found.cells.extend([1, 2 + sampling.seed].map(|order| Cell { order, ..first.clone() }));
    }
    found
}

/// The first cell with other legal scalars, and with the overlap that the contract permits.
fn special(plan: &Plan, cells: &mut Vec<Cell>) {
    let Some(first) = cells.first().cloned() else { return };
    let varies = plan.args.iter().any(|a| a.role == Role::Scalar && a.legal.is_some());
    if varies {
        cells.extend((1..5).map(|n| Cell { scalars: n, ..first.clone() }));
    }
    if !plan.alias.is_empty() {
        cells.push(Cell { overlap: true, ..first });
    }
}

fn values_of(plan: &Plan, dim: &Dim, seed: u64) -> Vec<i64> {
    let mut wanted = dim.samples.clone();
    let tiles = tiles(plan, dim);
    let pick = |n: i64| seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(n as u32) >> 40;
    let prime = PRIMES.get(pick(1) as usize % PRIMES.len()).copied().unwrap_or(97);
    wanted.extend([0, 1, prime]);
    for t in &tiles {
        let odd = 1 + pick(*t) as i64 % (t - 1).max(1);
        wanted.extend([t - 1, *t, t + 1, 3 * t + odd]);
    }
    let mut found: Vec<i64> = vec![];
    for v in wanted {
        let by = dim.divisible_by.filter(|b| *b > 1).unwrap_or(1);
        // The least admitted value from here on.
        let v = v.max(dim.min.unwrap_or(0));
        let up = v.checked_add(by - 1).map_or(v, |w| w / by * by);
        if dim.admits(up) && !found.contains(&up) {
            found.push(up);
        }
    }
    found
}

/// Block sizes and divisors of grids that belong to the dim; from 2 to 4096.
fn tiles(plan: &Plan, dim: &Dim) -> Vec<i64> {
    let fixed = |n: &str| plan.dim(n).filter(|d| d.is_fixed()).and_then(|d| d.min);
    let mut found = BTreeSet::new();
    for l in plan.launches() {
        let block: Vec<i64> = l.block.iter().filter_map(|e| e.eval(&fixed).ok()).collect();
        for e in &l.grid {
            divisors(e, &dim.name, &fixed, &mut found);
        }
        if found.is_empty() {
            let threads = block.iter().fold(1i64, |a, b| a.saturating_mul(*b));
            found.extend([threads, block.first().copied().unwrap_or(threads)]);
        }
    }
    found.into_iter().filter(|t| (2..=4096).contains(t)).take(4).collect()
}

fn divisors(e: &Expr, dim: &str, fixed: &dyn Fn(&str) -> Option<i64>, found: &mut BTreeSet<i64>) {
    match e {
        Expr::Binary(op, a, b) => {
            if matches!(op, Op::Div | Op::CeilDiv) && a.names().contains(dim) {
                found.extend(b.eval(fixed));
            }
            divisors(a, dim, fixed, found);
            divisors(b, dim, fixed, found);
        }
        Expr::Neg(a) | Expr::Not(a) => divisors(a, dim, fixed, found),
        Expr::Select(c, a, b) => [c, a, b].into_iter().for_each(|e| divisors(e, dim, fixed, found)),
        Expr::Int(_) | Expr::Name(_) | Expr::SizeOf(_) => {}
    }
}

/// The contents that make a difference to the plan.
fn distributions(plan: &Plan) -> Vec<Distribution> {
    let mut found = BTreeSet::new();
    for a in plan.args.iter().filter(|a| a.is_buffer() && a.init() == Init::Keep && a.role != Role::Temp) {
        let float = a.dtype.is_some_and(|d| d.is_float());
        let useful = |d: &Distribution| match d {
            Distribution::Infinite => float && (a.infinite || a.nan),
            Distribution::Skewed => a.legal.is_some(),
            Distribution::HeavyTail | Distribution::Denormals | Distribution::NormalTenth | Distribution::Normal => {
                float
            }
            _ => true,
        };
        let own = if a.distribution.is_empty() { &Distribution::ALL[..] } else { &a.distribution };
        found.extend(own.iter().copied().filter(useful));
        found.extend(a.distribution.iter().copied());
    }
    if found.is_empty() {
        return vec![Distribution::Integers];
    }
    Distribution::ALL.into_iter().filter(|d| found.contains(d)).collect()
}
