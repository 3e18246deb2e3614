//! `ldmatrix`, `stmatrix`, `movmatrix` on 8x8 matrices of 16-bit elements.
//!
//! Matrix `i` of `.x1`, `.x2`, `.x4` has its eight row addresses in lanes `8 i` to `8 i + 7`; each row is 16 bytes. Register
//! `i` of lane `4 r + t` holds elements `2 t` and `2 t + 1` of row `r`, or with `.trans` of column `r`.

use super::Register;

/// One matrix: eight rows of eight 16-bit elements.
pub type Tile = [[u16; 8]; 8];

/// The lane whose address is that of a row of a matrix.
#[inline]
pub const fn address_lane(matrix: u32, row: u32) -> u32 {
    matrix % 4 * 8 + row % 8
}

/// Row and column of one half (0: low) of a lane's register.
#[inline]
pub const fn position(lane: u32, half: u32, transposed: bool) -> (u32, u32) {
    let (group, along) = (lane / 4 % 8, lane % 4 * 2 + half % 2);
    if transposed { (along, group) } else { (group, along) }
}

/// The register that `ldmatrix` fills from one matrix.
#[inline]
pub fn load(tile: &Tile, transposed: bool) -> Register {
    std::array::from_fn(|lane| {
        let at = |half: u32| {
            let (row, column) = position(lane as u32, half, transposed);
            u32::from(tile[row as usize % 8][column as usize % 8])
        };
        at(1) << 16 | at(0)
    })
}

/// The matrix that `stmatrix` writes from one register.
#[inline]
pub fn store(register: &Register, transposed: bool) -> Tile {
    let mut tile = Tile::default();
    for (lane, &word) in register.iter().enumerate() {
        for half in 0..2 {
            let (row, column) = position(lane as u32, half, transposed);
            tile[row as usize % 8][column as usize % 8] = (word >> (16 * half)) as u16;
        }
    }
    tile
}

/// `movmatrix.trans`.
#[inline]
pub fn transpose(register: &Register) -> Register {
    load(&store(register, false), true)
}
