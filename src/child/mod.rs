//! Child processes: programs in process groups of their own with a time limit, which ends the whole group; [`frame`]s
//! of bytes between parent and child; and a child that stays for many requests ([`Resident`]).

pub mod frame;
mod resident;

pub use resident::{Lost, Resident};

use std::io::Read;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// What a finished or stopped program left behind.
#[derive(Debug)]
pub struct Finished {
    pub status: Option<ExitStatus>,
    pub stdout: String,
    pub stderr: String,
    pub timed_out: bool,
}

impl Finished {
    pub fn success(&self) -> bool {
        !self.timed_out && self.status.is_some_and(|s| s.success())
    }

    /// Both streams, the error stream last.
    pub fn log(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

/// At most this much of each stream is kept.
const MAX_OUTPUT: u64 = 4 << 20;

/// Runs `command` for at most `limit`. Standard input is empty.
pub fn run(command: &mut Command, limit: Duration) -> std::io::Result<Finished> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    let mut child = command.spawn()?;
    let stdout = child.stdout.take().map(|s| thread::spawn(move || drain(s)));
    let stderr = child.stderr.take().map(|s| thread::spawn(move || drain(s)));
    let end = Instant::now() + limit;
    let mut pause = Duration::from_micros(200);
    let (status, timed_out) = loop {
        if let Some(status) = child.try_wait()? {
            break (Some(status), false);
        }
        if Instant::now() >= end {
            end_group(&mut child);
            break (child.wait().ok(), true);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    };
    let collect = |reader: Option<thread::JoinHandle<String>>| reader.and_then(|r| r.join().ok()).unwrap_or_default();
    Ok(Finished { status, stdout: collect(stdout), stderr: collect(stderr), timed_out })
}

fn drain(stream: impl Read) -> String {
    let mut bytes = vec![];
    let mut limited = stream.take(MAX_OUTPUT);
    // An unreadable stream leaves what was read so far.
    let _ = limited.read_to_end(&mut bytes);
    let _ = std::io::copy(&mut limited.into_inner(), &mut std::io::sink());
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Ends a child and all that it started, where it leads its own process group.
pub fn end_group(child: &mut std::process::Child) {
    #[cfg(unix)]
    if let Ok(id) = i32::try_from(child.id()) {
        // SAFETY: `kill` has no memory precondition; the negative id names the group that this child leads, and the
        // child is not yet waited for, so the id cannot have been given to another process.
        unsafe { libc::kill(-id, libc::SIGKILL) };
    }
    let _ = child.kill();
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str, limit: u64) -> Finished {
        run(Command::new("sh").arg("-c").arg(script), Duration::from_millis(limit)).expect("sh starts")
    }

    #[test]
    fn output_and_status_come_back() {
        let done = shell("echo out; echo err >&2; exit 3", 5000);
        assert_eq!((done.stdout.as_str(), done.stderr.as_str()), ("out\n", "err\n"));
        assert_eq!(done.status.and_then(|s| s.code()), Some(3));
        assert!(!done.success() && shell("true", 5000).success());
    }

    #[test]
    fn the_limit_ends_the_whole_group() {
        // The grandchild holds the pipe open: without ending the group, this would wait ten seconds.
        let start = Instant::now();
        let done = shell("sleep 10 & echo started; wait", 200);
        assert!(done.timed_out && start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
        assert_eq!(done.stdout, "started\n");
    }
}
