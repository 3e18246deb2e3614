//! Random kernels with their contracts. Whatever the choices, a kernel is defined on its sizes: in bounds, free of races
//! and of signed overflow. Most of what it holds is near a skill's shape, and now and then not quite it.

mod calls;
mod elem;
mod file;
mod kernel;
mod rows;
mod tiles;
mod trees;
mod walks;

use super::choice::Choices;
use super::program::Generated;
use kernel::Kernel;

/// The program of a seed.
pub fn program(seed: u64) -> Generated {
    make(Choices::of_seed(seed), seed)
}

/// The program of a record of choices.
pub fn replay(record: &[u32], seed: u64) -> Generated {
    make(Choices::of_record(record), seed)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Walk,
    Tree,
    Tile,
    Calls,
}

fn make(c: Choices, seed: u64) -> Generated {
    let (first, mut c) = one(c, "k", 0);
    let mut parts = vec![first];
    // What the one kernel is does not depend on the other; what the engine reads of it might.
    if c.chance(1, 4) {
        let numbers = parts[0].numbers;
        let (second, rest) = one(c, "m", numbers);
        c = rest;
        let at = usize::from(!c.chance(1, 2));
        parts.insert(at, second);
    }
    file::assemble(&c, parts, seed)
}

/// One kernel; its fresh names are numbered from `numbers` on.
fn one(mut c: Choices, name: &'static str, numbers: usize) -> (file::Part, Choices) {
    let first = c.weighted(&[(6, Part::Walk), (4, Part::Tree), (4, Part::Tile), (2, Part::Calls)]);
    let more = c.weighted(&[(3, 0), (3, 1), (1, 2)]);
    let mut parts = vec![first];
    for _ in 0..more {
        parts.push(c.one_of(&[Part::Walk, Part::Tree, Part::Tile, Part::Calls]));
    }
    let block = if parts.contains(&Part::Tree) {
        [c.weighted(&[(6, 64), (3, 128), (2, 32), (1, 256), (2, 96), (1, 48), (1, 16)]), 1]
    } else if parts.contains(&Part::Tile) {
        c.weighted(&[(4, [64, 1]), (4, [16, 16]), (3, [32, 8]), (2, [8, 8]), (1, [32, 4]), (1, [128, 1])])
    } else {
        [c.weighted(&[(6, 64), (3, 32), (2, 128), (1, 33), (1, 96)]), 1]
    };
    let approximate = c.chance(1, 3);
    let mut k = Kernel::new(c, name, block, numbers);
    k.approximate = approximate || parts.contains(&Part::Calls) && k.c.chance(3, 4);
    k.shares_alone = parts.iter().filter(|p| matches!(p, Part::Tree | Part::Tile)).count() < 2;
    for (i, part) in parts.iter().enumerate() {
        k.barriers_follow = parts[i + 1..].iter().any(|p| matches!(p, Part::Tree | Part::Tile));
        match part {
            Part::Walk => walks::walk(&mut k),
            Part::Tree => trees::tree(&mut k),
            Part::Tile => tiles::tile(&mut k),
            Part::Calls => calls::elementwise(&mut k),
        }
    }
    k.finish()
}
