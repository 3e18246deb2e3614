pub mod compile;
pub mod diag;
pub mod edit;
pub mod ir;
<<<<<<< HEAD
pub mod skill;
=======
pub mod project;
>>>>>>> mask
pub mod source;
pub mod syntax;
