//! Barriers of a block. They hold lanes, not warps.

use crate::ptx::decode::op::{Inst, Op};
use crate::ptx::machine::context::{Config, Context};
use crate::ptx::machine::findings::Kind;
use crate::ptx::machine::predicate::predicate;
use crate::ptx::machine::step::{Next, Stop};
use crate::ptx::machine::warp::{Group, State, Warp};

pub(super) fn arrive<C: Config>(ctx: &mut Context, w: &mut Warp, g: &mut Group, i: &Inst, pc: u32, m: u32) -> Next {
    let lane = m.trailing_zeros() as usize;
    let id = w.r[usize::from(i.a)][lane];
    if id > 15 {
        let thread = 32 * w.index + lane as u32;
        ctx.report(Kind::BarrierMisuse, pc, thread, None, || format!("barrier {id}; there are 0 to 15"));
        return Next::Go;
    }
    let count = if i.m & 4 != 0 { w.r[usize::from(i.b)][lane] } else { 0 };
    let warps = ctx.threads.div_ceil(32) as usize;
    let votes = if i.op == Op::BarrierReduce { predicate(&w.p, i.c) & m } else { 0 };
    // Lanes of the warp that could still come here, or will miss it.
    let elsewhere = w.live() & !m;
    let barrier = &mut ctx.barriers[id as usize];
    if barrier.arrived.len() != warps {
        barrier.arrived.resize(warps, 0);
    }
    barrier.in_use = true;
    barrier.count = count;
    barrier.arrived[w.index as usize] |= m;
    barrier.ayes += votes.count_ones();
    barrier.votes += m.count_ones();
    if C::CHECK && elsewhere != 0 && i.m & 8 == 0 {
        barrier.suspects.push((pc, w.index, elsewhere));
    }
    super::call::leave_others(w, g, m, pc + 1);
    g.pc = pc + 1;
    if !ctx.released.contains(&(id as u8)) {
        ctx.released.push(id as u8);
    }
    if i.op == Op::BarrierArrive {
        return if w.groups.is_empty() { Next::Jump } else { Next::Stop(Stop::Rejoin) };
    }
    g.pc = pc;
    g.state = State::AtBarrier(id as u8);
    Next::Stop(Stop::Blocked)
}

/// Lanes exited: barriers that wait for all may be complete now. A lane that stored behind a barrier which others of
/// its warp still wait at went around it.
pub(crate) fn exits(ctx: &mut Context, w: &Warp, g: &Group, m: u32) {
    for id in 0..ctx.barriers.len() {
        if !ctx.barriers[id].in_use {
            continue;
        }
        if !ctx.released.contains(&(id as u8)) {
            ctx.released.push(id as u8);
        }
        let barrier = &ctx.barriers[id];
        let waits = barrier.arrived.get(w.index as usize).copied().unwrap_or(0);
        let around =
            barrier.suspects.iter().find(|s| s.1 == w.index && s.2 & m != 0 && g.last_store > s.0 && waits & m == 0);
        if let Some(&(pc, _, _)) = around
            && barrier.count == 0
        {
            let thread = 32 * w.index + m.trailing_zeros();
            ctx.report_many(Kind::DivergentBarrier, pc, thread, u64::from(m.count_ones()), None, || {
                "the thread passed by a barrier at which others of its warp wait".into()
            });
        }
    }
}

/// Releases barriers that are complete. Returns whether any lane goes on.
pub(crate) fn release(ctx: &mut Context, warps: &mut [Warp], check: bool) -> bool {
    let mut any = false;
    for id in std::mem::take(&mut ctx.released) {
        let barrier = &ctx.barriers[usize::from(id)];
        if !barrier.in_use || !is_complete(barrier, warps) {
            continue;
        }
        let mut barrier = std::mem::take(&mut ctx.barriers[usize::from(id)]);
        any = true;
        for w in warps.iter_mut() {
            let mut places: Vec<(u32, u32)> = vec![];
            for at in 0..w.groups.len() {
                if w.groups[at].state != State::AtBarrier(id) {
                    continue;
                }
                let (pc, mask) = (w.groups[at].pc, w.groups[at].mask);
                places.push((pc, mask));
                deliver(ctx, w, &barrier, pc, mask);
                let group = &mut w.groups[at];
                group.pc += 1;
                group.state = State::Ready;
                group.last_store = 0;
            }
            let first = places.first().map_or(0, |p| p.0);
            let aligned = ctx.program.code.get(first as usize).is_none_or(|i| i.m & 8 == 0);
            if check
                && aligned
                && let Some((pc, mask)) = places.iter().find(|p| p.0 != first)
            {
                let thread = 32 * w.index + mask.trailing_zeros();
                ctx.report_many(Kind::DivergentBarrier, *pc, thread, u64::from(mask.count_ones()), None, || {
                    "threads of one warp wait at different barrier instructions".into()
                });
            }
        }
        barrier.arrived.iter_mut().for_each(|a| *a = 0);
        barrier.suspects.clear();
        ctx.barriers[usize::from(id)] = super::super::context::Barrier {
            arrived: barrier.arrived,
            suspects: barrier.suspects,
            ..Default::default()
        };
        if check {
            ctx.shadow.barrier();
        }
    }
    any
}

fn is_complete(barrier: &super::super::context::Barrier, warps: &[Warp]) -> bool {
    if barrier.count == 0 {
        return barrier.arrived.iter().zip(warps).all(|(arrived, w)| arrived | w.exited == u32::MAX);
    }
    // Whole warps are counted: lanes that do not exist or have exited count with their warp.
    let present = |(arrived, w): (&u32, &Warp)| if *arrived == 0 { 0 } else { (arrived | w.exited).count_ones() };
    barrier.arrived.iter().zip(warps).map(present).sum::<u32>() >= barrier.count
}

/// Result of `barrier.red`.
fn deliver(ctx: &Context, w: &mut Warp, barrier: &super::super::context::Barrier, pc: u32, mask: u32) {
    let Some(i) = ctx.program.code.get(pc as usize).filter(|i| i.op == Op::BarrierReduce) else { return };
    match i.m & 3 {
        0 => super::super::regs::put(&mut w.r[usize::from(i.d)], &[barrier.ayes; 32], mask),
        op => {
            let value = if op == 1 { barrier.ayes == barrier.votes } else { barrier.ayes > 0 };
            super::super::predicate::put_predicate(&mut w.p, i.d, if value { u32::MAX } else { 0 }, mask);
        }
    }
}
