//! Loads that the race check treats apart, found by where their values go.
//!
//! *Tentative*: a plain read whose value only goes into a compare-and-swap of the same place, as what is expected and as
//! what is computed from it, and into the comparison of that with what the swap gave. A stale value makes the swap fail.
//!
//! *Polled*: a volatile read in a loop that writes nothing and that ends by what was read: a thread waits for another,
//! which is no exchange between lanes in step.

use std::collections::HashSet;

use super::atomic::{ATOMIC_OPS, AtomicOp};
use super::flow::{Fate, Flow, Place, flow};
use super::memory::{TENTATIVE, VOLATILE};
use super::op::{Inst, NEGATED, Op, SINK};
use super::program::Program;

/// Larger programs are not looked at: their loads stay what they are.
const LIMIT: usize = 20_000;
/// Instructions of a loop that polls, at most.
const LOOP: usize = 64;

/// Marks tentative and polled loads.
pub(super) fn mark(program: &mut Program) {
    if program.code.len() > LIMIT {
        return;
    }
    let swaps = program.code.iter().any(is_swap);
    let volatile = program.code.iter().any(|i| is_load(i) && i.m & VOLATILE != 0);
    if !swaps && !volatile {
        return;
    }
    let flows: Vec<Flow> = program.code.iter().map(|i| flow(program, i)).collect();
    for at in 0..program.code.len() {
        let i = program.code[at];
        if !is_load(&i) || i.m >> 5 & 15 != 1 {
            continue;
        }
        if i.m & VOLATILE != 0 && is_polled(&program.code, &flows, at) {
            program.code[at].m &= !VOLATILE;
        }
        let weak = matches!(i.op, Op::LdGlobal | Op::LdShared | Op::LdGeneric) && i.m & super::memory::STRONG == 0;
        if swaps && weak && is_tentative(&program.code, &flows, at) {
            program.code[at].m |= TENTATIVE;
        }
    }
}

fn is_load(i: &Inst) -> bool {
    matches!(i.op, Op::LdGlobal | Op::LdShared | Op::LdGeneric | Op::LdStrongGlobal | Op::LdStrongShared)
}

fn is_swap(i: &Inst) -> bool {
    i.op == Op::Atomic && ATOMIC_OPS.get((i.m & 31) as usize).is_some_and(|op| op.1 == AtomicOp::Cas)
}

/// All that a value goes into through results, beginning with some registers.
fn reached(flows: &[Flow], mut from: HashSet<Place>) -> HashSet<Place> {
    loop {
        let before = from.len();
        for f in flows.iter().filter(|f| matches!(f.fate, Fate::Result | Fate::Choice)) {
            if f.reads.iter().any(|r| from.contains(r)) {
                from.extend(f.writes.iter().copied().filter(|w| !is_sink(*w)));
            }
        }
        if from.len() == before {
            return from;
        }
    }
}

fn is_sink(place: Place) -> bool {
    matches!(place, Place::Word(SINK) | Place::Wide(SINK) | Place::Predicate(super::op::SINK_PRED))
}

fn is_tentative(code: &[Inst], flows: &[Flow], at: usize) -> bool {
    let Some(value) = flows[at].writes.first().copied() else { return false };
    let place = (code[at].a, code[at].off);
    let mut words = HashSet::from([value]);
    // What the swap gave, and what is made of it.
    let given = code.iter().zip(flows).filter(|(i, _)| is_swap(i)).flat_map(|(_, f)| f.writes.iter().copied());
    let given = reached(flows, given.collect());
    let mut swapped = false;
    loop {
        let before = words.len();
        for (i, f) in code.iter().zip(flows) {
            let guarded = words.contains(&Place::Predicate(i.guard & !NEGATED)) && i.guard != 0;
            let reads = || f.reads.iter().filter(|r| words.contains(r));
            if guarded {
                return false;
            }
            if reads().next().is_none() {
                continue;
            }
            if is_swap(i) {
                // Reads are the address, what is expected, what is stored.
                if words.contains(&f.reads[0]) || (i.a, i.off) != place {
                    return false;
                }
                swapped |= words.contains(&f.reads[1]);
                continue;
            }
            let compares = f.writes.iter().any(|w| matches!(w, Place::Predicate(_)));
            if compares {
                let known = f.reads.iter().take(2).all(|r| words.contains(r) || given.contains(r));
                if !known || !f.reads.iter().take(2).any(|r| given.contains(r)) {
                    return false;
                }
                continue;
            }
            if f.fate != Fate::Result {
                return false;
            }
            words.extend(f.writes.iter().copied().filter(|w| !is_sink(*w)));
        }
        if words.len() == before {
            return swapped;
        }
    }
}

fn is_polled(code: &[Inst], flows: &[Flow], at: usize) -> bool {
    let Some(value) = flows[at].writes.first().copied() else { return false };
    let ends = (at..code.len().min(at + LOOP)).filter(|end| {
        let i = &code[*end];
        i.op == Op::Bra && i.off >= 0 && i.off as usize <= at && end - i.off as usize <= LOOP
    });
    for end in ends {
        let range = code[end].off as usize..end + 1;
        let quiet = code[range.clone()].iter().all(|i| {
            !matches!(
                i.op,
                Op::StGlobal
                    | Op::StShared
                    | Op::StGeneric
                    | Op::StLocal
                    | Op::Atomic
                    | Op::Barrier
                    | Op::BarrierReduce
                    | Op::Call
                    | Op::CallIndirect
                    | Op::CpAsync
            )
        });
        let goes = reached(&flows[range.clone()], HashSet::from([value]));
        let decides = code[range].iter().any(|i| {
            i.op == Op::Bra && i.guard & !NEGATED != 0 && goes.contains(&Place::Predicate(i.guard & !NEGATED))
        });
        if quiet && decides {
            return true;
        }
    }
    false
}
