//! Integer expressions of a contract: shapes, grids, regions and scalar arguments over dims.
//!
//! Values are 64-bit signed integers with the meaning that C gives to `long long`: division truncates towards zero, the
//! remainder has the sign of the dividend, comparisons give 0 or 1, and what C leaves undefined (overflow, division by
//! zero) is an error value.

use std::collections::BTreeSet;
use std::fmt;

use crate::ir::Scalar;

pub use super::expr_parse::{ParseError, parse};

/// An expression over names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Expr {
    Int(i64),
    /// A dim, or a scalar argument.
    Name(String),
    /// `sizeof(f32)`: bytes of a type, named as in shapes and dtypes.
    SizeOf(Scalar),
    Neg(Box<Expr>),
    Not(Box<Expr>),
    Binary(Op, Box<Expr>, Box<Expr>),
    /// `condition ? a : b`; only the chosen arm is evaluated.
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Op {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    And,
    Or,
    /// `min(a, b)`
    Min,
    /// `max(a, b)`
    Max,
    /// `ceil_div(a, b)`: the quotient rounded up; `b` must be positive.
    CeilDiv,
}

impl Op {
    /// How the operator is written; functions by their name.
    pub fn spelling(self) -> &'static str {
        match self {
            Op::Add => "+",
            Op::Sub => "-",
            Op::Mul => "*",
            Op::Div => "/",
            Op::Rem => "%",
            Op::Eq => "==",
            Op::Ne => "!=",
            Op::Lt => "<",
            Op::Le => "<=",
            Op::Gt => ">",
            Op::Ge => ">=",
            Op::And => "&&",
            Op::Or => "||",
            Op::Min => "min",
            Op::Max => "max",
            Op::CeilDiv => "ceil_div",
        }
    }

    /// How tightly it binds; 0 for functions.
    pub(super) fn precedence(self) -> u8 {
        match self {
            Op::Mul | Op::Div | Op::Rem => 6,
            Op::Add | Op::Sub => 5,
            Op::Lt | Op::Le | Op::Gt | Op::Ge => 4,
            Op::Eq | Op::Ne => 3,
            Op::And => 2,
            Op::Or => 1,
            Op::Min | Op::Max | Op::CeilDiv => 0,
        }
    }
}

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    #[error("`{0}` has no value here")]
    Unknown(String),
    #[error("`{0}` does not fit 64 bits")]
    Overflow(String),
    #[error("`{0}` divides by zero")]
    DivideByZero(String),
    #[error("`{0}`: ceil_div needs a positive divisor")]
    NotPositive(String),
}

impl Expr {
    pub fn name(name: impl Into<String>) -> Expr {
        Expr::Name(name.into())
    }

    pub fn binary(op: Op, left: Expr, right: Expr) -> Expr {
        Expr::Binary(op, Box::new(left), Box::new(right))
    }

    /// The value, where `of` gives values to names.
    pub fn eval(&self, of: &dyn Fn(&str) -> Option<i64>) -> Result<i64, EvalError> {
        match self {
            Expr::Int(v) => Ok(*v),
            Expr::Name(n) => of(n).ok_or_else(|| EvalError::Unknown(n.clone())),
            Expr::SizeOf(s) => Ok(i64::from(s.bytes())),
            Expr::Neg(e) => e.eval(of)?.checked_neg().ok_or_else(|| EvalError::Overflow(self.to_string())),
            Expr::Not(e) => Ok(i64::from(e.eval(of)? == 0)),
            Expr::Select(c, a, b) => if c.eval(of)? != 0 { a } else { b }.eval(of),
            Expr::Binary(op, left, right) => {
                let a = left.eval(of)?;
                // The right side of `&&` and `||` may have no value where the left one decides.
                match op {
                    Op::And if a == 0 => return Ok(0),
                    Op::Or if a != 0 => return Ok(1),
                    _ => {}
                }
                self.apply(*op, a, right.eval(of)?)
            }
        }
    }

    fn apply(&self, op: Op, a: i64, b: i64) -> Result<i64, EvalError> {
        let overflow = || EvalError::Overflow(self.to_string());
        let truth = |t: bool| Ok(i64::from(t));
        match op {
            Op::Add => a.checked_add(b).ok_or_else(overflow),
            Op::Sub => a.checked_sub(b).ok_or_else(overflow),
            Op::Mul => a.checked_mul(b).ok_or_else(overflow),
            Op::Div | Op::Rem if b == 0 => Err(EvalError::DivideByZero(self.to_string())),
            Op::Div => a.checked_div(b).ok_or_else(overflow),
            Op::Rem => a.checked_rem(b).ok_or_else(overflow),
            Op::Eq => truth(a == b),
            Op::Ne => truth(a != b),
            Op::Lt => truth(a < b),
            Op::Le => truth(a <= b),
            Op::Gt => truth(a > b),
            Op::Ge => truth(a >= b),
            Op::And => truth(a != 0 && b != 0),
            Op::Or => truth(a != 0 || b != 0),
            Op::Min => Ok(a.min(b)),
            Op::Max => Ok(a.max(b)),
            Op::CeilDiv if b <= 0 => Err(EvalError::NotPositive(self.to_string())),
            Op::CeilDiv => Ok(a.div_euclid(b) + i64::from(a.rem_euclid(b) != 0)),
        }
    }

    /// The value of an expression without names.
    pub fn constant(&self) -> Option<i64> {
        self.eval(&|_| None).ok()
    }

    /// Every name, once.
    pub fn names(&self) -> BTreeSet<&str> {
        let mut found = BTreeSet::new();
        self.collect(&mut found);
        found
    }

    fn collect<'a>(&'a self, found: &mut BTreeSet<&'a str>) {
        match self {
            Expr::Name(n) => _ = found.insert(n),
            Expr::Int(_) | Expr::SizeOf(_) => {}
            Expr::Neg(e) | Expr::Not(e) => e.collect(found),
            Expr::Binary(_, a, b) => {
                a.collect(found);
                b.collect(found);
            }
            Expr::Select(c, a, b) => {
                c.collect(found);
                a.collect(found);
                b.collect(found);
            }
        }
    }

    /// Replaces names for which `with` gives something, and folds what has become constant.
    pub fn substitute(&self, with: &dyn Fn(&str) -> Option<Expr>) -> Expr {
        let again = |e: &Expr| e.substitute(with);
        match self {
            Expr::Name(n) => with(n).unwrap_or_else(|| self.clone()),
            Expr::Int(_) | Expr::SizeOf(_) => self.clone(),
            Expr::Neg(e) => Expr::Neg(Box::new(again(e))).folded(),
            Expr::Not(e) => Expr::Not(Box::new(again(e))).folded(),
            Expr::Binary(op, a, b) => Expr::binary(*op, again(a), again(b)).folded(),
            Expr::Select(c, a, b) => Expr::Select(Box::new(again(c)), Box::new(again(a)), Box::new(again(b))).folded(),
        }
    }

    /// The same value, written shorter where a whole subexpression is constant or an operand changes nothing.
    pub fn folded(self) -> Expr {
        if !matches!(self, Expr::Int(_))
            && let Some(v) = self.constant()
        {
            return Expr::Int(v);
        }
        match self {
            Expr::Binary(Op::Add, a, b) if *b == Expr::Int(0) => *a,
            Expr::Binary(Op::Add, a, b) if *a == Expr::Int(0) => *b,
            Expr::Binary(Op::Sub, a, b) if *b == Expr::Int(0) => *a,
            Expr::Binary(Op::Mul | Op::Div | Op::CeilDiv, a, b) if *b == Expr::Int(1) => *a,
            Expr::Binary(Op::Mul, a, b) if *a == Expr::Int(1) => *b,
            Expr::Binary(Op::Min | Op::Max, a, b) if a == b => *a,
            Expr::Select(c, a, b) => match c.constant() {
                Some(0) => *b,
                Some(_) => *a,
                None => Expr::Select(c, a, b),
            },
            other => other,
        }
    }

    fn precedence(&self) -> u8 {
        match self {
            Expr::Binary(op, ..) if op.precedence() > 0 => op.precedence(),
            Expr::Select(..) => 0,
            Expr::Int(v) if *v < 0 => 7,
            Expr::Neg(_) | Expr::Not(_) => 7,
            _ => 8,
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, least: u8) -> fmt::Result {
        if self.precedence() < least {
            f.write_str("(")?;
            self.write(f, 0)?;
            return f.write_str(")");
        }
        match self {
            Expr::Int(v) => write!(f, "{v}"),
            Expr::Name(n) => f.write_str(n),
            Expr::SizeOf(s) => write!(f, "sizeof({})", s.name()),
            Expr::Neg(e) => {
                f.write_str("-")?;
                e.write(f, 8)
            }
            Expr::Not(e) => {
                f.write_str("!")?;
                e.write(f, 7)
            }
            Expr::Binary(op, a, b) if op.precedence() == 0 => write!(f, "{}({a}, {b})", op.spelling()),
            Expr::Binary(op, a, b) => {
                a.write(f, op.precedence())?;
                write!(f, " {} ", op.spelling())?;
                b.write(f, op.precedence() + 1)
            }
            Expr::Select(c, a, b) => {
                c.write(f, 1)?;
                write!(f, " ? {a} : ")?;
                b.write(f, 0)
            }
        }
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(text: &str) -> Result<i64, EvalError> {
        let of = |n: &str| match n {
            "n" => Some(1000),
            "m" => Some(-7),
            "zero" => Some(0),
            _ => None,
        };
        parse(text).unwrap_or_else(|e| panic!("{text}: {e:?}")).eval(&of)
    }

    #[test]
    fn values_are_those_of_c() {
        let cases = [
            ("n * 4 + 1", 4001),
            ("n - 1 - 2", 997),
            ("2 + 3 * 4", 14),
            ("(2 + 3) * 4", 20),
            ("m / 2", -3),
            ("m % 2", -1),
            ("ceil_div(n, 256)", 4),
            ("ceil_div(1024, 256)", 4),
            ("ceil_div(zero, 256)", 0),
            ("ceil_div(m, 2)", -3),
            ("min(n, 3) + max(n, 3)", 1003),
            ("n >= 1000 && m < 0", 1),
            ("zero != 0 && 1 / zero", 0),
            ("n == 1 || n == 1000", 1),
            ("n > 5 ? 1 : 1 / zero", 1),
            ("!n", 0),
            ("-n", -1000),
            ("sizeof(f32) * n", 4000),
            ("sizeof(double)", 8),
            ("0x10 + 1'000", 1016),
            ("9223372036854775807", i64::MAX),
        ];
        for (text, expected) in cases {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_c_leaves_undefined_is_an_error() {
        assert!(matches!(value("9223372036854775807 + 1"), Err(EvalError::Overflow(_))));
        assert!(matches!(value("(-9223372036854775807 - 1) / -1"), Err(EvalError::Overflow(_))));
        assert!(matches!(value("n / zero"), Err(EvalError::DivideByZero(_))));
        assert!(matches!(value("n % zero"), Err(EvalError::DivideByZero(_))));
        assert!(matches!(value("ceil_div(n, m)"), Err(EvalError::NotPositive(_))));
        assert_eq!(value("k + 1"), Err(EvalError::Unknown("k".into())));
    }

    fn any() -> impl Strategy<Value = Expr> {
        let leaf = prop_oneof![
            (-20i64..20).prop_map(Expr::Int),
            prop_oneof![Just("n"), Just("m")].prop_map(Expr::name),
            Just(Expr::SizeOf(Scalar::F32)),
        ];
        leaf.prop_recursive(5, 40, 3, |inner| {
            let op = prop_oneof![
                Just(Op::Add),
                Just(Op::Sub),
                Just(Op::Mul),
                Just(Op::Div),
                Just(Op::Rem),
                Just(Op::Lt),
                Just(Op::Eq),
                Just(Op::And),
                Just(Op::Or),
                Just(Op::Min),
                Just(Op::CeilDiv)
            ];
            prop_oneof![
                (op, inner.clone(), inner.clone()).prop_map(|(o, a, b)| Expr::binary(o, a, b)),
                inner.clone().prop_map(|e| Expr::Neg(Box::new(e))),
                inner.clone().prop_map(|e| Expr::Not(Box::new(e))),
                (inner.clone(), inner.clone(), inner).prop_map(|(a, b, c)| Expr::Select(
                    Box::new(a),
                    Box::new(b),
                    Box::new(c)
                )),
            ]
        })
    }

    proptest! {
        #[test]
        fn printing_keeps_the_value(e in any(), n in -30i64..30, m in -30i64..30) {
            let of = |name: &str| Some(if name == "n" { n } else { m });
            let text = e.to_string();
            let again = parse(&text).map_err(|p| TestCaseError::fail(format!("{text}: {p:?}")))?;
            // Errors quote the text, in which `--1` and `1` may differ.
            prop_assert_eq!(again.eval(&of).ok(), e.eval(&of).ok(), "{}", text);
            let folded = e.clone().substitute(&|_| None);
            if let Ok(v) = e.eval(&of) {
                prop_assert_eq!(folded.eval(&of), Ok(v));
            }
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,40}") {
            if let Err(e) = parse(&text) {
                prop_assert!(e.at.start <= e.at.end && e.at.end <= text.len());
            }
        }
    }
}
