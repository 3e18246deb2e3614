//! `__constant__` and `__device__` variables: what host code sets, what device code writes, and the arguments of a plan
//! that stand for them.

use std::collections::BTreeSet;

use crate::contract::{Arg, Bound, Expr, Role, expr};
use crate::ir::*;
use crate::source::Sources;

/// Names of variables that host code in view writes, or of which it takes the address.
pub fn set_by_host(program: &Program) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for f in program.units.iter().flat_map(|u| &u.functions).filter(|f| f.kind == FunctionKind::Host) {
        for e in &f.exprs {
            let ExprKind::Call { callee, args, .. } = &e.kind else { continue };
            let name = query::base_name(callee);
            if name.starts_with("cudaMemcpyToSymbol") || name == "cudaGetSymbolAddress" {
                found.extend(args.iter().flat_map(|a| names_under(f, *a)));
            }
        }
    }
    found
}

/// Whether device code may write a variable: it assigns to it, changes it, or gives its address away.
pub fn written_on_device(program: &Program, name: &str) -> bool {
    let device = program.units.iter().flat_map(|u| &u.functions).filter(|f| f.kind != FunctionKind::Host);
    let touches = |f: &Function, e: ExprId| names_under(f, e).contains(name);
    device.into_iter().any(|f| {
        f.exprs.iter().any(|e| match &e.kind {
            ExprKind::Assign { target, .. } | ExprKind::Increment { target, .. } => touches(f, *target),
            ExprKind::AddressOf(inner) => touches(f, *inner),
            // An array decays to its address.
            ExprKind::Call { args, .. } => args.iter().any(|a| plain(f, *a).is_some_and(|n| n == name)),
            _ => false,
        }) || f.vars.iter().any(|v| v.init.and_then(|i| plain(f, i)).is_some_and(|n| n == name))
    })
}

fn plain(f: &Function, e: ExprId) -> Option<&str> {
    match f.kind_of(e) {
        ExprKind::Name(n) => Some(query::base_name(n)),
        ExprKind::Var(v) => Some(f.var(*v).name.as_str()),
        ExprKind::Cast { operand, .. } => plain(f, *operand),
        _ => None,
    }
}

fn names_under(f: &Function, e: ExprId) -> BTreeSet<String> {
    f.walk(e).into_iter().filter_map(|e| plain(f, e).map(str::to_owned)).collect()
}

/// The argument that stands for a variable which host code fills; `None` where the files do not declare it.
pub(super) fn argument(program: &Program, sources: &Sources, name: &str) -> Option<Arg> {
    let (unit, g) = program
        .units
        .iter()
        .flat_map(|u| u.globals.iter().map(move |g| (u, g)))
        .find(|(_, g)| (g.name == name || g.qualified == name) && (g.is_constant_memory || g.is_device))?;
    let mut arg = Arg { symbol: Some(g.qualified.clone()), ..Arg::new(&g.name, Role::In) };
    arg.dtype = super::cuda::element(g.ty.innermost()).filter(|(_, lanes)| *lanes == 1).map(|(s, _)| s);
    if arg.dtype.is_none() {
        arg.notes.push("dtype = \"?\"   # what are its elements? Their type is not a number".into());
    }
    match extents(sources.slice(g.span), &g.name, unit) {
        Some(shape) => arg.shape = shape,
        None => arg.notes.push("shape = [\"?\"]   # how many elements has it? Its extents are not known".into()),
    }
    if arg.dtype.is_some_and(|d| !d.is_float()) {
        arg.legal = Some((Bound::Int(Expr::Int(0)), Bound::Int(Expr::Int(8))));
        arg.proposed.field("legal");
        arg.notes.push("The host puts integers there: which values are legal?".into());
    }
    Some(arg)
}

/// `[K][K]` behind the name, with the constants of the file; one element without.
fn extents(declaration: &str, name: &str, unit: &Unit) -> Option<Vec<Expr>> {
    let at = declaration.rfind(name)?;
    let mut rest = declaration.get(at + name.len()..)?.trim_start();
    let value = |n: &str| {
        let constants = unit.constants.iter().filter(|(m, ..)| m == n).map(|(_, v, _)| *v);
        let globals = unit.globals.iter().filter(|g| g.name == n).filter_map(|g| g.value);
        constants.chain(globals).next().and_then(|v| i64::try_from(v).ok())
    };
    let mut found = vec![];
    while let Some(inner) = rest.strip_prefix('[') {
        let (text, after) = inner.split_once(']')?;
        found.push(Expr::Int(expr::parse(text).ok()?.eval(&value).ok()?));
        rest = after.trim_start();
    }
    if found.is_empty() {
        found.push(Expr::Int(1));
    }
    Some(found)
}
