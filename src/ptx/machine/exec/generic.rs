//! Generic addresses: windows for shared, local and parameter memory, everything else is global.

use super::local::{Element, check_load, check_store, read_local, read_param, write_local};
use super::{addresses, global, registers, shared};
use crate::ptx::decode::memory::WIDE_BASE;
use crate::ptx::decode::op::Inst;
use crate::ptx::machine::context::{Config, Context};
use crate::ptx::machine::findings::Kind;
use crate::ptx::machine::regs::*;
use crate::ptx::machine::warp::{Group, Warp};
use crate::ptx::machine::{LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, WINDOW};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Where {
    Global,
    Shared,
    Local,
    Param,
}

#[inline(always)]
pub(crate) fn place(address: u64) -> Where {
    match address & !(WINDOW - 1) {
        SHARED_WINDOW => Where::Shared,
        LOCAL_WINDOW => Where::Local,
        PARAM_WINDOW => Where::Param,
        _ => Where::Global,
    }
}

/// `isspacep`: 0 global, 1 const, 2 shared, 3 local, 4 param.
pub(super) fn is_space(ctx: &Context, address: u64, space: u32) -> bool {
    match place(address) {
        Where::Shared => space == 2,
        Where::Local => space == 3,
        Where::Param => space == 4,
        Where::Global => {
            let constant = ctx.memory.find(address, &mut 0).is_some_and(|(a, _)| a.constant);
            space == u32::from(constant)
        }
    }
}

/// Lanes of a mask by the space that their address lies in.
fn split(at: &WideRow, m: u32) -> [u32; 4] {
    let mut masks = [0; 4];
    for lane in lanes(m) {
        masks[place(at[lane]) as usize] |= 1 << lane;
    }
    masks
}

pub(super) fn load<C: Config>(ctx: &mut Context, w: &mut Warp, g: &Group, i: &Inst, pc: u32, m: u32) {
    if m == u32::MAX && super::rows::load_global::<C>(ctx, w, i, pc) {
        return;
    }
    let at = addresses(w, i.a, i.m & WIDE_BASE != 0, i.off);
    let [in_global, in_shared, in_local, in_param] = split(&at, m);
    if in_global != 0 {
        global::load_at::<C>(ctx, w, i, pc, in_global, &at);
    }
    if in_shared != 0 {
        let offsets = map1(&at, |x: u64| shared::narrow(x.wrapping_sub(SHARED_WINDOW)));
        shared::load_at::<C>(ctx, w, i, pc, in_shared, &offsets);
    }
    let element = Element::of(i);
    let list = registers(ctx, i, false, element.count);
    let _ = g;
    for lane in lanes(in_local | in_param) {
        for (n, register) in list[..element.count].iter().enumerate() {
            let address = at[lane] + n as u64 * u64::from(element.size);
            let value = if in_local >> lane & 1 != 0 {
                let offset = address - LOCAL_WINDOW;
                let aligned = offset.is_multiple_of(u64::from(element.size));
                let value = if aligned { read_local(w, offset, element.size, lane) } else { None };
                if value.is_none() {
                    report_local(ctx, w, pc, lane, offset, aligned);
                } else if C::CHECK {
                    check_load(ctx, w, element, *register, lane, offset, pc);
                }
                value.unwrap_or(0)
            } else {
                read_param(ctx, address - PARAM_WINDOW, element.size)
            };
            element.set(w, *register, lane, value);
        }
    }
}

fn report_local(ctx: &mut Context, w: &Warp, pc: u32, lane: usize, offset: u64, aligned: bool) {
    let kind = if aligned { Kind::OutOfBounds } else { Kind::Misaligned };
    ctx.report(kind, pc, 32 * w.index + lane as u32, Some(offset), || "local memory".into());
}

pub(super) fn store<C: Config>(ctx: &mut Context, w: &mut Warp, g: &Group, i: &Inst, pc: u32, m: u32) {
    if m == u32::MAX && super::rows::store_global::<C>(ctx, w, i, pc) {
        return;
    }
    let at = addresses(w, i.a, i.m & WIDE_BASE != 0, i.off);
    let [in_global, in_shared, in_local, in_param] = split(&at, m);
    if in_global != 0 {
        global::store_at::<C>(ctx, w, i, pc, in_global, &at);
    }
    if in_shared != 0 {
        let offsets = map1(&at, |x: u64| shared::narrow(x.wrapping_sub(SHARED_WINDOW)));
        shared::store_at::<C>(ctx, w, i, pc, in_shared, &offsets);
    }
    let element = Element::of(i);
    let list = registers(ctx, i, true, element.count);
    let _ = g;
    for lane in lanes(in_local) {
        for (n, register) in list[..element.count].iter().enumerate() {
            let offset = at[lane] - LOCAL_WINDOW + n as u64 * u64::from(element.size);
            let value = element.get(w, *register, lane);
            let aligned = offset.is_multiple_of(u64::from(element.size));
            if !aligned || !write_local(w, offset, element.size, lane, value) {
                report_local(ctx, w, pc, lane, offset, aligned);
            } else if C::CHECK {
                check_store(w, element, *register, lane, offset);
            }
        }
    }
    for lane in lanes(in_param) {
        let thread = 32 * w.index + lane as u32;
        ctx.report(Kind::WriteToConstant, pc, thread, Some(at[lane]), || "kernel parameters".into());
    }
}
