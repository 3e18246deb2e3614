//! `kopt skills harness`: CUDA programs for a machine with a GPU, one per case.

use std::path::Path;

use kopt::diag::{Code, Diagnostic};
use kopt::skill::Library;
use kopt::skill::ast::Skill;
use kopt::skill::engine::survey::Input;
use kopt::skill::engine::{force, rewrite::Stop};
use kopt::skill::harness::{Case, Cases, program};
use kopt::source::{FileId, SourceFile};
use serde_json::{Value, json};

use super::cases;
use super::exit::{Exit, Failure};
use super::printer::Printer;

pub fn run(library: &Library, cases: &Path, out: &Path, printer: &mut Printer) -> Result<Exit, Failure> {
    let fail = |path: &Path, why: String| {
        let d = Diagnostic::error(Code(547), format!("{}: {why}", path.display()));
        Failure::new(Exit::Usage, d.next("kopt skills harness --cases FILE --out DIR"))
    };
    let text = std::fs::read_to_string(cases).map_err(|e| fail(cases, e.to_string()))?;
    let read: Cases = toml::from_str(&text).map_err(|e| fail(cases, e.to_string()))?;
    std::fs::create_dir_all(out).map_err(|e| fail(out, e.to_string()))?;
    let mut index = vec![];
    for (number, case) in read.case.iter().enumerate() {
        let skill = library.get(&case.skill).ok_or_else(|| fail(cases, format!("there is no skill {}", case.skill)))?;
        let (kind, before, candidate) = candidate(skill, case).map_err(|why| fail(cases, why))?;
        let file = format!("case_{number:02}.cu");
        let mut entry = json!({
            "file": file, "skill": case.skill, "case": case.name, "kind": kind, "sizes": case.sizes,
            "tolerance": case.tolerance, "without": case.without, "over_strict": case.over_strict,
            "skill_hash": skill.hash().to_string(),
        });
        match candidate {
            Ok(text) => {
                let path = out.join(&file);
                std::fs::write(&path, program(case, &before, &text)).map_err(|e| fail(&path, e.to_string()))?;
            }
            Err(stop) => entry["unwritten"] = Value::from(why(&stop)),
        }
        index.push(entry);
    }
    let path = out.join("index.json");
    let text = serde_json::to_string_pretty(&index).unwrap_or_default();
    std::fs::write(&path, text + "\n").map_err(|e| fail(&path, e.to_string()))?;
    printer.line(format!("{} cases written to {}", index.len(), out.display()))?;
    Ok(Exit::Done)
}

fn why(stop: &Stop) -> String {
    match stop {
        Stop::Broken(what) => format!("the body cannot be written: {what}"),
        other => format!("the body cannot be written: {other:?}"),
    }
}

/// What kind of case it is, the original, and the rewritten text.
type Candidate = (&'static str, String, Result<String, Stop>);

fn candidate(skill: &Skill, case: &Case) -> Result<Candidate, String> {
    let example = skill.examples.iter().find(|e| e.title.node == case.name);
    let refusal = skill.refusals.iter().find(|r| r.title.node == case.name);
    let (before, contract) = match (example, refusal) {
        (Some(e), _) => (&e.before.node, &e.contract),
        (None, Some(r)) => (&r.before.node, &r.contract),
        (None, None) => return Err(format!("{} has no case \"{}\"", skill.name.node, case.name)),
    };
    let session = cases::session(skill, before, contract.as_ref().map(|c| c.node.as_str()))?;
    let passes = kopt::pass::builtin();
    let loaded = &session.loaded;
    let skills = [skill];
    let input = Input {
        program: &loaded.program,
        sources: loaded.sources(),
        skills: &skills,
        assumptions: &session.assumptions,
        platform: session.platform(),
    };
    let parse = |file: FileId, source: &SourceFile| loaded.parse(file, source);
    let (kind, text) = match (example, &case.without) {
        (None, _) => ("refuse", force::text(input, skill, &passes)),
        (Some(_), Some(name)) => ("without", force::without(input, skill, name, &passes, &parse)),
        (Some(_), None) => ("example", force::without(input, skill, "", &passes, &parse)),
    };
    Ok((kind, before.clone(), text))
}
