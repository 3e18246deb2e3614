//! What became of one kernel, and the table of many.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub repository: String,
    pub file: String,
    pub kernel: String,
    pub line: u32,
    /// How far it came.
    pub compiled: bool,
    pub parsed: bool,
    pub decoded: bool,
    pub launched: bool,
    pub contract: bool,
    /// Ran under a contract without questions, or with its guesses taken for granted.
    pub ran: bool,
    #[serde(default)]
    pub guessed: bool,
    /// Why it came no further.
    pub why: String,
    pub findings: Vec<String>,
    pub questions: Vec<String>,
}

impl Record {
    pub fn key(&self) -> (String, String, u32) {
        (self.repository.clone(), self.file.clone(), self.line)
    }
}

/// The records of a file; lines that are none are left out.
pub fn read(path: &Path) -> Vec<Record> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|l| serde_json::from_str(l).ok()).collect()
}

#[derive(Clone, Copy, Default)]
struct Counts {
    compiled: usize,
    parsed: usize,
    decoded: usize,
    launched: usize,
    contract: usize,
    ran: usize,
    guessed: usize,
    with_findings: usize,
}

impl Counts {
    fn of(records: &[&Record]) -> Counts {
        let count = |is: &dyn Fn(&Record) -> bool| records.iter().filter(|r| is(r)).count();
        Counts {
            compiled: count(&|r| r.compiled),
            parsed: count(&|r| r.parsed),
            decoded: count(&|r| r.decoded),
            launched: count(&|r| r.decoded && r.launched),
            contract: count(&|r| r.contract),
            ran: count(&|r| r.ran && !r.guessed),
            guessed: count(&|r| r.ran && r.guessed),
            with_findings: count(&|r| r.ran && !r.findings.is_empty()),
        }
    }

    fn print(&self, name: &str, kernels: usize) {
        let share = 100.0 * self.decoded as f64 / self.compiled.max(1) as f64;
        println!(
            "| {name} | {kernels} | {} | {} | {} ({share:.1} %) | {} | {} | {} | {} | {} |",
            self.compiled,
            self.parsed,
            self.decoded,
            self.launched,
            self.contract,
            self.ran,
            self.guessed,
            self.with_findings
        );
    }
}

/// The table of the repositories, the reasons, and what else is asked for.
pub fn table(records: &[Record], findings: bool, questions: bool) {
    println!(
        "| repository | kernels | compiled | parsed | decoded | launch in view | contract | ran | ran with guesses | with findings |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let mut by: BTreeMap<&str, Vec<&Record>> = BTreeMap::new();
    records.iter().for_each(|r| by.entry(&r.repository).or_default().push(r));
    for (name, list) in &by {
        Counts::of(list).print(name, list.len());
    }
    let all: Vec<&Record> = records.iter().collect();
    Counts::of(&all).print("**all**", all.len());
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    records.iter().filter(|r| !r.why.is_empty()).for_each(|r| *reasons.entry(&r.why).or_default() += 1);
    let mut reasons: Vec<(usize, &str)> = reasons.into_iter().map(|(why, n)| (n, why)).collect();
    reasons.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    println!("\nnot compiled, decoded or run:");
    reasons.iter().for_each(|(n, why)| println!("{n:6}  {why}"));
    let lists = [(findings, "findings", true), (questions, "questions", false)];
    for (_, title, of_findings) in lists.into_iter().filter(|l| l.0) {
        println!("\n{title}:");
        for r in records {
            for text in if of_findings { &r.findings } else { &r.questions } {
                let guessed = if r.guessed { " (guesses taken)" } else { "" };
                println!("{}: {}:{}: {}{guessed}: {text}", r.repository, r.file, r.line, r.kernel);
            }
        }
    }
}
