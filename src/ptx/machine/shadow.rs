//! Order of accesses: who last wrote and read each word, and whether a barrier lies between.
//!
//! Time is counted in *segments*: a new one begins with each block, each barrier of a block and each `bar.warp.sync`.
//! A tag holds a segment and a thread (`segment << 11 | many << 10 | thread`; `many`: further threads read as well).
//! Two accesses of one block are ordered if the first lies before the block's last barrier, or, in one warp, before the
//! warp's last `bar.warp.sync`. Accesses of two blocks are ordered if the first block made a device-wide fence after it
//! and the second has since read through an atomic or strong load. Barriers among parts of a block count for all of it:
//! that may hide a race, it never invents one.
//!
//! Workers that run blocks in parallel number segments on their own. They share the tags of global memory, but whatever
//! two workers both touch, one of them writing, makes the launch run again in order (`touched`).

mod global;
mod shared;

use std::collections::HashMap;

use super::launch::Launch;

const MANY: u32 = 1 << 10;
const THREAD: u32 = MANY - 1;
const SHIFT: u32 = 11;
/// The last segment; from there on races are no longer looked for.
const LAST: u32 = (1 << (32 - SHIFT)) - 2;
/// In the tags of shared memory: bytes of this word were written apart, `Shared::parts` has them.
const SPLIT: u32 = u32::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Fine,
    /// With a write.
    Race,
    RaceWithRead,
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
    /// Segments of the block that no fence has released.
    unreleased: Vec<u32>,
    acquired: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Shadow {
    pub block: BlockState,
    launch_first: u32,
    current: u32,
    /// Block of each segment from `launch_first` on, and when a fence released it (0: not).
    owners: Vec<(u32, u32)>,
    fences: u32,
    /// Segments ran out.
    pub exhausted: bool,
    /// The other access of the last verdict.
    other: (u32, u32),
}

impl Shadow {
    pub fn new(first: u32) -> Self {
        let first = if first >= LAST / 2 { 1 } else { first.max(1) };
        Shadow { launch_first: first, current: first, owners: vec![(u32::MAX, 0)], ..Shadow::default() }
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
        self.owners.push((self.block.block, 0));
        self.block.unreleased.push(self.current);
        self.current
    }

    pub fn begin_block(&mut self, block: u64, warps: usize, shared_words: usize) {
        self.block.block = block as u32;
        self.block.unreleased.clear();
        self.block.acquired = 0;
        self.block.in_flight.clear();
        // What stands for parts of a word means nothing to the next block.
        for word in self.block.parts.keys() {
            if let Some(writer) = self.block.writers.get_mut(*word as usize) {
                *writer = 0;
            }
        }
        self.block.parts.clear();
        let first = self.next();
        self.block.first = first;
        self.block.base = first;
        self.block.warps.clear();
        self.block.warps.resize(warps, first);
        // Tags of earlier blocks are older than `first`, so they need no clearing.
        for tags in [&mut self.block.writers, &mut self.block.first_readers, &mut self.block.last_readers] {
            tags.resize(shared_words + 32, 0);
        }
    }

    /// A barrier of the block was passed.
    pub fn barrier(&mut self) {
        let now = self.next();
        self.block.base = now;
        self.block.warps.iter_mut().for_each(|w| *w = now);
    }

    pub fn warp_sync(&mut self, warp: u32) {
        let now = self.next();
        if let Some(base) = self.block.warps.get_mut(warp as usize) {
            *base = now;
        }
    }

    /// A device-wide fence: what the block did before is released.
    pub fn fence(&mut self) {
        self.fences += 1;
        for segment in std::mem::take(&mut self.block.unreleased) {
            if let Some(owner) = self.owners.get_mut((segment - self.launch_first) as usize) {
                owner.1 = self.fences;
            }
        }
        self.next();
    }

    /// An atomic or strong load: what others released is seen.
    pub fn acquire(&mut self) {
        self.block.acquired = self.fences;
    }

    #[inline(always)]
    fn tag(&self, thread: u32) -> u32 {
        self.current << SHIFT | thread
    }

    /// Whether an earlier access of this block is unordered with one of `thread`.
    #[inline(always)]
    fn unordered(&self, tag: u32, thread: u32) -> bool {
        let segment = tag >> SHIFT;
        if segment < self.block.base {
            return false;
        }
        let other = tag & THREAD;
        let same_warp = other / 32 == thread / 32;
        (other != thread || tag & MANY != 0)
            && !(same_warp && segment < self.block.warps.get(thread as usize / 32).copied().unwrap_or(0))
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
