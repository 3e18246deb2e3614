//! What a walk looks like on a terminal and as JSON.

use kopt::optimize::{End, Ended, Found, Stepped};
use serde_json::{Value, json};

use super::super::exit::Failure;
use super::super::printer::Printer;

pub fn step(printer: &mut Printer, s: &Stepped, steps: u32, explain: bool) -> Result<(), Failure> {
    let mark = match (s.taken, s.resumed) {
        (true, true) => "taken, from the journal",
        (true, false) => "taken",
        (false, true) => "left, from the journal",
        (false, false) => "left",
    };
    printer.line(format!("step {}/{steps}  {}: {}  ({mark})", s.step, s.chosen.direction, s.chosen.skill))?;
    printer.line(format!("          {}", found(&s.verdict.found)))?;
    printer.line(format!("          {}", s.verdict.reason))?;
    if explain {
        printer.text(&s.chosen.explained)?;
    }
    Ok(())
}

fn found(found: &Found) -> String {
    match found {
        Found::Measured { speedup, margin, .. } => {
            format!("correct as far as checked, {speedup:.3}x of the original, margin {:.1} %", margin * 100.0)
        }
        Found::Correct => "correct as far as checked, not timed".to_owned(),
        Found::NotCompiled => "does not compile".to_owned(),
        Found::Wrong => "wrong".to_owned(),
        Found::Unknown => "nothing can be said".to_owned(),
    }
}

pub fn end(printer: &mut Printer, ended: &Ended, patch: &str) -> Result<(), Failure> {
    let taken = ended.steps.iter().filter(|s| s.taken).count();
    let why = match ended.end {
        End::Steps => "all steps were made",
        End::NothingLegal => "no skill may be applied any more",
    };
    printer.line(format!("end: {why}; {taken} of {} taken", ended.steps.len()))?;
    let best = match (taken, ended.speedup) {
        (0, _) => "the original: nothing better was found".to_owned(),
        (_, Some(s)) => format!("{s:.3}x of the original, measured; {patch}"),
        (_, None) => format!("not timed; {patch}"),
    };
    printer.line(format!("best: {best}"))
}

pub fn document(ended: &Ended, patch: &str, journal: &str, written: bool) -> Value {
    json!({
        "schema": "kopt/optimize/1", "end": ended.end, "speedup": ended.speedup, "steps": ended.steps,
        "changed": ended.steps.iter().any(|s| s.taken), "patch": patch, "journal": journal, "written": written,
    })
}
