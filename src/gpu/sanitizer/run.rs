//! The process that owns the GPU under `compute-sanitizer`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use super::super::client::Runner;
use super::super::job::{Done, GpuError, Job};
use super::super::tool::{Scratch, find};
use super::{Finding, Tool, counted, finished, group, parse};

/// Names another program than the `compute-sanitizer` that is found.
pub const VARIABLE: &str = "KOPT_COMPUTE_SANITIZER";
/// Records of one run: more say nothing new.
const MOST_RECORDS: u32 = 2000;
/// Bytes that the tool keeps free behind each allocation, so that an access beyond one does not lead into the next.
const PADDING: u32 = 4096;

/// Where the tool is.
///
/// # Errors
/// That it is nowhere, with what to do.
pub fn program() -> Result<PathBuf, String> {
    find("compute-sanitizer", VARIABLE)
}

/// Runs a job under a tool. `worker` is the command that owns the GPU; the run may take `limit`, and as long again to
/// write its report.
///
/// # Errors
/// Why the tool says nothing: it is refused, crashes, takes too long, or its report cannot be read.
pub fn watch(
    program: &Path,
    tool: Tool,
    worker: (&Path, &str),
    job: &Job,
    parts: &[&[u8]],
    limit: Duration,
) -> Result<Vec<Finding>, String> {
    let scratch = Scratch::new().map_err(|e| format!("no folder for its report: {e}"))?;
    let arguments = arguments(tool, &scratch, worker);
    let runner = Runner::new(program.to_owned(), arguments, limit);
    let (done, status) = runner.watched(job, parts, limit);
    judge(tool, done, status, scratch.text(REPORT), &scratch.text(LOG).unwrap_or_default())
}

const REPORT: &str = "report.xml";
const LOG: &str = "log.txt";

fn arguments(tool: Tool, scratch: &Scratch, (worker, command): (&Path, &str)) -> Vec<OsString> {
    let mut out: Vec<OsString> = vec!["--tool".into(), tool.word().into(), "--xml".into()];
    out.extend(["--save".into(), scratch.file(REPORT).into(), "--log-file".into(), scratch.file(LOG).into()]);
    out.extend(["--show-backtrace".into(), "device".into()]);
    out.extend(["--print-limit".into(), MOST_RECORDS.to_string().into()]);
    if tool == Tool::Memcheck {
        out.extend(["--padding".into(), PADDING.to_string().into(), "--report-api-errors".into(), "no".into()]);
    }
    out.extend([worker.into(), command.into()]);
    out
}

/// What may be concluded. Nothing found counts only where the run came to its end and the tool says that it watched.
fn judge(
    tool: Tool,
    done: Result<Done, GpuError>,
    status: Option<ExitStatus>,
    report: Option<String>,
    log: &str,
) -> Result<Vec<Finding>, String> {
    let found = match report {
        Some(text) if !text.trim().is_empty() => parse(tool, &text).map(group).map_err(|e| e.to_string()),
        _ => Err("it wrote no report".to_owned()),
    };
    match &found {
        // What was seen was seen, however the run ended.
        Ok(list) if !list.is_empty() => return found,
        _ => {}
    }
    match done {
        Err(GpuError::TimedOut { seconds }) => return Err(format!("no end within {seconds} s (--gpu-limit)")),
        // It would not start, or died before anything ran: its own words say more than how it ended.
        Err(e @ (GpuError::Crashed { .. } | GpuError::NotRun(_))) => {
            return Err(match finished(log) {
                Err(why) if !log.trim().is_empty() => why,
                _ => e.to_string(),
            });
        }
        Err(GpuError::Kernel(failed)) => {
            finished(log)?;
            found?;
            return Err(format!("a launch fails under it, and it names no finding: {failed}"));
        }
        Ok(_) => {}
    }
    finished(log)?;
    let Some(status) = status else { return Err("it did not end by itself".to_owned()) };
    if !status.success() {
        return Err(format!("it ended with {status}"));
    }
    match (found, counted(log)) {
        (Ok(list), n) if list.is_empty() && n > 0 => Err(format!("it counts {n} errors that its report does not hold")),
        (found, _) => found,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::time::Instant;

    use super::*;
    use crate::child::frame;
    use crate::gpu::job::Reply;

    /// A program that takes one message, answers it with `reply`, and then does what `script` says; `$save` and `$log` are
    /// the files that it was told to write, `$data` the recorded reports.
    fn fake(folder: &Path, reply: Option<&Reply>, script: &str) -> PathBuf {
        let mut message = vec![];
        if let Some(reply) = reply {
            frame::write(&mut message, &[&serde_json::to_vec(reply).unwrap()]).unwrap();
        }
        std::fs::write(folder.join("reply"), message).unwrap();
        let data = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/gpu/tools");
        let text = format!(
            "#!/bin/sh\nwhile [ $# -gt 0 ]; do case $1 in --save) save=$2;; --log-file) log=$2;; esac; shift; done\n\
             data={data}\necho '========= COMPUTE-SANITIZER'\ncat {}\n{script}\n",
            folder.join("reply").display()
        );
        let path = folder.join("tool");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn outcome(reply: Option<&Reply>, script: &str) -> Result<Vec<Finding>, String> {
        let folder = tempfile::tempdir().unwrap();
        let program = fake(folder.path(), reply, script);
        let job = Job { device: 0, kernels: vec![], buffers: vec![], steps: vec![] };
        watch(&program, Tool::Memcheck, (Path::new("worker"), "x"), &job, &[], Duration::from_secs(2))
    }

    #[test]
    fn every_way_to_end_is_named_and_none_passes_silently() {
        let done = Reply::Done(Done::default());
        let failed = Reply::Failed(crate::gpu::job::Failed {
            step: 0,
            stage: crate::gpu::job::Stage::Run,
            error: "CUDA_ERROR_LAUNCH_FAILED".into(),
        });
        let wait = "cat >/dev/null;";
        let good = format!("{wait} cp $data/nothing.xml $save; cp $data/memcheck-transpose.log $log");
        assert_eq!(outcome(Some(&done), &good), Ok(vec![]));
        let found = format!("{wait} cp $data/memcheck-oob.xml $save; cp $data/memcheck-oob.log $log");
        assert_eq!(outcome(Some(&failed), &found).map(|f| f.len()), Ok(1));
        let cases: [(Option<&Reply>, String, &str); 10] = [
            (Some(&done), format!("{wait} cp $data/memcheck-transpose.log $log"), "wrote no report"),
            (Some(&done), format!("{good}; echo '<Compute' > $save"), "no XML"),
            (Some(&done), format!("{wait} cp $data/nothing.xml $save"), "did not come to an end"),
            (Some(&done), format!("{good}; exit 7"), "7"),
            (Some(&done), format!("{good}; cp $data/memcheck-oob.log $log"), "counts 28 errors"),
            (Some(&done), format!("{wait} sleep 30"), "did not come to an end"),
            (Some(&failed), good.clone(), "names no finding"),
            (
                None,
                "echo '========= Internal Sanitizer Error: no device' > $log; exit 1".into(),
                "Internal Sanitizer Error",
            ),
            (None, "exec sleep 30".into(), "no end within 2 s"),
            (None, "kill -SEGV $$".into(), "ended"),
        ];
        for (reply, script, why) in cases {
            let start = Instant::now();
            let got = outcome(reply, &script);
            assert!(got.as_ref().is_err_and(|e| e.contains(why)), "{script}: {got:?}");
            assert!(start.elapsed() < Duration::from_secs(10), "{script}");
        }
    }
}
