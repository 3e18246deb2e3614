//! Lane loops over register rows. All are inlined into the dispatch loop, where they take its vector instructions.

// Indices of lanes say more than iterators here, and vectorise as well.
#![allow(clippy::needless_range_loop)]

pub(crate) type Row = [u32; 32];
pub(crate) type WideRow = [u64; 32];

/// Writes the lanes of a mask.
#[inline(always)]
pub(crate) fn put<T: Copy>(to: &mut [T; 32], from: &[T; 32], mask: u32) {
    if mask == u32::MAX {
        *to = *from;
    } else {
        for lane in 0..32 {
            to[lane] = if mask >> lane & 1 != 0 { from[lane] } else { to[lane] };
        }
    }
}

#[inline(always)]
pub(crate) fn map1<A: Copy, D: Copy + Default>(a: &[A; 32], f: impl Fn(A) -> D) -> [D; 32] {
    let mut out = [D::default(); 32];
    for lane in 0..32 {
        out[lane] = f(a[lane]);
    }
    out
}

#[inline(always)]
pub(crate) fn map2<A: Copy, B: Copy, D: Copy + Default>(a: &[A; 32], b: &[B; 32], f: impl Fn(A, B) -> D) -> [D; 32] {
    let mut out = [D::default(); 32];
    for lane in 0..32 {
        out[lane] = f(a[lane], b[lane]);
    }
    out
}

#[inline(always)]
pub(crate) fn map3<A: Copy, B: Copy, C: Copy, D: Copy + Default>(
    a: &[A; 32],
    b: &[B; 32],
    c: &[C; 32],
    f: impl Fn(A, B, C) -> D,
) -> [D; 32] {
    let mut out = [D::default(); 32];
    for lane in 0..32 {
        out[lane] = f(a[lane], b[lane], c[lane]);
    }
    out
}

/// The mask of lanes for which a comparison holds.
#[inline(always)]
pub(crate) fn compare<A: Copy>(a: &[A; 32], b: &[A; 32], f: impl Fn(A, A) -> bool) -> u32 {
    let mut mask = 0u32;
    for lane in 0..32 {
        mask |= u32::from(f(a[lane], b[lane])) << lane;
    }
    mask
}

/// Lane numbers, for sequences.
const LANES: Row = {
    let mut lanes = [0; 32];
    let mut lane = 0;
    while lane < 32 {
        lanes[lane] = lane as u32;
        lane += 1;
    }
    lanes
};

/// Whether lane `n` holds `first + n * stride`.
#[inline(always)]
pub(crate) fn is_sequence(a: &WideRow, stride: u64) -> bool {
    let mut difference = [0u64; 4];
    for chunk in 0..8 {
        for lane in 0..4 {
            let n = 4 * chunk + lane;
            difference[lane] |= a[n] ^ a[0].wrapping_add(stride.wrapping_mul(n as u64));
        }
    }
    difference[0] | difference[1] | difference[2] | difference[3] == 0
}

#[inline(always)]
pub(crate) fn is_sequence32(a: &Row, stride: u32) -> bool {
    let mut difference = [0u32; 8];
    for chunk in 0..4 {
        for lane in 0..8 {
            let n = 8 * chunk + lane;
            difference[lane] |= a[n] ^ a[0].wrapping_add(stride.wrapping_mul(LANES[n]));
        }
    }
    difference.iter().fold(0, |all, d| all | d) == 0
}

/// Whether the 16 lanes from `start` on hold `first + n * stride`.
#[inline(always)]
pub(crate) fn is_half_sequence(a: &Row, start: usize, stride: u32) -> bool {
    let mut difference = [0u32; 8];
    for chunk in 0..2 {
        for lane in 0..8 {
            let n = 8 * chunk + lane;
            difference[lane] |= a[start + n] ^ a[start].wrapping_add(stride.wrapping_mul(LANES[n]));
        }
    }
    difference.iter().fold(0, |all, d| all | d) == 0
}

/// The greatest value, and the union of all bits.
#[inline(always)]
pub(crate) fn greatest_and_bits(a: &Row) -> (u32, u32) {
    let (mut most, mut bits) = ([0u32; 8], [0u32; 8]);
    for chunk in 0..4 {
        for lane in 0..8 {
            let value = a[8 * chunk + lane];
            most[lane] = if value > most[lane] { value } else { most[lane] };
            bits[lane] |= value;
        }
    }
    (most.iter().fold(0, |m, v| m.max(*v)), bits.iter().fold(0, |m, v| m | v))
}

/// The lanes of a mask, lowest first.
pub(crate) fn lanes(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        if mask == 0 {
            return None;
        }
        let lane = mask.trailing_zeros();
        mask &= mask - 1;
        Some(lane as usize)
    })
}
