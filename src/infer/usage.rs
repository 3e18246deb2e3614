//! What a kernel does with the memory behind each of its parameters.

use crate::facts::Facts;
use crate::ir::*;

/// Of one parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub reads: bool,
    pub writes: bool,
    /// Whether it is read, or changed in place, before anything is written.
    pub reads_first: bool,
    /// Reached in a way that is not followed, such as inline assembly or a function out of view.
    pub opaque: bool,
}

/// One for each parameter; those that are no pointers are empty.
pub fn usages(program: &Program, facts: &Facts) -> Vec<Usage> {
    let f = facts.function;
    let mut found = vec![Usage::default(); f.params.len()];
    let mut first: Vec<Option<(u32, bool)>> = vec![None; f.params.len()];
    for (i, a) in f.accesses.iter().enumerate() {
        if matches!(a.space, Space::Shared | Space::Local | Space::Constant) {
            continue;
        }
        let state = facts.walked.accesses.get(&AccessId(i as u32));
        let root = state.and_then(|s| s.pointer.as_ref()).map(|p| p.root);
        let roots = match root {
            Some(r) => vec![r],
            None => roots_of(f, a.base),
        };
        let order = state.map_or(i as u32, |s| s.place.seq);
        for p in params(f, &roots) {
            let (reads, writes) = match a.mode {
                AccessMode::Load => (true, false),
                AccessMode::Store => (false, true),
                AccessMode::Update => (true, true),
            };
            note(&mut found, &mut first, p, order, reads, writes);
        }
    }
    for a in &f.atomics {
        let roots: Vec<VarId> = match a.base {
            Some(b) => roots_of(f, b),
            None => f.walk(a.expr).into_iter().filter_map(|e| var(f, e)).collect(),
        };
        for p in params(f, &roots) {
            note(&mut found, &mut first, p, 0, true, true);
        }
    }
    for c in &f.calls {
        calls(program, f, c, &mut found, &mut first);
    }
    for (i, u) in found.iter_mut().enumerate() {
        u.reads_first = first.get(i).copied().flatten().is_some_and(|(_, reads)| reads);
        let constant = f.params.get(i).is_some_and(|p| matches!(&f.var(*p).ty, Type::Pointer(t) if t.is_const));
        if constant && u.writes {
            u.writes = false;
            u.reads_first = true;
        }
    }
    found
}

fn note(found: &mut [Usage], first: &mut [Option<(u32, bool)>], p: usize, order: u32, reads: bool, writes: bool) {
    if let Some(u) = found.get_mut(p) {
        u.reads |= reads;
        u.writes |= writes;
    }
    if let Some(slot) = first.get_mut(p)
        && slot.is_none_or(|(o, r)| order < o || order == o && reads && !r)
    {
        *slot = Some((order, reads));
    }
}

fn params(f: &Function, roots: &[VarId]) -> Vec<usize> {
    let is_pointer = |v: &VarId| matches!(f.var(*v).ty, Type::Pointer(_) | Type::Reference(_));
    let mut found: Vec<usize> =
        roots.iter().filter(|v| is_pointer(v)).filter_map(|v| f.params.iter().position(|p| p == v)).collect();
    found.sort_unstable();
    found.dedup();
    found
}

fn var(f: &Function, e: ExprId) -> Option<VarId> {
    if let ExprKind::Var(v) = f.kind_of(e) { Some(*v) } else { None }
}

/// The variables from which a local pointer was made, through initialisers and assignments.
fn roots_of(f: &Function, v: VarId) -> Vec<VarId> {
    let mut found = vec![v];
    let mut at = 0;
    while let Some(v) = found.get(at).copied() {
        at += 1;
        if at > 32 || f.params.contains(&v) {
            continue;
        }
        let assigned = f.exprs.iter().filter_map(|e| match &e.kind {
            ExprKind::Assign { target, value, .. } if var(f, *target) == Some(v) => Some(*value),
            _ => None,
        });
        for e in f.var(v).init.into_iter().chain(assigned) {
            for w in f.walk(e).into_iter().filter_map(|e| var(f, e)) {
                if !found.contains(&w) {
                    found.push(w);
                }
            }
        }
    }
    found
}

fn calls(program: &Program, f: &Function, c: &Call, found: &mut [Usage], first: &mut [Option<(u32, bool)>]) {
    let ExprKind::Call { callee, args, .. } = f.kind_of(c.expr) else { return };
    let name = query::base_name(callee);
    if matches!(name, "__ldg" | "__ldcs" | "__ldca" | "__ldcg" | "__ldlu" | "__ldcv" | "printf" | "assert") {
        // Addresses below are read through an access of their own, or not at all.
        for (i, p) in
            args.first().map(|a| params(f, &pointers_under(f, *a))).unwrap_or_default().into_iter().enumerate()
        {
            note(found, first, p, i as u32, name.starts_with("__ld"), false);
        }
        return;
    }
    let callees: Vec<&Function> = program.units.iter().flat_map(|u| &u.functions).filter(|g| g.name == name).collect();
    for (i, a) in args.iter().enumerate() {
        if !matches!(f.expr(*a).ty, Type::Pointer(_) | Type::Unknown | Type::Param(_)) {
            continue;
        }
        for p in params(f, &pointers_under(f, *a)) {
            let only_reads = !callees.is_empty()
                && callees.iter().all(|g| {
                    let ty = g.params.get(i).map(|p| &g.var(*p).ty);
                    matches!(ty, Some(Type::Pointer(t)) if t.is_const)
                });
            let own = callees.iter().filter_map(|g| Some((g, *g.params.get(i)?)));
            let (reads, writes) = match () {
                () if only_reads => (true, false),
                () if callees.is_empty() => (true, true),
                () => own.fold((false, false), |(r, w), (g, v)| {
                    let touches = g.accesses.iter().filter(|a| roots_of(g, a.base).contains(&v));
                    let (lr, lw) = touches.fold((false, false), |(r, w), a| {
                        (r || a.mode != AccessMode::Store, w || a.mode != AccessMode::Load)
                    });
                    let nested = !g.calls.is_empty() || g.atomics.iter().any(|a| a.base == Some(v));
                    (r || lr || nested, w || lw || nested)
                }),
            };
            if let Some(u) = found.get_mut(p) {
                u.opaque |= callees.is_empty();
            }
            note(found, first, p, 0, reads, writes);
        }
    }
}

/// Pointer variables of an address expression, without those of subscripts.
fn pointers_under(f: &Function, e: ExprId) -> Vec<VarId> {
    let found = f.walk(e).into_iter().filter_map(|e| var(f, e)).filter(|v| matches!(f.var(*v).ty, Type::Pointer(_)));
    found.flat_map(|v| roots_of(f, v)).collect()
}
