//! The command line of kopt; `src/cli` holds one file per command.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
