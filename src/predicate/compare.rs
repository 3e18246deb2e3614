//! Comparisons of values, for the operators of conditions.

use std::sync::Arc;

use super::value::{Answer, Number, Value};
use crate::facts::{Facts, Formula, Known, Poly};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// `left op right`; `in` is a disjunction of equalities.
pub fn compare(facts: &Facts, left: &Value, op: Relation, right: &Value) -> Answer {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => numbers(facts, a, op, b),
        (Value::Real(a), Value::Real(b)) => reals(*a, op, *b),
        (Value::Real(a), Value::Int(b)) => match b.poly.as_constant() {
            Some(b) => reals(*a, op, b as f64),
            None => Answer::unknown("the number is not a known constant"),
        },
        (Value::Int(_), Value::Real(_)) => compare(facts, right, mirrored(op), left),
        (Value::DType(_), Value::DType(_))
        | (Value::Symbol(_), Value::Symbol(_))
        | (Value::Bool(_), Value::Bool(_)) => {
            let equal = left.same(right);
            match op {
                Relation::Eq => plain(equal),
                Relation::Ne => plain(!equal),
                _ => Answer::unknown("these values have no order"),
            }
        }
        _ => Answer::unknown("these values cannot be compared"),
    }
}

fn plain(v: bool) -> Answer {
    Answer::known(Value::Bool(v), Default::default())
}

fn reals(a: f64, op: Relation, b: f64) -> Answer {
    plain(match op {
        Relation::Eq => a == b,
        Relation::Ne => a != b,
        Relation::Lt => a < b,
        Relation::Le => a <= b,
        Relation::Gt => a > b,
        Relation::Ge => a >= b,
    })
}

fn mirrored(op: Relation) -> Relation {
    match op {
        Relation::Lt => Relation::Gt,
        Relation::Le => Relation::Ge,
        Relation::Gt => Relation::Lt,
        Relation::Ge => Relation::Le,
        same => same,
    }
}

fn numbers(facts: &Facts, a: &Number, op: Relation, b: &Number) -> Answer {
    let because = a.because.clone().and(&b.because);
    let known = known_of(facts, &[a, b]);
    if a.clamped || b.clamped {
        // max(p, 0) >= c for c <= 0 is the only comparison that needs no more than that.
        return match (op, b.poly.as_constant()) {
            (Relation::Ge, Some(c)) if !b.clamped && c <= 0 => Answer::yes(because),
            _ => Answer::unknown(format!(
                "`{}` may be negative",
                facts.render(if a.clamped { &a.poly } else { &b.poly })
            )),
        };
    }
    let less = |x: &Poly, y: &Poly, by: i128| y.sub(x).and_then(|p| p.offset(-by)).map(Formula::NonNeg);
    let formula = match op {
        Relation::Eq => a.poly.sub(&b.poly).map(Formula::Zero),
        Relation::Ne => a.poly.sub(&b.poly).map(Formula::NonZero),
        Relation::Lt => less(&a.poly, &b.poly, 1),
        Relation::Le => less(&a.poly, &b.poly, 0),
        Relation::Gt => less(&b.poly, &a.poly, 1),
        Relation::Ge => less(&b.poly, &a.poly, 0),
    };
    let text = || format!("`{}` against `{}`", facts.render(&a.poly), facts.render(&b.poly));
    match formula.and_then(|f| f.decide(&known)) {
        Some((true, why)) => Answer::yes(because.and(&why)),
        Some((false, why)) => {
            let at = because.places();
            Answer::no(because.and(&why), text(), at)
        }
        None => Answer::unknown(format!("which holds is not known: {}", text())),
    }
}

fn known_of(facts: &Facts, numbers: &[&Number]) -> Arc<Known> {
    let own: Vec<&Arc<Known>> = numbers.iter().filter_map(|n| n.known.as_ref()).collect();
    match own.as_slice() {
        [one] => (*one).clone(),
        // Two places: only what holds everywhere is sure to hold at both.
        _ => Arc::new(facts.context.known.clone()),
    }
}

/// Whether `divisor` divides `number`.
pub fn divides(facts: &Facts, divisor: &Number, number: &Number) -> Answer {
    let Some(d) = divisor.poly.as_constant() else { return Answer::unknown("the divisor is not a known constant") };
    if d == 0 {
        return Answer::unknown("nothing is divided by zero");
    }
    let because = divisor.because.clone().and(&number.because);
    let known = known_of(facts, &[number]);
    // max(p, 0) is a multiple where p is; where p is not, it may still be zero.
    if let Some(why) = known.prove_divides(d.abs(), &number.poly) {
        return Answer::yes(because.and(&why));
    }
    match known.prove_not_divides(d.abs(), &number.poly) {
        Some(why) if !number.clamped => {
            let at = because.places();
            let text = format!("{d} does not divide `{}`", facts.render(&number.poly));
            Answer::no(because.and(&why), text, at)
        }
        _ => Answer::Unknown {
            reason: format!("whether {d} divides `{}` is not known", facts.render(&number.poly)),
            at: because.places(),
            next: Some(format!("assume `{} % {d} == 0` in the contract", facts.render(&number.poly))),
        },
    }
}
