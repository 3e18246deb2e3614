//! Statements.

use super::lower::{Lower, MAX_DEPTH};
use super::tree::{children, field, named};
use crate::ir::*;
use crate::source::Span;
use crate::source::mask::AttributeKind;
use tree_sitter::Node;

impl<'a> Lower<'a> {
    /// Lowers the body of the open function.
    pub fn body(&mut self, body: Option<Node<'a>>, whole: Node<'a>) {
        let Some(body) = body else { return };
        let span = self.span(body);
        self.function().body_span = Some(span);
        self.push_scope();
        let block = if body.kind() == "try_statement" {
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

    fn statements(&mut self, nodes: Vec<Node<'a>>) -> Block {
        let mut stmts = vec![];
        for node in nodes {
            stmts.extend(self.statement(node));
        }
        Block { stmts }
    }

    /// A nested statement as a block: braces are looked through, anything else is a block of one.
    fn block(&mut self, node: Option<Node<'a>>) -> Block {
        let Some(node) = node else { return Block::default() };
        self.push_scope();
        let block = match node.kind() {
            "compound_statement" => self.statements_deeper(node),
            "else_clause" => {
                let inner = named(node).into_iter().next();
                match inner {
                    Some(n) if n.kind() == "compound_statement" => self.statements_deeper(n),
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
            "declaration" => return self.declaration(node),
            "expression_statement" => match self.expression_statement(node) {
                Ok(kind) => kind,
                Err(declared) => return declared,
            },
            "compound_statement" => {
                self.push_scope();
                let block = self.statements_deeper(node);
                self.pop_scope();
                StmtKind::Block(block)
            }
            "if_statement" => return self.if_statement(node),
            "for_statement" => self.for_statement(node),
            "while_statement" => return self.while_statement(node),
            "do_statement" => self.do_statement(node),
            "for_range_loop" => self.range_loop(node),
            "switch_statement" => self.switch(node),
            "case_statement" => return self.case(node),
            "return_statement" | "co_return_statement" => {
                StmtKind::Return(named(node).into_iter().next().map(|e| self.expr(e)))
            }
            "break_statement" => StmtKind::Break,
            "continue_statement" => StmtKind::Continue,
            "preproc_if" | "preproc_ifdef" => self.conditional_block(node),
            "preproc_call" => self.directive(node),
            "preproc_def" | "preproc_function_def" | "preproc_include" => return vec![],
            "attributed_statement" => {
                let inner = named(node).into_iter().filter(|n| !n.kind().starts_with("attribute"));
                return inner.flat_map(|n| self.statement(n)).collect();
            }
            "type_definition" | "alias_declaration" => {
                self.local_alias(node);
                StmtKind::Opaque { what: "type alias".into(), children: vec![] }
            }
            "using_declaration" | "static_assert_declaration" | "namespace_alias_definition" => {
                StmtKind::Opaque { what: node.kind().replace('_', " "), children: vec![] }
            }
            "struct_specifier" | "class_specifier" | "union_specifier" | "enum_specifier" => {
                StmtKind::Opaque { what: "local type".into(), children: vec![] }
            }
            "ERROR" => self.error_statement(node),
            "try_statement" | "labeled_statement" | "seh_try_statement" => {
                // What is inside runs or not; it stays visible as a block behind the opaque statement.
                let what = if node.kind() == "labeled_statement" { "label" } else { "try" };
                let head = self.add_stmt(StmtKind::Opaque { what: what.into(), children: vec![] }, span);
                let mut found = vec![head];
                for inner in named(node).into_iter().filter(|n| !n.kind().ends_with("identifier")) {
                    let inner =
                        if inner.kind() == "catch_clause" { field(inner, "body").unwrap_or(inner) } else { inner };
                    found.extend(self.statement(inner));
                }
                return found;
            }
            "goto_statement" => StmtKind::Opaque { what: "goto".into(), children: vec![] },
            "throw_statement" => StmtKind::Opaque { what: "throw".into(), children: self.exprs(node) },
            kind if is_expression(kind) => StmtKind::Expr(self.expr(node)),
            kind => StmtKind::Opaque { what: kind.replace('_', " "), children: vec![] },
        };
        vec![self.add_stmt(kind, span)]
    }

    fn expression_statement(&mut self, node: Node<'a>) -> Result<StmtKind, Vec<StmtId>> {
        let Some(inner) = named(node).into_iter().next() else { return Ok(StmtKind::Empty) };
        match inner.kind() {
            "gnu_asm_expression" => return Ok(self.asm(inner)),
            "assignment_expression" | "subscript_expression" => {
                if let Some(stmt) = self.parenthesized_declaration(node, inner) {
                    return Err(vec![stmt]);
                }
            }
            "call_expression" | "identifier" => {
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
            "identifier" => self.text(inner),
            _ => field(inner, "function").filter(|f| f.kind() == "identifier").map(|f| self.text(f))?,
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
        let children = field(inner, "arguments").map(|a| self.exprs(a)).unwrap_or_default();
        self.flaw(FlawKind::OpaqueMacro, span);
        Some(StmtKind::Opaque { what: format!("macro {name}"), children })
    }

    fn error_statement(&mut self, node: Node<'a>) -> StmtKind {
        let span = self.span(node);
        self.flaw(FlawKind::SyntaxError, span);
        let readable = named(node).into_iter().filter(|n| is_expression(n.kind()) || n.kind() == "identifier");
        let children = readable.collect::<Vec<_>>().into_iter().map(|n| self.expr(n)).collect();
        StmtKind::Opaque { what: "syntax error".into(), children }
    }

    /// A macro that opens a loop, read as `while` or `if`: how often its body runs, and what it declares, is unknown.
    fn loop_macro(&mut self, node: Node<'a>, inner: Option<Node<'a>>) -> Vec<StmtId> {
        let span = self.span(node);
        let id = self.new_loop(LoopKind::Opaque, node, inner);
        self.push_scope();
        let (mut head, condition) = self.condition(node);
        let name = self.input.original.get(node.byte_range()).unwrap_or("").split('(').next().unwrap_or("").trim();
        let what = format!("macro {name}");
        let clause = self.function().exprs.get(condition.0 as usize).map_or(span, |e| e.span);
        head.push(self.add_stmt(StmtKind::Opaque { what, children: vec![condition] }, clause));
        let mut body = self.block(inner);
        body.stmts.splice(0..0, head);
        self.pop_scope();
        vec![self.add_stmt(StmtKind::OpaqueLoop { id, body }, span)]
    }

    fn if_statement(&mut self, node: Node<'a>) -> Vec<StmtId> {
        if self.input.is_loop_macro(node.start_byte()) {
            return self.loop_macro(node, field(node, "consequence"));
        }
        let span = self.span(node);
        self.push_scope();
        let (mut before, condition) = self.condition(node);
        let is_constexpr = children(node).iter().any(|(_, c)| c.kind() == "constexpr");
        let then = self.block(field(node, "consequence"));
        let otherwise = field(node, "alternative").map(|a| self.block(Some(a)));
        self.pop_scope();
        before.push(self.add_stmt(StmtKind::If { condition, is_constexpr, then, otherwise }, span));
        before
    }

    /// The condition of `if`, `while` or `switch`; declarations in it come out as statements in front.
    fn condition(&mut self, node: Node<'a>) -> (Vec<StmtId>, ExprId) {
        let Some(clause) = field(node, "condition") else {
            return (vec![], self.opaque("missing condition", node, vec![]));
        };
        let clause = if clause.kind() == "parenthesized_expression" {
            named(clause).into_iter().next().unwrap_or(clause)
        } else {
            clause
        };
        let mut before = vec![];
        if let Some(init) = field(clause, "initializer") {
            for inner in named(init) {
                before.extend(self.statement(inner));
            }
        }
        let value = field(clause, "value").or_else(|| (clause.kind() != "condition_clause").then_some(clause));
        match value {
            Some(v) if v.kind() == "declaration" => {
                let declared = self.condition_declaration(v);
                before.push(declared.0);
                (before, declared.1)
            }
            Some(v) => {
                let e = self.expr(v);
                (before, e)
            }
            None => {
                let inside = named(clause).into_iter().map(|n| self.expr(n)).collect();
                (before, self.opaque("condition", clause, inside))
            }
        }
    }

    /// `while (int n = g())`.
    fn condition_declaration(&mut self, node: Node<'a>) -> (StmtId, ExprId) {
        let s = self.specifiers(node);
        let base = field(node, "type").map_or(Type::Unknown, |t| self.base_type(t));
        let d = self.declarator(base, s.is_const, s.is_volatile, field(node, "declarator"));
        let init = field(node, "value").map(|v| self.expr(v));
        let span = self.span(node);
        let name = d.name.map_or("", |n| self.text(n));
        let mut var = super::lower::plain_var(name, VarKind::Local, d.ty.clone(), span);
        var.init = init;
        let id = self.add_var(var);
        let stmt = self.add_stmt(StmtKind::Declare { var: id, init }, span);
        (stmt, self.add_expr(ExprKind::Var(id), d.ty, span))
    }

    fn new_loop(&mut self, kind: LoopKind, node: Node<'a>, body: Option<Node<'a>>) -> LoopId {
        let end = body.map_or(node.end_byte(), |b| b.start_byte());
        let header = self.input.text.get(node.start_byte()..end).unwrap_or("");
        let header_end = node.start_byte() + header.rfind(')').map_or(header.trim_end().len(), |i| i + 1);
        let body_span = body.map_or(self.span(node), |b| self.span(b));
        let lp = Loop {
            kind,
            stmt: StmtId(0),
            parent: None,
            induction: None,
            header_span: self.input.span(node.start_byte()..header_end),
            body_span,
            has_braces: body.is_some_and(|b| b.kind() == "compound_statement"),
            has_break: false,
            has_continue: false,
            has_return: false,
            unroll: self.unroll_before(node.start_byte()),
            guards: vec![],
        };
        let loops = &mut self.function().loops;
        loops.push(lp);
        LoopId(loops.len() as u32 - 1)
    }

    /// `#pragma unroll` (or `_Pragma("unroll")`) that stands directly in front of a loop, read from the original.
    fn unroll_before(&self, start: usize) -> Option<(String, Span)> {
        let attributes = &self.input.masked.attributes;
        let until = attributes.partition_point(|a| a.span.start < start);
        let near = attributes.get(..until).unwrap_or(&[]).iter().rev().take(4);
        for a in near.filter(|a| a.kind == AttributeKind::Unroll) {
            let gap = self.input.text.get(a.span.end..start);
            if gap.is_some_and(is_blank_or_comment) {
                let text = self.input.original.get(a.span.clone()).unwrap_or("").trim().to_owned();
                return Some((text, self.input.span(a.span.clone())));
            }
        }
        let before = self.input.original.get(..start)?;
        let trimmed = before.trim_end();
        if let Some(open) = trimmed.rfind("_Pragma")
            && trimmed.get(open..).is_some_and(|p| p.ends_with(')') && p.contains("unroll") && !p.contains(';'))
        {
            return Some((trimmed.get(open..)?.to_owned(), self.input.span(open..trimmed.len())));
        }
        let mut end = trimmed.len();
        // Comments may stand between the pragma and its loop.
        for _ in 0..8 {
            let head = trimmed.get(..end)?;
            let line_start = head.rfind('\n').map_or(0, |i| i + 1);
            let line = head.get(line_start..)?;
            let text = line.trim_start();
            if text.starts_with('#') {
                let rest = text[1..].trim_start();
                let is_unroll = rest.starts_with("pragma") && rest.contains("unroll");
                let at = line_start + (line.len() - text.len());
                return is_unroll
                    .then(|| (text.trim_end().to_owned(), self.input.span(at..at + text.trim_end().len())));
            }
            if !text.starts_with("//") && !text.trim().is_empty() {
                return None;
            }
            end = line_start.checked_sub(1)?;
        }
        None
    }

    fn for_statement(&mut self, node: Node<'a>) -> StmtKind {
        let body = field(node, "body");
        let id = self.new_loop(LoopKind::For, node, body);
        self.push_scope();
        let init = match field(node, "initializer") {
            Some(i) if i.kind() == "init_statement" => named(i).into_iter().flat_map(|n| self.statement(n)).collect(),
            Some(i) => self.statement(i),
            None => vec![],
        };
        let condition = field(node, "condition").map(|c| self.expr(c));
        let step = field(node, "update").map(|u| self.expr(u));
        if let Some(c) = condition {
            self.check_for_condition(c);
        }
        let body = self.block(body);
        self.pop_scope();
        StmtKind::For { id, init, condition, step, body }
    }

    fn while_statement(&mut self, node: Node<'a>) -> Vec<StmtId> {
        let span = self.span(node);
        let body = field(node, "body");
        if self.input.is_loop_macro(node.start_byte()) {
            return self.loop_macro(node, body);
        }
        let id = self.new_loop(LoopKind::While, node, body);
        self.push_scope();
        let (mut before, condition) = self.condition(node);
        let body = self.block(body);
        self.pop_scope();
        before.push(self.add_stmt(StmtKind::While { id, condition, body }, span));
        before
    }

    fn do_statement(&mut self, node: Node<'a>) -> StmtKind {
        let inner = field(node, "body");
        let id = self.new_loop(LoopKind::DoWhile, node, inner);
        let keyword = self.input.span(node.start_byte()..(node.start_byte() + 2).min(node.end_byte()));
        if let Some(l) = self.function().loops.get_mut(id.0 as usize) {
            l.header_span = keyword;
        }
        let body = self.block(inner);
        let (_, condition) = self.condition(node);
        StmtKind::DoWhile { id, body, condition }
    }

    fn range_loop(&mut self, node: Node<'a>) -> StmtKind {
        let body = field(node, "body");
        let id = self.new_loop(LoopKind::Opaque, node, body);
        self.push_scope();
        let range = field(node, "right").map(|r| self.expr(r));
        let base = field(node, "type").map_or(Type::Unknown, |t| self.base_type(t));
        let d = self.declarator(base, false, false, field(node, "declarator"));
        let mut head = vec![];
        if let Some(name) = d.name {
            let span = self.span(name);
            let var = self.add_var(super::lower::plain_var(self.text(name), VarKind::Local, d.ty, span));
            head.push(self.add_stmt(StmtKind::Declare { var, init: range }, span));
        }
        let mut body = self.block(body);
        body.stmts.splice(0..0, head);
        self.pop_scope();
        StmtKind::OpaqueLoop { id, body }
    }

    fn switch(&mut self, node: Node<'a>) -> StmtKind {
        let (_, value) = self.condition(node);
        let body = self.block(field(node, "body"));
        StmtKind::Switch { value, body }
    }

    fn case(&mut self, node: Node<'a>) -> Vec<StmtId> {
        let mut found = vec![];
        for (name, child) in children(node) {
            if name != Some("value") && child.is_named() {
                found.extend(self.statement(child));
            }
        }
        found
    }

    /// `#if` around statements.
    fn conditional_block(&mut self, node: Node<'a>) -> StmtKind {
        let mut arms = vec![];
        let mut at = Some(node);
        while let Some(arm) = at {
            at = field(arm, "alternative");
            let inside = children(arm)
                .into_iter()
                .filter(|(name, n)| n.is_named() && !matches!(name, Some("condition" | "name" | "alternative")));
            let nodes: Vec<Node<'a>> = inside.map(|(_, n)| n).collect();
            let end = at.map_or(arm.end_byte(), |n| n.start_byte());
            let span = self.input.span(arm.start_byte()..end);
            // Names declared in an arm stay visible after it, as after preprocessing.
            let block = self.statements(nodes);
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
        let operand = |n: Node<'a>| field(n, "value").or_else(|| named(n).into_iter().next_back());
        let outputs = texts(field(node, "output_operands"));
        let mut reads: Vec<ExprId> = vec![];
        let mut writes = vec![];
        for output in outputs {
            let Some(value) = operand(output) else { continue };
            let e = self.expr(value);
            let constraint = field(output, "constraint").map_or("", |c| self.text(c));
            writes.push(e);
            if constraint.contains('+') {
                reads.push(e);
            }
        }
        for input in texts(field(node, "input_operands")) {
            if let Some(value) = operand(input) {
                reads.push(self.expr(value));
            }
        }
        let clobbers = field(node, "clobbers").map_or("", |c| self.text(c));
        let code = field(node, "assembly_code");
        let template = code.and_then(|c| self.input.original.get(c.byte_range())).unwrap_or("").to_owned();
        let is_volatile = children(node).iter().any(|(_, n)| n.kind() == "gnu_asm_qualifier");
        StmtKind::Asm { writes, reads, is_volatile, clobbers_memory: clobbers.contains("memory"), template }
    }
}

fn has_kernel_call(node: Node) -> bool {
    super::call::has_child(node, "kernel_call_syntax")
}

/// Capitals, digits and underscores only, at least three of them.
pub(super) fn is_macro_name(name: &str) -> bool {
    name.len() >= 3
        && name.chars().any(|c| c.is_ascii_uppercase())
        && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
        || name == "_Pragma"
}

fn is_expression(kind: &str) -> bool {
    kind.ends_with("_expression") || kind.ends_with("_literal") || matches!(kind, "identifier" | "qualified_identifier")
}

fn is_blank_or_comment(gap: &str) -> bool {
    gap.lines().all(|l| l.trim().is_empty() || l.trim_start().starts_with("//"))
}
