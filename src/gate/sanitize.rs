//! Both sides under the tools of compute-sanitizer, on a few small cells: what only machine code shows, on the user's lines.
//!
//! A finding of the candidate that the original does not have rejects it. The tools are slow and each sees one kind of
//! mistake, so that nothing found is no proof; a tool that did not run is named.

use super::device::{self, Run};
use super::execute::starts;
use super::on_device::OnDevice;
use super::pair::Settings;
use crate::contract::{Cell, ConcretePlan, Sampling, Start, cells};
use crate::gpu::job::{self, Job, Step};
use crate::gpu::sanitizer::{Finding, Level, Tool};

/// Runs a job under a tool, with a time limit; why the tool says nothing, where it does not.
pub type Watch<'a> = &'a dyn Fn(Tool, &Job, &[Vec<u8>]) -> Result<Vec<Finding>, String>;

/// Cells that are run.
const MOST_CELLS: usize = 4;
/// Bytes of buffers in a cell: every access of a run is looked at.
const MOST_BYTES: u64 = 16 << 20;
/// Threads of all launches of a cell.
const MOST_THREADS: u64 = 1 << 20;

/// One side under one tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Watched {
    pub tool: Tool,
    pub is_candidate: bool,
    /// Findings, or why there is nothing to be said.
    pub found: Result<Vec<Finding>, String>,
}

/// What the tools saw of both sides.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sanitized {
    pub cells: Vec<Cell>,
    pub runs: Vec<Watched>,
    /// What kept tools from being run at all.
    pub missing: Option<String>,
}

impl Sanitized {
    pub fn of(&self, is_candidate: bool) -> impl Iterator<Item = &Finding> {
        self.runs.iter().filter(move |r| r.is_candidate == is_candidate).flat_map(|r| r.found.iter().flatten())
    }

    /// Errors of the candidate of a kind that the original does not have.
    pub fn own(&self) -> Vec<&Finding> {
        self.of(true).filter(|f| f.level == Level::Error && !self.is_shared(f)).collect()
    }

    /// Whether the original has a finding of this kind, too. Lines differ between the two, so that they say nothing.
    pub fn is_shared(&self, finding: &Finding) -> bool {
        self.of(false).any(|o| o.tool == finding.tool && o.what == finding.what && o.level <= finding.level)
    }

    /// One word for all of it.
    pub fn word(&self) -> &'static str {
        if !self.own().is_empty() {
            "failed"
        } else if self.missing.is_some() || self.runs.is_empty() || self.runs.iter().any(|r| r.found.is_err()) {
            "incomplete"
        } else {
            "nothing-found"
        }
    }

    /// Tools that said nothing, with the reason.
    pub fn not_checked(&self) -> Vec<String> {
        let side = |r: &Watched| if r.is_candidate { "candidate" } else { "original" };
        let mut out: Vec<String> =
            self.missing.iter().map(|why| format!("sanitizer: no tool was run: {why}")).collect();
        for r in &self.runs {
            if let Err(why) = &r.found {
                out.push(format!("sanitizer: {} of the {}: {why}", r.tool.word(), side(r)));
            }
        }
        let mut tools: Vec<Tool> = self.runs.iter().map(|r| r.tool).collect();
        tools.sort_unstable();
        tools.dedup();
        out.extend(tools.iter().map(|t| format!("{} does not see {}", t.word(), t.blind())));
        out
    }
}

/// Runs each side under every tool.
pub fn sanitize(original: &OnDevice, candidate: &OnDevice, settings: &Settings, watch: Watch) -> Sanitized {
    let cells = chosen(&original.side.plan, settings);
    let mut out = Sanitized { cells, ..Sanitized::default() };
    if out.cells.is_empty() {
        out.missing = Some("no cell of the contract is small enough".to_owned());
        return out;
    }
    for (side, is_candidate) in [(original, false), (candidate, true)] {
        for (tool, found) in under_all(side, &out.cells, watch) {
            out.runs.push(Watched { tool, is_candidate, found });
        }
    }
    out
}

/// One side on given cells under every tool.
pub fn under_all(side: &OnDevice, cells: &[Cell], watch: Watch) -> Vec<(Tool, Result<Vec<Finding>, String>)> {
    let job = watched_job(side, cells);
    let one = |tool: Tool| job.as_ref().map_err(Clone::clone).and_then(|(job, parts)| watch(tool, job, parts));
    Tool::ALL.into_iter().map(|tool| (tool, one(tool))).collect()
}

/// The smallest cells with different sizes: the first sample and those around its tails, and nothing special else.
fn chosen(plan: &crate::contract::Plan, settings: &Settings) -> Vec<Cell> {
    let sampling = Sampling { seed: settings.seed, pairs: 0, max_bytes: Some(MOST_BYTES), ..Sampling::default() };
    let mut found: Vec<(u64, Cell)> = vec![];
    for cell in cells(plan, &sampling).cells {
        let plain = cell.poison == 0 && cell.scalars == 0 && !cell.overlap && cell.round == 0 && cell.order == 0;
        if !plain || found.iter().any(|(_, c)| c.dims == cell.dims) {
            continue;
        }
        let Ok(concrete) = plan.concrete(&cell) else { continue };
        let threads = threads(&concrete);
        if concrete.bytes() <= MOST_BYTES && threads > 0 && threads <= MOST_THREADS {
            found.push((concrete.bytes(), cell));
        }
    }
    // The contract's own first sample is what the kernel is written for: it stays.
    let mut rest = found.split_off(found.len().min(1));
    rest.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.dims.cmp(&b.1.dims)));
    found.extend(rest);
    found.into_iter().take(MOST_CELLS).map(|(_, cell)| cell).collect()
}

fn threads(plan: &ConcretePlan) -> u64 {
    let of = |l: &crate::contract::ConcreteLaunch| {
        let blocks: u64 = l.grid.iter().map(|n| u64::from(*n)).product();
        blocks.saturating_mul(l.threads_per_block())
    };
    plan.launches().map(of).fold(0, u64::saturating_add)
}

/// All cells in one job. Outputs and temporaries begin with nothing, so that the read of what nothing wrote is one; nothing
/// is read back, which would be such a read.
fn watched_job(side: &OnDevice, cells: &[Cell]) -> Result<(Job, Vec<Vec<u8>>), String> {
    let mut plans = vec![];
    for cell in cells {
        let plan = side.side.plan.concrete(cell).map_err(|e| e.to_string())?;
        let contents = starts(&plan)?;
        plans.push((plan, contents));
    }
    let runs: Vec<Run> = plans.iter().map(|(plan, starts)| Run { plan, starts, reuse: None }).collect();
    let (mut job, parts) = device::job(side.images, &runs, side.ordinal)?;
    let begins = plans.iter().flat_map(|(plan, _)| plan.buffers.iter().map(|b| matches!(b.start, Start::Poison(_))));
    for (buffer, is_poison) in job.buffers.iter_mut().zip(begins) {
        if is_poison {
            buffer.start = job::Start::Undefined;
        }
    }
    job.steps.retain(|s| !matches!(s, Step::Read { .. } | Step::ReadSymbol { .. }));
    Ok((job, parts))
}
