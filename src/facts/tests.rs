//! Facts on real CUDA text, in both directions, and texts made to mislead.

use super::*;
use crate::contract::{Assumption, parse_assumption};
use crate::ir::*;
use crate::source::{FileId, SourceFile, Sources};

mod adversarial;
mod tested;
mod values;

/// Runs `ask` on the kernel `k` of `text` in every context: the general one first, and the others where that one does
/// not know.
pub(super) fn with<T: PartialEq>(text: &str, assume: &[&str], ask: impl Fn(&Facts) -> Option<T>) -> Option<T> {
    let mut sources = Sources::default();
    let source = SourceFile::new("k.cu", text);
    let mut table = crate::source::mask::MacroTable::default();
    table.learn(&source.text);
    let unit = crate::syntax::cuda::parse_unit(FileId(0), &source, &table);
    sources.add(source);
    let program = Program { units: vec![unit], complete: text.contains("main(") };
    let macros = macros_of(&program, &sources);
    let kernel = program.kernels().into_iter().find(|k| program.function(*k).name == "k")?;
    let assumptions: Vec<Assumption> = assume.iter().map(|a| parse_assumption(a, None).unwrap()).collect();
    let refs: Vec<&Assumption> = assumptions.iter().collect();
    let all = analyse(&program, &macros, kernel, &refs)?;
    ask(&all.general).or_else(|| {
        let mut answers: Vec<Option<T>> = all.visible().map(ask).collect();
        let agree = answers.windows(2).all(|w| w[0] == w[1]);
        if agree { answers.pop().flatten() } else { None }
    })
}

/// The access whose text is `what` (the first one), loads before stores where `+` leads.
pub(super) fn access(f: &Facts, text: &str, what: &str) -> AccessId {
    let (what, nth) = what.split_once('#').map_or((what, 0), |(w, n)| (w, n.parse().unwrap()));
    let hit = |a: &&Access| &text[f.function.expr(a.expr).span.range()] == what;
    let found: Vec<usize> = f.function.accesses.iter().enumerate().filter(|(_, a)| hit(a)).map(|(i, _)| i).collect();
    AccessId(*found.get(nth).unwrap_or_else(|| panic!("no access `{what}` in {text}")) as u32)
}

/// `proved`, `assumed: ids` or `unknown: ..` of a provenance.
pub(super) fn grade(because: &Because) -> String {
    let ids = because.contract_assumptions();
    if ids.is_empty() { "proved".into() } else { format!("assumed {}", ids.join(" ")) }
}
