//! One translation unit as a flat list of entries: the file and the project's own headers, expanded in place.

use std::collections::{BTreeMap, BTreeSet};

use super::headers::{self, Header};
use super::items::{self, Event, Item, ItemKind};
use super::lex;
use crate::source::Lines;

/// Gives the text of a header of the project, from a disk or from a table.
pub trait HeaderSource {
    /// The header that `#include "name"` (or `<name>` when `angled`) in the file `includer` means, or `None` if it is
    /// not a file of the project.
    fn open(&self, includer: &str, name: &str, angled: bool) -> Option<HeaderText>;
}

/// A header of the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderText {
    /// Identifies the file; messages show it.
    pub path: String,
    pub text: String,
}

/// No project headers.
pub struct NoHeaders;

impl HeaderSource for NoHeaders {
    fn open(&self, _: &str, _: &str, _: bool) -> Option<HeaderText> {
        None
    }
}

impl HeaderSource for BTreeMap<String, String> {
    fn open(&self, _: &str, name: &str, _: bool) -> Option<HeaderText> {
        self.get(name).map(|text| HeaderText { path: name.to_owned(), text: text.clone() })
    }
}

/// A file of the unit.
pub(super) struct File {
    pub name: String,
    pub text: String,
    pub lines: Lines,
}

/// Entry of the expanded unit.
pub(super) struct Entry {
    pub file: usize,
    pub event: Event,
    /// Index of the innermost opening around this entry; for closings and branches, the opening they belong to.
    pub group: Option<usize>,
}

pub(super) struct Program {
    pub files: Vec<File>,
    pub entries: Vec<Entry>,
    /// Includes that are neither known nor files of the project.
    pub missing: BTreeSet<String>,
    /// Device headers that left-out headers would have brought along.
    pub brought: BTreeSet<&'static str>,
    /// Whether the unit was cut off because it is too large.
    pub overflow: bool,
}

const MAX_ENTRIES: usize = 200_000;
const MAX_BYTES: usize = 64 << 20;
const MAX_DEPTH: usize = 40;
/// How often a guarded file is expanded under different conditions.
const MAX_EXPANSIONS: usize = 6;

impl Program {
    pub fn load(name: &str, text: &str, headers: &dyn HeaderSource) -> Program {
        let mut program = Program {
            files: vec![],
            entries: vec![],
            missing: BTreeSet::new(),
            brought: BTreeSet::new(),
            overflow: false,
        };
        let mut loader = Loader { program: &mut program, headers, open: vec![], seen: BTreeMap::new(), bytes: 0 };
        loader.file(name.to_owned(), text.to_owned(), 0);
        program
    }

    pub fn item(&self, index: usize) -> Option<&Item> {
        match &self.entries.get(index)?.event {
            Event::Item(item) => Some(item),
            _ => None,
        }
    }

    pub fn items(&self) -> impl Iterator<Item = (usize, &Item)> {
        (0..self.entries.len()).filter_map(|i| self.item(i).map(|item| (i, item)))
    }

    /// The text of the file behind an entry.
    pub fn text(&self, index: usize, start: usize, end: usize) -> &str {
        self.files[self.entries[index].file].text.get(start..end).unwrap_or("")
    }

    /// The namespaces around an entry, outermost first.
    pub fn namespaces(&self, index: usize) -> Vec<&str> {
        let mut out = vec![];
        let mut at = self.entries[index].group;
        while let Some(i) = at {
            if let Event::Open { name, .. } = &self.entries[i].event {
                out.push(name.as_str());
            }
            at = self.entries[i].group;
        }
        out.retain(|n| !n.is_empty());
        out.reverse();
        out
    }
}

/// A group around the entries that follow.
struct Open {
    entry: usize,
    /// Whether it makes its content conditional.
    conditional: bool,
    /// How many `#else` and `#elif` it has had.
    branch: usize,
}

struct Loader<'a> {
    program: &'a mut Program,
    headers: &'a dyn HeaderSource,
    open: Vec<Open>,
    /// The conditional branches under which each guarded file was expanded.
    seen: BTreeMap<String, Vec<Vec<(usize, usize)>>>,
    bytes: usize,
}

impl Loader<'_> {
    fn file(&mut self, name: String, text: String, depth: usize) {
        self.bytes += text.len();
        if self.bytes > MAX_BYTES || depth > MAX_DEPTH {
            self.program.overflow = true;
            return;
        }
        let events = items::events(&text);
        let guard = guard_of(&events, &text);
        let once = guard.is_some() || events.iter().any(|e| is_once(e, &text));
        if once {
            let branches = self.branches();
            self.seen.entry(name.clone()).or_default().push(branches);
        }
        let index = self.program.files.len();
        let lines = Lines::new(&text);
        self.program.files.push(File { name: name.clone(), text, lines });
        let base = self.open.len();
        for (n, event) in events.into_iter().enumerate() {
            if self.program.entries.len() >= MAX_ENTRIES {
                self.program.overflow = true;
                break;
            }
            match event {
                Event::Item(item) if matches!(item.kind, ItemKind::Include { .. }) => {
                    self.include(&name, index, item, depth)
                }
                event => self.push(index, event, guard == Some(n)),
            }
        }
        self.open.truncate(base);
    }

    fn push(&mut self, file: usize, event: Event, is_guard: bool) {
        let index = self.program.entries.len();
        let group = match event {
            Event::Close { .. } | Event::Endif { .. } => self.open.pop().map(|o| o.entry),
            _ => self.open.last().map(|o| o.entry),
        };
        match event {
            Event::Open { .. } => self.open.push(Open { entry: index, conditional: false, branch: 0 }),
            Event::If { .. } => self.open.push(Open { entry: index, conditional: !is_guard, branch: 0 }),
            Event::Else { .. } => self.open.last_mut().into_iter().for_each(|o| o.branch += 1),
            _ => {}
        }
        self.program.entries.push(Entry { file, event, group });
    }

    /// The conditional branches that are open.
    fn branches(&self) -> Vec<(usize, usize)> {
        self.open.iter().filter(|o| o.conditional).map(|o| (o.entry, o.branch)).collect()
    }

    /// Whether a guarded file stands already under conditions that hold here too. A file that was expanded very often
    /// under others is taken as there.
    fn is_there(&self, path: &str) -> bool {
        let now = self.branches();
        let before = self.seen.get(path).map_or(&[][..], Vec::as_slice);
        before.len() >= MAX_EXPANSIONS || before.iter().any(|b| now.starts_with(b))
    }

    fn include(&mut self, from: &str, file: usize, item: Item, depth: usize) {
        let ItemKind::Include { name, angled } = &item.kind else { return };
        let known = headers::classify(name);
        self.program.brought.extend(headers::brings(name));
        let found = if *angled && known != Header::Unknown { None } else { self.headers.open(from, name, *angled) };
        match (found, known) {
            (Some(header), _) if self.is_there(&header.path) => {}
            (Some(header), _) => self.file(header.path, header.text, depth + 1),
            (None, Header::Device(_)) => self.push(file, Event::Item(item), false),
            (None, Header::Host) => {}
            (None, Header::Unknown) => {
                self.program.missing.insert(name.clone());
            }
        }
    }
}

fn is_once(event: &Event, text: &str) -> bool {
    let Event::Item(item) = event else { return false };
    item.kind == ItemKind::Pragma
        && text.get(item.start..item.end).is_some_and(|t| t.split_whitespace().any(|w| w == "once"))
}

/// The index of the `#ifndef X` of an include guard: the first conditional, followed at once by `#define X`.
fn guard_of(events: &[Event], text: &str) -> Option<usize> {
    let first = events.iter().position(|e| !is_once(e, text))?;
    let Event::If { start, end } = &events[first] else { return None };
    let Event::Item(item) = events.get(first + 1)? else { return None };
    let line = text.get(*start..*end)?;
    let words: Vec<&str> =
        lex::tokens(line.trim_start_matches('#')).iter().map(|t| t.text(line.trim_start_matches('#'))).collect();
    let tested = match words.as_slice() {
        ["ifndef", name, ..] => name,
        ["if", "!", "defined", "(", name, ..] | ["if", "!", "defined", name, ..] => name,
        _ => return None,
    };
    (item.kind == ItemKind::Define && item.names.contains(*tested)).then_some(first)
}
