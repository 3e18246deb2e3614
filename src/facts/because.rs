//! Provenance: why a fact holds, as places in the text and named assumptions.

use std::sync::Arc;

use crate::source::Span;

/// The spans that a fact was read off, each with a short remark, and the ids of the assumptions it rests on.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Because {
    spans: Set<(Span, Arc<str>)>,
    /// Ids as in [`crate::contract`]: `standing:..` and `launch:..` leave a verdict proved, every other id makes it
    /// assumed.
    assumptions: Set<Arc<str>>,
}

/// A small sorted set that is shared; nothing is allocated for the empty one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Set<T>(Option<Arc<[T]>>);

impl<T> Default for Set<T> {
    fn default() -> Set<T> {
        Set(None)
    }
}

impl<T: Ord + Clone> Set<T> {
    fn one(item: T) -> Set<T> {
        Set(Some(Arc::new([item])))
    }

    fn items(&self) -> &[T] {
        self.0.as_deref().unwrap_or_default()
    }

    /// Adds the items of `other`, in their order, until the set has `most`.
    fn join(&mut self, other: &Set<T>, most: usize) {
        let (Some(own), Some(more)) = (&self.0, &other.0) else {
            if self.0.is_none() {
                self.0 = other.0.clone();
            }
            return;
        };
        let has = |item: &&T| own.binary_search(item).is_ok();
        if Arc::ptr_eq(own, more) || own.len() >= most || more.iter().all(|item| has(&item)) {
            return;
        }
        let fresh = more.iter().filter(|item| !has(item)).take(most - own.len());
        let mut all: Vec<T> = own.iter().chain(fresh).cloned().collect();
        all.sort();
        self.0 = Some(all.into());
    }
}

/// Spans are an aid to the reader; past this number further ones are left out. Assumptions never are.
const MAX_SPANS: usize = 24;

impl Because {
    pub fn nothing() -> Because {
        Because::default()
    }

    pub fn at(span: Span, text: impl Into<Arc<str>>) -> Because {
        Because { spans: Set::one((span, text.into())), ..Because::default() }
    }

    pub fn assuming(id: impl Into<Arc<str>>) -> Because {
        Because { assumptions: Set::one(id.into()), ..Because::default() }
    }

    pub fn join(&mut self, other: &Because) {
        self.spans.join(&other.spans, MAX_SPANS);
        self.assumptions.join(&other.assumptions, usize::MAX);
    }

    pub fn spans(&self) -> &[(Span, Arc<str>)] {
        self.spans.items()
    }

    pub fn assumptions(&self) -> &[Arc<str>] {
        self.assumptions.items()
    }

    /// The places with their remarks, as a list.
    pub fn places(&self) -> Vec<(Span, String)> {
        self.spans().iter().map(|(s, text)| (*s, text.to_string())).collect()
    }

    pub fn and(mut self, other: &Because) -> Because {
        self.join(other);
        self
    }

    /// The ids that keep a verdict from being proved.
    pub fn contract_assumptions(&self) -> Vec<&str> {
        self.assumptions().iter().map(|id| &**id).filter(|id| !crate::contract::is_standing(id)).collect()
    }
}

/// A value together with why it is so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact<T> {
    pub value: T,
    pub because: Because,
}

impl<T> Fact<T> {
    pub fn new(value: T, because: Because) -> Fact<T> {
        Fact { value, because }
    }
}
