//! Polynomials with numbers in place of their symbols.

use std::collections::BTreeMap;

use crate::facts::{Atom, Formula, Poly, type_range};
use crate::ir::Scalar;

/// The symbols of a set of claims, each with its place in a row of values.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    places: BTreeMap<Atom, usize>,
}

/// The values that the symbols have in one thread, as far as they are known.
pub type Values = Vec<Option<i128>>;

/// A polynomial that can be computed from [`Values`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sum(Vec<(i128, Vec<Factor>)>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Factor {
    Symbol(usize),
    Quotient(Sum, i128),
    Function(String, Vec<Sum>),
}

impl Symbols {
    pub fn len(&self) -> usize {
        self.places.len()
    }

    pub fn place(&mut self, atom: &Atom) -> usize {
        let next = self.places.len();
        *self.places.entry(atom.clone()).or_insert(next)
    }

    pub fn find(&self, atom: &Atom) -> Option<usize> {
        self.places.get(atom).copied()
    }

    pub fn sum(&mut self, poly: &Poly) -> Sum {
        Sum(poly.terms().map(|(m, c)| (c, m.iter().map(|a| self.factor(a)).collect())).collect())
    }

    fn factor(&mut self, atom: &Atom) -> Factor {
        match atom {
            Atom::Div(q) => Factor::Quotient(self.sum(&q.inner), q.divisor),
            // A member of a structure is observed, not computed.
            Atom::Fun(call) if !is_observed(&call.name) => {
                Factor::Function(call.name.clone(), call.args.iter().map(|a| self.sum(a)).collect())
            }
            other => Factor::Symbol(self.place(other)),
        }
    }

    pub fn test(&mut self, formula: &Formula) -> Test {
        match formula {
            Formula::True => Test::Constant(true),
            Formula::False => Test::Constant(false),
            Formula::NonNeg(p) => Test::Sum(self.sum(p), |v| v >= 0),
            Formula::Zero(p) => Test::Sum(self.sum(p), |v| v == 0),
            Formula::NonZero(p) => Test::Sum(self.sum(p), |v| v != 0),
            Formula::And(parts) => Test::All(parts.iter().map(|p| self.test(p)).collect()),
            Formula::Or(parts) => Test::Any(parts.iter().map(|p| self.test(p)).collect()),
            Formula::Unknown => Test::Unknown,
        }
    }
}

/// Whether the value of such a function is read where the kernel begins.
pub fn is_observed(function: &str) -> bool {
    function.starts_with("member.")
}

impl Sum {
    /// The value; `None` where a symbol has none, a function is not one that kopt gives a meaning, or 128 bits do not do.
    pub fn value(&self, values: &[Option<i128>]) -> Option<i128> {
        self.0.iter().try_fold(0i128, |sum, (c, factors)| {
            let product = factors.iter().try_fold(*c, |p, f| p.checked_mul(f.value(values)?))?;
            sum.checked_add(product)
        })
    }
}

impl Factor {
    fn value(&self, values: &[Option<i128>]) -> Option<i128> {
        match self {
            Factor::Symbol(n) => values.get(*n).copied().flatten(),
            Factor::Quotient(inner, divisor) => inner.value(values)?.checked_div_euclid(*divisor),
            Factor::Function(name, args) => {
                let args: Vec<i128> = args.iter().map(|a| a.value(values)).collect::<Option<_>>()?;
                call(name, &args)
            }
        }
    }
}

fn call(name: &str, args: &[i128]) -> Option<i128> {
    match (name, args) {
        ("bit.and", [a, b]) => Some(a & b),
        ("bit.or", [a, b]) => Some(a | b),
        ("bit.xor", [a, b]) => Some(a ^ b),
        ("min", [a, b]) => Some(*a.min(b)),
        ("max", [a, b]) => Some(*a.max(b)),
        ("quot", [a, b]) => a.checked_div(*b),
        ("rem", [a, b]) => a.checked_rem(*b),
        ("wrap.u32", [a]) => Some(a.rem_euclid(1 << 32)),
        (name, [a]) => wrapped(*a, Scalar::from_name(name.strip_prefix("to.")?)?),
        _ => None,
    }
}

/// The value that an integer type of fixed width holds for `value`.
pub fn wrapped(value: i128, ty: Scalar) -> Option<i128> {
    let bits = 8 * ty.bytes();
    let low = type_range(ty).lo?;
    Some((value - low).rem_euclid(1i128 << bits) + low)
}

/// A formula that can be computed from [`Values`].
#[derive(Clone, Debug)]
pub enum Test {
    Constant(bool),
    Sum(Sum, fn(i128) -> bool),
    All(Vec<Test>),
    Any(Vec<Test>),
    Unknown,
}

impl Test {
    pub fn value(&self, values: &[Option<i128>]) -> Option<bool> {
        let over = |parts: &[Test], stop: bool| {
            let mut open = false;
            for p in parts {
                match p.value(values) {
                    Some(v) if v == stop => return Some(stop),
                    Some(_) => {}
                    None => open = true,
                }
            }
            if open { None } else { Some(!stop) }
        };
        match self {
            Test::Constant(v) => Some(*v),
            Test::Sum(sum, holds) => sum.value(values).map(holds),
            Test::All(parts) => over(parts, false),
            Test::Any(parts) => over(parts, true),
            Test::Unknown => None,
        }
    }
}
