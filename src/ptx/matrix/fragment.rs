//! Where the elements of a fragment are.
//!
//! Every fragment of `mma` and `wmma` is a list of small tiles. In a tile, lane `4 g + t` holds `span` neighbouring
//! elements from `t * span` on, of row `g` (A and accumulators) or of column `g` (B). A tile of A or B is one register;
//! a tile of an accumulator is 8x8, two elements a lane, in one register (f16) or two.

/// Tiles of the largest fragment.
const MOST_TILES: usize = 8;

/// Positions of all elements of one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Bits of an element: 4, 8, 16, 32 or 64.
    pub element_bits: u32,
    /// Neighbouring elements of a lane in a tile.
    span: u32,
    /// Whether lanes in groups of four share a column instead of a row.
    by_column: bool,
    tiles: [(u8, u8); MOST_TILES],
    count: u32,
}

/// How a matrix lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// `.row`: a row is contiguous.
    Row,
    /// `.col`: a column is contiguous.
    Column,
}

impl Fragment {
    fn new(element_bits: u32, span: u32, by_column: bool) -> Self {
        Fragment { element_bits, span, by_column, tiles: [(0, 0); MOST_TILES], count: 0 }
    }

    fn push(mut self, row: u32, column: u32) -> Self {
        if let Some(tile) = self.tiles.get_mut(self.count as usize) {
            *tile = (row as u8, column as u8);
            self.count += 1;
        }
        self
    }

    /// Elements of a lane in one tile of A or B: what fits a register.
    fn operand_span(element_bits: u32) -> u32 {
        (32 / element_bits).max(1)
    }

    /// A of `mma`, m x k: down the rows of one column of tiles, then the next.
    pub fn a(m: u32, k: u32, element_bits: u32) -> Self {
        let span = Self::operand_span(element_bits);
        let mut fragment = Self::new(element_bits, span, false);
        for column in (0..k).step_by(4 * span as usize) {
            for row in (0..m).step_by(8) {
                fragment = fragment.push(row, column);
            }
        }
        fragment
    }

    /// B of `mma`, k x n with n = 8 in `mma`; of wider ones, down the rows of one column of tiles, then the next.
    pub fn b(k: u32, n: u32, element_bits: u32) -> Self {
        let span = Self::operand_span(element_bits);
        let mut fragment = Self::new(element_bits, span, true);
        for column in (0..n).step_by(8) {
            for row in (0..k).step_by(4 * span as usize) {
                fragment = fragment.push(row, column);
            }
        }
        fragment
    }

    /// C and D, m x n: tiles of 8x8 down the rows of one column of tiles, then the next.
    pub fn accumulator(m: u32, n: u32, element_bits: u32) -> Self {
        let mut fragment = Self::new(element_bits, 2, false);
        for column in (0..n).step_by(8) {
            for row in (0..m).step_by(8) {
                fragment = fragment.push(row, column);
            }
        }
        fragment
    }

    /// The fragment of the transposed matrix.
    pub fn transposed(mut self) -> Self {
        self.by_column = !self.by_column;
        for tile in &mut self.tiles {
            *tile = (tile.1, tile.0);
        }
        self
    }

    /// The fragments of 16-row blocks of a matrix, one behind the other.
    pub(super) fn stacked(self, m: u32) -> Self {
        let mut fragment = Self { count: 0, ..self };
        for block in (0..m).step_by(16) {
            for &(row, column) in &self.tiles[..(self.count as usize).min(MOST_TILES)] {
                fragment = fragment.push(u32::from(row) + block, u32::from(column));
            }
        }
        fragment
    }

    /// Tiles repeated up to a number of registers, as f16 fragments of `wmma` have them.
    pub(super) fn repeated(self, registers: u32) -> Self {
        let mut fragment = self;
        for i in self.count..registers {
            let (row, column) = self.tiles[(i % self.count.max(1)) as usize % MOST_TILES];
            fragment = fragment.push(u32::from(row), u32::from(column));
        }
        fragment
    }

    /// Elements that share a register: 1 for 32 and 64 bits.
    pub fn parts(&self) -> u32 {
        (32 / self.element_bits).max(1)
    }

    /// Registers of a lane: 32-bit ones, or 64-bit ones for f64.
    pub fn registers(&self) -> u32 {
        self.count * self.span / self.parts()
    }

    /// Row and column of one part (from the low bits up) of one register of a lane.
    #[inline]
    pub fn position(&self, register: u32, part: u32, lane: u32) -> (u32, u32) {
        let (tile, first) = self.tile(register);
        self.place(tile, first + part % self.parts(), lane)
    }

    /// Origin of the tile of a register, and the place of its first part among a lane's elements there.
    #[inline]
    fn tile(&self, register: u32) -> ((u32, u32), u32) {
        let element = (register % 32) * self.parts();
        let (row, column) = self.tiles[(element / self.span) as usize % MOST_TILES];
        ((u32::from(row), u32::from(column)), element % self.span)
    }

    #[inline]
    fn place(&self, (row, column): (u32, u32), element: u32, lane: u32) -> (u32, u32) {
        let (group, along) = (lane / 4 % 8, lane % 4 * self.span + element);
        if self.by_column { (row + along, column + group) } else { (row + group, column + along) }
    }

    /// Index of the element in memory, in elements, for a leading dimension in elements.
    #[inline]
    pub fn offset(&self, register: u32, part: u32, lane: u32, layout: Layout, leading: u64) -> u64 {
        let (row, column) = self.position(register, part, lane);
        match layout {
            Layout::Row => u64::from(row).wrapping_mul(leading).wrapping_add(u64::from(column)),
            Layout::Column => u64::from(column).wrapping_mul(leading).wrapping_add(u64::from(row)),
        }
    }

    /// Calls `f` with row, column and the bits of every element of at most 32 bits. Missing registers are zero.
    #[inline]
    pub(super) fn each(&self, registers: &[[u32; 32]], f: impl FnMut(usize, usize, u32)) {
        match self.parts() {
            1 => self.each_of::<1>(registers, f),
            2 => self.each_of::<2>(registers, f),
            4 => self.each_of::<4>(registers, f),
            _ => self.each_of::<8>(registers, f),
        }
    }

    /// `each` for `P` elements in a register.
    #[inline]
    fn each_of<const P: u32>(&self, registers: &[[u32; 32]], mut f: impl FnMut(usize, usize, u32)) {
        let bits = 32 / P;
        for (register, words) in (0..self.registers()).zip(registers) {
            let (tile, first) = self.tile(register);
            for (lane, &word) in words.iter().enumerate() {
                for part in 0..P {
                    let (row, column) = self.place(tile, first + part, lane as u32);
                    f(row as usize, column as usize, word >> (part * bits) & (u32::MAX >> (32 - bits)));
                }
            }
        }
    }

    /// The same for 64-bit registers.
    #[inline]
    pub(super) fn each64(&self, registers: &[[u64; 32]], mut f: impl FnMut(usize, usize, u64)) {
        for register in 0..self.registers() {
            let Some(words) = registers.get(register as usize) else { return };
            for (lane, &word) in words.iter().enumerate() {
                let (row, column) = self.position(register, 0, lane as u32);
                f(row as usize, column as usize, word);
            }
        }
    }

    /// Writes every register from `f(row, column)`.
    #[inline]
    pub(super) fn fill(&self, registers: &mut [[u32; 32]], f: impl Fn(usize, usize) -> u32) {
        for (register, words) in (0..self.registers()).zip(registers) {
            let (tile, first) = self.tile(register);
            for (lane, word) in words.iter_mut().enumerate() {
                *word = (0..self.parts()).fold(0, |sum, part| {
                    let (row, column) = self.place(tile, first + part, lane as u32);
                    sum | f(row as usize, column as usize) << (part * self.element_bits)
                });
            }
        }
    }
}
