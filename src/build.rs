//! Generates the skill parser from `grammar/`, the table of built-in skills from `skills/` and that of native bodies
//! from `passes/`. A native body without its skill file, or the other way round, fails the build.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[path = "skill/lexer.rs"]
#[allow(dead_code)]
mod lexer;

type Failure = Box<dyn Error>;

fn main() -> ExitCode {
    match generate() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.to_string().lines().for_each(|line| println!("cargo::error={line}"));
            ExitCode::FAILURE
        }
    }
}

fn generate() -> Result<(), Failure> {
    let root = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    for watched in ["grammar", "skills", "passes", "src/build.rs", "src/skill/lexer.rs", "src/lib.rs"] {
        println!("cargo:rerun-if-changed={watched}");
    }
    lalrpop::Configuration::new()
        .set_in_dir(root.join("grammar"))
        .set_out_dir(&out)
        .emit_rerun_directives(true)
        .process()?;
    let skills = skills(&root)?;
    let passes = passes(&root)?;
    fs::write(out.join("skills.rs"), skill_table(&root, &skills)?)?;
    // The table of passes names the trait, so it waits for the crate to have it.
    let has_trait = fs::read_to_string(root.join("src/lib.rs"))?.lines().any(|l| l.trim_end() == "pub mod pass;");
    if has_trait {
        pair(&skills, &passes)?;
    }
    fs::write(out.join("passes.rs"), if has_trait { pass_table(&passes)? } else { String::new() })?;
    Ok(())
}

/// Skill files by name, with the path below `skills/`.
struct SkillFile {
    relative: String,
    path: PathBuf,
    native: Vec<String>,
}

fn skills(root: &Path) -> Result<BTreeMap<String, SkillFile>, Failure> {
    let mut found = BTreeMap::<String, SkillFile>::new();
    for folder in entries(&root.join("skills"))? {
        if !folder.is_dir() {
            continue;
        }
        println!("cargo:rerun-if-changed={}", folder.display());
        for path in entries(&folder)? {
            if path.extension().is_none_or(|e| e != "skill") {
                continue;
            }
            println!("cargo:rerun-if-changed={}", path.display());
            let name = stem(&path)?;
            let relative = format!("{}/{name}.skill", stem(&folder)?);
            let text = fs::read_to_string(&path).map_err(|e| format!("skills/{relative}: {e}"))?;
            let file = SkillFile { relative: relative.clone(), path, native: lexer::native_bodies(&text) };
            if let Some(other) = found.insert(name.clone(), file) {
                return Err(format!("two skill files are called {name}: {} and {relative}", other.relative).into());
            }
        }
    }
    Ok(found)
}

fn passes(root: &Path) -> Result<BTreeMap<String, PathBuf>, Failure> {
    let mut found = BTreeMap::new();
    for path in entries(&root.join("passes"))? {
        if path.extension().is_some_and(|e| e == "rs") {
            println!("cargo:rerun-if-changed={}", path.display());
            found.insert(stem(&path)?, path);
        }
    }
    Ok(found)
}

fn pair(skills: &BTreeMap<String, SkillFile>, passes: &BTreeMap<String, PathBuf>) -> Result<(), Failure> {
    let mut faults = vec![];
    for name in passes.keys() {
        match skills.get(name) {
            None => faults.push(format!(
                "passes/{name}.rs has no skill file: write skills/<direction>/{name}.skill with `body cuda native`, or remove the pass"
            )),
            Some(skill) if skill.native.is_empty() => faults.push(format!(
                "passes/{name}.rs is not used: skills/{} declares no native body; add `body cuda native` or remove the pass",
                skill.relative
            )),
            Some(_) => {}
        }
    }
    for (name, skill) in skills {
        if !skill.native.is_empty() && !passes.contains_key(name) {
            faults.push(format!(
                "skills/{} declares native bodies ({}), but there is no passes/{name}.rs: write it with `pub struct {}`, or make them template or model bodies",
                skill.relative,
                skill.native.join(", "),
                camel_case(name)
            ));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n").into()) }
}

fn skill_table(root: &Path, skills: &BTreeMap<String, SkillFile>) -> Result<String, Failure> {
    let mut text = String::from("/// Path below `skills/` and text of every built-in skill, sorted by name.\n");
    writeln!(text, "pub static SKILLS: &[(&str, &str)] = &[")?;
    for skill in skills.values() {
        writeln!(text, "    ({:?}, include_str!({:?})),", skill.relative, skill.path)?;
    }
    writeln!(text, "];")?;
    writeln!(text, "/// Text of `skills/directions.toml`.")?;
    writeln!(text, "pub static DIRECTIONS: &str = include_str!({:?});", root.join("skills/directions.toml"))?;
    Ok(text)
}

fn pass_table(passes: &BTreeMap<String, PathBuf>) -> Result<String, Failure> {
    let mut text = String::new();
    for (name, path) in passes {
        writeln!(text, "#[path = {path:?}]\npub mod {name};")?;
    }
    writeln!(text, "/// The native bodies by skill name, sorted.")?;
    writeln!(text, "pub static PASSES: &[(&str, &dyn crate::pass::Pass)] = &[")?;
    for name in passes.keys() {
        writeln!(text, "    ({name:?}, &{name}::{}),", camel_case(name))?;
    }
    writeln!(text, "];")?;
    writeln!(text, "/// Their source texts, for the hash that a lock records.")?;
    writeln!(text, "pub static TEXTS: &[(&str, &str)] = &[")?;
    for (name, path) in passes {
        writeln!(text, "    ({name:?}, include_str!({path:?})),")?;
    }
    writeln!(text, "];")?;
    Ok(text)
}

/// The entries of a folder, sorted; none if it is not there.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !folder.is_dir() {
        return Ok(vec![]);
    }
    let mut paths = fs::read_dir(folder)?.map(|e| e.map(|e| e.path())).collect::<Result<Vec<_>, _>>()?;
    paths.sort();
    Ok(paths)
}

fn stem(path: &Path) -> Result<String, Failure> {
    let stem = path.file_stem().and_then(|s| s.to_str());
    Ok(stem.ok_or_else(|| format!("{}: the name is not UTF-8", path.display()))?.to_owned())
}

fn camel_case(name: &str) -> String {
    let capital = |word: &str| {
        let mut chars = word.chars();
        chars.next().map(|c| c.to_ascii_uppercase().to_string() + chars.as_str()).unwrap_or_default()
    };
    name.split('_').map(capital).collect()
}
