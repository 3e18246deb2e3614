//! The kernels of a program with their facts, computed once for each.

use std::cell::RefCell;
use std::collections::BTreeMap;
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

    pub fn function(&self, r: FunctionRef) -> &'a Function {
        self.program.function(r)
    }

    /// The kernel that a launch names, by its number of arguments.
    pub fn of(&self, l: &Launched) -> Option<FunctionRef> {
        let name = query::base_name(&l.kernel);
        let all = self.program.kernels();
        let fits = |r: &&FunctionRef| {
            let f = self.program.function(**r);
            f.name == name && f.params.len() >= l.args.len()
        };
        let exact = |r: &&FunctionRef| self.program.function(**r).params.len() == l.args.len();
        let own = all.iter().filter(fits).filter(|r| r.unit == l.at.0);
        let found = own.clone().find(exact).or_else(|| own.clone().next());
        found.or_else(|| all.iter().filter(fits).find(exact)).copied()
    }

    pub fn known(&self, r: FunctionRef) -> Option<Rc<Known<'a>>> {
        if let Some(k) = self.found.borrow().get(&r) {
            return k.clone();
        }
        let made = analyse(self.program, self.macros, r, &[]).map(|analysis| {
            let names = self.macros.get(r.unit as usize).and_then(Macros::names);
            let launches = names.map_or_else(|| self.program.launches_of(r), |n| n.launches_of(self.program, r));
            let usages = usages(self.program, &analysis.general);
            Rc::new(Known { analysis, usages, launches })
        });
        self.found.borrow_mut().insert(r, made.clone());
        made
    }
}
