//! Order of accesses to global memory.

use std::sync::atomic::Ordering::Relaxed;

use super::{MANY, SHIFT, Shadow, THREAD, Verdict};
use crate::ptx::machine::memory::Allocation;

impl Shadow {
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
}
