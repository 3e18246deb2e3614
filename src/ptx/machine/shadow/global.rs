//! Order of accesses to global memory.

use std::sync::OnceLock;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU8, AtomicU32};

use super::parts::{compress, expand};
use super::*;
use crate::ptx::machine::memory::Allocation;

/// All bytes of a word.
pub(crate) const WHOLE: u8 = 15;

const WRITERS: usize = 0;
const READERS: usize = 1;

impl Shadow {
    /// A read of bytes of a word by `thread`.
    pub fn global_read(&mut self, a: &Allocation, word: usize, bytes: u8, thread: u32, how: Strength) -> Verdict {
        if self.exhausted {
            return Verdict::Fine;
        }
        let mut verdict = Verdict::Fine;
        if a.writers.get().is_some() {
            for (_, tag) in self.tags(a, WRITERS, word, bytes).into_iter().take_while(|(byte, _)| *byte < 4) {
                verdict = worse(verdict, self.judge_read(tag, thread, how));
            }
        }
        self.update(a, READERS, word, bytes, |s, old| s.note_read(old, thread, how));
        verdict
    }

    /// A write of bytes of a word; an atomic is a strong write.
    pub fn global_write(&mut self, a: &Allocation, word: usize, bytes: u8, thread: u32, how: Strength) -> Verdict {
        if self.exhausted {
            return Verdict::Fine;
        }
        let mut verdict = Verdict::Fine;
        if a.writers.get().is_some() {
            for (_, tag) in self.tags(a, WRITERS, word, bytes).into_iter().take_while(|(byte, _)| *byte < 4) {
                verdict = worse(verdict, self.judge_write(tag, thread, how));
            }
        }
        if verdict == Verdict::Fine && a.readers.get().is_some() {
            for (_, tag) in self.tags(a, READERS, word, bytes).into_iter().take_while(|(byte, _)| *byte < 4) {
                verdict = worse(verdict, self.judge_write_after_read(tag, thread, how));
            }
        }
        self.update(a, WRITERS, word, bytes, |s, old| s.note_write(old, thread, how));
        verdict
    }

    #[allow(clippy::type_complexity)]
    fn cells(a: &Allocation, which: usize) -> (&OnceLock<Box<[AtomicU32]>>, &OnceLock<Box<[AtomicU8]>>) {
        if which == WRITERS { (&a.writers, &a.writer_forms) } else { (&a.readers, &a.reader_forms) }
    }

    fn key(a: &Allocation, word: usize) -> u64 {
        a.base + 4 * word as u64
    }

    /// Bytes of a word with different tags; one entry if all have the same. Unused entries have byte 4.
    fn tags(&self, a: &Allocation, which: usize, word: usize, bytes: u8) -> [(u8, u32); 4] {
        let (tags, forms) = Self::cells(a, which);
        let mut list = [(4, 0); 4];
        let Some(tag) = tags.get().and_then(|t| t.get(word)).map(|t| t.load(Relaxed)) else { return list };
        let form = forms.get().and_then(|f| f.get(word)).map_or(0, |f| f.load(Relaxed));
        if tag != SPLIT && form == 0 {
            list[0] = (0, tag);
            return list;
        }
        let all = self.expanded(a, which, word, tag, form);
        for (to, byte) in list.iter_mut().zip((0..4).filter(|b| bytes >> b & 1 != 0)) {
            *to = (byte, all[usize::from(byte)]);
        }
        list
    }

    fn expanded(&self, a: &Allocation, which: usize, word: usize, tag: u32, form: u8) -> [u32; 4] {
        if tag != SPLIT {
            return expand(tag, form);
        }
        self.split[which].get(&Self::key(a, word)).copied().unwrap_or([0; 4])
    }

    fn update(&mut self, a: &Allocation, which: usize, word: usize, bytes: u8, note: impl Fn(&Self, u32) -> u32) {
        let (cell, forms) = Self::cells(a, which);
        let Some(slot) = Allocation::tags(cell, a.words.len()).get(word) else { return };
        let old = slot.load(Relaxed);
        let form = forms.get().and_then(|f| f.get(word)).map_or(0, |f| f.load(Relaxed));
        if bytes == WHOLE && old != SPLIT && form == 0 {
            slot.store(note(self, old), Relaxed);
            return;
        }
        let mut all = self.expanded(a, which, word, old, form);
        for (byte, tag) in all.iter_mut().enumerate() {
            if bytes >> byte & 1 != 0 {
                *tag = note(self, *tag);
            } else if *tag >> SHIFT < self.launch_first {
                *tag = 0;
            }
        }
        let short = compress(all);
        let (tag, form) = short.unwrap_or((SPLIT, 0));
        if old == SPLIT && short.is_some() {
            self.split[which].remove(&Self::key(a, word));
        } else if short.is_none() {
            self.split[which].insert(Self::key(a, word), all);
        }
        slot.store(tag, Relaxed);
        if (form != 0 || forms.get().is_some())
            && let Some(slot) = Allocation::forms(forms, a.words.len()).get(word)
        {
            slot.store(form, Relaxed);
        }
    }

    fn in_step(&self, tag: u32, thread: u32) -> bool {
        let other = tag & THREAD;
        other != thread
            && other / 32 == thread / 32
            && self.owner(tag) == self.block.block
            && self.unordered_global(tag, false, thread)
    }

    fn judge_read(&mut self, writer: u32, thread: u32, how: Strength) -> Verdict {
        let kind = writer & WRITER;
        let verdict = if kind != 0 && how.is_strong() {
            let both = kind == VOLATILE && how == Strength::Volatile;
            if both && self.in_step(writer, thread) { Verdict::InStep } else { Verdict::Fine }
        } else if self.unordered_global(writer, many_writers(writer), thread) {
            let atomic = kind == STRONG || kind == STRONG_MANY;
            if atomic && how == Strength::Tentative { Verdict::Tentative } else { Verdict::Race }
        } else {
            Verdict::Fine
        };
        if verdict != Verdict::Fine {
            self.other = (writer, self.owner(writer));
        }
        verdict
    }

    fn judge_write(&mut self, writer: u32, thread: u32, how: Strength) -> Verdict {
        // Against a writer a write is as strong as a read.
        match self.judge_read(writer, thread, how) {
            Verdict::Tentative => Verdict::Race,
            verdict => verdict,
        }
    }

    fn judge_write_after_read(&mut self, reader: u32, thread: u32, how: Strength) -> Verdict {
        let strong = how.is_strong();
        let verdict = if strong && reader & STRONG_READ != 0 {
            let step = how == Strength::Volatile && self.in_step(reader, thread);
            if step { Verdict::InStep } else { Verdict::Fine }
        } else if self.unordered_global(reader, many_readers(reader), thread) {
            Verdict::RaceWithRead
        } else {
            Verdict::Fine
        };
        if verdict != Verdict::Fine {
            self.other = (reader, self.owner(reader));
        }
        verdict
    }

    fn note_read(&self, old: u32, thread: u32, how: Strength) -> u32 {
        let strong = if how == Strength::Weak { 0 } else { STRONG_READ };
        let mine = self.tag(thread) | strong;
        // What came before this thread need not be kept.
        if !self.unordered_global(old, true, thread) {
            return mine;
        }
        let both = old | !STRONG_READ;
        let same = old & THREAD == thread && self.owner(old) == self.block.block;
        if same {
            return (mine | old & MANY) & both;
        }
        // A read by another block stays unordered with all that this one does; its own reads end at its next barrier.
        if self.owner(old) != self.block.block {
            return old & (mine | !STRONG_READ);
        }
        (mine | MANY) & both
    }

    fn note_write(&self, old: u32, thread: u32, how: Strength) -> u32 {
        let mine = self.tag(thread);
        match how {
            Strength::Volatile => mine | VOLATILE,
            Strength::Atomic => mine | STRONG,
            Strength::Strong => {
                let other =
                    old & THREAD != thread || self.owner(old) != self.block.block || old & WRITER == STRONG_MANY;
                let many = old & WRITER != 0 && other && self.unordered_global(old, true, thread);
                mine | if many { STRONG_MANY } else { STRONG }
            }
            _ => mine,
        }
    }

    /// The tag of a word after a weak read, where blocks do not take turns.
    #[inline(always)]
    fn reader(&self, old: u32, mine: u32) -> u32 {
        let segment = old >> SHIFT;
        let own = segment >= self.block.first;
        let stale = segment < self.launch_first || (own && segment < self.block.base);
        if stale {
            mine
        } else if !own {
            old & !STRONG_READ
        } else if (old ^ mine) & THREAD == 0 {
            mine | old & MANY
        } else {
            mine | MANY
        }
    }

    /// Threads `thread ..+ N` weakly read words `first ..+ N`. False: look at each.
    #[inline(always)]
    pub fn global_row_read<const N: usize>(&mut self, a: &Allocation, first: usize, thread: u32) -> bool {
        if self.exhausted {
            return true;
        }
        if self.interleaved || self.synchronises || a.writer_forms.get().is_some() || a.reader_forms.get().is_some() {
            return false;
        }
        let (low, base) = (self.launch_first << SHIFT, self.block.base << SHIFT);
        let own = self.block.first << SHIFT;
        if let Some(writers) = a.writers.get() {
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
        let readers = Allocation::tags(&a.readers, a.words.len());
        let Some(row) = readers.get(first..first + N) else { return false };
        let mine = self.tag(thread);
        // Nobody read them in this launch.
        if all_below(row, low) {
            for (lane, reader) in row.iter().enumerate() {
                reader.store(mine + lane as u32, Relaxed);
            }
            return true;
        }
        // Workers that read the same words must not take the tags from each other: what stays is not written.
        let (mut tags, mut changed) = ([0; N], 0);
        for (lane, (tag, reader)) in tags.iter_mut().zip(row).enumerate() {
            let old = reader.load(Relaxed);
            *tag = self.reader(old, mine + lane as u32);
            changed |= *tag ^ old;
        }
        if changed != 0 {
            row.iter().zip(tags).for_each(|(reader, tag)| reader.store(tag, Relaxed));
        }
        true
    }

    #[inline(always)]
    pub fn global_row_write(&mut self, a: &Allocation, first: usize, thread: u32) -> bool {
        if self.exhausted {
            return true;
        }
        if self.interleaved || a.writer_forms.get().is_some() || a.reader_forms.get().is_some() {
            return false;
        }
        let (low, base) = (self.launch_first << SHIFT, self.block.base << SHIFT);
        let own = self.block.first << SHIFT;
        let ordered = |tag: u32| tag < low || (tag >= own && tag < base);
        let writers = Allocation::tags(&a.writers, a.words.len());
        let Some(row) = writers.get(first..first + 32) else { return false };
        let mut fine = all_below(row, low) || row.iter().all(|tag| ordered(tag.load(Relaxed)));
        if let Some(readers) = a.readers.get().and_then(|r| r.get(first..first + 32)) {
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

/// Whether all tags are below `limit`: differences below zero have their top bit set.
#[inline(always)]
fn all_below(tags: &[AtomicU32], limit: u32) -> bool {
    let last = u64::from(limit).wrapping_sub(1);
    tags.iter().fold(0, |over, tag| over | last.wrapping_sub(u64::from(tag.load(Relaxed)))) >> 63 == 0
}

fn worse(a: Verdict, b: Verdict) -> Verdict {
    if a == Verdict::Fine { b } else { a }
}
