//! Loads of more bytes than the program uses.
//!
//! Where a compiler sees loads of neighbouring places with a gap between or behind them, it loads all at once and says so
//! (`.pragma "used_bytes_mask n"`). The bytes beside those that are used may lie behind the end of a buffer, never have
//! been written, or be written by another thread at that moment: an aligned access stays within one sector of memory that
//! belongs to the program, and nobody looks at them. So only the used bytes are checked; the access as a whole must be
//! aligned. A load without the pragma is what the source says, and all of it is checked.

use super::check_global::check_read;
use super::global::{Access, outside, strength, touch};
use super::local::Element;
use super::{check_shared, registers, shared};
use crate::ptx::decode::memory::GAPS;
use crate::ptx::decode::op::Inst;
use crate::ptx::machine::context::{Config, Context};
use crate::ptx::machine::memory::Allocation;
use crate::ptx::machine::regs::*;
use crate::ptx::machine::touched::How;
use crate::ptx::machine::warp::Warp;

/// The bytes of a load that the program uses, as a mask.
pub(super) fn used(ctx: &Context, i: &Inst) -> u32 {
    if i.m & GAPS == 0 {
        return u32::MAX;
    }
    ctx.program.used_bytes.get(usize::from(i.b)).copied().unwrap_or(u32::MAX)
}

/// Used bytes in pieces that the checks take: words, halves of words, and bytes, each aligned. Start and size.
fn pieces(used: u32, bytes: u32) -> impl Iterator<Item = (u32, u32)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes && used >> at & 1 == 0 {
            at += 1;
        }
        if at >= bytes {
            return None;
        }
        let fits = |size: u32| at.is_multiple_of(size) && used >> at & ((1 << size) - 1) == (1 << size) - 1;
        let size = [4, 2].into_iter().find(|size| fits(*size)).unwrap_or(1);
        at += size;
        Some((at - size, size))
    })
}

pub(super) fn load_global<C: Config>(ctx: &mut Context, w: &mut Warp, i: &Inst, pc: u32, m: u32, at: &WideRow) {
    let element = Element::of(i);
    let list = registers(ctx, i, false, element.count);
    let bytes = element.size * element.count as u32;
    let used = used(ctx, i);
    let (first, last) = (u64::from(used.trailing_zeros()), 31 - u64::from(used.leading_zeros()));
    for lane in lanes(m) {
        let access = Access { pc, thread: 32 * w.index + lane as u32, size: bytes, how: strength(i.m) };
        let mut hint = ctx.hints[pc as usize];
        // Used bytes of one allocation; all between the first and the last lie in it then.
        let found = at[lane].checked_add(first).and_then(|begin| ctx.memory.find(begin, &mut hint));
        let found = found.filter(|(a, offset)| offset + (last - first) < a.bytes);
        let aligned = at[lane].is_multiple_of(u64::from(bytes));
        let Some((allocation, offset)) = found.filter(|_| aligned) else {
            outside(ctx, at[lane], access, found.is_some());
            list[..element.count].iter().for_each(|r| element.set(w, *r, lane, 0));
            continue;
        };
        ctx.hints[pc as usize] = hint;
        // Bytes before the first used one may belong to nobody.
        let start = offset.wrapping_sub(first);
        for (n, register) in list[..element.count].iter().enumerate() {
            let place = start.wrapping_add(n as u64 * u64::from(element.size));
            element.set(w, *register, lane, read_inside(allocation, place, element.size));
        }
        for (from, size) in pieces(used, bytes) {
            let offset = start.wrapping_add(u64::from(from)) as usize;
            touch(ctx, allocation, hint, How::Read, offset, size);
            if C::CHECK && !allocation.constant {
                check_read(ctx, allocation, offset, Access { size, ..access });
            }
        }
    }
}

/// An element, its bytes that do not lie in the allocation zero.
fn read_inside(allocation: &Allocation, place: u64, size: u32) -> u64 {
    if place.checked_add(u64::from(size)).is_some_and(|end| end <= allocation.bytes) {
        return allocation.read(place as usize, size);
    }
    let byte = |n: u32| {
        let at = place.wrapping_add(u64::from(n));
        if at < allocation.bytes { allocation.read(at as usize, 1) << (8 * n) } else { 0 }
    };
    (0..size).fold(0, |value, n| value | byte(n))
}

pub(super) fn load_shared<C: Config>(ctx: &mut Context, w: &mut Warp, i: &Inst, pc: u32, m: u32, at: &Row) {
    let element = Element::of(i);
    let list = registers(ctx, i, false, element.count);
    let bytes = element.size * element.count as u32;
    let used = used(ctx, i);
    let end = 32 - used.leading_zeros();
    for lane in lanes(m) {
        let access = Access { pc, thread: 32 * w.index + lane as u32, size: bytes, how: strength(i.m) };
        let fits = at[lane].checked_add(end).is_some_and(|end| end <= ctx.shared_bytes);
        if !fits || at[lane] & (bytes - 1) != 0 {
            shared::outside(ctx, at[lane], access, fits);
            list[..element.count].iter().for_each(|r| element.set(w, *r, lane, 0));
            continue;
        }
        // Words behind the end are there and zero.
        for (n, register) in list[..element.count].iter().enumerate() {
            let value = shared::read_shared(&ctx.shared, at[lane] + n as u32 * element.size, element.size);
            element.set(w, *register, lane, value);
        }
        if C::CHECK {
            for (from, size) in pieces(used, bytes) {
                check_shared::check_read(ctx, at[lane] + from, Access { size, ..access });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn used_bytes_fall_into_aligned_pieces() {
        type Case = (u32, u32, &'static [(u32, u32)]);
        let cases: &[Case] = &[
            (0xfff, 16, &[(0, 4), (4, 4), (8, 4)]),
            (0x3fff, 16, &[(0, 4), (4, 4), (8, 4), (12, 2)]),
            (0x1f, 8, &[(0, 4), (4, 1)]),
            (0xf00f, 16, &[(0, 4), (12, 4)]),
            (0b0111_1110, 8, &[(1, 1), (2, 2), (4, 2), (6, 1)]),
            (u32::MAX, 32, &[(0, 4), (4, 4), (8, 4), (12, 4), (16, 4), (20, 4), (24, 4), (28, 4)]),
            (u32::MAX, 4, &[(0, 4)]),
        ];
        for (used, bytes, expected) in cases {
            assert_eq!(pieces(*used, *bytes).collect::<Vec<_>>(), *expected, "{used:#x} of {bytes}");
        }
    }
}
