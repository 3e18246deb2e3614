//! The part of `kopt verify` that runs on a GPU.

use kopt::diag::Diagnostic;
use kopt::gate::on_device::{DeviceOutcome, OnDevice, verify_on_device};
use kopt::gate::{self, CellVerdict, Outcome, Settings, Verdict};
use kopt::gpu::Memo;
use kopt::gpu::job::Job;
use kopt::report;
use kopt::source::Sources;

use super::super::device::{Device, On, missing};
use super::super::exit::{Exit, Failure};
use kopt::gate::Built;

/// Both sides on the GPU. What the original gives is remembered in `memo`.
pub fn compare(
    place: &Device,
    memo: Option<&Memo>,
    before: &Built,
    after: &Built,
    emulated: &Outcome,
    settings: &Settings,
) -> Result<DeviceOutcome, Failure> {
    let execute = place.executor()?;
    let side = |built: &'_ Built| (built.side.clone(), built.images.clone());
    let ((ours, our_images), (theirs, their_images)) = (side(before), side(after));
    let ordinal = i32::from(place.device);
    let remembered = |job: &Job, parts: &[Vec<u8>]| match memo {
        Some(memo) => memo.ask(job, parts, &execute),
        None => execute(job, parts),
    };
    let original = OnDevice { side: &ours, images: &our_images, ordinal, run: &remembered };
    let candidate = OnDevice { side: &theirs, images: &their_images, ordinal, run: &*execute };
    verify_on_device(&original, &candidate, emulated, settings).map_err(missing)
}

/// What the GPU showed to be wrong: in the original, and in the candidate.
pub fn problems(seen: &DeviceOutcome, original: &Sources, candidate: &Sources) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
    let on = |mut d: Diagnostic| {
        d.message = format!("on the GPU: {}", d.message);
        d
    };
    let mut ours: Vec<Diagnostic> = vec![];
    for c in &seen.cells {
        let CellVerdict::Undefined(list) = &c.verdict else { continue };
        for d in list.iter().map(|u| on(report::undefined(original, &c.cell, u))) {
            if !ours.iter().any(|o| o.message == d.message) {
                ours.push(d);
            }
        }
    }
    let faults = gate::faults(&seen.cells).into_iter();
    (ours, faults.map(|(cell, f)| on(report::fault(candidate, cell, f))).collect())
}

/// How the command ends. An interpreter that could run no cell at all is a tier that is not there.
pub fn exit(emulated: &Outcome, seen: Option<&DeviceOutcome>) -> Exit {
    let of = |v: &Verdict| match v {
        Verdict::EqualBits { .. } | Verdict::WithinTolerance { .. } => Exit::Done,
        Verdict::Failed => Exit::Verification,
        Verdict::Inconclusive(_) => Exit::Inconclusive,
    };
    let Some(seen) = seen else { return of(&emulated.verdict) };
    let ran = emulated.cells.iter().any(|c| !matches!(c.verdict, CellVerdict::NotRun(_)));
    match (of(&emulated.verdict), of(&seen.verdict)) {
        (Exit::Verification, _) | (_, Exit::Verification) => Exit::Verification,
        (Exit::Inconclusive, there) if !ran => there,
        (Exit::Done, there) => there,
        (here, _) => here,
    }
}

/// What is worth saying of the runs on the GPU.
pub fn remarks(seen: Option<&DeviceOutcome>) -> Vec<String> {
    seen.iter().flat_map(|d| &d.remarks).map(|r| format!("on the GPU: {r}")).collect()
}

/// That a tier was not asked, or cannot be.
pub fn not_run(on: On, seen: Option<&DeviceOutcome>, machine_code: bool) -> Option<String> {
    match (on, seen) {
        _ if machine_code => {
            Some("races, bounds, undefined reads: the interpreter (tier 1) does not read machine code".to_owned())
        }
        (On::Gpu, _) => Some("races, bounds, undefined reads: the interpreter (tier 1) was not asked".to_owned()),
        (On::Both, None) => Some("the GPU (tier 3): not run, the interpreter refused the candidate".to_owned()),
        _ => None,
    }
}

/// The outcome of an interpreter that was not asked.
pub fn not_asked() -> Outcome {
    Outcome {
        verdict: Verdict::Inconclusive(vec!["the interpreter was not asked".to_owned()]),
        cells: vec![],
        left_out: vec![],
        probes: vec![],
        remarks: vec![],
        counters: None,
        float64_reference: false,
        poison_pairs: 0,
    }
}
