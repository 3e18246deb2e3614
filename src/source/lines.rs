//! Line starts, newline style and line/column positions.

/// How a file ends its lines; inserted code follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Newline {
    Lf,
    CrLf,
}

impl Newline {
    pub fn as_str(self) -> &'static str {
        match self {
            Newline::Lf => "\n",
            Newline::CrLf => "\r\n",
        }
    }
}

/// A position for people: both numbers count from 1, the column in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineColumn {
    pub line: u32,
    pub column: u32,
}

#[derive(Clone, Debug)]
pub struct Lines {
    starts: Vec<u32>,
    pub newline: Newline,
}

impl Lines {
    pub fn new(text: &str) -> Lines {
        let mut starts = vec![0];
        starts.extend(memchr::memchr_iter(b'\n', text.as_bytes()).map(|i| i as u32 + 1));
        let crlf = memchr::memchr(b'\n', text.as_bytes()).is_some_and(|i| i > 0 && text.as_bytes()[i - 1] == b'\r');
        Lines { starts, newline: if crlf { Newline::CrLf } else { Newline::Lf } }
    }

    /// The line (from 1) that holds the byte at `offset`.
    pub fn line_of(&self, offset: usize) -> u32 {
        self.starts.partition_point(|&s| s as usize <= offset) as u32
    }

    /// Byte offset of the first character of `line` (from 1), or `None` past the end.
    pub fn start_of(&self, line: u32) -> Option<usize> {
        self.starts.get(line.checked_sub(1)? as usize).map(|&s| s as usize)
    }

    pub fn count(&self) -> usize {
        self.starts.len()
    }

    pub fn position(&self, text: &str, offset: usize) -> LineColumn {
        let line = self.line_of(offset);
        let start = self.start_of(line).unwrap_or(0);
        let column = text.get(start..offset).map_or(offset - start, |t| t.chars().count()) as u32 + 1;
        LineColumn { line, column }
    }
}

/// The blank prefix of the line that holds `offset`.
pub fn indentation_at(text: &str, offset: usize) -> &str {
    let start = text[..offset].rfind('\n').map_or(0, |i| i + 1);
    let line = &text[start..];
    let end = line.find(|c: char| c != ' ' && c != '\t').unwrap_or(line.len());
    &line[..end]
}
