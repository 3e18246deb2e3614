//! The part of `kopt verify` that times both versions on a GPU.

use clap::Args as ClapArgs;
use kopt::contract::{Cell, Distribution, Plan};
use kopt::diag::Diagnostic;
use kopt::gate::on_device::{DeviceOutcome, OnDevice};
use kopt::gate::timing::stats::Speed;
use kopt::gate::timing::{TimingOutcome, time_pair};
use kopt::gate::{Fault, Outcome, Settings, Verdict};
use kopt::gpu::timing::Policy;
use kopt::report;
use kopt::source::Sources;

use super::super::device::Device;
use super::super::exit::{Exit, Failure};
use super::super::run::{dim, unknown_dim};
use kopt::gate::Built;

/// Whether and how both are timed.
#[derive(ClapArgs, Clone)]
pub struct Timing {
    /// Time both on the GPU, where both compute the same there
    #[arg(long)]
    pub time: bool,
    /// A size at which they are timed, such as n=1000000; without it the largest sample of the contract
    #[arg(long = "dim", value_name = "NAME=VALUE", value_parser = dim, requires = "time")]
    pub dims: Vec<(String, i64)>,
    /// Rounds of samples
    #[arg(long, value_name = "N", default_value_t = 3, requires = "time")]
    pub rounds: u32,
    /// Samples of each version in a round
    #[arg(long, value_name = "N", default_value_t = 50, requires = "time")]
    pub samples: u32,
}

impl Timing {
    fn policy(&self, seed: u64) -> Policy {
        let (rounds, samples) = (self.rounds.clamp(1, 1000), self.samples.clamp(1, 10_000));
        Policy { rounds, samples, seed, ..Policy::default() }
    }

    /// Both versions in turns; or why not.
    pub fn measure(
        &self,
        place: &Device,
        (before, after): (&Built, &Built),
        emulated: &Outcome,
        seen: Option<&DeviceOutcome>,
        settings: &Settings,
    ) -> Result<Result<TimingOutcome, String>, Failure> {
        let passes = |v: &Verdict| matches!(v, Verdict::EqualBits { .. } | Verdict::WithinTolerance { .. });
        if !seen.is_some_and(|s| passes(&s.verdict)) {
            return Ok(Err("the two do not compute the same on the GPU, as far as was seen".to_owned()));
        }
        let cell = self.cell(&before.side.plan, settings.seed)?;
        let execute = place.executor()?;
        let stopwatch = place.stopwatch()?;
        let peaks = place.peaks();
        let ordinal = i32::from(place.device);
        let original = OnDevice { side: &before.side, images: &before.images, ordinal, run: &*execute };
        let candidate = OnDevice { side: &after.side, images: &after.images, ordinal, run: &*execute };
        let sides = (&original, &candidate);
        let policy = self.policy(settings.seed);
        Ok(time_pair(sides, &cell, emulated, (settings, policy), peaks.as_ref().ok(), &*stopwatch).map(|mut t| {
            t.remarks.extend(peaks.err().map(|why| format!("peaks were not measured: {why}")));
            t
        }))
    }

    /// Both under the roofs that were measured on the device.
    pub fn roofline(
        &self,
        place: &Device,
        timed: &TimingOutcome,
        emulated: &Outcome,
    ) -> Result<report::Roofline, String> {
        report::Roofline::new(&place.peaks()?, timed, emulated)
    }

    /// Both versions once at one size, however large, and no times.
    pub fn at_size(
        place: &Device,
        (before, after): (&Built, &Built),
        (name, size): (&str, i64),
        settings: &Settings,
    ) -> Result<Result<Vec<Fault>, String>, Failure> {
        let once = Timing { time: true, dims: vec![(name.to_owned(), size)], rounds: 0, samples: 0 };
        let cell = once.cell(&before.side.plan, settings.seed)?;
        let (execute, stopwatch) = (place.executor()?, place.stopwatch()?);
        let ordinal = i32::from(place.device);
        let original = OnDevice { side: &before.side, images: &before.images, ordinal, run: &*execute };
        let candidate = OnDevice { side: &after.side, images: &after.images, ordinal, run: &*execute };
        let policy = Policy { rounds: 0, sets: 1, ..Policy::default() };
        let emulated = super::device::not_asked();
        let found = time_pair((&original, &candidate), &cell, &emulated, (settings, policy), None, &*stopwatch);
        Ok(found.map(|f| f.faults))
    }

    /// The largest samples that go together, with the sizes that were asked for.
    fn cell(&self, plan: &Plan, seed: u64) -> Result<Cell, Failure> {
        let sizes = |largest: bool| {
            let of = |samples: &[i64]| if largest { samples.iter().max().copied() } else { samples.first().copied() };
            plan.dims.iter().filter_map(|d| Some((d.name.clone(), of(&d.samples)?))).collect()
        };
        let mut cell = Cell::new(sizes(true), Distribution::Normal, seed.wrapping_mul(1000).wrapping_add(500));
        if plan.concrete(&cell).is_err() {
            cell.dims = sizes(false);
        }
        for (name, value) in &self.dims {
            if plan.dim(name).is_none() {
                return Err(unknown_dim(plan, name));
            }
            cell.dims.insert(name.clone(), *value);
        }
        Ok(cell)
    }
}

/// What was wrong while it was timed.
pub fn problems(timed: Option<&TimingOutcome>, candidate: &Sources) -> Vec<Diagnostic> {
    let Some(t) = timed else { return vec![] };
    let say = |f| {
        let mut d = report::fault(candidate, &t.cell, f);
        d.message = format!("while it was timed: {}", d.message);
        d
    };
    t.faults.iter().map(say).collect()
}

/// How the command ends: what was wrong while timing is wrong, and a slower candidate is a finding.
pub fn exit(verified: Exit, timed: Option<&Result<TimingOutcome, String>>) -> Exit {
    match timed {
        Some(Ok(t)) if !t.faults.is_empty() => Exit::Verification,
        _ if verified != Exit::Done => verified,
        Some(Err(_)) => Exit::Inconclusive,
        Some(Ok(t)) => match t.speed {
            Speed::Slower => Exit::Findings,
            Speed::Inconclusive(_) => Exit::Inconclusive,
            Speed::Improved | Speed::Equivalent => Exit::Done,
        },
        None => verified,
    }
}
