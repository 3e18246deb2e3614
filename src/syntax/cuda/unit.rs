//! File scope: namespaces, classes, templates, functions, globals, type names, directives.

use super::declarator::Specifiers;
use super::kind::{Field, Kind, SPECIFIER};
use super::lower::{Lower, MAX_DEPTH, PathPart};
use super::tree::{Node, children, field, named};
use crate::ir::*;
use crate::source::mask::{Attribute, AttributeKind};

/// A template header that belongs to the declaration inside it.
#[derive(Clone, Debug)]
pub(super) struct Template<'t> {
    pub node: Node<'t>,
    pub list: Option<Node<'t>>,
}

impl<'a> Lower<'a> {
    pub fn file(&mut self, root: Node<'a>) {
        for node in named(root) {
            self.item(node, None);
        }
    }

    pub fn item(&mut self, node: Node<'a>, template: Option<Template<'a>>) {
        if self.depth >= MAX_DEPTH {
            return;
        }
        self.depth += 1;
        self.item_inner(node, template);
        self.depth -= 1;
    }

    fn item_inner(&mut self, node: Node<'a>, template: Option<Template<'a>>) {
        match node.kind() {
            Kind::FunctionDefinition => self.function_item(node, template),
            Kind::Declaration | Kind::FieldDeclaration => self.declaration_item(node, template),
            Kind::TemplateDeclaration => {
                let list = field(node, Field::Parameters);
                // The innermost header is the function's own; the outer ones are those of its class.
                let span = template.map_or(node, |t| t.node);
                let inner = Template { node: span, list };
                for child in named(node).filter(|n| n.kind() != Kind::TemplateParameterList) {
                    self.item(child, Some(inner.clone()));
                }
            }
            Kind::NamespaceDefinition => self.namespace(node),
            Kind::LinkageSpecification => {
                if let Some(body) = field(node, Field::Body) {
                    self.item(body, None);
                }
            }
            Kind::ClassSpecifier | Kind::StructSpecifier | Kind::UnionSpecifier => self.class(node, template),
            Kind::EnumSpecifier => self.enumeration(node),
            Kind::TypeDefinition | Kind::AliasDeclaration => self.alias_item(node),
            Kind::ConceptDefinition => {
                if let Some(name) = field(node, Field::Name) {
                    self.aliases.insert(format!("concept {}", self.text(name)), Type::Unknown);
                }
            }
            Kind::TemplateInstantiation => self.instantiation(node),
            Kind::PreprocInclude => {
                let span = self.span(node);
                if let Some(path) = field(node, Field::Path) {
                    self.unit.includes.push((self.text(path).to_owned(), span));
                }
            }
            Kind::PreprocDef => self.macro_constant(node),
            Kind::PreprocFunctionDef | Kind::PreprocCall | Kind::Comment => {}
            Kind::DeclarationList
            | Kind::FieldDeclarationList
            | Kind::FriendDeclaration
            | Kind::TranslationUnit
            | Kind::Error
            | Kind::PreprocIf
            | Kind::PreprocIfdef
            | Kind::PreprocElif
            | Kind::PreprocElifdef
            | Kind::PreprocElse => {
                for child in named(node) {
                    self.item(child, None);
                }
            }
            _ => {}
        }
    }

    fn namespace(&mut self, node: Node<'a>) {
        let depth = self.path.len();
        match field(node, Field::Name) {
            Some(name) => {
                let text = self.text(name);
                self.path.extend(text.split("::").map(|p| PathPart::Namespace(p.trim().to_owned())));
            }
            None => self.path.push(PathPart::Anonymous),
        }
        if let Some(body) = field(node, Field::Body) {
            self.item(body, None);
        }
        self.path.truncate(depth);
    }

    fn instantiation(&mut self, node: Node<'a>) {
        let span = self.span(node);
        let mut at = field(node, Field::Declarator);
        for _ in 0..32 {
            let Some(d) = at else { return };
            match d.kind() {
                Kind::TemplateFunction => {
                    let name = field(d, Field::Name).map_or("", |n| self.text(n)).to_owned();
                    let args = field(d, Field::Arguments).map(named).unwrap_or_default();
                    let args = args.into_iter().map(|n| self.text(n).trim().to_owned()).collect();
                    self.unit.instantiations.push((name, args, span));
                    return;
                }
                Kind::QualifiedIdentifier => at = field(d, Field::Name),
                _ => at = field(d, Field::Declarator).or_else(|| named(d).next()),
            }
        }
    }

    /// A declaration of file or class scope: prototypes, globals, nested types.
    fn declaration_item(&mut self, node: Node<'a>, template: Option<Template<'a>>) {
        if let Some(ty) = field(node, Field::Type).filter(|t| t.is(SPECIFIER)) {
            self.item(ty, template.clone());
        }
        let s = self.specifiers(node);
        for declarator in children(node) {
            if declarator.field() != Field::Declarator {
                continue;
            }
            if let Some(function) = function_declarator(declarator) {
                self.define(node, declarator, function, None, &s, template.clone());
            } else if node.kind() == Kind::Declaration || s.is_static {
                self.global(node, declarator, &s);
            }
        }
    }

    fn function_item(&mut self, node: Node<'a>, template: Option<Template<'a>>) {
        let s = self.specifiers(node);
        let Some(declarator) = field(node, Field::Declarator) else { return };
        let Some(function) = function_declarator(declarator) else { return };
        self.define(node, declarator, function, field(node, Field::Body), &s, template);
    }

    fn define(
        &mut self,
        node: Node<'a>,
        declarator: Node<'a>,
        function: Node<'a>,
        body: Option<Node<'a>>,
        s: &Specifiers,
        template: Option<Template<'a>>,
    ) {
        let marked =
            innermost_name(function).is_some_and(|n| self.input.masked.kernel_named_in(&n.byte_range()).is_some());
        let kind = match (s.global || marked, s.device, s.host) {
            (true, ..) => FunctionKind::Kernel,
            (_, true, true) => FunctionKind::HostDevice,
            (_, true, false) => FunctionKind::Device,
            _ => FunctionKind::Host,
        };
        let name_node = innermost_name(function);
        let written = name_node.map_or("", |n| self.text(n));
        let whole = template.as_ref().map_or(node, |t| t.node);
        let mut span = self.span(whole);
        span.start = self.first_specifier(whole) as u32;
        let name_span = name_node.map_or(span, |n| self.span(n));
        let bare = written.split('<').next().unwrap_or("");
        let parts: Vec<String> = bare.split("::").map(|p| p.trim().to_owned()).collect();
        let name = parts.last().cloned().unwrap_or_default();
        self.open(kind, &name, span, name_span);
        if let Some(list) = template.as_ref().and_then(|t| t.list) {
            let params = self.template_params(list);
            self.set_template(params);
        }
        let base = field(node, Field::Type).map_or(Type::Unknown, |t| self.base_type(t));
        let d = self.declarator(base, s.is_const, s.is_volatile, Some(declarator));
        let mut return_type = if kind == FunctionKind::Kernel { Type::Void } else { d.ty };
        if let Some(t) = named(function).find(|n| n.kind() == Kind::TrailingReturnType) {
            return_type = named(t).next().map_or(Type::Unknown, |t| self.type_descriptor(t));
        }
        let qualified = self.qualify(&parts.join("::"));
        let class = self.path.iter().rev().find_map(|p| match p {
            PathPart::Class(c) => Some(c.clone()),
            _ => None,
        });
        let class =
            class.or_else(|| parts.len().checked_sub(2).map(|i| parts[i].clone()).filter(|c| self.is_known_class(c)));
        let in_anonymous_namespace = self.path.iter().any(|p| matches!(p, PathPart::Anonymous));
        let bounds = self.launch_bounds(node);
        let f = self.function();
        f.return_type = return_type.clone();
        f.qualified = qualified;
        f.class = class;
        f.is_static = s.is_static;
        f.in_anonymous_namespace = in_anonymous_namespace;
        f.bounds = bounds;
        if kind != FunctionKind::Kernel && !return_type_is_open(&return_type) {
            self.returns.insert(name, return_type);
        } else {
            self.returns.entry(name).or_insert(Type::Unknown);
        }
        if let Some(list) = field(function, Field::Parameters) {
            for p in named(list) {
                self.parameter(p);
            }
        }
        self.body(body, whole);
        self.settle_concepts();
        self.close();
    }

    /// Where the specifiers of a function begin, with those that the mask blanked.
    fn first_specifier(&self, whole: Node<'a>) -> usize {
        let start = whole.start_byte();
        let blank = self.outer_start(whole)..start;
        let masked = self.input.masked;
        // A macro that nobody defined and that stands on an earlier line may belong to nothing, such as a namespace macro.
        let same_line = |at: usize| self.input.original.get(at..start).is_some_and(|gap| !gap.contains('\n'));
        let belongs = |a: &&Attribute| match a.kind {
            AttributeKind::Macro => !a.expansion.is_empty() || same_line(a.span.start),
            AttributeKind::Unroll | AttributeKind::Pragma => false,
            _ => true,
        };
        let attributes = masked.attributes_in(blank.clone()).iter().filter(belongs).map(|a| a.span.start);
        let own = masked.kernel_named_in(&(start..whole.end_byte())).map(|k| k.range.start);
        let marks = own.filter(|at| blank.contains(at));
        attributes.chain(marks).min().unwrap_or(start)
    }

    /// Template parameters that were used as types are types, whatever stands in front of their names.
    fn settle_concepts(&mut self) {
        let f = self.function();
        if f.template.is_empty() {
            return;
        }
        let vars = f.vars.iter().map(|v| &v.ty).chain([&f.return_type]);
        let used: Vec<String> = vars.filter_map(param_of).collect();
        for p in f.template.iter_mut().filter(|p| used.contains(&p.name)) {
            p.value_type = None;
        }
    }

    fn is_known_class(&self, name: &str) -> bool {
        self.members.contains_key(&(name.to_owned(), String::new()))
    }

    /// From the mask's side table, or from the tree where the attribute was left in place.
    fn launch_bounds(&self, node: Node<'a>) -> LaunchBounds {
        let end = field(node, Field::Body).map_or(node.end_byte(), |b| b.start_byte());
        let mut bounds = self.input.launch_bounds(self.outer_start(node)..end);
        if bounds.max_threads.is_some() {
            return bounds;
        }
        if let Some(b) = named(node).find(|n| n.kind() == Kind::LaunchBounds) {
            let mut values = named(b).map(|n| (self.text(n).to_owned(), self.span(n)));
            bounds.max_threads = values.next();
            bounds.min_blocks = values.next();
        }
        bounds
    }

    pub fn qualify(&self, name: &str) -> String {
        let mut parts: Vec<&str> = self
            .path
            .iter()
            .filter_map(|p| match p {
                PathPart::Namespace(n) | PathPart::Class(n) => Some(n.as_str()),
                PathPart::Anonymous => None,
            })
            .collect();
        parts.push(name);
        parts.join("::")
    }
}

fn param_of(ty: &Type) -> Option<String> {
    match ty {
        Type::Param(name) => Some(name.clone()),
        Type::Pointer(p) | Type::Reference(p) => param_of(&p.ty),
        Type::Array { elem, .. } => param_of(elem),
        _ => None,
    }
}

fn return_type_is_open(ty: &Type) -> bool {
    match ty {
        Type::Param(_) | Type::Auto | Type::Unknown => true,
        Type::Pointer(p) | Type::Reference(p) => return_type_is_open(&p.ty),
        _ => false,
    }
}

/// The function declarator of a declarator that names a function (not a pointer to one).
fn function_declarator(declarator: Node) -> Option<Node> {
    let mut at = declarator;
    for _ in 0..64 {
        match at.kind() {
            Kind::FunctionDeclarator => {
                let inner = field(at, Field::Declarator)?;
                return (inner.kind() != Kind::ParenthesizedDeclarator).then_some(at);
            }
            Kind::PointerDeclarator | Kind::ArrayDeclarator | Kind::AttributedDeclarator => {
                at = field(at, Field::Declarator).or_else(|| named(at).next())?;
            }
            Kind::ReferenceDeclarator => at = named(at).last()?,
            _ => return None,
        }
    }
    None
}

fn innermost_name(function: Node) -> Option<Node> {
    let mut at = field(function, Field::Declarator)?;
    for _ in 0..16 {
        match at.kind() {
            Kind::FunctionDeclarator | Kind::ParenthesizedDeclarator => {
                at = field(at, Field::Declarator).or_else(|| named(at).next())?;
            }
            _ => return Some(at),
        }
    }
    Some(at)
}
