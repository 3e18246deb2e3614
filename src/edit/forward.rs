//! Spans across edits: a place moves with the text around it, or is consumed by a named edit.

use super::Edit;
use crate::source::{FileId, Span};

/// The place no longer exists: the edit at `by` (a span of the old revision) replaced it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    pub span: Span,
    pub by: Span,
}

/// Maps spans of the old revision to the new one.
#[derive(Clone, Debug)]
pub struct Forwarding {
    file: FileId,
    /// Old start, old end, new length; sorted.
    changes: Vec<(u32, u32, u32)>,
}

impl Forwarding {
    pub(super) fn new(file: FileId, edits: &[Edit]) -> Forwarding {
        let changes = edits.iter().map(|e| (e.span.start, e.span.end, e.text.len() as u32)).collect();
        Forwarding { file, changes }
    }

    /// Where `span` is now. A span that wholly contains edits grows or shrinks with them; one that an edit cuts or
    /// covers is lost. Insertions at its very edge stay outside.
    pub fn forward(&self, span: Span) -> Result<Span, Lost> {
        if span.file != self.file {
            return Ok(span);
        }
        let (mut before, mut inside) = (0i64, 0i64);
        for &(start, end, new) in &self.changes {
            let delta = i64::from(new) - i64::from(end - start);
            if end <= span.start {
                before += delta;
            } else if start >= span.end {
                break;
            } else if span.start <= start && end <= span.end && (start, end) != (span.start, span.end) {
                inside += delta;
            } else {
                return Err(Lost { span, by: Span { file: self.file, start, end } });
            }
        }
        let start = (i64::from(span.start) + before) as u32;
        Ok(Span { file: span.file, start, end: (i64::from(span.end) + before + inside) as u32 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_move_grow_or_are_consumed() {
        let at = |s, e| Span { file: FileId(0), start: s, end: e };
        let edits = [Edit { span: at(4, 6), text: "wider".into() }, Edit { span: at(10, 10), text: "!!".into() }];
        let forward = Forwarding::new(FileId(0), &edits);
        for (old, new) in [(at(0, 4), at(0, 4)), (at(6, 8), at(9, 11)), (at(0, 8), at(0, 11)), (at(10, 12), at(15, 17))]
        {
            assert_eq!(forward.forward(old), Ok(new), "{old:?}");
        }
        for (old, by) in [(at(4, 6), at(4, 6)), (at(5, 9), at(4, 6)), (at(5, 6), at(4, 6))] {
            assert_eq!(forward.forward(old), Err(Lost { span: old, by }), "{old:?}");
        }
        let elsewhere = Span { file: FileId(1), start: 4, end: 6 };
        assert_eq!(forward.forward(elsewhere), Ok(elsewhere));
    }
}
