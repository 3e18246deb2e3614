//! docs/skills.md, generated from the library: what each skill does, when it is sound, when it pays.

use std::fmt::Write as _;

use super::ast::*;
use super::directions::{Direction, Directions};
use super::library::Library;
use super::print::{body_head, print_binding, print_condition, print_expr, print_feature, print_platform};

/// The page on all skills of a library.
pub fn skills_page(library: &Library) -> String {
    let mut out = String::from(INTRODUCTION);
    for direction in library.directions.iter() {
        let skills: Vec<&Skill> = library.in_direction(&direction.name).collect();
        direction_section(&mut out, direction);
        if skills.is_empty() {
            out.push_str("No skill yet.\n\n");
        }
        skills.iter().for_each(|skill| skill_section(&mut out, skill));
    }
    transitions(&mut out, &library.directions);
    out
}

const INTRODUCTION: &str = "\
# Skills

<!-- Generated from skills/. Regenerate with `KOPT_BLESS=1 cargo test --test docs`. -->

A skill is one intent with the conditions under which it is sound (`require`), those under which it is expected to pay
(`pays when`), and a body that carries it out. A condition that can be tested at run time names its guard: `tail` runs the
remainder through the original loop, `dispatch` chooses between two kernels on the host, `in-kernel` branches on a value that
is equal for all threads of the launch, `contract` asks the caller to promise it.

";

fn direction_section(out: &mut String, direction: &Direction) {
    let served: Vec<String> = direction.serves.iter().map(|(name, weight)| format!("{name} {weight}")).collect();
    let _ = write!(
        out,
        "## {}\n\nGoal: {}.  \nTrigger: {}.  \nRisk: {}.  \nServes: {}.\n\n",
        direction.name,
        direction.goal,
        direction.trigger,
        direction.risk,
        served.join(", ")
    );
}

fn skill_section(out: &mut String, skill: &Skill) {
    let _ = write!(out, "### {}\n\n**{}**: {}.\n\n", skill.name.node, skill.title.node, skill.intent.node.trim_end());
    let because = skill.class_because.as_ref().map(|b| format!(": {}", b.node)).unwrap_or_default();
    let touches: Vec<&str> = skill.touches.iter().map(|t| t.node.as_str()).collect();
    let bodies: Vec<String> = skill.bodies.iter().map(body_head).collect();
    let _ = writeln!(out, "- Class: {}{because}", skill.class.node);
    let _ = writeln!(out, "- Touches: {}", touches.join(", "));
    scope(out, &skill.scope);
    let _ = writeln!(out, "- Bodies: {}", bodies.join(", "));
    let matched: Vec<String> = skill.bindings.iter().map(|b| format!("`{}`", print_binding(b))).collect();
    let _ = writeln!(out, "- Acts on: {}", matched.join(", "));
    for item in &skill.lets {
        let _ = writeln!(out, "- With `{} = {}`", item.name.node, print_expr(&item.value));
    }
    for tune in &skill.tunes {
        let values: Vec<String> = tune.values.iter().map(|v| v.node.to_string()).collect();
        let _ = writeln!(out, "- Tunable: `{}` in {}", tune.name.node, values.join(", "));
    }
    features(out, &skill.features);
    for effect in &skill.effects {
        let anchor = effect.anchor.as_ref().map(|a| format!("({})", a.node)).unwrap_or_default();
        let _ = writeln!(out, "- Effect: {}{anchor} {}", effect.metric.node, effect.trend.node);
    }
    for risk in &skill.risks {
        let _ = writeln!(out, "- Risk: {}", risk.node.trim_end());
    }
    if let Some(e) = &skill.equivalence {
        let argument = e.argument.as_ref().map(|a| format!(" (`{}`, checked on every rewrite)", a.node));
        let argument = argument.unwrap_or_default();
        let _ = writeln!(
            out,
            "- Why equivalent{argument}: {}",
            e.text.node.split_whitespace().collect::<Vec<_>>().join(" ")
        );
    }
    conditions(out, skill);
    carriers(out, skill);
    cases(out, skill);
}

fn scope(out: &mut String, scope: &Scope) {
    let cases: Vec<&str> = scope.cases.iter().map(|c| c.node.as_str()).collect();
    let languages: Vec<&str> = scope.languages.iter().map(|l| l.node.as_str()).collect();
    let platforms: Vec<String> = scope.platforms.iter().map(|p| print_platform(&p.node)).collect();
    let after: Vec<String> = scope
        .after
        .iter()
        .map(|a| format!("{}{}", a.skill.node, if a.optional { " (optional)" } else { "" }))
        .collect();
    let mut parts = vec![];
    parts.extend((!cases.is_empty()).then(|| format!("case {}", cases.join(", "))));
    parts.extend((!languages.is_empty()).then(|| format!("language {}", languages.join(", "))));
    parts.extend((!platforms.is_empty()).then(|| format!("platform {}", platforms.join(", "))));
    parts.extend((!after.is_empty()).then(|| format!("after {}", after.join(", "))));
    let text = if parts.is_empty() { "anywhere".to_owned() } else { parts.join("; ") };
    let _ = writeln!(out, "- Scope: {text}");
}

fn features(out: &mut String, features: &Features) {
    let lists =
        [("Requires", &features.requires), ("Provides", &features.provides), ("Conflicts with", &features.conflicts)];
    for (word, list) in lists {
        if !list.is_empty() {
            let names: Vec<String> = list.iter().map(|f| format!("`{}`", print_feature(f))).collect();
            let _ = writeln!(out, "- {word}: {}", names.join(", "));
        }
    }
}

fn conditions(out: &mut String, skill: &Skill) {
    out.push_str("\n| group | condition | else |\n|---|---|---|\n");
    let empty = |group: &Group| group.conditions.is_empty();
    for group in &skill.require {
        if empty(group) {
            let _ = writeln!(out, "| {} | none | |", group.kind.node);
        }
        group.conditions.iter().for_each(|c| condition(out, group.kind.node.as_str(), c));
    }
    skill.pays.iter().for_each(|c| condition(out, "pays when", c));
    out.push('\n');
}

fn condition(out: &mut String, group: &str, condition: &Condition) {
    let because = condition.because.as_ref().map(|b| cell(&b.node)).unwrap_or_default();
    let _ = writeln!(out, "| {group} | `{}` | {because} |", cell(&print_condition(condition)));
}

/// Text that cannot break out of a table cell.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

fn carriers(out: &mut String, skill: &Skill) {
    for carrier in &skill.carriers {
        let _ = write!(out, "Sketch ({}):\n\n", carrier.language.node);
        fenced(out, &carrier.text.node, fence_word(carrier.language.node));
    }
}

fn cases(out: &mut String, skill: &Skill) {
    for example in &skill.examples {
        let _ = write!(out, "Fires on: {}\n\n", example.title.node);
        program(out, &example.before.node, example.contract.as_ref());
    }
    for refusal in &skill.refusals {
        let _ = write!(out, "Refuses ({}): {}\n\n", refusal.because.node, refusal.title.node);
        program(out, &refusal.before.node, refusal.contract.as_ref());
    }
}

fn program(out: &mut String, before: &str, contract: Option<&Name>) {
    fenced(out, before, "cuda");
    if let Some(contract) = contract {
        out.push_str("under the contract\n\n");
        fenced(out, &contract.node, "toml");
    }
}

fn fence_word(language: Language) -> &'static str {
    match language {
        Language::Cuda => "cuda",
        Language::TileLang => "python",
    }
}

/// A code block whose fence is longer than any run of backticks inside.
fn fenced(out: &mut String, text: &str, word: &str) {
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat((longest + 1).max(3));
    let _ = write!(out, "{fence}{word}\n{}\n{fence}\n\n", text.trim_end_matches('\n'));
}

fn transitions(out: &mut String, directions: &Directions) {
    out.push_str(
        "## What tends to pay after what\n\n| from | to | prior | when | why | risk |\n|---|---|---|---|---|---|\n",
    );
    for direction in directions.iter() {
        for t in &direction.transitions {
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} | {} |",
                direction.name,
                t.to,
                t.prior,
                cell(&t.when),
                cell(&t.why),
                cell(&t.risk)
            );
        }
    }
}
