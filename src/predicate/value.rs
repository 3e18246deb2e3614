//! Values of conditions, and answers.

use std::sync::Arc;

use crate::facts::{Because, Known, Missing, PointerValue, Poly};
use crate::ir::{AccessId, Anchor, Builtin, Scalar, VarId};
use crate::source::Span;

/// An integer with what is known at the place it is a value of.
#[derive(Clone, Debug)]
pub struct Number {
    pub poly: Poly,
    /// The number is `max(poly, 0)`.
    pub clamped: bool,
    pub known: Option<Arc<Known>>,
    pub because: Because,
}

impl Number {
    pub fn new(poly: Poly, because: Because) -> Number {
        Number { poly, clamped: false, known: None, because }
    }

    pub fn constant(v: i128) -> Number {
        Number::new(Poly::constant(v), Because::nothing())
    }
}

#[derive(Clone, Debug)]
pub struct AddressValue {
    pub access: AccessId,
    pub pointer: PointerValue,
    pub known: Arc<Known>,
}

#[derive(Clone, Debug)]
pub enum Value {
    Bool(bool),
    Int(Number),
    Real(f64),
    DType(Scalar),
    Symbol(String),
    Set(Vec<Value>),
    Address(Box<AddressValue>),
    Anchor(Anchor),
}

impl Value {
    pub fn int(v: i128) -> Value {
        Value::Int(Number::constant(v))
    }

    /// Whether the two are the same value; numbers are where their expressions are.
    pub fn same(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Int(a), Value::Int(b)) => a.poly == b.poly && a.clamped == b.clamped,
            (Value::Real(a), Value::Real(b)) => a == b,
            (Value::DType(a), Value::DType(b)) => a == b,
            (Value::Symbol(a), Value::Symbol(b)) => a == b,
            (Value::Set(a), Value::Set(b)) => a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.same(y)),
            (Value::Address(a), Value::Address(b)) => a.pointer == b.pointer,
            (Value::Anchor(a), Value::Anchor(b)) => a == b,
            _ => false,
        }
    }
}

/// What makes a condition false: a counterexample or the places that contradict it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    pub text: String,
    pub at: Vec<(Span, String)>,
}

#[derive(Clone, Debug)]
pub enum Answer {
    Known {
        value: Value,
        because: Because,
        witness: Option<Witness>,
    },
    Unknown {
        reason: String,
        at: Vec<(Span, String)>,
        /// What would make it known, in the imperative.
        next: Option<String>,
    },
}

impl Answer {
    pub fn known(value: Value, because: Because) -> Answer {
        Answer::Known { value, because, witness: None }
    }

    pub fn yes(because: Because) -> Answer {
        Answer::known(Value::Bool(true), because)
    }

    pub fn no(because: Because, text: impl Into<String>, at: Vec<(Span, String)>) -> Answer {
        let witness = Some(Witness { text: text.into(), at });
        Answer::Known { value: Value::Bool(false), because, witness }
    }

    pub fn int(v: i128, because: Because) -> Answer {
        let number = Number { because: because.clone(), ..Number::constant(v) };
        Answer::known(Value::Int(number), because)
    }

    pub fn number(poly: Poly, because: Because) -> Answer {
        Answer::known(Value::Int(Number::new(poly, because.clone())), because)
    }

    pub fn symbol(word: impl Into<String>, because: Because) -> Answer {
        Answer::known(Value::Symbol(word.into()), because)
    }

    pub fn unknown(reason: impl Into<String>) -> Answer {
        Answer::Unknown { reason: reason.into(), at: vec![], next: None }
    }

    pub fn is_true(&self) -> bool {
        matches!(self, Answer::Known { value: Value::Bool(true), .. })
    }

    pub fn is_false(&self) -> bool {
        matches!(self, Answer::Known { value: Value::Bool(false), .. })
    }

    /// One answer for two contexts: they agree, or at least one of them says no.
    pub fn meet(self, other: Answer) -> Option<Answer> {
        if self.is_false() {
            return Some(self);
        }
        if other.is_false() {
            return Some(other);
        }
        match (self, other) {
            (Answer::Known { value, because, witness }, Answer::Known { value: v, because: b, .. })
                if value.same(&v) =>
            {
                Some(Answer::Known { value, because: because.and(&b), witness })
            }
            _ => None,
        }
    }
}

impl From<Missing> for Answer {
    fn from(m: Missing) -> Answer {
        Answer::Unknown { reason: m.reason, at: m.at, next: m.next }
    }
}

/// C++ that tests a condition while the program runs: launch-uniform, without side effects, over parameters of the
/// kernel by name and built-in variables, so that the host can test it with the arguments in their place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardCode {
    pub text: String,
    pub names: Vec<VarId>,
    pub builtins: Vec<Builtin>,
}
