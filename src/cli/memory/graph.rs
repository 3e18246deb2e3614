//! `kopt memory graph`.

use std::path::{Path, PathBuf};

use kopt::memory::graph::Graph;
use kopt::memory::{Store, picture};
use kopt::skill::Library;
use serde_json::json;

use super::super::exit::{Exit, Failure};
use super::super::printer::Printer;
use super::super::write;
use super::{failure, opened};

#[derive(clap::Args)]
pub struct Args {
    /// Where to write, instead of to the output
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Only what was tried there, such as sm_80/cuda/reduction or reduction
    #[arg(long, value_name = "CONTEXT", default_value = "")]
    context: String,
}

pub fn run(args: &Args, path: &Path, library: &Library, printer: &mut Printer) -> Result<Exit, Failure> {
    let mut store = opened(Store::open_existing(path), printer)?;
    let graph = read(&mut store, library, &args.context)?;
    let svg = picture::svg(&graph);
    match &args.out {
        Some(out) => {
            write::create_folder_of(out)?;
            write::atomically(out, svg.as_bytes())?;
            printer.line(format!("{}: {} bytes", out.display(), svg.len()))?;
        }
        None if !printer.is_json() => printer.raw(&svg)?,
        None => {}
    }
    let text = args.out.is_none().then_some(&svg);
    printer.json(&json!({
        "schema": "kopt/memory-graph/1", "memory": path, "context": args.context, "out": args.out, "svg": text,
    }))?;
    Ok(Exit::Done)
}

/// The graph of a context that has evidence, or of everything.
pub fn read(store: &mut Store, library: &Library, context: &str) -> Result<Graph, Failure> {
    let (sums, unit) = store.sums().map_err(|e| failure(&e))?;
    if !context.is_empty() && !sums.keys().any(|k| k.context == context) {
        let mut known: Vec<&str> = sums.keys().map(|k| k.context.as_str()).filter(|c| !c.is_empty()).collect();
        known.dedup();
        known.sort_unstable();
        known.dedup();
        let next = match known.is_empty() {
            true => "nothing is recorded yet".to_owned(),
            false => format!("use one of {}", known.join(", ")),
        };
        return Err(Failure::usage(719, format!("there is no evidence in the context `{context}`"), next));
    }
    let skills: Vec<(&str, &str)> =
        library.iter().map(|s| (s.skill.direction.node.as_str(), s.skill.name.node.as_str())).collect();
    Ok(Graph::of(&library.directions, &skills, &sums, unit, context))
}
