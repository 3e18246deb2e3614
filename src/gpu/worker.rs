//! The process that owns the GPU. It is kopt itself under a hidden command, runs no host code of a candidate, and
//! answers jobs until its input ends. After a kernel that faults its context is useless; it answers and ends.

use std::io::{self, Read, Write};

use super::driver::{Context, DeviceMemory, Function, Module, Shape, describe, is_present};
use super::job::{Argument, Buffer, CANARY, Done, Failed, GUARD, Job, Kernel, Launch, Reply, Stage, Start, Step};
use crate::child::frame;

/// Answers jobs: the first part of a request is a [`Job`] in JSON, the others are images and contents.
///
/// # Errors
/// When a stream breaks; a job that fails is answered, not an error.
pub fn serve(mut input: impl Read, mut output: impl Write) -> io::Result<()> {
    loop {
        let parts = match frame::read(&mut input) {
            Ok(parts) => parts,
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(e) => return Err(e),
        };
        let (reply, contents) = answer(&parts);
        let meta = serde_json::to_vec(&reply).map_err(io::Error::other)?;
        let mut message: Vec<&[u8]> = vec![&meta];
        message.extend(contents.iter().map(Vec::as_slice));
        frame::write(&mut output, &message)?;
        if matches!(reply, Reply::Failed(Failed { stage: Stage::Run, .. })) {
            return Ok(());
        }
    }
}

fn answer(parts: &[Vec<u8>]) -> (Reply, Vec<Vec<u8>>) {
    let not_run = |why: String| (Reply::NotRun { why }, vec![]);
    let Some((meta, parts)) = parts.split_first() else { return not_run("an empty request".to_owned()) };
    let job: Job = match serde_json::from_slice(meta) {
        Ok(job) => job,
        Err(e) => return not_run(format!("a request that is no job: {e}")),
    };
    if !is_present() {
        return not_run("no driver: libcuda was not found".to_owned());
    }
    let context = match Context::open(job.device) {
        Ok(context) => context,
        Err(e) => return not_run(format!("device {} cannot be opened: {}", job.device, describe(e))),
    };
    match run(&context, &job, parts) {
        Ok((done, contents)) => (Reply::Done(done), contents),
        Err(Trouble::Kernel(failed)) => (Reply::Failed(failed), vec![]),
        Err(Trouble::Other(why)) => not_run(why),
    }
}

enum Trouble {
    Kernel(Failed),
    Other(String),
}

type Driver<T> = Result<T, cudarc::driver::DriverError>;

/// Trouble that says nothing about a kernel.
fn other<T>(what: &str, result: Driver<T>) -> Result<T, Trouble> {
    result.map_err(|e| Trouble::Other(format!("{what}: {}", describe(e))))
}

fn failed<T>(step: usize, stage: Stage, result: Driver<T>) -> Result<T, Trouble> {
    result.map_err(|e| Trouble::Kernel(Failed { step, stage, error: describe(e) }))
}

fn nonsense(what: &str) -> Trouble {
    Trouble::Other(format!("the job makes no sense: {what}"))
}

/// A buffer in device memory.
struct Placed<'a> {
    memory: DeviceMemory<'a>,
    /// Offset of its first byte.
    first: u64,
}

fn run(context: &Context, job: &Job, parts: &[Vec<u8>]) -> Result<(Done, Vec<Vec<u8>>), Trouble> {
    let mut modules: Vec<(Module, &Kernel, usize)> = vec![];
    for kernel in &job.kernels {
        let image = parts.get(kernel.image).ok_or_else(|| nonsense("a kernel without image"))?;
        // The step that launches it first is to blame.
        let uses = |s: &Step| matches!(s, Step::Launch(l) if job.kernels.get(l.kernel) == Some(kernel));
        let step = job.steps.iter().position(uses).unwrap_or(0);
        modules.push((failed(step, Stage::Load, context.load(image))?, kernel, step));
    }
    let functions: Vec<Function> = modules
        .iter()
        .map(|(module, kernel, step)| failed(*step, Stage::Load, module.function(&kernel.symbol)))
        .collect::<Result<_, _>>()?;
    let placed: Vec<Placed> = job.buffers.iter().map(|b| place(context, b, parts)).collect::<Result<_, _>>()?;
    let all = Loaded { context, job, parts, functions: &functions, modules: &modules, placed: &placed };
    let mut contents = vec![];
    for (n, step) in job.steps.iter().enumerate() {
        contents.extend(take(&all, n, step)?);
    }
    let mut done =
        Done { device: format!("{}, {}", context.name, context.arch), driver: context.driver.clone(), guards: vec![] };
    for (n, (buffer, at)) in job.buffers.iter().zip(&placed).enumerate() {
        let before = other("reading memory", at.memory.read(0, at.first))?;
        let after = other("reading memory", at.memory.read(at.first + buffer.bytes, GUARD))?;
        if before.iter().chain(&after).any(|b| *b != CANARY) {
            done.guards.push(n);
        }
    }
    Ok((done, contents))
}

fn place<'a>(context: &'a Context, buffer: &Buffer, parts: &[Vec<u8>]) -> Result<Placed<'a>, Trouble> {
    let first = GUARD + buffer.before;
    let whole = first.checked_add(buffer.bytes).and_then(|n| n.checked_add(GUARD));
    let whole = whole.ok_or_else(|| nonsense("a buffer without end"))?;
    let memory = other(&format!("allocating {whole} bytes"), context.allocate(whole))?;
    other("filling a guard zone", memory.fill(0, first, CANARY))?;
    other("filling a guard zone", memory.fill(first + buffer.bytes, GUARD, CANARY))?;
    let placed = Placed { memory, first };
    begin(&placed, buffer, buffer.start, parts)?;
    Ok(placed)
}

/// Writes a whole buffer.
fn begin(at: &Placed, buffer: &Buffer, start: Start, parts: &[Vec<u8>]) -> Result<(), Trouble> {
    match start {
        Start::Byte(byte) => other("filling a buffer", at.memory.fill(at.first, buffer.bytes, byte)),
        Start::Part(part) => {
            let bytes = parts.get(part).filter(|p| p.len() as u64 == buffer.bytes);
            let bytes = bytes.ok_or_else(|| nonsense("contents of another size"))?;
            other("writing a buffer", at.memory.write(at.first, bytes))
        }
    }
}

/// Everything that a step may need.
struct Loaded<'a> {
    context: &'a Context,
    job: &'a Job,
    parts: &'a [Vec<u8>],
    functions: &'a [Function<'a>],
    modules: &'a [(Module<'a>, &'a Kernel, usize)],
    placed: &'a [Placed<'a>],
}

/// Takes a step; gives what it read.
fn take(all: &Loaded, n: usize, step: &Step) -> Result<Option<Vec<u8>>, Trouble> {
    let at = |index: usize| {
        let both = all.placed.get(index).zip(all.job.buffers.get(index));
        both.ok_or_else(|| nonsense("a step without buffer"))
    };
    match step {
        Step::Launch(l) => {
            let function = all.functions.get(l.kernel).ok_or_else(|| nonsense("a launch without kernel"))?;
            let sizes = all.job.kernels.get(l.kernel).map(|k| k.parameters.as_slice()).unwrap_or_default();
            launch(n, function, sizes, l, all.placed)?;
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
        Step::Symbol { kernel, name, part } => {
            let (module, ..) = all.modules.get(*kernel).ok_or_else(|| nonsense("a variable without kernel"))?;
            let bytes = all.parts.get(*part).ok_or_else(|| nonsense("a variable without contents"))?;
            other(&format!("writing the variable {name}"), module.write_variable(name, bytes))?;
        }
        Step::ReadSymbol { kernel, name, bytes } => {
            let (module, ..) = all.modules.get(*kernel).ok_or_else(|| nonsense("a variable without kernel"))?;
            return other(&format!("reading the variable {name}"), module.read_variable(name, *bytes)).map(Some);
        }
        Step::Read { buffer } => {
            let (from, about) = at(*buffer)?;
            return other("reading memory", from.memory.read(from.first, about.bytes)).map(Some);
        }
    }
    Ok(None)
}

fn launch(n: usize, function: &Function, sizes: &[u32], l: &Launch, placed: &[Placed]) -> Result<(), Trouble> {
    // What the driver refuses here is a limit of the device: the launch could not be made.
    failed(n, Stage::Launch, function.allow_shared(l.shared))?;
    if l.cluster.is_some_and(|c| c.iter().product::<u32>() > 8) {
        failed(n, Stage::Launch, function.allow_large_clusters())?;
    }
    let bytes = |a: &Argument| match a {
        Argument::Bytes(bytes) => Ok(bytes.clone()),
        Argument::Address { buffer, offset } => {
            let at = placed.get(*buffer).ok_or_else(|| nonsense("an argument without buffer"))?;
            let address = at.memory.address().wrapping_add(at.first).wrapping_add(*offset);
            Ok(address.to_le_bytes().to_vec())
        }
    };
    let mut arguments: Vec<Vec<u8>> = l.arguments.iter().map(bytes).collect::<Result<_, _>>()?;
    let fit = arguments.len() == sizes.len() && arguments.iter().zip(sizes).all(|(a, n)| a.len() == *n as usize);
    if !fit {
        return Err(nonsense("arguments of other sizes than the parameters"));
    }
    let shape =
        Shape { grid: l.grid, block: l.block, shared: l.shared, cluster: l.cluster, cooperative: l.cooperative };
    failed(n, Stage::Launch, function.launch(&shape, &mut arguments, sizes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_make_no_sense_are_answered() {
        let mut input = vec![];
        frame::write(&mut input, &[b"not json"]).unwrap();
        frame::write(&mut input, &[]).unwrap();
        frame::write(&mut input, &[br#"{"device":9999,"kernels":[],"buffers":[],"steps":[]}"#]).unwrap();
        let mut output = vec![];
        serve(input.as_slice(), &mut output).unwrap();
        let mut replies = output.as_slice();
        for _ in 0..3 {
            let parts = frame::read(&mut replies).unwrap();
            let reply: Reply = serde_json::from_slice(&parts[0]).unwrap();
            assert!(matches!(reply, Reply::NotRun { .. }), "{reply:?}");
        }
    }
}
