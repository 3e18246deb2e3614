//! The concrete tree: parsing with limits, and small helpers over nodes.

use std::ops::ControlFlow;
use tree_sitter::{Node, ParseOptions, Parser, Tree};

/// Files above this size are not parsed (K0013): nothing that people write by hand comes near it.
pub const MAX_BYTES: usize = 8 << 20;

/// Parses a masked text. `None` when it is larger than [`MAX_BYTES`] or needs more parser steps than a text of its
/// length may; the limit counts work, not time, so that the same text always gives the same answer.
pub fn parse_tree(masked: &str) -> Option<Tree> {
    if masked.len() > MAX_BYTES {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_cuda::LANGUAGE.into()).ok()?;
    let bytes = masked.as_bytes();
    // The parser reports every hundred operations or so; clean text takes about one report per two hundred bytes.
    let limit = 2_000 + bytes.len() / 16;
    let mut reports = 0usize;
    let mut progress = |_: &tree_sitter::ParseState| {
        reports += 1;
        if reports > limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or(&[]), None, Some(options))
}

/// Children of `node` with their field names, comments left out.
pub fn children<'t>(node: Node<'t>) -> Vec<(Option<&'t str>, Node<'t>)> {
    let mut found = vec![];
    let mut cursor = node.walk();
    if cursor.goto_first_child() {
        loop {
            let child = cursor.node();
            if child.kind() != "comment" {
                found.push((cursor.field_name(), child));
            }
            if !cursor.goto_next_sibling() {
                break;
            }
        }
    }
    found
}

/// Named children without comments.
pub fn named<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    children(node).into_iter().map(|(_, n)| n).filter(|n| n.is_named()).collect()
}

pub fn field<'t>(node: Node<'t>, name: &str) -> Option<Node<'t>> {
    node.child_by_field_name(name)
}

/// The first ERROR or MISSING node inside `node`, found along the flagged path only.
pub fn first_error(node: Node) -> Option<Node> {
    let mut at = node;
    loop {
        if at.is_error() || at.is_missing() {
            return Some(at);
        }
        if !at.has_error() {
            return None;
        }
        let mut cursor = at.walk();
        let next = at.children(&mut cursor).find(|c| c.has_error() || c.is_missing() || c.is_error());
        match next {
            Some(child) => at = child,
            None => return Some(at),
        }
    }
}
