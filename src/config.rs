//! `kopt.toml`: what a project sets once. Reading it starts nothing; unknown keys are named with the nearest known one.

use std::path::{Path, PathBuf};

use crate::diag::{Code, Diagnostic};
use crate::skill::ast::Platform;
use crate::skill::near::nearest;
use crate::source::{SourceFile, Sources, Span};

pub const FILE_NAME: &str = "kopt.toml";

/// Settings of a project. Paths are relative to the folder of the file until [`Config::resolve`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// `sm_80`.
    pub arch: Option<String>,
    pub include: Vec<PathBuf>,
    pub define: Vec<String>,
    /// Folders with skill files of the project.
    pub skills: Vec<PathBuf>,
    /// A contract file with assumptions.
    pub contract: Option<PathBuf>,
    pub fail_on: Option<FailOn>,
    /// Options of the project's nvcc command line, for the compile gate.
    pub nvcc_flags: Vec<String>,
    /// The file of the transition memory.
    pub memory: Option<PathBuf>,
}

/// Which findings of `kopt check` make it exit with 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailOn {
    #[default]
    Never,
    /// A skill applies and is expected to pay.
    Paying,
    /// A skill applies, whether it pays or not.
    Applies,
}

impl FailOn {
    pub const WORDS: [&'static str; 3] = ["never", "paying", "applies"];

    pub fn from_word(word: &str) -> Option<FailOn> {
        match word {
            "never" => Some(FailOn::Never),
            "paying" => Some(FailOn::Paying),
            "applies" => Some(FailOn::Applies),
            _ => None,
        }
    }
}

const KEYS: [&str; 8] = ["arch", "include", "define", "skills", "contract", "fail-on", "nvcc-flags", "memory"];

/// A file that cannot be used; spans point into `sources`.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{} cannot be used", .sources.iter().next().map_or(FILE_NAME, |(_, f)| f.name.as_str()))]
pub struct ConfigError {
    pub sources: Sources,
    pub problems: Vec<Diagnostic>,
}

impl Config {
    /// Reads the text of the file called `name`.
    ///
    /// # Errors
    /// Every mistake of the file, with its place.
    pub fn parse(name: &str, text: &str) -> Result<Config, ConfigError> {
        let mut sources = Sources::default();
        let file = sources.add(SourceFile::new(name, text));
        let mut config = Config::default();
        let mut problems = vec![];
        match toml::from_str::<std::collections::BTreeMap<toml::Spanned<String>, toml::Spanned<toml::Value>>>(text) {
            Err(e) => {
                let range = e.span().unwrap_or(0..0);
                problems.push(mistake(e.message()).at(Span::new(file, range.start, range.end), "here"));
            }
            Ok(table) => {
                for (key, value) in &table {
                    let (at_key, at_value) = (key.span(), value.span());
                    match config.set(key.get_ref(), value.get_ref()) {
                        Ok(()) => {}
                        Err(Bad::Key) => {
                            let d = mistake(&format!("`{}` is no setting", key.get_ref()))
                                .at(Span::new(file, at_key.start, at_key.end), "not known");
                            let next = match nearest(key.get_ref(), KEYS) {
                                Some(near) => format!("write `{near}`"),
                                None => format!("use one of {}", KEYS.join(", ")),
                            };
                            problems.push(d.next(next));
                        }
                        Err(Bad::Value(wanted)) => problems.push(
                            mistake(&format!("`{}` has a value that it cannot have", key.get_ref()))
                                .at(Span::new(file, at_value.start, at_value.end), format!("expected {wanted}")),
                        ),
                    }
                }
            }
        }
        if problems.is_empty() { Ok(config) } else { Err(ConfigError { sources, problems }) }
    }

    fn set(&mut self, key: &str, value: &toml::Value) -> Result<(), Bad> {
        let paths = |v: &toml::Value| strings(v).map(|l| l.into_iter().map(PathBuf::from).collect());
        match key {
            "arch" => {
                let text = value.as_str().filter(|t| Platform::parse(t).is_some());
                self.arch = Some(text.ok_or(Bad::Value("an architecture such as \"sm_80\""))?.to_owned());
            }
            "include" => self.include = paths(value)?,
            "define" => self.define = strings(value)?,
            "skills" => self.skills = paths(value)?,
            "nvcc-flags" => self.nvcc_flags = strings(value)?,
            "contract" => self.contract = Some(value.as_str().ok_or(Bad::Value("the path of a file"))?.into()),
            "memory" => self.memory = Some(value.as_str().ok_or(Bad::Value("the path of a file"))?.into()),
            "fail-on" => {
                let word = value.as_str().and_then(FailOn::from_word);
                self.fail_on = Some(word.ok_or(Bad::Value("\"never\", \"paying\" or \"applies\""))?);
            }
            _ => return Err(Bad::Key),
        }
        Ok(())
    }

    /// Makes the paths relative to where the program runs: they were relative to `folder`.
    pub fn resolve(mut self, folder: &Path) -> Config {
        for path in self.include.iter_mut().chain(&mut self.skills).chain(&mut self.contract).chain(&mut self.memory) {
            if path.is_relative() && !folder.as_os_str().is_empty() {
                *path = folder.join(&*path);
            }
        }
        self
    }
}

enum Bad {
    Key,
    Value(&'static str),
}

fn strings(value: &toml::Value) -> Result<Vec<String>, Bad> {
    let list = value.as_array().ok_or(Bad::Value("a list of texts"))?;
    list.iter().map(|v| v.as_str().map(str::to_owned).ok_or(Bad::Value("a list of texts"))).collect()
}

fn mistake(message: &str) -> Diagnostic {
    Diagnostic::error(Code(540), message)
}

/// The text that `kopt init` writes.
pub const TEMPLATE: &str = "\
# Settings of kopt for this project. Paths are relative to this file.

# The architecture that conditions are judged for and kernels are compiled for.
arch = \"sm_80\"

# Folders of headers, and macros, as for the compiler.
include = []
define = []

# Folders with the project's own skills (*.skill).
skills = [\"kopt-skills\"]

# When `kopt check` exits with 1: \"never\", \"paying\" (a skill applies and is expected to pay) or \"applies\".
fail-on = \"never\"
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_is_read() {
        let config = Config::parse(FILE_NAME, TEMPLATE).unwrap().resolve(Path::new("project"));
        assert_eq!(config.arch.as_deref(), Some("sm_80"));
        assert_eq!(config.skills, [PathBuf::from("project/kopt-skills")]);
        assert_eq!(config.fail_on, Some(FailOn::Never));
    }

    #[test]
    fn mistakes_name_the_place_and_the_nearest_key() {
        let cases = [
            ("includes = []", "includes", Some("write `include`")),
            ("arch = \"pascal\"", "\"pascal\"", None),
            ("define = [1]", "[1]", None),
            ("fail-on = \"always\"", "\"always\"", None),
            (
                "colour = 1",
                "colour",
                Some("use one of arch, include, define, skills, contract, fail-on, nvcc-flags, memory"),
            ),
        ];
        for (text, place, next) in cases {
            let error = Config::parse("kopt.toml", text).unwrap_err();
            let d = &error.problems[0];
            assert_eq!(error.sources.slice(d.primary().unwrap()), place, "{text}");
            assert_eq!(d.next.as_deref(), next, "{text}");
        }
        assert_eq!(Config::parse("kopt.toml", "a = 1\nb = 2\n").unwrap_err().problems.len(), 2);
        assert!(Config::parse("kopt.toml", "arch = \n").is_err());
    }
}
