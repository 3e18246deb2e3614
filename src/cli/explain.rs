//! `kopt explain`: the long form of a code, a skill or a predicate.

use kopt::config::Config;
use kopt::diag::codes::{self, Entry};
use kopt::diag::{Code, Diagnostic};
use kopt::skill::near::nearest;
use kopt::skill::types;
use serde_json::json;

use super::exit::{Exit, Failure};
use super::printer::Printer;
use super::session;
use super::skills;

#[derive(clap::Args)]
pub struct Args {
    /// A code such as K0201, a skill or a predicate
    #[arg(value_name = "NAME", required_unless_present = "list")]
    pub name: Option<String>,
    /// List everything that can be explained
    #[arg(long)]
    pub list: bool,
}

/// Lines of this width are broken.
const WIDTH: usize = 100;

pub fn run(args: &Args, printer: &mut Printer) -> Result<Exit, Failure> {
    match &args.name {
        Some(name) if !args.list => one(name, printer),
        _ => list(printer),
    }
}

fn list(printer: &mut Printer) -> Result<Exit, Failure> {
    let library = session::library(&Config::default())?;
    printer.heading("codes")?;
    for entry in codes::entries() {
        printer.line(format!("  {}  {}", entry.code, entry.title))?;
    }
    printer.heading("skills")?;
    for skill in library.iter() {
        printer.line(format!("  {}  {}", skill.skill.name.node, skill.skill.title.node))?;
    }
    printer.heading("predicates")?;
    for predicate in kopt::predicate::registry().iter() {
        printer.line(format!("  {}", types::form(predicate.name, &predicate.signature)))?;
    }
    let code = |e: &&Entry| json!({ "code": e.code, "title": e.title });
    printer.json(&json!({
        "schema": "kopt/explain-list/1",
        "codes": codes::entries().iter().map(code).collect::<Vec<_>>(),
        "skills": library.names().collect::<Vec<_>>(),
        "predicates": kopt::predicate::registry().iter().map(|p| p.name).collect::<Vec<_>>(),
    }))?;
    Ok(Exit::Done)
}

fn one(name: &str, printer: &mut Printer) -> Result<Exit, Failure> {
    if let Some(entry) = Code::parse(name).and_then(codes::entry) {
        printer.heading(&format!("{}: {}", entry.code, entry.title))?;
        printer.line(format!("\n{}", wrap(entry.explain, WIDTH)))?;
        answer(name, "code", entry.title, entry.explain, printer)?;
        return Ok(Exit::Done);
    }
    let library = session::library(&Config::default())?;
    if let Some(skill) = library.get(name) {
        let page = skills::page(&library, name);
        printer.text(&page)?;
        answer(name, "skill", &skill.title.node, &page, printer)?;
    } else if let Some(predicate) = kopt::predicate::registry().get(name) {
        let form = types::form(predicate.name, &predicate.signature);
        printer.heading(&form)?;
        printer.line(format!("\n{}", wrap(predicate.explain, WIDTH)))?;
        let asked: Vec<&str> =
            library.iter().map(|s| &s.skill).filter(|s| asks(s, name)).map(|s| s.name.node.as_str()).collect();
        if !asked.is_empty() {
            printer.line(format!("\nAsked by: {}", asked.join(", ")))?;
        }
        answer(name, "predicate", &form, predicate.explain, printer)?;
    } else {
        let names = library.names().chain(kopt::predicate::registry().iter().map(|p| p.name));
        let next = match nearest(name, names) {
            Some(near) => format!("did you mean `{near}`? `kopt explain --list` lists all"),
            None => "kopt explain --list".to_owned(),
        };
        let d = Diagnostic::error(Code(542), format!("`{name}` is no code, skill or predicate")).next(next);
        return Err(Failure::new(Exit::Usage, d));
    }
    Ok(Exit::Done)
}

fn asks(skill: &kopt::skill::Skill, predicate: &str) -> bool {
    let conditions = skill.require.iter().flat_map(|g| &g.conditions).chain(&skill.pays);
    conditions.into_iter().any(|c| mentions(&c.test, predicate))
}

fn mentions(expr: &kopt::skill::ast::Expr, predicate: &str) -> bool {
    expr.predicates().any(|(name, _)| name == predicate) || expr.children().into_iter().any(|c| mentions(c, predicate))
}

fn answer(name: &str, kind: &str, title: &str, text: &str, printer: &mut Printer) -> Result<(), Failure> {
    printer.json(&json!({ "schema": "kopt/explain/1", "name": name, "kind": kind, "title": title, "text": text }))
}

/// Breaks a paragraph at blanks; runs of white space become one blank.
pub fn wrap(text: &str, width: usize) -> String {
    let mut out = String::new();
    let mut column = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            out.push('\n');
            column = 0;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out += word;
        column += length;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn paragraphs_are_broken_at_blanks() {
        assert_eq!(wrap("one  two\nthree", 7), "one two\nthree");
        assert_eq!(wrap("incomprehensibilities a", 5), "incomprehensibilities\na");
    }
}
