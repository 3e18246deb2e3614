//! Which values of a buffer are legal, where they decide a place in memory: a question to the caller, with the range in
//! which the places are inside where the kernel or the host code shows one.

use std::collections::{BTreeMap, BTreeSet};

use super::build::{Builder, Use};
use super::dims::Choice;
use super::flow::{Given, Reached, Sources, follow};
use super::kernels::Kernels;
use super::memory::Memory;
use super::value::{Val, combine, divide, same_size};
use crate::contract::{Bound, Expr, Init, Op, Plan, Proposed, Step};
use crate::ir::*;

/// One launch as this question sees it.
pub(super) struct Asked<'p> {
    pub r: FunctionRef,
    /// For each parameter the argument of the plan that it is given.
    pub args: Vec<Option<usize>>,
    /// Integer arguments by parameter.
    pub ints: BTreeMap<VarId, Expr>,
    /// Whether an access or atomic is shown to be inside whatever memory holds.
    pub is_inside: Box<dyn Fn(ExprId) -> bool + 'p>,
}

/// A range that host code shows, and the line that does.
pub(super) struct Shown {
    pub least: Expr,
    pub most: Expr,
    pub line: u32,
}

/// Lines that one question lists.
const MAX_PLACES: usize = 3;

impl Builder<'_, '_> {
    /// Asks for the legal range of every buffer whose contents decide a place that is not shown to be inside.
    pub(super) fn legal(&self, uses: &[Use], memories: &[Memory], choice: &Choice, multiple: i64, plan: &mut Plan) {
        let of = |v: &Val| {
            let Val::Device { buffer, .. } = v else { return None };
            let name = &memories.iter().find(|m| m.id == *buffer)?.name;
            plan.args.iter().position(|a| a.name == *name)
        };
        let pinned = choice.pinned();
        let mut asked = vec![];
        for u in uses {
            let settle = |e: &Expr| choice.settle(e);
            let pairs = u.f.params.iter().zip(&u.l.args);
            let ints = pairs.filter_map(|(p, v)| if let Val::Int(e) = v { Some((*p, settle(e))) } else { None });
            let known = self.kernels.known(u.r);
            let pinned = &pinned;
            let is_inside = move |at: ExprId| {
                let Some(known) = &known else { return false };
                let facts = known.facts(Some(u.l.at));
                // For all sizes, or for those in view.
                [choice, pinned].into_iter().any(|c| self.sized(facts, u, memories, c, multiple).shows_inside(at))
            };
            let args = u.l.args.iter().map(of).collect();
            asked.push(Asked { r: u.r, args, ints: ints.collect(), is_inside: Box::new(is_inside) });
        }
        let ids: Vec<Option<usize>> =
            plan.args.iter().map(|a| memories.iter().find(|m| m.name == a.name).map(|m| m.id)).collect();
        let shown = |arg: usize| self.host.filled(ids.get(arg).copied().flatten()?, choice);
        ask(self.kernels, &asked, &shown, plan);
    }
}

/// Follows what the buffers hold through all steps, and asks.
pub(super) fn ask(kernels: &Kernels, launches: &[Asked], shown: &dyn Fn(usize) -> Option<Shown>, plan: &mut Plan) {
    let mut held: Vec<Sources> = (0..plan.args.len()).map(|i| begins(plan, i)).collect();
    let mut found: BTreeMap<usize, Vec<(usize, Reached)>> = BTreeMap::new();
    let mut next = 0;
    for step in &plan.steps {
        match step {
            Step::Launch(_) => {
                let Some(asked) = launches.get(next) else { continue };
                for r in run(kernels, asked, plan, &mut held) {
                    found.entry(r.source).or_default().push((next, r));
                }
                next += 1;
            }
            Step::Copy { from, to, .. } => {
                let at = |name: &str| plan.args.iter().position(|a| a.name == name);
                if let (Some(a), Some(b)) = (at(&from.buffer), at(&to.buffer)) {
                    let more = held.get(a).cloned().unwrap_or_default();
                    held.get_mut(b).into_iter().for_each(|h| h.extend(&more));
                }
            }
            Step::Fill { .. } => {}
        }
    }
    for (source, places) in found {
        let open: Vec<&(usize, Reached)> =
            places.iter().filter(|(n, r)| launches.get(*n).is_some_and(|l| !(l.is_inside)(r.at))).collect();
        if !open.is_empty() {
            question(kernels, launches, &open, source, shown(source), plan);
        }
    }
}

/// Generated contents are a source; zeros and poison are none.
fn begins(plan: &Plan, i: usize) -> Sources {
    let generated = plan.args.get(i).is_some_and(|a| a.is_buffer() && a.init() == Init::Keep && a.legal.is_none());
    if generated { Sources::from([i]) } else { Sources::new() }
}

/// Follows one launch; what it leaves in the buffers stays there.
fn run(kernels: &Kernels, asked: &Asked, plan: &Plan, held: &mut [Sources]) -> BTreeSet<Reached> {
    let symbols = plan.args.iter().enumerate().filter_map(|(i, a)| Some((query::base_name(a.symbol.as_ref()?), i)));
    let globals: BTreeMap<String, Sources> =
        symbols.clone().map(|(name, i)| (name.to_owned(), held.get(i).cloned().unwrap_or_default())).collect();
    let memory = |arg: &Option<usize>| arg.and_then(|i| held.get(i)).cloned().unwrap_or_default();
    let given: Vec<Given> = asked.args.iter().map(|a| Given { memory: memory(a), ..Given::default() }).collect();
    if given.iter().all(|g| g.memory.is_empty()) && globals.values().all(Sources::is_empty) {
        return BTreeSet::new();
    }
    let followed = follow(kernels, asked.r, &given, &globals);
    for (arg, left) in asked.args.iter().zip(&followed.memory) {
        arg.and_then(|i| held.get_mut(i)).into_iter().for_each(|h| h.extend(left));
    }
    for (name, i) in symbols {
        let left = followed.globals.get(name).into_iter().flatten();
        held.get_mut(i).into_iter().for_each(|h| h.extend(left.clone()));
    }
    followed.reached
}

fn question(
    kernels: &Kernels,
    launches: &[Asked],
    open: &[&(usize, Reached)],
    source: usize,
    shown: Option<Shown>,
    plan: &mut Plan,
) {
    let mut places: Vec<String> = vec![];
    let mut tops: Vec<Expr> = vec![];
    for (n, r) in open {
        let Some(asked) = launches.get(*n) else { continue };
        let file = kernels.sources.get(r.span.file);
        let line = file.lines.position(&file.text, r.span.start as usize).line;
        let text = file.text.get(r.span.start as usize..r.span.end as usize).unwrap_or("");
        let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(60).collect();
        let place = format!("`{text}` in line {line}");
        if !places.contains(&place) {
            places.push(place);
        }
        let top = Top { kernels, asked, plan, source }.of(r.at);
        tops.extend(top.filter(|t| !tops.iter().any(|o| same_size(o, t))));
    }
    let more =
        if places.len() > MAX_PLACES { format!(", and {} more", places.len() - MAX_PLACES) } else { String::new() };
    places.truncate(MAX_PLACES);
    let top = tops.into_iter().reduce(|a, b| Expr::binary(Op::Min, a, b));
    let Some(arg) = plan.args.get_mut(source) else { return };
    arg.notes.push(format!("Its elements decide the place of {}{more}: which values are legal?", places.join(", ")));
    match (shown, top) {
        (Some(s), _) => {
            arg.notes.push(format!("Line {} fills it with values of this range.", s.line));
            arg.legal = Some((Bound::Int(s.least), Bound::Int(s.most)));
        }
        (None, Some(most)) => arg.legal = Some((Bound::Int(Expr::Int(0)), Bound::Int(most))),
        (None, None) => arg.notes.push("legal = [\"?\", \"?\"]   # no range could be read off the files".into()),
    }
    if arg.proposed.all && arg.legal.is_none() {
        // A guess at the whole table does not answer this.
        let known = [("role", true), ("dtype", arg.dtype.is_some()), ("shape", !arg.shape.is_empty())];
        let fields = known.into_iter().filter(|(_, k)| *k).map(|(f, _)| f.to_owned()).collect();
        arg.proposed = Proposed { all: false, fields };
    }
    if !arg.proposed.all {
        arg.proposed.field("legal");
    }
}

/// The largest element of a buffer with which an access that it decides is inside, where the text shows it: the element
/// is the index, a factor of it, or the bound of the loop that counts it.
struct Top<'t, 'a> {
    kernels: &'t Kernels<'a>,
    asked: &'t Asked<'t>,
    plan: &'t Plan,
    source: usize,
}

impl Top<'_, '_> {
    fn of(&self, at: ExprId) -> Option<Expr> {
        let f = self.kernels.function(self.asked.r);
        let place = match f.kind_of(at) {
            ExprKind::Call { args, .. } => match f.kind_of(*args.first()?) {
                ExprKind::AddressOf(place) => *place,
                _ => *args.first()?,
            },
            _ => at,
        };
        let (base, index) = match f.kind_of(place) {
            ExprKind::Index { base, index } => (*base, *index),
            ExprKind::Binary { op: BinaryOp::Add, left, right } => (*left, *right),
            ExprKind::Deref(p) => match f.kind_of(*p) {
                ExprKind::Binary { op: BinaryOp::Add, left, right } => (*left, *right),
                _ => return None,
            },
            _ => return None,
        };
        let ExprKind::Var(base) = f.kind_of(base) else { return None };
        let size = self.elements(f, *base)?;
        self.largest(f, index, &size, 0)
    }

    /// Elements behind a parameter, or of an array of the kernel.
    fn elements(&self, f: &Function, base: VarId) -> Option<Expr> {
        let Some(n) = f.params.iter().position(|p| *p == base) else {
            let Type::Array { elem, len: Some(len) } = &f.var(base).ty else { return None };
            let known = self.kernels.known(self.asked.r)?;
            let scalar = matches!(**elem, Type::Scalar(_));
            return super::propose::constant(&known.analysis.general, *len).filter(|_| scalar).map(Expr::Int);
        };
        let arg = self.plan.args.get((*self.asked.args.get(n)?)?)?;
        let own = f.var(base).ty.element().and_then(Type::scalar);
        let same = own.is_none() || own.map(Scalar::bytes) == arg.dtype.map(Scalar::bytes);
        arg.shape.iter().cloned().reduce(|a, b| combine(Op::Mul, a, b)).filter(|_| same)
    }

    /// The largest element for which `index < size`, where the index is made of the element in a way that is understood.
    fn largest(&self, f: &Function, index: ExprId, size: &Expr, depth: u32) -> Option<Expr> {
        if depth > 6 {
            return None;
        }
        if self.is_element(f, index) {
            return Some(combine(Op::Sub, size.clone(), Expr::Int(1)).folded());
        }
        match f.kind_of(index) {
            ExprKind::Cast { operand, .. } => self.largest(f, *operand, size, depth + 1),
            ExprKind::Var(v) => {
                // A loop's variable goes up to one below its bound.
                let of = |l: &&Loop| l.induction.as_ref().is_some_and(|i| i.var == *v);
                if let Some(i) = f.loops.iter().find(of).and_then(|l| l.induction.as_ref()) {
                    let below = |e: ExprId| self.is_element(f, self.initial(f, e));
                    return (i.compare == Compare::Lt && below(i.bound)).then(|| size.clone());
                }
                let initial = self.initial(f, index);
                if initial == index { None } else { self.largest(f, initial, size, depth + 1) }
            }
            ExprKind::Binary { op: BinaryOp::Add, left, right } => {
                let (a, b) = (self.has_element(f, *left), self.has_element(f, *right));
                let (part, rest) = match (a, b) {
                    (true, false) => (*left, *right),
                    (false, true) => (*right, *left),
                    _ => return None,
                };
                let scaled = self.scaled(f, part, size);
                // Of `row * columns + column` the column is below the factor.
                match (self.number(f, rest).and_then(|e| e.constant()), scaled) {
                    (Some(c), None) if c >= 0 => {
                        self.largest(f, part, &combine(Op::Sub, size.clone(), Expr::Int(c)).folded(), depth + 1)
                    }
                    (_, scaled) => scaled,
                }
            }
            ExprKind::Binary { .. } => self.scaled(f, index, size),
            _ => None,
        }
    }

    /// `element * factor`
    fn scaled(&self, f: &Function, e: ExprId, size: &Expr) -> Option<Expr> {
        let e = self.initial(f, e);
        let ExprKind::Binary { op: BinaryOp::Mul, left, right } = f.kind_of(e) else { return None };
        let is = |e: ExprId| self.is_element(f, self.initial(f, e));
        let factor = match (is(*left), is(*right)) {
            (true, false) => self.number(f, *right)?,
            (false, true) => self.number(f, *left)?,
            _ => return None,
        };
        let rows = divide(size.clone(), factor).folded();
        Some(combine(Op::Sub, rows, Expr::Int(1)).folded())
    }

    /// The value with which a variable that is written nowhere else begins; else the expression itself.
    fn initial(&self, f: &Function, e: ExprId) -> ExprId {
        match f.kind_of(e) {
            ExprKind::Cast { operand, .. } => self.initial(f, *operand),
            ExprKind::Var(v) if f.var(*v).kind == VarKind::Local => {
                let writes = f.exprs.iter().any(|e| match &e.kind {
                    ExprKind::Assign { target, .. } | ExprKind::Increment { target, .. } => {
                        matches!(f.kind_of(*target), ExprKind::Var(w) if w == v)
                    }
                    _ => false,
                });
                f.var(*v).init.filter(|_| !writes).unwrap_or(e)
            }
            _ => e,
        }
    }

    fn has_element(&self, f: &Function, e: ExprId) -> bool {
        f.walk(e).into_iter().any(|e| self.is_element(f, e) || self.is_element(f, self.initial(f, e)))
            || matches!(f.kind_of(self.initial(f, e)), ExprKind::Binary { .. } if self.initial(f, e) != e && self.has_element(f, self.initial(f, e)))
    }

    /// Whether the expression is an element of the buffer in question.
    fn is_element(&self, f: &Function, e: ExprId) -> bool {
        let base = match f.kind_of(e) {
            ExprKind::Index { base, .. } | ExprKind::Deref(base) => *base,
            ExprKind::Call { callee, args, .. } if callee.starts_with("__ld") => match args.first() {
                Some(a) => *a,
                None => return false,
            },
            _ => return false,
        };
        let param = f.walk(base).into_iter().find_map(|e| match f.kind_of(e) {
            ExprKind::Var(v) => f.params.iter().position(|p| p == v),
            _ => None,
        });
        param.and_then(|n| self.asked.args.get(n).copied().flatten()) == Some(self.source)
    }

    /// An integer of the launch.
    fn number(&self, f: &Function, e: ExprId) -> Option<Expr> {
        match f.kind_of(e) {
            ExprKind::Int(v) => i64::try_from(*v).ok().map(Expr::Int),
            ExprKind::Cast { operand, .. } => self.number(f, *operand),
            ExprKind::Var(v) => match self.asked.ints.get(v) {
                Some(e) => Some(e.clone()),
                None => {
                    let initial = self.initial(f, e);
                    if initial == e { None } else { self.number(f, initial) }
                }
            },
            ExprKind::Name(_) => {
                let known = self.kernels.known(self.asked.r)?;
                super::propose::constant(&known.analysis.general, e).map(Expr::Int)
            }
            _ => None,
        }
    }
}
