//! Random testing of the engine.

pub mod choice;
pub mod generate;
pub mod program;
