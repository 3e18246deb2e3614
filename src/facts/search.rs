//! Why a polynomial is not negative: a search through sums of the inequalities that are known.

use std::collections::BTreeSet;

use smallvec::SmallVec;

use super::atom::Atom;
use super::because::Because;
use super::poly::Poly;
use super::range::Known;

/// Some quotients, and the inequalities that hold of them.
type Quotients = (BTreeSet<Atom>, Vec<(Poly, Because)>);

/// A search for a sum of inequalities.
pub(super) struct Search<'k> {
    known: &'k Known,
    /// The inequalities that are known.
    nonneg: SmallVec<[&'k (Poly, Because); 32]>,
    /// Quotients that stand in the inequalities, and what holds of them; made when first needed.
    quotients: Option<Quotients>,
    budget: u32,
}

impl<'k> Search<'k> {
    pub(super) fn over(known: &'k Known) -> Search<'k> {
        Search { known, nonneg: SmallVec::new(), quotients: None, budget: 400 }
    }

    /// Why `poly >= 0`, from its range and at most `depth` inequalities.
    pub(super) fn from(&mut self, poly: &Poly, depth: u32) -> Option<Because> {
        if self.known.interval(poly).lo.is_some_and(|lo| lo >= 0) {
            return Some(self.known.range(poly).1);
        }
        if depth == 0 || self.budget == 0 {
            return None;
        }
        self.budget -= 1;
        if self.nonneg.is_empty() {
            self.nonneg = self.known.nonneg.iter().collect();
        }
        let quotients = self.constraints(poly);
        // An inequality without an atom of the polynomial cancels nothing.
        let marks = poly.factor_marks();
        let related = self.nonneg.clone().into_iter().zip(self.known.news.iter());
        let related = related.filter(|(_, news)| news.may_mention(marks)).map(|(known, _)| known);
        for (q, why) in related.chain(&quotients) {
            // Take away a multiple of q that cancels a product that q and poly share with the same sign.
            for (m, c) in q.terms() {
                let own = poly.coefficient_of(m);
                if m.is_empty() || own.signum() != c.signum() || own % c != 0 {
                    continue;
                }
                let Some(rest) = q.scale(own / c).and_then(|s| poly.sub(&s)) else { continue };
                if let Some(found) = self.from(&rest, depth - 1) {
                    return Some(found.and(why));
                }
            }
        }
        None
    }

    /// What holds of the quotients in `poly` and in the inequalities.
    fn constraints(&mut self, poly: &Poly) -> Vec<(Poly, Because)> {
        let nonneg = &self.nonneg;
        let (all, known) = self.quotients.get_or_insert_with(|| {
            if !nonneg.iter().any(|(q, _)| q.has_quotient_factor()) {
                return Quotients::default();
            }
            let atoms: BTreeSet<Atom> = nonneg.iter().flat_map(|(q, _)| q.quotient_factors()).collect();
            let found = of_quotients(&atoms);
            (atoms, found)
        });
        if !poly.has_quotient_factor() {
            return known.clone();
        }
        let own: BTreeSet<Atom> = poly.quotient_factors().collect();
        if own.is_subset(all) { known.clone() } else { of_quotients(&all.union(&own).cloned().collect()) }
    }
}

/// `inner - d*q >= 0` and `d*q + d - 1 - inner >= 0` for each quotient.
fn of_quotients(atoms: &BTreeSet<Atom>) -> Vec<(Poly, Because)> {
    let mut found = vec![];
    for atom in atoms {
        let Atom::Div(q) = atom else { continue };
        let low = Poly::atom(atom.clone()).scale(q.divisor).and_then(|p| q.inner.sub(&p));
        let high = low.as_ref().and_then(|l| Poly::constant(q.divisor - 1).sub(l));
        found.extend([low, high].into_iter().flatten().map(|p| (p, Because::nothing())));
    }
    found
}
