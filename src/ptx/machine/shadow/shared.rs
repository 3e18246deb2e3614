//! Order of accesses to shared memory.

use super::*;

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

    /// Whether an access is one of another lane of the warp that nothing orders before.
    fn in_step_shared(&self, tag: u32, thread: u32) -> bool {
        let other = tag & THREAD;
        other != thread && other / 32 == thread / 32 && self.unordered(tag, false, thread)
    }

    /// An access against the last write.
    fn judge_shared(&self, writer: u32, thread: u32, how: Strength) -> Verdict {
        let kind = writer & WRITER;
        if kind != 0 && how.is_strong() {
            let both = kind == VOLATILE && how == Strength::Volatile;
            return if both && self.in_step_shared(writer, thread) { Verdict::InStep } else { Verdict::Fine };
        }
        match self.unordered(writer, many_writers(writer), thread) {
            true if kind & STRONG != 0 && how == Strength::Tentative => Verdict::Tentative,
            true => Verdict::Race,
            false => Verdict::Fine,
        }
    }

    fn read_tags(&mut self, tags: &mut Tags, thread: u32, how: Strength, verdict: &mut SharedVerdict) {
        if tags.writer >> SHIFT < self.block.first {
            verdict.undefined = true;
        } else if verdict.race == Verdict::Fine && !self.exhausted {
            verdict.race = self.judge_shared(tags.writer, thread, how);
            self.other = (tags.writer, self.block.block);
        }
        let strong = if how == Strength::Weak { 0 } else { STRONG_READ };
        let mine = self.tag(thread) | strong;
        let old = |tag: u32| !self.unordered(tag, true, thread);
        let same = |tag: u32| (tag ^ mine) & THREAD == 0;
        if old(tags.first_reader) {
            (tags.first_reader, tags.last_reader) = (mine, mine);
        } else if same(tags.first_reader) {
            tags.first_reader = mine & (tags.first_reader | !STRONG_READ);
        } else if same(tags.last_reader) && !old(tags.last_reader) {
            tags.last_reader = mine & (tags.last_reader | !STRONG_READ);
        } else if strong == 0 || tags.last_reader & STRONG_READ != 0 || old(tags.last_reader) {
            tags.last_reader = mine;
        }
    }

    fn write_tags(&mut self, tags: &mut Tags, thread: u32, how: Strength, verdict: &mut SharedVerdict) {
        if verdict.race == Verdict::Fine && !self.exhausted {
            verdict.race = match self.judge_shared(tags.writer, thread, how) {
                Verdict::Tentative => Verdict::Race,
                race => race,
            };
            self.other = (tags.writer, self.block.block);
            for reader in [tags.first_reader, tags.last_reader] {
                if verdict.race == Verdict::Fine {
                    verdict.race = self.judge_shared_after_read(reader, thread, how);
                    self.other = (reader, self.block.block);
                }
            }
        }
        let mine = self.tag(thread);
        tags.writer = match how {
            Strength::Volatile => mine | VOLATILE,
            Strength::Atomic => mine | STRONG,
            Strength::Strong => {
                let old = tags.writer;
                let other = old & THREAD != thread || old & WRITER == STRONG_MANY;
                let many = old & WRITER != 0 && other && self.unordered(old, true, thread);
                mine | if many { STRONG_MANY } else { STRONG }
            }
            _ => mine,
        };
    }

    fn judge_shared_after_read(&self, reader: u32, thread: u32, how: Strength) -> Verdict {
        let strong = how.is_strong();
        if strong && reader & STRONG_READ != 0 {
            let step = how == Strength::Volatile && self.in_step_shared(reader, thread);
            return if step { Verdict::InStep } else { Verdict::Fine };
        }
        if self.unordered(reader, false, thread) { Verdict::RaceWithRead } else { Verdict::Fine }
    }

    fn shared_access(&mut self, offset: u32, size: u32, thread: u32, how: Strength, write: bool) -> SharedVerdict {
        let mut verdict = SharedVerdict { race: Verdict::Fine, undefined: false, unfinished: false };
        let last = (offset + size).div_ceil(4) as usize;
        for word in offset as usize / 4..last.min(self.block.writers.len()) {
            if !self.block.in_flight.is_empty() && self.block.in_flight.contains_key(&(word as u32)) {
                verdict.unfinished = true;
            }
            let split = self.block.writers[word] == SPLIT && self.block.parts.contains_key(&(word as u32));
            if size >= 4 && !split {
                let mut tags = self.word(word);
                if write {
                    self.write_tags(&mut tags, thread, how, &mut verdict);
                } else {
                    self.read_tags(&mut tags, thread, how, &mut verdict);
                }
                self.set_word(word, tags);
                continue;
            }
            let whole = self.word(word);
            let mut parts = if split { self.block.parts[&(word as u32)] } else { [whole; 4] };
            let bytes = if size >= 4 { 0..4 } else { offset as usize % 4..(offset + size - 1) as usize % 4 + 1 };
            for part in &mut parts[bytes] {
                if write {
                    self.write_tags(part, thread, how, &mut verdict);
                } else {
                    self.read_tags(part, thread, how, &mut verdict);
                }
            }
            self.block.writers[word] = SPLIT;
            self.block.parts.insert(word as u32, parts);
        }
        verdict
    }

    pub fn shared_read(&mut self, offset: u32, size: u32, thread: u32, how: Strength) -> SharedVerdict {
        self.shared_access(offset, size, thread, how, false)
    }

    pub fn shared_write(&mut self, offset: u32, size: u32, thread: u32, how: Strength) -> SharedVerdict {
        self.shared_access(offset, size, thread, how, true)
    }

    /// An atomic: a strong write that reads before.
    pub fn shared_atomic(&mut self, offset: u32, size: u32, thread: u32) -> SharedVerdict {
        let first = self.block.first;
        let undefined = (offset..offset + size).any(|byte| {
            let word = byte / 4;
            match self.block.parts.get(&word) {
                Some(parts) => parts[byte as usize % 4].writer >> SHIFT < first,
                None => self.block.writers.get(word as usize).is_some_and(|w| *w >> SHIFT < first),
            }
        });
        SharedVerdict { undefined, ..self.shared_access(offset, size, thread, Strength::Atomic, true) }
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
        let (mut first, mut last) = (*firsts, *lasts);
        for lane in 0..N {
            let tag = mine + lane as u32;
            let stale = first[lane] < high;
            let same = (first[lane] ^ tag) & THREAD == 0;
            last[lane] = if stale | !same { tag } else { last[lane] };
            // The same thread reads again, weakly now.
            let kept = first[lane] & if same { !STRONG_READ } else { u32::MAX };
            first[lane] = if stale { tag } else { kept };
        }
        (*firsts, *lasts) = (first, last);
        true
    }

    /// Threads `thread ..+ 16` and the next 16 read the same 16 words. False: look at each.
    #[inline(always)]
    pub fn shared_row_twice(&mut self, first: usize, thread: u32) -> bool {
        if self.exhausted || !self.block.in_flight.is_empty() {
            return false;
        }
        let (low, high) = (self.block.first << SHIFT, self.block.base << SHIFT);
        let range = first..first + 16;
        let mine = self.current << SHIFT | thread;
        let BlockState { writers, first_readers, last_readers, .. } = &mut self.block;
        let (Some(writers), Some(firsts), Some(lasts)) =
            (writers.get(range.clone()), first_readers.get_mut(range.clone()), last_readers.get_mut(range))
        else {
            return false;
        };
        let (Some(writers), Some(firsts), Some(lasts)) =
            (writers.first_chunk::<16>(), firsts.first_chunk_mut::<16>(), lasts.first_chunk_mut::<16>())
        else {
            return false;
        };
        let mut fine = true;
        for tag in writers {
            fine &= tag.wrapping_sub(low) < high - low;
        }
        if !fine {
            return false;
        }
        let (mut first, mut last) = (*firsts, *lasts);
        for lane in 0..16 {
            let (one, two) = (mine + lane as u32, mine + 16 + lane as u32);
            let stale = first[lane] < high;
            let same = (first[lane] ^ one) & THREAD == 0 || (first[lane] ^ two) & THREAD == 0;
            let kept = first[lane] & if same { !STRONG_READ } else { u32::MAX };
            first[lane] = if stale { one } else { kept };
            last[lane] = if (first[lane] ^ two) & THREAD == 0 { one } else { two };
        }
        (*firsts, *lasts) = (first, last);
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
