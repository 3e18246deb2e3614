//! Integer arithmetic beyond the CPU's own: high and wide products, 24-bit products, carries, dot products, absolute
//! differences.

/// `mul.hi.u32` / `.s32`.
#[inline]
pub fn mul_hi_u32(a: u32, b: u32) -> u32 {
    ((u64::from(a) * u64::from(b)) >> 32) as u32
}

#[inline]
pub fn mul_hi_s32(a: u32, b: u32) -> u32 {
    ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32
}

#[inline]
pub fn mul_hi_u64(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 64) as u64
}

#[inline]
pub fn mul_hi_s64(a: u64, b: u64) -> u64 {
    ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64
}

/// `mul.hi.u16` / `.s16`.
#[inline]
pub fn mul_hi_u16(a: u16, b: u16) -> u16 {
    ((u32::from(a) * u32::from(b)) >> 16) as u16
}

#[inline]
pub fn mul_hi_s16(a: u16, b: u16) -> u16 {
    ((i32::from(a as i16) * i32::from(b as i16)) >> 16) as u16
}

/// `mul.wide`: 16 -> 32 and 32 -> 64 bits.
#[inline]
pub fn mul_wide_u16(a: u16, b: u16) -> u32 {
    u32::from(a) * u32::from(b)
}

#[inline]
pub fn mul_wide_s16(a: u16, b: u16) -> u32 {
    (i32::from(a as i16) * i32::from(b as i16)) as u32
}

#[inline]
pub fn mul_wide_u32(a: u32, b: u32) -> u64 {
    u64::from(a) * u64::from(b)
}

#[inline]
pub fn mul_wide_s32(a: u32, b: u32) -> u64 {
    (i64::from(a as i32) * i64::from(b as i32)) as u64
}

/// `mad.hi`: the high half plus `c`, wrapping.
#[inline]
pub fn mad_hi_u32(a: u32, b: u32, c: u32) -> u32 {
    mul_hi_u32(a, b).wrapping_add(c)
}

#[inline]
pub fn mad_hi_s32(a: u32, b: u32, c: u32) -> u32 {
    mul_hi_s32(a, b).wrapping_add(c)
}

/// `mad.hi.sat.s32`: the sum clamped to the range of s32.
#[inline]
pub fn mad_hi_sat_s32(a: u32, b: u32, c: u32) -> u32 {
    (mul_hi_s32(a, b) as i32).saturating_add(c as i32) as u32
}

/// The 48-bit product of the low 24 bits, sign- or zero-extended.
#[inline]
fn product24(a: u32, b: u32, signed: bool) -> i64 {
    let one = |x: u32| if signed { i64::from((x << 8) as i32 >> 8) } else { i64::from(x & 0xff_ffff) };
    one(a) * one(b)
}

/// `mul24.lo`: bits 0 to 31 of the product of the low 24 bits.
#[inline]
pub fn mul24_lo(a: u32, b: u32, signed: bool) -> u32 {
    product24(a, b, signed) as u32
}

/// `mul24.hi`: bits 16 to 47.
#[inline]
pub fn mul24_hi(a: u32, b: u32, signed: bool) -> u32 {
    (product24(a, b, signed) >> 16) as u32
}

/// `mad24.hi.sat.s32`.
#[inline]
pub fn mad24_hi_sat_s32(a: u32, b: u32, c: u32) -> u32 {
    (mul24_hi(a, b, true) as i32).saturating_add(c as i32) as u32
}

/// `add.sat.s32`, `sub.sat.s32`.
#[inline]
pub fn add_sat_s32(a: u32, b: u32) -> u32 {
    (a as i32).saturating_add(b as i32) as u32
}

#[inline]
pub fn sub_sat_s32(a: u32, b: u32) -> u32 {
    (a as i32).saturating_sub(b as i32) as u32
}

/// `f` on both signed halves of two registers: `add.s16x2` and so on.
#[inline]
fn halves(a: u32, b: u32, f: impl Fn(i16, i16) -> i16) -> u32 {
    let high = f((a >> 16) as i16, (b >> 16) as i16) as u16;
    u32::from(high) << 16 | u32::from(f(a as i16, b as i16) as u16)
}

/// `{min,max}{.relu}.s16x2`; `.relu` makes negative results zero.
#[inline]
pub fn extreme_s16x2(a: u32, b: u32, max: bool, relu: bool) -> u32 {
    let least = if relu { 0 } else { i16::MIN };
    halves(a, b, |x, y| if max { x.max(y) } else { x.min(y) }.max(least))
}

/// `{min,max}.u16x2`.
#[inline]
pub fn extreme_u16x2(a: u32, b: u32, max: bool) -> u32 {
    halves(a, b, |x, y| {
        let (x, y) = (x as u16, y as u16);
        if max { x.max(y) as i16 } else { x.min(y) as i16 }
    })
}

/// `{min,max}.relu.s32`.
#[inline]
pub fn extreme_relu_s32(a: u32, b: u32, max: bool) -> u32 {
    let (x, y) = (a as i32, b as i32);
    if max { x.max(y).max(0) as u32 } else { x.min(y).max(0) as u32 }
}

/// `add.u16x2`, `add.s16x2`: wrapping.
#[inline]
pub fn add_16x2(a: u32, b: u32) -> u32 {
    halves(a, b, i16::wrapping_add)
}

/// `sad`: `c + |a - b|`, wrapping.
#[inline]
pub fn sad_u32(a: u32, b: u32, c: u32) -> u32 {
    c.wrapping_add(a.abs_diff(b))
}

#[inline]
pub fn sad_s32(a: u32, b: u32, c: u32) -> u32 {
    c.wrapping_add((a as i32).abs_diff(b as i32))
}

#[inline]
pub fn sad_u64(a: u64, b: u64, c: u64) -> u64 {
    c.wrapping_add(a.abs_diff(b))
}

#[inline]
pub fn sad_s64(a: u64, b: u64, c: u64) -> u64 {
    c.wrapping_add((a as i64).abs_diff(b as i64))
}

/// `div.s32`; division by zero gives all ones, as on the hardware (the ISA leaves it open).
#[inline]
pub fn div_s32(a: u32, b: u32) -> u32 {
    if b == 0 { u32::MAX } else { (a as i32).wrapping_div(b as i32) as u32 }
}

#[inline]
pub fn div_u32(a: u32, b: u32) -> u32 {
    a.checked_div(b).unwrap_or(u32::MAX)
}

#[inline]
pub fn div_s64(a: u64, b: u64) -> u64 {
    if b == 0 { u64::MAX } else { (a as i64).wrapping_div(b as i64) as u64 }
}

#[inline]
pub fn div_u64(a: u64, b: u64) -> u64 {
    a.checked_div(b).unwrap_or(u64::MAX)
}

/// `rem`; a zero divisor gives all ones, as `div` does.
#[inline]
pub fn rem_s32(a: u32, b: u32) -> u32 {
    if b == 0 { u32::MAX } else { (a as i32).wrapping_rem(b as i32) as u32 }
}

#[inline]
pub fn rem_u32(a: u32, b: u32) -> u32 {
    a.checked_rem(b).unwrap_or(u32::MAX)
}

#[inline]
pub fn rem_s64(a: u64, b: u64) -> u64 {
    if b == 0 { u64::MAX } else { (a as i64).wrapping_rem(b as i64) as u64 }
}

#[inline]
pub fn rem_u64(a: u64, b: u64) -> u64 {
    a.checked_rem(b).unwrap_or(u64::MAX)
}

/// `add.cc`, `addc`, `addc.cc`: sum and carry out.
#[inline]
pub fn add_carry_u32(a: u32, b: u32, carry: bool) -> (u32, bool) {
    let (sum, first) = a.overflowing_add(b);
    let (sum, second) = sum.overflowing_add(u32::from(carry));
    (sum, first | second)
}

#[inline]
pub fn add_carry_u64(a: u64, b: u64, carry: bool) -> (u64, bool) {
    let (sum, first) = a.overflowing_add(b);
    let (sum, second) = sum.overflowing_add(u64::from(carry));
    (sum, first | second)
}

/// `sub.cc`, `subc`, `subc.cc`: difference and borrow out, as the carry flag of `sub` counts it.
#[inline]
pub fn sub_borrow_u32(a: u32, b: u32, borrow: bool) -> (u32, bool) {
    let (difference, first) = a.overflowing_sub(b);
    let (difference, second) = difference.overflowing_sub(u32::from(borrow));
    (difference, first | second)
}

#[inline]
pub fn sub_borrow_u64(a: u64, b: u64, borrow: bool) -> (u64, bool) {
    let (difference, first) = a.overflowing_sub(b);
    let (difference, second) = difference.overflowing_sub(u64::from(borrow));
    (difference, first | second)
}

#[inline]
fn byte(word: u32, index: u32, signed: bool) -> i32 {
    let raw = (word >> (8 * index)) as u8;
    if signed { i32::from(raw as i8) } else { i32::from(raw) }
}

#[inline]
fn short(word: u32, index: u32, signed: bool) -> i32 {
    let raw = (word >> (16 * index)) as u16;
    if signed { i32::from(raw as i16) } else { i32::from(raw) }
}

/// `dp4a.atype.btype`: four products of bytes added to `c`, wrapping.
#[inline]
pub fn dp4a(a: u32, b: u32, c: u32, a_signed: bool, b_signed: bool) -> u32 {
    (0..4).fold(c, |sum, i| sum.wrapping_add((byte(a, i, a_signed) * byte(b, i, b_signed)) as u32))
}

/// `dp2a.{lo,hi}.atype.btype`: two shorts of `a` with two bytes of the low or high half of `b`.
#[inline]
pub fn dp2a(a: u32, b: u32, c: u32, a_signed: bool, b_signed: bool, high: bool) -> u32 {
    let base = if high { 2 } else { 0 };
    (0..2).fold(c, |sum, i| sum.wrapping_add(short(a, i, a_signed).wrapping_mul(byte(b, base + i, b_signed)) as u32))
}

/// `vabsdiff4{.add}`-style sum: `c + sum |a_i - b_i|` over bytes.
#[inline]
pub fn vabsdiff4_add(a: u32, b: u32, c: u32, signed: bool) -> u32 {
    (0..4).fold(c, |sum, i| sum.wrapping_add(byte(a, i, signed).abs_diff(byte(b, i, signed))))
}

/// `vabsdiff4.dtype.atype.btype` without accumulation: a byte of each absolute difference; `signed` is of d, a, b. The
/// third operand would fill the bytes outside a mask; without one it plays no part.
#[inline]
pub fn vabsdiff4(a: u32, b: u32, _c: u32, signed: [bool; 3]) -> u32 {
    (0..4).fold(0, |word, i| word | (byte(a, i, signed[1]).abs_diff(byte(b, i, signed[2])) & 0xff) << (8 * i))
}
