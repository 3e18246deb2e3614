//! One allocation of global memory: its words, which bytes were written, and the tags of who did what.
//!
//! Words are relaxed atomics, so that blocks on several threads can share them; on this path they cost plain moves.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering::Relaxed};

use super::undo::Undo;

pub(crate) struct Allocation {
    pub name: String,
    pub base: u64,
    pub bytes: u64,
    pub constant: bool,
    pub words: Box<[AtomicU32]>,
    /// One bit for each byte that holds a defined value.
    pub defined: Box<[AtomicU32]>,
    /// Last writer and readers of each word, for the race check; made at first use.
    pub writers: OnceLock<Box<[AtomicU32]>>,
    pub readers: OnceLock<Box<[AtomicU32]>>,
    /// What the tags say of the bytes of their words; made at the first access of a part of a word.
    pub writer_forms: OnceLock<Box<[AtomicU8]>>,
    pub reader_forms: OnceLock<Box<[AtomicU8]>>,
    /// What pages held before they were written; kept while several workers run.
    pub undo: Option<Undo>,
}

pub(super) fn zeros(count: usize) -> Box<[AtomicU32]> {
    (0..count).map(|_| AtomicU32::new(0)).collect()
}

/// The same, without touching it: the system gives zeroed pages one by one to the worker that comes first.
fn untouched_zeros(count: usize) -> Box<[AtomicU32]> {
    let plain: Box<[u32]> = vec![0; count].into_boxed_slice();
    // SAFETY: `AtomicU32` has the size, alignment and bit validity of `u32`, and the box is the only owner.
    unsafe { Box::from_raw(Box::into_raw(plain) as *mut [AtomicU32]) }
}

impl Allocation {
    /// The tags of writers or readers, one for each word.
    pub fn tags(cell: &OnceLock<Box<[AtomicU32]>>, words: usize) -> &[AtomicU32] {
        cell.get_or_init(|| untouched_zeros(words))
    }

    /// The forms of tags, one for each word.
    pub fn forms(cell: &OnceLock<Box<[AtomicU8]>>, words: usize) -> &[AtomicU8] {
        cell.get_or_init(|| (0..words).map(|_| AtomicU8::new(0)).collect())
    }

    /// Forgets who wrote and read what.
    pub fn forget(&mut self) {
        (self.writers, self.readers) = (OnceLock::new(), OnceLock::new());
        (self.writer_forms, self.reader_forms) = (OnceLock::new(), OnceLock::new());
    }

    /// Keeps what `count` words from `word` on held, if it may have to be put back. Comes before every write.
    #[inline(always)]
    pub fn keep(&self, word: usize, count: usize) {
        if let Some(undo) = &self.undo {
            undo.keep(&self.words, &self.defined, word, count);
        }
    }

    /// Reads 1, 2, 4 or 8 bytes at an aligned offset in range.
    #[inline(always)]
    pub fn read(&self, offset: usize, size: u32) -> u64 {
        let at = |w: usize| u64::from(self.words.get(w).map_or(0, |w| w.load(Relaxed)));
        let word = at(offset >> 2);
        match size {
            4 => word,
            8 => word | at((offset >> 2) + 1) << 32,
            2 => word >> (8 * (offset & 2)) & 0xffff,
            _ => word >> (8 * (offset & 3)) & 0xff,
        }
    }

    #[inline(always)]
    pub fn write(&self, offset: usize, size: u32, value: u64) {
        let Some(word) = self.words.get(offset >> 2) else { return };
        match size {
            4 => word.store(value as u32, Relaxed),
            8 => {
                word.store(value as u32, Relaxed);
                if let Some(high) = self.words.get((offset >> 2) + 1) {
                    high.store((value >> 32) as u32, Relaxed);
                }
            }
            _ => {
                let shift = 8 * (offset as u32 & 3);
                let mask = if size == 2 { 0xffff } else { 0xff } << shift;
                let bits = (value as u32) << shift & mask;
                // Neighbouring bytes may belong to another thread.
                let _ = word.fetch_update(Relaxed, Relaxed, |old| Some(old & !mask | bits));
            }
        }
    }

    /// Bits of `defined` for bytes `offset .. offset + size` within one word or two.
    #[inline(always)]
    pub fn is_defined(&self, offset: usize, size: u32) -> bool {
        let mask = ((1u64 << size) - 1) as u32;
        self.defined.get(offset >> 5).is_none_or(|bits| bits.load(Relaxed) >> (offset & 31) & mask == mask)
    }

    #[inline(always)]
    pub fn define(&self, offset: usize, size: u32) {
        let mask = (((1u64 << size) - 1) as u32) << (offset & 31);
        if let Some(bits) = self.defined.get(offset >> 5)
            && bits.load(Relaxed) & mask != mask
        {
            bits.fetch_or(mask, Relaxed);
        }
    }

    /// Whether all of a range (multiples of 32 bytes) is defined.
    #[inline(always)]
    pub fn range_defined(&self, offset: usize, bytes: usize) -> bool {
        let range = self.defined.get(offset >> 5..(offset + bytes) >> 5).unwrap_or(&[]);
        offset & 31 == 0 && range.iter().all(|b| b.load(Relaxed) == u32::MAX)
    }

    #[inline(always)]
    pub fn define_range(&self, offset: usize, bytes: usize) {
        for bits in self.defined.get(offset >> 5..(offset + bytes) >> 5).unwrap_or(&[]) {
            bits.store(u32::MAX, Relaxed);
        }
    }

    pub fn fill_defined(&self, from: usize, to: usize, on: bool) {
        for byte in from..to {
            let bit = 1 << (byte & 31);
            if let Some(bits) = self.defined.get(byte >> 5) {
                let old = bits.load(Relaxed);
                bits.store(if on { old | bit } else { old & !bit }, Relaxed);
            }
        }
    }

    pub fn store_bytes(&self, offset: usize, data: &[u8]) {
        let mut at = offset;
        let mut rest = data;
        while !rest.is_empty() {
            if at & 3 == 0
                && let Some((word, tail)) = rest.split_first_chunk::<4>()
            {
                self.write(at, 4, u64::from(u32::from_le_bytes(*word)));
                (at, rest) = (at + 4, tail);
            } else {
                self.write(at, 1, u64::from(rest[0]));
                (at, rest) = (at + 1, &rest[1..]);
            }
        }
        let end = offset + data.len();
        let (first, last) = (offset.next_multiple_of(32), end / 32 * 32);
        if first < last {
            self.fill_defined(offset, first, true);
            self.define_range(first, last - first);
            self.fill_defined(last, end, true);
        } else {
            self.fill_defined(offset, end, true);
        }
    }
}
