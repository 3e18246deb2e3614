//! Arguments: the buffers and scalars of a computation.

use super::expr::Expr;
use super::generate::Distribution;
use super::proposed::Proposed;
use crate::ir::Scalar;
use crate::source::Span;

/// What the computation does with an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Read only; compared before and after.
    In,
    /// Written; its contents before do not matter unless `init` says so.
    Out,
    /// Read, then written.
    InOut,
    /// A value, not memory.
    Scalar,
    /// Device memory that lives between launches and is no result.
    Temp,
}

impl Role {
    pub const ALL: [Role; 5] = [Role::In, Role::Out, Role::InOut, Role::Scalar, Role::Temp];

    pub fn word(self) -> &'static str {
        match self {
            Role::In => "in",
            Role::Out => "out",
            Role::InOut => "inout",
            Role::Scalar => "scalar",
            Role::Temp => "temp",
        }
    }

    pub fn from_word(word: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|r| r.word() == word)
    }

    /// Whether the gate compares it after the run.
    pub fn is_output(self) -> bool {
        matches!(self, Role::Out | Role::InOut)
    }
}

/// What stands in a buffer before the first launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Init {
    Zero,
    /// A pattern that no result should hold, another one in the second run.
    Poison,
    /// Generated contents.
    Keep,
}

impl Init {
    pub const ALL: [Init; 3] = [Init::Zero, Init::Poison, Init::Keep];

    pub fn word(self) -> &'static str {
        match self {
            Init::Zero => "zero",
            Init::Poison => "poison",
            Init::Keep => "keep",
        }
    }

    pub fn from_word(word: &str) -> Option<Init> {
        Init::ALL.into_iter().find(|i| i.word() == word)
    }
}

/// One end of the legal range of elements.
#[derive(Clone, Debug, PartialEq)]
pub enum Bound {
    Int(Expr),
    Float(f64),
}

/// A buffer or a scalar. Fields that are `None` are open questions where the role needs them.
#[derive(Clone, Debug)]
pub struct Arg {
    pub name: String,
    pub role: Role,
    pub dtype: Option<Scalar>,
    /// Elements per axis, outermost first. The rows that `constant-rows` makes are of the last axis.
    pub shape: Vec<Expr>,
    /// Bytes that the caller promises the address to be a multiple of.
    pub align: Option<u64>,
    /// Which contents are meaningful; empty means all that fit the dtype.
    pub distribution: Vec<Distribution>,
    /// Smallest and largest legal element, both inclusive; of a scalar, the values that the caller may pass.
    pub legal: Option<(Bound, Bound)>,
    /// Whether elements may be infinite.
    pub infinite: bool,
    /// Whether elements may be no number.
    pub nan: bool,
    /// The `__constant__` or `__device__` variable that it is: host code fills or reads it, and no launch is given it.
    pub symbol: Option<String>,
    /// `None` is that of the role: `keep` for what is read, `poison` for the rest.
    pub init: Option<Init>,
    /// Elements that the computation writes, from the first up to but not including the second; `None` means all.
    pub writes: Option<(Expr, Expr)>,
    /// Of a scalar.
    pub value: Option<Value>,
    pub proposed: Proposed,
    /// Comments that stand above it when it is printed.
    pub notes: Vec<String>,
    pub span: Option<Span>,
}

/// The value of a scalar argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Int(Expr),
    Float(f64),
}

impl Arg {
    pub fn new(name: impl Into<String>, role: Role) -> Arg {
        Arg {
            name: name.into(),
            role,
            dtype: None,
            shape: vec![],
            align: None,
            distribution: vec![],
            legal: None,
            infinite: false,
            nan: false,
            symbol: None,
            init: None,
            writes: None,
            value: None,
            proposed: Proposed::default(),
            notes: vec![],
            span: None,
        }
    }

    /// What stands in it before the first launch.
    pub fn init(&self) -> Init {
        self.init.unwrap_or(match self.role {
            Role::In | Role::InOut | Role::Scalar => Init::Keep,
            Role::Out | Role::Temp => Init::Poison,
        })
    }

    pub fn is_buffer(&self) -> bool {
        self.role != Role::Scalar
    }
}

impl PartialEq for Arg {
    /// Comments and places do not count.
    fn eq(&self, other: &Arg) -> bool {
        let plain = |a: &Arg| Arg { notes: vec![], span: None, ..a.clone() };
        let (a, b) = (plain(self), plain(other));
        (a.name, a.role, a.dtype, a.shape, a.align, a.distribution)
            == (b.name, b.role, b.dtype, b.shape, b.align, b.distribution)
            && (a.legal, a.infinite, a.nan, a.symbol, a.init, a.writes, a.value, a.proposed)
                == (b.legal, b.infinite, b.nan, b.symbol, b.init, b.writes, b.value, b.proposed)
    }
}
