//! Which launches belong together: those that read what others have written.

use std::collections::{BTreeMap, BTreeSet};

use super::host::Host;
use super::kernels::Kernels;
use super::value::{Event, Launched, Val};
use crate::ir::FunctionRef;

/// One computation: events in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// Indices of launches among the events.
    pub launches: Vec<usize>,
    pub kernels: Vec<FunctionRef>,
}

/// Computations in the order of their first launch; repetitions of one are left out.
pub fn groups(host: &Host, kernels: &Kernels) -> Vec<Group> {
    let mut leader: BTreeMap<usize, usize> = BTreeMap::new();
    let mut writers: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    let mut refs: BTreeMap<usize, FunctionRef> = BTreeMap::new();
    for (i, event) in host.events.iter().enumerate() {
        match event {
            Event::Launch(l) => {
                let Some(r) = kernels.of(l) else { continue };
                refs.insert(i, r);
                leader.insert(i, i);
                launch(l, r, i, kernels, &mut leader, &mut writers);
            }
            Event::ToDevice { buffer, .. } | Event::Fill { buffer, .. } if host.covers(event) => {
                writers.remove(buffer);
            }
            Event::ToDevice { .. } | Event::Fill { .. } => {}
            Event::Copy { from, to, .. } => {
                let source = writers.get(&from.0).cloned().unwrap_or_default();
                match host.covers(event) {
                    true => _ = writers.insert(to.0, source),
                    false => writers.entry(to.0).or_default().extend(source),
                }
            }
            Event::ToHost { .. } | Event::ToSymbol { .. } => {}
        }
    }
    let mut by_leader: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for i in leader.keys().copied().collect::<Vec<_>>() {
        let top = find(&leader, i);
        by_leader.entry(top).or_default().push(i);
    }
    let mut lists: Vec<Vec<usize>> = by_leader.into_values().collect();
    lists.iter_mut().for_each(|l| l.sort_unstable());
    lists.sort();
    let mut found: Vec<Group> = vec![];
    let mut seen = BTreeSet::new();
    for launches in lists.into_iter().flat_map(|l| alternatives(host, l)) {
        if seen.insert(signature(host, &launches)) {
            let kernels = launches.iter().filter_map(|i| refs.get(i).copied()).collect();
            found.push(Group { launches, kernels });
        }
    }
    found
}

fn launch(
    l: &Launched,
    r: FunctionRef,
    i: usize,
    kernels: &Kernels,
    leader: &mut BTreeMap<usize, usize>,
    writers: &mut BTreeMap<usize, BTreeSet<usize>>,
) {
    let known = kernels.known(r);
    let usage = |n: usize| known.as_ref().and_then(|k| k.usages.get(n).copied()).unwrap_or_default();
    for (n, v) in l.args.iter().enumerate() {
        let Val::Device { buffer, .. } = v else { continue };
        let u = usage(n);
        if u.reads {
            // What it reads only after writing it itself does not come from before.
            if u.reads_first || !u.writes {
                for w in writers.get(buffer).cloned().unwrap_or_default() {
                    join(leader, w, i);
                }
            }
        }
    }
    for (n, v) in l.args.iter().enumerate() {
        let Val::Device { buffer, bytes } = v else { continue };
        let u = usage(n);
        if u.writes {
            let all = writers.entry(*buffer).or_default();
            if !u.reads_first && bytes.constant() == Some(0) {
                all.clear();
            }
            all.insert(i);
        }
    }
}

fn find(leader: &BTreeMap<usize, usize>, mut i: usize) -> usize {
    while let Some(next) = leader.get(&i).copied().filter(|n| *n != i) {
        i = next;
    }
    i
}

fn join(leader: &mut BTreeMap<usize, usize>, a: usize, b: usize) {
    let (a, b) = (find(leader, a), find(leader, b));
    leader.insert(a.max(b), a.min(b));
}

/// Runs that are tried of one computation.
const MAX_RUNS: usize = 16;

/// Launches that exclude each other are not of one run: for each launch, the run that has it and every other one, in
/// order, that excludes none so far.
fn alternatives(host: &Host, launches: Vec<usize>) -> Vec<Vec<usize>> {
    let of = |i: &usize| match host.events.get(*i) {
        Some(Event::Launch(l)) => Some(&**l),
        _ => None,
    };
    let apart = |a: &usize, b: &usize| of(a).zip(of(b)).is_some_and(|(a, b)| exclude(a, b));
    let mut found: Vec<Vec<usize>> = vec![];
    for seed in &launches {
        let mut run = vec![*seed];
        for i in launches.iter().filter(|i| *i != seed) {
            if run.iter().all(|j| !apart(i, j)) {
                run.push(*i);
            }
        }
        run.sort_unstable();
        if !found.contains(&run) {
            found.push(run);
        }
        if found.len() >= MAX_RUNS {
            break;
        }
    }
    found
}

/// Whether no run makes both launches: they stand in different arms of a condition, or one stands behind what the other's
/// way led out of.
fn exclude(a: &Launched, b: &Launched) -> bool {
    let arms = a.arms.iter().any(|(c, x)| b.arms.iter().any(|(d, y)| c == d && x != y));
    let left = |from: &Launched, way: &Launched| from.left.iter().any(|l| l.iter().all(|arm| way.arms.contains(arm)));
    arms || left(a, b) || left(b, a)
}

/// Equal for computations that do the same.
fn signature(host: &Host, launches: &[usize]) -> String {
    let mut text = String::new();
    for i in launches {
        if let Some(Event::Launch(l)) = host.events.get(*i) {
            text += &format!("{} {:?} {:?} {:?} {:?} {:?};", l.kernel, l.template, l.grid, l.block, l.shared, l.args);
        }
    }
    text
}
