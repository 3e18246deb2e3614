//! The device slice: the part of a file that one kernel needs, as a translation unit for NVRTC.
//!
//! NVRTC takes no host code, so the kernel is cut out together with the device functions, types, macros, constants
//! and templates that it reaches by name, in their original order, inside their `namespace` and `#if` lines. Each
//! piece stands after a `#line`, so that messages and `-lineinfo` speak of the user's file. Reaching by name keeps too
//! much rather than too little; host functions and host variables are never kept.

use std::collections::{BTreeMap, BTreeSet};

use super::instances::{Parameter, ParameterKind};
use super::items::{Event, Item, ItemKind};
use super::lex::{self, Kind};
use super::program::{HeaderSource, Program};
use super::reach::Reach;
use super::unsliceable::Unsliceable;
use super::{emit, instances};

/// Which kernel is meant.
#[derive(Clone, Debug)]
pub enum Target<'a> {
    /// By name, with or without its namespaces. Where several functions have it none is chosen.
    Name(&'a str),
    /// By any byte offset inside its definition in the main file.
    At(usize),
    /// By name, defined in one of the files that the unit includes, and where it is known by a byte offset inside its
    /// definition there.
    In { file: &'a str, name: &'a str, at: Option<usize> },
}

/// A unit that NVRTC can be asked to compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sliced {
    pub text: String,
    /// The kernel's name with its namespaces.
    pub kernel: String,
    /// Whether the caller must say which instantiation is meant.
    pub is_template: bool,
    /// `kernel<..>` as the unit launches or explicitly instantiates it, without repetition.
    pub instantiations: Vec<String>,
    /// Places of the unit that ask for an instantiation whose arguments could not be followed.
    pub unfollowed: usize,
    /// The parameters of the template; none of a plain function.
    pub parameters: Vec<Parameter>,
    /// The name expression of a plain kernel that shares its name with others: `(void (*)(float*, int))k`.
    pub signature: Option<String>,
    /// The enumerations that the parameters are of, each with its first value.
    pub enumerations: BTreeMap<String, String>,
    /// The user's files that the unit has text of, as named in its `#line` directives.
    pub files: Vec<String>,
    /// Host functions and host variables that carry a name which the slice uses: left out.
    pub host_names: BTreeSet<String>,
    /// Headers of other projects that were not found: left out.
    pub missing: BTreeSet<String>,
    /// What the unit may do without, if the compiler refuses it.
    pub(super) spare: Vec<Spare>,
}

/// A kept entry and its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spare {
    pub entry: usize,
    pub file: String,
    pub first: u32,
    pub last: u32,
}

/// The file name under which messages speak of text that is kopt's own.
pub const PRELUDE: &str = "kopt-prelude";

/// A file with its headers, read once and cut many times.
pub struct Unit {
    program: Program,
}

impl Unit {
    pub fn load(name: &str, text: &str, headers: &dyn HeaderSource) -> Unit {
        Unit { program: Program::load(name, text, headers) }
    }

    /// The name of the main file.
    pub fn name(&self) -> &str {
        self.program.files.first().map_or("", |f| &f.name)
    }

    /// Cuts the device slice of one kernel. What the arguments of the name expressions `names` mention is kept too; only
    /// without any are the instantiations looked for.
    ///
    /// # Errors
    /// A named reason why the unit cannot be cut; nothing is guessed.
    pub fn cut(&self, target: &Target<'_>, names: &[String]) -> Result<Sliced, Unsliceable> {
        self.cut_without(target, names, &BTreeSet::new())
    }

    /// The same without some of the entries that an earlier cut called spare.
    pub(super) fn cut_without(
        &self,
        target: &Target<'_>,
        names: &[String],
        without: &BTreeSet<usize>,
    ) -> Result<Sliced, Unsliceable> {
        let program = &self.program;
        if program.overflow {
            return Err(Unsliceable::TooLarge);
        }
        let (root, kernel) = find(program, target)?;
        let item = program.item(root).map_or("", |i| program.text(root, i.start, i.end));
        let mut path = program.namespaces(root);
        path.push(&kernel);
        let qualified = path.join("::");
        let mut reach = Reach::new(program);
        reach.without = without.clone();
        let parameters = instances::heads(item).pop().unwrap_or_default();
        let is_template = item.starts_with("template");
        let found = match is_template && names.is_empty() {
            true => instances::find(program, root, &qualified, &|w| reach.defines(w)),
            false => instances::Found::default(),
        };
        reach.run(root, found.names.iter().chain(names));
        reach.check(root)?;
        let asked: BTreeSet<String> = (found.names.iter().chain(names))
            .flat_map(|n| lex::tokens(n).into_iter().map(|t| t.text(n).to_owned()))
            .collect();
        let (text, files) = emit::write(&reach, &asked);
        let rivals = reach.by_name.get(kernel.as_str()).into_iter().flatten().filter(|&&i| {
            program.item(i).is_some_and(|it| it.kind == ItemKind::Function && it.name == kernel)
                && program.namespaces(i) == program.namespaces(root)
        });
        let parameter_lists: BTreeSet<Option<String>> = rivals
            .filter_map(|&i| program.item(i).map(|it| instances::signature(program.text(i, it.start, it.end), &kernel)))
            .collect();
        let signature = (!is_template && parameter_lists.len() > 1)
            .then(|| instances::signature(item, &kernel))
            .flatten()
            .map(|types| format!("(void (*)({types})){qualified}"));
        Ok(Sliced {
            text,
            kernel: qualified,
            is_template,
            instantiations: found.names,
            unfollowed: found.unfollowed,
            enumerations: enumerations(program, &parameters),
            parameters,
            signature,
            files,
            host_names: reach.host_names.iter().map(|s| s.to_string()).collect(),
            missing: program.missing.clone(),
            spare: spare(&reach, root),
        })
    }
}

/// Cuts the device slice of one kernel of `text`, the file called `name`.
///
/// # Errors
/// A named reason why the unit cannot be cut; nothing is guessed.
pub fn slice(name: &str, text: &str, target: &Target<'_>, headers: &dyn HeaderSource) -> Result<Sliced, Unsliceable> {
    slice_for(name, text, target, headers, &[])
}

/// The same, with name expressions that will be asked for: what their arguments name is kept too.
pub fn slice_for(
    name: &str,
    text: &str,
    target: &Target<'_>,
    headers: &dyn HeaderSource,
    names: &[String],
) -> Result<Sliced, Unsliceable> {
    Unit::load(name, text, headers).cut(target, names)
}

fn spare(reach: &Reach<'_>, root: usize) -> Vec<Spare> {
    let program = reach.program;
    let of = |(entry, item): (usize, &Item)| {
        let file = &program.files[program.entries[entry].file];
        let (first, last) = (file.lines.line_of(item.start), file.lines.line_of(item.end));
        Spare { entry, file: file.name.clone(), first, last }
    };
    program.items().filter(|(i, _)| reach.kept[*i] && reach.is_spare(*i, root)).map(of).collect()
}

/// The first value of each enumeration that a template parameter is of.
fn enumerations(program: &Program, parameters: &[Parameter]) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    for parameter in parameters {
        let ParameterKind::Value(of) = &parameter.kind else { continue };
        let simple = of.rsplit("::").next().unwrap_or(of);
        let found = program
            .items()
            .find(|(_, it)| it.kind == ItemKind::Type && it.head.contains("enum") && it.names.contains(simple));
        let Some((i, item)) = found else { continue };
        let text = program.text(i, item.start, item.end);
        let tokens = lex::tokens(text);
        let first = tokens.iter().skip_while(|t| !t.is(b'{')).find(|t| t.kind == Kind::Word);
        let scoped = tokens.iter().take_while(|t| !t.is(b'{')).any(|t| t.text(text) == simple);
        if let Some(first) = first {
            let prefix = if scoped { format!("{of}::") } else { String::new() };
            out.insert(of.clone(), format!("{prefix}{}", first.text(text)));
        }
    }
    out
}

/// The entry that defines the kernel, and the kernel's own name.
fn find(program: &Program, target: &Target<'_>) -> Result<(usize, String), Unsliceable> {
    let usable =
        |item: &Item| matches!(item.kind, ItemKind::Function | ItemKind::MacroCall | ItemKind::Type | ItemKind::Other);
    match target {
        Target::Name(wanted) => {
            let (simple, scope) = parts(wanted);
            let named = |i: usize, it: &Item| {
                it.names.contains(simple) && usable(it) && program.namespaces(i).ends_with(&scope)
            };
            let all: Vec<(usize, &Item)> = program.items().filter(|(i, it)| named(*i, it)).collect();
            let inside = || program.items().find(|(_, it)| it.kind == ItemKind::Type && it.uses.contains(simple));
            let best = the_one(program, &all, wanted)?.or_else(|| all.first().map(|(i, _)| *i));
            let found = best.or_else(|| inside().map(|(i, _)| i));
            Ok((found.ok_or_else(|| Unsliceable::KernelNotFound { name: (*wanted).to_owned() })?, simple.to_owned()))
        }
        Target::In { file, name, at } => {
            let (simple, scope) = parts(name);
            let is_it = |i: usize, it: &Item| {
                let entry = &program.entries[i];
                it.names.contains(simple)
                    && usable(it)
                    && program.files[entry.file].name == *file
                    && program.namespaces(i).ends_with(&scope)
            };
            let mut all: Vec<(usize, &Item)> = program.items().filter(|(i, it)| is_it(*i, it)).collect();
            if let Some(at) = at {
                all.retain(|(_, it)| it.start <= *at && *at < it.end);
            }
            let found = the_one(program, &all, name)?.or_else(|| all.first().map(|(i, _)| *i));
            Ok((found.ok_or_else(|| Unsliceable::KernelNotFound { name: (*name).to_owned() })?, simple.to_owned()))
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

/// The last part of a name, and the namespaces in front of it.
fn parts(name: &str) -> (&str, Vec<&str>) {
    let simple = name.rsplit("::").next().unwrap_or(name);
    (simple, name.split("::").filter(|s| !s.is_empty() && *s != simple).collect())
}

/// The function with a body that a name means: a kernel before functions of the host, and in exactly its namespaces before
/// others that end with them. Explicit specialisations belong to their template; of functions in several branches of an
/// `#if` the first stands for all.
///
/// # Errors
/// Functions of several parameter lists, or in several namespaces: the first would be a guess.
fn the_one(program: &Program, among: &[(usize, &Item)], name: &str) -> Result<Option<usize>, Unsliceable> {
    let (simple, scope) = parts(name);
    let text = |i: usize, it: &Item| program.text(i, it.start, it.end);
    let special = |i: usize, it: &Item| {
        let rest = text(i, it).strip_prefix("template").map(str::trim_start);
        rest.and_then(|r| r.strip_prefix('<')).is_some_and(|r| r.trim_start().starts_with('>'))
    };
    let mut found: Vec<(usize, &Item)> = among
        .iter()
        .filter(|(i, it)| it.name == simple && text(*i, it).ends_with('}') && !special(*i, it))
        .copied()
        .collect();
    // A function of the host may share the name.
    let is_kernel = |i: usize, it: &Item| {
        text(i, it).split('{').next().is_some_and(|head| lex::tokens(head).iter().any(|t| t.text(head) == "__global__"))
    };
    if found.iter().any(|(i, it)| is_kernel(*i, it)) {
        found.retain(|(i, it)| is_kernel(*i, it));
    }
    if found.iter().any(|(i, _)| program.namespaces(*i) == scope) {
        found.retain(|(i, _)| program.namespaces(*i) == scope);
    }
    let Some(first) = found.first().map(|(i, _)| *i) else { return Ok(None) };
    let identity = |(i, it): &(usize, &Item)| {
        let all = text(*i, it);
        let head = || all.split('{').next().unwrap_or(all).split_whitespace().collect::<Vec<_>>().join(" ");
        (program.namespaces(*i).join("::"), instances::signature(all, simple).unwrap_or_else(head))
    };
    found.retain(|(_, it)| it.kind == ItemKind::Function);
    let rivals = |(n, a): (usize, &(usize, &Item))| {
        let others = found.iter().skip(n + 1).filter(|b| identity(a) != identity(b));
        others.filter(|b| !are_exclusive(program, a.0, b.0)).count()
    };
    let rivals: usize = found.iter().enumerate().map(rivals).max().unwrap_or(0);
    if rivals > 0 {
        return Err(Unsliceable::SeveralKernels { name: name.to_owned(), count: rivals + 1 });
    }
    Ok(Some(first))
}

/// Whether two entries stand in different branches of one `#if`.
fn are_exclusive(program: &Program, a: usize, b: usize) -> bool {
    let branches = |entry: usize| {
        let mut found = BTreeMap::new();
        let mut at = program.entries[entry].group;
        while let Some(g) = at {
            if let Event::If { .. } = program.entries[g].event {
                let own = |e: &&super::program::Entry| e.group == Some(g) && matches!(e.event, Event::Else { .. });
                found.insert(g, program.entries[g..entry].iter().filter(own).count());
            }
            at = program.entries[g].group;
        }
        found
    };
    let (a, b) = (branches(a), branches(b));
    a.iter().any(|(g, n)| b.get(g).is_some_and(|m| m != n))
}
