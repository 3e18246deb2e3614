//! Which of two versions is the faster on a device, and by how much: both run in one process in turns, beside a second copy of
//! the original, so that every run says how much the original differs from itself.
//!
//! ```text
//! sides, cell --request--> arms with contents --process that owns the GPU--> raw samples, answers
//!     samples --stats--> ratio, interval, margin, word       answers --judge under bounds--> faults
//! ```
//!
//! A word about speed is said only where the answers that were timed are right, and where physics allows the time.

mod floor;
mod request;
pub mod stats;

use super::cell::{CellRun, shapes};
use super::execute::{Output, Ran, Stopped};
use super::judge::judge;
use super::on_device::OnDevice;
use super::on_device::bounds::Bounds;
use super::pair::{Outcome, Settings};
use super::verdict::{CellVerdict, Fault};
use crate::contract::{Cell, ConcretePlan, Role};
use crate::gpu::job::GpuError;
use crate::gpu::timing::{Answer, Cache, Peaks, Policy, Sample, Timed, Timing, When};
pub use floor::Floor;
use request::{Request, request};
pub use stats::Speed;
use stats::{CANDIDATE, CONTROL, Compared, ORIGINAL, compared};

/// Times arms in a process that owns the device, with a time limit.
pub type Stopwatch<'a> = &'a dyn Fn(&Timing, &[Vec<u8>]) -> Result<(Timed, Vec<Vec<u8>>), GpuError>;

/// More than this is looked at by a person before it is believed.
const UNBELIEVABLE: f64 = 10.0;
/// A run that takes less than so many empty launches is bound by the launch.
const LAUNCHES: f64 = 3.0;

/// What was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct TimingOutcome {
    pub cell: Cell,
    /// `NVIDIA H200, sm_90, driver for CUDA 13.0`
    pub device: String,
    /// The states of the cache that were timed.
    pub states: Vec<Compared>,
    pub speed: Speed,
    /// Bytes of one set of buffers.
    pub bytes: u64,
    pub floor: Option<Floor>,
    /// What the candidate does wrong while it is timed: then nothing is said about its speed.
    pub faults: Vec<Fault>,
    /// Outputs that were read between samples and compared with those before.
    pub looked_at: u32,
    pub retaken: u32,
    /// Raw samples: arm 0 is the original, 1 the original once more, 2 the candidate.
    pub samples: Vec<Sample>,
    pub remarks: Vec<String>,
    pub not_checked: Vec<String>,
}

/// Times a pair in one cell. `emulated` is what the interpreter saw of the same pair; `peaks` were measured on the same device.
///
/// # Errors
/// Nothing was measured, for a reason that says nothing about the candidate.
pub fn time_pair(
    (original, candidate): (&OnDevice, &OnDevice),
    cell: &Cell,
    emulated: &Outcome,
    (settings, policy): (&Settings, Policy),
    peaks: Option<&Peaks>,
    stopwatch: Stopwatch,
) -> Result<TimingOutcome, String> {
    let asked = request(original, candidate, cell, policy)?;
    let (timed, parts) = match stopwatch(&asked.timing, &asked.parts) {
        Ok(found) => found,
        Err(GpuError::Kernel(f)) if f.step == CANDIDATE as usize => return Ok(failed(cell, &asked, f.to_string())),
        Err(GpuError::Kernel(f)) => return Err(format!("the original: {f}")),
        Err(e) => return Err(e.to_string()),
    };
    let own = |arms: &[(u32, usize)]| arms.iter().any(|(arm, _)| *arm != CANDIDATE);
    if own(&timed.spoiled) || own(&timed.guards) {
        return Err("the original writes where the contract does not let it".to_owned());
    }
    let faults = faults(&timed, &parts, &asked, (original, candidate), cell, emulated, settings);
    let states: Vec<Compared> = timed.methods.iter().map(|m| compared(&timed.samples, m)).collect();
    let bytes = asked.plan.bytes();
    let floor = floor::floor(&asked.plan, candidate.side, emulated, peaks, timed.l2_bytes);
    let mut found = TimingOutcome {
        cell: cell.clone(),
        device: format!("{}, driver for CUDA {}", timed.device, timed.driver),
        speed: Speed::Inconclusive("no state of the cache was timed".to_owned()),
        states,
        bytes,
        floor,
        faults,
        looked_at: timed.looked_at,
        retaken: timed.retaken,
        samples: timed.samples.clone(),
        remarks: vec![],
        not_checked: vec![],
    };
    found.speed = overall(&found);
    found.remarks = remarks(&found, &timed);
    found.not_checked = not_checked(&found, &timed, &asked);
    Ok(found)
}

/// A candidate that does not run in the timed cell.
fn failed(cell: &Cell, asked: &Request, why: String) -> TimingOutcome {
    let kernel = asked.plan.launches().next().map_or_else(String::new, |l| l.kernel.clone());
    TimingOutcome {
        cell: cell.clone(),
        device: format!("device {}", asked.timing.device),
        states: vec![],
        speed: Speed::Inconclusive("the candidate failed".to_owned()),
        bytes: asked.plan.bytes(),
        floor: None,
        faults: vec![Fault::Stopped(Stopped::Launch { kernel, why })],
        looked_at: 0,
        retaken: 0,
        samples: vec![],
        remarks: vec![],
        not_checked: vec![],
    }
}

/// One word for all states: slower anywhere is slower, and what could not be told in the cold cache could not be told.
fn overall(t: &TimingOutcome) -> Speed {
    if !t.faults.is_empty() {
        return Speed::Inconclusive("the candidate is wrong where it was timed".to_owned());
    }
    let too_fast =
        |s: &&Compared| s.method.cache == Cache::Cold && t.floor.is_some_and(|f| f.is_broken_by(s.candidate.median()));
    if let (Some(s), Some(floor)) = (t.states.iter().find(too_fast), t.floor) {
        return Speed::Inconclusive(format!(
            "impossible: {:.1} us, and the bytes alone take {:.1} us on this device",
            s.candidate.median() / 1e3,
            floor.nanoseconds / 1e3
        ));
    }
    let of = |cache: Cache| t.states.iter().find(|s| s.method.cache == cache).map(|s| &s.speed);
    match (of(Cache::Cold), of(Cache::Warm)) {
        (Some(Speed::Slower), _) | (_, Some(Speed::Slower)) => Speed::Slower,
        (Some(Speed::Inconclusive(why)), _) | (None, Some(Speed::Inconclusive(why))) => {
            Speed::Inconclusive(why.clone())
        }
        (Some(Speed::Improved), _) | (_, Some(Speed::Improved)) => Speed::Improved,
        (Some(_), _) | (_, Some(_)) => Speed::Equivalent,
        (None, None) => Speed::Inconclusive("no state of the cache was timed".to_owned()),
    }
}

/// What the candidate answered wrongly, and where it wrote.
fn faults(
    timed: &Timed,
    parts: &[Vec<u8>],
    asked: &Request,
    (original, candidate): (&OnDevice, &OnDevice),
    cell: &Cell,
    emulated: &Outcome,
    settings: &Settings,
) -> Vec<Fault> {
    let named =
        |place: usize| candidate.side.plan.concrete(cell).ok().and_then(|p| Some(p.buffers.get(place)?.name.clone()));
    let named = |place: usize| named(place).unwrap_or_default();
    let mut found: Vec<Fault> = vec![];
    found.extend(timed.spoiled.iter().map(|(_, place)| Fault::WritesInput { name: named(*place), index: None }));
    found.extend(timed.guards.iter().map(|(_, place)| Fault::WritesGuard { name: named(*place) }));
    let mut groups: Vec<(u32, When)> = vec![];
    for a in timed.answers.iter().filter(|a| a.arm == CANDIDATE && a.differing.is_some()) {
        if !groups.contains(&(a.contents, a.when)) {
            groups.push((a.contents, a.when));
        }
    }
    let group = |(contents, when): &(u32, When)| {
        let own = |a: &&Answer| (a.arm, a.contents, a.when) == (CANDIDATE, *contents, *when);
        run(&asked.plan, cell, &shapes(original.side, cell), &mut timed.answers.iter().filter(own), parts)
    };
    let runs: Vec<CellRun> = groups.iter().map(group).collect();
    let all: Vec<&CellRun> = runs.iter().collect();
    let bounds = Bounds::new(original.side, candidate.side, &all, emulated, settings);
    for (run, group) in runs.iter().zip(&groups) {
        let judged = judge(run, &original.side.plan.permissions, &|n, _| (bounds.of(run, n), None));
        if let CellVerdict::Failed(faults) = judged.verdict {
            let values =
                faults.into_iter().filter(|f| !matches!(f, Fault::Unwritten { .. } | Fault::Overwrites { .. }));
            found.extend(values.map(|f| placed(f, run, &timed.answers, *group)));
        }
    }
    found
}

/// The fault with its place in the whole output, of which a window was looked at.
fn placed(mut fault: Fault, run: &CellRun, answers: &[Answer], (contents, when): (u32, When)) -> Fault {
    if let Fault::Mismatch { output, dtype, mismatch, .. } = &mut fault {
        let n = run.original.outputs.iter().position(|o| o.name == *output);
        let own = |a: &&Answer| (a.arm, a.contents, a.when) == (CANDIDATE, contents, when) && Some(a.output) == n;
        let from = answers.iter().find(own).and_then(|a| a.differing).map_or(0, |d| d.from);
        mismatch.index += from / u64::from(dtype.bytes()).max(1);
    }
    fault
}

/// Outputs of the original and of the candidate as a run of the cell; those that are equal are left empty.
fn run(
    plan: &ConcretePlan,
    cell: &Cell,
    shapes: &[(String, Vec<u64>)],
    answers: &mut dyn Iterator<Item = &Answer>,
    parts: &[Vec<u8>],
) -> CellRun {
    let (mut original, mut candidate) = (Ran::default(), Ran::default());
    let output = |name: &str, dtype, bytes: Vec<u8>| Output {
        name: name.to_owned(),
        dtype,
        writes: 0..bytes.len() as u64,
        start: vec![],
        bytes,
        unwritten: vec![],
    };
    let answers: Vec<&Answer> = answers.collect();
    for (n, buffer) in plan.buffers.iter().filter(|b| matches!(b.role, Role::Out | Role::InOut)).enumerate() {
        let differing = answers.iter().find(|a| a.output == n).and_then(|a| a.differing);
        let part = |n: usize| parts.get(n).cloned().unwrap_or_default();
        let (first, own) = differing.map_or_else(Default::default, |d| (part(d.parts.0), part(d.parts.1)));
        original.outputs.push(output(&buffer.name, buffer.dtype, first));
        candidate.outputs.push(output(&buffer.name, buffer.dtype, own));
    }
    CellRun { cell: cell.clone(), original, candidate, shapes: shapes.to_vec() }
}

fn remarks(t: &TimingOutcome, timed: &Timed) -> Vec<String> {
    let mut found = timed.notes.clone();
    let unlike = |a: &&Answer| a.arm == CONTROL && a.differing.is_some();
    if timed.answers.iter().any(|a| unlike(&a)) {
        found.push("the original itself gives other bits on each run".to_owned());
    }
    for s in &t.states {
        let empty = match s.method.timer {
            crate::gpu::timing::Timer::Events => timed.empty.0,
            crate::gpu::timing::Timer::Graph { .. } => timed.empty.1,
        };
        let least = s.original.median().min(s.candidate.median());
        if least < LAUNCHES * empty {
            found.push(format!(
                "{}: bound by the launch: an empty kernel takes {:.2} us this way",
                word(s.method.cache),
                empty / 1e3
            ));
        }
        if s.ratio > UNBELIEVABLE {
            found.push(format!("{}: more than ten times as fast: look at what it does not do", word(s.method.cache)));
        }
    }
    if t.retaken > 0 {
        found.push(format!("{} samples were taken again, as the device's clock had changed", t.retaken));
    }
    found
}

fn not_checked(t: &TimingOutcome, timed: &Timed, asked: &Request) -> Vec<String> {
    let mut found = vec!["speed at other sizes, on other devices, beside other work".to_owned()];
    if let Some(bytes) = asked.repeated {
        found.push(format!("contents beyond {} MB of a buffer: they repeat from there on while timing", bytes >> 20));
    }
    if t.floor.is_none() {
        found.push(
            "whether physics allows the time: the bytes that must move, or the device's peaks, are not known".into(),
        );
    }
    if timed.answers.iter().any(|a| a.arm == CANDIDATE && a.differing.is_some_and(|d| d.is_window)) {
        found.push("answers beyond the first 128 MB that differ, of an output that differs".to_owned());
    }
    if timed.looked_at == 0 {
        found.push("answers between the samples".to_owned());
    }
    found
}

/// `cold` or `warm`.
pub fn word(cache: Cache) -> &'static str {
    match cache {
        Cache::Cold => "cold",
        Cache::Warm => "warm",
    }
}

/// Names of the arms in raw samples.
pub fn arm(index: u32) -> &'static str {
    match index {
        ORIGINAL => "original",
        CONTROL => "control",
        _ => "candidate",
    }
}
