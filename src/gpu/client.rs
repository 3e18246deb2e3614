//! The parent's side: one process per candidate, a time limit, and its process group ended when it is over.

use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use super::job::{Done, GpuError, Job, Reply, Request};
use super::timing::{Peaks, Timed, Timing};
use crate::child::{Lost, Resident};

/// A process that owns a GPU for one candidate.
#[derive(Debug)]
pub struct Runner(Resident);

impl Runner {
    /// `program` with `arguments` must end up in [`super::worker::serve`] on its standard streams. A job may take
    /// `limit`.
    pub fn new(program: PathBuf, arguments: Vec<std::ffi::OsString>, limit: Duration) -> Runner {
        Runner(Resident::new(program, arguments, limit))
    }

    /// Runs a job; returns what is known of the run, and the buffers that were wanted back.
    ///
    /// # Errors
    /// See [`GpuError`].
    pub fn run(&self, job: &Job, parts: &[&[u8]]) -> Result<(Done, Vec<Vec<u8>>), GpuError> {
        match self.ask(&Request::Run(job.clone()), parts)? {
            (Reply::Done(done), contents) => Ok((done, contents)),
            (other, _) => Err(unexpected(&other)),
        }
    }

    /// Times versions; returns samples, and the answers that differ.
    ///
    /// # Errors
    /// See [`GpuError`]; the step of a failure is the arm that failed.
    pub fn time(&self, timing: &Timing, parts: &[&[u8]]) -> Result<(Timed, Vec<Vec<u8>>), GpuError> {
        match self.ask(&Request::Time(timing.clone()), parts)? {
            (Reply::Timed(timed), contents) => Ok((timed, contents)),
            (other, _) => Err(unexpected(&other)),
        }
    }

    /// What a device does at most, measured.
    ///
    /// # Errors
    /// See [`GpuError`].
    pub fn peaks(&self, device: i32) -> Result<Peaks, GpuError> {
        match self.ask(&Request::Peaks(device), &[])? {
            (Reply::Peaks(peaks), _) => Ok(peaks),
            (other, _) => Err(unexpected(&other)),
        }
    }

    /// Runs a job under a tool that watches the process, and lets both end by themselves, which may take `rest`, so that
    /// the tool can write down what it saw. The buffers have exactly their size, see [`Request::Check`].
    pub fn watched(&self, job: &Job, parts: &[&[u8]], rest: Duration) -> (Result<Done, GpuError>, Option<ExitStatus>) {
        let done = match self.reply(&Request::Check(job.clone()), parts) {
            Ok((Reply::Done(done), _)) => Ok(done),
            Ok((Reply::Failed(failed), _)) => Err(GpuError::Kernel(failed)),
            Ok((other, _)) => Err(unexpected(&other)),
            Err(e) => Err(e),
        };
        (done, self.0.finish(rest))
    }

    fn ask(&self, request: &Request, parts: &[&[u8]]) -> Result<(Reply, Vec<Vec<u8>>), GpuError> {
        match self.reply(request, parts)? {
            (Reply::Failed(failed), _) => {
                // The context is gone after a fault, and the process with it.
                self.0.end();
                Err(GpuError::Kernel(failed))
            }
            reply => Ok(reply),
        }
    }

    fn reply(&self, request: &Request, parts: &[&[u8]]) -> Result<(Reply, Vec<Vec<u8>>), GpuError> {
        let meta = serde_json::to_vec(request).map_err(|e| GpuError::NotRun(e.to_string()))?;
        let mut message: Vec<&[u8]> = vec![&meta];
        message.extend(parts);
        let reply = self.0.ask(&message).map_err(|lost| match lost {
            Lost::TimedOut { seconds } => GpuError::TimedOut { seconds },
            Lost::Crashed { status } => GpuError::Crashed { status },
            Lost::NotStarted { .. } => GpuError::NotRun(lost.to_string()),
        })?;
        let mut parts = reply.into_iter();
        let meta = parts.next().unwrap_or_default();
        match serde_json::from_slice(&meta).map_err(|e| GpuError::NotRun(e.to_string()))? {
            Reply::NotRun { why } => Err(GpuError::NotRun(why)),
            reply => Ok((reply, parts.collect())),
        }
    }
}

fn unexpected(reply: &Reply) -> GpuError {
    let kind = match reply {
        Reply::Done(_) => "a run",
        Reply::Timed(_) => "samples",
        _ => "something",
    };
    GpuError::NotRun(format!("the process that owns the device answered with {kind} that was not asked for"))
}
