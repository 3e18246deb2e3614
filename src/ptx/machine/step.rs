//! The dispatch loop: one group of lanes, instruction after instruction.
//!
//! Hot operations are matched here and inlined; everything else is one call away in `exec`.

use super::context::{Config, Context};
use super::predicate::*;
use super::regs::*;
use super::warp::{Group, Warp};
use crate::ptx::decode::op::{Inst, Op};
use crate::ptx::scalar::bits;
use crate::ptx::scalar::convert::{F32_NAN, f16_to_f32, f32_to_f16, f32_to_f64};
use crate::ptx::scalar::double::F64_NAN;

/// Why a group stopped running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// At a place where other groups wait: choose anew.
    Rejoin,
    /// All its lanes exited.
    Exited,
    /// Waits; `Group::state` says for what.
    Blocked,
    /// Its turn is over.
    Turn,
    /// The launch ends.
    Halt,
}

#[inline(always)]
fn f(bits: u32) -> f32 {
    f32::from_bits(bits)
}

/// Bits of a result, NaN as the hardware writes it.
#[inline(always)]
fn b(value: f32) -> u32 {
    if value.is_nan() { F32_NAN } else { value.to_bits() }
}

#[inline(always)]
fn fd(bits: u64) -> f64 {
    f64::from_bits(bits)
}

#[inline(always)]
fn bd(value: f64) -> u64 {
    if value.is_nan() { F64_NAN } else { value.to_bits() }
}

/// `min`/`max` of f32: the number if one is NaN, -0 below +0.
#[inline(always)]
fn extreme(a: u32, b: u32, max: bool) -> u32 {
    let key = |bits: u32| bits as i32 ^ ((bits as i32 >> 31) as u32 >> 1) as i32;
    let (a_nan, b_nan) = (f(a).is_nan(), f(b).is_nan());
    let first = if max { key(a) >= key(b) } else { key(a) <= key(b) };
    let one = if first { a } else { b };
    if a_nan && b_nan {
        F32_NAN
    } else if a_nan {
        b
    } else if b_nan {
        a
    } else {
        one
    }
}

macro_rules! lanes32 {
    ($w:ident, $i:ident, $m:ident, |$a:ident| $e:expr) => {{
        let out = map1(&$w.r[usize::from($i.a)], |$a: u32| $e);
        put(&mut $w.r[usize::from($i.d)], &out, $m);
    }};
    ($w:ident, $i:ident, $m:ident, |$a:ident, $b:ident| $e:expr) => {{
        let out = map2(&$w.r[usize::from($i.a)], &$w.r[usize::from($i.b)], |$a: u32, $b: u32| $e);
        put(&mut $w.r[usize::from($i.d)], &out, $m);
    }};
    ($w:ident, $i:ident, $m:ident, |$a:ident, $b:ident, $c:ident| $e:expr) => {{
        let (ra, rb, rc) = (&$w.r[usize::from($i.a)], &$w.r[usize::from($i.b)], &$w.r[usize::from($i.c)]);
        let out = map3(ra, rb, rc, |$a: u32, $b: u32, $c: u32| $e);
        put(&mut $w.r[usize::from($i.d)], &out, $m);
    }};
}

macro_rules! lanes64 {
    ($w:ident, $i:ident, $m:ident, |$a:ident| $e:expr) => {{
        let out = map1(&$w.q[usize::from($i.a)], |$a: u64| $e);
        put(&mut $w.q[usize::from($i.d)], &out, $m);
    }};
    ($w:ident, $i:ident, $m:ident, |$a:ident, $b:ident| $e:expr) => {{
        let out = map2(&$w.q[usize::from($i.a)], &$w.q[usize::from($i.b)], |$a: u64, $b: u64| $e);
        put(&mut $w.q[usize::from($i.d)], &out, $m);
    }};
    ($w:ident, $i:ident, $m:ident, |$a:ident, $b:ident, $c:ident| $e:expr) => {{
        let (ra, rb, rc) = (&$w.q[usize::from($i.a)], &$w.q[usize::from($i.b)], &$w.q[usize::from($i.c)]);
        let out = map3(ra, rb, rc, |$a: u64, $b: u64, $c: u64| $e);
        put(&mut $w.q[usize::from($i.d)], &out, $m);
    }};
}

/// A product of two 32-bit lanes into 64 bits, plus a 64-bit lane.
macro_rules! wide_product {
    ($w:ident, $i:ident, $m:ident, |$a:ident, $b:ident| $e:expr) => {{
        let out = map2(&$w.r[usize::from($i.a)], &$w.r[usize::from($i.b)], |$a: u32, $b: u32| $e);
        put(&mut $w.q[usize::from($i.d)], &out, $m);
    }};
    ($w:ident, $i:ident, $m:ident, |$a:ident, $b:ident, $c:ident| $e:expr) => {{
        let (ra, rb, rc) = (&$w.r[usize::from($i.a)], &$w.r[usize::from($i.b)], &$w.q[usize::from($i.c)]);
        let out = map3(ra, rb, rc, |$a: u32, $b: u32, $c: u64| $e);
        put(&mut $w.q[usize::from($i.d)], &out, $m);
    }};
}

/// A comparison chosen once for all lanes: Eq Ne Lt Le Gt Ge, then the unordered ones of floats.
macro_rules! setp {
    ($w:ident, $i:ident, $m:ident, $file:ident, $key:expr, $unordered:expr) => {{
        let (ra, rb) = (&$w.$file[usize::from($i.a)], &$w.$file[usize::from($i.b)]);
        let key = $key;
        let value = match $i.m & 15 {
            0 => compare(ra, rb, |x, y| key(x) == key(y)),
            // Ordered: false on NaN.
            1 => compare(ra, rb, |x, y| key(x) < key(y) || key(x) > key(y)),
            2 => compare(ra, rb, |x, y| key(x) < key(y)),
            3 => compare(ra, rb, |x, y| key(x) <= key(y)),
            4 => compare(ra, rb, |x, y| key(x) > key(y)),
            5 => compare(ra, rb, |x, y| key(x) >= key(y)),
            other => $unordered(other, ra, rb),
        };
        finish_setp($w, &$i, value, $m);
    }};
}

/// Runs a group until it stops, for at most `turn` instructions; gives what is left of them. `limit`: the place where
/// another group waits.
#[inline(always)]
pub(crate) fn run_group<C: Config>(
    ctx: &mut Context,
    w: &mut Warp,
    g: &mut Group,
    mut limit: u32,
    mut turn: u32,
) -> (Stop, u32) {
    let code: &[Inst] = &ctx.program.code;
    let mut pc = g.pc;
    // Where the instructions begin that are not counted yet.
    let mut from = pc;
    loop {
        let Some(&i) = code.get(pc as usize) else {
            count_run::<C>(ctx, from, pc, g.mask);
            return (Stop::Halt, turn);
        };
        if turn == 0 {
            count_run::<C>(ctx, from, pc, g.mask);
            g.pc = pc;
            return (Stop::Turn, turn);
        }
        turn -= 1;
        let m = g.mask & predicate(&w.p, i.guard);
        if C::COUNT
            && m != g.mask
            && let Some(site) = ctx.sites.get_mut(pc as usize)
        {
            site.absent += u64::from((g.mask & !m).count_ones());
        }
        if C::CHECK && w.undefined.is_some() {
            super::undefined::step(ctx, w, &i, pc, g.mask, m);
        }
        if m == 0 {
            pc += 1;
            if pc >= limit {
                count_run::<C>(ctx, from, pc, g.mask);
                g.pc = pc;
                return (Stop::Rejoin, turn);
            }
            continue;
        }
        if C::ALTERED && super::exec::altered::run(ctx, w, &i, pc, m) {
            pc += 1;
            if pc >= limit {
                g.pc = pc;
                return (Stop::Rejoin, turn);
            }
            continue;
        }
        match i.op {
            Op::Nop => {}
            Op::Mov32 => {
                let row = w.r[usize::from(i.a)];
                put(&mut w.r[usize::from(i.d)], &row, m);
            }
            Op::Mov64 => {
                let row = w.q[usize::from(i.a)];
                put(&mut w.q[usize::from(i.d)], &row, m);
            }
            Op::Add32 => lanes32!(w, i, m, |x, y| x.wrapping_add(y)),
            Op::Sub32 => lanes32!(w, i, m, |x, y| x.wrapping_sub(y)),
            Op::Mul32 => lanes32!(w, i, m, |x, y| x.wrapping_mul(y)),
            Op::Mad32 => lanes32!(w, i, m, |x, y, z| x.wrapping_mul(y).wrapping_add(z)),
            Op::MulHiU32 => lanes32!(w, i, m, |x, y| ((u64::from(x) * u64::from(y)) >> 32) as u32),
            Op::MulHiS32 => lanes32!(w, i, m, |x, y| ((i64::from(x as i32) * i64::from(y as i32)) >> 32) as u32),
            Op::MulWideU32 => wide_product!(w, i, m, |x, y| u64::from(x) * u64::from(y)),
            Op::MulWideS32 => wide_product!(w, i, m, |x, y| (i64::from(x as i32) * i64::from(y as i32)) as u64),
            Op::MadWideU32 => wide_product!(w, i, m, |x, y, z| (u64::from(x) * u64::from(y)).wrapping_add(z)),
            Op::MadWideS32 => {
                wide_product!(w, i, m, |x, y, z| ((i64::from(x as i32) * i64::from(y as i32)) as u64).wrapping_add(z))
            }
            Op::MinU32 => lanes32!(w, i, m, |x, y| x.min(y)),
            Op::MinS32 => lanes32!(w, i, m, |x, y| (x as i32).min(y as i32) as u32),
            Op::MaxU32 => lanes32!(w, i, m, |x, y| x.max(y)),
            Op::MaxS32 => lanes32!(w, i, m, |x, y| (x as i32).max(y as i32) as u32),
            Op::And32 => lanes32!(w, i, m, |x, y| x & y),
            Op::Or32 => lanes32!(w, i, m, |x, y| x | y),
            Op::Xor32 => lanes32!(w, i, m, |x, y| x ^ y),
            Op::Not32 => lanes32!(w, i, m, |x| !x),
            Op::Neg32 => lanes32!(w, i, m, |x| x.wrapping_neg()),
            Op::Shl32 => lanes32!(w, i, m, |x, y| if y > 31 { 0 } else { x << (y & 31) }),
            Op::ShrU32 => lanes32!(w, i, m, |x, y| if y > 31 { 0 } else { x >> (y & 31) }),
            Op::ShrS32 => lanes32!(w, i, m, |x, y| (x as i32 >> y.min(31)) as u32),
            Op::Lop3 => {
                let table = i.m as u8;
                match table {
                    0x96 => lanes32!(w, i, m, |x, y, z| x ^ y ^ z),
                    0x80 => lanes32!(w, i, m, |x, y, z| x & y & z),
                    0xfe => lanes32!(w, i, m, |x, y, z| x | y | z),
                    0xf8 => lanes32!(w, i, m, |x, y, z| x | y & z),
                    0xea => lanes32!(w, i, m, |x, y, z| x & y | z),
                    0x78 => lanes32!(w, i, m, |x, y, z| x ^ (y & z)),
                    _ => lanes32!(w, i, m, |x, y, z| bits::lop3(x, y, z, table)),
                }
            }
            Op::Add64 => lanes64!(w, i, m, |x, y| x.wrapping_add(y)),
            Op::Sub64 => lanes64!(w, i, m, |x, y| x.wrapping_sub(y)),
            Op::Mul64 => lanes64!(w, i, m, |x, y| x.wrapping_mul(y)),
            Op::Mad64 => lanes64!(w, i, m, |x, y, z| x.wrapping_mul(y).wrapping_add(z)),
            Op::And64 => lanes64!(w, i, m, |x, y| x & y),
            Op::Or64 => lanes64!(w, i, m, |x, y| x | y),
            Op::Xor64 => lanes64!(w, i, m, |x, y| x ^ y),
            Op::Not64 => lanes64!(w, i, m, |x| !x),
            Op::Neg64 => lanes64!(w, i, m, |x| x.wrapping_neg()),
            Op::Shl64 | Op::ShrU64 | Op::ShrS64 => {
                let (ra, rb) = (&w.q[usize::from(i.a)], &w.r[usize::from(i.b)]);
                let out = match i.op {
                    Op::Shl64 => map2(ra, rb, |x, y: u32| if y > 63 { 0 } else { x << (y & 63) }),
                    Op::ShrU64 => map2(ra, rb, |x, y: u32| if y > 63 { 0 } else { x >> (y & 63) }),
                    _ => map2(ra, rb, |x, y: u32| (x as i64 >> y.min(63)) as u64),
                };
                put(&mut w.q[usize::from(i.d)], &out, m);
            }
            Op::ZeroExtend => {
                let out = map1(&w.r[usize::from(i.a)], u64::from);
                put(&mut w.q[usize::from(i.d)], &out, m);
            }
            Op::SignExtend => {
                let out = map1(&w.r[usize::from(i.a)], |x: u32| i64::from(x as i32) as u64);
                put(&mut w.q[usize::from(i.d)], &out, m);
            }
            Op::Truncate => {
                let out = map1(&w.q[usize::from(i.a)], |x: u64| x as u32);
                put(&mut w.r[usize::from(i.d)], &out, m);
            }
            Op::Select32 => {
                let choose = predicate(&w.p, i.c);
                let mut out = w.r[usize::from(i.b)];
                put(&mut out, &w.r[usize::from(i.a)], choose);
                put(&mut w.r[usize::from(i.d)], &out, m);
            }
            Op::Select64 => {
                let choose = predicate(&w.p, i.c);
                let mut out = w.q[usize::from(i.b)];
                put(&mut out, &w.q[usize::from(i.a)], choose);
                put(&mut w.q[usize::from(i.d)], &out, m);
            }
            Op::AddF32 => lanes32!(w, i, m, |x, y| b(f(x) + f(y))),
            Op::SubF32 => lanes32!(w, i, m, |x, y| b(f(x) - f(y))),
            Op::MulF32 => lanes32!(w, i, m, |x, y| b(f(x) * f(y))),
            Op::FmaF32 => lanes32!(w, i, m, |x, y, z| b(f(x).mul_add(f(y), f(z)))),
            Op::DivF32 => lanes32!(w, i, m, |x, y| b(f(x) / f(y))),
            Op::SqrtF32 => lanes32!(w, i, m, |x| b(f(x).sqrt())),
            Op::RcpF32 => lanes32!(w, i, m, |x| b(1.0 / f(x))),
            Op::MaxF32 => lanes32!(w, i, m, |x, y| extreme(x, y, true)),
            Op::MinF32 => lanes32!(w, i, m, |x, y| extreme(x, y, false)),
            Op::NegF32 => lanes32!(w, i, m, |x| b(-f(x))),
            Op::AbsF32 => lanes32!(w, i, m, |x| b(f(x).abs())),
            Op::F32ToS32 => lanes32!(w, i, m, |x| f(x) as i32 as u32),
            Op::S32ToF32 => lanes32!(w, i, m, |x| (x as i32 as f32).to_bits()),
            Op::U32ToF32 => lanes32!(w, i, m, |x| (x as f32).to_bits()),
            Op::F16ToF32 => lanes32!(w, i, m, |x| f16_to_f32(x as u16)),
            Op::F32ToF16 => lanes32!(w, i, m, |x| u32::from(f32_to_f16(x))),
            Op::F32ToF64 => {
                let out = map1(&w.r[usize::from(i.a)], f32_to_f64);
                put(&mut w.q[usize::from(i.d)], &out, m);
            }
            Op::F64ToF32 => {
                let out = map1(&w.q[usize::from(i.a)], |x: u64| b(fd(x) as f32));
                put(&mut w.r[usize::from(i.d)], &out, m);
            }
            Op::Ex2 => lanes32!(w, i, m, |x| crate::ptx::scalar::approx::ex2(x, false)),
            Op::AddF64 => lanes64!(w, i, m, |x, y| bd(fd(x) + fd(y))),
            Op::SubF64 => lanes64!(w, i, m, |x, y| bd(fd(x) - fd(y))),
            Op::MulF64 => lanes64!(w, i, m, |x, y| bd(fd(x) * fd(y))),
            Op::FmaF64 => lanes64!(w, i, m, |x, y, z| bd(fd(x).mul_add(fd(y), fd(z)))),
            Op::DivF64 => lanes64!(w, i, m, |x, y| bd(fd(x) / fd(y))),
            Op::NegF64 => lanes64!(w, i, m, |x| bd(-fd(x))),
            Op::SetpU32 => setp!(w, i, m, r, |x: u32| x, never),
            Op::SetpS32 => setp!(w, i, m, r, |x: u32| x as i32, never),
            Op::SetpU64 => setp!(w, i, m, q, |x: u64| x, never),
            Op::SetpS64 => setp!(w, i, m, q, |x: u64| x as i64, never),
            Op::SetpF32 => setp!(w, i, m, r, f, unordered32),
            Op::SetpF64 => setp!(w, i, m, q, fd, unordered64),
            Op::MovPred => put_predicate_of(w, &i, m, predicate(&w.p, i.a)),
            Op::NotPred => put_predicate_of(w, &i, m, !predicate(&w.p, i.a)),
            Op::AndPred => put_predicate_of(w, &i, m, predicate(&w.p, i.a) & predicate(&w.p, i.b)),
            Op::OrPred => put_predicate_of(w, &i, m, predicate(&w.p, i.a) | predicate(&w.p, i.b)),
            Op::XorPred => put_predicate_of(w, &i, m, predicate(&w.p, i.a) ^ predicate(&w.p, i.b)),
            Op::Pack64 => {
                let out = map2(&w.r[usize::from(i.a)], &w.r[usize::from(i.b)], |x: u32, y: u32| {
                    u64::from(x) | u64::from(y) << 32
                });
                put(&mut w.q[usize::from(i.d)], &out, m);
            }
            Op::Unpack64 => {
                let row = w.q[usize::from(i.a)];
                put(&mut w.r[usize::from(i.d)], &map1(&row, |x| x as u32), m);
                put(&mut w.r[usize::from(i.b)], &map1(&row, |x| (x >> 32) as u32), m);
            }
            Op::Pack32 => lanes32!(w, i, m, |x, y| x & 0xffff | y << 16),
            Op::Unpack32 => {
                let row = w.r[usize::from(i.a)];
                put(&mut w.r[usize::from(i.d)], &map1(&row, |x| x & 0xffff), m);
                put(&mut w.r[usize::from(i.b)], &map1(&row, |x| x >> 16), m);
            }
            Op::LdGlobal => super::exec::global::load::<C>(ctx, w, &i, pc, m),
            Op::StGlobal => {
                g.last_store = pc;
                super::exec::global::store::<C>(ctx, w, &i, pc, m);
            }
            Op::LdShared => super::exec::shared::load::<C>(ctx, w, &i, pc, m),
            Op::StShared => {
                g.last_store = pc;
                super::exec::shared::store::<C>(ctx, w, &i, pc, m);
            }
            Op::LdParam => super::exec::local::load_param(ctx, w, &i, m),
            Op::Bra => {
                count_run::<C>(ctx, from, pc + 1, g.mask);
                let target = i.off as u32;
                if m == g.mask {
                    pc = target;
                } else {
                    // The lower place goes first, the other group waits.
                    let mut other = g.clone();
                    let (low, high) = (target.min(pc + 1), target.max(pc + 1));
                    if low == high {
                        pc = low;
                    } else {
                        let taken_is_low = target == low;
                        let low_mask = if taken_is_low { m } else { g.mask & !m };
                        other.mask = g.mask & !low_mask;
                        other.pc = high;
                        other.ran = w.clock;
                        g.mask = low_mask;
                        w.groups.push(other);
                        pc = low;
                        limit = limit.min(high);
                    }
                }
                from = pc;
                if pc >= limit {
                    g.pc = pc;
                    return (Stop::Rejoin, turn);
                }
                continue;
            }
            Op::Exit => {
                count_run::<C>(ctx, from, pc + 1, g.mask);
                from = pc + 1;
                w.exited |= m;
                g.mask &= !m;
                put(&mut w.exit_store, &[g.last_store; 32], m);
                if C::CHECK {
                    super::exec::barrier::exits(ctx, w, g, m);
                }
                if g.mask == 0 {
                    return (Stop::Exited, turn);
                }
            }
            _ => {
                g.pc = pc;
                let mask = g.mask;
                let next = super::exec::run::<C>(ctx, w, g, &i, pc, m);
                if next != Next::Go || g.mask != mask {
                    count_run::<C>(ctx, from, pc + 1, mask);
                    from = pc + 1;
                }
                match next {
                    Next::Go => {}
                    Next::Jump => {
                        pc = g.pc;
                        from = pc;
                        if limit != u32::MAX || !w.groups.is_empty() {
                            return (Stop::Rejoin, turn);
                        }
                        continue;
                    }
                    Next::Stop(stop) => return (stop, turn),
                }
            }
        }
        pc += 1;
        if pc >= limit {
            count_run::<C>(ctx, from, pc, g.mask);
            g.pc = pc;
            return (Stop::Rejoin, turn);
        }
    }
}

/// Counts instructions that the lanes of a mask ran one after another: from one place up to another.
#[inline(always)]
fn count_run<C: Config>(ctx: &mut Context, from: u32, to: u32, mask: u32) {
    if !C::COUNT || from >= to {
        return;
    }
    let absent = u64::from(mask.count_zeros());
    for (at, run) in [(from, 1), (to, u64::MAX)] {
        if let Some(site) = ctx.sites.get_mut(at as usize) {
            site.executions = site.executions.wrapping_add(run);
            site.absent_runs = site.absent_runs.wrapping_add(absent.wrapping_mul(run));
        }
    }
}

/// What the loop does after an instruction that `exec` ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    Go,
    /// `Group::pc` was set.
    Jump,
    Stop(Stop),
}
