//! Which words of each allocation a worker read, wrote, or updated atomically: one bit each.
//!
//! Workers run blocks at the same time on the assumption that blocks do not depend on each other. Afterwards the bits
//! tell whether that was so; if not, memory is restored and the blocks run in order. The same bits count unique bytes.

#[derive(Debug, Default, Clone)]
pub(crate) struct Bits {
    pub read: Vec<u32>,
    pub written: Vec<u32>,
    pub updated: Vec<u32>,
}

#[derive(Debug, Default)]
pub(crate) struct Touched {
    pub allocations: Vec<Bits>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    Read,
    Write,
    Update,
}

impl Touched {
    pub fn new(allocations: usize) -> Self {
        Touched { allocations: vec![Bits::default(); allocations] }
    }

    /// Marks `count` words from `word` on; `words` is the size of the allocation.
    #[inline(always)]
    pub fn mark(&mut self, allocation: u32, words: usize, how: How, word: usize, count: usize) {
        let Some(bits) = self.allocations.get_mut(allocation as usize) else { return };
        let bits = match how {
            How::Read => &mut bits.read,
            How::Write => &mut bits.written,
            How::Update => &mut bits.updated,
        };
        if bits.is_empty() {
            bits.resize(words.div_ceil(32), 0);
        }
        if word.is_multiple_of(32) && count == 32 {
            if let Some(slot) = bits.get_mut(word / 32) {
                *slot = u32::MAX;
            }
            return;
        }
        let (mut at, end) = (word, word + count);
        while at < end {
            let room = (32 - at % 32).min(end - at);
            let mask = if room == 32 { u32::MAX } else { ((1u32 << room) - 1) << (at % 32) };
            if let Some(slot) = bits.get_mut(at / 32) {
                *slot |= mask;
            }
            at += room;
        }
    }

    /// Whether what two workers did depends on their order.
    pub fn conflicts(&self, other: &Touched) -> bool {
        self.allocations.iter().zip(&other.allocations).any(|(a, b)| {
            meet(&a.written, &[&b.read, &b.written, &b.updated])
                || meet(&b.written, &[&a.read, &a.updated])
                || meet(&a.updated, &[&b.read])
                || meet(&b.updated, &[&a.read])
        })
    }

    /// Adds what another worker touched.
    pub fn merge(&mut self, other: &Touched) {
        for (a, b) in self.allocations.iter_mut().zip(&other.allocations) {
            for (to, from) in [(&mut a.read, &b.read), (&mut a.written, &b.written), (&mut a.updated, &b.updated)] {
                if to.len() < from.len() {
                    to.resize(from.len(), 0);
                }
                to.iter_mut().zip(from).for_each(|(to, from)| *to |= from);
            }
        }
    }
}

fn meet(a: &[u32], others: &[&Vec<u32>]) -> bool {
    others.iter().any(|b| a.iter().zip(b.iter()).any(|(x, y)| x & y != 0))
}

impl Bits {
    /// Words read, and words written or updated.
    pub fn counts(&self) -> (u64, u64) {
        let ones = |n: usize, lists: &[&Vec<u32>]| -> u64 {
            (0..n).map(|i| lists.iter().fold(0, |m, l| m | l.get(i).copied().unwrap_or(0)).count_ones() as u64).sum()
        };
        let n = self.read.len().max(self.written.len()).max(self.updated.len());
        (ones(n, &[&self.read, &self.updated]), ones(n, &[&self.written, &self.updated]))
    }
}
