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
        use ExprKind::*;
        match self {
            Unary { operand, .. } | Cast { operand, .. } => vec![*operand],
            Deref(e) | AddressOf(e) => vec![*e],
            Increment { target, .. } => vec![*target],
            Binary { left, right, .. } | Comma { left, right } => vec![*left, *right],
            Assign { target, value, .. } => vec![*target, *value],
            Index { base, index } => vec![*base, *index],
            Member { base, .. } => vec![*base],
            Call { receiver, args, .. } => receiver.iter().chain(args).copied().collect(),
            CallValue { callee, args } => std::iter::once(callee).chain(args).copied().collect(),
            Conditional { condition, then, otherwise } => vec![*condition, *then, *otherwise],
            InitList(items) => items.clone(),
            Construct { args, .. } => args.clone(),
            Opaque { children, .. } => children.clone(),
            Int(_) | Float(_) | Bool(_) | Str(_) | Null | This | Var(_) | Name(_) | Builtin(_) | Lambda(_)
            | SizeOf(_) | Launch(_) => vec![],
        }
    }
}
