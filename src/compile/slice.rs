//! The device slice: the part of a file that one kernel needs, as a translation unit for NVRTC.
//!
//! NVRTC takes no host code, so the kernel is cut out together with the device functions, types, macros, constants
//! and templates that it reaches by name, in their original order, inside their `namespace` and `#if` lines. Each
//! piece stands after a `#line`, so that messages and `-lineinfo` speak of the user's file. Reaching by name keeps too
//! much rather than too little; host functions and host variables are never kept.

use std::collections::BTreeSet;

use super::items::{Item, ItemKind};
use super::program::{HeaderSource, Program};
use super::reach::Reach;
use super::unsliceable::Unsliceable;
use super::{emit, instances};

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
    let program = Program::load(name, text, headers);
    if program.overflow {
        return Err(Unsliceable::TooLarge);
    }
    let (root, kernel) = find(&program, target)?;
    let item = program.item(root).map_or("", |i| program.text(root, i.start, i.end));
    let mut path = program.namespaces(root);
    path.push(&kernel);
    let qualified = path.join("::");
    let mut reach = Reach::new(&program);
    let main = program.files.first().map_or("", |f| f.text.as_str());
    let mut instantiations = instances::instantiations(main, &kernel, &qualified, &|w| reach.defines(w));
    if instantiations.is_empty() && instances::has_all_defaults(item) {
        instantiations.push(format!("{qualified}<>"));
    }
    reach.run(root, instantiations.iter().chain(names));
    reach.check()?;
    let (text, files) = emit::write(&reach)?;
    Ok(Sliced {
        text,
        kernel: qualified,
        is_template: item.starts_with("template"),
        instantiations,
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
