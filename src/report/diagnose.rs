//! Faults and findings as diagnostics on the user's lines.

use crate::contract::Cell;
use crate::diag::{Code, Diagnostic};
use crate::gate::finding::{describe, witness};
use crate::gate::{Fault, Located, Stopped, Undefined, element};
use crate::source::{FileId, SourceFile, Sources, Span};

/// The span of a line of a file by the name that it was compiled under, without its indentation; `None` where the file
/// is not among `sources`.
pub fn line_span(sources: &Sources, file: &str, line: u32) -> Option<Span> {
    let (id, source) = find(sources, file)?;
    let start = source.lines.start_of(line)?;
    let end = source.lines.start_of(line + 1).unwrap_or(source.text.len());
    let text = source.text.get(start..end)?;
    let indent = text.len() - text.trim_start().len();
    Some(Span::new(id, start + indent, start + text.trim_end().len().max(indent)))
}

/// A file by the name that the compiler gave it: the name that it was told, or the absolute path of that.
fn find<'a>(sources: &'a Sources, file: &str) -> Option<(FileId, &'a SourceFile)> {
    let ends = |name: &str| {
        let name = name.trim_start_matches("./");
        !name.is_empty() && file.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    };
    let exact = sources.iter().find(|(_, f)| f.name == file);
    exact.or_else(|| sources.iter().filter(|(_, f)| ends(&f.name)).max_by_key(|(_, f)| f.name.len()))
}

/// A fault of the candidate. `cell` is the one that showed it first.
pub fn fault(sources: &Sources, cell: &Cell, fault: &Fault) -> Diagnostic {
    let at = super::text::cell(cell);
    let d = match fault {
        Fault::Finding(f) => return located(sources, f, Code(651), "candidate", &at),
        Fault::Stopped(s) => stopped(Code(658), s, "candidate"),
        Fault::Mismatch { output, dtype, mismatch: m, outside, elements, shape } => {
            let (r, c) = (element::show(*dtype, m.reference), element::show(*dtype, m.candidate));
            let message = format!("`{output}` differs: {outside} of {elements} elements are outside of their bound");
            let distance = m.ulps.map_or_else(String::new, |u| format!(", {u} ulp apart"));
            let allowed = if m.allowed == 0.0 { "equal bits".to_owned() } else { format!("{:.2e}", m.allowed) };
            Diagnostic::error(Code(650), message)
                .note(format!("first: {output}[{}] is {c}, the original has {r}", place(m.index, shape)))
                .note(format!("error {:.2e}{distance}; allowed: {allowed}", m.error))
        }
        Fault::Mean { output, rms, allowed } => Diagnostic::error(
            Code(650),
            format!("`{output}` is off on the whole: root mean square error {rms:.2e}, allowed {allowed:.2e}"),
        )
        .note("no single element is outside of its own bound".to_owned()),
        Fault::Unwritten { output, count, first } => Diagnostic::error(
            Code(656),
            format!("{count} elements of `{output}` are not written that the original writes, the first is {first}"),
        ),
        Fault::Overwrites { output, count, first } => Diagnostic::error(
            Code(656),
            format!("{count} elements of `{output}` are written that the original leaves alone, the first is {first}"),
        ),
        Fault::WritesInput { name, index } => {
            let how = index.map_or("written and put back".to_owned(), |i| format!("changed, first at element {i}"));
            Diagnostic::error(Code(657), format!("the input `{name}` is {how}"))
        }
        Fault::WritesGuard { name } => {
            Diagnostic::error(Code(657), format!("bytes before the first element of `{name}` are changed"))
        }
        Fault::KeepsState { symbol } => {
            Diagnostic::error(Code(657), format!("the `__device__` variable {symbol} keeps a value after the launch"))
                .note("a later launch would see it".to_owned())
        }
        Fault::DependsOnPoison { output, index } => Diagnostic::error(
            Code(661),
            format!("`{output}` depends on what stood in it or in a temporary before, first at element {index}"),
        ),
    };
    d.note(format!("in the cell {at}"))
}

/// What keeps the original from being defined in a cell.
pub fn undefined(sources: &Sources, cell: &Cell, what: &Undefined) -> Diagnostic {
    let at = super::text::cell(cell);
    let d = match what {
        Undefined::Finding(f) => return located(sources, f, Code(655), "original", &at),
        Undefined::Stopped(s) => stopped(Code(655), s, "original"),
        Undefined::WritesInput { name, index } => Diagnostic::warning(
            Code(655),
            match index {
                Some(i) => {
                    format!("the original changes `{name}`, which the contract calls an input, first at element {i}")
                }
                None => format!("the original writes `{name}`, which the contract calls an input, and puts it back"),
            },
        )
        .next(format!("give `{name}` the role inout or temp in the contract")),
        Undefined::OffReference { name, index } => Diagnostic::warning(
            Code(655),
            format!("the original and the contract's reference differ in `{name}`, first at element {index}"),
        )
        .next("mend the one that is wrong, or take the original for the reference"),
        Undefined::WritesGuard { name } => {
            Diagnostic::warning(Code(655), format!("the original writes before the first element of `{name}`"))
        }
    };
    d.note(format!("inconclusive in the cell {at}"))
}

fn located(sources: &Sources, f: &Located, code: Code, who: &str, cell: &str) -> Diagnostic {
    let undefined = code == Code(655);
    let message = format!("{who}: {} in `{}`, {}", describe(f.kind), f.kernel, times(f.count));
    let d = if undefined { Diagnostic::warning(code, message) } else { Diagnostic::error(code, message) };
    let first = f.samples.first().map_or_else(|| describe(f.kind).to_owned(), witness);
    let d = match line_span(sources, &f.file, f.line) {
        Some(span) => d.at(span, first),
        None if f.file.is_empty() => d.note(format!("PTX line {}: {first}", f.line)),
        None => d.note(format!("{}:{}: {first}", f.file, f.line)),
    };
    let d = f.samples.iter().skip(1).take(2).fold(d, |d, s| d.note(format!("also {}", witness(s))));
    if undefined {
        return d
            .note(format!("inconclusive in the cell {cell}"))
            .next("mend the original, or restrict the sizes in the contract to those that it is written for");
    }
    d.note(format!("in the cell {cell}"))
}

fn times(count: u64) -> String {
    if count == 1 { "once".into() } else { format!("{count} times") }
}

fn stopped(code: Code, s: &Stopped, who: &str) -> Diagnostic {
    match code {
        Code(655) => Diagnostic::warning(code, format!("{who}: {s}")),
        _ => Diagnostic::error(code, format!("{who}: {s}")),
    }
}

/// An element by its place along each axis, and by its number.
fn place(index: u64, shape: &[u64]) -> String {
    if shape.len() < 2 || shape.contains(&0) {
        return index.to_string();
    }
    let mut rest = index;
    let mut along = vec![];
    for extent in shape.iter().rev() {
        along.push(rest % extent);
        rest /= extent;
    }
    let list: Vec<String> = along.iter().rev().map(u64::to_string).collect();
    list.join("][")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::SourceFile;

    #[test]
    fn elements_are_named_along_each_axis() {
        assert_eq!(place(7, &[10]), "7");
        assert_eq!(place(7, &[3, 4]), "1][3");
        assert_eq!(place(25, &[2, 3, 5]), "1][2][0");
        assert_eq!(place(3, &[0, 4]), "3");
    }

    #[test]
    fn lines_are_found_by_the_name_of_the_file() {
        let mut sources = Sources::default();
        sources.add(SourceFile::new("k.cu", "int a;\n   int b; \nint c;"));
        let span = line_span(&sources, "k.cu", 2).unwrap();
        assert_eq!(sources.slice(span), "int b;");
        assert_eq!(sources.slice(line_span(&sources, "k.cu", 3).unwrap()), "int c;");
        assert_eq!(line_span(&sources, "/home/user/k.cu", 2), Some(span));
        assert!(line_span(&sources, "/home/user/hook.cu", 2).is_none());
        assert!(line_span(&sources, "k.cu", 9).is_none() && line_span(&sources, "other.cu", 1).is_none());
    }
}
