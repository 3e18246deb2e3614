//! Whether a sum of products of sizes, threads and blocks is never negative, from inequalities and the ranges of atoms.
//!
//! From the goal, multiples of known inequalities are taken away that cancel one of its negative products; what is left
//! must be at least 0 by the ranges of its atoms. The number of tries is limited by a count.

use std::collections::BTreeSet;

use crate::facts::{Atom, Because, Interval, Known, Poly, gcd};

/// Inequalities longer than this are of no use here.
const MAX_TERMS: usize = 12;
const MAX_RULES: usize = 160;
const DEPTH: u32 = 7;
const TRIES: u32 = 1000;

/// What holds at one place.
pub struct Prover {
    known: Known,
    /// Each is at least 0.
    rules: Vec<Poly>,
    /// Sizes that are multiples, as such.
    multiples: Vec<(Atom, Poly)>,
}

impl Prover {
    /// What is known at a place, with ranges of further atoms and further inequalities.
    pub fn new(at: &Known, ranges: &[(Atom, Interval)], more: &[Poly], multiples: Vec<(Atom, Poly)>) -> Prover {
        let mut known = at.clone();
        for (atom, range) in ranges {
            known.bound(atom.clone(), *range, Because::nothing());
        }
        let mut rules: Vec<Poly> = vec![];
        let useful = |p: &&Poly| p.terms().count() <= MAX_TERMS && p.atoms().iter().any(moves);
        // What was tested last on the way to the place says most.
        let mut tested: Vec<Poly> = at.inequalities().filter(useful).cloned().collect();
        tested.reverse();
        for p in tested.into_iter().take(64).chain(more.iter().cloned()) {
            // A rule about a value that may wrap holds for the value itself only where that is never negative.
            let Some((plain, wrapped)) = unwrapped(&p, &multiples) else { continue };
            let holds = wrapped.iter().all(|w| known.range(w).0.lo.is_some_and(|lo| lo >= 0));
            let p = tight(if holds { plain } else { p });
            if rules.len() < MAX_RULES && !rules.contains(&p) {
                rules.push(p);
            }
        }
        Prover { known, rules, multiples }
    }

    /// Whether the sum is never negative, for sizes whose 32-bit index arithmetic does not wrap at the top. That it does
    /// not wrap below 0 is shown.
    pub fn nonneg(&self, goal: &Poly) -> bool {
        let Some((plain, wrapped)) = unwrapped(goal, &self.multiples) else { return false };
        let inner = |w: &Poly| unwrapped(w, &self.multiples).is_some_and(|(w, _)| self.never_negative(&w));
        wrapped.iter().all(inner) && self.never_negative(&plain)
    }

    fn never_negative(&self, goal: &Poly) -> bool {
        if self.by_range(goal) {
            return true;
        }
        if self.is_hopeless(goal) {
            return false;
        }
        let mut rules = self.near(goal);
        // Inequalities on threads, blocks and iterations, times the sizes that multiply them in the goal.
        let shaped = |a: &Atom| moves(a) || matches!(a, Atom::GridDim(_));
        let moving: Vec<Poly> = rules.iter().filter(|p| p.atoms().iter().any(shaped)).take(100).cloned().collect();
        for m in multipliers(goal).iter().take(4) {
            rules.extend(moving.iter().filter_map(|p| p.mul(m)));
        }
        let mut tries = TRIES;
        self.search(goal, &rules, DEPTH, &mut tries)
    }

    /// Rules that speak of what the goal speaks of, directly or through one another rule.
    fn near(&self, goal: &Poly) -> Vec<Poly> {
        let speaks = |p: &Poly| -> BTreeSet<Atom> {
            p.atoms().into_iter().filter(|a| moves(a) || matches!(a, Atom::GridDim(_))).collect()
        };
        let mut of = speaks(goal);
        let first: Vec<BTreeSet<Atom>> = self.rules.iter().map(speaks).collect();
        let reached: Vec<Atom> = first.iter().filter(|r| !r.is_disjoint(&of)).flatten().cloned().collect();
        of.extend(reached);
        let keep = |(_, r): &(&Poly, &BTreeSet<Atom>)| r.is_empty() || r.is_subset(&of);
        self.rules.iter().zip(&first).filter(keep).map(|(p, _)| p.clone()).collect()
    }

    /// Whether the goal falls with something that nothing bounds.
    fn is_hopeless(&self, goal: &Poly) -> bool {
        let falling = goal.terms().filter(|(_, c)| *c < 0).flat_map(|(m, _)| m.iter()).filter(|a| moves(a));
        falling.into_iter().any(|a| {
            let open = self.known.range(&Poly::atom(a.clone())).0.hi.is_none();
            open && !self.rules.iter().any(|r| r.terms().any(|(m, c)| c < 0 && m.contains(a)))
        })
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
        // Nothing falls, and still it may be negative: what rises is at least something.
        let rising = negative.is_empty() && goal.constant_term() < 0;
        if rising {
            negative = goal.terms().filter(|(m, c)| *c > 0 && !m.is_empty()).collect();
        }
        // The first that stands in the way has to go; a second one, in case the first may stay.
        for (product, own) in negative.into_iter().take(2) {
            let fits = |rule: &Poly| {
                let (_, c) = rule.terms().find(|(m, _)| *m == product)?;
                if c.signum() != own.signum() || own.checked_rem(c) != Some(0) || rising && rule.constant_term() >= 0 {
                    return None;
                }
                rule.scale(own.checked_div(c)?).and_then(|s| goal.sub(&s))
            };
            // Short rests first.
            let mut rests: Vec<Poly> = rules.iter().filter_map(fits).collect();
            rests.sort_by_key(|r| r.terms().count());
            for rest in rests {
                if *tries == 0 {
                    return false;
                }
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

/// A sum that is at least 0, with the largest constant taken away for which that still holds of integers.
fn tight(p: Poly) -> Poly {
    let step = p.terms().filter(|(m, _)| !m.is_empty()).fold(0, |g, (_, c)| gcd(g, c));
    if step < 2 {
        return p;
    }
    p.offset(-p.constant_term().rem_euclid(step)).unwrap_or(p)
}

/// The sum with every wrapped value in it by itself, and those values; sizes that are multiples are written so.
fn unwrapped(p: &Poly, multiples: &[(Atom, Poly)]) -> Option<(Poly, Vec<Poly>)> {
    let mut values = vec![];
    let of = |a: &Atom| multiples.iter().find(|(m, _)| m == a).map(|(_, p)| p.clone());
    let mut at = if multiples.is_empty() { p.clone() } else { p.map_atoms(&of)? };
    for _ in 0..8 {
        let wrap = |a: &Atom| match a {
            Atom::Fun(call) if call.name == "wrap.u32" => call.args.first().cloned(),
            _ => None,
        };
        let found: Vec<Poly> = at.atoms().iter().filter_map(wrap).collect();
        if found.is_empty() {
            return Some((at, values));
        }
        at = at.map_atoms(&wrap)?;
        values.extend(found);
    }
    None
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
        let prover = Prover::new(&Known::default(), &ranges, &guards, vec![]);
        let index = poly(&r).mul(&poly(&cols.0)).unwrap().add(&poly(&c)).unwrap();
        let room = poly(&rows.0).mul(&poly(&cols.0)).unwrap().sub(&index).unwrap().offset(-1).unwrap();
        assert!(prover.nonneg(&room));
        assert!(!prover.nonneg(&room.offset(-1).unwrap()));
        // Without the guard on columns it does not hold.
        assert!(!Prover::new(&Known::default(), &ranges, &guards[..1], vec![]).nonneg(&room));
        // Nor with rows and columns exchanged.
        let other = poly(&c).mul(&poly(&rows.0)).unwrap().add(&poly(&r)).unwrap();
        let room = poly(&rows.0).mul(&poly(&cols.0)).unwrap().sub(&other).unwrap().offset(-1).unwrap();
        assert!(prover.nonneg(&room));
        let wrong = poly(&c).mul(&poly(&cols.0)).unwrap().add(&poly(&r)).unwrap();
        let room = poly(&rows.0).mul(&poly(&cols.0)).unwrap().sub(&wrong).unwrap().offset(-1).unwrap();
        assert!(!prover.nonneg(&room));
    }
}
