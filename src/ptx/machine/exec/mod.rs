//! Instructions that the dispatch loop does not hold itself, by family.

pub(crate) mod altered;
pub(crate) mod async_copy;
pub(crate) mod atomic;
pub(crate) mod barrier;
pub(crate) mod call;
mod check_global;
mod check_shared;
mod gaps;
pub(crate) mod generic;
pub(crate) mod global;
pub(crate) mod local;
pub(crate) mod matrix;
pub(crate) mod mbarrier;
pub(crate) mod note;
pub(crate) mod print;
mod rows;
pub(crate) mod scalar;
mod sectors;
pub(crate) mod shared;
pub(crate) mod warp_ops;
mod wavefronts;

use super::context::{Config, Context};
use super::findings::Kind;
use super::memory::WORKSPACE;
use super::predicate::{finish_setp, put_predicate};
use super::regs::*;
use super::step::{Next, Stop};
use super::warp::{Group, Warp};
use crate::ptx::decode::memory::{STRONG, WIDE_BASE};
use crate::ptx::decode::op::{Inst, Op};

/// Runs one instruction of the less frequent kinds for the lanes of `m`.
#[inline(never)]
pub(crate) fn run<C: Config>(ctx: &mut Context, w: &mut Warp, g: &mut Group, i: &Inst, pc: u32, m: u32) -> Next {
    match i.op {
        Op::Scalar => scalar::run(ctx, w, i, m),
        Op::SetpOther => {
            let value = scalar::compare(ctx, w, i);
            finish_setp(w, i, value, m);
        }
        Op::SetpHalf2 => scalar::setp_half2(ctx, w, i, m),
        Op::Carry => scalar::carry(w, i, m),
        Op::Pack4x16 => {
            let rows = [i.a, i.b, i.c, i.off as u16].map(|r| w.r[usize::from(r)]);
            let mut out = [0u64; 32];
            for (lane, out) in out.iter_mut().enumerate() {
                for (n, row) in rows.iter().enumerate() {
                    *out |= u64::from(row[lane] & 0xffff) << (16 * n);
                }
            }
            put(&mut w.q[usize::from(i.d)], &out, m);
        }
        Op::Unpack4x16 => {
            let row = w.q[usize::from(i.a)];
            for (n, d) in [i.d, i.b, i.c, i.off as u16].into_iter().enumerate() {
                put(&mut w.r[usize::from(d)], &map1(&row, |x: u64| (x >> (16 * n)) as u32 & 0xffff), m);
            }
        }
        Op::Clock => {
            // Steps of the block stand for time: deterministic, and rising.
            let now = w.clock.wrapping_add(ctx.options.limits.block_steps.wrapping_sub(ctx.fuel));
            let now = if i.m & 2 != 0 { now >> 32 } else { now };
            if i.m & 1 != 0 {
                put(&mut w.q[usize::from(i.d)], &[now; 32], m);
            } else {
                put(&mut w.r[usize::from(i.d)], &[now as u32; 32], m);
            }
        }
        Op::FrameAddress => {
            let address = u64::from(g.base).wrapping_add(i.off as i64 as u64);
            if i.m & 1 != 0 {
                put(&mut w.q[usize::from(i.d)], &[address; 32], m);
            } else {
                put(&mut w.r[usize::from(i.d)], &[address as u32; 32], m);
            }
        }
        Op::IsSpace => {
            let row = w.q[usize::from(i.a)];
            let value = compare(&row, &row, |x, _| generic::is_space(ctx, x, i.m));
            put_predicate(&mut w.p, i.d, value, m);
        }
        Op::BraIndexed => return call::branch_indexed(ctx, w, g, i, m),
        Op::Ret => return call::ret::<C>(ctx, w, g, m),
        Op::Call => return call::call::<C>(ctx, w, g, i, pc, m),
        Op::CallIndirect => return call::indirect::<C>(ctx, w, g, i, pc, m),
        Op::Trap => {
            let thread = 32 * w.index + m.trailing_zeros();
            ctx.report_many(Kind::Trap, pc, thread, u64::from(m.count_ones()), None, || "trap".into());
            return leave(ctx, w, g, m);
        }
        Op::Print => return print::print(ctx, w, g, i, m),
        Op::Note => note::note(ctx, w, g, i, m),
        Op::Assert => {
            print::assert(ctx, w, g, i, pc, m);
            return leave(ctx, w, g, m);
        }
        Op::Barrier | Op::BarrierReduce | Op::BarrierArrive => return barrier::arrive::<C>(ctx, w, g, i, pc, m),
        Op::WarpSync => return warp_ops::warp_sync::<C>(ctx, w, g, i, m),
        Op::Shuffle | Op::Vote | Op::Match | Op::Redux | Op::Elect => {
            return warp_ops::exchange::<C>(ctx, w, g, i, pc, m);
        }
        Op::ActiveMask => put(&mut w.r[usize::from(i.d)], &[m; 32], m),
        Op::Fence if C::CHECK => ctx.shadow.fence(w.index, m, i.m != 0),
        Op::Nanosleep => return poll(ctx, g, pc),
        Op::LdLocal => local::load::<C>(ctx, w, g, i, pc, m),
        Op::StLocal => local::store::<C>(ctx, w, g, i, pc, m),
        Op::LdGeneric => {
            generic::load::<C>(ctx, w, g, i, pc, m);
            if ctx.workspace != 0 && i.m & STRONG != 0 && meets(ctx, w, i, m) {
                return poll(ctx, g, pc);
            }
            return polled(ctx, g, pc);
        }
        Op::LdStrongGlobal => {
            global::load::<C>(ctx, w, i, pc, m);
            if ctx.workspace != 0 && meets(ctx, w, i, m) {
                return poll(ctx, g, pc);
            }
            return polled(ctx, g, pc);
        }
        Op::LdStrongShared => {
            shared::load::<C>(ctx, w, i, pc, m);
            return polled(ctx, g, pc);
        }
        Op::StGeneric => {
            g.last_store = pc;
            generic::store::<C>(ctx, w, g, i, pc, m);
        }
        Op::Atomic => {
            g.last_store = pc;
            atomic::run::<C>(ctx, w, g, i, pc, m);
            ctx.polls += 1;
            return polled(ctx, g, pc);
        }
        Op::CpAsync => async_copy::issue::<C>(ctx, w, i, pc, m),
        Op::CpAsyncCommit => w.copies.commit(m),
        Op::CpAsyncWait => async_copy::wait::<C>(ctx, w, i.m, m),
        Op::CpAsyncArrive | Op::Mbarrier => return mbarrier::run::<C>(ctx, w, g, i, pc, m),
        Op::Ldmatrix | Op::Stmatrix | Op::Movmatrix | Op::Mma | Op::WmmaLoad | Op::WmmaStore => {
            return matrix::run::<C>(ctx, w, g, i, pc, m);
        }
        _ => {}
    }
    Next::Go
}

/// Whether a load looks at whether all blocks of the grid have come. Then the others have a look, too, before this one
/// goes on: else what it does in the next phase would come before they leave this one, and count as ordered with theirs.
fn meets(ctx: &mut Context, w: &Warp, i: &Inst, m: u32) -> bool {
    let at = addresses(w, i.a, i.m & WIDE_BASE != 0, i.off)[m.trailing_zeros() as usize % 32];
    let meets = at.wrapping_sub(ctx.workspace) < u64::from(WORKSPACE);
    ctx.makes_way |= meets;
    meets
}

/// Polls (strong loads, atomics, sleeps) after which others get a turn.
const POLLS: u32 = 64;

fn polled(ctx: &mut Context, g: &mut Group, pc: u32) -> Next {
    if ctx.polls > POLLS { poll(ctx, g, pc) } else { Next::Go }
}

/// Goes on behind the instruction, after others had a turn.
pub(crate) fn poll(ctx: &mut Context, g: &mut Group, pc: u32) -> Next {
    ctx.polls = 0;
    ctx.yields += 1;
    g.pc = pc + 1;
    g.state = super::warp::State::Yielded;
    Next::Stop(Stop::Blocked)
}

/// Ends lanes.
fn leave(ctx: &mut Context, w: &mut Warp, g: &mut Group, m: u32) -> Next {
    w.exited |= m;
    g.mask &= !m;
    barrier::exits(ctx, w, g, m);
    if g.mask == 0 {
        return Next::Stop(Stop::Exited);
    }
    g.pc += 1;
    Next::Jump
}

/// Addresses of lanes: base register plus offset. A 32-bit base is not sign-extended.
#[inline(always)]
pub(crate) fn addresses(w: &Warp, base: u16, wide: bool, offset: i32) -> WideRow {
    let add = offset as i64 as u64;
    if wide {
        map1(&w.q[usize::from(base)], |x: u64| x.wrapping_add(add))
    } else {
        map1(&w.r[usize::from(base)], |x: u32| u64::from(x.wrapping_add(add as u32)))
    }
}

/// The registers of a vector access.
pub(crate) fn registers<'a>(ctx: &Context<'a>, i: &'a Inst, store: bool, count: usize) -> [u16; 8] {
    let mut list = [0; 8];
    if count == 1 {
        list[0] = if store { i.b } else { i.d };
        return list;
    }
    let at = usize::from(i.c) << 16 | usize::from(i.d);
    for (to, from) in list.iter_mut().zip(ctx.program.lists.get(at..at + count).unwrap_or(&[])) {
        *to = *from;
    }
    list
}
