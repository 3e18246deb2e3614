//! Renders a [`Diagnostic`] through codespan-reporting, as text with or without colour.

use codespan_reporting::diagnostic as codespan;
use codespan_reporting::files::{Error, Files};
use codespan_reporting::term::{self, Config, termcolor};

use super::{Diagnostic, Severity};
use crate::source::{FileId, Sources};

impl<'a> Files<'a> for Sources {
    type FileId = FileId;
    type Name = &'a str;
    type Source = &'a str;

    fn name(&'a self, id: FileId) -> Result<&'a str, Error> {
        self.checked(id).map(|f| f.name.as_str())
    }

    fn source(&'a self, id: FileId) -> Result<&'a str, Error> {
        self.checked(id).map(|f| f.text.as_ref())
    }

    fn line_index(&'a self, id: FileId, byte: usize) -> Result<usize, Error> {
        self.checked(id).map(|f| f.lines.line_of(byte) as usize - 1)
    }

    fn line_range(&'a self, id: FileId, line: usize) -> Result<std::ops::Range<usize>, Error> {
        let file = self.checked(id)?;
        let start = file.lines.start_of(line as u32 + 1);
        let start = start.ok_or(Error::LineTooLarge { given: line, max: file.lines.count() })?;
        let end = file.lines.start_of(line as u32 + 2).unwrap_or(file.text.len());
        Ok(start..end)
    }
}

impl Sources {
    fn checked(&self, id: FileId) -> Result<&crate::source::SourceFile, Error> {
        if (id.0 as usize) < self.len() { Ok(self.get(id)) } else { Err(Error::FileMissing) }
    }
}

/// The diagnostic as text, ANSI colours included when `colour` is set.
pub fn render(sources: &Sources, diagnostic: &Diagnostic, colour: bool) -> String {
    if let Some(short) = without_long_lines(sources, diagnostic) {
        return render(sources, &short, colour);
    }
    let config = Config { start_context_lines: 1, end_context_lines: 1, ..Config::default() };
    let shown = to_codespan(diagnostic);
    let mut buffer = if colour { termcolor::Buffer::ansi() } else { termcolor::Buffer::no_color() };
    match term::emit_to_write_style(&mut buffer, &config, sources, &shown) {
        Ok(()) => String::from_utf8_lossy(&buffer.into_inner()).into_owned(),
        Err(error) => format!("{}: {} ({error})\n", diagnostic.code, diagnostic.message),
    }
}

/// Longest line that is shown, in bytes: a generated file may be a single one.
const SHOWN: usize = 1000;

/// The diagnostic with notes in the place of labels whose lines are too long to be shown, if there are any.
fn without_long_lines(sources: &Sources, d: &Diagnostic) -> Option<Diagnostic> {
    let mut short = d.clone();
    short.labels.clear();
    for label in &d.labels {
        let (file, range) = (label.span.file, label.span.range());
        let lines = (sources.line_index(file, range.start), sources.line_index(file, range.end));
        let is_long = |line: usize| sources.line_range(file, line).is_ok_and(|r| r.len() > SHOWN);
        // The neighbours of a label's lines are shown, too.
        let near = |line: usize| (line.saturating_sub(1)..line + 2).any(is_long);
        match (lines, sources.name(file)) {
            ((Ok(first), Ok(last)), Ok(name)) if near(first) || near(last) => {
                let place = format!("{name}:{}, byte {}", first + 1, range.start);
                short.notes.push(format!("{place}: {} (the line is too long to be shown)", label.text));
            }
            _ => short.labels.push(label.clone()),
        }
    }
    (short.labels.len() < d.labels.len()).then_some(short)
}

fn to_codespan(d: &Diagnostic) -> codespan::Diagnostic<FileId> {
    let severity = match d.severity {
        Severity::Note => codespan::Severity::Note,
        Severity::Help => codespan::Severity::Help,
        Severity::Warning => codespan::Severity::Warning,
        Severity::Error => codespan::Severity::Error,
    };
    let labels = d.labels.iter().map(|l| {
        let style = if l.primary { codespan::LabelStyle::Primary } else { codespan::LabelStyle::Secondary };
        codespan::Label::new(style, l.span.file, l.span.range()).with_message(&l.text)
    });
    let mut notes = d.notes.clone();
    notes.extend(d.next.as_ref().map(|next| format!("next: {next}")));
    codespan::Diagnostic::new(severity)
        .with_code(d.code.to_string())
        .with_message(&d.message)
        .with_labels(labels.collect())
        .with_notes(notes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Code;
    use crate::source::{SourceFile, Span};

    #[test]
    fn labels_notes_and_next_step_are_shown() {
        let mut sources = Sources::default();
        let file = sources.add(SourceFile::new("a.cu", "int a;\nfloat b = x[i];\n"));
        let d = Diagnostic::error(Code(201), "stride is 4")
            .at(Span::new(file, 17, 21), "here")
            .see(Span::new(file, 4, 5), "declared here")
            .note("neighbours are needed")
            .next("transpose the array");
        let text = render(&sources, &d, false);
        for part in ["error[K0201]: stride is 4", "a.cu:2:11", "^^^^ here", "declared here", "next: transpose"] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
        assert!(render(&sources, &d, true).contains("\u{1b}["));
    }

    #[test]
    fn lines_of_generated_files_are_not_shown() {
        let mut sources = Sources::default();
        let file = sources.add(SourceFile::new("a.cu", format!("int a;\n{}\nint b;\n", "x".repeat(5000))));
        let d = Diagnostic::error(Code(201), "stride is 4").at(Span::new(file, 17, 21), "here");
        let text = render(&sources, &d, false);
        assert!(text.len() < 400 && text.contains("a.cu:2, byte 17: here"), "{text}");
    }

    #[test]
    fn a_span_outside_the_file_still_says_what_and_why() {
        let sources = Sources::default();
        let d = Diagnostic::error(Code(1), "gone").at(Span::new(FileId(7), 0, 1), "here");
        assert!(render(&sources, &d, false).contains("K0001: gone"));
    }
}
