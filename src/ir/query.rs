//! Questions about the IR that need no analysis: what is nested where, what is written, what is the same.

use super::*;
use crate::source::Span;
use crate::source::tokens::WordState;
use std::collections::{BTreeSet, HashMap};

/// What is known of functions by name: which parameters are references that can be written through.
#[derive(Clone, Debug, Default)]
pub struct Signatures {
    writable: HashMap<String, Vec<bool>, WordState>,
}

impl Signatures {
    /// Adds the functions of `unit`. Overloads of one name are united: a parameter is writable if it is in any.
    pub fn add(&mut self, unit: &Unit) {
        for f in unit.functions.iter().filter(|f| f.kind != FunctionKind::Lambda) {
            let flags = f.params.iter().map(|p| match &f.var(*p).ty {
                Type::Reference(r) => !r.is_const,
                // `auto&&` and the like are references; a template parameter's type may be one.
                Type::Auto => true,
                _ => false,
            });
            if !self.writable.contains_key(&f.name) {
                self.writable.insert(f.name.clone(), vec![]);
            }
            let Some(known) = self.writable.get_mut(&f.name) else { continue };
            for (i, flag) in flags.enumerate() {
                match known.get_mut(i) {
                    Some(k) => *k |= flag,
                    None => known.push(flag),
                }
            }
        }
    }

    /// Whether a call of `callee` may write the variable given as argument `index`.
    pub fn may_write(&self, callee: &str, index: usize) -> bool {
        let bare = callee.rsplit([':', '.', '>']).next().unwrap_or(callee);
        match self.writable.get(bare) {
            Some(flags) => flags.get(index).copied().unwrap_or(false),
            None => !takes_values(bare),
        }
    }
}

/// Functions of CUDA and the standard library that take their arguments by value.
fn takes_values(name: &str) -> bool {
    const PREFIXES: &[&str] = &["__", "atomic", "make_", "tex", "surf", "cuda", "wmma", "h2", "hadd", "hmul"];
    const NAMES: &[&str] = &[
        "min",
        "max",
        "abs",
        "printf",
        "assert",
        "ceil_div",
        "cdiv",
        "div_up",
        "size_t",
        "sync",
        "thread_rank",
        "size",
        "shfl",
        "shfl_down",
        "shfl_up",
        "shfl_xor",
        "any",
        "all",
        "ballot",
        "sqrt",
        "rsqrt",
        "exp",
        "log",
        "pow",
        "fma",
        "fmax",
        "fmin",
        "fabs",
        "floor",
        "ceil",
        "round",
        "tanh",
        "sin",
        "cos",
        "erf",
        "isnan",
        "isinf",
        "fmod",
        "exp2",
        "log2",
        "expm1",
        "log1p",
        "signbit",
        "hexp",
        "hlog",
        "hsqrt",
        "hrsqrt",
        "hrcp",
        "clock64",
        "clock",
        "memcpy",
        "memset",
        "malloc",
        "free",
        "load",
        "store",
        "get",
        "data",
        "rsqrtf",
        "numeric_limits",
        "infinity",
        "lowest",
    ];
    if PREFIXES.iter().any(|p| name.starts_with(p)) || NAMES.contains(&name) {
        return true;
    }
    // `expf`, `fmaxf`: the single-precision names.
    name.strip_suffix('f').is_some_and(|n| {
        NAMES.contains(&n)
            || matches!(
                n,
                "fdivide"
                    | "norm"
                    | "cbrt"
                    | "atan2"
                    | "atan"
                    | "acos"
                    | "asin"
                    | "cosh"
                    | "sinh"
                    | "tan"
                    | "trunc"
                    | "rint"
                    | "nearbyint"
                    | "copysign"
                    | "log10"
                    | "exp10"
                    | "erfc"
            )
    })
}

/// Methods that leave their object as it was: those of cooperative groups, and the sizes of containers.
fn keeps_receiver(callee: &str) -> bool {
    const METHODS: &[&str] = &[
        "sync",
        "thread_rank",
        "num_threads",
        "size",
        "group_index",
        "thread_index",
        "group_dim",
        "meta_group_rank",
        "meta_group_size",
        "cluster_rank",
        "num_clusters",
        "block_rank",
        "num_blocks",
        "block_index",
        "shfl",
        "shfl_down",
        "shfl_up",
        "shfl_xor",
        "any",
        "all",
        "ballot",
        "numel",
        "dim",
        "empty",
        "stride",
        "sizes",
        "strides",
    ];
    METHODS.contains(&last_part(callee))
}

/// The blocks directly inside a statement, in the order of the text.
pub fn blocks_of(stmt: &Stmt) -> Vec<&Block> {
    match &stmt.kind {
        StmtKind::If { then, otherwise, .. } => std::iter::once(then).chain(otherwise).collect(),
        StmtKind::For { body, .. }
        | StmtKind::While { body, .. }
        | StmtKind::DoWhile { body, .. }
        | StmtKind::OpaqueLoop { body, .. }
        | StmtKind::Switch { body, .. } => vec![body],
        StmtKind::Block(block) => vec![block],
        StmtKind::Preprocessor { arms } => arms.iter().map(|(_, b)| b).collect(),
        _ => vec![],
    }
}

/// Every statement under `block`, outer before inner, in the order of the text. The initialisers of `for` headers are
/// among them.
pub fn stmts_in(f: &Function, block: &Block) -> Vec<StmtId> {
    let mut found = vec![];
    let mut stack: Vec<StmtId> = block.stmts.iter().rev().copied().collect();
    while let Some(id) = stack.pop() {
        found.push(id);
        let stmt = f.stmt(id);
        for inner in blocks_of(stmt).into_iter().rev() {
            stack.extend(inner.stmts.iter().rev());
        }
        if let StmtKind::For { init, .. } = &stmt.kind {
            stack.extend(init.iter().rev());
        }
    }
    found
}

/// `stmt` and every statement inside it.
pub fn stmts_of(f: &Function, stmt: StmtId) -> Vec<StmtId> {
    stmts_in(f, &Block { stmts: vec![stmt] })
}

/// The expressions that stand in a statement itself, not in statements inside it, in the order of the text.
pub fn roots_of(stmt: &Stmt) -> Vec<ExprId> {
    match &stmt.kind {
        StmtKind::Declare { init, .. } => init.iter().copied().collect(),
        StmtKind::Expr(e) => vec![*e],
        StmtKind::If { condition, .. } | StmtKind::While { condition, .. } | StmtKind::DoWhile { condition, .. } => {
            vec![*condition]
        }
        StmtKind::For { condition, step, .. } => condition.iter().chain(step).copied().collect(),
        StmtKind::Switch { value, .. } => vec![*value],
        StmtKind::Return(e) => e.iter().copied().collect(),
        StmtKind::Asm { writes, reads, .. } => writes.iter().chain(reads).copied().collect(),
        StmtKind::Opaque { children, .. } => children.clone(),
        _ => vec![],
    }
}

/// Every expression under a statement, inner statements included.
pub fn exprs_of(f: &Function, stmt: StmtId) -> Vec<ExprId> {
    let stmts = stmts_of(f, stmt);
    stmts.iter().flat_map(|s| roots_of(f.stmt(*s))).flat_map(|e| f.under(e)).collect()
}

/// The variable that an lvalue writes directly: `x`, `x.member`; `None` for memory.
pub fn written_var(f: &Function, target: ExprId) -> Option<VarId> {
    let mut at = target;
    loop {
        match f.kind_of(at) {
            ExprKind::Var(v) => return Some(*v),
            ExprKind::Member { base, arrow: false, .. } => at = *base,
            ExprKind::Cast { operand, .. } => at = *operand,
            _ => return None,
        }
    }
}

/// Variables that evaluating `e` may write, once per place that writes; a variable whose address is taken counts.
pub fn writes_of_expr(f: &Function, e: ExprId, known: &Signatures) -> Vec<VarId> {
    let mut found = vec![];
    add_writes(f, e, known, &mut found);
    found
}

fn add_writes(f: &Function, e: ExprId, known: &Signatures, found: &mut Vec<VarId>) {
    for id in f.under(e) {
        match f.kind_of(id) {
            ExprKind::Assign { target, .. } | ExprKind::Increment { target, .. } | ExprKind::AddressOf(target) => {
                found.extend(written_var(f, *target));
            }
            ExprKind::Call { callee, args, receiver, .. } => {
                let by_reference = args.iter().enumerate().filter_map(|(i, a)| Some((i, plain_var(f, *a)?)));
                found.extend(by_reference.filter(|(i, _)| known.may_write(callee, *i)).map(|(_, v)| v));
                let changed = receiver.filter(|_| !keeps_receiver(callee));
                found.extend(changed.and_then(|r| plain_var(f, r)));
            }
            ExprKind::CallValue { args, .. } => found.extend(args.iter().filter_map(|a| plain_var(f, *a))),
            ExprKind::Opaque { children, .. } => found.extend(children.iter().filter_map(|a| plain_var(f, *a))),
            _ => {}
        }
    }
}

pub(super) fn plain_var(f: &Function, e: ExprId) -> Option<VarId> {
    match f.kind_of(e) {
        ExprKind::Var(v) => Some(*v),
        _ => None,
    }
}

/// Variables that `stmt`, with what is inside it, may write, once per place. A declaration writes its variable.
pub fn writes_of(f: &Function, stmt: StmtId, known: &Signatures) -> Vec<VarId> {
    let mut found = vec![];
    for id in stmts_of(f, stmt) {
        let s = f.stmt(id);
        match &s.kind {
            StmtKind::Declare { var, .. } => found.push(*var),
            StmtKind::Asm { writes, .. } => found.extend(writes.iter().filter_map(|w| written_var(f, *w))),
            StmtKind::Opaque { children, .. } => found.extend(children.iter().filter_map(|c| plain_var(f, *c))),
            _ => {}
        }
        for root in roots_of(s) {
            add_writes(f, root, known, &mut found);
        }
    }
    found
}

/// The variables written in `stmt`, as a set.
pub fn vars_written(f: &Function, stmt: StmtId, known: &Signatures) -> BTreeSet<VarId> {
    writes_of(f, stmt, known).into_iter().collect()
}

/// Where a function's name is used as a value: an address taken, an argument of `cudaLaunchKernel`, a function pointer.
/// Such a function may be called or launched from places that are not visible as launches.
pub fn mentions(unit: &Unit, name: &str) -> Vec<(FunctionId, ExprId)> {
    let mut found = vec![];
    for f in &unit.functions {
        for (i, e) in f.exprs.iter().enumerate() {
            if matches!(&e.kind, ExprKind::Name(n) if base_name(n) == name) {
                found.push((f.id, ExprId(i as u32)));
            }
        }
    }
    found
}

/// `ns::k<float, 4>` or `ns::k(float*, int)` without namespaces, template arguments and parameters.
pub fn base_name(written: &str) -> &str {
    let bare = written.split('<').next().unwrap_or(written);
    // A parameter list tells overloads apart; that of `operator()` is its name.
    let list = bare.find('(').filter(|at| !bare[..*at].ends_with("operator"));
    let bare = list.map_or(bare, |at| &bare[..at]);
    bare.rsplit("::").next().unwrap_or(bare).trim()
}

/// The variables that occur under `e`.
pub fn vars_in(f: &Function, e: ExprId) -> BTreeSet<VarId> {
    f.under(e).filter_map(|id| plain_var(f, id)).collect()
}

/// Whether evaluating `e` does more than compute a value: it writes, calls something not known to be pure, or is not
/// modelled. Reading memory is no side effect.
pub fn has_side_effects(f: &Function, e: ExprId) -> bool {
    f.under(e).any(|id| match f.kind_of(id) {
        ExprKind::Assign { .. } | ExprKind::Increment { .. } | ExprKind::Launch(_) | ExprKind::CallValue { .. } => true,
        ExprKind::Opaque { .. } => true,
        ExprKind::Call { callee, receiver, .. } => receiver.is_some() || !is_pure_call(callee),
        _ => false,
    })
}

/// Whether a call of this name only computes a value from its arguments. `__ldg` reads memory, which is allowed.
pub fn is_pure_call(callee: &str) -> bool {
    let name = callee.rsplit("::").next().unwrap_or(callee);
    const IMPURE: &[&str] = &[
        "__sync",
        "__shfl",
        "__ballot",
        "__any",
        "__all",
        "__match",
        "__activemask",
        "__threadfence",
        "__trap",
        "__nanosleep",
        "atomic",
        "__st",
        "__pipeline",
        "__prof",
        "__barrier",
        "__reduce",
        "cuda",
        "tex",
        "surf",
        "wmma",
        "__assert",
        "__mbarrier",
        "__cp",
    ];
    const EFFECTS: &[&str] = &[
        "printf", "assert", "sync", "memcpy", "memset", "malloc", "free", "clock", "clock64", "load", "store", "get",
        "data",
    ];
    takes_values(name) && !IMPURE.iter().any(|p| name.starts_with(p)) && !EFFECTS.contains(&name)
}

/// Variables that something else may reach: their address is taken, a reference is bound to them, or a lambda of this
/// function captures them (a captured variable of the lambda itself is in [`VarKind::Captured`]).
pub fn escaped(f: &Function) -> BTreeSet<VarId> {
    let mut found = BTreeSet::new();
    for e in &f.exprs {
        if let ExprKind::AddressOf(target) = &e.kind {
            found.extend(written_var(f, *target));
        }
    }
    for var in &f.vars {
        if let (Type::Reference(_), Some(init)) = (&var.ty, var.init) {
            found.extend(written_var(f, init));
        }
    }
    found
}

/// Whether the address of `var` is taken or a reference is bound to it.
pub fn address_taken(f: &Function, var: VarId) -> bool {
    escaped(f).contains(&var)
}

/// The statement in which `e` stands: the innermost one.
pub fn stmt_of_expr(f: &Function, e: ExprId) -> Option<StmtId> {
    let holds = |s: &Stmt| roots_of(s).into_iter().any(|r| f.under(r).any(|id| id == e));
    f.stmts.iter().position(holds).map(|i| StmtId(i as u32))
}

pub fn span_of(f: &Function, e: ExprId) -> Span {
    f.expr(e).span
}

/// Whether two expressions are the same apart from where they stand.
pub fn same_expr(f: &Function, a: ExprId, b: ExprId) -> bool {
    if a == b {
        return true;
    }
    let (x, y) = (f.kind_of(a), f.kind_of(b));
    let (left, right) = (x.operands(), y.operands());
    left.len() == right.len() && same_head(x, y) && left.zip(right).all(|(l, r)| same_expr(f, l, r))
}

/// Whether two kinds are the same without their operands.
fn same_head(x: &ExprKind, y: &ExprKind) -> bool {
    use ExprKind::*;
    match (x, y) {
        (Unary { op: a, .. }, Unary { op: b, .. }) => a == b,
        (Binary { op: a, .. }, Binary { op: b, .. }) => a == b,
        (Assign { op: a, .. }, Assign { op: b, .. }) => a == b,
        (Increment { delta: a, prefix: p, .. }, Increment { delta: b, prefix: q, .. }) => a == b && p == q,
        (Index { .. }, Index { .. }) | (Deref(_), Deref(_)) | (AddressOf(_), AddressOf(_)) => true,
        (Member { name: a, arrow: p, .. }, Member { name: b, arrow: q, .. }) => a == b && p == q,
        (
            Call { callee: a, template_args: p, receiver: r, .. },
            Call { callee: b, template_args: q, receiver: s, .. },
        ) => {
            // The receiver's text is part of the callee; its structure is compared as a child.
            p == q && r.is_some() == s.is_some() && (a == b || r.is_some() && last_part(a) == last_part(b))
        }
        (CallValue { .. }, CallValue { .. })
        | (Conditional { .. }, Conditional { .. })
        | (Comma { .. }, Comma { .. }) => true,
        (Cast { ty: a, style: p, .. }, Cast { ty: b, style: q, .. }) => a == b && p == q,
        (InitList(_), InitList(_)) => true,
        (Construct { ty: a, .. }, Construct { ty: b, .. }) => a == b,
        (Opaque { .. }, Opaque { .. }) | (Lambda(_), _) | (Launch(_), _) => false,
        _ => x == y,
    }
}

fn last_part(callee: &str) -> &str {
    callee.rsplit(['.', '>']).next().unwrap_or(callee)
}

#[cfg(test)]
mod tests;
