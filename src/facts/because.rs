//! Provenance: why a fact holds, as places in the text and named assumptions.

use std::collections::BTreeSet;

use crate::source::Span;

/// The spans that a fact was read off, each with a short remark, and the ids of the assumptions it rests on.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Because {
    pub spans: BTreeSet<(Span, String)>,
    /// Ids as in [`crate::contract`]: `standing:..` and `launch:..` leave a verdict proved, every other id makes it
    /// assumed.
    pub assumptions: BTreeSet<String>,
}

/// Spans are an aid to the reader; past this number further ones are left out. Assumptions never are.
const MAX_SPANS: usize = 24;

impl Because {
    pub fn nothing() -> Because {
        Because::default()
    }

    pub fn at(span: Span, text: impl Into<String>) -> Because {
        Because { spans: BTreeSet::from([(span, text.into())]), assumptions: BTreeSet::new() }
    }

    pub fn assuming(id: impl Into<String>) -> Because {
        Because { spans: BTreeSet::new(), assumptions: BTreeSet::from([id.into()]) }
    }

    pub fn join(&mut self, other: &Because) {
        for s in &other.spans {
            if self.spans.len() >= MAX_SPANS {
                break;
            }
            self.spans.insert(s.clone());
        }
        self.assumptions.extend(other.assumptions.iter().cloned());
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
