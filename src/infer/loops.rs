//! Loops of host code: those that launch are followed a few times, those that only compute are run, others are passed over.

use std::collections::BTreeSet;

use super::host::{Flow, Frame, Host, Left};
use super::value::Val;
use crate::ir::*;

/// Launches of one loop are followed so often; of a longer loop the first few stand for it.
const MAX_TRIPS: u32 = 16;
const FIRST_TRIPS: u32 = 2;
/// Loops that only compute are run so often at most.
const MAX_COMPUTED: u32 = 128;
/// Iterations of all of them together.
const MAX_ALL_COMPUTED: u32 = 1000;

impl<'a> Host<'a> {
    pub(super) fn repeat(
        &mut self,
        frame: &Frame<'a>,
        id: LoopId,
        condition: Option<ExprId>,
        step: Option<ExprId>,
        body: &'a Block,
        tests_first: bool,
    ) -> Flow {
        if !self.matters(frame, body) {
            if !self.followed(frame, condition, step, body, tests_first) {
                self.forget(frame, id, body, step);
            }
            return Flow::Next;
        }
        let trips = self.count(frame, condition, step, tests_first);
        let cut_before = self.cut.clone();
        let most = match trips {
            Some(n) if n <= MAX_TRIPS => n,
            Some(n) => {
                self.cut = Some(format!("the loop around it runs {} times", say(n)));
                FIRST_TRIPS
            }
            None => {
                self.cut =
                    Some("the loop's end depends on values that are not known; one iteration stands for it".into());
                1
            }
        };
        let mut flow = Flow::Next;
        for n in 0..most {
            let (arms, left) = (self.arms.len(), self.left.len());
            let done = self.block(frame, body);
            self.come_back(arms, left, Left::Iteration);
            match done {
                Flow::Next | Flow::Continue => {}
                Flow::Break => break,
                other => {
                    flow = other;
                    break;
                }
            }
            if n + 1 < most
                && let Some(e) = step
            {
                self.eval(frame, e);
            }
        }
        self.cut = cut_before;
        flow
    }

    /// A loop over a range: where the elements are known, the first one stands for all.
    pub(super) fn over_range(&mut self, frame: &Frame<'a>, id: LoopId, body: &'a Block) -> Flow {
        let head = body.stmts.first().map(|s| &frame.f.stmt(*s).kind);
        let Some(StmtKind::Declare { var, init: Some(range) }) = head else {
            return self.repeat(frame, id, None, None, body, true);
        };
        let place = if self.matters(frame, body) { self.place(frame, *range) } else { None };
        let first = place.as_ref().and_then(|p| self.memory.get(&format!("{p}[0]")).cloned());
        let (Some(place), Some(first)) = (place, first) else {
            return self.repeat(frame, id, None, None, body, true);
        };
        let count = (0..).take_while(|i| self.memory.contains_key(&format!("{place}[{i}]"))).count();
        let cut_before = self.cut.clone();
        if count > 1 {
            self.cut = Some(format!("the loop around it runs over {count} values"));
        }
        let key = self.key(frame, *var);
        self.types.insert(key.clone(), frame.f.var(*var).ty.clone());
        self.bind(frame, *var, key, first);
        let (arms, left) = (self.arms.len(), self.left.len());
        let mut flow = Flow::Next;
        for s in body.stmts.iter().skip(1) {
            flow = self.stmt(frame, *s);
            if !matches!(flow, Flow::Next) {
                break;
            }
        }
        self.come_back(arms, left, Left::Iteration);
        self.cut = cut_before;
        match flow {
            Flow::Break | Flow::Continue => Flow::Next,
            other => other,
        }
    }

    /// Runs a loop that only computes, where every test of its condition has a value. Sizes that decide one are decided
    /// with it. `false` leaves everything as it was.
    fn followed(
        &mut self,
        frame: &Frame<'a>,
        condition: Option<ExprId>,
        step: Option<ExprId>,
        body: &'a Block,
        tests_first: bool,
    ) -> bool {
        let Some(condition) = condition.filter(|c| !query::has_side_effects(frame.f, *c)) else { return false };
        let (memory, symbols, steps) = (self.memory.clone(), self.symbols.clone(), self.steps);
        let mut names: BTreeSet<String> = BTreeSet::new();
        let mut first = !tests_first;
        for _ in 0..MAX_COMPUTED {
            // Loops in loops share one budget.
            self.computed += 1;
            if self.computed > MAX_ALL_COMPUTED {
                break;
            }
            if !first {
                let value = self.eval(frame, condition).as_int();
                match value.as_ref().and_then(|e| self.sampled(e)) {
                    Some(v) => {
                        names.extend(value.iter().flat_map(|e| e.names().into_iter().map(str::to_owned)));
                        if v == 0 {
                            self.decided.extend(names);
                            return true;
                        }
                    }
                    None => break,
                }
            }
            first = false;
            match self.block(frame, body) {
                Flow::Next | Flow::Continue => {}
                _ => break,
            }
            if let Some(e) = step {
                self.eval(frame, e);
            }
        }
        (self.memory, self.symbols, self.steps) = (memory, symbols, steps);
        false
    }

    /// How often a loop runs, tried on the values alone; more than a little over the limit is not counted.
    pub(super) fn count(
        &mut self,
        frame: &Frame<'a>,
        condition: Option<ExprId>,
        step: Option<ExprId>,
        tests_first: bool,
    ) -> Option<u32> {
        let (condition, step) = (condition?, step?);
        if query::has_side_effects(frame.f, condition) || !tests_first {
            return None;
        }
        let saved = self.memory.clone();
        let mut n = 0;
        let found = loop {
            let Some(e) = self.eval(frame, condition).as_int() else { break None };
            match self.sampled(&e) {
                Some(0) => break Some(n),
                Some(_) => {}
                None => break None,
            }
            if n > 2000 {
                break Some(n);
            }
            n += 1;
            self.eval(frame, step);
        };
        self.memory = saved;
        found
    }

    /// Variables that a loop which is passed over may write are not known afterwards.
    pub(super) fn forget(&mut self, frame: &Frame<'a>, _: LoopId, body: &Block, step: Option<ExprId>) {
        let f = frame.f;
        let mut written = vec![];
        let known = query::Signatures::default();
        for s in query::stmts_in(f, body) {
            for e in query::roots_of(f.stmt(s)).into_iter().flat_map(|r| f.walk(r)) {
                if let ExprKind::Assign { target, .. } | ExprKind::Increment { target, .. } = f.kind_of(e) {
                    written.extend(query::written_var(f, *target));
                }
            }
        }
        written.extend(step.into_iter().flat_map(|e| query::writes_of_expr(f, e, &known)));
        for v in written {
            let key = self.key(frame, v);
            if matches!(
                self.memory.get(&key),
                Some(Val::Int(_) | Val::Float(_) | Val::Ratio(..) | Val::Approx(_) | Val::Input(_))
            ) {
                self.memory.insert(key, Val::unknown(format!("`{}` changes in a loop", f.var(v).name)));
            }
        }
    }
}

fn say(n: u32) -> String {
    if n > 2000 { "very often".into() } else { n.to_string() }
}
