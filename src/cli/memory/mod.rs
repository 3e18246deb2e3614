//! `kopt memory`: what was learned, as figures, as a picture and as lines; merging, forgetting, examining.

mod change;
mod doctor;
mod graph;
mod show;

use std::path::PathBuf;

use kopt::diag::{Code, Diagnostic};
use kopt::memory::store::place;
use kopt::memory::{Store, StoreError};

use super::exit::{Exit, Failure};
use super::options::Global;
use super::printer::Printer;
use super::session;

#[derive(clap::Args)]
pub struct Args {
    /// The memory instead of KOPT_MEMORY, the one of kopt.toml, or the user's own
    #[arg(long, global = true, value_name = "FILE")]
    memory: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Show directions, transitions and skills with what was tried
    Show(show::Args),
    /// Draw the graph as SVG
    Graph(graph::Args),
    /// Take in the evidence of other memories
    Merge {
        #[arg(value_name = "MEMORY", required = true)]
        others: Vec<PathBuf>,
    },
    /// Write all evidence as sorted lines of JSON
    Export {
        /// Where to write, instead of to the output
        #[arg(short, long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Take in lines of evidence
    Import {
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
    },
    /// Remove all evidence of a skill
    Forget {
        #[arg(long, value_name = "NAME")]
        skill: String,
    },
    /// Examine the file, and compare its sums with its evidence
    Doctor {
        /// Make wrong sums anew; set a damaged file aside and save what can be read
        #[arg(long)]
        mend: bool,
    },
}

pub fn run(args: &Args, global: &Global, printer: &mut Printer) -> Result<Exit, Failure> {
    let (config, _) = session::config(global)?;
    let path = file(args.memory.as_ref(), config.memory.as_ref())?;
    match &args.command {
        Command::Show(a) => show::run(a, &path, &session::library(&config)?, printer),
        Command::Graph(a) => graph::run(a, &path, &session::library(&config)?, printer),
        Command::Merge { others } => change::merge(&path, others, printer),
        Command::Export { out } => change::export(&path, out.as_deref(), printer),
        Command::Import { files } => change::import(&path, files, printer),
        Command::Forget { skill } => change::forget(&path, skill, printer),
        Command::Doctor { mend } => doctor::run(&path, *mend, printer),
    }
}

/// Where the memory is: the flag, the environment, the settings, the folder of the user's data.
pub(super) fn file(flag: Option<&PathBuf>, configured: Option<&PathBuf>) -> Result<PathBuf, Failure> {
    let found = flag.cloned().or_else(place::named).or_else(|| configured.cloned()).or_else(place::usual);
    found.ok_or_else(|| {
        let message = "there is no place for a memory: neither HOME nor XDG_DATA_HOME is set";
        Failure::usage(716, message, "name one with --memory FILE")
    })
}

/// Says what was set aside on opening.
pub(super) fn opened(store: Result<Store, StoreError>, printer: &mut Printer) -> Result<Store, Failure> {
    let store = store.map_err(|e| failure(&e))?;
    if let Some(aside) = store.set_aside() {
        let message = format!("{} was damaged: it is {} now", store.path().display(), aside.display());
        let next = "a new memory was begun; `kopt memory merge` takes in another copy";
        printer.diagnostic(&Default::default(), &Diagnostic::warning(Code(713), message).next(next))?;
    }
    Ok(store)
}

/// An error of the store with its code and what to do.
pub(super) fn failure(error: &StoreError) -> Failure {
    let (code, next) = match error {
        StoreError::Missing(_) => (710, "name another with --memory FILE; `kopt memory import` begins one"),
        StoreError::Foreign(..) => (711, "name another file with --memory FILE"),
        StoreError::Newer(..) => (712, "use the version of kopt that wrote it"),
        StoreError::Corrupt(..) => (713, "kopt memory doctor --mend"),
        StoreError::Full(_) => (714, "make room, and do it again"),
        StoreError::Busy(_) => (715, "end the process that holds it, and do it again"),
        StoreError::Unusable(..) => (716, "see that file and folder can be read and written"),
        StoreError::Line(..) => (717, "export it again with `kopt memory export`"),
        StoreError::Evidence(_) => (718, "correct the value"),
    };
    Failure::usage(code, error.to_string(), next)
}
