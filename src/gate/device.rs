//! A concrete plan as a job for the process that owns a GPU, and its answer in the same words as a run in the
//! interpreter, so that both are compared by the same code.

use std::collections::BTreeMap;

use super::execute::{Output, Ran, Stopped};
use super::side::KernelKey;
use super::symbols::is_symbol_of;
use crate::compile::cubin::{self, Cubin};
use crate::contract::{
    Binding, ConcreteBuffer, ConcreteLaunch, ConcretePlan, ConcreteStep, DEVICE_ALIGNMENT, Role, Start,
};
use crate::gpu::job::{self, Argument, Buffer, Done, Job, Step};
use crate::ptx::{self, Program};

/// What the driver loads for a kernel, and what it must know to launch it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// A CUBIN for one architecture, or PTX text that the driver compiles.
    pub bytes: Vec<u8>,
    pub symbol: String,
    /// Its blocks wait for each other and must all be there at once.
    pub cooperative: bool,
    /// Sizes of the parameters in bytes.
    pub parameters: Vec<u32>,
    pub variables: Vec<Variable>,
}

/// A variable of an image's module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    pub symbol: String,
    /// In device memory, so that the kernel may write it.
    pub is_global: bool,
}

impl Image {
    /// The CUBIN of `program` where there is one, else its PTX.
    pub fn of_program(program: &Program, ptx: &str, cubin: &[u8], symbol: &str) -> Image {
        let bytes = if cubin.is_empty() { ptx.as_bytes().to_vec() } else { cubin.to_vec() };
        let variable = |v: &ptx::GlobalVariable| Variable {
            symbol: v.name.clone(),
            is_global: v.space == ptx::ast::Space::Global,
        };
        Image {
            bytes,
            symbol: symbol.to_owned(),
            // The handle of a grid is handed to a kernel in these registers; nothing else reads them.
            cooperative: ptx.contains("%envreg"),
            parameters: program.params.iter().map(|p| p.size).collect(),
            variables: program.variables.iter().map(variable).collect(),
        }
    }

    /// A kernel of a CUBIN of which there is no PTX. Nothing says whether its blocks wait for each other.
    pub fn of_cubin(cubin: &Cubin, kernel: &cubin::Kernel, bytes: &[u8]) -> Image {
        let variable = |v: &cubin::Variable| Variable { symbol: v.symbol.clone(), is_global: v.is_global };
        Image {
            bytes: bytes.to_vec(),
            symbol: kernel.resources.symbol.clone(),
            cooperative: false,
            parameters: kernel.parameters.clone(),
            variables: cubin.variables.iter().map(variable).collect(),
        }
    }
}

/// One run of a plan with what its buffers begin with.
pub struct Run<'a> {
    pub plan: &'a ConcretePlan,
    pub starts: &'a [Vec<u8>],
    /// An earlier run of the job whose buffers it takes over: what a kernel remembers by address then speaks of others'
    /// contents.
    pub reuse: Option<usize>,
}

/// The job for device `ordinal`, and the parts that go with it. All runs happen in one process with each kernel loaded
/// once, so that what a kernel keeps from one run to the next is there in the next.
///
/// # Errors
/// What has nothing to do with the kernels: one that was not compiled, or two that share a variable, which are loaded
/// apart.
pub fn job(images: &BTreeMap<KernelKey, Image>, runs: &[Run], ordinal: i32) -> Result<(Job, Vec<Vec<u8>>), String> {
    if let Some(name) = shared_variable(images) {
        return Err(format!("several kernels use the variable `{name}`, and each would have one of its own"));
    }
    let mut made = Job { device: ordinal, kernels: vec![], buffers: vec![], steps: vec![] };
    let mut parts = vec![];
    let mut kernels: BTreeMap<KernelKey, usize> = BTreeMap::new();
    for (key, image) in images {
        kernels.insert(key.clone(), made.kernels.len());
        let parameters = image.parameters.clone();
        made.kernels.push(job::Kernel { image: parts.len(), symbol: image.symbol.clone(), parameters });
        parts.push(image.bytes.clone());
    }
    let loaded = Loaded { kernels: &kernels, images };
    let mut begins: Vec<usize> = vec![];
    for run in runs {
        let earlier = run.reuse.and_then(|n| begins.get(n).copied());
        let first = earlier.unwrap_or(made.buffers.len());
        begins.push(first);
        for (n, (buffer, contents)) in run.plan.buffers.iter().zip(run.starts).enumerate() {
            let new = placed(buffer, contents, &mut parts);
            match earlier {
                Some(_) => made.steps.push(Step::Reset { buffer: first + n, start: new.start }),
                None => made.buffers.push(new),
            }
        }
        // Variables of the modules that the contract fills: their symbols, in the kernels that have them.
        let variables: Vec<Vec<(usize, String)>> =
            run.plan.buffers.iter().map(|b| homes(images, &kernels, b.symbol.as_deref())).collect();
        for ((buffer, contents), homes) in run.plan.buffers.iter().zip(run.starts).zip(&variables) {
            for (kernel, name) in homes {
                made.steps.push(Step::Symbol { kernel: *kernel, name: name.clone(), part: parts.len() });
            }
            if buffer.symbol.is_some() {
                parts.push(contents.clone());
            }
        }
        for step in taken(run.plan) {
            made.steps.push(loaded.step(step, first)?);
        }
        for (n, (b, homes)) in run.plan.buffers.iter().zip(&variables).enumerate().filter(|(_, (b, _))| is_read(b)) {
            made.steps.push(match homes.first() {
                Some((kernel, name)) => Step::ReadSymbol { kernel: *kernel, name: name.clone(), bytes: b.bytes },
                None => Step::Read { buffer: first + n },
            });
        }
    }
    Ok((made, parts))
}

/// The steps that do something: a launch without blocks is an error of the driver that leaves all memory as it is.
pub(super) fn taken(plan: &ConcretePlan) -> impl Iterator<Item = &ConcreteStep> {
    plan.steps.iter().filter(|s| !matches!(s, ConcreteStep::Launch(l) if !l.runs()))
}

/// Whether the bytes afterwards are of interest.
fn is_read(buffer: &ConcreteBuffer) -> bool {
    buffer.role != Role::Temp
}

fn placed(buffer: &ConcreteBuffer, contents: &[u8], parts: &mut Vec<Vec<u8>>) -> Buffer {
    let start = match &buffer.start {
        Start::Zero => job::Start::Byte(0),
        Start::Poison(byte) => job::Start::Byte(*byte),
        Start::Contents(_) => {
            parts.push(contents.to_vec());
            job::Start::Part(parts.len() - 1)
        }
    };
    // No better aligned than the contract promises.
    let before = if buffer.align < DEVICE_ALIGNMENT { buffer.align } else { 0 };
    Buffer { bytes: buffer.bytes, before, start }
}

/// The kernels that have the variable of this name, with its symbol there.
pub(super) fn homes(
    images: &BTreeMap<KernelKey, Image>,
    kernels: &BTreeMap<KernelKey, usize>,
    name: Option<&str>,
) -> Vec<(usize, String)> {
    let Some(name) = name else { return vec![] };
    let mut found = vec![];
    for (key, image) in images {
        let own = image.variables.iter().find(|v| is_symbol_of(&v.symbol, name));
        found.extend(own.zip(kernels.get(key)).map(|(v, k)| (*k, v.symbol.clone())));
    }
    found
}

/// A module variable that several kernels of a side can write.
pub(super) fn shared_variable(images: &BTreeMap<KernelKey, Image>) -> Option<String> {
    let mut seen = std::collections::BTreeSet::new();
    let mut globals = images.values().flat_map(|i| &i.variables).filter(|v| v.is_global);
    globals.find(|v| !seen.insert(v.symbol.clone())).map(|v| v.symbol.clone())
}

pub(super) struct Loaded<'a> {
    pub kernels: &'a BTreeMap<KernelKey, usize>,
    pub images: &'a BTreeMap<KernelKey, Image>,
}

impl Loaded<'_> {
    /// A step of a run whose buffers begin at `first`.
    pub fn step(&self, step: &ConcreteStep, first: usize) -> Result<Step, String> {
        Ok(match step {
            ConcreteStep::Launch(l) => Step::Launch(self.launch(l, first)?),
            ConcreteStep::Fill { buffer, offset, bytes, byte } => {
                Step::Fill { buffer: first + buffer, offset: *offset, bytes: *bytes, byte: *byte }
            }
            ConcreteStep::Copy { from, from_offset, to, to_offset, bytes } => Step::Copy {
                from: first + from,
                from_offset: *from_offset,
                to: first + to,
                to_offset: *to_offset,
                bytes: *bytes,
            },
        })
    }

    fn launch(&self, l: &ConcreteLaunch, first: usize) -> Result<job::Launch, String> {
        let key = KernelKey::of(l);
        let kernel = *self.kernels.get(&key).ok_or_else(|| format!("`{key}` was not compiled"))?;
        let argument = |a: &Binding| match a {
            Binding::Null => Argument::Bytes(vec![0; 8]),
            Binding::Scalar { bytes, .. } => Argument::Bytes(bytes.clone()),
            Binding::Buffer { buffer, offset } => Argument::Address { buffer: first + buffer, offset: *offset },
        };
        Ok(job::Launch {
            kernel,
            grid: l.grid,
            block: l.block,
            shared: l.shared,
            cluster: l.cluster.filter(|c| *c != [1, 1, 1]),
            cooperative: self.images.get(&key).is_some_and(|i| i.cooperative),
            arguments: l.args.iter().map(argument).collect(),
        })
    }
}

/// A finished job as runs; `contents` is what its steps read. A GPU has no findings and no counters, and does not say what
/// was written: an element that has its poison afterwards counts as unwritten.
pub fn rans(runs: &[Run], done: &Done, contents: Vec<Vec<u8>>) -> Vec<Ran> {
    let mut contents = contents.into_iter();
    let mut begins: Vec<usize> = vec![];
    let mut next = 0;
    let mut found = vec![];
    for run in runs {
        let earlier = run.reuse.and_then(|n| begins.get(n).copied());
        let first = earlier.unwrap_or(next);
        begins.push(first);
        next = next.max(first + run.plan.buffers.len());
        let beside = done.guards.iter().filter_map(|n| run.plan.buffers.get(n.checked_sub(first)?));
        let mut ran = Ran {
            empty_launches: run.plan.launches().filter(|l| !l.runs()).count() as u32,
            guards: beside.map(|b| b.name.clone()).collect(),
            ..Ran::default()
        };
        let wanted = run.plan.buffers.iter().zip(run.starts).filter(|(b, _)| is_read(b));
        for ((buffer, start), bytes) in wanted.zip(contents.by_ref()) {
            afterwards(buffer, start, bytes, &mut ran);
        }
        found.push(ran);
    }
    found
}

/// What a buffer says of a run.
fn afterwards(buffer: &ConcreteBuffer, start: &[u8], bytes: Vec<u8>, ran: &mut Ran) {
    match buffer.role {
        Role::In => {
            if let Some(first) = bytes.iter().zip(start).position(|(a, b)| a != b) {
                ran.changed_inputs.push((buffer.name.clone(), Some(first as u64 / u64::from(buffer.dtype.bytes()))));
            }
        }
        Role::Out | Role::InOut => {
            let poisoned = matches!(buffer.start, Start::Poison(_));
            let unwritten = if poisoned { unchanged(&bytes, start, buffer.dtype.bytes() as usize) } else { vec![] };
            ran.outputs.push(Output {
                name: buffer.name.clone(),
                dtype: buffer.dtype,
                bytes,
                start: start.to_vec(),
                unwritten,
                writes: buffer.writes.clone(),
            });
        }
        Role::Scalar | Role::Temp => {}
    }
}

/// Elements that are as they were, as ranges.
fn unchanged(now: &[u8], before: &[u8], width: usize) -> Vec<std::ops::Range<u64>> {
    let mut found: Vec<std::ops::Range<u64>> = vec![];
    for (i, (a, b)) in (0u64..).zip(now.chunks_exact(width).zip(before.chunks_exact(width))) {
        match found.last_mut() {
            Some(last) if a == b && last.end == i => last.end += 1,
            _ if a == b => found.push(i..i + 1),
            _ => {}
        }
    }
    found
}

/// The run in which a launch failed on the device, and the failure in the words of a run.
pub fn stopped(runs: &[Run], job: &Job, failed: &job::Failed) -> (usize, Stopped) {
    let launches = job.steps.iter().take(failed.step).filter(|s| matches!(s, Step::Launch(_))).count();
    let ran = |run: &Run| run.plan.launches().filter(|l| l.runs()).map(KernelKey::of).collect::<Vec<_>>();
    let all: Vec<(usize, KernelKey)> =
        runs.iter().enumerate().flat_map(|(n, r)| ran(r).into_iter().map(move |k| (n, k))).collect();
    let (n, kernel) = all.get(launches).map_or((0, String::new()), |(n, k)| (*n, k.to_string()));
    (n, Stopped::Launch { kernel, why: failed.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Scalar;

    fn plan() -> ConcretePlan {
        let buffer = |name: &str, role, start| ConcreteBuffer {
            name: name.into(),
            role,
            dtype: Scalar::F32,
            elements: 4,
            bytes: 16,
            align: 16,
            start,
            writes: 0..4,
            symbol: None,
        };
        ConcretePlan {
            buffers: vec![
                buffer("in", Role::In, Start::Zero),
                buffer("temp", Role::Temp, Start::Poison(0xff)),
                buffer("out", Role::Out, Start::Poison(0xff)),
            ],
            steps: vec![
                ConcreteStep::Fill { buffer: 1, offset: 0, bytes: 16, byte: 0 },
                ConcreteStep::Launch(ConcreteLaunch {
                    kernel: "k".into(),
                    template: vec![],
                    grid: [0, 1, 1],
                    block: [32, 1, 1],
                    shared: 0,
                    cluster: None,
                    args: vec![],
                    initialises: false,
                }),
            ],
        }
    }

    #[test]
    fn an_answer_speaks_of_inputs_guards_and_what_was_not_written() {
        let starts = vec![vec![0; 16], vec![0xff; 16], vec![0xff; 16]];
        let mut input = vec![0; 16];
        input[9] = 1;
        let mut output = vec![0xff; 16];
        output[4..8].copy_from_slice(&1f32.to_le_bytes());
        let done = Done::default();
        let plan = plan();
        let run = || Run { plan: &plan, starts: &starts, reuse: None };
        let contents = vec![vec![0; 16], vec![0xff; 16], input, output];
        let mut both = rans(&[run(), run()], &Done { guards: vec![4], ..done }, contents);
        let ran = both.pop().unwrap();
        assert_eq!(both[0].outputs[0].unwritten.first(), Some(&(0..4)));
        assert!(both[0].changed_inputs.is_empty() && both[0].guards.is_empty());
        assert_eq!(ran.changed_inputs, [("in".to_owned(), Some(2))]);
        assert_eq!(ran.guards, ["temp"]);
        assert_eq!(ran.outputs[0].unwritten, [0..1, 2..4]);
        assert_eq!(ran.empty_launches, 1);
    }

    #[test]
    fn launches_without_blocks_are_left_out_and_failures_name_their_kernel() {
        let starts = vec![vec![0; 16]; 3];
        let mut later = plan();
        let plan = plan();
        let run = |plan| Run { plan, starts: &starts, reuse: None };
        let (job, parts) = job(&BTreeMap::new(), &[run(&plan), run(&plan)], 0).unwrap();
        // A fill and two buffers to be read, of each run.
        assert_eq!((job.steps.len(), parts.len(), job.buffers[0].before), (6, 0, 16));
        assert!(matches!(job.steps[3], Step::Fill { buffer: 4, .. }));
        let failed = |step| job::Failed { step, stage: job::Stage::Run, error: "CUDA_ERROR_X".into() };
        if let ConcreteStep::Launch(l) = &mut later.steps[1] {
            l.grid = [1, 1, 1];
        }
        let runs = [run(&later), run(&later)];
        let launch = |kernel| {
            let arguments = vec![];
            let one = [1, 1, 1];
            Step::Launch(job::Launch {
                kernel,
                grid: one,
                block: one,
                shared: 0,
                cluster: None,
                cooperative: false,
                arguments,
            })
        };
        let read = || Step::Read { buffer: 0 };
        let job = Job { steps: vec![launch(0), read(), launch(0), read()], ..job };
        let said = |step| stopped(&runs, &job, &failed(step));
        assert_eq!(said(0).0, 0);
        let (n, why) = said(2);
        assert_eq!(n, 1);
        assert_eq!(why.to_string(), "the launch of `k` fails: the kernel fails while it runs: CUDA_ERROR_X");
    }
}
