//! Assumptions that follow from a plan: what its guarantees on dims and arguments say of the parameters of each kernel.

use std::collections::BTreeMap;

use super::plan::{Argument, Launch, Plan};
use super::{Assumption, Assumptions, parse_assumption};
use crate::ir::{Function, Program, Type, spell};
use crate::source::Span;

/// The assumptions on every kernel that the plans launch. What is only proposed gives none; what a kernel is told by one
/// launch counts only if every launch of it in every plan says the same. Ids are those of assumptions written by hand.
pub(super) fn of_plans(plans: &[Plan], program: &Program) -> Assumptions {
    let mut found = Assumptions::default();
    for own in plans.iter().map(|p| of_plan(p, program)) {
        own.by_kernel.into_iter().for_each(|(kernel, list)| narrow(&mut found, kernel, list));
        found.everywhere.extend(own.everywhere);
    }
    found.by_kernel.retain(|_, list| !list.is_empty());
    found
}

/// Keeps of a kernel's assumptions those that this list has as well.
fn narrow(found: &mut Assumptions, kernel: String, list: Vec<Assumption>) {
    match found.by_kernel.get_mut(&kernel) {
        Some(before) => before.retain(|a| list.iter().any(|b| b.id == a.id)),
        None => _ = found.by_kernel.insert(kernel, list),
    }
}

fn of_plan(plan: &Plan, program: &Program) -> Assumptions {
    let mut found = Assumptions::default();
    let mut by_kernel: BTreeMap<&str, Vec<&Launch>> = BTreeMap::new();
    for l in plan.launches() {
        by_kernel.entry(l.kernel.as_str()).or_default().push(l);
    }
    for (kernel, launches) in by_kernel {
        let functions: Vec<&Function> =
            program.kernels().into_iter().map(|r| program.function(r)).filter(|f| is_called(f, kernel)).collect();
        // Two kernels of one name may differ in their parameters.
        let [f] = functions.as_slice() else { continue };
        let mut said: Option<Vec<Assumption>> = None;
        for l in launches {
            let list = of_launch(plan, l, f);
            said = Some(match said {
                None => list,
                Some(before) => before.into_iter().filter(|a| list.iter().any(|b| b.id == a.id)).collect(),
            });
        }
        // An empty list says that a launch promises nothing.
        narrow(&mut found, spell::identity(f), said.unwrap_or_default());
    }
    for text in plan.permissions.assumptions() {
        found.everywhere.extend(parse_assumption(text, None));
    }
    found
}

/// Whether a plan means this function by a name, with a parameter list where there are overloads.
pub(super) fn is_called(f: &Function, name: &str) -> bool {
    let (plain, list) = spell::split_parameters(name);
    let own = || spell::split_parameters(&spell::identity(f)).1;
    (f.name == plain || f.qualified == plain) && list.is_none_or(|l| own() == Some(l))
}

/// The axes of the block that are the same at every size; those that are not written are 1.
fn block_shape(l: &Launch) -> Vec<Assumption> {
    if l.proposed.covers("block") || l.block.is_empty() {
        return vec![];
    }
    let axes = ["x", "y", "z"].iter().enumerate();
    let constant = |n: usize| l.block.get(n).map_or(Some(1), super::Expr::constant);
    let texts = axes.filter_map(|(n, axis)| Some(format!("blockDim.{axis} == {}", constant(n)?)));
    texts.flat_map(|text| parse_assumption(&text, l.spans.whole)).collect()
}

fn of_launch(plan: &Plan, l: &Launch, f: &Function) -> Vec<Assumption> {
    let mut found = block_shape(l);
    if l.args.len() != f.params.len() || l.proposed.covers("args") {
        return found;
    }
    let mut say = |text: String, span: Option<Span>| found.extend(parse_assumption(&text, span));
    let mut buffers: Vec<(&str, &str)> = vec![];
    for (p, a) in f.params.iter().zip(&l.args) {
        let param = f.var(*p).name.as_str();
        match a {
            Argument::Int { value, .. } => {
                if let Some(v) = value.constant() {
                    say(format!("{param} == {v}"), l.spans.whole);
                    continue;
                }
                let super::expr::Expr::Name(n) = value else { continue };
                let Some(d) = plan.dim(n) else { continue };
                let given = |field: &str, v: Option<i64>| v.filter(|_| !d.proposed.covers(field));
                if let Some(by) = given("divisible_by", d.divisible_by).filter(|by| *by > 1) {
                    say(format!("{param} % {by} == 0"), d.span);
                }
                if let Some(min) = given("min", d.min).filter(|_| d.min != Some(i64::MIN)) {
                    say(format!("{param} >= {min}"), d.span);
                }
                if let Some(max) = given("max", d.max) {
                    say(format!("{param} <= {max}"), d.span);
                }
            }
            Argument::Buffer(r) if matches!(f.var(*p).ty, Type::Pointer(_)) => {
                buffers.push((param, &r.buffer));
                let arg = plan.arg(&r.buffer);
                let promised = arg.and_then(|a| a.align.filter(|_| !a.proposed.covers("align")));
                if let (None, Some(bytes)) = (&r.offset, promised) {
                    say(format!("aligned({param}, {bytes})"), arg.and_then(|a| a.span));
                }
            }
            _ => {}
        }
    }
    // Two parameters may be given the same buffer even where buffers do not overlap.
    buffers.retain({
        let all = buffers.clone();
        move |(_, b)| all.iter().filter(|(_, o)| o == b).count() == 1
    });
    if plan.noalias && buffers.len() > 1 {
        let names: Vec<&str> = buffers.iter().map(|(p, _)| *p).collect();
        say(format!("noalias({})", names.join(", ")), l.spans.whole);
    }
    found
}
