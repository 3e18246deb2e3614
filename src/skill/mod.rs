//! The skill language: what a `.skill` file says, read with all its mistakes, checked, printed, indexed.
//!
//! [`parse()`] reads one file, [`check()`] resolves its names against a [`Vocabulary`], [`Library`] holds those that exist.
//! Everything here is pure: texts come in, values and diagnostics go out.

pub mod ast;
pub mod check;
pub mod directions;
pub mod doc;
pub mod engine;
pub mod harness;
pub mod layout;
pub mod lexer;
pub mod library;
pub mod lower;
pub mod near;
pub mod parse;
pub mod print;
pub mod scaffold;
pub mod syntax;
pub mod types;
pub mod vocabulary;

#[cfg(test)]
mod tests;

pub use ast::Skill;
pub use check::check;
pub use directions::Directions;
pub use library::{Library, LibraryError};
pub use parse::{Parsed, examine, fuzz_parse, parse};
pub use vocabulary::{Signature, Surface, Vocabulary};

lalrpop_util::lalrpop_mod!(
    #[allow(clippy::all, clippy::pedantic, unused, missing_docs)]
    grammar,
    "/skill.rs"
);
