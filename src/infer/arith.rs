//! Arithmetic on host values, and types that template arguments name.

use super::host::last;
use super::value::{Val, combine};
use crate::contract::{Expr, Op};
use crate::ir::*;

pub(super) fn unary(op: UnaryOp, v: Val) -> Val {
    match (op, v) {
        (UnaryOp::Plus, v) => v,
        (UnaryOp::Neg, Val::Float(v)) => Val::Float(-v),
        (UnaryOp::Neg, Val::Approx(v)) => Val::Approx(-v),
        (UnaryOp::Neg, Val::Int(e)) => Val::Int(Expr::Neg(Box::new(e)).folded()),
        (UnaryOp::Not, Val::Int(e)) => Val::Int(Expr::Not(Box::new(e)).folded()),
        (UnaryOp::Not, Val::Device { .. } | Val::Host(_)) => Val::int(0),
        _ => Val::unknown("not modelled"),
    }
}

pub(super) fn select(c: Expr, a: Expr, b: Expr) -> Val {
    // `a < b ? a : b` and its like.
    if let Expr::Binary(op, x, y) = &c {
        let (same, swapped) = ((**x == a && **y == b), (**x == b && **y == a));
        let least = match (op, same, swapped) {
            (Op::Lt | Op::Le, true, _) | (Op::Gt | Op::Ge, _, true) => Some(Op::Min),
            (Op::Gt | Op::Ge, true, _) | (Op::Lt | Op::Le, _, true) => Some(Op::Max),
            _ => None,
        };
        if let Some(op) = least {
            return Val::Int(Expr::binary(op, a, b));
        }
    }
    // (n % b == 0) ? n / b : n / b + 1
    let quotient = |e: &Expr| match e {
        Expr::Binary(Op::Div, n, d) => Some(((**n).clone(), (**d).clone())),
        _ => None,
    };
    if let Expr::Binary(Op::Eq, rest, zero) = &c
        && let (Expr::Binary(Op::Rem, n, d), Expr::Int(0)) = (&**rest, &**zero)
        && quotient(&a) == Some(((**n).clone(), (**d).clone()))
        && b == Expr::binary(Op::Add, a.clone(), Expr::Int(1))
    {
        return Val::Int(super::value::ceil_div((**n).clone(), (**d).clone()));
    }
    Val::Int(Expr::Select(Box::new(c), Box::new(a), Box::new(b)).folded())
}

pub(super) fn binary(op: BinaryOp, a: Val, b: Val) -> Val {
    use BinaryOp::*;
    if let (Val::Unknown(why), _) | (_, Val::Unknown(why)) = (&a, &b) {
        return Val::Unknown(why.clone());
    }
    match (&a, &b, op) {
        (Val::Float(x), Val::Float(y), _) => return float(op, *x, *y),
        (Val::Float(_) | Val::Ratio(..), _, _) | (_, Val::Float(_) | Val::Ratio(..), _) => return ratio(op, &a, &b),
        (Val::Null, Val::Null, Eq) => return Val::int(1),
        (Val::Null, Val::Device { .. } | Val::Host(_) | Val::Ref(_), Eq)
        | (Val::Device { .. } | Val::Host(_) | Val::Ref(_), Val::Null, Eq) => return Val::int(0),
        (Val::Null, Val::Device { .. } | Val::Host(_) | Val::Ref(_), Ne)
        | (Val::Device { .. } | Val::Host(_) | Val::Ref(_), Val::Null, Ne) => return Val::int(1),
        _ => {}
    }
    let (Val::Int(x), Val::Int(y)) = (a, b) else { return Val::unknown("not modelled") };
    let constants = x.constant().zip(y.constant());
    let simple = match op {
        Add => Op::Add,
        Sub => Op::Sub,
        Mul => Op::Mul,
        Div => Op::Div,
        Rem => Op::Rem,
        Eq => Op::Eq,
        Ne => Op::Ne,
        Lt => Op::Lt,
        Le => Op::Le,
        Gt => Op::Gt,
        Ge => Op::Ge,
        And => Op::And,
        Or => Op::Or,
        Shl | Shr | BitAnd | BitOr | BitXor => {
            return match (op, constants, y.constant()) {
                (BitAnd, Some((x, y)), _) => Val::int(x & y),
                (BitOr, Some((x, y)), _) => Val::int(x | y),
                (BitXor, Some((x, y)), _) => Val::int(x ^ y),
                (Shl, _, Some(n @ 0..=40)) => Val::Int(combine(Op::Mul, x, Expr::Int(1 << n))),
                // Sizes are not negative.
                (Shr, _, Some(n @ 0..=40)) => Val::Int(combine(Op::Div, x, Expr::Int(1 << n))),
                _ => Val::unknown("bits of a size"),
            };
        }
    };
    Val::Int(combine(simple, x, y))
}

pub(super) fn float(op: BinaryOp, x: f64, y: f64) -> Val {
    use BinaryOp::*;
    match op {
        Add => Val::Float(x + y),
        Sub => Val::Float(x - y),
        Mul => Val::Float(x * y),
        Div => Val::Float(x / y),
        Eq => Val::int(i64::from(x == y)),
        Ne => Val::int(i64::from(x != y)),
        Lt => Val::int(i64::from(x < y)),
        Le => Val::int(i64::from(x <= y)),
        Gt => Val::int(i64::from(x > y)),
        Ge => Val::int(i64::from(x >= y)),
        _ => Val::unknown("not modelled"),
    }
}

/// Quotients of integers, as far as a grid is computed through them.
pub(super) fn ratio(op: BinaryOp, a: &Val, b: &Val) -> Val {
    let parts = |v: &Val| match v {
        Val::Int(e) => Some((e.clone(), Expr::Int(1))),
        Val::Ratio(a, b) => Some((a.clone(), b.clone())),
        Val::Float(v) if v.fract() == 0.0 && v.abs() < 1e12 => Some((Expr::Int(*v as i64), Expr::Int(1))),
        _ => None,
    };
    let (Some((p, q)), Some((r, s))) = (parts(a), parts(b)) else { return Val::unknown("floating point") };
    match op {
        BinaryOp::Div => Val::Ratio(combine(Op::Mul, p, s), combine(Op::Mul, q, r)),
        BinaryOp::Mul => Val::Ratio(combine(Op::Mul, p, r), combine(Op::Mul, q, s)),
        BinaryOp::Add | BinaryOp::Sub if q == s => {
            Val::Ratio(combine(if op == BinaryOp::Add { Op::Add } else { Op::Sub }, p, r), q)
        }
        _ => Val::unknown("floating point"),
    }
}

pub(super) fn cast(ty: &Type, v: Val) -> Val {
    match (ty, v) {
        (Type::Scalar(s), v @ (Val::Ratio(..) | Val::Float(_) | Val::Approx(_))) if s.is_integer() => {
            v.as_int().map_or_else(|| Val::unknown("floating point"), Val::Int)
        }
        (Type::Scalar(s), Val::Int(e)) if s.is_float() => match e.constant() {
            Some(c) => Val::Float(c as f64),
            None => Val::Ratio(e, Expr::Int(1)),
        },
        (Type::Pointer(_), Val::Int(Expr::Int(0))) => Val::Null,
        (_, v) => v,
    }
}

pub(super) fn construct(ty: Option<&Type>, values: &[Val]) -> Val {
    let named = match ty {
        Some(Type::Named(n)) => last(n),
        _ => "",
    };
    if named.contains("vector<") {
        return Val::Host(values.first().and_then(Val::as_int));
    }
    let ints: Option<Vec<Expr>> = values.iter().map(Val::as_int).collect();
    match (ints, named) {
        (Some(v), "dim3" | "") if (1..=3).contains(&v.len()) => {
            let at = |i: usize| v.get(i).cloned().unwrap_or(Expr::Int(1));
            Val::Dim3([at(0), at(1), at(2)])
        }
        (Some(v), "dim3") if v.is_empty() => Val::Dim3([Expr::Int(1), Expr::Int(1), Expr::Int(1)]),
        (None, "dim3") => {
            let why = values.iter().find_map(|v| if let Val::Unknown(w) = v { Some(w.clone()) } else { None });
            Val::Unknown(why.unwrap_or_else(|| "a size that is not known".into()))
        }
        _ => Val::unknown("an object"),
    }
}

/// The type that a template argument names.
pub(super) fn type_named(text: &str) -> Option<Type> {
    let plain = text.trim().trim_start_matches("const ").trim();
    let scalar = |s: Scalar| Some(Type::Scalar(s));
    match plain {
        "float" => scalar(Scalar::F32),
        "double" => scalar(Scalar::F64),
        "unsigned int" | "unsigned" | "uint" | "uint32_t" => scalar(Scalar::U32),
        "unsigned char" | "uchar" | "uint8_t" => scalar(Scalar::U8),
        "unsigned short" | "ushort" | "uint16_t" => scalar(Scalar::U16),
        "long long" | "int64_t" | "long" => scalar(Scalar::I64),
        "unsigned long long" | "size_t" | "uint64_t" => scalar(Scalar::U64),
        "half" | "__half" => scalar(Scalar::F16),
        "__nv_bfloat16" | "nv_bfloat16" => scalar(Scalar::BF16),
        "bool" => scalar(Scalar::Bool),
        _ => {
            if let Some(s) = crate::contract::dtype(plain) {
                return scalar(s);
            }
            let (base, lanes) = plain.split_at(plain.len().saturating_sub(1));
            let lanes: u8 = lanes.parse().ok().filter(|n| (2..=4).contains(n))?;
            let elem = match base {
                "float" => Scalar::F32,
                "double" => Scalar::F64,
                "int" => Scalar::I32,
                "uint" => Scalar::U32,
                "uchar" => Scalar::U8,
                "char" => Scalar::I8,
                "half" => Scalar::F16,
                "short" => Scalar::I16,
                "ushort" => Scalar::U16,
                _ => return None,
            };
            Some(Type::Vector { elem, lanes })
        }
    }
}
