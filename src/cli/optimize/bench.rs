//! What a walk is made with: the skills and facts of the file, the gate, the memory.

use std::path::{Path, PathBuf};

use kopt::contract::Plan;
use kopt::gate::timing::Speed;
use kopt::ir::{FunctionRef, spell::identity};
use kopt::memory::{Context, Evidence, Snapshot, Store};
use kopt::optimize::journal::JournalError;
use kopt::optimize::{Found, Stepped, Survey, Verdict, World};
use kopt::policy::{self, Choice, Firmness, Legal, Settings, State};
use kopt::report;
use kopt::skill::ast::{Class, Skill};
use kopt::skill::engine::judge::{Judged, Payoff};
use kopt::skill::engine::run::{self, Request};
use kopt::skill::engine::survey::{Finding, FindingKind, SiteResult};
use kopt::source::{SourceFile, Span};
use similar::TextDiff;

use super::super::device::On;
use super::super::exit::{Exit, Failure};
use super::super::printer::Printer;
use super::super::session::Session;
use super::super::verify::{Choice as Launches, How, Opened, Pair, Revision, Running, Unbuilt};
use super::super::{load, memory, write};
use super::{Args, trouble};

/// Plans of one file that are run.
const MOST: usize = 4;

pub struct Bench<'a, 'p> {
    pub args: &'a Args,
    pub session: Session,
    pub path: PathBuf,
    pub original: String,
    pub running: Running,
    pub on: On,
    pub policy: Settings,
    /// None where nothing is remembered.
    pub store: Option<Store>,
    /// Where the best text is kept.
    pub folder: Option<PathBuf>,
    pub printer: &'p mut Printer,
}

impl Bench<'_, '_> {
    fn kernels(&self) -> Vec<FunctionRef> {
        let program = &self.session.loaded.program;
        let wanted = |r: &FunctionRef| {
            let f = program.function(*r);
            let named = self.args.kernel.as_deref().is_none_or(|k| f.name == k || f.qualified == k || identity(f) == k);
            named && self.session.loaded.requested.contains(&program.unit(r.unit).file)
        };
        program.kernels().into_iter().filter(wanted).collect()
    }

    /// Where a finding must be to count: everywhere, or in the kernel that was named.
    fn places(&self) -> Vec<Span> {
        match &self.args.kernel {
            Some(_) => self.kernels().into_iter().map(|r| self.session.loaded.program.function(r).span).collect(),
            None => vec![],
        }
    }

    fn legal(&self) -> Vec<Legal> {
        let skills = self.session.all_skills();
        let places = self.places();
        let here = |f: &Finding| places.is_empty() || places.iter().any(|s| s.overlaps(f.span));
        let found = self.session.survey(&skills);
        let mut legal: Vec<Legal> = vec![];
        for skill in skills {
            let own = found.iter().filter(|f| f.skill == skill.name.node && here(f));
            let best = own.filter_map(|f| move_of(skill, f)).min_by(|a, b| {
                (a.firmness, -a.effect).partial_cmp(&(b.firmness, -b.effect)).unwrap_or(std::cmp::Ordering::Equal)
            });
            legal.extend(best);
        }
        legal
    }

    fn revision(&self, text: &str) -> Opened {
        let session = &self.session;
        Opened::of_revision(&Revision {
            path: &self.path,
            name: &self.path.to_string_lossy(),
            text,
            include: &session.include,
            define: &session.define,
            nvcc_flags: &session.config.nvcc_flags,
            arch: self.running.arch.as_deref(),
            contract: session.config.contract.as_deref(),
        })
    }

    /// Both texts under one plan, ready to be run; or what can be said without.
    fn pair(&self, original: &mut Opened, plan: &Plan, text: &str) -> Result<Pair, Verdict> {
        let mut candidate = self.revision(text);
        let unknown = |f: Failure| verdict(Found::Unknown, reason(&f));
        let adopted = candidate.adopt(original, plan, Launches::default()).map_err(unknown)?;
        let before = original.build(plan).map_err(|u| unknown(u.failure(Exit::Inconclusive, original.sources())))?;
        let after = candidate.build(&adopted.plan).map_err(|u| {
            let found = if matches!(u, Unbuilt::Rejected(_)) { Found::NotCompiled } else { Found::Unknown };
            verdict(found, reason(&u.failure(Exit::Verification, candidate.sources())))
        })?;
        original.unfilled(&before).map_err(unknown)?;
        candidate.unfilled(&after).map_err(unknown)?;
        Ok(Pair {
            original: original.subject(before),
            candidate: candidate.subject(after),
            contract: (String::new(), String::new()),
            accepted: vec![],
            launches: adopted.how,
            matched: vec![],
            command: String::new(),
        })
    }

    fn judge_plan(&self, original: &mut Opened, plan: &Plan, text: &str) -> Verdict {
        let pair = match self.pair(original, plan, text) {
            Ok(pair) => pair,
            Err(verdict) => return verdict,
        };
        let settings = self.running.settings();
        let (place, timing) = (&self.args.place, &self.args.timing);
        let how = How { on: self.on, place, timing, sanitize: false, settings, memo: None };
        let judged = pair.emulate(&how, None).and_then(|emulated| pair.finish(&how, emulated));
        let judged = match judged {
            Ok(judged) => judged,
            Err(f) => return verdict(Found::Unknown, reason(&f)),
        };
        let said = report::sentences(&judged.report(&pair, &how));
        let exit = judged.exit();
        if exit == Exit::Verification {
            return verdict(Found::Wrong, said);
        }
        if exit != Exit::Done && exit != Exit::Findings {
            return verdict(Found::Unknown, said);
        }
        let timed = judged.measured.as_ref().and_then(|m| m.as_ref().ok());
        let Some((timed, first)) = timed.and_then(|t| Some((t, t.states.first()?))) else {
            return verdict(Found::Correct, said);
        };
        match timed.speed {
            Speed::Inconclusive(_) => verdict(Found::Correct, said),
            Speed::Improved | Speed::Equivalent | Speed::Slower => {
                let improved = timed.speed == Speed::Improved;
                verdict(Found::Measured { speedup: first.ratio, margin: first.margin, improved }, said)
            }
        }
    }
}

/// A place where a skill applies, as a move.
fn move_of(skill: &Skill, finding: &Finding) -> Option<Legal> {
    let FindingKind::Applies { result, payoff, conditions, .. } = &finding.kind else { return None };
    let effect = match payoff {
        Payoff::Expected(_) => 0.1,
        Payoff::Unknown(_) => 0.0,
        Payoff::NotExpected(_) => return None,
    };
    let firmness = match result {
        _ if conditions.iter().any(|c: &Judged| c.guard().is_some()) => Firmness::Guarded,
        SiteResult::Assumed(_) => Firmness::Assumed,
        SiteResult::Proved | SiteResult::Unverified => Firmness::Proved,
    };
    // What a wrong result costs, by how much the class lets it differ.
    let risk = match skill.class.node {
        Class::Preserving => 0.0,
        Class::Reassociating => 0.05,
        _ => 0.1,
    };
    let (direction, skill) = (skill.direction.node.clone(), skill.name.node.clone());
    Some(Legal { direction, skill, risk, effect, firmness })
}

fn verdict(found: Found, reason: String) -> Verdict {
    Verdict { found, reason }
}

fn reason(failure: &Failure) -> String {
    match failure {
        Failure::Quiet => "the output went away".to_owned(),
        Failure::Said { problems, .. } => {
            problems.first().map_or_else(|| "no reason".to_owned(), |d| format!("{}: {}", d.code, d.message))
        }
    }
}

impl World for Bench<'_, '_> {
    type Trouble = Failure;

    fn survey(&mut self, text: &str) -> Result<Survey, Failure> {
        self.session.revise(text);
        let program = &self.session.loaded.program;
        let kernels = self.kernels();
        let first = kernels.first().map(|r| program.function(*r));
        let family = first.map_or(kopt::memory::Family::Other, policy::family);
        let own = kernels.iter().map(|r| {
            let span = program.function(*r).span;
            self.session.sources().get(span.file).slice(span).to_owned()
        });
        let texts: Vec<String> = own.collect();
        let arch = self.running.arch.clone().unwrap_or_else(|| super::super::gate::DEFAULT_ARCH.to_owned());
        Ok(Survey {
            legal: self.legal(),
            context: Context { arch, language: "cuda".to_owned(), family },
            bottleneck: None,
            kernel: blake3::hash(texts.join("\n").as_bytes()).to_hex()[..16].to_owned(),
        })
    }

    fn choose(&mut self, state: &State, legal: &[Legal], step: u32) -> Result<Option<(Choice, String)>, Failure> {
        let directions = &self.session.library.directions;
        let froms = state.prefix(self.policy.k);
        let skills: Vec<(&str, &str)> = legal.iter().map(|l| (l.direction.as_str(), l.skill.as_str())).collect();
        let bottleneck = state.bottleneck.map_or("", |b| b.as_str());
        let snapshot = match &mut self.store {
            Some(store) => store
                .snapshot(directions, &state.context, &froms, bottleneck, &skills)
                .map_err(|e| memory::failure(&e))?,
            None => Snapshot::empty(directions),
        };
        let choice = policy::choose(&snapshot, state, legal, &self.policy, step);
        Ok(choice.map(|c| {
            let words = policy::explain(&c, &self.policy);
            (c, words)
        }))
    }

    fn rewrite(&mut self, text: &str, skill: &str) -> Result<String, Failure> {
        self.session.revise(text);
        let skill = self.session.skill(skill)?;
        let loaded = &self.session.loaded;
        let passes = kopt::pass::builtin();
        let request = Request {
            skills: &[skill],
            assumptions: &self.session.assumptions,
            platform: self.session.platform(),
            passes: &passes,
            at: self.places(),
            files: loaded.requested.clone(),
            even_if_not_paying: false,
            parse: &|file, source: &SourceFile| loaded.parse(file, source),
        };
        // A skill that does not come to an end is one that changed nothing: it is not tried on this text again.
        let Ok(outcome) = run::apply(&loaded.program, loaded.sources(), &request) else { return Ok(text.to_owned()) };
        let file = loaded.requested.first().copied();
        Ok(file.map_or_else(|| text.to_owned(), |f| outcome.sources.get(f).text.to_string()))
    }

    fn judge(&mut self, text: &str) -> Result<Verdict, Failure> {
        let mut original = self.revision(&self.original);
        let plans = match original.plans(&self.running) {
            Ok(plans) => plans,
            Err(f) => return Ok(verdict(Found::Unknown, reason(&f))),
        };
        let program = &self.session.loaded.program;
        let names: Vec<String> = self.kernels().into_iter().map(|r| program.function(r).name.clone()).collect();
        let about =
            |p: &&Plan| p.launches().any(|l| names.iter().any(|n| kopt::infer::matching::same_name(&l.kernel, n)));
        let (settled, open): (Vec<&Plan>, Vec<&Plan>) = plans.iter().filter(about).partition(|p| p.open().is_empty());
        let question = open.iter().flat_map(|p| p.open()).next();
        if let (true, Some(q)) = (settled.is_empty(), question) {
            let why = format!("the contract is not settled: {} of {}", q.field, q.table);
            return Ok(verdict(Found::Unknown, why));
        }
        let mut worst: Option<Verdict> = None;
        for plan in settled.into_iter().take(MOST) {
            let found = self.judge_plan(&mut original, plan, text);
            worst = Some(match worst {
                Some(before) if rank(&before.found) >= rank(&found.found) => before,
                _ => found,
            });
        }
        Ok(worst.unwrap_or_else(|| verdict(Found::Unknown, "no contract, and no launch of it in the file".to_owned())))
    }

    fn record(&mut self, evidence: &Evidence) -> Result<(), Failure> {
        match &mut self.store {
            Some(store) => store.record(std::slice::from_ref(evidence)).map(|_| ()).map_err(|e| memory::failure(&e)),
            None => Ok(()),
        }
    }

    fn show(&mut self, step: &Stepped, best: &str) -> Result<(), Failure> {
        if let Some(folder) = &self.folder {
            let diff = patch(&self.path, &self.original, best);
            write::atomically(&folder.join("best.patch"), diff.as_bytes())?;
        }
        super::show::step(self.printer, step, self.policy.steps, self.args.explain)
    }

    fn journal(error: JournalError) -> Failure {
        trouble(&error)
    }
}

/// The worse of several verdicts counts; among times the smaller gain.
fn rank(found: &Found) -> (u8, i64) {
    match found {
        Found::Measured { speedup, .. } => (0, -(speedup * 1e6) as i64),
        Found::Correct => (1, 0),
        Found::Unknown => (2, 0),
        Found::NotCompiled => (3, 0),
        Found::Wrong => (4, 0),
    }
}

/// A unified diff that `git apply` takes in the folder where kopt ran.
pub fn patch(path: &Path, before: &str, after: &str) -> String {
    let name = load::clean(path).to_string_lossy().trim_start_matches('/').to_owned();
    let diff = TextDiff::from_lines(before, after);
    diff.unified_diff().context_radius(3).header(&format!("a/{name}"), &format!("b/{name}")).to_string()
}
