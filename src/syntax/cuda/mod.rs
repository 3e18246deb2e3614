//! CUDA C++: from a masked text over its concrete tree to a [`Unit`].
//!
//! [`parse_unit`] is the usual way in. Nothing here fails: what cannot be read is a problem of the unit, and a function
//! that is not read faithfully carries a [`Flaw`](crate::ir::Flaw).

mod call;
mod compact;
mod constant;
mod declarator;
mod declare;
mod expr;
mod input;
mod kind;
mod launch;
mod library;
mod literal;
mod loops;
mod lower;
mod misparse;
mod names;
mod scope;
mod stmt;
#[cfg(test)]
mod tests;
mod tree;
mod unit;

pub use input::Input;
pub use tree::{MAX_BYTES, Tree, parse_tree};

use crate::diag::{Code, Diagnostic};
use kind::Kind;

use crate::ir::{FlawKind, Function, FunctionKind, Unit};
use crate::source::mask::{MacroTable, Masked, mask};
use crate::source::{FileId, SourceFile};

/// Masks, parses and lowers one file. `known` holds the macros of other files.
pub fn parse_unit(file: FileId, source: &SourceFile, known: &MacroTable) -> Unit {
    lower(file, &source.text, &mask(&source.text, known), known)
}

/// Lowers a masked text. Comparisons that were read as template calls are mended by a second parse.
pub fn lower(file: FileId, original: &str, masked: &Masked, known: &MacroTable) -> Unit {
    let input = Input::new(file, original, masked, known);
    let (unit, patches) = lower_once(&input);
    if patches.is_empty() {
        return unit;
    }
    let mut bytes = input.text.as_bytes().to_vec();
    for patch in patches {
        if let Some(place) = bytes.get_mut(patch.at..patch.at + patch.len) {
            place.fill(b'<');
        }
    }
    match String::from_utf8(bytes) {
        Ok(text) => lower_once(&Input { text: &text, ..input }).0,
        Err(_) => unit,
    }
}

fn lower_once(input: &Input) -> (Unit, Vec<misparse::Patch>) {
    let mut state = lower::Lower::new(input);
    let Some(tree) = parse_tree(input.text) else {
        let whole = input.span(0..input.text.len().min(1));
        let problem = Diagnostic::error(Code(13), "this file is too large or too tangled to be parsed")
            .at(whole, "nothing in it was read")
            .next("split the file, or exclude it");
        state.unit.problems.push(problem);
        let mut unit = state.unit;
        report_lost_kernels(&mut unit, None);
        return (unit, vec![]);
    };
    if let Some(root) = tree.root() {
        state.file(root);
    }
    let lower::Lower { mut unit, finished, patches, .. } = state;
    unit.problems.extend(input.masked.problems.iter().map(|p| p.diagnostic(input.file)));
    unit.functions = finished.into_values().collect();
    // Ids are positions; scratch functions were dropped, so that the numbers are dense.
    debug_assert!(unit.functions.iter().enumerate().all(|(i, f)| f.id.0 as usize == i));
    launch::resolve(&mut unit);
    crate::ir::collect::collect_unit(&mut unit);
    report_lost_kernels(&mut unit, Some(&tree));
    // Units of a whole tree are kept at once.
    for f in &mut unit.functions {
        f.exprs.shrink_to_fit();
        f.stmts.shrink_to_fit();
        f.vars.shrink_to_fit();
        f.accesses.shrink_to_fit();
        f.calls.shrink_to_fit();
    }
    (unit, patches)
}

/// K0002: every lexical kernel that no modelled kernel covers.
fn report_lost_kernels(unit: &mut Unit, tree: Option<&Tree>) {
    let modelled = |f: &&Function| f.kind == FunctionKind::Kernel;
    let mut problems = vec![];
    for span in &unit.lexical_kernels {
        if unit.functions.iter().filter(modelled).any(|f| f.span.contains(*span)) {
            continue;
        }
        let reason = match tree {
            None => "the file was not parsed".to_owned(),
            Some(tree) => lost_reason(tree, span.range()),
        };
        let problem = Diagnostic::warning(Code(2), "a kernel in the text is not modelled")
            .at(*span, "this introduces a kernel")
            .note(reason)
            .next("write the kernel's head without the macro, or teach the macro to kopt.toml");
        problems.push(problem);
    }
    unit.problems.extend(problems);
    let broken = unit.functions.iter().filter(|f| f.kind == FunctionKind::Kernel);
    let broken = broken.filter_map(|f| f.flaws.iter().find(|x| x.kind == FlawKind::SyntaxError).map(|x| (f, x)));
    let found: Vec<Diagnostic> = broken
        .map(|(f, flaw)| {
            Diagnostic::warning(Code(1), format!("kernel `{}` holds something that could not be parsed", f.name))
                .at(flaw.span, "here")
                .see(f.name_span, "the kernel is read but never edited")
                .next("mark the macro at this place in kopt.toml, or rewrite the construct")
        })
        .collect();
    unit.problems.extend(found);
}

/// What the innermost telling node around the range is.
fn lost_reason(tree: &Tree, range: std::ops::Range<usize>) -> String {
    let telling = tree::around(tree, range).filter_map(|node| match node.kind() {
        Kind::Error => Some("the grammar could not parse the text around it"),
        Kind::PreprocArg => Some("it stands in the body of a macro"),
        Kind::Declaration => Some("it was read as a declaration that is no function: a macro may stand in its head"),
        Kind::TemplateInstantiation => Some("it is an explicit instantiation"),
        _ => None,
    });
    telling.last().unwrap_or("the text was not read as a function").to_owned()
}

/// Any bytes at all must be read without a panic; for fuzzing.
pub fn fuzz_parse(bytes: &[u8]) {
    let source = SourceFile::new("fuzz", bytes);
    let unit = parse_unit(FileId(0), &source, &MacroTable::default());
    let dump = crate::ir::dump::dump_unit(&unit, &source.text);
    debug_assert!(dump.len() < usize::MAX);
}
