//! Contents of buffers: a pure function of distribution, seed, argument and element, the same bytes on every machine.
//!
//! Random numbers are counter based: number `i` of a stream is `finalise(stream + (i + 1) * 0x9E3779B97F4A7C15)` with the
//! finaliser of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014), and the stream
//! is `finalise(finalise(seed) ^ h)` with `h` the FNV-1a hash of the argument's name. So any part of any buffer can be
//! made by itself, in any order. A normal deviate is the sum of twelve 16-bit numbers, centred and scaled to variance 1
//! (Irwin-Hall, at most 6 in magnitude): only additions and exact scaling, no function whose last bit depends on a
//! library.

use std::ops::Range;

use super::small_float::{BF16, F16, power_of_two};
use crate::ir::Scalar;

/// What the elements of an input are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Distribution {
    /// Normal, scaled by a tenth.
    NormalTenth,
    /// Normal of variance 1.
    Normal,
    /// Normal, scaled by 30.
    NormalThirty,
    /// Small integers from -8 to 8, on which sums are exact.
    Integers,
    /// One normal deviate for each row.
    ConstantRows,
    /// Normal in one of sixteen elements, zero elsewhere.
    Sparse,
    /// Normal times 2^k, where each k from 0 to 10 is half as likely as the one before.
    HeavyTail,
    /// Three of four elements are denormal.
    Denormals,
    /// Integers of which most name the same few places of the legal range; floats of every magnitude in it.
    Skewed,
    /// Normal, and an infinity or no number in one of 64 elements, as far as they are legal.
    Infinite,
}

impl Distribution {
    pub const ALL: [Distribution; 10] = [
        Distribution::Normal,
        Distribution::NormalTenth,
        Distribution::NormalThirty,
        Distribution::Integers,
        Distribution::ConstantRows,
        Distribution::Sparse,
        Distribution::HeavyTail,
        Distribution::Denormals,
        Distribution::Skewed,
        Distribution::Infinite,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Distribution::NormalTenth => "normal-0.1",
            Distribution::Normal => "normal-1",
            Distribution::NormalThirty => "normal-30",
            Distribution::Integers => "integers",
            Distribution::ConstantRows => "constant-rows",
            Distribution::Sparse => "sparse",
            Distribution::HeavyTail => "heavy-tail",
            Distribution::Denormals => "denormals",
            Distribution::Skewed => "skewed",
            Distribution::Infinite => "infinite",
        }
    }

    pub fn from_word(word: &str) -> Option<Distribution> {
        Distribution::ALL.into_iter().find(|d| d.word() == word)
    }
}

/// What is to be generated.
#[derive(Clone, Debug, PartialEq)]
pub struct Contents {
    pub dtype: Scalar,
    pub distribution: Distribution,
    pub seed: u64,
    /// The argument's name, so that arguments of equal shape differ.
    pub argument: String,
    /// Elements of one row, for constant rows; 0 counts as 1.
    pub row: u64,
    pub legal: Option<Legal>,
    pub infinite: bool,
    pub nan: bool,
}

/// The smallest and the largest legal element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Legal {
    Int(i64, i64),
    Float(f64, f64),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GenerateError {
    #[error("contents of type {0} cannot be generated: its encoding is not one")]
    Unsupported(&'static str),
    #[error("no element is legal: the range is empty")]
    Empty,
}

impl Contents {
    /// The bytes of these elements, little-endian.
    ///
    /// # Errors
    /// A type without one encoding, or an empty legal range.
    pub fn bytes(&self, elements: Range<u64>) -> Result<Vec<u8>, GenerateError> {
        let width = self.dtype.bytes() as usize;
        let count = usize::try_from(elements.end.saturating_sub(elements.start)).unwrap_or(0);
        let stream = self.stream();
        if self.dtype == Scalar::F8 {
            return Err(GenerateError::Unsupported("f8"));
        }
        let limits = self.limits()?;
        let mut out = Vec::with_capacity(count.saturating_mul(width));
        for i in elements {
            let draw = Draw { stream, index: i };
            match self.dtype {
                Scalar::F16 => out.extend(
                    self.float(draw, |v| u64::from(F16.encode(v)), |b| F16.decode(b as u16))
                        .to_le_bytes()
                        .get(..2)
                        .unwrap_or(&[]),
                ),
                Scalar::BF16 => out.extend(
                    self.float(draw, |v| u64::from(BF16.encode(v)), |b| BF16.decode(b as u16))
                        .to_le_bytes()
                        .get(..2)
                        .unwrap_or(&[]),
                ),
                Scalar::F32 => {
                    let bits =
                        self.float(draw, |v| u64::from((v as f32).to_bits()), |b| f64::from(f32::from_bits(b as u32)));
                    out.extend((bits as u32).to_le_bytes());
                }
                Scalar::F64 => out.extend(self.float(draw, f64::to_bits, f64::from_bits).to_le_bytes()),
                _ => {
                    let value = self.integer(draw, limits);
                    out.extend(value.to_le_bytes().get(..width).unwrap_or(&[]));
                }
            }
        }
        Ok(out)
    }

    fn stream(&self) -> u64 {
        stream_of(self.seed, &self.argument)
    }

    /// A number that all elements of a row share.
    fn row_draw(&self, draw: Draw) -> Draw {
        Draw { index: draw.index / self.row.max(1), ..draw }
    }

    fn float(&self, draw: Draw, encode: impl Fn(f64) -> u64, decode: impl Fn(u64) -> f64) -> u64 {
        if self.nan && self.distribution == Distribution::Infinite && draw.number(6).is_multiple_of(61) {
            return encode(f64::NAN);
        }
        let bits = encode(self.real(draw));
        let Some((lo, hi)) = self.float_limits() else { return bits };
        let value = decode(bits);
        if value >= lo && value <= hi {
            return bits;
        }
        let shared = if self.distribution == Distribution::ConstantRows { self.row_draw(draw) } else { draw };
        let fair = encode(lo + (hi - lo) * shared.unit(7));
        // Rounding may step over an end of the range.
        let fits = |b: &u64| (lo..=hi).contains(&decode(*b));
        [fair, encode((lo + hi) / 2.0), encode(lo), encode(hi)].into_iter().find(fits).unwrap_or(fair)
    }

    fn float_limits(&self) -> Option<(f64, f64)> {
        match self.legal? {
            Legal::Float(lo, hi) => Some((lo, hi)),
            Legal::Int(lo, hi) => Some((lo as f64, hi as f64)),
        }
    }

    fn real(&self, draw: Draw) -> f64 {
        let normal = draw.normal();
        match self.distribution {
            Distribution::NormalTenth => normal * 0.1,
            Distribution::Skewed => self.float_limits().map_or(normal, |ends| spread(draw, ends)),
            Distribution::Normal => normal,
            Distribution::NormalThirty => normal * 30.0,
            Distribution::Integers => (draw.number(3) % 17) as f64 - 8.0,
            Distribution::ConstantRows => self.row_draw(draw).normal(),
            Distribution::Sparse if !draw.number(3).is_multiple_of(16) => 0.0,
            Distribution::Sparse => normal,
            Distribution::HeavyTail => normal * power_of_two(draw.number(3).trailing_zeros().min(10) as i32),
            Distribution::Denormals if draw.number(3).is_multiple_of(4) => normal,
            Distribution::Denormals => {
                draw.unit(4) * self.least_normal() * if draw.number(5) & 1 == 0 { 1.0 } else { -1.0 }
            }
            Distribution::Infinite if self.infinite && draw.number(3).is_multiple_of(64) => {
                if draw.number(5) & 1 == 0 {
                    f64::INFINITY
                } else {
                    f64::NEG_INFINITY
                }
            }
            Distribution::Infinite => normal,
        }
    }

    fn least_normal(&self) -> f64 {
        match self.dtype {
            Scalar::F16 => power_of_two(-14),
            Scalar::BF16 | Scalar::F32 => power_of_two(-126),
            _ => f64::MIN_POSITIVE,
        }
    }

    /// The ends of what an integer may be.
    fn limits(&self) -> Result<(i128, i128), GenerateError> {
        let (least, most) = type_range(self.dtype);
        let (lo, hi) = match self.legal {
            Some(Legal::Int(lo, hi)) => (i128::from(lo), i128::from(hi)),
            Some(Legal::Float(lo, hi)) if !self.dtype.is_float() => (lo.ceil() as i128, hi.floor() as i128),
            Some(Legal::Float(lo, hi)) if lo > hi || lo.is_nan() || hi.is_nan() => return Err(GenerateError::Empty),
            Some(Legal::Float(..)) => (0, 0),
            None if self.distribution == Distribution::NormalThirty => (-100, 100),
            None => (-8, 8),
        };
        let (lo, hi) = if self.legal.is_none() && least == 0 { (0, hi * 2) } else { (lo, hi) };
        let (lo, hi) = (lo.max(least), hi.min(most));
        if lo > hi && !self.dtype.is_float() { Err(GenerateError::Empty) } else { Ok((lo, hi)) }
    }

    fn integer(&self, draw: Draw, (lo, hi): (i128, i128)) -> i64 {
        let span = (hi - lo + 1).max(1);
        let uniform = |d: Draw| lo + i128::from(d.number(3)) % span;
        let value = match self.distribution {
            Distribution::ConstantRows => uniform(self.row_draw(draw)),
            Distribution::Sparse if !draw.number(4).is_multiple_of(16) => 0i128.clamp(lo, hi),
            // Both ends, then a hot place that is the same for the whole argument, then anywhere.
            Distribution::Skewed => match draw.number(4) % 32 {
                0 => lo,
                1 => hi,
                2..=25 => uniform(Draw { index: 0, ..draw }),
                _ => uniform(draw),
            },
            _ => uniform(draw),
        };
        // The low bytes are the two's complement of every integer type.
        value as i64
    }
}

/// A number of the range: its ends, zero, or one whose magnitude is anywhere from 2^-40 of the larger end to all of it.
fn spread(draw: Draw, (lo, hi): (f64, f64)) -> f64 {
    let far = lo.abs().max(hi.abs());
    let magnitude = far * power_of_two(-((draw.number(3) % 41) as i32)) * (0.5 + 0.5 * draw.unit(4));
    let v = match draw.number(5) % 32 {
        0 => lo,
        1 => hi,
        2 => 0.0,
        n if n % 2 == 0 => magnitude,
        _ => -magnitude,
    };
    // The other sign where this one is not legal.
    if (lo..=hi).contains(&v) { v } else { -v }
}

/// The values that fit an integer type; of `bool` 0 and 1.
fn type_range(s: Scalar) -> (i128, i128) {
    let bits = 8 * s.bytes();
    match s {
        Scalar::Bool => (0, 1),
        s if s.is_unsigned() => (0, (1i128 << bits) - 1),
        _ => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
    }
}

/// The random numbers of one element: eight of them.
#[derive(Clone, Copy)]
struct Draw {
    stream: u64,
    index: u64,
}

impl Draw {
    fn number(self, which: u64) -> u64 {
        let counter = self.index.wrapping_mul(8).wrapping_add(which).wrapping_add(1);
        finalise(self.stream.wrapping_add(counter.wrapping_mul(0x9E37_79B9_7F4A_7C15)))
    }

    /// In [0, 1), with 53 bits.
    fn unit(self, which: u64) -> f64 {
        (self.number(which) >> 11) as f64 * power_of_two(-53)
    }

    fn normal(self) -> f64 {
        let halves = |n: u64| (0..4).map(move |i| (n >> (16 * i)) & 0xffff).sum::<u64>();
        let sum: u64 = (0..3).map(|i| halves(self.number(i))).sum();
        (sum as f64 - 393_210.0) * power_of_two(-16)
    }
}

/// A number in [0, 1) of a seed and a name.
pub fn unit(seed: u64, name: &str) -> f64 {
    Draw { stream: stream_of(seed, name), index: 0 }.unit(7)
}

fn stream_of(seed: u64, name: &str) -> u64 {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    finalise(finalise(seed) ^ hash)
}

/// The finaliser of SplitMix64: a number that looks random, of a counter.
pub fn finalise(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
#[path = "generate_tests.rs"]
mod tests;
