//! Two sides that are ready to be compared, wherever they came from, and what came of it.

use kopt::compile::{BlockShape, Comparison, compare};
use kopt::contract::Plan;
use kopt::diag::{Code, Diagnostic, render};
use kopt::gate::on_device::DeviceOutcome;
use kopt::gate::sanitize::Sanitized;
use kopt::gate::timing::TimingOutcome;
use kopt::gate::{self, Built, CellVerdict, Oracle, Outcome, Settings, Side, Verdict};
use kopt::gpu::Memo;
use kopt::report::{self, Input, Report};
use kopt::source::Sources;
use serde_json::Value;

use super::super::device::{Device, On};
use super::super::exit::{Exit, Failure};
use super::super::{json, sanitize};
use super::{device, timing};

/// One side with the texts that it speaks of.
#[derive(Clone)]
pub struct Subject {
    pub built: Built,
    pub sources: Sources,
    pub input: Input,
}

/// Both sides under one contract.
#[derive(Clone)]
pub struct Pair {
    pub original: Subject,
    pub candidate: Subject,
    /// Where the contract came from, in words, and as one word.
    pub contract: (String, String),
    /// Guesses in the contract that the user took for granted.
    pub accepted: Vec<String>,
    /// Where the candidate's launches came from.
    pub launches: String,
    /// How kernels, arguments and sizes were matched where names do not say it.
    pub matched: Vec<String>,
    /// The command that gives the report again.
    pub command: String,
}

/// Where and how much is run.
pub struct How<'a> {
    pub on: On,
    pub place: &'a Device,
    pub timing: &'a timing::Timing,
    /// Whether compute-sanitizer watches both on the GPU.
    pub sanitize: bool,
    pub settings: Settings,
    /// What originals gave on a GPU, where several candidates have the same.
    pub memo: Option<&'a Memo>,
}

/// What the interpreter said.
pub struct Emulated {
    pub outcome: Outcome,
    /// What it knows of the original alone, where it cannot run the candidate: cells in which the original is not defined,
    /// and how far outputs may be off.
    alone: Option<Outcome>,
}

impl Emulated {
    fn known(&self) -> &Outcome {
        self.alone.as_ref().unwrap_or(&self.outcome)
    }
}

/// Everything that was seen of a pair.
pub struct Judged {
    pub emulated: Emulated,
    pub seen: Option<DeviceOutcome>,
    /// What compute-sanitizer saw, where it was asked.
    pub sanitized: Option<Sanitized>,
    /// Times, or why there are none, where they were asked for.
    pub measured: Option<Result<TimingOutcome, String>>,
    /// What is wrong with the original, and with the candidate.
    ours: Vec<Diagnostic>,
    theirs: Vec<Diagnostic>,
}

impl Pair {
    fn is_interpretable(&self) -> bool {
        self.original.built.is_interpretable() && self.candidate.built.is_interpretable()
    }

    /// The part that needs no GPU.
    ///
    /// # Errors
    /// Only the interpreter was asked, and it cannot run a side.
    pub fn emulate(&self, how: &How, oracle: Option<&dyn Oracle>) -> Result<Emulated, Failure> {
        let (before, after) = (&self.original.built, &self.candidate.built);
        match how.on {
            On::Emulator if !self.is_interpretable() => {
                let message = "machine code runs on a GPU, and the interpreter was asked".to_owned();
                let d = Diagnostic::error(Code(660), message).next("kopt verify --on gpu; or give CUDA or PTX files");
                Err(Failure::new(Exit::Usage, d))
            }
            On::Emulator | On::Both if self.is_interpretable() => {
                let outcome = gate::verify_against(&before.side, &after.side, &how.settings, oracle);
                Ok(Emulated { outcome, alone: None })
            }
            _ => {
                let knows = before.is_interpretable() && !after.is_interpretable();
                let alone = knows.then(|| gate::verify_pair(&before.side, &before.side, &how.settings));
                Ok(Emulated { outcome: device::not_asked(), alone })
            }
        }
    }

    /// The part that needs a GPU, as far as one was asked.
    ///
    /// # Errors
    /// There is none, or it does not answer.
    pub fn finish(&self, how: &How, emulated: Emulated) -> Result<Judged, Failure> {
        let (before, after) = (&self.original.built, &self.candidate.built);
        let (outcome, known) = (&emulated.outcome, emulated.known());
        let asked = how.on != On::Emulator && outcome.verdict != Verdict::Failed;
        let compared =
            asked.then(|| device::compare(how.place, how.memo, before, after, known, &how.settings)).transpose()?;
        // What the interpreter refused is not run on the GPU.
        let watch = || sanitize::both(how.place, before, after, &how.settings);
        let sanitized = (how.sanitize && compared.is_some()).then(watch).transpose()?;
        let measure = || how.timing.measure(how.place, (before, after), known, compared.as_ref(), &how.settings);
        let measured = how.timing.time.then(measure).transpose()?;
        let mut judged = Judged { emulated, seen: compared, sanitized, measured, ours: vec![], theirs: vec![] };
        (judged.ours, judged.theirs) = self.problems(&judged);
        Ok(judged)
    }

    /// Findings in the original, and faults of the candidate, each once.
    fn problems(&self, judged: &Judged) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
        let (original, candidate) = (&self.original.sources, &self.candidate.sources);
        let (mut ours, mut theirs) = emulated_problems(&judged.emulated.outcome, original, candidate);
        let seen = judged.seen.iter().map(|s| device::problems(s, original, candidate));
        let watched = judged.sanitized.iter().map(|s| report::sanitizer::problems(s, original, candidate));
        for (a, b) in seen.chain(watched) {
            ours.extend(a);
            theirs.extend(b);
        }
        theirs.extend(timing::problems(judged.timed(), candidate));
        (ours, theirs)
    }
}

impl Judged {
    pub fn report<'a>(&'a self, pair: &'a Pair, how: &How) -> Report<'a> {
        let (before, after) = (&pair.original.built, &pair.candidate.built);
        let outcome = &self.emulated.outcome;
        let timed = self.timed();
        let machine_code = !pair.is_interpretable();
        let not_run = device::not_run(how.on, self.seen.as_ref(), machine_code);
        Report {
            original: pair.original.input.clone(),
            candidate: pair.candidate.input.clone(),
            arch: before.side.arch.clone(),
            toolchain: before.toolchain.clone(),
            contract: pair.contract.clone(),
            accepted: pair.accepted.clone(),
            launches: pair.launches.clone(),
            matched: pair.matched.clone(),
            outcome,
            device: self.seen.as_ref(),
            sanitized: self.sanitized.as_ref(),
            roofline: timed.map(|t| how.timing.roofline(how.place, t, self.emulated.known())),
            timing: self.measured.as_ref().map(|m| m.as_ref().map_err(String::as_str)),
            resources: resources(&before.side, &after.side),
            problems: self.ours.iter().chain(&self.theirs).cloned().collect(),
            not_checked: not_run.into_iter().chain(not_checked(before, how, machine_code)).collect(),
            remarks: remarks(outcome, before, after)
                .into_iter()
                .chain(device::remarks(self.seen.as_ref()))
                .chain(timed.iter().flat_map(|t| t.remarks.clone()))
                .collect(),
            reproduce: pair.command.clone(),
            seed: how.settings.seed,
        }
    }

    /// The page of a report.
    pub fn page(&self, pair: &Pair, report: &Report) -> String {
        let shown: Vec<String> = self.diagnostics(pair).map(|(s, d)| rendered(s, d)).collect();
        report::html(report, &shown)
    }

    pub fn json(&self, pair: &Pair, report: &Report) -> Value {
        let count = self.ours.len();
        let position = std::cell::Cell::new(0usize);
        report::json(report, &|d| {
            let n = position.replace(position.get() + 1);
            json::diagnostic(if n < count { &pair.original.sources } else { &pair.candidate.sources }, d)
        })
    }

    /// What is wrong, with the texts that each speaks of.
    pub fn diagnostics<'a>(&'a self, pair: &'a Pair) -> impl Iterator<Item = (&'a Sources, &'a Diagnostic)> {
        let of = |s: &'a Sources, list: &'a [Diagnostic]| list.iter().map(move |d| (s, d));
        of(&pair.original.sources, &self.ours).chain(of(&pair.candidate.sources, &self.theirs))
    }

    fn timed(&self) -> Option<&TimingOutcome> {
        self.measured.as_ref().and_then(|m| m.as_ref().ok())
    }

    pub fn exit(&self) -> Exit {
        let compared = device::exit(&self.emulated.outcome, self.seen.as_ref());
        timing::exit(sanitize::exit(compared, self.sanitized.as_ref()), self.measured.as_ref())
    }
}

fn rendered(sources: &Sources, d: &Diagnostic) -> String {
    render::render(sources, d, false).trim_end().to_owned()
}

fn emulated_problems(outcome: &Outcome, original: &Sources, candidate: &Sources) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
    let mut ours: Vec<Diagnostic> = vec![];
    for c in &outcome.cells {
        let CellVerdict::Undefined(list) = &c.verdict else { continue };
        for u in list {
            let d = report::undefined(original, &c.cell, u);
            // The same line in another cell says nothing new.
            let same = |o: &Diagnostic| o.primary() == d.primary() && (d.primary().is_some() || o.message == d.message);
            if !ours.iter().any(same) {
                ours.push(d);
            }
        }
    }
    let faults = gate::faults(&outcome.cells);
    let theirs = faults.into_iter().map(|(cell, f)| report::fault(candidate, cell, f)).collect();
    (ours, theirs)
}

fn resources(a: &Side, b: &Side) -> Vec<(String, Comparison)> {
    let shape = |p: &Plan, name: &gate::KernelKey| -> BlockShape {
        let l = p.launches().find(|l| gate::KernelKey::of_launch(l) == *name);
        let value = |e: &kopt::contract::Expr| e.eval(&|n| p.dim(n).and_then(|d| d.samples.first().copied())).ok();
        let threads = l.map(|l| l.block.iter().filter_map(value).product::<i64>()).unwrap_or(0);
        let shared = l.and_then(|l| l.shared.as_ref().and_then(value)).unwrap_or(0);
        let narrow = |v: i64| u32::try_from(v).unwrap_or(0);
        BlockShape { threads: narrow(threads), dynamic_shared: narrow(shared) }
    };
    let (first, second): (Vec<_>, Vec<_>) = (a.resources.iter().collect(), b.resources.iter().collect());
    let pair = |(k, x): &(&gate::KernelKey, &kopt::compile::KernelResources)| {
        let same = second.iter().find(|(o, _)| o.name == k.name);
        let (o, y) = same.or(if first.len() == 1 && second.len() == 1 { second.first() } else { None })?;
        let title = if o.name == k.name { k.to_string() } else { format!("{k} -> {o}") };
        Some((title, compare(&a.arch, (x, shape(&a.plan, k)), (y, shape(&b.plan, o)))))
    };
    first.iter().filter_map(pair).collect()
}

/// What the interpreter does not see, whatever runs in it; docs/verify.md says more of each.
const BLIND: &[&str] = &[
    "most orders of blocks, warps and atomics: three were run, on the sample",
    "buffers that overlap where `alias` does not say so; scalar arguments other than the contract's value and `legal`",
    "NaN, infinities, large floats and large integers where neither `legal` nor `nan` and `infinite` admit them",
];

fn not_checked(before: &Built, how: &How, machine_code: bool) -> Vec<String> {
    let settings = &how.settings;
    let untimed = "timing: nothing here says which of the two is the faster (--time, on a GPU)";
    let mut found = if how.timing.time { vec![] } else { vec![untimed.to_owned()] };
    let interpreted = if machine_code { "" } else { ", and machine code: PTX was interpreted" };
    found.push(format!("other architectures than {}{interpreted}", before.side.arch));
    if before.side.plan.dims.is_empty() {
        found.insert(0, "any other size: the contract has no dims, so that every size is as it stands there".into());
    }
    let most = settings.max_bytes.unwrap_or(0) >> 20;
    found.push(format!("sizes with more than {most} MB of buffers or {} M warp instructions", settings.steps >> 20));
    if !settings.thorough {
        found.push("sizes and contents in other combinations (--thorough)".into());
    }
    found.extend(BLIND.iter().map(|text| (*text).to_owned()));
    found
}

fn remarks(outcome: &Outcome, before: &Built, after: &Built) -> Vec<String> {
    let mut found = outcome.remarks.clone();
    let of = |who: &str, b: &Built| b.notes.iter().map(|n| format!("{who}: {n}")).collect::<Vec<_>>();
    found.extend(of("original", before).into_iter().chain(of("candidate", after)));
    let new: Vec<&str> =
        after.approximate.iter().filter(|a| !before.approximate.contains(a)).map(String::as_str).collect();
    if !new.is_empty() && !before.side.plan.permissions.approximate {
        found.push(format!(
            "the candidate uses approximate instructions that the original does not: {}",
            new.join(", ")
        ));
    }
    if after.side.arithmetic > before.side.arithmetic {
        found.push("the candidate computes in a lower precision than the original".into());
    }
    found
}
