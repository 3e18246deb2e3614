//! Surfaces from statements: loops, accesses, barriers, warp operations, atomics, reductions and calls of one function,
//! each with the loops around it and the conditions under which it runs.
//!
//! Language neutral and pure: the statement tree is read, the lists of [`Function`] are filled anew.

mod access;
mod calls;
mod induction;
mod reduce;
mod walk;

use super::query::Signatures;
use super::*;

/// Collects every function of a unit, with what the unit knows of its own functions.
pub fn collect_unit(unit: &mut Unit) {
    let mut known = Signatures::default();
    known.add(unit);
    collect_unit_with(unit, &known);
}

/// The same with signatures of a whole program.
pub fn collect_unit_with(unit: &mut Unit, known: &Signatures) {
    let written = captured_writes(unit, known);
    for (f, by_lambdas) in unit.functions.iter_mut().zip(written) {
        collect(f, known, &by_lambdas);
    }
}

/// Fills the surface lists of `f`. `by_lambdas` names the variables of `f` that lambdas in it write.
pub fn collect(f: &mut Function, known: &Signatures, by_lambdas: &[String]) {
    let escaped = query::escaped(f);
    let mut walk = walk::Walk::new(f, known, by_lambdas, &escaped);
    walk.run();
    let found = walk.found;
    f.exprs.extend(found.exprs);
    f.vars.extend(found.vars);
    f.accesses = found.accesses;
    f.barriers = found.barriers;
    f.warp_ops = found.warp_ops;
    f.atomics = found.atomics;
    f.calls = found.calls;
    for (lp, facts) in f.loops.iter_mut().zip(found.loops) {
        lp.stmt = facts.stmt;
        lp.parent = facts.parent;
        lp.guards = facts.guards;
        lp.has_break = facts.has_break;
        lp.has_continue = facts.has_continue;
        lp.has_return = facts.has_return;
    }
    f.tiles = tiles(f);
    induction::run(f, known, by_lambdas, &escaped);
    f.reductions = reduce::run(f, &escaped);
}

/// For every function, the names of its variables that lambdas inside it may write.
fn captured_writes(unit: &Unit, known: &Signatures) -> Vec<Vec<String>> {
    let mut found = vec![vec![]; unit.functions.len()];
    for f in &unit.functions {
        let Some(parent) = f.parent else { continue };
        let mut written: Vec<String> = vec![];
        for (i, var) in f.vars.iter().enumerate().filter(|(_, v)| v.kind == VarKind::Captured) {
            let id = VarId(i as u32);
            let writes = |s: &StmtId| query::writes_of(f, *s, known).contains(&id);
            if f.body.stmts.iter().any(writes) || query::address_taken(f, id) {
                written.push(var.name.clone());
            }
        }
        if let Some(list) = found.get_mut(parent.0 as usize) {
            list.extend(written);
        }
    }
    found
}

/// Shared variables in the order of their declaration.
fn tiles(f: &Function) -> Vec<SharedTile> {
    let mut found = vec![];
    for (i, var) in f.vars.iter().enumerate().filter(|(_, v)| v.kind == VarKind::Shared) {
        let id = VarId(i as u32);
        let declares = |s: &Stmt| matches!(&s.kind, StmtKind::Declare { var, .. } if *var == id);
        let stmt = f.stmts.iter().position(declares).map(|s| StmtId(s as u32));
        let mut dims = vec![];
        let mut at = &var.ty;
        while let Type::Array { elem, len } = at {
            dims.push(*len);
            at = elem;
        }
        found.push(SharedTile { var: id, dims, is_dynamic: var.is_extern, stmt });
    }
    found
}
