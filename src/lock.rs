//! `kopt.lock`: which rewrites were accepted, on what they rest, and the edits themselves.
//!
//! A lock makes a build reproducible: `kopt apply --locked` replays the recorded edits without a compiler or a network,
//! after it has judged every condition again. Edits are recorded by token ([`position`]), so that comments and white
//! space elsewhere may change. [`record`] makes entries, [`replay`] uses them and names what made one stale.

pub mod position;
pub mod record;
pub mod replay;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::diag::{Code, Diagnostic};
use position::TokenEdit;

pub use record::Recorder;
pub use replay::{Replayed, Replayer, Stale};

/// The version of the format that this kopt writes and reads.
pub const VERSION: u32 = 1;

const HEAD: &str = "# Written by kopt. Keep it under version control; `kopt apply --locked` replays it.\n\n";

/// All that was accepted, by file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    pub version: u32,
    #[serde(default, rename = "file", skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<LockedFile>,
}

/// The rewrites of one file, in the order in which they were applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LockedFile {
    /// Relative to the folder of the lock, with `/` between its parts.
    pub path: String,
    /// Hash of the comment-free tokens of the file after the last step.
    pub after: String,
    /// The platform that the conditions were judged for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arch: Option<String>,
    #[serde(default, rename = "step")]
    pub steps: Vec<Step>,
}

/// One rewrite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Step {
    pub skill: String,
    pub skill_hash: String,
    /// Of the body: its rules, or the code of the native pass.
    pub body_hash: String,
    /// Qualified name.
    pub kernel: String,
    /// Which of the functions of that name, from 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub nth: u32,
    pub surface: String,
    pub ordinal: u32,
    /// Ordinals of the places rewritten with it, behind one test at the launch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<u32>,
    /// Hash of the comment-free tokens of the surface, the function, and the launches that the proof could see.
    pub surface_tokens: String,
    pub kernel_tokens: String,
    pub launch_tokens: String,
    pub result: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumptions: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<String>,
    pub toolchain: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    /// Each condition with its verdict, in the order of the skill.
    pub verdicts: Vec<String>,
    #[serde(rename = "edit")]
    pub edits: Vec<TokenEdit>,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// Why a lock cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    #[error("the lock cannot be read: {message}")]
    Syntax { message: String, line: usize },
    #[error("the lock has version {found}, this kopt reads version {VERSION}")]
    Version { found: i64 },
}

impl LockError {
    pub fn diagnostic(&self) -> Diagnostic {
        let d = Diagnostic::error(Code(511), self.to_string());
        match self {
            LockError::Syntax { line, .. } => d.note(format!("line {line}")),
            LockError::Version { .. } => d,
        }
        .next("restore kopt.lock from version control, or delete it and run `kopt apply` again")
    }
}

impl Default for Lock {
    fn default() -> Lock {
        Lock { version: VERSION, files: vec![] }
    }
}

impl Lock {
    /// # Errors
    /// [`LockError`] when the text is not TOML of this form or of another version.
    pub fn parse(text: &str) -> Result<Lock, LockError> {
        let syntax = |e: toml::de::Error| {
            let at = e.span().map_or(0, |s| s.start).min(text.len());
            let line = text.as_bytes()[..at].iter().filter(|b| **b == b'\n').count() + 1;
            LockError::Syntax { message: e.message().to_owned(), line }
        };
        let table: toml::Table = toml::from_str(text).map_err(syntax)?;
        match table.get("version").and_then(toml::Value::as_integer) {
            Some(v) if v == i64::from(VERSION) => {}
            Some(found) => return Err(LockError::Version { found }),
            None => return Err(LockError::Syntax { message: "`version` is missing".into(), line: 1 }),
        }
        let mut lock: Lock = toml::from_str(text).map_err(syntax)?;
        lock.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(lock)
    }

    /// The text, with files in the order of their paths.
    ///
    /// # Errors
    /// The serialiser's message; no value of these types is known to cause one.
    pub fn print(&self) -> Result<String, String> {
        let mut sorted = self.clone();
        sorted.files.sort_by(|a, b| a.path.cmp(&b.path));
        toml::to_string(&sorted).map(|text| format!("{HEAD}{text}")).map_err(|e| e.to_string())
    }

    pub fn file(&self, path: &str) -> Option<&LockedFile> {
        self.files.iter().find(|f| f.path == path)
    }

    /// Puts `file` in the place of what was recorded for its path.
    pub fn set(&mut self, file: LockedFile) {
        self.files.retain(|f| f.path != file.path);
        self.files.push(file);
        self.files.sort_by(|a, b| a.path.cmp(&b.path));
    }
}

/// Hexadecimal hash of the comment-free tokens of a text.
pub fn tokens_hash(text: &str) -> String {
    hex(crate::source::tokens::code_hash(text))
}

/// The first 16 bytes of a hash are enough to tell texts apart that nobody forged.
fn hex(hash: [u8; 32]) -> String {
    hash[..16].iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use position::Position;

    fn lock() -> Lock {
        let edit = TokenEdit {
            function: "k".into(),
            nth: 0,
            from: Position { token: 3, end: false, plus: 0, gap: None },
            to: Position { token: 4, end: true, plus: 0, gap: None },
            replaced: "00".into(),
            text: "a\n\tb \"\"\" '''\r\n\\".into(),
        };
        let step = Step {
            skill: "pad_shared".into(),
            skill_hash: "1".into(),
            body_hash: "2".into(),
            kernel: "k".into(),
            nth: 0,
            surface: "shared".into(),
            ordinal: 0,
            also: vec![],
            surface_tokens: "3".into(),
            kernel_tokens: "4".into(),
            launch_tokens: "5".into(),
            result: "proved".into(),
            assumptions: vec![],
            guard: None,
            toolchain: "not run".into(),
            parameters: BTreeMap::from([("pad".into(), "1".into())]),
            verdicts: vec!["layout: rank(t) == 2: proved".into()],
            edits: vec![edit],
        };
        let file =
            |path: &str| LockedFile { path: path.into(), after: "6".into(), arch: None, steps: vec![step.clone()] };
        Lock { version: VERSION, files: vec![file("b.cu"), file("a.cu")] }
    }

    #[test]
    fn what_is_written_is_read_again_and_sorted() {
        let text = lock().print().unwrap();
        let read = Lock::parse(&text).unwrap();
        assert_eq!(read.files.iter().map(|f| f.path.as_str()).collect::<Vec<_>>(), ["a.cu", "b.cu"]);
        assert_eq!(read.files[0].steps, lock().files[0].steps);
        assert_eq!(read.print().unwrap(), text);
    }

    #[test]
    fn versions_and_mistakes_are_named() {
        assert_eq!(Lock::parse("version = 7\n"), Err(LockError::Version { found: 7 }));
        assert!(matches!(Lock::parse("version = 1\n\n[[file]]\nx = 1\n"), Err(LockError::Syntax { line: 3.., .. })));
        assert!(matches!(Lock::parse("["), Err(LockError::Syntax { .. })));
        assert!(matches!(Lock::parse(""), Err(LockError::Syntax { .. })));
    }
}
