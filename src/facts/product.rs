//! Products of atoms.

use std::cmp::Ordering;
use std::ops::Deref;
use std::sync::Arc;

use smallvec::SmallVec;

use super::atom::Atom;

/// A product of atoms, sorted; the empty one is 1. Nearly all have one or two, which are held in place and copied
/// without a loop.
#[derive(Clone, Debug, Default)]
pub(super) enum Product {
    #[default]
    One,
    Single([Atom; 1]),
    Pair([Atom; 2]),
    Many(Arc<[Atom]>),
}

impl Product {
    pub(super) fn new() -> Product {
        Product::One
    }

    pub(super) fn atom(atom: Atom) -> Product {
        Product::Single([atom])
    }

    /// Of atoms that are sorted.
    pub(super) fn of_sorted(atoms: impl IntoIterator<Item = Atom>) -> Product {
        let mut atoms = atoms.into_iter();
        let Some(a) = atoms.next() else { return Product::One };
        let Some(b) = atoms.next() else { return Product::Single([a]) };
        match atoms.next() {
            None => Product::Pair([a, b]),
            Some(c) => Product::Many([a, b, c].into_iter().chain(atoms).collect()),
        }
    }

    /// The product of both.
    pub(super) fn times(&self, other: &Product) -> Product {
        match (self, other) {
            (Product::One, p) | (p, Product::One) => p.clone(),
            (Product::Single([a]), Product::Single([b])) => {
                Product::Pair(if a <= b { [a.clone(), b.clone()] } else { [b.clone(), a.clone()] })
            }
            _ => {
                let mut all: SmallVec<[Atom; 6]> = self.iter().chain(other.iter()).cloned().collect();
                all.sort();
                Product::of_sorted(all)
            }
        }
    }
}

impl Deref for Product {
    type Target = [Atom];

    fn deref(&self) -> &[Atom] {
        match self {
            Product::One => &[],
            Product::Single(atoms) => atoms,
            Product::Pair(atoms) => atoms,
            Product::Many(atoms) => atoms,
        }
    }
}

impl<'p> IntoIterator for &'p Product {
    type Item = &'p Atom;
    type IntoIter = std::slice::Iter<'p, Atom>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl PartialEq for Product {
    fn eq(&self, other: &Product) -> bool {
        **self == **other
    }
}

impl Eq for Product {}

impl PartialOrd for Product {
    fn partial_cmp(&self, other: &Product) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Product {
    fn cmp(&self, other: &Product) -> Ordering {
        (**self).cmp(&**other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_sorted_whatever_their_length() {
        let atom = |n: usize| Atom::Name(format!("n{n}").into());
        let mut left = Product::new();
        for n in [2, 0, 3, 1] {
            left = left.times(&Product::atom(atom(n)));
            assert!(left.windows(2).all(|w| w[0] <= w[1]), "{left:?}");
            assert_eq!(left, Product::of_sorted(left.iter().cloned()));
        }
        let right = Product::atom(atom(1)).times(&Product::atom(atom(3)));
        let other = Product::atom(atom(2)).times(&Product::atom(atom(0)));
        assert_eq!(other.times(&right), left);
        assert_eq!(right.times(&other), left);
        assert_eq!(left.len(), 4);
        assert!(Product::new() < right && right > left);
    }
}
