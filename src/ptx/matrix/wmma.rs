//! `wmma.load`, `wmma.mma`, `wmma.store`.
//!
//! The ISA calls the layout of these fragments unspecified; the maps here are those of an H200, read off it with matrices
//! of indices, so that code which works on a fragment element by element, or relies on where an element is, behaves as it
//! does there. f16 fragments of A and B have eight registers in every shape and repeat themselves if four or two suffice.

use super::fragment::Fragment;
use super::mma::{Accumulator, Element, Mma, Types};
use super::{Register, Register64};

/// One supported shape of `wmma`: m16n16k16, m32n8k16, m8n32k16 (f16, bf16, s8, u8), m16n16k8 (tf32), m8n8k4 (f64).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Wmma {
    m: u32,
    n: u32,
    k: u32,
}

impl Wmma {
    /// The shape, or None if it does not exist or is not supported.
    pub fn new((m, n, k): (u32, u32, u32)) -> Option<Self> {
        let good = matches!((m, n, k), (16, 16, 16) | (32, 8, 16) | (8, 32, 16) | (16, 16, 8) | (8, 8, 4));
        good.then_some(Wmma { m, n, k })
    }

    /// m, n, k.
    pub fn shape(&self) -> (u32, u32, u32) {
        (self.m, self.n, self.k)
    }

    fn holds(&self, element: Element) -> bool {
        use Element::*;
        match element {
            F16 | Bf16 | S8 | U8 => self.k == 16,
            Tf32 => self.k == 8,
            F64 => self.k == 4,
            _ => false,
        }
    }

    /// Fragment of A, m x k; None if the shape does not exist for elements of this type.
    pub fn fragment_a(&self, element: Element) -> Option<Fragment> {
        let block = Fragment::a(self.m.min(16), self.k, element.bits());
        let fragment = if self.m == 32 { block.stacked(32) } else { block };
        self.holds(element).then(|| padded(fragment, element))
    }

    /// Fragment of B, k x n.
    pub fn fragment_b(&self, element: Element) -> Option<Fragment> {
        // The widest shape is computed transposed: its B is laid out as A of m32n8k16.
        let fragment = if self.n == 32 {
            Fragment::a(16, self.k, element.bits()).stacked(32).transposed()
        } else {
            Fragment::b(self.k, self.n, element.bits())
        };
        self.holds(element).then(|| padded(fragment, element))
    }

    /// Fragment of C and D, m x n.
    pub fn fragment_c(&self, accumulator: Accumulator) -> Option<Fragment> {
        let good = match accumulator {
            Accumulator::F16 | Accumulator::S32 => self.k == 16,
            Accumulator::F32 => self.k != 4,
            Accumulator::F64 => self.k == 4,
        };
        let fragment = match self.n {
            32 => Fragment::accumulator(32, 8, accumulator.bits()).transposed(),
            _ => Fragment::accumulator(self.m, self.n, accumulator.bits()),
        };
        good.then_some(fragment)
    }

    /// The multiplication for these types; None if it does not exist or is not supported. The layouts of A and B play no
    /// part: fragments do not depend on them.
    pub fn multiply(&self, types: Types) -> Option<Multiply> {
        use Element::*;
        let float = |x| matches!(x, Accumulator::F16 | Accumulator::F32);
        let good = match (types.a, types.b) {
            (F16, F16) => float(types.c) && float(types.d),
            (Bf16, Bf16) | (Tf32, Tf32) => types.c == Accumulator::F32 && types.d == Accumulator::F32,
            (S8, S8) | (U8, U8) => types.c == Accumulator::S32 && types.d == Accumulator::S32,
            (F64, F64) => types.c == Accumulator::F64 && types.d == Accumulator::F64,
            _ => false,
        };
        let fragments = [
            self.fragment_a(types.a)?,
            self.fragment_b(types.b)?,
            self.fragment_c(types.c)?,
            self.fragment_c(types.d)?,
        ];
        good.then(|| Multiply { mma: Mma::unchecked(self.shape(), types), fragments })
    }
}

/// Tiles repeated as f16 fragments have them.
fn padded(fragment: Fragment, element: Element) -> Fragment {
    if element == Element::F16 { fragment.repeated(8) } else { fragment }
}

/// One form of `wmma.mma`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Multiply {
    mma: Mma,
    /// Of A, B, C, D.
    pub fragments: [Fragment; 4],
}

impl Multiply {
    /// `d = a * b + c` for every type but f64. Missing registers count as zero.
    pub fn execute(&self, a: &[Register], b: &[Register], c: &[Register], d: &mut [Register]) {
        let (_, _, k) = self.mma.shape();
        // tf32 is summed four products at a time here.
        let group = if self.mma.types().a == Element::Tf32 { 4 } else { k as usize };
        self.mma.execute_in(&self.fragments, group, a, b, c, d);
    }

    /// `d = a * b + c` for f64.
    pub fn execute_f64(&self, a: &[Register64], b: &[Register64], c: &[Register64], d: &mut [Register64]) {
        self.mma.execute_f64(a, b, c, d);
    }
}
