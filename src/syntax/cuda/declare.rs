//! Declarations in function bodies and at file scope.

use super::declarator::{Declared, Specifiers};
use super::kind::{Field, Kind};
use super::lower::{Lower, plain_var};
use super::names::value;
use super::tree::{Node, children, field, named};
use crate::ir::*;
use std::sync::Arc;

impl<'a> Lower<'a> {
    /// A declaration statement: one `Declare` per declarator.
    pub fn declaration(&mut self, node: Node<'a>) -> Vec<StmtId> {
        let s = self.specifiers(node);
        let base = field(node, Field::Type).map_or(Type::Unknown, |t| self.base_type(t));
        let mut found = vec![];
        for declarator in children(node).filter(|n| n.field() == Field::Declarator) {
            found.extend(self.declare(node, &s, &base, declarator));
        }
        if found.is_empty() {
            let span = self.span(node);
            found.push(self.add_stmt(StmtKind::Opaque { what: "declaration".into(), children: vec![] }, span));
        }
        found
    }

    fn declare(&mut self, node: Node<'a>, s: &Specifiers, base: &Type, declarator: Node<'a>) -> Vec<StmtId> {
        let span = self.span(node);
        let d = self.declarator(base.clone(), s.is_const, s.is_volatile, Some(declarator));
        if let Some(function) = d.function {
            return vec![self.local_function(node, s, d, function)];
        }
        let binding = find_binding(declarator);
        if let Some(binding) = binding {
            return self.structured_binding(node, declarator, binding);
        }
        let init = field(declarator, Field::Value).map(|v| self.initialiser(v, &d.ty));
        let var = self.local_var(s, &d, init, span);
        vec![self.add_stmt(StmtKind::Declare { var, init }, span)]
    }

    /// `= e`, `(a, b)` and `{a, b}`.
    pub fn initialiser(&mut self, node: Node<'a>, ty: &Type) -> ExprId {
        let constructs = matches!(ty, Type::Named(_) | Type::Vector { .. } | Type::Param(_));
        match node.kind() {
            Kind::ArgumentList => {
                let args = self.exprs(node);
                match args.as_slice() {
                    [one] if !constructs => *one,
                    _ => {
                        let span = self.span(node);
                        self.add_expr(ExprKind::Construct { ty: ty.clone(), args }, ty.clone(), span)
                    }
                }
            }
            _ => self.expr(node),
        }
    }

    fn local_var(
        &mut self,
        s: &Specifiers,
        d: &Declared<'a>,
        init: Option<ExprId>,
        span: crate::source::Span,
    ) -> VarId {
        let name = d.name.map_or("", |n| self.text(n));
        let mut ty = d.ty.clone();
        if let Some(init) = init {
            ty = resolve_auto(ty, &self.type_of(init));
        }
        let kind = if s.shared { VarKind::Shared } else { VarKind::Local };
        let mut var = plain_var(name, kind, ty, span);
        var.name_span = d.name.map_or(span, |n| self.span(n));
        var.is_const = d.is_const || s.is_constexpr;
        var.is_constexpr = s.is_constexpr;
        var.is_volatile = d.is_volatile;
        var.is_static = s.is_static;
        var.is_extern = s.is_extern;
        var.alignment = s.alignment;
        var.init = init;
        self.add_var(var)
    }

    fn structured_binding(&mut self, node: Node<'a>, declarator: Node<'a>, binding: Node<'a>) -> Vec<StmtId> {
        let span = self.span(node);
        let init = field(declarator, Field::Value).map(|v| self.expr(v));
        let mut found = vec![];
        for name in named(binding).filter(|n| n.kind() == Kind::Identifier) {
            let var = plain_var(self.text(name), VarKind::Local, Type::Unknown, self.span(name));
            let var = self.add_var(var);
            // Only the first name carries the initialiser, so that its effects are counted once.
            let init = if found.is_empty() { init } else { None };
            found.push(self.add_stmt(StmtKind::Declare { var, init }, span));
        }
        found
    }

    /// A function declarator in a body: nearly always `half2 h(x, y);`, a variable with constructor arguments.
    fn local_function(&mut self, node: Node<'a>, s: &Specifiers, d: Declared<'a>, function: Node<'a>) -> StmtId {
        let span = self.span(node);
        let params = field(function, Field::Parameters).map(named).unwrap_or_default();
        let any = params.clone().next().is_some();
        let is_prototype = d.ty == Type::Void || !any || params.clone().any(|p| self.is_real_parameter(p));
        if is_prototype {
            return self.add_stmt(StmtKind::Opaque { what: "function declaration".into(), children: vec![] }, span);
        }
        let mut args = vec![];
        let mut certain = true;
        for p in params {
            match self.parameter_as_expr(p) {
                Some(e) => args.push(e),
                None => {
                    certain = false;
                    args.push(self.opaque("constructor argument", p, vec![]));
                }
            }
        }
        if !certain {
            self.flaw(FlawKind::SuspectedMisparse, span);
        }
        let list = field(function, Field::Parameters).map_or(span, |p| self.span(p));
        let init = match args.as_slice() {
            [one] if matches!(d.ty, Type::Scalar(_) | Type::Pointer(_)) => *one,
            _ => self.add_expr(ExprKind::Construct { ty: d.ty.clone(), args }, d.ty.clone(), list),
        };
        let var = self.local_var(s, &d, Some(init), span);
        self.add_stmt(StmtKind::Declare { var, init: Some(init) }, span)
    }

    /// Brings a variable of file scope into view of the open function.
    pub fn memory_var(&mut self, declaration: Node<'a>, declarator: Node<'a>) -> Option<Var> {
        let s = self.specifiers(declaration);
        let base = field(declaration, Field::Type).map_or(Type::Unknown, |t| self.base_type(t));
        let d = self.declarator(base, s.is_const, s.is_volatile, Some(declarator));
        let name = d.name?;
        let kind = if s.shared {
            VarKind::Shared
        } else if s.constant {
            VarKind::Constant
        } else {
            VarKind::Global
        };
        let mut var = plain_var(self.text(name), kind, d.ty, self.span(declaration));
        var.name_span = self.span(name);
        var.is_const = d.is_const;
        var.is_volatile = d.is_volatile;
        var.is_static = s.is_static;
        var.is_extern = s.is_extern;
        var.alignment = s.alignment;
        Some(var)
    }

    pub fn local_alias(&mut self, node: Node<'a>) {
        for (name, ty) in self.alias_of(node) {
            self.frame().local_aliases.insert(name, ty);
        }
    }

    /// The names that a `typedef` or `using` declares.
    pub fn alias_of(&mut self, node: Node<'a>) -> Vec<(String, Type)> {
        if node.kind() == Kind::AliasDeclaration {
            let ty = field(node, Field::Type).map_or(Type::Unknown, |t| self.type_descriptor(t));
            let name = field(node, Field::Name).map(|n| self.text(n).to_owned());
            return name.map(|n| (n, ty)).into_iter().collect();
        }
        let s = self.specifiers(node);
        let base = field(node, Field::Type).map_or(Type::Unknown, |t| self.base_type(t));
        let mut found = vec![];
        for declarator in children(node).filter(|n| n.field() == Field::Declarator) {
            let d = self.declarator(base.clone(), s.is_const, s.is_volatile, Some(declarator));
            if let Some(name) = d.name
                && d.function.is_none()
            {
                found.push((self.text(name).to_owned(), d.ty));
            }
        }
        found
    }
}

fn find_binding(declarator: Node) -> Option<Node> {
    let mut at = declarator;
    for _ in 0..8 {
        if at.kind() == Kind::StructuredBindingDeclarator {
            return Some(at);
        }
        at = match at.kind() {
            Kind::InitDeclarator => field(at, Field::Declarator)?,
            Kind::ReferenceDeclarator => named(at).next()?,
            _ => return None,
        };
    }
    None
}

/// `auto`, `auto*` and `auto&` from the initialiser.
fn resolve_auto(declared: Type, init: &Type) -> Type {
    let from = value(init).clone();
    match declared {
        Type::Auto => match from {
            Type::Array { elem, .. } => Type::pointer_to(*elem),
            Type::Unknown => Type::Auto,
            other => other,
        },
        Type::Pointer(p) if p.ty == Type::Auto => match from.element() {
            Some(e) => Type::Pointer(Arc::new(Pointee { ty: e.clone(), ..*p })),
            None => Type::Pointer(p),
        },
        Type::Reference(p) if p.ty == Type::Auto && from != Type::Unknown => {
            Type::Reference(Arc::new(Pointee { ty: from, ..*p }))
        }
        other => other,
    }
}
