pub mod compile;
pub mod diag;
pub mod edit;
pub mod ir;
pub mod source;
