//! The range of what host code stores into memory that is copied to a device, where its text shows one: `rand() % n`, a
//! loop that stores its variable, constants.

use super::dims::Choice;
use super::host::Host;
use super::legal::Shown;
use super::value::combine;
use crate::contract::{Expr, Op};
use crate::ir::*;
use crate::source::Span;

/// From one store, or from several.
#[derive(Clone, Debug)]
struct Range {
    least: Expr,
    most: Expr,
    span: Span,
}

/// A function with the arguments of the call that came here.
#[derive(Clone, Copy)]
struct Seen<'s, 'a> {
    unit: u32,
    f: &'a Function,
    args: &'s [ExprId],
    from: Option<&'s Seen<'s, 'a>>,
    depth: u32,
}

/// Functions of the library that leave the elements as they are, or only move them.
const HARMLESS: &[&str] = &[
    "free",
    "delete",
    "printf",
    "fprintf",
    "sort",
    "shuffle",
    "random_shuffle",
    "reverse",
    "stable_sort",
    "size",
    "data",
    "begin",
    "end",
    "resize",
    "assert",
    "malloc",
    "calloc",
    "back",
    "front",
];

impl<'a> Host<'a> {
    /// What the host code stores into the memory that a buffer is copied from, where every store in view is understood.
    pub(super) fn filled(&self, buffer: usize, choice: &Choice) -> Option<Shown> {
        let mut ranges: Vec<Range> = vec![];
        let mut sites: Vec<(u32, FunctionId, VarId)> = vec![];
        for (_, unit, function, e) in self.contents.iter().filter(|c| c.0 == buffer) {
            let f = self.program.unit(*unit).function(*function);
            sites.push((*unit, *function, f.walk(*e).into_iter().find_map(|e| memory(f, e))?));
        }
        let own = self.buffers.get(buffer)?;
        if sites.is_empty() && own.is_managed {
            let unit = self.program.unit(self.root);
            for f in unit.functions.iter().filter(|f| f.kind == FunctionKind::Host) {
                let named = f.vars.iter().position(|v| v.name == own.name && matches!(v.ty, Type::Pointer(_)));
                let local = named.map(|i| VarId(i as u32)).filter(|v| !f.params.contains(v));
                sites.extend(local.map(|v| (self.root, f.id, v)));
            }
        }
        sites.sort_unstable();
        sites.dedup();
        for (unit, function, v) in sites {
            let f = self.program.unit(unit).function(function);
            let seen = Seen { unit, f, args: &[], from: None, depth: 0 };
            ranges.extend(self.stores(&seen, v)?);
        }
        let whole = ranges.into_iter().reduce(|a, b| Range {
            least: nearer(a.least, b.least, Op::Min),
            most: nearer(a.most, b.most, Op::Max),
            span: a.span,
        })?;
        let file = self.sources.get(whole.span.file);
        let line = file.lines.position(&file.text, whole.span.start as usize).line;
        let settled = |e: &Expr| self.over_dims(&choice.settle(e), choice);
        Some(Shown { least: settled(&whole.least)?, most: settled(&whole.most)?, line })
    }

    /// Over the dims of the plan, else the number in view.
    fn over_dims(&self, e: &Expr, choice: &Choice) -> Option<Expr> {
        let of_plan = |n: &str| choice.dims.iter().any(|d| d.name == n);
        if e.names().into_iter().all(of_plan) { Some(e.clone().folded()) } else { self.sampled(e).map(Expr::Int) }
    }

    /// Every store through a variable; `None` where one is not understood.
    fn stores(&self, seen: &Seen<'_, 'a>, v: VarId) -> Option<Vec<Range>> {
        let f = seen.f;
        let is_it = |e: ExprId| f.walk(e).into_iter().find_map(|e| memory(f, e)) == Some(v);
        let mut found = vec![];
        if let Some(ExprKind::Construct { args, .. }) = f.var(v).init.map(|e| f.kind_of(e))
            && let [_, value] = args.as_slice()
        {
            found.push(self.values_of(seen, *value)?);
        }
        for e in &f.exprs {
            match &e.kind {
                ExprKind::Assign { op, target, value } => {
                    let place = match f.kind_of(*target) {
                        ExprKind::Index { base, .. } | ExprKind::Deref(base) => is_it(*base),
                        _ => false,
                    };
                    match op {
                        _ if !place => {}
                        None => found.push(self.values_of(seen, *value)?),
                        Some(_) => return None,
                    }
                }
                ExprKind::Increment { target, .. } => match f.kind_of(*target) {
                    ExprKind::Index { base, .. } if is_it(*base) => return None,
                    _ => {}
                },
                ExprKind::Call { callee, args, receiver, .. } => {
                    let own = |a: &ExprId| memory(f, *a) == Some(v) || handed(f, *a) == Some(v);
                    let at = args.iter().position(&own);
                    let method = receiver.as_ref().is_some_and(own);
                    if at.is_some() || method {
                        found.extend(self.stored_by(seen, query::base_name(callee), args, at)?);
                    }
                }
                _ => {}
            }
        }
        Some(found)
    }

    /// What a call stores into an argument.
    fn stored_by(&self, seen: &Seen<'_, 'a>, name: &str, args: &[ExprId], at: Option<usize>) -> Option<Vec<Range>> {
        if name.starts_with("cuda") || HARMLESS.contains(&name) {
            return Some(vec![]);
        }
        match (name, args) {
            ("push_back" | "emplace_back", [value]) => return Some(vec![self.values_of(seen, *value)?]),
            ("fill", [_, _, value]) | ("fill_n", [_, _, value]) | ("assign", [_, value]) => {
                return Some(vec![self.values_of(seen, *value)?]);
            }
            ("memset", [_, value, _]) => {
                return match seen.f.kind_of(*value) {
                    ExprKind::Int(0) => Some(vec![self.values_of(seen, *value)?]),
                    _ => None,
                };
            }
            _ => {}
        }
        let mut callees = self.view.functions(name).iter().copied();
        let (r, None) = (callees.next()?, callees.next()) else { return None };
        let g = self.program.function(r);
        let param = *g.params.get(at?)?;
        if g.body_span.is_none() || seen.depth > 3 {
            return None;
        }
        let next = Seen { unit: r.unit, f: g, args, from: Some(seen), depth: seen.depth + 1 };
        self.stores(&next, param)
    }

    fn values_of(&self, seen: &Seen<'_, 'a>, e: ExprId) -> Option<Range> {
        let f = seen.f;
        let span = f.expr(e).span;
        let of = |least: Expr, most: Expr| Some(Range { least, most, span });
        let below = |e: Expr| combine(Op::Sub, e, Expr::Int(1));
        if let Some(n) = self.number(seen, e) {
            return of(n.clone(), n);
        }
        match f.kind_of(e) {
            ExprKind::Cast { operand, .. } => self.values_of(seen, *operand),
            ExprKind::Binary { op, left, right } => match op {
                BinaryOp::Rem => of(Expr::Int(0), below(self.number(seen, *right)?)),
                BinaryOp::BitAnd => of(Expr::Int(0), self.number(seen, *right)?),
                BinaryOp::Add => {
                    let (a, b) = (self.values_of(seen, *left)?, self.values_of(seen, *right)?);
                    of(combine(Op::Add, a.least, b.least), combine(Op::Add, a.most, b.most))
                }
                BinaryOp::Sub => {
                    let (a, b) = (self.values_of(seen, *left)?, self.values_of(seen, *right)?);
                    of(combine(Op::Sub, a.least, b.most), combine(Op::Sub, a.most, b.least))
                }
                BinaryOp::Mul => {
                    let (a, b) = (self.values_of(seen, *left)?, self.values_of(seen, *right)?);
                    let low = |r: &Range| r.least.constant().is_some_and(|v| v >= 0);
                    if !low(&a) || !low(&b) {
                        return None;
                    }
                    of(combine(Op::Mul, a.least, b.least), combine(Op::Mul, a.most, b.most))
                }
                _ => None,
            },
            ExprKind::Conditional { then, otherwise, .. } => {
                let (a, b) = (self.values_of(seen, *then)?, self.values_of(seen, *otherwise)?);
                of(nearer(a.least, b.least, Op::Min), nearer(a.most, b.most, Op::Max))
            }
            ExprKind::Var(v) => {
                let of_loop = |l: &&Loop| l.induction.as_ref().is_some_and(|i| i.var == *v);
                if let Some(i) = f.loops.iter().find(of_loop).and_then(|l| l.induction.as_ref()) {
                    let from = self.number(seen, i.init?)?;
                    let bound = self.number(seen, i.bound)?;
                    return match i.compare {
                        Compare::Lt => of(from, below(bound)),
                        Compare::Le => of(from, bound),
                        _ => None,
                    };
                }
                self.values_of(seen, unwritten(f, *v)?)
            }
            // `distribution(generator)`
            ExprKind::CallValue { callee, .. } => {
                let ExprKind::Var(v) = f.kind_of(*callee) else { return None };
                let v = f.var(*v);
                let named = matches!(&v.ty, Type::Named(n) if n.contains("uniform_int_distribution"));
                let args = match f.kind_of(v.init.filter(|_| named)?) {
                    ExprKind::Construct { args, .. } | ExprKind::InitList(args) => args,
                    _ => return None,
                };
                let [a, b] = args.as_slice() else { return None };
                of(self.number(seen, *a)?, self.number(seen, *b)?)
            }
            _ => None,
        }
    }

    /// A number that does not change while the code runs.
    fn number(&self, seen: &Seen<'_, 'a>, e: ExprId) -> Option<Expr> {
        let f = seen.f;
        let symbol = |name: &str| {
            let all = self.symbols.iter().filter(|s| s.name == name);
            all.map(|s| Expr::name(&s.name)).next()
        };
        match f.kind_of(e) {
            ExprKind::Int(v) => i64::try_from(*v).ok().map(Expr::Int),
            ExprKind::Cast { operand, .. } => self.number(seen, *operand),
            ExprKind::Unary { op: UnaryOp::Neg, operand } => Some(Expr::Int(-self.number(seen, *operand)?.constant()?)),
            ExprKind::Binary { op, left, right } => {
                let op = match op {
                    BinaryOp::Add => Op::Add,
                    BinaryOp::Sub => Op::Sub,
                    BinaryOp::Mul => Op::Mul,
                    BinaryOp::Div => Op::Div,
                    _ => return None,
                };
                Some(combine(op, self.number(seen, *left)?, self.number(seen, *right)?))
            }
            ExprKind::Var(v) => {
                if let (Some(n), Some(from)) = (f.params.iter().position(|p| p == v), seen.from) {
                    return self.number(from, *seen.args.get(n)?);
                }
                let var = f.var(*v);
                let counted = f.loops.iter().any(|l| l.induction.as_ref().is_some_and(|i| i.var == *v));
                match var.kind {
                    _ if counted => None,
                    VarKind::Local | VarKind::Param => symbol(&var.name)
                        .filter(|_| unwritten(f, *v).is_some() || f.params.contains(v))
                        .or_else(|| self.number(seen, unwritten(f, *v)?)),
                    _ => self.constant(seen.unit, &var.name).or_else(|| symbol(&var.name)),
                }
            }
            ExprKind::Name(n) => symbol(query::base_name(n)).or_else(|| self.constant(seen.unit, query::base_name(n))),
            _ => None,
        }
    }

    fn constant(&self, unit: u32, name: &str) -> Option<Expr> {
        let unit = self.program.unit(unit);
        let mut values = unit.constants.iter().filter(|(n, ..)| n == name).map(|(_, v, _)| *v);
        let of_file = unit.globals.iter().filter(|g| g.name == name && (g.is_const || g.is_constexpr));
        let first = values.next().or_else(|| of_file.filter_map(|g| g.value).next())?;
        values.all(|v| v == first).then(|| i64::try_from(first).ok().map(Expr::Int)).flatten()
    }
}

/// The initialiser of a variable that nothing else writes.
fn unwritten(f: &Function, v: VarId) -> Option<ExprId> {
    let writes = f.exprs.iter().any(|e| match &e.kind {
        ExprKind::Assign { target, .. } | ExprKind::Increment { target, .. } | ExprKind::AddressOf(target) => {
            matches!(f.kind_of(*target), ExprKind::Var(w) if *w == v)
        }
        _ => false,
    });
    f.var(v).init.filter(|_| !writes)
}

/// The variable of a pointer, an array or a container.
fn memory(f: &Function, e: ExprId) -> Option<VarId> {
    let ExprKind::Var(v) = f.kind_of(e) else { return None };
    let holds = matches!(
        f.var(*v).ty,
        Type::Pointer(_) | Type::Array { .. } | Type::Named(_) | Type::Reference(_) | Type::Auto
    );
    holds.then_some(*v)
}

/// The memory that an argument hands on: `h.data()`, `h.begin()`, `&h[0]`, `(void*)h`.
fn handed(f: &Function, e: ExprId) -> Option<VarId> {
    match f.kind_of(e) {
        ExprKind::Cast { operand, .. } | ExprKind::AddressOf(operand) => handed(f, *operand),
        ExprKind::Index { base, .. } if matches!(f.expr(e).ty, Type::Array { .. }) => handed(f, *base),
        ExprKind::Call { receiver: Some(r), .. } => memory(f, *r),
        ExprKind::Binary { op: BinaryOp::Add, left, .. } => handed(f, *left),
        _ => memory(f, e),
    }
}

/// The smaller or the larger of two.
fn nearer(a: Expr, b: Expr, op: Op) -> Expr {
    match (a.constant(), b.constant()) {
        (Some(x), Some(y)) => Expr::Int(if op == Op::Min { x.min(y) } else { x.max(y) }),
        _ if a == b => a,
        _ => Expr::binary(op, a, b),
    }
}
