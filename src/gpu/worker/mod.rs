//! The process that owns the GPU. It is kopt itself under a hidden command, runs no host code of a candidate, and
//! answers requests until its input ends. After a kernel that faults its context is useless; it answers and ends.

mod clock;
mod images;
mod memory;
mod methods;
mod peaks;
mod run;
mod samples;
mod sets;
mod time;
mod tools;

use std::io::{self, Read, Write};

use cudarc::driver::DriverError;

use self::memory::Around;
use super::driver::{Context, describe, is_present, too_old};
use super::job::{Failed, Reply, Request, Stage};
use crate::child::frame;

/// Answers requests: the first part of one is a [`Request`] in JSON, the others are images and contents.
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
    let request: Request = match serde_json::from_slice(meta) {
        Ok(request) => request,
        Err(e) => return not_run(format!("a request that is none: {e}")),
    };
    if !is_present() {
        return not_run("no driver: libcuda was not found".to_owned());
    }
    match too_old() {
        Ok(None) => {}
        Ok(Some(why)) => return not_run(why),
        Err(e) => return not_run(describe(e)),
    }
    let device = match &request {
        Request::Run(job) | Request::Check(job) => job.device,
        Request::Time(timing) => timing.device,
        Request::Peaks(device) => *device,
    };
    let context = match Context::open(device) {
        Ok(context) => context,
        Err(e) => return not_run(format!("device {device} cannot be opened: {}", describe(e))),
    };
    let answered = match &request {
        Request::Run(job) | Request::Check(job) => {
            let around = if matches!(request, Request::Check(_)) { Around::Nothing } else { Around::Guards };
            run::run(&context, job, parts, around).map(|(done, contents)| (Reply::Done(done), contents))
        }
        Request::Time(timing) => time::time(&context, timing, parts).map(|(t, contents)| (Reply::Timed(t), contents)),
        Request::Peaks(_) => peaks::peaks(&context).map(|peaks| (Reply::Peaks(peaks), vec![])),
    };
    match answered {
        Ok(reply) => reply,
        Err(Trouble::Kernel(failed)) => (Reply::Failed(failed), vec![]),
        Err(Trouble::Other(why)) => not_run(why),
    }
}

enum Trouble {
    Kernel(Failed),
    Other(String),
}

impl From<DriverError> for Trouble {
    fn from(error: DriverError) -> Trouble {
        Trouble::Other(describe(error))
    }
}

type Driver<T> = Result<T, DriverError>;

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

/// The driver's name, `NVIDIA H200, sm_90`.
fn name(context: &Context) -> String {
    format!("{}, {}", context.name, context.arch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_make_no_sense_are_answered() {
        let mut input = vec![];
        frame::write(&mut input, &[b"not json"]).unwrap();
        frame::write(&mut input, &[]).unwrap();
        frame::write(&mut input, &[br#"{"run":{"device":9999,"kernels":[],"buffers":[],"steps":[]}}"#]).unwrap();
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
