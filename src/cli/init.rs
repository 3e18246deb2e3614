//! `kopt init`: a kopt.toml for this folder.

use std::path::Path;

use kopt::config;
use serde_json::json;

use super::exit::{Exit, Failure};
use super::printer::Printer;
use super::write;

#[derive(clap::Args)]
pub struct Args {
    /// The architecture to put into the file
    #[arg(long, value_name = "sm_80", default_value = super::gate::DEFAULT_ARCH)]
    pub arch: String,
}

pub fn run(args: &Args, printer: &mut Printer) -> Result<Exit, Failure> {
    if kopt::skill::ast::Platform::parse(&args.arch).is_none() {
        return Err(Failure::usage(540, format!("`{}` is no architecture", args.arch), "kopt init --arch sm_90"));
    }
    let default = format!("arch = \"{}\"", super::gate::DEFAULT_ARCH);
    let text = config::TEMPLATE.replace(&default, &format!("arch = \"{}\"", args.arch));
    write::new_file(Path::new(config::FILE_NAME), &text)?;
    printer.line(format!("wrote {}", config::FILE_NAME))?;
    printer.line("next: kopt check")?;
    printer.json(&json!({ "schema": "kopt/init/1", "written": [config::FILE_NAME] }))?;
    Ok(Exit::Done)
}
