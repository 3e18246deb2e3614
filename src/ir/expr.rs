//! Expressions, with side effects in view: assignments and increments are expressions, as in C++.

use super::function::{FunctionId, VarId};
use super::types::Type;
use crate::source::Span;

/// Index into [`super::Function::exprs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExprId(pub u32);

/// One of `.x`, `.y`, `.z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Axis {
    X,
    Y,
    Z,
}

impl Axis {
    pub fn name(self) -> &'static str {
        match self {
            Axis::X => "x",
            Axis::Y => "y",
            Axis::Z => "z",
        }
    }
}

/// The special registers of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Builtin {
    ThreadIdx(Axis),
    BlockIdx(Axis),
    BlockDim(Axis),
    GridDim(Axis),
    WarpSize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UnaryOp {
    Neg,
    Plus,
    Not,
    BitNot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Shl,
    Shr,
    BitAnd,
    BitOr,
    BitXor,
    And,
    Or,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// `None` is plain `=`; `Some(op)` is `op=`.
pub type AssignOp = Option<BinaryOp>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CastStyle {
    CStyle,
    Functional,
    Static,
    Reinterpret,
    Const,
    Dynamic,
    /// `__int_as_float` and friends are calls, not casts; this is `bit_cast<T>(x)`.
    Bit,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExprKind {
    Int(i128),
    /// The literal as written, suffix included.
    Float(String),
    Bool(bool),
    Str(String),
    Null,
    This,
    Var(VarId),
    /// A name of file or namespace scope, qualified as written: a constant, an enumerator, a global, a template
    /// parameter that is not a type.
    Name(String),
    Builtin(Builtin),
    Unary {
        op: UnaryOp,
        operand: ExprId,
    },
    Binary {
        op: BinaryOp,
        left: ExprId,
        right: ExprId,
    },
    Assign {
        op: AssignOp,
        target: ExprId,
        value: ExprId,
    },
    /// `delta` is +1 or -1.
    Increment {
        target: ExprId,
        delta: i8,
        prefix: bool,
    },
    Index {
        base: ExprId,
        index: ExprId,
    },
    Deref(ExprId),
    AddressOf(ExprId),
    Member {
        base: ExprId,
        name: String,
        arrow: bool,
    },
    /// `callee` is the name as written without template arguments (`std::max`, `acc.update`); `receiver` is the object
    /// of a method call; `template_args` are their texts.
    Call {
        callee: String,
        receiver: Option<ExprId>,
        template_args: Vec<String>,
        args: Vec<ExprId>,
    },
    /// A call of something that is not a name: a lambda in place, the result of a call.
    CallValue {
        callee: ExprId,
        args: Vec<ExprId>,
    },
    Cast {
        style: CastStyle,
        ty: Type,
        operand: ExprId,
    },
    Conditional {
        condition: ExprId,
        then: ExprId,
        otherwise: ExprId,
    },
    Comma {
        left: ExprId,
        right: ExprId,
    },
    InitList(Vec<ExprId>),
    /// `T{..}` or `T(a, b)` with a type that is no scalar.
    Construct {
        ty: Type,
        args: Vec<ExprId>,
    },
    Lambda(FunctionId),
    SizeOf(Option<Type>),
    /// `kernel<<<..>>>(..)`; index into [`super::Unit::launches`].
    Launch(u32),
    /// Something the lowering does not model; the text says what it is ("fold expression", "new").
    Opaque {
        what: String,
        children: Vec<ExprId>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expr {
    pub kind: ExprKind,
    pub span: Span,
    /// The type where it can be told from declarations and literals.
    pub ty: Type,
}

impl ExprKind {
    /// The operands in the order of the text.
    pub fn children(&self) -> Vec<ExprId> {
        self.operands().collect()
    }

    /// The operands in the order of the text, without a list of their own.
    pub fn operands(&self) -> Operands<'_> {
        use ExprKind::*;
        match self {
            Unary { operand: e, .. } | Cast { operand: e, .. } | Deref(e) | AddressOf(e) => Operands::of([Some(*e)]),
            Increment { target: e, .. } | Member { base: e, .. } => Operands::of([Some(*e)]),
            Binary { left, right, .. } | Comma { left, right } => Operands::of([Some(*left), Some(*right)]),
            Assign { target, value, .. } => Operands::of([Some(*target), Some(*value)]),
            Index { base, index } => Operands::of([Some(*base), Some(*index)]),
            Conditional { condition, then, otherwise } => {
                Operands::of([Some(*condition), Some(*then), Some(*otherwise)])
            }
            Call { receiver, args, .. } => Operands { rest: args, ..Operands::of([*receiver]) },
            CallValue { callee, args } => Operands { rest: args, ..Operands::of([Some(*callee)]) },
            InitList(items) => Operands { rest: items, ..Operands::default() },
            Construct { args, .. } => Operands { rest: args, ..Operands::default() },
            Opaque { children, .. } => Operands { rest: children, ..Operands::default() },
            Int(_) | Float(_) | Bool(_) | Str(_) | Null | This | Var(_) | Name(_) | Builtin(_) | Lambda(_)
            | SizeOf(_) | Launch(_) => Operands::default(),
        }
    }
}

/// Expressions in order: a few single ones, then a list.
#[derive(Clone, Debug, Default)]
pub struct Operands<'e> {
    first: [Option<ExprId>; 3],
    rest: &'e [ExprId],
}

impl<'e> Operands<'e> {
    fn of<const N: usize>(single: [Option<ExprId>; N]) -> Operands<'e> {
        let mut first = [None; 3];
        first.iter_mut().zip(single).for_each(|(place, e)| *place = e);
        Operands { first, rest: &[] }
    }
}

impl Iterator for Operands<'_> {
    type Item = ExprId;

    fn next(&mut self) -> Option<ExprId> {
        if let Some(e) = self.first.iter_mut().find_map(Option::take) {
            return Some(e);
        }
        let (e, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*e)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.first.iter().flatten().count() + self.rest.len();
        (left, Some(left))
    }
}

impl DoubleEndedIterator for Operands<'_> {
    fn next_back(&mut self) -> Option<ExprId> {
        if let Some((e, rest)) = self.rest.split_last() {
            self.rest = rest;
            return Some(*e);
        }
        self.first.iter_mut().rev().find_map(Option::take)
    }
}

impl ExactSizeIterator for Operands<'_> {}
