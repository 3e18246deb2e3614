//! Statement ranges: the smallest run of sibling statements that covers some edits, and what it declares.

use crate::ir::{Block, Function, StmtId, StmtKind};
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
        let hit = |id: &&StmtId| spans.iter().any(|s| touches(whole(f, **id), *s));
        let run: Vec<StmtId> = block.stmts.iter().filter(hit).copied().collect();
        let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
        let run_span = whole(f, *first).to(whole(f, *last));
        if !spans.iter().all(|s| run_span.contains(*s)) {
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

/// A statement with the `#pragma unroll` in front of it.
pub fn whole(f: &Function, stmt: StmtId) -> Span {
    let span = f.stmt(stmt).span;
    let pragma = f.loops.iter().find(|k| k.stmt == stmt).and_then(|k| k.unroll.as_ref());
    pragma.map_or(span, |(_, p)| p.to(span))
}

fn touches(stmt: Span, span: Span) -> bool {
    stmt.overlaps(span) || (span.is_empty() && stmt.start <= span.start && span.start <= stmt.end)
}

/// Whether one of the statements declares a name at the level of the run, so that it cannot be moved into a branch.
pub fn declares(f: &Function, run: &[StmtId]) -> bool {
    run.iter().any(|s| matches!(f.stmt(*s).kind, StmtKind::Declare { .. }))
}
