pub mod diag;
pub mod ir;
pub mod project;
pub mod source;
pub mod syntax;
