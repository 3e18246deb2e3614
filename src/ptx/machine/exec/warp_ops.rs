//! Operations among lanes of a warp. Those with a member mask wait until all named lanes that still live are there.

use smallvec::{SmallVec, smallvec};

use super::super::findings::Kind;
use crate::ptx::decode::flow::Place;
use crate::ptx::decode::op::{Inst, Op};
use crate::ptx::machine::context::{Config, Context};
use crate::ptx::machine::predicate::{predicate, put_predicate};
use crate::ptx::machine::regs::*;
use crate::ptx::machine::step::{Next, Stop};
use crate::ptx::machine::undefined;
use crate::ptx::machine::warp::{Group, State, Warp};

/// Takes lanes in that wait at the same place, with the same stack.
fn gather(w: &mut Warp, g: &mut Group) {
    let state = g.state;
    for at in (0..w.groups.len()).rev() {
        if let State::WaitsForLanes(_) = w.groups[at].state {
            g.state = w.groups[at].state;
            if w.groups[at].joins(g) {
                let other = w.groups.swap_remove(at);
                g.mask |= other.mask;
                g.forced |= other.forced;
            }
        }
    }
    g.state = state;
}

/// Whether lanes at two places do one operation together: the same instruction, or, where PTX does not ask for that,
/// one of the same kind. The masks that they name must be the same as well.
fn is_one_operation(code: &[Inst], a: u32, b: u32) -> bool {
    let (Some(x), Some(y)) = (code.get(a as usize), code.get(b as usize)) else { return false };
    let qualifiers = match x.op {
        Op::Shuffle | Op::Vote | Op::Match => 3,
        Op::Redux => 15,
        Op::WarpSync | Op::Elect => 0,
        _ => return a == b,
    };
    a == b || (x.op == y.op && (x.m ^ y.m) & qualifiers == 0)
}

/// Waiting lanes may go on when those they wait for have exited.
pub(crate) fn settle(w: &mut Warp, code: &[Inst]) {
    let live = w.live();
    for at in 0..w.groups.len() {
        if let State::WaitsForLanes(need) = w.groups[at].state {
            let pc = w.groups[at].pc;
            let with = |g: &&Group| g.state == State::WaitsForLanes(need) && is_one_operation(code, g.pc, pc);
            let there = w.groups.iter().filter(with).fold(0, |mask, g| mask | g.mask);
            if need & live & !there == 0 {
                w.groups[at].state = State::Ready;
            }
        }
    }
}

/// Nothing else can run: the first waiting group goes on without the lanes it named. True if there was one.
pub(crate) fn force(w: &mut Warp) -> bool {
    let waiting = w.groups.iter_mut().filter(|g| matches!(g.state, State::WaitsForLanes(_)));
    let Some(group) = waiting.min_by_key(|g| g.pc) else { return false };
    group.state = State::Ready;
    group.forced = true;
    true
}

fn wait(g: &mut Group, need: u32, pc: u32) -> Next {
    g.pc = pc;
    g.state = State::WaitsForLanes(need);
    Next::Stop(Stop::Blocked)
}

pub(super) fn warp_sync<C: Config>(ctx: &mut Context, w: &mut Warp, g: &mut Group, i: &Inst, m: u32) -> Next {
    let pc = g.pc;
    super::call::leave_others(w, g, m, pc + 1);
    let need = w.r[usize::from(i.a)][m.trailing_zeros() as usize];
    // Lanes may meet at different instructions, as long as the mask is the same.
    let others: Vec<usize> = (0..w.groups.len())
        .filter(|at| {
            let other = &w.groups[*at];
            let op = ctx.program.code.get(other.pc as usize).map(|i| i.op);
            other.state == State::WaitsForLanes(need) && op == Some(Op::WarpSync)
        })
        .collect();
    let there = others.iter().fold(g.mask, |mask, at| mask | w.groups[*at].mask);
    if need & w.live() & !there != 0 && !g.forced {
        return wait(g, need, pc);
    }
    if g.forced {
        report_missing(ctx, w, pc, need & w.live() & !there, need);
        g.forced = false;
    }
    for at in others {
        w.groups[at].pc += 1;
        w.groups[at].state = State::Ready;
    }
    if C::CHECK {
        ctx.shadow.warp_sync(w.index, there);
    }
    g.pc = pc + 1;
    if w.groups.is_empty() { Next::Jump } else { Next::Stop(Stop::Rejoin) }
}

#[cold]
fn report_missing(ctx: &mut Context, w: &Warp, pc: u32, missing: u32, need: u32) {
    let thread = 32 * w.index + missing.trailing_zeros().min(31);
    ctx.report_many(Kind::InactiveLane, pc, thread, u64::from(missing.count_ones()), None, || {
        format!("mask {need:#010x} names lanes {missing:#010x}, which do not come here")
    });
}

/// Brings the named lanes together at an instruction that all of them must execute. Some: the group has to wait.
pub(super) fn meet<C: Config>(
    ctx: &mut Context,
    w: &mut Warp,
    g: &mut Group,
    need: u32,
    pc: u32,
    m: u32,
) -> Option<Next> {
    super::call::leave_others(w, g, m, pc + 1);
    gather(w, g);
    let missing = need & w.live() & !g.mask;
    if missing != 0 && !g.forced {
        return Some(wait(g, need, pc));
    }
    if missing != 0 {
        report_missing(ctx, w, pc, missing, need);
    }
    g.forced = false;
    None
}

/// Lanes that do an operation at one instruction.
struct Part {
    i: Inst,
    pc: u32,
    mask: u32,
}

/// A source row of all parts together.
fn rows(w: &Warp, parts: &[Part], register: impl Fn(&Inst) -> u16) -> Row {
    let mut row = [0; 32];
    for part in parts {
        put(&mut row, &w.r[usize::from(register(&part.i))], part.mask);
    }
    row
}

/// shfl, vote, match, redux, elect.
pub(super) fn exchange<C: Config>(ctx: &mut Context, w: &mut Warp, g: &mut Group, i: &Inst, pc: u32, m: u32) -> Next {
    let named = match i.op {
        Op::Shuffle | Op::Vote if i.off < 0 => None,
        Op::Shuffle => Some(i.off as u16),
        _ => Some(i.b),
    };
    let mut need = m;
    let mut partners: Vec<usize> = vec![];
    if let Some(register) = named {
        super::call::leave_others(w, g, m, pc + 1);
        gather(w, g);
        let row = w.r[usize::from(register)];
        // Lanes that name other masks exchange apart.
        need = row[g.mask.trailing_zeros() as usize];
        let same = compare(&row, &[need; 32], |x, y| x == y) & g.mask;
        if same != g.mask {
            super::call::leave_others(w, g, same, pc);
        }
        let code = &ctx.program.code;
        partners.extend((0..w.groups.len()).filter(|at| {
            let other = &w.groups[*at];
            other.state == State::WaitsForLanes(need) && is_one_operation(code, other.pc, pc)
        }));
        let there = partners.iter().fold(g.mask, |mask, at| mask | w.groups[*at].mask);
        let missing = need & w.live() & !there;
        if missing != 0 && !g.forced {
            return wait(g, need, pc);
        }
        let outside = there & !need;
        // Lanes that stored behind this place and then exited went around it.
        let gone = need & w.exited & w.exists;
        let around = if gone != 0 { compare(&w.exit_store, &[pc; 32], |x, y| x > y) & gone } else { 0 };
        if g.forced || outside != 0 || around != 0 {
            inactive::<C>(ctx, w, outside, pc, need, missing | around);
        }
        g.forced = false;
    }
    let mut parts: SmallVec<[Part; 2]> = smallvec![Part { i: *i, pc, mask: g.mask }];
    for at in partners {
        let other = &mut w.groups[at];
        if let Some(i) = ctx.program.code.get(other.pc as usize) {
            parts.push(Part { i: *i, pc: other.pc, mask: other.mask });
        }
        other.pc += 1;
        (other.state, other.forced) = (State::Ready, false);
    }
    let active = parts.iter().fold(0, |mask, part| mask | part.mask);
    match i.op {
        Op::Shuffle => shuffle::<C>(ctx, w, &parts, active, need),
        Op::Vote => vote(w, &parts, active, if named.is_some() { need & active } else { active }),
        Op::Match => match_lanes(w, &parts, active),
        Op::Redux => redux(w, &parts, active),
        _ => {
            // elect: the lowest lane.
            let leader = active.trailing_zeros();
            for part in &parts {
                put(&mut w.r[usize::from(part.i.d)], &[leader; 32], part.mask);
                put_predicate(&mut w.p, part.i.off as u16, 1 << leader, part.mask);
            }
        }
    }
    g.pc = pc + 1;
    if w.groups.is_empty() { Next::Jump } else { Next::Stop(Stop::Rejoin) }
}

#[cold]
fn inactive<C: Config>(ctx: &mut Context, w: &Warp, outside: u32, pc: u32, need: u32, missing: u32) {
    if missing != 0 {
        report_missing(ctx, w, pc, missing, need);
    }
    if C::CHECK && outside != 0 {
        let thread = 32 * w.index + outside.trailing_zeros();
        ctx.report_many(Kind::InactiveLane, pc, thread, u64::from(outside.count_ones()), None, || {
            format!("the thread is not in the mask {need:#010x} that it names")
        });
    }
}

fn shuffle<C: Config>(ctx: &mut Context, w: &mut Warp, parts: &[Part], active: u32, need: u32) {
    let (a, b, c) = (rows(w, parts, |i| i.a), rows(w, parts, |i| i.b), rows(w, parts, |i| i.c));
    let mode = parts[0].i.m & 3;
    let (mut out, mut from_lane, mut valid, mut dead) = ([0; 32], [0u8; 32], 0u32, 0u32);
    for lane in 0..32u32 {
        let (distance, packed) = (b[lane as usize] & 31, c[lane as usize]);
        let (clamp, segment) = (packed & 31, packed >> 8 & 31);
        let (most, least) = (lane & segment | clamp & !segment, lane & segment);
        let (from, fits) = match mode {
            0 => {
                let from = lane.wrapping_sub(distance);
                (from, from as i32 >= most as i32)
            }
            1 => (lane + distance, lane + distance <= most),
            2 => (lane ^ distance, lane ^ distance <= most),
            _ => {
                let from = least | distance & !segment;
                (from, from <= most)
            }
        };
        let from = if fits { from & 31 } else { lane };
        let absent = (active & need) >> from & 1 == 0;
        dead |= u32::from(absent) << lane;
        // Undefined; the own value depends on nothing that ran before.
        let from = if absent { lane } else { from };
        out[lane as usize] = a[from as usize];
        from_lane[lane as usize] = from as u8;
        valid |= u32::from(fits) << lane;
    }
    for part in parts {
        let (i, mask) = (&part.i, part.mask);
        if C::CHECK && (dead & active != 0 || w.undefined.is_some()) {
            follow(ctx, w, part, parts, &from_lane, dead);
        }
        if w.wide.get(usize::from(i.a)).is_some() {
            // The wider value travels with its bits; see `altered`.
            let source = |lane: usize| parts.iter().find(|p| p.mask >> lane & 1 != 0).map_or(i.a, |p| p.i.a);
            let moved = from_lane.map(|lane| {
                let lane = usize::from(lane) % 32;
                w.wide[usize::from(source(lane))][lane]
            });
            put(&mut w.wide[usize::from(i.d)], &moved, mask);
        }
        put(&mut w.r[usize::from(i.d)], &out, mask);
        put_predicate(&mut w.p, (i.m >> 16) as u16, valid, mask);
    }
}

/// Undefined values in a shuffle: those of lanes that take no part, and those that were undefined before.
fn follow(ctx: &mut Context, w: &mut Warp, part: &Part, parts: &[Part], from_lane: &[u8; 32], dead: u32) {
    for register in [part.i.b, part.i.c] {
        undefined::decides(ctx, w, Place::Word(register), part.pc, part.mask);
    }
    let before = w
        .undefined
        .as_ref()
        .map_or(0, |values| parts.iter().fold(0, |all, p| all | values.of(Place::Word(p.i.a)) & p.mask));
    let moved =
        lanes(part.mask).filter(|lane| before >> from_lane[*lane] & 1 != 0).fold(0, |all, lane| all | 1 << lane);
    let to = Place::Word(part.i.d);
    let old = w.undefined.clone();
    undefined::give(ctx, w, to, dead, part.mask & !(moved & !dead), (part.pc, Kind::InactiveLane));
    for lane in lanes(moved & !dead & part.mask) {
        let origin = old.as_ref().map_or((part.pc, Kind::InactiveLane), |o| o.origin(usize::from(from_lane[lane])));
        undefined::give(ctx, w, to, 1 << lane, 1 << lane, origin);
    }
    undefined::give(ctx, w, Place::Predicate((part.i.m >> 16) as u16), 0, part.mask, (part.pc, Kind::InactiveLane));
}

fn vote(w: &mut Warp, parts: &[Part], active: u32, members: u32) {
    let ayes = parts.iter().fold(0, |all, part| all | predicate(&w.p, part.i.a) & part.mask) & members;
    let all = |value: bool| if value { u32::MAX } else { 0 };
    for part in parts {
        let (d, mask) = (part.i.d, part.mask & active);
        match part.i.m & 3 {
            0 => put_predicate(&mut w.p, d, all(ayes == members), mask),
            1 => put_predicate(&mut w.p, d, all(ayes != 0), mask),
            2 => put_predicate(&mut w.p, d, all(ayes == 0 || ayes == members), mask),
            _ => put(&mut w.r[usize::from(d)], &[ayes; 32], mask),
        }
    }
}

/// `m`: bit 0 all, bit 1 64-bit.
fn match_lanes(w: &mut Warp, parts: &[Part], active: u32) {
    let mut row = [0u64; 32];
    for part in parts {
        let (wide, register) = (part.i.m & 2 != 0, usize::from(part.i.a));
        let own = if wide { w.q[register] } else { map1(&w.r[register], u64::from) };
        put(&mut row, &own, part.mask);
    }
    let mut out = [0u32; 32];
    for lane in lanes(active) {
        out[lane] = compare(&row, &[row[lane]; 32], |x, y| x == y) & active;
    }
    let mut equal = 0;
    if parts[0].i.m & 1 != 0 {
        let all = out[active.trailing_zeros() as usize & 31] == active;
        equal = if all { u32::MAX } else { 0 };
        out = [if all { active } else { 0 }; 32];
    }
    for part in parts {
        put(&mut w.r[usize::from(part.i.d)], &out, part.mask);
        put_predicate(&mut w.p, part.i.off as u16, equal, part.mask);
    }
}

/// `m`: bits 0-2 add, min, max, and, or, xor; 3 signed.
fn redux(w: &mut Warp, parts: &[Part], active: u32) {
    let row = rows(w, parts, |i| i.a);
    let m = parts[0].i.m;
    let signed = m & 8 != 0;
    let key = |x: u32| if signed { i64::from(x as i32) } else { i64::from(x) };
    let values = lanes(active).map(|lane| row[lane]);
    let result = values.reduce(|x, y| match m & 7 {
        0 => x.wrapping_add(y),
        1 => {
            if key(y) < key(x) {
                y
            } else {
                x
            }
        }
        2 => {
            if key(y) > key(x) {
                y
            } else {
                x
            }
        }
        3 => x & y,
        4 => x | y,
        _ => x ^ y,
    });
    for part in parts {
        put(&mut w.r[usize::from(part.i.d)], &[result.unwrap_or(0); 32], part.mask);
    }
}
