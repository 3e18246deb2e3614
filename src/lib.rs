pub mod diag;
pub mod edit;
pub mod ir;
pub mod source;
pub mod syntax;
