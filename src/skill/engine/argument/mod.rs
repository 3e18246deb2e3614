//! Equivalence arguments: why the text that a body wrote computes what the old one computed, checked on the edits.
//!
//! Conditions say what holds of the old text; an argument says what the new text does with it. A skill names its argument,
//! and the engine reads the edits again with it, knowing nothing of the pass that wrote them: which iterations run, which
//! value expressions they have, in which order the accesses of one address and the barriers come. What is not recognised
//! is no proof, and the rewrite is refused. Equal sets of addresses alone would not do: order is part of every argument.

mod blocked;
mod subscripts;
mod tree;
mod words;

use super::site::{Proof, Site};
use crate::edit::Edit;

/// What an argument rests on: a skill that names it must ask for these predicates among its conditions.
pub struct Argument {
    pub name: &'static str,
    pub predicates: &'static [&'static str],
    pub says: &'static str,
    check: fn(&Site, &Proof, &[Edit]) -> Result<(), String>,
}

/// All arguments that a skill may name.
pub const ARGUMENTS: &[Argument] = &[
    Argument {
        name: "same_subscripts",
        predicates: &["only_subscripted", "in_extents", "widest_access"],
        says: "one tile has longer rows, and every access keeps its subscripts; the places stay apart",
        check: subscripts::check,
    },
    Argument {
        name: "blocked_iterations",
        predicates: &[
            "is_scalar",
            "same_place_throughout",
            "stride",
            "aligned",
            "movable_in_blocks",
            "counted",
            "unconditional",
            "divides",
        ],
        says: "the iterations run once each and in their order, several to a block, with the same value expressions; the \
               members' loads stand before the block and their stores after it",
        check: blocked::check,
    },
    Argument {
        name: "same_tree",
        predicates: &[
            "exchangeable",
            "lane_is_thread",
            "block_threads",
            "spans_warp",
            "halving",
            "only_first_read",
            "uniform",
            "nothing_else",
        ],
        says: "element 0 is the same expression of the elements, combined in the same order",
        check: tree::check,
    },
];

/// The argument of that name.
pub fn named(name: &str) -> Option<&'static Argument> {
    ARGUMENTS.iter().find(|a| a.name == name)
}

/// Reads the edits that the body made at the site by the skill's argument; a skill without one has nothing to show.
///
/// # Errors
/// What does not fit the argument.
pub fn check(site: &Site, proof: &Proof, edits: &[Edit]) -> Result<(), String> {
    let Some(name) = site.skill.equivalence.as_ref().and_then(|e| e.argument.as_ref()) else { return Ok(()) };
    let argument = named(&name.node).ok_or_else(|| format!("no argument is called `{}`", name.node))?;
    (argument.check)(site, proof, edits)
}
