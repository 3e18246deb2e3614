//! Types of the expressions in conditions.

use std::collections::{BTreeMap, BTreeSet};

use super::ast::{Argument, BinaryOp, Expr, ExprKind, Name, UnaryOp};
use super::near::nearest;
use super::vocabulary::{DTYPES, Keywords, POSITIONS, Signature, Surface, ValueType, Vocabulary};
use crate::diag::{Code, Diagnostic};
use crate::source::Span;

/// The names in scope and the mistakes found so far.
pub struct Types<'a> {
    vocabulary: &'a dyn Vocabulary,
    names: BTreeMap<&'a str, (ValueType, Span)>,
    /// Names that were reported as unbound: once is enough.
    unbound: BTreeSet<String>,
    /// Set where a clause that binds names could not be read: then any name may be bound.
    pub lenient: bool,
    pub problems: Vec<Diagnostic>,
}

impl<'a> Types<'a> {
    pub fn new(vocabulary: &'a dyn Vocabulary) -> Types<'a> {
        Types { vocabulary, names: BTreeMap::new(), unbound: BTreeSet::new(), lenient: false, problems: vec![] }
    }

    /// Brings a name into scope; answers where it was bound before, if it was.
    pub fn declare(&mut self, name: &'a Name, ty: ValueType) -> Option<Span> {
        let first = self.names.get(name.node.as_str()).map(|n| n.1);
        if first.is_none() {
            self.names.insert(&name.node, (ty, name.span));
        }
        first
    }

    pub fn lookup(&self, name: &str) -> Option<ValueType> {
        self.names.get(name).map(|n| n.0)
    }

    /// Whether an unbound name is to be reported here: not again, and not where it may be bound.
    pub fn report_unbound(&mut self, name: &str) -> bool {
        !self.lenient && self.unbound.insert(name.to_owned())
    }

    /// Whether a name means anything: bound, or a predicate.
    pub fn knows(&self, name: &str) -> bool {
        self.lookup(name).is_some() || self.vocabulary.signature(name).is_some()
    }

    pub fn signature(&self, name: &str) -> Option<Signature> {
        self.vocabulary.signature(name)
    }

    /// Checks an expression that must be true or false.
    pub fn condition(&mut self, expr: &Expr) {
        let ty = self.of(expr, Some(ValueType::Bool));
        if !fits(ValueType::Bool, ty) {
            self.problems.push(
                Diagnostic::error(Code(126), format!("this is no condition but {}", article(ty)))
                    .at(expr.span, "expected something true or false")
                    .next("compare it with something, e.g. `== 1`"),
            );
        }
    }

    /// The type of an expression; `expected` tells bare words (`memory`, `f16`, `first`) what they are. A mistake is
    /// noted once and yields [`ValueType::Any`].
    pub fn of(&mut self, expr: &Expr, expected: Option<ValueType>) -> ValueType {
        match &expr.kind {
            ExprKind::Int(_) => ValueType::Int,
            ExprKind::Real(_) => ValueType::Real,
            ExprKind::Bytes(_) => ValueType::Bytes,
            ExprKind::Bool(_) => ValueType::Bool,
            ExprKind::Error => ValueType::Any,
            ExprKind::Name(name) => self.name(name, expr.span, expected),
            ExprKind::All(name) => self.word(&format!("all {name}"), expr.span, expected),
            ExprKind::Call { name, arguments } => self.call(name, arguments),
            ExprKind::Unary { op, operand } => {
                let wanted = if *op == UnaryOp::Not { ValueType::Bool } else { ValueType::Int };
                let ty = self.expect(operand, wanted, op.as_str());
                if *op == UnaryOp::Not { ValueType::Bool } else { ty }
            }
            ExprKind::Binary { op, left, right } if op.is_logical() => {
                self.condition(left);
                self.condition(right);
                ValueType::Bool
            }
            ExprKind::Binary { op, left, right } if op.is_comparison() => self.comparison(*op, left, right, expr.span),
            ExprKind::Binary { op, left, right } => {
                let a = self.expect(left, ValueType::Real, op.as_str());
                let b = self.expect(right, ValueType::Real, op.as_str());
                arithmetic(*op, a, b)
            }
            ExprKind::In { value, set } => {
                let ty = self.of(value, None);
                if set.is_empty() {
                    self.problems.push(
                        Diagnostic::error(Code(126), "nothing is in an empty set")
                            .at(expr.span, "never true")
                            .next("list the values, e.g. `in {16, 32}`"),
                    );
                }
                for item in set {
                    self.expect(item, ty, "in");
                }
                ValueType::Bool
            }
        }
    }

    fn known_word(&self, name: &str, expected: Option<ValueType>) -> bool {
        match expected {
            Some(ValueType::Symbol(words)) => words.contains(&name),
            Some(ValueType::DType) => DTYPES.contains(&name),
            _ => false,
        }
    }

    /// Whether a bare name means something without being told what is expected.
    fn resolves(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Name(name) => self.lookup(name).is_some() || self.nullary(name).is_some(),
            ExprKind::All(_) => false,
            _ => true,
        }
    }

    fn nullary(&self, name: &str) -> Option<ValueType> {
        self.vocabulary.signature(name).filter(|s| s.params.is_empty()).map(|s| s.returns)
    }

    fn name(&mut self, name: &str, span: Span, expected: Option<ValueType>) -> ValueType {
        if let Some(ty) = self.lookup(name) {
            return ty;
        }
        if self.known_word(name, expected) || expected == Some(ValueType::Any) {
            return expected.unwrap_or(ValueType::Any);
        }
        if let Some(ty) = self.nullary(name) {
            return ty;
        }
        if !self.report_unbound(name) {
            return ValueType::Any;
        }
        let words: &[&str] = match expected {
            Some(ValueType::Symbol(words)) => words,
            Some(ValueType::DType) => DTYPES,
            _ => &[],
        };
        let own = self.names.keys().copied().chain(words.iter().copied());
        let near = nearest(name, own).or_else(|| nearest(name, self.vocabulary.names()));
        let problem = if let Some(signature) = self.vocabulary.signature(name) {
            Diagnostic::error(Code(122), format!("`{name}` needs arguments"))
                .at(span, form(name, &signature))
                .next("call it")
        } else if words.is_empty() {
            let problem = Diagnostic::error(Code(120), format!("`{name}` is not bound"))
                .at(span, "no anchor, `let`, `tune` or predicate of that name");
            if name.contains('-') { problem.note("put a space behind a minus sign: `a - b`") } else { problem }
        } else {
            Diagnostic::error(Code(120), format!("`{name}` is not known here"))
                .at(span, format!("expected {}", words.join(", ")))
        };
        let problem = match near {
            Some(near) => problem.next(format!("did you mean `{near}`?")),
            None if problem.next.is_some() => problem,
            None => problem.next("bind it in `match` or with `let`, or correct the word"),
        };
        self.problems.push(problem);
        ValueType::Any
    }

    fn word(&mut self, word: &str, span: Span, expected: Option<ValueType>) -> ValueType {
        if self.known_word(word, expected) || expected == Some(ValueType::Any) {
            return expected.unwrap_or(ValueType::Any);
        }
        let expected = expected.map_or("something else".to_owned(), |e| e.to_string());
        self.problems.push(
            Diagnostic::error(Code(123), format!("`{word}` does not fit here"))
                .at(span, format!("expected {expected}"))
                .next("correct the argument"),
        );
        ValueType::Any
    }

    /// Types `expr` and notes it if that does not fit `wanted`.
    fn expect(&mut self, expr: &Expr, wanted: ValueType, place: &str) -> ValueType {
        let ty = self.of(expr, Some(wanted));
        if fits(wanted, ty) {
            return ty;
        }
        self.problems.push(
            Diagnostic::error(Code(123), format!("`{place}` does not take {}", article(ty)))
                .at(expr.span, format!("expected {}", article(wanted)))
                .next("correct the operand or argument"),
        );
        ValueType::Any
    }

    fn comparison(&mut self, op: BinaryOp, left: &Expr, right: &Expr, span: Span) -> ValueType {
        let (a, b) = if self.resolves(left) || !self.resolves(right) {
            let a = self.of(left, None);
            (a, self.of(right, Some(a)))
        } else {
            let b = self.of(right, None);
            (self.of(left, Some(b)), b)
        };
        let ordered = !matches!(op, BinaryOp::Eq | BinaryOp::Ne);
        let numbers = fits(ValueType::Real, a) && fits(ValueType::Real, b);
        if (ordered && !numbers) || !(fits(a, b) || fits(b, a)) {
            self.problems.push(
                Diagnostic::error(Code(123), format!("`{op}` cannot compare {} with {}", article(a), article(b)))
                    .at(span, if ordered { "an order needs numbers" } else { "the two can never be equal" })
                    .next("compare values of one type"),
            );
        }
        ValueType::Bool
    }

    fn call(&mut self, name: &Name, arguments: &[Argument]) -> ValueType {
        let Some(signature) = self.vocabulary.signature(&name.node) else {
            let names = self.vocabulary.names();
            let problem = Diagnostic::error(Code(121), format!("there is no predicate `{}`", name.node))
                .at(name.span, "not registered");
            let problem = match nearest(&name.node, names) {
                Some(near) => problem.next(format!("did you mean `{near}`?")),
                None => problem.next("see `kopt skills predicates` for those that are, or register it"),
            };
            self.problems.push(problem);
            return ValueType::Any;
        };
        let wanted = signature.params.iter().chain(&signature.optional);
        let given: Vec<&Argument> = arguments.iter().filter(|a| a.keyword.is_none()).collect();
        let (low, high) = (signature.params.len(), signature.params.len() + signature.optional.len());
        let whole = arguments.iter().all(|a| a.value.kind != ExprKind::Error);
        if whole && (given.len() < low || given.len() > high) {
            let plural = if high == 1 { "" } else { "s" };
            let count = if low == high { low.to_string() } else { format!("{low} to {high}") };
            self.problems.push(
                Diagnostic::error(
                    Code(122),
                    format!("`{}` takes {count} argument{plural}, not {}", name.node, given.len()),
                )
                .at(name.span, form(&name.node, &signature))
                .note(signature.help)
                .next("correct the arguments"),
            );
        }
        for (argument, wanted) in given.iter().zip(wanted) {
            self.expect(&argument.value, *wanted, &name.node);
        }
        let mut seen: Vec<&str> = vec![];
        for argument in arguments {
            if let Some(keyword) = &argument.keyword {
                if seen.contains(&keyword.node.as_str()) {
                    self.bad_keyword(keyword, &name.node, &signature, "given twice");
                } else {
                    self.keyword(keyword, &argument.value, &name.node, &signature);
                }
                seen.push(&keyword.node);
            }
        }
        signature.returns
    }

    fn keyword(&mut self, keyword: &Name, value: &Expr, predicate: &str, signature: &Signature) {
        match &signature.keywords {
            Keywords::None => self.bad_keyword(keyword, predicate, signature, "takes no keyword arguments"),
            Keywords::Named(list) => match list.iter().find(|(name, _)| *name == keyword.node) {
                Some((_, wanted)) => {
                    self.expect(value, *wanted, predicate);
                }
                None => self.bad_keyword(keyword, predicate, signature, "not one of its keywords"),
            },
            Keywords::LoopPositions => {
                let bound = self.lookup(&keyword.node);
                let is_loop = match bound {
                    Some(ValueType::Anchor(set)) => set.contains(Surface::Loop),
                    _ => self.lenient || bound == Some(ValueType::Any),
                };
                if !is_loop {
                    return self.bad_keyword(keyword, predicate, signature, "not a loop that `match` binds");
                }
                let position = matches!(&value.kind, ExprKind::Name(_)) && !self.resolves(value);
                let wanted = if position { ValueType::Symbol(POSITIONS) } else { ValueType::Int };
                self.expect(value, wanted, predicate);
            }
        }
    }

    fn bad_keyword(&mut self, keyword: &Name, predicate: &str, signature: &Signature, why: &str) {
        let known: Vec<&str> = match &signature.keywords {
            Keywords::Named(list) => list.iter().map(|k| k.0).collect(),
            Keywords::LoopPositions => self.names.keys().copied().collect(),
            Keywords::None => vec![],
        };
        let problem = Diagnostic::error(Code(124), format!("`{predicate}` does not take `{} = ...`", keyword.node))
            .at(keyword.span, why);
        self.problems.push(match nearest(&keyword.node, known) {
            Some(near) => problem.next(format!("did you mean `{near}`?")),
            None => problem.next("remove the argument, or compare with `==`"),
        });
    }
}

/// Whether a value of type `got` may stand where `wanted` is.
pub fn fits(wanted: ValueType, got: ValueType) -> bool {
    use ValueType::*;
    match (wanted, got) {
        (Any, _) | (_, Any) => true,
        (Int | Bytes, Int | Bytes) | (Real, Int | Bytes | Real) => true,
        (Anchor(wanted), Anchor(got)) => Surface::ALL.iter().any(|s| wanted.contains(*s) && got.contains(*s)),
        (Symbol(a), Symbol(b)) => a == b,
        (a, b) => a == b,
    }
}

fn arithmetic(op: BinaryOp, a: ValueType, b: ValueType) -> ValueType {
    use ValueType::*;
    match (op, a, b) {
        (_, Any, _) | (_, _, Any) => Any,
        (_, Real, _) | (_, _, Real) => Real,
        (BinaryOp::Div, _, Bytes) => Int,
        (_, Bytes, _) | (_, _, Bytes) => Bytes,
        _ => Int,
    }
}

fn article(ty: ValueType) -> String {
    let text = ty.to_string();
    match ty {
        ValueType::Symbol(_) => text,
        _ if text.starts_with(['a', 'e', 'i', 'o', 'u']) => format!("an {text}"),
        _ => format!("a {text}"),
    }
}

/// `aligned(address, integer, [one of all rows])`
pub fn form(name: &str, signature: &Signature) -> String {
    let params = signature.params.iter().map(|p| p.to_string());
    let optional = signature.optional.iter().map(|p| format!("[{p}]"));
    let keywords = match &signature.keywords {
        Keywords::None => vec![],
        Keywords::Named(list) => list.iter().map(|(n, t)| format!("[{n} = {t}]")).collect(),
        Keywords::LoopPositions => vec!["[loop = first]".to_owned()],
    };
    format!("{name}({})", params.chain(optional).chain(keywords).collect::<Vec<_>>().join(", "))
}
