//! Class and operations of an instruction, for the counters.

use super::op::{Inst, Op, Scalar};
use super::program::Program;

/// Classes of instructions that counters tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Class {
    Integer,
    Float,
    Convert,
    Move,
    Special,
    Matrix,
    Branch,
    Synchronise,
    Exchange,
    GlobalLoad,
    GlobalStore,
    SharedLoad,
    SharedStore,
    LocalLoad,
    LocalStore,
    Parameter,
    Generic,
    Atomic,
    AsyncCopy,
    Other,
}

impl Class {
    /// All classes, in the order of `Counters::classes`.
    pub const ALL: [Class; 20] = {
        use Class::*;
        [
            Integer,
            Float,
            Convert,
            Move,
            Special,
            Matrix,
            Branch,
            Synchronise,
            Exchange,
            GlobalLoad,
            GlobalStore,
            SharedLoad,
            SharedStore,
            LocalLoad,
            LocalStore,
            Parameter,
            Generic,
            Atomic,
            AsyncCopy,
            Other,
        ]
    };
}

/// The class of an instruction and the floating-point operations of one lane (a fused multiply-add counts two).
pub(super) fn classify(i: &Inst, program: &Program) -> (Class, u16) {
    use Op::*;
    match i.op {
        Nop | Clock | ActiveMask | Nanosleep | Print | Note | Assert => (Class::Other, 0),
        Mov32 | Mov64 | MovPred | Select32 | Select64 | Pack64 | Unpack64 | Pack32 | Unpack32 | Pack4x16
        | Unpack4x16 | FrameAddress => (Class::Move, 0),
        ZeroExtend | SignExtend | Truncate | F32ToS32 | S32ToF32 | U32ToF32 | F32ToF64 | F64ToF32 | F16ToF32
        | F32ToF16 => (Class::Convert, 0),
        AddF32 | SubF32 | MulF32 | AddF64 | SubF64 | MulF64 => (Class::Float, 1),
        FmaF32 | FmaF64 => (Class::Float, 2),
        MaxF32 | MinF32 | NegF32 | AbsF32 | NegF64 | SetpF32 | SetpF64 | SetpHalf2 => (Class::Float, 0),
        DivF32 | SqrtF32 | RcpF32 | Ex2 | DivF64 => (Class::Special, 1),
        Bra | BraIndexed | Ret | Exit | Trap | Call | CallIndirect => (Class::Branch, 0),
        Barrier | BarrierArrive | BarrierReduce | WarpSync | Fence | Mbarrier => (Class::Synchronise, 0),
        Shuffle | Vote | Match | Redux | Elect => (Class::Exchange, 0),
        LdGlobal | LdStrongGlobal => (Class::GlobalLoad, 0),
        StGlobal => (Class::GlobalStore, 0),
        LdShared | LdStrongShared | Ldmatrix => (Class::SharedLoad, 0),
        StShared | Stmatrix => (Class::SharedStore, 0),
        LdLocal => (Class::LocalLoad, 0),
        StLocal => (Class::LocalStore, 0),
        LdParam => (Class::Parameter, 0),
        LdGeneric | StGeneric | WmmaLoad | WmmaStore => (Class::Generic, 0),
        Atomic => (Class::Atomic, 0),
        CpAsync | CpAsyncCommit | CpAsyncWait | CpAsyncArrive => (Class::AsyncCopy, 0),
        Mma | Movmatrix => (Class::Matrix, 0),
        Op::Scalar => program.scalars.get(i.m as usize).map_or((Class::Other, 0), |s| scalar(s.what)),
        _ => (Class::Integer, 0),
    }
}

fn scalar(what: Scalar) -> (Class, u16) {
    use Scalar::*;
    match what {
        AddF(_) | SubF(_) | MulF(_) | AddD(_) | SubD(_) | MulD(_) => (Class::Float, 1),
        FmaF(_) | FmaD(_) => (Class::Float, 2),
        HalfAdd(_, _, packed) | HalfSub(_, _, packed) | HalfMul(_, _, packed) => (Class::Float, 1 + u16::from(packed)),
        HalfFma(_, _, packed) => (Class::Float, 2 + 2 * u16::from(packed)),
        DivF(_) | RcpF(_) | SqrtF(_) | Approx(..) | DivD(_) | RcpD(_) | SqrtD(_) | RcpApproxD | RsqrtApproxD(_)
        | HalfEx2(..) | HalfTanh(..) => (Class::Special, 1),
        ExtremeF(_) | NegF(_) | AbsF(_) | CopysignF | ExtremeD(_) | AbsD | CopysignD | HalfNeg(..) | HalfAbs(..)
        | HalfExtreme(..) | SlctF => (Class::Float, 0),
        IntToInt { .. }
        | FloatToInt { .. }
        | IntToFloat { .. }
        | FloatToFloat { .. }
        | Integral { .. }
        | ToTf32(..)
        | PackHalf { .. }
        | PackFp8 { .. }
        | PackFp8FromHalf { .. }
        | UnpackFp8 { .. } => (Class::Convert, 0),
        _ => (Class::Integer, 0),
    }
}
