//! A child that stays: a crash or a hang costs one request, not the program.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use super::{end_group, frame};

/// Starts the child on demand and talks to it in frames, one request at a time.
pub struct Resident {
    program: PathBuf,
    arguments: Vec<OsString>,
    limit: Duration,
    running: Mutex<Option<Running>>,
}

struct Running {
    child: Child,
    /// Closed where the child is to end by itself.
    stdin: Option<ChildStdin>,
    replies: Receiver<Vec<Vec<u8>>>,
}

/// Why a request has no reply. The next request starts a new child.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    #[error("cannot start {program}: {why}")]
    NotStarted { program: String, why: String },
    #[error("no reply in {seconds} s")]
    TimedOut { seconds: u64 },
    /// `status` as the system words it; empty where it is not known.
    #[error("the child process ended: {status}")]
    Crashed { status: String },
}

impl Resident {
    /// `program` with `arguments` must answer each frame of its standard input by one on its standard output. A request
    /// that takes longer than `limit` ends the child and all that it started.
    pub fn new(program: PathBuf, arguments: Vec<OsString>, limit: Duration) -> Resident {
        Resident { program, arguments, limit, running: Mutex::new(None) }
    }

    /// Sends a request and waits for its reply.
    ///
    /// # Errors
    /// The child does not start, ends, or takes too long.
    pub fn ask(&self, parts: &[&[u8]]) -> Result<Vec<Vec<u8>>, Lost> {
        let mut running = self.running.lock().unwrap_or_else(|e| e.into_inner());
        let mut current = match running.take() {
            Some(current) => current,
            None => self
                .start()
                .map_err(|e| Lost::NotStarted { program: self.program.display().to_string(), why: e.to_string() })?,
        };
        let sent = current.stdin.as_mut().map(|stdin| frame::write(stdin, parts));
        let reply = match sent {
            Some(Ok(())) => current.replies.recv_timeout(self.limit),
            _ => Err(RecvTimeoutError::Disconnected),
        };
        match reply {
            Ok(parts) => {
                *running = Some(current);
                Ok(parts)
            }
            Err(RecvTimeoutError::Timeout) => Err(Lost::TimedOut { seconds: self.limit.as_secs() }),
            Err(RecvTimeoutError::Disconnected) => {
                // Its output is closed; what is around it may go on.
                let status = current.end_within(self.limit).map_or_else(String::new, |s| s.to_string());
                Err(Lost::Crashed { status })
            }
        }
    }

    /// Ends the child; the next request starts a new one.
    pub fn end(&self) {
        *self.running.lock().unwrap_or_else(|e| e.into_inner()) = None;
    }

    /// Lets the child end by itself, such as to write down what it saw: its input ends, and it may take `limit`. `None`
    /// where it does not end in that time, or none is running; nothing of it is left running either way.
    pub fn finish(&self, limit: Duration) -> Option<ExitStatus> {
        let current = self.running.lock().unwrap_or_else(|e| e.into_inner()).take();
        current.and_then(|mut current| current.end_within(limit))
    }

    fn start(&self) -> io::Result<Running> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn()?;
        let (Some(stdin), Some(mut stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("no pipes"));
        };
        let (send, replies) = mpsc::channel();
        thread::spawn(move || {
            while let Ok(parts) = frame::read(&mut stdout) {
                if send.send(parts).is_err() {
                    break;
                }
            }
        });
        Ok(Running { child, stdin: Some(stdin), replies })
    }
}

impl Running {
    fn end_within(&mut self, limit: Duration) -> Option<ExitStatus> {
        self.stdin = None;
        let end = Instant::now() + limit;
        let mut pause = Duration::from_micros(200);
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            if Instant::now() >= end {
                return None;
            }
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        end_group(&mut self.child);
        let _ = self.child.wait();
    }
}

impl std::fmt::Debug for Resident {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "child {}", self.program.display())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_child_that_hangs_or_dies_costs_one_request() {
        let child = |script: &str, limit| {
            Resident::new("sh".into(), vec!["-c".into(), script.into()], Duration::from_millis(limit))
        };
        let ask = |w: &Resident| w.ask(&[b"x"]);
        assert!(matches!(ask(&child("sleep 20", 200)), Err(Lost::TimedOut { .. })));
        let dying = child("head -c 8 >/dev/null; kill -SEGV $$", 5000);
        for _ in 0..2 {
            assert!(matches!(ask(&dying), Err(Lost::Crashed { status }) if status.contains("signal")));
        }
        // The output is closed and something goes on: that ends, too.
        assert!(matches!(ask(&child("exec >&-; sleep 20", 300)), Err(Lost::Crashed { .. })));
        let missing = Resident::new("/nonexistent".into(), vec![], Duration::from_secs(1));
        assert!(matches!(ask(&missing), Err(Lost::NotStarted { .. })));
    }
    #[test]
    fn a_child_may_end_by_itself() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("done");
        // Answers one frame with none of its own bytes changed, and writes a file once its input has ended.
        let script = format!("cat; sleep 0.1; echo done > {}; exit 3", file.display());
        let child = Resident::new("sh".into(), vec!["-c".into(), script.into()], Duration::from_secs(5));
        assert_eq!(child.ask(&[b"x"]), Ok(vec![b"x".to_vec()]));
        let status = child.finish(Duration::from_secs(5));
        assert_eq!(status.and_then(|s| s.code()), Some(3));
        assert!(file.exists());
        let slow = Resident::new("sh".into(), vec!["-c".into(), "cat; sleep 20".into()], Duration::from_secs(5));
        assert_eq!(slow.ask(&[b"x"]), Ok(vec![b"x".to_vec()]));
        assert_eq!(slow.finish(Duration::from_millis(200)), None);
        assert_eq!(slow.finish(Duration::from_millis(200)), None, "none is running");
    }
}
