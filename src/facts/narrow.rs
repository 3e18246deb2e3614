//! How bounds of atoms follow from inequalities, round by round.

use std::sync::Arc;

use smallvec::SmallVec;

use super::atom::Atom;
use super::because::Because;
use super::interval::Interval;
use super::poly::Poly;
use super::range::{Known, MAX_CONSTRAINTS, Unasked, type_of};

/// Sets of atoms by their marks ([`Atom::mark`]): too large at worst, since several atoms have one mark.
#[derive(Clone, Copy, Debug)]
pub(super) struct News {
    /// The atoms of an inequality, at any depth.
    atoms: u64,
    /// The atoms bounded anew.
    bounded: u64,
}

impl News {
    /// Whether one of the atoms with these marks may stand in the inequality.
    pub(super) fn may_mention(&self, marks: u64) -> bool {
        self.atoms & marks != 0
    }
}

impl Known {
    /// States the range of an atom, narrowing what was known.
    pub fn bound(&mut self, atom: Atom, to: Interval, because: Because) {
        let before = self.bounds.get(&atom).map_or_else(|| type_of(&atom), |(range, _)| *range);
        let met = before.meet(to);
        if met == before {
            return;
        }
        let mark = atom.mark();
        Arc::make_mut(&mut self.news).iter_mut().for_each(|n| n.bounded |= mark);
        if let Some(known) = Arc::make_mut(&mut self.bounds).entry(atom, before) {
            known.0 = met;
            known.1.join(&because);
        }
    }

    /// States `poly >= 0`.
    pub fn assume_nonneg(&mut self, poly: Poly, because: Because) {
        if self.nonneg.len() >= MAX_CONSTRAINTS || poly.as_constant().is_some() {
            return;
        }
        Arc::make_mut(&mut self.news).push(News { atoms: poly.marks(), bounded: u64::MAX });
        self.nonneg.push((poly, because));
        // Two rounds over all constraints carry a bound through a short chain.
        let constraints = self.nonneg.clone();
        let constraints: SmallVec<[&(Poly, Because); 32]> = constraints.iter().collect();
        for _ in 0..2 {
            let mut changed = false;
            let mut next = self.next_with_news(0);
            while let Some(i) = next {
                if let Some((p, b)) = constraints.get(i) {
                    changed |= self.narrow(p, b);
                }
                next = self.next_with_news(i + 1);
            }
            if !changed {
                break;
            }
        }
    }

    /// The first inequality from `start` on that can tell more than the last time, whose news are taken with that: what
    /// it says depends on the bounds of its atoms alone.
    fn next_with_news(&mut self, start: usize) -> Option<usize> {
        let has_news = |n: &News| n.atoms & n.bounded != 0;
        let found = start + self.news.get(start..)?.iter().position(has_news)?;
        if let Some(news) = Arc::make_mut(&mut self.news).get_mut(found) {
            news.bounded = 0;
        }
        Some(found)
    }

    /// Bounds each atom of `poly >= 0` by the ranges of the others; whether that told something.
    fn narrow(&mut self, poly: &Poly, because: &Because) -> bool {
        // Only the upper ends matter: where one of the others has none, nothing follows for an atom.
        let tops = |known: &Known| -> SmallVec<[Option<i128>; 8]> {
            poly.terms().map(|(m, c)| known.range_of_product(m, &mut Unasked).times(c).hi).collect()
        };
        let mut terms = tops(self);
        let mut changed = false;
        for (i, (m, c)) in poly.terms().enumerate() {
            let [atom] = m else { continue };
            let mut others = terms.iter().enumerate().filter(|(j, _)| *j != i);
            let rest = others.try_fold(0i128, |sum, (_, top)| sum.checked_add((*top)?));
            // c * atom >= -rest >= -range.hi
            let Some(least) = rest.and_then(i128::checked_neg) else { continue };
            let Some(to) = at_least_divided(least, c) else { continue };
            let now = self.bounds.get(atom).map_or_else(|| type_of(atom), |(range, _)| *range);
            if now.meet(to) == now {
                continue;
            }
            let Some(rest) = Poly::atom(atom.clone()).scale(c).and_then(|own| poly.sub(&own)) else { continue };
            if rest.mentions(atom) {
                continue;
            }
            let mut why = Because::nothing();
            self.range_of_terms(&rest, &mut why);
            self.bound(atom.clone(), to, why.and(because));
            changed = true;
            terms = tops(self);
        }
        changed
    }
}

/// The atoms for which `c * atom >= least`.
fn at_least_divided(least: i128, c: i128) -> Option<Interval> {
    if c > 0 {
        return Some(Interval { lo: Some(ceil_div(least, c)), hi: None });
    }
    let top = least.checked_neg()?;
    Some(Interval { lo: None, hi: c.checked_neg().map(|d| top.div_euclid(d)) })
}

fn ceil_div(a: i128, b: i128) -> i128 {
    a.div_euclid(b) + i128::from(a.rem_euclid(b) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that only look random.
    struct Dice(u64);

    impl Dice {
        fn roll(&mut self, sides: i128) -> i128 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            i128::from(self.0 >> 33) % sides
        }

        fn atom(&mut self) -> Poly {
            let name = Poly::atom(Atom::Name(format!("n{}", self.roll(4)).into()));
            match self.roll(5) {
                0 => name.div_floor(2 + self.roll(5)).expect("small"),
                1 => Poly::atom(Atom::fun("min", vec![name, Poly::constant(self.roll(9))])),
                _ => name,
            }
        }

        fn poly(&mut self) -> Poly {
            let terms = 1 + self.roll(3);
            (0..terms).fold(Poly::constant(self.roll(21) - 10), |sum, _| {
                let (factor, mut term) = (self.roll(7) - 3, self.atom());
                if self.roll(4) == 0 {
                    term = term.mul(&self.atom()).expect("small");
                }
                term.scale(factor).and_then(|t| sum.add(&t)).expect("small")
            })
        }
    }

    /// Narrows by every inequality in both rounds, whether it can tell anything or not.
    fn assume_plainly(known: &mut Known, poly: Poly, because: Because) {
        if known.nonneg.len() >= MAX_CONSTRAINTS || poly.as_constant().is_some() {
            return;
        }
        known.nonneg.push((poly, because));
        let constraints = known.nonneg.clone();
        for _ in 0..2 {
            if !constraints.iter().fold(false, |changed, (p, b)| known.narrow(p, b) || changed) {
                break;
            }
        }
    }

    #[test]
    fn leaving_out_what_tells_nothing_new_changes_no_bound() {
        let mut dice = Dice(7);
        let mut narrowed = 0;
        for _ in 0..60 {
            let (mut one, mut other) = (Known::default(), Known::default());
            for step in 0..14 {
                let because = Because::assuming(format!("step {step}"));
                if dice.roll(4) == 0 {
                    let atom = Atom::Name(format!("n{}", dice.roll(4)).into());
                    let to = Interval::new(-dice.roll(9), dice.roll(90));
                    one.bound(atom.clone(), to, because.clone());
                    other.bound(atom, to, because);
                } else {
                    let poly = dice.poly();
                    one.assume_nonneg(poly.clone(), because.clone());
                    assume_plainly(&mut other, poly, because);
                }
                assert_eq!(one.bounds, other.bounds);
            }
            narrowed += one.bounds.len();
        }
        assert!(narrowed > 100, "the dice gave {narrowed} bounds, too few to tell");
    }
}
