//! The file that holds what was seen of one case.

use std::path::{Path, PathBuf};

use kopt::bundle::Case;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::exit::{Exit, Failure};
use super::super::write;

/// The layout of a result.
pub const SCHEMA: &str = "kopt/gate-result/1";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub schema: String,
    /// The version of kopt that judged it.
    pub kopt: String,
    /// The whole case, whose id stands for every byte that was judged.
    pub case: Case,
    /// How much was run; another run with other settings is another judgement.
    pub settings: Settings,
    /// The exit code of `kopt verify` for the same.
    pub exit: u8,
    /// One word for people: improved, equal, failed, not judged.
    pub word: String,
    /// Why nothing was judged; then there is no report.
    pub not_judged: Option<String>,
    /// As `kopt verify --format json` prints it.
    pub report: Option<Value>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// `emulator`, `gpu` or `both`.
    pub on: String,
    pub seed: u64,
    pub thorough: bool,
    /// Warp instructions of one cell, in millions.
    pub budget: u64,
    pub time: bool,
    pub sanitize: bool,
    pub dims: Vec<(String, i64)>,
    pub rounds: u32,
    pub samples: u32,
}

impl Outcome {
    /// Whether another run could say more: the machine was at fault, and not the candidate.
    pub fn is_final(&self) -> bool {
        self.not_judged.is_none()
    }

    pub fn path(folder: &Path, name: &str) -> PathBuf {
        folder.join(format!("{name}.json"))
    }

    /// What an earlier run left, if it is of this case under these settings.
    pub fn earlier(folder: &Path, case: &Case, settings: &Settings) -> Option<Outcome> {
        let text = std::fs::read(Outcome::path(folder, &case.name)).ok()?;
        let found: Outcome = serde_json::from_slice(&text).ok()?;
        let same = found.schema == SCHEMA && found.case == *case && found.settings == *settings;
        (same && found.is_final()).then_some(found)
    }

    /// The verdict on one line.
    pub fn line(&self) -> String {
        let sentence = self.report.as_ref().and_then(|r| r.get("sentence")).and_then(Value::as_str);
        let text = self.not_judged.as_deref().or(sentence).unwrap_or_default();
        format!("{:<16} {}  {}: {text}", self.word, self.case.short_id(), self.case.name)
    }

    /// # Errors
    /// The file cannot be written, or is a link, behind which may be anything.
    pub fn write(&self, folder: &Path) -> Result<(), Failure> {
        let path = Outcome::path(folder, &self.case.name);
        if std::fs::symlink_metadata(&path).is_ok_and(|m| m.file_type().is_symlink()) {
            let message = format!("{}: this is a link, and no result is written through it", path.display());
            return Err(Failure::usage(541, message, "remove it, or name another folder with --out"));
        }
        let mut text = serde_json::to_vec_pretty(self).map_err(std::io::Error::other)?;
        text.push(b'\n');
        write::atomically(&path, &text)
    }
}

/// One word for the verdict of a report: the speed where it was measured, else what the last tier said.
pub fn word(exit: Exit, report: &Value) -> String {
    let said = |value: Option<&Value>| value.and_then(|v| v.get("verdict")).and_then(Value::as_str).map(str::to_owned);
    let speed = said(report.get("timing"));
    let verdict = || said(report.get("device")).or_else(|| said(Some(report)));
    match exit {
        Exit::Verification => "failed".to_owned(),
        Exit::Done | Exit::Findings => speed.or_else(verdict).unwrap_or_default(),
        _ => "inconclusive".to_owned(),
    }
}
