//! Pieces of C++: types, expressions, names.

use super::ExportError;
use crate::contract::Expr;
use crate::ir::Scalar;

/// The type of elements.
pub fn element(of: &str, dtype: Scalar) -> Result<&'static str, ExportError> {
    Ok(match dtype {
        Scalar::Bool => "bool",
        Scalar::I8 => "int8_t",
        Scalar::U8 => "uint8_t",
        Scalar::I16 => "int16_t",
        Scalar::U16 => "uint16_t",
        Scalar::I32 => "int32_t",
        Scalar::U32 => "uint32_t",
        Scalar::I64 => "int64_t",
        Scalar::U64 => "uint64_t",
        Scalar::F16 => "__half",
        Scalar::BF16 => "__nv_bfloat16",
        Scalar::F32 => "float",
        Scalar::F64 => "double",
        Scalar::F8 => return Err(ExportError::Type { of: of.to_owned(), dtype: dtype.name() }),
    })
}

/// The expression in 64-bit arithmetic; `min`, `max` and `ceil_div` are those of the header's own namespace.
pub fn expr(e: &Expr) -> String {
    sized(e).to_string()
}

/// Sizes of types as numbers: their names are the contract's, and none of C++.
fn sized(e: &Expr) -> Expr {
    let boxed = |e: &Expr| Box::new(sized(e));
    match e {
        Expr::Int(_) | Expr::Name(_) => e.clone(),
        Expr::SizeOf(s) => Expr::Int(i64::from(s.bytes())),
        Expr::Neg(a) => Expr::Neg(boxed(a)),
        Expr::Not(a) => Expr::Not(boxed(a)),
        Expr::Binary(op, a, b) => Expr::Binary(*op, boxed(a), boxed(b)),
        Expr::Select(c, a, b) => Expr::Select(boxed(c), boxed(a), boxed(b)),
    }
}

/// The product of the axes; an empty shape is one element.
pub fn product(shape: &[Expr]) -> String {
    match shape {
        [] => "1".to_owned(),
        list => list.iter().map(|e| format!("int64_t({})", expr(e))).collect::<Vec<_>>().join(" * "),
    }
}

/// A text in quotes.
pub fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " "))
}

/// Whether it can name a function.
pub fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    let first = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    first && chars.all(|c| c.is_ascii_alphanumeric() || c == '_') && !crate::compile::is_keyword(text)
}
