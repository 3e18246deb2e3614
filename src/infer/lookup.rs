//! Which function a name of host code means.

use super::host::Host;
use crate::ir::*;

impl<'a> Host<'a> {
    /// The function that a call means: of those in sight the one of so many parameters, else the only one that the rest of
    /// the program defines. Where several remain nothing is chosen.
    pub(super) fn definition(&self, unit: u32, name: &str, count: usize) -> Option<(u32, &'a Function)> {
        let seen = self.view.units(self.root, unit);
        let of = |units: &[u32]| -> Vec<(u32, &'a Function)> {
            let all = units.iter().filter_map(|u| Some((*u, self.program.units.get(*u as usize)?)));
            let all = all.flat_map(|(u, unit)| unit.functions.iter().map(move |f| (u, f)));
            let fits = |f: &Function| {
                f.name == name
                    && f.body_span.is_some()
                    && f.params.len() >= count
                    && f.params.iter().skip(count).all(|p| f.var(*p).init.is_some())
                    && matches!(f.kind, FunctionKind::Host | FunctionKind::HostDevice)
            };
            all.filter(|(_, f)| fits(f)).collect()
        };
        let one = |mut found: Vec<(u32, &'a Function)>| {
            if found.iter().any(|(_, f)| f.params.len() == count) {
                found.retain(|(_, f)| f.params.len() == count);
            }
            // A function that stands in several arms of an `#if` is one.
            let own = found.iter().filter(|(u, _)| *u == unit).count();
            if own > 0 {
                found.retain(|(u, _)| *u == unit);
            }
            match found.as_slice() {
                [one] => Some(*one),
                _ => None,
            }
        };
        let near = of(&seen);
        if !near.is_empty() {
            return one(near);
        }
        let rest: Vec<u32> = (0..self.program.units.len() as u32).filter(|u| !seen.contains(u)).collect();
        one(of(&rest))
    }

    /// The only function of this name, whatever its parameters.
    pub(super) fn named_function(&self, unit: u32, name: &str) -> Option<(u32, &'a Function)> {
        let seen = &self.view.units(self.root, unit);
        let of = |near: bool| {
            let all = (0..).zip(&self.program.units).filter(move |(u, _)| seen.contains(u) == near);
            let mut all = all.flat_map(|(u, unit)| unit.functions.iter().map(move |f| (u, f))).filter(|(_, f)| {
                f.name == name && f.body_span.is_some() && f.kind == FunctionKind::Host && f.class.is_none()
            });
            let first = all.next();
            (first, all.next().is_some())
        };
        match of(true) {
            (None, _) => {}
            (found, several) => return found.filter(|_| !several),
        }
        let (found, several) = of(false);
        found.filter(|_| !several)
    }

    /// The method of this name; where no class is given, the only one of all classes.
    pub(super) fn method_of(
        &self,
        unit: u32,
        class: Option<&str>,
        name: &str,
        count: usize,
    ) -> Option<(u32, &'a Function)> {
        let seen = self.view.units(self.root, unit);
        let rest = (0..self.program.units.len() as u32).filter(|u| !seen.contains(u)).collect::<Vec<_>>();
        let of = |units: &[u32]| -> Vec<(u32, &'a Function)> {
            let all = units.iter().filter_map(|u| Some((*u, self.program.units.get(*u as usize)?)));
            let all = all.flat_map(|(u, unit)| unit.functions.iter().map(move |f| (u, f)));
            let fits = |f: &Function| {
                f.name == name
                    && f.body_span.is_some()
                    && f.class.as_deref().is_some_and(|c| class.is_none_or(|d| c == d))
                    && f.params.len() >= count
                    && f.params.iter().skip(count).all(|p| f.var(*p).init.is_some())
                    && matches!(f.kind, FunctionKind::Host | FunctionKind::HostDevice)
            };
            all.filter(|(_, f)| fits(f)).collect()
        };
        let near = of(&seen);
        let found = if near.is_empty() { of(&rest) } else { near };
        match found.as_slice() {
            [one] => Some(*one),
            _ => None,
        }
    }
}
