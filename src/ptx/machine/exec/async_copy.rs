//! `cp.async`: the source is read when the copy is issued, shared memory is written when the thread waits for it. Until
//! then the old contents are visible, and touching them is a finding.

use super::addresses;
use super::check_global::check_read;
use super::global::{Access, locate, touch};
use super::shared::{inside, narrow, write_shared};
use crate::ptx::decode::op::Inst;
use crate::ptx::machine::context::{Config, Context};
use crate::ptx::machine::predicate::predicate;
use crate::ptx::machine::regs::*;
use crate::ptx::machine::shadow::Strength;
use crate::ptx::machine::touched::How;
use crate::ptx::machine::warp::Warp;

struct Copy {
    lane: u8,
    bytes: u8,
    pc: u32,
    offset: u32,
    data: [u32; 4],
    /// Group of the lane; `u32::MAX` before the commit.
    group: u32,
}

/// Copies in flight of a warp, and how many groups each lane has committed.
#[derive(Default)]
pub(crate) struct Copies {
    list: Vec<Copy>,
    committed: [u32; 32],
}

impl Copies {
    pub fn clear(&mut self) {
        self.list.clear();
        self.committed = [0; 32];
    }

    pub fn commit(&mut self, m: u32) {
        for copy in &mut self.list {
            if copy.group == u32::MAX && m >> copy.lane & 1 != 0 {
                copy.group = self.committed[usize::from(copy.lane)];
            }
        }
        for lane in lanes(m) {
            self.committed[lane] += 1;
        }
    }
}

pub(super) fn issue<C: Config>(ctx: &mut Context, w: &mut Warp, i: &Inst, pc: u32, m: u32) {
    let bytes = i.m & 31;
    let to = addresses(w, i.a, i.m & 1 << 6 != 0, i.off);
    let shift = w.r[usize::from(i.d)];
    let from = map2(&w.q[usize::from(i.b)], &shift, |x: u64, y: u32| x.wrapping_add(i64::from(y as i32) as u64));
    let sizes = if i.m & 1 << 5 != 0 { w.r[usize::from(i.c)] } else { [bytes; 32] };
    let ignore = if i.m & 1 << 7 != 0 { predicate(&w.p, i.c) } else { 0 };
    if C::COUNT {
        super::sectors::count_sectors_of(ctx, u64::from(bytes), pc, m & !ignore, &from);
    }
    for lane in lanes(m) {
        let thread = 32 * w.index + lane as u32;
        let offset = narrow(to[lane]);
        if !inside(ctx, offset, Access { pc, thread, size: bytes, how: Strength::Weak }) {
            continue;
        }
        let size = if ignore >> lane & 1 != 0 { 0 } else { sizes[lane].min(bytes) };
        let mut data = [0; 4];
        if size > 0 {
            let access = Access { pc, thread, size: bytes, how: Strength::Weak };
            // Fewer source bytes than the width need not lie inside together; they are read one by one.
            if size == bytes {
                let Some((allocation, index, at)) = locate(ctx, from[lane], access) else { continue };
                touch(ctx, allocation, index, How::Read, at, bytes);
                for (n, word) in data.iter_mut().take(bytes as usize / 4).enumerate() {
                    *word = allocation.read(at + 4 * n, 4) as u32;
                }
                if C::CHECK && !allocation.constant {
                    check_read(ctx, allocation, at, access);
                }
            } else {
                for n in 0..size {
                    let access = Access { size: 1, ..access };
                    let Some((allocation, index, at)) = locate(ctx, from[lane] + u64::from(n), access) else { break };
                    touch(ctx, allocation, index, How::Read, at, 1);
                    data[n as usize / 4] |= (allocation.read(at, 1) as u32) << (8 * (n % 4));
                    if C::CHECK && !allocation.constant {
                        check_read(ctx, allocation, at, access);
                    }
                }
            }
        }
        if C::CHECK {
            super::check_shared::check_copy(ctx, offset, Access { pc, thread, size: bytes, how: Strength::Weak });
            ctx.shadow.begin_copy(offset, bytes);
        }
        w.copies.list.push(Copy { lane: lane as u8, bytes: bytes as u8, pc, offset, data, group: u32::MAX });
    }
}

/// Waits for all but the last `keep` groups of each lane; `u32::MAX` waits for everything.
pub(super) fn wait<C: Config>(ctx: &mut Context, w: &mut Warp, keep: u32, m: u32) {
    let committed = w.copies.committed;
    let list = std::mem::take(&mut w.copies.list);
    for copy in list {
        let lane = usize::from(copy.lane);
        let done = match keep {
            u32::MAX => true,
            keep => copy.group != u32::MAX && copy.group + keep < committed[lane],
        };
        if done && m >> lane & 1 != 0 {
            finish::<C>(ctx, 32 * w.index, &copy);
        } else {
            w.copies.list.push(copy);
        }
    }
}

/// Completes everything that lanes of a mask issued.
pub(super) fn complete<C: Config>(ctx: &mut Context, w: &mut Warp, m: u32) {
    wait::<C>(ctx, w, u32::MAX, m);
}

fn finish<C: Config>(ctx: &mut Context, first_thread: u32, copy: &Copy) {
    for n in 0..u32::from(copy.bytes) / 4 {
        write_shared(&mut ctx.shared, copy.offset + 4 * n, 4, u64::from(copy.data[n as usize]));
    }
    if C::CHECK {
        let bytes = u32::from(copy.bytes);
        ctx.shadow.end_copy(copy.offset, bytes);
        // From now on it counts as a write of the thread that waited.
        let access =
            Access { pc: copy.pc, thread: first_thread + u32::from(copy.lane), size: bytes, how: Strength::Weak };
        super::check_shared::check_write(ctx, copy.offset, access, false);
    }
}

/// At the end of a block: what nobody waited for is forgotten.
pub(crate) fn abandon(w: &mut Warp) {
    w.copies.clear();
}
