//! A whole comparison: cells, runs, bounds, calibration, verdict.

use rayon::prelude::*;

use super::again;
use super::bound::Bound;
use super::calibrate::{Judged, Probe, Probed, calibrate};
use super::cell::{self, CellRun};
use super::execute::{LineCounts, Ran};
use super::finding::{self, Located};
use super::judge::{judge, poison_dependence};
use super::oracle::{Answer, Oracle, against_reference, asked};
use super::refine::{Refined, has_modes, is_exact, refine};
use super::shrink;
use super::side::Side;
use super::verdict::{CellResult, CellVerdict, Fault, Undefined, Verdict};
use crate::contract::{Cell, Init, Plan, Sampling, Work, cells};
use crate::ptx::{Counts, Kind, Traffic};

/// How much is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    pub seed: u64,
    pub thorough: bool,
    /// Warp instructions of the original in one cell.
    pub steps: u64,
    /// Bytes of buffers of one cell, for the choice of sizes.
    pub max_bytes: Option<u64>,
    /// Bytes that a run may allocate.
    pub memory: u64,
    /// Warp instructions that a candidate may take in any case before it counts as endless.
    pub least_patience: u64,
    /// Combinations of sizes beyond those that have every size once.
    pub pairs: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            seed: 1,
            thorough: false,
            steps: 4 << 20,
            max_bytes: Some(32 << 20),
            memory: 1 << 30,
            least_patience: 1 << 20,
            pairs: 40,
        }
    }
}

/// Everything that was seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub verdict: Verdict,
    pub cells: Vec<CellResult>,
    /// Cells that were not run, and samples that were brought down.
    pub left_out: Vec<String>,
    pub probes: Vec<Probed>,
    pub remarks: Vec<String>,
    /// Counters of the cell that took the original the most instructions.
    pub counters: Option<Measured>,
    /// Whether there was a float64 reference; else the original was the reference.
    pub float64_reference: bool,
    /// Cells that the candidate ran with both poisons.
    pub poison_pairs: usize,
}

/// Counters of both sides in one cell; estimates of what a device would do.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    pub cell: Cell,
    pub original: Counters,
    pub candidate: Counters,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Counters {
    pub total: Counts,
    pub lines: Vec<LineCounts>,
    pub traffic: Vec<Traffic>,
}

impl Counters {
    pub fn of(ran: &Ran) -> Counters {
        Counters { total: ran.counts.clone(), lines: ran.lines.clone(), traffic: ran.traffic.clone() }
    }
}

/// Compares two sides whose plans have the same dims and outputs. Nothing here depends on the number of threads.
pub fn verify_pair(original: &Side, candidate: &Side, settings: &Settings) -> Outcome {
    verify_against(original, candidate, settings, None)
}

/// The same with outputs from elsewhere as the reference; the original must agree with them, too.
pub fn verify_against(original: &Side, candidate: &Side, settings: &Settings, oracle: Option<&dyn Oracle>) -> Outcome {
    let (plan, brought_down, first) = shrink::fit(original, settings);
    let dims = plan.dims.clone();
    let original = Side { plan, ..original.clone() };
    let candidate = Side { plan: Plan { dims, ..candidate.plan.clone() }, ..candidate.clone() };
    let sampling = Sampling {
        seed: settings.seed,
        thorough: settings.thorough,
        max_bytes: settings.max_bytes,
        pairs: settings.pairs,
        work: first.map(|first| Work { first, most: most_work(first, settings) }),
    };
    let mut chosen = cells(&original.plan, &sampling);
    chosen.cells.extend(at_the_sample(&chosen.cells));
    let run = |c: &Cell| (c.clone(), cell::run(&original, &candidate, c, settings));
    let mut runs: Vec<(Cell, Result<CellRun, String>)> = chosen.cells.first().map(run).into_iter().collect();
    // A candidate that does not get to its end need not run everywhere.
    let stopped = runs.iter().any(|(_, r)| r.as_ref().is_ok_and(|r| r.candidate.stopped.is_some()));
    if stopped && chosen.cells.len() > FEW {
        chosen
            .left_out
            .push(format!("{} cells, as the candidate did not get to its end in the first", chosen.cells.len() - FEW));
        chosen.cells.truncate(FEW);
    }
    let rest: Vec<_> = chosen.cells.get(1..).unwrap_or(&[]).par_iter().map(run).collect();
    runs.extend(rest);
    let given: Vec<Option<Answer>> =
        runs.par_iter().map(|(c, r)| oracle.filter(|_| r.is_ok()).map(|o| asked(o, &original, c))).collect();
    let refined = refinements(&original, &runs, &given, settings);
    let mut results = results(&original, &runs, &refined);
    against_reference(&runs, &refined, &given, &mut results);
    let poison_pairs = poisons(&original, &runs, &mut results);
    if let (Some((_, Ok(run))), Some(true)) = (runs.first(), results.first().map(|r| r.verdict.passes())) {
        let refined = refined.first().and_then(Option::as_ref);
        results.extend(again::again(&original, &candidate, run, refined, settings));
    }
    let judged: Vec<Judged> = runs
        .iter()
        .zip(&refined)
        .zip(&results)
        .filter(|(_, r)| !matches!(r.verdict, CellVerdict::Undefined(_) | CellVerdict::NotRun(_)))
        .filter_map(|(((_, run), refined), _)| {
            let run = run.as_ref().ok()?;
            let exact = || vec![Bound::exact(); run.original.outputs.len()];
            let (bounds, lower) = refined.as_ref().map_or((exact(), vec![]), |r| (r.bounds.clone(), r.lower.clone()));
            Some(Judged { run, bounds, lower })
        })
        .collect();
    let probes = calibrate(&judged, reads_contents(&original.plan));
    let verdict = verdict(&results, &probes, missing_sample(&original.plan, &chosen.cells));
    let mut left_out = brought_down;
    left_out.extend(chosen.left_out);
    Outcome {
        verdict,
        left_out,
        probes,
        remarks: remarks(&runs),
        counters: measured(&runs),
        float64_reference: refined.iter().flatten().any(|r| r.references.iter().any(Option::is_some)) && has_modes(),
        poison_pairs,
        cells: results,
    }
}

/// Cells of a candidate that does not end.
const FEW: usize = 8;

/// What a cell may cost beyond the usual sizes: enough for indices of 16 bits to overflow in a simple kernel, and not so
/// much that one cell outweighs all others.
fn most_work(first: u64, settings: &Settings) -> u64 {
    if settings.thorough { settings.steps } else { (first.saturating_mul(16) + (1 << 17)).min(settings.steps / 4) }
}

/// Every distribution that was only given to another size, at the contract's own sample: some sizes are too small for
/// their contents to matter.
fn at_the_sample(cells: &[Cell]) -> Vec<Cell> {
    let Some(first) = cells.first() else { return vec![] };
    let mut found: Vec<Cell> = vec![];
    for c in cells {
        let wanted = Cell { distribution: c.distribution, ..first.clone() };
        if !cells.contains(&wanted) && !found.contains(&wanted) {
            found.push(wanted);
        }
    }
    found
}

/// Bounds are needed only where some output that may differ does so somewhere; then every cell has them, because a
/// distribution on which nothing differs may be the one that tells a wrong answer.
fn refinements(
    original: &Side,
    runs: &[(Cell, Result<CellRun, String>)],
    given: &[Option<Answer>],
    settings: &Settings,
) -> Vec<Option<Refined>> {
    let tolerance = |name: &str| original.plan.tolerances.iter().find(|t| t.output == name);
    let differs = |run: &CellRun| {
        let both = run.original.outputs.iter().zip(&run.candidate.outputs);
        both.into_iter().any(|(a, b)| a.bytes != b.bytes && !is_exact(a, tolerance(&a.name)))
    };
    let referred = given.iter().any(Option::is_some);
    let needed = referred || runs.iter().any(|(_, r)| r.as_ref().is_ok_and(differs));
    let of = |((_, run), given): (&(Cell, Result<CellRun, String>), &Option<Answer>)| {
        let run = run.as_ref().ok().filter(|r| needed && super::judge::undefined(&r.original).is_empty())?;
        let given = given.as_ref().and_then(|g| g.as_ref().ok()).map(Vec::as_slice);
        Some(refine(original, run, settings, given))
    };
    runs.par_iter().zip(given).map(of).collect()
}

fn results(original: &Side, runs: &[(Cell, Result<CellRun, String>)], refined: &[Option<Refined>]) -> Vec<CellResult> {
    let of = |((cell, run), refined): (&(Cell, Result<CellRun, String>), &Option<Refined>)| match run {
        Err(why) => CellResult {
            cell: cell.clone(),
            verdict: CellVerdict::NotRun(why.clone()),
            outputs: vec![],
            written: 0,
            original_steps: 0,
            candidate_steps: 0,
        },
        Ok(run) => judge(run, &original.plan.permissions, &|n, _| {
            let bound = refined.as_ref().and_then(|r| r.bounds.get(n)).cloned();
            let reference = refined.as_ref().and_then(|r| r.references.get(n)).cloned().flatten();
            (bound.unwrap_or_else(Bound::exact), reference)
        }),
    };
    runs.iter().zip(refined).map(of).collect()
}

/// Compares runs of the candidate that differ only in the poison; how many there are.
pub(super) fn poisons(original: &Side, runs: &[(Cell, Result<CellRun, String>)], results: &mut [CellResult]) -> usize {
    let mut pairs = 0;
    for ((cell, second), result) in runs.iter().zip(results).filter(|((c, _), _)| c.poison == 1) {
        let twin = Cell { poison: 0, ..cell.clone() };
        let first = runs.iter().find(|(c, _)| *c == twin).and_then(|(_, r)| r.as_ref().ok());
        let (Some(first), Ok(second)) = (first, second) else { continue };
        if !result.verdict.passes() || original.plan.permissions.atomic_order {
            continue;
        }
        pairs += 1;
        let faults = poison_dependence(&first.candidate, &second.candidate);
        if !faults.is_empty() {
            result.verdict = CellVerdict::Failed(faults);
        }
    }
    pairs
}

pub(super) fn reads_contents(plan: &Plan) -> bool {
    plan.args.iter().any(|a| a.is_buffer() && a.init() == Init::Keep)
}

/// Why the verdict cannot rest on these cells: the sizes that the contract names first are not among them.
pub(super) fn missing_sample(plan: &Plan, cells: &[Cell]) -> Option<String> {
    let wanted: Option<Vec<(&String, i64)>> = plan.dims.iter().map(|d| Some((&d.name, *d.samples.first()?))).collect();
    let has = |c: &Cell, (name, size): &(&String, i64)| c.dims.get(*name) == Some(size);
    let there = |w: &Vec<(&String, i64)>| cells.iter().any(|c| w.iter().all(|d| has(c, d)));
    let missing = wanted.filter(|w| !there(w))?;
    let sizes: Vec<String> = missing.iter().map(|(name, size)| format!("{name} = {size}")).collect();
    Some(format!("the contract's own sample, {}, could not be run", sizes.join(", ")))
}

pub(super) fn verdict(results: &[CellResult], probes: &[Probed], missing: Option<String>) -> Verdict {
    if results.iter().any(|r| matches!(r.verdict, CellVerdict::Failed(_))) {
        return Verdict::Failed;
    }
    let mut reasons: Vec<String> = missing.into_iter().collect();
    match results.first().map(|r| &r.verdict) {
        None => reasons.push("no cell could be run".to_owned()),
        Some(CellVerdict::Undefined(list)) if list.iter().any(|u| matches!(u, Undefined::OffReference { .. })) => {
            reasons.push("the original does not agree with the reference that the contract names".to_owned());
        }
        Some(CellVerdict::Undefined(_)) => {
            reasons.push("the original is not defined on the contract's own sample".to_owned());
        }
        Some(CellVerdict::NotRun(why)) => reasons.push(format!("the contract's own sample did not run: {why}")),
        Some(_) => {}
    }
    let unsupported = results.iter().skip(1).find_map(|r| match &r.verdict {
        CellVerdict::NotRun(why) if why.starts_with("the candidate") => Some(why.clone()),
        _ => None,
    });
    reasons.extend(unsupported);
    let passing = || results.iter().filter(|r| r.verdict.passes());
    if reasons.is_empty() && !passing().any(|r| r.written > 0) {
        reasons.push("the original wrote nothing in any cell that counts".to_owned());
    }
    let blind = |p: &&Probed| p.is_blind();
    let say = |p: &Probed| format!("`{}`: {} would have passed as well", p.output, what(p.probe));
    if reasons.is_empty() {
        reasons.extend(probes.iter().filter(blind).map(say));
    }
    if !reasons.is_empty() {
        return Verdict::Inconclusive(reasons);
    }
    let cells = passing().count();
    let equal = results.iter().filter(|r| r.verdict == CellVerdict::EqualBits).count();
    if equal == cells { Verdict::EqualBits { cells } } else { Verdict::WithinTolerance { cells, equal } }
}

fn what(probe: Probe) -> &'static str {
    match probe {
        Probe::Zero => "an output of zeros",
        Probe::OtherInput => "the output for another input",
        Probe::Stale => "what stood there before",
        Probe::Lower => "an output in the next lower precision",
    }
}

/// What is worth saying and decides nothing.
fn remarks(runs: &[(Cell, Result<CellRun, String>)]) -> Vec<String> {
    let mut found: Vec<String> = vec![];
    let mut say = |text: String| {
        if !found.contains(&text) {
            found.push(text);
        }
    };
    for run in runs.iter().filter_map(|(_, r)| r.as_ref().ok()) {
        let benign = |f: &&Located| f.kind == Kind::BenignRace;
        for f in run.candidate.findings.iter().filter(benign) {
            let own = run.original.findings.iter().any(|o| o.kind == Kind::BenignRace);
            let whose = if own { "as in the original" } else { "not in the original" };
            say(format!("candidate, line {}: {} ({whose})", f.line, finding::describe(f.kind)));
        }
        for (who, side) in [("original", &run.original), ("candidate", &run.candidate)] {
            side.schedules.iter().for_each(|s| say(format!("{who}: {s}; two other orders ran on the sample")));
            side.notes.iter().for_each(|n| say(format!("{who}: {n}")));
            if !side.prints.is_empty() {
                say(format!("{who}: prints"));
            }
            for g in &side.changed_globals {
                say(format!("{who}: changes the `__device__` variable {}", g.symbol));
            }
        }
        if run.original.prints != run.candidate.prints {
            say("what is printed differs".to_owned());
        }
    }
    found
}

fn measured(runs: &[(Cell, Result<CellRun, String>)]) -> Option<Measured> {
    let whole = runs.iter().filter_map(|(_, r)| r.as_ref().ok());
    let whole = whole.filter(|r| r.original.stopped.is_none() && r.candidate.stopped.is_none());
    // The first of the largest.
    let best = whole.fold(None::<&CellRun>, |best, r| match best {
        Some(b) if b.original.steps >= r.original.steps => Some(b),
        _ => Some(r),
    })?;
    Some(Measured {
        cell: best.cell.clone(),
        original: Counters::of(&best.original),
        candidate: Counters::of(&best.candidate),
    })
}

/// The faults of all cells, each kind and place once, with the cell that shows it first.
pub fn faults(cells: &[CellResult]) -> Vec<(&Cell, &Fault)> {
    let mut found: Vec<(&Cell, &Fault)> = vec![];
    for c in cells {
        let CellVerdict::Failed(list) = &c.verdict else { continue };
        for f in list {
            if !found.iter().any(|(_, seen)| same_place(seen, f)) {
                found.push((&c.cell, f));
            }
        }
    }
    found
}

fn same_place(a: &Fault, b: &Fault) -> bool {
    use Fault::*;
    match (a, b) {
        (Finding(x), Finding(y)) => (&x.kernel, x.kind, &x.file, x.line) == (&y.kernel, y.kind, &y.file, y.line),
        (Mismatch { output: x, .. }, Mismatch { output: y, .. })
        | (Mean { output: x, .. }, Mean { output: y, .. })
        | (Unwritten { output: x, .. }, Unwritten { output: y, .. })
        | (Overwrites { output: x, .. }, Overwrites { output: y, .. })
        | (DependsOnPoison { output: x, .. }, DependsOnPoison { output: y, .. }) => x == y,
        (WritesInput { name: x, .. }, WritesInput { name: y, .. })
        | (WritesGuard { name: x }, WritesGuard { name: y }) => x == y,
        (Stopped(x), Stopped(y)) => std::mem::discriminant(x) == std::mem::discriminant(y),
        (KeepsState { symbol: x }, KeepsState { symbol: y }) => x == y,
        _ => false,
    }
}
