//! Polynomials with other things, or numbers, in the place of atoms.

use super::atom::Atom;
use super::poly::{Poly, function};
use super::product::Product;

impl Poly {
    /// Replaces `atom` everywhere, also inside quotients and functions.
    pub fn substitute(&self, atom: &Atom, value: &Poly) -> Option<Poly> {
        let with = |m: &Product| m.iter().any(|a| a.mentions(atom));
        self.map_atoms_of(&with, &|a| (a == atom).then(|| value.clone()))
    }

    /// Replaces `atom` where it is a factor, leaving quotients and functions that contain it alone.
    pub fn substitute_factor(&self, atom: &Atom, value: &Poly) -> Option<Poly> {
        let with = |m: &Product| m.contains(atom);
        self.map_atoms_of(&with, &|a| Some(if a == atom { value.clone() } else { Poly::atom(a.clone()) }))
    }

    /// The terms whose coefficient `divisor` does not divide, with what it leaves of each.
    pub fn reduced(&self, divisor: i128) -> Poly {
        let left = self.terms.iter().map(|(m, c)| (m, c.rem_euclid(divisor)));
        Poly::from_sorted(left.filter(|(_, c)| *c != 0).map(|(m, c)| (m.clone(), c)).collect())
    }

    /// Rebuilds the polynomial with `map(atom)` in place of each atom for which it gives something.
    pub fn map_atoms(&self, map: &dyn Fn(&Atom) -> Option<Poly>) -> Option<Poly> {
        self.map_atoms_of(&|_| true, map)
    }

    /// The same for the terms of which `touched` is true; the others stay.
    fn map_atoms_of(&self, touched: &dyn Fn(&Product) -> bool, map: &dyn Fn(&Atom) -> Option<Poly>) -> Option<Poly> {
        if !self.terms.iter().any(|(m, _)| touched(m)) {
            return Some(self.clone());
        }
        let mut sum = Poly::from_sorted(self.terms.iter().filter(|(m, _)| !touched(m)).cloned().collect());
        for (m, c) in self.terms.iter().filter(|(m, _)| touched(m)) {
            let mut product = Poly::constant(*c);
            for a in m {
                let factor = match (map(a), a) {
                    (Some(p), _) => p,
                    (None, Atom::Div(q)) => q.inner.map_atoms(map)?.div_floor(q.divisor)?,
                    (None, Atom::Fun(call)) => {
                        let args = call.args.iter().map(|p| p.map_atoms(map)).collect::<Option<Vec<_>>>()?;
                        function(&call.name, args)?
                    }
                    (None, other) => Poly::atom(other.clone()),
                };
                product = product.mul(&factor)?;
            }
            sum = sum.add(&product)?;
        }
        Some(sum)
    }

    /// The terms in which an atom that `test` holds for stands, at any depth.
    pub fn terms_with(&self, test: &impl Fn(&Atom) -> bool) -> Poly {
        let with = |a: &Atom| {
            test(a)
                || match a {
                    Atom::Div(q) => q.inner.any_atom(test),
                    Atom::Fun(call) => call.args.iter().any(|p| p.any_atom(test)),
                    _ => false,
                }
        };
        Poly::from_sorted(self.terms.iter().filter(|(m, _)| m.iter().any(with)).cloned().collect())
    }

    /// The number that the polynomial is where `value` gives one for every atom but quotients and functions.
    pub fn evaluate(&self, value: &dyn Fn(&Atom) -> Option<i128>) -> Option<i128> {
        let of = |a: &Atom| match (value(a), a) {
            (Some(v), _) => Some(v),
            (None, Atom::Div(q)) => q.inner.evaluate(value)?.checked_div_euclid(q.divisor),
            (None, Atom::Fun(call)) => {
                let args = call.args.iter().map(|p| p.evaluate(value).map(Poly::constant)).collect::<Option<_>>()?;
                function(&call.name, args)?.as_constant()
            }
            _ => None,
        };
        self.terms.iter().try_fold(0i128, |sum, (m, c)| {
            let product = m.iter().try_fold(*c, |product, a| product.checked_mul(of(a)?))?;
            sum.checked_add(product)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(n: &str) -> Poly {
        Poly::atom(Atom::Name(n.into()))
    }

    /// Sums, products, quotients and functions of `a` and `b`.
    fn samples() -> Vec<Poly> {
        let (a, b) = (name("a"), name("b"));
        let sum = a.scale(6).and_then(|p| p.add(&b)).and_then(|p| p.offset(-7)).expect("small");
        let square = a.mul(&a).and_then(|p| p.add(&b.scale(3)?)).expect("small");
        let quotient = sum.div_floor(4).expect("small");
        let remainder = b.mod_floor(8).and_then(|p| p.add(&a)).expect("small");
        let xor = function("bit.xor", vec![a.clone(), b.clone()]).and_then(|p| p.add(&b)).expect("small");
        let nested = quotient.mul(&b).and_then(|p| p.offset(1)).and_then(|p| p.div_floor(3)).expect("small");
        vec![sum, square, quotient, remainder, xor, nested, Poly::constant(5), Poly::zero(), b]
    }

    #[test]
    fn numbers_are_those_of_substitution() {
        for poly in samples() {
            for (a, b) in [(0, 0), (1, 5), (-3, 12), (31, -8), (1000, 77)] {
                let value = |atom: &Atom| match atom {
                    Atom::Name(n) => Some(if &**n == "a" { a } else { b }),
                    _ => None,
                };
                let put = |p: Poly, n: &str, v| p.substitute(&Atom::Name(n.into()), &Poly::constant(v));
                let written = put(poly.clone(), "a", a).and_then(|p| put(p, "b", b));
                assert_eq!(poly.evaluate(&value), written.and_then(|p| p.as_constant()), "{poly:?} at {a}, {b}");
            }
        }
        assert_eq!(name("a").evaluate(&|_| None), None);
    }

    #[test]
    fn terms_that_are_left_alone_are_as_if_rebuilt() {
        let (a, value) = (Atom::Name("a".into()), name("c").offset(2).expect("small"));
        for poly in samples() {
            let rebuilt = poly.map_atoms(&|x| (*x == a).then(|| value.clone()));
            assert_eq!(poly.substitute(&a, &value), rebuilt, "{poly:?}");
            let factors = poly.map_atoms(&|x| Some(if *x == a { value.clone() } else { Poly::atom(x.clone()) }));
            assert_eq!(poly.substitute_factor(&a, &value), factors, "{poly:?}");
            for divisor in [1, 2, 3, 32] {
                let difference = poly.sub(&poly.reduced(divisor)).expect("small");
                assert!(difference.terms().all(|(_, c)| c % divisor == 0), "{poly:?} by {divisor}");
                assert!(poly.reduced(divisor).terms().all(|(_, c)| (1..divisor).contains(&c)), "{poly:?} by {divisor}");
            }
        }
    }

    #[test]
    fn terms_with_an_atom_are_found_at_any_depth() {
        let is_a = |x: &Atom| *x == Atom::Name("a".into());
        let count: Vec<usize> = samples().iter().map(|p| p.terms_with(&is_a).terms().count()).collect();
        // `6a + b - 7` has one; so has its quotient by 4 with the whole part `a` beside it: two.
        assert_eq!(count, [1, 1, 2, 1, 1, 1, 0, 0, 0]);
    }
}
