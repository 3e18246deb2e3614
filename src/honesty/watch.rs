//! Compares claims with what a launch does, note by note.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::banks::Degrees;
use super::book::{Book, Check, index};
use super::claim::{Kind, Probe};
use super::prelude::SIGNED;
use super::symbol::wrapped;
use super::tally::{Contradiction, Tally};
use super::thread::Thread;
use super::touched::Touched;
use crate::facts::{Atom, Interval, type_range};
use crate::ir::{AccessId, AccessMode, Axis, LoopId};
use crate::ptx::{Note, Observer};

/// Blocks of a launch that are watched: all of them up to this many, else the first and last and some in between.
const WATCHED: u64 = 12;

/// How often a thread comes to a place before what is known on the path to it, or any claim, is looked at only now and
/// then.
const PATHS: u32 = 8;
const VALUES: u32 = 64;

/// Grid and block of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub grid: [u32; 3],
    pub block: [u32; 3],
}

impl Shape {
    fn blocks(&self) -> u64 {
        self.grid.iter().map(|n| u64::from(*n)).product()
    }

    fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    fn is_watched(&self, block: u64) -> bool {
        let all = self.blocks();
        all <= WATCHED || block < 3 || block + 3 > all || block.is_multiple_of(all.div_ceil(WATCHED - 6))
    }

    /// How many blocks are watched, of how many.
    pub fn watched(&self) -> (u64, u64) {
        let all = self.blocks();
        ((0..all.min(1 << 20)).filter(|b| self.is_watched(*b)).count() as u64, all)
    }
}

/// A block that is watched.
struct BlockState {
    threads: Vec<Thread>,
    /// By claim of equal values: what the first thread that came so far saw, each time that it came.
    sequences: BTreeMap<usize, Vec<i128>>,
    degrees: Degrees,
}

/// One book and one launch.
pub struct Watch {
    book: Arc<Book>,
    shape: Shape,
    blocks: BTreeMap<u64, BlockState>,
    touched: Touched,
    tallies: Vec<Tally>,
    /// Whether the launch is one of which the book speaks; `None` before any thread began.
    applies: Option<bool>,
    /// Threads in which signed arithmetic overflowed, after which nothing is defined, by the claim that shows it.
    overflowed: BTreeMap<usize, u64>,
}

/// What a finished watch says.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    pub applies: bool,
    pub tallies: Vec<Tally>,
    /// Threads in which signed arithmetic overflowed, by the claim whose value shows it.
    pub overflowed: BTreeMap<usize, u64>,
}

/// Whether a claim holds; `None` where that cannot be computed.
type Verdict = Option<Result<(), String>>;

fn verdict(holds: bool, seen: impl FnOnce() -> String) -> Verdict {
    Some(if holds { Ok(()) } else { Err(seen()) })
}

impl Watch {
    pub fn new(book: Arc<Book>, shape: Shape) -> Watch {
        let tallies = vec![Tally::default(); book.len()];
        let (blocks, touched) = (BTreeMap::new(), Touched::default());
        Watch { book, shape, blocks, touched, tallies, applies: None, overflowed: BTreeMap::new() }
    }

    fn tell(&mut self, claim: usize, block: u64, thread: u32, verdict: Verdict) {
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
    fn close(&mut self, book: &Book, block: u64, thread: u32, k: usize) {
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

    /// Settles what only the end of the launch shows.
    pub fn finish(mut self, completed: bool) -> Watched {
        let book = self.book.clone();
        let applies = self.applies == Some(true);
        if applies && completed {
            let blocks: Vec<u64> = self.blocks.keys().copied().collect();
            for block in blocks {
                let threads = self.blocks.get(&block).map_or(0, |b| b.threads.len());
                for thread in 0..threads as u32 {
                    (0..book.trips.len()).for_each(|k| self.close(&book, block, thread, k));
                }
                self.together(&book, block);
            }
            self.ends(&book);
        }
        let tallies = if applies { self.tallies } else { vec![Tally::default(); book.len()] };
        Watched { applies, tallies, overflowed: self.overflowed }
    }

    /// Whether all threads of a block came equally often.
    fn together(&mut self, book: &Book, block: u64) {
        let Some(state) = self.blocks.get(&block) else { return };
        let mut said = vec![];
        for (id, claims) in book.by_note.iter().enumerate() {
            for claim in claims {
                if !matches!(book.checks.get(*claim), Some(Check::Together | Check::Uniform)) {
                    continue;
                }
                if state.threads.iter().any(|t| t.overflowed) {
                    continue;
                }
                let count = |t: &Thread| t.counts[id];
                let first = state.threads.first().map_or(0, count);
                let odd = state.threads.iter().position(|t| count(t) != first);
                let reached = state.threads.iter().any(|t| count(t) > 0);
                if !reached {
                    continue;
                }
                let thread = odd.unwrap_or(0) as u32;
                let other = odd.and_then(|n| state.threads.get(n)).map_or(0, count);
                let verdict =
                    verdict(odd.is_none(), || format!("thread 0 came {first} times, thread {thread} {other} times"));
                said.push((*claim, thread, verdict));
            }
        }
        said.into_iter().for_each(|(claim, thread, v)| self.tell(claim, block, thread, v));
    }

    fn ends(&mut self, book: &Book) {
        for claim in &book.at_end {
            match book.checks.get(*claim) {
                Some(Check::Distinct(a, b)) if self.touched.has(*a) && self.touched.has(*b) => {
                    let clash = self.touched.clash(*a, *b);
                    let verdict = verdict(clash.is_none(), || format!("both touch {:#x}", clash.unwrap_or(0)));
                    self.tell(*claim, 0, 0, verdict);
                }
                Some(Check::Unwritten(v)) if self.touched.has(*v) => {
                    let clash = self.touched.written_behind(*v);
                    let verdict = verdict(clash.is_none(), || format!("{:#x} is written", clash.unwrap_or(0)));
                    self.tell(*claim, 0, 0, verdict);
                }
                Some(Check::BankDegree { tile, degree }) => {
                    let own = book.claims.tiles.iter().find(|(t, _)| t == tile).map_or(&[][..], |(_, l)| l);
                    let said: Vec<_> = self.blocks.iter().map(|(n, b)| (*n, b.degrees.compare(own, *degree))).collect();
                    for (block, result) in said {
                        if let Some(result) = result {
                            self.tell(*claim, block, 0, Some(result));
                        }
                    }
                }
                _ => {}
            }
        }
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

/// The number that a note carries.
fn observed(value: u64, what: u32) -> i128 {
    if what & SIGNED != 0 { i128::from(value as i64) } else { i128::from(value) }
}

/// Equal modulo 2^64.
fn same_word(a: i128, b: i128) -> bool {
    (a.wrapping_sub(b)) as u64 == 0
}

/// The claim by whose value a signed expression overflows: outside of its type, and cut to it what was seen. The program
/// is not defined then.
fn overflow(book: &Book, id: usize, t: &Thread, seen: i128) -> Option<usize> {
    let (claim, ty) = book.signed[id]?;
    let Check::Equals { value, .. } = book.checks.get(claim)? else { return None };
    let v = value.value(&t.values)?;
    (!Interval::point(v).within(type_range(ty)) && wrapped(v, ty) == Some(seen)).then_some(claim)
}

/// What one thread decides by itself; `None` for what is settled elsewhere.
fn single(
    check: &Check,
    t: &mut Thread,
    claim: usize,
    note: &Note,
    seen: i128,
    raw: u64,
    shape: Shape,
) -> Option<Verdict> {
    let bytes = note.what & !SIGNED;
    let plain = || format!("{seen}");
    let address = || format!("address {raw:#x}");
    let within = |v: i128, r: &Interval, f: &dyn Fn() -> String| verdict(Interval::point(v).within(*r), f);
    Some(match check {
        Check::Equals { value, modular, own } => match value.value(&t.values) {
            Some(v) => {
                let holds = if *modular { same_word(v, seen) } else { v == seen };
                verdict(holds, || format!("{seen} instead of {v}"))
            }
            // The symbol is named by this value.
            None if *own => return None,
            None => None,
        },
        Check::Within(range) => within(seen, range, &plain),
        Check::Leaves { modulus, residue } => verdict(seen.rem_euclid(*modulus) == *residue, plain),
        Check::Type { bytes: b, unsigned } => {
            let is_unsigned = note.what & SIGNED == 0;
            verdict(*b == bytes && *unsigned == is_unsigned, || {
                format!("{} of {bytes} bytes", if is_unsigned { "unsigned" } else { "signed" })
            })
        }
        Check::Means(test) => {
            test.value(&t.values).and_then(|v| verdict(v == (seen != 0), || format!("{}", seen != 0)))
        }
        Check::Decided(v) => verdict(*v == (seen != 0), || format!("{}", seen != 0)),
        Check::Known(holds) => holds.value(&t.values).and_then(|v| verdict(v, || "it does not hold".into())),
        Check::Address { root, offset } => t.values[*root].and_then(|base| {
            let at = offset.value(&t.values)?.checked_add(base)?;
            verdict(same_word(at, raw.into()), || format!("{} bytes behind, not {}", i128::from(raw) - base, at - base))
        }),
        Check::OffsetWithin { root, range } => t.values[*root].and_then(|base| {
            let behind = i128::from(raw) - base;
            within(behind, range, &|| format!("{behind} bytes behind"))
        }),
        Check::Width(b) => verdict(*b == bytes, || format!("{bytes} bytes")),
        Check::Aligned { bytes, always, first } => {
            if first.iter().any(|l| t.turns[*l] != 0) {
                return None;
            }
            verdict((i128::from(raw) % bytes == 0) == *always, address)
        }
        Check::Stride { of, inner, step } => {
            let key = (claim, t.entries[*of], inner.iter().map(|l| t.turns[*l]).collect());
            let turn = t.turns[*of];
            match t.remember(key, (turn, raw)) {
                Some((before, at)) if before + 1 == turn => {
                    let grown = i128::from(raw.wrapping_sub(at) as i64);
                    step.value(&t.values)
                        .and_then(|s| verdict(same_word(s, grown), || format!("{grown} bytes instead of {s}")))
                }
                _ => return None,
            }
        }
        Check::Threads { axis, range } => {
            let n = shape.block.get(*axis).copied().unwrap_or_else(|| shape.threads());
            within(n.into(), range, &|| format!("{n}"))
        }
        Check::ThreadsDivide { by, always } => {
            verdict((i128::from(shape.block[0]) % by == 0) == *always, || format!("{}", shape.block[0]))
        }
        _ => return None,
    })
}
