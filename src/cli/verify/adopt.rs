//! The candidate's launches under the original's contract.

use std::path::Path;

use kopt::contract::{self, OpenKind, Plan, Step};
use kopt::diag::{Code, Diagnostic};
use kopt::infer::matching::{self, Given, Signature, Unclear};
use kopt::ir::{FunctionRef, Program};

use super::super::exit::{Exit, Failure};
use super::super::load::Loaded;
use super::contract::{choose, inferred, written};

/// The candidate's plan, and where it came from.
pub struct Adopted {
    pub plan: Plan,
    pub how: String,
    /// How names were matched where they are not equal.
    pub notes: Vec<String>,
}

/// What the user said of the candidate.
#[derive(Clone, Copy, Default)]
pub struct Choice<'c> {
    pub contract: Option<&'c Path>,
    pub kernel: Option<&'c str>,
    /// Names of the candidate with those of the original.
    pub given: Option<&'c Given>,
}

/// The original and its plan.
#[derive(Clone, Copy)]
pub struct Theirs<'t> {
    pub plan: &'t Plan,
    pub program: &'t Program,
}

/// The candidate's own launches where it has some that fit the contract, else the original's launches of its kernels.
pub fn of_candidate(theirs: Theirs, loaded: &mut Loaded, path: &Path, choice: Choice) -> Result<Adopted, Failure> {
    let none = Given::new();
    let given = choice.given.unwrap_or(&none);
    let own = kernels(loaded);
    let wanted = match choice.kernel {
        Some(k) => Some(named(&loaded.program, &own, k, None).map_err(which)?),
        None => same_kernel(theirs, loaded, &own),
    };
    let name = wanted.map(|r| matching::short_name(&loaded.program, r));
    if let Some(found) = written(loaded, path, choice.contract, None)? {
        let (plan, _) = choose(&found.contract, name.as_deref())?;
        let missing = plan.open().into_iter().any(|o| o.kind == OpenKind::Missing && o.field == "args");
        if missing {
            return Err(does_not_fit(&found.origin.describe(), None));
        }
        let adopted = adopt(theirs, &plan, &loaded.program, given)
            .map_err(|u| does_not_fit(&found.origin.describe(), Some(u)))?;
        let how = format!("the candidate's own ({})", found.origin.describe());
        return Ok(Adopted { plan: adopted.plan, how, notes: adopted.notes });
    }
    let shown = inferred(loaded, name.as_deref());
    let launched = shown.1.iter().any(|k| k.launched);
    let plan = choose(&shown.0.contract, name.as_deref()).ok().filter(|_| launched).map(|(plan, _)| plan);
    let complete = plan.filter(|p| !p.open().iter().any(|o| o.table.starts_with("launch")));
    let adopted = complete.map(|p| adopt(theirs, &p, &loaded.program, given));
    let why = match adopted {
        Some(Ok(a)) => {
            let same = same_steps(theirs.plan, &a.plan);
            let how = if same { "as the original's" } else { "the candidate's own (its launches)" };
            return Ok(Adopted { plan: a.plan, how: how.into(), notes: a.notes });
        }
        Some(Err(unclear)) if unclear.contradicts => return Err(which(unclear)),
        Some(Err(unclear)) => Some(unclear.message),
        None => None,
    };
    let how = match (launched, why) {
        (true, Some(why)) => format!("the original's; the candidate's own are not used: {why}"),
        (true, None) => "the original's; the candidate's own launches could not be followed".to_owned(),
        _ => "the original's".to_owned(),
    };
    let adopted = under_kernels(theirs, loaded, &own, wanted.filter(|_| choice.kernel.is_some()), given)?;
    Ok(Adopted { plan: adopted.plan, how, notes: adopted.notes })
}

/// Kernels of the files that the user named.
pub fn kernels(loaded: &Loaded) -> Vec<FunctionRef> {
    let own = |r: &FunctionRef| loaded.requested.contains(&loaded.program.unit(r.unit).file);
    loaded.program.kernels().into_iter().filter(own).collect()
}

fn named(program: &Program, own: &[FunctionRef], name: &str, arguments: Option<usize>) -> Result<FunctionRef, Unclear> {
    matching::kernel(program, own, name, arguments, "--candidate-kernel")
}

fn which(unclear: Unclear) -> Failure {
    Failure::usage(654, format!("candidate: {}", unclear.message), unclear.next)
}

/// The kernel of the candidate that stands for the original's first, where one has its name or is the only one.
fn same_kernel(theirs: Theirs, loaded: &Loaded, own: &[FunctionRef]) -> Option<FunctionRef> {
    let first = theirs.plan.launches().next()?;
    let whole = original_kernel(theirs, &first.kernel, first.args.len());
    let name = whole.map_or(first.kernel.clone(), |r| {
        theirs.program.function(r).qualified.clone() + &matching::own_parameters(theirs.program, r)
    });
    let found = named(&loaded.program, own, &name, Some(first.args.len())).ok();
    let last = || named(&loaded.program, own, super::build::simple(&first.kernel), Some(first.args.len())).ok();
    found.or_else(last).or(match own {
        [one] => Some(*one),
        _ => None,
    })
}

fn original_kernel(theirs: Theirs, name: &str, arguments: usize) -> Option<FunctionRef> {
    let all = theirs.program.kernels();
    matching::kernel(theirs.program, &all, name, Some(arguments), "--kernel").ok()
}

fn adopt(theirs: Theirs, plan: &Plan, program: &Program, given: &Given) -> Result<matching::Adopted, Unclear> {
    let names = |program: &Program, kernel: &str| -> Vec<String> {
        let all = program.kernels();
        let found = matching::kernel(program, &all, kernel, None, "--kernel").ok();
        found.map_or(vec![], |r| {
            let f = program.function(r);
            f.params.iter().map(|p| f.var(*p).name.clone()).collect()
        })
    };
    matching::adopt(theirs.plan, plan, [&|k| names(theirs.program, k), &|k| names(program, k)], given)
}

fn same_steps(a: &Plan, b: &Plan) -> bool {
    let bare = |s: &Step| match s {
        Step::Launch(l) => Step::Launch(contract::Launch { kernel: String::new(), ..l.clone() }),
        other => other.clone(),
    };
    a.steps.iter().map(bare).eq(b.steps.iter().map(bare))
}

/// The original's plan with the candidate's kernels in place of its own: those of the same names, or `only`.
fn under_kernels(
    theirs: Theirs,
    loaded: &Loaded,
    own: &[FunctionRef],
    chosen: Option<FunctionRef>,
    given: &Given,
) -> Result<matching::Adopted, Failure> {
    let mut launched: Vec<&str> = theirs.plan.launches().map(|l| l.kernel.as_str()).collect();
    launched.sort_unstable();
    launched.dedup();
    let single = launched.len() == 1;
    let program = &loaded.program;
    let of = |l: &contract::Launch| -> Result<matching::Stand, Unclear> {
        let original = original_kernel(theirs, &l.kernel, l.args.len());
        let whole = original.map_or(l.kernel.clone(), |r| {
            theirs.program.function(r).qualified.clone() + &matching::own_parameters(theirs.program, r)
        });
        let by_name = || {
            named(program, own, &whole, Some(l.args.len())).or_else(|why| {
                named(program, own, super::build::simple(&l.kernel), Some(l.args.len())).map_err(|_| why)
            })
        };
        let found = match (chosen.filter(|_| single), own) {
            (Some(r), _) => r,
            (None, [one]) if single => *one,
            _ => by_name()?,
        };
        let signatures =
            original.map(|o| (Signature::of(theirs.program.function(o)), Signature::of(program.function(found))));
        Ok((matching::short_name(program, found), signatures))
    };
    matching::under_kernels(theirs.plan, &of, given).map_err(which)
}

fn does_not_fit(origin: &str, why: Option<Unclear>) -> Failure {
    let d = match why {
        Some(u) => Diagnostic::error(Code(663), format!("the candidate's plan ({origin}): {}", u.message)).next(u.next),
        None => Diagnostic::error(Code(663), format!("the candidate's plan ({origin}) leaves arguments open"))
            .next("give it the args and dims of the original's contract"),
    };
    Failure::new(Exit::Usage, d)
}
