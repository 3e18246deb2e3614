//! The policy and its ablations on synthetic environments: `cargo bench --bench policy [-- --seeds N --first SEED --svg FILE]`.
//!
//! Prints the reward of a run for each setting with its 95 % interval over the seeds, the ratio of the whole policy to each
//! setting, and what became of the claims. `--svg` writes the curves.

use std::fmt::Write as _;
use std::thread;

use kopt::policy::Settings;
use kopt::policy::trial::{Environment, Interval, Trial, per_run, series};
use kopt::skill::Directions;
use kopt::source::FileId;

const SETTINGS: &[&str] = &[
    "full",
    "flat",
    "no-hierarchy",
    "no-local",
    "random-memory",
    "no-prefix",
    "no-position",
    "no-update",
    "feedback-only",
    "upper-confidence",
];

type Curves = Vec<(&'static str, Vec<Vec<f64>>)>;

fn main() -> Result<(), String> {
    let args: Vec<String> = std::env::args().collect();
    let option = |name: &str| args.iter().position(|a| a == name).and_then(|i| args.get(i + 1));
    let trial = Trial::parse(include_str!("../tests/data/memory/environments.toml"))?;
    let library =
        Directions::parse(FileId(0), include_str!("../skills/directions.toml")).map_err(|e| format!("{e:?}"))?;
    let seeds = option("--seeds").map_or(Ok(trial.seeds), |n| n.parse().map_err(|e| format!("--seeds: {e}")))?;
    let first = option("--first").map_or(Ok(0), |n| n.parse().map_err(|e| format!("--first: {e}")))?;
    let mut pictures = vec![];
    for environment in &trial.environment {
        let curves = play(&trial, environment, &library, first..first + seeds);
        report(environment, &trial, &curves, seeds);
        pictures.push((environment.name.as_str(), curves));
    }
    match option("--svg") {
        Some(path) => std::fs::write(path, svg(&pictures)).map_err(|e| format!("{path}: {e}")),
        None => Ok(()),
    }
}

fn play(trial: &Trial, environment: &Environment, library: &Directions, seeds: std::ops::Range<u64>) -> Curves {
    let one = |name: &'static str| {
        let settings = Settings::named(name).unwrap_or_default();
        (name, series(trial, environment, library, &settings, seeds.clone()))
    };
    thread::scope(|scope| {
        let one = &one;
        let halves: Vec<_> = [0, 1]
            .map(|half| scope.spawn(move || SETTINGS.iter().skip(half).step_by(2).map(|n| one(n)).collect::<Vec<_>>()))
            .into();
        let mut all: Curves = halves.into_iter().flat_map(|h| h.join().unwrap_or_default()).collect();
        all.sort_by_key(|(n, _)| SETTINGS.iter().position(|s| s == n));
        all
    })
}

fn report(environment: &Environment, trial: &Trial, curves: &Curves, seeds: u64) {
    println!("{}: {seeds} seeds, {} runs of {} steps", environment.name, trial.runs, trial.steps);
    println!("{:<18} {:>24} {:>24} {:>24}", "", "reward of a run", "of the last 40 runs", "full over it");
    let find = |name: &str| curves.iter().find(|(n, _)| *n == name).map_or(&[][..], |(_, c)| c);
    let show = |i: Interval| format!("{:.3} [{:.3}, {:.3}]", i.mean, i.low, i.high);
    for (name, c) in curves {
        let ratio = Interval::of_ratio(&per_run(find("full"), 0), &per_run(c, 0));
        let late = Interval::of(&per_run(c, trial.runs.saturating_sub(40)));
        println!("{name:<18} {:>24} {:>24} {:>24}", show(Interval::of(&per_run(c, 0))), show(late), show(ratio));
    }
    let claim = &environment.claim;
    let ratio = Interval::of_ratio(&per_run(find("full"), claim.by_run), &per_run(find(&claim.over), claim.by_run));
    let (wanted, holds) = match (claim.at_least, claim.within) {
        (Some(least), _) => (format!("lower bound at least {least}"), ratio.low >= least),
        (None, within) => {
            let least = 1.0 - within.unwrap_or(0.0);
            (format!("at least {least:.2}"), ratio.mean >= least)
        }
    };
    let word = if holds { "reached" } else { "NOT reached" };
    println!("full over {} after run {}: {}; {wanted}: {word}\n", claim.over, claim.by_run, show(ratio));
}

/// Curves of the reward of a run, smoothed over ten runs, one panel for each environment.
fn svg(pictures: &[(&str, Curves)]) -> String {
    const SHOWN: &[(&str, &str)] = &[
        ("full", "#0b5fa5"),
        ("flat", "#d1495b"),
        ("no-prefix", "#edae49"),
        ("no-position", "#66a182"),
        ("no-update", "#777777"),
        ("random-memory", "#8d5a97"),
        ("upper-confidence", "#2e4057"),
    ];
    let (width, height, panel) = (760.0, 250.0, 300.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        panel * pictures.len() as f64
    );
    for (i, (name, curves)) in pictures.iter().enumerate() {
        let top = panel * i as f64;
        let shown: Vec<(&str, &str, Vec<f64>)> = (SHOWN.iter())
            .filter_map(|(n, colour)| Some((*n, *colour, smooth(&curves.iter().find(|(c, _)| c == n)?.1))))
            .collect();
        let most = shown.iter().flat_map(|s| &s.2).copied().fold(0.1, f64::max) * 1.05;
        let least = shown.iter().flat_map(|s| &s.2).copied().fold(0.0, f64::min);
        let y = |v: f64| top + 30.0 + (height - 40.0) * (most - v) / (most - least);
        let runs = shown.first().map_or(1, |s| s.2.len()).max(2);
        let x = |r: usize| 50.0 + 540.0 * r as f64 / (runs - 1) as f64;
        let _ =
            writeln!(out, "<text x=\"50\" y=\"{:.0}\" font-weight=\"bold\">{name}: reward of a run</text>", top + 18.0);
        for tick in 0..=4 {
            let v = least + (most - least) * f64::from(tick) / 4.0;
            let at = y(v);
            let _ = writeln!(
                out,
                "<path d=\"M50 {at:.1}H590\" stroke=\"#dddddd\"/><text x=\"44\" y=\"{:.1}\" text-anchor=\"end\">{v:.2}</text>",
                at + 4.0
            );
        }
        for r in (0..runs).step_by(20) {
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                x(r),
                top + height + 10.0,
                r + 1
            );
        }
        for (j, (n, colour, values)) in shown.iter().enumerate() {
            let points: Vec<String> =
                values.iter().enumerate().map(|(r, v)| format!("{:.1},{:.1}", x(r), y(*v))).collect();
            let _ = writeln!(
                out,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"/>",
                points.join(" ")
            );
            let at = top + 40.0 + 18.0 * j as f64;
            let _ = writeln!(
                out,
                "<path d=\"M600 {at:.1}h20\" stroke=\"{colour}\" stroke-width=\"3\"/><text x=\"626\" y=\"{:.1}\">{n}</text>",
                at + 4.0
            );
        }
    }
    out.push_str("</svg>\n");
    out
}

/// The mean over the seeds of each run, then over the run and the nine before it.
fn smooth(series: &[Vec<f64>]) -> Vec<f64> {
    let runs = series.first().map_or(0, Vec::len);
    let mean: Vec<f64> = (0..runs).map(|r| series.iter().map(|s| s[r]).sum::<f64>() / series.len() as f64).collect();
    (0..runs).map(|r| mean[r.saturating_sub(9)..=r].iter().sum::<f64>() / (r.min(9) + 1) as f64).collect()
}
