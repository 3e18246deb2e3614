//! The comparison on a device: the same contract, cells, poisons and bounds as in the interpreter, with sizes that it would
//! take too long for, and the first sample many times in the same buffers.
//!
//! Each side runs in a process of its own, the original first, so that its outputs have left the device before the
//! candidate begins. A device shows wrong values, failed launches, writes beside buffers and what is kept between runs; it
//! shows no races, no undefined reads and no counters: that is the interpreter's part.

pub(super) mod bounds;
mod runner;

use super::calibrate::{Judged, Probed, calibrate};
use super::cell::{self, CellRun};
use super::judge::{judge, undefined};
use super::pair::{self, Outcome, Settings};
use super::verdict::{CellResult, CellVerdict, Verdict};
use crate::contract::{Cell, Sampling, cells};
use bounds::Bounds;
pub use runner::{Executor, OnDevice};

/// Runs of the first sample beyond its first: enough for what is right ten times and wrong later.
const ROUNDS: u8 = 12;
/// Bytes of buffers in one cell. Contents are made on the host, which takes longer than the kernels.
const MAX_BYTES: u64 = 128 << 20;

/// What was seen on a device.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceOutcome {
    pub verdict: Verdict,
    pub cells: Vec<CellResult>,
    /// `NVIDIA H200, sm_90, driver for CUDA 13.0`
    pub device: String,
    /// Cells that were not run, with the reason.
    pub left_out: Vec<String>,
    pub remarks: Vec<String>,
    pub probes: Vec<Probed>,
}

/// Compares two sides on a device. `emulated` is what the interpreter saw of the same pair.
///
/// # Errors
/// Nothing was run, for a reason that says nothing about the kernels.
pub fn verify_on_device(
    original: &OnDevice,
    candidate: &OnDevice,
    emulated: &Outcome,
    settings: &Settings,
) -> Result<DeviceOutcome, String> {
    let sampling = Sampling {
        seed: settings.seed,
        thorough: settings.thorough,
        max_bytes: Some(settings.max_bytes.unwrap_or(0).max(MAX_BYTES)),
        pairs: settings.pairs,
        work: None,
    };
    let mut chosen = cells(&original.side.plan, &sampling);
    let known = |c: &Cell| emulated.cells.iter().find(|r| r.cell.dims == c.dims && undefined_there(r));
    let left: Vec<String> = chosen.cells.iter().filter_map(known).map(not_defined).collect();
    chosen.cells.retain(|c| known(c).is_none());
    chosen.left_out.extend(left);
    chosen.left_out.dedup();
    let first = chosen.cells.first().cloned();
    chosen.cells.extend(first.iter().flat_map(rounds));
    let (ours, device) = original.run(&chosen.cells)?;
    let (theirs, _) = candidate.run(&chosen.cells)?;
    let shapes = |c: &Cell| cell::shapes(original.side, c);
    let runs: Vec<(Cell, Result<CellRun, String>)> = chosen
        .cells
        .iter()
        .zip(ours.into_iter().zip(theirs))
        .map(|(c, (original, candidate))| {
            (c.clone(), Ok(CellRun { cell: c.clone(), original, candidate, shapes: shapes(c) }))
        })
        .collect();
    let all: Vec<&CellRun> = runs.iter().filter_map(|(_, r)| r.as_ref().ok()).collect();
    let bounds = Bounds::new(original.side, candidate.side, &all, emulated, settings);
    let permissions = &original.side.plan.permissions;
    let mut results: Vec<CellResult> =
        all.iter().map(|run| judge(run, permissions, &|n, _| (bounds.of(run, n), None))).collect();
    pair::poisons(original.side, &runs, &mut results);
    let counts = |r: &CellResult| !matches!(r.verdict, CellVerdict::Undefined(_) | CellVerdict::NotRun(_));
    let judged: Vec<Judged> = all
        .iter()
        .zip(&results)
        .filter(|(run, r)| counts(r) && undefined(&run.original).is_empty())
        .map(|(run, _)| Judged { run, bounds: bounds.all(run), lower: bounds.lower(run) })
        .collect();
    let probes = calibrate(&judged, pair::reads_contents(&original.side.plan));
    let missing = pair::missing_sample(&original.side.plan, &chosen.cells);
    Ok(DeviceOutcome {
        verdict: pair::verdict(&results, &probes, missing),
        remarks: original.repeats(first.as_ref())?.into_iter().collect(),
        cells: results,
        device,
        left_out: chosen.left_out,
        probes,
    })
}

fn undefined_there(result: &CellResult) -> bool {
    matches!(result.verdict, CellVerdict::Undefined(_))
}

fn not_defined(result: &CellResult) -> String {
    let sizes: Vec<String> = result.cell.dims.iter().map(|(n, v)| format!("{n} = {v}")).collect();
    format!("{}: the interpreter finds the original undefined there", sizes.join(", "))
}

/// The first sample again and again, with other contents.
fn rounds(first: &Cell) -> impl Iterator<Item = Cell> + '_ {
    (1..=ROUNDS).map(|n| Cell { round: n, seed: first.seed.wrapping_add(100 * u64::from(n)), ..first.clone() })
}
