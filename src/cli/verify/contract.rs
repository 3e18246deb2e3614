//! Where the contract of a run comes from, which of its plans is meant, and the candidate's own launches.

use std::path::Path;

use kopt::contract::{self, Contract, OpenKind, Plan};
use kopt::diag::{Code, Diagnostic, Severity};
use kopt::facts::macros_of;
use kopt::infer::{self, matching};
use kopt::source::SourceFile;

use super::super::contract::beside;
use super::super::exit::{Exit, Failure};
use super::super::load::Loaded;

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

/// The plan that is meant: the one that launches `kernel`, or the only one; and, where several do, that it is one of them.
pub fn choose(contract: &Contract, kernel: Option<&str>) -> Result<(Plan, Option<String>), Failure> {
    let Some(k) = kernel else {
        return match contract.plans.as_slice() {
            [] => Err(unclear("the contract has no plan".into(), &contract.plans)),
            [one] => Ok((one.clone(), None)),
            many => Err(unclear(format!("there are {} plans", many.len()), &contract.plans)),
        };
    };
    let plain = k.trim_start_matches("::");
    let whole = |l: &&contract::Launch| l.kernel.trim_start_matches("::") == plain;
    let exact = contract.plans.iter().flat_map(Plan::launches).any(|l| whole(&l));
    let means = |l: &&contract::Launch| if exact { whole(l) } else { matching::same_name(k, &l.kernel) };
    let of_kernel: Vec<&Plan> = contract.plans.iter().filter(|p| p.launches().any(|l| means(&l))).collect();
    let mut names: Vec<&str> =
        of_kernel.iter().flat_map(|p| p.launches()).filter(means).map(|l| l.kernel.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    if let [_, _, ..] = names.as_slice() {
        return Err(unclear(format!("`{k}` can be any of {}", names.join(", ")), &contract.plans));
    }
    // The name of a plan says which of several is meant.
    if let Some(named) = contract.plans.iter().find(|p| p.name == k && (of_kernel.is_empty() || of_kernel.contains(p)))
    {
        return Ok((named.clone(), None));
    }
    let best = of_kernel.iter().copied().min_by_key(|p| p.open().len());
    let Some(best) = best else {
        return Err(unclear(format!("no plan of the contract launches `{k}`"), &contract.plans));
    };
    let several = of_kernel.len() > 1;
    let note = format!("plan `{}`, one of {} that launch it: --kernel takes their names", best.name, of_kernel.len());
    Ok((best.clone(), several.then_some(note)))
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
