//! Runs both sides of one cell on equal inputs.

use super::execute::{How, Ran, Stopped, execute, starts};
use super::pair::Settings;
use super::side::Side;
use crate::contract::{Cell, ConcretePlan};
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
    let (plan, other) = plans(original, candidate, cell)?;
    let begin = starts(&plan)?;
    let how = how(settings, settings.steps);
    let first = execute(original, &plan, &begin, &how)?;
    if let Some(Stopped::Limit { why, .. }) = &first.stopped {
        return Err(format!("the original: {why}"));
    }
    let patience = first.steps.saturating_mul(PATIENCE).max(settings.least_patience);
    let limits = Limits { steps: patience.saturating_add(1), block_steps: patience, ..how.limits };
    let begin = if other.buffers == plan.buffers { begin } else { starts(&other)? };
    let second = execute(candidate, &other, &begin, &How { limits, ..how })?;
    let shapes = shapes(original, cell);
    Ok(CellRun { cell: cell.clone(), original: first, candidate: second, shapes })
}

/// The original again, without checks: with inputs of the next lower precision, or in another precision.
pub fn original_again(side: &Side, cell: &Cell, settings: &Settings, mode: Mode, lowered: bool) -> Result<Ran, String> {
    let plan = side.plan.concrete(cell).map_err(|e| e.to_string())?;
    let how = How { mode, lowered_inputs: lowered, checks: false, counters: false, ..how(settings, u64::MAX >> 1) };
    let ran = execute(side, &plan, &starts(&plan)?, &how)?;
    match ran.stopped {
        Some(why) => Err(why.to_string()),
        None => Ok(ran),
    }
}

fn plans(original: &Side, candidate: &Side, cell: &Cell) -> Result<(ConcretePlan, ConcretePlan), String> {
    let plan = original.plan.concrete(cell).map_err(|e| e.to_string())?;
    let other = candidate.plan.concrete(cell).map_err(|e| format!("the candidate's plan: {e}"))?;
    Ok((plan, other))
}

/// How a cell is run: with all checks and counters.
pub fn how(settings: &Settings, steps: u64) -> How {
    let limits = Limits { steps, block_steps: steps.saturating_add(1), ..Limits::default() };
    How { mode: Mode::Exact, checks: true, counters: true, lowered_inputs: false, limits, memory: settings.memory }
}

fn shapes(side: &Side, cell: &Cell) -> Vec<(String, Vec<u64>)> {
    let of = |n: &str| cell.dims.get(n).copied();
    let outputs = side.plan.args.iter().filter(|a| a.role.is_output());
    outputs
        .map(|a| {
            let extents = a.shape.iter().map(|e| e.eval(&of).ok().and_then(|v| u64::try_from(v).ok()).unwrap_or(0));
            (a.name.clone(), extents.collect())
        })
        .collect()
}
