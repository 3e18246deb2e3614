//! The report of a comparison: one set of facts, shown as text, JSON and a page of its own.

mod diagnose;
mod html;
mod json;
mod roofline;
pub mod sanitizer;
mod svg;
mod table;
mod text;
mod timing;

pub use diagnose::{fault, line_span, undefined};
pub use html::html;
pub use json::{ran as ran_json, verify as json};
pub use roofline::Roofline;
pub use table::{CounterRow, counter_rows, traffic_rows};
pub use text::{cell as cell_text, text};

use crate::compile::Comparison as Resources;
use crate::diag::Diagnostic;
use crate::gate::on_device::DeviceOutcome;
use crate::gate::sanitize::Sanitized;
use crate::gate::timing::TimingOutcome;
use crate::gate::{CellResult, Outcome, Verdict};

/// One of the two files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Input {
    pub file: String,
    pub kernels: Vec<String>,
    /// BLAKE3 of the file.
    pub hash: String,
    pub text: String,
}

/// Everything that a report shows. Nothing in it is computed while it is shown.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    pub original: Input,
    pub candidate: Input,
    pub arch: String,
    pub toolchain: String,
    /// Where the contract came from, in words, and as one word.
    pub contract: (String, String),
    /// Guesses in the contract that the user took for granted.
    pub accepted: Vec<String>,
    /// Where the candidate's launches came from.
    pub launches: String,
    /// How kernels, arguments and sizes were matched where names do not say it.
    pub matched: Vec<String>,
    pub outcome: &'a Outcome,
    /// What a GPU showed, where one was asked.
    pub device: Option<&'a DeviceOutcome>,
    /// Times on the GPU, or why there are none, where they were asked for.
    pub timing: Option<Result<&'a TimingOutcome, &'a str>>,
    /// What compute-sanitizer saw, where it was asked.
    pub sanitized: Option<&'a Sanitized>,
    /// Both under the roofs of the device, or why not, where they were timed.
    pub roofline: Option<Result<Roofline, String>>,
    /// Registers, shared memory and occupancy of both sides, for each kernel that has a counterpart.
    pub resources: Vec<(String, Resources)>,
    /// Faults of the candidate and findings in the original, on their lines.
    pub problems: Vec<Diagnostic>,
    /// What was not checked, beside what the outcome lists.
    pub not_checked: Vec<String>,
    /// What is worth knowing and decides nothing.
    pub remarks: Vec<String>,
    /// The command that gives this report again.
    pub reproduce: String,
    pub seed: u64,
}

/// The verdict in a sentence.
pub fn sentence(outcome: &Outcome) -> String {
    of_cells(&outcome.verdict, &outcome.cells)
}

/// The verdicts of all tiers that were asked.
pub fn sentences(r: &Report) -> String {
    let speed = match r.timing {
        Some(Ok(t)) => format!("; {}", timing::sentence(t)),
        Some(Err(_)) => "; not timed".to_owned(),
        None => String::new(),
    };
    let computes = match r.device {
        None => sentence(r.outcome),
        Some(d) if r.outcome.cells.is_empty() => format!("on the GPU: {}", of_cells(&d.verdict, &d.cells)),
        Some(d) => format!("{}; on the GPU: {}", sentence(r.outcome), of_cells(&d.verdict, &d.cells)),
    };
    let watched = r.sanitized.map_or_else(String::new, |s| format!("; {}", sanitizer::sentence(s)));
    computes + &watched + &speed
}

fn of_cells(verdict: &Verdict, all: &[CellResult]) -> String {
    let plural = |n: usize| if n == 1 { "cell" } else { "cells" };
    match verdict {
        Verdict::EqualBits { cells } => format!("equal bits on {cells} {}", plural(*cells)),
        Verdict::WithinTolerance { cells, equal } => {
            format!("within tolerance on {cells} {}, equal bits on {equal} of them", plural(*cells))
        }
        Verdict::Failed => {
            let failed = all.iter().filter(|c| c.verdict.word() == "failed").count();
            format!("failed in {failed} of {} {}", all.len(), plural(all.len()))
        }
        Verdict::Inconclusive(reasons) => format!("inconclusive: {}", reasons.join("; ")),
    }
}
