//! `kopt profile --on gpu`: counters of the device through ncu beside those of the interpreter; times where ncu is not there.

use kopt::compile::occupancy;
use kopt::contract::{Cell, ConcretePlan};
use kopt::gate::on_device::OnDevice;
use kopt::gate::timing::{time_pair, word};
use kopt::gate::{KernelKey, Ran, Settings, device};
use kopt::gpu::ncu::{self, Launch, Line, classify};
use kopt::gpu::timing::Policy;
use kopt::ptx::Class;
use kopt::report;
use kopt::source::Sources;
use serde_json::{Value, json};

use super::device::Device;
use super::exit::Failure;
use super::printer::Printer;
use super::verify::device::not_asked;
use kopt::gate::Built;

/// What a device said of one cell.
pub struct Measured {
    counters: Result<Counters, String>,
    /// Where there are no counters: nanoseconds with a cold and a warm cache, or why not.
    times: Option<Result<Vec<(&'static str, f64)>, String>>,
}

struct Counters {
    device: String,
    launches: Vec<Launch>,
    lines: Result<Vec<Line>, String>,
}

/// A counter beside its estimate.
pub struct Row {
    what: &'static str,
    /// ncu's name of it, or of what it is made of.
    metric: &'static str,
    measured: f64,
    /// In the same unit.
    estimated: Option<f64>,
    digits: usize,
}

impl Row {
    /// How far the estimate is off, in percent of what was measured.
    fn difference(&self) -> Option<f64> {
        let estimated = self.estimated?;
        if self.measured == 0.0 {
            return (estimated == 0.0).then_some(0.0);
        }
        Some(100.0 * (estimated - self.measured) / self.measured)
    }
}

/// Counters of a plan on the device, else times.
pub fn measure(
    place: &Device,
    built: &Built,
    (plan, starts, cell): (&ConcretePlan, &[Vec<u8>], &Cell),
    settings: &Settings,
) -> Result<Measured, Failure> {
    let counters = counted(place, built, plan, starts);
    let times = counters.is_err().then(|| timed(place, built, cell, settings)).transpose()?;
    Ok(Measured { counters, times })
}

#[cfg(feature = "gpu")]
fn counted(place: &Device, built: &Built, plan: &ConcretePlan, starts: &[Vec<u8>]) -> Result<Counters, String> {
    let program = ncu::run::program()?;
    let me = std::env::current_exe().map_err(|e| e.to_string())?;
    let runs = [device::Run { plan, starts, reuse: None }];
    let (job, parts) = device::job(&built.images, &runs, i32::from(place.device))?;
    let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
    // Each launch is replayed for every group of counters.
    let limit = std::time::Duration::from_secs(place.gpu_limit.max(1).saturating_mul(10));
    let found = ncu::run::profile(&program, (&me, super::device::WORKER), &job, &parts, limit)?;
    Ok(Counters { device: found.device, launches: found.launches, lines: found.lines })
}

#[cfg(not(feature = "gpu"))]
fn counted(_: &Device, _: &Built, _: &ConcretePlan, _: &[Vec<u8>]) -> Result<Counters, String> {
    Err(kopt::gpu::find().to_string())
}

type Times = Result<Vec<(&'static str, f64)>, String>;

/// The kernel against itself, for its times alone.
fn timed(place: &Device, built: &Built, cell: &Cell, settings: &Settings) -> Result<Times, Failure> {
    let (execute, stopwatch) = (place.executor()?, place.stopwatch()?);
    let ordinal = i32::from(place.device);
    let side = OnDevice { side: &built.side, images: &built.images, ordinal, run: &*execute };
    let policy = Policy { rounds: 1, seed: settings.seed, ..Policy::default() };
    let found = time_pair((&side, &side), cell, &not_asked(), (settings, policy), None, &*stopwatch);
    Ok(found.map(|t| t.states.iter().map(|s| (word(s.method.cache), s.original.median())).collect()))
}

impl Measured {
    /// Why nothing was measured at all.
    pub fn nothing(&self) -> Option<String> {
        match (&self.counters, &self.times) {
            (Err(why), Some(Err(also))) => Some(format!("{why}; no times either: {also}")),
            _ => None,
        }
    }

    /// `estimate` is the interpreter's run of the same cell, where it came to its end.
    pub fn show(
        &self,
        estimate: Option<&Ran>,
        (built, plan): (&Built, &ConcretePlan),
        sources: &Sources,
        most: usize,
        printer: &mut Printer,
    ) -> Result<(), Failure> {
        let counters = match &self.counters {
            Ok(counters) => counters,
            Err(why) => return self.show_times(why, printer),
        };
        printer.line(format!(
            "tier       3, {}; counters through ncu, cold caches, clocks as they are",
            counters.device
        ))?;
        for l in &counters.launches {
            let says = classify(l).map_or_else(
                || "not known: a counter is missing".to_owned(),
                |c| format!("{}: {}", c.bottleneck, c.why),
            );
            printer.line(format!("bottleneck of {}: {says}", l.kernel))?;
            let stalls: Vec<String> =
                l.stalls().iter().take(4).map(|(r, s)| format!("{r} {:.0} %", 100.0 * s)).collect();
            printer.line(format!("  warps wait for: {}", stalls.join(", ")))?;
        }
        let head = ["", "measured", "estimated", "difference"];
        printer.line(format!("  {:<34} {:>16} {:>16} {:>10}", head[0], head[1], head[2], head[3]))?;
        for r in rows(&counters.launches, estimate, theoretical(built, plan)) {
            let show = |v: f64| format!("{v:.*}", r.digits);
            let estimated = r.estimated.map_or_else(|| "-".to_owned(), show);
            let off = r.difference().map_or_else(|| "-".to_owned(), |d| format!("{d:+.1} %"));
            printer.line(format!("  {:<34} {:>16} {estimated:>16} {off:>10}", r.what, show(r.measured)))?;
        }
        if estimate.is_none() {
            printer.line("  no estimates: the interpreter did not come to an end in this cell")?;
        }
        lines(counters, sources, most, printer)
    }

    fn show_times(&self, why: &str, printer: &mut Printer) -> Result<(), Failure> {
        printer.line(format!("no counters of the device: {why}"))?;
        match &self.times {
            Some(Ok(times)) => {
                for (cache, ns) in times {
                    printer.line(format!("measured: {:.2} us with a {cache} cache (median, by events)", ns / 1e3))?;
                }
                printer.line("everything below is estimated")
            }
            Some(Err(why)) => printer.line(format!("no times: {why}")),
            None => Ok(()),
        }
    }

    pub fn value(&self, estimate: Option<&Ran>, built: &Built, plan: &ConcretePlan) -> Value {
        let (times, no_times) = match &self.times {
            Some(Ok(t)) => (t.iter().map(|(cache, ns)| json!({ "cache": cache, "ns": ns })).collect(), None),
            Some(Err(why)) => (vec![], Some(why)),
            None => (vec![], None),
        };
        let counters = self.counters.as_ref().ok();
        let launch = |l: &Launch| {
            json!({ "kernel": l.kernel, "metrics": l.metrics, "bottleneck": classify(l).map(|c| c.bottleneck),
                "why": classify(l).map(|c| c.why), "stalls": l.stalls() })
        };
        let row = |r: &Row| {
            json!({ "what": r.what, "metric": r.metric, "measured": r.measured, "estimated": r.estimated,
                "difference_percent": r.difference() })
        };
        let launches = counters.map_or(&[][..], |c| &c.launches);
        let rows = rows(launches, estimate, theoretical(built, plan));
        json!({
            "device": counters.map(|c| &c.device), "no_counters": self.counters.as_ref().err(),
            "launches": launches.iter().map(launch).collect::<Vec<_>>(),
            "rows": rows.iter().map(row).collect::<Vec<_>>(),
            "lines": counters.map_or(&[][..], |c| c.lines.as_ref().map_or(&[][..], Vec::as_slice)),
            "no_lines": counters.and_then(|c| c.lines.as_ref().err()),
            "times": times, "no_times": no_times,
        })
    }
}

/// Percent of warps that fit at once, where all launches agree.
fn theoretical(built: &Built, plan: &ConcretePlan) -> Option<f64> {
    let limits = occupancy::limits(&built.side.arch)?;
    let mut found: Vec<f64> = vec![];
    for l in plan.launches() {
        let resources = built.side.resources.get(&KernelKey::of(l))?;
        let threads = u32::try_from(l.threads_per_block()).ok()?;
        found.push(occupancy::of_kernel(limits, resources, threads, l.shared).ok()?.percent());
    }
    found.dedup();
    if found.len() == 1 { found.first().copied() } else { None }
}

/// Counters of all launches together beside the interpreter's.
fn rows(launches: &[Launch], estimate: Option<&Ran>, occupancy: Option<f64>) -> Vec<Row> {
    let sum = |metric: &str| -> Option<f64> { launches.iter().map(|l| l.get(metric)).sum() };
    let both = |a: &str, b: &str| Some(sum(a)? + sum(b)?);
    let duration = sum(ncu::DURATION).filter(|d| *d > 0.0);
    // Of a whole run: launches count by how long they take.
    let mean = |metric: &str| -> Option<f64> {
        let weighted: Option<f64> = launches.iter().map(|l| Some(l.get(metric)? * l.get(ncu::DURATION)?)).sum();
        Some(weighted? / duration?)
    };
    let counts = estimate.map(|r| &r.counts);
    // Atomics are requests to the interpreter and counted apart by ncu.
    let plain = counts.filter(|c| c.class(Class::Atomic) == 0);
    let traffic = |of: fn(&kopt::ptx::Traffic) -> u64| estimate.map(|r| r.traffic.iter().map(of).sum::<u64>() as f64);
    let per = |a: Option<f64>, b: Option<f64>| Some(a? / b.filter(|b| *b > 0.0)?);
    let (requests, sectors) =
        (both(ncu::LOAD_REQUESTS, ncu::STORE_REQUESTS), both(ncu::LOAD_SECTORS, ncu::STORE_SECTORS));
    // Name, metric, measured, estimated, decimals.
    type Given = (&'static str, &'static str, Option<f64>, Option<f64>, usize);
    let all: [Given; 17] = [
        ("duration, us", ncu::DURATION, duration.map(|d| d * 1e6), None, 2),
        ("warp instructions", ncu::INSTRUCTIONS, sum(ncu::INSTRUCTIONS), counts.map(|c| c.instructions as f64), 0),
        ("global requests", ncu::LOAD_REQUESTS, requests, plain.map(|c| c.global_requests as f64), 0),
        ("global sectors", ncu::LOAD_SECTORS, sectors, plain.map(|c| c.global_sectors as f64), 0),
        ("sectors per request", ncu::LOAD_SECTORS, per(sectors, requests), plain.map(|c| c.sectors_per_request()), 2),
        ("sectors per load", ncu::LOAD_SECTORS, per(sum(ncu::LOAD_SECTORS), sum(ncu::LOAD_REQUESTS)), None, 2),
        ("sectors per store", ncu::STORE_SECTORS, per(sum(ncu::STORE_SECTORS), sum(ncu::STORE_REQUESTS)), None, 2),
        (
            "shared wavefronts",
            ncu::SHARED_WAVEFRONTS,
            sum(ncu::SHARED_WAVEFRONTS),
            counts.map(|c| c.shared_wavefronts as f64),
            0,
        ),
        ("shared bank conflicts", ncu::SHARED_CONFLICTS, sum(ncu::SHARED_CONFLICTS), None, 0),
        ("occupancy, % (estimate: at most)", ncu::OCCUPANCY, mean(ncu::OCCUPANCY), occupancy, 1),
        ("DRAM bytes read (unique bytes)", ncu::DRAM_READ, sum(ncu::DRAM_READ), traffic(|t| t.read), 0),
        ("DRAM bytes written (unique bytes)", ncu::DRAM_WRITTEN, sum(ncu::DRAM_WRITTEN), traffic(|t| t.written), 0),
        ("L1 hits, %", ncu::L1_HITS, mean(ncu::L1_HITS), None, 1),
        ("L2 hits, %", ncu::L2_HITS, mean(ncu::L2_HITS), None, 1),
        ("DRAM, % of peak", ncu::DRAM_SHARE, mean(ncu::DRAM_SHARE), None, 1),
        ("L2, % of peak", ncu::L2_SHARE, mean(ncu::L2_SHARE), None, 1),
        ("instructions, % of peak", ncu::COMPUTE_SHARE, mean(ncu::COMPUTE_SHARE), None, 1),
    ];
    let row = |(what, metric, measured, estimated, digits)| {
        Option::map(measured, |measured: f64| Row { what, metric, measured, estimated, digits })
    };
    all.into_iter().filter_map(row).collect()
}

/// Where warps were seen, by source line.
fn lines(counters: &Counters, sources: &Sources, most: usize, printer: &mut Printer) -> Result<(), Failure> {
    let mut all: Vec<&Line> = match &counters.lines {
        Ok(lines) => lines.iter().collect(),
        Err(why) => return printer.line(format!("no counters by line: {why}")),
    };
    let samples: f64 = all.iter().map(|l| l.samples).sum();
    all.sort_by(|a, b| b.samples.total_cmp(&a.samples).then(a.line.cmp(&b.line)));
    printer.line(format!(
        "\n  {:>5} {:>8} {:>12} {:>10} {:>10} {:<14} source (measured)",
        "line", "samples", "instructions", "sectors", "shared", "waits for"
    ))?;
    for l in all.iter().take(most) {
        let text = report::line_span(sources, &l.file, l.line).map_or("", |s| sources.slice(s));
        let text: String = text.chars().take(60).collect();
        let share = if samples > 0.0 { 100.0 * l.samples / samples } else { 0.0 };
        let waits = l.stalls.first().map_or("-", |(reason, _)| reason.as_str());
        printer.line(format!(
            "  {:>5} {share:>6.1} % {:>12.0} {:>10.0} {:>10.0} {waits:<14} {text}",
            l.line, l.instructions, l.global_sectors, l.shared_wavefronts
        ))?;
    }
    printer.line("")
}

#[cfg(test)]
mod tests {
    use super::*;
    use kopt::ptx::Counts;

    #[test]
    fn counters_stand_beside_their_estimates() {
        let launches = ncu::launches(include_str!("../../tests/data/gpu/tools/ncu-raw.csv")).expect("a page");
        let counts = Counts {
            instructions: 15_728_640,
            global_requests: 1_048_576,
            global_sectors: 4_194_304,
            shared_wavefronts: 17_301_504 / 2,
            ..Counts::default()
        };
        let ran = Ran { counts, ..Ran::default() };
        let rows = rows(&launches, Some(&ran), Some(100.0));
        let of = |what: &str| rows.iter().find(|r| r.what == what).expect("a row").difference();
        assert_eq!(of("warp instructions"), Some(0.0));
        assert_eq!(of("sectors per request"), Some(0.0));
        assert_eq!(of("shared wavefronts"), Some(-50.0));
        assert_eq!(of("L2 hits, %"), None);
        assert!(of("occupancy, % (estimate: at most)").is_some_and(|d| (11.0..12.0).contains(&d)));
        assert!(super::rows(&launches, None, None).iter().all(|r| r.estimated.is_none()));
        assert!(
            super::rows(&[], Some(&ran), None).is_empty()
                || super::rows(&[], Some(&ran), None).iter().all(|r| r.measured == 0.0)
        );
    }
}
