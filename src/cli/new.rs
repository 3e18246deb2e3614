//! `kopt new`: the files of a new skill.

use std::path::{Path, PathBuf};

use kopt::config::Config;
use kopt::diag::{Code, Diagnostic};
use kopt::skill::ast::BodyKind;
use kopt::skill::near::nearest;
use kopt::skill::scaffold::scaffold;
use serde_json::json;

use super::exit::{Exit, Failure};
use super::printer::Printer;
use super::{session, write};

#[derive(clap::Args)]
pub struct Args {
    /// Verb and object, such as vectorize_access
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The direction of optimisation (`kopt skills list` shows them)
    #[arg(long, value_name = "DIRECTION")]
    pub direction: String,
    /// A body in Rust; only inside a checkout of kopt
    #[arg(long, group = "body")]
    pub native: bool,
    /// A body of patterns (the default)
    #[arg(long, group = "body")]
    pub template: bool,
    /// A body that a language model writes
    #[arg(long, group = "body")]
    pub model: bool,
}

pub fn run(args: &Args, printer: &mut Printer) -> Result<Exit, Failure> {
    let library = session::library(&Config::default())?;
    if library.directions.get(&args.direction).is_none() {
        let names: Vec<&str> = library.directions.names().collect();
        let near = nearest(&args.direction, names.iter().copied()).map(|n| format!("did you mean `{n}`? "));
        let d = Diagnostic::error(Code(542), format!("there is no direction `{}`", args.direction)).next(format!(
            "{}all: {}",
            near.unwrap_or_default(),
            names.join(", ")
        ));
        return Err(Failure::new(Exit::Usage, d));
    }
    if library.get(&args.name).is_some() {
        let message = format!("there is a skill `{}` already", args.name);
        return Err(Failure::usage(551, message, "choose another name"));
    }
    let kind = match (args.native, args.model) {
        (true, _) => BodyKind::Native,
        (_, true) => BodyKind::Model,
        _ => BodyKind::Template,
    };
    let files = scaffold(&args.name, &args.direction, kind)
        .map_err(|e| Failure::usage(542, e.to_string(), "kopt new unroll_loop --direction throughput"))?;
    let inside = is_checkout(Path::new("."));
    let mut written: Vec<(PathBuf, String)> = vec![];
    if inside {
        written.push((format!("skills/{}/{}.skill", args.direction, args.name).into(), files.skill));
        written.extend(files.pass.map(|pass| (format!("passes/{}.rs", args.name).into(), pass)));
    } else if args.native {
        let message = "a native body is compiled into kopt, and this is no checkout of kopt";
        return Err(Failure::usage(542, message, "use --template, or run the command in a checkout"));
    } else {
        written.push((format!("kopt-skills/{}.skill", args.name).into(), files.skill));
    }
    if let Some((path, _)) = written.iter().find(|(p, _)| p.exists()) {
        let message = format!("{} exists already", path.display());
        return Err(Failure::usage(551, message, "remove it first, or choose another name"));
    }
    for (path, text) in &written {
        write::new_file(path, text)?;
        printer.line(format!("wrote {}", path.display()))?;
    }
    let first = written.first().map(|(p, _)| p.display().to_string()).unwrap_or_default();
    printer.line(if inside {
        "next: fill it in, then cargo test".into()
    } else {
        format!("next: fill it in, then kopt skills test {first}")
    })?;
    if !inside {
        printer.line("kopt finds it through `skills = [\"kopt-skills\"]` in kopt.toml (kopt init)")?;
    }
    let paths: Vec<String> = written.iter().map(|(p, _)| p.display().to_string()).collect();
    printer.json(&json!({ "schema": "kopt/new/1", "written": paths }))?;
    Ok(Exit::Done)
}

/// Whether this is the root of kopt's own sources.
fn is_checkout(folder: &Path) -> bool {
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
    manifest.contains("name = \"kopt\"") && folder.join("skills/directions.toml").is_file()
}
