//! Where the result of `kopt apply` goes: nowhere, in place, or into a folder; with lock, dependency file and the lines
//! that a build script prints.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use kopt::diag::{Code, Diagnostic};
use kopt::lock::{Lock, LockedFile, Recorder};
use kopt::skill::engine::run::{Change, Outcome};
use kopt::source::{FileId, SourceFile};
use similar::TextDiff;

use super::exit::{Exit, Failure};
use super::gate::{Checked, Verdict};
use super::printer::Printer;
use super::session::Session;
use super::{apply, load, write};

#[derive(clap::Args, Default)]
pub struct Destination {
    /// Write the files in place
    #[arg(long, conflicts_with = "out")]
    pub write: bool,
    /// Write into this folder; files that do not change are copied
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
    /// Write files in place although git does not have all their changes
    #[arg(long)]
    pub allow_dirty: bool,
    /// The lock to record in and to replay from
    #[arg(long, value_name = "FILE")]
    pub lock: Option<PathBuf>,
    /// Do not record in kopt.lock
    #[arg(long)]
    pub no_lock: bool,
    /// Write the dependencies of the output in the form of make
    #[arg(long, value_name = "FILE")]
    pub depfile: Option<PathBuf>,
    /// Print only what a build tool reads
    #[arg(long, value_enum, value_name = "TOOL")]
    pub emit: Option<Emit>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Emit {
    /// `cargo:rerun-if-changed` lines
    Cargo,
}

/// One file before and after.
pub struct FileResult {
    pub file: FileId,
    pub before: SourceFile,
    pub after: SourceFile,
    pub checked: Vec<Checked>,
}

impl FileResult {
    pub fn changed(&self) -> bool {
        self.before.revision != self.after.revision
    }

    pub fn fails(&self) -> bool {
        self.checked.iter().any(|c| matches!(c.verdict, Verdict::Fails { .. }))
    }

    /// A unified diff that `git apply` takes in the folder where kopt ran.
    pub fn diff(&self) -> String {
        if !self.changed() {
            return String::new();
        }
        let name = load::clean(Path::new(&self.before.name)).to_string_lossy().trim_start_matches('/').to_owned();
        TextDiff::from_lines(self.before.text.as_ref(), self.after.text.as_ref())
            .unified_diff()
            .context_radius(3)
            .header(&format!("a/{name}"), &format!("b/{name}"))
            .to_string()
    }
}

pub struct Target<'a> {
    args: &'a Destination,
    lock_path: PathBuf,
}

impl<'a> Target<'a> {
    pub fn of(args: &'a Destination, session: &Session) -> Result<Target<'a>, Failure> {
        let target = Target { args, lock_path: lock_path(args, session) };
        if let Some(out) = &args.out {
            target.check_out(out, session)?;
        }
        Ok(target)
    }

    pub fn is_written(&self) -> bool {
        self.args.write || self.args.out.is_some()
    }

    /// Two inputs that would become one output are refused before anything is done.
    fn check_out(&self, out: &Path, session: &Session) -> Result<(), Failure> {
        let mut seen = BTreeSet::new();
        for path in session.loaded.requested.iter().filter_map(|f| session.loaded.paths.get(f)) {
            let to = below(out, path);
            if !seen.insert(to.clone()) {
                let message = format!("two files would be written to {}", to.display());
                return Err(Failure::usage(551, message, "run kopt once for each, with another --out"));
            }
        }
        Ok(())
    }

    /// Writes what was asked for, and records it.
    pub fn write(
        &self,
        session: &Session,
        outcome: &Outcome,
        files: &[FileResult],
        toolchain: &str,
        printer: &mut Printer,
    ) -> Result<(), Failure> {
        self.write_texts(session, files, printer)?;
        if self.is_written() && !self.args.no_lock {
            self.record(session, outcome, files, toolchain)?;
        }
        self.dependencies(session, printer)
    }

    pub fn write_texts(&self, session: &Session, files: &[FileResult], printer: &mut Printer) -> Result<(), Failure> {
        let path = |f: &FileResult| session.loaded.paths.get(&f.file);
        let bytes =
            |f: &FileResult| if f.changed() { f.after.text.as_bytes().to_vec() } else { f.before.bytes().to_vec() };
        let mut list: Vec<(PathBuf, Vec<u8>)> = vec![];
        if let Some(out) = &self.args.out {
            list.extend(files.iter().filter_map(|f| Some((below(out, path(f)?), bytes(f)))));
            // Build tools look at the time of a file: one that is right already is left alone.
            list.retain(|(p, b)| std::fs::read(p).ok().as_ref() != Some(b));
            for (path, _) in &list {
                write::create_folder_of(path)?;
            }
        } else if self.args.write {
            apply::refuse_dirty(session, files, self.args.allow_dirty)?;
            list.extend(files.iter().filter(|f| f.changed()).filter_map(|f| Some((path(f)?.clone(), bytes(f)))));
        }
        write::all(&list)?;
        for (path, _) in &list {
            printer.line(format!("wrote {}", path.display()))?;
        }
        Ok(())
    }

    fn record(
        &self,
        session: &Session,
        outcome: &Outcome,
        files: &[FileResult],
        toolchain: &str,
    ) -> Result<(), Failure> {
        let loaded = &session.loaded;
        let parse = |file: FileId, source: &SourceFile| loaded.parse(file, source);
        let recorder = Recorder { program: &loaded.program, sources: loaded.sources(), parse: &parse, toolchain };
        let mut lock = read_lock(&self.lock_path)?.unwrap_or_default();
        let mut changed = false;
        for file in files.iter().filter(|f| f.changed()) {
            let Some(path) = loaded.paths.get(&file.file) else { continue };
            let key = self.key(path);
            let changes: Vec<(&Change, _)> = outcome
                .changes
                .iter()
                .filter(|c| c.file == file.file)
                .filter_map(|c| Some((c, session.library.get(&c.skill)?)))
                .collect();
            let mut entry = recorder.file(&key, session.arch.clone(), changes.into_iter(), &file.after);
            if self.args.write {
                prepend(&mut entry, lock.file(&key), &file.before);
            }
            lock.set(entry);
            changed = true;
        }
        if !changed {
            return Ok(());
        }
        let text = lock.print().map_err(|e| Failure::usage(511, e, "please report it"))?;
        write::create_folder_of(&self.lock_path)?;
        write::atomically(&self.lock_path, text.as_bytes())
    }

    /// The path of a file as the lock names it.
    pub fn key(&self, path: &Path) -> String {
        key(&self.lock_path, path)
    }

    pub fn lock_path(&self) -> &Path {
        &self.lock_path
    }

    /// The dependency file and the lines for a build tool.
    pub fn dependencies(&self, session: &Session, printer: &mut Printer) -> Result<(), Failure> {
        let loaded = &session.loaded;
        let named: Vec<&PathBuf> = loaded.requested.iter().filter_map(|f| loaded.paths.get(f)).collect();
        let mut inputs: Vec<PathBuf> =
            named.iter().map(|p| (*p).clone()).chain(loaded.headers.iter().cloned()).collect();
        inputs.extend(session.root.as_ref().map(|r| r.join(kopt::config::FILE_NAME)));
        inputs.extend(self.lock_path.is_file().then(|| self.lock_path.clone()));
        inputs.extend(
            session
                .library
                .iter()
                .filter(|s| !s.built_in)
                .map(|s| PathBuf::from(&session.library.sources.get(s.file).name)),
        );
        let mut seen = BTreeSet::new();
        inputs.retain(|p| seen.insert(p.clone()));
        if let Some(path) = &self.args.depfile {
            let outputs: Vec<PathBuf> = match &self.args.out {
                Some(out) => named.iter().map(|p| below(out, p)).collect(),
                None => named.into_iter().cloned().collect(),
            };
            write::create_folder_of(path)?;
            write::atomically(path, depfile(&outputs, &inputs).as_bytes())?;
        }
        if self.args.emit == Some(Emit::Cargo) {
            for input in &inputs {
                printer.raw(&format!("cargo:rerun-if-changed={}\n", input.display()))?;
            }
        }
        Ok(())
    }
}

/// Steps recorded earlier stay in front, where they led to the text that was rewritten now.
fn prepend(entry: &mut LockedFile, earlier: Option<&LockedFile>, before: &SourceFile) {
    if let Some(earlier) = earlier.filter(|e| e.after == kopt::lock::tokens_hash(&before.text)) {
        entry.steps = earlier.steps.iter().cloned().chain(std::mem::take(&mut entry.steps)).collect();
    }
}

fn lock_path(args: &Destination, session: &Session) -> PathBuf {
    let folder = session.root.clone().unwrap_or_default();
    args.lock.clone().unwrap_or_else(|| folder.join("kopt.lock"))
}

/// The lock, if there is a file of this name.
pub fn read_lock(path: &Path) -> Result<Option<Lock>, Failure> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => {
            let d = Diagnostic::error(Code(511), format!("{}: {e}", path.display()));
            return Err(Failure::new(Exit::Usage, d.next("restore it from version control, or delete it")));
        }
    };
    let failure = |e: kopt::lock::LockError| Failure::new(Exit::Usage, e.diagnostic().note(path.display().to_string()));
    Lock::parse(&text).map(Some).map_err(failure)
}

fn key(lock: &Path, path: &Path) -> String {
    let absolute = |p: &Path| std::path::absolute(p).map_or_else(|_| load::clean(p), |p| load::clean(&p));
    let folder = absolute(lock).parent().map(Path::to_owned).unwrap_or_default();
    let path = absolute(path);
    let short = path.strip_prefix(&folder).map_or_else(|_| path.clone(), Path::to_owned);
    short.to_string_lossy().replace('\\', "/")
}

/// Where a file goes in the output folder: its relative path, or its name alone when it lies elsewhere.
fn below(out: &Path, path: &Path) -> PathBuf {
    let cleaned = load::clean(path);
    let inside = cleaned.components().all(|c| matches!(c, Component::Normal(_)));
    match (inside, path.file_name()) {
        (false, Some(name)) => out.join(name),
        _ => out.join(cleaned),
    }
}

fn depfile(outputs: &[PathBuf], inputs: &[PathBuf]) -> String {
    let escape = |p: &PathBuf| p.to_string_lossy().replace('$', "$$").replace(' ', "\\ ").replace('#', "\\#");
    let list = |paths: &[PathBuf]| paths.iter().map(escape).collect::<Vec<_>>().join(" \\\n  ");
    format!("{}: \\\n  {}\n", list(outputs), list(inputs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_stay_below_their_folder() {
        let out = Path::new("gen");
        let cases = [
            ("a.cu", "gen/a.cu"),
            ("./src/a.cu", "gen/src/a.cu"),
            ("../x/a.cu", "gen/a.cu"),
            ("/abs/a.cu", "gen/a.cu"),
        ];
        for (path, expected) in cases {
            assert_eq!(below(out, Path::new(path)), Path::new(expected), "{path}");
        }
    }

    #[test]
    fn names_with_blanks_are_escaped_in_dependency_files() {
        let text = depfile(&["o/a b.cu".into()], &["a b.cu".into(), "h$.h".into()]);
        assert_eq!(text, "o/a\\ b.cu: \\\n  a\\ b.cu \\\n  h$$.h\n");
    }
}
