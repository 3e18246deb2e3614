//! Trees that parse without error and are wrong all the same.
//!
//! Three kinds are mended here: a comparison read as a template call, a variable with constructor arguments read as a
//! function declaration, and a reference declared with parentheses read as an assignment. Where mending is not certain
//! the function gets [`FlawKind::SuspectedMisparse`] and is not edited.

use super::declarator::normalise;
use super::kind::{Field, Kind};
use super::lower::{Lower, plain_var};
use super::names::builtin_type;
use super::tree::{Node, field, named, only};
use crate::ir::*;
use std::sync::Arc;

/// A change to the masked text that makes the parser see a comparison: the `>` (or `>>`) that was taken for the end of
/// template arguments becomes `<` (or `<<`), which binds alike. The operator itself is read from the original text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Patch {
    pub at: usize,
    pub len: usize,
}

impl<'a> Lower<'a> {
    /// `i < n / 4 && j > (m)` and `i < n >> 3`, where `i` is a variable, were read with a template `i`.
    pub fn suspect_comparison(&mut self, template: Node<'a>) {
        let span = self.span(template);
        self.flaw(FlawKind::SuspectedMisparse, span);
        let Some(end) = field(template, Field::Arguments).map(|a| a.end_byte()) else { return };
        let bytes = self.input.text.as_bytes();
        if let Some(at) = end.checked_sub(1).filter(|at| bytes.get(*at) == Some(&b'>')) {
            let len = if bytes.get(end) == Some(&b'>') { 2 } else { 1 };
            self.patches.push(Patch { at, len });
        }
    }

    /// `f<(A || B)>(x)` may be read as `(f < (A || B)) > x`. Nobody compares the result of a comparison.
    pub fn suspect_template(&mut self, comparison: Node<'a>) {
        let left = field(comparison, Field::Left).filter(|l| l.kind() == Kind::BinaryExpression);
        if left.is_some_and(|l| self.operator(l) == "<") {
            let span = self.span(comparison);
            self.flaw(FlawKind::SuspectedMisparse, span);
        }
    }

    /// A `for` condition that is a call with template arguments is a comparison in disguise.
    pub fn check_for_condition(&mut self, condition: ExprId) {
        let function = self.function();
        let Some(e) = function.exprs.get(condition.0 as usize) else { return };
        if matches!(&e.kind, ExprKind::Call { template_args, .. } if !template_args.is_empty()) {
            let span = e.span;
            self.flaw(FlawKind::SuspectedMisparse, span);
        }
    }

    /// Whether a parameter of a local function declarator can only be a parameter.
    pub fn is_real_parameter(&mut self, p: Node<'a>) -> bool {
        if p.kind() != Kind::ParameterDeclaration {
            return true;
        }
        let Some(ty) = field(p, Field::Type) else { return true };
        if matches!(ty.kind(), Kind::PrimitiveType | Kind::SizedTypeSpecifier | Kind::PlaceholderTypeSpecifier) {
            return true;
        }
        if named(p).any(|n| n.kind() == Kind::TypeQualifier) {
            return true;
        }
        let name = normalise(self.text(ty));
        self.lookup(&name).is_none()
            && (builtin_type(&name).is_some() || self.is_template_type(&name) || self.aliases.contains_key(&name))
    }

    /// `x`, `a[i]`, `a * b`, `a & b` as they look when read as parameters.
    pub fn parameter_as_expr(&mut self, p: Node<'a>) -> Option<ExprId> {
        let ty = field(p, Field::Type)?;
        let head = self.type_as_expr(ty)?;
        match field(p, Field::Declarator) {
            None => Some(head),
            Some(d) => self.declarator_as_expr(p, head, d),
        }
    }

    fn type_as_expr(&mut self, ty: Node<'a>) -> Option<ExprId> {
        if !matches!(ty.kind(), Kind::TypeIdentifier | Kind::QualifiedIdentifier) {
            return None;
        }
        let span = self.span(ty);
        let name = normalise(self.text(ty));
        Some(match self.lookup(&name) {
            Some(var) => {
                let ty = self.function().vars.get(var.0 as usize).map_or(Type::Unknown, |v| v.ty.clone());
                self.add_expr(ExprKind::Var(var), ty, span)
            }
            None => self.add_expr(ExprKind::Name(name), Type::Unknown, span),
        })
    }

    fn declarator_as_expr(&mut self, p: Node<'a>, head: ExprId, d: Node<'a>) -> Option<ExprId> {
        let span = self.span(p);
        let head_ty = self.type_of(head);
        match d.kind() {
            Kind::AbstractArrayDeclarator => {
                let base = match field(d, Field::Declarator) {
                    Some(inner) => self.declarator_as_expr(p, head, inner)?,
                    None => head,
                };
                let index = self.expr(field(d, Field::Size)?);
                let ty = self.type_of(base).element().cloned().unwrap_or(Type::Unknown);
                Some(self.add_expr(ExprKind::Index { base, index }, ty, span))
            }
            Kind::PointerDeclarator | Kind::ReferenceDeclarator => {
                let inner = named(d).next().filter(|n| n.kind() == Kind::Identifier)?;
                let right = self.expr(inner);
                let op = match self.text(d).get(..2)? {
                    "&&" => BinaryOp::And,
                    t if t.starts_with('&') => BinaryOp::BitAnd,
                    _ => BinaryOp::Mul,
                };
                let ty = super::expr::binary_type(op, &head_ty, &self.type_of(right));
                Some(self.add_expr(ExprKind::Binary { op, left: head, right }, ty, span))
            }
            _ => None,
        }
    }

    /// `cg::tile<32> t = f(b);`, with a number as the last template argument, may be read as `(cg::tile < 32) > (t = f(b))`.
    /// As a statement of its own that can only be a declaration, if `cg::tile` is no variable and `t` is new.
    pub fn template_declaration(&mut self, statement: Node<'a>, expression: Node<'a>) -> Option<StmtId> {
        let is = |l: &Self, n: Node<'a>, op: &str| n.kind() == Kind::BinaryExpression && l.operator(n) == op;
        // Of several arguments, the first follows `<` and the last stands before `>`.
        let (mut first, mut last) = (expression, expression);
        while first.kind() == Kind::CommaExpression {
            first = field(first, Field::Left)?;
        }
        while last.kind() == Kind::CommaExpression {
            last = field(last, Field::Right)?;
        }
        if !is(self, last, ">") {
            return None;
        }
        let opening = if first == last { field(last, Field::Left)? } else { first };
        let head = field(opening, Field::Left).filter(|_| is(self, opening, "<"))?;
        if !matches!(head.kind(), Kind::Identifier | Kind::QualifiedIdentifier)
            || self.lookup(self.text(head)).is_some()
        {
            return None;
        }
        let declared = field(last, Field::Right)?;
        let (name, value) = match declared.kind() {
            Kind::Identifier => (declared, None),
            Kind::AssignmentExpression if self.operator(declared) == "=" => {
                (field(declared, Field::Left)?, field(declared, Field::Right))
            }
            Kind::CallExpression => (field(declared, Field::Function)?, field(declared, Field::Arguments)),
            _ => return None,
        };
        if name.kind() != Kind::Identifier || self.lookup(self.text(name)).is_some() {
            return None;
        }
        let close = field(last, Field::Operator)?;
        let written = self.input.original.get(head.start_byte()..close.end_byte())?;
        let ty = self.type_by_name(written);
        let span = self.span(statement);
        let init = value.map(|v| self.initialiser(v, &ty));
        let mut var = plain_var(self.text(name), VarKind::Local, ty, span);
        var.name_span = self.span(name);
        var.init = init;
        let var = self.add_var(var);
        Some(self.add_stmt(StmtKind::Declare { var, init }, span))
    }

    /// `T (&s) = e;`, `int (&r)[4] = e;` and `float (*p)[8];` look like a call of the type, or an assignment to one.
    pub fn parenthesized_declaration(&mut self, statement: Node<'a>, expression: Node<'a>) -> Option<StmtId> {
        let assigned = expression.kind() == Kind::AssignmentExpression;
        let mut at = if assigned { field(expression, Field::Left)? } else { expression };
        let mut sizes = vec![];
        while at.kind() == Kind::SubscriptExpression {
            sizes.push(named(field(at, Field::Indices)?).next()?);
            at = field(at, Field::Argument)?;
        }
        let function = (at.kind() == Kind::CallExpression).then(|| field(at, Field::Function))??;
        let argument = only(field(at, Field::Arguments)?)?;
        if argument.kind() != Kind::PointerExpression {
            return None;
        }
        let is_reference = self.operator(argument) == "&";
        let name = field(argument, Field::Argument).filter(|n| n.kind() == Kind::Identifier)?;
        if self.lookup(self.text(name)).is_some() || self.lookup(self.text(function)).is_some() {
            return None;
        }
        let mut ty = self.type_by_name(self.text(function));
        // A call `f(&x)` of a function is no declaration; a type that is only a name must show itself by `&` and `=`.
        if matches!(ty, Type::Named(_)) && !(is_reference && assigned) {
            return None;
        }
        for size in sizes.into_iter() {
            let len = Some(self.expr(size));
            ty = Type::Array { elem: Box::new(ty), len };
        }
        let init = field(expression, Field::Right).filter(|_| assigned).map(|r| self.expr(r));
        let span = self.span(statement);
        let pointee = Pointee { ty, is_const: false, is_volatile: false, restrict: false };
        let pointee = Arc::new(pointee);
        let ty = if is_reference { Type::Reference(pointee) } else { Type::Pointer(pointee) };
        let mut var = plain_var(self.text(name), VarKind::Local, ty, span);
        var.name_span = self.span(name);
        var.init = init;
        let var = self.add_var(var);
        Some(self.add_stmt(StmtKind::Declare { var, init }, span))
    }
}
