//! The kernels of a folder, compiled when they are first asked for.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use kopt::compile::plan::{Job, NoInstance, Place};
use kopt::compile::{CompileGate, CompileRequest, KernelResources, Target, slice_for};
use kopt::gate::KernelKey;
use kopt::ir::{FunctionRef, Program as Units};
use kopt::project::{self, Headers, Includers, Options, Project};
use kopt::ptx::{Program, PtxError, parse};
use kopt::syntax::cuda::parse_unit;
use rayon::prelude::*;

/// Where a kernel stands: its file, and the byte where its name begins.
pub type At = (PathBuf, u32);

pub struct Repository<'g> {
    pub name: String,
    root: PathBuf,
    project: Project,
    pub program: Units,
    headers: Headers,
    includers: Includers,
    gate: &'g CompileGate,
    pub arch: String,
    made: Mutex<HashMap<At, Arc<OnceLock<Made>>>>,
}

/// One instantiation of a kernel.
pub struct Instance {
    pub arguments: String,
    pub program: Program,
    pub resources: Option<KernelResources>,
}

/// What the compiler and the decoder made of a kernel.
#[derive(Default)]
pub struct Made {
    pub compiled: bool,
    pub parsed: bool,
    pub instances: Vec<Instance>,
    /// Why there is no instance.
    pub why: String,
}

impl<'g> Repository<'g> {
    pub fn read(dir: &Path, gate: &'g CompileGate, arch: &str) -> Repository<'g> {
        let project = project::load(&[dir.to_path_buf()], &Options::default());
        let wanted: Vec<_> = project.files.iter().filter(|f| f.needs_parse).map(|f| f.id).collect();
        let units = wanted.par_iter().map(|id| parse_unit(*id, project.sources.get(*id), &project.macros)).collect();
        let program = Units { units, complete: false };
        let headers = Headers::new(&project, &[]);
        let includers = Includers::of(&project, &headers);
        let name = dir.file_name().map_or_else(|| dir.to_string_lossy(), |n| n.to_string_lossy()).into_owned();
        let (root, arch) = (dir.to_path_buf(), arch.to_owned());
        Repository { name, root, project, program, headers, includers, gate, arch, made: Mutex::default() }
    }

    /// The kernels by the folder whose host code is looked through: for a header that of the nearest source that includes
    /// it. A folder with many files is several.
    pub fn groups(&self) -> Vec<(Vec<PathBuf>, Vec<FunctionRef>)> {
        let files: Vec<PathBuf> =
            self.project.files.iter().map(|f| f.path.clone()).filter(|p| p.starts_with(&self.root)).collect();
        let mut folders = vec![];
        split(&self.root, files, &mut folders);
        let mut found: Vec<(Vec<PathBuf>, Vec<FunctionRef>)> = folders.into_iter().map(|f| (f, vec![])).collect();
        let place: HashMap<PathBuf, usize> =
            found.iter().enumerate().flat_map(|(i, (f, _))| f.iter().map(move |p| (p.clone(), i))).collect();
        for k in self.program.kernels() {
            let file = self.program.unit(k.unit).file;
            let own = self.path(file);
            let user = self.includers.of_file(file).first().map(|f| self.path(*f));
            let host = if own.extension().is_some_and(|e| e == "cu") { own } else { user.unwrap_or(own) };
            if let Some(group) = place.get(&host).and_then(|i| found.get_mut(*i)) {
                group.1.push(k);
            }
        }
        found.retain(|(_, kernels)| !kernels.is_empty());
        found
    }

    pub fn path(&self, file: kopt::source::FileId) -> PathBuf {
        PathBuf::from(&self.project.sources.get(file).name)
    }

    /// The path as a table shows it.
    pub fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).to_string_lossy().into_owned()
    }

    pub fn line(&self, k: FunctionRef) -> u32 {
        let span = self.program.function(k).name_span;
        let source = self.project.sources.get(span.file);
        source.lines.position(&source.text, span.start as usize).line
    }

    pub fn at(&self, k: FunctionRef) -> At {
        let span = self.program.function(k).name_span;
        (self.path(span.file), span.start)
    }

    /// The kernel of this repository that stands there.
    pub fn kernel(&self, at: &At) -> Option<FunctionRef> {
        self.program.kernels().into_iter().find(|k| self.at(*k) == *at)
    }

    /// A kernel with the instantiations that the program asks for.
    pub fn made(&self, k: FunctionRef) -> Arc<OnceLock<Made>> {
        let mut all = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let cell = all.entry(self.at(k)).or_default().clone();
        drop(all);
        cell.get_or_init(|| self.make(k));
        cell
    }

    fn make(&self, k: FunctionRef) -> Made {
        let function = self.program.function(k);
        let file = self.program.unit(k.unit).file;
        let source = self.project.sources.get(file);
        let users = self.includers.of_file(file).into_iter().map(|u| self.project.sources.get(u));
        let users: Vec<(&str, &str)> = users.map(|s| (&*s.name, &*s.text)).collect();
        let place = Place { file: (&source.name, &source.text), users: &users };
        let job = Job::new(self.gate, &self.headers, &self.arch, &[]);
        let mut made = Made::default();
        let plan = match job.plan_at(&place, &function.qualified, Some(function.name_span.start as usize)) {
            Ok(plan) => plan,
            Err(why) => {
                made.why = match why {
                    NoInstance::Cut(reason) => format!("not compiled: {}", reason.key()),
                    NoInstance::Template { last: None } => "not compiled: needs-instantiation".into(),
                    NoInstance::Template { last: Some(e) } => format!("not compiled: {}", e.key()),
                };
                return made;
            }
        };
        let mut refused = None;
        for i in &plan.instances {
            let compiled = match &i.compiled {
                Ok(compiled) => compiled,
                Err(e) => {
                    made.why = format!("not compiled: {}", e.key());
                    continue;
                }
            };
            made.compiled = true;
            let resources = compiled.kernels.first().cloned();
            let symbol = resources.as_ref().map_or(function.name.clone(), |r| r.symbol.clone());
            let module = match parse(&compiled.ptx) {
                Ok(module) => module,
                Err(e) => {
                    refused.get_or_insert(reason(&e));
                    continue;
                }
            };
            made.parsed = true;
            match Program::decode(&module, &symbol) {
                Ok(program) => {
                    made.instances.push(Instance { arguments: i.arguments.clone(), program, resources });
                }
                Err(e) => _ = refused.get_or_insert(reason(&e)),
            }
        }
        // One instantiation that is not decoded is enough to say so of the kernel.
        if let Some(why) = refused {
            made.instances.clear();
            made.why = why;
        }
        made
    }

    /// An instantiation that a plan asks for beside those of the text: in its file, else in one that includes it.
    pub fn instance(&self, k: FunctionRef, key: &KernelKey) -> Result<Instance, String> {
        let function = self.program.function(k);
        let file = self.program.unit(k.unit).file;
        let own = self.project.sources.get(file);
        let at = function.name_span.start as usize;
        let first = self.in_unit(&own.name, &own.text, &Target::At(at), key);
        let Err(why) = first else { return first };
        for user in self.includers.of_file(file).into_iter().take(8) {
            let user = self.project.sources.get(user);
            let target = Target::In { file: &own.name, name: &function.qualified, at: Some(at) };
            if let Ok(found) = self.in_unit(&user.name, &user.text, &target, key) {
                return Ok(found);
            }
        }
        Err(why)
    }

    fn in_unit(&self, name: &str, text: &str, target: &Target, key: &KernelKey) -> Result<Instance, String> {
        let list = format!("<{}>", key.template.join(", "));
        let not = |why: &str| format!("an instantiation that is not compiled: {why}");
        let sliced = slice_for(name, text, target, &self.headers, std::slice::from_ref(&list));
        let sliced = sliced.map_err(|why| not(why.key()))?;
        let names = vec![format!("{}{list}", sliced.kernel)];
        let request = CompileRequest { slice: &sliced, names, arch: &self.arch, options: &[] };
        let compiled = self.gate.compile(&request).map_err(|e| not(e.key()))?;
        let resources = compiled.kernels.first().cloned();
        let symbol = resources.as_ref().map_or(sliced.kernel.clone(), |r| r.symbol.clone());
        let program = parse(&compiled.ptx).and_then(|m| Program::decode(&m, &symbol)).map_err(|e| reason(&e))?;
        Ok(Instance { arguments: list, program, resources })
    }
}

/// A reason without what differs from kernel to kernel.
fn reason(error: &PtxError) -> String {
    match error {
        PtxError::Unsupported { what, .. } => format!("unsupported: {}", what.chars().take(60).collect::<String>()),
        PtxError::Invalid { what, .. } => format!("invalid: {}", what.chars().take(60).collect::<String>()),
        other => other.to_string().chars().take(80).collect(),
    }
}

/// Files that are looked through together.
const TOGETHER: usize = 80;

/// The files below a folder; those of a folder with too many are divided among the folders in it.
fn split(dir: &Path, files: Vec<PathBuf>, into: &mut Vec<Vec<PathBuf>>) {
    if files.len() <= TOGETHER {
        into.extend((!files.is_empty()).then_some(files));
        return;
    }
    let mut own = vec![];
    let mut below: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
    for f in files {
        let mut rest = f.strip_prefix(dir).unwrap_or(&f).components();
        match (rest.next(), rest.next()) {
            (Some(first), Some(_)) => below.entry(dir.join(first)).or_default().push(f),
            _ => own.push(f),
        }
    }
    into.extend((!own.is_empty()).then_some(own));
    below.into_iter().for_each(|(dir, files)| split(&dir, files, into));
}
