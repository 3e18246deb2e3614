//! Which parts of a contract are guesses, and what is still open.

use crate::source::Span;

/// The fields of one table that are guesses. A contract with any is not run unless the user accepts them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proposed {
    /// Everything in the table: `proposed = true`.
    pub all: bool,
    /// `proposed = ["samples", "min"]`
    pub fields: Vec<String>,
}

impl Proposed {
    pub fn all() -> Proposed {
        Proposed { all: true, fields: vec![] }
    }

    pub fn field(&mut self, name: &str) {
        if !self.fields.iter().any(|f| f == name) {
            self.fields.push(name.to_owned());
        }
    }

    pub fn is_some(&self) -> bool {
        self.all || !self.fields.is_empty()
    }

    /// Whether this field is a guess.
    pub fn covers(&self, field: &str) -> bool {
        self.all || self.fields.iter().any(|f| f == field)
    }
}

/// Something that has to be answered, or a guess that has to be confirmed, before the contract can be trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Open {
    /// Such as `args.x`.
    pub table: String,
    pub field: String,
    pub kind: OpenKind,
    pub question: String,
    pub span: Option<Span>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OpenKind {
    /// The field is absent or says `?`.
    Missing,
    /// The field holds a guess.
    Proposed,
}
