//! The choices that a random program is made of. They are recorded, so that a program can be made again from an edited
//! record: whatever the record says, what comes out is a program. A shrinker edits records and knows nothing of programs.
//!
//! Number `i` of a seed is the finaliser of SplitMix64 over `seed + (i + 1) * 0x9E3779B97F4A7C15` (Steele, Lea, Flood,
//! "Fast splittable pseudorandom number generators", 2014).

use crate::contract::generate::finalise;

/// A source of choices: random from a seed, or read from a record. By convention 0 is the simplest alternative.
#[derive(Clone, Debug)]
pub struct Choices {
    state: u64,
    replayed: Option<Vec<u32>>,
    taken: Vec<u32>,
}

impl Choices {
    pub fn of_seed(seed: u64) -> Choices {
        Choices { state: finalise(seed ^ 0x6B6F_7074_6675_7A7A), replayed: None, taken: vec![] }
    }

    /// Reads the record; where it ends, every further choice is 0.
    pub fn of_record(record: &[u32]) -> Choices {
        Choices { state: 0, replayed: Some(record.to_vec()), taken: vec![] }
    }

    /// What was chosen so far.
    pub fn record(&self) -> &[u32] {
        &self.taken
    }

    /// A number below `n`, all equally likely; 0 where `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        let n = n.max(1) as u64;
        let chosen = match &self.replayed {
            Some(record) => u64::from(record.get(self.taken.len()).copied().unwrap_or(0)).min(n - 1),
            None => {
                self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
                ((u128::from(finalise(self.state)) * u128::from(n)) >> 64) as u64
            }
        };
        self.taken.push(chosen as u32);
        chosen as usize
    }

    /// True in `part` of `whole` cases.
    pub fn chance(&mut self, part: usize, whole: usize) -> bool {
        self.below(whole) + part >= whole
    }

    /// One of the alternatives, all equally likely.
    ///
    /// There must be one.
    pub fn one_of<T: Clone>(&mut self, list: &[T]) -> T {
        let at = self.below(list.len());
        list[at].clone()
    }

    /// One of the alternatives, each as likely as its weight says.
    pub fn weighted<T: Clone>(&mut self, list: &[(usize, T)]) -> T {
        let total = list.iter().map(|(w, _)| w).sum();
        let mut at = self.below(total);
        for (weight, value) in list {
            if at < *weight {
                return value.clone();
            }
            at -= weight;
        }
        list[list.len() - 1].1.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_gives_the_same_choices_again() {
        let ask = |c: &mut Choices| {
            [c.below(7), usize::from(c.chance(1, 3)), c.one_of(&[3, 4]), c.weighted(&[(1, 5), (9, 6)])]
        };
        for seed in 0..50 {
            let mut first = Choices::of_seed(seed);
            let said = ask(&mut first);
            assert_eq!(ask(&mut Choices::of_seed(seed)), said);
            assert_eq!(ask(&mut Choices::of_record(first.record())), said);
        }
        assert_eq!(ask(&mut Choices::of_record(&[])), [0, 0, 3, 5]);
        assert_eq!(Choices::of_record(&[900]).below(4), 3);
    }
}
