//! One job: every step is waited for, so that a failure has its step.

use super::super::driver::{Context, Function, Module};
use super::super::job::{Done, Job, Kernel, Stage, Step};
use super::images::{self, launch};
use super::memory::{Around, Placed, begin, place};
use super::{Trouble, failed, name, nonsense, other};

pub fn run(context: &Context, job: &Job, parts: &[Vec<u8>], around: Around) -> Result<(Done, Vec<Vec<u8>>), Trouble> {
    // The step that launches it first is to blame.
    let blamed = |n: usize| {
        let uses = |s: &Step| matches!(s, Step::Launch(l) if job.kernels.get(l.kernel) == job.kernels.get(n));
        job.steps.iter().position(uses).unwrap_or(0)
    };
    let modules = images::load(context, &job.kernels, parts, &blamed)?;
    let functions = images::functions(&modules, &job.kernels, &blamed)?;
    let placed: Vec<Placed> = job.buffers.iter().map(|b| place(context, b, parts, around)).collect::<Result<_, _>>()?;
    let all = Loaded { context, job, parts, functions: &functions, modules: &modules, placed: &placed };
    let mut contents = vec![];
    for (n, step) in job.steps.iter().enumerate() {
        contents.extend(take(&all, n, step)?);
    }
    let mut done = Done { device: name(context), driver: context.driver.clone(), guards: vec![] };
    for (n, (buffer, at)) in job.buffers.iter().zip(&placed).enumerate() {
        if !at.is_guarded(buffer)? {
            done.guards.push(n);
        }
    }
    Ok((done, contents))
}

/// Everything that a step may need.
struct Loaded<'a> {
    context: &'a Context,
    job: &'a Job,
    parts: &'a [Vec<u8>],
    functions: &'a [Function<'a>],
    modules: &'a [Module<'a>],
    placed: &'a [Placed<'a>],
}

/// Takes a step; gives what it read.
fn take(all: &Loaded, n: usize, step: &Step) -> Result<Option<Vec<u8>>, Trouble> {
    let at = |index: usize| {
        let both = all.placed.get(index).zip(all.job.buffers.get(index));
        both.ok_or_else(|| nonsense("a step without buffer"))
    };
    let kernels: &[Kernel] = &all.job.kernels;
    match step {
        Step::Launch(l) => {
            launch(n, None, (all.functions, kernels), l, all.placed)?;
            failed(n, Stage::Run, all.context.synchronize())?;
        }
        Step::Fill { buffer, offset, bytes, byte } => {
            let (to, _) = at(*buffer)?;
            other("filling a buffer", to.memory.fill(to.first.saturating_add(*offset), *bytes, *byte))?;
        }
        Step::Copy { from, from_offset, to, to_offset, bytes } => {
            let ((from, _), (to, _)) = (at(*from)?, at(*to)?);
            let (a, b) = (from.first.saturating_add(*from_offset), to.first.saturating_add(*to_offset));
            other("copying a buffer", to.memory.copy_from(b, &from.memory, a, *bytes))?;
        }
        Step::Reset { buffer, start } => {
            let (to, about) = at(*buffer)?;
            begin(to, about, *start, all.parts)?;
        }
        Step::Symbol { kernel, name, part } => set_variable(all.modules, all.parts, *kernel, name, *part)?,
        Step::ReadSymbol { kernel, name, bytes } => {
            let module = all.modules.get(*kernel).ok_or_else(|| nonsense("a variable without kernel"))?;
            return other(&format!("reading the variable {name}"), module.read_variable(name, *bytes)).map(Some);
        }
        Step::Read { buffer } => {
            let (from, about) = at(*buffer)?;
            return from.read(about).map(Some);
        }
    }
    Ok(None)
}

/// Writes a variable of a kernel's image.
pub fn set_variable(
    modules: &[Module],
    parts: &[Vec<u8>],
    kernel: usize,
    name: &str,
    part: usize,
) -> Result<(), Trouble> {
    let module = modules.get(kernel).ok_or_else(|| nonsense("a variable without kernel"))?;
    let bytes = parts.get(part).ok_or_else(|| nonsense("a variable without contents"))?;
    other(&format!("writing the variable {name}"), module.write_variable(name, bytes))
}
