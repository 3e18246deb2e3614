//! The symbols that polynomials are made of.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::poly::Poly;
use crate::ir::{Axis, LoopId, Scalar, VarId};
use crate::source::tokens::WordHasher;

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
    /// A value of a mutable variable that has no better description: its serial number in the walk and its type.
    Version(VarId, u32, Scalar),
    /// A template value or a constant that is not known here.
    Name(Arc<str>),
    /// The address of a root (pointer parameter, array) as an integer.
    Address(VarId),
    Div(Arc<Quotient>),
    Fun(Arc<Apply>),
    /// The result of one evaluation of something that is not modelled: its serial number in the walk and its type.
    Opaque(u32, Scalar),
}

/// `inner / divisor` rounded towards minus infinity; the divisor is positive.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quotient {
    pub inner: Poly,
    pub divisor: i128,
}

/// A pure function that is not interpreted, of its arguments.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Apply {
    pub name: String,
    pub args: Vec<Poly>,
}

impl Atom {
    pub fn div(inner: Poly, divisor: i128) -> Atom {
        Atom::Div(Arc::new(Quotient { inner, divisor }))
    }

    pub fn fun(name: impl Into<String>, args: Vec<Poly>) -> Atom {
        Atom::Fun(Arc::new(Apply { name: name.into(), args }))
    }

    /// The number of an atom that the walk made up, in the order in which it did.
    pub fn serial(&self) -> Option<u32> {
        match self {
            Atom::Version(_, serial, _) | Atom::Opaque(serial, _) => Some(*serial),
            _ => None,
        }
    }

    /// The arguments, where the atom is the function `name`.
    pub fn args_of(&self, name: &str) -> Option<&[Poly]> {
        match self {
            Atom::Fun(call) if call.name == name => Some(&call.args),
            _ => None,
        }
    }

    /// A number that is smaller, or equal, for a smaller atom: what tells most atoms apart without looking into them.
    pub(super) fn key(&self) -> u64 {
        // Twelve kinds in the order of their declaration, above as much of the rest as fits.
        let (kind, rest) = match self {
            Atom::Thread(axis) => (0, *axis as u64),
            Atom::Block(axis) => (1, *axis as u64),
            Atom::BlockDim(axis) => (2, *axis as u64),
            Atom::GridDim(axis) => (3, *axis as u64),
            Atom::Iter(LoopId(n)) => (4, u64::from(*n)),
            Atom::Param(VarId(n)) => (5, u64::from(*n)),
            Atom::Version(VarId(n), serial, _) if *n < 1 << 24 => (6, u64::from(*n) << 32 | u64::from(*serial)),
            Atom::Version(..) => (6, 1 << 56),
            Atom::Name(_) => (7, 0),
            Atom::Address(VarId(n)) => (8, u64::from(*n)),
            Atom::Div(_) => (9, 0),
            Atom::Fun(_) => (10, 0),
            Atom::Opaque(serial, _) => (11, u64::from(*serial)),
        };
        kind << 58 | rest
    }

    /// One bit that stands for the atom in a set; several atoms share each.
    pub(super) fn mark(&self) -> u64 {
        let mut hasher = WordHasher::default();
        self.feed(&mut hasher);
        1 << (hasher.finish() >> 58)
    }

    /// Gives the hasher something that equal atoms have in common.
    fn feed(&self, to: &mut WordHasher) {
        std::mem::discriminant(self).hash(to);
        match self {
            Atom::Thread(a) | Atom::Block(a) | Atom::BlockDim(a) | Atom::GridDim(a) => a.hash(to),
            Atom::Iter(l) => l.hash(to),
            Atom::Param(v) | Atom::Address(v) => v.hash(to),
            Atom::Version(_, serial, _) | Atom::Opaque(serial, _) => serial.hash(to),
            Atom::Name(name) => to.write(name.as_bytes()),
            Atom::Div(q) => q.inner.marks().hash(to),
            Atom::Fun(call) => {
                to.write(call.name.as_bytes());
                call.args.iter().for_each(|a| a.marks().hash(to));
            }
        }
    }

    /// Whether `other` is this atom or stands in it.
    pub(super) fn mentions(&self, other: &Atom) -> bool {
        self == other
            || match self {
                Atom::Div(q) => q.inner.mentions(other),
                Atom::Fun(call) => call.args.iter().any(|a| a.mentions(other)),
                _ => false,
            }
    }
}
