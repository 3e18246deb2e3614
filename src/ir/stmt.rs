//! Statements. The tree is the source's own structure; nothing is desugared.

use super::expr::ExprId;
use super::function::VarId;
use super::surface::LoopId;
use crate::source::Span;

/// Index into [`super::Function::stmts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StmtId(pub u32);

/// Statements in order. A body without braces is a block of one statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    pub stmts: Vec<StmtId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StmtKind {
    /// One declarator; `int a = 1, b;` is two of these with the same statement span.
    Declare {
        var: VarId,
        init: Option<ExprId>,
    },
    Expr(ExprId),
    If {
        condition: ExprId,
        is_constexpr: bool,
        then: Block,
        otherwise: Option<Block>,
    },
    /// `init` holds declarations or one expression statement.
    For {
        id: LoopId,
        init: Vec<StmtId>,
        condition: Option<ExprId>,
        step: Option<ExprId>,
        body: Block,
    },
    While {
        id: LoopId,
        condition: ExprId,
        body: Block,
    },
    DoWhile {
        id: LoopId,
        body: Block,
        condition: ExprId,
    },
    /// Range-based for and other loops whose trip is not modelled.
    OpaqueLoop {
        id: LoopId,
        body: Block,
    },
    /// The statements of all cases in a row, and before which of them labels stand, in the order of the text. A label inside
    /// a statement of the body is an opaque statement there.
    Switch {
        value: ExprId,
        labels: Vec<Label>,
        body: Block,
    },
    Return(Option<ExprId>),
    Break,
    Continue,
    Block(Block),
    /// Inline assembly; operands are listed as they stand, `writes` are its outputs, `clobbers_memory` as declared.
    Asm {
        writes: Vec<ExprId>,
        reads: Vec<ExprId>,
        is_volatile: bool,
        clobbers_memory: bool,
        template: String,
    },
    /// `#if` around whole statements: one block per arm, exactly one of them is compiled.
    Preprocessor {
        arms: Vec<(Span, Block)>,
    },
    Pragma(String),
    Empty,
    /// Something that is not modelled (`goto`, a macro invocation, local classes); `what` names it.
    Opaque {
        what: String,
        children: Vec<ExprId>,
    },
}

/// `case value:` or `default:`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// How many statements of the body stand before it.
    pub before: u32,
    /// `None` for `default`.
    pub value: Option<ExprId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stmt {
    pub kind: StmtKind,
    pub span: Span,
}
