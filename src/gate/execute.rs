//! Runs a concrete plan in the interpreter: memory of its own, contents, guards, launches, and what is there afterwards.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use rayon::prelude::*;

use super::finding::{Located, locate};
use super::machine::{CANARY, Machine, Placed};
use super::side::{KernelKey, Side};
use crate::contract::{Binding, ConcreteBuffer, ConcreteLaunch, ConcretePlan, Role, Start};
use crate::ir::Scalar;
use crate::ptx::{
    Counts, Launch, Limits, Memory, Mode, Observer, Options, Program, PtxError, Schedule, Traffic, run, run_observed,
};

/// How a plan is run.
#[derive(Clone, Copy, Debug)]
pub struct How {
    pub mode: Mode,
    pub checks: bool,
    pub counters: bool,
    /// Inputs are rounded to the next lower precision.
    pub lowered_inputs: bool,
    pub limits: Limits,
    pub memory: u64,
    /// In which order blocks and warps go; see [`crate::ptx::Options::order`].
    pub order: u64,
}

/// An output after the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    pub name: String,
    pub dtype: Scalar,
    pub bytes: Vec<u8>,
    /// What stood there before.
    pub start: Vec<u8>,
    /// Elements that nothing wrote, as ranges; known where the buffer began undefined and checks were on.
    pub unwritten: Vec<std::ops::Range<u64>>,
    /// Elements that the contract says are written.
    pub writes: std::ops::Range<u64>,
}

impl Output {
    pub fn elements(&self) -> u64 {
        self.bytes.len() as u64 / u64::from(self.dtype.bytes())
    }

    pub fn count_unwritten(&self, within: &std::ops::Range<u64>) -> u64 {
        let part = |r: &std::ops::Range<u64>| r.end.min(within.end).saturating_sub(r.start.max(within.start));
        self.unwritten.iter().map(part).sum()
    }

    pub fn is_unwritten(&self, index: u64) -> bool {
        let at = self.unwritten.partition_point(|r| r.end <= index);
        self.unwritten.get(at).is_some_and(|r| r.start <= index)
    }
}

/// A `__device__` variable whose contents a run changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedGlobal {
    pub symbol: String,
    pub bytes: Vec<u8>,
}

/// Counts of one source line.
#[derive(Clone, Debug, PartialEq)]
pub struct LineCounts {
    pub kernel: String,
    pub file: String,
    pub line: u32,
    pub counts: Counts,
}

/// What a run left behind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ran {
    pub outputs: Vec<Output>,
    /// Inputs that were written, with the first element that is another one afterwards; `None` where all are as before.
    pub changed_inputs: Vec<(String, Option<u64>)>,
    pub changed_globals: Vec<ChangedGlobal>,
    /// Writes into the bytes before a buffer whose address is not a multiple of 256.
    pub guards: Vec<String>,
    pub findings: Vec<Located>,
    pub counts: Counts,
    pub lines: Vec<LineCounts>,
    pub traffic: Vec<Traffic>,
    pub prints: Vec<String>,
    /// Warp instructions.
    pub steps: u64,
    /// Steps of the plan that are launches of no block; the driver calls them an error and does nothing.
    pub empty_launches: u32,
    pub schedules: Vec<String>,
    pub notes: Vec<String>,
    /// Why the run did not get to its end.
    pub stopped: Option<Stopped>,
}

/// Why a run ended early. What is in memory then is not compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    #[error("the launch of `{kernel}` fails: {why}")]
    Launch { kernel: String, why: String },
    /// An endless loop, a deadlock or a trap; the findings say which.
    #[error("`{kernel}` does not run to its end")]
    Unfinished { kernel: String },
    #[error("`{kernel}`: {why}")]
    Limit { kernel: String, why: String },
    /// Says nothing about the kernel.
    #[error("`{kernel}`: {why}")]
    Machine { kernel: String, why: String },
}

/// The bytes of every buffer before the first step, the same for both sides of a comparison.
pub fn starts(plan: &ConcretePlan) -> Result<Vec<Vec<u8>>, String> {
    let of = |b: &ConcreteBuffer| {
        if b.elements <= PIECE {
            return b.start_bytes(0..b.elements).map_err(|e| format!("`{}`: {e}", b.name));
        }
        // Any part can be made by itself; the whole does not depend on how it is cut.
        let piece = |n: u64| b.start_bytes(n * PIECE..b.elements.min((n + 1) * PIECE));
        let pieces: Result<Vec<Vec<u8>>, _> = (0..b.elements.div_ceil(PIECE)).into_par_iter().map(piece).collect();
        pieces.map(|p| p.concat()).map_err(|e| format!("`{}`: {e}", b.name))
    };
    plan.buffers.iter().map(of).collect()
}

/// Elements of a buffer that are made at once.
const PIECE: u64 = 1 << 18;

/// Runs `plan` with the kernels of `side`; `starts` are the contents that the plan's buffers begin with.
///
/// # Errors
/// What has nothing to do with the kernels: buffers beyond the memory limit, a kernel that was not compiled.
pub fn execute(side: &Side, plan: &ConcretePlan, starts: &[Vec<u8>], how: &How) -> Result<Ran, String> {
    execute_watched(side, plan, starts, how, &mut |_| None)
}

/// Who hears the notes of a launch, if anyone.
pub type Listener<'a> = dyn FnMut(&ConcreteLaunch) -> Option<Arc<Mutex<dyn Observer>>> + 'a;

/// The same with an observer for every launch for which `listen` gives one.
///
/// # Errors
/// As [`execute`].
pub fn execute_watched(
    side: &Side,
    plan: &ConcretePlan,
    starts: &[Vec<u8>],
    how: &How,
    listen: &mut Listener<'_>,
) -> Result<Ran, String> {
    Machine::new(side, plan, how)?.watched_round(starts, listen)
}

#[allow(clippy::too_many_arguments)]
pub(super) fn launch(
    side: &Side,
    plan: &ConcretePlan,
    l: &ConcreteLaunch,
    placed: &[Placed],
    memory: &mut Memory,
    how: &How,
    observer: Option<&Mutex<dyn Observer>>,
    ran: &mut Ran,
    lines: &mut BTreeMap<(String, String, u32), Counts>,
) -> Result<(), String> {
    let program = side.program(l).ok_or_else(|| format!("`{}` was not compiled", l.kernel))?;
    let kernel = KernelKey::of(l).to_string();
    if l.cluster.is_some_and(|c| c != [1, 1, 1]) {
        ran.stopped = Some(Stopped::Machine { kernel, why: "unsupported: clusters of blocks".into() });
        return Ok(());
    }
    if let Some(why) = side.does_not_fit(l) {
        ran.stopped = Some(Stopped::Launch { kernel, why });
        return Ok(());
    }
    let params = match parameters(program, l, placed, memory) {
        Ok(params) => params,
        Err(why) => {
            ran.stopped = Some(Stopped::Launch { kernel, why });
            return Ok(());
        }
    };
    let request = Launch { grid: l.grid, block: l.block, dynamic_shared: l.shared, params };
    let limits = Limits { steps: how.limits.steps.saturating_sub(ran.steps), ..how.limits };
    let options =
        Options { mode: how.mode, checks: how.checks, counters: how.counters, threads: 1, limits, order: how.order };
    let outcome = match observer {
        Some(o) => run_observed(program, &request, memory, &options, o),
        None => run(program, &request, memory, &options),
    };
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(e) => {
            ran.stopped = Some(match e {
                PtxError::Launch(why) => Stopped::Launch { kernel, why },
                PtxError::Limit(why) => Stopped::Limit { kernel, why },
                other => Stopped::Machine { kernel, why: other.to_string() },
            });
            return Ok(());
        }
    };
    ran.findings.extend(outcome.findings.iter().map(|f| locate(&kernel, program, f)));
    ran.prints.extend(outcome.prints);
    ran.steps += outcome.steps;
    ran.notes.extend(outcome.notes);
    if let Schedule::Ordered { because } = outcome.schedule {
        ran.schedules.push(format!("{kernel}: blocks ran in order ({because})"));
    }
    if let Some(counters) = outcome.counters {
        add(&mut ran.counts, &counters.total);
        for (id, counts) in &counters.lines {
            if let Some(line) = program.lines.get(id.0 as usize) {
                add(lines.entry((kernel.clone(), line.file.clone(), line.line)).or_default(), counts);
            }
        }
        ran.traffic
            .extend(counters.traffic.into_iter().filter(|t| plan.buffers.iter().any(|b| b.name == t.allocation)));
    }
    if !outcome.completed {
        ran.stopped = Some(Stopped::Unfinished { kernel });
    }
    Ok(())
}

/// Sums counts field by field.
pub fn add(to: &mut Counts, from: &Counts) {
    to.instructions += from.instructions;
    to.classes.iter_mut().zip(from.classes).for_each(|(a, b)| *a += b);
    to.lanes += from.lanes;
    to.flops += from.flops;
    to.global_requests += from.global_requests;
    to.global_sectors += from.global_sectors;
    to.global_bytes += from.global_bytes;
    to.shared_requests += from.shared_requests;
    to.shared_wavefronts += from.shared_wavefronts;
}

/// The parameter block of a launch.
fn parameters(program: &Program, l: &ConcreteLaunch, placed: &[Placed], memory: &Memory) -> Result<Vec<u8>, String> {
    if l.args.len() != program.params.len() {
        return Err(format!("the contract gives {} arguments, the kernel has {}", l.args.len(), program.params.len()));
    }
    let mut block = vec![0u8; program.param_bytes as usize];
    for (n, (p, a)) in program.params.iter().zip(&l.args).enumerate() {
        let bytes = match a {
            Binding::Null => vec![0; 8],
            Binding::Scalar { bytes, .. } => bytes.clone(),
            Binding::Buffer { buffer, offset } => {
                let at = placed.get(*buffer).ok_or("an argument names no buffer")?;
                let base = memory.address(at.id).map_err(|e| e.to_string())?;
                (base + at.before + offset).to_le_bytes().to_vec()
            }
        };
        if bytes.len() != p.size as usize {
            return Err(format!("argument {} has {} bytes, the parameter {}", n + 1, bytes.len(), p.size));
        }
        let at = p.offset as usize;
        block.get_mut(at..at + bytes.len()).ok_or("a parameter beyond the block")?.copy_from_slice(&bytes);
    }
    Ok(block)
}

/// Reads outputs, and looks whether inputs and guards are as they were.
pub(super) fn afterwards(
    plan: &ConcretePlan,
    starts: &[Vec<u8>],
    how: &How,
    placed: &[Placed],
    memory: &Memory,
    ran: &mut Ran,
) -> Result<(), PtxError> {
    for ((buffer, start), at) in plan.buffers.iter().zip(starts).zip(placed) {
        let guard = memory.read(at.id, 0, at.before)?;
        if guard.iter().any(|b| *b != CANARY) {
            ran.guards.push(buffer.name.clone());
        }
        match buffer.role {
            Role::In if !how.lowered_inputs => {
                let bytes = memory.read(at.id, at.before, buffer.bytes)?;
                if bytes != *start {
                    let first = bytes.iter().zip(start).position(|(a, b)| a != b).unwrap_or(0) as u64;
                    ran.changed_inputs.push((buffer.name.clone(), Some(first / u64::from(buffer.dtype.bytes()))));
                } else if ran.traffic.iter().any(|t| t.allocation == buffer.name && t.written > 0) {
                    ran.changed_inputs.push((buffer.name.clone(), None));
                }
            }
            Role::Out | Role::InOut => {
                let bytes = memory.read(at.id, at.before, buffer.bytes)?;
                let undefined = matches!(buffer.start, Start::Poison(_)) && how.checks;
                let unwritten = if undefined { unwritten(memory, *at, buffer, &bytes, start) } else { vec![] };
                ran.outputs.push(Output {
                    name: buffer.name.clone(),
                    dtype: buffer.dtype,
                    bytes,
                    start: start.clone(),
                    unwritten,
                    writes: buffer.writes.clone(),
                });
            }
            Role::In | Role::Scalar | Role::Temp => {}
        }
    }
    Ok(())
}

/// Elements of which no byte was written: still undefined, and still the poison.
fn unwritten(
    memory: &Memory,
    at: Placed,
    buffer: &ConcreteBuffer,
    bytes: &[u8],
    start: &[u8],
) -> Vec<std::ops::Range<u64>> {
    let width = buffer.dtype.bytes() as usize;
    let Some(allocation) = memory.allocations.get(at.id.0 as usize) else { return vec![] };
    let mut found: Vec<std::ops::Range<u64>> = vec![];
    for (i, (now, before)) in bytes.chunks_exact(width).zip(start.chunks_exact(width)).enumerate() {
        if now == before && !allocation.is_defined(at.before as usize + i * width, width as u32) {
            match found.last_mut() {
                Some(last) if last.end == i as u64 => last.end += 1,
                _ => found.push(i as u64..i as u64 + 1),
            }
        }
    }
    found
}
