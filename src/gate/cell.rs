//! Runs both sides of one cell on equal inputs.

use super::execute::{How, Ran, Stopped, execute, starts};
use super::pair::Settings;
use super::side::Side;
use crate::contract::{Cell, ConcretePlan, ContractError};
use crate::ptx::{Limits, Mode};

/// Both runs of one cell.
#[derive(Clone, Debug)]
pub struct CellRun {
    pub cell: Cell,
    pub original: Ran,
    pub candidate: Ran,
    /// Extents of each output, outermost first.
    pub shapes: Vec<(String, Vec<u64>)>,
}

/// A candidate may take this many times the instructions of the original before it counts as endless.
const PATIENCE: u64 = 64;

/// Runs original and candidate.
///
/// # Errors
/// Why the cell cannot be run; no reason lies in the kernels.
pub fn run(original: &Side, candidate: &Side, cell: &Cell, settings: &Settings) -> Result<CellRun, String> {
    let plan = original.plan.concrete(cell).map_err(|e| e.to_string())?;
    let other = match candidate.plan.concrete(cell) {
        Ok(other) => other,
        // Its launch is one that no device takes.
        Err(e @ ContractError::Impossible { .. }) => {
            return refused_launch(original, cell, &plan, settings, e.to_string());
        }
        Err(e) => return Err(format!("the candidate's plan: {e}")),
    };
    fits(&plan, settings).map_err(|e| format!("the original: {e}"))?;
    let begin = starts(&plan)?;
    let how = How { order: cell.order, ..how(settings, settings.steps) };
    let first = execute(original, &plan, &begin, &how)?;
    if let Some(Stopped::Limit { why, .. }) = &first.stopped {
        return Err(format!("the original: {why}"));
    }
    // What only the candidate needs too much of is no reason to leave the cell out: it speaks against a verdict.
    let its = |e: String| format!("the candidate: {e}");
    fits(&other, settings).map_err(its)?;
    let begin = if other.buffers == plan.buffers { begin } else { starts(&other).map_err(its)? };
    let second = execute(candidate, &other, &begin, &limits_of_candidate(&first, settings, &how)).map_err(its)?;
    let shapes = shapes(original, cell);
    Ok(CellRun { cell: cell.clone(), original: first, candidate: second, shapes })
}

/// Nothing is allocated before it is known that there is room for it.
fn fits(plan: &ConcretePlan, settings: &Settings) -> Result<(), String> {
    let (bytes, most) = (plan.bytes(), settings.memory);
    if bytes <= most {
        return Ok(());
    }
    Err(format!("its buffers have {bytes} bytes, and {most} are run at most"))
}

/// As the original is run, with the candidate's own limits.
pub(super) fn limits_of_candidate(original: &Ran, settings: &Settings, how: &How) -> How {
    let patience = original.steps.saturating_mul(PATIENCE).max(settings.least_patience);
    How { limits: Limits { steps: patience.saturating_add(1), block_steps: patience, ..how.limits }, ..*how }
}

/// The original again, without checks: with inputs of the next lower precision, or in another precision.
pub fn original_again(side: &Side, cell: &Cell, settings: &Settings, mode: Mode, lowered: bool) -> Result<Ran, String> {
    let plan = side.plan.concrete(cell).map_err(|e| e.to_string())?;
    let order = cell.order;
    let how =
        How { mode, lowered_inputs: lowered, checks: false, counters: false, order, ..how(settings, u64::MAX >> 1) };
    let ran = execute(side, &plan, &starts(&plan)?, &how)?;
    match ran.stopped {
        Some(why) => Err(why.to_string()),
        None => Ok(ran),
    }
}

/// The original alone, and a candidate that stops at its first launch.
fn refused_launch(
    original: &Side,
    cell: &Cell,
    plan: &ConcretePlan,
    settings: &Settings,
    why: String,
) -> Result<CellRun, String> {
    let first = execute(original, plan, &starts(plan)?, &how(settings, settings.steps))?;
    let stopped = Some(Stopped::Launch { kernel: "the candidate".into(), why });
    let second = Ran { stopped, ..Ran::default() };
    Ok(CellRun { cell: cell.clone(), original: first, candidate: second, shapes: shapes(original, cell) })
}

/// How a cell is run: with all checks and counters.
pub fn how(settings: &Settings, steps: u64) -> How {
    let limits = Limits { steps, block_steps: steps.saturating_add(1), ..Limits::default() };
    How {
        mode: Mode::Exact,
        checks: true,
        counters: true,
        lowered_inputs: false,
        limits,
        memory: settings.memory,
        order: 0,
    }
}

pub(super) fn shapes(side: &Side, cell: &Cell) -> Vec<(String, Vec<u64>)> {
    let of = |n: &str| cell.dims.get(n).copied();
    let outputs = side.plan.args.iter().filter(|a| a.role.is_output());
    outputs
        .map(|a| {
            let extents = a.shape.iter().map(|e| e.eval(&of).ok().and_then(|v| u64::try_from(v).ok()).unwrap_or(0));
            (a.name.clone(), extents.collect())
        })
        .collect()
}
