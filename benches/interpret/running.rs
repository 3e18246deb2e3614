//! The kernels of one folder under the contracts that its host code shows.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use kopt::contract::{OpenKind, Plan, Sampling, cells};
use kopt::facts::{Macros, macros_of};
use kopt::gate::{Settings, Side, Stopped, execute, shrink, starts, symbols};
use kopt::infer::{Inferred, MAX_PLANS, infer, matching};
use kopt::ir::{FunctionRef, Program as Units};
use kopt::project::{self, Options, Project};
use kopt::ptx::Program;
use kopt::source::FileId;
use kopt::syntax::cuda::parse_unit;
use rayon::prelude::*;

use super::record::Record;
use super::repository::{At, Repository};

/// Files that are looked through together, with the headers that they reach.
struct Host {
    project: Project,
    program: Units,
    macros: Vec<Macros>,
    /// By file: what its kernels' contracts are, found once for all of them.
    inferred: Mutex<HashMap<FileId, Arc<OnceLock<Inferred>>>>,
}

impl Host {
    fn read(files: &[PathBuf]) -> Host {
        let project = project::load(files, &Options::default());
        let ids: Vec<_> = project.files.iter().map(|f| f.id).collect();
        let units = ids.par_iter().map(|id| parse_unit(*id, project.sources.get(*id), &project.macros)).collect();
        let program = Units { units, complete: false };
        let macros = macros_of(&program, &project.sources);
        Host { project, program, macros, inferred: Mutex::default() }
    }

    fn inferred(&self, file: FileId) -> Arc<OnceLock<Inferred>> {
        let cell = self.inferred.lock().unwrap_or_else(PoisonError::into_inner).entry(file).or_default().clone();
        cell.get_or_init(|| infer(&self.program, &self.project.sources, &self.macros, &[file], None));
        cell
    }

    fn at(&self, k: FunctionRef) -> At {
        let span = self.program.function(k).name_span;
        (PathBuf::from(&self.project.sources.get(span.file).name), span.start)
    }
}

/// The records of the kernels of a folder, each given to `tell` as soon as it is there.
pub fn group(
    repository: &Repository,
    files: &[PathBuf],
    kernels: &[FunctionRef],
    steps: u64,
    until: Option<Instant>,
    wanted: &(dyn Fn(&Record) -> bool + Sync),
    tell: &(dyn Fn(&Record) + Sync),
) -> Vec<Record> {
    let host = OnceLock::new();
    let one = |k: &FunctionRef| {
        let function = repository.program.function(*k);
        let mut record = Record {
            repository: repository.name.clone(),
            file: repository.shown(&repository.at(*k).0),
            kernel: function.qualified.clone(),
            line: repository.line(*k),
            ..Record::default()
        };
        if !wanted(&record) {
            return None;
        }
        if until.is_some_and(|u| Instant::now() > u) {
            record.why = "not looked at: no time was left".into();
            return Some(record);
        }
        // A fault of kopt on one kernel says nothing about the others.
        let done = catch_unwind(AssertUnwindSafe(|| {
            let host = host.get_or_init(|| Host::read(files));
            kernel(repository, host, *k, steps, &mut record);
        }));
        if done.is_err() {
            record.why = "kopt broke off".into();
        }
        tell(&record);
        Some(record)
    };
    kernels.par_iter().filter_map(one).collect()
}

fn kernel(repository: &Repository, host: &Host, k: FunctionRef, steps: u64, record: &mut Record) {
    let made = repository.made(k);
    let Some(made) = made.get() else { return };
    (record.compiled, record.parsed) = (made.compiled, made.parsed);
    record.decoded = !made.instances.is_empty();
    record.why.clone_from(&made.why);
    if !record.decoded {
        return;
    }
    let at = repository.at(k);
    let Some(own) = host.program.kernels().into_iter().find(|o| host.at(*o) == at) else {
        record.why = "its host code was not found".into();
        return;
    };
    let name = host.program.function(own).qualified.clone();
    let file = host.program.unit(own.unit).file;
    let all = host.inferred(file);
    let one;
    let found = match all.get() {
        Some(found) if found.contract.plans.len() < MAX_PLANS => found,
        // Of so many plans some were left out.
        _ => {
            one = infer(&host.program, &host.project.sources, &host.macros, &[file], Some(&name));
            &one
        }
    };
    let span = host.program.function(own).name_span;
    let report = found.kernels.iter().filter(|r| r.span == span);
    let Some(report) = report.min_by_key(|r| r.open.len() + r.proposed.len()) else { return };
    record.launched = report.launched;
    let Some(plan) = found.contract.plans.iter().find(|p| Some(&p.name) == report.plan.as_ref()) else {
        record.why = "no plan".into();
        return;
    };
    record.questions = plan.open().iter().map(|o| format!("{}: {}: {}", o.table, o.field, o.question)).collect();
    record.questions.extend(notes(plan));
    record.guessed = !report.is_complete();
    if record.guessed {
        record.why = if report.launched { asked(plan) } else { "no launch in view".into() };
        if !report.launched || plan.open().iter().any(|o| o.kind == OpenKind::Missing) {
            return;
        }
    }
    match side(repository, host, own, plan, steps) {
        Ok(side) => run(&side, steps, record),
        Err(why) => told(record, why),
    }
}

/// What the contract says beside its questions.
fn notes(plan: &Plan) -> Vec<String> {
    let args = plan.args.iter().flat_map(|a| a.notes.iter().map(move |n| format!("{}: {n}", a.name)));
    let launches = plan.launches().flat_map(|l| l.notes.iter().cloned());
    let dims = plan.dims.iter().flat_map(|d| d.notes.iter().map(move |n| format!("{}: {n}", d.name)));
    args.chain(launches).chain(dims).chain(plan.notes.0.iter().cloned()).collect()
}

/// The kind of the first question of a contract.
fn asked(plan: &Plan) -> String {
    let open = plan.open();
    let first = open.iter().find(|o| o.kind == OpenKind::Missing).or(open.first());
    first.map_or_else(String::new, |o| {
        let what = if o.kind == OpenKind::Missing { "asked" } else { "proposed" };
        let table = o.table.split(['.', ' ']).next().unwrap_or("");
        format!("{what}: {table}: {}", o.field)
    })
}

/// Every kernel of the plan, compiled.
fn side(repository: &Repository, host: &Host, own: FunctionRef, plan: &Plan, steps: u64) -> Result<Side, String> {
    let mut side = Side {
        plan: plan.clone(),
        programs: BTreeMap::new(),
        resources: BTreeMap::new(),
        arch: repository.arch.clone(),
        arithmetic: 0.0,
    };
    let kernels = host.program.kernels();
    for key in Side::keys(plan) {
        let count = plan.launches().find(|l| l.kernel == key.name).map(|l| l.args.len());
        // Of programs that stand beside each other, each has kernels of its own.
        let meant = [near(own.unit, &kernels), sees(host, own.unit, &kernels), kernels.clone()].into_iter();
        let meant =
            meant.map(|among| matching::kernel(&host.program, &among, &key.name, count, "")).find_map(Result::ok);
        let meant = meant.ok_or("a name of several kernels")?;
        let k = repository.kernel(&host.at(meant)).ok_or("a kernel of the plan stands in no file of the folder")?;
        let made = repository.made(k);
        let made = made.get().ok_or("not compiled")?;
        let written = key.template.join(",").replace(' ', "");
        let of = |a: &str| a.trim_matches(['<', '>']).replace(' ', "") == written;
        let (program, resources): (Program, _) = match made.instances.iter().find(|i| of(&i.arguments)) {
            Some(i) => (i.program.clone(), i.resources.clone()),
            None if key.template.is_empty() => match made.instances.as_slice() {
                [one] => (one.program.clone(), one.resources.clone()),
                [] => return Err("another kernel of the plan is not decoded".into()),
                _ => return Err("template arguments that the launch does not write".into()),
            },
            None => {
                let i = repository.instance(k, &key)?;
                (i.program, i.resources)
            }
        };
        side.resources.extend(resources.map(|r| (key.clone(), r)));
        side.programs.insert(key, program);
    }
    let constant = symbols::unfilled(&side, plan).into_iter().any(|(_, constant)| constant);
    if constant {
        return Err("a constant variable whose contents the contract does not say".into());
    }
    let settings = settings(steps);
    side.plan = shrink::fit(&side, &settings).0;
    Ok(side)
}

/// The reason for which a kernel did not run; that its contract is a guess goes before.
fn told(record: &mut Record, why: String) {
    if !record.guessed {
        record.why = why;
    }
}

fn stopped(why: &str) -> String {
    let plain: String = why.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).collect();
    format!("stopped: {}", plain.chars().take(60).collect::<String>())
}

/// Larger buffers than a comparison takes: most programs fix their sizes.
fn settings(steps: u64) -> Settings {
    Settings { steps, max_bytes: Some(256 << 20), memory: 1 << 30, ..Settings::default() }
}

fn near(unit: u32, kernels: &[FunctionRef]) -> Vec<FunctionRef> {
    kernels.iter().filter(|k| k.unit == unit).copied().collect()
}

fn sees(host: &Host, unit: u32, kernels: &[FunctionRef]) -> Vec<FunctionRef> {
    let names = host.macros.get(unit as usize).and_then(Macros::names);
    kernels.iter().filter(|k| names.is_some_and(|n| n.sees(unit, k.unit))).copied().collect()
}

fn run(side: &Side, steps: u64, record: &mut Record) {
    record.contract = !record.guessed;
    let settings = settings(steps);
    let sampling = Sampling { seed: 1, thorough: false, max_bytes: settings.max_bytes, ..Sampling::default() };
    let cell = cells(&side.plan, &sampling).cells;
    let Some(concrete) = cell.first().and_then(|c| side.plan.concrete(c).ok()) else {
        told(record, "no cell".into());
        return;
    };
    let how = kopt::gate::cell::how(&settings, steps);
    let ran = match starts(&concrete).and_then(|begin| execute(side, &concrete, &begin, &how)) {
        Ok(ran) => ran,
        Err(why) => {
            told(record, stopped(&why));
            return;
        }
    };
    if let Some(Stopped::Machine { why, .. } | Stopped::Limit { why, .. }) = &ran.stopped {
        told(record, stopped(why));
        return;
    }
    record.ran = true;
    let mut seen = BTreeSet::new();
    for f in &ran.findings {
        if seen.insert((f.kind, f.line)) {
            let detail = f.samples.first().map_or("", |s| s.detail.as_str());
            record.findings.push(format!("{:?} x{} at {}:{}: {detail}", f.kind, f.count, f.file, f.line));
        }
    }
    record.findings.extend(ran.stopped.as_ref().map(ToString::to_string));
}
