//! Why a plan cannot be made concrete.

use super::expr::EvalError;
use super::generate::GenerateError;
use super::proposed::Open;
use crate::diag::{Code, Diagnostic};
use crate::source::Span;

/// Where in the contract something is wrong: `args.x`, `shape`, and the place in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Field {
    pub table: String,
    pub field: String,
    pub span: Option<Span>,
}

impl std::fmt::Display for Field {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` of {}", self.field, self.table)
    }
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ContractError {
    #[error("{} of {} is open: {}", .0.field, .0.table, .0.question)]
    Open(Open),
    #[error("{at} has no value: {why}")]
    NoValue { at: Field, why: EvalError },
    #[error("the cell gives no value to dim `{0}`")]
    NoDim(String),
    #[error("{dim} = {value} is not in the contract: {rule}")]
    Excluded { dim: String, value: i64, rule: String },
    #[error("the contract requires {0}")]
    Required(String),
    /// Negative or too large for what it counts.
    #[error("{at} is {value}, which is not possible: {why}")]
    Impossible { at: Field, value: i64, why: String },
    #[error("{at} names `{name}`, which is no buffer of the plan")]
    NoBuffer { at: Field, name: String },
    #[error("{at} names `{name}`, which is no scalar of the plan")]
    NoScalar { at: Field, name: String },
    #[error("{at} cannot be filled: {why}")]
    Contents { at: Field, why: GenerateError },
}

impl ContractError {
    pub fn code(&self) -> Code {
        Code(match self {
            ContractError::Open(_) => 613,
            ContractError::NoValue { .. } => 615,
            ContractError::NoDim(_) | ContractError::Excluded { .. } | ContractError::Required(_) => 616,
            ContractError::Impossible { .. } => 617,
            ContractError::NoBuffer { .. } | ContractError::NoScalar { .. } => 604,
            ContractError::Contents { .. } => 618,
        })
    }

    fn span(&self) -> Option<Span> {
        match self {
            ContractError::Open(open) => open.span,
            ContractError::NoValue { at, .. }
            | ContractError::Impossible { at, .. }
            | ContractError::NoBuffer { at, .. }
            | ContractError::NoScalar { at, .. }
            | ContractError::Contents { at, .. } => at.span,
            ContractError::NoDim(_) | ContractError::Excluded { .. } | ContractError::Required(_) => None,
        }
    }

    pub fn diagnostic(&self) -> Diagnostic {
        let next = match self {
            ContractError::Open(open) => format!("answer it in the contract: {}", open.question),
            ContractError::NoValue { .. } => {
                "restrict the dims (`min`, `max`, `divisible_by`), or mend the expression".into()
            }
            ContractError::NoDim(name) => format!("add `[dims.{name}]` with `samples`"),
            ContractError::Excluded { .. } | ContractError::Required(_) => {
                "choose sizes that the contract admits".into()
            }
            ContractError::Impossible { .. } => "mend the expression, or restrict the dims".into(),
            ContractError::NoBuffer { name, .. } | ContractError::NoScalar { name, .. } => {
                format!("add `[args.{name}]`")
            }
            ContractError::Contents { .. } => "mend `dtype` or `legal`".into(),
        };
        let d = Diagnostic::error(self.code(), self.to_string()).next(next);
        self.span().into_iter().fold(d, |d, s| d.at(s, "here"))
    }
}
