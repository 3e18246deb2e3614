//! Intervals, and what is known of atoms on one path: bounds, inequalities and congruences with their reasons.

use std::sync::Arc;

use smallvec::SmallVec;

use super::atom::{Atom, Quotient};
use super::because::Because;
use super::bounds::Bounds;
use super::divide::{as_congruence, is_residue, remainder_is};
use super::interval::Interval;
use super::list::List;
use super::narrow::News;
use super::poly::Poly;
use super::search::Search;
use super::value::{Formula, type_range};

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
    pub(super) bounds: Arc<Bounds>,
    pub(super) nonneg: List<(Poly, Because)>,
    /// For each of them, whether its atoms were bounded anew since it was last found to tell nothing.
    pub(super) news: Arc<Vec<News>>,
    pub(super) congruent: List<Congruence>,
    pub(super) equal: List<(Poly, Because)>,
    pub(super) nonzero: List<(Poly, Because)>,
    pub(super) choices: List<(Vec<Formula>, Because)>,
}

/// One thing that is known at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stated {
    Bound(Atom, Interval),
    Holds(Formula),
    /// At least one of them holds.
    OneOf(Vec<Formula>),
    Leaves(Congruence),
}

pub(super) const MAX_CONSTRAINTS: usize = 200;
const SEARCH_DEPTH: u32 = 4;

impl Known {
    /// Everything that is known to be at least 0, apart from the bounds of single atoms.
    pub fn inequalities(&self) -> impl Iterator<Item = &Poly> {
        self.nonneg.iter().map(|(p, _)| p)
    }

    /// Everything that was stated, with its reasons.
    pub fn stated(&self) -> Vec<(Stated, &Because)> {
        let bounds = self.bounds.iter().map(|(a, (range, b))| (Stated::Bound(a.clone(), *range), b));
        let holds = |list: &List<(Poly, Because)>, as_formula: fn(Poly) -> Formula| -> Vec<Formula> {
            list.iter().map(|(p, _)| as_formula(p.clone())).collect()
        };
        let formulas = [
            (&self.nonneg, holds(&self.nonneg, Formula::NonNeg)),
            (&self.equal, holds(&self.equal, Formula::Zero)),
            (&self.nonzero, holds(&self.nonzero, Formula::NonZero)),
        ];
        let formulas = formulas.into_iter().flat_map(|(list, made)| made.into_iter().zip(list.iter().map(|(_, b)| b)));
        let choices = self.choices.iter().map(|(parts, b)| (Stated::OneOf(parts.clone()), b));
        let leaves = self.congruent.iter().map(|c| (Stated::Leaves(c.clone()), &c.because));
        bounds.chain(formulas.map(|(f, b)| (Stated::Holds(f), b))).chain(choices).chain(leaves).collect()
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
            self.equal.push((poly, because));
        }
    }

    /// States `poly != 0`.
    pub fn assume_nonzero(&mut self, poly: Poly, because: Because) {
        if self.nonzero.len() < MAX_CONSTRAINTS {
            self.nonzero.push((poly, because));
        }
    }

    pub fn assume_congruent(&mut self, poly: Poly, modulus: i128, residue: i128, because: Because) {
        if modulus > 1 && self.congruent.len() < MAX_CONSTRAINTS {
            self.congruent.push(Congruence { poly, modulus, residue: residue.rem_euclid(modulus), because });
        }
    }

    /// Keeps "one of these holds", as in the arm where `a && b` failed.
    pub fn remember_choice(&mut self, parts: Vec<Formula>, because: Because) {
        if self.choices.len() < MAX_CONSTRAINTS {
            self.choices.push((parts, because));
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

    /// The values that an atom can take.
    pub(super) fn atom_range(&self, atom: &Atom, why: &mut impl Reasons) -> Interval {
        let range = match self.bounds.get(atom) {
            Some((range, because)) => {
                why.join(because);
                *range
            }
            None => Interval::ALL,
        };
        range.meet(match atom {
            Atom::Iter(_) => Interval::at_least(0),
            Atom::Div(q) => self.range_for(&q.inner, why).floor_div(q.divisor),
            Atom::Address(_) => Interval::new(0, i128::from(u64::MAX)),
            Atom::Fun(call) => self.function_range(&call.name, &call.args, why),
            other => type_of(other),
        })
    }

    fn function_range(&self, name: &str, args: &[Poly], why: &mut impl Reasons) -> Interval {
        let mut of = |p: &Poly| self.range_for(p, why);
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
                let positive = [of(a), of(b)].into_iter().filter(|r| r.lo.is_some_and(|l| l >= 0));
                let tops: SmallVec<[Option<i128>; 2]> = positive.map(|r| r.hi).collect();
                let hi = tops.iter().flatten().min().copied();
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

    pub(super) fn range_of_product(&self, m: &[Atom], why: &mut impl Reasons) -> Interval {
        let [first, rest @ ..] = m else { return Interval::point(1) };
        let mut product = self.atom_range(first, why).factor();
        for atom in rest {
            // An even power is no more than a product here; equal neighbours give a square, which is never negative.
            product = product.product(self.atom_range(atom, why));
            if m.len() == 2 && m[0] == m[1] {
                product = product.meet(Interval::at_least(0));
            }
        }
        if is_block_volume(m) {
            product = product.meet(Interval::new(1, 1024));
            why.assuming("standing:block-limit");
        }
        product
    }

    pub(super) fn range_of_terms(&self, poly: &Poly, why: &mut impl Reasons) -> Interval {
        poly.terms().fold(Interval::point(0), |sum, (m, c)| sum.plus(self.range_of_product(m, why).times(c)))
    }

    /// The values that `poly` can take.
    pub fn range(&self, poly: &Poly) -> (Interval, Because) {
        let mut why = Because::nothing();
        (self.range_for(poly, &mut why), why)
    }

    /// The values that `poly` can take, for those who do not ask why.
    pub fn interval(&self, poly: &Poly) -> Interval {
        self.range_for(poly, &mut Unasked)
    }

    fn range_for<R: Reasons>(&self, poly: &Poly, why: &mut R) -> Interval {
        let mut range = self.range_of_terms(poly, why);
        if !poly.has_quotient_factor() {
            return range;
        }
        // inner - d * floor(inner / d) is within [0, d): tighter than term by term.
        for atom in poly.factors() {
            let Atom::Div(q) = &atom else { continue };
            let Quotient { inner, divisor: d } = &**q;
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
                let mut more = R::default();
                let r = self.range_of_terms(&rest, &mut more);
                let tighter = range.meet(r.plus(Interval::new(0, d - 1).times(times)));
                if tighter != range {
                    range = tighter;
                    why.take(&more);
                }
            }
        }
        range
    }

    /// Why `poly >= 0`, where that can be shown from bounds and at most a few of the inequalities.
    pub fn prove_nonneg(&self, poly: &Poly) -> Option<Because> {
        Search::over(self).from(poly, SEARCH_DEPTH)
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

/// Collects the reasons of a range; [`Unasked`] is for those who want the range alone.
pub(super) trait Reasons: Default {
    fn join(&mut self, because: &Because);
    fn assuming(&mut self, id: &'static str);
    fn take(&mut self, other: &Self);
}

#[derive(Default)]
pub(super) struct Unasked;

impl Reasons for Unasked {
    fn join(&mut self, _: &Because) {}
    fn assuming(&mut self, _: &'static str) {}
    fn take(&mut self, _: &Self) {}
}

impl Reasons for Because {
    fn join(&mut self, because: &Because) {
        Because::join(self, because);
    }
    fn assuming(&mut self, id: &'static str) {
        Because::join(self, &Because::assuming(id));
    }
    fn take(&mut self, other: &Self) {
        Because::join(self, other);
    }
}

/// What the type of an atom alone says.
pub(super) fn type_of(atom: &Atom) -> Interval {
    match atom {
        Atom::Version(_, _, ty) | Atom::Opaque(_, ty) => type_range(*ty),
        _ => Interval::ALL,
    }
}

fn is_block_volume(m: &[Atom]) -> bool {
    let axis = |a: &Atom| if let Atom::BlockDim(x) = a { Some(*x) } else { None };
    m.iter().all(|a| axis(a).is_some()) && m.windows(2).all(|w| w[0] != w[1])
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
        assert_eq!(k.prove_divides(4, &flat).unwrap().assumptions().len(), 1);
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
