//! Replays recorded edits, after everything that they rest on was looked at again.

use super::position::{self, Unplaced};
use super::record::{body_hash, launch_tokens, short, verdicts};
use super::{LockedFile, Step, tokens_hash};
use crate::contract::Assumptions;
use crate::diag::{Code, Diagnostic};
use crate::edit::{Edit, EditSet};
use crate::facts::macros_of;
use crate::ir::{FunctionRef, Program, Unit};
use crate::skill::ast::Platform;
use crate::skill::engine::rewrite::{self, Passes};
use crate::skill::engine::survey::{self, FindingKind, Input};
use crate::skill::{Library, Skill};
use crate::source::{FileId, SourceFile, Sources, Span};

/// Why recorded edits are not replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The lock has no entry for the file.
    Missing,
    KernelGone,
    KernelChanged,
    LaunchChanged,
    SkillGone,
    SkillChanged,
    BodyChanged,
    /// Comments or white space changed inside the text that is replaced.
    LayoutChanged(Option<Span>),
    /// The place is not found, or conditions fail there now.
    ConditionFails(String),
    /// The conditions hold, with other verdicts, guard or parameters, or the skill would write something else.
    Different(String),
    Edit(String),
}

/// A lock entry that does not fit the present text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stale {
    pub path: String,
    /// Skill and kernel of the step; `None` when the whole file has no entry.
    pub step: Option<(String, String)>,
    pub reason: Reason,
}

/// The outcome for one file.
#[derive(Clone, Debug)]
pub enum Replayed {
    /// The file holds the result of the recorded steps already.
    AlreadyDone,
    Written {
        text: String,
        steps: usize,
    },
}

/// What replaying needs; `program` and `sources` hold the present text.
pub struct Replayer<'a> {
    pub program: &'a Program,
    pub sources: &'a Sources,
    pub library: &'a Library,
    pub passes: &'a Passes,
    pub assumptions: &'a Assumptions,
    pub parse: &'a dyn Fn(FileId, &SourceFile) -> Unit,
}

impl Replayer<'_> {
    /// Replays the steps of one file.
    ///
    /// # Errors
    /// [`Stale`] names the first thing that changed; then nothing of the file is replayed.
    pub fn file(&self, locked: &LockedFile, file: FileId) -> Result<Replayed, Stale> {
        if tokens_hash(&self.sources.get(file).text) == locked.after {
            return Ok(Replayed::AlreadyDone);
        }
        let platform = locked.arch.as_deref().and_then(Platform::parse);
        let (mut program, mut sources) = (self.program.clone(), self.sources.clone());
        for step in &locked.steps {
            let replayed = self.step(step, file, &program, &sources, platform);
            let text = replayed.map_err(|reason| Stale {
                path: locked.path.clone(),
                step: Some((step.skill.clone(), step.kernel.clone())),
                reason,
            })?;
            let new = SourceFile::new(sources.get(file).name.clone(), text.into_bytes());
            let unit = (self.parse)(file, &new);
            sources.replace(file, new);
            if let Some(slot) = program.units.iter_mut().find(|u| u.file == file) {
                *slot = unit;
            }
        }
        Ok(Replayed::Written { text: sources.get(file).text.to_string(), steps: locked.steps.len() })
    }

    fn step(
        &self,
        step: &Step,
        file: FileId,
        program: &Program,
        sources: &Sources,
        platform: Option<Platform>,
    ) -> Result<String, Reason> {
        let source = sources.get(file);
        let (index, unit) = program.units.iter().enumerate().find(|(_, u)| u.file == file).ok_or(Reason::KernelGone)?;
        let function = position::function(unit, &step.kernel, step.nth).ok_or(Reason::KernelGone)?;
        let at = FunctionRef { unit: index as u32, function: function.id };
        if tokens_hash(source.slice(function.span)) != step.kernel_tokens {
            return Err(Reason::KernelChanged);
        }
        if launch_tokens(self.program, self.sources, &step.kernel) != step.launch_tokens {
            return Err(Reason::LaunchChanged);
        }
        let skill = self.library.get(&step.skill).ok_or(Reason::SkillGone)?;
        if short(&skill.hash()) != step.skill_hash {
            return Err(Reason::SkillChanged);
        }
        if body_hash(skill) != step.body_hash {
            return Err(Reason::BodyChanged);
        }
        let edits = restore(step, file, source, unit)?;
        let set = EditSet::new(file, source, edits).map_err(|e| Reason::Edit(e.to_string()))?;
        self.judge_again(step, skill, at, program, sources, platform, &set)?;
        set.apply(source).map_err(|e| Reason::Edit(e.to_string()))
    }

    /// Every condition holds as recorded, and the skill would still write what was recorded.
    #[allow(clippy::too_many_arguments)]
    fn judge_again(
        &self,
        step: &Step,
        skill: &Skill,
        at: FunctionRef,
        program: &Program,
        sources: &Sources,
        platform: Option<Platform>,
        recorded: &EditSet,
    ) -> Result<(), Reason> {
        let skills = [skill];
        let input = Input { program, sources, skills: &skills, assumptions: self.assumptions, platform };
        let macros = macros_of(program, sources);
        let analysis = survey::Lazy::new(input, &macros, at);
        let candidates = survey::judge_all(input, skill, at, &analysis);
        let mut places = vec![];
        for ordinal in std::iter::once(step.ordinal).chain(step.also.iter().copied()) {
            let here = |c: &&survey::Candidate| {
                c.finding.place.surface() == step.surface && c.finding.place.ordinal() == ordinal
            };
            let Some(candidate) = candidates.iter().find(here) else {
                return Err(Reason::ConditionFails(format!("{} {ordinal} is no longer found", step.surface)));
            };
            let Some(sound) = &candidate.outcome else {
                return Err(Reason::ConditionFails(failed(&candidate.finding.kind)));
            };
            if let Some(line) = verdicts(sound.proof.conditions()).iter().find(|l| !step.verdicts.contains(l)) {
                return Err(Reason::Different(format!("a condition is now judged `{line}`")));
            }
            places.push((&candidate.site, &sound.proof));
        }
        let written = rewrite::rewrite(&places, self.passes)
            .map_err(|_| Reason::Different("the body no longer writes anything here".into()))?;
        let source = sources.get(recorded.file);
        let code = |set: &EditSet| set.apply(source).map(|text| tokens_hash(&text)).ok();
        if code(&written.edits) != code(recorded) {
            return Err(Reason::Different("the skill would now write something else here".into()));
        }
        Ok(())
    }
}

fn restore(step: &Step, file: FileId, source: &SourceFile, unit: &Unit) -> Result<Vec<Edit>, Reason> {
    let of = |unplaced| match unplaced {
        Unplaced::NoFunction => Reason::KernelGone,
        Unplaced::NoToken => Reason::KernelChanged,
        Unplaced::Layout(span) => Reason::LayoutChanged(Some(span)),
    };
    step.edits.iter().map(|e| position::restore(e, file, source, unit).map_err(of)).collect()
}

fn failed(kind: &FindingKind) -> String {
    match kind {
        FindingKind::Refused { failed, .. } => {
            let text = |j: &crate::skill::engine::Judged| format!("`{}` is {}", j.text, j.verdict.word());
            failed.first().map_or_else(|| "a condition fails".to_owned(), text)
        }
        FindingKind::Feature { name, missing: true } => format!("`{name}` is no longer there"),
        FindingKind::Feature { name, missing: false } => format!("`{name}` is there now"),
        FindingKind::Applies { .. } => "it applies".to_owned(),
    }
}

impl Stale {
    pub fn missing(path: &str) -> Stale {
        Stale { path: path.to_owned(), step: None, reason: Reason::Missing }
    }

    pub fn diagnostic(&self) -> Diagnostic {
        let (code, what, next) = match &self.reason {
            Reason::Missing => (
                510,
                "kopt.lock has no entry for it".to_owned(),
                "run `kopt apply --write` or `--out` without `--locked` once",
            ),
            Reason::KernelGone => (512, "the kernel, or a function that is edited with it, is gone".into(), AGAIN),
            Reason::KernelChanged => (513, "the code of the kernel changed".into(), AGAIN),
            Reason::LaunchChanged => (514, "a launch of the kernel changed, came or went".into(), AGAIN),
            Reason::SkillGone => (515, "the skill is not there any more".into(), "restore the skill's file"),
            Reason::SkillChanged => (515, "the skill changed".into(), AGAIN),
            Reason::BodyChanged => (516, "the body of the skill changed".into(), AGAIN),
            Reason::LayoutChanged(_) => {
                (517, "a comment or the layout changed inside the text that is replaced".into(), AGAIN)
            }
            Reason::ConditionFails(what) => {
                (518, format!("the skill does not apply any more: {what}"), "kopt why FILE:LINE SKILL")
            }
            Reason::Different(what) => (519, what.clone(), AGAIN),
            Reason::Edit(what) => (519, what.clone(), AGAIN),
        };
        let stale = if self.reason == Reason::Missing { "" } else { "the lock is stale: " };
        let mut d = Diagnostic::error(Code(code), format!("{}: {stale}{what}", self.path));
        if let Some((skill, kernel)) = &self.step {
            d = d.note(format!("{skill} in {kernel}"));
        }
        if let Reason::LayoutChanged(Some(span)) = &self.reason {
            d = d.at(*span, "recorded with another layout");
        }
        d.next(next)
    }
}

const AGAIN: &str = "look at the change with `kopt apply`, then record it again with `--write` or `--out`";
