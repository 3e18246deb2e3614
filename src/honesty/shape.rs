//! The shape of a launch, and which of its blocks are watched.

/// Blocks of a launch that are watched: all of them up to this many, else the first and last and some in between.
const WATCHED: u64 = 12;

/// Grid and block of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub grid: [u32; 3],
    pub block: [u32; 3],
}

impl Shape {
    fn blocks(&self) -> u64 {
        self.grid.iter().map(|n| u64::from(*n)).product()
    }

    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    pub fn is_watched(&self, block: u64) -> bool {
        let all = self.blocks();
        all <= WATCHED || block < 3 || block + 3 > all || block.is_multiple_of(all.div_ceil(WATCHED - 6))
    }

    /// How many blocks are watched, of how many.
    pub fn watched(&self) -> (u64, u64) {
        let all = self.blocks();
        ((0..all.min(1 << 20)).filter(|b| self.is_watched(*b)).count() as u64, all)
    }
}
