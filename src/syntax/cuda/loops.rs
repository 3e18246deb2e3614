//! Loops, the pragmas in front of them, and macros that open one.

use super::kind::{Field, Kind};
use super::lower::Lower;
use super::tree::{Node, field, named};
use crate::ir::*;
use crate::source::Span;
use crate::source::mask::AttributeKind;

impl<'a> Lower<'a> {
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
            has_braces: body.is_some_and(|b| b.kind() == Kind::CompoundStatement),
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
        // A pragma is short; looking further back would cost the whole file for every loop.
        let mut from = start.saturating_sub(400);
        while !self.input.original.is_char_boundary(from) {
            from -= 1;
        }
        let before = self.input.original.get(from..start)?;
        let trimmed = before.trim_end();
        if let Some(open) = trimmed.rfind("_Pragma")
            && trimmed.get(open..).is_some_and(|p| p.ends_with(')') && p.contains("unroll") && !p.contains(';'))
        {
            return Some((trimmed.get(open..)?.to_owned(), self.input.span(from + open..from + trimmed.len())));
        }
        let mut end = trimmed.len();
        // Comments may stand between the pragma and its loop.
        for _ in 0..8 {
            let head = trimmed.get(..end)?;
            let line_start = head.rfind('\n').map_or(0, |i| i + 1);
            let line = head.get(line_start..)?;
            let text = line.trim_start();
            if let Some(rest) = text.strip_prefix('#') {
                let rest = rest.trim_start();
                let is_unroll = rest.starts_with("pragma") && rest.contains("unroll");
                let at = from + line_start + (line.len() - text.len());
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

    pub fn for_statement(&mut self, node: Node<'a>) -> StmtKind {
        let body = field(node, Field::Body);
        let id = self.new_loop(LoopKind::For, node, body);
        self.push_scope();
        let init = match field(node, Field::Initializer) {
            Some(i) if i.kind() == Kind::InitStatement => named(i).flat_map(|n| self.statement(n)).collect(),
            Some(i) => self.statement(i),
            None => vec![],
        };
        let condition = field(node, Field::Condition).map(|c| self.expr(c));
        let step = field(node, Field::Update).map(|u| self.expr(u));
        if let Some(c) = condition {
            self.check_for_condition(c);
        }
        let body = self.block(body);
        self.pop_scope();
        StmtKind::For { id, init, condition, step, body }
    }

    pub fn while_statement(&mut self, node: Node<'a>) -> Vec<StmtId> {
        let span = self.span(node);
        let body = field(node, Field::Body);
        if self.input.is_loop_macro(node.start_byte()) {
            return self.loop_macro(node, body);
        }
        let id = self.new_loop(LoopKind::While, node, body);
        self.push_scope();
        let (mut head, condition) = self.condition(node);
        let mut body = self.block(body);
        self.pop_scope();
        if head.is_empty() {
            return vec![self.add_stmt(StmtKind::While { id, condition, body }, span)];
        }
        // `while (int left = n - k)` declares anew before every iteration.
        if let Some(l) = self.function().loops.get_mut(id.0 as usize) {
            l.kind = LoopKind::Opaque;
        }
        let clause = self.function().exprs.get(condition.0 as usize).map_or(span, |e| e.span);
        head.push(self.add_stmt(StmtKind::Expr(condition), clause));
        body.stmts.splice(0..0, head);
        vec![self.add_stmt(StmtKind::OpaqueLoop { id, body }, span)]
    }

    pub fn do_statement(&mut self, node: Node<'a>) -> StmtKind {
        let inner = field(node, Field::Body);
        let id = self.new_loop(LoopKind::DoWhile, node, inner);
        let keyword = self.input.span(node.start_byte()..(node.start_byte() + 2).min(node.end_byte()));
        if let Some(l) = self.function().loops.get_mut(id.0 as usize) {
            l.header_span = keyword;
        }
        let body = self.block(inner);
        let (_, condition) = self.condition(node);
        StmtKind::DoWhile { id, body, condition }
    }

    pub fn range_loop(&mut self, node: Node<'a>) -> StmtKind {
        let body = field(node, Field::Body);
        let id = self.new_loop(LoopKind::Opaque, node, body);
        self.push_scope();
        let range = field(node, Field::Right).map(|r| self.expr(r));
        let base = field(node, Field::Type).map_or(Type::Unknown, |t| self.base_type(t));
        let d = self.declarator(base, false, false, field(node, Field::Declarator));
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

    /// A macro that opens a loop, read as `while` or `if`: how often its body runs, and what it declares, is unknown.
    pub fn loop_macro(&mut self, node: Node<'a>, inner: Option<Node<'a>>) -> Vec<StmtId> {
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
}

fn is_blank_or_comment(gap: &str) -> bool {
    gap.lines().all(|l| l.trim().is_empty() || l.trim_start().starts_with("//"))
}
