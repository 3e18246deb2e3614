//! The compile gate on the files of one run: original and candidate of every kernel that changed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use kopt::compile::plan::{Instance, Job, NoInstance, Origin, Place};
use kopt::compile::{BlockShape, Cache, Comparison, CompileError, CompileGate, Toolchain, compare, toolchain};
use kopt::diag::Diagnostic;
use kopt::ir::spell::{identity, parameters};
use kopt::ir::{ExprKind, Function, FunctionRef, Program};
use kopt::project::{Headers, Includers, Project};
use kopt::source::{FileId, SourceFile, Sources};
use serde_json::{Value, json};

use super::json;

/// A kernel of a text: its name with namespaces, and where it stands if overloads share the name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    pub name: String,
    pub at: Option<usize>,
    /// With its parameters where there are overloads.
    pub shown: String,
}

impl Site {
    fn of(f: &Function, is_overloaded: bool) -> Site {
        let shown = if is_overloaded { identity(f) } else { f.qualified.clone() };
        Site { name: f.qualified.clone(), at: is_overloaded.then_some(f.name_span.start as usize), shown }
    }
}

/// What the gate says of one kernel.
pub enum Verdict {
    Compiles(Box<Comparison>),
    /// The gate has nothing to say; the rewrite stands.
    NotChecked(String),
    /// The original compiles and the candidate does not.
    Fails {
        problems: Vec<Diagnostic>,
        sources: Sources,
    },
}

pub struct Checked {
    /// With template arguments where it has some.
    pub kernel: String,
    /// What must be said of the arguments where kopt chose them: they are a sample.
    pub sample: Option<String>,
    pub verdict: Verdict,
}

pub struct Gate {
    gate: CompileGate,
    headers: Headers,
    includers: Includers,
    options: Vec<String>,
    arch: String,
    /// Options of the project that the run-time compiler does not know.
    pub not_honoured: Vec<String>,
}

/// The architecture when nothing names one.
pub const DEFAULT_ARCH: &str = "sm_80";

/// Threads of a block when nothing in view says how many.
const USUAL_THREADS: u32 = 256;

impl Gate {
    /// A gate, if there is a compiler.
    pub fn find(
        project: &Project,
        include: &[PathBuf],
        define: &[String],
        nvcc_flags: &[String],
        arch: Option<&str>,
    ) -> Option<Gate> {
        let found = Toolchain::find();
        found.nvrtc.as_ref()?;
        let cache = toolchain::cache_folder().map_or_else(Cache::none, |folder| Cache::in_folder(&folder));
        let flags = kopt::compile::flags::from_nvcc(nvcc_flags);
        let mut options = flags.options;
        options.extend(define.iter().map(|d| format!("-D{d}")));
        let headers = Headers::new(project, include);
        Some(Gate {
            gate: CompileGate::new(found, cache),
            includers: Includers::of(project, &headers),
            headers,
            options,
            arch: arch.unwrap_or(DEFAULT_ARCH).to_owned(),
            not_honoured: flags.not_honoured,
        })
    }

    pub fn toolchain(&self) -> String {
        self.gate.toolchain().version().unwrap_or_default()
    }

    pub fn arch(&self) -> &str {
        &self.arch
    }

    /// Compiles the kernels of one file that changed. `pairs` names each with its counterpart in the new text (the same
    /// name, or the kernel that a dispatch put beside it).
    pub fn check(
        &self,
        file: FileId,
        after: &SourceFile,
        pairs: &BTreeSet<(Site, Site)>,
        program: &Program,
        sources: &Sources,
    ) -> Vec<Checked> {
        let before = sources.get(file);
        let users = self.includers.of_file(file).into_iter().map(|u| sources.get(u));
        let users: Vec<(&str, &str)> = users.map(|s| (&*s.name, &*s.text)).collect();
        let place = Place { file: (&before.name, &before.text), users: &users };
        let job = Job::new(&self.gate, &self.headers, &self.arch, &self.options);
        let of = |(old, new): &(Site, Site)| {
            kernel(&job, &place, after, (old, new), block_shape(program, sources, file, old))
        };
        pairs.iter().flat_map(of).collect()
    }
}

/// What the gate says of one kernel and its counterpart: one account for each instantiation.
fn kernel(
    job: &Job<'_>,
    place: &Place<'_>,
    after: &SourceFile,
    (old, new): (&Site, &Site),
    shape: BlockShape,
) -> Vec<Checked> {
    let not_checked =
        |why: String| Checked { kernel: new.shown.clone(), sample: None, verdict: Verdict::NotChecked(why) };
    let plan = match job.plan_at(place, &old.name, old.at) {
        Ok(plan) => plan,
        Err(NoInstance::Cut(reason)) => return vec![not_checked(format!("the original cannot be cut out: {reason}"))],
        Err(NoInstance::Template { .. }) => {
            return vec![not_checked("a template without an instantiation in view".into())];
        }
    };
    let mut out: Vec<Checked> = vec![];
    for instance in &plan.instances {
        let sample = match &instance.origin {
            Origin::Sample(sample) => Some(sample.note()),
            Origin::Plain | Origin::InView => None,
        };
        let (kernel, verdict) = pair(job, place, after, instance, new, shape);
        out.push(Checked { kernel, sample, verdict });
    }
    if out.iter().any(|c| c.sample.is_some()) {
        out.push(not_checked("no instantiation is in view; a sample says nothing of others".into()));
    }
    if plan.others > 0 {
        let n = plan.others;
        let why =
            format!("{n} more instantiations in view, beyond the limit or with arguments that kopt cannot follow");
        out.push(not_checked(why));
    }
    out
}

/// The name of the candidate with its arguments, and what becomes of it.
fn pair(
    job: &Job<'_>,
    place: &Place<'_>,
    after: &SourceFile,
    instance: &Instance,
    new: &Site,
    shape: BlockShape,
) -> (String, Verdict) {
    let plain = || format!("{}{}", new.shown, instance.arguments);
    let before = match &instance.compiled {
        Ok(compiled) => compiled,
        Err(error) => {
            let why = format!("the original does not compile by itself: {error}");
            return (plain(), Verdict::NotChecked(why));
        }
    };
    let (name, now) = match job.candidate(instance, place, &after.text, (&new.name, new.at)) {
        Ok((_, compiled)) if new.at.is_some() => (plain(), compiled),
        Ok(found) => found,
        Err(reason) => return (plain(), Verdict::NotChecked(format!("the candidate cannot be cut out: {reason}"))),
    };
    let verdict = match now {
        Ok(now) => match (before.kernels.first(), now.kernels.first()) {
            (Some(a), Some(b)) => Verdict::Compiles(Box::new(compare(job.arch(), (a, shape), (b, shape)))),
            _ => Verdict::NotChecked("the compiler did not say what the kernel takes".into()),
        },
        Err(error @ CompileError::Rejected { .. }) => {
            let mut sources = Sources::default();
            let file = sources.add(after.clone());
            let text = sources.get(file).clone();
            let find = |name: &str| (name == text.name).then_some((file, &text));
            Verdict::Fails { problems: error.diagnostics(&find), sources }
        }
        Err(error) => Verdict::NotChecked(format!("the candidate could not be compiled: {error}")),
    };
    (name, verdict)
}

/// Threads per block as the launches or the launch bounds in view say.
fn block_shape(program: &Program, sources: &Sources, file: FileId, kernel: &Site) -> BlockShape {
    let is_it = |r: &FunctionRef| {
        let f = program.function(*r);
        let here = |at: usize| f.name_span.file == file && f.name_span.start as usize == at;
        f.qualified == kernel.name && kernel.at.is_none_or(here)
    };
    let kernel = program.kernels().into_iter().find(is_it);
    let launched = kernel.and_then(|k| {
        let launches = program.launches_of(k);
        launches.into_iter().find_map(|l| {
            let launch = program.launch(l);
            let caller = program.unit(l.unit).functions.get(launch.caller.0 as usize)?;
            threads(program, sources, caller, launch.block?)
        })
    });
    let bounds = || {
        let f = program.function(kernel?);
        f.bounds.max_threads.as_ref().and_then(|(text, _)| text.trim().parse().ok())
    };
    let threads = launched.or_else(bounds).unwrap_or(USUAL_THREADS);
    BlockShape { threads, dynamic_shared: 0 }
}

/// The number of threads that a block argument means, where it is a number, a constant, or a `dim3` of those.
fn threads(program: &Program, sources: &Sources, f: &Function, e: kopt::ir::ExprId) -> Option<u32> {
    let expr = f.expr(e);
    let text = sources.slice(expr.span).trim();
    if let Some(n) = number(program, text) {
        return Some(n);
    }
    if let ExprKind::Var(v) = &expr.kind {
        let var = f.vars.get(v.0 as usize)?;
        let declared = sources.slice(var.span);
        let inside = declared.split_once(['(', '{']).map(|(_, rest)| rest.trim_end_matches([')', '}', ';']));
        let value = || declared.split_once('=').map(|(_, rest)| rest.trim());
        return product(program, inside.unwrap_or("")).or_else(|| number(program, value()?));
    }
    let inner = text.strip_prefix("dim3")?.trim().trim_start_matches(['(', '{']).trim_end_matches([')', '}']);
    product(program, inner)
}

fn product(program: &Program, list: &str) -> Option<u32> {
    list.split(',').map(|part| number(program, part.trim())).try_fold(1u32, |all, n| all.checked_mul(n?))
}

fn number(program: &Program, text: &str) -> Option<u32> {
    if let Ok(n) = text.trim_end_matches(['u', 'U', 'l', 'L']).parse() {
        return Some(n);
    }
    let constant = |u: &kopt::ir::Unit| {
        let global = u.globals.iter().find(|g| g.name == text).and_then(|g| g.value);
        global.or_else(|| u.constants.iter().find(|(n, _, _)| n == text).map(|(_, v, _)| *v))
    };
    program.units.iter().find_map(constant).and_then(|n| u32::try_from(n).ok())
}

/// The gate's account of one file, for people.
pub fn text(arch: &str, checked: &[Checked]) -> String {
    let mut out = String::new();
    for c in checked {
        match &c.verdict {
            Verdict::Compiles(table) => {
                let sample = c.sample.as_ref().map_or_else(String::new, |note| format!(", compiled with {note}"));
                out += &format!("compile: {} compiles for {arch}{sample}\n", c.kernel);
                for line in table.text().lines() {
                    out += &format!("  {line}\n");
                }
            }
            Verdict::NotChecked(why) => out += &format!("compile: {} not checked: {why}\n", c.kernel),
            Verdict::Fails { .. } => out += &format!("compile: {} does not compile; nothing is written\n", c.kernel),
        }
    }
    out
}

pub fn json(checked: &[Checked]) -> Vec<Value> {
    let of = |c: &Checked| match &c.verdict {
        Verdict::Compiles(table) => {
            let mut out = json!({ "kernel": c.kernel, "state": "compiles", "table": table });
            if let (Some(note), Some(fields)) = (&c.sample, out.as_object_mut()) {
                fields.insert("sample".into(), json!(note));
            }
            out
        }
        Verdict::NotChecked(why) => json!({ "kernel": c.kernel, "state": "not-checked", "reason": why }),
        Verdict::Fails { problems, sources } => {
            let problems: Vec<Value> = problems.iter().map(|d| json::diagnostic(sources, d)).collect();
            json!({ "kernel": c.kernel, "state": "fails", "problems": problems })
        }
    };
    checked.iter().map(of).collect()
}

/// The kernels of one file that changed, each with its counterpart. Overloads are paired in the order of the text, and a
/// dispatch's kernel with the one of its parameters.
pub fn pairs(
    changes: &[&kopt::skill::engine::Change],
    before: (&Program, &str),
    after: (&Program, &str),
    file: FileId,
) -> BTreeSet<(Site, Site)> {
    type Kernels<'p> = BTreeMap<&'p str, Vec<&'p Function>>;
    fn kernels(p: &Program, file: FileId) -> Kernels<'_> {
        let unit = p.units.iter().find(|u| u.file == file);
        let mut found = Kernels::new();
        for f in unit.into_iter().flat_map(|u| u.kernels()) {
            found.entry(&f.qualified).or_default().push(f);
        }
        found
    }
    let text = |(_, text): (&Program, &str), f: &Function| {
        text.get(f.span.start as usize..f.span.end as usize).unwrap_or("").to_owned()
    };
    let differ = |all: &[&Function]| all.windows(2).any(|w| matches!(w, [a, b] if identity(a) != identity(b)));
    let (old, new) = (kernels(before.0, file), kernels(after.0, file));
    let mut pairs = BTreeSet::new();
    for change in changes {
        let Some(originals) = old.get(change.function.as_str()) else { continue };
        let now = new.get(change.function.as_str()).map_or(&[][..], |n| n);
        let overloaded = differ(originals);
        if overloaded {
            let changed = originals.iter().zip(now).filter(|(a, b)| text(before, a) != text(after, b));
            pairs.extend(changed.map(|(a, b)| (Site::of(a, true), Site::of(b, true))));
        } else if let Some(f) = originals.first() {
            pairs.insert((Site::of(f, false), Site::of(f, false)));
        }
        // A dispatch leaves the original as it is; its counterpart carries the name with something appended.
        let beside = new.iter().filter(|(n, _)| !old.contains_key(*n) && n.starts_with(change.function.as_str()));
        for (_, found) in beside {
            for f in found {
                let own = originals.iter().filter(|o| !overloaded || parameters(o) == parameters(f));
                pairs.extend(own.map(|o| (Site::of(o, overloaded), Site::of(f, differ(found)))));
            }
        }
    }
    let dispatched: BTreeSet<Site> = pairs.iter().filter(|(a, b)| a.name != b.name).map(|(a, _)| a.clone()).collect();
    let guarded_only = |k: &str| {
        changes.iter().filter(|c| c.function == k).all(|c| c.guard.as_ref().is_some_and(|g| g.kind == "dispatch"))
    };
    pairs.retain(|(a, b)| a.name != b.name || !(dispatched.contains(a) && guarded_only(&a.name)));
    pairs
}
