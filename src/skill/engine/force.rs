//! Rewrites that take conditions for granted, so that a necessity test can run them and see them fail. Nothing that is
//! written for a user comes from here.

use super::eval::Evaluator;
use super::judge::{self, Judgement};
use super::matching;
use super::rewrite::{self, Passes, Stop};
use super::site::Site;
use super::survey::{self, Input};
use crate::edit::EditError;
use crate::facts::{analyse, macros_of};
use crate::skill::ast::Skill;

/// The text after the skill's body was run at the first place that its `match` finds, whatever its conditions say there;
/// guards are not written, remainder loops are.
///
/// # Errors
/// [`Stop`] when no place is found ([`Stop::NoRule`]) or the body cannot be written.
pub fn text(input: Input, skill: &Skill, passes: &Passes) -> Result<String, Stop> {
    let macros = macros_of(input.program, input.sources);
    let mut stopped = Stop::NoRule;
    for at in survey::functions(input.program) {
        if !matching::possible(skill, input.program, at) {
            continue;
        }
        let assumptions = input.assumptions.of_function(input.program.function(at));
        let Some(analysis) = analyse(input.program, &macros, at, &assumptions) else { continue };
        let eval = Evaluator { analysis: &analysis };
        let file = input.program.function(at).name_span.file;
        let source = input.sources.get(file);
        for bindings in matching::candidates(skill, input.program, at, &eval).0 {
            let Judgement::Sound { proof, bindings, values, .. } =
                judge::force(skill, &eval, &bindings, source.revision)
            else {
                continue;
            };
            let site = Site { skill, program: input.program, sources: input.sources, at, bindings, values };
            match rewrite::rewrite(&[(&site, &proof)], passes) {
                Ok(written) => return written.edits.apply(source).map_err(Stop::Edit),
                Err(stop) => stopped = stop,
            }
        }
    }
    Err(stopped)
}

/// The text after the skill was applied without the conditions that answer to `without`.
///
/// # Errors
/// [`Stop::NoRule`] when nothing was rewritten.
pub fn without(
    input: Input,
    skill: &Skill,
    without: &str,
    passes: &Passes,
    parse: &dyn Fn(crate::source::FileId, &crate::source::SourceFile) -> crate::ir::Unit,
) -> Result<String, Stop> {
    let mut weaker = skill.clone();
    for group in &mut weaker.require {
        group.conditions.retain(|c| !c.answers_to(without));
    }
    let request = super::Request {
        skills: &[&weaker],
        assumptions: input.assumptions,
        platform: input.platform,
        passes,
        at: vec![],
        files: vec![],
        even_if_not_paying: true,
        parse,
    };
    let outcome = super::run::apply(input.program, input.sources, &request).map_err(|_| Stop::NoRule)?;
    let change = outcome.changes.first().ok_or(Stop::NoRule)?;
    let source = outcome.sources.get(change.file);
    if source.is_utf8 { Ok(source.text.to_string()) } else { Err(Stop::Edit(EditError::NotUtf8)) }
}
