//! Symbolic values of expressions, and the formulas that conditions stand for.

use super::because::Because;
use super::interval::Interval;
use super::poly::Poly;
use super::range::Known;
use crate::ir::{Scalar, Type, VarId};

/// What an expression evaluates to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Int(IntValue),
    Pointer(PointerValue),
    Truth(Truth),
    /// `dim3` of the host.
    Dim3([Poly; 3], Because),
    /// Not modelled.
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntValue {
    pub poly: Poly,
    pub ty: Scalar,
    /// The value is only known to be congruent to `poly` modulo 2^64: enough for addresses, not for comparisons.
    pub modular: bool,
    pub because: Because,
}

/// An address: the root's first byte plus `offset` bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointerValue {
    pub root: VarId,
    pub offset: Poly,
    /// The offset is only known modulo 2^64; addresses wrap likewise.
    pub modular: bool,
    /// What `*p` is.
    pub pointee: Type,
    pub because: Because,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Truth {
    pub formula: Formula,
    /// Whether all threads of a block agree on it.
    pub uniform: bool,
    pub because: Because,
}

/// A condition over integers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Formula {
    True,
    False,
    /// `p >= 0`
    NonNeg(Poly),
    /// `p == 0`
    Zero(Poly),
    /// `p != 0`
    NonZero(Poly),
    And(Vec<Formula>),
    Or(Vec<Formula>),
    Unknown,
}

impl Formula {
    pub fn negate(&self) -> Formula {
        match self {
            Formula::True => Formula::False,
            Formula::False => Formula::True,
            // !(p >= 0) is -p - 1 >= 0
            Formula::NonNeg(p) => p.neg().and_then(|n| n.offset(-1)).map_or(Formula::Unknown, Formula::NonNeg),
            Formula::Zero(p) => Formula::NonZero(p.clone()),
            Formula::NonZero(p) => Formula::Zero(p.clone()),
            Formula::And(parts) => Formula::Or(parts.iter().map(Formula::negate).collect()),
            Formula::Or(parts) => Formula::And(parts.iter().map(Formula::negate).collect()),
            Formula::Unknown => Formula::Unknown,
        }
    }

    /// States the formula as known. A disjunction says something only where all but one part are known to be false.
    pub fn assume(&self, known: &mut Known, because: &Because) {
        match self {
            Formula::NonNeg(p) => known.assume_nonneg(p.clone(), because.clone()),
            Formula::Zero(p) => known.assume_zero(p.clone(), because.clone()),
            Formula::NonZero(p) => known.assume_nonzero(p.clone(), because.clone()),
            Formula::And(parts) => parts.iter().for_each(|p| p.assume(known, because)),
            Formula::Or(parts) => {
                let mut open = vec![];
                let mut why = because.clone();
                for p in parts {
                    match p.negate().decide(known) {
                        Some((true, b)) => why.join(&b),
                        _ => open.push(p),
                    }
                }
                match open.as_slice() {
                    [one] => one.assume(known, &why),
                    _ => known.remember_choice(open.into_iter().cloned().collect(), why),
                }
            }
            Formula::True | Formula::False | Formula::Unknown => {}
        }
    }

    /// Whether the formula is known to be true or false, and why.
    pub fn decide(&self, known: &Known) -> Option<(bool, Because)> {
        match self {
            Formula::True => Some((true, Because::nothing())),
            Formula::False => Some((false, Because::nothing())),
            Formula::NonNeg(p) => {
                if let Some(b) = known.prove_nonneg(p) {
                    return Some((true, b));
                }
                known.prove_positive(&p.neg()?).map(|b| (false, b))
            }
            Formula::Zero(p) => {
                if let Some(b) = known.prove_zero(p) {
                    return Some((true, b));
                }
                known.prove_nonzero(p).map(|b| (false, b))
            }
            Formula::NonZero(p) => Formula::Zero(p.clone()).decide(known).map(|(v, b)| (!v, b)),
            Formula::And(parts) => {
                let mut why = Because::nothing();
                let mut all = true;
                for p in parts {
                    match p.decide(known) {
                        Some((false, b)) => return Some((false, b)),
                        Some((true, b)) => why.join(&b),
                        None => all = false,
                    }
                }
                all.then_some((true, why))
            }
            Formula::Or(parts) => {
                let negated = Formula::And(parts.iter().map(Formula::negate).collect());
                negated.decide(known).map(|(v, b)| (!v, b))
            }
            Formula::Unknown => None,
        }
    }
}

impl Value {
    pub fn because(&self) -> Because {
        match self {
            Value::Int(i) => i.because.clone(),
            Value::Pointer(p) => p.because.clone(),
            Value::Truth(t) => t.because.clone(),
            Value::Dim3(_, b) => b.clone(),
            Value::Other => Because::nothing(),
        }
    }
}

/// The values that an integer type can hold.
pub fn type_range(s: Scalar) -> Interval {
    let bits = 8 * s.bytes();
    match s {
        Scalar::Bool => Interval::new(0, 1),
        s if s.is_unsigned() => Interval::new(0, (1i128 << bits) - 1),
        _ => Interval::new(-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
    }
}

/// Integer promotion.
pub fn promote(s: Scalar) -> Scalar {
    if s == Scalar::Bool || s.bytes() < 4 { Scalar::I32 } else { s }
}

/// The usual arithmetic conversions of two integer types.
pub fn common(a: Scalar, b: Scalar) -> Scalar {
    use Scalar::*;
    match (promote(a), promote(b)) {
        (U64, _) | (_, U64) => U64,
        (I64, _) | (_, I64) => I64,
        (U32, _) | (_, U32) => U32,
        _ => I32,
    }
}
