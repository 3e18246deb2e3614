//! What one note of one thread decides.

use super::book::{Book, Check};
use super::prelude::SIGNED;
use super::shape::Shape;
use super::symbol::wrapped;
use super::thread::Thread;
use crate::facts::{Interval, type_range};
use crate::ptx::Note;

/// Whether a claim holds; `None` where that cannot be computed.
pub type Verdict = Option<Result<(), String>>;

pub fn verdict(holds: bool, seen: impl FnOnce() -> String) -> Verdict {
    Some(if holds { Ok(()) } else { Err(seen()) })
}

/// The number that a note carries.
pub fn observed(value: u64, what: u32) -> i128 {
    if what & SIGNED != 0 { i128::from(value as i64) } else { i128::from(value) }
}

/// Equal modulo 2^64.
pub fn same_word(a: i128, b: i128) -> bool {
    (a.wrapping_sub(b)) as u64 == 0
}

/// The claim by whose value a signed expression overflows: outside of its type, and cut to it what was seen. The program
/// is not defined then.
pub fn overflow(book: &Book, id: usize, t: &Thread, seen: i128) -> Option<usize> {
    let (claim, ty) = book.signed[id]?;
    let Check::Equals { value, .. } = book.checks.get(claim)? else { return None };
    let v = value.value(&t.values)?;
    (!Interval::point(v).within(type_range(ty)) && wrapped(v, ty) == Some(seen)).then_some(claim)
}

/// What one thread decides by itself; `None` for what is settled elsewhere.
pub fn single(
    check: &Check,
    t: &mut Thread,
    claim: usize,
    note: &Note,
    seen: i128,
    raw: u64,
    shape: Shape,
) -> Option<Verdict> {
    let bytes = note.what & !SIGNED;
    let plain = || format!("{seen}");
    let address = || format!("address {raw:#x}");
    let within = |v: i128, r: &Interval, f: &dyn Fn() -> String| verdict(Interval::point(v).within(*r), f);
    Some(match check {
        Check::Equals { value, modular, own } => match value.value(&t.values) {
            Some(v) => {
                let holds = if *modular { same_word(v, seen) } else { v == seen };
                verdict(holds, || format!("{seen} instead of {v}"))
            }
            // The symbol is named by this value.
            None if *own => return None,
            None => None,
        },
        Check::Within(range) => within(seen, range, &plain),
        Check::Leaves { modulus, residue } => verdict(seen.rem_euclid(*modulus) == *residue, plain),
        Check::Type { bytes: b, unsigned } => {
            let is_unsigned = note.what & SIGNED == 0;
            verdict(*b == bytes && *unsigned == is_unsigned, || {
                format!("{} of {bytes} bytes", if is_unsigned { "unsigned" } else { "signed" })
            })
        }
        Check::Means(test) => {
            test.value(&t.values).and_then(|v| verdict(v == (seen != 0), || format!("{}", seen != 0)))
        }
        Check::Decided(v) => verdict(*v == (seen != 0), || format!("{}", seen != 0)),
        Check::Known(holds) => holds.value(&t.values).and_then(|v| verdict(v, || "it does not hold".into())),
        Check::Address { root, offset } => t.values[*root].and_then(|base| {
            let at = offset.value(&t.values)?.checked_add(base)?;
            verdict(same_word(at, raw.into()), || format!("{} bytes behind, not {}", i128::from(raw) - base, at - base))
        }),
        Check::OffsetWithin { root, range } => t.values[*root].and_then(|base| {
            let behind = i128::from(raw) - base;
            within(behind, range, &|| format!("{behind} bytes behind"))
        }),
        Check::Width(b) => verdict(*b == bytes, || format!("{bytes} bytes")),
        Check::Aligned { bytes, always, first } => {
            if first.iter().any(|l| t.turns[*l] != 0) {
                return None;
            }
            verdict((i128::from(raw) % bytes == 0) == *always, address)
        }
        Check::Stride { of, inner, step } => {
            let key = (claim, t.entries[*of], inner.iter().map(|l| t.turns[*l]).collect());
            let turn = t.turns[*of];
            match t.remember(key, (turn, raw)) {
                Some((before, at)) if before + 1 == turn => {
                    let grown = i128::from(raw.wrapping_sub(at) as i64);
                    step.value(&t.values)
                        .and_then(|s| verdict(same_word(s, grown), || format!("{grown} bytes instead of {s}")))
                }
                _ => return None,
            }
        }
        Check::Threads { axis, range } => {
            let n = shape.block.get(*axis).copied().unwrap_or_else(|| shape.threads());
            within(n.into(), range, &|| format!("{n}"))
        }
        Check::ThreadsDivide { by, always } => {
            verdict((i128::from(shape.block[0]) % by == 0) == *always, || format!("{}", shape.block[0]))
        }
        _ => return None,
    })
}
