//! One block: its warps and everything that belongs to it, and how it runs.

use super::context::{Barrier, Context, Halt};
use super::dispatch::{Instance, Level, run};
use super::exec::barrier;
use super::exec::warp_ops;
use super::findings::Kind;
use super::permutation::Permutation;
use super::shadow::BlockState;
use super::warp::{State, Warp};
use crate::ptx::decode::op::Op;
use crate::ptx::decode::program::{Special, Value};

/// Warp instructions that a warp runs before the next warp of its block.
const WARP_TURN: u32 = 1 << 16;

/// A block with its state; while it runs, parts of it lie in the context.
pub(crate) struct Resident {
    pub block: u64,
    pub warps: Vec<Warp>,
    shared: Vec<u32>,
    barriers: Vec<Barrier>,
    shadow: BlockState,
    fuel: u64,
    pub prints: Vec<String>,
    /// Position of the block in the order of blocks.
    pub position: u64,
    /// Warps in the order in which they get their turns.
    order: Vec<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    Finished,
    /// Its turn is over, or it polls for something.
    Unfinished,
    Halted,
}

impl Resident {
    pub fn new(ctx: &Context) -> Self {
        let warps = ctx.threads.div_ceil(32);
        Resident {
            block: 0,
            warps: (0..warps).map(|n| warp(ctx, n)).collect(),
            shared: vec![0; ctx.shared_words() + 40],
            barriers: vec![Barrier::default(); 16],
            shadow: BlockState::default(),
            fuel: 0,
            prints: vec![],
            position: 0,
            order: vec![],
        }
    }

    /// Bytes of state, for the limit on blocks held at once.
    pub fn bytes(ctx: &Context) -> u64 {
        let p = ctx.program;
        let frame = p.functions.first().map_or(0, |f| u64::from(f.frame));
        let warp = 128 * u64::from(p.r) + 256 * u64::from(p.q) + 4 * u64::from(p.p) + 32 * frame;
        u64::from(ctx.threads.div_ceil(32)) * warp + 4 * u64::from(ctx.shared_bytes)
    }

    /// Makes this the state of a new block.
    pub fn begin(&mut self, ctx: &mut Context, block: u64, check: bool) {
        self.block = block;
        let seed = ctx.options.order;
        if self.order.is_empty() || seed > 1 {
            // Mixed orders differ from block to block.
            let seed = if seed < 2 { seed } else { seed.wrapping_add(block).max(2) };
            let order = Permutation::new(seed, self.warps.len() as u64);
            self.order.clear();
            self.order.extend((0..self.warps.len() as u64).map(|n| order.at(n) as usize));
        }
        self.fuel = ctx.options.limits.block_steps;
        self.shared.iter_mut().for_each(|w| *w = 0);
        self.barriers.iter_mut().for_each(Barrier::clear);
        let frame = ctx.program.functions.first().map_or(0, |f| f.frame);
        let count = ctx.threads;
        for w in &mut self.warps {
            let lanes = count - (32 * w.index).min(count);
            w.reset(lanes, frame, &ctx.unset);
            w.clock = 0;
            w.groups[0].pc = ctx.program.functions.first().map_or(0, |f| f.entry);
            let index = ctx.block_index(block);
            for (register, axis, wide) in &ctx.block_registers {
                let value = index[usize::from(*axis)];
                if *wide {
                    w.q[usize::from(*register)] = [u64::from(value); 32];
                } else {
                    w.r[usize::from(*register)] = [value; 32];
                }
            }
        }
        if check {
            self.swap(ctx);
            let reserved = ctx.reserved.start as usize / 4..ctx.reserved.end as usize / 4;
            ctx.shadow.begin_block(block, self.warps.len(), count, ctx.shared_words() + 8, reserved);
            self.swap(ctx);
        }
    }

    /// Puts the block's parts into the context, or takes them out again.
    fn swap(&mut self, ctx: &mut Context) {
        std::mem::swap(&mut self.shared, &mut ctx.shared);
        std::mem::swap(&mut self.barriers, &mut ctx.barriers);
        std::mem::swap(&mut self.shadow, &mut ctx.shadow.block);
        std::mem::swap(&mut self.fuel, &mut ctx.fuel);
        std::mem::swap(&mut self.prints, &mut ctx.prints);
        ctx.block = self.block;
    }

    /// Runs until the block ends, or for about `quantum` instructions, or until all its threads only poll.
    pub fn run(&mut self, ctx: &mut Context, level: Level, instance: Instance, quantum: u64) -> Progress {
        self.swap(ctx);
        if instance == Instance::Full {
            ctx.shadow.resume_block();
        }
        let progress = self.turn(ctx, level, instance, quantum);
        self.swap(ctx);
        progress
    }

    fn turn(&mut self, ctx: &mut Context, level: Level, instance: Instance, quantum: u64) -> Progress {
        let check = instance == Instance::Full;
        let start = ctx.fuel;
        // What other blocks of the same worker did must not show.
        (ctx.yields, ctx.polls, ctx.makes_way) = (0, 0, false);
        loop {
            let mut ran = false;
            for at in &self.order {
                let Some(w) = self.warps.get_mut(*at) else { continue };
                ran |= run(level, instance, ctx, w, WARP_TURN);
                if ctx.halt.is_some() {
                    return Progress::Halted;
                }
                if ctx.fuel == 0 {
                    self.endless(ctx);
                    return Progress::Halted;
                }
            }
            if !ctx.released.is_empty() && barrier::release(ctx, &mut self.warps, check) {
                ran = true;
            }
            if self.warps.iter().all(|w| w.groups.is_empty()) {
                self.warps.iter_mut().for_each(super::exec::async_copy::abandon);
                return Progress::Finished;
            }
            if !ran && !self.unblock(ctx) {
                return Progress::Halted;
            }
            // A block whose threads only poll waits for another block.
            let polls = quantum != u64::MAX && ctx.yields > 4 * self.warps.len() as u32;
            if polls || ctx.makes_way || start - ctx.fuel >= quantum {
                return Progress::Unfinished;
            }
        }
    }

    /// Nothing can run: lanes that wait for others of their warp go on without them, or it is a deadlock.
    fn unblock(&mut self, ctx: &mut Context) -> bool {
        for w in &mut self.warps {
            warp_ops::settle(w, &ctx.program.code);
            if w.groups.iter().any(|g| g.state == State::Ready) {
                return true;
            }
        }
        for w in &mut self.warps {
            if warp_ops::force(w) {
                return true;
            }
        }
        self.deadlock(ctx);
        false
    }

    fn deadlock(&mut self, ctx: &mut Context) {
        ctx.halt = Some(Halt::Deadlock);
        for w in &self.warps {
            for g in &w.groups {
                let thread = 32 * w.index + g.mask.trailing_zeros();
                let count = u64::from(g.mask.count_ones());
                let State::AtBarrier(id) = g.state else { continue };
                let elsewhere = w.live() & !g.mask;
                // Parts of a warp at different barriers: the barrier is divergent, which explains the deadlock.
                if elsewhere != 0 {
                    ctx.report_many(Kind::DivergentBarrier, g.pc, thread, count, None, || {
                        format!("lanes {elsewhere:#010x} of the warp are not here")
                    });
                }
                ctx.report_many(Kind::Deadlock, g.pc, thread, count, None, || {
                    format!("waits at barrier {id}, which never becomes complete")
                });
            }
        }
    }

    /// The budget is used up: the places where threads are.
    fn endless(&mut self, ctx: &mut Context) {
        ctx.halt = Some(Halt::EndlessLoop);
        let limit = ctx.options.limits.block_steps;
        for w in &self.warps {
            for g in w.groups.iter().filter(|g| g.state == State::Ready) {
                let thread = 32 * w.index + g.mask.trailing_zeros();
                let count = u64::from(g.mask.count_ones());
                ctx.report_many(Kind::EndlessLoop, g.pc, thread, count, None, || {
                    format!("still running after {limit} warp instructions of the block")
                });
            }
        }
    }
}

/// A warp with the registers that hold constants and special values.
fn warp(ctx: &Context, index: u32) -> Warp {
    let program = ctx.program;
    let mut w = Warp::new(program, index);
    for (register, value) in &program.values32 {
        w.r[usize::from(*register)] = row(ctx, index, *value).map(|v| v as u32);
    }
    for (register, value) in &program.values64 {
        w.q[usize::from(*register)] = row(ctx, index, *value);
    }
    w
}

/// Registers that hold the block index: register, axis, 64-bit.
pub(crate) fn block_registers(program: &crate::ptx::decode::program::Program) -> Vec<(u16, u8, bool)> {
    let axis = |value: &Value| match value {
        Value::Special(Special::Ctaid(axis)) => Some(*axis),
        _ => None,
    };
    let narrow = program.values32.iter().filter_map(|(r, v)| axis(v).map(|a| (*r, a, false)));
    let wide = program.values64.iter().filter_map(|(r, v)| axis(v).map(|a| (*r, a, true)));
    narrow.chain(wide).collect()
}

fn row(ctx: &Context, warp: u32, value: Value) -> [u64; 32] {
    let special = match value {
        Value::Bits(bits) => return [bits; 32],
        Value::Variable(index, offset) => {
            let base = ctx.program.variables.get(usize::from(index)).map_or(0, |v| match v.space {
                crate::ptx::ast::Space::Shared => u64::from(ctx.dynamic_offset),
                _ => ctx.memory.symbol(&v.name).and_then(|id| ctx.memory.address(id).ok()).unwrap_or(0),
            });
            return [base.wrapping_add(offset as u64); 32];
        }
        Value::Special(special) => special,
    };
    let mut out = [0; 32];
    for (lane, out) in out.iter_mut().enumerate() {
        let thread = ctx.thread_index(32 * warp + lane as u32);
        let bit = 1u32 << lane;
        *out = u64::from(match special {
            Special::Tid(axis) => thread[usize::from(axis)],
            Special::Ntid(axis) => ctx.launch.block[usize::from(axis)],
            Special::Nctaid(axis) => ctx.launch.grid[usize::from(axis)],
            Special::Lane => lane as u32,
            Special::Warp => warp,
            Special::Warps => ctx.threads.div_ceil(32),
            Special::MaskEq => bit,
            Special::MaskLt => bit - 1,
            Special::MaskLe => bit | (bit - 1),
            Special::MaskGt => !(bit | (bit - 1)),
            Special::MaskGe => !(bit - 1),
            Special::DynamicShared => ctx.launch.dynamic_shared,
            Special::TotalShared => ctx.shared_bytes,
            Special::ReservedShared => ctx.reserved.start,
            Special::Workspace(half) => (ctx.memory.workspace() >> (32 * half)) as u32,
            // Set when a block begins.
            Special::Ctaid(_) | Special::Zero => 0,
        });
    }
    out
}

/// Whether a program can see other blocks while they run.
pub(crate) fn communicates(ctx: &Context) -> Option<&'static str> {
    let traits = ctx.program.traits;
    if ctx.program.is_cooperative() {
        return Some(
            "the grid synchronises itself: all its blocks are under way at once, as a cooperative launch has it",
        );
    }
    if traits.ordered_atomics {
        return Some("atomics on global memory whose order can be seen");
    }
    if traits.volatile_global {
        return Some("volatile or ordered accesses of global memory");
    }
    if ctx.program.uses(Op::Nanosleep) {
        return Some("threads that sleep");
    }
    None
}
