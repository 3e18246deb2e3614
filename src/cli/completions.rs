//! `kopt completions`: a script for the user's shell.

use clap::Command;
use clap_complete::Shell;

use super::exit::{Exit, Failure};
use super::printer::Printer;

#[derive(clap::Args)]
pub struct Args {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

pub fn run(args: &Args, mut command: Command, printer: &mut Printer) -> Result<Exit, Failure> {
    let mut script = vec![];
    clap_complete::generate(args.shell, &mut command, "kopt", &mut script);
    printer.raw(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
