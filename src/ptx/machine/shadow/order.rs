//! What synchronises threads beside barriers: the release and acquire patterns of the PTX memory model.
//!
//! A fence followed by a strong write (or a write with `.release`) releases what its thread knows; a strong read that
//! sees that write, followed by a fence (or a read with `.acquire`), acquires it. Strong accesses alone, volatile ones
//! among them, order nothing else. Knowledge is what happened before: a thread's own accesses, what a barrier or
//! `bar.warp.sync` put before it, and what it acquired. So a fence releases what other threads of the block wrote only
//! if a barrier lies between.
//!
//! Three rules are more lenient than the text of the model, because kernels that users hold for right rest on them: a
//! fence by a thread before a barrier counts for an atomic by another thread after it; what an atomic saw is acquired by
//! a barrier after it, for the whole block; what a strong read saw before a barrier may be acquired by a fence of any
//! thread of the block after it. A fence of scope `.cta` orders within its block only.

use std::collections::HashMap;
use std::rc::Rc;

/// Who: a block, one of its warps, or one of its threads.
type Actor = u64;

fn actor(block: u32, part: u32) -> Actor {
    u64::from(block) << 32 | u64::from(part)
}

const WHOLE: u32 = 0;
const FIRST_THREAD: u32 = 64;

fn warp_part(thread: u32) -> u32 {
    1 + thread / 32
}

/// For each actor: all its accesses in segments below this one are known. Sorted by actor.
#[derive(Debug, Clone, Default, PartialEq)]
struct Clock(Vec<(Actor, u32)>);

impl Clock {
    fn of(&self, who: Actor) -> u32 {
        self.0.binary_search_by_key(&who, |e| e.0).map_or(0, |at| self.0[at].1)
    }

    fn includes(&self, other: &Clock) -> bool {
        other.0.iter().all(|(who, segment)| self.of(*who) >= *segment)
    }

    fn merge(&mut self, other: &Clock) {
        let mut all = Vec::with_capacity(self.0.len() + other.0.len());
        let (mut a, mut b) = (self.0.iter().peekable(), other.0.iter().peekable());
        while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
            match x.0.cmp(&y.0) {
                std::cmp::Ordering::Less => all.extend(a.next()),
                std::cmp::Ordering::Greater => all.extend(b.next()),
                std::cmp::Ordering::Equal => {
                    all.push((x.0, x.1.max(y.1)));
                    a.next();
                    b.next();
                }
            }
        }
        all.extend(a);
        all.extend(b);
        self.0 = all;
    }

    /// Replaces the entries of all threads of a block by one of the block, if none is missing.
    fn join_threads(&mut self, block: u32, threads: u32) {
        let range = actor(block, FIRST_THREAD)..actor(block + 1, WHOLE);
        let own = self.0.iter().filter(|e| range.contains(&e.0));
        let (count, least) = own.fold((0, u32::MAX), |(n, least), e| (n + 1, least.min(e.1)));
        if threads > 1 && count == threads {
            self.0.retain(|e| !range.contains(&e.0));
            self.merge(&Clock(vec![(actor(block, WHOLE), least)]));
        }
    }
}

/// A shared clock; nothing is known without one.
#[derive(Debug, Clone, Default)]
struct Known(Option<Rc<Clock>>);

impl Known {
    fn join(&mut self, other: &Known) {
        match (&mut self.0, &other.0) {
            (_, None) => {}
            (mine @ None, Some(theirs)) => *mine = Some(theirs.clone()),
            (Some(mine), Some(theirs)) => {
                if Rc::ptr_eq(mine, theirs) || mine.includes(theirs) {
                    return;
                }
                if theirs.includes(mine) {
                    *mine = theirs.clone();
                } else {
                    Rc::make_mut(mine).merge(theirs);
                }
            }
        }
    }

    fn knows(&self, block: u32, thread: u32, segment: u32) -> bool {
        let parts = [WHOLE, warp_part(thread), FIRST_THREAD + thread];
        self.0.as_ref().is_some_and(|clock| parts.iter().any(|part| clock.of(actor(block, *part)) > segment))
    }
}

/// What strong reads saw and no fence has acquired yet.
#[derive(Debug, Clone, Default)]
struct Seen {
    /// Released in the own block, and in another.
    near: Known,
    far: Known,
}

impl Seen {
    fn join(&mut self, other: &Seen) {
        self.near.join(&other.near);
        self.far.join(&other.far);
    }
}

#[derive(Debug, Clone, Default)]
struct ThreadOrder {
    known: Known,
    /// What the last fence releases, within the block and beyond.
    near: Known,
    far: Known,
    seen: Seen,
    /// The part of `seen` that an atomic saw.
    by_atomic: Known,
}

/// What the threads of one block know of others.
#[derive(Debug, Default)]
pub(super) struct BlockOrder {
    all: ThreadOrder,
    threads: Vec<ThreadOrder>,
    count: u32,
    /// By word of shared memory.
    places: Places,
}

/// What the last strong write of a place released.
#[derive(Debug, Clone, Default)]
struct Released {
    block: u32,
    near: Known,
    far: Known,
}

type Places = HashMap<u64, Released>;

/// Places of global memory.
#[derive(Debug, Default)]
pub(super) struct Order {
    places: Places,
}

/// How a strong access takes part.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sync {
    pub read: bool,
    pub write: bool,
    /// An atomic: it continues what earlier writes of the place released.
    pub atomic: bool,
    pub acquire: bool,
    pub release: bool,
    /// Scope `.cta`: within the block only.
    pub near: bool,
}

/// Where a thread stands, for the clock of what it did itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stand {
    pub block: u32,
    pub thread: u32,
    /// Segments of the block's last barrier, the warp's last `bar.warp.sync`, and the current one.
    pub base: u32,
    pub warp: u32,
    pub now: u32,
}

impl BlockOrder {
    pub fn begin(&mut self, threads: u32) {
        self.all = ThreadOrder::default();
        self.threads.clear();
        self.places.clear();
        self.count = threads;
    }

    fn thread(&mut self, thread: u32) -> &mut ThreadOrder {
        if self.threads.is_empty() {
            self.threads.resize(self.count as usize, ThreadOrder::default());
        }
        let last = self.threads.len() - 1;
        &mut self.threads[(thread as usize).min(last)]
    }

    /// Whether `thread` knows of an access by a thread of some block.
    pub fn knows(&self, thread: u32, block: u32, by: u32, segment: u32) -> bool {
        self.all.known.knows(block, by, segment)
            || self.threads.get(thread as usize).is_some_and(|t| t.known.knows(block, by, segment))
    }

    /// All that a thread knows, its own accesses included.
    fn everything(&mut self, at: Stand) -> Known {
        let mut clock = Clock(vec![(actor(at.block, WHOLE), at.base)]);
        if at.warp > at.base {
            clock.0.push((actor(at.block, warp_part(at.thread)), at.warp));
        }
        clock.0.push((actor(at.block, FIRST_THREAD + at.thread), at.now + 1));
        let mut known = Known(Some(Rc::new(clock)));
        known.join(&self.all.known);
        known.join(&self.thread(at.thread).known);
        known
    }

    /// A fence by one thread; the caller begins a new segment after it.
    pub fn fence(&mut self, at: Stand, wide: bool) {
        let mut seen = self.all.seen.clone();
        let own = self.thread(at.thread);
        seen.join(&own.seen);
        own.known.join(&seen.near);
        if wide {
            own.known.join(&seen.far);
        }
        let everything = self.everything(at);
        let own = self.thread(at.thread);
        if wide {
            own.far = everything.clone();
        }
        own.near = everything;
    }

    fn acquire(&mut self, thread: u32, from: &Released, block: u32, how: Sync) {
        let own = self.thread(thread);
        let mut seen = Seen { near: Known::default(), far: from.far.clone() };
        if from.block == block {
            seen.near = from.near.clone();
            seen.near.join(&from.far);
        }
        if how.acquire {
            own.known.join(&seen.near);
            if !how.near {
                own.known.join(&seen.far);
            }
        }
        if how.atomic {
            own.by_atomic.join(&seen.near);
            own.by_atomic.join(&seen.far);
        }
        own.seen.join(&seen);
    }

    fn release(&mut self, at: Stand, how: Sync) -> (Known, Known) {
        let (mut near, mut far) = (self.all.near.clone(), self.all.far.clone());
        let own = self.thread(at.thread);
        near.join(&own.near);
        far.join(&own.far);
        if how.release {
            let everything = self.everything(at);
            near.join(&everything);
            far.join(&everything);
        }
        near.join(&far);
        if how.near { (near, Known::default()) } else { (near, far) }
    }

    /// A strong access of a place of shared memory.
    pub fn shared(&mut self, word: u64, at: Stand, how: Sync) {
        let mut places = std::mem::take(&mut self.places);
        access(&mut places, self, word, at, how);
        self.places = places;
    }

    /// A barrier of the whole block: what any thread knows, all know.
    pub fn barrier(&mut self, block: u32) {
        if self.threads.is_empty() {
            return;
        }
        for own in std::mem::take(&mut self.threads) {
            self.all.known.join(&own.known);
            self.all.known.join(&own.by_atomic);
            self.all.near.join(&own.near);
            self.all.far.join(&own.far);
            self.all.seen.join(&own.seen);
        }
        for known in [&mut self.all.near, &mut self.all.far] {
            if let Some(clock) = &mut known.0 {
                Rc::make_mut(clock).join_threads(block, self.count);
            }
        }
    }

    /// Lanes of a warp met: what one knows, all know.
    pub fn meet(&mut self, warp: u32, lanes: u32) {
        if self.threads.is_empty() {
            return;
        }
        let members = || (0..32).filter(|lane| lanes >> lane & 1 != 0).map(|lane| (32 * warp + lane) as usize);
        let mut known = Known::default();
        for thread in members() {
            if let Some(own) = self.threads.get(thread) {
                known.join(&own.known);
            }
        }
        for thread in members() {
            if let Some(own) = self.threads.get_mut(thread) {
                own.known = known.clone();
            }
        }
    }
}

impl Order {
    /// A strong access of a place of global memory.
    pub fn global(&mut self, place: u64, block: &mut BlockOrder, at: Stand, how: Sync) {
        access(&mut self.places, block, place, at, how);
    }
}

fn access(places: &mut Places, block: &mut BlockOrder, place: u64, at: Stand, how: Sync) {
    if how.read
        && let Some(from) = places.get(&place)
    {
        block.acquire(at.thread, from, at.block, how);
    }
    if !how.write {
        return;
    }
    let quiet = block.threads.is_empty() && block.all.near.0.is_none() && !how.release;
    if quiet && (how.atomic || places.is_empty()) {
        return;
    }
    let (near, far) = block.release(at, how);
    if !how.atomic {
        if near.0.is_none() {
            places.remove(&place);
        } else {
            places.insert(place, Released { block: at.block, near, far });
        }
        return;
    }
    if near.0.is_none() {
        return;
    }
    let entry = places.entry(place).or_default();
    if entry.block != at.block {
        (entry.block, entry.near) = (at.block, Known::default());
    }
    entry.near.join(&near);
    entry.far.join(&far);
}
