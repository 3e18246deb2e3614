//! Whether a sum of products of sizes, threads and blocks is never negative, from inequalities and the ranges of atoms.
//!
//! From the goal, multiples of known inequalities are taken away that cancel one of its negative products; what is left
//! must be at least 0 by the ranges of its atoms. The number of tries is limited by a count.

use std::collections::BTreeSet;

use crate::facts::{Atom, Because, Interval, Known, Poly};

/// Inequalities longer than this are of no use here.
const MAX_TERMS: usize = 12;
const MAX_RULES: usize = 160;
const DEPTH: u32 = 7;
const TRIES: u32 = 400;

/// What holds at one place.
pub struct Prover {
    known: Known,
    /// Each is at least 0.
    rules: Vec<Poly>,
}

impl Prover {
    /// What is known at a place, with ranges of further atoms and further inequalities.
    pub fn new(at: &Known, ranges: &[(Atom, Interval)], more: &[Poly]) -> Prover {
        let mut known = at.clone();
        for (atom, range) in ranges {
            known.bound(atom.clone(), *range, Because::nothing());
        }
        let mut rules: Vec<Poly> = vec![];
        let useful = |p: &&Poly| p.terms().count() <= MAX_TERMS && p.atoms().iter().any(moves);
        for p in more.iter().chain(at.inequalities().filter(useful).take(64)) {
            if rules.len() < MAX_RULES && !rules.contains(p) {
                rules.push(p.clone());
            }
        }
        Prover { known, rules }
    }

    /// Whether the sum is never negative.
    pub fn nonneg(&self, goal: &Poly) -> bool {
        if self.by_range(goal) {
            return true;
        }
        let mut rules = self.rules.clone();
        // Inequalities on threads, blocks and iterations, times the sizes that multiply them in the goal.
        for m in multipliers(goal).iter().take(4) {
            let moving = self.rules.iter().filter(|p| p.atoms().iter().any(moves)).take(24);
            rules.extend(moving.filter_map(|p| p.mul(m)));
        }
        let mut tries = TRIES;
        self.search(goal, &rules, DEPTH, &mut tries)
    }

    fn by_range(&self, goal: &Poly) -> bool {
        self.known.range(goal).0.lo.is_some_and(|lo| lo >= 0)
    }

    fn search(&self, goal: &Poly, rules: &[Poly], depth: u32, tries: &mut u32) -> bool {
        if self.by_range(goal) {
            return true;
        }
        if depth == 0 || *tries == 0 || goal.terms().count() > 2 * MAX_TERMS {
            return false;
        }
        *tries -= 1;
        let mut negative: Vec<(&[Atom], i128)> = goal.terms().filter(|(m, c)| *c < 0 && !m.is_empty()).collect();
        // What moves must be cancelled; sizes may be left to their ranges.
        negative.sort_by_key(|(m, _)| (!m.iter().any(moves), std::cmp::Reverse(m.len())));
        for (product, own) in negative {
            for rule in rules {
                let Some((_, c)) = rule.terms().find(|(m, _)| *m == product) else { continue };
                if c >= 0 || own % c != 0 {
                    continue;
                }
                let Some(rest) = rule.scale(own / c).and_then(|s| goal.sub(&s)) else { continue };
                if self.search(&rest, rules, depth - 1, tries) {
                    return true;
                }
            }
        }
        false
    }

    /// The largest value of a sum, by ranges alone.
    pub fn most(&self, p: &Poly) -> Option<i128> {
        self.known.range(p).0.hi
    }
}

/// Whether the atom differs between threads or in time.
pub fn moves(a: &Atom) -> bool {
    matches!(a, Atom::Thread(_) | Atom::Block(_) | Atom::Iter(_) | Atom::Version(..) | Atom::Opaque(..))
}

/// Products of sizes that multiply something that moves in the goal: the first, the last, and all of each product.
fn multipliers(goal: &Poly) -> BTreeSet<Poly> {
    let mut found = BTreeSet::new();
    for (product, _) in goal.terms().filter(|(p, _)| p.len() > 1) {
        let shape = |a: &Atom| matches!(a, Atom::BlockDim(_) | Atom::GridDim(_));
        let fixed: Vec<Poly> =
            product.iter().filter(|a| !moves(a) && !shape(a)).map(|a| Poly::atom(a.clone())).collect();
        found.extend(fixed.first().cloned());
        found.extend(fixed.last().cloned());
        let all = fixed.into_iter().try_fold(Poly::constant(1), |p, a| p.mul(&a));
        found.extend(all.filter(|p| p.as_constant().is_none()));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Axis;

    fn size(name: &str) -> (Atom, Interval) {
        (Atom::Name(name.into()), Interval::at_least(1))
    }

    fn poly(a: &Atom) -> Poly {
        Poly::atom(a.clone())
    }

    #[test]
    fn rows_and_columns_stay_inside_their_product() {
        let (rows, cols) = (size("rows"), size("cols"));
        let (r, c) = (Atom::Thread(Axis::Y), Atom::Thread(Axis::X));
        let below = |x: &Atom, n: &Atom| poly(n).sub(&poly(x)).unwrap().offset(-1).unwrap();
        let guards = [below(&r, &rows.0), below(&c, &cols.0)];
        let ranges =
            [rows.clone(), cols.clone(), (r.clone(), Interval::at_least(0)), (c.clone(), Interval::at_least(0))];
        let prover = Prover::new(&Known::default(), &ranges, &guards);
        let index = poly(&r).mul(&poly(&cols.0)).unwrap().add(&poly(&c)).unwrap();
        let room = poly(&rows.0).mul(&poly(&cols.0)).unwrap().sub(&index).unwrap().offset(-1).unwrap();
        assert!(prover.nonneg(&room));
        assert!(!prover.nonneg(&room.offset(-1).unwrap()));
        // Without the guard on columns it does not hold.
        assert!(!Prover::new(&Known::default(), &ranges, &guards[..1]).nonneg(&room));
        // Nor with rows and columns exchanged.
        let other = poly(&c).mul(&poly(&rows.0)).unwrap().add(&poly(&r)).unwrap();
        let room = poly(&rows.0).mul(&poly(&cols.0)).unwrap().sub(&other).unwrap().offset(-1).unwrap();
        assert!(prover.nonneg(&room));
        let wrong = poly(&c).mul(&poly(&cols.0)).unwrap().add(&poly(&r)).unwrap();
        let room = poly(&rows.0).mul(&poly(&cols.0)).unwrap().sub(&wrong).unwrap().offset(-1).unwrap();
        assert!(!prover.nonneg(&room));
    }
}
