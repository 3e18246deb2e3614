//! Checks of accesses to global memory: undefined bytes and races.

use super::global::{Access, strong_access};
use crate::ptx::machine::context::Context;
use crate::ptx::machine::findings::Kind;
use crate::ptx::machine::memory::Allocation;
use crate::ptx::machine::regs::*;
use crate::ptx::machine::shadow::{Strength, Sync, Verdict, WHOLE};

pub(crate) fn check_read(ctx: &mut Context, allocation: &Allocation, offset: usize, access: Access) {
    let defined = match access.size {
        1..=8 => allocation.is_defined(offset, access.size),
        _ => (0..access.size as usize / 4).all(|n| allocation.is_defined(offset + 4 * n, 4)),
    };
    if !defined {
        undefined(ctx, allocation, offset, access);
    }
    for (word, bytes) in words(offset, access.size) {
        let what = match ctx.shadow.global_read(allocation, word, bytes, access.thread, access.how) {
            Verdict::Fine => continue,
            Verdict::InStep => IN_STEP,
            Verdict::Tentative => TENTATIVE_READ,
            _ => "read after another thread's write",
        };
        let kind = if what == TENTATIVE_READ { Kind::BenignPattern } else { Kind::Race };
        race(ctx, allocation, 4 * word, access, kind, what);
        break;
    }
}

pub(crate) const IN_STEP: &str =
    "volatile does not order the lanes of a warp (since Volta they do not run in step): no __syncwarp() between";
pub(crate) const TENTATIVE_READ: &str =
    "a plain read of what other threads update atomically; its value only goes into a compare-and-swap";

/// Words of an access with the bytes that it takes of each.
fn words(offset: usize, size: u32) -> impl Iterator<Item = (usize, u8)> {
    let first = if size < 4 { ((1u8 << size) - 1) << (offset % 4) } else { WHOLE };
    (offset / 4..(offset + size as usize).div_ceil(4)).map(move |word| (word, first))
}

#[cold]
#[inline(never)]
fn undefined(ctx: &mut Context, allocation: &Allocation, offset: usize, access: Access) {
    let address = allocation.base + offset as u64;
    ctx.report(Kind::UninitialisedGlobal, access.pc, access.thread, Some(address), || {
        format!("byte {offset} of `{}`", allocation.name)
    });
}

#[cold]
#[inline(never)]
fn race(ctx: &mut Context, allocation: &Allocation, offset: usize, access: Access, kind: Kind, what: &str) {
    let other = ctx.shadow.describe_other(ctx.launch);
    let address = allocation.base + offset as u64;
    ctx.report(kind, access.pc, access.thread, Some(address), || {
        format!("{what}: byte {offset} of `{}`, {other}", allocation.name)
    });
}

pub(crate) fn check_write(ctx: &mut Context, allocation: &Allocation, offset: usize, access: Access, same: bool) {
    for (word, bytes) in words(offset, access.size) {
        match ctx.shadow.global_write(allocation, word, bytes, access.thread, access.how) {
            Verdict::Fine => continue,
            Verdict::Race | Verdict::InStep if same => {
                race(ctx, allocation, 4 * word, access, Kind::BenignRace, "two threads wrote the same value");
            }
            Verdict::InStep => race(ctx, allocation, 4 * word, access, Kind::Race, IN_STEP),
            Verdict::RaceWithRead => {
                race(ctx, allocation, 4 * word, access, Kind::Race, "write after another thread's read");
            }
            _ => race(ctx, allocation, 4 * word, access, Kind::Race, "write after another thread's write"),
        }
        break;
    }
}

#[inline(always)]
pub(super) fn check_row_read<const N: usize>(ctx: &mut Context, allocation: &Allocation, first: usize, access: Access) {
    let offset = 4 * first;
    let defined = offset.is_multiple_of(32) && allocation.range_defined(offset, 4 * N);
    if access.how != Strength::Weak || !defined || !ctx.shadow.global_row_read::<N>(allocation, first, access.thread) {
        slow_row_read(ctx, allocation, first, N as u32, access);
    }
}

#[inline(never)]
fn slow_row_read(ctx: &mut Context, allocation: &Allocation, first: usize, count: u32, access: Access) {
    for lane in 0..count {
        let access = Access { thread: access.thread + lane, ..access };
        check_read(ctx, allocation, 4 * (first + lane as usize), access);
    }
}

#[inline(always)]
pub(super) fn check_row_write(ctx: &mut Context, allocation: &Allocation, first: usize, access: Access, row: &Row) {
    if access.how != Strength::Weak || !ctx.shadow.global_row_write(allocation, first, access.thread) {
        for lane in 0..32 {
            let access = Access { thread: access.thread + lane, ..access };
            let offset = 4 * (first + lane as usize);
            let same = allocation.read(offset, 4) == u64::from(row[lane as usize]);
            check_write(ctx, allocation, offset, access, same);
        }
    }
}

/// An atomic: races with plain accesses of other threads, never with atomics.
pub(crate) fn check_atomic(ctx: &mut Context, a: &Allocation, offset: usize, access: Access, how: Sync) {
    if !a.is_defined(offset, access.size) {
        undefined(ctx, a, offset, access);
    }
    strong_access(ctx, a, offset, access, how);
    for (word, bytes) in words(offset, access.size) {
        match ctx.shadow.global_write(a, word, bytes, access.thread, access.how) {
            Verdict::Fine => continue,
            Verdict::RaceWithRead => {
                race(ctx, a, 4 * word, access, Kind::Race, "atomic after another thread's plain read")
            }
            _ => race(ctx, a, 4 * word, access, Kind::Race, "atomic after another thread's plain write"),
        }
        break;
    }
}
