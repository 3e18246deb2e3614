//! Calls, returns, indexed branches.

use std::sync::Arc;

use super::super::context::Halt;
use crate::ptx::decode::op::Inst;
use crate::ptx::decode::program::FUNCTION_BASE;
use crate::ptx::machine::context::{Config, Context};
use crate::ptx::machine::findings::Kind;
use crate::ptx::machine::regs::*;
use crate::ptx::machine::step::{Next, Stop};
use crate::ptx::machine::warp::{Frame, Group, Saved, Warp};

/// Splits off the lanes that are not in `m`; they stay where they are.
pub(super) fn leave_others(w: &mut Warp, g: &mut Group, m: u32, pc: u32) {
    if m != g.mask {
        let mut other = g.clone();
        other.mask = g.mask & !m;
        other.pc = pc;
        other.ran = w.clock;
        g.mask = m;
        w.groups.push(other);
    }
}

pub(super) fn branch_indexed(ctx: &mut Context, w: &mut Warp, g: &mut Group, i: &Inst, m: u32) -> Next {
    let row = w.r[usize::from(i.a)];
    let lane = m.trailing_zeros() as usize;
    let chosen = row[lane];
    let same = compare(&row, &[chosen; 32], |x, y| x == y) & m;
    let (pc, next) = (g.pc, g.pc + 1);
    // Lanes with another index come back to this instruction; lanes that the guard excludes go on.
    if g.mask & !m != 0 {
        leave_others(w, g, m, next);
    }
    leave_others(w, g, same, pc);
    let target = ctx.program.targets.get(i.off as usize).and_then(|t| t.get(chosen as usize));
    g.pc = target.copied().unwrap_or(next);
    Next::Jump
}

pub(super) fn call<C: Config>(ctx: &mut Context, w: &mut Warp, g: &mut Group, i: &Inst, pc: u32, m: u32) -> Next {
    let Some(site) = ctx.program.calls.get(i.m as usize) else { return Next::Stop(Stop::Halt) };
    enter::<C>(ctx, w, g, i.m, site.function, pc, m)
}

pub(super) fn indirect<C: Config>(ctx: &mut Context, w: &mut Warp, g: &mut Group, i: &Inst, pc: u32, m: u32) -> Next {
    let row = w.q[usize::from(i.a)];
    let lane = m.trailing_zeros() as usize;
    let same = compare(&row, &[row[lane]; 32], |x, y| x == y) & m;
    if g.mask & !m != 0 {
        leave_others(w, g, m, pc + 1);
    }
    leave_others(w, g, same, pc);
    let index = row[lane].wrapping_sub(FUNCTION_BASE) / 16;
    let known = ctx.program.function_indices.iter().find(|(module, _)| u64::from(*module) == index);
    match known {
        Some((_, function)) if row[lane] >= FUNCTION_BASE => enter::<C>(ctx, w, g, i.m, *function, pc, same),
        _ => {
            let thread = 32 * w.index + lane as u32;
            ctx.report(Kind::InvalidCall, pc, thread, Some(row[lane]), || {
                "call of an address that is no function".into()
            });
            super::leave(ctx, w, g, same)
        }
    }
}

fn enter<C: Config>(ctx: &mut Context, w: &mut Warp, g: &mut Group, site: u32, function: u32, pc: u32, m: u32) -> Next {
    let program = ctx.program;
    let (Some(info), Some(call)) = (program.functions.get(function as usize), program.calls.get(site as usize)) else {
        return Next::Stop(Stop::Halt);
    };
    leave_others(w, g, m, pc + 1);
    let caller = g.stack.as_ref().map_or(0, |f| f.function);
    let size = program.functions.get(caller as usize).map_or(0, |f| f.frame);
    let base = g.base + size;
    let end = u64::from(base) + u64::from(info.frame);
    if end > u64::from(ctx.options.limits.stack_bytes) || g.depth >= ctx.options.limits.stack_bytes / 16 {
        let thread = 32 * w.index + m.trailing_zeros();
        let limit = ctx.options.limits.stack_bytes;
        ctx.report_many(Kind::StackOverflow, pc, thread, u64::from(m.count_ones()), None, || {
            format!("{} calls deep, more than {limit} bytes of stack", g.depth)
        });
        ctx.halt = Some(Halt::StackLimit);
        return Next::Stop(Stop::Halt);
    }
    if w.local.len() < end as usize / 4 {
        w.local.resize(end as usize / 4, [0; 32]);
    }
    if C::CHECK {
        super::local::forget(w, base, end as u32, m);
    }
    for (argument, (offset, bytes)) in call.arguments.iter().zip(&info.params) {
        copy::<C>(w, g.base + argument, base + offset, *bytes, m);
    }
    let saved = info.recursive.then(|| Saved {
        r: w.r.save(info.r),
        q: w.q.save(info.q),
        p: w.p[usize::from(info.p.0)..usize::from(info.p.1)].to_vec(),
    });
    let parent = g.stack.take();
    let any_saved = saved.is_some() || parent.as_ref().is_some_and(|p| p.any_saved);
    let depth = g.depth + 1;
    let frame = Frame { return_pc: pc + 1, function, base: g.base, site, parent, depth, saved, any_saved };
    g.stack = Some(Arc::new(frame));
    (g.depth, g.base, g.pc) = (depth, base, info.entry);
    Next::Jump
}

/// Copies frame words of the lanes of a mask.
fn copy<C: Config>(w: &mut Warp, from: u32, to: u32, bytes: u32, m: u32) {
    if from == u32::MAX {
        return;
    }
    for word in 0..bytes.div_ceil(4) as usize {
        let (from, to) = (from as usize / 4 + word, to as usize / 4 + word);
        if from < w.local.len() && to < w.local.len() {
            let row = w.local[from];
            put(&mut w.local[to], &row, m);
            if C::CHECK {
                super::local::copy_written(w, from, to, m);
            }
        }
    }
}

pub(super) fn ret<C: Config>(ctx: &mut Context, w: &mut Warp, g: &mut Group, m: u32) -> Next {
    let pc = g.pc;
    leave_others(w, g, m, pc + 1);
    let Some(frame) = g.stack.take() else { return super::leave(ctx, w, g, m) };
    let program = ctx.program;
    if let (Some(info), Some(call)) =
        (program.functions.get(frame.function as usize), program.calls.get(frame.site as usize))
    {
        if let Some(saved) = &frame.saved {
            w.r.restore(info.r.0, &saved.r, m);
            w.q.restore(info.q.0, &saved.q, m);
            for (p, old) in w.p[usize::from(info.p.0)..].iter_mut().zip(&saved.p) {
                *p = *p & !m | old & m;
            }
        }
        for (result, (offset, bytes)) in call.results.iter().zip(&info.returns) {
            if *result != u32::MAX {
                copy::<C>(w, g.base + offset, frame.base + result, *bytes, m);
            }
        }
    }
    g.pc = frame.return_pc;
    g.base = frame.base;
    g.depth = frame.depth - 1;
    g.stack = frame.parent.clone();
    Next::Jump
}
