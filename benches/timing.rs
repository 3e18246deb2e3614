//! Counts verdicts over disjoint parts of long timing runs: `cargo bench --bench timing -- REPORT.json ..`, with reports of
//! `kopt --format json verify A B --time --rounds N`. Three rounds that follow each other make one comparison, as `--rounds 3`
//! would; what changes slowly over minutes is in all of them.

use std::collections::BTreeMap;

use kopt::gate::timing::stats::{Speed, compared};
use kopt::gpu::timing::{Cache, Method, Sample, State};
use serde_json::Value;

/// Rounds of one comparison.
const ROUNDS: u32 = 3;

fn main() {
    let files: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    println!("{:<28} {:<5} {:>12} {:>8} {:>8}  verdicts", "report", "cache", "original us", "spread", "callable");
    for file in files {
        match std::fs::read_to_string(&file).map_err(|e| e.to_string()).and_then(|t| report(&t)) {
            Ok(lines) => lines.iter().for_each(|l| println!("{:<28} {l}", name(&file))),
            Err(why) => println!("{:<28} {why}", name(&file)),
        }
    }
}

fn name(file: &str) -> String {
    std::path::Path::new(file).file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned())
}

fn report(text: &str) -> Result<Vec<String>, String> {
    let report: Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let timing = report.get("timing").ok_or("not a report with times")?;
    let states = timing.get("states").and_then(Value::as_array).ok_or("nothing was timed")?;
    let samples: Vec<Sample> =
        timing.get("samples").and_then(Value::as_array).ok_or("no samples")?.iter().filter_map(sample).collect();
    Ok(states.iter().filter_map(|s| line(s, &samples)).collect())
}

fn line(state: &Value, samples: &[Sample]) -> Option<String> {
    let method: Method = serde_json::from_value(state.get("method")?.clone()).ok()?;
    let own: Vec<Sample> = samples.iter().filter(|s| s.cache == method.cache).copied().collect();
    let rounds = own.iter().map(|s| s.round).max()? + 1;
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut spreads, mut callable, mut times) = (vec![], vec![], vec![]);
    for first in (0..rounds / ROUNDS).map(|n| n * ROUNDS) {
        let part: Vec<Sample> = own.iter().filter(|s| (first..first + ROUNDS).contains(&s.round)).copied().collect();
        let found = compared(&part, &method);
        let word = match &found.speed {
            Speed::Inconclusive(_) => "inconclusive",
            speed => speed.word(),
        };
        *counts.entry(word).or_default() += 1;
        spreads.push(found.spread);
        callable.push(found.callable);
        times.push(found.original.median());
    }
    let most = |v: &[f64]| 100.0 * v.iter().copied().fold(0.0, f64::max);
    times.sort_by(f64::total_cmp);
    let verdicts: Vec<String> = counts.iter().map(|(word, n)| format!("{n} {word}")).collect();
    let cache = if method.cache == Cache::Cold { "cold" } else { "warm" };
    Some(format!(
        "{cache:<5} {:>12.2} {:>6.2} % {:>6.2} %  {}",
        times.get(times.len() / 2).copied().unwrap_or(0.0) / 1e3,
        most(&spreads),
        most(&callable),
        verdicts.join(", ")
    ))
}

fn sample(value: &Value) -> Option<Sample> {
    let arm = match value.get("version")?.as_str()? {
        "original" => 0,
        "control" => 1,
        _ => 2,
    };
    let number = |name: &str| value.get(name).and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
    let clock = number("sm_mhz");
    Some(Sample {
        cache: serde_json::from_value(value.get("cache")?.clone()).ok()?,
        arm,
        round: number("round")?,
        number: number("number")?,
        nanoseconds: value.get("ns")?.as_f64()?,
        state: clock
            .map(|clock| State { clock, throttled: value.get("throttled").and_then(Value::as_bool).unwrap_or(false) }),
    })
}
