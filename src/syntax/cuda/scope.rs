//! What file and class scope declare besides functions: classes and their members, enumerators, type names, macros with
//! a value, globals.

use super::declarator::Specifiers;
use super::kind::{Field, Kind, SPECIFIER};
use super::lower::{Lower, PathPart, without_lengths};
use super::tree::{Node, children, field, named};
use super::unit::Template;
use crate::ir::*;
use crate::source::Span;

impl<'a> Lower<'a> {
    pub fn class(&mut self, node: Node<'a>, template: Option<Template<'a>>) {
        let Some(body) = field(node, Field::Body) else { return };
        // `typedef struct {..} V;` names its class behind it.
        let typedef =
            || node.parent().filter(|p| p.kind() == Kind::TypeDefinition).and_then(|p| field(p, Field::Declarator));
        let Some(name) = field(node, Field::Name).or_else(typedef) else { return };
        let name = self.text(name).split('<').next().unwrap_or("").trim().to_owned();
        let params = self.detached_template(template);
        self.path.push(PathPart::Class(name.clone()));
        self.outer_templates.push(params);
        self.members.insert((name.clone(), String::new()), Type::Unknown);
        for member in named(body) {
            if member.kind() == Kind::FieldDeclaration {
                self.member(&name, member);
            }
        }
        self.item(body, None);
        self.outer_templates.pop();
        self.path.pop();
    }

    /// Template parameters of a class, which has no function to belong to.
    fn detached_template(&mut self, template: Option<Template<'a>>) -> Vec<TemplateParam> {
        let Some(list) = template.and_then(|t| t.list) else { return vec![] };
        self.in_scratch(|l| l.template_params(list))
    }

    /// Runs `work` with a function that is thrown away, for expressions of file scope.
    fn in_scratch<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        let nowhere = self.input.span(0..0);
        let first = self.next_function;
        self.open(FunctionKind::Host, "", nowhere, nowhere);
        let result = work(self);
        self.frames.pop();
        // Lambdas in a scratch function go with it.
        self.finished.retain(|id, _| *id < first);
        self.next_function = first;
        let callers = |l: &Launch| l.caller.0 < first;
        self.unit.launches.retain(callers);
        result
    }

    fn member(&mut self, class: &str, node: Node<'a>) {
        let declared = self.in_scratch(|l| {
            let s = l.specifiers(node);
            let base = field(node, Field::Type).map_or(Type::Unknown, |t| l.base_type(t));
            let mut found = vec![];
            for d in children(node).filter(|n| n.field() == Field::Declarator) {
                let d = l.declarator(base.clone(), s.is_const, s.is_volatile, Some(d));
                if let Some(name) = d.name
                    && d.function.is_none()
                {
                    found.push((l.text(name).to_owned(), without_lengths(&d.ty)));
                }
            }
            found
        });
        for (name, ty) in declared {
            self.members.insert((class.to_owned(), name), ty);
        }
    }

    pub fn enumeration(&mut self, node: Node<'a>) {
        let Some(body) = field(node, Field::Body) else { return };
        let mut next = Some(0i128);
        for item in named(body).filter(|n| n.kind() == Kind::Enumerator) {
            let value = match field(item, Field::Value) {
                Some(v) => self.constant_value(self.text(v)),
                None => next,
            };
            next = value.and_then(|v| v.checked_add(1));
            if let (Some(name), Some(v)) = (field(item, Field::Name), value) {
                let span = self.span(item);
                self.unit.constants.push((self.text(name).to_owned(), v, span));
            }
        }
    }

    pub fn alias_item(&mut self, node: Node<'a>) {
        if let Some(inner) = field(node, Field::Type).filter(|t| t.is(SPECIFIER)) {
            self.item(inner, None);
        }
        let span = self.span(node);
        for (name, ty) in self.in_scratch(|l| l.alias_of(node)) {
            let ty = without_lengths(&ty);
            if ty == Type::Unknown || ty == Type::Named(name.clone()) {
                continue;
            }
            self.add_alias(name, ty, span);
        }
    }

    /// A second name for a type. Branches of an `#if` are all read: one that two of them declare may be either.
    fn add_alias(&mut self, name: String, ty: Type, span: Span) {
        let differs = self.aliases.get(&name).is_some_and(|known| *known != ty);
        let known = if differs { Type::Unknown } else { ty.clone() };
        self.aliases.insert(name.clone(), known);
        self.unit.aliases.push(TypeAlias { name, ty, span });
    }

    pub fn macro_constant(&mut self, node: Node<'a>) {
        let (Some(name), Some(body)) = (field(node, Field::Name), field(node, Field::Value)) else { return };
        let name = self.text(name);
        if self.unit.constants.iter().any(|(n, ..)| n == name) {
            return;
        }
        let body = self.text(body).split("//").next().unwrap_or("").trim();
        let span = self.span(node);
        if let Some(value) = self.constant_value(body) {
            self.unit.constants.push((name.to_owned(), value, span));
        } else if self.type_by_name(body) != Type::Named(super::declarator::normalise(body)) {
            // What an `#if` asks for the command line may define otherwise.
            let ty = if self.input.is_tested(name) { Type::Unknown } else { self.type_by_name(body) };
            self.add_alias(name.to_owned(), ty, span);
        }
    }

    pub fn global(&mut self, node: Node<'a>, declarator: Node<'a>, s: &Specifiers) {
        let described = self.in_scratch(|l| {
            let base = field(node, Field::Type).map_or(Type::Unknown, |t| l.base_type(t));
            let d = l.declarator(base, s.is_const, s.is_volatile, Some(declarator));
            d.name.map(|n| (l.text(n).to_owned(), without_lengths(&d.ty), d.is_const))
        });
        let Some((name, ty, is_const)) = described else { return };
        let init = field(declarator, Field::Value).map(|v| self.text(v).to_owned());
        let fixed = s.is_constexpr || is_const;
        let value = init.as_deref().filter(|_| fixed).and_then(|i| {
            self.constant_value(i.trim().trim_start_matches(['(', '{']).trim_end_matches([')', '}']))
                .or_else(|| self.constant_value(i))
        });
        if s.shared || s.constant || s.device {
            self.memory.insert(name.clone(), (node, declarator));
        }
        self.unit.globals.push(Global {
            qualified: self.qualify(&name),
            name,
            ty,
            is_const,
            is_constexpr: s.is_constexpr,
            is_constant_memory: s.constant,
            is_device: s.device,
            init,
            value,
            span: self.span(node),
        });
    }
}
