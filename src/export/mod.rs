//! A kernel as something to call: a C++ function that checks what its contract asks of a caller and then does the launches
//! ([`header()`]), and a PyTorch extension around it ([`torch()`]).
//!
//! The kernel's file is taken as it is, so that what runs is what was verified. Everything here is text: nothing is compiled.

mod cpp;
mod header;
mod interface;
mod torch;

pub use header::header;
pub use torch::{Package, torch};

use crate::contract::Plan;

/// What is exported.
#[derive(Clone, Debug)]
pub struct Exported<'a> {
    /// Settled: no open questions.
    pub plan: &'a Plan,
    /// Name of the function, and of the package.
    pub name: &'a str,
    /// The kernel's file as the header includes it.
    pub file: &'a str,
    /// BLAKE3 of the kernel's file.
    pub hash: &'a str,
    /// Kernels that are templates whose arguments a launch leaves to the compiler.
    pub deduced: &'a [String],
}

/// Why a plan cannot be called from outside.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    #[error("`{0}` is no name of a C++ function")]
    Name(String),
    #[error("`{0}` is a variable of the module, which a caller cannot pass")]
    Variable(String),
    #[error("the contract does not say {what} of `{of}`")]
    Open { what: &'static str, of: String },
    #[error("`{of}` is of the type {dtype}, for which no C++ type is agreed")]
    Type { of: String, dtype: &'static str },
    #[error("`{0}` is no buffer of the contract")]
    NoBuffer(String),
    #[error("the contract has no launch")]
    NoLaunch,
}
