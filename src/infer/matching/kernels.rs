//! The kernel that a name means.

use super::{Signature, Unclear, quoted};
use crate::ir::spell::{identity, is_overloaded, parameters, split_parameters};
use crate::ir::{FunctionRef, Program, query};

/// Whether `name`, as somebody wrote it, can mean a kernel that is called `qualified`: the whole name, or its last parts.
pub fn same_name(name: &str, qualified: &str) -> bool {
    let (name, qualified) = (bare(name), bare(qualified));
    qualified == name || qualified.strip_suffix(&name).is_some_and(|rest| rest.ends_with("::"))
}

/// Without template arguments, parameters and a leading `::`.
fn bare(name: &str) -> String {
    let plain = split_parameters(name).0;
    let plain = plain.split('<').next().unwrap_or(plain).trim();
    plain.trim_start_matches("::").to_owned()
}

/// The kernel with a body that `name` means. A whole qualified name goes before a part of one; between overloads a
/// parameter list in the name decides (`k(float*, int)`), else `arguments`; what is still several is unclear.
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
    let (_, list) = split_parameters(name);
    if let Some(list) = list {
        let takes = |r: &FunctionRef| split_parameters(&identity(program.function(*r))).1.as_ref() == Some(&list);
        found.retain(takes);
    } else if let (true, Some(n)) = (found.len() > 1, arguments) {
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
                let mut lists: Vec<String> = several.iter().map(|r| identity(program.function(*r))).collect();
                lists.sort();
                lists.dedup();
                let next = match lists.as_slice() {
                    [_, _, ..] if lists.iter().all(|l| l.ends_with(')')) => {
                        format!("choose with {flag}, in quotes: {}", lists.join(", "))
                    }
                    _ => "give the kernels names of their own".to_owned(),
                };
                return Err(Unclear::new(message, next));
            }
            let message = format!("`{name}` can be any of {}", quoted(&names));
            Err(Unclear::new(message, format!("choose with {flag}: {}", names.join(", "))))
        }
    }
}

/// The name by which a plan calls a kernel: its own, or the qualified one where several share it; with its parameters
/// where there are overloads.
pub fn short_name(program: &Program, r: FunctionRef) -> String {
    let f = program.function(r);
    let rivals = program.kernels().into_iter().map(|k| program.function(k));
    let rival = rivals.filter(|k| k.name == f.name).any(|k| k.qualified != f.qualified);
    let name = if rival { f.qualified.clone() } else { query::base_name(&f.name).to_owned() };
    name + &own_parameters(program, r)
}

/// The parameter list of a kernel that has overloads, which its name needs then; else nothing.
pub fn own_parameters(program: &Program, r: FunctionRef) -> String {
    if is_overloaded(program, r) { parameters(program.function(r)).unwrap_or_default() } else { String::new() }
}
