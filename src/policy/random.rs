//! Draws of a seed and a label: SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).

use crate::contract::generate::finalise;

/// A stream of numbers.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Labels keep draws for different purposes apart; each part counts, and so do the places where one ends.
    pub fn of(seed: u64, label: &[&str]) -> Random {
        let mut state = finalise(seed);
        for part in label {
            let hash =
                part.bytes().fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
            state = finalise(state.wrapping_add(0x9E37_79B9_7F4A_7C15) ^ hash);
        }
        Random(state)
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        finalise(self.0)
    }

    /// In [0, 1), in steps of 2^-53.
    pub fn unit(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Below `n`; 0 where `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.number()) * n as u128) >> 64) as usize
    }

    /// Of the standard normal distribution (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// The numbers below `n` in an order, all orders equally likely (Fisher and Yates).
    pub fn order(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, self.below(i + 1));
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_seeds_give_streams_of_their_own() {
        let first = |seed, label: &[&str]| Random::of(seed, label).number();
        assert_eq!(first(1, &["a", "b"]), first(1, &["a", "b"]));
        assert_ne!(first(1, &["a", "b"]), first(2, &["a", "b"]));
        assert_ne!(first(1, &["a", "b"]), first(1, &["ab"]));
        assert_ne!(first(1, &["a", "b"]), first(1, &["b", "a"]));
    }

    #[test]
    fn draws_have_the_moments_that_they_should() {
        let mut random = Random::of(7, &[]);
        let n = 20_000;
        let units: Vec<f64> = (0..n).map(|_| random.unit()).collect();
        assert!(units.iter().all(|u| (0.0..1.0).contains(u)));
        assert!((units.iter().sum::<f64>() / f64::from(n) - 0.5).abs() < 0.01);
        let normals: Vec<f64> = (0..n).map(|_| random.normal()).collect();
        assert!((normals.iter().sum::<f64>() / f64::from(n)).abs() < 0.03);
        assert!((normals.iter().map(|x| x * x).sum::<f64>() / f64::from(n) - 1.0).abs() < 0.05);
        let mut seen = [0; 5];
        (0..n).for_each(|_| seen[random.below(5)] += 1);
        assert!(seen.iter().all(|s| (3600..4400).contains(s)), "{seen:?}");
        let mut order = random.order(6);
        order.sort_unstable();
        assert_eq!(order, [0, 1, 2, 3, 4, 5]);
    }
}
