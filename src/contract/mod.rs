//! What the caller guarantees: sizes, arguments, launch plans, tolerances, permissions and assumptions, from a contract
//! file or from comments above a kernel, and the standing assumptions that hold without being asked for.
//!
//! A [`Contract`] holds [`Plan`]s, one for each computation. [`cells`](cells::cells) chooses the sizes and contents on
//! which one is tried, and [`Plan::concrete`] gives for one of them the buffers and launches with numbers.
//! `docs/contracts.md` has the form of the file.

pub mod args;
pub mod cells;
pub mod concrete;
pub mod dims;
pub mod error;
pub mod expr;
mod expr_parse;
pub mod generate;
mod guarantees;
mod load;
mod near;
mod parse;
pub mod permit;
pub mod plan;
mod print;
pub mod proposed;
mod read;
pub mod reference;
mod sizes;
pub mod small_float;
pub mod tolerance;
mod unbound;
mod vary;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::ir::{Function, spell};
use crate::source::Span;

pub use args::{Arg, Bound, Init, Role, Value};
pub use cells::{Cell, Cells, Sampling, Work, cells};
pub use concrete::{
    Binding, ConcreteBuffer, ConcreteLaunch, ConcretePlan, ConcreteStep, DEVICE_ALIGNMENT, POISONS, Start,
};
pub use dims::Dim;
pub use error::ContractError;
pub use expr::{EvalError, Expr, Op};
pub use expr_parse::{dtype, parse as parse_expr};
pub use generate::{Contents, Distribution, Legal};
pub use load::{VERSION, plans_from_comments, read};
pub use near::near;
pub use parse::parse_assumption;
pub use permit::Permissions;
pub use plan::{Argument, BufferRef, Launch, Notes, Plan, Step};
pub use print::{argument, print};
pub use proposed::{Open, OpenKind, Proposed};
pub use read::{from_comments, from_toml};
pub use reference::Reference;
pub use tolerance::Tolerance;
pub use unbound::unbound;

/// A whole contract: the plans of a file and the assumptions on its kernels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contract {
    /// A plan without a name stands at the top of the file.
    pub plans: Vec<Plan>,
    pub assumptions: Assumptions,
}

impl Contract {
    /// Everything that is missing or only proposed.
    pub fn open(&self) -> Vec<Open> {
        self.plans.iter().flat_map(Plan::open).collect()
    }
}

/// One guarantee. `id` names it in verdicts and is derived from its normal form, so that the same assumption written
/// twice is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assumption {
    pub id: String,
    /// As written.
    pub text: String,
    pub kind: AssumptionKind,
    pub span: Option<Span>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AssumptionKind {
    /// Two integer expressions over parameters, template values and `blockDim`/`gridDim` members, compared.
    Compare { left: Term, op: Relation, right: Term },
    /// `expr % modulus == residue`.
    Congruent { term: Term, modulus: i128, residue: i128 },
    /// `aligned(pointer, bytes)`.
    Aligned { pointer: String, bytes: i128 },
    /// `noalias(a, b, ..)`: the memory reached through each of them is reached through no other during the kernel.
    NoAlias(Vec<String>),
    /// `no_wrap`: unsigned index arithmetic stays within its type.
    NoWrap,
    /// `permit(approximate)`: the caller accepts results of lower accuracy.
    Permit(String),
    /// `complete`: the launches in view are all there are.
    Complete,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// An integer expression of an assumption.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Term {
    Int(i128),
    /// A parameter, a template value, or `blockDim.x`.
    Name(String),
    Add(Box<Term>, Box<Term>),
    Sub(Box<Term>, Box<Term>),
    Mul(Box<Term>, Box<Term>),
}

/// The assumptions of a run: those for every kernel, and those for kernels by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assumptions {
    pub everywhere: Vec<Assumption>,
    pub by_kernel: BTreeMap<String, Vec<Assumption>>,
}

impl Assumptions {
    /// Those that bind `kernel`, each id once.
    pub fn of(&self, kernel: &str) -> Vec<&Assumption> {
        let mut found: Vec<&Assumption> = vec![];
        for a in self.everywhere.iter().chain(self.by_kernel.get(kernel).into_iter().flatten()) {
            if !found.iter().any(|f| f.id == a.id) {
                found.push(a);
            }
        }
        found
    }

    /// Those that bind a function: by its name, its name with namespaces, or both and its parameters.
    pub fn of_function(&self, f: &Function) -> Vec<&Assumption> {
        let identity = spell::identity(f);
        let mut names = vec![f.name.as_str(), f.qualified.as_str(), identity.as_str()];
        names.dedup();
        let mut found: Vec<&Assumption> = vec![];
        for a in names.into_iter().flat_map(|n| self.of(n)) {
            if !found.iter().any(|f| f.id == a.id) {
                found.push(a);
            }
        }
        found
    }

    pub fn extend(&mut self, other: Assumptions) {
        self.everywhere.extend(other.everywhere);
        for (kernel, list) in other.by_kernel {
            self.by_kernel.entry(kernel).or_default().extend(list);
        }
    }
}

/// Standing assumptions: id, what it says. They are listed with a verdict and do not keep it from being proved.
pub const STANDING: &[(&str, &str)] = &[
    ("standing:block-limit", "a block has at most 1024 threads: 1024 x 1024 x 64 at most, and at most 1024 in all"),
    ("standing:grid-limit", "a grid has at most 2147483647 x 65535 x 65535 blocks"),
    ("standing:sizes-63-bit", "64-bit sizes and counts that enter a kernel are below 2^63"),
    ("standing:no-wrap-thread-index", "blockIdx * blockDim + threadIdx and its grid stride stay below 2^32"),
];

/// Assumptions that kopt makes by itself where it must, by name: id, what it says. They make a verdict `assumed`.
pub const IMPLICIT: &[(&str, &str)] = &[
    ("implicit:visible-launches", "every launch and instantiation of the kernel is among those in view"),
    ("implicit:no-wrap", "unsigned index arithmetic stays within its type"),
    ("implicit:constant-names", "names that are not defined in view are constants, not macros with side effects"),
    ("implicit:default-macros", "macros that the file tests before it defines them keep the value given there"),
];

/// Whether a verdict that rests on `id` is still proved.
pub fn is_standing(id: &str) -> bool {
    id.starts_with("standing:")
}

/// What an id means, for messages; contract assumptions carry their own text.
pub fn describe(id: &str) -> Option<&'static str> {
    STANDING.iter().chain(IMPLICIT).find(|(name, _)| *name == id).map(|(_, text)| *text)
}
