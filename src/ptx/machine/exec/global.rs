//! Loads and stores of global and constant memory.

use super::check_global::{check_read, check_write};
use super::local::Element;
use super::sectors::count_sectors;
use super::{addresses, registers};
use crate::ptx::decode::memory::{GAPS, NEAR, ORDERED, STRONG, TENTATIVE, VOLATILE, WIDE_BASE};
use crate::ptx::decode::op::Inst;
use crate::ptx::machine::context::{Config, Context};
use crate::ptx::machine::findings::Kind;
use crate::ptx::machine::memory::Allocation;
use crate::ptx::machine::regs::*;
use crate::ptx::machine::shadow::{Strength, Sync};
use crate::ptx::machine::touched::How;
use crate::ptx::machine::warp::Warp;

/// One thread's access.
#[derive(Clone, Copy)]
pub(crate) struct Access {
    pub pc: u32,
    pub thread: u32,
    pub size: u32,
    pub how: Strength,
}

/// What the memory model takes a load or store for, from `Inst::m`.
pub(crate) fn strength(m: u32) -> Strength {
    match m & (STRONG | VOLATILE | TENTATIVE) {
        0 => Strength::Weak,
        TENTATIVE => Strength::Tentative,
        m if m & VOLATILE != 0 => Strength::Volatile,
        _ => Strength::Strong,
    }
}

/// How a strong load or store takes part in patterns of release and acquire.
pub(crate) fn sync(m: u32, store: bool) -> Sync {
    let ordered = m & ORDERED != 0;
    Sync {
        read: !store,
        write: store,
        atomic: false,
        acquire: ordered && !store,
        release: ordered && store,
        near: m & NEAR != 0,
    }
}

#[inline(always)]
pub(crate) fn load<C: Config>(ctx: &mut Context, w: &mut Warp, i: &Inst, pc: u32, m: u32) {
    if m == u32::MAX && super::rows::load_global::<C>(ctx, w, i, pc) {
        return;
    }
    let at = addresses(w, i.a, i.m & WIDE_BASE != 0, i.off);
    load_at::<C>(ctx, w, i, pc, m, &at);
}

pub(crate) fn load_at<C: Config>(ctx: &mut Context, w: &mut Warp, i: &Inst, pc: u32, m: u32, at: &WideRow) {
    if C::COUNT {
        count_sectors(ctx, i, pc, m, at);
    }
    if i.m & GAPS != 0 {
        return super::gaps::load_global::<C>(ctx, w, i, pc, m, at);
    }
    load_lanes::<C>(ctx, w, i, pc, m, at);
}

#[inline(never)]
fn load_lanes<C: Config>(ctx: &mut Context, w: &mut Warp, i: &Inst, pc: u32, m: u32, at: &WideRow) {
    let element = Element::of(i);
    let list = registers(ctx, i, false, element.count);
    let strong = i.m & STRONG != 0;
    let bytes = element.size * element.count as u32;
    if strong {
        ctx.polls += 1;
    }
    let common = common(ctx, at, m, bytes, pc);
    for lane in lanes(m) {
        let access = Access { pc, thread: 32 * w.index + lane as u32, size: bytes, how: strength(i.m) };
        let found = match common {
            Some((allocation, index)) => Some((allocation, index, (at[lane] - allocation.base) as usize)),
            None => locate(ctx, at[lane], access),
        };
        let Some((allocation, index, offset)) = found else {
            list[..element.count].iter().for_each(|r| element.set(w, *r, lane, 0));
            continue;
        };
        for (n, register) in list[..element.count].iter().enumerate() {
            let value = allocation.read(offset + n * element.size as usize, element.size);
            element.set(w, *register, lane, value);
        }
        touch(ctx, allocation, index, How::Read, offset, bytes);
        if C::CHECK && !allocation.constant {
            if strong {
                strong_access(ctx, allocation, offset, access, sync(i.m, false));
            }
            check_read(ctx, allocation, offset, access);
        }
    }
}

/// A strong access may acquire or release.
pub(super) fn strong_access(ctx: &mut Context, a: &Allocation, offset: usize, access: Access, how: Sync) {
    ctx.shadow.strong_global((a.base + offset as u64) / 4, access.thread, how);
}

/// The allocation that holds all lanes' accesses, if they are aligned: checked once for the warp.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
fn common<'a>(ctx: &mut Context<'a>, at: &WideRow, m: u32, bytes: u32, pc: u32) -> Option<(&'a Allocation, u32)> {
    let (mut least, mut greatest, mut low) = (u64::MAX, 0, 0);
    for lane in 0..32 {
        let active = m >> lane & 1 != 0;
        least = least.min(if active { at[lane] } else { u64::MAX });
        greatest = greatest.max(if active { at[lane] } else { 0 });
        low |= if active { at[lane] } else { 0 };
    }
    let mut hint = ctx.hints[pc as usize];
    let (allocation, _) = ctx.memory.find(least, &mut hint)?;
    ctx.hints[pc as usize] = hint;
    let last = (greatest - allocation.base).checked_add(u64::from(bytes))?;
    (last <= allocation.bytes && low & u64::from(bytes - 1) == 0).then_some((allocation, hint))
}

#[inline(always)]
pub(crate) fn touch(ctx: &mut Context, allocation: &Allocation, index: u32, how: How, offset: usize, bytes: u32) {
    if let Some(touched) = &mut ctx.touched {
        let count = (offset + bytes as usize).div_ceil(4) - offset / 4;
        touched.mark(index, allocation.words.len(), how, offset / 4, count);
        if how != How::Read {
            allocation.keep(offset / 4, count);
        }
    }
}

/// The allocation and offset of an access, if all its bytes lie in one and it is aligned; else a finding.
#[inline(always)]
pub(crate) fn locate<'a>(ctx: &mut Context<'a>, address: u64, access: Access) -> Option<(&'a Allocation, u32, usize)> {
    let mut hint = ctx.hints[access.pc as usize];
    let size = u64::from(access.size);
    match ctx.memory.find(address, &mut hint) {
        Some((allocation, offset)) if offset + size <= allocation.bytes && address.is_multiple_of(size) => {
            ctx.hints[access.pc as usize] = hint;
            Some((allocation, hint, offset as usize))
        }
        found => {
            let inside = found.is_some_and(|(a, offset)| offset + size <= a.bytes);
            outside(ctx, address, access, inside);
            None
        }
    }
}

#[cold]
#[inline(never)]
pub(super) fn outside(ctx: &mut Context, address: u64, access: Access, misaligned: bool) {
    let memory = ctx.memory;
    let size = access.size;
    if misaligned {
        ctx.report(Kind::Misaligned, access.pc, access.thread, Some(address), || {
            format!("{size} bytes at {}, which is no multiple of {size}", memory.describe(address))
        });
    } else {
        ctx.report(Kind::OutOfBounds, access.pc, access.thread, Some(address), || {
            format!("{size} bytes, {}", memory.describe(address))
        });
    }
}

#[inline(always)]
pub(crate) fn store<C: Config>(ctx: &mut Context, w: &mut Warp, i: &Inst, pc: u32, m: u32) {
    if m == u32::MAX && super::rows::store_global::<C>(ctx, w, i, pc) {
        return;
    }
    let at = addresses(w, i.a, i.m & WIDE_BASE != 0, i.off);
    store_at::<C>(ctx, w, i, pc, m, &at);
}

pub(crate) fn store_at<C: Config>(ctx: &mut Context, w: &mut Warp, i: &Inst, pc: u32, m: u32, at: &WideRow) {
    if C::COUNT {
        count_sectors(ctx, i, pc, m, at);
    }
    store_lanes::<C>(ctx, w, i, pc, m, at);
}

/// Marks 128 bytes as defined.
#[inline(always)]
pub(super) fn define_row(allocation: &Allocation, offset: usize) {
    if offset.is_multiple_of(32) {
        allocation.define_range(offset, 128);
    } else {
        for lane in 0..32 {
            allocation.define(offset + 4 * lane, 4);
        }
    }
}

#[inline(never)]
fn store_lanes<C: Config>(ctx: &mut Context, w: &mut Warp, i: &Inst, pc: u32, m: u32, at: &WideRow) {
    let element = Element::of(i);
    let list = registers(ctx, i, true, element.count);
    let bytes = element.size * element.count as u32;
    let strong = i.m & STRONG != 0;
    let common = common(ctx, at, m, bytes, pc);
    for lane in lanes(m) {
        let access = Access { pc, thread: 32 * w.index + lane as u32, size: bytes, how: strength(i.m) };
        let found = match common {
            Some((allocation, index)) => Some((allocation, index, (at[lane] - allocation.base) as usize)),
            None => locate(ctx, at[lane], access),
        };
        let Some((allocation, index, offset)) = found else { continue };
        if allocation.constant {
            ctx.report(Kind::WriteToConstant, pc, access.thread, Some(at[lane]), || allocation.name.clone());
            continue;
        }
        touch(ctx, allocation, index, How::Write, offset, bytes);
        let mut same = true;
        for (n, register) in list[..element.count].iter().enumerate() {
            let value = element.get(w, *register, lane);
            let place = offset + n * element.size as usize;
            if C::CHECK {
                let mask = if element.size == 8 { u64::MAX } else { (1 << (8 * element.size)) - 1 };
                same &= allocation.read(place, element.size) == value & mask;
            }
            allocation.write(place, element.size, value);
            allocation.define(place, element.size);
        }
        if C::CHECK {
            if strong {
                strong_access(ctx, allocation, offset, access, sync(i.m, true));
            }
            check_write(ctx, allocation, offset, access, same);
        }
    }
    if C::CHECK && i.m & ORDERED != 0 {
        ctx.shadow.released();
    }
}
