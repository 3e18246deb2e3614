//! The report as one HTML page that needs nothing beside itself.

use std::fmt::Write as _;

use similar::{ChangeTag, TextDiff};

use super::svg::{escape, histogram};
use super::table::{counter_rows, traffic_rows};
use super::text::{cell, not_checked};
use super::{Report, sentences};
use crate::gate::{CellResult, CellVerdict};

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em;color:#222}\
h1{font-size:1.4em}h2{font-size:1.1em;margin-top:2em;border-bottom:1px solid #ccc}\
table{border-collapse:collapse;display:block;overflow-x:auto}td,th{padding:.15em .8em;text-align:right;border-bottom:1px solid #eee}\
td:first-child,th:first-child{text-align:left}td{overflow-wrap:anywhere}pre{background:#f7f7f7;padding:.8em;overflow-x:auto;font-size:13px}\
.verdict{padding:.6em 1em;border-left:6px solid #888;background:#f4f4f4;font-weight:600}\
.equal-bits{border-color:#2a7}.within-tolerance{border-color:#27a}.failed{border-color:#c33}.inconclusive{border-color:#c80}\
.add{background:#dfd}.del{background:#fdd}.picture{overflow-x:auto}svg{width:100%;max-width:640px;min-width:34em}circle.original{fill:#27a}circle.candidate{fill:#2a7}\
line.grid{stroke:#e4e4e4}polyline.roof{fill:none;stroke:#444;stroke-width:2}svg text.name{font-size:11px}svg text{font-size:9px;text-anchor:middle;fill:#444}\
rect.bar{fill:#c80}rect.equal,rect.candidate{fill:#2a7}rect.original{fill:#27a}\
@media print{body{margin:0;max-width:none;font-size:10pt}h2{break-after:avoid}svg{min-width:0;break-inside:avoid}\
pre{white-space:pre-wrap;overflow:visible}table{display:table;overflow:visible}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}\
@media(max-width:30em){body{margin:1em auto;padding:0 .6em}td,th{padding:.15em .4em}}line.bound{stroke:#c33;stroke-dasharray:4 3}svg text.bound{fill:#c33}";

/// The page. `problems` are the diagnostics as text, already rendered.
pub fn html(r: &Report, problems: &[String]) -> String {
    let mut out = String::from(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>kopt verify</title>",
    );
    let _ = write!(out, "<style>{STYLE}</style></head><body>\n<h1>kopt verify</h1>\n");
    let word = r.outcome.verdict.word();
    let _ = writeln!(out, "<p class=\"verdict {word}\">{}</p>", escape(&sentences(r)));
    facts(&mut out, r);
    if !problems.is_empty() {
        out.push_str("<h2>Problems</h2>\n");
        for p in problems {
            let _ = writeln!(out, "<pre>{}</pre>", escape(p));
        }
    }
    cells(&mut out, "Cells", &r.outcome.cells);
    if let Some(d) = r.device {
        cells(&mut out, "Cells on the GPU", &d.cells);
        list(&mut out, "Remarks of the run on the GPU", &d.remarks);
    }
    if let Some(s) = r.sanitized {
        out.push_str(&super::sanitizer::html(s));
    }
    errors(&mut out, r);
    if let Some(Ok(t)) = r.timing {
        out.push_str(&super::timing::html(t));
    }
    if let Some(roofline) = &r.roofline {
        out.push_str(&super::roofline::html(roofline));
    }
    counters(&mut out, r);
    for (kernel, table) in &r.resources {
        let _ = writeln!(out, "<h2>Compiled: {}</h2>\n<pre>{}</pre>", escape(kernel), escape(&table.text()));
    }
    list(&mut out, "Remarks", &r.remarks);
    list(&mut out, "Not checked", &not_checked(r));
    diff(&mut out, r);
    let _ = writeln!(out, "<h2>Reproduce</h2>\n<pre>{}</pre>\n</body></html>", escape(&r.reproduce));
    out
}

fn facts(out: &mut String, r: &Report) {
    out.push_str("<table>\n");
    let mut row = |a: &str, b: String| {
        _ = writeln!(out, "<tr><th>{a}</th><td style=\"text-align:left\">{}</td></tr>", escape(&b))
    };
    row("original", format!("{}: {} (BLAKE3 {})", r.original.file, r.original.kernels.join(", "), r.original.hash));
    row("candidate", format!("{}: {} (BLAKE3 {})", r.candidate.file, r.candidate.kernels.join(", "), r.candidate.hash));
    row("contract", r.contract.0.clone());
    row("launches", r.launches.clone());
    row("tier", format!("1: PTX interpreter on {} from {}", r.arch, r.toolchain));
    if let Some(d) = r.device {
        row("tier", format!("3: {}", d.device));
    }
    if !r.accepted.is_empty() {
        row("accepted", r.accepted.join(", "));
    }
    out.push_str("</table>\n");
}

fn cells(out: &mut String, title: &str, cells: &[CellResult]) {
    let _ = writeln!(out, "<h2>{title}</h2>");
    out.push_str("<table><tr><th>cell</th><th>verdict</th><th>elements that differ</th><th>max error</th><th>warp instructions</th></tr>\n");
    for c in cells {
        let differing: u64 = c.outputs.iter().map(|o| o.differing).sum();
        let most = c.outputs.iter().map(|o| o.max).fold(0.0, f64::max);
        let why = match &c.verdict {
            CellVerdict::NotRun(why) => format!(": {why}"),
            _ => String::new(),
        };
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}{}</td><td>{differing}</td><td>{most:.1e}</td><td>{} / {}</td></tr>",
            escape(&cell(&c.cell)),
            c.verdict.word(),
            escape(&why),
            c.original_steps,
            c.candidate_steps
        );
    }
    out.push_str("</table>\n");
}

/// The histogram of each output in the cell where it is worst.
fn errors(out: &mut String, r: &Report) {
    let mut shown: Vec<&str> = vec![];
    for o in r.outcome.cells.iter().flat_map(|c| &c.outputs) {
        if shown.contains(&o.name.as_str()) {
            continue;
        }
        shown.push(&o.name);
        let all = r.outcome.cells.iter().filter_map(|c| Some((c, c.outputs.iter().find(|x| x.name == o.name)?)));
        let Some((c, worst)) = all.max_by(|a, b| a.1.worst.total_cmp(&b.1.worst)) else { continue };
        let _ = writeln!(out, "<h2>Errors of {} over its magnitude</h2>\n{}", escape(&o.name), histogram(worst));
        let _ = writeln!(out, "<p>{}; allowed: {}</p>", escape(&cell(&c.cell)), escape(&worst.bound.describe()));
    }
}

fn counters(out: &mut String, r: &Report) {
    let Some(m) = &r.outcome.counters else { return };
    let _ = writeln!(
        out,
        "<h2>Counters (estimated)</h2>\n<p>Counted in the interpreter in the cell {}; a device caches, schedules and fuses.</p>",
        escape(&cell(&m.cell))
    );
    out.push_str("<table><tr><th></th><th>before</th><th>after</th><th></th></tr>\n");
    for row in counter_rows(&m.original.total, &m.candidate.total) {
        let (b, a) = (row.show(row.before), row.show(row.after));
        let _ = writeln!(out, "<tr><td>{}</td><td>{b}</td><td>{a}</td><td>{}</td></tr>", row.what, row.ratio());
    }
    out.push_str("</table>\n<table><tr><th>unique bytes</th><th>read before</th><th>read after</th><th>written before</th><th>written after</th></tr>\n");
    for (name, t) in traffic_rows(&m.original, &m.candidate) {
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escape(&name),
            t[0],
            t[2],
            t[1],
            t[3]
        );
    }
    out.push_str("</table>\n");
}

fn list(out: &mut String, title: &str, items: &[String]) {
    if !items.is_empty() {
        let _ = writeln!(out, "<h2>{title}</h2>\n<ul>");
        items.iter().for_each(|i| _ = writeln!(out, "<li>{}</li>", escape(i)));
        out.push_str("</ul>\n");
    }
}

fn diff(out: &mut String, r: &Report) {
    let diff = TextDiff::from_lines(&r.original.text, &r.candidate.text);
    out.push_str("<h2>Difference of the sources</h2>\n<pre>");
    for (n, group) in diff.grouped_ops(3).iter().enumerate() {
        if n > 0 {
            out.push_str("...\n");
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let (class, sign) = match change.tag() {
                ChangeTag::Equal => ("", ' '),
                ChangeTag::Insert => ("add", '+'),
                ChangeTag::Delete => ("del", '-'),
            };
            let line = escape(change.value().trim_end_matches('\n'));
            let _ = writeln!(out, "<span class=\"{class}\">{sign}{line}</span>");
        }
    }
    out.push_str("</pre>\n");
}
