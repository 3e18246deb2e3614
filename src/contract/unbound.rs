//! Assumptions that say nothing: each name must be that of a parameter, a template value or a launch shape.

use super::guarantees::is_called;
use super::near::near;
use super::{Assumption, AssumptionKind, Assumptions, Term};
use crate::diag::{Code, Diagnostic};
use crate::ir::{Function, Program, Scalar, Type};

const NOTHING: Code = Code(621);
const NO_KERNEL: Code = Code(610);

/// A diagnostic for each assumption that no kernel of the program can use: such an assumption would be ignored.
pub fn unbound(program: &Program, assumptions: &Assumptions) -> Vec<Diagnostic> {
    let kernels: Vec<&Function> = program.kernels().into_iter().map(|r| program.function(r)).collect();
    let mut found = vec![];
    if kernels.is_empty() {
        return found;
    }
    for a in &assumptions.everywhere {
        // One that is meant for all kernels has to mean something in one.
        let missing: Option<Vec<String>> = kernels.iter().map(|f| missing(f, a)).collect();
        if let Some(names) = missing {
            let known: Vec<&str> = kernels.iter().flat_map(|f| names_of(f)).collect();
            found.push(nothing(a, names.first().map_or("", String::as_str), "any kernel", &known));
        }
    }
    for (kernel, list) in &assumptions.by_kernel {
        let named: Vec<&&Function> = kernels.iter().filter(|f| is_called(f, kernel)).collect();
        if named.is_empty() {
            let d = Diagnostic::warning(NO_KERNEL, format!("there is no kernel `{kernel}` to assume anything of"));
            let d = list.iter().find_map(|a| a.span).into_iter().fold(d, |d, s| d.at(s, "ignored"));
            let next = match near(kernel, kernels.iter().map(|f| f.name.as_str())) {
                Some(right) => format!("write `{right}`"),
                None => "name a kernel of the files that are read".into(),
            };
            found.push(d.next(next));
            continue;
        }
        for a in list {
            let missing: Option<Vec<String>> = named.iter().map(|f| missing(f, a)).collect();
            if let Some(names) = missing {
                let known: Vec<&str> = named.iter().flat_map(|f| names_of(f)).collect();
                found.push(nothing(a, names.first().map_or("", String::as_str), &format!("`{kernel}`"), &known));
            }
        }
    }
    found
}

fn nothing(a: &Assumption, name: &str, of: &str, known: &[&str]) -> Diagnostic {
    let d = Diagnostic::warning(NOTHING, format!("the assumption `{}` says nothing of {of}: `{name}`", a.text));
    let d = a.span.into_iter().fold(d, |d, s| d.at(s, format!("`{name}` is no parameter that can be used here")));
    d.next(match near(name, known.iter().copied()) {
        Some(right) => format!("write `{right}`"),
        None => "name integer or pointer parameters, template values, blockDim or gridDim".into(),
    })
}

fn names_of(f: &Function) -> impl Iterator<Item = &str> {
    f.params.iter().map(|p| f.var(*p).name.as_str()).chain(f.template.iter().map(|t| t.name.as_str()))
}

/// The first name that the kernel does not have in the form that is needed.
fn missing(f: &Function, a: &Assumption) -> Option<String> {
    let pointer =
        |n: &String| f.params.iter().any(|p| f.var(*p).name == *n && matches!(f.var(*p).ty, Type::Pointer(_)));
    match &a.kind {
        AssumptionKind::Compare { left, right, .. } => lost(f, left).or_else(|| lost(f, right)),
        AssumptionKind::Congruent { term, .. } => lost(f, term),
        AssumptionKind::Aligned { pointer: p, .. } => (!pointer(p)).then(|| p.clone()),
        AssumptionKind::NoAlias(names) => names.iter().find(|n| !pointer(n)).cloned(),
        AssumptionKind::NoWrap | AssumptionKind::Permit(_) | AssumptionKind::Complete => None,
    }
}

fn lost(f: &Function, t: &Term) -> Option<String> {
    match t {
        Term::Int(_) => None,
        Term::Add(a, b) | Term::Sub(a, b) | Term::Mul(a, b) => lost(f, a).or_else(|| lost(f, b)),
        Term::Name(n) => {
            if let Some((object, member)) = n.split_once('.') {
                let shape = matches!(object, "blockDim" | "gridDim") && matches!(member, "x" | "y" | "z");
                return (!shape).then(|| n.clone());
            }
            let integer = |t: &Type| match t {
                Type::Scalar(s) => s.is_integer() && *s != Scalar::Bool,
                // The type of a template parameter may be an integer.
                Type::Param(_) | Type::Named(_) | Type::Unknown => true,
                _ => false,
            };
            let known = f.params.iter().any(|p| f.var(*p).name == *n && integer(&f.var(*p).ty))
                || f.template.iter().any(|t| t.name == *n && t.value_type.is_some());
            (!known).then(|| n.clone())
        }
    }
}
