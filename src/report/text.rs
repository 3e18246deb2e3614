//! The report as text: one screen, then whatever is wrong.

use std::fmt::Write as _;

use super::table::{counter_rows, group};
use super::{Report, sentences};
use crate::contract::Cell;
use crate::gate::{CellResult, CellVerdict, Probe, Probed};

/// A cell in a few words.
pub fn cell(c: &Cell) -> String {
    let mut out: Vec<String> = c.dims.iter().map(|(n, v)| format!("{n}={v}")).collect();
    out.push(c.distribution.word().to_owned());
    out.push(format!("seed {}", c.seed));
    if c.poison != 0 {
        out.push("second poison".into());
    }
    match c.scalars {
        0 => {}
        1 => out.push("least legal scalars".into()),
        2 => out.push("largest legal scalars".into()),
        n => out.push(format!("other legal scalars ({})", n - 2)),
    }
    if c.overlap {
        out.push("buffers overlap as permitted".into());
    }
    match c.order {
        0 => {}
        1 => out.push("blocks from the last to the first".into()),
        n => out.push(format!("blocks in mixed order {n}")),
    }
    if c.round > 0 {
        out.push(format!("run {} on the same device variables", c.round + 1));
    }
    out.join(" ")
}

/// The whole report. Problems are not in it: they are shown with their source lines, by the caller.
pub fn text(r: &Report) -> String {
    let mut out = String::new();
    let kernels = |list: &[String]| list.join(", ");
    let _ = writeln!(out, "original   {}: {}", r.original.file, kernels(&r.original.kernels));
    let _ = writeln!(out, "candidate  {}: {}", r.candidate.file, kernels(&r.candidate.kernels));
    let _ = writeln!(out, "contract   {}; launches: {}", r.contract.0, r.launches);
    for m in &r.matched {
        let _ = writeln!(out, "matched    {m}");
    }
    if r.device.is_none() || !r.outcome.cells.is_empty() {
        let _ = writeln!(out, "tier       1, PTX interpreter on {} from {}", r.arch, r.toolchain);
    }
    if let Some(d) = r.device {
        let _ = writeln!(out, "tier       3, {}", d.device);
    }
    if !r.accepted.is_empty() {
        let _ = writeln!(out, "accepted   {}", r.accepted.join(", "));
    }
    if r.device.is_none() || !r.outcome.cells.is_empty() {
        let _ = writeln!(out, "\n{}", cells(&r.outcome.cells, r.outcome.poison_pairs));
    }
    outputs(&mut out, &r.outcome.cells, &r.outcome.probes);
    if let Some(d) = r.device {
        let _ = writeln!(out, "\non the GPU: {}", cells(&d.cells, 0));
        outputs(&mut out, &d.cells, &d.probes);
    }
    if let Some(s) = r.sanitized {
        let _ = write!(out, "\n{}", super::sanitizer::text(s));
    }
    if let Some(Ok(t)) = r.timing {
        let _ = write!(out, "\n{}", super::timing::text(t));
    }
    if let Some(m) = &r.outcome.counters {
        let _ = writeln!(out, "\nestimated (counted in the interpreter, {})", cell(&m.cell));
        counters(&mut out, r);
    }
    for (kernel, table) in &r.resources {
        let _ = writeln!(out, "\ncompiled: {kernel}");
        for line in table.text().lines() {
            let _ = writeln!(out, "  {line}");
        }
    }
    list(&mut out, "remarks", &r.remarks);
    list(&mut out, "not checked", &not_checked(r));
    let _ = writeln!(out, "\nreproduce: {}", r.reproduce);
    let _ = writeln!(out, "\nverdict: {}", sentences(r));
    out
}

fn list(out: &mut String, title: &str, items: &[String]) {
    if items.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{title}:");
    for item in items {
        let _ = writeln!(out, "  - {item}");
    }
}

/// Everything that was not checked.
pub fn not_checked(r: &Report) -> Vec<String> {
    let mut found = r.outcome.left_out.clone();
    found.extend(r.device.iter().flat_map(|d| &d.left_out).map(|l| format!("on the GPU: {l}")));
    for c in &r.outcome.cells {
        if let CellVerdict::NotRun(why) = &c.verdict {
            found.push(format!("{}: {why}", cell(&c.cell)));
        }
    }
    match r.timing {
        Some(Ok(t)) => found.extend(t.not_checked.iter().cloned()),
        Some(Err(why)) => found.push(format!("timing: {why}")),
        None => {}
    }
    found.extend(r.sanitized.iter().flat_map(|s| s.not_checked()));
    found.extend(r.not_checked.iter().cloned());
    found
}

/// How many cells ran, on what.
fn cells(all: &[CellResult], poison_pairs: usize) -> String {
    let count = |word: &str| all.iter().filter(|c| c.verdict.word() == word).count();
    let mut parts = vec![];
    for (word, say) in [
        ("equal-bits", "equal bits"),
        ("within-tolerance", "within tolerance"),
        ("failed", "failed"),
        ("undefined", "inconclusive (the original is not defined)"),
        ("not-run", "not run"),
    ] {
        if count(word) > 0 {
            parts.push(format!("{} {say}", count(word)));
        }
    }
    let mut out = format!("{} cells: {}\n", all.len(), parts.join(", "));
    let mut dims: Vec<&String> = all.iter().flat_map(|c| c.cell.dims.keys()).collect();
    dims.sort();
    dims.dedup();
    for d in dims {
        let mut values: Vec<i64> = all.iter().filter_map(|c| c.cell.dims.get(d).copied()).collect();
        values.sort_unstable();
        values.dedup();
        let list: Vec<String> = values.iter().map(i64::to_string).collect();
        let _ = writeln!(out, "  {d}: {}", list.join(" "));
    }
    let mut words: Vec<_> = all.iter().map(|c| c.cell.distribution).collect();
    words.sort_unstable();
    words.dedup();
    let words: Vec<&str> = words.iter().map(|d| d.word()).collect();
    let _ = writeln!(out, "  contents: {}", words.join(" "));
    if poison_pairs > 0 {
        let _ = writeln!(out, "  second poison: {} cells run twice, equal", poison_pairs);
    }
    out
}

fn outputs(out: &mut String, cells: &[CellResult], probes: &[Probed]) {
    let mut names: Vec<&str> = vec![];
    for r in cells.iter().flat_map(|c| &c.outputs) {
        if !names.contains(&r.name.as_str()) {
            names.push(&r.name);
        }
    }
    for name in names {
        let all = || cells.iter().flat_map(|c| &c.outputs).filter(|r| r.name == name);
        let worst = all().max_by(|a, b| a.worst.total_cmp(&b.worst));
        let Some(worst) = worst else { continue };
        let elements: u64 = all().map(|r| r.elements).sum();
        let differing: u64 = all().map(|r| r.differing).sum();
        let unwritten: u64 = all().map(|r| r.unwritten).sum();
        let _ = write!(out, "output {name} ({}): ", worst.dtype.name());
        if differing == 0 {
            let _ = write!(out, "equal bits in {} elements", group(elements));
        } else {
            let _ = write!(
                out,
                "{} of {} elements differ, max error {:.1e}, rms {:.1e} of the magnitude; allowed {}",
                group(differing),
                group(elements),
                worst.max,
                all().map(|r| r.rms).fold(0.0, f64::max),
                worst.bound.describe()
            );
        }
        if unwritten > 0 {
            let _ = write!(out, "; {} written by neither", group(unwritten));
        }
        let _ = writeln!(out);
        let told: Vec<String> = probes
            .iter()
            .filter(|p| p.output == name && p.tried > 0)
            .map(|p| format!("{} {}/{}", p.probe.word(), p.refused, p.tried))
            .collect();
        if !told.is_empty() {
            let _ = writeln!(out, "  wrong answers refused: {}", told.join(", "));
        }
        let lower = probes.iter().any(|p| p.output == name && p.probe == Probe::Lower && p.tried > 0);
        if differing > 0 && !lower {
            let _ = writeln!(out, "  no lower precision to tell apart");
        }
    }
}

fn counters(out: &mut String, r: &Report) {
    let Some(m) = &r.outcome.counters else { return };
    let rows = counter_rows(&m.original.total, &m.candidate.total);
    let shown: Vec<[String; 4]> =
        rows.iter().map(|row| [row.what.to_owned(), row.show(row.before), row.show(row.after), row.ratio()]).collect();
    let width = |i: usize, least: usize| shown.iter().map(|s| s[i].len()).max().unwrap_or(0).max(least);
    let (a, b, c) = (width(0, 0), width(1, 6), width(2, 5));
    let _ = writeln!(out, "  {:a$}  {:>b$}  {:>c$}", "", "before", "after");
    for s in &shown {
        let _ = writeln!(out, "  {:a$}  {:>b$}  {:>c$}  {}", s[0], s[1], s[2], s[3]);
    }
}
