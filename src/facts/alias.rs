//! Which memory can be which: roots of addresses that cannot overlap, and how accesses of one root lie to each other.

use super::Facts;
use super::atom::Atom;
use super::because::Because;
use super::poly::Poly;
use super::state::{AccessState, LoopState};
use crate::ir::*;

/// How two accesses relate over the iterations of a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Alias {
    Never(Because),
    /// They meet only within one iteration.
    SameIteration(Because),
    /// One iteration touches what an iteration this many later (of the second access) touches.
    AtDistance(i128, Because),
    Unknown(String),
}

impl Facts<'_> {
    /// Why memory reached through `a` is not memory reached through `b`, if either is written.
    pub fn disjoint_roots(&self, a: VarId, b: VarId) -> Option<Because> {
        let f = self.function;
        let (x, y) = (f.vars.get(a.0 as usize)?, f.vars.get(b.0 as usize)?);
        let both = |text: &str| Because::at(x.name_span, text).and(&Because::at(y.name_span, text));
        if a == b {
            return None;
        }
        let (p, q) = (class(f, x), class(f, y));
        match (p, q) {
            (Class::Unknown, _) | (_, Class::Unknown) => None,
            (Class::Shared { dynamic: true }, Class::Shared { dynamic: true }) => None,
            (Class::Shared { .. }, _) | (_, Class::Shared { .. }) if p != q || !is_dynamic(p) => {
                Some(both("shared memory overlaps nothing else"))
            }
            (Class::Local, _) | (_, Class::Local) => Some(both("an array of one thread overlaps nothing else")),
            // Constant memory cannot be written by a kernel, so that a written element is elsewhere.
            (Class::Constant, _) | (_, Class::Constant) => Some(both("constant memory is not written by kernels")),
            (Class::Global, Class::Global) => Some(both("two arrays of file scope")),
            (Class::Parameter, Class::Parameter) => self.disjoint_parameters(a, b),
            _ => None,
        }
    }

    fn disjoint_parameters(&self, a: VarId, b: VarId) -> Option<Because> {
        let f = self.function;
        for v in [a, b] {
            if let Type::Pointer(p) = &f.var(v).ty
                && p.restrict
            {
                let text = format!("`{}` is declared `__restrict__`", f.var(v).name);
                return Some(Because::at(f.var(v).span, text));
            }
        }
        for (group, because) in &self.context.noalias {
            if group.contains(&a) && group.contains(&b) {
                return Some(because.clone());
            }
        }
        match (self.context.allocations.get(&a), self.context.allocations.get(&b)) {
            (Some((m, x)), Some((n, y))) if m != n => Some(x.clone().and(y)),
            _ => None,
        }
    }

    /// How `b` lies to `a` over the iterations of `k`. At least one of them is a store.
    pub fn relation(&self, a: &AccessState, b: &AccessState, k: LoopId, state: &LoopState) -> Alias {
        let (Some(p), Some(q)) = (&a.pointer, &b.pointer) else {
            return Alias::Unknown("one of the addresses is not known".into());
        };
        if p.root != q.root {
            return match self.disjoint_roots(p.root, q.root) {
                Some(because) => Alias::Never(because),
                None => {
                    let name = |v: VarId| self.function.var(v).name.clone();
                    Alias::Unknown(format!("`{}` and `{}` may point to the same memory", name(p.root), name(q.root)))
                }
            };
        }
        let (Some(wa), Some(wb)) = (a.bytes, b.bytes) else {
            return Alias::Unknown("the width of an access is not known".into());
        };
        let varies = |poly: &Poly| {
            let atoms = poly.atoms();
            let inner = atoms.iter().any(|x| matches!(x, Atom::Iter(l) if *l != k && !state.before.loops.contains(l)));
            inner || atoms.iter().any(|x| state.born.contains(x))
        };
        if varies(&p.offset) || varies(&q.offset) {
            return Alias::Unknown("an address changes in the loop in a way that is not modelled".into());
        }
        let iter = Atom::Iter(k);
        let (Some(sa), Some(sb)) = (p.offset.coefficient(&iter), q.offset.coefficient(&iter)) else {
            return Alias::Unknown("an address is not linear in the loop".into());
        };
        let Some(step) = sa.as_constant().filter(|_| sa == sb) else {
            return Alias::Unknown("the two addresses advance by different or unknown amounts".into());
        };
        let Some(distance) = q.offset.sub(&p.offset).and_then(|d| d.as_constant()) else {
            return Alias::Unknown("the distance of the two addresses is not a constant".into());
        };
        let because = p.because.clone().and(&q.because).and(&state.because);
        overlap(distance, step, i128::from(wa), i128::from(wb), because)
    }
}

/// Where `distance + step * m` lies in `(-wb, wa)` for some whole `m`.
fn overlap(distance: i128, step: i128, wa: i128, wb: i128, because: Because) -> Alias {
    let meets = |m: i128| step.checked_mul(m).and_then(|s| s.checked_add(distance)).is_none_or(|d| d > -wb && d < wa);
    if step == 0 {
        return if meets(0) { Alias::AtDistance(1, because) } else { Alias::Never(because) };
    }
    let Some(nearest) = distance.checked_neg().and_then(|d| d.checked_div(step)) else {
        return Alias::Unknown("the distance is too large".into());
    };
    let reach = (wa + wb) / step.abs().max(1) + 2;
    let hits: Vec<i128> = (nearest - reach..=nearest + reach).filter(|m| meets(*m)).collect();
    match hits.iter().find(|m| **m != 0) {
        Some(m) => Alias::AtDistance(*m, because),
        None if hits.is_empty() => Alias::Never(because),
        None => Alias::SameIteration(because),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Parameter,
    Shared { dynamic: bool },
    Local,
    Global,
    Constant,
    Unknown,
}

fn is_dynamic(c: Class) -> bool {
    c == Class::Shared { dynamic: true }
}

fn class(f: &Function, var: &Var) -> Class {
    let array = matches!(var.ty, Type::Array { .. });
    let value = matches!(var.ty, Type::Scalar(_) | Type::Vector { .. });
    match var.kind {
        // A pointer parameter of a kernel leads to global memory; that of a device function to anywhere.
        VarKind::Param if f.is_kernel() && matches!(var.ty, Type::Pointer(_)) => Class::Parameter,
        VarKind::Shared if array || value => Class::Shared { dynamic: var.is_extern },
        VarKind::Local if array && !var.is_static => Class::Local,
        VarKind::Global if array || value => Class::Global,
        VarKind::Constant if array || value => Class::Constant,
        _ => Class::Unknown,
    }
}
