//! The one place that writes to the terminal.

use std::io::{BufWriter, IsTerminal, Stdout, Write};

use kopt::diag::{Diagnostic, render};
use kopt::source::Sources;

use super::exit::{Exit, Failure};
use super::json;
use super::options::{Colour, Format, Global};

pub struct Printer {
    format: Format,
    /// Text for people is dropped: the output is for a build tool.
    silent: bool,
    pub colour: bool,
    out: BufWriter<Stdout>,
}

impl Printer {
    pub fn new(global: &Global) -> Printer {
        let auto = || std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        let colour = match global.colour {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => auto(),
        };
        let out = BufWriter::new(std::io::stdout());
        Printer { format: global.format, silent: false, colour: colour && global.format == Format::Text, out }
    }

    pub fn is_json(&self) -> bool {
        self.format == Format::Json
    }

    pub fn silence(&mut self) {
        self.silent = true;
    }

    /// A line for people; nothing in JSON.
    pub fn line(&mut self, text: impl AsRef<str>) -> Result<(), Failure> {
        self.text(&format!("{}\n", text.as_ref()))
    }

    /// Text for people, as it is; nothing in JSON.
    pub fn text(&mut self, text: &str) -> Result<(), Failure> {
        if !self.is_json() && !self.silent {
            self.out.write_all(text.as_bytes())?;
        }
        Ok(())
    }

    /// Text whatever the format: what the command was asked to produce.
    pub fn raw(&mut self, text: &str) -> Result<(), Failure> {
        Ok(self.out.write_all(text.as_bytes())?)
    }

    pub fn heading(&mut self, text: &str) -> Result<(), Failure> {
        let (on, off) = if self.colour { ("\u{1b}[1m", "\u{1b}[0m") } else { ("", "") };
        self.line(format!("{on}{text}{off}"))
    }

    pub fn diagnostic(&mut self, sources: &Sources, diagnostic: &Diagnostic) -> Result<(), Failure> {
        if self.is_json() || self.silent {
            return Ok(());
        }
        let text = render::render(sources, diagnostic, self.colour);
        self.text(&format!("{}\n\n", text.trim_end()))
    }

    /// A unified diff, coloured by line.
    pub fn diff(&mut self, diff: &str) -> Result<(), Failure> {
        if !self.colour {
            return self.text(diff);
        }
        for line in diff.split_inclusive('\n') {
            let colour = match line.as_bytes().first() {
                Some(b'+') => "\u{1b}[32m",
                Some(b'-') => "\u{1b}[31m",
                Some(b'@') => "\u{1b}[36m",
                _ => "",
            };
            match (colour, line.strip_suffix('\n')) {
                ("", _) => self.text(line)?,
                (colour, Some(body)) => self.text(&format!("{colour}{body}\u{1b}[0m\n"))?,
                (colour, None) => self.text(&format!("{colour}{line}\u{1b}[0m"))?,
            }
        }
        Ok(())
    }

    /// The result of the command, in JSON.
    pub fn json(&mut self, value: &serde_json::Value) -> Result<(), Failure> {
        if self.is_json() {
            let text = serde_json::to_string_pretty(value).unwrap_or_else(|e| format!("{{\"error\": \"{e}\"}}"));
            self.raw(&format!("{text}\n"))?;
        }
        Ok(())
    }

    /// Progress of long work, on the standard error when it is a terminal.
    pub fn progress(&self, text: &str) {
        if std::io::stderr().is_terminal() {
            let _ = writeln!(std::io::stderr(), "{text}");
        }
    }

    pub fn finish(&mut self) -> Result<(), Failure> {
        Ok(self.out.flush()?)
    }

    /// Says why the run ended early; the exit code to end with.
    pub fn failure(&mut self, failure: &Failure) -> Exit {
        let Failure::Said { exit, problems, sources } = failure else { return Exit::Done };
        // What was printed before belongs in front; if nobody listens any more, the exit code still says it.
        let _ = self.finish();
        if self.is_json() {
            let problems: Vec<_> = problems.iter().map(|d| json::diagnostic(sources, d)).collect();
            let value = serde_json::json!({ "schema": "kopt/error/1", "exit": *exit as u8, "problems": problems });
            let _ = self.json(&value).and_then(|()| self.finish());
            return *exit;
        }
        let colour = self.colour && std::io::stderr().is_terminal();
        for problem in problems {
            let _ = write!(std::io::stderr(), "{}\n\n", render::render(sources, problem, colour).trim_end());
        }
        *exit
    }
}
