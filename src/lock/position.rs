//! Edits by token: places that survive changes of comments and white space elsewhere.
//!
//! A place is a token of a function (counted without comments) and a side of it. A place in the middle of a gap also
//! carries the text of the gap, and what an edit replaces is hashed byte for byte: a comment *inside* the replaced text
//! cannot change unnoticed, since the replay would lose it.

use serde::{Deserialize, Serialize};

use crate::edit::Edit;
use crate::ir::{Function, Unit};
use crate::source::tokens::{Token, scan_code};
use crate::source::{FileId, Revision, SourceFile, Span};

/// An [`Edit`] whose ends are tokens of a function, or of the file where no function holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenEdit {
    /// Qualified name; empty for the whole file.
    #[serde(default, rename = "in", skip_serializing_if = "String::is_empty")]
    pub function: String,
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub nth: u32,
    pub from: Position,
    pub to: Position,
    /// Hash of the replaced bytes.
    pub replaced: String,
    pub text: String,
}

/// A place between two bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Position {
    pub token: u32,
    /// Counted from the end of the token instead of its start.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub end: bool,
    /// Bytes after that.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub plus: u32,
    /// The text up to the next token, when the place lies inside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<String>,
}

/// Why an edit cannot be placed in the present text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unplaced {
    /// The function that holds the edit is not there.
    NoFunction,
    /// There are fewer tokens than recorded.
    NoToken,
    /// Comments or white space differ inside the text that is replaced, or around an end that lies between tokens.
    Layout(Span),
}

/// The functions of a name, in the order of the text.
pub fn function<'u>(unit: &'u Unit, qualified: &str, nth: u32) -> Option<&'u Function> {
    unit.functions.iter().filter(|f| f.qualified == qualified && f.body_span.is_some()).nth(nth as usize)
}

/// The position of `f` among the functions of its name.
pub fn nth_of(unit: &Unit, f: &Function) -> u32 {
    let same = unit.functions.iter().filter(|g| g.qualified == f.qualified && g.body_span.is_some());
    same.take_while(|g| g.id != f.id).count() as u32
}

/// Records an edit of `source`, which `unit` was read from.
pub fn record(edit: &Edit, source: &SourceFile, unit: &Unit) -> TokenEdit {
    let holds = |f: &&Function| {
        f.body_span.is_some() && f.parent.is_none() && f.span.start <= edit.span.start && edit.span.end <= f.span.end
    };
    // Of methods and their like, the outermost function that has a body.
    let holder = unit.functions.iter().filter(holds).max_by_key(|f| f.span.len());
    let base = holder.map_or_else(|| whole(source, edit.span.file), |f| f.span);
    let text = source.slice(base);
    let tokens = scan_code(text);
    let at = |offset: u32, is_end: bool| place(text, &tokens, (offset - base.start) as usize, is_end);
    let is_insertion = edit.span.is_empty();
    let from = at(edit.span.start, false);
    TokenEdit {
        function: holder.map(|f| f.qualified.clone()).unwrap_or_default(),
        nth: holder.map_or(0, |f| nth_of(unit, f)),
        to: if is_insertion { from.clone() } else { at(edit.span.end, true) },
        from,
        replaced: hash(source.slice(edit.span)),
        text: edit.text.clone(),
    }
}

/// The edit in the present text.
///
/// # Errors
/// [`Unplaced`] when the text differs where the edit needs it to be the same.
pub fn restore(edit: &TokenEdit, file: FileId, source: &SourceFile, unit: &Unit) -> Result<Edit, Unplaced> {
    let base = if edit.function.is_empty() {
        whole(source, file)
    } else {
        function(unit, &edit.function, edit.nth).ok_or(Unplaced::NoFunction)?.span
    };
    let text = source.slice(base);
    let tokens = scan_code(text);
    let resolve = |p: &Position| -> Result<usize, Unplaced> { offset(text, &tokens, p, base) };
    let (start, end) = (resolve(&edit.from)?, resolve(&edit.to)?);
    let span = Span::new(file, base.start as usize + start, base.start as usize + end);
    if start > end || hash(source.slice(span)) != edit.replaced {
        return Err(Unplaced::Layout(if start > end { base } else { span }));
    }
    Ok(Edit { span, text: edit.text.clone() })
}

fn whole(source: &SourceFile, file: FileId) -> Span {
    Span::new(file, 0, source.text.len())
}

fn hash(text: &str) -> String {
    super::hex(Revision::of(text.as_bytes()).0)
}

fn place(text: &str, tokens: &[Token], offset: usize, is_end: bool) -> Position {
    let at = |token: usize, end: bool, plus: usize, gap: Option<String>| Position {
        token: token as u32,
        end,
        plus: plus as u32,
        gap,
    };
    let next = tokens.partition_point(|t| (t.start as usize) < offset);
    let starts = tokens.get(next).is_some_and(|t| t.start as usize == offset);
    let Some(before) = next.checked_sub(1).and_then(|i| tokens.get(i)) else {
        // In front of the first token, or in a text without tokens.
        return if starts { at(0, false, 0, None) } else { in_gap(text, 0, offset, tokens.first(), 0) };
    };
    let end = before.end as usize;
    if starts && !(is_end && end == offset) {
        return at(next, false, 0, None);
    }
    if offset < end {
        return at(next - 1, false, offset - before.start as usize, None);
    }
    if offset == end {
        return at(next - 1, true, 0, None);
    }
    in_gap(text, end, offset, tokens.get(next), next)
}

/// A place between tokens; `index` is that of the following token, so 0 means the beginning of the text.
fn in_gap(text: &str, start: usize, offset: usize, next: Option<&Token>, index: usize) -> Position {
    let end = next.map_or(text.len(), |t| t.start as usize);
    let gap = text.get(start..end).unwrap_or("").to_owned();
    Position { token: index as u32, end: true, plus: (offset - start) as u32, gap: Some(gap) }
}

fn offset(text: &str, tokens: &[Token], p: &Position, base: Span) -> Result<usize, Unplaced> {
    let index = p.token as usize;
    let found = match &p.gap {
        Some(gap) => {
            let start = match index.checked_sub(1) {
                Some(i) => tokens.get(i).ok_or(Unplaced::NoToken)?.end as usize,
                None => 0,
            };
            let end = tokens.get(index).map_or(text.len(), |t| t.start as usize);
            if text.get(start..end) != Some(gap.as_str()) {
                let at = |n: usize| base.start as usize + n;
                return Err(Unplaced::Layout(Span::new(base.file, at(start), at(end.max(start)))));
            }
            start + p.plus as usize
        }
        None => {
            let token = tokens.get(index).ok_or(Unplaced::NoToken)?;
            (if p.end { token.end } else { token.start }) as usize + p.plus as usize
        }
    };
    if found <= text.len() && text.is_char_boundary(found) { Ok(found) } else { Err(Unplaced::NoToken) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileId = FileId(0);

    fn unit() -> Unit {
        Unit {
            file: FILE,
            language: crate::ir::Language::Cuda,
            functions: vec![],
            globals: vec![],
            aliases: vec![],
            launches: vec![],
            constants: vec![],
            includes: vec![],
            instantiations: vec![],
            dropped: vec![],
            lexical_kernels: vec![],
            problems: vec![],
        }
    }

    #[test]
    fn every_span_of_a_text_comes_back() {
        let source = SourceFile::new("a.cu", " /* c */ int a = 1; // x\n#define N 4 /* y */\n\tfor (;;) { ä(); }\n ");
        for start in 0..=source.text.len() {
            for end in start..=source.text.len() {
                if !source.text.is_char_boundary(start) || !source.text.is_char_boundary(end) {
                    continue;
                }
                let edit = Edit { span: Span::new(FILE, start, end), text: "new".into() };
                let locked = record(&edit, &source, &unit());
                assert_eq!(restore(&locked, FILE, &source, &unit()), Ok(edit), "{start}..{end}: {locked:?}");
            }
        }
    }

    #[test]
    fn comments_elsewhere_move_the_edit_and_comments_inside_refuse_it() {
        let source = SourceFile::new("a.cu", "int a; x = y + z; int b;");
        let edit = Edit { span: Span::new(FILE, 7, 17), text: "w();".into() };
        let locked = record(&edit, &source, &unit());
        let moved = SourceFile::new("a.cu", "int a; // first\n\n   x = y + z; /* last */ int b;");
        let restored = restore(&locked, FILE, &moved, &unit()).unwrap();
        assert_eq!(moved.slice(restored.span), "x = y + z;");
        let inside = SourceFile::new("a.cu", "int a; x = y /* why */ + z; int b;");
        assert!(matches!(restore(&locked, FILE, &inside, &unit()), Err(Unplaced::Layout(_))));
        let shorter = SourceFile::new("a.cu", "int a;");
        assert_eq!(restore(&locked, FILE, &shorter, &unit()), Err(Unplaced::NoToken));
    }
}
