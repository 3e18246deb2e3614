//! NVRTC in a child process that stays: a crash or a hang of the compiler costs one request, not the program.
//!
//! NVRTC 13.5 died of a segmentation fault on 29 kernels of a public collection, when asked for multi-line name
//! expressions with unknown names (smaller cases with either gave messages; the cause is not known). Template recursion
//! can keep it busy for ever. The child is kopt itself under a hidden command that calls [`serve`]; the library is
//! loaded once, so that a request costs what the compilation costs.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::child;
use super::nvrtc::{Nvrtc, NvrtcError, NvrtcOutput};

#[derive(Serialize, Deserialize)]
struct Request {
    library: PathBuf,
    options: Vec<String>,
    names: Vec<String>,
}

#[derive(Serialize, Deserialize)]
enum Reply {
    Done { log: String, lowered: BTreeMap<String, String> },
    Rejected { log: String },
    Failed { message: String },
}

/// Anything that is not a frame is skipped up to this mark, so that a stray line on the stream does no harm.
const MARK: &[u8; 8] = b"\0kopt-w1";
/// More than any compilation gives; a length beyond it is a damaged stream.
const MAX_PART: u64 = 1 << 30;

/// Starts the child on demand and talks to it.
pub struct Worker {
    program: PathBuf,
    arguments: Vec<OsString>,
    limit: Duration,
    running: Mutex<Option<Running>>,
}

struct Running {
    child: Child,
    stdin: ChildStdin,
    replies: Receiver<Vec<Vec<u8>>>,
}

impl Worker {
    /// `program` with `arguments` must end up in [`serve`] on its standard input and output. A request that takes
    /// longer than `limit` ends the child.
    pub fn new(program: PathBuf, arguments: Vec<OsString>, limit: Duration) -> Worker {
        Worker { program, arguments, limit, running: Mutex::new(None) }
    }

    /// [`Nvrtc::compile`] in the child.
    pub fn compile(
        &self,
        library: &Path,
        source: &str,
        options: &[String],
        names: &[String],
    ) -> Result<NvrtcOutput, NvrtcError> {
        let request = Request { library: library.to_owned(), options: options.to_vec(), names: names.to_vec() };
        let meta = serde_json::to_vec(&request).map_err(|e| failed(e.to_string()))?;
        let mut running = self.running.lock().unwrap_or_else(|e| e.into_inner());
        if running.is_none() {
            *running = Some(self.start().map_err(|e| failed(format!("cannot start {}: {e}", self.program.display())))?);
        }
        let Some(current) = running.as_mut() else { return Err(failed("no child".to_owned())) };
        let sent = write_frame(&mut current.stdin, &[&meta, source.as_bytes()]);
        let reply = match sent {
            Ok(()) => current.replies.recv_timeout(self.limit),
            Err(_) => Err(RecvTimeoutError::Disconnected),
        };
        match reply {
            Ok(parts) => decode(parts),
            Err(reason) => {
                let mut ended = running.take();
                if reason == RecvTimeoutError::Timeout {
                    return Err(NvrtcError::TimedOut { seconds: self.limit.as_secs() });
                }
                let status = ended.as_mut().and_then(|r| r.child.wait().ok());
                Err(NvrtcError::Crashed { status: status.map_or_else(String::new, |s| s.to_string()) })
            }
        }
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
            while let Ok(parts) = read_frame(&mut stdout) {
                if send.send(parts).is_err() {
                    break;
                }
            }
        });
        Ok(Running { child, stdin, replies })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        child::end_group(&mut self.child);
        let _ = self.child.wait();
    }
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "worker {}", self.program.display())
    }
}

fn failed(message: String) -> NvrtcError {
    NvrtcError::Failed { function: "worker", message }
}

fn decode(parts: Vec<Vec<u8>>) -> Result<NvrtcOutput, NvrtcError> {
    let mut parts = parts.into_iter();
    let meta = parts.next().unwrap_or_default();
    match serde_json::from_slice(&meta).map_err(|e| failed(e.to_string()))? {
        Reply::Rejected { log } => Err(NvrtcError::Rejected { log }),
        Reply::Failed { message } => Err(failed(message)),
        Reply::Done { log, lowered } => {
            let ptx = parts.next().unwrap_or_default();
            let ptx = String::from_utf8(ptx).map_err(|e| failed(e.to_string()))?;
            Ok(NvrtcOutput { ptx, cubin: parts.next().unwrap_or_default(), log, lowered })
        }
    }
}

/// The child's side: answers requests until its input ends.
///
/// # Errors
/// When a stream breaks; a request that fails is answered, not an error.
pub fn serve(mut input: impl Read, mut output: impl Write) -> io::Result<()> {
    let mut library: Option<Nvrtc> = None;
    loop {
        let parts = match read_frame(&mut input) {
            Ok(parts) => parts,
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(e) => return Err(e),
        };
        let (reply, ptx, cubin) = match answer(&mut library, &parts) {
            Ok(out) => (Reply::Done { log: out.log, lowered: out.lowered }, out.ptx, out.cubin),
            Err(NvrtcError::Rejected { log }) => (Reply::Rejected { log }, String::new(), vec![]),
            Err(error) => (Reply::Failed { message: error.to_string() }, String::new(), vec![]),
        };
        let meta = serde_json::to_vec(&reply).map_err(io::Error::other)?;
        write_frame(&mut output, &[&meta, ptx.as_bytes(), &cubin])?;
    }
}

fn answer(library: &mut Option<Nvrtc>, parts: &[Vec<u8>]) -> Result<NvrtcOutput, NvrtcError> {
    let [meta, source] = parts else { return Err(failed("a request of two parts was expected".to_owned())) };
    let request: Request = serde_json::from_slice(meta).map_err(|e| failed(e.to_string()))?;
    let source = std::str::from_utf8(source).map_err(|e| failed(e.to_string()))?;
    if library.as_ref().is_none_or(|l| l.path() != request.library) {
        *library = Some(Nvrtc::open(&request.library)?);
    }
    match library {
        Some(nvrtc) => nvrtc.compile(source, &request.options, &request.names),
        None => Err(failed("no library".to_owned())),
    }
}

fn write_frame(output: &mut impl Write, parts: &[&[u8]]) -> io::Result<()> {
    output.write_all(MARK)?;
    output.write_all(&(parts.len() as u64).to_le_bytes())?;
    for part in parts {
        output.write_all(&(part.len() as u64).to_le_bytes())?;
        output.write_all(part)?;
    }
    output.flush()
}

fn read_frame(input: &mut impl Read) -> io::Result<Vec<Vec<u8>>> {
    let mut window = [0u8; 8];
    input.read_exact(&mut window)?;
    while &window != MARK {
        window.rotate_left(1);
        input.read_exact(&mut window[7..])?;
    }
    let count = read_number(input, 16)?;
    (0..count)
        .map(|_| {
            let length = read_number(input, MAX_PART)?;
            let mut part = vec![];
            // `take` grows with what arrives: a lying length reserves nothing.
            if input.by_ref().take(length).read_to_end(&mut part)? as u64 != length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            Ok(part)
        })
        .collect()
}

fn read_number(input: &mut impl Read, limit: u64) -> io::Result<u64> {
    let mut bytes = [0u8; 8];
    input.read_exact(&mut bytes)?;
    let number = u64::from_le_bytes(bytes);
    if number > limit { Err(io::ErrorKind::InvalidData.into()) } else { Ok(number) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_survive_stray_text_and_refuse_lies() {
        let mut stream = b"running 1 test\n\0kop".to_vec();
        write_frame(&mut stream, &[b"one", b"", b"three"]).unwrap();
        let parts = read_frame(&mut stream.as_slice()).unwrap();
        assert_eq!(parts, [b"one".to_vec(), vec![], b"three".to_vec()]);
        for cut in 0..stream.len() {
            assert!(read_frame(&mut &stream[..cut]).is_err(), "{cut}");
        }
        let lying = [MARK.as_slice(), &u64::MAX.to_le_bytes()].concat();
        assert!(read_frame(&mut lying.as_slice()).is_err());
        let lying = [MARK.as_slice(), &1u64.to_le_bytes(), &(MAX_PART - 1).to_le_bytes(), b"x"].concat();
        assert!(read_frame(&mut lying.as_slice()).is_err());
    }

    #[test]
    fn requests_that_make_no_sense_are_answered() {
        let mut input = vec![];
        write_frame(&mut input, &[b"not json", b""]).unwrap();
        write_frame(&mut input, &[b"{}"]).unwrap();
        let missing = br#"{"library":"/nonexistent/nvrtc.so","options":[],"names":[]}"#;
        write_frame(&mut input, &[missing, b""]).unwrap();
        let mut output = vec![];
        serve(input.as_slice(), &mut output).unwrap();
        let mut replies = output.as_slice();
        for _ in 0..3 {
            assert!(matches!(decode(read_frame(&mut replies).unwrap()), Err(NvrtcError::Failed { .. })));
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_child_that_hangs_or_dies_costs_one_request() {
        let worker = |script: &str, limit| {
            Worker::new("sh".into(), vec!["-c".into(), script.into()], Duration::from_millis(limit))
        };
        let ask = |w: &Worker| w.compile(Path::new("x"), "", &[], &[]);
        assert!(matches!(ask(&worker("sleep 20", 200)), Err(NvrtcError::TimedOut { .. })));
        let dying = worker("head -c 8 >/dev/null; kill -SEGV $$", 5000);
        for _ in 0..2 {
            assert!(matches!(ask(&dying), Err(NvrtcError::Crashed { status }) if status.contains("signal")));
        }
        assert!(matches!(
            ask(&Worker::new("/nonexistent".into(), vec![], Duration::from_secs(1))),
            Err(NvrtcError::Failed { .. })
        ));
    }
}
