//! `kopt profile`: what a kernel does, counted in the interpreter: by source line and in total, with occupancy and, for a
//! named device, a roofline from its data sheet.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use kopt::compile::occupancy;
use kopt::gate::execute::LineCounts;
use kopt::gate::peaks::{self, PEAKS, Peaks};
use kopt::gate::{KernelKey, Stopped};
use kopt::ptx::Counts;
use kopt::report::{self, CounterRow, counter_rows};
use serde_json::{Value, json};

use super::exit::{Exit, Failure};
use super::options::Global;
use super::printer::Printer;
use super::run::{Choice, Once, once};
use super::verify::Running;

#[derive(ClapArgs)]
pub struct Args {
    /// A CUDA file, or PTX with a contract
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The device whose data sheet gives the roofline
    #[arg(long, value_name = "NAME", value_parser = device)]
    gpu: Option<&'static Peaks>,
    /// Source lines that are shown, by warp instructions
    #[arg(long, value_name = "N", default_value_t = 12)]
    lines: usize,
    #[command(flatten)]
    choice: Choice,
    #[command(flatten)]
    running: Running,
}

fn device(name: &str) -> Result<&'static Peaks, String> {
    let names: Vec<&str> = PEAKS.iter().map(|p| p.name).collect();
    peaks::of(name).ok_or_else(|| format!("expected one of {}", names.join(", ")))
}

pub fn run(args: &Args, global: &Global, printer: &mut Printer) -> Result<Exit, Failure> {
    let once = once(&args.file, &args.choice, &args.running, global)?;
    printer.line(format!("cell       {}", report::cell_text(&once.cell)))?;
    printer.line(format!("tier       1, PTX interpreter on {} from {}", once.built.side.arch, once.built.toolchain))?;
    printer.line("estimated: counted in the interpreter; no device was asked, and nothing here is a time")?;
    if let Some(stopped) = &once.ran.stopped {
        printer.line(format!("incomplete: {stopped}"))?;
    }
    for row in rows(&once.ran.counts) {
        printer.line(format!("  {:<30} {:>16}", row.what, row.show(row.before)))?;
    }
    for t in &once.ran.traffic {
        printer.line(format!("  unique bytes of {:<14} read {}, written {}", t.allocation, t.read, t.written))?;
    }
    by_line(args, &once, printer)?;
    for (kernel, text) in occupancies(&once) {
        printer.line(format!("occupancy of {kernel} on {}: {text}", once.built.side.arch))?;
    }
    if let Some(p) = args.gpu {
        printer.line(roofline(p, &once))?;
    }
    printer.json(&document(args, &once))?;
    Ok(match &once.ran.stopped {
        Some(Stopped::Machine { .. } | Stopped::Limit { .. }) => Exit::Inconclusive,
        Some(_) => Exit::Verification,
        None => Exit::Done,
    })
}

fn rows(counts: &Counts) -> Vec<CounterRow> {
    counter_rows(counts, counts)
}

fn hottest(once: &Once) -> Vec<&LineCounts> {
    let mut lines: Vec<&LineCounts> = once.ran.lines.iter().collect();
    lines.sort_by(|a, b| b.counts.instructions.cmp(&a.counts.instructions).then(a.line.cmp(&b.line)));
    lines
}

fn by_line(args: &Args, once: &Once, printer: &mut Printer) -> Result<(), Failure> {
    let lines = hottest(once);
    printer.line(format!(
        "\n  {:>5} {:>14} {:>6} {:>10} {:>9} {:>10} {:>9}  source",
        "line", "instructions", "share", "requests", "sect/req", "shared", "wave/req"
    ))?;
    for l in lines.iter().take(args.lines) {
        let c = &l.counts;
        let share = 100.0 * c.instructions as f64 / once.ran.counts.instructions.max(1) as f64;
        let waves = if c.shared_requests == 0 { 0.0 } else { c.shared_wavefronts as f64 / c.shared_requests as f64 };
        let span = report::line_span(once.opened.sources(), &l.file, l.line);
        let text = span.map_or("", |s| once.opened.sources().slice(s));
        let text: String = text.chars().take(60).collect();
        printer.line(format!(
            "  {:>5} {:>14} {share:>5.1}% {:>10} {:>9.2} {:>10} {waves:>9.2}  {text}",
            l.line,
            c.instructions,
            c.global_requests,
            c.sectors_per_request(),
            c.shared_requests
        ))?;
    }
    if lines.len() > args.lines {
        printer.line(format!("  ... {} more lines", lines.len() - args.lines))?;
    }
    printer.line("")
}

fn occupancies(once: &Once) -> Vec<(String, String)> {
    let side = &once.built.side;
    let Some(limits) = occupancy::limits(&side.arch) else { return vec![] };
    let Ok(plan) = side.plan.concrete(&once.cell) else { return vec![] };
    let mut found: Vec<(String, String)> = vec![];
    for l in plan.launches() {
        let key = KernelKey::of(l);
        let Some(r) = side.resources.get(&key) else { continue };
        let threads = u32::try_from(l.threads_per_block()).unwrap_or(u32::MAX);
        let text = match occupancy::of_kernel(limits, r, threads, l.shared) {
            Ok(o) => format!(
                "{:.0} % ({} of {} warps), {} blocks, limited by {}; {} registers, {} bytes of shared memory",
                o.percent(),
                o.warps,
                o.max_warps,
                o.blocks,
                o.limiter,
                r.registers,
                r.shared + l.shared
            ),
            Err(why) => why.to_string(),
        };
        let entry = (key.to_string(), text);
        if !found.contains(&entry) {
            found.push(entry);
        }
    }
    found
}

/// Unique bytes of device memory and operations of the whole run.
fn work(once: &Once) -> (f64, f64) {
    let bytes: u64 = once.ran.traffic.iter().map(|t| t.read + t.written).sum();
    (bytes as f64, once.ran.counts.flops as f64)
}

fn roofline(p: &Peaks, once: &Once) -> String {
    let (bytes, flops) = work(once);
    let (floor, memory) = p.floor(bytes, flops);
    let binds = if memory { "device memory" } else { "arithmetic" };
    let intensity = if bytes > 0.0 { flops / bytes } else { 0.0 };
    format!(
        "roofline of {} (estimated; {}): {intensity:.2} operations per unique byte, ridge at {:.1}; {binds} binds; no run \
with cold caches can take less than {:.2} us",
        p.name,
        p.source,
        p.ridge(),
        floor * 1e6
    )
}

fn document(args: &Args, once: &Once) -> Value {
    let counts = |c: &Counts| -> Value {
        rows(c).iter().map(|r| (r.what.to_owned(), json!(r.before))).collect::<serde_json::Map<_, _>>().into()
    };
    let (bytes, flops) = work(once);
    let roof = args.gpu.map(|p| {
        let (floor, memory) = p.floor(bytes, flops);
        json!({
            "gpu": p.name, "source": p.source, "unique_bytes": bytes, "operations": flops, "ridge": p.ridge(),
            "binds": if memory { "memory" } else { "arithmetic" }, "floor_us": floor * 1e6,
        })
    });
    json!({
        "schema": "kopt/profile/1", "estimated": true, "arch": once.built.side.arch, "toolchain": once.built.toolchain,
        "run": report::ran_json(&once.cell, &once.ran),
        "total": counts(&once.ran.counts),
        "lines": hottest(once).iter().map(|l| json!({
            "kernel": l.kernel, "file": l.file, "line": l.line, "counters": counts(&l.counts),
        })).collect::<Vec<_>>(),
        "unique_bytes": once.ran.traffic.iter().map(|t| json!({
            "buffer": t.allocation, "read": t.read, "written": t.written,
        })).collect::<Vec<_>>(),
        "occupancy": occupancies(once).iter().map(|(k, t)| json!({ "kernel": k, "text": t })).collect::<Vec<_>>(),
        "roofline": roof,
    })
}
