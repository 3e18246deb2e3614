//! The compact form of a program: instructions of fixed size over register indices.

use crate::ptx::scalar::convert::Clamp;
use crate::ptx::scalar::{
    Comparison, Extreme, Format, Half, HalfMode, Integer, Mode, Property, Rounding, bits::Permute,
};

/// What an instruction does. Hot operations have a variant of their own; all other arithmetic is `Scalar`, whose
/// details stand in `Program::scalars`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Op {
    Nop,
    Mov32,
    Mov64,
    Add32,
    Sub32,
    Mul32,
    Mad32,
    MulHiU32,
    MulHiS32,
    MulWideU32,
    MulWideS32,
    MadWideU32,
    MadWideS32,
    MinU32,
    MinS32,
    MaxU32,
    MaxS32,
    And32,
    Or32,
    Xor32,
    Not32,
    Neg32,
    Shl32,
    ShrU32,
    ShrS32,
    Lop3,
    Add64,
    Sub64,
    Mul64,
    Mad64,
    And64,
    Or64,
    Xor64,
    Not64,
    Neg64,
    Shl64,
    ShrU64,
    ShrS64,
    ZeroExtend,
    SignExtend,
    Truncate,
    Select32,
    Select64,
    AddF32,
    SubF32,
    MulF32,
    FmaF32,
    DivF32,
    SqrtF32,
    RcpF32,
    MaxF32,
    MinF32,
    NegF32,
    AbsF32,
    F32ToS32,
    S32ToF32,
    U32ToF32,
    F32ToF64,
    F64ToF32,
    F16ToF32,
    F32ToF16,
    Ex2,
    AddF64,
    SubF64,
    MulF64,
    FmaF64,
    DivF64,
    NegF64,
    SetpU32,
    SetpS32,
    SetpU64,
    SetpS64,
    SetpF32,
    SetpF64,
    /// Comparison of any other type: `Program::scalars` holds a `Scalar::Compare`.
    SetpOther,
    SetpHalf2,
    MovPred,
    AndPred,
    OrPred,
    XorPred,
    NotPred,
    /// mov.b64 d, {a, b}
    Pack64,
    Unpack64,
    Pack32,
    Unpack32,
    /// mov.b64 d, {a, b, c, e}: a..c and `off` hold the four.
    Pack4x16,
    Unpack4x16,
    Scalar,
    /// add/sub/mad with carry in or out; `m` tells which.
    Carry,
    Clock,
    FrameAddress,
    Bra,
    /// brx.idx: `off` indexes the list of targets.
    BraIndexed,
    Ret,
    Exit,
    Trap,
    Call,
    CallIndirect,
    Print,
    /// A call of [`crate::ptx::NOTE`]; `m` is the call site.
    Note,
    Assert,
    Barrier,
    BarrierArrive,
    BarrierReduce,
    WarpSync,
    Shuffle,
    Vote,
    Match,
    Redux,
    ActiveMask,
    Elect,
    Fence,
    Nanosleep,
    LdGlobal,
    LdShared,
    /// Volatile, relaxed or acquire loads: they may poll.
    LdStrongGlobal,
    LdStrongShared,
    LdLocal,
    LdParam,
    LdGeneric,
    StGlobal,
    StShared,
    StLocal,
    StGeneric,
    Atomic,
    IsSpace,
    CpAsync,
    CpAsyncCommit,
    CpAsyncWait,
    CpAsyncArrive,
    Mbarrier,
    Ldmatrix,
    Stmatrix,
    Movmatrix,
    Mma,
    WmmaLoad,
    WmmaStore,
}

/// One instruction. Register indices point into the 32-bit, 64-bit or predicate file as `op` tells.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Inst {
    pub op: Op,
    /// Predicate index, top bit set if negated.
    pub guard: u16,
    pub d: u16,
    pub a: u16,
    pub b: u16,
    pub c: u16,
    /// Modifiers, as the family packs them.
    pub m: u32,
    /// Address offset, branch target or table index.
    pub off: i32,
}

impl Inst {
    pub const fn new(op: Op) -> Self {
        Inst { op, guard: 0, d: 0, a: 0, b: 0, c: 0, m: 0, off: 0 }
    }
}

/// Set in a predicate index: take the complement.
pub(crate) const NEGATED: u16 = 0x8000;
/// Predicate 0 is always true, 1 holds the carry flag, 2 takes results that nobody reads.
pub(crate) const CARRY: u16 = 1;
pub(crate) const SINK_PRED: u16 = 2;
/// Register 0 of each file takes results that nobody reads.
pub(crate) const SINK: u16 = 0;

/// Integer operations of any width in the `Scalar` path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IntOp {
    Add,
    Sub,
    MulLo,
    MulHi,
    MulWide,
    MadLo,
    MadHi,
    MadWide,
    Div,
    Rem,
    Min,
    Max,
    Abs,
    Neg,
    And,
    Or,
    Xor,
    Not,
    Cnot,
    Shl,
    Shr,
    Sad,
    AddSat,
    SubSat,
    MadHiSat,
    Mul24Lo,
    Mul24Hi,
    Mad24Lo,
    Mad24Hi,
    Mad24HiSat,
    Bfe,
    Bfi,
    Bfind,
    BfindShift,
    Brev,
    Clz,
    Popc,
    Slct,
}

/// What a comparison compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compared {
    Int(Integer),
    F32 { ftz: bool },
    F64,
    Half(Half, bool),
}

/// Approximate f32 functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Approx {
    Ex2,
    Lg2,
    Rcp,
    Sqrt,
    Rsqrt,
    Sin,
    Cos,
    Tanh,
    Div,
    DivFull,
}

/// Arithmetic on lanes that has no variant in `Op`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Scalar {
    AddF(Mode),
    SubF(Mode),
    MulF(Mode),
    FmaF(Mode),
    DivF(Mode),
    RcpF(Mode),
    SqrtF(Mode),
    ExtremeF(Extreme),
    NegF(bool),
    AbsF(bool),
    CopysignF,
    Approx(Approx, bool),
    AddD(Rounding),
    SubD(Rounding),
    MulD(Rounding),
    FmaD(Rounding),
    DivD(Rounding),
    RcpD(Rounding),
    SqrtD(Rounding),
    ExtremeD(bool),
    AbsD,
    CopysignD,
    RcpApproxD,
    RsqrtApproxD(bool),
    HalfAdd(Half, HalfMode, bool),
    HalfSub(Half, HalfMode, bool),
    HalfMul(Half, HalfMode, bool),
    HalfFma(Half, HalfMode, bool),
    HalfNeg(Half, bool, bool),
    HalfAbs(Half, bool, bool),
    HalfExtreme(Half, Extreme, bool),
    HalfEx2(Half, bool, bool),
    HalfTanh(Half, bool),
    IntToInt {
        from: Integer,
        to: Integer,
        saturate: bool,
    },
    FloatToInt {
        from: Format,
        to: Integer,
        rounding: Rounding,
        ftz: bool,
    },
    IntToFloat {
        from: Integer,
        to: Format,
        rounding: Rounding,
        saturate: bool,
    },
    FloatToFloat {
        from: Format,
        to: Format,
        rounding: Rounding,
        clamp: Clamp,
        ftz: bool,
        saturate: bool,
    },
    Integral {
        format: Format,
        rounding: Rounding,
        ftz: bool,
        saturate: bool,
    },
    ToTf32(Rounding, Clamp),
    /// cvt.rn.f16x2.f32 d, a, b: `a` becomes the upper half.
    PackHalf {
        to: Format,
        rounding: Rounding,
        clamp: Clamp,
    },
    PackFp8 {
        to: Format,
        relu: bool,
    },
    PackFp8FromHalf {
        to: Format,
        relu: bool,
    },
    UnpackFp8 {
        from: Format,
        relu: bool,
    },
    Int(IntOp, Integer),
    Prmt(Permute),
    Shf {
        left: bool,
        wrap: bool,
    },
    Dp4a(bool, bool),
    Dp2a(bool, bool, bool),
    Bmsk(bool),
    Szext {
        signed: bool,
        wrap: bool,
    },
    Fns,
    SlctF,
    Vabsdiff4 {
        signed: [bool; 3],
        add: bool,
    },
    /// Gives 1 or 0.
    Compare(Comparison, Compared),
    TestF(Property),
    TestD(Property),
}

/// A scalar operation with the register files of destination and sources.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScalarOp {
    pub what: Scalar,
    pub wide_d: bool,
    pub wide: [bool; 3],
    /// Bits of the destination that are written, others become zero.
    pub mask: u64,
}
