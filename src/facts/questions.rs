//! Questions about single accesses and loops: addresses, strides, alignment, trip counts, conditions, uniformity.

use super::atom::Atom;
use super::because::{Because, Fact};
use super::poly::{Poly, function};
use super::range::Known;
use super::state::{AccessState, Divergence, EventKind, LoopState};
use super::value::{Formula, PointerValue};
use super::{Facts, walk};
use crate::ir::*;
use crate::source::Span;

/// Why something is not known, where, and what would mend it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    pub reason: String,
    pub at: Vec<(Span, String)>,
    pub next: Option<String>,
}

impl Missing {
    pub fn new(reason: impl Into<String>) -> Missing {
        Missing { reason: reason.into(), at: vec![], next: None }
    }

    pub fn at(mut self, span: Span, text: impl Into<String>) -> Missing {
        self.at.push((span, text.into()));
        self
    }

    pub fn next(mut self, text: impl Into<String>) -> Missing {
        self.next = Some(text.into());
        self
    }
}

/// The number of iterations of a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trip {
    /// `count` is the number itself where it is known not to be negative; otherwise the number is `max(count, 0)`.
    pub count: Poly,
    pub clamped: bool,
}

impl<'a> Facts<'a> {
    /// What keeps anything from being said, if anything does.
    pub fn usable(&self) -> Result<(), Missing> {
        match &self.walked.taint {
            None => Ok(()),
            Some((span, why)) => {
                let m = Missing::new(why.clone());
                Err(span.iter().fold(m, |m, s| m.at(*s, "here")))
            }
        }
    }

    pub fn access(&self, id: AccessId) -> Result<(&'a Access, &AccessState), Missing> {
        self.usable()?;
        let surface = self.function.accesses.get(id.0 as usize).ok_or_else(|| Missing::new("no such access"))?;
        let span = self.function.expr(surface.expr).span;
        match self.walked.accesses.get(&id) {
            Some(state) => Ok((surface, state)),
            None => Err(Missing::new("this access is not reached by the analysis").at(span, "this access")),
        }
    }

    pub fn pointer(&self, id: AccessId) -> Result<(&'a Access, &AccessState, &PointerValue), Missing> {
        let (surface, state) = self.access(id)?;
        match &state.pointer {
            Some(p) => Ok((surface, state, p)),
            None => {
                let span = self.function.expr(surface.expr).span;
                let m = Missing::new("the address of this access is not known").at(span, "this access");
                Err(m.next("index a pointer parameter or an array directly, by integers that are computed in view"))
            }
        }
    }

    /// The variables that the loop may write, calls by reference included.
    pub fn written_in(&self, id: LoopId) -> Result<&std::collections::BTreeSet<VarId>, Missing> {
        let names = self.macros.names().ok_or_else(|| Missing::new("the file was read by itself"))?;
        let written = self.notes.written_in(self.function, id, &names.signatures);
        written.ok_or_else(|| Missing::new("no such loop"))
    }

    pub fn loop_state(&self, id: LoopId) -> Result<&LoopState, Missing> {
        self.usable()?;
        self.walked.loops.get(&id).ok_or_else(|| {
            let m = Missing::new("this loop is not of a form that is modelled");
            match self.function.loops.get(id.0 as usize) {
                Some(l) => m.at(l.header_span, "this loop"),
                None => m,
            }
        })
    }

    /// Bytes by which the address grows from one iteration of `k` to the next.
    pub fn stride_bytes(&self, id: AccessId, k: LoopId) -> Result<Fact<Poly>, Missing> {
        let (surface, state, pointer) = self.pointer(id)?;
        let span = self.function.expr(surface.expr).span;
        let lp = self.loop_state(k)?;
        if !state.place.loops.contains(&k) {
            return Err(Missing::new("the access is not in this loop").at(span, "this access"));
        }
        if let Some(atom) = pointer.offset.atoms().iter().find(|a| lp.born.contains(a)) {
            let text = format!("depends on {}", self.name(atom));
            let m = Missing::new("the address changes in the loop in a way that is not modelled").at(span, text);
            return Err(m.next("step the index by the same amount in every iteration"));
        }
        match pointer.offset.coefficient(&Atom::Iter(k)) {
            Some(c) if !c.mentions(&Atom::Iter(k)) => Ok(Fact::new(c, pointer.because.clone().and(&lp.because))),
            _ => Err(Missing::new("the address is not linear in the loop").at(span, "this access")),
        }
    }

    /// Elements by which the address grows from one iteration of `k` to the next.
    pub fn stride(&self, id: AccessId, k: LoopId) -> Result<Fact<Poly>, Missing> {
        let bytes = self.stride_bytes(id, k)?;
        let (surface, state) = self.access(id)?;
        let span = self.function.expr(surface.expr).span;
        let elements = match (&surface.ty, state.bytes) {
            (_, Some(w)) => bytes.value.exact_div(i128::from(w)),
            (Type::Param(t), None) => bytes.value.exact_div_atom(&Atom::Name(format!("sizeof({t})").into())),
            _ => None,
        };
        match elements {
            Some(e) => Ok(Fact::new(e, bytes.because)),
            None => {
                Err(Missing::new("the step is not a whole number of elements of known size").at(span, "this access"))
            }
        }
    }

    /// The byte address: where `first` names loops, at their first iteration. With it comes what is known there.
    pub fn address(&self, id: AccessId, first: &[LoopId]) -> Result<(PointerValue, Known), Missing> {
        let (surface, state, pointer) = self.pointer(id)?;
        let span = self.function.expr(surface.expr).span;
        let mut at = pointer.clone();
        let mut known = (*state.place.known).clone();
        for k in first {
            let lp = self.loop_state(*k)?;
            if !state.place.loops.contains(k) {
                return Err(Missing::new("the access is not in this loop").at(span, "this access"));
            }
            if lp.born.stand_in(&at.offset) {
                let m = Missing::new("the address in the first iteration is not known").at(span, "this access");
                return Err(m.next("step the index by the same amount in every iteration"));
            }
            let zero = Poly::zero();
            at.offset = at.offset.substitute(&Atom::Iter(*k), &zero).ok_or_else(|| Missing::new("too large"))?;
            at.because.join(&lp.because);
            // What holds inside a later iteration does not hold of the first address.
            known = (*lp.before.known).clone();
        }
        self.natural_alignment(&mut known);
        Ok((at, known))
    }

    /// What the declared types say of the addresses of roots.
    fn natural_alignment(&self, known: &mut Known) {
        for (i, var) in self.function.vars.iter().enumerate() {
            let own = match (&var.ty, var.kind) {
                (Type::Pointer(p), VarKind::Param) => p.ty.bytes(),
                (t @ Type::Array { .. }, VarKind::Shared | VarKind::Local) => t.innermost().bytes(),
                _ => None,
            };
            let declared = if matches!(var.ty, Type::Array { .. }) { var.alignment } else { None };
            let bytes = own.unwrap_or(1).max(declared.unwrap_or(1));
            if bytes > 1 && bytes & (bytes - 1) == 0 {
                let because = Because::at(var.span, format!("`{}` starts at a multiple of {bytes} bytes", var.name));
                let address = Poly::atom(Atom::Address(VarId(i as u32)));
                known.assume_congruent(address, i128::from(bytes), 0, because);
            }
        }
    }

    /// Whether a byte address is a multiple of `bytes`; `None` where neither is known.
    pub fn aligned(&self, at: &PointerValue, known: &Known, bytes: i128) -> Option<(bool, Because)> {
        if bytes <= 0 || bytes & (bytes - 1) != 0 || bytes > 1 << 20 {
            return None;
        }
        let full = Poly::atom(Atom::Address(at.root)).add(&at.offset)?;
        if let Some((r, why)) = known.residue(bytes, &full) {
            return Some((r == 0, why.and(&at.because)));
        }
        known.failed_division(bytes, &full).map(|why| (false, why.and(&at.because)))
    }

    /// How often the loop runs.
    pub fn trip(&self, k: LoopId) -> Result<Fact<Trip>, Missing> {
        let find = || self.find_trip(k);
        self.trips.get(k.0 as usize).map_or_else(find, |known| known.get_or_init(find).clone())
    }

    fn find_trip(&self, k: LoopId) -> Result<Fact<Trip>, Missing> {
        let lp = self.loop_state(k)?;
        let header = self.function.loops.get(k.0 as usize).map(|l| l.header_span);
        let fail = |why: &str| {
            let m = Missing::new(why);
            Err(header.iter().fold(m, |m, s| m.at(*s, "this loop")))
        };
        let kind = self.function.loops.get(k.0 as usize).map(|l| l.kind);
        if matches!(kind, Some(LoopKind::DoWhile | LoopKind::Opaque) | None) {
            return fail("only for and while loops have a number of iterations that is known beforehand");
        }
        if let Some((span, what)) = lp.exits.iter().find(|(_, w)| *w != "continue") {
            return Err(Missing::new(format!("the loop may be left early by {what}")).at(*span, "here"));
        }
        if self.events_in(lp).any(|e| matches!(e.kind, EventKind::Anything | EventKind::Exit)) {
            return fail("something in the loop may leave it");
        }
        let Some(truth) = &lp.condition else { return fail("the loop has no condition") };
        let Formula::NonNeg(p) = &truth.formula else {
            return fail("the condition is not a comparison of integers that is modelled");
        };
        let iter = Atom::Iter(k);
        if lp.born.stand_in(p) {
            return fail("the bound or the counter changes in the loop in a way that is not modelled");
        }
        let Some(step) = p.coefficient(&iter).and_then(|c| c.neg()) else { return fail("the counter is not linear") };
        let start = p.substitute(&iter, &Poly::zero());
        let because = truth.because.clone().and(&lp.because);
        // start - step * i >= 0 holds for i <= start / step.
        let known = &lp.before.known;
        let (count, more) = match (start, step.as_constant()) {
            (Some(a), Some(c)) if c > 0 => (a.offset(c).and_then(|p| p.div_floor(c)), Because::nothing()),
            (Some(a), None) => match known.prove_positive(&step) {
                // floor(a / step) + 1 for a >= 0, by truncating division; for a < 0 the loop does not run.
                Some(why) if known.prove_nonneg(&a).is_some() => {
                    let count = function("quot", vec![a.clone(), step.clone()]).and_then(|q| q.offset(1));
                    (count, why.and(&known.prove_nonneg(&a).unwrap_or_default()))
                }
                _ => return fail("the step is not known to be positive, or the loop may not run at all"),
            },
            _ => return fail("the counter does not move towards the bound"),
        };
        let Some(count) = count else { return fail("the count is too large an expression") };
        let (clamped, why) = match known.prove_nonneg(&count) {
            Some(w) => (false, w),
            None => (true, Because::nothing()),
        };
        Ok(Fact::new(Trip { count, clamped }, because.and(&more).and(&why)))
    }

    /// Events of condition, body and step.
    pub fn events_in(&self, lp: &LoopState) -> impl Iterator<Item = &super::state::Event> {
        let (from, to) = lp.events;
        self.walked.events.iter().filter(move |e| e.seq > from && e.seq <= to)
    }

    /// The condition inside the loop, other than its own, under which `id` runs; `Ok(None)` where it runs in each
    /// iteration.
    pub fn condition_in(&self, id: AccessId, k: LoopId) -> Result<Option<Span>, Missing> {
        let (surface, state) = self.access(id)?;
        let lp = self.loop_state(k)?;
        let span = self.function.expr(surface.expr).span;
        if state.place.loops.last() != Some(&k) || surface.in_header {
            return Ok(Some(span));
        }
        let is_do = self.function.loops.get(k.0 as usize).is_some_and(|l| l.kind == LoopKind::DoWhile);
        let own = usize::from(lp.condition.is_some() && !is_do);
        Ok(state.place.conditions.get(lp.before.conditions.len() + own..).and_then(|c| c.first()).map(|(s, _)| *s))
    }

    /// Why not all threads of a block come to `place` together; `Ok` where they do.
    pub fn together(&self, divergent: &Option<Divergence>) -> Result<Because, Missing> {
        self.usable()?;
        match divergent {
            None => Ok(Because::nothing()),
            Some((span, why)) => Err(Missing::new("threads of one block may not all come here together")
                .at(*span, *why)
                .next("make the condition the same for the whole block, or move the exit below")),
        }
    }

    /// Whether the variable keeps its entry value in the whole function.
    pub fn never_assigned(&self, v: VarId) -> bool {
        let Facts { program, unit, function, macros, .. } = *self;
        self.notes.is_never_assigned(&super::effects::Scope { program, unit, function, macros }, v)
    }

    /// A name for an atom that a reader of the source understands.
    pub fn name(&self, atom: &Atom) -> String {
        let var = |v: &VarId| self.function.vars.get(v.0 as usize).map_or("?".to_owned(), |v| v.name.clone());
        match atom {
            Atom::Thread(a) => format!("threadIdx.{}", a.name()),
            Atom::Block(a) => format!("blockIdx.{}", a.name()),
            Atom::BlockDim(a) => format!("blockDim.{}", a.name()),
            Atom::GridDim(a) => format!("gridDim.{}", a.name()),
            Atom::Iter(l) => match self.function.loops.get(l.0 as usize).and_then(|l| l.induction) {
                Some(i) => format!("iteration of `{}`", var(&i.var)),
                None => "iteration".to_owned(),
            },
            Atom::Param(v) | Atom::Version(v, ..) => var(v),
            Atom::Name(n) => n.to_string(),
            Atom::Address(v) => format!("&{}", var(v)),
            Atom::Div(q) => format!("({})/{}", self.render(&q.inner), q.divisor),
            Atom::Fun(call) => {
                let args: Vec<String> = call.args.iter().map(|a| self.render(a)).collect();
                format!("{}({})", call.name, args.join(", "))
            }
            Atom::Opaque(..) => "a value that is not modelled".to_owned(),
        }
    }

    pub fn render(&self, poly: &Poly) -> String {
        poly.render(&|a| self.name(a))
    }

    /// Whether all threads of a block have the same value.
    pub fn is_block_uniform(&self, poly: &Poly) -> bool {
        self.walked.is_uniform(poly)
    }

    pub fn scalar(&self, ty: &Type) -> Option<Scalar> {
        match ty {
            Type::Param(t) => self.context.scalars.get(t).copied(),
            t => walk::scalar_of(t),
        }
    }
}
