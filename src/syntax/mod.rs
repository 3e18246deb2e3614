//! From text to IR, one module per language. Lowering never fails: what cannot be read becomes a problem or a flaw.

pub mod cuda;
