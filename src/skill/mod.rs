//! The skill language: what a `.skill` file says, checked and indexed.

pub mod ast;
pub mod layout;
pub mod lexer;
pub mod near;
pub mod syntax;
pub mod vocabulary;

lalrpop_util::lalrpop_mod!(
    #[allow(clippy::all, clippy::pedantic, unused, missing_docs)]
    grammar,
    "/skill.rs"
);
