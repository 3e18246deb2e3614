//! Branches: separate paths, and where they meet.

use std::sync::Arc;

use super::because::Because;
use super::env::Env;
use super::interval::Interval;
use super::poly::Poly;
use super::range::Known;
use super::value::{Formula, IntValue, Truth, Value, promote, type_range};
use super::walk::{MAX_DEPTH, Snapshot, Walker, add_because, same};
use crate::ir::*;
use crate::source::Span;

impl<'a> Walker<'a> {
    pub(super) fn branch(&mut self, condition: ExprId, then: &Block, otherwise: Option<&Block>) {
        let truth = self.truth(condition);
        let span = self.f.expr(condition).span;
        let start = self.snapshot();
        self.conditions.push((span, Some(condition)));
        if !truth.uniform && self.divergent.is_none() {
            self.divergent = Some((span, "threads of one block may differ on this condition"));
        }
        self.assume(&truth, false, span);
        self.block(then);
        let first = self.snapshot();
        self.restore(&start, false);
        self.assume(&truth, true, span);
        if let Some(b) = otherwise {
            self.block(b);
        }
        let second = self.snapshot();
        self.conditions.pop();
        self.divergent = start.divergent;
        self.join(&start, &[first, second], truth.uniform);
    }

    pub(super) fn assume(&mut self, truth: &Truth, negated: bool, span: Span) {
        let formula = if negated { truth.formula.negate() } else { truth.formula.clone() };
        let text = if negated { "this condition is false here" } else { "this condition is true here" };
        let because = truth.because.clone().and(&Because::at(span, text));
        formula.assume(Arc::make_mut(&mut self.known), &because);
    }

    pub(super) fn arms(&mut self, arms: &[(Span, Block)], span: Span) {
        let start = self.snapshot();
        let mut ends = vec![];
        for (_, block) in arms {
            self.restore(&start, false);
            self.conditions.push((span, None));
            self.block(block);
            self.conditions.pop();
            ends.push(self.snapshot());
        }
        // Without an `#else` no arm may be compiled.
        ends.push(start.clone());
        self.join(&start, &ends, true);
    }

    /// Each label begins a stretch: where nothing falls into it, control comes from the head alone, with one of the values
    /// of its labels. Where something may, the values of the stretches before are possible, too, and whatever they write.
    pub(super) fn switch(&mut self, value: ExprId, labels: &[Label], body: &Block, span: Span) {
        let v = self.eval(value);
        let uniform = self.is_uniform(&v);
        let writes = self.scope.writes(&[], &[body]);
        let start = self.snapshot();
        self.conditions.push((span, None));
        if !uniform && self.divergent.is_none() {
            self.divergent = Some((span, "threads of one block may take different cases"));
        }
        // A `break` under a condition leaves the rest of the body to other threads.
        if self.divergent.is_none() && body.stmts.iter().any(|s| self.breaks_inside(*s, 0)) {
            self.divergent = Some((span, "threads of one block may leave this `switch` at different places"));
        }
        let divergent = self.divergent;
        let conditions: Vec<Option<Truth>> = labels.iter().map(|l| self.label(&v, l, labels)).collect();
        let mut entered: Vec<Option<Truth>> = vec![];
        self.dead = true;
        for (i, s) in body.stmts.iter().enumerate() {
            let here =
                || labels.iter().zip(&conditions).filter(|(l, _)| l.before as usize == i).map(|(_, c)| c.clone());
            if here().next().is_some() {
                let falls = !self.dead;
                self.restore(&start, false);
                self.divergent = divergent;
                if falls {
                    self.havoc_writes(&writes);
                } else {
                    entered.clear();
                }
                entered.extend(here());
                self.came_from(&entered);
            }
            self.stmt(*s);
        }
        self.conditions.pop();
        self.restore(&start, false);
        self.havoc_writes(&writes);
    }

    /// Whether a `break` of a switch stands inside a statement of its body.
    fn breaks_inside(&self, s: StmtId, depth: u32) -> bool {
        let own = |b: &Block| {
            b.stmts.iter().any(|s| matches!(self.f.stmt(*s).kind, StmtKind::Break) || self.breaks_inside(*s, depth + 1))
        };
        match &self.f.stmt(s).kind {
            _ if depth >= MAX_DEPTH => true,
            StmtKind::If { then, otherwise, .. } => own(then) || otherwise.as_ref().is_some_and(own),
            StmtKind::Preprocessor { arms } => arms.iter().any(|(_, b)| own(b)),
            // A block that ends with it is the rule, and leaves nothing behind it.
            StmtKind::Block(b) => {
                let rest = b.stmts.len().saturating_sub(1);
                b.stmts.iter().take(rest).any(|s| matches!(self.f.stmt(*s).kind, StmtKind::Break))
                    || b.stmts.iter().any(|s| self.breaks_inside(*s, depth + 1))
            }
            _ => false,
        }
    }

    /// What holds where a label is jumped to; `None` where nothing is known of it.
    fn label(&mut self, value: &Value, label: &Label, all: &[Label]) -> Option<Truth> {
        let Value::Int(v) = value else { return None };
        if v.modular {
            return None;
        }
        let equal = |walker: &mut Self, e: ExprId| -> Option<(Formula, Because)> {
            let Value::Int(c) = walker.requiet(e) else { return None };
            let number = c.poly.as_constant()?;
            // A constant is converted to the promoted type of the value; only those that it holds are taken.
            if !Interval::point(number).within(type_range(promote(v.ty))) {
                return None;
            }
            Some((Formula::Zero(v.poly.offset(number.checked_neg()?)?), c.because))
        };
        let mut because = v.because.clone();
        let formula = match label.value {
            Some(e) => {
                let (formula, why) = equal(self, e)?;
                because = because.and(&why).and(&Because::at(self.f.expr(e).span, "the case that was taken"));
                formula
            }
            None => {
                let mut parts = vec![];
                for e in all.iter().filter_map(|l| l.value) {
                    if let Some((formula, why)) = equal(self, e) {
                        because = because.and(&why);
                        parts.push(formula.negate());
                    }
                }
                Formula::And(parts)
            }
        };
        Some(Truth { formula, uniform: true, because })
    }

    /// States that one of the labels was jumped to.
    fn came_from(&mut self, labels: &[Option<Truth>]) {
        let all: Option<Vec<&Truth>> = labels.iter().map(Option::as_ref).collect();
        let Some(all) = all else { return };
        let because = all.iter().fold(Because::nothing(), |sum, t| sum.and(&t.because));
        let formula = match all.as_slice() {
            [one] => one.formula.clone(),
            several => Formula::Or(several.iter().map(|t| t.formula.clone()).collect()),
        };
        let known = Arc::make_mut(&mut self.known);
        formula.assume(known, &because);
        if let Formula::Or(parts) = &formula {
            between(parts).into_iter().flatten().for_each(|f| f.assume(known, &because));
        }
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot { env: self.env.clone(), known: self.known.clone(), dead: self.dead, divergent: self.divergent }
    }

    pub(super) fn restore(&mut self, s: &Snapshot, keep_divergence: bool) {
        self.env = s.env.clone();
        self.known = s.known.clone();
        self.dead = s.dead;
        if keep_divergence {
            self.divergent = s.divergent;
        }
    }

    /// Goes on from where `ends` meet.
    pub(super) fn join(&mut self, start: &Snapshot, ends: &[Snapshot], uniform: bool) {
        let live: Vec<&Snapshot> = ends.iter().filter(|e| !e.dead).collect();
        match live.as_slice() {
            [] => {
                self.restore(start, false);
                self.dead = true;
            }
            [one] => {
                self.env = one.env.clone();
                self.known = one.known.clone();
                self.dead = false;
            }
            [first, rest @ ..] => {
                self.known = start.known.clone();
                self.dead = start.dead;
                if rest.iter().all(|e| e.env.is_shared_with(&first.env)) {
                    self.env = first.env.clone();
                    return;
                }
                let mut env = Env::default();
                for v in first.env.vars() {
                    let Some(value) = first.env.get(&v) else { continue };
                    let shared = rest.iter().all(|e| e.env.shares(&first.env, &v));
                    if shared && same(value, value) {
                        env.take(&first.env, &v);
                    } else if rest.iter().all(|e| e.env.get(&v).is_some_and(|o| same(value, o))) {
                        let mut value = value.clone();
                        for e in rest {
                            if let Some(o) = e.env.get(&v) {
                                add_because(&mut value, &o.because());
                            }
                        }
                        env.insert(v, value);
                    } else if rest.iter().all(|e| e.env.contains_key(&v)) {
                        let joined = self.join_values(v, &live, uniform);
                        env.insert(v, joined);
                    }
                }
                self.env = env;
            }
        }
    }

    pub(super) fn join_values(&mut self, var: VarId, live: &[&Snapshot], uniform: bool) -> Value {
        let values: Vec<(&Value, &Arc<Known>)> =
            live.iter().filter_map(|e| Some((e.env.get(&var)?, &e.known))).collect();
        let uniform = uniform && values.iter().all(|(v, _)| self.is_uniform(v));
        let mut because = Because::nothing();
        values.iter().for_each(|(v, _)| because.join(&v.because()));
        let ints: Option<Vec<(&IntValue, &Arc<Known>)>> =
            values.iter().map(|(v, k)| if let Value::Int(i) = v { Some((i, *k)) } else { None }).collect();
        if let Some(ints) = ints
            && let Some((first, _)) = ints.first()
            && ints.iter().all(|(i, _)| i.ty == first.ty)
        {
            let ty = first.ty;
            let mut hull: Option<Interval> = None;
            for (i, known) in &ints {
                let (r, why) = if i.modular { (Interval::ALL, Because::nothing()) } else { known.range(&i.poly) };
                because.join(&why);
                hull = Some(hull.map_or(r, |h| Interval {
                    lo: h.lo.zip(r.lo).map(|(a, b)| a.min(b)),
                    hi: h.hi.zip(r.hi).map(|(a, b)| a.max(b)),
                }));
            }
            let atom = self.version(var, ty, uniform);
            Arc::make_mut(&mut self.known).bound(atom.clone(), hull.unwrap_or_default(), because.clone());
            return Value::Int(IntValue { poly: Poly::atom(atom), ty, modular: false, because });
        }
        if values.iter().all(|(v, _)| matches!(v, Value::Truth(_))) {
            return Value::Truth(Truth { formula: Formula::Unknown, uniform, because });
        }
        Value::Other
    }
}

/// The ends of what several equalities of one value with numbers leave to it.
fn between(equalities: &[Formula]) -> Option<[Formula; 2]> {
    let polys: Option<Vec<&Poly>> =
        equalities.iter().map(|f| if let Formula::Zero(p) = f { Some(p) } else { None }).collect();
    let polys = polys?;
    // `value - number`: all differ by a number alone.
    let first = *polys.first()?;
    let away = |p: &&Poly| p.sub(first)?.as_constant();
    let distances: Option<Vec<i128>> = polys.iter().map(away).collect();
    let (least, most) = (*distances.as_ref()?.iter().min()?, *distances.as_ref()?.iter().max()?);
    // p + d is zero for one d of the distances, so that -most <= p <= -least.
    let above = first.offset(most)?;
    let below = first.offset(least)?.neg()?;
    Some([Formula::NonNeg(above), Formula::NonNeg(below)])
}
