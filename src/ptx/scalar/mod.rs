//! Numerics of scalar PTX instructions, bit for bit where the ISA or the hardware fixes the result.
//!
//! Everything here is a pure function from register bits to register bits: `u16` for f16 and bf16, `u32` for f32 and
//! tf32, `u64` for f64, integers of their own width. Nothing panics on any input. What the ISA leaves open (NaN
//! patterns, division by zero, the value of approximate instructions) follows an H200; `tests/ptx_numerics.rs`
//! compares every function with results recorded there.
//!
//! | module | instructions |
//! |---|---|
//! | [`format`] | formats, decoding, one exact rounding in any direction |
//! | [`convert`] | `cvt` between floats: f16, bf16, tf32, FP8, f32, f64 |
//! | [`convert_integer`] | `cvt` with an integer on either side, rounding to integral floats |
//! | [`single`], [`double`] | f32 and f64 arithmetic in every rounding, `.ftz`, `.sat` |
//! | [`half`] | f16, bf16 and their packed forms |
//! | [`compare`] | `set`, `setp`, `testp`, `min`, `max` |
//! | [`approx`] | approximate functions, with their measured distance to the hardware |
//! | [`integer`], [`bits`] | products, carries, dot products; fields, permutations, shifts, counts |
//!
//! Loops over 32 lanes are meant to call the `#[inline]` functions with modifiers that are constant in the loop.

pub mod approx;
pub mod bits;
pub mod compare;
pub mod convert;
pub mod convert_integer;
pub mod double;
pub mod format;
pub mod half;
pub mod integer;
pub mod single;

pub use compare::{Comparison, Extreme, Property};
pub use convert_integer::Integer;
pub use format::{Format, Rounding};
pub use half::{Half, HalfMode};
pub use single::Mode;
