//! What lowering is given: the original text, the masked text, and what the mask set aside.

use crate::ir::LaunchBounds;
use crate::source::{FileId, Span};
use std::collections::{BTreeMap, BTreeSet};

/// Everything that the lowering knows besides the tree.
#[derive(Clone, Debug)]
pub struct Input<'a> {
    pub file: FileId,
    pub original: &'a str,
    /// Same length as `original`; this is what was parsed.
    pub text: &'a str,
    /// Launch attributes, each at the offset where the first of them stood.
    pub bounds: Vec<(usize, LaunchBounds)>,
    /// Alignment attributes: where they stood, and their value.
    pub alignments: Vec<(usize, Option<u32>)>,
    pub dropped: Vec<Span>,
    pub lexical_kernels: Vec<Span>,
    pub constants: Vec<(String, i128, Span)>,
    /// Macros whose body is a type.
    pub type_macros: Vec<(String, String, Span)>,
    /// Names of function-like macros that are known.
    pub function_macros: BTreeSet<String>,
    /// `#pragma unroll` by what the mask blanked: the offset of the pragma, its text.
    pub unrolls: Vec<(Span, String)>,
    /// Integer constants that other files define.
    pub outer_constants: BTreeMap<String, i128>,
}

impl<'a> Input<'a> {
    pub fn bare(file: FileId, original: &'a str, text: &'a str) -> Input<'a> {
        Input {
            file,
            original,
            text,
            bounds: vec![],
            alignments: vec![],
            dropped: vec![],
            lexical_kernels: vec![],
            constants: vec![],
            type_macros: vec![],
            function_macros: BTreeSet::new(),
            unrolls: vec![],
            outer_constants: BTreeMap::new(),
        }
    }

    pub fn span(&self, range: std::ops::Range<usize>) -> Span {
        Span::new(self.file, range.start, range.end)
    }
}
