//! Allocations on the host side of a launch.

use super::because::Because;
use super::effects::{Root, root};
use super::macros::Macros;
use crate::ir::*;

const ALLOCATORS: &[&str] = &["cudaMalloc", "cudaMallocManaged", "cudaMallocAsync"];

/// The variable whose own allocation `arg` points to: a local pointer that exactly one allocation call fills and that
/// nothing else can change.
pub fn allocation(unit: &Unit, host: &Function, macros: &Macros, arg: ExprId) -> Option<(VarId, Because)> {
    let v = bare(host, arg)?;
    let var = host.var(v);
    let plain = var.kind == VarKind::Local && matches!(var.ty, Type::Pointer(_)) && !var.is_static;
    let starts_empty = var.init.is_none_or(|e| matches!(host.kind_of(e), ExprKind::Null | ExprKind::Int(0)));
    if !plain || !starts_empty || !host.flaws.is_empty() || ALLOCATORS.iter().any(|a| macros.contains(a)) {
        return None;
    }
    let redefined = macros.names().is_none_or(|n| ALLOCATORS.iter().any(|a| n.has_function(a)));
    if redefined || macros.any_mentions(&var.name) || captured(unit, &var.name) {
        return None;
    }
    let mut taken = vec![];
    for (i, e) in host.exprs.iter().enumerate() {
        match &e.kind {
            ExprKind::Assign { target, .. } | ExprKind::Increment { target, .. } => match root(host, *target) {
                Root::Var(w, _) if w == v => return None,
                Root::Unknown => return None,
                _ => {}
            },
            ExprKind::AddressOf(inner) if matches!(root(host, *inner), Root::Var(w, _) if w == v) => {
                taken.push(ExprId(i as u32))
            }
            ExprKind::Call { callee, args, .. } => {
                let name = callee.rsplit("::").next().unwrap_or(callee);
                let by_value = name.starts_with("cuda") || matches!(name, "free" | "printf");
                if !by_value && args.iter().any(|a| bare(host, *a) == Some(v)) {
                    return None;
                }
            }
            ExprKind::Opaque { .. }
            | ExprKind::CallValue { .. }
            | ExprKind::InitList(_)
            | ExprKind::Construct { .. }
                if host.walk(ExprId(i as u32)).iter().any(|e| *host.kind_of(*e) == ExprKind::Var(v)) =>
            {
                return None;
            }
            _ => {}
        }
    }
    let bound = host
        .vars
        .iter()
        .any(|o| matches!(o.ty, Type::Reference(_) | Type::Auto) && o.init.is_some_and(|e| bare(host, e) == Some(v)));
    let [address] = taken.as_slice() else { return None };
    let call = host.exprs.iter().enumerate().find(|(_, e)| match &e.kind {
        ExprKind::Call { callee, args, receiver: None, .. } => {
            ALLOCATORS.contains(&callee.as_str()) && args.first().is_some_and(|a| host.walk(*a).contains(address))
        }
        _ => false,
    })?;
    (!bound).then(|| (v, Because::at(call.1.span, format!("`{}` is an allocation of its own", var.name))))
}

/// The variable that an argument is, under casts.
fn bare(f: &Function, id: ExprId) -> Option<VarId> {
    let mut at = id;
    for _ in 0..64 {
        match f.kind_of(at) {
            ExprKind::Var(v) => return Some(*v),
            ExprKind::Cast { operand, .. } => at = *operand,
            _ => return None,
        }
    }
    None
}

fn captured(unit: &Unit, name: &str) -> bool {
    unit.functions.iter().flat_map(|f| &f.vars).any(|v| v.kind == VarKind::Captured && v.name == name)
}
