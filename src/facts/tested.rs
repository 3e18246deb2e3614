//! An analysis under further congruences, without another walk.
//!
//! A walk asks about divisibility only where it divides. Where it never did, the walk under one more congruence would
//! take the same steps and write down the same, with the congruence known at every place.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::range::{Congruence, Known, MAX_CONSTRAINTS};
use super::state::{Place, Walked};
use super::{Analysis, Context, Facts, OnceCell, context};
use crate::contract::Assumption;

/// What is added, where in the order of what is known, and the places that were rewritten already.
struct Added<'c> {
    congruences: &'c [Congruence],
    after: usize,
    done: BTreeMap<usize, Arc<Known>>,
}

impl<'a> Analysis<'a> {
    /// The analysis with these assumptions beside those that it was made under; `None` where only another walk can tell.
    pub fn assuming(&self, more: &[Assumption]) -> Option<Analysis<'a>> {
        let congruences = context::congruences(self.general.function, more)?;
        let after = self.general.context.known.congruent.len();
        let mut added = Added { congruences: &congruences, after, done: BTreeMap::new() };
        let general = added.in_facts(&self.general)?;
        let mut visible = Vec::with_capacity(self.visible.len());
        for (context, walked) in &self.visible {
            let facts = match walked.get() {
                Some(facts) => OnceCell::from(added.in_facts(facts)?),
                None => OnceCell::new(),
            };
            visible.push((added.in_context(context)?, facts));
        }
        Some(Analysis { general, visible })
    }
}

impl Added<'_> {
    fn in_facts<'a>(&mut self, facts: &Facts<'a>) -> Option<Facts<'a>> {
        let Facts { program, unit, function, macros, ref notes, .. } = *facts;
        let context = self.in_context(&facts.context)?;
        let walked = self.in_walked(&facts.walked)?;
        let trips = super::cells(function.loops.len());
        Some(Facts { program, unit, function, macros, context, walked, notes: notes.clone(), trips })
    }

    fn in_context(&self, context: &Context) -> Option<Context> {
        let mut context = context.clone();
        context.known = self.in_known(&context.known)?;
        Some(context)
    }

    fn in_walked(&mut self, walked: &Walked) -> Option<Walked> {
        if walked.asked_divisibility {
            return None;
        }
        let mut walked = walked.clone();
        for state in walked.accesses.values_mut() {
            self.in_place(&mut state.place)?;
        }
        for place in walked.barriers.values_mut() {
            self.in_place(place)?;
        }
        for state in walked.loops.values_mut() {
            self.in_place(&mut state.before)?;
            self.in_shared(&mut state.inside)?;
        }
        for state in walked.launches.values_mut() {
            self.in_shared(&mut state.known)?;
        }
        for (_, place) in walked.evaluated.iter_mut().flatten() {
            self.in_place(place)?;
        }
        Some(walked)
    }

    fn in_place(&mut self, place: &mut Place) -> Option<()> {
        self.in_shared(&mut place.known)
    }

    /// Places share what is known at them, and go on doing so.
    fn in_shared(&mut self, known: &mut Arc<Known>) -> Option<()> {
        let key = Arc::as_ptr(known) as usize;
        let new = match self.done.get(&key) {
            Some(done) => done.clone(),
            None => {
                let new = Arc::new(self.in_known(known)?);
                self.done.insert(key, new.clone());
                new
            }
        };
        *known = new;
        Some(())
    }

    /// `None` where it would be more than is kept.
    fn in_known(&self, known: &Known) -> Option<Known> {
        if known.congruent.len() + self.congruences.len() > MAX_CONSTRAINTS {
            return None;
        }
        let (before, later) = (known.congruent.iter().take(self.after), known.congruent.iter().skip(self.after));
        let congruent = before.chain(self.congruences).chain(later).cloned().collect();
        Some(Known { congruent, ..known.clone() })
    }
}
