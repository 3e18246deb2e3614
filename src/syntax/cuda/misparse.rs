//! Trees that parse without error and are wrong all the same.
//!
//! Three kinds are mended here: a comparison read as a template call, a variable with constructor arguments read as a
//! function declaration, and a reference declared with parentheses read as an assignment. Where mending is not certain
//! the function gets [`FlawKind::SuspectedMisparse`] and is not edited.

use super::declarator::normalise;
use super::lower::{Lower, plain_var};
use super::names::builtin_type;
use super::tree::{field, named};
use crate::ir::*;
use tree_sitter::Node;

/// A change to the masked text that makes the parser see a comparison: `> (` becomes `>=(`. The operator itself is read
/// from the original text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Patch {
    pub at: usize,
    pub with: [u8; 2],
}

impl<'a> Lower<'a> {
    /// `i < n / 4 && j > (m)`, where `i` is a variable, was read as the call of a template `i`.
    pub fn suspect_comparison(&mut self, call: Node<'a>, function: Node<'a>) {
        let close = field(function, "arguments").map(|a| a.end_byte());
        let open = field(call, "arguments").map(|a| a.start_byte());
        let patch = close.zip(open).and_then(|(close, open)| {
            let at = close.checked_sub(1)?;
            match self.input.text.as_bytes().get(at..open)? {
                [b'>', b' ' | b'\t', ..] => Some(Patch { at, with: *b">=" }),
                // Without a blank behind it, one in front of it serves.
                [b'>'] => {
                    let before = at.checked_sub(1)?;
                    matches!(self.input.text.as_bytes().get(before), Some(b' ' | b'\t'))
                        .then_some(Patch { at: before, with: *b">=" })
                }
                _ => None,
            }
        });
        let span = self.span(call);
        self.flaw(FlawKind::SuspectedMisparse, span);
        if let Some(patch) = patch {
            self.patches.push(patch);
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
        if p.kind() != "parameter_declaration" {
            return true;
        }
        let Some(ty) = field(p, "type") else { return true };
        if matches!(ty.kind(), "primitive_type" | "sized_type_specifier" | "placeholder_type_specifier") {
            return true;
        }
        if named(p).iter().any(|n| n.kind() == "type_qualifier") {
            return true;
        }
        let name = normalise(self.text(ty));
        self.lookup(&name).is_none()
            && (builtin_type(&name).is_some() || self.is_template_type(&name) || self.aliases.contains_key(&name))
    }

    /// `x`, `a[i]`, `a * b`, `a & b` as they look when read as parameters.
    pub fn parameter_as_expr(&mut self, p: Node<'a>) -> Option<ExprId> {
        let ty = field(p, "type")?;
        let head = self.type_as_expr(ty)?;
        match field(p, "declarator") {
            None => Some(head),
            Some(d) => self.declarator_as_expr(p, head, d),
        }
    }

    fn type_as_expr(&mut self, ty: Node<'a>) -> Option<ExprId> {
        if !matches!(ty.kind(), "type_identifier" | "qualified_identifier") {
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
            "abstract_array_declarator" => {
                let base = match field(d, "declarator") {
                    Some(inner) => self.declarator_as_expr(p, head, inner)?,
                    None => head,
                };
                let index = self.expr(field(d, "size")?);
                let ty = self.type_of(base).element().cloned().unwrap_or(Type::Unknown);
                Some(self.add_expr(ExprKind::Index { base, index }, ty, span))
            }
            "pointer_declarator" | "reference_declarator" => {
                let inner = named(d).into_iter().next().filter(|n| n.kind() == "identifier")?;
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

    /// `T (&s) = e;` and `int (&r)[4] = e;` look like an assignment to a call of `T`.
    pub fn reference_declaration(&mut self, statement: Node<'a>, assignment: Node<'a>) -> Option<StmtId> {
        let mut at = field(assignment, "left")?;
        let mut sizes = vec![];
        while at.kind() == "subscript_expression" {
            sizes.push(named(field(at, "indices")?).into_iter().next()?);
            at = field(at, "argument")?;
        }
        let function = (at.kind() == "call_expression").then(|| field(at, "function"))??;
        let args = named(field(at, "arguments")?);
        let [argument] = args.as_slice() else { return None };
        let is_reference = argument.kind() == "pointer_expression" && self.operator(*argument) == "&";
        let name = field(*argument, "argument").filter(|n| is_reference && n.kind() == "identifier")?;
        if self.lookup(self.text(name)).is_some() || self.lookup(self.text(function)).is_some() {
            return None;
        }
        let mut ty = self.type_by_name(self.text(function));
        for size in sizes.into_iter() {
            let len = Some(self.expr(size));
            ty = Type::Array { elem: Box::new(ty), len };
        }
        let init = field(assignment, "right").map(|r| self.expr(r));
        let span = self.span(statement);
        let pointee = Pointee { ty, is_const: false, is_volatile: false, restrict: false };
        let mut var = plain_var(self.text(name), VarKind::Local, Type::Reference(Box::new(pointee)), span);
        var.name_span = self.span(name);
        var.init = init;
        let var = self.add_var(var);
        Some(self.add_stmt(StmtKind::Declare { var, init }, span))
    }
}
