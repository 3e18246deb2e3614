//! Judges the conditions of a skill at a site: every condition is evaluated before anything is said.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::eval::{About, Asking, Evaluator, has_tail};
use super::guard::exclude_each_other;
use super::site::{Bound, Proof};
use crate::facts::Because;
use crate::ir::Anchor;
use crate::predicate::{Answer, GuardCode, Value, Witness};
use crate::skill::ast::{Condition, Expr, ExprKind, GroupKind, GuardPolicy, Skill};
use crate::source::{Revision, Span};

/// The [`Judged::index`] of a `let` that could not be evaluated.
pub const LET: usize = usize::MAX;

/// What became of one condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// True, resting on the language and the launches seen.
    Proved,
    /// True under these assumptions of the contract.
    Assumed(BTreeSet<String>),
    /// Not known before the launch, tested by the guard. `code` is empty for a tail.
    Guarded {
        policy: GuardPolicy,
        code: Option<GuardCode>,
    },
    Violated(Witness),
    Unknown {
        reason: String,
        at: Vec<(Span, String)>,
        next: Option<String>,
    },
}

impl Verdict {
    pub fn holds(&self) -> bool {
        !matches!(self, Verdict::Violated(_) | Verdict::Unknown { .. })
    }

    pub fn word(&self) -> &'static str {
        match self {
            Verdict::Proved => "proved",
            Verdict::Assumed(_) => "assumed",
            Verdict::Guarded { .. } => "guarded",
            Verdict::Violated(_) => "violated",
            Verdict::Unknown { .. } => "unknown",
        }
    }
}

/// One condition at one site, or for one member of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    pub group: GroupKind,
    /// Position among all conditions of the skill, in the order of the file.
    pub index: usize,
    /// The condition as the skill file writes it.
    pub text: Arc<str>,
    /// Why the rewrite would be wrong otherwise.
    pub reason: Arc<str>,
    pub member: Option<Anchor>,
    pub verdict: Verdict,
    pub because: Because,
}

impl Judged {
    pub fn guard(&self) -> Option<GuardPolicy> {
        match &self.verdict {
            Verdict::Guarded { policy, .. } => Some(*policy),
            _ => None,
        }
    }
}

/// Whether a rewrite is expected to pay; `Expected` lists the effects that the skill names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payoff {
    Expected(Vec<String>),
    NotExpected(String),
    Unknown(String),
}

/// The outcome of judging a candidate.
pub enum Judgement {
    Sound {
        proof: Proof,
        bindings: BTreeMap<String, Bound>,
        values: BTreeMap<String, Value>,
        excluded: Vec<Judged>,
    },
    /// Every condition that failed, and those that hold; for groups, of every member.
    Refused {
        failed: Vec<Judged>,
        held: Vec<Judged>,
    },
}

/// Judges all `require` conditions with `bindings` as candidates. A group binding keeps the members for which every
/// condition holds and whose `let` values equal those of the first such member.
pub fn judge(skill: &Skill, eval: &Evaluator, bindings: &BTreeMap<String, Bound>, revision: Revision) -> Judgement {
    let group = bindings.iter().find_map(|(name, b)| match b {
        Bound::Each(_) => Some(name.clone()),
        Bound::One(_) => None,
    });
    let Some(name) = group else {
        let asking = eval.about(About { skill, bindings, member: None });
        let mut judged = undetermined(&asking);
        judged.extend(conditions(&asking, &|_| true));
        return conclude(judged, bindings.clone(), asking.values(), vec![], revision);
    };
    let dependent = names_that_depend_on(skill, &name);
    let common = conditions(&eval.about(About { skill, bindings, member: None }), &|c| !mentions(&c.test, &dependent));
    let mut bound = bindings.clone();
    let mut tried = vec![];
    // A condition may speak of the whole group, so members are judged again until none falls out any more.
    let round = loop {
        let round = members_of(skill, eval, &bound, &name, &dependent);
        let before = bound.get(&name).map_or(0, |b| b.anchors().len());
        tried.extend(round.failed.iter().cloned());
        bound.insert(name.clone(), Bound::Each(round.kept.clone()));
        if round.kept.len() == before || round.kept.is_empty() {
            break round;
        }
    };
    if round.kept.is_empty() {
        let (held, failed) = common.into_iter().chain(tried).partition(|j| j.verdict.holds());
        return Judgement::Refused { failed, held };
    }
    let excluded = tried.into_iter().filter(|j| !j.verdict.holds()).collect();
    let mut all = common;
    all.extend(round.judged);
    all.sort_by_key(|j| (j.index, j.member));
    conclude(all, bound, round.values, excluded, revision)
}

/// A member whose run-time test can never hold together with that of an earlier member, such as `x[i + 1]` beside `x[i]`.
fn contradiction(kept: &[Judged], own: &[Judged], member: Anchor) -> Option<Judged> {
    let code = |j: &Judged| match &j.verdict {
        Verdict::Guarded { code: Some(code), .. } => Some(code.text.clone()),
        _ => None,
    };
    own.iter().find_map(|j| {
        let text = code(j)?;
        let other = kept.iter().find(|k| code(k).is_some_and(|t| exclude_each_other(&t, &text)))?;
        let at = other.member.map(|m| (m.span, "this one is aligned instead".to_owned()));
        let text = format!("`{text}` never holds together with the test of another member");
        let verdict = Verdict::Violated(Witness { text, at: at.into_iter().collect() });
        Some(Judged { verdict, member: Some(member), because: Because::nothing(), ..j.clone() })
    })
}

/// One pass over the members of a group.
struct Round {
    kept: Vec<Anchor>,
    judged: Vec<Judged>,
    values: BTreeMap<String, Value>,
    /// All conditions of the members that fall out.
    failed: Vec<Judged>,
}

fn members_of(
    skill: &Skill,
    eval: &Evaluator,
    bindings: &BTreeMap<String, Bound>,
    name: &str,
    dependent: &BTreeSet<String>,
) -> Round {
    let mut round = Round { kept: vec![], judged: vec![], values: BTreeMap::new(), failed: vec![] };
    for &member in bindings.get(name).map_or(&[][..], |b| b.anchors()) {
        let asking = eval.about(About { skill, bindings, member: Some((name, member)) });
        let mut own = undetermined(&asking);
        own.extend(conditions(&asking, &|c| mentions(&c.test, dependent)));
        own.extend(contradiction(&round.judged, &own, member));
        let found = asking.values();
        let same = round.kept.is_empty() || same_values(&round.values, &found);
        if own.iter().all(|j| j.verdict.holds()) && same {
            round.kept.push(member);
            round.judged.extend(own);
            round.values = found;
        } else {
            round.failed.extend(own);
        }
    }
    round
}

/// Judges the conditions that a remainder loop serves once more, with what the run-time tests establish: one that then
/// holds needs no remainder and hangs on the tests instead.
pub fn settle_tails(skill: &Skill, tested: &Evaluator, bindings: &BTreeMap<String, Bound>, mut proof: Proof) -> Proof {
    let group = bindings.iter().find(|(_, b)| matches!(b, Bound::Each(_))).map(|(name, _)| name.as_str());
    let policy = proof.judged.iter().find_map(|j| j.guard().filter(|g| *g != GuardPolicy::Tail));
    let all: Vec<&Condition> = skill.require.iter().flat_map(|g| &g.conditions).collect();
    for judged in proof.judged.iter_mut().filter(|j| j.guard() == Some(GuardPolicy::Tail)) {
        let about = About { skill, bindings, member: group.zip(judged.member) };
        let holds = all.get(judged.index).is_some_and(|c| tested.about(about).ask(&c.test).is_true());
        if let (true, Some(policy)) = (holds, policy) {
            judged.verdict = Verdict::Guarded { policy, code: None };
        }
    }
    proof
}

/// Takes every condition for granted: the rewrite that a necessity test runs to see it fail. Nothing that is written for
/// a user comes from here.
pub fn force(skill: &Skill, eval: &Evaluator, bindings: &BTreeMap<String, Bound>, revision: Revision) -> Judgement {
    let group = bindings.iter().find_map(|(name, b)| match b {
        Bound::Each(members) => members.first().map(|m| (name.as_str(), *m)),
        Bound::One(_) => None,
    });
    let asking = eval.about(About { skill, bindings, member: group });
    let proof = Proof { revision, judged: conditions(&asking, &serves_a_tail) };
    Judgement::Sound { proof, bindings: bindings.clone(), values: asking.values(), excluded: vec![] }
}

fn conclude(
    judged: Vec<Judged>,
    bindings: BTreeMap<String, Bound>,
    values: BTreeMap<String, Value>,
    excluded: Vec<Judged>,
    revision: Revision,
) -> Judgement {
    if judged.iter().all(|j| j.verdict.holds()) {
        Judgement::Sound { proof: Proof { revision, judged }, bindings, values, excluded }
    } else {
        let (held, failed): (Vec<Judged>, Vec<Judged>) = judged.into_iter().partition(|j| j.verdict.holds());
        Judgement::Refused { failed: failed.into_iter().chain(excluded).collect(), held }
    }
}

fn same_values(a: &BTreeMap<String, Value>, b: &BTreeMap<String, Value>) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|((n, x), (m, y))| n == m && x.same(y))
}

/// A `let` that has no one value over all launches in view: no body can use it.
fn undetermined(asking: &Asking) -> Vec<Judged> {
    let about = asking.about;
    let lets = about.skill.lets.iter().filter_map(|definition| match asking.named(&definition.name.node) {
        Answer::Unknown { reason, at, next } => Some((definition, Verdict::Unknown { reason, at, next })),
        Answer::Known { .. } => None,
    });
    let judged = |(definition, verdict): (&crate::skill::ast::Let, Verdict)| Judged {
        group: GroupKind::Datatypes,
        index: LET,
        text: format!("let {} = {}", definition.name.node, crate::skill::print::print_expr(&definition.value)).into(),
        reason: "the rewrite is written with this value, which must be the same for every launch".into(),
        member: about.member.map(|(_, anchor)| anchor),
        verdict,
        because: Because::nothing(),
    };
    lets.map(judged).collect()
}

fn conditions(asking: &Asking, wanted: &dyn Fn(&Condition) -> bool) -> Vec<Judged> {
    let about = asking.about;
    let all = about.skill.require.iter().flat_map(|g| g.conditions.iter().map(|c| (g.kind.node, c)));
    all.enumerate()
        .filter(|(_, (_, c))| wanted(c))
        .map(|(index, (group, c))| {
            let (verdict, because) = verdict(asking, c);
            Judged {
                group,
                index,
                text: c.text(),
                reason: c.reason(),
                member: about.member.map(|(_, anchor)| anchor),
                verdict,
                because,
            }
        })
        .collect()
}

fn verdict(asking: &Asking, condition: &Condition) -> (Verdict, Because) {
    match asking.ask(&condition.test) {
        Answer::Known { value: Value::Bool(true), because, .. } => {
            let ids: BTreeSet<String> = because.contract_assumptions().into_iter().map(str::to_owned).collect();
            (if ids.is_empty() { Verdict::Proved } else { Verdict::Assumed(ids) }, because)
        }
        // A remainder loop serves a count that does not divide as well as one that is not known.
        Answer::Known { value: Value::Bool(false), because, .. } if serves_a_tail(condition) => {
            (Verdict::Guarded { policy: GuardPolicy::Tail, code: None }, because)
        }
        Answer::Known { value: Value::Bool(false), because, witness } => {
            let witness = witness.unwrap_or_else(|| Witness { text: "it is false here".into(), at: vec![] });
            (Verdict::Violated(witness), because)
        }
        Answer::Known { because, .. } => {
            (Verdict::Unknown { reason: "the condition is no truth value".into(), at: vec![], next: None }, because)
        }
        Answer::Unknown { reason, at, next } => guarded(asking, condition, reason, at, next),
    }
}

fn serves_a_tail(condition: &Condition) -> bool {
    condition.guard.as_ref().is_some_and(|g| g.node == GuardPolicy::Tail) && has_tail(&condition.test)
}

/// An unknown condition whose clause names a guard holds behind that guard, where it can be written.
fn guarded(
    asking: &Asking,
    condition: &Condition,
    reason: String,
    at: Vec<(Span, String)>,
    next: Option<String>,
) -> (Verdict, Because) {
    let unknown =
        |reason: String| (Verdict::Unknown { reason, at: at.clone(), next: next.clone() }, Because::nothing());
    match condition.guard.as_ref().map(|g| g.node) {
        None | Some(GuardPolicy::Contract) => unknown(reason),
        Some(GuardPolicy::Tail) if serves_a_tail(condition) => {
            (Verdict::Guarded { policy: GuardPolicy::Tail, code: None }, Because::nothing())
        }
        Some(GuardPolicy::Tail) => unknown(reason),
        Some(policy) => match asking.guard(&condition.test) {
            Ok(code) => (Verdict::Guarded { policy, code: Some(code) }, Because::nothing()),
            Err(why) => unknown(format!("{reason}; no guard can test it: {why}")),
        },
    }
}

/// `name` and every `let` whose value mentions it.
fn names_that_depend_on(skill: &Skill, name: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::from([name.to_owned()]);
    for definition in &skill.lets {
        if mentions(&definition.value, &found) {
            found.insert(definition.name.node.clone());
        }
    }
    found
}

fn mentions(expr: &Expr, names: &BTreeSet<String>) -> bool {
    match &expr.kind {
        ExprKind::Name(name) => names.contains(name),
        _ => expr.children().into_iter().any(|c| mentions(c, names)),
    }
}

/// Judges `pays when` for a sound site; of a group, a member that pays is enough.
pub fn payoff(skill: &Skill, eval: &Evaluator, bindings: &BTreeMap<String, Bound>) -> Payoff {
    let group = bindings.iter().find(|(_, b)| matches!(b, Bound::Each(_)));
    let members: Vec<Option<(&str, Anchor)>> = match group {
        Some((name, bound)) => bound.anchors().iter().map(|m| Some((name.as_str(), *m))).collect(),
        None => vec![None],
    };
    let mut best = Payoff::NotExpected("nothing says that it pays".into());
    for member in members {
        match member_payoff(&eval.about(About { skill, bindings, member })) {
            paying @ Payoff::Expected(_) => return paying,
            unknown @ Payoff::Unknown(_) => best = unknown,
            no if matches!(best, Payoff::NotExpected(_)) => best = no,
            _ => {}
        }
    }
    best
}

fn member_payoff(asking: &Asking) -> Payoff {
    let about = asking.about;
    let trends = about.skill.effects.iter().map(|e| format!("{} {}", e.metric.node, e.trend.node));
    let mut unknown = None;
    for condition in &about.skill.pays {
        let because = condition.because.as_ref().map(|b| b.node.clone()).unwrap_or_default();
        match asking.ask(&condition.test) {
            Answer::Known { value: Value::Bool(true), .. } => {}
            Answer::Known { .. } => return Payoff::NotExpected(because),
            // The last one is kept: what limits the kernel stands last, and says most.
            Answer::Unknown { reason, .. } => unknown = Some(reason),
        }
    }
    unknown.map_or_else(|| Payoff::Expected(trends.collect()), Payoff::Unknown)
}
