//! A plan from one computation of the host code.

use std::collections::{BTreeMap, BTreeSet};

use super::arith::type_named;
use super::cuda::element;
use super::dims::Choice;
use super::extent::Setting;
use super::group::Group;
use super::host::Host;
use super::kernels::Kernels;
use super::memory::Memory;
use super::usage::Usage;
use super::value::{Event, Launched, Val, combine};
use crate::contract::{Argument, BufferRef, Expr, Launch, Notes, Op, Plan, Step};
use crate::facts::Facts;
use crate::ir::*;

pub struct Builder<'b, 'a> {
    pub kernels: &'b Kernels<'a>,
    pub host: &'b Host<'a>,
}

/// One launch with the kernel that it is of.
pub(super) struct Use<'a> {
    pub event: usize,
    pub l: &'a Launched,
    pub f: &'a Function,
    pub r: FunctionRef,
}

impl<'b, 'a> Builder<'b, 'a> {
    pub fn plan(&self, group: &Group) -> Plan {
        let uses = self.uses(group);
        let mut memories = self.memories(&uses);
        self.extents(&uses, &mut memories);
        let choice = self.choice(&uses, &memories);
        let tiles = tiles(&uses, &choice);
        let (multiple, fixed) = self.proof(&uses, &memories, &choice, &tiles);
        let largest = tiles.last().copied().unwrap_or(1);
        let mut plan =
            Plan { dims: choice.made(&self.host.decided, fixed.as_deref(), multiple, largest), ..Plan::default() };
        for m in &memories {
            let arg = self.arg(&uses, m, &choice);
            plan.args.push(arg);
        }
        self.outputs(&mut plan);
        self.steps(&uses, &memories, &choice, &mut plan);
        self.legal(&uses, &memories, &choice, multiple, &mut plan);
        self.notes(&uses, &mut plan);
        plan
    }

    fn uses(&self, group: &Group) -> Vec<Use<'b>> {
        let pairs = group.launches.iter().zip(&group.kernels);
        pairs
            .filter_map(|(i, r)| match self.host.events.get(*i) {
                Some(Event::Launch(l)) => Some(Use { event: *i, l, f: self.kernels.function(*r), r: *r }),
                _ => None,
            })
            .collect()
    }

    pub(super) fn usage(&self, u: &Use, n: usize) -> Usage {
        self.kernels.known(u.r).and_then(|k| k.usages.get(n).copied()).unwrap_or_default()
    }

    /// Scalar and lanes of a type under the template arguments of a launch.
    pub(super) fn element_of(&self, u: &Use, ty: &Type) -> Option<(Scalar, u8)> {
        match ty {
            Type::Param(name) => {
                let nth = u.f.template.iter().position(|t| t.name == *name)?;
                let given = u.l.template.get(nth).and_then(|t| type_named(t)).as_ref().and_then(element);
                given.or_else(|| self.deduced(u, name))
            }
            // A pointer to rows of an array.
            Type::Array { .. } => element(ty.innermost()),
            t => element(t).or_else(|| self.host.element_of(u.r.unit, t)),
        }
    }

    /// A type parameter from the memory that is passed for a pointer to it.
    fn deduced(&self, u: &Use, name: &str) -> Option<(Scalar, u8)> {
        u.f.params.iter().zip(&u.l.args).find_map(|(p, v)| match (u.f.var(*p).ty.element(), v) {
            (Some(Type::Param(t)), Val::Device { buffer, .. }) if t == name => self.host.buffers.get(*buffer)?.element,
            _ => None,
        })
    }

    /// Integer arguments by parameter.
    fn ints(&self, u: &Use, settle: &dyn Fn(&Expr) -> Expr) -> BTreeMap<VarId, Expr> {
        let pairs = u.f.params.iter().zip(&u.l.args);
        pairs.filter_map(|(p, v)| if let Val::Int(e) = v { Some((*p, settle(e))) } else { None }).collect()
    }

    pub(super) fn setting<'f>(
        &self,
        facts: &'f Facts<'a>,
        u: &Use,
        settle: &dyn Fn(&Expr) -> Expr,
        multiple: i64,
    ) -> Setting<'f, 'a> {
        let shape = |s: &Result<[Expr; 3], String>| s.as_ref().ok().map(|d| d.each_ref().map(settle));
        Setting {
            facts,
            grid: shape(&u.l.grid),
            block: shape(&u.l.block),
            ints: self.ints(u, settle),
            shared: u.l.shared.as_ref().ok().map(settle),
            sizes: BTreeMap::new(),
            multiple,
            prepared: Default::default(),
            budget: std::cell::Cell::new(super::extent::BUDGET),
        }
    }

    fn choice(&self, uses: &[Use], memories: &[Memory]) -> Choice {
        let mut sizes: Vec<&Expr> = memories.iter().filter_map(|m| m.elements.as_ref().ok()).collect();
        let (mut blocks, mut others) = (vec![], vec![]);
        for u in uses {
            for v in &u.l.args {
                match v {
                    Val::Int(e) => sizes.push(e),
                    Val::Device { bytes, .. } => others.push(bytes),
                    _ => {}
                }
            }
            blocks.extend(u.l.block.iter().flatten());
            others.extend(u.l.grid.iter().flatten());
            others.extend(&u.l.shared);
        }
        let copies = self.host.events.iter().filter_map(|e| match e {
            Event::Fill { bytes, .. } | Event::Copy { bytes, .. } => bytes.as_ref(),
            _ => None,
        });
        let copies: Vec<&Expr> = copies.collect();
        others.extend(copies);
        Choice::of(self.host, &sizes, &blocks, &others)
    }

    /// The multiples for which all accesses are inside, and else why the sizes are fixed.
    fn proof(
        &self,
        uses: &[Use],
        memories: &[Memory],
        choice: &Choice,
        tiles: &BTreeSet<i64>,
    ) -> (i64, Option<String>) {
        let mut first = None;
        let fits = |t: &i64| choice.dims.iter().all(|d| d.value.is_none_or(|v| v % t == 0));
        for multiple in std::iter::once(1).chain(tiles.iter().rev().copied().filter(fits).take(3)) {
            let failed = uses.iter().find_map(|u| self.fails(u, memories, choice, multiple).map(|why| (u, why)));
            match failed {
                None => return (multiple, None),
                Some((u, (span, why))) => {
                    let line = self.line(span);
                    first.get_or_insert(format!("in `{}`, line {line}: {why}", u.f.name));
                }
            }
        }
        (1, first)
    }

    fn fails(
        &self,
        u: &Use,
        memories: &[Memory],
        choice: &Choice,
        multiple: i64,
    ) -> Option<(crate::source::Span, String)> {
        let Some(known) = self.kernels.known(u.r) else { return Some((u.l.span, "it is not modelled".into())) };
        self.sized(known.facts(Some(u.l.at)), u, memories, choice, multiple).inside().err()
    }

    /// The setting of a launch with the sizes of the memory that it is given.
    pub(super) fn sized<'f>(
        &self,
        facts: &'f Facts<'a>,
        u: &Use,
        memories: &[Memory],
        choice: &Choice,
        multiple: i64,
    ) -> Setting<'f, 'a> {
        let settle = |e: &Expr| choice.settle(e);
        let mut setting = self.setting(facts, u, &settle, multiple);
        for (p, v) in u.f.params.iter().zip(&u.l.args) {
            let Val::Device { buffer, bytes } = v else { continue };
            let Some(m) = memories.iter().find(|m| m.id == *buffer) else { continue };
            if let (Ok(e), Some(d)) = (&m.elements, m.dtype) {
                let whole = combine(Op::Mul, settle(e), Expr::Int(i64::from(d.bytes())));
                setting.sizes.insert(*p, combine(Op::Sub, whole, settle(bytes)));
            }
        }
        setting
    }

    pub(super) fn line(&self, span: crate::source::Span) -> u32 {
        let file = self.kernels.sources.get(span.file);
        file.lines.position(&file.text, span.start as usize).line
    }

    pub(super) fn launch(&self, u: &Use, place: &dyn Fn(usize, &Expr) -> Option<BufferRef>, choice: &Choice) -> Launch {
        let mut l = Launch {
            kernel: super::matching::short_name(self.kernels.program, u.r),
            template: u.l.template.clone(),
            ..Launch::default()
        };
        l.spans.whole = Some(u.l.span);
        for (what, from) in [("grid", &u.l.grid), ("block", &u.l.block)] {
            let axes = match from {
                Ok(d) => short(&d.each_ref().map(|e| choice.settle(e))),
                Err(why) => {
                    l.notes.push(format!("{what} = [\"?\"]   # with which {what} is it launched? {why}"));
                    vec![]
                }
            };
            if what == "grid" { l.grid = axes } else { l.block = axes }
        }
        match &u.l.shared {
            Ok(e) => l.shared = Some(choice.settle(e)).filter(|e| *e != Expr::Int(0)),
            Err(why) => {
                l.notes.push(format!("shared = \"?\"   # how many bytes of dynamic shared memory? {why}"));
                l.proposed.field("shared");
            }
        }
        for (n, p) in u.f.params.iter().enumerate() {
            let var = u.f.var(*p);
            let value = u.l.args.get(n).cloned().or_else(|| default_of(u.f, var));
            if matches!(value, Some(Val::Approx(_))) {
                l.proposed.field("args");
            }
            let (argument, why) = self.argument(u, var, value, place, choice);
            if let Some(why) = why {
                l.notes.push(format!("Argument {} is `{}`: which value? {why}", n + 1, var.name));
            }
            l.args.push(argument);
        }
        if let Some(cut) = &u.l.cut {
            l.notes.push(format!("Line {}: {cut}; repetitions are left out.", self.line(u.l.span)));
        }
        l
    }

    fn argument(
        &self,
        u: &Use,
        var: &Var,
        value: Option<Val>,
        place: &dyn Fn(usize, &Expr) -> Option<BufferRef>,
        choice: &Choice,
    ) -> (Argument, Option<String>) {
        let scalar = self.element_of(u, &var.ty).filter(|(_, n)| *n == 1).map(|(s, _)| s);
        let pointer = matches!(var.ty, Type::Pointer(_));
        let open = |why: &str| (Argument::Open, Some(why.to_owned()));
        match (value, scalar) {
            (None, _) => open("no value is given"),
            (Some(Val::Device { buffer, bytes }), _) => match place(buffer, &bytes) {
                Some(r) if pointer => (Argument::Buffer(r), None),
                _ => open("the parameter is no pointer that is understood"),
            },
            (Some(Val::Null), _) => (Argument::Null, None),
            (Some(Val::Int(e)), Some(s)) if s.is_float() => match choice.settle(&e).constant() {
                Some(v) => (Argument::Float { dtype: s, value: v as f64 }, None),
                None => open("it is computed in floating point"),
            },
            (Some(Val::Int(Expr::Int(0))), None) if pointer => (Argument::Null, None),
            (Some(Val::Int(e)), Some(s)) => (Argument::Int { dtype: s, value: choice.settle(&e) }, None),
            (Some(Val::Approx(v)), Some(s)) if s.is_float() => {
                let why = "it depends on sizes; this is its value at their samples".to_owned();
                (Argument::Float { dtype: s, value: v }, Some(why))
            }
            (Some(Val::Float(v)), Some(s)) if s.is_float() => (Argument::Float { dtype: s, value: v }, None),
            (Some(v @ (Val::Float(_) | Val::Ratio(..))), Some(s)) => match (v.as_int(), s.is_float()) {
                (Some(e), false) => (Argument::Int { dtype: s, value: choice.settle(&e) }, None),
                _ => open("it is computed in floating point"),
            },
            (Some(Val::Unknown(why)), _) => (Argument::Open, Some(why)),
            (Some(Val::Host(_)), _) => open("it is memory of the host"),
            (Some(_), _) => open("it is no buffer and no number"),
        }
    }

    fn notes(&self, uses: &[Use], plan: &mut Plan) {
        let (from, to) = (uses.first().map_or(0, |u| u.event), uses.last().map_or(0, |u| u.event));
        for (i, event) in self.host.events.iter().enumerate().take(to) {
            let Event::ToSymbol { name, span } = event else { continue };
            if !uses.iter().any(|u| self.mentions(u.f, name, 0)) {
                continue;
            }
            let own = name.clone();
            let arg = super::symbols::argument(self.kernels.program, self.kernels.sources, &own);
            if let Some(mut arg) = arg.filter(|_| i < from) {
                if plan.args.iter().any(|a| a.symbol == arg.symbol) {
                    continue;
                }
                let taken = |n: &str| plan.arg(n).is_some() || plan.dim(n).is_some();
                if taken(&arg.name) {
                    arg.name = format!("{}_of_module", arg.name);
                }
                plan.args.push(arg);
                continue;
            }
            let note = format!(
                "Line {}: the host sets the device variable `{name}`, which no step of a plan says.",
                self.line(*span)
            );
            if let Some(Step::Launch(l)) = plan.steps.iter_mut().find(|s| matches!(s, Step::Launch(_))) {
                l.proposed.field("constants");
                l.notes.push(note);
            }
        }
        plan.notes = Notes(std::mem::take(&mut plan.notes.0));
        if !plan.notes.0.is_empty()
            && let Some(Step::Launch(l)) = plan.steps.iter_mut().find(|s| matches!(s, Step::Launch(_)))
        {
            l.proposed.field("order");
        }
    }
}

impl Builder<'_, '_> {
    /// Whether a function or one that it calls names a variable of the file.
    fn mentions(&self, f: &Function, name: &str, depth: u32) -> bool {
        let own = f.exprs.iter().any(|e| matches!(&e.kind, ExprKind::Name(n) if query::base_name(n) == name))
            || f.vars.iter().any(|v| v.name == name);
        let callee = |c: &Call| match f.kind_of(c.expr) {
            ExprKind::Call { callee, .. } => Some(query::base_name(callee).to_owned()),
            _ => None,
        };
        let nested = |callee: String| {
            let all = self.kernels.program.units.iter().flat_map(|u| &u.functions);
            all.filter(|g| g.name == callee && g.body_span.is_some()).any(|g| self.mentions(g, name, depth + 1))
        };
        own || depth < 4 && f.calls.iter().filter_map(callee).any(nested)
    }
}

/// Extents of blocks and divisors of grids.
fn tiles(uses: &[Use], choice: &Choice) -> BTreeSet<i64> {
    let mut found: BTreeSet<i64> = BTreeSet::new();
    for u in uses {
        for e in [&u.l.grid, &u.l.block].into_iter().flatten().flatten().map(|e| choice.settle(e)) {
            match &e {
                Expr::Int(v) => _ = found.insert(*v),
                Expr::Binary(Op::Div | Op::CeilDiv, _, k) => found.extend(k.constant()),
                _ => {}
            }
        }
    }
    found.retain(|t| (2..=1024).contains(t));
    found
}

/// The value of a default argument.
fn default_of(f: &Function, var: &Var) -> Option<Val> {
    match f.kind_of(var.init?) {
        ExprKind::Int(v) => i64::try_from(*v).ok().map(Val::int),
        ExprKind::Bool(b) => Some(Val::int(i64::from(*b))),
        ExprKind::Null => Some(Val::Null),
        ExprKind::Float(t) => t.trim_end_matches(['f', 'F']).parse().ok().map(Val::Float),
        _ => None,
    }
}

/// Trailing axes of 1 are left out.
pub(super) fn short(d: &[Expr; 3]) -> Vec<Expr> {
    let keep = d.iter().rposition(|e| *e != Expr::Int(1)).map_or(1, |i| i + 1);
    d.iter().take(keep).cloned().collect()
}

/// The factors of a product as axes, outermost first.
pub(super) fn axes(e: &Expr) -> Vec<Expr> {
    let mut found = vec![];
    factors(e, &mut found);
    let constants: Vec<i64> = found.iter().filter_map(Expr::constant).collect();
    let product = constants.iter().try_fold(1i64, |p, c| p.checked_mul(*c));
    found.retain(|e| e.constant().is_none());
    match product {
        Some(1) if !found.is_empty() => found,
        Some(k) => found.into_iter().chain([Expr::Int(k)]).collect(),
        None => vec![e.clone()],
    }
}

fn factors(e: &Expr, into: &mut Vec<Expr>) {
    match e {
        Expr::Binary(Op::Mul, a, b) => {
            factors(a, into);
            factors(b, into);
        }
        other => into.push(other.clone()),
    }
}
