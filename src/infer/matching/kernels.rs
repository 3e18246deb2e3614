//! The kernel that a name means.

use super::{Signature, Unclear, quoted};
use crate::ir::{FunctionRef, Program, query};

/// Whether `name`, as somebody wrote it, can mean a kernel that is called `qualified`: the whole name, or its last parts.
pub fn same_name(name: &str, qualified: &str) -> bool {
    let (name, qualified) = (bare(name), bare(qualified));
    qualified == name || qualified.strip_suffix(&name).is_some_and(|rest| rest.ends_with("::"))
}

/// Without template arguments and without a leading `::`.
fn bare(name: &str) -> String {
    let plain = name.split('<').next().unwrap_or(name).trim();
    plain.trim_start_matches("::").to_owned()
}

/// The kernel with a body that `name` means. A whole qualified name goes before a part of one, `arguments` decides
/// between overloads, and what is still several is unclear.
///
/// # Errors
/// No kernel of the name, or several.
pub fn kernel(
    program: &Program,
    among: &[FunctionRef],
    name: &str,
    arguments: Option<usize>,
    flag: &str,
) -> Result<FunctionRef, Unclear> {
    let qualified = |r: &FunctionRef| program.function(*r).qualified.clone();
    let wanted = bare(name);
    let whole: Vec<FunctionRef> = among.iter().filter(|r| bare(&qualified(r)) == wanted).copied().collect();
    let part = || among.iter().filter(|r| same_name(name, &qualified(r))).copied().collect();
    let mut found: Vec<FunctionRef> = if whole.is_empty() { part() } else { whole };
    if let (true, Some(n)) = (found.len() > 1, arguments) {
        let takes = |r: &FunctionRef| program.function(*r).params.len() == n;
        if found.iter().any(takes) {
            found.retain(takes);
        }
    }
    let all = || {
        let mut names: Vec<String> = among.iter().map(qualified).collect();
        names.sort();
        names.dedup();
        names
    };
    match found.as_slice() {
        [one] => Ok(*one),
        [] if among.is_empty() => Err(Unclear::new("there is no kernel", "name a file with a `__global__` function")),
        [] => Err(Unclear::new(
            format!("there is no kernel `{name}`"),
            format!("choose with {flag}: {}", all().join(", ")),
        )),
        several => {
            let mut names: Vec<String> = several.iter().map(qualified).collect();
            names.sort();
            names.dedup();
            if let [one] = names.as_slice() {
                // The same kernel under several `#if` of one file, or overloads, or kernels of two programs.
                let signature = |r: &FunctionRef| Signature::of(program.function(*r));
                if let Some(first) =
                    several.first().filter(|f| several.iter().all(|r| r.unit == f.unit && signature(r) == signature(f)))
                {
                    return Ok(*first);
                }
                let message = format!("{} kernels are called `{one}`", several.len());
                return Err(Unclear::new(message, "give the kernels names of their own"));
            }
            let message = format!("`{name}` can be any of {}", quoted(&names));
            Err(Unclear::new(message, format!("choose with {flag}: {}", names.join(", "))))
        }
    }
}

/// The name by which a plan calls a kernel: its own, or the qualified one where several share it.
pub fn short_name(program: &Program, r: FunctionRef) -> String {
    let f = program.function(r);
    let rivals = program.kernels().into_iter().map(|k| program.function(k));
    let rival = rivals.filter(|k| k.name == f.name).any(|k| k.qualified != f.qualified);
    if rival { f.qualified.clone() } else { query::base_name(&f.name).to_owned() }
}
