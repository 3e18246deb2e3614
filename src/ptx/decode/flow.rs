//! Which registers an instruction reads and writes, for analyses of where a value goes.

use smallvec::SmallVec;

use super::async_copy::{MBARRIER_OPS, MbarrierOp};
use super::matrix::List;
use super::memory::{WIDE_BASE, WIDE_REGS};
use super::op::{CARRY, Inst, NEGATED, Op};
use super::program::Program;

/// A register of one of the three files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    Word(u16),
    Wide(u16),
    Predicate(u16),
}

/// What becomes of the values that an instruction reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// They only go into what it writes, lane by lane.
    Result,
    /// One of `reads[0]` and `reads[1]` is taken, as `reads[2]` says.
    Choice,
    /// Lanes exchange them.
    Exchange,
    /// They leave the registers, or decide where something happens.
    Used,
}

/// Registers of one instruction, its guard left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Flow {
    pub reads: SmallVec<[Place; 4]>,
    pub writes: SmallVec<[Place; 2]>,
    pub fate: Fate,
}

fn file(wide: bool, register: u16) -> Place {
    if wide { Place::Wide(register) } else { Place::Word(register) }
}

fn predicate(index: u16) -> Place {
    Place::Predicate(index & !NEGATED)
}

/// The registers of an instruction. Operands that an opcode does not use name register 0, which holds nothing.
pub(crate) fn flow(program: &Program, i: &Inst) -> Flow {
    use Op::*;
    let mut of = Flow { reads: SmallVec::new(), writes: SmallVec::new(), fate: Fate::Result };
    let words = [Place::Word(i.a), Place::Word(i.b), Place::Word(i.c)];
    let wides = [Place::Wide(i.a), Place::Wide(i.b), Place::Wide(i.c)];
    let mut same = |file: [Place; 3], d: Place| {
        of.reads.extend(file);
        of.writes.push(d);
    };
    match i.op {
        Mov32 | Add32 | Sub32 | Mul32 | Mad32 | MulHiU32 | MulHiS32 | MinU32 | MinS32 | MaxU32 | MaxS32 | And32
        | Or32 | Xor32 | Not32 | Neg32 | Shl32 | ShrU32 | ShrS32 | Lop3 | AddF32 | SubF32 | MulF32 | FmaF32
        | DivF32 | SqrtF32 | RcpF32 | MaxF32 | MinF32 | NegF32 | AbsF32 | F32ToS32 | S32ToF32 | U32ToF32 | F16ToF32
        | F32ToF16 | Ex2 | Pack32 => same(words, Place::Word(i.d)),
        Mov64 | Add64 | Sub64 | Mul64 | Mad64 | And64 | Or64 | Xor64 | Not64 | Neg64 | AddF64 | SubF64 | MulF64
        | FmaF64 | DivF64 | NegF64 => same(wides, Place::Wide(i.d)),
        MulWideU32 | MulWideS32 | MadWideU32 | MadWideS32 => {
            same([words[0], words[1], wides[2]], Place::Wide(i.d));
        }
        Shl64 | ShrU64 | ShrS64 => same([wides[0], words[1], words[1]], Place::Wide(i.d)),
        ZeroExtend | SignExtend | F32ToF64 | Pack64 => same(words, Place::Wide(i.d)),
        Truncate | F64ToF32 => same(wides, Place::Word(i.d)),
        SetpU32 | SetpS32 | SetpF32 | SetpU64 | SetpS64 | SetpF64 | SetpOther | SetpHalf2 => {
            compare(program, i, &mut of)
        }
        MovPred | NotPred | AndPred | OrPred | XorPred => {
            of.reads.extend([predicate(i.a), predicate(i.b)]);
            of.writes.push(Place::Predicate(i.d));
        }
        Select32 | Select64 => {
            let wide = i.op == Select64;
            of.reads.extend([file(wide, i.a), file(wide, i.b), predicate(i.c)]);
            of.writes.push(file(wide, i.d));
            of.fate = Fate::Choice;
        }
        Unpack64 => {
            of.reads.push(wides[0]);
            of.writes.extend([Place::Word(i.d), Place::Word(i.b)]);
        }
        Unpack32 => {
            of.reads.push(words[0]);
            of.writes.extend([Place::Word(i.d), Place::Word(i.b)]);
        }
        Pack4x16 => {
            of.reads.extend(words);
            of.reads.push(Place::Word(i.off as u16));
            of.writes.push(Place::Wide(i.d));
        }
        Unpack4x16 => {
            of.reads.push(wides[0]);
            of.writes.extend([i.d, i.b, i.c, i.off as u16].map(Place::Word));
        }
        Op::Scalar => {
            let op = program.scalars.get(i.m as usize);
            let wide = op.map_or([false; 3], |s| s.wide);
            of.reads.extend([file(wide[0], i.a), file(wide[1], i.b), file(wide[2], i.c)]);
            if let Some(super::op::Scalar::Int(super::op::IntOp::Bfi, _)) = op.map(|s| s.what) {
                of.reads.push(Place::Word(i.off as u16));
            }
            of.writes.push(file(op.is_some_and(|s| s.wide_d), i.d));
        }
        Carry => {
            let wide = i.m & 32 != 0;
            of.reads.extend([i.a, i.b, i.c].map(|r| file(wide, r)));
            if i.m & 4 != 0 {
                of.reads.push(Place::Predicate(CARRY));
            }
            of.writes.push(file(wide, i.d));
            if i.m & 8 != 0 {
                of.writes.push(Place::Predicate(CARRY));
            }
        }
        Clock | FrameAddress => of.writes.push(file(i.m & 1 != 0, i.d)),
        ActiveMask => of.writes.push(Place::Word(i.d)),
        _ => other(program, i, &mut of),
    }
    of
}

fn compare(program: &Program, i: &Inst, of: &mut Flow) {
    let wide = match i.op {
        Op::SetpU64 | Op::SetpS64 | Op::SetpF64 => [true; 3],
        Op::SetpOther => program.scalars.get(i.off as usize).map_or([false; 3], |s| s.wide),
        _ => [false; 3],
    };
    of.reads.extend([file(wide[0], i.a), file(wide[1], i.b)]);
    if i.m >> 4 & 3 != 0 {
        of.reads.push(predicate(i.c));
    }
    of.writes.extend([Place::Predicate(i.d), Place::Predicate((i.m >> 16) as u16)]);
}

/// Instructions whose operands leave the registers or meet those of other lanes.
fn other(program: &Program, i: &Inst, of: &mut Flow) {
    use Op::*;
    of.fate = Fate::Used;
    match i.op {
        Shuffle => {
            of.reads.extend([i.a, i.b, i.c].map(Place::Word));
            of.writes.extend([Place::Word(i.d), Place::Predicate((i.m >> 16) as u16)]);
            of.fate = Fate::Exchange;
        }
        Vote => {
            of.reads.push(predicate(i.a));
            of.writes.push(if i.m & 3 == 3 { Place::Word(i.d) } else { Place::Predicate(i.d) });
        }
        Match => {
            of.reads.push(file(i.m & 2 != 0, i.a));
            of.writes.extend([Place::Word(i.d), Place::Predicate(i.off as u16)]);
        }
        Redux => {
            of.reads.push(Place::Word(i.a));
            of.writes.push(Place::Word(i.d));
        }
        Elect => of.writes.extend([Place::Word(i.d), Place::Predicate(i.off as u16)]),
        LdGlobal | LdShared | LdStrongGlobal | LdStrongShared | LdLocal | LdParam | LdGeneric => {
            of.reads.push(file(i.m & WIDE_BASE != 0, i.a));
            of.writes.extend(elements(program, i, i.d));
        }
        StGlobal | StShared | StLocal | StGeneric => {
            of.reads.push(file(i.m & WIDE_BASE != 0, i.a));
            of.reads.extend(elements(program, i, i.b));
        }
        Atomic => {
            let wide = i.m >> 16 & 7 == 3;
            of.reads.extend([file(i.m >> 11 & 1 != 0, i.a), file(wide, i.b), file(wide, i.c)]);
            if i.m >> 10 & 1 != 0 {
                of.writes.push(file(wide, i.d));
            }
        }
        IsSpace => {
            of.reads.push(Place::Wide(i.a));
            of.writes.push(Place::Predicate(i.d));
        }
        BraIndexed => of.reads.push(Place::Word(i.a)),
        CallIndirect => of.reads.push(Place::Wide(i.a)),
        CpAsync => {
            of.reads.extend([file(i.m & 1 << 6 != 0, i.a), Place::Wide(i.b)]);
            if i.m & 1 << 7 != 0 {
                of.reads.push(predicate(i.c));
            } else if i.m & 1 << 5 != 0 {
                of.reads.push(Place::Word(i.c));
            }
        }
        BarrierReduce => {
            of.reads.push(predicate(i.c));
            of.writes.push(if i.m & 3 == 0 { Place::Word(i.d) } else { Place::Predicate(i.d) });
        }
        Mbarrier => mbarrier(i, of),
        Ldmatrix | Stmatrix | Mma | WmmaLoad | WmmaStore => matrix(program, i, of),
        Movmatrix => {
            of.reads.push(Place::Word(i.a));
            of.writes.push(Place::Word(i.d));
        }
        _ => {}
    }
}

/// The value registers of a load or store.
fn elements(program: &Program, i: &Inst, single: u16) -> SmallVec<[Place; 8]> {
    let wide = i.m & WIDE_REGS != 0;
    let count = (i.m >> 5 & 15) as usize;
    if count == 1 {
        return SmallVec::from_slice(&[file(wide, single)]);
    }
    let at = usize::from(i.c) << 16 | usize::from(i.d);
    program.lists.get(at..at + count).unwrap_or(&[]).iter().map(|r| file(wide, *r)).collect()
}

fn mbarrier(i: &Inst, of: &mut Flow) {
    let op = MBARRIER_OPS[(i.m & 15) as usize % MBARRIER_OPS.len()];
    of.reads.push(file(i.m & 1 << 4 != 0, i.a));
    match op {
        MbarrierOp::Pending => of.writes.push(Place::Word(i.d)),
        MbarrierOp::TestWait | MbarrierOp::TryWait | MbarrierOp::TestParity | MbarrierOp::TryParity => {
            of.writes.push(Place::Predicate(i.d));
        }
        _ if i.m & 1 << 6 != 0 => of.writes.push(Place::Wide(i.d)),
        _ => {}
    }
}

fn matrix(program: &Program, i: &Inst, of: &mut Flow) {
    let Some(op) = program.matrix.get(i.m as usize) else { return };
    let registers = |list: List| {
        let list = program.lists.get(list.at as usize..list.at as usize + usize::from(list.count)).unwrap_or(&[]);
        list.iter().map(|r| file(op.wide, *r)).collect::<SmallVec<[Place; 8]>>()
    };
    let stores = matches!(i.op, Op::Stmatrix | Op::WmmaStore);
    if stores {
        of.reads.extend(registers(op.d));
    } else {
        of.writes.extend(registers(op.d));
    }
    for list in [op.a, op.b, op.c] {
        of.reads.extend(registers(list));
    }
    if i.op != Op::Mma {
        of.reads.push(file(op.wide_base, i.a));
    }
}
