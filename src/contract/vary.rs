//! What is special in some cells: scalars of another legal value, buffers that overlap as the contract permits.

use std::collections::BTreeMap;

use super::args::{Arg, Bound, Role, Value};
use super::cells::Cell;
use super::concrete::{ConcreteBuffer, Start, field};
use super::error::ContractError;
use super::expr::Expr;
use super::plan::Plan;

/// The value of a scalar in one cell.
pub(super) enum Number {
    Int(i64),
    Float(f64),
}

/// The contract's value; in cells that vary scalars one of those that it calls legal.
pub(super) fn scalar_value(
    a: &Arg,
    cell: &Cell,
    values: &BTreeMap<String, i64>,
) -> Result<Option<Number>, ContractError> {
    let eval = |e: &Expr, name: &str| {
        let at = field(a, name);
        e.eval(&|n| values.get(n).copied()).map_err(|why| ContractError::NoValue { at, why })
    };
    let float = a.dtype.is_some_and(|d| d.is_float());
    if let (Some((lo, hi)), 1..) = (&a.legal, cell.scalars) {
        let end = |b: &Bound| match b {
            Bound::Float(v) => Ok(*v),
            Bound::Int(e) => eval(e, "legal").map(|v| v as f64),
        };
        let (lo, hi) = (end(lo)?, end(hi)?);
        let part = super::generate::unit(cell.seed.wrapping_add(u64::from(cell.scalars)), &a.name);
        let chosen = match cell.scalars {
            1 => lo,
            2 => hi,
            _ => (lo + (hi - lo) * part).clamp(lo, hi),
        };
        return Ok(Some(if float { Number::Float(chosen) } else { Number::Int(chosen.round() as i64) }));
    }
    match &a.value {
        Some(Value::Int(e)) => eval(e, "value").map(|v| Some(Number::Int(v))),
        Some(Value::Float(v)) => Ok(Some(Number::Float(*v))),
        None => Ok(None),
    }
}

/// Makes one buffer of each group that may overlap: the largest, with the contents of one that is read. The others
/// stay as memory that nobody is given; a launch that is given them gets the one.
pub(super) fn overlap(plan: &Plan, buffers: &mut [ConcreteBuffer]) {
    for group in &plan.alias {
        let Some(one) = shared(group, buffers) else { continue };
        let members = || buffers.iter().filter(|b| group.contains(&b.name));
        let written = members().any(|b| b.role.is_output());
        let contents = members().find(|b| matches!(b.start, Start::Contents(_))).map(|b| b.start.clone());
        for (n, b) in buffers.iter_mut().enumerate().filter(|(_, b)| group.contains(&b.name)) {
            match n == one {
                true => {
                    b.role = if written { Role::InOut } else { b.role };
                    b.start = contents.clone().unwrap_or(b.start.clone());
                }
                false => b.role = Role::Temp,
            }
        }
    }
}

/// The buffer that stands for a group that overlaps: its largest.
pub(super) fn shared(group: &[String], buffers: &[ConcreteBuffer]) -> Option<usize> {
    let members = buffers.iter().enumerate().filter(|(_, b)| group.contains(&b.name));
    members.max_by_key(|(n, b)| (b.bytes, std::cmp::Reverse(*n))).map(|(n, _)| n)
}
