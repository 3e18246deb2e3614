//! One kernel with everything that the facts say of it, under every context.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::book::Book;
use super::claim::Claims;
use super::collect::{collect, silent};
use super::instrument::{Depth, Instrumented, instrument};
use super::observable::{Observable, observable};
use super::tally::Tally;
use super::watch::Watched;
use crate::contract::Assumption;
use crate::facts::{Analysis, Atom, Facts, Macros, Missing, Stated, analyse};
use crate::ir::*;

/// Claims of a kernel: for any launch first, then for each launch and instantiation in view.
pub struct Study<'a> {
    analysis: Analysis<'a>,
    observable: Observable,
    pub claims: Vec<Claims>,
}

impl<'a> Study<'a> {
    /// # Errors
    /// Why nothing can be said of the kernel.
    pub fn of(
        program: &'a Program,
        macros: &'a [Macros],
        at: FunctionRef,
        assumptions: &[&Assumption],
    ) -> Result<Study<'a>, Missing> {
        let analysis = analyse(program, macros, at, assumptions).ok_or_else(|| Missing::new("no such kernel"))?;
        if let Some(why) = silent(&analysis.general) {
            return Err(why);
        }
        let observable = observable(&analysis.general);
        let all = std::iter::once(&analysis.general).chain(analysis.visible());
        let claims = all.map(|facts| collect(facts, at, &observable.values)).collect();
        Ok(Study { analysis, observable, claims })
    }

    pub fn function(&self) -> &'a Function {
        self.analysis.general.function
    }

    /// The facts behind `self.claims[n]`.
    pub fn facts(&self, n: usize) -> Option<&Facts<'a>> {
        match n {
            0 => Some(&self.analysis.general),
            n => self.analysis.visible().nth(n - 1),
        }
    }

    /// The text of the file with the kernel telling what it does.
    pub fn instrument(&self, text: &str, depth: Depth) -> Option<Instrumented> {
        instrument(text, self.function(), &self.observable, &self.symbols(), depth)
    }

    /// What the claims and the premises of their contexts speak of.
    fn symbols(&self) -> BTreeSet<Atom> {
        let mut found: BTreeSet<Atom> = self.claims.iter().flat_map(Claims::atoms).collect();
        for stated in self.claims.iter().flat_map(|c| &c.premises) {
            match stated {
                Stated::Bound(atom, _) => _ = found.insert(atom.clone()),
                Stated::Leaves(c) => found.extend(c.poly.atoms()),
                Stated::Holds(f) => found.extend(super::claim::of_formula(f).into_iter().flat_map(|p| p.atoms())),
                Stated::OneOf(list) => {
                    found.extend(list.iter().flat_map(super::claim::of_formula).flat_map(|p| p.atoms()));
                }
            }
        }
        found
    }

    /// The claims ready for a text with these probes.
    pub fn books(&self, instrumented: &Instrumented) -> Vec<Arc<Book>> {
        let book = |c: &Claims| Arc::new(Book::new(c.clone(), self.function(), &instrumented.probes));
        self.claims.iter().map(book).collect()
    }
}

/// What became of all claims of a study, over any number of launches.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// By context: the launches of which it speaks, and what became of each claim.
    pub contexts: Vec<(u32, Vec<Tally>)>,
    pub launches: u32,
    /// Launches of which no launch or instantiation in view speaks, though there are some.
    pub unmatched: u32,
    /// Threads in which signed arithmetic overflowed, by the claim for any launch that shows it.
    pub overflowed: BTreeMap<usize, u64>,
}

impl Outcome {
    pub fn new(study: &Study) -> Outcome {
        let contexts = study.claims.iter().map(|c| (0, vec![Tally::default(); c.claims.len()])).collect();
        Outcome { contexts, launches: 0, unmatched: 0, overflowed: BTreeMap::new() }
    }

    /// Adds one launch: what each context's watch says.
    pub fn add(&mut self, watched: Vec<Watched>) {
        self.launches += 1;
        for (claim, threads) in watched.first().map_or(&BTreeMap::new(), |w| &w.overflowed) {
            *self.overflowed.entry(*claim).or_default() += threads;
        }
        let in_view = watched.get(1..).unwrap_or_default();
        self.unmatched += u32::from(!in_view.is_empty() && !in_view.iter().any(|w| w.applies));
        for ((count, sums), w) in self.contexts.iter_mut().zip(watched) {
            *count += u32::from(w.applies);
            sums.iter_mut().zip(&w.tallies).for_each(|(to, from)| to.merge(from));
        }
    }
}
