//! Which files belong to a run: discovery, reading within limits, include resolution, macros of the whole project.
//!
//! This is the only part of reading that touches the disk. The order of files and the macro table depend on names and
//! contents alone, never on the number of threads.

mod discover;
mod headers;
mod include;

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use rayon::prelude::*;

pub use discover::{EXTENSIONS, discover};
pub use headers::{Headers, Includers};
pub use include::{Resolver, find_root};

use crate::diag::{Code, Diagnostic, Severity};
use crate::source::mask::{self, MacroTable};
use crate::source::{FileId, SourceFile, Sources, Span};

/// Larger files are reported, not read.
pub const MAX_BYTES: u64 = 64 << 20;

/// What a load starts from.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Folders given with `-I`, in order.
    pub include_dirs: Vec<PathBuf>,
    /// Definitions given with `-D`: name and value.
    pub defines: Vec<(String, Option<String>)>,
    /// Where the project begins; found from the first path when absent.
    pub root: Option<PathBuf>,
}

/// How a file came into the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Named by the user or found in a named folder.
    Named,
    /// Reached by an `#include` only.
    Header,
}

/// One file of a run.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub id: FileId,
    pub path: PathBuf,
    pub role: Role,
    /// Whether it can hold a kernel or a launch, so that a parse is worth it.
    pub needs_parse: bool,
    /// The project files that it includes, in order.
    pub includes: Vec<PathBuf>,
}

/// The files of a run with the macros of all of them.
#[derive(Clone, Debug, Default)]
pub struct Project {
    pub root: PathBuf,
    pub sources: Sources,
    pub files: Vec<Loaded>,
    pub macros: MacroTable,
    pub problems: Vec<Diagnostic>,
}

/// Whether `text` can hold a kernel, a launch or device code; `aliases` are macros that stand for `__global__`.
pub fn needs_parse(text: &str, aliases: &[&str]) -> bool {
    let bytes = text.as_bytes();
    let has = |word: &[u8]| memchr::memmem::find(bytes, word).is_some();
    ["__global__", "<<<", "__device__", "cudaLaunchKernel", "<< <"].iter().any(|w| has(w.as_bytes()))
        || aliases.iter().any(|a| has(a.as_bytes()))
}

/// Reads the files under `paths` and every project header that they reach.
pub fn load(paths: &[PathBuf], options: &Options) -> Project {
    let mut project = Project::default();
    let (named, problems) = discover(paths);
    project.problems = problems;
    project.root = options.root.clone().unwrap_or_else(|| find_root(paths.first().map_or(Path::new("."), |p| p)));
    let resolver = Resolver::new(&options.include_dirs, &project.root);
    let mut texts: Vec<Read> = vec![];
    let mut identities = Identities::default();
    let mut seen: BTreeSet<PathBuf> = named.iter().map(|p| identities.of(p)).collect();
    let mut wave: Vec<PathBuf> = named;
    let mut role = Role::Named;
    while !wave.is_empty() {
        let read: Vec<Result<Read, Diagnostic>> =
            wave.par_iter().map(|path| read_file(path, role, &resolver)).collect();
        let mut next = vec![];
        for result in read {
            match result {
                Ok(file) => {
                    next.extend(file.found.iter().filter(|p| seen.insert(identities.of(p))).cloned());
                    texts.push(file);
                }
                Err(problem) => project.problems.push(problem),
            }
        }
        next.sort();
        wave = next;
        role = Role::Header;
    }
    project.fill(texts, options);
    project
}

/// One path for one file, whatever way it was named.
fn identity(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

/// [`identity`] of many files: each folder is resolved once.
#[derive(Default)]
struct Identities {
    folders: HashMap<PathBuf, Option<PathBuf>>,
}

impl Identities {
    fn of(&mut self, path: &Path) -> PathBuf {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return identity(path) };
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        // A link stands for another file, and what is not there for itself.
        if !std::fs::symlink_metadata(path).is_ok_and(|m| !m.is_symlink()) {
            return identity(path);
        }
        if !self.folders.contains_key(folder) {
            self.folders.insert(folder.to_path_buf(), folder.canonicalize().ok());
        }
        let resolved = self.folders.get(folder).cloned().flatten();
        resolved.map_or_else(|| identity(path), |folder| folder.join(name))
    }
}

struct Read {
    path: PathBuf,
    role: Role,
    file: SourceFile,
    macros: MacroTable,
    found: Vec<PathBuf>,
    missing: Vec<mask::Include>,
}

fn read_file(path: &Path, role: Role, resolver: &Resolver) -> Result<Read, Diagnostic> {
    let bytes = read_limited(path)?;
    let file = SourceFile::new(path.to_string_lossy(), bytes);
    let mut macros = MacroTable::default();
    macros.learn_among(&file.text, file.directives().iter().copied());
    let (mut found, mut missing) = (vec![], vec![]);
    for include in file.includes() {
        match resolver.resolve(path, &include.path, include.angled) {
            Some(target) => found.push(target),
            None if include.angled => {}
            None => missing.push(include),
        }
    }
    Ok(Read { path: path.to_path_buf(), role, file, macros, found, missing })
}

/// The bytes of a file of at most [`MAX_BYTES`].
///
/// # Errors
/// K0003 when it is larger, K0004 when it cannot be read.
pub fn read_limited(path: &Path) -> Result<Vec<u8>, Diagnostic> {
    let unreadable = |e: std::io::Error| {
        Diagnostic::error(Code(4), format!("cannot read {}: {e}", path.display()))
            .next("check the path and its permissions")
    };
    let size = std::fs::metadata(path).map_err(unreadable)?.len();
    if size > MAX_BYTES {
        let message =
            format!("{} has {} MB; files above {} MB are not read", path.display(), size >> 20, MAX_BYTES >> 20);
        return Err(Diagnostic::warning(Code(3), message).next("name the files that hold kernels"));
    }
    std::fs::read(path).map_err(unreadable)
}

impl Project {
    fn fill(&mut self, texts: Vec<Read>, options: &Options) {
        for (name, value) in &options.defines {
            self.macros.learn(&format!("#define {name} {}\n", value.as_deref().unwrap_or("1")));
        }
        for read in &texts {
            self.macros.merge(&read.macros);
        }
        self.macros.settle_all();
        let aliases: Vec<String> = self.macros.kernel_aliases().into_iter().map(str::to_owned).collect();
        let aliases: Vec<&str> = aliases.iter().map(String::as_str).collect();
        for read in texts {
            let needs_parse = needs_parse(&read.file.text, &aliases);
            let utf8 = read.file.is_utf8;
            let id = self.sources.add(read.file);
            if !utf8 {
                let message = format!("{} is not UTF-8: it is analysed but never edited", read.path.display());
                self.problems.push(Diagnostic::warning(Code(5), message).next("convert the file to UTF-8"));
            }
            for include in read.missing {
                let span = Span::new(id, include.range.start, include.range.end);
                let message = format!("cannot find \"{}\"", include.path);
                let note = Diagnostic::new(Code(11), Severity::Note, message).at(span, "included here");
                self.problems.push(note.next("name its folder with -I"));
            }
            self.files.push(Loaded { id, path: read.path, role: read.role, needs_parse, includes: read.found });
        }
    }

    /// The integer constants that the project's macros define.
    pub fn constants(&self) -> Vec<(String, i128)> {
        self.macros.constants()
    }
}

#[cfg(test)]
mod tests;
