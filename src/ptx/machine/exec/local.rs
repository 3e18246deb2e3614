//! Local memory (rows of 32 lanes) and the parameter block.

use super::{addresses, registers};
use crate::ptx::decode::flow::Place;
use crate::ptx::decode::memory::{FRAME, SHORT_REGS, SIGNED, WIDE_BASE, WIDE_REGS};
use crate::ptx::decode::op::Inst;
use crate::ptx::machine::context::{Config, Context};
use crate::ptx::machine::file::Half;
use crate::ptx::machine::findings::Kind;
use crate::ptx::machine::regs::*;
use crate::ptx::machine::undefined::give;
use crate::ptx::machine::warp::{Group, Warp};

/// How an element of memory becomes a register and back, from `Inst::m`.
#[derive(Clone, Copy)]
pub(crate) struct Element {
    pub size: u32,
    pub count: usize,
    signed: bool,
    pub wide: bool,
    short: bool,
}

impl Element {
    #[inline(always)]
    pub fn of(i: &Inst) -> Element {
        Element {
            size: 1 << (i.m & 7),
            count: (i.m >> 5 & 15) as usize,
            signed: i.m & SIGNED != 0,
            wide: i.m & WIDE_REGS != 0,
            short: i.m & SHORT_REGS != 0,
        }
    }

    /// Register contents of a loaded value.
    #[inline(always)]
    pub fn extend(self, value: u64) -> u64 {
        if !self.signed || self.size == 8 {
            return value;
        }
        let unused = 64 - 8 * self.size;
        let extended = ((value << unused) as i64 >> unused) as u64;
        if self.short { extended & 0xffff } else { extended }
    }

    /// Writes one lane of a destination.
    #[inline(always)]
    pub fn set(self, w: &mut Warp, register: u16, lane: usize, value: u64) {
        let value = self.extend(value);
        if self.wide {
            w.q[usize::from(register)][lane] = value;
        } else {
            w.r[usize::from(register)][lane] = value as u32;
        }
    }

    #[inline(always)]
    pub fn get(self, w: &Warp, register: u16, lane: usize) -> u64 {
        if self.wide { w.q[usize::from(register)][lane] } else { u64::from(w.r[usize::from(register)][lane]) }
    }
}

pub(crate) fn read_local(w: &Warp, address: u64, size: u32, lane: usize) -> Option<u64> {
    let at = address as usize;
    let word = |n: usize| w.local.get(n).map(|row| u64::from(row[lane]));
    if address + u64::from(size) > 4 * w.local.len() as u64 {
        return None;
    }
    Some(match size {
        8 => word(at / 4)? | word(at / 4 + 1)? << 32,
        4 => word(at / 4)?,
        2 => word(at / 4)? >> (8 * (at & 2)) & 0xffff,
        _ => word(at / 4)? >> (8 * (at & 3)) & 0xff,
    })
}

pub(crate) fn write_local(w: &mut Warp, address: u64, size: u32, lane: usize, value: u64) -> bool {
    let at = address as usize;
    if address.checked_add(u64::from(size)).is_none_or(|end| end > 4 * w.local.len() as u64) {
        return false;
    }
    let word = &mut w.local[at / 4][lane];
    match size {
        8 => {
            *word = value as u32;
            w.local[at / 4 + 1][lane] = (value >> 32) as u32;
        }
        4 => *word = value as u32,
        _ => {
            let shift = 8 * (at as u32 & 3);
            let mask = if size == 2 { 0xffff } else { 0xff } << shift;
            *word = *word & !mask | (value as u32) << shift & mask;
        }
    }
    true
}

fn local_addresses(w: &Warp, g: &Group, i: &Inst) -> WideRow {
    let base = if i.m & FRAME != 0 { u64::from(g.base) } else { 0 };
    map1(&addresses(w, i.a, i.m & WIDE_BASE != 0, i.off), |x: u64| x.wrapping_add(base))
}

fn trouble(ctx: &mut Context, w: &Warp, pc: u32, lane: usize, address: u64, size: u32) {
    let thread = 32 * w.index + lane as u32;
    let kind = if address.is_multiple_of(u64::from(size)) { Kind::OutOfBounds } else { Kind::Misaligned };
    ctx.report(kind, pc, thread, Some(address), || format!("{size} bytes of local memory"));
}

pub(super) fn load<C: Config>(ctx: &mut Context, w: &mut Warp, g: &Group, i: &Inst, pc: u32, m: u32) {
    let element = Element::of(i);
    let at = local_addresses(w, g, i);
    let list = registers(ctx, i, false, element.count);
    // The same word in all lanes is a row.
    if element.size == 4 && !element.wide && at[0] & 3 == 0 && is_sequence(&at, 0) {
        let first = at[0] as usize / 4;
        if at[0] < 1 << 32 && first + element.count <= w.local.len() {
            for (n, register) in list[..element.count].iter().enumerate() {
                let row = w.local[first + n];
                put(&mut w.r[usize::from(*register)], &row, m);
                if C::CHECK {
                    let undefined = unwritten(w, first + n, used_of(ctx, i, 4 * n as u32, 15));
                    give(ctx, w, Place::Word(*register), undefined, m, (pc, Kind::UninitialisedLocal));
                }
            }
            return;
        }
    }
    for (n, register) in list[..element.count].iter().enumerate() {
        for lane in lanes(m) {
            let address = at[lane].wrapping_add(n as u64 * u64::from(element.size));
            let aligned = address.is_multiple_of(u64::from(element.size)) && address < 1 << 32;
            let value = if aligned { read_local(w, address, element.size, lane) } else { None };
            if value.is_none() {
                trouble(ctx, w, pc, lane, address, element.size);
            }
            element.set(w, *register, lane, value.unwrap_or(0));
            if C::CHECK && value.is_some() {
                check_load(ctx, w, element, *register, lane, address, pc);
            }
        }
    }
}

/// Of bytes of a word that stands at byte `at` of a load, those that the program uses; all, if it uses none.
fn used_of(ctx: &Context, i: &Inst, at: u32, bytes: u8) -> u8 {
    let used = (super::gaps::used(ctx, i) >> at.min(31)) as u8 & bytes;
    if used == 0 { bytes } else { used }
}

/// Lanes that wrote none of some bytes of a word.
fn unwritten(w: &Warp, word: usize, bytes: u8) -> u32 {
    let Some(written) = w.written.get(word) else { return u32::MAX };
    !written.iter().enumerate().filter(|(byte, _)| bytes >> byte & 1 != 0).fold(0, |all, (_, m)| all | m)
}

/// Lanes of `m` write bytes of a word; those of `undefined` an undefined value.
fn mark_written(w: &mut Warp, word: usize, bytes: u8, m: u32, undefined: u32) {
    if w.written.len() <= word {
        w.written.resize(w.local.len().max(word + 1), [0; 4]);
    }
    for (_, slot) in w.written[word].iter_mut().enumerate().filter(|(byte, _)| bytes >> byte & 1 != 0) {
        *slot = *slot & !m | m & !undefined;
    }
}

fn undefined_in(w: &Warp, place: Place) -> u32 {
    w.undefined.as_ref().map_or(0, |values| values.of(place))
}

fn bytes_of(address: u64, size: u32) -> u8 {
    if size >= 4 { 15 } else { ((1u8 << size) - 1) << (address & 3) }
}

/// A load of one element by one lane: undefined if nothing of it was written.
pub(super) fn check_load(
    ctx: &Context,
    w: &mut Warp,
    element: Element,
    register: u16,
    lane: usize,
    address: u64,
    pc: u32,
) {
    let (word, bytes) = (address as usize / 4, bytes_of(address, element.size));
    let mut undefined = unwritten(w, word, bytes);
    if element.size == 8 {
        undefined &= unwritten(w, word + 1, 15);
    }
    let to = if element.wide { Place::Wide(register) } else { Place::Word(register) };
    give(ctx, w, to, undefined, 1 << lane, (pc, Kind::UninitialisedLocal));
}

/// A store of one element by one lane.
pub(super) fn check_store(w: &mut Warp, element: Element, register: u16, lane: usize, address: u64) {
    let from = if element.wide { Place::Wide(register) } else { Place::Word(register) };
    let (word, undefined) = (address as usize / 4, undefined_in(w, from));
    mark_written(w, word, bytes_of(address, element.size), 1 << lane, undefined);
    if element.size == 8 {
        mark_written(w, word + 1, 15, 1 << lane, undefined);
    }
}

/// Words of a new frame are unwritten for the lanes that enter it.
pub(super) fn forget(w: &mut Warp, from: u32, to: u32, m: u32) {
    let end = (to as usize / 4).min(w.written.len());
    for word in w.written.get_mut(from as usize / 4..end).unwrap_or(&mut []) {
        word.iter_mut().for_each(|lanes| *lanes &= !m);
    }
}

/// Copies what is known of a word.
pub(super) fn copy_written(w: &mut Warp, from: usize, to: usize, m: u32) {
    let old = w.written.get(from).copied().unwrap_or([0; 4]);
    if w.written.len() <= to {
        w.written.resize(w.local.len().max(to + 1), [0; 4]);
    }
    for (slot, old) in w.written[to].iter_mut().zip(old) {
        *slot = *slot & !m | old & m;
    }
}

pub(super) fn store<C: Config>(ctx: &mut Context, w: &mut Warp, g: &Group, i: &Inst, pc: u32, m: u32) {
    let element = Element::of(i);
    let at = local_addresses(w, g, i);
    let list = registers(ctx, i, true, element.count);
    if element.size == 4 && !element.wide && at[0] & 3 == 0 && is_sequence(&at, 0) {
        let first = at[0] as usize / 4;
        if at[0] < 1 << 32 && first + element.count <= w.local.len() {
            for (n, register) in list[..element.count].iter().enumerate() {
                let row = w.r[usize::from(*register)];
                put(&mut w.local[first + n], &row, m);
                if C::CHECK {
                    let undefined = undefined_in(w, Place::Word(*register));
                    mark_written(w, first + n, 15, m, undefined);
                }
            }
            return;
        }
    }
    for (n, register) in list[..element.count].iter().enumerate() {
        for lane in lanes(m) {
            let address = at[lane].wrapping_add(n as u64 * u64::from(element.size));
            let value = element.get(w, *register, lane);
            let aligned = address.is_multiple_of(u64::from(element.size));
            if !aligned || !write_local(w, address, element.size, lane, value) {
                trouble(ctx, w, pc, lane, address, element.size);
            } else if C::CHECK {
                check_store(w, element, *register, lane, address);
            }
        }
    }
}

/// Bytes of the parameter block; beyond its end zero.
#[inline(always)]
pub(crate) fn read_param(ctx: &Context, offset: u64, size: u32) -> u64 {
    let at = offset as usize;
    if size == 8
        && let Some(bytes) = ctx.params.get(at..at.saturating_add(8)).and_then(|b| b.first_chunk())
    {
        return u64::from_le_bytes(*bytes);
    }
    if size == 4
        && let Some(bytes) = ctx.params.get(at..at.saturating_add(4)).and_then(|b| b.first_chunk())
    {
        return u64::from(u32::from_le_bytes(*bytes));
    }
    let mut bytes = [0; 8];
    for (n, byte) in bytes.iter_mut().take(size as usize).enumerate() {
        *byte = ctx.params.get(at.saturating_add(n)).copied().unwrap_or(0);
    }
    u64::from_le_bytes(bytes)
}

#[inline(always)]
pub(crate) fn load_param(ctx: &mut Context, w: &mut Warp, i: &Inst, m: u32) {
    // One word or two for all lanes, at a place that the instruction names.
    if i.m & (1 << 3 | 15 << 5 | WIDE_BASE) == 1 << 5 | WIDE_BASE
        && i.m & 7 >= 2
        && w.q.halves(i.a) == [Half::Broadcast; 2]
        && w.q[usize::from(i.a)][0] == w.q[usize::from(i.a)][16]
    {
        let at = w.q[usize::from(i.a)][0].wrapping_add(i64::from(i.off) as u64);
        let value = read_param(ctx, at, 1 << (i.m & 7));
        if i.m & WIDE_REGS != 0 {
            put(&mut w.q[usize::from(i.d)], &[value; 32], m);
        } else {
            put(&mut w.r[usize::from(i.d)], &[value as u32; 32], m);
        }
        return;
    }
    load_params(ctx, w, i, m);
}

#[inline(never)]
fn load_params(ctx: &mut Context, w: &mut Warp, i: &Inst, m: u32) {
    let element = Element::of(i);
    let at = addresses(w, i.a, i.m & WIDE_BASE != 0, i.off);
    let list = registers(ctx, i, false, element.count);
    let uniform = is_sequence(&at, 0);
    for (n, register) in list[..element.count].iter().enumerate() {
        let step = n as u64 * u64::from(element.size);
        if uniform {
            let value = element.extend(read_param(ctx, at[0] + step, element.size));
            if element.wide {
                put(&mut w.q[usize::from(*register)], &[value; 32], m);
            } else {
                put(&mut w.r[usize::from(*register)], &[value as u32; 32], m);
            }
            continue;
        }
        for lane in lanes(m) {
            let value = read_param(ctx, at[lane].wrapping_add(step) & 0xffff_ffff, element.size);
            element.set(w, *register, lane, value);
        }
    }
}
