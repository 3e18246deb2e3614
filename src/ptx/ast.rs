//! What the parser keeps of a PTX module: names, source locations, variables, functions, statements.

use std::fmt;

/// An interned name or opcode; `Module::name` gives its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol(pub u32);

/// A place in a source file, from `.loc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// The number that `.file` gave.
    pub file: u32,
    pub line: u32,
    pub column: u32,
}

/// One `.loc` directive: the place, and for inlined code the index of the call's own location.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location {
    pub place: Place,
    /// The place of the inlined call.
    pub inlined_at: Option<Place>,
    /// Index into `Module::locations` of an earlier location at that place, which continues the chain.
    pub outer: Option<u32>,
}

/// State spaces of variables and accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    Generic,
    Global,
    Const,
    Shared,
    Local,
    Param,
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Space::Generic => "generic",
            Space::Global => "global",
            Space::Const => "const",
            Space::Shared => "shared",
            Space::Local => "local",
            Space::Param => "param",
        })
    }
}

/// Fundamental types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Type {
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    Tf32,
    F32,
    F64,
    Pred,
}

impl Type {
    /// The type that a modifier without its dot names.
    pub fn named(text: &str) -> Option<Type> {
        Some(match text {
            "b8" => Type::B8,
            "b16" => Type::B16,
            "b32" => Type::B32,
            "b64" => Type::B64,
            "b128" => Type::B128,
            "u8" => Type::U8,
            "u16" => Type::U16,
            "u32" => Type::U32,
            "u64" => Type::U64,
            "s8" => Type::S8,
            "s16" => Type::S16,
            "s32" => Type::S32,
            "s64" => Type::S64,
            "f16" => Type::F16,
            "f16x2" => Type::F16x2,
            "bf16" => Type::Bf16,
            "bf16x2" => Type::Bf16x2,
            "tf32" => Type::Tf32,
            "f32" => Type::F32,
            "f64" => Type::F64,
            "pred" => Type::Pred,
            _ => return None,
        })
    }

    /// Size in memory, bytes.
    pub fn bytes(self) -> u32 {
        match self {
            Type::B8 | Type::U8 | Type::S8 | Type::Pred => 1,
            Type::B16 | Type::U16 | Type::S16 | Type::F16 | Type::Bf16 => 2,
            Type::B64 | Type::U64 | Type::S64 | Type::F64 => 8,
            Type::B128 => 16,
            _ => 4,
        }
    }

    pub fn is_signed(self) -> bool {
        matches!(self, Type::S8 | Type::S16 | Type::S32 | Type::S64)
    }

    pub fn is_float(self) -> bool {
        use Type::*;
        matches!(self, F16 | F16x2 | Bf16 | Bf16x2 | Tf32 | F32 | F64)
    }
}

/// A value in an initialiser.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Initial {
    /// Bits of the element.
    Bits(u64),
    /// The address of a variable or function plus bytes; `generic` asks for its generic address.
    Address { symbol: Symbol, offset: i64, generic: bool },
}

/// A declared variable or parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    pub name: Symbol,
    pub space: Space,
    pub ty: Type,
    /// Bytes; a power of two.
    pub align: u32,
    /// Bytes. Zero for an array without extent (`.extern .shared`).
    pub size: u64,
    pub unsized_array: bool,
    pub external: bool,
    pub initial: Vec<Initial>,
}

/// An operand as written.
#[derive(Debug, Clone, PartialEq)]
pub enum Operand {
    /// A register, label, variable or function.
    Name(Symbol),
    /// `-name`, allowed nowhere in current PTX but kept so that decoding can refuse it.
    Negated(Symbol),
    /// `!pred`.
    Not(Symbol),
    Int(i128),
    /// Bits of a `0f` literal.
    F32(u32),
    /// Bits of a `0d` literal or of a decimal one.
    F64(u64),
    /// `name + offset` outside brackets.
    Offset(Symbol, i64),
    /// `[base + offset]`; no base for an absolute address.
    Address(Option<Symbol>, i64),
    /// `{a, b, ..}`; also the coordinates of a tensor or texture.
    Vector(Vec<Operand>),
    /// `(a, b, ..)` of a call.
    List(Vec<Operand>),
    /// `p|q`.
    Pair(Symbol, Symbol),
    /// `_`.
    Sink,
    /// Something bracketed that is not a plain address: `[tex, {x, y}]`.
    Bracket(Vec<Operand>),
}

/// One instruction with its guard, opcode text, operands and location.
#[derive(Debug, Clone, PartialEq)]
pub struct Instruction {
    /// Predicate and whether it is negated.
    pub guard: Option<(Symbol, bool)>,
    /// The whole dotted opcode.
    pub opcode: Symbol,
    pub operands: Vec<Operand>,
    /// Index into `Module::locations`.
    pub location: Option<u32>,
    /// Line of the PTX text.
    pub line: u32,
}

/// What stands in a function body.
#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    Label(Symbol),
    Instruction(Instruction),
    /// `name<count>` declares name0 .. name(count-1); no count declares the name alone.
    Registers {
        prefix: Symbol,
        count: Option<u32>,
        ty: Type,
        vector: u8,
    },
    Variable(Variable),
    /// `.pragma "used_bytes_mask n";`: bytes that the program uses of what the next instruction loads.
    UsedBytes(u32),
    /// `label: .branchtargets a, b;`
    Targets(Symbol, Vec<Symbol>),
    /// `label: .callprototype ..;`
    Prototype(Symbol, Vec<Variable>, Vec<Variable>),
    Open,
    Close,
}

/// A kernel (`.entry`) or device function (`.func`).
#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    pub name: Symbol,
    pub is_entry: bool,
    pub has_body: bool,
    pub returns: Vec<Variable>,
    pub params: Vec<Variable>,
    pub body: Vec<Statement>,
    /// `.reqntid`, if given.
    pub required_threads: Option<[u32; 3]>,
    /// `.maxntid`, if given.
    pub max_threads: Option<[u32; 3]>,
    /// A directive that changes the meaning of a launch and that the machine does not model.
    pub unsupported: Option<String>,
    pub line: u32,
}

/// A parsed PTX text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Module {
    pub version: String,
    pub target: String,
    /// Bits of an address: 32 or 64.
    pub address_size: u32,
    /// `.file` numbers and paths.
    pub files: Vec<(u32, String)>,
    pub locations: Vec<Location>,
    pub variables: Vec<Variable>,
    pub functions: Vec<Function>,
    pub aliases: Vec<(Symbol, Symbol)>,
    pub(crate) names: Vec<Box<str>>,
}

impl Module {
    /// The text of an interned name.
    pub fn name(&self, symbol: Symbol) -> &str {
        self.names.get(symbol.0 as usize).map_or("", |n| n)
    }

    /// Names of all kernels, in the order of the text.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.functions.iter().filter(|f| f.is_entry && f.has_body).map(|f| self.name(f.name))
    }

    /// The path of a file number, or "?".
    pub fn file(&self, number: u32) -> &str {
        self.files.iter().find(|f| f.0 == number).map_or("?", |f| &f.1)
    }

    /// The places of a location from the innermost to the outermost.
    pub fn chain(&self, location: u32) -> Vec<Place> {
        let mut places = vec![];
        let mut next = Some(location);
        while let Some(location) = next.and_then(|i| self.locations.get(i as usize)) {
            places.push(location.place);
            if location.outer.is_none() {
                places.extend(location.inlined_at);
            }
            next = location.outer;
        }
        places
    }
}
