//! Matrix instructions: registers of the warp in, registers out; the arithmetic is `ptx::matrix`.

use super::generic::{Where, place};
use super::global::Access;
use super::shared::{inside, narrow, read_shared, write_shared};
use super::wavefronts::wavefronts;
use super::{addresses, check_global, check_shared, global, sectors, warp_ops};
use crate::ptx::ast::Space;
use crate::ptx::decode::matrix::{List, MatrixKind, MatrixOp};
use crate::ptx::decode::op::{Inst, Op};
use crate::ptx::machine::SHARED_WINDOW;
use crate::ptx::machine::context::{Config, Context};
use crate::ptx::machine::findings::Kind;
use crate::ptx::machine::regs::*;
use crate::ptx::machine::shadow::Strength;
use crate::ptx::machine::step::{Next, Stop};
use crate::ptx::machine::touched::How;
use crate::ptx::machine::warp::{Group, Warp};
use crate::ptx::matrix::fragment::{Fragment, Layout};
use crate::ptx::matrix::transfer;

pub(super) fn run<C: Config>(ctx: &mut Context, w: &mut Warp, g: &mut Group, i: &Inst, pc: u32, m: u32) -> Next {
    // All lanes of the warp take part.
    if let Some(wait) = warp_ops::meet::<C>(ctx, w, g, u32::MAX, pc, m) {
        return wait;
    }
    let program = ctx.program;
    let Some(op) = program.matrix.get(i.m as usize) else { return Next::Stop(Stop::Halt) };
    let m = g.mask;
    match op.kind {
        MatrixKind::Mma(mma) if op.wide => {
            let (a, b, c) = (gather_wide(ctx, w, op.a, m), gather_wide(ctx, w, op.b, m), gather_wide(ctx, w, op.c, m));
            let mut d = vec![[0; 32]; usize::from(op.d.count)];
            mma.execute_f64(&a, &b, &c, &mut d);
            scatter_wide(ctx, w, op.d, &d, m);
        }
        MatrixKind::Mma(mma) => {
            let (a, b, c) = (gather(ctx, w, op.a, m), gather(ctx, w, op.b, m), gather(ctx, w, op.c, m));
            let mut d = vec![[0; 32]; usize::from(op.d.count)];
            mma.execute(&a, &b, &c, &mut d);
            scatter(ctx, w, op.d, &d, m);
        }
        MatrixKind::Wmma(wmma) if op.wide => {
            let (a, b, c) = (gather_wide(ctx, w, op.a, m), gather_wide(ctx, w, op.b, m), gather_wide(ctx, w, op.c, m));
            let mut d = vec![[0; 32]; usize::from(op.d.count)];
            wmma.execute_f64(&a, &b, &c, &mut d);
            scatter_wide(ctx, w, op.d, &d, m);
        }
        MatrixKind::Wmma(wmma) => {
            let (a, b, c) = (gather(ctx, w, op.a, m), gather(ctx, w, op.b, m), gather(ctx, w, op.c, m));
            let mut d = vec![[0; 32]; usize::from(op.d.count)];
            wmma.execute(&a, &b, &c, &mut d);
            scatter(ctx, w, op.d, &d, m);
        }
        MatrixKind::Transpose => {
            let row = transfer::transpose(&present(&w.r[usize::from(i.a)], m));
            put(&mut w.r[usize::from(i.d)], &row, m);
        }
        MatrixKind::Tiles { count, transposed } => {
            if i.op == Op::Stmatrix {
                g.last_store = pc;
            }
            tiles::<C>(ctx, w, i, op, count, transposed, pc, m);
        }
        MatrixKind::Move { fragment, layout, bytes } => {
            if i.op == Op::WmmaStore {
                g.last_store = pc;
            }
            let shape = (fragment, layout, bytes);
            move_fragment::<C>(ctx, w, i, op, shape, pc, m);
        }
    }
    g.pc = pc + 1;
    if w.groups.is_empty() { Next::Jump } else { Next::Stop(Stop::Rejoin) }
}

fn registers<'a>(ctx: &Context<'a>, list: List) -> &'a [u16] {
    ctx.program.lists.get(list.at as usize..list.at as usize + usize::from(list.count)).unwrap_or(&[])
}

/// Lanes that are not there give zero: what their registers hold may be of an earlier block.
fn present<T: Copy + Default>(row: &[T; 32], m: u32) -> [T; 32] {
    let mut out = [T::default(); 32];
    put(&mut out, row, m);
    out
}

fn gather(ctx: &Context, w: &Warp, list: List, m: u32) -> Vec<Row> {
    registers(ctx, list).iter().map(|r| present(&w.r[usize::from(*r)], m)).collect()
}

fn gather_wide(ctx: &Context, w: &Warp, list: List, m: u32) -> Vec<WideRow> {
    registers(ctx, list).iter().map(|r| present(&w.q[usize::from(*r)], m)).collect()
}

fn scatter(ctx: &Context, w: &mut Warp, list: List, rows: &[Row], m: u32) {
    for (register, row) in registers(ctx, list).iter().zip(rows) {
        put(&mut w.r[usize::from(*register)], row, m);
    }
}

fn scatter_wide(ctx: &Context, w: &mut Warp, list: List, rows: &[WideRow], m: u32) {
    for (register, row) in registers(ctx, list).iter().zip(rows) {
        put(&mut w.q[usize::from(*register)], row, m);
    }
}

/// `ldmatrix` and `stmatrix`.
#[allow(clippy::too_many_arguments)]
fn tiles<C: Config>(
    ctx: &mut Context,
    w: &mut Warp,
    i: &Inst,
    op: &MatrixOp,
    count: u32,
    transposed: bool,
    pc: u32,
    m: u32,
) {
    let store = i.op == Op::Stmatrix;
    let at = map1(&addresses(w, i.a, op.wide_base, i.off), |x: u64| {
        narrow(if op.space == Space::Shared { x } else { x.wrapping_sub(SHARED_WINDOW) })
    });
    for (matrix, register) in registers(ctx, op.d).iter().enumerate().take(count as usize) {
        let first = 8 * matrix;
        if C::COUNT {
            let wavefronts = wavefronts(&at, 16, m & 0xff << first);
            if let Some(site) = ctx.site(pc) {
                site.requests += u64::from(matrix == 0);
                site.wavefronts += wavefronts;
            }
        }
        let mut tile =
            if store { transfer::store(&w.r[usize::from(*register)], transposed) } else { Default::default() };
        for (row, cells) in tile.iter_mut().enumerate() {
            let lane = first + row;
            let access = Access { pc, thread: 32 * w.index + lane as u32, size: 16, how: Strength::Weak };
            if !inside(ctx, at[lane], access) {
                continue;
            }
            let mut same = true;
            for (n, pair) in cells.chunks_exact_mut(2).enumerate() {
                let offset = at[lane] + 4 * n as u32;
                let old = read_shared(&ctx.shared, offset, 4);
                if store {
                    let word = u64::from(pair[0]) | u64::from(pair[1]) << 16;
                    same &= word == old;
                    write_shared(&mut ctx.shared, offset, 4, word);
                } else {
                    (pair[0], pair[1]) = (old as u16, (old >> 16) as u16);
                }
            }
            if C::CHECK {
                if store {
                    check_shared::check_write(ctx, at[lane], access, same);
                } else {
                    check_shared::check_read(ctx, at[lane], access);
                }
            }
        }
        if !store {
            put(&mut w.r[usize::from(*register)], &transfer::load(&tile, transposed), m);
        }
    }
}

/// `wmma.load` and `wmma.store`: elements that share a register and lie side by side are one access.
fn move_fragment<C: Config>(
    ctx: &mut Context,
    w: &mut Warp,
    i: &Inst,
    op: &MatrixOp,
    (fragment, layout, bytes): (Fragment, Layout, u32),
    pc: u32,
    m: u32,
) {
    let base = addresses(w, i.a, op.wide_base, i.off);
    let leading = w.r[usize::from(i.b)];
    let parts = fragment.parts();
    for (n, register) in registers(ctx, op.d).iter().enumerate() {
        let mut starts = [0u64; 32];
        for lane in lanes(m) {
            let offset = |part: u32| {
                fragment
                    .offset(n as u32, part, lane as u32, layout, u64::from(leading[lane]))
                    .wrapping_mul(u64::from(bytes))
            };
            let first = base[lane].wrapping_add(offset(0));
            starts[lane] = first;
            let together = parts * bytes;
            let adjacent = (1..parts).all(|p| offset(p) == offset(0).wrapping_add(u64::from(p * bytes)));
            let one = parts == 1 || (adjacent && first.is_multiple_of(u64::from(together)));
            let steps = if one { 1 } else { parts };
            let size = if one { together } else { bytes };
            let mut word =
                if op.wide { w.q[usize::from(*register)][lane] } else { u64::from(w.r[usize::from(*register)][lane]) };
            for part in 0..steps {
                let address = base[lane].wrapping_add(offset(part));
                let access = Access { pc, thread: 32 * w.index + lane as u32, size, how: Strength::Weak };
                let shift = 8 * part * bytes;
                if i.op == Op::WmmaStore {
                    let mask = if size == 8 { u64::MAX } else { (1 << (8 * size)) - 1 };
                    write_one::<C>(ctx, op.space, address, access, word >> shift & mask);
                } else {
                    let value = read_one::<C>(ctx, op.space, address, access);
                    word = if one {
                        value
                    } else {
                        word & !((((1u64 << (8 * size)) - 1) as u64) << shift) | value << shift
                    };
                }
            }
            if i.op == Op::WmmaLoad {
                if op.wide {
                    w.q[usize::from(*register)][lane] = word;
                } else {
                    w.r[usize::from(*register)][lane] = word as u32;
                }
            }
        }
        if C::COUNT {
            count(ctx, op.space, pc, m, &starts, (parts * bytes).min(8));
        }
    }
}

fn count(ctx: &mut Context, space: Space, pc: u32, m: u32, at: &WideRow, bytes: u32) {
    let first = at[m.trailing_zeros() as usize & 31];
    if space == Space::Shared || (space == Space::Generic && place(first) == Where::Shared) {
        let offsets = map1(at, |x: u64| narrow(x & 0xff_ffff));
        let wavefronts = wavefronts(&offsets, bytes, m);
        if let Some(site) = ctx.site(pc) {
            site.requests += 1;
            site.wavefronts += wavefronts;
        }
    } else {
        sectors::count_sectors_of(ctx, u64::from(bytes), pc, m, at);
    }
}

fn in_shared(space: Space, address: u64) -> Option<u32> {
    match space {
        Space::Shared => Some(narrow(address)),
        Space::Generic if place(address) == Where::Shared => Some(narrow(address.wrapping_sub(SHARED_WINDOW))),
        _ => None,
    }
}

fn read_one<C: Config>(ctx: &mut Context, space: Space, address: u64, access: Access) -> u64 {
    if let Some(offset) = in_shared(space, address) {
        if !inside(ctx, offset, access) {
            return 0;
        }
        if C::CHECK {
            check_shared::check_read(ctx, offset, access);
        }
        return read_shared(&ctx.shared, offset, access.size);
    }
    let Some((allocation, index, offset)) = global::locate(ctx, address, access) else { return 0 };
    global::touch(ctx, allocation, index, How::Read, offset, access.size);
    if C::CHECK && !allocation.constant {
        check_global::check_read(ctx, allocation, offset, access);
    }
    allocation.read(offset, access.size)
}

fn write_one<C: Config>(ctx: &mut Context, space: Space, address: u64, access: Access, value: u64) {
    if let Some(offset) = in_shared(space, address) {
        if inside(ctx, offset, access) {
            let same = read_shared(&ctx.shared, offset, access.size) == value;
            if C::CHECK {
                check_shared::check_write(ctx, offset, access, same);
            }
            write_shared(&mut ctx.shared, offset, access.size, value);
        }
        return;
    }
    let Some((allocation, index, offset)) = global::locate(ctx, address, access) else { return };
    if allocation.constant {
        ctx.report(Kind::WriteToConstant, access.pc, access.thread, Some(address), || allocation.name.clone());
        return;
    }
    global::touch(ctx, allocation, index, How::Write, offset, access.size);
    let same = allocation.read(offset, access.size) == value;
    allocation.write(offset, access.size, value);
    allocation.define(offset, access.size);
    if C::CHECK {
        check_global::check_write(ctx, allocation, offset, access, same);
    }
}
