//! Evaluates the expressions of a skill over the facts of one function.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use super::site::Bound;
use crate::facts::{Analysis, Because, Facts};
use crate::ir::{AccessId, Anchor, Place};
use crate::predicate::{
    Answer, Guard, GuardCode, Number, Query, Relation, Value, Witness, compare, everywhere, registry,
};
use crate::skill::ast::{Argument, BinaryOp, Expr, ExprKind, Skill, UnaryOp};

/// The names that a condition can see in one context.
struct Scope<'q> {
    anchors: BTreeMap<&'q str, Anchor>,
    /// `let`s and tunables.
    values: BTreeMap<&'q str, Answer>,
    /// The accesses of the group, which the body rewrites together.
    together: Vec<AccessId>,
    /// As in [`Query::brief`].
    brief: bool,
}

/// Asks about one function, of a skill with its bindings. Of a group, `member` stands for its name.
pub struct Evaluator<'e, 'a> {
    pub analysis: &'e Analysis<'a>,
}

/// What a question is asked about.
#[derive(Clone, Copy)]
pub struct About<'q> {
    pub skill: &'q Skill,
    pub bindings: &'q BTreeMap<String, Bound>,
    pub member: Option<(&'q str, Anchor)>,
}

/// The questions about one thing: what its names mean is found out once for each context.
pub struct Asking<'q, 'a> {
    pub about: About<'q>,
    analysis: &'q Analysis<'a>,
    scopes: Vec<OnceCell<Scope<'q>>>,
}

impl<'a> Evaluator<'_, 'a> {
    pub fn about<'q>(&'q self, about: About<'q>) -> Asking<'q, 'a> {
        let scopes = (0..=self.analysis.count_visible()).map(|_| OnceCell::new()).collect();
        Asking { about, analysis: self.analysis, scopes }
    }
}

impl<'q> Asking<'q, '_> {
    /// The answer that holds for every launch, or that all launches in view agree on.
    pub fn ask(&self, expr: &Expr) -> Answer {
        everywhere(self.analysis, |n, facts| match self.scope(n, facts) {
            Some(scope) => value(facts, expr, scope),
            None => Answer::unknown("no such launch"),
        })
    }

    fn scope(&self, n: usize, facts: &Facts) -> Option<&Scope<'q>> {
        Some(self.scopes.get(n)?.get_or_init(|| scope(facts, self.about, n > 0)))
    }

    /// What a tunable or a `let` is everywhere.
    pub fn named(&self, name: &str) -> Answer {
        everywhere(self.analysis, |n, facts| {
            let found = self.scope(n, facts).and_then(|s| s.values.get(name)).cloned();
            found.unwrap_or_else(|| Answer::unknown("no such value"))
        })
    }

    /// The values of tunables and `let`s that are known.
    pub fn values(&self) -> BTreeMap<String, Value> {
        let mut known = BTreeMap::new();
        let skill = self.about.skill;
        let names = skill.tunes.iter().map(|t| &t.name.node).chain(skill.lets.iter().map(|l| &l.name.node));
        for name in names {
            let answer = self.named(name);
            if let Answer::Known { value, .. } = answer {
                known.insert(name.clone(), value);
            }
        }
        known
    }

    /// The run-time test for a condition.
    ///
    /// # Errors
    /// Why it cannot be tested.
    pub fn guard(&self, test: &Expr) -> Result<GuardCode, String> {
        let facts = &self.analysis.general;
        code(facts, test, self.scope(0, facts).ok_or("no such launch")?)
    }
}

/// Whether the remainder of an iteration space can serve a condition of this form.
pub fn has_tail(test: &Expr) -> bool {
    matches!(&test.kind, ExprKind::Call { name, .. }
        if registry().get(&name.node).is_some_and(|p| matches!(p.guard, Guard::Tail)))
}

/// Bindings, tunables at their defaults, then the `let`s in order.
fn scope<'q>(facts: &Facts, about: About<'q>, brief: bool) -> Scope<'q> {
    let mut anchors: BTreeMap<&str, Anchor> = BTreeMap::new();
    for (name, bound) in about.bindings {
        if let Bound::One(anchor) = bound {
            anchors.insert(name, *anchor);
        }
    }
    anchors.extend(about.member);
    let tuned = about.skill.tunes.iter().filter_map(|t| {
        let default = t.values.first()?.node;
        Some((t.name.node.as_str(), Answer::int(default.into(), Because::nothing())))
    });
    let together = about.bindings.values().filter(|b| matches!(b, Bound::Each(_))).flat_map(Bound::anchors);
    let together = together.filter_map(|a| if let Place::Access(id) = a.place { Some(id) } else { None }).collect();
    let mut scope = Scope { anchors, values: tuned.collect(), together, brief };
    for definition in &about.skill.lets {
        let answer = value(facts, &definition.value, &scope);
        scope.values.insert(&definition.name.node, answer);
    }
    scope
}

fn value(facts: &Facts, expr: &Expr, scope: &Scope) -> Answer {
    let known = |value| Answer::known(value, Because::nothing());
    match &expr.kind {
        ExprKind::Int(n) => known(Value::int((*n).into())),
        ExprKind::Bytes(n) => known(Value::int((*n).into())),
        ExprKind::Bool(b) => known(Value::Bool(*b)),
        ExprKind::Real(text) => text.parse().map_or_else(|_| Answer::unknown("no number"), |r| known(Value::Real(r))),
        ExprKind::All(text) => known(Value::Symbol(text.clone())),
        ExprKind::Name(name) => named(facts, name, scope),
        ExprKind::Call { name, arguments } => call(facts, &name.node, arguments, scope),
        ExprKind::Unary { op, operand } => unary(*op, value(facts, operand, scope)),
        ExprKind::Binary { op, left, right } if op.is_logical() => {
            logical(*op, value(facts, left, scope), value(facts, right, scope))
        }
        ExprKind::Binary { op, left, right } => match (value(facts, left, scope), value(facts, right, scope)) {
            (Answer::Known { value: a, because: x, .. }, Answer::Known { value: b, because: y, .. }) => {
                resting_on(binary(facts, *op, &a, &b), &x.and(&y))
            }
            (unknown @ Answer::Unknown { .. }, _) | (_, unknown) => unknown,
        },
        ExprKind::In { value: of, set } => member(facts, of, set, scope),
        ExprKind::Error => Answer::unknown("the condition did not parse"),
    }
}

/// A binding, a `let`, a predicate without arguments, or a word.
fn named(facts: &Facts, name: &str, scope: &Scope) -> Answer {
    if let Some(answer) = scope.values.get(name) {
        return answer.clone();
    }
    if let Some(anchor) = scope.anchors.get(name) {
        return Answer::known(Value::Anchor(*anchor), Because::nothing());
    }
    if registry().get(name).is_some_and(|p| p.signature.params.is_empty()) {
        return call(facts, name, &[], scope);
    }
    let dtype = crate::ir::Scalar::from_name(name).map(Value::DType);
    Answer::known(dtype.unwrap_or_else(|| Value::Symbol(name.to_owned())), Because::nothing())
}

fn call(facts: &Facts, name: &str, arguments: &[Argument], scope: &Scope) -> Answer {
    match evaluate(facts, arguments, scope) {
        Ok(Evaluated { args, keywords, because }) => {
            let query =
                Query { facts, args: &args, keywords: &keywords, together: &scope.together, brief: scope.brief };
            resting_on(registry().eval(name, &query), &because)
        }
        Err(unknown) => unknown,
    }
}

struct Evaluated {
    args: Vec<Value>,
    keywords: Vec<(Value, Value)>,
    /// What the arguments' values rest on.
    because: Because,
}

fn evaluate(facts: &Facts, arguments: &[Argument], scope: &Scope) -> Result<Evaluated, Answer> {
    let mut found = Evaluated { args: vec![], keywords: vec![], because: Because::nothing() };
    for argument in arguments {
        let given = match value(facts, &argument.value, scope) {
            Answer::Known { value, because, .. } => {
                found.because.join(&because);
                value
            }
            unknown => return Err(unknown),
        };
        match &argument.keyword {
            Some(keyword) => {
                let anchor = scope.anchors.get(keyword.node.as_str()).map(|a| Value::Anchor(*a));
                found.keywords.push((anchor.unwrap_or_else(|| Value::Symbol(keyword.node.clone())), given));
            }
            None => found.args.push(given),
        }
    }
    Ok(found)
}

fn logical(op: BinaryOp, a: Answer, b: Answer) -> Answer {
    let decisive = op == BinaryOp::Or;
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

fn binary(facts: &Facts, op: BinaryOp, a: &Value, b: &Value) -> Answer {
    if let Some(relation) = relation(op) {
        return shown(compare(facts, a, relation, b), facts, a);
    }
    match (a, b) {
        (Value::Int(x), Value::Int(y)) => arithmetic(op, x, y).map_or_else(
            || Answer::unknown("the value is too large or not exact"),
            |number| Answer::known(Value::Int(number), Because::nothing()),
        ),
        _ => Answer::unknown("only integers can be computed with"),
    }
}

/// A comparison that fails names the value that it found.
fn shown(answer: Answer, facts: &Facts, value: &Value) -> Answer {
    match answer {
        Answer::Known { value: Value::Bool(false), because, witness: None } => {
            let at = because.places();
            Answer::no(because, format!("it is {}", show(facts, value)), at)
        }
        other => other,
    }
}

fn arithmetic(op: BinaryOp, x: &Number, y: &Number) -> Option<Number> {
    if x.clamped || y.clamped {
        return None;
    }
    let poly = match op {
        BinaryOp::Add => x.poly.add(&y.poly)?,
        BinaryOp::Sub => x.poly.sub(&y.poly)?,
        BinaryOp::Mul => x.poly.mul(&y.poly)?,
        BinaryOp::Div => x.poly.div_floor(y.poly.as_constant()?)?,
        BinaryOp::Rem => x.poly.mod_floor(y.poly.as_constant()?)?,
        _ => return None,
    };
    let known = x.known.clone().or_else(|| y.known.clone());
    Some(Number { poly, clamped: false, known, because: x.because.clone().and(&y.because) })
}

fn member(facts: &Facts, of: &Expr, set: &[Expr], scope: &Scope) -> Answer {
    let (found, because) = match value(facts, of, scope) {
        Answer::Known { value, because, .. } => (value, because),
        unknown => return unknown,
    };
    let mut reasons = because;
    let mut undecided = None;
    for item in set {
        let item = match value(facts, item, scope) {
            Answer::Known { value, because, .. } => {
                reasons.join(&because);
                value
            }
            unknown => return unknown,
        };
        match compare(facts, &found, Relation::Eq, &item) {
            hit @ Answer::Known { value: Value::Bool(true), .. } => return resting_on(hit, &reasons),
            Answer::Known { .. } => {}
            unknown => undecided = undecided.or(Some(unknown)),
        }
    }
    undecided.unwrap_or_else(|| {
        let at = reasons.places();
        Answer::no(reasons, format!("it is {}", show(facts, &found)), at)
    })
}

fn show(facts: &Facts, value: &Value) -> String {
    match value {
        Value::Bool(b) => b.to_string(),
        Value::Int(n) => format!("`{}`", facts.render(&n.poly)),
        Value::Real(r) => r.to_string(),
        Value::DType(s) => s.name().to_owned(),
        Value::Symbol(s) => s.clone(),
        Value::Set(_) => "a set".to_owned(),
        Value::Anchor(_) => "a place".to_owned(),
        Value::Address(_) => "an address".to_owned(),
    }
}

/// The C++ of a condition: calls of predicates that have one, numbers, arithmetic, comparisons and conjunctions.
fn code(facts: &Facts, expr: &Expr, scope: &Scope) -> Result<GuardCode, String> {
    let plain = |text: String| Ok(GuardCode { text, names: vec![], builtins: vec![] });
    match &expr.kind {
        ExprKind::Int(n) => plain(n.to_string()),
        ExprKind::Bytes(n) => plain(n.to_string()),
        ExprKind::Name(name) if !scope.values.contains_key(name.as_str()) => emit(facts, name, &[], scope),
        ExprKind::Call { name, arguments } => emit(facts, &name.node, arguments, scope),
        ExprKind::Binary { op, left, right } => {
            let (a, b) = (code(facts, left, scope)?, code(facts, right, scope)?);
            let sign = match op {
                BinaryOp::And => "&&",
                BinaryOp::Or => return Err("an alternative is not tested at run time".into()),
                other => other.as_str(),
            };
            let text = format!("{} {sign} {}", wrapped(&a, op), wrapped(&b, op));
            let names = a.names.into_iter().chain(b.names).collect();
            let builtins = a.builtins.into_iter().chain(b.builtins).collect();
            Ok(GuardCode { text, names, builtins })
        }
        _ => match value(facts, expr, scope) {
            Answer::Known { value: Value::Int(n), .. } => match n.poly.as_constant() {
                Some(c) => plain(c.to_string()),
                None => Err("a part of it is no constant".into()),
            },
            _ => Err("a part of it cannot be written in C++".into()),
        },
    }
}

fn wrapped(code: &GuardCode, op: &BinaryOp) -> String {
    let compound = code.text.contains(' ') && *op != BinaryOp::And && !is_product(&code.text, *op);
    if compound { format!("({})", code.text) } else { code.text.clone() }
}

/// `a * b` and `a % b` bind more tightly than a comparison and need no brackets in one.
fn is_product(text: &str, op: BinaryOp) -> bool {
    op.is_comparison() && !text.contains(['=', '<', '>', '&', '|', '?'])
}

fn emit(facts: &Facts, name: &str, arguments: &[Argument], scope: &Scope) -> Result<GuardCode, String> {
    let predicate = registry().get(name).ok_or_else(|| format!("`{name}` is no predicate"))?;
    let Guard::Code(emit) = predicate.guard else { return Err(format!("`{name}` has no run-time test")) };
    match evaluate(facts, arguments, scope) {
        Ok(Evaluated { args, keywords, .. }) => {
            let together = &scope.together;
            emit(&Query { facts, args: &args, keywords: &keywords, together, brief: scope.brief })
        }
        Err(Answer::Unknown { reason, .. }) => Err(reason),
        Err(Answer::Known { .. }) => Err("an argument has no value".into()),
    }
}

/// An answer that also rests on what its arguments rest on.
fn resting_on(answer: Answer, arguments: &Because) -> Answer {
    match answer {
        Answer::Known { value, because, witness } => Answer::Known { value, because: because.and(arguments), witness },
        unknown => unknown,
    }
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
        (UnaryOp::Not, Answer::Known { value: Value::Bool(false), because, .. }) => Answer::yes(because),
        (UnaryOp::Not, Answer::Known { value: Value::Bool(true), because, .. }) => {
            let at = because.places();
            Answer::no(because, "the negated condition holds", at)
        }
        (UnaryOp::Negate, Answer::Known { value: Value::Int(n), because, .. }) if !n.clamped => match n.poly.neg() {
            Some(poly) => Answer::known(Value::Int(Number { poly, ..n }), because),
            None => Answer::unknown("the value is too large"),
        },
        (UnaryOp::Negate, Answer::Known { value: Value::Real(r), because, .. }) => {
            Answer::known(Value::Real(-r), because)
        }
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
