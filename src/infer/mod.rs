//! Contracts from what files show: launch sites, sizes and copies of the host code, and the accesses of the kernels.
//!
//! Nothing is made up in silence. What the files show is written down; what is only likely is marked `proposed`; what is
//! not known is left out, with the question in a comment.

mod arith;
mod build;
mod calls;
pub mod check;
mod control;
mod cuda;
mod dims;
mod eval;
mod extent;
mod filled;
mod flow;
mod group;
mod host;
mod kernels;
mod layouts;
mod legal;
mod lookup;
mod loops;
mod macros;
pub mod matching;
mod memory;
mod objects;
mod places;
mod propose;
mod prover;
mod steps;
pub mod symbols;
mod usage;
mod value;
mod view;

use std::collections::BTreeSet;

use crate::contract::{Contract, OpenKind, Plan};
use crate::facts::Macros;
use crate::ir::{FunctionKind, FunctionRef, Program};
use crate::source::{FileId, Sources, Span};

use build::Builder;
use host::Host;
use kernels::Kernels;
use view::View;

/// What was found for one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelReport {
    pub kernel: String,
    pub span: Span,
    /// The plan that launches it; empty is the top one.
    pub plan: Option<String>,
    /// Whether the files show its launch.
    pub launched: bool,
    /// What is not known and what is only proposed in its plan, as `table: field`.
    pub open: Vec<String>,
    pub proposed: Vec<String>,
}

impl KernelReport {
    /// Whether the contract is right for it without edits, as far as the files show.
    pub fn is_complete(&self) -> bool {
        self.plan.is_some() && self.open.is_empty() && self.proposed.is_empty()
    }
}

#[derive(Clone, Debug, Default)]
pub struct Inferred {
    pub contract: Contract,
    pub kernels: Vec<KernelReport>,
}

/// Plans beyond this number are of files that launch variants by the dozen; they are left out and said so.
pub const MAX_PLANS: usize = 64;

/// Infers the plans of the kernels in `files`, or of those named `only`. `macros` is what [`crate::facts::macros_of`]
/// gives for the program.
pub fn infer(
    program: &Program,
    sources: &Sources,
    macros: &[Macros],
    files: &[FileId],
    only: Option<&str>,
) -> Inferred {
    let kernels = Kernels::new(program, sources, macros);
    // Kernels of these files, and those of headers that these files launch.
    let units = (0..).zip(&program.units).filter(|(_, u)| files.contains(&u.file));
    let own: Vec<(u32, BTreeSet<&str>)> =
        units.map(|(n, u)| (n, u.launches.iter().map(|l| crate::ir::query::base_name(&l.callee)).collect())).collect();
    let sees = |from: u32, to: u32| macros.get(from as usize).and_then(Macros::names).is_some_and(|n| n.sees(from, to));
    let wanted = |r: &FunctionRef| {
        let f = program.function(*r);
        let launched = || own.iter().any(|(u, names)| names.contains(f.name.as_str()) && sees(*u, r.unit));
        (files.contains(&program.unit(r.unit).file) || launched())
            && only.is_none_or(|n| matching::same_name(n, &f.qualified))
    };
    let mut targets: Vec<FunctionRef> = program.kernels().into_iter().filter(wanted).collect();
    // A whole name goes before the end of another.
    let whole = |r: &FunctionRef| only.is_some_and(|n| program.function(*r).qualified == n.trim_start_matches("::"));
    if targets.iter().any(whole) {
        targets.retain(whole);
    }
    let mut plans: Vec<Plan> = vec![];
    let mut done: BTreeSet<FunctionRef> = BTreeSet::new();
    let view = View::new(program, sources, macros);
    for root in roots(program, &view, files, &targets) {
        let open = targets.iter().any(|t| !done.contains(t));
        if !open || plans.len() >= MAX_PLANS {
            break;
        }
        let mut host = Host::new(program, sources, &view);
        host.run(root);
        let main = program.function(root).name == "main";
        let builder = Builder { kernels: &kernels, host: &host };
        for group in group::groups(&host, &kernels) {
            let launched: BTreeSet<FunctionRef> = group.kernels.iter().copied().collect();
            let news = launched.iter().any(|k| targets.contains(k) && (main || !done.contains(k)));
            if news && plans.len() < MAX_PLANS {
                let plan = builder.plan(&group);
                done.extend(launched);
                if !plans.contains(&plan) {
                    plans.push(plan);
                }
            }
        }
    }
    for t in targets.iter().filter(|t| !done.contains(t)) {
        if plans.len() < MAX_PLANS {
            plans.extend(propose::plan(&kernels, *t));
        }
    }
    name_plans(&mut plans);
    let reports = targets.iter().map(|t| report(program, *t, &plans, done.contains(t))).collect();
    Inferred { contract: Contract { plans, ..Contract::default() }, kernels: reports }
}

/// Host functions from which to start: `main` of these files, another `main` that comes to a launch of a target, then
/// functions that launch, those that nobody calls first.
fn roots(program: &Program, view: &View, files: &[FileId], targets: &[FunctionRef]) -> Vec<FunctionRef> {
    let reaching = reaching(program, targets);
    let sees = |u: u32| {
        let seen = view.units(u, u);
        seen.iter().any(|v| files.contains(&program.unit(*v).file))
    };
    let mut mains = vec![];
    let mut others = vec![];
    let called = called(program);
    for (u, unit) in (0..).zip(&program.units) {
        for f in unit.functions.iter().filter(|f| f.kind == FunctionKind::Host && f.body_span.is_some()) {
            let r = FunctionRef { unit: u, function: f.id };
            let launches = unit.launches.iter().any(|l| l.caller == f.id);
            let own = files.contains(&unit.file);
            if f.name == "main" && (own || reaching.contains(&r)) {
                mains.push((!own, !sees(u), r));
            } else if launches && (own || reaching.contains(&r)) {
                others.push((called.contains(f.name.as_str()), !own, r));
            }
        }
    }
    mains.sort();
    others.sort();
    mains.into_iter().chain(others).map(|(_, _, r)| r).collect()
}

/// Names of functions that are called.
fn called(program: &Program) -> BTreeSet<&str> {
    let all = program.units.iter().flat_map(|u| &u.functions).flat_map(|f| &f.exprs);
    let names = all.filter_map(|e| match &e.kind {
        crate::ir::ExprKind::Call { callee, .. } => Some(crate::ir::query::base_name(callee)),
        _ => None,
    });
    names.collect()
}

/// Functions that launch a target, and those that call one of them, by name.
fn reaching(program: &Program, targets: &[FunctionRef]) -> BTreeSet<FunctionRef> {
    let mut names: BTreeSet<&str> = BTreeSet::new();
    let kernels: BTreeSet<&str> = targets.iter().map(|t| program.function(*t).name.as_str()).collect();
    let mut found = BTreeSet::new();
    for _ in 0..host::MAX_DEPTH {
        let before = found.len();
        for (u, unit) in (0..).zip(&program.units) {
            let launching: BTreeSet<_> = unit
                .launches
                .iter()
                .filter(|l| kernels.contains(crate::ir::query::base_name(&l.callee)))
                .map(|l| l.caller)
                .collect();
            for f in unit.functions.iter().filter(|f| f.kind == FunctionKind::Host) {
                let calls = |e: &crate::ir::Expr| matches!(&e.kind, crate::ir::ExprKind::Call { callee, .. } if names.contains(crate::ir::query::base_name(callee)));
                let r = FunctionRef { unit: u, function: f.id };
                if !found.contains(&r) && (launching.contains(&f.id) || f.exprs.iter().any(calls)) {
                    found.insert(r);
                }
            }
        }
        if found.len() == before {
            break;
        }
        names = found.iter().map(|r| program.function(*r).name.as_str()).collect();
    }
    found
}

/// A single plan stands at the top; several are named after their first kernels.
fn name_plans(plans: &mut [Plan]) {
    if plans.len() == 1 {
        plans.iter_mut().for_each(|p| p.name.clear());
        return;
    }
    let mut taken = BTreeSet::new();
    for p in plans {
        let base = p.launches().next().map_or("plan".to_owned(), |l| crate::ir::query::base_name(&l.kernel).to_owned());
        let mut name = base.clone();
        for n in 2.. {
            if taken.insert(name.clone()) {
                break;
            }
            name = format!("{base}_{n}");
        }
        p.name = name;
    }
}

fn report(program: &Program, t: FunctionRef, plans: &[Plan], launched: bool) -> KernelReport {
    let f = program.function(t);
    let is_it = |name: &str| name == matching::short_name(program, t) || name == f.qualified;
    let own: Vec<&Plan> = plans.iter().filter(|p| p.launches().any(|l| is_it(&l.kernel))).collect();
    // The best of several plans counts.
    let best = own.into_iter().min_by_key(|p| p.open().len());
    let of = |kind: OpenKind| -> Vec<String> {
        let open = best.map(|p| p.open()).unwrap_or_default();
        open.into_iter().filter(|o| o.kind == kind).map(|o| format!("{}: {}", o.table, o.field)).collect()
    };
    KernelReport {
        kernel: f.qualified.clone(),
        span: f.name_span,
        plan: best.map(|p| p.name.clone()),
        launched,
        open: of(OpenKind::Missing),
        proposed: of(OpenKind::Proposed),
    }
}
