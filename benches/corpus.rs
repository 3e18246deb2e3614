//! Measures kopt on folders: `cargo bench --bench corpus -- [--arch sm_80] [--no-compile] DIR..`
//!
//! Per folder: kernels found and usable; kernels cut out and compiled, with the reasons of those that are not; per skill
//! the places looked at, where it fires, what was rewritten, whether kernels that compiled still compile, and the
//! conditions that refuse most often. Figures are kept in docs/measurements.md.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Instant;

use kopt::compile::plan::{Job, NoInstance, Origin, Place, Plan};
use kopt::compile::{Cache, CompileGate, Toolchain, Worker, worker};
use kopt::contract::{Assumptions, parse_assumption};
use kopt::facts::macros_of;
use kopt::ir::spell::{identity, parameters};
use kopt::ir::{Function, FunctionRef, Program, Unit};
use kopt::project::{self, Headers, Includers, Options, Project};
use kopt::skill::Library;
use kopt::skill::ast::{Platform, Skill};
use kopt::skill::engine::Payoff;
use kopt::skill::engine::run::{self, Request};
use kopt::skill::engine::survey::{self, Finding, FindingKind, Input, Lazy};
use kopt::source::{FileId, SourceFile};
use kopt::syntax::cuda::parse_unit;
use rayon::prelude::*;

fn main() {
    let mut args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    if args.first().is_some_and(|a| a == "--worker") {
        let served = worker::serve(std::io::stdin().lock(), std::io::stdout().lock());
        std::process::exit(i32::from(served.is_err()));
    }
    let compile = !args.iter().any(|a| a == "--no-compile");
    args.retain(|a| a != "--no-compile");
    let skills = !args.iter().any(|a| a == "--no-skills");
    args.retain(|a| a != "--no-skills");
    let mut valued = |name: &str| {
        let at = args.iter().position(|a| a == name)?;
        let value = args.get(at + 1).cloned();
        args.drain(at..(at + 2).min(args.len()));
        value
    };
    let arch = valued("--arch").unwrap_or_else(|| "sm_80".to_owned());
    let list = valued("--list").map(std::path::PathBuf::from);
    // A syntax tree can be as deep as its file is long.
    let pool = rayon::ThreadPoolBuilder::new().stack_size(16 << 20).build().expect("threads");
    for dir in &args {
        pool.install(|| folder(Path::new(dir), &arch, compile, skills, list.as_deref()));
    }
}

struct Gate {
    gate: CompileGate,
    headers: Headers,
    includers: Includers,
    arch: String,
}

/// What became of a kernel. `Err` has the name to count it under, and a text that explains.
type Outcome = Result<Good, (String, String)>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Good {
    /// Every instantiation in view that could be followed compiles.
    InView,
    /// None is in view; one that kopt chose compiles.
    Sample,
}

impl Gate {
    fn new(project: &Project, arch: &str) -> Option<Gate> {
        let found = Toolchain::find();
        found.nvrtc.as_ref()?;
        let me = std::env::current_exe().ok()?;
        let worker = Worker::new(me, vec!["--worker".into()], std::time::Duration::from_secs(300));
        let gate = CompileGate::new(found, Cache::none()).with_worker(worker);
        let headers = Headers::new(project, &[]);
        let includers = Includers::of(project, &headers);
        Some(Gate { gate, headers, includers, arch: arch.to_owned() })
    }

    fn job(&self) -> Job<'_> {
        Job::new(&self.gate, &self.headers, &self.arch, &[])
    }

    /// Runs `with` on a file and those that include it.
    fn at<T>(&self, project: &Project, file: &SourceFile, id: FileId, with: impl FnOnce(&Place<'_>) -> T) -> T {
        let sources = self.includers.of_file(id).into_iter().map(|u| project.sources.get(u));
        let users: Vec<(&str, &str)> = sources.map(|s| (&*s.name, &*s.text)).collect();
        with(&Place { file: (&file.name, &file.text), users: &users })
    }

    fn compile(&self, job: &Job<'_>, project: &Project, id: FileId, kernel: Named) -> Outcome {
        self.at(project, project.sources.get(id), id, |place| judge(job.plan_at(place, kernel.0, kernel.1)))
    }

    /// Whether `kernel` of the new text compiles as `old` of the original did.
    fn again(&self, project: &Project, id: FileId, old: Named, new: &SourceFile, kernel: Named) -> Outcome {
        self.at(project, project.sources.get(id), id, |place| {
            let job = self.job();
            let Ok(plan) = job.plan_at(place, old.0, old.1) else {
                return Err(("original".into(), "it does not compile".into()));
            };
            for instance in plan.instances.iter().filter(|i| i.compiled.is_ok()) {
                let compiled = job.candidate(instance, place, &new.text, kernel);
                let (_, compiled) = compiled.map_err(|why| (why.key().to_owned(), why.to_string()))?;
                compiled.map_err(|e| (e.key().to_owned(), e.to_string()))?;
            }
            Ok(Good::InView)
        })
    }
}

/// A kernel's name, and where it stands if overloads share it.
type Named<'a> = (&'a str, Option<usize>);

fn named<'a>(unit: &Unit, f: &'a Function) -> Named<'a> {
    let overloaded = unit.kernels().any(|o| o.qualified == f.qualified && identity(o) != identity(f));
    (&f.qualified, overloaded.then_some(f.name_span.start as usize))
}

/// The kernel that a kernel of the new text was: of its name and parameters, or the one beside which a dispatch put it,
/// whose name it begins with.
fn origin<'u>(unit: &'u Unit, new: &Function) -> Option<&'u Function> {
    let like = |o: &&Function| new.qualified.starts_with(&o.qualified);
    let rank = |o: &&Function| (parameters(o) == parameters(new), o.qualified.len());
    let whole = unit.kernels().find(|o| identity(o) == identity(new));
    whole.or_else(|| unit.kernels().filter(like).max_by_key(rank))
}

fn judge(plan: Result<Plan, NoInstance>) -> Outcome {
    let plan = plan.map_err(|why| match why {
        NoInstance::Cut(why) => (why.key().to_owned(), format!("{why:?}")),
        // A sample that fails for want of another project's header is no question of its arguments.
        NoInstance::Template { last: Some(error) } if error.key() == "third-party-header" => {
            (error.key().to_owned(), error.to_string())
        }
        NoInstance::Template { last } => {
            ("needs-instantiation".to_owned(), last.map_or_else(String::new, |e| e.to_string()))
        }
    })?;
    let mut good = Good::InView;
    for instance in &plan.instances {
        if let Err(e) = &instance.compiled {
            return Err((e.key().to_owned(), format!("{} in {}: {e}", instance.arguments, instance.unit)));
        }
        if matches!(instance.origin, Origin::Sample(_)) {
            good = Good::Sample;
        }
    }
    Ok(good)
}

fn load(dir: &Path) -> (Project, Program) {
    let project = project::load(&[dir.to_path_buf()], &Options::default());
    let wanted: Vec<_> = project.files.iter().filter(|f| f.needs_parse).map(|f| f.id).collect();
    let units = wanted.par_iter().map(|id| parse_unit(*id, project.sources.get(*id), &project.macros)).collect();
    (project, Program { units, complete: false })
}

fn folder(dir: &Path, arch: &str, compile: bool, with_skills: bool, list: Option<&Path>) {
    let name = dir.file_name().map_or_else(|| dir.display().to_string(), |n| n.to_string_lossy().into_owned());
    let clock = Instant::now();
    let (project, program) = load(dir);
    let bytes = |parsed: bool| -> usize {
        project.files.iter().filter(|f| f.needs_parse == parsed).map(|f| project.sources.get(f.id).bytes().len()).sum()
    };
    let (parsed, skipped) = (bytes(true), bytes(false));
    println!("\n## {name}\n{} files, {parsed} bytes parsed, {skipped} passed over", project.files.len());
    usable(&program);
    let library = Library::built_in().expect("the built-in skills load");
    let skills: Vec<&Skill> = library.iter().map(|s| &s.skill).collect();
    // Naming an approximating skill permits it, as `kopt apply --skill` does.
    let mut assumptions = Assumptions::default();
    assumptions.everywhere.extend(parse_assumption("permit(approximate)", None).ok());
    let input = Input {
        program: &program,
        sources: &project.sources,
        skills: &skills,
        assumptions: &assumptions,
        platform: Platform::parse(arch),
    };
    let findings = if with_skills { survey_all(input) } else { vec![] };
    let seconds = clock.elapsed().as_secs_f64();
    println!("read and judged in {seconds:.2} s");
    let gate = compile.then(|| Gate::new(&project, arch)).flatten();
    let mut compiles: BTreeSet<FunctionRef> = BTreeSet::new();
    if let Some(gate) = &gate {
        compiles = compile_all(gate, &project, &program, list);
    }
    for skill in skills.iter().filter(|_| with_skills) {
        skill_row(skill, &findings, &project, &program, &assumptions, arch, gate.as_ref(), &compiles);
    }
}

fn usable(program: &Program) {
    let lexical: usize = program.units.iter().map(|u| u.lexical_kernels.len()).sum();
    let kernels: Vec<_> = program.kernels().into_iter().map(|k| program.function(k)).collect();
    let usable = kernels.iter().filter(|f| !f.flaws.iter().any(|x| x.kind.forbids_all_edits())).count();
    let lost = program.units.iter().flat_map(|u| &u.problems).filter(|p| p.code == kopt::diag::Code(2)).count();
    let all = kernels.len() + lost;
    let share = 100.0 * usable as f64 / all.max(1) as f64;
    println!(
        "kernels: lexical {lexical}, modelled {}, reported lost {lost}, usable {usable} ({share:.1} %)",
        kernels.len()
    );
}

fn survey_all(input: Input) -> Vec<Finding> {
    let macros = macros_of(input.program, input.sources);
    let of = |at: &FunctionRef| -> Vec<Finding> {
        let analysis = Lazy::new(input, &macros, *at);
        let judged = input.skills.iter().flat_map(|skill| survey::judge_all(input, skill, *at, &analysis));
        judged.map(|c| c.finding).collect()
    };
    survey::functions(input.program).par_iter().flat_map_iter(of).collect()
}

fn compile_all(gate: &Gate, project: &Project, program: &Program, list: Option<&Path>) -> BTreeSet<FunctionRef> {
    let kernels = program.kernels();
    let job = gate.job();
    let of = |k: &FunctionRef| {
        let unit = program.unit(k.unit);
        gate.compile(&job, project, unit.file, named(unit, program.function(*k)))
    };
    let outcomes: Vec<Outcome> = kernels.par_iter().map(of).collect();
    let mut reasons: BTreeMap<String, (usize, BTreeMap<String, usize>)> = BTreeMap::new();
    for (why, text) in outcomes.iter().filter_map(|o| o.as_ref().err()) {
        let entry = reasons.entry(why.clone()).or_default();
        entry.0 += 1;
        *entry.1.entry(text.chars().take(110).collect()).or_default() += 1;
    }
    if let Some(path) = list {
        let line = |(k, o): (&FunctionRef, &Outcome)| {
            let file = &project.sources.get(program.unit(k.unit).file).name;
            let (key, text) = match o {
                Ok(Good::InView) => ("ok", ""),
                Ok(Good::Sample) => ("sample", ""),
                Err((key, text)) => (key.as_str(), text.as_str()),
            };
            format!("{key}\t{file}\t{}\t{}\n", program.function(*k).qualified, text.replace(['\n', '\t'], " "))
        };
        let text: String = kernels.iter().zip(&outcomes).map(line).collect();
        let written = std::fs::OpenOptions::new().create(true).append(true).open(path);
        written.and_then(|mut f| std::io::Write::write_all(&mut f, text.as_bytes())).expect("the list can be written");
    }
    let third = reasons.get("third-party-header").map_or(0, |r| r.0);
    let good = outcomes.iter().filter(|o| matches!(o, Ok(Good::InView))).count();
    let samples = outcomes.iter().filter(|o| matches!(o, Ok(Good::Sample))).count();
    let rest = kernels.len() - third;
    let share = 100.0 * good as f64 / rest.max(1) as f64;
    println!(
        "compile ({}): {good} of {} kernels; {share:.1} % of the {rest} without third-party headers; {samples} more as \
            samples, with them {:.1} %",
        gate.arch,
        kernels.len(),
        100.0 * (good + samples) as f64 / rest.max(1) as f64
    );
    for (why, (n, texts)) in &reasons {
        let mut texts: Vec<_> = texts.iter().collect();
        texts.sort_by_key(|t| std::cmp::Reverse(t.1));
        let top: Vec<String> =
            texts.iter().take(3).filter(|t| !t.0.is_empty()).map(|(t, n)| format!("{n}: {t}")).collect();
        println!("  {n:4} {why}  [{}]", top.join(" | "));
    }
    kernels.into_iter().zip(outcomes).filter(|(_, o)| o.is_ok()).map(|(k, _)| k).collect()
}

#[expect(clippy::too_many_arguments)]
fn skill_row(
    skill: &Skill,
    findings: &[Finding],
    project: &Project,
    program: &Program,
    assumptions: &Assumptions,
    arch: &str,
    gate: Option<&Gate>,
    compiles: &BTreeSet<FunctionRef>,
) {
    let own: Vec<&Finding> = findings.iter().filter(|f| f.skill == skill.name.node).collect();
    let fires: Vec<&&Finding> = own
        .iter()
        .filter(|f| matches!(&f.kind, FindingKind::Applies { payoff: Payoff::Expected(_) | Payoff::Unknown(_), .. }))
        .collect();
    let sound = own.iter().filter(|f| matches!(f.kind, FindingKind::Applies { .. })).count();
    let mut refused: BTreeMap<&str, usize> = BTreeMap::new();
    let mut alone: BTreeMap<&str, usize> = BTreeMap::new();
    for f in &own {
        if let FindingKind::Refused { failed, .. } = &f.kind {
            let texts: BTreeSet<&str> = failed.iter().map(|j| &*j.text).collect();
            for t in &texts {
                *refused.entry(t).or_default() += 1;
                if texts.len() == 1 {
                    *alone.entry(t).or_default() += 1;
                }
            }
        }
    }
    println!("{}: {} places, {} fire, {sound} sound", skill.name.node, own.len(), fires.len());
    let rewritten = apply(skill, project, program, assumptions, arch, gate, compiles, &fires);
    println!("  {rewritten}");
    let top = |counts: BTreeMap<&str, usize>| -> String {
        let mut list: Vec<_> = counts.into_iter().collect();
        list.sort_by_key(|x| (std::cmp::Reverse(x.1), x.0));
        list.iter().take(5).map(|(t, n)| format!("{n}: {t}")).collect::<Vec<_>>().join("; ")
    };
    println!("  refused by: {}", top(refused));
    println!("  refused by this alone: {}", top(alone));
}

/// Rewrites every file in which the skill fires, each by itself, and compiles what changed.
#[expect(clippy::too_many_arguments)]
fn apply(
    skill: &Skill,
    project: &Project,
    program: &Program,
    assumptions: &Assumptions,
    arch: &str,
    gate: Option<&Gate>,
    compiles: &BTreeSet<FunctionRef>,
    fires: &[&&Finding],
) -> String {
    let units: BTreeSet<u32> = fires.iter().map(|f| f.at.unit).collect();
    let passes = kopt::pass::builtin();
    let (mut changes, mut back, mut kept, mut broken) = (0, vec![], 0, vec![]);
    for u in units {
        let unit = program.unit(u);
        let old = project.sources.get(unit.file);
        let one = Program { units: vec![unit.clone()], complete: false };
        let request = Request {
            skills: &[skill],
            assumptions,
            platform: Platform::parse(arch),
            passes: &passes,
            at: vec![],
            files: vec![unit.file],
            even_if_not_paying: false,
            parse: &|file, source| parse_unit(file, source, &project.macros),
        };
        let outcome = match run::apply(&one, &project.sources, &request) {
            Ok(outcome) => outcome,
            Err(e) => {
                broken.push(format!("{}: {:?}", old.name, e.cycle));
                continue;
            }
        };
        changes += outcome.changes.len();
        back.extend(outcome.rolled_back.iter().map(|r| format!("{}: {:?}", r.finding.function, r.reason)));
        let new = outcome.sources.get(unit.file);
        let (Some(gate), false) = (gate, outcome.changes.is_empty()) else { continue };
        // All kernels of the file: a changed device function reaches others, and a dispatch adds some.
        for k in outcome.program.units.iter().flat_map(|u| u.kernels()) {
            let compiled = |o: &Function| compiles.contains(&FunctionRef { unit: u, function: o.id });
            let added = !unit.kernels().any(|o| o.qualified == k.qualified);
            let Some(origin) = origin(unit, k).filter(|o| compiled(o)) else { continue };
            let now = outcome.program.units.iter().find(|n| n.kernels().any(|o| std::ptr::eq(o, k)));
            let Some(now) = now else { continue };
            match gate.again(project, unit.file, named(unit, origin), new, named(now, k)) {
                Ok(_) => kept += 1,
                Err((why, text)) if added && why == "needs-instantiation" => back.push(text),
                Err((why, text)) => broken.push(format!("{} {}: {why}: {text}", old.name, k.qualified)),
            }
        }
    }
    let mut text = format!(
        "rewritten {changes}, taken back {}, kernels that still compile {kept}, broken {}",
        back.len(),
        broken.len()
    );
    for line in broken
        .iter()
        .map(|b| format!("\n  BROKEN {b}"))
        .chain(back.iter().map(|b| format!("\n  back {}", b.chars().take(200).collect::<String>())))
    {
        text += &line;
    }
    text
}
