//! `printf` and `assert`.

use super::super::context::Halt;
use super::generic::{Where, place};
use super::local::read_local;
use crate::ptx::decode::op::Inst;
use crate::ptx::machine::LOCAL_WINDOW;
use crate::ptx::machine::context::Context;
use crate::ptx::machine::findings::Kind;
use crate::ptx::machine::regs::lanes;
use crate::ptx::machine::step::{Next, Stop};
use crate::ptx::machine::warp::{Group, Warp};

/// Longest string that is read from memory.
const LONGEST: usize = 4096;

pub(super) fn argument(ctx: &Context, w: &Warp, g: &Group, site: u32, index: usize, size: u32, lane: usize) -> u64 {
    let area = ctx.program.calls.get(site as usize).and_then(|c| c.arguments.get(index)).copied();
    area.and_then(|at| read_local(w, u64::from(g.base) + u64::from(at), size, lane)).unwrap_or(0)
}

fn read(ctx: &Context, w: &Warp, address: u64, size: u32, lane: usize) -> Option<u64> {
    match place(address) {
        Where::Local => read_local(w, address - LOCAL_WINDOW, size, lane),
        Where::Global => {
            let (allocation, offset) = ctx.memory.find(address, &mut 0)?;
            (offset + u64::from(size) <= allocation.bytes)
                .then(|| (0..size as usize).fold(0, |v, n| v | allocation.read(offset as usize + n, 1) << (8 * n)))
        }
        _ => None,
    }
}

fn string(ctx: &Context, w: &Warp, address: u64, lane: usize) -> String {
    let mut bytes = vec![];
    while bytes.len() < LONGEST {
        match read(ctx, w, address + bytes.len() as u64, 1, lane) {
            Some(0) | None => break,
            Some(byte) => bytes.push(byte as u8),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// `vprintf(format, arguments)`; lanes print in their order.
pub(super) fn print(ctx: &mut Context, w: &mut Warp, g: &mut Group, i: &Inst, m: u32) -> Next {
    for lane in lanes(m) {
        let format = argument(ctx, w, g, i.m, 0, 8, lane);
        let values = argument(ctx, w, g, i.m, 1, 8, lane);
        let format = string(ctx, w, format, lane);
        let text = render(ctx, w, &format, values, lane);
        ctx.print_bytes += text.len() as u64;
        if ctx.print_bytes > ctx.options.limits.print_bytes {
            ctx.halt = Some(Halt::PrintLimit);
            return Next::Stop(Stop::Halt);
        }
        ctx.prints.push(text);
    }
    Next::Go
}

/// The conversions of C, with flags, width and precision. Variadic arguments lie at multiples of their size.
fn render(ctx: &Context, w: &Warp, format: &str, values: u64, lane: usize) -> String {
    let mut out = String::new();
    let mut at = values;
    let mut next = |size: u64| {
        at = at.next_multiple_of(size);
        let value = read(ctx, w, at, size as u32, lane).unwrap_or(0);
        at += size;
        value
    };
    let mut chars = format.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let mut spec = Spec::default();
        while let Some(flag) = chars.next_if(|c| "-+ #0".contains(*c)) {
            match flag {
                '-' => spec.left = true,
                '+' => spec.plus = true,
                ' ' => spec.space = true,
                '#' => spec.alternate = true,
                _ => spec.zero = true,
            }
        }
        spec.width = number(&mut chars, &mut next).unwrap_or(0);
        if chars.next_if_eq(&'.').is_some() {
            spec.precision = Some(number(&mut chars, &mut next).unwrap_or(0));
        }
        let mut long = 0;
        while let Some(length) = chars.next_if(|c| "hlLqjzt".contains(*c)) {
            long += match length {
                'l' | 'L' | 'q' | 'j' | 'z' | 't' => 1,
                _ => 0,
            };
        }
        let Some(conversion) = chars.next() else { break };
        let body = match conversion {
            '%' => "%".into(),
            'd' | 'i' => {
                let value = if long > 0 { next(8) as i64 } else { i64::from(next(4) as i32) };
                spec.signed(value)
            }
            'u' | 'x' | 'X' | 'o' => {
                let value = if long > 0 { next(8) } else { next(4) & 0xffff_ffff };
                match conversion {
                    'u' => spec.pad_number(String::new(), value.to_string()),
                    'x' => spec.pad_number(spec.prefix("0x", value), format!("{value:x}")),
                    'X' => spec.pad_number(spec.prefix("0X", value), format!("{value:X}")),
                    _ => spec.pad_number(String::new(), format!("{value:o}")),
                }
            }
            'p' => format!("{:#x}", next(8)),
            'c' => char::from(next(4) as u8).to_string(),
            's' => {
                let text = string(ctx, w, next(8), lane);
                text.chars().take(spec.precision.unwrap_or(usize::MAX)).collect()
            }
            'f' | 'F' | 'e' | 'E' | 'g' | 'G' | 'a' | 'A' => spec.float(f64::from_bits(next(8)), conversion),
            other => format!("%{other}"),
        };
        let missing = spec.width.saturating_sub(body.chars().count());
        if spec.left {
            out += &body;
            out.extend(std::iter::repeat_n(' ', missing));
        } else {
            out.extend(std::iter::repeat_n(' ', missing));
            out += &body;
        }
    }
    out
}

#[derive(Default)]
struct Spec {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
}

fn number(chars: &mut std::iter::Peekable<std::str::Chars>, next: &mut impl FnMut(u64) -> u64) -> Option<usize> {
    if chars.next_if_eq(&'*').is_some() {
        return Some((next(4) as u32 as usize).min(LONGEST));
    }
    let mut value = None;
    while let Some(digit) = chars.next_if(char::is_ascii_digit) {
        let sum = value.unwrap_or(0usize) * 10 + digit.to_digit(10).unwrap_or(0) as usize;
        value = Some(sum.min(LONGEST));
    }
    value
}

impl Spec {
    fn prefix(&self, text: &str, value: u64) -> String {
        if self.alternate && value != 0 { text.into() } else { String::new() }
    }

    fn sign(&self, negative: bool) -> String {
        let sign = if negative {
            "-"
        } else if self.plus {
            "+"
        } else if self.space {
            " "
        } else {
            ""
        };
        sign.into()
    }

    fn signed(&self, value: i64) -> String {
        self.pad_number(self.sign(value < 0), value.unsigned_abs().to_string())
    }

    /// Zeros between sign and digits.
    fn pad_number(&self, sign: String, digits: String) -> String {
        let wanted = match self.precision {
            Some(precision) => precision,
            None if self.zero && !self.left => self.width.saturating_sub(sign.len()),
            None => 0,
        };
        let zeros = "0".repeat(wanted.saturating_sub(digits.len()));
        sign + &zeros + &digits
    }

    fn float(&self, value: f64, conversion: char) -> String {
        let sign = self.sign(value.is_sign_negative());
        let magnitude = value.abs();
        let digits = if value.is_nan() {
            "nan".into()
        } else if value.is_infinite() {
            "inf".into()
        } else {
            let precision = self.precision.unwrap_or(6);
            match conversion.to_ascii_lowercase() {
                'f' => format!("{magnitude:.precision$}"),
                'e' => exponent(magnitude, precision),
                _ => self.shortest(magnitude, precision.max(1)),
            }
        };
        let digits = if conversion.is_ascii_uppercase() { digits.to_uppercase() } else { digits };
        let zeros = if self.zero && !self.left && value.is_finite() {
            "0".repeat(self.width.saturating_sub(sign.len() + digits.len()))
        } else {
            String::new()
        };
        sign + &zeros + &digits
    }

    /// `%g`.
    fn shortest(&self, value: f64, precision: usize) -> String {
        let scientific = exponent(value, precision - 1);
        let power: i32 = scientific.rsplit('e').next().and_then(|e| e.parse().ok()).unwrap_or(0);
        if power < -4 || power >= precision as i32 {
            let (mantissa, power) = scientific.split_once('e').unwrap_or((&scientific, "+00"));
            return format!("{}e{power}", trim(mantissa, self.alternate));
        }
        let decimals = (precision as i32 - 1 - power).max(0) as usize;
        trim(&format!("{value:.decimals$}"), self.alternate).into()
    }
}

fn trim(text: &str, keep: bool) -> &str {
    if keep || !text.contains('.') { text } else { text.trim_end_matches('0').trim_end_matches('.') }
}

/// C's exponent has a sign and two digits at least.
fn exponent(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
    let power: i32 = power.parse().unwrap_or(0);
    let sign = if power < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", power.abs())
}

/// `__assertfail(message, file, line, function, char size)`
pub(super) fn assert(ctx: &mut Context, w: &Warp, g: &Group, i: &Inst, pc: u32, m: u32) {
    let lane = m.trailing_zeros() as usize;
    let text = |n| string(ctx, w, argument(ctx, w, g, i.m, n, 8, lane), lane);
    let (message, file) = (text(0), text(1));
    let line = argument(ctx, w, g, i.m, 2, 4, lane) as u32;
    let thread = 32 * w.index + lane as u32;
    ctx.report_many(Kind::AssertionFailed, pc, thread, u64::from(m.count_ones()), None, || {
        format!("`{message}` at {file}:{line}")
    });
}
