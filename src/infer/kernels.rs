//! The kernels of a program with their facts, computed once for each.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::usage::{Usage, usages};
use super::value::Launched;
use crate::facts::{Analysis, Facts, Macros, analyse};
use crate::ir::*;
use crate::source::Sources;

pub struct Kernels<'a> {
    pub program: &'a Program,
    pub sources: &'a Sources,
    macros: &'a [Macros],
    found: RefCell<BTreeMap<FunctionRef, Option<Rc<Known<'a>>>>>,
}

pub struct Known<'a> {
    pub analysis: Analysis<'a>,
    pub usages: Vec<Usage>,
    launches: Vec<LaunchRef>,
}

impl<'a> Known<'a> {
    /// The facts under one launch, or under all where it is none of those in view.
    pub fn facts(&self, at: Option<(u32, u32)>) -> &Facts<'a> {
        let nth = at.and_then(|(unit, launch)| self.launches.iter().position(|l| *l == LaunchRef { unit, launch }));
        nth.and_then(|n| self.analysis.visible().nth(n)).unwrap_or(&self.analysis.general)
    }
}

impl<'a> Kernels<'a> {
    pub fn new(program: &'a Program, sources: &'a Sources, macros: &'a [Macros]) -> Kernels<'a> {
        Kernels { program, sources, macros, found: RefCell::default() }
    }

    /// The macros of a unit.
    pub fn macros_at(&self, unit: u32) -> Option<&'a Macros> {
        self.macros.get(unit as usize)
    }

    /// Every identifier that the macro of a unit may bring with it; `None` where the name is no macro.
    pub fn macro_words(&self, unit: u32, name: &str) -> Option<BTreeSet<String>> {
        let macros = self.macros_at(unit)?;
        macros.contains(name).then(|| macros.mentions(name))
    }

    pub fn function(&self, r: FunctionRef) -> &'a Function {
        self.program.function(r)
    }

    /// The kernel that a launch names: as C++ looks names up from the function that launches, by the number of arguments
    /// where several are left; another file's where its own has none.
    pub fn of(&self, l: &Launched) -> Option<FunctionRef> {
        let all = self.program.kernels();
        let fits = |r: &&FunctionRef| {
            let f = self.program.function(**r);
            super::matching::same_name(&l.kernel, &f.qualified) && f.params.len() >= l.args.len()
        };
        // Overloads are told apart by the types of the arguments; where those decide nothing, nothing is known.
        let of_types = self.by_types(l, &all);
        if let Some(r) = of_types {
            return r;
        }
        let exact = |r: &&FunctionRef| self.program.function(**r).params.len() == l.args.len();
        let own = all.iter().filter(fits).filter(|r| r.unit == l.at.0);
        let scope = self.scope(l);
        // The innermost namespace around the launch in which the name is.
        let near = |r: &&FunctionRef| {
            let f = self.program.function(**r);
            let outer = f.qualified.strip_suffix(l.kernel.trim_start_matches("::")).map(|s| s.trim_end_matches("::"));
            outer.is_some_and(|o| o.is_empty() || scope == o || scope.starts_with(&format!("{o}::")))
        };
        let depth = |r: &&FunctionRef| self.program.function(**r).qualified.len();
        let seen = own.clone().filter(near).filter(exact).max_by_key(depth);
        let found = seen.or_else(|| own.clone().filter(near).max_by_key(depth));
        let found = found.or_else(|| own.clone().find(exact)).or_else(|| own.clone().next());
        found.copied().or_else(|| {
            let others: Vec<FunctionRef> = all.iter().filter(fits).filter(exact).copied().collect();
            let sees = |r: &&FunctionRef| {
                let names = self.macros.get(l.at.0 as usize).and_then(Macros::names);
                names.is_some_and(|n| n.sees(l.at.0, r.unit))
            };
            let seen: Vec<FunctionRef> = others.iter().filter(sees).copied().collect();
            // Of several kernels beyond what the file sees none is the one.
            match (seen.as_slice(), others.as_slice()) {
                ([first, ..], _) => Some(*first),
                ([], [one]) => Some(*one),
                _ => None,
            }
        })
    }

    /// Of overloads in the file of the launch the one that its arguments have the types of; `None` where there are none.
    fn by_types(&self, l: &Launched, all: &[FunctionRef]) -> Option<Option<FunctionRef>> {
        let unit = self.program.units.get(l.at.0 as usize)?;
        let launch = unit.launches.get(l.at.1 as usize)?;
        let caller = unit.function(launch.caller);
        let fits = |r: &&FunctionRef| {
            let f = self.program.function(**r);
            r.unit == l.at.0
                && super::matching::same_name(&l.kernel, &f.qualified)
                && f.params.len() == launch.args.len()
        };
        let rivals: Vec<FunctionRef> = all.iter().filter(fits).copied().collect();
        let types = |r: &FunctionRef| {
            let f = self.program.function(*r);
            (f.qualified.clone(), f.params.iter().map(|p| f.var(*p).ty.clone()).collect::<Vec<_>>())
        };
        let first = types(rivals.first()?);
        let overloaded = rivals.iter().map(types).any(|t| t.0 == first.0 && t.1 != first.1);
        if !overloaded || rivals.iter().any(|r| self.program.function(*r).qualified != first.0) {
            return None;
        }
        let score = |r: &FunctionRef| -> Option<u32> {
            let f = self.program.function(*r);
            let pairs = f.params.iter().zip(&launch.args);
            pairs.map(|(p, a)| agreement(&f.var(*p).ty, &caller.expr(*a).ty)).sum()
        };
        let mut scored: Vec<(u32, FunctionRef)> = rivals.iter().filter_map(|r| Some((score(r)?, *r))).collect();
        scored.sort_by_key(|(s, _)| std::cmp::Reverse(*s));
        Some(match scored.as_slice() {
            [one] => Some(one.1),
            [best, next, ..] if best.0 > next.0 => Some(best.1),
            _ => None,
        })
    }

    /// The namespaces around a launch.
    fn scope(&self, l: &Launched) -> String {
        let unit = self.program.units.get(l.at.0 as usize);
        let launch = unit.and_then(|u| u.launches.get(l.at.1 as usize));
        let caller = unit.zip(launch).map(|(u, l)| u.function(l.caller).qualified.clone()).unwrap_or_default();
        caller.rsplit_once("::").map_or(String::new(), |(scope, _)| scope.to_owned())
    }

    pub fn known(&self, r: FunctionRef) -> Option<Rc<Known<'a>>> {
        if let Some(k) = self.found.borrow().get(&r) {
            return k.clone();
        }
        // Proofs are about sizes for which index arithmetic does not wrap; docs/contracts.md says so.
        let no_wrap = crate::contract::parse_assumption("no_wrap", None).ok();
        let assumed: Vec<&crate::contract::Assumption> = no_wrap.iter().collect();
        let made = analyse(self.program, self.macros, r, &assumed).map(|analysis| {
            let names = self.macros.get(r.unit as usize).and_then(Macros::names);
            let launches = names.map_or_else(|| self.program.launches_of(r), |n| n.launches_of(self.program, r));
            let usages = usages(self.program, &analysis.general);
            Rc::new(Known { analysis, usages, launches })
        });
        self.found.borrow_mut().insert(r, made.clone());
        made
    }
}

/// How well an argument of one type is given to a parameter: 2 for the same type, 1 for one that converts or is not known,
/// `None` where C++ converts none into the other.
fn agreement(param: &Type, given: &Type) -> Option<u32> {
    let unknown = |t: &Type| matches!(t, Type::Unknown | Type::Auto | Type::Named(_) | Type::Param(_) | Type::Void);
    match (param, given) {
        (Type::Reference(p), g) => agreement(&p.ty, g),
        (p, Type::Reference(g)) => agreement(p, &g.ty),
        (a, b) if a == b => Some(2),
        (a, b) if unknown(a) || unknown(b) => Some(1),
        (Type::Pointer(p), Type::Pointer(g)) if p.ty == g.ty => (p.is_const || !g.is_const).then_some(2),
        (Type::Pointer(p), Type::Pointer(g)) => (unknown(&p.ty) || unknown(&g.ty)).then_some(1),
        (Type::Pointer(p), Type::Array { elem, .. }) if p.ty == **elem => Some(2),
        // A literal zero is a null pointer.
        (Type::Pointer(_), Type::Scalar(_)) => Some(0),
        (Type::Scalar(_), Type::Scalar(_)) => Some(1),
        _ => None,
    }
}
