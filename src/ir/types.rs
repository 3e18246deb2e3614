//! Types as far as an optimiser needs them: scalar kinds and widths, vectors, pointers, arrays.

use super::expr::ExprId;
use std::sync::Arc;

/// An arithmetic type of known size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scalar {
    Bool,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F16,
    BF16,
    F32,
    F64,
    /// 8-bit floating point, both encodings.
    F8,
}

impl Scalar {
    /// Size in bytes.
    pub fn bytes(self) -> u32 {
        use Scalar::*;
        match self {
            Bool | I8 | U8 | F8 => 1,
            I16 | U16 | F16 | BF16 => 2,
            I32 | U32 | F32 => 4,
            I64 | U64 | F64 => 8,
        }
    }

    pub fn is_float(self) -> bool {
        matches!(self, Scalar::F16 | Scalar::BF16 | Scalar::F32 | Scalar::F64 | Scalar::F8)
    }

    pub fn is_integer(self) -> bool {
        !self.is_float() && self != Scalar::Bool
    }

    pub fn is_unsigned(self) -> bool {
        matches!(self, Scalar::U8 | Scalar::U16 | Scalar::U32 | Scalar::U64)
    }

    /// The name used in skill files and messages, such as `f32`.
    pub fn name(self) -> &'static str {
        use Scalar::*;
        match self {
            Bool => "bool",
            I8 => "i8",
            U8 => "u8",
            I16 => "i16",
            U16 => "u16",
            I32 => "i32",
            U32 => "u32",
            I64 => "i64",
            U64 => "u64",
            F16 => "f16",
            BF16 => "bf16",
            F32 => "f32",
            F64 => "f64",
            F8 => "f8",
        }
    }

    /// The inverse of [`Scalar::name`].
    pub fn from_name(name: &str) -> Option<Scalar> {
        use Scalar::*;
        [Bool, I8, U8, I16, U16, I32, U32, I64, U64, F16, BF16, F32, F64, F8].into_iter().find(|s| s.name() == name)
    }

    /// How CUDA C++ spells the type.
    pub fn cuda(self) -> &'static str {
        use Scalar::*;
        match self {
            Bool => "bool",
            I8 => "signed char",
            U8 => "unsigned char",
            I16 => "short",
            U16 => "unsigned short",
            I32 => "int",
            U32 => "unsigned int",
            I64 => "long long",
            U64 => "unsigned long long",
            F16 => "__half",
            BF16 => "__nv_bfloat16",
            F32 => "float",
            F64 => "double",
            F8 => "__nv_fp8_storage_t",
        }
    }
}

/// `Named` is a class or an unresolved name, `Param` a template type parameter; both have unknown size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    Void,
    Scalar(Scalar),
    /// CUDA's `float4`, `half2`, ...
    Vector {
        elem: Scalar,
        lanes: u8,
    },
    /// Shared, since every expression has a type and most types are those of variables.
    Pointer(Arc<Pointee>),
    Reference(Arc<Pointee>),
    /// `len` is the extent's expression in the owning function, or `None` for `[]`.
    Array {
        elem: Box<Type>,
        len: Option<ExprId>,
    },
    Named(String),
    Param(String),
    Auto,
    Unknown,
}

/// What a pointer or reference leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointee {
    pub ty: Type,
    pub is_const: bool,
    pub is_volatile: bool,
    pub restrict: bool,
}

impl Type {
    pub fn pointer_to(ty: Type) -> Type {
        Type::Pointer(Arc::new(Pointee { ty, is_const: false, is_volatile: false, restrict: false }))
    }

    pub fn scalar(&self) -> Option<Scalar> {
        match self {
            Type::Scalar(s) => Some(*s),
            _ => None,
        }
    }

    /// Size in bytes where it is known without evaluating an extent.
    pub fn bytes(&self) -> Option<u32> {
        match self {
            Type::Scalar(s) => Some(s.bytes()),
            Type::Vector { elem, lanes } => Some(elem.bytes() * u32::from(*lanes)),
            Type::Pointer(_) => Some(8),
            _ => None,
        }
    }

    /// The type of `*p` or `p[i]`.
    pub fn element(&self) -> Option<&Type> {
        match self {
            Type::Pointer(p) => Some(&p.ty),
            Type::Reference(p) => p.ty.element(),
            Type::Array { elem, .. } => Some(elem),
            _ => None,
        }
    }

    /// The innermost element of nested arrays, or the type itself.
    pub fn innermost(&self) -> &Type {
        match self {
            Type::Array { elem, .. } => elem.innermost(),
            other => other,
        }
    }
}
