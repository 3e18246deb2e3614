//! `mma.sync`.
//!
//! f16, bf16 and tf32 are one group of products of [`dot`] over the whole k. FP8 on an H200 is a sequence: the factors
//! become f16, the products of elements 0 and 1 of every four along k are summed from zero, those of elements 2 and 3
//! are added to it, and C is added last, with an ordinary rounding. f64 is a chain of fused multiply-adds along k.
//! Integers are exact; the sum wraps or, with `.satfinite`, is clamped.

use super::super::scalar::convert::{f16_to_f32, fp8_to_f16};
use super::super::scalar::format::{E4M3, E5M2};
use super::super::scalar::half::{Half, HalfMode};
use super::super::scalar::{Rounding, double, single};
use super::dot::{self, Factors, Slice};
use super::fragment::Fragment;
use super::{Register, Register64};

/// Type of the elements of A or B.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    F16,
    Bf16,
    Tf32,
    F64,
    E4m3,
    E5m2,
    S8,
    U8,
    S4,
    U4,
}

/// Type of the elements of C or D.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Accumulator {
    F16,
    F32,
    F64,
    S32,
}

impl Element {
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "f16" => Element::F16,
            "bf16" => Element::Bf16,
            "tf32" => Element::Tf32,
            "f64" => Element::F64,
            "e4m3" => Element::E4m3,
            "e5m2" => Element::E5m2,
            "s8" => Element::S8,
            "u8" => Element::U8,
            "s4" => Element::S4,
            "u4" => Element::U4,
            _ => return None,
        })
    }

    pub const fn bits(self) -> u32 {
        match self {
            Element::F16 | Element::Bf16 => 16,
            Element::Tf32 => 32,
            Element::F64 => 64,
            Element::E4m3 | Element::E5m2 | Element::S8 | Element::U8 => 8,
            Element::S4 | Element::U4 => 4,
        }
    }

    /// A factor of the tensor core as f32 bits; integers and f64 have none.
    #[inline]
    fn factor(self, bits: u32) -> u32 {
        match self {
            Element::Bf16 => bits << 16,
            // The 13 low bits are not read.
            Element::Tf32 => bits & 0xffff_e000,
            Element::E4m3 => f16_to_f32(fp8_to_f16(bits as u8, E4M3)),
            Element::E5m2 => f16_to_f32(fp8_to_f16(bits as u8, E5M2)),
            _ => f16_to_f32(bits as u16),
        }
    }

    /// Exponent of the least normal number of the format that the tensor core multiplies: FP8 becomes f16 first, where
    /// its subnormals are normal.
    const fn least_exponent(self) -> i16 {
        match self {
            Element::Bf16 | Element::Tf32 => -126,
            _ => -14,
        }
    }

    #[inline]
    fn integer(self, bits: u32) -> i16 {
        match self {
            Element::S8 => i16::from(bits as u8 as i8),
            Element::S4 => (((bits << 28) as i32) >> 28) as i16,
            _ => bits as i16,
        }
    }
}

impl Accumulator {
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "f16" => Accumulator::F16,
            "f32" => Accumulator::F32,
            "f64" => Accumulator::F64,
            "s32" => Accumulator::S32,
            _ => return None,
        })
    }

    pub const fn bits(self) -> u32 {
        match self {
            Accumulator::F16 => 16,
            Accumulator::F32 | Accumulator::S32 => 32,
            Accumulator::F64 => 64,
        }
    }
}

/// Elements of the largest operand.
const MOST: usize = 1024;
/// Elements of the largest floating-point operand.
const MOST_FLOATS: usize = 512;
/// Elements of the largest result.
const MOST_RESULTS: usize = 256;

/// One supported form of `mma.sync`, `.row.col`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mma {
    m: u32,
    n: u32,
    k: u32,
    a: Element,
    b: Element,
    c: Accumulator,
    d: Accumulator,
    saturate: bool,
}

/// Element types of `mma` and `wmma.mma`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Types {
    pub a: Element,
    pub b: Element,
    pub c: Accumulator,
    pub d: Accumulator,
    /// `.satfinite` of the integer forms.
    pub saturate: bool,
}

impl Mma {
    /// The form `m16n8k16` and so on, or None if it does not exist or is not supported.
    pub fn new((m, n, k): (u32, u32, u32), types: Types) -> Option<Self> {
        let form = Self::unchecked((m, n, k), types);
        form.exists().then_some(form)
    }

    /// Any form: `wmma` has shapes of its own.
    pub(super) fn unchecked((m, n, k): (u32, u32, u32), types: Types) -> Self {
        let Types { a, b, c, d, saturate } = types;
        Mma { m, n, k, a, b, c, d, saturate }
    }

    /// m, n, k.
    pub fn shape(&self) -> (u32, u32, u32) {
        (self.m, self.n, self.k)
    }

    pub fn types(&self) -> Types {
        Types { a: self.a, b: self.b, c: self.c, d: self.d, saturate: self.saturate }
    }

    fn exists(&self) -> bool {
        use Element::*;
        let shape = (self.m, self.n, self.k);
        let float = matches!(self.c, Accumulator::F16 | Accumulator::F32);
        let good = match (self.a, self.b) {
            (F16, F16) => float && self.c == self.d && matches!(shape, (16, 8, 8 | 16)),
            (Bf16, Bf16) => self.c == Accumulator::F32 && matches!(shape, (16, 8, 8 | 16)),
            (Tf32, Tf32) => self.c == Accumulator::F32 && matches!(shape, (16, 8, 4 | 8)),
            (F64, F64) => self.c == Accumulator::F64 && matches!(shape, (8, 8, 4) | (16, 8, 4 | 8 | 16)),
            (E4m3 | E5m2, E4m3 | E5m2) => float && matches!(shape, (16, 8, 16 | 32)),
            (S8 | U8, S8 | U8) => self.c == Accumulator::S32 && matches!(shape, (8, 8, 16) | (16, 8, 16 | 32)),
            (S4 | U4, S4 | U4) => self.c == Accumulator::S32 && matches!(shape, (8, 8, 32) | (16, 8, 32 | 64)),
            _ => false,
        };
        good && self.c == self.d
    }

    pub fn fragment_a(&self) -> Fragment {
        Fragment::a(self.m, self.k, self.a.bits())
    }

    pub fn fragment_b(&self) -> Fragment {
        Fragment::b(self.k, self.n, self.b.bits())
    }

    pub fn fragment_c(&self) -> Fragment {
        Fragment::accumulator(self.m, self.n, self.c.bits())
    }

    pub fn fragment_d(&self) -> Fragment {
        Fragment::accumulator(self.m, self.n, self.d.bits())
    }

    /// `d = a * b + c` for every type but f64. Missing registers count as zero.
    pub fn execute(&self, a: &[Register], b: &[Register], c: &[Register], d: &mut [Register]) {
        let fragments = [self.fragment_a(), self.fragment_b(), self.fragment_c(), self.fragment_d()];
        self.execute_in(&fragments, self.k as usize, a, b, c, d);
    }

    /// The same with the fragments of `wmma`, and with `group` products summed at a time.
    pub(super) fn execute_in(
        &self,
        [fa, fb, fc, fd]: &[Fragment; 4],
        group: usize,
        a: &[Register],
        b: &[Register],
        c: &[Register],
        d: &mut [Register],
    ) {
        let (n, k) = (self.n as usize, self.k as usize);
        let mut addends = [0u32; MOST_RESULTS];
        fc.each(c, |row, column, bits| set(&mut addends, row * n + column, bits));
        let results = if self.c == Accumulator::S32 {
            let (mut rows, mut columns) = ([0i16; MOST], [0i16; MOST]);
            fa.each(a, |row, i, bits| set(&mut rows, row * k + i, self.a.integer(bits)));
            fb.each(b, |i, column, bits| set(&mut columns, column * k + i, self.b.integer(bits)));
            self.each_result(&addends, |row, column, c| {
                match (rows.get(row..row + k), columns.get(column..column + k)) {
                    (Some(x), Some(y)) => self.integer(x, y, c),
                    _ => 0,
                }
            })
        } else {
            let fp8 = self.a.bits() == 8;
            let place = |i: usize| if fp8 { fp8_order(i, k) } else { i };
            let (mut rows, mut columns) = (Factors::<MOST_FLOATS>::new(), Factors::<MOST_FLOATS>::new());
            let (least_a, least_b) = (self.a.least_exponent(), self.b.least_exponent());
            fa.each(a, |row, i, bits| rows.set(row * k + place(i), self.a.factor(bits), least_a));
            fb.each(b, |i, column, bits| columns.set(column * k + place(i), self.b.factor(bits), least_b));
            let group = if fp8 { k / 2 } else { group };
            self.each_result(&addends, |row, column, c| {
                self.float(rows.slice(row, k), columns.slice(column, k), c, group, fp8)
            })
        };
        fd.fill(d, |row, column| results.get(row * n + column).copied().unwrap_or(0));
    }

    /// Calls `f` with the places of the first factors of row and column, and the addend, for every result.
    #[inline]
    fn each_result(&self, addends: &[u32; MOST_RESULTS], f: impl Fn(usize, usize, u32) -> u32) -> [u32; MOST_RESULTS] {
        let (n, k) = (self.n as usize, self.k as usize);
        let mut results = [0; MOST_RESULTS];
        for (index, (result, &addend)) in results.iter_mut().zip(addends).take(self.m as usize * n).enumerate() {
            *result = f(index / n * k, index % n * k, addend);
        }
        results
    }

    #[inline]
    fn integer(&self, a: &[i16], b: &[i16], c: u32) -> u32 {
        // At most 64 products of 8 bits each.
        let products: i32 = a.iter().zip(b).map(|(&x, &y)| i32::from(x) * i32::from(y)).sum();
        if self.saturate { (c as i32).saturating_add(products) as u32 } else { c.wrapping_add(products as u32) }
    }

    #[inline]
    fn float(&self, a: Slice, b: Slice, c: u32, group: usize, fp8: bool) -> u32 {
        let groups = || a.groups(group).zip(b.groups(group));
        if self.d == Accumulator::F32 || self.c == Accumulator::F32 {
            let first = match (fp8, self.c) {
                (true, _) => 0,
                (_, Accumulator::F16) => f16_to_f32(c as u16),
                _ => c,
            };
            let sum = groups().fold(first, |sum, (x, y)| dot::to_f32(x, y, sum));
            match (fp8, self.d) {
                (true, _) => single::add_rn(sum, c),
                (_, Accumulator::F16) => u32::from(Half::F16.from_f32(sum)),
                _ => sum,
            }
        } else {
            let first = if fp8 { 0 } else { c as u16 };
            let sum = groups().fold(first, |sum, (x, y)| dot::to_f16(x, y, f16_to_f32(sum)));
            u32::from(if fp8 { Half::F16.add(sum, c as u16, HalfMode::default()) } else { sum })
        }
    }

    /// `d = a * b + c` for f64: fused multiply-adds along k.
    pub fn execute_f64(&self, a: &[Register64], b: &[Register64], c: &[Register64], d: &mut [Register64]) {
        let (n, k) = (self.n as usize, self.k as usize);
        let (mut rows, mut columns, mut sums) = ([0u64; 256], [0u64; 256], [0u64; MOST_RESULTS]);
        self.fragment_a().each64(a, |row, i, bits| set(&mut rows, row * k + i, bits));
        self.fragment_b().each64(b, |i, column, bits| set(&mut columns, column * k + i, bits));
        let fragment = self.fragment_c();
        fragment.each64(c, |row, column, bits| set(&mut sums, row * n + column, bits));
        for (index, sum) in sums.iter_mut().enumerate().take(self.m as usize * n) {
            let (row, column) = (index / n * k, index % n * k);
            for i in 0..k {
                let (x, y) = (rows.get(row + i), columns.get(column + i));
                *sum = double::fma(*x.unwrap_or(&0), *y.unwrap_or(&0), *sum, Rounding::NearestEven);
            }
        }
        for (register, words) in (0..fragment.registers()).zip(d) {
            for (lane, word) in words.iter_mut().enumerate() {
                let (row, column) = fragment.position(register, 0, lane as u32);
                *word = sums.get(row as usize * n + column as usize).copied().unwrap_or(0);
            }
        }
    }
}

/// Where element `i` along k comes in the order of summation of FP8: elements 0 and 1 of every four first.
fn fp8_order(i: usize, k: usize) -> usize {
    i / 4 * 2 + i % 2 + if i % 4 < 2 { 0 } else { k / 2 }
}

#[inline]
fn set<T>(cells: &mut [T], index: usize, value: T) {
    if let Some(cell) = cells.get_mut(index) {
        *cell = value;
    }
}
