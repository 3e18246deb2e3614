//! Values that are undefined, followed through registers until something depends on them.
//!
//! A shuffle that reads a lane which takes no part, and a load of local memory that nothing wrote, give undefined values.
//! Giving them is no fault: the lanes above the half of a tree reduction get them at every step. What is reported is
//! their use: in an address, a branch, a store to global or shared memory, an exchange. The report stands at the line
//! where the value came from. Nothing is followed before the first such value.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::context::Context;
use super::exec::{addresses, generic};
use super::findings::Kind;
use super::predicate::predicate;
use super::regs::lanes;
use super::warp::Warp;
use crate::ptx::decode::flow::{Fate, Flow, Place, flow};
use crate::ptx::decode::memory::WIDE_BASE;
use crate::ptx::decode::op::{Inst, NEGATED, Op};
use crate::ptx::decode::program::Program;

/// By register: the lanes that hold an undefined value; by lane: where the last one came from.
#[derive(Debug, Clone)]
pub(crate) struct Undefined {
    words: Vec<u32>,
    wides: Vec<u32>,
    predicates: Vec<u32>,
    origin: [(u32, Kind); 32],
    age: u32,
}

impl Undefined {
    fn new(program: &Program) -> Self {
        Undefined {
            words: vec![0; usize::from(program.r)],
            wides: vec![0; usize::from(program.q)],
            predicates: vec![0; usize::from(program.p)],
            origin: [(0, Kind::InactiveLane); 32],
            age: 0,
        }
    }

    fn slot(&mut self, place: Place) -> Option<&mut u32> {
        match place {
            Place::Word(r) => self.words.get_mut(usize::from(r)),
            Place::Wide(r) => self.wides.get_mut(usize::from(r)),
            Place::Predicate(r) => self.predicates.get_mut(usize::from(r)),
        }
    }

    pub fn of(&self, place: Place) -> u32 {
        let slot = match place {
            Place::Word(r) => self.words.get(usize::from(r)),
            Place::Wide(r) => self.wides.get(usize::from(r)),
            Place::Predicate(r) => self.predicates.get(usize::from(r)),
        };
        slot.copied().unwrap_or(0)
    }

    /// Where the last undefined value of a lane came from.
    pub fn origin(&self, lane: usize) -> (u32, Kind) {
        self.origin[lane % 32]
    }

    fn of_all(&self, places: &[Place]) -> u32 {
        places.iter().fold(0, |all, place| all | self.of(*place))
    }

    /// Lanes of `mask` now hold an undefined value or, outside of `undefined`, a defined one.
    pub fn set(&mut self, place: Place, undefined: u32, mask: u32) {
        if let Some(slot) = self.slot(place) {
            *slot = *slot & !mask | undefined & mask;
        }
    }

    fn is_empty(&self) -> bool {
        [&self.words, &self.wides, &self.predicates].iter().all(|file| file.iter().all(|m| *m == 0))
    }
}

/// Lanes that get an undefined value at `pc`; the others of `mask` get a defined one.
pub(crate) fn give(ctx: &Context, w: &mut Warp, to: Place, undefined: u32, mask: u32, origin: (u32, Kind)) {
    if undefined & mask == 0 {
        if let Some(values) = &mut w.undefined {
            values.set(to, 0, mask);
        }
        return;
    }
    let values = w.undefined.get_or_insert_with(|| Box::new(Undefined::new(ctx.program)));
    for lane in lanes(undefined & mask) {
        values.origin[lane] = origin;
    }
    values.set(to, undefined, mask);
}

/// Follows one instruction before it runs: `group` holds the lanes that come to it, `m` those that its guard lets.
#[inline(never)]
pub(crate) fn step(ctx: &mut Context, w: &mut Warp, i: &Inst, pc: u32, group: u32, m: u32) {
    let Some(mut values) = w.undefined.take() else { return };
    let guard = Place::Predicate(i.guard & !NEGATED);
    let decided = values.of(guard) & group;
    if decided != 0 {
        report(ctx, w, &values, pc, decided);
        values.set(guard, 0, decided);
    }
    let flows = ctx.flows.get_or_insert_with(|| {
        let program = ctx.program;
        Rc::new(program.code.iter().map(|i| flow(program, i)).collect())
    });
    let flows = flows.clone();
    if let Some(of) = flows.get(pc as usize) {
        follow(ctx, w, &mut values, of, i, pc, m);
    }
    values.age += 1;
    if values.age & 255 != 0 || !values.is_empty() {
        w.undefined = Some(values);
    }
}

fn follow(ctx: &mut Context, w: &Warp, values: &mut Undefined, of: &Flow, i: &Inst, pc: u32, m: u32) {
    let undefined = match of.fate {
        Fate::Result => values.of_all(&of.reads) & m,
        Fate::Choice => {
            let first = predicate(&w.p, i.c);
            let [a, b, p] = [0, 1, 2].map(|n| of.reads.get(n).map_or(0, |place| values.of(*place)));
            (a & first | b & !first | p) & m
        }
        // Where lanes meet, the exchange itself says what came of it.
        Fate::Exchange => return,
        Fate::Used => {
            let (reads, lanes) = used(w, of, i, m);
            let undefined = values.of_all(reads) & lanes;
            if undefined != 0 {
                report(ctx, w, values, pc, undefined);
                reads.iter().for_each(|place| values.set(*place, 0, undefined));
            }
            if i.op == Op::LdLocal {
                return;
            }
            0
        }
    };
    of.writes.iter().for_each(|place| values.set(*place, undefined, m));
}

/// What an instruction depends on. What is stored to local memory is followed there.
fn used<'a>(w: &Warp, of: &'a Flow, i: &Inst, m: u32) -> (&'a [Place], u32) {
    match i.op {
        Op::StLocal => (&of.reads[..1], m),
        Op::StGeneric => {
            let at = addresses(w, i.a, i.m & WIDE_BASE != 0, i.off);
            let local = lanes(m).filter(|lane| generic::place(at[*lane]) == generic::Where::Local);
            (&of.reads, m & !local.fold(0, |mask, lane| mask | 1 << lane))
        }
        _ => (&of.reads, m),
    }
}

/// Values that an exchange read in lanes where they were undefined, and that decide what it does.
pub(crate) fn decides(ctx: &mut Context, w: &mut Warp, place: Place, pc: u32, m: u32) {
    let Some(mut values) = w.undefined.take() else { return };
    let undefined = values.of(place) & m;
    if undefined != 0 {
        report(ctx, w, &values, pc, undefined);
        values.set(place, 0, undefined);
    }
    w.undefined = Some(values);
}

#[cold]
fn report(ctx: &mut Context, w: &Warp, values: &Undefined, pc: u32, undefined: u32) {
    let mut origins: BTreeMap<(u32, Kind), u32> = BTreeMap::new();
    for lane in lanes(undefined) {
        *origins.entry(values.origin[lane]).or_default() |= 1 << lane;
    }
    let used = ctx.program.line_text(ctx.program.line(pc));
    for ((from, kind), mask) in origins {
        let thread = 32 * w.index + mask.trailing_zeros();
        ctx.report_many(kind, from, thread, u64::from(mask.count_ones()), None, || match kind {
            Kind::UninitialisedLocal => format!("local memory that nothing wrote; the value is used at {used}"),
            _ => format!("the thread reads from a lane that does not take part; the value is used at {used}"),
        });
    }
}
