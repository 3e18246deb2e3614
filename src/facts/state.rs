//! What the walk writes down: the state at each surface, and the events in the order in which they happen.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::atom::Atom;
use super::because::Because;
use super::poly::Poly;
use super::range::Known;
use super::value::{PointerValue, Truth, Value};
use crate::ir::*;
use crate::source::Span;

/// What keeps some threads of a block away: where, and how to say it.
pub type Divergence = (Span, &'static str);

/// Where execution is when something happens.
#[derive(Clone, Debug)]
pub struct Place {
    pub known: Arc<Known>,
    /// Position in the order of evaluation of one pass over the text.
    pub seq: u32,
    here: Arc<Here>,
}

/// What places of one straight stretch of text have in common; a place gives its fields as its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Here {
    pub loops: Vec<LoopId>,
    /// Conditions and exits that may keep some threads of the block away, nearest last.
    pub divergent: Option<Divergence>,
    /// Conditions around the place, outermost first.
    pub conditions: Vec<(Span, Option<ExprId>)>,
}

impl Place {
    pub(super) fn new(known: Arc<Known>, seq: u32, here: Arc<Here>) -> Place {
        Place { known, seq, here }
    }

    /// Threads may come here apart from each other.
    pub(super) fn scatter(&mut self, why: Divergence) {
        Arc::make_mut(&mut self.here).divergent.get_or_insert(why);
    }
}

impl std::ops::Deref for Place {
    type Target = Here;

    fn deref(&self) -> &Here {
        &self.here
    }
}

#[derive(Clone, Debug)]
pub struct AccessState {
    pub place: Place,
    pub pointer: Option<PointerValue>,
    /// Size of what is moved, where it is known.
    pub bytes: Option<u32>,
    pub is_volatile: bool,
}

#[derive(Clone, Debug)]
pub struct LoopState {
    /// Before the first iteration.
    pub before: Place,
    /// Known inside an iteration, the loop's condition included.
    pub inside: Arc<Known>,
    pub condition: Option<Truth>,
    /// Whether the threads of a block all run it, and equally often.
    pub divergent: Option<Divergence>,
    /// Variables that change by the same amount in every iteration: value at the start of an iteration, amount.
    pub inductions: BTreeMap<VarId, (Poly, Poly)>,
    /// First and one past the last event number of condition, body and step.
    pub events: (u32, u32),
    /// Atoms born inside: they differ from one iteration to the next.
    pub born: Births,
    pub exits: Vec<(Span, &'static str)>,
    pub because: Because,
}

#[derive(Clone, Debug)]
pub struct Event {
    pub kind: EventKind,
    pub span: Span,
    pub seq: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    Access(AccessId),
    /// A write of memory that is no access surface.
    Unlisted,
    /// A read of memory that is no access surface.
    Read,
    Atomic,
    Barrier(BarrierKind),
    Fence,
    Call,
    /// A macro, assembly, or other text that may do anything.
    Anything,
    Exit,
}

#[derive(Clone, Debug)]
pub struct LaunchState {
    pub block: Option<[Poly; 3]>,
    pub grid: Option<[Poly; 3]>,
    pub args: Vec<Value>,
    pub known: Arc<Known>,
    pub because: Because,
}

/// Everything that one walk over a function found.
#[derive(Clone, Debug, Default)]
pub struct Walked {
    pub accesses: BTreeMap<AccessId, AccessState>,
    pub barriers: BTreeMap<BarrierId, Place>,
    pub loops: BTreeMap<LoopId, LoopState>,
    pub launches: BTreeMap<u32, LaunchState>,
    /// By expression; `None` for those that the walk did not reach.
    pub(super) evaluated: Vec<Option<(Value, Place)>>,
    pub events: Vec<Event>,
    /// Whether the threads of a block may differ on a parameter: so in device functions.
    pub(super) params_vary: bool,
    /// Serial numbers of made-up atoms on which the threads of a block may differ.
    pub(super) varying: BTreeSet<u32>,
    /// Whether the walk asked anywhere if a number divides another.
    pub(super) asked_divisibility: bool,
    /// Why nothing can be said about the function as a whole.
    pub taint: Option<(Option<Span>, String)>,
}

/// The made-up atoms of one stretch of the walk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Births {
    pub(super) from: u32,
    pub(super) to: u32,
}

impl Births {
    pub fn contains(&self, atom: &Atom) -> bool {
        atom.serial().is_some_and(|n| self.from <= n && n < self.to)
    }

    /// Whether one of them stands in `poly`.
    pub fn stand_in(&self, poly: &Poly) -> bool {
        poly.any_atom(&|a| self.contains(a))
    }
}

impl Walked {
    /// Whether the threads of a block may differ on the atom for another reason than their index.
    pub fn varies(&self, atom: &Atom) -> bool {
        match atom {
            Atom::Param(_) => self.params_vary,
            other => other.serial().is_some_and(|n| self.varying.contains(&n)),
        }
    }

    /// Whether all threads of a block have the same value.
    pub fn is_uniform(&self, poly: &Poly) -> bool {
        poly.all_atoms(&|a| !matches!(a, Atom::Thread(_)) && !self.varies(a))
    }

    /// The value of an expression when it was last evaluated.
    pub fn value(&self, e: ExprId) -> Option<&Value> {
        self.evaluated.get(e.0 as usize)?.as_ref().map(|(value, _)| value)
    }

    /// Where the expression was last evaluated.
    pub fn place(&self, e: ExprId) -> Option<&Place> {
        self.evaluated.get(e.0 as usize)?.as_ref().map(|(_, place)| place)
    }
}
