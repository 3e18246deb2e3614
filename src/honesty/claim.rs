//! Claims: what the facts say of one kernel under one context, each bound to the place where it can be looked at.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::facts::{Atom, Because, Formula, Interval, Poly, Stated};
use crate::ir::{AccessId, BarrierId, ExprId, LoopId, TileId, VarId};
use crate::source::Span;

/// A place of a kernel that is observed while it runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Probe {
    /// The first thing that a thread does.
    Entered,
    /// The value of a symbol that is fixed while the kernel runs: a parameter, a template argument, a member, an address.
    Symbol(Atom),
    /// All of these are known.
    Started,
    Value(ExprId),
    Access(AccessId),
    /// The address of an atomic, by its index in the function.
    Atomic(u32),
    /// Before a loop.
    Enter(LoopId),
    /// At the start of an iteration, and once more where the condition ends a `for` or `while`.
    Turn(LoopId),
    Barrier(BarrierId),
}

/// What kind of fact a claim is, for counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Value,
    Type,
    Range,
    Divisibility,
    Condition,
    PathFact,
    Address,
    Alignment,
    Stride,
    Uniformity,
    Reach,
    Trip,
    Aliasing,
    Order,
    BankDegree,
    Extent,
    BlockShape,
}

impl Kind {
    pub const ALL: [Kind; 17] = [
        Kind::Value,
        Kind::Type,
        Kind::Range,
        Kind::Divisibility,
        Kind::Condition,
        Kind::PathFact,
        Kind::Address,
        Kind::Alignment,
        Kind::Stride,
        Kind::Uniformity,
        Kind::Reach,
        Kind::Trip,
        Kind::Aliasing,
        Kind::Order,
        Kind::BankDegree,
        Kind::Extent,
        Kind::BlockShape,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Kind::Value => "value",
            Kind::Type => "type",
            Kind::Range => "range",
            Kind::Divisibility => "divisibility",
            Kind::Condition => "condition",
            Kind::PathFact => "path fact",
            Kind::Address => "address",
            Kind::Alignment => "alignment",
            Kind::Stride => "stride",
            Kind::Uniformity => "uniformity",
            Kind::Reach => "reach",
            Kind::Trip => "trip",
            Kind::Aliasing => "aliasing",
            Kind::Order => "order",
            Kind::BankDegree => "bank degree",
            Kind::Extent => "extent",
            Kind::BlockShape => "block shape",
        }
    }
}

/// What is said. Numbers of bytes, unless another unit is named.
#[derive(Clone, Debug, PartialEq)]
pub enum Says {
    /// The value of the expression; modulo 2^64 only where `modular`.
    Equals {
        value: Poly,
        modular: bool,
    },
    Within(Interval),
    Leaves {
        modulus: i128,
        residue: i128,
    },
    /// The integer type of the expression.
    Type {
        bytes: u32,
        unsigned: bool,
    },
    /// What the condition stands for.
    Means(Formula),
    Decided(bool),
    /// Something that is known at the place.
    Known(Stated),
    /// The address is that of `root` plus `offset`.
    Address {
        root: VarId,
        offset: Poly,
    },
    OffsetWithin {
        root: VarId,
        range: Interval,
    },
    Width(u32),
    /// Whether the address is a multiple of `bytes`: always, or never. With loops, in their first iterations.
    Aligned {
        bytes: i128,
        always: bool,
        first: Vec<LoopId>,
    },
    /// The address grows by this from one iteration to the next.
    Stride {
        of: LoopId,
        step: Poly,
    },
    /// The address grows by this from one threadIdx.x to the next.
    LaneStride {
        step: Poly,
    },
    /// Each time that the threads of a block come here, they come together and with equal values.
    Uniform,
    /// All threads of a block come here equally often; a loop runs equally often in all of them.
    Together,
    /// Iterations of the loop: `count`, or `max(count, 0)` where `clamped`.
    Trip {
        count: Poly,
        clamped: bool,
    },
    /// Exactly once in each iteration.
    Once {
        of: LoopId,
    },
    /// No other access in the loop touches what the access touches in another iteration, if either writes.
    Movable {
        of: LoopId,
    },
    /// What is reached through one is not reached through the other, if either writes it.
    Distinct(VarId, VarId),
    /// Nothing writes what is read through it.
    Unwritten(VarId),
    /// Most words that the lanes of a warp want from one bank, over all accesses of the tile.
    BankDegree {
        tile: TileId,
        degree: i128,
    },
    /// Threads of a block along an axis (0 to 2), or in all (3).
    Threads {
        axis: usize,
        range: Interval,
    },
    /// Threads along x are a multiple, or never are.
    ThreadsDivide {
        by: i128,
        always: bool,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    pub at: Probe,
    pub kind: Kind,
    pub says: Says,
    /// Ids of assumptions that may fail in a run; with any the claim is assumed, else it must hold.
    pub assumed: Vec<Arc<str>>,
    pub span: Span,
}

impl Claim {
    pub fn new(at: Probe, kind: Kind, says: Says, because: &Because, span: Span) -> Claim {
        let ids = because.assumptions().iter();
        let assumed = ids.filter(|id| is_open(id)).cloned().collect();
        Claim { at, kind, says, assumed, span }
    }

    pub fn is_proved(&self) -> bool {
        self.assumed.is_empty()
    }

    /// Every polynomial of the claim.
    pub fn polys(&self) -> Vec<&Poly> {
        match &self.says {
            Says::Equals { value: p, .. }
            | Says::Address { offset: p, .. }
            | Says::Stride { step: p, .. }
            | Says::LaneStride { step: p }
            | Says::Trip { count: p, .. } => vec![p],
            Says::Means(f) => of_formula(f),
            Says::Known(Stated::Holds(f)) => of_formula(f),
            Says::Known(Stated::OneOf(list)) => list.iter().flat_map(of_formula).collect(),
            Says::Known(Stated::Leaves(c)) => vec![&c.poly],
            _ => vec![],
        }
    }

    /// The symbols that the claim speaks of, at any depth.
    pub fn atoms(&self) -> BTreeSet<Atom> {
        let mut found: BTreeSet<Atom> = self.polys().into_iter().flat_map(Poly::atoms).collect();
        match &self.says {
            Says::Address { root, .. } | Says::OffsetWithin { root, .. } => _ = found.insert(Atom::Address(*root)),
            Says::Known(Stated::Bound(atom, _)) => found.extend(Poly::atom(atom.clone()).atoms()),
            _ => {}
        }
        found
    }
}

/// Whether a run under the contract leaves open whether the assumption holds. What the contract says holds of its own
/// launches, and whether a launch is one in view is looked at when it begins.
fn is_open(id: &str) -> bool {
    id == "no_wrap" || id.starts_with("implicit:") && id != "implicit:visible-launches"
}

/// Every polynomial of a formula.
pub(super) fn of_formula(f: &Formula) -> Vec<&Poly> {
    match f {
        Formula::NonNeg(p) | Formula::Zero(p) | Formula::NonZero(p) => vec![p],
        Formula::And(parts) | Formula::Or(parts) => parts.iter().flat_map(of_formula).collect(),
        Formula::True | Formula::False | Formula::Unknown => vec![],
    }
}

/// All claims of one kernel under one context.
#[derive(Clone, Debug)]
pub struct Claims {
    /// "any launch", or which one.
    pub context: String,
    pub claims: Vec<Claim>,
    /// What must hold at the start for the context to be the one of a launch: bounds and relations, with the values and
    /// sizes of template parameters.
    pub premises: Vec<Stated>,
    /// For each loop, the symbols that a new iteration makes anew.
    pub born: Vec<(LoopId, Vec<Atom>)>,
    /// What holds the value of a symbol that the walk made up: an expression that is nothing else.
    pub names: Vec<(ExprId, Atom)>,
    /// Accesses by the root of their address, for what is said of pairs of roots.
    pub roots: Vec<(AccessId, VarId)>,
    /// The accesses of each tile that a bank degree speaks of.
    pub tiles: Vec<(TileId, Vec<AccessId>)>,
    /// The loops around each access, outermost first.
    pub around: Vec<(AccessId, Vec<LoopId>)>,
}

impl Claims {
    pub fn atoms(&self) -> BTreeSet<Atom> {
        self.claims.iter().flat_map(Claim::atoms).collect()
    }
}
