//! Type specifiers and declarators: from the inside-out syntax of C++ to a [`Type`].

use super::kind::{Field, Kind};
use super::lower::Lower;
use super::names::builtin_type;
use super::tree::{Node, children, field, named};
use crate::ir::*;
use std::sync::Arc;

/// What the specifiers in front of a declarator say.
#[derive(Clone, Debug, Default)]
pub(super) struct Specifiers {
    pub is_const: bool,
    pub is_constexpr: bool,
    pub is_volatile: bool,
    pub is_static: bool,
    pub is_extern: bool,
    pub is_typedef: bool,
    pub shared: bool,
    pub constant: bool,
    pub device: bool,
    pub host: bool,
    pub global: bool,
    pub alignment: Option<u32>,
    /// From a macro, which the mask blanked.
    pub restrict: bool,
}

/// A declarator with more pointers, arrays and parentheses than this has no type.
const MAX_LAYERS: usize = 64;

/// A declarator taken apart.
#[derive(Clone, Debug)]
pub(super) struct Declared<'t> {
    pub name: Option<Node<'t>>,
    pub ty: Type,
    pub is_const: bool,
    pub is_volatile: bool,
    /// The innermost function declarator, where the name is one of a function.
    pub function: Option<Node<'t>>,
    pub is_pack: bool,
}

impl<'a> Lower<'a> {
    pub fn specifiers(&mut self, node: Node<'a>) -> Specifiers {
        let mut s = Specifiers::default();
        for child in children(node) {
            if matches!(child.field(), Field::Declarator | Field::Body) {
                break;
            }
            self.specifier(child, &mut s);
        }
        let start = self.outer_start(node);
        let end = field(node, Field::Declarator).map_or(node.end_byte(), |d| d.end_byte());
        if s.alignment.is_none() {
            s.alignment = self.input.alignment(start..end);
        }
        for word in self.input.hidden_words(start..end) {
            self.word(&word, &mut s);
        }
        s
    }

    /// Where the specifiers of a declaration begin: blanked ones stand in front of the node.
    pub fn outer_start(&self, node: Node<'a>) -> usize {
        let start = node.start_byte();
        let before = self.input.text.as_bytes().get(..start).unwrap_or(&[]);
        let blank = before.iter().rev().take_while(|b| b.is_ascii_whitespace()).count();
        start - blank
    }

    fn word(&mut self, word: &str, s: &mut Specifiers) {
        match word {
            "const" => s.is_const = true,
            "constexpr" | "constinit" => {
                s.is_constexpr = true;
                s.is_const = true;
            }
            "volatile" => s.is_volatile = true,
            "static" => s.is_static = true,
            "extern" => s.is_extern = true,
            "typedef" => s.is_typedef = true,
            "__shared__" => s.shared = true,
            "__constant__" => s.constant = true,
            "__device__" | "__managed__" => s.device = true,
            "__host__" => s.host = true,
            "__global__" => s.global = true,
            "__restrict__" | "__restrict" => s.restrict = true,
            _ => {}
        }
    }

    fn specifier(&mut self, child: Node<'a>, s: &mut Specifiers) {
        let spelt = matches!(child.kind(), Kind::TypeQualifier | Kind::StorageClassSpecifier);
        let word = if spelt { self.text(child) } else { child.name() };
        if word.starts_with("alignas") {
            let number = |c: char| !c.is_ascii_digit();
            s.alignment = word.trim_matches(number).parse().ok();
        }
        self.word(word, s);
    }

    /// The type that the `type` field of `node` spells, with `const` and the like ignored.
    pub fn base_type(&mut self, node: Node<'a>) -> Type {
        match node.kind() {
            Kind::PlaceholderTypeSpecifier => Type::Auto,
            Kind::Decltype => Type::Unknown,
            Kind::DependentType => named(node).next().map_or(Type::Unknown, |n| self.base_type(n)),
            Kind::StructSpecifier | Kind::ClassSpecifier | Kind::UnionSpecifier | Kind::EnumSpecifier => {
                field(node, Field::Name).map_or(Type::Unknown, |n| Type::Named(self.text(n).to_owned()))
            }
            Kind::TypeDescriptor => self.type_descriptor(node),
            _ => self.type_by_name(self.text(node)),
        }
    }

    pub fn type_by_name(&self, text: &str) -> Type {
        let name = normalise(text);
        if self.is_template_type(&name) {
            return Type::Param(name);
        }
        let local = self.frames.iter().rev().find_map(|f| f.local_aliases.get(&name));
        if let Some(ty) = local.or_else(|| self.aliases.get(&name)) {
            return ty.clone();
        }
        builtin_type(&name).unwrap_or(Type::Named(name))
    }

    /// `const float*` as in a cast or a template argument.
    pub fn type_descriptor(&mut self, node: Node<'a>) -> Type {
        let s = self.specifiers(node);
        let base = field(node, Field::Type).map_or(Type::Unknown, |t| self.base_type(t));
        self.declarator(base, s.is_const, s.is_volatile, field(node, Field::Declarator)).ty
    }

    /// Applies a declarator to a base type.
    pub fn declarator(
        &mut self,
        base: Type,
        is_const: bool,
        is_volatile: bool,
        declarator: Option<Node<'a>>,
    ) -> Declared<'a> {
        let mut d = Declared { name: None, ty: base, is_const, is_volatile, function: None, is_pack: false };
        let mut at = declarator;
        for _ in 0..MAX_LAYERS {
            let Some(node) = at else { return d };
            at = self.apply(&mut d, node);
        }
        d.ty = Type::Unknown;
        d
    }

    /// Applies the outermost layer of a declarator and returns what it wraps.
    fn apply(&mut self, d: &mut Declared<'a>, node: Node<'a>) -> Option<Node<'a>> {
        let inner = field(node, Field::Declarator);
        match node.kind() {
            Kind::PointerDeclarator | Kind::AbstractPointerDeclarator | Kind::PointerTypeDeclarator => {
                let words: Vec<&str> =
                    named(node).filter(|n| n.kind() == Kind::TypeQualifier).map(|n| self.text(n)).collect();
                let pointer = named(node).any(|n| n.name().starts_with("ms_restrict"));
                let pointee = Pointee {
                    ty: std::mem::replace(&mut d.ty, Type::Unknown),
                    is_const: d.is_const,
                    is_volatile: d.is_volatile,
                    restrict: pointer || words.iter().any(|w| is_restrict(w)),
                };
                d.ty = Type::Pointer(Arc::new(pointee));
                d.is_const = words.contains(&"const");
                d.is_volatile = words.contains(&"volatile");
                inner
            }
            Kind::ReferenceDeclarator | Kind::AbstractReferenceDeclarator => {
                let pointee = Pointee {
                    ty: std::mem::replace(&mut d.ty, Type::Unknown),
                    is_const: d.is_const,
                    is_volatile: d.is_volatile,
                    restrict: named(node).any(|n| is_restrict(self.text(n))),
                };
                d.ty = Type::Reference(Arc::new(pointee));
                d.is_const = false;
                named(node).filter(|n| n.kind() != Kind::TypeQualifier).last()
            }
            Kind::ArrayDeclarator | Kind::AbstractArrayDeclarator => {
                let len = field(node, Field::Size).map(|size| self.expr(size));
                let elem = Box::new(std::mem::replace(&mut d.ty, Type::Unknown));
                d.ty = Type::Array { elem, len };
                inner
            }
            Kind::ParenthesizedDeclarator | Kind::AbstractParenthesizedDeclarator | Kind::AttributedDeclarator => {
                named(node).next()
            }
            Kind::VariadicDeclarator => {
                d.is_pack = true;
                named(node).next()
            }
            Kind::InitDeclarator => inner,
            Kind::FunctionDeclarator | Kind::AbstractFunctionDeclarator => {
                if inner.is_some_and(|n| n.name().ends_with("parenthesized_declarator")) {
                    d.ty = Type::Named("function".into());
                } else {
                    d.function = Some(node);
                }
                inner
            }
            Kind::StructuredBindingDeclarator => None,
            _ => {
                d.name = Some(node);
                None
            }
        }
    }

    /// `void f(..)`'s parameter: declares the variable in the open function.
    pub fn parameter(&mut self, node: Node<'a>) -> Option<VarId> {
        let s = self.specifiers(node);
        let base = field(node, Field::Type).map_or(Type::Unknown, |t| self.base_type(t));
        let mut d = self.declarator(base, s.is_const, s.is_volatile, field(node, Field::Declarator));
        if let (true, Type::Pointer(p) | Type::Reference(p)) = (s.restrict, &mut d.ty) {
            Arc::make_mut(p).restrict = true;
        }
        if d.name.is_none() && d.ty == Type::Void {
            return None;
        }
        let span = self.span(node);
        let (name, name_span) = d.name.map_or(("", span), |n| (self.text(n), self.span(n)));
        // A parameter of array type is a pointer.
        let ty = match d.ty {
            Type::Array { elem, .. } => Type::Pointer(Arc::new(Pointee {
                ty: *elem,
                is_const: d.is_const,
                is_volatile: d.is_volatile,
                restrict: false,
            })),
            other => other,
        };
        let mut var = super::lower::plain_var(name, VarKind::Param, ty, span);
        var.name_span = name_span;
        var.is_const = d.is_const;
        var.is_volatile = d.is_volatile;
        var.alignment = s.alignment;
        let id = self.add_var(var);
        self.function().params.push(id);
        Some(id)
    }

    pub fn template_params(&mut self, list: Node<'a>) -> Vec<TemplateParam> {
        let mut found = vec![];
        for node in named(list) {
            let kind = node.name();
            let is_type = kind.contains("type_parameter") || kind.starts_with("template_template");
            let span = self.span(node);
            let default = field(node, Field::DefaultType).or_else(|| field(node, Field::DefaultValue));
            let default = default.map(|n| self.text(n).to_owned());
            if is_type {
                let name = self.last_name(node);
                found.push(TemplateParam { name, value_type: None, is_pack: kind.contains("variadic"), default, span });
                continue;
            }
            let s = self.specifiers(node);
            let base = field(node, Field::Type).map_or(Type::Unknown, |t| self.base_type(t));
            let constrained = matches!(base, Type::Named(_)) && self.is_concept(&base);
            let d = self.declarator(base, s.is_const, false, field(node, Field::Declarator));
            let name = d.name.map_or(String::new(), |n| self.text(n).to_owned());
            let value_type = (!constrained).then(|| super::lower::without_lengths(&d.ty));
            let is_pack = d.is_pack || kind.contains("variadic");
            found.push(TemplateParam { name, value_type, is_pack, default, span });
        }
        found
    }

    /// `template <Num T>`: a constrained type parameter looks like a value parameter of type `Num`.
    fn is_concept(&self, ty: &Type) -> bool {
        matches!(ty, Type::Named(n) if self.aliases.contains_key(&format!("concept {n}")) || n.starts_with("std::"))
    }

    fn last_name(&self, node: Node<'a>) -> String {
        let names = named(node).filter(|n| n.kind() == Kind::TypeIdentifier || n.kind() == Kind::Identifier);
        let first = names.map(|n| self.text(n).to_owned()).next();
        first
            .or_else(|| named(node).find(|n| n.name().contains("type_parameter")).map(|n| self.last_name(n)))
            .unwrap_or_default()
    }
}

fn is_restrict(word: &str) -> bool {
    matches!(word, "__restrict__" | "__restrict" | "restrict")
}

/// `t.template get` as `t.get`.
pub(super) fn member_path(text: &str) -> String {
    let mut path = normalise(text);
    for (from, to) in
        [(" .", "."), (". ", "."), (" ->", "->"), ("-> ", "->"), (".template ", "."), ("->template ", "->")]
    {
        path = path.replace(from, to);
    }
    path
}

/// A type name with single blanks and without `typename`, `struct` and qualifiers.
pub(super) fn normalise(text: &str) -> String {
    let says_something = |w: &&str| !matches!(*w, "typename" | "struct" | "class" | "const" | "volatile");
    let mut joined = String::with_capacity(text.len());
    for word in text.split_whitespace().filter(says_something) {
        if !joined.is_empty() {
            joined.push(' ');
        }
        joined.push_str(word);
    }
    // Most names are one word.
    let spaced = memchr::memchr(b' ', joined.as_bytes()).is_some() && memchr::memchr(b':', joined.as_bytes()).is_some();
    if spaced { joined.replace(" ::", "::").replace(":: ", "::") } else { joined }
}
