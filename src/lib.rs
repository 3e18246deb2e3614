pub mod contract;
pub mod diag;
pub mod facts;
pub mod ir;
pub mod predicate;
pub mod skill;
pub mod source;
pub mod syntax;
