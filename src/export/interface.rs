//! What a caller passes, and what of it follows from the rest.

use super::cpp;
use super::{ExportError, Exported};
use crate::contract::{Arg, Expr, Plan, Role};
use crate::ir::Scalar;

/// The parameters of the exported function, in their order.
#[derive(Clone, Debug, PartialEq)]
pub struct Interface {
    pub buffers: Vec<Buffer>,
    pub scalars: Vec<Value>,
    /// Every dim; `from` says where a caller with shapes takes it from.
    pub dims: Vec<Dim>,
}

/// Memory that the caller passes, or that is made for the call.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer {
    pub name: String,
    pub role: Role,
    pub dtype: Scalar,
    pub shape: Vec<Expr>,
    /// Bytes that the address must be a multiple of.
    pub align: u64,
}

/// A value that the caller passes.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    pub name: String,
    pub dtype: Scalar,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Dim {
    pub name: String,
    /// Buffer and axis whose extent it is; `None`: the caller says it.
    pub from: Option<(String, usize)>,
}

impl Interface {
    pub fn of(exported: &Exported) -> Result<Interface, ExportError> {
        let plan = exported.plan;
        let names = plan.args.iter().map(|a| &a.name).chain(plan.dims.iter().map(|d| &d.name));
        if let Some(bad) = names.into_iter().chain([&exported.name.to_owned()]).find(|n| !cpp::is_name(n)) {
            return Err(ExportError::Name(bad.clone()));
        }
        if plan.launches().next().is_none() {
            return Err(ExportError::NoLaunch);
        }
        let mut found = Interface { buffers: vec![], scalars: vec![], dims: vec![] };
        for arg in &plan.args {
            if arg.symbol.is_some() {
                return Err(ExportError::Variable(arg.name.clone()));
            }
            let open = |what| ExportError::Open { what, of: arg.name.clone() };
            let dtype = arg.dtype.ok_or_else(|| open("the type"))?;
            cpp::element(&arg.name, dtype)?;
            match arg.role {
                Role::Scalar => found.scalars.push(Value { name: arg.name.clone(), dtype }),
                _ if arg.shape.is_empty() => return Err(open("the shape")),
                _ => found.buffers.push(buffer(arg, dtype)),
            }
        }
        found.dims = plan.dims.iter().map(|d| Dim { name: d.name.clone(), from: found.source(&d.name) }).collect();
        Ok(found)
    }

    /// Memory that the caller has: temporaries are made for the call.
    pub fn passed(&self) -> impl Iterator<Item = &Buffer> {
        self.buffers.iter().filter(|b| b.role != Role::Temp)
    }

    pub fn temporaries(&self) -> impl Iterator<Item = &Buffer> {
        self.buffers.iter().filter(|b| b.role == Role::Temp)
    }

    /// The axis of an input that is the dim itself.
    fn source(&self, dim: &str) -> Option<(String, usize)> {
        let inputs = self.buffers.iter().filter(|b| matches!(b.role, Role::In | Role::InOut));
        let axis = |b: &Buffer| b.shape.iter().position(|e| matches!(e, Expr::Name(n) if n == dim));
        inputs.filter_map(|b| axis(b).map(|n| (b.name.clone(), n))).next()
    }
}

fn buffer(arg: &Arg, dtype: Scalar) -> Buffer {
    let align = arg.align.unwrap_or(1).max(u64::from(dtype.bytes()));
    Buffer { name: arg.name.clone(), role: arg.role, dtype, shape: arg.shape.clone(), align }
}

/// What a caller must see to, beside types and shapes: the condition in C++, and what is said where it does not hold.
pub fn conditions(plan: &Plan) -> Vec<(String, String)> {
    let mut found = vec![];
    for d in &plan.dims {
        let name = &d.name;
        found.push((format!("{name} >= {}", d.min.unwrap_or(0).max(0)), String::new()));
        found.extend(d.max.map(|max| (format!("{name} <= {max}"), String::new())));
        found.extend(d.divisible_by.filter(|by| *by > 1).map(|by| (format!("{name} % {by} == 0"), String::new())));
    }
    found.extend(plan.require.iter().map(|e| (cpp::expr(e), String::new())));
    for (condition, said) in &mut found {
        *said = format!("the contract asks for {condition}");
    }
    found
}

/// The buffer of this name.
pub fn buffer_of<'i>(interface: &'i Interface, name: &str) -> Result<&'i Buffer, ExportError> {
    interface.buffers.iter().find(|b| b.name == name).ok_or_else(|| ExportError::NoBuffer(name.to_owned()))
}
