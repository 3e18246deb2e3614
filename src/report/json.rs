//! The report as JSON; docs/schema/verify.json is its schema.

use serde_json::{Value, json};

use super::table::{counter_rows, traffic_rows};
use super::text::not_checked;
use super::{Input, Report, sentences};
use crate::contract::Cell;
use crate::gate::compare::bin_label;
use crate::gate::element::show;
use crate::gate::on_device::DeviceOutcome;
use crate::gate::{CellResult, CellVerdict, Fault, Located, OutputResult, Probed, Ran, Undefined, Verdict};

/// The whole report; `problem` turns a diagnostic into JSON.
pub fn verify(r: &Report, problem: &dyn Fn(&crate::diag::Diagnostic) -> Value) -> Value {
    let reasons = match &r.outcome.verdict {
        Verdict::Inconclusive(list) => list.clone(),
        _ => vec![],
    };
    let input = |i: &Input| json!({ "file": i.file, "kernels": i.kernels, "blake3": i.hash });
    json!({
        "schema": "kopt/verify/1",
        "verdict": r.outcome.verdict.word(),
        "sentence": sentences(r),
        "reasons": reasons,
        "tier": 1,
        "arch": r.arch,
        "toolchain": r.toolchain,
        "original": input(&r.original),
        "candidate": input(&r.candidate),
        "contract": { "origin": r.contract.1, "from": r.contract.0, "accepted": r.accepted, "launches": r.launches,
            "matched": r.matched },
        "device": r.device.map(device),
        "timing": r.timing.map(|t| t.map_or_else(|why| json!({ "not_timed": why }), super::timing::value)),
        "sanitizer": r.sanitized.map(super::sanitizer::value),
        "seed": r.seed,
        "float64_reference": r.outcome.float64_reference,
        "cells": r.outcome.cells.iter().map(cell).collect::<Vec<_>>(),
        "probes": r.outcome.probes.iter().map(probed).collect::<Vec<_>>(),
        "counters": counters(r),
        "resources": r.resources.iter().map(|(k, t)| json!({ "kernel": k, "table": t })).collect::<Vec<_>>(),
        "problems": r.problems.iter().map(problem).collect::<Vec<_>>(),
        "remarks": r.remarks,
        "not_checked": not_checked(r),
        "reproduce": r.reproduce,
    })
}

/// The part of a GPU.
fn device(d: &DeviceOutcome) -> Value {
    let reasons = match &d.verdict {
        Verdict::Inconclusive(list) => list.clone(),
        _ => vec![],
    };
    json!({
        "on": d.device, "verdict": d.verdict.word(), "reasons": reasons,
        "cells": d.cells.iter().map(cell).collect::<Vec<_>>(), "remarks": d.remarks, "left_out": d.left_out,
        "probes": d.probes.iter().map(probed).collect::<Vec<_>>(),
    })
}

fn probed(p: &Probed) -> Value {
    json!({ "output": p.output, "probe": p.probe.word(), "refused": p.refused, "tried": p.tried })
}

/// Numbers that JSON cannot hold become text.
fn number(v: f64) -> Value {
    if v.is_finite() { json!(v) } else { json!(v.to_string()) }
}

pub(super) fn cell_key(c: &Cell) -> Value {
    json!({
        "dims": c.dims, "distribution": c.distribution.word(), "seed": c.seed, "poison": c.poison, "scalars": c.scalars,
        "overlap": c.overlap, "round": c.round, "order": c.order,
    })
}

fn cell(c: &CellResult) -> Value {
    let (faults, undefined, why) = match &c.verdict {
        CellVerdict::Failed(list) => (list.iter().map(fault).collect(), vec![], None),
        CellVerdict::Undefined(list) => (vec![], list.iter().map(not_defined).collect(), None),
        CellVerdict::NotRun(why) => (vec![], vec![], Some(why)),
        CellVerdict::EqualBits | CellVerdict::WithinTolerance => (vec![], vec![], None),
    };
    json!({
        "cell": cell_key(&c.cell), "verdict": c.verdict.word(), "why": why,
        "outputs": c.outputs.iter().map(output).collect::<Vec<_>>(),
        "faults": faults, "undefined": undefined,
        "warp_instructions": { "original": c.original_steps, "candidate": c.candidate_steps },
    })
}

fn output(o: &OutputResult) -> Value {
    let bins = o.histogram.iter().enumerate().filter(|(_, n)| **n > 0);
    json!({
        "name": o.name, "dtype": o.dtype.name(), "elements": o.elements, "differing": o.differing, "outside": o.outside,
        "rms_error": number(o.rms), "max_error": number(o.max), "worst_over_allowed": number(o.worst),
        "magnitude": number(o.bound.magnitude), "allowed_rms": number(o.bound.rms()), "bound": o.bound.describe(),
        "written_by_neither": o.unwritten,
        "histogram": bins.map(|(i, n)| json!({ "error": bin_label(i), "elements": n })).collect::<Vec<_>>(),
    })
}

fn located(f: &Located) -> Value {
    let sample = |s: &crate::ptx::Sample| json!({ "block": s.block, "thread": s.thread, "address": s.address, "detail": s.detail });
    json!({
        "kind": format!("{:?}", f.kind), "kernel": f.kernel, "file": f.file, "line": f.line, "count": f.count,
        "samples": f.samples.iter().map(sample).collect::<Vec<_>>(),
    })
}

fn fault(f: &Fault) -> Value {
    match f {
        Fault::Finding(l) => json!({ "fault": "finding", "finding": located(l) }),
        Fault::Stopped(s) => json!({ "fault": "stopped", "why": s.to_string() }),
        Fault::Mismatch { output, dtype, mismatch: m, outside, elements, .. } => json!({
            "fault": "mismatch", "output": output, "index": m.index, "outside": outside, "elements": elements,
            "reference": show(*dtype, m.reference), "candidate": show(*dtype, m.candidate), "ulps": m.ulps,
            "error": number(m.error), "allowed": number(m.allowed),
        }),
        Fault::Mean { output, rms, allowed } => {
            json!({ "fault": "mean", "output": output, "rms": number(*rms), "allowed": number(*allowed) })
        }
        Fault::Unwritten { output, count, first } => {
            json!({ "fault": "unwritten", "output": output, "count": count, "first": first })
        }
        Fault::Overwrites { output, count, first } => {
            json!({ "fault": "overwrites", "output": output, "count": count, "first": first })
        }
        Fault::WritesInput { name, index } => json!({ "fault": "writes-input", "name": name, "index": index }),
        Fault::WritesGuard { name } => json!({ "fault": "writes-guard", "name": name }),
        Fault::KeepsState { symbol } => json!({ "fault": "keeps-state", "name": symbol }),
        Fault::DependsOnPoison { output, index } => {
            json!({ "fault": "depends-on-poison", "output": output, "index": index })
        }
    }
}

fn not_defined(u: &Undefined) -> Value {
    match u {
        Undefined::Finding(l) => json!({ "why": "finding", "finding": located(l) }),
        Undefined::Stopped(s) => json!({ "why": "stopped", "text": s.to_string() }),
        Undefined::WritesInput { name, index } => json!({ "why": "writes-input", "name": name, "index": index }),
        Undefined::OffReference { name, index } => json!({ "why": "off-reference", "name": name, "index": index }),
        Undefined::WritesGuard { name } => json!({ "why": "writes-guard", "name": name }),
    }
}

fn counters(r: &Report) -> Value {
    let Some(m) = &r.outcome.counters else { return Value::Null };
    let rows = counter_rows(&m.original.total, &m.candidate.total);
    let traffic = traffic_rows(&m.original, &m.candidate);
    json!({
        "estimated": true, "cell": cell_key(&m.cell),
        "rows": rows.iter().map(|w| json!({ "what": w.what, "before": w.before, "after": w.after })).collect::<Vec<_>>(),
        "unique_bytes": traffic.iter().map(|(n, t)| json!({
            "buffer": n, "read_before": t[0], "written_before": t[1], "read_after": t[2], "written_after": t[3],
        })).collect::<Vec<_>>(),
    })
}

/// One run by itself, for `kopt run`.
pub fn ran(c: &Cell, ran: &Ran) -> Value {
    let output = |o: &crate::gate::execute::Output| {
        let head =
            (0..o.elements().min(8)).map(|i| show(o.dtype, crate::gate::element::bits(o.dtype, &o.bytes, i as usize)));
        json!({
            "name": o.name, "dtype": o.dtype.name(), "elements": o.elements(),
            "blake3": blake3::hash(&o.bytes).to_hex().to_string(), "head": head.collect::<Vec<_>>(),
            "unwritten": o.count_unwritten(&(0..o.elements())),
        })
    };
    json!({
        "cell": cell_key(c), "outputs": ran.outputs.iter().map(output).collect::<Vec<_>>(),
        "findings": ran.findings.iter().map(located).collect::<Vec<_>>(), "prints": ran.prints,
        "stopped": ran.stopped.as_ref().map(ToString::to_string), "warp_instructions": ran.steps,
        "changed_inputs": ran.changed_inputs.iter().map(|(n, i)| json!({ "name": n, "index": i })).collect::<Vec<_>>(),
        "notes": ran.schedules.iter().chain(&ran.notes).collect::<Vec<_>>(),
    })
}
