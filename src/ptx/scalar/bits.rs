//! Bit manipulation: fields, permutations, logic tables, funnel shifts, counts.

/// `shl`, `shr` with PTX's clamping: amounts of the width or more shift everything out.
#[inline]
pub fn shl_b32(a: u32, amount: u32) -> u32 {
    if amount > 31 { 0 } else { a << amount }
}

#[inline]
pub fn shr_u32(a: u32, amount: u32) -> u32 {
    if amount > 31 { 0 } else { a >> amount }
}

#[inline]
pub fn shr_s32(a: u32, amount: u32) -> u32 {
    (a as i32 >> amount.min(31)) as u32
}

#[inline]
pub fn shl_b64(a: u64, amount: u32) -> u64 {
    if amount > 63 { 0 } else { a << amount }
}

#[inline]
pub fn shr_u64(a: u64, amount: u32) -> u64 {
    if amount > 63 { 0 } else { a >> amount }
}

#[inline]
pub fn shr_s64(a: u64, amount: u32) -> u64 {
    (a as i64 >> amount.min(63)) as u64
}

#[inline]
pub fn shl_b16(a: u16, amount: u32) -> u16 {
    if amount > 15 { 0 } else { a << amount }
}

#[inline]
pub fn shr_u16(a: u16, amount: u32) -> u16 {
    if amount > 15 { 0 } else { a >> amount }
}

#[inline]
pub fn shr_s16(a: u16, amount: u32) -> u16 {
    (a as i16 >> amount.min(15)) as u16
}

/// `bfe`: the field of `length` bits at `position`, sign-extended for signed types; bits beyond the word are copies of
/// the sign, which for a field that ends beyond the word is the top bit. The ISA limits both numbers to 0..255; beyond
/// that the 32-bit instruction takes their low 8 bits and the 64-bit one, a sequence, their full value.
#[inline]
fn field(value: u64, position: u32, length: u32, width: u32, signed: bool) -> u64 {
    let top = position.saturating_add(length).saturating_sub(1).min(width - 1);
    let sign = signed && length != 0 && value >> top & 1 == 1;
    let moved = if position >= width { 0 } else { value >> position };
    let taken = length.min(width.saturating_sub(position));
    let mask = if taken >= 64 { u64::MAX } else { (1 << taken) - 1 };
    (moved & mask) | if sign { !mask } else { 0 }
}

#[inline]
pub fn bfe_u32(a: u32, position: u32, length: u32) -> u32 {
    field(u64::from(a), position & 0xff, length & 0xff, 32, false) as u32
}

#[inline]
pub fn bfe_s32(a: u32, position: u32, length: u32) -> u32 {
    field(u64::from(a), position & 0xff, length & 0xff, 32, true) as u32
}

#[inline]
pub fn bfe_u64(a: u64, position: u32, length: u32) -> u64 {
    field(a, position, length, 64, false)
}

#[inline]
pub fn bfe_s64(a: u64, position: u32, length: u32) -> u64 {
    field(a, position, length, 64, true)
}

/// `bfi d, a, b, position, length`: the low bits of `a` replace a field of `b`.
#[inline]
pub fn bfi_b32(a: u32, b: u32, position: u32, length: u32) -> u32 {
    insert(u64::from(a), u64::from(b), position & 0xff, length & 0xff, 32) as u32
}

#[inline]
pub fn bfi_b64(a: u64, b: u64, position: u32, length: u32) -> u64 {
    insert(a, b, position, length, 64)
}

#[inline]
fn insert(a: u64, b: u64, position: u32, length: u32, width: u32) -> u64 {
    if position >= width {
        return b;
    }
    let taken = length.min(width - position);
    let mask = if taken >= 64 { u64::MAX } else { (1u64 << taken) - 1 } << position;
    (b & !mask) | ((a << position) & mask)
}

/// `bfind{.shiftamt}`: position of the most significant bit that is not a copy of the sign; all ones if there is none.
#[inline]
fn find(value: u64, width: u32, signed: bool, shift_amount: bool) -> u32 {
    let significant = if signed && value >> (width - 1) & 1 == 1 { !value } else { value };
    let significant = if width == 64 { significant } else { significant & ((1 << width) - 1) };
    match significant {
        0 => u32::MAX,
        _ if shift_amount => width - 1 - (63 - significant.leading_zeros()),
        _ => 63 - significant.leading_zeros(),
    }
}

#[inline]
pub fn bfind_b32(a: u32, signed: bool, shift_amount: bool) -> u32 {
    find(u64::from(a), 32, signed, shift_amount)
}

#[inline]
pub fn bfind_b64(a: u64, signed: bool, shift_amount: bool) -> u32 {
    find(a, 64, signed, shift_amount)
}

/// `bmsk.{clamp,wrap}.b32 d, a, b`: ones in `b` bits from position `a`.
#[inline]
pub fn bmsk(position: u32, length: u32, wrap: bool) -> u32 {
    let (position, length) = if wrap { (position & 31, length & 31) } else { (position.min(32), length.min(32)) };
    let mask = if length >= 32 { u64::from(u32::MAX) } else { (1u64 << length) - 1 };
    (mask << position) as u32
}

/// `szext.{clamp,wrap}.{u32,s32} d, a, b`: `a` extended from its low `b` bits.
#[inline]
pub fn szext(a: u32, length: u32, signed: bool, wrap: bool) -> u32 {
    let length = if wrap { length & 31 } else { length.min(32) };
    field(u64::from(a), 0, length, 32, signed) as u32
}

/// `fns.b32 d, mask, base, offset`: the `offset`-th set bit from `base`, upwards for positive offsets and downwards for
/// negative ones; offset 0 tests the bit at `base`. All ones if there is none.
#[inline]
pub fn fns(mask: u32, base: u32, offset: u32) -> u32 {
    let (offset, base) = (offset as i32, base & 31);
    if offset == 0 {
        return if mask >> base & 1 == 1 { base } else { u32::MAX };
    }
    if offset == i32::MIN {
        // Its negation overflows in the sequence that the hardware runs.
        return 0;
    }
    let mut left = offset.unsigned_abs();
    let mut at = base as i32;
    while (0..32).contains(&at) {
        if mask >> at & 1 == 1 {
            left -= 1;
            if left == 0 {
                return at as u32;
            }
        }
        at += offset.signum();
    }
    u32::MAX
}

/// Mode of `prmt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Permute {
    /// No mode: four selectors of four bits, the top bit of each replicates the sign of its byte.
    Index,
    F4e,
    B4e,
    Rc8,
    Ecl,
    Ecr,
    Rc16,
}

impl Permute {
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "f4e" => Permute::F4e,
            "b4e" => Permute::B4e,
            "rc8" => Permute::Rc8,
            "ecl" => Permute::Ecl,
            "ecr" => Permute::Ecr,
            "rc16" => Permute::Rc16,
            _ => return None,
        })
    }
}

/// `prmt.b32 d, a, b, selector`: bytes 0 to 3 are those of `a`, 4 to 7 those of `b`.
#[inline]
pub fn prmt(a: u32, b: u32, selector: u32, mode: Permute) -> u32 {
    let bytes = u64::from(b) << 32 | u64::from(a);
    let pick = |index: u32| (bytes >> (8 * (index & 7))) as u8;
    let s = selector & 3;
    (0..4).fold(0, |word, i| {
        let byte = match mode {
            Permute::Index => {
                let nibble = selector >> (4 * i);
                let byte = pick(nibble);
                if nibble & 8 != 0 { (byte as i8 >> 7) as u8 } else { byte }
            }
            Permute::F4e => pick(s + i),
            Permute::B4e => pick(s.wrapping_sub(i)),
            Permute::Rc8 => pick(s),
            Permute::Ecl => pick(s.max(i)),
            Permute::Ecr => pick(s.min(i)),
            Permute::Rc16 => pick(2 * (s & 1) + (i & 1)),
        };
        word | u32::from(byte) << (8 * i)
    })
}

/// `lop3.b32 d, a, b, c, table`: bit `4a + 2b + c` of the table.
#[inline]
pub fn lop3(a: u32, b: u32, c: u32, table: u8) -> u32 {
    (0..8u32).filter(|i| table >> i & 1 == 1).fold(0, |word, i| {
        let side = |x: u32, bit: u32| if i & bit != 0 { x } else { !x };
        word | (side(a, 4) & side(b, 2) & side(c, 1))
    })
}

/// `shf.{l,r}.{clamp,wrap}.b32 d, a, b, c`: `b:a` shifted by `c`; the left shift keeps the upper word, the right one
/// the lower.
#[inline]
pub fn shf(a: u32, b: u32, amount: u32, left: bool, wrap: bool) -> u32 {
    let amount = if wrap { amount & 31 } else { amount.min(32) };
    let both = u64::from(b) << 32 | u64::from(a);
    if left { ((both << amount) >> 32) as u32 } else { (both >> amount) as u32 }
}

/// `brev`, `clz`, `popc` are the CPU's own; here for completeness of the table.
#[inline]
pub fn brev_b32(a: u32) -> u32 {
    a.reverse_bits()
}

#[inline]
pub fn brev_b64(a: u64) -> u64 {
    a.reverse_bits()
}

#[inline]
pub fn clz_b32(a: u32) -> u32 {
    a.leading_zeros()
}

#[inline]
pub fn clz_b64(a: u64) -> u32 {
    a.leading_zeros()
}

#[inline]
pub fn popc_b32(a: u32) -> u32 {
    a.count_ones()
}

#[inline]
pub fn popc_b64(a: u64) -> u32 {
    a.count_ones()
}
