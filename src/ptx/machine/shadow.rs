//! Order of accesses: who last wrote and read each word, and what lies between.
//!
//! Time is counted in *segments*: a new one begins with each block and its every turn, each barrier of a block, each
//! `bar.warp.sync` and each fence. A tag holds a segment, two bits of what the access was, and a thread
//! (`segment << 12 | bits << 10 | thread`). Two accesses of one block are ordered if the first lies before the block's last
//! barrier, or, in one warp, before the warp's last `bar.warp.sync`; and any two if a release pattern of the first thread
//! and an acquire pattern of the second lie between (`order`). Barriers among parts of a block count for all of it:
//! that may hide a race, it never invents one.
//!
//! Unordered accesses of one place, one of them a write, are a race unless both are strong: relaxed, acquire, release,
//! atomic, or volatile, which PTX takes for relaxed. Volatile accesses by lanes of one warp are reported all the same:
//! code that exchanges values so relies on lanes in step, and has been wrong since Volta.
//!
//! Workers that run blocks in parallel number segments on their own. They share the tags of global memory, but whatever
//! two workers both touch, one of them writing, makes the launch run again in order (`touched`).

mod global;
mod order;
mod parts;
mod shared;

use std::collections::HashMap;

use super::launch::Launch;
pub(crate) use global::WHOLE;
pub(crate) use order::Sync;
use order::{BlockOrder, Order, Stand};

/// Of readers: several threads read in this segment or before.
const MANY: u32 = 1 << 10;
/// Of readers: none of them weak.
const STRONG_READ: u32 = 1 << 11;
/// Of writers: what the write was.
const WRITER: u32 = 3 << 10;
const STRONG: u32 = 1 << 10;
const VOLATILE: u32 = 2 << 10;
/// Strong writes of several threads.
const STRONG_MANY: u32 = 3 << 10;
const THREAD: u32 = (1 << 10) - 1;
const SHIFT: u32 = 12;
/// The last segment; from there on races are no longer looked for.
pub(crate) const LAST: u32 = (1 << (32 - SHIFT)) - 2;
/// Bytes of this word were accessed apart; a table has their tags.
const SPLIT: u32 = u32::MAX;

/// What the memory model takes an access for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strength {
    Weak,
    /// A weak read whose value only goes into a compare-and-swap, which finds out if it was stale.
    Tentative,
    Volatile,
    /// Relaxed or more.
    Strong,
    /// Reads what the last write left, and so comes after it and all that it came after.
    Atomic,
}

impl Strength {
    /// Whether two such accesses are no race.
    pub fn is_strong(self) -> bool {
        matches!(self, Strength::Volatile | Strength::Strong | Strength::Atomic)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Fine,
    /// With a write.
    Race,
    RaceWithRead,
    /// Of volatile accesses in one warp.
    InStep,
    /// A tentative read of what atomics write.
    Tentative,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SharedVerdict {
    pub race: Verdict,
    pub undefined: bool,
    pub unfinished: bool,
}

/// Tags of one word, or of one byte of a split word.
#[derive(Debug, Clone, Copy, Default)]
struct Tags {
    writer: u32,
    first_reader: u32,
    last_reader: u32,
}

/// The state of one block.
#[derive(Debug, Default)]
pub(crate) struct BlockState {
    /// First segment of the block, of its last barrier, and by warp of its last `bar.warp.sync`.
    first: u32,
    base: u32,
    warps: Vec<u32>,
    writers: Vec<u32>,
    first_readers: Vec<u32>,
    last_readers: Vec<u32>,
    parts: HashMap<u32, [Tags; 4]>,
    /// Words that an asynchronous copy is still to write: how many copies.
    pub in_flight: HashMap<u32, u32>,
    block: u32,
    order: BlockOrder,
}

#[derive(Debug, Default)]
pub(crate) struct Shadow {
    pub block: BlockState,
    launch_first: u32,
    current: u32,
    /// Block of each segment from `launch_first` on.
    owners: Vec<u32>,
    /// Blocks take turns: a segment between two of a block may belong to another.
    interleaved: bool,
    /// The program has fences or accesses that acquire or release.
    synchronises: bool,
    order: Order,
    /// Tags of bytes of global words that have no short form: writers, and readers.
    split: [HashMap<u64, [u32; 4]>; 2],
    /// Segments ran out.
    pub exhausted: bool,
    /// The other access of the last verdict.
    other: (u32, u32),
}

impl Shadow {
    pub fn new(first: u32, synchronises: bool) -> Self {
        let first = first.max(1);
        Shadow { launch_first: first, current: first, owners: vec![u32::MAX], synchronises, ..Shadow::default() }
    }

    /// The segment after the last used one.
    pub fn end(&self) -> u32 {
        self.current + 1
    }

    fn next(&mut self) -> u32 {
        if self.current >= LAST {
            self.exhausted = true;
            return self.current;
        }
        self.current += 1;
        self.owners.push(self.block.block);
        self.current
    }

    /// `reserved`: words that count as written before the block began.
    pub fn begin_block(
        &mut self,
        block: u64,
        warps: usize,
        threads: u32,
        shared_words: usize,
        reserved: std::ops::Range<usize>,
    ) {
        self.block.block = block as u32;
        self.block.in_flight.clear();
        self.block.order.begin(threads);
        // What stands for parts of a word means nothing to the next block.
        for word in self.block.parts.keys() {
            if let Some(writer) = self.block.writers.get_mut(*word as usize) {
                *writer = 0;
            }
        }
        self.block.parts.clear();
        let first = self.next();
        self.block.first = first;
        // Tags of earlier blocks are older than `first`, so they need no clearing.
        for tags in [&mut self.block.writers, &mut self.block.first_readers, &mut self.block.last_readers] {
            tags.resize(shared_words + 32, 0);
        }
        let base = if reserved.is_empty() { first } else { self.next() };
        self.block.base = base;
        self.block.warps.clear();
        self.block.warps.resize(warps, base);
        for tag in self.block.writers.get_mut(reserved).unwrap_or(&mut []) {
            *tag = first << SHIFT;
        }
    }

    /// The block goes on after others ran.
    pub fn resume_block(&mut self) {
        if self.owners.last() != Some(&self.block.block) {
            self.interleaved = true;
            self.next();
        }
    }

    /// A barrier of the block was passed.
    pub fn barrier(&mut self) {
        let now = self.next();
        self.block.base = now;
        self.block.warps.iter_mut().for_each(|w| *w = now);
        self.block.order.barrier(self.block.block);
    }

    /// Lanes of a warp met at a `bar.warp.sync`.
    pub fn warp_sync(&mut self, warp: u32, lanes: u32) {
        let now = self.next();
        if let Some(base) = self.block.warps.get_mut(warp as usize) {
            *base = now;
        }
        self.block.order.meet(warp, lanes);
    }

    fn stand(&self, thread: u32) -> Stand {
        let warp = self.block.warps.get(thread as usize / 32).copied().unwrap_or(0);
        Stand { block: self.block.block, thread, base: self.block.base, warp, now: self.current }
    }

    /// A fence by lanes of a warp; `wide` beyond the block.
    pub fn fence(&mut self, warp: u32, lanes: u32, wide: bool) {
        if !self.synchronises {
            return;
        }
        for lane in (0..32).filter(|lane| lanes >> lane & 1 != 0) {
            let at = self.stand(32 * warp + lane);
            self.block.order.fence(at, wide);
        }
        self.next();
    }

    /// A strong access of a word of global memory, before its tags are looked at.
    #[inline]
    pub fn strong_global(&mut self, place: u64, thread: u32, how: Sync) {
        if self.synchronises {
            let at = self.stand(thread);
            self.order.global(place, &mut self.block.order, at, how);
        }
    }

    /// The same of shared memory, by byte offset.
    #[inline]
    pub fn strong_shared(&mut self, offset: u32, thread: u32, how: Sync) {
        if self.synchronises {
            let at = self.stand(thread);
            self.block.order.shared(u64::from(offset / 4), at, how);
        }
    }

    /// After an instruction that released: what comes later is not released by it.
    pub fn released(&mut self) {
        if self.synchronises {
            self.next();
        }
    }

    #[inline(always)]
    fn tag(&self, thread: u32) -> u32 {
        self.current << SHIFT | thread
    }

    /// Whether an earlier access of this block is unordered with one of `thread`. `many`: others than the thread of the
    /// tag did the same; that they come before is taken from the tag's thread.
    fn unordered(&self, tag: u32, many: bool, thread: u32) -> bool {
        let (segment, other) = (tag >> SHIFT, tag & THREAD);
        if segment < self.block.base || (other == thread && !many) {
            return false;
        }
        if other / 32 == thread / 32 && segment < self.block.warps.get(thread as usize / 32).copied().unwrap_or(0) {
            return false;
        }
        !self.synchronises || !self.block.order.knows(thread, self.block.block, other, segment)
    }

    /// The same for an access of any block.
    fn unordered_global(&self, tag: u32, many: bool, thread: u32) -> bool {
        let segment = tag >> SHIFT;
        if segment < self.launch_first {
            return false;
        }
        let Some(&owner) = self.owners.get((segment - self.launch_first) as usize) else { return true };
        if owner == self.block.block {
            return self.unordered(tag, many, thread);
        }
        !self.synchronises || !self.block.order.knows(thread, owner, tag & THREAD, segment)
    }

    fn owner(&self, tag: u32) -> u32 {
        let segment = (tag >> SHIFT).wrapping_sub(self.launch_first);
        self.owners.get(segment as usize).copied().unwrap_or(u32::MAX)
    }

    /// Words for the other access of the last race.
    pub fn describe_other(&self, launch: &Launch) -> String {
        let (tag, block) = self.other;
        let thread = tag & THREAD;
        let [x, y, _] = launch.block;
        let thread = [thread % x, thread / x % y, thread / x / y];
        let [gx, gy, _] = launch.grid.map(u64::from);
        let block = u64::from(block);
        let block = [block % gx, block / gx % gy, block / gx / gy];
        format!("the other: block {block:?} thread {thread:?}")
    }
}

/// Whether a writer's tag stands for writes of several threads.
fn many_writers(tag: u32) -> bool {
    tag & WRITER == STRONG_MANY
}

/// Whether a reader's tag stands for reads of several threads.
fn many_readers(tag: u32) -> bool {
    tag & MANY != 0
}
