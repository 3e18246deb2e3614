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

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;

use super::launch::Launch;
use super::memory::Allocation;

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

    fn word(&self, word: usize) -> Tags {
        Tags {
            writer: self.block.writers[word],
            first_reader: self.block.first_readers[word],
            last_reader: self.block.last_readers[word],
        }
    }

    fn set_word(&mut self, word: usize, tags: Tags) {
        self.block.writers[word] = tags.writer;
        self.block.first_readers[word] = tags.first_reader;
        self.block.last_readers[word] = tags.last_reader;
    }

    fn read_tags(&mut self, tags: &mut Tags, thread: u32, strong: bool, verdict: &mut SharedVerdict) {
        if tags.writer >> SHIFT < self.block.first {
            verdict.undefined = true;
        } else if !strong && self.unordered(tags.writer, thread) {
            verdict.race = Verdict::Race;
            self.other = (tags.writer, self.block.block);
        }
        if strong {
            return;
        }
        let mine = self.tag(thread);
        if tags.first_reader >> SHIFT < self.block.base {
            (tags.first_reader, tags.last_reader) = (mine, mine);
        } else if (tags.first_reader ^ mine) & THREAD != 0 {
            tags.last_reader = mine;
        } else {
            tags.first_reader = tags.first_reader.max(mine);
        }
    }

    fn write_tags(&mut self, tags: &mut Tags, thread: u32, strong: bool, verdict: &mut SharedVerdict) {
        if !strong {
            if self.unordered(tags.writer, thread) {
                verdict.race = Verdict::Race;
                self.other = (tags.writer, self.block.block);
            } else {
                for reader in [tags.first_reader, tags.last_reader] {
                    if verdict.race == Verdict::Fine && self.unordered(reader, thread) {
                        verdict.race = Verdict::RaceWithRead;
                        self.other = (reader, self.block.block);
                    }
                }
            }
        }
        tags.writer = self.tag(thread);
    }

    fn shared_access(&mut self, offset: u32, size: u32, thread: u32, strong: bool, write: bool) -> SharedVerdict {
        let mut verdict = SharedVerdict { race: Verdict::Fine, undefined: false, unfinished: false };
        let strong = strong || self.exhausted;
        let last = (offset + size).div_ceil(4) as usize;
        for word in offset as usize / 4..last.min(self.block.writers.len()) {
            if !self.block.in_flight.is_empty() && self.block.in_flight.contains_key(&(word as u32)) {
                verdict.unfinished = true;
            }
            let split = self.block.writers[word] == SPLIT && self.block.parts.contains_key(&(word as u32));
            if size >= 4 && !split {
                let mut tags = self.word(word);
                if write {
                    self.write_tags(&mut tags, thread, strong, &mut verdict);
                } else {
                    self.read_tags(&mut tags, thread, strong, &mut verdict);
                }
                self.set_word(word, tags);
                continue;
            }
            let whole = self.word(word);
            let mut parts = if split { self.block.parts[&(word as u32)] } else { [whole; 4] };
            let bytes = if size >= 4 { 0..4 } else { offset as usize % 4..(offset + size - 1) as usize % 4 + 1 };
            for part in &mut parts[bytes] {
                if write {
                    self.write_tags(part, thread, strong, &mut verdict);
                } else {
                    self.read_tags(part, thread, strong, &mut verdict);
                }
            }
            self.block.writers[word] = SPLIT;
            self.block.parts.insert(word as u32, parts);
        }
        verdict
    }

    pub fn shared_read(&mut self, offset: u32, size: u32, thread: u32, strong: bool) -> SharedVerdict {
        self.shared_access(offset, size, thread, strong, false)
    }

    pub fn shared_write(&mut self, offset: u32, size: u32, thread: u32, strong: bool) -> SharedVerdict {
        self.shared_access(offset, size, thread, strong, true)
    }

    /// An atomic or mbarrier operation: it leaves a tag that only plain accesses can conflict with.
    pub fn shared_atomic(&mut self, offset: u32, size: u32, thread: u32) -> SharedVerdict {
        let mut verdict = SharedVerdict { race: Verdict::Fine, undefined: false, unfinished: false };
        for word in offset as usize / 4..((offset + size).div_ceil(4) as usize).min(self.block.writers.len()) {
            let mut tags = self.word(word);
            if tags.writer == SPLIT && self.block.parts.contains_key(&(word as u32)) {
                continue;
            }
            if tags.writer >> SHIFT < self.block.first {
                verdict.undefined = true;
            }
            if tags.writer & MANY == 0 && !self.exhausted {
                self.write_tags(&mut tags, thread, false, &mut verdict);
            }
            // `many` on a writer tag: an atomic.
            tags.writer = self.tag(thread) | MANY;
            self.set_word(word, tags);
        }
        verdict
    }

    /// The same for global memory.
    pub fn global_atomic(&mut self, a: &Allocation, word: usize, thread: u32) -> Verdict {
        if self.exhausted {
            return Verdict::Fine;
        }
        let Some(writer) = Allocation::tags(&a.writers, a.words.len()).get(word) else { return Verdict::Fine };
        let tag = writer.load(Relaxed);
        let mut verdict = Verdict::Fine;
        if tag & MANY == 0 && self.global_unordered(tag, thread) {
            self.other = (tag, self.owner(tag));
            verdict = Verdict::Race;
        } else if let Some(tag) = a.readers.get().and_then(|r| r.get(word)).map(|r| r.load(Relaxed))
            && self.global_unordered(tag, thread)
        {
            self.other = (tag, self.owner(tag));
            verdict = Verdict::RaceWithRead;
        }
        writer.store(self.tag(thread) | MANY, Relaxed);
        verdict
    }

    /// Threads `thread ..+ N` read words `first ..+ N`. False: look at each.
    #[inline(always)]
    pub fn shared_row_read<const N: usize>(&mut self, first: usize, thread: u32) -> bool {
        if self.exhausted || !self.block.in_flight.is_empty() {
            return false;
        }
        let (low, high) = (self.block.first << SHIFT, self.block.base << SHIFT);
        let range = first..first + N;
        let mine = self.current << SHIFT | thread;
        let BlockState { writers, first_readers, last_readers, .. } = &mut self.block;
        let Some(writers) = writers.get(range.clone()).and_then(|w| w.first_chunk::<N>()) else { return false };
        let mut fine = true;
        for tag in writers {
            fine &= tag.wrapping_sub(low) < high - low;
        }
        if !fine {
            return false;
        }
        let (Some(firsts), Some(lasts)) = (first_readers.get_mut(range.clone()), last_readers.get_mut(range)) else {
            return false;
        };
        let (Some(firsts), Some(lasts)) = (firsts.first_chunk_mut::<N>(), lasts.first_chunk_mut::<N>()) else {
            return false;
        };
        for lane in 0..N {
            let tag = mine + lane as u32;
            let stale = firsts[lane] < high;
            let other = (firsts[lane] ^ tag) & THREAD != 0;
            firsts[lane] = if stale { tag } else { firsts[lane] };
            lasts[lane] = if stale || other { tag } else { lasts[lane] };
        }
        true
    }

    /// Threads `from ..= to` of one warp read one word. False: look at each.
    #[inline(always)]
    pub fn shared_broadcast(&mut self, word: usize, from: u32, to: u32) -> bool {
        if self.exhausted || !self.block.in_flight.is_empty() {
            return false;
        }
        let (low, high) = (self.block.first << SHIFT, self.block.base << SHIFT);
        let (from, to) = (self.tag(from), self.tag(to));
        let BlockState { writers, first_readers, last_readers, .. } = &mut self.block;
        let (Some(writer), Some(first), Some(last)) =
            (writers.get(word), first_readers.get_mut(word), last_readers.get_mut(word))
        else {
            return false;
        };
        if writer.wrapping_sub(low) >= high - low {
            return false;
        }
        if *first < high {
            (*first, *last) = (from, to);
        } else {
            *last = if (*first ^ to) & THREAD != 0 { to } else { from };
        }
        true
    }

    #[inline(always)]
    pub fn shared_row_write(&mut self, first: usize, thread: u32) -> bool {
        if self.exhausted || !self.block.in_flight.is_empty() {
            return false;
        }
        let high = self.block.base << SHIFT;
        let range = first..first + 32;
        let mine = self.current << SHIFT | thread;
        let BlockState { writers, first_readers, last_readers, .. } = &mut self.block;
        let (Some(writers), Some(firsts), Some(lasts)) =
            (writers.get_mut(range.clone()), first_readers.get(range.clone()), last_readers.get(range))
        else {
            return false;
        };
        let (Some(writers), Some(firsts), Some(lasts)) =
            (writers.first_chunk_mut::<32>(), firsts.first_chunk::<32>(), lasts.first_chunk::<32>())
        else {
            return false;
        };
        let mut greatest = 0;
        for lane in 0..32 {
            greatest = greatest.max(writers[lane]).max(firsts[lane]).max(lasts[lane]);
        }
        if greatest >= high {
            return false;
        }
        for (lane, writer) in writers.iter_mut().enumerate() {
            *writer = mine + lane as u32;
        }
        true
    }

    /// Marks words that a copy in flight will write.
    pub fn begin_copy(&mut self, offset: u32, bytes: u32) {
        for word in offset / 4..(offset + bytes).div_ceil(4) {
            *self.block.in_flight.entry(word).or_insert(0) += 1;
        }
    }

    pub fn end_copy(&mut self, offset: u32, bytes: u32) {
        for word in offset / 4..(offset + bytes).div_ceil(4) {
            if let Some(count) = self.block.in_flight.get_mut(&word) {
                *count -= 1;
                if *count == 0 {
                    self.block.in_flight.remove(&word);
                }
            }
        }
    }

    /// Whether an earlier access of global memory is unordered with one of `thread` in this block.
    fn global_unordered(&self, tag: u32, thread: u32) -> bool {
        let segment = tag >> SHIFT;
        if segment < self.launch_first {
            return false;
        }
        let Some(&(owner, released)) = self.owners.get((segment - self.launch_first) as usize) else { return true };
        if owner == self.block.block {
            return self.unordered(tag, thread);
        }
        released == 0 || released > self.block.acquired
    }

    fn owner(&self, tag: u32) -> u32 {
        let segment = (tag >> SHIFT).wrapping_sub(self.launch_first);
        self.owners.get(segment as usize).map_or(u32::MAX, |o| o.0)
    }

    /// The tag of a word after a read.
    #[inline(always)]
    fn reader(&self, old: u32, mine: u32) -> u32 {
        let segment = old >> SHIFT;
        let own = segment >= self.block.first;
        let stale = segment < self.launch_first || (own && segment < self.block.base);
        if stale {
            mine
        } else if own && (old ^ mine) & THREAD == 0 {
            mine | old & MANY
        } else {
            mine | MANY
        }
    }

    pub fn global_read(&mut self, allocation: &Allocation, word: usize, thread: u32) -> Verdict {
        if self.exhausted {
            return Verdict::Fine;
        }
        let count = allocation.words.len();
        let mut verdict = Verdict::Fine;
        if let Some(writers) = allocation.writers.get()
            && let Some(tag) = writers.get(word).map(|w| w.load(Relaxed))
            && self.global_unordered(tag, thread)
        {
            self.other = (tag, self.owner(tag));
            verdict = Verdict::Race;
        }
        if let Some(reader) = Allocation::tags(&allocation.readers, count).get(word) {
            reader.store(self.reader(reader.load(Relaxed), self.tag(thread)), Relaxed);
        }
        verdict
    }

    pub fn global_write(&mut self, a: &Allocation, word: usize, thread: u32, strong: bool, whole: bool) -> Verdict {
        if self.exhausted {
            return Verdict::Fine;
        }
        let count = a.words.len();
        let mut verdict = Verdict::Fine;
        let Some(writer) = Allocation::tags(&a.writers, count).get(word) else { return Verdict::Fine };
        if !strong && whole {
            let tag = writer.load(Relaxed);
            if self.global_unordered(tag, thread) {
                self.other = (tag, self.owner(tag));
                verdict = Verdict::Race;
            } else if let Some(tag) = a.readers.get().and_then(|r| r.get(word)).map(|r| r.load(Relaxed))
                && self.global_unordered(tag, thread)
            {
                self.other = (tag, self.owner(tag));
                verdict = Verdict::RaceWithRead;
            }
        }
        // A strong write or a write of a part cannot be told from others of its kind later: it leaves no tag that could
        // accuse a neighbour.
        writer.store(if strong || !whole { 0 } else { self.tag(thread) }, Relaxed);
        verdict
    }

    #[inline(always)]
    pub fn global_row_read<const N: usize>(&mut self, allocation: &Allocation, first: usize, thread: u32) -> bool {
        if self.exhausted {
            return true;
        }
        let (low, base) = (self.launch_first << SHIFT, self.block.base << SHIFT);
        let own = self.block.first << SHIFT;
        if let Some(writers) = allocation.writers.get() {
            let Some(row) = writers.get(first..first + N) else { return false };
            let mut fine = true;
            for tag in row {
                let tag = tag.load(Relaxed);
                fine &= tag < low || (tag >= own && tag < base);
            }
            if !fine {
                return false;
            }
        }
        let readers = Allocation::tags(&allocation.readers, allocation.words.len());
        let Some(row) = readers.get(first..first + N) else { return false };
        let mine = self.tag(thread);
        for (lane, reader) in row.iter().enumerate() {
            reader.store(self.reader(reader.load(Relaxed), mine + lane as u32), Relaxed);
        }
        true
    }

    #[inline(always)]
    pub fn global_row_write(&mut self, allocation: &Allocation, first: usize, thread: u32) -> bool {
        if self.exhausted {
            return true;
        }
        let (low, base) = (self.launch_first << SHIFT, self.block.base << SHIFT);
        let own = self.block.first << SHIFT;
        let ordered = |tag: u32| tag < low || (tag >= own && tag < base);
        let writers = Allocation::tags(&allocation.writers, allocation.words.len());
        let Some(row) = writers.get(first..first + 32) else { return false };
        let mut fine = true;
        for tag in row {
            fine &= ordered(tag.load(Relaxed));
        }
        if let Some(readers) = allocation.readers.get().and_then(|r| r.get(first..first + 32)) {
            for tag in readers {
                fine &= ordered(tag.load(Relaxed));
            }
        }
        if !fine {
            return false;
        }
        let mine = self.tag(thread);
        for (lane, writer) in row.iter().enumerate() {
            writer.store(mine + lane as u32, Relaxed);
        }
        true
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
