//! The ranges of single atoms, with their reasons.

use std::sync::Arc;

use super::atom::Atom;
use super::because::Because;
use super::interval::Interval;

/// Ranges by atom, in the order of the atoms. A path knows a few dozen, and each new fact copies them: a plain array
/// is copied faster than a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Bounds {
    /// The key of each atom, which is what a search looks at.
    keys: Vec<u64>,
    /// Each shared with the paths on which it is the same.
    entries: Vec<Arc<Entry>>,
}

type Entry = (Atom, (Interval, Because));

impl Bounds {
    fn find(&self, atom: &Atom) -> Result<usize, usize> {
        let key = atom.key();
        let mut at = self.keys.partition_point(|k| *k < key);
        while self.keys.get(at) == Some(&key) {
            match self.entries.get(at).map(|e| e.0.cmp(atom)) {
                Some(std::cmp::Ordering::Less) => at += 1,
                Some(std::cmp::Ordering::Equal) => return Ok(at),
                _ => break,
            }
        }
        Err(at)
    }

    pub(super) fn get(&self, atom: &Atom) -> Option<&(Interval, Because)> {
        self.find(atom).ok().and_then(|at| self.entries.get(at)).map(|e| &e.1)
    }

    /// What is known of the atom, to be changed; `first` where nothing is.
    pub(super) fn entry(&mut self, atom: Atom, first: Interval) -> Option<&mut (Interval, Because)> {
        let at = self.find(&atom).unwrap_or_else(|at| {
            self.keys.insert(at, atom.key());
            self.entries.insert(at, Arc::new((atom, (first, Because::nothing()))));
            at
        });
        self.entries.get_mut(at).map(|e| &mut Arc::make_mut(e).1)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Atom, &(Interval, Because))> {
        self.entries.iter().map(|e| (&e.0, &e.1))
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::super::poly::Poly;
    use super::*;
    use crate::ir::{Axis, LoopId, Scalar, VarId};

    fn atoms() -> Vec<Atom> {
        let name = |n: &str| Atom::Name(n.into());
        let mut all = vec![name("b"), name("a"), name("c"), Atom::Iter(LoopId(3)), Atom::Iter(LoopId(0))];
        for n in [0, 7, 1 << 24, (1 << 24) + 1, u32::MAX] {
            all.extend([Atom::Param(VarId(n)), Atom::Address(VarId(n)), Atom::Opaque(n, Scalar::I32)]);
            all.extend([0, 5, u32::MAX].map(|s| Atom::Version(VarId(n), s, Scalar::U64)));
            all.push(Atom::Opaque(n, Scalar::Bool));
        }
        for axis in [Axis::Z, Axis::X, Axis::Y] {
            all.extend([Atom::GridDim(axis), Atom::Thread(axis), Atom::BlockDim(axis), Atom::Block(axis)]);
        }
        for n in ["y", "x"] {
            all.extend([Atom::fun("min", vec![Poly::atom(name(n))]), Atom::div(Poly::atom(name(n)), 4)]);
        }
        all
    }

    #[test]
    fn keys_keep_the_order() {
        for a in atoms() {
            for b in atoms() {
                assert!(a >= b || a.key() <= b.key(), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn ranges_stand_in_the_order_of_their_atoms() {
        let mut bounds = Bounds::default();
        for (atom, n) in atoms().into_iter().zip(0..) {
            assert!(bounds.get(&atom).is_none());
            bounds.entry(atom, Interval::point(n)).expect("an entry");
        }
        for (atom, n) in atoms().into_iter().zip(0..) {
            assert_eq!(bounds.get(&atom).map(|known| known.0), Some(Interval::point(n)), "{atom:?}");
        }
        let order: Vec<&Atom> = bounds.iter().map(|(atom, _)| atom).collect();
        assert!(order.windows(2).all(|w| w[0] < w[1]));
    }
}
