//! `kopt apply --locked`: replays what the lock recorded, offline.

use kopt::contract::{Assumptions, parse_assumption};
use kopt::lock::{LockedFile, Replayed, Replayer, Stale};
use kopt::source::{FileId, SourceFile};
use serde_json::json;

use super::apply::Args;
use super::exit::{Exit, Failure};
use super::output::{self, FileResult, Target};
use super::printer::Printer;
use super::session::Session;

pub fn run(args: &Args, session: &Session, printer: &mut Printer) -> Result<Exit, Failure> {
    let target = Target::of(&args.output, session)?;
    let loaded = &session.loaded;
    let lock = output::read_lock(target.lock_path())?.unwrap_or_default();
    let mut files = vec![];
    let mut stale = vec![];
    for &file in &loaded.requested {
        let Some(path) = loaded.paths.get(&file) else { continue };
        let key = target.key(path);
        let replayed = match lock.file(&key) {
            None => Err(Stale::missing(&key)),
            Some(locked) => replay(session, locked, file),
        };
        match replayed {
            Err(reason) => stale.push(reason),
            Ok(replayed) => files.push(result(session, file, replayed, printer)?),
        }
    }
    if !stale.is_empty() {
        let problems = stale.iter().map(Stale::diagnostic).collect();
        return Err(Failure::in_files(Exit::Findings, problems, session.sources().clone()));
    }
    if !target.is_written() {
        for file in &files {
            printer.diff(&file.diff())?;
        }
    }
    target.write_texts(session, &files, printer)?;
    target.dependencies(session, printer)?;
    let list: Vec<_> =
        files.iter().map(|f| json!({ "file": f.before.name, "changed": f.changed(), "diff": f.diff() })).collect();
    printer.json(&json!({ "schema": "kopt/locked/1", "files": list, "written": target.is_written() }))?;
    Ok(Exit::Done)
}

fn replay(session: &Session, locked: &LockedFile, file: FileId) -> Result<Replayed, Stale> {
    let loaded = &session.loaded;
    let assumptions = with_recorded(&session.assumptions, locked);
    let parse = |file: FileId, source: &SourceFile| loaded.parse(file, source);
    let passes = kopt::pass::builtin();
    let replayer = Replayer {
        program: &loaded.program,
        sources: loaded.sources(),
        library: &session.library,
        passes: &passes,
        assumptions: &assumptions,
        parse: &parse,
    };
    replayer.file(locked, file)
}

/// What the caller guaranteed when the lock was written is part of it, and is in force again.
fn with_recorded(given: &Assumptions, locked: &LockedFile) -> Assumptions {
    let mut all = given.clone();
    for step in &locked.steps {
        let read = step.assumptions.iter().filter_map(|text| parse_assumption(text, None).ok());
        all.by_kernel.entry(step.kernel.clone()).or_default().extend(read);
    }
    all
}

fn result(session: &Session, file: FileId, replayed: Replayed, printer: &mut Printer) -> Result<FileResult, Failure> {
    let before = session.sources().get(file).clone();
    let after = match replayed {
        Replayed::AlreadyDone => {
            printer.line(format!("{}: already done", before.name))?;
            before.clone()
        }
        Replayed::Written { text, steps } => {
            printer.line(format!("{}: {steps} recorded rewrites, conditions hold", before.name))?;
            SourceFile::new(before.name.clone(), text.into_bytes())
        }
    };
    Ok(FileResult { file, before, after, checked: vec![] })
}
