//! Compares claims with what a launch does, note by note.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::banks::Degrees;
use super::book::{Book, Check, index};
use super::claim::{Kind, Probe};
use super::shape::Shape;
use super::single::{Verdict, observed, overflow, same_word, single, verdict};
use super::tally::{Contradiction, Tally};
use super::thread::Thread;
use super::touched::Touched;
use crate::facts::Atom;
use crate::ir::{AccessId, AccessMode, Axis, LoopId};
use crate::ptx::{Note, Observer};

/// How often a thread comes to a place before what is known on the path to it, or any claim, is looked at only now and
/// then.
const PATHS: u32 = 8;
const VALUES: u32 = 64;

/// A block that is watched.
pub(super) struct BlockState {
    pub threads: Vec<Thread>,
    /// By claim of equal values: what the first thread that came so far saw, each time that it came.
    sequences: BTreeMap<usize, Vec<i128>>,
    pub degrees: Degrees,
}

/// One book and one launch.
pub struct Watch {
    pub(super) book: Arc<Book>,
    shape: Shape,
    pub(super) blocks: BTreeMap<u64, BlockState>,
    pub(super) touched: Touched,
    pub(super) tallies: Vec<Tally>,
    /// Whether the launch is one of which the book speaks; `None` before any thread began.
    pub(super) applies: Option<bool>,
    /// Threads in which signed arithmetic overflowed, after which nothing is defined, by the claim that shows it.
    pub(super) overflowed: BTreeMap<usize, u64>,
}

/// What a finished watch says.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    pub applies: bool,
    pub tallies: Vec<Tally>,
    /// Threads in which signed arithmetic overflowed, by the claim whose value shows it.
    pub overflowed: BTreeMap<usize, u64>,
}

impl Watch {
    pub fn new(book: Arc<Book>, shape: Shape) -> Watch {
        let tallies = vec![Tally::default(); book.len()];
        let (blocks, touched) = (BTreeMap::new(), Touched::default());
        Watch { book, shape, blocks, touched, tallies, applies: None, overflowed: BTreeMap::new() }
    }

    pub(super) fn tell(&mut self, claim: usize, block: u64, thread: u32, verdict: Verdict) {
        let Some(t) = self.tallies.get_mut(claim) else { return };
        match verdict {
            None => t.unresolved += 1,
            Some(Ok(())) => t.asserted += 1,
            Some(Err(seen)) => {
                t.asserted += 1;
                t.failed += 1;
                t.first.get_or_insert(Contradiction { block, thread, seen });
            }
        }
    }

    fn begin(&mut self, block: u64, thread: u32) {
        let (shape, book) = (self.shape, self.book.clone());
        let count = shape.threads() as usize;
        let state = self.blocks.entry(block).or_insert_with(|| BlockState {
            threads: (0..count).map(|_| Thread::new(&book)).collect(),
            sequences: BTreeMap::new(),
            degrees: Degrees::default(),
        });
        let Some(t) = state.threads.get_mut(thread as usize) else { return };
        let [x, y, _] = shape.block.map(u64::from);
        let n = u64::from(thread);
        let lane = [n % x, n / x % y, n / x / y];
        let [gx, gy, _] = shape.grid.map(u64::from);
        let at = [block % gx, block / gx % gy, block / gx / gy];
        for (axis, i) in [Axis::X, Axis::Y, Axis::Z].into_iter().zip(0..) {
            t.set(&book, &Atom::Thread(axis), lane[i].into());
            t.set(&book, &Atom::Block(axis), at[i].into());
            t.set(&book, &Atom::BlockDim(axis), shape.block[i].into());
            t.set(&book, &Atom::GridDim(axis), shape.grid[i].into());
        }
    }

    /// Values of one lane at one note; what it decides by itself.
    fn lane(&mut self, note: &Note, thread: u32, value: u64) {
        let book = self.book.clone();
        let id = note.id as usize;
        let Some(probe) = book.probes.get(id) else { return };
        if *probe == Probe::Entered {
            self.begin(note.block, thread);
            return;
        }
        let Some(state) = self.blocks.get_mut(&note.block) else { return };
        let Some(t) = state.threads.get_mut(thread as usize) else { return };
        let seen = observed(value, note.what);
        match probe {
            Probe::Symbol(_) => {
                if let Some(slot) = book.binds[id] {
                    t.values[slot] = Some(seen);
                }
                return;
            }
            Probe::Started if self.applies.is_none() => {
                self.applies = Some(book.premises.iter().all(|p| p.value(&t.values) != Some(false)));
            }
            Probe::Enter(l) => self.enter(&book, note, thread, *l),
            Probe::Turn(l) => self.turn(&book, note, thread, *l),
            _ => {}
        }
        self.decide(&book, note, thread, seen, value);
    }

    fn thread(&mut self, block: u64, thread: u32) -> Option<&mut Thread> {
        self.blocks.get_mut(&block)?.threads.get_mut(thread as usize)
    }

    fn enter(&mut self, book: &Book, note: &Note, thread: u32, l: LoopId) {
        let k = index(l);
        self.close(book, note.block, thread, k);
        let Some(t) = self.thread(note.block, thread) else { return };
        t.turns[k] = -1;
        t.entries[k] += 1;
        t.logs.retain(|(claim, _), _| !book.movable[k].contains(claim));
        book.once[k].iter().for_each(|c| _ = t.once.insert(*c, 0));
        t.expected[k] = match book.trips[k].and_then(|c| book.checks.get(c)) {
            Some(Check::Trip { count, clamped }) => count.value(&t.values).map(|v| if *clamped { v.max(0) } else { v }),
            _ => None,
        };
        t.open[k] = true;
    }

    /// Settles how often a loop ran, once it has ended.
    pub(super) fn close(&mut self, book: &Book, block: u64, thread: u32, k: usize) {
        let Some(t) = self.thread(block, thread) else { return };
        if !std::mem::take(&mut t.open[k]) || t.overflowed {
            return;
        }
        let (ran, expected) = (i128::from(t.turns[k]), t.expected[k]);
        if let Some(claim) = book.trips[k] {
            let verdict = expected.and_then(|e| verdict(e == ran, || format!("{ran} iterations instead of {e}")));
            self.tell(claim, block, thread, verdict);
        }
    }

    fn turn(&mut self, book: &Book, note: &Note, thread: u32, l: LoopId) {
        let k = index(l);
        let Some(t) = self.thread(note.block, thread) else { return };
        t.turns[k] += 1;
        let turns = t.turns[k];
        t.set(book, &Atom::Iter(l), turns.into());
        book.born[k].iter().for_each(|slot| t.values[*slot] = None);
        let counts: Vec<(usize, u32)> = book.once[k].iter().map(|c| (*c, t.once.insert(*c, 0).unwrap_or(0))).collect();
        if turns > 0 && !t.overflowed {
            for (claim, count) in counts {
                let verdict = verdict(count == 1, || format!("{count} times in one iteration"));
                self.tell(claim, note.block, thread, verdict);
            }
        }
    }

    /// Compares all claims of a note in one thread.
    fn decide(&mut self, book: &Book, note: &Note, thread: u32, seen: i128, raw: u64) {
        let id = note.id as usize;
        let Some(t) = self.thread(note.block, thread) else { return };
        let came = t.counts[id];
        t.counts[id] += 1;
        if t.overflowed {
            return;
        }
        if let Some(claim) = overflow(book, id, t, seen) {
            t.overflowed = true;
            *self.overflowed.entry(claim).or_default() += 1;
            return;
        }
        for claim in &book.by_note[id] {
            let Some(check) = book.checks.get(*claim) else { continue };
            let enough = if book.claims.claims[*claim].kind == Kind::PathFact { PATHS } else { VALUES };
            if came >= enough && !matches!(check, Check::Uniform) && came % 16 != 0 {
                continue;
            }
            let Some(state) = self.blocks.get_mut(&note.block) else { return };
            let Some(t) = state.threads.get_mut(thread as usize) else { return };
            if let Check::Uniform = check {
                let sequence = state.sequences.entry(*claim).or_default();
                let verdict = match sequence.get(came as usize) {
                    Some(before) => {
                        verdict(*before == seen, || format!("{seen} in one thread and {before} in another"))
                    }
                    None => {
                        sequence.push(seen);
                        Some(Ok(()))
                    }
                };
                self.tell(*claim, note.block, thread, verdict);
                continue;
            }
            if let Some(verdict) = single(check, t, *claim, note, seen, raw, self.shape) {
                self.tell(*claim, note.block, thread, verdict);
            }
        }
        if let (Some(slot), Probe::Value(_), Some(t)) =
            (book.binds[id], &book.probes[id], self.thread(note.block, thread))
        {
            t.values[slot].get_or_insert(seen);
        }
        match &book.probes[id] {
            Probe::Access(a) => self.touch(book, note, thread, *a, raw),
            Probe::Atomic(_) => self.touched.add(None, raw, note.what, true, true),
            _ => {}
        }
    }

    fn touch(&mut self, book: &Book, note: &Note, thread: u32, a: AccessId, address: u64) {
        let mode = book.writes.get(a.0 as usize).copied().unwrap_or(AccessMode::Update);
        let (reads, writes) = (mode != AccessMode::Store, mode != AccessMode::Load);
        self.touched.add(book.roots.get(&a).copied(), address, note.what, reads, writes);
        for (k, accesses) in book.inside.iter().enumerate() {
            if !accesses.contains(&a) {
                continue;
            }
            for claim in book.once[k].iter().filter(|c| book.claims.claims[**c].at == Probe::Access(a)) {
                if let Some(t) = self.thread(note.block, thread) {
                    *t.once.entry(*claim).or_default() += 1;
                }
            }
            for claim in &book.movable[k] {
                let Some(Check::Movable { own, .. }) = book.checks.get(*claim) else { continue };
                let Some(t) = self.thread(note.block, thread) else { return };
                let (own, turn) = (*own == a, t.turns[k]);
                let clash = t.meets((*claim, 0), (turn, address, note.what, own, writes));
                if own || clash.is_some() {
                    let verdict = verdict(clash.is_none(), || {
                        format!("address {address:#x} in iterations {turn} and {}", clash.unwrap_or(0))
                    });
                    self.tell(*claim, note.block, thread, verdict);
                }
            }
        }
    }

    /// Claims about neighbouring lanes and about the warp as a whole.
    fn warp(&mut self, note: &Note) {
        let book = self.book.clone();
        let id = note.id as usize;
        let Some(Probe::Access(a)) = book.probes.get(id) else { return };
        let Some(state) = self.blocks.get_mut(&note.block) else { return };
        let mut said = vec![];
        let width = self.shape.block[0];
        for claim in &book.by_note[id] {
            let Some(Check::LaneStride { step }) = book.checks.get(*claim) else { continue };
            for lane in 0..31u32 {
                let thread = 32 * note.warp + lane;
                if note.lanes >> lane & 3 != 3 || (thread + 1).is_multiple_of(width) {
                    continue;
                }
                let (Some(t), Some(u)) = (state.threads.get(thread as usize), state.threads.get(thread as usize + 1))
                else {
                    continue;
                };
                if t.overflowed || t.turns != u.turns {
                    continue;
                }
                let grown = note.values[lane as usize + 1].wrapping_sub(note.values[lane as usize]) as i64;
                let verdict = step
                    .value(&t.values)
                    .and_then(|s| verdict(same_word(s, grown.into()), || format!("{grown} bytes instead of {s}")));
                said.push((*claim, thread, verdict));
            }
        }
        let all = state.threads.len() as u32 - (32 * note.warp).min(state.threads.len() as u32);
        let full = note.lanes.count_ones() == all.min(32);
        // The compiler may let lanes run ahead of others by whole iterations: what meets then is not one access.
        let turns = |lane: u32| state.threads.get((32 * note.warp + lane) as usize).map(|t| &t.turns);
        let first = turns(note.lanes.trailing_zeros());
        if (0..32).filter(|l| note.lanes >> l & 1 != 0).all(|l| turns(l) == first) {
            state.degrees.add(*a, note, full);
        }
        said.into_iter().for_each(|(claim, thread, v)| self.tell(claim, note.block, thread, v));
    }
}

impl Observer for Watch {
    fn note(&mut self, note: &Note) {
        if self.applies == Some(false) || !self.shape.is_watched(note.block) {
            return;
        }
        for lane in (0..32).filter(|l| note.lanes >> l & 1 != 0) {
            let value = note.values.get(lane as usize).copied().unwrap_or(0);
            self.lane(note, 32 * note.warp + lane, value);
        }
        self.warp(note);
    }
}

/// Several books on one launch.
pub struct Watches(pub Vec<Watch>);

impl Observer for Watches {
    fn note(&mut self, note: &Note) {
        self.0.iter_mut().for_each(|w| w.note(note));
    }
}
