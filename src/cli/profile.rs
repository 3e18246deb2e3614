//! `kopt profile`: what a kernel does, counted in the interpreter: by source line and in total, with occupancy and, for a
//! named device, a roofline from its data sheet.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use kopt::compile::occupancy;
use kopt::contract::ConcretePlan;
use kopt::gate::execute::LineCounts;
use kopt::gate::peaks::{self, PEAKS, Peaks};
use kopt::gate::{KernelKey, Ran, Stopped, execute};
use kopt::ptx::Counts;
use kopt::report::{self, CounterRow, counter_rows};
use serde_json::{Value, json};

use super::device::{Device, On, missing};
use super::exit::{Exit, Failure};
use super::options::Global;
use super::printer::Printer;
use super::profile_gpu::{self, Measured};
use super::run::{Choice, Once, once, ready};
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
    /// Whose counters are read: the interpreter's alone, or a GPU's beside them
    #[arg(long, value_enum, default_value = "emulator", value_name = "WHERE")]
    on: On,
    #[command(flatten)]
    device: Device,
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
    let (once, on_device) = match args.on {
        On::Emulator => (once(&args.file, &args.choice, &args.running, global)?, None),
        On::Gpu | On::Both => measured(args, global)?,
    };
    printer.line(format!("cell       {}", report::cell_text(&once.cell)))?;
    if let Some((m, plan)) = &on_device {
        m.show(estimate(&once), (&once.built, plan), once.opened.sources(), args.lines, printer)?;
    }
    printer.line(format!("tier       1, PTX interpreter on {} from {}", once.built.side.arch, once.built.toolchain))?;
    printer.line(match on_device {
        Some(_) => "estimated: counted in the interpreter",
        None => "estimated: counted in the interpreter; no device was asked, and nothing here is a time",
    })?;
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
    printer.json(&document(args, &once, on_device.as_ref()))?;
    Ok(match &once.ran.stopped {
        // What the interpreter could not run to its end the device has run.
        Some(Stopped::Limit { .. }) if on_device.is_some() => Exit::Done,
        Some(Stopped::Machine { .. } | Stopped::Limit { .. }) => Exit::Inconclusive,
        Some(_) => Exit::Verification,
        None => Exit::Done,
    })
}

/// The same cell on the device and in the interpreter, as far as that can run it.
fn measured(args: &Args, global: &Global) -> Result<(Once, Option<(Measured, ConcretePlan)>), Failure> {
    let mut running = args.running.clone();
    if running.arch.is_none() {
        running.arch = Some(args.device.arch()?);
    }
    let r = ready(&args.file, &args.choice, &running, global)?;
    let kernel = r.plan.launches().next().map_or_else(String::new, |l| l.kernel.clone());
    let cannot = |why| Ran { stopped: Some(Stopped::Limit { kernel, why }), ..Ran::default() };
    let ran = execute(&r.built.side, &r.plan, &r.starts, &r.how).unwrap_or_else(cannot);
    let on_device = profile_gpu::measure(&args.device, &r.built, (&r.plan, &r.starts, &r.cell), &running.settings())?;
    if let Some(why) = on_device.nothing() {
        return Err(missing(why));
    }
    Ok((Once { opened: r.opened, built: r.built, cell: r.cell, ran }, Some((on_device, r.plan))))
}

/// The interpreter's run, where it came to its end.
fn estimate(once: &Once) -> Option<&Ran> {
    once.ran.stopped.is_none().then_some(&once.ran)
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

fn document(args: &Args, once: &Once, on_device: Option<&(Measured, ConcretePlan)>) -> Value {
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
        "measured": on_device.map(|(m, plan)| m.value(estimate(once), &once.built, plan)),
    })
}
