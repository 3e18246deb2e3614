//! `kopt memory doctor`.

use std::path::Path;

use kopt::memory::Store;
use serde_json::json;

use super::super::exit::{Exit, Failure};
use super::super::printer::Printer;
use super::{failure, opened};

pub fn run(path: &Path, mend: bool, printer: &mut Printer) -> Result<Exit, Failure> {
    let mut store = opened(Store::open_existing(path), printer)?;
    let aside = store.set_aside().map(Path::to_owned);
    let found = store.examine().map_err(|e| failure(&e))?;
    for (what, list) in
        [("database", &found.database), ("evidence that was changed", &found.changed), ("sums", &found.sums)]
    {
        match list.len() {
            0 => printer.line(format!("{what}: sound"))?,
            n => printer.line(format!("{what}: {n} wrong"))?,
        }
        for line in list.iter().take(20) {
            printer.line(format!("  {line}"))?;
        }
    }
    if found.stale {
        printer.line("sums: they are made anew when they are read next")?;
    }
    let (mut moved, mut saved) = (aside.clone(), None);
    let mut mended = false;
    if mend && !found.is_sound() {
        if found.database.is_empty() && found.changed.is_empty() {
            store.rebuild().map_err(|e| failure(&e))?;
            printer.line("the sums were made anew from the evidence")?;
        } else {
            let (_, place, count) = store.salvage().map_err(|e| failure(&e))?;
            printer.line(format!(
                "{} is {} now; {count} pieces of evidence were saved",
                path.display(),
                place.display()
            ))?;
            (moved, saved) = (Some(place), Some(count));
        }
        mended = true;
    }
    let sound = found.is_sound() && aside.is_none();
    printer.json(&json!({
        "schema": "kopt/memory-doctor/1", "memory": path, "sound": sound, "stale": found.stale,
        "database": found.database, "changed": found.changed, "sums": found.sums,
        "mended": mended, "set_aside": moved, "saved": saved,
    }))?;
    if !sound && !mended {
        printer.line("mend it with `kopt memory doctor --mend`")?;
    }
    Ok(if sound || mended { Exit::Done } else { Exit::Findings })
}
