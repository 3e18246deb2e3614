//! `atom` and `red`: lanes one after another, lowest first.

use std::sync::atomic::Ordering::Relaxed;

use super::addresses;
use super::generic::{Where, place};
use super::global::{Access, locate, touch};
use super::shared::{inside, narrow, read_shared, write_shared};
use crate::ptx::decode::atomic::{ACQUIRE, ATOMIC_OPS, ATOMIC_TYPES, AtomicOp, AtomicType, NEAR, RELEASE};
use crate::ptx::decode::op::Inst;
use crate::ptx::machine::SHARED_WINDOW;
use crate::ptx::machine::context::{Config, Context};
use crate::ptx::machine::findings::Kind;
use crate::ptx::machine::memory::Allocation;
use crate::ptx::machine::regs::*;
use crate::ptx::machine::shadow::{Strength, Sync};
use crate::ptx::machine::touched::How;
use crate::ptx::machine::warp::{Group, Warp};
use crate::ptx::scalar::half::{Half, HalfMode, pairwise2};
use crate::ptx::scalar::{Extreme, compare, double, single};

/// The new value of a cell, in shared memory or not: the two add floats in different ways.
pub(crate) fn combine(op: AtomicOp, ty: AtomicType, size: u32, shared: bool, [old, b, c]: [u64; 3]) -> u64 {
    use AtomicOp as O;
    use AtomicType as T;
    let signed = |x: u64| if size == 8 { x as i64 } else { i64::from(x as u32 as i32) };
    match (op, ty) {
        (O::Add, T::F32) => u64::from(single::add_atomic(old as u32, b as u32, shared)),
        (O::Add, T::F64) => double::add_atomic(old, b, shared),
        (O::Add, T::F16 | T::Bf16 | T::F16x2 | T::Bf16x2) => {
            let half = if matches!(ty, T::F16 | T::F16x2) { Half::F16 } else { Half::Bf16 };
            u64::from(pairwise2(old as u32, b as u32, |x, y| half.add(x, y, HalfMode::default())))
        }
        (O::Min | O::Max, T::F32) => {
            let how = Extreme { max: op == O::Max, ..Extreme::default() };
            u64::from(compare::extreme_f32(old as u32, b as u32, how))
        }
        (O::Min | O::Max, T::F64) => compare::extreme_f64(old, b, op == O::Max),
        (O::Min | O::Max, T::F16 | T::Bf16 | T::F16x2 | T::Bf16x2) => {
            let half = if matches!(ty, T::F16 | T::F16x2) { Half::F16 } else { Half::Bf16 };
            let how = Extreme { max: op == O::Max, ..Extreme::default() };
            u64::from(pairwise2(old as u32, b as u32, |x, y| half.extreme(x, y, how)))
        }
        (O::Add, _) => old.wrapping_add(b),
        (O::Min, T::Signed) => {
            if signed(b) < signed(old) {
                b
            } else {
                old
            }
        }
        (O::Max, T::Signed) => {
            if signed(b) > signed(old) {
                b
            } else {
                old
            }
        }
        (O::Min, _) => old.min(b),
        (O::Max, _) => old.max(b),
        (O::Inc, _) => {
            if old >= b {
                0
            } else {
                old + 1
            }
        }
        (O::Dec, _) => {
            if old == 0 || old > b {
                b
            } else {
                old - 1
            }
        }
        (O::And, _) => old & b,
        (O::Or, _) => old | b,
        (O::Xor, _) => old ^ b,
        (O::Exch, _) => b,
        (O::Cas, _) => {
            if old == b {
                c
            } else {
                old
            }
        }
    }
}

fn update_global(a: &Allocation, offset: usize, size: u32, f: impl Fn(u64) -> u64) -> u64 {
    let Some(word) = a.words.get(offset / 4) else { return 0 };
    if size == 4 {
        // Other workers may update the same word.
        return u64::from(word.fetch_update(Relaxed, Relaxed, |x| Some(f(u64::from(x)) as u32)).unwrap_or_else(|x| x));
    }
    let old = a.read(offset, size);
    a.write(offset, size, f(old));
    old
}

pub(super) fn run<C: Config>(ctx: &mut Context, w: &mut Warp, g: &Group, i: &Inst, pc: u32, m: u32) {
    let op = ATOMIC_OPS[(i.m & 31) as usize % ATOMIC_OPS.len()].1;
    let ty = ATOMIC_TYPES[(i.m >> 5 & 7) as usize];
    let size = 1u32 << (i.m >> 16 & 7);
    let wide = size == 8;
    let mut at = addresses(w, i.a, i.m >> 11 & 1 != 0, i.off);
    if i.m >> 13 & 1 != 0 {
        at = map1(&at, |x: u64| x.wrapping_add(u64::from(g.base)));
    }
    let space = i.m >> 8 & 3;
    let how = Sync {
        read: true,
        write: true,
        atomic: true,
        acquire: i.m & ACQUIRE != 0,
        release: i.m & RELEASE != 0,
        near: i.m & NEAR != 0,
    };
    let get = |w: &Warp, register: u16, lane: usize| {
        if wide { w.q[usize::from(register)][lane] } else { u64::from(w.r[usize::from(register)][lane]) }
    };
    if C::COUNT && space != 2 {
        super::sectors::count_sectors_of(ctx, u64::from(size), pc, m, &at);
    }
    for lane in lanes(m) {
        let access = Access { pc, thread: 32 * w.index + lane as u32, size, how: Strength::Atomic };
        let (b, c) = (get(w, i.b, lane), get(w, i.c, lane));
        let shared = space == 2 || (space == 0 && place(at[lane]) == Where::Shared);
        let f = |old: u64| combine(op, ty, size, shared, [old, b, c]);
        let old = if shared {
            let offset = if space == 2 { narrow(at[lane]) } else { narrow(at[lane].wrapping_sub(SHARED_WINDOW)) };
            if !inside(ctx, offset, access) {
                continue;
            }
            let old = read_shared(&ctx.shared, offset, size);
            write_shared(&mut ctx.shared, offset, size, f(old));
            if C::CHECK {
                super::check_shared::check_atomic(ctx, offset, access, how);
            }
            old
        } else {
            let Some((allocation, index, offset)) = locate(ctx, at[lane], access) else { continue };
            if allocation.constant {
                ctx.report(Kind::WriteToConstant, pc, access.thread, Some(at[lane]), || allocation.name.clone());
                continue;
            }
            touch(ctx, allocation, index, How::Update, offset, size);
            let old = update_global(allocation, offset, size, f);
            if C::CHECK {
                super::check_global::check_atomic(ctx, allocation, offset, access, how);
            }
            allocation.define(offset, size);
            old
        };
        if i.m >> 10 & 1 != 0 {
            if wide {
                w.q[usize::from(i.d)][lane] = old;
            } else {
                w.r[usize::from(i.d)][lane] = old as u32;
            }
        }
    }
    if C::CHECK && how.release {
        ctx.shadow.released();
    }
}
