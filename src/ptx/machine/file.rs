//! A register file: rows of 32 lanes, and what is known of how the lanes of a row differ.
//!
//! Addresses are looked at again and again: a base register serves many accesses. What was found of a row is kept until
//! the row is written, which every mutable access counts as.

use std::ops::{Index, IndexMut};

use super::regs::put;

/// How the lanes of each half of a row differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Half {
    Other,
    /// One value for all.
    Broadcast,
    /// Four more from lane to lane.
    Row,
}

const KNOWN: u8 = 1 << 7;

/// A lane of a row.
pub(crate) trait Lane: Copy + Default + PartialEq {
    /// `self + 4 * n`, wrapping.
    fn step(self, n: u32) -> Self;
}

impl Lane for u32 {
    #[inline(always)]
    fn step(self, n: u32) -> u32 {
        self.wrapping_add(4 * n)
    }
}

impl Lane for u64 {
    #[inline(always)]
    fn step(self, n: u32) -> u64 {
        self.wrapping_add(4 * u64::from(n))
    }
}

#[derive(Debug, Clone)]
pub(crate) struct File<T> {
    rows: Vec<[T; 32]>,
    shapes: Vec<u8>,
}

impl<T: Lane> File<T> {
    pub fn new(count: usize) -> Self {
        File { rows: vec![[T::default(); 32]; count], shapes: vec![0; count] }
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// How the halves of a row differ in themselves.
    #[inline(always)]
    pub fn halves(&mut self, register: u16) -> [Half; 2] {
        let at = usize::from(register);
        let shape = match self.shapes.get(at) {
            Some(&shape) if shape & KNOWN != 0 => shape,
            _ => self.look(at),
        };
        [shape, shape >> 2].map(|bits| match bits & 3 {
            1 => Half::Broadcast,
            2 => Half::Row,
            _ => Half::Other,
        })
    }

    #[inline(never)]
    fn look(&mut self, at: usize) -> u8 {
        let (Some(row), Some(shape)) = (self.rows.get(at), self.shapes.get_mut(at)) else { return 0 };
        let of = |half: &[T]| {
            let first = half.first().copied().unwrap_or_default();
            if half.iter().all(|x| *x == first) {
                1
            } else if half.iter().zip(0..).all(|(x, n)| *x == first.step(n)) {
                2
            } else {
                0
            }
        };
        *shape = KNOWN | of(&row[..16]) | of(&row[16..]) << 2;
        *shape
    }

    /// A copy of some rows.
    pub fn save(&self, range: (u16, u16)) -> Vec<[T; 32]> {
        self.rows.get(usize::from(range.0)..usize::from(range.1)).unwrap_or(&[]).to_vec()
    }

    /// Puts rows back in the lanes of a mask.
    pub fn restore(&mut self, first: u16, saved: &[[T; 32]], mask: u32) {
        for (n, old) in saved.iter().enumerate() {
            put(&mut self[usize::from(first) + n], old, mask);
        }
    }
}

impl<T> Index<usize> for File<T> {
    type Output = [T; 32];

    #[inline(always)]
    fn index(&self, register: usize) -> &[T; 32] {
        &self.rows[register]
    }
}

impl<T> IndexMut<usize> for File<T> {
    #[inline(always)]
    fn index_mut(&mut self, register: usize) -> &mut [T; 32] {
        self.shapes[register] = 0;
        &mut self.rows[register]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_of_a_row_ends_with_a_write() {
        let mut file: File<u32> = File::new(2);
        assert_eq!(file.halves(1), [Half::Broadcast; 2]);
        for lane in 0..16 {
            file[1][lane] = 40 + 4 * lane as u32;
        }
        assert_eq!(file.halves(1), [Half::Row, Half::Broadcast]);
        file[1][31] = 1;
        assert_eq!(file.halves(1), [Half::Row, Half::Other]);
        assert_eq!(file.halves(0), [Half::Broadcast; 2]);
        let saved = file.save((0, 1));
        file.restore(1, &saved, u32::MAX);
        assert_eq!(file.halves(1), [Half::Broadcast; 2]);
    }
}
