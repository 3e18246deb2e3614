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
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::nvrtc::{Nvrtc, NvrtcError, NvrtcOutput};
use crate::child::{Lost, Resident, frame};

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

/// Starts the child on demand and talks to it.
#[derive(Debug)]
pub struct Worker(Resident);

impl Worker {
    /// `program` with `arguments` must end up in [`serve`] on its standard input and output. A request that takes
    /// longer than `limit` ends the child.
    pub fn new(program: PathBuf, arguments: Vec<OsString>, limit: Duration) -> Worker {
        Worker(Resident::new(program, arguments, limit))
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
        match self.0.ask(&[&meta, source.as_bytes()]) {
            Ok(parts) => decode(parts),
            Err(Lost::TimedOut { seconds }) => Err(NvrtcError::TimedOut { seconds }),
            Err(Lost::Crashed { status }) => Err(NvrtcError::Crashed { status }),
            Err(lost @ Lost::NotStarted { .. }) => Err(failed(lost.to_string())),
        }
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
        let parts = match frame::read(&mut input) {
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
        frame::write(&mut output, &[&meta, ptx.as_bytes(), &cubin])?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_make_no_sense_are_answered() {
        let mut input = vec![];
        frame::write(&mut input, &[b"not json", b""]).unwrap();
        frame::write(&mut input, &[b"{}"]).unwrap();
        let missing = br#"{"library":"/nonexistent/nvrtc.so","options":[],"names":[]}"#;
        frame::write(&mut input, &[missing, b""]).unwrap();
        let mut output = vec![];
        serve(input.as_slice(), &mut output).unwrap();
        let mut replies = output.as_slice();
        for _ in 0..3 {
            assert!(matches!(decode(frame::read(&mut replies).unwrap()), Err(NvrtcError::Failed { .. })));
        }
    }
}
