//! Counts for people: kernels modelled, and what each skill said.

use std::collections::BTreeMap;

use kopt::diag::{Code, Diagnostic};
use kopt::ir::{Function, Program};
use kopt::skill::Skill;
use kopt::skill::engine::Payoff;
use kopt::skill::engine::survey::{Finding, FindingKind};
use kopt::source::FileId;
use serde_json::{Value, json};

/// How many of the kernels that the text shows are in the IR without a flaw that forbids edits.
pub struct Modelled {
    pub found: usize,
    pub modelled: usize,
    /// Reason and count, the most frequent first.
    pub reasons: Vec<(String, usize)>,
}

const LOST: Code = Code(2);

impl Modelled {
    pub fn of(program: &Program, files: &[FileId]) -> Modelled {
        let units = || program.units.iter().filter(|u| files.contains(&u.file));
        let kernels: Vec<&Function> = units().flat_map(|u| u.kernels()).collect();
        let whole = |f: &&&Function| !f.flaws.iter().any(|x| x.kind.forbids_all_edits());
        let modelled = kernels.iter().filter(whole).count();
        let lost = units().flat_map(|u| u.problems.iter()).filter(|p| p.code == LOST);
        let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
        let mut lost_count = 0;
        for problem in lost {
            lost_count += 1;
            *reasons.entry(reason(problem)).or_default() += 1;
        }
        for f in kernels.iter().filter(|f| !whole(f)) {
            let flaw = f.flaws.iter().find(|x| x.kind.forbids_all_edits());
            let text = flaw.map_or("", |x| kopt::skill::engine::report::flaw(x.kind));
            *reasons.entry(text.to_owned()).or_default() += 1;
        }
        let mut reasons: Vec<(String, usize)> = reasons.into_iter().collect();
        reasons.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        Modelled { found: kernels.len() + lost_count, modelled, reasons }
    }

    pub fn line(&self) -> String {
        let mut text = format!("{} of {} kernels modelled", self.modelled, self.found);
        if !self.reasons.is_empty() {
            let list: Vec<String> = self.reasons.iter().take(4).map(|(why, n)| format!("{n}: {why}")).collect();
            text += &format!(" ({})", list.join("; "));
        }
        text
    }

    pub fn json(&self) -> Value {
        let reasons: Vec<Value> = self.reasons.iter().map(|(why, n)| json!({ "reason": why, "count": n })).collect();
        json!({ "found": self.found, "modelled": self.modelled, "reasons": reasons })
    }
}

fn reason(problem: &Diagnostic) -> String {
    let label = problem.labels.iter().find(|l| l.primary).map(|l| l.text.clone());
    label.filter(|t| !t.is_empty()).unwrap_or_else(|| problem.message.clone())
}

/// What one skill said of all places that it looked at.
#[derive(Default)]
pub struct Tally {
    pub paying: usize,
    pub unknown: usize,
    pub not_paying: usize,
    pub refused: usize,
    pub features: usize,
    /// Failed condition and at how many places it fails.
    pub reasons: BTreeMap<String, usize>,
}

impl Tally {
    pub fn of(skill: &Skill, findings: &[Finding]) -> Tally {
        let mut tally = Tally::default();
        for f in findings.iter().filter(|f| f.skill == skill.name.node) {
            match &f.kind {
                FindingKind::Applies { payoff: Payoff::Expected(_), .. } => tally.paying += 1,
                FindingKind::Applies { payoff: Payoff::Unknown(_), .. } => tally.unknown += 1,
                FindingKind::Applies { payoff: Payoff::NotExpected(_), .. } => tally.not_paying += 1,
                FindingKind::Feature { .. } => tally.features += 1,
                FindingKind::Refused { failed, .. } => {
                    tally.refused += 1;
                    let mut names: Vec<String> = failed.iter().map(|j| j.text.to_string()).collect();
                    names.sort();
                    names.dedup();
                    for name in names {
                        *tally.reasons.entry(name).or_default() += 1;
                    }
                }
            }
        }
        tally
    }

    pub fn fires(&self) -> usize {
        self.paying + self.unknown
    }

    pub fn top(&self) -> Vec<(&str, usize)> {
        let mut list: Vec<(&str, usize)> = self.reasons.iter().map(|(k, n)| (k.as_str(), *n)).collect();
        list.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        list
    }

    pub fn line(&self, name: &str, width: usize) -> String {
        let mut text = format!("  {name:<width$}  fires {}", self.fires());
        if self.unknown > 0 {
            text += &format!(" ({} with payoff unknown)", self.unknown);
        }
        if self.not_paying > 0 {
            text += &format!(", not paying {}", self.not_paying);
        }
        text += &format!(", refused {}", self.refused);
        let top: Vec<String> = self.top().into_iter().take(3).map(|(why, n)| format!("{n}: {why}")).collect();
        if !top.is_empty() {
            text += &format!(" ({})", top.join("; "));
        }
        if self.features > 0 {
            text += &format!(", {} already done or in conflict", self.features);
        }
        text
    }

    pub fn json(&self, name: &str) -> Value {
        let reasons: Vec<Value> =
            self.top().into_iter().map(|(why, n)| json!({ "condition": why, "count": n })).collect();
        json!({
            "skill": name, "paying": self.paying, "payoff_unknown": self.unknown, "not_paying": self.not_paying,
            "refused": self.refused, "features": self.features, "refusal_reasons": reasons,
        })
    }
}
