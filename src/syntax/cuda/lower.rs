//! State of the lowering: the unit that grows, the functions that are open, their scopes.

use super::input::Input;
use super::misparse::Patch;
use super::tree::Node;
use crate::ir::*;
use crate::source::Span;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Deeper nesting than this is not read.
pub const MAX_DEPTH: u32 = 250;

pub(super) struct Lower<'a> {
    pub input: &'a Input<'a>,
    pub unit: Unit,
    pub frames: Vec<Frame>,
    pub finished: BTreeMap<u32, Function>,
    pub next_function: u32,
    pub depth: u32,
    pub aliases: BTreeMap<String, Type>,
    /// Memory of file scope by name: the declaration and its declarator, to lower again inside a function.
    pub memory: BTreeMap<String, (Node<'a>, Node<'a>)>,
    /// Return types of the file's functions.
    pub returns: BTreeMap<String, Type>,
    /// Types of members: (class, member).
    pub members: BTreeMap<(String, String), Type>,
    /// Namespace and class names around the current place; `None` is an anonymous namespace.
    pub path: Vec<PathPart>,
    /// Template parameters of the classes around the current place.
    pub outer_templates: Vec<Vec<TemplateParam>>,
    pub patches: Vec<Patch>,
}

#[derive(Clone, Debug)]
pub(super) enum PathPart {
    Namespace(String),
    Anonymous,
    Class(String),
}

/// A function that is being lowered.
pub(super) struct Frame {
    pub function: Function,
    pub scopes: Vec<BTreeMap<String, VarId>>,
    pub types: BTreeSet<String>,
    pub local_aliases: BTreeMap<String, Type>,
}

impl<'a> Lower<'a> {
    pub fn new(input: &'a Input<'a>) -> Lower<'a> {
        let unit = Unit {
            file: input.file,
            language: Language::Cuda,
            functions: vec![],
            globals: vec![],
            aliases: vec![],
            launches: vec![],
            constants: input.constants.clone(),
            includes: vec![],
            instantiations: vec![],
            dropped: input.spans(&input.masked.dropped),
            lexical_kernels: input.lexical_kernels(),
            problems: vec![],
        };
        Lower {
            input,
            unit,
            frames: vec![],
            finished: BTreeMap::new(),
            next_function: 0,
            depth: 0,
            aliases: BTreeMap::new(),
            memory: BTreeMap::new(),
            returns: BTreeMap::new(),
            members: BTreeMap::new(),
            path: vec![],
            outer_templates: vec![],
            patches: vec![],
        }
    }

    /// The text of a node. Names and literals come from the original: a stand-in of the mask may be spelt otherwise.
    pub fn text(&self, node: Node) -> &'a str {
        let from = if node.is_original() { self.input.original } else { self.input.text };
        from.get(node.byte_range()).unwrap_or("")
    }

    pub fn span(&self, node: Node) -> Span {
        self.input.span(node.byte_range())
    }

    /// Opens a function; everything lowered until [`Lower::close`] belongs to it.
    pub fn open(&mut self, kind: FunctionKind, name: &str, span: Span, name_span: Span) -> FunctionId {
        let id = FunctionId(self.next_function);
        self.next_function += 1;
        let parent = self.frames.last().map(|f| f.function.id);
        let function = Function {
            id,
            kind,
            name: name.to_owned(),
            qualified: name.to_owned(),
            span,
            name_span,
            body_span: None,
            parent,
            class: None,
            is_static: false,
            in_anonymous_namespace: false,
            return_type: Type::Unknown,
            template: vec![],
            params: vec![],
            vars: vec![],
            exprs: vec![],
            stmts: vec![],
            body: Block::default(),
            bounds: LaunchBounds::default(),
            flaws: vec![],
            loops: vec![],
            accesses: vec![],
            tiles: vec![],
            barriers: vec![],
            warp_ops: vec![],
            atomics: vec![],
            reductions: vec![],
            calls: vec![],
        };
        self.frames.push(Frame {
            function,
            scopes: vec![BTreeMap::new()],
            types: BTreeSet::new(),
            local_aliases: BTreeMap::new(),
        });
        id
    }

    pub fn close(&mut self) -> Option<FunctionId> {
        let frame = self.frames.pop()?;
        let id = frame.function.id;
        self.finished.insert(id.0, frame.function);
        Some(id)
    }

    /// The open function. Outside of any, a nameless one is opened first, which is thrown away in the end.
    pub fn frame(&mut self) -> &mut Frame {
        if self.frames.is_empty() {
            let nowhere = self.input.span(0..0);
            self.open(FunctionKind::Host, "", nowhere, nowhere);
        }
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    pub fn function(&mut self) -> &mut Function {
        &mut self.frame().function
    }

    pub fn push_scope(&mut self) {
        self.frame().scopes.push(BTreeMap::new());
    }

    pub fn pop_scope(&mut self) {
        self.frame().scopes.pop();
    }

    pub fn add_expr(&mut self, kind: ExprKind, ty: Type, span: Span) -> ExprId {
        let exprs = &mut self.function().exprs;
        exprs.push(Expr { kind, span, ty });
        ExprId(exprs.len() as u32 - 1)
    }

    pub fn add_stmt(&mut self, kind: StmtKind, span: Span) -> StmtId {
        let stmts = &mut self.function().stmts;
        stmts.push(Stmt { kind, span });
        StmtId(stmts.len() as u32 - 1)
    }

    /// Declares a variable in the innermost scope.
    pub fn add_var(&mut self, var: Var) -> VarId {
        let frame = self.frame();
        let id = VarId(frame.function.vars.len() as u32);
        if let Some(scope) = frame.scopes.last_mut() {
            scope.insert(var.name.clone(), id);
        }
        frame.function.vars.push(var);
        id
    }

    pub fn flaw(&mut self, kind: FlawKind, span: Span) {
        let flaw = Flaw { kind, span };
        let flaws = &mut self.function().flaws;
        if !flaws.contains(&flaw) {
            flaws.push(flaw);
        }
    }

    pub fn type_of(&mut self, e: ExprId) -> Type {
        self.function().exprs.get(e.0 as usize).map_or(Type::Unknown, |e| e.ty.clone())
    }

    /// The variable that `name` means here; captures from the functions around a lambda on the way, and brings memory
    /// of file scope into view.
    pub fn lookup(&mut self, name: &str) -> Option<VarId> {
        let top = self.frames.len().checked_sub(1)?;
        self.lookup_from(top, name).or_else(|| self.lookup_memory(name))
    }

    fn lookup_from(&mut self, index: usize, name: &str) -> Option<VarId> {
        let frame = self.frames.get(index)?;
        if let Some(id) = frame.scopes.iter().rev().find_map(|s| s.get(name)) {
            return Some(*id);
        }
        if frame.function.kind != FunctionKind::Lambda || index == 0 {
            return None;
        }
        let outer = self.lookup_from(index - 1, name)?;
        let parent = &self.frames[index - 1].function;
        let seen = parent.vars.get(outer.0 as usize)?;
        let mut var = seen.clone();
        let lengths = array_lengths(parent, &var.ty);
        var.kind = VarKind::Captured;
        var.init = None;
        let inner = &mut self.frames[index];
        var.ty = rebuild_lengths(&mut inner.function, &var.ty, &mut lengths.into_iter());
        let id = VarId(inner.function.vars.len() as u32);
        inner.function.vars.push(var);
        inner.scopes.first_mut()?.insert(name.to_owned(), id);
        Some(id)
    }

    fn lookup_memory(&mut self, name: &str) -> Option<VarId> {
        let (declaration, declarator) = *self.memory.get(name)?;
        let var = self.memory_var(declaration, declarator)?;
        let frame = self.frame();
        let id = VarId(frame.function.vars.len() as u32);
        frame.function.vars.push(var);
        frame.scopes.first_mut()?.insert(name.to_owned(), id);
        Some(id)
    }

    /// A variable for a name that nothing in this file declares, or for `this`.
    pub fn unresolved(&mut self, name: &str, span: Span) -> VarId {
        let frame = self.frame();
        if let Some(id) = frame.scopes.first().and_then(|s| s.get(name)) {
            return *id;
        }
        let id = VarId(frame.function.vars.len() as u32);
        frame.function.vars.push(plain_var(name, VarKind::Unresolved, Type::Unknown, span));
        if let Some(scope) = frame.scopes.first_mut() {
            scope.insert(name.to_owned(), id);
        }
        id
    }

    pub fn is_template_type(&self, name: &str) -> bool {
        // `template <Num T>` gives a value parameter of type `Num`; use as a type shows that `Num` is a concept.
        let constrained = |f: &Frame| {
            let class = |p: &TemplateParam| matches!(p.value_type, Some(Type::Named(_)));
            f.function.template.iter().any(|p| p.name == name && class(p))
        };
        self.frames.iter().any(|f| f.types.contains(name) || constrained(f))
            || self.outer_templates.iter().flatten().any(|p| p.value_type.is_none() && p.name == name)
    }
}

pub(super) fn plain_var(name: &str, kind: VarKind, ty: Type, span: Span) -> Var {
    Var {
        name: name.to_owned(),
        kind,
        ty,
        is_const: false,
        is_constexpr: false,
        is_volatile: false,
        is_static: false,
        is_extern: false,
        alignment: None,
        name_span: span,
        span,
        init: None,
    }
}

/// The extents of an array type, outermost first, where they are literals or names.
fn array_lengths(function: &Function, ty: &Type) -> Vec<Option<Expr>> {
    let mut found = vec![];
    let mut at = ty;
    loop {
        match at {
            Type::Array { elem, len } => {
                let simple = len
                    .and_then(|l| function.exprs.get(l.0 as usize))
                    .filter(|e| matches!(e.kind, ExprKind::Int(_) | ExprKind::Name(_)));
                found.push(simple.cloned());
                at = elem;
            }
            Type::Pointer(p) | Type::Reference(p) => at = &p.ty,
            _ => return found,
        }
    }
}

/// The same type with its extents as expressions of `function`.
fn rebuild_lengths(function: &mut Function, ty: &Type, lengths: &mut dyn Iterator<Item = Option<Expr>>) -> Type {
    match ty {
        Type::Array { elem, .. } => {
            let len = lengths.next().flatten().map(|e| {
                function.exprs.push(e);
                ExprId(function.exprs.len() as u32 - 1)
            });
            Type::Array { elem: Box::new(rebuild_lengths(function, elem, lengths)), len }
        }
        Type::Pointer(p) | Type::Reference(p) => {
            let inner = rebuild_lengths(function, &p.ty, lengths);
            let pointee = Arc::new(Pointee { ty: inner, ..**p });
            if matches!(ty, Type::Pointer(_)) { Type::Pointer(pointee) } else { Type::Reference(pointee) }
        }
        other => other.clone(),
    }
}

/// The type without extents, for places that have no expressions.
pub(super) fn without_lengths(ty: &Type) -> Type {
    match ty {
        Type::Array { elem, .. } => Type::Array { elem: Box::new(without_lengths(elem)), len: None },
        Type::Pointer(p) => Type::Pointer(Arc::new(Pointee { ty: without_lengths(&p.ty), ..**p })),
        other => other.clone(),
    }
}
