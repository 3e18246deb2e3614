//! What the skills have to say about a program: where they apply, where not, and why.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use super::eval::Evaluator;
use super::guard::Plan;
use super::judge::{self, Judged, Judgement, Payoff, Verdict};
use super::site::{Bound, Proof, Site};
use super::{features, matching};
use crate::contract::{Assumption, Assumptions, parse_assumption};
use crate::facts::{Analysis, Macros, analyse, macros_of};
use crate::ir::{Function, FunctionKind, FunctionRef, Place, Program};
use crate::predicate::Value;
use crate::skill::ast::{Feature, Platform, Skill};
use crate::source::{Sources, Span};

/// What is asked: which skills, on which program, under which assumptions.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    pub program: &'a Program,
    pub sources: &'a Sources,
    pub skills: &'a [&'a Skill],
    pub assumptions: &'a Assumptions,
    pub platform: Option<Platform>,
}

/// The result that a site can have before any gate ran.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase", tag = "result", content = "assumptions")]
pub enum SiteResult {
    /// Every condition is proved or guarded, and the skill names its equivalence argument, which the rewrite must pass.
    Proved,
    /// Every condition holds, some under these assumptions.
    Assumed(Vec<String>),
    /// The conditions hold; only the gate can say more (approximating skills, or no equivalence argument).
    Unverified,
}

impl SiteResult {
    /// The result of two places rewritten together.
    pub fn and(&self, other: &SiteResult) -> SiteResult {
        match (self, other) {
            (SiteResult::Unverified, _) | (_, SiteResult::Unverified) => SiteResult::Unverified,
            (SiteResult::Proved, one) | (one, SiteResult::Proved) => one.clone(),
            (SiteResult::Assumed(a), SiteResult::Assumed(b)) => {
                let mut ids: Vec<String> = a.iter().chain(b).cloned().collect();
                ids.sort();
                ids.dedup();
                SiteResult::Assumed(ids)
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum FindingKind {
    Applies {
        result: SiteResult,
        payoff: Payoff,
        conditions: Vec<Judged>,
        excluded: Vec<Judged>,
    },
    Refused {
        failed: Vec<Judged>,
        held: Vec<Judged>,
    },
    /// A feature that the skill requires is missing, or one that it conflicts with is there.
    Feature {
        name: String,
        missing: bool,
    },
}

/// One skill at one place.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    pub skill: String,
    pub at: FunctionRef,
    /// Qualified name of the function.
    pub function: String,
    pub place: Place,
    pub span: Span,
    /// The members of a group.
    pub members: Vec<Span>,
    pub kind: FindingKind,
}

impl Finding {
    /// What is enough to count a refusal: each failed condition once. Large trees have many refusals that nobody reads.
    pub fn brief(mut self) -> Finding {
        if let FindingKind::Refused { failed, held } = &mut self.kind {
            *held = vec![];
            failed.sort_by(|a, b| (a.index, &a.text).cmp(&(b.index, &b.text)));
            failed.dedup_by(|a, b| a.text == b.text);
            failed.shrink_to_fit();
        }
        self
    }
}

/// A candidate with its judgement.
pub struct Candidate<'a> {
    pub site: Site<'a>,
    pub outcome: Option<Sound>,
    pub finding: Finding,
}

/// What a rewrite needs.
pub struct Sound {
    pub proof: Proof,
    pub payoff: Payoff,
}

/// Functions in which skills look for places: kernels and device functions whose body was read.
pub fn functions(program: &Program) -> Vec<FunctionRef> {
    let wanted = |f: &&Function| {
        matches!(f.kind, FunctionKind::Kernel | FunctionKind::Device | FunctionKind::HostDevice)
            && f.body_span.is_some()
    };
    let refs = |(u, unit): (usize, &crate::ir::Unit)| {
        unit.functions.iter().filter(wanted).map(|f| FunctionRef { unit: u as u32, function: f.id }).collect::<Vec<_>>()
    };
    program.units.iter().enumerate().flat_map(refs).collect()
}

/// Every finding of every skill, in the order of the text.
pub fn survey(input: Input) -> Vec<Finding> {
    let mut found: Vec<Finding> = vec![];
    let macros = macros_of(input.program, input.sources);
    for at in functions(input.program) {
        let analysis = Lazy::new(input, &macros, at);
        for skill in input.skills {
            found.extend(judge_all(input, skill, at, &analysis).into_iter().map(|j| j.finding));
        }
    }
    found.sort_by(|a, b| (a.span, &a.skill, a.place).cmp(&(b.span, &b.skill, b.place)));
    found
}

/// The analysis of one function, made when the first place is found that needs it.
pub struct Lazy<'a> {
    input: Input<'a>,
    macros: &'a [Macros],
    at: FunctionRef,
    made: OnceCell<Option<Analysis<'a>>>,
}

impl<'a> Lazy<'a> {
    pub fn new(input: Input<'a>, macros: &'a [Macros], at: FunctionRef) -> Lazy<'a> {
        Lazy { input, macros, at, made: OnceCell::new() }
    }

    fn get(&self) -> Option<&Analysis<'a>> {
        let Input { program, assumptions, .. } = self.input;
        let make = || analyse(program, self.macros, self.at, &assumptions.of_function(program.function(self.at)));
        self.made.get_or_init(make).as_ref()
    }
}

/// All candidates of one skill in one function.
pub fn judge_all<'a>(input: Input<'a>, skill: &'a Skill, at: FunctionRef, analysis: &Lazy) -> Vec<Candidate<'a>> {
    if !in_scope(skill, input.platform) || !matching::possible(skill, input.program, at) {
        return vec![];
    }
    let macros = analysis.macros;
    let Some(analysis) = analysis.get() else { return vec![] };
    let eval = Evaluator { analysis };
    let (candidates, _) = matching::candidates(skill, input.program, at, &eval);
    candidates.into_iter().map(|bindings| judge_one(input, skill, at, macros, &eval, bindings)).collect()
}

/// Whether the skill is meant for the platform.
pub fn in_scope(skill: &Skill, platform: Option<Platform>) -> bool {
    let ranges = &skill.scope.platforms;
    platform.is_none_or(|p| ranges.is_empty() || ranges.iter().any(|r| r.node.contains(p)))
}

fn judge_one<'a>(
    input: Input<'a>,
    skill: &'a Skill,
    at: FunctionRef,
    macros: &[Macros],
    eval: &Evaluator,
    bindings: BTreeMap<String, Bound>,
) -> Candidate<'a> {
    let f = input.program.function(at);
    let revision = input.sources.get(f.name_span.file).revision;
    let site = |bindings, values: BTreeMap<String, Value>| Site {
        skill,
        program: input.program,
        sources: input.sources,
        at,
        bindings,
        values,
    };
    let finding = |site: &Site, kind| Finding {
        skill: skill.name.node.clone(),
        at,
        function: f.qualified.clone(),
        place: site.place(),
        span: site.span(),
        members: members(&site.bindings),
        kind,
    };
    if let Some((name, missing)) = feature_obstacle(input.program, skill, at, &bindings) {
        let site = site(bindings, BTreeMap::new());
        let finding = finding(&site, FindingKind::Feature { name, missing });
        return Candidate { site, outcome: None, finding };
    }
    match judge::judge(skill, eval, &bindings, revision) {
        Judgement::Sound { proof, bindings, values, excluded } => {
            let proof = without_needless_tail(input, skill, at, macros, eval.analysis, &bindings, proof);
            let payoff = judge::payoff(skill, eval, &bindings);
            let site = site(bindings, values);
            let kind = FindingKind::Applies {
                result: result(skill, &proof),
                payoff: payoff.clone(),
                conditions: proof.conditions().to_vec(),
                excluded,
            };
            let finding = finding(&site, kind);
            Candidate { site, outcome: Some(Sound { proof, payoff }), finding }
        }
        Judgement::Refused { failed, held } => {
            let site = site(bindings, BTreeMap::new());
            let finding = finding(&site, FindingKind::Refused { failed, held });
            Candidate { site, outcome: None, finding }
        }
    }
}

/// Where a run-time test makes the count divide as well (`cols % 4 == 0`), the remainder loop would never run.
fn without_needless_tail(
    input: Input,
    skill: &Skill,
    at: FunctionRef,
    macros: &[Macros],
    analysis: &Analysis,
    bindings: &BTreeMap<String, Bound>,
    proof: Proof,
) -> Proof {
    let Some(plan) = proof.needs_tail().then(|| Plan::of(&proof)).flatten() else { return proof };
    let tested: Vec<Assumption> = plan.terms.iter().filter_map(|t| parse_assumption(t, None).ok()).collect();
    if tested.is_empty() {
        return proof;
    }
    if let Some(analysis) = analysis.assuming(&tested) {
        return judge::settle_tails(skill, &Evaluator { analysis: &analysis }, bindings, proof);
    }
    let mut assumptions = input.assumptions.of_function(input.program.function(at));
    assumptions.extend(&tested);
    let Some(analysis) = analyse(input.program, macros, at, &assumptions) else { return proof };
    judge::settle_tails(skill, &Evaluator { analysis: &analysis }, bindings, proof)
}

fn members(bindings: &BTreeMap<String, Bound>) -> Vec<Span> {
    let group = bindings.values().find(|b| matches!(b, Bound::Each(_)));
    group.map_or(vec![], |b| b.anchors().iter().map(|a| a.span).collect())
}

/// The first feature that is required and absent (true) or in conflict and present (false).
fn feature_obstacle(
    program: &Program,
    skill: &Skill,
    at: FunctionRef,
    bindings: &BTreeMap<String, Bound>,
) -> Option<(String, bool)> {
    let present = |feature: &Feature| {
        let name = &feature.name.node;
        match feature.anchor.as_ref().and_then(|a| bindings.get(&a.node)) {
            Some(bound) => {
                let has = |a: &crate::ir::Anchor| features::present_at(name, program, at, a.place, a.span);
                bound.anchors().iter().any(|a| has(a) == Some(true))
            }
            None => features::present(name, program, at, program.function(at).span) == Some(true),
        }
    };
    let missing = skill.features.requires.iter().find(|x| !present(x)).map(|x| (x.name.node.clone(), true));
    // A tile has been rewritten when it has what the skill provides; other surfaces are new ones after the rewrite.
    let is_tile = |x: &&Feature| {
        let bound = x.anchor.as_ref().and_then(|a| bindings.get(&a.node));
        bound.is_some_and(|b| b.anchors().iter().all(|a| matches!(a.place, Place::Tile(_))))
    };
    let provided = skill.features.provides.iter().filter(is_tile);
    let there = skill.features.conflicts.iter().chain(provided).find(|x| present(x));
    missing.or_else(|| there.map(|x| (x.name.node.clone(), false)))
}

fn result(skill: &Skill, proof: &Proof) -> SiteResult {
    let ids = proof.conditions().iter().filter_map(|j| match &j.verdict {
        Verdict::Assumed(ids) => Some(ids.iter().cloned()),
        _ => None,
    });
    let mut assumed: Vec<String> = ids.flatten().collect();
    assumed.sort();
    assumed.dedup();
    let exact = skill.class.node == crate::skill::ast::Class::Preserving
        && skill.equivalence.as_ref().is_some_and(|e| e.argument.is_some());
    match (exact, assumed.is_empty()) {
        (false, _) => SiteResult::Unverified,
        (true, true) => SiteResult::Proved,
        (true, false) => SiteResult::Assumed(assumed),
    }
}
