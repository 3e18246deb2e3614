//! Element types, and how a value of one is read, computed with and written.

/// What arithmetic the values of a type have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    Float,
    Signed,
    Unsigned,
}

/// An element type of a buffer or a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elem {
    /// As CUDA C++ spells it.
    pub c: &'static str,
    /// As a contract spells it.
    pub dtype: &'static str,
    /// The type that its values are computed in.
    pub compute: &'static str,
    pub family: Family,
    pub bytes: u32,
    pub header: Option<&'static str>,
}

const fn elem(c: &'static str, dtype: &'static str, compute: &'static str, family: Family, bytes: u32) -> Elem {
    Elem { c, dtype, compute, family, bytes, header: None }
}

pub const FLOAT: Elem = elem("float", "f32", "float", Family::Float, 4);
pub const INT: Elem = elem("int", "i32", "int", Family::Signed, 4);
pub const UNSIGNED: Elem = elem("unsigned int", "u32", "unsigned int", Family::Unsigned, 4);
pub const DOUBLE: Elem = elem("double", "f64", "double", Family::Float, 8);
pub const HALF: Elem = Elem { header: Some("cuda_fp16.h"), ..elem("__half", "f16", "float", Family::Float, 2) };
pub const BFLOAT: Elem =
    Elem { header: Some("cuda_bf16.h"), ..elem("__nv_bfloat16", "bf16", "float", Family::Float, 2) };

/// All of them, the frequent ones more often, the simplest first.
pub const ELEMS: &[(usize, Elem)] = &[
    (12, FLOAT),
    (5, INT),
    (2, UNSIGNED),
    (2, DOUBLE),
    (3, HALF),
    (2, BFLOAT),
    (1, elem("short", "i16", "int", Family::Signed, 2)),
    (1, elem("unsigned short", "u16", "unsigned int", Family::Unsigned, 2)),
    (1, elem("unsigned char", "u8", "unsigned int", Family::Unsigned, 1)),
    (1, elem("signed char", "i8", "int", Family::Signed, 1)),
    (1, elem("char", "i8", "int", Family::Signed, 1)),
    (1, elem("long long", "i64", "long long", Family::Signed, 8)),
    (1, elem("long", "i64", "long", Family::Signed, 8)),
    (1, elem("unsigned long long", "u64", "unsigned long long", Family::Unsigned, 8)),
];

impl Elem {
    /// The element at `place` in the type that is computed with.
    pub fn load(&self, place: &str) -> String {
        match self.dtype {
            "f16" => format!("__half2float({place})"),
            "bf16" => format!("__bfloat162float({place})"),
            _ => place.to_owned(),
        }
    }

    /// A value of the computing type as an element.
    pub fn stored(&self, value: &str) -> String {
        match self.dtype {
            "f16" => format!("__float2half({value})"),
            "bf16" => format!("__float2bfloat16({value})"),
            _ if self.c != self.compute => format!("({})({value})", self.c),
            _ => value.to_owned(),
        }
    }

    /// The statement that stores `value` at `place`.
    pub fn store(&self, place: &str, value: &str) -> String {
        format!("{place} = {};", self.stored(value))
    }

    pub fn is_float(&self) -> bool {
        self.family == Family::Float
    }

    /// A small number in the type that is computed with.
    pub fn literal(&self, n: i32) -> String {
        match (self.family, self.compute) {
            (Family::Float, "float") => format!("{n}.0f"),
            (Family::Float, _) => format!("{n}.0"),
            (Family::Unsigned, _) => format!("{n}u"),
            (Family::Signed, _) => format!("{n}"),
        }
    }
}
