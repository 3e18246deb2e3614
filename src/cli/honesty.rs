//! `kopt gate honesty`: every fact that is called proved, against what the interpreter executes.

mod examine;
mod show;

use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use kopt::diag::Diagnostic;
use kopt::facts::macros_of;
use kopt::honesty::{Depth, Kind, Sums};
use rayon::prelude::*;
use serde_json::json;

use super::exit::{Exit, Failure};
use super::options::Global;
use super::printer::Printer;
use super::verify::{Opened, Running, open};
use examine::Examiner;

#[derive(ClapArgs)]
pub struct Args {
    /// CUDA files whose contract is written or can be read off them
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Cells of each plan that are run
    #[arg(long, value_name = "N", default_value_t = 4)]
    cells: usize,
    /// The I-th of N parts of the files, counted from 0; all parts together are the whole
    #[arg(long, value_name = "I/N", value_parser = shard)]
    shard: Option<(usize, usize)>,
    #[command(flatten)]
    running: Running,
}

fn shard(text: &str) -> Result<(usize, usize), String> {
    let parts = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
    parts.filter(|(i, n)| i < n).ok_or_else(|| "a part is I/N with I from 0 to N - 1".to_owned())
}

/// What came of one kernel of one plan.
struct Kernel {
    name: String,
    depth: Depth,
    launches: u32,
    unmatched: u32,
    /// Where signed arithmetic overflowed, and in how many threads.
    overflowed: Vec<String>,
    /// Blocks that were watched, of how many.
    blocks: (u64, u64),
    kinds: Vec<(Kind, Sums)>,
    contradictions: Vec<Diagnostic>,
    /// Assumed claims that did not hold, with their assumptions.
    assumed: Vec<String>,
}

/// What came of one file.
struct File {
    path: PathBuf,
    kernels: Vec<Kernel>,
    skipped: Vec<String>,
    opened: Option<Opened>,
}

pub fn run(args: &Args, global: &Global, printer: &mut Printer) -> Result<Exit, Failure> {
    let (part, of) = args.shard.unwrap_or((0, 1));
    let own: Vec<&PathBuf> = args.files.iter().skip(part).step_by(of).collect();
    let files: Vec<File> = own.into_par_iter().map(|path| of_file(path, args, global)).collect();
    let mut total: Vec<(Kind, Sums)> = Kind::ALL.iter().map(|k| (*k, Sums::default())).collect();
    let mut wrong = 0;
    for file in &files {
        for k in &file.kernels {
            for d in &k.contradictions {
                if let Some(opened) = &file.opened {
                    printer.diagnostic(opened.sources(), d)?;
                }
            }
            wrong += k.contradictions.len();
            total.iter_mut().zip(&k.kinds).for_each(|((_, to), (_, from))| to.add(from));
        }
        show::file(file, printer)?;
    }
    let ran: usize = files.iter().map(|f| f.kernels.len()).sum();
    printer.line(format!("\n{ran} kernels in {} files", files.len()))?;
    show::table(&total, printer)?;
    printer.json(&json!({
        "schema": "kopt/honesty/1",
        "files": files.iter().map(show::file_json).collect::<Vec<_>>(),
        "kinds": show::kinds_json(&total),
        "contradictions": wrong,
    }))?;
    Ok(match (wrong, ran) {
        (0, 0) => Exit::Inconclusive,
        (0, _) => Exit::Done,
        _ => Exit::Verification,
    })
}

fn of_file(path: &Path, args: &Args, global: &Global) -> File {
    let mut file = File { path: path.to_owned(), kernels: vec![], skipped: vec![], opened: None };
    let said = |f: Failure| match f {
        Failure::Said { problems, .. } => problems.first().map(|d| d.message.clone()).unwrap_or_default(),
        Failure::Quiet => String::new(),
    };
    let mut opened = match open(path, &args.running, global) {
        Ok(opened) => opened,
        Err(f) => {
            file.skipped.push(said(f));
            return file;
        }
    };
    match opened.plans(&args.running) {
        Ok(plans) => {
            let macros = macros_of(&opened.loaded.program, opened.sources());
            for plan in plans {
                let done = Examiner { opened: &opened, macros: &macros, args }.plan(&plan, &mut file.skipped);
                match done {
                    Ok(kernels) => file.kernels.extend(kernels),
                    Err(why) => file.skipped.push(format!("plan `{}`: {why}", plan.name)),
                }
            }
        }
        Err(f) => file.skipped.push(said(f)),
    }
    file.opened = Some(opened);
    file
}
