//! The interpreter on folders of sources: `cargo bench --bench interpret -- [--arch sm_80] [--steps N] [--findings] DIR..`
//!
//! Per folder: kernels that the slice compiles; how many of them parse and decode, and why others do not; how many have
//! a contract that is inferred without questions, and of these how many run, with all checks, on the first cell. With `--findings`, every finding with its place: on a kernel
//! that is known to be right it is a false alarm. Figures are kept in docs/measurements.md.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use kopt::compile::plan::{Instance, Job, Place};
use kopt::compile::{Cache, CompileGate, Toolchain, Worker, worker};
use kopt::contract::{Sampling, cells};
use kopt::facts::{Macros, macros_of};
use kopt::gate::{KernelKey, Settings, Side, Stopped, execute, starts};
use kopt::infer::infer;
use kopt::ir::{FunctionRef, Program as Units};
use kopt::project::{self, Headers, Includers, Options, Project};
use kopt::ptx::{Program, PtxError, parse};
use kopt::source::FileId;
use kopt::syntax::cuda::parse_unit;
use rayon::prelude::*;

fn main() {
    let mut args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    if args.first().is_some_and(|a| a == "--worker") {
        let served = worker::serve(std::io::stdin().lock(), std::io::stdout().lock());
        std::process::exit(i32::from(served.is_err()));
    }
    let findings = args.iter().any(|a| a == "--findings");
    args.retain(|a| a != "--findings");
    let mut arch = "sm_80".to_owned();
    if let Some(at) = args.iter().position(|a| a == "--arch") {
        arch = args.get(at + 1).cloned().unwrap_or(arch);
        args.drain(at..(at + 2).min(args.len()));
    }
    let mut steps = 1 << 26;
    if let Some(at) = args.iter().position(|a| a == "--steps") {
        steps = args.get(at + 1).and_then(|n| n.parse().ok()).unwrap_or(steps);
        args.drain(at..(at + 2).min(args.len()));
    }
    let found = Toolchain::find();
    if found.nvrtc.is_none() {
        println!("not run: no NVRTC was found (kopt toolchain install)");
        return;
    }
    let me = std::env::current_exe().expect("this program");
    let limit = std::time::Duration::from_secs(60);
    let gate = CompileGate::new(found, Cache::none()).with_worker(Worker::new(me, vec!["--worker".into()], limit));
    // A syntax tree can be as deep as its file is long.
    let pool = rayon::ThreadPoolBuilder::new().stack_size(16 << 20).build().expect("threads");
    let mut all = Row::default();
    println!("| repository | compiled | parsed | decoded | contract | ran | with findings |");
    println!("|---|---|---|---|---|---|---|");
    let mut notes = vec![];
    for dir in &args {
        let name = Path::new(dir).file_name().map_or_else(|| dir.clone(), |n| n.to_string_lossy().into_owned());
        let row = pool.install(|| folder(Path::new(dir), &gate, &arch, steps));
        println!("| {name} | {} |", row.counts());
        notes.extend(row.notes.iter().map(|note| format!("{name}: {note}")));
        all.add(row);
    }
    println!("| **all** | {} |\n\nnot decoded, or not run:", all.counts());
    for (why, count) in &all.reasons {
        println!("{count:6}  {why}");
    }
    if findings {
        println!("\nfindings:");
        notes.iter().for_each(|note| println!("{note}"));
    }
}

/// What became of the kernels of a folder.
#[derive(Default)]
struct Row {
    compiled: usize,
    parsed: usize,
    decoded: usize,
    contract: usize,
    ran: usize,
    with_findings: usize,
    reasons: BTreeMap<String, usize>,
    notes: Vec<String>,
}

impl Row {
    fn counts(&self) -> String {
        let share = 100.0 * self.decoded as f64 / self.compiled.max(1) as f64;
        format!(
            "{} | {} | {} ({share:.1} %) | {} | {} | {}",
            self.compiled, self.parsed, self.decoded, self.contract, self.ran, self.with_findings
        )
    }

    fn add(&mut self, other: Row) {
        self.compiled += other.compiled;
        self.parsed += other.parsed;
        self.decoded += other.decoded;
        self.contract += other.contract;
        self.ran += other.ran;
        self.with_findings += other.with_findings;
        for (why, count) in other.reasons {
            *self.reasons.entry(why).or_default() += count;
        }
        self.notes.extend(other.notes);
    }

    fn failed(&mut self, why: String) {
        *self.reasons.entry(why).or_default() += 1;
    }
}

struct Folder<'a> {
    project: Project,
    program: Units,
    headers: Headers,
    includers: Includers,
    macros: Vec<Macros>,
    arch: &'a str,
    /// Warp instructions that one run may take.
    steps: u64,
}

fn folder(dir: &Path, gate: &CompileGate, arch: &str, steps: u64) -> Row {
    let project = project::load(&[dir.to_path_buf()], &Options::default());
    let wanted: Vec<_> = project.files.iter().filter(|f| f.needs_parse).map(|f| f.id).collect();
    let units = wanted.par_iter().map(|id| parse_unit(*id, project.sources.get(*id), &project.macros)).collect();
    let program = Units { units, complete: false };
    let headers = Headers::new(&project, &[]);
    let includers = Includers::of(&project, &headers);
    let macros = macros_of(&program, &project.sources);
    let folder = Folder { project, program, headers, includers, macros, arch, steps };
    let job = Job::new(gate, &folder.headers, arch, &[]);
    let kernels = folder.program.kernels();
    let rows: Vec<Row> = kernels.par_iter().map(|k| folder.kernel(&job, *k)).collect();
    let mut all = Row::default();
    rows.into_iter().for_each(|row| all.add(row));
    all
}

/// A reason without what differs from kernel to kernel.
fn reason(error: &PtxError) -> String {
    match error {
        PtxError::Unsupported { what, .. } => format!("unsupported: {}", what.chars().take(60).collect::<String>()),
        PtxError::Invalid { what, .. } => format!("invalid: {}", what.chars().take(60).collect::<String>()),
        other => other.to_string().chars().take(80).collect(),
    }
}

impl Folder<'_> {
    fn kernel(&self, job: &Job<'_>, k: FunctionRef) -> Row {
        let mut row = Row::default();
        let function = self.program.function(k);
        let file = self.program.unit(k.unit).file;
        let source = self.project.sources.get(file);
        let users = self.includers.of_file(file).into_iter().map(|u| self.project.sources.get(u));
        let users: Vec<(&str, &str)> = users.map(|s| (&*s.name, &*s.text)).collect();
        let place = Place { file: (&source.name, &source.text), users: &users };
        let Ok(plan) = job.plan(&place, &function.qualified) else { return row };
        let good: Vec<&Instance> = plan.instances.iter().filter(|i| i.compiled.is_ok()).collect();
        if good.is_empty() {
            return row;
        }
        row.compiled = 1;
        let compiled = good.iter().filter_map(|i| i.compiled.as_ref().ok().map(|c| (i, c)));
        let decoded = compiled.map(|(i, c)| {
            let module = parse(&c.ptx)?;
            let symbol = c.kernels.first().map_or(function.name.as_str(), |k| k.symbol.as_str());
            Ok((i.arguments.clone(), Program::decode(&module, symbol), c.kernels.first().cloned()))
        });
        let decoded: Vec<Result<_, PtxError>> = decoded.collect();
        if let Some(Err(e)) = decoded.iter().find(|d| d.is_err()) {
            row.failed(reason(e));
            return row;
        }
        row.parsed = 1;
        let mut programs = vec![];
        for (arguments, program, resources) in decoded.into_iter().flatten() {
            match program {
                Ok(program) => programs.push((arguments, program, resources)),
                Err(e) => {
                    row.failed(reason(&e));
                    return row;
                }
            }
        }
        row.decoded = 1;
        self.run(k, file, programs, &mut row);
        row
    }

    fn run(
        &self,
        k: FunctionRef,
        file: FileId,
        programs: Vec<(String, Program, Option<kopt::compile::KernelResources>)>,
        row: &mut Row,
    ) {
        let function = self.program.function(k);
        let found = infer(&self.program, &self.project.sources, &self.macros, &[file], Some(&function.qualified));
        let Some(report) = found.kernels.iter().find(|r| r.is_complete()) else { return };
        let Some(plan) = found.contract.plans.iter().find(|p| Some(&p.name) == report.plan.as_ref()) else {
            return;
        };
        let mut side = Side {
            plan: plan.clone(),
            programs: BTreeMap::new(),
            resources: BTreeMap::new(),
            arch: self.arch.to_owned(),
            arithmetic: 0.0,
        };
        for key in Side::keys(plan) {
            if !is_named(&key, &function.qualified) {
                // Plans of several kernels would need the others compiled as well.
                row.failed("a plan of several kernels".into());
                return;
            }
            let written = key.template.join(",").replace(' ', "");
            let of = |a: &str| a.trim_matches(['<', '>']).replace(' ', "") == written;
            let program =
                programs.iter().find(|p| of(&p.0)).or(if programs.len() == 1 { programs.first() } else { None });
            let Some((_, program, resources)) = program else {
                row.failed("an instantiation that was not compiled".into());
                return;
            };
            side.resources.extend(resources.clone().map(|r| (key.clone(), r)));
            side.programs.insert(key, program.clone());
        }
        row.contract = 1;
        let settings = Settings { steps: self.steps, ..Settings::default() };
        let cell =
            cells(plan, &Sampling { seed: 1, thorough: false, max_bytes: Some(32 << 20), ..Sampling::default() }).cells;
        let Some(concrete) = cell.first().and_then(|c| plan.concrete(c).ok()) else {
            row.failed("no cell".into());
            return;
        };
        let how = kopt::gate::cell::how(&settings, settings.steps);
        let ran = starts(&concrete).and_then(|begin| execute(&side, &concrete, &begin, &how));
        match ran {
            Err(why) => row.failed(why.chars().take(60).collect()),
            Ok(ran) => {
                match &ran.stopped {
                    Some(Stopped::Machine { why, .. } | Stopped::Limit { why, .. }) => {
                        row.failed(why.chars().take(60).collect());
                        return;
                    }
                    _ => row.ran = 1,
                }
                row.with_findings = usize::from(!ran.findings.is_empty());
                let mut seen = BTreeSet::new();
                for f in &ran.findings {
                    if seen.insert((f.kind, f.line)) {
                        let detail = f.samples.first().map_or("", |s| s.detail.as_str());
                        row.notes.push(format!(
                            "{}: {:?} x{} at {}:{}: {detail}",
                            function.qualified, f.kind, f.count, f.file, f.line
                        ));
                    }
                }
                if let Some(stopped) = &ran.stopped {
                    row.notes.push(format!("{}: {stopped}", function.qualified));
                }
            }
        }
    }
}

fn is_named(key: &KernelKey, qualified: &str) -> bool {
    key.name == qualified
        || qualified.ends_with(&format!("::{}", key.name))
        || key.name.ends_with(&format!("::{qualified}"))
}
