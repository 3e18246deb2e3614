//! The memory as its users meet it: files of other versions and other programs, damage, merging in any order, several
//! processes at once, and the policy on the synthetic environments.

use std::fs;
use std::path::Path;

use kopt::memory::store::{About, VERSION};
use kopt::memory::{Bottleneck, Context, Evidence, Family, Gain, Outcome, PathStep, Store, StoreError};
use kopt::policy::trial::{Interval, Trial, per_run, series};
use kopt::policy::{Settings, family};
use kopt::skill::Directions;
use kopt::source::mask::MacroTable;
use kopt::source::{FileId, SourceFile};
use kopt::syntax::cuda::parse_unit;
use proptest::prelude::*;

/// Evidence from four small numbers; equal numbers give equal evidence.
fn evidence(run: u32, step: u32, what: u32, how: u32) -> Evidence {
    let directions = ["memory-access", "data-reuse", "throughput"];
    let from = PathStep {
        direction: directions[(what as usize + 1) % 3].to_owned(),
        outcome: Outcome::Correct { estimated: None },
    };
    Evidence {
        run: format!("run-{run}"),
        step: step + 1,
        // Several runs begin in one second, and their names do not follow the clock.
        started: 1_800_000_000 + u64::from(run * 7 % 5),
        context: Context {
            arch: ["sm_80", "sm_90"][run as usize % 2].to_owned(),
            language: "cuda".to_owned(),
            family: Family::ALL[what as usize % Family::ALL.len()],
        },
        bottleneck: [None, Some(Bottleneck::Memory), Some(Bottleneck::Latency)][how as usize % 3],
        prefix: if step == 0 { vec![] } else { vec![from] },
        direction: directions[what as usize % 3].to_owned(),
        skill: format!("skill-{what}"),
        outcome: match how % 5 {
            0 => Outcome::NotCompiled,
            1 => Outcome::Wrong,
            2 => Outcome::Correct { estimated: Gain::of(1.1 + f64::from(how)) },
            _ => Outcome::Measured { speedup: Gain::of(0.7 + f64::from(how) / 9.0).unwrap() },
        },
        kernel: "0123".to_owned(),
        diff: format!("{how}"),
        reason: String::new(),
    }
}

fn store_with(path: &Path, evidence: &[Evidence]) -> Store {
    let mut store = Store::open(path).unwrap();
    store.record(evidence).unwrap();
    store
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Associative, commutative, idempotent: whatever is merged in whatever order, export and sums are the same.
    #[test]
    fn merging_does_not_depend_on_the_order(
        parts in prop::collection::vec(prop::collection::vec((0u32..6, 0u32..4, 0u32..5, 0u32..10), 0..12), 3),
        order in Just([0usize, 1, 2]).prop_shuffle(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let parts: Vec<Vec<Evidence>> =
            parts.iter().map(|p| p.iter().map(|(r, s, w, h)| evidence(*r, *s, *w, *h)).collect()).collect();
        let names = ["a.sqlite", "b.sqlite", "c.sqlite"];
        for (name, part) in names.iter().zip(&parts) {
            store_with(&at(name), part);
        }
        // ((a + b) + c), and (x + (y + z)) in another order, with one part twice.
        let mut left = Store::open(&at("left.sqlite")).unwrap();
        names.iter().for_each(|n| { left.merge(&at(n)).unwrap(); });
        let mut inner = Store::open(&at("inner.sqlite")).unwrap();
        inner.merge(&at(names[order[1]])).unwrap();
        inner.merge(&at(names[order[2]])).unwrap();
        let mut right = store_with(&at("right.sqlite"), &parts[order[0]]);
        right.merge(&at("inner.sqlite")).unwrap();
        let again = right.merge(&at("inner.sqlite")).unwrap();
        prop_assert_eq!(again.new, 0);
        prop_assert_eq!(left.export().unwrap(), right.export().unwrap());
        prop_assert_eq!(left.sums().unwrap(), right.sums().unwrap());
        for store in [&left, &right] {
            let found = store.examine().unwrap();
            prop_assert!(found.is_sound(), "{:?}", found);
        }
        // And by way of the lines.
        let mut read = Store::open(&at("read.sqlite")).unwrap();
        read.import(&left.export().unwrap()).unwrap();
        prop_assert_eq!(read.export().unwrap(), left.export().unwrap());
        prop_assert_eq!(read.sums().unwrap(), left.sums().unwrap());
    }
}

fn some(n: u32) -> Vec<Evidence> {
    (0..n).map(|i| evidence(i / 4, i % 4, i % 5, i % 11)).collect()
}

#[test]
fn a_file_of_version_one_becomes_one_of_today() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.sqlite");
    fs::copy("tests/data/memory/version-1.sqlite", &path).unwrap();
    let mut store = Store::open_existing(&path).unwrap();
    assert!(store.set_aside().is_none());
    assert_eq!(store.export().unwrap(), fs::read_to_string("tests/data/memory/version-1.jsonl").unwrap());
    assert_eq!(store.counts().unwrap(), (24, 6));
    store.refresh().unwrap();
    let found = store.examine().unwrap();
    assert!(found.is_sound() && !found.stale, "{found:?}");
    assert!(store.sums().unwrap().0.values().any(|s| s.tries > 0));
}

#[test]
fn a_memory_that_is_merged_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let old = folder.path().join("old.sqlite");
    fs::copy("tests/data/memory/version-1.sqlite", &old).unwrap();
    let before = fs::read(&old).unwrap();
    let mut store = Store::open(&folder.path().join("memory.sqlite")).unwrap();
    assert_eq!(store.merge(&old).unwrap().new, 24);
    assert_eq!(fs::read(&old).unwrap(), before);
    let empty = folder.path().join("empty.sqlite");
    fs::write(&empty, "").unwrap();
    assert!(matches!(store.merge(&empty), Err(StoreError::Foreign(..))));
}

#[test]
fn files_of_others_and_of_later_versions_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("notes.txt");
    fs::write(&text, "remember the milk").unwrap();
    assert!(matches!(Store::open(&text), Err(StoreError::Foreign(..))));
    assert_eq!(fs::read(&text).unwrap(), b"remember the milk");

    let other = folder.path().join("other.sqlite");
    let connection = rusqlite::Connection::open(&other).unwrap();
    connection.execute_batch("CREATE TABLE songs (name TEXT)").unwrap();
    drop(connection);
    let before = fs::read(&other).unwrap();
    assert!(matches!(Store::open(&other), Err(StoreError::Foreign(..))));
    assert_eq!(fs::read(&other).unwrap(), before);

    let later = folder.path().join("later.sqlite");
    store_with(&later, &some(3));
    let connection = rusqlite::Connection::open(&later).unwrap();
    connection.pragma_update(None, "user_version", VERSION + 1).unwrap();
    drop(connection);
    assert!(matches!(Store::open(&later), Err(StoreError::Newer(..))));
    assert!(matches!(Store::open_existing(&folder.path().join("none")), Err(StoreError::Missing(_))));
}

/// What is wrong with a file, and how it is made so.
type Damage = (&'static str, fn(&mut Vec<u8>));

#[test]
fn a_damaged_store_is_set_aside_and_never_overwritten() {
    let damages: &[Damage] = &[
        ("its head is gone", |b| b[..64].fill(0)),
        ("it was cut", |b| b.truncate(b.len() / 2)),
        ("it was cut to a few bytes", |b| b.truncate(10)),
        ("it is something else", |b| *b = b"<html>captive portal</html>".to_vec()),
        ("its first page is noise", |b| b[100..1000].fill(0x5A)),
    ];
    for (what, spoil) in damages {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("memory.sqlite");
        drop(store_with(&path, &some(400)));
        let mut bytes = fs::read(&path).unwrap();
        spoil(&mut bytes);
        fs::write(&path, &bytes).unwrap();
        assert!(matches!(Store::open_source(&path), Err(StoreError::Corrupt(..))), "{what}");
        assert_eq!(fs::read(&path).unwrap(), bytes, "{what}: reading moves nothing");
        let mut store = Store::open(&path).unwrap();
        let aside = store.set_aside().unwrap_or_else(|| panic!("{what}: nothing was said")).to_owned();
        assert_eq!(fs::read(&aside).unwrap(), bytes, "{what}");
        assert_eq!(store.record(&some(4)).unwrap(), 4, "{what}");
        // A second damage goes to a second name.
        drop(store);
        fs::write(&path, &bytes).unwrap();
        let second = Store::open(&path).unwrap().set_aside().map(Path::to_owned);
        assert!(second.is_some_and(|s| s != aside) && fs::read(&aside).unwrap() == bytes, "{what}");
    }
}

#[test]
fn damage_in_the_middle_is_found_and_the_rest_is_saved() {
    let all = some(2000);
    let known: std::collections::BTreeSet<String> = all.iter().map(Evidence::id).collect();
    let forgotten = "skill-2";
    // The root of the evidence, a page of it, and many pages.
    for pages in [vec![1], vec![40], (30..90).step_by(3).collect::<Vec<usize>>()] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("memory.sqlite");
        let mut store = store_with(&path, &all);
        assert_eq!(store.forget(forgotten).unwrap(), 400);
        drop(store);
        let mut bytes = fs::read(&path).unwrap();
        pages.iter().for_each(|p| bytes[p * 4096..(p + 1) * 4096].fill(0xEE));
        fs::write(&path, &bytes).unwrap();
        let store = Store::open(&path).unwrap();
        assert!(!store.examine().unwrap().database.is_empty(), "{pages:?}");
        let (mut store, aside, saved) = store.salvage().unwrap();
        assert!(saved > 1600 / 2 && saved <= 1600, "{pages:?}: {saved}");
        assert_eq!(fs::read(aside).unwrap(), bytes);
        store.refresh().unwrap();
        assert!(store.examine().unwrap().is_sound());
        let kept = store.evidence(About::default()).unwrap();
        assert!(kept.iter().all(|e| known.contains(&e.id()) && e.skill != forgotten), "{pages:?}");
    }
}

const CHILD: &str = "KOPT_TEST_MEMORY_CHILD";

/// Not a test of its own: what each process of the next test does.
#[test]
fn child_that_records() {
    let Ok(what) = std::env::var(CHILD) else { return };
    let (number, path) = what.split_once(' ').unwrap();
    let number: u32 = number.parse().unwrap();
    for step in 0..40 {
        // Every process has runs of its own and opens the store as often as a build script does.
        let mut store = Store::open(Path::new(path)).unwrap();
        let e = evidence(number * 10 + step / 8, step % 8, step % 5, step % 11);
        assert_eq!(store.record(&[e]).unwrap(), 1);
    }
}

#[test]
fn eight_processes_at_once_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.sqlite");
    let me = std::env::current_exe().unwrap();
    let children: Vec<_> = (0..8)
        .map(|n| {
            std::process::Command::new(&me)
                .args(["--exact", "child_that_records", "--nocapture"])
                .env(CHILD, format!("{n} {}", path.display()))
                .stdout(std::process::Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let mut store = Store::open_existing(&path).unwrap();
    assert_eq!(store.counts().unwrap(), (320, 40));
    store.refresh().unwrap();
    let found = store.examine().unwrap();
    assert!(found.is_sound() && !found.stale, "{found:?}");
}

#[test]
fn a_line_that_cannot_be_read_imports_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("memory.sqlite")).unwrap();
    let good = store_with(&folder.path().join("other.sqlite"), &some(8)).export().unwrap();
    let bad = format!("{good}\n{{\"v\":1}}\n");
    assert!(matches!(store.import(&bad), Err(StoreError::Line(10, _))));
    assert_eq!(store.counts().unwrap(), (0, 0));
    assert_eq!(store.import(&good).unwrap().new, 8);
    assert_eq!(store.export().unwrap(), good);
}

/// `tests/data/memory/families.txt`: file, kernel, family.
#[test]
fn kernels_belong_to_the_families_that_people_would_say() {
    let mut wrong = vec![];
    for line in fs::read_to_string("tests/data/memory/families.txt").unwrap().lines() {
        let [path, name, wanted] = line.split_whitespace().collect::<Vec<_>>()[..] else { continue };
        let source = SourceFile::new(path, fs::read(path).unwrap());
        let unit = parse_unit(FileId(0), &source, &MacroTable::default());
        let kernel = unit.kernels().find(|k| k.name == name).unwrap_or_else(|| panic!("{path} has no {name}"));
        let found = family(kernel);
        if found.as_str() != wanted {
            wrong.push(format!("{path} {name}: {found}, not {wanted}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_policy_learns_what_the_environments_hold() {
    let trial = Trial::parse(&fs::read_to_string("tests/data/memory/environments.toml").unwrap()).unwrap();
    let text = fs::read_to_string("skills/directions.toml").unwrap();
    let library = Directions::parse(FileId(0), &text).unwrap();
    // A share of what `cargo bench --bench policy` plays: enough seeds for what is far apart.
    let trial = Trial { runs: 60, ..trial };
    let play = |environment: usize, setting: &str| {
        let settings = Settings::named(setting).unwrap();
        let played = series(&trial, &trial.environment[environment], &library, &settings, 0..10);
        assert_eq!(played, series(&trial, &trial.environment[environment], &library, &settings, 0..10));
        per_run(&played, 20)
    };
    for (environment, worse, least) in [
        (0, "flat", 1.05),
        (0, "random-memory", 1.2),
        (0, "no-update", 1.3),
        (1, "random-memory", 1.5),
        (1, "no-update", 1.5),
        (2, "no-update", 2.0),
    ] {
        let ratio = Interval::of_ratio(&play(environment, "full"), &play(environment, worse));
        assert!(ratio.mean > least, "environment {environment}, {worse}: {ratio:?}");
    }
}
