//! Reads the files of a run and parses those that can hold kernels.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use kopt::diag::{Diagnostic, Severity};
use kopt::ir::{Program, Unit};
use kopt::project::{self, Options, Project, Role};
use kopt::source::{FileId, SourceFile, Sources};
use kopt::syntax::cuda::parse_unit;
use rayon::prelude::*;

use super::exit::{Exit, Failure};

/// What was read.
#[derive(Default)]
pub struct Loaded {
    pub project: Project,
    pub program: Program,
    /// Files that the user named, and those in folders that the user named which can hold kernels or launches.
    pub requested: Vec<FileId>,
    pub paths: BTreeMap<FileId, PathBuf>,
    /// Every header that was read, for dependency files.
    pub headers: Vec<PathBuf>,
    pub problems: Vec<Diagnostic>,
    pub stats: Stats,
}

#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
pub struct Stats {
    pub files_parsed: usize,
    pub bytes_parsed: u64,
    /// Files that were read and not parsed: no kernel, launch or device code can be in them.
    pub files_skipped: usize,
    pub bytes_skipped: u64,
}

impl Loaded {
    pub fn sources(&self) -> &Sources {
        &self.project.sources
    }

    /// Reads a new revision of a file with the macros that the old one saw.
    pub fn parse(&self, file: FileId, source: &SourceFile) -> Unit {
        parse_unit(file, source, &self.project.macros)
    }
}

/// Reads files and folders.
///
/// # Errors
/// A path that the user named and that cannot be read.
pub fn load(paths: &[PathBuf], include: &[PathBuf], define: &[String]) -> Result<Loaded, Failure> {
    let pair = |text: &String| match text.split_once('=') {
        Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
        None => (text.clone(), None),
    };
    let options = Options { include_dirs: include.to_vec(), defines: define.iter().map(pair).collect(), root: None };
    let project = project::load(paths, &options);
    let is_read = |p: &&PathBuf| p.is_dir() || project.files.iter().any(|f| &f.path == *p);
    if paths.iter().any(|p| !is_read(&p)) {
        let errors = project.problems.iter().filter(|p| p.severity >= Severity::Warning).cloned().collect();
        return Err(Failure::in_files(Exit::Usage, errors, project.sources));
    }
    Ok(parse(project, paths))
}

/// Reads one text that is not on the disk.
pub fn load_text(name: &str, text: &str) -> Loaded {
    let mut project = Project::default();
    project.macros.learn(text);
    let id = project.sources.add(SourceFile::new(name, text));
    let path = PathBuf::from(name);
    let file = project::Loaded { id, path: path.clone(), role: Role::Named, needs_parse: true, includes: vec![] };
    project.files.push(file);
    parse(project, &[path])
}

fn parse(project: Project, explicit: &[PathBuf]) -> Loaded {
    let mut loaded = Loaded::default();
    for file in &project.files {
        let bytes = project.sources.get(file.id).bytes().len() as u64;
        let named = file.role == Role::Named && (file.needs_parse || explicit.contains(&file.path));
        if named {
            loaded.requested.push(file.id);
        }
        if file.role == Role::Header {
            loaded.headers.push(file.path.clone());
        }
        loaded.paths.insert(file.id, file.path.clone());
        if file.needs_parse {
            loaded.stats.files_parsed += 1;
            loaded.stats.bytes_parsed += bytes;
        } else {
            loaded.stats.files_skipped += 1;
            loaded.stats.bytes_skipped += bytes;
        }
    }
    let wanted: Vec<FileId> = project.files.iter().filter(|f| f.needs_parse).map(|f| f.id).collect();
    let units: Vec<Unit> =
        wanted.par_iter().map(|id| parse_unit(*id, project.sources.get(*id), &project.macros)).collect();
    let complete = is_complete(&project, &units);
    loaded.program = Program { units, complete };
    loaded.problems = project.problems.clone();
    loaded.project = project;
    loaded
}

/// One file with its own `main`, whose kernels no header declares: then every launch of them is in it.
fn is_complete(project: &Project, units: &[Unit]) -> bool {
    let is_header = |u: &Unit| project.files.iter().any(|f| f.id == u.file && f.role == Role::Header);
    let (headers, named): (Vec<&Unit>, Vec<&Unit>) = units.iter().partition(|u| is_header(u));
    let [own] = named.as_slice() else { return false };
    let has_main = own.functions.iter().any(|f| f.qualified == "main" && f.body_span.is_some());
    let declared = |name: &str| headers.iter().any(|h| h.functions.iter().any(|f| f.name == name));
    has_main
        && !own.kernels().any(|k| declared(&k.name))
        && project.files.iter().filter(|f| f.role == Role::Named).count() == 1
}

/// The path without `.` and without steps up where that can be said without asking the disk.
pub fn clean(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if out.file_name().is_some() => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}
