//! Expressions. The span of a parenthesised expression includes its parentheses, so that its text can be copied.

use super::kind::{Field, Kind};
use super::literal;
use super::lower::{Lower, MAX_DEPTH};
use super::names::{arithmetic, member, promoted, value};
use super::tree::{Node, field, named, only};
use crate::ir::*;

impl<'a> Lower<'a> {
    pub fn expr(&mut self, node: Node<'a>) -> ExprId {
        if self.depth >= MAX_DEPTH {
            let span = self.span(node);
            self.flaw(FlawKind::TooDeep, span);
            return self.opaque("nested too deep", node, vec![]);
        }
        self.depth += 1;
        let id = self.expr_inner(node);
        self.depth -= 1;
        id
    }

    pub fn opaque(&mut self, what: &str, node: Node<'a>, children: Vec<ExprId>) -> ExprId {
        let span = self.span(node);
        self.add_expr(ExprKind::Opaque { what: what.to_owned(), children }, Type::Unknown, span)
    }

    fn expr_inner(&mut self, node: Node<'a>) -> ExprId {
        let span = self.span(node);
        match node.kind() {
            Kind::NumberLiteral => {
                let (kind, ty) = literal::number(self.text(node));
                self.add_expr(kind, ty, span)
            }
            Kind::CharLiteral => match literal::character(self.text(node)) {
                Some(v) => self.add_expr(ExprKind::Int(v), Type::Scalar(Scalar::I8), span),
                None => self.opaque("character literal", node, vec![]),
            },
            Kind::StringLiteral | Kind::RawStringLiteral | Kind::ConcatenatedString => {
                let text = self.input.original.get(node.byte_range()).unwrap_or("").to_owned();
                self.add_expr(ExprKind::Str(text), Type::Unknown, span)
            }
            Kind::True => self.add_expr(ExprKind::Bool(true), Type::Scalar(Scalar::Bool), span),
            Kind::False => self.add_expr(ExprKind::Bool(false), Type::Scalar(Scalar::Bool), span),
            Kind::Null | Kind::Nullptr => self.add_expr(ExprKind::Null, Type::Unknown, span),
            Kind::This => self.add_expr(ExprKind::This, Type::Unknown, span),
            Kind::Identifier
            | Kind::QualifiedIdentifier
            | Kind::FieldIdentifier
            | Kind::TypeIdentifier
            | Kind::TemplateFunction => self.name_expr(node),
            Kind::ParenthesizedExpression => self.parenthesized(node),
            Kind::UnaryExpression => self.unary(node),
            Kind::PointerExpression => self.pointer(node),
            Kind::BinaryExpression => self.binary(node),
            Kind::AssignmentExpression => self.assignment(node),
            Kind::UpdateExpression => self.update(node),
            Kind::SubscriptExpression => self.subscript(node),
            Kind::FieldExpression => self.field_access(node),
            Kind::CallExpression => self.call(node),
            Kind::CastExpression => self.c_cast(node),
            Kind::ConditionalExpression => self.conditional(node),
            Kind::CommaExpression => self.comma(node),
            Kind::InitializerList | Kind::ArgumentList => {
                let items = self.exprs(node);
                self.add_expr(ExprKind::InitList(items), Type::Unknown, span)
            }
            Kind::InitializerPair => {
                let value = field(node, Field::Value).map(|v| self.expr(v));
                self.opaque("designated initialiser", node, value.into_iter().collect())
            }
            Kind::CompoundLiteralExpression => self.compound_literal(node),
            Kind::SizeofExpression => self.size_of(node),
            Kind::LambdaExpression => self.lambda(node),
            Kind::UserDefinedLiteral => self.opaque("user-defined literal", node, vec![]),
            Kind::TypeDescriptor | Kind::PrimitiveType | Kind::SizedTypeSpecifier => self.opaque("type", node, vec![]),
            Kind::GnuAsmExpression => self.opaque("asm in an expression", node, vec![]),
            _ => {
                let what = node.name().replace('_', " ");
                let children = named(node).map(|n| self.expr(n)).collect();
                self.opaque(&what, node, children)
            }
        }
    }

    /// Named children as expressions.
    pub fn exprs(&mut self, list: Node<'a>) -> Vec<ExprId> {
        named(list).map(|n| self.expr(n)).collect()
    }

    fn operand(&mut self, node: Node<'a>, name: Field) -> ExprId {
        match field(node, name) {
            Some(n) => self.expr(n),
            None => self.opaque("missing operand", node, vec![]),
        }
    }

    /// The operator as the user wrote it: the mask may have changed how the parser saw it.
    pub fn operator(&self, node: Node<'a>) -> &'a str {
        field(node, Field::Operator).map_or("", |o| {
            let written = self.input.original.get(o.byte_range()).unwrap_or("").trim();
            if written.is_empty() { o.name() } else { written }
        })
    }

    fn name_expr(&mut self, node: Node<'a>) -> ExprId {
        let span = self.span(node);
        let text = self.text(node);
        if node.kind() == Kind::Identifier {
            if text == "warpSize" {
                return self.add_expr(ExprKind::Builtin(Builtin::WarpSize), Type::Scalar(Scalar::I32), span);
            }
            if let Some(var) = self.lookup(text) {
                let ty = self.function().vars.get(var.0 as usize).map_or(Type::Unknown, |v| v.ty.clone());
                return self.add_expr(ExprKind::Var(var), ty, span);
            }
        }
        if let Some(head) = field(node, Field::Name).filter(|_| node.kind() == Kind::TemplateFunction)
            && self.lookup(self.text(head)).is_some()
        {
            self.suspect_comparison(node);
        }
        let name = super::declarator::normalise(text);
        let ty = self.name_type(&name);
        self.add_expr(ExprKind::Name(name), ty, span)
    }

    fn name_type(&self, name: &str) -> Type {
        let in_template = |p: &&TemplateParam| p.name == name;
        let template = self.frames.iter().rev().flat_map(|f| &f.function.template);
        let param = template.chain(self.outer_templates.iter().flatten()).find(in_template);
        if let Some(ty) = param.and_then(|p| p.value_type.clone()) {
            return ty;
        }
        let mut globals = self.unit.globals.iter().rev().filter(|g| g.name == name || g.qualified == name);
        if let Some(g) = globals.next() {
            return if globals.all(|other| other.ty == g.ty) { g.ty.clone() } else { Type::Unknown };
        }
        if self.unit.constants.iter().any(|(n, v, _)| n == name && i32::try_from(*v).is_ok()) {
            return Type::Scalar(Scalar::I32);
        }
        match name {
            "INFINITY" | "NAN" | "FLT_MAX" | "FLT_MIN" | "FLT_EPSILON" | "CUDART_INF_F" | "HUGE_VALF" => {
                Type::Scalar(Scalar::F32)
            }
            "DBL_MAX" | "DBL_MIN" | "DBL_EPSILON" | "M_PI" | "CUDART_INF" => Type::Scalar(Scalar::F64),
            "INT_MAX" | "INT_MIN" => Type::Scalar(Scalar::I32),
            _ => Type::Unknown,
        }
    }

    fn parenthesized(&mut self, node: Node<'a>) -> ExprId {
        let Some(inner) = only(node) else {
            let children = self.exprs(node);
            return self.opaque("parentheses", node, children);
        };
        let id = self.expr(inner);
        let span = self.span(node);
        if let Some(e) = self.function().exprs.get_mut(id.0 as usize) {
            e.span = span;
        }
        id
    }

    fn unary(&mut self, node: Node<'a>) -> ExprId {
        let operand = self.operand(node, Field::Argument);
        let operand_ty = self.type_of(operand);
        let (op, ty) = match self.operator(node) {
            "-" => (UnaryOp::Neg, promoted(&operand_ty)),
            "+" => (UnaryOp::Plus, promoted(&operand_ty)),
            "!" | "not" => (UnaryOp::Not, Type::Scalar(Scalar::Bool)),
            "~" | "compl" => (UnaryOp::BitNot, promoted(&operand_ty)),
            _ => return self.opaque("unary operator", node, vec![operand]),
        };
        let span = self.span(node);
        self.add_expr(ExprKind::Unary { op, operand }, ty, span)
    }

    fn pointer(&mut self, node: Node<'a>) -> ExprId {
        let operand = self.operand(node, Field::Argument);
        let ty = self.type_of(operand);
        let span = self.span(node);
        if self.operator(node) == "*" {
            let ty = value(&ty).element().cloned().unwrap_or(Type::Unknown);
            let operand = self.addressable(operand);
            self.add_expr(ExprKind::Deref(operand), ty, span)
        } else {
            let ty = if ty == Type::Unknown { ty } else { Type::pointer_to(value(&ty).clone()) };
            self.add_expr(ExprKind::AddressOf(operand), ty, span)
        }
    }

    /// A name that memory is reached through must be a variable, be it one that this file does not declare.
    fn addressable(&mut self, id: ExprId) -> ExprId {
        let Some(e) = self.function().exprs.get(id.0 as usize) else { return id };
        let (name, span) = match &e.kind {
            ExprKind::Name(name) => (name.clone(), e.span),
            ExprKind::This => ("this".to_owned(), e.span),
            _ => return id,
        };
        let var = self.unresolved(&name, span);
        if let Some(e) = self.function().exprs.get_mut(id.0 as usize) {
            e.kind = ExprKind::Var(var);
        }
        id
    }

    fn binary(&mut self, node: Node<'a>) -> ExprId {
        let left = self.operand(node, Field::Left);
        let right = self.operand(node, Field::Right);
        let span = self.span(node);
        let Some(op) = binary_op(self.operator(node)) else {
            return self.opaque("operator", node, vec![left, right]);
        };
        if matches!(op, BinaryOp::Gt | BinaryOp::Ge) {
            self.suspect_template(node);
        }
        let (l, r) = (self.type_of(left), self.type_of(right));
        self.add_expr(ExprKind::Binary { op, left, right }, binary_type(op, &l, &r), span)
    }

    fn assignment(&mut self, node: Node<'a>) -> ExprId {
        let target = self.operand(node, Field::Left);
        let value = self.operand(node, Field::Right);
        let span = self.span(node);
        let ty = self.type_of(target);
        let operator = self.operator(node);
        let op = match operator {
            "=" => None,
            "and_eq" => Some(BinaryOp::BitAnd),
            "or_eq" => Some(BinaryOp::BitOr),
            "xor_eq" => Some(BinaryOp::BitXor),
            _ => match operator.strip_suffix('=').and_then(binary_op) {
                Some(op) => Some(op),
                None => return self.opaque("assignment", node, vec![target, value]),
            },
        };
        self.add_expr(ExprKind::Assign { op, target, value }, ty, span)
    }

    fn update(&mut self, node: Node<'a>) -> ExprId {
        let target = self.operand(node, Field::Argument);
        let delta = if self.operator(node) == "--" { -1 } else { 1 };
        let argument = field(node, Field::Argument).map_or(0, |a| a.start_byte());
        let prefix = field(node, Field::Operator).is_some_and(|o| o.start_byte() < argument);
        let (ty, span) = (self.type_of(target), self.span(node));
        self.add_expr(ExprKind::Increment { target, delta, prefix }, ty, span)
    }

    fn subscript(&mut self, node: Node<'a>) -> ExprId {
        let base = self.operand(node, Field::Argument);
        let base = self.addressable(base);
        let indices = field(node, Field::Indices);
        let span = self.span(node);
        let Some(index) = indices.and_then(only) else {
            let indices = indices.map(named).unwrap_or_default();
            let children = std::iter::once(base).chain(indices.map(|n| self.expr(n))).collect();
            return self.opaque("subscript with several arguments", node, children);
        };
        let index = self.expr(index);
        let ty = value(&self.type_of(base)).element().cloned().unwrap_or(Type::Unknown);
        self.add_expr(ExprKind::Index { base, index }, ty, span)
    }

    fn field_access(&mut self, node: Node<'a>) -> ExprId {
        let span = self.span(node);
        let name = field(node, Field::Field).map_or(String::new(), |f| self.text(f).to_owned());
        let Some(argument) = field(node, Field::Argument) else { return self.opaque("member", node, vec![]) };
        if argument.kind() == Kind::Identifier
            && let Some(builtin) = builtin(self.text(argument), &name)
            && self.lookup(self.text(argument)).is_none()
        {
            return self.add_expr(ExprKind::Builtin(builtin), Type::Scalar(Scalar::U32), span);
        }
        let arrow = self.operator(node) == "->";
        let base = self.expr(argument);
        let base = if arrow { self.addressable(base) } else { base };
        let base_ty = self.type_of(base);
        let of = if arrow { value(&base_ty).element().cloned().unwrap_or(Type::Unknown) } else { base_ty };
        let ty = match value(&of) {
            Type::Named(class) => {
                let key = (class.clone(), name.clone());
                self.members.get(&key).cloned().unwrap_or_else(|| member(&of, &name))
            }
            _ => member(&of, &name),
        };
        self.add_expr(ExprKind::Member { base, name, arrow }, ty, span)
    }

    fn c_cast(&mut self, node: Node<'a>) -> ExprId {
        let ty = field(node, Field::Type).map_or(Type::Unknown, |t| self.type_descriptor(t));
        let operand = self.operand(node, Field::Value);
        let span = self.span(node);
        self.add_expr(ExprKind::Cast { style: CastStyle::CStyle, ty: ty.clone(), operand }, ty, span)
    }

    fn conditional(&mut self, node: Node<'a>) -> ExprId {
        let condition = self.operand(node, Field::Condition);
        let then = self.operand(node, Field::Consequence);
        let otherwise = self.operand(node, Field::Alternative);
        let (a, b) = (self.type_of(then), self.type_of(otherwise));
        let ty = if a == b { a } else { arithmetic(&a, &b) };
        let span = self.span(node);
        self.add_expr(ExprKind::Conditional { condition, then, otherwise }, ty, span)
    }

    fn comma(&mut self, node: Node<'a>) -> ExprId {
        let left = self.operand(node, Field::Left);
        let right = self.operand(node, Field::Right);
        let (ty, span) = (self.type_of(right), self.span(node));
        self.add_expr(ExprKind::Comma { left, right }, ty, span)
    }

    fn compound_literal(&mut self, node: Node<'a>) -> ExprId {
        let ty = match field(node, Field::Type) {
            Some(t) if t.kind() == Kind::TypeDescriptor => self.type_descriptor(t),
            Some(t) => self.base_type(t),
            None => Type::Unknown,
        };
        let args = field(node, Field::Value).map(|v| self.exprs(v)).unwrap_or_default();
        let span = self.span(node);
        self.add_expr(ExprKind::Construct { ty: ty.clone(), args }, ty, span)
    }

    fn size_of(&mut self, node: Node<'a>) -> ExprId {
        let span = self.span(node);
        let ty = match (field(node, Field::Type), field(node, Field::Value)) {
            (Some(t), _) => Some(self.type_descriptor(t)),
            (None, Some(v)) => {
                let bare = if v.kind() == Kind::ParenthesizedExpression { named(v).next() } else { Some(v) };
                self.size_operand(bare)
            }
            _ => None,
        };
        self.add_expr(ExprKind::SizeOf(ty), Type::Scalar(Scalar::U64), span)
    }

    /// `sizeof(x)` of a name: the type it names, or that of the variable.
    fn size_operand(&mut self, node: Option<Node<'a>>) -> Option<Type> {
        let node = node?;
        let text = self.text(node);
        if self.lookup(text).is_none() && matches!(node.kind(), Kind::Identifier | Kind::QualifiedIdentifier) {
            return Some(self.type_by_name(text)).filter(|t| !matches!(t, Type::Named(_)));
        }
        let e = self.expr(node);
        Some(value(&self.type_of(e)).clone()).filter(|t| *t != Type::Unknown)
    }
}

fn builtin(object: &str, member: &str) -> Option<Builtin> {
    let axis = match member {
        "x" => Axis::X,
        "y" => Axis::Y,
        "z" => Axis::Z,
        _ => return None,
    };
    Some(match object {
        "threadIdx" => Builtin::ThreadIdx(axis),
        "blockIdx" => Builtin::BlockIdx(axis),
        "blockDim" => Builtin::BlockDim(axis),
        "gridDim" => Builtin::GridDim(axis),
        _ => return None,
    })
}

pub(super) fn binary_op(text: &str) -> Option<BinaryOp> {
    Some(match text {
        "+" => BinaryOp::Add,
        "-" => BinaryOp::Sub,
        "*" => BinaryOp::Mul,
        "/" => BinaryOp::Div,
        "%" => BinaryOp::Rem,
        "<<" => BinaryOp::Shl,
        ">>" => BinaryOp::Shr,
        "&" | "bitand" => BinaryOp::BitAnd,
        "|" | "bitor" => BinaryOp::BitOr,
        "^" | "xor" => BinaryOp::BitXor,
        "&&" | "and" => BinaryOp::And,
        "||" | "or" => BinaryOp::Or,
        "==" => BinaryOp::Eq,
        "!=" | "not_eq" => BinaryOp::Ne,
        "<" => BinaryOp::Lt,
        "<=" => BinaryOp::Le,
        ">" => BinaryOp::Gt,
        ">=" => BinaryOp::Ge,
        _ => return None,
    })
}

pub(super) fn binary_type(op: BinaryOp, l: &Type, r: &Type) -> Type {
    use BinaryOp::*;
    let (l, r) = (value(l), value(r));
    match op {
        And | Or | Eq | Ne | Lt | Le | Gt | Ge => match l {
            Type::Vector { .. } => Type::Unknown,
            _ => Type::Scalar(Scalar::Bool),
        },
        Shl | Shr => promoted(l),
        Add | Sub => match (l.element(), r.element()) {
            (Some(_), Some(_)) => Type::Scalar(Scalar::I64),
            (Some(e), None) => pointer_like(l, e),
            (None, Some(e)) => pointer_like(r, e),
            _ => arithmetic(l, r),
        },
        _ => arithmetic(l, r),
    }
}

/// Pointer arithmetic keeps a pointer; an array decays to one.
fn pointer_like(ty: &Type, elem: &Type) -> Type {
    match ty {
        Type::Pointer(_) => ty.clone(),
        _ => Type::pointer_to(elem.clone()),
    }
}
