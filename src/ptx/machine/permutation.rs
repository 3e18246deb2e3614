//! Orders of blocks and warps: bijections of `0 .. count` without a table.

/// `at -> (factor * at + first) mod count`, with a factor that has no divisor in common with `count`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Permutation {
    count: u64,
    factor: u64,
    first: u64,
}

impl Permutation {
    /// Order `seed` of `count` things: 0 ascending, 1 descending.
    pub fn new(seed: u64, count: u64) -> Self {
        let count = count.max(1);
        match seed {
            0 => Permutation { count, factor: 1, first: 0 },
            1 => Permutation { count, factor: count - 1, first: count - 1 },
            _ => {
                let mut state = seed;
                let mut factor = mix(&mut state) % count;
                while gcd(factor, count) != 1 {
                    factor = (factor + 1) % count;
                }
                Permutation { count, factor, first: mix(&mut state) % count }
            }
        }
    }

    /// What comes at position `at`; positions beyond the count stay where they are.
    pub fn at(&self, at: u64) -> u64 {
        if at >= self.count {
            return at;
        }
        ((u128::from(self.factor) * u128::from(at) + u128::from(self.first)) % u128::from(self.count)) as u64
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A step of SplitMix64.
fn mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_has_everything_once() {
        for count in [1, 2, 3, 7, 12, 64, 100] {
            for seed in 0..20 {
                let order = Permutation::new(seed, count);
                let mut seen: Vec<u64> = (0..count).map(|at| order.at(at)).collect();
                match seed {
                    0 => assert_eq!(seen, (0..count).collect::<Vec<_>>()),
                    1 => assert_eq!(seen, (0..count).rev().collect::<Vec<_>>()),
                    _ => {}
                }
                seen.sort_unstable();
                assert_eq!(seen, (0..count).collect::<Vec<_>>(), "{count} in order {seed}");
            }
        }
        assert_ne!(Permutation::new(2, 100).at(0), Permutation::new(3, 100).at(0));
    }
}
