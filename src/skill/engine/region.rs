//! Statement ranges: the smallest run of sibling statements that covers some edits, and what it declares.

use crate::ir::{Block, Function, Stmt, StmtId, StmtKind};
use crate::source::Span;

/// The blocks directly inside a statement.
pub fn child_blocks(kind: &StmtKind) -> Vec<&Block> {
    match kind {
        StmtKind::If { then, otherwise, .. } => std::iter::once(then).chain(otherwise).collect(),
        StmtKind::For { body, .. }
        | StmtKind::While { body, .. }
        | StmtKind::DoWhile { body, .. }
        | StmtKind::OpaqueLoop { body, .. }
        | StmtKind::Switch { body, .. }
        | StmtKind::Block(body) => vec![body],
        StmtKind::Preprocessor { arms } => arms.iter().map(|(_, b)| b).collect(),
        _ => vec![],
    }
}

/// The smallest run of sibling statements of `f` that covers every span, or `None` where an edit lies outside the body.
pub fn covering(f: &Function, spans: &[Span]) -> Option<Vec<StmtId>> {
    let mut best: Option<Vec<StmtId>> = None;
    let mut pending = vec![&f.body];
    while let Some(block) = pending.pop() {
        let hit = |id: &&StmtId| spans.iter().any(|s| touches(f.stmt(**id), *s));
        let run: Vec<StmtId> = block.stmts.iter().filter(hit).copied().collect();
        let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
        let whole = f.stmt(*first).span.to(f.stmt(*last).span);
        if !spans.iter().all(|s| whole.contains(*s)) {
            continue;
        }
        let start = block.stmts.iter().position(|s| s == first)?;
        let end = block.stmts.iter().position(|s| s == last)?;
        best = Some(block.stmts[start..=end].to_vec());
        if let [only] = run[..] {
            pending.extend(child_blocks(&f.stmt(only).kind));
        }
    }
    best
}

fn touches(stmt: &Stmt, span: Span) -> bool {
    stmt.span.overlaps(span) || (span.is_empty() && stmt.span.start <= span.start && span.start <= stmt.span.end)
}

/// Whether one of the statements declares a name at the level of the run, so that it cannot be moved into a branch.
pub fn declares(f: &Function, run: &[StmtId]) -> bool {
    run.iter().any(|s| matches!(f.stmt(*s).kind, StmtKind::Declare { .. }))
}
