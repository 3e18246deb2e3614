//! What holds of a function whatever the launch: found once for all its contexts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use super::because::Because;
use super::effects::{Root, Scope, Writes, root};
use super::questions::Missing;
use crate::ir::*;
use crate::source::Span;

#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Variables that something may change without naming them.
    pub(super) escaped: BTreeSet<VarId>,
    /// Variables that an assignment, an increment or a method call may change.
    pub(super) assigned: BTreeSet<VarId>,
    pub(super) by_access: BTreeMap<ExprId, AccessId>,
    /// What each loop may write, its header included; made when the loop is first walked.
    loops: Vec<OnceLock<Writes>>,
    body: OnceLock<Writes>,
    /// What the statement of each loop may write by what the program says of the functions that it calls.
    written: Vec<OnceLock<BTreeSet<VarId>>>,
    parents: OnceLock<Vec<Vec<ExprId>>>,
    /// By variable, the remark that it changes.
    changes: Vec<OnceLock<Because>>,
    /// By tile, where it is used otherwise than by a full subscript.
    other_uses: Vec<OnceLock<OtherUse>>,
}

/// Where a tile is used otherwise than by a full subscript, if anywhere.
pub(super) type OtherUse = Result<Option<Span>, Missing>;

impl Notes {
    pub(super) fn of(scope: &Scope) -> Notes {
        let f = scope.function;
        Notes {
            escaped: scope.escaped(),
            assigned: assigned(f),
            by_access: f.accesses.iter().zip(0..).map(|(a, i)| (a.expr, AccessId(i))).collect(),
            loops: f.loops.iter().map(|_| OnceLock::new()).collect(),
            body: OnceLock::new(),
            written: f.loops.iter().map(|_| OnceLock::new()).collect(),
            parents: OnceLock::new(),
            changes: f.vars.iter().map(|_| OnceLock::new()).collect(),
            other_uses: f.tiles.iter().map(|_| OnceLock::new()).collect(),
        }
    }

    /// What the loop `id` may write; `find` says so where nobody asked before.
    pub(super) fn writes_of_loop(&self, id: LoopId, find: impl FnOnce() -> Writes) -> Writes {
        match self.loops.get(id.0 as usize) {
            Some(known) => known.get_or_init(find).clone(),
            None => find(),
        }
    }

    /// The variables that the loop `id` of `f` may write, where functions have these signatures.
    pub(super) fn written_in(&self, f: &Function, id: LoopId, known: &query::Signatures) -> Option<&BTreeSet<VarId>> {
        let written = self.written.get(id.0 as usize)?;
        Some(written.get_or_init(|| query::vars_written(f, f.loops[id.0 as usize].stmt, known)))
    }

    /// That a variable of `f` changes.
    pub(super) fn changes(&self, f: &Function, v: VarId) -> Because {
        let decl = f.var(v);
        let remark = || Because::at(decl.name_span, format!("`{}` changes", decl.name));
        self.changes.get(v.0 as usize).map_or_else(remark, |known| known.get_or_init(remark).clone())
    }

    /// Where the tile is used otherwise than by a full subscript; `find` says so where nobody asked before.
    pub(super) fn other_use(&self, tile: TileId, find: impl FnOnce() -> OtherUse) -> OtherUse {
        match self.other_uses.get(tile.0 as usize) {
            Some(known) => known.get_or_init(find).clone(),
            None => find(),
        }
    }

    /// The expressions that each expression is an operand of.
    pub(super) fn parents(&self, f: &Function) -> &[Vec<ExprId>] {
        self.parents.get_or_init(|| parents(f))
    }

    /// Whether the variable keeps its first value in the whole function.
    pub(super) fn is_never_assigned(&self, scope: &Scope, v: VarId) -> bool {
        let writes = self.body.get_or_init(|| scope.writes(&[], &[&scope.function.body]));
        !writes.all && !writes.vars.contains_key(&v) && !self.escaped.contains(&v)
    }
}

/// The expressions that each expression is an operand of.
fn parents(f: &Function) -> Vec<Vec<ExprId>> {
    let mut found = vec![vec![]; f.exprs.len()];
    for (i, e) in f.exprs.iter().enumerate() {
        for c in e.kind.children() {
            if let Some(list) = found.get_mut(c.0 as usize) {
                list.push(ExprId(i as u32));
            }
        }
    }
    found
}

fn assigned(f: &Function) -> BTreeSet<VarId> {
    let target = |e: &Expr| match &e.kind {
        ExprKind::Assign { target, .. } | ExprKind::Increment { target, .. } => Some(*target),
        ExprKind::Call { receiver, .. } => *receiver,
        _ => None,
    };
    let var = |e| if let Root::Var(v, _) = root(f, e) { Some(v) } else { None };
    f.exprs.iter().filter_map(target).filter_map(var).collect()
}
