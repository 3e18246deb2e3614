//! Launches through a local name: `auto kernel = ns::k<4>; kernel<<<..>>>(..)` launches `ns::k`.

use super::call::split_arguments;
use crate::ir::*;

/// Gives every launch whose callee is a local variable with one known value the name of that value. A launch through
/// a variable with several values keeps the variable's name.
pub(super) fn resolve(unit: &mut Unit) {
    let mut found = vec![];
    for (index, launch) in unit.launches.iter().enumerate() {
        let Some(caller) = unit.functions.get(launch.caller.0 as usize) else { continue };
        let local = launch.callee.trim_start_matches(['(', '*', ' ']).trim_end_matches([')', ' ']);
        if let Some(target) = one_value(caller, local) {
            found.push((index, target));
        }
    }
    for (index, target) in found {
        let Some(launch) = unit.launches.get_mut(index) else { continue };
        let (name, arguments) = target.split_once('<').unwrap_or((&target, ""));
        launch.callee = name.trim().to_owned();
        let arguments = arguments.trim().strip_suffix('>').unwrap_or("");
        if launch.template_args.is_empty() {
            launch.template_args = split_arguments(arguments);
        }
    }
}

fn one_value(caller: &Function, local: &str) -> Option<String> {
    let mut same_name = caller.vars.iter().enumerate().filter(|(_, v)| v.name == local);
    let (index, var) = same_name.next()?;
    if same_name.next().is_some() || var.kind != VarKind::Local {
        return None;
    }
    let id = VarId(index as u32);
    let is_var = |e: &ExprId| matches!(caller.kind_of(*e), ExprKind::Var(v) if *v == id);
    let rewritten = caller.exprs.iter().any(|e| match &e.kind {
        ExprKind::Assign { target, .. } | ExprKind::AddressOf(target) => is_var(target),
        _ => false,
    });
    if rewritten {
        return None;
    }
    let mut at = var.init?;
    loop {
        match caller.kind_of(at) {
            ExprKind::Name(name) => return Some(name.clone()),
            ExprKind::AddressOf(inner) | ExprKind::Cast { operand: inner, .. } => at = *inner,
            _ => return None,
        }
    }
}
