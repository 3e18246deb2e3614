//! From two runs of a cell to a verdict on it.

use super::bound::Bound;
use super::cell::CellRun;
use super::compare::{Comparison, compare};
use super::execute::{Output, Ran, Stopped};
use super::finding::is_undefined;
use super::symbols::is_symbol_of;
use super::verdict::{CellResult, CellVerdict, Fault, OutputResult, Undefined};
use crate::contract::Permissions;

/// What is not defined about the original in this cell; empty where the candidate can be asked.
pub fn undefined(original: &Ran) -> Vec<Undefined> {
    let mut found: Vec<Undefined> =
        original.findings.iter().filter(|f| is_undefined(f.kind)).cloned().map(Undefined::Finding).collect();
    found.extend(original.stopped.clone().map(Undefined::Stopped));
    let inputs = original.changed_inputs.iter().cloned();
    found.extend(inputs.map(|(name, index)| Undefined::WritesInput { name, index }));
    found.extend(original.guards.iter().cloned().map(|name| Undefined::WritesGuard { name }));
    found
}

/// What is wrong with the candidate whatever its outputs are.
fn conduct(run: &CellRun, permissions: &Permissions) -> Vec<Fault> {
    let c = &run.candidate;
    let mut found: Vec<Fault> =
        c.findings.iter().filter(|f| is_undefined(f.kind)).cloned().map(Fault::Finding).collect();
    // A finding explains why it stopped, with a line.
    let explained = |s: &Stopped| matches!(s, Stopped::Unfinished { .. }) && !found.is_empty();
    let stopped = c.stopped.clone().filter(|s| !explained(s));
    found.extend(stopped.map(Fault::Stopped));
    found.extend(c.changed_inputs.iter().cloned().map(|(name, index)| Fault::WritesInput { name, index }));
    found.extend(c.guards.iter().cloned().map(|name| Fault::WritesGuard { name }));
    for g in &c.changed_globals {
        let permitted = permissions.mutable_globals.iter().any(|n| is_symbol_of(&g.symbol, n));
        let same = run.original.changed_globals.contains(g);
        if !permitted && !same {
            found.push(Fault::KeepsState { symbol: g.symbol.clone() });
        }
    }
    found
}

/// The bound of an output by its position, and the reference that it is measured against where there is one.
type BoundOf<'b> = &'b dyn Fn(usize, &Output) -> (Bound, Option<Vec<u8>>);

/// Outputs of one cell under their bounds. `bounds` gives the bound of each output and what it is compared with, where
/// that is not the original's output.
pub fn judge(run: &CellRun, permissions: &Permissions, bounds: BoundOf) -> CellResult {
    let undefined = undefined(&run.original);
    let mut outputs = vec![];
    let mut faults = vec![];
    if undefined.is_empty() {
        faults = conduct(run, permissions);
        let comparable = run.candidate.stopped.is_none();
        for (i, (o, c)) in run.original.outputs.iter().zip(&run.candidate.outputs).enumerate().filter(|_| comparable) {
            let (bound, reference) = bounds(i, o);
            let found = of_output(o, c, &bound, reference.as_deref());
            let shape = run.shapes.iter().find(|(n, _)| *n == o.name).map(|(_, s)| s.clone()).unwrap_or_default();
            faults.extend(faults_of(o, c, &found, &bound, shape));
            outputs.push(summary(o, c, &found, bound));
        }
    }
    let machine = matches!(run.candidate.stopped, Some(Stopped::Machine { .. }));
    let verdict = match &run.candidate.stopped {
        _ if !undefined.is_empty() => CellVerdict::Undefined(undefined),
        Some(stopped) if machine => CellVerdict::NotRun(format!("the candidate: {stopped}")),
        _ if !faults.is_empty() => CellVerdict::Failed(faults),
        _ if outputs.iter().all(|o| o.differing == 0) => CellVerdict::EqualBits,
        _ => CellVerdict::WithinTolerance,
    };
    let written = run.original.outputs.iter().map(|o| o.elements() - o.count_unwritten(&(0..o.elements()))).sum();
    CellResult {
        cell: run.cell.clone(),
        verdict,
        outputs,
        written,
        original_steps: run.original.steps,
        candidate_steps: run.candidate.steps,
    }
}

/// The comparison of what both sides wrote.
fn of_output(o: &Output, c: &Output, bound: &Bound, reference: Option<&[u8]>) -> Comparison {
    let skip = |i: usize| o.is_unwritten(i as u64) || c.is_unwritten(i as u64);
    let mut found = compare(o.dtype, reference.unwrap_or(&o.bytes), &c.bytes, bound, &skip);
    if reference.is_some() {
        // Whether bits are equal is asked of the original, not of the reference.
        found.differing = compare(o.dtype, &o.bytes, &c.bytes, &Bound::exact(), &skip).differing;
    }
    found
}

fn faults_of(o: &Output, c: &Output, found: &Comparison, bound: &Bound, shape: Vec<u64>) -> Vec<Fault> {
    let mut faults = vec![];
    let output = || o.name.clone();
    if let Some((count, first)) = missing(c, o) {
        faults.push(Fault::Unwritten { output: output(), count, first });
    }
    if let Some((count, first)) = missing(o, c) {
        faults.push(Fault::Overwrites { output: output(), count, first });
    }
    match &found.shown {
        Some(m) if found.outside > 0 => faults.push(Fault::Mismatch {
            output: output(),
            dtype: o.dtype,
            mismatch: m.clone(),
            outside: found.outside,
            elements: found.elements,
            shape,
        }),
        _ if !found.within => faults.push(Fault::Mean { output: output(), rms: found.rms, allowed: bound.rms() }),
        _ => {}
    }
    faults
}

/// Elements that `a` leaves unwritten and `b` does not: how many, and the first.
fn missing(a: &Output, b: &Output) -> Option<(u64, u64)> {
    let (mut count, mut first) = (0, None);
    for i in a.unwritten.iter().flat_map(Clone::clone).filter(|i| !b.is_unwritten(*i)) {
        count += 1;
        first = first.or(Some(i));
    }
    first.map(|f| (count, f))
}

fn summary(o: &Output, c: &Output, found: &Comparison, bound: Bound) -> OutputResult {
    let magnitude = if bound.magnitude > 0.0 { bound.magnitude } else { 1.0 };
    let both = o.unwritten.iter().flat_map(Clone::clone).filter(|i| c.is_unwritten(*i)).count() as u64;
    OutputResult {
        name: o.name.clone(),
        dtype: o.dtype,
        elements: found.elements,
        differing: found.differing,
        outside: found.outside,
        rms: found.rms / magnitude,
        max: found.max / magnitude,
        worst: found.worst,
        bound,
        histogram: found.histogram,
        unwritten: both,
    }
}

/// The first element in which two runs of the candidate differ that differed only in the poison.
pub fn poison_dependence(a: &Ran, b: &Ran) -> Vec<Fault> {
    let mut found = vec![];
    for (x, y) in a.outputs.iter().zip(&b.outputs) {
        let width = x.dtype.bytes() as usize;
        let both = x.bytes.chunks_exact(width).zip(y.bytes.chunks_exact(width)).enumerate();
        let differs = |(i, (p, q)): (usize, (&[u8], &[u8]))| {
            let left = x.is_unwritten(i as u64) && y.is_unwritten(i as u64);
            (p != q && !left).then_some(i as u64)
        };
        if let Some(index) = both.into_iter().find_map(differs) {
            found.push(Fault::DependsOnPoison { output: x.name.clone(), index });
        }
    }
    found
}
