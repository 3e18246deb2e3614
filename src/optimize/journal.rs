//! The file that a walk is written into, line by line, before anything is done with what a line says.
//!
//! A line is `CHECK ENTRY`: the first 64 bits of the BLAKE3 of the entry in hexadecimal, and the entry as JSON. A line is whole or it
//! does not count: what a killed process left of one is cut off; what follows a damaged line is set aside.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Chosen, Plan, Verdict};

/// The version of the entries.
pub const VERSION: u32 = 1;
/// Longer journals are not read.
const MAX_BYTES: u64 = 256 << 20;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "is", deny_unknown_fields)]
pub enum Entry {
    /// The first line.
    Start {
        version: u32,
        /// BLAKE3 of the original text, and of all else that answers depend on, as the caller sees it.
        original: String,
        world: String,
        plan: Plan,
    },
    /// A step was chosen; `null` where nothing was legal.
    Choice {
        step: u32,
        chosen: Option<Chosen>,
    },
    Candidate {
        step: u32,
        text: String,
    },
    Verdict {
        step: u32,
        verdict: Verdict,
    },
    /// The memory has the evidence of this id.
    Recorded {
        step: u32,
        id: String,
    },
}

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("{0}: {1}")]
    Io(PathBuf, io::Error),
    #[error("{0} belongs to a run that is under way")]
    Busy(PathBuf),
    #[error("{0} is of version {1}, and this version of kopt reads {VERSION}")]
    Version(PathBuf, u32),
    #[error("{path} is about another {what}")]
    Other { path: PathBuf, what: &'static str },
    #[error("{0} is no journal")]
    Foreign(PathBuf),
    #[error("{0} has entries of an earlier run")]
    There(PathBuf),
    #[error("{0}: step {1} is not what the same run would have written")]
    Order(PathBuf, u32),
}

/// An open journal, of which this process is the only writer.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// What was there when it was opened.
    entries: Vec<Entry>,
    /// Where lines went that could not be read.
    set_aside: Option<PathBuf>,
}

impl Journal {
    /// Opens or creates a journal and reads what is whole.
    ///
    /// # Errors
    /// Another process has it, it is of another version, it cannot be read or written.
    pub fn open(path: &Path) -> Result<Journal, JournalError> {
        let io = |e| JournalError::Io(path.to_owned(), e);
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(JournalError::Busy(path.to_owned())),
            Err(TryLockError::Error(e)) => return Err(io(e)),
        }
        if file.metadata().map_err(io)?.len() > MAX_BYTES {
            return Err(JournalError::Foreign(path.to_owned()));
        }
        let mut bytes = vec![];
        file.read_to_end(&mut bytes).map_err(io)?;
        let (entries, good) = read(&bytes);
        if let Some(Entry::Start { version, .. }) = entries.first()
            && *version != VERSION
        {
            return Err(JournalError::Version(path.to_owned(), *version));
        }
        let rest = bytes.get(good..).unwrap_or(&[]);
        let torn = !rest.contains(&b'\n');
        if entries.is_empty() && !(torn && begins_a_line(rest)) {
            return Err(JournalError::Foreign(path.to_owned()));
        }
        let mut set_aside = None;
        if !torn {
            let aside = free_name(path);
            std::fs::write(&aside, rest).map_err(|e| JournalError::Io(aside.clone(), e))?;
            set_aside = Some(aside);
        }
        if !rest.is_empty() {
            file.set_len(good as u64).map_err(io)?;
        }
        file.seek(SeekFrom::Start(good as u64)).map_err(io)?;
        Ok(Journal { path: path.to_owned(), file, entries, set_aside })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Where lines went that could not be read.
    pub fn set_aside(&self) -> Option<&Path> {
        self.set_aside.as_deref()
    }

    /// Writes an entry and waits until the disk has it.
    ///
    /// # Errors
    /// It cannot be written; then nothing of it counts.
    pub fn append(&mut self, entry: &Entry) -> Result<(), JournalError> {
        let io = |e| JournalError::Io(self.path.clone(), e);
        let end = self.file.stream_position().map_err(io)?;
        let written = self.file.write_all(line(entry).as_bytes()).and_then(|()| self.file.sync_data());
        if let Err(e) = written {
            // A half line would be cut off at the next opening as well.
            let _ = self.file.set_len(end);
            let _ = self.file.seek(SeekFrom::Start(end));
            return Err(io(e));
        }
        self.entries.push(entry.clone());
        Ok(())
    }
}

/// One line with its check.
pub fn line(entry: &Entry) -> String {
    // Texts, numbers and enumerations always serialise.
    let text = serde_json::to_string(entry).unwrap_or_default();
    format!("{} {text}\n", check(&text))
}

fn check(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
}

/// The entries of whole lines up to the first that is not, and where that one begins.
fn read(bytes: &[u8]) -> (Vec<Entry>, usize) {
    let (mut entries, mut good) = (vec![], 0);
    for part in bytes.split_inclusive(|b| *b == b'\n') {
        let Some(entry) = entry(part) else { break };
        entries.push(entry);
        good += part.len();
    }
    (entries, good)
}

fn entry(line: &[u8]) -> Option<Entry> {
    let text = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let (said, text) = text.split_once(' ')?;
    (said == check(text)).then(|| serde_json::from_str(text).ok()).flatten()
}

/// Whether this may be what is left of a line that was being written.
fn begins_a_line(rest: &[u8]) -> bool {
    rest.iter().enumerate().take(20).all(|(at, b)| match at {
        0..16 => b.is_ascii_hexdigit(),
        16 => *b == b' ',
        17 => *b == b'{',
        _ => true,
    })
}

fn free_name(path: &Path) -> PathBuf {
    let name = |n: usize| {
        PathBuf::from(format!("{}.damaged{}", path.display(), if n == 0 { String::new() } else { format!("-{n}") }))
    };
    (0..).map(name).find(|p| !p.exists()).unwrap_or_else(|| name(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optimize::Found;

    fn entries() -> Vec<Entry> {
        let verdict =
            Verdict { found: Found::Measured { speedup: 1.25, margin: 0.01, improved: true }, reason: "a\nb".into() };
        vec![
            Entry::Candidate { step: 1, text: "line\n\u{e9}".into() },
            Entry::Verdict { step: 1, verdict },
            Entry::Recorded { step: 1, id: "0".into() },
        ]
    }

    fn written() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let mut journal = Journal::open(&path).unwrap();
        entries().iter().for_each(|e| journal.append(e).unwrap());
        (folder, path)
    }

    #[test]
    fn what_was_appended_is_read_again_and_half_lines_are_cut_off() {
        let (_folder, path) = written();
        let whole = std::fs::read(&path).unwrap();
        for cut in 0..=whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let lines = whole[..cut].iter().filter(|b| **b == b'\n').count();
            let mut journal = Journal::open(&path).unwrap();
            assert_eq!(journal.entries(), &entries()[..lines], "{cut}");
            assert!(journal.set_aside().is_none());
            for e in &entries()[lines..] {
                journal.append(e).unwrap();
            }
            drop(journal);
            assert_eq!(std::fs::read(&path).unwrap(), whole, "{cut}");
        }
    }

    #[test]
    fn damage_is_set_aside_and_nothing_before_it_is_lost() {
        let (folder, path) = written();
        let whole = std::fs::read(&path).unwrap();
        let second = whole.iter().position(|b| *b == b'\n').unwrap() + 1;
        for at in [second, second + 5, second + 40] {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            std::fs::write(&path, &bytes).unwrap();
            let journal = Journal::open(&path).unwrap();
            assert_eq!(journal.entries(), &entries()[..1]);
            let aside = journal.set_aside().unwrap();
            assert_eq!(std::fs::read(aside).unwrap(), &bytes[second..]);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 4, "one file for each damage");
    }

    #[test]
    fn other_files_are_left_alone_and_so_is_a_run_under_way() {
        let (_folder, path) = written();
        let held = Journal::open(&path).unwrap();
        assert!(matches!(Journal::open(&path), Err(JournalError::Busy(_))));
        drop(held);
        for text in ["#include <cuda.h>\nint main() {}\n", "one line", "0123456789abcdef0"] {
            std::fs::write(&path, text).unwrap();
            assert!(matches!(Journal::open(&path), Err(JournalError::Foreign(_))));
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
    }
}
