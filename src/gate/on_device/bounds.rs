//! How far outputs may be off in cells that only a device ran: derived from what the interpreter knows of the same kernels
//! at a size that it could run, and scaled.

use super::super::bound::{Bound, BoundKind, Derivation, rms};
use super::super::calibrate::rounded;
use super::super::cell::{self, CellRun};
use super::super::element;
use super::super::execute::Output;
use super::super::judge::undefined;
use super::super::pair::{Outcome, Settings};
use super::super::refine::{is_exact, refine};
use super::super::side::Side;
use crate::contract::Cell;

pub struct Bounds<'a> {
    side: &'a Side,
    emulated: &'a Outcome,
    /// Whether any output that may differ does.
    needed: bool,
    model: Option<Model>,
}

/// What the interpreter derived at one size.
struct Model {
    bounds: Vec<Bound>,
    /// Elements that are read for each that is written.
    ratio: f64,
}

impl<'a> Bounds<'a> {
    pub fn new(
        original: &'a Side,
        candidate: &Side,
        runs: &[&CellRun],
        emulated: &'a Outcome,
        settings: &Settings,
    ) -> Bounds<'a> {
        let given = |name: &str| original.plan.tolerances.iter().find(|t| t.output == name);
        let differs = |run: &CellRun| {
            let both = run.original.outputs.iter().zip(&run.candidate.outputs);
            both.into_iter().any(|(a, b)| a.bytes != b.bytes && !is_exact(a, given(&a.name)))
        };
        let needed = runs.iter().any(|r| differs(r));
        let passed = emulated.cells.iter().find(|c| c.verdict.passes()).map(|c| &c.cell);
        let sample = passed.or_else(|| runs.first().map(|r| &r.cell)).filter(|_| needed);
        let model = sample.and_then(|c| model(original, candidate, c, settings));
        Bounds { side: original, emulated, needed, model }
    }

    /// The bound of output `n` of a run.
    pub fn of(&self, run: &CellRun, n: usize) -> Bound {
        let Some(output) = run.original.outputs.get(n).filter(|_| self.needed) else { return Bound::exact() };
        let known = self.emulated.cells.iter().find(|c| c.cell == run.cell).and_then(|c| c.outputs.get(n));
        if let Some(known) = known.filter(|o| matches!(o.bound.kind, BoundKind::Derived(_))) {
            return known.bound.clone();
        }
        let given = self.side.plan.tolerances.iter().find(|t| t.output == output.name);
        let magnitude = rms(values(output));
        Bound::of(output.dtype, given, magnitude, self.derivation(run, n, output, magnitude))
    }

    pub fn all(&self, run: &CellRun) -> Vec<Bound> {
        (0..run.original.outputs.len()).map(|n| self.of(run, n)).collect()
    }

    /// Outputs rounded to the next lower precision.
    pub fn lower(&self, run: &CellRun) -> Vec<Option<Vec<u8>>> {
        let outputs = run.original.outputs.iter();
        if self.needed { outputs.map(rounded).collect() } else { vec![None; outputs.len()] }
    }

    fn derivation(&self, run: &CellRun, n: usize, output: &Output, magnitude: f64) -> Derivation {
        let ratio = ratio(self.side, &run.cell).unwrap_or(1.0).max(1.0);
        let known = self.model.as_ref().and_then(|m| Some((m, m.bounds.get(n)?)));
        let (length, sensitivity) = match known {
            Some((m, Bound { kind: BoundKind::Derived(d), magnitude: there, .. })) => {
                // A sum of more terms is longer, and moves with its own size.
                let scale = if *there > 0.0 { magnitude / there } else { 1.0 };
                (d.length * (ratio / m.ratio).max(1.0), d.sensitivity * scale)
            }
            _ => (2.0 * ratio, 0.0),
        };
        Derivation {
            output: element::unit_roundoff(output.dtype).unwrap_or(0.0),
            arithmetic: self.side.arithmetic,
            length,
            sensitivity,
            original: None,
        }
    }
}

fn model(original: &Side, candidate: &Side, sample: &Cell, settings: &Settings) -> Option<Model> {
    let run = cell::run(original, candidate, sample, settings).ok()?;
    if !undefined(&run.original).is_empty() {
        return None;
    }
    Some(Model { bounds: refine(original, &run, settings, None).bounds, ratio: ratio(original, sample)?.max(1.0) })
}

/// Elements that are read for each that is written.
fn ratio(side: &Side, cell: &Cell) -> Option<f64> {
    let plan = side.plan.concrete(cell).ok()?;
    let count = |output: bool| -> u64 {
        plan.buffers.iter().filter(|b| b.role.is_output() == output).map(|b| b.elements).sum()
    };
    Some(count(false) as f64 / count(true).max(1) as f64)
}

fn values(o: &Output) -> impl Iterator<Item = f64> + Clone + '_ {
    let all = 0..o.elements();
    let written = all.filter(|i| !o.is_unwritten(*i));
    written.map(|i| element::value(o.dtype, element::bits(o.dtype, &o.bytes, i as usize)))
}
