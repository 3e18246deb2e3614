//! Counts what loads and stores of global memory ask for: requests, 32-byte sectors, bytes.

use crate::ptx::decode::op::Inst;
use crate::ptx::machine::context::Context;
use crate::ptx::machine::regs::*;

/// Counts a request and the 32-byte sectors that it touches.
#[inline(never)]
pub(crate) fn count_sectors(ctx: &mut Context, i: &Inst, pc: u32, m: u32, at: &WideRow) {
    let bytes = u64::from(1u32 << (i.m & 7)) * u64::from(i.m >> 5 & 15);
    count_sectors_of(ctx, bytes, pc, m, at);
}

/// Sectors from that of one byte to that of another; one, where the address space ends in between: such an access is
/// out of bounds anyway.
fn sectors_between(first: u64, last: u64) -> u64 {
    (last >> 5).saturating_sub(first >> 5) + 1
}

pub(crate) fn count_sectors_of(ctx: &mut Context, bytes: u64, pc: u32, m: u32, at: &WideRow) {
    let sectors = if m == u32::MAX && is_sequence(at, bytes) {
        sectors_between(at[0], at[31].wrapping_add(bytes - 1))
    } else if m == u32::MAX && is_sequence(at, 0) {
        sectors_between(at[0], at[0].wrapping_add(bytes - 1))
    } else {
        let mut touched = [0u64; 64];
        let mut count = 0;
        for lane in lanes(m) {
            touched[count] = at[lane] >> 5;
            count += 1;
            // An aligned access lies in one sector.
        }
        let touched = &mut touched[..count];
        touched.sort_unstable();
        let mut distinct = u64::from(!touched.is_empty());
        for pair in touched.windows(2) {
            distinct += u64::from(pair[0] != pair[1]);
        }
        distinct
    };
    if let Some(site) = ctx.site(pc) {
        site.requests += 1;
        site.sectors += sectors;
        site.bytes += bytes * u64::from(m.count_ones());
    }
}

#[cfg(test)]
mod tests {
    use super::sectors_between;

    #[test]
    fn sectors_are_counted_up_to_the_end_of_the_address_space() {
        for (first, last, sectors) in [
            (0, 127, 4),
            (16, 143, 5),
            (0, 3, 1),
            (u64::MAX - 63, u64::MAX, 2),
            (u64::MAX - 63, 63, 1),
            (u64::MAX, 0, 1),
        ] {
            assert_eq!(sectors_between(first, last), sectors, "{first} {last}");
        }
    }
}
