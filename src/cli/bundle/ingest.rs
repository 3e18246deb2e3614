//! `kopt gate ingest`: results from another machine, as far as they speak of the files that are here.

use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use kopt::bundle::{Case, Side};
use kopt::diag::{Code, Diagnostic};
use kopt::source::Sources;
use serde_json::{Value, json};

use super::super::contract::beside;
use super::super::exit::{Exit, Failure};
use super::super::options::Global;
use super::super::printer::Printer;
use super::super::{json as printed, session};
use super::judge::{cases_json, exit, summary};
use super::make::configured;
use super::result::{Outcome, SCHEMA, word};

#[derive(ClapArgs, Clone)]
pub struct Ingest {
    /// The folder that `kopt gate run` filled
    #[arg(value_name = "RESULTS")]
    results: PathBuf,
    /// The folder from which the bundle was made
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    root: PathBuf,
}

pub fn run(args: &Ingest, global: &Global, printer: &mut Printer) -> Result<Exit, Failure> {
    let options = configured(&session::config(global)?.0);
    let mut taken = vec![];
    let mut refused: Vec<Diagnostic> = vec![];
    for path in files(&args.results)? {
        match read(&path, &args.root, &options) {
            Ok(outcome) => taken.push(outcome),
            Err(problem) => refused.push(*problem),
        }
    }
    let none = Sources::default();
    for d in &refused {
        printer.diagnostic(&none, d)?;
    }
    for o in &taken {
        printer.line(o.line())?;
    }
    summary(&taken, printer)?;
    let problems: Vec<Value> = refused.iter().map(|d| printed::diagnostic(&none, d)).collect();
    printer.json(&json!({
        "schema": "kopt/gate-ingest/1", "results": args.results, "cases": cases_json(&taken), "refused": problems,
    }))?;
    Ok(if refused.is_empty() { exit(&taken) } else { Exit::Usage })
}

/// Every result of the folder, by name.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let unreadable =
        |e: std::io::Error| Failure::usage(541, format!("{}: {e}", folder.display()), "name a folder of results");
    let mut found = vec![];
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|e| e == "json") {
            found.push(path);
        }
    }
    found.sort();
    if found.is_empty() {
        return Err(Failure::usage(693, format!("{}: no result is in it", folder.display()), "kopt gate run BUNDLE"));
    }
    Ok(found)
}

/// A result that speaks of the files that are here.
fn read(path: &Path, root: &Path, options: &[String]) -> Result<Outcome, Box<Diagnostic>> {
    let refused = |why: String, next: &str| {
        Box::new(Diagnostic::error(Code(693), format!("{}: {why}", path.display())).next(next))
    };
    let text = std::fs::read(path).map_err(|e| refused(e.to_string(), "copy the results again"))?;
    let outcome: Outcome = serde_json::from_slice(&text)
        .map_err(|e| refused(format!("this is no result: {e}"), "copy the results again"))?;
    if outcome.schema != SCHEMA {
        let why = format!("the layout is {}, and this version of kopt reads {SCHEMA}", outcome.schema);
        return Err(refused(why, "read it with the version of kopt that judged it"));
    }
    let case = &outcome.case;
    if case.id != case.computed_id() || !agrees(&outcome) {
        return Err(refused(
            "it was changed: it is not what its build id says".to_owned(),
            "kopt gate run BUNDLE --again",
        ));
    }
    if !is_of_one_piece(&outcome) {
        let why = "it was changed: verdict, word and exit code do not belong together".to_owned();
        return Err(refused(why, "kopt gate run BUNDLE --again"));
    }
    if let Some(file) = [&case.original, &case.candidate].into_iter().find(|s| !is_its_program(s)) {
        let why = format!("the program that was run is not `{}`", file.file);
        return Err(refused(why, "make the bundle again, and judge that"));
    }
    if case.options != options {
        let why = format!("it was compiled with other options of kopt.toml: [{}]", case.options.join(" "));
        return Err(refused(why, "make the bundle again, and judge that"));
    }
    if let Some(file) = new_contract(case, root) {
        let why = format!("`{}` was not there when the bundle was made, and would be the contract", file.display());
        return Err(refused(why, "make the bundle again, and judge that"));
    }
    if let Some(file) = changed(case, root) {
        let why = format!("`{file}` is not the file that was judged");
        return Err(refused(why, "make the bundle again, and judge that"));
    }
    Ok(outcome)
}

/// Whether the report is about the files of the case.
fn agrees(outcome: &Outcome) -> bool {
    let Some(report) = &outcome.report else { return outcome.not_judged.is_some() };
    let same = |name: &str, side: &Side| {
        report.get(name).and_then(|s| s.get("blake3")).and_then(Value::as_str) == Some(side.hash.as_str())
    };
    same("original", &outcome.case.original) && same("candidate", &outcome.case.candidate)
}

/// Whether the parts of a result could have come out together. This finds damage and mistakes; a forger would change all of them.
fn is_of_one_piece(outcome: &Outcome) -> bool {
    let said = |value: Option<&Value>| value.and_then(|v| v.get("verdict")).and_then(Value::as_str).map(str::to_owned);
    let Some(report) = &outcome.report else {
        return outcome.not_judged.is_some() && outcome.exit == Exit::TierMissing as u8 && outcome.word == "not judged";
    };
    let known = [Exit::Done, Exit::Findings, Exit::Verification, Exit::Inconclusive];
    let Some(exit) = known.into_iter().find(|e| *e as u8 == outcome.exit) else { return false };
    let (emulated, device) = (said(Some(report)), said(report.get("device")));
    let passes = |v: &str| v == "equal-bits" || v == "within-tolerance";
    let any = |word: &str| [&emulated, &device].into_iter().flatten().any(|v| v == word);
    let slower = said(report.get("timing")).is_some_and(|v| v == "slower");
    let fits = match exit {
        // The last tier decides; the first one may have been left out.
        Exit::Done | Exit::Findings => {
            let last = device.as_deref().or(emulated.as_deref());
            !any("failed") && last.is_some_and(passes) && (exit == Exit::Findings) == slower
        }
        Exit::Inconclusive => !any("failed"),
        _ => true,
    };
    fits && outcome.not_judged.is_none() && outcome.word == word(exit, report)
}

/// Of compiled files the program is the file.
fn is_its_program(side: &Side) -> bool {
    let kernels = || side.builds.iter().flat_map(|b| &b.kernels);
    let is = |blob: &Option<kopt::bundle::Blob>| blob.as_ref().is_none_or(|b| b.hex() == side.hash);
    match Path::new(&side.file).extension().and_then(|e| e.to_str()) {
        Some("ptx") => kernels().all(|k| is(&k.ptx)),
        Some("cubin") => kernels().all(|k| is(&k.cubin)),
        _ => true,
    }
}

/// A contract beside the original that another one was taken before, since it was not there.
fn new_contract(case: &Case, root: &Path) -> Option<PathBuf> {
    let own = beside(&root.join(&case.original.file));
    let from_file = case.contract.1 == "file";
    (!from_file && own.is_file()).then_some(own)
}

/// A file of the case that is another one now, or gone.
fn changed(case: &Case, root: &Path) -> Option<String> {
    for side in [&case.original, &case.candidate] {
        if !is_now(&root.join(&side.file), &side.hash) {
            return Some(side.file.clone());
        }
        // The first text is the file itself, of which the hash above speaks.
        let others = side.texts.iter().filter(|t| t.name != side.file);
        if let Some(other) = others.into_iter().find(|t| !is_now(&root.join(&t.name), t.text.hex())) {
            return Some(other.name.clone());
        }
    }
    None
}

fn is_now(path: &Path, hash: &str) -> bool {
    std::fs::read(path).is_ok_and(|bytes| blake3::hash(&bytes).to_hex().as_str() == hash)
}
