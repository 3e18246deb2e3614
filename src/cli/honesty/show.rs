//! What `kopt gate honesty` prints.

use kopt::honesty::{Depth, Kind, Sums};
use serde_json::{Value, json};

use super::super::exit::Failure;
use super::super::json;
use super::super::printer::Printer;
use super::{File, Kernel};

pub fn file(file: &File, printer: &mut Printer) -> Result<(), Failure> {
    for k in &file.kernels {
        let mut all = Sums::default();
        k.kinds.iter().for_each(|(_, s)| all.add(s));
        printer.line(format!(
            "{}: {}: {} facts asserted {} times on {} launches, {} unresolved, {} unreached, {} unplaced, {} contradicted",
            file.path.display(),
            k.name,
            all.facts,
            all.assertions,
            k.launches,
            all.unresolved,
            all.unreached,
            all.unplaced,
            k.contradictions.len(),
        ))?;
        if k.depth != Depth::Full {
            printer.line(format!("  only the {} could be observed", k.depth.word()))?;
        }
        if k.unmatched > 0 {
            printer.line(format!("  {} launches are none of those in view", k.unmatched))?;
        }
        if k.blocks.0 < k.blocks.1 {
            printer.line(format!("  {} of {} blocks were watched", k.blocks.0, k.blocks.1))?;
        }
        for text in &k.overflowed {
            printer.line(format!("  not defined: {text}"))?;
        }
        for text in &k.assumed {
            printer.line(format!("  assumed and not so: {text}"))?;
        }
    }
    for why in &file.skipped {
        printer.line(format!("{}: not run: {why}", file.path.display()))?;
    }
    Ok(())
}

pub fn table(kinds: &[(Kind, Sums)], printer: &mut Printer) -> Result<(), Failure> {
    printer.line("kind              facts   assertions  unresolved  unreached  unplaced  contradicted")?;
    let mut all = Sums::default();
    kinds.iter().for_each(|(_, s)| all.add(s));
    for (name, s) in kinds.iter().map(|(k, s)| (k.word(), s)).chain([("all", &all)]) {
        printer.line(format!(
            "{name:<14} {:>8} {:>12} {:>11} {:>10} {:>9} {:>13}",
            s.facts, s.assertions, s.unresolved, s.unreached, s.unplaced, s.contradicted
        ))?;
    }
    Ok(())
}

pub fn kinds_json(kinds: &[(Kind, Sums)]) -> Value {
    let one = |(k, s): &(Kind, Sums)| {
        let value = json!({
            "facts": s.facts, "assertions": s.assertions, "unresolved": s.unresolved, "unreached": s.unreached,
            "unplaced": s.unplaced, "contradicted": s.contradicted, "assumption_failed": s.assumption_failed,
        });
        (k.word().to_owned(), value)
    };
    Value::Object(kinds.iter().map(one).collect())
}

pub fn file_json(file: &File) -> Value {
    let kernel = |k: &Kernel| {
        let listed: Vec<Value> = match &file.opened {
            Some(o) => k.contradictions.iter().map(|d| json::diagnostic(o.sources(), d)).collect(),
            None => vec![],
        };
        json!({
            "kernel": k.name, "observed": k.depth.word(), "launches": k.launches, "unmatched_launches": k.unmatched,
            "blocks_watched": k.blocks.0, "blocks": k.blocks.1, "overflowed": k.overflowed,
            "kinds": kinds_json(&k.kinds), "contradictions": listed, "assumed_and_not_so": k.assumed,
        })
    };
    json!({
        "file": file.path, "kernels": file.kernels.iter().map(kernel).collect::<Vec<_>>(), "not_run": file.skipped,
    })
}
