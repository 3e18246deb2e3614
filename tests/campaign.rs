//! Random programs through every skill: a small share of what `kopt gate fuzz` runs, and proof that it would see a fault.
//!
//! What needs NVRTC says so when there is none, and fails then if `KOPT_REQUIRE_TIER1=1`.

use kopt::campaign::{self, Skills, generate, shrink};
use kopt::compile::{Cache, CompileGate, Toolchain};
use kopt::skill::Library;
use kopt::skill::ast::Skill;

fn gate() -> Option<CompileGate> {
    let toolchain = Toolchain::find();
    if toolchain.nvrtc.is_none() {
        assert!(std::env::var_os("KOPT_REQUIRE_TIER1").is_none(), "{}", toolchain.report());
        println!("tier 1: not run (no NVRTC; kopt toolchain install)");
        return None;
    }
    Some(CompileGate::new(toolchain, Cache::none()))
}

fn skills() -> Vec<&'static Skill> {
    let library = Library::built_in().expect("the built-in skills load");
    library.iter().map(|s| &s.skill).collect()
}

#[test]
fn the_same_seed_and_the_same_record_give_the_same_program() {
    for seed in 0..200 {
        let program = generate::program(seed);
        assert_eq!(program, generate::program(seed));
        assert_eq!(program.text, generate::replay(&program.record, seed).text);
        assert!(program.text.contains("__global__ void k("), "{}", program.text);
        // What a shrinker may ask for: any record is a program.
        let half = &program.record[..program.record.len() / 2];
        assert!(generate::replay(half, seed).text.contains("kopt: launch"));
    }
    assert!(generate::replay(&[], 0).text.lines().count() < 20);
    assert_ne!(generate::program(1).text, generate::program(2).text);
}

#[test]
fn every_skill_fires_on_random_programs_and_changes_no_result() {
    let Some(gate) = gate() else { return };
    let passes = kopt::pass::builtin();
    let list = skills();
    let skills = Skills { list: list.clone(), passes: &passes };
    let mut report = campaign::Report::default();
    for first in [0, campaign::BATCH] {
        report.join(campaign::run(first..first + campaign::BATCH, &skills, &gate).expect("the compiler answers"));
    }
    for f in &report.failures {
        println!("{} seed {} {:?}: {}\n{}\n{}", f.kind, f.seed, f.skills, f.what, f.original, f.candidate);
    }
    assert!(report.failures.is_empty(), "{} failures", report.failures.len());
    for skill in list {
        assert!(report.fired.contains_key(&skill.name.node), "{} fires nowhere", skill.name.node);
        assert!(report.refused.contains_key(&skill.name.node), "{} refuses nowhere", skill.name.node);
    }
    for guard in ["dispatch", "in-kernel", "tail"] {
        assert!(report.guards.contains_key(guard), "no {guard}: {:?}", report.guards);
    }
    assert!(report.dispatched.iter().all(|n| *n > 0), "{:?}", report.dispatched);
}

/// Seeds whose programs once were not defined: a bound of 0 had a predecessor in unsigned arithmetic.
const ONCE_UNDEFINED: &[u64] = &[4725, 7903, 17204];

#[test]
fn programs_are_defined_where_they_once_were_not() {
    let Some(gate) = gate() else { return };
    let passes = kopt::pass::builtin();
    let skills = Skills { list: skills(), passes: &passes };
    for seed in ONCE_UNDEFINED.iter().copied() {
        let report = campaign::run(seed..seed + 1, &skills, &gate).expect("the compiler answers");
        assert!(report.failures.is_empty(), "seed {seed}: {}", report.failures[0].what);
    }
}

/// Without a condition that is needed something fails, and the shrinker leaves a small program that fails in the same
/// way. Skill, condition, seeds among which one shows it.
const NEEDED: &[(&str, &str, u64)] = &[
    ("vectorize_access", "aligned", 0),
    ("shuffle_reduce", "only_first_read", 0),
    ("pad_shared", "full_subscripts", 0),
];

#[test]
fn a_missing_condition_is_seen_and_shrunk() {
    let Some(gate) = gate() else { return };
    let passes = kopt::pass::builtin();
    for (name, condition, first) in NEEDED {
        let mut weaker = (*skills().iter().find(|s| s.name.node == *name).expect("a skill")).clone();
        weaker.require.iter_mut().for_each(|g| g.conditions.retain(|c| !c.answers_to(condition)));
        let skills = Skills { list: vec![&weaker], passes: &passes };
        let report = campaign::run(*first..first + campaign::BATCH, &skills, &gate).expect("the compiler answers");
        let failure = report.failures.first().unwrap_or_else(|| panic!("{name} without {condition}: nothing fails"));
        let small = shrink::shrink(failure, &skills, &gate, 60).expect("the compiler answers");
        assert_eq!((small.kind, &small.skills), (failure.kind, &failure.skills));
        assert!(small.record.len() <= failure.record.len() && small.original.len() <= failure.original.len());
    }
}
