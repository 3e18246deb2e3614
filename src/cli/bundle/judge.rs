//! `kopt gate run`: judges the cases of a bundle with nothing but kopt, on as many GPUs as there are.

use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, ValueEnum};
use kopt::bundle::{Bundle, Case, Side, unpack};
use kopt::gpu::{Gpu, Memo};
use serde_json::{Value, json};

use super::super::device::{Device, On, missing};
use super::super::exit::{Exit, Failure};
use super::super::options::Global;
use super::super::printer::Printer;
use super::super::verify::pair::Emulated;
use super::super::verify::{How, Pair, Running, Subject, timing};
use super::super::write;
use super::result::{Outcome, SCHEMA, Settings, word};
use super::{queue, read, refused};

#[derive(ClapArgs, Clone)]
pub struct Judge {
    /// What `kopt gate bundle` made
    #[arg(value_name = "BUNDLE")]
    bundle: PathBuf,
    /// Where the results go; without it, beside the bundle
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Where they are run
    #[arg(long, value_enum, default_value = "both", value_name = "WHERE")]
    on: On,
    /// The GPUs, by their ordinals; without it all of them
    #[arg(long, value_name = "N", value_delimiter = ',')]
    devices: Vec<u16>,
    /// How long a run on a GPU may take, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    gpu_limit: u64,
    #[command(flatten)]
    timing: timing::Timing,
    /// Watch both with compute-sanitizer on the GPU
    #[arg(long)]
    sanitize: bool,
    /// Every size with every distribution, both poisons and two seeds
    #[arg(long)]
    thorough: bool,
    /// Seeds and odd sizes follow from it
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Warp instructions of one cell, in millions
    #[arg(long, value_name = "N", default_value_t = 4)]
    budget: u64,
    /// Judge again what has a result
    #[arg(long)]
    again: bool,
    /// Write the page of each report as well
    #[arg(long)]
    html: bool,
}

/// Bytes that originals gave, and that are kept for their next candidates.
const MEMO: usize = 1 << 30;

/// A GPU that judges.
struct Lane {
    place: Device,
    /// The architecture that cases are unpacked for.
    arch: String,
}

pub fn run(args: &Judge, _: &Global, printer: &mut Printer) -> Result<Exit, Failure> {
    let bundle = read(&args.bundle)?;
    let folder = args.out.clone().unwrap_or_else(|| args.bundle.with_extension("results"));
    std::fs::create_dir_all(&folder).map_err(|e| write::cannot(&folder, &e))?;
    let settings = args.settings();
    let lanes = args.lanes(&bundle)?;
    let cases = &bundle.manifest.cases;
    let mut outcomes: Vec<Option<Outcome>> =
        cases.iter().map(|c| if args.again { None } else { Outcome::earlier(&folder, c, &settings) }).collect();
    let there = outcomes.iter().flatten().count();
    if there > 0 {
        printer.line(format!("{there} of {} have a result from before, in {}", cases.len(), folder.display()))?;
    }
    let open: Vec<(usize, &Case)> =
        cases.iter().enumerate().filter(|(n, _)| matches!(outcomes.get(*n), Some(None))).collect();
    let judge = Judging { args, bundle: &bundle, settings: &settings, folder: &folder, memo: Memo::new(MEMO) };
    let mut trouble: Option<Failure> = None;
    queue::run(
        &open,
        (ahead(lanes.len()), &lanes),
        |(_, case)| judge.before(case, &lanes),
        |lane, (_, case), ready| judge.after(lane, case, ready),
        |n, outcome| {
            let Some((position, _)) = open.get(n) else { return };
            // What is done stays done, however this run ends.
            let written = outcome.write(&folder).and_then(|()| printer.line(outcome.line()));
            trouble = trouble.take().or(written.err());
            if let Some(slot) = outcomes.get_mut(*position) {
                *slot = Some(outcome);
            }
        },
    );
    if let Some(trouble) = trouble {
        return Err(trouble);
    }
    let outcomes: Vec<Outcome> = outcomes.into_iter().flatten().collect();
    summary(&outcomes, printer)?;
    printer.line(format!("results    {}", folder.display()))?;
    printer.line(format!("next       where the sources are: kopt gate ingest {}", folder.display()))?;
    printer.json(&document(&outcomes, args, &folder))?;
    Ok(exit(&outcomes))
}

/// Threads that interpret ahead of so many GPUs; a GPU's process needs a processor of its own to time well.
fn ahead(lanes: usize) -> usize {
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    (all.saturating_sub(2 * lanes) / 4).clamp(1, 4)
}

impl Judge {
    fn settings(&self) -> Settings {
        let on = self.on().to_possible_value().map_or_else(String::new, |v| v.get_name().to_owned());
        let t = &self.timing;
        Settings {
            on,
            seed: self.seed,
            thorough: self.thorough,
            budget: self.budget,
            time: t.time,
            sanitize: self.sanitize,
            dims: t.dims.clone(),
            rounds: t.rounds,
            samples: t.samples,
        }
    }

    fn on(&self) -> On {
        let needs_gpu = self.timing.time || self.sanitize;
        if needs_gpu && self.on == On::Emulator { On::Both } else { self.on }
    }

    /// The GPUs; without any, one lane that only interprets.
    fn lanes(&self, bundle: &Bundle) -> Result<Vec<Lane>, Failure> {
        let place = |device: u16| Device { device, gpu_limit: self.gpu_limit };
        if self.on() == On::Emulator {
            let arch = bundle.manifest.cases.first().and_then(|c| c.original.builds.first());
            return Ok(vec![Lane { place: place(0), arch: arch.map_or_else(String::new, |b| b.arch.clone()) }]);
        }
        let found = kopt::gpu::find();
        let Gpu::Found { devices, .. } = &found else { return Err(missing(found.to_string())) };
        let all: Vec<u16> = (0..u16::try_from(devices.len()).unwrap_or(u16::MAX)).collect();
        let chosen = if self.devices.is_empty() { all } else { self.devices.clone() };
        let lane = |n: u16| match devices.get(usize::from(n)) {
            Some(d) => Ok(Lane { place: place(n), arch: d.arch.clone() }),
            None => Err(missing(format!("there is no device {n}: {found}"))),
        };
        chosen.into_iter().map(lane).collect()
    }
}

struct Judging<'a> {
    args: &'a Judge,
    bundle: &'a Bundle,
    settings: &'a Settings,
    folder: &'a Path,
    memo: Memo,
}

/// A case that was interpreted.
struct Ready {
    pair: Pair,
    emulated: Emulated,
    arch: String,
}

impl Judging<'_> {
    fn how<'b>(&'b self, place: &'b Device) -> How<'b> {
        let running = Running {
            seed: self.args.seed,
            thorough: self.args.thorough,
            budget: self.args.budget,
            ..Running::default()
        };
        let (timing, settings) = (&self.args.timing, running.settings());
        How { on: self.args.on(), place, timing, sanitize: self.args.sanitize, settings, memo: Some(&self.memo) }
    }

    /// Unpacks and interprets, for the first of the GPUs; most machines have equal ones.
    fn before(&self, case: &Case, lanes: &[Lane]) -> Result<Ready, Outcome> {
        let lane = lanes.first().ok_or_else(|| self.not_judged(case, "there is no GPU".to_owned()))?;
        self.ready(case, lane).map_err(|f| self.not_judged(case, said(&f)))
    }

    fn ready(&self, case: &Case, lane: &Lane) -> Result<Ready, Failure> {
        let pair = self.pair(case, &lane.arch)?;
        let emulated = pair.emulate(&self.how(&lane.place), None)?;
        Ok(Ready { pair, emulated, arch: lane.arch.clone() })
    }

    fn pair(&self, case: &Case, arch: &str) -> Result<Pair, Failure> {
        let subject = |side: &Side| -> Result<Subject, Failure> {
            let u = unpack(self.bundle, side, arch).map_err(|e| refused(&self.args.bundle, &e))?;
            Ok(Subject { built: u.built, sources: u.sources, input: u.input })
        };
        Ok(Pair {
            original: subject(&case.original)?,
            candidate: subject(&case.candidate)?,
            contract: case.contract.clone(),
            accepted: case.accepted.clone(),
            launches: case.launches.clone(),
            matched: case.matched.clone(),
            command: case.command.clone(),
        })
    }

    fn after(&self, lane: &Lane, case: &Case, ready: Ready) -> Outcome {
        // Another kind of GPU has another program.
        let ready = if ready.arch == lane.arch { Ok(ready) } else { self.ready(case, lane) };
        let how = self.how(&lane.place);
        let judged = ready.and_then(|r| {
            let judged = r.pair.finish(&how, r.emulated)?;
            Ok((r.pair, judged))
        });
        let (pair, judged) = match judged {
            Ok(found) => found,
            Err(failure) => return self.not_judged(case, said(&failure)),
        };
        let report = judged.report(&pair, &how);
        let json = judged.json(&pair, &report);
        if self.args.html {
            let path = self.folder.join(format!("{}.html", case.name));
            if let Err(failure) = write::atomically(&path, judged.page(&pair, &report).as_bytes()) {
                return self.not_judged(case, said(&failure));
            }
        }
        let exit = judged.exit();
        Outcome { exit: exit as u8, word: word(exit, &json), report: Some(json), ..self.unknown(case) }
    }

    fn not_judged(&self, case: &Case, why: String) -> Outcome {
        Outcome { not_judged: Some(why), ..self.unknown(case) }
    }

    fn unknown(&self, case: &Case) -> Outcome {
        Outcome {
            schema: SCHEMA.to_owned(),
            kopt: env!("CARGO_PKG_VERSION").to_owned(),
            case: case.clone(),
            settings: self.settings.clone(),
            exit: Exit::TierMissing as u8,
            word: "not judged".to_owned(),
            not_judged: None,
            report: None,
        }
    }
}

/// A failure in a sentence.
fn said(failure: &Failure) -> String {
    match failure {
        Failure::Quiet => "the output went away".to_owned(),
        Failure::Said { problems, .. } => problems.iter().map(|d| d.message.as_str()).collect::<Vec<_>>().join("; "),
    }
}

pub(super) fn summary(outcomes: &[Outcome], printer: &mut Printer) -> Result<(), Failure> {
    let mut counts: std::collections::BTreeMap<&str, usize> = std::collections::BTreeMap::new();
    for o in outcomes {
        *counts.entry(o.word.as_str()).or_default() += 1;
    }
    let list: Vec<String> = counts.iter().map(|(word, n)| format!("{n} {word}")).collect();
    printer.line(format!("\n{} cases: {}", outcomes.len(), list.join(", ")))
}

pub(super) fn cases_json(outcomes: &[Outcome]) -> Vec<Value> {
    let one = |o: &Outcome| {
        json!({
            "name": o.case.name, "id": o.case.id, "file": o.case.candidate.file, "word": o.word, "exit": o.exit,
            "not_judged": o.not_judged,
        })
    };
    outcomes.iter().map(one).collect()
}

fn document(outcomes: &[Outcome], args: &Judge, folder: &Path) -> Value {
    json!({
        "schema": "kopt/gate-run/1", "bundle": args.bundle, "results": folder, "settings": args.settings(),
        "cases": cases_json(outcomes),
    })
}

/// The worst of all: a wrong candidate, else one that was not judged, else one of which nothing could be said.
pub(super) fn exit(outcomes: &[Outcome]) -> Exit {
    let any = |e: Exit| outcomes.iter().any(|o| o.exit == e as u8);
    let order = [Exit::Verification, Exit::TierMissing, Exit::Inconclusive, Exit::Findings];
    order.into_iter().find(|e| any(*e)).unwrap_or(Exit::Done)
}
