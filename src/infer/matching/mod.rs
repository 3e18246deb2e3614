//! What of a candidate stands for what of an original: kernels by their qualified names, parameters by name and type,
//! buffers and dims of plans by name. Where only the position is left it is used and said; where two are possible the
//! answer is that they are, with the names.

mod kernels;
mod parameters;
mod plans;

pub use kernels::{kernel, own_parameters, same_name, short_name};
pub use parameters::{Signature, pair};
pub use plans::{Adopted, Stand, adopt, under_kernels};

use std::collections::BTreeMap;

/// Names of the candidate with those of the original that the user says they stand for.
pub type Given = BTreeMap<String, String>;

/// Why it is not clear what stands for what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unclear {
    pub message: String,
    /// What the user does next.
    pub next: String,
    /// Whether two things that were found contradict each other, so that no other way may be taken instead.
    pub contradicts: bool,
}

impl Unclear {
    fn new(message: impl Into<String>, next: impl Into<String>) -> Unclear {
        Unclear { message: message.into(), next: next.into(), contradicts: false }
    }
}

/// Names between backquotes, with commas.
fn quoted<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> String {
    let list: Vec<String> = names.into_iter().map(|n| format!("`{}`", n.as_ref())).collect();
    list.join(", ")
}
