//! What memory held before several workers wrote to it: each page is copied by the worker that first writes to it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Words of a page; a multiple of the 8 words that one word of defined marks stands for.
const PAGE: usize = 1024;

/// Contents and defined marks.
type Page = Box<[u32]>;

/// The pages of one allocation.
pub(crate) struct Undo {
    pages: Box<[OnceLock<Page>]>,
}

/// A page's words, and the words of its defined marks: one bit for each byte.
fn parts<'a>(words: &'a [AtomicU32], defined: &'a [AtomicU32], page: usize) -> [&'a [AtomicU32]; 2] {
    let part = |all: &'a [AtomicU32], size: usize| {
        let end = ((page + 1) * size).min(all.len());
        all.get(page * size..end).unwrap_or(&[])
    };
    [part(words, PAGE), part(defined, PAGE / 8)]
}

impl Undo {
    pub fn new(words: usize) -> Self {
        Undo { pages: (0..words.div_ceil(PAGE)).map(|_| OnceLock::new()).collect() }
    }

    /// Copies the pages of `count` words from `word` on, unless they are kept already. While one worker copies a page,
    /// others that want to write to it wait.
    #[inline(always)]
    pub fn keep(&self, words: &[AtomicU32], defined: &[AtomicU32], word: usize, count: usize) {
        for page in word / PAGE..=(word + count.max(1) - 1) / PAGE {
            if self.pages.get(page).is_some_and(|p| p.get().is_none()) {
                self.copy(words, defined, page);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn copy(&self, words: &[AtomicU32], defined: &[AtomicU32], page: usize) {
        let Some(cell) = self.pages.get(page) else { return };
        cell.get_or_init(|| {
            let mut kept = Vec::with_capacity(PAGE + PAGE / 8);
            for part in parts(words, defined, page) {
                kept.extend(part.iter().map(|w| w.load(Relaxed)));
            }
            kept.into_boxed_slice()
        });
    }

    pub fn put_back(self, words: &[AtomicU32], defined: &[AtomicU32]) {
        for (page, cell) in self.pages.into_iter().enumerate() {
            let Some(kept) = cell.into_inner() else { continue };
            let to = parts(words, defined, page).into_iter().flatten();
            to.zip(kept).for_each(|(to, from)| to.store(from, Relaxed));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_put_back_and_nothing_else_is_copied() {
        let make = |count: usize, value: u32| (0..count).map(|_| AtomicU32::new(value)).collect::<Vec<_>>();
        let (words, defined) = (make(3 * PAGE + 10, 7), make((3 * PAGE + 10usize).div_ceil(8), 0));
        let undo = Undo::new(words.len());
        // Over the end of a page, the last word, and twice the same.
        for (word, count) in [(PAGE - 1, 2), (3 * PAGE + 9, 1), (PAGE - 1, 1)] {
            undo.keep(&words, &defined, word, count);
            for n in word..word + count {
                words[n].store(9, Relaxed);
                defined[n / 8].store(u32::MAX, Relaxed);
            }
        }
        assert_eq!(undo.pages.iter().filter(|p| p.get().is_some()).count(), 3);
        assert!(undo.pages[2].get().is_none());
        undo.put_back(&words, &defined);
        assert!(words.iter().all(|w| w.load(Relaxed) == 7) && defined.iter().all(|d| d.load(Relaxed) == 0));
    }
}
