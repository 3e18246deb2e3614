//! A choice in words: the scores, their parts and the draw.

use std::fmt::Write as _;

use super::{Choice, Rule, Settings};

/// Several lines of text; `settings` are those of the choice.
pub fn explain(choice: &Choice, settings: &Settings) -> String {
    let mut out = format!("step {} of {}, temperature {:.3}\n", choice.step, settings.steps, choice.tau);
    let name = |s: &super::Scored| s.skill.as_ref().map_or(s.direction.clone(), |k| format!("{}: {k}", s.direction));
    let width = choice.scored.iter().map(|s| name(s).len()).max().unwrap_or(0);
    let _ = writeln!(out, "  {:<width$}  {:>7} {:>7} {:>7} {:>7} {:>6}", "", "path", "value", "risk", "score", "p");
    for s in &choice.scored {
        let mark = if s.direction == choice.direction && s.skill.as_ref().is_none_or(|k| *k == choice.skill) {
            '>'
        } else {
            ' '
        };
        let score = if s.score == f64::MAX { "untried".to_owned() } else { format!("{:.3}", s.score) };
        let _ = writeln!(
            out,
            "{mark} {:<width$}  {:>7.3} {:>7.3} {:>7.3} {score:>7} {:>6.3}",
            name(s),
            s.utility,
            s.value,
            s.risk,
            s.probability
        );
        for t in &s.path {
            let from = if t.from.is_empty() { "start" } else { &t.from };
            let n: f64 = t.n.iter().sum();
            let known = if n > 0.0 {
                format!("{n:.1} steps, prior {:.3}, after others {:.3}", t.prior, t.pooled)
            } else {
                format!("no step, prior {:.3}, after others {:.3}", t.prior, t.pooled)
            };
            let _ = writeln!(out, "      {:.3} of {from} -> {}: {:.3} ({known})", t.weight, s.direction, t.utility);
        }
    }
    for m in &choice.masked {
        let _ = writeln!(out, "  {m}: no legal move");
    }
    let how = match choice.rule {
        Rule::UpperConfidence => "greatest upper confidence bound".to_owned(),
        Rule::Softmax | Rule::FeedbackOnly => format!("draw {:.6}, seed {}", choice.draw, settings.seed),
    };
    let _ = writeln!(out, "{how}: {}, {}", choice.direction, choice.skill);
    for l in &choice.locals {
        let _ = writeln!(
            out,
            "  {}: {:.3} = evidence {:.3} ({:.1} steps) + effect {:.3} - risk {:.3} - {} {:.3}",
            l.skill,
            l.score,
            l.evidence,
            l.n,
            l.effect,
            l.risk,
            l.firmness.as_str(),
            l.firmness.cost()
        );
    }
    out
}
