//! Loads and stores of shared memory.

use super::local::Element;
use super::{addresses, registers};
use crate::ptx::decode::memory::{GAPS, ORDERED, STRONG, WIDE_BASE};
use crate::ptx::decode::op::Inst;
use crate::ptx::machine::context::{Config, Context};
use crate::ptx::machine::findings::Kind;
use crate::ptx::machine::regs::*;
use crate::ptx::machine::shadow::Strength;
use crate::ptx::machine::warp::Warp;

use super::check_shared::{check_read, check_row_write, check_write};
use super::global::{Access, strength, sync};
use super::wavefronts::{count, wavefronts};

/// Offsets in shared memory; what does not fit 32 bits is out of bounds.
#[inline(always)]
pub(crate) fn offsets(w: &Warp, i: &Inst) -> Row {
    if i.m & WIDE_BASE != 0 {
        map1(&addresses(w, i.a, true, i.off), narrow)
    } else {
        let add = i.off as u32;
        map1(&w.r[usize::from(i.a)], |x: u32| x.wrapping_add(add))
    }
}

#[inline(always)]
pub(crate) fn narrow(address: u64) -> u32 {
    address.min(u64::from(u32::MAX - 63)) as u32
}

#[inline(always)]
pub(crate) fn load<C: Config>(ctx: &mut Context, w: &mut Warp, i: &Inst, pc: u32, m: u32) {
    if m == u32::MAX && super::rows::load_shared::<C>(ctx, w, i, pc) {
        return;
    }
    let at = offsets(w, i);
    load_at::<C>(ctx, w, i, pc, m, &at);
}

/// The form of `Inst::m` of a weak 4-byte access: element size, one element, 32-bit registers, all bytes used.
pub(super) const WORD_BITS: u32 = 0x1f7 | STRONG | GAPS;
pub(super) const WORD: u32 = 2 | 1 << 5;

#[inline(never)]
pub(crate) fn load_at<C: Config>(ctx: &mut Context, w: &mut Warp, i: &Inst, pc: u32, m: u32, at: &Row) {
    // A 4-byte word for each lane of a full warp, all inside and aligned: no check for each lane.
    if m == u32::MAX && i.m & WORD_BITS == WORD && at[0] & 3 == 0 {
        let first = at[0] as usize / 4;
        if is_sequence32(at, 4) {
            if let Some(words) = ctx.shared.get(first..first + 32)
                && let Some(words) = words.first_chunk::<32>()
                && 4 * first + 128 <= ctx.shared_bytes as usize
            {
                w.r[usize::from(i.d)] = *words;
                if C::COUNT {
                    count(ctx, pc, 1);
                }
                if C::CHECK && !ctx.shadow.shared_row_read::<32>(first, 32 * w.index) {
                    slow_lanes(ctx, at, 0..32, w.index, pc);
                }
                return;
            }
        } else if all_inside(at, ctx.shared_bytes) {
            let halves = [half_pattern(at, 0), half_pattern(at, 16)];
            let out = &mut w.r[usize::from(i.d)];
            for (n, half) in halves.into_iter().enumerate() {
                let to = &mut out[16 * n..16 * n + 16];
                let first = at[16 * n] as usize / 4;
                match (half, ctx.shared.get(first..first + 16)) {
                    (Half::Row, Some(words)) => to.copy_from_slice(words),
                    (Half::Broadcast, _) => to.fill(ctx.shared.get(first).copied().unwrap_or(0)),
                    _ => {
                        for (to, at) in to.iter_mut().zip(&at[16 * n..]) {
                            *to = ctx.shared.get(*at as usize / 4).copied().unwrap_or(0);
                        }
                    }
                }
            }
            if C::COUNT || C::CHECK {
                examine::<C>(ctx, w.index, pc, at, halves);
            }
            return;
        }
    }
    load_lanes::<C>(ctx, w, i, pc, m, at);
}

/// Whether 4-byte words at all offsets are aligned and inside.
#[inline(always)]
fn all_inside(at: &Row, bytes: u32) -> bool {
    let (greatest, bits) = greatest_and_bits(at);
    bits & 3 == 0 && greatest < bytes && greatest + 4 <= bytes
}

/// What each half warp does: one word for all, or words side by side.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    Broadcast,
    Row,
    Other,
}

#[inline(always)]
fn half_pattern(at: &Row, start: usize) -> Half {
    if is_half_sequence(at, start, 0) {
        Half::Broadcast
    } else if is_half_sequence(at, start, 4) {
        Half::Row
    } else {
        Half::Other
    }
}

/// Counts and checks a full warp's read of words that are not one row.
#[inline(always)]
fn examine<C: Config>(ctx: &mut Context, warp: u32, pc: u32, at: &Row, halves: [Half; 2]) {
    if C::COUNT {
        // Two words for two halves, or the same row twice.
        let bank = |a: u32, b: u32| 1 + u64::from(a != b && a / 4 % 32 == b / 4 % 32);
        let wavefronts = match halves {
            [Half::Broadcast, Half::Broadcast] => bank(at[0], at[16]),
            [Half::Row, Half::Row] if at[0] == at[16] => 1,
            _ => wavefronts(at, 4, u32::MAX),
        };
        count(ctx, pc, wavefronts);
    }
    if C::CHECK {
        for (n, half) in halves.into_iter().enumerate() {
            let (word, thread) = (at[16 * n] as usize / 4, 32 * warp + 16 * n as u32);
            let fine = match half {
                Half::Broadcast => ctx.shadow.shared_broadcast(word, thread, thread + 15),
                Half::Row => ctx.shadow.shared_row_read::<16>(word, thread),
                Half::Other => false,
            };
            if !fine {
                slow_lanes(ctx, at, 16 * n..16 * n + 16, warp, pc);
            }
        }
    }
}

#[inline(never)]
fn slow_lanes(ctx: &mut Context, at: &Row, lanes: std::ops::Range<usize>, warp: u32, pc: u32) {
    for lane in lanes {
        check_read(ctx, at[lane], Access { pc, thread: 32 * warp + lane as u32, size: 4, how: Strength::Weak });
    }
}

/// Reads 1 to 8 bytes at an aligned offset in range.
#[inline(always)]
pub(crate) fn read_shared(shared: &[u32], offset: u32, size: u32) -> u64 {
    let at = |n: usize| u64::from(shared.get(n).copied().unwrap_or(0));
    let word = at(offset as usize / 4);
    match size {
        4 => word,
        8 => word | at(offset as usize / 4 + 1) << 32,
        2 => word >> (8 * (offset & 2)) & 0xffff,
        _ => word >> (8 * (offset & 3)) & 0xff,
    }
}

#[inline(always)]
pub(crate) fn write_shared(shared: &mut [u32], offset: u32, size: u32, value: u64) {
    let at = offset as usize / 4;
    match size {
        4 | 8 => {
            if let Some(word) = shared.get_mut(at) {
                *word = value as u32;
            }
            if size == 8
                && let Some(word) = shared.get_mut(at + 1)
            {
                *word = (value >> 32) as u32;
            }
        }
        _ => {
            let shift = 8 * (offset & 3);
            let mask = if size == 2 { 0xffff } else { 0xff } << shift;
            if let Some(word) = shared.get_mut(at) {
                *word = *word & !mask | (value as u32) << shift & mask;
            }
        }
    }
}

/// Whether an access is aligned and inside; else a finding.
#[inline(always)]
pub(crate) fn inside(ctx: &mut Context, offset: u32, access: Access) -> bool {
    let end = u64::from(offset) + u64::from(access.size);
    let own = end <= u64::from(ctx.shared_bytes);
    let fits = own || (offset >= ctx.reserved.start && end <= u64::from(ctx.reserved.end));
    if fits && offset & (access.size - 1) == 0 {
        return true;
    }
    outside(ctx, offset, access, fits);
    false
}

#[cold]
#[inline(never)]
pub(super) fn outside(ctx: &mut Context, offset: u32, access: Access, fits: bool) {
    let kind = if fits { Kind::Misaligned } else { Kind::OutOfBounds };
    let (size, all) = (access.size, ctx.shared_bytes);
    ctx.report(kind, access.pc, access.thread, Some(u64::from(offset)), || {
        format!("{size} bytes at byte {offset} of {all} bytes of shared memory")
    });
}

#[inline(never)]
fn load_lanes<C: Config>(ctx: &mut Context, w: &mut Warp, i: &Inst, pc: u32, m: u32, at: &Row) {
    let element = Element::of(i);
    let list = registers(ctx, i, false, element.count);
    let bytes = element.size * element.count as u32;
    let strong = i.m & STRONG != 0;
    if strong {
        ctx.polls += 1;
    }
    if C::COUNT {
        count(ctx, pc, wavefronts(at, bytes, m));
    }
    if i.m & GAPS != 0 {
        return super::gaps::load_shared::<C>(ctx, w, i, pc, m, at);
    }
    for lane in lanes(m) {
        let access = Access { pc, thread: 32 * w.index + lane as u32, size: bytes, how: strength(i.m) };
        if !inside(ctx, at[lane], access) {
            list[..element.count].iter().for_each(|r| element.set(w, *r, lane, 0));
            continue;
        }
        for (n, register) in list[..element.count].iter().enumerate() {
            let value = read_shared(&ctx.shared, at[lane] + n as u32 * element.size, element.size);
            element.set(w, *register, lane, value);
        }
        if C::CHECK {
            if strong {
                ctx.shadow.strong_shared(at[lane], access.thread, sync(i.m, false));
            }
            check_read(ctx, at[lane], access);
        }
    }
}

#[inline(always)]
pub(crate) fn store<C: Config>(ctx: &mut Context, w: &mut Warp, i: &Inst, pc: u32, m: u32) {
    if m == u32::MAX && super::rows::store_shared::<C>(ctx, w, i, pc) {
        return;
    }
    let at = offsets(w, i);
    store_at::<C>(ctx, w, i, pc, m, &at);
}

#[inline(never)]
pub(crate) fn store_at<C: Config>(ctx: &mut Context, w: &mut Warp, i: &Inst, pc: u32, m: u32, at: &Row) {
    if m == u32::MAX && i.m & WORD_BITS == WORD && at[0] & 3 == 0 && is_sequence32(at, 4) {
        let first = at[0] as usize / 4;
        if 4 * first + 128 <= ctx.shared_bytes as usize {
            let row = w.r[usize::from(i.b)];
            if C::COUNT {
                count(ctx, pc, 1);
            }
            if C::CHECK {
                check_row_write(ctx, first, w.index, pc, &row);
            }
            if let Some(words) = ctx.shared.get_mut(first..first + 32) {
                words.copy_from_slice(&row);
            }
            return;
        }
    }
    store_lanes::<C>(ctx, w, i, pc, m, at);
}

#[inline(never)]
fn store_lanes<C: Config>(ctx: &mut Context, w: &mut Warp, i: &Inst, pc: u32, m: u32, at: &Row) {
    let element = Element::of(i);
    let list = registers(ctx, i, true, element.count);
    let bytes = element.size * element.count as u32;
    let strong = i.m & STRONG != 0;
    if C::COUNT {
        count(ctx, pc, wavefronts(at, bytes, m));
    }
    for lane in lanes(m) {
        let access = Access { pc, thread: 32 * w.index + lane as u32, size: bytes, how: strength(i.m) };
        if !inside(ctx, at[lane], access) {
            continue;
        }
        let mut same = true;
        for (n, register) in list[..element.count].iter().enumerate() {
            let value = element.get(w, *register, lane);
            let place = at[lane] + n as u32 * element.size;
            if C::CHECK {
                let mask = if element.size == 8 { u64::MAX } else { (1 << (8 * element.size)) - 1 };
                same &= read_shared(&ctx.shared, place, element.size) == value & mask;
            }
            write_shared(&mut ctx.shared, place, element.size, value);
        }
        if C::CHECK {
            if strong {
                ctx.shadow.strong_shared(at[lane], access.thread, sync(i.m, true));
            }
            check_write(ctx, at[lane], access, same);
        }
    }
    if C::CHECK && i.m & ORDERED != 0 {
        ctx.shadow.released();
    }
}
