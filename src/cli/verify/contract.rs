//! Where the contract of a run comes from, which of its plans is meant, and the candidate's own launches.

use std::collections::BTreeMap;
use std::path::Path;

use kopt::contract::{self, Argument, BufferRef, Contract, Expr, OpenKind, Plan, Role, Step};
use kopt::diag::{Code, Diagnostic, Severity};
use kopt::facts::macros_of;
use kopt::infer;
use kopt::source::SourceFile;

use super::super::contract::beside;
use super::super::exit::{Exit, Failure};
use super::super::load::Loaded;
use super::build::simple;

/// A contract with where it was found.
pub struct Found {
    pub contract: Contract,
    pub origin: Origin,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    File(String),
    Comments,
    Inferred,
}

impl Origin {
    pub fn describe(&self) -> String {
        match self {
            Origin::File(path) => path.clone(),
            Origin::Comments => "comments above the kernel".into(),
            Origin::Inferred => "inferred from the file".into(),
        }
    }

    pub fn word(&self) -> &'static str {
        match self {
            Origin::File(_) => "file",
            Origin::Comments => "comments",
            Origin::Inferred => "inferred",
        }
    }
}

/// The contract that is written down: the file given, the one beside the source, comments, or the configured one.
pub fn written(
    loaded: &mut Loaded,
    path: &Path,
    given: Option<&Path>,
    configured: Option<&Path>,
) -> Result<Option<Found>, Failure> {
    let own = beside(path);
    let file = given.map(Path::to_owned).or_else(|| own.is_file().then_some(own));
    if let Some(file) = file {
        return from_file(loaded, &file).map(Some);
    }
    let (plans, problems) = contract::plans_from_comments(&loaded.program, loaded.sources());
    if !problems.is_empty() {
        return Err(Failure::in_files(Exit::Usage, problems, loaded.sources().clone()));
    }
    if !plans.is_empty() {
        return Ok(Some(Found { contract: Contract { plans, ..Contract::default() }, origin: Origin::Comments }));
    }
    configured.map(|file| from_file(loaded, file)).transpose()
}

/// Reads a contract; what is wrong with it ends the run.
pub fn from_file(loaded: &mut Loaded, path: &Path) -> Result<Found, Failure> {
    let bytes = std::fs::read(path)
        .map_err(|e| Failure::usage(541, format!("{}: {e}", path.display()), "name a contract that can be read"))?;
    let file = loaded.project.sources.add(SourceFile::new(path.to_string_lossy(), bytes));
    let (contract, problems) = contract::read(file, loaded.sources().get(file));
    if !problems.is_empty() {
        return Err(Failure::in_files(Exit::Usage, problems, loaded.sources().clone()));
    }
    Ok(Found { contract, origin: Origin::File(path.to_string_lossy().into_owned()) })
}

/// What the files show.
pub fn inferred(loaded: &Loaded, kernel: Option<&str>) -> (Found, Vec<infer::KernelReport>) {
    let macros = macros_of(&loaded.program, loaded.sources());
    let found = infer::infer(&loaded.program, loaded.sources(), &macros, &loaded.requested, kernel);
    (Found { contract: found.contract, origin: Origin::Inferred }, found.kernels)
}

/// The plan that is meant: the one that launches `kernel`, or the only one.
pub fn choose(contract: &Contract, kernel: Option<&str>) -> Result<Plan, Failure> {
    let launches = |p: &&Plan, k: &str| p.launches().any(|l| simple(&l.kernel) == simple(k));
    let fitting: Vec<&Plan> = match kernel {
        Some(k) => contract.plans.iter().filter(|p| launches(p, k) || p.name == k).collect(),
        None => contract.plans.iter().collect(),
    };
    let open = |p: &&Plan| p.open().len();
    match (fitting.as_slice(), kernel) {
        ([], Some(k)) => Err(unclear(format!("no plan of the contract launches `{k}`"), &contract.plans)),
        ([], None) => Err(unclear("the contract has no plan".into(), &contract.plans)),
        ([one], _) => Ok((*one).clone()),
        (many, Some(_)) => Ok(many.iter().copied().min_by_key(open).cloned().unwrap_or_default()),
        (many, None) => Err(unclear(format!("there are {} plans", many.len()), &contract.plans)),
    }
}

fn unclear(message: String, plans: &[Plan]) -> Failure {
    let mut names: Vec<&str> = plans.iter().flat_map(|p| p.launches()).map(|l| l.kernel.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let next = match names.as_slice() {
        [] => "kopt contract infer FILE".to_owned(),
        list => format!("choose with --kernel: {}", list.join(", ")),
    };
    Failure::usage(654, message, next)
}

/// Open questions refuse, unless they are only guesses and the user takes them.
pub fn settle(
    plan: &Plan,
    origin: &Origin,
    accept: bool,
    path: &Path,
    loaded: &Loaded,
) -> Result<Vec<String>, Failure> {
    let open = plan.open();
    let (missing, guesses): (Vec<_>, Vec<_>) = open.iter().partition(|o| o.kind == OpenKind::Missing);
    let said: Vec<String> = guesses.iter().map(|o| format!("{}: {}", o.table, o.field)).collect();
    if missing.is_empty() && (guesses.is_empty() || accept) {
        return Ok(said);
    }
    let count = |n: usize, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
    let message = format!(
        "the contract ({}) is not settled: {} open, {} only proposed",
        origin.describe(),
        count(missing.len(), "question is", "questions are"),
        guesses.len()
    );
    let mut d = Diagnostic::error(Code(653), message);
    for o in &open {
        d = d.note(format!("{} of {}: {}", o.field, o.table, o.question));
    }
    let next = match (origin, missing.is_empty()) {
        (Origin::Inferred, true) => {
            let text = contract::print(&Contract {
                plans: vec![Plan { name: String::new(), ..plan.clone() }],
                ..Contract::default()
            });
            d = d.note(format!("the proposal:\n{text}"));
            format!(
                "run again with --accept-proposed, or kopt contract infer --write {} and correct it",
                path.display()
            )
        }
        (Origin::Inferred, false) => format!("kopt contract infer --write {}, and answer what is open", path.display()),
        (_, true) => "remove the marks in the contract, or run again with --accept-proposed".into(),
        (_, false) => "answer what is open in the contract".into(),
    };
    Err(Failure::in_files(Exit::Inconclusive, vec![d.next(next)], loaded.sources().clone()))
}

/// A contract that contradicts the files says nothing about a candidate.
pub fn against_files(loaded: &Loaded, plan: &Plan) -> Result<Vec<Diagnostic>, Failure> {
    let macros = macros_of(&loaded.program, loaded.sources());
    let contract = Contract { plans: vec![plan.clone()], ..Contract::default() };
    let found = infer::check::check(&loaded.program, loaded.sources(), &macros, &loaded.requested, &contract);
    let (errors, rest): (Vec<_>, Vec<_>) = found.into_iter().partition(|d| d.severity == Severity::Error);
    if !errors.is_empty() {
        return Err(Failure::in_files(Exit::Usage, errors, loaded.sources().clone()));
    }
    Ok(rest.into_iter().filter(|d| !matches!(d.code.0, 613 | 614)).collect())
}

/// The candidate's plan, and where it came from.
pub struct Adopted {
    pub plan: Plan,
    pub how: String,
}

/// The candidate's launches under the original's contract: its own plan where it has one, else the original's launches of
/// its kernel.
pub fn of_candidate(
    original: &Plan,
    loaded: &mut Loaded,
    path: &Path,
    given: Option<&Path>,
    kernel: Option<&str>,
) -> Result<Adopted, Failure> {
    let wanted: Option<String> = kernel.map(str::to_owned).or_else(|| same_kernel(original, loaded));
    if let Some(found) = written(loaded, path, given, None)? {
        let plan = choose(&found.contract, wanted.as_deref())?;
        let missing = plan.open().into_iter().any(|o| o.kind == OpenKind::Missing && o.field == "args");
        return match adopt(original, &plan).filter(|_| !missing) {
            Some(plan) => Ok(Adopted { plan, how: format!("the candidate's own ({})", found.origin.describe()) }),
            None => Err(does_not_fit(&found.origin.describe())),
        };
    }
    let shown = inferred(loaded, wanted.as_deref());
    let launched = shown.1.iter().any(|k| k.launched);
    let plan = choose(&shown.0.contract, wanted.as_deref()).ok().filter(|_| launched);
    let complete = plan.filter(|p| !p.open().iter().any(|o| o.table.starts_with("launch")));
    if let Some(plan) = complete.and_then(|p| adopt(original, &p)) {
        let how = if same_steps(original, &plan) { "as the original's" } else { "the candidate's own (its launches)" };
        return Ok(Adopted { plan, how: how.into() });
    }
    let how = if launched {
        "the original's; the candidate's own launches could not be matched with the contract"
    } else {
        "the original's"
    };
    Ok(Adopted { plan: renamed(original, loaded, kernel)?, how: how.into() })
}

/// The kernel of the candidate that stands for the original's, where one has its name or is the only one.
fn same_kernel(original: &Plan, loaded: &Loaded) -> Option<String> {
    let names: Vec<&str> = kernels(loaded);
    let first = original.launches().next().map(|l| simple(&l.kernel).to_owned())?;
    if names.contains(&first.as_str()) {
        return Some(first);
    }
    match names.as_slice() {
        [one] => Some((*one).to_owned()),
        _ => None,
    }
}

/// Kernels of the files that the user named.
pub fn kernels(loaded: &Loaded) -> Vec<&str> {
    let own = loaded.program.units.iter().filter(|u| loaded.requested.contains(&u.file));
    own.flat_map(|u| u.kernels()).map(|f| f.name.as_str()).collect()
}

fn same_steps(a: &Plan, b: &Plan) -> bool {
    let bare = |s: &Step| match s {
        Step::Launch(l) => Step::Launch(contract::Launch { kernel: String::new(), ..l.clone() }),
        other => other.clone(),
    };
    a.steps.iter().map(bare).eq(b.steps.iter().map(bare))
}

/// The original's plan with the candidate's kernel in place of its own.
fn renamed(original: &Plan, loaded: &Loaded, kernel: Option<&str>) -> Result<Plan, Failure> {
    let names = kernels(loaded);
    let mut launched: Vec<&str> = original.launches().map(|l| l.kernel.as_str()).collect();
    launched.sort_unstable();
    launched.dedup();
    let mut plan = original.clone();
    let only = match (kernel, names.as_slice()) {
        (Some(k), _) => Some(k.to_owned()),
        (None, [one]) => Some((*one).to_owned()),
        _ => None,
    };
    for step in &mut plan.steps {
        let Step::Launch(l) = step else { continue };
        if kernel.is_none() && names.contains(&simple(&l.kernel)) {
            continue;
        }
        match &only {
            Some(k) if launched.len() == 1 => l.kernel = k.clone(),
            _ => {
                let message = format!("the candidate has no kernel `{}`", l.kernel);
                return Err(Failure::usage(
                    654,
                    message,
                    format!("choose with --candidate-kernel: {}", names.join(", ")),
                ));
            }
        }
    }
    Ok(plan)
}

fn does_not_fit(origin: &str) -> Failure {
    let d =
        Diagnostic::error(Code(663), format!("the candidate's plan ({origin}) names what the contract does not have"));
    Failure::new(Exit::Usage, d.next("give it the args and dims of the original's contract"))
}

/// The launches and temporaries of `other` under the contract of `original`; `None` where they speak of other things.
/// Names that differ are matched by position, where roles and types agree.
pub fn adopt(original: &Plan, other: &Plan) -> Option<Plan> {
    let own = |p: &Plan| -> Vec<_> { p.args.iter().filter(|a| a.role != Role::Temp).cloned().collect() };
    let (a, b) = (own(original), own(other));
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    let known = |n: &str| original.arg(n).is_some();
    if b.iter().all(|x| known(&x.name)) {
        names.extend(b.iter().map(|x| (x.name.clone(), x.name.clone())));
    } else {
        let alike =
            a.len() == b.len() && a.iter().zip(&b).all(|(x, y)| x.dtype == y.dtype && x.is_buffer() == y.is_buffer());
        if !alike {
            return None;
        }
        names.extend(a.iter().zip(&b).map(|(x, y)| (y.name.clone(), x.name.clone())));
    }
    let dims: BTreeMap<String, String> = if other.dims.iter().all(|d| original.dim(&d.name).is_some()) {
        other.dims.iter().map(|d| (d.name.clone(), d.name.clone())).collect()
    } else if original.dims.len() == other.dims.len() {
        other.dims.iter().zip(&original.dims).map(|(o, d)| (o.name.clone(), d.name.clone())).collect()
    } else {
        return None;
    };
    let temps = other.args.iter().filter(|x| x.role == Role::Temp);
    let mut plan = Plan { args: a, ..original.clone() };
    for t in temps {
        let name = if known(&t.name) { format!("{}_of_candidate", t.name) } else { t.name.clone() };
        names.insert(t.name.clone(), name.clone());
        let shape = t.shape.iter().map(|e| translated(e, &dims)).collect::<Option<_>>()?;
        plan.args.push(contract::Arg { name, shape, ..t.clone() });
    }
    let values: BTreeMap<String, String> = dims.into_iter().chain(names.clone()).collect();
    plan.steps = other.steps.iter().map(|s| step(s, &names, &values)).collect::<Option<_>>()?;
    Some(plan)
}

fn step(s: &Step, names: &BTreeMap<String, String>, values: &BTreeMap<String, String>) -> Option<Step> {
    let place = |r: &BufferRef| -> Option<BufferRef> {
        let offset = match &r.offset {
            Some(e) => Some(translated(e, values)?),
            None => None,
        };
        Some(BufferRef { buffer: names.get(&r.buffer)?.clone(), offset })
    };
    let length = |b: &Option<Expr>| match b {
        Some(e) => translated(e, values).map(Some),
        None => Some(None),
    };
    Some(match s {
        Step::Fill { buffer, byte, bytes } => Step::Fill { buffer: place(buffer)?, byte: *byte, bytes: length(bytes)? },
        Step::Copy { from, to, bytes } => Step::Copy { from: place(from)?, to: place(to)?, bytes: length(bytes)? },
        Step::Launch(l) => {
            let list = |list: &[Expr]| list.iter().map(|e| translated(e, values)).collect::<Option<Vec<_>>>();
            let argument = |a: &Argument| -> Option<Argument> {
                Some(match a {
                    Argument::Buffer(r) => Argument::Buffer(place(r)?),
                    Argument::Int { dtype, value } => {
                        Argument::Int { dtype: *dtype, value: translated(value, values)? }
                    }
                    Argument::Scalar(n) => Argument::Scalar(names.get(n)?.clone()),
                    other => other.clone(),
                })
            };
            Step::Launch(contract::Launch {
                grid: list(&l.grid)?,
                block: list(&l.block)?,
                cluster: list(&l.cluster)?,
                shared: length(&l.shared)?,
                args: l.args.iter().map(argument).collect::<Option<_>>()?,
                ..l.clone()
            })
        }
    })
}

/// The expression with every name replaced; `None` where one is not known.
fn translated(e: &Expr, names: &BTreeMap<String, String>) -> Option<Expr> {
    let one = |e: &Expr| translated(e, names).map(Box::new);
    Some(match e {
        Expr::Name(n) => Expr::Name(names.get(n)?.clone()),
        Expr::Int(_) | Expr::SizeOf(_) => e.clone(),
        Expr::Neg(a) => Expr::Neg(one(a)?),
        Expr::Not(a) => Expr::Not(one(a)?),
        Expr::Binary(op, a, b) => Expr::Binary(*op, one(a)?, one(b)?),
        Expr::Select(c, a, b) => Expr::Select(one(c)?, one(a)?, one(b)?),
    })
}
