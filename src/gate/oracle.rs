//! Outputs from elsewhere, with which both sides are compared: a kernel of the file, or whatever the caller runs.

use super::cell::{CellRun, how};
use super::compare::compare;
use super::execute::{execute, starts};
use super::pair::Settings;
use super::refine::Refined;
use super::side::Side;
use super::verdict::{CellResult, CellVerdict, Undefined};
use crate::contract::{Cell, ConcretePlan};

/// The outputs of one cell, or why there are none.
pub type Answer = Result<Vec<Vec<u8>>, String>;

/// Who computes the reference.
pub trait Oracle: Sync {
    /// The bytes of every output of a cell, in the order of the plan's buffers. `starts` are the contents of its buffers.
    ///
    /// # Errors
    /// Why there are none; this says nothing about original and candidate.
    fn outputs(&self, cell: &Cell, plan: &ConcretePlan, starts: &[Vec<u8>]) -> Answer;
}

/// A kernel of the file, in the interpreter.
pub struct KernelOracle {
    pub side: Side,
    pub settings: Settings,
}

impl Oracle for KernelOracle {
    fn outputs(&self, cell: &Cell, _: &ConcretePlan, _: &[Vec<u8>]) -> Answer {
        let plan = self.side.plan.concrete(cell).map_err(|e| e.to_string())?;
        let ran =
            execute(&self.side, &plan, &starts(&plan)?, &how(&self.settings, self.settings.steps.saturating_mul(16)))?;
        if let Some(stopped) = ran.stopped {
            return Err(stopped.to_string());
        }
        if let Some(f) = ran.findings.iter().find(|f| super::finding::is_undefined(f.kind)) {
            return Err(format!("line {}: {}", f.line, super::finding::describe(f.kind)));
        }
        Ok(ran.outputs.into_iter().map(|o| o.bytes).collect())
    }
}

pub(super) fn asked(oracle: &dyn Oracle, original: &Side, cell: &Cell) -> Answer {
    let plan = original.plan.concrete(cell).map_err(|e| e.to_string())?;
    oracle.outputs(cell, &plan, &starts(&plan)?)
}

/// Cells in which the reference has no answer count for nothing, and so do those in which the original disagrees with it:
/// the candidate cannot be right by both.
pub(super) fn against_reference(
    runs: &[(Cell, Result<CellRun, String>)],
    refined: &[Option<Refined>],
    given: &[Option<Answer>],
    results: &mut [CellResult],
) {
    for (n, result) in results.iter_mut().enumerate() {
        let (Some((_, Ok(run))), Some(Some(given))) = (runs.get(n), given.get(n)) else { continue };
        if matches!(result.verdict, CellVerdict::Undefined(_) | CellVerdict::NotRun(_)) {
            continue;
        }
        let list = match given {
            Ok(list) => list,
            Err(why) => {
                result.verdict = CellVerdict::NotRun(format!("the reference: {why}"));
                continue;
            }
        };
        let bounds = refined.get(n).and_then(Option::as_ref).map(|r| r.bounds.as_slice()).unwrap_or_default();
        let off = run.original.outputs.iter().zip(list).zip(bounds).find_map(|((o, r), bound)| {
            let found = compare(o.dtype, r, &o.bytes, bound, &|i| o.is_unwritten(i as u64));
            let index = found.shown.map_or(0, |m| m.index);
            (!found.within).then(|| Undefined::OffReference { name: o.name.clone(), index })
        });
        if let Some(off) = off {
            result.verdict = CellVerdict::Undefined(vec![off]);
        }
    }
}
