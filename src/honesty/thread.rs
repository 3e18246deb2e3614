//! What is remembered of one thread.

use std::collections::BTreeMap;

use super::book::Book;
use super::symbol::Values;
use crate::facts::Atom;

/// Addresses kept for one claim about an access and a loop: iteration, address, bytes, whether it is the access that the
/// claim speaks of, whether it writes.
type Touch = (i64, u64, u32, bool, bool);

/// Claim, entry of its loop, iterations of the loops inside it.
type StrideKey = (usize, u32, Vec<i64>);

const MAX_STRIDES: usize = 128;
const MAX_TOUCHES: usize = 96;

#[derive(Clone, Debug)]
pub(super) struct Thread {
    pub values: Values,
    /// By loop: iterations before the current one (-1 before the first), how often it was entered, how often it should
    /// run, whether it has not been settled.
    pub turns: Vec<i64>,
    pub entries: Vec<u32>,
    pub expected: Vec<Option<i128>>,
    pub open: Vec<bool>,
    /// By note.
    pub counts: Vec<u32>,
    /// By claim: runs in the current iteration.
    pub once: BTreeMap<usize, u32>,
    pub logs: BTreeMap<(usize, u32), Vec<Touch>>,
    strides: BTreeMap<StrideKey, (i64, u64)>,
    pub overflowed: bool,
}

impl Thread {
    pub fn new(book: &Book) -> Thread {
        let loops = book.trips.len();
        Thread {
            values: vec![None; book.symbols.len()],
            turns: vec![-1; loops],
            entries: vec![0; loops],
            expected: vec![None; loops],
            open: vec![false; loops],
            counts: vec![0; book.probes.len()],
            once: BTreeMap::new(),
            logs: BTreeMap::new(),
            strides: BTreeMap::new(),
            overflowed: false,
        }
    }

    pub fn set(&mut self, book: &Book, atom: &Atom, value: i128) {
        if let Some(slot) = book.symbols.find(atom) {
            self.values[slot] = Some(value);
        }
    }

    /// The iteration and address that were noted under the key before.
    pub fn remember(&mut self, key: StrideKey, now: (i64, u64)) -> Option<(i64, u64)> {
        if self.strides.len() >= MAX_STRIDES && !self.strides.contains_key(&key) {
            self.strides.clear();
        }
        self.strides.insert(key, now)
    }

    /// Notes a touch; gives another iteration in which the access of the claim and another one touched the same bytes
    /// while either wrote.
    pub fn meets(&mut self, key: (usize, u32), now: Touch) -> Option<i64> {
        let log = self.logs.entry(key).or_default();
        let (turn, at, bytes, own, writes) = now;
        let meets = |(t, a, b, o, w): &&Touch| {
            *t != turn
                // Stores of one access keep their order.
                && *o != own
                && (*w || writes)
                && *a < at.saturating_add(u64::from(bytes))
                && at < a.saturating_add(u64::from(*b))
        };
        let found = log.iter().find(meets).map(|t| t.0);
        if log.len() < MAX_TOUCHES {
            log.push(now);
        }
        found
    }
}
