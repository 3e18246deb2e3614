//! The questions that skills may ask, in one typed registry.
//!
//! A predicate is a name, a signature, an evaluator over [`Facts`] of one context, perhaps an emitter of a run-time
//! guard, and an explanation. [`everywhere`] carries an answer over the contexts of a kernel.

mod alias;
mod calls;
mod compare;
mod control;
mod launch;
mod loops;
mod memory;
mod reduction;
mod shared;
mod value;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::facts::{Analysis, Facts};
use crate::ir::AccessId;
use crate::skill::vocabulary::{Signature, Vocabulary};

pub use compare::{Relation, compare, divides};
pub use value::{AddressValue, Answer, GuardCode, Number, Value, Witness};

/// One call of a predicate under one context.
pub struct Query<'a> {
    pub facts: &'a Facts<'a>,
    pub args: &'a [Value],
    /// `k = first` gives the loop under its name with the position as a symbol.
    pub keywords: &'a [(Value, Value)],
    /// The accesses of the group that is asked about, which the skill rewrites together.
    pub together: &'a [AccessId],
    /// Nobody reads why something is unknown: asked at one launch, where [`everywhere`] tells what is said for any.
    pub brief: bool,
}

/// How a condition can be tested while the program runs.
#[derive(Clone, Copy)]
pub enum Guard {
    None,
    /// A C++ expression: a condition, or for a predicate that gives a number, that number.
    Code(fn(&Query) -> Result<GuardCode, String>),
    /// The remainder runs through the original loop; there is no expression.
    Tail,
}

pub struct Predicate {
    pub name: &'static str,
    pub signature: Signature,
    pub eval: fn(&Query) -> Answer,
    pub guard: Guard,
    pub explain: &'static str,
}

/// All predicates by name.
pub struct Registry {
    predicates: BTreeMap<&'static str, Predicate>,
}

impl Registry {
    pub fn get(&self, name: &str) -> Option<&Predicate> {
        self.predicates.get(name)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Predicate> {
        self.predicates.values()
    }

    /// Evaluates `name`; a name that is not registered, or a call that does not fit, is unknown.
    pub fn eval(&self, name: &str, query: &Query) -> Answer {
        match self.get(name) {
            Some(p) => (p.eval)(query),
            None => Answer::unknown(format!("`{name}` is not a registered predicate")),
        }
    }
}

impl Vocabulary for Registry {
    fn signature(&self, name: &str) -> Option<Signature> {
        self.get(name).map(|p| p.signature.clone())
    }

    fn names(&self) -> Vec<&'static str> {
        self.predicates.keys().copied().collect()
    }
}

/// The registry, sorted by name.
pub fn registry() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(|| {
        let families = [
            memory::predicates(),
            alias::predicates(),
            control::predicates(),
            shared::predicates(),
            reduction::predicates(),
            launch::predicates(),
            loops::predicates(),
            calls::predicates(),
        ];
        Registry { predicates: families.into_iter().flatten().map(|p| (p.name, p)).collect() }
    })
}

/// The answer of `ask` for a kernel as a whole: that for any launch where it is known, else what all launches in view
/// agree on. `ask` gets the number of the context too: 0 for any launch, then those in view.
pub fn everywhere(analysis: &Analysis, ask: impl Fn(usize, &Facts) -> Answer) -> Answer {
    let general = ask(0, &analysis.general);
    // What rests on assumptions in general may be certain at the launches in view.
    let settled = matches!(&general, Answer::Known { because, .. } if because.contract_assumptions().is_empty());
    if settled || analysis.count_visible() == 0 {
        return general;
    }
    let mut united: Option<Answer> = None;
    for (n, facts) in (1..).zip(analysis.visible()) {
        let answer = match ask(n, facts) {
            Answer::Known { value, because, witness } => {
                Answer::Known { value, because: because.and(&facts.context.because), witness }
            }
            // What is unknown at one launch is best said for any launch.
            Answer::Unknown { .. } => return general,
        };
        united = Some(match united {
            None => answer,
            Some(before) => match before.meet(answer) {
                Some(one) => one,
                None => return general,
            },
        });
    }
    match (&general, united) {
        (Answer::Known { .. }, Some(Answer::Known { because, .. })) if !because.contract_assumptions().is_empty() => {
            general
        }
        (_, Some(answer)) => answer,
        (_, None) => general,
    }
}
