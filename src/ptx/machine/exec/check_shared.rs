//! Checks of accesses to shared memory: undefined bytes, races, copies in flight.

use super::check_global::{IN_STEP, TENTATIVE_READ};
use super::global::Access;
use super::shared::read_shared;
use crate::ptx::machine::context::Context;
use crate::ptx::machine::findings::Kind;
use crate::ptx::machine::regs::*;
use crate::ptx::machine::shadow::{SharedVerdict, Strength, Sync, Verdict};

pub(crate) fn check_read(ctx: &mut Context, offset: u32, access: Access) {
    let verdict = ctx.shadow.shared_read(offset, access.size, access.thread, access.how);
    settle(ctx, offset, access, verdict, false);
}

pub(crate) fn check_write(ctx: &mut Context, offset: u32, access: Access, same: bool) {
    let verdict = ctx.shadow.shared_write(offset, access.size, access.thread, access.how);
    settle(ctx, offset, access, verdict, same);
}

fn settle(ctx: &mut Context, offset: u32, access: Access, verdict: SharedVerdict, same: bool) {
    if verdict.undefined {
        trouble(ctx, offset, access, Kind::UninitialisedShared, "read before any write");
    }
    if verdict.unfinished {
        trouble(ctx, offset, access, Kind::UnfinishedCopy, "an asynchronous copy to it was not waited for");
    }
    match verdict.race {
        Verdict::Fine => {}
        Verdict::Race | Verdict::InStep if same => {
            trouble(ctx, offset, access, Kind::BenignRace, "two threads wrote the same value")
        }
        Verdict::Race => trouble(ctx, offset, access, Kind::Race, "another thread wrote it"),
        Verdict::RaceWithRead => trouble(ctx, offset, access, Kind::Race, "another thread read it"),
        Verdict::InStep => trouble(ctx, offset, access, Kind::Race, IN_STEP),
        Verdict::Tentative => trouble(ctx, offset, access, Kind::BenignPattern, TENTATIVE_READ),
    }
}

#[cold]
#[inline(never)]
fn trouble(ctx: &mut Context, offset: u32, access: Access, kind: Kind, what: &str) {
    let other = if matches!(kind, Kind::Race | Kind::BenignRace | Kind::BenignPattern) {
        format!(", {}, and nothing orders the two", ctx.shadow.describe_other(ctx.launch))
    } else {
        String::new()
    };
    ctx.report(kind, access.pc, access.thread, Some(u64::from(offset)), || {
        format!("byte {offset} of shared memory: {what}{other}")
    });
}

#[inline(always)]
pub(super) fn check_row_write(ctx: &mut Context, first: usize, warp: u32, pc: u32, row: &Row) {
    if !ctx.shadow.shared_row_write(first, 32 * warp) {
        slow_row(ctx, first, warp, pc, row);
    }
}

#[inline(never)]
fn slow_row(ctx: &mut Context, first: usize, warp: u32, pc: u32, row: &Row) {
    for lane in 0..32 {
        let offset = 4 * (first as u32 + lane);
        let access = Access { pc, thread: 32 * warp + lane, size: 4, how: Strength::Weak };
        let same = read_shared(&ctx.shared, offset, 4) == u64::from(row[lane as usize]);
        check_write(ctx, offset, access, same);
    }
}

/// An atomic: races with plain accesses of other threads, never with atomics.
pub(crate) fn check_atomic(ctx: &mut Context, offset: u32, access: Access, how: Sync) {
    ctx.shadow.strong_shared(offset, access.thread, how);
    let verdict = ctx.shadow.shared_atomic(offset, access.size, access.thread);
    settle(ctx, offset, access, verdict, false);
}

/// A copy is issued to words: another copy in flight to them, or unordered accesses of other threads, are findings.
pub(crate) fn check_copy(ctx: &mut Context, offset: u32, access: Access) {
    let verdict = ctx.shadow.shared_write(offset, access.size, access.thread, Strength::Weak);
    settle(ctx, offset, access, verdict, false);
}

/// An operation on an mbarrier defines its bytes and orders itself.
pub(crate) fn check_mbarrier(ctx: &mut Context, offset: u32, access: Access) {
    ctx.shadow.shared_atomic(offset, access.size, access.thread);
}
