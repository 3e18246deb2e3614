//! The skills that exist: those built in, parsed once, and those that a user brings as files.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::ast::{BodyKind, Skill};
use super::check::check;
use super::directions::Directions;
use super::near::nearest;
use super::parse::parse;
use super::vocabulary::Vocabulary;
use crate::diag::{Code, Diagnostic, Severity};
use crate::source::{FileId, SourceFile, Sources, Span};

mod table {
    include!(concat!(env!("OUT_DIR"), "/skills.rs"));
}

/// A skill and where it came from.
#[derive(Clone, Debug)]
pub struct LibrarySkill {
    pub skill: Skill,
    /// Of [`Library::sources`].
    pub file: FileId,
    pub built_in: bool,
}

/// A set of skills with unique names, and the texts that their spans point into.
#[derive(Clone, Debug, Default)]
pub struct Library {
    pub sources: Sources,
    pub directions: Directions,
    by_name: BTreeMap<String, LibrarySkill>,
}

/// Why a library could not be made. The spans of `problems` point into `sources`.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{} in skill files", plural(.problems.len()))]
pub struct LibraryError {
    pub sources: Sources,
    pub problems: Vec<Diagnostic>,
}

fn plural(count: usize) -> String {
    if count == 1 { "one mistake".to_owned() } else { format!("{count} mistakes") }
}

impl Library {
    /// The skills that kopt brings, parsed once; names of predicates are not checked here but by [`Library::check`].
    ///
    /// # Errors
    /// Mistakes in the built-in files; the test run keeps them out of a release.
    pub fn built_in() -> Result<&'static Library, &'static LibraryError> {
        static LIBRARY: OnceLock<Result<Library, LibraryError>> = OnceLock::new();
        LIBRARY.get_or_init(|| Library::load(table::DIRECTIONS, table::SKILLS)).as_ref()
    }

    fn load(directions: &str, skills: &[(&str, &str)]) -> Result<Library, LibraryError> {
        let mut library = Library::default();
        let file = library.sources.add(SourceFile::new("skills/directions.toml", directions));
        let mut problems = vec![];
        match Directions::parse(file, directions) {
            Ok(directions) => library.directions = directions,
            Err(found) => problems.extend(found),
        }
        for (path, text) in skills {
            problems.extend(library.add(&format!("skills/{path}"), text, true));
        }
        problems.retain(|p| p.severity == Severity::Error);
        if problems.is_empty() { Ok(library) } else { Err(LibraryError { sources: library.sources, problems }) }
    }

    /// This library with a user's skills added, given as path and text.
    ///
    /// # Errors
    /// The mistakes of all files, clashes of names included; then none of the files is used.
    pub fn with_user_skills(
        &self,
        files: &[(String, String)],
        vocabulary: &dyn Vocabulary,
    ) -> Result<Library, LibraryError> {
        let mut library = self.clone();
        let mut problems = vec![];
        for (path, text) in files {
            let found = library.add(path, text, false);
            let readable = !found.iter().any(|p| p.severity == Severity::Error);
            problems.extend(found);
            let last = library.by_name.values().find(|s| readable && library.sources.get(s.file).name == *path);
            if let Some(added) = last {
                problems.extend(check(&added.skill, vocabulary, Some(&library.directions)));
            }
        }
        problems.retain(|p| p.severity == Severity::Error);
        if problems.is_empty() { Ok(library) } else { Err(LibraryError { sources: library.sources, problems }) }
    }

    /// The checks of [`check`] on every skill: names, types, cases; warnings included.
    pub fn check(&self, vocabulary: &dyn Vocabulary) -> Vec<Diagnostic> {
        self.iter().flat_map(|s| check(&s.skill, vocabulary, Some(&self.directions))).collect()
    }

    pub fn get(&self, name: &str) -> Option<&Skill> {
        self.by_name.get(name).map(|s| &s.skill)
    }

    /// The name closest to one that does not exist.
    pub fn near(&self, name: &str) -> Option<&str> {
        nearest(name, self.by_name.keys().map(String::as_str))
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// All skills, by name.
    pub fn iter(&self) -> impl Iterator<Item = &LibrarySkill> {
        self.by_name.values()
    }

    pub fn in_direction<'a>(&'a self, direction: &'a str) -> impl Iterator<Item = &'a Skill> {
        self.by_name.values().map(|s| &s.skill).filter(move |s| s.direction.node == direction)
    }

    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    fn add(&mut self, path: &str, text: &str, built_in: bool) -> Vec<Diagnostic> {
        let source = SourceFile::new(path, text);
        let file = self.sources.add(source);
        let parsed = parse(file, text);
        let failed = parsed.has_errors();
        let mut problems = parsed.problems;
        let Some(skill) = parsed.skill else { return problems };
        problems.extend(self.placement(&skill, path, built_in));
        if let Some(other) = self.by_name.get(&skill.name.node) {
            problems.push(
                Diagnostic::error(Code(140), format!("there is a skill `{}` already", skill.name.node))
                    .at(skill.name.span, "the same name")
                    .see(other.skill.name.span, if other.built_in { "built in" } else { "here" })
                    .next("choose another name"),
            );
        } else if !failed {
            self.by_name.insert(skill.name.node.clone(), LibrarySkill { skill, file, built_in });
        }
        problems
    }

    /// File name, folder and kinds of body against what the file says.
    fn placement(&self, skill: &Skill, path: &str, built_in: bool) -> Vec<Diagnostic> {
        let mut problems = vec![];
        let mut parts = path.rsplit(['/', '\\']);
        let stem = parts.next().unwrap_or("").trim_end_matches(".skill");
        if stem != skill.name.node && !skill.name.node.is_empty() {
            problems.push(
                Diagnostic::error(Code(116), format!("the file is called {stem}, the skill {}", skill.name.node))
                    .at(skill.name.span, "name and file differ")
                    .next("rename one of them"),
            );
        }
        if built_in && parts.next() != Some(skill.direction.node.as_str()) {
            problems.push(
                Diagnostic::error(Code(142), "the file lies in the folder of another direction")
                    .at(skill.direction.span, "says this direction")
                    .next(format!("move it to skills/{}/", skill.direction.node)),
            );
        }
        for body in skill.bodies.iter().filter(|b| !built_in && b.kind == BodyKind::Native) {
            problems.push(
                Diagnostic::error(Code(141), "a skill loaded at run time has no native body")
                    .at(body.span, "native bodies are compiled into kopt")
                    .next("write it as `template` or `model`"),
            );
        }
        if self.directions.get(&skill.direction.node).is_none() && built_in && !skill.direction.node.is_empty() {
            let span: Span = skill.direction.span;
            problems.push(
                Diagnostic::error(Code(129), format!("there is no direction `{}`", skill.direction.node))
                    .at(span, "not in skills/directions.toml")
                    .next("use one of them"),
            );
        }
        problems
    }
}
