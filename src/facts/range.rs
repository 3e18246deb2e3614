//! Intervals, and what is known of atoms on one path: bounds, inequalities and congruences with their reasons.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::because::Because;
use super::divide::{as_congruence, is_residue, remainder_is};
use super::interval::Interval;
use super::poly::{Atom, Poly};
use super::value::Formula;
use crate::ir::Axis;

/// `poly` leaves `residue` when divided by `modulus`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Congruence {
    pub poly: Poly,
    pub modulus: i128,
    pub residue: i128,
    pub because: Because,
}

/// What holds at one place of the text. Atoms never change, so what holds stays true on the path.
#[derive(Clone, Debug, Default)]
pub struct Known {
    pub(super) bounds: Arc<BTreeMap<Atom, (Interval, Because)>>,
    pub(super) nonneg: Arc<Vec<(Poly, Because)>>,
    pub(super) congruent: Arc<Vec<Congruence>>,
    pub(super) equal: Arc<Vec<(Poly, Because)>>,
    pub(super) nonzero: Arc<Vec<(Poly, Because)>>,
    pub(super) choices: Arc<Vec<(Vec<Formula>, Because)>>,
}

const MAX_CONSTRAINTS: usize = 200;
const SEARCH_DEPTH: u32 = 4;

impl Known {
    /// Everything that is known to be at least 0, apart from the bounds of single atoms.
    pub fn inequalities(&self) -> impl Iterator<Item = &Poly> {
        self.nonneg.iter().map(|(p, _)| p)
    }

    /// States the range of an atom, narrowing what was known.
    pub fn bound(&mut self, atom: Atom, to: Interval, because: Because) {
        if self.bounds.get(&atom).is_some_and(|(range, _)| range.meet(to) == *range) {
            return;
        }
        let entry = Arc::make_mut(&mut self.bounds).entry(atom).or_insert((Interval::ALL, Because::nothing()));
        let met = entry.0.meet(to);
        if met != entry.0 {
            entry.0 = met;
            entry.1.join(&because);
        }
    }

    /// States `poly >= 0`.
    pub fn assume_nonneg(&mut self, poly: Poly, because: Because) {
        if self.nonneg.len() >= MAX_CONSTRAINTS || poly.as_constant().is_some() {
            return;
        }
        Arc::make_mut(&mut self.nonneg).push((poly, because));
        // Two rounds over all constraints carry a bound through a short chain.
        let constraints = self.nonneg.clone();
        for _ in 0..2 {
            let before = self.bounds.clone();
            constraints.iter().for_each(|(p, b)| self.narrow(p, b));
            if Arc::ptr_eq(&before, &self.bounds) {
                break;
            }
        }
    }

    pub(super) fn narrow(&mut self, poly: &Poly, because: &Because) {
        for (m, c) in poly.terms() {
            let [atom] = m else { continue };
            let Some(own) = Poly::atom(atom.clone()).scale(c) else { continue };
            let Some(rest) = poly.sub(&own) else { continue };
            if rest.mentions(atom) {
                continue;
            }
            let (range, why) = self.range_of_terms(&rest);
            // c * atom >= -rest >= -range.hi
            let Some(least) = range.hi.and_then(i128::checked_neg) else { continue };
            let to = if c > 0 {
                Interval { lo: Some(ceil_div(least, c)), hi: None }
            } else {
                let Some(top) = least.checked_neg() else { continue };
                Interval { lo: None, hi: c.checked_neg().map(|d| top.div_euclid(d)) }
            };
            self.bound(atom.clone(), to, why.and(because));
        }
    }

    /// States `poly == 0`.
    pub fn assume_zero(&mut self, poly: Poly, because: Because) {
        if let Some((inner, modulus, residue)) = as_congruence(&poly).or_else(|| remainder_is(&poly)) {
            self.assume_congruent(inner, modulus, residue, because.clone());
        }
        if let Some(negated) = poly.neg() {
            self.assume_nonneg(negated, because.clone());
        }
        self.assume_nonneg(poly.clone(), because.clone());
        if self.equal.len() < MAX_CONSTRAINTS {
            Arc::make_mut(&mut self.equal).push((poly, because));
        }
    }

    /// States `poly != 0`.
    pub fn assume_nonzero(&mut self, poly: Poly, because: Because) {
        if self.nonzero.len() < MAX_CONSTRAINTS {
            Arc::make_mut(&mut self.nonzero).push((poly, because));
        }
    }

    pub fn assume_congruent(&mut self, poly: Poly, modulus: i128, residue: i128, because: Because) {
        if modulus > 1 && self.congruent.len() < MAX_CONSTRAINTS {
            Arc::make_mut(&mut self.congruent).push(Congruence {
                poly,
                modulus,
                residue: residue.rem_euclid(modulus),
                because,
            });
        }
    }

    /// Keeps "one of these holds", as in the arm where `a && b` failed.
    pub fn remember_choice(&mut self, parts: Vec<Formula>, because: Because) {
        if self.choices.len() < MAX_CONSTRAINTS {
            Arc::make_mut(&mut self.choices).push((parts, because));
        }
    }

    /// Where the path is the one on which a conjunction that contains a test like "`modulus` divides a multiple of what
    /// `atoms` stand for" has failed.
    pub fn failed_test(&self, atoms: &std::collections::BTreeSet<Atom>) -> Option<&Because> {
        let about = |f: &Formula| matches!(f, Formula::NonZero(p) if !p.atoms().is_disjoint(atoms) && is_residue(p));
        let direct = self.nonzero.iter().find(|(p, _)| about(&Formula::NonZero(p.clone()))).map(|(_, b)| b);
        direct.or_else(|| self.choices.iter().find(|(parts, _)| parts.iter().any(about)).map(|(_, b)| b))
    }

    /// Where the path is the one on which `goal` failed together with others, or alone.
    pub fn failed_formula(&self, goal: &Formula) -> Option<&Because> {
        let failed = goal.negate();
        let single = self.nonzero.iter().find(|(p, _)| failed == Formula::NonZero(p.clone())).map(|(_, b)| b);
        single.or_else(|| self.choices.iter().find(|(parts, _)| parts.contains(&failed)).map(|(_, b)| b))
    }

    pub(super) fn atom_range(&self, atom: &Atom) -> (Interval, Because) {
        let (mut range, mut because) = self.bounds.get(atom).cloned().unwrap_or_default();
        let own = match atom {
            Atom::Iter(_) => Interval::at_least(0),
            Atom::Div(inner, d) => {
                let (r, b) = self.range(inner);
                because.join(&b);
                Interval { lo: r.lo.map(|v| v.div_euclid(*d)), hi: r.hi.map(|v| v.div_euclid(*d)) }
            }
            Atom::Address(_) => Interval::new(0, i128::from(u64::MAX)),
            Atom::Fun(name, args) => self.function_range(name, args, &mut because),
            _ => Interval::ALL,
        };
        range = range.meet(own);
        (range, because)
    }

    pub(super) fn function_range(&self, name: &str, args: &[Poly], because: &mut Because) -> Interval {
        let mut of = |p: &Poly| {
            let (r, b) = self.range(p);
            because.join(&b);
            r
        };
        match (name, args) {
            ("wrap.u32", _) => Interval::new(0, i128::from(u32::MAX)),
            ("min" | "max", [a, b]) => {
                let (a, b) = (of(a), of(b));
                let both = |x: Option<i128>, y: Option<i128>, pick: fn(i128, i128) -> i128| Some(pick(x?, y?));
                let any = |x: Option<i128>, y: Option<i128>, pick: fn(i128, i128) -> i128| match (x, y) {
                    (Some(x), Some(y)) => Some(pick(x, y)),
                    (x, y) => x.or(y),
                };
                if name == "min" {
                    Interval { lo: both(a.lo, b.lo, Ord::min), hi: any(a.hi, b.hi, Ord::min) }
                } else {
                    Interval { lo: any(a.lo, b.lo, Ord::max), hi: both(a.hi, b.hi, Ord::max) }
                }
            }
            ("bit.and", [a, b]) => {
                // A non-negative operand bounds the result.
                let tops = [of(a), of(b)].into_iter().filter(|r| r.lo.is_some_and(|l| l >= 0)).collect::<Vec<_>>();
                let hi = tops.iter().filter_map(|r| r.hi).min();
                if tops.is_empty() { Interval::ALL } else { Interval { lo: Some(0), hi } }
            }
            ("bit.or" | "bit.xor", [a, b]) => match (of(a), of(b)) {
                (Interval { lo: Some(l), hi: Some(h) }, Interval { lo: Some(m), hi: Some(k) }) if l >= 0 && m >= 0 => {
                    let bits = 128 - h.max(k).leading_zeros();
                    if bits > 100 { Interval::at_least(0) } else { Interval::new(0, (1 << bits) - 1) }
                }
                _ => Interval::ALL,
            },
            ("quot", [a, b]) => match (of(a), of(b)) {
                (Interval { lo: Some(l), hi }, d) if l >= 0 && d.lo.is_some_and(|v| v >= 1) => {
                    Interval { lo: Some(0), hi }
                }
                _ => Interval::ALL,
            },
            ("rem", [a, b]) => match (of(a), of(b)) {
                (Interval { lo: Some(l), .. }, d) if l >= 0 && d.lo.is_some_and(|v| v >= 1) => {
                    Interval { lo: Some(0), hi: d.hi.map(|h| h - 1) }
                }
                _ => Interval::ALL,
            },
            _ => Interval::ALL,
        }
    }

    pub(super) fn range_of_terms(&self, poly: &Poly) -> (Interval, Because) {
        let mut sum = Interval::point(0);
        let mut because = Because::nothing();
        for (m, c) in poly.terms() {
            let mut product = Interval::point(1);
            for (i, atom) in m.iter().enumerate() {
                let (r, b) = self.atom_range(atom);
                because.join(&b);
                // An even power is no more than a product here; equal neighbours give a square, which is never negative.
                product = product.product(r);
                if i == 1 && m.len() == 2 && m[0] == m[1] {
                    product = product.meet(Interval::at_least(0));
                }
            }
            if !m.is_empty() && is_block_volume(m) {
                product = product.meet(Interval::new(1, 1024));
                because.join(&Because::assuming("standing:block-limit"));
            }
            sum = sum.plus(product.times(c));
        }
        (sum, because)
    }

    /// The values that `poly` can take.
    pub fn range(&self, poly: &Poly) -> (Interval, Because) {
        let (mut range, mut because) = self.range_of_terms(poly);
        // inner - d * floor(inner / d) is within [0, d): tighter than term by term.
        for atom in poly.factors() {
            let Atom::Div(inner, d) = &atom else { continue };
            let Some(c) = poly.coefficient(&atom).and_then(|c| c.as_constant()) else { continue };
            if c.checked_rem(*d) != Some(0) {
                continue;
            }
            let times = -(c / d);
            let rest = Poly::atom(atom.clone())
                .scale(*d)
                .and_then(|p| inner.sub(&p))
                .and_then(|remainder| remainder.scale(times))
                .and_then(|part| poly.sub(&part));
            if let Some(rest) = rest {
                let (r, b) = self.range_of_terms(&rest);
                let tighter = range.meet(r.plus(Interval::new(0, d - 1).times(times)));
                if tighter != range {
                    range = tighter;
                    because.join(&b);
                }
            }
        }
        (range, because)
    }

    /// Why `poly >= 0`, where that can be shown from bounds and at most a few of the inequalities.
    pub fn prove_nonneg(&self, poly: &Poly) -> Option<Because> {
        let mut budget = 400;
        self.search(poly, SEARCH_DEPTH, &mut budget)
    }

    pub(super) fn search(&self, poly: &Poly, depth: u32, budget: &mut u32) -> Option<Because> {
        let (range, because) = self.range(poly);
        if range.lo.is_some_and(|lo| lo >= 0) {
            return Some(because);
        }
        if depth == 0 || *budget == 0 {
            return None;
        }
        *budget -= 1;
        let quotients = self.quotient_constraints(poly);
        for (q, why) in self.nonneg.iter().chain(&quotients) {
            // Take away a multiple of q that cancels a product that q and poly share with the same sign.
            for (m, c) in q.terms() {
                let Some((_, own)) = poly.terms().find(|(n, _)| *n == m) else { continue };
                if m.is_empty() || own.signum() != c.signum() || own % c != 0 {
                    continue;
                }
                let Some(rest) = q.scale(own / c).and_then(|s| poly.sub(&s)) else { continue };
                if let Some(found) = self.search(&rest, depth - 1, budget) {
                    return Some(found.and(why));
                }
            }
        }
        None
    }

    /// `inner - d*q >= 0` and `d*q + d - 1 - inner >= 0` for each quotient in `poly`.
    pub(super) fn quotient_constraints(&self, poly: &Poly) -> Vec<(Poly, Because)> {
        let mut found = vec![];
        let mut from: Vec<Atom> = poly.factors().into_iter().collect();
        from.extend(self.nonneg.iter().flat_map(|(q, _)| q.factors()));
        from.sort();
        from.dedup();
        for atom in from {
            let Atom::Div(inner, d) = &atom else { continue };
            let low = Poly::atom(atom.clone()).scale(*d).and_then(|p| inner.sub(&p));
            let high = low.as_ref().and_then(|l| Poly::constant(d - 1).sub(l));
            found.extend([low, high].into_iter().flatten().map(|p| (p, Because::nothing())));
        }
        found
    }

    /// Why `poly > 0`.
    pub fn prove_positive(&self, poly: &Poly) -> Option<Because> {
        self.prove_nonneg(&poly.offset(-1)?)
    }

    /// Why `poly == 0`.
    pub fn prove_zero(&self, poly: &Poly) -> Option<Because> {
        if poly.is_zero() {
            return Some(Because::nothing());
        }
        for (q, why) in self.equal.iter() {
            if q == poly || q.neg().as_ref() == Some(poly) {
                return Some(why.clone());
            }
        }
        Some(self.prove_nonneg(poly)?.and(&self.prove_nonneg(&poly.neg()?)?))
    }

    /// Why `poly != 0`.
    pub fn prove_nonzero(&self, poly: &Poly) -> Option<Because> {
        for (q, why) in self.nonzero.iter() {
            if q == poly || q.neg().as_ref() == Some(poly) {
                return Some(why.clone());
            }
        }
        self.prove_positive(poly).or_else(|| self.prove_positive(&poly.neg()?))
    }
}

fn ceil_div(a: i128, b: i128) -> i128 {
    a.div_euclid(b) + i128::from(a.rem_euclid(b) != 0)
}

fn is_block_volume(m: &[Atom]) -> bool {
    let axes: Vec<Axis> = m.iter().filter_map(|a| if let Atom::BlockDim(x) = a { Some(*x) } else { None }).collect();
    axes.len() == m.len() && axes.windows(2).all(|w| w[0] != w[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(n: &str) -> Poly {
        Poly::atom(Atom::Name(n.into()))
    }

    #[test]
    fn congruences_carry_through_products() {
        let mut k = Known::default();
        let row = name("row");
        let flat = row.mul(&name("cols")).unwrap();
        assert!(k.prove_divides(4, &flat).is_none());
        k.assume_congruent(name("cols"), 4, 0, Because::assuming("cols%4==0"));
        assert_eq!(k.prove_divides(4, &flat).unwrap().assumptions.len(), 1);
        assert!(k.prove_divides(8, &flat).is_none());
        assert!(k.prove_divides(8, &flat.scale(2).unwrap()).is_some());
        assert!(k.prove_divides(4, &flat.offset(2).unwrap()).is_none());
        assert_eq!(k.residue(4, &flat.offset(6).unwrap()).unwrap().0, 2);
    }

    #[test]
    fn congruence_of_a_product_says_nothing_of_its_factors() {
        let mut k = Known::default();
        k.assume_congruent(name("a").mul(&name("b")).unwrap(), 4, 0, Because::nothing());
        assert!(k.prove_divides(4, &name("a")).is_none());
        assert!(k.prove_divides(4, &name("a").mul(&name("b")).unwrap()).is_some());
        assert!(k.prove_divides(4, &name("a").mul(&name("b")).unwrap().mul(&name("c")).unwrap()).is_some());
        assert!(k.prove_divides(4, &name("a").add(&name("b")).unwrap()).is_none());
    }

    #[test]
    fn equal_residues_of_two_atoms_do_not_mix() {
        let mut k = Known::default();
        k.assume_congruent(name("a"), 4, 1, Because::nothing());
        k.assume_congruent(name("b"), 4, 1, Because::nothing());
        assert_eq!(k.residue(4, &name("a").sub(&name("b")).unwrap()).unwrap().0, 0);
        assert!(k.residue(8, &name("a").sub(&name("b")).unwrap()).is_none());
        assert_eq!(k.residue(2, &name("a").add(&name("b")).unwrap()).unwrap().0, 0);
    }

    #[test]
    fn a_guard_on_a_quotient_bounds_the_whole() {
        // i < n / 4 gives 4i + 3 < n.
        let mut k = Known::default();
        let (i, n) = (name("i"), name("n"));
        let guard = n.div_floor(4).unwrap().sub(&i).unwrap().offset(-1).unwrap();
        k.assume_nonneg(guard, Because::nothing());
        let goal = n.sub(&i.scale(4).unwrap()).unwrap();
        assert!(k.prove_nonneg(&goal.offset(-4).unwrap()).is_some());
        assert!(k.prove_nonneg(&goal.offset(-5).unwrap()).is_none());
    }

    #[test]
    fn a_guard_i_below_n_does_not_give_four_i_below_n() {
        let mut k = Known::default();
        let (i, n) = (name("i"), name("n"));
        k.bound(Atom::Name("i".into()), Interval::at_least(0), Because::nothing());
        k.assume_nonneg(n.sub(&i).unwrap().offset(-1).unwrap(), Because::nothing());
        assert!(k.prove_positive(&n).is_some());
        assert!(k.prove_nonneg(&n.sub(&i.scale(4).unwrap()).unwrap().offset(-4).unwrap()).is_none());
    }

    #[test]
    fn remainders_are_bounded() {
        let k = Known::default();
        let r = name("x").mod_floor(32).unwrap();
        assert_eq!(k.range(&r).0, Interval::new(0, 31));
        assert_eq!(k.range(&r.scale(4).unwrap().offset(1).unwrap()).0, Interval::new(1, 125));
        let mut k = Known::default();
        k.assume_zero(r.offset(-3).unwrap(), Because::nothing());
        assert_eq!(k.residue(32, &name("x")).unwrap().0, 3);
        assert!(k.residue(64, &name("x")).is_none());
    }
}
