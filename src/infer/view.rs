//! What names mean to host code that starts in one file: what the file sees through `#include`, and, of functions, what
//! the rest of the program defines once. A second program that stands beside it has no say.

use std::collections::{BTreeMap, BTreeSet};

use super::macros::{self, Definition};
use crate::facts::Macros;
use crate::ir::Program;
use crate::source::Sources;

/// Macros and sight of all files, read once for all starts.
pub struct View {
    /// Per unit, the units that it sees, itself first.
    sight: Vec<Vec<u32>>,
    macros: Vec<BTreeMap<String, Vec<Definition>>>,
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
        let sight = (0..count).map(|u| {
            std::iter::once(u).chain((0..count).filter(|o| *o != u && sees(u, *o))).collect::<Vec<u32>>()
        });
        View {
            sight: sight.collect(),
            macros: program.units.iter().map(|u| macros::of_text(&sources.get(u.file).text)).collect(),
            device_words: macros::device_words(program, sources),
            template_words: macros::template_words(program),
        }
    }

    /// The units in which `from` looks names up in a program that starts in `root`, its own first. A header that several
    /// programs include sees what this one has.
    pub fn units(&self, root: u32, from: u32) -> Vec<u32> {
        let all = |u: u32| self.sight.get(u as usize).map_or(&[][..], Vec::as_slice);
        let of_root = all(root);
        let own = all(from);
        if !of_root.contains(&from) {
            return own.to_vec();
        }
        own.iter().copied().filter(|u| of_root.contains(u)).collect()
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
