//! Asks the facts everything that skills could ask of one kernel under one context.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::claim::{Claim, Claims, Kind, Probe, Says};
use crate::facts::{Atom, Because, Fact, Facts, Formula, Interval, Known, Missing, Poly, Stated, Value as FactValue};
use crate::ir::*;
use crate::predicate::{Answer, Query, Value, registry};
use crate::source::Span;

/// Powers of two that alignments and remainders are asked for.
const POWERS: [i128; 7] = [128, 64, 32, 16, 8, 4, 2];

/// All claims about `at`, with those about values only for the expressions `observable`.
pub fn collect(facts: &Facts, at: FunctionRef, observable: &BTreeSet<ExprId>) -> Claims {
    let mut c = Collector { facts, at, claims: vec![], names: vec![], seen: vec![] };
    c.values(observable);
    c.accesses();
    c.loops();
    c.barriers();
    c.block();
    let roots = c.roots();
    c.aliasing(&roots);
    let tiles = c.tiles();
    let around = facts.walked.accesses.iter().map(|(a, s)| (*a, s.place.loops.clone())).collect();
    let mut found = Claims {
        context: facts.context.label.clone(),
        premises: premises(facts),
        born: vec![],
        names: c.names,
        claims: c.claims,
        roots,
        tiles,
        around,
    };
    let mut atoms = found.atoms();
    atoms.extend(found.names.iter().map(|(_, a)| a.clone()));
    let born = |l: &crate::facts::LoopState| atoms.iter().filter(|a| l.born.contains(a)).cloned().collect();
    found.born = facts.walked.loops.iter().map(|(id, l)| (*id, born(l))).collect();
    found
}

/// What distinguishes the launches of this context from others.
fn premises(facts: &Facts) -> Vec<Stated> {
    let mut found: Vec<Stated> = facts.context.known.stated().into_iter().map(|(s, _)| s).collect();
    for (name, bytes) in &facts.context.types {
        let size = Poly::atom(Atom::Name(format!("sizeof({name})").into()));
        found.extend(size.offset(-i128::from(*bytes)).map(|p| Stated::Holds(Formula::Zero(p))));
    }
    found
}

struct Collector<'a> {
    facts: &'a Facts<'a>,
    at: FunctionRef,
    claims: Vec<Claim>,
    names: Vec<(ExprId, Atom)>,
    /// What is known at places that were asked already.
    seen: Vec<Arc<Known>>,
}

impl Collector<'_> {
    fn say(&mut self, at: Probe, kind: Kind, says: Says, because: &Because, span: Span) {
        self.claims.push(Claim::new(at, kind, says, because, span));
    }

    fn values(&mut self, observable: &BTreeSet<ExprId>) {
        let facts = self.facts;
        for e in observable {
            let (Some(value), Some(place)) = (facts.walked.value(*e), facts.walked.place(*e)) else { continue };
            let span = facts.function.expr(*e).span;
            let at = || Probe::Value(*e);
            let together = facts.together(&place.divergent).ok();
            match value {
                FactValue::Int(v) => {
                    // A loop that is not modelled gives no turns: what stands for a value in one of them is another in the next.
                    let turns = place.loops.iter().filter_map(|l| facts.function.loops.get(l.0 as usize));
                    let opaque = turns.into_iter().any(|l| l.kind == LoopKind::Opaque);
                    let atom = v.poly.as_atom().filter(|_| !opaque);
                    if let Some(atom @ (Atom::Opaque(..) | Atom::Version(..))) = atom {
                        self.names.push((*e, atom.clone()));
                    }
                    let equals = Says::Equals { value: v.poly.clone(), modular: v.modular };
                    self.say(at(), Kind::Value, equals, &v.because, span);
                    let ty = Says::Type { bytes: v.ty.bytes(), unsigned: v.ty.is_unsigned() };
                    self.say(at(), Kind::Type, ty, &v.because, span);
                    if !v.modular {
                        let (range, why) = place.known.range(&v.poly);
                        if range != Interval::ALL {
                            self.say(at(), Kind::Range, Says::Within(range), &why.and(&v.because), span);
                        }
                    }
                    for modulus in POWERS {
                        if let Some((residue, why)) = place.known.residue(modulus, &v.poly) {
                            let leaves = Says::Leaves { modulus, residue };
                            self.say(at(), Kind::Divisibility, leaves, &why.and(&v.because), span);
                            break;
                        }
                    }
                    if let Some(why) = together.filter(|_| facts.is_block_uniform(&v.poly)) {
                        self.say(at(), Kind::Uniformity, Says::Uniform, &why.and(&v.because), span);
                    }
                }
                FactValue::Truth(t) => {
                    if t.formula != Formula::Unknown {
                        self.say(at(), Kind::Condition, Says::Means(t.formula.clone()), &t.because, span);
                    }
                    if let Some((v, why)) = t.formula.decide(&place.known) {
                        self.say(at(), Kind::Condition, Says::Decided(v), &why.and(&t.because), span);
                    }
                    if let Some(why) = together.filter(|_| t.uniform) {
                        self.say(at(), Kind::Uniformity, Says::Uniform, &why.and(&t.because), span);
                    }
                }
                _ => {}
            }
        }
    }

    fn known(&mut self, at: &Probe, known: &Arc<Known>, span: Span) {
        if self.seen.iter().any(|k| Arc::ptr_eq(k, known)) {
            return;
        }
        self.seen.push(known.clone());
        for (stated, because) in known.stated() {
            self.say(at.clone(), Kind::PathFact, Says::Known(stated), because, span);
        }
    }

    fn accesses(&mut self) {
        let facts = self.facts;
        for (id, state) in &facts.walked.accesses {
            let Some(surface) = facts.function.accesses.get(id.0 as usize) else { continue };
            let span = facts.function.expr(surface.expr).span;
            let at = Probe::Access(*id);
            if let Some(bytes) = state.bytes {
                self.say(at.clone(), Kind::Type, Says::Width(bytes), &Because::nothing(), span);
            }
            if let Ok(why) = facts.together(&state.place.divergent) {
                self.say(at.clone(), Kind::Reach, Says::Together, &why, span);
            }
            self.known(&at, &state.place.known, span);
            self.address(*id, state, span);
            for k in &state.place.loops {
                self.in_loop(*id, *k, span);
            }
        }
    }

    fn address(&mut self, id: AccessId, state: &crate::facts::AccessState, span: Span) {
        let facts = self.facts;
        let Some(p) = &state.pointer else { return };
        let at = || Probe::Access(id);
        let (root, offset) = (p.root, p.offset.clone());
        // Neighbours differ by the coefficient only where they agree on everything else.
        let alike = offset.all_atoms(&|a| !facts.walked.varies(a));
        if let Some(step) = offset.coefficient(&Atom::Thread(Axis::X)).filter(|_| alike) {
            self.say(at(), Kind::Stride, Says::LaneStride { step }, &p.because, span);
        }
        if !p.modular {
            let (range, why) = state.place.known.range(&offset);
            if range != Interval::ALL {
                self.say(at(), Kind::Range, Says::OffsetWithin { root, range }, &why.and(&p.because), span);
            }
        }
        self.say(at(), Kind::Address, Says::Address { root, offset }, &p.because, span);
        let single = state.place.loops.iter().map(|k| vec![*k]);
        for first in std::iter::once(vec![]).chain(single) {
            let Ok((address, known)) = facts.address(id, &first) else { continue };
            for bytes in POWERS {
                let Some((always, why)) = facts.aligned(&address, &known, bytes) else { continue };
                let says = Says::Aligned { bytes, always, first: first.clone() };
                self.say(at(), Kind::Alignment, says, &why, span);
                if always {
                    break;
                }
            }
        }
    }

    fn in_loop(&mut self, id: AccessId, of: LoopId, span: Span) {
        let at = || Probe::Access(id);
        if let Ok(Fact { value, because }) = self.facts.stride_bytes(id, of) {
            self.say(at(), Kind::Stride, Says::Stride { of, step: value }, &because, span);
        }
        let places = [Place::Access(id), Place::Loop(of)];
        if let Some(why) = self.holds("unconditional", &places) {
            self.say(at(), Kind::Reach, Says::Once { of }, &why, span);
        }
        if let Some(why) = self.holds("no_store_between", &places) {
            self.say(at(), Kind::Order, Says::Movable { of }, &why, span);
        }
    }

    fn loops(&mut self) {
        let facts = self.facts;
        for (id, state) in &facts.walked.loops {
            let Some(span) = facts.function.loops.get(id.0 as usize).map(|l| l.header_span) else { continue };
            let at = Probe::Enter(*id);
            self.known(&at, &state.before.known, span);
            if let Ok(why) = facts.together(&state.divergent) {
                self.say(Probe::Turn(*id), Kind::Reach, Says::Together, &why, span);
            }
            if let Ok(Fact { value, because }) = facts.trip(*id) {
                self.say(at, Kind::Trip, Says::Trip { count: value.count, clamped: value.clamped }, &because, span);
            }
        }
    }

    fn barriers(&mut self) {
        for (id, place) in &self.facts.walked.barriers {
            let Some(b) = self.facts.function.barriers.get(id.0 as usize) else { continue };
            let span = self.facts.function.expr(b.expr).span;
            let at = Probe::Barrier(*id);
            self.known(&at, &place.known, span);
            if let Ok(why) = self.facts.together(&place.divergent) {
                self.say(at, Kind::Reach, Says::Together, &why, span);
            }
        }
    }

    /// The shape of a block, as the launch predicates give it.
    fn block(&mut self) {
        let span = self.facts.function.name_span;
        if self.facts.usable().is_err() {
            return;
        }
        let known = &self.facts.context.known;
        let mut volume = Poly::constant(1);
        for (n, axis) in [Axis::X, Axis::Y, Axis::Z].into_iter().enumerate() {
            let dim = Poly::atom(Atom::BlockDim(axis));
            volume = volume.mul(&dim).unwrap_or_default();
            let (range, why) = known.range(&dim);
            self.claims.push(Claim::new(
                Probe::Started,
                Kind::BlockShape,
                Says::Threads { axis: n, range },
                &why,
                span,
            ));
        }
        let (range, why) = known.range(&volume);
        self.say(Probe::Started, Kind::BlockShape, Says::Threads { axis: 3, range }, &why, span);
        for by in [32, 64, 128, 256] {
            if let Some((r, why)) = known.residue(by, &Poly::atom(Atom::BlockDim(Axis::X))) {
                self.say(Probe::Started, Kind::BlockShape, Says::ThreadsDivide { by, always: r == 0 }, &why, span);
            }
        }
    }

    fn roots(&self) -> Vec<(AccessId, VarId)> {
        let known = self.facts.walked.accesses.iter();
        known.filter_map(|(id, s)| Some((*id, s.pointer.as_ref()?.root))).collect()
    }

    fn aliasing(&mut self, roots: &[(AccessId, VarId)]) {
        let f = self.facts.function;
        if self.facts.usable().is_err() {
            return;
        }
        let mut all: Vec<VarId> = roots.iter().map(|(_, v)| *v).collect();
        all.sort();
        all.dedup();
        for (i, a) in all.iter().enumerate() {
            for b in all.iter().skip(i + 1) {
                // Arrays of one thread may take turns in one place.
                let is_local = |v: &VarId| f.var(*v).kind == VarKind::Local;
                if let Some(why) = self.facts.disjoint_roots(*a, *b).filter(|_| !(is_local(a) && is_local(b))) {
                    self.say(Probe::Started, Kind::Aliasing, Says::Distinct(*a, *b), &why, f.var(*a).name_span);
                }
            }
        }
        for p in f.params.iter().filter(|p| matches!(f.var(**p).ty, Type::Pointer(_))) {
            if let Some(why) = self.holds("never_written", &[Place::Parameter(*p)]) {
                self.say(Probe::Started, Kind::Aliasing, Says::Unwritten(*p), &why, f.var(*p).name_span);
            }
        }
    }

    /// Bank degrees and extents; gives the accesses of each tile.
    fn tiles(&mut self) -> Vec<(TileId, Vec<AccessId>)> {
        let facts = self.facts;
        let f = facts.function;
        let mut found = vec![];
        for (n, t) in (0..).zip(&f.tiles) {
            let tile = TileId(n);
            let span = f.var(t.var).name_span;
            let own: Vec<AccessId> =
                (0..).zip(&f.accesses).filter(|(_, a)| a.base == t.var).map(|(i, _)| AccessId(i)).collect();
            if let Ok(Fact { value: degree, because }) = facts.bank_degree(tile, 0) {
                self.say(Probe::Started, Kind::BankDegree, Says::BankDegree { tile, degree }, &because, span);
            }
            if let (Some(why), Ok(extents)) = (self.holds("in_extents", &[Place::Tile(tile)]), facts.extents(tile)) {
                for a in own.iter().filter_map(|a| f.accesses.get(a.0 as usize)) {
                    for (index, extent) in a.indices.iter().zip(&extents.value) {
                        let says = Says::Within(Interval::new(0, extent - 1));
                        self.say(Probe::Value(*index), Kind::Extent, says, &why, f.expr(*index).span);
                    }
                }
            }
            found.push((tile, own));
        }
        found
    }

    /// Why the predicate holds of the places; `None` where it does not, or nobody knows.
    fn holds(&self, predicate: &str, places: &[Place]) -> Option<Because> {
        let span = self.facts.function.name_span;
        let args: Vec<Value> =
            places.iter().map(|p| Value::Anchor(Anchor { function: self.at, place: *p, span })).collect();
        let query = Query { facts: self.facts, args: &args, keywords: &[], together: &[], brief: false };
        match registry().eval(predicate, &query) {
            answer @ Answer::Known { .. } if answer.is_true() => match answer {
                Answer::Known { because, .. } => Some(because),
                Answer::Unknown { .. } => None,
            },
            _ => None,
        }
    }
}

/// Why nothing can be said of the kernel, if so.
pub fn silent(facts: &Facts) -> Option<Missing> {
    facts.usable().err()
}
