//! The concrete tree: parsing with limits, and a flat copy of what the parser gives.
//!
//! The parser's own tree is walked once, by cursor. Every question after that (which kind, which child has this field)
//! is a look into one array in the order of the text.

use super::compact::Compact;
use super::kind::{Field, Kind, ORIGINAL, entry, field_of};
use std::cell::Cell;
use std::ops::{ControlFlow, Range};
use tree_sitter::{ParseOptions, Parser};

/// Files above this size are not parsed (K0013): nothing that people write by hand comes near it.
pub const MAX_BYTES: usize = 8 << 20;

/// One node in 24 bytes. Its descendants follow it in the array, up to but without `after`.
#[derive(Clone, Copy, Debug)]
struct Raw {
    start: u32,
    end: u32,
    after: u32,
    parent: u32,
    id: u16,
    kind: Kind,
    field: Field,
    marks: u8,
}

const NAMED: u8 = super::kind::NAMED;
const MISSING: u8 = 1 << 6;
const BROKEN: u8 = 1 << 7;

/// A concrete syntax tree.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    nodes: Vec<Raw>,
}

impl Tree {
    pub(super) fn root(&self) -> Option<Node<'_>> {
        self.node(0)
    }

    fn node(&self, at: u32) -> Option<Node<'_>> {
        ((at as usize) < self.nodes.len()).then_some(Node { nodes: &self.nodes, at })
    }
}

/// A place in a [`Tree`].
#[derive(Clone, Copy)]
pub(super) struct Node<'t> {
    nodes: &'t [Raw],
    at: u32,
}

impl PartialEq for Node<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl std::fmt::Debug for Node<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {:?}", self.name(), self.byte_range())
    }
}

impl<'t> Node<'t> {
    fn raw(self) -> &'t Raw {
        &self.nodes[self.at as usize]
    }

    pub fn kind(self) -> Kind {
        self.raw().kind
    }

    /// The grammar's name of the kind.
    pub fn name(self) -> &'static str {
        entry(self.raw().id).name
    }

    /// The field of its parent that it is.
    pub fn field(self) -> Field {
        self.raw().field
    }

    pub fn start_byte(self) -> usize {
        self.raw().start as usize
    }

    pub fn end_byte(self) -> usize {
        self.raw().end as usize
    }

    pub fn byte_range(self) -> Range<usize> {
        self.start_byte()..self.end_byte()
    }

    pub fn is_named(self) -> bool {
        self.raw().marks & NAMED != 0
    }

    /// Whether its text is a name or literal, to be read from what the user wrote.
    pub fn is_original(self) -> bool {
        self.raw().marks & ORIGINAL != 0
    }

    /// Whether it has one of the marks of [`super::kind`].
    pub fn is(self, mark: u8) -> bool {
        self.raw().marks & mark != 0
    }

    pub fn parent(self) -> Option<Node<'t>> {
        (self.at != 0).then(|| Node { at: self.raw().parent, ..self })
    }

    fn is_broken(self) -> bool {
        self.raw().marks & BROKEN != 0
    }

    fn is_wrong(self) -> bool {
        self.kind() == Kind::Error || self.raw().marks & MISSING != 0
    }
}

thread_local! {
    /// The parser of this thread, kept for its buffers.
    static PARSER: Cell<Option<Parser>> = const { Cell::new(None) };
}

fn new_parser() -> Option<Parser> {
    let mut parser = Parser::new();
    parser.set_language(super::kind::language()).ok()?;
    Some(parser)
}

/// Parses a masked text. `None` when it is larger than [`MAX_BYTES`] or needs more parser steps than a text of its
/// length may; the limit counts work, not time, so that the same text always gives the same answer.
pub fn parse_tree(masked: &str) -> Option<Tree> {
    if masked.len() > MAX_BYTES {
        return None;
    }
    // The parser reports every hundred operations or so; clean text takes about one report per two hundred bytes.
    let limit = 2_000 + masked.len() / 16;
    let compact = Compact::of(masked).and_then(|compact| {
        let tree = parse_within(&compact.text, limit).filter(|tree| !tree.root_node().has_error())?;
        Some(flat(&tree, |start, end| compact.place(start, end)))
    });
    // How the parser mends an error depends on how many characters it leaves out.
    compact.or_else(|| parse_within(masked.as_bytes(), limit).map(|tree| flat(&tree, as_it_is)))
}

/// The place of a node of the text itself.
fn as_it_is(start: usize, end: usize) -> (u32, u32) {
    (start as u32, end as u32)
}

fn parse_within(bytes: &[u8], limit: usize) -> Option<tree_sitter::Tree> {
    let mut reports = 0usize;
    let mut progress = |_: &tree_sitter::ParseState| {
        reports += 1;
        if reports > limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let mut parser = PARSER.take().or_else(new_parser)?;
    let tree = parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or(&[]), None, Some(options));
    // A parse that was stopped would go on with the next text.
    parser.reset();
    PARSER.set(Some(parser));
    tree
}

/// Walks the tree once. The counts of children spare the cursor its vain steps, which are its dearest.
fn flat(tree: &tree_sitter::Tree, place: impl Fn(usize, usize) -> (u32, u32)) -> Tree {
    let root = tree.root_node();
    let broken = root.has_error();
    let mut nodes: Vec<Raw> = Vec::with_capacity(root.descendant_count());
    // Nodes whose children are being read, with how many of them are still to come.
    let mut open: Vec<(u32, u32)> = vec![];
    let mut cursor = tree.walk();
    'walk: loop {
        let node = cursor.node();
        let id = node.kind_id();
        let known = entry(id);
        let mut marks = known.marks;
        if broken {
            marks |= if node.has_error() { BROKEN } else { 0 } | if node.is_missing() { MISSING } else { 0 };
        }
        let at = nodes.len() as u32;
        let (start, end) = place(node.start_byte(), node.end_byte());
        nodes.push(Raw {
            start,
            end,
            after: at + 1,
            parent: open.last().map_or(0, |p| p.0),
            id,
            kind: known.kind,
            field: if known.is_bracket { Field::None } else { cursor.field_id().map_or(Field::None, field_of) },
            marks,
        });
        let whole = known.is_quoted && marks & BROKEN == 0;
        let count = if whole { 0 } else { node.child_count() };
        if count > 0 && cursor.goto_first_child() {
            open.push((at, count));
            continue;
        }
        loop {
            let Some((parent, left)) = open.last_mut() else { break 'walk };
            *left -= 1;
            if *left > 0 && cursor.goto_next_sibling() {
                break;
            }
            if let Some(parent) = nodes.get_mut(*parent as usize) {
                parent.after = at + 1;
            }
            open.pop();
            cursor.goto_parent();
        }
    }
    Tree { nodes }
}

/// The children of a node in order, comments left out.
#[derive(Clone, Default)]
pub(super) struct Children<'t> {
    nodes: &'t [Raw],
    at: u32,
    end: u32,
    /// Marks of which each child has one; 0 asks for none.
    marks: u8,
}

impl<'t> Iterator for Children<'t> {
    type Item = Node<'t>;

    fn next(&mut self) -> Option<Node<'t>> {
        while self.at < self.end {
            let node = Node { nodes: self.nodes, at: self.at };
            self.at = node.raw().after;
            if node.kind() != Kind::Comment && (self.marks == 0 || node.is(self.marks)) {
                return Some(node);
            }
        }
        None
    }
}

/// Children of `node`, comments left out.
pub(super) fn children(node: Node<'_>) -> Children<'_> {
    Children { nodes: node.nodes, at: node.at + 1, end: node.raw().after, marks: 0 }
}

/// Named children without comments.
pub(super) fn named(node: Node<'_>) -> Children<'_> {
    Children { marks: NAMED, ..children(node) }
}

/// The named child of a node that has exactly one.
pub(super) fn only(node: Node<'_>) -> Option<Node<'_>> {
    let mut inside = named(node);
    let first = inside.next()?;
    inside.next().is_none().then_some(first)
}

/// The first child that is the field `name` of `node`.
pub(super) fn field(node: Node<'_>, name: Field) -> Option<Node<'_>> {
    children(node).find(|n| n.field() == name)
}

/// The first ERROR or MISSING node inside `node`, found along the flagged path only.
pub(super) fn first_error(node: Node<'_>) -> Option<Node<'_>> {
    let mut at = node;
    loop {
        if at.is_wrong() {
            return Some(at);
        }
        if !at.is_broken() {
            return None;
        }
        match children(at).find(|c| c.is_broken() || c.is_wrong()) {
            Some(child) => at = child,
            None => return Some(at),
        }
    }
}

/// The nodes around the byte at `start`, outermost first, while they reach to `end`.
pub(super) fn around(tree: &Tree, range: Range<usize>) -> impl Iterator<Item = Node<'_>> {
    let inner = move |node: &Node<'_>| {
        let mut at = node.at + 1;
        while at < node.raw().after {
            let below = Node { nodes: &tree.nodes, at };
            if below.end_byte() > range.start {
                return (below.end_byte() >= range.end).then_some(below);
            }
            at = below.raw().after;
        }
        None
    };
    std::iter::successors(tree.root(), inner)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Every node but comments and the root, as the text itself and as its compact form give it.
    pub(in super::super) fn both(text: &str) -> [Vec<String>; 2] {
        let limit = 2_000 + text.len();
        let listed = |tree: Tree| -> Vec<String> {
            let nodes = tree.nodes.iter().skip(1).filter(|n| n.kind != Kind::Comment);
            nodes.map(|n| format!("{} {:?} {}..{} {}", entry(n.id).name, n.field, n.start, n.end, n.marks)).collect()
        };
        let plain = parse_within(text.as_bytes(), limit).map(|tree| listed(flat(&tree, as_it_is)));
        [plain, parse_tree(text).map(listed)].map(Option::unwrap_or_default)
    }

    fn written(text: &str) -> String {
        let tree = parse_tree(text).expect("a tree");
        tree.nodes.iter().map(|n| format!("{:?} {}..{} {}\n", n.kind, n.start, n.end, n.after)).collect()
    }

    #[test]
    fn a_parse_that_was_stopped_leaves_no_trace() {
        let text = "__global__ void k(float* p) { if (p[0] < 1) p[1] = f<2>(p); }\n";
        let before = written(text);
        assert!(parse_within(text.repeat(500).as_bytes(), 3).is_none());
        assert_eq!(written(text), before);
    }

    #[test]
    fn fields_and_children_are_those_of_the_grammar() {
        let tree = parse_tree("int f(int a) { /* c */ return g(\"x\", a + 1); }").expect("a tree");
        let root = tree.root().expect("a root");
        let function = only(root).expect("one function");
        assert_eq!(function.kind(), Kind::FunctionDefinition);
        assert_eq!(function.parent(), Some(root));
        let body = field(function, Field::Body).expect("a body");
        let call = only(body).and_then(only).expect("a call");
        let arguments: Vec<&str> =
            field(call, Field::Arguments).map(named).expect("arguments").map(Node::name).collect();
        assert_eq!(arguments, ["string_literal", "binary_expression"]);
        let sum = field(call, Field::Arguments).and_then(|a| named(a).last()).expect("a sum");
        assert_eq!(field(sum, Field::Operator).map(Node::name), Some("+"));
        assert!(first_error(root).is_none());
    }

    #[test]
    fn errors_are_found_from_above() {
        let text = "void f() { int a = ; }\nvoid g() {}\n";
        let tree = parse_tree(text).expect("a tree");
        let functions: Vec<Node> = tree.root().map(named).expect("a root").collect();
        let wrong: Vec<bool> = functions.iter().map(|f| first_error(*f).is_some()).collect();
        assert_eq!(wrong, [true, false]);
    }
}
