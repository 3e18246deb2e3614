//! Errors of reading, decoding and running PTX.

use thiserror::Error;

/// Why a text could not be read, decoded or run. Lines are lines of the PTX text.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PtxError {
    #[error("PTX line {line}: {what}")]
    Syntax { line: u32, what: String },
    /// Something that PTX allows and this machine does not model.
    #[error("unsupported: {what}, {}", place(.file, *.user_line, *.line))]
    Unsupported { what: String, file: String, user_line: u32, line: u32 },
    /// A text that contradicts itself: an undeclared register, an operand of the wrong kind.
    #[error("invalid PTX: {what}, {}", place(.file, *.user_line, *.line))]
    Invalid { what: String, file: String, user_line: u32, line: u32 },
    #[error("no kernel `{0}` in this module")]
    NoKernel(String),
    /// The launch does not fit the kernel or the limits.
    #[error("launch: {0}")]
    Launch(String),
    #[error("limit: {0}")]
    Limit(String),
    #[error("memory: {0}")]
    Memory(String),
}

fn place(file: &str, source: u32, line: u32) -> String {
    if source == 0 { format!("PTX line {line}") } else { format!("line {source} of {file} (PTX line {line})") }
}
