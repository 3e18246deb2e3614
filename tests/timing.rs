//! Times of two versions: what is said of them, with a stopwatch that answers what each case says. Without a GPU nothing is
//! measured here; the recorded samples are those of one.

use std::collections::BTreeMap;

use kopt::contract::{Cell, Distribution, read};
use kopt::gate::device::Image;
use kopt::gate::on_device::OnDevice;
use kopt::gate::timing::stats::{Speed, compared};
use kopt::gate::timing::{TimingOutcome, time_pair};
use kopt::gate::{Fault, KernelKey, Outcome, Settings, Side, verify_pair};
use kopt::gpu::job::{Failed, GpuError, Stage};
use kopt::gpu::timing::{Answer, Cache, Difference, Method, Peaks, Policy, Sample, State, Timed, Timer, Timing, When};
use kopt::ptx::Program;
use kopt::source::{FileId, SourceFile};
use serde_json::Value;

const SCALE: &str = include_str!("data/verify/scale.ptx");
const CONTRACT: &str = include_str!("data/verify/scale.contract.toml");
/// Elements at which it is timed: more than any cache holds.
const LARGE: i64 = 100_000;

fn side() -> (Side, BTreeMap<KernelKey, Image>) {
    let (contract, problems) = read(FileId(0), &SourceFile::new("scale.contract.toml", CONTRACT.to_owned()));
    assert!(problems.is_empty(), "{problems:?}");
    let module = kopt::ptx::parse(SCALE).expect("PTX");
    let key = KernelKey { name: "scale".into(), template: vec![] };
    let program = Program::decode(&module, "scale").expect("a kernel");
    let image = Image::of_program(&program, SCALE, &[], "scale");
    let side = Side {
        plan: contract.plans[0].clone(),
        programs: [(key.clone(), program)].into(),
        resources: BTreeMap::new(),
        arch: "sm_80".into(),
        arithmetic: 0.0,
    };
    (side, [(key, image)].into())
}

/// Steady samples of three arms, in nanoseconds.
fn samples(times: [f64; 3]) -> Vec<Sample> {
    let mut found = vec![];
    for (round, number) in (0..3).flat_map(|r| (0..50).map(move |n| (r, n))) {
        for (arm, time) in times.iter().enumerate() {
            let nanoseconds = time * (1.0 + 0.001 * f64::from((7 * number + 3 * arm as u32) % 5));
            let state = Some(State { clock: 1980, throttled: false });
            found.push(Sample { cache: Cache::Cold, arm: arm as u32, round, number, nanoseconds, state });
        }
    }
    found
}

fn timed(times: [f64; 3]) -> Timed {
    let answer = |arm| Answer { arm, output: 0, contents: 0, when: When::Before, differing: None };
    Timed {
        device: "NVIDIA TEST, sm_90".into(),
        driver: "13.0".into(),
        l2_bytes: 1 << 10,
        empty: (2000.0, 1000.0),
        methods: vec![Method { cache: Cache::Cold, timer: Timer::Events, sets: 4 }],
        samples: samples(times),
        retaken: 0,
        answers: vec![answer(1), answer(2)],
        looked_at: 9,
        spoiled: vec![],
        guards: vec![],
        notes: vec![],
    }
}

/// Parts 0 and 1, the first byte of which stands there in the output.
fn difference(from: u64) -> Option<Difference> {
    Some(Difference { parts: (0, 1), from, is_window: from > 0 })
}

/// Samples and the answers that differ, or why there are none.
type Answered = Result<(Timed, Vec<Vec<u8>>), GpuError>;

/// What is said where the stopwatch answers this.
fn said(answer: &dyn Fn(&Timing) -> Answered) -> Result<TimingOutcome, String> {
    let (side, images) = side();
    let emulated: Outcome = verify_pair(&side, &side, &Settings::default());
    let never = |_: &kopt::gpu::job::Job, _: &[Vec<u8>]| Err(GpuError::NotRun("not asked".into()));
    let on = OnDevice { side: &side, images: &images, ordinal: 0, run: &never };
    let cell = Cell::new([("n".to_owned(), LARGE)].into(), Distribution::Normal, 1);
    let peaks = Peaks { device: String::new(), driver: String::new(), read: 4e12, write: 4e12, copy: 4e12, f32: 6e13 };
    let plans = (&Settings::default(), Policy::default());
    time_pair((&on, &on), &cell, &emulated, plans, Some(&peaks), &|timing, _| answer(timing))
}

#[test]
fn a_request_has_the_original_twice_with_other_contents_for_each_set() {
    let found = said(&|timing| {
        assert_eq!(timing.arms.len(), 3);
        assert_eq!(timing.arms[0], timing.arms[1]);
        for arm in &timing.arms {
            let [x, y] = arm.places.as_slice() else { panic!("two buffers") };
            assert!(x.contents.len() == 2 && !x.restored && !x.answer, "{x:?}");
            assert!(y.contents.is_empty() && y.restored && y.answer, "{y:?}");
            assert_eq!(x.buffer.bytes, 4 * LARGE as u64);
            assert_eq!((arm.before.len(), arm.steps.len()), (0, 1));
        }
        Ok((timed([500.0; 3]), vec![]))
    });
    assert_eq!(found.expect("samples").speed, Speed::Equivalent);
}

#[test]
fn a_word_about_speed_follows_from_right_answers_and_possible_times() {
    // 800 kB at 4 TB/s are 200 ns.
    for (times, word) in [
        ([500.0, 500.0, 500.0], "equivalent"),
        ([500.0, 500.0, 450.0], "improved"),
        ([500.0, 500.0, 550.0], "slower"),
        ([500.0, 500.0, 150.0], "inconclusive"),
    ] {
        let found = said(&|_| Ok((timed(times), vec![]))).expect("samples");
        assert_eq!(found.speed.word(), word, "{times:?}: {:?}", found.speed);
        assert_eq!(found.floor.map(|f| f.bytes), Some(8 * LARGE as u64));
        assert!(found.faults.is_empty());
        if word == "inconclusive" {
            assert!(
                matches!(&found.speed, Speed::Inconclusive(why) if why.starts_with("impossible")),
                "{:?}",
                found.speed
            );
        }
    }
    let flagged = said(&|_| Ok((timed([5000.0, 5000.0, 400.0]), vec![]))).expect("samples");
    assert!(flagged.remarks.iter().any(|r| r.contains("more than ten times")), "{:?}", flagged.remarks);
    let bound =
        said(&|_| Ok((Timed { l2_bytes: 1 << 30, ..timed([5000.0, 5000.0, 4000.0]) }, vec![]))).expect("samples");
    assert!(bound.remarks.iter().any(|r| r.contains("bound by the launch")) && bound.floor.is_none(), "{bound:?}");
}

#[test]
fn a_candidate_that_is_wrong_while_it_is_timed_has_no_speed() {
    let right: Vec<u8> = (0..LARGE).flat_map(|i| (i as f32).to_le_bytes()).collect();
    let mut wrong = right.clone();
    wrong[4 * 777..4 * 778].copy_from_slice(&0f32.to_le_bytes());
    for when in [When::Before, When::During, When::After] {
        let found = said(&|_| {
            let mut t = timed([500.0, 500.0, 300.0]);
            t.answers.push(Answer { arm: 2, output: 0, contents: 1, when, differing: difference(0) });
            Ok((t, vec![right.clone(), wrong.clone()]))
        });
        let found = found.expect("samples");
        let [Fault::Mismatch { output, mismatch, .. }] = found.faults.as_slice() else { panic!("{:?}", found.faults) };
        assert_eq!((output.as_str(), mismatch.index), ("y", 777));
        assert!(matches!(found.speed, Speed::Inconclusive(_)));
    }
    // A window that begins at element 1024.
    let found = said(&|_| {
        let mut t = timed([500.0; 3]);
        t.answers.push(Answer { arm: 2, output: 0, contents: 1, when: When::Before, differing: difference(4096) });
        Ok((t, vec![right.clone(), wrong.clone()]))
    });
    let found = found.expect("samples");
    assert!(matches!(found.faults.as_slice(), [Fault::Mismatch { mismatch, .. }] if mismatch.index == 777 + 1024));
    assert!(found.not_checked.iter().any(|n| n.contains("beyond the first 128 MB")));
    let spoils = said(&|_| Ok((Timed { spoiled: vec![(2, 0)], ..timed([500.0; 3]) }, vec![]))).expect("samples");
    assert!(matches!(spoils.faults.as_slice(), [Fault::WritesInput { name, .. }] if name == "x"));
    let beside = said(&|_| Ok((Timed { guards: vec![(2, 1)], ..timed([500.0; 3]) }, vec![]))).expect("samples");
    assert!(matches!(beside.faults.as_slice(), [Fault::WritesGuard { name }] if name == "y"));
    let failure = |step| GpuError::Kernel(Failed { step, stage: Stage::Run, error: "CUDA_ERROR_X".into() });
    let fails = said(&|_| Err(failure(2))).expect("a fault");
    assert!(matches!(fails.faults.as_slice(), [Fault::Stopped(_)]));
}

#[test]
fn what_is_wrong_with_the_original_or_the_machine_says_nothing_of_the_candidate() {
    let failure = |step| GpuError::Kernel(Failed { step, stage: Stage::Run, error: "CUDA_ERROR_X".into() });
    assert!(said(&|_| Err(failure(0))).expect_err("no outcome").starts_with("the original"));
    assert!(said(&|_| Err(GpuError::TimedOut { seconds: 3 })).is_err());
    for arms in [vec![(0, 0)], vec![(1, 0), (2, 0)]] {
        let found = said(&|_| Ok((Timed { spoiled: arms.clone(), ..timed([500.0; 3]) }, vec![])));
        assert!(found.expect_err("no outcome").contains("the original writes"));
    }
    // Other bits of the control alone: the original is not deterministic, which is worth a remark.
    let found = said(&|_| {
        let mut t = timed([500.0; 3]);
        t.answers.push(Answer { arm: 1, output: 0, contents: 1, when: When::After, differing: difference(0) });
        Ok((t, vec![vec![0; 4 * LARGE as usize], vec![1; 4 * LARGE as usize]]))
    });
    let found = found.expect("samples");
    assert!(found.faults.is_empty() && found.remarks.iter().any(|r| r.contains("other bits on each run")));
}

/// Reports of `tests/gpu/timing.py` on a GPU: the verdicts follow from their samples.
#[test]
fn recorded_samples_give_their_verdicts() {
    for (name, report, words) in [
        ("same", include_str!("data/gpu/timing/same.json"), ["equivalent", "equivalent"]),
        ("slower", include_str!("data/gpu/timing/slower.json"), ["slower", "slower"]),
        ("faster", include_str!("data/gpu/timing/faster.json"), ["improved", "improved"]),
    ] {
        let report: Value = serde_json::from_str(report).expect(name);
        let timing = &report["timing"];
        let samples: Vec<Sample> = timing["samples"].as_array().expect(name).iter().map(sample).collect();
        let states = timing["states"].as_array().expect(name);
        assert_eq!(states.len(), words.len(), "{name}");
        for (state, word) in states.iter().zip(words) {
            let method: Method = serde_json::from_value(state["method"].clone()).expect(name);
            let found = compared(&samples, &method);
            assert_eq!(found.speed.word(), word, "{name}: {found:?}");
            assert_eq!(state["verdict"], word, "{name}");
            assert!((found.ratio - state["ratio"].as_f64().expect("a number")).abs() < 1e-9);
        }
    }
}

fn sample(value: &Value) -> Sample {
    let number = |name: &str| u32::try_from(value[name].as_u64().expect("a number")).expect("a small number");
    Sample {
        cache: serde_json::from_value(value["cache"].clone()).expect("a cache"),
        arm: ["original", "control", "candidate"].iter().position(|n| value["version"] == **n).expect("a version")
            as u32,
        round: number("round"),
        number: number("number"),
        nanoseconds: value["ns"].as_f64().expect("a time"),
        state: Some(State { clock: number("sm_mhz"), throttled: value["throttled"] == true }),
    }
}
