//! The process that owns the GPU under `ncu`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::super::client::Runner;
use super::super::job::{GpuError, Job};
use super::super::tool::{Scratch, find};
use super::{Launch, Line, METRICS, SECTIONS, launches, lines};
use crate::child;

/// Names another program than the `ncu` that is found.
pub const VARIABLE: &str = "KOPT_NCU";

/// What was counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Counted {
    pub launches: Vec<Launch>,
    /// Counters by source line, or why there are none.
    pub lines: Result<Vec<Line>, String>,
    /// `NVIDIA H200, sm_90, driver for CUDA 13.0`
    pub device: String,
}

/// Where the tool is.
///
/// # Errors
/// That it is nowhere, with what to do.
pub fn program() -> Result<PathBuf, String> {
    find("ncu", VARIABLE)
}

const REPORT: &str = "report";
const LOG: &str = "log.txt";

/// Runs a job under ncu: caches empty before each launch, clocks as they are. `worker` is the command that owns the GPU.
///
/// # Errors
/// Why there are no counters, with the next step where one is known.
pub fn profile(
    program: &Path,
    worker: (&Path, &str),
    job: &Job,
    parts: &[&[u8]],
    limit: Duration,
) -> Result<Counted, String> {
    let scratch = Scratch::new().map_err(|e| format!("no folder for its report: {e}"))?;
    let runner = Runner::new(program.to_owned(), arguments(&scratch, worker), limit);
    let (done, status) = runner.watched(job, parts, limit);
    let log = scratch.text(LOG).unwrap_or_default();
    if let Some(refused) = refusal(&log) {
        return Err(refused);
    }
    let done = match done {
        Ok(done) => done,
        Err(GpuError::TimedOut { seconds }) => return Err(format!("ncu: no end within {seconds} s (--gpu-limit)")),
        Err(e) => return Err(format!("under ncu: {e}")),
    };
    match status {
        None => return Err("ncu did not end by itself".to_owned()),
        Some(s) if !s.success() => return Err(format!("ncu ended with {s}")),
        Some(_) => {}
    }
    let page = |name: &str, more: &[&str]| page(program, &scratch, name, more, limit);
    let launches = launches(&page("raw", &[])?).map_err(|e| format!("ncu: {e}"))?;
    if launches.is_empty() {
        return Err("ncu names no launch".to_owned());
    }
    let by_line = page("source", &["--print-source", "cuda,sass"]);
    let by_line = by_line.and_then(|text| lines(&text).map_err(|e| format!("ncu: {e}")));
    Ok(Counted { launches, lines: by_line, device: format!("{}, driver for CUDA {}", done.device, done.driver) })
}

fn arguments(scratch: &Scratch, (worker, command): (&Path, &str)) -> Vec<OsString> {
    let mut out: Vec<OsString> =
        ["--target-processes", "all", "--clock-control", "none", "--cache-control", "all"].map(Into::into).into();
    out.extend(["--log-file".into(), scratch.file(LOG).into()]);
    out.extend(["--force-overwrite".into(), "--export".into(), scratch.file(REPORT).into()]);
    for section in SECTIONS {
        out.extend(["--section".into(), (*section).into()]);
    }
    out.extend(["--metrics".into(), METRICS.join(",").into(), worker.into(), command.into()]);
    out
}

/// A page of the report as text.
fn page(program: &Path, scratch: &Scratch, name: &str, more: &[&str], limit: Duration) -> Result<String, String> {
    let report = scratch.file(&format!("{REPORT}.ncu-rep"));
    if !report.exists() {
        return Err("ncu wrote no report".to_owned());
    }
    let mut command = Command::new(program);
    command.arg("--import").arg(report).args(["--csv", "--page", name, "--print-units", "base"]).args(more);
    let done = child::run(&mut command, limit).map_err(|e| format!("ncu: {e}"))?;
    if done.success() {
        return Ok(done.stdout);
    }
    let why = if done.timed_out { "no end within the limit".to_owned() } else { first_line(&done.log()) };
    Err(format!("ncu cannot print its report: {why}"))
}

fn first_line(text: &str) -> String {
    text.lines().map(str::trim).find(|l| !l.is_empty()).unwrap_or("it says nothing").to_owned()
}

/// What ncu refuses, and what to do about it.
fn refusal(log: &str) -> Option<String> {
    let line = log.lines().find(|l| l.contains("==ERROR==") || l.contains("No kernels were profiled"))?;
    let said = line.trim_start_matches("==ERROR==").trim();
    let next = if log.contains("ERR_NVGPUCTRPERM") {
        "; an administrator permits counters with the driver option NVreg_RestrictProfilingToAdminUsers=0, or run as root"
    } else if log.contains("driver resource was unavailable") || log.contains("already") {
        "; another profiler uses the counters: end it"
    } else {
        ""
    };
    Some(format!("ncu refuses: {said}{next}"))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::child::frame;
    use crate::gpu::job::{Done, Reply};

    /// An `ncu` that answers one message and then does what `script` says; `$out` and `$log` are the files that it was told
    /// to write. Asked to import, it prints the recorded page.
    fn outcome(answers: bool, script: &str, import: &str) -> Result<Counted, String> {
        let folder = tempfile::tempdir().unwrap();
        let mut message = vec![];
        if answers {
            frame::write(&mut message, &[&serde_json::to_vec(&Reply::Done(Done::default())).unwrap()]).unwrap();
        }
        let reply = folder.path().join("reply");
        std::fs::write(&reply, message).unwrap();
        let data = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/gpu/tools");
        let text = format!(
            "#!/bin/sh\ndata={data}\nwhile [ $# -gt 0 ]; do case $1 in --export) out=$2;; --log-file) log=$2;; \
             --page) page=$2;; --import) import=$2;; esac; shift; done\n\
             if [ -n \"$import\" ]; then {import}; exit; fi\ncat {}\n{script}\n",
            reply.display()
        );
        let program = folder.path().join("ncu");
        std::fs::write(&program, text).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let job = Job { device: 0, kernels: vec![], buffers: vec![], steps: vec![] };
        profile(&program, (Path::new("worker"), "x"), &job, &[], Duration::from_secs(2))
    }

    #[test]
    fn counters_come_back_and_every_refusal_is_named() {
        let wait = "cat >/dev/null; touch $out.ncu-rep";
        let print = "cat $data/ncu-$page.csv";
        let good = outcome(true, wait, print).unwrap();
        assert_eq!((good.launches.len(), good.lines.map(|l| l.len())), (1, Ok(10)));
        let no_lines = outcome(true, wait, "[ $page = raw ] && cat $data/ncu-raw.csv").unwrap();
        assert!(no_lines.lines.is_err());
        let denied = "echo '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission' > $log; cat >/dev/null";
        for (answers, script, import, why) in [
            (true, denied, print, "NVreg_RestrictProfilingToAdminUsers"),
            (true, "cat >/dev/null", print, "wrote no report"),
            (
                true,
                "cat >/dev/null; echo '==WARNING== No kernels were profiled.' > $log",
                print,
                "No kernels were profiled",
            ),
            (true, wait, "echo broken", "no table"),
            (true, wait, "echo 'cannot open' >&2; exit 1", "cannot open"),
            (true, wait, "sleep 30", "no end within"),
            (true, "sleep 30", print, "did not end by itself"),
            (true, "cat >/dev/null; exit 9", print, "9"),
            (false, "exec sleep 30", print, "no end within 2 s"),
            (false, "exit 1", print, "ended"),
        ] {
            let got = outcome(answers, script, import);
            assert!(got.as_ref().is_err_and(|e| e.contains(why)), "{script} / {import}: {got:?}");
        }
    }
}
