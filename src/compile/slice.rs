//! The device slice: the part of a file that one kernel needs, as a translation unit for NVRTC.
//!
//! NVRTC takes no host code, so the kernel is cut out together with the device functions, types, macros, constants
//! and templates that it reaches by name, in their original order, inside their `namespace` and `#if` lines. Each
//! piece stands after a `#line`, so that messages and `-lineinfo` speak of the user's file. Reaching by name keeps too
//! much rather than too little; host functions and host variables are never kept.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::declare::angle_end;
use super::headers::{self, Header};
use super::items::{Event, Item, ItemKind};
use super::lex::{self, Kind};
use super::program::{HeaderSource, Program};
use super::standard;
use super::unsliceable::Unsliceable;

/// Which kernel is meant.
#[derive(Clone, Debug)]
pub enum Target<'a> {
    /// By name, with or without its namespaces.
    Name(&'a str),
    /// By any byte offset inside its definition in the main file.
    At(usize),
}

/// A unit that NVRTC can be asked to compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sliced {
    pub text: String,
    /// The kernel's name with its namespaces.
    pub kernel: String,
    /// Whether the caller must say which instantiation is meant.
    pub is_template: bool,
    /// `kernel<..>` as launched or explicitly instantiated in the main file, without repetition.
    pub instantiations: Vec<String>,
    /// The user's files that the unit has text of, as named in its `#line` directives.
    pub files: Vec<String>,
    /// Host functions and host variables that carry a name which the slice uses: left out.
    pub host_names: BTreeSet<String>,
    /// Headers of other projects that were not found: left out.
    pub missing: BTreeSet<String>,
}

/// The file name under which messages speak of text that is kopt's own.
pub const PRELUDE: &str = "kopt-prelude";

/// Cuts the device slice of one kernel of `text`, the file called `name`.
///
/// # Errors
/// A named reason why the unit cannot be cut; nothing is guessed.
pub fn slice(name: &str, text: &str, target: &Target<'_>, headers: &dyn HeaderSource) -> Result<Sliced, Unsliceable> {
    let program = Program::load(name, text, headers);
    if program.overflow {
        return Err(Unsliceable::TooLarge);
    }
    let (root, kernel) = find(&program, target)?;
    let mut reach = Reach::new(&program);
    reach.run(root);
    reach.check()?;
    let mut qualified = program.namespaces(root).join("::");
    if !qualified.is_empty() {
        qualified.push_str("::");
    }
    qualified.push_str(&kernel);
    let is_template = program.item(root).is_some_and(|i| program.text(root, i.start, i.end).starts_with("template"));
    let (text, files) = reach.write()?;
    Ok(Sliced {
        text,
        instantiations: instantiations(&program, &kernel, &qualified),
        kernel: qualified,
        is_template,
        files,
        host_names: reach.host_names.iter().map(|s| s.to_string()).collect(),
        missing: program.missing.clone(),
    })
}

/// The entry that defines the kernel, and the kernel's own name.
fn find(program: &Program, target: &Target<'_>) -> Result<(usize, String), Unsliceable> {
    let body = |item: &Item, i: usize| program.text(i, item.start, item.end).ends_with('}');
    let usable =
        |item: &Item| matches!(item.kind, ItemKind::Function | ItemKind::MacroCall | ItemKind::Type | ItemKind::Other);
    match target {
        Target::Name(wanted) => {
            let simple = wanted.rsplit("::").next().unwrap_or(wanted);
            let scope: Vec<&str> = wanted.split("::").filter(|s| !s.is_empty() && *s != simple).collect();
            let fits = |i: usize| program.namespaces(i).ends_with(&scope);
            let named = || program.items().filter(|(i, it)| it.names.contains(simple) && usable(it) && fits(*i));
            let best = named().find(|(i, it)| it.name == simple && body(it, *i)).or_else(|| named().next());
            let inside = || program.items().find(|(_, it)| it.kind == ItemKind::Type && it.uses.contains(simple));
            let found =
                best.or_else(inside).ok_or_else(|| Unsliceable::KernelNotFound { name: (*wanted).to_owned() })?;
            Ok((found.0, simple.to_owned()))
        }
        Target::At(offset) => {
            let holds = |i: usize, it: &Item| program.entries[i].file == 0 && it.start <= *offset && *offset < it.end;
            let found = program.items().find(|(i, it)| holds(*i, it) && usable(it) && !it.name.is_empty());
            found
                .map(|(i, it)| (i, it.name.clone()))
                .ok_or_else(|| Unsliceable::KernelNotFound { name: format!("at byte {offset}") })
        }
    }
}

struct Reach<'a> {
    program: &'a Program,
    by_name: BTreeMap<&'a str, Vec<usize>>,
    /// `#else` and `#elif` entries of each conditional.
    branches: BTreeMap<usize, Vec<usize>>,
    /// Macros whose text marks what follows as device code.
    markers: BTreeSet<&'a str>,
    kept: Vec<bool>,
    words: BTreeSet<&'a str>,
    qualified: BTreeSet<(&'a str, &'a str)>,
    host_names: BTreeSet<&'a str>,
}

impl<'a> Reach<'a> {
    fn new(program: &'a Program) -> Reach<'a> {
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
        }
    }

    fn run(&mut self, root: usize) {
        let program = self.program;
        let mut work = vec![root];
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

    /// Reasons that no compiler needs to be asked for.
    fn check(&self) -> Result<(), Unsliceable> {
        let program = self.program;
        for (_, item) in program.items().filter(|(i, _)| self.kept[*i]) {
            if item.launches {
                return Err(Unsliceable::LaunchFromDevice { item: first_name(item) });
            }
            if item.kind == ItemKind::Variable && item.head.contains("texture") {
                return Err(Unsliceable::TextureReference { name: first_name(item) });
            }
            for (scope, member) in &item.qualified {
                let known = standard::supplies(member) || headers::cuda_std(member).is_some() || member.is_empty();
                if scope == "std" && !known {
                    return Err(Unsliceable::HostLibrary { name: format!("std::{member}"), item: first_name(item) });
                }
            }
        }
        if program.missing.is_empty() {
            return Ok(());
        }
        let spaces: BTreeSet<&str> = program
            .entries
            .iter()
            .filter_map(|e| if let Event::Open { name, .. } = &e.event { Some(name.as_str()) } else { None })
            .collect();
        let foreign = self.qualified.iter().find(|(scope, _)| {
            THIRD_PARTY.contains(scope) && !spaces.contains(scope) && !self.by_name.contains_key(scope)
        });
        match foreign {
            Some((scope, member)) => Err(Unsliceable::ThirdPartyHeader {
                name: format!("{scope}::{member}"),
                headers: program.missing.iter().cloned().collect(),
            }),
            None => Ok(()),
        }
    }

    fn write(&self) -> Result<(String, Vec<String>), Unsliceable> {
        let program = self.program;
        let owned = |set: &BTreeSet<&str>| set.iter().map(|s| s.to_string()).collect::<BTreeSet<String>>();
        let words = owned(&self.words);
        let (mut body, mut files, mut included) = (String::new(), BTreeSet::new(), BTreeSet::new());
        for (i, entry) in program.entries.iter().enumerate() {
            let group_kept = entry.group.is_some_and(|g| self.kept[g]);
            match &entry.event {
                Event::Item(Item { kind: ItemKind::Include { name, .. }, .. }) => {
                    self.include(name, &words, &mut included)?;
                }
                Event::Item(item) if self.kept[i] => {
                    files.insert(entry.file);
                    self.line(i, item.start, &mut body);
                    body.push_str(&plain_lambdas(program.text(i, item.start, item.end)));
                    body.push('\n');
                }
                Event::Open { start, end, .. } | Event::If { start, end } if self.kept[i] => {
                    self.line(i, *start, &mut body);
                    body.push_str(program.text(i, *start, *end));
                    body.push('\n');
                }
                Event::Else { start, end } if group_kept => {
                    self.line(i, *start, &mut body);
                    body.push_str(program.text(i, *start, *end));
                    body.push('\n');
                }
                Event::Close { .. } if group_kept => body.push_str("}\n"),
                Event::Endif { .. } if group_kept => body.push_str("#endif\n"),
                _ => {}
            }
        }
        for name in &program.brought {
            self.include(name, &words, &mut included)?;
        }
        let mut text = self.prelude(&words, included);
        text.push_str(&body);
        let names = files.into_iter().map(|f| program.files[f].name.clone()).collect::<BTreeSet<_>>();
        Ok((text, names.into_iter().collect()))
    }

    fn include(&self, name: &str, words: &BTreeSet<String>, out: &mut BTreeSet<String>) -> Result<(), Unsliceable> {
        let Header::Device(needs) = headers::classify(name) else { return Ok(()) };
        if !headers::needed(needs, words) {
            return Ok(());
        }
        if name != "cub/cub.cuh" {
            out.insert(name.to_owned());
            return Ok(());
        }
        for (_, member) in self.qualified.iter().filter(|(scope, _)| *scope == "cub") {
            let header = headers::cub_header(member).ok_or_else(|| Unsliceable::HostLibrary {
                name: format!("cub::{member}"),
                item: "cub/cub.cuh".to_owned(),
            })?;
            out.insert(header.to_owned());
        }
        Ok(())
    }

    /// Headers and stand-ins for the standard library.
    fn prelude(&self, words: &BTreeSet<String>, mut included: BTreeSet<String>) -> String {
        let using_std = self
            .program
            .items()
            .any(|(i, it)| self.kept[i] && it.kind == ItemKind::UsingNamespace && it.names.contains("std"));
        let qualified = self.qualified.iter().filter(|(scope, _)| *scope == "std").map(|(_, m)| m.to_string());
        let mut members: BTreeSet<String> = qualified.collect();
        if using_std {
            // A bare `min` or `sqrt` finds the compiler's own at global scope.
            let bare = words.iter().filter(|w| !self.by_name.contains_key(w.as_str()));
            let common = |w: &str| matches!(w, "array" | "tuple" | "pair" | "complex" | "make_pair" | "make_tuple");
            let piece =
                |w: &str| standard::is_piece(w) && !matches!(w, "min" | "max" | "swap" | "move" | "byte" | "clamp");
            members.extend(bare.filter(|w| common(w) || piece(w)).cloned());
        }
        let unsupplied = members.iter().filter(|m| !standard::supplies(m));
        let extra: BTreeSet<String> =
            unsupplied.filter_map(|m| headers::cuda_std(m)).map(|h| format!("cuda/std/{h}")).collect();
        let defined = self.by_name.keys().map(|s| s.to_string()).collect();
        let cccl = |h: &String| ["cuda/", "cub/", "thrust/"].iter().any(|p| h.starts_with(p));
        included.extend(extra.iter().cloned());
        let has_cccl = included.iter().any(cccl);
        if has_cccl {
            let pieces = members.iter().filter(|m| standard::is_piece(m));
            included.extend(pieces.filter_map(|m| standard::cuda_std_instead(m)).map(|h| format!("cuda/std/{h}")));
        }
        let mut out = format!("#line 1 \"{PRELUDE}\"\n");
        if !has_cccl && included.iter().any(|h| h.starts_with("cooperative_groups")) {
            // With it the header brings its own few traits instead of a second's worth of `cuda/std`.
            out.push_str("#define _CG_LIMIT_INCLUDED_DEPENDENCIES\n");
        }
        for header in &included {
            let _ = writeln!(out, "#include <{header}>");
        }
        if using_std {
            out.push_str("namespace std {}\n");
        }
        out.push_str(&standard::prelude(words, &members, &defined, has_cccl));
        if has_cccl && !members.is_empty() {
            out.push_str("namespace std { using namespace cuda::std; }\n");
        }
        out
    }

    /// A `#line` for the text at `offset`, and blanks up to its column so that carets stay true.
    fn line(&self, index: usize, offset: usize, out: &mut String) {
        let file = &self.program.files[self.program.entries[index].file];
        let line = file.lines.line_of(offset);
        let column = offset - file.lines.start_of(line).unwrap_or(offset).min(offset);
        let name = file.name.replace('\\', "\\\\").replace('"', "\\\"");
        let _ = writeln!(out, "#line {line} \"{name}\"");
        out.extend(std::iter::repeat_n(' ', if column <= 200 { column } else { 0 }));
    }
}

/// The text with the annotations of lambdas blanked: NVRTC refuses `[=] __device__ (..)`, where the annotation says
/// nothing that the enclosing function does not say.
fn plain_lambdas(text: &str) -> Cow<'_, str> {
    if !text.contains(']') || !(text.contains("__device__") || text.contains("__host__")) {
        return Cow::Borrowed(text);
    }
    let mut out = Cow::Borrowed(text);
    let mut after_capture = false;
    for token in lex::tokens(text) {
        let annotation = matches!(token.text(text), "__device__" | "__host__");
        if after_capture && annotation {
            out.to_mut().replace_range(token.start..token.end, &" ".repeat(token.end - token.start));
        }
        after_capture = token.is(b']') || (after_capture && annotation);
    }
    out
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

/// `kernel<..>` where it is launched or explicitly instantiated in the main file.
fn instantiations(program: &Program, kernel: &str, qualified: &str) -> Vec<String> {
    let Some(file) = program.files.first() else { return vec![] };
    let tokens = lex::tokens(&file.text);
    let mut out = vec![];
    for (i, token) in tokens.iter().enumerate() {
        if token.kind != Kind::Word
            || token.text(&file.text) != kernel
            || !tokens.get(i + 1).is_some_and(|t| t.is(b'<'))
        {
            continue;
        }
        if [2, 3].iter().all(|&k| tokens.get(i + k).is_some_and(|t| t.is(b'<'))) {
            continue;
        }
        let window = tokens.get(i + 1..(i + 130).min(tokens.len())).unwrap_or(&[]);
        let Some(end) = angle_end(window, 0) else { continue };
        let (Some(open), Some(close)) = (window.first(), end.checked_sub(1).and_then(|k| window.get(k))) else {
            continue;
        };
        if !close.is(b'>') {
            continue;
        }
        let arguments = file.text.get(open.start..close.end).unwrap_or("");
        let name = format!("{qualified}{arguments}");
        if !out.contains(&name) && out.len() < 64 {
            out.push(name);
        }
    }
    out
}
