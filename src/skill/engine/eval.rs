//! Evaluates the expressions of a skill over the facts of one function.

use std::collections::BTreeMap;

use super::site::Bound;
use crate::facts::poly::Poly;
use crate::facts::{Because, Facts};
use crate::ir::{Anchor, Place};
use crate::predicate::{Answer, Arguments, GuardCode, Question, Relation, Value, Witness, compare, registry};
use crate::skill::ast::{Argument, BinaryOp, Expr, ExprKind, Platform, Skill, UnaryOp};
use crate::source::Span;

/// The names that a condition can see.
pub struct Scope {
    pub anchors: BTreeMap<String, Anchor>,
    pub values: BTreeMap<String, Value>,
    /// What the values of `let`s rest on.
    because: BTreeMap<String, Because>,
    /// `let`s that could not be evaluated, with the answer that says why.
    broken: BTreeMap<String, Answer>,
}

pub struct Evaluator<'a> {
    pub facts: &'a Facts<'a>,
    pub platform: Option<Platform>,
}

impl Evaluator<'_> {
    /// Bindings, tunables at their defaults, then the `let`s in order. Of a group, `member` stands for its name.
    pub fn scope(&self, skill: &Skill, bindings: &BTreeMap<String, Bound>, member: Option<(&str, Anchor)>) -> Scope {
        let mut anchors: BTreeMap<String, Anchor> = BTreeMap::new();
        for (name, bound) in bindings {
            if let Bound::One(anchor) = bound {
                anchors.insert(name.clone(), *anchor);
            }
        }
        anchors.extend(member.map(|(name, anchor)| (name.to_owned(), anchor)));
        let tuned = skill.tunes.iter().filter_map(|t| {
            let default = t.values.first()?;
            Some((t.name.node.clone(), Value::Int(Poly::constant(default.node.into()))))
        });
        let mut scope = Scope { anchors, values: tuned.collect(), because: BTreeMap::new(), broken: BTreeMap::new() };
        for definition in &skill.lets {
            match self.value(&definition.value, &scope) {
                Answer::Known { value, because, .. } => {
                    scope.values.insert(definition.name.node.clone(), value);
                    scope.because.insert(definition.name.node.clone(), because);
                }
                unknown => _ = scope.broken.insert(definition.name.node.clone(), unknown),
            }
        }
        scope
    }

    pub fn value(&self, expr: &Expr, scope: &Scope) -> Answer {
        let known = |value| Answer::known(value, Because::nothing());
        match &expr.kind {
            ExprKind::Int(n) => known(Value::Int(Poly::constant((*n).into()))),
            ExprKind::Bytes(n) => known(Value::Int(Poly::constant((*n).into()))),
            ExprKind::Bool(b) => known(Value::Bool(*b)),
            ExprKind::Real(text) | ExprKind::All(text) => known(Value::Symbol(text.clone())),
            ExprKind::Name(name) => self.name(name, scope),
            ExprKind::Call { name, arguments } => match self.arguments(arguments, scope) {
                Ok((args, because)) => match registry().get(&name.node) {
                    Some(predicate) => resting_on((predicate.eval)(&self.question(&args)), &because),
                    None => Answer::unknown(format!("there is no predicate `{}`", name.node)),
                },
                Err(unknown) => unknown,
            },
            ExprKind::Unary { op, operand } => unary(*op, self.value(operand, scope)),
            ExprKind::Binary { op, left, right } if op.is_logical() => self.logical(*op, left, right, scope),
            ExprKind::Binary { op, left, right } => match (self.value(left, scope), self.value(right, scope)) {
                (Answer::Known { value: a, because: x, .. }, Answer::Known { value: b, because: y, .. }) => {
                    self.binary(*op, &a, &b, x.and(&y))
                }
                (unknown @ Answer::Unknown { .. }, _) | (_, unknown) => unknown,
            },
            ExprKind::In { value, set } => self.member(value, set, scope),
            ExprKind::Error => Answer::unknown("the condition did not parse"),
        }
    }

    /// Whether `test` is one call of a predicate that has a guard.
    pub fn can_guard(&self, test: &Expr) -> bool {
        matches!(&test.kind, ExprKind::Call { name, .. }
            if registry().get(&name.node).is_some_and(|p| p.signature.has_guard))
    }

    /// The run-time test for a condition that is one call of a predicate.
    pub fn guard(&self, test: &Expr, scope: &Scope) -> Result<GuardCode, String> {
        let ExprKind::Call { name, arguments } = &test.kind else {
            return Err("only a single predicate can be tested at run time".into());
        };
        let emit = registry().get(&name.node).and_then(|p| p.guard);
        let emit = emit.ok_or_else(|| format!("`{}` has no run-time test", name.node))?;
        match self.arguments(arguments, scope) {
            Ok((args, _)) => emit(&self.question(&args)),
            Err(Answer::Unknown { reason, .. }) => Err(reason),
            Err(Answer::Known { .. }) => Err("an argument has no value".into()),
        }
    }

    fn question<'q>(&'q self, args: &'q Arguments) -> Question<'q> {
        Question { facts: self.facts, args, capability: self.platform.map(|p| p.capability) }
    }

    fn name(&self, name: &str, scope: &Scope) -> Answer {
        if let Some(unknown) = scope.broken.get(name) {
            return unknown.clone();
        }
        let bound = scope.anchors.get(name).map(|a| Value::Anchor(*a)).or_else(|| scope.values.get(name).cloned());
        let because = scope.because.get(name).cloned().unwrap_or_default();
        Answer::known(bound.unwrap_or_else(|| Value::Symbol(name.to_owned())), because)
    }

    /// The evaluated arguments, and what their values rest on.
    fn arguments(&self, arguments: &[Argument], scope: &Scope) -> Result<(Arguments, Because), Answer> {
        let mut reasons = Because::nothing();
        let mut found = Arguments { positional: vec![], keyword: vec![], held: vec![] };
        for argument in arguments {
            let value = match self.value(&argument.value, scope) {
                Answer::Known { value, because, .. } => {
                    reasons.join(&because);
                    value
                }
                unknown => return Err(unknown),
            };
            let held = argument.keyword.as_ref().and_then(|k| scope.anchors.get(&k.node));
            match (&argument.keyword, held, value) {
                (_, Some(anchor), Value::Symbol(at)) if matches!(anchor.place, Place::Loop(_)) => {
                    found.held.push((*anchor, at));
                }
                (Some(keyword), _, value) => found.keyword.push((keyword.node.clone(), value)),
                (None, _, value) => found.positional.push(value),
            }
        }
        Ok((found, reasons))
    }

    fn logical(&self, op: BinaryOp, left: &Expr, right: &Expr, scope: &Scope) -> Answer {
        let decisive = op == BinaryOp::Or;
        let (a, b) = (self.value(left, scope), self.value(right, scope));
        let truth = |answer: &Answer| match answer {
            Answer::Known { value: Value::Bool(b), .. } => Some(*b),
            _ => None,
        };
        match (truth(&a), truth(&b)) {
            (Some(x), _) if x == decisive => a,
            (_, Some(y)) if y == decisive => b,
            (Some(_), Some(_)) => merge(a, b),
            (Some(_), None) => b,
            _ => a,
        }
    }

    fn binary(&self, op: BinaryOp, a: &Value, b: &Value, because: Because) -> Answer {
        if let (Value::Int(x), Value::Int(y)) = (a, b) {
            return match relation(op) {
                Some(relation) => compare(self.facts, relation, x, y, because),
                None => arithmetic(op, x, y).map_or_else(
                    || Answer::unknown("the value is too large or not exact"),
                    |value| Answer::known(Value::Int(value), because),
                ),
            };
        }
        let equal = match (a, b) {
            (Value::DType(s), Value::Symbol(w)) | (Value::Symbol(w), Value::DType(s)) => Some(s.name() == w),
            (Value::DType(s), Value::DType(t)) => Some(s == t),
            (Value::Symbol(v), Value::Symbol(w)) => Some(v == w),
            (Value::Bool(v), Value::Bool(w)) => Some(v == w),
            _ => None,
        };
        match (op, equal) {
            (BinaryOp::Eq, Some(equal)) => truth(equal, because, || format!("it is {}", self.show(a))),
            (BinaryOp::Ne, Some(equal)) => truth(!equal, because, || format!("it is {}", self.show(a))),
            _ => Answer::unknown("values of these kinds cannot be compared"),
        }
    }

    fn member(&self, value: &Expr, set: &[Expr], scope: &Scope) -> Answer {
        let (value, because) = match self.value(value, scope) {
            Answer::Known { value, because, .. } => (value, because),
            unknown => return unknown,
        };
        let mut undecided = None;
        for item in set {
            let (item, more) = match self.value(item, scope) {
                Answer::Known { value, because, .. } => (value, because),
                unknown => return unknown,
            };
            match self.binary(BinaryOp::Eq, &value, &item, because.clone().and(&more)) {
                hit @ Answer::Known { value: Value::Bool(true), .. } => return hit,
                Answer::Known { .. } => {}
                unknown => undecided = undecided.or(Some(unknown)),
            }
        }
        undecided.unwrap_or_else(|| truth(false, because, || format!("it is {}", self.show(&value))))
    }

    fn show(&self, value: &Value) -> String {
        match value {
            Value::Bool(b) => b.to_string(),
            Value::Int(p) => self.facts.show(p),
            Value::DType(s) => s.name().to_owned(),
            Value::Symbol(s) => s.clone(),
            Value::Anchor(_) => "a place".to_owned(),
            Value::Address(_) => "an address".to_owned(),
        }
    }
}

/// An answer that also rests on what its arguments rest on.
fn resting_on(answer: Answer, arguments: &Because) -> Answer {
    match answer {
        Answer::Known { value, because, witness } => {
            Answer::Known { value, because: because.and(arguments), witness }
        }
        unknown => unknown,
    }
}

fn truth(holds: bool, because: Because, witness: impl FnOnce() -> String) -> Answer {
    if holds {
        return Answer::holds(because);
    }
    let at: Vec<(Span, String)> = because.spans.iter().cloned().collect();
    Answer::fails(witness(), at, because)
}

/// Both known and neither decides: true and true of `and`, false and false of `or`.
fn merge(a: Answer, b: Answer) -> Answer {
    match (a, b) {
        (Answer::Known { value, because: x, witness: v }, Answer::Known { because: y, witness: w, .. }) => {
            let witness = match (v, w) {
                (Some(v), Some(w)) => {
                    let at = v.at.into_iter().chain(w.at).collect();
                    Some(Witness { text: format!("{}; {}", v.text, w.text), at })
                }
                (v, w) => v.or(w),
            };
            Answer::Known { value, because: x.and(&y), witness }
        }
        (a, _) => a,
    }
}

fn unary(op: UnaryOp, operand: Answer) -> Answer {
    match (op, operand) {
        (UnaryOp::Not, Answer::Known { value: Value::Bool(b), because, .. }) => {
            truth(!b, because, || "the negated condition holds".into())
        }
        (UnaryOp::Negate, Answer::Known { value: Value::Int(p), because, .. }) => match p.neg() {
            Some(p) => Answer::known(Value::Int(p), because),
            None => Answer::unknown("the value is too large"),
        },
        (_, unknown @ Answer::Unknown { .. }) => unknown,
        _ => Answer::unknown("the operand is of the wrong kind"),
    }
}

fn relation(op: BinaryOp) -> Option<Relation> {
    Some(match op {
        BinaryOp::Eq => Relation::Eq,
        BinaryOp::Ne => Relation::Ne,
        BinaryOp::Lt => Relation::Lt,
        BinaryOp::Le => Relation::Le,
        BinaryOp::Gt => Relation::Gt,
        BinaryOp::Ge => Relation::Ge,
        _ => return None,
    })
}

fn arithmetic(op: BinaryOp, a: &Poly, b: &Poly) -> Option<Poly> {
    match op {
        BinaryOp::Add => a.add(b),
        BinaryOp::Sub => a.sub(b),
        BinaryOp::Mul => a.mul(b),
        BinaryOp::Div => a.div_floor(b.as_constant()?),
        BinaryOp::Rem => a.mod_floor(b.as_constant()?),
        _ => None,
    }
}
