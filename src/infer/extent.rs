//! Whether the accesses of a kernel stay inside buffers of given sizes for every size of the dims, and how large buffers
//! must be where nobody says.

use std::collections::{BTreeMap, BTreeSet};

use crate::contract::{Expr, Op};
use crate::facts::{Atom, Because, Facts, Interval, Known, Poly, function};
use crate::ir::*;
use crate::source::Span;

/// One launch as the proof sees it.
pub struct Setting<'f, 'a> {
    pub facts: &'f Facts<'a>,
    pub grid: Option<[Expr; 3]>,
    pub block: Option<[Expr; 3]>,
    /// Integer arguments by parameter.
    pub ints: BTreeMap<VarId, Expr>,
    /// Size in bytes of the memory behind each pointer parameter, from where it points to.
    pub sizes: BTreeMap<VarId, Expr>,
    /// Every dim is assumed to be a multiple of this.
    pub multiple: i64,
}

const AXES: [Axis; 3] = [Axis::X, Axis::Y, Axis::Z];

impl Setting<'_, '_> {
    /// Where a dim stands in polynomials: a parameter that is the dim itself, or its name.
    fn dim(&self, name: &str) -> Poly {
        let own = self.ints.iter().find(|(_, e)| **e == Expr::name(name)).map(|(v, _)| Atom::Param(*v));
        Poly::atom(own.unwrap_or_else(|| Atom::Name(format!("dim {name}"))))
    }

    fn poly(&self, e: &Expr) -> Option<Poly> {
        match e {
            Expr::Int(v) => Some(Poly::constant(i128::from(*v))),
            Expr::SizeOf(s) => Some(Poly::constant(i128::from(s.bytes()))),
            Expr::Name(n) => Some(self.dim(n)),
            Expr::Neg(e) => self.poly(e)?.neg(),
            Expr::Binary(op, a, b) => {
                let (x, y) = (self.poly(a)?, self.poly(b)?);
                match op {
                    Op::Add => x.add(&y),
                    Op::Sub => x.sub(&y),
                    Op::Mul => x.mul(&y),
                    Op::Div | Op::CeilDiv => {
                        let Some(k) = y.as_constant().filter(|k| *k > 0) else {
                            // A quotient by a size stands for itself.
                            let name = if *op == Op::Div { "quot" } else { "ceil quot" };
                            return function(name, vec![x, y]);
                        };
                        let x = if *op == Op::CeilDiv { x.offset(k - 1)? } else { x };
                        x.div_floor(k)
                    }
                    Op::Min => function("min", vec![x, y]),
                    Op::Max => function("max", vec![x, y]),
                    _ => None,
                }
            }
            Expr::Not(_) | Expr::Select(..) => None,
        }
    }

    /// What is known of sizes and shapes, in addition to what the walk knows at a place.
    fn assume(&self, known: &mut Known) {
        let why = Because::nothing;
        let mut dims = BTreeSet::new();
        let shapes = self.grid.iter().chain(&self.block).flatten();
        for e in self.ints.values().chain(self.sizes.values()).chain(shapes) {
            dims.extend(e.names().into_iter().map(str::to_owned));
        }
        for d in &dims {
            let p = self.dim(d);
            if let Some(atom) = p.as_atom() {
                known.bound(atom.clone(), Interval::new(1, i128::from(i32::MAX)), why());
            }
            if self.multiple > 1 {
                known.assume_congruent(p.clone(), i128::from(self.multiple), 0, why());
                let quotient = p.div_floor(i128::from(self.multiple)).and_then(|q| q.scale(i128::from(self.multiple)));
                let exact = quotient.and_then(|q| p.sub(&q));
                exact.into_iter().for_each(|z| known.assume_zero(z, why()));
            }
        }
        for (v, e) in &self.ints {
            let own = Poly::atom(Atom::Param(*v));
            let rest = self.poly(e).and_then(|p| own.sub(&p)).filter(|p| !p.is_zero());
            rest.into_iter().for_each(|z| known.assume_zero(z, why()));
        }
        for (i, axis) in AXES.into_iter().enumerate() {
            self.assume_axis(known, i, axis);
        }
    }

    fn assume_axis(&self, known: &mut Known, i: usize, axis: Axis) {
        let why = Because::nothing;
        let (g, b, blk, t) = (
            Poly::atom(Atom::GridDim(axis)),
            Poly::atom(Atom::BlockDim(axis)),
            Poly::atom(Atom::Block(axis)),
            Poly::atom(Atom::Thread(axis)),
        );
        let threads = self.block.as_ref().and_then(|s| s.get(i)).and_then(|e| self.poly(e));
        if let Some(z) = threads.as_ref().and_then(|p| b.sub(p)) {
            known.assume_zero(z, why());
        }
        // The last thread of the last block: (G - 1 - block) * B >= 0, and B - 1 - thread >= 0 is known.
        let room = g.sub(&blk).and_then(|p| p.offset(-1));
        let mut room_by =
            |by: &Poly| room.as_ref().and_then(|r| r.mul(by)).into_iter().for_each(|p| known.assume_nonneg(p, why()));
        room_by(&b);
        if let Some(c) = &threads {
            room_by(c);
        }
        let room = threads.as_ref().and_then(|c| c.sub(&t)).and_then(|p| p.offset(-1));
        room.into_iter().for_each(|p| known.assume_nonneg(p, why()));
        let Some(e) = self.grid.as_ref().and_then(|s| s.get(i)) else { return };
        if let Some(z) = self.poly(e).and_then(|p| g.sub(&p)) {
            known.assume_zero(z, why());
        }
        // G = ceil(E / k) or floor(E / k): products with k say it without a quotient.
        let Expr::Binary(op @ (Op::Div | Op::CeilDiv), num, den) = e else { return };
        let (Some(num), Some(den)) = (self.poly(num), self.poly(den)) else { return };
        let mut factors = vec![den.clone()];
        if threads.as_ref() == Some(&den) {
            factors.push(b);
        }
        let divides =
            self.multiple > 1 && den.as_constant().is_some_and(|k| k > 0 && i128::from(self.multiple) % k == 0);
        for k in factors {
            let Some(total) = g.mul(&k) else { continue };
            let less = if *op == Op::CeilDiv && !divides { k.offset(-1) } else { Some(Poly::zero()) };
            let above = less.and_then(|l| num.add(&l)).and_then(|p| p.sub(&total));
            above.into_iter().for_each(|p| known.assume_nonneg(p, why()));
        }
    }

    /// Whether every access through a parameter of known size stays inside; else the first that may not.
    pub fn inside(&self) -> Result<(), (Span, String)> {
        for (v, size) in &self.sizes {
            let Some(size) = self.poly(size) else { continue };
            self.inside_of(*v, &size)?;
        }
        self.followed()
    }

    /// Whether all accesses are of known addresses.
    pub fn followed(&self) -> Result<(), (Span, String)> {
        let f = self.facts.function;
        if let Some((span, why)) = &self.facts.walked.taint {
            return Err((span.unwrap_or(f.name_span), why.clone()));
        }
        for (i, a) in f.accesses.iter().enumerate() {
            if !matches!(a.space, Space::Global | Space::Unknown) {
                continue;
            }
            let known = self.facts.walked.accesses.get(&AccessId(i as u32));
            if known.is_some_and(|s| s.pointer.is_none()) {
                return Err((f.expr(a.expr).span, "the address is not known".into()));
            }
        }
        if let Some(a) = f.atomics.iter().find(|a| !f.accesses.iter().any(|x| f.walk(a.expr).contains(&x.expr))) {
            return Err((f.expr(a.expr).span, "the address of the atomic is not followed".into()));
        }
        let passes = |c: &&Call| match f.kind_of(c.expr) {
            ExprKind::Call { args, callee, .. } => {
                args.iter().any(|a| matches!(f.expr(*a).ty, Type::Pointer(_)))
                    && !callee.starts_with("__ld")
                    && callee != "printf"
            }
            _ => false,
        };
        match f.calls.iter().find(passes) {
            Some(c) => Err((f.expr(c.expr).span, format!("`{}` is given a pointer", c.callee))),
            None => Ok(()),
        }
    }

    fn accesses_of(&self, v: VarId) -> impl Iterator<Item = (Span, &crate::facts::AccessState)> {
        let f = self.facts.function;
        let states =
            self.facts.walked.accesses.iter().filter(move |(_, s)| s.pointer.as_ref().is_some_and(|p| p.root == v));
        states.filter_map(move |(id, s)| Some((f.expr(f.accesses.get(id.0 as usize)?.expr).span, s)))
    }

    fn inside_of(&self, v: VarId, size: &Poly) -> Result<(), (Span, String)> {
        for (span, state) in self.accesses_of(v) {
            let Some(p) = &state.pointer else { continue };
            let name = &self.facts.function.var(v).name;
            if p.modular {
                return Err((span, format!("the index of `{name}` may wrap")));
            }
            let Some(bytes) = state.bytes else { return Err((span, "an access of unknown size".into())) };
            let end = size.sub(&p.offset).and_then(|r| r.offset(-i128::from(bytes)));
            let holds = |goal: Option<Poly>| goal.is_some_and(|g| self.proves(&state.place.known, &g));
            if !holds(Some(p.offset.clone())) || !holds(end) {
                let shown = self.facts.render(&p.offset);
                return Err((span, format!("`{name}` at byte {shown} could not be shown to be inside")));
            }
        }
        Ok(())
    }

    fn proves(&self, at: &Known, goal: &Poly) -> bool {
        let mut known = at.clone();
        self.assume(&mut known);
        if known.prove_nonneg(goal).is_some() {
            return true;
        }
        // Inequalities on threads, blocks and iterations, times the sizes that multiply them in the goal.
        let moving = |a: &Atom| {
            matches!(a, Atom::Thread(_) | Atom::Block(_) | Atom::Iter(_) | Atom::Version(..) | Atom::Opaque(_))
        };
        let mut multipliers: BTreeSet<Poly> = BTreeSet::new();
        for (product, _) in goal.terms() {
            if product.len() < 2 {
                continue;
            }
            for keep in 1..=2 {
                let fixed: Vec<&Atom> = product
                    .iter()
                    .filter(|a| !moving(a) && !matches!(a, Atom::BlockDim(_) | Atom::GridDim(_)))
                    .collect();
                if fixed.len() >= keep {
                    let times = fixed.iter().take(if keep == 1 { 1 } else { fixed.len() });
                    let p = times.fold(Some(Poly::constant(1)), |p, a| p?.mul(&Poly::atom((*a).clone())));
                    multipliers.extend(p);
                }
                if let (1, Some(last)) = (keep, fixed.last()) {
                    multipliers.insert(Poly::atom((*last).clone()));
                }
            }
        }
        let relevant: Vec<Poly> =
            known.inequalities().filter(|p| p.atoms().iter().any(moving)).take(24).cloned().collect();
        for m in multipliers.iter().take(4) {
            for p in &relevant {
                p.mul(m).into_iter().for_each(|q| known.assume_nonneg(q, Because::nothing()));
            }
        }
        known.prove_nonneg(goal).is_some()
    }

    /// The smallest of some sizes, in elements of the access, that holds every access through the parameter.
    pub fn extent(&self, v: VarId, width: u32) -> Option<Expr> {
        if self.accesses_of(v).next().is_none() {
            return None;
        }
        for candidate in self.candidates(v, width) {
            let bytes = Expr::binary(Op::Mul, candidate.clone(), Expr::Int(i64::from(width)));
            let Some(size) = self.poly(&bytes) else { continue };
            if self.inside_of(v, &size).is_ok() {
                return Some(candidate);
            }
        }
        None
    }

    fn candidates(&self, v: VarId, width: u32) -> Vec<Expr> {
        let mut constants = BTreeSet::new();
        for (_, state) in self.accesses_of(v) {
            let mut known = (*state.place.known).clone();
            self.assume(&mut known);
            let Some(p) = &state.pointer else { continue };
            if let Some(hi) = known.range(&p.offset).0.hi.and_then(|h| i64::try_from(h).ok()).filter(|h| *h < 1 << 24) {
                constants.insert((hi + i64::from(state.bytes.unwrap_or(width))) / i64::from(width));
            }
        }
        let mut found: Vec<Expr> = constants.into_iter().rev().take(1).map(Expr::Int).collect();
        let mut names: Vec<Expr> = vec![];
        for e in self.ints.values() {
            let mut add = |e: Expr| {
                if e.constant().is_none() && !names.contains(&e) {
                    names.push(e);
                }
            };
            e.names().into_iter().for_each(|n| add(Expr::name(n)));
            add(e.clone());
        }
        let grids: Vec<Expr> = self.grid.iter().flatten().filter(|e| e.constant() != Some(1)).cloned().collect();
        let grid_total = grids.iter().cloned().reduce(|a, b| super::value::combine(Op::Mul, a, b));
        names.truncate(5);
        let times = |a: &Expr, b: &Expr| super::value::combine(Op::Mul, a.clone(), b.clone());
        found.extend(names.iter().cloned());
        found.extend(grids.iter().cloned());
        found.extend(grid_total.clone());
        for (i, a) in names.iter().enumerate() {
            found.extend(names.iter().skip(i).map(|b| times(a, b)));
        }
        for g in &grids {
            found.extend(names.iter().map(|n| times(g, n)));
        }
        let small: Vec<Expr> = [2, 3, 4, 8].map(Expr::Int).to_vec();
        for n in names.iter().chain(&grids) {
            found.extend(small.iter().map(|k| times(n, k)));
        }
        let blocks: Vec<i64> = self.block.iter().flatten().filter_map(Expr::constant).filter(|b| *b > 1).collect();
        let threads: i64 = blocks.iter().product();
        if let Some(g) = &grid_total
            && threads > 1
        {
            found.extend([1, 2, 4, 8].map(|k| times(g, &Expr::Int(threads * k))));
        }
        for (i, a) in names.iter().enumerate() {
            for (j, b) in names.iter().enumerate().skip(i) {
                found.extend(names.iter().skip(j).map(|c| times(&times(a, b), c)));
            }
        }
        for (i, a) in names.iter().enumerate() {
            found.extend(names.iter().skip(i + 1).map(|b| super::value::combine(Op::Add, a.clone(), b.clone())));
            found.push(super::value::combine(Op::Add, a.clone(), Expr::Int(1)));
        }
        found.truncate(120);
        found
    }
}
