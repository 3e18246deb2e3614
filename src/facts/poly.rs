//! Integer polynomials over symbolic atoms, in one canonical form, with checked coefficients.
//!
//! A polynomial stands for a mathematical integer. Every operation that would overflow or grow past a limit gives
//! `None`, which callers turn into "unknown".

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

use smallvec::SmallVec;

use super::atom::Atom;
use super::product::Product;

const MAX_TERMS: usize = 96;
const MAX_DEGREE: usize = 6;
const MAX_NESTING: usize = 8;

pub(super) type Term = (Product, i128);

/// A sum of products; no stored coefficient is zero, the products are sorted and distinct.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Poly {
    /// Shared, for facts are copied far more often than they change.
    pub(super) terms: Arc<[Term]>,
}

impl Poly {
    pub fn constant(value: i128) -> Poly {
        if value == 0 { Poly::default() } else { Poly { terms: Arc::new([(Product::new(), value)]) } }
    }

    pub fn atom(atom: Atom) -> Poly {
        Poly { terms: Arc::new([(Product::atom(atom), 1)]) }
    }

    /// From terms whose products are sorted and distinct.
    pub(super) fn from_sorted(terms: Vec<Term>) -> Poly {
        Poly { terms: terms.into() }
    }

    /// From products in any order; `None` where a coefficient overflows.
    fn from_products(mut products: Vec<Term>) -> Option<Poly> {
        products.sort_by(|a, b| a.0.cmp(&b.0));
        let mut terms: Vec<Term> = Vec::with_capacity(products.len());
        for (m, c) in products {
            match terms.last_mut() {
                Some((last, sum)) if *last == m => *sum = sum.checked_add(c)?,
                _ => terms.push((m, c)),
            }
        }
        terms.retain(|(_, c)| *c != 0);
        (terms.len() <= MAX_TERMS).then(|| Poly::from_sorted(terms))
    }

    pub fn zero() -> Poly {
        Poly::default()
    }

    pub fn terms(&self) -> impl Iterator<Item = (&[Atom], i128)> {
        self.terms.iter().map(|(m, c)| (&**m, *c))
    }

    pub fn is_zero(&self) -> bool {
        self.terms.is_empty()
    }

    pub fn as_constant(&self) -> Option<i128> {
        match &*self.terms {
            [] => Some(0),
            [(m, c)] if m.is_empty() => Some(*c),
            _ => None,
        }
    }

    /// The atom, where the polynomial is nothing else.
    pub fn as_atom(&self) -> Option<&Atom> {
        match &*self.terms {
            [(m, 1)] if m.len() == 1 => m.first(),
            _ => None,
        }
    }

    /// The coefficient of the empty product, which stands first.
    pub fn constant_term(&self) -> i128 {
        self.terms.first().filter(|(m, _)| m.is_empty()).map_or(0, |(_, c)| *c)
    }

    /// The coefficient of a product of sorted atoms; 0 where it does not occur.
    pub fn coefficient_of(&self, product: &[Atom]) -> i128 {
        let at = self.terms.binary_search_by(|(m, _)| (**m).cmp(product));
        at.ok().and_then(|i| self.terms.get(i)).map_or(0, |(_, c)| *c)
    }

    /// `self + factor * other`.
    fn add_scaled(&self, other: &Poly, factor: i128) -> Option<Poly> {
        if other.is_zero() || factor == 0 {
            return Some(self.clone());
        }
        let (mut a, mut b) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        let mut terms: Vec<Term> = Vec::with_capacity(self.terms.len() + other.terms.len());
        loop {
            let order = match (a.peek(), b.peek()) {
                (None, None) => break,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((m, _)), Some((n, _))) => m.cmp(n),
            };
            let left = if order == Ordering::Greater { None } else { a.next() };
            let right = if order == Ordering::Less { None } else { b.next() };
            let add = right.map_or(Some(0), |(_, c)| c.checked_mul(factor))?;
            let sum = left.map_or(0, |(_, c)| *c).checked_add(add)?;
            if let Some((m, _)) = left.or(right).filter(|_| sum != 0) {
                terms.push((m.clone(), sum));
            }
        }
        (terms.len() <= MAX_TERMS).then(|| Poly::from_sorted(terms))
    }

    pub fn add(&self, other: &Poly) -> Option<Poly> {
        if self.is_zero() { Some(other.clone()) } else { self.add_scaled(other, 1) }
    }

    pub fn scale(&self, factor: i128) -> Option<Poly> {
        match factor {
            0 => Some(Poly::zero()),
            1 => Some(self.clone()),
            _ => {
                let scaled = self.terms.iter().map(|(m, c)| Some((m.clone(), c.checked_mul(factor)?)));
                Some(Poly::from_sorted(scaled.collect::<Option<Vec<Term>>>()?))
            }
        }
    }

    pub fn neg(&self) -> Option<Poly> {
        self.scale(-1)
    }

    pub fn sub(&self, other: &Poly) -> Option<Poly> {
        self.add_scaled(other, -1)
    }

    pub fn offset(&self, by: i128) -> Option<Poly> {
        self.add(&Poly::constant(by))
    }

    pub fn mul(&self, other: &Poly) -> Option<Poly> {
        match (self.as_constant(), other.as_constant()) {
            (Some(c), _) => return other.scale(c),
            (_, Some(c)) => return self.scale(c),
            _ => {}
        }
        if self.terms.len().saturating_mul(other.terms.len()) > 4 * MAX_TERMS {
            return None;
        }
        let mut products = Vec::with_capacity(self.terms.len() * other.terms.len());
        for (m, c) in self.terms.iter() {
            for (n, d) in other.terms.iter() {
                if m.len() + n.len() > MAX_DEGREE {
                    return None;
                }
                products.push((m.times(n), c.checked_mul(*d)?));
            }
        }
        Poly::from_products(products)
    }

    /// `floor(self / divisor)` for a positive divisor; whole multiples leave the quotient.
    pub fn div_floor(&self, divisor: i128) -> Option<Poly> {
        if divisor <= 0 {
            return None;
        }
        let (mut whole, mut rest) = (vec![], vec![]);
        for (m, c) in self.terms.iter() {
            let (q, r) = (c.div_euclid(divisor), c.rem_euclid(divisor));
            if q != 0 {
                whole.push((m.clone(), q));
            }
            if r != 0 {
                rest.push((m.clone(), r));
            }
        }
        let (whole, rest) = (Poly::from_sorted(whole), Poly::from_sorted(rest));
        match rest.as_constant() {
            Some(r) if r < divisor => Some(whole),
            _ if rest.nesting() >= MAX_NESTING => None,
            _ => whole.add(&Poly::atom(Atom::div(rest, divisor))),
        }
    }

    /// The remainder in `[0, divisor)`, as `self - divisor * floor(self / divisor)`.
    pub fn mod_floor(&self, divisor: i128) -> Option<Poly> {
        self.sub(&self.div_floor(divisor)?.scale(divisor)?)
    }

    pub fn nesting(&self) -> usize {
        let of = |a: &Atom| match a {
            Atom::Div(q) => 1 + q.inner.nesting(),
            Atom::Fun(call) => 1 + call.args.iter().map(Poly::nesting).max().unwrap_or(0),
            _ => 0,
        };
        self.terms.iter().flat_map(|(m, _)| m).map(of).max().unwrap_or(0)
    }

    /// Atoms that appear as factors, not those inside quotients and functions; sorted, each once.
    pub(super) fn factors(&self) -> SmallVec<[Atom; 8]> {
        let mut all: SmallVec<[&Atom; 16]> = self.terms.iter().flat_map(|(m, _)| m).collect();
        all.sort();
        all.dedup();
        all.into_iter().cloned().collect()
    }

    /// The quotients that appear as factors.
    pub fn quotient_factors(&self) -> impl Iterator<Item = Atom> {
        let all = self.terms.iter().flat_map(|(m, _)| m);
        all.filter(|a| matches!(a, Atom::Div(_))).cloned()
    }

    pub fn has_quotient_factor(&self) -> bool {
        self.has_factor(|a| matches!(a, Atom::Div(_)))
    }

    /// Whether `test` holds for a factor of a product.
    pub(super) fn has_factor(&self, test: impl Fn(&Atom) -> bool) -> bool {
        self.terms.iter().flat_map(|(m, _)| m).any(test)
    }

    /// Every atom at any depth.
    pub fn atoms(&self) -> BTreeSet<Atom> {
        let mut found = BTreeSet::new();
        self.collect(&mut found);
        found
    }

    fn collect(&self, into: &mut BTreeSet<Atom>) {
        for atom in self.terms.iter().flat_map(|(m, _)| m) {
            if into.insert(atom.clone()) {
                match atom {
                    Atom::Div(q) => q.inner.collect(into),
                    Atom::Fun(call) => call.args.iter().for_each(|a| a.collect(into)),
                    _ => {}
                }
            }
        }
    }

    /// The marks of the atoms that appear as factors.
    pub(super) fn factor_marks(&self) -> u64 {
        self.terms.iter().flat_map(|(m, _)| m).fold(0, |all, a| all | a.mark())
    }

    /// The marks of all atoms at any depth.
    pub(super) fn marks(&self) -> u64 {
        let of = |a: &Atom| {
            a.mark()
                | match a {
                    Atom::Div(q) => q.inner.marks(),
                    Atom::Fun(call) => call.args.iter().fold(0, |all, p| all | p.marks()),
                    _ => 0,
                }
        };
        self.terms.iter().flat_map(|(m, _)| m).fold(0, |all, a| all | of(a))
    }

    /// Whether `test` holds for every atom at any depth.
    pub fn all_atoms(&self, test: &impl Fn(&Atom) -> bool) -> bool {
        self.terms.iter().flat_map(|(m, _)| m).all(|a| {
            test(a)
                && match a {
                    Atom::Div(q) => q.inner.all_atoms(test),
                    Atom::Fun(call) => call.args.iter().all(|p| p.all_atoms(test)),
                    _ => true,
                }
        })
    }

    /// Whether `test` holds for an atom at some depth.
    pub fn any_atom(&self, test: &impl Fn(&Atom) -> bool) -> bool {
        !self.all_atoms(&|a| !test(a))
    }

    pub fn mentions(&self, atom: &Atom) -> bool {
        self.terms.iter().flat_map(|(m, _)| m).any(|a| a.mentions(atom))
    }

    /// What multiplies `atom`, where the polynomial is linear in it and `atom` stands in no quotient or function.
    pub fn coefficient(&self, atom: &Atom) -> Option<Poly> {
        let mut found = vec![];
        for (m, c) in self.terms.iter() {
            let mut rest: SmallVec<[Atom; MAX_DEGREE]> = SmallVec::new();
            for a in m {
                if a != atom {
                    if a.mentions(atom) {
                        return None;
                    }
                    rest.push(a.clone());
                }
            }
            match m.len() - rest.len() {
                0 => {}
                1 => found.push((Product::of_sorted(rest), *c)),
                _ => return None,
            }
        }
        Poly::from_products(found)
    }

    /// Greatest common divisor of all coefficients; 0 for the zero polynomial.
    pub fn content(&self) -> i128 {
        self.terms.iter().fold(0, |g, (_, c)| gcd(g, *c))
    }

    /// `self / divisor`, where every coefficient is a multiple of it.
    pub fn exact_div(&self, divisor: i128) -> Option<Poly> {
        if divisor == 0 {
            return None;
        }
        let divided = self.terms.iter().map(|(m, c)| {
            let whole = c.checked_rem(divisor)? == 0;
            Some((m.clone(), c.checked_div(divisor).filter(|_| whole)?))
        });
        Some(Poly::from_sorted(divided.collect::<Option<Vec<Term>>>()?))
    }

    /// `self / atom`, where every product contains it.
    pub fn exact_div_atom(&self, atom: &Atom) -> Option<Poly> {
        let divided = self.terms.iter().map(|(m, c)| {
            let at = m.iter().position(|a| a == atom)?;
            let rest = m.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, a)| a.clone());
            Some((Product::of_sorted(rest), *c))
        });
        Poly::from_products(divided.collect::<Option<Vec<Term>>>()?)
    }

    /// The text of the polynomial, with `name` for atoms that stand for variables.
    pub fn render(&self, name: &dyn Fn(&Atom) -> String) -> String {
        let mut text = String::new();
        for (m, c) in self.terms.iter().rev() {
            let mut factors: Vec<String> = m.iter().map(name).collect();
            if c.unsigned_abs() != 1 || m.is_empty() {
                factors.insert(0, c.unsigned_abs().to_string());
            }
            let sign = match (text.is_empty(), *c < 0) {
                (true, true) => "-",
                (true, false) => "",
                (false, true) => " - ",
                (false, false) => " + ",
            };
            text.push_str(sign);
            text.push_str(&factors.join("*"));
        }
        if text.is_empty() { "0".into() } else { text }
    }
}

/// An uninterpreted function, computed where it is one of kopt's own names and every argument is constant.
pub fn function(name: &str, args: Vec<Poly>) -> Option<Poly> {
    let values: Option<Vec<i128>> = args.iter().map(Poly::as_constant).collect();
    let folded = match (name, values.as_deref()) {
        ("bit.xor", Some([a, b])) => Some(a ^ b),
        ("bit.and", Some([a, b])) => Some(a & b),
        ("bit.or", Some([a, b])) => Some(a | b),
        ("min", Some([a, b])) => Some(*a.min(b)),
        ("max", Some([a, b])) => Some(*a.max(b)),
        ("wrap.u32", Some([a])) => Some(a.rem_euclid(1 << 32)),
        // Truncating, as in C; division by zero has no value.
        ("quot", Some([a, b])) => Some(a.checked_div(*b)?),
        ("rem", Some([a, b])) => Some(a.checked_rem(*b)?),
        _ => None,
    };
    if let Some(v) = folded {
        return Some(Poly::constant(v));
    }
    if args.iter().any(|a| a.nesting() >= MAX_NESTING) {
        return None;
    }
    Some(Poly::atom(Atom::fun(name, args)))
}

pub fn gcd(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i128::try_from(a).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Axis;

    fn t() -> Poly {
        Poly::atom(Atom::Thread(Axis::X))
    }

    #[test]
    fn remainder_and_quotient_recombine() {
        let i = t().add(&Poly::atom(Atom::Block(Axis::X))).unwrap();
        let whole = i.div_floor(4).unwrap().scale(4).unwrap();
        assert_eq!(whole.add(&i.mod_floor(4).unwrap()).unwrap(), i);
        assert_eq!(
            i.scale(8).unwrap().offset(9).unwrap().div_floor(4).unwrap(),
            i.scale(2).unwrap().offset(2).unwrap()
        );
    }

    #[test]
    fn coefficients_see_through_products_and_stop_at_quotients() {
        let n = Poly::atom(Atom::Name("n".into()));
        let p = t().mul(&n).unwrap().offset(3).unwrap();
        assert_eq!(p.coefficient(&Atom::Thread(Axis::X)), Some(n));
        assert_eq!(t().div_floor(3).unwrap().coefficient(&Atom::Thread(Axis::X)), None);
        assert_eq!(t().mul(&t()).unwrap().coefficient(&Atom::Thread(Axis::X)), None);
    }

    #[test]
    fn overflow_is_none() {
        assert_eq!(Poly::constant(i128::MAX).offset(1), None);
        assert_eq!(t().scale(i128::MAX).unwrap().scale(2), None);
        assert_eq!(Poly::constant(i128::MIN).neg(), None);
    }

    #[test]
    fn substitution_evaluates_quotients() {
        let p = t().offset(3).unwrap().div_floor(4).unwrap();
        assert_eq!(p.substitute(&Atom::Thread(Axis::X), &Poly::constant(5)).unwrap().as_constant(), Some(2));
        assert_eq!(p.substitute(&Atom::Thread(Axis::X), &Poly::constant(-4)).unwrap().as_constant(), Some(-1));
    }
}
