//! The code builder that bodies write through: fresh names, indentation, newline style, rewritten copies.

use std::collections::BTreeSet;

use super::{Edit, EditError, EditSet, indent, splice};
use crate::ir::{Function, Scalar, Type, VarId};
use crate::source::tokens::{TokenKind, scan_code};
use crate::source::{FileId, SourceFile, Span, lines};

/// Collects the edits of one rewrite. Inserted text is written with `\n` and with no indentation of its own on the
/// first line; the builder brings both to the file's style.
pub struct Editor<'a> {
    file: FileId,
    source: &'a SourceFile,
    taken: BTreeSet<String>,
    edits: Vec<Edit>,
    unit: String,
}

impl<'a> Editor<'a> {
    pub fn new(file: FileId, source: &'a SourceFile) -> Editor<'a> {
        Editor { file, source, taken: identifiers(&source.text), edits: vec![], unit: indent::unit(&source.text) }
    }

    /// The source text of `span`.
    pub fn text(&self, span: Span) -> &'a str {
        self.source.slice(span)
    }

    /// A name that occurs nowhere in the file and was not handed out before: `base`, `base_2`, `base_3`, ...
    pub fn fresh(&mut self, base: &str) -> String {
        let mut name = base.to_owned();
        let mut n = 2;
        while !self.taken.insert(name.clone()) {
            name = format!("{base}_{n}");
            n += 1;
        }
        name
    }

    /// The blanks in front of the line on which `span` starts.
    pub fn indent_of(&self, span: Span) -> &'a str {
        lines::indentation_at(&self.source.text, (span.start as usize).min(self.source.text.len()))
    }

    /// One step of indentation in this file's style.
    pub fn indent_unit(&self) -> &str {
        &self.unit
    }

    pub fn replace(&mut self, span: Span, text: &str) {
        self.edits.push(Edit { span, text: self.native(text) });
    }

    pub fn remove(&mut self, span: Span) {
        self.replace(span, "");
    }

    pub fn insert_before(&mut self, span: Span, text: &str) {
        self.replace(Span { end: span.start, ..span }, text);
    }

    pub fn insert_after(&mut self, span: Span, text: &str) {
        self.replace(Span { start: span.end, ..span }, text);
    }

    /// The text of `span` with parts of it replaced; the parts are spans of the file inside `span`.
    ///
    /// # Errors
    /// [`EditError::Overlap`] when two parts overlap, [`EditError::OutOfRange`] when one lies outside `span`.
    pub fn rewritten(&self, span: Span, parts: &[(Span, String)]) -> Result<String, EditError> {
        let mut edits: Vec<Edit> = parts.iter().map(|(span, text)| Edit { span: *span, text: text.clone() }).collect();
        edits.sort_by_key(|e| (e.span.start, e.span.end));
        edits.dedup();
        if let Some(outside) = edits.iter().find(|e| !span.contains(e.span)) {
            return Err(EditError::OutOfRange { span: outside.span });
        }
        if let Some(pair) = edits.windows(2).find(|p| p[0].span.end > p[1].span.start) {
            return Err(EditError::Overlap { first: pair[0].span, second: pair[1].span });
        }
        Ok(splice(self.text(span), span.start as usize, &edits))
    }

    /// `text` (a copy of source that stood at indentation `from`) moved to indentation `to`.
    pub fn reindent(&self, text: &str, from: &str, to: &str) -> String {
        indent::shift(text, from, to)
    }

    /// The same builder (names handed out stay taken) with an empty list of edits.
    pub fn without_edits(self) -> Editor<'a> {
        Editor { edits: vec![], ..self }
    }

    /// Takes back all edits but the first `count`.
    pub fn truncate(&mut self, count: usize) {
        self.edits.truncate(count);
    }

    /// The edits so far.
    pub fn edits(&self) -> &[Edit] {
        &self.edits
    }

    /// # Errors
    /// See [`EditSet::new`].
    pub fn finish(self) -> Result<EditSet, EditError> {
        EditSet::new(self.file, self.source, self.edits)
    }

    fn native(&self, text: &str) -> String {
        indent::with_newlines(text, self.source.lines.newline.as_str())
    }
}

/// Every identifier-like word of the file, comments and strings included: a fresh name must not meet any of them.
fn identifiers(text: &str) -> BTreeSet<String> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|w| !w.is_empty() && !w.as_bytes()[0].is_ascii_digit())
        .map(str::to_owned)
        .collect()
}

/// How `ty` is spelled in CUDA C++, or `None` where it cannot be spelled out of its context.
pub fn type_text(ty: &Type) -> Option<String> {
    match ty {
        Type::Void => Some("void".into()),
        Type::Scalar(s) => Some(s.cuda().into()),
        Type::Vector { elem, lanes } => vector_name(*elem, *lanes).map(Into::into),
        Type::Named(name) | Type::Param(name) => Some(name.clone()),
        Type::Pointer(p) | Type::Reference(p) => {
            let inner = type_text(&p.ty)?;
            let sigil = if matches!(ty, Type::Pointer(_)) { '*' } else { '&' };
            let konst = if p.is_const { "const " } else { "" };
            let volatile = if p.is_volatile { "volatile " } else { "" };
            Some(format!("{konst}{volatile}{inner}{sigil}"))
        }
        Type::Array { .. } | Type::Auto | Type::Unknown => None,
    }
}

/// How the declaration of a pointer or array spells its elements, such as `unsigned long` for `const unsigned long* p`:
/// `long` and `long long`, `char` and `signed char` have one size and are different types. `None` for declarations that
/// are more than that.
pub fn element_text(f: &Function, source: &SourceFile, var: VarId) -> Option<String> {
    const LEFT_OUT: &[&str] = &["const", "__restrict__", "__restrict", "restrict", "__shared__", "extern", "static"];
    let var = f.var(var);
    let head = source.text.get(var.span.start as usize..var.name_span.start as usize)?;
    let mut words = vec![];
    for token in scan_code(head) {
        match (token.kind, token.of(head)) {
            (TokenKind::Word, word) if LEFT_OUT.contains(&word) => {}
            (TokenKind::Word, "auto" | "volatile" | "decltype" | "typename") => return None,
            (TokenKind::Word, word) => words.push(word),
            (_, "*") => {}
            (_, "::") => words.push("::"),
            _ => return None,
        }
    }
    (!words.is_empty()).then(|| words.join(" ").replace(" :: ", "::"))
}

/// CUDA's built-in vector type of `lanes` elements, where there is one with named components.
pub fn vector_name(elem: Scalar, lanes: u8) -> Option<&'static str> {
    use Scalar::*;
    Some(match (elem, lanes) {
        (F32, 2) => "float2",
        (F32, 4) => "float4",
        (F64, 2) => "double2",
        (I32, 2) => "int2",
        (I32, 4) => "int4",
        (U32, 2) => "uint2",
        (U32, 4) => "uint4",
        (I64, 2) => "longlong2",
        (U64, 2) => "ulonglong2",
        (I16, 2) => "short2",
        (I16, 4) => "short4",
        (U16, 2) => "ushort2",
        (U16, 4) => "ushort4",
        (I8, 4) => "char4",
        (U8, 4) => "uchar4",
        (F16, 2) => "__half2",
        (BF16, 2) => "__nv_bfloat162",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fresh_names_meet_nothing_in_the_file() {
        let source = SourceFile::new("a.cu", "float x4; // x4_2 is spoken of\n");
        let mut editor = Editor::new(FileId(0), &source);
        assert_eq!(editor.fresh("x4"), "x4_3");
        assert_eq!(editor.fresh("x4"), "x4_4");
        assert_eq!(editor.fresh("y"), "y");
    }

    #[test]
    fn inserted_lines_follow_the_newline_style() {
        let source = SourceFile::new("a.cu", "a;\r\nb;\r\n");
        let mut editor = Editor::new(FileId(0), &source);
        editor.insert_before(Span::new(FileId(0), 4, 6), "x;\ny;\n");
        assert_eq!(editor.finish().unwrap().apply(&source).unwrap(), "a;\r\nx;\r\ny;\r\nb;\r\n");
    }

    #[test]
    fn a_rewritten_copy_leaves_the_source_alone() {
        let source = SourceFile::new("a.cu", "s += x[i] * y[i];");
        let editor = Editor::new(FileId(0), &source);
        let whole = Span::new(FileId(0), 0, 17);
        let parts =
            [(Span::new(FileId(0), 5, 9), "x4.x".to_owned()), (Span::new(FileId(0), 14, 15), "i + 1".to_owned())];
        assert_eq!(editor.rewritten(whole, &parts).unwrap(), "s += x4.x * y[i + 1];");
        assert!(editor.rewritten(Span::new(FileId(0), 0, 4), &parts).is_err());
        assert!(editor.edits().is_empty());
    }
}
