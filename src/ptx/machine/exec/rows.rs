//! Loads and stores of 4-byte words by full warps whose lanes read one word or words side by side, by half warps: what
//! is known of the base register (`file`) spares looking at 32 addresses.

use std::sync::atomic::Ordering::Relaxed;

use super::check_global::{check_row_read, check_row_write};
use super::check_shared::check_row_write as check_shared_row_write;
use super::global::{Access, define_row};
use super::shared::{WORD, WORD_BITS};
use super::wavefronts::count;
use crate::ptx::decode::memory::{GAPS, SIGNED, STRONG, TENTATIVE, WIDE_BASE};
use crate::ptx::decode::op::Inst;
use crate::ptx::machine::context::{Config, Context};
use crate::ptx::machine::file::Half;
use crate::ptx::machine::shadow::Strength;
use crate::ptx::machine::touched::How;
use crate::ptx::machine::warp::Warp;

/// Bytes that a half warp spans.
#[inline(always)]
fn span(half: Half) -> u32 {
    if half == Half::Row { 64 } else { 4 }
}

/// A load of shared memory. False: nothing was done.
#[inline(always)]
pub(super) fn load_shared<C: Config>(ctx: &mut Context, w: &mut Warp, i: &Inst, pc: u32) -> bool {
    if i.m & (WORD_BITS | WIDE_BASE) != WORD {
        return false;
    }
    let halves = w.r.halves(i.a);
    if halves[0] == Half::Other || halves[1] == Half::Other {
        return false;
    }
    let base = &w.r[usize::from(i.a)];
    let at = [base[0].wrapping_add(i.off as u32), base[16].wrapping_add(i.off as u32)];
    let end = |n: usize| u64::from(at[n]) + u64::from(span(halves[n]));
    if (at[0] | at[1]) & 3 != 0 || end(0).max(end(1)) > u64::from(ctx.shared_bytes) {
        return false;
    }
    let out = &mut w.r[usize::from(i.d)];
    for (n, to) in out.chunks_exact_mut(16).enumerate() {
        let first = at[n] as usize / 4;
        match halves[n] {
            Half::Row => {
                let Some(words) = ctx.shared.get(first..first + 16) else { return false };
                to.copy_from_slice(words);
            }
            _ => to.fill(ctx.shared.get(first).copied().unwrap_or(0)),
        }
    }
    if C::COUNT {
        count(ctx, pc, wavefronts(halves, at));
    }
    if C::CHECK {
        check_shared(ctx, w.index, pc, halves, at);
    }
    true
}

/// Wavefronts of two half warps: two if a bank has two words to give.
#[inline(always)]
fn wavefronts(halves: [Half; 2], at: [u32; 2]) -> u64 {
    let words = [at[0] / 4, at[1] / 4];
    let conflict = match halves {
        // Rows less than 16 words apart meet in banks only where they share the word.
        [Half::Row, Half::Row] => {
            let apart = words[1].wrapping_sub(words[0]);
            apart.wrapping_add(15) > 30 && apart % 32 != 16
        }
        [Half::Row, _] => is_conflict(words[0], words[1]),
        [_, Half::Row] => is_conflict(words[1], words[0]),
        _ => words[0] != words[1] && (words[0] ^ words[1]).is_multiple_of(32),
    };
    1 + u64::from(conflict)
}

/// Whether a word lies in a bank of 16 words side by side without being one of them.
fn is_conflict(row: u32, word: u32) -> bool {
    word.wrapping_sub(row) % 32 < 16 && word.wrapping_sub(row) >= 16
}

#[inline(always)]
fn check_shared(ctx: &mut Context, warp: u32, pc: u32, halves: [Half; 2], at: [u32; 2]) {
    if halves == [Half::Row; 2] && at[1] == at[0].wrapping_add(64) {
        if !ctx.shadow.shared_row_read::<32>(at[0] as usize / 4, 32 * warp) {
            (0..2).for_each(|n| slow_shared(ctx, warp, pc, halves[n], at[n], n));
        }
        return;
    }
    if halves == [Half::Row; 2] && at[0] == at[1] && ctx.shadow.shared_row_twice(at[0] as usize / 4, 32 * warp) {
        return;
    }
    for n in 0..2 {
        let (word, thread) = (at[n] as usize / 4, 32 * warp + 16 * n as u32);
        let fine = match halves[n] {
            Half::Row => ctx.shadow.shared_row_read::<16>(word, thread),
            _ => ctx.shadow.shared_broadcast(word, thread, thread + 15),
        };
        if !fine {
            slow_shared(ctx, warp, pc, halves[n], at[n], n);
        }
    }
}

#[inline(never)]
fn slow_shared(ctx: &mut Context, warp: u32, pc: u32, half: Half, at: u32, n: usize) {
    for lane in 0..16 {
        let offset = if half == Half::Row { at + 4 * lane } else { at };
        let access = Access { pc, thread: 32 * warp + 16 * n as u32 + lane, size: 4, how: Strength::Weak };
        super::check_shared::check_read(ctx, offset, access);
    }
}

/// A store of 32 words side by side to shared memory. False: nothing was done.
#[inline(always)]
pub(super) fn store_shared<C: Config>(ctx: &mut Context, w: &mut Warp, i: &Inst, pc: u32) -> bool {
    if i.m & (WORD_BITS | WIDE_BASE) != WORD || w.r.halves(i.a) != [Half::Row; 2] {
        return false;
    }
    let base = &w.r[usize::from(i.a)];
    let at = base[0].wrapping_add(i.off as u32);
    if base[16] != base[0].wrapping_add(64) || at & 3 != 0 || u64::from(at) + 128 > u64::from(ctx.shared_bytes) {
        return false;
    }
    let first = at as usize / 4;
    if C::COUNT {
        count(ctx, pc, 1);
    }
    let row = &w.r[usize::from(i.b)];
    if C::CHECK {
        check_shared_row_write(ctx, first, w.index, pc, row);
    }
    if let Some(words) = ctx.shared.get_mut(first..first + 32) {
        words.copy_from_slice(row);
    }
    true
}

const GLOBAL_WORD_BITS: u32 = 0x1ff & !SIGNED | STRONG | WIDE_BASE | GAPS;
const GLOBAL_WORD: u32 = 2 | 1 << 5 | WIDE_BASE;

/// First addresses of both half warps, if the lanes of each read words side by side.
#[inline(always)]
fn two_rows(w: &mut Warp, i: &Inst) -> Option<[u64; 2]> {
    if i.m & GLOBAL_WORD_BITS != GLOBAL_WORD || w.q.halves(i.a) != [Half::Row; 2] {
        return None;
    }
    let base = &w.q[usize::from(i.a)];
    let at = [0, 16].map(|lane| base[lane].wrapping_add(i64::from(i.off) as u64));
    ((at[0] | at[1]) & 3 == 0).then_some(at)
}

#[inline(always)]
fn sectors(at: [u64; 2]) -> u64 {
    let range = |n: usize| (at[n] >> 5, (at[n] + 63) >> 5);
    let ((a, b), (c, d)) = (range(0), range(1));
    let both = (b.min(d) + 1).saturating_sub(a.max(c));
    (b - a + 1) + (d - c + 1) - both
}

#[inline(always)]
fn count_rows(ctx: &mut Context, pc: u32, at: [u64; 2]) {
    if let Some(site) = ctx.sites.get_mut(pc as usize) {
        site.requests += 1;
        site.sectors += sectors(at);
        site.bytes += 128;
    }
}

/// A load of global memory. False: nothing was done.
#[inline(always)]
pub(super) fn load_global<C: Config>(ctx: &mut Context, w: &mut Warp, i: &Inst, pc: u32) -> bool {
    let Some(at) = two_rows(w, i) else { return false };
    let mut hint = ctx.hints[pc as usize];
    let Some((allocation, offset)) = ctx.memory.find(at[0].min(at[1]), &mut hint) else { return false };
    let offsets = at.map(|a| a.wrapping_sub(allocation.base));
    if offsets[0].max(offsets[1]) > allocation.bytes.saturating_sub(64) || offset + 64 > allocation.bytes {
        return false;
    }
    ctx.hints[pc as usize] = hint;
    let to = &mut w.r[usize::from(i.d)];
    for (n, to) in to.chunks_exact_mut(16).enumerate() {
        let first = offsets[n] as usize / 4;
        let Some(words) = allocation.words.get(first..first + 16) else { return false };
        for (to, word) in to.iter_mut().zip(words) {
            *to = word.load(Relaxed);
        }
    }
    if let Some(touched) = &mut ctx.touched {
        let first = offsets[0] as usize / 4;
        if at[1] == at[0].wrapping_add(64) {
            touched.mark(hint, allocation.words.len(), How::Read, first, 32);
        } else {
            touched.mark(hint, allocation.words.len(), How::Read, first, 16);
            touched.mark(hint, allocation.words.len(), How::Read, offsets[1] as usize / 4, 16);
        }
    }
    if C::COUNT {
        count_rows(ctx, pc, at);
    }
    if C::CHECK && !allocation.constant {
        let how = if i.m & TENTATIVE != 0 { Strength::Tentative } else { Strength::Weak };
        let access = Access { pc, thread: 32 * w.index, size: 4, how };
        if at[1] == at[0].wrapping_add(64) {
            check_row_read::<32>(ctx, allocation, offsets[0] as usize / 4, access);
        } else {
            for (n, offset) in offsets.into_iter().enumerate() {
                let access = Access { thread: access.thread + 16 * n as u32, ..access };
                check_row_read::<16>(ctx, allocation, offset as usize / 4, access);
            }
        }
    }
    true
}

/// A store of 32 words side by side to global memory. False: nothing was done.
#[inline(always)]
pub(super) fn store_global<C: Config>(ctx: &mut Context, w: &mut Warp, i: &Inst, pc: u32) -> bool {
    let Some(at) = two_rows(w, i) else { return false };
    let mut hint = ctx.hints[pc as usize];
    let Some((allocation, offset)) = ctx.memory.find(at[0], &mut hint) else { return false };
    if at[1] != at[0].wrapping_add(64) || offset + 128 > allocation.bytes || allocation.constant {
        return false;
    }
    ctx.hints[pc as usize] = hint;
    let first = offset as usize / 4;
    if let Some(touched) = &mut ctx.touched {
        touched.mark(hint, allocation.words.len(), How::Write, first, 32);
        allocation.keep(first, 32);
    }
    if C::COUNT {
        count_rows(ctx, pc, at);
    }
    let row = &w.r[usize::from(i.b)];
    if C::CHECK {
        let access = Access { pc, thread: 32 * w.index, size: 4, how: Strength::Weak };
        check_row_write(ctx, allocation, first, access, row);
    }
    if let Some(words) = allocation.words.get(first..first + 32) {
        for (value, word) in row.iter().zip(words) {
            word.store(*value, Relaxed);
        }
    }
    define_row(allocation, offset as usize);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wavefronts and sectors as `shared::wavefronts` and `global::count_sectors` find them lane by lane.
    #[test]
    fn short_counts_are_those_of_all_lanes() {
        let lanes = |halves: [Half; 2], at: [u32; 2]| -> [u32; 32] {
            std::array::from_fn(|lane| {
                at[lane / 16] + if halves[lane / 16] == Half::Row { 4 * (lane as u32 % 16) } else { 0 }
            })
        };
        let kinds = [Half::Row, Half::Broadcast];
        for halves in kinds.into_iter().flat_map(|a| kinds.map(|b| [a, b])) {
            for second in (0..400).step_by(4) {
                let at = [128, second];
                let expected = super::super::wavefronts::wavefronts(&lanes(halves, at), 4, u32::MAX);
                assert_eq!(wavefronts(halves, at), expected, "{halves:?} {at:?}");
            }
        }
        for (a, b) in [(0u64, 64), (0, 0), (32, 48), (4, 68), (100, 300), (300, 100), (64, 0)] {
            let mut all: Vec<u64> = [a, b].iter().flat_map(|f| (0..16).map(move |n| (f + 4 * n) >> 5)).collect();
            all.sort_unstable();
            all.dedup();
            assert_eq!(sectors([a, b]), all.len() as u64, "{a} {b}");
        }
    }
}
