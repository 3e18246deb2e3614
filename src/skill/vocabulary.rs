//! What skills may speak of: surfaces, value types and the signatures of predicates. The predicate registry implements
//! [`Vocabulary`]; the checker needs no more than that.

use super::ast::words;

words! {
    /// The kinds of place that an anchor can name.
    Surface {
        Kernel = "kernel",
        Function = "function",
        Parameter = "parameter",
        /// A load or a store.
        Access = "access",
        Load = "load",
        Store = "store",
        Atomic = "atomic",
        /// A shared-memory array.
        Shared = "shared",
        /// A thread-private array.
        Registers = "registers",
        Loop = "loop",
        Branch = "branch",
        Barrier = "barrier",
        Reduction = "reduction",
        Accumulator = "accumulator",
        /// A call of one of the functions named.
        Call = "call",
        Expr = "expr",
        Launch = "launch",
        TileCopy = "tile.copy",
        TileGemm = "tile.gemm",
        TilePipelined = "tile.pipelined",
        TileParallel = "tile.parallel",
        TileAlloc = "tile.alloc",
        TileKernel = "tile.kernel",
    }
}

/// Which arguments a surface takes in a `match` clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SurfaceArguments {
    None,
    /// At most one of these words.
    OneOf(&'static [&'static str]),
    /// One or more names of functions.
    Names,
}

impl Surface {
    pub fn arguments(self) -> SurfaceArguments {
        match self {
            Surface::Access | Surface::Load | Surface::Store | Surface::Atomic => {
                SurfaceArguments::OneOf(&["global", "shared", "local", "constant"])
            }
            Surface::Loop => SurfaceArguments::OneOf(&["serial", "grid_stride", "halving"]),
            Surface::Barrier => SurfaceArguments::OneOf(&["block", "warp", "grid", "cluster"]),
            Surface::Reduction => SurfaceArguments::OneOf(&["serial", "shared", "warp"]),
            Surface::TileAlloc => SurfaceArguments::OneOf(&["shared", "fragment", "local"]),
            Surface::Call => SurfaceArguments::Names,
            _ => SurfaceArguments::None,
        }
    }
}

/// A set of surfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SurfaceSet(u32);

impl SurfaceSet {
    pub const ANY: SurfaceSet = SurfaceSet(u32::MAX);

    pub const fn of(surfaces: &[Surface]) -> SurfaceSet {
        let mut bits = 0;
        let mut i = 0;
        while i < surfaces.len() {
            bits |= 1 << surfaces[i] as u32;
            i += 1;
        }
        SurfaceSet(bits)
    }

    pub const fn contains(self, surface: Surface) -> bool {
        self.0 & (1 << surface as u32) != 0
    }
}

impl std::fmt::Display for SurfaceSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if *self == SurfaceSet::ANY {
            return f.write_str("anchor");
        }
        let names: Vec<&str> = Surface::ALL.iter().filter(|s| self.contains(**s)).map(|s| s.as_str()).collect();
        f.write_str(&names.join(" or "))
    }
}

/// The type of a value in a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueType {
    Bool,
    Int,
    /// A ratio; integers pass as one.
    Real,
    /// A size; integers pass as one.
    Bytes,
    /// An element type: one of [`DTYPES`].
    DType,
    /// One of a closed list of words.
    Symbol(&'static [&'static str]),
    Address,
    Anchor(SurfaceSet),
    Any,
}

/// What a parameter accepts.
pub type ParamType = ValueType;

impl std::fmt::Display for ValueType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ValueType::Bool => f.write_str("truth value"),
            ValueType::Int => f.write_str("integer"),
            ValueType::Real => f.write_str("number"),
            ValueType::Bytes => f.write_str("size in bytes"),
            ValueType::DType => f.write_str("element type"),
            ValueType::Symbol(words) => write!(f, "one of {}", words.join(", ")),
            ValueType::Address => f.write_str("address"),
            ValueType::Anchor(set) => write!(f, "{set}"),
            ValueType::Any => f.write_str("value"),
        }
    }
}

/// Names of element types in conditions.
pub const DTYPES: &[&str] = &[
    "bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64", "tf32", "e4m3", "e5m2",
];

/// Positions of a loop's variable.
pub const POSITIONS: &[&str] = &["first", "last"];

/// The keyword arguments of a predicate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keywords {
    None,
    Named(Vec<(&'static str, ParamType)>),
    /// `k = first`: a loop that `match` binds, and where its variable stands ([`POSITIONS`] or an integer).
    LoopPositions,
}

/// How a predicate is called and what it answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    pub params: Vec<ParamType>,
    /// Further positional parameters, which may be left out from the right.
    pub optional: Vec<ParamType>,
    pub keywords: Keywords,
    pub returns: ValueType,
    /// Whether a run-time test can be written for it (`guard tail`, `dispatch` and `in-kernel`).
    pub has_guard: bool,
    pub help: &'static str,
}

impl Signature {
    pub fn new(params: Vec<ParamType>, returns: ValueType, help: &'static str) -> Signature {
        Signature { params, optional: vec![], keywords: Keywords::None, returns, has_guard: false, help }
    }

    pub fn optional(mut self, optional: Vec<ParamType>) -> Signature {
        self.optional = optional;
        self
    }

    pub fn keywords(mut self, keywords: Keywords) -> Signature {
        self.keywords = keywords;
        self
    }

    pub fn guarded(mut self) -> Signature {
        self.has_guard = true;
        self
    }
}

/// The predicates that exist.
pub trait Vocabulary {
    fn signature(&self, name: &str) -> Option<Signature>;

    /// All names, sorted; for hints.
    fn names(&self) -> Vec<&'static str>;
}
