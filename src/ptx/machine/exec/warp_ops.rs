//! Operations among lanes of a warp. Those with a member mask wait until all named lanes that still live are there.

use super::super::findings::Kind;
use crate::ptx::decode::op::{Inst, Op};
use crate::ptx::machine::context::{Config, Context};
use crate::ptx::machine::regs::*;
use crate::ptx::machine::step::{Next, Stop, predicate, put_predicate};
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

/// Waiting lanes may go on when those they wait for have exited.
pub(crate) fn settle(w: &mut Warp) {
    let live = w.live();
    for at in 0..w.groups.len() {
        if let State::WaitsForLanes(need) = w.groups[at].state {
            let pc = w.groups[at].pc;
            let there = w.groups.iter().filter(|g| g.pc == pc && matches!(g.state, State::WaitsForLanes(_)));
            let there = there.fold(0, |mask, g| mask | g.mask);
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

/// shfl, vote, match, redux, elect.
pub(super) fn exchange<C: Config>(ctx: &mut Context, w: &mut Warp, g: &mut Group, i: &Inst, pc: u32, m: u32) -> Next {
    let named = match i.op {
        Op::Shuffle | Op::Vote if i.off < 0 => None,
        Op::Shuffle => Some(i.off as u16),
        _ => Some(i.b),
    };
    let mut need = m;
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
        let missing = need & w.live() & !g.mask;
        if missing != 0 && !g.forced {
            return wait(g, need, pc);
        }
        let outside = g.mask & !need;
        // Lanes that stored behind this place and then exited went around it.
        let gone = need & w.exited & w.exists;
        let around = if gone != 0 { compare(&w.exit_store, &[pc; 32], |x, y| x > y) & gone } else { 0 };
        if g.forced || outside != 0 || around != 0 {
            inactive::<C>(ctx, w, g, pc, need, missing | around);
        }
        g.forced = false;
    }
    let active = g.mask;
    match i.op {
        Op::Shuffle => shuffle::<C>(ctx, w, i, pc, active, need),
        Op::Vote => vote(w, i, active, if named.is_some() { need & active } else { active }),
        Op::Match => match_lanes(w, i, active),
        Op::Redux => redux(w, i, active),
        _ => {
            // elect: the lowest lane.
            let leader = active.trailing_zeros();
            put(&mut w.r[usize::from(i.d)], &[leader; 32], active);
            put_predicate(&mut w.p, i.off as u16, 1 << leader, active);
        }
    }
    g.pc = pc + 1;
    if w.groups.is_empty() { Next::Jump } else { Next::Stop(Stop::Rejoin) }
}

#[cold]
fn inactive<C: Config>(ctx: &mut Context, w: &Warp, g: &Group, pc: u32, need: u32, missing: u32) {
    if missing != 0 {
        report_missing(ctx, w, pc, missing, need);
    }
    let outside = g.mask & !need;
    if C::CHECK && outside != 0 {
        let thread = 32 * w.index + outside.trailing_zeros();
        ctx.report_many(Kind::InactiveLane, pc, thread, u64::from(outside.count_ones()), None, || {
            format!("the thread is not in the mask {need:#010x} that it names")
        });
    }
}

fn shuffle<C: Config>(ctx: &mut Context, w: &mut Warp, i: &Inst, pc: u32, active: u32, need: u32) {
    let (a, b, c) = (w.r[usize::from(i.a)], w.r[usize::from(i.b)], w.r[usize::from(i.c)]);
    let (mut out, mut from_lane, mut valid, mut dead) = ([0; 32], [0u8; 32], 0u32, 0u32);
    for lane in 0..32u32 {
        let (distance, packed) = (b[lane as usize] & 31, c[lane as usize]);
        let (clamp, segment) = (packed & 31, packed >> 8 & 31);
        let (most, least) = (lane & segment | clamp & !segment, lane & segment);
        let (from, fits) = match i.m & 3 {
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
        out[lane as usize] = a[from as usize];
        from_lane[lane as usize] = from as u8;
        valid |= u32::from(fits) << lane;
        dead |= u32::from((active & need) >> from & 1 == 0) << lane;
    }
    let dead = dead & active;
    if C::CHECK && dead != 0 {
        let thread = 32 * w.index + dead.trailing_zeros();
        ctx.report_many(Kind::InactiveLane, pc, thread, u64::from(dead.count_ones()), None, || {
            "the thread reads from a lane that does not take part".into()
        });
    }
    if let Some(row) = w.wide.get(usize::from(i.a)) {
        // The wider value travels with its bits; see `altered`.
        let moved = from_lane.map(|lane| row[usize::from(lane) % 32]);
        put(&mut w.wide[usize::from(i.d)], &moved, active);
    }
    put(&mut w.r[usize::from(i.d)], &out, active);
    put_predicate(&mut w.p, (i.m >> 16) as u16, valid, active);
}

fn vote(w: &mut Warp, i: &Inst, active: u32, members: u32) {
    let ayes = predicate(&w.p, i.a) & members;
    let all = |value: bool| if value { u32::MAX } else { 0 };
    match i.m & 3 {
        0 => put_predicate(&mut w.p, i.d, all(ayes == members), active),
        1 => put_predicate(&mut w.p, i.d, all(ayes != 0), active),
        2 => put_predicate(&mut w.p, i.d, all(ayes == 0 || ayes == members), active),
        _ => put(&mut w.r[usize::from(i.d)], &[ayes; 32], active),
    }
}

/// `m`: bit 0 all, bit 1 64-bit.
fn match_lanes(w: &mut Warp, i: &Inst, active: u32) {
    let row = if i.m & 2 != 0 { w.q[usize::from(i.a)] } else { map1(&w.r[usize::from(i.a)], u64::from) };
    let mut out = [0u32; 32];
    for lane in lanes(active) {
        out[lane] = compare(&row, &[row[lane]; 32], |x, y| x == y) & active;
    }
    let mut equal = 0;
    if i.m & 1 != 0 {
        let all = out[active.trailing_zeros() as usize & 31] == active;
        equal = if all { u32::MAX } else { 0 };
        out = [if all { active } else { 0 }; 32];
    }
    put(&mut w.r[usize::from(i.d)], &out, active);
    put_predicate(&mut w.p, i.off as u16, equal, active);
}

/// `m`: bits 0-2 add, min, max, and, or, xor; 3 signed.
fn redux(w: &mut Warp, i: &Inst, active: u32) {
    let row = w.r[usize::from(i.a)];
    let signed = i.m & 8 != 0;
    let key = |x: u32| if signed { i64::from(x as i32) } else { i64::from(x) };
    let values = lanes(active).map(|lane| row[lane]);
    let result = values.reduce(|x, y| match i.m & 7 {
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
    put(&mut w.r[usize::from(i.d)], &[result.unwrap_or(0); 32], active);
}
