//! Bank conflicts as they happen.
//!
//! 32 banks of 4 bytes; lanes that want the same word share it. A warp takes one transaction for accesses of up to 4
//! bytes, two for 8 and four for 16, each of as many neighbouring lanes. Source: CUDA C++ Programming Guide, shared memory.

use std::collections::{BTreeMap, BTreeSet};

use crate::ir::AccessId;
use crate::ptx::Note;

/// The worst degree of each access of one block.
#[derive(Clone, Debug, Default)]
pub(super) struct Degrees {
    worst: BTreeMap<AccessId, usize>,
    /// Accesses that each warp carried out with all its lanes.
    full: BTreeSet<(AccessId, u32)>,
    warps: BTreeSet<u32>,
}

impl Degrees {
    pub fn add(&mut self, access: AccessId, note: &Note, full: bool) {
        let degree = degree(note);
        let worst = self.worst.entry(access).or_default();
        *worst = degree.max(*worst);
        self.warps.insert(note.warp);
        if full {
            self.full.insert((access, note.warp));
        }
    }

    /// Whether the accesses of a tile never exceed `degree` and, where all warps carried out all of them with all lanes,
    /// reach it; `None` where none of them was carried out.
    pub fn compare(&self, tile: &[AccessId], degree: i128) -> Option<Result<(), String>> {
        let worst = tile.iter().filter_map(|a| self.worst.get(a)).max().copied()?;
        let all = tile.iter().all(|a| self.warps.iter().all(|w| self.full.contains(&(*a, *w))));
        let holds = if all { worst as i128 == degree } else { worst as i128 <= degree };
        Some(if holds { Ok(()) } else { Err(format!("{worst} lanes meet")) })
    }
}

fn degree(note: &Note) -> usize {
    let width = u64::from(note.what).max(1);
    let together = (128 / width.max(4)).clamp(1, 32) as usize;
    let groups = note.values.chunks(together).enumerate();
    let worst = groups.map(|(g, values)| {
        let mut banks: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        for (n, at) in values.iter().enumerate().filter(|(n, _)| note.lanes >> (g * together + n) & 1 != 0) {
            let _ = n;
            for word in at / 4..(at + width).div_ceil(4) {
                banks.entry(word % 32).or_default().insert(word);
            }
        }
        banks.values().map(BTreeSet::len).max().unwrap_or(0)
    });
    worst.max().unwrap_or(0)
}
