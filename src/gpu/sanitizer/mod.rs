//! What `compute-sanitizer` found in a process: its XML report as findings, alike ones together. Only
//! [`run`] starts a program.

#[cfg(feature = "gpu")]
pub mod run;
mod xml;

pub use xml::{Unreadable, parse};

use serde::Serialize;

/// One of the checks, each a run of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tool {
    Memcheck,
    Racecheck,
    Initcheck,
    Synccheck,
}

impl Tool {
    pub const ALL: [Tool; 4] = [Tool::Memcheck, Tool::Racecheck, Tool::Initcheck, Tool::Synccheck];

    /// As the option `--tool` spells it.
    pub fn word(self) -> &'static str {
        match self {
            Tool::Memcheck => "memcheck",
            Tool::Racecheck => "racecheck",
            Tool::Initcheck => "initcheck",
            Tool::Synccheck => "synccheck",
        }
    }

    /// What it does not see, whatever runs.
    pub fn blind(self) -> &'static str {
        match self {
            Tool::Memcheck => "a wrong index that still leads into a buffer; what a vector load takes along",
            Tool::Racecheck => "races in global memory: it follows shared memory alone",
            Tool::Initcheck => "shared and local memory that nothing wrote: it follows global memory alone",
            Tool::Synccheck => "barriers that all threads of a block leave out together",
        }
    }
}

/// How sure the tool is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    Error,
    Warning,
    Info,
}

/// A line of the user's, or a function of which no line is known (`line` 0).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    pub function: String,
    pub file: String,
    pub line: u32,
}

/// Who did it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Witness {
    pub block: [u32; 3],
    pub thread: [u32; 3],
    /// As the tool writes it; empty where it names none. It is another one in each run.
    pub address: String,
}

/// One thing that is wrong on one line, however often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub tool: Tool,
    pub level: Level,
    /// The tool's words, without what differs between threads.
    pub what: String,
    pub place: Place,
    /// The other end of a race: what it does there, and where.
    pub other: Option<(String, Place)>,
    /// The lines that called it, the innermost first.
    pub callers: Vec<Place>,
    /// Threads that reported it, or hazards where the tool counts these.
    pub count: u64,
    /// The first few, in the order of blocks and threads.
    pub samples: Vec<Witness>,
}

/// Witnesses that are kept of a finding.
const SAMPLES: usize = 4;

/// Alike findings as one, in the order of tools, levels and lines: the tool reports in an order that differs from run
/// to run.
pub fn group(found: Vec<Finding>) -> Vec<Finding> {
    let mut groups: Vec<Finding> = vec![];
    for f in found {
        match groups.iter_mut().find(|g| is_same(g, &f)) {
            Some(g) => {
                g.count = g.count.saturating_add(f.count);
                g.samples.extend(f.samples);
            }
            None => groups.push(f),
        }
    }
    for g in &mut groups {
        g.samples.sort_by_key(|w| (reversed(w.block), reversed(w.thread)));
        g.samples.truncate(SAMPLES);
    }
    groups.sort_by(|a, b| key(a).cmp(&key(b)));
    groups
}

fn reversed([x, y, z]: [u32; 3]) -> [u32; 3] {
    [z, y, x]
}

type Key<'a> = (Tool, Level, &'a Place, &'a str, &'a Option<(String, Place)>, &'a Vec<Place>);

fn key(f: &Finding) -> Key<'_> {
    (f.tool, f.level, &f.place, &f.what, &f.other, &f.callers)
}

fn is_same(a: &Finding, b: &Finding) -> bool {
    key(a) == key(b)
}

/// Whether the text output says that the tool watched to the end; `Err` with the reason where it says otherwise.
///
/// # Errors
/// Why nothing may be concluded from a report without findings.
pub fn finished(log: &str) -> Result<(), String> {
    let said = |line: &str| line.trim_start_matches('=').trim().to_owned();
    const REFUSALS: [&str; 8] = [
        "Internal Sanitizer Error",
        "Internal Error",
        "No attachable process",
        "Unable to",
        "not supported",
        "Device not supported",
        "permission",
        "Error: Target application",
    ];
    let refusal =
        log.lines().find(|l| REFUSALS.iter().any(|r| l.to_ascii_lowercase().contains(&r.to_ascii_lowercase())));
    if let Some(line) = refusal {
        return Err(format!("it says: {}", said(line)));
    }
    if log.lines().any(|l| l.contains("SUMMARY:")) {
        return Ok(());
    }
    match log.lines().map(said).find(|l| !l.is_empty() && !l.starts_with("COMPUTE-SANITIZER")) {
        Some(line) => Err(format!("it did not come to an end; it says: {line}")),
        None => Err("it did not come to an end".to_owned()),
    }
}

/// How many errors the summary of the text output counts, those included that are no fault of a kernel.
pub fn counted(log: &str) -> u64 {
    let line = log.lines().rev().find(|l| l.contains("SUMMARY:"));
    let number = line.and_then(|l| l.split("SUMMARY:").nth(1)?.split_whitespace().next()?.parse().ok());
    number.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_says_whether_the_tool_came_to_its_end() {
        let log = include_str!("../../../tests/data/gpu/tools/memcheck-transpose.log");
        assert_eq!((finished(log), counted(log)), (Ok(()), 0));
        let log = include_str!("../../../tests/data/gpu/tools/memcheck-oob.log");
        assert_eq!((finished(log), counted(log)), (Ok(()), 28));
        let log = include_str!("../../../tests/data/gpu/tools/racecheck-race.log");
        assert_eq!((finished(log), counted(log)), (Ok(()), 1));
        let log = include_str!("../../../tests/data/gpu/tools/racecheck-transpose.log");
        assert_eq!((finished(log), counted(log)), (Ok(()), 0));
        for (log, why) in [
            ("", "did not come to an end"),
            ("========= COMPUTE-SANITIZER\n", "did not come to an end"),
            (
                "========= COMPUTE-SANITIZER\n========= Internal Sanitizer Error: no\n",
                "says: Internal Sanitizer Error: no",
            ),
            ("========= Error: No attachable process found\n", "No attachable process"),
            ("something else\n", "says: something else"),
        ] {
            assert!(finished(log).is_err_and(|e| e.contains(why)), "{log}");
        }
    }
}
