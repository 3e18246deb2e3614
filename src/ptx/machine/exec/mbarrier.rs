//! mbarriers: 64-bit objects in shared memory.
//!
//! Bits 0-19 arrivals still pending, 20-39 arrivals of a phase, 40-59 transactions pending, 63 phase. The layout is not
//! that of the hardware; programs may not look inside.

use super::async_copy;
use super::global::Access;
use super::shared::{inside, narrow, read_shared, write_shared};
use super::{addresses, poll};
use crate::ptx::decode::async_copy::{MBARRIER_OPS, MbarrierOp};
use crate::ptx::decode::op::{Inst, Op};
use crate::ptx::machine::context::{Config, Context};
use crate::ptx::machine::findings::Kind;
use crate::ptx::machine::predicate::put_predicate;
use crate::ptx::machine::regs::*;
use crate::ptx::machine::shadow::Strength;
use crate::ptx::machine::step::Next;
use crate::ptx::machine::warp::{Group, Warp};

const COUNT: u64 = 0xf_ffff;
const VALID: u64 = 1 << 62;

fn pending(state: u64) -> u64 {
    state & COUNT
}

fn expected(state: u64) -> u64 {
    state >> 20 & COUNT
}

fn transactions(state: u64) -> u64 {
    state >> 40 & COUNT
}

fn phase(state: u64) -> u64 {
    state >> 63
}

fn pack(pending: u64, expected: u64, transactions: u64, phase: u64) -> u64 {
    pending & COUNT | (expected & COUNT) << 20 | (transactions & COUNT) << 40 | VALID | phase << 63
}

/// The next phase begins when nothing is pending.
fn settle(ctx: &mut Context, state: u64, check: bool) -> u64 {
    if pending(state) == 0 && transactions(state) == 0 {
        if check {
            ctx.shadow.barrier();
        }
        return pack(expected(state), expected(state), 0, 1 - phase(state));
    }
    state
}

pub(super) fn run<C: Config>(ctx: &mut Context, w: &mut Warp, g: &mut Group, i: &Inst, pc: u32, m: u32) -> Next {
    if i.op == Op::CpAsyncArrive {
        return copies_arrive::<C>(ctx, w, g, i, pc, m);
    }
    let op = MBARRIER_OPS[(i.m & 15) as usize % MBARRIER_OPS.len()];
    if op == MbarrierOp::Pending {
        let out = map1(&w.q[usize::from(i.a)], |x: u64| pending(x) as u32);
        put(&mut w.r[usize::from(i.d)], &out, m);
        return Next::Go;
    }
    let at = addresses(w, i.a, i.m & 1 << 4 != 0, i.off);
    let has_b = i.m & 1 << 5 != 0;
    let (mut states, mut done, mut waits) = ([0u64; 32], 0u32, false);
    for lane in lanes(m) {
        let access = Access { pc, thread: 32 * w.index + lane as u32, size: 8, how: Strength::Atomic };
        let offset = narrow(at[lane]);
        if !inside(ctx, offset, access) {
            continue;
        }
        let state = read_shared(&ctx.shared, offset, 8);
        let b = match op {
            MbarrierOp::TestWait | MbarrierOp::TryWait => w.q[usize::from(i.b)][lane],
            _ if has_b => u64::from(w.r[usize::from(i.b)][lane]),
            _ => 1,
        };
        if op != MbarrierOp::Init && state & VALID == 0 {
            ctx.report(Kind::BarrierMisuse, pc, access.thread, Some(u64::from(offset)), || {
                "an mbarrier that was not initialised".into()
            });
            done |= 1 << lane;
            continue;
        }
        states[lane] = state;
        let (p, e, t, f) = (pending(state), expected(state), transactions(state), phase(state));
        let next = match op {
            MbarrierOp::Init => pack(b, b, 0, 0),
            MbarrierOp::Inval => 0,
            MbarrierOp::Arrive | MbarrierOp::ArriveDrop | MbarrierOp::ArriveExpectTx => {
                let (count, bytes) = if op == MbarrierOp::ArriveExpectTx { (1, b) } else { (b, 0) };
                if count > p {
                    ctx.report(Kind::BarrierMisuse, pc, access.thread, Some(u64::from(offset)), || {
                        format!("{count} arrivals at an mbarrier that expects {p} more")
                    });
                }
                let dropped = if op == MbarrierOp::ArriveDrop { count } else { 0 };
                let state = pack(p.saturating_sub(count), e.saturating_sub(dropped), t.wrapping_add(bytes), f);
                settle(ctx, state, C::CHECK)
            }
            MbarrierOp::ExpectTx => pack(p, e, t.wrapping_add(b), f),
            MbarrierOp::CompleteTx => settle(ctx, pack(p, e, t.wrapping_sub(b), f), C::CHECK),
            MbarrierOp::TestWait | MbarrierOp::TryWait => {
                done |= u32::from(phase(b) != f) << lane;
                state
            }
            _ => {
                // The phase with this parity has completed if the current one has the other.
                done |= u32::from(b & 1 != f) << lane;
                state
            }
        };
        write_shared(&mut ctx.shared, offset, 8, next);
        if C::CHECK {
            super::check_shared::check_mbarrier(ctx, offset, access);
        }
    }
    match op {
        MbarrierOp::TestWait | MbarrierOp::TryWait | MbarrierOp::TestParity | MbarrierOp::TryParity => {
            put_predicate(&mut w.p, i.d, done, m);
            waits = done & m != m;
        }
        _ if i.m & 1 << 6 != 0 => put(&mut w.q[usize::from(i.d)], &states, m),
        _ => {}
    }
    if waits { poll(ctx, g, pc) } else { Next::Go }
}

/// `cp.async.mbarrier.arrive`: the copies of these lanes complete now, then each lane arrives. Without `.noinc` the
/// arrival was not counted in advance, so it changes nothing.
fn copies_arrive<C: Config>(ctx: &mut Context, w: &mut Warp, g: &mut Group, i: &Inst, pc: u32, m: u32) -> Next {
    async_copy::complete::<C>(ctx, w, m);
    if i.m & 1 == 0 {
        return Next::Go;
    }
    let mut arrive = *i;
    arrive.op = Op::Mbarrier;
    arrive.m = MbarrierOp::Arrive as u32 | (i.m >> 1 & 1) << 4;
    run::<C>(ctx, w, g, &arrive, pc, m)
}
