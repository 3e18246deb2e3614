//! Predicates of a warp, one bit for each lane, and the comparisons that set them.

use super::regs::*;
use super::warp::Warp;
use crate::ptx::decode::op::{Inst, NEGATED};

#[inline(always)]
pub(crate) fn predicate(p: &[u32], index: u16) -> u32 {
    let value = p[usize::from(index & !NEGATED)];
    if index & NEGATED != 0 { !value } else { value }
}

/// Sets a predicate in the lanes of a mask.
#[inline(always)]
pub(crate) fn put_predicate(p: &mut [u32], index: u16, value: u32, mask: u32) {
    let to = &mut p[usize::from(index)];
    *to = *to & !mask | value & mask;
}

#[inline(always)]
pub(crate) fn put_predicate_of(w: &mut Warp, i: &Inst, mask: u32, value: u32) {
    put_predicate(&mut w.p, i.d, value, mask);
}

#[inline(always)]
pub(crate) fn finish_setp(w: &mut Warp, i: &Inst, value: u32, mask: u32) {
    let (first, second) = match i.m >> 4 & 3 {
        0 => (value, !value),
        1 => (value & predicate(&w.p, i.c), !value & predicate(&w.p, i.c)),
        2 => (value | predicate(&w.p, i.c), !value | predicate(&w.p, i.c)),
        _ => (value ^ predicate(&w.p, i.c), !value ^ predicate(&w.p, i.c)),
    };
    put_predicate(&mut w.p, i.d, first, mask);
    put_predicate(&mut w.p, (i.m >> 16) as u16, second, mask);
}

pub(super) fn unordered32(comparison: u32, a: &Row, b: &Row) -> u32 {
    compare(a, b, |x, y| unordered(comparison, f64::from(f32::from_bits(x)), f64::from(f32::from_bits(y))))
}

pub(super) fn unordered64(comparison: u32, a: &WideRow, b: &WideRow) -> u32 {
    compare(a, b, |x, y| unordered(comparison, f64::from_bits(x), f64::from_bits(y)))
}

fn unordered(comparison: u32, a: f64, b: f64) -> bool {
    let nan = a.is_nan() || b.is_nan();
    match comparison {
        6 => nan || a == b,
        7 => nan || a != b,
        8 => nan || a < b,
        9 => nan || a <= b,
        10 => nan || a > b,
        11 => nan || a >= b,
        12 => !nan,
        _ => nan,
    }
}

pub(super) fn never<T>(_: u32, _: T, _: T) -> u32 {
    0
}
