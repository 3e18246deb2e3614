//! `mma.sync`, `wmma`, `ldmatrix`, `stmatrix`, `movmatrix`. Their details stand in `Program::matrix`; `Inst::m` is the
//! index, `a` the base of an address, `off` its offset, `b` the leading dimension.

use super::mods::Mods;
use super::op::{Inst, Op};
use super::{Decoded, Decoder};
use crate::ptx::ast::*;
use crate::ptx::matrix::fragment::{Fragment, Layout};
use crate::ptx::matrix::mma::Types;
use crate::ptx::matrix::wmma::Multiply;
use crate::ptx::matrix::{Accumulator, Element, Mma, Wmma};

/// Registers of one operand: a range of `Program::lists`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct List {
    pub at: u32,
    pub count: u8,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum MatrixKind {
    Mma(Mma),
    Wmma(Multiply),
    /// `wmma.load` and `wmma.store`: bytes of an element.
    Move {
        fragment: Fragment,
        layout: Layout,
        bytes: u32,
    },
    /// Matrices and transposition of `ldmatrix` and `stmatrix`.
    Tiles {
        count: u32,
        transposed: bool,
    },
    Transpose,
}

/// Details of a matrix instruction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MatrixOp {
    pub kind: MatrixKind,
    /// Registers are 64-bit (f64).
    pub wide: bool,
    pub d: List,
    pub a: List,
    pub b: List,
    pub c: List,
    pub space: Space,
    pub wide_base: bool,
    /// `b` of the instruction holds the leading dimension.
    pub leading: Option<u16>,
}

impl MatrixOp {
    fn new(kind: MatrixKind) -> Self {
        let none = List::default();
        MatrixOp {
            kind,
            wide: false,
            d: none,
            a: none,
            b: none,
            c: none,
            space: Space::Generic,
            wide_base: true,
            leading: None,
        }
    }
}

fn shape(part: &str) -> Option<(u32, u32, u32)> {
    let (m, rest) = part.strip_prefix('m')?.split_once('n')?;
    let (n, k) = rest.split_once('k')?;
    Some((m.parse().ok()?, n.parse().ok()?, k.parse().ok()?))
}

fn layout(part: &str) -> Option<Layout> {
    match part {
        "row" => Some(Layout::Row),
        "col" => Some(Layout::Column),
        _ => None,
    }
}

impl<'a> Decoder<'a> {
    pub(super) fn matrix(&mut self, m: &mut Mods, i: &'a Instruction) -> Decoded<bool> {
        match m.base {
            "mma" | "wmma" | "ldmatrix" | "stmatrix" | "movmatrix" => {}
            _ => return Ok(false),
        }
        if !m.flag("sync") {
            return Ok(false);
        }
        m.flag("aligned");
        let base = m.base;
        match base {
            "mma" => self.mma(m, i),
            "wmma" => match m.one_of(&["mma", "load", "store"]) {
                Some("mma") => self.wmma(m, i),
                Some(kind) => self.wmma_move(m, i, kind == "store"),
                None => Ok(false),
            },
            "movmatrix" => {
                if !m.flag("m8n8") || !m.flag("trans") || m.ty() != Some(Type::B16) {
                    return Ok(false);
                }
                let mut inst = Inst::new(Op::Movmatrix);
                inst.d = self.dst32(self.operand(i, 0)?)?;
                inst.a = self.src32(self.operand(i, 1)?, Type::B32)?;
                self.push_matrix(inst, MatrixOp::new(MatrixKind::Transpose))
            }
            "ldmatrix" | "stmatrix" => self.tiles(m, i),
            _ => Ok(false),
        }
    }

    fn push_matrix(&mut self, mut inst: Inst, op: MatrixOp) -> Decoded<bool> {
        inst.m = self.program.matrix.len() as u32;
        self.program.matrix.push(op);
        self.push(inst)?;
        Ok(true)
    }

    /// The registers of `{..}` or of a single operand, which must be as many as the fragment has.
    fn fragment_list(&mut self, operand: &Operand, wide: bool, store: bool, count: u32) -> Decoded<List> {
        let parts: &[Operand] = match operand {
            Operand::Vector(parts) => parts,
            other => std::slice::from_ref(other),
        };
        if parts.len() != count as usize {
            return self.invalid(format!("{} registers where the fragment has {count}", parts.len()));
        }
        let mut registers = vec![];
        for part in parts {
            registers.push(match (wide, store) {
                (true, true) => self.src64(part, Type::F64)?,
                (true, false) => self.dst64(part)?,
                (false, true) => self.src32(part, Type::B32)?,
                (false, false) => self.dst32(part)?,
            });
        }
        let at = self.list(&registers) as u32;
        Ok(List { at, count: count as u8 })
    }

    fn mma(&mut self, m: &mut Mods, i: &'a Instruction) -> Decoded<bool> {
        let Some((rows, columns, k)) = m.take_map(shape) else { return Ok(false) };
        // The only layout of these shapes.
        if !m.flag("row") || !m.flag("col") {
            return Ok(false);
        }
        let saturate = m.flag("satfinite");
        let d = m.take_map(Accumulator::parse);
        let (a, b) = (m.take_map(Element::parse), m.take_map(Element::parse));
        let c = m.take_map(Accumulator::parse);
        let (Some(d), Some(a), Some(b), Some(c)) = (d, a, b, c) else { return Ok(false) };
        let types = Types { a, b, c, d, saturate };
        let Some(mma) = Mma::new((rows, columns, k), types) else { return Ok(false) };
        self.expect_operands(i, 4, 4)?;
        let wide = a == Element::F64;
        let mut op = MatrixOp::new(MatrixKind::Mma(mma));
        op.wide = wide;
        op.d = self.fragment_list(&i.operands[0], wide, false, mma.fragment_d().registers())?;
        op.a = self.fragment_list(&i.operands[1], wide, true, mma.fragment_a().registers())?;
        op.b = self.fragment_list(&i.operands[2], wide, true, mma.fragment_b().registers())?;
        op.c = self.fragment_list(&i.operands[3], wide, true, mma.fragment_c().registers())?;
        self.push_matrix(Inst::new(Op::Mma), op)
    }

    fn wmma(&mut self, m: &mut Mods, i: &'a Instruction) -> Decoded<bool> {
        let layouts = (m.take_map(layout), m.take_map(layout));
        let (Some((rows, columns, k)), (Some(_), Some(_))) = (m.take_map(shape), layouts) else { return Ok(false) };
        m.flag("rn");
        let saturate = m.flag("satfinite");
        // f16 names the accumulators only; the other types name all four.
        let Some(d) = m.take_map(Accumulator::parse) else { return Ok(false) };
        let floats = m.left().is_some_and(|next| matches!(next, "f16" | "f32")) && m.whole.matches(".f").count() == 2;
        let (a, b) = if floats {
            (Some(Element::F16), Some(Element::F16))
        } else {
            (m.take_map(Element::parse), m.take_map(Element::parse))
        };
        let (Some(a), Some(b), Some(c)) = (a, b, m.take_map(Accumulator::parse)) else { return Ok(false) };
        let types = Types { a, b, c, d, saturate };
        let wmma = Wmma::new((rows, columns, k)).and_then(|w| w.multiply(types));
        let Some(wmma) = wmma else { return Ok(false) };
        self.expect_operands(i, 4, 4)?;
        let wide = a == Element::F64;
        let [of_a, of_b, of_c, of_d] = wmma.fragments.map(|f| f.registers());
        let mut op = MatrixOp::new(MatrixKind::Wmma(wmma));
        op.wide = wide;
        op.d = self.fragment_list(&i.operands[0], wide, false, of_d)?;
        op.a = self.fragment_list(&i.operands[1], wide, true, of_a)?;
        op.b = self.fragment_list(&i.operands[2], wide, true, of_b)?;
        op.c = self.fragment_list(&i.operands[3], wide, true, of_c)?;
        self.push_matrix(Inst::new(Op::Mma), op)
    }

    fn space(&self, m: &mut Mods) -> Space {
        match m.one_of(&["global", "shared", "shared::cta"]) {
            None => Space::Generic,
            Some("global") => Space::Global,
            Some(_) => Space::Shared,
        }
    }

    fn wmma_move(&mut self, m: &mut Mods, i: &'a Instruction, store: bool) -> Decoded<bool> {
        let Some(which) = m.one_of(&["a", "b", "c", "d"]) else { return Ok(false) };
        let (Some(layout), Some((rows, columns, k))) = (m.take_map(layout), m.take_map(shape)) else {
            return Ok(false);
        };
        let space = self.space(m);
        let Some(wmma) = Wmma::new((rows, columns, k)) else { return Ok(false) };
        let (fragment, bytes) = if matches!(which, "a" | "b") {
            let Some(element) = m.take_map(Element::parse) else { return Ok(false) };
            let fragment = if which == "a" { wmma.fragment_a(element) } else { wmma.fragment_b(element) };
            (fragment, element.bits() / 8)
        } else {
            let Some(accumulator) = m.take_map(Accumulator::parse) else { return Ok(false) };
            (wmma.fragment_c(accumulator), accumulator.bits() / 8)
        };
        let Some(fragment) = fragment else { return Ok(false) };
        self.expect_operands(i, 2, 3)?;
        let (list, place) = if store { (1, 0) } else { (0, 1) };
        let address = self.address(&i.operands[place], space)?;
        let mut op = MatrixOp::new(MatrixKind::Move { fragment, layout, bytes });
        op.wide = bytes == 8;
        op.space = space;
        op.wide_base = address.wide;
        op.d = self.fragment_list(&i.operands[list], op.wide, store, fragment.registers())?;
        let leading = match i.operands.get(2) {
            Some(operand) => self.src32(operand, Type::U32)?,
            None => {
                let (height, width) = match which {
                    "a" => (rows, k),
                    "b" => (k, columns),
                    _ => (rows, columns),
                };
                let default = if layout == Layout::Row { width } else { height };
                self.value32(super::Value::Bits(u64::from(default)))?
            }
        };
        op.leading = Some(leading);
        let mut inst = Inst::new(if store { Op::WmmaStore } else { Op::WmmaLoad });
        (inst.a, inst.off, inst.b) = (address.base, address.offset, leading);
        self.push_matrix(inst, op)
    }

    fn tiles(&mut self, m: &mut Mods, i: &'a Instruction) -> Decoded<bool> {
        let store = m.base == "stmatrix";
        if !m.flag("m8n8") {
            return Ok(false);
        }
        let count = match m.one_of(&["x1", "x2", "x4"]) {
            Some("x1") => 1,
            Some("x2") => 2,
            Some(_) => 4,
            None => return Ok(false),
        };
        let transposed = m.flag("trans");
        if self.space(m) == Space::Global || m.ty() != Some(Type::B16) {
            return Ok(false);
        }
        self.expect_operands(i, 2, 2)?;
        let (list, place) = if store { (1, 0) } else { (0, 1) };
        let address = self.address(&i.operands[place], Space::Shared)?;
        let mut op = MatrixOp::new(MatrixKind::Tiles { count, transposed });
        op.space = if m.whole.contains("shared") { Space::Shared } else { Space::Generic };
        op.wide_base = address.wide;
        op.d = self.fragment_list(&i.operands[list], false, store, count)?;
        let mut inst = Inst::new(if store { Op::Stmatrix } else { Op::Ldmatrix });
        (inst.a, inst.off) = (address.base, address.offset);
        self.push_matrix(inst, op)
    }
}
