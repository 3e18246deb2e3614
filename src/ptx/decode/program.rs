//! A decoded kernel with everything that running it needs.

use super::op::{Inst, Op, ScalarOp};
use crate::ptx::ast::{Place, Space, Symbol};

/// Values that are the same in all threads, or set when a warp starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Value {
    Bits(u64),
    /// Address of a module variable by its index in `Program::variables`, plus bytes.
    Variable(u16, i64),
    Special(Special),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Special {
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    Lane,
    Warp,
    Warps,
    MaskEq,
    MaskLt,
    MaskLe,
    MaskGt,
    MaskGe,
    DynamicShared,
    TotalShared,
    /// Where the shared memory begins that is kept for cooperative groups.
    ReservedShared,
    /// Lower (0) and upper half (1) of the address of the words by which the blocks of a cooperative launch meet.
    Workspace(u8),
    Zero,
}

/// A kernel parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    pub name: String,
    /// Bytes from the start of the parameter block.
    pub offset: u32,
    pub size: u32,
    pub align: u32,
}

/// A module variable that the kernel uses.
#[derive(Debug, Clone, PartialEq)]
pub struct GlobalVariable {
    pub name: String,
    pub space: Space,
    pub size: u64,
    pub align: u32,
    pub external: bool,
    pub(crate) bytes: Vec<u8>,
    pub(crate) addresses: Vec<StoredAddress>,
}

impl GlobalVariable {
    /// Whether the module says what is in it; else it begins as zeros.
    pub fn is_initialised(&self) -> bool {
        !self.bytes.is_empty() || !self.addresses.is_empty()
    }
}

/// An address in an initialiser.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StoredAddress {
    pub at: u64,
    pub symbol: Symbol,
    pub name: String,
    /// Module index, if it is a function.
    pub function: Option<u32>,
    pub offset: i64,
    pub width: u8,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct FunctionInfo {
    pub entry: u32,
    /// Bytes of local depot, parameters and call areas.
    pub frame: u32,
    /// (offset in frame, bytes) of formal parameters and of the results.
    pub params: Vec<(u32, u32)>,
    pub returns: Vec<(u32, u32)>,
    /// Register ranges, for recursion: first and one past the last.
    pub r: (u16, u16),
    pub q: (u16, u16),
    pub p: (u16, u16),
    pub recursive: bool,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct CallSite {
    pub function: u32,
    /// Frame offsets of the arguments and of the areas for results, in the caller.
    pub arguments: Vec<u32>,
    pub results: Vec<u32>,
}

/// Where an instruction comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct LineId(pub u32);

/// A source line that instructions are attributed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceLine {
    /// Path, or empty if the text has no `.loc` for it; then `line` counts lines of the PTX text.
    pub file: String,
    pub line: u32,
    /// Places from the innermost inlined one to the outermost.
    pub chain: Vec<(String, u32, u32)>,
}

/// How many flops one thread does in an instruction, its class, and the location it came from.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Static {
    pub line: LineId,
    pub class: u8,
    pub flops: u16,
}

/// A decoded kernel.
#[derive(Debug, Clone)]
pub struct Program {
    pub kernel: String,
    /// `.target` of the module, for example "sm_80".
    pub target: String,
    pub params: Vec<Parameter>,
    pub param_bytes: u32,
    /// Static shared memory, bytes; dynamic shared memory starts there, aligned.
    pub shared_bytes: u32,
    pub dynamic_align: u32,
    pub variables: Vec<GlobalVariable>,
    pub lines: Vec<SourceLine>,
    pub required_threads: Option<[u32; 3]>,
    pub max_threads: Option<[u32; 3]>,
    pub(crate) code: Vec<Inst>,
    pub(crate) statics: Vec<Static>,
    pub(crate) scalars: Vec<ScalarOp>,
    pub(crate) lists: Vec<u16>,
    /// Masks of bytes that loads with `GAPS` use.
    pub(crate) used_bytes: Vec<u32>,
    pub(crate) targets: Vec<Vec<u32>>,
    pub(crate) functions: Vec<FunctionInfo>,
    pub(crate) calls: Vec<CallSite>,
    /// Registers of each file.
    pub(crate) r: u16,
    pub(crate) q: u16,
    pub(crate) p: u16,
    pub(crate) values32: Vec<(u16, Value)>,
    pub(crate) values64: Vec<(u16, Value)>,
    pub(crate) matrix: Vec<super::matrix::MatrixOp>,
    pub(crate) traits: Traits,
    /// Module indices of functions whose address may be taken, with their index in `functions`.
    pub(crate) function_indices: Vec<(u32, u32)>,
}

/// What a program contains, decided while decoding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Traits {
    /// An atomic whose result is used, or a float or mixed reduction: blocks must run in order.
    pub ordered_atomics: bool,
    pub volatile_global: bool,
    /// Fences, or accesses that acquire or release.
    pub synchronises: bool,
    pub asynchronous: bool,
    pub partial_barriers: bool,
    pub mbarriers: bool,
}

/// Function addresses are this plus 16 times the function's index in the module.
pub(crate) const FUNCTION_BASE: u64 = 0x0fff_f000_0000_0000;

impl Program {
    /// The source line that an instruction index belongs to.
    pub(crate) fn line(&self, pc: u32) -> LineId {
        self.statics.get(pc as usize).map_or(LineId::default(), |s| s.line)
    }

    /// Text of a line: file and number.
    pub fn line_text(&self, id: LineId) -> String {
        match self.lines.get(id.0 as usize) {
            Some(line) if line.file.is_empty() => format!("PTX line {}", line.line),
            Some(line) => format!("{}:{}", line.file, line.line),
            None => "?".into(),
        }
    }

    /// Number of decoded instructions, device functions included.
    pub fn instructions(&self) -> usize {
        self.code.len()
    }

    pub(crate) fn has_dynamic_shared(&self) -> bool {
        self.variables.iter().any(|v| v.space == Space::Shared)
    }

    /// Whether a special register is read.
    fn reads(&self, which: impl Fn(Special) -> bool) -> bool {
        let values = self.values32.iter().chain(&self.values64);
        values.into_iter().any(|v| matches!(v.1, Value::Special(special) if which(special)))
    }

    /// Whether the grid synchronises itself, which only a cooperative launch can.
    pub fn is_cooperative(&self) -> bool {
        self.reads(|s| matches!(s, Special::Workspace(_)))
    }

    /// Whether it uses the shared memory that is kept for cooperative groups.
    pub(crate) fn uses_reserved_shared(&self) -> bool {
        self.reads(|s| s == Special::ReservedShared)
    }

    pub(crate) fn uses(&self, op: Op) -> bool {
        self.code.iter().any(|i| i.op == op)
    }
}

/// The outermost place of a chain that lies in the kernel's own file.
pub(super) fn attributed(chain: &[Place], own_file: Option<u32>) -> Option<Place> {
    let own = chain.iter().rev().find(|p| Some(p.file) == own_file && p.line != 0);
    own.or_else(|| chain.iter().rev().find(|p| p.line != 0)).copied()
}
