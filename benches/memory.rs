//! What the memory costs with 100,000 pieces of evidence: opening, a step of the policy, recording, a new run.

use std::hint::black_box;
use std::path::Path;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use kopt::memory::{Bottleneck, Context, Evidence, Family, Gain, Outcome, PathStep, Store};
use kopt::policy::{Firmness, Legal, Settings, State, choose};
use kopt::skill::Directions;
use kopt::source::FileId;

const ROWS: u32 = 100_000;
/// Steps of a run.
const STEPS: u32 = 25;

fn evidence(i: u32, names: &[&str]) -> Evidence {
    let at = |k: u32| names[(i.wrapping_mul(2_654_435_761).rotate_right(7) ^ k) as usize % names.len()];
    let step = |k: u32| PathStep { direction: at(k).to_owned(), outcome: Outcome::Correct { estimated: None } };
    let direction = at(9);
    Evidence {
        run: format!("run-{:06}", i / STEPS),
        step: i % STEPS + 1,
        started: 1_800_000_000 + u64::from(i / STEPS),
        context: Context {
            arch: ["sm_70", "sm_80", "sm_90", "sm_100"][(i / STEPS) as usize % 4].to_owned(),
            language: ["cuda", "tilelang"][(i / STEPS) as usize % 2].to_owned(),
            family: Family::ALL[(i / STEPS) as usize % 9],
        },
        bottleneck: Some(Bottleneck::ALL[i as usize % 5]),
        prefix: (1..=i % STEPS).take(3).map(step).collect(),
        direction: direction.to_owned(),
        skill: format!("{direction}-{}", i % 6),
        outcome: match i % 10 {
            0 => Outcome::NotCompiled,
            1 => Outcome::Wrong,
            2 => Outcome::Correct { estimated: Gain::of(1.2) },
            k => Outcome::Measured { speedup: Gain::of(0.8 + f64::from(k) * 0.1).expect("a gain") },
        },
        kernel: "0123456789abcdef0123456789abcdef".to_owned(),
        diff: format!("{i:032x}"),
        reason: if i % 10 < 2 { "error: identifier is undefined".to_owned() } else { String::new() },
    }
}

fn filled(path: &Path, directions: &Directions) {
    let names: Vec<&str> = directions.names().collect();
    let all: Vec<Evidence> = (0..ROWS).map(|i| evidence(i, &names)).collect();
    let mut store = Store::open(path).expect("a store");
    assert_eq!(store.record(&all).expect("recorded"), ROWS as usize);
    store.refresh().expect("sums");
}

fn memory(c: &mut Criterion) {
    let directions = Directions::parse(FileId(0), include_str!("../skills/directions.toml")).expect("directions");
    let names: Vec<&str> = directions.names().collect();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("memory.sqlite");
    filled(&path, &directions);
    c.bench_function("open", |b| b.iter(|| black_box(Store::open(&path).expect("a store"))));

    let mut store = Store::open(&path).expect("a store");
    let last = evidence(ROWS - 1, &names);
    let state = State {
        kernel: "k".to_owned(),
        context: last.context.clone(),
        bottleneck: Some(Bottleneck::Memory),
        path: last.prefix.clone(),
        error: None,
    };
    let legal: Vec<Legal> = (names.iter().flat_map(|d| (0..4).map(move |i| (d, i))))
        .map(|(d, i)| Legal {
            direction: (*d).to_owned(),
            skill: format!("{d}-{i}"),
            risk: 0.1,
            effect: 0.0,
            firmness: Firmness::Proved,
        })
        .collect();
    let skills: Vec<(&str, &str)> = legal.iter().map(|l| (l.direction.as_str(), l.skill.as_str())).collect();
    let settings = Settings::default();
    let decide = |store: &mut Store, state: &State| {
        let snapshot =
            store.snapshot(&directions, &state.context, &state.prefix(settings.k), "memory", &skills).expect("read");
        choose(&snapshot, state, &legal, &settings, 3).expect("a choice")
    };
    c.bench_function("step: read and choose", |b| b.iter(|| black_box(decide(&mut store, &state))));
    let mut next = ROWS;
    c.bench_function("step: choose and record", |b| {
        b.iter_batched(
            || {
                next += 1;
                // The run goes on for as long as it is measured.
                Evidence {
                    run: last.run.clone(),
                    started: last.started,
                    step: next,
                    diff: format!("{next}"),
                    ..last.clone()
                }
            },
            |e| {
                let choice = decide(&mut store, &state);
                store.record(&[e]).expect("recorded");
                black_box(choice)
            },
            BatchSize::SmallInput,
        );
    });
    let mut run = 0;
    c.bench_function("first step of a new run", |b| {
        b.iter_batched(
            || {
                run += 1;
                Evidence { run: format!("s-{run:06}"), started: last.started + run, step: 1, ..last.clone() }
            },
            |e| {
                store.record(&[e]).expect("recorded");
                black_box(decide(&mut store, &state))
            },
            BatchSize::SmallInput,
        );
    });
    c.bench_function("sums made anew", |b| b.iter(|| store.rebuild().expect("sums")));
}

criterion_group! { name = benches; config = Criterion::default().sample_size(20); targets = memory }
criterion_main!(benches);
