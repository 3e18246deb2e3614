//! Compiler messages, read from the log and put on the user's lines.

use crate::diag::{Code, Diagnostic, Severity};
use crate::source::{FileId, SourceFile, Span};

use super::slice::PRELUDE;

/// One message as the compiler wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub severity: Severity,
    /// `None` for messages about the whole program.
    pub file: Option<String>,
    /// From 1.
    pub line: Option<u32>,
    /// From 1, in bytes, where the log shows it.
    pub column: Option<u32>,
    pub text: String,
    /// `detected during instantiation of ..` and the like.
    pub context: Vec<String>,
}

/// Reads all messages of an NVRTC, nvcc, host compiler or ptxas log.
pub fn parse(log: &str) -> Vec<Message> {
    let mut out: Vec<Message> = vec![];
    for line in log.lines() {
        if let Some(message) = head(line) {
            out.push(message);
            continue;
        }
        let Some(last) = out.last_mut() else { continue };
        let trimmed = line.trim();
        if trimmed == "^" {
            // NVRTC shows the source line indented by two.
            let indent = line.find('^').unwrap_or(0);
            last.column = last.column.or_else(|| u32::try_from(indent.saturating_sub(1)).ok());
        } else if (trimmed.starts_with("detected ") || trimmed.starts_with("instantiation of"))
            && last.context.len() < 8
        {
            last.context.push(trimmed.to_owned());
        }
    }
    out
}

fn head(line: &str) -> Option<Message> {
    let (place, severity, text) = split_severity(line)?;
    let place = place.trim().trim_end_matches([':', ';']).trim_end();
    let (file, line, column) = location(place);
    let text = text.trim().to_owned();
    if text.is_empty() || (file.is_none() && !place.is_empty() && !is_tool(place)) {
        return None;
    }
    Some(Message { severity, file, line, column, text, context: vec![] })
}

/// What may stand before the severity of a message that has no place.
fn is_tool(place: &str) -> bool {
    ["nvrtc", "nvcc", "ptxas", "At end of source", "nvlink", "cc1plus", "cicc"].iter().any(|t| place.starts_with(t))
}

fn split_severity(line: &str) -> Option<(&str, Severity, &str)> {
    const KEYS: &[(&str, Severity)] = &[
        ("catastrophic error", Severity::Error),
        ("internal error", Severity::Error),
        ("fatal error", Severity::Error),
        ("error", Severity::Error),
        ("fatal", Severity::Error),
        ("warning", Severity::Warning),
    ];
    for (key, severity) in KEYS {
        for (at, _) in line.match_indices(key) {
            let (before, after) = (line.get(..at)?, line.get(at + key.len()..)?);
            let opens =
                before.is_empty() || before.ends_with(": ") || before.ends_with("; ") || before.ends_with("ptxas ");
            // `error: ..`, `warning #177-D: ..`, `ptxas fatal   : ..`
            let after = after.trim_start();
            let number = after
                .strip_prefix('#')
                .map(|a| a.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-' || c == 'D'));
            if let Some(text) = number.unwrap_or(after).strip_prefix(':').filter(|_| opens) {
                return Some((before, *severity, text));
            }
        }
    }
    None
}

/// `file(12)`, `file:12:5`, `file:12`, `ptxas file, line 12;`.
fn location(place: &str) -> (Option<String>, Option<u32>, Option<u32>) {
    if let Some((file, rest)) = place.rsplit_once('(')
        && let Some(line) = rest.strip_suffix(')').and_then(|l| l.parse().ok())
    {
        return (Some(file.to_owned()), Some(line), None);
    }
    let mut parts = place.rsplitn(3, ':');
    let (last, middle, first) = (parts.next().unwrap_or(""), parts.next(), parts.next());
    match (first, middle.and_then(|m| m.parse().ok()), last.parse::<u32>().ok()) {
        (Some(file), Some(line), Some(column)) => (Some(file.to_owned()), Some(line), Some(column)),
        (_, _, Some(line)) if middle.is_some() => {
            let file = place.rsplit_once(':').map_or("", |(f, _)| f);
            (Some(file.to_owned()), Some(line), None)
        }
        _ => (None, None, None),
    }
}

/// The compiler refused the program.
pub const REFUSED: Code = Code(411);
/// The compiler warned.
pub const WARNED: Code = Code(412);

/// Puts messages on spans. `find` gives the user's file by the name that the slice's `#line` directives carry.
pub fn diagnostics<'a>(
    messages: &[Message],
    find: &dyn Fn(&str) -> Option<(FileId, &'a SourceFile)>,
) -> Vec<Diagnostic> {
    messages.iter().map(|m| diagnostic(m, find)).collect()
}

fn diagnostic<'a>(message: &Message, find: &dyn Fn(&str) -> Option<(FileId, &'a SourceFile)>) -> Diagnostic {
    let code = if message.severity == Severity::Error { REFUSED } else { WARNED };
    let mut out = Diagnostic::new(code, message.severity, message.text.clone());
    let place = message.file.as_deref().zip(message.line);
    match place.and_then(|(file, line)| find(file).and_then(|(id, source)| span(id, source, line, message.column))) {
        Some(span) => out = out.at(span, message.text.clone()),
        None => {
            if let Some((file, line)) = place {
                let whose =
                    if file == PRELUDE { "in the text that kopt puts before the slice" } else { "not a file of yours" };
                out = out.note(format!("{file}, line {line}: {whose}"));
            }
        }
    }
    message.context.iter().fold(out, |d, c| d.note(c.clone()))
}

/// The word at the column, or the line without its white space.
fn span(id: FileId, source: &SourceFile, line: u32, column: Option<u32>) -> Option<Span> {
    let start = source.lines.start_of(line)?;
    let text = source.text.get(start..)?.split('\n').next()?.trim_end();
    let blank = text.len() - text.trim_start().len();
    let whole = Span::new(id, start + blank, start + text.len().max(blank));
    let Some(at) = column.and_then(|c| usize::try_from(c).ok()?.checked_sub(1)).filter(|&c| c < text.len()) else {
        return Some(whole);
    };
    let Some(rest) = text.get(at..) else { return Some(whole) };
    let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    let width = if word > 0 { word } else { rest.chars().next().map_or(0, char::len_utf8) };
    Some(Span::new(id, start + at, start + at + width))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_shapes_of_messages_are_read() {
        let cases = [
            ("a b.cu(12): error: identifier \"x\" is undefined", Some("a b.cu"), Some(12), None, Severity::Error),
            ("k.cu(1): warning #177-D: variable \"y\" was declared", Some("k.cu"), Some(1), None, Severity::Warning),
            (
                "/i/h.h(56): catastrophic error: cannot open source file \"s.h\"",
                Some("/i/h.h"),
                Some(56),
                None,
                Severity::Error,
            ),
            ("src/a.cu:7:3: error: expected ';'", Some("src/a.cu"), Some(7), Some(3), Severity::Error),
            ("a.cu:7: error: no", Some("a.cu"), Some(7), None, Severity::Error),
            ("At end of source: error: expected a \";\"", None, None, None, Severity::Error),
            ("nvrtc: error: unrecognized option --x found", None, None, None, Severity::Error),
            ("ptxas error   : Entry function 'k' uses too much shared data", None, None, None, Severity::Error),
            ("ptxas fatal   : Unresolved extern function 'f'", None, None, None, Severity::Error),
        ];
        for (log, file, line, column, severity) in cases {
            let all = parse(log);
            assert_eq!(all.len(), 1, "{log}");
            let m = &all[0];
            assert_eq!((m.file.as_deref(), m.line, m.column, m.severity), (file, line, column, severity), "{log}");
        }
    }

    #[test]
    fn other_lines_are_no_messages() {
        for log in [
            "",
            "4 errors detected in the compilation of \"k.cu\".",
            "  float error: 3;",
            "ptxas info    : 0 bytes gmem",
            "^",
        ] {
            assert!(parse(log).is_empty(), "{log}");
        }
    }

    #[test]
    fn the_caret_gives_the_column_and_the_column_the_word() {
        let text = "__global__ void k(float* p) {\n    p[0] = foo;\n}\n";
        let log = "k.cu(2): error: identifier \"foo\" is undefined\n      p[0] = foo;\n             ^\n";
        let source = SourceFile::new("k.cu", text.as_bytes());
        let find = |name: &str| (name == "k.cu").then_some((FileId(0), &source));
        let all = diagnostics(&parse(log), &find);
        let at = all[0].primary().expect("a span");
        assert_eq!(source.slice(at), "foo");
        let elsewhere = diagnostics(&parse("other.h(3): error: no"), &find);
        assert!(elsewhere[0].primary().is_none() && elsewhere[0].notes[0].contains("other.h"));
        let beyond = diagnostics(&parse("k.cu(99): error: no"), &find);
        assert!(beyond[0].primary().is_none());
    }
}
