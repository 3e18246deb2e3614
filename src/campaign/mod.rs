//! Random testing of the engine: kernels from seeds, every skill and pair of skills on each, original and result side by
//! side in the interpreter.
//!
//! ```text
//! seed --generate--> program --rewrite--> variants --build--> PTX, many to a compile --check--> faults --shrink--> failure
//! ```
//!
//! Whatever the engine takes for sound is rewritten, whether or not it pays. A failure is a difference of outputs, a
//! finding that the original has not, a compile error, a second run that changes something, or a body that breaks. A
//! program that is not defined in the first place is a fault of the generator and counted as one.
//!
//! The same seeds give the same programs and the same report. Compiling is the only thing here that reaches outside.

mod build;
mod check;
pub mod choice;
mod device;
pub mod generate;
pub mod program;
pub mod report;
mod rewrite;
pub mod shrink;

use crate::compile::CompileGate;
use crate::compile::nvrtc::NvrtcError;
use crate::contract::Plan;
use crate::gate::Fault;
use build::Built;
use check::{Reference, Version};
use device::Unit;
use program::Generated;
use report::count;
use rewrite::{Misbehaviour, Rewritten};

pub use report::{Failure, Report};
pub use rewrite::{Skills, Variant};

/// Programs that are compiled together.
pub const BATCH: u64 = 24;

/// A program with everything made of it.
struct Job {
    program: Generated,
    /// By kernel, in the order of the program.
    plans: Result<Vec<Plan>, String>,
    rewritten: Rewritten,
    /// The original, then the variants.
    units: Vec<Unit>,
}

impl Job {
    fn new(program: Generated, skills: &Skills, number: usize) -> Job {
        let plans = rewrite::plans(&program);
        let rewritten = skills.rewrite(&program.text);
        let texts = std::iter::once(&program.text).chain(rewritten.variants.iter().map(|v| &v.text));
        let unit = |(i, text): (usize, &String)| Unit::new(format!("p{number}v{i}"), text, &program.kernels);
        // Of those that nothing was made of, some are run all the same, to see whether they are defined.
        let wanted = !rewritten.variants.is_empty() || program.seed.is_multiple_of(8);
        let units = texts.enumerate().filter(|_| wanted).map(unit).collect();
        Job { program, plans, rewritten, units }
    }
}

/// Runs the programs of some seeds.
///
/// # Errors
/// When the compiler could not be asked.
pub fn run(seeds: std::ops::Range<u64>, skills: &Skills, gate: &CompileGate) -> Result<Report, NvrtcError> {
    run_programs(seeds.map(generate::program).collect(), skills, gate)
}

/// Runs programs, all compiled together.
///
/// # Errors
/// When the compiler could not be asked.
pub fn run_programs(programs: Vec<Generated>, skills: &Skills, gate: &CompileGate) -> Result<Report, NvrtcError> {
    let jobs: Vec<Job> = programs.into_iter().enumerate().map(|(i, p)| Job::new(p, skills, i)).collect();
    let units: Vec<Unit> = jobs.iter().flat_map(|j| j.units.clone()).collect();
    let mut built = build::build(gate, &units)?.into_iter();
    let mut report = Report::default();
    for job in &jobs {
        let own: Vec<Built> = built.by_ref().take(job.units.len()).collect();
        report.join(of_job(job, &own));
    }
    Ok(report)
}

fn of_job(job: &Job, built: &[Built]) -> Report {
    let mut report = Report { programs: 1, ..Report::default() };
    tally(&mut report, &job.rewritten);
    for m in &job.rewritten.misbehaviour {
        report.failures.push(misbehaved(job, m));
    }
    if let Err((kind, what)) = compare(job, built, &mut report) {
        report.failures.push(failure(job, kind, vec![], what, String::new()));
    }
    report
}

fn tally(report: &mut Report, made: &Rewritten) {
    for v in &made.variants {
        count(&mut report.fired, v.skills.join(" + "));
        v.guards.iter().for_each(|g| count(&mut report.guards, g.as_str()));
    }
    for (skill, conditions) in made.refused.iter().filter(|(_, c)| !c.is_empty()) {
        count(&mut report.refused, skill.as_str());
        conditions.iter().for_each(|c| count(&mut report.reasons, format!("{skill}: {c}")));
    }
    made.taken_back.iter().for_each(|t| count(&mut report.taken_back, t.as_str()));
}

fn failure(job: &Job, kind: &'static str, skills: Vec<String>, what: String, candidate: String) -> Failure {
    let Generated { seed, record, text, .. } = job.program.clone();
    Failure { seed, kind, skills, what, record, original: text, candidate }
}

fn misbehaved(job: &Job, m: &Misbehaviour) -> Failure {
    match m.clone() {
        Misbehaviour::NoEnd(cycle) => failure(job, "no-end", vec![], cycle.join("; "), String::new()),
        Misbehaviour::NotIdempotent { skills, text } => {
            failure(job, "not-idempotent", skills, "a second run changes the text".to_owned(), text)
        }
        Misbehaviour::Broken { skill, why } => failure(job, "broken", vec![skill], why, String::new()),
    }
}

/// Runs everything that compiled; faults go to the report.
///
/// # Errors
/// What is wrong with the program itself, whatever the skills made of it.
fn compare(job: &Job, built: &[Built], report: &mut Report) -> Result<(), (&'static str, String)> {
    let generator = |why: String| ("generator", why);
    let plans = job.plans.as_ref().map_err(|why| generator(why.clone()))?;
    let [original, rest @ ..] = built else { return Ok(()) };
    let kernels = original.as_ref().map_err(|log| generator(log.clone()))?;
    let original = Version { unit: &job.units[0], kernels };
    let mut references: Vec<(&Plan, Reference)> = vec![];
    for (plan, made) in plans.iter().zip(&job.program.kernels) {
        let settings = check::settings(made, job.program.seed);
        // Nothing is asked of a program that nothing was made of but whether it is defined, and that once.
        let wanted = if rest.is_empty() { 1 } else { settings.len() };
        for s in settings.iter().take(wanted) {
            let r = check::reference(plan, &original, s, &made.loose).map_err(generator)?;
            report.steps += r.steps();
            if let Some(why) = r.undefined() {
                return Err(generator(format!("`{}` is not defined under {:?}: {why}", made.name, r.setting)));
            }
            references.push((plan, r));
        }
    }
    for ((variant, unit), built) in job.rewritten.variants.iter().zip(&job.units[1..]).zip(rest) {
        let failed = |kind, what| failure(job, kind, variant.skills.clone(), what, variant.text.clone());
        report.variants += 1;
        let kernels = match built {
            Ok(kernels) => kernels,
            Err(log) => {
                report.failures.push(failed("compile-error", log.clone()));
                continue;
            }
        };
        let version = Version { unit, kernels };
        // Without the permission nothing may differ, whatever the skill is.
        let exact = variant.exact || !job.program.approximate;
        for (plan, r) in &references {
            let own = plan.launches().next().map_or("", |l| l.kernel.as_str());
            match r.faults(plan, &version, exact) {
                Ok((faults, launched)) => {
                    report.runs += 1;
                    if unit.launched.contains_key(own) {
                        report.dispatched[usize::from(launched == own)] += 1;
                    }
                    if let Some(fault) = faults.first() {
                        report.failures.push(failed(kind_of(fault), format!("{:?}: {fault:?}", r.setting)));
                        break;
                    }
                }
                Err(why) => {
                    report.failures.push(failed("not-run", why));
                    break;
                }
            }
        }
    }
    Ok(())
}

fn kind_of(fault: &Fault) -> &'static str {
    match fault {
        Fault::Finding(_) | Fault::Stopped(_) => "finding",
        _ => "difference",
    }
}
