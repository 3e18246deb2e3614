//! Units and programs: what one file holds, and how files know of each other.

use super::expr::ExprId;
use super::function::{Function, FunctionId, FunctionKind};
use super::types::Type;
use crate::diag::Diagnostic;
use crate::source::{FileId, Span};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    Cuda,
    Tilelang,
}

/// `kernel<T, 4><<<grid, block, shared, stream>>>(args)`. Expressions belong to the function that launches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The function that holds the launch.
    pub caller: FunctionId,
    /// As written, without template arguments: `ns::k`.
    pub callee: String,
    pub callee_span: Span,
    pub template_args: Vec<String>,
    /// The whole launch expression, from the kernel's name to the closing parenthesis.
    pub span: Span,
    /// The statement that it is, semicolon included, where it stands as a statement of its own.
    pub statement_span: Option<Span>,
    pub grid: Option<ExprId>,
    pub block: Option<ExprId>,
    pub shared: Option<ExprId>,
    pub stream: Option<ExprId>,
    pub args: Vec<ExprId>,
    pub expr: ExprId,
}

/// A variable of file or namespace scope that kernels can see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Global {
    pub name: String,
    pub qualified: String,
    pub ty: Type,
    pub is_const: bool,
    pub is_constexpr: bool,
    /// `__constant__`.
    pub is_constant_memory: bool,
    /// `__device__` or `__managed__`.
    pub is_device: bool,
    /// The initialiser as written.
    pub init: Option<String>,
    /// Its value, where the initialiser is an integer constant expression over other constants.
    pub value: Option<i128>,
    pub span: Span,
}

/// `typedef` or `using`, or an object-like macro whose body is a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeAlias {
    pub name: String,
    pub ty: Type,
    pub span: Span,
}

/// One parsed file.
#[derive(Clone, Debug)]
pub struct Unit {
    pub file: FileId,
    pub language: Language,
    pub functions: Vec<Function>,
    pub globals: Vec<Global>,
    pub aliases: Vec<TypeAlias>,
    pub launches: Vec<Launch>,
    /// Object-like macros with an integer value: name, value, span of the definition.
    pub constants: Vec<(String, i128, Span)>,
    /// `#include`s as written, with their spans.
    pub includes: Vec<(String, Span)>,
    /// Explicit instantiations: `template __global__ void k<float, 4>(float*);` gives (`k`, [`float`, `4`]).
    pub instantiations: Vec<(String, Vec<String>, Span)>,
    /// `#if` branches that the mask blanked out.
    pub dropped: Vec<Span>,
    /// Where the text says `__global__` (or an alias of it) in front of a definition, whether modelled or not.
    pub lexical_kernels: Vec<Span>,
    /// What went wrong while reading: never silent.
    pub problems: Vec<Diagnostic>,
}

impl Unit {
    pub fn function(&self, id: FunctionId) -> &Function {
        &self.functions[id.0 as usize]
    }

    pub fn kernels(&self) -> impl Iterator<Item = &Function> {
        self.functions.iter().filter(|f| f.kind == FunctionKind::Kernel && f.body_span.is_some())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionRef {
    pub unit: u32,
    pub function: FunctionId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaunchRef {
    pub unit: u32,
    pub launch: u32,
}

/// A set of units. `complete` says that every launch and every definition is in it: one file with its own `main` and no
/// header that declares the kernel, or a program that the user declared complete.
#[derive(Clone, Debug, Default)]
pub struct Program {
    pub units: Vec<Unit>,
    pub complete: bool,
}

impl Program {
    pub fn unit(&self, r: u32) -> &Unit {
        &self.units[r as usize]
    }

    pub fn function(&self, r: FunctionRef) -> &Function {
        self.units[r.unit as usize].function(r.function)
    }

    pub fn launch(&self, r: LaunchRef) -> &Launch {
        &self.units[r.unit as usize].launches[r.launch as usize]
    }

    /// Every kernel with a body, in file order.
    pub fn kernels(&self) -> Vec<FunctionRef> {
        let refs = |(u, unit): (usize, &Unit)| {
            unit.kernels().map(|f| FunctionRef { unit: u as u32, function: f.id }).collect::<Vec<_>>()
        };
        self.units.iter().enumerate().flat_map(refs).collect()
    }

    /// The launches whose callee names `kernel` (by its last path component).
    pub fn launches_of(&self, kernel: FunctionRef) -> Vec<LaunchRef> {
        let name = &self.function(kernel).name;
        let mut found = vec![];
        for (u, unit) in self.units.iter().enumerate() {
            for (l, launch) in unit.launches.iter().enumerate() {
                if launch.callee.rsplit("::").next() == Some(name) {
                    found.push(LaunchRef { unit: u as u32, launch: l as u32 });
                }
            }
        }
        found
    }
}
