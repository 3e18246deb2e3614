//! Edits as data: byte ranges of one revision and the text that replaces them.
//!
//! An [`EditSet`] is bound to the [`Revision`] it was computed on and applies to no other. [`Editor`] is the code
//! builder that passes write through; [`Forwarding`] carries spans across an applied set.

pub mod builder;
pub mod forward;
pub mod indent;

use crate::source::{FileId, Revision, SourceFile, Span};

pub use builder::Editor;
pub use forward::{Forwarding, Lost};

/// Replaces the bytes of `span` by `text`; an empty span inserts.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Edit {
    pub span: Span,
    pub text: String,
}

/// Non-overlapping edits of one file revision, sorted by position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditSet {
    pub file: FileId,
    pub revision: Revision,
    edits: Vec<Edit>,
}

/// Why edits cannot be combined or applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    #[error("two edits overlap")]
    Overlap { first: Span, second: Span },
    #[error("the edit was computed on another revision of the file")]
    StaleRevision { expected: Revision, found: Revision },
    #[error("the edit lies outside the file or splits a character")]
    OutOfRange { span: Span },
    #[error("the file is not UTF-8 and is never edited")]
    NotUtf8,
}

impl EditSet {
    /// Sorts and checks `edits`. Insertions at one place keep the order in which they were given.
    ///
    /// # Errors
    /// [`EditError::Overlap`] when two ranges share a byte, or an insertion stands strictly inside a replaced range;
    /// [`EditError::OutOfRange`] when a range does not fit the file.
    pub fn new(file: FileId, source: &SourceFile, mut edits: Vec<Edit>) -> Result<EditSet, EditError> {
        if !source.is_utf8 {
            return Err(EditError::NotUtf8);
        }
        edits.sort_by_key(|e| (e.span.start, e.span.end));
        for edit in &edits {
            let (start, end) = (edit.span.start as usize, edit.span.end as usize);
            let fits = start <= end && source.text.is_char_boundary(start) && source.text.is_char_boundary(end);
            if edit.span.file != file || !fits {
                return Err(EditError::OutOfRange { span: edit.span });
            }
        }
        for pair in edits.windows(2) {
            if pair[0].span.end > pair[1].span.start {
                return Err(EditError::Overlap { first: pair[0].span, second: pair[1].span });
            }
        }
        Ok(EditSet { file, revision: source.revision, edits })
    }

    pub fn edits(&self) -> &[Edit] {
        &self.edits
    }

    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// The new text. Bytes outside the edited ranges are copied unchanged.
    ///
    /// # Errors
    /// [`EditError::StaleRevision`] when `source` is not the revision the set was computed on.
    pub fn apply(&self, source: &SourceFile) -> Result<String, EditError> {
        if source.revision != self.revision {
            return Err(EditError::StaleRevision { expected: self.revision, found: source.revision });
        }
        Ok(splice(&source.text, 0, &self.edits))
    }

    pub fn forwarding(&self) -> Forwarding {
        Forwarding::new(self.file, &self.edits)
    }
}

/// Applies sorted, non-overlapping `edits` to `text`, whose first byte stands at offset `base` of the file.
pub(crate) fn splice(text: &str, base: usize, edits: &[Edit]) -> String {
    let growth: usize = edits.iter().map(|e| e.text.len()).sum();
    let mut out = String::with_capacity(text.len() + growth);
    let mut at = 0;
    for edit in edits {
        let (start, end) = (edit.span.start as usize - base, edit.span.end as usize - base);
        out.push_str(&text[at..start]);
        out.push_str(&edit.text);
        at = end;
    }
    out.push_str(&text[at..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(start: usize, end: usize, text: &str) -> Edit {
        Edit { span: Span::new(FileId(0), start, end), text: text.into() }
    }

    #[test]
    fn bytes_outside_edits_do_not_change() {
        let source = SourceFile::new("a.cu", "int a;\r\n\tint b; // c\n");
        let set = EditSet::new(FileId(0), &source, vec![edit(13, 14, "beta"), edit(4, 5, "alpha")]).unwrap();
        assert_eq!(set.apply(&source).unwrap(), "int alpha;\r\n\tint beta; // c\n");
    }

    #[test]
    fn overlap_stale_and_out_of_range_are_refused() {
        let source = SourceFile::new("a.cu", "int ä;");
        let overlap = EditSet::new(FileId(0), &source, vec![edit(0, 3, "x"), edit(2, 4, "y")]);
        assert!(matches!(overlap, Err(EditError::Overlap { .. })));
        assert!(matches!(EditSet::new(FileId(0), &source, vec![edit(5, 6, "")]), Err(EditError::OutOfRange { .. })));
        assert!(matches!(EditSet::new(FileId(0), &source, vec![edit(0, 99, "")]), Err(EditError::OutOfRange { .. })));
        let set = EditSet::new(FileId(0), &source, vec![edit(0, 3, "x")]).unwrap();
        let other = SourceFile::new("a.cu", "long a;");
        assert!(matches!(set.apply(&other), Err(EditError::StaleRevision { .. })));
        let latin = SourceFile::new("a.cu", vec![b'i', 0xe4, b';']);
        assert_eq!(EditSet::new(FileId(0), &latin, vec![]), Err(EditError::NotUtf8));
    }

    #[test]
    fn an_insertion_between_adjacent_replacements_is_no_conflict() {
        let source = SourceFile::new("a.cu", "abcd");
        let set = EditSet::new(FileId(0), &source, vec![edit(0, 2, "X"), edit(2, 2, "-"), edit(2, 4, "Y")]).unwrap();
        assert_eq!(set.apply(&source).unwrap(), "X-Y");
    }
}
