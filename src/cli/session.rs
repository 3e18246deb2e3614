//! What a command works with: settings, skills, files and assumptions, read once.

use std::path::{Path, PathBuf};

use kopt::config::{self, Config};
use kopt::contract::{self, Assumptions};
use kopt::diag::{Code, Diagnostic};
use kopt::facts::macros_of;
use kopt::skill::ast::{Class, Platform};
use kopt::skill::engine::survey::{self, Finding, Input, Lazy};
use kopt::skill::{Library, Skill};
use kopt::source::{SourceFile, Sources};
use rayon::prelude::*;

use super::exit::{Exit, Failure};
use super::load::{self, Loaded};
use super::options::{Global, Reading};

pub struct Session {
    pub config: Config,
    /// Folder of the kopt.toml in use, where there is one.
    pub root: Option<PathBuf>,
    pub library: Library,
    pub loaded: Loaded,
    pub assumptions: Assumptions,
    pub arch: Option<String>,
    pub include: Vec<PathBuf>,
    pub define: Vec<String>,
}

/// The settings: of `--config`, else of the nearest kopt.toml at or above the working folder.
pub fn config(global: &Global) -> Result<(Config, Option<PathBuf>), Failure> {
    let path = match &global.config {
        Some(path) => Some(path.clone()),
        None => nearest_config(),
    };
    let Some(path) = path else { return Ok((Config::default(), None)) };
    let text = std::fs::read_to_string(&path)
        .map_err(|e| Failure::usage(541, format!("{}: {e}", path.display()), "name a kopt.toml that can be read"))?;
    let config = Config::parse(&path.to_string_lossy(), &text)
        .map_err(|e| Failure::in_files(Exit::Usage, e.problems, e.sources))?;
    let folder = path.parent().map(Path::to_owned).unwrap_or_default();
    Ok((config.resolve(&folder), Some(folder)))
}

fn nearest_config() -> Option<PathBuf> {
    let here = Path::new(config::FILE_NAME);
    if here.is_file() {
        return Some(here.to_owned());
    }
    let cwd = std::env::current_dir().ok()?;
    let above = cwd.ancestors().skip(1).map(|p| p.join(config::FILE_NAME));
    above.into_iter().find(|p| p.is_file())
}

/// The built-in skills and those of the project.
pub fn library(config: &Config) -> Result<Library, Failure> {
    let built_in =
        Library::built_in().map_err(|e| Failure::in_files(Exit::Usage, e.problems.clone(), e.sources.clone()))?;
    let mut files = vec![];
    for folder in &config.skills {
        files.extend(skill_files(folder)?);
    }
    if files.is_empty() {
        return Ok(built_in.clone());
    }
    built_in
        .with_user_skills(&files, kopt::predicate::registry())
        .map_err(|e| Failure::in_files(Exit::Usage, e.problems, e.sources))
}

/// Path and text of the skill files in a folder; a folder that is not there holds none.
fn skill_files(folder: &Path) -> Result<Vec<(String, String)>, Failure> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(vec![]) };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "skill"));
    paths.sort();
    paths.iter().map(|p| skill_file(p)).collect()
}

pub fn skill_file(path: &Path) -> Result<(String, String), Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| Failure::usage(541, format!("{}: {e}", path.display()), "name a skill file that can be read"))?;
    Ok((path.to_string_lossy().into_owned(), text))
}

impl Session {
    /// Reads everything that a command on `paths` needs.
    pub fn open(global: &Global, reading: &Reading, paths: &[PathBuf]) -> Result<Session, Failure> {
        let (config, root) = config(global)?;
        let library = library(&config)?;
        let include: Vec<PathBuf> = reading.include.iter().chain(&config.include).cloned().collect();
        let define: Vec<String> = config.define.iter().chain(&reading.define).cloned().collect();
        let loaded = load::load(paths, &include, &define)?;
        Session { config, root, library, loaded, assumptions: Assumptions::default(), arch: None, include, define }
            .with_assumptions(reading)
    }

    /// A text that is not on the disk, with the built-in skills.
    pub fn of_text(name: &str, text: &str, reading: &Reading) -> Result<Session, Failure> {
        Session {
            config: Config::default(),
            root: None,
            library: library(&Config::default())?,
            loaded: load::load_text(name, text),
            assumptions: Assumptions::default(),
            arch: None,
            include: vec![],
            define: vec![],
        }
        .with_assumptions(reading)
    }

    /// Naming a skill on the command line permits what its class says: an approximating one may approximate.
    pub fn permit_named(&mut self, names: &[String]) {
        for name in names {
            let permission = match self.skill(name).map(|s| s.class.node) {
                Ok(Class::Approximating) => "permit(approximate)",
                Ok(Class::Reassociating) => "permit(reassociate)",
                _ => continue,
            };
            self.assumptions.everywhere.extend(contract::parse_assumption(permission, None));
        }
    }

    fn with_assumptions(mut self, reading: &Reading) -> Result<Session, Failure> {
        self.arch = reading.arch.clone().or_else(|| self.config.arch.clone());
        let (found, problems) = contract::from_comments(&self.loaded.program, self.loaded.sources());
        self.assumptions.extend(found);
        self.loaded.problems.extend(problems);
        let mut project_wide = false;
        if let Some(path) = reading.contract.as_ref().or(self.config.contract.as_ref()) {
            let bytes = std::fs::read(path).map_err(|e| {
                Failure::usage(541, format!("{}: {e}", path.display()), "name a contract that can be read")
            })?;
            // Beside the sources, so that what is said of an assumption shows its line.
            let file = self.loaded.project.sources.add(SourceFile::new(path.to_string_lossy(), bytes));
            let (found, problems) = contract::read(file, self.sources().get(file));
            if !problems.is_empty() {
                return Err(Failure::in_files(Exit::Usage, problems, self.loaded.project.sources));
            }
            let all = found.all_assumptions(&self.loaded.program);
            self.assumptions.extend(all);
            // A contract of the whole project speaks of kernels that are not in these files.
            project_wide = reading.contract.is_none();
        }
        let (plans, problems) = contract::plans_from_comments(&self.loaded.program, self.loaded.sources());
        self.loaded.problems.extend(problems);
        let of = contract::Contract { plans, ..contract::Contract::default() };
        let all = of.all_assumptions(&self.loaded.program);
        self.assumptions.extend(all);
        for text in &reading.assume {
            let found = contract::parse_assumption(text, None).map_err(|why| {
                let next =
                    "write a comparison such as 'cols % 4 == 0' or 'n <= 4096', 'aligned(x, 16)' or 'noalias(x, y)'";
                Failure::usage(550, format!("`{text}` cannot be read: {why}"), next)
            })?;
            self.assumptions.everywhere.push(found);
        }
        if !project_wide {
            let unused = contract::unbound(&self.loaded.program, &self.assumptions);
            self.loaded.problems.extend(unused);
        }
        self.loaded.program.complete |=
            self.assumptions.everywhere.iter().any(|a| a.kind == contract::AssumptionKind::Complete);
        Ok(self)
    }

    /// Another text for the first file that was asked for.
    pub fn revise(&mut self, text: &str) {
        let Some(file) = self.loaded.requested.first().copied() else { return };
        let source = SourceFile::new(self.sources().get(file).name.clone(), text);
        let unit = self.loaded.parse(file, &source);
        self.loaded.project.sources.replace(file, source);
        if let Some(slot) = self.loaded.program.units.iter_mut().find(|u| u.file == file) {
            *slot = unit;
        }
    }

    pub fn platform(&self) -> Option<Platform> {
        self.arch.as_deref().and_then(Platform::parse)
    }

    pub fn sources(&self) -> &Sources {
        self.loaded.sources()
    }

    /// A skill by name.
    ///
    /// # Errors
    /// K0542 with the nearest name.
    pub fn skill(&self, name: &str) -> Result<&Skill, Failure> {
        self.library.get(name).ok_or_else(|| no_skill(&self.library, name))
    }

    pub fn all_skills(&self) -> Vec<&Skill> {
        self.library.iter().map(|s| &s.skill).collect()
    }

    /// Every finding in the files that were asked for, in the order of the text whatever the number of threads.
    pub fn survey(&self, skills: &[&Skill]) -> Vec<Finding> {
        self.survey_as(skills, |finding| finding)
    }

    /// The same, with refusals in brief.
    pub fn survey_in_brief(&self, skills: &[&Skill]) -> Vec<Finding> {
        self.survey_as(skills, Finding::brief)
    }

    fn survey_as(&self, skills: &[&Skill], form: impl Fn(Finding) -> Finding + Sync) -> Vec<Finding> {
        let program = &self.loaded.program;
        let wanted = |at: &kopt::ir::FunctionRef| self.loaded.requested.contains(&program.unit(at.unit).file);
        let functions: Vec<_> = survey::functions(program).into_iter().filter(wanted).collect();
        let input = Input {
            program,
            sources: self.sources(),
            skills,
            assumptions: &self.assumptions,
            platform: self.platform(),
        };
        let macros = macros_of(program, self.sources());
        let of = |at: &kopt::ir::FunctionRef| -> Vec<Finding> {
            let analysis = Lazy::new(input, &macros, *at);
            let judged = skills.iter().flat_map(|skill| survey::judge_all(input, skill, *at, &analysis));
            judged.map(|c| form(c.finding)).collect()
        };
        let mut found: Vec<Finding> = functions.par_iter().flat_map_iter(of).collect();
        found.sort_by(|a, b| (a.span, &a.skill, a.place).cmp(&(b.span, &b.skill, b.place)));
        found
    }
}

pub fn no_skill(library: &Library, name: &str) -> Failure {
    let next = match library.near(name) {
        Some(near) => format!("did you mean `{near}`? `kopt skills list` lists all"),
        None => "kopt skills list".to_owned(),
    };
    Failure::new(Exit::Usage, Diagnostic::error(Code(542), format!("there is no skill `{name}`")).next(next))
}
