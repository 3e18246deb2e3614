//! What a predicate is asked, and what it answers. (The engine is written against these types.)

use crate::facts::Because;
use crate::facts::poly::Poly;
use crate::ir::{Anchor, Builtin, Scalar, VarId};
use crate::source::Span;

/// A value in a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Bool(bool),
    Int(Poly),
    DType(Scalar),
    /// `memory`, `first`, `rows`, `sm_80`: a word of a closed list.
    Symbol(String),
    Anchor(Anchor),
    Address(AddressValue),
}

/// The address of an access: where its root is, and how far from it, with some loops held at a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressValue {
    pub access: Anchor,
    /// Loops held at their first or last iteration (`k = first`).
    pub held: Vec<(Anchor, String)>,
}

/// Why something is false: a counterexample or the places that contradict it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    pub text: String,
    pub at: Vec<(Span, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// `witness` explains a false truth value.
    Known { value: Value, because: Because, witness: Option<Witness> },
    /// `next` is what would make it known, in the imperative.
    Unknown { reason: String, at: Vec<(Span, String)>, next: Option<String> },
}

impl Answer {
    pub fn known(value: Value, because: Because) -> Answer {
        Answer::Known { value, because, witness: None }
    }

    pub fn holds(because: Because) -> Answer {
        Answer::known(Value::Bool(true), because)
    }

    pub fn fails(witness: impl Into<String>, at: Vec<(Span, String)>, because: Because) -> Answer {
        Answer::Known { value: Value::Bool(false), because, witness: Some(Witness { text: witness.into(), at }) }
    }

    pub fn unknown(reason: impl Into<String>) -> Answer {
        Answer::Unknown { reason: reason.into(), at: vec![], next: None }
    }
}

/// A condition that can be tested at run time: launch-uniform, without side effects, over parameters of the kernel and
/// built-in dimensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardCode {
    /// C++ over the kernel's own parameter names, e.g. `cols % 4 == 0`; a conjunction is several codes.
    pub terms: Vec<String>,
    /// The parameters it mentions.
    pub names: Vec<VarId>,
    pub builtins: Vec<Builtin>,
}

/// One call of a predicate with evaluated arguments.
#[derive(Clone, Debug)]
pub struct Arguments {
    pub positional: Vec<Value>,
    /// In the order of the text; the value of `k = first` is the symbol, the key the *name*; loop positions arrive in
    /// [`Arguments::held`] instead.
    pub keyword: Vec<(String, Value)>,
    /// `k = first`: a bound loop and a position.
    pub held: Vec<(Anchor, String)>,
}
