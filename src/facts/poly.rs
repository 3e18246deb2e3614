//! Integer polynomials over symbolic atoms, in one canonical form, with checked coefficients.
//!
//! A polynomial stands for a mathematical integer. Every operation that would overflow or grow past a limit gives
//! `None`, which callers turn into "unknown".

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::ir::{Axis, LoopId, VarId};

/// A value that does not change once it exists. Variables appear through their versions, so that an atom never means
/// two things.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Atom {
    Thread(Axis),
    Block(Axis),
    BlockDim(Axis),
    GridDim(Axis),
    /// 0, 1, 2, ...: how many iterations of the loop came before.
    Iter(LoopId),
    /// The value with which a parameter enters.
    Param(VarId),
    /// A value of a mutable variable that has no better description.
    Version(VarId, u32),
    /// A template value or a constant that is not known here.
    Name(String),
    /// The address of a root (pointer parameter, array) as an integer.
    Address(VarId),
    /// Quotient rounded towards minus infinity; the divisor is positive.
    Div(Box<Poly>, i128),
    /// A pure function of its arguments that is not interpreted.
    Fun(String, Vec<Poly>),
    /// The result of one evaluation of something that is not modelled.
    Opaque(u32),
}

const MAX_TERMS: usize = 96;
const MAX_DEGREE: usize = 6;
const MAX_NESTING: usize = 8;

/// A sum of products; no stored coefficient is zero, the atoms of a product are sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Poly {
    /// Shared, for facts are copied far more often than they change.
    terms: Arc<BTreeMap<Vec<Atom>, i128>>,
}

impl Poly {
    pub fn constant(value: i128) -> Poly {
        let mut terms = BTreeMap::new();
        if value != 0 {
            terms.insert(vec![], value);
        }
        Poly { terms: Arc::new(terms) }
    }

    pub fn atom(atom: Atom) -> Poly {
        Poly { terms: Arc::new(BTreeMap::from([(vec![atom], 1)])) }
    }

    pub fn zero() -> Poly {
        Poly::default()
    }

    pub fn terms(&self) -> impl Iterator<Item = (&[Atom], i128)> {
        self.terms.iter().map(|(m, c)| (m.as_slice(), *c))
    }

    pub fn is_zero(&self) -> bool {
        self.terms.is_empty()
    }

    pub fn as_constant(&self) -> Option<i128> {
        match self.terms.len() {
            0 => Some(0),
            1 => self.terms.get(&vec![]).copied(),
            _ => None,
        }
    }

    /// The atom, where the polynomial is nothing else.
    pub fn as_atom(&self) -> Option<&Atom> {
        match self.terms.iter().next() {
            Some((m, 1)) if self.terms.len() == 1 && m.len() == 1 => m.first(),
            _ => None,
        }
    }

    pub fn constant_term(&self) -> i128 {
        self.terms.get(&vec![]).copied().unwrap_or(0)
    }

    pub fn add(&self, other: &Poly) -> Option<Poly> {
        let mut terms = BTreeMap::clone(&self.terms);
        for (m, c) in other.terms.iter() {
            let sum = terms.get(m).copied().unwrap_or(0).checked_add(*c)?;
            if sum == 0 {
                terms.remove(m);
            } else {
                terms.insert(m.clone(), sum);
            }
        }
        (terms.len() <= MAX_TERMS).then_some(Poly { terms: Arc::new(terms) })
    }

    pub fn scale(&self, factor: i128) -> Option<Poly> {
        let mut terms = BTreeMap::new();
        if factor != 0 {
            for (m, c) in self.terms.iter() {
                terms.insert(m.clone(), c.checked_mul(factor)?);
            }
        }
        Some(Poly { terms: Arc::new(terms) })
    }

    pub fn neg(&self) -> Option<Poly> {
        self.scale(-1)
    }

    pub fn sub(&self, other: &Poly) -> Option<Poly> {
        self.add(&other.neg()?)
    }

    pub fn offset(&self, by: i128) -> Option<Poly> {
        self.add(&Poly::constant(by))
    }

    pub fn mul(&self, other: &Poly) -> Option<Poly> {
        if self.terms.len().saturating_mul(other.terms.len()) > 4 * MAX_TERMS {
            return None;
        }
        let mut sum = Poly::zero();
        for (m, c) in self.terms.iter() {
            for (n, d) in other.terms.iter() {
                let mut product = m.clone();
                product.extend(n.iter().cloned());
                product.sort();
                if product.len() > MAX_DEGREE {
                    return None;
                }
                sum = sum.add(&Poly { terms: Arc::new(BTreeMap::from([(product, c.checked_mul(*d)?)])) })?;
            }
        }
        Some(sum)
    }

    /// `floor(self / divisor)` for a positive divisor; whole multiples leave the quotient.
    pub fn div_floor(&self, divisor: i128) -> Option<Poly> {
        if divisor <= 0 {
            return None;
        }
        let (mut whole, mut rest) = (BTreeMap::new(), BTreeMap::new());
        for (m, c) in self.terms.iter() {
            let (q, r) = (c.div_euclid(divisor), c.rem_euclid(divisor));
            if q != 0 {
                whole.insert(m.clone(), q);
            }
            if r != 0 {
                rest.insert(m.clone(), r);
            }
        }
        let (whole, rest) = (Poly { terms: Arc::new(whole) }, Poly { terms: Arc::new(rest) });
        match rest.as_constant() {
            Some(r) if r < divisor => Some(whole),
            _ if rest.nesting() >= MAX_NESTING => None,
            _ => whole.add(&Poly::atom(Atom::Div(Box::new(rest), divisor))),
        }
    }

    /// The remainder in `[0, divisor)`, as `self - divisor * floor(self / divisor)`.
    pub fn mod_floor(&self, divisor: i128) -> Option<Poly> {
        self.sub(&self.div_floor(divisor)?.scale(divisor)?)
    }

    pub fn nesting(&self) -> usize {
        let of = |a: &Atom| match a {
            Atom::Div(p, _) => 1 + p.nesting(),
            Atom::Fun(_, args) => 1 + args.iter().map(Poly::nesting).max().unwrap_or(0),
            _ => 0,
        };
        self.terms.keys().flatten().map(of).max().unwrap_or(0)
    }

    /// Atoms that appear as factors, not those inside quotients and functions.
    pub fn factors(&self) -> BTreeSet<Atom> {
        self.terms.keys().flatten().cloned().collect()
    }

    /// Every atom at any depth.
    pub fn atoms(&self) -> BTreeSet<Atom> {
        let mut found = BTreeSet::new();
        self.collect(&mut found);
        found
    }

    fn collect(&self, into: &mut BTreeSet<Atom>) {
        for atom in self.terms.keys().flatten() {
            if into.insert(atom.clone()) {
                match atom {
                    Atom::Div(p, _) => p.collect(into),
                    Atom::Fun(_, args) => args.iter().for_each(|a| a.collect(into)),
                    _ => {}
                }
            }
        }
    }

    pub fn mentions(&self, atom: &Atom) -> bool {
        self.atoms().contains(atom)
    }

    /// What multiplies `atom`, where the polynomial is linear in it and `atom` stands in no quotient or function.
    pub fn coefficient(&self, atom: &Atom) -> Option<Poly> {
        let mut found = Poly::zero();
        for (m, c) in self.terms.iter() {
            let (mut rest, mut times) = (vec![], 0);
            for a in m {
                if a == atom {
                    times += 1;
                } else {
                    if Poly::atom(a.clone()).mentions(atom) {
                        return None;
                    }
                    rest.push(a.clone());
                }
            }
            match times {
                0 => {}
                1 => found = found.add(&Poly { terms: Arc::new(BTreeMap::from([(rest, *c)])) })?,
                _ => return None,
            }
        }
        Some(found)
    }

    /// Replaces `atom` everywhere, also inside quotients and functions.
    pub fn substitute(&self, atom: &Atom, value: &Poly) -> Option<Poly> {
        self.map_atoms(&|a| (a == atom).then(|| value.clone()))
    }

    /// Rebuilds the polynomial with `map(atom)` in place of each atom for which it gives something.
    pub fn map_atoms(&self, map: &dyn Fn(&Atom) -> Option<Poly>) -> Option<Poly> {
        let mut sum = Poly::zero();
        for (m, c) in self.terms.iter() {
            let mut product = Poly::constant(*c);
            for a in m {
                let factor = match (map(a), a) {
                    (Some(p), _) => p,
                    (None, Atom::Div(p, d)) => p.map_atoms(map)?.div_floor(*d)?,
                    (None, Atom::Fun(name, args)) => {
                        let args = args.iter().map(|p| p.map_atoms(map)).collect::<Option<Vec<_>>>()?;
                        function(name, args)?
                    }
                    (None, other) => Poly::atom(other.clone()),
                };
                product = product.mul(&factor)?;
            }
            sum = sum.add(&product)?;
        }
        Some(sum)
    }

    /// Greatest common divisor of all coefficients; 0 for the zero polynomial.
    pub fn content(&self) -> i128 {
        self.terms.values().fold(0, |g, c| gcd(g, *c))
    }

    /// `self / divisor`, where every coefficient is a multiple of it.
    pub fn exact_div(&self, divisor: i128) -> Option<Poly> {
        if divisor == 0 {
            return None;
        }
        let mut terms = BTreeMap::new();
        for (m, c) in self.terms.iter() {
            if c.checked_rem(divisor)? != 0 {
                return None;
            }
            terms.insert(m.clone(), c.checked_div(divisor)?);
        }
        Some(Poly { terms: Arc::new(terms) })
    }

    /// `self / atom`, where every product contains it.
    pub fn exact_div_atom(&self, atom: &Atom) -> Option<Poly> {
        let mut terms = BTreeMap::new();
        for (m, c) in self.terms.iter() {
            let at = m.iter().position(|a| a == atom)?;
            let mut rest = m.clone();
            rest.remove(at);
            terms.insert(rest, *c);
        }
        Some(Poly { terms: Arc::new(terms) })
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
    Some(Poly::atom(Atom::Fun(name.to_owned(), args)))
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
