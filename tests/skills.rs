//! Every skill goes through the same tests: its examples are rewritten (and snapshot), applying twice equals applying
//! once, its refusals refuse for the reason they name, and each condition is needed by some refusal.

mod common;

use common::{Case, apply, case_of, reasons};
use kopt::skill::ast::{GroupKind, Skill};
use kopt::skill::engine::{FindingKind, Payoff};

fn skills() -> Vec<&'static Skill> {
    let library = kopt::skill::Library::built_in().expect("the built-in skills load");
    library.iter().map(|s| &s.skill).collect()
}

#[test]
fn examples_are_rewritten_as_the_snapshots_say() {
    for skill in skills() {
        let name = &skill.name.node;
        assert!(!skill.examples.is_empty(), "{name} has no example");
        for example in &skill.examples {
            let case = case_of(&example.before.node, example.contract.as_ref().map(|c| c.node.as_str()));
            let outcome = apply(skill, &case);
            let shown = common::show(&case, &outcome);
            assert!(
                !outcome.changes.is_empty(),
                "{name}: example \"{}\" is not rewritten\n{shown}",
                example.title.node
            );
            let title: String =
                example.title.node.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
            insta::with_settings!({snapshot_path => "../snapshots", prepend_module_to_snapshot => false, omit_expression => true}, {
                insta::assert_snapshot!(format!("{name}__{title}"), shown);
            });
        }
    }
}

#[test]
fn applying_twice_equals_applying_once() {
    for skill in skills() {
        for example in &skill.examples {
            let contract = example.contract.as_ref().map(|c| c.node.as_str());
            let once = apply(skill, &case_of(&example.before.node, contract));
            let text = once.sources.get(kopt::source::FileId(0)).text.to_string();
            let twice = apply(skill, &case_of(&text, contract));
            let shown = common::show(&case_of(&text, contract), &twice);
            assert!(twice.changes.is_empty(), "{}: \"{}\"\n{shown}", skill.name.node, example.title.node);
        }
    }
}

#[test]
fn line_ends_and_everything_outside_the_edits_survive() {
    for skill in skills() {
        for example in &skill.examples {
            let text = example.before.node.replace('\n', "\r\n");
            let case = case_of(&text, example.contract.as_ref().map(|c| c.node.as_str()));
            let outcome = apply(skill, &case);
            let new = &outcome.sources.get(kopt::source::FileId(0)).text;
            assert!(!outcome.changes.is_empty());
            assert_eq!(new.matches('\n').count(), new.matches("\r\n").count(), "{}", skill.name.node);
            let first = &outcome.changes[0];
            let (start, end) = (first.edits[0].span.start as usize, first.edits.last().unwrap().span.end as usize);
            assert_eq!(text[..start], new[..start], "{}", skill.name.node);
            if outcome.changes.len() == 1 {
                assert!(new.ends_with(&text[end..]), "{}", skill.name.node);
            }
        }
    }
}

#[test]
fn refusals_refuse_and_say_why() {
    let mut faults = vec![];
    for skill in skills() {
        for refusal in &skill.refusals {
            let case = case_of(&refusal.before.node, refusal.contract.as_ref().map(|c| c.node.as_str()));
            let outcome = apply(skill, &case);
            let (name, title, because) = (&skill.name.node, &refusal.title.node, &refusal.because.node);
            if !outcome.changes.is_empty() {
                faults.push(format!("{name}: \"{title}\" is rewritten\n{}", common::show(&case, &outcome)));
                continue;
            }
            let said = reasons(skill, &outcome.findings);
            if !said.contains(because) {
                faults.push(format!("{name}: \"{title}\" is refused, but not because of {because}: {said:?}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

/// Deletes each condition in turn; some refusal of the skill must then be rewritten, or an example be rewritten without
/// its guard (the GPU harness shows that those are wrong).
#[test]
fn each_condition_is_needed() {
    let mut faults = vec![];
    for skill in skills() {
        let conditions =
            skill.require.iter().enumerate().flat_map(|(g, group)| (0..group.conditions.len()).map(move |c| (g, c)));
        for (g, c) in conditions {
            let mut weaker = skill.clone();
            let gone = weaker.require[g].conditions.remove(c);
            let refusal_fires = skill.refusals.iter().any(|r| {
                let case = case_of(&r.before.node, r.contract.as_ref().map(|c| c.node.as_str()));
                fires(&weaker, &case)
            });
            let guard_lost = skill.examples.iter().any(|e| {
                let case = case_of(&e.before.node, e.contract.as_ref().map(|c| c.node.as_str()));
                texts(skill, &case) != texts(&weaker, &case)
            });
            let shown = refusal_fires || (gone.guard.is_some() && guard_lost);
            if !shown {
                let text = kopt::skill::print::print_expr(&gone.test);
                faults.push(format!("{}: nothing fails without `{text}`", skill.name.node));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Whether the conditions hold somewhere; whether the body can then be written is for the harness to see.
fn fires(skill: &Skill, case: &Case) -> bool {
    let outcome = apply(skill, case);
    let holds =
        |k: &FindingKind| matches!(k, FindingKind::Applies { payoff, .. } if !matches!(payoff, Payoff::NotExpected(_)));
    !outcome.changes.is_empty() || outcome.findings.iter().any(|f| holds(&f.kind))
}

fn texts(skill: &Skill, case: &Case) -> String {
    apply(skill, case).sources.get(kopt::source::FileId(0)).text.to_string()
}

#[test]
fn every_skill_speaks_to_all_five_groups() {
    for skill in skills() {
        let kinds: Vec<GroupKind> = skill.require.iter().map(|g| g.kind.node).collect();
        assert_eq!(kinds, GroupKind::ALL, "{}", skill.name.node);
    }
}

/// Two skills that undo each other: nothing is kept, and the cycle is named.
#[test]
fn skills_that_undo_each_other_do_not_converge() {
    let library = kopt::skill::Library::built_in().expect("the built-in skills load");
    let there = library.get("use_fast_intrinsic").unwrap().clone();
    let mut back = there.clone();
    back.name.node = "use_library_function".into();
    back.features = Default::default();
    back.bindings[0].arguments.iter_mut().for_each(|a| a.node = format!("__{}", a.node));
    back.require.iter_mut().for_each(|g| g.conditions.clear());
    for rule in &mut back.bodies[0].rules {
        std::mem::swap(&mut rule.pattern, &mut rule.replacement);
    }
    let text =
        "__global__ void k(float* x, int n) {\n  for (int i = threadIdx.x; i < n; i += 32) x[i] = expf(x[i]);\n}\n";
    let case = case_of(text, Some("assume = [\"permit(approximate)\"]"));
    let error = common::try_apply(&[&there, &back], &case).err().expect("they do not end");
    assert!(error.cycle.iter().any(|c| c.starts_with("use_library_function")), "{:?}", error.cycle);
    assert!(error.cycle.iter().any(|c| c.starts_with("use_fast_intrinsic")), "{:?}", error.cycle);
}

/// All skills in one run: the result is that of running them one after the other, and a second run changes nothing.
#[test]
fn all_skills_in_one_run_come_to_an_end() {
    let text = include_str!("../src/cli/demo/attention_rows.cu");
    let contract = Some("assume = [\"permit(approximate)\"]");
    let once = common::apply_all(&skills(), &case_of(text, contract));
    let names: std::collections::BTreeSet<&str> = once.changes.iter().map(|c| c.skill.as_str()).collect();
    assert_eq!(names.len(), 4, "{names:?}");
    let new = once.sources.get(kopt::source::FileId(0)).text.to_string();
    let twice = common::apply_all(&skills(), &case_of(&new, contract));
    assert_eq!(twice.sources.get(kopt::source::FileId(0)).text.as_ref(), new);
}
