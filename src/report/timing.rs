//! Times in words and as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::svg::{distributions, escape};
use super::text::cell;
use crate::gate::timing::stats::{CANDIDATE, Compared, ORIGINAL, Quartiles, Speed};
use crate::gate::timing::{TimingOutcome, arm, word};
use crate::gpu::timing::Timer;

/// The part of a report that speaks of time.
pub fn text(t: &TimingOutcome) -> String {
    let mut out = String::new();
    let size = t.bytes as f64 / f64::from(1 << 20);
    let _ = writeln!(out, "timed on {}: {}, {size:.1} MiB of buffers", t.device, cell(&t.cell));
    if !t.states.is_empty() {
        let head =
            ["cache", "timer", "original", "candidate", "ratio", "99 % interval", "margin", "callable", "verdict"];
        let rows = t.states.iter().map(row);
        for line in table(std::iter::once(head.map(str::to_owned)).chain(rows)) {
            let _ = writeln!(out, "  {line}");
        }
    }
    if let Some(f) = &t.floor {
        let cold = t.states.first().map(|s| (f.share(s.original.median()), f.share(s.candidate.median())));
        let share = cold.map_or_else(String::new, |(a, b)| {
            format!("; {:.0} % of it reached by the original, {:.0} % by the candidate", 100.0 * a, 100.0 * b)
        });
        let (bytes, peak) = (f.bytes as f64 / 1e6, f.peak / 1e12);
        let _ = writeln!(
            out,
            "  floor: {bytes:.1} MB at {peak:.2} TB/s (measured peak) are {}{share}",
            time(f.nanoseconds)
        );
    }
    if t.looked_at > 0 {
        let _ = writeln!(out, "  answers: read after {} samples, and of every input after the last", t.looked_at);
    }
    out
}

/// The verdict on speed in a sentence.
pub fn sentence(t: &TimingOutcome) -> String {
    let each: Vec<String> = t
        .states
        .iter()
        .map(|s| format!("{:.3} times as fast with a {} cache", s.ratio, word(s.method.cache)))
        .collect();
    match &t.speed {
        Speed::Inconclusive(why) => format!("speed inconclusive: {why}"),
        speed => format!("{} ({})", speed.word(), each.join(", ")),
    }
}

fn row(s: &Compared) -> [String; 9] {
    let percent = |v: f64| format!("{:.1} %", 100.0 * v);
    [
        word(s.method.cache).to_owned(),
        timer(s),
        quartiles(&s.original),
        quartiles(&s.candidate),
        format!("{:.3}", s.ratio),
        format!("{:.3} .. {:.3}", s.interval.0, s.interval.1),
        percent(s.margin),
        percent(s.callable),
        s.speed.word().to_owned(),
    ]
}

fn timer(s: &Compared) -> String {
    match s.method.timer {
        Timer::Events => format!("events, {} sets", s.method.sets),
        Timer::Graph { runs } => format!("graph of {runs}, {} sets", s.method.sets),
    }
}

/// The median, and what half of the samples are between.
fn quartiles(q: &Quartiles) -> String {
    let [low, middle, high] = q.0;
    let half = if middle > 0.0 { 50.0 * (high - low) / middle } else { 0.0 };
    format!("{} +- {half:.1} %", time(middle))
}

fn time(nanoseconds: f64) -> String {
    match nanoseconds {
        n if n < 1e4 => format!("{:.2} us", n / 1e3),
        n if n < 1e6 => format!("{:.1} us", n / 1e3),
        n => format!("{:.3} ms", n / 1e6),
    }
}

fn table(rows: impl Iterator<Item = [String; 9]>) -> Vec<String> {
    let rows: Vec<[String; 9]> = rows.collect();
    let width = |n: usize| rows.iter().filter_map(|r| r.get(n)).map(String::len).max().unwrap_or(0);
    let line = |r: &[String; 9]| {
        let cells: Vec<String> = r.iter().enumerate().map(|(n, c)| format!("{c:<w$}", w = width(n))).collect();
        cells.join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// The same as a part of a page, with the distributions of the samples.
pub fn html(t: &TimingOutcome) -> String {
    let mut out = format!("<h2>Times</h2>\n<pre>{}</pre>\n", escape(&text(t)));
    for s in &t.states {
        let of = |index: u32| -> Vec<f64> {
            let own = t.samples.iter().filter(|x| x.cache == s.method.cache && x.arm == index);
            own.map(|x| x.nanoseconds).collect()
        };
        let _ = writeln!(
            out,
            "<p>Samples with a {} cache</p>\n{}",
            word(s.method.cache),
            distributions(&of(ORIGINAL), &of(CANDIDATE))
        );
    }
    out
}

/// The same for programs, with all raw samples.
pub fn value(t: &TimingOutcome) -> Value {
    let quartiles = |q: &Quartiles| json!({ "quarter": q.0[0], "median": q.0[1], "three_quarters": q.0[2] });
    let state = |s: &Compared| {
        json!({
            "cache": s.method.cache,
            "method": s.method,
            "original_ns": quartiles(&s.original),
            "candidate_ns": quartiles(&s.candidate),
            "ratio": s.ratio,
            "interval_99": [s.interval.0, s.interval.1],
            "spread_of_original": s.spread,
            "margin": s.margin,
            "smallest_callable_change": s.callable,
            "pairs": s.pairs,
            "dropped": s.dropped,
            "verdict": s.speed.word(),
            "reason": if let Speed::Inconclusive(why) = &s.speed { Some(why) } else { None },
        })
    };
    json!({
        "dims": t.cell.dims,
        "contents": t.cell.distribution.word(),
        "device": t.device,
        "buffer_bytes": t.bytes,
        "states": t.states.iter().map(state).collect::<Vec<_>>(),
        "verdict": t.speed.word(),
        "reason": if let Speed::Inconclusive(why) = &t.speed { Some(why) } else { None },
        "floor": t.floor.map(|f| json!({ "bytes": f.bytes, "peak_bytes_per_s": f.peak, "ns": f.nanoseconds })),
        "answers_read_while_timing": t.looked_at,
        "samples_taken_again": t.retaken,
        "samples": t.samples.iter().map(|s| json!({
            "version": arm(s.arm), "cache": s.cache, "round": s.round, "number": s.number, "ns": s.nanoseconds,
            "sm_mhz": s.state.map(|s| s.clock), "throttled": s.state.map(|s| s.throttled),
        })).collect::<Vec<_>>(),
    })
}
