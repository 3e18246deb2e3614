//! Text as the user wrote it: files, revisions, spans and lines. Nothing here reads a disk.
//!
//! All later stages speak in byte offsets of the *original* bytes. Analysis works on a masked copy of equal length
//! ([`mask`]), so every offset found there is valid in the original.

pub mod lines;
pub mod mask;
pub mod tokens;

use std::sync::{Arc, OnceLock};

use tokens::{Token, TokenKind};

pub use lines::{LineColumn, Lines, Newline};

/// Index of a file in a [`Sources`] table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct FileId(pub u32);

/// A half-open byte range `[start, end)` of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Span {
    pub file: FileId,
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub fn new(file: FileId, start: usize, end: usize) -> Span {
        Span { file, start: start as u32, end: end as u32 }
    }

    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    pub fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// Whether `other` lies wholly inside (or equals) this span of the same file.
    pub fn contains(self, other: Span) -> bool {
        self.file == other.file && self.start <= other.start && other.end <= self.end
    }

    /// Whether the two spans share at least one byte.
    pub fn overlaps(self, other: Span) -> bool {
        self.file == other.file && self.start < other.end && other.start < self.end
    }

    /// The smallest span that covers both; the files must be equal.
    pub fn to(self, other: Span) -> Span {
        Span { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// Identifies one exact content of a file: the BLAKE3 hash of its bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub [u8; 32]);

impl Revision {
    pub fn of(bytes: &[u8]) -> Revision {
        Revision(*blake3::hash(bytes).as_bytes())
    }
}

impl std::fmt::Debug for Revision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "r{:02x}{:02x}{:02x}{:02x}", self.0[0], self.0[1], self.0[2], self.0[3])
    }
}

/// One file. `text` has exactly as many bytes as the file: where that is not UTF-8, each offending byte is shown as `?`,
/// and the file is analysed but never edited.
#[derive(Clone, Debug)]
pub struct SourceFile {
    pub name: String,
    /// Where it is not UTF-8.
    raw: Option<Arc<[u8]>>,
    pub text: Arc<str>,
    pub is_utf8: bool,
    pub revision: Revision,
    pub lines: Lines,
    directives: OnceLock<Arc<[Token]>>,
}

impl SourceFile {
    /// `name` is what messages show, normally the path as the user typed it.
    pub fn new(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> SourceFile {
        let bytes: Vec<u8> = bytes.into();
        let revision = Revision::of(&bytes);
        let (text, raw) = decode(bytes);
        let is_utf8 = raw.is_none();
        let lines = Lines::new(&text);
        SourceFile { name: name.into(), raw, text: text.into(), is_utf8, revision, lines, directives: OnceLock::new() }
    }

    /// The lines of the preprocessor, found once.
    pub fn directives(&self) -> &[Token] {
        let scan = || tokens::Scanner::new(&self.text).filter(|t| t.kind == TokenKind::Directive).collect();
        self.directives.get_or_init(scan)
    }

    /// The `#include`s in order.
    pub fn includes(&self) -> Vec<mask::Include> {
        mask::includes_among(&self.text, self.directives())
    }

    /// The file as it is on the disk.
    pub fn bytes(&self) -> &[u8] {
        self.raw.as_deref().unwrap_or(self.text.as_bytes())
    }

    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.range()).unwrap_or("")
    }
}

/// A length-preserving decoding, and the bytes where they were not UTF-8.
fn decode(bytes: Vec<u8>) -> (String, Option<Arc<[u8]>>) {
    let bytes = match String::from_utf8(bytes) {
        Ok(text) => return (text, None),
        Err(not_utf8) => not_utf8.into_bytes(),
    };
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(std::iter::repeat_n('?', chunk.invalid().len()));
    }
    (text, Some(bytes.into()))
}

/// The files of one run, in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    files: Vec<Arc<SourceFile>>,
}

impl Sources {
    pub fn add(&mut self, file: SourceFile) -> FileId {
        self.files.push(Arc::new(file));
        FileId(self.files.len() as u32 - 1)
    }

    /// Replaces the content of `id`; spans into the old content are no longer valid.
    pub fn replace(&mut self, id: FileId, file: SourceFile) {
        self.files[id.0 as usize] = Arc::new(file);
    }

    pub fn get(&self, id: FileId) -> &SourceFile {
        &self.files[id.0 as usize]
    }

    pub fn len(&self) -> usize {
        self.files.len()
    }

    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (FileId, &SourceFile)> {
        self.files.iter().enumerate().map(|(i, f)| (FileId(i as u32), f.as_ref()))
    }

    pub fn slice(&self, span: Span) -> &str {
        self.get(span.file).slice(span)
    }
}
