//! `kopt memory show`: the graph with its texts and figures, and the evidence behind each.

use std::path::Path;

use kopt::memory::graph::{Graph, Node};
use kopt::memory::store::About;
use kopt::memory::{Evidence, Moments, Store};
use kopt::skill::Library;
use serde_json::{Value, json};

use super::super::exit::{Exit, Failure};
use super::super::printer::Printer;
use super::{failure, graph, opened};

#[derive(clap::Args)]
pub struct Args {
    /// A direction, a skill, or the first digits of the id of a piece of evidence; everything when left out
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Only what was tried there, such as sm_80/cuda/reduction or reduction
    #[arg(long, value_name = "CONTEXT", default_value = "")]
    context: String,
    /// List the evidence behind every figure
    #[arg(long)]
    ids: bool,
}

pub fn run(args: &Args, path: &Path, library: &Library, printer: &mut Printer) -> Result<Exit, Failure> {
    let mut store = opened(Store::open_existing(path), printer)?;
    let whole = graph::read(&mut store, library, &args.context)?;
    let counts = store.counts().map_err(|e| failure(&e))?;
    let ids = args.ids || args.name.is_some();
    let evidence = if ids { store.evidence(About::default()).map_err(|e| failure(&e))? } else { vec![] };
    let here = |e: &&Evidence| e.context.levels().contains(&args.context);
    let (nodes, pieces) = match &args.name {
        None => (whole.nodes.iter().collect(), vec![]),
        Some(name) => select(&whole, &evidence, name)?,
    };
    let evidence: Vec<(String, &Evidence)> = evidence.iter().filter(here).map(|e| (e.id(), e)).collect();
    printer.line(format!("{}: {} pieces of evidence, {} runs", path.display(), counts.0, counts.1))?;
    if !args.context.is_empty() {
        printer.line(format!("context {}", args.context))?;
    }
    for node in &nodes {
        text(node, &evidence, ids, args.name.as_deref(), printer)?;
    }
    for e in &pieces {
        printer.line(format!("{} {}", e.id(), sentence(e)))?;
    }
    let shown: Vec<Value> = nodes.iter().map(|n| value(n, &evidence, ids)).collect();
    printer.json(&json!({
        "schema": "kopt/memory-show/1", "memory": path, "context": args.context,
        "evidence": counts.0, "runs": counts.1, "directions": shown,
        "pieces": pieces.iter().map(|e| serde_json::from_str(&e.line()).unwrap_or(Value::Null)).collect::<Vec<_>>(),
    }))?;
    Ok(Exit::Done)
}

/// The node of a direction, that of a skill, or the pieces whose ids begin so.
fn select<'g>(graph: &'g Graph, evidence: &[Evidence], name: &str) -> Result<(Vec<&'g Node>, Vec<Evidence>), Failure> {
    let of_skill = |n: &&Node| n.skills.iter().any(|s| s.skill == name);
    if let Some(node) =
        graph.nodes.iter().find(|n| n.name == name && !name.is_empty()).or(graph.nodes.iter().find(of_skill))
    {
        return Ok((vec![node], vec![]));
    }
    let pieces: Vec<Evidence> =
        evidence.iter().filter(|e| name.len() >= 4 && e.id().starts_with(name)).cloned().collect();
    if pieces.is_empty() {
        let names: Vec<&str> = graph.nodes.iter().map(|n| n.name.as_str()).filter(|n| !n.is_empty()).collect();
        let next = format!("name a skill, an id, or one of {}", names.join(", "));
        return Err(Failure::usage(719, format!("the memory knows nothing of `{name}`"), next));
    }
    Ok((vec![], pieces))
}

fn text(
    node: &Node,
    evidence: &[(String, &Evidence)],
    ids: bool,
    only: Option<&str>,
    printer: &mut Printer,
) -> Result<(), Failure> {
    let one_skill = only.filter(|o| *o != node.name);
    let name = if node.name.is_empty() { "(start of a run)" } else { &node.name };
    if node.name.is_empty() && node.edges.is_empty() {
        return Ok(());
    }
    printer.heading(name)?;
    if !node.name.is_empty() {
        printer.line(format!("  {}", figures(&node.moments)))?;
    }
    for (what, text) in [("goal", &node.goal), ("trigger", &node.trigger), ("risk", &node.risk)] {
        if !text.is_empty() && one_skill.is_none() {
            printer.line(format!("  {what}: {text}"))?;
        }
    }
    for local in node.skills.iter().filter(|l| one_skill.is_none_or(|o| o == l.skill)) {
        let gone = if local.in_library { "" } else { " (not in the library)" };
        printer.line(format!("  skill {}{gone}: {}", local.skill, figures(&local.moments)))?;
        list(behind_skill(evidence, &node.name, &local.skill), ids, printer)?;
    }
    for edge in node.edges.iter().filter(|_| one_skill.is_none()) {
        let prior = format!("prior {:.2}", edge.prior);
        printer.line(format!("  -> {}: {prior}, {}", edge.to, figures(&edge.moments)))?;
        for (what, text) in [("when", &edge.when), ("why", &edge.why), ("risk", &edge.risk)] {
            if !text.is_empty() && only.is_some() {
                printer.line(format!("     {what}: {text}"))?;
            }
        }
        list(behind_edge(evidence, &node.name, &edge.to), ids, printer)?;
    }
    Ok(())
}

fn list(behind: Vec<&(String, &Evidence)>, ids: bool, printer: &mut Printer) -> Result<(), Failure> {
    for (id, e) in behind.into_iter().filter(|_| ids) {
        printer.line(format!("     {id} {}", sentence(e)))?;
    }
    Ok(())
}

fn sentence(e: &Evidence) -> String {
    let from = if e.from().is_empty() { "start" } else { e.from() };
    let reason = if e.reason.is_empty() { String::new() } else { format!(": {}", e.reason.replace('\n', " ")) };
    format!("{} step {}, {}, {from} -> {} ({}): {}{reason}", e.run, e.step, e.context, e.direction, e.skill, e.outcome)
}

fn figures(m: &Moments) -> String {
    let Some(success) = m.success() else { return "not tried".to_owned() };
    let mut text = format!("{} steps ({:.1} decayed), {:.0} % correct", m.tries, m.all, 100.0 * success);
    if m.n > 0.0 {
        let deviation = (m.m2 / m.n).sqrt();
        text.push_str(&format!(
            ", reward {:+.3} (deviation {deviation:.3}, trend {:+.3}) of {:.1}",
            m.mean, m.trend, m.n
        ));
    }
    if m.estimates > 0.0 {
        text.push_str(&format!(", estimated {:+.3} of {:.1}", m.estimate, m.estimates));
    }
    text
}

fn behind_edge<'e>(all: &'e [(String, &'e Evidence)], from: &str, to: &str) -> Vec<&'e (String, &'e Evidence)> {
    all.iter().filter(|(_, e)| e.from() == from && e.direction == to).collect()
}

fn behind_skill<'e>(
    all: &'e [(String, &'e Evidence)],
    direction: &str,
    skill: &str,
) -> Vec<&'e (String, &'e Evidence)> {
    all.iter().filter(|(_, e)| e.direction == direction && e.skill == skill).collect()
}

fn value(node: &Node, evidence: &[(String, &Evidence)], ids: bool) -> Value {
    let names = |behind: Vec<&(String, &Evidence)>| -> Value {
        if ids { behind.iter().map(|(id, _)| id.clone()).collect() } else { Value::Null }
    };
    // Numbers and texts always serialise.
    let mut value = serde_json::to_value(node).unwrap_or_default();
    for (kind, key) in [("skills", "skill"), ("edges", "to")] {
        for part in value.get_mut(kind).and_then(Value::as_array_mut).into_iter().flatten() {
            let name = part.get(key).and_then(Value::as_str).unwrap_or("").to_owned();
            let behind = match kind {
                "skills" => behind_skill(evidence, &node.name, &name),
                _ => behind_edge(evidence, &node.name, &name),
            };
            if let Some(part) = part.as_object_mut() {
                part.insert("ids".to_owned(), names(behind));
            }
        }
    }
    value
}
