//! `kopt memory merge`, `export`, `import` and `forget`.

use std::path::{Path, PathBuf};

use kopt::memory::Store;
use kopt::memory::store::Merged;
use serde_json::{Value, json};

use super::super::exit::{Exit, Failure};
use super::super::printer::Printer;
use super::super::write;
use super::{failure, opened};

pub fn merge(path: &Path, others: &[PathBuf], printer: &mut Printer) -> Result<Exit, Failure> {
    let mut store = opened(Store::open(path), printer)?;
    taken(path, others, printer, |other| store.merge(other).map_err(|e| failure(&e)))
}

pub fn import(path: &Path, files: &[PathBuf], printer: &mut Printer) -> Result<Exit, Failure> {
    // All files are read before the first is recorded, so that a name that is wrong changes nothing.
    let texts: Vec<String> = files.iter().map(|f| text(f)).collect::<Result<_, _>>()?;
    let mut store = opened(Store::open(path), printer)?;
    let mut texts = texts.iter();
    taken(path, files, printer, |_| store.import(texts.next().map_or("", String::as_str)).map_err(|e| failure(&e)))
}

fn text(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path)
        .map_err(|e| Failure::usage(541, format!("{}: {e}", path.display()), "name a file of `kopt memory export`"))
}

fn taken(
    path: &Path,
    from: &[PathBuf],
    printer: &mut Printer,
    mut take: impl FnMut(&Path) -> Result<Merged, Failure>,
) -> Result<Exit, Failure> {
    let mut all: Vec<Value> = vec![];
    for other in from {
        let merged = take(other)?;
        printer.line(format!("{}: {} pieces of evidence, {} new", other.display(), merged.read, merged.new))?;
        all.push(json!({ "file": other, "read": merged.read, "new": merged.new }));
    }
    printer.json(&json!({ "schema": "kopt/memory-merge/1", "memory": path, "taken": all }))?;
    Ok(Exit::Done)
}

pub fn export(path: &Path, out: Option<&Path>, printer: &mut Printer) -> Result<Exit, Failure> {
    let store = opened(Store::open_existing(path), printer)?;
    let text = store.export().map_err(|e| failure(&e))?;
    let Some(out) = out else {
        // The lines are JSON themselves.
        printer.raw(&text)?;
        return Ok(Exit::Done);
    };
    write::create_folder_of(out)?;
    write::atomically(out, text.as_bytes())?;
    let lines = text.lines().count();
    printer.line(format!("{}: {lines} pieces of evidence", out.display()))?;
    printer.json(&json!({ "schema": "kopt/memory-export/1", "memory": path, "out": out, "evidence": lines }))?;
    Ok(Exit::Done)
}

pub fn forget(path: &Path, skill: &str, printer: &mut Printer) -> Result<Exit, Failure> {
    let mut store = opened(Store::open_existing(path), printer)?;
    let gone = store.forget(skill).map_err(|e| failure(&e))?;
    match gone {
        0 => printer.line(format!("nothing is known of {skill}"))?,
        _ => printer.line(format!("{gone} pieces of evidence of {skill} are gone"))?,
    }
    printer.json(&json!({ "schema": "kopt/memory-forget/1", "memory": path, "skill": skill, "forgotten": gone }))?;
    Ok(if gone > 0 { Exit::Done } else { Exit::Findings })
}
