//! Types and parameter lists as C++ spells them, so that overloads can be told apart by name.

use super::function::Function;
use super::program::{FunctionRef, Program};
use super::query::base_name;
use super::types::{Scalar, Type};

/// The type as C++ spells it; `None` where the text does not say it.
pub fn type_name(ty: &Type) -> Option<String> {
    let pointee = |p: &super::types::Pointee, mark: &str| {
        let inner = type_name(&p.ty)?;
        let words = [(p.is_const, "const "), (p.is_volatile, "volatile ")];
        let before: String = words.into_iter().filter(|(is, _)| *is).map(|(_, word)| word).collect();
        // What a pointer to a pointer is const of stands behind the first star.
        Some(match p.ty {
            Type::Pointer(_) => format!("{inner} {}{mark}", before.trim_end()).replace(" *", "*"),
            _ => format!("{before}{inner}{mark}"),
        })
    };
    match ty {
        Type::Void => Some("void".into()),
        Type::Scalar(s) => Some(s.cuda().into()),
        Type::Vector { elem: Scalar::F16, lanes: 2 } => Some("__half2".into()),
        Type::Vector { elem: Scalar::BF16, lanes: 2 } => Some("__nv_bfloat162".into()),
        Type::Vector { elem, lanes } => {
            let base = match elem {
                Scalar::I8 => "char",
                Scalar::U8 => "uchar",
                Scalar::I16 => "short",
                Scalar::U16 => "ushort",
                Scalar::I32 => "int",
                Scalar::U32 => "uint",
                Scalar::I64 => "longlong",
                Scalar::U64 => "ulonglong",
                Scalar::F32 => "float",
                Scalar::F64 => "double",
                _ => return None,
            };
            Some(format!("{base}{lanes}"))
        }
        Type::Pointer(p) => pointee(p, "*"),
        Type::Reference(p) => pointee(p, "&"),
        Type::Named(n) | Type::Param(n) => Some(n.clone()),
        Type::Array { .. } | Type::Auto | Type::Unknown => None,
    }
}

/// `(float*, int)`; `None` where a type is not known.
pub fn parameters(f: &Function) -> Option<String> {
    let types: Option<Vec<String>> = f.params.iter().map(|p| type_name(&f.var(*p).ty)).collect();
    Some(format!("({})", types?.join(", ")))
}

/// The whole name with the types of the parameters: what no other function of the program is called.
pub fn identity(f: &Function) -> String {
    format!("{}{}", f.qualified, parameters(f).unwrap_or_default())
}

/// `name` without a parameter list, and the list without spaces where it has one.
pub fn split_parameters(name: &str) -> (&str, Option<String>) {
    match name.find('(').filter(|_| !base_name(name).starts_with("operator")) {
        Some(at) => (name[..at].trim_end(), Some(name[at..].chars().filter(|c| !c.is_whitespace()).collect())),
        None => (name, None),
    }
}

/// Whether another kernel of the same whole name takes other parameters.
pub fn is_overloaded(program: &Program, r: FunctionRef) -> bool {
    let f = program.function(r);
    let types = |g: &Function| g.params.iter().map(|p| g.var(*p).ty.clone()).collect::<Vec<_>>();
    let own = types(f);
    let rivals = program.kernels().into_iter().map(|k| program.function(k));
    rivals.filter(|g| g.qualified == f.qualified).any(|g| types(g) != own)
}
