//! `set` and `setp`: comparisons with their unordered variants, `testp`, and `min`/`max`.

use super::convert::F32_NAN;
use super::single::flush;

/// A comparison of `set`, `setp`, `slct`. `lo ls hi hs` are `Lt Le Gt Ge` on unsigned values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// The unordered ones are true if either operand is NaN.
    Equ,
    Neu,
    Ltu,
    Leu,
    Gtu,
    Geu,
    /// Both operands are numbers.
    Num,
    /// At least one operand is NaN.
    Nan,
}

impl Comparison {
    /// By the name in an instruction.
    pub fn parse(name: &str) -> Option<Self> {
        use Comparison::*;
        Some(match name {
            "eq" => Eq,
            "ne" => Ne,
            "lt" | "lo" => Lt,
            "le" | "ls" => Le,
            "gt" | "hi" => Gt,
            "ge" | "hs" => Ge,
            "equ" => Equ,
            "neu" => Neu,
            "ltu" => Ltu,
            "leu" => Leu,
            "gtu" => Gtu,
            "geu" => Geu,
            "num" => Num,
            "nan" => Nan,
            _ => return None,
        })
    }

    /// On floats; f16, bf16 and f32 widen exactly.
    #[inline]
    pub fn floats(self, a: f64, b: f64) -> bool {
        use Comparison::*;
        let unordered = a.is_nan() | b.is_nan();
        match self {
            Eq => a == b,
            // `ne` is ordered in PTX: false on NaN.
            Ne => a != b && !unordered,
            Lt => a < b,
            Le => a <= b,
            Gt => a > b,
            Ge => a >= b,
            Equ => a == b || unordered,
            Neu => a != b,
            Ltu => a < b || unordered,
            Leu => a <= b || unordered,
            Gtu => a > b || unordered,
            Geu => a >= b || unordered,
            Num => !unordered,
            Nan => unordered,
        }
    }

    /// On f32 registers.
    #[inline]
    pub fn singles(self, a: u32, b: u32, ftz: bool) -> bool {
        let (a, b) = if ftz { (flush(a), flush(b)) } else { (a, b) };
        self.floats(f64::from(f32::from_bits(a)), f64::from(f32::from_bits(b)))
    }

    /// On integers that were widened with or without sign. Unordered forms do not exist there and act as ordered.
    #[inline]
    pub fn integers<T: Ord>(self, a: T, b: T) -> bool {
        use Comparison::*;
        match self {
            Eq | Equ => a == b,
            Ne | Neu => a != b,
            Lt | Ltu => a < b,
            Le | Leu => a <= b,
            Gt | Gtu => a > b,
            Ge | Geu => a >= b,
            Num => true,
            Nan => false,
        }
    }
}

/// The property that `testp` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Property {
    Finite,
    Infinite,
    Number,
    NotANumber,
    Normal,
    Subnormal,
}

impl Property {
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "finite" => Property::Finite,
            "infinite" => Property::Infinite,
            "number" => Property::Number,
            "notanumber" => Property::NotANumber,
            "normal" => Property::Normal,
            "subnormal" => Property::Subnormal,
            _ => return None,
        })
    }

    /// `testp.<property>.f32`. Zero counts as normal, as on the hardware.
    #[inline]
    pub fn single(self, bits: u32) -> bool {
        let magnitude = u64::from(bits & 0x7fff_ffff);
        self.holds(magnitude, 0x7f80_0000, 0x0080_0000)
    }

    /// `testp.<property>.f64`.
    #[inline]
    pub fn double(self, bits: u64) -> bool {
        self.holds(bits & !(1 << 63), 0x7ff0_0000_0000_0000, 0x0010_0000_0000_0000)
    }

    #[inline]
    fn holds(self, magnitude: u64, infinity: u64, least_normal: u64) -> bool {
        match self {
            Property::Finite => magnitude < infinity,
            Property::Infinite => magnitude == infinity,
            Property::Number => magnitude <= infinity,
            Property::NotANumber => magnitude > infinity,
            Property::Normal => magnitude == 0 || (least_normal..infinity).contains(&magnitude),
            Property::Subnormal => magnitude != 0 && magnitude < least_normal,
        }
    }
}

/// `min` or `max` with the modifiers of floats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extreme {
    pub max: bool,
    /// `.NaN`: NaN if either operand is NaN; otherwise the other operand wins.
    pub nan: bool,
    /// `.xorsign.abs`: compares magnitudes; the sign is the exclusive or of both signs.
    pub xorsign_abs: bool,
    pub ftz: bool,
}

/// On f32 patterns as numbers in order, so that -0 < +0 and no arithmetic is involved. `infinity` is that of the format,
/// which may be a 16-bit one moved to the upper half.
#[inline]
fn extreme_bits(a: u32, b: u32, infinity: u32, how: Extreme) -> u32 {
    const SIGN: u32 = 0x8000_0000;
    let (a_nan, b_nan) = (a & !SIGN > infinity, b & !SIGN > infinity);
    let (x, y) = if how.xorsign_abs { (a & !SIGN, b & !SIGN) } else { (a, b) };
    // Negative patterns fall as magnitudes rise.
    let rank = |bits: u32| bits as i32 ^ ((bits as i32 >> 31) & 0x7fff_ffff);
    let x_first = if how.max { rank(x) >= rank(y) } else { rank(x) <= rank(y) };
    let x_wins = b_nan | (!a_nan & x_first);
    let flip = if how.xorsign_abs { (a ^ b) & SIGN } else { 0 };
    let both = a_nan & b_nan;
    let nan = if how.nan { a_nan | b_nan } else { both };
    if nan { F32_NAN } else { (if x_wins { x } else { y }) | flip }
}

/// `{min,max}{.ftz}{.NaN}{.xorsign.abs}.f32`.
#[inline]
pub fn extreme_f32(a: u32, b: u32, how: Extreme) -> u32 {
    let (a, b) = if how.ftz { (flush(a), flush(b)) } else { (a, b) };
    extreme_bits(a, b, 0x7f80_0000, how)
}

/// `{min,max}{.ftz}{.NaN}{.abs}.f32 d, a, b, c` (sm_100): of magnitudes under `.abs`. Folded from the left; by the ISA,
/// not compared with hardware.
#[inline]
pub fn extreme3_f32(a: u32, b: u32, c: u32, how: Extreme, abs: bool) -> u32 {
    let how = Extreme { xorsign_abs: false, ..how };
    let side = |bits: u32| if abs { bits & 0x7fff_ffff } else { bits };
    extreme_f32(extreme_f32(side(a), side(b), how), side(c), how)
}

/// `{min,max}.f64`. Of two NaNs the second passes.
#[inline]
pub fn extreme_f64(a: u64, b: u64, max: bool) -> u64 {
    let (x, y) = (f64::from_bits(a), f64::from_bits(b));
    let rank = |bits: u64| bits as i64 ^ ((bits as i64 >> 63) & i64::MAX);
    match (x.is_nan(), y.is_nan()) {
        (_, true) if x.is_nan() => super::double::quiet(b),
        (true, _) => b,
        (_, true) => a,
        _ if (rank(a) >= rank(b)) == max => a,
        _ => b,
    }
}

/// `{min,max}{.ftz}{.NaN}{.xorsign.abs}` on f16 (`infinity` 0x7c00) or bf16 (0x7f80) bits.
#[inline]
pub(super) fn extreme_half(a: u16, b: u16, infinity: u16, how: Extreme) -> u16 {
    let upper = |bits: u16| u32::from(bits) << 16;
    (extreme_bits(upper(a), upper(b), upper(infinity) | 0xffff, how) >> 16) as u16
}
