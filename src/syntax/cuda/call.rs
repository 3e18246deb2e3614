//! Calls: named, of methods, of values, casts in call form, constructors, kernel launches; and lambdas.

use super::kind::{Field, Kind};
use super::lower::Lower;
use super::names::value;
use super::tree::{Node, children, field, named, only};
use crate::ir::*;
use std::collections::BTreeSet;

/// What stands in front of the parentheses.
struct Callee<'t> {
    name: String,
    template: Option<Node<'t>>,
    receiver: Option<Node<'t>>,
}

impl<'a> Lower<'a> {
    pub fn call(&mut self, node: Node<'a>) -> ExprId {
        let Some(function) = field(node, Field::Function) else { return self.opaque("call", node, vec![]) };
        if let Some(config) = named(node).find(|n| n.kind() == Kind::KernelCallSyntax) {
            return self.launch(node, function, config);
        }
        match function.kind() {
            Kind::Identifier
            | Kind::QualifiedIdentifier
            | Kind::TemplateFunction
            | Kind::FieldExpression
            | Kind::PrimitiveType
            | Kind::SizedTypeSpecifier
            | Kind::TypeIdentifier => {}
            _ => return self.call_value(node, function),
        }
        let callee = self.callee(function);
        if callee.receiver.is_none() && self.lookup(&callee.name).is_some() {
            if callee.template.is_some() {
                self.suspect_comparison(function);
            }
            return self.call_value(node, function);
        }
        if let Some(id) = self.cast_call(node, &callee) {
            return id;
        }
        if let Some(id) = self.reinterpreting_macro(node, &callee) {
            return id;
        }
        if callee.receiver.is_none()
            && let Some(id) = self.constructor_call(node, function, &callee)
        {
            return id;
        }
        let receiver = callee.receiver.map(|r| self.expr(r));
        let template_args = self.template_args(callee.template, node, function);
        let args = field(node, Field::Arguments).map(|a| self.exprs(a)).unwrap_or_default();
        let types: Vec<Type> = args.iter().map(|a| self.type_of(*a)).collect();
        let ty = if receiver.is_some() { Type::Unknown } else { self.call_type(&callee.name, &types) };
        let span = self.span(node);
        self.add_expr(ExprKind::Call { callee: callee.name, receiver, template_args, args }, ty, span)
    }

    fn call_value(&mut self, node: Node<'a>, function: Node<'a>) -> ExprId {
        let named_var = field(function, Field::Name).filter(|_| function.kind() == Kind::TemplateFunction);
        let callee = self.expr(named_var.unwrap_or(function));
        let args = field(node, Field::Arguments).map(|a| self.exprs(a)).unwrap_or_default();
        let span = self.span(node);
        self.add_expr(ExprKind::CallValue { callee, args }, Type::Unknown, span)
    }

    fn callee(&self, function: Node<'a>) -> Callee<'a> {
        match function.kind() {
            Kind::TemplateFunction => Callee {
                name: field(function, Field::Name).map_or(String::new(), |n| self.text(n).to_owned()),
                template: field(function, Field::Arguments),
                receiver: None,
            },
            Kind::QualifiedIdentifier => {
                let template = last_template(function);
                let end = template.map_or(function.end_byte(), |t| t.start_byte());
                let text = self.input.text.get(function.start_byte()..end).unwrap_or("");
                Callee { name: super::declarator::normalise(text), template, receiver: None }
            }
            Kind::FieldExpression => {
                let template = field(function, Field::Field).and_then(last_template);
                let end = template.map_or(function.end_byte(), |t| t.start_byte());
                let text = self.input.text.get(function.start_byte()..end).unwrap_or("");
                let name = super::declarator::member_path(text);
                Callee { name, template, receiver: field(function, Field::Argument) }
            }
            _ => Callee { name: self.text(function).to_owned(), template: None, receiver: None },
        }
    }

    /// Template arguments as texts; where the mask blanked them, they are read from the original.
    fn template_args(&self, list: Option<Node<'a>>, call: Node<'a>, function: Node<'a>) -> Vec<String> {
        if let Some(list) = list {
            return named(list).map(|n| self.text(n).trim().to_owned()).collect();
        }
        let config = named(call).find(|n| n.kind() == Kind::KernelCallSyntax);
        let start = config.or(field(call, Field::Arguments)).map_or(0, |a| a.start_byte());
        let gap = self.input.original.get(function.end_byte()..start).unwrap_or("").trim();
        match gap.strip_prefix('<').and_then(|g| g.strip_suffix('>')) {
            Some(inner) => split_arguments(inner),
            None => vec![],
        }
    }

    /// `static_cast<T>(x)` and its family.
    fn cast_call(&mut self, node: Node<'a>, callee: &Callee<'a>) -> Option<ExprId> {
        let style = match callee.name.as_str() {
            "static_cast" => CastStyle::Static,
            "reinterpret_cast" => CastStyle::Reinterpret,
            "const_cast" => CastStyle::Const,
            "dynamic_cast" => CastStyle::Dynamic,
            "bit_cast" | "std::bit_cast" | "cuda::std::bit_cast" => CastStyle::Bit,
            _ => return None,
        };
        let target = named(callee.template?).next()?;
        let ty = if target.kind() == Kind::TypeDescriptor {
            self.type_descriptor(target)
        } else {
            self.type_by_name(self.text(target))
        };
        let args = field(node, Field::Arguments).map(|a| self.exprs(a)).unwrap_or_default();
        let [operand] = args.as_slice() else { return None };
        let span = self.span(node);
        Some(self.add_expr(ExprKind::Cast { style, ty: ty.clone(), operand: *operand }, ty, span))
    }

    /// `FLOAT4(p[i])` where the macro is `(reinterpret_cast<float4*>(&(v))[0])`: the access that it stands for.
    fn reinterpreting_macro(&mut self, node: Node<'a>, callee: &Callee<'a>) -> Option<ExprId> {
        let target = self.input.reinterpreting_macro(&callee.name)?;
        let ty = self.type_by_name(&target);
        let argument = only(field(node, Field::Arguments)?)?;
        let operand = self.expr(argument);
        let (span, inner) = (self.span(node), self.span(argument));
        let operand_ty = self.type_of(operand);
        let pointer =
            if operand_ty == Type::Unknown { operand_ty } else { Type::pointer_to(value(&operand_ty).clone()) };
        let address = self.add_expr(ExprKind::AddressOf(operand), pointer, inner);
        let to = Type::pointer_to(ty.clone());
        let cast = ExprKind::Cast { style: CastStyle::Reinterpret, ty: to.clone(), operand: address };
        let cast = self.add_expr(cast, to, span);
        Some(self.add_expr(ExprKind::Deref(cast), ty, span))
    }

    /// `float(x)`, `T(x)`, `dim3(8, 8)`.
    fn constructor_call(&mut self, node: Node<'a>, function: Node<'a>, callee: &Callee<'a>) -> Option<ExprId> {
        if function.kind() == Kind::Identifier && self.returns.contains_key(&callee.name) {
            return None;
        }
        let ty = self.type_by_name(self.text(function));
        if matches!(&ty, Type::Named(n) if n != "dim3" && !self.is_class(n)) {
            return None;
        }
        let args = field(node, Field::Arguments).map(|a| self.exprs(a)).unwrap_or_default();
        let span = self.span(node);
        Some(match args.as_slice() {
            [operand] if matches!(ty, Type::Scalar(_) | Type::Pointer(_) | Type::Param(_)) => {
                let kind = ExprKind::Cast { style: CastStyle::Functional, ty: ty.clone(), operand: *operand };
                self.add_expr(kind, ty, span)
            }
            _ => self.add_expr(ExprKind::Construct { ty: ty.clone(), args }, ty, span),
        })
    }

    fn is_class(&self, name: &str) -> bool {
        self.members.range((name.to_owned(), String::new())..).next().is_some_and(|((c, _), _)| c == name)
    }

    fn launch(&mut self, node: Node<'a>, function: Node<'a>, config: Node<'a>) -> ExprId {
        let callee = self.callee(function);
        let template_args = self.template_args(callee.template, node, function);
        let end = callee.template.map_or(function.end_byte(), |t| t.start_byte());
        let callee_span = self.input.span(function.start_byte()..end.max(function.start_byte()));
        self.lookup(&callee.name);
        let config = self.exprs(config);
        let args = field(node, Field::Arguments).map(|a| self.exprs(a)).unwrap_or_default();
        let span = self.span(node);
        let statement = node.parent().filter(|p| p.kind() == Kind::ExpressionStatement).map(|p| self.span(p));
        let index = self.unit.launches.len() as u32;
        let expr = self.add_expr(ExprKind::Launch(index), Type::Void, span);
        let caller = self.function().id;
        self.unit.launches.push(Launch {
            caller,
            callee: callee.name,
            callee_span,
            template_args,
            span,
            statement_span: statement,
            grid: config.first().copied(),
            block: config.get(1).copied(),
            shared: config.get(2).copied(),
            stream: config.get(3).copied(),
            args,
            expr,
        });
        expr
    }

    /// A lambda is a function of its own; names of the function around it become captured variables.
    pub fn lambda(&mut self, node: Node<'a>) -> ExprId {
        let span = self.span(node);
        let name_span = field(node, Field::Captures).map_or(span, |c| self.span(c));
        self.frame();
        let id = self.open(FunctionKind::Lambda, "", span, name_span);
        if let Some(list) = field(node, Field::TemplateParameters) {
            let params = self.template_params(list);
            self.set_template(params);
        }
        if let Some(captures) = field(node, Field::Captures) {
            for item in named(captures) {
                self.capture(item);
            }
        }
        if let Some(declarator) = field(node, Field::Declarator) {
            if let Some(list) = field(declarator, Field::Parameters) {
                for p in named(list) {
                    self.parameter(p);
                }
            }
            if let Some(ty) = named(declarator).find(|n| n.kind() == Kind::TrailingReturnType) {
                let ty = named(ty).next().map_or(Type::Unknown, |t| self.type_descriptor(t));
                self.function().return_type = ty;
            }
        }
        self.body(field(node, Field::Body), node);
        self.name_lambda(id);
        self.close();
        self.add_expr(ExprKind::Lambda(id), Type::Unknown, span)
    }

    fn capture(&mut self, item: Node<'a>) {
        if item.kind() == Kind::LambdaCaptureInitializer {
            let name = field(item, Field::Left).or_else(|| named(item).next());
            let init = field(item, Field::Right).map(|r| self.expr(r));
            let ty = init.map_or(Type::Unknown, |i| value(&self.type_of(i)).clone());
            if let Some(name) = name {
                let mut var = super::lower::plain_var(self.text(name), VarKind::Captured, ty, self.span(name));
                var.init = init;
                self.add_var(var);
            }
        } else if item.kind() == Kind::Identifier {
            self.lookup(self.text(item));
        }
    }

    fn name_lambda(&mut self, id: FunctionId) {
        let outer = self.frames.iter().rev().nth(1).map_or(String::new(), |f| f.function.qualified.clone());
        let f = self.function();
        f.name = format!("lambda{}", id.0);
        f.qualified = format!("{outer}::lambda{}", id.0);
    }

    pub fn set_template(&mut self, params: Vec<TemplateParam>) {
        let types: BTreeSet<String> =
            params.iter().filter(|p| p.value_type.is_none()).map(|p| p.name.clone()).collect();
        self.frame().types.extend(types);
        self.function().template.extend(params);
    }
}

/// The template argument list at the end of a qualified name.
fn last_template(node: Node) -> Option<Node> {
    let mut at = node;
    for _ in 0..64 {
        match at.kind() {
            Kind::QualifiedIdentifier => at = field(at, Field::Name)?,
            Kind::DependentName => at = named(at).next()?,
            Kind::TemplateFunction | Kind::TemplateMethod => return field(at, Field::Arguments),
            _ => return None,
        }
    }
    None
}

/// Splits `float, Foo<1, 2>, (a > b)` at its outer commas.
pub(super) fn split_arguments(text: &str) -> Vec<String> {
    let (mut depth, mut start, mut found) = (0i32, 0, vec![]);
    for (i, c) in text.char_indices() {
        match c {
            '<' | '(' | '[' | '{' => depth += 1,
            '>' | ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                found.push(text[start..i].trim().to_owned());
                start = i + 1;
            }
            _ => {}
        }
    }
    found.push(text[start..].trim().to_owned());
    found.retain(|t| !t.is_empty());
    found
}

/// Whether a node of this kind is among the children.
pub(super) fn has_child(node: Node, kind: Kind) -> bool {
    children(node).any(|c| c.kind() == kind)
}
