//! `kopt skills`: list, show, create, test.

use std::path::{Path, PathBuf};

use kopt::project::Project;
use kopt::skill::{Library, Skill, doc, print};
use serde_json::json;

use super::cases::{self, Outcome};
use super::exit::{Exit, Failure};
use super::gate::{self, Gate};
use super::options::Global;
use super::printer::Printer;
use super::{new, session};

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List all skills
    List,
    /// Show a skill as its file says it
    Show {
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Create a skill
    New(new::Args),
    /// Run the examples and refusals of skills
    Test {
        /// Names of skills, or skill files; all built-in skills when left out
        #[arg(value_name = "NAME or FILE")]
        which: Vec<String>,
    },
    /// Write CUDA programs that run originals and rewrites side by side on a GPU
    Harness {
        /// Which kernels, how launched
        #[arg(long, value_name = "FILE", default_value = "tests/gpu/cases.toml")]
        cases: PathBuf,
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
}

pub fn run(args: &Args, global: &Global, printer: &mut Printer) -> Result<Exit, Failure> {
    let config = || session::config(global).map(|(config, _)| config);
    match &args.command {
        Command::List => list(&session::library(&config()?)?, printer),
        Command::Show { name } => show(&session::library(&config()?)?, name, printer),
        Command::New(args) => new::run(args, printer),
        Command::Harness { cases, out } => super::harness::run(&session::library(&config()?)?, cases, out, printer),
        Command::Test { which } => test(&session::library(&config()?)?, which, printer),
    }
}

fn list(library: &Library, printer: &mut Printer) -> Result<Exit, Failure> {
    let width = library.names().map(str::len).max().unwrap_or(0);
    for direction in library.directions.iter() {
        let skills: Vec<&Skill> = library.in_direction(&direction.name).collect();
        if skills.is_empty() {
            continue;
        }
        printer.heading(&direction.name)?;
        for skill in skills {
            printer.line(format!("  {:<width$}  {}", skill.name.node, skill.title.node))?;
        }
    }
    let one = |s: &kopt::skill::library::LibrarySkill| {
        json!({
            "name": s.skill.name.node, "title": s.skill.title.node, "direction": s.skill.direction.node,
            "intent": s.skill.intent.node.trim(), "class": s.skill.class.node.as_str(), "built_in": s.built_in,
            "hash": s.skill.hash(),
        })
    };
    printer.json(&json!({ "schema": "kopt/skills/1", "skills": library.iter().map(one).collect::<Vec<_>>() }))?;
    Ok(Exit::Done)
}

fn show(library: &Library, name: &str, printer: &mut Printer) -> Result<Exit, Failure> {
    let skill = library.get(name).ok_or_else(|| session::no_skill(library, name))?;
    let text = print::print(skill);
    printer.text(&text)?;
    printer.json(&json!({ "schema": "kopt/skill/1", "name": name, "hash": skill.hash(), "text": text }))?;
    Ok(Exit::Done)
}

/// The section of the documentation page that speaks of one skill.
pub fn page(library: &Library, name: &str) -> String {
    let all = doc::skills_page(library);
    let head = format!("### {name}\n");
    let Some(start) = all.find(&head) else { return String::new() };
    let rest = &all[start..];
    let end = rest[3..].find("\n## ").into_iter().chain(rest[3..].find("\n### ")).min();
    format!("{}\n", rest[..end.map_or(rest.len(), |e| e + 4)].trim_end())
}

fn test(library: &Library, which: &[String], printer: &mut Printer) -> Result<Exit, Failure> {
    let mut files = vec![];
    let mut names: Vec<String> = vec![];
    for what in which {
        if library.get(what).is_some() {
            names.push(what.clone());
        } else if what.ends_with(".skill") || Path::new(what).is_file() {
            files.push(session::skill_file(Path::new(what))?);
            names.push(PathBuf::from(what).file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default());
        } else {
            return Err(session::no_skill(library, what));
        }
    }
    // A file of a skill that is in the library already is tested as it is there.
    files.retain(|(path, _)| !names.iter().any(|n| library.get(n).is_some() && path.ends_with(&format!("{n}.skill"))));
    let library = library
        .with_user_skills(&files, kopt::predicate::registry())
        .map_err(|e| Failure::in_files(Exit::Usage, e.problems, e.sources))?;
    if which.is_empty() {
        names.extend(library.names().map(str::to_owned));
    }
    let gate = Gate::find(&Project::default(), &[], &[], &[], None);
    let compile = gate
        .as_ref()
        .map_or_else(|| "not run (no CUDA compiler)".to_owned(), |g| format!("{}, {}", g.toolchain(), g.arch()));
    printer.line(format!("compile: {compile}"))?;
    let mut results = vec![];
    let mut failed = 0;
    for name in &names {
        let skill = library.get(name).ok_or_else(|| session::no_skill(&library, name))?;
        printer.heading(name)?;
        for case in cases::run(skill, gate.as_ref()) {
            let (word, text) = match &case.outcome {
                Outcome::Holds(text) => ("ok", text.clone()),
                Outcome::Fails(text) => ("FAILED", text.clone()),
            };
            failed += usize::from(word == "FAILED");
            printer.line(format!("  {word:<6}  {} \"{}\": {text}", case.kind, case.title))?;
            printer.text(&gate::text(gate.as_ref().map_or("", Gate::arch), &case.checked))?;
            results.push(json!({
                "skill": name, "kind": case.kind, "title": case.title, "ok": word == "ok", "text": text,
                "compile": gate::json(&case.checked),
            }));
        }
    }
    printer.line(format!("{} cases, {failed} failed", results.len()))?;
    printer.json(&json!({ "schema": "kopt/skills-test/1", "compile": compile, "cases": results, "failed": failed }))?;
    Ok(if failed == 0 { Exit::Done } else { Exit::Findings })
}
