//! Whether the accesses of a kernel stay inside buffers of given sizes for every size of the dims, and how large buffers
//! must be where nobody says.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::prover::Prover;
use crate::contract::{Expr, Op};
use crate::facts::{Atom, Facts, Interval, Known, PointerValue, Poly, Value, function};
use crate::ir::*;
use crate::source::Span;

/// One launch as the proof sees it.
pub struct Setting<'f, 'a> {
    pub facts: &'f Facts<'a>,
    pub grid: Option<[Expr; 3]>,
    pub block: Option<[Expr; 3]>,
    /// Integer arguments by parameter.
    pub ints: BTreeMap<VarId, Expr>,
    /// Bytes of dynamic shared memory, where they are known.
    pub shared: Option<Expr>,
    /// Size in bytes of the memory behind each pointer parameter, from where it points to.
    pub sizes: BTreeMap<VarId, Expr>,
    /// Every dim is assumed to be a multiple of this.
    pub multiple: i64,
    /// What is known at each access with all of the above, made at the first question.
    pub prepared: RefCell<BTreeMap<ExprId, Rc<Prover>>>,
    /// Proofs that may still be tried: a count, so that the answer does not depend on the machine.
    pub budget: Cell<u32>,
}

/// A place in memory that a kernel reaches.
struct Reach<'k> {
    at: ExprId,
    span: Span,
    pointer: &'k PointerValue,
    known: &'k Known,
    bytes: Option<u32>,
}

/// Proofs for one kernel under one setting.
pub const BUDGET: u32 = 300;

const AXES: [Axis; 3] = [Axis::X, Axis::Y, Axis::Z];

impl Setting<'_, '_> {
    /// Where a dim stands in polynomials: a parameter that is the dim itself, or its name.
    fn dim(&self, name: &str) -> Poly {
        let own = self.ints.iter().find(|(_, e)| **e == Expr::name(name)).map(|(v, _)| Atom::Param(*v));
        Poly::atom(own.unwrap_or_else(|| Atom::Name(format!("dim {name}").into())))
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

    /// Ranges and inequalities of sizes and shapes, in addition to what the walk knows at a place.
    fn rules(&self) -> (Vec<(Atom, Interval)>, Vec<Poly>) {
        let (mut ranges, mut rules) = (vec![], vec![]);
        let mut dims = BTreeSet::new();
        let shapes = self.grid.iter().chain(&self.block).flatten();
        for e in self.ints.values().chain(self.sizes.values()).chain(shapes) {
            dims.extend(e.names().into_iter().map(str::to_owned));
        }
        let equal = |a: Poly, b: Poly, rules: &mut Vec<Poly>| {
            if let Some(z) = a.sub(&b).filter(|z| !z.is_zero()) {
                rules.extend(z.neg());
                rules.push(z);
            }
        };
        for d in &dims {
            let p = self.dim(d);
            ranges.extend(p.as_atom().map(|a| (a.clone(), Interval::new(1, i128::from(i32::MAX)))));
        }
        for (v, e) in &self.ints {
            if let Some(p) = self.poly(e) {
                if let Some(c) = p.as_constant() {
                    ranges.push((Atom::Param(*v), Interval::point(c)));
                }
                equal(Poly::atom(Atom::Param(*v)), p, &mut rules);
            }
        }
        for (i, axis) in AXES.into_iter().enumerate() {
            self.axis_rules(i, axis, &mut ranges, &mut rules);
        }
        (ranges, rules)
    }

    fn axis_rules(&self, i: usize, axis: Axis, ranges: &mut Vec<(Atom, Interval)>, rules: &mut Vec<Poly>) {
        let (g, b) = (Poly::atom(Atom::GridDim(axis)), Poly::atom(Atom::BlockDim(axis)));
        let (blk, t) = (Poly::atom(Atom::Block(axis)), Poly::atom(Atom::Thread(axis)));
        let at = |s: &Option<[Expr; 3]>| s.as_ref().and_then(|s| s.get(i)).cloned();
        let threads = at(&self.block).and_then(|e| self.poly(&e));
        let mut add = |p: Option<Poly>| rules.extend(p.filter(|p| !p.is_zero()));
        if let Some(c) = &threads {
            if let Some(v) = c.as_constant() {
                ranges.push((Atom::BlockDim(axis), Interval::point(v)));
            }
            add(b.sub(c));
            add(c.sub(&b));
            add(c.sub(&t).and_then(|p| p.offset(-1)));
        }
        add(b.sub(&t).and_then(|p| p.offset(-1)));
        // The last block: (G - 1 - block) * B >= 0 for every way in which B is written.
        let room = g.sub(&blk).and_then(|p| p.offset(-1));
        add(room.clone());
        add(room.as_ref().and_then(|r| r.mul(&b)));
        let Some(grid) = at(&self.grid) else { return };
        let blocks = self.poly(&grid);
        if let Some(p) = &blocks {
            if let Some(v) = p.as_constant() {
                ranges.push((Atom::GridDim(axis), Interval::point(v)));
                ranges.push((Atom::Block(axis), Interval::new(0, v - 1)));
            }
            add(p.sub(&g));
        }
        // Blocks times threads, each written out or by its register.
        if let (Some(p), Some(c)) = (&blocks, &threads) {
            let written = p.mul(c);
            for half in [g.mul(&b), g.mul(c), p.mul(&b)].into_iter().flatten() {
                add(written.as_ref().and_then(|w| w.sub(&half)));
            }
        }
        // G = ceil(E / k) or floor(E / k): products with k say it without a quotient.
        let Expr::Binary(op @ (Op::Div | Op::CeilDiv), num, den) = &grid else { return };
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
            add(less.and_then(|l| num.add(&l)).and_then(|p| p.sub(&total)));
        }
    }

    /// Whether every access through a parameter of known size stays inside; else the first that may not.
    pub fn inside(&self) -> Result<(), (Span, String)> {
        for (v, size) in &self.sizes {
            let Some(size) = self.poly(size) else { continue };
            self.inside_of(*v, &size)?;
        }
        self.inside_arrays()?;
        self.followed()
    }

    /// The arrays of the kernel itself: shared tiles and those of a thread.
    fn inside_arrays(&self) -> Result<(), (Span, String)> {
        let f = self.facts.function;
        for (i, var) in f.vars.iter().enumerate() {
            let id = VarId(i as u32);
            let own = matches!(var.kind, VarKind::Shared | VarKind::Local) && matches!(var.ty, Type::Array { .. });
            if !own || self.reaches(id).is_empty() {
                continue;
            }
            match self.own_size(id) {
                Some(size) => self.inside_of(id, &size)?,
                None => return Err((var.span, format!("the size of `{}` is not known", var.name))),
            }
        }
        Ok(())
    }

    /// Bytes of an array of the kernel itself.
    fn own_size(&self, v: VarId) -> Option<Poly> {
        let var = self.facts.function.var(v);
        match (var.kind, var.is_extern, &var.ty) {
            (VarKind::Shared, true, _) => self.shared.as_ref().and_then(|e| self.poly(e)),
            (VarKind::Shared | VarKind::Local, _, Type::Array { .. }) => self.array_bytes(&var.ty),
            _ => None,
        }
    }

    fn array_bytes(&self, ty: &Type) -> Option<Poly> {
        match ty {
            Type::Array { elem, len } => {
                let count = match self.facts.walked.value((*len)?) {
                    Some(Value::Int(v)) => v.poly.as_constant(),
                    _ => None,
                };
                let count = count.or_else(|| super::propose::constant(self.facts, (*len)?).map(i128::from))?;
                self.array_bytes(elem)?.scale(count)
            }
            Type::Param(t) => self.facts.context.types.get(t).map(|b| Poly::constant(i128::from(*b))),
            t => t.bytes().map(|b| Poly::constant(i128::from(b))),
        }
    }

    /// Whether the atomic is on memory of the block.
    fn is_shared(&self, a: &Atomic) -> bool {
        a.base.is_some_and(|b| self.facts.function.var(b).kind == VarKind::Shared)
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
        if let Some(a) = f.atomics.iter().find(|a| !self.is_shared(a) && self.target(a).is_none()) {
            return Err((f.expr(a.expr).span, "the address of the atomic is not known".into()));
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

    /// Every place in memory that is reached through the parameter: accesses, and the targets of atomics.
    fn reaches(&self, v: VarId) -> Vec<Reach<'_>> {
        let f = self.facts.function;
        let mut found = vec![];
        for (id, state) in &self.facts.walked.accesses {
            let (Some(p), Some(a)) = (&state.pointer, f.accesses.get(id.0 as usize)) else { continue };
            if p.root == v {
                let span = f.expr(a.expr).span;
                found.push(Reach { at: a.expr, span, pointer: p, known: &state.place.known, bytes: state.bytes });
            }
        }
        for a in &f.atomics {
            let Some((e, p, known)) = self.target(a) else { continue };
            if p.root == v {
                let bytes = p.pointee.bytes();
                found.push(Reach { at: e, span: f.expr(a.expr).span, pointer: p, known, bytes });
            }
        }
        found
    }

    /// The address that an atomic changes.
    fn target(&self, a: &Atomic) -> Option<(ExprId, &PointerValue, &Known)> {
        let ExprKind::Call { args, .. } = self.facts.function.kind_of(a.expr) else { return None };
        let first = args.first()?;
        let Value::Pointer(p) = self.facts.walked.value(*first)? else { return None };
        Some((*first, p, &self.facts.walked.place(*first)?.known))
    }

    fn inside_of(&self, v: VarId, size: &Poly) -> Result<(), (Span, String)> {
        self.reaches(v).into_iter().try_for_each(|r| self.is_inside(v, r, size))
    }

    fn is_inside(&self, v: VarId, reach: Reach, size: &Poly) -> Result<(), (Span, String)> {
        let Reach { at, span, pointer: p, known, bytes } = reach;
        let name = &self.facts.function.var(v).name;
        if p.modular {
            return Err((span, format!("the index of `{name}` may wrap")));
        }
        let Some(bytes) = bytes else { return Err((span, "an access of unknown size".into())) };
        let end = size.sub(&p.offset).and_then(|r| r.offset(-i128::from(bytes)));
        let holds = |goal: Option<Poly>| goal.is_some_and(|g| self.proves(at, known, &g));
        if !holds(end) || !holds(Some(p.offset.clone())) {
            let shown = self.facts.render(&p.offset);
            return Err((span, format!("`{name}` at byte {shown} could not be shown to be inside")));
        }
        Ok(())
    }

    /// Whether one access, or the target of one atomic, is shown to be inside.
    pub fn shows_inside(&self, at: ExprId) -> bool {
        let f = self.facts.function;
        let target = f.atomics.iter().find(|a| a.expr == at).and_then(|a| self.target(a));
        let own = f.accesses.iter().position(|a| a.expr == at).map(|i| AccessId(i as u32));
        let pointer = own.and_then(|id| self.facts.walked.accesses.get(&id)?.pointer.as_ref());
        let Some(root) = pointer.or(target.map(|(_, p, _)| p)).map(|p| p.root) else { return false };
        let size = match self.sizes.get(&root) {
            Some(e) => self.poly(e),
            None => self.own_size(root),
        };
        let Some(size) = size else { return false };
        let place = target.map_or(at, |(e, ..)| e);
        let mut reaches = self.reaches(root).into_iter().filter(|r| r.at == place).peekable();
        reaches.peek().is_some() && reaches.all(|r| self.is_inside(root, r, &size).is_ok())
    }

    fn prover(&self, id: ExprId, at: &Known) -> Rc<Prover> {
        if let Some(p) = self.prepared.borrow().get(&id) {
            return p.clone();
        }
        let (mut ranges, rules) = self.rules();
        let mut multiples = vec![];
        if self.multiple > 1 {
            for (atom, _) in ranges.clone() {
                let size = match &atom {
                    Atom::Param(v) => self.ints.get(v).is_some_and(|e| matches!(e, Expr::Name(_))),
                    Atom::Name(n) => n.starts_with("dim "),
                    _ => false,
                };
                let part = Atom::Name(format!("part of {atom:?}").into());
                if size && let Some(p) = Poly::atom(part.clone()).scale(i128::from(self.multiple)) {
                    ranges.push((part, Interval::new(1, i128::from(i32::MAX))));
                    multiples.push((atom, p));
                }
            }
        }
        let made = Rc::new(Prover::new(at, &ranges, &rules, multiples));
        self.prepared.borrow_mut().insert(id, made.clone());
        made
    }

    fn proves(&self, id: ExprId, at: &Known, goal: &Poly) -> bool {
        let Some(left) = self.budget.get().checked_sub(1) else { return false };
        self.budget.set(left);
        self.prover(id, at).nonneg(goal)
    }

    /// The smallest of some sizes, in elements of the access, that holds every access through the parameter.
    pub fn extent(&self, v: VarId, width: u32) -> Option<Expr> {
        if self.reaches(v).is_empty() {
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
        for Reach { at, pointer: p, known, bytes, .. } in self.reaches(v) {
            let known = self.prover(at, known);
            if let Some(hi) = known.most(&p.offset).and_then(|h| i64::try_from(h).ok()).filter(|h| *h < 1 << 24) {
                constants.insert((hi + i64::from(bytes.unwrap_or(width))) / i64::from(width));
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
