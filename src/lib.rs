pub mod compile;
pub mod diag;
pub mod edit;
pub mod ir;
pub mod project;
pub mod skill;
pub mod source;
pub mod syntax;
