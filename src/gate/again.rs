//! The plan several times on one device: fresh inputs, the same `__device__` variables. What is right once and wrong later
//! shows here.

use super::bound::Bound;
use super::cell::{CellRun, how, limits_of_candidate, shapes};
use super::execute::{Ran, Stopped, starts};
use super::judge::judge;
use super::machine::Machine;
use super::pair::Settings;
use super::refine::{Refined, refine};
use super::side::Side;
use super::verdict::CellResult;
use crate::contract::{Cell, ConcretePlan};

/// Runs after the first, and after the first of kernels that leave something in a variable.
const USUAL: u8 = 1;
const WITH_STATE: u8 = 11;

/// The later runs of a cell that was run once and passed. Reasons of the machine end it; what ran until then counts.
pub fn again(
    original: &Side,
    candidate: &Side,
    first: &CellRun,
    refined: Option<&Refined>,
    settings: &Settings,
) -> Vec<CellResult> {
    let keeps = !first.original.changed_globals.is_empty() || !first.candidate.changed_globals.is_empty();
    let rounds = if keeps { WITH_STATE } else { USUAL };
    let mut refined = refined.cloned();
    let mut found = vec![];
    for run in runs(original, candidate, first, rounds, settings).unwrap_or_default() {
        let both = run.original.outputs.iter().zip(&run.candidate.outputs);
        if refined.is_none() && both.into_iter().any(|(a, b)| a.bytes != b.bytes) {
            refined = Some(refine(original, first, settings, None));
        }
        let bound = |n: usize| refined.as_ref().and_then(|r| r.bounds.get(n)).cloned().unwrap_or_else(Bound::exact);
        let result = judge(&run, &original.plan.permissions, &|n, _| (bound(n), None));
        let passed = result.verdict.passes();
        found.push(result);
        if !passed {
            break;
        }
    }
    found
}

fn runs(
    original: &Side,
    candidate: &Side,
    first: &CellRun,
    rounds: u8,
    settings: &Settings,
) -> Result<Vec<CellRun>, String> {
    let cell =
        |round: u8| Cell { seed: first.cell.seed.wrapping_add(100 * u64::from(round)), round, ..first.cell.clone() };
    let plan = |side: &Side, round: u8| side.plan.concrete(&cell(round)).map_err(|e| e.to_string());
    let (ours, theirs) = (plan(original, 0)?, plan(candidate, 0)?);
    let usual = how(settings, settings.steps);
    let patient = limits_of_candidate(&first.original, settings, &usual);
    let mut a = Machine::new(original, &ours, &usual)?;
    let mut b = Machine::new(candidate, &theirs, &patient)?;
    let mut found = vec![];
    for round in 0..=rounds {
        let (p, q): (ConcretePlan, ConcretePlan) = (plan(original, round)?, plan(candidate, round)?);
        let begin = starts(&p)?;
        let x = a.round(&begin)?;
        let begin = if q.buffers == p.buffers { begin } else { starts(&q)? };
        let y = b.round(&begin)?;
        let machine = |r: &Ran| matches!(r.stopped, Some(Stopped::Machine { .. } | Stopped::Limit { .. }));
        if machine(&x) {
            break;
        }
        if round > 0 {
            found.push(CellRun {
                cell: cell(round),
                shapes: shapes(original, &cell(round)),
                original: x,
                candidate: y,
            });
        }
    }
    Ok(found)
}
