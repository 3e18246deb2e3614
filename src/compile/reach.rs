//! What a kernel reaches: by the words of each item, from the kernel on.

use std::collections::{BTreeMap, BTreeSet};

use super::headers;
use super::items::{Event, Item, ItemKind};
use super::lex::{self, Kind};
use super::program::Program;
use super::standard;
use super::unsliceable::Unsliceable;

/// What one kernel reaches.
pub(super) struct Reach<'a> {
    pub program: &'a Program,
    pub by_name: BTreeMap<&'a str, Vec<usize>>,
    /// `#else` and `#elif` entries of each conditional.
    branches: BTreeMap<usize, Vec<usize>>,
    /// Macros whose text marks what follows as device code.
    markers: BTreeSet<&'a str>,
    pub kept: Vec<bool>,
    pub words: BTreeSet<&'a str>,
    pub qualified: BTreeSet<(&'a str, &'a str)>,
    pub host_names: BTreeSet<&'a str>,
    /// Entries that are never kept.
    pub without: BTreeSet<usize>,
}

impl<'a> Reach<'a> {
    pub fn new(program: &'a Program) -> Reach<'a> {
        let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        let mut branches: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (i, entry) in program.entries.iter().enumerate() {
            match &entry.event {
                Event::Item(item) => item.names.iter().for_each(|n| by_name.entry(n).or_default().push(i)),
                Event::Else { .. } => entry.group.into_iter().for_each(|g| branches.entry(g).or_default().push(i)),
                _ => {}
            }
        }
        Reach {
            program,
            by_name,
            branches,
            markers: markers(program),
            kept: vec![false; program.entries.len()],
            words: BTreeSet::new(),
            qualified: BTreeSet::new(),
            host_names: BTreeSet::new(),
            without: BTreeSet::new(),
        }
    }

    /// Whether the program defines the name, for the device.
    pub fn defines(&self, name: &str) -> bool {
        let items = self.by_name.get(name).into_iter().flatten();
        items.filter_map(|&i| self.program.item(i)).any(|item| self.is_device(item))
    }

    /// Keeps the entry `root`, what the name expressions use, and all that these reach.
    pub fn run<'n>(&mut self, root: usize, names: impl Iterator<Item = &'n String>) {
        let program = self.program;
        let mut work = vec![root];
        for name in names {
            for token in lex::tokens(name) {
                if let Some((&word, _)) = self.by_name.get_key_value(token.text(name)) {
                    self.word(word, &mut work);
                }
            }
        }
        for (i, item) in program.items() {
            let device = ["nvcuda", "cooperative_groups", "cuda", "wmma"].iter().any(|n| item.names.contains(*n));
            let pack = item.kind == ItemKind::Pragma && program.text(i, item.start, item.end).contains("pack");
            if item.kind == ItemKind::UsingNamespace && device || pack {
                work.push(i);
            }
        }
        // Each round takes all operators that the words so far reach; a chain longer than this is not real code.
        for _ in 0..64 {
            while let Some(i) = work.pop() {
                self.keep(i, i == root, &mut work);
            }
            self.operators(&mut work);
            self.using_namespaces(&mut work);
            if work.is_empty() {
                break;
            }
        }
    }

    /// Keeps an entry and everything that its words reach.
    fn keep(&mut self, index: usize, forced: bool, work: &mut Vec<usize>) {
        let program = self.program;
        let Some(item) = program.item(index) else { return };
        if self.kept[index] || !(forced || self.is_device(item)) {
            return;
        }
        if self.without.contains(&index) {
            return;
        }
        self.kept[index] = true;
        self.qualified.extend(item.qualified.iter().map(|(a, b)| (a.as_str(), b.as_str())));
        item.uses.iter().for_each(|w| self.word(w, work));
        let mut group = program.entries[index].group;
        while let Some(g) = group.filter(|&g| !self.kept[g]) {
            self.kept[g] = true;
            let lines: Vec<usize> = self.branches.get(&g).into_iter().flatten().copied().chain([g]).collect();
            for i in lines {
                let (Event::If { start, end } | Event::Else { start, end }) = program.entries[i].event else {
                    continue;
                };
                let line = program.text(i, start, end);
                for token in lex::tokens(line.trim_start_matches('#')).iter().filter(|t| t.kind == Kind::Word) {
                    let from = line.len() - line.trim_start_matches('#').len();
                    let word = line.get(from + token.start..from + token.end).unwrap_or("");
                    self.word(word, work);
                }
            }
            group = program.entries[g].group;
        }
    }

    fn word(&mut self, word: &'a str, work: &mut Vec<usize>) {
        if !self.words.insert(word) {
            return;
        }
        for &i in self.by_name.get(word).into_iter().flatten() {
            let Some(item) = self.program.item(i) else { continue };
            match item.kind {
                ItemKind::Instantiation
                | ItemKind::StaticAssert
                | ItemKind::UsingNamespace
                | ItemKind::Include { .. } => {}
                _ if self.is_device(item) => work.push(i),
                _ => {
                    self.host_names.insert(word);
                }
            }
        }
    }

    /// Whether device code may use the item.
    fn is_device(&self, item: &Item) -> bool {
        let marked =
            || item.head.iter().any(|w| is_marker(w) || self.markers.contains(w.as_str()) || looks_like_marker(w));
        match item.kind {
            ItemKind::Function => marked(),
            ItemKind::Variable => marked() || item.head.contains("const") || item.head.contains("texture"),
            ItemKind::MacroCall => item.uses.iter().any(|w| self.by_name.contains_key(w.as_str())) && !item.launches,
            _ => true,
        }
    }

    /// Overloaded operators are reached by the types of their parameters.
    fn operators(&mut self, work: &mut Vec<usize>) {
        for &i in self.by_name.get("operator").into_iter().flatten() {
            let Some(item) = self.program.item(i).filter(|_| !self.kept[i]) else { continue };
            if self.is_device(item) && item.head.iter().any(|w| self.words.contains(w.as_str()) && !is_marker(w)) {
                work.push(i);
            }
        }
    }

    /// `using namespace a;` where something of `a` is kept.
    fn using_namespaces(&mut self, work: &mut Vec<usize>) {
        let opened: BTreeSet<&str> = (0..self.kept.len())
            .filter(|&i| self.kept[i])
            .filter_map(|i| match &self.program.entries[i].event {
                Event::Open { name, .. } => Some(name.as_str()),
                _ => None,
            })
            .collect();
        for (i, item) in self.program.items().filter(|(_, it)| it.kind == ItemKind::UsingNamespace) {
            let wanted = item.names.iter().any(|n| opened.contains(n.as_str()) || n == "std");
            if wanted && !self.kept[i] {
                work.push(i);
            }
        }
    }

    /// Reasons that no compiler needs to be asked for. What a name reached and cannot be compiled is left out where the
    /// kernel itself does not speak of it: reaching by name keeps too much, and the compiler will say if it was needed.
    pub fn check(&mut self, root: usize) -> Result<(), Unsliceable> {
        let program = self.program;
        let spaces: BTreeSet<&str> = program
            .entries
            .iter()
            .filter_map(|e| if let Event::Open { name, .. } = &e.event { Some(name.as_str()) } else { None })
            .collect();
        let own = program.item(root).map(|it| &it.uses);
        for (i, item) in program.items() {
            if !self.kept[i] {
                continue;
            }
            let host = item.qualified.iter().find(|(scope, member)| {
                let known = standard::supplies(member) || headers::cuda_std(member).is_some() || member.is_empty();
                scope == "std" && !known
            });
            let foreign = item.qualified.iter().find(|(scope, _)| {
                let scope = scope.as_str();
                let theirs = THIRD_PARTY.contains(&scope) && !program.missing.is_empty();
                theirs && !spaces.contains(scope) && !self.by_name.contains_key(scope)
            });
            let spoken_of = item.names.iter().any(|n| own.is_some_and(|o| o.contains(n)));
            if i != root && (host.is_some() || foreign.is_some()) && !spoken_of && item.kind != ItemKind::Function {
                self.kept[i] = false;
                if foreign.is_none() {
                    self.host_names.extend(item.names.iter().map(String::as_str));
                }
                continue;
            }
            if item.launches {
                return Err(Unsliceable::LaunchFromDevice { item: first_name(item) });
            }
            if item.kind == ItemKind::Variable && item.head.contains("texture") {
                return Err(Unsliceable::TextureReference { name: first_name(item) });
            }
            if let Some((_, member)) = host {
                return Err(Unsliceable::HostLibrary { name: format!("std::{member}"), item: first_name(item) });
            }
            if let Some((scope, member)) = foreign {
                let headers = program.missing.iter().cloned().collect();
                return Err(Unsliceable::ThirdPartyHeader { name: format!("{scope}::{member}"), headers });
            }
        }
        Ok(())
    }

    /// Whether the unit may do without a kept entry if the compiler refuses it: it is no function, no template and has
    /// nothing in it for the device, so that no call can mean something else without it.
    pub fn is_spare(&self, index: usize, root: usize) -> bool {
        let Some(item) = self.program.item(index) else { return false };
        let kinds =
            [ItemKind::Type, ItemKind::Alias, ItemKind::Variable, ItemKind::UsingNamespace, ItemKind::MacroCall];
        let device = |w: &String| is_marker(w) || self.markers.contains(w.as_str()) || w == "template";
        let text = self.program.text(index, item.start, item.end);
        index != root
            && kinds.contains(&item.kind)
            && !text.starts_with("template")
            && !item.uses.iter().any(device)
            && !item.head.iter().any(device)
    }
}

/// Namespaces that only ever come from a header of another project.
const THIRD_PARTY: &[&str] =
    &["at", "c10", "torch", "cutlass", "cute", "kittens", "raft", "flashinfer", "rmm", "boost", "fmt", "Eigen"];

fn is_marker(word: &str) -> bool {
    matches!(
        word,
        "__device__" | "__global__" | "constexpr" | "consteval" | "__constant__" | "__shared__" | "__managed__"
    )
}

/// A macro of a header that is not there, such as `LIB_DEVICE`.
fn looks_like_marker(word: &str) -> bool {
    let caps = word.bytes().all(|b| b.is_ascii_uppercase() || b == b'_' || b.is_ascii_digit());
    caps && ["DEVICE", "_HD", "HD_", "GLOBAL", "KERNEL"].iter().any(|m| word.contains(m))
}

/// Macros that expand, directly or through others, to a device annotation.
fn markers(program: &Program) -> BTreeSet<&str> {
    let mut out: BTreeSet<&str> = BTreeSet::new();
    for _ in 0..32 {
        let before = out.len();
        for (_, item) in program.items().filter(|(_, it)| it.kind == ItemKind::Define) {
            if item.uses.iter().any(|w| is_marker(w) || out.contains(w.as_str())) && item.uses.len() < 12 {
                out.extend(item.names.iter().map(String::as_str));
            }
        }
        if out.len() == before {
            break;
        }
    }
    out
}

fn first_name(item: &Item) -> String {
    if item.name.is_empty() { item.names.first().cloned().unwrap_or_default() } else { item.name.clone() }
}
