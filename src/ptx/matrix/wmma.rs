//! `wmma.load`, `wmma.mma`, `wmma.store`.
//!
//! The ISA calls the layout of these fragments unspecified; the maps here are those of an H200, read off it with matrices
//! of indices, so that code which works on a fragment element by element, or relies on where an element is, behaves as it
//! does there. f16 fragments of A and B have eight registers in every shape and repeat themselves if four or two suffice.

use super::fragment::Fragment;
use super::mma::{Accumulator, Element, Mma};
use super::{Register, Register64};

/// One form of `wmma`: shapes m16n16k16, m32n8k16, m8n32k16 (f16, bf16, s8, u8), m16n16k8 (tf32), m8n8k4 (f64).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wmma {
    pub m: u32,
    pub n: u32,
    pub k: u32,
}

impl Wmma {
    /// The shape, if it is supported for elements of this type.
    pub fn supported(self, element: Element) -> Option<Self> {
        use Element::*;
        let shape = (self.m, self.n, self.k);
        let good = match element {
            F16 | Bf16 | S8 | U8 => matches!(shape, (16, 16, 16) | (32, 8, 16) | (8, 32, 16)),
            Tf32 => shape == (16, 16, 8),
            F64 => shape == (8, 8, 4),
            _ => false,
        };
        good.then_some(self)
    }

    /// Fragment of A, m x k.
    pub fn fragment_a(&self, element: Element) -> Fragment {
        let block = Fragment::a(self.m.min(16), self.k, element.bits());
        self.padded(if self.m == 32 { block.stacked(32) } else { block }, element)
    }

    /// Fragment of B, k x n.
    pub fn fragment_b(&self, element: Element) -> Fragment {
        // The widest shape is computed transposed: its B is laid out as A of m32n8k16.
        let fragment = if self.n == 32 {
            Fragment::a(16, self.k, element.bits()).stacked(32).transposed()
        } else {
            Fragment::b(self.k, self.n, element.bits())
        };
        self.padded(fragment, element)
    }

    /// Fragment of C and D, m x n.
    pub fn fragment_c(&self, accumulator: Accumulator) -> Fragment {
        match self.n {
            32 => Fragment::accumulator(32, 8, accumulator.bits()).transposed(),
            _ => Fragment::accumulator(self.m, self.n, accumulator.bits()),
        }
    }

    fn padded(&self, fragment: Fragment, element: Element) -> Fragment {
        if element == Element::F16 { fragment.repeated(8) } else { fragment }
    }

    /// `d = a * b + c` for every type but f64. Layouts of A and B play no part: fragments do not depend on them.
    pub fn execute(&self, types: Types, a: &[Register], b: &[Register], c: &[Register], d: &mut [Register]) {
        let mma = self.mma(types);
        let fragments =
            [self.fragment_a(types.a), self.fragment_b(types.b), self.fragment_c(types.c), self.fragment_c(types.d)];
        // tf32 is summed four products at a time here.
        let group = if types.a == Element::Tf32 { 4 } else { self.k as usize };
        mma.execute_in(&fragments, group, a, b, c, d);
    }

    /// `d = a * b + c` for f64.
    pub fn execute_f64(
        &self,
        types: Types,
        a: &[Register64],
        b: &[Register64],
        c: &[Register64],
        d: &mut [Register64],
    ) {
        self.mma(types).execute_f64(a, b, c, d);
    }

    fn mma(&self, types: Types) -> Mma {
        let Types { a, b, c, d, saturate } = types;
        Mma { m: self.m, n: self.n, k: self.k, a, b, c, d, saturate }
    }
}

/// Element types of `wmma.mma`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Types {
    pub a: Element,
    pub b: Element,
    pub c: Accumulator,
    pub d: Accumulator,
    /// `.satfinite` of the integer forms.
    pub saturate: bool,
}
