//! Provenance: why a fact holds, as places in the text and named assumptions.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::source::Span;

/// The spans that a fact was read off, each with a short remark, and the ids of the assumptions it rests on.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Because {
    pub spans: Arc<BTreeSet<(Span, Arc<str>)>>,
    /// Ids as in [`crate::contract`]: `standing:..` and `launch:..` leave a verdict proved, every other id makes it
    /// assumed.
    pub assumptions: Arc<BTreeSet<String>>,
}

/// Spans are an aid to the reader; past this number further ones are left out. Assumptions never are.
const MAX_SPANS: usize = 24;

impl Because {
    pub fn nothing() -> Because {
        Because::default()
    }

    pub fn at(span: Span, text: impl Into<String>) -> Because {
        let text: String = text.into();
        Because { spans: Arc::new(BTreeSet::from([(span, text.into())])), ..Because::default() }
    }

    pub fn assuming(id: impl Into<String>) -> Because {
        Because { assumptions: Arc::new(BTreeSet::from([id.into()])), ..Because::default() }
    }

    pub fn join(&mut self, other: &Because) {
        if self.spans.is_empty() {
            self.spans = other.spans.clone();
        } else if self.spans.len() < MAX_SPANS && !other.spans.is_subset(&self.spans) {
            let spans = Arc::make_mut(&mut self.spans);
            for s in other.spans.iter() {
                if spans.len() >= MAX_SPANS {
                    break;
                }
                spans.insert(s.clone());
            }
        }
        if self.assumptions.is_empty() {
            self.assumptions = other.assumptions.clone();
        } else if !other.assumptions.is_subset(&self.assumptions) {
            Arc::make_mut(&mut self.assumptions).extend(other.assumptions.iter().cloned());
        }
    }

    /// The places with their remarks, as a list.
    pub fn places(&self) -> Vec<(Span, String)> {
        self.spans.iter().map(|(s, text)| (*s, text.to_string())).collect()
    }

    pub fn and(mut self, other: &Because) -> Because {
        self.join(other);
        self
    }

    /// The ids that keep a verdict from being proved.
    pub fn contract_assumptions(&self) -> Vec<&str> {
        self.assumptions.iter().map(String::as_str).filter(|id| !crate::contract::is_standing(id)).collect()
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
