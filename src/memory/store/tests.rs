use super::super::evidence::tests::sample;
use super::super::evidence::{Evidence, Gain, Outcome};
use super::super::tables::Tables;
use super::*;
use crate::skill::Directions;
use crate::source::FileId;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// `runs` runs of four steps, every outcome among them.
fn several(runs: u32) -> Vec<Evidence> {
    let outcomes = [
        Outcome::Measured { speedup: Gain::of(1.3).unwrap() },
        Outcome::Correct { estimated: Gain::of(2.0) },
        Outcome::NotCompiled,
        Outcome::Wrong,
    ];
    let names = ["", "data-reuse", "throughput", "data-reuse", "memory-access"];
    let one = |run: u32, step: u32| {
        let at = step as usize;
        let mut e = sample(&format!("r{run:04}"), step, names[at - 1], names[at], outcomes[(run + step) as usize % 4]);
        e.started = 1000 + u64::from(run);
        e.skill = format!("skill-{}", (run + step) % 3);
        e
    };
    (0..runs).flat_map(|run| (1..=4).map(move |step| one(run, step))).collect()
}

/// Whether the kept sums are those of the evidence.
fn assert_agrees(store: &mut Store, evidence: &[Evidence]) {
    let (kept, unit) = store.sums().unwrap();
    let fresh = Tables::of(evidence);
    assert_eq!((kept, unit), (fresh.sums.clone(), fresh.unit().max(1)));
    let found = store.examine().unwrap();
    assert!(found.is_sound() && !found.stale, "{found:?}");
}

#[test]
fn sums_follow_the_evidence_step_by_step() {
    let folder = folder();
    let mut store = Store::open(&folder.path().join("m.sqlite")).unwrap();
    let all = several(40);
    for e in &all {
        assert_eq!(store.record(std::slice::from_ref(e)).unwrap(), 1);
        assert_eq!(store.record(std::slice::from_ref(e)).unwrap(), 0, "it is there already");
        assert!(!store.examine().unwrap().stale, "runs in their order never need the sums made anew");
    }
    assert_agrees(&mut store, &all);
    assert_eq!(store.counts().unwrap(), (160, 40));
}

#[test]
fn a_run_that_belongs_before_others_makes_the_sums_anew() {
    let folder = folder();
    let mut store = Store::open(&folder.path().join("m.sqlite")).unwrap();
    let mut all = several(300);
    let late = all.split_off(40);
    store.record(&late).unwrap();
    assert_agrees(&mut store, &late);
    store.record(&all[..4]).unwrap();
    assert!(store.examine().unwrap().stale);
    store.record(&all[4..]).unwrap();
    let whole: Vec<Evidence> = all.into_iter().chain(late).collect();
    assert_agrees(&mut store, &whole);
}

#[test]
fn a_snapshot_is_what_the_sums_say() {
    let folder = folder();
    let text = include_str!("../../../skills/directions.toml");
    let directions = Directions::parse(FileId(0), text).unwrap();
    let mut store = Store::open(&folder.path().join("m.sqlite")).unwrap();
    let all = several(30);
    store.record(&all).unwrap();
    let tables = Tables::of(&all);
    let whole = crate::memory::Snapshot::new(&directions, &tables);
    let (context, skills) = (&all[0].context, [("data-reuse", "skill-1"), ("throughput", "skill-2")]);
    let part = store.snapshot(&directions, context, &["data-reuse", ""], "memory", &skills).unwrap();
    let levels = context.levels();
    for to in directions.names() {
        for from in ["data-reuse", ""] {
            assert_eq!(part.edge(&levels, (from, to), 0.1, 4.0), whole.edge(&levels, (from, to), 0.1, 4.0));
        }
        assert_eq!(part.risk(&levels, to, 0.3, 4.0), whole.risk(&levels, to, 0.3, 4.0));
    }
    for (d, s) in skills {
        let kind = crate::memory::Kind::Skill;
        assert_eq!(part.reward(kind, &levels, (d, s), 0.0, 4.0), whole.reward(kind, &levels, (d, s), 0.0, 4.0));
        assert!(part.moments(kind, &levels[0], d, s).tries > 0);
    }
}

#[test]
fn a_full_disk_is_named_and_leaves_what_was_there() {
    let folder = folder();
    let mut store = Store::open(&folder.path().join("m.sqlite")).unwrap();
    let all = several(200);
    store.record(&all[..20]).unwrap();
    let pages: i64 = store.connection.pragma_query_value(None, "page_count", |r| r.get(0)).unwrap();
    store.connection.pragma_update(None, "max_page_count", pages + 2).unwrap();
    assert!(matches!(store.record(&all), Err(StoreError::Full(_))));
    assert_agrees(&mut store, &all[..20]);
    store.connection.pragma_update(None, "max_page_count", 1_000_000).unwrap();
    assert_eq!(store.record(&all).unwrap(), 780);
    assert_agrees(&mut store, &all);
}

#[test]
fn an_examination_finds_what_was_changed_behind_its_back() {
    let folder = folder();
    let path = folder.path().join("m.sqlite");
    let mut store = Store::open(&path).unwrap();
    let all = several(10);
    store.record(&all).unwrap();
    let id = all[3].id();
    let bend = |sql: &str| store.connection.execute(sql, []).unwrap();
    assert_eq!(bend("UPDATE sums SET reward = reward + 1 WHERE kind = 'edge' AND context = ''"), 4);
    assert_eq!(bend(&format!("UPDATE evidence SET content = replace(content, 'sm_80', 'sm_90') WHERE id = '{id}'")), 1);
    let found = store.examine().unwrap();
    assert_eq!(found.changed, std::slice::from_ref(&id));
    assert!(found.sums.iter().any(|s| s == "edge data-reuse throughput in all"), "{found:?}");
    let (mut store, aside, saved) = store.salvage().unwrap();
    assert_eq!(saved, 39);
    assert!(aside.exists() && aside != path);
    let left: Vec<Evidence> = all.into_iter().filter(|e| e.id() != id).collect();
    assert_agrees(&mut store, &left);
}

#[test]
fn forgetting_a_skill_leaves_the_sums_of_the_others() {
    let folder = folder();
    let mut store = Store::open(&folder.path().join("m.sqlite")).unwrap();
    let all = several(30);
    store.record(&all).unwrap();
    assert_eq!(store.forget("skill-1").unwrap(), 40);
    assert_eq!(store.forget("skill-1").unwrap(), 0);
    let left: Vec<Evidence> = all.iter().filter(|e| e.skill != "skill-1").cloned().collect();
    assert_agrees(&mut store, &left);
    assert!(store.evidence(About { skill: Some("skill-1"), ..About::default() }).unwrap().is_empty());
}

#[test]
fn numbers_are_traced_to_their_evidence() {
    let folder = folder();
    let mut store = Store::open(&folder.path().join("m.sqlite")).unwrap();
    let all = several(20);
    store.record(&all).unwrap();
    let (sums, _) = store.sums().unwrap();
    for (key, s) in sums.iter().filter(|(k, _)| k.context.is_empty()) {
        let about = match key.kind {
            crate::memory::Kind::Edge => About { from: Some(&key.a), direction: Some(&key.b), skill: None },
            crate::memory::Kind::Direction => About { direction: Some(&key.b), ..About::default() },
            crate::memory::Kind::Skill => About { direction: Some(&key.a), skill: Some(&key.b), from: None },
            crate::memory::Kind::Served => continue,
        };
        assert_eq!(store.evidence(about).unwrap().len() as i64, s.tries, "{key:?}");
    }
}
