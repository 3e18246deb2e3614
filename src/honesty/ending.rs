//! What only the end of a launch decides: how often all threads came, and what was touched in all.

use super::book::{Book, Check};
use super::single::verdict;
use super::tally::Tally;
use super::thread::Thread;
use super::watch::{Watch, Watched};

impl Watch {
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
