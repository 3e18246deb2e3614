//! The loop.

use std::collections::BTreeSet;

use super::journal::{Entry, Journal, JournalError, VERSION};
use super::{Accept, Chosen, Found, Plan, Stepped, Survey, Verdict, World};
use crate::memory::{Evidence, PathStep};
use crate::policy::{Legal, State};

/// Why a walk is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// All steps were made.
    Steps,
    /// No skill may be applied any more.
    NothingLegal,
}

/// A walk that is over.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    pub end: End,
    /// The best text; the original where no candidate was better.
    pub best: String,
    /// The original's time over its own, where it was measured.
    pub speedup: Option<f64>,
    pub steps: Vec<Stepped>,
}

/// Walks from a text, or goes on where the journal ends.
///
/// A skill that left a text as it was, failed on it or could not be judged is not tried on the same text again. In a journalled
/// step nothing is asked that the journal answers.
///
/// # Errors
/// Trouble of the world or of the journal; resuming goes on from there.
pub fn walk<W: World>(
    world: &mut W,
    journal: &mut Journal,
    original: &str,
    about: &str,
    plan: &Plan,
) -> Result<Ended, W::Trouble> {
    let mut log = Log { past: journal.entries().to_vec(), at: 0, journal };
    let hash = blake3::hash(original.as_bytes()).to_hex().to_string();
    let start = Entry::Start { version: VERSION, original: hash, world: about.to_owned(), plan: plan.clone() };
    let plan = log.start(start).map_err(W::journal)?;
    let mut walker = Walker {
        plan: &plan,
        current: original.to_owned(),
        current_speed: None,
        best: original.to_owned(),
        best_speed: None,
        path: vec![],
        spent: BTreeSet::new(),
        error: None,
        steps: vec![],
    };
    let mut end = End::Steps;
    for step in 1..=plan.policy.steps {
        if !walker.step(world, &mut log, step)? {
            end = End::NothingLegal;
            break;
        }
    }
    Ok(Ended { end, best: walker.best, speedup: walker.best_speed, steps: walker.steps })
}

/// The journal, of which the first entries are what an earlier process wrote.
struct Log<'j> {
    past: Vec<Entry>,
    at: usize,
    journal: &'j mut Journal,
}

impl Log<'_> {
    /// The plan of the run that is gone on with, or this one.
    fn start(&mut self, now: Entry) -> Result<Plan, JournalError> {
        let Entry::Start { original, world, plan, .. } = &now else { return Err(self.disorder(0)) };
        let Some(before) = self.past.first().cloned() else {
            let plan = plan.clone();
            self.journal.append(&now)?;
            return Ok(plan);
        };
        self.at = 1;
        let Entry::Start { original: then, world: where_then, plan: planned, .. } = before else {
            return Err(self.disorder(0));
        };
        let other = |what| Err(JournalError::Other { path: self.journal.path().to_owned(), what });
        match () {
            () if *original != then => other("text of the file"),
            () if *world != where_then => other("way of judging"),
            () if plan.policy != planned.policy || plan.accept != planned.accept => other("policy"),
            () => Ok(planned),
        }
    }

    /// The next entry of the past, if there is one.
    fn next(&mut self) -> Option<Entry> {
        let entry = self.past.get(self.at).cloned();
        self.at += usize::from(entry.is_some());
        entry
    }

    fn disorder(&self, step: u32) -> JournalError {
        JournalError::Order(self.journal.path().to_owned(), step)
    }
}

struct Walker<'p> {
    plan: &'p Plan,
    current: String,
    /// The original's time over that of `current`.
    current_speed: Option<f64>,
    best: String,
    best_speed: Option<f64>,
    path: Vec<PathStep>,
    /// Texts and skills that led nowhere.
    spent: BTreeSet<([u8; 32], String)>,
    error: Option<String>,
    steps: Vec<Stepped>,
}

impl Walker<'_> {
    /// One step; false where nothing is legal.
    fn step<W: World>(&mut self, world: &mut W, log: &mut Log, step: u32) -> Result<bool, W::Trouble> {
        let here = *blake3::hash(self.current.as_bytes()).as_bytes();
        let mut survey = world.survey(&self.current)?;
        survey.legal.retain(|l| !self.spent.contains(&(here, l.skill.clone())));
        let state = self.state(&survey);
        let chosen = match log.next() {
            Some(Entry::Choice { step: s, chosen }) if s == step => chosen,
            Some(_) => return Err(W::journal(log.disorder(step))),
            None => {
                let chosen = choose(world, &state, &survey.legal, step)?;
                let entry = Entry::Choice { step, chosen: chosen.clone() };
                log.journal.append(&entry).map_err(W::journal)?;
                chosen
            }
        };
        let Some(chosen) = chosen else { return Ok(false) };
        let text = match log.next() {
            Some(Entry::Candidate { step: s, text }) if s == step => text,
            Some(_) => return Err(W::journal(log.disorder(step))),
            None => {
                let text = world.rewrite(&self.current, &chosen.skill)?;
                log.journal.append(&Entry::Candidate { step, text: text.clone() }).map_err(W::journal)?;
                text
            }
        };
        let (verdict, resumed) = match log.next() {
            Some(Entry::Verdict { step: s, verdict }) if s == step => (verdict, true),
            Some(_) => return Err(W::journal(log.disorder(step))),
            None => {
                let verdict = if text == self.current { unchanged() } else { world.judge(&text)? };
                log.journal.append(&Entry::Verdict { step, verdict: verdict.clone() }).map_err(W::journal)?;
                (verdict, false)
            }
        };
        if let Some(evidence) = self.evidence(&state, &chosen, &text, &verdict, step) {
            self.remember(world, log, &evidence)?;
            self.path.push(PathStep { direction: chosen.direction.clone(), outcome: evidence.outcome });
        }
        let taken = self.take(&text, &verdict);
        if !taken {
            self.spent.insert((here, chosen.skill.clone()));
        }
        self.error = (!taken).then(|| verdict.reason.clone());
        let stepped = Stepped { step, chosen, verdict, taken, best_speedup: self.best_speed, resumed };
        world.show(&stepped, &self.best)?;
        self.steps.push(stepped);
        Ok(true)
    }

    fn state(&self, survey: &Survey) -> State {
        State {
            kernel: survey.kernel.clone(),
            context: survey.context.clone(),
            bottleneck: survey.bottleneck,
            path: self.path.clone(),
            error: self.error.clone(),
        }
    }

    /// What the memory learns of the step; nothing where nothing was changed or could be judged.
    fn evidence(&self, state: &State, chosen: &Chosen, text: &str, verdict: &Verdict, step: u32) -> Option<Evidence> {
        if text == self.current {
            return None;
        }
        let skipped = self.path.len().saturating_sub(self.plan.policy.k.min(crate::memory::evidence::MAX_PREFIX));
        let diff = similar::TextDiff::from_lines(self.current.as_str(), text).unified_diff().to_string();
        Some(Evidence {
            run: self.plan.run.clone(),
            step,
            started: self.plan.started,
            context: state.context.clone(),
            bottleneck: state.bottleneck,
            prefix: self.path.iter().skip(skipped).cloned().collect(),
            direction: chosen.direction.clone(),
            skill: chosen.skill.clone(),
            outcome: verdict.outcome(self.current_speed)?,
            kernel: state.kernel.clone(),
            diff: blake3::hash(diff.as_bytes()).to_hex()[..32].to_owned(),
            reason: Evidence::shorten(&verdict.reason),
        })
    }

    /// Evidence is kept once, whenever the process was killed: the memory knows it by its content.
    fn remember<W: World>(&self, world: &mut W, log: &mut Log, evidence: &Evidence) -> Result<(), W::Trouble> {
        if !self.plan.policy.update {
            return Ok(());
        }
        let (step, id) = (evidence.step, evidence.id());
        match log.next() {
            Some(Entry::Recorded { step: s, id: known }) if s == step && known == id => Ok(()),
            Some(_) => Err(W::journal(log.disorder(step))),
            None => {
                world.record(evidence)?;
                log.journal.append(&Entry::Recorded { step, id }).map_err(W::journal)
            }
        }
    }

    /// Whether the walk goes on from a text, and whether it is the best so far.
    fn take(&mut self, text: &str, verdict: &Verdict) -> bool {
        let (taken, speed) = match verdict.found {
            _ if text == self.current => (false, None),
            Found::Measured { speedup, margin, improved } => {
                let better = improved && self.best_speed.is_none_or(|best| speedup > best * (1.0 + margin));
                if better {
                    self.best = text.to_owned();
                    self.best_speed = Some(speedup);
                }
                (better || self.plan.accept == Accept::Walk, Some(speedup))
            }
            // Nothing says which of two correct texts is the better; the skill expects that it is the new one.
            Found::Correct => {
                self.best = text.to_owned();
                (true, None)
            }
            Found::NotCompiled | Found::Wrong | Found::Unknown => (false, None),
        };
        if taken {
            self.current = text.to_owned();
            self.current_speed = speed;
        }
        taken
    }
}

fn choose<W: World>(world: &mut W, state: &State, legal: &[Legal], step: u32) -> Result<Option<Chosen>, W::Trouble> {
    if legal.is_empty() {
        return Ok(None);
    }
    let found = world.choose(state, legal, step)?;
    Ok(found.map(|(choice, explained)| Chosen {
        direction: choice.direction,
        skill: choice.skill,
        draw: choice.draw,
        explained,
    }))
}

fn unchanged() -> Verdict {
    Verdict { found: Found::Unknown, reason: "the skill changed nothing".to_owned() }
}
