//! Whether the comparison could have told a wrong answer at all: answers that are wrong for certain must be refused.

use super::bound::Bound;
use super::cell::CellRun;
use super::compare::compare;
use super::element;
use super::execute::Output;
use crate::contract::Cell;

/// Answers that are wrong for certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Probe {
    /// Nothing but zeros.
    Zero,
    /// The original's output for inputs of another seed.
    OtherInput,
    /// What stood in the buffer before.
    Stale,
    /// The original's output in the next lower precision.
    Lower,
}

impl Probe {
    pub fn word(self) -> &'static str {
        match self {
            Probe::Zero => "zeros",
            Probe::OtherInput => "output for another input",
            Probe::Stale => "stale output",
            Probe::Lower => "next lower precision",
        }
    }
}

/// How often a probe was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probed {
    pub output: String,
    pub probe: Probe,
    pub refused: usize,
    pub tried: usize,
}

impl Probed {
    /// Whether the comparison was blind to it.
    pub fn is_blind(&self) -> bool {
        self.tried > 0 && self.refused == 0
    }
}

/// One cell whose outputs were compared: its run, the bounds of its outputs, and the outputs of the next lower precision.
pub struct Judged<'a> {
    pub run: &'a CellRun,
    pub bounds: Vec<Bound>,
    pub lower: Vec<Option<Vec<u8>>>,
}

/// Tries every probe on every cell. `input` says whether generated contents reach the computation at all, so that
/// another input should give another output.
pub fn calibrate(cells: &[Judged], input: bool) -> Vec<Probed> {
    let mut found: Vec<Probed> = vec![];
    let Some(first) = cells.first() else { return found };
    for (n, output) in first.run.original.outputs.iter().enumerate() {
        let mut note = |probe: Probe, answers: Vec<bool>| {
            let refused = answers.iter().filter(|a| **a).count();
            found.push(Probed { output: output.name.clone(), probe, refused, tried: answers.len() });
        };
        let all = || cells.iter().filter_map(|c| Some((c, c.run.original.outputs.get(n)?, c.bounds.get(n)?)));
        let written = |o: &Output| o.elements() > o.count_unwritten(&(0..o.elements()));
        note(
            Probe::Zero,
            all().filter(|c| written(c.1)).map(|(_, o, b)| refuses(o, &vec![0; o.bytes.len()], b)).collect(),
        );
        if input {
            let others = all().filter(|c| written(c.1)).filter_map(|(c, o, b)| {
                let other = cells.iter().find(|d| same_but_seed(c.run, d.run))?.run.original.outputs.get(n)?;
                Some(refuses(o, &other.bytes, b))
            });
            note(Probe::OtherInput, others.collect());
        }
        // Where the buffer began undefined, elements that were not written are known one by one.
        let kept = |o: &Output| written(o) && o.unwritten.is_empty() && o.start != vec![0; o.start.len()];
        note(Probe::Stale, all().filter(|c| kept(c.1)).map(|(_, o, b)| refuses(o, &o.start, b)).collect());
        let lowered = all().filter_map(|(c, o, b)| Some((o, c.lower.get(n)?.as_ref()?, b)));
        note(Probe::Lower, lowered.filter(|c| !c.2.is_exact()).map(|(o, low, b)| refuses(o, low, b)).collect());
    }
    found
}

fn refuses(o: &Output, answer: &[u8], bound: &Bound) -> bool {
    !compare(o.dtype, &o.bytes, answer, bound, &|i| o.is_unwritten(i as u64)).within
}

fn same_but_seed(a: &CellRun, b: &CellRun) -> bool {
    let plain = |c: &Cell| Cell { seed: 0, poison: 0, ..c.clone() };
    plain(&a.cell) == plain(&b.cell) && a.cell.seed != b.cell.seed
}

/// The output with every element rounded to the next lower precision: what a kernel that computes in it cannot beat.
pub fn rounded(o: &Output) -> Option<Vec<u8>> {
    element::lower_mantissa(o.dtype)?;
    let mut out = o.bytes.clone();
    for i in 0..o.elements() as usize {
        element::put(o.dtype, &mut out, i, element::lowered(o.dtype, element::bits(o.dtype, &o.bytes, i)));
    }
    Some(out)
}
