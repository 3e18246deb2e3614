use super::super::settings;
use super::*;
use crate::memory::{Bottleneck, Context, Evidence, Family, Gain, Outcome, PathStep, Tables};
use crate::policy::{Firmness, explain};
use crate::skill::Directions;
use crate::source::FileId;

const DIRECTIONS: &str = include_str!("../../skills/directions.toml");

fn directions() -> Directions {
    Directions::parse(FileId(0), DIRECTIONS).unwrap()
}

fn state(path: &[&str]) -> State {
    let step = |d: &&str| PathStep { direction: (*d).to_owned(), outcome: Outcome::Correct { estimated: None } };
    State {
        kernel: "k".to_owned(),
        context: Context { arch: "sm_80".into(), language: "cuda".into(), family: Family::Reduction },
        bottleneck: Some(Bottleneck::Memory),
        path: path.iter().map(step).collect(),
        error: None,
    }
}

fn legal(names: &[(&str, &str)]) -> Vec<Legal> {
    let one = |(direction, skill): &(&str, &str)| Legal {
        direction: (*direction).to_owned(),
        skill: (*skill).to_owned(),
        risk: 0.0,
        effect: 0.0,
        firmness: Firmness::Proved,
    };
    names.iter().map(one).collect()
}

const THREE: &[(&str, &str)] = &[("data-reuse", "stage"), ("memory-access", "widen"), ("throughput", "fuse")];

fn evidence(step: u32, path: &[&str], direction: &str, skill: &str, reward: f64) -> Evidence {
    let s = state(path);
    Evidence {
        run: "r".to_owned(),
        step,
        started: 1,
        context: s.context,
        bottleneck: s.bottleneck,
        prefix: s.path,
        direction: direction.to_owned(),
        skill: skill.to_owned(),
        outcome: Outcome::Measured { speedup: Gain::of(reward.exp()).unwrap() },
        kernel: "k".to_owned(),
        diff: step.to_string(),
        reason: String::new(),
    }
}

/// Probabilities by direction or skill.
fn probabilities(choice: &Choice) -> Vec<(String, f64)> {
    choice.scored.iter().map(|s| (s.skill.clone().unwrap_or(s.direction.clone()), s.probability)).collect()
}

fn probability(choice: &Choice, name: &str) -> f64 {
    probabilities(choice).into_iter().find(|(n, _)| n == name).map_or(0.0, |(_, p)| p)
}

#[test]
fn scores_are_those_of_the_formula() {
    let directions = directions();
    let settings = Settings::default();
    let snapshot = Snapshot::empty(&directions);
    let choice = choose(&snapshot, &state(&["synchronisation", "data-reuse"]), &legal(THREE), &settings, 6).unwrap();
    let w1 = 1.0 / (1.0 + (-0.7f64).exp());
    for (name, near, far, serves, hazard) in [
        ("throughput", 0.35, 0.2, 0.0, 0.3),
        ("data-reuse", 0.3, 0.0, 0.9, 0.35),
        ("memory-access", 0.0, 0.3, 1.0, 0.2),
    ] {
        let s = choice.scored.iter().find(|s| s.direction == name).unwrap();
        assert!((s.utility - (w1 * near + (1.0 - w1) * far)).abs() < 1e-12, "{s:?}");
        assert!((s.value - SERVED * serves).abs() < 1e-12, "{s:?}");
        assert!(
            (s.score - (settings.alpha * s.utility + settings.beta * s.value - settings.gamma * hazard)).abs() < 1e-12,
            "{s:?}"
        );
    }
    let weights: Vec<f64> = choice.scored.iter().map(|s| (s.score / 0.2).exp()).collect();
    for (s, w) in choice.scored.iter().zip(&weights) {
        assert!((s.probability - w / weights.iter().sum::<f64>()).abs() < 1e-9);
    }
}

#[test]
fn directions_without_a_legal_move_are_no_candidates() {
    let directions = directions();
    let snapshot = Snapshot::empty(&directions);
    let settings = Settings::default();
    let choice = choose(&snapshot, &state(&[]), &legal(&THREE[..1]), &settings, 1).unwrap();
    assert_eq!((choice.direction.as_str(), choice.skill.as_str()), ("data-reuse", "stage"));
    assert_eq!(choice.scored.len(), 1);
    assert_eq!(choice.masked.len(), 6);
    assert_eq!(choose(&snapshot, &state(&[]), &[], &settings, 1), None);
}

#[test]
fn fresh_evidence_changes_the_next_choice() {
    let directions = directions();
    let before = Snapshot::empty(&directions);
    let s = state(&["data-reuse"]);
    let settings = Settings::default();
    let moves = legal(THREE);
    let first = choose(&before, &s, &moves, &settings, 6).unwrap();
    let mut tables = Tables::default();
    for step in 1..=6 {
        assert!(tables.add(&evidence(step, &["data-reuse"], "memory-access", "widen", 0.9)));
        assert!(tables.add(&evidence(step + 10, &["data-reuse"], "throughput", "fuse", -0.9)));
    }
    let after = choose(&Snapshot::new(&directions, &tables), &s, &moves, &settings, 6).unwrap();
    assert!(probability(&after, "memory-access") > 0.9 && probability(&first, "memory-access") < 0.5);
    assert_eq!(after.direction, "memory-access");
}

#[test]
fn newer_steps_of_the_path_weigh_more() {
    let directions = directions();
    let mut tables = Tables::default();
    for step in 1..=20 {
        assert!(tables.add(&evidence(step, &["data-reuse"], "throughput", "fuse", 0.8)));
        assert!(tables.add(&evidence(step + 20, &["memory-access"], "throughput", "fuse", -0.8)));
    }
    let snapshot = Snapshot::new(&directions, &tables);
    let utility = |path: &[&str], settings: &Settings| {
        let choice = choose(&snapshot, &state(path), &legal(THREE), settings, 1).unwrap();
        choice.scored.iter().find(|s| s.direction == "throughput").map(|s| s.utility).unwrap()
    };
    let settings = Settings::default();
    let (good_last, bad_last) = (["memory-access", "data-reuse"], ["data-reuse", "memory-access"]);
    assert!(utility(&good_last, &settings) > 0.1 && utility(&bad_last, &settings) < -0.1);
    let even = Settings::named("no-position").unwrap();
    assert!((utility(&good_last, &even) - utility(&bad_last, &even)).abs() < 1e-9);
    let none = Settings::named("no-prefix").unwrap();
    assert_eq!(utility(&good_last, &none), 0.0);
    assert_eq!(utility(&["throughput", "throughput", "throughput", "data-reuse"], &settings), {
        utility(&["boundary-handling", "throughput", "throughput", "data-reuse"], &settings)
    });
}

#[test]
fn skills_are_ranked_by_evidence_effect_risk_and_firmness() {
    let directions = directions();
    let s = state(&[]);
    let moves = legal(&[("memory-access", "a"), ("memory-access", "b"), ("memory-access", "c")]);
    let order = |moves: &[Legal], tables: &Tables, settings: &Settings| -> Vec<String> {
        let choice = choose(&Snapshot::new(&directions, tables), &s, moves, settings, 1).unwrap();
        assert_eq!(choice.skill, choice.locals[0].skill);
        choice.locals.into_iter().map(|l| l.skill).collect()
    };
    let none = Tables::default();
    let full = Settings::default();
    assert_eq!(order(&moves, &none, &full), ["a", "b", "c"], "equal ones stand by name");
    let mut other = moves.clone();
    (other[2].effect, other[0].risk) = (0.1, 0.1);
    assert_eq!(order(&other, &none, &full), ["c", "b", "a"]);
    other = moves.clone();
    (other[0].firmness, other[1].firmness) = (Firmness::Guarded, Firmness::Assumed);
    assert_eq!(order(&other, &none, &full), ["c", "b", "a"]);
    let mut tables = Tables::default();
    for step in 1..=5 {
        assert!(tables.add(&evidence(step, &[], "memory-access", "b", 0.4)));
        assert!(tables.add(&evidence(step + 5, &[], "memory-access", "a", -0.4)));
    }
    assert_eq!(order(&moves, &tables, &full), ["b", "c", "a"]);
    assert_eq!(order(&moves, &tables, &Settings::named("no-local").unwrap()), ["a", "b", "c"]);
}

#[test]
fn every_setting_chooses_something_legal_and_the_same_again() {
    let directions = directions();
    let mut tables = Tables::default();
    for step in 1..=30 {
        let (direction, skill) = THREE[step as usize % 3];
        assert!(tables.add(&evidence(step, &["data-reuse"], direction, skill, f64::from(step % 7) * 0.1 - 0.3)));
    }
    for (name, _) in settings::NAMED {
        let mut differ = std::collections::BTreeSet::new();
        for seed in 0..40 {
            let s = Settings { seed, ..Settings::named(name).unwrap() };
            let choose = |snapshot: &Snapshot| choose(snapshot, &state(&["data-reuse"]), &legal(THREE), &s, 1).unwrap();
            let choice = choose(&Snapshot::new(&directions, &tables));
            assert_eq!(choice, choose(&Snapshot::new(&directions, &tables)), "{name}");
            assert!(THREE.contains(&(choice.direction.as_str(), choice.skill.as_str())), "{name}: {choice:?}");
            let total: f64 = choice.scored.iter().map(|s| s.probability).sum();
            assert!((total - 1.0).abs() < 1e-9, "{name}");
            let text = explain(&choice, &s);
            assert!(text.contains(&choice.skill) && text.lines().count() > 5, "{name}: {text}");
            differ.insert(choice.direction.clone());
            if matches!(*name, "one-shot" | "feedback-only") {
                let cold = Snapshot::empty(&directions);
                assert_eq!(probabilities(&choose(&cold)), probabilities(&choice), "{name} remembers nothing");
            }
        }
        assert_eq!(differ.len() > 1, *name != "upper-confidence", "{name}: {differ:?}");
    }
}

#[test]
fn an_upper_confidence_rule_tries_everything_once_and_then_the_best() {
    let directions = directions();
    let settings = Settings::named("upper-confidence").unwrap();
    let mut tables = Tables::default();
    let rewards = |d: &str| if d == "throughput" { 0.5 } else { 0.0 };
    let mut tried = vec![];
    for step in 1..=60 {
        let choice = choose(&Snapshot::new(&directions, &tables), &state(&[]), &legal(THREE), &settings, step).unwrap();
        assert!(tables.add(&evidence(step, &[], &choice.direction, &choice.skill, rewards(&choice.direction))));
        tried.push(choice.direction);
    }
    let mut first: Vec<&String> = tried[..3].iter().collect();
    first.sort();
    assert_eq!(first, ["data-reuse", "memory-access", "throughput"]);
    assert!(tried[30..].iter().filter(|d| *d == "throughput").count() > 15, "{tried:?}");
}

#[test]
fn an_explanation_names_scores_parts_and_draw() {
    let directions = directions();
    let mut tables = Tables::default();
    assert!(tables.add(&evidence(1, &["data-reuse"], "throughput", "fuse", 0.4)));
    let settings = Settings { seed: 3, ..Settings::default() };
    let choice =
        choose(&Snapshot::new(&directions, &tables), &state(&["data-reuse"]), &legal(THREE), &settings, 2).unwrap();
    let text = explain(&choice, &settings);
    for part in [
        "step 2 of 6",
        "1.0 steps, prior 0.35",
        "of data-reuse -> throughput",
        "synchronisation: no legal move",
        "seed 3",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    assert!(text.contains(&format!("draw {:.6}", choice.draw)));
}
