//! The parent's side: one process per candidate, a time limit, and its process group ended when it is over.

use std::path::PathBuf;
use std::time::Duration;

use super::job::{Done, GpuError, Job, Reply};
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
        let meta = serde_json::to_vec(job).map_err(|e| GpuError::NotRun(e.to_string()))?;
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
            Reply::Done(done) => Ok((done, parts.collect())),
            Reply::Failed(failed) => {
                // The context is gone after a fault, and the process with it.
                self.0.end();
                Err(GpuError::Kernel(failed))
            }
            Reply::NotRun { why } => Err(GpuError::NotRun(why)),
        }
    }
}
