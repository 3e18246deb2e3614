//! Counts what loads and stores of shared memory ask for: requests, and the wavefronts of 32 banks that they take.

use crate::ptx::machine::context::Context;
use crate::ptx::machine::regs::Row;

#[inline(always)]
pub(super) fn count(ctx: &mut Context, pc: u32, wavefronts: u64) {
    if let Some(site) = ctx.sites.get_mut(pc as usize) {
        site.requests += 1;
        site.wavefronts += wavefronts;
    }
}

/// Wavefronts of one request: the most distinct words that fall into one bank of 4 bytes. Accesses of 8 bytes go by half
/// warps, of 16 by quarters.
#[allow(clippy::needless_range_loop)]
pub(crate) fn wavefronts(at: &Row, bytes: u32, m: u32) -> u64 {
    let (lanes_at_once, words) = match bytes {
        16 => (8, 4),
        8 => (16, 2),
        _ => (32, 1),
    };
    let mut total = 0;
    let mut start = 0;
    while start < 32 {
        let mut banks = [(u32::MAX, 0u8); 32];
        let mut more: Vec<(u32, u32)> = vec![];
        let mut worst = 0;
        for lane in start..start + lanes_at_once {
            if m >> lane & 1 == 0 {
                continue;
            }
            for n in 0..words {
                let word = at[lane] / 4 + n;
                let bank = &mut banks[word as usize % 32];
                if bank.1 == 0 {
                    *bank = (word, 1);
                    worst = worst.max(1);
                } else if bank.0 != word && !more.contains(&(word % 32, word)) {
                    more.push((word % 32, word));
                    bank.1 += 1;
                    worst = worst.max(u64::from(bank.1));
                }
            }
        }
        total += worst;
        start += lanes_at_once;
    }
    total
}
