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
mod group;
mod host;
mod kernels;
mod loops;
mod macros;
pub mod matching;
mod memory;
mod objects;
mod propose;
mod prover;
mod steps;
pub mod symbols;
mod usage;
mod value;

use std::collections::BTreeSet;

use crate::contract::{Contract, OpenKind, Plan};
use crate::facts::Macros;
use crate::ir::{FunctionKind, FunctionRef, Program};
use crate::source::{FileId, Sources, Span};

use build::Builder;
use host::Host;
use kernels::Kernels;

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
    let wanted = |r: &FunctionRef| {
        let f = program.function(*r);
        files.contains(&program.unit(r.unit).file) && only.is_none_or(|n| matching::same_name(n, &f.qualified))
    };
    let mut targets: Vec<FunctionRef> = program.kernels().into_iter().filter(wanted).collect();
    // A whole name goes before the end of another.
    let whole = |r: &FunctionRef| only.is_some_and(|n| program.function(*r).qualified == n.trim_start_matches("::"));
    if targets.iter().any(whole) {
        targets.retain(whole);
    }
    let mut plans: Vec<Plan> = vec![];
    let mut done: BTreeSet<FunctionRef> = BTreeSet::new();
    for root in roots(program, files) {
        let open = targets.iter().any(|t| !done.contains(t));
        if !open || plans.len() >= MAX_PLANS {
            break;
        }
        let mut host = Host::new(program, sources);
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

/// Host functions from which to start: `main`, then those that launch and that nobody calls.
fn roots(program: &Program, files: &[FileId]) -> Vec<FunctionRef> {
    let mut mains = vec![];
    let mut others = vec![];
    let mut called: BTreeSet<&str> = BTreeSet::new();
    for f in program.units.iter().flat_map(|u| &u.functions) {
        for e in &f.exprs {
            if let crate::ir::ExprKind::Call { callee, .. } = &e.kind {
                called.insert(crate::ir::query::base_name(callee));
            }
        }
    }
    for (u, unit) in program.units.iter().enumerate() {
        for f in unit.functions.iter().filter(|f| f.kind == FunctionKind::Host && f.body_span.is_some()) {
            let r = FunctionRef { unit: u as u32, function: f.id };
            let launches = unit.launches.iter().any(|l| l.caller == f.id);
            if f.name == "main" && files.contains(&unit.file) {
                mains.push(r);
            } else if launches {
                others.push((called.contains(f.name.as_str()), r));
            }
        }
    }
    others.sort();
    mains.into_iter().chain(others.into_iter().map(|(_, r)| r)).collect()
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
