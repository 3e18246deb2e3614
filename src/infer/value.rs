//! What host code computes with, as far as a launch plan needs it.

use crate::contract::{Expr, Op};
use crate::ir::{FunctionId, Scalar};
use crate::source::Span;

/// A value of host code over symbols: sizes that the program reads or fixes.
#[derive(Clone, Debug, PartialEq)]
pub enum Val {
    Int(Expr),
    /// A floating-point constant.
    Float(f64),
    /// A quotient of integers in floating point, as in `ceil(n / 256.0)`.
    Ratio(Expr, Expr),
    /// A floating-point number that depends on sizes; its value at their samples.
    Approx(f64),
    Dim3([Expr; 3]),
    /// Device memory from `bytes` on.
    Device {
        buffer: usize,
        bytes: Expr,
    },
    /// Host memory; the number of its elements where it is known.
    Host(Option<Expr>),
    /// The address of a variable.
    Ref(String),
    Lambda(u32, FunctionId),
    Null,
    /// A number that the program reads when it runs; what it is without, where the code says so.
    Input(Option<i64>),
    /// Anything else, and why it is not known.
    Unknown(String),
}

impl Val {
    pub fn int(v: i64) -> Val {
        Val::Int(Expr::Int(v))
    }

    pub fn unknown(why: impl Into<String>) -> Val {
        Val::Unknown(why.into())
    }

    pub fn as_int(&self) -> Option<Expr> {
        match self {
            Val::Int(e) => Some(e.clone()),
            Val::Ratio(a, b) => Some(divide(a.clone(), b.clone())),
            Val::Float(v) if v.fract() == 0.0 && v.abs() < 1e15 => Some(Expr::Int(*v as i64)),
            Val::Float(v) if v.abs() < 1e15 => Some(Expr::Int(v.trunc() as i64)),
            _ => None,
        }
    }
}

/// A size that the program fixes or reads, under the name of the variable that holds it.
#[derive(Clone, Debug)]
pub struct Symbol {
    pub name: String,
    pub value: Option<i64>,
    pub span: Span,
    /// Read when the program runs, so that other values are meant to be used.
    pub is_input: bool,
}

/// Device memory that the host code makes, or that a function is given.
#[derive(Clone, Debug)]
pub struct Buffer {
    pub name: String,
    /// Type of the elements where a declaration says it, and how many make a vector.
    pub element: Option<(Scalar, u8)>,
    /// Size; `None` where it is not known.
    pub bytes: Option<Expr>,
    pub why_unknown: String,
    /// The host can read and write it directly.
    pub is_managed: bool,
    /// A parameter of a host function, or an object from outside.
    pub is_given: bool,
    /// How deep in calls it was made.
    pub depth: u32,
}

/// What happens on the device, in order.
#[derive(Clone, Debug)]
pub enum Event {
    Launch(Box<Launched>),
    Fill {
        buffer: usize,
        offset: Expr,
        byte: Option<u8>,
        bytes: Option<Expr>,
        span: Span,
    },
    /// From host memory.
    ToDevice {
        buffer: usize,
        offset: Expr,
        bytes: Option<Expr>,
        span: Span,
    },
    ToHost {
        buffer: usize,
    },
    Copy {
        from: (usize, Expr),
        to: (usize, Expr),
        bytes: Option<Expr>,
        span: Span,
    },
    /// A `__constant__` or `__device__` variable is set.
    ToSymbol {
        name: String,
        span: Span,
    },
}

impl Event {
    /// The buffer that it writes from the host's side, from where on and how much.
    pub fn writes(&self) -> Option<(usize, &Expr, Option<&Expr>)> {
        match self {
            Event::Fill { buffer, offset, bytes, .. } | Event::ToDevice { buffer, offset, bytes, .. } => {
                Some((*buffer, offset, bytes.as_ref()))
            }
            Event::Copy { to, bytes, .. } => Some((to.0, &to.1, bytes.as_ref())),
            _ => None,
        }
    }
}

/// Whether two sizes are equal for all values of the names in them: polynomials and quotients that agree at several
/// points far apart.
pub fn same_size(a: &Expr, b: &Expr) -> bool {
    if a == b {
        return true;
    }
    const POINTS: [[i64; 4]; 4] = [
        [1009, 2003, 3001, 4001],
        [7919, 104_729, 611, 12_289],
        [65_537, 40_961, 257, 769],
        [31_337, 17, 99_991, 8_191],
    ];
    let names: Vec<&str> = a.names().into_iter().chain(b.names()).collect();
    let at = |point: &[i64; 4], n: &str| {
        let nth = names.iter().position(|m| *m == n)?;
        point.get(nth % 4).map(|v| v + (nth as i64 / 4) * 13)
    };
    POINTS.iter().all(|p| {
        let value = |e: &Expr| e.eval(&|n| at(p, n)).ok();
        matches!((value(a), value(b)), (Some(x), Some(y)) if x == y)
    })
}

/// Bytes of a buffer, from the first up to, not including, the second.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    pub from: Expr,
    pub to: Expr,
}

impl Range {
    /// Whether it is sure that all of another one lies in it.
    pub fn holds(&self, other: &Range) -> bool {
        at_most(&self.from, &other.from) && at_most(&other.to, &self.to)
    }

    /// Whether it is sure that the two have nothing in common.
    pub fn is_apart(&self, other: &Range) -> bool {
        at_most(&self.to, &other.from) || at_most(&other.to, &self.from)
    }
}

fn at_most(a: &Expr, b: &Expr) -> bool {
    a.constant().zip(b.constant()).is_some_and(|(a, b)| a <= b) || same_size(a, b)
}

/// A condition that could not be decided, and which of its arms.
pub type Arm = (u32, u32);

/// One launch that the host code makes.
#[derive(Clone, Debug)]
pub struct Launched {
    /// Unit and index of the launch in the text.
    pub at: (u32, u32),
    pub kernel: String,
    pub template: Vec<String>,
    pub grid: Result<[Expr; 3], String>,
    pub block: Result<[Expr; 3], String>,
    pub shared: Result<Expr, String>,
    pub args: Vec<Val>,
    pub span: Span,
    /// Arms of conditions that could not be decided, around the launch.
    pub arms: Vec<Arm>,
    /// Ways that had been left before: the launch is of a run that took none of them.
    pub left: Vec<Vec<Arm>>,
    /// Why further launches of the same loop are left out.
    pub cut: Option<String>,
}

/// `a / b`, shorter where that is exact.
pub fn divide(a: Expr, b: Expr) -> Expr {
    if let Some(k) = b.constant().filter(|k| *k > 0)
        && let Some(exact) = exact_quotient(&a, k)
    {
        return exact;
    }
    // (a + b - 1) / b, (a - 1 + b) / b and (a + (b - 1)) / b round up.
    if let Expr::Binary(Op::Sub, sum, one) = &a
        && **one == Expr::Int(1)
        && let Expr::Binary(Op::Add, x, y) = &**sum
    {
        match (**x == b, **y == b) {
            (_, true) => return ceil_div((**x).clone(), b),
            (true, _) => return ceil_div((**y).clone(), b),
            _ => {}
        }
    }
    if let (Expr::Binary(Op::Div, inner, c), Some(k)) = (&a, b.constant())
        && let Some(total) = c.constant().filter(|c| *c > 0 && k > 0).and_then(|c| c.checked_mul(k))
    {
        return divide((**inner).clone(), Expr::Int(total));
    }
    let less_one = Expr::binary(Op::Sub, b.clone(), Expr::Int(1)).folded();
    if let Expr::Binary(Op::Add, x, y) = &a {
        match (**x == less_one, **y == less_one) {
            (_, true) => return ceil_div((**x).clone(), b),
            (true, _) => return ceil_div((**y).clone(), b),
            _ => {}
        }
        if let (Expr::Binary(Op::Sub, inner, one), true) = (&**x, **y == b)
            && **one == Expr::Int(1)
        {
            return ceil_div((**inner).clone(), b);
        }
    }
    Expr::binary(Op::Div, a, b).folded()
}

pub fn ceil_div(a: Expr, b: Expr) -> Expr {
    if let Some(k) = b.constant().filter(|k| *k > 0)
        && let Some(exact) = exact_quotient(&a, k)
    {
        return exact;
    }
    Expr::binary(Op::CeilDiv, a, b).folded()
}

/// `e / k` without a division, where every product of `e` has `k` as a factor that can be seen.
pub fn exact_quotient(e: &Expr, k: i64) -> Option<Expr> {
    if k == 1 {
        return Some(e.clone());
    }
    match e {
        Expr::Int(v) => (v.checked_rem(k)? == 0).then(|| Expr::Int(v / k)),
        Expr::SizeOf(s) => exact_quotient(&Expr::Int(i64::from(s.bytes())), k),
        Expr::Binary(Op::Mul, a, b) => {
            if let Some(a) = exact_quotient(a, k) {
                return Some(Expr::binary(Op::Mul, a, (**b).clone()).folded());
            }
            Some(Expr::binary(Op::Mul, (**a).clone(), exact_quotient(b, k)?).folded())
        }
        Expr::Binary(op @ (Op::Add | Op::Sub), a, b) => {
            Some(Expr::binary(*op, exact_quotient(a, k)?, exact_quotient(b, k)?).folded())
        }
        Expr::Select(c, a, b) => {
            let (a, b) = (exact_quotient(a, k)?, exact_quotient(b, k)?);
            Some(Expr::Select(c.clone(), Box::new(a), Box::new(b)))
        }
        _ => None,
    }
}

/// A sum or product of two integers, in the order written, with constants folded across chains: `a + 1 - 1` is `a`.
pub fn combine(op: Op, a: Expr, b: Expr) -> Expr {
    if op == Op::Div {
        return divide(a, b);
    }
    // (x + c) + d and its like.
    if let (Op::Add | Op::Sub, Some(d), Expr::Binary(inner @ (Op::Add | Op::Sub), x, c)) = (op, b.constant(), &a)
        && let Some(c) = c.constant()
    {
        let signed = |op: Op, v: i64| if op == Op::Sub { v.checked_neg() } else { Some(v) };
        if let Some(total) = signed(*inner, c).zip(signed(op, d)).and_then(|(x, y)| x.checked_add(y)) {
            let (op, rest) = if total < 0 { (Op::Sub, total.unsigned_abs()) } else { (Op::Add, total.unsigned_abs()) };
            let rest = i64::try_from(rest).unwrap_or(i64::MAX);
            // What rounds up must stay visible: n + 255 and n + 256 - 1 are both recognised by `divide`.
            return Expr::binary(op, (**x).clone(), Expr::Int(rest)).folded();
        }
    }
    if let (Op::Mul, Some(d), Expr::Binary(Op::Mul, x, c)) = (op, b.constant(), &a)
        && let Some(total) = c.constant().and_then(|c| c.checked_mul(d))
    {
        return Expr::binary(Op::Mul, (**x).clone(), Expr::Int(total)).folded();
    }
    // Constants behind.
    if let (Op::Mul, Some(_), None) = (op, a.constant(), b.constant()) {
        return combine(op, b, a);
    }
    Expr::binary(op, a, b).folded()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::expr::parse;

    #[test]
    fn quotients_are_written_as_people_do() {
        let cases = [
            ("n * 4", "4", "n"),
            ("n * m * 8", "4", "n * m * 2"),
            ("4 * n + 8", "4", "n + 2"),
            ("n + 256 - 1", "256", "ceil_div(n, 256)"),
            ("n + b - 1", "b", "ceil_div(n, b)"),
            ("n + 255", "256", "ceil_div(n, 256)"),
            ("n - 1 + b", "b", "ceil_div(n, b)"),
            ("n + 254", "256", "(n + 254) / 256"),
            ("n", "3", "n / 3"),
            ("1024", "256", "4"),
        ];
        for (a, b, expected) in cases {
            let e = |t: &str| parse(t).unwrap();
            // As the walk over the host code builds them.
            fn rebuilt(e: &Expr) -> Expr {
                match e {
                    Expr::Binary(op, a, b) => combine(*op, rebuilt(a), rebuilt(b)),
                    other => other.clone(),
                }
            }
            assert_eq!(divide(rebuilt(&e(a)), e(b)).to_string(), expected, "{a} / {b}");
        }
    }
}
