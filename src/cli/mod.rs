//! One file per command; what they share is in [`options`], [`session`], [`printer`], [`write`] and [`gate`].

mod apply;
mod bundle;
mod cases;
mod check;
mod completions;
mod contract;
mod demo;
mod device;
mod doctor;
mod emulate;
mod exit;
mod explain;
mod fuzz;
mod gate;
mod harness;
mod honesty;
mod init;
mod json;
mod load;
mod locked;
mod lower;
mod memory;
mod new;
mod optimize;
mod options;
mod output;
mod printer;
mod profile;
mod profile_gpu;
mod run;
mod sanitize;
mod selftest;
mod session;
mod skills;
mod summary;
mod toolchain;
mod verify;
mod why;
mod write;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use exit::{Exit, Failure};
use options::Global;
use printer::Printer;

/// Rewrites CUDA kernels where it can show that the rewrite is sound.
#[derive(Parser)]
#[command(name = "kopt", version, about, propagate_version = true, disable_help_subcommand = true)]
#[command(
    after_help = "Exit codes: 0 done; 1 findings or nothing changed; 2 usage or configuration; 3 verification failed;\n\
    4 kernels not modelled (--strict); 5 a required tier is missing; 6 inconclusive. `kopt demo` shows all of it."
)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run an original and a candidate on equal inputs, and compare
    Verify(verify::Args),
    /// Run a kernel by its contract in the interpreter
    Run(run::Args),
    /// Count what a kernel does, by source line
    Profile(profile::Args),
    /// Say which skills apply, which do not, and why
    Check(check::Args),
    /// Rewrite; shows a diff unless told to write
    Apply(apply::Args),
    /// Show every condition of a skill at one line
    Why(why::Args),
    /// Infer contracts, and check them against the files
    Contract(contract::Args),
    /// Explain a code, a skill or a predicate
    Explain(explain::Args),
    /// List, show, create and test skills
    Skills(skills::Args),
    /// Create a skill
    New(new::Args),
    /// Write a kopt.toml
    Init(init::Args),
    /// Say what is there, and how to mend what is not
    Doctor(doctor::Args),
    /// Install or show the compiler for the compile gate
    Toolchain(toolchain::Args),
    /// Check, explain, rewrite and compile a bundled kernel
    Demo(demo::Args),
    /// Write completions for a shell
    Completions(completions::Args),
    /// The gate itself
    Gate(selftest::Args),
    /// What was learned of earlier runs
    Memory(memory::Args),
    /// Improve a kernel in several steps, each chosen by what paid before and judged by the gate
    Optimize(optimize::Args),
    /// Compile a TileLang program, with its launches as a contract
    Lower(lower::Args),
    /// The compiler's child process
    #[command(name = verify::WORKER, hide = true)]
    CompileWorker,
    /// The process that owns a GPU
    #[command(name = device::WORKER, hide = true)]
    GpuWorker,
}

pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no errors; a reader that went away is none either.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { Exit::Usage as u8 } else { Exit::Done as u8 });
        }
    };
    let mut printer = Printer::new(&cli.global);
    let outcome = dispatch(cli.command, &cli.global, &mut printer);
    let outcome = outcome.and_then(|exit| printer.finish().map(|()| exit));
    match outcome {
        Ok(exit) => ExitCode::from(exit as u8),
        Err(failure) => ExitCode::from(printer.failure(&failure) as u8),
    }
}

fn dispatch(command: Command, global: &Global, printer: &mut Printer) -> Result<Exit, Failure> {
    match command {
        Command::Verify(args) => verify::run(&args, global, printer),
        Command::Gate(args) => selftest::run(&args, global, printer),
        Command::Memory(args) => memory::run(&args, global, printer),
        Command::Optimize(args) => optimize::run(&args, global, printer),
        Command::Lower(args) => lower::run(&args, printer),
        Command::Run(args) => run::run(&args, global, printer),
        Command::Profile(args) => profile::run(&args, global, printer),
        Command::CompileWorker => verify::serve(),
        Command::GpuWorker => device::serve(),
        Command::Check(args) => check::run(&args, global, printer),
        Command::Apply(args) => apply::run(&args, global, printer),
        Command::Why(args) => why::run(&args, global, printer),
        Command::Contract(args) => contract::run(&args, global, printer),
        Command::Explain(args) => explain::run(&args, printer),
        Command::Skills(args) => skills::run(&args, global, printer),
        Command::New(args) => new::run(&args, printer),
        Command::Init(args) => init::run(&args, printer),
        Command::Doctor(args) => doctor::run(&args, printer),
        Command::Toolchain(args) => toolchain::run(&args, printer),
        Command::Demo(args) => demo::run(&args, global, printer),
        Command::Completions(args) => completions::run(&args, Cli::command(), printer),
    }
}
