//! The command line of kopt; `src/cli` holds one file per command.

mod alloc;
mod cli;

/// The lowering of deeply nested text recurses up to its depth limit; the default of 2 MB would leave little room.
const STACK_BYTES: usize = 16 << 20;

fn main() -> std::process::ExitCode {
    alloc::serve_the_parser();
    // Fails only where the pool exists already, which then serves as well.
    let _ = rayon::ThreadPoolBuilder::new().stack_size(STACK_BYTES).build_global();
    cli::main()
}
