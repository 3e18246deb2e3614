//! The walk of `kopt optimize` on recorded verdicts: killed anywhere and resumed, it ends as the unbroken one.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use kopt::memory::{Context, Evidence, Family, Snapshot, Tables};
use kopt::optimize::journal::{Journal, JournalError};
use kopt::optimize::{Accept, End, Ended, Found, Plan, Stepped, Survey, Verdict, World, walk};
use kopt::policy::{self, Choice, Firmness, Legal, Settings, State};
use kopt::skill::Library;

/// Skills with their directions; a skill appends its letter to the text.
const SKILLS: &[(&str, &str, char)] = &[
    ("memory-access", "widen", 'w'),
    ("data-reuse", "stage", 's'),
    ("throughput", "fuse", 'f'),
    ("latency-hiding", "pipeline", 'p'),
    ("synchronisation", "relax", 'r'),
];

#[derive(Debug, PartialEq)]
enum Trouble {
    Killed,
    Journal(String),
}

/// What outlives a process: the memory, and how often the gate ran.
#[derive(Default)]
struct Outside {
    memory: RefCell<BTreeMap<String, Evidence>>,
    judged: RefCell<Vec<String>>,
}

struct Recorded<'o> {
    outside: &'o Outside,
    settings: Settings,
    /// Calls until the process is killed.
    left: usize,
    shown: Vec<Stepped>,
}

impl Recorded<'_> {
    fn call(&mut self) -> Result<(), Trouble> {
        self.left = self.left.checked_sub(1).ok_or(Trouble::Killed)?;
        Ok(())
    }
}

/// A verdict that follows from the text alone: every kind comes up.
fn verdict(text: &str) -> Verdict {
    let hash = blake3::hash(text.as_bytes());
    let b = hash.as_bytes();
    let found = match b[0] % 8 {
        0 => Found::Wrong,
        1 => Found::NotCompiled,
        2 => Found::Unknown,
        3 => Found::Correct,
        _ => {
            let speedup = 0.7 + f64::from(b[1]) / 97.0;
            Found::Measured { speedup, margin: 0.01, improved: speedup > 1.01 }
        }
    };
    Verdict { found, reason: format!("recorded for {text}") }
}

impl World for Recorded<'_> {
    type Trouble = Trouble;

    fn survey(&mut self, text: &str) -> Result<Survey, Trouble> {
        self.call()?;
        let open = SKILLS.iter().filter(|(_, _, c)| text.matches(*c).count() < 2);
        let legal = open.map(|(direction, skill, _)| Legal {
            direction: (*direction).into(),
            skill: (*skill).into(),
            risk: 0.0,
            effect: 0.0,
            firmness: Firmness::Proved,
        });
        let context = Context { arch: "sm_80".into(), language: "cuda".into(), family: Family::Reduction };
        Ok(Survey { legal: legal.collect(), context, bottleneck: None, kernel: format!("k{}", text.len()) })
    }

    fn choose(&mut self, state: &State, legal: &[Legal], step: u32) -> Result<Option<(Choice, String)>, Trouble> {
        self.call()?;
        let library = Library::built_in().expect("the skills load");
        let memory = self.outside.memory.borrow();
        let tables = Tables::of(memory.values());
        let snapshot = Snapshot::new(&library.directions, &tables);
        let choice = policy::choose(&snapshot, state, legal, &self.settings, step);
        Ok(choice.map(|c| (c, String::new())))
    }

    fn rewrite(&mut self, text: &str, skill: &str) -> Result<String, Trouble> {
        self.call()?;
        let letter = SKILLS.iter().find(|(_, s, _)| *s == skill).expect("a skill").2;
        Ok(format!("{text}{letter}"))
    }

    fn judge(&mut self, text: &str) -> Result<Verdict, Trouble> {
        self.call()?;
        self.outside.judged.borrow_mut().push(text.to_owned());
        Ok(verdict(text))
    }

    fn record(&mut self, evidence: &Evidence) -> Result<(), Trouble> {
        self.call()?;
        self.outside.memory.borrow_mut().insert(evidence.id(), evidence.clone());
        Ok(())
    }

    fn show(&mut self, step: &Stepped, _best: &str) -> Result<(), Trouble> {
        self.call()?;
        self.shown.push(step.clone());
        Ok(())
    }

    fn journal(error: JournalError) -> Trouble {
        Trouble::Journal(error.to_string())
    }
}

fn plan(seed: u64, accept: Accept) -> Plan {
    let policy = Settings { steps: 8, seed, ..Settings::default() };
    Plan { run: format!("run-{seed}"), started: 1000, policy, accept }
}

fn run(outside: &Outside, path: &Path, plan: &Plan, left: usize) -> Result<Ended, Trouble> {
    let mut journal = Journal::open(path).map_err(Recorded::journal)?;
    let mut world = Recorded { outside, settings: plan.policy.clone(), left, shown: vec![] };
    walk(&mut world, &mut journal, "original", "recorded", plan)
}

fn plain(ended: Ended) -> Ended {
    let steps = ended.steps.into_iter().map(|s| Stepped { resumed: false, ..s }).collect();
    Ended { steps, ..ended }
}

/// A number that follows from two.
fn draw(a: u64, b: u64) -> usize {
    let hash = blake3::hash(format!("{a} {b}").as_bytes());
    usize::from(hash.as_bytes()[0]) | usize::from(hash.as_bytes()[1]) << 8
}

#[test]
fn a_killed_walk_ends_as_the_unbroken_one() {
    let mut kills = 0;
    for seed in 0..40u64 {
        let plan = plan(seed, if seed % 2 == 0 { Accept::Best } else { Accept::Walk });
        let folder = tempfile::tempdir().expect("a folder");
        let (whole, broken) = (Outside::default(), Outside::default());
        let expected = run(&whole, &folder.path().join("whole"), &plan, usize::MAX).expect("it ends");
        let path = folder.path().join("broken");
        let mut resumed = 0;
        let ended = loop {
            // Killed in a call, and what was being written is cut off somewhere in its last line.
            let cut = draw(seed, resumed);
            match run(&broken, &path, &plan, cut % 23) {
                Ok(ended) => break ended,
                Err(Trouble::Killed) => kills += 1,
                Err(other) => panic!("{other:?}"),
            }
            if cut.is_multiple_of(3) {
                let bytes = std::fs::read(&path).expect("a journal");
                let last =
                    bytes.len() - bytes.iter().rev().skip(1).position(|b| *b == b'\n').map_or(bytes.len(), |n| n + 1);
                // The first line is the run itself: without it this would be another run.
                if last > 0 {
                    std::fs::write(&path, &bytes[..last + (bytes.len() - last) / 2]).expect("a journal");
                }
            }
            resumed += 1;
            assert!(resumed < 400, "seed {seed} does not come to an end");
        };
        assert_eq!(plain(ended), plain(expected), "seed {seed}");
        assert_eq!(*broken.memory.borrow(), *whole.memory.borrow(), "seed {seed}");
        // What the journal has is not judged again: only a verdict that the disk lost may be asked twice.
        let again = broken.judged.borrow().len() - whole.judged.borrow().len();
        assert!(again as u64 <= resumed, "seed {seed}: {again} of {resumed}");
    }
    assert!(kills >= 200, "{kills} kills");
}

#[test]
fn without_damage_nothing_is_judged_twice() {
    let plan = plan(7, Accept::Walk);
    let folder = tempfile::tempdir().expect("a folder");
    let (whole, broken) = (Outside::default(), Outside::default());
    let expected = run(&whole, &folder.path().join("whole"), &plan, usize::MAX).expect("it ends");
    let path = folder.path().join("broken");
    let ended = (1..).find_map(|left| run(&broken, &path, &plan, left).ok()).expect("it ends");
    assert_eq!(plain(ended), plain(expected));
    assert_eq!(*broken.judged.borrow(), *whole.judged.borrow());
}

#[test]
fn only_better_texts_are_gone_on_from() {
    for seed in 0..40 {
        let folder = tempfile::tempdir().expect("a folder");
        let outside = Outside::default();
        let ended = run(&outside, &folder.path().join("j"), &plan(seed, Accept::Best), usize::MAX).expect("it ends");
        let mut best = None;
        for s in &ended.steps {
            let found = &s.verdict.found;
            assert!(!s.taken || matches!(found, Found::Measured { improved: true, .. } | Found::Correct), "{s:?}");
            if let (true, Found::Measured { speedup, .. }) = (s.taken, found) {
                assert!(best.is_none_or(|b| *speedup > b), "{s:?} after {best:?}");
                best = Some(*speedup);
            }
        }
        assert_eq!(ended.speedup, best);
        let wrong = |e: &Evidence| verdict(&e.reason.replace("recorded for ", "")).found == Found::Unknown;
        assert!(!outside.memory.borrow().values().any(wrong), "what says nothing is no lesson");
        assert!(ended.end == End::Steps && ended.steps.len() == 8 || ended.end == End::NothingLegal);
    }
}

#[test]
fn another_run_is_not_gone_on_with() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("j");
    let outside = Outside::default();
    run(&outside, &path, &plan(1, Accept::Best), usize::MAX).expect("it ends");
    let other = run(&outside, &path, &plan(2, Accept::Best), usize::MAX);
    assert_eq!(other, Err(Trouble::Journal(format!("{} is about another policy", path.display()))));
    let mut journal = Journal::open(&path).expect("a journal");
    let mut world = Recorded { outside: &outside, settings: Settings::default(), left: 1000, shown: vec![] };
    let other = walk(&mut world, &mut journal, "another", "recorded", &plan(1, Accept::Best));
    assert!(matches!(other, Err(Trouble::Journal(e)) if e.contains("another text of the file")));
    let other = walk(&mut world, &mut journal, "original", "elsewhere", &plan(1, Accept::Best));
    assert!(matches!(other, Err(Trouble::Journal(e)) if e.contains("another way of judging")));
}
