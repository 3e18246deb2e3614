//! Lists that only grow, and share what they have in common.

use std::sync::Arc;

use smallvec::SmallVec;

/// A list to which paths through a function append: a copy costs nothing, and appending to a copy leaves what was there
/// where it is.
#[derive(Clone)]
pub(super) struct List<T> {
    last: Option<Arc<Part<T>>>,
    len: usize,
}

#[derive(Clone, Debug)]
struct Part<T> {
    before: Option<Arc<Part<T>>>,
    items: Vec<T>,
}

impl<T> Default for List<T> {
    fn default() -> List<T> {
        List { last: None, len: 0 }
    }
}

impl<T> List<T> {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn push(&mut self, item: T) {
        self.len += 1;
        match self.last.as_mut().and_then(Arc::get_mut) {
            Some(part) => part.items.push(item),
            None => self.last = Some(Arc::new(Part { before: self.last.take(), items: vec![item] })),
        }
    }

    /// The items in the order in which they came.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> + Clone {
        let parts = std::iter::successors(self.last.as_deref(), |part| part.before.as_deref());
        let mut parts: SmallVec<[&[T]; 16]> = parts.map(|part| part.items.as_slice()).collect();
        parts.reverse();
        parts.into_iter().flatten()
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for List<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T> FromIterator<T> for List<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> List<T> {
        let items: Vec<T> = items.into_iter().collect();
        let len = items.len();
        List { last: (len > 0).then(|| Arc::new(Part { before: None, items })), len }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_grow_apart() {
        let mut one: List<u32> = (0..3).collect();
        one.push(3);
        let mut other = one.clone();
        one.push(4);
        other.push(40);
        other.push(41);
        let third = other.clone();
        one.push(5);
        let items = |list: &List<u32>| list.iter().copied().collect::<Vec<_>>();
        assert_eq!(items(&one), [0, 1, 2, 3, 4, 5]);
        assert_eq!(items(&other), [0, 1, 2, 3, 40, 41]);
        assert_eq!((items(&third), third.len(), one.len()), (items(&other), 6, 6));
        assert_eq!((List::<u32>::default().iter().count(), List::<u32>::default().len()), (0, 0));
    }
}
