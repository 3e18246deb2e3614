//! Headers for the compile gate, and the files that include a file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::{Project, Resolver, identity, read_limited};
use crate::compile::headers::{Header, classify};
use crate::compile::{HeaderSource, HeaderText};
use crate::source::{FileId, mask};

/// The headers of a project, as the compile gate asks for them.
///
/// An include that leads nowhere, because a build passes `-I` options that kopt was not given, is looked for by its
/// name among the files of the project: the nearest one is taken, and none where two are equally near.
pub struct Headers {
    resolver: Resolver,
    /// The name under which each file was loaded.
    loaded: BTreeMap<PathBuf, String>,
    /// Paths by file name.
    by_name: BTreeMap<String, Vec<PathBuf>>,
    texts: Mutex<BTreeMap<PathBuf, Option<String>>>,
}

impl Headers {
    pub fn new(project: &Project, include_dirs: &[PathBuf]) -> Headers {
        let mut by_name: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
        let mut loaded = BTreeMap::new();
        for file in &project.files {
            let name = file.path.file_name().map(|n| n.to_string_lossy().into_owned());
            by_name.entry(name.unwrap_or_default()).or_default().push(file.path.clone());
            loaded.insert(identity(&file.path), file.path.to_string_lossy().into_owned());
        }
        let resolver = Resolver::new(include_dirs, &project.root);
        Headers { resolver, loaded, by_name, texts: Mutex::default() }
    }

    /// Where an include leads.
    fn find(&self, includer: &Path, name: &str, angled: bool) -> Option<PathBuf> {
        let own = || classify(name) == Header::Unknown;
        self.resolver.resolve(includer, name, angled).or_else(|| self.nearest(includer, name).filter(|_| own()))
    }

    /// The nearest file of the project whose path ends with `name`.
    fn nearest(&self, includer: &Path, name: &str) -> Option<PathBuf> {
        let tail = Path::new(name);
        let file = tail.file_name()?.to_string_lossy();
        let plain: PathBuf = tail.components().filter(|c| matches!(c, std::path::Component::Normal(_))).collect();
        let fits = |p: &&PathBuf| p.ends_with(&plain) && p.as_path() != includer;
        let shared = |p: &PathBuf| p.components().zip(includer.components()).take_while(|(a, b)| a == b).count();
        let found: Vec<&PathBuf> = self.by_name.get(file.as_ref())?.iter().filter(fits).collect();
        let best = found.iter().map(|p| shared(p)).max()?;
        let mut nearest = found.into_iter().filter(|p| shared(p) == best);
        nearest.next().filter(|_| nearest.next().is_none()).cloned()
    }

    fn text(&self, path: &Path) -> Option<String> {
        let mut texts = self.texts.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(known) = texts.get(path) {
            return known.clone();
        }
        let text = read_limited(path).ok().map(|b| String::from_utf8_lossy(&b).into_owned());
        texts.insert(path.to_owned(), text.clone());
        text
    }
}

impl HeaderSource for Headers {
    fn open(&self, includer: &str, name: &str, angled: bool) -> Option<HeaderText> {
        let includer = Path::new(includer);
        let path = self.find(includer, name, angled)?;
        let text = self.text(&path)?;
        let shown = self.loaded.get(&identity(&path)).cloned();
        Some(HeaderText { path: shown.unwrap_or_else(|| path.to_string_lossy().into_owned()), text })
    }
}

/// Who includes whom.
pub struct Includers {
    files: Vec<(PathBuf, FileId)>,
    /// For each file, by its place in `files`, those that include it themselves.
    by: Vec<Vec<usize>>,
}

impl Includers {
    pub fn of(project: &Project, headers: &Headers) -> Includers {
        let at: BTreeMap<PathBuf, usize> =
            project.files.iter().enumerate().map(|(i, f)| (identity(&f.path), i)).collect();
        let mut by = vec![vec![]; project.files.len()];
        for (i, file) in project.files.iter().enumerate() {
            for include in mask::includes(&project.sources.get(file.id).text) {
                let target = headers.find(&file.path, &include.path, include.angled);
                let target = target.and_then(|p| at.get(&identity(&p))).filter(|t| **t != i);
                if let Some(list) = target.and_then(|t| by.get_mut(*t)) {
                    list.push(i);
                }
            }
        }
        Includers { files: project.files.iter().map(|f| (f.path.clone(), f.id)).collect(), by }
    }

    /// The files that include `file`, directly or not: sources before headers, near ones before far ones.
    pub fn of_file(&self, file: FileId) -> Vec<FileId> {
        let Some(start) = self.files.iter().position(|(_, id)| *id == file) else { return vec![] };
        let (mut seen, mut wave, mut steps) = (BTreeSet::from([start]), vec![start], 0usize);
        let mut found: Vec<(bool, usize, &Path, FileId)> = vec![];
        while !wave.is_empty() {
            steps += 1;
            let next: BTreeSet<usize> = wave.iter().filter_map(|i| self.by.get(*i)).flatten().copied().collect();
            wave = next.into_iter().filter(|i| seen.insert(*i)).collect();
            for (path, id) in wave.iter().filter_map(|i| self.files.get(*i)) {
                let source = path.extension().is_some_and(|e| matches!(e.to_str(), Some("cu" | "cpp" | "cc" | "cxx")));
                found.push((!source, steps, path, *id));
            }
        }
        found.sort();
        found.into_iter().map(|(_, _, _, id)| id).collect()
    }
}
