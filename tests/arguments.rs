//! The equivalence arguments in both directions: what the bodies write passes (tests/skills.rs sees every example
//! rewritten), and the same text with one thing wrong is refused.

mod common;

use std::sync::atomic::{AtomicBool, Ordering};

use common::case_of;
use kopt::edit::Editor;
use kopt::pass::{Broken, Pass};
use kopt::skill::Library;
use kopt::skill::ast::{Platform, Skill};
use kopt::skill::engine::rewrite::Stop;
use kopt::skill::engine::run::Rejection;
use kopt::skill::engine::{Proof, Request, Site, run};
use kopt::source::FileId;

/// A body whose text is spoiled after it was written: the first occurrence of one text becomes another.
struct Spoiled {
    skill: &'static str,
    from: &'static str,
    to: &'static str,
    /// Whether the body wrote it at all.
    done: AtomicBool,
}

impl Pass for Spoiled {
    fn rewrite(&self, site: &Site, proof: &Proof, edit: &mut Editor) -> Result<(), Broken> {
        let before = edit.edits().len();
        kopt::pass::builtin()[self.skill].rewrite(site, proof, edit)?;
        let written = edit.edits()[before..].to_vec();
        edit.truncate(before);
        for e in written {
            let spoiled = e.text.replacen(self.from, self.to, 1);
            self.done.fetch_or(spoiled != e.text, Ordering::Relaxed);
            edit.replace(e.span, &spoiled);
        }
        Ok(())
    }
}

const BLOCKED: &str = "vectorize_access";
const TREE: &str = "shuffle_reduce";
const TILE: &str = "pad_shared";

/// Skill, what its body writes, and what is written instead.
const SPOILED: &[(&str, &str, &str)] = &[
    // Other lanes, other steps, other bounds.
    (BLOCKED, ".y", ".x"),
    (BLOCKED, ".w", ".z"),
    (BLOCKED, "[1]", "[2]"),
    (BLOCKED, "+ 1", "+ 2"),
    (BLOCKED, "+ 3)", "+ 2)"),
    (BLOCKED, "+= 4", "+= 8"),
    (BLOCKED, "+= 8", "+= 4"),
    (BLOCKED, "> 3", "> 2"),
    (BLOCKED, "= 0", "= 1"),
    (BLOCKED, "i < ", "i <= "),
    (BLOCKED, "; ++i)", "; i += 2)"),
    // Another place, another width, a lost store, a lost load.
    (BLOCKED, "&x[", "&x[1 + "),
    (BLOCKED, "float4", "int4"),
    (BLOCKED, "const float4*>(&x", "const float2*>(&x"),
    (BLOCKED, "*reinterpret_cast<float4*>(&y", "*reinterpret_cast<float4*>(&x"),
    (BLOCKED, "__align__(16) ", ""),
    (BLOCKED, " = *reinterpret_cast<const float4*>(&x[r * cols + i]);", ";"),
    // Another operation or another order in one of the copies.
    (BLOCKED, "acc += ", "acc -= "),
    (BLOCKED, "v * v", "v + v"),
    (TREE, "> 16", "> 32"),
    (TREE, "> 16", "> 8"),
    (TREE, "< 32", "< 16"),
    (TREE, "__shfl_down_sync", "__shfl_up_sync"),
    (TREE, "0xffffffffu", "0xffffu"),
    (TREE, "== 0", "== 1"),
    (TREE, "+=", "-="),
    (TREE, ">>= 1", ">>= 2"),
    (TREE, "lane_value, distance)", "lane_value, 1)"),
    (TREE, "distance > 0", "distance > 1"),
    (TREE, "[tid] = lane_value", "[tid + 1] = lane_value"),
    (TREE, "__syncthreads();", ""),
    (TREE, "/ 2", "/ 4"),
    (TILE, "+ 1", "- 1"),
    (TILE, "32 + 1", "31"),
    (TILE, "32 + 1", "1 + 16"),
    (TILE, "32 + 1", "(32 + 1) / 2"),
];

/// How many examples the spoiled body was run on, and those that it got away with.
fn spoil(skill: &Skill, from: &'static str, to: &'static str) -> (usize, Vec<String>) {
    let name = kopt::pass::builtin().keys().copied().find(|n| *n == skill.name.node).expect("a native body");
    // Bodies live as long as the program.
    let body: &'static Spoiled = Box::leak(Box::new(Spoiled { skill: name, from, to, done: AtomicBool::new(false) }));
    let mut passes = kopt::pass::builtin();
    passes.insert(name, body);
    let (mut tried, mut passed) = (0, vec![]);
    for example in &skill.examples {
        let case = case_of(&example.before.node, example.contract.as_ref().map(|c| c.node.as_str()));
        let request = Request {
            skills: &[skill],
            assumptions: &case.assumptions,
            platform: Platform::parse("sm_80"),
            passes: &passes,
            at: vec![],
            files: vec![FileId(0)],
            even_if_not_paying: true,
            parse: &common::parse,
        };
        body.done.store(false, Ordering::Relaxed);
        let outcome = run::apply(&case.program, &case.sources, &request).expect("an end");
        if !body.done.load(Ordering::Relaxed) {
            continue;
        }
        let refused = |r: &run::RolledBack| matches!(r.reason, Rejection::Stop(Stop::Argument { .. }));
        tried += 1;
        if !outcome.changes.is_empty() || !outcome.rolled_back.iter().all(refused) || outcome.rolled_back.is_empty() {
            passed.push(example.title.node.clone());
        }
    }
    (tried, passed)
}

#[test]
fn a_spoiled_rewrite_is_refused_by_the_argument() {
    let library = Library::built_in().expect("the built-in skills load");
    let mut faults = vec![];
    for (name, from, to) in SPOILED {
        let skill = library.get(name).expect("a skill");
        let (tried, passed) = spoil(skill, from, to);
        if tried == 0 {
            faults.push(format!("{name}: no example has `{from}`"));
        }
        passed.iter().for_each(|title| faults.push(format!("{name}: `{from}` -> `{to}` passes in \"{title}\"")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// A skill that only tells its reasons is never proved, whatever its conditions say.
#[test]
fn without_a_named_argument_nothing_is_proved() {
    let library = Library::built_in().expect("the built-in skills load");
    for named in [true, false] {
        let mut skill = library.get(TREE).expect("a skill").clone();
        if !named {
            skill.equivalence.as_mut().expect("it has one").argument = None;
        }
        let example = &skill.examples[0];
        let case = case_of(&example.before.node, example.contract.as_ref().map(|c| c.node.as_str()));
        let outcome = common::apply(&skill, &case);
        let result = &outcome.changes.first().expect("it is rewritten").result;
        let unverified = *result == kopt::skill::engine::survey::SiteResult::Unverified;
        assert_eq!(unverified, !named, "{result:?}");
    }
}

#[test]
fn an_argument_must_exist_and_its_conditions_be_asked_for() {
    let library = Library::built_in().expect("the built-in skills load");
    let vocabulary = kopt::predicate::registry();
    let said = |skill: &Skill| -> Vec<u16> {
        kopt::skill::check::check(skill, vocabulary, None).iter().map(|d| d.code.0).collect()
    };
    for name in [BLOCKED, TREE, TILE] {
        let skill = library.get(name).expect("a skill");
        assert_eq!(said(skill), Vec::<u16>::new(), "{name}");
        let mut other = skill.clone();
        let argument = other.equivalence.as_mut().and_then(|e| e.argument.as_mut()).expect("it names one");
        argument.node = "same_everything".into();
        assert!(said(&other).contains(&135), "{name}");
        let mut weaker = skill.clone();
        weaker.require[1].conditions.clear();
        assert!(said(&weaker).contains(&135), "{name}");
    }
}
