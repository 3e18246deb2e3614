//! Additions of f32 that are there to round: in a wider format they would keep what they are to drop.
//!
//! `x + 1.5 * 2^23` has no room for a fraction: its low bits are `x` as an integer. Code takes these bits (`2^n` in `expf`
//! is such an integer, shifted into the exponent), subtracts the constant again, or does both and relies on the two being
//! equal. Smaller constants round to a fraction, for tables. Where arithmetic is carried out in f64, such additions are
//! carried out in f32 as they stand.

use super::flow::{Place, flow};
use super::op::{Inst, NEGATED, Op, Scalar};
use super::program::{Program, Value};

/// Constants from which on an addition counts as rounding: whatever becomes of the result; where the constant is taken
/// away again; where the bits of the result are used. Smaller ones occur in plain arithmetic.
const ALWAYS: f32 = 4_194_304.0;
const UNDONE: f32 = 65_536.0;
const AS_BITS: f32 = 256.0;

/// How often what is known of a register is passed on through moves, at most.
const PASSES: usize = 8;

/// For each instruction whether it is such an addition.
pub(crate) fn granular(program: &Program) -> Vec<bool> {
    let constants = constants(program);
    let bits = used_as_bits(program);
    let mut undone = vec![0.0f32; usize::from(program.r)];
    let sums = || program.code.iter().enumerate().filter_map(|(pc, i)| Some((pc, i, addend(program, i, &constants)?)));
    for (_, i, sum) in sums() {
        if let Some(slot) = sum.other.and_then(|r| undone.get_mut(usize::from(r)))
            && usize::from(i.d) < usize::from(program.r)
        {
            *slot = slot.max(sum.constant);
        }
    }
    let mut found = vec![false; program.code.len()];
    for (pc, i, sum) in sums() {
        let d = usize::from(i.d);
        let taken_away = undone.get(d).is_some_and(|c| *c >= sum.constant / 2.0 && *c <= sum.constant * 2.0);
        found[pc] = sum.constant >= ALWAYS
            || (sum.constant >= UNDONE && taken_away)
            || (sum.constant >= AS_BITS && bits.get(d).is_some_and(|b| *b));
    }
    found
}

/// An addition of a constant: its magnitude, and the register that it is added to.
struct Sum {
    constant: f32,
    /// None for a product.
    other: Option<u16>,
}

fn addend(program: &Program, i: &Inst, constants: &[Option<u32>]) -> Option<Sum> {
    let what = program.scalars.get(i.m as usize).map(|s| s.what).filter(|_| i.op == Op::Scalar);
    let value = |r: u16| {
        let bits = constants.get(usize::from(r)).copied().flatten()?;
        Some(f32::from_bits(bits).abs()).filter(|v| v.is_finite())
    };
    match (i.op, what) {
        (Op::AddF32 | Op::SubF32, _) | (_, Some(Scalar::AddF(_) | Scalar::SubF(_))) => match (value(i.a), value(i.b)) {
            (None, Some(constant)) => Some(Sum { constant, other: Some(i.a) }),
            (Some(constant), None) => Some(Sum { constant, other: Some(i.b) }),
            _ => None,
        },
        (Op::FmaF32, _) | (_, Some(Scalar::FmaF(_))) => value(i.c).map(|constant| Sum { constant, other: None }),
        _ => None,
    }
}

/// Registers that hold one constant wherever they hold anything.
fn constants(program: &Program) -> Vec<Option<u32>> {
    let mut constants = vec![None; usize::from(program.r)];
    for (register, value) in &program.values32 {
        if let (Value::Bits(bits), Some(slot)) = (value, constants.get_mut(usize::from(*register))) {
            *slot = Some(*bits as u32);
        }
    }
    let mut writes = vec![0u32; constants.len()];
    for i in &program.code {
        for place in flow(program, i).writes {
            if let Place::Word(r) = place
                && let Some(count) = writes.get_mut(usize::from(r))
            {
                *count += 1;
            }
        }
    }
    for i in program.code.iter().filter(|i| i.op == Op::Mov32 && i.guard & !NEGATED == 0) {
        let (from, to) = (usize::from(i.a), usize::from(i.d));
        if to != 0 && writes.get(to) == Some(&1) && writes.get(from) == Some(&0) {
            constants[to] = constants[from];
        }
    }
    constants
}

/// Registers that integer arithmetic reads, directly or through moves.
fn used_as_bits(program: &Program) -> Vec<bool> {
    let mut used = vec![false; usize::from(program.r)];
    for i in program.code.iter().filter(|i| is_integer(program, i)) {
        for place in flow(program, i).reads {
            if let Place::Word(r) = place
                && let Some(slot) = used.get_mut(usize::from(r))
            {
                *slot = true;
            }
        }
    }
    for _ in 0..PASSES {
        let mut changed = false;
        for i in program.code.iter().rev().filter(|i| matches!(i.op, Op::Mov32 | Op::Select32)) {
            if used.get(usize::from(i.d)) != Some(&true) {
                continue;
            }
            let sources = if i.op == Op::Mov32 { [i.a, i.a] } else { [i.a, i.b] };
            for source in sources {
                if let Some(slot) = used.get_mut(usize::from(source)) {
                    changed |= !*slot;
                    *slot = true;
                }
            }
        }
        if !changed {
            break;
        }
    }
    used
}

fn is_integer(program: &Program, i: &Inst) -> bool {
    use super::op::Scalar as What;
    use Op::*;
    match i.op {
        Add32 | Sub32 | Mul32 | Mad32 | MulHiU32 | MulHiS32 | MulWideU32 | MulWideS32 | MadWideU32 | MadWideS32
        | MinU32 | MinS32 | MaxU32 | MaxS32 | And32 | Or32 | Xor32 | Not32 | Neg32 | Shl32 | ShrU32 | ShrS32 | Lop3
        | ZeroExtend | SignExtend | SetpU32 | SetpS32 | S32ToF32 | U32ToF32 => true,
        Op::Scalar => program.scalars.get(i.m as usize).is_some_and(|s| {
            matches!(
                s.what,
                What::Int(..)
                    | What::IntToInt { .. }
                    | What::IntToFloat { .. }
                    | What::Prmt(_)
                    | What::Shf { .. }
                    | What::Bmsk(_)
                    | What::Szext { .. }
            )
        }),
        _ => false,
    }
}
