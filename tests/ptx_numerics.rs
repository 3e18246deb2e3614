//! The numerics of the PTX interpreter against results that a GPU gave for the same inputs.
//!
//! tests/data/ptx/numerics/*.ops lists the instructions, h200.txt holds what tests/gpu/numerics.cu recorded: a hash for
//! every 4096 inputs where the result must be equal bit for bit, raw results where it is an approximation.

#[path = "ptx_numerics/inputs.rs"]
mod inputs;
#[path = "ptx_numerics/matrix.rs"]
mod matrix;
#[path = "ptx_numerics/scalar.rs"]
mod scalar;

use kopt::ptx::scalar::approx::BOUNDS;

const SCALAR: &str = include_str!("data/ptx/numerics/scalar.ops");
const MATRIX: &str = include_str!("data/ptx/numerics/matrix.ops");
const RECORD: &str = include_str!("data/ptx/numerics/h200.txt");

/// The recorded words of each instruction of a list, which the record holds in the same order.
fn recorded(list: &str) -> Vec<(inputs::Line, Vec<u64>)> {
    let mut record = RECORD.lines().filter(|l| !l.starts_with('#')).peekable();
    let lines = inputs::read_list(list);
    let key = |line: &inputs::Line| format!("{} | {} | ", line.op, line.inputs.join(" "));
    let first = lines.first().map(key).unwrap_or_default();
    while record.next_if(|l| !l.starts_with(&first)).is_some() {}
    let words = |text: &str| text.split_whitespace().map(|w| u64::from_str_radix(w, 16).expect("hex")).collect();
    lines
        .into_iter()
        .map(|line| {
            let entry = record.next().unwrap_or_default();
            let hex = entry.strip_prefix(&key(&line)).unwrap_or_else(|| panic!("{} is not recorded", line.op));
            (line, words(hex))
        })
        .collect()
}

/// A build without optimisation compares a part of the record, another one for each instruction; a release build all.
fn compared_here(line: usize, hash: usize, of: usize) -> bool {
    !cfg!(debug_assertions) || hash % of == line % of
}

fn operands(line: &inputs::Line, i: u64) -> [u64; 4] {
    let mut x = [0; 4];
    for (k, class) in line.inputs.iter().enumerate() {
        x[k] = inputs::scalar(class, i, k as u64);
    }
    x
}

#[test]
fn exact_instructions_give_the_bits_of_the_gpu() {
    let mut wrong = Vec::new();
    let mut compared = 0;
    for (number, (line, hashes)) in recorded(SCALAR).into_iter().enumerate() {
        if line.result.starts_with("approx") {
            continue;
        }
        assert_eq!(hashes.len() as u64, inputs::COUNT / inputs::BLOCK, "{}", line.op);
        let op = scalar::Op::new(&line.op);
        let mask = u64::MAX >> (64 - inputs::width(&line.result));
        let blocks = hashes.iter().enumerate().filter(|(block, _)| compared_here(number, *block, 4));
        for (block, &expected) in blocks {
            let first = block as u64 * inputs::BLOCK;
            let hash = (first..first + inputs::BLOCK).fold(inputs::HASH_START, |hash, i| {
                inputs::fold(hash, scalar::evaluate(&op, operands(&line, i)) & mask)
            });
            compared += 1;
            if hash != expected {
                wrong.push(format!("{} block {block}", line.op));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {compared} differ: {wrong:?}", wrong.len());
    assert!(compared > 1000, "only {compared} blocks were compared");
}

/// Sign bit and bits of infinity of a result class.
fn special(class: &str) -> (u64, u64) {
    match class {
        "approx" => (1 << 31, 0x7f80_0000),
        "approx16" => (1 << 15, 0x7c00),
        "approxb16" => (1 << 15, 0x7f80),
        _ => (1 << 63, 0x7ff0_0000_0000_0000),
    }
}

/// Whether a result of the model agrees with the GPU's within the bound of its function.
fn agrees(line: &inputs::Line, model: u64, gpu: u64) -> bool {
    if model == gpu {
        return true;
    }
    let (sign, infinity) = special(&line.result);
    let (m, g) = (model & !sign, gpu & !sign);
    // Specials, signs and zeros must be equal, and were compared.
    if m >= infinity || g >= infinity || (model ^ gpu) & sign != 0 || (m == 0) != (g == 0) {
        return false;
    }
    let bound = BOUNDS.iter().find(|b| line.op.starts_with(b.function)).expect("a bound");
    let unit = if line.op.contains("ftz.f64") { 1 << 32 } else { 1 };
    // The table of tanh in 16 bits and the double-precision sequences are within one unit.
    let ulps = if line.result == "approx" { bound.ulps } else { 1 };
    let single = |bits: u64| f64::from(f32::from_bits(bits as u32));
    let close = line.result == "approx" && (single(model) - single(gpu)).abs() <= bound.absolute;
    m.abs_diff(g) <= ulps * unit || close
}

#[test]
fn approximate_instructions_are_within_their_bounds() {
    let mut wrong = Vec::new();
    let mut compared = 0;
    for (line, results) in recorded(SCALAR) {
        if !line.result.starts_with("approx") {
            continue;
        }
        assert_eq!(results.len() as u64, inputs::RAW, "{}", line.op);
        let op = scalar::Op::new(&line.op);
        for (i, &gpu) in results.iter().enumerate() {
            let x = operands(&line, i as u64);
            let model = scalar::evaluate(&op, x);
            compared += 1;
            if !agrees(&line, model, gpu) {
                wrong.push(format!("{} of {:x} {:x}: {model:x}, GPU {gpu:x}", line.op, x[0], x[1]));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {compared} differ: {wrong:#?}", wrong.len());
    assert!(compared > 9000, "only {compared} results were compared");
}

/// Mixes the words of one warp's result into a hash.
fn fold_registers(hash: u64, registers: &[[u32; 32]]) -> u64 {
    registers.iter().flatten().fold(hash, |hash, &word| inputs::fold(hash, u64::from(word)))
}

/// The operands of test `t`: per operand the registers, from counts and classes.
fn matrix_operands(line: &inputs::Line, t: u64) -> Vec<Vec<[u32; 32]>> {
    let operand = |(k, pair): (usize, &[String])| {
        let count: u64 = pair[0].parse().expect("a count");
        let word = |register, lane: usize| inputs::matrix(&pair[1], t, k as u64, register, lane as u64);
        (0..count).map(|register| std::array::from_fn(|lane| word(register, lane))).collect()
    };
    line.inputs.chunks(2).enumerate().map(operand).collect()
}

#[test]
fn matrix_instructions_give_the_bits_of_the_gpu() {
    let mut wrong = Vec::new();
    let mut compared = 0;
    for (number, (line, hashes)) in recorded(MATRIX).into_iter().enumerate() {
        let count = line.result.parse().expect("a count");
        let tests = if hashes.len() == 1 { 1 } else { inputs::TESTS };
        let parts = if hashes.len() == 1 { 1 } else { 4 };
        let here = hashes.iter().enumerate().filter(|(part, _)| compared_here(number, *part, parts));
        for (distribution, &expected) in here {
            let hash = (distribution as u64..tests).step_by(8).fold(inputs::HASH_START, |hash, t| {
                fold_registers(hash, &matrix::evaluate(&line.op, &matrix_operands(&line, t), count))
            });
            compared += 1;
            if hash != expected {
                wrong.push(format!("{} distribution {distribution}", line.op));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {compared} differ: {wrong:#?}", wrong.len());
    assert!(compared > 200, "only {compared} hashes were compared");
}

/// The whole-warp form takes a shortcut; its answers are those of the single lane, which the record confirms.
#[test]
fn the_warp_form_of_fma_is_that_of_a_lane() {
    use kopt::ptx::scalar::single;
    let mut subnormal = 0;
    for first in (0..4 * inputs::COUNT).step_by(32) {
        let operand =
            |k: u64| std::array::from_fn::<u32, 32, _>(|lane| inputs::scalar("f32", first + lane as u64, k) as u32);
        let (a, b, c) = (operand(0), operand(1), operand(2));
        // Warps of moderate and of tiny numbers too: in mixed ones some lane nearly always forbids the shortcut.
        let near = |x: [u32; 32], exponent: u32| x.map(|bits| (bits & 0x80ff_ffff) | exponent << 23);
        let warps = [(a, b, c), (near(a, 126), near(b, 126), near(c, 124)), (near(a, 60), near(b, 68), near(c, 2))];
        for (a, b, c) in warps {
            let mut d = [0; 32];
            single::fma_rn_lanes(&a, &b, &c, &mut d);
            let lanes = std::array::from_fn(|i| single::fma_rn(a[i], b[i], c[i]));
            assert_eq!(d, lanes, "{a:x?} {b:x?} {c:x?}");
            subnormal += d.iter().filter(|&&x| x << 1 != 0 && x & 0x7f80_0000 == 0).count();
        }
    }
    assert!(subnormal > 1000, "only {subnormal} subnormal results");
}

/// Modifiers that may be left out of the name of an instruction.
const OPTIONAL: [&str; 10] =
    [".ftz", ".sat", ".relu", ".NaN", ".xorsign.abs", ".satfinite", ".shiftamt", ".wrap", ".rz", ".rm"];

/// Where a modifier changes nothing, with the reason. Braces as in the lists.
const WITHOUT_EFFECT: [&str; 9] = [
    // A subnormal is as much a number as zero.
    "setp.{num,nan}.ftz.{f32,f16} without .ftz",
    // The H200 does not flush here; the model has no such modifier either.
    "cvt{.rn,.rz,.rm,.rp}.ftz{,.sat}.f16.f32 without .ftz",
    // Part of the conversion's definition.
    "cvt.rn.satfinite{,.relu}.{e4m3x2,e5m2x2}.{f32,f16x2} without .satfinite",
    // A subnormal f16 is a normal f32.
    "cvt.ftz{,.sat}.f32.f16 without .ftz",
    // A subnormal becomes zero all the same.
    "cvt{.rni,.rzi}.ftz{,.sat}.f32.f32 without .ftz",
    "cvt.{rni.ftz.s,rni.ftz.u,rzi.ftz.s,rzi.ftz.u,rmi.ftz.u}{8,16,32}.f32 without .ftz",
    "cvt.rmi.ftz.sat.f32.f32 without .ftz",
    // Exact.
    "cvt{.rz.f32.s8,.rz.f32.u8,.rz.f32.s16,.rz.f32.u16,.rz.f64.s8,.rz.f64.u8,.rz.f64.s16,.rz.f64.u16,.rz.f64.s32,\
     .rz.f64.u32,.rz.f16.s8,.rz.f16.u8} without .rz",
    "cvt{.rm.f32.s8,.rm.f32.u8,.rm.f32.s16,.rm.f32.u16,.rm.f64.s8,.rm.f64.u8,.rm.f64.s16,.rm.f64.u16,.rm.f64.s32,\
     .rm.f64.u32,.rm.f16.s8,.rm.f16.u8} without .rm",
];

/// The other direction: a model that forgets a modifier is caught by the record.
#[test]
fn every_modifier_shows_in_the_record() {
    let mut unseen = Vec::new();
    let mut tried = 0;
    for (line, hashes) in recorded(SCALAR) {
        if line.result.starts_with("approx") || line.op.contains('%') {
            continue;
        }
        let mask = u64::MAX >> (64 - inputs::width(&line.result));
        for modifier in OPTIONAL.into_iter().filter(|m| format!("{}.", line.op).contains(&format!("{m}."))) {
            let name = line.op.replace(modifier, "");
            let op = scalar::Op::new(&name);
            if scalar::model(&op, [0; 4]).is_none() {
                continue;
            }
            tried += 1;
            let caught = hashes.iter().enumerate().any(|(block, &expected)| {
                let first = block as u64 * inputs::BLOCK;
                let hash = (first..first + inputs::BLOCK).fold(inputs::HASH_START, |hash, i| {
                    inputs::fold(hash, scalar::evaluate(&op, operands(&line, i)) & mask)
                });
                hash != expected
            });
            if !caught {
                unseen.push(format!("{} without {modifier}", line.op));
            }
        }
    }
    let mut expected = Vec::new();
    WITHOUT_EFFECT.iter().for_each(|text| inputs::expand(text, &mut expected));
    unseen.sort();
    expected.sort();
    assert_eq!(unseen, expected);
    assert!(tried > 300, "only {tried} modifiers were left out");
}

/// Numbers that a decoder could let through by mistake are answered with some value, never with a panic.
#[test]
fn odd_numbers_are_harmless() {
    use kopt::ptx::matrix::fragment::{Fragment, Layout};
    use kopt::ptx::matrix::{Accumulator, Element, Mma, Types, Wmma, transfer};
    use kopt::ptx::scalar::format::{F16, F64};
    use kopt::ptx::scalar::{Integer, Rounding, convert_integer};

    let extremes = [0, 1, 31, 32, 33, 255, 0x7fff_ffff, 0x8000_0000, u32::MAX];
    for bits in extremes {
        let (odd, byte) = (Integer::new(bits, bits % 2 == 0), Integer::new(8, true));
        convert_integer::integer_to_integer(u64::MAX, odd, byte, true);
        convert_integer::integer_to_integer(u64::MAX, byte, odd, true);
        convert_integer::float_to_integer(-1e300, true, odd, Rounding::Zero);
        convert_integer::float_to_integer(f64::NAN, true, odd, Rounding::Zero);
        for format in [F16, F64] {
            format.round(true, u128::MAX, bits as i32, Rounding::Up);
            format.round(false, 1, bits as i32, Rounding::NearestEven);
        }
        for fragment in [Fragment::a(bits, 16, 16), Fragment::b(16, bits, 8), Fragment::accumulator(16, 8, 32)] {
            fragment.offset(bits, bits, bits, Layout::Column, u64::MAX);
        }
        transfer::position(bits, bits, true);
        transfer::address_lane(bits, bits);
        assert_eq!(Wmma::new((bits, 8, 16)).is_some(), bits == 32, "{bits}");
    }
    let types = |a, c| Types { a, b: a, c, d: c, saturate: false };
    assert_eq!(Mma::new((16, 8, 0), types(Element::F16, Accumulator::F32)), None);
    assert_eq!(Mma::new((16, 8, 16), types(Element::F16, Accumulator::S32)), None);
    let form = Mma::new((16, 8, 16), types(Element::F16, Accumulator::F32)).expect("a form");
    let mut d = [[7; 32]; 5];
    form.execute(&[], &[], &[], &mut d);
    assert_eq!(d, [[0; 32], [0; 32], [0; 32], [0; 32], [7; 32]], "missing registers are zero, others are left alone");
    form.execute_f64(&[], &[], &[], &mut []);
}
