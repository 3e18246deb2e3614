//! `--sanitize`: kernels on the GPU under the tools of compute-sanitizer.

use kopt::contract::Cell;
use kopt::diag::Diagnostic;
use kopt::gate::Settings;
use kopt::gate::on_device::OnDevice;
use kopt::gate::sanitize::{self, Sanitized};
use kopt::gpu::sanitizer::{Finding, Level, Tool};
use kopt::report::sanitizer::{self, Whose};
use kopt::source::Sources;
use serde_json::{Value, json};

use super::device::Device;
use super::exit::{Exit, Failure};
use super::printer::Printer;
use kopt::gate::Built;

/// A run under a tool takes many times as long as one without.
#[cfg(feature = "gpu")]
const TIMES_LIMIT: u64 = 4;

/// As [`kopt::gate::sanitize::Watch`].
type Watcher = dyn Fn(Tool, &kopt::gpu::job::Job, &[Vec<u8>]) -> Result<Vec<Finding>, String>;

/// Who watches; why nobody does.
#[cfg(feature = "gpu")]
fn watcher(place: &Device) -> Result<Box<Watcher>, String> {
    use kopt::gpu::sanitizer::run::{program, watch};
    let tool = program()?;
    let me = std::env::current_exe().map_err(|e| e.to_string())?;
    let limit = std::time::Duration::from_secs(place.gpu_limit.max(1).saturating_mul(TIMES_LIMIT));
    Ok(Box::new(move |which, job, parts| {
        let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        watch(&tool, which, (&me, super::device::WORKER), job, &parts, limit)
    }))
}

#[cfg(not(feature = "gpu"))]
fn watcher(_: &Device) -> Result<Box<Watcher>, String> {
    Err(kopt::gpu::find().to_string())
}

/// Both sides under every tool.
pub fn both(place: &Device, before: &Built, after: &Built, settings: &Settings) -> Result<Sanitized, Failure> {
    let watch = match watcher(place) {
        Ok(watch) => watch,
        Err(why) => return Ok(Sanitized { missing: Some(why), ..Sanitized::default() }),
    };
    let execute = place.executor()?;
    let ordinal = i32::from(place.device);
    let original = OnDevice { side: &before.side, images: &before.images, ordinal, run: &*execute };
    let candidate = OnDevice { side: &after.side, images: &after.images, ordinal, run: &*execute };
    Ok(sanitize::sanitize(&original, &candidate, settings, &*watch))
}

/// How a command ends that asked for it: what was found decides, and a tool that said nothing leaves it open.
pub fn exit(verified: Exit, seen: Option<&Sanitized>) -> Exit {
    match (verified, seen.map(Sanitized::word)) {
        (_, Some("failed")) => Exit::Verification,
        (Exit::Done, Some("incomplete")) => Exit::Inconclusive,
        (verified, _) => verified,
    }
}

/// One kernel on one cell under every tool.
pub struct Alone {
    runs: Vec<(Tool, Result<Vec<Finding>, String>)>,
}

impl Alone {
    pub fn new(place: &Device, built: &Built, cell: &Cell) -> Result<Alone, Failure> {
        let watch = match watcher(place) {
            Ok(watch) => watch,
            Err(why) => {
                let runs = Tool::ALL.into_iter().map(|t| (t, Err(why.clone()))).collect();
                return Ok(Alone { runs });
            }
        };
        let execute = place.executor()?;
        let ordinal = i32::from(place.device);
        let side = OnDevice { side: &built.side, images: &built.images, ordinal, run: &*execute };
        Ok(Alone { runs: sanitize::under_all(&side, std::slice::from_ref(cell), &*watch) })
    }

    fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.runs.iter().flat_map(|(_, found)| found.iter().flatten())
    }

    pub fn problems(&self, sources: &Sources) -> Vec<Diagnostic> {
        self.findings().map(|f| sanitizer::finding(sources, f, Whose::Kernel)).collect()
    }

    pub fn show(&self, sources: &Sources, printer: &mut Printer) -> Result<Exit, Failure> {
        for d in self.problems(sources) {
            printer.diagnostic(sources, &d)?;
        }
        for (tool, found) in &self.runs {
            let said = match found {
                Ok(list) if list.is_empty() => format!("nothing found; it does not see {}", tool.blind()),
                Ok(list) => format!("{} findings", list.len()),
                Err(why) => format!("not checked: {why}"),
            };
            printer.line(format!("{:<10} {said}", tool.word()))?;
        }
        let failed = self.findings().any(|f| f.level == Level::Error);
        Ok(match (failed, self.runs.iter().any(|(_, found)| found.is_err())) {
            (true, _) => Exit::Verification,
            (false, true) => Exit::Inconclusive,
            (false, false) => Exit::Done,
        })
    }

    pub fn value(&self, problem: &dyn Fn(&Diagnostic) -> Value, sources: &Sources) -> Value {
        let runs: Vec<Value> = self.runs.iter().map(|(tool, found)| sanitizer::run(*tool, None, found)).collect();
        json!({ "runs": runs, "problems": self.problems(sources).iter().map(problem).collect::<Vec<_>>() })
    }
}
