//! `kopt demo`: everything on a bundled kernel of real size.

use kopt::compile::Toolchain;
use serde_json::json;

use super::apply::{self, Verify};
use super::check;
use super::exit::{Exit, Failure};
use super::options::{Global, Reading};
use super::output;
use super::printer::Printer;
use super::session::Session;
use super::summary::{Modelled, Tally};
use super::{toolchain, why};
use kopt::skill::engine::report;

#[derive(clap::Args)]
pub struct Args {
    /// Do not download a compiler when there is none
    #[arg(long)]
    pub offline: bool,
}

const NAME: &str = "attention_rows.cu";
const TEXT: &str = include_str!("demo/attention_rows.cu");
const SKILLS: [&str; 4] = ["vectorize_access", "pad_shared", "shuffle_reduce", "use_fast_intrinsic"];
const CONTRACT: &str = include_str!("demo/contract.toml");

pub fn run(args: &Args, _: &Global, printer: &mut Printer) -> Result<Exit, Failure> {
    compiler(args, printer)?;
    let mut session = Session::of_text(NAME, TEXT, &Reading { arch: Some("sm_80".into()), ..Reading::default() })?;
    let contract = kopt::source::SourceFile::new("contract.toml", CONTRACT);
    let (assumptions, problems) = kopt::contract::from_toml(kopt::source::FileId(0), &contract);
    debug_assert!(problems.is_empty());
    session.assumptions.extend(assumptions);

    printer.heading(&format!("1. kopt check {NAME}"))?;
    let skills = SKILLS.iter().map(|n| session.skill(n)).collect::<Result<Vec<_>, _>>()?;
    let findings = session.survey(&skills);
    let modelled = Modelled::of(&session.loaded.program, &session.loaded.requested);
    printer.line(format!("{}\n", modelled.line()))?;
    printer.text(&format!("contract:\n{}\n", CONTRACT.lines().map(|l| format!("  {l}\n")).collect::<String>()))?;
    for f in findings.iter().filter(|f| check::is_shown(f)) {
        printer.diagnostic(session.sources(), &report::finding(f))?;
    }
    let width = SKILLS.iter().map(|n| n.len()).max().unwrap_or(0);
    for skill in &skills {
        printer.line(Tally::of(skill, &findings).line(&skill.name.node, width))?;
    }

    if let Some(line) = why::line_in(&session, "vectorize_access", "column_sums") {
        printer.heading(&format!("\n2. kopt why {NAME}:{line} vectorize_access"))?;
        why::show(&session, line, "vectorize_access", printer)?;
    }

    printer.heading(&format!("3. kopt apply --skill {} {NAME}", SKILLS.join(" --skill ")))?;
    let request = request();
    session.permit_named(&request.skill);
    let outcome = apply::rewrite(&session, &request, printer)?;
    let (gate, compile) = apply::compiler(Verify::Auto, &session)?;
    let files = apply::results(&session, &outcome, gate.as_ref());
    apply::show(&session, &request, &outcome, &files, &compile, printer)?;
    printer.line("not checked: results and speed on a GPU")?;
    let failed = files.iter().any(output::FileResult::fails);
    printer.line("\nnothing was written: this was the demo")?;
    printer.json(&json!({
        "schema": "kopt/demo/1", "kernels": modelled.json(), "changes": outcome.changes.len(), "compile": compile,
        "tables": files.iter().flat_map(|f| super::gate::json(&f.checked)).collect::<Vec<_>>(),
    }))?;
    Ok(if failed { Exit::Verification } else { Exit::Done })
}

/// The options of `kopt apply` with every skill of the demo.
fn request() -> apply::Args {
    apply::Args {
        paths: vec![NAME.into()],
        skill: SKILLS.iter().map(|s| (*s).to_owned()).collect(),
        at: None,
        even_if_not_paying: false,
        allow_refusal: true,
        verify: Verify::Auto,
        output: output::Destination::default(),
        locked: false,
        reading: Reading::default(),
    }
}

fn compiler(args: &Args, printer: &mut Printer) -> Result<(), Failure> {
    if Toolchain::find().nvrtc.is_some() || args.offline {
        return Ok(());
    }
    printer.line("No CUDA compiler was found; the demo brings one into kopt's cache.")?;
    match toolchain::install_now(printer) {
        Ok(_) => printer.line(""),
        Err(Failure::Quiet) => Err(Failure::Quiet),
        Err(Failure::Said { problems, sources, .. }) => {
            // Without a compiler the demo still shows all but the last table.
            for problem in &problems {
                printer.diagnostic(&sources, problem)?;
            }
            printer.line("Going on without a compiler.\n")
        }
    }
}
