//! What names mean to host code that starts in one file: what the file sees through `#include`, and, of functions, what
//! the rest of the program defines once. A second program that stands beside it has no say.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use super::layouts::{self, Declared, Layout};
use super::macros::{self, Definition};
use crate::facts::Macros;
use crate::ir::{ExprKind, FunctionRef, Program, Type, query};
use crate::source::Sources;

type Asked = HashMap<(u32, u32), Rc<[u32]>>;

/// Macros and sight of all files, read once for all starts.
pub struct View {
    /// Per unit, the units that it sees, itself first.
    sight: Vec<Vec<u32>>,
    /// What [`View::units`] has given, by root and unit.
    asked: RefCell<Asked>,
    functions: HashMap<String, Vec<FunctionRef>>,
    /// Names of functions that launch, allocate or copy, or that call one of them.
    to_device: BTreeSet<String>,
    macros: Vec<BTreeMap<String, Vec<Definition>>>,
    structures: Vec<BTreeMap<String, Vec<Declared>>>,
    /// Names that device code uses: as constants of the program they cannot vary.
    pub device_words: BTreeSet<String>,
    /// Names in template arguments of launches, likewise.
    pub template_words: BTreeSet<String>,
}

impl View {
    /// `macros` is what [`crate::facts::macros_of`] gives for the program.
    pub fn new(program: &Program, sources: &Sources, macros: &[Macros]) -> View {
        let count = program.units.len() as u32;
        let sees = |from: u32, other: u32| {
            let names = macros.get(from as usize).and_then(Macros::names);
            names.is_none_or(|n| n.sees(from, other))
        };
        let sight = (0..count)
            .map(|u| std::iter::once(u).chain((0..count).filter(|o| *o != u && sees(u, *o))).collect::<Vec<u32>>());
        let mut functions: HashMap<String, Vec<FunctionRef>> = HashMap::new();
        for (unit, u) in (0..).zip(&program.units) {
            for f in &u.functions {
                functions.entry(f.name.clone()).or_default().push(FunctionRef { unit, function: f.id });
            }
        }
        View {
            sight: sight.collect(),
            asked: RefCell::default(),
            functions,
            to_device: to_device(program),
            macros: program.units.iter().map(|u| macros::of_text(&sources.get(u.file).text)).collect(),
            structures: program.units.iter().map(|u| layouts::of_text(&sources.get(u.file).text)).collect(),
            device_words: macros::device_words(program, sources),
            template_words: macros::template_words(program),
        }
    }

    /// The units in which `from` looks names up in a program that starts in `root`, its own first. A header that several
    /// programs include sees what this one has.
    pub fn units(&self, root: u32, from: u32) -> Rc<[u32]> {
        let known = self.asked.borrow().get(&(root, from)).cloned();
        known.unwrap_or_else(|| {
            let found: Rc<[u32]> = self.seen(root, from).into();
            self.asked.borrow_mut().insert((root, from), found.clone());
            found
        })
    }

    fn seen(&self, root: u32, from: u32) -> Vec<u32> {
        let all = |u: u32| self.sight.get(u as usize).map_or(&[][..], Vec::as_slice);
        let of_root = all(root);
        let own = all(from);
        if !of_root.contains(&from) {
            return own.to_vec();
        }
        let of_root: BTreeSet<u32> = of_root.iter().copied().collect();
        own.iter().copied().filter(|u| of_root.contains(u)).collect()
    }

    /// Every function of this name.
    pub fn functions(&self, name: &str) -> &[FunctionRef] {
        self.functions.get(name).map_or(&[], Vec::as_slice)
    }

    /// Whether a function of this name may launch, allocate or copy, itself or through others.
    pub fn reaches_device(&self, name: &str) -> bool {
        self.to_device.contains(name)
    }

    /// The function-like macro of this name, where there is one definition in sight.
    pub fn function_macro(&self, units: &[u32], name: &str) -> Option<(&[String], &str)> {
        let found = self.definition(units, name)?;
        Some((found.params.as_deref()?, &found.body))
    }

    /// The body of the object-like macro of this name.
    pub fn object_macro(&self, units: &[u32], name: &str) -> Option<&str> {
        self.definition(units, name).filter(|d| d.params.is_none() && !d.body.is_empty()).map(|d| &*d.body)
    }

    /// Size and contents of a type, as these units declare it.
    pub fn layout(&self, program: &Program, units: &[u32], ty: &Type) -> Option<Layout> {
        self.layout_within(program, units, ty, 0)
    }

    fn layout_within(&self, program: &Program, units: &[u32], ty: &Type, depth: u32) -> Option<Layout> {
        let Type::Named(name) = ty else { return Layout::of(ty) };
        if let Some(t) = super::arith::type_named(name) {
            return Layout::of(&t);
        }
        let name = super::host::last(name.trim_start_matches("struct ").trim());
        if depth > 6 {
            return None;
        }
        let mut all = units.iter().filter_map(|u| self.structures.get(*u as usize)?.get(name)).flatten();
        if let Some(first) = all.next() {
            let same = all.all(|d| d == first);
            let of = |n: &str| self.layout_within(program, units, &Type::Named(n.to_owned()), depth + 1);
            let extent = |e: &str| constant(program, units, e);
            return same.then(|| layouts::lay_out(first, &of, &extent)).flatten();
        }
        let mut all = units.iter().flat_map(|u| &program.unit(*u).aliases).filter(|a| a.name == name);
        let first = all.next()?;
        if !all.all(|a| a.ty == first.ty) {
            return None;
        }
        self.layout_within(program, units, &first.ty, depth + 1)
    }

    fn definition(&self, units: &[u32], name: &str) -> Option<&Definition> {
        let mut all = units.iter().filter_map(|u| self.macros.get(*u as usize)?.get(name)).flatten();
        let first = all.next()?;
        all.all(|d| d == first).then_some(first)
    }

    /// The function-like macros that these units define.
    pub fn function_macros<'v>(&'v self, units: &[u32]) -> BTreeSet<&'v str> {
        let all = units.iter().filter_map(|u| self.macros.get(*u as usize)).flatten();
        all.filter(|(_, d)| d.iter().any(|d| d.params.is_some())).map(|(n, _)| n.as_str()).collect()
    }
}

/// The value of an extent: a number, or a constant with one value in these units.
fn constant(program: &Program, units: &[u32], text: &str) -> Option<i64> {
    let value = |n: &str| {
        let of = |u: &u32| {
            let unit = program.unit(*u);
            let constants = unit.constants.iter().filter(|(m, ..)| m == n).map(|(_, v, _)| *v);
            constants.chain(unit.globals.iter().filter(|g| g.name == n).filter_map(|g| g.value)).collect::<Vec<_>>()
        };
        let mut all = units.iter().flat_map(of);
        let first = all.next()?;
        all.all(|v| v == first).then(|| i64::try_from(first).ok()).flatten()
    };
    crate::contract::expr::parse(text).ok()?.eval(&value).ok()
}

fn to_device(program: &Program) -> BTreeSet<String> {
    let mut found: BTreeSet<String> = BTreeSet::new();
    for _ in 0..super::host::MAX_DEPTH {
        let before = found.len();
        for f in program.units.iter().flat_map(|u| &u.functions) {
            let does = |e: &crate::ir::Expr| match &e.kind {
                ExprKind::Launch(_) => true,
                ExprKind::Call { callee, .. } => {
                    callee.starts_with("cudaM") || found.contains(query::base_name(callee))
                }
                _ => false,
            };
            if f.body_span.is_some() && !found.contains(&f.name) && f.exprs.iter().any(does) {
                found.insert(f.name.clone());
            }
        }
        if found.len() == before {
            break;
        }
    }
    found
}
