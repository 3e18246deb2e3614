//! What `kopt apply` asks of the emulator after a rewrite: does the new text compute what the old one did?

use std::path::Path;

use kopt::contract::{Contract, Launch, Plan};
use kopt::diag::Diagnostic;
use kopt::gate::{self, Settings, Verdict};
use kopt::infer::matching::same_name;
use kopt::ir::spell::{identity, split_parameters};
use kopt::report;
use kopt::skill::engine::run::{Change, Outcome};
use kopt::source::{SourceFile, Sources};
use serde_json::{Value, json};

use super::apply::Verify;
use super::exit::{Exit, Failure};
use super::output::FileResult;
use super::printer::Printer;
use super::session::Session;
use super::verify::{Choice, Opened, Revision};

/// Plans of one file that are run.
const MOST: usize = 4;
/// Combinations of sizes for one plan: a rewrite is checked on every save.
const PAIRS: usize = 12;

/// The answer for one file.
#[derive(Debug, Default)]
pub struct Emulated {
    pub file: String,
    /// `equal bits on 20 cells`, `failed in ..`, `not run (..)`.
    pub says: Vec<String>,
    pub failed: bool,
    /// Whether anything ran and could be told.
    pub ran: bool,
    pub problems: Vec<Diagnostic>,
    pub sources: Sources,
}

impl Emulated {
    pub fn not_run(file: &str, why: impl Into<String>) -> Emulated {
        Emulated { file: file.to_owned(), says: vec![format!("not run ({})", why.into())], ..Emulated::default() }
    }

    /// In one line.
    pub fn line(&self) -> String {
        self.says.join("; ")
    }

    pub fn json(&self) -> Value {
        json!({ "ran": self.ran, "failed": self.failed, "says": self.says })
    }
}

/// Runs the old and the new text of every changed file, where a contract is written or complete by inference.
pub fn results(session: &Session, outcome: &Outcome, files: &[FileResult]) -> Vec<Emulated> {
    let changed = files.iter().filter(|f| f.changed());
    let one = |f: &FileResult| {
        let name = f.before.name.clone();
        let Some(path) = session.loaded.paths.get(&f.file) else { return Emulated::not_run(&name, "it is no file") };
        let changes: Vec<&Change> = outcome.changes.iter().filter(|c| c.file == f.file).collect();
        of_file(session, path, (&f.before, &f.after), &changes).unwrap_or_else(|failure| because(&name, failure))
    };
    changed.map(one).collect()
}

/// A run that ended early says nothing about the rewrite.
fn because(name: &str, failure: Failure) -> Emulated {
    match failure {
        Failure::Said { exit: Exit::TierMissing, .. } => Emulated::not_run(name, "no CUDA compiler"),
        Failure::Said { problems, .. } => {
            Emulated::not_run(name, problems.first().map_or_else(|| "no reason".to_owned(), |d| d.message.clone()))
        }
        Failure::Quiet => Emulated::not_run(name, "the output went away"),
    }
}

fn of_file(
    session: &Session,
    path: &Path,
    (before, after): (&SourceFile, &SourceFile),
    changes: &[&Change],
) -> Result<Emulated, Failure> {
    let revision = |source: &SourceFile| {
        Opened::of_revision(&Revision {
            path,
            name: &source.name,
            text: &source.text,
            include: &session.include,
            define: &session.define,
            nvcc_flags: &session.config.nvcc_flags,
            arch: session.arch.as_deref(),
            contract: session.config.contract.as_deref(),
        })
    };
    let mut original = revision(before);
    let contract = original.contract()?;
    // Of overloads only those whose text is another now.
    let is_changed = |kernel: &str| {
        let program = &original.loaded.program;
        let f = program.kernels().into_iter().map(|r| program.function(r)).find(|f| identity(f).ends_with(kernel));
        f.is_none_or(|f| !after.text.contains(before.slice(f.span)))
    };
    let is_changed = |kernel: &str| split_parameters(kernel).1.is_none() || is_changed(kernel);
    let (plans, open) = wanted(&contract, changes, &is_changed);
    if plans.is_empty() {
        let why = match open {
            Some(open) => format!("the contract is not settled: {open}"),
            None => "no contract, and no launch of it in the file".to_owned(),
        };
        return Ok(Emulated::not_run(&before.name, why));
    }
    let mut found = Emulated { file: before.name.clone(), ..Emulated::default() };
    for plan in plans.into_iter().take(MOST) {
        let mut candidate = revision(after);
        pair(&original, &mut candidate, &plan, &mut found)?;
    }
    Ok(found)
}

/// Settled plans that launch a kernel which was changed, or all where a function was that kernels call; and what is open
/// in the first that is not settled.
fn wanted(contract: &Contract, changes: &[&Change], is_changed: &dyn Fn(&str) -> bool) -> (Vec<Plan>, Option<String>) {
    let is_it = |l: &Launch, c: &Change| same_name(&l.kernel, &c.function) && is_changed(&l.kernel);
    let launches = |p: &Plan| changes.iter().any(|c| p.launches().any(|l| is_it(l, c)));
    let direct: Vec<&Plan> = contract.plans.iter().filter(|p| launches(p)).collect();
    let all = if direct.is_empty() { contract.plans.iter().collect() } else { direct };
    let open = all.iter().find_map(|p| p.open().into_iter().next()).map(|o| format!("{} of {}", o.field, o.table));
    (all.into_iter().filter(|p| p.open().is_empty()).cloned().collect(), open)
}

fn pair(original: &Opened, candidate: &mut Opened, plan: &Plan, found: &mut Emulated) -> Result<(), Failure> {
    let adopted = candidate.adopt(original, plan, Choice::default())?;
    let before = original.build(plan).map_err(|u| u.failure(Exit::Inconclusive, original.sources()))?;
    let after = candidate.build(&adopted.plan).map_err(|u| u.failure(Exit::Verification, candidate.sources()))?;
    original.unfilled(&before)?;
    candidate.unfilled(&after)?;
    let settings = Settings { pairs: PAIRS, ..Settings::default() };
    let outcome = gate::verify_pair(&before.side, &after.side, &settings);
    let kernels: Vec<String> = gate::Side::keys(plan).iter().map(ToString::to_string).collect();
    found.says.push(format!("{} ({})", report::sentence(&outcome), kernels.join(", ")));
    found.ran |= !matches!(outcome.verdict, Verdict::Inconclusive(_));
    if outcome.verdict == Verdict::Failed {
        found.failed = true;
        let faults = gate::faults(&outcome.cells).into_iter();
        found.problems.extend(faults.map(|(cell, f)| report::fault(candidate.sources(), cell, f)));
        found.sources = candidate.sources().clone();
    }
    Ok(())
}

/// What the emulator said, with the faults that it saw.
pub fn show(
    emulated: &[Emulated],
    verify: Verify,
    compiler: bool,
    outcome: &Outcome,
    printer: &mut Printer,
) -> Result<(), Failure> {
    if outcome.changes.is_empty() {
        return Ok(());
    }
    for e in emulated {
        let whose = if emulated.len() > 1 { format!(" {}", e.file) } else { String::new() };
        printer.line(format!("emulator:{whose} {}", e.line()))?;
        for problem in &e.problems {
            printer.diagnostic(&e.sources, problem)?;
        }
    }
    if emulated.is_empty() {
        let why = match verify {
            Verify::None | Verify::Compile => {
                format!("--verify {}", if verify == Verify::None { "none" } else { "compile" })
            }
            _ if compiler => "it does not compile".to_owned(),
            _ => "no CUDA compiler".to_owned(),
        };
        printer.line(format!("emulator: not run ({why})"))?;
    }
    printer.line(if emulated.iter().any(|e| e.ran) {
        "not checked: speed on a GPU, and results beyond those cells"
    } else {
        "not checked: results and speed on a GPU"
    })?;
    Ok(())
}
