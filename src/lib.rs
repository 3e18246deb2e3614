pub mod diag;
pub mod ir;
pub mod skill;
pub mod source;
