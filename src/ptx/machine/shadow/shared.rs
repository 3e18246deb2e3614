//! Order of accesses to shared memory.

use super::{BlockState, MANY, SHIFT, SPLIT, Shadow, SharedVerdict, THREAD, Tags, Verdict};

impl Shadow {
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
}
