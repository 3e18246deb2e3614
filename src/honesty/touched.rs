//! Which bytes were read and written, by whom.

use std::collections::BTreeMap;

use crate::ir::VarId;

/// Bits of one piece of 32 bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Piece {
    read: u32,
    written: u32,
}

/// Bytes touched through each root of an address; those of no known root have a place of their own.
#[derive(Clone, Debug, Default)]
pub(super) struct Touched {
    roots: BTreeMap<Option<VarId>, BTreeMap<u64, Piece>>,
}

impl Touched {
    pub(super) fn add(&mut self, root: Option<VarId>, address: u64, bytes: u32, reads: bool, writes: bool) {
        let pieces = self.roots.entry(root).or_default();
        for at in address..address.saturating_add(u64::from(bytes.min(64))) {
            let piece = pieces.entry(at / 32).or_default();
            let bit = 1 << (at % 32);
            piece.read |= if reads { bit } else { 0 };
            piece.written |= if writes { bit } else { 0 };
        }
    }

    pub(super) fn has(&self, root: VarId) -> bool {
        self.roots.contains_key(&Some(root))
    }

    /// A byte that both touch and at least one writes.
    pub(super) fn clash(&self, a: VarId, b: VarId) -> Option<u64> {
        let (a, b) = (self.roots.get(&Some(a))?, self.roots.get(&Some(b))?);
        let meet = |p: &Piece, q: &Piece| p.written & (q.read | q.written) | p.read & q.written;
        first(a, b, meet)
    }

    /// A byte that is touched through `v` and written by anyone.
    pub(super) fn written_behind(&self, v: VarId) -> Option<u64> {
        let own = self.roots.get(&Some(v))?;
        self.roots.values().find_map(|other| first(own, other, |p, q| (p.read | p.written) & q.written))
    }
}

fn first(a: &BTreeMap<u64, Piece>, b: &BTreeMap<u64, Piece>, meet: impl Fn(&Piece, &Piece) -> u32) -> Option<u64> {
    a.iter().find_map(|(at, p)| {
        let both = meet(p, b.get(at)?);
        (both != 0).then(|| at * 32 + u64::from(both.trailing_zeros()))
    })
}
