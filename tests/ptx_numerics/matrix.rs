//! The CPU's answer to one instruction of the matrix list, for one warp.

use kopt::ptx::matrix::fragment::{Fragment, Layout};
use kopt::ptx::matrix::{Accumulator, Element, Mma, Register, Register64, Types, Wmma, transfer};

/// 1 KB of memory, as one register image of `wmma` fills it.
type Image = [u8; 1024];

/// Evaluates `op` on its operands' registers; the result has `count` registers.
pub fn evaluate(op: &str, operands: &[Vec<Register>], count: usize) -> Vec<Register> {
    let parts: Vec<&str> = op.split('.').collect();
    let mut out = vec![[0; 32]; count];
    match parts[0] {
        "mma" => mma(&parts, operands, &mut out),
        "movmatrix" => out[0] = transfer::transpose(&operands[0][0]),
        "ldmatrix" => load_matrix(&parts, &operands[0], &mut out),
        "stmatrix" => store_matrix(&parts, &operands[0], &mut out),
        "wmma" if parts[1] == "load" => wmma_load(&parts, &operands[0], &mut out),
        "wmma" => wmma_mma(&parts, operands, &mut out),
        other => panic!("no model of {other}"),
    }
    out
}

fn shape(name: &str) -> (u32, u32, u32) {
    let mut numbers = name.split(['m', 'n', 'k']).filter_map(|n| n.parse().ok());
    let mut next = || numbers.next().expect("three numbers");
    (next(), next(), next())
}

/// Pairs of words as 64-bit registers.
fn wide(words: &[Register]) -> Vec<Register64> {
    let pair = |p: &[Register]| std::array::from_fn(|lane| u64::from(p[1][lane]) << 32 | u64::from(p[0][lane]));
    words.chunks(2).map(pair).collect()
}

fn narrow(values: &[Register64], out: &mut [Register]) {
    for (pair, value) in out.chunks_mut(2).zip(values) {
        pair[0] = value.map(|v| v as u32);
        pair[1] = value.map(|v| (v >> 32) as u32);
    }
}

/// The last four modifiers: types of D, A, B, C.
fn types(parts: &[&str]) -> Types {
    let names = &parts[parts.len() - 4..];
    let element = |name| Element::parse(name).expect("a type");
    let accumulator = |name| Accumulator::parse(name).expect("a type");
    Types {
        a: element(names[1]),
        b: element(names[2]),
        c: accumulator(names[3]),
        d: accumulator(names[0]),
        saturate: parts.contains(&"satfinite"),
    }
}

fn mma(parts: &[&str], operands: &[Vec<Register>], out: &mut [Register]) {
    let types = types(parts);
    let form = Mma::new(shape(parts[3]), types).expect("a supported form");
    let [a, b, c] = operands else { panic!("three operands") };
    let words = |fragment: Fragment| (fragment.registers() * fragment.element_bits.div_ceil(32)) as usize;
    let sizes = [form.fragment_a(), form.fragment_b(), form.fragment_c(), form.fragment_d()].map(words);
    assert_eq!(sizes, [a.len(), b.len(), c.len(), out.len()], "registers of {parts:?}");
    if types.a == Element::F64 {
        let mut result = vec![[0; 32]; out.len() / 2];
        form.execute_f64(&wide(a), &wide(b), &wide(c), &mut result);
        narrow(&result, out);
    } else {
        form.execute(a, b, c, out);
    }
}

fn load_matrix(parts: &[&str], rows: &[Register], out: &mut [Register]) {
    let (count, transposed) = (parts[4][1..].parse().expect("a count"), parts.contains(&"trans"));
    for (matrix, register) in (0..count).zip(out) {
        let tile = std::array::from_fn(|row| {
            let lane = transfer::address_lane(matrix, row as u32) as usize;
            std::array::from_fn(|column| (rows[column / 2][lane] >> (16 * (column % 2))) as u16)
        });
        *register = transfer::load(&tile, transposed);
    }
}

fn store_matrix(parts: &[&str], registers: &[Register], out: &mut [Register]) {
    let (count, transposed) = (parts[4][1..].parse().expect("a count"), parts.contains(&"trans"));
    for (matrix, register) in (0..count).zip(registers) {
        for (row, elements) in transfer::store(register, transposed).iter().enumerate() {
            let lane = transfer::address_lane(matrix, row as u32) as usize;
            for (column, &element) in elements.iter().enumerate() {
                out[column / 2][lane] |= u32::from(element) << (16 * (column % 2));
            }
        }
    }
}

fn image(registers: &[Register]) -> Image {
    let mut bytes = [0; 1024];
    for lane in 0..32 {
        for (r, register) in registers.iter().enumerate() {
            bytes[(lane * 8 + r) * 4..][..4].copy_from_slice(&register[lane].to_le_bytes());
        }
    }
    bytes
}

fn layout(name: &str) -> Layout {
    if name == "row" { Layout::Row } else { Layout::Column }
}

/// Leading dimension of a contiguous matrix.
fn leading(rows: u32, columns: u32, layout: Layout) -> u64 {
    u64::from(if layout == Layout::Row { columns } else { rows })
}

fn bytes_at(image: &Image, element: u64, bits: u32) -> u64 {
    let (at, size) = (element as usize * bits as usize / 8, bits as usize / 8);
    let mut word = [0; 8];
    word[..size].copy_from_slice(&image[at..at + size]);
    u64::from_le_bytes(word)
}

/// `wmma.load` into 32-bit registers.
fn load(image: &Image, fragment: Fragment, layout: Layout, leading: u64) -> Vec<Register> {
    let bits = fragment.element_bits;
    let word = |register: u32, lane: u32| {
        (0..fragment.parts()).fold(0, |word, part| {
            let element = fragment.offset(register, part, lane, layout, leading);
            word | (bytes_at(image, element, bits) as u32) << (part * bits % 32)
        })
    };
    (0..fragment.registers()).map(|r| std::array::from_fn(|lane| word(r, lane as u32))).collect()
}

fn load64(image: &Image, fragment: Fragment, layout: Layout, leading: u64) -> Vec<Register64> {
    let word = |r, lane| bytes_at(image, fragment.offset(r, 0, lane, layout, leading), 64);
    (0..fragment.registers()).map(|r| std::array::from_fn(|lane| word(r, lane as u32))).collect()
}

/// `wmma.load.<operand>.<layout>.<shape>.<type>`
fn wmma_load(parts: &[&str], registers: &[Register], out: &mut [Register]) {
    let (m, n, k) = shape(parts[4]);
    let form = Wmma::new((m, n, k)).expect("a shape");
    let (layout, element) = (layout(parts[3]), Element::parse(parts[5]));
    let (fragment, rows, columns) = match parts[2] {
        "a" => (form.fragment_a(element.expect("a type")), m, k),
        "b" => (form.fragment_b(element.expect("a type")), k, n),
        _ => (form.fragment_c(Accumulator::parse(parts[5]).expect("a type")), m, n),
    };
    let (image, fragment) = (image(registers), fragment.expect("a supported form"));
    if parts[5] == "f64" {
        narrow(&load64(&image, fragment, layout, leading(rows, columns, layout)), out);
    } else {
        let loaded = load(&image, fragment, layout, leading(rows, columns, layout));
        out[..loaded.len()].copy_from_slice(&loaded);
    }
}

/// `wmma.mma.<layout a>.<layout b>.<shape>{.rn,.satfinite}.<d>.<a>.<b>.<c>`: loads, multiplies, stores.
fn wmma_mma(parts: &[&str], operands: &[Vec<Register>], out: &mut [Register]) {
    let (m, n, k) = shape(parts[4]);
    let types = types(parts);
    let form = Wmma::new((m, n, k)).and_then(|shape| shape.multiply(types)).expect("a supported form");
    let (la, lb) = (layout(parts[2]), layout(parts[3]));
    let [ia, ib, ic] = [0, 1, 2].map(|i| image(&operands[i]));
    let [fa, fb, fc, fd] = form.fragments;
    let mut result = [0u8; 1024];
    let mut put = |element: u64, bits: u32, value: u64| {
        let (at, size) = (element as usize * bits as usize / 8, bits as usize / 8);
        result[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
    };
    let (lead_a, lead_b, lead_c) = (leading(m, k, la), leading(k, n, lb), leading(m, n, Layout::Row));
    if types.a == Element::F64 {
        let mut d = vec![[0; 32]; fd.registers() as usize];
        let c = load64(&ic, fc, Layout::Row, lead_c);
        form.execute_f64(&load64(&ia, fa, la, lead_a), &load64(&ib, fb, lb, lead_b), &c, &mut d);
        for (r, register) in d.iter().enumerate() {
            for (lane, &word) in register.iter().enumerate() {
                put(fd.offset(r as u32, 0, lane as u32, Layout::Row, lead_c), 64, word);
            }
        }
    } else {
        let mut d = vec![[0; 32]; fd.registers() as usize];
        let c = load(&ic, fc, Layout::Row, lead_c);
        form.execute(&load(&ia, fa, la, lead_a), &load(&ib, fb, lb, lead_b), &c, &mut d);
        for (r, register) in d.iter().enumerate() {
            for (lane, &word) in register.iter().enumerate() {
                for part in 0..fd.parts() {
                    let element = fd.offset(r as u32, part, lane as u32, Layout::Row, lead_c);
                    put(element, fd.element_bits, u64::from(word >> (part * fd.element_bits % 32)));
                }
            }
        }
    }
    for (r, register) in out.iter_mut().enumerate() {
        for (lane, word) in register.iter_mut().enumerate() {
            *word = bytes_at(&result, (lane * 8 + r) as u64, 32) as u32;
        }
    }
}
