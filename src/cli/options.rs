//! Groups of flags that several commands share.

use std::path::PathBuf;

use clap::ValueEnum;

#[derive(clap::Args)]
pub struct Global {
    /// Output for people or for programs (docs/schema)
    #[arg(long, global = true, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Colour the output
    #[arg(long, visible_alias = "color", global = true, value_enum, default_value_t = Colour::Auto)]
    pub colour: Colour,
    /// The settings to use instead of the nearest kopt.toml
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Text,
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    Auto,
    Always,
    Never,
}

/// What the kernels are read with.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Reading {
    /// A folder of headers
    #[arg(short = 'I', value_name = "FOLDER")]
    pub include: Vec<PathBuf>,
    /// A macro
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    pub define: Vec<String>,
    /// The architecture to judge and compile for
    #[arg(long, value_name = "sm_80", value_parser = arch)]
    pub arch: Option<String>,
    /// A file with what the caller guarantees
    #[arg(long, value_name = "FILE")]
    pub contract: Option<PathBuf>,
    /// One guarantee, such as 'cols % 4 == 0'; verdicts that rest on it are `assumed`
    #[arg(long, value_name = "ASSUMPTION")]
    pub assume: Vec<String>,
}

fn arch(text: &str) -> Result<String, String> {
    match kopt::skill::ast::Platform::parse(text) {
        Some(_) => Ok(text.to_owned()),
        None => Err("expected an architecture such as sm_80".into()),
    }
}
