//! The lists of instructions and the inputs of tests/gpu/numerics.cu, computed the same way.

/// Inputs per scalar instruction and per recorded hash; warps per matrix instruction.
pub const COUNT: u64 = 16384;
pub const BLOCK: u64 = 4096;
pub const TESTS: u64 = 256;
/// Raw results recorded of an approximate instruction.
pub const RAW: u64 = 256;

pub fn mix(x: u64) -> u64 {
    let z = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

pub const HASH_START: u64 = 0xcbf2_9ce4_8422_2325;

pub fn fold(hash: u64, word: u64) -> u64 {
    (hash ^ word).wrapping_mul(0x100_0000_01b3)
}

/// Exponent and mantissa bits.
#[derive(Clone, Copy)]
pub struct Float(u32, u32);
const F16: Float = Float(5, 10);
const BF16: Float = Float(8, 7);
const F32: Float = Float(8, 23);
const F64: Float = Float(11, 52);

impl Float {
    fn join(self, sign: u64, field: i64, mantissa: u64) -> u64 {
        (sign & 1) << (self.0 + self.1) | (field as u64) << self.1 | (mantissa & ((1 << self.1) - 1))
    }

    fn bias(self) -> i64 {
        (1 << (self.0 - 1)) - 1
    }

    fn top(self) -> i64 {
        (1 << self.0) - 1
    }

    fn edge(self, r: u64) -> u64 {
        let (bias, top, all) = (self.bias(), self.top(), (1u64 << self.1) - 1);
        let (field, mantissa) = match r % 20 {
            0 => (0, 0),
            1 => (0, 1),
            2 => (0, all),
            3 => (1, 0),
            4 => (bias, 0),
            5 => (bias, 1),
            6 => (bias - 1, all),
            7 => (bias + 1, 0),
            8 => (bias - 1, 0),
            9 => (bias, 1 << (self.1 - 1)),
            10 => (top - 1, all),
            11 => (top, 0),
            12 => (top, 1 << (self.1 - 1)),
            13 => (top, 1),
            14 => (bias + 1, 1 << (self.1 - 1)),
            15 => (bias - 4, 0x9_9999_9999_999a >> (52 - self.1)),
            16 => (1, 1),
            17 => (0, 1 << (self.1 - 1)),
            18 => (top - 1, 0),
            _ => (bias - i64::from(self.1) - 1, 0),
        };
        self.join(r >> 63, field, mantissa)
    }

    fn input(self, i: u64, k: u64) -> u64 {
        let h = mix(i * 8 + k);
        let r = mix(h);
        let g = mix(i * 8 + 7);
        let (bias, top) = (self.bias(), self.top());
        let (sign, mantissa) = (r >> 63, mix(r));
        match h & 15 {
            0..=5 => self.edge(r),
            6..=8 => r & (2u64 << (self.0 + self.1)).wrapping_sub(1),
            9..=11 => self.join(sign, bias + (r % 16) as i64 - 8, mantissa),
            12 | 13 => self.join(sign, bias + (g % 4) as i64, (g >> 8) ^ (r & 7)),
            14 => {
                let step = ((r >> 1) % 3) as i64;
                self.join(sign, if r & 1 == 1 { 1 + step } else { top - 1 - step }, mantissa)
            }
            _ => {
                let n = r % 128;
                if n == 0 {
                    return self.join(sign, 0, 0);
                }
                let p = 63 - n.leading_zeros();
                let moved = if p <= self.1 { n << (self.1 - p) } else { n >> (p - self.1) };
                self.join(sign, bias + i64::from(p) - 1, moved)
            }
        }
    }

    fn matrix(self, t: u64, k: u64, p: u64) -> u64 {
        let r = mix((t * 4 + k) * 65536 + p + (1 << 40));
        let s = mix(r);
        let (bias, sign) = (self.bias(), r >> 63);
        let near = |r: u64| bias + (r % 3) as i64 - 1;
        match t % 8 {
            0 => match r % 5 {
                0 => self.join(sign, 0, 0),
                1 => self.join(sign, bias - 1, 0),
                2 => self.join(sign, bias, 0),
                3 => self.join(sign, bias + 1, 1 << (self.1 - 1)),
                _ => self.join(sign, bias + 1, 0),
            },
            1 => self.join(sign, near(r), s),
            2 => self.join(sign, bias + (r % 9) as i64 - 4, s),
            3 => self.join(sign, (r % self.top() as u64) as i64, s),
            // Products of zeros are minus zero here.
            4 if !r.is_multiple_of(8) => self.join(if k == 2 { s } else { u64::from(k == 0) }, 0, 0),
            4 => self.join(sign, bias + (s % 5) as i64 - 2, mix(s)),
            5 if k == 2 && s >> 60 & 1 == 1 => self.join(s, 0, 0),
            5 => self.join(sign, (r % 4) as i64, s),
            6 if r.is_multiple_of(61) => self.edge(s),
            6 => self.join(sign, near(r), s),
            _ if k == 2 => self.join(sign, bias + (r % 30) as i64 - 14, s),
            _ => self.join(sign, near(r), s),
        }
    }
}

const INTEGER_EDGES: [u64; 28] = [
    0,
    1,
    2,
    3,
    4,
    7,
    8,
    15,
    16,
    31,
    32,
    33,
    63,
    64,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    u64::MAX,
    0x5555_5555_5555_5555,
    0xaaaa_aaaa_aaaa_aaaa,
];

fn integer(width: u32, i: u64, k: u64) -> u64 {
    let h = mix(i * 8 + k);
    let r = mix(h);
    let mask = u64::MAX >> (64 - width);
    match h & 15 {
        0..=5 => INTEGER_EDGES[(r % 28) as usize] & mask,
        6..=9 => r & mask,
        10..=12 => (r % 40) & mask,
        13 => 0u64.wrapping_sub(r % 40) & mask,
        _ => (mix(r) & mask) >> (r % u64::from(width)),
    }
}

/// Input `i` of operand `k` of a scalar instruction.
pub fn scalar(class: &str, i: u64, k: u64) -> u64 {
    let pair = |f: Float| f.input(i + (1 << 20), k) << 16 | f.input(i, k);
    match class {
        "f32" => F32.input(i, k),
        "f64" => F64.input(i, k),
        "f16" => F16.input(i, k),
        "bf16" => BF16.input(i, k),
        "f16x2" => pair(F16),
        "bf16x2" => pair(BF16),
        "g32" => {
            let r = mix(i * 8 + k + (1 << 22));
            F32.join(r >> 63, 127 + (r % 48) as i64 - 24, mix(r))
        }
        "u16" | "b16" => integer(16, i, k),
        "u32" | "b32" => integer(32, i, k),
        "u64" => integer(64, i, k),
        "n5" => integer(32, i, k) & 31,
        other => panic!("class {other}"),
    }
}

/// One register of a matrix operand: test, operand, register, lane.
pub fn matrix(class: &str, t: u64, k: u64, register: u64, lane: u64) -> u32 {
    let p = register * 32 + lane;
    let address = lane * 8 + register;
    let draw = |stream: u32| mix((t * 4 + k) * 65536 + p + (1 << stream));
    let halves = |f: Float| (f.matrix(t, k, 2 * p + 1) << 16 | f.matrix(t, k, 2 * p)) as u32;
    match class {
        "f16" => halves(F16),
        "bf16" => halves(BF16),
        "f32" => F32.matrix(t, k, p) as u32,
        "f64" => {
            let value = F64.matrix(t, k, (register / 2) * 32 + lane);
            (if register & 1 == 1 { value >> 32 } else { value }) as u32
        }
        "fp8" if t % 8 == 6 => draw(41) as u32,
        "fp8" => (draw(41) & if t % 2 == 1 { 0xbbbb_bbbb } else { 0xf7f7_f7f7 }) as u32,
        "i8" => (draw(41) | if t % 4 == 3 { 0x7f7f_7f7f } else { 0 }) as u32,
        "i32" if t % 2 == 1 => draw(42) as u32,
        "i32" => ((draw(42) % 2001) as i64 - 1000) as u32,
        "idx16" => (((2 * address + 1) << 16) | (2 * address)) as u32,
        "idx32" => address as u32,
        "idx8" => (0..4).fold(0, |word, b| word | (((4 * address + b) & 255) << (8 * b)) as u32),
        "idx64" if register & 1 == 1 => 0x3ff0_0000,
        "idx64" => (address / 2) as u32,
        other => panic!("class {other}"),
    }
}

/// Bits of a result class.
pub fn width(class: &str) -> u32 {
    match class {
        "f64" | "u64" | "approx64" => 64,
        "f16" | "bf16" | "u16" | "b16" | "approx16" | "approxb16" => 16,
        _ => 32,
    }
}

/// One instruction of a list.
pub struct Line {
    pub op: String,
    pub inputs: Vec<String>,
    pub result: String,
}

/// All alternatives in braces, in order.
pub fn expand(text: &str, out: &mut Vec<String>) {
    let Some((before, rest)) = text.split_once('{') else {
        out.push(text.to_string());
        return;
    };
    let (inside, after) = rest.split_once('}').expect("an opened brace is closed");
    for part in inside.split(',') {
        expand(&format!("{before}{part}{after}"), out);
    }
}

pub fn read_list(text: &str) -> Vec<Line> {
    let words = |s: &str| s.split_whitespace().map(str::to_string).collect::<Vec<_>>();
    let mut lines = Vec::new();
    for line in text.lines().filter(|l| !l.is_empty() && !l.starts_with('#')) {
        let columns: Vec<&str> = line.split(" | ").collect();
        let mut ops = Vec::new();
        expand(columns[0], &mut ops);
        let result = columns[2].trim().to_string();
        lines.extend(ops.into_iter().map(|op| Line { op, inputs: words(columns[1]), result: result.clone() }));
    }
    lines
}
