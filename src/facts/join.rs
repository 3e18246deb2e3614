//! Branches: separate paths, and where they meet.

use std::sync::Arc;

use super::because::Because;
use super::env::Env;
use super::interval::Interval;
use super::poly::Poly;
use super::range::Known;
use super::value::{Formula, IntValue, Truth, Value};
use super::walk::{Snapshot, Walker, add_because, same};
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

    pub(super) fn switch(&mut self, value: ExprId, body: &Block, span: Span) {
        let v = self.eval(value);
        let uniform = self.is_uniform(&v);
        let writes = self.scope.writes(&[], &[body]);
        let start = self.snapshot();
        self.conditions.push((span, None));
        if !uniform && self.divergent.is_none() {
            self.divergent = Some((span, "threads of one block may take different cases"));
        }
        for s in &body.stmts {
            // Control may enter at any label.
            self.known = start.known.clone();
            self.havoc_writes(&writes);
            self.dead = false;
            self.stmt(*s);
        }
        self.conditions.pop();
        self.restore(&start, false);
        self.havoc_writes(&writes);
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
