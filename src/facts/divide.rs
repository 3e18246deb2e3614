//! Divisibility of polynomials, from congruences of atoms and of whole expressions.

use super::atom::{Atom, Quotient};
use super::because::Because;
use super::poly::{Poly, gcd};
use super::range::{Congruence, Known};

impl Known {
    /// Why `divisor` does not divide `poly`: a residue that is known, or a test that failed.
    pub fn prove_not_divides(&self, divisor: i128, poly: &Poly) -> Option<Because> {
        match self.residue(divisor, poly) {
            Some((r, why)) => (r != 0).then_some(why),
            None => self.failed_division(divisor, poly),
        }
    }

    /// Why `divisor` does not divide `poly`, whose residue is not known: a test that failed.
    pub(super) fn failed_division(&self, divisor: i128, poly: &Poly) -> Option<Because> {
        for (p, why) in self.nonzero.iter() {
            let Some((inner, modulus, residue)) = as_congruence(p) else { continue };
            // modulus does not divide inner - residue; if divisor divided poly = inner - residue, so would modulus.
            if divisor % modulus == 0 && inner.offset(-residue).is_some_and(|i| i == *poly) {
                return Some(why.clone());
            }
        }
        None
    }

    /// Why `divisor` divides `poly`.
    pub fn prove_divides(&self, divisor: i128, poly: &Poly) -> Option<Because> {
        self.residue(divisor, poly).and_then(|(r, why)| (r == 0).then_some(why))
    }

    /// `poly mod divisor` where it is one known value, and why.
    pub fn residue(&self, divisor: i128, poly: &Poly) -> Option<(i128, Because)> {
        if divisor <= 0 {
            return None;
        }
        let mut because = Because::nothing();
        let mut reduced = self.unwrap_words(divisor, poly)?;
        // Known values and residues of single atoms.
        for atom in reduced.factors() {
            let Some((modulus, residue, why)) = self.atom_residue(&atom, divisor) else { continue };
            // atom = modulus * fresh + residue. Only what the modulus leaves of the divisor matters, so the fresh part
            // is named after the atom and cannot be confused with another.
            let fresh = Poly::atom(Atom::fun("part", vec![Poly::atom(atom.clone()), Poly::constant(modulus)]));
            let value = fresh.scale(modulus)?.offset(residue)?;
            reduced = reduced.substitute_factor(&atom, &value)?;
            because.join(&why);
        }
        // Then congruences of whole expressions.
        for step in 0..8 {
            let rest = reduced.reduced(divisor);
            if let Some(c) = rest.as_constant() {
                return Some((c.rem_euclid(divisor), because));
            }
            let before = rest.clone();
            reduced = rest;
            for known in self.congruent.iter() {
                if known.modulus % divisor != 0 && gcd(known.modulus, divisor) == 1 {
                    continue;
                }
                if let Some(next) = cancel(&reduced, known, divisor) {
                    reduced = next.reduced(divisor);
                    because.join(&known.because);
                }
            }
            if reduced == before || step == 7 {
                return reduced.as_constant().map(|c| (c.rem_euclid(divisor), because));
            }
        }
        None
    }

    /// A value modulo 2^32 is congruent to what was wrapped, as long as the divisor is a power of two up to that.
    pub(super) fn unwrap_words(&self, divisor: i128, poly: &Poly) -> Option<Poly> {
        if divisor & (divisor - 1) != 0 || divisor > 1 << 32 {
            return Some(poly.clone());
        }
        let mut current = poly.clone();
        for _ in 0..4 {
            if !current.has_factor(|a| matches!(a, Atom::Fun(_))) {
                break;
            }
            let inner = |a: &Atom| a.args_of("wrap.u32")?.first().cloned();
            let wrapped = current.factors().into_iter().find_map(|a| inner(&a).map(|inner| (a, inner)));
            let Some((atom, inner)) = wrapped else { break };
            current = current.substitute_factor(&atom, &inner)?;
        }
        Some(current)
    }

    /// A modulus and residue known for one atom, the most useful for `divisor`.
    pub(super) fn atom_residue(&self, atom: &Atom, divisor: i128) -> Option<(i128, i128, Because)> {
        let mut why = Because::nothing();
        let range = self.atom_range(atom, &mut why);
        if let (Some(lo), Some(hi)) = (range.lo, range.hi)
            && lo == hi
        {
            return Some((divisor, lo.rem_euclid(divisor), why));
        }
        let mut best: Option<(i128, i128, Because)> = None;
        for c in self.congruent.iter().filter(|c| c.poly.as_atom() == Some(atom)) {
            let useful = gcd(c.modulus, divisor);
            if useful > best.as_ref().map_or(1, |b| gcd(b.0, divisor)) {
                best = Some((c.modulus, c.residue, c.because.clone()));
            }
        }
        best
    }
}

/// Takes a multiple of a known congruence away so that one product vanishes modulo `divisor`.
fn cancel(poly: &Poly, known: &Congruence, divisor: i128) -> Option<Poly> {
    for (m, c) in known.poly.terms() {
        if m.is_empty() || c == 0 {
            continue;
        }
        for (n, own) in poly.terms() {
            // n may contain m and further factors: (cols)*row is a multiple of cols.
            let mut extra: Vec<Atom> = n.to_vec();
            let mut whole = true;
            for a in m {
                match extra.iter().position(|e| e == a) {
                    Some(i) => drop(extra.remove(i)),
                    None => whole = false,
                }
            }
            if !whole || own % c != 0 {
                continue;
            }
            let mut factor = Poly::constant(own / c);
            for a in extra {
                factor = factor.mul(&Poly::atom(a))?;
            }
            // factor * (known - residue) is a multiple of factor * modulus, hence droppable if that covers divisor.
            if factor.content().checked_mul(known.modulus)? % divisor != 0 {
                continue;
            }
            let taken = known.poly.offset(-known.residue)?.mul(&factor)?;
            return poly.sub(&taken);
        }
    }
    None
}

/// Reads `inner - d*floor(inner/d) - r == 0` as `inner = r (mod d)`.
pub(super) fn as_congruence(poly: &Poly) -> Option<(Poly, i128, i128)> {
    if !poly.has_factor(|a| matches!(a, Atom::Div(_) | Atom::Fun(_))) {
        return None;
    }
    // n % d as C has it, where the sign of n is not known: zero in both senses at once, any other remainder is not.
    for sign in [1, -1] {
        if let Some([inner, d]) = poly.scale(sign)?.as_atom().and_then(|a| a.args_of("rem"))
            && let Some(d) = d.as_constant().filter(|d| *d > 0)
        {
            return Some((inner.clone(), d, 0));
        }
    }
    for sign in [1, -1] {
        let p = poly.scale(sign)?;
        for atom in p.factors() {
            let Atom::Div(q) = &atom else { continue };
            let Quotient { inner, divisor: d } = &**q;
            if p.coefficient(&atom)?.as_constant()? != -*d {
                continue;
            }
            let rest = p.add(&Poly::atom(atom.clone()).scale(*d)?)?.sub(inner)?;
            if let Some(r) = rest.as_constant() {
                return Some((inner.clone(), *d, (-r).rem_euclid(*d)));
            }
        }
    }
    None
}

/// Reads `n % d - c == 0` with C's remainder: `n = c (mod d)` whatever the signs. The converse does not hold.
pub(super) fn remainder_is(poly: &Poly) -> Option<(Poly, i128, i128)> {
    if !poly.has_factor(|a| matches!(a, Atom::Fun(_))) {
        return None;
    }
    for sign in [1, -1] {
        let p = poly.scale(sign)?;
        let c = p.constant_term();
        let rest = p.offset(c.checked_neg()?)?;
        if let Some([inner, d]) = rest.as_atom().and_then(|a| a.args_of("rem"))
            && let Some(d) = d.as_constant().filter(|d| *d > 0)
        {
            return Some((inner.clone(), d, c.checked_neg()?.rem_euclid(d)));
        }
    }
    None
}

/// Whether the polynomial is a remainder, plus a constant.
pub(super) fn is_residue(poly: &Poly) -> bool {
    as_congruence(poly).is_some()
}
