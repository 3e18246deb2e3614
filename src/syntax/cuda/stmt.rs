//! Statements.

use super::kind::{ATTRIBUTE, EXPRESSION, Field, IDENTIFIER, Kind};
use super::lower::{Lower, MAX_DEPTH};
use super::tree::{Node, children, field, named};
use crate::ir::*;

impl<'a> Lower<'a> {
    /// Lowers the body of the open function.
    pub fn body(&mut self, body: Option<Node<'a>>, whole: Node<'a>) {
        let Some(body) = body else { return };
        let span = self.span(body);
        self.function().body_span = Some(span);
        self.push_scope();
        let block = if body.kind() == Kind::TryStatement {
            Block { stmts: self.statement(body) }
        } else {
            self.statements(named(body))
        };
        self.pop_scope();
        self.function().body = block;
        if let Some(error) = super::tree::first_error(whole) {
            let span = self.span(error);
            self.flaw(FlawKind::SyntaxError, span);
        }
        let (input, all) = (self.input, self.span(whole));
        for dropped in input.spans(&input.masked.dropped).into_iter().filter(|d| all.overlaps(*d)) {
            self.flaw(FlawKind::DroppedBranch, dropped);
        }
        for suspect in input.spans(&input.masked.suspicions).into_iter().filter(|d| all.overlaps(*d)) {
            self.flaw(FlawKind::SuspectedMisparse, suspect);
        }
        for condition in input.blanked_conditions(all.range()) {
            self.flaw(FlawKind::DroppedBranch, condition);
        }
        for semicolon in input.added_semicolons(all.range()) {
            let touches = |f: &Flaw| {
                f.kind == FlawKind::OpaqueMacro && f.span.end + 1 >= semicolon.start && f.span.start <= semicolon.start
            };
            if !self.function().flaws.iter().any(touches) {
                self.flaw(FlawKind::OpaqueMacro, semicolon);
            }
        }
        for opaque in input.opaque_macros(all.range()) {
            self.flaw(FlawKind::OpaqueMacro, opaque);
        }
    }

    fn statements(&mut self, nodes: impl Iterator<Item = Node<'a>>) -> Block {
        let mut stmts = vec![];
        for node in nodes {
            stmts.extend(self.statement(node));
        }
        Block { stmts }
    }

    /// A nested statement as a block: braces are looked through, anything else is a block of one.
    pub fn block(&mut self, node: Option<Node<'a>>) -> Block {
        let Some(node) = node else { return Block::default() };
        self.push_scope();
        let block = match node.kind() {
            Kind::CompoundStatement => self.statements_deeper(node),
            Kind::ElseClause => {
                let inner = named(node).next();
                match inner {
                    Some(n) if n.kind() == Kind::CompoundStatement => self.statements_deeper(n),
                    Some(n) => Block { stmts: self.statement(n) },
                    None => Block::default(),
                }
            }
            _ => Block { stmts: self.statement(node) },
        };
        self.pop_scope();
        block
    }

    fn statements_deeper(&mut self, node: Node<'a>) -> Block {
        if self.depth >= MAX_DEPTH {
            let span = self.span(node);
            self.flaw(FlawKind::TooDeep, span);
            let stmt = self.add_stmt(StmtKind::Opaque { what: "nested too deep".into(), children: vec![] }, span);
            return Block { stmts: vec![stmt] };
        }
        self.depth += 1;
        let block = self.statements(named(node));
        self.depth -= 1;
        block
    }

    /// One statement of the text; a declaration gives one statement per declarator.
    pub fn statement(&mut self, node: Node<'a>) -> Vec<StmtId> {
        if self.depth >= MAX_DEPTH {
            let span = self.span(node);
            self.flaw(FlawKind::TooDeep, span);
            return vec![self.add_stmt(StmtKind::Opaque { what: "nested too deep".into(), children: vec![] }, span)];
        }
        self.depth += 1;
        let stmts = self.statement_inner(node);
        self.depth -= 1;
        stmts
    }

    fn statement_inner(&mut self, node: Node<'a>) -> Vec<StmtId> {
        let span = self.span(node);
        let kind = match node.kind() {
            Kind::Declaration => return self.declaration(node),
            Kind::ExpressionStatement => match self.expression_statement(node) {
                Ok(kind) => kind,
                Err(declared) => return declared,
            },
            Kind::CompoundStatement => {
                self.push_scope();
                let block = self.statements_deeper(node);
                self.pop_scope();
                StmtKind::Block(block)
            }
            Kind::IfStatement => return self.if_statement(node),
            Kind::ForStatement => self.for_statement(node),
            Kind::WhileStatement => return self.while_statement(node),
            Kind::DoStatement => self.do_statement(node),
            Kind::ForRangeLoop => self.range_loop(node),
            Kind::SwitchStatement => return self.switch(node),
            Kind::CaseStatement => {
                // Not directly in the body of a switch: a jump into the statement around it.
                let head = self.add_stmt(StmtKind::Opaque { what: "label of a switch".into(), children: vec![] }, span);
                let (_, inside) = self.case(node);
                return std::iter::once(head).chain(inside).collect();
            }
            Kind::ReturnStatement | Kind::CoReturnStatement => {
                StmtKind::Return(named(node).next().map(|e| self.expr(e)))
            }
            Kind::BreakStatement => StmtKind::Break,
            Kind::ContinueStatement => StmtKind::Continue,
            Kind::PreprocIf | Kind::PreprocIfdef => self.conditional_block(node),
            Kind::PreprocCall => self.directive(node),
            Kind::PreprocDef | Kind::PreprocFunctionDef | Kind::PreprocInclude => return vec![],
            Kind::AttributedStatement => {
                let inner = named(node).filter(|n| !n.is(ATTRIBUTE));
                return inner.flat_map(|n| self.statement(n)).collect();
            }
            Kind::TypeDefinition | Kind::AliasDeclaration => {
                self.local_alias(node);
                StmtKind::Opaque { what: "type alias".into(), children: vec![] }
            }
            Kind::UsingDeclaration | Kind::StaticAssertDeclaration | Kind::NamespaceAliasDefinition => {
                StmtKind::Opaque { what: node.name().replace('_', " "), children: vec![] }
            }
            Kind::StructSpecifier | Kind::ClassSpecifier | Kind::UnionSpecifier | Kind::EnumSpecifier => {
                StmtKind::Opaque { what: "local type".into(), children: vec![] }
            }
            Kind::Error => self.error_statement(node),
            Kind::TryStatement | Kind::LabeledStatement | Kind::SehTryStatement => {
                // What is inside runs or not; it stays visible as a block behind the opaque statement.
                let what = if node.kind() == Kind::LabeledStatement { "label" } else { "try" };
                let head = self.add_stmt(StmtKind::Opaque { what: what.into(), children: vec![] }, span);
                let mut found = vec![head];
                for inner in named(node).filter(|n| !n.is(IDENTIFIER)) {
                    let inner = if inner.kind() == Kind::CatchClause {
                        field(inner, Field::Body).unwrap_or(inner)
                    } else {
                        inner
                    };
                    found.extend(self.statement(inner));
                }
                return found;
            }
            Kind::GotoStatement => StmtKind::Opaque { what: "goto".into(), children: vec![] },
            Kind::ThrowStatement => StmtKind::Opaque { what: "throw".into(), children: self.exprs(node) },
            _ if node.is(EXPRESSION) => StmtKind::Expr(self.expr(node)),
            _ => StmtKind::Opaque { what: node.name().replace('_', " "), children: vec![] },
        };
        vec![self.add_stmt(kind, span)]
    }

    fn expression_statement(&mut self, node: Node<'a>) -> Result<StmtKind, Vec<StmtId>> {
        let Some(inner) = named(node).next() else { return Ok(StmtKind::Empty) };
        match inner.kind() {
            Kind::GnuAsmExpression => return Ok(self.asm(inner)),
            Kind::BinaryExpression | Kind::CommaExpression => {
                if let Some(stmt) = self.template_declaration(node, inner) {
                    return Err(vec![stmt]);
                }
            }
            Kind::AssignmentExpression | Kind::SubscriptExpression => {
                if let Some(stmt) = self.parenthesized_declaration(node, inner) {
                    return Err(vec![stmt]);
                }
            }
            Kind::CallExpression | Kind::Identifier => {
                if let Some(kind) = self.macro_statement(node, inner) {
                    return Ok(kind);
                }
            }
            _ => {}
        }
        Ok(StmtKind::Expr(self.expr(inner)))
    }

    /// A macro that stands as a statement: `CHECK(x)`, `UNROLL`. A name in capitals that nothing here declares.
    fn macro_statement(&mut self, node: Node<'a>, inner: Node<'a>) -> Option<StmtKind> {
        let name = match inner.kind() {
            Kind::Identifier => self.text(inner),
            _ => field(inner, Field::Function).filter(|f| f.kind() == Kind::Identifier).map(|f| self.text(f))?,
        };
        if has_kernel_call(inner) {
            return None;
        }
        let known_macro = self.input.is_function_macro(name);
        if self.lookup(name).is_some() || self.returns.contains_key(name) || !(known_macro || is_macro_name(name)) {
            return None;
        }
        let span = self.span(node);
        if name == "_Pragma" {
            return Some(StmtKind::Pragma(self.text(inner).to_owned()));
        }
        let children = field(inner, Field::Arguments).map(|a| self.exprs(a)).unwrap_or_default();
        self.flaw(FlawKind::OpaqueMacro, span);
        Some(StmtKind::Opaque { what: format!("macro {name}"), children })
    }

    fn error_statement(&mut self, node: Node<'a>) -> StmtKind {
        let span = self.span(node);
        self.flaw(FlawKind::SyntaxError, span);
        let readable = named(node).filter(|n| n.is(EXPRESSION));
        let children = readable.map(|n| self.expr(n)).collect();
        StmtKind::Opaque { what: "syntax error".into(), children }
    }

    fn if_statement(&mut self, node: Node<'a>) -> Vec<StmtId> {
        if self.input.is_loop_macro(node.start_byte()) {
            return self.loop_macro(node, field(node, Field::Consequence));
        }
        let span = self.span(node);
        self.push_scope();
        let (mut before, condition) = self.condition(node);
        let is_constexpr = children(node).any(|c| c.kind() == Kind::Constexpr);
        let then = self.block(field(node, Field::Consequence));
        let otherwise = field(node, Field::Alternative).map(|a| self.block(Some(a)));
        self.pop_scope();
        before.push(self.add_stmt(StmtKind::If { condition, is_constexpr, then, otherwise }, span));
        before
    }

    /// The condition of `if`, `while` or `switch`; declarations in it come out as statements in front.
    pub fn condition(&mut self, node: Node<'a>) -> (Vec<StmtId>, ExprId) {
        let Some(clause) = field(node, Field::Condition) else {
            return (vec![], self.opaque("missing condition", node, vec![]));
        };
        let clause = if clause.kind() == Kind::ParenthesizedExpression {
            named(clause).next().unwrap_or(clause)
        } else {
            clause
        };
        let mut before = vec![];
        if let Some(init) = field(clause, Field::Initializer) {
            for inner in named(init) {
                before.extend(self.statement(inner));
            }
        }
        let value = field(clause, Field::Value).or_else(|| (clause.kind() != Kind::ConditionClause).then_some(clause));
        match value {
            Some(v) if v.kind() == Kind::Declaration => {
                let declared = self.condition_declaration(v);
                before.push(declared.0);
                (before, declared.1)
            }
            Some(v) => {
                let e = self.expr(v);
                (before, e)
            }
            None => {
                let inside = named(clause).map(|n| self.expr(n)).collect();
                (before, self.opaque("condition", clause, inside))
            }
        }
    }

    /// `while (int n = g())`.
    fn condition_declaration(&mut self, node: Node<'a>) -> (StmtId, ExprId) {
        let s = self.specifiers(node);
        let base = field(node, Field::Type).map_or(Type::Unknown, |t| self.base_type(t));
        let d = self.declarator(base, s.is_const, s.is_volatile, field(node, Field::Declarator));
        let init = field(node, Field::Value).map(|v| self.expr(v));
        let span = self.span(node);
        let name = d.name.map_or("", |n| self.text(n));
        let mut var = super::lower::plain_var(name, VarKind::Local, d.ty.clone(), span);
        var.init = init;
        let id = self.add_var(var);
        let stmt = self.add_stmt(StmtKind::Declare { var: id, init }, span);
        (stmt, self.add_expr(ExprKind::Var(id), d.ty, span))
    }

    fn switch(&mut self, node: Node<'a>) -> Vec<StmtId> {
        let span = self.span(node);
        self.push_scope();
        let (mut found, value) = self.condition(node);
        let (mut labels, mut stmts) = (vec![], vec![]);
        let body = field(node, Field::Body);
        let inside: Vec<Node<'a>> = match body {
            Some(b) if b.kind() == Kind::CompoundStatement => named(b).collect(),
            other => other.into_iter().collect(),
        };
        self.push_scope();
        for child in inside {
            if child.kind() == Kind::CaseStatement {
                let before = stmts.len() as u32;
                let (value, own) = self.case(child);
                labels.push(Label { before, value });
                stmts.extend(own);
            } else {
                stmts.extend(self.statement(child));
            }
        }
        self.pop_scope();
        self.pop_scope();
        found.push(self.add_stmt(StmtKind::Switch { value, labels, body: Block { stmts } }, span));
        found
    }

    /// The value of the label, which `default` has none of, and the statements behind it.
    fn case(&mut self, node: Node<'a>) -> (Option<ExprId>, Vec<StmtId>) {
        let value = field(node, Field::Value).map(|v| self.expr(v));
        let mut found = vec![];
        for child in children(node) {
            if child.field() != Field::Value && child.is_named() {
                found.extend(self.statement(child));
            }
        }
        (value, found)
    }

    /// `#if` around statements.
    fn conditional_block(&mut self, node: Node<'a>) -> StmtKind {
        let mut arms = vec![];
        let mut at = Some(node);
        while let Some(arm) = at {
            at = field(arm, Field::Alternative);
            let inside = children(arm)
                .filter(|n| n.is_named() && !matches!(n.field(), Field::Condition | Field::Name | Field::Alternative));
            let end = at.map_or(arm.end_byte(), |n| n.start_byte());
            let span = self.input.span(arm.start_byte()..end);
            // Names declared in an arm stay visible after it, as after preprocessing.
            let block = self.statements(inside);
            arms.push((span, block));
        }
        StmtKind::Preprocessor { arms }
    }

    fn directive(&mut self, node: Node<'a>) -> StmtKind {
        let text = self.text(node).trim();
        match text.trim_start_matches('#').trim_start().strip_prefix("pragma") {
            Some(rest) => StmtKind::Pragma(rest.trim().to_owned()),
            None => StmtKind::Opaque { what: "directive".into(), children: vec![] },
        }
    }

    fn asm(&mut self, node: Node<'a>) -> StmtKind {
        let texts = |list: Option<Node<'a>>| list.map(named).unwrap_or_default();
        let operand = |n: Node<'a>| field(n, Field::Value).or_else(|| named(n).last());
        let outputs = texts(field(node, Field::OutputOperands));
        let mut reads: Vec<ExprId> = vec![];
        let mut writes = vec![];
        for output in outputs {
            let Some(value) = operand(output) else { continue };
            let e = self.expr(value);
            let constraint = field(output, Field::Constraint).map_or("", |c| self.text(c));
            writes.push(e);
            if constraint.contains('+') {
                reads.push(e);
            }
        }
        for input in texts(field(node, Field::InputOperands)) {
            if let Some(value) = operand(input) {
                reads.push(self.expr(value));
            }
        }
        let clobbers = field(node, Field::Clobbers).map_or("", |c| self.text(c));
        let code = field(node, Field::AssemblyCode);
        let template = code.and_then(|c| self.input.original.get(c.byte_range())).unwrap_or("").to_owned();
        let is_volatile = children(node).any(|c| c.kind() == Kind::GnuAsmQualifier);
        StmtKind::Asm { writes, reads, is_volatile, clobbers_memory: clobbers.contains("memory"), template }
    }
}

fn has_kernel_call(node: Node) -> bool {
    super::call::has_child(node, Kind::KernelCallSyntax)
}

/// Capitals, digits and underscores only, at least three of them.
pub(super) fn is_macro_name(name: &str) -> bool {
    name.len() >= 3
        && name.chars().any(|c| c.is_ascii_uppercase())
        && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
        || name == "_Pragma"
}
