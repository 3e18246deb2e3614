//! Which function a name of host code means.

use super::host::Host;
use crate::ir::*;

type Found<'a> = Vec<(u32, &'a Function)>;

impl<'a> Host<'a> {
    /// The functions of a name that fit, those in sight of a unit first, and those of the rest of the program.
    fn called(&self, unit: u32, name: &str, fits: impl Fn(&Function) -> bool) -> (Found<'a>, Found<'a>) {
        let seen = self.view.units(self.root, unit);
        let all = self.view.functions(name).iter().map(|r| (r.unit, self.program.function(*r)));
        all.filter(|(_, f)| f.body_span.is_some() && fits(f)).partition(|(u, _)| seen.contains(u))
    }

    /// The function that a call means: of those in sight the one of so many parameters, else the only one that the rest of
    /// the program defines. Where several remain nothing is chosen.
    pub(super) fn definition(&self, unit: u32, name: &str, count: usize) -> Option<(u32, &'a Function)> {
        let (near, rest) = self.called(unit, name, |f| takes(f, count));
        let mut found = if near.is_empty() { rest } else { near };
        if found.iter().any(|(_, f)| f.params.len() == count) {
            found.retain(|(_, f)| f.params.len() == count);
        }
        // Its own file goes before what it includes.
        if found.iter().any(|(u, _)| *u == unit) {
            found.retain(|(u, _)| *u == unit);
        }
        only(&found)
    }

    /// The only function of this name, whatever its parameters.
    pub(super) fn named_function(&self, unit: u32, name: &str) -> Option<(u32, &'a Function)> {
        let (near, rest) = self.called(unit, name, |f| f.kind == FunctionKind::Host && f.class.is_none());
        only(if near.is_empty() { &rest } else { &near })
    }

    /// The method of this name; where no class is given, the only one of all classes.
    pub(super) fn method_of(
        &self,
        unit: u32,
        class: Option<&str>,
        name: &str,
        count: usize,
    ) -> Option<(u32, &'a Function)> {
        let of_class = |f: &Function| f.class.as_deref().is_some_and(|c| class.is_none_or(|d| c == d));
        let (near, rest) = self.called(unit, name, |f| of_class(f) && takes(f, count));
        only(if near.is_empty() { &rest } else { &near })
    }
}

fn only<'a>(found: &[(u32, &'a Function)]) -> Option<(u32, &'a Function)> {
    match found {
        [one] => Some(*one),
        _ => None,
    }
}

/// Whether host code may call it with so many arguments.
fn takes(f: &Function, count: usize) -> bool {
    f.params.len() >= count
        && f.params.iter().skip(count).all(|p| f.var(*p).init.is_some())
        && matches!(f.kind, FunctionKind::Host | FunctionKind::HostDevice)
}
