//! All cells of one side on a device: as few processes as possible, and one for each cell where a launch fails.

use std::collections::BTreeMap;

use super::super::agree::agreements;
use super::super::device::{self, Image, Run};
use super::super::execute::{Ran, Stopped, starts};
use super::super::side::{KernelKey, Side};
use crate::contract::{Cell, ConcretePlan};
use crate::gpu::job::{Done, GpuError, Job};

/// Runs a job in a process that owns the device, with a time limit.
pub type Executor<'a> = &'a dyn Fn(&Job, &[Vec<u8>]) -> Result<(Done, Vec<Vec<u8>>), GpuError>;

/// One side with what a driver loads of it, and who runs it.
pub struct OnDevice<'a> {
    pub side: &'a Side,
    pub images: &'a BTreeMap<KernelKey, Image>,
    /// Ordinal of the device.
    pub ordinal: i32,
    pub run: Executor<'a>,
}

/// Bytes of buffers in one process; contents pass through a pipe.
const CHUNK: u64 = 1 << 30;
/// Bytes of one run, which only a candidate with large temporaries can reach: contents are made on the host.
const MOST_BYTES: u64 = 1 << 30;
/// Cells in one process.
const MOST_CELLS: usize = 64;
/// After so many runs without an end, the others are not tried.
const MOST_HANGS: usize = 2;

/// One cell with its contents.
struct Ready {
    plan: ConcretePlan,
    starts: Vec<Vec<u8>>,
    /// The cell of the chunk whose buffers it takes over.
    reuse: Option<usize>,
}

impl OnDevice<'_> {
    /// Runs of every cell in their order, and the device's name.
    ///
    /// # Errors
    /// Nothing was run, for a reason that says nothing about the kernels.
    pub fn run(&self, cells: &[Cell]) -> Result<(Vec<Ran>, String), String> {
        let mut found = vec![];
        let mut name = String::new();
        let mut hangs = 0;
        let mut at = 0;
        while at < cells.len() {
            let (chunk, next) = self.chunk(cells, at)?;
            at = next;
            match self.together(&chunk) {
                Ok((rans, device)) => {
                    found.extend(rans);
                    name = device;
                }
                Err(GpuError::NotRun(why)) => return Err(why),
                // Which of them it was is seen one by one.
                Err(_) => found.extend(self.apart(&chunk, &mut name, &mut hangs)?),
            }
        }
        Ok((found, name))
    }

    /// Whether the original gives the same bits twice; what is worth saying where it does not.
    ///
    /// # Errors
    /// As [`OnDevice::run`].
    pub fn repeats(&self, cell: Option<&Cell>) -> Result<Option<String>, String> {
        let Some(cell) = cell else { return Ok(None) };
        let (rans, _) = self.run(&[cell.clone(), cell.clone()])?;
        let [a, b] = rans.as_slice() else { return Ok(None) };
        let differing = agreements(a, b).into_iter().find(|a| a.differing > 0);
        Ok(differing.map(|d| format!("the original itself gives other bits in `{}` on each run", d.output)))
    }

    /// Cells from `at` on that go into one process, and the first one that does not.
    fn chunk(&self, cells: &[Cell], at: usize) -> Result<(Vec<Ready>, usize), String> {
        let mut chunk: Vec<Ready> = vec![];
        let mut bytes = 0u64;
        let mut next = at;
        // A later round takes the buffers of the round before, so that it must be in the same process.
        for (n, cell) in cells.iter().enumerate().skip(at) {
            let plan = self.side.plan.concrete(cell).map_err(|e| e.to_string())?;
            if plan.bytes() > MOST_BYTES {
                return Err(format!(
                    "the buffers of one run have {} bytes, and {MOST_BYTES} are run at most",
                    plan.bytes()
                ));
            }
            let full = bytes.saturating_add(plan.bytes()) > CHUNK || chunk.len() >= MOST_CELLS;
            if !chunk.is_empty() && full && cell.round <= 1 {
                break;
            }
            bytes = bytes.saturating_add(plan.bytes());
            let starts = starts(&plan)?;
            let reuse = (cell.round > 1).then(|| chunk.len().checked_sub(1)).flatten();
            chunk.push(Ready { plan, starts, reuse });
            next = n + 1;
        }
        Ok((chunk, next))
    }

    fn together(&self, chunk: &[Ready]) -> Result<(Vec<Ran>, String), GpuError> {
        let runs: Vec<Run> = chunk.iter().map(|r| Run { plan: &r.plan, starts: &r.starts, reuse: r.reuse }).collect();
        let (job, parts) = device::job(self.images, &runs, self.ordinal).map_err(GpuError::NotRun)?;
        let (done, contents) = (self.run)(&job, &parts)?;
        let name = format!("{}, driver for CUDA {}", done.device, done.driver);
        Ok((device::rans(&runs, &done, contents), name))
    }

    fn apart(&self, chunk: &[Ready], name: &mut String, hangs: &mut usize) -> Result<Vec<Ran>, String> {
        let mut found = vec![];
        for ready in chunk {
            let kernel = ready.plan.launches().next().map_or_else(String::new, |l| l.kernel.clone());
            let stopped = |stopped| Ran { stopped: Some(stopped), ..Ran::default() };
            if *hangs >= MOST_HANGS {
                let why = "not tried: others did not end".to_owned();
                found.push(stopped(Stopped::Limit { kernel, why }));
                continue;
            }
            let run = [Run { plan: &ready.plan, starts: &ready.starts, reuse: None }];
            let (job, parts) = device::job(self.images, &run, self.ordinal)?;
            found.push(match (self.run)(&job, &parts) {
                Ok((done, contents)) => {
                    *name = format!("{}, driver for CUDA {}", done.device, done.driver);
                    device::rans(&run, &done, contents).pop().unwrap_or_default()
                }
                Err(GpuError::Kernel(failed)) => stopped(device::stopped(&run, &job, &failed).1),
                Err(e @ GpuError::TimedOut { .. }) => {
                    *hangs += 1;
                    stopped(Stopped::Limit { kernel, why: e.to_string() })
                }
                Err(e @ GpuError::Crashed { .. }) => stopped(Stopped::Launch { kernel, why: e.to_string() }),
                Err(GpuError::NotRun(why)) => return Err(why),
            });
        }
        Ok(found)
    }
}
