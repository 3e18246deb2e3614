//! Native bodies. A pass only rewrites: what it may rewrite and when stands in its skill file.

use crate::edit::Editor;
use crate::skill::engine::{Proof, Site};

/// A native body of a skill.
///
/// `rewrite` is handed a [`Site`] whose anchors are bound as the skill's `match` clause says and a [`Proof`] that every
/// precondition holds, possibly behind a guard that the engine emits. It decides nothing; it writes edits.
pub trait Pass: Sync {
    /// Writes the optimised form into `edit`.
    ///
    /// # Errors
    /// [`Broken`] when the site does not have the shape that the skill's `match` promises: a bug in the skill or in the
    /// IR, reported as such (K0304), never a reason to write something else.
    fn rewrite(&self, site: &Site, proof: &Proof, edit: &mut Editor) -> Result<(), Broken>;
}

/// The site is not what the skill promised.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Broken(pub String);

mod table {
    include!(concat!(env!("OUT_DIR"), "/passes.rs"));
}

/// The native bodies that kopt brings, by skill name.
pub fn builtin() -> crate::skill::engine::rewrite::Passes {
    table::PASSES.iter().copied().collect()
}

/// The source text of a native body.
pub fn text(name: &str) -> Option<&'static str> {
    table::TEXTS.iter().find(|(n, _)| *n == name).map(|(_, text)| *text)
}
