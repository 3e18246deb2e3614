//! A concrete plan as a job for the process that owns a GPU, and its answer in the same words as a run in the
//! interpreter, so that both are compared by the same code.

use std::collections::BTreeMap;

use super::execute::{Output, Ran, Stopped};
use super::side::{KernelKey, Side};
use crate::contract::{Binding, ConcreteLaunch, ConcretePlan, ConcreteStep, DEVICE_ALIGNMENT, Role, Start};
use crate::gpu::job::{self, Argument, Buffer, Done, Job, Step};

/// What the driver loads for a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// A CUBIN for one architecture, or PTX text that the driver compiles.
    pub bytes: Vec<u8>,
    pub symbol: String,
    /// Its blocks wait for each other and must all be there at once.
    pub cooperative: bool,
}

impl Image {
    /// The CUBIN where there is one, else the PTX.
    pub fn new(ptx: &str, cubin: &[u8], symbol: &str) -> Image {
        let bytes = if cubin.is_empty() { ptx.as_bytes().to_vec() } else { cubin.to_vec() };
        // The handle of a grid is handed to a kernel in these registers; nothing else reads them.
        Image { bytes, symbol: symbol.to_owned(), cooperative: ptx.contains("%envreg") }
    }
}

/// The job for device `ordinal`, and the parts that go with it.
///
/// # Errors
/// What has nothing to do with the kernels: one that was not compiled.
pub fn job(
    side: &Side,
    images: &BTreeMap<KernelKey, Image>,
    plan: &ConcretePlan,
    starts: &[Vec<u8>],
    ordinal: i32,
) -> Result<(Job, Vec<Vec<u8>>), String> {
    let mut made = Job { device: ordinal, kernels: vec![], buffers: vec![], steps: vec![] };
    let mut parts = vec![];
    let mut kernels: BTreeMap<KernelKey, usize> = BTreeMap::new();
    for (key, image) in images {
        let program = side.programs.get(key).ok_or_else(|| format!("`{key}` was not compiled"))?;
        let parameters = program.params.iter().map(|p| p.size).collect();
        kernels.insert(key.clone(), made.kernels.len());
        made.kernels.push(job::Kernel { image: parts.len(), symbol: image.symbol.clone(), parameters });
        parts.push(image.bytes.clone());
    }
    for (buffer, contents) in plan.buffers.iter().zip(starts) {
        let start = match &buffer.start {
            Start::Zero => job::Start::Byte(0),
            Start::Poison(byte) => job::Start::Byte(*byte),
            Start::Contents(_) => {
                parts.push(contents.clone());
                job::Start::Part(parts.len() - 1)
            }
        };
        // No better aligned than the contract promises.
        let before = if buffer.align < DEVICE_ALIGNMENT { buffer.align } else { 0 };
        made.buffers.push(Buffer { bytes: buffer.bytes, before, start, read_back: buffer.role != Role::Temp });
    }
    for step in plan.steps.iter().filter(|s| !matches!(s, ConcreteStep::Launch(l) if !l.runs())) {
        made.steps.push(match step {
            ConcreteStep::Launch(l) => Step::Launch(launch(l, &kernels, images)?),
            ConcreteStep::Fill { buffer, offset, bytes, byte } => {
                Step::Fill { buffer: *buffer, offset: *offset, bytes: *bytes, byte: *byte }
            }
            ConcreteStep::Copy { from, from_offset, to, to_offset, bytes } => {
                Step::Copy { from: *from, from_offset: *from_offset, to: *to, to_offset: *to_offset, bytes: *bytes }
            }
        });
    }
    Ok((made, parts))
}

fn launch(
    l: &ConcreteLaunch,
    kernels: &BTreeMap<KernelKey, usize>,
    images: &BTreeMap<KernelKey, Image>,
) -> Result<job::Launch, String> {
    let key = KernelKey::of(l);
    let kernel = *kernels.get(&key).ok_or_else(|| format!("`{key}` was not compiled"))?;
    let argument = |a: &Binding| match a {
        Binding::Null => Argument::Bytes(vec![0; 8]),
        Binding::Scalar { bytes, .. } => Argument::Bytes(bytes.clone()),
        Binding::Buffer { buffer, offset } => Argument::Address { buffer: *buffer, offset: *offset },
    };
    Ok(job::Launch {
        kernel,
        grid: l.grid,
        block: l.block,
        shared: l.shared,
        cluster: l.cluster.filter(|c| *c != [1, 1, 1]),
        cooperative: images.get(&key).is_some_and(|i| i.cooperative),
        arguments: l.args.iter().map(argument).collect(),
    })
}

/// A finished job as a run; `contents` are the buffers that were read back. A GPU has no findings and no counters, and
/// does not say what was written: an element that has its poison afterwards counts as unwritten.
pub fn ran(plan: &ConcretePlan, starts: &[Vec<u8>], done: &Done, contents: Vec<Vec<u8>>) -> Ran {
    let mut ran = Ran {
        empty_launches: plan.launches().filter(|l| !l.runs()).count() as u32,
        guards: done.guards.iter().filter_map(|n| plan.buffers.get(*n)).map(|b| b.name.clone()).collect(),
        ..Ran::default()
    };
    let wanted = plan.buffers.iter().zip(starts).filter(|(b, _)| b.role != Role::Temp);
    for ((buffer, start), bytes) in wanted.zip(contents) {
        match buffer.role {
            Role::In => {
                if let Some(first) = bytes.iter().zip(start).position(|(a, b)| a != b) {
                    ran.changed_inputs.push((buffer.name.clone(), first as u64 / u64::from(buffer.dtype.bytes())));
                }
            }
            Role::Out | Role::InOut => {
                let poisoned = matches!(buffer.start, Start::Poison(_));
                let unwritten = if poisoned { unchanged(&bytes, start, buffer.dtype.bytes() as usize) } else { vec![] };
                ran.outputs.push(Output {
                    name: buffer.name.clone(),
                    dtype: buffer.dtype,
                    bytes,
                    start: start.clone(),
                    unwritten,
                    writes: buffer.writes.clone(),
                });
            }
            Role::Scalar | Role::Temp => {}
        }
    }
    ran
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

/// A launch that failed on the device, in the words of a run.
pub fn stopped(plan: &ConcretePlan, failed: &job::Failed) -> Stopped {
    // Launches of no block were left out of the job.
    let steps: Vec<&ConcreteStep> =
        plan.steps.iter().filter(|s| !matches!(s, ConcreteStep::Launch(l) if !l.runs())).collect();
    let kernel = match steps.get(failed.step) {
        Some(ConcreteStep::Launch(l)) => KernelKey::of(l).to_string(),
        _ => format!("step {}", failed.step + 1),
    };
    Stopped::Launch { kernel, why: failed.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::ConcreteBuffer;
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
        let done = Done { guards: vec![1], ..Done::default() };
        let ran = ran(&plan(), &starts, &done, vec![input, output]);
        assert_eq!(ran.changed_inputs, [("in".to_owned(), 2)]);
        assert_eq!(ran.guards, ["temp"]);
        assert_eq!(ran.outputs[0].unwritten, [0..1, 2..4]);
        assert_eq!(ran.empty_launches, 1);
    }

    #[test]
    fn launches_without_blocks_are_left_out_and_failures_name_their_kernel() {
        let side = Side {
            plan: crate::contract::Plan::default(),
            programs: BTreeMap::new(),
            resources: BTreeMap::new(),
            arch: "sm_90".into(),
            arithmetic: 0.0,
        };
        let starts = vec![vec![0; 16]; 3];
        let (job, parts) = job(&side, &BTreeMap::new(), &plan(), &starts, 0).unwrap();
        assert_eq!((job.steps.len(), parts.len(), job.buffers[0].before), (1, 0, 16));
        let failed = job::Failed { step: 0, stage: job::Stage::Run, error: "CUDA_ERROR_X".into() };
        assert_eq!(
            stopped(&plan(), &failed).to_string(),
            "the launch of `step 1` fails: the kernel fails while it runs: CUDA_ERROR_X"
        );
    }
}
